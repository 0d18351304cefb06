"""Linear systems of one member: elimination with partial pivoting, and triangular solves.

Rules like those of `jaxgait.native.arrays`, for small matrices: n cubed operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgait.native.code import Unsupported

MAX_ROWS = 20
"""Largest number of rows of a matrix that a kernel solves."""


def _lu(reader: Any, e: Any, inputs: Sequence[Any]) -> list[np.ndarray]:
    x = _matrix(reader, e, inputs[0])
    if x.shape[0] != x.shape[1]:
        raise Unsupported("LU factors of a matrix that is not square")
    n, dtype = len(x), reader.code.dtypes[int(x[0, 0])]
    kinds = [v.aval.dtype for v in e.outvars[1:]]
    rows, pivots = [row.tolist() for row in x], []
    order = [reader.constant(i, kinds[1]) for i in range(n)]
    for k in range(n):
        pivot = _largest(reader, [row[k] for row in rows[k:]], k, kinds[0], dtype)
        pivots.append(pivot)
        for i in range(k + 1, n):
            hit = reader.number("eq", [pivot, reader.constant(i, kinds[0])], bool)
            rows[k], rows[i] = _exchanged(reader, hit, rows[k], rows[i], dtype)
            (order[k],), (order[i],) = _exchanged(reader, hit, [order[k]], [order[i]], kinds[1])
        for i in range(k + 1, n):
            rows[i][k] = reader.number("div", [rows[i][k], rows[k][k]], dtype)
            for j in range(k + 1, n):
                rows[i][j] = _less(reader, rows[i][j], rows[i][k], rows[k][j], dtype)
    return [np.array(rows, dtype=int), np.array(pivots, dtype=int), np.array(order, dtype=int)]


def _largest(reader: Any, column: Sequence[int], first: int, kind: Any, dtype: Any) -> int:
    """The row of the largest number from `first` on; of equal ones the first."""
    best, where = reader.number("abs", [column[0]], dtype), reader.constant(first, kind)
    for i, v in enumerate(column[1:], start=first + 1):
        size = reader.number("abs", [v], dtype)
        larger = reader.number("gt", [size, best], bool)
        best = reader.number("select_n", [larger, best, size], dtype)
        where = reader.number("select_n", [larger, where, reader.constant(i, kind)], kind)
    return where


def _exchanged(reader: Any, hit: int, a: Sequence[int], b: Sequence[int], dtype: Any) -> tuple[list[int], list[int]]:
    chosen = lambda x, y: [reader.number("select_n", [hit, *pair], dtype) for pair in zip(x, y, strict=True)]
    return chosen(a, b), chosen(b, a)


def _less(reader: Any, x: int, a: int, b: int, dtype: Any) -> int:
    return reader.number("sub", [x, reader.number("mul", [a, b], dtype)], dtype)


def _triangular(reader: Any, e: Any, inputs: Sequence[Any]) -> list[np.ndarray]:
    p, a, b = e.params, _matrix(reader, e, inputs[0]), _matrix(reader, e, inputs[1])
    lower = p["lower"] != p["transpose_a"]
    a = a.T if p["transpose_a"] else a
    if not p["left_side"]:
        a, b, lower = a.T, b.T, not lower
    columns = [_substituted(reader, a, column.tolist(), lower, p["unit_diagonal"]) for column in b.T]
    found = np.array(columns, dtype=int).T
    return [found if p["left_side"] else found.T]


def _substituted(reader: Any, a: np.ndarray, x: list[int], lower: bool, unit: bool) -> list[int]:
    n, dtype = len(x), reader.code.dtypes[x[0]]
    for i in range(n) if lower else range(n - 1, -1, -1):
        for j in range(i) if lower else range(i + 1, n):
            x[i] = _less(reader, x[i], int(a[i, j]), x[j], dtype)
        x[i] = x[i] if unit else reader.number("div", [x[i], int(a[i, i])], dtype)
    return x


def _solve(reader: Any, e: Any, inputs: Sequence[Any]) -> Sequence[Any]:
    """A solve whose derivative rule is no longer needed."""
    lengths, program = e.params["const_lengths"], e.params["jaxprs"].solve
    first = lengths.matvec + lengths.vecmat
    right = inputs[first + lengths.solve + lengths.transpose_solve :]
    return reader.inline(program, [*inputs[first : first + lengths.solve], *right])


def _matrix(reader: Any, e: Any, x: Any) -> np.ndarray:
    if not isinstance(x, np.ndarray) or x.ndim != 2 or max(x.shape) > MAX_ROWS or x.size == 0:
        raise Unsupported(f"{e.primitive.name} of a large, empty or batched matrix")
    return x


LINEAR: Mapping[str, Callable[[Any, Any, Sequence[Any]], Sequence[Any]]] = {
    "lu": _lu,
    "triangular_solve": _triangular,
    "custom_linear_solve": _solve,
}
