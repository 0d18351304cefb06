"""Structured code: what one member of an ensemble computes, number by number, with its loops.

Arrays are gone: each of their numbers is a value of its own (`Operation`), but for those that are too large or are
read and written at positions known only at run time, which are memory (`Read`, `Write`).
"""

from __future__ import annotations

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
    """Goes on, for each member by itself, while a condition holds; afterwards the carried values are the results."""

    carried: tuple[int, ...]
    initial: tuple[int, ...]
    condition: tuple[Statement, ...]
    going: int
    body: tuple[Statement, ...]
    following: tuple[int, ...]
    where: int | None
    """Members that take part; None: all that are at work."""


Statement = Operation | Read | Write | Loop


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


def count(statements: list[Statement] | tuple[Statement, ...]) -> int:
    """Operations, those inside of loops once."""
    inner = sum(count(s.condition) + count(s.body) for s in statements if isinstance(s, Loop))
    return sum(not isinstance(s, Loop) for s in statements) + inner


def loops(statements: list[Statement] | tuple[Statement, ...]) -> int:
    """Loops, those inside of others too."""
    return sum(1 + loops(s.condition) + loops(s.body) for s in statements if isinstance(s, Loop))
