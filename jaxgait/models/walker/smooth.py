r"""The round-foot passive walker: two straight legs, a hip, arc feet, a gentle slope. Geometry, and the smooth model.

           y                      H: hip (x, y); x down the slope, y along its outward normal
           |     H                theta_i: angle of leg i from the normal, positive with the foot ahead of the hip
           |    / \               COM of each leg: com_offset below the hip
           |   /   \              foot: arc of radius foot_radius; its centre lies on the leg,
           |  o     o  COM              leg_length - foot_radius below the hip
           | / leg 2 \ leg 1
           |(_)______(_)____> x   (slope)

All three forms of the walker share the mass matrix, the forces, the feet and the observables of `RoundFeet`:

- `Walker` (here): compliant feet and regularised friction, one smooth vector field;
- `rigid.RigidWalker`: unilateral contact, Newton impact and Coulomb friction, for `jaxgait.solve.time_stepping`;
- `rigid.RollingWalker`: rolling without slip and plastic heel strikes, for `jaxgait.solve.hybrid`.

Legs of equal length scuff the ground by some 1e-5 m in mid-swing. The paper does not mention it, yet a walker whose
swing foot touches the ground there falls within a second. All forms ignore a foot that swings forward (omega > 0) until
it is a little ahead of the other one; here by a smooth gate.

Source: Duan, Wang and Wang, Chin. J. Theor. Appl. Mech. 43 (2011) 765; mass matrix and contact rows derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from jaxgait.mechanics.contact import HuntCrossley, NormalLaw
from jaxgait.mechanics.friction import Coulomb, FrictionLaw
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.parameters import ParameterError, check, choice, part
from jaxgait.precision import float64_default

__all__ = ["BristledState", "Foot", "Generalised", "Inertia", "RoundFeet", "Walker", "WalkerStart", "WalkerState"]

_PAPER = "Duan et al. 2011, section 3"
_CHOSEN = "chosen"
FALL_HEIGHT = 0.5
"""The walker has fallen if its hip is below this fraction of the leg length."""
FALL_ANGLE = 1.4
"""The walker has fallen if a leg is beyond this angle in rad."""


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


class BristledState(NamedTuple):
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


@float64_default
class Inertia(NamedTuple):
    """The mass matrix [[2m Id, B], [B^T, I Id]], B = a [[cos1, cos2], [sin1, sin2]], by its few distinct numbers.

    Examples:
        >>> from jaxgait.models.walker.smooth import RoundFeet, WalkerStart
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
class WalkerStart(eqx.Module):
    """The start of a walk; by default the paper's, with foot 1 ahead and on the ground.

    Examples:
        >>> from jaxgait.models.walker.smooth import WalkerStart
        >>> print(round(float(WalkerStart(vx=0.6).state().vx), 3))  # m/s
        0.6
    """

    x: Scalar = parameter(0.0, unit="m", doc="hip position down the slope at the start", source=_PAPER)
    y: Scalar = parameter(
        0.394, unit="m", doc="hip height above the slope at the start", bounds="positive", source=_PAPER
    )
    theta_1: Scalar = parameter(
        0.2, unit="rad", doc="angle of leg 1 at the start", plausible=(-1.6, 1.6), source=_PAPER
    )
    theta_2: Scalar = parameter(
        -0.2, unit="rad", doc="angle of leg 2 at the start", plausible=(-1.6, 1.6), source=_PAPER
    )
    vx: Scalar = parameter(0.591, unit="m/s", doc="hip velocity down the slope at the start", source=_PAPER)
    vy: Scalar = parameter(0.089, unit="m/s", doc="hip velocity off the slope at the start", source=_PAPER)
    omega_1: Scalar = parameter(-1.5, unit="rad/s", doc="angular velocity of leg 1 at the start", source=_PAPER)
    omega_2: Scalar = parameter(-1.0, unit="rad/s", doc="angular velocity of leg 2 at the start", source=_PAPER)

    def state(self) -> WalkerState:
        """The start as a state."""
        return WalkerState(*(jnp.asarray(getattr(self, name), dtype=float) for name in WalkerState._fields))


