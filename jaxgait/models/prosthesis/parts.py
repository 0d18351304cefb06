"""The parameters of the four-bar prosthesis, by part, and the reconstructed sets."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait import precision
from jaxgait.fields import Immutable
from jaxgait.mechanics.contact import KelvinVoigt, NormalLaw, Smoothing
from jaxgait.mechanics.fourbar import FourBar, close, psi_at
from jaxgait.mechanics.friction import Coulomb, FrictionLaw, contact_force
from jaxgait.mechanics.planar import Vec, added, down
from jaxgait.model import Scalar, parameter
from jaxgait.motion.drive import Jet
from jaxgait.native import kept
from jaxgait.parameters import CHOSEN, ParameterError, choice, part
from jaxgait.plausible import limb_mass, warn_slow
from jaxgait.precision import float64_default

PAPER, RECONSTRUCTED = "paper", "reconstructed (set R2)"


@float64_default
class Linkage(Immutable):
    """The four-bar linkage and its position on thigh and shank.

    Examples:
        >>> from jaxgait.models.prosthesis.parts import Linkage
        >>> bars = Linkage(l_AB=0.025).bars
        >>> print(float(bars.l_AB), float(bars.l_AD))  # m
        0.025 0.1128
    """

    l_AB: Scalar = parameter(0.023, unit="m", doc="length of the upper bar AB", bounds="positive", source=RECONSTRUCTED)
    l_BC: Scalar = parameter(
        0.057, unit="m", doc="length of the posterior link BC", bounds="positive", source=RECONSTRUCTED
    )
    l_CD: Scalar = parameter(0.065, unit="m", doc="length of the lower bar CD", bounds="positive", source=RECONSTRUCTED)
    l_AD: Scalar = parameter(
        0.1128, unit="m", doc="length of the anterior link AD", bounds="positive", source=RECONSTRUCTED
    )
    l_AE: Scalar = parameter(
        0.018, unit="m", doc="distance from the thigh end E to the pivot A", bounds="nonnegative", source=RECONSTRUCTED
    )
    l_DF: Scalar = parameter(
        0.020, unit="m", doc="distance from the pivot D to the shank end F", bounds="nonnegative", source=RECONSTRUCTED
    )
    gamma1: Scalar = parameter(
        math.radians(90), unit="rad", doc="angle of the bar AB against the thigh axis", source=PAPER
    )
    gamma2: Scalar = parameter(
        math.radians(24), unit="rad", doc="angle of the bar CD against the shank axis", source=PAPER
    )

    @property
    def bars(self) -> FourBar:
        """The dimensions for `mechanics.fourbar`."""
        return FourBar(self.l_AB, self.l_BC, self.l_CD, self.l_AD, self.gamma1, self.gamma2)

    def validate(self) -> None:
        """Checks that the linkage can be assembled with the knee straight and flexed.

        Raises:
            ParameterError: naming the lengths and the knee.
        """
        names = ("l_AB", "l_BC", "l_CD", "l_AD")
        for angle, where in ((0.0, "straight"), (math.radians(60.0), "flexed by 60 deg")):
            psi, cosine = map(np.asarray, _assembled(*precision.cast((self, angle))))
            impossible = ~np.isfinite(psi) | (np.abs(cosine) >= 1.0)
            if impossible.any():
                first = np.unravel_index(np.argmax(impossible), impossible.shape)
                own = {name: np.broadcast_to(getattr(self, name), impossible.shape)[first] for name in names}
                bars = ", ".join(f"{name}={float(length)}" for name, length in own.items())
                member = f", member {', '.join(str(i) for i in first)}," if first else ""
                raise ParameterError(
                    f"the four-bar linkage ({bars} m){member} cannot be assembled with the knee {where}"
                )


@kept
def _assembled(linkage: Linkage, angle: Scalar) -> tuple[Array, Array]:
    """Angle psi of the linkage at a knee angle, and the cosine of DAC there."""
    psi = psi_at(linkage.bars, angle)
    return psi, close(linkage.bars, psi).cosine


class Segments(Immutable):
    """Lengths of thigh, shank and foot.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.models.prosthesis.parts import Segments
        >>> leg = Prosthesis(segments=Segments(shank=0.35))
        >>> print(leg.segments.shank, leg.segments.thigh)  # m
        0.35 0.4175
    """

    thigh: Scalar = parameter(
        0.4175, unit="m", doc="thigh length, hip to thigh end E", bounds="positive", source=RECONSTRUCTED
    )
    shank: Scalar = parameter(
        0.322, unit="m", doc="shank length, shank end F to ankle", bounds="positive", source=RECONSTRUCTED
    )
    foot: Scalar = parameter(0.238, unit="m", doc="foot length, heel to toe", bounds="positive", source=RECONSTRUCTED)
    ankle: Scalar = parameter(
        0.24,
        unit="1",
        doc="position of the ankle on the foot, as a fraction from the heel",
        bounds="fraction",
        source=RECONSTRUCTED,
    )


def _mass(default: float, doc: str) -> Any:
    options = {"bounds": "positive", "source": RECONSTRUCTED, "plausible": limb_mass(default)}
    return parameter(default, unit="kg", doc=doc, **options)


class Masses(Immutable):
    """Masses; bars and segments are uniform rods unless an inertia is given.

    Examples:
        >>> from jaxgait.models.prosthesis.parts import Masses
        >>> m = Masses()
        >>> print(round(m.AD + m.BC + m.CD + m.BE, 2))  # kg, of the knee
        0.9
    """

    AD: Scalar = _mass(0.20, "mass of the anterior link")
    BC: Scalar = _mass(0.10, "mass of the posterior link")
    CD: Scalar = _mass(0.25, "mass of the lower bar")
    BE: Scalar = _mass(0.35, "mass of the upper bar")
    shank: Scalar = _mass(1.70, "mass of the shank with hydraulics")
    foot: Scalar = _mass(0.55, "mass of the foot with shoe")
    thigh: Scalar = _mass(6.0, "mass of the residual thigh")
    inertia_thigh: Scalar = parameter(
        0.1, unit="kg m^2", doc="moment of inertia of the thigh", bounds="positive", source=RECONSTRUCTED
    )
    inertia_BE: Scalar = parameter(
        1e-4, unit="kg m^2", doc="moment of inertia of the upper bar", bounds="positive", source=RECONSTRUCTED
    )


@float64_default
class Ground(Immutable):
    """Foot-ground contact: Kelvin-Voigt with Coulomb friction (section 1.2 of the paper), or other laws.

    For example `Ground(friction=Stribeck(...))` or `Ground(normal=HuntCrossley(...))`.

    Examples:
        >>> from jaxgait.models.prosthesis.parts import Ground
        >>> ground = Ground(stiffness=1e5, friction=0.5)
        >>> print(type(ground.normal_law).__name__, type(ground.friction_law).__name__)
        KelvinVoigt Coulomb
        >>> force, _ = ground.force(depth=2e-3, rate=0.0, slip=1.0)
        >>> print(round(float(force.x), 1), round(float(force.y), 1))  # N
        -100.0 200.0
    """

    stiffness: Scalar = parameter(
        1e5, unit="N/m", doc="ground stiffness K_N", bounds="positive", source=PAPER, of="normal"
    )
    damping: Scalar = parameter(
        20.0, unit="N s/m", doc="ground damping chi_N", bounds="nonnegative", source=PAPER, of="normal"
    )
    friction: Scalar | FrictionLaw = parameter(
        0.6, unit="1", doc="friction coefficient of the ground", bounds="nonnegative", source=PAPER, standard="Coulomb"
    )
    steepness: Scalar = parameter(
        1e6, unit="1/m", doc="reciprocal touch-down depth C1", bounds="positive", source=PAPER, of="normal"
    )
    slip_rate: Scalar = parameter(
        1e4, unit="s/m", doc="reciprocal slip velocity C2", bounds="positive", source=PAPER, of="friction"
    )
    smoothing: Smoothing = choice("tanh", doc="smoothing at touch-down", of="normal")
    normal: NormalLaw | None = part(None, doc="law of the ground's normal force", standard="KelvinVoigt")

    @property
    def normal_law(self) -> NormalLaw:
        """The law of the normal force."""
        return _normal_law(self)

    @property
    def friction_law(self) -> FrictionLaw:
        """The law of friction."""
        if isinstance(self.friction, FrictionLaw):
            return self.friction
        return Coulomb(self.friction, 1.0 / self.slip_rate, "arctan")

    def force(
        self, depth: Scalar, rate: Scalar, slip: Scalar, memory: Scalar | None = None
    ) -> tuple[Vec, Float[Array, ""] | None]:
        """Friction and normal force in N on a point of the foot, and the rate of the friction law's memory.

        Args:
            depth: penetration of the ground in m.
            rate: its rate in m/s.
            slip: velocity of the point along the ground in m/s.
            memory: of the friction law, if any.
        """
        found = contact_force(self.normal_law, self.friction_law, depth, rate, slip, memory)
        return Vec(found.tangential, found.normal), found.memory_rate


@float64_default
class Lock(Immutable):
    """Unilateral stop between AB and BC against overextension of the straight knee.

    Examples:
        >>> from jaxgait.models.prosthesis.parts import Lock
        >>> lock = Lock(stiffness=1e5, arm=0.01)
        >>> print(type(lock.normal_law).__name__, round(float(lock.torque(angle=0.02, rate=0.0)), 3))  # N m
        KelvinVoigt 0.2
    """

    stiffness: Scalar = parameter(
        7.5e4, unit="N/m", doc="stiffness of the lock K_c", bounds="nonnegative", source=PAPER, of="normal"
    )
    damping: Scalar = parameter(
        20.0, unit="N s/m", doc="damping of the lock C_c", bounds="nonnegative", source=PAPER, of="normal"
    )
    arm: Scalar = parameter(0.01, unit="m", doc="distance of the stop from B, d", bounds="positive", source=PAPER)
    steepness: Scalar = parameter(
        1e6, unit="1/m", doc="reciprocal engagement depth of the lock C3", bounds="positive", source=PAPER, of="normal"
    )
    smoothing: Smoothing = choice("tanh", doc="smoothing where the lock engages", of="normal")
    normal: NormalLaw | None = part(None, doc="law of the lock's stop", standard="KelvinVoigt")

    @property
    def normal_law(self) -> NormalLaw:
        """The law of the stop."""
        return _normal_law(self)

    def torque(self, angle: Scalar, rate: Scalar) -> Scalar:
        """Torque in N m on the thigh, its opposite on link BC, at an overextension in rad and its rate in rad/s."""
        return self.arm * self.normal_law.force(self.arm * angle, self.arm * rate)


def _normal_law(part: Ground | Lock) -> NormalLaw:
    """A part's own law, or the paper's Kelvin-Voigt element with the part's numbers."""
    return part.normal or KelvinVoigt(part.stiffness, part.damping, part.steepness, part.smoothing)


