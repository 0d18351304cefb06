r"""Soft landings: an absorbing leg motion, planned in the air, and the figures of a landing.

Joints follow prescribed motions, so a landing is soft only if the legs already shorten at touch-down as fast as the
body falls. The plan needs no feedback, only ballistics and the linear map from the rates of ankle, knee and hip over a
resting foot to the momentum p = (velocity of the centre of mass, angular momentum about it):

- **posture and time of touch-down** (ankle, hip; the knee is chosen): the foot is level, so that all studs touch the
  ground together (its pitch is a quadrature, as the angular momentum is constant in the air); the centre of mass has
  fallen to its height in that posture, at a chosen distance ahead of the ankle;
- **rates**: the legs carry all of the momentum, so the foot is at rest at touch-down; **accelerations**: those of free
  fall, p' = (0, -g, 0), so it stays at rest;
- **absorption**: p goes to zero along cubics in a chosen time, and the joints follow. So the ground reaction grows from
  zero without impact, and the centre of pressure stays under the sole.
"""

from __future__ import annotations

import functools
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from jaxgait import precision
from jaxgait.fields import Immutable
from jaxgait.kinds import check_kind
from jaxgait.mechanics import spatial
from jaxgait.mechanics.spatial import Motion
from jaxgait.mechanics.spatial.plane import SagittalVec
from jaxgait.model import Scalar, System, parameter
from jaxgait.models.jumper.measures import check_run
from jaxgait.models.jumper.planar import JumperState, PlanarJumper
from jaxgait.models.jumper.swing import Keyframes, Turn
from jaxgait.native import kept
from jaxgait.parameters import check
from jaxgait.precision import float64_default
from jaxgait.roots import CONVERGED, Rule, many
from jaxgait.support.checks import of_class

__all__ = ["Absorption", "Landing", "assess_landing", "with_landing"]

DIFFERENCE_STEP = 1e-6  # rad and s: step of the finite differences
MAX_RESIDUAL = 1e-9  # m and rad: largest residual of a plan
NODES = 32  # Gauss-Legendre nodes over the flight: pitch at touch-down to 1e-9 rad
STEPS, KEYS = 240, 8  # midpoint steps of the absorption, and the number of keyframes taken from them

J = TypeVar("J", bound=PlanarJumper)


class Absorption(Immutable):
    """The chosen numbers of a landing.

    Examples:
        >>> from jaxgait.models.jumper.landing import Absorption
        >>> print(Absorption(knee=1.2).duration)  # s, with the knee bent further than by default
        0.15
    """

    knee: Scalar = parameter(0.9, unit="rad", doc="knee flexion at touch-down")
    com: Scalar = parameter(0.078, unit="m", doc="centre of mass ahead of the ankle at touch-down")
    reach: Scalar = parameter(0.15, unit="s", doc="preparation before touch-down", bounds="positive")
    duration: Scalar = parameter(0.15, unit="s", doc="from touch-down to rest", bounds="positive")


class Flight(NamedTuple):
    """A body in the air at time `t` in s: centre of mass, its velocity, angular momentum about it, the foot's pitch."""

    t: Scalar
    com: SagittalVec
    velocity: SagittalVec
    angular_momentum: Scalar
    pitch: Scalar


class Legs(NamedTuple):
    """Ankle, knee and hip at one time."""

    t: Float[Array, ""]
    angle: Float[Array, " 3"]
    rate: Float[Array, " 3"]
    acceleration: Float[Array, " 3"]


