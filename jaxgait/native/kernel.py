"""Elementwise operations as one loop over the members of a batch, in LLVM's assembly language.

Every value is a vector register of several members, computed once. Values are of three kinds (`Kind`), each computed at
its own level of the loops:

    values that all members share
    for the members, a vector at a time:
        values of a member
        for the extra numbers of a member (such as derivatives along several directions):
            extra values

Language reference: https://llvm.org/docs/LangRef.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxgait.native.instructions import Cells, Kind, Known, Operation, Scope, Value, Writer

VECTOR_BYTES = 64
"""Bytes of a vector, as in the widest registers; LLVM splits it where they are narrower."""


class Grid(NamedTuple):
    """Ranges of the loops of a kernel."""

    members: int
    extra: int
    strides: tuple[int, int]
    """Strides of EXTRA values in memory: from a member, and from one of its extra numbers, to the next."""


class Kernel(NamedTuple):
    """Operations in order; `inputs` and `outputs` are arrays in memory."""

    grid: Grid
    operations: tuple[Operation, ...]
    values: Mapping[int, Value]
    constants: Mapping[int, float | int | bool]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def vector_width(dtypes: Iterable[np.dtype], members: int) -> int:
    """Members in one vector of values of these types: a power of two, not more than there are."""
    full = VECTOR_BYTES // max((d.itemsize for d in dtypes if d.kind == "f"), default=8)
    return 1 << (min(full, members).bit_length() - 1)


def assembly(kernel: Kernel, prologue: Sequence[str]) -> str:
    """The body of a function after its prologue, with the declarations that it needs.

    Args:
        kernel: what to compute.
        prologue: first lines of the function, which define the pointers %in0, %in1, ... and %out0, ... .
    """
    w = Writer()
    w.lines += prologue
    known = Known(kernel.values, kernel.constants)
    uniform = Scope(w, known, 1, None)
    width = vector_width((v.dtype for v in kernel.values.values() if v.kind > Kind.UNIFORM), kernel.grid.members)
    lanes = Scope(w, known, width, uniform)
    extra = Scope(w, known, width, lanes)
    used = {value.kind for value in kernel.values.values()}
    _level(kernel, Kind.UNIFORM, Cells(uniform), 0)
    if used & {Kind.LANE, Kind.EXTRA}:
        with w.counted("lanes", kernel.grid.members, width) as i:
            begin = w.vector_begin(i, kernel.grid.members, width)
            _level(kernel, Kind.LANE, Cells(lanes), begin)
            if Kind.EXTRA in used:
                member, number = kernel.grid.strides
                with w.counted("extra", kernel.grid.extra) as j:
                    across, along = w.emit(f"mul i64 {begin}, {member}"), w.emit(f"mul i64 {j}, {number}")
                    _level(kernel, Kind.EXTRA, Cells(extra, member), w.emit(f"add i64 {across}, {along}"))
    return w.returned()


def _level(kernel: Kernel, kind: Kind, cells: Cells, index: str | int) -> None:
    scope, values = cells.scope, kernel.values
    for i, v in enumerate(kernel.inputs):
        if values[v].kind == kind:
            scope.names[v] = cells.load(f"%in{i}", values[v].dtype, index)
        elif kind == Kind.EXTRA and values[v].kind == Kind.ALONG:
            scope.names[v] = scope.spread(cells.single(f"%in{i}", values[v].dtype, "%i.extra"), values[v].dtype)
    for op in kernel.operations:
        if values[op.output].kind != kind:
            continue
        if op.name == "slice":
            source = f"%in{kernel.inputs.index(op.inputs[0])}"
            scope.names[op.output] = cells.load(source, values[op.output].dtype, op.params["offset"])
        else:
            scope.compute(op)
    for i, v in enumerate(kernel.outputs):
        if values[v].kind == kind:
            cells.store(scope.get(v), f"%out{i}", values[v].dtype, index)
