"""Measures of a jump: take-off, height, peak force, and when each row of studs lifts off."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from jaxgait.measure import Measure, table
from jaxgait.model import Scalar
from jaxgait.precision import float64_default
from jaxgait.roots import only_if
from jaxgait.run import Run
from jaxgait.support.checks import shown

__all__ = ["MEASURES", "SPATIAL_MEASURES", "Jump", "assess", "lift_off_times", "slid"]

Number = Float[Array, ""]
_HISTORIES = ("time", "depth", "com_x", "com_z", "com_vx", "com_vz", "grf_z", "angular_momentum", "pitch")
"""Histories that `assess` reads."""


class Jump(NamedTuple):
    """The figures of a jump."""

    take_off: Number
    """Time in s when the last stud leaves the ground before the centre of mass is highest; NaN if it never does, or
    if the centre of mass does not rise then. The force of a soft, hysteretic sole ends earlier, while it expands."""
    x: Number
    """Centre of mass at take-off, m."""
    z: Number
    vx: Number
    """Its velocity, m/s."""
    vz: Number
    height: Number
    """Rise of the centre of mass above its position at take-off, m."""
    apex: Number
    """Largest height of the centre of mass above the ground in flight, m."""
    peak_force: Number
    """Largest vertical ground reaction until take-off, body weights; of the entire run if there is no take-off."""
    angular_momentum: Number
    """Angular momentum about the centre of mass at take-off, kg m^2/s, forward positive."""
    pitch: Number
    """Pitch of the foot at take-off, rad."""


@float64_default
def check_run(run: Any, *names: str) -> None:
    """Checks that a run has histories of a jumper in the plane, by name, whatever their units.

    Raises:
        TypeError: for anything but a run, and naming the histories that it lacks.

    Examples:
        >>> from jaxgait.models.jumper.measures import check_run
        >>> check_run({"time": [0.0, 0.1], "com_z": [0.7, 0.8]}, "time", "com_z")  # s, m
    """
    given = run if isinstance(run, Mapping) else {}
    if lacks := [name for name in names if name not in given]:
        got = "" if given else f"; got {shown(run)}"
        what = "the run must be one of a jumper in the plane, such as simulate(Jumper())"
        raise TypeError(f"{what}: it lacks {', '.join(lacks)}{got}")


@float64_default
def assess(run: Mapping[Any, Any], mass: Scalar, gravity: Scalar = 9.81) -> Jump:
    """The figures of a jump from its time histories; differentiable.

    Args:
        run: a run, or histories by name: `time` in s, dense enough for interpolation by cubics (`MAX_INTERVAL`), and
            `depth`, `com_x`, `com_z`, `com_vx`, `com_vz`, `grf_z`, `angular_momentum`, `pitch` from a jumper's
            `outputs` and state. Landing and bounces may follow the jump.
        mass: of the body in kg.
        gravity: in m/s^2.

    Raises:
        TypeError: for anything but a run of a jumper, or such histories.

    Examples:
        >>> from jaxgait.models.jumper.measures import assess
        >>> run = {"time": [0.0, 0.1, 0.2], "depth": [3e-3, 1e-3, -1e-3], "grf_z": [1500.0, 1500.0, 0.0]}  # s, m, N
        >>> run |= {"com_z": [0.7, 1.0, 1.3], "com_vz": [3.0, 3.0, 3.0]}  # m, m/s
        >>> run |= dict.fromkeys(["com_x", "com_vx", "angular_momentum", "pitch"], [0.0, 0.0, 0.0])
        >>> jump = assess(run, mass=50.0, gravity=10.0)
        >>> print(round(float(jump.take_off), 3), round(float(jump.height), 3))  # s, m
        0.15 0.45
    """
    check_run(run, *_HISTORIES)
    of = lambda name: jnp.asarray(run[name])
    lift_off = _at_take_off(of("depth"), of("com_z"))
    rises = lift_off(of("com_vz")) > 0.0  # feet drawn up while the body falls are not a jump
    at_take_off = lambda history: only_if(rises, lift_off(history))
    z, vz = at_take_off(of("com_z")), at_take_off(of("com_vz"))
    height, take_off = vz**2 / (2.0 * gravity), at_take_off(of("time"))
    return Jump(
        take_off,
        at_take_off(of("com_x")),
        z,
        at_take_off(of("com_vx")),
        vz,
        height,
        z + height,
        jnp.max(jnp.where(of("time") > take_off, 0.0, of("grf_z"))) / (mass * gravity),
        at_take_off(of("angular_momentum")),
        at_take_off(of("pitch")),
    )


@float64_default
def slid(run: Mapping[Any, Any]) -> Float[Array, " rows"]:
    """Distance in m that each row of studs slides under load, from `time`, `depth` and `slip`.

    Raises:
        TypeError: for anything but a run of a jumper, or such histories.

    Examples:
        >>> from jaxgait.models.jumper.measures import slid
        >>> run = {"depth": [[1e-3, -1e-3], [1e-3, -1e-3]], "slip": [[0.02, 0.02], [0.02, 0.02]]}  # m and m/s, two rows
        >>> print(slid({"time": [0.0, 0.5], **run}))  # m: only the first row is loaded
        [0.01 0.  ]
    """
    check_run(run, "time", "depth", "slip")
    rate = jnp.where(jnp.asarray(run["depth"]) > 0.0, jnp.abs(jnp.asarray(run["slip"])), 0.0)
    return 0.5 * jnp.diff(jnp.asarray(run["time"])) @ (rate[1:] + rate[:-1])


def _jump(run: Run) -> Jump:
    model: Any = run.model
    histories = {"time": run.ts, **run.outputs(), "pitch": run.ys.pitch}
    return assess(histories, jnp.sum(model.tree().mass), model.gravity)


def _spatial_jump(run: Run) -> Jump:
    model: Any = run.model
    com, velocity = run["com"], run["com_velocity"]
    histories = {
        "time": run.ts,
        "depth": run["depth"],
        "com_x": com[:, 0],
        "com_z": com[:, 2],
        "com_vx": velocity[:, 0],
        "com_vz": velocity[:, 2],
        "grf_z": run["grf"][:, :, 2].sum(axis=1),
        "angular_momentum": run["angular_momentum"][:, 1],
        "pitch": jnp.full_like(run.ts, jnp.nan),
    }
    plane = model.plane
    return assess(histories, jnp.sum(plane.tree().mass), plane.gravity)


def _sideways(run: Run) -> Number:
    return _at_take_off(jnp.asarray(run["depth"]), jnp.asarray(run["com"][:, 2]))(run["com_velocity"][:, 1])


def _peak_force(run: Run) -> Number:
    """Largest vertical ground reaction in body weights until take-off; over the solver's steps, unless it lands."""
    model: Any = run.model
    jump, weight = run.once(_jump), jnp.sum(model.tree().mass) * model.gravity
    lands = jnp.any((run["depth"] > 0.0) & (run.ts > jump.take_off)[:, None])
    whole = jnp.maximum(jump.peak_force, run.extremes("grf_z").largest / weight)
    return jnp.where(lands, jump.peak_force, whole)


