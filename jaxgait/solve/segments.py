"""One segment of event-driven motion: integrate, locate the event, correct its derivative, reset; see `hybrid`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import diffrax
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxgait.kinds import HybridModel, Transition
from jaxgait.model import Scalar, State
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.precision import float64_default, in_force
from jaxgait.roots import by_secants
from jaxgait.run import Events, Trajectory
from jaxgait.scheme import Mode
from jaxgait.solve.derivatives import first_only, nan_if_missing, reverse_only
from jaxgait.solve.samples import SampleRecorder
from jaxgait.solve.steps import all_finite, as_precise_as, instant, like_state, prepared, rounding, select, unfilled

SPARE_SEGMENTS = 100
"""Segments of a derivative in reverse mode beyond two per event."""
POLISHING_STEPS = 2
"""Newton iterations in time after the secants: quadratic, and on one guard where the secants saw several."""


class Point(NamedTuple):
    """State of a run between two segments."""

    t: Array
    y: Any
    guards: Float[Array, " guards"]
    """Guard values there, exactly zero where they are zero to rounding."""
    before: Float[Array, " guards"]
    """Their time derivatives just before the events at this instant (if positive, before the last); 0 at the start."""
    phase: Int[Array, ""]
    status: Int[Array, ""]
    """-1 while it runs."""
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    seen: Any
    """Samples and extremes recorded so far; None if only events are wanted."""
    due: Float[Array, " guards"]
    """Rounding errors of guards that fell at the instant of the last event and have not fired yet; 0 for the others."""


class HybridRun(NamedTuple):
    """A run through several segments."""

    end: Point
    """Where it stopped; its status is `Outcome.EVENT_LIMIT` if it could continue or more events happened than may."""
    events: Events
    """With a leading axis, in their own units; NaN after the last one."""
    recorded: Int[Array, ""]
    """How many events were recorded."""
    happened: Int[Array, ""]
    """How many events of any kind happened."""


class _Event(NamedTuple):
    t: Array
    y: Any
    fired: Int[Array, ""]
    guards: Float[Array, " guards"]
    """Guard values before the jump."""
    rates: Float[Array, " guards"]
    """Their time derivatives."""
    located: Bool[Array, ""]
    """Whether its time is exact."""
    crowded: Bool[Array, ""]
    """Whether it is indistinguishable from the event before."""
    armed: Bool[Array, " guards"]


@float64_default
class Engine:
    """One segment: integrate, locate the event, correct its derivative, reset."""

    def __init__(self, model: HybridModel, t_end: Array, scheme: Any, samples: SampleRecorder | None = None) -> None:
        scheme.check_precision(in_force())  # it may have been made for another
        if scheme.mode == "reverse":
            model, t_end = reverse_only((model, t_end))
        system = prepared(model)
        transitions = system.transitions()
        self.names = tuple(transitions)
        self.transitions: Sequence[Transition] = tuple(transitions.values())
        self.fields = tuple(_traced_once(phase) for phase in system.phases())
        self.t_end, self.scheme, self.samples = t_end, scheme, samples
        self._order = scheme.solver.order(None) or 1

    def start(self, t: Array, y: State, phase: Array) -> Point:
        """The point from which a run starts, at time `t` in s (a scalar); it may have ended there."""
        y = as_precise_as(t, y)
        t, y = reverse_only((t, y)) if self.scheme.mode == "reverse" else (t, y)
        seen = None if self.samples is None else self.samples.start(y, self._field(phase))
        guards, rates = jax.lax.stop_gradient(self._guards_and_rates(t, y, self._field(phase)))
        near = jnp.abs(guards) <= jnp.abs(rates) * instant(jnp.asarray(self.scheme.first_step, t.dtype), t)
        near = near.at[-1].set(False)  # the end
        guards = jnp.where(near, 0.0, guards)
        sound = all_finite(y) & (self.t_end > t)
        status = jnp.where(sound, self._over((guards < 0.0) & self._armed(t, y, phase)), Outcome.NONFINITE)
        zero, none = jnp.asarray(0), jnp.zeros_like(guards)
        return Point(t, y, guards, none, phase, status.astype(jnp.int32), zero, zero, seen, none)

    def _over(self, beyond: Bool[Array, " guards"]) -> Array:
        """Status of a run in a state that is beyond some guards: that of the first transition which ends it, or -1."""
        ends = [i for i, tr in enumerate(self.transitions) if tr.ends]
        status = jnp.asarray(-1)
        for ending, i in reversed(list(enumerate(ends))):
            status = jnp.where(beyond[i], FIRST_TERMINATION + ending, status)
        return status

    def run(self, start: Point, record: int, limit: int, only: Sequence[int] | None = None) -> HybridRun:
        """Segment after segment, until the run ends or has had enough events.

        Args:
            start: where the run starts.
            record: number of events to record at most.
            limit: number of events that may happen; the run stops at the next one, which is not recorded.
            only: the numbers of the only transitions to record; the run stops when `record` of them are recorded. None:
                all.
        """

        def running(so_far: HybridRun) -> Bool[Array, ""]:
            full = jnp.asarray(False) if only is None else so_far.recorded >= record
            return (so_far.end.status < 0) & (so_far.happened <= limit) & ~full

        def onward(so_far: HybridRun) -> HybridRun:
            point, event, happened = self.segment(so_far.end)
            at = so_far.recorded
            kept = happened & (so_far.happened < limit)
            if only is not None:
                kept = kept & jnp.isin(event.kind, jnp.array(only, jnp.int32))
            put = lambda whole, one: whole.at[at].set(jnp.where(kept, one, whole[at]))  # (ignored beyond the end)
            events = jax.tree.map(put, so_far.events, event)
            return HybridRun(point, events, at + kept.astype(int), so_far.happened + happened.astype(int))

        zero = jnp.asarray(0)
        segments = 2 * (limit + 1) + SPARE_SEGMENTS  # (those that end where a guard was not armed are not events)
        outset = HybridRun(start, self._no_events(start.y, record), zero, zero)
        found = _loop(self.scheme.mode, segments)(running, onward, outset)
        found = first_only(found) if self.scheme.mode == "forward" else found
        stopped = (found.end.status < 0) | (found.happened > limit)
        status = jnp.where(stopped, Outcome.EVENT_LIMIT, found.end.status).astype(jnp.int32)
        return found._replace(end=found.end._replace(status=status))

    def trajectory(self, y0: State) -> Trajectory:
        """The whole trajectory with its samples and events; it fails after more than `max_events` of them."""
        assert self.samples is not None
        ts, limit = self.samples.ts, self.scheme.max_events
        start = self.start(ts[0], y0, jnp.asarray(0, jnp.int32))
        end, events, _, _ = self.run(start, limit, limit)
        completed = end.status == Outcome.COMPLETED
        # Located to rounding: it is the end of the run, or a sample that is recorded at the same instant.
        late = jax.lax.stop_gradient(jnp.maximum(ts[end.seen.next - 1] - end.t, 0.0))
        t_end = jnp.where(completed, ts[-1], end.t + late)
        ys, extremes = self.samples.samples(end.seen, end.y, completed), end.seen.extremes
        padded = nan_if_missing(events, end.y, self.scheme.mode)
        found = Trajectory(ts, ys, end.status, t_end, end.y, end.steps, end.rejected, extremes, padded)
        return found.until_end()._replace(beyond=self._beyond(start, end, events))

    def _beyond(self, start: Point, end: Point, events: Events) -> Bool[Array, " transitions"]:
        """See `Trajectory.beyond`."""
        armed = self._armed(start.t, start.y, start.phase) & self._armed(end.t, end.y, end.phase)
        sank = (armed & (start.guards <= 0.0) & (end.guards < start.guards))[:-1]
        acting = jnp.array([one.acts for one in self.transitions], bool)
        return sank & acting & ~jnp.isin(jnp.arange(len(acting), dtype=jnp.int32), events.kind)

    def segment(self, point: Point) -> tuple[Point, Events, Bool[Array, ""]]:
        """Integrates a run, not yet ended, to its next event, in the state's own units; returns whether it had one."""
        bracket = self._search(point)
        event = self._locate(bracket, point)
        happens = bracket.found & ~bracket.failed & event.located & event.armed[event.fired]
        t, y, fired = event.t, event.y, jnp.where(happens, event.fired, -1)
        y_after, phase, status = self._jump(t, y, point.phase, fired)
        status = jnp.where(all_finite(y_after), status, Outcome.NONFINITE)
        lost = jnp.where(bracket.halved | event.crowded, Outcome.EVENTS_CROWDED, Outcome.EVENT_NOT_LOCATED)
        status = jnp.where(event.located, status, lost)
        status = jnp.where(bracket.failed, bracket.why, status).astype(jnp.int32)
        failed = bracket.failed | ~event.located | ~all_finite(y_after)
        fields = self._field(point.phase), self._field(phase)
        guards, due = self._guards_after(point, bracket, event, y_after)
        same = bracket.at_once & (event.rates <= 0.0)  # a guard that the event before made rise may be turned again
        before = jax.lax.stop_gradient(jnp.where(same, point.before, event.rates))
        seen = None
        if self.samples is not None:
            seen = self.samples.event(bracket.seen, t, (y, y_after), fields, rounding(t))
        steps, rejected = bracket.steps + point.steps, bracket.rejected + point.rejected
        end = Point(t, y_after, guards, before, phase, status, steps, rejected, seen, due)
        happened = ~failed & (fired >= 0) & (fired < len(self.transitions))
        return end, Events(t, fired.astype(jnp.int32), y, y_after, names=self.names), happened

    def _guards_and_rates(
        self, t: Scalar, y: State, field: Callable[[Scalar, State], State]
    ) -> tuple[Float[Array, " guards"], Float[Array, " guards"]]:
        """All guard values, and their time derivatives along the motion."""
        return jax.jvp(self.guards, (t, y), (jnp.ones_like(t), field(t, y)))

    def _noise(self, t: Scalar, y: State) -> tuple[Float[Array, " guards"], Float[Array, " guards"]]:
        """All guard values, and their errors due to the rounding of the state: below these they count as zero."""
        values, along = jax.jvp(lambda y: self.guards(t, y), (y,), (y,))
        return values, jnp.abs(along) * 4.0 * float(jnp.finfo(t.dtype).eps)

    def _guards_after(self, point: Point, bracket: _Bracket, event: _Event, y: State) -> tuple[Array, Array]:
        """Guard values just after an event, exactly zero where they are zero to rounding, and which are still due.

        A guard is due if it fell at the same instant, or would have done so a rounding error later, and the reset has
        not moved it away from zero.
        """
        guards, noise = self._noise(event.t, y)
        rounding = jnp.maximum(jnp.abs(event.rates) * instant(bracket.dt, event.t), point.due)
        near, here = jnp.abs(guards) <= jnp.maximum(rounding, noise), jnp.abs(event.guards) <= rounding
        falls = bracket.fell | ((bracket.guards > 0.0) & (event.rates < 0.0) & event.armed)
        other = jnp.arange(guards.shape[0]) != event.fired
        due = jnp.where(bracket.found & near & here & falls & other, rounding, 0.0)
        return jax.lax.stop_gradient((jnp.where(near, 0.0, guards), due))

    def _no_events(self, y: State, most: int) -> Events:
        states = unfilled(y, most)
        return Events(jnp.full(most, jnp.nan), jnp.full(most, -1, jnp.int32), states, states, names=self.names)

    def _field(self, phase: Array) -> Callable[[Scalar, State], State]:
        if len(self.fields) == 1:
            return self.fields[0]
        return lambda t, y: jax.lax.switch(phase, self.fields, t, y)

    def guards(self, t: Scalar, y: State) -> Array:
        """All guard values at time `t` in s, shape (guards,), in their own units; the last is the time left."""
        return jnp.stack([*(jnp.asarray(tr.guard(t, y)) for tr in self.transitions), jnp.asarray(self.t_end - t)])

    def _armed(self, t: Scalar, y: State, phase: Array) -> Bool[Array, " guards"]:
        counts = lambda tr: jnp.isin(phase, jnp.array(tr.sources, phase.dtype))
        flags = [counts(tr) & (True if tr.armed is None else tr.armed(t, y)) for tr in self.transitions]
        return jnp.stack([*flags, jnp.asarray(True)])

    def _try(self, t: Array, dt: Array, y: State, phase: Array) -> tuple[State, Any]:
        """One step of the solver, without memory of earlier ones, and its error estimate."""
        solver, vector_field = self.scheme.solver, self._field(phase)
        term = diffrax.ODETerm(lambda t, y, args: vector_field(t, y))
        still = t + dt == t  # linearly implicit steps of length 0 would be NaN
        end = jnp.where(still, t + self.scheme.dt, t + dt)
        state = solver.init(term, t, end, y, None)
        after, error = solver.step(term, t, end, y, None, state, made_jump=False)[:2]
        return select(still, y, after), jax.tree.map(lambda e: jnp.where(still, 0.0, e), error)

    def _search(self, point: Point) -> _Bracket:
        search = _loop(self.scheme.mode, self.scheme.max_steps)
        return search(lambda b: ~b.found & ~b.failed, lambda b: self._advance(b, point), self._outset(point))

    def _outset(self, point: Point) -> _Bracket:
        first, zero, guards = jnp.asarray(self.scheme.first_step, dtype=point.t.dtype), jnp.asarray(0), point.guards
        armed = self._armed(point.t, point.y, point.phase)
        due = (point.due > 0.0) & armed & (point.status < 0)
        _, rates = self._guards_and_rates(*jax.lax.stop_gradient((point.t, point.y)), self._field(point.phase))
        _, control = self.scheme.control.init(
            None, point.t, point.t + first, point.y, first, None, lambda *_: None, self._order
        )
        return _Bracket(
            t=point.t,
            y=point.y,
            dt=first,
            guards=guards,
            guards_after=guards,
            armed=armed,
            leaving=(guards <= 0.0) & (guards + rates * rounding(point.t) > 0.0),
            held=_held(point, rates),
            halved=jnp.asarray(False),
            fell=due,
            at_once=jnp.any(due),
            found=jnp.any(due),
            failed=point.status >= 0,  # in a batch, members whose run has ended wait here for the others
            why=jnp.asarray(Outcome.COMPLETED, jnp.int32),
            steps=zero,
            rejected=zero,
            control=control,
            seen=point.seen,
        )

    def _advance(self, b: _Bracket, point: Point) -> _Bracket:
        """One step of the search: accepted, found to hold an event, or to be repeated with another length."""
        tried = self._trial(b, point.phase)
        armed = b.armed | tried.armed  # at either end: which one counts shows when the event is located
        # Above zero and below it again within the step; or too little above it to be resolved.
        below = (tried.guards < 0.0) | ((tried.guards == 0.0) & b.halved)
        back = jnp.any(b.leaving & below & armed)
        keep = tried.accepted & ~back
        lost = keep & (~all_finite(tried.y) | jnp.any(jnp.isnan(tried.guards) & armed))
        slack = b.held * (tried.t - point.t)
        sank = keep & jnp.any((b.held > 0.0) & (tried.guards < -slack) & b.armed & tried.armed)
        fell = (b.guards > 0.0) & (tried.guards <= 0.0) & armed & keep & ~sank
        found = jnp.any(fell)
        moved = keep & ~found & ~lost & ~sank
        failed, why = self._failure(b, tried, lost, back, sank)
        following = _following(b, tried, keep, back)
        control = select(back, b.control, tried.control)
        either = b._replace(
            guards_after=tried.guards, fell=fell, found=found, failed=failed, why=why, control=control, seen=None
        )
        after = either._replace(
            t=tried.t,
            y=tried.y,
            dt=following,
            guards=tried.guards,
            armed=tried.armed,
            leaving=b.leaving & (tried.guards == 0.0),
            held=jnp.where((tried.guards <= slack) & b.armed & tried.armed, b.held, 0.0),
            steps=b.steps + 1,
        )
        before = either._replace(
            dt=jnp.where(found, tried.dt, following),
            halved=b.halved | back,
            steps=b.steps + found.astype(int),
            rejected=b.rejected + (~keep).astype(int),
        )
        return select(moved, after, before)._replace(seen=self._seen(b, tried, moved, point.phase))

    def _trial(self, b: _Bracket, phase: Array) -> _Trial:
        """One step from the start of a bracket, and what the controller makes of its error."""
        dt, t = (b.dt, b.t + b.dt) if self.samples is None else self.samples.landing(b.seen, b.t, b.dt)
        y, error = self._try(b.t, dt, b.y, phase)
        error = jax.tree.map(lambda e: jnp.where(jnp.isnan(e), jnp.inf, e), error)  # rejected, as in diffrax
        accepted, t0, t1, _, control, result = self.scheme.control.adapt_step_size(
            b.t, t, b.y, y, None, error, self._order, b.control
        )
        accepted = jnp.asarray(accepted)
        stuck = ~accepted & ~(result == diffrax.RESULTS.successful)
        wanted = jnp.asarray(t1 - t0)
        return _Trial(t, dt, y, self.guards(t, y), self._armed(t, y, phase), accepted, stuck, wanted, control)

    def _failure(self, b: _Bracket, tried: _Trial, lost: Array, back: Array, sank: Array) -> tuple[Array, Array]:
        """Whether the search ends without an event, and the outcome if it does."""
        spent = b.steps + b.rejected + 1 >= self.scheme.max_steps
        crowded = sank | (back & (0.5 * tried.dt <= rounding(b.t)))
        why = jnp.where(tried.stuck, Outcome.STEP_UNDERFLOW, Outcome.MAX_STEPS)
        why = jnp.where(crowded, Outcome.EVENTS_CROWDED, why)
        why = jnp.where(lost, Outcome.NONFINITE, why).astype(jnp.int32)
        return lost | spent | crowded | tried.stuck, why

    def _seen(self, b: _Bracket, tried: _Trial, moved: Array, phase: Array) -> Any:
        if self.samples is None:
            return None
        return self.samples.step(b.seen, tried.t, tried.y, moved, self._field(phase))

    def _locate(self, b: _Bracket, point: Point) -> _Event:
        """The first guard to fall within the bracketed step."""
        phase, still = point.phase, jax.lax.stop_gradient((b.t, b.y))
        started = jnp.where(b.fell, b.guards, 1.0)

        def lowest(guards: Array) -> Array:
            """The smallest falling guard, relative to its value at the start, as guards have different units."""
            return jax.lax.stop_gradient(jnp.min(jnp.where(b.fell, guards / started, jnp.inf)))

        def after(dt: Array) -> Array:
            return lowest(self.guards(still[0] + dt, self._try(still[0], dt, still[1], phase)[0]))

        def nearer(_: Any, dt: Array) -> Array:
            t, y = still[0] + dt, self._try(still[0], dt, still[1], phase)[0]
            shift = self._next(b, t, y, phase)[1]
            return jnp.clip(dt + jax.lax.stop_gradient(shift), 0.0, b.dt)

        dt = by_secants(after, b.dt, lowest(b.guards), lowest(b.guards_after), self.scheme.iterations)
        dt = jnp.where(b.found, jax.lax.fori_loop(0, POLISHING_STEPS, nearer, dt), b.dt)
        dt = jnp.where(b.at_once, 0.0, dt)
        t, (y, _) = b.t + dt, self._try(b.t, dt, b.y, phase)
        fired, shift, velocity, value, rates = self._next(b, t, y, phase)
        crosses = (rates[fired] < 0.0) | ~b.found
        near = crosses & (jnp.abs(shift) <= instant(b.dt, t))
        noise = jnp.where(crosses, self._noise(t, y)[1], 0.0)
        close = jnp.abs(value) <= jnp.maximum(noise, started * (instant(b.dt, t) / b.dt))
        crowded = b.found & ~b.at_once & (point.guards[fired] == 0.0)
        crowded = crowded & (jnp.abs(rates[fired]) * (t + shift - point.t) <= noise[fired])
        located = b.at_once | ((near | close[fired]) & ~crowded)
        t, y = t + shift, jax.tree.map(lambda yi, vi: yi + shift * vi, y, velocity)
        t, y = select(b.found & located, (t, y), (b.t, b.y))
        return _Event(t, y, fired, value + shift * rates, rates, located, crowded, self._armed(t, y, phase))

    def _next(self, b: _Bracket, t: Array, y: State, phase: Array) -> tuple[Array, Array, State, Array, Array]:
        """The guard that falls next (or fell last), when, the velocity, all guards and their rates.

        Of guards that fall at the same instant it is the one that was declared first, before the end of the run.
        """
        velocity = self._field(phase)(t, y)
        value, rate = self._guards_and_rates(t, y, lambda *_: velocity)
        falls = jax.lax.stop_gradient(rate < 0.0)
        rates = jnp.where(falls, rate, -1.0)
        near, until = instant(b.dt, t), jnp.where(falls, -value / rates, b.dt)
        with_end = b.fell[-1] & ~b.at_once & (b.guards > 0.0) & falls & (jnp.abs(until) <= near)
        until = jnp.where(b.fell | with_end, jnp.where(b.at_once, 0.0, until), jnp.inf)
        fired = jnp.argmax(jax.lax.stop_gradient(until <= jnp.min(until) + near))
        shift = -value[fired] / jax.lax.stop_gradient(rates[fired])
        return fired, jnp.where(b.found & falls[fired], shift, 0.0), velocity, value, rate

    def _jump(self, t: Array, y: State, phase: Array, fired: Array) -> tuple[State, Array, Array]:
        """State, phase and status after an event; unchanged for none (`fired` = -1)."""
        status = jnp.where(fired == len(self.transitions), Outcome.COMPLETED, -1)
        after, new_phase, endings = y, phase, 0
        for i, tr in enumerate(self.transitions):
            if tr.reset is not None:
                after = select(fired == i, like_state(tr.reset(t, y), y), after)
            if tr.target is not None:
                new_phase = jnp.where(fired == i, tr.target, new_phase)
            if tr.ends:
                status = jnp.where(fired == i, FIRST_TERMINATION + endings, status)
                endings += 1
        return after, new_phase.astype(jnp.int32), status.astype(jnp.int32)


