"""Measures of a walk.

- `rolling_gait`: the periodic gait of the event-driven walker, with forward derivatives for every parameter;
- `MEASURES` of the smooth walker, from its samples;
- `ROLLING_MEASURES` of the event-driven walker, from its heel strikes;
- `RIGID_MEASURES` of the time-stepped walker, from its heel strikes and running totals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from jaxgait import outcome, precision
from jaxgait.kinds import check_kind
from jaxgait.measure import Measure, table
from jaxgait.model import Scalar
from jaxgait.models.walker.rigid import RollingWalker
from jaxgait.native import kept
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default
from jaxgait.roots import only_if
from jaxgait.run import Run
from jaxgait.solve.hybrid import hybrid
from jaxgait.solve.periodic import (
    CONVERGED,
    MAX_ITERATIONS,
    TOLERANCE,
    FixedPoint,
    PoincareMap,
    checked_search,
    fixed_point,
)
from jaxgait.solve.return_failures import why_lost
from jaxgait.support.checks import by_name, of_class

PAPER_POINT = (0.19357318, -1.43542848, -1.11795551)
"""Section point (stance angle in rad, stance rate, swing rate in rad/s) of the paper's walker."""
TOUCHES = (0, 2)
"""Indices of the heel strikes of foot 1 and foot 2 among the events of the time-stepped walker."""
HOMOTOPY_STEPS = 8
"""Number of steps to follow the gait from the paper's walker to another one."""
MAX_INTERVAL = 0.05
"""Longest time in s between samples that resolve the steps: an eighth of a step of the paper's walker."""


class RollingGait(NamedTuple):
    """The periodic gait of the rolling walker; if none was found, all numbers except those of `point` are NaN."""

    point: FixedPoint
    """Its point just after a heel strike, with the status of the search."""
    period: Scalar
    """Time in s of one step."""
    step_length: Scalar
    """Advance in m of the hip per step."""
    velocity: Scalar
    normal_impulse: Scalar
    """Normal impulse in N s at heel strike."""
    tangent_impulse: Scalar
    energy_lost: Scalar
    """Energy lost in J at heel strike."""
    lift_off: Scalar
    """Velocity in m/s with which the old stance foot leaves."""


@by_name("write rolling_gait(RollingWalker(slope=0.01))")
@float64_default
def rolling_gait(
    walker: RollingWalker, guess: Float[ArrayLike, " 3"] | None = None, return_map: PoincareMap = PoincareMap()
) -> RollingGait:
    """Solves for the periodic gait; jittable, batchable by `jax.vmap`, differentiable in the walker (`jax.jacfwd`).

    Args:
        walker: its leaves may be traced.
        guess: section point (rad, rad/s, rad/s) near the gait; None: the gait of a walker of this size and gravity with
            the proportions of the paper's, followed to this one as the parameters change. From a distant guess Newton's
            method may find another, unstable gait.
        return_map: integration settings.

    Returns:
        The gait; none was found near the guess unless `point.status` (see `jaxgait.solve.periodic`) is
        `CONVERGED`.

    Warns:
        jaxgait.outcome.NoOrbit: if none was found, unless the result is traced.

    Raises:
        TypeError: for a walker of another form, and a return map of another kind.
        ValueError: for a guess that is not three finite numbers.
        jaxgait.parameters.ParameterError: for an impossible walker, unless its leaves are traced.

    Examples:
        >>> from jaxgait.models import RollingWalker
        >>> from jaxgait.models.walker.measures import rolling_gait
        >>> gait = rolling_gait(RollingWalker())
        >>> print(round(float(gait.period), 3), round(float(gait.velocity), 3))  # s, m/s
        0.412 0.375
    """
    check_kind(walker, RollingWalker, "rolling feet, RollingWalker()")
    of_class("return_map", return_map, PoincareMap, "such as PoincareMap(max_time=2.0)")
    if guess is not None and np.shape(guess) != (3,):
        raise ValueError(
            "guess must be one section point (stance angle in rad, stance rate and swing rate in rad/s), "
            f"got the shape {np.shape(guess)}: use jax.vmap for many"
        )
    given = checked_search(walker, jnp.asarray(PAPER_POINT if guess is None else guess, dtype=float))
    found = _solved(return_map, precision.cast(walker), None if guess is None else given)
    lost = str if guess is None else lambda: why_lost(return_map, walker, given, 1)
    outcome.warn_of_search(found.point, TOLERANCE[precision.in_force()], MAX_ITERATIONS, lost)
    return found


