"""Selection of the parts of a block that become kernels.

A kernel holds elementwise operations on values of three kinds (see `kernel.Kind`), recognised by their shapes. Others,
such as reductions, gathers and loops, are left to XLA. Every operation has a stage, after those of its operands, and
the elementwise operations of a stage are one kernel.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jax.core import Tracer

from jaxgait.native.blocks import Block, Equation
from jaxgait.native.instructions import ALIASES, SUPPORTED, Kind, Operation, Value, supports
from jaxgait.native.kernel import Grid, Kernel

MIN_TOGETHER = 12
"""Least number of operations of a kernel that is worth a call."""

MIN_KERNEL_SHARE = 0.5
"""Least share of a block's operations in kernels: scalar models have 80 % or more. Code on many small arrays has less
(a tree of 15 bodies: 37 %), and ran four times faster entirely in XLA."""

RESHAPES = frozenset(["broadcast_in_dim", "expand_dims", "reshape", "squeeze"])


class Layout(NamedTuple):
    """How shapes of a block's values map to a kernel."""

    grid: Grid
    extra: tuple[int, ...]
    """Shape of values with several numbers a member, without axes of length one; empty if there are none."""
    axis: int
    """Its member axis."""

    def kind(self, shape: tuple[int, ...]) -> Kind | None:
        """The kind of a value, None if it has none."""
        size = math.prod(shape)
        if size == 1:
            return Kind.UNIFORM
        if size == self.grid.members:
            return Kind.LANE
        if not self.extra or _squeezed(shape) not in (self.extra, (self.grid.extra,)):
            return None
        return Kind.EXTRA if len(_squeezed(shape)) == 2 else Kind.ALONG


