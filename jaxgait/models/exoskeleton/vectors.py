"""The chain in link vectors x_i = l_i u_i: no velocity terms, a constant matrix, no singularity at the vertical.

    sum_j W_ij x_j'' + g rho_i z = f_i ,      f_i = F_i u_i + (N_i x u_i) / l_i

with the axial force F_i along link i and the net moment vector N_i on it (orthogonal to u_i; in the plane the number
Q_phi,i). `factorise` factorises W once; every evaluation is two triangular solves.

Arrays have the shape (n, d): n links, d = 2 (x forward, y up) or 3 (x forward, y left, z up).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.mechanics.linalg import norm
from jaxgait.models.exoskeleton.elements import Coordinates, Planar, Q
from jaxgait.models.exoskeleton.tree import Chain, Real, descendants, subtrees
from jaxgait.precision import float64_default

Vectors = Float[Real, "n d"]


class Factor(NamedTuple):
    """The constants of forward dynamics: the Cholesky factor of W, and rho in kg."""

    lower: Float[Array, "n n"]
    rho: Float[Array, " n"]


@float64_default
def factorise(chain: Chain) -> Factor:
    """Factorises W for all evaluations.

    Examples:
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import factorise
        >>> print(factorise(Chain.from_links([RodLink(0, [4.0], [1.0])])).lower)
        [[2.]]
    """
    return Factor(jnp.linalg.cholesky(chain.W), chain.rho)


@float64_default
def accelerations(factor: Factor, force: Vectors, gravity: Float[Real, ""] | float) -> Float[Array, "n d"]:
    """Accelerations (n, d) of the link vectors in m/s^2 under the forces f (n, d) in N.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import accelerations, factorise
        >>> factor = factorise(Chain.from_links([RodLink(0, [2.0], [1.0])]))
        >>> print(accelerations(factor, jnp.array([[6.0, 0.0]]), 9.81).round(6))  # m/s^2, of 2 kg under 6 N
        [[ 3.   -9.81]]
    """
    right = force - gravity * factor.rho[:, None] * up(force.shape[1], force.dtype)
    return jax.scipy.linalg.cho_solve((factor.lower, True), right)


@float64_default
def forces(chain: Chain, acceleration: Vectors, gravity: Float[Real, ""] | float) -> Float[Array, "n d"]:
    """Forces f (n, d) in N that produce the accelerations of the link vectors: inverse dynamics.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import forces
        >>> print(forces(Chain.from_links([RodLink(0, [2.0], [1.0])]), jnp.zeros((1, 2)), 10.0))  # N
        [[ 0. 20.]]
    """
    d = acceleration.shape[1]
    return chain.W @ acceleration + gravity * chain.rho[:, None] * up(d, acceleration.dtype)


@float64_default
def up(d: int, dtype: Any = float) -> Float[Array, "1 d"]:
    """Unit vector against gravity: the last axis. No dimension.

    Examples:
        >>> from jaxgait.models.exoskeleton.vectors import up
        >>> print(up(3))
        [[0. 0. 1.]]
    """
    return jnp.asarray(np.eye(d)[-1:], dtype=dtype)


@float64_default
def directions(q: Coordinates) -> Float[Array, "n d"]:
    """Unit vectors u_i of the links. No dimension.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.elements import Planar
        >>> from jaxgait.models.exoskeleton.vectors import directions
        >>> print(directions(Planar(jnp.array([jnp.pi / 2]), jnp.array([0.4]))).round(6))  # upright
        [[0. 1.]]
    """
    if isinstance(q, Planar):
        return jnp.stack([jnp.cos(q.phi), jnp.sin(q.phi)], axis=1)
    c = jnp.cos(q.psi)
    return jnp.stack([c * jnp.cos(q.phi), c * jnp.sin(q.phi), jnp.sin(q.psi)], axis=1)


@float64_default
def link_vectors(q: Coordinates) -> Float[Array, "n d"]:
    """Link vectors x_i = l_i u_i in m.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.elements import Planar
        >>> from jaxgait.models.exoskeleton.vectors import link_vectors
        >>> print(link_vectors(Planar(jnp.array([jnp.pi / 2]), jnp.array([0.4]))).round(6))  # m
        [[0.  0.4]]
    """
    return q.l[:, None] * directions(q)


@float64_default
def generalised(q: Q, force: Vectors) -> Q:
    """The forces on angles and lengths, N m and N, of forces f (n, d) in N on the link vectors: `(dx/dq)^T f`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.elements import Planar
        >>> from jaxgait.models.exoskeleton.vectors import generalised
        >>> level = Planar(jnp.array([0.0]), jnp.array([0.5]))
        >>> print(*generalised(level, jnp.array([[3.0, 20.0]])))  # N m and N, of 20 N across a link of 0.5 m
        [10.] [3.]
    """
    return jax.vjp(link_vectors, q)[1](force)[0]


@float64_default
def motion(q: Q, rate: Q, acceleration: Q) -> tuple[Array, Array, Array]:
    """Link vectors, their rates and accelerations (m, m/s, m/s^2) from those of angles and lengths.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.elements import Planar
        >>> from jaxgait.models.exoskeleton.vectors import motion
        >>> q, rate = Planar(jnp.array([0.0]), jnp.array([0.5])), Planar(jnp.array([2.0]), jnp.array([0.0]))
        >>> x, v, a = motion(q, rate, Planar(jnp.array([0.0]), jnp.array([0.0])))  # 2 rad/s at 0.5 m
        >>> print(v.round(6), a.round(6))  # m/s, m/s^2
        [[0. 1.]] [[-2.  0.]]
    """

    def velocity(q: Q, rate: Q) -> tuple[Array, Array]:
        return jax.jvp(link_vectors, (q,), (rate,))

    (x, v), (_, a) = jax.jvp(velocity, (q, rate), (rate, acceleration))
    return x, v, a


@float64_default
def link_forces(x: Vectors, moment: Float[Real, "*m"], axial: Float[Real, " n"]) -> Float[Array, "n d"]:
    """Forces f (n, d) in N of the actuators.

    Args:
        x: link vectors in m.
        moment: net moment on each link in N m, (n,) in the plane, (n, 3) in space (without effect along the link).
        axial: axial force of each link in N, positive where it pushes the ends apart.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.vectors import link_forces
        >>> upright = jnp.array([[0.0, 0.5]])
        >>> print(link_forces(upright, moment=jnp.array([10.0]), axial=jnp.array([300.0])))  # N
        [[-20. 300.]]
    """
    l = norm(x)[:, None]
    u = x / l
    across = jnp.cross(moment, u) if x.shape[1] == 3 else moment[:, None] * jnp.stack([-u[:, 1], u[:, 0]], axis=1)
    return axial[:, None] * u + across / l


@float64_default
def actuation(x: Vectors, force: Vectors) -> tuple[Array, Float[Array, " n"]]:
    """Net moments (N m; (n,) or (n, 3)) and axial forces (N) behind the forces f: the inverse of `link_forces`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.vectors import actuation
        >>> moment, axial = actuation(jnp.array([[0.0, 0.5]]), jnp.array([[-20.0, 300.0]]))
        >>> print(moment, axial)  # N m, N
        [10.] [300.]
    """
    return _cross(x, force), jnp.sum(x * force, axis=1) / norm(x)


@float64_default
def joint_torques(chain: Chain, moment: Array) -> Array:
    """Joint moments tau in N m, (n,) or (n, 3), transmitted by the proximal joint of each link.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import joint_torques
        >>> chain = Chain.from_links([RodLink(0, [3.0], [1.0]), RodLink(1, [2.0], [1.0])])
        >>> print(joint_torques(chain, jnp.array([10.0, 4.0])))  # N m
        [14.  4.]
    """
    return jnp.tensordot(subtrees(chain.parent).astype(moment.dtype), moment, axes=1)


@float64_default
def ground_reaction(chain: Chain, acceleration: Vectors, gravity: Float[Real, ""] | float) -> Float[Array, " d"]:
    """Force of the ground on the mechanism in N.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import ground_reaction
        >>> chain = Chain.from_links([RodLink(0, [3.0], [1.0]), RodLink(1, [2.0], [1.0])])
        >>> print(ground_reaction(chain, jnp.zeros((2, 2)), 10.0))  # N, at rest
        [ 0. 50.]
    """
    weight = chain.total_mass * gravity * up(acceleration.shape[1], acceleration.dtype)[0]
    return chain.rho @ acceleration + weight


@float64_default
def joints(chain: Chain, x: Vectors) -> Float[Array, "n 2 d"]:
    """Proximal and far ends of the links in m, from the ground joint.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import joints
        >>> chain = Chain.from_links([RodLink(0, [3.0], [1.0]), RodLink(1, [2.0], [1.0])])
        >>> print(joints(chain, jnp.array([[0.0, 0.4], [0.0, 0.5]]))[:, 1])  # m: knee and hip
        [[0.  0.4]
         [0.  0.9]]
    """
    s = jnp.asarray(chain.sign, dtype=x.dtype)[:, None]
    above = descendants(chain.parent).T.astype(x.dtype)
    start = above @ (s * x)
    return jnp.stack([start, start + s * x], axis=1)


@float64_default
def mass_positions(chain: Chain, x: Vectors) -> Float[Array, "n b d"]:
    """Positions of all point masses in m.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import mass_positions
        >>> rod = Chain.from_links([RodLink(0, [1.0, 2.0], [0.5, 1.0])])
        >>> print(mass_positions(rod, jnp.array([[0.0, 0.8]]))[0])  # m
        [[0.  0.4]
         [0.  0.8]]
    """
    ends = joints(chain, x)
    return ends[:, :1] + jnp.asarray(chain.fractions)[:, :, None] * (ends[:, 1:] - ends[:, :1])


@float64_default
def energies(
    chain: Chain, x: Vectors, v: Vectors, gravity: Float[Real, ""] | float
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Kinetic and potential energy in J (zero at the height of the ground joint).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import energies
        >>> pendulum = Chain.from_links([RodLink(0, [2.0], [1.0])])
        >>> found = energies(pendulum, jnp.array([[0.0, 0.5]]), jnp.array([[3.0, 0.0]]), 10.0)
        >>> print(*map(float, found))  # J
        9.0 10.0
    """
    kinetic = 0.5 * jnp.sum(v * (chain.W @ v))
    return kinetic, gravity * chain.rho @ x[:, -1]


