"""How members share the lanes of a kernel, and the fraction of the lanes' time that is useful work.

The names of kernels contain this, so that it is also known for programs loaded from disk.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from typing import NamedTuple

WARP = 32
"""Threads of a GPU that run in lockstep."""
_NAMED = re.compile(r"jaxgait_(refilled|waiting)(\d+)_\w+")


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

    def room(self, rounds: Sequence[int]) -> int:
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
    """The lanes of a program, from its text or the names of its kernels; of several loops, the slowest."""
    found = [(kind == "refilled", int(width)) for kind, width in _NAMED.findall(text)]
    if found:
        return Lanes(max(width for _, width in found), all(refilled for refilled, _ in found))
    return Lanes(WARP, False) if "__gpu$xla.gpu.ptx" in text else TOGETHER


def _last(rounds: Sequence[int], width: int) -> int:
    """When the last member is done, if each takes the first free lane."""
    ends = [0] * width
    for n in rounds:
        heapq.heapreplace(ends, ends[0] + n)
    return max(ends, default=0)
