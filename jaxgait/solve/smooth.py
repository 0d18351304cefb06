"""Smooth motion: one trajectory along a vector field, as a pure function.

`integrate` may be jitted, vmapped over models or initial states, and differentiated with respect to the model, with
`jax.jacfwd` in forward mode (the default) or `jax.grad` with `Smooth.of(model, mode="reverse")`. A failed
trajectory raises no error: its status is a code (see `jaxgait.outcome`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxgait.kinds import SmoothModel, check_kind
from jaxgait.model import Model, State
from jaxgait.native.primitives import assuming_finite
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.precision import Precision, float64_default, in_force
from jaxgait.run import Sampling, Trajectory
from jaxgait.scheme import Mode, Retry, Scheme
from jaxgait.solve.checks import check_state
from jaxgait.solve.derivatives import first_or_nan, forward_only, nan_if_missing, reverse_only
from jaxgait.solve.rosenbrock import AbstractRosenbrock, Rodas4, Ros4
from jaxgait.solve.solvers import (
    as_solver,
    check_resolved,
    check_solver,
    check_tolerances,
    given_options,
    numerics_of,
    tolerances,
)
from jaxgait.solve.step_monitor import Watching, located
from jaxgait.solve.steps import all_finite, start_state
from jaxgait.solve.time_resolution import Resolving, resolution
from jaxgait.support import checks
from jaxgait.support.units import seconds

STIFF_RETRY = "stiff solver"
"""Name of the retry of members that failed in explicit steps."""
FLOAT64_RETRY = "float64"
"""Name of the last retry of members that failed in float32."""

_TIGHTER, _LEAST_RETRY_RTOL = 1e-2, 100
"""Factor of the tolerances in a retry, and the smallest relative one, in units of the rounding error."""

LEAST_STEPS = 200
"""Least number of steps of a run, unless its longest step is given, or so many are not allowed. Only the errors of the
values decide on a step, and a mechanism at rest has none: a load that begins during a long step would be missed,
and a derivative along a direction in which the motion is at rest (the lateral modes of a planar gait) would be wrong at
any tolerance."""

MAX_EVENTS = 1000
"""Largest number of events of a run to record, unless another is given."""
REDUNDANT_CHECKS = ("Must have (t1 - t0) * dt0 >= 0", "saveat.ts must")
"""Messages of checks of diffrax that `integrate` makes superfluous: impossible times end the run with a status."""


@float64_default
@dataclass(frozen=True)
class Smooth(Scheme):
    """Integrates a model's vector field by a solver of diffrax that estimates its error, with adaptive steps.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.solve.smooth import Smooth
        >>> scheme = Smooth.of(Bungee(), solver="Dopri8", rtol=1e-9)
        >>> scheme.rtol, scheme.atol  # the defaults suit the model
        (1e-09, 1e-10)
        >>> [retry.name for retry in scheme.retries("float64")]  # how `ensemble` retries members that fail
        ['tighter tolerance', 'stiff solver']
    """

    solver: diffrax.AbstractSolver
    rtol: float
    atol: float
    """Absolute tolerance, in the units of the state."""
    first_step: float
    """First step in s."""
    max_step: float | None
    """Longest step in s; None: a two-hundredth of the run (`LEAST_STEPS`)."""
    max_steps: int
    """Number of steps after which a trajectory is given up."""
    mode: Mode = "forward"
    """Mode of differentiation: forward (few parameters, no memory of the path; second derivatives by
    `jax.jacfwd(jax.jacfwd(f))`) or reverse (many; first derivatives only)."""
    max_events: int = 0
    """Largest number of the model's events (`Model.events`) that are recorded; `simulate` records 1000. They have
    first derivatives only; their second ones are NaN."""

    kind: ClassVar[type] = SmoothModel
    needs: ClassVar[str] = "a vector field, vector_field(t, y)"

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            ValueError: naming the invalid option and what would be valid.
        """
        super().__post_init__()
        check_solver(self.solver, adaptive=True)
        check_tolerances(self)
        checks.count("max_steps", self.max_steps)
        checks.count("max_events", self.max_events, least=0)
        checks.one_of("mode", self.mode, ("forward", "reverse"))

    @classmethod
    def of(
        cls, model: Model, *, differentiated: bool = False, precision: Precision | None = None, **options: Any
    ) -> Smooth:
        """Options that suit a model: a linearly implicit solver if it is stiff, otherwise an explicit one.

        Args:
            model: the mechanism, whose `numerics` define stiffness, tolerances and steps.
            differentiated: whether the solve will be differentiated: the stiff solver then keeps the state as an array,
                whose derivatives compile in a fraction of the time.
            precision: of the solve; the one in force if None. Default tolerances stay well above its rounding errors.
            options: any field; None keeps the default. The solver may be given by name (`jaxgait.solve.solvers`).

        Raises:
            ValueError: for unknown solvers, tolerances or steps that are not positive, and relative tolerances below
                rounding errors.
            TypeError: for an unknown field.
        """
        hints = numerics_of(model)
        # A mechanism's matrix I/(gamma h) - J, in coordinates and rates, needs no pivoting.
        explicit = as_solver("Tsit5", unrolled=hints.unrolled)
        solver = Ros4(pivoting=False, unrolled=not differentiated) if hints.stiff else explicit
        kind = in_force() if precision is None else checks.one_of("precision", precision, ("float64", "float32"))
        chosen = cls(solver, *tolerances(hints, kind), hints.first_step, hints.max_step, hints.max_steps)
        chosen = replace(chosen, **given_options(options, model))
        chosen.check_precision(kind)
        return chosen

    def check_precision(self, precision: str) -> None:
        """Checks that `rtol` is above rounding errors; see `Scheme.check_precision`.

        Examples:
            >>> from jaxgait import Bungee
            >>> from jaxgait.solve.smooth import Smooth
            >>> Smooth.of(Bungee(), rtol=1e-10).check_precision("float32")
            Traceback (most recent call last):
                ...
            ValueError: rtol must be at least 3.6e-06 in float32, got 1e-10; ...
        """
        check_resolved(self.rtol, precision)

    def run(
        self,
        model: Model,
        sampling: Sampling,
        y0: State | None = None,
        *,
        watch: tuple[str, ...] = (),
        progress: bool = False,
    ) -> Trajectory:
        """See `Scheme.run` and `integrate`."""
        return integrate(model, sampling.times(model), self, y0, progress, watch)

    def event_names(self, model: Any) -> tuple[str, ...]:
        """Names of the model's guards."""
        return tuple(model.events())

    def retries(self, precision: Precision, reference: Any = None) -> tuple[Retry, ...]:
        """Tighter tolerances, then a stiff solver, then float64, without those that would change nothing."""
        last, found = self, []
        if last.rtol * _TIGHTER >= _LEAST_RETRY_RTOL * float(np.finfo(precision).eps):
            last = replace(last, rtol=last.rtol * _TIGHTER, atol=last.atol * _TIGHTER)
            found.append(Retry("tighter tolerance", last, precision))
        if not isinstance(last.solver, diffrax.AbstractImplicitSolver | AbstractRosenbrock):
            last = replace(last, solver=Rodas4())
            found.append(Retry(STIFF_RETRY, last, precision))
        if precision == "float32":
            tolerances = reference or last
            last = replace(last, rtol=tolerances.rtol, atol=tolerances.atol)
            found.append(Retry(FLOAT64_RETRY, last, "float64"))
        return tuple(found)

    @property
    def copies(self) -> int:
        """Copies for the stages and the dense output."""
        return 40


