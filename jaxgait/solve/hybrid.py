"""Event-driven integration of hybrid mechanisms: phases, guards and resets, with many events in one compiled call.

Any explicit solver of diffrax or one of `jaxgait.solve.rosenbrock`, with any step-size controller, integrates a segment
until a guard changes sign within a step. The event is located to rounding by repeating that step with other lengths (no
interpolation error); then the state is reset and the next segment begins. The number of events is bounded, so that
everything can be jitted, vmapped and differentiated (in reverse mode with checkpoints, see `EventDriven.mode`).

Derivatives of states and event times are exact (saltation): after location, one Newton step in time

    dt = -g(t, y) / (dg/dt + dg/dy f),      t <- t + dt,      y <- y + f dt

changes values only by rounding errors, but its derivative is that of the event time as an implicit function. The end
time is an event like any other. Only first derivatives are exact, and a guard that touches zero without crossing it has
none. The vector field must be smooth across the guards of its phase: a law that switches at the guard, such as
``max(depth, 0)``, makes gradients wrong in the third digit. Use one without a switch
(`jaxgait.mechanics.contact.LinearSpring`): within a phase none is needed.

A guard fires when it falls from above zero. One that is zero (to rounding) at the start of a run or just after an
event fires again only after it has been positive in between. Guards that fall through zero together fire one after the
other at the same instant, in the order of declaration and whatever the resets before do to the motion, unless one
moves them away from zero; the end of the run comes last. A run that starts where the guard of a transition that ends
it is armed and negative is over at its start, without an event. Rounding is that of a step: the square root of the
precision, relative to the length of the step.

A guard that rises from zero at an event and falls again within the next step (a ball about to come to rest) is found by
halving the step. Otherwise two zeros of one guard within a single step cancel and are missed: the longest step must
resolve the events. A run ends when its events follow each other too quickly to be resolved (`Outcome.EVENTS_CROWDED`);
so does one that reaches its limit of events with these so close that no higher limit would help. It also ends where an
event stops a guard at zero (a landing without rebound) or turns it there (the way back from a phase that begins with an
acceleration back; a second event at one instant that undoes what the first did), and the guard then falls: it would
fire at once, without end. A guard that falls both before and after the event has been passed, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import diffrax
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxgait.kinds import HybridModel, check_kind
from jaxgait.model import Model, Scalar, State
from jaxgait.outcome import Outcome
from jaxgait.precision import Precision, float64_default, in_force
from jaxgait.run import Events, Sampling, Trajectory
from jaxgait.scheme import Mode, Scheme
from jaxgait.solve.checks import check_model, check_state, check_transitions
from jaxgait.solve.rosenbrock import Ros4
from jaxgait.solve.samples import SampleRecorder
from jaxgait.solve.segments import Engine
from jaxgait.solve.solvers import (
    check_resolved,
    check_solver,
    check_tolerances,
    given_options,
    numerics_of,
    tolerances,
)
from jaxgait.solve.steps import start_state
from jaxgait.solve.time_resolution import Resolving
from jaxgait.support import checks
from jaxgait.support.units import seconds

_ADAPTIVE = {"rtol", "atol", "max_step"}
"""Options of adaptive steps."""
_CROWDED = 1e-5
"""Fraction of the first step in which no more than one event is expected, on average."""
LONGEST_REVERSE = 4096
"""Largest number of steps per segment in reverse mode."""
_SCAN_KINDS: dict[Mode, str] = {"forward": "lax", "reverse": "checkpointed"}
"""Loops within explicit solvers of diffrax that derivatives go through."""


@float64_default
@dataclass(frozen=True)
class EventDriven(Scheme):
    """Integrates a model through smooth phases, from event to event; events are located exactly.

    Examples:
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.solve.hybrid import EventDriven
        >>> scheme = EventDriven.of(RollingWalker(), max_events=20)
        >>> print(scheme.max_events, scheme.mode, scheme.in_mode("reverse").mode)
        20 forward reverse
    """

    solver: diffrax.AbstractSolver = field(default_factory=lambda: diffrax.Dopri8(scan_kind="lax"))
    """Explicit solvers of diffrax need `scan_kind="lax"` for forward-mode derivatives, "checkpointed" for reverse."""
    controller: diffrax.AbstractStepSizeController | None = None
    """Step-size controller; None: one for `rtol`, `atol` and `max_step`, or constant steps without tolerances."""
    dt: float = 1e-2
    """Length in s of the first step, or of every step if the step size is constant."""
    max_steps: int = 4096
    """Number of steps between two events after which a trajectory is given up."""
    max_events: int = 1000
    """Events of a trajectory; one that has more is given up."""
    iterations: int = 8
    """Safeguarded secant iterations that locate an event within its step."""
    mode: Mode = "forward"
    """Which derivatives go through."""
    rtol: float | None = None
    """Relative tolerance of adaptive steps; None, with `atol` None: constant steps."""
    atol: float | None = None
    """Absolute tolerance, in the units of the state."""
    max_step: float | None = None
    """Longest step in s, which must resolve the events; also of a `controller` without a limit (`dtmax`) of its own."""

    kind: ClassVar[type] = HybridModel
    needs: ClassVar[str] = "phases and transitions, phases() and transitions()"
    exact_ends: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            ValueError: naming the invalid option; for a solver that reverse mode cannot differentiate.
        """
        super().__post_init__()
        checks.positive("dt", self.dt, "seconds")
        check_tolerances(self)
        self._check_steps()
        for name in ("max_steps", "max_events", "iterations"):
            checks.count(name, getattr(self, name))
        if self.mode == "reverse" and getattr(self.solver, "scan_kind", None) == "lax":
            raise ValueError(
                'reverse mode does not go through a solver with scan_kind="lax": give the scheme a solver such as '
                'diffrax.Dopri8(scan_kind="checkpointed")'
            )

    def _check_steps(self) -> None:
        check_solver(self.solver, adaptive=False)
        inner = getattr(self.solver, "solver", self.solver)
        if isinstance(inner, diffrax.AbstractImplicitSolver | diffrax.LeapfrogMidpoint):
            other = "give one such as Tsit5 or, if the motion is stiff, Rodas4"
            raise ValueError(f"solver {type(inner).__name__} does not suit single steps up to events: {other}")
        if self.controller is not None and (self.rtol is not None or self.atol is not None):
            raise ValueError("rtol and atol are those of the controller, if one is given: leave them out")
        if (self.rtol is None) != (self.atol is None):
            raise ValueError("rtol and atol belong together: give both, or EventDriven.of(model, rtol=...)")
        if self.rtol is not None and not isinstance(self.solver, diffrax.AbstractAdaptiveSolver):
            what = f"{type(self.solver).__name__} takes constant steps: give dt"
            raise ValueError(f"rtol, atol and max_step need a solver that estimates its error, such as Tsit5; {what}")
        if self.max_step is not None and self.rtol is None and self.controller is None:
            raise ValueError("max_step limits adaptive steps: give rtol and atol, or dt alone for constant steps")

    @classmethod
    def of(
        cls, model: Any, *, differentiated: bool = False, precision: Precision | None = None, **options: Any
    ) -> EventDriven:
        """See `Scheme.of`; adaptive steps with the tolerances of the model's `numerics`, constant ones with `dt` alone.

        Steps are at most as long as the model's `max_step`, or 10 ms, to resolve its events; your own `max_step`, or
        the `dtmax` of your controller, takes its place.

        A stiff model gets a linearly implicit solver: explicit steps would have to resolve its fastest motion, and
        their derivatives overflow long before their values do.
        """
        hints = numerics_of(model)
        longest = min(cls.dt, hints.max_step or cls.dt)
        if hints.stiff:
            solver = Ros4(pivoting=False, unrolled=not differentiated)
            chosen = cls(solver, dt=hints.first_step, max_steps=hints.max_steps)
        else:
            chosen = cls(dt=longest, max_steps=hints.max_steps)
        given, kind = given_options(options, model), precision or in_force()
        adaptive = isinstance(given.get("solver", chosen.solver), diffrax.AbstractAdaptiveSolver)
        if "controller" in given:
            given = {"max_step": longest, **given}
        elif _ADAPTIVE & given.keys() or (adaptive and "dt" not in given):
            rtol, atol = tolerances(hints, kind)
            given = {"rtol": rtol, "atol": atol, "max_step": longest, **given}
        chosen = replace(chosen, **given)
        chosen.check_precision(kind)
        return chosen

    def check_precision(self, precision: str) -> None:
        """Checks that `rtol`, if any, is above rounding errors; see `Scheme.check_precision`.

        Examples:
            >>> from jaxgait import RollingWalker
            >>> from jaxgait.solve.hybrid import EventDriven
            >>> EventDriven.of(RollingWalker(), rtol=1e-9).check_precision("float64")
        """
        if self.rtol is not None:
            check_resolved(self.rtol, precision)

    @property
    def first_step(self) -> Scalar:
        """Length in s of the first step after each event: `dt`, or the longest step if that is shorter; maybe traced.

        Examples:
            >>> from jaxgait import RollingWalker
            >>> from jaxgait.solve.hybrid import EventDriven
            >>> print(EventDriven.of(RollingWalker(), max_step=1e-3).first_step)  # s
            0.001
        """
        longest = _longest(self.control)
        return self.dt if longest is None else jnp.minimum(self.dt, longest)

    @property
    def control(self) -> diffrax.AbstractStepSizeController:
        """The step-size controller in use, with the longest step.

        Examples:
            >>> from jaxgait import RollingWalker
            >>> from jaxgait.solve.hybrid import EventDriven
            >>> EventDriven.of(RollingWalker(), rtol=1e-9, max_step=5e-3).control.dtmax  # s
            0.005
        """
        if self.controller is None:
            if self.rtol is None or self.atol is None:
                return diffrax.ConstantStepSize()
            return Resolving(self.rtol, self.atol, dtmax=self.max_step)
        return _limited(self.controller, self.max_step)

    def event_names(self, model: Any) -> tuple[str, ...]:
        """Names of the model's transitions."""
        return tuple(model.transitions())

    def in_mode(self, mode: Mode) -> EventDriven:
        """The scheme for one mode of differentiation; each mode needs its own loop within the solver.

        Reverse mode takes `LONGEST_REVERSE` steps between two events at most.
        """
        solver: Any = self.solver
        if getattr(solver, "scan_kind", None) in _SCAN_KINDS.values():
            solver = replace(solver, scan_kind=_SCAN_KINDS[mode])
        longest = self.max_steps if mode in (self.mode, "forward") else LONGEST_REVERSE
        return replace(self, mode=mode, solver=solver, max_steps=min(self.max_steps, longest))

    def run(
        self,
        model: Any,
        sampling: Sampling,
        y0: State | None = None,
        *,
        watch: tuple[str, ...] = (),
        progress: bool = False,
    ) -> Trajectory:
        """See `Scheme.run`; the trajectory's events are the model's transitions, including those that end it.

        Raises:
            ValueError: for a model whose `terminations` are not the transitions that end it.
        """
        del progress
        _check_ends(model)
        ts = sampling.times(model)
        recorder = SampleRecorder(model, ts, watch, self.mode)
        found = Engine(model, ts[-1], self, recorder).trajectory(start_state(model, y0))
        limited = (found.status == Outcome.EVENT_LIMIT) & self._crowds(found.events)
        return found._replace(status=jnp.where(limited, jnp.int32(Outcome.EVENTS_CROWDED), found.status))

    def _crowds(self, events: Events | None) -> Bool[Array, ""]:
        """Whether the events of a run that reached their limit are so close at last that no higher limit would help.

        Each transition may happen once at an instant: fewer events than transitions show nothing.
        """
        last = self.max_events // 2
        if events is None or last <= len(events.names):
            return jnp.asarray(False)
        return events.t[-1] - events.t[-1 - last] <= last * _CROWDED * self.first_step


