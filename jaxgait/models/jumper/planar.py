r"""Jumpers in the sagittal plane: a chain of bars on a foot with a flexible sole, joints in prescribed motion.

    o       head            th_foot: unknown (with the ankle's x and z)
    |       trunk           th_shank = th_foot + ankle,  th_thigh = th_shank - knee,  th_trunk = th_thigh + hip
    |\ arm
    / hip
    \ knee
    _/_ ankle               angles positive about +y: an upward axis leans forward; flexion positive
    oooooo  studs           each row of studs presses, sticks, slips and lifts off by itself

One set of equations holds in stance and in flight: the ground enters as forces (Chen, Yan, Jin 2003), so only the
base's three accelerations are unknown, and the joint moments follow by inverse dynamics.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait import precision
from jaxgait.batches import of_worst
from jaxgait.mechanics import spatial
from jaxgait.mechanics.spatial import Link, Motion, PlanarTree, Tree, plane
from jaxgait.mechanics.spatial.plane import SagittalVec
from jaxgait.model import Model, Numerics, Scalar, Variable, derived, parameter
from jaxgait.models.jumper.sole import Sole, StudForces
from jaxgait.models.jumper.swing import Turn, locked
from jaxgait.native import kept
from jaxgait.parameters import CHOSEN, ParameterError, check
from jaxgait.roots import root

REST_ACCELERATION = 1e-6
"""Acceleration, relative to gravity, below which the crouch counts as static."""


class JumperState(NamedTuple):
    """Ankle position (x, z) in m, pitch of the foot in rad, their rates, and a bristle deflection in m per row.

    With `ImpactHertz` also the speed in m/s of each row at its last touch-down; no bristles for friction without
    memory.
    """

    x: Scalar
    z: Scalar
    pitch: Scalar
    vx: Scalar
    vz: Scalar
    spin: Scalar
    bristle: Float[Array, " rows"] | None = None
    approach: Float[Array, " rows"] | None = None


class SwingJoint(NamedTuple):
    """A moving joint: its name, the bar beyond it, the sense of flexion about +y, and its limits in degrees."""

    name: str
    bar: int
    sense: float
    limits: tuple[float, float]


class SoleContact(NamedTuple):
    """Contact of the sole, for one stud of each row."""

    depth: Float[Array, " rows"]
    rate: Float[Array, " rows"]
    position: Float[Array, " rows"]
    """x of the contact points in m."""
    slip: Float[Array, " rows"]
    """Sliding velocity in m/s."""
    studs: StudForces


class PlanarJumper(Model):
    """Base class of jumpers in the plane; a subclass defines the bars and the joints.

    Subclasses have the parameters `gravity`, `quiet`, `com_ahead`, `sole`, one `Swing` per joint under the joint's name
    and, for every joint except the ankle, its start angle as `<joint>_start`.

    Examples:
        >>> import math
        >>> from jaxgait.models import Jumper
        >>> jumper = Jumper()
        >>> print(jumper.labels["joint"], jumper.duration)  # s
        ['ankle', 'knee', 'hip', 'shoulder', 'elbow'] 0.6
        >>> print(jumper.tree().names[:3], round(float(jumper.tree().mass.sum()), 2))  # kg
        ('foot', 'shank', 'thigh') 70.0
        >>> print(round(math.degrees(float(jumper.crouch_ankle()))))  # deg
        38
        >>> crouch = jumper.joint_turns(0.0)
        >>> print([round(math.degrees(float(turn.angle))) for turn in crouch])  # deg
        [38, 90, 90, -30, 0]
        >>> print(len(jumper.links()), jumper.joint_to(0).nv, jumper.joint_to(1).nv, len(jumper.tips()))
        9 3 1 9
        >>> y = jumper.initial_state()
        >>> moved, still = jumper.motion(0.0, y), jumper.posed(crouch, foot=(y.x, y.z, y.pitch))
        >>> print(float(moved.world[8].r.z - still.world[8].r.z))  # m: the same posture
        0.0
        >>> print({name: bool(event(0.0, y) < 0.0) for name, event in jumper.events().items()})  # on the ground
        {'take-off': False, 'landing': True}
    """

    joints: ClassVar[tuple[SwingJoint, ...]]
    """Joints in the order of their bars, the ankle first: its start angle is solved for."""

    gravity: Scalar = parameter(9.81, unit="m/s^2", doc="gravitational acceleration", bounds="positive", source=CHOSEN)
    quiet: Scalar = parameter(
        0.1, unit="s", doc="duration of quiet standing before the jump", bounds="nonnegative", source=CHOSEN
    )
    com_ahead: Scalar = parameter(
        0.110, unit="m", doc="distance of the centre of mass ahead of the ankle", source=CHOSEN
    )
    sole: Sole = Sole()

    duration: ClassVar[float] = 0.6
    """Duration in s: up to the middle of the flight."""
    measures: ClassVar[str] = "jaxgait.models.jumper.measures:MEASURES"
    scene: ClassVar[str] = "jaxgait.models.jumper.scene:planar"
    variables: ClassVar[Mapping[str, Variable]] = {
        "x": Variable("m", "position of the ankle, forward"),
        "z": Variable("m", "position of the ankle, up"),
        "pitch": Variable("rad", "pitch of the foot, toes down"),
        "vx": Variable("m/s", "velocity of the ankle, forward"),
        "vz": Variable("m/s", "velocity of the ankle, up"),
        "spin": Variable("rad/s", "pitch rate of the foot"),
        "bristle": Variable("m", "shear deflection of the studs", ("row",)),
        "approach": Variable("m/s", "approach speed of each row at touch-down", ("row",)),
        "com_x": Variable("m", "position of the centre of mass, forward"),
        "com_z": Variable("m", "position of the centre of mass, up"),
        "com_vx": Variable("m/s", "velocity of the centre of mass, forward"),
        "com_vz": Variable("m/s", "velocity of the centre of mass, up"),
        "angular_momentum": Variable("kg m^2/s", "angular momentum about the centre of mass, forward positive"),
        "grf_x": Variable("N", "ground reaction, forward"),
        "grf_z": Variable("N", "ground reaction, up"),
        "cop_x": Variable("m", "position of the centre of pressure, forward"),
        "depth": Variable("m", "compression of the studs", ("row",)),
        "normal": Variable("N", "normal force of one stud of each row", ("row",)),
        "tangential": Variable("N", "friction force of one stud of each row", ("row",)),
        "slip": Variable("m/s", "sliding velocity of the studs", ("row",)),
        "moment": Variable("N m", "joint moments, flexion positive, both sides", ("joint",)),
        "joint_angle": Variable("rad", "joint angles, flexion positive", ("joint",)),
        "joint_power": Variable("W", "power of all joints"),
        "contact_power": Variable("W", "power of the ground reaction"),
        "energy": Variable("J", "kinetic and potential energy"),
        "slid": Variable("m", "displacement slid under load, by time steps", ("row",)),
        "friction_impulse": Variable("N s", "impulse of friction on one stud of each row, by time steps", ("row",)),
        "base_residual": Variable("N m", "moment about the ankle left over by inverse dynamics"),
    }
    numerics: ClassVar[Numerics] = Numerics(stiff=False, rtol=1e-8, atol=1e-9, first_step=1e-4, max_step=5e-3, dt=1e-5)

    @property
    def labels(self) -> Mapping[str, Sequence[Any]]:
        """Positions in m of the rows of studs ahead of the ankle, and names of the joints."""
        return {"row": self.sole.rows, "joint": [joint.name for joint in self.joints]}

    @property
    def studs_per_row(self) -> float:
        """Number of studs of a row under both feet.

        Examples:
            >>> from jaxgait import Jumper
            >>> Jumper().studs_per_row
            4.0
        """
        return 2.0 * len(self.sole.columns)

    @abc.abstractmethod
    def links(self) -> list[Link]:
        """The bars, foot first, from the parameters; their joints are those of `joint_to`."""

    @classmethod
    def joint_to(cls, bar: int) -> spatial.Joint:
        """The joint of a bar to its parent: the foot is free in the plane, bars without a moving joint are fixed."""
        if bar == 0:
            return spatial.planar()
        return next((spatial.hinge((0.0, j.sense, 0.0)) for j in cls.joints if j.bar == bar), spatial.fixed())

    @derived
    def tree(self) -> PlanarTree:
        """The bars, foot first, in the planar form."""
        return Tree.build(*self.links()).in_plane()

    # --- joint motions -------------------------------------------------------------------------------------------

    @derived
    def crouch_ankle(self) -> Float[Array, ""]:
        """Ankle angle in rad of the static crouch, its centre of mass `com_ahead` of the ankle; NaN if impossible."""
        return self.balanced_ankle(self._crouch(0.0), self.com_ahead)

    def balanced_ankle(self, flexions: Sequence[Turn], com_ahead: Scalar) -> Float[Array, ""]:
        """Ankle angle in rad that puts the centre of mass ahead of the ankle of a flat foot; NaN if impossible.

        A closed form, because the body without the foot turns about the ankle as one.

        Args:
            flexions: of all joints; the ankle's is ignored.
            com_ahead: distance of the centre of mass ahead of the ankle in m.

        Examples:
            >>> from jaxgait.models import Jumper
            >>> from jaxgait.models.jumper.swing import locked
            >>> jumper = Jumper()
            >>> straight = [locked(0.0) for _ in jumper.joints]
            >>> low, high = (float(jumper.balanced_ankle(straight, ahead)) for ahead in (0.05, 0.10))
            >>> print(low < high)  # rad
            True
        """
        tree = self.tree()
        motion = self.posed([locked(0.0), *flexions[1:]])
        coms = [motion.world[i].point(com).scaled(tree.mass[i]) for i, com in enumerate(tree.coms())]
        x, z = sum(com.x for com in coms[1:]), sum(com.z for com in coms[1:])
        wanted = com_ahead * jnp.sum(tree.mass) - tree.mass[0] * tree.com[0, 0]
        # x(ankle) = x cos + z sin = |r| cos(ankle - direction); the smaller ankle angle has the trunk upright
        return jnp.arctan2(z, x) - jnp.arccos(wanted / jnp.sqrt(x * x + z * z))

    def joint_turns(self, t: Scalar) -> list[Turn]:
        """Flexion of each joint at time t in s."""
        found = []
        for joint, start in zip(self.joints, self._crouch(self.crouch_ankle()), strict=True):
            turn = getattr(self, joint.name).turn(t - self.quiet)
            found.append(turn._replace(angle=start.angle + turn.angle))
        return found

    def _crouch(self, ankle: Scalar) -> list[Turn]:
        return [locked(ankle), *(locked(getattr(self, f"{joint.name}_start")) for joint in self.joints[1:])]

    # --- equations of motion -------------------------------------------------------------------------------------

    def motion(self, t: Scalar, y: JumperState) -> Motion:
        """Motion of all bars."""
        return self.posed(self.joint_turns(t), (y.x, y.z, y.pitch), (y.vx, y.vz, y.spin))

    def posed(
        self,
        flexions: Sequence[Turn],
        foot: tuple[Scalar, Scalar, Scalar] = (0.0, 0.0, 0.0),
        rates: tuple[Scalar, Scalar, Scalar] = (0.0, 0.0, 0.0),
    ) -> Motion:
        """Motion of all bars from the joints and the foot.

        Args:
            flexions: of all joints.
            foot: position (x, z) of the ankle in m and pitch in rad.
            rates: of these, m/s and rad/s.
        """
        angles, speeds = [turn.angle for turn in flexions], [turn.rate for turn in flexions]
        return spatial.kinematics(self.tree(), [*foot, *angles], [*rates, *speeds])

    def _accelerated(self, t: Scalar, y: JumperState, contact: SoleContact) -> tuple[Motion, list[Scalar], list[Any]]:
        """Motion, all accelerations, and the wrenches on the bars (the ground's on the foot)."""
        tree, turns = self.tree(), self.joint_turns(t)
        motion = self.posed(turns, (y.x, y.z, y.pitch), (y.vx, y.vz, y.spin))
        force, moment = self._wrench(y, contact)
        wrenches = [plane.Vector(moment, *motion.world[0].back(force)), *[None] * (len(tree.names) - 1)]
        known, none = [0.0] * 3 + [turn.acceleration for turn in turns], [0.0] * tree.nv
        driven = [False] * 3 + [True] * len(turns)
        found = spatial.hybrid_dynamics(tree, motion, known, none, driven, wrenches, self.gravity)
        return motion, found.vdot, wrenches

    def contact(self, y: JumperState, dt: Scalar | None = None) -> SoleContact:
        """Compression, sliding and forces of one stud of each row; with `dt` (s) by the incremental friction law.

        Examples:
            >>> from jaxgait.models import Jumper
            >>> from jaxgait.models.jumper.planar import JumperState
            >>> jumper = Jumper()
            >>> aloft = JumperState(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, *jumper.sole.memories(6))
            >>> contact = jumper.contact(aloft)
            >>> print(round(float(contact.depth[0]), 3), float(contact.studs.normal.max()))  # m, N
            -0.932 0.0
        """
        sole = self.sole
        arm_x, arm_z = self.stud_centres(y.pitch)
        depth, rate = sole.radius - (y.z + arm_z), -(y.vz - y.spin * arm_x)
        slip = jnp.broadcast_to(y.vx - y.spin * y.z, depth.shape)  # of the foot on the ground, below the studs' centres
        bristle = None if y.bristle is None else y.bristle[:, None]
        if dt is None:
            studs = sole.forces(depth, rate, slip[:, None], bristle, y.approach)
        else:
            studs = sole.step(depth, rate, slip[:, None], bristle, dt, y.approach)
        return SoleContact(depth, rate, y.x + arm_x, slip, studs)

    def stud_centres(self, pitch: Scalar) -> tuple[Float[Array, " rows"], Float[Array, " rows"]]:
        """Positions (x, z) in m, from the ankle, of the centres of the rows' hemispheres at a pitch in rad.

        Examples:
            >>> from jaxgait.models import Jumper
            >>> ahead, above = Jumper().stud_centres(0.0)
            >>> print(round(float(ahead[0]), 3), bool((above < 0.0).all()))  # m
            -0.045 True
        """
        c, s = jnp.cos(pitch), jnp.sin(pitch)
        ahead, below = self.sole.row_positions, self.sole.radius - self.sole.drop
        return c * ahead + s * below, c * below - s * ahead

    def _wrench(self, y: JumperState, contact: SoleContact) -> tuple[SagittalVec, Scalar]:
        normal, tangential = contact.studs.normal, contact.studs.tangential[:, 0]
        n = self.studs_per_row
        moment = jnp.sum(-y.z * tangential - (contact.position - y.x) * normal)
        return SagittalVec(n * jnp.sum(tangential), n * jnp.sum(normal)), n * moment

    def vector_field(self, t: Scalar, y: JumperState) -> JumperState:
        """Velocities, accelerations of the base, and bristle rates."""
        return self._rates(t, y, self.contact(y))

    def _rates(self, t: Scalar, y: JumperState, contact: SoleContact) -> JumperState:
        _, (ax, az, angular, *_), _ = self._accelerated(t, y, contact)
        rate, approach_rate = contact.studs.bristle_rate, contact.studs.approach_rate
        return JumperState(y.vx, y.vz, y.spin, ax, az, angular, None if rate is None else rate[:, 0], approach_rate)

    def advance(self, t: Scalar, y: JumperState, dt: Scalar) -> JumperState:
        """One step `dt` in s of semi-implicit Euler with the paper's incremental friction law (springs in `bristle`).

        For comparison at small steps (0.01 ms): that law is not a differential equation.
        """
        change = self._rates(t, y, self.contact(y, dt))
        vx, vz, spin = y.vx + dt * change.vx, y.vz + dt * change.vz, y.spin + dt * change.spin
        bristle, approach = jax.tree.map(lambda a, b: a + dt * b, y[6:], change[6:])
        return JumperState(y.x + dt * vx, y.z + dt * vz, y.pitch + dt * spin, vx, vz, spin, bristle, approach)

    def step_amounts(self, t: Scalar, y: JumperState, dt: Scalar) -> dict[str, Array]:
        """What a time step adds to the distance slid under load and to the impulse of friction, row by row."""
        del t
        contact = self.contact(y, dt)
        speed = jnp.where(contact.studs.normal > 0.0, jnp.abs(contact.slip), 0.0)
        return {"slid": dt * speed, "friction_impulse": dt * contact.studs.tangential[:, 0]}

    def initial_state(self) -> JumperState:
        """The static crouch: the ankle height and foot pitch at which the studs carry the weight at rest; or NaN."""
        tree, studs, rows = self.tree(), self.studs_per_row, len(self.sole.rows)
        frozen = spatial.momentum(tree, self.posed(self._crouch(self.crouch_ankle()))).com
        weight = jnp.sum(tree.mass) * self.gravity
        equal = self.sole.normal_law.static_depth(weight / (studs * rows))
        flat = jnp.stack([self.sole.drop - equal, jnp.zeros(())])
        tolerance = float(jnp.finfo(flat.dtype).eps) ** 0.5  # the quadratic next step is at rounding
        return self._standing(root(_unbalanced, flat, (self, frozen, weight), tolerance=tolerance).x)

    def _standing(self, pose: Float[Array, " 2"]) -> JumperState:
        zero, rows = jnp.zeros(()), len(self.sole.rows)
        return JumperState(zero, pose[0], pose[1], zero, zero, zero, *self.sole.memories(rows))

    # --- outputs -----------------------------------------------------------------------------------------------------

    def events(self) -> Mapping[str, Callable[[Scalar, JumperState], Array]]:
        """The last stud leaves the ground; the first one comes down."""
        lowest = lambda y: jnp.max(self.contact(y).depth)
        return {"take-off": lambda t, y: lowest(y), "landing": lambda t, y: -lowest(y)}

    def outputs(self, t: Scalar, y: JumperState) -> dict[str, Array]:
        """See `variables`."""
        tree, contact, flexions = self.tree(), self.contact(y), self.joint_turns(t)
        force, _ = self._wrench(y, contact)
        motion, vdot, wrenches = self._accelerated(t, y, contact)
        _, _, left, *moments = spatial.inverse_dynamics(tree, motion, vdot, wrenches, self.gravity)
        torque = jnp.stack(moments)
        normal, tangential = contact.studs.normal, contact.studs.tangential[:, 0]
        total = jnp.sum(normal)
        touching = total > 0.0
        pressed = jnp.sum(contact.position * normal) / jnp.where(touching, total, 1.0)
        momentum, (kinetic, potential) = spatial.momentum(tree, motion), spatial.energy(tree, motion, self.gravity)
        return {
            "com_x": momentum.com.x,
            "com_z": momentum.com.z,
            "com_vx": momentum.linear.x / momentum.mass,
            "com_vz": momentum.linear.z / momentum.mass,
            "angular_momentum": momentum.angular,
            "energy": kinetic + potential,
            "grf_x": force.x,
            "grf_z": force.z,
            "cop_x": jnp.where(touching, pressed, jnp.nan),
            "depth": contact.depth,
            "normal": normal,
            "tangential": tangential,
            "slip": contact.slip,
            "moment": torque,
            "joint_angle": jnp.stack([q.angle for q in flexions]),
            "joint_power": jnp.sum(torque * jnp.stack([q.rate for q in flexions])),
            "contact_power": self.studs_per_row * jnp.sum(tangential * contact.slip - normal * contact.rate),
            "base_residual": left,
        }

    def figure(self, t: Scalar, y: JumperState) -> Float[Array, "bars 2 2"]:
        """Stick figure: the joint and the far end of each bar, (x, z) in m.

        Examples:
            >>> from jaxgait.models import Jumper
            >>> from jaxgait.models.jumper.planar import JumperState
            >>> jumper = Jumper()
            >>> aloft = JumperState(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, *jumper.sole.memories(6))
            >>> print(jumper.figure(0.0, aloft)[0])  # m
            [[0.         1.        ]
             [0.18902183 0.932     ]]
        """
        ends = []
        for bar, tip in zip(self.motion(t, y).world, self.tips(), strict=True):
            ends.append(jnp.stack([jnp.stack(bar.r), jnp.stack(bar.point(tip))]))
        return jnp.stack(ends)

    @abc.abstractmethod
    def tips(self) -> list[SagittalVec]:
        """Far end of each bar in its own frame, for drawing."""

    # --- validation --------------------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Rejects joint motions beyond the limits and crouches that the sole cannot carry."""
        check(self)
        self.sole.validate()
        for joint in self.joints:
            getattr(self, joint.name).validate()
        batched = jax.tree.map(lambda leaf: 0 if np.ndim(leaf) else None, self)
        with precision.use("float64"):
            found = _examine(precision.cast(self), eqx.filter(batched, lambda axis: axis == 0))
        self._check_ranges({name: np.atleast_1d(np.asarray(values)) for name, values in found.items()})

    def _check_ranges(self, ranges: dict[str, np.ndarray]) -> None:
        members = lambda values: values.reshape(len(values), -1).max(axis=1)
        if (none := members(np.isnan(ranges["ankle"]))).any():
            (ahead,) = of_worst(none, self.com_ahead)
            raise ParameterError(f"no crouch has its centre of mass com_ahead = {ahead:g} m ahead of the ankle")
        for joint in self.joints:
            low, high = joint.limits
            reach = np.degrees(ranges[joint.name])
            for value in (reach.min(), reach.max()):
                if not low - 1e-6 <= value <= high + 1e-6:
                    raise ParameterError(
                        f"{type(self).__name__}.{joint.name} swings to {value:.4g} deg, "
                        f"beyond its limits {low:g} to {high:g} deg"
                    )
        unrest = ranges["unrest"]
        if not np.max(unrest) < REST_ACCELERATION:
            excess = np.where(np.isnan(unrest), np.inf, unrest)
            ahead, *rows = of_worst(excess, self.com_ahead, *self.sole.rows)
            raise ParameterError(
                f"there is no static crouch with com_ahead = {ahead:g} m: the studs, "
                f"up to {max(rows):g} m ahead, cannot balance the weight"
            )
        hover = -ranges["depth"].min()
        if not hover <= 0.0:
            raise ParameterError(
                "the static crouch has no solution with all studs on the ground: its loosest row would hover "
                f"{1e3 * hover:.3g} mm above it; move the centre of mass (com_ahead) over the studs"
            )


@kept
def _examine(model: PlanarJumper, axes: Any) -> dict[str, Array]:
    """The quantities that `validate` checks: the crouch and the range of the joint angles."""

    def one(model: PlanarJumper) -> dict[str, Array]:
        system, found = model.prepared(), {}
        ankle = system.crouch_ankle()
        for joint in system.joints:
            start = ankle if joint.name == "ankle" else getattr(system, f"{joint.name}_start")
            found[joint.name] = jnp.stack([start + angle for angle in getattr(system, joint.name).extremes()])
        crouch = system.initial_state()
        rates = system.vector_field(0.0 * ankle, crouch)
        unrest = (jnp.abs(rates.vz) + jnp.abs(rates.spin)) / system.gravity
        return {**found, "depth": system.contact(crouch).depth, "unrest": unrest}

    return jax.vmap(one, in_axes=(axes,))(model) if jax.tree.leaves(axes) else one(model)


def _unbalanced(pose: Float[Array, " 2"], standing: tuple[Any, SagittalVec, Scalar]) -> Float[Array, " 2"]:
    """Residual of force and moment in a pose; `standing` is (model, centre of mass over the foot, weight)."""
    model, frozen, weight = standing
    y = model._standing(pose)
    force, moment = model._wrench(y, model.contact(y))
    com_x = jnp.cos(pose[1]) * frozen.x + jnp.sin(pose[1]) * frozen.z
    return jnp.stack([force.z / weight - 1.0, moment / weight + com_x])