def _followed(return_map: PoincareMap, walker: RollingWalker) -> Float[Array, " 3"]:
    """Section point of the gait of a similar walker, followed while its parameters change to those of `walker`.

    It has the proportions of the paper's walker, the slope and the angles of its gait, and the size, mass and gravity
    of `walker`.
    """
    paper = RollingWalker(start=walker.start)  # which no gait depends on
    size, mass = walker.leg_length / paper.leg_length, walker.mass / paper.mass
    similar = with_parameters(
        paper,
        {
            "mass": walker.mass,
            "inertia": paper.inertia * mass * size**2,
            **{name: getattr(paper, name) * size for name in ("com_offset", "leg_length", "foot_radius")},
            "gravity": walker.gravity,
        },
    )
    faster = jnp.sqrt(walker.gravity / paper.gravity / size)
    point = jnp.asarray(PAPER_POINT, dtype=float) * jnp.stack([jnp.ones_like(faster), faster, faster])

    def follow(z: Array, part: Array) -> tuple[Array, None]:
        point = fixed_point(return_map, jax.tree.map(lambda a, b: a + part * (b - a), similar, walker), z)
        return jnp.where(point.status == CONVERGED, point.z, z), None

    parts = jnp.linspace(0.0, 1.0, HOMOTOPY_STEPS + 1)[1:-1]
    return jax.lax.stop_gradient(jax.lax.scan(follow, point, parts)[0])


@kept
def _solved(return_map: PoincareMap, walker: RollingWalker, guess: Float[Array, " 3"] | None) -> RollingGait:
    z0 = _followed(return_map, walker) if guess is None else guess
    point = fixed_point(return_map, walker, z0)
    y0 = walker.on_section(jnp.where(point.status == CONVERGED, point.z, z0))
    run = hybrid(walker, events=1, t_end=return_map.longest(walker), y0=y0, scheme=return_map.scheme)
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
    return RollingGait(point, *(only_if(point.status == CONVERGED, number) for number in numbers))


@float64_default
def passing_gait(
    t: Float[np.ndarray, " times"], x: Float[np.ndarray, " times"], apart: Float[np.ndarray, " times"]
) -> tuple[float, float]:
    """Mean period in s of a step and velocity in m/s of any walk, over an even number of steps; NaN below two.

    Steps are counted where the legs pass each other, interpolated between samples.

    Args:
        t: sample times in s, without the transient of the walk.
        x: hip position in m.
        apart: angle in rad between the legs.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.models.walker.measures import passing_gait
        >>> t = np.linspace(0.0, 4.0, 401)  # s
        >>> period, velocity = passing_gait(t, x=0.5 * t, apart=0.4 * np.cos(np.pi * t))  # one passing per second
        >>> print(round(period, 6), round(velocity, 6))  # s, m/s
        1.0 0.5
    """
    if np.size(t) < 2:
        return math.nan, math.nan
    gait = _passed(*map(jnp.asarray, (t, x, apart)))
    return float(gait.period), float(gait.velocity)