class HybridSolution(NamedTuple):
    """Events and end of a hybrid trajectory; the leading axis `events` is padded with NaN after the last event."""

    ts: Float[Array, " events"]
    """Times in s of the events."""
    transitions: Int[Array, " events"]
    """Numbers of the transitions, in the order of the model; -1: none."""
    before: Any
    after: Any
    t_end: Float[Array, ""]
    y_end: Any
    phase: Int[Array, ""]
    """Phase at the end."""
    count: Int[Array, ""]
    """Number of events that were recorded."""
    status: Int[Array, ""]
    """A code of `jaxgait.outcome`: `COMPLETED` at the end time, `EVENT_LIMIT` if it could continue."""


@float64_default
def hybrid(
    model: HybridModel,
    *,
    events: int,
    t_end: Scalar,
    y0: State | None = None,
    phase: int | Int[Array, ""] = 0,
    t0: Scalar = 0.0,
    scheme: EventDriven | None = None,
    counted: Sequence[str] | None = None,
) -> HybridSolution:
    """Solves a hybrid mechanism through a bounded number of events.

    Args:
        model: phases and transitions; its leaves may be traced.
        events: largest number of events to record; the solution stops there.
        t_end: end time in s, after `t0`; if a traced one is not, the trajectory ends immediately, with the status of a
            non-finite state.
        y0: state at `t0`; the model's own if None.
        phase: phase at `t0`.
        t0: start time in s.
        scheme: solver and step sizes; those that suit the model if None (`EventDriven.of`).
        counted: names of the only transitions to record, such as the heel strike of a walker with a clock, or an empty
            list; up to the `max_events` of the scheme may happen in all, and the solution stops at the next one, which
            is not recorded. None: all.

    Raises:
        TypeError: for a model without phases and transitions, for another scheme, and for names that are not a list.
        ValueError: for unknown names, impossible counts, times, states and phases (unless they are traced), for
            transitions between phases that the model does not have, and for terminations that are not transitions.
        jaxgait.parameters.ParameterError: for impossible parameters, and for several values of one.

    Examples:
        >>> from typing import NamedTuple
        >>> from jaxgait.kinds import Transition
        >>> from jaxgait.solve.hybrid import hybrid
        >>> class Ball(NamedTuple):
        ...     z: float
        ...     v: float
        >>> class Bouncing:  # dropped from 1.25 m under 10 m/s^2; it returns with 8/10 of its speed
        ...     def initial_state(self):
        ...         return Ball(1.25, 0.0)
        ...     def phases(self):
        ...         return [lambda t, y: Ball(y.v, -10.0)]
        ...     def transitions(self):
        ...         bounce = lambda t, y: Ball(0.0 * y.z, -0.8 * y.v)
        ...         return {"bounce": Transition(0, 0, guard=lambda t, y: y.z, reset=bounce)}
        >>> found = hybrid(Bouncing(), events=2, t_end=2.0)
        >>> print(found.ts.round(6), found.after.v.round(6))  # s: 0.5, and 2 * 4 / 10 later; m/s
        [0.5 1.3] [4.  3.2]
    """
    t0, t_end = seconds("t0", t0), seconds("t_end", t_end)
    y0 = _checked(model, events, t_end, y0, phase, t0)
    if scheme is not None:
        checks.of_class("scheme", scheme, EventDriven, "such as EventDriven.of(model, rtol=1e-9)")
    if isinstance(counted, str) or not isinstance(counted, Sequence | None):
        raise TypeError(f"counted must be a list of names of transitions, got {checks.shown(counted)}")
    for name in counted or ():
        checks.one_of("counted", name, model.transitions())
    chosen = EventDriven.of(model) if scheme is None else scheme
    engine = Engine(model, jnp.asarray(t_end, dtype=float), chosen)
    t, y = jnp.asarray(t0, dtype=float), start_state(model, y0)
    start = engine.start(t, y, jnp.asarray(phase, jnp.int32))
    kinds = [list(engine.names).index(name) for name in (engine.names if counted is None else counted)]
    others = counted is not None and any(not tr.ends and n not in counted for n, tr in model.transitions().items())
    limit = chosen.max_events if others else events
    end, found, count, _ = engine.run(start, events, limit, kinds)
    return HybridSolution(found.t, found.kind, found.before, found.after, end.t, end.y, end.phase, count, end.status)


