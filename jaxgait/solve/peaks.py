"""Extremes of outputs between the ends of a solver's steps.

Values and rates at both ends of a step give a cubic. Where an output turns within the step, its extreme is that of the
cubic, in error by the fourth order of the step; a largest value over ends alone is in error by the second order, its
derivative by the first, and both jump as another step becomes the largest one. Ends alone count where the rates at
both have one sign, and where the cubic is far from a parabola.
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

__all__ = ["Look", "at_first", "look", "widened"]


class Look(NamedTuple):
    """Outputs at one instant."""

    t: Array
    """Time in s."""
    values: dict[str, Array]
    rates: dict[str, Array]
    """Their time derivatives along the motion, per s; counts and flags have none."""


def look(
    model: Any, field: Callable[[Scalar, State], State], t: Array, y: State, names: tuple[str, ...], mode: Mode
) -> Look:
    """Outputs or components of the state at time `t` in s, and how fast they change.

    Args:
        model: whose outputs they are.
        field: the vector field that moves the state; not called if nothing is looked at.
        t: time in s, a scalar.
        y: state.
        names: what to look at.
        mode: which derivatives go through. In reverse mode none go through the rates: a second derivative that is
            infinite (x^1.5 at 0) would make NaN of the zero that comes back at instants that are no extremes. The
            derivative of an extreme within a step is then in error by the first order of the step.
    """
    if not names:
        return Look(t, {}, {})
    motion = jax.tree.map(lambda rate, z: jnp.asarray(rate, jnp.result_type(z)), field(t, y), y)
    values, rates = jax.jvp(lambda t, y: watched(model, t, y, names), (t, y), (jnp.ones_like(t), motion))
    kept = {name: rates[name] for name, x in values.items() if jnp.issubdtype(x.dtype, jnp.inexact)}
    return Look(t, values, jax.lax.stop_gradient(kept) if mode == "reverse" else kept)


def at_first(first: Look) -> dict[str, Extremes]:
    """Extremes of what was seen once."""
    return {name: Extremes(x, x) for name, x in first.values.items()}


def widened(seen: dict[str, Extremes], start: Look, end: Look) -> dict[str, Extremes]:
    """Extremes with those of one more step, its end and the turning points within it."""
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
    """Extreme of the cubic from a to b with the slopes p and q per step, and whether it is a largest or a least value.

    It is neither where the cubic is far from a parabola: there the output jumps, or the step is too long for it. A jump
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
