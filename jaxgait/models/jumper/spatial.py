"""The human jumper in space: fifteen bodies, ball joints and hinges, twelve studs under each foot.

The tree is rooted at the lower trunk (a free joint at the middle of the hips); the joints follow the same swings as
`Jumper`, as rotations about the bodies' own y axes (x forward, y left, z up). `asymmetry` delays the left leg and arm;
in a symmetric motion the model reproduces `Jumper`, whose root is the foot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.mechanics import spatial
from jaxgait.mechanics.anthropometry import Segment, axes, diagonal_inertia, segments, shoulder_height
from jaxgait.mechanics.linalg import stacked
from jaxgait.model import Model, Numerics, Scalar, Variable, derived, parameter
from jaxgait.models.jumper.human import FOOT_COM_BELOW_ANKLE, HEEL_BEHIND_ANKLE, Jumper
from jaxgait.models.jumper.sole import StudForces
from jaxgait.models.jumper.swing import Turn, locked
from jaxgait.parameters import CHOSEN
from jaxgait.precision import float64_default

HIP_ASIDE, SHOULDER_ASIDE = 0.085 / 1.70, 0.175 / 1.70
"""Half the distances between the hips and between the shoulders, as fractions of the stature (chosen)."""

_SIDES = {"left": 1.0, "right": -1.0}
_FLEXION = {"hip": -1.0, "knee": 1.0, "ankle": -1.0, "shoulder": -1.0, "elbow": -1.0}
"""Sense about +y of each joint's flexion, from the trunk outward."""
_LIMBS = {"thigh": "hip", "shank": "knee", "foot": "ankle", "upper_arm": "shoulder", "forearm": "elbow", "hand": None}
_HINGES = ("shank", "forearm")


class SpatialState(NamedTuple):
    """Pose (position in m, quaternion w, x, y, z) of the lower trunk, its twist in its own axes, and the bristles."""

    pose: Float[Array, " 7"]
    twist: Float[Array, " 6"]
    bristle: Float[Array, "studs 2"] | None = None
    approach: Float[Array, " studs"] | None = None


class Ground(NamedTuple):
    """Contact of all studs, left foot first."""

    depth: Float[Array, " studs"]
    position: Float[Array, "studs 3"]
    slip: Float[Array, "studs 2"]
    studs: StudForces


