"""Kinematic trees: bodies, their joints, and their positions and velocities."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxgait.mechanics.spatial import plane, space
from jaxgait.mechanics.spatial.checks import check_link
from jaxgait.mechanics.spatial.joints import Joint
from jaxgait.mechanics.spatial.links import Link
from jaxgait.mechanics.spatial.vectors import Mat6, Placement, real, rigid_inertia
from jaxgait.precision import float64_default
from jaxgait.support.checks import is_concrete


@float64_default
class Topology(eqx.Module):
    """The structure of a tree: bodies, each after its parent, and their joints.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, free, hinge
        >>> tree = Tree.build(Link("trunk", None, free(), mass=50.0), Link("leg", "trunk", hinge((0, 1, 0)), mass=10.0))
        >>> print(tree.nq, tree.nv, tree.q_slices[tree.index("leg")], tree.v_slices[tree.index("leg")])
        8 7 slice(7, 8, None) slice(6, 7, None)
        >>> print(tree.coordinate_names[-2:], tree.velocity_names[-2:])
        ('trunk.q_z', 'leg') ('trunk.v_z', 'leg')
        >>> print(tree.neutral())
        [0. 0. 0. 1. 0. 0. 0. 0.]
        >>> print(tree.seats()[1].r, tree.inertias()[1][3, 3])  # m: the hip in the trunk; kg
        [0. 0. 0.] 10.0
    """

    algebra: ClassVar[Any]
    """The module of the recursions' operations: `space` or `plane`."""

    names: tuple[str, ...] = eqx.field(static=True)
    parents: tuple[int, ...] = eqx.field(static=True)
    """Index of each body's parent, -1 for the world."""
    joints: tuple[Joint, ...] = eqx.field(static=True)

    @abc.abstractmethod
    def seats(self) -> Sequence[Any]:
        """Frame of each joint in its body's parent, in the algebra's terms."""

    @abc.abstractmethod
    def inertias(self) -> list[Any]:
        """Inertia of each body at its origin, in the algebra's terms."""

    @abc.abstractmethod
    def rotors(self) -> Array | None:
        """Inertia of rotors for each velocity, kg m^2 (kg for slides); None if there are none.

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, Tree, hinge
            >>> leg = Link("leg", None, hinge((0, 1, 0)), mass=10.0)
            >>> print(Tree.build(leg, armature={"leg": 0.5}).rotors(), Tree.build(leg).rotors())
            [0.5] None
        """

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(joint.nq for joint in self.joints)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(joint.nv for joint in self.joints)

    @property
    def q_slices(self) -> list[slice]:
        """Slice of q for each body's joint."""
        return _slices([joint.nq for joint in self.joints])

    @property
    def v_slices(self) -> list[slice]:
        """Slice of v for each body's joint."""
        return _slices([joint.nv for joint in self.joints])

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q: the body, with the motion if its joint has several ("trunk.x")."""
        return _names(self.names, [joint.coordinates for joint in self.joints])

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the entries of v (and of vdot, tau and the mass matrix), likewise."""
        return _names(self.names, [joint.velocities for joint in self.joints])

    def index(self, name: str) -> int:
        """Index of a body."""
        return self.names.index(name)

    def neutral(self) -> Float[np.ndarray, " nq"]:
        """Coordinates at which every body's frame coincides with its joint frame."""
        return np.concatenate([joint.neutral() for joint in self.joints])


