"""Two threads over one: an ensemble of 1024 members, whose blocks go to as many threads.

    python -m experiments.benchmarks.threads

Runs take turns, and the best of each counts. A control shows whether a second core was available: hashes of the
standard library, by one thread and by two. Where that gains little the target is not judged; the ratio of processor
times still shows what a second thread costs by itself: with blocks of equal work, two free cores are twice that fast.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from jaxgait import ensemble
from jaxgait.models import Bungee

from .rows import Row, Target, Timing, announce, clocked, table

MEMBERS, REPEATS = 1024, 6
FREE = 1.9
"""Gain of the control from which a second core counts as available."""
WHAT = f"two threads over one, {MEMBERS} members (bungee)"


def run(workers: int, members: int, duration: float) -> Any:
    """An ensemble whose members all take about as many steps; blocks are the same for any number of threads."""
    masses = np.linspace(70.0, 71.0, members)
    options = {"duration": duration, "samples": 20, "batch": members // 4, "progress": False}
    return ensemble(Bungee(), {"mass": masses}, workers=workers, **options)


def hashed(workers: int) -> list[bytes]:
    """The control: other work that threads can do at the same time."""
    data = bytes(40_000_000)
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda _: hashlib.sha256(data).digest(), range(8)))


def gains(work: Callable[[int], Any], repeats: int) -> tuple[float, float]:
    """Wall time, and processor time, of one thread over those of two."""
    timings = {workers: Timing() for workers in (1, 2)}
    for _ in range(repeats):
        for workers, timing in timings.items():
            clocked(timing, lambda w=workers: work(w))
    wall, cpu = (min(getattr(timings[1], kind)) / min(getattr(timings[2], kind)) for kind in ("wall", "cpu"))
    return wall, cpu


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """The gain of a second thread, judged where the control gains as much."""
    members, duration, repeats = (256, 500.0, 2) if quick else (MEMBERS, 20_000.0, REPEATS)
    announce(WHAT)
    one, two = run(1, members, duration), run(2, members, duration)
    np.testing.assert_array_equal(one["x_end"], two["x_end"])
    wall, cpu = gains(lambda workers: run(workers, members, duration), repeats)
    control, _ = gains(hashed, repeats)
    note = f"hashes gain {control:.2f}, processor time of one thread over two {cpu:.2f}, gain {wall:.2f}"
    measured = wall if control >= FREE else None
    return [], [Target(WHAT, 1.9, measured, note=note, full_size=not quick, promised=True)]


if __name__ == "__main__":
    print(table(*measure(False)))
