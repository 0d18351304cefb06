"""Derivatives along many directions: what is done alike for each of them, written once, in a loop over them.

A program that carries n tangents has n copies of their arithmetic, which are as long together as LLVM's patience is
short. The copies are found here again: from operands whose first axis has length n, by what depends on which of their
n parts. What depends on none of them, the values themselves, is computed once and serves all directions, and so do
products of what multiplies tangents (`jaxgait.native.accumulation`).
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgait.native.accumulation import accumulated, keeps_linear, zero
from jaxgait.native.code import Alike, Code, Loop, Read, Statement, Write, everything, used, with_used
from jaxgait.native.instructions import Operation

FEW = 8
"""Directions up to which each is written out, unless the program becomes too long: what they share is loaded once."""

Values = tuple[int, ...]
"""A value of each part."""

MANY = 128
"""Directions that there are at most: longer arrays are something else."""


class Different(Exception):
    """The parts do not do the same, each by itself."""


def lengths(shapes: Iterable[tuple[int, ...]], above: int = FEW) -> list[int]:
    """How many directions (more than `above`, MANY at most) the shapes of operands suggest, the most likely first."""
    found = Counter(shape[0] for shape in shapes if shape and above < shape[0] <= MANY)
    return [n for n, _ in found.most_common()]


def joined(code: Code, shapes: Sequence[tuple[int, ...]], few: int = FEW) -> None:
    """Rewrites code that does the same for several directions: what they share is done once.

    Args:
        code: of one member, all of it.
        shapes: of its operands.
        few: directions up to which each is written out, not done in a loop.
    """
    found: dict[int, _Parts] = {}
    for n in lengths(shapes, above=1):
        found[n] = parts = _Parts(code, _seeds(code, shapes, n), n)
        before, tangents = code.statements, parts.tangents(code)
        if tangents.alike and _rewritten(code, tangents, n):
            if accumulated(code):
                code.statements = written_out(code, few) if n <= few else code.statements
                return
            code.statements = before
    for n, parts in found.items():
        if n > few and parts.alike and _rewritten(code, parts, n):
            return


def _rewritten(code: Code, parts: _Parts, n: int) -> bool:
    """Rewrites code with loops over parts, if they do the same; whether they do."""
    try:
        code.statements = list(_Rewriting(code, parts, n).block(code.statements))
    except Different:
        return False
    return True


def written_out(code: Code, most: int) -> list[Statement]:
    """The code's statements without loops over so many parts at most."""
    return list(_written_out(code, code.statements, most))


def _written_out(code: Code, statements: Sequence[Statement], most: int) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for s in statements:
        if isinstance(s, Loop):
            inner = {name: _written_out(code, getattr(s, name), most) for name in ("condition", "body")}
            found.append(s._replace(**inner))
        elif isinstance(s, Alike) and s.parts <= most:
            found += _copies(code, s)
        else:
            found.append(s)
    return tuple(found)


def _copies(code: Code, loop: Alike) -> list[Statement]:
    """What a loop over parts does, statement by statement for all of them."""
    names = [{inner: outer[k] for inner, outer in (*loop.inputs, *loop.outputs)} for k in range(loop.parts)]
    found: list[Statement] = []
    for s in loop.body:
        for known in names:
            own = with_used(s, [known.get(v, v) for v in used(s)])
            if isinstance(own, Operation):
                if own.output not in known:
                    code.dtypes.append(code.dtypes[own.output])
                    known[own.output] = len(code.dtypes) - 1
                own = own._replace(output=known[own.output])
            found.append(own)
    return found


def _seeds(code: Code, shapes: Sequence[tuple[int, ...]], n: int) -> list[list[tuple[int, ...]]]:
    """Of each operand whose first axis has length n, the values of each part."""
    found = []
    for held, shape in zip(code.operands, shapes, strict=True):
        if not isinstance(held, int) and shape and shape[0] == n:
            size = math.prod(shape[1:])
            found.append([held[i * size : (i + 1) * size] for i in range(n)])
    return found


