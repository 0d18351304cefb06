"""Array operations for one member, scalar by scalar: where each scalar of a result comes from.

A rule takes the reader (`jaxgait.native.reading.Reader`), the equation and its inputs, arrays of numbered values.

Small linear systems are also solved scalar by scalar, by elimination with partial pivoting: n cubed operations.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from jaxgait.native.code import Unsupported

MAX_ROWS = 20
"""Largest number of rows of a matrix that a kernel solves."""
MAX_CREATED = 4096
"""Largest number of elements of an array that broadcasting creates."""


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
    """Row of the number of largest magnitude in a column that starts at row `first`; the first of equal ones."""
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
    """Inlines the solver of a linear solve, whose derivative rule is no longer needed."""
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


def _reshape(_: Any, e: Any, inputs: Sequence[Any]) -> Any:
    return _cells(e, inputs[0]).reshape(e.outvars[0].aval.shape)


def _broadcast(_: Any, e: Any, inputs: Sequence[Any]) -> Any:
    return _spread(_cells(e, inputs[0]), e.params["shape"], e.params["broadcast_dimensions"])


def _spread(x: np.ndarray, shape: Sequence[int], axes: Sequence[int]) -> np.ndarray:
    """An array broadcast to a shape, in which its own axes are `axes`."""
    if math.prod(shape) > MAX_CREATED:
        raise Unsupported(f"creation of an array of {math.prod(shape)} numbers")
    wide = [1] * len(shape)
    for axis, to in enumerate(axes):
        wide[to] = x.shape[axis]
    return np.broadcast_to(x.reshape(wide), shape).copy()


def _slice(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    p, x = e.params, inputs[0]
    steps = p["strides"] or (1,) * len(x.shape)
    bounds = zip(p["start_indices"], p["limit_indices"], steps, strict=True)
    return _part(reader, x, tuple(slice(a, b, s) for a, b, s in bounds))


def _part(reader: Any, x: Any, where: tuple[slice, ...]) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return x[where]
    ranges = [range(n)[s] for n, s in zip(x.shape, where, strict=True)]
    found = [reader.element(x, [reader.constant(i, np.int64) for i in at]) for at in itertools.product(*ranges)]
    return np.array(found, dtype=int).reshape([len(r) for r in ranges])


def _iota(reader: Any, e: Any, _: Sequence[Any]) -> Any:
    shape, axis = e.params["shape"], e.params["dimension"]
    whole = reader.array(np.arange(shape[axis]).astype(e.outvars[0].aval.dtype))
    return whole if len(shape) == 1 else _spread(_cells(e, whole), shape, (axis,))


def _pad(_: Any, e: Any, inputs: Sequence[Any]) -> Any:
    x, padding = _cells(e, inputs[0]), e.params["padding_config"]
    if any(low < 0 or high < 0 for low, high, _ in padding):
        raise Unsupported("pad with negative widths")
    found = np.full(e.outvars[0].aval.shape, int(np.asarray(inputs[1])))
    sizes = zip(found.shape, padding, strict=True)
    found[tuple(slice(low, n - high, 1 + inside) for n, (low, high, inside) in sizes)] = x
    return found


def _select(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    which, *cases = (_cells(e, x) for x in inputs)
    of, to = e.invars[0].aval.dtype, e.outvars[0].aval.dtype
    if e.primitive.name == "clamp" or of.kind == "b":
        return reader.elementwise(e, [which, *cases])

    def chosen(number: int, *values: int) -> int:
        """The value at a position, which is clamped to the first or last, as in JAX's batched branches."""
        found, *rest = values
        for i, v in enumerate(rest, start=1):
            reached = reader.number("ge", [number, reader.constant(i, of)], bool)
            found = reader.number("select_n", [reached, found, v], to)
        return found

    return np.vectorize(chosen, otypes=[int])(which, *cases)


