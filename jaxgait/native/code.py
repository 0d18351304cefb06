"""Structured code: what one member of an ensemble computes, number by number, with its loops.

Arrays are gone: each of their numbers is a value of its own (`Operation`), but for those that are too large or are
read and written at positions known only at run time, which are memory (`Read`, `Write`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jaxgait.native.instructions import Kind, Known, Operation, Value


class Read(NamedTuple):
    """A number of an array in memory; the index lies within it."""

    memory: int
    index: int
    output: int


class Write(NamedTuple):
    """Sets a number of an array in memory, for the members that are at work and where a value is true."""

    memory: int
    index: int
    value: int
    where: int | None


class Loop(NamedTuple):
    """Runs, for each member separately, while a condition holds; afterwards the carried values are the results."""

    carried: tuple[int, ...]
    initial: tuple[int, ...]
    condition: tuple[Statement, ...]
    going: int
    body: tuple[Statement, ...]
    following: tuple[int, ...]
    where: int | None
    """Members that take part; None: all that are at work."""


class Alike(NamedTuple):
    """The same computation for each of several parts, such as directions of derivatives, in turn."""

    parts: int
    inputs: tuple[tuple[int, tuple[int, ...]], ...]
    """Of each the value by which the body knows it, and its values for all parts."""
    body: tuple[Statement, ...]
    outputs: tuple[tuple[int, tuple[int, ...]], ...]
    """Of each the value that the body makes, and the values for all parts that come of it."""


Statement = Operation | Read | Write | Loop | Alike


def used(s: Statement) -> list[int]:
    """Values that a statement uses; of one that holds others, theirs too."""
    if isinstance(s, Operation):
        return list(s.inputs)
    if isinstance(s, Read):
        return [s.index]
    if isinstance(s, Write):
        return [s.index, s.value, *([] if s.where is None else [s.where])]
    if isinstance(s, Alike):
        return [*(v for _, outer in s.inputs for v in outer), *(v for inner in s.body for v in used(inner))]
    own = [*s.initial, s.going, *s.following, *([] if s.where is None else [s.where])]
    return [*own, *(v for inner in (*s.condition, *s.body) for v in used(inner))]


def with_used(s: Statement, values: Sequence[int]) -> Statement:
    """A statement that holds no others, using other values, in the order of `used`."""
    if isinstance(s, Operation):
        return s._replace(inputs=tuple(values))
    if isinstance(s, Read):
        return s._replace(index=values[0])
    assert isinstance(s, Write)
    return s._replace(index=values[0], value=values[1], where=None if s.where is None else values[2])


def inside(s: Statement) -> tuple[Statement, ...]:
    """The statements that a statement holds."""
    return (*s.condition, *s.body) if isinstance(s, Loop) else s.body if isinstance(s, Alike) else ()


@dataclass
class Memory:
    """An array in memory."""

    dtype: np.dtype
    size: int
    operand: int | None
    """Which operand of the program it is, or starts as; None: it starts as anything."""
    result: int | None = None
    """Which result it becomes; None: it is only read, or the program's own."""
    version: int = 0
    """How often it was written; an array read after a later one was made of it is not what it was."""

    @property
    def own(self) -> bool:
        """Whether it is the program's own: neither operand nor result."""
        return self.operand is None and self.result is None


@dataclass(eq=False)
class Code:
    """A program for one member."""

    dtypes: list[np.dtype] = field(default_factory=list)
    constants: dict[int, float | int | bool] = field(default_factory=dict)
    memories: list[Memory] = field(default_factory=list)
    operands: list[tuple[int, ...] | int] = field(default_factory=list)
    """Of each operand the numbers, or the memory that holds it."""
    results: list[tuple[int, ...] | int] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    @property
    def known(self) -> Known:
        """What is known of the values, once all of it is written down."""
        return Known({v: Value(Kind.LANE, dtype) for v, dtype in enumerate(self.dtypes)}, self.constants)


def everything(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Statements, and those that they hold."""
    for s in statements:
        yield s
        yield from everything(inside(s))


def count(statements: Sequence[Statement]) -> int:
    """Operations, a product and sum as two; those inside of loops once."""
    own = lambda s: 1 + (s.name == "multiply_add") if isinstance(s, Operation) else isinstance(s, Read | Write)
    return sum(map(own, everything(statements)))


def loops(statements: Sequence[Statement]) -> int:
    """Loops, those inside of others too."""
    return sum(isinstance(s, Loop) for s in everything(statements))


def alike(statements: Sequence[Statement]) -> int:
    """Parts for which the same is done in a loop, at most; none: 0."""
    return max((s.parts for s in everything(statements) if isinstance(s, Alike)), default=0)


def lasting(loop: Loop) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Values of parts that nothing in a loop but its loop over parts uses and makes anew.

    Returns:
        What they are in the next round, and what they are in this one.
    """
    uses = Counter(v for s in (*loop.condition, *loop.body) for v in used(s))
    uses.update([*loop.following, loop.going])
    following = dict(zip(loop.carried, loop.following, strict=True))
    found = {}
    for s in loop.body:
        outputs = {outer for _, outer in s.outputs} if isinstance(s, Alike) else set()
        for _, outer in s.inputs if isinstance(s, Alike) else ():
            after = tuple(following.get(v, -1) for v in outer)
            if after in outputs and all(uses[v] == 1 for v in (*outer, *after)):
                found[after] = outer
    return found
