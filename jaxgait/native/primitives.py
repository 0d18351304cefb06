"""The structure of JAX's loops, branches and calls.

The parameters of these operations depend on JAX's version and are read only here. Operations in an unknown form are
left to XLA, with one warning.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr

CALLS = {
    **{"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr"},
    **{"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"},
}
"""Calls of one program by another, and the parameter that holds the program; derivative rules are no longer needed."""

_FINITE = "assuming_finite"
"""The name of calls of such functions, which JAX passes on to derivatives and batches of them."""


def assuming_finite(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of pytrees, jitted, in which kernels may compute as if no number were infinite or NaN.

    Zero times any number is then zero, and zeros may lose their sign. Zeros that are known when a kernel is written, as
    in a rotation about an axis, or in a direction in which a Jacobian is computed, cost nothing: more than half of the
    operations of a leg in space, and a quarter in the plane (`experiments.benchmarks.trees`). Where numbers are not
    finite, some results may be.

    Args:
        function: of arrays and pytrees of arrays.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxgait.native import assuming_finite, explain
        >>> turn = jnp.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        >>> field = lambda y: turn @ jnp.sin(y)
        >>> def operations(field):
        ...     step = lambda _, y: y + 0.1 * field(y)
        ...     return int(explain(lambda y: jax.lax.fori_loop(0, 3, step, y), jnp.ones(3)).split()[3])
        >>> operations(assuming_finite(field)) < 0.7 * operations(field)  # one sine is not needed
        True
    """

    def call(*args: Any, **options: Any) -> Any:
        return function(*args, **options)

    call.__name__ = _FINITE
    return eqx.filter_jit(call)


class While(NamedTuple):
    """A loop with a condition; its inputs are constants of both, then the initial values."""

    condition: ClosedJaxpr
    body: ClosedJaxpr
    constants: tuple[int, int]
    """Number of inputs that are constants of the condition, and of the body."""


class Scan(NamedTuple):
    """A loop over arrays; its inputs are constants, initial values and arrays."""

    body: ClosedJaxpr
    constants: int
    carried: int
    options: dict[str, Any]
    """Options of `jax.lax.scan`."""


class Branches(NamedTuple):
    """One of several programs, selected by the first input."""

    branches: tuple[ClosedJaxpr, ...]


class Call(NamedTuple):
    """A call that does what its program does."""

    program: ClosedJaxpr
    finite: bool = False
    """Whether it is a call of a function by `assuming_finite`."""


class Unfamiliar(Exception):
    """This version of JAX has another form than those known here."""


def read(name: str, params: Mapping[str, Any], inputs: int) -> While | Scan | Branches | Call | None:
    """The parts of a loop, branch or call; None for other operations, and for unknown forms.

    Args:
        name: of the primitive.
        params: its parameters.
        inputs: number of inputs.
    """
    reader = READERS.get(name)
    if reader is None:
        return None
    found = reader(name, params)
    if found is None or not _agrees(found, inputs):
        warn(name)
        return None
    return found


def stacked(scan: Scan) -> list[ShapedArray]:
    """Shapes and dtypes of the arrays that a scan stacks."""
    length = scan.options["length"]
    return [ShapedArray((length, *a.shape), a.dtype) for a in scan.body.out_avals[scan.carried :]]


def results(loop: While | Scan) -> list[ShapedArray]:
    """Shapes and dtypes of a loop's results."""
    if isinstance(loop, While):
        return [ShapedArray(a.shape, a.dtype) for a in loop.body.out_avals]
    carried = [ShapedArray(a.shape, a.dtype) for a in loop.body.out_avals[: loop.carried]]
    return [*carried, *stacked(loop)]


def repeated(
    loop: While, condition: Callable[..., Any], body: Callable[..., Any], inputs: Sequence[Any]
) -> Sequence[Any]:
    """`jax.lax.while_loop` with another condition and body."""
    n, m = loop.constants
    still = lambda carry: condition(*inputs[:n], *carry)[0]
    advance = lambda carry: tuple(body(*inputs[n : n + m], *carry))
    step = _masked(advance, still) if loop.condition.out_avals[0].shape else advance
    return jax.lax.while_loop(lambda carry: jnp.any(still(carry)), step, tuple(inputs[n + m :]))


