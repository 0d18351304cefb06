"""Loops of one member as kernels over all members, against JAX's own loops: each mechanism, with and without gradients.

Both run in one process and take turns, so that a busy machine slows both. The time of uneven scans is compared with
that of their members if each of them runs in an ensemble of its like, where none waits for another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgait.models import Creeper, Prosthesis, RigidWalker
from jaxgait.native import looped, native
from jaxgait.parameters import parameters
from jaxgait.solve.smooth import REDUNDANT_CHECKS

from .mechanisms import MECHANISMS, SAMPLES, Mechanism, outcome
from .rows import Program, Row, Target, Timing, announce, row

REPEATS = 3
CASES = {name: case for name, case in MECHANISMS.items() if name != "jumper"}  # (which takes XLA minutes to compile)
CASES["rigid walker"] = Mechanism(RigidWalker, (), {"duration": 1.0})
UNEVEN = {
    "knee": (Prosthesis, {"damper.k": (1e4, 4e4, 16), "damper.c": (300.0, 3000.0, 8)}, {"strides": 3}),
    "creeper": (Creeper, {"pads.friction_high": (0.3, 1.0, 128)}, {"strides": 2}),
}
"""Scans whose members take different numbers of steps: model, ranges with their counts, span."""


def kernels(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function over members, its loops as kernels."""
    return native(jax.vmap(looped(function, assured=REDUNDANT_CHECKS)), assured=REDUNDANT_CHECKS)


def side_by_side(function: Callable[[Any], Any], values: Any) -> dict[str, Timing]:
    """Times kernels and XLA alone in turn."""
    programs = {"kernels": Program(kernels(function), values), "XLA alone": Program(jax.vmap(function), values)}
    timings = {name: Timing(compile=p.compile, memory=p.memory) for name, p in programs.items()}
    for _ in range(REPEATS):
        for name, program in programs.items():
            once = program.time(values, repeats=1)
            timings[name].wall += once.wall
            timings[name].cpu += once.cpu
            timings[name].result = once.result
    return timings


def compared(name: str, members: int, count: int) -> list[Row]:
    """Rows of a mechanism: value, or value and `count` derivatives, by kernels and by XLA alone."""
    case = CASES[name]
    model = case.model()
    scanned = case.parameters[0] if case.parameters else next(iter(parameters(model)))
    own = float(parameters(model)[scanned].value)
    values = {scanned: own * jnp.linspace(0.99, 1.01, members) if members > 1 else jnp.asarray([own])}
    method = f"value and {count} derivatives" if count else "value"
    announce(f"{name}: {method}, {members} members")
    timings = side_by_side(outcome(model, case.span, case.parameters[:count]), values)
    work = ", ".join(f"{x:g} {what}" for what, x in case.span.items())
    found = []
    for code, timing in timings.items():
        steps = int(np.sum(np.asarray(timing.result["outcome"]["steps"])))
        details: dict[str, Any] = {"problem": name, "code": f"jaxgait, {code}", "method": method, "work": work}
        found.append(row(timing, **details, members=members, steps=steps, error=None))
    return found


def waiting(name: str, apart: int) -> Target:
    """Time of an uneven scan over that of its members, each in an ensemble of its like.

    The latter is measured for every `apart`-th member and taken in proportion to the steps, rejected ones included, of
    all of them.
    """
    kind, ranges, span = UNEVEN[name]
    announce(f"{name}: an uneven scan")
    axes = np.meshgrid(*(np.linspace(*r) for r in ranges.values()), indexing="ij")
    values = {key: jnp.asarray(x.ravel()) for key, x in zip(ranges, axes, strict=True)}
    program = Program(kernels(outcome(kind(), span)), values)
    ended = program.time(values, repeats=1).result["outcome"]
    rounds = np.asarray(ended["steps"] + ended["rejected_steps"])
    chosen = range(apart // 2, rounds.size, apart)
    whole, alone = [], [[] for _ in chosen]
    for _ in range(REPEATS):
        whole.append(program.time(values, repeats=1).cpu_min)
        for times, i in zip(alone, chosen, strict=True):
            same = {key: jnp.full_like(x, x[i]) for key, x in values.items()}
            times.append(program.time(same, repeats=1).cpu_min)
    expected = sum(min(times) for times in alone) * rounds.mean() / rounds[list(chosen)].sum()
    what = f"{name}, uneven scan: time over that of its members, each among its like, CPU time"
    spread = f"{rounds.size} members, {rounds.min()} to {rounds.max()} steps"
    return Target(what, 1.05, min(whole) / float(expected), True, spread, promised=True)


def recording(name: str, count: int, samples: int) -> Target:
    """Time of a value and `count` derivatives with many samples over that with few, which fit into registers."""
    case = CASES[name]
    announce(f"{name}: value and {count} derivatives in {SAMPLES} and in {samples} samples")
    own = float(parameters(case.model())[case.parameters[0]].value)
    values = {case.parameters[0]: own * jnp.linspace(0.99, 1.01, 256)}
    few, many = (
        Program(kernels(outcome(case.model(), case.span, case.parameters[:count], n)), values)
        for n in (SAMPLES, samples)
    )
    times = [[p.time(values, repeats=1).cpu_min for p in (few, many)] for _ in range(REPEATS)]
    least = np.min(times, axis=0)
    what = f"{name}, value and {count} derivatives: {samples} samples over {SAMPLES}, CPU time"
    return Target(what, 1.25, float(least[1] / least[0]), True, f"{1e3 * least[1] / 256:.3g} ms/member")


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """All mechanisms with up to 8 derivatives, one member of each by itself, and uneven scans."""
    if quick:
        return [*compared("bungee", 32, 0), *compared("bungee", 32, 1)], []
    rows: list[Row] = []
    for name, case in CASES.items():
        rows += compared(name, 1, 0)
        for count in (0, 1, 2, 4, 8):
            if count <= len(case.parameters):
                rows += compared(name, 256, count)
    return rows, [*(waiting(name, 17) for name in UNEVEN), recording("knee", 8, 200)]
