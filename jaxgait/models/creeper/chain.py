r"""The creeping robot in space (layer 2): units, springs and actuator shafts as one chain with a free base.

    B4 (base)          B3            B2           B1 (tip)
    ___________                                ___________
   |  actuator |=====[ shaft ]----/\/\/\/\----|   front   |      x ->      k units: 3 k - 2 bodies
   |___unit____|  s slides along x  | th3, th4 |___unit____|
               O4   O3             O2         O1
                                 universal   rigid, or springs along x and y

Bodies are numbered from the tip. The shaft slides along x of the actuator unit (s); the spring turns about z (th3),
then about the turned y axis (th4); the front unit sits on the spring, rigidly or with an axial and a lateral
deflection. The robot is neutrally buoyant: no gravity. Longer robots repeat shaft, spring and unit.

Source: Zhao et al. 2010 (see `model`), eqs. (6)-(20) and figure 5. Sizes and masses are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxgait.batches import of_worst
from jaxgait.fields import Immutable, python_integer
from jaxgait.mechanics.friction import Coulomb
from jaxgait.mechanics.linalg import stacked
from jaxgait.mechanics.spatial import (
    Link,
    Motion,
    Tree,
    fixed,
    free,
    hybrid_dynamics,
    joint_wrenches,
    kinematics,
    prismatic,
    screws,
    universal,
)
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.models.creeper.model import Creeper, check_units
from jaxgait.models.creeper.remarks import warn_of_rigid, warn_of_slip, warn_of_unused
from jaxgait.parameters import CHOSEN, ParameterError, check, part
from jaxgait.precision import float64_default

GAUSS = np.polynomial.legendre.leggauss(8)
"""Nodes and weights of the quadrature of a smooth function between -1 and 1."""
CYCLE_ROUNDING = 1e-6
"""Fraction of a cycle by which rounding may make a time exceed it (also in float32)."""
Manoeuvre = Literal["straight", "steer", "yaw"]
"""What the robot does while it creeps: move straight, steer (bend its spring), or yaw (turn as a rigid body)."""


@float64_default
class Bearing(Immutable):
    """Springs and dampers between the front unit and its spring (the compliance of the SMA springs).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.creeper.chain import Bearing
        >>> bearing = Bearing(axial_stiffness=400.0, lateral_stiffness=150.0)
        >>> print(bearing.force(jnp.array([1e-3, 2e-3]), jnp.zeros(2)).round(6))  # N
        [-0.4 -0.3]
    """

    axial_stiffness: Scalar = parameter(
        400.0, unit="N/m", doc="stiffness along the spring", bounds="nonnegative", source=CHOSEN
    )
    lateral_stiffness: Scalar = parameter(
        150.0, unit="N/m", doc="stiffness across the spring", bounds="nonnegative", source=CHOSEN
    )
    axial_damping: Scalar = parameter(
        1.0, unit="N s/m", doc="damping along the spring", bounds="nonnegative", source=CHOSEN
    )
    lateral_damping: Scalar = parameter(
        0.6, unit="N s/m", doc="damping across the spring", bounds="nonnegative", source=CHOSEN
    )

    def force(self, deflection: Float[Array, " 2"], rate: Float[Array, " 2"]) -> Float[Array, " 2"]:
        """Forces in N along and across the spring at a deflection in m and its rate in m/s."""
        stiffness = stacked((self.axial_stiffness, self.lateral_stiffness))
        damping = stacked((self.axial_damping, self.lateral_damping))
        return -(stiffness * deflection + damping * rate)


class ChainState(NamedTuple):
    """Coordinates, velocities and accelerations of the chain, base first, in the layout of its tree.

    For two units (longer chains repeat the entries from the shaft on):

    - base (front face of the actuator unit): position in world axes in m, q[0:3], quaternion (w, x, y, z), q[3:7];
      angular velocity in rad/s, v[0:3], and velocity in m/s, v[3:6], in its own axes;
    - shaft: displacement along x of the base in m, q[7] and v[6];
    - spring: bend about z of the shaft, then about the turned y, in rad, q[8:10] and v[7:9];
    - front unit, if it has a bearing: deflection along x and y of the spring in m, q[10:12] and v[9:11].

    `jaxgait.mechanics.spatial.frames` converts them to world axes, rotation matrices, roll, pitch and yaw.
    """

    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    vdot: Float[Array, " nv"]
    """Rates of `v`: of components in the base's own, turning axes."""


