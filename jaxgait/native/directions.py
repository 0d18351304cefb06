"""Derivatives along many directions: arithmetic that is the same for each of them becomes a loop over them.

A program that carries n tangents has n copies of their arithmetic, too long for LLVM. The copies are found from
operands whose first axis has length n, by which of their n parts each value depends on. What depends on none of them is
computed once for all directions, and so are products of what multiplies tangents (`jaxgait.native.accumulation`).
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgait.native.accumulation import accumulated, keeps_linear, zero
from jaxgait.native.code import Code, Loop, PartLoop, Read, Statement, Write, count, everything, used, with_used
from jaxgait.native.instructions import Operation

MAX_UNROLLED = 8
"""Directions up to which the loop is unrolled, unless the program becomes too long: shared values are loaded once."""

Values = tuple[int, ...]
"""A value of each part."""

MAX_DIRECTIONS = 128
"""Largest number of directions: longer arrays are something else."""


class Different(Exception):
    """The parts are not independent copies of one computation."""


def lengths(shapes: Iterable[tuple[int, ...]], above: int = MAX_UNROLLED) -> list[int]:
    """Numbers of directions (more than `above`) suggested by shapes of operands, the most likely first."""
    found = Counter(shape[0] for shape in shapes if shape and above < shape[0] <= MAX_DIRECTIONS)
    return [n for n, _ in found.most_common()]


def joined(code: Code, shapes: Sequence[tuple[int, ...]], derived: slice | None, few: int, long: int) -> None:
    """Replaces copies of code for several directions by loops over them.

    Args:
        code: of one member.
        shapes: of its operands.
        derived: the operands that the loop carries, if JAX has taken a derivative. Otherwise linear values are not
            tangents, and sums and products keep their order: the corrections of a compensated sum are linear, too.
        few: directions up to which the loop is unrolled.
        long: number of values above which a loop of the derivatives of values is not unrolled.
    """
    found: dict[int, _Parts] = {}
    for n in lengths(shapes, above=1):
        found[n] = parts = _Parts(code, _seeds(code, shapes, n), n)
        if derived is None:
            continue
        before, tangents = code.statements, parts.tangents(code)
        carried = range(len(shapes))[derived]
        if tangents.alike and _have_values(code, shapes, carried, tangents, n) and _rewritten(code, tangents, n):
            if accumulated(code):
                if n <= few and count(unrolled := written_out(code, few)) <= long:
                    code.statements = unrolled
                return
            code.statements = before
    for n, parts in found.items():
        if n > few and parts.alike and _rewritten(code, parts, n):
            return


def _rewritten(code: Code, parts: _Parts, n: int) -> bool:
    try:
        code.statements = list(_Rewriting(code, parts, n).block(code.statements))
    except Different:
        return False
    return True


def written_out(code: Code, most: int) -> list[Statement]:
    """The statements, with loops over at most `most` parts unrolled."""
    return list(_written_out(code, code.statements, most))


def _written_out(code: Code, statements: Sequence[Statement], most: int) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for s in statements:
        if isinstance(s, Loop):
            inner = {name: _written_out(code, getattr(s, name), most) for name in ("condition", "body")}
            found.append(s._replace(**inner))
        elif isinstance(s, PartLoop) and s.parts <= most:
            found += _copies(code, s)
        else:
            found.append(s)
    return tuple(found)


def _copies(code: Code, loop: PartLoop) -> list[Statement]:
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
    """For each operand whose first axis has length n, the values of each part."""
    found = []
    for operand, shape in zip(code.operands, shapes, strict=True):
        if not isinstance(operand, int) and shape and shape[0] == n:
            size = math.prod(shape[1:])
            found.append([operand[i * size : (i + 1) * size] for i in range(n)])
    return found


def _have_values(
    code: Code, shapes: Sequence[tuple[int, ...]], carried: Iterable[int], tangents: _Parts, n: int
) -> bool:
    """Whether the loop carries, for each tangent, a value of which it is the derivative.

    A loop whose derivative is unused has lost its tangents: what is linear in it are then values.
    """
    of, values = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for k in carried:
        operand, shape = code.operands[k], shapes[k]
        if isinstance(operand, int):
            values[shape] += code.memories[operand].dtype.kind == "f"
        elif shape[:1] == (n,) and operand and tangents.of(operand[0]) is not None:
            of[shape[1:]] += 1
        else:
            values[shape] += bool(operand) and code.dtypes[operand[0]].kind == "f"
    return of <= values


class _Parts:
    """Which parts of operands each value depends on: a set of bits, one for each part of each operand."""

    def __init__(self, code: Code, seeds: Sequence[Sequence[Sequence[int]]], n: int) -> None:
        self._n, self._of_memory = n, [0] * len(code.memories)
        self._parts: dict[int, int | None] = {0: None}
        self._of: list[int] = [0] * len(code.dtypes)
        self._addressing = 0
        """Parts that positions in memory and conditions of loops depend on."""
        for k, operand in enumerate(seeds):
            for i, values in enumerate(operand):
                for v in values:
                    self._of[v] = 1 << (k * n + i)
        while self._follow(code.statements):
            pass
        self._mask = self._separate(len(seeds))
        self.alike = self._mask != 0
        """Whether the parts of any operand never mix."""

    def _follow(self, statements: Sequence[Statement]) -> bool:
        """One pass over the statements; returns whether anything changed."""
        of, new = self._of, False
        for s in statements:
            if isinstance(s, Operation):
                found = 0
                for v in s.inputs:
                    found |= of[v]
                of[s.output] = found
            elif isinstance(s, Read):
                self._addressing |= of[s.index]
                of[s.output] = self._of_memory[s.memory]
            elif isinstance(s, Write):
                self._addressing |= of[s.index] | (0 if s.where is None else of[s.where])
                found = self._of_memory[s.memory] | of[s.value]
                new |= found != self._of_memory[s.memory]
                self._of_memory[s.memory] = found
            elif isinstance(s, Loop):
                new |= self._follow_loop(s)
        return new

    def _follow_loop(self, s: Loop) -> bool:
        new = self._carried(s.carried, s.initial)
        new |= self._follow(s.condition) | self._follow(s.body) | self._carried(s.carried, s.following)
        self._addressing |= self._of[s.going] | (0 if s.where is None else self._of[s.where])
        return new

    def _carried(self, carried: Sequence[int], values: Sequence[int]) -> bool:
        new = False
        for c, v in zip(carried, values, strict=True):
            found = self._of[c] | self._of[v]
            new |= found != self._of[c]
            self._of[c] = found
        return new

    def _separate(self, operands: int) -> int:
        """The bits of operands whose parts never mix."""
        every = (1 << self._n) - 1
        kept = {k for k in range(operands) if not self._addressing >> (k * self._n) & every}
        sets = {*self._of}  # (memory may belong to several parts, as long as it is not read)
        for bits in sets:
            kept -= {k for k in kept if (part := bits >> (k * self._n) & every) & (part - 1)}
        for bits in sets:
            parts = {k: part for k in kept if (part := bits >> (k * self._n) & every)}
            if len({*parts.values()}) > 1:
                kept -= parts.keys()
        return sum(every << (k * self._n) for k in kept)

    def tangents(self, code: Code) -> _Parts:
        """The parts of operands in which everything is linear."""
        found = copy.copy(self)
        zeros = zero(code)
        operations = [s for s in everything(code.statements) if isinstance(s, Operation)]
        while (mixed := found._nonlinear(operations, zeros)) & found._mask:
            found._mask &= ~mixed
        none: dict[int, int | None] = {0: None}
        found.alike, found._parts = found._mask != 0, none
        return found

    def _nonlinear(self, operations: Sequence[Operation], zeros: set[int]) -> int:
        """The bits of operands in which an operation is not linear."""
        every, found = (1 << self._n) - 1, 0
        for s in operations:
            if self._of[s.output] & self._mask:
                hits = [self._of[v] & self._mask != 0 for v in s.inputs]
                if not keeps_linear(s, hits, zeros):
                    found |= self._of[s.output]
        operands = {k for k in range(found.bit_length() // self._n + 1) if found >> (k * self._n) & every}
        return sum(every << (k * self._n) for k in operands)

    def of(self, v: int) -> int | None:
        return self._part(self._of[v] & self._mask)

    def _part(self, bits: int) -> int | None:
        if bits not in self._parts:
            self._parts[bits] = (bits.bit_length() - 1) % self._n
        return self._parts[bits]


class _Rewriting:
    """Splits blocks: first what belongs to no part, then what belongs to parts, in loops over them."""

    def __init__(self, code: Code, parts: _Parts, n: int) -> None:
        self._code, self._parts, self._n = code, parts, n
        self._check_writes(code.statements)
        self._uses = Counter(v for s in code.statements for v in used(s))
        self._uses.update(v for result in code.results if not isinstance(result, int) for v in result)

    def _check_writes(self, statements: Sequence[Statement]) -> None:
        """Raises `Different` if both parts and other code write to a memory, in an order that would change."""
        written = {(s.memory, self._part(s) is None) for s in everything(statements) if isinstance(s, Write)}
        if len({memory for memory, _ in written}) < len(written):
            raise Different

    def block(self, statements: Sequence[Statement]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        apart: list[tuple[int, Statement]] = []
        for s in statements:
            part = self._part(s)
            if part is not None:
                apart.append((part, s))
            elif isinstance(s, Loop) and self._involves_parts(s):
                found += self._joined(apart)
                apart.clear()
                found.append(s._replace(condition=self.block(s.condition), body=self.block(s.body)))
            else:
                found.append(s)
        return (*found, *self._joined(apart))

    def _involves_parts(self, loop: Loop) -> bool:
        """Whether a loop contains statements of parts, or at least uses their values."""
        values = any(self._parts.of(v) is not None for v in used(loop))
        return values or any(self._part(s) is not None for s in everything([loop]))

    def _part(self, s: Statement) -> int | None:
        if isinstance(s, Operation | Read):
            return self._parts.of(s.output)
        return self._parts.of(s.value) if isinstance(s, Write) else None

    def _joined(self, apart: Sequence[tuple[int, Statement]]) -> list[Statement]:
        """A loop over parts from their statements, with those of the first part as its body."""
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
        return [PartLoop(self._n, inputs, tuple(body), tuple((row[0], row) for row in outputs))]

    def _new(self, like: int) -> int:
        self._code.dtypes.append(self._code.dtypes[like])
        return len(self._code.dtypes) - 1


def _compared(
    copies: Sequence[Sequence[Statement]], dtypes: Sequence[np.dtype]
) -> tuple[list[list[Values | None]], list[Values]]:
    """Compares copies of statements.

    Returns:
        For each statement and each value that it uses: the values of all copies, unless they are the same or made by
        the copies themselves; and the values that are made, of all copies.

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
    """The values that copies use in one position; None if they are the same, or made by each copy."""
    if all(v == values[0] for v in values) or made.get(values[0]) == values:
        return None
    if any(v in made for v in values) or len({dtypes[v] for v in values}) > 1:
        raise Different
    return values


def _kind(s: Statement, dtypes: Sequence[np.dtype]) -> tuple[Any, ...]:
    """The operation of a statement, regardless of its values."""
    if isinstance(s, Operation):
        return s.name, s.params, dtypes[s.output]
    if isinstance(s, Read | Write):
        return type(s), s.memory, isinstance(s, Write) and s.where is None
    raise Different


def _check_order(apart: Sequence[tuple[int, Statement]]) -> None:
    """Raises `Different` if parts read, or do not write in order: two parts may write to the same position."""
    last: dict[int, int] = {}
    for part, s in apart:
        if isinstance(s, Read) or (isinstance(s, Write) and last.get(s.memory, 0) > part):
            raise Different
        if isinstance(s, Write):
            last[s.memory] = part
