"""Lagrange's method, which the matrices replace: automatic (JAX) or symbolic (SymPy) derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgait.models.exoskeleton import vectors
from jaxgait.models.exoskeleton.dynamics import G
from jaxgait.models.exoskeleton.elements import Planar
from jaxgait.models.exoskeleton.tree import Chain
from jaxgait.precision import float64_default


def energy_loop(chain: Chain, q: Any, rate: Any) -> jax.Array:
    """T - V in J, mass by mass as by hand: the program grows with the square of n."""

    def positions(q: Any) -> list[jax.Array]:
        ends, masses = [jnp.zeros(len(q))], []
        for i, (p, s) in enumerate(zip(chain.parent, chain.sign, strict=True)):
            rod = s * q.l[i] * _direction(q, i)
            masses += [ends[p] + chain.fractions[i, b] * rod for b in range(chain.masses.shape[1])]
            ends.append(ends[p] + rod)
        return masses

    r, v = jax.jvp(positions, (q,), (rate,))
    m = chain.masses.reshape(-1)
    return sum(m[k] * (0.5 * jnp.vdot(v[k], v[k]) - G * r[k][-1]) for k in range(m.size))  # type: ignore[return-value]


def _direction(q: Any, i: int) -> jax.Array:
    if isinstance(q, Planar):
        return jnp.stack([jnp.cos(q.phi[i]), jnp.sin(q.phi[i])])
    c = jnp.cos(q.psi[i])
    return jnp.stack([c * jnp.cos(q.phi[i]), c * jnp.sin(q.phi[i]), jnp.sin(q.psi[i])])


def energy_arrays(chain: Chain, q: Any, rate: Any) -> jax.Array:
    """T - V in J, all positions by one matrix product."""
    r, v = jax.jvp(lambda q: vectors.mass_positions(chain, vectors.link_vectors(q)), (q,), (rate,))
    m = jnp.asarray(chain.masses)
    return jnp.sum(m * (0.5 * jnp.sum(v * v, axis=-1) - G * r[..., -1]))


class Dynamics(NamedTuple):
    """Mass matrix and bias of M q'' + h = Q."""

    mass: jax.Array
    bias: jax.Array


@float64_default
def dynamics(lagrangian: Callable[[jax.Array, jax.Array], jax.Array], q: jax.Array, qd: jax.Array) -> Dynamics:
    """Mass matrix and bias forces of a Lagrangian L(q, q'), by automatic differentiation."""
    momentum = jax.grad(lagrangian, argnums=1)
    mass = jax.jacfwd(momentum, argnums=1)(q, qd)
    _, convected = jax.jvp(lambda x: momentum(x, qd), (q,), (qd,))
    return Dynamics(mass, convected - jax.grad(lagrangian, argnums=0)(q, qd))


def mass_matrix_and_bias(energy: Any, chain: Chain, q: Any, rate: Any) -> Dynamics:
    """`dynamics` of a chain whose Lagrangian is `energy`."""
    kind, parts = type(q), len(q)

    def flat(q: jax.Array, r: jax.Array) -> jax.Array:
        return energy(chain, kind(*jnp.split(q, parts)), kind(*jnp.split(r, parts)))

    return dynamics(flat, jnp.concatenate(q), jnp.concatenate(rate))


def compose_with_sympy(n: int, dimension: int) -> Any:
    """Equations of motion of a serial chain."""
    import sympy as sp
    from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

    names = ("phi", "l") if dimension == 2 else ("phi", "psi", "l")
    q = {c: [dynamicsymbols(f"{c}_{i + 1}") for i in range(n)] for c in names}
    end, energy = sp.zeros(dimension, 1), 0
    for i in range(n):
        c, s = sp.cos(q["phi"][i]), sp.sin(q["phi"][i])
        u = sp.Matrix([c, s])
        if dimension == 3:
            elevation = q["psi"][i]
            u = sp.Matrix([sp.cos(elevation) * c, sp.cos(elevation) * s, sp.sin(elevation)])
        for b, fraction in enumerate((0, sp.Symbol(f"n_{i + 1}"), 1)):
            r = end + fraction * q["l"][i] * u
            v = r.diff(dynamicsymbols._t)
            energy += sp.Symbol(f"m_{i + 1}{b}") * (v.dot(v) / 2 - sp.Symbol("g") * r[dimension - 1])
        end += q["l"][i] * u
    return LagrangesMethod(energy, [x for c in names for x in q[c]]).form_lagranges_equations()
