"""Sine, cosine, arctangent and their like as vectorisable float64 code, with derivative rules.

On a CPU, XLA compiles float64 `sin`, `cos`, `arctan`, `arccos` and `softplus` to one scalar library call per element
(8 to 12 ns each), and a right-hand side full of angles spends most of its time there. The functions below are
straight-line polynomial code that the compiler turns into SIMD instructions (about 1 to 2 ns per element). Float32
arguments, and every argument when the default backend is not a CPU, go to XLA's own functions, which are fast there.
XLA's `exp`, `tanh`, `sqrt` and `logistic` are vectorised on CPUs as they are: use `jax.numpy` for those.

Largest errors in float64, checked by the tests, in units in the last place of the result: `sin` and `cos` 2 up to
`|x| = 1e6` (or 1e-20 absolute, next to a zero; beyond 1e6 as if x had been changed by one part in 1e16), `arctan` 2,
`arctan2` and `arccos` 3, `softplus` 4. NaN gives NaN, and so do infinite angles.

Coefficients: sine and cosine on [-pi/4, pi/4] of fdlibm (Sun Microsystems, 1993); arctangent of the Cephes library
(Moshier, Methods and Programs for Mathematical Functions, 1989); argument reduction of Cody and Waite (1980).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxgait.precision import float64_default

Real = Float[ArrayLike, "..."]
RealArray = Float[Array, "..."]

_SIN = (
    1.58969099521155010221e-10,
    -2.50507602534068634195e-08,
    2.75573137070700676789e-06,
    -1.98412698298579493134e-04,
    8.33333333332248946124e-03,
    -1.66666666666666324348e-01,
)
_COS = (
    -1.13596475577881948265e-11,
    2.08757232129817482790e-09,
    -2.75573143513906633035e-07,
    2.48015872894767294178e-05,
    -1.38888888888741095749e-03,
    4.16666666666666019037e-02,
)
_ARCTAN_P = (
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)
_ARCTAN_Q = (
    1.0,
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
)
_HALF_PI = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624871116645580e-21)
"""pi/2 in three parts; the first two have 33 bits, so that their products with an integer below 2^20 are exact."""


def _vectorised(x: Array) -> bool:
    """Whether our own code is wanted: float64 on a CPU (a choice of speed, both ways are right everywhere)."""
    device = jax.config.jax_default_device  # type: ignore[attr-defined]
    platform = getattr(device, "platform", device) or jax.default_backend()
    return platform == "cpu" and x.dtype == jnp.float64


def _horner(x: Array, coefficients: Sequence[float]) -> Array:
    value = jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        value = value * x + c
    return value


def _reduce(x: Array) -> tuple[Array, Array]:
    """Splits an angle into a multiple of pi/2 (modulo 4, as a float) and a remainder within [-pi/4, pi/4]."""
    n = jnp.round(x * (2.0 / math.pi))
    r = ((x - n * _HALF_PI[0]) - n * _HALF_PI[1]) - n * _HALF_PI[2]
    return n - 4.0 * jnp.floor(0.25 * n), jnp.clip(r, -1.0, 1.0)


def _sincos(x: Array) -> tuple[Array, Array]:
    quadrant, r = _reduce(x)
    z = r * r
    s = r + r * z * _horner(z, _SIN)
    c = 1.0 - (0.5 * z - z * z * _horner(z, _COS))
    odd = (quadrant == 1.0) | (quadrant == 3.0)
    sine, cosine = jnp.where(odd, c, s), jnp.where(odd, s, c)
    sine = jnp.where(quadrant >= 2.0, -sine, sine)
    cosine = jnp.where((quadrant == 1.0) | (quadrant == 2.0), -cosine, cosine)
    return sine, cosine


@jax.custom_jvp
def _sincos_rule(x: Array) -> tuple[Array, Array]:
    return _sincos(x) if _vectorised(x) else (jnp.sin(x), jnp.cos(x))


@_sincos_rule.defjvp
def _sincos_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    s, c = _sincos_rule(*primals)
    return (s, c), (c * tangents[0], -s * tangents[0])


@float64_default
def sincos(x: Real) -> tuple[RealArray, RealArray]:
    """Sine and cosine of an angle in rad, at the cost of one of them.

    Examples:
        >>> from jaxgait.mechanics.elementary import sincos
        >>> [round(float(x), 6) for x in sincos(1.0)]
        [0.841471, 0.540302]
    """
    return _sincos_rule(jnp.asarray(x))


@float64_default
def sin(x: Real) -> RealArray:
    """Sine of an angle in rad.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.elementary import sin
        >>> round(float(sin(math.pi / 6)), 6)
        0.5
    """
    return sincos(x)[0]


@float64_default
def cos(x: Real) -> RealArray:
    """Cosine of an angle in rad.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.elementary import cos
        >>> round(float(cos(math.pi / 3)), 6)
        0.5
    """
    return sincos(x)[1]


def _arctan(x: Array) -> Array:
    a = jnp.abs(x)
    large, middle = a > 2.41421356237309504880, a > 0.66
    numerator = jnp.where(large, -1.0, jnp.where(middle, a - 1.0, a))
    denominator = jnp.where(large, a, jnp.where(middle, a + 1.0, 1.0))
    r = numerator / denominator
    z = r * r
    fraction = z * _horner(z, _ARCTAN_P) / _horner(z, _ARCTAN_Q)
    # The rounding errors of pi/2 and pi/4 are added back last.
    tail = jnp.where(large, 6.123233995736765886130e-17, jnp.where(middle, 3.061616997868382943065e-17, 0.0))
    base = jnp.where(large, math.pi / 2, jnp.where(middle, math.pi / 4, 0.0))
    value = base + ((r * fraction + tail) + r)
    return jnp.where(x < 0.0, -value, value)


@jax.custom_jvp
def _arctan_rule(x: Array) -> Array:
    return _arctan(x) if _vectorised(x) else jnp.arctan(x)


@_arctan_rule.defjvp
def _arctan_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,) = primals
    return _arctan_rule(x), tangents[0] / (1.0 + x * x)


@float64_default
def arctan(x: Real) -> RealArray:
    """Arctangent in rad, between -pi/2 and pi/2.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.elementary import arctan
        >>> round(math.degrees(arctan(1.0)), 6)
        45.0
    """
    return _arctan_rule(jnp.asarray(x))


def _arctan2(y: Array, x: Array) -> Array:
    steep = jnp.abs(y) > jnp.abs(x)
    # Divide the smaller by the larger, so that nothing overflows; the origin gets angle zero.
    numerator, denominator = jnp.where(steep, x, y), jnp.where(steep, y, x)
    ratio = numerator / jnp.where(denominator == 0.0, 1.0, denominator)
    angle = _arctan(ratio)
    upper = jnp.where(y < 0.0, -1.0, 1.0)
    shallow = jnp.where(x < 0.0, angle + upper * math.pi, angle)
    return jnp.where(steep, upper * (math.pi / 2) - angle, shallow)


@jax.custom_jvp
def _arctan2_rule(y: Array, x: Array) -> Array:
    return _arctan2(y, x) if _vectorised(x) else jnp.arctan2(y, x)


@_arctan2_rule.defjvp
def _arctan2_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (y, x), (dy, dx) = primals, tangents
    return _arctan2_rule(y, x), (x * dy - y * dx) / (x * x + y * y)


@float64_default
def arctan2(y: Real, x: Real) -> RealArray:
    """Angle in rad of the point (x, y) from the x axis, above -pi and up to pi.

    Examples:
        >>> from jaxgait.mechanics.elementary import arctan2
        >>> round(float(arctan2(1.0, -1.0)), 6)
        2.356194
    """
    y, x = jnp.broadcast_arrays(y, x)
    return _arctan2_rule(y, x)


@jax.custom_jvp
def _arccos_rule(x: Array) -> Array:
    return 2.0 * _arctan2(jnp.sqrt(1.0 - x), jnp.sqrt(1.0 + x)) if _vectorised(x) else jnp.arccos(x)


@_arccos_rule.defjvp
def _arccos_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,) = primals
    return _arccos_rule(x), -tangents[0] / jnp.sqrt((1.0 - x) * (1.0 + x))


@float64_default
def arccos(x: Real) -> RealArray:
    """Angle in rad, between 0 and pi, of a cosine; NaN outside [-1, 1].

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.elementary import arccos
        >>> round(math.degrees(arccos(0.5)), 6)
        60.0
    """
    return _arccos_rule(jnp.asarray(x))


def _softplus(x: Array) -> Array:
    u = jnp.exp(-jnp.abs(x))
    s = u / (2.0 + u)
    # log(1 + u) = 2 artanh(u / (2 + u)): the odd series up to s^33, s <= 1/3.
    series = _horner(s * s, [2.0 / k for k in range(33, 0, -2)])
    return jnp.maximum(x, 0.0) + s * series


@jax.custom_jvp
def _softplus_rule(x: Array) -> Array:
    return _softplus(x) if _vectorised(x) else jax.nn.softplus(x)


@_softplus_rule.defjvp
def _softplus_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,) = primals
    return _softplus_rule(x), jax.nn.sigmoid(x) * tangents[0]


@float64_default
def softplus(x: Real) -> RealArray:
    """Smooth positive part ``log(1 + exp(x))``. No dimension.

    Examples:
        >>> from jaxgait.mechanics.elementary import softplus
        >>> round(float(softplus(0.0)), 6)
        0.693147
    """
    return _softplus_rule(jnp.asarray(x))
