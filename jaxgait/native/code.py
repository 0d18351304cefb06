"""Structured code: what one member of an ensemble computes, scalar by scalar, with its loops.

Every scalar of an array is a value (`Operation`). Arrays that are too large, or accessed at positions known only at run
time, are memory (`Read`, `Write`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jaxgait.native.instructions import Kind, Known, Operation, Value
from jaxgait.support import machine

MAX_IN_REGISTERS = 64
"""Largest number of elements of an array that is kept in registers, not in memory."""

LONG = 40_000
"""Number of values above which directions are looped over, to shorten a kernel; on GPUs also the largest number."""

MAX_VALUES = 100_000
"""Largest number of values of a kernel on CPUs. LLVM's time grows faster than in proportion to it, XLA's does not: the
first run of a leg of three links in space (16 000 values) takes 4 s with a kernel and 12 s without, and the next 0.1
and 1.1 s, its first derivative (34 000) 8 s (`experiments.benchmarks.trees`). The limit is three times that number."""


class Unsupported(Exception):
    """The program contains something that structured code cannot express; the message says what."""


def most_values() -> int:
    """Largest number of values of a kernel for the device in use."""
    return MAX_VALUES if machine.on_cpu() else min(LONG, MAX_VALUES)


class TooLong(Unsupported):
    """A program with too many values."""

    def __init__(self) -> None:
        super().__init__(f"more than {most_values()} values")


class Read(NamedTuple):
    """Loads a number of an array in memory; the index is within bounds."""

    memory: int
    index: int
    output: int


class Write(NamedTuple):
    """Stores a number of an array in memory, for active members for which `where` is true."""

    memory: int
    index: int
    value: int
    where: int | None


class Loop(NamedTuple):
    """Runs for each member separately while a condition holds; the results are the carried values."""

    carried: tuple[int, ...]
    initial: tuple[int, ...]
    condition: tuple[Statement, ...]
    going: int
    body: tuple[Statement, ...]
    following: tuple[int, ...]
    where: int | None
    """Members that take part; None: all active ones."""


class PartLoop(NamedTuple):
    """The same computation for several parts in turn, such as directions of derivatives."""

    parts: int
    inputs: tuple[tuple[int, tuple[int, ...]], ...]
    """Value in the body of each input, and its values for all parts."""
    body: tuple[Statement, ...]
    outputs: tuple[tuple[int, tuple[int, ...]], ...]
    """Value in the body of each output, and its values for all parts."""


Statement = Operation | Read | Write | Loop | PartLoop


def used(s: Statement) -> list[int]:
    """Values that a statement uses, nested statements included."""
    if isinstance(s, Operation):
        return list(s.inputs)
    if isinstance(s, Read):
        return [s.index]
    if isinstance(s, Write):
        return [s.index, s.value, *([] if s.where is None else [s.where])]
    if isinstance(s, PartLoop):
        return [*(v for _, outer in s.inputs for v in outer), *(v for inner in s.body for v in used(inner))]
    own = [*s.initial, s.going, *s.following, *([] if s.where is None else [s.where])]
    return [*own, *(v for inner in (*s.condition, *s.body) for v in used(inner))]


def with_used(s: Statement, values: Sequence[int]) -> Statement:
    """A statement without nested ones, using other values, in the order of `used`."""
    if isinstance(s, Operation):
        return s._replace(inputs=tuple(values))
    if isinstance(s, Read):
        return s._replace(index=values[0])
    assert isinstance(s, Write)
    return s._replace(index=values[0], value=values[1], where=None if s.where is None else values[2])


def inside(s: Statement) -> tuple[Statement, ...]:
    """Nested statements."""
    return (*s.condition, *s.body) if isinstance(s, Loop) else s.body if isinstance(s, PartLoop) else ()


@dataclass
class Memory:
    """An array in memory."""

    dtype: np.dtype
    size: int
    operand: int | None
    """The operand that it is, or starts as; None: not initialised."""
    result: int | None = None
    """The result that it becomes; None: it is only read, or temporary."""
    table: np.ndarray | None = None
    """Its numbers, if it is constant."""
    version: int = 0
    """Changes with every write: a reference to an older version must not be used."""

    @property
    def own(self) -> bool:
        """Whether it is temporary: neither operand nor result, nor constant."""
        return self.operand is None and self.result is None and self.table is None


@dataclass(eq=False)
class Code:
    """A program for one member."""

    dtypes: list[np.dtype] = field(default_factory=list)
    constants: dict[int, float | int | bool] = field(default_factory=dict)
    memories: list[Memory] = field(default_factory=list)
    operands: list[tuple[int, ...] | int] = field(default_factory=list)
    """Values of each operand, or the memory that holds it."""
    results: list[tuple[int, ...] | int] = field(default_factory=list)
    """Values of each result, or the memory that holds it."""
    given: list[int] = field(default_factory=list)
    """Indices of these among the results of the program; the others are not computed."""
    statements: list[Statement] = field(default_factory=list)

    @property
    def known(self) -> Known:
        """Types and constants of the complete code."""
        return Known({v: Value(Kind.LANE, dtype) for v, dtype in enumerate(self.dtypes)}, self.constants)


def everything(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Statements, nested ones included."""
    for s in statements:
        yield s
        if isinstance(s, (Loop, PartLoop)):
            yield from everything(inside(s))


def count(statements: Sequence[Statement]) -> int:
    """Number of operations; a fused multiply-add counts as two, and the body of a loop once."""
    own = lambda s: 1 + (s.name == "multiply_add") if isinstance(s, Operation) else isinstance(s, Read | Write)
    return sum(map(own, everything(statements)))


def loops(statements: Sequence[Statement]) -> int:
    """Number of loops, nested ones included."""
    return sum(isinstance(s, Loop) for s in everything(statements))


def arrays_in_memory(statements: Sequence[Statement]) -> int:
    """Number of arrays in memory that are read or written."""
    return len({s.memory for s in everything(statements) if isinstance(s, Read | Write)})


def most_parts(statements: Sequence[Statement]) -> int:
    """Largest number of parts of a loop over parts; 0 if there is none."""
    return max((s.parts for s in everything(statements) if isinstance(s, PartLoop)), default=0)


def lasting(loop: Loop) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Values of parts that only one loop over parts uses and updates in each iteration of a loop.

    Returns:
        Maps their values in the next iteration to those in this one.
    """
    uses = Counter(v for s in (*loop.condition, *loop.body) for v in used(s))
    uses.update([*loop.following, loop.going])
    following = dict(zip(loop.carried, loop.following, strict=True))
    found = {}
    for s in loop.body:
        outputs = {outer for _, outer in s.outputs} if isinstance(s, PartLoop) else set()
        for _, outer in s.inputs if isinstance(s, PartLoop) else ():
            after = tuple(following.get(v, -1) for v in outer)
            if after in outputs and all(uses[v] == 1 for v in (*outer, *after)):
                found[after] = outer
    return found
