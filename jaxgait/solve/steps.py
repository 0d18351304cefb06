"""What schemes with steps of fixed length share: the number of steps, and the results of each step."""

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

T = TypeVar("T")

DT = 1e-4
"""Default of the longest step in s, for models without `Numerics.dt`."""
ROUNDING = 1e-6
"""Largest deviation of a number of steps from an integer that counts as rounding."""


def division(sampling: Sampling, dt: float, longest: int | None = None) -> tuple[int, int]:
    """Blocks between two samples, and steps per block: as few as keep steps within `dt` and blocks within `longest`.

    Args:
        sampling: when the run is sampled; its interval must be known.
        dt: longest step in s.
        longest: largest number of steps per block; None: one block.

    Raises:
        ValueError: for a sampling whose interval is not known.
    """
    if sampling.interval is None:
        raise ValueError("the time between samples is not known: make the sampling with Sampling.of")
    steps = max(1, math.ceil(sampling.interval / dt - ROUNDING))
    blocks = 1 if longest is None else math.ceil(steps / longest)
    return blocks, math.ceil(steps / blocks)


def time_after(t0: Scalar, dt: Scalar, index: Array) -> Array:
    """Time in s (a scalar) after a number of steps; a product, so that rounding does not accumulate."""
    return t0 + jnp.asarray(index, dtype=float) * dt


def joined(first: T, rest: T) -> T:
    """Values at the start and at all later samples along one axis."""
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest)


def select(condition: Bool[Array, ""], yes: T, no: T) -> T:
    """One of two pytrees of the same units, leaf by leaf; `condition` is a scalar."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def ending(model: Any, t: Scalar, y: State) -> Int[Array, ""]:
    """The outcome of a run that ends after a step: one of the model's terminations, otherwise `Outcome.COMPLETED`.

    Args:
        model: the mechanism; the first of its terminations that is true counts.
        t: time in s after the step.
        y: state after it.
    """
    code = jnp.int32(Outcome.COMPLETED)
    for i, condition in enumerate(model.terminations().values()):
        code = jnp.where((code == Outcome.COMPLETED) & condition(t, y), jnp.int32(FIRST_TERMINATION + i), code)
    finite = jnp.stack([jnp.isfinite(x).all() for x in jax.tree.leaves(y)]).all()
    return jnp.where(finite, code, jnp.int32(Outcome.NONFINITE))


def endings(model: Any, ts: Float[Array, " steps"], ys: State) -> Int[Array, " steps"]:
    """`ending` after each of several steps, with a leading axis; times in s."""
    return jax.vmap(lambda t, y: ending(model, t, y))(ts, ys)


def watched(model: Any, t: Scalar, y: State, names: tuple[str, ...]) -> dict[str, Array]:
    """Outputs or components of the state by name, at one time in s, each in its own unit and shape."""
    components = state_variables(y)
    outputs = {} if all(n in components for n in names) else model.outputs(t, y)
    return {n: jnp.asarray({**outputs, **components}[n]) for n in names}


def extremes(values: dict[str, Array], counts: Bool[Array, " steps"]) -> dict[str, Extremes]:
    """Extremes, each in its own unit, over the steps where `counts` is true, which are the leading axis."""
    found = {}
    for name, x in values.items():
        keep = counts.reshape(-1, *[1] * (x.ndim - 1))
        low, high = (jnp.where(keep, x, worst) for worst in (jnp.inf, -jnp.inf))
        found[name] = Extremes(low.min(axis=0), high.max(axis=0))
    return found


def widened(seen: dict[str, Extremes], values: dict[str, Array], counts: Bool[Array, ""]) -> dict[str, Extremes]:
    """Extremes, each in its own unit and shape, widened by the values of one more step if `counts` is true."""
    low, high = ({n: jnp.where(counts, x, worst) for n, x in values.items()} for worst in (jnp.inf, -jnp.inf))
    return {n: Extremes(jnp.minimum(old.least, low[n]), jnp.maximum(old.largest, high[n])) for n, old in seen.items()}