@float64_default
def centre_of_mass(chain: Chain, x: Vectors) -> Float[Array, " d"]:
    """Centre of mass in m from the ground joint; from rates of the link vectors, its velocity in m/s.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import centre_of_mass
        >>> rod = Chain.from_links([RodLink(0, [1.0, 1.0], [0.0, 1.0])])
        >>> print(centre_of_mass(rod, jnp.array([[0.0, 0.8]])))  # m
        [0.  0.4]
    """
    return jnp.tensordot(jnp.asarray(chain.masses), mass_positions(chain, x)) / chain.total_mass


@float64_default
def angular_momentum(chain: Chain, x: Vectors, v: Vectors) -> Array:
    """Angular momentum about the centre of mass in kg m^2/s: a number in the plane, (3,) in space.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> from jaxgait.models.exoskeleton.vectors import angular_momentum
        >>> rod = Chain.from_links([RodLink(0, [1.0, 1.0], [0.0, 1.0])])
        >>> x, v = jnp.array([[1.0, 0.0]]), jnp.array([[0.0, 2.0]])  # turning at 2 rad/s
        >>> print(float(angular_momentum(rod, x, v)))  # kg m^2/s
        1.0
    """
    arm, velocity = (mass_positions(chain, z) - centre_of_mass(chain, z)[None, None] for z in (x, v))
    return jnp.tensordot(jnp.asarray(chain.masses), _cross(arm, velocity))


@float64_default
def centre_of_pressure(reaction: Float[Array, " d"], moment: Array) -> Float[Array, " d-1"]:
    """Point of the ground about which the reaction has no horizontal moment, in m from the ground joint.

    Args:
        reaction: ground reaction in N.
        moment: moment about the ground joint in N m: a number in the plane, (3,) in space.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.exoskeleton.vectors import centre_of_pressure
        >>> print(centre_of_pressure(jnp.array([0.0, 500.0]), jnp.asarray(25.0)))  # m
        [0.05]
    """
    lever = jnp.stack([-moment[1], moment[0]]) if reaction.size == 3 else moment[None]
    return lever / reaction[-1]


def _cross(a: Array, b: Array) -> Array:
    """Cross product of rows: a number in the plane (not in JAX 0.12 and NumPy 2.5), a vector in space."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0] if a.shape[-1] == 2 else jnp.cross(a, b)
