"""What is read off a walk: the rolling gait and its numbers, and the statistics of a time-stepped walk.

- `rolling_gait`: the periodic gait of the event-driven walker, differentiable with respect to every parameter;
- `walk` and `walk_statistics`: heel strikes, period, step length, speed, slip, flight and losses of the LCP walker.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxgait.models.base import Scalar
from jaxgait.models.walker import WalkerState
from jaxgait.models.walker_rigid import RigidWalker, RollingWalker
from jaxgait.solve.hybrid import hybrid
from jaxgait.solve.periodic import FixedPoint, PoincareMap, fixed_point
from jaxgait.solve.time_stepping import Step, march

__all__ = [
    "GAIT",
    "RollingGait",
    "Walk",
    "WalkStatistics",
    "heel_strikes",
    "losses",
    "passing_gait",
    "rolling_gait",
    "walk",
    "walk_statistics",
]

GAIT = (0.19357318, -1.43542848, -1.11795551)
"""Section point (stance angle in rad, stance rate, swing rate in rad/s) of the paper's walker: a good first guess."""
BLOCK = 0.1
"""Length in s of the blocks of `walk`; shorter than `SWING`, so that a block has at most one heel strike per foot."""
SWING = 0.15
"""A contact after this time in s without contact is a heel strike, anything sooner a bounce."""
STICTION = 1e-6
"""Slip velocity in m/s below which a foot at the friction cone counts as sticking."""


class RollingGait(NamedTuple):
    """The periodic gait of the rolling walker."""

    point: FixedPoint
    period: Scalar
    """Time in s of one step."""
    step_length: Scalar
    """Advance in m of the hip per step."""
    velocity: Scalar
    normal_impulse: Scalar
    """N s, at heel strike."""
    tangent_impulse: Scalar
    energy_lost: Scalar
    """J, at heel strike."""
    lift_off: Scalar
    """Velocity in m/s with which the old stance foot leaves."""


def rolling_gait(
    walker: RollingWalker, guess: Float[Array, 3] | None = None, return_map: PoincareMap = PoincareMap()
) -> RollingGait:
    """Solves for the periodic gait; jittable, batchable by `jax.vmap`, differentiable in the walker's parameters.

    Args:
        walker: its leaves may be traced.
        guess: section point near the gait; that of the paper's walker if None.
        return_map: integration settings.
    """
    z0 = jnp.asarray(GAIT) if guess is None else guess
    point = fixed_point(return_map, walker, z0)
    y0 = walker.on_section(point.z)
    run = hybrid(walker, events=1, t_end=return_map.longest, y0=y0, settings=return_map.settings)
    before = type(y0)(*(leaf[0] for leaf in run.before))
    strike = walker.heel_strike(before)
    length = before.x - y0.x
    return RollingGait(
        point,
        run.t_end,
        length,
        length / run.t_end,
        strike.normal_impulse,
        strike.tangent_impulse,
        strike.energy_lost,
        strike.trailing_rate,
    )


def passing_gait(
    t: Float[np.ndarray, " times"], x: Float[np.ndarray, " times"], apart: Float[np.ndarray, " times"]
) -> tuple[float, float]:
    """Mean period in s of a step and velocity in m/s of any walk, over an even number of steps; NaN below two.

    The legs pass each other once per step; the moments are interpolated between samples.

    Args:
        t: sample times in s, of the part of the walk that counts.
        x: hip position in m.
        apart: angle in rad between the legs.
    """
    i = np.flatnonzero(np.signbit(apart[1:]) != np.signbit(apart[:-1]))
    steps = (len(i) - 1) // 2 * 2
    if steps < 2:
        return float("nan"), float("nan")
    weight = apart[i] / (apart[i] - apart[i + 1])
    passing, place = t[i] + weight * (t[i + 1] - t[i]), x[i] + weight * (x[i + 1] - x[i])
    span = passing[steps] - passing[0]
    return float(span / steps), float((place[steps] - place[0]) / span)


class Walk(NamedTuple):
    """A time-stepped walk in blocks of `BLOCK` s; the two feet are stacked on the last axis."""

    t: Float[Array, "*batch blocks"]
    """Time in s at the end of each block."""
    y: WalkerState
    """State there."""
    fallen: Bool[Array, "*batch blocks"]
    first_t: Float[Array, "*batch blocks 2"]
    """Time in s of the first contact in the block; infinity if there is none."""
    first_x: Float[Array, "*batch blocks 2"]
    """Hip position in m then."""
    first_impulse: Float[Array, "*batch blocks 2"]
    """Normal impulse in N s then."""
    last_t: Float[Array, "*batch blocks 2"]
    """Time in s of the last contact in the block; minus infinity if there is none."""
    slip: Float[Array, "*batch blocks 2"]
    """Distance in m slipped in the block."""
    flight: Float[Array, "*batch blocks"]
    """Time in s with both feet in the air."""
    impact_work: Float[Array, "*batch blocks"]
    """Work in J of impacts (negative: lost), see `losses`."""
    friction_work: Float[Array, "*batch blocks"]
    """Work in J of sliding friction."""


