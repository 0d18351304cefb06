"""Points on bodies (contacts, markers), and energy, momentum and centre of mass of a tree."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxgait.mechanics.spatial import plane
from jaxgait.mechanics.spatial.tree import Motion, PlanarTree, Tree, of_planar_tree, plus
from jaxgait.mechanics.spatial.vectors import Vec3, cross
from jaxgait.precision import float64_default


class Points(NamedTuple):
    """Points fixed to bodies."""

    body: tuple[int, ...]
    """Index of each point's body."""
    position: Float[ArrayLike, "m 3"]
    """In the body's frame, m."""


class Feet(NamedTuple):
    """Points of bodies above level ground at z = 0, and the bodies' points on the ground straight below them."""

    height: Float[Array, " m"]
    """Height of the points themselves, m."""
    rise: Float[Array, " m"]
    """Its rate, m/s."""
    position: Float[Array, "m 3"]
    """On the ground, m."""
    slip: Float[Array, "m 2"]
    """Horizontal velocity of the bodies there, m/s."""


class Momentum(NamedTuple):
    """Mass, centre of mass and momentum of a tree, in world axes."""

    mass: Float[Array, ""]
    com: Vec3
    """Centre of mass, m."""
    linear: Vec3
    """Linear momentum, kg m/s."""
    angular: Vec3
    """Angular momentum about the centre of mass, kg m^2/s."""


@float64_default
def point_motion(motion: Motion, points: Points) -> tuple[Float[Array, "m 3"], Float[Array, "m 3"]]:
    """Positions in m and velocities in m/s of points, in the world.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import Link, Points, Tree, hinge, kinematics, point_motion
        >>> rod = Tree.build(Link("rod", None, hinge((0, 1, 0)), mass=1.0))
        >>> motion = kinematics(rod, jnp.zeros(1), jnp.array([2.0]))  # hanging, at 2 rad/s about y
        >>> position, velocity = point_motion(motion, Points((0,), jnp.array([[0.0, 0.0, -0.5]])))
        >>> print(position[0], velocity[0])  # m, m/s
        [ 0.   0.  -0.5] [-1.  0.  0.]
    """
    local = jnp.asarray(points.position)
    if of_planar_tree(motion):
        found = [_planar_point(motion, *point) for point in zip(points.body, local, strict=True)]
        position, velocity = (jnp.stack(vectors) for vectors in zip(*found, strict=True))
        return position, velocity
    R, origin, twist = _gather(motion, points)
    w, v = twist[:, :3], twist[:, 3:]
    return origin + _turn(R, local), _turn(R, v + jnp.cross(w, local))


@float64_default
def point_wrenches(
    motion: Motion, points: Points, position: Float[Array, "m 3"], force: Float[Array, "m 3"]
) -> Float[Array, "n 6"] | list[plane.Vector | None]:
    """Wrenches on all bodies (N m, N), at their origins and in their axes, from forces at points of the world.

    Args:
        motion: from `kinematics`.
        points: whose bodies the forces act on.
        position: of each force in the world, m (not necessarily that of a material point).
        force: N, world axes.

    Returns:
        An array, zero for bodies without points; for a planar tree a list of `plane.Vector`, or None.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import Link, Points, Tree, hinge, kinematics, point_wrenches
        >>> leg = Tree.build(Link("leg", None, hinge((0, 1, 0)), mass=10.0))
        >>> motion = kinematics(leg, jnp.zeros(1), jnp.zeros(1))
        >>> toe, push = jnp.array([[0.2, 0.0, -0.9]]), jnp.array([[0.0, 0.0, 700.0]])  # m, N
        >>> print(point_wrenches(motion, Points((0,), toe), toe, push)[0])  # N m about the hip, N
        [   0. -140.    0.    0.    0.  700.]
    """
    if of_planar_tree(motion):
        return _planar_wrenches(motion, points, position, force)
    R, origin, _ = _gather(motion, points)
    Rt = jnp.swapaxes(R, 1, 2)
    f = _turn(Rt, force)
    wrench = jnp.concatenate([jnp.cross(_turn(Rt, position - origin), f), f], axis=1)
    total = jnp.zeros((len(motion.world), 6), dtype=wrench.dtype)
    return total.at[np.asarray(points.body)].add(wrench)


@float64_default
def feet(motion: Motion, points: Points) -> Feet:
    """The motion of points, such as centres of balls, over level ground, and of the bodies where they touch it.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import Link, Points, Tree, feet, kinematics, planar
        >>> wheel = Tree.build(Link("wheel", None, planar(), mass=1.0))  # 0.2 m above the ground
        >>> motion = kinematics(wheel, jnp.array([0.0, 0.2, 0.0]), jnp.array([0.6, 0.0, 2.0]))  # 0.6 m/s, 2 rad/s
        >>> found = feet(motion, Points((0,), jnp.zeros((1, 3))))
        >>> print(found.height, found.position[0], found.slip[0].round(6))  # m, m, m/s
        [0.2] [0. 0. 0.] [0.2 0. ]
    """
    centre, velocity = point_motion(motion, points)
    spin = {b: _spin(motion, b) for b in points.body}
    turn = jnp.stack([jnp.stack([-spin[b][1], spin[b][0]]) for b in points.body])
    slip = velocity[:, :2] + centre[:, 2:] * turn
    on_ground = jnp.concatenate([centre[:, :2], jnp.zeros_like(centre[:, 2:])], axis=1)
    return Feet(centre[:, 2], velocity[:, 2], on_ground, slip)


