"""Event-driven solves of hybrid mechanisms: phases, guards, resets; many events, in one compiled call.

Each segment is integrated by any diffrax solver and step-size controller until a guard changes sign within a step; the
event is then located to rounding by re-stepping from the start of that step (no interpolation error), the state is
reset and the next segment begins. The number of events is bounded, so that everything can be jitted, vmapped and
differentiated (in reverse mode with checkpoints, see `EventDriven.mode`).

Derivatives of states and event times are exact (saltation): after location, one Newton step in time

    dt = -g(t, y) / (dg/dt + dg/dy f),      t <- t + dt,      y <- y + f dt

changes the values by rounding errors only, but its derivative is that of the event time as an implicit function. The
end time is an event like any other. First derivatives only; a guard that is touched but not crossed has none.
A phase's vector field must be smooth across the guards of that phase: a law that switches just there, such as
``max(depth, 0)``, has any derivative between those of its two sides at the event, and gradients are off in the third
digit. The phase knows on which side it is: use a law without a switch (`jaxgait.mechanics.contact.LinearSpring`).

Two zeros of one guard within a single step cancel and are missed: the longest step must resolve the mechanism's events.

A guard fires when it falls from above zero. One that is zero (to rounding) just after an event is not above it: a
transition without a reset, or whose reset leaves the state on the guard, fires once, and again only after its guard has
been positive in between. Guards that fall through zero together with the one that fired are still due, and fire next at
the same instant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import diffrax
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxgait import checks
from jaxgait.kinds import HybridModel, Transition
from jaxgait.model import Scalar, State
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.precision import Precision, float64_default
from jaxgait.roots import Bracket
from jaxgait.run import Events, Extremes, Sampling, Trajectory, blank, state_variables
from jaxgait.scheme import Mode, Scheme
from jaxgait.solve.checks import check_kind, check_model, check_state

__all__ = ["EventDriven", "HybridSolution", "hybrid"]

POLISHING = 2
"""Newton iterations in time that follow the secants: quadratic, and on one guard where the secants saw several."""
LONGEST_REVERSE = 4096
"""Steps per segment that reverse mode remembers at most."""


@float64_default
@dataclass(frozen=True)
class EventDriven(Scheme):
    """Moves a model through smooth phases, from event to event; events are located exactly."""

    solver: diffrax.AbstractSolver = field(default_factory=lambda: diffrax.Dopri8(scan_kind="lax"))
    """Explicit solvers of diffrax need `scan_kind="lax"` for forward-mode derivatives, "checkpointed" for reverse."""
    controller: diffrax.AbstractStepSizeController = field(default_factory=diffrax.ConstantStepSize)
    dt: float = 1e-2
    """First step in s, and the only one with a constant step size."""
    max_steps: int = 4096
    """Steps per segment between events after which a trajectory is given up."""
    max_events: int = 1000
    """Events after which a trajectory is given up."""
    iterations: int = 8
    """Safeguarded secant iterations that locate an event within its step."""
    mode: Mode = "forward"
    """Which derivatives go through."""

    kind: ClassVar[type] = HybridModel
    needs: ClassVar[str] = "phases and transitions, phases() and transitions()"

    def __post_init__(self) -> None:
        """Holds the options against what a solve can use.

        Raises:
            ValueError: naming the option; for a solver through which reverse mode cannot go.
        """
        checks.positive("dt", self.dt, "seconds")
        for name in ("max_steps", "max_events", "iterations"):
            checks.count(name, getattr(self, name))
        if self.mode == "reverse" and getattr(self.solver, "scan_kind", None) == "lax":
            raise ValueError(
                'reverse mode does not go through a solver with scan_kind="lax": give the scheme a solver such as '
                'diffrax.Dopri8(scan_kind="checkpointed")'
            )

    @classmethod
    def of(
        cls, model: Any, *, differentiated: bool = False, precision: Precision | None = None, **options: Any
    ) -> EventDriven:
        """Constant steps, as long as the model's `numerics` allow, for the defaults; see `Scheme.of`."""
        del differentiated, precision
        hints = model.numerics
        longest = cls.dt if hints.max_step is None else min(cls.dt, hints.max_step)
        chosen = cls(dt=longest, max_steps=hints.max_steps)
        return replace(chosen, **{k: v for k, v in options.items() if v is not None})

    def event_names(self, model: Any) -> tuple[str, ...]:
        """Names of the model's transitions."""
        return tuple(model.transitions())

    def in_mode(self, mode: Mode) -> EventDriven:
        """The same for derivatives in one direction: reverse mode needs another loop within the solver."""
        if mode in (self.mode, "forward"):
            return replace(self, mode=mode)
        solver = _with_checkpoints(self.solver)
        return replace(self, mode=mode, solver=solver, max_steps=min(self.max_steps, LONGEST_REVERSE))

    def run(
        self,
        model: Any,
        sampling: Sampling,
        y0: State | None = None,
        *,
        watch: tuple[str, ...] = (),
        progress: bool = False,
    ) -> Trajectory:
        """See `Scheme.run`; the trajectory's events are the model's transitions, those that end it included."""
        del progress
        ts = sampling.times(model)
        start = jax.tree.map(lambda z: jnp.asarray(z, dtype=float), model.initial_state() if y0 is None else y0)
        return _Engine(model, ts[-1], self, 0, _Samples(model, ts, watch)).trajectory(start)


