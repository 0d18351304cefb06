"""Keeping XLA's CPU compiler from computing the same thing again and again.

XLA fuses a value into every expression that uses it. For the long straight-line programs of an unrolled solver step
this repeats whole subexpressions, each of which repeats others: the 1.2 MB program of one Rosenbrock step of the knee
became 28 MB and took minutes to compile (jaxlib 0.10; `optimization_barrier` has no effect on CPUs). Only operations
that count as expensive are never repeated, and a division is the cheapest of them.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")


def computed_once(tree: T, witness: Any) -> T:
    """Returns the same values, which the compiled program will compute once and store.

    On a CPU every leaf is divided by a one of which the compiler cannot know that it is one; elsewhere nothing is done.
    Derivatives pass through (and are computed once, too).

    Args:
        tree: arrays; those that are not of floating point are left alone.
        witness: any real number that is not known at compile time and not NaN, such as the step size.
    """
    if jax.default_backend() != "cpu":
        return tree
    x = jax.lax.stop_gradient(jnp.asarray(witness))
    one = jnp.where(x == x, 1.0, 2.0)  # noqa: PLR0124 (not so for NaN: the compiler must leave it alone)

    def leaf(x: Any) -> Any:
        return x / one.astype(x.dtype) if jnp.issubdtype(x.dtype, jnp.inexact) else x

    return jax.tree.map(leaf, tree)


def derivatives_once(tree: T, witness: Any) -> T:
    """Like `computed_once`, but only where the program is differentiated; values are left to the compiler.

    Storing costs more than repeating a few products, until derivatives of derivatives make them many.
    """
    leaves, structure = jax.tree.flatten(tree)
    real = [jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in leaves]
    chosen = iter(_stored_if_differentiated([x for x, r in zip(leaves, real, strict=True) if r], witness))
    return structure.unflatten([next(chosen) if r else x for x, r in zip(leaves, real, strict=True)])


@jax.custom_jvp
def _stored_if_differentiated(leaves: list[jax.Array], witness: Any) -> list[jax.Array]:
    del witness
    return leaves


@_stored_if_differentiated.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return computed_once(primals[0], primals[1]), computed_once(tangents[0], primals[1])
