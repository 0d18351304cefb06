"""Exponentials, logarithms, powers and hyperbolic functions.

Methods: argument reduction of Cody and Waite (Software Manual for the Elementary Functions, 1980); logarithms by
log((1 + s) / (1 - s)) as in fdlibm (Sun Microsystems, 1993), for powers in numbers of twice the length. Polynomials
interpolate at Chebyshev's points, computed in 250 digits.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array

from jaxgait.native.functions.arithmetic import (
    between,
    bits,
    either,
    exponent,
    format_of,
    halves,
    nearest,
    number,
    polynomial,
    power_of_two,
    product,
    scaled,
    sign,
    sign_if,
    signed,
    total,
    upper,
)

EXP = {
    "float64": (
        *(2.09147553258932e-09, 2.5105312729622103e-08, 2.755727347871858e-07, 2.755725517000089e-06),
        *(2.480158732567746e-05, 0.0001984126987500228, 0.0013888888888883711, 0.008333333333326084),
        *(0.04166666666666667, 0.1666666666666667, 0.5),
    ),
    "float32": (0.0001989108, 0.0013933731, 0.0083333105, 0.041666463, 0.16666667, 0.5),
}
"""Coefficients of (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2."""
LOG = {
    "float64": (
        *(0.14616585424888623, 0.15331710618210773, 0.18182889455674947, 0.22222211130259878),
        *(0.2857142862600327, 0.39999999999899444, 0.666666666666667),
    ),
    "float32": (0.23330583, 0.28550816, 0.40000123, 0.6666667),
}
"""Coefficients of (log((1 + s) / (1 - s)) / s - 2) / z, z = s^2, for (1 + s) / (1 - s) from sqrt(1/2) to sqrt(2)."""
LOG_REST = {
    "float64": (
        *(0.11723178623876518, 0.11706236339491206, 0.1333480469384731, 0.1538459496251843),
        *(0.18181818335392802, 0.22222222221655885, 0.28571428571429364, 0.4),
    ),
    "float32": (0.19120455, 0.22204763, 0.2857153, 0.4),
}
"""The same without its first term, 2/3, over z."""
TWO_THIRDS = {"float64": (2.0 / 3.0, 3.700743415417188e-17), "float32": (0.6666666865348816, -1.9868214962137642e-08)}
CUBE_ROOT = (0.12474055895636721, -0.6869060714891523, 1.5369933614033604, -1.845190787795483, 1.8703346450078002)
"""Coefficients of m^(-1/3) for m from sqrt(1/2) to sqrt(2)."""
DENORMAL_SHIFT = 54
"""Denormal numbers times two to this power are normal."""


# --- exponentials -----------------------------------------------------------------------------------------------------


def _reduced(x: Array) -> tuple[Array, Array]:
    """The argument of an exponential as r + n log(2), |r| <= log(2) / 2."""
    high, low = format_of(x).log2
    n = nearest(x * math.log2(math.e))
    return (x - n * high) - n * low, n


def _beyond_one(r: Array) -> Array:
    """The exponential of a small number, minus one."""
    return r + r * r * polynomial(r, EXP)


def exp(x: Array) -> Array:
    """The exponential function: a power of two times a polynomial."""
    r, n = _reduced(between(x, format_of(x).smallest, format_of(x).largest))
    return scaled(1.0 + _beyond_one(r), n)


def exp2(x: Array) -> Array:
    """Two to the power of a number."""
    f = format_of(x)
    x = between(x, f.smallest / math.log(2.0), f.largest / math.log(2.0))
    n = nearest(x)
    return scaled(1.0 + _beyond_one((x - n) * math.log(2.0)), n)


def _half_expm1(x: Array) -> Array:
    """Half of exp(x) - 1: infinite only where that is."""
    r, n = _reduced(between(x, -40.0, format_of(x).largest + 0.5))
    quarter = power_of_two(n - 2.0)
    return 2.0 * (quarter * _beyond_one(r) + (quarter - 0.25))


def expm1(x: Array) -> Array:
    """exp(x) - 1, without cancellation."""
    return jnp.where(_tiny(x), x, 2.0 * _half_expm1(x))


def _tiny(x: Array) -> Array:
    """Whether a number is so small that functions with slope one at zero equal it (a zero keeps its sign)."""
    return jnp.abs(x) < 2.0 ** -(format_of(x).mantissa + 2)


def logistic(x: Array) -> Array:
    """The logistic function, without overflow."""
    u = exp(-jnp.abs(x))
    return either(x < 0.0, u, 1.0, x) / (1.0 + u)


def sinh(x: Array) -> Array:
    """The hyperbolic sine."""
    half = _half_expm1(jnp.abs(x))
    size = jnp.where(half > 2.0 ** (format_of(x).mantissa + 2), half, half + half / (2.0 * half + 1.0))
    return jnp.where(_tiny(x), x, signed(size, x))


def cosh(x: Array) -> Array:
    """The hyperbolic cosine."""
    half = _half_expm1(jnp.abs(x)) + 0.5
    return half + 0.25 / half


def tanh(x: Array) -> Array:
    """The hyperbolic tangent."""
    half = _half_expm1(2.0 * jnp.minimum(jnp.abs(x), 22.0))
    return jnp.where(_tiny(x), x, signed(half / (half + 1.0), x))


# --- logarithms -------------------------------------------------------------------------------------------------------


def _normal(x: Array) -> tuple[Array, Array]:
    """A positive number as m 2^k with sqrt(1/2) <= m < sqrt(2)."""
    denormal = x < float(jnp.finfo(x.dtype).tiny)
    m, k = exponent(jnp.where(denormal, x * 2.0**DENORMAL_SHIFT, x))
    return m, k - either(denormal, float(DENORMAL_SHIFT), 0.0, x)


def _log(f: Array, rest: Array | float, k: Array) -> Array:
    """The logarithm of (1 + f + rest) 2^k; the rest is a rounding error of 1 + f."""
    high, low = format_of(f).log2
    s, half = f / (2.0 + f), 0.5 * f * f
    z = s * s
    reciprocal = 1.0 - 2.0 * s * (1.0 - s * (1.0 - s))  # of 1 + f, to a few bits
    return k * high - ((half - (s * (half + z * polynomial(z, LOG)) + (k * low + rest * reciprocal))) - f)


def _logarithm(value: Array, x: Array) -> Array:
    """The value where a logarithm's argument is positive and finite, and what it is elsewhere."""
    special = either(x == 0.0, -math.inf, either(x < 0.0, math.nan, x, x), x)
    return jnp.where((x > 0.0) & (x < math.inf), value, special)


def log(x: Array) -> Array:
    """The natural logarithm."""
    m, k = _normal(x)
    return _logarithm(_log(m - 1.0, 0.0, k), x)


def log1p(x: Array) -> Array:
    """The logarithm of 1 + x, without cancellation."""
    u = 1.0 + x
    m, k = exponent(u)
    # The rounding error of u, over 2^k (XLA would take (1 + x) - 1 for x).
    one = power_of_two(-k)
    rest = either(k > float(format_of(x).mantissa), 0.0, x * one - (m - one), x)
    return jnp.where(_tiny(x), x, _logarithm(_log(m - 1.0, rest, k), u))


def asinh(x: Array) -> Array:
    """The inverse hyperbolic sine."""
    a, far = jnp.abs(x), _far(x)
    size = log1p(jnp.where(far, a, a + a * a / (1.0 + jnp.sqrt(1.0 + a * a))))
    return signed(size + either(far, math.log(2.0), 0.0, x), x)


def _far(x: Array) -> Array:
    """Whether 1 is negligible compared with x, whose square may overflow."""
    return jnp.abs(x) > 2.0 ** (format_of(x).mantissa + 6)


def acosh(x: Array) -> Array:
    """The inverse hyperbolic cosine, not negative."""
    beyond, far = x - 1.0, _far(x)
    size = log1p(jnp.where(far, x, beyond + jnp.sqrt(beyond * (2.0 + beyond))))
    return either(x < 1.0, math.nan, size + either(far, math.log(2.0), 0.0, x), x)


def atanh(x: Array) -> Array:
    """The inverse hyperbolic tangent."""
    a = jnp.abs(x)
    return signed(0.5 * log1p(2.0 * a / (1.0 - a)), x)


# --- powers -----------------------------------------------------------------------------------------------------------


def _long_log(x: Array) -> tuple[Array, Array]:
    """The logarithm of a positive number in two parts, to about 12 bits more than one number holds."""
    m, k = _normal(x)
    d, d_rest = total(jnp.ones_like(m), m)
    f, inverse = m - 1.0, 1.0 / d
    s = upper(f * inverse)
    d_upper = upper(d)
    s_rest = (((f - s * d_upper) - s * (d - d_upper)) - s * d_rest) * inverse
    z = halves(s * s, s_rest * (2.0 * s + s_rest))
    high, low = TWO_THIRDS[str(x.dtype)]
    factor, factor_rest = total(jnp.full_like(m, high), (z[0] + z[1]) * polynomial(z[0] + z[1], LOG_REST))
    cubic = product((s, s_rest), halves(*product(z, halves(factor, factor_rest + low))))
    first, first_rest = total(2.0 * s, cubic[0])
    whole, whole_rest = total(k * format_of(x).log2[0], first)
    rest = (first_rest + (2.0 * s_rest + cubic[1])) + k * format_of(x).log2[1]
    return whole, whole_rest + rest


def _long_exp(t: Array, rest: Array) -> Array:
    f = format_of(t)
    rest = either(jnp.abs(t) > 2.0 * f.largest, 0.0, rest, t)
    t = between(t, f.smallest, f.largest)
    n = nearest(t * math.log2(math.e))
    r, r_rest = total(t - n * f.log2[0], rest - n * f.log2[1])
    return scaled(1.0 + (r + (r * r * polynomial(r, EXP) + (r_rest + r * r_rest))), n)


def pow(x: Array, y: Array) -> Array:
    """A number to the power of a real number, as C has it."""
    size, f = jnp.abs(x), format_of(x)
    bound = 2.0 ** (f.mantissa + 12)  # times any logarithm but zero, this overflows
    exponent = between(y, -bound, bound)
    value = _long_exp(*product(halves(exponent, jnp.zeros_like(exponent)), halves(*_long_log(size))))
    end = either((y > 0.0) == (size > 1.0), math.inf, 0.0, x)
    value = jnp.where((size == 0.0) | (size == math.inf), end, value)
    whole = y == nearest(y)
    undefined = (x != x) | (y != y) | ((x < 0.0) & (size < math.inf) & ~whole)  # noqa: PLR0124
    odd = whole & (jnp.floor(0.5 * y) != 0.5 * y)
    value = either(undefined, math.nan, number(bits(value) | (sign(x) & sign_if(odd, x)), x), x)
    return either((y == 0.0) | (x == 1.0), 1.0, value, x)


def cbrt(x: Array) -> Array:
    """The cube root."""
    size = jnp.abs(x)
    m, k = _normal(size)
    third = nearest(k * (1.0 / 3.0))
    left = k - 3.0 * third
    shift = lambda low, high: either(left < 0.0, low, either(left > 0.0, high, 1.0, x), x)
    y = polynomial(m, {str(x.dtype): CUBE_ROOT}) * shift(2.0 ** (1 / 3), 2.0 ** (-1 / 3))
    m = m * shift(0.5, 2.0)
    h = 1.0 - m * y * y * y
    y = y + y * h * (1.0 / 3.0 + h * (2.0 / 9.0))
    root = m * y * y
    root = root + (y * y) * (1.0 / 3.0) * (m - root * root * root)
    return jnp.where((size > 0.0) & (size < math.inf), signed(root * power_of_two(third), x), x)