def _with_checkpoints(solver: Any) -> Any:
    """An explicit solver of diffrax with the loop that reverse mode needs; any other solver as it is."""
    return type(solver)(scan_kind="checkpointed") if getattr(solver, "scan_kind", None) == "lax" else solver


class HybridSolution(NamedTuple):
    """Events and end of a hybrid trajectory; the leading axis `events` is padded with NaN after the last event."""

    ts: Float[Array, " events"]
    """Times in s of the events."""
    transitions: Int[Array, " events"]
    """Numbers of the transitions, in the order of the model; -1: none."""
    before: Any
    """States just before the events."""
    after: Any
    """States just after them."""
    samples_t: Float[Array, "events samples"]
    """Times in s of equally spaced samples of each segment, from after the last event to before the next."""
    samples: Any
    """States there."""
    t_end: Float[Array, ""]
    y_end: Any
    phase: Int[Array, ""]
    """Phase at the end."""
    count: Int[Array, ""]
    """How many events happened."""
    status: Int[Array, ""]
    """A code of `jaxgait.outcome`: `COMPLETED` at the end time, `EVENT_LIMIT` after all the events asked for."""


class _Point(NamedTuple):
    """Where a trajectory is between two segments."""

    t: Array
    y: Any
    guards: Float[Array, " guards"]
    """Guard values there, those at zero settled to either side (see `_Engine._settled`)."""
    phase: Int[Array, ""]
    status: Int[Array, ""]
    """-1 while it runs."""
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    seen: Any
    """What was looked at so far; None if only events are wanted."""


class _Event(NamedTuple):
    """A located event, before the jump."""

    t: Array
    y: Any
    fired: Int[Array, ""]
    rates: Float[Array, " guards"]
    """Time derivatives of the guards."""
    located: Bool[Array, ""]
    """Whether its time is exact."""


@float64_default
def hybrid(
    model: HybridModel,
    *,
    events: int,
    t_end: Scalar,
    y0: State | None = None,
    phase: int | Int[Array, ""] = 0,
    t0: Scalar = 0.0,
    samples: int = 0,
    scheme: EventDriven = EventDriven(),
) -> HybridSolution:
    """Solves a hybrid mechanism through a bounded number of events.

    Args:
        model: phases and transitions; its leaves may be traced.
        events: how many events at most.
        t_end: time in s at which it ends in any case.
        y0: state at `t0`; the model's own if None.
        phase: phase at `t0`.
        t0: start in s.
        samples: equally spaced samples to return of each segment (for pictures); none by default.
        scheme: solver, step sizes.

    Raises:
        TypeError: for a model without phases and transitions.
        ValueError: for impossible counts, times, states and phases (as far as they are not traced), and for
            transitions between phases that the model does not have.
        jaxgait.parameters.ParameterError: for impossible parameters.
    """
    y0 = _checked(model, events, t_end, y0, phase, t0, samples)
    engine = _Engine(model, jnp.asarray(t_end, dtype=float), scheme, samples)
    t, y = jnp.asarray(t0, dtype=float), jax.tree.map(lambda z: jnp.asarray(z, dtype=float), y0)
    start = engine.start(t, y, jnp.asarray(phase, jnp.int32))
    end, records = jax.lax.scan(lambda point, _: engine.segment(point), start, length=events)
    ts, transitions, before, after, samples_t, sampled = records
    status = jnp.where(end.status < 0, Outcome.EVENT_LIMIT, end.status)
    count = jnp.sum(transitions >= 0)
    return HybridSolution(ts, transitions, before, after, samples_t, sampled, end.t, end.y, end.phase, count, status)


