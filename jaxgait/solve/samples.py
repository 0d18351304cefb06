"""What is recorded of an event-driven run: samples at given times, and extremes of outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxgait.model import Scalar, State
from jaxgait.precision import float64_default
from jaxgait.run import Extremes, blank
from jaxgait.scheme import Mode
from jaxgait.solve.peaks import Snapshot, at_first, snapshot, widened
from jaxgait.solve.steps import select, unfilled

Field = Callable[[Scalar, State], State]


class _Seen(NamedTuple):
    """What has been recorded so far."""

    next: Int[Array, ""]
    ys: Any
    """Samples, NaN where there is none yet."""
    extremes: dict[str, Extremes]
    last: Snapshot
    """The watched outputs at the end of the last step."""


@float64_default
class Samples:
    """Sampling times, on which steps end, and outputs whose extremes are recorded."""

    def __init__(self, model: Any, ts: Float[Array, " times"], watch: tuple[str, ...], mode: Mode) -> None:
        self.model, self.ts, self.watch = model, ts, watch
        self.mode: Mode = mode

    def start(self, y: State, field: Field) -> _Seen:
        """The record at the first sample, from the state there in its own units, and the phase's vector field."""
        ys = jax.tree.map(lambda many, one: many.at[0].set(one), unfilled(y, self.ts.shape[0]), y)
        first = self._snapshot(self.ts[0], y, field)
        return _Seen(jnp.asarray(1), ys, at_first(first), first)

    def landing(self, seen: _Seen, t: Array, dt: Array) -> tuple[Array, Array]:
        """Length and end in s (scalars) of the next step, shortened to end on the next sample."""
        sample = self.ts[jnp.minimum(seen.next, self.ts.shape[0] - 1)]
        lands = (t + dt >= sample) & (t < sample)
        return jnp.where(lands, sample - t, dt), jnp.where(lands, sample, t + dt)

    def step(self, seen: _Seen, t: Array, y: State, moved: Array, field: Field) -> _Seen:
        """Records a step to time `t` in s (a scalar), if it was accepted (`moved`) and is without an event.

        Samples are set one by one: a choice between whole arrays would copy them at every step.
        """
        i = jnp.minimum(seen.next, self.ts.shape[0] - 1)
        due = moved & (t >= self.ts[i]) & (seen.next < self.ts.shape[0])
        here = self._snapshot(t, y, field)
        extremes, last = select(moved, (widened(seen.extremes, seen.last, here), here), (seen.extremes, seen.last))
        ys = jax.tree.map(lambda whole, one: whole.at[i].set(jnp.where(due, one, whole[i])), seen.ys, y)
        return _Seen(seen.next + due.astype(int), ys, extremes, last)

    def event(self, seen: _Seen, t: Array, states: tuple[State, State], fields: tuple[Field, Field]) -> _Seen:
        """Records an event at time `t` in s (a scalar), with the states and vector fields before and after it.

        A sample at the same instant is the state before it.
        """
        seen = self.step(seen, t, states[0], jnp.asarray(True), fields[0])
        after = self._snapshot(t, states[1], fields[1])
        return seen._replace(extremes=widened(seen.extremes, after, after), last=after)

    def samples(self, seen: _Seen, t_end: Array, y_end: State, completed: Array) -> State:
        """The samples up to the end at `t_end` in s (a scalar), with a leading axis; the end is the last one."""
        last = jax.tree.map(lambda whole, one: whole.at[-1].set(jnp.where(completed, one, whole[-1])), seen.ys, y_end)
        return jax.tree.map(lambda z: blank(z, self.ts <= t_end), last)

    def _snapshot(self, t: Array, y: State, field: Field) -> Snapshot:
        return snapshot(self.model, field, t, y, self.watch, self.mode)
