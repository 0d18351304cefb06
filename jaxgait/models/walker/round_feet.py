r"""The round-foot passive walker: two straight legs, a hip, arc feet, a gentle slope. What all its forms share.

           y                      H: hip (x, y); x down the slope, y along its outward normal
           |     H                theta_i: angle of leg i from the normal, positive with the foot ahead of the hip
           |    / \               COM of each leg: com_offset below the hip
           |   /   \              foot: arc of radius foot_radius; its centre lies on the leg,
           |  o     o  COM              leg_length - foot_radius below the hip
           | / leg 2 \ leg 1
           |(_)______(_)____> x   (slope)

`RoundFeet` has the mass matrix, the forces, the feet and the observables of

- `smooth.Walker`: compliant feet and regularised friction, one smooth vector field;
- `rigid.RigidWalker`: unilateral contact, Newton impact and Coulomb friction, for `jaxgait.solve.time_stepping`;
- `rigid.RollingWalker`: rolling without slip and plastic heel strikes, for `jaxgait.solve.hybrid`.

Legs of equal length scuff the ground by some 0.05 mm in mid-swing. The paper does not mention it, yet a walker whose
swing foot touches the ground there falls within a second. All forms ignore a foot that swings forward (omega > 0) until
it is a little ahead of the other one.

Source: Duan, Wang and Wang, Chin. J. Theor. Appl. Mech. 43 (2011) 765; mass matrix and contact rows derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from jaxgait.batches import each, of_worst
from jaxgait.fields import Immutable
from jaxgait.model import Scalar, Variable, parameter
from jaxgait.parameters import ParameterError, check, choice
from jaxgait.precision import float64_default

PAPER = "Duan et al. 2011, section 3"
FALL_HEIGHT = 0.5
"""The walker has fallen if its hip is below this fraction of the leg length."""
FALL_ANGLE = 1.4
"""The walker has fallen if a leg is beyond this angle in rad."""
MAX_SUNK = 7.5e-3
"""Largest initial penetration, in leg lengths, from which it still walks (3 mm for the paper's walker)."""


class WalkerState(NamedTuple):
    """Positions first, then velocities: hip (m), leg angles (rad), hip velocity (m/s), leg rates (rad/s)."""

    x: Scalar
    y: Scalar
    theta_1: Scalar
    theta_2: Scalar
    vx: Scalar
    vy: Scalar
    omega_1: Scalar
    omega_2: Scalar


class BristledWalkerState(NamedTuple):
    """`WalkerState` with the memory of the friction on both feet: deflections in m for `Bristle`."""

    x: Scalar
    y: Scalar
    theta_1: Scalar
    theta_2: Scalar
    vx: Scalar
    vy: Scalar
    omega_1: Scalar
    omega_2: Scalar
    bristle_1: Scalar
    bristle_2: Scalar


class Generalised(NamedTuple):
    """Generalised velocities, accelerations, forces or impulses in the coordinates (x, y, theta_1, theta_2)."""

    x: Scalar
    y: Scalar
    theta_1: Scalar
    theta_2: Scalar


class Foot(NamedTuple):
    """One foot against the ground."""

    gap: Scalar
    """Height in m of the lowest point."""
    gap_rate: Scalar
    slip: Scalar
    """Velocity in m/s along the slope of the lowest material point."""
    normal_arm: Scalar
    """Arm in m of a normal force about the hip: d gap_rate / d omega."""
    tangent_arm: Scalar
    """Arm in m of a tangential force about the hip: d slip / d omega."""
    centre: Scalar
    """Distance in m of the arc's centre below the hip, along the normal: d normal_arm / d theta."""


@float64_default
class Inertia(NamedTuple):
    """The mass matrix [[2m Id, B], [B^T, I Id]], B = a [[cos1, cos2], [sin1, sin2]], by its few distinct numbers.

    Examples:
        >>> from jaxgait.models.walker.round_feet import RoundFeet, WalkerStart
        >>> legs = RoundFeet()
        >>> inertia = legs.inertia_at(0.2, -0.2)  # rad
        >>> force = legs.forces(inertia, WalkerStart().state())
        >>> print(round(float(force.y), 3))  # N: the weight of 2 kg and centrifugal forces
        -19.918
        >>> back = inertia.times(inertia.solve(force))
        >>> print(round(float(back.y), 3))
        -19.918
    """

    total: Scalar
    """2 m in kg."""
    leg: Scalar
    """Moment of inertia I in kg m^2 of a leg about the hip."""
    cos_1: Scalar
    """a cos(theta_1) in kg m, and so on."""
    sin_1: Scalar
    cos_2: Scalar
    sin_2: Scalar

    def times(self, v: Generalised) -> Generalised:
        """Momentum of a generalised velocity."""
        return Generalised(
            self.total * v.x + self.cos_1 * v.theta_1 + self.cos_2 * v.theta_2,
            self.total * v.y + self.sin_1 * v.theta_1 + self.sin_2 * v.theta_2,
            self.cos_1 * v.x + self.sin_1 * v.y + self.leg * v.theta_1,
            self.cos_2 * v.x + self.sin_2 * v.y + self.leg * v.theta_2,
        )

    def solve(self, force: Generalised) -> Generalised:
        """Acceleration under a generalised force: elimination of the legs leaves two equations for the hip."""
        r = 1.0 / self.leg
        xx = self.total - (self.cos_1 * self.cos_1 + self.cos_2 * self.cos_2) * r
        xy = -(self.cos_1 * self.sin_1 + self.cos_2 * self.sin_2) * r
        yy = self.total - (self.sin_1 * self.sin_1 + self.sin_2 * self.sin_2) * r
        fx = force.x - (self.cos_1 * force.theta_1 + self.cos_2 * force.theta_2) * r
        fy = force.y - (self.sin_1 * force.theta_1 + self.sin_2 * force.theta_2) * r
        d = 1.0 / (xx * yy - xy * xy)
        ax, ay = (yy * fx - xy * fy) * d, (xx * fy - xy * fx) * d
        return Generalised(
            ax,
            ay,
            (force.theta_1 - self.cos_1 * ax - self.sin_1 * ay) * r,
            (force.theta_2 - self.cos_2 * ax - self.sin_2 * ay) * r,
        )


@float64_default
class WalkerStart(Immutable):
    """The start of a walk; by default the paper's, with foot 1 ahead and on the ground.

    `y` does not follow the legs: to vary their length, radius or angle, choose `on_ground`, or give `y` as well.

    Examples:
        >>> from jaxgait.models.walker.round_feet import WalkerStart
        >>> print(round(float(WalkerStart(vx=0.6).state().vx), 3))  # m/s
        0.6
    """

    x: Scalar = parameter(0.0, unit="m", doc="hip position down the slope at the start", source=PAPER)
    y: Scalar = parameter(
        0.394,
        unit="m",
        doc="hip height above the slope at the start",
        bounds="positive",
        of="on_ground",
        source=PAPER,
    )
    theta_1: Scalar = parameter(0.2, unit="rad", doc="angle of leg 1 at the start", plausible=(-1.6, 1.6), source=PAPER)
    theta_2: Scalar = parameter(
        -0.2, unit="rad", doc="angle of leg 2 at the start", plausible=(-1.6, 1.6), source=PAPER
    )
    vx: Scalar = parameter(0.591, unit="m/s", doc="hip velocity down the slope at the start", source=PAPER)
    vy: Scalar = parameter(0.089, unit="m/s", doc="hip velocity off the slope at the start", source=PAPER)
    omega_1: Scalar = parameter(-1.5, unit="rad/s", doc="angular velocity of leg 1 at the start", source=PAPER)
    omega_2: Scalar = parameter(-1.0, unit="rad/s", doc="angular velocity of leg 2 at the start", source=PAPER)
    on_ground: bool = choice(False, doc="whether the hip starts where foot 1 touches the ground, not at y")

    def state(self) -> WalkerState:
        """The start as a state."""
        return WalkerState(*(jnp.asarray(getattr(self, name), dtype=float) for name in WalkerState._fields))


@float64_default
def clearance_angle(default: float, **declared: Any) -> Any:
    """Declares the parameter of the angle in rad; see `swings_through`.

    Examples:
        >>> from jaxgait.models import Walker
        >>> from jaxgait.parameters import parameters
        >>> print(parameters(Walker())["clearance_angle"].unit)
        rad
    """
    doc = "angle by which a swing foot must be ahead to land"
    return parameter(default, unit="rad", doc=doc, plausible=(0.0, 1.6), bounds="positive", **declared)


@float64_default
def swings_through(omega: Any, ahead: Any, clearance: Any) -> Any:
    """Whether a foot is ignored: it swings forward and is not yet ahead of the other one by the clearance.

    Args:
        omega: angular velocity of its leg in rad/s.
        ahead: angle in rad by which it is ahead.
        clearance: angle in rad from which it can land.

    Examples:
        >>> from jaxgait.models.walker.round_feet import swings_through
        >>> print(swings_through(1.5, ahead=0.02, clearance=0.05), swings_through(1.5, ahead=0.1, clearance=0.05))
        True False
    """
    return (omega > 0.0) & (ahead < clearance)


@float64_default
class RoundFeet(Immutable):
    """Legs, feet and slope of all forms of the walker, and what follows from them.

    Examples:
        >>> from jaxgait.models.walker.round_feet import RoundFeet, WalkerStart
        >>> legs = RoundFeet(leg_length=0.4, foot_radius=0.1)
        >>> y = WalkerStart(y=0.45, vx=0.6, vy=0.0, omega_1=0.0, omega_2=0.0).state()
        >>> foot = legs.foot(y, theta=0.0, omega=-1.5)
        >>> print(round(float(foot.gap), 6), round(float(foot.slip), 6) + 0.0)  # m; m/s: it rolls
        0.05 0.0
        >>> print(round(float(legs.energies(y)[0]), 6), bool(legs.fell(y)), round(float(legs.balance(y)), 3))  # J
        0.36 False 0.625
        >>> print(round(float(legs.shank), 6), round(float(legs.leg_inertia), 6))  # m, kg m^2
        0.3 0.018
        >>> print(float(legs.feet(y)[0].gap) == float(legs.observables(y)["gap_1"]))
        True
        >>> print(round(float(legs.forces(legs.inertia_at(0.0, 0.0), y).y), 3))  # N: the weight
        -19.599
    """

    mass: Scalar = parameter(1.0, unit="kg", doc="mass of one leg with its foot", bounds="positive", source=PAPER)
    inertia: Scalar = parameter(
        0.008, unit="kg m^2", doc="moment of inertia of a leg about its centre of mass", bounds="positive", source=PAPER
    )
    com_offset: Scalar = parameter(
        0.1, unit="m", doc="distance of a leg's centre of mass below the hip", bounds="nonnegative", source=PAPER
    )
    leg_length: Scalar = parameter(0.4, unit="m", doc="leg length, hip to sole", bounds="positive", source=PAPER)
    foot_radius: Scalar = parameter(0.1, unit="m", doc="radius of the round foot", bounds="nonnegative", source=PAPER)
    slope: Scalar = parameter(0.01, unit="rad", doc="inclination of the ground", plausible=(-0.3, 0.3), source=PAPER)
    gravity: Scalar = parameter(9.8, unit="m/s^2", doc="gravitational acceleration", bounds="positive", source=PAPER)
    start: WalkerStart = eqx.field(default_factory=WalkerStart)

    def validate(self) -> None:
        """Rejects walkers that cannot stand.

        Raises:
            ParameterError: for parameters out of their bounds, and a foot larger than its leg.
        """
        check(self)
        radius, length = np.asarray(self.foot_radius), np.asarray(self.leg_length)
        if np.any(radius >= length):
            radius, length = of_worst(radius - length, radius, length)
            raise ParameterError(
                f"{type(self).__name__} cannot stand: foot_radius ({radius:g} m) must be smaller than leg_length "
                f"({length:g} m), so that the foot's centre lies below the hip"
            )

    def check_start(self, clearance: Scalar, pushes: Callable[[Any], Any] | None = None) -> None:
        """Rejects a start with a foot too deep in the ground, which would throw the walker up, or let it sink.

        A foot that swings forward and is less than `clearance` (in rad) ahead does not feel the ground.

        Args:
            clearance: see above; -infinity: both feet feel the ground.
            pushes: function of one member that returns for both feet whether the ground pushes them much harder than
                necessary; by default it does.

        Raises:
            ParameterError: naming the depth, and the height of the hip that puts the foot on the ground.

        Examples:
            >>> from jaxgait.models.walker.round_feet import RoundFeet, WalkerStart
            >>> RoundFeet(start=WalkerStart(y=0.3)).check_start(-float("inf"))  # doctest: +ELLIPSIS
            Traceback (most recent call last):
                ...
            jaxgait.parameters.ParameterError: RoundFeet starts with foot 1 94 mm deep in the ground: ...
        """
        start = self.start
        given = (start.theta_1, start.theta_2, start.omega_1, start.omega_2, self.leg_length, self.foot_radius, start.y)
        members = (np.ravel(x) for x in np.broadcast_arrays(*given, clearance))
        one, two, omega_1, omega_2, length, radius, y, clear = members
        omega, ahead = np.stack([omega_1, omega_2]), np.stack([one - two, two - one])
        lowest = (length - radius) * np.cos(np.stack([one, two])) + radius
        hip = lowest[0] if start.on_ground else y
        depth = np.where(swings_through(omega, ahead, clear), 0.0, lowest - hip)
        sunk = depth > MAX_SUNK * length
        if sunk.any() and pushes is not None:
            sunk = sunk & np.asarray(each(self, pushes)).T  # which may have more members: those of the ground
        if not sunk.any():
            return
        depth, lowest = (np.broadcast_to(x, sunk.shape) for x in (depth, lowest))
        worst = np.unravel_index(np.argmax(np.where(sunk, depth, -np.inf)), depth.shape)
        member = f" (member {worst[1]})" if sunk.shape[1] > 1 else ""
        follow = "with start.on_ground=True the hip follows leg_length, foot_radius and start.theta_1"
        raise ParameterError(
            f"{type(self).__name__} starts with foot {worst[0] + 1} {1e3 * depth[worst]:.3g} mm deep in the ground"
            f"{member}: start.y={lowest[worst]:.6g} puts it on the ground"
            + (", instead of start.on_ground=True" if start.on_ground else f"; {follow}")
        )

    def started(self) -> WalkerState:
        """The start, with foot 1 on the ground if `start.on_ground`.

        Examples:
            >>> from jaxgait.models.walker.round_feet import RoundFeet, WalkerStart
            >>> tall = RoundFeet(leg_length=0.45, start=WalkerStart(on_ground=True))
            >>> print(round(float(tall.started().y), 3))  # m
            0.443
        """
        y = self.start.state()
        return y._replace(y=self.foot(y, y.theta_1, y.omega_1).tangent_arm) if self.start.on_ground else y

    @property
    def shank(self) -> Scalar:
        """Distance in m from the hip to the centre of the foot's arc."""
        return self.leg_length - self.foot_radius

    @property
    def leg_inertia(self) -> Scalar:
        """Moment of inertia in kg m^2 of a leg about the hip."""
        return self.inertia + self.mass * self.com_offset**2

    def inertia_at(self, theta_1: Scalar, theta_2: Scalar) -> Inertia:
        """The mass matrix at two leg angles in rad."""
        a = self.mass * self.com_offset
        s1, c1, s2, c2 = jnp.sin(theta_1), jnp.cos(theta_1), jnp.sin(theta_2), jnp.cos(theta_2)
        return Inertia(2.0 * self.mass, self.leg_inertia, a * c1, a * s1, a * c2, a * s2)

    def forces(self, inertia: Inertia, y: WalkerState | BristledWalkerState) -> Generalised:
        """Gravity and centrifugal forces: the right side h of ``M du/dt = h + contact forces``."""
        weight = 2.0 * self.mass * self.gravity
        sg, cg = jnp.sin(self.slope), jnp.cos(self.slope)
        w1, w2 = y.omega_1**2, y.omega_2**2
        return Generalised(
            weight * sg + inertia.sin_1 * w1 + inertia.sin_2 * w2,
            -weight * cg - inertia.cos_1 * w1 - inertia.cos_2 * w2,
            -self.gravity * (inertia.sin_1 * cg - inertia.cos_1 * sg),
            -self.gravity * (inertia.sin_2 * cg - inertia.cos_2 * sg),
        )

    def feet(self, y: WalkerState | BristledWalkerState) -> tuple[Foot, Foot]:
        """Both feet against the ground."""
        return self.foot(y, y.theta_1, y.omega_1), self.foot(y, y.theta_2, y.omega_2)

    def foot(self, y: WalkerState | BristledWalkerState, theta: Scalar, omega: Scalar) -> Foot:
        """One foot against the ground, at a leg angle in rad and a leg rate in rad/s."""
        sin, cos = jnp.sin(theta), jnp.cos(theta)
        normal_arm, centre = self.shank * sin, self.shank * cos
        arm = centre + self.foot_radius
        return Foot(y.y - arm, y.vy + normal_arm * omega, y.vx + arm * omega, normal_arm, arm, centre)

    def energies(self, y: WalkerState | BristledWalkerState) -> tuple[Scalar, Scalar]:
        """Kinetic and potential energy in J, the latter zero with the hip at the origin of the slope axes."""
        inertia = self.inertia_at(y.theta_1, y.theta_2)
        u = Generalised(*y[4:8])
        kinetic = 0.5 * sum(p * v for p, v in zip(inertia.times(u), u, strict=True))
        sg, cg = jnp.sin(self.slope), jnp.cos(self.slope)
        along = 2.0 * self.mass * y.x + inertia.sin_1 + inertia.sin_2
        normal = 2.0 * self.mass * y.y - inertia.cos_1 - inertia.cos_2
        return kinetic, self.gravity * (normal * cg - along * sg)

    def observables(self, y: WalkerState | BristledWalkerState) -> dict[str, Scalar]:
        """Gaps in m, slip velocities in m/s, energies in J."""
        foot_1, foot_2 = self.feet(y)
        kinetic, potential = self.energies(y)
        return {
            "gap_1": foot_1.gap,
            "gap_2": foot_2.gap,
            "slip_1": foot_1.slip,
            "slip_2": foot_2.slip,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
            "energy": kinetic + potential,
        }

    def fell(self, y: WalkerState | BristledWalkerState) -> Bool[Array, ""]:
        """Whether the walker has fallen: `balance` is below zero."""
        return self.balance(y) < 0.0

    def balance(self, y: WalkerState | BristledWalkerState) -> Scalar:
        """A number that falls through zero when the hip is too low (`FALL_HEIGHT`) or a leg too wide (`FALL_ANGLE`).

        The smaller of the margins in leg lengths (no dimension) and in rad.
        """
        steepest = jnp.maximum(jnp.abs(y.theta_1), jnp.abs(y.theta_2))
        return jnp.minimum(y.y / self.leg_length - FALL_HEIGHT, FALL_ANGLE - steepest)


OBSERVABLES: Mapping[str, Variable] = {
    "x": Variable("m", "hip position down the slope"),
    "y": Variable("m", "hip height above the slope"),
    "theta_1": Variable("rad", "angle of leg 1"),
    "theta_2": Variable("rad", "angle of leg 2"),
    "vx": Variable("m/s", "hip velocity down the slope"),
    "vy": Variable("m/s", "hip velocity off the slope"),
    "omega_1": Variable("rad/s", "angular velocity of leg 1"),
    "omega_2": Variable("rad/s", "angular velocity of leg 2"),
    "gap_1": Variable("m", "height of foot 1"),
    "gap_2": Variable("m", "height of foot 2"),
    "slip_1": Variable("m/s", "tangential velocity of the lowest point of foot 1"),
    "slip_2": Variable("m/s", "tangential velocity of the lowest point of foot 2"),
    "kinetic_energy": Variable("J", "kinetic energy"),
    "potential_energy": Variable("J", "potential energy"),
    "energy": Variable("J", "mechanical energy"),
}
"""State and observables of the smooth and the time-stepped walker, with units."""
