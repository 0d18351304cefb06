"""Extremes of outputs, and events, over the solver's own steps, so that neither depends on the sampling.

Extremes within a step are those of `jaxgait.solve.samples`. An event of a smooth model (`jaxgait.model.Model.events`)
is where a guard falls through zero. Such steps are recorded without changing the solver's steps; afterwards the zero is
located on the cubic Hermite interpolant of the step, whose error is of fourth order. At the end of a run, a guard that
has fallen to zero but for rounding counts, too. With a solver of higher order than
`CUBIC_ENOUGH_FOR`, the time is corrected by steps of the solver from the start of the step, so that it is as accurate
as the states. A guard that falls and rises within one step is missed.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxgait.precision import float64_default
from jaxgait.run import Events, Extremes, State
from jaxgait.scheme import Mode
from jaxgait.solve.samples import Snapshot, at_first, including_step, snapshot
from jaxgait.solve.steps import instant, select, unfilled

MAX_HALVINGS = 40
"""Bisections of the step in which a guard falls (secants are slow where a guard jumps); Newton's step then reaches
rounding, within the last of them."""
CUBIC_ENOUGH_FOR = 5
"""Highest order of a solver, whose steps are so short that the cubic is about as accurate as the states."""
MAX_CORRECTIONS = 100
"""Largest number of steps of the solver to an event; three suffice where the guard has a simple zero."""


_MOTION = diffrax.ODETerm(lambda t, y, model: model.vector_field(t, y))


class _End(NamedTuple):
    """One end of the steps in which guards fell, by number of the event."""

    t: Array
    y: State


class Crossings(NamedTuple):
    """Steps in which guards fell through zero, in chronological order; the rest of the leading axis is padding."""

    guards: Float[Array, " guards"]
    """Values at the end of the last accepted step."""
    count: Int[Array, ""]
    kind: Int[Array, " events"]
    """Number of the guard; -1 after the last event."""
    start: _End
    end: _End


class _State(NamedTuple):
    inner: Any
    extremes: dict[str, Extremes]
    last: Snapshot
    """The watched outputs at the end of the last accepted step."""
    crossings: Crossings | None
    until: Array
    """Time in s at which the run ends."""


class Watching(diffrax.AbstractAdaptiveStepSizeController):
    """A step-size controller that delegates all decisions, and records extremes of outputs and events.

    diffrax shows its controller every step, and whether it is accepted; the controller's state is returned with
    `SaveAt(controller_state=True)`. The solve's `args` must be the model.
    """

    controller: diffrax.AbstractAdaptiveStepSizeController
    names: tuple[str, ...] = eqx.field(static=True)
    """Outputs or components of the state."""
    events: int = eqx.field(static=True)
    """Largest number of events to record."""
    mode: Mode = eqx.field(static=True)
    """Which derivatives go through (see `jaxgait.solve.samples.snapshot`)."""

    @property
    def rtol(self) -> Any:
        """That of the other controller."""
        return self.controller.rtol

    @property
    def atol(self) -> Any:
        """That of the other controller."""
        return self.controller.atol

    @property
    def norm(self) -> Any:
        """That of the other controller."""
        return self.controller.norm

    def wrap(self, direction: Any) -> Watching:
        """The same for one direction of time."""
        return dataclasses.replace(self, controller=self.controller.wrap(direction))

    def init(
        self, terms: Any, t0: Any, t1: Any, y0: Any, dt0: Any, args: Any, func: Any, error_order: Any
    ) -> tuple[Any, _State]:
        """End of the first step, and the values at the start."""
        end, inner = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        first = self._snapshot(t0, y0, args)
        none = _none(t0, y0, args, self.events) if self.events else None
        return end, _State(inner, at_first(first), first, none, jnp.asarray(t1))

    def adapt_step_size(
        self, t0: Any, t1: Any, y0: Any, y1_candidate: Any, args: Any, y_error: Any, error_order: Any, state: _State
    ) -> tuple[Any, Any, Any, Any, _State, Any]:
        """The other controller's decision; records accepted steps."""
        keep, *decided, inner, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, state.inner
        )
        here = self._snapshot(t1, y1_candidate, args)
        new = including_step(state.extremes, state.last, here), here
        extremes, last = select(jnp.asarray(keep), new, (state.extremes, state.last))
        crossings = state.crossings
        if crossings is not None:
            crossings = _crossed(crossings, _End(t0, y0), _End(t1, y1_candidate), args, keep, t1 >= state.until)
        return keep, *decided, _State(inner, extremes, last, crossings, state.until), result  # type: ignore[return-value]

    def _snapshot(self, t: Any, y: Any, model: Any) -> Snapshot:
        return snapshot(model, model.vector_field, t, y, self.names, self.mode)


