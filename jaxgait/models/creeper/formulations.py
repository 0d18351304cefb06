"""Spatial operator algebra of serial chains: the operators E, phi, H, M, P, D, G and their recursions.

Bodies are numbered from the tip, 1 (index 0), to the base, n. Spatial vectors are (6,), the angular part first, in
inertial axes, each at its body's reference point O_k; accelerations are time derivatives of these components. Joint
quantities (velocities, their rates, tau, the mass matrix) are ordered as in the tree, base first, the six entries of a
free base along its own axes:

    V = phi* H* v            alpha = phi* (H* v' + a)            f = phi (M alpha + b - f_ext)            tau = H f
    mass matrix  H phi M phi* H*,      phi = (I - E)^-1 = I + E + ... + E^(n-1)

f_k is the wrench of body k + 1 (for the base, of the environment) on body k. `inverse_dynamics` and `forward_dynamics`
are O(n) recursions; the functions that return (6n, 6n) matrices are the global forms, for study and checks.

References: Rodriguez, Jain, Kreutz-Delgado, J. Astronaut. Sci. 40 (1992) 27; Zhao et al. 2010 (see `creeper.model`),
eqs. (7)-(19), whose misprints are corrected here.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float, Int

from jaxgait.mechanics.spatial.space import inverse_spd
from jaxgait.mechanics.spatial.tree import Motion, Tree
from jaxgait.mechanics.spatial.vectors import Mat6, Vec3, Vec6, cross, skew
from jaxgait.precision import float64_default

Wrenches = Float[Array, "n 6"]
Global = Float[Array, "m m"]


@float64_default
class Operators(eqx.Module):
    """The operators of a chain at one instant; bodies from the tip to the base."""

    l: Float[Array, "n 3"]
    """Vector in m from O_{k+1} to O_k; zero for the base."""
    H: Float[Array, "n d 6"]
    """Joint maps as rows, padded with zeros to the width d of the widest joint."""
    M: Float[Array, "n 6 6"]
    """Spatial inertias."""
    V: Float[Array, "n 6"]
    """Velocities."""
    a: Float[Array, "n 6"]
    """Velocity-dependent accelerations (Coriolis, centripetal, turning joint axes)."""
    b: Float[Array, "n 6"]
    """Gyroscopic wrenches."""
    R: Float[Array, "n 3 3"]
    """Rotations from body components to inertial components."""
    sizes: tuple[int, ...] = eqx.field(static=True)
    """Degrees of freedom of each joint."""

    def split(self, v: Float[Array, " nv"]) -> Float[Array, "n d"]:
        """A joint-space vector in the order of the tree (base first), as padded rows from the tip to the base."""
        width = self.H.shape[1]
        ends = np.cumsum(self.sizes[::-1])[::-1]
        rows = [jnp.pad(v[e - s : e], (0, width - s)) for s, e in zip(self.sizes, ends, strict=True)]
        return jnp.stack(rows)

    def join(self, rows: Float[Array, "n d"]) -> Float[Array, " nv"]:
        """The inverse of `split`."""
        return jnp.concatenate([row[:s] for row, s in zip(rows[::-1], self.sizes[::-1], strict=True)])

    @property
    def base_first(self) -> Int[np.ndarray, " nv"]:
        """Index of each joint velocity of the tree (base first) among the rows of `H` (tip first)."""
        starts = np.cumsum((0, *self.sizes[:-1]))
        return np.concatenate([np.arange(a, a + s) for a, s in zip(starts[::-1], self.sizes[::-1], strict=True)])

    @property
    def padding(self) -> Float[Array, "n d d"]:
        """Ones on the diagonal at padded degrees of freedom, which keep D regular."""
        width = self.H.shape[1]
        pad = [np.diag((np.arange(width) >= s).astype(float)) for s in self.sizes]
        return jnp.asarray(np.stack(pad), dtype=self.H.dtype)


@float64_default
def operators(tree: Tree, motion: Motion) -> Operators:
    """The operators of a serial chain from its kinematics.

    Args:
        tree: a chain, base first (each body's parent is the one before it).
        motion: from `jaxgait.mechanics.spatial.kinematics`.

    Raises:
        ValueError: for a tree with branches.
    """
    if tree.parents != tuple(range(-1, len(tree.parents) - 1)):
        raise ValueError(f"a serial chain is needed, got bodies with the parents {tree.parents}")
    width = max(joint.nv for joint in tree.joints)
    R = jnp.stack([pose.R for pose in motion.world])
    turn = jax.vmap(lambda R: block_diag(R, R))(R)
    columns = jnp.stack([jnp.pad(S, ((0, 0), (0, width - S.shape[1]))) for S in motion.S])
    V = jnp.einsum("nij,nj->ni", turn, jnp.stack(motion.twist))
    M = turn @ jnp.stack(tree.inertias()) @ jnp.swapaxes(turn, 1, 2)
    r = jnp.stack([pose.r for pose in motion.world])
    l = jnp.diff(r, axis=0, prepend=r[:1])
    # The tree's bias is a derivative in body axes; `swirl` makes it one in inertial axes.
    swirl = jax.vmap(lambda V: cross(V[:3], V[3:]))(V)
    a = jnp.einsum("nij,nj->ni", turn, jnp.stack(motion.bias))
    a = a.at[:, 3:].add(jnp.diff(swirl, axis=0, prepend=jnp.zeros_like(swirl[:1])))
    H = jnp.swapaxes(turn @ columns, 1, 2)
    flip = slice(None, None, -1)
    sizes = tuple(joint.nv for joint in tree.joints)[::-1]
    b = jax.vmap(gyroscopic)(M, V)
    return Operators(l[flip], H[flip], M[flip], V[flip], a[flip], b[flip], R[flip], sizes)


@float64_default
def rigid_shift(l: Vec3) -> Mat6:
    """phi(k+1, k): takes a wrench from O_k to O_{k+1}; its transpose takes a velocity outward. Eq. (7)."""
    eye = jnp.eye(3, dtype=l.dtype)
    return jnp.block([[eye, skew(l)], [jnp.zeros_like(eye), eye]])


@float64_default
def gyroscopic(M: Mat6, V: Vec6) -> Vec6:
    """Wrench b of a turning body, eq. (12) for inertial derivatives: [w x J w; m w x (w x p)]."""
    w = V[:3]
    turning = jnp.concatenate([w, jnp.zeros_like(w)])
    momentum = M @ turning
    return jnp.concatenate([cross(w, momentum[:3]), cross(w, momentum[3:])])


class Inverse(NamedTuple):
    """Result of `inverse_dynamics`."""

    tau: Float[Array, " nv"]
    """Generalised forces, base first; for a free base the external wrench."""
    f: Float[Array, "n 6"]
    """Wrench of body k + 1 on body k, tip first."""
    alpha: Float[Array, "n 6"]
    """Accelerations, tip first."""


@float64_default
def inverse_dynamics(ops: Operators, vdot: Float[Array, " nv"], f_ext: Wrenches, f_tip: Vec6 | None = None) -> Inverse:
    """Forces that produce given accelerations, by one outward and one inward pass. Eqs. (14), (15).

    Args:
        ops: the chain.
        vdot: rates of the joint velocities, base first.
        f_ext: external wrenches on the bodies, tip first, in inertial axes at O_k.
        f_tip: wrench of the tip on its surroundings, at O_1; none by default.
    """
    driven = jnp.einsum("ndi,nd->ni", ops.H, ops.split(vdot)) + ops.a

    def outward(alpha: Vec6, body: tuple[Vec3, Vec6]) -> tuple[Vec6, Vec6]:
        l, own = body
        alpha = rigid_shift(l).T @ alpha + own
        return alpha, alpha

    zero = jnp.zeros(6, dtype=ops.a.dtype)
    _, alpha = jax.lax.scan(outward, zero, (ops.l, driven), reverse=True)
    needed = jnp.einsum("nij,nj->ni", ops.M, alpha) + ops.b - f_ext

    def inward(f: Vec6, body: tuple[Vec3, Vec6]) -> tuple[Vec6, Vec6]:
        l, own = body
        return rigid_shift(l) @ (f + own), f + own

    _, f = jax.lax.scan(inward, zero if f_tip is None else f_tip, (ops.l, needed))
    return Inverse(ops.join(jnp.einsum("ndi,ni->nd", ops.H, f)), f, alpha)


class Articulated(NamedTuple):
    """The operators of the articulated chain, tip first."""

    P: Float[Array, "n 6 6"]
    """Articulated inertias."""
    D: Float[Array, "n d d"]
    """Joint inertias H P H*."""
    G: Float[Array, "n 6 d"]
    """Gains P H* D^-1."""
    eps: Float[Array, "n d"]
    """Joint forces less those needed by the outboard bodies."""


@float64_default
def articulated(ops: Operators, tau: Float[Array, " nv"], f_ext: Wrenches, f_tip: Vec6 | None = None) -> Articulated:
    """The inward pass of `forward_dynamics`, with its arguments."""

    def inward(carry: tuple[Mat6, Vec6], body: tuple[Array, ...]) -> tuple[tuple[Mat6, Vec6], Articulated]:
        P, xi = carry
        l, H, M, a, b, tau, f, pad = body
        P = P + M
        xi = xi + P @ a + b - f
        D = H @ P @ H.T + pad
        G = P @ H.T @ inverse_spd(D)
        eps = tau - H @ xi
        shift = rigid_shift(l)
        through = P - G @ (H @ P)
        return (shift @ through @ shift.T, shift @ (xi + G @ eps)), Articulated(P, D, G, eps)

    zero = jnp.zeros(6, dtype=ops.a.dtype)
    start = jnp.zeros((6, 6), dtype=ops.a.dtype), zero if f_tip is None else f_tip
    bodies = (ops.l, ops.H, ops.M, ops.a, ops.b, ops.split(tau), f_ext, ops.padding)
    return jax.lax.scan(inward, start, bodies)[1]


@float64_default
def forward_dynamics(
    ops: Operators, tau: Float[Array, " nv"], f_ext: Wrenches, f_tip: Vec6 | None = None
) -> Float[Array, " nv"]:
    """Rates of the joint velocities under given forces, O(n).

    Args:
        ops: the chain.
        tau: generalised forces, base first; for a free base the external wrench.
        f_ext: see `inverse_dynamics`.
        f_tip: see `inverse_dynamics`.
    """
    chain = articulated(ops, tau, f_ext, f_tip)
    D_inverse = jax.vmap(inverse_spd)(chain.D)

    def outward(alpha: Vec6, body: tuple[Array, ...]) -> tuple[Vec6, Array]:
        l, H, a, G, D_inverse, eps = body
        carried = rigid_shift(l).T @ alpha
        vdot = D_inverse @ eps - G.T @ carried
        return carried + H.T @ vdot + a, vdot

    bodies = (ops.l, ops.H, ops.a, chain.G, D_inverse, chain.eps)
    _, rows = jax.lax.scan(outward, jnp.zeros(6, dtype=ops.a.dtype), bodies, reverse=True)
    return ops.join(rows)


@float64_default
def E(ops: Operators) -> Global:
    """Block-subdiagonal operator of the shifts phi(k+1, k), eq. (17); nilpotent, E^n = 0."""
    n = ops.l.shape[0]
    shifts = jax.vmap(rigid_shift)(ops.l[:-1])
    blocks = jnp.zeros((n, n, 6, 6), dtype=ops.l.dtype)
    k = np.arange(n - 1)
    return _flat(blocks.at[k + 1, k].set(shifts))


@float64_default
def phi(ops: Operators) -> Global:
    """Shifts between any two bodies, lower block-triangular: the resolvent (I - E)^-1, eq. (18)."""
    n = ops.l.shape[0]
    reach = jnp.concatenate([jnp.zeros_like(ops.l[:1]), jnp.cumsum(ops.l[:-1], axis=0)])
    between = jax.vmap(lambda i: jax.vmap(lambda j: rigid_shift(reach[i] - reach[j]))(jnp.arange(n)))(jnp.arange(n))
    return _flat(jnp.where(np.tri(n, dtype=bool)[:, :, None, None], between, 0.0))


@float64_default
def H(ops: Operators) -> Float[Array, "nv m"]:
    """Block-diagonal joint map, without padding, rows tip first. No dimension."""
    return block_diag(*(rows[:s] for rows, s in zip(ops.H, ops.sizes, strict=True)))


@float64_default
def M(ops: Operators) -> Global:
    """Block-diagonal inertia."""
    return block_diag(*ops.M)


@float64_default
def mass_matrix(ops: Operators) -> Float[Array, "nv nv"]:
    """H phi M phi* H* with rows and columns in the order of `tau`, base first."""
    left = H(ops)[ops.base_first] @ phi(ops)
    return left @ M(ops) @ left.T


def _flat(blocks: Float[Array, "n n 6 6"]) -> Global:
    n = blocks.shape[0]
    return jnp.swapaxes(blocks, 1, 2).reshape(6 * n, 6 * n)