class _Parts:
    """Which part of operands each value depends on.

    Of each value a set of bits is known, one for each part of each operand, operand after operand.
    """

    def __init__(self, code: Code, seeds: Sequence[Sequence[Sequence[int]]], n: int) -> None:
        self._n, self._of_memory = n, [0] * len(code.memories)
        self._parts: dict[int, int | None] = {0: None}
        self._of: list[int] = [0] * len(code.dtypes)
        self._shared = 0
        """What all members of a vector must agree in: positions in memory, and whether a loop goes on."""
        for k, operand in enumerate(seeds):
            for i, values in enumerate(operand):
                for v in values:
                    self._of[v] = 1 << (k * n + i)
        while self._follow(code.statements):
            pass
        self._mask = self._separate(len(seeds))
        self.alike = self._mask != 0
        """Whether any operands have parts that are kept apart."""

    def _follow(self, statements: Sequence[Statement]) -> bool:
        """Goes through statements once; whether anything is new."""
        of, new = self._of, False
        for s in statements:
            if isinstance(s, Operation):
                found = 0
                for v in s.inputs:
                    found |= of[v]
                of[s.output] = found
            elif isinstance(s, Read):
                self._shared |= of[s.index]
                of[s.output] = self._of_memory[s.memory]
            elif isinstance(s, Write):
                self._shared |= of[s.index] | (0 if s.where is None else of[s.where])
                found = self._of_memory[s.memory] | of[s.value]
                new |= found != self._of_memory[s.memory]
                self._of_memory[s.memory] = found
            elif isinstance(s, Loop):
                new |= self._follow_loop(s)
        return new

    def _follow_loop(self, s: Loop) -> bool:
        new = self._carried(s.carried, s.initial)
        new |= self._follow(s.condition) | self._follow(s.body) | self._carried(s.carried, s.following)
        self._shared |= self._of[s.going] | (0 if s.where is None else self._of[s.where])
        return new

    def _carried(self, carried: Sequence[int], values: Sequence[int]) -> bool:
        new = False
        for c, v in zip(carried, values, strict=True):
            found = self._of[c] | self._of[v]
            new |= found != self._of[c]
            self._of[c] = found
        return new

    def _separate(self, operands: int) -> int:
        """The bits of those operands whose parts nowhere meet."""
        every = (1 << self._n) - 1
        kept = {k for k in range(operands) if not self._shared >> (k * self._n) & every}
        sets = {*self._of}  # (memory may hold what belongs to several parts, as long as nobody reads it)
        for bits in sets:
            kept -= {k for k in kept if (part := bits >> (k * self._n) & every) & (part - 1)}
        for bits in sets:
            parts = {k: part for k in kept if (part := bits >> (k * self._n) & every)}
            if len({*parts.values()}) > 1:
                kept -= parts.keys()
        return sum(every << (k * self._n) for k in kept)

    def tangents(self, code: Code) -> _Parts:
        """The parts of those operands alone in which all is linear."""
        found = copy.copy(self)
        zeros = zero(code)
        operations = [s for s in everything(code.statements) if isinstance(s, Operation)]
        while (mixed := found._nonlinear(operations, zeros)) & found._mask:
            found._mask &= ~mixed
        none: dict[int, int | None] = {0: None}
        found.alike, found._parts = found._mask != 0, none
        return found

    def _nonlinear(self, operations: Sequence[Operation], zeros: set[int]) -> int:
        """The bits of operands of which something is made that is not linear in them."""
        every, found = (1 << self._n) - 1, 0
        for s in operations:
            if self._of[s.output] & self._mask:
                hits = [self._of[v] & self._mask != 0 for v in s.inputs]
                if not keeps_linear(s, hits, zeros):
                    found |= self._of[s.output]
        operands = {k for k in range(found.bit_length() // self._n + 1) if found >> (k * self._n) & every}
        return sum(every << (k * self._n) for k in operands)

    def of(self, v: int) -> int | None:
        """The part that a value depends on."""
        return self._part(self._of[v] & self._mask)

    def _part(self, bits: int) -> int | None:
        if bits not in self._parts:
            self._parts[bits] = (bits.bit_length() - 1) % self._n
        return self._parts[bits]


class _Rewriting:
    """Takes blocks apart: what belongs to no part first, then what belongs to parts, in loops over them."""

    def __init__(self, code: Code, parts: _Parts, n: int) -> None:
        self._code, self._parts, self._n = code, parts, n
        self._check_writes(code.statements)
        self._uses = Counter(v for s in code.statements for v in used(s))
        self._uses.update(v for held in code.results if not isinstance(held, int) for v in held)

    def _check_writes(self, statements: Sequence[Statement]) -> None:
        """Memory must not be written by parts and by what belongs to none, whose order would change.

        Raises:
            Different: if some is.
        """
        written = {(s.memory, self._part(s) is None) for s in everything(statements) if isinstance(s, Write)}
        if len({memory for memory, _ in written}) < len(written):
            raise Different

    def block(self, statements: Sequence[Statement]) -> tuple[Statement, ...]:
        """The statements of a block anew."""
        found: list[Statement] = []
        apart: list[tuple[int, Statement]] = []
        for s in statements:
            part = self._part(s)
            if part is not None:
                apart.append((part, s))
            elif isinstance(s, Loop) and self._has_parts(s):
                found += self._joined(apart)
                apart.clear()
                found.append(s._replace(condition=self.block(s.condition), body=self.block(s.body)))
            else:
                found.append(s)
        return (*found, *self._joined(apart))

    def _part(self, s: Statement) -> int | None:
        if isinstance(s, Operation | Read):
            return self._parts.of(s.output)
        return self._parts.of(s.value) if isinstance(s, Write) else None

    def _has_parts(self, s: Loop) -> bool:
        return any(self._part(x) is not None for x in everything([s]))

    def _joined(self, apart: Sequence[tuple[int, Statement]]) -> list[Statement]:
        """What belongs to parts, as a loop over them: the first one's statements, with what is others' in others."""
        if not apart:
            return []
        copies = [[s for part, s in apart if part == k] for k in range(self._n)]
        _check_order(apart)
        columns, made = _compared(copies, self._code.dtypes)
        inner = {column: self._new(column[0]) for line in columns for column in line if column is not None}
        body = [
            with_used(s, [v if column is None else inner[column] for v, column in zip(used(s), line, strict=True)])
            for s, line in zip(copies[0], columns, strict=True)
        ]
        within = Counter(v for _, s in apart for v in used(s))
        outputs = [row for row in made if any(self._uses[v] > within[v] for v in row)]
        inputs = tuple((v, column) for column, v in inner.items())
        return [Alike(self._n, inputs, tuple(body), tuple((row[0], row) for row in outputs))]

    def _new(self, like: int) -> int:
        """A new value."""
        self._code.dtypes.append(self._code.dtypes[like])
        return len(self._code.dtypes) - 1


def _compared(
    copies: Sequence[Sequence[Statement]], dtypes: Sequence[np.dtype]
) -> tuple[list[list[Values | None]], list[Values]]:
    """What copies of statements use of one another's kind, and what they make.

    Returns:
        Of each statement, for each value that it uses, the values of all copies where they are not made here and not
        the same; and the values that are made, of all copies.

    Raises:
        Different: if they are not copies.
    """
    if len({len(copy) for copy in copies}) > 1:
        raise Different
    made: dict[int, Values] = {}
    columns = []
    for statements in zip(*copies, strict=True):
        if any(_kind(s, dtypes) != _kind(statements[0], dtypes) for s in statements):
            raise Different
        columns.append([_column(values, made, dtypes) for values in zip(*map(used, statements), strict=True)])
        outputs = tuple(s.output for s in statements if isinstance(s, Operation | Read))
        made.update(dict.fromkeys(outputs, outputs))
    return columns, list(dict.fromkeys(made.values()))


def _column(values: Values, made: Mapping[int, Values], dtypes: Sequence[np.dtype]) -> Values | None:
    """What copies use in the same position; None where it is the same value, or one that each of them makes."""
    if all(v == values[0] for v in values) or made.get(values[0]) == values:
        return None
    if any(v in made for v in values) or len({dtypes[v] for v in values}) > 1:
        raise Different
    return values


def _kind(s: Statement, dtypes: Sequence[np.dtype]) -> tuple[Any, ...]:
    """What a statement does, whatever the values are that it does it with."""
    if isinstance(s, Operation):
        return s.name, s.params, dtypes[s.output]
    if isinstance(s, Read | Write):
        return type(s), s.memory, isinstance(s, Write) and s.where is None
    raise Different


def _check_order(apart: Sequence[tuple[int, Statement]]) -> None:
    """Parts must write one after the other: two of them may write to the same position.

    Raises:
        Different: if they do not; or if they read, since what they read may have been written.
    """
    last: dict[int, int] = {}
    for part, s in apart:
        if isinstance(s, Read) or (isinstance(s, Write) and last.get(s.memory, 0) > part):
            raise Different
        if isinstance(s, Write):
            last[s.memory] = part
