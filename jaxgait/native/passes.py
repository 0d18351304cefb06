"""The passes over the code of an entire loop: reading, joining directions, pruning and fusing."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from jaxgait.native import directions, reading, scans
from jaxgait.native.code import Code, Unsupported, count
from jaxgait.native.primitives import Scan, While
from jaxgait.native.pruning import fused, pruned
from jaxgait.native.reading import Array, ArrayRef, Reader

MAX_FACTOR = 9
"""Multiple of `jaxgait.native.reading.MAX_VALUES` up to which a program with many directions is read."""

RECORD, RECORDS = 8, 128
"""Length above which arrays may be records, and total size above which records are kept in memory."""


def read_loop(
    loop: While | Scan, avals: Sequence[Any], assured: Sequence[str] = (), registers: int | None = None
) -> Code:
    """The code of a loop, whose operands are its constants, initial values and arrays.

    Args:
        loop: of one member.
        avals: shapes and dtypes of the operands.
        assured: see `jaxgait.native.primitives`.
        registers: numbers up to which an operand is held in registers; None: `reading.SMALL`, or fewer if the loop
            writes many records.

    Raises:
        Unsupported: for operations that structured code cannot express.
    """
    shapes = [aval.shape for aval in avals]
    if registers is None:
        if (fewer := _below_records(shapes)) < reading.SMALL:
            with contextlib.suppress(Unsupported):
                return read_loop(loop, avals, assured, fewer)
        registers = reading.SMALL
    most = MAX_FACTOR * reading.MAX_VALUES
    try:
        longest = min(most, reading.MAX_VALUES * max(directions.lengths(shapes, above=1), default=1))
        return _finished(loop, avals, Reader(assured, registers, longest), directions.MAX_UNROLLED)
    except Unsupported:
        for n in directions.lengths(shapes, above=2)[:2]:  # all directions may be too much, but each of them not
            with contextlib.suppress(Unsupported):
                return _finished(loop, avals, Reader(assured, registers, most, n), 2)
        raise


def _below_records(shapes: Sequence[tuple[int, ...]]) -> int:
    """Numbers up to which an operand is held in registers, such that a loop's records (samples, events) are not.

    Records are many arrays of one length, written to one element at a time. In registers every element would be
    selected in each iteration, which takes LLVM minutes (18 arrays of 50: 440 s; in memory 2 s).
    """
    lengths = Counter(n for s in shapes if RECORD < (n := max(s, default=0)) == math.prod(s) <= reading.SMALL)
    return min([n - 1 for n, times in lengths.items() if n * times > RECORDS], default=reading.SMALL)


def _finished(loop: While | Scan, avals: Sequence[Any], reader: Reader, few: int) -> Code:
    results = scans.whole(reader, loop, avals) if isinstance(loop, Scan) else _results(reader, loop, avals)
    for i, x in enumerate(results):
        reader.code.results.append(x.memory if isinstance(x, ArrayRef) else tuple(x.ravel().tolist()))
        if isinstance(x, ArrayRef) and reader.code.memories[x.memory].result != i:
            raise Unsupported("an array that changes its position among the results")
    reader.code.statements = reader.statements
    reader.code.statements = pruned(reader.code)
    directions.joined(reader.code, [aval.shape for aval in avals], few)
    reader.code.statements = pruned(reader.code)
    reader.code.statements = list(fused(reader.code))
    if count(reader.code.statements) > reading.MAX_VALUES:
        raise reading.too_long()
    return reader.code


def _results(reader: Reader, loop: While, avals: Sequence[Any]) -> list[Array]:
    result = lambda i: None if i < sum(loop.constants) else i - sum(loop.constants)
    return reader.loop(loop, [reader.operand(aval, i, result(i)) for i, aval in enumerate(avals)])
