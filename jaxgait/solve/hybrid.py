"""Event-driven solves of hybrid mechanisms: phases, guards, resets; many events, in one compiled call.

Each segment is integrated by any diffrax solver and step-size controller until a guard changes sign within a step; the
event is then located to rounding by re-stepping from the start of that step (no interpolation error), the state is
reset and the next segment begins. The number of events is bounded, so that everything can be jitted, vmapped and
differentiated (in reverse mode with checkpoints, see `HybridSettings.mode`).

Derivatives of states and event times are exact (saltation): after location, one Newton step in time

    dt = -g(t, y) / (dg/dt + dg/dy f),      t <- t + dt,      y <- y + f dt

changes the values by rounding errors only, but its derivative is that of the event time as an implicit function. The
end time is an event like any other. First derivatives only; a guard that is touched but not crossed has none.

Two zeros of one guard within a single step cancel and are missed: the longest step must resolve the mechanism's events.

A guard fires when it falls from above zero. One that is zero (to rounding) just after an event is not above it: a
transition without a reset, or whose reset leaves the state on the guard, fires once, and again only after its guard has
been positive in between. Guards that fall through zero together with the one that fired are still due, and fire next at
the same instant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import diffrax
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxgait import checks
from jaxgait.kinds import HybridModel, Transition
from jaxgait.model import Scalar, State
from jaxgait.precision import float64_default
from jaxgait.solve.checks import check_kind, check_model, check_state

__all__ = ["EVENT_LIMIT", "FAILED", "FIRST_ENDING", "TIME_UP", "HybridSettings", "HybridSolution", "hybrid", "sentence"]

TIME_UP = 0
"""The end time was reached."""
EVENT_LIMIT = 1
"""All the events asked for have happened."""
FAILED = 2
"""The state became NaN or infinite, a segment needed too many steps, or an event could not be located."""
POLISHING = 2
"""Newton iterations in time that follow the secants: quadratic, and on one guard where the secants saw several."""
FIRST_ENDING = 10
"""Statuses from here on: 10 + number of the transition that ended the trajectory."""


@dataclass(frozen=True)
class HybridSettings:
    """How the segments between events are integrated. Hashable: a static argument of compiled functions."""

    solver: diffrax.AbstractSolver = field(default_factory=lambda: diffrax.Dopri8(scan_kind="lax"))
    """Explicit solvers of diffrax need `scan_kind="lax"` for forward-mode derivatives, "checkpointed" for reverse."""
    controller: diffrax.AbstractStepSizeController = field(default_factory=diffrax.ConstantStepSize)
    first_step: float = 1e-2
    """First step in s, and the only one with a constant step size."""
    max_steps: int = 4096
    """Steps per segment after which a trajectory is given up."""
    iterations: int = 8
    """Safeguarded secant iterations that locate an event within its step."""
    mode: Literal["forward", "reverse"] = "forward"
    """Which derivatives go through."""

    def __post_init__(self) -> None:
        """Rejects a solver through which reverse mode cannot go.

        Raises:
            ValueError: if so.
        """
        if self.mode == "reverse" and getattr(self.solver, "scan_kind", None) == "lax":
            raise ValueError(
                'reverse mode cannot go through a solver with scan_kind="lax": give the settings a solver such as '
                'diffrax.Dopri8(scan_kind="checkpointed")'
            )


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
    """`TIME_UP`, `EVENT_LIMIT`, `FAILED`, or `FIRST_ENDING` + number of the transition that ended it."""


class _Point(NamedTuple):
    """Where a trajectory is between two segments."""

    t: Array
    y: Any
    guards: Float[Array, " guards"]
    """Guard values there, those at zero settled to either side (see `_Engine._settled`)."""
    phase: Int[Array, ""]
    status: Int[Array, ""]
    """-1 while it runs."""


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
    settings: HybridSettings = HybridSettings(),
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
        settings: solver, step sizes.

    Raises:
        TypeError: for a model without phases and transitions.
        ValueError: for impossible counts, times, states and phases (as far as they are not traced), and for
            transitions between phases that the model does not have.
        jaxgait.parameters.ParameterError: for impossible parameters.
    """
    y0 = _checked(model, events, t_end, y0, phase, t0, samples)
    engine = _Engine(model, jnp.asarray(t_end, dtype=float), settings, samples)
    t, y = jnp.asarray(t0, dtype=float), jax.tree.map(lambda z: jnp.asarray(z, dtype=float), y0)
    start = _Point(t, y, engine.guards(t, y), jnp.asarray(phase, jnp.int32), jnp.asarray(-1, jnp.int32))
    end, records = jax.lax.scan(lambda point, _: engine.segment(point), start, length=events)
    ts, transitions, before, after, samples_t, sampled = records
    status = jnp.where(end.status < 0, EVENT_LIMIT, end.status)
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
            if not 0 <= getattr(transition, end) < phases:
                raise ValueError(
                    f"the {end} of the transition {name!r} must be one of the model's {phases} phases, "
                    f"0 to {phases - 1}, got {getattr(transition, end)}"
                )
    return own if y0 is None else y0


def sentence(model: HybridModel, code: int) -> str:
    """What a status code means."""
    known = {
        TIME_UP: "completed: the end time was reached",
        EVENT_LIMIT: "completed: all events asked for have happened",
        FAILED: "gave up: the state became NaN or infinite, a segment needed too many steps (max_steps), or an event "
        "could not be located (iterations)",
    }
    return known.get(code) or f"ended early: {list(model.transitions())[code - FIRST_ENDING]}"