@overload
def momentum(tree: Tree, motion: Motion) -> Momentum:  # noqa: D418  (for readers: `help` shows the function's own)
    """Of a tree in space: vectors in m, kg m/s and kg m^2/s."""


@overload
def momentum(tree: PlanarTree, motion: Motion) -> plane.Momentum:  # noqa: D418
    """Of a tree in the plane: plane vectors, and a scalar angular momentum in kg m^2/s."""


@float64_default
def momentum(tree: Tree | PlanarTree, motion: Motion) -> Momentum | plane.Momentum:
    """Centre of mass, linear momentum and angular momentum about the centre of mass.

    Returns:
        `Momentum`; for a planar tree `plane.Momentum`, with a scalar angular momentum.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import Link, Tree, kinematics, momentum, prismatic
        >>> cart = Tree.build(Link("cart", None, prismatic((1, 0, 0)), mass=2.0, com=(0.0, 0.0, 0.5)))
        >>> whole = momentum(cart, kinematics(cart, jnp.array([1.0]), jnp.array([3.0])))
        >>> print(whole.com, whole.linear, whole.angular)  # m, kg m/s, kg m^2/s
        [1.  0.  0.5] [6. 0. 0.] [0. 0. 0.]
    """
    if isinstance(tree, PlanarTree):
        bodies = range(len(tree.names))
        return plane.momentum([tree.mass[i] for i in bodies], tree.coms(), [tree.inertia[i] for i in bodies], motion)
    mass, com, inertia = (jnp.asarray(x) for x in (tree.mass, tree.com, tree.inertia))
    points = Points(tuple(range(len(tree.names))), com)
    position, velocity = point_motion(motion, points)
    total = jnp.sum(mass)
    centre = jnp.sum(mass[:, None] * position, axis=0) / total
    linear = jnp.sum(mass[:, None] * velocity, axis=0)
    angular = jnp.zeros(3, dtype=linear.dtype)
    for i, (world, twist) in enumerate(zip(motion.world, motion.twist, strict=True)):
        spin = world.R @ (inertia[i] @ twist[:3])
        angular = angular + spin + cross(position[i] - centre, mass[i] * velocity[i])
    return Momentum(total, centre, linear, angular)


@float64_default
def energy(tree: Tree | PlanarTree, motion: Motion, gravity: Any = 9.81) -> tuple[Array, Array]:
    """Kinetic and potential energy in J, the latter zero with the centre of mass at the origin (or level with it).

    Args:
        tree: the bodies.
        motion: from `kinematics`.
        gravity: m/s^2, along -z of the world; or the acceleration of free fall, as in `inverse_dynamics`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import Link, Tree, energy, kinematics, prismatic
        >>> stone = Tree.build(Link("stone", None, prismatic((0, 0, 1)), mass=2.0))
        >>> kinetic, potential = energy(stone, kinematics(stone, jnp.array([5.0]), jnp.array([-3.0])), gravity=10.0)
        >>> print(kinetic, potential)  # J: m v^2 / 2 and m g h
        9.0 100.0
    """
    dot, moving = tree.algebra.dot, zip(tree.inertias(), motion.twist, strict=True)
    kinetic = 0.5 * sum((dot(V, inertia @ V) for inertia, V in moving), jnp.zeros(()))
    if (rotors := tree.rotors()) is not None:
        kinetic = kinetic + 0.5 * jnp.sum(rotors * jnp.stack([*motion.v]) ** 2)
    whole = momentum(tree, motion)
    return kinetic, whole.mass * tree.algebra.lift(whole.com, gravity)


def _spin(motion: Motion, body: int) -> Any:
    """Angular velocity of a body in world axes, rad/s."""
    twist = motion.twist[body]
    return (0.0, twist.turn, 0.0) if of_planar_tree(motion) else motion.world[body].R @ twist[:3]


def _planar_point(motion: Motion, body: int, lever: Vec3) -> tuple[Vec3, Vec3]:
    """Position and velocity of a point of a planar tree, in space."""
    r, v = plane.point_motion(motion, body, plane.SagittalVec(lever[0], lever[2]))
    return jnp.stack([r.x, motion.world[body].side + lever[1], r.z]), jnp.stack([v.x, jnp.zeros_like(v.x), v.z])


def _planar_wrenches(motion: Motion, points: Points, position: Array, force: Array) -> list[plane.Vector | None]:
    """Wrenches on the bodies of a planar tree from the in-plane parts of forces; the joints carry the rest."""
    found: list[plane.Vector | None] = [None] * len(motion.world)
    for body, r, f in zip(points.body, position, force, strict=True):
        at, push = plane.SagittalVec(r[0], r[2]), plane.SagittalVec(f[0], f[2])
        found[body] = plus(found[body], plane.wrench(motion.world[body], at, push))
    return found


def _gather(motion: Motion, points: Points) -> tuple[Array, Array, Array]:
    world = [motion.world[b] for b in points.body]
    return (
        jnp.stack([p.R for p in world]),
        jnp.stack([p.r for p in world]),
        jnp.stack([motion.twist[b] for b in points.body]),
    )


def _turn(R: Float[Array, "m 3 3"], vectors: Float[Array, "m 3"]) -> Float[Array, "m 3"]:
    return jnp.sum(R * vectors[:, None, :], axis=-1)
