r"""Planar leg prosthesis with a four-bar knee, driven by measured hip motion.

        o H   hip: position (x, y) and thigh angle alpha1 are prescribed by a measured stride
        |
        |  thigh
        |
    B---A-+ E     A, B: upper pivots, behind E, the lower end of the thigh
    |    \        hydraulic damper between the thigh body and link AD
    |     \       BC: posterior link, thetaB      AD: anterior link, thetaA
    C------D
         F/
         /    shank, alpha11
        /
       o K  ankle: torsional spring and damper towards the measured ankle angle
    ===o====== foot, beta1: heel and toe touch the ground y = 0

World frame: x forward, y up. Thigh, shank and link angles from the downward vertical, positive forward; the foot's from
the horizontal, toe up positive. Knee flexion = alpha1 - alpha11. The state has the free angles (thetaB, beta1) and
their rates; thetaA and alpha11 follow from the loop in closed form (`mechanics.fourbar`), the accelerations from Kane's
method (`mechanics.kane`). The paper's own formulation, with multipliers, is in the tests.

Source: Lü Yang, Fang Hongbin, Xu Jian, Ma Jianmin, Wang Qining, Zhang Xiaoxu, Chin. J. Theor. Appl. Mech. 52(4) (2020)
1157-1173. The paper's tables are lost; the parameter sets R1, R2, R3 are reconstructions (R2: default).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.mechanics import fourbar
from jaxgait.mechanics.kane import AppliedForce, Body, Point, Rotation, accelerations, along
from jaxgait.mechanics.planar import Vec, added, down, forward
from jaxgait.model import Model, Numerics, Scalar, State, Variable, parameter
from jaxgait.models.prosthesis.leg import (
    POINTS,
    BristledKneeState,
    KneeState,
    Leg,
    SocketState,
    Torques,
    energy,
    loop_residual,
    powers,
    reaction,
)
from jaxgait.models.prosthesis.parts import (
    PAPER,
    RECONSTRUCTED,
    SETS,
    Ankle,
    Damper,
    Ground,
    Linkage,
    Lock,
    Masses,
    Segments,
    Socket,
)
from jaxgait.motion.drive import GaitDrive, HipMotion, Jet, at_cadence, reference_gait
from jaxgait.native.identity import made_of
from jaxgait.parameters import CHOSEN, ParameterError, part


class Prosthesis(Model):
    """The leg of the module's docstring, by default the reference set R2 with the embedded gait.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> knee = Prosthesis()
        >>> print(round(float(knee.period), 3), round(float(knee.duration), 2))  # s
        1.127 22.54
        >>> y = knee.initial_state()
        >>> leg = knee.leg(0.0, y)
        >>> print(sum(float(body.mass) for body in knee.bodies(leg).values()))  # kg
        9.15
        >>> print(round(float(knee.torques(leg, y).cylinder), 3))  # N m
        -0.545
        >>> print(knee.labels["point"][:3])  # names of the points of `leg`
        ('H', 'E', 'A')
    """

    linkage: Linkage = Linkage()
    segments: Segments = Segments()
    masses: Masses = Masses()
    ground: Ground = Ground()
    lock: Lock = Lock()
    damper: Damper = part(Damper(), doc="hydraulic damper of the knee")
    ankle: Ankle = part(Ankle(), doc="spring and damper of the ankle")
    socket: Socket | None = part(None, doc="give between the measured hip path and the leg")
    gravity: Scalar = parameter(
        9.81, unit="m/s^2", doc="gravitational acceleration", bounds="nonnegative", source=RECONSTRUCTED
    )
    height_offset: Scalar = parameter(
        -0.1175, unit="m", doc="offset of the hip height from the measured one", source=RECONSTRUCTED
    )
    hip_lift: Scalar = parameter(
        1.0, unit="1", doc="ratio of the hip height to the measured one", bounds="positive", source=PAPER
    )
    cadence: Scalar = parameter(
        1.0, unit="1", doc="ratio of the cadence to the measured one", bounds="positive", source=CHOSEN
    )
    drive: GaitDrive = eqx.field(default_factory=reference_gait)

    numerics: ClassVar[Numerics] = Numerics(stiff=True, rtol=1e-6, atol=1e-8, first_step=1e-5, max_step=0.01)
    endings: ClassVar[Mapping[str, str]] = {
        "folded": "a dead point of the four-bar knee: its links AD and DC are in line"
    }
    driven_advice: ClassVar[str] = (
        "the gait depends on millimetres of its height: look at the ground forces, and scan --over height_offset"
    )
    measures: ClassVar[str] = "jaxgait.models.prosthesis.measures:MEASURES"
    scene: ClassVar[str] = "jaxgait.models.prosthesis.scene:scene"
    recording: ClassVar[str] = "jaxgait.models.prosthesis.recording:recording"
    presets: ClassVar[Mapping[str, Mapping[str, float]]] = SETS
    search: ClassVar[Mapping[str, Any]] = {
        "maximize": "rho",
        "over": {"damper.k": (5e3, 4e4), "damper.c": (100.0, 3e3)},
        # A touch-down depth of 0.1 mm instead of 1 micrometre: derivatives need steps that resolve it.
        "set": {"ground.steepness": 1e4},
        "strides": 12,
        "rtol": 1e-5,
        "show": ("knee_angle", "measured_knee_angle"),
    }
    labels: ClassVar[Mapping[str, Sequence[str]]] = {"point": POINTS, "axis": ("x", "y")}
    variables: ClassVar[Mapping[str, Variable]] = {
        "theta_b": Variable("rad", "angle of the posterior link BC"),
        "beta_1": Variable("rad", "foot angle, toe up"),
        "theta_b_rate": Variable("rad/s", "angular velocity of the posterior link BC"),
        "beta_1_rate": Variable("rad/s", "angular velocity of the foot, toe up"),
        "socket_x": Variable("m", "fore-aft displacement in the socket"),
        "socket_y": Variable("m", "vertical displacement in the socket"),
        "socket_x_rate": Variable("m/s", "fore-aft velocity in the socket"),
        "socket_y_rate": Variable("m/s", "vertical velocity in the socket"),
        "heel_bristle": Variable("m", "deflection of the friction's bristle under the heel"),
        "toe_bristle": Variable("m", "deflection of the friction's bristle under the toe"),
        "knee_angle": Variable("rad", "knee flexion"),
        "knee_rate": Variable("rad/s", "rate of knee flexion"),
        "knee_acceleration": Variable("rad/s^2", "acceleration of knee flexion"),
        "measured_knee_angle": Variable("rad", "measured knee flexion", reference_of="knee_angle"),
        "thigh_angle": Variable("rad", "thigh angle, forward"),
        "shank_angle": Variable("rad", "shank angle, forward"),
        "theta_a": Variable("rad", "angle of the anterior link AD"),
        "ankle_angle": Variable("rad", "ankle angle, dorsiflexion"),
        "centre_x": Variable("m", "instantaneous centre of the knee in the thigh frame, forward of A"),
        "centre_y": Variable("m", "instantaneous centre of the knee in the thigh frame, above A"),
        "heel_force": Variable("N", "normal force under the heel"),
        "toe_force": Variable("N", "normal force under the toe"),
        "heel_friction": Variable("N", "friction force on the heel, forward"),
        "toe_friction": Variable("N", "friction force on the toe, forward"),
        "lock_torque": Variable("N m", "torque of the knee lock"),
        "damper_length": Variable("m", "length of the cylinder"),
        "damper_torque": Variable("N m", "torque of the cylinder on AD"),
        "ankle_torque": Variable("N m", "torque of the ankle on the foot"),
        "hip_force_x": Variable("N", "force that the hip applies to the leg, forward"),
        "hip_force_y": Variable("N", "force that the hip applies to the leg, upward"),
        "hip_moment": Variable("N m", "moment that the hip applies to the thigh, flexing"),
        "knee_moment": Variable("N m", "moment about the pivot A that the thigh applies to the knee, flexing"),
        "hip_power": Variable("W", "power of the hip on the leg, through the socket if there is one"),
        "lock_power": Variable("W", "power of the knee lock"),
        "damper_power": Variable("W", "power of the cylinder"),
        "ankle_power": Variable("W", "power of the ankle"),
        "ground_power": Variable("W", "power of the ground on heel and toe"),
        "energy": Variable("J", "kinetic and potential energy of the leg"),
        "loop_residual": Variable("m", "closure error of the linkage"),
        "points": Variable("m", "position of the points of the leg", ("point", "axis")),
    }

    # --- prescribed motion --------------------------------------------------------------------------------------------

    @property
    def period(self) -> Scalar:
        """Stride time in s."""
        return self.drive.period / self.cadence

    @property
    def duration(self) -> Scalar:
        """Twenty strides in s, as in the paper."""
        return 20.0 * self.period

    @made_of  # declared stateless: its runs must not change the identity of programs
    def driven(self, drive: Any, *, side: str | None = None) -> Prosthesis:
        """The leg driven by another measured stride, and fitted to the person who walked, if their segments are known.

        A fitted leg is also aligned: its `height_offset` is the one at which it walks best, found by 61 runs of
        twenty strides. With an embedded gait (unless with its person, see `reference_gait`) or a stride in columns, the
        leg keeps its segments and masses, and meets the floor as before. See `jaxgait.models.prosthesis.fitting`.

        Args:
            drive: a drive, a name or path as in `--motion` (an embedded gait, a walk, a recording, a stride), or
                recordings, a `Walk`, a `Stride` or a table (see `jaxgait.motion.naming.motion_drive`).
            side: the leg of recordings, right by default.

        Raises:
            MotionFormatError: for an unusable file.
            FileNotFoundError: for a name that is neither a file nor an embedded gait.
            ValueError: for a side with motion that is not recordings.
            TypeError: for anything else.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> leg = Prosthesis().driven("hbm07_0.98ms")  # or "walk.json"
            >>> print(leg.drive.name, round(float(leg.period), 3))  # s
            hbm07_0.98ms 1.196
        """
        from jaxgait.models.prosthesis.fitting import aligned, with_drive
        from jaxgait.motion.naming import motion_drive

        drive = motion_drive(drive, side=side)
        leg = with_drive(self, drive)
        return leg if drive.person is None else aligned(leg)

    def hip(self, t: Scalar) -> HipMotion:
        """The prescribed motion at time `t` in s, with lift, offset and cadence applied.

        Examples:
            >>> from jaxgait import Prosthesis, with_parameters
            >>> leg = Prosthesis()
            >>> higher = with_parameters(leg, {"height_offset": float(leg.height_offset) + 0.01})
            >>> rise = higher.hip(0.0).hip_y.value - leg.hip(0.0).hip_y.value
            >>> print(round(float(rise / leg.hip_lift), 6))  # m
            0.01
        """
        motion = at_cadence(self.drive, self.cadence).evaluate(t)
        height, s = motion.hip_y, self.hip_lift
        lifted = Jet(s * (height.value + self.height_offset), s * height.rate, s * height.acceleration)
        return motion._replace(hip_y=lifted)

    def initial_state(self) -> State:
        """Heel strike, with the measured knee angle (at least 0.05 rad), links and foot at rest."""
        hip = self.hip(0.0)
        psi = fourbar.psi_at(self.linkage.bars, jnp.maximum(hip.knee.value, 0.05))
        knee = fourbar.close(self.linkage.bars, psi)
        thigh = hip.thigh.value
        foot = thigh + fourbar.shank_angle(self.linkage.bars, knee) + hip.ankle.value
        zero = jnp.zeros_like(psi)
        start = KneeState(thigh + psi, foot, zero, zero)
        law = self.ground.friction_law
        return self._state(start, (zero,) * 4, (law.at_rest(), law.at_rest()))

    def _state(self, free: Sequence[Scalar], socket: Sequence[Scalar], memories: Sequence[Array | None]) -> State:
        """The state, or its rate, without the components that the socket or the friction law lacks."""
        if memories[0] is not None:
            return BristledKneeState(*free, *(socket if self.socket is not None else (None,) * 4), *memories)
        return KneeState(*free) if self.socket is None else SocketState(*free, *socket)

    # --- kinematics ---------------------------------------------------------------------------------------------------

    def leg(self, t: Scalar, y: State) -> Leg:
        """Positions, velocities and partial velocities at time `t` in s and state `y`.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> leg = Prosthesis()
            >>> now = leg.leg(0.0, leg.initial_state())
            >>> thigh = now.points["E"].position - now.points["H"].position
            >>> print(round(float(thigh.x**2 + thigh.y**2) ** 0.5, 6), float(leg.segments.thigh))  # m
            0.4175 0.4175
        """
        hip = self.hip(t)
        alpha, bars = hip.thigh, self.linkage.bars
        psi_rate = y.theta_b_rate - alpha.rate
        knee = fourbar.close(bars, y.theta_b - alpha.value)
        bias_A, bias_S = fourbar.bias(bars, knee, psi_rate)
        free = (None,) * (0 if self.socket is None else 2)  # the socket's translations turn nothing

        axis = down(alpha.value)
        CD = added(axis, knee.CD)
        rate_S, acceleration_S = alpha.rate + knee.rate_S * psi_rate, (1.0 - knee.rate_S) * alpha.acceleration + bias_S
        rate_A, acceleration_A = alpha.rate + knee.rate_A * psi_rate, (1.0 - knee.rate_A) * alpha.acceleration + bias_A
        thigh = Rotation(axis, alpha.rate, alpha.acceleration, (None, None, *free))
        plate = thigh._replace(direction=added(axis, down(self.linkage.gamma1)))
        link_AD = Rotation(added(axis, knee.AD), rate_A, acceleration_A, (knee.rate_A, None, *free))
        link_BC = Rotation(added(axis, knee.BC), y.theta_b_rate, 0.0, (1.0, None, *free))
        bar_CD = Rotation(CD, rate_S, acceleration_S, (knee.rate_S, None, *free))
        shank = bar_CD._replace(direction=added(CD, down(-self.linkage.gamma2)))
        foot = Rotation(forward(y.beta_1), y.beta_1_rate, 0.0, (None, 1.0, *free))

        H = self._hip_point(hip, y)
        E = along(H, self.segments.thigh, thigh)
        A = along(E, -self.linkage.l_AE, plate)
        B = along(A, -self.linkage.l_AB, plate)
        C = along(B, self.linkage.l_BC, link_BC)
        D = along(A, self.linkage.l_AD, link_AD)
        F = along(D, -self.linkage.l_DF, bar_CD)
        K = along(F, self.segments.shank, shank)
        heel = along(K, -self.segments.ankle * self.segments.foot, foot)
        toe = along(K, (1.0 - self.segments.ankle) * self.segments.foot, foot)
        points: dict[str, Point] = dict(zip(POINTS, (H, E, A, B, C, D, F, K, heel, toe), strict=True))
        return Leg(hip, knee, thigh, plate, link_AD, link_BC, bar_CD, shank, foot, points)

    def _hip_point(self, hip: HipMotion, y: State) -> Point:
        x, height = hip.hip_x, hip.hip_y
        path = Point(Vec(x.value, height.value), Vec(x.rate, height.rate), Vec(x.acceleration, height.acceleration), ())
        if self.socket is None:
            return path._replace(partial_velocities=(None, None))
        return Point(
            path.position + Vec(y.socket_x, y.socket_y),
            path.velocity + Vec(y.socket_x_rate, y.socket_y_rate),
            path.acceleration,
            (None, None, Vec(1.0, 0.0), Vec(0.0, 1.0)),
        )

    def bodies(self, leg: Leg) -> dict[str, Body]:
        """The moving bodies of the leg, thigh and upper bar included."""
        m, P, s, k = self.masses, leg.points, self.segments, self.linkage
        return {
            "thigh": Body(m.thigh, m.inertia_thigh, along(P["H"], s.thigh / 2.0, leg.thigh), leg.thigh),
            "BE": Body(m.BE, m.inertia_BE, along(P["E"], -(k.l_AE + k.l_AB) / 2.0, leg.plate), leg.plate),
            "AD": Body(m.AD, _rod(m.AD, k.l_AD), along(P["A"], k.l_AD / 2.0, leg.link_AD), leg.link_AD),
            "BC": Body(m.BC, _rod(m.BC, k.l_BC), along(P["B"], k.l_BC / 2.0, leg.link_BC), leg.link_BC),
            "CD": Body(m.CD, _rod(m.CD, k.l_CD), along(P["D"], -k.l_CD / 2.0, leg.bar_CD), leg.bar_CD),
            "shank": Body(m.shank, _rod(m.shank, s.shank), along(P["F"], s.shank / 2.0, leg.shank), leg.shank),
            "foot": Body(m.foot, _rod(m.foot, s.foot), along(P["K"], (0.5 - s.ankle) * s.foot, leg.foot), leg.foot),
        }

    # --- forces -------------------------------------------------------------------------------------------------------

    def ground_force(self, point: Point, memory: Scalar | None = None) -> tuple[Vec, Float[Array, ""] | None]:
        """Friction and normal force in N of the ground on heel or toe, and the rate of the friction law's memory.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> leg = Prosthesis()
            >>> toe = leg.leg(0.0, leg.initial_state()).points["toe"]
            >>> force, _ = leg.ground_force(toe)
            >>> print((float(force.y) > 0.0) == (float(toe.position.y) < 0.0))  # N, below the floor only
            True
        """
        return self.ground.force(-point.position.y, -point.velocity.y, point.velocity.x, memory)

    def lock_torque(self, psi: Scalar, psi_rate: Scalar) -> Scalar:
        """Torque in N m of the knee lock on the thigh; its opposite acts on link BC.

        Args:
            psi: angle of link BC to the thigh in rad.
            psi_rate: its rate in rad/s.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> from jaxgait.mechanics import fourbar
            >>> leg = Prosthesis()
            >>> straight = fourbar.psi_at(leg.linkage.bars, 0.0)
            >>> bent, beyond = (float(leg.lock_torque(straight + turn, 0.0)) for turn in (-0.1, 0.1))
            >>> print(bent, round(beyond, 3))  # N m, the latter at 0.1 rad of overextension
            0.0 0.75
        """
        return self.lock.torque(psi - fourbar.psi_at(self.linkage.bars, 0.0), psi_rate)

    def torques(self, leg: Leg, y: State) -> Torques:
        """Torques of lock, cylinder and ankle."""
        thigh = leg.hip.thigh
        shank = thigh.value + fourbar.shank_angle(self.linkage.bars, leg.knee)
        length, cylinder = self.damper.torque(leg.knee.AD, leg.link_AD.rate - thigh.rate, self.linkage.gamma1)
        lock = self.lock_torque(y.theta_b - thigh.value, y.theta_b_rate - thigh.rate)
        ankle = self.ankle.torque(y.beta_1 - shank, y.beta_1_rate - leg.shank.rate, leg.hip.ankle)
        return Torques(lock, cylinder, ankle, length)

    def _socket_forces(self, leg: Leg, y: State) -> tuple[Scalar, ...]:
        if self.socket is None:
            return ()
        at, rate = Vec(y.socket_x, y.socket_y), Vec(y.socket_x_rate, y.socket_y_rate)
        return tuple(self.socket.force(at, rate, leg.hip.load))

    def _applied(self, leg: Leg, y: State) -> list[Scalar]:
        """Generalised forces of lock, cylinder, ankle and socket for the speeds (thetaB', beta1', socket)."""
        lock, cylinder, ankle, _ = self.torques(leg, y)
        on_link = leg.knee.rate_A * cylinder - leg.knee.rate_S * ankle - lock
        return [on_link, ankle, *self._socket_forces(leg, y)]

    # --- the model ----------------------------------------------------------------------------------------------------

    def _ground_forces(self, leg: Leg, y: State) -> tuple[list[AppliedForce], list[Array | None]]:
        """Forces of the ground on heel and toe, and the rates of the friction's memory there."""
        memories = (getattr(y, "heel_bristle", None), getattr(y, "toe_bristle", None))
        points = (leg.points["heel"], leg.points["toe"])
        found = [self.ground_force(p, memory) for p, memory in zip(points, memories, strict=True)]
        forces = [AppliedForce(f, p.partial_velocities) for p, (f, _) in zip(points, found, strict=True)]
        return forces, [rate for _, rate in found]

    def _accelerations(self, leg: Leg, y: State, forces: list[AppliedForce]) -> tuple[list[Any], dict[str, Body]]:
        bodies = self.bodies(leg)
        prescribed = THIGH if self.socket is None else ()  # by the hip
        moving = [body for name, body in bodies.items() if name not in prescribed]
        return accelerations(moving, self.gravity, forces, self._applied(leg, y)), bodies

    def vector_field(self, t: Scalar, y: State) -> State:
        """Time derivative of the state (equations 17 to 22 of the paper in minimal coordinates)."""
        leg = self.leg(t, y)
        forces, memory_rates = self._ground_forces(leg, y)
        (theta, beta, *socket), _ = self._accelerations(leg, y, forces)
        socket = () if self.socket is None else (y.socket_x_rate, y.socket_y_rate, *socket)
        return self._state((y.theta_b_rate, y.beta_1_rate, theta, beta), socket, memory_rates)

    def outputs(self, t: Scalar, y: State) -> dict[str, Array]:
        """See `variables`."""
        leg = self.leg(t, y)
        forces, _ = self._ground_forces(leg, y)
        rates, bodies = self._accelerations(leg, y, forces)
        bars, thigh = self.linkage.bars, leg.hip.thigh.value
        shank = fourbar.shank_angle(bars, leg.knee)
        centre = fourbar.instantaneous_centre(leg.knee)
        torques = self.torques(leg, y)
        hip_force, hip_moment = hip = reaction(leg, "H", bodies.values(), rates, forces, self.gravity)
        below = [body for name, body in bodies.items() if name not in THIGH]
        _, knee_moment = reaction(leg, "A", below, rates, forces, self.gravity)
        (heel, _), (toe, _) = forces
        return {
            "knee_angle": -shank,
            "knee_rate": leg.thigh.rate - leg.shank.rate,
            "knee_acceleration": leg.thigh.acceleration - leg.shank.acceleration - leg.knee.rate_S * rates[0],
            "measured_knee_angle": leg.hip.knee.value,
            "thigh_angle": thigh,
            "shank_angle": thigh + shank,
            "theta_a": thigh + fourbar.link_angle(leg.knee),
            "ankle_angle": y.beta_1 - thigh - shank,
            "centre_x": centre.x,
            "centre_y": centre.y,
            "heel_force": heel.y,
            "toe_force": toe.y,
            "heel_friction": heel.x,
            "toe_friction": toe.x,
            "lock_torque": torques.lock,
            "damper_length": torques.cylinder_length,
            "damper_torque": torques.cylinder,
            "ankle_torque": torques.ankle,
            "hip_force_x": hip_force.x,
            "hip_force_y": hip_force.y,
            "hip_moment": hip_moment,
            "knee_moment": -knee_moment,
            **powers(leg, torques, forces, hip),
            "energy": energy(bodies.values(), self.gravity),
            "loop_residual": loop_residual(leg, self.linkage),
            "points": jnp.stack([jnp.stack(list(leg.points[name].position)) for name in POINTS]),
        }

    def knee_angle(self, t: Scalar, y: State) -> Scalar:
        """Knee flexion in rad, without the cost of `outputs`.

        Examples:
            >>> import math
            >>> from jaxgait import Prosthesis
            >>> leg = Prosthesis()
            >>> angle = float(leg.knee_angle(0.0, leg.initial_state()))
            >>> print(round(math.degrees(angle)))  # deg, nearly straight at the start of a stride
            3
        """
        bars = self.linkage.bars
        thigh = self.hip(t).thigh.value
        return -fourbar.shank_angle(bars, fourbar.close(bars, y.theta_b - thigh))

    def terminations(self) -> Mapping[str, Any]:
        """The linkage folds when A, C and D are in one line."""
        return {"folded": self._folded}

    def _folded(self, t: Scalar, y: State) -> Array:
        knee = fourbar.close(self.linkage.bars, y.theta_b - self.hip(t).thigh.value)
        return jnp.abs(knee.cosine) > 1.0 - FOLD_MARGIN

    def validate(self) -> None:
        """Rejects impossible numbers and a linkage that does not assemble, straight or flexed by 60 deg."""
        super().validate()
        self.linkage.validate()
        if self.socket is not None and self.drive.load is None and np.any(np.asarray(self.socket.load_share) != 0.0):
            raise ParameterError(
                f"Prosthesis.socket.load_share needs a measured ground reaction, which the drive {self.drive.name!r} "
                "lacks: set it to 0, or give the stride the columns ground_x_N and ground_y_N"
            )


THIGH = ("thigh", "BE")
"""Names of the bodies above the knee."""
FOLD_MARGIN = 1e-6
"""Distance of the cosine of DAC from 1 within which the linkage counts as folded (a microsecond before it folds)."""


def _rod(mass: Scalar, length: Scalar) -> Scalar:
    """Central inertia in kg m^2 of a uniform rod."""
    return mass * length**2 / 12.0