MAX_INTERVAL = 2.5e-3
"""Longest time in s between samples that allows interpolation."""


def _read(figures: Callable[[Run], Jump], name: str, field: str, unit: str, long_name: str) -> Measure:
    return Measure(name, lambda run: getattr(run.once(figures), field), unit, long_name, interval=MAX_INTERVAL)


_COMMON = (
    ("take_off", "take_off", "s", "time of take-off"),
    ("take_off_x", "x", "m", "forward position of the centre of mass at take-off"),
    ("take_off_z", "z", "m", "height of the centre of mass at take-off"),
    ("take_off_vx", "vx", "m/s", "forward velocity of the centre of mass at take-off"),
    ("take_off_vz", "vz", "m/s", "upward velocity of the centre of mass at take-off"),
    ("height", "height", "m", "jump height above take-off"),
    ("apex", "apex", "m", "largest height of the centre of mass"),
    ("take_off_angular_momentum", "angular_momentum", "kg m^2/s", "angular momentum at take-off, forward positive"),
)
"""Name of the measure, field of `Jump`, unit, words. A measure must not have the name of a state or an output."""
MEASURES = table(
    *(_read(_jump, *row) for row in _COMMON),
    Measure(
        "peak_force",
        _peak_force,
        "1",
        "peak vertical ground reaction until take-off, body weights",
        watch=("grf_z",),
        interval=MAX_INTERVAL,
    ),
    _read(_jump, "take_off_pitch", "pitch", "rad", "pitch of the foot at take-off"),
)
"""Measures of a jump in the plane, by name."""

SPATIAL_MEASURES = table(
    *(_read(_spatial_jump, *row) for row in _COMMON),
    _read(
        _spatial_jump,
        "peak_force",
        "peak_force",
        "1",
        "peak vertical ground reaction until take-off, at the samples, body weights",
    ),
    Measure(
        "take_off_vy", _sideways, "m/s", "velocity to the left of the centre of mass at take-off", interval=MAX_INTERVAL
    ),
)
"""Measures of a jump in space, by name."""