@float64_default
class _Engine:
    """One segment: integrate, locate the event, correct its derivative, reset."""

    def __init__(self, model: HybridModel, t_end: Array, settings: HybridSettings, samples: int) -> None:
        self.transitions: Sequence[Transition] = tuple(model.transitions().values())
        self.fields = tuple(_hashable(phase) for phase in model.phases())
        self.t_end, self.settings, self.samples = t_end, settings, samples

    def segment(self, point: _Point) -> tuple[_Point, tuple]:
        """From one event to the next; a trajectory that has ended stays where it is."""
        running = point.status < 0
        bracket = self._search(point)
        event = self._locate(bracket, point.phase)
        t, y, fired = event.t, event.y, event.fired
        y_after, phase, status = self._jump(t, y, point.phase, fired)
        status = jnp.where(bracket.failed | ~event.located | ~_finite(y_after), FAILED, status)
        guards = self._settled(bracket, event, self.guards(t, y_after))
        end = _select(running, _Point(t, y_after, guards, phase, status), point)
        happened = running & (status != FAILED) & (fired < len(self.transitions))
        events = _blank((t, y, y_after), happened)
        samples = _blank(self._sample(point, t), running & (status != FAILED))
        return end, (events[0], jnp.where(happened, fired, -1), *events[1:], *samples)

    def _settled(self, bracket: _Bracket, event: _Event, guards: Array) -> Array:
        """Guard values just after an event, without those that only rounding tells from zero.

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
        flags = [(phase == tr.source) & (True if tr.armed is None else tr.armed(t, y)) for tr in self.transitions]
        return jnp.stack([*flags, jnp.asarray(True)])

    def _try(self, t: Array, dt: Array, y: State, phase: Array) -> tuple[State, Any]:
        """One step of the solver, without memory of earlier ones, and its error estimate."""
        solver, vector_field = self.settings.solver, self._field(phase)
        term = diffrax.ODETerm(lambda t, y, args: vector_field(t, y))
        state = solver.init(term, t, t + dt, y, None)
        return solver.step(term, t, t + dt, y, None, state, made_jump=False)[:2]

    def _search(self, point: _Point) -> _Bracket:
        """Steps on until some guard falls through zero within a step."""
        settings, order = self.settings, self.settings.solver.order(None) or 1
        first = jnp.asarray(settings.first_step, dtype=point.t.dtype)
        _, control = settings.controller.init(
            None, point.t, point.t + first, point.y, first, None, lambda *_: None, order
        )

        def unfinished(b: _Bracket) -> Bool[Array, ""]:
            return ~b.found & ~b.failed

        def advance(b: _Bracket) -> _Bracket:
            y, error = self._try(b.t, b.dt, b.y, point.phase)
            t = b.t + b.dt
            keep, t0, t1, _, control, _ = settings.controller.adapt_step_size(
                b.t, t, b.y, y, None, error, order, b.control
            )
            guards = self.guards(t, y)
            keep = jnp.asarray(keep)
            fell = (b.guards > 0.0) & (guards <= 0.0) & self._armed(t, y, point.phase) & keep
            found = jnp.any(fell)
            failed = (keep & ~_finite(y)) | (b.steps + 1 >= settings.max_steps)
            dt = jax.lax.stop_gradient(jnp.asarray(t1 - t0))
            after = _Bracket(t, y, dt, guards, guards, fell, found, failed, b.steps + 1, control)
            before = after._replace(t=b.t, y=b.y, dt=jnp.where(found, b.dt, dt), guards=b.guards)
            return _select(keep & ~found & ~failed, after, before)

        guards = point.guards
        nothing = jnp.zeros(guards.shape, dtype=bool)
        start = _Bracket(
            point.t,
            point.y,
            first,
            guards,
            guards,
            nothing,
            jnp.asarray(False),
            point.status >= 0,
            jnp.asarray(0),
            control,
        )
        kind = "lax" if settings.mode == "forward" else "checkpointed"
        return eqxi.while_loop(unfinished, advance, start, max_steps=settings.max_steps, kind=kind)

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

        dt = _illinois(after, b.dt, lowest(b.guards), lowest(b.guards_after), self.settings.iterations)
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
        status = jnp.where(fired == len(self.transitions), TIME_UP, -1)
        after, new_phase = y, phase
        for i, tr in enumerate(self.transitions):
            if tr.reset is not None:
                after = _select(fired == i, tr.reset(t, y), after)
            new_phase = jnp.where(fired == i, tr.target, new_phase)
            if tr.ends:
                status = jnp.where(fired == i, FIRST_ENDING + i, status)
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
    steps: Int[Array, ""]
    control: Any
    """Memory of the step-size controller."""


def _illinois(f: Callable[[Array], Array], right: Array, f_left: Array, f_right: Array, iterations: int) -> Array:
    """Root of `f` between 0 (where it is `f_left` > 0) and `right` (where it is not positive): safeguarded secants."""

    def improve(_: Any, c: tuple[Array, ...]) -> tuple[Array, ...]:
        a, fa, z, fz = c
        x = z - fz * (z - a) / jnp.where(fz == fa, 1.0, fz - fa)
        fx = f(x)
        crossed = (fx > 0.0) != (fz > 0.0)
        return jnp.where(crossed, z, a), jnp.where(crossed, fz, 0.5 * fa), x, fx

    start = (jnp.zeros_like(right), f_left, right, f_right)
    return jax.lax.fori_loop(0, iterations, improve, start)[2]


def _instant(bracket: _Bracket, t: Array) -> Array:
    """Time in s below which two events near time t are one: what is left of a step's digits, and rounding of t."""
    eps = float(jnp.finfo(t.dtype).eps)
    return jax.lax.stop_gradient(eps**0.5 * jnp.abs(bracket.dt) + 8.0 * eps * jnp.abs(t))


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