def _checked(model: Any, events: Any, t_end: Any, y0: Any, phase: Any, t0: Any, samples: Any) -> State:
    """The state at the start, after a look at everything that is not traced; see `hybrid`."""
    check_kind(model, HybridModel, "phases and transitions, such as RollingWalker()")
    check_model(model)
    checks.count("events", events)
    checks.count("samples", samples, least=0)
    checks.number("t0", t0, "s")
    checks.number("t_end", t_end, "s")
    if checks.is_concrete((t0, t_end)) and not t_end > t0:
        raise ValueError(f"t_end must be later than t0 = {t0:g} s, got {t_end:g} s")
    own = model.initial_state()
    check_state("y0", own if y0 is None else y0, own)
    phases = len(model.phases())
    if checks.is_concrete(phase) and checks.count("phase", phase, least=0) >= phases:
        raise ValueError(f"phase must be one of the model's {phases}, 0 to {phases - 1}, got {phase}")
    for name, transition in model.transitions().items():
        for end in ("source", "target"):
            for given in np.atleast_1d(getattr(transition, end)):
                if not 0 <= given < phases:
                    raise ValueError(
                        f"the {end} of the transition {name!r} must be one of the model's {phases} phases, "
                        f"0 to {phases - 1}, got {given}"
                    )
    return own if y0 is None else y0