class CreeperChain(Model):
    """The robot as a chain of rigid bodies (see the module's docstring) in a prescribed motion of one cycle.

    Examples:
        >>> from jaxgait.models import CreeperChain
        >>> robot = CreeperChain(units=2)
        >>> print(robot.tree().names, robot.labels["coordinate"][-3:], float(robot.duration))  # s
        ('unit 2', 'shaft 1', 'spring 1', 'unit 1') ['shaft 1', 'bend z 1', 'bend y 1'] 1.0
    """

    robot: Creeper = Creeper()
    front_mass: Scalar = parameter(8e-3, unit="kg", doc="mass of the front unit", bounds="positive", source=CHOSEN)
    spring_mass: Scalar = parameter(0.6e-3, unit="kg", doc="mass of the spring", bounds="positive", source=CHOSEN)
    shaft_mass: Scalar = parameter(1e-3, unit="kg", doc="mass of the shaft", bounds="positive", source=CHOSEN)
    unit_mass: Scalar = parameter(12e-3, unit="kg", doc="mass of an actuator unit", bounds="positive", source=CHOSEN)
    spring_length: Scalar = parameter(6e-3, unit="m", doc="length of the spring", bounds="positive", source=CHOSEN)
    spring_radius: Scalar = parameter(3e-3, unit="m", doc="radius of the spring", bounds="positive", source=CHOSEN)
    shaft_length: Scalar = parameter(10e-3, unit="m", doc="length of the shaft", bounds="positive", source=CHOSEN)
    shaft_radius: Scalar = parameter(1.5e-3, unit="m", doc="radius of the shaft", bounds="positive", source=CHOSEN)
    turning_rate: Scalar = parameter(np.pi / 6, unit="rad/s", doc="turning rate of steer and yaw", source="Zhao 2010")
    steering_limit: Scalar = parameter(
        np.pi / 3, unit="rad", doc="largest steering angle of the spring", bounds="positive", source=CHOSEN
    )
    curvature: Scalar = parameter(
        0.0, unit="1/m", doc="curvature that the robot must fit (no force)", bounds="nonnegative", source=CHOSEN
    )
    drag_width: Scalar = parameter(
        1e-4,
        unit="m/s",
        doc="slip velocity at which a sliding pad's friction saturates",
        bounds="positive",
        source=CHOSEN,
    )
    bearing: Bearing | None = part(None, doc="springs between the front unit and its spring")
    """None: rigid."""
    units: int = eqx.field(static=True, default=2, converter=python_integer)
    manoeuvre: Manoeuvre = eqx.field(static=True, default="straight")

    measures: ClassVar[str] = "jaxgait.models.creeper.measures:CHAIN_MEASURES"
    scene: ClassVar[str] = "jaxgait.models.creeper.scene:chain"
    variables: ClassVar[Mapping[str, Variable]] = {
        "q": Variable("m, rad", "coordinates: lengths in m, angles in rad, a unit quaternion", ("coordinate",)),
        "v": Variable("m/s, rad/s", "velocities", ("velocity",)),
        "vdot": Variable("m/s^2, rad/s^2", "accelerations", ("velocity",)),
        "drive_x": Variable("N", "drive force along the actuator unit"),
        "drive_y": Variable("N", "drive force across the actuator unit, to the left"),
        "drive_z": Variable("N", "drive force across the actuator unit, up"),
        "stroke": Variable("m", "displacement of the shaft"),
        "steering": Variable("rad", "bend of the spring"),
    }

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """Names of the entries of the state, unit by unit from the base (see `ChainState`)."""
        base = ["x", "y", "z", "q_w", "q_x", "q_y", "q_z"]
        rates = ["spin x", "spin y", "spin z", "x", "y", "z"]
        deflections = [] if self.bearing is None else ["deflection x", "deflection y"]
        joints = ["shaft", "bend z", "bend y", *deflections]
        ahead = [f"{name} {k}" for k in range(self.units - 1, 0, -1) for name in joints]
        return {"coordinate": base + ahead, "velocity": rates + ahead}

    @property
    def duration(self) -> Scalar:
        """One cycle of the gait."""
        return self.robot.gait.period

    def initial_state(self) -> ChainState:
        """The prescribed state at t = 0."""
        return self.state_at(jnp.zeros(()))

    def outputs(self, t: Scalar, y: ChainState) -> dict[str, Array]:
        """See `variables`."""
        force = self.force_on_shaft(t, y)
        drive = {f"drive_{axis}": force[i] for i, axis in enumerate("xyz")}
        return {**drive, "stroke": y.q[7], "steering": y.q[8]}

    def terminations(self) -> Mapping[str, Callable[[Scalar, ChainState], Bool[Array, ""]]]:
        """Manoeuvres are defined for one cycle."""
        return {"the cycle is over": lambda t, y: jnp.asarray(t > self.robot.gait.period * (1.0 + CYCLE_ROUNDING))}

    def tree(self) -> Tree:
        """The bodies, base first; "unit 1" is the tip, "shaft 1" and "spring 1" are ahead of "unit 2"."""
        links = [self._unit(self.units)]
        for k in range(self.units - 1, 0, -1):
            links += [*self._joint(k), self._unit(k)]
        return Tree.build(*links)

    def _unit(self, k: int) -> Link:
        length, radius = self.robot.length, 0.5 * self.robot.diameter
        base = k == self.units
        mass = self.front_mass if k == 1 else self.unit_mass
        centre = -0.5 * length if base else 0.5 * length  # the base's reference point is at its front face
        seat = fixed() if self.bearing is None else screws(("slide", (1, 0, 0)), ("slide", (0, 1, 0)))
        return Link(
            f"unit {k}",
            None if base else f"spring {k}",
            free() if base else seat,
            mass,
            (centre, 0.0, 0.0),
            _cylinder(mass, radius, length),
            (0.0, 0.0, 0.0) if base else (self.spring_length, 0.0, 0.0),
        )

    def _joint(self, k: int) -> list[Link]:
        """Shaft and spring between unit k + 1 and unit k."""
        behind = f"unit {k + 1}"
        face = 0.0 if k + 1 == self.units else self.robot.length
        shaft, spring = self.shaft_length, self.spring_length
        return [
            Link(
                f"shaft {k}",
                behind,
                prismatic((1, 0, 0)),
                self.shaft_mass,
                (0.5 * shaft, 0.0, 0.0),
                _cylinder(self.shaft_mass, self.shaft_radius, shaft),
                (face, 0.0, 0.0),
            ),
            Link(
                f"spring {k}",
                f"shaft {k}",
                universal((0, 0, 1), (0, 1, 0)),
                self.spring_mass,
                (0.5 * spring, 0.0, 0.0),
                _cylinder(self.spring_mass, self.spring_radius, spring),
                (shaft, 0.0, 0.0),
            ),
        ]

    def state_at(self, t: Scalar) -> ChainState:
        """Kinematics of a gait of two units without slip over one cycle, at time `t` in s.

        In extension the base rests (except for yaw) and the shaft slides; in retraction the base follows the shaft,
        along its own axis.

        Raises:
            ValueError: for several times at once, and for other numbers of units than two.
        """
        if np.ndim(t):
            raise ValueError(f"t must be one number in s, got the shape {np.shape(t)}: for several, use jax.vmap")
        self._check_two_units()
        stroke, rate = self.robot.gait.stroke_at(t), jnp.asarray(self.turning_rate)
        zero = jnp.zeros_like(stroke.s)
        follows = jnp.where(t < 0.5 * self.robot.gait.period, 0.0, -1.0)
        turning = self.manoeuvre == "yaw"
        position = self._displacement(t) if turning else (follows * (stroke.s - self.robot.gait.stroke), zero)
        yaw = (0.5 * rate * t, rate) if turning else (zero, zero)
        bent = (rate * t, rate) if self.manoeuvre == "steer" else (zero, zero)
        still = [zero, zero] if self.bearing is not None else []
        q = [*position, zero, jnp.cos(yaw[0]), zero, zero, jnp.sin(yaw[0]), stroke.s, bent[0], zero, *still]
        v = [zero, zero, yaw[1], follows * stroke.speed, zero, zero, stroke.speed, bent[1], zero, *still]
        vdot = [zero, zero, zero, follows * stroke.acceleration, zero, zero, stroke.acceleration, zero, zero, *still]
        return ChainState(*map(jnp.stack, (q, v, vdot)))

    def _check_two_units(self, what: str = "the manoeuvres of figure 5 are") -> None:
        if self.units != 2:
            raise ValueError(f"{what} defined for 2 units, this robot has {self.units}")

    def _displacement(self, t: Scalar) -> Float[Array, " 2"]:
        """Displacement (x, y) in m of a yawing base at time `t` in s: the integral of its velocity in retraction."""
        gait = self.robot.gait
        half, ramp = 0.5 * gait.period, gait.ramp
        ends = stacked([half + gait.dwell, ramp, half - 2.0 * (gait.dwell + ramp), ramp])
        ends = jnp.minimum(t, jnp.cumsum(ends))  # of ramps and constant speed
        nodes, weights = jnp.asarray(GAUSS, ends.dtype)
        width = 0.5 * jnp.diff(ends)
        times = (ends[1:, None] + jnp.outer(width, nodes - 1.0)).ravel()
        travel = -jnp.outer(width, weights).ravel() * jax.vmap(gait.stroke_at)(times).speed
        heading = self.turning_rate * times
        return jnp.stack([travel @ jnp.cos(heading), travel @ jnp.sin(heading)])

    def drive_force(self, t: Scalar) -> Float[Array, " 3"]:
        """Force in N of the actuator unit on its shaft, in the unit's axes (figure 5).

        Summed over the bodies ahead while the front unit slides, over the actuator unit while that one slides. Loads
        are those of the blood and of the sliding unit's liquid pad, along each unit's own axis.

        Examples:
            >>> from jaxgait.models import CreeperChain
            >>> robot = CreeperChain(manoeuvre="straight")
            >>> force = robot.drive_force(0.25)  # in mid-extension
            >>> print(force.shape, abs(float(force[1])) < 1e-9, abs(float(force[2])) < 1e-9)  # N, axial
            (3,) True True
        """
        return self.force_on_shaft(t, self.state_at(t))

    def force_on_shaft(self, t: Scalar, state: ChainState, extending: Any = None) -> Float[Array, " 3"]:
        """`drive_force` in N, in the unit's axes, for a state that need not belong to the manoeuvre.

        Args:
            t: time in s.
            state: positions, velocities and accelerations.
            extending: whether the front unit slides; None: in the first half of the cycle.

        Raises:
            ValueError: for other than two units.

        Examples:
            >>> from jaxgait.models import CreeperChain
            >>> robot = CreeperChain()
            >>> same = robot.force_on_shaft(0.25, robot.state_at(0.25))
            >>> print(bool((same == robot.drive_force(0.25)).all()))
            True
        """
        tree = self.tree()
        motion = kinematics(tree, state.q, state.v)
        extending = jnp.asarray(t < 0.5 * self.robot.gait.period if extending is None else extending)
        passed = joint_wrenches(tree, motion, state.vdot, self.loads(motion, t, extending), 0.0)
        # The shaft never turns in the unit. In retraction only the shaft and the loads act on the base.
        outside, ahead = passed[0][3:], passed[1][3:]
        return jnp.where(extending, ahead, ahead - outside)

    def loads(self, motion: Motion, t: Scalar, extending: Array) -> Float[Array, "n 6"]:
        """External wrenches (N m, N) in body axes, base first: blood on both units, friction on the sliding one.

        Raises:
            ValueError: for other than two units, whose order of sliding is not defined.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait.mechanics.spatial import kinematics
            >>> from jaxgait.models import CreeperChain
            >>> robot = CreeperChain()
            >>> state = robot.state_at(0.25)
            >>> wrenches = robot.loads(kinematics(robot.tree(), state.q, state.v), 0.25, jnp.asarray(True))
            >>> print(wrenches.shape, float(wrenches[1, 3]))  # none on the shaft
            (4, 6) 0.0
        """
        self._check_two_units("loads are")
        robot, rear, front = self.robot, motion.twist[0][3], motion.twist[-1][3]
        blood_front, blood_rear = robot.fluid_forces(robot.inflow(t), front, rear)
        drag, _ = Coulomb(1.0, self.drag_width, "tanh").force(jnp.stack([front, rear]), robot.pads.limit(0.0))
        on_front = blood_front + jnp.where(extending, drag[0], 0.0)
        on_rear = blood_rear + jnp.where(extending, 0.0, drag[1])
        return jnp.zeros((len(motion.twist), 6), dtype=on_front.dtype).at[-1, 3].set(on_front).at[0, 3].set(on_rear)

    def validate(self) -> None:
        """Rejects impossible parts, and a robot too long for its vessel or its steering; warns of unused parameters.

        Raises:
            ParameterError: naming the value and its bound.

        Warns:
            UserWarning: of parameters without effect, and of pads that cannot hold the prescribed motion.
        """
        self.check_motion()
        if self.bearing is not None:
            warn_of_rigid(self.bearing)

    def check_motion(self) -> None:
        """Checks everything that `validate` checks, except for the bearing.

        Raises:
            ParameterError: naming the value and its bound.

        Examples:
            >>> from jaxgait.models import CreeperChain
            >>> CreeperChain(units=1).check_motion()
            Traceback (most recent call last):
                ...
            jaxgait.parameters.ParameterError: units must be a whole number, at least 2, got 1
        """
        check(self)
        self.robot.validate()
        warn_of_unused(self)
        check_units(self.units)
        if self.manoeuvre not in get_args(Manoeuvre):
            raise ParameterError(
                f"manoeuvre must be {' or '.join(map(repr, get_args(Manoeuvre)))}, got {self.manoeuvre!r}"
            )
        self._check_bend()
        limit, turned = np.asarray(self.steering_limit), np.abs(self.turning_rate * np.asarray(self.robot.gait.period))
        if self.manoeuvre == "steer" and np.any(turned > limit):
            turned, limit = of_worst(turned - limit, turned, limit)
            raise ParameterError(
                f"turning_rate steers by {turned:g} rad per cycle, beyond steering_limit, {limit:g} rad"
            )
        warn_of_slip(self.robot)

    def _check_bend(self) -> None:
        robot, curvature, limit = self.robot, np.asarray(self.curvature), np.asarray(self.steering_limit)
        with np.errstate(divide="ignore"):
            radius = 1.0 / curvature
        # A rigid cylinder touches the inner wall in its middle and the outer wall at its corners.
        longest = 4.0 * np.sqrt(robot.clearance * (radius + 0.5 * robot.diameter))
        if np.any(robot.length > longest):
            length, longest, radius = of_worst(robot.length - longest, robot.length, longest, radius)
            raise ParameterError(
                f"robot.length is {length:g} m, but at most {longest:g} m pass a bend of {radius:g} m radius"
            )
        angle = curvature * (robot.length + self.shaft_length + self.spring_length + robot.gait.stroke)
        if np.any(angle > limit):
            angle, limit, radius = of_worst(angle - limit, angle, limit, radius)
            raise ParameterError(
                f"a bend of {radius:g} m radius needs {angle:g} rad of steering; steering_limit is {limit:g} rad"
            )


