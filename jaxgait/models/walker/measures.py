"""What is read off a walk: the rolling gait and its numbers, and the statistics of a time-stepped walk.

- `rolling_gait`: the periodic gait of the event-driven walker, differentiable with respect to every parameter;
- `walk` and `walk_statistics`: heel strikes, period, step length, speed, slip, flight and losses of the LCP walker.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxgait import checks, outcome
from jaxgait.measure import Measure, table
from jaxgait.model import Scalar
from jaxgait.models.walker.rigid import RigidWalker, RollingWalker
from jaxgait.models.walker.smooth import WalkerState
from jaxgait.parameters import parameters
from jaxgait.precision import float64_default
from jaxgait.run import Run
from jaxgait.solve.checks import check_kind
from jaxgait.solve.hybrid import hybrid
from jaxgait.solve.periodic import CONVERGED, FixedPoint, PoincareMap, fixed_point
from jaxgait.solve.time_stepping import Step, march

__all__ = [
    "GAIT",
    "MEASURES",
    "RollingGait",
    "Totals",
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
"""Largest length in s of the blocks of `walk`: shorter than `SWING`, so that a block has at most one heel strike per
foot."""
LARGEST_STEP = 0.015
"""Largest step in s of `walk`: a tenth of `SWING`."""
ROUNDING = 1e-6
"""By how much of a step a number of steps may miss a whole one."""
SWING = 0.15
"""A contact after this time in s without contact is a heel strike, anything sooner a bounce."""
INTERVAL = 0.05
"""Longest time in s between samples that resolve the steps: an eighth of a step of the paper's walker."""
STICTION = 1e-6
"""Slip velocity in m/s below which a foot at the friction cone counts as sticking."""


class RollingGait(NamedTuple):
    """The periodic gait of the rolling walker; all numbers but those of `point` are NaN where none was found."""

    point: FixedPoint
    """Its point just after a heel strike, with the status of the search."""
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


@float64_default
def rolling_gait(
    walker: RollingWalker, guess: Float[Array, 3] | None = None, return_map: PoincareMap = PoincareMap()
) -> RollingGait:
    """Solves for the periodic gait; jittable, batchable by `jax.vmap`, differentiable in the walker's parameters.

    Args:
        walker: its leaves may be traced.
        guess: section point near the gait; that of the paper's walker if None.
        return_map: integration settings.

    Returns:
        The gait. Look at `point.status` (see `jaxgait.solve.periodic.SENTENCES`): where it is not `CONVERGED`, there is
        no gait near the guess, and period, velocity and so on are NaN.

    Raises:
        TypeError: for a walker of another form.
        ValueError: for a guess that is not three finite numbers.
        jaxgait.parameters.ParameterError: for an impossible walker, as far as its leaves are not traced.
    """
    check_kind(walker, RollingWalker, "rolling feet, RollingWalker()")
    if guess is not None and np.shape(guess) != (3,):
        raise ValueError(
            "guess must be one section point (stance angle in rad, stance rate and swing rate in rad/s), "
            f"got the shape {np.shape(guess)}: use jax.vmap for many"
        )
    z0 = jnp.asarray(GAIT if guess is None else guess, dtype=float)
    point = fixed_point(return_map, walker, z0)
    y0 = walker.on_section(jnp.where(point.status == CONVERGED, point.z, z0))
    run = hybrid(walker, events=1, t_end=return_map.longest, y0=y0, scheme=return_map.scheme)
    before = type(y0)(*(leaf[0] for leaf in run.before))
    strike = walker.heel_strike(before)
    length = before.x - y0.x
    numbers = (
        run.t_end,
        length,
        length / run.t_end,
        strike.normal_impulse,
        strike.tangent_impulse,
        strike.energy_lost,
        strike.trailing_rate,
    )
    return RollingGait(point, *(jnp.where(point.status == CONVERGED, number, jnp.nan) for number in numbers))


@float64_default
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


class Totals(NamedTuple):
    """What adds up along a walk."""

    slip: Float[Array, "*batch 2"]
    """Distance in m slipped by each foot."""
    flight: Float[Array, "*batch"]
    """Time in s with both feet in the air."""
    impact_work: Float[Array, "*batch"]
    """Work in J of impacts (negative: lost), see `losses`."""
    friction_work: Float[Array, "*batch"]
    """Work in J of sliding friction."""


