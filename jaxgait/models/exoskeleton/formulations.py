"""The equations of motion in the paper's other forms: forward dynamics in angles, and the recurrence over links.

The model does without them: its forward and inverse dynamics are in the link vectors of `vectors`, and inverse
dynamics in angles (`dynamics`) has no division. Forward dynamics in angles is singular if a length vanishes, and in
space also if a link is vertical (cos psi = 0: its azimuth is undefined).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float

from jaxgait.mechanics.linalg import norm
from jaxgait.models.exoskeleton import dynamics, vectors
from jaxgait.models.exoskeleton.elements import Coordinates, Matrices, Planar, Q, Spatial, matrices_of
from jaxgait.models.exoskeleton.tree import Chain, Real, descendants
from jaxgait.models.exoskeleton.vectors import Vectors
from jaxgait.precision import float64_default

VERTICAL_COSINE = 1e-3
"""|cos psi| below which a link counts as vertical: the condition number of the mass matrix grows as 1/cos^2."""


@float64_default
def mass_matrix(chain: Chain, q: Coordinates) -> Float[Array, "k k"]:
    """Symmetric mass matrix in SI units; rows in the order of the coordinates (all phi, all psi, all l)."""
    rows = zip(*dynamics.matrices(chain, q).inertia, strict=True)
    return jnp.block([list(row) for row in rows])


@float64_default
def bias(chain: Chain, q: Q, rate: Q, gravity: Float[Real, ""] | float = dynamics.G) -> Q:
    """Generalised forces at zero accelerations, N m for angles, N for lengths: velocity terms and gravity."""
    return dynamics.inverse_dynamics(chain, q, rate, jax.tree.map(jnp.zeros_like, q), gravity)


@float64_default
def forward_dynamics(
    chain: Chain, q: Q, rate: Q, force: Q, gravity: Float[Real, ""] | float = dynamics.G, *, drop_vertical: bool = False
) -> tuple[Q, Bool[Array, " n"]]:
    """Accelerations of angles and lengths under generalised forces.

    Args:
        chain: the mechanism.
        q: coordinates, rad and m.
        rate: their rates.
        force: generalised forces, N m and N.
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
            "(jaxgait.models.exoskeleton.vectors), or drop_vertical=True"
        )


@float64_default
def coordinates(x: Vectors) -> Coordinates:
    """Angles and lengths of link vectors; the azimuth of a vertical link is arbitrary (0 if exactly vertical).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.formulations import coordinates
        >>> q = coordinates(jnp.array([[0.3, 0.4]]))
        >>> print(round(float(jnp.tan(q.phi[0])), 6), round(float(q.l[0]), 6))  # slope, m
        1.333333 0.5
    """
    l = norm(x)
    if x.shape[1] == 2:
        return Planar(jnp.arctan2(x[:, 1], x[:, 0]), l)
    return Spatial(jnp.arctan2(x[:, 1], x[:, 0]), jnp.arctan2(x[:, 2], jnp.hypot(x[:, 0], x[:, 1])), l)


@float64_default
def projected(q: Coordinates, rate: Any, acceleration: Vectors) -> Coordinates:
    """Accelerations of angles and lengths from those of the link vectors (m/s^2); singular at the vertical.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.elements import Planar
        >>> from jaxgait.models.exoskeleton.formulations import projected
        >>> q, rate = Planar(jnp.array([0.0]), jnp.array([0.5])), Planar(jnp.array([2.0]), jnp.array([0.0]))
        >>> found = projected(q, rate, jnp.array([[-2.0, 0.0]]))  # centripetal
        >>> print(abs(found.phi), abs(found.l))
        [0.] [0.]
    """
    u = vectors.directions(q)
    if isinstance(q, Planar):
        e = jnp.stack([-u[:, 1], u[:, 0]], axis=1)
        turn = (_dot(acceleration, e) - 2 * rate.l * rate.phi) / q.l
        return Planar(turn, _dot(acceleration, u) + q.l * rate.phi**2)
    e_phi, e_psi = frame(q)
    c, s = jnp.cos(q.psi), jnp.sin(q.psi)
    phi = _dot(acceleration, e_phi) - 2 * rate.l * rate.phi * c + 2 * q.l * rate.phi * rate.psi * s
    psi = _dot(acceleration, e_psi) - 2 * rate.l * rate.psi - q.l * rate.phi**2 * c * s
    l = _dot(acceleration, u) + q.l * (rate.phi**2 * c**2 + rate.psi**2)
    return Spatial(phi / (q.l * c), psi / q.l, l)


@float64_default
def frame(q: Spatial) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
    """Unit vectors e_phi (sideways) and e_psi (towards the zenith) of the links. No dimension.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.elements import Spatial
        >>> from jaxgait.models.exoskeleton.formulations import frame
        >>> sideways, zenith = frame(Spatial(jnp.zeros(1), jnp.zeros(1), jnp.ones(1)))  # of a link along x
        >>> print(sideways[0] + 0.0, zenith[0] + 0.0)
        [0. 1. 0.] [0. 0. 1.]
    """
    cp, sp, c, s = jnp.cos(q.phi), jnp.sin(q.phi), jnp.cos(q.psi), jnp.sin(q.psi)
    zero = jnp.zeros_like(cp)
    return jnp.stack([-sp, cp, zero], axis=1), jnp.stack([-s * cp, -s * sp, c], axis=1)


@float64_default
def increment(chain: Chain, number: int) -> tuple[Float[Array, "n n"], Float[Array, " n"]]:
    """Contribution of leaf `number` (from 1) to W and rho of a chain: the paper's recurrence, for trees.

    Its rank in W is at most 2. All matrices of the equations of motion are linear in W and rho, so the same formulas
    attach or remove a link from each of them.

    Examples:
        >>> from jaxgait.models.exoskeleton.formulations import increment
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> chain = Chain.from_links([RodLink(0, [3.0], [1.0]), RodLink(1, [2.0], [1.0])])
        >>> print(increment(chain, 2)[0])
        [[2. 2.]
         [2. 2.]]
    """
    i = number - 1
    theta, eta, zeta = (jnp.asarray(x)[i] for x in chain.moments)
    e = np.eye(chain.size)[i]
    v, s = (jnp.asarray(x, dtype=theta.dtype) for x in (descendants(chain.parent)[:, i], chain.sign))
    e = jnp.asarray(e, dtype=theta.dtype)
    dw = theta * jnp.outer(v, v) + eta * (jnp.outer(v, e) + jnp.outer(e, v)) + zeta * jnp.outer(e, e)
    return jnp.outer(s, s) * dw, s * (theta * v + eta * e)


@float64_default
def attach(old: Matrices, chain: Chain, q: Coordinates) -> Matrices:
    """The recurrence: matrices of `chain` at `q` from those without its last link, `old`."""
    new = matrices_of(*increment(chain, chain.size), q)
    return jax.tree.map(lambda X, dX: jnp.pad(X, (0, 1)) + dX, old, new)


def _dot(a: Vectors, b: Vectors) -> Float[Array, " n"]:
    return jnp.sum(a * b, axis=1)