def _dynamic_slice(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    x, shape = inputs[0], e.outvars[0].aval.shape
    start = [_within(reader, int(np.asarray(i)), n - k) for i, n, k in zip(inputs[1:], x.shape, shape, strict=True)]
    found = [reader.element(x, _shifted(reader, start, at)) for at in np.ndindex(shape)]
    return np.array(found, dtype=int).reshape(shape)


def _dynamic_update_slice(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    whole, new = inputs[0], _cells(e, inputs[1])
    sizes = zip(inputs[2:], whole.shape, new.shape, strict=True)
    start = [_within(reader, int(np.asarray(i)), n - k) for i, n, k in sizes]
    for at in np.ndindex(new.shape):
        whole = reader.put(whole, _shifted(reader, start, at), int(new[at]))
    return whole


def _within(reader: Any, index: int, last: int) -> int:
    dtype = reader.code.dtypes[index]
    low = reader.number("max", [index, reader.constant(0, dtype)], dtype) if dtype.kind == "i" else index
    return reader.number("min", [low, reader.constant(last, dtype)], dtype)


def _shifted(reader: Any, start: Sequence[int], by: Sequence[int]) -> list[int]:
    found = []
    for v, n in zip(start, by, strict=True):
        dtype = reader.code.dtypes[v]
        found.append(reader.number("add", [v, reader.constant(n, dtype)], dtype) if n else v)
    return found


def _gather(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    x, indices = inputs[0], _cells(e, inputs[1])
    d, sizes = e.params["dimension_numbers"], e.params["slice_sizes"]
    shape = e.outvars[0].aval.shape
    found = np.empty(shape, dtype=int)
    batch_axes = [a for a in range(len(shape)) if a not in d.offset_dims]
    axes = _window(x, (*d.collapsed_slice_dims, *d.operand_batching_dims), d.offset_dims)
    axes.update(zip(d.operand_batching_dims, (batch_axes[i] for i in d.start_indices_batching_dims), strict=True))
    for at in np.ndindex(shape):
        vector = indices[tuple(at[a] for a in batch_axes)]
        offset = [at[axes[a]] if a in axes else 0 for a in range(len(x.shape))]
        found[at] = _gathered(reader, e, x, vector, d.start_index_map, sizes, offset)
    return found


def _window(x: Any, others: Sequence[int], axes: Sequence[int]) -> dict[int, int]:
    """Maps the axes of an array that windows extend along (all but `others`) to axes of the array of windows."""
    return dict(zip((a for a in range(len(x.shape)) if a not in others), axes, strict=True))


def _gathered(reader: Any, e: Any, x: Any, vector: Any, axes: Any, sizes: Any, offset: Sequence[int]) -> int:
    """One element, or the fill value outside of the array."""
    start, inside = _started(reader, x.shape, vector, axes, sizes)
    v = reader.element(x, _shifted(reader, start, offset))
    if e.params["mode"] != GatherScatterMode.FILL_OR_DROP or inside is None:
        return v
    dtype = e.outvars[0].aval.dtype
    return reader.number("select_n", [inside, reader.constant(e.params["fill_value"], dtype), v], dtype)


def _started(reader: Any, shape: Any, vector: Any, axes: Any, sizes: Any) -> tuple[list[int], int | None]:
    """Start of a window, clamped to lie in the array, and whether it already did."""
    start, inside = [reader.constant(0, np.int64)] * len(shape), None
    for k, axis in enumerate(axes):
        v, last = int(vector[k]), shape[axis] - sizes[axis]
        start[axis] = _within(reader, v, last)
        same = reader.number("eq", [v, start[axis]], bool)
        inside = same if inside is None else reader.number("and", [inside, same], bool)
    return start, inside


def _scatter(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    whole, indices, new = inputs[0], _cells(e, inputs[1]), _cells(e, inputs[2])
    d = e.params["dimension_numbers"]
    if e.primitive.name == "scatter" and e.params["update_jaxpr"] is not None:
        raise Unsupported("a function of elements of an array (x.at[i].apply)")  # JAX gives zeros as their new values
    batch = [a for a in range(new.ndim) if a not in d.update_window_dims]
    axes = _window(whole, (*d.inserted_window_dims, *d.operand_batching_dims), d.update_window_dims)
    sizes = [new.shape[axes[a]] if a in axes else 1 for a in range(len(whole.shape))]
    axes.update(zip(d.operand_batching_dims, (batch[i] for i in d.scatter_indices_batching_dims), strict=True))
    drop = e.params["mode"] in (GatherScatterMode.FILL_OR_DROP, None)
    for at in np.ndindex(new.shape):
        vector = indices[tuple(at[a] for a in batch)]
        start, inside = _started(reader, whole.shape, vector, d.scatter_dims_to_operand_dims, sizes)
        offset = [at[axes[a]] if a in axes else 0 for a in range(len(whole.shape))]
        where, x = _shifted(reader, start, offset), int(new[at])
        if joined := SCATTERED[e.primitive.name]:
            x = reader.number(joined, [reader.element(whole, where), x], reader.code.dtypes[x])
        whole = reader.put(whole, where, x, inside if drop else None)
    return whole


SCATTERED = {"scatter": "", **{f"scatter{c}{name}": name for c in "-_" for name in ("add", "mul", "min", "max")}}
"""Operation that combines a new element with the old one; empty if it replaces it."""

REDUCED = {
    "reduce_sum": "add",
    "reduce_prod": "mul",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_and": "and",
    "reduce_or": "or",
}
OF_NOTHING = {"add": 0, "mul": 1, "and": -1, "or": 0}
"""Results of reductions over no numbers; -1 has all bits set, and is true."""


def _reduce(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    x, name, dtype = _cells(e, inputs[0]), REDUCED[e.primitive.name], e.outvars[0].aval.dtype
    axes = e.params["axes"]
    rest = [a for a in range(x.ndim) if a not in axes]
    kept = [x.shape[a] for a in rest]
    lines = x.transpose([*rest, *axes]).reshape([math.prod(kept), math.prod(x.shape[a] for a in axes)])
    joined = lambda a, b: reader.number(name, [a, b], dtype)
    if lines.shape[1]:
        found = [functools.reduce(joined, line) for line in lines.tolist()]
    elif name in OF_NOTHING:
        found = [reader.constant(OF_NOTHING[name], dtype)] * len(lines)
    else:
        raise Unsupported(f"{e.primitive.name} of nothing")
    return np.array(found, dtype=int).reshape(kept)


CUMULATED = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}


def _cumulated(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    """Sums, products or extremes of the first 1, 2, ... numbers along an axis."""
    x, axis, dtype = _cells(e, inputs[0]), e.params["axis"], e.outvars[0].aval.dtype
    joined = lambda a, b: reader.number(CUMULATED[e.primitive.name], [a, b], dtype)
    lines = np.moveaxis(np.flip(x, axis) if e.params["reverse"] else x, axis, -1)
    found = np.empty(lines.shape, dtype=int)
    for at in np.ndindex(lines.shape[:-1]):
        found[at] = list(itertools.accumulate(lines[at].tolist(), joined))
    found = np.moveaxis(found, -1, axis)
    return np.flip(found, axis) if e.params["reverse"] else found


def _arg(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    """Index of the first smallest or largest number; a NaN counts as such a number."""
    x, (axis,), to = _cells(e, inputs[0]), e.params["axes"], e.outvars[0].aval.dtype
    lines, better = np.moveaxis(x, axis, -1), "lt" if e.primitive.name == "argmin" else "gt"
    found = [_first(reader, lines[at].tolist(), better, to) for at in np.ndindex(lines.shape[:-1])]
    return np.array(found, dtype=int).reshape(lines.shape[:-1])


def _first(reader: Any, line: Sequence[int], better: str, to: Any) -> int:
    best, where, dtype = line[0], reader.constant(0, to), reader.code.dtypes[line[0]]
    for i, v in enumerate(line[1:], start=1):
        if dtype.kind == "b":
            more, less = (v, best) if better == "gt" else (best, v)
            wins = reader.number("and", [more, reader.number("not", [less], bool)], bool)
        else:
            wins = reader.number(better, [v, best], bool)
        if dtype.kind == "f":
            undefined = [reader.number("ne", [z, z], bool) for z in (v, best)]
            newly = reader.number("and", [undefined[0], reader.number("not", [undefined[1]], bool)], bool)
            wins = reader.number("or", [wins, newly], bool)
        best = reader.number("select_n", [wins, best, v], dtype)
        where = reader.number("select_n", [wins, where, reader.constant(i, to)], to)
    return where


def _unvmap(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    name = "or" if e.primitive.name == "unvmap_any" else "and"
    joined = lambda a, b: reader.number(name, [a, b], bool)
    none = reader.constant(e.primitive.name == "unvmap_all", bool)
    return np.array(functools.reduce(joined, _cells(e, inputs[0]).ravel().tolist(), none))


def _dot(reader: Any, e: Any, inputs: Sequence[Any]) -> Any:
    (left, right), (left_batch, right_batch) = e.params["dimension_numbers"]
    x, y, dtype = _cells(e, inputs[0]), _cells(e, inputs[1]), e.outvars[0].aval.dtype
    if x.size and y.size and {reader.code.dtypes[int(v)] for v in (x.flat[0], y.flat[0])} != {np.dtype(dtype)}:
        raise Unsupported("a matrix product of mixed types")
    free = lambda z, *used: [a for a in range(z.ndim) if a not in {*used}]
    x = x.transpose([*left_batch, *free(x, *left_batch, *left), *left])
    y = y.transpose([*right_batch, *free(y, *right_batch, *right), *right])
    n, shape = len(left_batch), e.outvars[0].aval.shape
    inner = math.prod(x.shape[x.ndim - len(left) :])
    a = x.reshape([*x.shape[: x.ndim - len(left)], inner])
    b = y.reshape([*y.shape[: y.ndim - len(right)], inner])
    found = np.empty(shape, dtype=int)
    for at in np.ndindex(shape):
        row, column = a[at[: a.ndim - 1]], b[(*at[:n], *at[a.ndim - 1 :])]
        products = [reader.number("mul", pair, dtype) for pair in zip(row.tolist(), column.tolist(), strict=True)]
        added = lambda s, p: reader.number("add", [s, p], dtype)
        found[at] = functools.reduce(added, products) if products else reader.constant(0, dtype)
    return found


def _platform(reader: Any, e: Any, _: Sequence[Any]) -> Any:
    """Index of the branch for other platforms; not supported if CPUs or GPUs have their own."""
    groups = e.params["platforms"]
    if None not in groups or {"cpu", "cuda", "gpu"} & {name for group in groups for name in group or ()}:
        raise Unsupported("a choice by platform")
    return np.array(reader.constant(groups.index(None), e.outvars[0].aval.dtype))


def _cells(e: Any, x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return x
    raise Unsupported(f"{e.primitive.name} of a large array")


def _moved(by: Callable[..., Any]) -> Callable[[Any, Any, Sequence[Any]], Any]:
    """Rule of an operation that only moves numbers, from a NumPy function of its parameters and inputs."""
    return lambda _, e, inputs: by(e.params, *(_cells(e, x) for x in inputs))


def _unstack(p: Any, x: np.ndarray) -> list[np.ndarray]:
    lines = np.moveaxis(x, p["axis"], 0)
    return [lines[i, ...] for i in range(len(lines))]  # the ellipsis keeps elements of a vector as arrays


# --- integers -------------------------------------------------------------------------------------------------------


def _quotient(reader: Any, x: Sequence[int], dtype: np.dtype) -> int:
    whole, zero = _divided(reader, "whole_quotient", x, dtype)
    nothing = reader.constant(-1 if dtype.kind == "i" else np.iinfo(dtype).max, dtype)
    return reader.number("select_n", [zero, whole, nothing], dtype)


def _remainder(reader: Any, x: Sequence[int], dtype: np.dtype) -> int:
    rest, zero = _divided(reader, "whole_remainder", x, dtype)
    return reader.number("select_n", [zero, rest, x[0]], dtype)


def _divided(reader: Any, name: str, x: Sequence[int], dtype: np.dtype) -> tuple[int, int]:
    """Division, with a divisor of one in place of one that would trap, and whether the divisor is zero."""
    a, b = x
    zero = reader.number("eq", [b, reader.constant(0, dtype)], bool)
    unfit = zero
    if dtype.kind == "i":
        least = reader.number("eq", [a, reader.constant(np.iinfo(dtype).min, dtype)], bool)
        negative = reader.number("eq", [b, reader.constant(-1, dtype)], bool)
        unfit = reader.number("or", [zero, reader.number("and", [least, negative], bool)], bool)
    divisor = reader.number("select_n", [unfit, b, reader.constant(1, dtype)], dtype)
    return reader.number(name, [a, divisor], dtype), zero


def _sign(reader: Any, x: Sequence[int], dtype: np.dtype) -> int:
    zero, one = reader.constant(0, dtype), reader.constant(1, dtype)
    positive = reader.number("select_n", [reader.number("gt", [x[0], zero], bool), zero, one], dtype)
    if dtype.kind == "u":
        return positive
    negative = reader.number("select_n", [reader.number("lt", [x[0], zero], bool), zero, one], dtype)
    return reader.number("sub", [positive, negative], dtype)


def _size(reader: Any, x: Sequence[int], dtype: np.dtype) -> int:
    """The absolute value; that of the least integer is the least integer."""
    if dtype.kind == "u":
        return x[0]
    negative = reader.number("lt", [x[0], reader.constant(0, dtype)], bool)
    return reader.number("select_n", [negative, x[0], reader.number("neg", [x[0]], dtype)], dtype)


INTEGERS: dict[str, Callable[[Any, Sequence[int], np.dtype], int]] = {
    "div": _quotient,
    "rem": _remainder,
    "sign": _sign,
    "abs": _size,
}
"""Operations that processors lack or trap, built from others, as XLA defines them: division by zero gives -1, all bits
set, and leaves the dividend as remainder; the least number divided by -1 is itself."""


RULES: Mapping[str, Callable[[Any, Any, Sequence[Any]], Any]] = {
    **dict.fromkeys(["reshape", "squeeze", "expand_dims"], _reshape),
    "broadcast_in_dim": _broadcast,
    "slice": _slice,
    "transpose": _moved(lambda p, x: np.transpose(x, p["permutation"])),
    "rev": _moved(lambda p, x: np.flip(x, p["dimensions"])),
    "concatenate": _moved(lambda p, *x: np.concatenate(x, axis=p["dimension"])),
    "stack": _moved(lambda p, *x: np.stack(x, axis=p["axis"])),
    "iota": _iota,
    "pad": _pad,
    "select_n": _select,
    "clamp": _select,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    **dict.fromkeys(SCATTERED, _scatter),
    **dict.fromkeys(REDUCED, _reduce),
    **dict.fromkeys(CUMULATED, _cumulated),
    **dict.fromkeys(["argmin", "argmax"], _arg),
    **dict.fromkeys(["unvmap_any", "unvmap_all"], _unvmap),
    "dot_general": _dot,
    "platform_index": _platform,
}

SEVERAL: Mapping[str, Callable[[Any, Any, Sequence[Any]], Sequence[Any]]] = {
    "split": _moved(lambda p, x: np.split(x, np.cumsum(p["sizes"])[:-1], axis=p["axis"])),
    "unstack": _moved(_unstack),
    **LINEAR,
}