@float64_default
class Tree(Topology):
    """A tree of n bodies in space, in SI units; its numbers are leaves, its topology is static.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge
        >>> thigh = Link("thigh", None, hinge((0, 1, 0)), mass=7.0)
        >>> leg = Tree.build(thigh, Link("shank", "thigh", hinge((0, 1, 0)), mass=3.0, offset=(0.0, 0.0, -0.4)))
        >>> print(leg.offset[leg.index("shank")], leg.mass.sum(), leg.rotors())  # m, kg
        [ 0.   0.  -0.4] 10.0 None
        >>> print(leg.rate(jnp.zeros(2), jnp.array([1.0, -2.0])))  # rad/s
        [ 1. -2.]
    """

    algebra: ClassVar[Any] = space

    offset: Float[ArrayLike, "n 3"]
    """Joint origin in the parent's frame, m."""
    rotation: Float[ArrayLike, "n 3 3"] | None
    """Orientation of the joint frames in the parents' frames; None: they are not turned."""
    mass: Float[ArrayLike, " n"]
    com: Float[ArrayLike, "n 3"]
    """Centre of mass in the body's frame, m."""
    inertia: Float[ArrayLike, "n 3 3"]
    """About the centre of mass, in the body's axes, kg m^2."""
    armature: Float[ArrayLike, " nv"] | None = None
    """Inertia of rotors that turn with the joints, times the square of their gear ratios: on the diagonal of the mass
    matrix, kg m^2 (kg); None: there are none. The momentum of their spin is neglected."""

    @classmethod
    def build(cls, *links: Link, armature: Mapping[str, Any] | None = None) -> Tree:
        """Builds a tree from its links, parents first, and `armature` by name of the velocity; numbers may be traced.

        Raises:
            ValueError: for a repeated name, a parent that does not come before its child, an armature without a joint,
                and what no rigid body has (`check_inertia`, `check_rotation`), unless it is traced.

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, Tree, free, hinge
            >>> trunk, leg = Link("trunk", None, free(), mass=50.0), Link("leg", "trunk", hinge((0, 1, 0)), mass=10.0)
            >>> tree = Tree.build(trunk, leg)
            >>> print(tree.names, tree.nq, tree.nv)
            ('trunk', 'leg') 8 7
        """
        names = [link.name for link in links]
        parents = []
        for i, link in enumerate(links):
            if link.name in names[:i]:
                raise ValueError(f"two bodies are called {link.name!r}")
            if link.parent is not None and link.parent not in names[:i]:
                raise ValueError(f"body {link.name!r}: its parent {link.parent!r} must be one of the bodies before it")
            parents.append(-1 if link.parent is None else names.index(link.parent))
            check_link(link)

        def stack(values: Sequence[Any]) -> Any:
            if all(isinstance(x, float | int | np.ndarray) for v in values for x in _leaves(v)):
                return np.stack([np.asarray(v, dtype=float) for v in values])
            return jnp.stack([_traced(v) for v in values])

        moves, turned = _names(names, [link.joint.velocities for link in links]), [link.rotation for link in links]
        if unknown := [name for name in armature or () if name not in moves]:
            raise ValueError(f"armature: no velocity {unknown[0]!r}; choose one of {', '.join(moves)}")
        return cls(
            names=tuple(names),
            parents=tuple(parents),
            joints=tuple(link.joint for link in links),
            offset=stack([link.offset for link in links]),
            rotation=None if all(r is None for r in turned) else stack([np.eye(3) if r is None else r for r in turned]),
            mass=stack([link.mass for link in links]),
            com=stack([link.com for link in links]),
            inertia=stack([link.inertia for link in links]),
            armature=stack([armature.get(name, 0.0) for name in moves]) if armature else None,
        )

    def rate(self, q: Float[Array, " nq"], v: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """Time derivative of the coordinates, which for quaternions differs from the velocities."""
        if all(type(joint).rate is Joint.rate for joint in self.joints):
            return v  # itself, which solvers make use of
        parts = zip(self.joints, self.q_slices, self.v_slices, strict=True)
        return jnp.concatenate([joint.rate(q[a], v[b]) for joint, a, b in parts])

    def inertias(self) -> list[Mat6]:
        """Spatial inertia of each body at its origin."""
        mass, com, inertia = (jnp.asarray(x) for x in (self.mass, self.com, self.inertia))
        return [rigid_inertia(mass[i], com[i], inertia[i]) for i in range(len(self.names))]

    def seats(self) -> list[Placement]:
        """Frame of each joint in its body's parent."""
        offset = jnp.asarray(self.offset)
        rotation = jnp.asarray(np.eye(3)[None].repeat(len(offset), 0) if self.rotation is None else self.rotation)
        return [Placement(R, r) for R, r in zip(rotation, offset, strict=True)]

    def rotors(self) -> Array | None:
        """`armature` as an array."""
        return None if self.armature is None else jnp.asarray(self.armature)

    @property
    def is_planar(self) -> bool:
        """Whether it is known to move in the sagittal plane, whatever its numbers are.

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, Tree, hinge
            >>> rods = [Tree.build(Link("rod", None, hinge(axis), mass=1.0)) for axis in [(0, 1, 0), (0, 0, 1)]]
            >>> print(*(rod.is_planar for rod in rods))
            True False
        """
        return self.rotation is None and all(map(plane.is_planar, self.joints))

    def in_plane(self) -> PlanarTree:
        """The planar form, in unrolled scalars, of a tree that moves in the sagittal plane.

        Raises:
            ValueError: for a joint that leaves the plane, or whose frame is turned in its parent, or may be (traced).

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, Tree, hinge, kinematics
            >>> rod = Tree.build(Link("rod", None, hinge((0, 1, 0)), mass=1.0, com=(0.0, 0.0, -0.5))).in_plane()
            >>> motion = kinematics(rod, [0.0], [2.0])  # hanging, at 2 rad/s
            >>> print(type(rod).__name__, motion.twist[0].turn)
            PlanarTree 2.0
        """
        for name, joint in zip(self.names, self.joints, strict=True):
            if not plane.is_planar(joint):
                advice = "slide along x and z and turn about y, or compute in space"
                raise ValueError(f"body {name!r} has a joint that leaves the plane: {advice}")
        if not is_concrete(self.rotation):
            raise ValueError("whether joint frames are turned in their parents is not known of a traced tree")
        if self.rotation is not None and (np.asarray(self.rotation) != np.eye(3)).any():
            raise ValueError("joint frames of a planar tree are not turned in their parents: put the angle in q")
        offset, com, inertia = (jnp.asarray(x) for x in (self.offset, self.com, self.inertia))
        return PlanarTree(
            *(self.names, self.parents, self.joints),
            offset,
            jnp.asarray(self.mass),
            com[:, ::2],
            inertia[:, 1, 1],
            self.rotors(),
        )


@float64_default
class PlanarTree(Topology):
    """The planar form of a `Tree`, from `Tree.in_plane`: the same names, joints, coordinates and velocities.

    `kinematics`, `inverse_dynamics`, `joint_wrenches`, `forward_dynamics`, `hybrid_dynamics`, `momentum` and `energy`
    accept it too, with scalars (sequences of numbers, `plane.Vector`, `plane.SagittalVec`) instead of arrays, and so do
    `point_motion`, `feet` and `point_wrenches`, with points and forces in space; `mass_matrix` needs a `Tree`.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge
        >>> link = Link("rod", None, hinge((0, 1, 0)), mass=2.0, com=(0.0, 0.0, -0.5), offset=(0.0, 0.0, 1.0))
        >>> rod = Tree.build(link).in_plane()
        >>> print(rod.coms()[0].z, rod.seats()[0].r.z, rod.inertias()[0].mass)  # m, m, kg
        -0.5 1.0 2.0
        >>> print(rod.rate([0.3], [2.0]), rod.rotors())  # rad/s
        [2.0] None
    """

    algebra: ClassVar[Any] = plane

    offset: Float[Array, "n 3"]
    """Joint origin in the parent's frame, m."""
    mass: Float[Array, " n"]
    com: Float[Array, "n 2"]
    """Centre of mass in the body's frame (x, z), m."""
    inertia: Float[Array, " n"]
    """About the centre of mass and +y, kg m^2."""
    armature: Float[Array, " nv"] | None = None
    """See `Tree`."""

    def rotors(self) -> Array | None:
        """See `Tree.rotors`."""
        return self.armature

    def rate(self, q: Sequence[plane.Number], v: Sequence[plane.Number]) -> Sequence[plane.Number]:
        """Time derivative of the coordinates: the velocities."""
        return v

    def coms(self) -> list[plane.SagittalVec]:
        """Centre of mass of each body in its frame, m."""
        return [plane.SagittalVec(self.com[i, 0], self.com[i, 1]) for i in range(len(self.names))]

    def inertias(self) -> list[plane.Rigid]:
        """Inertia of each body at its origin."""
        return [plane.rigid_inertia(self.mass[i], com, self.inertia[i]) for i, com in enumerate(self.coms())]

    def seats(self) -> list[plane.Placement]:
        """Frame of each joint in its body's parent."""
        return [plane.Placement(plane.SagittalVec(x, z), side=y) for x, y, z in self.offset]


class Motion(NamedTuple):
    """Positions and velocities of the bodies of a tree, one entry per body (for a planar tree of types of `plane`)."""

    local: list[Any]
    """`Placement` in the parent."""
    world: list[Any]
    """`Placement` in the world."""
    S: list[Any]
    """Joint maps (6, nv), in body axes; planar: lists of columns."""
    twist: list[Any]
    """Angular and linear velocity (6,) at the body's origin, in body axes."""
    bias: list[Any]
    """Acceleration (6,) in the parent at zero joint accelerations: velocity products; planar: None if none."""
    v: Any
    """Velocities (nv,) of the joints."""


@float64_default
def kinematics(tree: Topology, q: Any, v: Any) -> Motion:
    """Positions and velocities of all bodies, by one outward pass over the tree.

    Args:
        tree: the bodies.
        q: coordinates (nq,) in m and rad; for a planar tree any sequence of scalars.
        v: velocities (nv,) in m/s and rad/s, likewise.

    Raises:
        ValueError: for another number of them.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge, kinematics
        >>> leg = Tree.build(Link("thigh", None, hinge((0, 1, 0)), mass=7.0),
        ...                  Link("shank", "thigh", hinge((0, 1, 0)), mass=3.0, offset=(0.0, 0.0, -0.4)))
        >>> motion = kinematics(leg, jnp.array([-jnp.pi / 2, 0.0]), jnp.array([1.0, 2.0]))  # level
        >>> print(f"{motion.world[1].r[0]:.2f} m, {motion.twist[1][1]:.0f} rad/s")  # of the knee and the shank
        0.40 m, 3 rad/s
    """
    check_lengths(tree.nq, q=q)
    check_lengths(tree.nv, v=v)
    if tree.algebra is space:
        q, v = real(q), real(v)
    algebra, motion = tree.algebra, Motion([], [], [], [], [], v)
    parts = zip(tree.joints, tree.seats(), tree.parents, tree.q_slices, tree.v_slices, strict=True)
    for joint, seat, p, a, b in parts:
        moved = algebra.moved(joint, seat, q[a], v[b])
        carried = moved.local.motion_to_child(motion.twist[p]) if p >= 0 else None
        motion.local.append(moved.local)
        motion.world.append(motion.world[p].then(moved.local) if p >= 0 else moved.local)
        motion.S.append(moved.S)
        motion.twist.append(plus(carried, moved.relative, algebra.still))
        both = carried is not None and moved.relative is not None
        turning = algebra.cross_motion(carried, moved.relative) if both else None
        motion.bias.append(plus(moved.bias, turning))
    return motion


def check_lengths(wanted: int, **vectors: Any) -> None:
    """Checks the number of entries of coordinates, velocities and the like: entries too many would be ignored.

    Raises:
        ValueError: naming the first that differs.

    Examples:
        >>> from jaxgait.mechanics.spatial.tree import check_lengths
        >>> check_lengths(2, q=[0.1, 0.2])
    """
    for name, x in vectors.items():
        if len(x) != wanted:
            raise ValueError(f"{name} must have {wanted} entries in this tree, got {len(x)}")


def of_planar_tree(motion: Motion) -> bool:
    """Whether a motion is that of a planar tree.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge, kinematics
        >>> from jaxgait.mechanics.spatial.tree import of_planar_tree
        >>> rod = Tree.build(Link("rod", None, hinge((0, 1, 0)), mass=1.0)).in_plane()
        >>> of_planar_tree(kinematics(rod, [0.0], [2.0]))
        True
    """
    return isinstance(motion.world[0], plane.Placement)


def plus(a: Any, b: Any, neither: Callable[[], Any] = lambda: None) -> Any:
    """The sum of two vectors, either of which may be None; `neither()` if both are.

    Examples:
        >>> from jaxgait.mechanics.spatial.tree import plus
        >>> print(plus(1.0, 2.0), plus(None, 2.0), plus(None, None))
        3.0 2.0 None
    """
    if a is None or b is None:
        found = b if a is None else a
        return neither() if found is None else found
    return a + b


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)]


def _names(bodies: Sequence[str], motions: Sequence[Sequence[str]]) -> tuple[str, ...]:
    parts = zip(bodies, motions, strict=True)
    return tuple(f"{b}.{m}" if len(own) > 1 else b for b, own in parts for m in own)


def _traced(value: Any) -> Array:
    """Nested tuples of numbers, possibly traced, as one array."""
    return (
        jnp.stack([_traced(v) for v in value]) if isinstance(value, tuple | list) else jnp.asarray(value, dtype=float)
    )


def _leaves(value: Any) -> list[Any]:
    return [x for v in value for x in _leaves(v)] if isinstance(value, tuple | list) else [value]