@float64_default
class _Engine:
    """One segment: integrate, locate the event, correct its derivative, reset."""

    def __init__(
        self, model: HybridModel, t_end: Array, scheme: EventDriven, samples: int, looked_at: _Samples | None = None
    ) -> None:
        transitions = model.transitions()
        self.names = tuple(transitions)
        self.transitions: Sequence[Transition] = tuple(transitions.values())
        self.fields = tuple(_hashable(phase) for phase in model.phases())
        self.t_end, self.scheme, self.samples, self.looked_at = t_end, scheme, samples, looked_at

    def start(self, t: Array, y: State, phase: Array) -> _Point:
        """The point from which a trajectory sets out."""
        seen = None if self.looked_at is None else self.looked_at.start(y)
        zero = jnp.asarray(0)
        return _Point(t, y, self.guards(t, y), phase, jnp.asarray(-1, jnp.int32), zero, zero, seen)

    def trajectory(self, y0: State) -> Trajectory:
        """The whole trajectory with its samples and events."""
        looked_at, scheme = self.looked_at, self.scheme
        assert looked_at is not None
        point = self.start(looked_at.ts[0], y0, jnp.asarray(0, jnp.int32))
        events = _no_events(y0, scheme.max_events)

        def running(carry: tuple[_Point, tuple, Array]) -> Bool[Array, ""]:
            return (carry[0].status < 0) & (carry[2] < scheme.max_events)

        def onward(carry: tuple[_Point, tuple, Array]) -> tuple[_Point, tuple, Array]:
            point, events, count = carry
            point, (t, kind, before, after, *_) = self.segment(point)
            happened = kind >= 0
            put = lambda whole, one: whole.at[count].set(jnp.where(happened, one, whole[count]))
            events = jax.tree.map(put, events, (t, kind, before, after))
            return point, events, count + happened.astype(int)

        loop = _loop(scheme.mode, scheme.max_events + 1)
        point, events, _ = loop(running, onward, (point, events, jnp.asarray(0)))
        status = jnp.where(point.status < 0, Outcome.EVENT_LIMIT, point.status).astype(jnp.int32)
        completed = status == Outcome.COMPLETED
        t_end = jnp.where(completed, looked_at.ts[-1], point.t)  # located to rounding
        ys = looked_at.samples(point.seen, t_end, point.y, completed)
        return Trajectory(
            looked_at.ts,
            ys,
            status,
            t_end,
            point.y,
            point.steps,
            point.rejected,
            point.seen.extremes,
            Events(*events, names=self.names),
        )

    def segment(self, point: _Point) -> tuple[_Point, tuple]:
        """From one event to the next; a trajectory that has ended stays where it is."""
        running = point.status < 0
        bracket = self._search(point)
        event = self._locate(bracket, point.phase)
        t, y, fired = event.t, event.y, event.fired
        y_after, phase, status = self._jump(t, y, point.phase, fired)
        status = jnp.where(_finite(y_after), status, Outcome.NONFINITE)
        status = jnp.where(event.located, status, Outcome.EVENT_NOT_LOCATED)
        status = jnp.where(bracket.failed, bracket.why, status).astype(jnp.int32)
        failed = bracket.failed | ~event.located | ~_finite(y_after)
        guards = self._settled(bracket, event, self.guards(t, y_after))
        seen = None if self.looked_at is None else self.looked_at.event(bracket.seen, t, y, y_after)
        after = _Point(t, y_after, guards, phase, status, bracket.steps + point.steps, bracket.rejected, seen)
        after = after._replace(rejected=bracket.rejected + point.rejected)
        end = _select(running, after, point)
        happened = running & ~failed & (fired < len(self.transitions))
        events = _blank((t, y, y_after), happened)
        samples = _blank(self._sample(point, t), running & ~failed)
        kind = jnp.where(happened, fired, -1).astype(jnp.int32)
        return end, (events[0], kind, *events[1:], *samples)

    def _settled(self, bracket: _Bracket, event: _Event, guards: Array) -> Array:
        """Guard values just after an event, without those that differ from zero by rounding only.

        Of these, one that was to fire in the same step is still due: just above zero. The others are at zero, whatever
        their rounded value: the one that fired, and those that the jump has put there.
        """
        rounding = jnp.abs(event.rates) * _instant(bracket, event.t)
        near = jnp.abs(guards) <= rounding
        due = bracket.fell & (jnp.arange(guards.shape[0]) != event.fired)
        zero = jnp.where(due, rounding, 0.0)
        return jax.lax.stop_gradient(jnp.where(near, zero, guards))

    def _field(self, phase: Array) -> Callable[[Scalar, State], State]:
        if len(self.fields) == 1:
            return self.fields[0]
        return lambda t, y: jax.lax.switch(phase, self.fields, t, y)

    def guards(self, t: Scalar, y: State) -> Array:
        """All guard values; the last one is the end time."""
        return jnp.stack([*(jnp.asarray(tr.guard(t, y)) for tr in self.transitions), jnp.asarray(self.t_end - t)])

    def _armed(self, t: Scalar, y: State, phase: Array) -> Bool[Array, " guards"]:
        flags = [_in(tr.source, phase) & (True if tr.armed is None else tr.armed(t, y)) for tr in self.transitions]
        return jnp.stack([*flags, jnp.asarray(True)])

    def _try(self, t: Array, dt: Array, y: State, phase: Array) -> tuple[State, Any]:
        """One step of the solver, without memory of earlier ones, and its error estimate."""
        solver, vector_field = self.scheme.solver, self._field(phase)
        term = diffrax.ODETerm(lambda t, y, args: vector_field(t, y))
        state = solver.init(term, t, t + dt, y, None)
        return solver.step(term, t, t + dt, y, None, state, made_jump=False)[:2]

    def _search(self, point: _Point) -> _Bracket:
        """Steps on until some guard falls through zero within a step."""
        scheme, order = self.scheme, self.scheme.solver.order(None) or 1
        first = jnp.asarray(scheme.dt, dtype=point.t.dtype)
        _, control = scheme.controller.init(
            None, point.t, point.t + first, point.y, first, None, lambda *_: None, order
        )

        def unfinished(b: _Bracket) -> Bool[Array, ""]:
            return ~b.found & ~b.failed

        def advance(b: _Bracket) -> _Bracket:
            dt, t = (b.dt, b.t + b.dt) if self.looked_at is None else self.looked_at.landing(b.seen, b.t, b.dt)
            y, error = self._try(b.t, dt, b.y, point.phase)
            keep, t0, t1, _, control, _ = scheme.controller.adapt_step_size(
                b.t, t, b.y, y, None, error, order, b.control
            )
            guards = self.guards(t, y)
            keep = jnp.asarray(keep)
            fell = (b.guards > 0.0) & (guards <= 0.0) & self._armed(t, y, point.phase) & keep
            found = jnp.any(fell)
            lost, spent = keep & ~_finite(y), b.steps + b.rejected + 1 >= scheme.max_steps
            why = jnp.where(lost, Outcome.NONFINITE, Outcome.MAX_STEPS).astype(jnp.int32)
            following = jax.lax.stop_gradient(jnp.asarray(t1 - t0))
            # A step that was cut short at a sample says nothing against the length that was wanted.
            following = jnp.where(keep & (dt < b.dt), jnp.maximum(following, jax.lax.stop_gradient(b.dt)), following)
            seen = None if self.looked_at is None else self.looked_at.step(b.seen, t, y)
            after = _Bracket(
                t, y, following, guards, guards, fell, found, lost | spent, why, b.steps + 1, b.rejected, control, seen
            )
            before = after._replace(
                t=b.t,
                y=b.y,
                dt=jnp.where(found, dt, following),
                guards=b.guards,
                steps=b.steps + found.astype(int),
                rejected=b.rejected + (~keep).astype(int),
                seen=b.seen,
            )
            return _select(keep & ~found & ~lost, after, before)

        guards = point.guards
        zero = jnp.asarray(0)
        start = _Bracket(
            point.t,
            point.y,
            first,
            guards,
            guards,
            jnp.zeros(guards.shape, dtype=bool),
            jnp.asarray(False),
            point.status >= 0,
            jnp.asarray(Outcome.COMPLETED, jnp.int32),
            zero,
            zero,
            control,
            point.seen,
        )
        return _loop(scheme.mode, scheme.max_steps)(unfinished, advance, start)

    def _locate(self, b: _Bracket, phase: Array) -> _Event:
        """The first guard to fall within the bracketed step."""
        still = jax.lax.stop_gradient((b.t, b.y))
        started = jnp.where(b.fell, b.guards, 1.0)

        def lowest(guards: Array) -> Array:
            """Of all that fall, each relative to its value at the start: guards have units of their own."""
            return jax.lax.stop_gradient(jnp.min(jnp.where(b.fell, guards / started, jnp.inf)))

        def after(dt: Array) -> Array:
            return lowest(self.guards(still[0] + dt, self._try(still[0], dt, still[1], phase)[0]))

        def nearer(_: Any, dt: Array) -> Array:
            t, y = still[0] + dt, self._try(still[0], dt, still[1], phase)[0]
            shift = self._next(b, t, y, phase)[1]
            return jnp.clip(dt + jax.lax.stop_gradient(shift), 0.0, b.dt)

        dt = _located(after, b.dt, lowest(b.guards), lowest(b.guards_after), self.scheme.iterations)
        dt = jnp.where(b.found, jax.lax.fori_loop(0, POLISHING, nearer, dt), 0.0)
        t, (y, _) = b.t + dt, self._try(b.t, dt, b.y, phase)
        fired, shift, velocity, value, rates = self._next(b, t, y, phase)
        located = (jnp.abs(shift) <= _instant(b, t)) | (jnp.abs(value / started)[fired] <= _instant(b, t) / b.dt)
        y = jax.tree.map(lambda yi, vi: yi + shift * vi, y, velocity)
        return _Event(t + shift, y, fired, rates, located)

    def _next(self, b: _Bracket, t: Array, y: State, phase: Array) -> tuple[Array, Array, State, Array, Array]:
        """The guard that is the next to fall (or fell last), when, the velocity, all guards and their rates."""
        velocity = self._field(phase)(t, y)
        value, rate = jax.jvp(self.guards, (t, y), (jnp.ones_like(t), velocity))
        falling = jnp.where(rate < 0.0, -value / rate, b.dt)
        fired = jnp.argmin(jax.lax.stop_gradient(jnp.where(b.fell, falling, jnp.inf)))
        slope = jax.lax.stop_gradient(jnp.where(b.found, rate[fired], 1.0))
        return fired, jnp.where(b.found, -value[fired] / slope, 0.0), velocity, value, rate

    def _jump(self, t: Array, y: State, phase: Array, fired: Array) -> tuple[State, Array, Array]:
        """State, phase and status after the event."""
        status = jnp.where(fired == len(self.transitions), Outcome.COMPLETED, -1)
        after, new_phase, endings = y, phase, 0
        for i, tr in enumerate(self.transitions):
            if tr.reset is not None:
                after = _select(fired == i, tr.reset(t, y), after)
            new_phase = jnp.where(fired == i, tr.target, new_phase)
            if tr.ends:
                status = jnp.where(fired == i, FIRST_TERMINATION + endings, status)
                endings += 1
        return after, new_phase.astype(jnp.int32), status.astype(jnp.int32)

    def _sample(self, point: _Point, t_end: Array) -> tuple[Array, State]:
        """Equally spaced samples of a segment."""
        if self.samples == 0:
            none = jax.tree.map(lambda leaf: jnp.zeros((0, *leaf.shape), leaf.dtype), (point.t, point.y))
            return none
        dt = (t_end - point.t) / max(self.samples - 1, 1)

        def one(carry: tuple[Array, State], _: None) -> tuple[tuple[Array, State], tuple[Array, State]]:
            t, y = carry
            return (t + dt, self._try(t, dt, y, point.phase)[0]), carry

        return jax.lax.scan(one, (point.t, point.y), length=self.samples)[1]


