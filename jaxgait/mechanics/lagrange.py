"""Equations of motion from energies, by automatic differentiation, with and without constraints.

    M(q) q'' + h(q, q') = Q + Phi^T lambda,       Phi q'' = gamma

`M` and `h` come from a Lagrangian written as plain code; `lambda` are the multipliers of constraints xi(q, t) = 0 with
Phi = d xi / d q (Lagrange's equations of the first kind). All arrays; for hot loops write scalar code (see `kane`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.precision import float64_default

Vector = Float[Array, " n"]
Lagrangian = Callable[[Vector, Vector], Float[Array, ""]]
Constraint = Callable[[Vector], Float[Array, " m"]]


class Dynamics(NamedTuple):
    """Mass matrix and bias of M q'' + h = Q."""

    mass: Float[Array, "n n"]
    bias: Vector


@float64_default
def dynamics(lagrangian: Lagrangian, q: Vector, qd: Vector) -> Dynamics:
    """Mass matrix and bias force (Coriolis, centrifugal, conservative) of a Lagrangian L(q, q').

    Args:
        lagrangian: kinetic less potential energy in J, as a function of q and q'.
        q: coordinates.
        qd: their rates.
    """
    momentum = jax.grad(lagrangian, argnums=1)
    mass = jax.jacfwd(momentum, argnums=1)(q, qd)
    _, convected = jax.jvp(lambda x: momentum(x, qd), (q,), (qd,))
    return Dynamics(mass, convected - jax.grad(lagrangian, argnums=0)(q, qd))


@float64_default
def energy(lagrangian: Lagrangian, q: Vector, qd: Vector) -> Float[Array, ""]:
    """The conserved energy q' . dL/dq' - L of a Lagrangian without explicit time, in J."""
    return jnp.vdot(qd, jax.grad(lagrangian, argnums=1)(q, qd)) - lagrangian(q, qd)


@float64_default
def constraint_terms(
    constraint: Constraint, q: Vector, qd: Vector, baumgarte: Float[Array, ""] | float = 0.0
) -> tuple[Float[Array, "m n"], Float[Array, " m"]]:
    """Phi and gamma of a constraint: its second time derivative is Phi q'' - gamma.

    Args:
        constraint: residual xi(q), zero when satisfied.
        q: coordinates.
        qd: their rates.
        baumgarte: rate a in 1/s; drift obeys xi'' + 2 a xi' + a^2 xi = 0. Zero leaves the constraint as it is.
    """
    jacobian = jax.jacfwd(constraint)
    Phi = jacobian(q)
    _, Phi_rate = jax.jvp(jacobian, (q,), (qd,))
    gamma = -Phi_rate @ qd - 2.0 * baumgarte * (Phi @ qd) - baumgarte**2 * constraint(q)
    return Phi, gamma


@float64_default
def constrained_accelerations(
    mass: Float[Array, "n n"], force: Vector, Phi: Float[Array, "m n"], gamma: Float[Array, " m"]
) -> tuple[Vector, Float[Array, " m"]]:
    """Solves [M, -Phi^T; Phi, 0] [q''; lambda] = [force; gamma] for accelerations and multipliers.

    Args:
        mass: M.
        force: all forces on the right-hand side, bias subtracted.
        Phi: constraint Jacobian.
        gamma: right-hand side of the acceleration constraint.
    """
    n, m = mass.shape[0], Phi.shape[0]
    saddle = jnp.block([[mass, -Phi.T], [Phi, jnp.zeros((m, m), mass.dtype)]])
    solution = jnp.linalg.solve(saddle, jnp.concatenate([force, gamma]))
    return solution[:n], solution[n:]


@float64_default
def minimal_accelerations(
    mass: Float[Array, "n n"], force: Vector, basis: Float[Array, "n k"], bias: Vector
) -> Float[Array, " k"]:
    """Reduction to minimal coordinates z, where q' = S z' + s0 and q'' = S z'' + a0.

    Solves S^T M S z'' = S^T (force - M a0).

    Args:
        mass: M.
        force: all forces on the right-hand side, bias subtracted.
        basis: S, a basis of the null space of Phi.
        bias: a0, the accelerations at z'' = 0.
    """
    return jnp.linalg.solve(basis.T @ mass @ basis, basis.T @ (force - mass @ bias))


@float64_default
def project(constraint: Constraint, q: Vector, mass: Float[Array, "n n"], iterations: int = 5) -> Vector:
    """Moves q onto the constraint along the shortest way in the metric of the mass matrix (Newton iterations).

    Args:
        constraint: residual xi(q).
        q: coordinates near the constraint.
        mass: the metric.
        iterations: Newton steps; convergence is quadratic.
    """
    weights = jnp.linalg.inv(mass)
    for _ in range(iterations):
        Phi = jax.jacfwd(constraint)(q)
        along = weights @ Phi.T
        q = q - along @ jnp.linalg.solve(Phi @ along, constraint(q))
    return q
