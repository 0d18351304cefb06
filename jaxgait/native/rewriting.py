"""Functions whose programs are rewritten before they run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
from jax.extend.core import ClosedJaxpr

from jaxgait.native.calls import available
from jaxgait.native.primitives import Unfamiliar, warn


def rewritten(
    function: Callable[..., Any],
    evaluate: Callable[[ClosedJaxpr, Sequence[Any]], Sequence[Any]],
    anywhere: bool = False,
) -> Callable[..., Any]:
    """The same function, by another evaluation of its program.

    Where JAX has other forms than those known, or runs operation by operation (`jax.disable_jit`), nothing is changed.

    Args:
        function: to pytrees of arrays, from any pytrees: leaves that are not arrays are constants.
        evaluate: results of a program, from the program and its inputs.
        anywhere: whether what it makes runs on all devices; if not, nothing is changed on others than CPUs, and where
            XLA's interface for calls has another form than that known.
    """

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        if jax.config.jax_disable_jit:  # type: ignore[attr-defined]
            return function(*args, **options)
        if not anywhere and (jax.default_backend() != "cpu" or not available()):
            return function(*args, **options)
        arrays, rest = eqx.partition((args, options), eqx.is_array)
        leaves, structure = jax.tree.flatten(arrays)

        def flat(*leaves: Any) -> Any:
            args, options = eqx.combine(jax.tree.unflatten(structure, leaves), rest)
            return function(*args, **options)

        program, shapes = jax.make_jaxpr(flat, return_shape=True)(*leaves)
        try:
            results = evaluate(program, leaves)
        except Unfamiliar as operation:
            warn(str(operation))
            return function(*args, **options)
        return jax.tree.unflatten(jax.tree.structure(shapes), results)

    return run
