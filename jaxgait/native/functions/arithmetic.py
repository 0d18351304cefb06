"""Numbers in parts: bits of floating-point numbers, exact sums and products.

Compilers may fuse any product and sum (`contract`). Nothing below may depend on it: products whose rounding error
would matter are products of short numbers, which have none (Dekker, A floating-point technique for extending the
available precision, 1971, with masks in place of his products).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax


class Format(NamedTuple):
    """Constants of a floating-point format."""

    integer: Any
    bias: int
    mantissa: int
    """Bits of the mantissa, without the leading one."""
    rest: int
    """Bits of the mantissa that `upper` clears: products of what it leaves are exact."""
    smallest: float
    """Below this the exponential is zero."""
    largest: float
    """Above this it is infinite."""
    log2: tuple[float, float]
    """log 2 in two parts; products of the first with an exponent are exact."""
    quarter: tuple[float, float]
    """pi/4 in two parts; products of the first with 1, 2, 3 and 4 are exact."""


FORMATS = {
    "float64": Format(
        *(jnp.int64, 1023, 52, 27, -746.0, 710.0),
        (0.6931471805598903, 5.497923018708371e-14),
        (0.7853981633974483, 3.061616997868383e-17),
    ),
    "float32": Format(
        *(jnp.int32, 127, 23, 12, -104.0, 89.0),
        (0.693145751953125, 1.4286068203094173e-06),
        (0.785398006439209, 1.5695823663008923e-07),
    ),
}


def format_of(x: Array) -> Format:
    """The format of a real number."""
    return FORMATS[str(x.dtype)]


def polynomial(x: Array, coefficients: Mapping[str, Sequence[float]]) -> Array:
    """A polynomial by Horner's rule; coefficients by dtype, that of the highest power first."""
    first, *others = coefficients[str(x.dtype)]
    return functools.reduce(lambda value, c: value * x + c, others, jnp.full_like(x, first))


def nearest(x: Array) -> Array:
    """The nearest integer, as a real number."""
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def between(x: Array, low: float, high: float) -> Array:
    """A number clamped to an interval; NaN stays NaN."""
    return lax.clamp(x.dtype.type(low), x, x.dtype.type(high))


def either(condition: Array, yes: Array | float, no: Array | float, like: Array) -> Array:
    """One of two numbers, in the format of `like`."""
    a, b = (like.dtype.type(x) if isinstance(x, float) else x for x in (yes, no))
    return jnp.where(condition, a, b)


# --- bits -------------------------------------------------------------------------------------------------------------


def bits(x: Array) -> Array:
    """The bits of a real number, as an integer."""
    return lax.bitcast_convert_type(x, format_of(x).integer)


def number(x: Array, like: Array) -> Array:
    """The real number of given bits."""
    return lax.bitcast_convert_type(x, like.dtype)


def integer_bits(n: Array) -> Array:
    """An integer with the lowest bits of a small integer that is held as a real number."""
    return bits(n + 1.5 * 2.0 ** format_of(n).mantissa)


def in_order(x: Array) -> Array:
    """An integer that grows with a real number in the total order of IEEE 754: -0 before 0, NaN at both ends."""
    found = bits(x)
    return jnp.where(found < 0, found ^ int(jnp.iinfo(found.dtype).max), found)


def sign(x: Array) -> Array:
    """The sign bit of a real number."""
    return bits(x) & int(jnp.iinfo(format_of(x).integer).min)


def sign_if(condition: Array, like: Array) -> Array:
    """The sign bit where a condition holds, zero elsewhere."""
    integer = np.iinfo(np.dtype(format_of(like).integer))
    return jnp.where(condition, integer.dtype.type(integer.min), integer.dtype.type(0))


def signed(size: Array, like: Array) -> Array:
    """A non-negative number with the sign of another one, which may be a zero."""
    return number(bits(size) | sign(like), size)


def power_of_two(n: Array) -> Array:
    """2^n of a real number that is an integer; 2^n must be a normal number."""
    f = format_of(n)
    biased = integer_bits(n) + f.bias
    return number(lax.shift_left(biased, jnp.full_like(biased, f.mantissa)), n)


def scaled(x: Array, n: Array) -> Array:
    """The number times 2^n, in two steps: 2^n itself may not be a normal number where the result is."""
    half = jnp.floor(0.5 * n)
    return x * power_of_two(half) * power_of_two(n - half)


def nextafter(x: Array, y: Array) -> Array:
    """The next number of the format after x on the way to y: all in bits, so that denormal numbers count."""
    lowest = int(jnp.iinfo(format_of(x).integer).min)
    a, b = bits(x), bits(y)
    size, other = a & ~lowest, b & ~lowest
    back = ((a ^ b) < 0) | (size > other)
    step = jnp.where(size == 0, (b & lowest) | 1, jnp.where(back, a - 1, a + 1))
    there = (a == b) | ((size | other) == 0)
    return either((x != x) | (y != y), math.nan, number(jnp.where(there, b, step), x), x)  # noqa: PLR0124


def exponent(x: Array) -> tuple[Array, Array]:
    """A positive normal number as m 2^k with sqrt(1/2) <= m < sqrt(2); returns m and k, a real number."""
    f = format_of(x)
    one, root = (int(np.asarray(r, x.dtype).view(np.dtype(f.integer))) for r in (1.0, 0.5**0.5))
    shifted = bits(x) + (one - root)
    biased = lax.shift_right_logical(shifted, jnp.full_like(shifted, f.mantissa))
    k = number(biased | ((f.bias + f.mantissa) << f.mantissa), x) - (2.0**f.mantissa + f.bias)
    return number((shifted & ((1 << f.mantissa) - 1)) + root, x), k


# --- exact sums and products ------------------------------------------------------------------------------------------


def total(a: Array, b: Array) -> tuple[Array, Array]:
    """A sum and its rounding error, if the first number is zero or not smaller than the second (Dekker)."""
    s = a + b
    return s, (a - s) + b


def upper(x: Array) -> Array:
    """The upper half of a number: products of two of them are exact."""
    return number(bits(x) & -(1 << format_of(x).rest), x)


def halves(high: Array, low: Array) -> tuple[Array, Array]:
    """A number in two parts, the first of which is an upper half."""
    first = upper(high + low)
    return first, (high - first) + low


def product(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    """A product of two numbers in `halves`, in two parts: the first one is exact."""
    return a[0] * b[0], a[0] * b[1] + a[1] * (b[0] + b[1])
