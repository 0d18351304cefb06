"""Recursive dynamics of kinematic trees: Newton-Euler, composite rigid bodies, articulated bodies.

References: Featherstone (2008), tables 5.1, 6.2, 7.1 and section 9.2 (hybrid dynamics).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxgait.mechanics.spatial.tree import Motion, Tree
from jaxgait.mechanics.spatial.vectors import Vec6, cross_force
from jaxgait.precision import float64_default

Wrenches = Float[Array, "n 6"]


class Accelerations(NamedTuple):
    """Result of `hybrid_dynamics`: everything, whether it was given or found."""

    vdot: Float[Array, " nv"]
    """Rates of the velocities."""
    tau: Float[Array, " nv"]
    """Generalised forces of the joints."""
    bodies: list[Vec6]
    """Spatial acceleration of each body (gravity left out), in body axes."""


@float64_default
def inverse_dynamics(
    tree: Tree,
    motion: Motion,
    vdot: Float[Array, " nv"],
    wrenches: Wrenches | None = None,
    gravity: Float[ArrayLike, ""] = 9.81,
) -> Float[Array, " nv"]:
    """Joint forces that produce given accelerations (recursive Newton-Euler).

    Args:
        tree: the bodies.
        motion: from `kinematics`.
        vdot: rates of the velocities.
        wrenches: external wrenches on the bodies at their origins, in body axes (see `point_wrenches`).
        gravity: along -z of the world, m/s^2.

    Returns:
        Generalised forces, `nv` numbers in the order of the velocities, base first: N m for rotations, N for
        translations; for a free joint the wrench on its body in the body's axes, moment first.
    """
    accelerations = _outward_accelerations(tree, motion, vdot, gravity)
    force = _body_forces(tree, motion, wrenches)
    inertias = tree.inertias()
    force = [f + inertias[i] @ accelerations[i] for i, f in enumerate(force)]
    tau = [jnp.zeros(0)] * len(force)
    for i in reversed(range(len(force))):
        tau[i] = motion.S[i].T @ force[i]
        if tree.parents[i] >= 0:
            force[tree.parents[i]] = force[tree.parents[i]] + motion.local[i].force_to_parent(force[i])
    return jnp.concatenate(tau)


@float64_default
def mass_matrix(tree: Tree, motion: Motion) -> Float[Array, "nv nv"]:
    """Joint-space mass matrix by composite rigid bodies, rows and columns in the order of the velocities, base first.

    The block of a free base is its composite inertia in the base's axes (kg m^2, kg m, kg). Only the positions in
    `motion` matter.
    """
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
    return M


@float64_default
def forward_dynamics(
    tree: Tree,
    motion: Motion,
    tau: Float[Array, " nv"],
    wrenches: Wrenches | None = None,
    gravity: Float[ArrayLike, ""] = 9.81,
) -> Float[Array, " nv"]:
    """Rates of the velocities under given joint forces (articulated bodies); arguments as in `inverse_dynamics`."""
    return hybrid_dynamics(tree, motion, jnp.zeros_like(tau), tau, (False,) * tree.nv, wrenches, gravity).vdot


@float64_default
def hybrid_dynamics(
    tree: Tree,
    motion: Motion,
    vdot: Float[Array, " nv"],
    tau: Float[Array, " nv"],
    prescribed: Sequence[bool],
    wrenches: Wrenches | None = None,
    gravity: Float[ArrayLike, ""] = 9.81,
) -> Accelerations:
    """Some coordinates follow given accelerations, the others given forces (articulated bodies, O(N)).

    Args:
        tree: the bodies.
        motion: from `kinematics`.
        vdot: rates of the velocities, read where `prescribed`.
        tau: generalised forces, read where not `prescribed`.
        prescribed: one flag per velocity.
        wrenches: external wrenches on the bodies at their origins, in body axes.
        gravity: along -z of the world, m/s^2.

    Returns:
        The unknown accelerations and forces beside the known ones.
    """
    flags, vdot, tau = np.asarray(prescribed, dtype=bool), jnp.asarray(vdot), jnp.asarray(tau)
    sections = [_Section.split(tree, motion, i, vdot, tau, flags) for i in range(len(tree.names))]
    inertia, force = tree.inertias(), _body_forces(tree, motion, wrenches)
    for i in reversed(range(len(sections))):
        sections[i] = section = sections[i].articulate(inertia[i], force[i])
        p = tree.parents[i]
        if p >= 0:
            through, left = section.seen_from_parent(inertia[i], force[i])
            inertia[p] = inertia[p] + motion.local[i].inertia_to_parent(through)
            force[p] = force[p] + motion.local[i].force_to_parent(left)

    accelerations: list[Vec6] = []
    found_vdot, found_tau = vdot, tau
    for i, section in enumerate(sections):
        p = tree.parents[i]
        parent = _lift(motion, i, gravity) if p < 0 else motion.local[i].motion_to_child(accelerations[p])
        a, free_vdot = section.accelerate(parent)
        accelerations.append(a)
        transmitted = inertia[i] @ a + force[i]
        found_vdot = found_vdot.at[section.free].set(free_vdot)
        found_tau = found_tau.at[section.driven].set(section.S_driven.T @ transmitted)
    bodies = [a - _weightless(motion, i, gravity) for i, a in enumerate(accelerations)]
    return Accelerations(found_vdot, found_tau, bodies)


@float64_default
class _Section(NamedTuple):
    """One body and its joint in the articulated-body recursion, the joint's columns split in free and driven ones."""

    free: np.ndarray
    driven: np.ndarray
    S_free: Float[Array, "6 k"]
    S_driven: Float[Array, "6 m"]
    bias: Vec6
    tau: Float[Array, " k"]
    U: Float[Array, "6 k"] | None = None
    """Articulated inertia times the free columns."""
    D_inverse: Float[Array, "k k"] | None = None
    u: Float[Array, " k"] | None = None

    @classmethod
    def split(cls, tree: Tree, motion: Motion, i: int, vdot: Array, tau: Array, prescribed: np.ndarray) -> _Section:
        columns = np.arange(tree.nv)[tree.v_slices[i]]
        mask = prescribed[columns]
        free, driven = columns[~mask], columns[mask]
        S_free, S_driven = motion.S[i][:, ~mask], motion.S[i][:, mask]
        return cls(free, driven, S_free, S_driven, motion.bias[i] + S_driven @ vdot[driven], tau[free])

    def articulate(self, inertia: Float[Array, "6 6"], force: Vec6) -> _Section:
        U = inertia @ self.S_free
        D_inverse = inverse_spd(self.S_free.T @ U)
        return self._replace(U=U, D_inverse=D_inverse, u=self.tau - self.S_free.T @ force)

    def seen_from_parent(self, inertia: Float[Array, "6 6"], force: Vec6) -> tuple[Float[Array, "6 6"], Vec6]:
        assert self.U is not None and self.D_inverse is not None and self.u is not None
        gain = self.U @ self.D_inverse
        through = inertia - gain @ self.U.T
        return through, force + through @ self.bias + gain @ self.u

    def accelerate(self, parent: Vec6) -> tuple[Vec6, Float[Array, " k"]]:
        assert self.U is not None and self.D_inverse is not None and self.u is not None
        a = parent + self.bias
        vdot = self.D_inverse @ (self.u - self.U.T @ a)
        return a + self.S_free @ vdot, vdot


