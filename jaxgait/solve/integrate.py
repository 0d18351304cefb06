"""One trajectory, as a pure function: what `simulate`, `ensemble` and the gradients all call.

`integrate` may be jitted, vmapped over models or initial states, and differentiated with respect to the model.
It never raises for a bad trajectory: the outcome is a status code (see `jaxgait.solve.status`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxgait import checks
from jaxgait.model import Model, State
from jaxgait.precision import Precision, float64_default, in_force
from jaxgait.run import Trajectory, blank
from jaxgait.solve import status
from jaxgait.solve.explicit import Tsit5
from jaxgait.solve.resolving import Resolving, resolution
from jaxgait.solve.rosenbrock import Ros4
from jaxgait.solve.watch import Watching

_DEFAULT_RTOL, _DEFAULT_ATOL, _LEAST_RTOL = 1000, 10, 30
"""Default tolerances at least, and the least relative tolerance that can be met, in units of the precision's rounding
error (2.2e-16 or 1.2e-7)."""

ASSURED = ("Must have (t1 - t0) * dt0 >= 0", "saveat.ts must")
"""Messages of diffrax's checks of what `integrate` makes sure of: an impossible time is a status, not an error."""


@dataclass(frozen=True)
class Settings:
    """How a trajectory is integrated. Hashable: a static argument of compiled functions."""

    solver: diffrax.AbstractSolver
    rtol: float
    atol: float
    first_step: float
    """First step in s."""
    max_step: float | None
    """Longest step in s; None: no limit."""
    max_steps: int
    mode: Literal["forward", "reverse"] = "forward"
    """Which gradients go through: forward mode (few parameters; no memory of the path) or reverse (many)."""


@float64_default
def settings_for(
    model: Model, *, differentiated: bool = False, precision: Precision | None = None, **overrides: Any
) -> Settings:
    """Sane settings for a model: a linearly implicit solver if it is stiff, an explicit one otherwise.

    Args:
        model: its `numerics` tell stiffness, tolerances and steps.
        differentiated: whether gradients go through the solve: the stiff solver then keeps the state as an array, whose
            derivatives compile in a fraction of the time.
        precision: of the solve; the one in force if None. Default tolerances keep a distance from its rounding errors.
        overrides: any field of `Settings`; None keeps the default.

    Raises:
        ValueError: for tolerances or steps that are not positive, and relative tolerances below rounding errors.
        TypeError: for an unknown field.
    """
    hints = model.numerics
    # A mechanism's matrix I/(gamma h) - J, in coordinates and rates, needs no pivoting.
    explicit = Tsit5() if hints.unrolled else diffrax.Tsit5()
    solver = Ros4(pivoting=False, unrolled=not differentiated) if hints.stiff else explicit
    kind = in_force() if precision is None else checks.one_of("precision", precision, ("float64", "float32"))
    eps = float(np.finfo(kind).eps)
    rtol, atol = max(hints.rtol, _DEFAULT_RTOL * eps), max(hints.atol, _DEFAULT_ATOL * eps)
    chosen = Settings(solver, rtol, atol, hints.first_step, hints.max_step, hints.max_steps)
    chosen = replace(chosen, **{k: v for k, v in overrides.items() if v is not None})
    _check(chosen)
    if chosen.rtol < _LEAST_RTOL * eps:
        raise ValueError(f"rtol must be at least {_LEAST_RTOL * eps:.1e} in {kind}, got {chosen.rtol:g}")
    return chosen


def _check(settings: Settings) -> None:
    """Holds settings against what a solve can use."""
    if not isinstance(settings.solver, diffrax.AbstractSolver):
        raise ValueError(f"solver must be a diffrax solver such as diffrax.Tsit5(), got {settings.solver!r}")
    checks.positive("rtol", settings.rtol, below=1.0)
    checks.positive("atol", settings.atol)
    checks.positive("first_step", settings.first_step, "seconds")
    if settings.max_step is not None:
        checks.positive("max_step", settings.max_step, "seconds")
    checks.count("max_steps", settings.max_steps)


@float64_default
def integrate(
    model: Model,
    ts: Float[Array, " times"],
    settings: Settings,
    y0: State | None = None,
    progress: bool = False,
    watch: tuple[str, ...] = (),
) -> Trajectory:
    """Integrates a model from `ts[0]` to `ts[-1]` and returns its states at `ts`.

    Args:
        model: the mechanism; its leaves may be traced.
        ts: increasing times in s; a trajectory for any others ends at once, as not finite.
        settings: see `settings_for`.
        y0: state at `ts[0]`; the model's own initial state if None.
        progress: draw a progress bar (from compiled code; for single runs).
        watch: outputs or components of the state whose extremes over all accepted steps are wanted.
    """
    ts = jnp.where(jnp.all(ts[1:] >= ts[:-1]), ts, jnp.nan)
    terminations = model.terminations()
    event = diffrax.Event([_condition(c) for c in terminations.values()]) if terminations else None
    controller: Any = Resolving(settings.rtol, settings.atol, dtmax=settings.max_step)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: args.vector_field(t, y)),
        settings.solver,
        t0=ts[0],
        t1=ts[-1],
        dt0=jnp.maximum(settings.first_step, resolution(ts[0])),
        y0=model.initial_state() if y0 is None else y0,
        args=model.prepared(),
        saveat=diffrax.SaveAt(
            subs=[diffrax.SubSaveAt(ts=ts), diffrax.SubSaveAt(t1=True)], controller_state=bool(watch)
        ),
        stepsize_controller=Watching.of(controller, watch) if watch else controller,
        max_steps=settings.max_steps,
        adjoint=diffrax.ForwardMode() if settings.mode == "forward" else diffrax.RecursiveCheckpointAdjoint(),
        event=event,
        progress_meter=diffrax.TqdmProgressMeter() if progress else diffrax.NoProgressMeter(),
        throw=False,
    )
    saved: Any = solution  # typed as optional: it depends on what is saved
    ys, y_last = saved.ys
    t_end = saved.ts[1][0]
    y_end = jax.tree.map(lambda leaf: leaf[0], y_last)
    ys = jax.tree.map(lambda leaf: blank(leaf, ts <= t_end), ys)  # diffrax leaves infinity there
    return Trajectory(
        ts,
        ys,
        _status(solution, t_end, y_end),
        t_end,
        y_end,
        solution.stats["num_accepted_steps"],
        solution.stats["num_rejected_steps"],
        saved.controller_state.extremes if watch else {},
    )


def _condition(condition: Any) -> Any:
    """A model's termination in the signature of a diffrax event."""
    return lambda t, y, args, **_: condition(t, y)


def _status(solution: diffrax.Solution, t_end: Array, y_end: State) -> Int[Array, ""]:
    results = diffrax.RESULTS
    finite = jnp.array(True)
    for leaf in jax.tree.leaves((y_end, t_end)):
        finite &= jnp.all(jnp.isfinite(leaf))
    outcome = jnp.where(finite, status.STEP_UNDERFLOW, status.NONFINITE)
    outcome = jnp.where(solution.result == results.max_steps_reached, status.MAX_STEPS, outcome)
    outcome = jnp.where((solution.result == results.successful) & finite, status.COMPLETED, outcome)
    for i, fired in enumerate(solution.event_mask or []):
        outcome = jnp.where(fired, status.FIRST_TERMINATION + i, outcome)
    return outcome.astype(jnp.int32)