class _Bracket(NamedTuple):
    """Start of a step; after the search, of the step within which a guard falls through zero."""

    t: Array
    y: Any
    dt: Array
    guards: Array
    """Guard values at its start."""
    guards_after: Array
    armed: Bool[Array, " guards"]
    leaving: Bool[Array, " guards"]
    """Which guards were zero at its start and rise from there: whether they fall again is not known yet."""
    held: Float[Array, " guards"]
    """See `_held`; 0 as soon as a guard has risen, or did not count."""
    halved: Bool[Array, ""]
    """Whether a step was too long for one of these."""
    fell: Bool[Array, " guards"]
    at_once: Bool[Array, ""]
    """Whether these are due from the event before, without a step."""
    found: Bool[Array, ""]
    failed: Bool[Array, ""]
    why: Int[Array, ""]
    """The outcome, if it failed."""
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    control: Any
    """Memory of the step-size controller."""
    seen: Any
    """See `Point`."""


class _Trial(NamedTuple):
    """One step of the solver from the start of a bracket."""

    t: Array
    """Its end in s."""
    dt: Array
    """Its length in s."""
    y: Any
    guards: Array
    armed: Bool[Array, " guards"]
    accepted: Bool[Array, ""]
    """Whether its error is small enough."""
    stuck: Bool[Array, ""]
    """Whether the controller cannot continue."""
    wanted: Array
    """Length in s of the next step that the controller suggests."""
    control: Any


