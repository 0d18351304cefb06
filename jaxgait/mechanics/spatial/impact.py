r"""Impacts without bounce: the velocities of a tree after some of its points have landed.

The joint forces and the weight do nothing in an impact, whose duration is zero; with the mass matrix $M$ and the
Jacobian $J$ of the points, in the directions in which they stop,

    M (v+ - v-) = J^T p,    J v+ = 0.

Reference: R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, section 11.7; E. R. Westervelt et al.,
Feedback Control of Dynamic Bipedal Robot Locomotion, CRC Press 2007, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from jaxgait.mechanics.spatial.dynamics import mass_matrix
from jaxgait.mechanics.spatial.points import Points, point_motion
from jaxgait.mechanics.spatial.tree import Tree, check_lengths, kinematics
from jaxgait.mechanics.spatial.vectors import real
from jaxgait.precision import float64_default


class Impact(NamedTuple):
    """Velocities after an impact, and its impulses."""

    v: Float[Array, " nv"]
    """Velocities of all joints after the impact."""
    impulse: Float[Array, "m 3"]
    """Impulses of the ground on the points in N s, in world axes; the smallest, where several give the same motion (two
    points of one rigid foot)."""


@float64_default
def plastic_impact(
    tree: Tree,
    q: Real[ArrayLike, " nq"],
    v: Real[ArrayLike, " nv"],
    points: Points,
    sticking: bool = True,
    prescribed: Sequence[bool] = (),
) -> Impact:
    """Velocities after points of bodies have hit the ground, and do not bounce.

    The impulses are those of a ground that holds the points: it also pulls, so check that the normal ones are positive.
    Directions whose mobility is less than 2e-12 (in float32 6e-6) of the largest count as immobile.

    Args:
        tree: the bodies.
        q: coordinates (nq,) in m and rad.
        v: velocities (nv,) before the impact in m/s and rad/s.
        points: those that land, at the same time.
        sticking: whether they stop in all directions; otherwise the ground is free of friction, and only stops their
            motion along z.
        prescribed: one flag per velocity that the impact cannot change, such as that of a motor; by default none.

    Raises:
        ValueError: for another number of coordinates, velocities or flags.

    Examples:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait.mechanics.spatial import Link, Points, Tree, planar, plastic_impact
        >>> about_centre = np.diag([1.0, 1.0, 0.0]) / 12  # kg m^2, of a rod of 1 kg and 1 m
        >>> rod = Tree.build(Link("rod", None, planar(), mass=1.0, inertia=about_centre))
        >>> end = Points((0,), jnp.array([[0.5, 0.0, 0.0]]))
        >>> falling = plastic_impact(rod, jnp.zeros(3), jnp.array([0.0, -2.0, 0.0]), end)  # level, at 2 m/s
        >>> print(falling.v.round(6), falling.impulse.round(6))  # m/s, m/s, rad/s: turns about its end; N s
        [ 0.  -1.5 -3. ] [[0.  0.  0.5]]
    """
    check_lengths(tree.nv, **({"prescribed": prescribed} if len(prescribed) else {}))
    v = real(v)
    free = np.flatnonzero(~np.asarray(prescribed, dtype=bool)) if len(prescribed) else np.arange(tree.nv)
    axes = slice(0 if sticking else 2, 3)
    velocities = lambda v: point_motion(kinematics(tree, q, v), points)[1]
    before = velocities(v)[:, axes]
    columns = jax.vmap(velocities)(jnp.eye(tree.nv, dtype=before.dtype)[free])  # velocities are linear in v
    J = columns[:, :, axes].reshape(free.size, before.size).T
    M = mass_matrix(tree, kinematics(tree, q, v))[jnp.ix_(free, free)]
    response = jnp.linalg.solve(M, J.T)
    # Directions in which no point can move have no impulse: those across the plane of a planar mechanism.
    rank = float(np.finfo(M.dtype).eps) ** 0.75
    p = -jnp.linalg.pinv(J @ response, rtol=rank, hermitian=True) @ before.ravel()
    impulse = jnp.zeros((len(points.body), 3), dtype=p.dtype).at[:, axes].set(p.reshape(before.shape))
    return Impact(v.at[free].add(response @ p), impulse)
