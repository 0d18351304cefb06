"""One member on a thread of a GPU, whose block keeps what is the same for all members in its shared memory.

The loop of a mechanism reads hundreds of numbers that do not change: parameters, and what follows from them. A thread
has registers for about a hundred, and what does not fit is stored once for each thread. Numbers that are the same for
all members are stored once for each block instead, and loaded where they are used.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from jaxgait.native.code import Code, Loop, PartLoop, Statement, used
from jaxgait.native.instructions import Operation, Writer
from jaxgait.native.loops import Emitter

LEAST_NUMBERS = 100
"""Count of such numbers from which they are kept in shared memory. A load takes longer than the use of a register: on
an H200 the 150 numbers of the knee make it 2.5 times as fast, the 87 of the jumper would slow it down 1.2 times."""
MOST_NUMBERS = 4096
"""Largest count of such numbers in shared memory (a block has 48 KB); those used least stay in registers."""
STATEMENTS_PER_LOAD = 30
"""Statements without a use after which a number is loaded again, so that it occupies no register in between."""
LOADS = {"double": ("ld.shared.f64", "d"), "float": ("ld.shared.f32", "f")}
"""Types of numbers in shared memory; instructions that load them, and kinds of registers."""


class Thread(Emitter):
    """Writes the code of one member.

    Args:
        code: of one member.
        writer: for its lines.
        shared: which operands are the same for all members.
    """

    def __init__(self, code: Code, writer: Writer, shared: Sequence[bool]) -> None:
        super().__init__(code, 1, writer)
        self.tables: list[str] = []
        """Definitions of tables in shared memory."""
        operands = zip(code.operands, shared, strict=True)
        self._uniform = {v for o, same in operands if same and not isinstance(o, int) for v in o}
        """Values that are the same for all members, apart from constants."""
        self._addresses: dict[int, str] = {}
        """Addresses of values in shared memory, within the loop that loads them."""
        self._last_use: dict[int, int] = {}
        """Statements that had been written when a value was last used."""
        self._written, self._kept_numbers = 0, 0

    def statements(self, statements: Sequence[Statement]) -> None:
        """Writes statements in order; before each of them, loads the values that it uses from shared memory."""
        for s in statements:
            if isinstance(s, Operation) and self._is_uniform(s):
                self._uniform.add(s.output)
            if not isinstance(s, Loop | PartLoop):
                self._load(used(s))
            super().statements([s])

    def _is_uniform(self, s: Operation) -> bool:
        return all(v in self._uniform or v in self.code.constants for v in s.inputs)

    def _loop(self, s: Loop) -> None:
        outermost = not self._addresses
        if outermost:
            s = self._kept(s)
        else:
            self._load([*s.initial, *([] if s.where is None else [s.where])])
        with self._nested():
            super()._loop(s)
        if outermost:
            self._addresses = {}

    def _part_loop(self, s: PartLoop) -> None:
        self._load(v for inner, outer in s.inputs if inner not in self._stored for v in outer)
        with self._nested():
            super()._part_loop(s)

    @contextlib.contextmanager
    def _nested(self) -> Iterator[None]:
        """Forgets, after a loop, what was loaded inside it."""
        names, last_use = {v: self.scope.get(v) for v in self._addresses}, dict(self._last_use)
        yield
        self.scope.names.update(names)
        self._last_use = last_use

    def _kept(self, s: Loop) -> Loop:
        """Stores what is the same for all members before a loop, if that is much; returns what is left of the loop."""
        before: list[Operation] = []
        varying: list[Statement] = []
        for x in s.body:
            if isinstance(x, Operation) and self._is_uniform(x):
                self._uniform.add(x.output)
                before.append(x)
            else:
                varying.append(x)
        uses = Counter(v for x in (*s.condition, *varying) for v in used(x) if v in self._uniform)
        numbers = [v for v, _ in uses.most_common() if self.scope.type(self.code.dtypes[v]) in LOADS]
        kept = sorted(numbers[: MOST_NUMBERS - self._kept_numbers])
        if len(kept) < LEAST_NUMBERS:
            return s
        self._kept_numbers += len(kept)
        for x in before:
            self.scope.compute(x)
        for type in LOADS:
            self._store(type, [v for v in kept if self.scope.type(self.code.dtypes[v]) == type])
        return s._replace(body=tuple(varying))

    def _store(self, type: str, values: Sequence[int]) -> None:
        """Every thread stores the same numbers, and loads them after that: no thread has to wait for another."""
        if not values:
            return
        table, array = f"@uniform{len(self.tables)}", f"[{len(values)} x {type}]"
        self.tables.append(f"{table} = internal addrspace(3) global {array} undef, align 8")
        for i, v in enumerate(values):
            address = f"ptr addrspace(3) getelementptr ({array}, ptr addrspace(3) {table}, i64 0, i64 {i})"
            self.w.line(f"store {type} {self.scope.get(v)}, {address}")
            self._addresses[v] = address

    def _load(self, values: Iterable[int]) -> None:
        """Loads values from shared memory that were not used lately.

        Inline assembly stays where it is: LLVM would merge loads of its own into one, before the loop.
        """
        self._written += 1
        for v in dict.fromkeys(v for v in values if v in self._addresses):
            if self._written - self._last_use.get(v, -STATEMENTS_PER_LOAD) >= STATEMENTS_PER_LOAD:
                self.scope.names[v] = self.w.emit(load(self.scope.type(self.code.dtypes[v]), self._addresses[v]))
            self._last_use[v] = self._written


def load(type: str, address: str) -> str:
    """An instruction that loads a number of a type in LLVM's language."""
    instruction, register = LOADS[type]
    effects = "memory(argmem: read, inaccessiblemem: readwrite)"
    return f'call {type} asm sideeffect "{instruction} $0, [$1];", "={register},l"({address}) {effects}'
