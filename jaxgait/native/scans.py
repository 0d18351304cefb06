"""Loops over arrays (scans) of one member: unrolled if they are short, otherwise counted.

A counted loop reads its arrays from memory, and writes those that it stacks, at the position of each iteration. It is
either the whole program, with the arrays as operands and results, or inside of one, with temporary arrays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.core import ShapedArray

from jaxgait.native.code import MAX_IN_REGISTERS, Unsupported
from jaxgait.native.primitives import Scan, stacked

MAX_UNROLLED = 64
"""Largest number of equations in all iterations of an unrolled loop."""


def whole(reader: Any, scan: Scan, avals: Sequence[Any]) -> list[Any]:
    """Results of a scan that is the whole program of a member.

    Raises:
        Unsupported: for a loop without iterations.
    """
    n, m = scan.constants, scan.carried
    if not scan.options["length"]:
        raise Unsupported("a loop without iterations")
    operands = [
        reader.operand(aval, i, i - n if n <= i < n + m else None, in_memory=i >= n + m) for i, aval in enumerate(avals)
    ]
    results = [reader.memory(aval, i) for i, aval in enumerate(stacked(scan), start=m)]
    return _counted(reader, scan, operands, results)


def scan(reader: Any, scan: Scan, inputs: Sequence[Any]) -> list[Any]:
    """Results of a scan inside of a program."""
    if scan.options["length"] * len(scan.body.jaxpr.eqns) <= MAX_UNROLLED:
        return _written_out(reader, scan, inputs)
    over = scan.constants + scan.carried
    results = [reader.memory(aval, None) for aval in stacked(scan)]
    found = _counted(reader, scan, [*inputs[:over], *(_in_memory(reader, x) for x in inputs[over:])], results)
    return [*found[: scan.carried], *(_in_registers(reader, x) for x in found[scan.carried :])]


def _counted(reader: Any, scan: Scan, inputs: Sequence[Any], results: list[Any]) -> list[Any]:
    length, m = scan.options["length"], scan.carried
    constants, carry = inputs[: scan.constants], inputs[scan.constants :][:m]
    arrays = inputs[scan.constants + m :]
    last = reader.constant(length - 1, np.int64)

    def step(carried: list[Any]) -> list[Any]:
        i = int(carried[0])
        at = reader.number("min", [i, last], np.int64)  # (lanes without a member go on with those that have one)
        at = reader.number("sub", [last, at], np.int64) if scan.options["reverse"] else at
        found = reader.inline(scan.body, [*constants, *carried[1 : 1 + m], *(_row(reader, x, at) for x in arrays)])
        rows = [_with_row(reader, whole, at, y) for whole, y in zip(carried[1 + m :], found[m:], strict=True)]
        return [np.array(reader.number("add", [i, reader.constant(1, np.int64)], np.int64)), *found[:m], *rows]

    going = lambda carried: reader.number("le", [int(carried[0]), last], bool)
    return reader.rounds([np.array(reader.constant(0, np.int64)), *carry, *results], going, step)[1:]


def _row(reader: Any, x: Any, at: int) -> np.ndarray:
    shape = x.shape[1:]
    found = [reader.element(x, [at, *_known(reader, rest)]) for rest in np.ndindex(shape)]
    return np.array(found, dtype=int).reshape(shape)


def _with_row(reader: Any, whole: Any, at: int, row: Any) -> Any:
    """An array in memory with one iteration's part replaced."""
    if not isinstance(row, np.ndarray):
        raise Unsupported("stacking of large arrays")
    for rest in np.ndindex(row.shape):
        whole = reader.put(whole, [at, *_known(reader, rest)], int(row[rest]))
    return whole


def _known(reader: Any, index: Sequence[int]) -> list[int]:
    return [reader.constant(i, np.int64) for i in index]


def _in_memory(reader: Any, x: Any) -> Any:
    """An array copied to memory, for access at run-time positions."""
    if not isinstance(x, np.ndarray):
        return x
    dtype = reader.code.dtypes[int(x.flat[0])] if x.size else np.dtype(float)
    array = reader.memory(ShapedArray(x.shape, dtype), None)
    for index in np.ndindex(x.shape):
        array = reader.put(array, _known(reader, index), int(x[index]))
    return array


def _in_registers(reader: Any, x: Any) -> Any:
    if math.prod(x.shape) > MAX_IN_REGISTERS:
        return x
    found = [reader.element(x, _known(reader, index)) for index in np.ndindex(*x.shape)]
    return np.array(found, dtype=int).reshape(x.shape)


def _written_out(reader: Any, scan: Scan, inputs: Sequence[Any]) -> list[Any]:
    n, m, steps = scan.constants, scan.carried, range(scan.options["length"])
    carry, rows = list(inputs[n : n + m]), []
    for i in reversed(steps) if scan.options["reverse"] else steps:
        found = reader.inline(scan.body, [*inputs[:n], *carry, *(_number_of(reader, x, i) for x in inputs[n + m :])])
        carry = found[:m]
        rows.append(found[m:])
    if scan.options["reverse"]:
        rows = rows[::-1]
    none = [np.empty(aval.shape, dtype=int) for aval in stacked(scan)]
    if any(not isinstance(y, np.ndarray) for y in itertools.chain(*rows)):
        raise Unsupported("stacking of large arrays")
    return [*carry, *([np.stack(ys) for ys in zip(*rows, strict=True)] if rows else none)]


def _number_of(reader: Any, x: Any, i: int) -> np.ndarray:
    return np.asarray(x[i]) if isinstance(x, np.ndarray) else _row(reader, x, reader.constant(i, np.int64))
