"""Whole programs: straight-line parts as kernels, the rest as it was."""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.experimental.serialize_executable import deserialize_and_load, serialize
from jax.extend.core import ClosedJaxpr

from jaxgait.native import disk
from jaxgait.native.blocks import Block, Equation
from jaxgait.native.calls import call
from jaxgait.native.kernel import Kernel
from jaxgait.native.primitives import Branches, Scan, While, bind, read
from jaxgait.native.regions import partition
from jaxgait.native.rewriting import rewritten


class Stored(NamedTuple):
    """A program that is traced and ready to be compiled."""

    lowered: jax.stages.Lowered
    key: str | None
    """Its name on disk; None if it cannot be there."""

    def compile(self) -> Callable[..., Any]:
        """The program from disk, or compiled and stored."""
        if self.key is None:
            return self.lowered.compile()
        data = disk.load(self.key)
        if data is not None:
            with contextlib.suppress(Exception):  # whatever another machine, or version, left there
                return _loaded(data, self.lowered)
            disk.forget(self.key)
        before = _hits.count
        program = self.lowered.compile()
        if _hits.count == before:  # what JAX has loaded from its own cache comes without its machine code
            with contextlib.suppress(Exception):  # (not every program can be written down)
                disk.store(self.key, serialize(program)[0])
        return program


class _Hits(threading.local):
    """How many programs this thread has found in JAX's own cache on disk."""

    count = 0


_hits = _Hits()


def _count(event: str, **_: Any) -> None:
    if event == "/jax/compilation_cache/cache_hits":
        _hits.count += 1


jax.monitoring.register_event_listener(_count)


def compiled(function: Callable[..., Any], *args: Any, assured: Sequence[str] = (), **options: Any) -> Any:
    """Compiles a function for arguments of given shapes, with `native`, or takes it from disk.

    Args:
        function: of arrays and pytrees of arrays.
        args: arguments, or their shapes.
        assured: see `native`.
        options: keyword arguments, likewise.

    Returns:
        The compiled program, to be called with arguments of the same shapes and dtypes.
    """
    return _traced(native(function, assured=assured), args, options).compile()


def kept(function: Callable[..., Any], *, assured: Sequence[str] = ()) -> Callable[..., Any]:
    """The same function, compiled with `native` for every new structure of its arguments, or taken from disk.

    Args:
        function: see `native`; leaves of its arguments that are no arrays must be hashable.
        assured: see `native`.
    """
    ours = native(function, assured=assured)
    made: dict[Any, Callable[..., Any]] = {}
    lock = threading.Lock()

    def make(arrays: Any, rest: Any) -> Callable[..., Any]:
        traced = _traced(lambda arrays: ours(*eqx.combine(arrays, rest)), (arrays,), {})
        if traced.key is None:  # it may raise errors, which equinox puts in words
            whole = eqx.filter_jit(ours)
            return lambda arrays: whole(*eqx.combine(arrays, rest))
        return traced.compile()

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        arrays, rest = eqx.partition(args, eqx.is_array)
        leaves, structure = jax.tree.flatten(rest)
        given = [(x.shape, x.dtype, getattr(x, "weak_type", False)) for x in jax.tree.leaves(arrays)]
        where = (jax.default_backend(), disk.folder(), jax.config.jax_enable_x64)  # type: ignore[attr-defined]
        key = (structure, jax.tree.structure(arrays), *leaves, *given, *where)
        with lock:
            if key not in made:
                made[key] = make(arrays, rest)
        return made[key](arrays)

    return run


HARMLESS = ("jaxgait_", "lapack_", "mhlo.", "Sharding", "TopK")
"""Functions that a compiled program may call in another process, too: kernels, there by then, and XLA's own."""


def _traced(function: Callable[..., Any], args: Any, options: Any) -> Stored:
    lowered = jax.jit(function).lower(*args, **options)
    if disk.folder() is None or jax.default_backend() != "cpu" or not _at_home((args, options)):
        return Stored(lowered, None)
    text = lowered.as_text()
    others = [target for target in re.findall(r"custom_call @([\w.]+)", text) if not target.startswith(HARMLESS)]
    return Stored(lowered, None if others else disk.key("program", text))


