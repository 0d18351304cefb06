"""Loops in LLVM's language whose vectors are refilled: a finished member leaves its lane to the next one.

No member waits for the slowest of its vector, and nothing needs to be known about which of them take long. The loop is
left whenever a member finishes: loop invariants are computed before the loop, and again after every refill; in between,
operands and carried values of all lanes are spilled to memory.

Lane iterations are counted here, too, which shows how much of them is useful work. The names of kernels say how members
share lanes, so that this is also known for programs loaded from disk.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxgait.native import loops
from jaxgait.native.code import Code, Loop
from jaxgait.native.instructions import Cells, Scope, Writer
from jaxgait.native.kernel import vector_width
from jaxgait.native.loops import Emitter

WARP_THREADS = 32
"""Threads of a GPU that run in lockstep."""
_NAMED = re.compile(r"jaxgait_(refilled|waiting)(\d+)_\w+")

NUMBER = np.dtype(np.int64)
"""Type of the number of a member."""


class Lanes(NamedTuple):
    """Lanes that go through a loop together."""

    width: int
    """0: as many as there are members."""
    refilled: bool
    """Whether a finished member leaves its lane to the next one; if not, all wait for the last."""

    @property
    def label(self) -> str:
        """Beginning of the name of a kernel."""
        return f"{'refilled' if self.refilled else 'waiting'}{self.width}_"

    def lane_iterations(self, rounds: Sequence[int]) -> int:
        """Iterations of all lanes until the last member is done.

        Args:
            rounds: iterations of each member, in order.
        """
        width = min(self.width, len(rounds)) or len(rounds)
        if self.refilled:
            return width * _last(rounds, width)
        starts = [min(i, len(rounds) - width) for i in range(0, len(rounds), width)] if width else []
        return sum(width * max(rounds[i : i + width]) for i in starts)


TOGETHER = Lanes(0, False)
"""XLA's own loops."""


def lanes_of(text: str) -> Lanes:
    """The lanes of a program, from its text or the names of its kernels; for several loops, those of the slowest."""
    found = [(kind == "refilled", int(width)) for kind, width in _NAMED.findall(text)]
    if found:
        return Lanes(max(width for _, width in found), all(refilled for refilled, _ in found))
    return Lanes(WARP_THREADS, False) if "__gpu$xla.gpu.ptx" in text else TOGETHER


def _last(rounds: Sequence[int], width: int) -> int:
    """When the last member is done, if each takes the first free lane."""
    ends = [0] * width
    for n in rounds:
        heapq.heapreplace(ends, ends[0] + n)
    return max(ends, default=0)


def assembly(code: Code, prologue: Sequence[str], members: int, shared: Sequence[bool], sizes: Sequence[int]) -> str:
    """A function over all members, with refilled vectors if there are several; see `loops.assembly`."""
    width, refilled = lanes(code, members)
    if not refilled:
        return loops.assembly(code, prologue, members, shared, sizes)
    w = Writer()
    w.lines += prologue
    w.line("%nowhere = alloca i64, align 8")
    emitter = _Refilling(code, width, w, members, shared, sizes)
    emitter.all_members()
    w.label("done")
    return w.returned()


def lanes(code: Code, members: int) -> Lanes:
    """The lanes of that function."""
    width = vector_width(code.dtypes, members)
    return Lanes(width, width not in (1, members) and _is_one_loop(code))


def _is_one_loop(code: Code) -> bool:
    """Whether the code is a single loop, from operands to carried values."""
    if len(code.statements) != 1 or not isinstance(code.statements[0], Loop):
        return False
    loop = code.statements[0]
    inputs = {v for operand in code.operands if not isinstance(operand, int) for v in operand}
    results = {v for result in code.results if not isinstance(result, int) for v in result}
    return loop.where is None and inputs | code.constants.keys() >= set(loop.initial) and results <= set(loop.carried)


