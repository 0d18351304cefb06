"""What is recorded of a run: samples at given times, and extremes of outputs, also between the ends of steps.

Values and rates at both ends of a step define a cubic. Where an output turns within the step, its extreme is that of
the cubic, with an error of fourth order in the step. Values at the ends alone give the extreme to second order and its
derivative to first order, and both jump when another step becomes the extreme one. Only the ends count where both rates
have the same sign, or the cubic is far from a parabola.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxgait.model import Scalar, State
from jaxgait.precision import float64_default
from jaxgait.run import Extremes
from jaxgait.scheme import Mode
from jaxgait.solve.steps import like_state, select, unfilled, watched


class Snapshot(NamedTuple):
    """Outputs at one instant."""

    t: Array
    """Time in s."""
    values: dict[str, Array]
    rates: dict[str, Array]
    """Their time derivatives along the motion, per s; counts and flags have none."""


def snapshot(
    model: Any, field: Callable[[Scalar, State], State], t: Array, y: State, names: tuple[str, ...], mode: Mode
) -> Snapshot:
    """Outputs or components of the state at time `t` in s, and their rates.

    Args:
        model: whose outputs they are.
        field: the vector field; not called if nothing is watched.
        t: time in s, a scalar.
        y: state.
        names: what to record.
        mode: of differentiation. In reverse mode the rates carry no derivative: an infinite second derivative (x^1.5 at
            0) would turn zero cotangents into NaN. The derivative of an extreme within a step then has an error of
            first order in the step.
    """
    if not names:
        return Snapshot(t, {}, {})
    motion = jnp.ones_like(t), like_state(field(t, y), y)
    values, rates = jax.jvp(lambda t, y: watched(model, t, y, names), (t, y), motion)
    kept = {name: rates[name] for name, x in values.items() if jnp.issubdtype(x.dtype, jnp.inexact)}
    return Snapshot(t, values, jax.lax.stop_gradient(kept) if mode == "reverse" else kept)


def at_first(first: Snapshot) -> dict[str, Extremes]:
    """The extremes after one observation."""
    return {name: Extremes(x, x) for name, x in first.values.items()}


def including_step(seen: dict[str, Extremes], start: Snapshot, end: Snapshot) -> dict[str, Extremes]:
    """The extremes including one more step: its end and the turning points within it."""
    found = {}
    for name, old in seen.items():
        low = high = end.values[name]
        if name in end.rates:
            step = (end.t - start.t).astype(high.dtype)
            slopes = (step * at.rates[name] for at in (start, end))
            turn, top, bottom = _turning(start.values[name], end.values[name], *slopes)
            low, high = jnp.where(bottom, jnp.minimum(turn, low), low), jnp.where(top, jnp.maximum(turn, high), high)
        found[name] = old.including(low, high)
    return found


def _turning(a: Array, b: Array, p: Array, q: Array) -> tuple[Array, Array, Array]:
    """Extreme of the cubic from a to b with slopes p and q per step, and whether it is a maximum or a minimum.

    It is neither where the cubic is far from a parabola: the output jumps, or the step is too long for it. A jump
    between two levels has a cubic term of -2/3 of the quadratic one.
    """
    rise = b - a
    square, cube = 3.0 * rise - 2.0 * p - q, p + q - 2.0 * rise
    near = jnp.abs(cube) < 0.5 * jnp.abs(square)
    top, bottom = (p > 0.0) & (q < 0.0) & near, (p < 0.0) & (q > 0.0) & near
    turns, sign = top | bottom, jnp.where(p > 0.0, 1.0, -1.0)
    root = jnp.sqrt(jnp.where(turns, square**2 - 3.0 * cube * p, 1.0))
    s = jnp.where(turns, sign * p / jnp.where(turns, root - sign * square, 1.0), 0.0)
    return a + s * (p + s * (square + s * cube)), top, bottom


Field = Callable[[Scalar, State], State]


class _Record(NamedTuple):
    """What has been recorded so far."""

    next: Int[Array, ""]
    ys: Any
    """Samples, NaN where there is none yet."""
    extremes: dict[str, Extremes]
    last: Snapshot
    """The watched outputs at the end of the last step."""


@float64_default
class SampleRecorder:
    """Sampling times, on which steps end, and outputs whose extremes are recorded."""

    def __init__(self, model: Any, ts: Float[Array, " times"], watch: tuple[str, ...], mode: Mode) -> None:
        self.model, self.ts, self.watch = model, ts, watch
        self.mode: Mode = mode

    def start(self, y: State, field: Field) -> _Record:
        """The record at the first sample, from the state there in its own units, and the phase's vector field."""
        ys = jax.tree.map(lambda many, one: many.at[0].set(one), unfilled(y, self.ts.shape[0]), y)
        first = self._snapshot(self.ts[0], y, field)
        return _Record(jnp.asarray(1), ys, at_first(first), first)

    def landing(self, seen: _Record, t: Array, dt: Array) -> tuple[Array, Array]:
        """Length and end in s (scalars) of the next step, shortened to end on the next sample."""
        sample = self.ts[jnp.minimum(seen.next, self.ts.shape[0] - 1)]
        lands = (t + dt >= sample) & (t < sample)
        return jnp.where(lands, sample - t, dt), jnp.where(lands, sample, t + dt)

    def step(self, seen: _Record, t: Array, y: State, moved: Array, field: Field, early: Scalar = 0.0) -> _Record:
        """Records a step to time `t` in s (a scalar), if it was accepted (`moved`) and is without an event.

        A sample is due up to `early` in s before its time.

        Samples are set one by one: a choice between whole arrays would copy them at every step.
        """
        i = jnp.minimum(seen.next, self.ts.shape[0] - 1)
        due = moved & (t + early >= self.ts[i]) & (seen.next < self.ts.shape[0])
        here = self._snapshot(t, y, field)
        new = including_step(seen.extremes, seen.last, here), here
        extremes, last = select(moved, new, (seen.extremes, seen.last))
        ys = jax.tree.map(lambda whole, one: whole.at[i].set(jnp.where(due, one, whole[i])), seen.ys, y)
        return _Record(seen.next + due.astype(int), ys, extremes, last)

    def event(
        self, seen: _Record, t: Array, states: tuple[State, State], fields: tuple[Field, Field], rounding: Scalar
    ) -> _Record:
        """Records an event at time `t` in s (a scalar), with the states and vector fields before and after it.

        A sample at the same instant, but for a `rounding` error in s, is the state before it.
        """
        seen = self.step(seen, t, states[0], jnp.asarray(True), fields[0], rounding)
        after = self._snapshot(t, states[1], fields[1])
        return seen._replace(extremes=including_step(seen.extremes, after, after), last=after)

    def samples(self, seen: _Record, y_end: State, completed: Array) -> State:
        """The samples in SI units, with a leading axis; the last one is the end of a completed run."""
        return jax.tree.map(lambda whole, one: whole.at[-1].set(jnp.where(completed, one, whole[-1])), seen.ys, y_end)

    def _snapshot(self, t: Array, y: State, field: Field) -> Snapshot:
        return snapshot(self.model, field, t, y, self.watch, self.mode)
