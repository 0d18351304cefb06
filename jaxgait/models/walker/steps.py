"""Measures from the heel strikes of an event-driven walk."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxgait.measure import Measure, table
from jaxgait.outcome import code
from jaxgait.run import Run

__all__ = ["MEASURES"]

HEEL_STRIKE = 0
"""Number of the event in `Events.kind`."""


class _Steps(NamedTuple):
    """An even number of steps in the second half of a walk, from one heel strike to another."""

    number: Float[Array, ""]
    """NaN if there are fewer than two."""
    duration: Float[Array, ""]
    """In s."""
    length: Float[Array, ""]
    """In m, of the hip."""


def _steps(run: Run) -> _Steps:
    """The steps that count; the first half of a walk is its transient."""
    events = run.events
    counts = (events.kind == HEEL_STRIKE) & (events.t >= 0.5 * run.ts[-1])
    order = jnp.cumsum(counts)
    steps = jnp.maximum(order[-1] - 1, 0) // 2 * 2
    first, last = (jnp.argmax(order == n) for n in (1, 1 + steps))
    number = jnp.where(steps >= 2, steps.astype(events.t.dtype), jnp.nan)
    x = events.before.x
    return _Steps(number, events.t[last] - events.t[first], x[last] - x[first])


def _step_period(run: Run) -> Float[Array, ""]:
    walked = run.once(_steps)
    return walked.duration / walked.number


def _step_length(run: Run) -> Float[Array, ""]:
    walked = run.once(_steps)
    return walked.length / walked.number


def _velocity(run: Run) -> Float[Array, ""]:
    walked = run.once(_steps)
    return jnp.where(jnp.isnan(walked.number), jnp.nan, walked.length / walked.duration)


def _heel_strikes(run: Run) -> Int[Array, ""]:
    return jnp.sum(run.events.kind == HEEL_STRIKE)


def _fell_at(run: Run) -> Float[Array, ""]:
    fell = run.trajectory.status == code(run.model, "fell")
    return jnp.where(fell, run.trajectory.t_end, jnp.nan)


MEASURES = table(
    Measure("step_period", _step_period, "s", "mean time of a step in the second half of the walk"),
    Measure("step_length", _step_length, "m", "mean length of a step in the second half of the walk"),
    Measure("velocity", _velocity, "m/s", "mean velocity in the second half of the walk"),
    Measure("heel_strikes", _heel_strikes, "1", "number of heel strikes", early=True),
    Measure("fell_at", _fell_at, "s", "time of the fall (NaN: it did not fall)", early=True),
)
"""Measures of a walk of the rolling walker, by name."""