@float64_default
class RoundFeet(eqx.Module):
    """Legs, feet and slope of all forms of the walker, and what follows from them.

    Examples:
        >>> from jaxgait.models.walker.smooth import RoundFeet, WalkerStart
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

    mass: Scalar = parameter(1.0, unit="kg", doc="mass of one leg with its foot", bounds="positive", source=_PAPER)
    inertia: Scalar = parameter(
        0.008,
        unit="kg m^2",
        doc="moment of inertia of a leg about its centre of mass",
        bounds="positive",
        source=_PAPER,
    )
    com_offset: Scalar = parameter(
        0.1, unit="m", doc="distance of a leg's centre of mass below the hip", bounds="nonnegative", source=_PAPER
    )
    leg_length: Scalar = parameter(0.4, unit="m", doc="leg length, hip to sole", bounds="positive", source=_PAPER)
    foot_radius: Scalar = parameter(0.1, unit="m", doc="radius of the round foot", bounds="nonnegative", source=_PAPER)
    slope: Scalar = parameter(0.01, unit="rad", doc="inclination of the ground", plausible=(-0.5, 0.5), source=_PAPER)
    gravity: Scalar = parameter(9.8, unit="m/s^2", doc="gravitational acceleration", bounds="positive", source=_PAPER)
    start: WalkerStart = eqx.field(default_factory=WalkerStart)

    def validate(self) -> None:
        """Rejects walkers that cannot stand.

        Raises:
            ParameterError: for parameters out of their bounds, and a foot larger than its leg.
        """
        check(self)
        radius, length = np.asarray(self.foot_radius), np.asarray(self.leg_length)
        if np.any(radius >= length):
            raise ParameterError(
                f"{type(self).__name__} cannot stand: foot_radius ({np.max(radius):g} m) must be smaller than "
                f"leg_length ({np.min(length):g} m), so that the foot's centre lies below the hip"
            )

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

    def forces(self, inertia: Inertia, y: WalkerState | BristledState) -> Generalised:
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

    def feet(self, y: WalkerState | BristledState) -> tuple[Foot, Foot]:
        """Both feet against the ground."""
        return self.foot(y, y.theta_1, y.omega_1), self.foot(y, y.theta_2, y.omega_2)

    def foot(self, y: WalkerState | BristledState, theta: Scalar, omega: Scalar) -> Foot:
        """One foot against the ground, at a leg angle in rad and a leg rate in rad/s."""
        sin, cos = jnp.sin(theta), jnp.cos(theta)
        normal_arm = self.shank * sin
        tangent_arm = self.shank * cos + self.foot_radius
        return Foot(y.y - tangent_arm, y.vy + normal_arm * omega, y.vx + tangent_arm * omega, normal_arm, tangent_arm)

    def energies(self, y: WalkerState | BristledState) -> tuple[Scalar, Scalar]:
        """Kinetic and potential energy in J, the latter zero with the hip at the origin of the slope axes."""
        inertia = self.inertia_at(y.theta_1, y.theta_2)
        u = Generalised(*y[4:8])
        kinetic = 0.5 * sum(p * v for p, v in zip(inertia.times(u), u, strict=True))
        sg, cg = jnp.sin(self.slope), jnp.cos(self.slope)
        along = 2.0 * self.mass * y.x + inertia.sin_1 + inertia.sin_2
        normal = 2.0 * self.mass * y.y - inertia.cos_1 - inertia.cos_2
        return kinetic, self.gravity * (normal * cg - along * sg)

    def observables(self, y: WalkerState | BristledState) -> dict[str, Scalar]:
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

    def fell(self, y: WalkerState | BristledState) -> Bool[Array, ""]:
        """Whether the walker has fallen: `balance` is below zero."""
        return self.balance(y) < 0.0

    def balance(self, y: WalkerState | BristledState) -> Scalar:
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
"""State and observables of all forms of the walker, with units."""


_CONTACT = ("stiffness", "dissipation", "smoothing_depth", "slip_velocity", "friction")
SETS: dict[str, dict[str, float]] = {
    name: dict(zip(_CONTACT, values, strict=True))
    for name, values in {
        "reference": (1e7, 200.0, 1e-7, 3e-4, 0.5),
        "recommended": (1e6, 50.0, 1e-6, 3e-4, 0.5),
        "cheap": (3e5, 50.0, 3.3e-6, 1e-3, 0.5),
        "borderline": (3e5, 20.0, 3.3e-6, 1e-3, 0.5),
        "too soft": (1e5, 50.0, 1e-5, 1e-3, 0.5),
    }.items()
}
"""Parameters of the default contact laws."""


class Walker(RoundFeet, Model):
    """The walker with compliant feet (Hunt-Crossley) and regularised Coulomb friction: smooth, fast, differentiable.

    With the defaults, the period is that of the rigid walker within 0.03 %. Softer ground is cheaper but less accurate:
    the static sinkage 2 m g / stiffness should stay below 1e-4 m. With a `dissipation` of 50 s/m the impact is
    practically plastic. Other contact laws go into `normal` and `friction`.

    Examples:
        >>> from jaxgait.models import Walker
        >>> walker = Walker(stiffness=1e6)
        >>> print(float(walker.sinkage) < 1e-4, walker.duration)  # m; s
        True 10.0
        >>> print(type(walker.normal_law).__name__, walker.friction_law.coefficient)
        HuntCrossley 0.5
        >>> y = walker.initial_state()
        >>> (normal, friction), swing = walker.contact_forces(y, walker.feet(y))
        >>> print(round(float(normal), 1), round(float(friction), 1), round(float(swing[0]), 1))  # N
        20.4 1.0 0.0
    """

    friction: Scalar | FrictionLaw = parameter(
        0.5, unit="1", doc="friction coefficient", bounds="nonnegative", source=_PAPER, standard="Coulomb"
    )
    stiffness: Scalar = parameter(
        1e6, unit="N/m", doc="contact stiffness", bounds="positive", of="normal", source=_CHOSEN
    )
    dissipation: Scalar = parameter(
        50.0, unit="s/m", doc="Hunt-Crossley damping coefficient", bounds="nonnegative", of="normal", source=_CHOSEN
    )
    smoothing_depth: Scalar = parameter(
        1e-6,
        unit="m",
        doc="depth over which contact sets in",
        plausible=(1e-9, 1e-2),
        bounds="positive",
        of="normal",
        source=_CHOSEN,
    )
    slip_velocity: Scalar = parameter(
        3e-4,
        unit="m/s",
        doc="slip velocity over which friction sets in",
        bounds="positive",
        of="friction",
        source=_CHOSEN,
    )
    clearance_angle: Scalar = parameter(
        0.15,
        unit="rad",
        doc="angle by which a swing foot must be ahead to land",
        plausible=(0.0, 1.6),
        bounds="positive",
        of="scuffs",
        source=_CHOSEN,
    )
    clearance_width: Scalar = parameter(
        0.01, unit="rad", doc="smoothing of the clearance angle", bounds="positive", of="scuffs", source=_CHOSEN
    )
    swing_rate: Scalar = parameter(
        0.1,
        unit="rad/s",
        doc="angular velocity over which swinging forward sets in",
        bounds="positive",
        of="scuffs",
        source=_CHOSEN,
    )
    normal: NormalLaw | None = part(None, doc="law of the ground's normal force", standard="HuntCrossley")
    scuffs: bool = choice(False, doc="whether a foot that swings forward feels the ground, too")

    measures: ClassVar[str] = "jaxgait.models.walker.measures:MEASURES"
    scene: ClassVar[str] = "jaxgait.models.walker.scene:scene"
    presets: ClassVar[Mapping[str, Mapping[str, float]]] = SETS
    variables: ClassVar[Mapping[str, Variable]] = {
        **OBSERVABLES,
        "bristle_1": Variable("m", "deflection of the friction's bristle under foot 1"),
        "bristle_2": Variable("m", "deflection of the friction's bristle under foot 2"),
        "normal_1": Variable("N", "normal force on foot 1"),
        "normal_2": Variable("N", "normal force on foot 2"),
        "tangent_1": Variable("N", "friction force on foot 1"),
        "tangent_2": Variable("N", "friction force on foot 2"),
        "impact_power": Variable("W", "power of the normal forces (spring and impact loss)"),
        "friction_power": Variable("W", "power of the friction forces"),
    }
    numerics: ClassVar[Numerics] = Numerics(stiff=True, rtol=1e-6, atol=1e-8, first_step=1e-6, max_step=0.02)

    @property
    def duration(self) -> float:
        """10 s, some 24 steps, to settle on the periodic gait."""
        return 10.0

    @property
    def normal_law(self) -> NormalLaw:
        """The law of the normal force."""
        return self.normal or HuntCrossley(self.stiffness, self.dissipation, 1.0 / self.smoothing_depth)

    @property
    def friction_law(self) -> FrictionLaw:
        """The law of friction."""
        if isinstance(self.friction, FrictionLaw):
            return self.friction
        return Coulomb(self.friction, self.slip_velocity, "tanh")

    @property
    def sinkage(self) -> Scalar:
        """Depth in m to which a foot sinks at rest under the entire weight."""
        return self.normal_law.static_depth(2.0 * self.mass * self.gravity)

    def initial_state(self) -> WalkerState | BristledState:
        """The paper's start unless `start` says otherwise; the memory of friction, if any, at rest."""
        start, memory = self.start.state(), self.friction_law.at_rest()
        return start if memory is None else BristledState(*start, memory, memory)

    def vector_field(self, t: Scalar, y: WalkerState | BristledState) -> WalkerState | BristledState:
        """Velocities, accelerations, and the rates of friction's memory, if any."""
        del t
        inertia = self.inertia_at(y.theta_1, y.theta_2)
        feet = self.feet(y)
        forces, memory_rates = self._contacts(y, feet)
        load = self._generalised(feet, forces)
        total = Generalised(*(h + f for h, f in zip(self.forces(inertia, y), load, strict=True)))
        rates = (y.vx, y.vy, y.omega_1, y.omega_2, *inertia.solve(total))
        return WalkerState(*rates) if memory_rates[0] is None else BristledState(*rates, *memory_rates)

    def outputs(self, t: Scalar, y: WalkerState | BristledState) -> dict[str, Array]:
        """See `variables`."""
        del t
        feet = self.feet(y)
        (n1, t1), (n2, t2) = self.contact_forces(y, feet)
        return {
            **self.observables(y),
            "normal_1": n1,
            "normal_2": n2,
            "tangent_1": t1,
            "tangent_2": t2,
            "impact_power": n1 * feet[0].gap_rate + n2 * feet[1].gap_rate,
            "friction_power": t1 * feet[0].slip + t2 * feet[1].slip,
        }

    def terminations(self) -> Mapping[str, Callable[[Scalar, Any], Bool[Array, ""]]]:
        """The walker may fall."""
        return {"fell": lambda t, y: self.fell(y)}

    def contact_forces(
        self, y: WalkerState | BristledState, feet: tuple[Foot, Foot]
    ) -> tuple[tuple[Scalar, Scalar], ...]:
        """Normal and tangential force in N on each foot."""
        return self._contacts(y, feet)[0]

    def _contacts(
        self, y: WalkerState | BristledState, feet: tuple[Foot, Foot]
    ) -> tuple[tuple[tuple[Scalar, Scalar], ...], list[Array | None]]:
        """Normal and tangential force in N on each foot, and the rates of friction's memory there."""
        lead = y.theta_1 - y.theta_2
        memories = (getattr(y, "bristle_1", None), getattr(y, "bristle_2", None))
        states = zip(feet, (y.omega_1, y.omega_2), (lead, -lead), memories, strict=True)
        found = [self._foot_force(*state) for state in states]
        return tuple((normal, tangent) for normal, tangent, _ in found), [rate for _, _, rate in found]

    def _foot_force(
        self, foot: Foot, omega: Scalar, lead: Scalar, memory: Array | None
    ) -> tuple[Scalar, Scalar, Array | None]:
        """Normal and friction force in N on a foot, and the rate of friction's memory."""
        law, gate = self.normal_law, self._gate(omega, lead)
        normal = gate * law.force(-foot.gap, -foot.gap_rate)
        engaged = 1.0 if memory is None else gate * law.engaged(-foot.gap)
        tangent, memory_rate = self.friction_law.force(foot.slip, normal, memory, engaged)
        return normal, tangent, memory_rate

    def _gate(self, omega: Scalar, lead: Scalar) -> Scalar:
        """Nearly 0 for a foot that swings forward and is not yet ahead of the other one, nearly 1 otherwise."""
        if self.scuffs:
            return 1.0
        behind = jax.nn.sigmoid((self.clearance_angle - lead) / self.clearance_width)
        return 1.0 - behind * jax.nn.sigmoid(omega / self.swing_rate)

    @staticmethod
    def _generalised(feet: tuple[Foot, Foot], forces: tuple[tuple[Scalar, Scalar], ...]) -> Generalised:
        (n1, t1), (n2, t2) = forces
        moments = (f.normal_arm * n + f.tangent_arm * t for f, (n, t) in zip(feet, forces, strict=True))
        return Generalised(t1 + t2, n1 + n2, *moments)