@float64_default
def integrate(
    model: Model,
    ts: Float[Array, " times"],
    scheme: Smooth | None = None,
    y0: State | None = None,
    progress: bool = False,
    watch: tuple[str, ...] = (),
) -> Trajectory:
    """Integrates a model from `ts[0]` to `ts[-1]` and returns its states at `ts`.

    Args:
        model: the mechanism; its leaves may be traced.
        ts: increasing times in s; if traced ones do not increase, the trajectory ends immediately, with the status of a
            non-finite state.
        scheme: solver, tolerances and steps; those that suit the model if None (`Smooth.of`).
        y0: state at `ts[0]`; the model's own initial state if None.
        progress: whether to draw a progress bar (from compiled code; single runs only).
        watch: outputs or components of the state whose extremes over all accepted steps are recorded.

    Raises:
        TypeError: for a model that is not smooth, and a scheme that is not a `Smooth`, as if times and scheme are
            exchanged.
        ValueError: for times that are not a vector of numbers, or decrease, for an initial state without the structure
            of the model's own, or not finite, unless it is traced, and for an `rtol` below the rounding errors of the
            precision in force.
        jaxgait.parameters.ParameterError: for several values of one parameter.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import Bungee
        >>> from jaxgait.solve.smooth import integrate
        >>> man = Bungee(linear_drag=0.0, quadratic_drag=0.0)
        >>> run = integrate(man, jnp.array([0.0, 1.0, 2.0]))
        >>> print(run.ys.x.round(6), run.ys.v.round(6))  # m and m/s: a free fall from 30 m under 10 m/s^2
        [-30. -25. -10.] [ 0. 10. 20.]
    """
    if not hasattr(model, "vector_field"):
        what = f"{type(model).__name__} has no vector_field(t, y): it is not smooth"
        raise TypeError(f"integrate needs a smooth model, but {what}; simulate(model, ...) runs it by its own scheme")
    check_kind(model, SmoothModel, "a vector field")
    scheme = Smooth.of(model) if scheme is None else scheme
    if not isinstance(scheme, Smooth):
        call = "as in integrate(model, ts, scheme)"
        raise TypeError(f"integrate takes a Smooth scheme after the times, {call}, got {checks.shown(scheme)}")
    scheme.check_precision(in_force())  # it may have been made for another
    ts = _times(ts)
    if y0 is not None and checks.is_concrete(y0):  # tracing the model's own state can take a second
        check_state("y0", y0, jax.eval_shape(model.initial_state))
    ts = jnp.where(jnp.all(ts[1:] >= ts[:-1]), ts, jnp.nan)
    if scheme.mode == "reverse":
        model, ts, y0 = reverse_only((model, ts, y0))
    system = model.prepared()
    start, max_events = start_state(system, y0), scheme.max_events if system.events() else 0
    least = max(1, min(LEAST_STEPS, scheme.max_steps // 2))
    stretch = _stretch(ts)
    longest = (ts[-1] - ts[0]) / least if scheme.max_step is None else scheme.max_step * stretch
    controller: Any = Resolving(scheme.rtol, scheme.atol, dtmax=longest)
    if watches := bool(watch or max_events):
        controller = Watching(controller, watch, max_events, scheme.mode)  # type: ignore[call-arg]
    terminations = system.terminations()

    @assuming_finite  # and traced once, however many times diffrax and the solver evaluate it
    def vector_field(t: Any, y: State, args: Any) -> State:
        return args.vector_field(t, y)

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(vector_field),
        scheme.solver,
        t0=ts[0],
        t1=ts[-1],
        dt0=jnp.maximum(scheme.first_step, resolution(ts[0])) * stretch,
        y0=start,
        args=system,
        saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=ts), diffrax.SubSaveAt(t1=True)], controller_state=watches),
        stepsize_controller=controller,
        max_steps=scheme.max_steps,
        adjoint=diffrax.ForwardMode() if scheme.mode == "forward" else diffrax.RecursiveCheckpointAdjoint(),
        event=diffrax.Event([_condition(c) for c in terminations.values()]) if terminations else None,
        progress_meter=diffrax.TqdmProgressMeter() if progress else diffrax.NoProgressMeter(),
        throw=False,
    )
    return _trajectory(system, solution, ts, start, scheme, bool(watch), bool(max_events))


