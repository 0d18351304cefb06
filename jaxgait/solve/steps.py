"""What schemes with steps of fixed length share: how many steps, what is read off many of them at once."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxgait.mechanics.scalars import Scalar
from jaxgait.model import State
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.run import Extremes, Sampling, state_variables

__all__ = ["division", "endings", "extremes", "joined", "time_after", "watched", "widened"]

T = TypeVar("T")

DT = 1e-4
"""Longest step in s unless the model or the user says otherwise."""
LONGEST_BLOCK = 500
"""Steps that are looked at together at most: their memory is that of all of them, for every member of a batch."""
ROUNDING = 1e-6
"""By how much of a step a number of steps may miss a whole one."""


def division(sampling: Sampling, dt: float, longest: int) -> tuple[int, int]:
    """Blocks between two samples, and steps per block: as few as keep steps within `dt` and blocks within `longest`.

    Args:
        sampling: its interval is that of the model's own parameters.
        dt: longest step in s.
        longest: steps per block at most.

    Raises:
        ValueError: for a sampling that does not know the time between samples.
    """
    if sampling.interval is None:
        raise ValueError("the time between samples is not known: make the sampling with Sampling.of")
    steps = max(1, math.ceil(sampling.interval / dt - ROUNDING))
    blocks = math.ceil(steps / longest)
    return blocks, math.ceil(steps / blocks)


def time_after(t0: Scalar, dt: Scalar, index: Array) -> Array:
    """Time in s after a number of steps: no sum, so that the last of a million is as exact as the first."""
    return t0 + jnp.asarray(index, dtype=float) * dt


def joined(first: T, rest: T) -> T:
    """Values at the start and at all later samples as one axis."""
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest)


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


def widened(seen: dict[str, Extremes], new: dict[str, Extremes]) -> dict[str, Extremes]:
    """Extremes of two parts of a run together."""
    return {
        n: Extremes(jnp.minimum(old.least, new[n].least), jnp.maximum(old.largest, new[n].largest))
        for n, old in seen.items()
    }
