"""Functions that processors lack, as straight-line arithmetic on float64 and float32.

Largest errors, checked by the tests, in units in the last place: `exp` 2, `tanh` 3, `logistic` 4. Infinities, NaN
and overflow come out as they should; denormal results are zero, as XLA has it.

Coefficients: hyperbolic tangent, and the two parts of log 2, of the Cephes library (Moshier, Methods and Programs for
Mathematical Functions, 1989).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.extend.core import ClosedJaxpr


class Format(NamedTuple):
    """What the code needs to know of a floating-point format."""

    integer: Any
    bias: int
    mantissa: int
    """Bits of the mantissa."""
    smallest: float
    """Below this the exponential is zero."""
    largest: float
    """Above this it is infinite."""
    log2: tuple[float, float]
    """log 2 in two parts; products of the first with a small integer are exact."""
    degree: int
    """Of the polynomial for the exponential on [-log(2)/2, log(2)/2]."""
    tanh_p: tuple[float, ...]
    tanh_q: tuple[float, ...]


FORMATS = {
    "float64": Format(
        *(jnp.int64, 1023, 52, -746.0, 710.0, (6.93145751953125e-1, 1.42860682030941723212e-6), 13),
        (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3),
        (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3),
    ),
    "float32": Format(
        *(jnp.int32, 127, 23, -104.0, 89.0, (0.693359375, -2.12194440e-4), 7),
        (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1),
        (1.0,),
    ),
}


def _horner(x: Array, coefficients: Sequence[float]) -> Array:
    return functools.reduce(lambda value, c: value * x + c, coefficients[1:], jnp.full_like(x, coefficients[0]))


def exp(x: Array) -> Array:
    """The exponential function: a power of two times a polynomial."""
    f = FORMATS[str(x.dtype)]
    x = jnp.clip(x, f.smallest, f.largest)
    n = jnp.round(x * math.log2(math.e))
    r = (x - n * f.log2[0]) - n * f.log2[1]
    polynomial = _horner(r, [1.0 / math.factorial(k) for k in range(f.degree, -1, -1)])
    # In two steps: 2^n itself may be no normal number where the result is one.
    half = jnp.floor(0.5 * n)
    return polynomial * _power_of_two(half, f) * _power_of_two(n - half, f)


def _power_of_two(n: Array, f: Format) -> Array:
    """2^n of a float that is an integer: its bits are the last ones of its sum with a large number."""
    bits = jax.lax.bitcast_convert_type(n + 1.5 * 2.0**f.mantissa, f.integer) + f.bias
    return jax.lax.bitcast_convert_type(jax.lax.shift_left(bits, jnp.full_like(bits, f.mantissa)), n.dtype)


def tanh(x: Array) -> Array:
    """The hyperbolic tangent: a rational function near zero, by the exponential elsewhere."""
    f = FORMATS[str(x.dtype)]
    size, z = jnp.abs(x), x * x
    small = x + x * z * _horner(z, f.tanh_p) / _horner(z, f.tanh_q)
    large = 1.0 - 2.0 / (exp(2.0 * size) + 1.0)
    return jnp.where(size < 0.625, small, jnp.where(x < 0.0, -large, large))


def logistic(x: Array) -> Array:
    """The logistic function, without overflow."""
    u = exp(-jnp.abs(x))
    return jnp.where(x < 0.0, u, 1.0) / (1.0 + u)


EXPANSIONS: dict[str, Callable[[Array], Array]] = {"exp": exp, "tanh": tanh, "logistic": logistic}


def expanded(name: str, avals: Sequence[Any]) -> ClosedJaxpr | None:
    """The arithmetic of an operation, if it is one of `EXPANSIONS` on numbers of a known format."""
    if name not in EXPANSIONS or str(avals[0].dtype) not in FORMATS:
        return None
    return _traced(name, avals[0].shape, str(avals[0].dtype))


@functools.lru_cache(maxsize=256)
def _traced(name: str, shape: tuple[int, ...], dtype: str) -> ClosedJaxpr:
    return jax.make_jaxpr(EXPANSIONS[name])(jax.ShapeDtypeStruct(shape, dtype))