class _Bracket(NamedTuple):
    """Start of a step, and after the search: the step within which some guard falls through zero."""

    t: Array
    y: Any
    dt: Array
    guards: Array
    """Guard values at its start."""
    guards_after: Array
    """Guard values at its end."""
    fell: Bool[Array, " guards"]
    """Which guards fall within it."""
    found: Bool[Array, ""]
    failed: Bool[Array, ""]
    why: Int[Array, ""]
    """The outcome, if it failed."""
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    control: Any
    """Memory of the step-size controller."""
    seen: Any
    """See `_Point`."""


class _Seen(NamedTuple):
    """What is looked at while a trajectory moves on."""

    next: Int[Array, ""]
    """Number of the next sample."""
    ys: Any
    """Samples, NaN where there is none yet."""
    extremes: dict[str, Extremes]


@float64_default
class _Samples:
    """When a trajectory is looked at, and for the extremes of what: steps end on the sampling times."""

    def __init__(self, model: Any, ts: Float[Array, " times"], watch: tuple[str, ...]) -> None:
        self.model, self.ts, self.watch = model, ts, watch

    def start(self, y: State) -> _Seen:
        """At the first sample."""
        n = self.ts.shape[0]
        ys = jax.tree.map(lambda z: jnp.full((n, *jnp.shape(z)), jnp.nan, jnp.result_type(z)).at[0].set(z), y)
        return _Seen(jnp.asarray(1), ys, {name: Extremes(x, x) for name, x in self._values(self.ts[0], y).items()})

    def landing(self, seen: _Seen, t: Array, dt: Array) -> tuple[Array, Array]:
        """Length and end of the next step, which goes no further than the next sample."""
        sample = self.ts[jnp.minimum(seen.next, self.ts.shape[0] - 1)]
        lands = (t + dt >= sample) & (t < sample)
        return jnp.where(lands, sample - t, dt), jnp.where(lands, sample, t + dt)

    def step(self, seen: _Seen, t: Array, y: State) -> _Seen:
        """After an accepted step without an event."""
        due = t >= self.ts[jnp.minimum(seen.next, self.ts.shape[0] - 1)]
        return self._noted(seen, due, t, y)

    def event(self, seen: _Seen, t: Array, before: State, after: State) -> _Seen:
        """At an event; a sample at the same instant is the state before it."""
        return self._watched(self.step(seen, t, before), t, after)

    def samples(self, seen: _Seen, t_end: Array, y_end: State, completed: Array) -> State:
        """The samples up to the end; the end is the last one."""
        last = jax.tree.map(lambda whole, one: whole.at[-1].set(jnp.where(completed, one, whole[-1])), seen.ys, y_end)
        return jax.tree.map(lambda z: blank(z, self.ts <= t_end), last)

    def _noted(self, seen: _Seen, due: Array, t: Array, y: State) -> _Seen:
        i = jnp.minimum(seen.next, self.ts.shape[0] - 1)
        due = due & (seen.next < self.ts.shape[0])
        ys = jax.tree.map(lambda whole, one: whole.at[i].set(jnp.where(due, one, whole[i])), seen.ys, y)
        return self._watched(seen._replace(next=seen.next + due.astype(int), ys=ys), t, y)

    def _watched(self, seen: _Seen, t: Array, y: State) -> _Seen:
        values = self._values(t, y)
        wider = {
            name: Extremes(jnp.minimum(e.least, values[name]), jnp.maximum(e.largest, values[name]))
            for name, e in seen.extremes.items()
        }
        return seen._replace(extremes=wider)

    def _values(self, t: Array, y: State) -> dict[str, Array]:
        components = state_variables(y)
        outputs = {} if all(name in components for name in self.watch) else self.model.outputs(t, y)
        return {name: jnp.asarray({**outputs, **components}[name]) for name in self.watch}


