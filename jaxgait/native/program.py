"""Whole programs: straight-line parts as kernels, the rest as it was."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from jaxgait.native.blocks import Block, Equation
from jaxgait.native.calls import call
from jaxgait.native.kernel import Kernel
from jaxgait.native.regions import partition


def compiled(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """Compiles a function for arguments of given shapes, with `native`.

    Args:
        function: of arrays and pytrees of arrays.
        args: arguments, or their shapes.

    Returns:
        The compiled program, to be called with arguments of the same shapes and dtypes.
    """
    return jax.jit(native(function)).lower(*args).compile()


def native(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose straight-line parts are machine code of their own.

    It must be traced to be run (by `jax.jit`), and not be differentiated or batched any more. On other devices than
    CPUs nothing is changed.

    Args:
        function: to pytrees of arrays, from any pytrees: leaves that are no arrays are constants. It may hold loops and
            branches.
    """

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        if jax.default_backend() != "cpu":
            return function(*args)
        arrays, rest = eqx.partition(args, eqx.is_array)
        leaves, structure = jax.tree.flatten(arrays)
        flat = lambda *leaves: function(*eqx.combine(jax.tree.unflatten(structure, leaves), rest))
        program, shapes = jax.make_jaxpr(flat, return_shape=True)(*leaves)
        return jax.tree.unflatten(jax.tree.structure(shapes), _evaluate(program, leaves))

    return run


def _evaluate(program: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """Runs a program (under a trace: writes it again), straight-line parts as kernels."""
    block = Block(program)
    steps = partition(block)
    if not any(isinstance(step, Kernel) for step in steps):  # all of it is XLA's, which has functions of its own
        block = Block(program, expand=False)
        steps = block.equations
    values: dict[int, Any] = dict(zip(block.arguments, args, strict=True)) | block.constants
    for step in steps:
        needed = [values[v] for v in step.inputs]
        found = _run(step, needed) if isinstance(step, Equation) else call(block.avals, step, needed)
        values.update(zip(step.outputs, found, strict=True))
    return [values[v] for v in block.results]


def _run(equation: Equation, inputs: list[Any]) -> Sequence[Any]:
    """One equation; the blocks inside of loops and branches are treated likewise."""
    params = equation.params
    inside: Callable[[Any], Any] = lambda jaxpr: lambda *args: tuple(_evaluate(jaxpr, args))
    if equation.primitive.name == "while":
        n, m = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        going, body = inside(params["cond_jaxpr"]), inside(params["body_jaxpr"])
        still = lambda c: going(*inputs[:n], *c)[0]
        advance = lambda c: body(*inputs[n:m], *c)
        return jax.lax.while_loop(lambda c: jnp.any(still(c)), _masked(advance, still, params), tuple(inputs[m:]))
    if equation.primitive.name == "scan":
        n, carried = params["num_consts"], params["num_carry"]
        body = inside(params["jaxpr"])

        def step(carry: Any, x: Any) -> Any:
            found = body(*inputs[:n], *carry, *x)
            return found[:carried], found[carried:]

        carry, xs = tuple(inputs[n : n + carried]), tuple(inputs[n + carried :])
        options = {name: params[name] for name in ("length", "reverse", "unroll")}
        last, ys = jax.lax.scan(step, carry, xs, **options)
        return [*last, *ys]
    if equation.primitive.name == "cond":
        return jax.lax.switch(inputs[0], [inside(branch) for branch in params["branches"]], *inputs[1:])
    found = equation.primitive.bind(*inputs, **equation.primitive.get_bind_params(params))
    return found if equation.primitive.multiple_results else [found]


def _masked(advance: Callable[[Any], Any], still: Callable[[Any], Any], params: dict[str, Any]) -> Callable[[Any], Any]:
    """The body of a loop: under `vmap` it may have a condition for each member, which stands still when it is done."""
    if not params["cond_jaxpr"].out_avals[0].shape:
        return advance

    def body(carry: Any) -> Any:
        going = still(carry)
        wide = lambda x: jax.lax.broadcast_in_dim(going, x.shape, range(going.ndim))
        return tuple(jax.lax.select(wide(x), x, y) for x, y in zip(advance(carry), carry, strict=True))

    return body
