"""Operations on scalars that a kernel leaves out because enough is known about them when it is written.

Arithmetic on integers and booleans that are known is done at once: positions in arrays are made of it. On real numbers
nothing is left out that would change a bit of a result or hide an infinity or NaN, except in functions that assume
finite numbers (`jaxgait.native.primitives.assuming_finite`). A rule takes the reader
(`jaxgait.native.reading.Reader`), the operation, its inputs and the type of its result, and returns a value or None.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

_WHOLE: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": max,
    "min": min,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "convert_element_type": lambda x: x,
    "select_n": lambda which, *cases: cases[which],
}
"""Operations on integers and booleans that are known."""


def folded(reader: Any, name: str, inputs: Sequence[int], dtype: np.dtype) -> int | None:
    """The value of an operation that copies an input or whose integers or booleans are known, None for others."""
    constants = reader.code.constants
    if name == "select_n" and len(inputs) == 3 and (which := constants.get(inputs[0])) is not None:
        return inputs[2] if which else inputs[1]
    if name == "convert_element_type" and reader.code.dtypes[inputs[0]] == dtype:
        return inputs[0]
    if name not in _WHOLE or dtype.kind not in ("ibf" if name == "convert_element_type" else "ib"):
        return None
    known = [constants.get(v) for v in inputs]
    if any(x is None or isinstance(x, float) for x in known):
        return None
    found = _WHOLE[name](*known)
    fits = dtype.kind in "bf" or np.iinfo(dtype).min <= found <= np.iinfo(dtype).max
    return reader.constant(found, dtype) if fits else None


def shortened(reader: Any, name: str, inputs: Sequence[int], dtype: np.dtype) -> int | None:
    """The value of an operation on finite real numbers one of which is known to be zero or one; otherwise None.

    Quotients are left alone: 0 / 0 shows that a system of equations is singular.
    """
    known = [reader.code.constants.get(v) for v in inputs]
    zero = [x == 0 for x in known]
    if (name == "mul" and any(zero)) or (name == "neg" and zero[0]):
        return reader.constant(0.0, dtype)
    if name == "mul":
        return inputs[1] if known[0] == 1 else inputs[0] if known[1] == 1 else None
    if name in ("add", "add_any") and zero[0]:
        return inputs[1]
    if name in ("add", "add_any", "sub") and zero[1]:
        return inputs[0]
    if name == "sub" and zero[0]:
        return reader.number("neg", [inputs[1]], dtype)
    return inputs[1] if name == "select_n" and all(zero[1:]) else None