def _squeezed(shape: Iterable[int]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def layout(block: Block) -> Layout:
    """The layout that fits most of a block's elementwise operations."""
    sizes = Counter(
        math.prod(block.avals[e.outputs[0]].shape) for e in block.equations if e.primitive.name in SUPPORTED
    )
    sizes -= Counter({0: sizes[0], 1: sizes[1]})  # empty arrays and single numbers
    members = max(sizes, key=lambda n: (sizes[n], n), default=1)
    spread: Counter[tuple[tuple[int, ...], int]] = Counter()
    for e in block.equations:
        to = block.avals[e.outputs[0]].shape if e.outputs else ()
        if e.primitive.name in SUPPORTED and math.prod(to):
            axes = {_axis(e, block.avals[v].shape, to, n=members) for v in e.inputs}
            spread.update((_squeezed(to), axis) for axis in axes if axis is not None)
    if not spread:
        return Layout(Grid(members, 1, (1, 1)), (), 0)
    (shape, axis), _ = spread.most_common(1)[0]
    extra = shape[1 - axis]
    return Layout(Grid(members, extra, (extra, 1) if axis == 0 else (1, members)), shape, axis)


def _axis(e: Equation, of: tuple[int, ...], to: tuple[int, ...], *, n: int) -> int | None:
    """The axis (0 or 1) to which the only axis of an operand, of length n, is broadcast; None if it is not.

    Operands are broadcast by `broadcast_in_dim`, or by an axis of length one where the result has a longer one.
    """
    if _squeezed(of) != (n,) or len(_squeezed(to)) != 2:
        return None
    axis = of.index(n)
    if e.primitive.name == "broadcast_in_dim":
        axis = e.params["broadcast_dimensions"][axis]
    elif len(of) != len(to):
        return None
    return sum(n != 1 for n in to[:axis])


def partition(block: Block) -> list[Equation | Kernel]:
    """The block's operations in order of execution, in kernels unless they are too few (`MIN_KERNEL_SHARE`)."""
    shapes = layout(block)
    stage: dict[int, int] = defaultdict(int)
    computed: set[int] = set()  # values that kernels compute
    inside: dict[int, list[Equation]] = defaultdict(list)
    outside: dict[int, list[Equation]] = defaultdict(list)
    latest = 0  # stage of the last equation with an effect: the next one comes after it
    for e in block.equations:
        if _fits(block, e, shapes, computed):
            computed.update(e.outputs)
            own = max((stage[v] for v in e.inputs), default=0)
            inside[own].append(e)
        else:
            own = max((stage[v] + (v in computed) for v in e.inputs), default=0)
            own = latest = max(own, latest) if e.effects else own
            outside[own].append(e)
        stage.update(dict.fromkeys(e.outputs, own))
    wanted = set(block.results).union(*(e.inputs for group in outside.values() for e in group))
    for own, group in inside.items():
        wanted.update(v for e in group for v in e.inputs if v in computed and stage[v] != own)
    steps: list[Equation | Kernel] = []
    for own in range(max([*inside, *outside], default=-1) + 1):
        steps += outside[own]
        group = inside[own]
        work = sum(e.primitive.name not in ALIASES for e in group)
        steps += [_kernel(block, group, shapes, wanted)] if work >= MIN_TOGETHER else group
    inside_kernels = sum(len(step.operations) for step in steps if isinstance(step, Kernel))
    return steps if inside_kernels >= MIN_KERNEL_SHARE * len(block.equations) else list(block.equations)


def _fits(block: Block, e: Equation, shapes: Layout, computed: set[int]) -> bool:
    of, to = [block.avals[v] for v in e.inputs], [block.avals[v] for v in e.outputs]
    if e.primitive.name not in SUPPORTED or e.effects or not all(isinstance(a.dtype, np.dtype) for a in of + to):
        return False  # (random keys have dtypes of their own)
    if not supports(e.primitive.name, tuple(a.dtype for a in of + to)):
        return False
    if e.primitive.name == "slice":  # of one number from an array in memory
        return math.prod(to[0].shape) == 1 and e.inputs[0] not in computed and e.inputs[0] not in block.constants
    if e.primitive.name in RESHAPES and len(of) > 1:  # (with sizes known at run time only)
        return False
    if e.primitive.name == "reshape" and e.params["dimensions"] is not None:  # (in another order)
        return False
    return _agree(e, [a.shape for a in of], to[0].shape, shapes)


def _agree(e: Equation, of: list[tuple[int, ...]], to: tuple[int, ...], shapes: Layout) -> bool:
    kinds, kind = [shapes.kind(shape) for shape in of], shapes.kind(to)
    if kind in (None, Kind.ALONG) or None in kinds:
        return False
    if kind != Kind.EXTRA:
        return all(k in (kind, Kind.UNIFORM) for k in kinds)
    # Members and extra numbers must be along the expected axes.
    across = [_axis(e, shape, to, n=shapes.grid.members) for shape, k in zip(of, kinds, strict=True) if k == Kind.LANE]
    along = [_axis(e, shape, to, n=shapes.grid.extra) for shape, k in zip(of, kinds, strict=True) if k == Kind.ALONG]
    return all(axis == shapes.axis for axis in across) and all(axis == 1 - shapes.axis for axis in along)


def _kernel(block: Block, group: list[Equation], shapes: Layout, wanted: set[int]) -> Kernel:
    made = dict.fromkeys(v for e in group for v in e.outputs)
    used = dict.fromkeys(v for e in group for v in e.inputs)
    known = {v: x for v, x in block.constants.items() if v in used and not isinstance(x, Tracer)}
    constants = {v: np.asarray(x).item() for v, x in known.items() if np.size(x) == 1}

    def value(v: int) -> Value:
        aval = block.avals[v]
        return Value(shapes.kind(aval.shape) or Kind.UNIFORM, np.dtype(aval.dtype))

    return Kernel(
        grid=shapes.grid,
        operations=tuple(_operation(block, e) for e in group),
        values={v: value(v) for v in (*used, *made)},
        constants=constants,
        inputs=tuple(v for v in used if v not in made and v not in constants),
        outputs=tuple(v for v in made if v in wanted),
    )


def _operation(block: Block, e: Equation) -> Operation:
    params: Mapping[str, Any] = e.params
    if e.primitive.name == "slice":
        shape = block.avals[e.inputs[0]].shape
        params = {"offset": int(np.ravel_multi_index(e.params["start_indices"], shape))}
    return Operation(e.primitive.name, e.inputs, e.outputs[0], params)
