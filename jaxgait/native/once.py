"""Keeping XLA's CPU compiler from computing the same thing again and again.

XLA fuses a value into every expression that uses it. For the long straight-line programs of an unrolled solver step
this repeats whole subexpressions, each of which repeats others: the 1.2 MB program of one Rosenbrock step of the knee
became 28 MB and took minutes to compile (jaxlib 0.10; `optimization_barrier` has no effect on CPUs). Only operations
that count as expensive are never repeated, and a division is the cheapest of them.

Solvers use it where they know what is shared, for whoever compiles them with XLA alone; `native` takes it out again.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")


def computed_once(tree: T) -> T:
    """Returns the same values, which the compiled program will compute once and store.

    On a CPU every leaf is divided by a one of which the compiler cannot know that it is one; elsewhere nothing is done.
    Derivatives pass through (and are computed once, too).

    Args:
        tree: arrays; those that are not of floating point are left alone.
    """
    if jax.default_backend() != "cpu":
        return tree
    return jax.tree.map(lambda x: x / _one(x) if jnp.issubdtype(x.dtype, jnp.inexact) else x, tree)


def _one(x: jax.Array) -> jax.Array:
    """One, made of `x` itself: 2 for NaN, so that the compiler must leave it; a broadcast one it would move about."""
    x = jax.lax.stop_gradient(x)
    return jax.lax.select(x == x, jnp.full_like(x, 1.0), jnp.full_like(x, 2.0))  # noqa: PLR0124


def derivatives_once(tree: T) -> T:
    """Like `computed_once`, but only where the program is differentiated; values are left to the compiler.

    Storing costs more than repeating a few products, until derivatives of derivatives make them many.
    """
    leaves, structure = jax.tree.flatten(tree)
    real = [jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in leaves]
    chosen = iter(_stored_if_differentiated([x for x, r in zip(leaves, real, strict=True) if r]))
    return structure.unflatten([next(chosen) if r else x for x, r in zip(leaves, real, strict=True)])


@jax.custom_jvp
def _stored_if_differentiated(leaves: list[jax.Array]) -> list[jax.Array]:
    return leaves


@_stored_if_differentiated.defjvp
def _(primals: Any, tangents: Any) -> Any:
    # A tangent is divided by its primal's one: the division is linear in it, which reverse mode wants.
    hidden = jax.default_backend() == "cpu"
    push = lambda x, dx: dx / _one(x) if hidden else dx
    return computed_once(primals[0]), jax.tree.map(push, primals[0], tangents[0])