class SpatialJumper(Model):
    """Fifteen bodies with 34 joint coordinates, of which 10 swing; 6 unknowns and 24 bristles.

    Examples:
        >>> from jaxgait.mechanics import spatial
        >>> from jaxgait.models import SpatialJumper
        >>> jumper = SpatialJumper()
        >>> print(jumper.labels["foot"], jumper.duration)  # s
        ('left', 'right') 0.6
        >>> print(len(jumper.tree().names), round(float(jumper.tree().mass.sum()), 2))  # bodies, kg
        15 70.0
        >>> y = jumper.initial_state()
        >>> q, v, _ = jumper.coordinates(0.0, y)
        >>> print(q.size, v.size, jumper.figure(0.0, y).shape)  # of positions, of velocities; (bodies, ends, axes)
        51 40 (15, 2, 3)
        >>> tree = jumper.tree()
        >>> ground = jumper.ground(tree, spatial.kinematics(tree, q, v), y)
        >>> print(round(float(ground.studs.normal.sum()), 1))  # N: body weight
        686.7
    """

    plane: Jumper = Jumper()
    """Body, posture, swings and sole, shared with the planar model."""
    asymmetry: Scalar = parameter(0.0, unit="s", doc="delay of the left limbs", bounds="nonnegative", source=CHOSEN)

    labels: ClassVar[Mapping[str, Sequence[str]]] = {
        "axis": ("x", "y", "z"),
        "tangent": ("x", "y"),
        "foot": ("left", "right"),
        "pose_component": ("x", "y", "z", "q_w", "q_x", "q_y", "q_z"),
        "twist_component": ("w_x", "w_y", "w_z", "v_x", "v_y", "v_z"),
    }
    measures: ClassVar[str] = "jaxgait.models.jumper.measures:SPATIAL_MEASURES"
    scene: ClassVar[str] = "jaxgait.models.jumper.scene:spatial"
    variables: ClassVar[Mapping[str, Variable]] = {
        "pose": Variable("m, 1", "position and quaternion of the lower trunk", ("pose_component",)),
        "twist": Variable("rad/s, m/s", "twist of the lower trunk, own axes", ("twist_component",)),
        "bristle": Variable("m", "shear deflection of the studs", ("stud", "tangent")),
        "approach": Variable("m/s", "approach speed of each stud at touch-down", ("stud",)),
        "com": Variable("m", "position of the centre of mass", ("axis",)),
        "com_velocity": Variable("m/s", "velocity of the centre of mass", ("axis",)),
        "angular_momentum": Variable("kg m^2/s", "angular momentum about the centre of mass", ("axis",)),
        "grf": Variable("N", "ground reaction on the left and the right foot", ("foot", "axis")),
        "depth": Variable("m", "compression of the studs", ("stud",)),
        "normal": Variable("N", "normal force of the studs", ("stud",)),
        "tangential": Variable("N", "friction force of the studs", ("stud", "tangent")),
        "contact_position": Variable("m", "position of the contact points", ("stud", "axis")),
        "slip": Variable("m/s", "sliding velocity of the studs", ("stud", "tangent")),
        "moment": Variable("N m", "generalised forces of the joints", ("coordinate",)),
        "energy": Variable("J", "kinetic and potential energy"),
    }
    numerics: ClassVar[Numerics] = Numerics(
        stiff=False, unrolled=False, rtol=1e-8, atol=1e-9, first_step=1e-4, max_step=5e-3
    )

    @property
    def duration(self) -> Scalar:
        """0.6 s: up to the middle of the flight."""
        return self.plane.duration

    @derived
    def tree(self) -> spatial.Tree:
        """The fifteen bodies, lower trunk first."""
        tall = self.plane.stature
        s = segments(self.plane.mass, tall)
        up = [("lower_trunk", None, 0.0), ("upper_trunk", "lower_trunk", s["lower_trunk"].length)]
        up += [("head", "upper_trunk", s["upper_trunk"].length)]
        links = []
        for name, parent, height in up:
            joint = spatial.free() if parent is None else spatial.ball()
            com, inertia = (0.0, 0.0, s[name].length - s[name].com), diagonal_inertia(*axes(name, s[name]))
            links.append(spatial.Link(name, parent, joint, s[name].mass, com, inertia, offset=(0.0, 0.0, height)))
        for side, sense in _SIDES.items():
            leg = ("lower_trunk", (0.0, sense * HIP_ASIDE * tall, 0.0))
            arm = ("upper_trunk", (0.0, sense * SHOULDER_ASIDE * tall, shoulder_height(s, tall)))
            links += _limb(s, tall, side, ("thigh", "shank", "foot"), *leg)
            links += _limb(s, tall, side, ("upper_arm", "forearm", "hand"), *arm)
        return spatial.Tree.build(*links)

    def _studs(self, tree: spatial.Tree) -> spatial.Points:
        """Centres of the hemispheres, row by row, left foot first; the right foot is its mirror image."""
        sole = self.plane.sole
        below = sole.radius - sole.drop
        grid = [[stacked((x, sense * y, below)) for x in sole.rows for y in sole.columns] for sense in _SIDES.values()]
        feet = [tree.index(f"{side}_foot") for side in _SIDES for _ in grid[0]]
        return spatial.Points(tuple(feet), jnp.stack([*grid[0], *grid[1]]))

    # --- joint motions -------------------------------------------------------------------------------------------

    def coordinates(self, t: Scalar, y: SpatialState) -> tuple[Array, Array, Array]:
        """All coordinates, velocities and prescribed accelerations (zero for the base) at time t in s."""
        right = dict(zip([j.name for j in self.plane.joints], self.plane.joint_turns(t), strict=True))
        delayed = self.plane.joint_turns(t - self.asymmetry)
        left = dict(zip([j.name for j in self.plane.joints], delayed, strict=True))
        still = jnp.zeros(3)
        upright = jnp.array([1.0, 0.0, 0.0, 0.0])
        q, v, a = [y.pose, upright, upright], [y.twist, still, still], [jnp.zeros(6), still, still]
        for turns in (left, right):
            for part, joint in _LIMBS.items():
                turn = locked(0.0) if joint is None else Turn(*(_FLEXION[joint] * value for value in turns[joint]))
                if part in _HINGES:
                    for values, value in zip((q, v, a), turn, strict=True):
                        values.append(value[None])
                else:
                    axis = jnp.array([0.0, 1.0, 0.0])
                    q.append(spatial.quaternion_about(axis, turn.angle))
                    v.append(turn.rate * axis)
                    a.append(turn.acceleration * axis)
        return jnp.concatenate(q), jnp.concatenate(v), jnp.concatenate(a)

    # --- equations of motion -------------------------------------------------------------------------------------

    def ground(self, tree: spatial.Tree, motion: spatial.Motion, y: SpatialState) -> Ground:
        """Compression, sliding and forces of all studs."""
        feet, sole = spatial.feet(motion, self._studs(tree)), self.plane.sole
        depth = sole.radius - feet.height
        studs = sole.forces(depth, -feet.rise, feet.slip, y.bristle, y.approach)
        return Ground(depth, feet.position, feet.slip, studs)

    def _solve(self, t: Scalar, y: SpatialState) -> tuple[spatial.Tree, spatial.Motion, Ground, spatial.Accelerations]:
        tree = self.tree()
        q, v, a = self.coordinates(t, y)
        motion = spatial.kinematics(tree, q, v)
        ground = self.ground(tree, motion, y)
        force = jnp.concatenate([ground.studs.tangential, ground.studs.normal[:, None]], axis=1)
        wrenches = spatial.point_wrenches(motion, self._studs(tree), ground.position, force)
        driven = [False] * 6 + [True] * (tree.nv - 6)
        found = spatial.hybrid_dynamics(tree, motion, a, jnp.zeros(tree.nv), driven, wrenches, self.plane.gravity)
        return tree, motion, ground, found

    def vector_field(self, t: Scalar, y: SpatialState) -> SpatialState:
        """Rates of pose, twist and bristles."""
        _, _, ground, found = self._solve(t, y)
        pose = spatial.free().rate(y.pose, y.twist)
        return SpatialState(pose, found.vdot[:6], ground.studs.bristle_rate, ground.studs.approach_rate)

    def initial_state(self) -> SpatialState:
        """The planar model's static crouch, as a state of the lower trunk."""
        crouch = self.plane.initial_state()
        names = self.plane.tree().names
        trunk = self.plane.motion(0.0, crouch).world[names.index("lower_trunk")]
        turn = spatial.quaternion_about(jnp.array([0.0, 1.0, 0.0]), jnp.arctan2(trunk.sin, trunk.cos))
        hip = trunk.r
        studs = 2 * len(self.plane.sole.rows) * len(self.plane.sole.columns)
        origin = jnp.stack([hip.x, jnp.zeros(()), hip.z])
        return SpatialState(jnp.concatenate([origin, turn]), jnp.zeros(6), *self.plane.sole.memories(studs, 2))

    # --- outputs -----------------------------------------------------------------------------------------------------

    def outputs(self, t: Scalar, y: SpatialState) -> dict[str, Array]:
        """See `variables`."""
        tree, motion, ground, found = self._solve(t, y)
        momentum = spatial.momentum(tree, motion)
        kinetic, potential = spatial.energy(tree, motion, self.plane.gravity)
        force = jnp.concatenate([ground.studs.tangential, ground.studs.normal[:, None]], axis=1)
        return {
            "com": momentum.com,
            "com_velocity": momentum.linear / momentum.mass,
            "angular_momentum": momentum.angular,
            "grf": jnp.sum(force.reshape(2, -1, 3), axis=1),
            "depth": ground.depth,
            "normal": ground.studs.normal,
            "tangential": ground.studs.tangential,
            "contact_position": ground.position,
            "slip": ground.slip,
            "moment": found.tau[6:],
            "energy": kinetic + potential,
        }

    def figure(self, t: Scalar, y: SpatialState) -> Float[Array, "bodies 2 3"]:
        """Stick figure: the joint and the far end of each body in m."""
        tree = self.tree()
        q, v, _ = self.coordinates(t, y)
        s = segments(self.plane.mass, self.plane.stature)
        ends = []
        for name, world in zip(tree.names, spatial.kinematics(tree, q, v).world, strict=True):
            _, part = side_and_part(name)
            upward = 1.0 if part in ("lower_trunk", "upper_trunk", "head") else -1.0
            tip = [0.0, 0.0, upward * s[part].length]
            if part == "foot":
                tip = [s[part].length - HEEL_BEHIND_ANKLE * self.plane.stature, 0.0, -self.plane.sole.drop]
            end = world.r + world.R @ stacked(tip)
            ends.append(jnp.stack([world.r, end]))
        return jnp.stack(ends)

    def validate(self) -> None:
        """Rejects what the planar model rejects."""
        super().validate()
        self.plane.validate()