def _guards(model: Any, t: Any, y: Any) -> Float[Array, " guards"]:
    return jnp.stack([jnp.asarray(guard(t, y)) for guard in model.events().values()])


def _none(t: Array, y: State, model: Any, most: int) -> Crossings:
    room = unfilled(_End(t, y), most)
    return Crossings(_guards(model, t, y), jnp.asarray(0), jnp.full(most, -1, jnp.int32), room, room)


def _crossed(c: Crossings, start: _End, end: _End, model: Any, keep: Any, last: Any) -> Crossings:
    """Adds the guards that fell in an accepted step (in the last also to zero but for rounding), up to the limit."""
    guards, step = _guards(model, *end), end.t - start.t
    at_end = last & (guards * step <= (c.guards - guards) * instant(step, end.t))
    fell = (c.guards > 0.0) & ((guards <= 0.0) | at_end) & keep
    most, found = c.kind.shape[0], c
    for i in range(guards.shape[0]):
        at = jnp.where(fell[i], found.count, most)
        put = lambda whole, one, at=at: whole.at[at].set(one, mode="drop")
        found = Crossings(
            guards,
            found.count + fell[i].astype(found.count.dtype),
            put(found.kind, jnp.asarray(i, jnp.int32)),
            jax.tree.map(put, found.start, start),
            jax.tree.map(put, found.end, end),
        )
    return found._replace(guards=jnp.where(keep, guards, c.guards))


@float64_default
def located(model: Any, crossings: Crossings, solver: diffrax.AbstractSolver) -> Events:
    """Events in the order of their times in s, each within its step; states before and after are the same.

    Args:
        model: the mechanism, with its `events`.
        crossings: the steps in which the events lie.
        solver: what made the steps.
    """
    accurate = (solver.order(_MOTION) or 0) > CUBIC_ENOUGH_FOR

    def found(one: tuple[Array, _End, _End]) -> tuple[Array, State]:
        first = _located(model, *one)
        return _corrected(model, solver, one[0], one[1], one[2].t, first[0]) if accurate else first

    none = lambda one: (one[1].t, one[1].y)
    # In a loop, not vectorised: there are few events, and space for many.
    t, y = jax.lax.map(
        lambda one: jax.lax.cond(one[0] >= 0, found, none, one), (crossings.kind, crossings.start, crossings.end)
    )
    order = jnp.argsort(t)  # NaN comes last
    t, kind, y = jax.tree.map(lambda leaf: leaf[order], (t, crossings.kind, y))
    missed = jnp.maximum(crossings.count - kind.size, 0)
    return Events(t, kind, y, y, missed=missed, names=tuple(model.events()))