@float64_default
class Damper(Immutable):
    """Hydraulic cylinder with a spring, from the thigh body to link AD.

    Examples:
        >>> from jaxgait.models.prosthesis.parts import Damper
        >>> damper = Damper(k=2e4, c=1000.0, rest_length=0.17)
        >>> round(float(damper.force(length=0.18, rate=0.1)), 3)  # N, of spring and oil
        300.0
        >>> from jaxgait.mechanics.planar import down
        >>> length, torque = damper.torque(down(0.0), rate=0.0, gamma1=0.0)
        >>> print(0.14 < float(length) < 0.19)  # m
        True
    """

    k: Scalar = parameter(1.8e4, unit="N/m", doc="spring stiffness of the damper", bounds="nonnegative", source=PAPER)
    c: Scalar = parameter(
        900.0, unit="N s/m", doc="damping coefficient of the damper", bounds="nonnegative", source=PAPER
    )
    rest_length: Scalar = parameter(
        0.16879, unit="m", doc="rest length of the cylinder l0", bounds="positive", source=PAPER
    )
    thigh_arm: Scalar = parameter(
        0.0191,
        unit="m",
        doc="distance from A to the upper end of the cylinder p_G",
        bounds="positive",
        source=RECONSTRUCTED,
    )
    thigh_tilt: Scalar = parameter(
        math.radians(33), unit="rad", doc="angle of the cylinder's upper end above AB, eps_G", source=RECONSTRUCTED
    )
    link_arm: Scalar = parameter(
        0.1640,
        unit="m",
        doc="distance from A to the cylinder's lower end along AD, r_H",
        bounds="positive",
        source=RECONSTRUCTED,
    )

    def warn_together(self, label: str) -> None:
        """Warns of exchanged coefficients."""
        warn_slow(self, label, "k", "c")

    def force(self, length: Scalar, rate: Scalar) -> Scalar:
        """Force in N with which the cylinder pulls its ends together, at a length in m and its rate in m/s."""
        return self.k * (length - self.rest_length) + self.c * rate

    def torque(self, AD: Vec, rate: Scalar, gamma1: Scalar) -> tuple[Scalar, Scalar]:
        """Length in m of the cylinder and its torque in N m on link AD (equations 10 and 11).

        Args:
            AD: direction of the link in the thigh frame.
            rate: angular velocity of the link relative to the thigh in rad/s.
            gamma1: angle between the bar AB and the thigh axis in rad.
        """
        arm = added(AD, down(self.thigh_tilt - gamma1))  # cos and sin of theta1 + eps are (y, -x)
        product = self.thigh_arm * self.link_arm
        length = jnp.sqrt(self.thigh_arm**2 + self.link_arm**2 - 2.0 * product * arm.y)
        gain = -product * arm.x / length
        return length, -gain * self.force(length, gain * rate)