@float64_default
class Gait(NamedTuple):
    """An even number of steps in the second half of a walk, whose first half is its transient; NaN below two.

    Of the rows, such as events, those that are counted begin or end a step. The gait begins at the first of an odd
    number of them; the last one no longer belongs to it.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.walker.measures import Gait
        >>> strikes = jnp.array([True, False, True, True, True])  # the last one ends half a stride: it does not count
        >>> time, impulse = jnp.array([1.0, 1.2, 1.4, 2.0, 2.6]), jnp.array([0.5, 9.0, 0.7, 9.0, 9.0])  # s, N s
        >>> gait = Gait.of(strikes, t=time, x=0.5 * time)
        >>> print(int(gait.steps), float(gait.period), float(gait.velocity), float(gait.length))  # s, m/s, m
        2 0.5 0.5 0.25
        >>> print(float(gait.change(time)), float(gait.per_step(time)), round(float(gait.mean(impulse)), 6))  # N s
        1.0 0.5 0.6
        >>> print(gait.durations()[jnp.array([0, 2])].round(6))  # s, of its steps
        [0.4 0.6]
    """

    t: Float[Array, " rows"]
    """Times in s."""
    x: Float[Array, " rows"]
    """Positions in m of the hip."""
    counted: Bool[Array, " rows"]
    """Which rows begin or end a step."""
    steps: Int[Array, ""]
    """Number of steps, 0 below two."""

    @classmethod
    def of(cls, counted: Bool[Array, " rows"], t: Float[Array, " rows"], x: Float[Array, " rows"]) -> Gait:
        """The longest gait from the first of the rows, in the order of time, that are counted; t in s, x in m."""
        steps = jnp.maximum(jnp.sum(counted) - 1, 0) // 2 * 2
        return cls(t, x, counted, steps)

    def change(self, values: Array) -> Array:
        """Change, from the beginning of the gait to its end, of values (rows,) in their own unit."""
        order = jnp.cumsum(self.counted)
        first, last = (jnp.argmax(order == n) for n in (1, 1 + self.steps))
        return only_if(self.steps > 0, values[last] - values[first])

    def per_step(self, values: Array) -> Array:
        """Change per step of values (rows,) in their own unit."""
        return self.change(values) / jnp.maximum(self.steps, 1).astype(values.dtype)

    def mean(self, values: Array, chosen: Bool[Array, " rows"] | bool = True) -> Array:
        """Mean over the beginnings of steps, or those of the chosen rows, of values (rows,) in their own unit."""
        chosen = chosen & self.counted & (jnp.cumsum(self.counted) <= self.steps)
        return jnp.sum(jnp.where(chosen, values, 0.0)) / jnp.sum(jnp.where(chosen, 1.0, 0.0))

    def durations(self) -> Float[Array, " rows"]:
        """Time in s from each row to the next one that is counted; infinite after the last one."""
        following = jax.lax.cummin(jnp.where(self.counted, self.t, jnp.inf), reverse=True)
        return jnp.append(following[1:], jnp.inf) - self.t

    @property
    def period(self) -> Array:
        """Mean time in s of a step."""
        return self.per_step(self.t)

    @property
    def length(self) -> Array:
        """Mean length in m of a step."""
        return self.per_step(self.x)

    @property
    def velocity(self) -> Array:
        """Mean velocity in m/s."""
        return self.change(self.x) / self.change(self.t)


def _passed(
    t: Float[Array, " times"], x: Float[Array, " times"], apart: Float[Array, " times"], begin: Scalar = -math.inf
) -> Gait:
    """Steps from one passing of the legs to another since `begin` in s, interpolated between samples."""
    passes = ((apart[1:] > 0.0) != (apart[:-1] > 0.0)) & (t[:-1] >= begin)
    change = jnp.where(passes, apart[:-1] - apart[1:], 1.0)
    share = jnp.where(passes, apart[:-1] / change, 0.0)
    return Gait.of(passes, t[:-1] + share * jnp.diff(t), x[:-1] + share * jnp.diff(x))


def _by_passing(run: Run) -> Gait:
    model: Any = run.model
    own_time = jnp.sqrt(model.leg_length / model.gravity)  # about half a step: no longer interval resolves one
    begin = jnp.where(run.sampling.spacing(model) <= own_time, 0.5 * run.ts[-1], jnp.inf)
    return _passed(run.ts, run["x"], run["theta_1"] - run["theta_2"], begin)