class _Passing(NamedTuple):
    """An even number of steps in the second half of a walk, from one passing of the legs to another."""

    steps: Array
    duration: Array
    length: Array


def _passing(run: Run) -> _Passing:
    t, x, apart = run.ts, run["x"], run["theta_1"] - run["theta_2"]
    passes = ((apart[1:] > 0.0) != (apart[:-1] > 0.0)) & (t[:-1] >= 0.5 * t[-1])
    number = jnp.cumsum(passes)
    steps = jnp.maximum(number[-1] - 1, 0) // 2 * 2
    change = jnp.where(passes, apart[:-1] - apart[1:], 1.0)
    share = jnp.where(passes, apart[:-1] / change, 0.0)
    moment, position = t[:-1] + share * jnp.diff(t), x[:-1] + share * jnp.diff(x)
    first, last = (jnp.argmax(number == n) for n in (1, 1 + steps))
    whole = jnp.where(steps >= 2, steps.astype(t.dtype), jnp.nan)
    return _Passing(whole, moment[last] - moment[first], position[last] - position[first])


def _step_period(run: Run) -> Array:
    whole = run.once(_passing)
    return whole.duration / whole.steps


def _velocity(run: Run) -> Array:
    whole = run.once(_passing)
    return jnp.where(jnp.isnan(whole.steps), jnp.nan, whole.length / whole.duration)


def _fell_at(run: Run) -> Array:
    fell = run.trajectory.status == outcome.code(run.model, "fell")
    return jnp.where(fell, run.trajectory.t_end, jnp.nan)


MEASURES = table(
    Measure("step_period", _step_period, "s", "mean time of a step in the second half of the walk", interval=INTERVAL),
    Measure("velocity", _velocity, "m/s", "mean velocity in the second half of the walk", interval=INTERVAL),
    Measure("fell_at", _fell_at, "s", "end of the solver's step in which it fell (NaN: it did not fall)", early=True),
)
"""What is read off a walk of the smooth walker, by name."""


class Walk(NamedTuple):
    """A time-stepped walk in blocks of whole steps, `BLOCK` s at most; the two feet are stacked on the last axis.

    Nothing counts after the fall: no contact, no slip, no losses.
    """

    t: Float[Array, "*batch blocks"]
    """Time in s at the end of each block."""
    y: WalkerState
    """State there."""
    fell_at: Float[Array, "*batch"]
    """Time in s of the first step at whose end the walker lay (or was lost: its state not finite); infinity if none."""
    first_t: Float[Array, "*batch blocks 2"]
    """Time in s of the first contact in the block; infinity if there is none."""
    first_x: Float[Array, "*batch blocks 2"]
    """Hip position in m then."""
    first_impulse: Float[Array, "*batch blocks 2"]
    """Normal impulse in N s then."""
    last_t: Float[Array, "*batch blocks 2"]
    """Time in s of the last contact in the block; minus infinity if there is none."""
    totals: Totals
    """Of the block."""
    to_first: Totals
    """Of the part of the block before the first contact of each foot; a further axis (that foot) after `blocks`."""


@float64_default
def walk(walker: RigidWalker, dt: float = 1e-4, duration: float = 50.0) -> Walk:
    """Walks the LCP walker from its start and keeps what its statistics need.

    It takes whole steps of `dt`, as few as reach `duration`: `t[-1]` is the exact end.

    Args:
        walker: its leaves may be traced: `jax.vmap` makes an ensemble.
        dt: step in s, `LARGEST_STEP` at most.
        duration: in s.

    Raises:
        TypeError: for a walker of another form.
        ValueError: for an impossible step or duration.
        jaxgait.parameters.ParameterError: for an impossible walker, as far as its leaves are not traced.
    """
    steps = _whole_steps(dt, duration)
    per_block = min(math.floor(BLOCK / dt + ROUNDING), steps)
    check_kind(walker, RigidWalker, "rigid feet, RigidWalker()")
    for name, info in parameters(walker).items():
        if np.ndim(info.value) != 0:
            raise ValueError(f"walk runs one walker, {name} has the shape {np.shape(info.value)}: use jax.vmap")

    def summarise(block: Step) -> Walk:
        return _summary(walker, block, dt, steps)

    blocks = march(walker, dt, math.ceil(steps / per_block), per_block, summarise)
    return _up_to_the_fall(blocks)