@float64_default
def with_landing(model: J, run: xr.Dataset, absorption: Absorption | None = None) -> J:
    """The jumper with a leg motion that absorbs the landing of its jump.

    Args:
        model: a jumper without a landing. Its arms may swing in the air: raised arms bring the trunk forward.
        run: its jump, up to a time in the air before the preparation for touch-down.
        absorption: posture at touch-down, durations of preparation and absorption.

    Raises:
        TypeError: for anything but a jumper in the plane and its run.
        ValueError: the run does not end in the air, leaves no time for the preparation, or the plan has no solution
            (naming the residual).
        jaxgait.parameters.ParameterError: it needs joint angles beyond the limits; several values of one parameter.

    Examples:
        >>> import math
        >>> import equinox as eqx
        >>> from jaxgait import simulate
        >>> from jaxgait.models import Jumper
        >>> from jaxgait.models.jumper.landing import with_landing
        >>> from jaxgait.models.jumper.swing import Swing
        >>> rise = Swing(math.radians(120.0), 0.27, 0.30)  # the arms go on rising in the air
        >>> jumper = eqx.tree_at(lambda m: m.shoulder.then, Jumper(), rise, is_leaf=lambda leaf: leaf is None)
        >>> landing = with_landing(jumper, simulate(jumper, duration=0.36))
        >>> print(jumper.knee.then, type(landing.knee.then).__name__)  # what the knee does after its swing
        None Keyframes
    """
    chosen = absorption or Absorption()
    check_kind(model, PlanarJumper, "legs in the plane, Jumper()")
    of_class("absorption", chosen, Absorption, "such as Absorption(knee=1.2)")
    check(chosen)
    check_run(run, "time", *(name for name in JumperState._fields if name not in JumperState._field_defaults))
    t = float(run.time[-1])
    with precision.use("float64"):
        cast, chosen = precision.cast(model).prepared(), precision.cast(chosen)
        aloft = JumperState(**{k: jnp.asarray(run[k].values[-1]) for k in JumperState._fields if k in run})
        if not float(jnp.max(cast.contact(aloft).depth)) < 0.0:
            raise ValueError(f"the jumper touches the ground at t = {t:g} s; plan its landing from a time in the air")
        flight = _flight(cast, jnp.asarray(t), aloft)
        touch, left = _touch_down(cast, flight, chosen)
        if touch is None:
            raise ValueError(f"there is no such landing: the foot misses the level ground by {left:.3g} (m, rad)")
        keys = jax.tree.map(float, _keyframes(cast, _absorbing(cast, flight, touch, chosen), chosen.reach))
    if not float(touch.t) - float(chosen.reach) >= t:
        raise ValueError(f"touch-down is at {float(touch.t):.3f} s: no time for a preparation of {chosen.reach:g} s")
    names = [joint.name for joint in model.joints[:3]]
    found = eqx.tree_at(
        lambda m: [getattr(m, name).then for name in names], model, keys, is_leaf=lambda leaf: leaf is None
    )
    found.validate()
    return found


@kept
def _flight(model: System, t: Float[Array, ""], aloft: JumperState) -> Flight:
    body = spatial.momentum(model.tree(), model.motion(t, aloft))
    return Flight(t, body.com, body.linear.scaled(1.0 / body.mass), body.angular, jnp.asarray(aloft.pitch))


# --- touch-down ---------------------------------------------------------------------------------------------------