def _masked(advance: Callable[[Any], Any], still: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The body of a loop that under `vmap` has a condition for each member: finished ones keep their values."""

    def body(carry: Any) -> Any:
        going = still(carry)
        wide = lambda x: jax.lax.broadcast_in_dim(going, x.shape, range(going.ndim))
        return tuple(jax.lax.select(wide(x), x, y) for x, y in zip(advance(carry), carry, strict=True))

    return body


def scanned(scan: Scan, body: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    """`jax.lax.scan` with another body."""
    n, carried = scan.constants, scan.carried

    def step(carry: Any, x: Any) -> Any:
        found = body(*inputs[:n], *carry, *x)
        return tuple(found[:carried]), tuple(found[carried:])

    carry, xs = tuple(inputs[n : n + carried]), tuple(inputs[n + carried :])
    last, ys = jax.lax.scan(step, carry, xs, **scan.options)
    return [*last, *ys]


def bind(primitive: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    """Applies an operation with the parameters of an equation; returns all its results.

    Raises:
        Unfamiliar: if this version of JAX derives parameters in an unknown way.
    """
    found = primitive.get_bind_params(params)
    functions, params = found if isinstance(found, tuple) else ((), found)  # up to jax 0.9 functions are apart
    if not isinstance(params, dict):
        raise Unfamiliar(primitive.name)
    results = primitive.bind(*functions, *inputs, **params)
    return results if primitive.multiple_results else [results]


def _while(_: str, params: Mapping[str, Any]) -> While | None:
    names = ("cond_jaxpr", "body_jaxpr", "cond_nconsts", "body_nconsts")
    if not params.keys() >= set(names):
        return None
    condition, body, *counts = (params[name] for name in names)
    return While(_closed(condition), _closed(body), (counts[0], counts[1]))


def _scan(_: str, params: Mapping[str, Any]) -> Scan | None:
    if not params.keys() >= {"jaxpr", "length", "reverse", "unroll"}:
        return None
    options = {name: params[name] for name in ("length", "reverse", "unroll")}
    if params.keys() >= {"num_consts", "num_carry"}:
        return Scan(_closed(params["jaxpr"]), params["num_consts"], params["num_carry"], options)
    groups = getattr(params.get("ft_in"), "unpack", tuple)()  # from jax 0.12: constants, initial values, arrays
    if len(groups) != 3:
        return None
    return Scan(_closed(params["jaxpr"]), len(list(groups[0])), len(list(groups[1])), options)


def _cond(_: str, params: Mapping[str, Any]) -> Branches | None:
    return Branches(tuple(map(_closed, params["branches"]))) if "branches" in params else None


def _call(name: str, params: Mapping[str, Any]) -> Call | None:
    if CALLS[name] not in params:
        return None
    return Call(_closed(params[CALLS[name]]), params.get("name") == _FINITE)


def _high(_: str, params: Mapping[str, Any]) -> Call | None:
    """An operation that expands to others, from jax 0.12, such as `jnp.searchsorted` in `jnp.interp`."""
    made: Any = params.get("_prim")
    known = all(hasattr(made, name) for name in ("expand", "in_tree", "in_avals_flat"))
    wide = bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]
    return Call(_expanded(made, tuple(made.in_avals_flat), wide)) if known else None


@functools.lru_cache
def _expanded(made: Any, inputs: tuple[Any, ...], wide: bool) -> ClosedJaxpr:
    """The program of such an operation, which is equal to others of its kind, whatever their inputs and JAX's mode."""
    flat = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs]
    return jax.make_jaxpr(lambda *flat: made.expand(*jax.tree.unflatten(made.in_tree, flat)))(*flat)


READERS: dict[str, Callable[[str, Mapping[str, Any]], Any]] = {
    **{"while": _while, "scan": _scan, "cond": _cond},
    **dict.fromkeys(CALLS, _call),
    "call_hi_primitive": _high,
}


def _closed(jaxpr: Any) -> ClosedJaxpr:
    return jaxpr if hasattr(jaxpr, "consts") else ClosedJaxpr(jaxpr, ())


def _agrees(found: While | Scan | Branches | Call, inputs: int) -> bool:
    """Whether numbers, shapes and types of inputs and results are consistent."""
    if isinstance(found, While):
        n, m = found.constants
        carried = inputs - n - m
        takes = (len(found.condition.in_avals), len(found.body.in_avals), len(found.body.out_avals))
        return takes == (n + carried, m + carried, carried)
    if isinstance(found, Scan):
        initial, results = found.body.in_avals[found.constants :][: found.carried], found.body.out_avals
        same = [a.shape == b.shape and a.dtype == b.dtype for a, b in zip(initial, results, strict=False)]
        return len(found.body.in_avals) == inputs and len(same) == found.carried and all(same)
    if isinstance(found, Branches):
        return all(len(branch.in_avals) == inputs - 1 for branch in found.branches)
    return len(found.program.in_avals) == inputs


@functools.cache
def warn(name: str) -> None:
    """Warns once that an operation has an unknown form."""
    warnings.warn(
        f"jax {jax.__version__} has a form of {name!r} that jaxgait does not know: XLA compiles what is inside, with "
        "the same results but slower",
        RuntimeWarning,
        stacklevel=2,
    )


# --- run-time checks (`equinox.error_if`) -----------------------------------------------------------------------------
# A check is a branch that calls Python to raise an error. XLA cannot cache a program that calls Python, and one failing
# member of an ensemble would lose all of them. Callers that guarantee a condition can remove its check by its message.


def passed(branches: Sequence[ClosedJaxpr], assured: Sequence[str]) -> ClosedJaxpr | None:
    """The branch without an error, if the branches are those of an assured check.

    Args:
        branches: of a branching operation.
        assured: beginnings of the messages of checks to remove.
    """
    if not assured or len(branches) != 2:
        return None
    silent = [branch for branch in branches if not _callbacks(branch)]
    claims = [_messages(callback) for branch in branches for callback in _callbacks(branch)]
    known = bool(claims) and all(m and all(x.startswith(tuple(assured)) for x in m) for m in claims)
    return silent[0] if len(silent) == 1 and known else None


def _callbacks(branch: ClosedJaxpr) -> list[Any]:
    return [e.params.get("callback") for e in branch.jaxpr.eqns if e.primitive.name == "pure_callback"]


def _messages(callback: Any) -> list[str]:
    function: Any = getattr(callback, "callback_func", None)
    if getattr(function, "__module__", None) != "equinox._errors":
        return []
    return list(inspect.getclosurevars(function).nonlocals.get("msgs", []))