class _Refilling(Emitter):
    """Writes a loop with refilled lanes; arguments as for `assembly`."""

    def __init__(
        self, code: Code, width: int, writer: Writer, members: int, shared: Sequence[bool], sizes: Sequence[int]
    ) -> None:
        super().__init__(code, width, writer)
        self.count, self.shared, self.sizes = members, shared, sizes
        (loop,) = code.statements
        assert isinstance(loop, Loop)
        self.loop = loop
        self.where = {v: (i, k) for i, o in enumerate(code.operands) if not isinstance(o, int) for k, v in enumerate(o)}
        self.now = ""
        """Mask of the members that continue, where the loop was left."""
        self._outside = True
        self._one = Cells(Scope(writer, code.known, 1, None))
        """Loads and stores of one lane."""

    def all_members(self) -> None:
        w, lanes = self.w, f"i{self.width}"
        own = [v for v, (i, _) in self.where.items() if not self.shared[i] and v not in self.loop.initial]
        slot = lambda v: w.emit(f"alloca [{self.width} x {Cells.cell(self.code.dtypes[v])}], align 64")
        self.slots = {v: slot(v) for v in (*own, *self.loop.carried)}
        w.line(f"%ids = alloca [{self.width} x i64], align 64")
        self.stack()
        for v, (i, k) in self.where.items():
            if self.shared[i] and v not in self.loop.initial:
                self.spread(i, k, v)
        with w.counted("start", self.width) as i:
            self._fill(i, i)
        before = w.block
        w.line("br label %members")
        w.label("members")
        w.line(f"%next = phi i64 [ {self.width}, %{before} ], [ %next.after, %lanes.over ]")
        w.line(f"%working = phi {lanes} [ -1, %{before} ], [ %working.after, %lanes.over ]")
        self.active = w.emit(f"bitcast {lanes} %working to {self.scope.type(bool)}")
        self._load_lanes(own)
        self.statements([self.loop._replace(initial=tuple(-1 - c for c in self.loop.carried))])
        self._exchange()

    def goes_on(self, now: str) -> str:
        """The outermost loop is left when a member finishes, others when the last one does."""
        if not self._outside:
            return super().goes_on(now)
        self._outside, self.now = False, now
        bits = self.w.emit(f"bitcast {self.scope.type(bool)} {now} to i{self.width}")
        return self.w.emit(f"icmp eq i{self.width} {bits}, %working")

    # --- from lanes to vectors ----------------------------------------------------------------------------------------

    def _load_lanes(self, own: Sequence[int]) -> None:
        """Loads the vectors of all lanes; initial value of carried value c is -1 - c."""
        for v in own:
            self.scope.names[v] = self.cells.load(self.slots[v], self.code.dtypes[v], 0)
        for c in self.loop.carried:
            self.scope.names[-1 - c] = self.cells.load(self.slots[c], self.code.dtypes[c], 0)
        self.memories([self._id(str(i)) for i in range(self.width)], self.shared)

    def _id(self, lane: str) -> str:
        return self._one.load("%ids", NUMBER, lane)

    # --- lane by lane -------------------------------------------------------------------------------------------------

    def _fill(self, lane: str, member: str) -> None:
        self._one.store(member, "%ids", NUMBER, lane)
        initial = dict(zip(self.loop.carried, self.loop.initial, strict=True))
        for v, slot in self.slots.items():
            self._one.store(self._number(initial.get(v, v), member), slot, self.code.dtypes[v], lane)
        self.initialise(member, self.shared)

    def _number(self, v: int, member: str) -> str:
        if v not in self.where:
            return self._one.scope.constant(self.code.constants[v], self.code.dtypes[v])
        i, k = self.where[v]
        at = str(k) if self.shared[i] else self.index(member, self.sizes[i], k)
        return self._one.load(f"%in{i}", self.code.dtypes[v], at)

    def _exchange(self) -> None:
        """Stores the results of finished members and fills their lanes."""
        w, lanes = self.w, f"i{self.width}"
        for c in self.loop.carried:
            self.cells.store(self.scope.get(c), self.slots[c], self.code.dtypes[c], 0)
        going = w.emit(f"bitcast {self.scope.type(bool)} {self.now} to {lanes}")
        finished, before = w.emit(f"xor {lanes} %working, {going}"), w.block
        with w.counted("lanes", self.width) as lane:
            w.line(f"%upcoming = phi i64 [ %next, %{before} ], [ %next.after, %lane.end ]")
            w.line(f"%busy = phi {lanes} [ %working, %{before} ], [ %working.after, %lane.end ]")
            w.line(f"%bit = shl {lanes} 1, {w.emit(f'trunc i64 {lane} to {lanes}')}")
            hit = w.emit(f"icmp ne {lanes} {w.emit(f'and {lanes} {finished}, %bit')}, 0")
            w.line(f"br i1 {hit}, label %lane.done, label %lane.end")
            w.label("lane.done")
            self._store_results(lane)
            w.line(f"%left = icmp slt i64 %upcoming, {self.count}")
            w.line("br i1 %left, label %lane.fill, label %lane.idle")
            w.label("lane.fill")
            self._fill(lane, "%upcoming")
            w.line("%upcoming.next = add i64 %upcoming, 1")
            w.line("br label %lane.end")
            w.label("lane.idle")
            w.line(f"%resting = xor {lanes} %busy, %bit")
            w.line("br label %lane.end")
            w.label("lane.end")
            end = "[ {}, %lanes ], [ {}, %lane.fill ], [ {}, %lane.idle ]"
            w.line(f"%next.after = phi i64 {end.format('%upcoming', '%upcoming.next', '%upcoming')}")
            w.line(f"%working.after = phi {lanes} {end.format('%busy', '%busy', '%resting')}")
        w.line(f"%working.left = icmp ne {lanes} %working.after, 0")
        w.line("br i1 %working.left, label %members, label %done")

    def _store_results(self, lane: str) -> None:
        """Stores the results of the member in a lane that are not in memory yet."""
        member = self._id(lane)
        for i, result in enumerate(self.code.results):
            for k, v in enumerate(() if isinstance(result, int) else result):
                x = self._one.load(self.slots[v], self.code.dtypes[v], lane)
                at = self.index(member, len(result), k)  # type: ignore[arg-type]
                self._one.store(x, f"%out{i}", self.code.dtypes[v], at)
