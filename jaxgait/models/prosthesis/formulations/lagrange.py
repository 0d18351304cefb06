"""Equations of motion from energies, by automatic differentiation, with and without constraints.

    M(q) q'' + h(q, q') = Q + Phi^T lambda,       Phi q'' = gamma

`M` and `h` come from a Lagrangian; `lambda` are the multipliers of constraints xi(q, t) = 0 with Phi = d xi / d q
(Lagrange's equations of the first kind). For hot loops write scalar code (see `jaxgait.mechanics.kane`).
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
    """Conserved energy q' . dL/dq' - L in J of a Lagrangian without explicit time."""
    return jnp.vdot(qd, jax.grad(lagrangian, argnums=1)(q, qd)) - lagrangian(q, qd)


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