@float64_default
class Ankle(Immutable):
    """Torsional spring towards the measured ankle angle, and a damper of the deviation from it.

    Examples:
        >>> from jaxgait.models.prosthesis.parts import Ankle
        >>> from jaxgait.motion.drive import Jet
        >>> measured = Jet(value=0.1, rate=0.5, acceleration=0.0)
        >>> round(float(Ankle(stiffness=10.0).torque(angle=0.3, rate=0.5, target=measured)), 3)  # N m
        -2.0
    """

    stiffness: Scalar = parameter(
        10.0, unit="N m/rad", doc="rotational stiffness of the ankle", bounds="nonnegative", source=PAPER
    )
    damping: Scalar = parameter(
        0.2, unit="N m s/rad", doc="rotational damping of the ankle", bounds="nonnegative", source=PAPER
    )

    def warn_together(self, label: str) -> None:
        """Warns of exchanged coefficients."""
        warn_slow(self, label, "stiffness", "damping")

    def torque(self, angle: Scalar, rate: Scalar, target: Jet) -> Scalar:
        """Torque in N m on the foot, its opposite on the shank.

        Args:
            angle: of the ankle in rad.
            rate: its rate in rad/s.
            target: the measured angle.
        """
        return -self.stiffness * (angle - target.value) - self.damping * (rate - target.rate)


