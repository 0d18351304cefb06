"""Entire programs: straight-line parts become kernels, the rest does not change."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
from jax.extend.core import ClosedJaxpr

from jaxgait.native.blocks import Block, Equation
from jaxgait.native.calls import available, call
from jaxgait.native.identity import made_of
from jaxgait.native.kernel import Kernel
from jaxgait.native.primitives import Branches, Scan, Unfamiliar, While, bind, read, repeated, scanned, warn
from jaxgait.native.regions import partition
from jaxgait.support import machine
from jaxgait.support.checks import shown


def native(function: Callable[..., Any], *, assured: Sequence[str] = ()) -> Callable[..., Any]:
    """The same function, with its straight-line parts as kernels.

    It must run under `jax.jit`, and cannot be differentiated afterwards; if it is batched, its kernels run for one
    after the other. On devices other than CPUs nothing changes.

    Args:
        function: of pytrees; leaves that are not arrays are constants. It may contain loops and branches.
        assured: beginnings of the messages of checks (`equinox.error_if`) that the caller guarantees: they are
            removed, see `jaxgait.native.primitives`.

    Raises:
        TypeError: for anything but a function, and a list of messages.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxgait.native import native
        >>> falls = jax.jit(native(jax.vmap(lambda v: v**2 / (2 * 9.81))))
        >>> [round(float(h), 3) for h in falls(jnp.array([1.0, 2.0]))]
        [0.051, 0.204]
    """
    check_function(function, assured)
    evaluate = lambda program, args: _evaluate(program, args, assured)
    return made_of(rewritten(function, evaluate), "native", function, tuple(assured))


def _evaluate(program: ClosedJaxpr, args: Sequence[Any], assured: Sequence[str]) -> list[Any]:
    """Runs (or re-traces) a program, with straight-line parts as kernels."""
    block = Block(program, assured=assured)
    steps = partition(block)
    if not any(isinstance(step, Kernel) for step in steps):  # all of it is XLA's, which has functions of its own
        block = Block(program, expand=False, assured=assured)
        steps = block.equations
    values: dict[int, Any] = dict(zip(block.arguments, args, strict=True)) | block.constants
    for step in steps:
        needed = [values[v] for v in step.inputs]
        found = _run(step, needed, assured) if isinstance(step, Equation) else call(block.avals, step, needed)
        values.update(zip(step.outputs, found, strict=True))
    return [values[v] for v in block.results]


def _run(equation: Equation, inputs: list[Any], assured: Sequence[str]) -> Sequence[Any]:
    inside: Callable[[Any], Any] = lambda jaxpr: lambda *args: tuple(_evaluate(jaxpr, args, assured))
    found = read(equation.primitive.name, equation.params, len(inputs))
    if isinstance(found, While):
        return repeated(found, inside(found.condition), inside(found.body), inputs)
    if isinstance(found, Scan):
        return scanned(found, inside(found.body), inputs)
    if isinstance(found, Branches):
        return jax.lax.switch(inputs[0], [inside(branch) for branch in found.branches], *inputs[1:])
    return bind(equation.primitive, inputs, equation.params)


def check_function(function: Any, assured: Any) -> None:
    """Checks the arguments of `native`.

    Raises:
        TypeError: for anything but a function, and a list of messages.
    """
    if not callable(function):
        raise TypeError(f"a program is made of a function of arrays, such as lambda x: 2.0 * x, got {shown(function)}")
    if isinstance(assured, str) or not isinstance(assured, Sequence):
        raise TypeError(f"assured must be a list of beginnings of messages, got {shown(assured)}")


def rewritten(
    function: Callable[..., Any],
    evaluate: Callable[[ClosedJaxpr, Sequence[Any]], Sequence[Any]],
    anywhere: bool = False,
) -> Callable[..., Any]:
    """The same function, by another evaluation of its program.

    Nothing changes under `jax.disable_jit`, or where JAX has unknown forms of operations.

    Args:
        function: of pytrees; leaves that are not arrays are constants.
        evaluate: results of a program, from the program and its inputs.
        anywhere: whether the rewritten program runs on all devices; if not, nothing changes on devices other than CPUs,
            or with an unknown version of XLA's interface for calls.
    """

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        if jax.config.jax_disable_jit:  # type: ignore[attr-defined]
            return function(*args, **options)
        if not anywhere and (not machine.on_cpu() or not available()):
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
