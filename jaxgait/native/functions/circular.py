"""Sine, cosine and their like, and their inverses.

Methods: angles less a multiple of pi/2 in several parts, as Cody and Waite (Software Manual for the Elementary
Functions, 1980); the arcsine's square root as in fdlibm (Sun Microsystems, 1993), whose polynomials for sine and cosine
in float64 these are. The other ones interpolate at Chebyshev's points, computed in 250 digits.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import Primitive
from jax.interpreters import mlir

from jaxgait.native.functions.arithmetic import (
    bits,
    either,
    format_of,
    integer_bits,
    nearest,
    number,
    polynomial,
    sign,
    sign_if,
    signed,
    total,
)

SIN = {
    "float64": (
        *(1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06),
        *(-1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01),
    ),
    "float32": (2.7249926e-06, -0.00019840087, 0.008333332, -0.16666667),
}
"""Coefficients of (sin(r) / r - 1) / z, z = r^2, for |r| <= pi / 4."""
COS = {
    "float64": (
        *(-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07),
        *(2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02),
    ),
    "float32": (-2.730096e-07, 2.48006e-05, -0.0013888888, 0.041666668),
}
"""Coefficients of (cos(r) - 1 + z / 2) / z^2."""
ATAN = {
    "float64": (
        *(-0.019175404711104935, 0.03923044778479309, -0.050854078345894844, 0.05858140904866328),
        *(-0.06664510525508936, 0.07692183125376892, -0.0909090457530649, 0.11111111015187018),
        *(-0.14285714284665682, 0.19999999999995516, -0.3333333333333333),
    ),
    "float32": (-0.064517185, 0.10743669, -0.1426395, 0.1999954, -0.3333333),
}
"""Coefficients of (atan(r) / r - 1) / z for |r| <= tan(pi / 8)."""
ASIN = {
    "float64": (
        *(0.028757851367421566, -0.014851887071247204, 0.01740087944269402, 0.005457506718640358),
        *(0.01032281435018578, 0.011479177415184906, 0.013971212973552933, 0.017352392720869973),
        *(0.02237217294214989, 0.030381944138531247, 0.04464285714635543, 0.07499999999998433, 0.16666666666666669),
    ),
    "float32": (0.033690847, 0.017149238, 0.031100662, 0.044599403, 0.07500094, 0.16666666),
}
"""Coefficients of (asin(r) / r - 1) / z for |r| <= 1/2."""


# --- angles -----------------------------------------------------------------------------------------------------------


class Reduction(NamedTuple):
    """pi/2 in parts, of so few bits that their products with the integers of angles up to `largest` are exact."""

    largest: float
    exact: tuple[float, ...]
    """Differences from the angle have no rounding error."""
    parts: tuple[float, ...]
    last: float


REDUCTIONS = {
    "float64": Reduction(
        1.5 * 2.0**31,
        (1.570796012878418, 3.139164164167596e-07),
        (6.223371969669989e-14, 2.0222627272360855e-21),
        3.5215598651832e-27,
    ),
    "float32": Reduction(
        1.5 * 2.0**14,
        (1.5703125, 0.0004825592041015625),
        (1.2665987014770508e-06, 9.913492249324918e-10, 7.442935157087049e-13),
        6.123234262925839e-17,
    ),
}


def _reduced(x: Array) -> tuple[Array, Array, Array]:
    """An angle as r + n pi/2, |r| <= pi/4: r, its rounding error, and the last bits of n.

    Where a part's product with n is larger than what it is added to, both are so short that there is no error.
    """
    parts = REDUCTIONS[str(x.dtype)]
    n = nearest(x * (2.0 / math.pi))
    for part in parts.exact:
        x = x - n * part
    errors = []
    for part in parts.parts:
        x, error = total(x, -n * part)
        errors.append(error)
    return *total(x, functools.reduce(jnp.add, errors) - n * parts.last), integer_bits(n)


def sine_cosine(r: Array, rest: Array, n: Array) -> tuple[Array, Array, Array]:
    """Sine and cosine of an angle reduced by n pi/2, and the last bits of n; arguments as for `_reduced`."""
    z = r * r
    sine = r + (z * (r * polynomial(z, SIN)) + rest)
    cosine = 1.0 - (0.5 * z - (z * z * polynomial(z, COS) - r * rest))
    return sine, cosine, n


def turned(sine: Array, cosine: Array, n: Array) -> Array:
    """The sine of an angle reduced by n pi/2."""
    size = jnp.where((n & 1) == 1, cosine, sine)
    half_turns = lax.shift_left(n & 2, jnp.full_like(n, jnp.iinfo(n.dtype).bits - 2))
    return number(bits(size) ^ half_turns, size)


def sin(x: Array) -> Array:
    """The sine of an angle."""
    return _everywhere("sin", x, _near_zero(x, turned(*sine_cosine(*_reduced(x)))))


def cos(x: Array) -> Array:
    """The cosine of an angle."""
    sine, cosine, n = sine_cosine(*_reduced(x))
    return _everywhere("cos", x, turned(sine, cosine, n + 1))


def tan(x: Array) -> Array:
    """The tangent of an angle."""
    return _everywhere("tan", x, _near_zero(x, slope(*sine_cosine(*_reduced(x)))))


def slope(sine: Array, cosine: Array, n: Array) -> Array:
    """The tangent of an angle reduced by n pi/2."""
    odd = (n & 1) == 1
    return jnp.where(odd, -cosine, sine) / jnp.where(odd, sine, cosine)


def _far(name: str) -> Primitive:
    """A function of angles of any size, by the C library; the second operand says for which it is needed."""
    primitive, function = Primitive(f"far_{name}"), lambda x, _: getattr(lax, name)(x)
    primitive.def_impl(function)
    primitive.def_abstract_eval(lambda x, _: x)
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False))
    return primitive


FAR = {name: _far(name) for name in ("sin", "cos", "tan")}
"""Primitives for angles that are too large for `REDUCTIONS`: kernels call nothing if there are none."""


def _everywhere(name: str, x: Array, value: Array) -> Array:
    """The value, but that of the C library where an angle is too large."""
    far = jnp.abs(x) > REDUCTIONS[str(x.dtype)].largest
    return jnp.where(far, FAR[name].bind(x, far), value)


def _near_zero(x: Array, value: Array) -> Array:
    """The value, except near zero, where a number is its own sine and tangent (a zero keeps its sign)."""
    return jnp.where(jnp.abs(x) < 2.0 ** -(format_of(x).mantissa // 2 + 2), x, value)


# --- inverses ---------------------------------------------------------------------------------------------------------


def _angle(small: Array, large: Array, eighths: Array, turned: Array) -> Array:
    """The angle of a slope small / large <= 1, not negative, or its distance from a multiple of pi/4.

    Args:
        small: the smaller number; both are finite, and so is their sum.
        large: the larger one, not zero.
        eighths: the multiple of pi/4 at slope zero: an even one.
        turned: a sign bit, set if the angle decreases with the slope.
    """
    steep = small > math.tan(math.pi / 8.0) * large
    r = jnp.where(steep, small - large, small) / jnp.where(steep, small + large, large)
    r = number(bits(r) ^ turned, r)
    one = number(bits(either(steep, 1.0, 0.0, r)) ^ turned, r)
    z, (high, low) = r * r, format_of(r).quarter
    eighths = eighths + one
    return eighths * high + ((r * z * polynomial(z, ATAN) + eighths * low) + r)


def atan(x: Array) -> Array:
    """The angle of a slope, between -pi/2 and pi/2."""
    a = jnp.abs(x)
    beyond = a > 1.0
    size = _angle(jnp.minimum(a, 1.0), jnp.maximum(a, 1.0), either(beyond, 2.0, 0.0, x), sign_if(beyond, x))
    return signed(size, x)


def atan2(y: Array, x: Array) -> Array:
    """The angle of a point from the x axis, between -pi and pi; zeros have signs."""
    a, b = jnp.abs(y), jnp.abs(x)
    steep = a > b
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    # Scaled, sums of the largest numbers do not overflow, and differences of the smallest ones do not vanish.
    scale = either(large < 2.0**-60, 2.0**60, either(large > 2.0**60, 2.0**-60, 1.0, x), x)
    infinite = small == math.inf
    small = either(infinite, 1.0, small * scale, x)
    large = either(infinite | (large == 0.0), 1.0, large * scale, x)
    left = sign(x)
    eighths = either(steep, 2.0, either(left < 0, 4.0, 0.0, x), x)
    return signed(_angle(small, large, eighths, left ^ sign_if(steep, x)), y)


def _arcsine(x: Array) -> tuple[Array, Array]:
    """The arcsine of |x|, or of sqrt((1 - |x|) / 2) where |x| is at least 1/2, and whether |x| is."""
    a = jnp.abs(x)
    far = a >= 0.5
    z = jnp.where(far, 0.5 - 0.5 * a, x * x)
    s = jnp.where(far, jnp.sqrt(z), a)
    return s + s * z * polynomial(z, ASIN), far


def asin(x: Array) -> Array:
    """The angle of a sine, between -pi/2 and pi/2; NaN beyond -1 and 1."""
    half, far = _arcsine(x)
    high, low = format_of(x).quarter
    return signed(jnp.where(far, (2.0 * high - 2.0 * half) + 2.0 * low, half), x)


def acos(x: Array) -> Array:
    """The angle of a cosine, between 0 and pi; NaN beyond -1 and 1."""
    half, far = _arcsine(x)
    high, low = format_of(x).quarter
    negative = x < 0.0
    near = 2.0 * high + (2.0 * low - jnp.where(negative, -half, half))
    return jnp.where(far, jnp.where(negative, 4.0 * high + (4.0 * low - 2.0 * half), 2.0 * half), near)
