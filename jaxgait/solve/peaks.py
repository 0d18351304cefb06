"""Extremes of outputs between the ends of a solver's steps.

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
from jaxtyping import Array

from jaxgait.model import Scalar, State
from jaxgait.run import Extremes
from jaxgait.scheme import Mode
from jaxgait.solve.steps import watched


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
    motion = jax.tree.map(lambda rate, z: jnp.asarray(rate, jnp.result_type(z)), field(t, y), y)
    values, rates = jax.jvp(lambda t, y: watched(model, t, y, names), (t, y), (jnp.ones_like(t), motion))
    kept = {name: rates[name] for name, x in values.items() if jnp.issubdtype(x.dtype, jnp.inexact)}
    return Snapshot(t, values, jax.lax.stop_gradient(kept) if mode == "reverse" else kept)


def at_first(first: Snapshot) -> dict[str, Extremes]:
    """The extremes after one observation."""
    return {name: Extremes(x, x) for name, x in first.values.items()}


def widened(seen: dict[str, Extremes], start: Snapshot, end: Snapshot) -> dict[str, Extremes]:
    """The extremes including one more step: its end and the turning points within it."""
    found = {}
    for name, old in seen.items():
        low = high = end.values[name]
        if name in end.rates:
            step = (end.t - start.t).astype(high.dtype)
            slopes = (step * at.rates[name] for at in (start, end))
            turn, top, bottom = _turning(start.values[name], end.values[name], *slopes)
            low, high = jnp.where(bottom, jnp.minimum(turn, low), low), jnp.where(top, jnp.maximum(turn, high), high)
        found[name] = Extremes(jnp.minimum(old.least, low), jnp.maximum(old.largest, high))
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
    s = jax.lax.stop_gradient(s)  # where it turns, the value does not depend on the time
    return a + s * (p + s * (square + s * cube)), top, bottom