def _times(ts: Any) -> Float[Array, " times"]:
    """Given times as an array, in s."""
    ts = seconds("ts", ts)
    if np.ndim(ts) != 1 or np.size(ts) == 0 or (checks.is_concrete(ts) and checks.as_array(ts).dtype.kind not in "fiu"):
        what = "a vector of numbers, such as jnp.linspace(0.0, 10.0, 101)"
        raise ValueError(f"ts must be times in s, {what}, got {checks.shown(ts)}")
    if checks.is_concrete(ts) and not (
        np.isfinite(times := checks.as_array(ts).astype(float)).all() and (np.diff(times) >= 0.0).all()
    ):
        raise ValueError(f"ts must be finite times in s that do not decrease, got {checks.shown(ts)}")
    return jnp.asarray(ts)


def _stretch(ts: Float[Array, " times"]) -> Float[Array, ""]:
    """1, with the derivative of the logarithm of the duration: steps in proportion to a duration that varies.

    Their ends are then at the same phases of the motion. At the same times the derivative of the state would grow with
    time, as the phase shifts, and cancel that of the samples' times; its errors would remain.
    """
    duration = ts[-1] - ts[0]
    still = jax.lax.stop_gradient(duration)
    return jnp.where(still > 0.0, duration / jnp.where(still > 0.0, still, 1.0), 1.0)


def _trajectory(
    system: Any, solution: Any, ts: Array, start: State, scheme: Smooth, watched: bool, observed: bool
) -> Trajectory:
    """The trajectory that diffrax solved for, with extremes of what was watched and with events, if observed."""
    ys, y_last = solution.ys
    t_end = solution.ts[1][0]
    y_end = jax.tree.map(lambda leaf: leaf[0], y_last)
    events = located(system, solution.controller_state.crossings, scheme.solver) if observed else None
    events = nan_if_missing(events, y_end, scheme.mode)
    if scheme.mode == "forward":
        ys, t_end, y_end, events = forward_only((ys, t_end, y_end, first_or_nan(events)))
    found = Trajectory(
        ts,
        ys,
        _status(solution, t_end, y_end),
        t_end,
        y_end,
        solution.stats["num_accepted_steps"],
        solution.stats["num_rejected_steps"],
        solution.controller_state.extremes if watched else {},
        events,
    ).until_end()  # where diffrax leaves infinity, as it does at the start of a run that ends at once
    return found._replace(ys=jax.tree.map(lambda leaf, y: leaf.at[0].set(y), found.ys, start))


def _condition(condition: Any) -> Any:
    """A model's termination as a diffrax event; jitted, because diffrax traces it four times."""

    @jax.jit
    def once(t: Any, y: State) -> Any:  # (the method of a model that is traced cannot be hashed)
        return condition(t, y)

    return lambda t, y, args, **_: once(t, y)


def _status(solution: diffrax.Solution, t_end: Array, y_end: State) -> Int[Array, ""]:
    results = diffrax.RESULTS
    finite = all_finite((y_end, t_end))
    code = jnp.where(finite, Outcome.STEP_UNDERFLOW, Outcome.NONFINITE)
    spent = solution.result == results.max_steps_reached
    code = jnp.where(spent & finite, Outcome.MAX_STEPS, code)
    code = jnp.where((solution.result == results.successful) & finite, Outcome.COMPLETED, code)
    for i, fired in enumerate(solution.event_mask or []):
        code = jnp.where(fired & finite, FIRST_TERMINATION + i, code)
    return code.astype(jnp.int32)
