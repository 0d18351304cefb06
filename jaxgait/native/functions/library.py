"""Functions of the C library in float64, for processors without one: sines of angles of any size, and remainders.

Large angles are reduced by as many bits of 2/pi as matter, in integers (Payne and Hanek, Radian reduction for
trigonometric functions, SIGNUM Newsletter 18, 1983).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxgait.native.functions import circular
from jaxgait.native.functions.arithmetic import bits, either, format_of, halves, product, signed, total

TWO_OVER_PI = (
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921c"
    "fe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08"
    "56033046fc7b6bab"
)
"""Bits of 2/pi after the point, computed in 1600 bits."""
LIMB_BITS = 32
"""Bits of each of the integers that a long one consists of."""
LIMB_MASK = 2**LIMB_BITS - 1
LIMBS = np.array([0, 0, *(int(TWO_OVER_PI[i : i + 8], 16) for i in range(0, len(TWO_OVER_PI), 8))])
"""2/pi over 2^64: for angles from 2^-10 on, no bit that matters is before the first of these."""
PI_HALF = (1.5707963267948966, 6.123233995736766e-17)
"""pi/2 in two parts."""


def _limbs(x: Array) -> list[Array]:
    """The absolute value of a number times 2/pi, less a multiple of 4.

    Returns:
        Six integers of 32 bits each, from the lowest on: 2 bits before the point and 190 behind it.
    """
    f = format_of(x)
    mantissa = (bits(x) & ((1 << f.mantissa) - 1)) | (1 << f.mantissa)
    exponent = (lax.shift_right_logical(bits(x), jnp.full_like(mantissa, f.mantissa)) & 0x7FF) - (f.bias + f.mantissa)
    first = exponent + (2 * LIMB_BITS - 2)  # the first bit of 2/pi whose product is not a multiple of 4
    words = lax.dynamic_slice(jnp.asarray(LIMBS), (lax.shift_right_logical(first, jnp.full_like(first, 5)),), (7,))
    shift = first & (LIMB_BITS - 1)
    pairs = [lax.shift_left(words[i], jnp.full_like(first, LIMB_BITS)) | words[i + 1] for i in range(6)]
    window = [_upper(lax.shift_left(pair, shift)) for pair in reversed(pairs)]
    low, high = mantissa & LIMB_MASK, _upper(mantissa)
    found, carry = [], jnp.zeros_like(mantissa)
    for i in range(6):
        at = [(low, i, False), (low, i - 1, True), (high, i - 1, False), (high, i - 2, True)]
        for factor, k, above in at:
            if k >= 0:
                part = factor * window[k]
                carry = carry + (_upper(part) if above else part & LIMB_MASK)
        found.append(carry & LIMB_MASK)
        carry = _upper(carry)
    return found


def _upper(x: Array) -> Array:
    return lax.shift_right_logical(x, jnp.full_like(x, LIMB_BITS))


def _reduced(x: Array) -> tuple[Array, Array, Array]:
    """The absolute value of an angle as r + n pi/2, |r| <= pi/4: r, its rounding error, and the last bits of n."""
    limbs = _limbs(x)
    top = limbs[5] & (2**30 - 1)
    beyond = lax.shift_right_logical(top, jnp.full_like(top, 29))  # one if the rest is more than a half
    n = lax.shift_right_logical(limbs[5], jnp.full_like(top, 30)) + beyond
    r, rest = (top - lax.shift_left(beyond, jnp.full_like(top, 30))).astype(x.dtype) * 2.0**-30, 0.0
    for i in range(4, 0, -1):
        r, error = total(r, limbs[i].astype(x.dtype) * 2.0 ** (LIMB_BITS * i - 190))
        rest = rest + error
    quarter = halves(*(jnp.full_like(x, part) for part in PI_HALF))
    return *total(*product(halves(r, jnp.asarray(rest)), quarter)), n


def sin(x: Array) -> Array:
    """The sine of a large angle."""
    size = circular.turned(*circular.sine_cosine(*_reduced(jnp.abs(x))))
    return _finite(either(x < 0.0, -size, size, x), x)


def cos(x: Array) -> Array:
    """The cosine of a large angle."""
    sine, cosine, n = circular.sine_cosine(*_reduced(jnp.abs(x)))
    return _finite(circular.turned(sine, cosine, n + 1), x)


def tan(x: Array) -> Array:
    """The tangent of a large angle."""
    size = circular.slope(*circular.sine_cosine(*_reduced(jnp.abs(x))))
    return _finite(either(x < 0.0, -size, size, x), x)


def _finite(value: Array, x: Array) -> Array:
    return either(jnp.abs(x) < math.inf, value, math.nan, x)


def fmod(x: Array, y: Array) -> Array:
    """The remainder of a division, with the sign of the first number: exact.

    The largest multiple of the divisor by a power of two is subtracted, then the next smaller one; nothing is rounded.
    """
    a, b = jnp.abs(x), jnp.abs(y)
    ordinary = (b + b > b) & (a < math.inf)  # (a sum, which is zero where denormal numbers count as zero)
    largest = lax.while_loop(lambda t: ordinary & (t <= a - t), lambda t: t + t, b)
    less = lambda c: (jnp.where(c[0] >= c[1], c[0] - c[1], c[0]), 0.5 * c[1])
    a, _ = lax.while_loop(lambda c: ordinary & (c[1] >= b), less, (a, largest))
    return either(ordinary | ((b == math.inf) & (jnp.abs(x) < math.inf)), signed(a, x), math.nan, x)


FUNCTIONS: Mapping[str, Callable[..., Array]] = {"sin": sin, "cos": cos, "tan": tan, "fmod": fmod}