def _touch_down(model: System, flight: Flight, chosen: Absorption) -> tuple[Legs | None, float]:
    """The legs at touch-down (None without a solution), and the residual of the conditions."""
    u = jnp.stack([0.6 * chosen.knee, 0.3 * chosen.knee, flight.t + 0.25 + flight.velocity.z / model.gravity])

    def evaluated(_: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # Finite differences, accurate enough for Newton's method: XLA takes three times as long for the derivative.
        left = np.asarray(_miss(model, flight, chosen, jnp.asarray(u + DIFFERENCE_STEP * np.eye(4, 3, k=-1)))[0])
        return left[:1], (left[1:] - left[:1]).T[None] / DIFFERENCE_STEP

    found = many(evaluated, np.asarray(u)[None], Rule(MAX_RESIDUAL))
    if found.status[0] != CONVERGED:
        return None, float(found.residual[0])
    touch = _miss(model, flight, chosen, jnp.asarray(found.x + np.zeros((4, 3))))[1]
    return jax.tree.map(lambda leaf: leaf[0], touch), float(found.residual[0])


@kept
@functools.partial(jax.vmap, in_axes=(None, None, None, 0))
def _miss(model: System, flight: Flight, chosen: Absorption, u: Float[Array, " 3"]) -> tuple[Float[Array, " 3"], Legs]:
    """Residuals (height, balance, pitch) of touch-down at `u` (ankle, hip, time), and the legs."""
    aloft_for = u[2] - flight.t
    angle = jnp.stack([u[0], jnp.asarray(chosen.knee, dtype=float), u[1]])
    touch = _legs(model, u[2], angle, *_falling(model, flight, u[2]))
    standing = spatial.momentum(model.tree(), _over_foot(model, [*_turns(touch), *model.joint_turns(u[2])[3:]])).com
    height = flight.com.z + flight.velocity.z * aloft_for - 0.5 * model.gravity * aloft_for**2
    pitch = _pitch(model, flight, _keyframes(model, jax.tree.map(lambda x: x[None], touch), chosen.reach), u[2])
    return jnp.stack([model.sole.drop + standing.z - height, standing.x - chosen.com, pitch]), touch


def _falling(model: System, flight: Flight, t: Scalar) -> tuple[Float[Array, " 3"], Float[Array, " 3"]]:
    """Momentum in free fall and its rate."""
    g, zero = jnp.asarray(model.gravity, dtype=float), jnp.zeros(())
    momentum = [flight.velocity.x, flight.velocity.z - g * (t - flight.t), flight.angular_momentum]
    return jnp.stack(momentum), jnp.stack([zero, -g, zero])


def _legs(
    model: System, t: Scalar, angle: Float[Array, " 3"], momentum: Float[Array, " 3"], change: Float[Array, " 3"]
) -> Legs:
    """Rates and accelerations of legs, over a resting foot, that carry a momentum and its rate of change."""
    others = model.joint_turns(t)[3:]
    positions, rates, accelerations = (
        jnp.concatenate([own, jnp.stack([turn[k] for turn in others]) if others else jnp.zeros(0)])
        for k, own in enumerate((angle, jnp.zeros(3), jnp.zeros(3)))
    )

    def carried(positions: Array, rates: Array) -> Float[Array, " 3"]:
        turns = [Turn(q, v, jnp.zeros(())) for q, v in zip(positions, rates, strict=True)]
        body = spatial.momentum(model.tree(), _over_foot(model, turns))
        return jnp.stack([body.linear.x / body.mass, body.linear.z / body.mass, body.angular])

    def of_rates(own: Float[Array, " 3"]) -> Float[Array, " 3"]:
        return carried(positions, rates.at[:3].set(own))

    still = jnp.zeros(3)
    gain, rest = jax.jacfwd(of_rates)(still), of_rates(still)
    own = jnp.linalg.solve(gain, momentum - rest)
    moving = rates.at[:3].set(own)
    bias = jax.jvp(carried, (positions, moving), (moving, accelerations))[1]
    return Legs(jnp.asarray(t, dtype=float), angle, own, jnp.linalg.solve(gain, change - bias))


def _pitch(model: System, flight: Flight, keys: list[Keyframes], end: Scalar) -> Float[Array, ""]:
    """Pitch of the foot at time `end`, by quadrature: its rate follows from the constant angular momentum."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    span = end - flight.t

    def rate(t: Scalar) -> Float[Array, ""]:
        turns = model.joint_turns(t)
        legs = [Turn(*map(jnp.add, turn, key.turn(t - model.quiet))) for turn, key in zip(turns, keys, strict=False)]

        def carried(spin: Scalar) -> Float[Array, ""]:
            body = spatial.momentum(model.tree(), _over_foot(model, [*legs, *turns[3:]], spin))
            return body.angular

        still, turning = jax.vmap(carried)(jnp.array([0.0, 1.0]))
        return (flight.angular_momentum - still) / (turning - still)

    rates = jax.vmap(rate)(flight.t + 0.5 * span * (1.0 + nodes))
    return flight.pitch + 0.5 * span * jnp.sum(weights * rates)


# --- absorption ---------------------------------------------------------------------------------------------------


@kept
def _absorbing(model: System, flight: Flight, touch: Legs, chosen: Absorption) -> Legs:
    """The legs at the keyframes from touch-down to rest (leading axis)."""
    T, (start, slope) = chosen.duration, _falling(model, flight, touch.t)

    def at(s: Scalar, angle: Float[Array, " 3"]) -> Legs:
        """At a share s of the duration: p = p0 (1 - 3 s^2 + 2 s^3) + p0' T s (1 - s)^2."""
        left = 1.0 - s
        p = start * left**2 * (1.0 + 2.0 * s) + slope * T * s * left**2
        dp = -6.0 * start * s * left + slope * T * left * (1.0 - 3.0 * s)
        return _legs(model, touch.t + s * T, angle, p, dp / T)

    def step(angle: Float[Array, " 3"], s: Array) -> tuple[Float[Array, " 3"], Float[Array, " 3"]]:
        h = 1.0 / STEPS
        half = angle + 0.5 * h * T * at(s, angle).rate
        after = angle + h * T * at(s + 0.5 * h, half).rate
        return after, after

    path = jax.lax.scan(step, touch.angle, jnp.linspace(0.0, 1.0, STEPS, endpoint=False))[1]
    angles = jnp.concatenate([touch.angle[None], path[STEPS // KEYS - 1 :: STEPS // KEYS]])
    return jax.vmap(at)(jnp.linspace(0.0, 1.0, KEYS + 1), angles)


def _keyframes(model: System, path: Legs, reach: Scalar) -> list[Keyframes]:
    """Motions to add to those of the leg joints: at rest until `reach` before the path, then along it."""
    own_turns = jax.vmap(model.joint_turns)(path.t)[:3]
    times = jnp.concatenate([jnp.zeros(1), path.t - path.t[0] + reach])
    return [
        Keyframes(
            times=tuple(times),
            angles=(0.0, *(path.angle[:, k] - own.angle)),
            rates=(0.0, *(path.rate[:, k] - own.rate)),
            accelerations=(0.0, *(path.acceleration[:, k] - own.acceleration)),
            delay=path.t[0] - reach - model.quiet,
        )
        for k, own in enumerate(own_turns)
    ]


def _turns(legs: Legs) -> list[Turn]:
    return [Turn(*values) for values in zip(legs.angle, legs.rate, legs.acceleration, strict=True)]


def _over_foot(model: System, flexions: list[Turn], spin: Scalar = 0.0) -> Motion:
    """The bars over a level foot, possibly turning, with the ankle at the origin."""
    return model.posed(flexions, rates=(0.0, 0.0, spin))


# --- the figures of a landing -------------------------------------------------------------------------------------


class Landing(NamedTuple):
    """The figures of a landing."""

    touch_down: float
    """Time in s when the first stud meets the ground."""
    speed: float
    """Downward velocity of the centre of mass at touch-down, m/s."""
    fall: float
    """Fall of the centre of mass from its apex to touch-down, m."""
    peak_force: float
    """Largest vertical ground reaction, body weights."""
    lowering: float
    """Descent of the centre of mass from touch-down to its lowest position, m."""
    impulse: float
    """Impulse of the ground reaction less the weight from touch-down to the end, N s."""
    momentum: float
    """Upward momentum gained in this time, N s: what the impulse should be."""
    airborne: float
    """Time in s without contact after touch-down: bouncing."""
    speed_end: float
    """Speed of the centre of mass at the end, m/s."""
    com_end: float
    """Centre of mass ahead of the ankle at the end, m; over the sole if between its rows."""


@float64_default
def assess_landing(run: xr.Dataset, mass: float, gravity: float = 9.81) -> Landing:
    """Reads the figures of a landing off a jump.

    Args:
        run: a jump that comes down again, sampled densely (0.1 ms for the impulse). Samples after an early end are
            ignored.
        mass: in kg.
        gravity: m/s^2.

    Raises:
        TypeError: for anything but a run of a jumper.
        ValueError: the jump has no flight, or does not come down.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.models.jumper.landing import assess_landing
        >>> columns = {"com_z": [1.0, 1.2, 1.0, 0.9], "com_vz": [2.0, 0.0, -2.0, 0.0]}  # m, m/s
        >>> columns |= {"grf_z": [0.0, 0.0, 1500.0, 500.0]} | dict.fromkeys(["com_x", "com_vx", "x"], [0.0] * 4)
        >>> run = xr.Dataset({k: ("time", x) for k, x in columns.items()}, {"time": [0.0, 0.2, 0.4, 0.5]})
        >>> run["depth"] = ("time", "row"), [[-1e-3], [-1e-3], [1e-3], [1e-3]]
        >>> landing = assess_landing(run, mass=50.0, gravity=10.0)
        >>> print(landing.touch_down, landing.speed, landing.peak_force)  # s, m/s, body weights
        0.4 2.0 3.0
    """
    check_run(run, "time", "x", "depth", "com_x", "com_z", "com_vx", "com_vz", "grf_z")
    run = run.isel(time=np.isfinite(run.com_z.values))  # it may have ended early
    deepest = run.depth.max([d for d in run.depth.dims if d != "time"]).values
    apex = int(run.com_z.values.argmax()) if deepest.size else 0
    touching = deepest[apex:] > 0.0
    if not touching.any() or touching[0]:
        raise ValueError("there is no landing: the jump must have a flight and come down from it")
    touch = apex + int(np.argmax(touching))
    down = run.isel(time=slice(touch, None))
    first, last = down.isel(time=0), down.isel(time=-1)
    weight, time = mass * gravity, down.time.values
    return Landing(
        touch_down=float(first.time),
        speed=-float(first.com_vz),
        fall=float(run.com_z[apex] - first.com_z),
        peak_force=float(down.grf_z.max()) / weight,
        lowering=float(first.com_z - down.com_z.min()),
        impulse=float(np.trapezoid(down.grf_z.values - weight, time)),
        momentum=mass * float(last.com_vz - first.com_vz),
        airborne=float(np.diff(time) @ (deepest[touch + 1 :] <= 0.0)),
        speed_end=float(np.hypot(last.com_vx, last.com_vz)),
        com_end=float(last.com_x - last.x),
    )
