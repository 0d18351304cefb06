"""What schemes with steps of their own read off a number of steps at once: how they end, and extremes of outputs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxgait.mechanics.scalars import Scalar
from jaxgait.model import State
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.run import Extremes, state_variables

__all__ = ["endings", "extremes", "watched"]


def endings(model: Any, ts: Float[Array, " steps"], ys: State) -> Int[Array, " steps"]:
    """The outcome that each of the steps would have, had it been the last: `Outcome.COMPLETED` where the run goes on.

    Args:
        model: its terminations count in their order.
        ts: times in s.
        ys: states, with the leading axis of `ts`.
    """
    codes = jnp.full(ts.shape, int(Outcome.COMPLETED))
    for i, condition in enumerate(model.terminations().values()):
        met = jax.vmap(condition)(ts, ys)
        codes = jnp.where((codes == Outcome.COMPLETED) & met, FIRST_TERMINATION + i, codes)
    finite = [jnp.isfinite(x).reshape(ts.shape[0], -1).all(axis=1) for x in jax.tree.leaves(ys)]
    return jnp.where(jnp.stack(finite).all(axis=0), codes, int(Outcome.NONFINITE))


def watched(model: Any, t: Scalar, y: State, names: tuple[str, ...]) -> dict[str, Array]:
    """Outputs or components of the state by name, at one time in s."""
    components = state_variables(y)
    outputs = {} if all(n in components for n in names) else model.outputs(t, y)
    return {n: jnp.asarray({**outputs, **components}[n]) for n in names}


def extremes(values: dict[str, Array], counts: Bool[Array, " steps"]) -> dict[str, Extremes]:
    """Extremes over the steps that count."""
    found = {}
    for name, x in values.items():
        keep = counts.reshape(-1, *[1] * (x.ndim - 1))
        low, high = (jnp.where(keep, x, worst) for worst in (jnp.inf, -jnp.inf))
        found[name] = Extremes(low.min(axis=0), high.max(axis=0))
    return found