def _limb(
    s: dict[str, Segment], stature: Scalar, side: str, parts: tuple[str, ...], parent: str, at: tuple
) -> list[spatial.Link]:
    """Three links of one limb, hanging from a joint at a position in its parent."""
    links = []
    for part in parts:
        segment = s[part]
        joint = spatial.hinge((0.0, 1.0, 0.0)) if part in _HINGES else spatial.ball()
        com, inertia = (0.0, 0.0, -segment.com), diagonal_inertia(*axes(part, segment))
        if part == "foot":
            com = (segment.com - HEEL_BEHIND_ANKLE * stature, 0.0, -FOOT_COM_BELOW_ANKLE * stature)
        links.append(spatial.Link(f"{side}_{part}", parent, joint, segment.mass, com, inertia, offset=at))
        parent, at = f"{side}_{part}", (0.0, 0.0, -segment.length)
    return links


@float64_default
def side_and_part(name: str) -> tuple[str, str]:
    """The side ("left", "right" or "") and the part of a body by its name.

    Examples:
        >>> from jaxgait.models.jumper.spatial import side_and_part
        >>> side_and_part("left_upper_arm"), side_and_part("lower_trunk")
        (('left', 'upper_arm'), ('', 'lower_trunk'))
    """
    side, _, part = name.partition("_")
    return (side, part) if side in _SIDES else ("", name)