@float64_default
def lift_off_times(time: Float[ArrayLike, " times"], depth: Float[ArrayLike, "times rows"]) -> Float[Array, " rows"]:
    """Times in s when each row of studs leaves the ground for the last time; NaN for rows that never do.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.models.jumper.measures import lift_off_times
        >>> depth = np.array([[1e-3, 3e-3], [-1e-3, 1e-3], [-3e-3, -1e-3]])  # m, heel and toe
        >>> print(lift_off_times(np.array([0.0, 0.1, 0.2]), depth).round(6))  # s
        [0.05 0.15]
    """
    time, depth = jnp.asarray(time), jnp.asarray(depth)
    return jnp.stack([_at_lift_off(depth[:, k], _last(depth[:, k] > 0.0))(time) for k in range(depth.shape[1])])


def _at_take_off(depth: Array, com_z: Array) -> Callable[[ArrayLike], Number]:
    """Interpolates a history at the take-off of the highest flight, when the last stud leaves the ground.

    Args:
        depth: compressions of shape (times, ...) in m.
        com_z: heights (times,) of the centre of mass in m; with the highest one on the ground, the next flight counts,
            and those before the first contact do not.
    """
    largest = jnp.max(depth.reshape(depth.shape[0], -1), axis=1)
    touching, number = largest > 0.0, jnp.arange(depth.shape[0])
    jumps = ~jnp.isnan(com_z) & (number >= jnp.argmax(touching))  # the run may have ended early
    highest = jnp.argmax(jnp.where(jumps, com_z, -jnp.inf))
    before = _last(touching & (number <= highest))
    aloft = ~touching & (number > before)
    return _at_lift_off(largest, jnp.where(jnp.any(aloft), jnp.argmax(aloft) - 1, depth.shape[0] - 1))


def _last(flags: Bool[Array, " times"]) -> Int[Array, ""]:
    """Index of the last True, or of the last entry; -1 without entries."""
    count = flags.shape[0]
    return count - 1 - jnp.argmax(flags[::-1]) if count else jnp.asarray(-1)


def _at_lift_off(depth: Float[Array, " times"], last: Int[Array, ""]) -> Callable[[ArrayLike], Number]:
    """Interpolates a history where the depth falls through zero after the sample `last`; NaN without such a sample.

    By a cubic in the depth through the four samples around the zero. A line through the two nearest would do for
    values, but its slope has an error of first order in the interval, and so have derivatives, as the zero moves along
    it. The line remains in use where the depth does not fall steadily through all four.
    """
    count = depth.shape[0]
    if count < 2:
        return lambda history: jnp.full((), jnp.nan)
    flies = (depth[last] > 0.0) & (last < count - 1)
    last = jnp.minimum(last, count - 2)
    used = min(4, count)
    first = jnp.clip(last - 1, 0, count - used)
    around = lambda history: jax.lax.dynamic_slice_in_dim(history, first, used)
    nearest = lambda history: jax.lax.dynamic_slice_in_dim(history, last, 2)
    falls = jnp.all(jnp.diff(around(depth)) < 0.0)  # not where some of them are NaN
    # Where the depth rises or is unknown, any other numbers: derivatives of the choice must not be NaN.
    nodes = jnp.where(falls, around(depth), jnp.arange(1.0, used + 1.0))
    number = _at_zero(nodes, jnp.arange(1.0 * used)) - jnp.asarray(last - first, depth.dtype)
    smooth = falls & (number >= 0.0) & (number <= 1.0)  # nearly equal depths would put the zero anywhere

    def at_lift_off(history: ArrayLike) -> Number:
        history = jnp.asarray(history)
        values = jnp.where(smooth, around(history), 0.0)
        found = jnp.where(smooth, _at_zero(nodes, values), _at_zero(nearest(depth), nearest(history)))
        return jnp.where(flies, found, jnp.nan)

    return at_lift_off


def _at_zero(nodes: Float[Array, " nodes"], values: Float[Array, " nodes"]) -> Number:
    """The polynomial through values at nodes, at zero (Lagrange)."""
    count = nodes.shape[0]
    weights = [[nodes[i] / (nodes[i] - nodes[j]) for i in range(count) if i != j] for j in range(count)]
    return sum((math.prod(w) * values[j] for j, w in enumerate(weights)), jnp.zeros(()))
