"""Operations on spatial vectors as arrays, for the recursions; `plane` has the same names in planar form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxgait.mechanics.spatial.joints import Joint
from jaxgait.mechanics.spatial.vectors import Placement, Vec3, Vec6, cross_force, cross_motion
from jaxgait.precision import float64_default

__all__ = [
    "Moved",
    "Section",
    "along",
    "components",
    "cross_force",
    "cross_motion",
    "dot",
    "joined",
    "lift",
    "moved",
    "only",
    "put",
    "still",
    "upward",
    "with_rotors",
]


Gravity = Float[ArrayLike, ""] | Float[ArrayLike, " 3"]
"""Gravity in m/s^2: a number, along -z of the world, or the acceleration of free fall in the world's axes."""


class Moved(NamedTuple):
    """A joint in motion, in the child's axes."""

    local: Placement
    """Placement of the child in the parent."""
    S: Float[Array, "6 k"]
    """Joint map."""
    relative: Vec6
    """Twist of the child in the parent."""
    bias: Vec6
    """Acceleration dS/dt v."""


@float64_default
def moved(joint: Joint, seat: Placement, q: Float[Array, " nq"], v: Float[Array, " k"]) -> Moved:
    """A joint whose frame sits at `seat` in the parent, at coordinates q and velocities v."""
    S = joint.columns(q)
    return Moved(seat.then(joint.placement(q)), S, S @ v, joint.bias(S, v))


@float64_default
def upward(world: Placement, gravity: Gravity) -> Vec6:
    """The acceleration opposite to gravity, in the axes of a body."""
    up = world.R[2] * gravity if jnp.ndim(gravity) == 0 else -(jnp.asarray(gravity) @ world.R)
    return jnp.concatenate([jnp.zeros_like(up), up])


@float64_default
def lift(position: Vec3, gravity: Gravity) -> Float[Array, ""]:
    """Potential energy in J of 1 kg at a position in the world, zero at the origin."""
    g = jnp.asarray(gravity)
    return g * position[2] if g.ndim == 0 else -jnp.dot(g, position)


@float64_default
def along(S: Float[Array, "6 k"], numbers: Float[Array, " k"]) -> Vec6:
    """S times joint velocities or their rates."""
    return S @ numbers


@float64_default
def dot(a: Vec6, b: Vec6) -> Float[Array, ""]:
    """Power of a wrench and a twist."""
    return jnp.sum(a * b)


@float64_default
def components(S: Float[Array, "6 k"], wrench: Vec6) -> Float[Array, " k"]:
    """Generalised forces S^T f of a wrench."""
    return S.T @ wrench


@float64_default
def put(values: Float[Array, " nv"], where: Sequence[np.ndarray], new: Sequence[Array]) -> Float[Array, " nv"]:
    """The numbers, shape (nv,), with those at each of `where` replaced.

    Joined, not scattered: with scatters here and in `inverse_spd`, the spatial jumper takes a tenth longer in XLA's
    code (`experiments.benchmarks.trees`, for both versions).
    """
    taken = np.concatenate([np.zeros(0, dtype=int), *where])
    if not taken.size:
        return jnp.asarray(values)
    rest = np.setdiff1d(np.arange(len(values)), taken)
    order = np.concatenate([taken, rest])
    found = jnp.concatenate([*new, *([jnp.asarray(values)[rest]] if rest.size else [])])
    return found if (order[:-1] < order[1:]).all() else found[np.argsort(order)]


@float64_default
def only(chosen: Sequence[bool], values: Float[Array, " nv"]) -> Float[Array, " nv"]:
    """The chosen numbers, zeros elsewhere."""
    return jnp.where(np.asarray(chosen, dtype=bool), values, 0.0)


@float64_default
def with_rotors(tau: Array, rotors: Array, vdot: Array, moved: Sequence[bool] | np.ndarray) -> Float[Array, " nv"]:
    """Generalised forces plus those that accelerate rotors, for the velocities marked in `moved`."""
    return tau + jnp.where(np.asarray(moved), rotors * vdot, 0.0)


@float64_default
def joined(parts: Sequence[Array]) -> Float[Array, " nv"]:
    """The numbers of all joints in one array, shape (nv,)."""
    return jnp.concatenate(parts)


@float64_default
def still() -> Vec6:
    """No motion."""
    return jnp.zeros(6)


@float64_default
class Section(NamedTuple):
    """One body and its joint in the articulated-body recursion, the joint's columns split into free and driven ones."""

    free: np.ndarray
    driven: np.ndarray
    S_free: Float[Array, "6 k"]
    S_driven: Float[Array, "6 m"]
    bias: Vec6 | None
    tau: Float[Array, " k"]
    U: Float[Array, "6 k"] | None = None
    """Articulated inertia times the free columns."""
    D_inverse: Float[Array, "k k"] | None = None
    u: Float[Array, " k"] | None = None
    rotors: Float[Array, " k"] | None = None
    """Inertia of the rotors of the free columns."""

    @classmethod
    def split(
        cls, S: Float[Array, "6 n"], bias: Vec6 | None, rows: slice, vdot: Array, tau: Array, prescribed: np.ndarray
    ) -> Section:
        """Splits the columns of a joint with the velocities `rows` of v; `vdot` and `tau` are of all joints, (nv,)."""
        columns = np.arange(rows.start, rows.stop)
        mask = prescribed[columns]
        free, driven = columns[~mask], columns[mask]
        if not driven.size:
            return cls(free, driven, S, S[:, :0], bias, tau[rows])
        S_free, S_driven = S[:, ~mask], S[:, mask]
        known = S_driven @ vdot[driven]
        return cls(free, driven, S_free, S_driven, known if bias is None else bias + known, tau[free])

    def articulate(self, inertia: Float[Array, "6 6"], force: Vec6) -> Section:
        """The section with the articulated inertia and force of the free columns."""
        U = inertia @ self.S_free
        D = self.S_free.T @ U
        D = D if self.rotors is None else D + jnp.diag(self.rotors)
        return self._replace(U=U, D_inverse=inverse_spd(D), u=self.tau - self.S_free.T @ force)

    def seen_from_parent(self, inertia: Float[Array, "6 6"], force: Vec6) -> tuple[Float[Array, "6 6"], Vec6]:
        """Inertia and force that the joint transmits to the parent."""
        assert self.U is not None and self.D_inverse is not None and self.u is not None
        gain = self.U @ self.D_inverse
        through = inertia - gain @ self.U.T
        left = force + gain @ self.u
        return through, left if self.bias is None else left + through @ self.bias

    def accelerate(self, parent: Vec6) -> tuple[Vec6, Float[Array, " k"]]:
        """Acceleration of the body and of the free columns from the parent's, which is in the body's axes."""
        assert self.U is not None and self.D_inverse is not None and self.u is not None
        a = parent if self.bias is None else parent + self.bias
        vdot = self.D_inverse @ (self.u - self.U.T @ a)
        return a + self.S_free @ vdot, vdot


@float64_default
def inverse_spd(A: Float[Array, "k k"]) -> Float[Array, "k k"]:
    """Inverse of a small symmetric positive definite matrix by unrolled Gauss-Jordan elimination without pivoting."""
    n = A.shape[0]
    for k in range(n):
        pivot = 1.0 / A[k, k]
        row, column = A[k] * pivot, A[:, k]
        at = np.arange(n) == k  # selected, not scattered, as in `put`
        A = jnp.where(at, (-column * pivot)[:, None], A - column[:, None] * row[None, :])
        A = jnp.where(at[:, None], jnp.where(at, pivot, row), A)
    return A