@float64_default
class JointDampedAnkle(Ankle):
    """An ankle whose damper resists the rotation of the joint, not of the deviation from the measured angle.

    Examples:
        >>> from jaxgait.models.prosthesis.parts import JointDampedAnkle
        >>> from jaxgait.motion.drive import Jet
        >>> measured = Jet(value=0.3, rate=0.5, acceleration=0.0)
        >>> ankle = JointDampedAnkle(damping=0.2)
        >>> round(float(ankle.torque(angle=0.3, rate=0.5, target=measured)), 3)  # N m
        -0.1
    """

    def torque(self, angle: Scalar, rate: Scalar, target: Jet) -> Scalar:
        """Torque in N m on the foot; see `Ankle.torque`."""
        return super().torque(angle, rate, target._replace(rate=0.0))


@float64_default
class Socket(Immutable):
    """Compliant socket between the measured hip path and the prosthesis, in x and y (beyond the paper).

    The paper prescribes the hip's position over a stiff floor, so a millimetre of hip height means a hundred newtons of
    ground force. On a real wearer soft tissue yields, and the trunk's weight presses the foot down. So a spring and a
    damper guide the prosthesis along the measured path, and the trunk pushes with a fraction of the ground reaction
    measured with it: zero in swing, about body weight in stance. The leg must be straight at heel strike: raise the hip
    by some millimetres (`height_offset` -0.11 m for set R2), or the knee buckles.

    Examples:
        >>> from jaxgait.mechanics.planar import Vec
        >>> from jaxgait.models.prosthesis.parts import Socket
        >>> still = Vec(0.0, 0.0)
        >>> force = Socket(stiffness_y=1e4).force(Vec(0.0, 0.02), still, load=Vec(0.0, 300.0))
        >>> print(round(float(force.y), 3))  # N: 200 of the spring, 300 of the trunk
        -500.0
    """

    stiffness_x: Scalar = parameter(
        1.0e5, unit="N/m", doc="fore-aft stiffness of the socket", bounds="nonnegative", source=CHOSEN
    )
    stiffness_y: Scalar = parameter(
        1.0e4, unit="N/m", doc="vertical stiffness of the socket", bounds="nonnegative", source=CHOSEN
    )
    damping_x: Scalar = parameter(
        1.0e3, unit="N s/m", doc="fore-aft damping of the socket", bounds="nonnegative", source=CHOSEN
    )
    damping_y: Scalar = parameter(
        450.0, unit="N s/m", doc="vertical damping of the socket", bounds="nonnegative", source=CHOSEN
    )
    load_share: Scalar = parameter(
        1.0, unit="1", doc="share of the measured ground reaction that the trunk pushes with", source=CHOSEN
    )

    def warn_together(self, label: str) -> None:
        """Warns of exchanged coefficients."""
        warn_slow(self, label, "stiffness_x", "damping_x")
        warn_slow(self, label, "stiffness_y", "damping_y")

    def force(self, displacement: Vec, rate: Vec, load: Vec | None) -> Vec:
        """Force in N on the leg, forward and upward: towards the path, less the push of the trunk.

        Args:
            displacement: of the hip in the socket in m.
            rate: its rate in m/s.
            load: measured ground reaction in N, if any.
        """
        push = Vec(0.0, 0.0) if load is None else self.load_share * load
        return Vec(
            -self.stiffness_x * displacement.x - self.damping_x * rate.x - push.x,
            -self.stiffness_y * displacement.y - self.damping_y * rate.y - push.y,
        )


SETS: dict[str, dict[str, float]] = {
    "R1": {
        "linkage.l_AE": 0.019,
        "linkage.l_AD": 0.1132,
        "linkage.l_BC": 0.058,
        "masses.shank": 1.75,
        "masses.foot": 0.57,
        "damper.thigh_tilt": math.radians(30.0),
        "damper.thigh_arm": 0.0187,
        "segments.foot": 0.237,
        "height_offset": -0.117,
        "damper.link_arm": 0.1641,
    },
    "R2": {},
    "R3": {
        "linkage.l_AE": 0.0194,
        "linkage.l_AB": 0.0225,
        "linkage.l_BC": 0.0587,
        "segments.shank": 0.3218,
        "masses.shank": 1.71,
        "damper.thigh_tilt": math.radians(32.3),
        "damper.thigh_arm": 0.0184,
        "segments.foot": 0.237,
        "segments.ankle": 0.23,
        "height_offset": -0.1174,
    },
}
"""The differences of each set from R2, the reference. R3 shows the paper's sequence of subharmonic windows; R1 is a
cross-check, which folds at weak damping."""
