"""Inverse and forward dynamics of a chain in angles and lengths, and the moments and forces of its actuators.

Inverse dynamics is regular everywhere: its formulas have no division. Forward dynamics in angles is singular if a
length vanishes, and in space also if a link is vertical (cos psi = 0: its azimuth is undefined). Prefer
the link vectors of `vectors`, without velocity terms and without the second singularity.
"""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float

from jaxgait.models.exoskeleton.formulations.elements import (
    Coordinates,
    Matrices,
    Planar,
    Spatial,
    left_hand_side,
    matrices_of,
)
from jaxgait.models.exoskeleton.formulations.tree import Chain, Real, children, increment, subtrees
from jaxgait.precision import float64_default

G = 9.81
"""Default gravity in m/s^2."""
VERTICAL_COSINE = 1e-3
"""|cos psi| below which a link counts as vertical: the condition number of the mass matrix grows as 1/cos^2."""

Q = TypeVar("Q", Planar, Spatial)


@float64_default
def matrices(chain: Chain, q: Coordinates) -> Matrices:
    """All matrices of the equations of motion at `q`: `PlanarMatrices` or `SpatialMatrices`, SI units."""
    return matrices_of(chain.W, chain.rho, q)


@float64_default
def inverse_dynamics(chain: Chain, q: Q, rate: Q, acceleration: Q, gravity: Float[Real, ""] | float = G) -> Q:
    """Generalized forces for a given motion: N m for angles, N for lengths.

    Args:
        chain: the mechanism.
        q: coordinates, rad and m.
        rate: their rates.
        acceleration: their accelerations.
        gravity: m/s^2, along -y (plane) or -z (space).
    """
    return type(q)(*left_hand_side(matrices(chain, q), rate, acceleration, gravity))


@float64_default
def mass_matrix(chain: Chain, q: Coordinates) -> Float[Array, "k k"]:
    """Symmetric mass matrix in SI units; rows in the order of the coordinates (all phi, all psi, all l)."""
    rows = zip(*matrices(chain, q).inertia, strict=True)
    return jnp.block([list(row) for row in rows])


@float64_default
def bias(chain: Chain, q: Q, rate: Q, gravity: Float[Real, ""] | float = G) -> Q:
    """Generalized forces at zero accelerations, N m for angles, N for lengths: velocity terms and gravity."""
    return inverse_dynamics(chain, q, rate, jax.tree.map(jnp.zeros_like, q), gravity)


@float64_default
def forward_dynamics(
    chain: Chain, q: Q, rate: Q, force: Q, gravity: Float[Real, ""] | float = G, *, drop_vertical: bool = False
) -> tuple[Q, Bool[Array, " n"]]:
    """Accelerations of angles and lengths under generalized forces.

    Args:
        chain: the mechanism.
        q: coordinates, rad and m.
        rate: their rates.
        force: generalized forces, N m and N.
        gravity: m/s^2.
        drop_vertical: whether to leave out the azimuths of vertical links (with zero acceleration, the least-norm
            solution) instead of raising an error.

    Returns:
        Accelerations, and which links are vertical. With vertical links and without `drop_vertical`, compiled code,
        which cannot raise, gives NaN.

    Raises:
        ValueError: for vertical links, outside compiled code and without `drop_vertical`.
    """
    vertical = vertical_links(q)
    if not drop_vertical and not isinstance(vertical, Tracer):
        require_regular(q)
    M = mass_matrix(chain, q)
    right = jnp.concatenate([f - b for f, b in zip(force, bias(chain, q, rate, gravity), strict=True)])
    out = jnp.concatenate([vertical, jnp.zeros(right.size - vertical.size, dtype=bool)])
    both = out[:, None] | out[None, :]
    solution = jnp.linalg.solve(jnp.where(both, jnp.eye(out.size, dtype=M.dtype), M), jnp.where(out, 0.0, right))
    if not drop_vertical:
        solution = jnp.where(jnp.any(vertical), jnp.nan, solution)
    return type(q)(*jnp.split(solution, len(q))), vertical


@float64_default
def vertical_links(q: Coordinates) -> Bool[Array, " n"]:
    """Links of a spatial chain (angles in rad) whose azimuth is undefined; none in the plane."""
    if isinstance(q, Planar):
        return jnp.zeros(q.phi.shape, dtype=bool)
    return jnp.abs(jnp.cos(q.psi)) < VERTICAL_COSINE


@float64_default
def require_regular(q: Coordinates) -> None:
    """Rejects configurations that forward dynamics in angles cannot handle.

    Raises:
        ValueError: naming the vertical links and the alternatives.
    """
    which = [int(i) + 1 for i in np.flatnonzero(np.asarray(vertical_links(q)))]
    if which:
        raise ValueError(
            f"links {which} are vertical (|cos psi| < {VERTICAL_COSINE:g}): their azimuth is undefined and the "
            "spherical mass matrix is singular; use the link vectors "
            "(jaxgait.models.exoskeleton.formulations.vectors), or drop_vertical=True"
        )


@float64_default
def joint_moments(chain: Chain, force: Q) -> Q:
    """The actuators behind generalized forces, summed from the leaves to the root.

    A moment acts on its link and back on the parent; axial forces act on their own link only.
    """
    branch = subtrees(chain.parent)
    return type(force)._make([*(branch.astype(f.dtype) @ f for f in force[:-1]), force[-1]])


@float64_default
def relative_rates(chain: Chain, rate: Q) -> Q:
    """Rates at which the actuators work: joint angles relative to the parent in rad/s, lengths in m/s."""
    carries = children(chain.parent)
    return type(rate)._make([*(r - carries.astype(r.dtype).T @ r for r in rate[:-1]), rate[-1]])


@float64_default
def attach(old: Matrices, chain: Chain, q: Coordinates) -> Matrices:
    """The recurrence: matrices of `chain` at `q` from those without its last link, `old`."""
    new = matrices_of(*increment(chain, chain.size), q)
    return jax.tree.map(lambda X, dX: jnp.pad(X, (0, 1)) + dX, old, new)
