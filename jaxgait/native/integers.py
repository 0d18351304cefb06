"""Operations on integers that processors lack or that fail there, made of others, as XLA defines them.

Division by zero gives -1, all bits set, and leaves the dividend as remainder; the least number divided by -1 is itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def quotient(reader: Any, x: Sequence[int], dtype: np.dtype) -> int:
    """A quotient, rounded towards zero."""
    whole, zero = _divided(reader, "whole_quotient", x, dtype)
    nothing = reader.constant(-1 if dtype.kind == "i" else np.iinfo(dtype).max, dtype)
    return reader.number("select_n", [zero, whole, nothing], dtype)


def remainder(reader: Any, x: Sequence[int], dtype: np.dtype) -> int:
    """What is left of a division, with the sign of the dividend."""
    rest, zero = _divided(reader, "whole_remainder", x, dtype)
    return reader.number("select_n", [zero, rest, x[0]], dtype)


def _divided(reader: Any, name: str, x: Sequence[int], dtype: np.dtype) -> tuple[int, int]:
    """An instruction that stops the program where it has no result, kept from doing so; whether the divisor is zero."""
    a, b = x
    zero = reader.number("eq", [b, reader.constant(0, dtype)], bool)
    unfit = zero
    if dtype.kind == "i":
        least = reader.number("eq", [a, reader.constant(np.iinfo(dtype).min, dtype)], bool)
        negative = reader.number("eq", [b, reader.constant(-1, dtype)], bool)
        unfit = reader.number("or", [zero, reader.number("and", [least, negative], bool)], bool)
    divisor = reader.number("select_n", [unfit, b, reader.constant(1, dtype)], dtype)
    return reader.number(name, [a, divisor], dtype), zero


def sign(reader: Any, x: Sequence[int], dtype: np.dtype) -> int:
    """-1, 0 or 1."""
    zero, one = reader.constant(0, dtype), reader.constant(1, dtype)
    positive = reader.number("select_n", [reader.number("gt", [x[0], zero], bool), zero, one], dtype)
    if dtype.kind == "u":
        return positive
    negative = reader.number("select_n", [reader.number("lt", [x[0], zero], bool), zero, one], dtype)
    return reader.number("sub", [positive, negative], dtype)


def size(reader: Any, x: Sequence[int], dtype: np.dtype) -> int:
    """The number without its sign; the least one is itself."""
    if dtype.kind == "u":
        return x[0]
    negative = reader.number("lt", [x[0], reader.constant(0, dtype)], bool)
    return reader.number("select_n", [negative, x[0], reader.number("neg", [x[0]], dtype)], dtype)


def square(reader: Any, x: Sequence[int], dtype: np.dtype) -> int:
    """The number times itself."""
    return reader.number("mul", [x[0], x[0]], dtype)


RULES: dict[str, Callable[[Any, Sequence[int], np.dtype], int]] = {
    **{"div": quotient, "rem": remainder, "sign": sign, "abs": size, "square": square},
}
