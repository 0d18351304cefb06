"""What a benchmark measures: one row per method, with its time and its error; and targets, met or not."""

from __future__ import annotations

import statistics
import sys
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
    memory: int | None = None
    """Bytes of temporaries and results of the compiled program."""
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
    memory_bytes_per_member: float | None = None
    """Temporaries and results of the compiled program."""

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
    full_size: bool = True
    """Whether it was measured at the size that the target speaks of; a quick run measures smaller ones."""
    promised: bool = False
    """Whether the table of `experiments.benchmarks.targets` shows it."""

    @property
    def met(self) -> bool | None:
        """None if it was not measured, or not at full size: small ensembles and short runs prove nothing."""
        if self.measured is None or not self.full_size:
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
            "full_size": self.full_size,
        }


class Program:
    """A function compiled for given arguments, with the seconds that took."""

    def __init__(self, function: Callable[..., Any], *args: Any):
        begin = time.perf_counter()
        self._run = jax.jit(function).lower(*args).compile()
        self.compile = time.perf_counter() - begin
        analysis = self._run.memory_analysis()
        self.memory = analysis.temp_size_in_bytes + analysis.output_size_in_bytes if analysis is not None else None

    def time(self, *args: Any, repeats: int = 3) -> Timing:
        """Runs it `repeats` times, each time to the end."""
        timing = Timing(compile=self.compile, memory=self.memory)
        for _ in range(repeats):
            timing.result = clocked(timing, lambda: jax.block_until_ready(self._run(*args)))
        return timing


def timed(function: Callable[..., Any], *args: Any, repeats: int = 3) -> Timing:
    """Compiles a function once and runs it `repeats` times, each time to the end."""
    return Program(function, *args).time(*args, repeats=repeats)


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
        memory_bytes_per_member=None if timing.memory is None else timing.memory / members,
    )


HEADINGS = (
    *("problem", "code", "method", "members", "work"),
    *("CPU ms/member", "traj/s", "steps/CPU s", "compile s", "kB/member", "error"),
)
TARGET_HEADINGS = ("target", "wanted", "measured", "met", "note")


def cells(entry: dict[str, Any]) -> tuple[str, ...]:
    """A row (see `Row.as_dict`) as text, under `HEADINGS`."""
    shown = lambda key, spec, scale=1.0: f"{scale * entry[key]:{spec}}" if entry.get(key) is not None else ""
    return (
        *(entry["problem"], entry["code"], entry["method"], str(entry["members"]), entry["work"]),
        *(shown("cpu_ms_per_member", ".4g"), shown("trajectories_per_s", ".3g")),
        *(shown("trajectory_steps_per_cpu_s", ".2e"), shown("compile_s", ".1f")),
        *(shown("memory_bytes_per_member", ".3g", 1e-3), shown("error", ".1e")),
    )


def target_cells(target: dict[str, Any]) -> tuple[str, ...]:
    """A target (see `Target.as_dict`) as text, under `TARGET_HEADINGS`."""
    wanted = f"{'<=' if target['bound'] == 'at most' else '>='} {target['target']:g}"
    measured = "" if target["measured"] is None else f"{target['measured']:.3g}"
    unjudged = "not measured" if target["measured"] is None else "not judged (quick)"
    met = {True: "yes", False: "NO", None: unjudged}[target["met"]]
    return target["what"], wanted, measured, met, target["note"]


def table(rows: list[Row], targets: list[Target]) -> str:
    """Rows and targets as aligned text."""
    parts = [aligned(HEADINGS, [cells(r.as_dict()) for r in rows])] if rows else []
    if targets:
        parts.append(aligned(TARGET_HEADINGS, [target_cells(t.as_dict()) for t in targets]))
    return "\n\n".join(parts)


def aligned(headings: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    """Columns of text, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]
    number = [all(not c or c[0] in "0123456789<>" for c in column) for column in zip(*lines, strict=True)]
    shown = lambda line: "  ".join(
        c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, number, strict=True)
    )
    return "\n".join(shown(line).rstrip() for line in (headings, *lines))


def announce(what: str) -> None:
    """Prints on the standard error stream what is being measured."""
    print(f"[{time.strftime('%H:%M:%S')}] {what}", file=sys.stderr, flush=True)


def last(solution: diffrax.Solution) -> Any:
    """The final state of a solution saved at its end."""
    return jax.tree.map(lambda x: x[0], solution.ys)
