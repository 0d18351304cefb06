"""Functions that processors lack, as straight-line arithmetic on float64 and float32.

Largest errors in units in the last place of the exact result, checked by the tests over all numbers of a format, in
kernels and by XLA:

    function                float64   float32
    sin, cos                   1.5       1.5
    tan                        2.5       2.5
    asin                       2.5       2.5
    acos                       1.5       1.5
    atan, atan2                2.0       2.0
    exp, exp2                  1.5       1.5
    expm1                      2.0       2.0
    log, log1p                 1.0       1.0
    pow, cbrt                  1.0       1.0
    sinh, tanh                 2.5       2.5
    cosh                       2.0       2.0
    asinh, atanh               2.0       2.0
    acosh                      2.5       2.5
    logistic                   2.5       2.5
    nextafter                  0.0       0.0

`jax.nn.softplus` is made of log1p and exp: 2. Zeros with signs, infinities, NaN and overflow come out as in C. XLA runs
everything on CPUs with denormal numbers flushed to zero, which these functions neither prevent nor need.

Angles up to 3.2e9 rad in float64, and 2.4e4 rad in float32, are reduced by arithmetic, larger ones by the C library, or
its replacement on GPUs (`library`): by the operations far_sin, far_cos and far_tan, whose second operand marks such
angles.

Products and sums may be fused, but sums must not be reordered: the arithmetic relies on their rounding errors.
Derivatives have been taken before anything is expanded: JAX's own rules hold.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import Array
from jax.extend.core import ClosedJaxpr

from jaxgait.native.functions import arithmetic, circular, exponential
from jaxgait.native.functions.arithmetic import FORMATS

EXPANSIONS: dict[str, Callable[..., Array]] = {
    **{"sin": circular.sin, "cos": circular.cos, "tan": circular.tan},
    **{"asin": circular.asin, "acos": circular.acos, "atan": circular.atan, "atan2": circular.atan2},
    **{"exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1},
    **{"log": exponential.log, "log1p": exponential.log1p, "pow": exponential.pow, "cbrt": exponential.cbrt},
    **{"sinh": exponential.sinh, "cosh": exponential.cosh, "tanh": exponential.tanh},
    **{"asinh": exponential.asinh, "acosh": exponential.acosh, "atanh": exponential.atanh},
    **{"logistic": exponential.logistic, "nextafter": arithmetic.nextafter},
}
"""Functions in the table above."""


def _polynomial(x: Array, *coefficients: Array) -> Array:
    """Horner's rule; the coefficients begin with that of the lowest power."""
    return functools.reduce(lambda value, c: value * x + c, reversed(coefficients))


COMPOSED: dict[str, Callable[..., Array]] = {
    "log2": lambda x: exponential.log(x) * math.log2(math.e),
    "one_minus_square": lambda x: (1.0 + x) * (1.0 - x),
    "polynomial": _polynomial,
    "eq_to": lambda x, y: arithmetic.bits(x) == arithmetic.bits(y),
    "le_to": lambda x, y: arithmetic.in_order(x) <= arithmetic.in_order(y),
    "lt_to": lambda x, y: arithmetic.in_order(x) < arithmetic.in_order(y),
}
"""Others, composed as XLA composes them: operations that were several before JAX 0.12, and comparisons in a total
order, with which tables are searched."""
FUNCTIONS = EXPANSIONS | COMPOSED


def expanded(name: str, avals: Sequence[Any]) -> ClosedJaxpr | None:
    """The arithmetic of an operation, if it is a known function of numbers of one known format."""
    if name not in FUNCTIONS:
        return None
    dtypes = {str(a.dtype) for a in avals}
    if len(dtypes) != 1 or not dtypes <= FORMATS.keys():
        return None
    return _traced(name, tuple(a.shape for a in avals), *dtypes)


@functools.lru_cache(maxsize=256)
def _traced(name: str, shapes: tuple[tuple[int, ...], ...], dtype: str) -> ClosedJaxpr:
    return jax.make_jaxpr(FUNCTIONS[name])(*(jax.ShapeDtypeStruct(shape, dtype) for shape in shapes))