class DeflectionState(NamedTuple):
    """Deflection of the front unit on its spring: axial x and lateral y in m, and their rates in m/s."""

    x: Scalar
    y: Scalar
    vx: Scalar
    vy: Scalar


class SoftExtension(Model):
    """The extension half of a cycle with a compliant front unit: its SMA springs as a buffer (forward dynamics).

    Base, shaft and bend follow the manoeuvre; the two coordinates of the bearing are free.

    Examples:
        >>> from jaxgait.models.creeper.chain import SoftExtension
        >>> print(float(SoftExtension().duration))  # s: half a cycle
        0.5
    """

    chain: CreeperChain = CreeperChain(bearing=Bearing(), manoeuvre="steer")

    measures: ClassVar[str] = "jaxgait.models.creeper.measures:SOFT_MEASURES"
    variables: ClassVar[Mapping[str, Variable]] = {
        "x": Variable("m", "axial displacement of the front unit"),
        "y": Variable("m", "lateral displacement of the front unit"),
        "vx": Variable("m/s", "axial velocity of the front unit"),
        "vy": Variable("m/s", "lateral velocity of the front unit"),
        "drive_x": Variable("N", "drive force along the actuator unit"),
        "drive_y": Variable("N", "drive force across the actuator unit"),
    }
    numerics: ClassVar[Numerics] = Numerics(stiff=False, rtol=1e-7, atol=1e-10, first_step=1e-4, max_step=2e-3)

    @property
    def duration(self) -> Scalar:
        """Half a cycle of the gait."""
        return 0.5 * self.chain.robot.gait.period

    def initial_state(self) -> DeflectionState:
        """Springs at rest."""
        zero = jnp.zeros(())
        return DeflectionState(zero, zero, zero, zero)

    def vector_field(self, t: Scalar, y: DeflectionState) -> DeflectionState:
        """Rates and accelerations of the deflections."""
        a = self._state(t, y).vdot[-2:]
        return DeflectionState(y.vx, y.vy, a[0], a[1])

    def outputs(self, t: Scalar, y: DeflectionState) -> dict[str, Array]:
        """See `variables`."""
        force = self.chain.force_on_shaft(t, self._state(t, y), extending=True)
        return {"drive_x": force[0], "drive_y": force[1]}

    def terminations(self) -> Mapping[str, Callable[[Scalar, DeflectionState], Bool[Array, ""]]]:
        """The loads are those of the extension."""
        return {"the extension is over": lambda t, y: jnp.asarray(t > self.duration * (1.0 + CYCLE_ROUNDING))}

    def _state(self, t: Scalar, y: DeflectionState) -> ChainState:
        chain = self.chain
        assert chain.bearing is not None
        rigid = chain.state_at(t)
        deflection, rate = jnp.stack([y.x, y.y]), jnp.stack([y.vx, y.vy])
        q, v = rigid.q.at[-2:].set(deflection), rigid.v.at[-2:].set(rate)
        tau = jnp.zeros_like(v).at[-2:].set(chain.bearing.force(deflection, rate))
        tree = chain.tree()
        motion = kinematics(tree, q, v)
        wrenches = chain.loads(motion, t, jnp.asarray(True))
        prescribed = (True,) * (tree.nv - 2) + (False,) * 2
        found = hybrid_dynamics(tree, motion, rigid.vdot, tau, prescribed, wrenches, 0.0)
        return ChainState(q, v, found.vdot)

    def validate(self) -> None:
        """Rejects what the chain rejects, and a chain without a bearing."""
        if self.chain.bearing is None:
            raise ParameterError("chain.bearing is None: a soft extension needs the springs of a Bearing()")
        self.chain.check_motion()


def _cylinder(mass: Scalar, radius: Scalar, length: Scalar) -> Array | np.ndarray:
    """Inertia tensor in kg m^2 of a solid cylinder along x about its centre."""
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    moments = [0.5 * mass * radius**2, across, across]
    plain = all(isinstance(m, float) for m in moments)
    return np.diag(moments) if plain else jnp.diag(jnp.stack([jnp.asarray(m) for m in moments]))
