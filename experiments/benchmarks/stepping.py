"""Dr.Jit and ours on the same program: a fixed number of Runge-Kutta steps, the loop inside the kernel.

    pip install drjit
    python -m experiments.benchmarks.stepping

Lorenz's equations over a range of rho, RK4, float64, processor time in one process; runs take turns. Dr.Jit makes one
kernel of the loop by a libLLVM that must be on the system, for as wide vectors as the processor has, and spreads it
over threads, whose times are added. https://drjit.readthedocs.io/
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision
from jaxgait.native import looped, native

from .lorenz import field
from .peers import PROBLEMS, in_turn
from .rows import Row, Target, announce, row, table

MEMBERS, STEPS, STEP, REPEATS = 4096, 1000, 0.01, 5


def rk4(y: Sequence[Any], rho: Any) -> list[Any]:
    """The state after a step of the classical Runge-Kutta method."""
    moved = lambda k, h: [a + h * b for a, b in zip(y, k, strict=True)]
    k1 = field(None, y, rho)
    k2 = field(None, moved(k1, 0.5 * STEP), rho)
    k3 = field(None, moved(k2, 0.5 * STEP), rho)
    k4 = field(None, moved(k3, STEP), rho)
    total = [a + 2.0 * b + 2.0 * c + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
    return moved(total, STEP / 6.0)


def ours(steps: int) -> Callable[[jax.Array], Any]:
    """Final states of all members, as a function of their values of rho."""

    def one(rho: jax.Array) -> Any:
        start = (jnp.int32(0), *(jnp.asarray(x, rho.dtype) for x in PROBLEMS["Lorenz"].y0))
        return jax.lax.while_loop(lambda c: c[0] < steps, lambda c: (c[0] + 1, *rk4(c[1:], rho)), start)[1:]

    return jax.jit(native(jax.vmap(looped(one))))


def theirs(steps: int) -> Callable[[np.ndarray], Any]:
    """The same by Dr.Jit."""
    import drjit as dr  # type: ignore[import-not-found]
    from drjit.llvm import Float64, Int32  # type: ignore[import-not-found]

    def run(values: np.ndarray) -> Any:
        rho = Float64(values)
        start = (Int32(0), *(dr.full(Float64, x, len(values)) for x in PROBLEMS["Lorenz"].y0), rho)
        body = lambda i, x, y, z, rho: (i + 1, *rk4((x, y, z), rho), rho)
        ends = dr.while_loop(start, lambda i, *_: i < steps, body, mode="symbolic")[1:4]
        dr.eval(*ends)
        dr.sync_thread()
        return [np.array(end) for end in ends]

    return run


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """A row for each code, and ours over theirs."""
    members, repeats = (256, 1) if quick else (MEMBERS, REPEATS)
    values = np.linspace(*PROBLEMS["Lorenz"].parameters, members)
    with precision.use("float64"):
        run, given = ours(STEPS), jnp.asarray(values)
        runs: dict[str, Callable[[], Any]] = {"jaxgait": lambda: jax.block_until_ready(run(given))}
        there = importlib.util.find_spec("drjit") is not None
        if there:
            other = theirs(STEPS)
            runs["Dr.Jit"] = lambda: other(values)
        announce(f"Lorenz by RK4: {len(runs)} codes")
        timings = in_turn(runs, repeats)
    reference = np.stack([np.asarray(x) for x in timings["jaxgait"].result])
    rows = []
    for code, timing in timings.items():
        error = np.abs(np.stack([np.asarray(x) for x in timing.result]) - reference).max(axis=0)
        details = dict(problem="Lorenz", code=code, method="RK4", members=members, work=f"{STEPS} steps")
        rows.append(row(timing, **details, steps=members * STEPS, error=error))  # type: ignore[arg-type]
    cost = {r.code: r.cpu_min_s for r in rows}
    measured = cost["jaxgait"] / cost["Dr.Jit"] if there else None
    note = "" if there else "drjit is not installed"
    what = "Lorenz by RK4: jaxgait over Dr.Jit, CPU time"
    return rows, [Target(what, 1.0, measured, True, note, not quick, promised=True)]


if __name__ == "__main__":
    print(table(*measure(False)))