def _outward_accelerations(tree: Tree, motion: Motion, vdot: Array, gravity: Float[ArrayLike, ""]) -> list[Vec6]:
    """Spatial accelerations of the bodies in a frame that falls upward with `gravity`."""
    accelerations: list[Vec6] = []
    for i, rows in enumerate(tree.v_slices):
        p = tree.parents[i]
        parent = _lift(motion, i, gravity) if p < 0 else motion.local[i].motion_to_child(accelerations[p])
        accelerations.append(parent + motion.bias[i] + motion.S[i] @ vdot[rows])
    return accelerations


def _body_forces(tree: Tree, motion: Motion, wrenches: Wrenches | None) -> list[Vec6]:
    """Wrench each body needs beside inertia times acceleration: gyroscopic, less what acts from outside."""
    inertias = tree.inertias()
    forces = [cross_force(twist, inertias[i] @ twist) for i, twist in enumerate(motion.twist)]
    return forces if wrenches is None else [f - wrenches[i] for i, f in enumerate(forces)]


def _weightless(motion: Motion, i: int, gravity: Float[ArrayLike, ""]) -> Vec6:
    """Acceleration +g along the world's z in the axes of body i: gravity as a fictitious lift."""
    up = motion.world[i].R[2] * gravity
    return jnp.concatenate([jnp.zeros_like(up), up])


_lift = _weightless  # a root body's parent is the world: the same vector, in the axes of the root


@float64_default
def inverse_spd(A: Float[Array, "k k"]) -> Float[Array, "k k"]:
    """Inverse of a small symmetric positive definite matrix by unrolled Gauss-Jordan steps without pivoting."""
    n = A.shape[0]
    for k in range(n):
        pivot = 1.0 / A[k, k]
        row, column = A[k] * pivot, A[:, k]
        A = (A - column[:, None] * row[None, :]).at[k].set(row).at[:, k].set(-column * pivot).at[k, k].set(pivot)
    return A
