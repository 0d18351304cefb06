"""What schemes with steps of fixed length share: the number of steps, and the results of each step."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxgait.checks import nearest
from jaxgait.mechanics import Scalar
from jaxgait.model import Model, State
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.run import Events, Extremes, Sampling, Trajectory, blank, state_variables
from jaxgait.solve.resolving import all_finite

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


def prepared(model: Any) -> Any:
    """A model with everything derived from its parameters; itself if it only has the methods of a protocol."""
    return model.prepared() if isinstance(model, Model) else model


def start_state(model: Any, y0: State | None) -> State:
    """A given state, or the model's own, as arrays in SI units."""
    return jax.tree.map(lambda x: jnp.asarray(x, dtype=float), model.initial_state() if y0 is None else y0)


def time_after(t0: Scalar, dt: Scalar, index: Array) -> Array:
    """Time in s (a scalar) after a number of steps; a product, so that rounding does not accumulate."""
    return t0 + jnp.asarray(index, dtype=float) * dt


class Motion(NamedTuple):
    """State of a march, carried from step to step."""

    y: State
    """The present state; after an early end, the state at that end."""
    steps: Int[Array, ""]
    """Number of steps so far, or until the early end."""
    status: Int[Array, ""]
    totals: dict[str, Array]
    """Sums over the steps, each in its own unit."""
    extremes: dict[str, Extremes]

    @classmethod
    def at_start(cls, model: Any, t: Scalar, y: State, amounts: dict[str, Any], watch: tuple[str, ...]) -> Motion:
        """The motion before the first step, at time `t` in s; `amounts` are the shapes of what each step adds."""
        totals = {n: jnp.zeros(x.shape, x.dtype) for n, x in amounts.items()}
        seen = {n: Extremes(x, x) for n, x in watched(model, t, y, watch).items()}
        return cls(y, jnp.int32(0), jnp.int32(Outcome.COMPLETED), totals, seen)

    def moved(
        self, model: Any, t: Scalar, y: State, amounts: dict[str, Array], watch: tuple[str, ...]
    ) -> tuple[Motion, dict[str, Array], Bool[Array, ""]]:
        """The motion after a step to state `y` at time `t` in s; after an early end nothing changes.

        Returns:
            Also what the step adds, in the units and shapes of the totals, zeros unless it counts; and whether it does.
        """
        running = self.status == Outcome.COMPLETED
        code = ending(model, t, y)
        counts = running & (code != Outcome.NONFINITE)
        amounts = {n: jnp.where(counts, x, 0.0) for n, x in amounts.items()}
        after = Motion(
            select(running, y, self.y),
            self.steps + running.astype(jnp.int32),
            jnp.where(running, code, self.status),
            {n: self.totals[n] + x for n, x in amounts.items()},
            widened(self.extremes, watched(model, t, y, watch), counts),
        )
        return after, amounts, counts

    def trajectory(
        self, ts: Float[Array, " times"], dt: Scalar, first: Motion, rest: Any, events: Events | None = None
    ) -> Trajectory:
        """The trajectory that ends in this motion, after steps of length `dt` in s.

        Args:
            ts: sampling times in s.
            dt: length of the steps in s.
            first: the motion at the first of them.
            rest: states and totals at all others, along one axis.
            events: what happened.
        """
        t_end = jnp.where(self.status == Outcome.COMPLETED, ts[-1], time_after(ts[0], dt, self.steps))
        samples = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), (first.y, first.totals), rest)
        ys, totals = jax.tree.map(lambda x: blank(x, ts <= t_end), samples)
        rejected = jnp.zeros_like(self.steps)
        return Trajectory(ts, ys, self.status, t_end, self.y, self.steps, rejected, self.extremes, events, totals)


def unfilled(tree: T, count: int) -> T:
    """Room for `count` pytrees of the same units along a leading axis, filled with NaN."""
    return jax.tree.map(lambda x: jnp.full((count, *jnp.shape(x)), jnp.nan, jnp.result_type(x)), tree)


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
    return jnp.where(all_finite(y), code, jnp.int32(Outcome.NONFINITE))


def endings(model: Any, ts: Float[Array, " steps"], ys: State) -> Int[Array, " steps"]:
    """`ending` after each of several steps, with a leading axis; times in s."""
    return jax.vmap(lambda t, y: ending(model, t, y))(ts, ys)


def watched(model: Any, t: Scalar, y: State, names: tuple[str, ...]) -> dict[str, Array]:
    """Outputs or components of the state by name, at one time in s, each in its own unit and shape.

    Raises:
        ValueError: for an unknown name, with the nearest ones.
    """
    found = state_variables(y)
    if not all(n in found for n in names):
        found = {**model.outputs(t, y), **found}
    if unknown := [n for n in names if n not in found]:
        raise ValueError(f"there is no {unknown[0]!r} to watch: {nearest(unknown[0], found)}")
    return {n: jnp.asarray(found[n]) for n in names}


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