def _at_home(args: Any) -> bool:
    """Whether all arguments are where programs run if nothing else is said."""
    arrays = [x for x in jax.tree.leaves(args) if isinstance(x, jax.Array)]
    return all(x.devices() == {jax.local_devices()[0]} for x in arrays)


def _loaded(data: bytes, lowered: jax.stages.Lowered) -> Callable[..., Any]:
    return deserialize_and_load(data, lowered.in_tree, lowered.out_tree, execution_devices=jax.local_devices()[:1])


def native(function: Callable[..., Any], *, assured: Sequence[str] = ()) -> Callable[..., Any]:
    """The same function, whose straight-line parts are machine code of their own.

    It must be traced to be run (by `jax.jit`), and not be differentiated or batched any more. On other devices than
    CPUs nothing is changed.

    Args:
        function: to pytrees of arrays, from any pytrees: leaves that are no arrays are constants. It may hold loops and
            branches.
        assured: beginnings of the messages of checks (`equinox.error_if`) that the caller has made sure of: they are
            left out, see `jaxgait.native.checks`.
    """
    return rewritten(function, lambda program, args: _evaluate(program, args, assured))


def _evaluate(program: ClosedJaxpr, args: Sequence[Any], assured: Sequence[str] = ()) -> list[Any]:
    """Runs a program (under a trace: writes it again), straight-line parts as kernels."""
    block = Block(program, assured=assured)
    steps = partition(block)
    if not any(isinstance(step, Kernel) for step in steps):  # all of it is XLA's, which has functions of its own
        block = Block(program, expand=False, assured=assured)
        steps = block.equations
    values: dict[int, Any] = dict(zip(block.arguments, args, strict=True)) | block.constants
    for step in steps:
        needed = [values[v] for v in step.inputs]
        found = _run(step, needed) if isinstance(step, Equation) else call(block.avals, step, needed)
        values.update(zip(step.outputs, found, strict=True))
    return [values[v] for v in block.results]


def _run(equation: Equation, inputs: list[Any]) -> Sequence[Any]:
    """One equation; the blocks inside of loops and branches are treated likewise."""
    inside: Callable[[Any], Any] = lambda jaxpr: lambda *args: tuple(_evaluate(jaxpr, args))
    found = read(equation.primitive.name, equation.params, len(inputs))
    if isinstance(found, While):
        n, m = found.constants
        going, body = inside(found.condition), inside(found.body)
        still = lambda c: going(*inputs[:n], *c)[0]
        advance = lambda c: body(*inputs[n : n + m], *c)
        step = _masked(advance, still) if found.condition.out_avals[0].shape else advance
        return jax.lax.while_loop(lambda c: jnp.any(still(c)), step, tuple(inputs[n + m :]))
    if isinstance(found, Scan):
        return _scanned(found, inside(found.body), inputs)
    if isinstance(found, Branches):
        return jax.lax.switch(inputs[0], [inside(branch) for branch in found.branches], *inputs[1:])
    return bind(equation.primitive, inputs, equation.params)


def _scanned(scan: Scan, body: Callable[..., Any], inputs: list[Any]) -> Sequence[Any]:
    n, carried = scan.constants, scan.carried

    def step(carry: Any, x: Any) -> Any:
        found = body(*inputs[:n], *carry, *x)
        return found[:carried], found[carried:]

    carry, xs = tuple(inputs[n : n + carried]), tuple(inputs[n + carried :])
    last, ys = jax.lax.scan(step, carry, xs, **scan.options)
    return [*last, *ys]


def _masked(advance: Callable[[Any], Any], still: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The body of a loop that under `vmap` has a condition for each member, which stands still when it is done."""

    def body(carry: Any) -> Any:
        going = still(carry)
        wide = lambda x: jax.lax.broadcast_in_dim(going, x.shape, range(going.ndim))
        return tuple(jax.lax.select(wide(x), x, y) for x, y in zip(advance(carry), carry, strict=True))

    return body
