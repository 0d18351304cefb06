"""What a benchmark measures: one row per method, with its time and its error; and targets, met or not."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import diffrax
import jax
import numpy as np


@dataclass
class Timing:
    """Wall and processor time in s of the repeats of one program, compilation apart."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    compile: float | None = None
    result: Any = None

    @property
    def cpu_min(self) -> float:
        """Processor time of the best repeat: what one core needs, also on a busy machine."""
        return min(self.cpu)


@dataclass
class Row:
    """One work-precision point."""

    problem: str
    code: str
    method: str
    members: int
    work: str
    """What each member computes, e.g. "1 stride, rtol 1e-05"."""
    wall_min_s: float
    wall_median_s: float
    cpu_min_s: float
    compile_s: float | None
    steps: int | None
    """Steps taken by all members."""
    error: float | None
    """Median over the members of the error at the end against a tight reference; unit of the state."""

    @property
    def cpu_ms_per_member(self) -> float:
        """Processor time in ms of one member."""
        return 1e3 * self.cpu_min_s / self.members

    def as_dict(self) -> dict[str, Any]:
        """For the JSON file."""
        rates = {"trajectories_per_s": self.members / self.wall_min_s, "cpu_ms_per_member": self.cpu_ms_per_member}
        if self.steps:
            rates["trajectory_steps_per_cpu_s"] = self.steps / self.cpu_min_s
        return {**self.__dict__, **rates}


@dataclass
class Target:
    """A ratio or a time that was promised. Met or not, it is shown."""

    what: str
    target: float
    measured: float | None
    at_most: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """None if it was not measured."""
        if self.measured is None:
            return None
        return self.measured <= self.target if self.at_most else self.measured >= self.target

    def as_dict(self) -> dict[str, Any]:
        """For the JSON file."""
        return {
            "what": self.what,
            "target": self.target,
            "measured": self.measured,
            "met": self.met,
            "bound": "at most" if self.at_most else "at least",
            "note": self.note,
        }


class Program:
    """A function compiled for given arguments, with the seconds that took."""

    def __init__(self, function: Callable[..., Any], *args: Any, options: dict[str, Any] | None = None):
        begin = time.perf_counter()
        self._run = jax.jit(function, compiler_options=options).lower(*args).compile()
        self.compile = time.perf_counter() - begin

    def time(self, *args: Any, repeats: int = 3) -> Timing:
        """Runs it `repeats` times, each time to the end."""
        timing = Timing(compile=self.compile)
        for _ in range(repeats):
            timing.result = clocked(timing, lambda: jax.block_until_ready(self._run(*args)))
        return timing


def timed(function: Callable[..., Any], *args: Any, repeats: int = 3, options: dict[str, Any] | None = None) -> Timing:
    """Compiles a function once and runs it `repeats` times, each time to the end."""
    return Program(function, *args, options=options).time(*args, repeats=repeats)


def clocked(timing: Timing, run: Callable[[], Any]) -> Any:
    """Runs something once and adds its times to `timing`."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    timing.wall.append(time.perf_counter() - wall)
    timing.cpu.append(time.process_time() - cpu)
    return result


def row(
    timing: Timing, *, problem: str, code: str, method: str, members: int, work: str, steps: int | None, error: Any
) -> Row:
    """A row from the repeats of one program."""
    return Row(
        *(problem, code, method, members, work),
        wall_min_s=min(timing.wall),
        wall_median_s=statistics.median(timing.wall),
        cpu_min_s=timing.cpu_min,
        compile_s=timing.compile,
        steps=steps,
        error=None if error is None else float(np.median(error)),
    )


def table(rows: list[Row], targets: list[Target]) -> str:
    """Rows and targets as aligned text."""
    lines = [
        f"{'problem':10} {'code':10} {'method':26} {'members':>8} {'work':22} {'CPU ms/member':>13} {'traj/s':>9} "
        f"{'steps/CPU s':>11} {'compile s':>9} {'error':>8}"
    ]
    for r in rows:
        rate = f"{r.steps / r.cpu_min_s:.2e}" if r.steps else ""
        compiled = f"{r.compile_s:.1f}" if r.compile_s is not None else ""
        error = f"{r.error:.1e}" if r.error is not None else ""
        lines.append(
            f"{r.problem:10} {r.code:10} {r.method:26} {r.members:8d} {r.work:22} {r.cpu_ms_per_member:13.4g} "
            f"{r.members / r.wall_min_s:9.3g} {rate:>11} {compiled:>9} {error:>8}"
        )
    lines += [] if not targets else ["", f"{'target':72} {'wanted':>12} {'measured':>10}  met"]
    for t in targets:
        wanted = f"{'<=' if t.at_most else '>='} {t.target:g}"
        measured = "" if t.measured is None else f"{t.measured:.3g}"
        met = {True: "yes", False: "NO", None: "not measured"}[t.met]
        lines.append(f"{t.what:72} {wanted:>12} {measured:>10}  {met}{'  ' + t.note if t.note else ''}")
    return "\n".join(lines)


def last(solution: diffrax.Solution) -> Any:
    """The final state of a solution saved at its end."""
    return jax.tree.map(lambda x: x[0], solution.ys)
