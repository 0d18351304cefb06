"""The smooth walker with fixed steps: the same method and the same steps in jaxgait, stock diffrax and C++."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision
from jaxgait.models.walker.round_feet import Generalised, WalkerState
from jaxgait.models.walker.smooth import Walker
from jaxgait.native import looped, native
from jaxgait.parameters import with_parameters
from jaxgait.solve.explicit import RK4, Tsit5

from . import cpp, pool
from .rows import Row, Target, Timing, announce, last, row, timed

STEP = 1e-5
"""Time step in s."""
SLIP_VELOCITY = 0.05
"""Width in m/s of the stick-slip transition: with the default (3e-4) explicit steps are unstable at heel strike."""
Field = Callable[[Any, Any, Any], Any]


def member(slope: Any) -> Walker:
    """The walker on a slope in rad."""
    return with_parameters(precision.cast(Walker()), {"slope": slope, "slip_velocity": SLIP_VELOCITY})


def slopes(members: int) -> jax.Array:
    """The slopes of the C++ program."""
    return jnp.linspace(0.008, 0.012, members)


def array_field(t: Any, y: jax.Array, model: Walker) -> jax.Array:
    """The walker as many would write it: the state an array, the mass matrix an array, `jnp.linalg.solve`."""
    del t
    state = WalkerState(*y)
    inertia, feet = model.inertia_at(y[2], y[3]), model.feet(state)
    load = model._generalised(feet, model.contact_forces(state))
    force = jnp.stack(model.forces(inertia, state)) + jnp.stack(load)
    columns = [inertia.times(Generalised(*column)) for column in jnp.eye(4)]
    M = jnp.stack([jnp.stack(column) for column in columns], axis=1)
    return jnp.concatenate([y[4:], jnp.linalg.solve(M, force)])


def fixed(
    field: Field,
    solver: diffrax.AbstractSolver,
    array: bool,
    steps: int,
    members: int,
    repeats: int,
    step: float = STEP,
) -> Timing:
    """An ensemble with `steps` fixed steps; the result is the final states (members, 8).

    The state is an array, as many would have it, or named scalars, compiled as `ensemble` does.
    """

    def one(slope: Any) -> jax.Array:
        model = member(slope)
        y0 = model.initial_state()
        start = jnp.stack(y0) if array else y0
        solution = diffrax.diffeqsolve(
            *(diffrax.ODETerm(field), solver, 0.0, steps * step, step, start, model),
            stepsize_controller=diffrax.ConstantStepSize(),
            max_steps=steps + 2,
            adjoint=diffrax.ForwardMode(),
            throw=False,
        )
        return last(solution) if array else jnp.stack(last(solution))

    run = jax.vmap(one) if array else native(jax.vmap(looped(one)))
    return timed(run, slopes(members), repeats=repeats)


def hand_written(kind: str, steps: int, members: int, repeats: int) -> Timing:
    """The C++ program ("scalar" or "simd"), on one core."""
    with tempfile.TemporaryDirectory() as folder:
        states = pathlib.Path(folder) / "states"
        timing = cpp.timed("walker", kind, members, steps, repr(STEP), states, repeats=repeats)
        timing.result = np.fromfile(states).reshape(members, 8)
    return timing


def one_by_one() -> pool.Problem:
    """The walker for SciPy; the parameter is the slope."""
    y0 = member(0.01).initial_state()
    field = lambda t, y, slope: pool.flat(member(slope).vector_field, y0)(t, y)
    return field, np.array(y0, dtype=float)


def scipy(method: str, members: int, span: float) -> Timing:
    """SciPy's method with jitted right-hand side, in a pool of processes."""
    return pool.scipy(one_by_one, slopes(members).tolist(), span, method=method, rtol=1e-6, atol=1e-8)


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """All rows of the walker; in a quick run only the same method next to C++."""
    members, few, steps, repeats = (256, 64, 500, 2) if quick else (1024, 256, 2500, 3)
    named = lambda t, y, model: model.vector_field(t, y)
    work = f"{steps} steps of {STEP:g} s"
    rows: dict[tuple[str, str], Row] = {}
    reference = None if quick else fixed(named, Tsit5(), False, 2 * steps, 2, 1, STEP / 2).result

    def add(code: str, method: str, n: int, run: Callable[[], Timing], work: str = work) -> None:
        nonlocal reference
        announce(f"walker: {code}, {method}, {n} members")
        timing = run()
        final, taken = timing.result if isinstance(timing.result, tuple) else (timing.result, n * steps)
        ends = np.asarray(final)[[0, -1]]
        error = None if reference is None else np.abs(ends - np.asarray(reference)).max(axis=1)
        reference = ends if reference is None else reference
        details = dict(problem="walker", code=code, method=method, members=n, work=work)
        rows[code, method] = row(timing, **details, steps=int(np.sum(taken)), error=error)  # type: ignore[arg-type]

    # Without a finer reference (quick), the first row is the one.
    add("jaxgait", "RK4", members, lambda: fixed(named, RK4(), False, steps, members, repeats))
    if not quick:
        add("jaxgait", "Tsit5", members, lambda: fixed(named, Tsit5(), False, steps, members, repeats))
        add("diffrax", "Tsit5, linalg.solve", few, lambda: fixed(array_field, diffrax.Tsit5(), True, steps, few, 1))
    if cpp.compiler():
        for kind in ("simd", "scalar"):
            add("C++", f"RK4, {kind}", members, lambda kind=kind: hand_written(kind, steps, members, repeats))
    if not quick:
        for n in (32, 128, 512):
            add("jaxgait", f"RK4, {n} members", n, lambda n=n: fixed(named, RK4(), False, steps, n, repeats))
        for method in ("LSODA", "DOP853"):
            add("SciPy", f"{method}, in processes", 8, lambda m=method: scipy(m, 8, steps * STEP), "rtol 1e-06")
    return list(rows.values()), _targets(rows)


def _targets(rows: dict[tuple[str, str], Row]) -> list[Target]:
    def ratio(slow: tuple[str, str], fast: tuple[str, str]) -> float | None:
        if slow not in rows or fast not in rows:
            return None
        return rows[slow].cpu_ms_per_member / rows[fast].cpu_ms_per_member

    note = "" if cpp.compiler() else "no g++ on this machine"
    mine, tsit5 = ("jaxgait", "RK4"), ("jaxgait", "Tsit5")
    simd = ratio(mine, ("C++", "RK4, simd"))
    return [
        Target("walker: stock Tsit5 over jaxgait's, CPU time", 20.0, ratio(("diffrax", "Tsit5, linalg.solve"), tsit5)),
        Target("walker: scalar C++ over jaxgait, CPU time", 4.0, ratio(("C++", "RK4, scalar"), mine), note=note),
        Target("walker: jaxgait over SIMD C++, CPU time", 1.1, simd, True, note, promised=True),
    ]
