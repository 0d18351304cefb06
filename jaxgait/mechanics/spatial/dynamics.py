"""Recursive dynamics of kinematic trees: Newton-Euler, composite rigid bodies, articulated bodies.

Written once for trees in space and in the plane: `Tree.algebra` provides the operations on arrays or on scalars.
References: Featherstone (2008), tables 5.1, 6.2, 7.1 and section 9.2 (hybrid dynamics); derivatives: Carpentier and
Mansard (2018), equation 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.mechanics.spatial.tree import Motion, Topology, Tree, check_lengths, of_planar_tree, plus
from jaxgait.mechanics.spatial.vectors import real
from jaxgait.precision import float64_default


class Accelerations(NamedTuple):
    """Accelerations and forces, prescribed and computed."""

    vdot: Any
    """Rates of the velocities, (nv,); a list for a planar tree."""
    tau: Any
    """Generalised forces of the joints, (nv,); a list for a planar tree."""
    bodies: list[Any]
    """Spatial acceleration (6,) of each body (without gravity), in body axes."""


@float64_default
def inverse_dynamics(tree: Topology, motion: Motion, vdot: Any, wrenches: Any = None, gravity: Any = 9.81) -> Any:
    """Joint forces that produce given accelerations (recursive Newton-Euler).

    Args:
        tree: the bodies.
        motion: from `kinematics`.
        vdot: rates of the velocities, (nv,); for a planar tree any sequence of scalars.
        wrenches: external wrenches (n, 6) on the bodies at their origins, in body axes (see `point_wrenches`); of a
            planar tree a sequence of `plane.Vector` or None.
        gravity: m/s^2, along -z of the world; or the acceleration of free fall (3,) in its axes.

    Returns:
        Generalised forces, (nv,) in the order of the velocities: N m for rotations, N for translations; for a free
        joint the wrench on its body in the body's axes, moment first.

    Raises:
        ValueError: for another number of rates.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge, inverse_dynamics, kinematics
        >>> link = Link("arm", None, hinge((0, 1, 0)), mass=3.0, com=(0.5, 0.0, 0.0))  # level, to the front
        >>> arm = Tree.build(link).in_plane()
        >>> motion = kinematics(arm, [0.0], [0.0])
        >>> print(f"{inverse_dynamics(arm, motion, [0.0], gravity=10.0)[0]:.1f}")  # N m, to carry 30 N at 0.5 m
        -15.0
    """
    passed = joint_wrenches(tree, motion, vdot, wrenches, gravity)
    tau = tree.algebra.joined([tree.algebra.components(S, f) for S, f in zip(motion.S, passed, strict=True)])
    return tau if (rotors := tree.rotors()) is None else tree.algebra.with_rotors(tau, rotors, vdot, (True,) * tree.nv)


@float64_default
def joint_wrenches(tree: Topology, motion: Motion, vdot: Any, wrenches: Any = None, gravity: Any = 9.81) -> list[Any]:
    """Wrench (6,) in N m and N that each body's parent exerts on it, at the body's origin and in its axes.

    It includes the actuator's part (the result of `inverse_dynamics`, whose arguments it has) and that of the bearings.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, fixed, joint_wrenches, kinematics
        >>> legs, trunk = Link("legs", None, fixed(), mass=30.0), Link("trunk", "legs", fixed(), mass=40.0)
        >>> man = Tree.build(legs, trunk).in_plane()
        >>> ground, hips = joint_wrenches(man, kinematics(man, [], []), [], gravity=10.0)
        >>> print(ground.z, hips.z)  # N: the weight of man and trunk
        700.0 400.0
    """
    check_lengths(tree.nv, vdot=vdot)
    accelerations = _outward_accelerations(tree, motion, vdot, gravity)
    inertias = tree.inertias()
    force = [f + inertias[i] @ accelerations[i] for i, f in enumerate(_body_forces(tree, motion, inertias, wrenches))]
    for i in reversed(range(len(force))):
        if tree.parents[i] >= 0:
            force[tree.parents[i]] = force[tree.parents[i]] + motion.local[i].force_to_parent(force[i])
    return force


@float64_default
def mass_matrix(tree: Tree, motion: Motion) -> Float[Array, "nv nv"]:
    """Joint-space mass matrix by composite rigid bodies, from the positions in `motion`.

    The block of a free base is its composite inertia in the base's axes (kg m^2, kg m, kg).

    Raises:
        TypeError: for a planar tree.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge, kinematics, mass_matrix
        >>> about_centre = np.diag([0.25, 0.25, 0.0])  # of a rod of 3 kg and 1 m
        >>> rod = Tree.build(Link("rod", None, hinge((0, 1, 0)), mass=3.0, com=(0.0, 0.0, -0.5), inertia=about_centre))
        >>> print(jax.jit(lambda q: mass_matrix(rod, kinematics(rod, q, q)))(jnp.zeros(1)))  # about its end: m l^2 / 3
        [[1.]]
    """
    if of_planar_tree(motion):
        raise TypeError("mass_matrix needs the motion of a Tree in space, got that of a PlanarTree (Tree.in_plane)")
    composite = tree.inertias()
    for i in reversed(range(len(composite))):
        p = tree.parents[i]
        if p >= 0:
            composite[p] = composite[p] + motion.local[i].inertia_to_parent(composite[i])
    rows = tree.v_slices
    M = jnp.zeros((tree.nv, tree.nv), dtype=composite[0].dtype)
    for i, inertia in enumerate(composite):
        F = inertia @ motion.S[i]
        M = M.at[rows[i], rows[i]].set(motion.S[i].T @ F)
        j = i
        while tree.parents[j] >= 0:
            F = motion.local[j].matrix().T @ F
            j = tree.parents[j]
            block = motion.S[j].T @ F
            M = M.at[rows[j], rows[i]].set(block).at[rows[i], rows[j]].set(block.T)
    return M if (rotors := tree.rotors()) is None else M + jnp.diag(rotors)


@float64_default
def forward_dynamics(tree: Topology, motion: Motion, tau: Any, wrenches: Any = None, gravity: Any = 9.81) -> Any:
    """Rates of the velocities under given joint forces (articulated bodies); arguments as in `inverse_dynamics`.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.mechanics.spatial import Link, Tree, forward_dynamics, hinge, kinematics
        >>> about_centre = np.diag([0.0, 0.25, 0.25])  # of a rod of 3 kg and 1 m
        >>> link = Link("rod", None, hinge((0, 1, 0)), mass=3.0, com=(0.5, 0.0, 0.0), inertia=about_centre)
        >>> rod = Tree.build(link).in_plane()
        >>> level = kinematics(rod, [0.0], [0.0])
        >>> print(f"{forward_dynamics(rod, level, [0.0], gravity=10.0)[0]:.1f}")  # rad/s^2: 3 g / 2 l
        15.0
    """
    return hybrid_dynamics(tree, motion, tau, tau, (False,) * tree.nv, wrenches, gravity).vdot


@float64_default
def hybrid_dynamics(
    tree: Topology,
    motion: Motion,
    vdot: Any,
    tau: Any,
    prescribed: Sequence[bool],
    wrenches: Any = None,
    gravity: Any = 9.81,
) -> Accelerations:
    """Accelerations and forces where some velocities follow given rates, the others given forces (O(N)).

    Args:
        tree: the bodies.
        motion: from `kinematics`.
        vdot: rates of the velocities, read where `prescribed`; for a planar tree any sequence of scalars.
        tau: generalised forces, read elsewhere, likewise.
        prescribed: one flag per velocity.
        wrenches: see `inverse_dynamics`.
        gravity: see `inverse_dynamics`.

    Raises:
        ValueError: for another number of rates, forces or flags.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, hybrid_dynamics, kinematics, prismatic
        >>> cart = Link("cart", None, prismatic((1, 0, 0)), mass=2.0)
        >>> tree = Tree.build(cart, Link("load", "cart", prismatic((0, 0, 1)), mass=1.0)).in_plane()
        >>> motion = kinematics(tree, [0.0, 0.0], [0.0, 0.0])
        >>> found = hybrid_dynamics(tree, motion, [4.0, 0.0], [0.0, 0.0], (True, False), gravity=10.0)
        >>> print(f"{found.tau[0]:.0f} N, {found.vdot[1]:.0f} m/s^2")  # pushed and falling
        12 N, -10 m/s^2
    """
    check_lengths(tree.nv, vdot=vdot, tau=tau, prescribed=prescribed)
    form = list if of_planar_tree(motion) else jnp.asarray
    vdot, tau = (jax.tree.map(real, form(x)) for x in (vdot, tau))
    return _hybrid_dynamics(tree, motion, vdot, tau, tuple(map(bool, prescribed)), wrenches, gravity)


@eqx.filter_custom_jvp
def _hybrid_dynamics(
    tree: Topology, motion: Motion, vdot: Any, tau: Any, prescribed: tuple[bool, ...], wrenches: Any, gravity: Any
) -> Accelerations:
    algebra, flags = tree.algebra, np.asarray(prescribed, dtype=bool)
    joints = zip(motion.S, motion.bias, tree.v_slices, strict=True)
    sections = [algebra.Section.split(S, bias, rows, vdot, tau, flags) for S, bias, rows in joints]
    if (rotors := tree.rotors()) is not None:
        sections = [one._replace(rotors=rotors[np.asarray(one.free, dtype=int)]) for one in sections]
    inertia = tree.inertias()
    force = _body_forces(tree, motion, inertia, wrenches)
    for i in reversed(range(len(sections))):
        sections[i] = section = sections[i].articulate(inertia[i], force[i])
        p = tree.parents[i]
        if p >= 0:
            through, left = section.seen_from_parent(inertia[i], force[i])
            inertia[p] = inertia[p] + motion.local[i].inertia_to_parent(through)
            force[p] = force[p] + motion.local[i].force_to_parent(left)

    accelerations, rates, forces = [], [], []
    for i, section in enumerate(sections):
        a, free_vdot = section.accelerate(_of_parent(tree, motion, i, accelerations, gravity))
        accelerations.append(a)
        rates.append(free_vdot)
        forces.append(algebra.components(section.S_driven, inertia[i] @ a + force[i]))
    vdot = algebra.put(vdot, [section.free for section in sections], rates)
    tau = algebra.put(tau, [section.driven for section in sections], forces)
    if rotors is not None:
        tau = algebra.with_rotors(tau, rotors, vdot, flags)
    bodies = [a - algebra.upward(motion.world[i], gravity) for i, a in enumerate(accelerations)]
    return Accelerations(vdot, tau, bodies)


@_hybrid_dynamics.def_jvp
def _(primals: Any, tangents: Any) -> tuple[Accelerations, Accelerations]:
    """Derivative of ``M vdot + ... = tau``: the tree at rest responds to the residual of inverse dynamics.

    Inverse dynamics has fewer operations than forward dynamics, and so have its derivatives.
    """
    tree, motion, _, _, prescribed, wrenches, gravity = primals
    d_tree, d_motion, d_vdot, d_tau, _, d_wrenches, d_gravity = tangents
    found, only = _hybrid_dynamics(*primals), tree.algebra.only

    def required(tree: Topology, motion: Motion, vdot: Any, wrenches: Any, gravity: Any) -> tuple[Any, list[Any]]:
        return inverse_dynamics(tree, motion, vdot, wrenches, gravity), _outward_accelerations(tree, motion, vdot, 0.0)

    d_known = only(prescribed, _filled(d_vdot, found.vdot))
    directions = d_tree, d_motion, d_known, d_wrenches, d_gravity
    d_required, d_bodies = _derivative(required, (tree, motion, found.vdot, wrenches, gravity), directions)
    d_tau = _filled(d_tau, found.tau)
    lacking = jax.tree.map(jnp.subtract, d_tau, d_required)
    unmoved, none = [None] * len(motion.twist), jax.tree.map(jnp.zeros_like, found.vdot)
    at_rest = motion._replace(twist=unmoved, bias=unmoved)
    change = _hybrid_dynamics(tree, at_rest, none, lacking, prescribed, None, 0.0)
    d_given = only([not known for known in prescribed], d_tau)
    d_computed = only(prescribed, jax.tree.map(jnp.add, d_required, change.tau))
    parts = Accelerations(d_known, d_given, d_bodies), Accelerations(change.vdot, d_computed, change.bodies)
    return found, jax.tree.map(lambda x, a, b: (a + b).astype(x.dtype), found, *parts)


def _filled(tangent: Any, primal: Any) -> Any:
    """A tangent in the precision of the primal, with zeros instead of None."""
    return jax.tree.map(lambda x, t: jnp.zeros_like(x) if t is None else t.astype(x.dtype), primal, tangent)


def _derivative(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """Derivative of a function along tangents, in which None is zero."""
    moves = jax.tree.map(lambda t: t is not None, tangents, is_leaf=lambda t: t is None)
    moving, still = eqx.partition(primals, moves)
    numbers, structure = jax.tree.flatten(moving)
    along = lambda *numbers: f(*eqx.combine(structure.unflatten(numbers), still))
    return jax.jvp(along, numbers, jax.tree.leaves(tangents))[1]


def _of_parent(tree: Topology, motion: Motion, i: int, known: list[Any], gravity: Any) -> Any:
    """Acceleration of body i's parent in the axes of body i, in a frame that accelerates against `gravity`."""
    p = tree.parents[i]
    return tree.algebra.upward(motion.world[i], gravity) if p < 0 else motion.local[i].motion_to_child(known[p])


def _outward_accelerations(tree: Topology, motion: Motion, vdot: Any, gravity: Any) -> list[Any]:
    """Spatial accelerations of the bodies in a frame that accelerates against `gravity`."""
    known: list[Any] = []
    for i, rows in enumerate(tree.v_slices):
        own = plus(motion.bias[i], tree.algebra.along(motion.S[i], vdot[rows]))
        known.append(plus(_of_parent(tree, motion, i, known, gravity), own))
    return known


def _body_forces(tree: Topology, motion: Motion, inertias: Sequence[Any], wrenches: Any) -> list[Any]:
    """Gyroscopic less external wrench on each body."""
    cross_force, still = tree.algebra.cross_force, tree.algebra.still
    moving = zip(motion.twist, inertias, strict=True)
    forces = [still() if twist is None else cross_force(twist, inertia @ twist) for twist, inertia in moving]
    if wrenches is None:
        return forces
    return [f if w is None else f - w for f, w in zip(forces, wrenches, strict=True)]