def _whole_steps(dt: float, duration: float) -> int:
    """How many steps reach the duration."""
    if not checks.is_concrete((dt, duration)):
        raise ValueError("dt and duration decide how many steps there are: they cannot be traced")
    checks.number("dt", dt, "s", above=0.0)
    checks.number("duration", duration, "s", above=0.0)
    if dt > LARGEST_STEP:
        raise ValueError(f"dt must be at most {LARGEST_STEP:g} s, a tenth of the shortest swing, got {dt:g} s")
    if duration < dt:
        raise ValueError(f"duration must be at least one step of dt = {dt:g} s, got {duration:g} s")
    return math.ceil(duration / dt - ROUNDING)


def _summary(walker: RigidWalker, block: Step, dt: float, steps: int) -> Walk:
    """What is kept of one block; of the last one only the part that belongs to the walk."""
    within = block.t < (steps + 0.5) * dt
    lying = within & (jax.vmap(walker.fell)(block.y) | ~_finite(block.y))
    fall = jnp.min(jnp.where(lying, block.t, jnp.inf))
    counts = within & (block.t <= fall)
    normal = jnp.stack(block.impulses[::2], axis=1)
    touching = (normal > 0.0) & counts[:, None]
    first = jnp.argmax(touching, axis=0)
    amounts = jnp.where(counts[:, None], _amounts(walker, block, dt), 0.0)
    before = jnp.arange(block.t.shape[0])[:, None] < first[None, :]
    t, last = block.t[:, None], jnp.sum(within) - 1
    return Walk(
        t=block.t[last],
        y=WalkerState(*(leaf[last] for leaf in block.y)),
        fell_at=fall,
        first_t=jnp.min(jnp.where(touching, t, jnp.inf), axis=0),
        first_x=block.y.x[first],
        first_impulse=jnp.take_along_axis(normal, first[None, :], axis=0)[0],
        last_t=jnp.max(jnp.where(touching, t, -jnp.inf), axis=0),
        totals=_totals(jnp.sum(amounts, axis=0)),
        to_first=_totals(jnp.sum(jnp.where(before[:, :, None], amounts[:, None, :], 0.0), axis=0)),
    )


def _finite(y: WalkerState) -> Bool[Array, " steps"]:
    return jnp.all(jnp.isfinite(jnp.stack(y)), axis=0)


def _amounts(walker: RigidWalker, block: Step, dt: float) -> Float[Array, "steps 5"]:
    """What each step adds to the `Totals`."""
    impact_work, friction_work, slipping = losses(walker, block)
    speed = jnp.abs(jnp.stack(block.slips, axis=1))
    slip = dt * jnp.where(slipping & (speed > STICTION), speed, 0.0)
    touching = (block.impulses[0] > 0.0) | (block.impulses[2] > 0.0)
    flight = dt * jnp.where(touching, 0.0, 1.0)
    return jnp.concatenate([slip, jnp.stack([flight, impact_work, friction_work], axis=1)], axis=1)


def _totals(amounts: Float[Array, "*batch 5"]) -> Totals:
    return Totals(amounts[..., :2], amounts[..., 2], amounts[..., 3], amounts[..., 4])


def _up_to_the_fall(blocks: Walk) -> Walk:
    """The walk from its blocks, those after the fall without contacts and amounts."""
    fell_at = jnp.min(blocks.fell_at)
    begins = jnp.concatenate([jnp.zeros_like(blocks.t[:1]), blocks.t[:-1]])
    counts = begins < fell_at

    def kept(tree: Any, otherwise: float) -> Any:
        return jax.tree.map(lambda x: jnp.where(counts.reshape(-1, *[1] * (x.ndim - 1)), x, otherwise), tree)

    return blocks._replace(
        fell_at=fell_at,
        first_t=kept(blocks.first_t, jnp.inf),
        last_t=kept(blocks.last_t, -jnp.inf),
        totals=kept(blocks.totals, 0.0),
        to_first=kept(blocks.to_first, 0.0),
    )


