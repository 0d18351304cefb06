"""Prevents XLA's CPU compiler from computing the same values repeatedly.

XLA fuses a value into every expression that uses it. In the long straight-line code of an unrolled solver step this
repeats subexpressions within subexpressions: the 1.2 MB program of one Rosenbrock step of the knee became 28 MB and
took minutes to compile (jaxlib 0.10; `optimization_barrier` has no effect on CPUs). Only operations that count as
expensive are never repeated, and division is the cheapest of them.

Solvers apply it to shared values, for programs that XLA alone compiles; `native` removes it. The primitive is the
identity for every transformation, and becomes a division only on CPUs.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

T = TypeVar("T")

ONCE = Primitive("computed_once")
"""The value itself, to be computed once and stored."""
ONCE.def_impl(lambda x: x)
ONCE.def_abstract_eval(lambda x: x)
ad.deflinear2(ONCE, lambda cotangent, _: [computed_once(cotangent)])
batching.defvectorized(ONCE)


def _divided(x: jax.Array) -> jax.Array:
    """The value divided by a one that is computed from it (2 for NaN), so that the compiler cannot remove it."""
    one = jax.lax.select(x == x, jnp.full_like(x, 1.0), jnp.full_like(x, 2.0))  # noqa: PLR0124
    return x / one


mlir.register_lowering(ONCE, mlir.lower_fun(lambda x: x, multiple_results=False))
mlir.register_lowering(ONCE, mlir.lower_fun(_divided, multiple_results=False), platform="cpu")


def computed_once(tree: T) -> T:
    """Returns the same values, which the compiled program computes once and stores; derivatives likewise.

    Only CPUs need it: elsewhere nothing is done.

    Args:
        tree: arrays; those that are not floating-point are left alone.
    """
    return jax.tree.map(lambda x: ONCE.bind(x) if jnp.issubdtype(jnp.result_type(x), jnp.inexact) else x, tree)


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
    return computed_once(primals[0]), computed_once(tangents[0])