def _checked(model: Any, events: Any, t_end: Any, y0: Any, phase: Any, t0: Any) -> State:
    """The initial state, after checks of all arguments of `hybrid` that are not traced."""
    check_kind(model, HybridModel, "phases and transitions, such as RollingWalker()")
    check_model(model)
    checks.count("events", events)
    checks.number("t0", t0, "s")
    checks.number("t_end", t_end, "s")
    if checks.is_concrete((t0, t_end)) and not t_end > t0:
        raise ValueError(f"t_end must be later than t0 = {t0:g} s, got {t_end:g} s")
    own = model.initial_state()
    check_state("y0", own if y0 is None else y0, own)
    check_transitions(model)
    phases = len(model.phases())
    if checks.is_concrete(phase) and checks.count("phase", phase, least=0) >= phases:
        raise ValueError(f"phase must be one of the model's {phases}, 0 to {phases - 1}, got {phase}")
    if isinstance(model, Model):
        _check_ends(model)
    return own if y0 is None else y0


def _check_ends(model: Any) -> None:
    """Checks that a model's terminations are the transitions that end it."""
    ends, wanted = [n for n, one in model.transitions().items() if one.ends], list(model.terminations())
    if ends != wanted:
        raise ValueError(
            f"{type(model).__name__} by EventDriven ends at its transitions with ends=True, {ends}, not at its "
            f"terminations {wanted}: make them transitions, or choose another scheme"
        )


def _limited(control: Any, longest: Any) -> Any:
    """A controller whose steps are at most `longest`, in s, unless it has a limit of its own; also within wrappers."""
    inner = getattr(control, "controller", None)
    if isinstance(inner, diffrax.AbstractStepSizeController):
        return eqx.tree_at(lambda c: c.controller, control, _limited(inner, longest))
    unlimited = isinstance(control, diffrax.PIDController) and control.dtmax is None
    return replace(control, dtmax=longest) if unlimited else control


def _longest(control: Any) -> Any:
    """The longest step in s of a controller, also of one within wrappers; None if it has no limit."""
    inner = getattr(control, "controller", None)
    return getattr(control, "dtmax", None) if inner is None else _longest(inner)