@float64_default
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
    """Numbers of one walk over its steady part; NaN if it fell, or took less than two steps there.

    What is given per step or per stride is taken from one heel strike to a later one, an even number of steps on: the
    work of the first strike belongs to it, that of the last one does not.
    """

    fell_at: float
    """Time in s of the first step at whose end the walker lay; infinity if it did not fall."""
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
    """All heel strikes up to the fall: time in s, foot (1 or 2), hip position in m, normal impulse in N s."""


@float64_default
def heel_strikes(one: Walk) -> Float[np.ndarray, "strikes 4"]:
    """All heel strikes of one walk up to its fall: time in s, foot, hip position in m, normal impulse in N s."""
    return _strikes(one)[0]


def _strikes(one: Walk) -> tuple[Float[np.ndarray, "strikes 4"], Float[np.ndarray, "strikes 5"]]:
    """All heel strikes of one walk, and what had added up until each of them."""
    if np.ndim(one.t) != 1:
        raise ValueError(
            f"give one walk, not a batch of shape {np.shape(one.t)[:-1]}: jax.tree.map(lambda leaf: leaf[i], walks)"
        )
    totals, to_first = (_columns(tree) for tree in (one.totals, one.to_first))
    until = np.concatenate([np.zeros((1, 5)), np.cumsum(totals, axis=0)[:-1]])
    rows, sums = [], []
    for foot in (0, 1):
        first, last = np.asarray(one.first_t)[:, foot], np.asarray(one.last_t)[:, foot]
        before = np.concatenate([[0.0], np.maximum.accumulate(np.maximum(last, 0.0))[:-1]])
        struck = np.isfinite(first) & (first - before >= SWING)
        x, impulse = np.asarray(one.first_x)[:, foot], np.asarray(one.first_impulse)[:, foot]
        rows.append(np.column_stack([first, np.full(first.shape, foot + 1.0), x, impulse])[struck])
        sums.append((until + to_first[:, foot])[struck])
    table = np.concatenate(rows)
    order = np.argsort(table[:, 0], kind="stable")
    return table[order], np.concatenate(sums)[order]


def _columns(totals: Totals) -> Float[np.ndarray, "*shape 5"]:
    slip, *others = (np.asarray(x, dtype=float) for x in totals)
    return np.concatenate([slip, np.stack(others, axis=-1)], axis=-1)


@float64_default
def walk_statistics(one: Walk, after: float = 25.0) -> WalkStatistics:
    """Statistics of one walk (no batch axis) over an even number of steps after a transient.

    Args:
        one: result of `walk`.
        after: time in s from which steps count.

    Raises:
        ValueError: for a batch of walks, or if a walk that did not fall ends before `after`.
    """
    checks.number("after", after, "s")
    strikes, sums = _strikes(one)
    fell_at, end = float(one.fell_at), float(one.t[-1])
    if np.isfinite(fell_at):
        return _lost(fell_at, strikes)
    if after >= end:
        raise ValueError(f"the walk ends at {end:g} s: give an earlier time than after = {after:g} s, or walk longer")
    late = strikes[:, 0] > after
    steady, sums = strikes[late], sums[late]
    steps = (len(steady) - 1) // 2 * 2
    if steps < 2:
        return _lost(np.inf, strikes)
    t, foot, x, impulse = steady[: steps + 1].T
    period, length = (t[-1] - t[0]) / steps, (x[-1] - x[0]) / steps
    by_foot = tuple(float(np.diff(t)[foot[:-1] == f].mean()) for f in (1.0, 2.0))
    *slip, flight, impact, friction = map(float, (sums[steps] - sums[0]) / steps)
    return WalkStatistics(
        np.inf,
        float(period),
        float(length),
        float(length / period),
        float(impulse[:-1].mean()),
        (by_foot[0], by_foot[1]),
        (2.0 * slip[0], 2.0 * slip[1]),
        flight,
        -impact,
        -friction,
        strikes,
    )


def _lost(fell_at: float, strikes: np.ndarray) -> WalkStatistics:
    """The statistics of a walk that fell or stopped."""
    nan, pair = float("nan"), (float("nan"), float("nan"))
    return WalkStatistics(fell_at, nan, nan, nan, nan, pair, pair, nan, nan, nan, strikes)