def _by_strike(run: Run) -> Gait:
    strikes = run.happened("heel strike") & (run.events.t >= 0.5 * run.ts[-1])
    return Gait.of(strikes, run.events.t, run.events.before.x)


def _touches(run: Run, foot: int) -> Bool[Array, " events"]:
    return run.events.kind == TOUCHES[foot]


def _by_touch(run: Run) -> Gait:
    strikes = (_touches(run, 0) | _touches(run, 1)) & (run.events.t >= 0.5 * run.ts[-1])
    return Gait.of(strikes, run.events.t, run.events.after.x)


def _fell_at(run: Run) -> Array:
    return only_if(run.trajectory.status == outcome.code(run.model, "fell"), run.trajectory.t_end)


def _of_steps(gait: Callable[[Run], Gait], interval: float = math.inf) -> tuple[Measure, Measure]:
    late = "in the second half of the walk"
    return (
        Measure(
            "step_period", lambda run: run.once(gait).period, "s", f"mean time of a step {late}", interval=interval
        ),
        Measure("velocity", lambda run: run.once(gait).velocity, "m/s", f"mean velocity {late}", interval=interval),
    )


MEASURES = table(
    *_of_steps(_by_passing, MAX_INTERVAL),
    Measure("fell_at", _fell_at, "s", "end of the solver's step in which it fell (NaN: it did not fall)", early=True),
)
"""Measures of a walk of the smooth walker, by name."""

ROLLING_MEASURES = table(
    *_of_steps(_by_strike),
    Measure(
        "step_length",
        lambda run: run.once(_by_strike).length,
        "m",
        "mean length of a step in the second half of the walk",
    ),
    Measure(
        "heel_strikes", lambda run: jnp.sum(run.happened("heel strike")), "1", "number of heel strikes", early=True
    ),
    Measure("fell_at", _fell_at, "s", "time of the fall (NaN: no fall, or it left the ground before)", early=True),
)
"""Measures of a walk of the rolling walker, by name."""


def _impulse(run: Run) -> Array:
    amounts = run.events.amounts
    return run.once(_by_touch).mean(jnp.where(_touches(run, 0), amounts["impulse_1"], amounts["impulse_2"]))


def _alternate_periods(run: Run) -> Array:
    gait = run.once(_by_touch)
    return jnp.stack([gait.mean(gait.durations(), _touches(run, foot)) for foot in (0, 1)])


def _slip(run: Run) -> Array:
    return jnp.stack([2.0 * _per_step(f"slipped_{foot}")(run) for foot in (1, 2)])


def _per_step(name: str, sign: float = 1.0) -> Callable[[Run], Array]:
    return lambda run: sign * run.once(_by_touch).per_step(run.events.totals[name])


_FEET = ("foot",)
RIGID_MEASURES = table(
    Measure("step_period", lambda run: run.once(_by_touch).period, "s", "mean time of a step"),
    Measure("step_length", lambda run: run.once(_by_touch).length, "m", "step length"),
    Measure("velocity", lambda run: run.once(_by_touch).velocity, "m/s", "mean velocity"),
    Measure("impulse", _impulse, "N s", "mean normal impulse at heel strike"),
    Measure("alternate_periods", _alternate_periods, "s", "mean time of the steps that a foot begins", dims=_FEET),
    Measure("slip", _slip, "m", "distance slipped per stride (two steps)", dims=_FEET),
    Measure("flight", _per_step("flight_time"), "s", "time in the air per step"),
    Measure("impact_loss", _per_step("impact_work", -1.0), "J", "energy lost in impacts per step"),
    Measure("friction_loss", _per_step("friction_work", -1.0), "J", "energy lost in friction per step"),
    Measure("fell_at", _fell_at, "s", "end of the step in which it fell (NaN: it did not fall)", early=True),
)
"""Measures of a time-stepped walk, by name, over its `Gait`."""