def _located(model: Any, kind: Array, start: _End, end: _End) -> tuple[Array, State]:
    """Time and state of one event, with the derivatives of an implicit function."""
    k0, k1 = _increments(model, start, end)
    path = diffrax.ThirdOrderHermitePolynomialInterpolation(
        t0=start.t, t1=end.t, y0=start.y, y1=end.y, k0=k0, k1=k1
    ).evaluate
    guard = lambda t: _guards(model, t, path(t))[kind]

    def halved(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = 0.5 * (ends[0] + ends[1])
        above = guard(middle) > 0.0
        return jnp.where(above, middle, ends[0]), jnp.where(above, ends[1], middle)

    ends = jax.lax.fori_loop(0, MAX_HALVINGS, halved, (start.t, end.t))
    t = jax.lax.stop_gradient(0.5 * (ends[0] + ends[1]))
    value, slope = jax.jvp(guard, (t,), (jnp.ones_like(t),))
    t = _implicit(t, value, slope, ends)
    return t, path(t)


def _implicit(t: Array, value: Array, slope: Array, ends: tuple[Array, Array]) -> Array:
    """Newton's step from `t` in s, at most to one of the ends, with its own derivative."""
    slope = jax.lax.stop_gradient(slope)
    step = jnp.where(slope == 0.0, 0.0, -value / jnp.where(slope == 0.0, 1.0, slope))
    beyond = jax.lax.stop_gradient(step - jnp.clip(step, ends[0] - t, ends[1] - t))  # where the guard jumps
    return t + step - beyond


class _Search(NamedTuple):
    """The search for a zero between two times in s."""

    low: Array
    """Where the guard is positive."""
    high: Array
    t: Array
    """Where to look next."""
    step: Array
    """The last change of `t`."""
    count: Array


def _corrected(
    model: Any, solver: diffrax.AbstractSolver, kind: Array, start: _End, end: Array, near: Array
) -> tuple[Array, State]:
    """Time and state of the event near a time, by steps of the solver; with the derivatives of an implicit function.

    Newton's method, with bisections where it leaves the bracket or does not halve its steps.
    """

    def at(model: Any, start: _End, t: Array) -> tuple[State, State, tuple[Array, Array]]:
        """The state, its velocity, and the guard with its slope."""
        state = solver.init(_MOTION, start.t, t, start.y, model)
        y = solver.step(_MOTION, start.t, t, start.y, model, state, made_jump=False)[0]
        v = model.vector_field(t, y)
        return y, v, jax.jvp(lambda t, y: _guards(model, t, y)[kind], (t, y), (jnp.ones_like(t), v))

    known = jax.lax.stop_gradient((model, start))

    def narrowed(s: _Search) -> _Search:
        value, slope = at(*known, s.t)[2]
        low, high = jnp.where(value > 0.0, s.t, s.low), jnp.where(value > 0.0, s.high, s.t)
        newton = s.t - value / slope
        good = (newton >= low) & (newton <= high) & (jnp.abs(newton - s.t) <= 0.5 * jnp.abs(s.step))
        t = jnp.where(good, newton, 0.5 * (low + high))
        return _Search(low, high, t, t - s.t, s.count + 1)

    def unfinished(s: _Search) -> Array:
        rounding = 2.0 * jnp.finfo(s.t.dtype).eps * jnp.abs(s.t)
        return (jnp.abs(s.step) > rounding) & (s.high - s.low > rounding) & (s.count < MAX_CORRECTIONS)

    first = jax.lax.stop_gradient(_Search(start.t, end, near, end - start.t, jnp.asarray(0)))
    found = jax.lax.while_loop(unfinished, narrowed, first)
    y, v, (value, slope) = at(model, start, found.t)
    t = _implicit(found.t, value, slope, (found.low, found.high))
    return t, jax.tree.map(lambda y, v: y + (t - found.t) * v, y, v)


def _increments(model: Any, start: _End, end: _End) -> tuple[State, State]:
    """The step's length times the velocities at both ends, in one call because vector fields are long programs."""
    both = jax.tree.map(lambda a, b: jnp.stack([a, b]), start, end)
    v = jax.tree.map(lambda leaf: (end.t - start.t) * leaf, jax.vmap(model.vector_field)(*both))
    return jax.tree.map(lambda leaf: leaf[0], v), jax.tree.map(lambda leaf: leaf[1], v)