def _no_events(y: State, most: int) -> tuple[Array, Array, State, State]:
    """Room for events: times, kinds, states before and after."""
    states = jax.tree.map(lambda z: jnp.full((most, *jnp.shape(z)), jnp.nan, jnp.result_type(z)), y)
    return jnp.full(most, jnp.nan), jnp.full(most, -1, jnp.int32), states, states


def _loop(mode: Mode, most: int) -> Callable[..., Any]:
    """A loop through which derivatives go in one direction; reverse mode remembers `most` iterations at most."""
    if mode == "forward":
        return jax.lax.while_loop
    return lambda going, body, start: eqxi.while_loop(going, body, start, max_steps=most, kind="checkpointed")


def _located(f: Callable[[Array], Array], right: Array, f_left: Array, f_right: Array, iterations: int) -> Array:
    """Root of `f` between 0 (where it is `f_left` > 0) and `right` (where it is not positive), by so many secants."""
    bracket = Bracket(jnp.zeros_like(right), f_left, right, f_right)
    return jax.lax.fori_loop(0, iterations, lambda _, b: b.narrowed(b.secant, f(b.secant)), bracket).right


def _instant(bracket: _Bracket, t: Array) -> Array:
    """Time in s below which two events near time t are one: what is left of a step's digits, and rounding of t."""
    eps = float(jnp.finfo(t.dtype).eps)
    return jax.lax.stop_gradient(eps**0.5 * jnp.abs(bracket.dt) + 8.0 * eps * jnp.abs(t))


def _in(sources: int | tuple[int, ...], phase: Array) -> Bool[Array, ""]:
    return jnp.any(phase == jnp.array(sources, phase.dtype))


def _hashable(phase: Callable[[Scalar, State], State]) -> Callable[[Scalar, State], State]:
    """A phase as a plain function: `jax.lax.switch` hashes its branches, and bound methods hash their traced object."""

    def move(t: Scalar, y: State) -> State:
        return phase(t, y)

    return move


def _select(condition: Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _finite(y: State) -> Bool[Array, ""]:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(y)]))


def _blank(tree: Any, keep: Array) -> Any:
    return jax.tree.map(lambda leaf: jnp.where(keep, leaf, jnp.nan), tree)
