"""Loops of one member, as one kernel over all members.

`looped` takes a function of one member, before `vmap`. Each of its loops becomes an operation (`LOOP`), for which
`vmap` only notes which operands differ between members: the loop is compiled as written for one, and every member
iterates as often as it needs to.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Literal, Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir, partial_eval

from jaxgait.native import ptx
from jaxgait.native.calls import available, head, pointers, registered
from jaxgait.native.code import Code, Unsupported, arrays_in_memory, count, loops, most_parts
from jaxgait.native.identity import made_of
from jaxgait.native.passes import read_loop
from jaxgait.native.primitives import Call, Scan, While, bind, read, repeated, results, scanned
from jaxgait.native.program import check_function, rewritten
from jaxgait.native.refilling import assembly, lanes

LOOP = Primitive("member_loop")
"""A loop of one member; once batched, of all of them."""
LOOP.multiple_results = True

MIN_OPERATIONS = 40
"""Least number of operations of a loop for a kernel of its own."""


def looped(function: Callable[..., Any], *, assured: Sequence[str] = ()) -> Callable[..., Any]:
    """The same function of one member, whose loops become kernels over all members once it is batched.

    It may be batched at most once, and not differentiated afterwards. Loops with unsupported operations are left to
    XLA. The maximum and minimum of an array with NaN are NaN, as without `vmap`.

    Args:
        function: to pytrees of arrays, from any pytrees: leaves that are not arrays are constants.
        assured: see `jaxgait.native.native`.

    Raises:
        TypeError: as `jaxgait.native.native`.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxgait.native import looped, native
        >>> def swing(length):  # a pendulum's angle in rad after 1 s, by midpoint steps
        ...     def step(s):
        ...         t, x, v = s
        ...         middle_x, middle_v = x + 5e-3 * v, v - 5e-3 * 9.81 / length * jnp.sin(x)
        ...         return t + 0.01, x + 0.01 * middle_v, v - 0.01 * 9.81 / length * jnp.sin(middle_x)
        ...     return jax.lax.while_loop(lambda s: s[0] < 0.995, step, (0.0, 0.1, 0.0))[1]
        >>> angles = jax.jit(native(jax.vmap(looped(swing))))
        >>> [round(float(x), 3) for x in angles(jnp.array([0.5, 1.0, 2.0]))]
        [-0.028, -0.1, -0.06]
    """
    check_function(function, assured)
    whole = lambda program, args: jaxpr_as_fun(program)(*args)
    parts = lambda program, args: _evaluate(program, args, tuple(assured))
    evaluate = lambda program, args: (whole if _is_reverse_mode(program.jaxpr) else parts)(program, args)
    return made_of(rewritten(function, evaluate, anywhere=True), "looped", function, tuple(assured))


def _evaluate(program: ClosedJaxpr, args: Sequence[Any], assured: tuple[str, ...], derived: bool = False) -> list[Any]:
    """Re-traces a program with its outermost loops as operations of their own."""
    jaxpr = program.jaxpr
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*program.consts, *args), strict=True))
    get = lambda v: v.val if isinstance(v, Literal) else known[v]
    for equation, wanted in _equations(jaxpr):
        found = _run(equation, [get(v) for v in equation.invars], wanted, assured, derived or _is_derived(equation))
        known.update(zip(equation.outvars, found, strict=True))
    return [get(v) for v in jaxpr.outvars]


def _equations(jaxpr: Any) -> list[tuple[Any, tuple[bool, ...]]]:
    """The equations that the results of a program need, and which of their own results are used."""
    live, _ = partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), True)
    inputs = itertools.chain(live.outvars, *(e.invars for e in live.eqns))
    used = {v for v in inputs if not isinstance(v, Literal)}
    return [(e, tuple(v in used for v in e.outvars)) for e in live.eqns]


def _is_derived(equation: Any) -> bool:
    """Whether JAX has taken a derivative of an equation, or of the call that it is.

    A derivative of a call is noted at the call, and not at the equations within.
    """
    return "jvp(" in str(equation.source_info.name_stack)


def _is_reverse_mode(jaxpr: Any) -> bool:
    """Whether a program is a reverse-mode derivative, which runs back through the steps of a solve.

    Equinox's loops then count steps for all members together (`nonbatchable`), and are left to XLA.
    """
    for e in jaxpr.eqns:
        found = read(e.primitive.name, e.params, len(e.invars))
        if e.primitive.name == "nonbatchable" or (isinstance(found, Call) and _is_reverse_mode(found.program.jaxpr)):
            return True
    return False


def _run(
    equation: Any, inputs: list[Any], wanted: tuple[bool, ...], assured: tuple[str, ...], derived: bool
) -> Sequence[Any]:
    found = read(equation.primitive.name, equation.params, len(inputs))
    if isinstance(found, Call) and _is_changed(found.program):
        return _evaluate(found.program, inputs, assured, derived)
    if isinstance(found, While | Scan):
        code = _code(found, equation, wanted, derived, assured)
        if isinstance(code, Codes):
            params = {"wanted": wanted, "members": None, "shared": (True,) * len(inputs)}
            given = iter(LOOP.bind(*inputs, loop=_Same(found), code=_Same(code), **params))
            return [next(given) if used else None for used in wanted]
    results = bind(equation.primitive, inputs, equation.params)
    return [_with_nan(inputs[0], results[0], equation.params["axes"])] if _is_extreme(equation) else results


def _is_extreme(equation: Any) -> bool:
    """Whether an equation is the maximum or minimum of real numbers."""
    return equation.primitive.name in ("reduce_max", "reduce_min") and equation.invars[0].aval.dtype.kind == "f"


def _with_nan(x: Any, extreme: Any, axes: tuple[int, ...]) -> Any:
    """The maximum or minimum of an array, NaN if the array has any.

    For batches of eight and more, XLA's loops on CPUs ignore NaN, and give -inf or the largest of a part of the array.
    """
    return jnp.where(jnp.any(jnp.isnan(x), axis=axes), jnp.nan, extreme)


class Codes:
    """A loop as code for kernels of CPUs and GPUs."""

    def __init__(
        self,
        loop: While | Scan,
        avals: Sequence[Any],
        wanted: tuple[bool, ...],
        derived: bool,
        assured: tuple[str, ...],
    ) -> None:
        self._read = functools.partial(read_loop, loop, avals, wanted, derived, assured)
        self._wide = jax.config.jax_enable_x64  # type: ignore[attr-defined]  # also for code that is read later
        self.vectors = self._read()

    @functools.cached_property
    def threads(self) -> Code:
        """Code for one thread per member, with few registers: arrays are in memory where the loop allows it."""
        with contextlib.suppress(Unsupported), jax.enable_x64(self._wide):
            return self._read(registers=ptx.MAX_IN_THREAD)
        return self.vectors


def _code(
    loop: While | Scan, equation: Any, wanted: tuple[bool, ...], derived: bool, assured: tuple[str, ...]
) -> Codes | str:
    """Code of the loop, or the reason why there is none."""
    try:
        code = Codes(loop, [v.aval for v in equation.invars], wanted, derived, assured)
    except Unsupported as reason:
        return str(reason)
    except Exception as fault:
        _warn_of_failure(fault)
        return repr(fault)
    operations = count(code.vectors.statements)
    return code if operations >= MIN_OPERATIONS else f"only {operations} operations"


def _warn_of_failure(fault: Exception) -> None:
    warnings.warn(f"jaxgait's compiler failed and leaves a loop to XLA: {fault!r}", RuntimeWarning, stacklevel=3)


class Seen(NamedTuple):
    """An outermost loop of a function, and what `looped` makes of it."""

    code: Codes | str
    sizes: tuple[int, ...] = ()
    """Numbers per member of each operand."""
    shared: tuple[bool, ...] = ()
    """Which operands are the same for all members, if all arguments differ between them."""


def explain(function: Callable[..., Any], *args: Any, assured: Sequence[str] = (), gpu: str | None = None) -> str:
    """Describes what `looped` makes of a function: a line for each of its outermost loops.

    Args:
        function: of one member.
        args: its arguments, or their shapes; all of them may differ between members.
        assured: see `jaxgait.native.native`.
        gpu: a processor, such as "sm_90" (H100), for which kernels are also written; NVIDIA's assembler `ptxas` counts
            the registers of 4 bytes that they need, and the bytes that are spilled.

    Raises:
        TypeError: as `jaxgait.native.native`.
        FileNotFoundError: if a processor is given and there is no `ptxas`.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxgait.native import explain
        >>> def swing(length):  # a pendulum's angle in rad after 1 s
        ...     step = lambda s: (s[0] + 0.01, s[1] + 0.01 * s[2], s[2] - 0.01 * 9.81 / length * jnp.sin(s[1]))
        ...     return jax.lax.while_loop(lambda s: s[0] < 0.995, step, (0.0, 0.1, 0.0))[1]
        >>> explain(swing, 1.0).startswith("a kernel of")
        True
    """
    return "\n".join(_described(loop, gpu) for loop in outermost(function, *args, assured=assured)) or "no loops"


def outermost(function: Callable[..., Any], *args: Any, assured: Sequence[str] = ()) -> list[Seen]:
    """What `looped` makes of the outermost loops of a function; arguments as for `explain`."""
    check_function(function, assured)
    arrays, rest = eqx.partition(args, lambda x: eqx.is_array(x) or isinstance(x, jax.ShapeDtypeStruct))
    program = jax.make_jaxpr(lambda arrays: function(*eqx.combine(arrays, rest)))(arrays)
    if _is_reverse_mode(program.jaxpr):
        return [Seen("a derivative in reverse")]
    return _seen(program, tuple(assured), (False,) * len(program.jaxpr.invars))


def _seen(program: ClosedJaxpr, assured: tuple[str, ...], shared: Sequence[bool], derived: bool = False) -> list[Seen]:
    loops: list[Seen] = []
    varying = set(itertools.compress(program.jaxpr.invars, (not same for same in shared)))
    for e, wanted in _equations(program.jaxpr):
        found = read(e.primitive.name, e.params, len(e.invars))
        inside = derived or _is_derived(e)
        same = tuple(isinstance(v, Literal) or v not in varying for v in e.invars)
        if not all(same):
            varying.update(e.outvars)
        if isinstance(found, Call):
            loops += _seen(found.program, assured, same, inside)
        elif isinstance(found, While | Scan):
            sizes = tuple(math.prod(v.aval.shape) for v in e.invars)
            loops.append(Seen(_code(found, e, wanted, inside, assured), sizes, same))
    return loops


def _described(loop: Seen, gpu: str | None) -> str:
    if isinstance(loop.code, str):
        return f"left to XLA: {loop.code}"
    code = loop.code.vectors
    arrays = f", {n} arrays in memory" if (n := arrays_in_memory(code.statements)) else ""
    parts = f", {n} directions in a loop" if (n := most_parts(code.statements)) else ""
    taken = "" if gpu is None else f"; on {gpu} {_taken(loop.code.threads, loop, gpu)}"
    return f"a kernel of {count(code.statements)} operations, {loops(code.statements)} loops{arrays}{parts}{taken}"


def _taken(code: Code, loop: Seen, gpu: str) -> str:
    """Resources of a GPU that a kernel needs."""
    try:
        _, text = ptx.written(code, ptx.BLOCK_THREADS[0], loop.shared, loop.sizes)
    except Unsupported as reason:
        return f"left to XLA: {reason}"
    found = ptx.resources(text, gpu)
    return f"{found.registers} registers, {found.stored} bytes of spill stores and {found.loaded} of spill loads"


def _is_changed(program: ClosedJaxpr) -> bool:
    """Whether a program has loops, which become operations of their own, or extremes."""
    for e in program.jaxpr.eqns:
        found = read(e.primitive.name, e.params, len(e.invars))
        if isinstance(found, While | Scan) or (isinstance(found, Call) and _is_changed(found.program)):
            return True
        if _is_extreme(e):
            return True
    return False


class _Same:
    """A parameter of an operation that equals only itself."""

    def __init__(self, it: Any) -> None:
        self.it = it


@LOOP.def_abstract_eval
def _(*avals: Any, loop: _Same, wanted: tuple[bool, ...], members: int | None, **_: Any) -> Any:
    lead = () if members is None else (members,)
    return [ShapedArray((*lead, *a.shape), a.dtype) for a in itertools.compress(results(loop.it), wanted)]


def _batched(args: Sequence[Any], axes: Sequence[int | None], *, members: int | None, **params: Any) -> Any:
    if members is not None:
        again = lambda *args: _by_xla(*args, members=members, **params)
        found = jax.vmap(again, in_axes=tuple(axes))(*args)
        return found, [0] * len(found)
    moved = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(args, axes, strict=True)]
    size = next(x.shape[0] for x, axis in zip(moved, axes, strict=True) if axis is not None)
    params["shared"] = tuple(axis is None for axis in axes)
    found = LOOP.bind(*moved, members=size, **params)
    return found, [0] * len(found)


batching.primitive_batchers[LOOP] = _batched


def _differentiated(*_: Any, **__: Any) -> Any:
    raise ValueError("a loop that has become a kernel cannot be differentiated: write looped(jax.jacfwd(f))")


ad.primitive_jvps[LOOP] = _differentiated


def _by_xla(*args: Any, loop: _Same, wanted: tuple[bool, ...], members: int | None, shared: Any, **_: Any) -> list[Any]:

    def one(*args: Any) -> Any:
        body = jaxpr_as_fun(loop.it.body)
        if isinstance(loop.it, Scan):
            found = scanned(loop.it, body, args)
        else:
            found = repeated(loop.it, jaxpr_as_fun(loop.it.condition), body, args)
        return list(itertools.compress(found, wanted))

    if members is None:
        return one(*args)
    return jax.vmap(one, in_axes=tuple(None if same else 0 for same in shared))(*args)


def _by_kernel(*args: Any, code: _Same, members: int | None, shared: tuple[bool, ...], **rest: Any) -> list[Any]:
    if not available():
        return _by_xla(*args, members=members, shared=shared, **rest)
    program: Code = code.it.vectors

    def launch(arrays: Sequence[jax.Array], shapes: Sequence[Any]) -> Sequence[jax.Array]:
        sizes = [math.prod(x.shape[0 if same else 1 :]) for x, same in zip(arrays, shared, strict=True)]
        prologue = [*head(), *pointers(len(arrays), len(shapes))]
        text = assembly(program, prologue, members or 1, shared, sizes)
        name = registered(text, optimised=True, label=lanes(program, members or 1).label)
        return jax.ffi.ffi_call(name, shapes, input_output_aliases={})(*arrays)

    return _launched(launch, program, args, members, **rest)


def _by_threads(*args: Any, code: _Same, members: int | None, shared: tuple[bool, ...], **rest: Any) -> list[Any]:
    program: Code = code.it.threads
    launch = functools.partial(ptx.call, program, members or 1, shared)
    try:
        return _launched(launch, program, args, members, **rest)
    except Unsupported:
        pass
    except Exception as fault:  # (LLVM may have been built without this target)
        _warn_of_failure(fault)
    return _by_xla(*args, members=members, shared=shared, **rest)


def _launched(
    launch: Callable[..., Sequence[jax.Array]],
    program: Code,
    args: Sequence[Any],
    members: int | None,
    *,
    loop: _Same,
    wanted: tuple[bool, ...],
) -> list[Any]:
    """The wanted results of a kernel, which may also need memory for the others."""
    lead, whole = () if members is None else (members,), results(loop.it)
    shapes = [jax.ShapeDtypeStruct((*lead, *whole[i].shape), whole[i].dtype) for i in program.given]
    if members == 0:
        found: Sequence[jax.Array] = [jnp.zeros(x.shape, x.dtype) for x in shapes]
    else:
        found = launch([jnp.asarray(x) for x in args], shapes)
    return [x for i, x in zip(program.given, found, strict=True) if wanted[i]]


@LOOP.def_impl
def _(*args: Any, **params: Any) -> list[Any]:
    with jax.disable_jit(False):
        return jax.jit(functools.partial(LOOP.bind, **params))(*args)


mlir.register_lowering(LOOP, mlir.lower_fun(_by_xla, multiple_results=True))
mlir.register_lowering(LOOP, mlir.lower_fun(_by_kernel, multiple_results=True), platform="cpu")
mlir.register_lowering(LOOP, mlir.lower_fun(_by_threads, multiple_results=True), platform="cuda")