def walk(walker: RigidWalker, dt: float = 1e-4, duration: float = 50.0) -> Walk:
    """Walks the LCP walker from its start and keeps what its statistics need.

    Args:
        walker: its leaves may be traced: `jax.vmap` makes an ensemble.
        dt: step in s.
        duration: in s.
    """

    def summarise(steps: Step) -> Walk:
        impact_work, friction_work, slipping = losses(walker, steps)
        normal = jnp.stack(steps.impulses[::2], axis=1)
        touching = normal > 0.0
        t = steps.t[:, None]
        first = jnp.argmax(touching, axis=0)
        slip = jnp.abs(jnp.stack(steps.slips, axis=1))
        end = WalkerState(*(leaf[-1] for leaf in steps.y))
        return Walk(
            t=steps.t[-1],
            y=end,
            fallen=walker.fell(end),
            first_t=jnp.min(jnp.where(touching, t, jnp.inf), axis=0),
            first_x=steps.y.x[first],
            first_impulse=jnp.take_along_axis(normal, first[None, :], axis=0)[0],
            last_t=jnp.max(jnp.where(touching, t, -jnp.inf), axis=0),
            slip=dt * jnp.sum(jnp.where(slipping & (slip > STICTION), slip, 0.0), axis=0),
            flight=dt * jnp.sum(jnp.where(jnp.any(touching, axis=1), 0.0, 1.0)),
            impact_work=jnp.sum(impact_work),
            friction_work=jnp.sum(friction_work),
        )

    return march(walker, dt, round(duration / BLOCK), round(BLOCK / dt), summarise)


def losses(
    walker: RigidWalker, steps: Step
) -> tuple[Float[Array, " steps"], Float[Array, " steps"], Bool[Array, "steps 2"]]:
    """Work in J of impacts and of sliding friction in every step, and which foot slips.

    A foot slips where its tangential impulse lies on the friction cone. The tangential impulse of a foot that sticks
    does work only at its impact, and counts there.
    """
    normal, tangent = jnp.stack(steps.impulses[::2], axis=1), jnp.stack(steps.impulses[1::2], axis=1)
    slipping = (jnp.abs(tangent) >= walker.friction * normal - 1e-12) & (normal > 0.0)
    tangent_work = jnp.stack(steps.work[1::2], axis=1)
    friction = jnp.sum(jnp.where(slipping, tangent_work, 0.0), axis=1)
    return sum(steps.work) - friction, friction, slipping


class WalkStatistics(NamedTuple):
    """Numbers of one walk over its steady part; NaN if it fell."""

    fell_at: float
    """Time in s of the fall; infinity if it did not fall."""
    period: float
    """Mean time in s of a step."""
    step_length: float
    velocity: float
    impulse: float
    """Mean normal impulse in N s at heel strike."""
    alternate_periods: tuple[float, float]
    """Mean times in s of the steps that begin with foot 1 and with foot 2; different in a gait of period two."""
    slip: tuple[float, float]
    """Distance in m that each foot slips per stride (two steps)."""
    flight: float
    """Time in s in the air per step."""
    impact_loss: float
    """Energy in J lost in impacts per step."""
    friction_loss: float
    strikes: Float[np.ndarray, "strikes 4"]
    """All heel strikes: time in s, foot (1 or 2), hip position in m, normal impulse in N s."""


def heel_strikes(one: Walk) -> Float[np.ndarray, "strikes 4"]:
    """All heel strikes of one walk: time in s, foot, hip position in m, normal impulse in N s."""
    rows = []
    for foot in (0, 1):
        first, last = np.asarray(one.first_t)[:, foot], np.asarray(one.last_t)[:, foot]
        before = np.concatenate([[0.0], np.maximum.accumulate(np.maximum(last, 0.0))[:-1]])
        struck = np.isfinite(first) & (first - before >= SWING)
        x, impulse = np.asarray(one.first_x)[:, foot], np.asarray(one.first_impulse)[:, foot]
        rows.append(np.column_stack([first, np.full(first.shape, foot + 1.0), x, impulse])[struck])
    table = np.concatenate(rows)
    return table[np.argsort(table[:, 0])]


def walk_statistics(one: Walk, after: float = 25.0) -> WalkStatistics:
    """Statistics of one walk (no batch axis) over an even number of steps after a transient.

    Args:
        one: result of `walk`.
        after: time in s from which steps count.
    """
    strikes = heel_strikes(one)
    fallen = np.asarray(one.fallen)
    if fallen.any():
        return _lost(float(np.asarray(one.t)[fallen.argmax()]), strikes)
    steady = strikes[strikes[:, 0] > after]
    steps = (len(steady) - 1) // 2 * 2
    if steps < 2:
        return _lost(np.inf, strikes)
    t, foot, x, impulse = steady[: steps + 1].T
    period, length = (t[-1] - t[0]) / steps, (x[-1] - x[0]) / steps
    by_foot = tuple(float(np.diff(t)[foot[:-1] == f].mean()) for f in (1.0, 2.0))
    late = np.asarray(one.t) > after
    count = late.sum() * BLOCK / period
    slip = np.asarray(one.slip)[late].sum(axis=0) / (count / 2)
    return WalkStatistics(
        np.inf,
        period,
        length,
        length / period,
        float(impulse[:-1].mean()),
        (by_foot[0], by_foot[1]),
        (float(slip[0]), float(slip[1])),
        float(np.asarray(one.flight)[late].sum() / count),
        float(-np.asarray(one.impact_work)[late].sum() / count),
        float(-np.asarray(one.friction_work)[late].sum() / count),
        strikes,
    )


def _lost(fell_at: float, strikes: np.ndarray) -> WalkStatistics:
    """The statistics of a walk that fell or stopped."""
    nan, pair = float("nan"), (float("nan"), float("nan"))
    return WalkStatistics(fell_at, nan, nan, nan, nan, pair, pair, nan, nan, nan, strikes)
