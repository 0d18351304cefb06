"""Structured code in LLVM's assembly language, for a vector of members or a single one.

A loop runs until the last member of the vector is done; finished members are masked.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from jaxgait.native.code import Code, Loop, Memory, PartLoop, Read, Statement, Write, everything, lasting
from jaxgait.native.instructions import Cells, Scope, Writer, scalar
from jaxgait.native.kernel import vector_width


class Emitter:
    """Writes code for `width` members at once."""

    def __init__(self, code: Code, width: int, writer: Writer) -> None:
        self.code, self.width, self.w = code, width, writer
        self.scope = Scope(writer, code.known, width, None, contract=False)
        self.cells = Cells(self.scope)
        self.pointers: dict[int, list[str]] = {}
        """Address of each member's part of each memory."""
        self.active: str | None = None
        """Mask of the active members; None: all."""
        self._lasting: dict[tuple[int, ...], tuple[int, ...]] = {}
        """Values of parts that stay in their tables; see `jaxgait.native.code.lasting`."""
        self._stored: set[int] = set()
        self._labels = itertools.count()

    def statements(self, statements: Sequence[Statement]) -> None:
        """Writes statements in order."""
        for s in statements:
            if isinstance(s, Read):
                self._read(s)
            elif isinstance(s, Write):
                self._write(s)
            elif isinstance(s, Loop):
                self._loop(s)
            elif isinstance(s, PartLoop):
                self._part_loop(s)
            else:
                self.scope.compute(s)

    def _lane(self, type: str, x: str, i: int) -> str:
        return x if self.width == 1 else self.w.emit(f"extractelement {self.scope.vector(type)} {x}, i64 {i}")

    def _address(self, memory: int, index: str, i: int) -> str:
        row, dtype = self.pointers[memory][i], self.code.memories[memory].dtype
        return self.cells.at(row, dtype, self._lane("i64", index, i))

    def _read(self, s: Read) -> None:
        index = self.scope.get(s.index)
        addresses = (self._address(s.memory, index, i) for i in range(self.width))
        self.scope.names[s.output] = self.cells.gather(addresses, self.code.memories[s.memory].dtype)

    def _write(self, s: Write) -> None:
        """Inactive members write to a dummy address; a member on its own skips the store instead."""
        dtype, index = self.code.memories[s.memory].dtype, self.scope.get(s.index)
        cell, x = Cells.cell(dtype), self.scope.get(s.value)
        if dtype.kind == "b":
            x = self.w.emit(f"zext {self.scope.type(dtype)} {x} to {self.scope.vector(cell)}")
        mask = self.masked(s.where)
        after = self._if(mask) if self.width == 1 and mask is not None else None
        for i in range(self.width):
            to = self._address(s.memory, index, i)
            if mask is not None and after is None:
                to = self.w.emit(f"select i1 {self._lane('i1', mask, i)}, ptr {to}, ptr %nowhere")
            self.w.line(f"store {cell} {self._lane(cell, x, i)}, ptr {to}, align {dtype.itemsize}")
        if after is not None:
            self.w.line(f"br label %{after}")
            self.w.label(after)

    def _if(self, condition: str) -> str:
        """Begins a block that runs if a condition holds; returns the label after it."""
        n = next(self._labels)
        self.w.line(f"br i1 {condition}, label %then{n}, label %after{n}")
        self.w.label(f"then{n}")
        return f"after{n}"

    def masked(self, where: int | None) -> str | None:
        """The active members for which `where` is true."""
        if where is None:
            return self.active
        if self.active is None:
            return self.scope.get(where)
        return self.w.emit(f"and {self.scope.type(bool)} {self.active}, {self.scope.get(where)}")

    def _loop(self, s: Loop) -> None:
        n = next(self._labels)
        tables = self._tabulated(s)
        still = {v for _, outer in tables for v in outer}
        moving = [(c, v, f) for c, v, f in zip(s.carried, s.initial, s.following, strict=True) if c not in still]
        dtypes = [self.scope.type(self.code.dtypes[c]) for c, _, _ in moving]
        mask, entry = self.scope.type(bool), self.masked(s.where) or self._all()
        initial, outer = [self.scope.get(v) for _, v, _ in moving], self.active
        before = self.w.block
        self.w.line(f"br label %loop{n}")
        self.w.label(f"loop{n}")
        start = len(self.w.lines)
        names = [f"%c{n}.{i}" for i in range(len(moving))]
        self.w.lines += [""] * (len(names) + 1)  # the phi nodes, known at the end
        self.scope.names.update({c: name for (c, _, _), name in zip(moving, names, strict=True)})
        self.active = f"%m{n}"
        self.statements(s.condition)
        now = self.w.emit(f"and {mask} %m{n}, {self.scope.get(s.going)}")
        self.w.line(f"br i1 {self.goes_on(now)}, label %body{n}, label %end{n}")
        self.w.label(f"body{n}")
        self.active = now if self.width > 1 else None  # (a single member is active wherever it gets to)
        self.statements(s.body)
        following = [
            self._following(now, t, self.scope.get(f), old) if f != c else old
            for t, (c, _, f), old in zip(dtypes, moving, names, strict=True)
        ]
        for i, (t, name, a, b) in enumerate(zip(dtypes, names, initial, following, strict=True)):
            self.w.lines[start + i] = f"  {name} = phi {t} [ {a}, %{before} ], [ {b}, %{self.w.block} ]"
        self.w.lines[start + len(names)] = f"  %m{n} = phi {mask} [ {entry}, %{before} ], [ {now}, %{self.w.block} ]"
        self.w.line(f"br label %loop{n}")
        self.w.label(f"end{n}")
        self.active = outer
        for table in tables:
            self._load_all_parts(*table)

    def _tabulated(self, s: Loop) -> list[tuple[int, tuple[int, ...]]]:
        """Stores values of parts before a loop that are constant in it, or change only in their tables.

        Returns:
            Of the latter, the table and the values of all parts.
        """
        found, initial = lasting(s), dict(zip(s.carried, s.initial, strict=True))
        changing = {*found.values()}
        self._lasting |= found
        inputs = [pair for x in s.body if isinstance(x, PartLoop) for pair in x.inputs]
        for inner, outer in inputs:
            before = [initial.get(v, v) for v in outer] if outer in changing else list(outer)
            if all(v in self.scope.names or v in self.code.constants for v in before):
                for i, v in enumerate(before):
                    self._store_part(inner, str(i), self.scope.get(v))
                self._stored.add(inner)
        return [(inner, outer) for inner, outer in inputs if outer in changing]

    def _part_loop(self, s: PartLoop) -> None:
        """A loop over parts, whose values are in tables."""
        for inner, outer in s.inputs:
            self._store_all_parts(inner, outer)
        with self.w.counted(f"parts{next(self._labels)}", s.parts) as part:
            self.scope.names.update({inner: self._load_part(inner, part) for inner, _ in s.inputs})
            self.statements(s.body)
            of = {outer: inner for inner, outer in s.inputs}
            for inner, outer in s.outputs:
                old = of.get(self._lasting.get(outer, ()))
                self._store_output(inner, part, old)
        for inner, outer in s.outputs:
            if outer not in self._lasting:
                self._load_all_parts(inner, outer)

    def _store_all_parts(self, table: int, outer: tuple[int, ...]) -> None:
        if table not in self._stored:
            for i, v in enumerate(outer):
                self._store_part(table, str(i), self.scope.get(v))

    def _load_all_parts(self, table: int, outer: tuple[int, ...]) -> None:
        self.scope.names.update({v: self._load_part(table, str(i)) for i, v in enumerate(outer)})

    def _store_output(self, inner: int, part: str, old: int | None) -> None:
        """Stores a part's output; for the next iteration in place of an old value, for active members."""
        x = self.scope.get(inner)
        if old is None:
            self._store_part(inner, part, x)
            return
        type, active = self.scope.type(self.code.dtypes[old]), self.active
        self._store_part(old, part, x if active is None else self._following(active, type, x, self.scope.get(old)))

    def _store_part(self, table: int, part: str, x: str) -> None:
        self.cells.store(x, f"%table{table}", self.code.dtypes[table], self._row_of(part))

    def _load_part(self, table: int, part: str) -> str:
        return self.cells.load(f"%table{table}", self.code.dtypes[table], self._row_of(part))

    def _row_of(self, part: str) -> str:
        return self.w.emit(f"mul i64 {part}, {self.width}")

    def _following(self, now: str, type: str, new: str, old: str) -> str:
        """A carried value after an iteration; finished members keep theirs."""
        if self.width == 1:
            return new
        return self.w.emit(f"select {self.scope.type(bool)} {now}, {type} {new}, {type} {old}")

    def goes_on(self, now: str) -> str:
        """Whether a loop continues, given the members that do."""
        if self.width == 1:
            return now
        bits = self.w.emit(f"bitcast {self.scope.type(bool)} {now} to i{self.width}")
        return self.w.emit(f"icmp ne i{self.width} {bits}, 0")

    def _all(self) -> str:
        return "true" if self.width == 1 else f"<{', '.join(['i1 true'] * self.width)}>"

    # --- operands and results -----------------------------------------------------------------------------------------

    def operands(self, begin: str, shared: Sequence[bool], sizes: Sequence[int]) -> None:
        """Loads the operands of a vector of members.

        Args:
            begin: the first member.
            shared: which operands are the same for all members.
            sizes: numbers per member of each operand.
        """
        for i, (operand, same, size) in enumerate(zip(self.code.operands, shared, sizes, strict=True)):
            for k, v in enumerate(() if isinstance(operand, int) else operand):
                if same:
                    self.spread(i, k, v)
                else:
                    rows, at = Cells(self.scope, size), self.index(begin, size, k)
                    self.scope.names[v] = rows.load(f"%in{i}", self.code.dtypes[v], at)

    def spread(self, operand: int, k: int, v: int) -> None:
        """Loads number k of an operand that is the same for all members."""
        dtype = self.code.dtypes[v]
        self.scope.names[v] = self.scope.spread(self.cells.single(f"%in{operand}", dtype, str(k)), dtype)

    def index(self, member: str, size: int, k: int = 0) -> str:
        """The position of number k of a member, which has `size` of them."""
        return self.w.emit(f"add i64 {self.w.emit(f'mul i64 {member}, {size}')}, {k}")

    def memories(self, members: Sequence[str], shared: Sequence[bool]) -> None:
        """Addresses of the members' arrays in memory."""
        for i, memory in enumerate(self.code.memories):
            if memory.table is not None:
                rows = [f"@constant{i}"] * self.width
            elif memory.own:
                rows = [self._row(f"%own{i}", memory, str(lane)) for lane in range(self.width)]
            elif memory.result is not None:
                rows = [self._row(f"%out{memory.result}", memory, member) for member in members]
            else:
                rows = [self._operand_row(memory, member, shared) for member in members]
            self.pointers[i] = rows

    def initialise(self, member: str, shared: Sequence[bool]) -> None:
        """Copies a member's operands that become results."""
        for memory in self.code.memories:
            if memory.operand is not None and memory.result is not None:
                source = self._operand_row(memory, member, shared)
                self._copied(source, self._row(f"%out{memory.result}", memory, member), memory)

    def _operand_row(self, memory: Memory, member: str, shared: Sequence[bool]) -> str:
        assert memory.operand is not None
        return self._row(f"%in{memory.operand}", memory, "0" if shared[memory.operand] else member)

    def _row(self, pointer: str, memory: Memory, member: str) -> str:
        return self.cells.at(pointer, memory.dtype, self.index(member, memory.size))

    def stack(self) -> None:
        """Allocates the code's own arrays, one member after the other; to be called first in a function."""
        for i, memory in enumerate(self.code.memories):
            cell = Cells.cell(memory.dtype)
            if memory.own:
                self.w.line(f"%own{i} = alloca [{self.width * memory.size} x {cell}], align 64")
            elif memory.table is not None:
                numbers = ", ".join(f"{cell} {scalar(x, memory.dtype)}" for x in memory.table.ravel().tolist())
                whole = f"[{memory.size} x {cell}] [{numbers}]"
                self.w.declared.add(f"@constant{i} = internal unnamed_addr constant {whole}, align 64")
        self._tables()

    def _tables(self) -> None:
        for s in everything(self.code.statements):
            if isinstance(s, PartLoop):
                for inner, _ in (*s.inputs, *s.outputs):
                    cell = Cells.cell(self.code.dtypes[inner])
                    self.w.line(f"%table{inner} = alloca [{self.width * s.parts} x {cell}], align 64")

    def _copied(self, source: str, to: str, memory: Memory) -> None:
        """Copies one member's array: in one call, or number by number, which is faster on GPUs."""
        cell, align = Cells.cell(memory.dtype), memory.dtype.itemsize
        if self.width > 1:
            self.w.declared.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
            size = f"i64 {memory.size * align}, i1 false"
            self.w.line(f"call void @llvm.memcpy.p0.p0.i64(ptr align {align} {to}, ptr align {align} {source}, {size})")
            return
        with self.w.counted(f"copy{next(self._labels)}", memory.size) as k:
            a, b = (self.cells.at(row, memory.dtype, k) for row in (source, to))
            self.w.line(f"store {cell} {self.w.emit(f'load {cell}, ptr {a}, align {align}')}, ptr {b}, align {align}")

    def members(self, begin: str, shared: Sequence[bool], sizes: Sequence[int]) -> None:
        """Everything for a vector of members; arguments as for `operands`."""
        self.operands(begin, shared, sizes)
        members = [self.w.emit(f"add i64 {begin}, {i}") for i in range(self.width)]
        for member in members:
            self.initialise(member, shared)
        self.memories(members, shared)
        self.statements(self.code.statements)
        self.results(begin)

    def results(self, begin: str) -> None:
        """Stores the results that are not in memory yet."""
        for i, result in enumerate(self.code.results):
            if isinstance(result, int):
                continue
            for k, v in enumerate(result):
                at = self.index(begin, len(result), k)
                Cells(self.scope, len(result)).store(self.scope.get(v), f"%out{i}", self.code.dtypes[v], at)


def assembly(code: Code, prologue: Sequence[str], members: int, shared: Sequence[bool], sizes: Sequence[int]) -> str:
    """A function over all members, vector by vector.

    Args:
        code: of one member.
        prologue: first lines of the function, which define the pointers %in0, ... and %out0, ...; its last block is
            %run.
        members: how many there are.
        shared: which operands are the same for all of them.
        sizes: numbers per member of each operand.
    """
    w, width = Writer(), vector_width(code.dtypes, members)
    w.lines += prologue
    emitter = Emitter(code, width, w)
    w.line("%nowhere = alloca i64, align 8")
    emitter.stack()
    with w.counted("members", members, width) as i:
        emitter.members(w.vector_begin(i, members, width), shared, sizes)
    return w.returned()