def _held(point: Point, rates: Array) -> Float[Array, " guards"]:
    """Falling speed beyond which guards that the last event stopped or turned at zero count as falling, in units per s.

    Such a guard (of a ball without rebound; of the way back from a phase that begins with an acceleration back) would
    fire again at once, without end. 0 for the others, also for one that falls both before and after, as it was passed.
    The limit is the speed before, times a rounding error: a body at rest may drift.
    """
    least = 4.0 * float(jnp.finfo(point.t.dtype).eps) ** 0.5 * jnp.abs(point.before)
    passed = (point.before < 0.0) & (rates < -least)
    return jnp.where((point.guards == 0.0) & (point.due == 0.0) & ~passed, least, 0.0)


def _following(b: _Bracket, tried: _Trial, keep: Array, back: Array) -> Array:
    """Length in s of the next step: what the controller wants, within the limits of the bracket."""
    longest = jax.lax.stop_gradient(b.dt)
    following = jax.lax.stop_gradient(jnp.where(back, 0.5 * tried.dt, tried.wanted))
    # A step that was cut short at a sample does not reduce the next one.
    following = jnp.where(keep & (tried.dt < b.dt), jnp.maximum(following, longest), following)
    return jnp.where(b.halved, jnp.minimum(following, longest), following)


def _loop(mode: Mode, most: int) -> Callable[..., Any]:
    """A loop that can be differentiated in the given mode; reverse mode stores at most `most` iterations."""
    if mode == "forward":
        return jax.lax.while_loop
    return lambda going, body, start: eqxi.while_loop(going, body, start, max_steps=most, kind="checkpointed")


def _traced_once(phase: Callable[[Scalar, State], State]) -> Callable[[Scalar, State], State]:
    """A phase as a plain function, since bound methods hash their traced object; all its evaluations share a trace."""

    @jax.jit
    def move(t: Scalar, y: State) -> State:
        return like_state(phase(t, y), y)

    return move
