"""Programs, compiled or loaded from disk.

A program is stored under its text, and under the identity of its function (`jaxgait.native.identity`), by which later
processes find it without tracing. The identity is used only if it is reliable: the function has the same one after
tracing, opened no file meanwhile, and was traced without JAX's caches of earlier traces.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import pickle
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax._src.core import trace_state_clean  # see jaxgait.precision
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from jaxgait.native import calls, disk
from jaxgait.native.dependencies import foreign, opened, settings
from jaxgait.native.identity import identity, made_of
from jaxgait.native.lru_cache import LRUCache
from jaxgait.native.program import native
from jaxgait.native.randomness import remembered, watched
from jaxgait.native.refilling import TOGETHER, Lanes, lanes_of
from jaxgait.support import machine
from jaxgait.support.notes import note, reminding, warn_user

HARMLESS = (calls.PREFIX, "lapack_", "mhlo.", "Sharding", "TopK")
"""Prefixes of functions that a program may call in another process: kernels, restored by then, and XLA's own."""


class Program:
    """A function for arguments of given shapes: from disk or traced; compiled when first needed.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxgait.native import program_of
        >>> doubling = program_of(lambda x: 2.0 * x, jax.ShapeDtypeStruct((3,), float))
        >>> print(doubling.results.shape, doubling.compile()(jnp.array([1.0, 2.0, 3.0])))
        (3,) [2. 4. 6.]
    """

    def __init__(
        self, results: Any, make: Callable[[], Callable[..., Any]], calls_python: bool = False, lanes: Lanes = TOGETHER
    ) -> None:
        self.results = _shapes(results)
        self.lanes = lanes
        """How the members of a batch share lanes."""
        self.calls_python = calls_python
        """Whether it calls Python, for example to raise an error: it is then not stored on disk."""
        self._make: Callable[[], Callable[..., Any]] | None = make
        self._made: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def compile(self) -> Callable[..., Any]:
        """The compiled function, for arguments of the same shapes and dtypes."""
        with self._lock:
            if self._made is None:
                assert self._make is not None
                self._made, self._make = self._make(), None  # what was traced is large
            return self._made


class Index(NamedTuple):
    """What is stored on disk under the identity of a function."""

    program: str
    """The program's name on disk."""
    kernels: dict[str, str]
    """Names of the kernels that it calls, and their names on disk."""
    results: Any


def program_of(function: Callable[..., Any], *args: Any, assured: Sequence[str] = (), **options: Any) -> Program:
    """The program of a function, loaded from disk without tracing if an earlier process has stored it.

    Args:
        function: see `native`.
        args: arguments, or their shapes.
        assured: see `native`.
        options: keyword arguments, likewise.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.native import program_of
        >>> program = program_of(lambda m, v: 0.5 * m * v**2, jnp.array(70.0), jnp.array(2.0))
        >>> print(program.results.dtype, program.compile()(jnp.array(70.0), jnp.array(3.0)))  # J, for other numbers
        float64 315.0
    """
    given = (args, options)
    return _program(function, given, assured) or _traced(function, given, assured, None)


def program_for_all_values(
    function: Callable[..., Any], *args: Any, assured: Sequence[str] = (), **options: Any
) -> Program | None:
    """Like `program_of`, but None for a function that branches on the value of an argument.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.native.stored import program_for_all_values
        >>> def stretch(x):
        ...     return x if x > 0.0 else 0.0 * x  # one program for all values is not possible
        >>> print(program_for_all_values(stretch, jnp.array(1.0)))
        None
    """
    given = (args, options)
    try:
        return _program(function, given, assured)
    except jax.errors.ConcretizationTypeError:
        if (name := _name(function, given, assured)) is not None:
            disk.store(name, pickle.dumps(BY_VALUE))
        return None


def _program(function: Callable[..., Any], given: Any, assured: Sequence[str]) -> Program | None:
    """The program of a function, from disk or traced; None if an earlier process found that there is none."""
    name = _name(function, given, assured)
    found = _recalled(name, given)
    if isinstance(found, str):
        return None
    return found or _traced(function, given, assured, name)


BY_VALUE = "decides by the value of an argument"
"""Stored instead of an index for a function without a program."""


def _recalled(name: str | None, given: Any) -> Program | str | None:
    data = None if name is None else disk.load(name)
    if name is None or data is None:
        return None
    try:  # the file may be of another machine or version
        index = pickle.loads(data)
        if index == BY_VALUE:
            return index
        stored = disk.load(index.program)
        if stored is not None and all(calls.restored(*kernel) for kernel in index.kernels.items()):
            structures = (jax.tree.structure(tree) for tree in (given, index.results))
            program = _loaded(stored, *structures)
            return Program(index.results, lambda: program, lanes=lanes_of(" ".join(index.kernels)))
    except Exception as error:
        if not _is_of_another_script(error):
            disk.warn(name, repr(error))
    disk.forget(name)
    return None


def _is_of_another_script(error: Exception) -> bool:
    """Whether an entry names a class that another script defined, such as a state's: an ordinary reason to trace."""
    return isinstance(error, AttributeError) and repr(sys.modules["__main__"]) in str(error)


def _traced(function: Callable[..., Any], given: Any, assured: Sequence[str], name: str | None) -> Program:
    """The program of a function, traced, and stored under a name for the next process."""
    args, options = given
    shapes = jax.tree.map(_shape, given)

    def changeable() -> Any:
        """What tracing may change: settings, and the user's code, also of arguments and patches; not this package."""
        patches = list(foreign())
        return name and (identity(function, shapes, patches, own=True), settings(), patches)

    begun, before = time.perf_counter(), changeable()
    note(f"compiling a new program, usually 2 to 20 s, minutes for derivatives of robots; {_where_kept()}")
    going = reminding("still compiling", begun)
    with going, watched(function) as warnings, opened() as files, afresh(), _uncollected(), jax.disable_jit(False):
        # All arguments are in the text: programs that differ only in which of them they use must differ.
        lowered = jax.jit(native(function, assured=assured), keep_unused=True).lower(*args, **options)
    kept_value = remembered(function)
    if _reads_more(lowered):
        raise TypeError(kept_value or _CACHED)
    for warning in (*warnings, *filter(None, [kept_value])):
        warn_user(warning)
    text = lowered.as_text()
    others = [target for target in re.findall(r"custom_call @([\w.]+)", text) if not target.startswith(HARMLESS)]
    spent = time.perf_counter() - begun
    if others or not _storable(given):
        make = functools.partial(_with_reminders, lowered.compile, spent)
        return Program(lowered.out_info, make, bool(others), lanes_of(text))
    reliable = not files and changeable() == before
    make = functools.partial(_made, lowered, text, name if reliable else None, spent)
    return Program(lowered.out_info, make, lanes=lanes_of(text))


_CACHED = (
    "the program uses a value that was computed while another one was compiled: a function with a cache, as by "
    "functools.cache, must compute with NumPy, or be called before"
)


def _reads_more(lowered: jax.stages.Lowered) -> bool:
    """Whether a program reads a value of an earlier trace, which JAX has made one more argument."""
    try:
        jax.tree.leaves(lowered.in_avals)
    except ValueError:
        return True
    return False


def _where_kept() -> str:
    if disk.folder() is None:
        return "it is not kept for later"
    fault = disk.fault()
    return f"it cannot be kept for later ({fault})" if fault else f"later runs load it from {disk.folder()}"


def compiled(function: Callable[..., Any], *args: Any, assured: Sequence[str] = (), **options: Any) -> Any:
    """Compiles a function for arguments of given shapes with `native`, or loads it from disk.

    Args:
        function: of arrays and pytrees of arrays.
        args: arguments, or their shapes.
        assured: see `native`.
        options: keyword arguments, likewise.

    Returns:
        The compiled program, to be called with arguments of the same shapes and dtypes.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.native import compiled
        >>> weight = compiled(lambda mass: 9.81 * mass, jnp.array(1.0))
        >>> print(weight(jnp.array(100.0)))  # N
        981.0
    """
    return program_of(function, *args, assured=assured, **options).compile()


def kept(function: Callable[..., Any], *, assured: Sequence[str] = ()) -> Callable[..., Any]:
    """The same function, compiled with `native` for every new structure of its arguments, or loaded from disk.

    Within a JAX transformation the function itself is called.

    Args:
        function: see `native`; leaves of its arguments that are not arrays must be hashable.
        assured: see `native`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.native import kept
        >>> double = kept(lambda x: 2.0 * x)
        >>> float(double(jnp.array(3.0)))
        6.0
    """
    programs = _Kept(function, assured)

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        if jax.config.jax_disable_jit or not trace_state_clean():  # type: ignore[attr-defined]
            return function(*args, **options)
        return programs(jax.tree.map(_plain, (args, options)))

    return made_of(run, "kept", function, tuple(assured))


_KEPT = 32
"""Programs of a function that are kept in memory."""


class _Kept:
    """The last programs of a function: one for each structure of its arguments and each state of the user's code."""

    def __init__(self, function: Callable[..., Any], assured: Sequence[str]) -> None:
        self._function, self._assured = function, assured
        self._native = native(function, assured=assured)
        self._programs = LRUCache(_KEPT)
        self._fixed: deque[Any] = deque(maxlen=_KEPT)
        """Keys of programs without code of the user's own, which may change."""

    def __call__(self, arguments: Any) -> Any:
        """The function's value; the arguments are a tuple and a dict."""
        arrays, rest = eqx.partition(arguments, eqx.is_array)
        where = (machine.device(), disk.folder(), jax.config.jax_enable_x64)  # type: ignore[attr-defined]
        key = (*signature(arguments), *where)
        own = lambda: identity(self._function, rest, own=True)

        def make() -> Callable[..., Any]:
            program = self._program(arrays, rest)
            if own() is None:
                self._fixed.append(key)
            return program

        return self._programs.get(lambda: (key, None if key in self._fixed else own()), make)(arrays)

    def _program(self, arrays: Any, rest: Any) -> Callable[..., Any]:
        function = self._function
        program = program_of(lambda arrays: _call(function, arrays, rest), arrays, assured=self._assured)
        if not program.calls_python:
            return program.compile()
        plain, number = eqx.filter_jit(self._native), next(_numbers)

        def with_formatted_errors(arrays: Any) -> Any:  # by equinox
            with afresh(number):
                return _call(plain, arrays, rest)

        return with_formatted_errors


def _call(function: Callable[..., Any], arrays: Any, rest: Any) -> Any:
    args, options = eqx.combine(arrays, rest)
    return function(*args, **options)


def _plain(x: Any) -> Any:
    """NumPy's arrays as JAX's, and its numbers, which may be counts, as Python's."""
    return x.item() if isinstance(x, np.generic) else jnp.asarray(x) if isinstance(x, np.ndarray) else x


def signature(tree: Any) -> tuple[Any, ...]:
    """Everything in arguments that a compiled program depends on: all but the numbers in arrays; hashable."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, *map(_signature, leaves)


def _signature(x: Any) -> tuple[Any, ...]:
    """A key that equals no other: 1, 1.0 and True are equal in Python, and so are 0.0 and -0.0."""
    if eqx.is_array(x):  # placement included
        return x.shape, x.dtype, getattr(x, "weak_type", False), getattr(x, "sharding", None)
    return type(x), repr(x) if isinstance(x, float | complex) else x


_trace = jax.make_user_context(0) if hasattr(jax, "make_user_context") else None
_numbers = itertools.count(1)


def afresh(number: int | None = None) -> contextlib.AbstractContextManager[Any]:
    """Traces without JAX's cache of earlier traces, which may be outdated, except those under the same number."""
    if _trace is None:
        return contextlib.nullcontext()
    return _trace(next(_numbers) if number is None else number)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Suspends garbage collection during a trace, which makes many objects, but hardly any garbage."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _storable(given: Any) -> bool:
    """Whether a program for these arguments may be stored: for the first CPU, with all arguments there."""
    if disk.folder() is None or not machine.on_cpu():
        return False
    home, arrays = machine.devices()[0], [x for x in jax.tree.leaves(given) if isinstance(x, jax.Array)]
    return machine.device() == home and all(x.devices() == {home} for x in arrays)


def _name(function: Callable[..., Any], given: Any, assured: Sequence[str]) -> str | None:
    """The name of a program on disk before it is traced; None if it cannot be stored."""
    if _trace is None or not _storable(given):
        return None
    known = identity(function, tuple(assured), jax.tree.map(_shape, given))
    return None if known is None else disk.key("index", known)


def _shape(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) if isinstance(x, jax.Array) else x


def _shapes(results: Any) -> Any:
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), results)


def _with_reminders(compiling: Callable[[], Any], spent: float) -> Any:
    """Returns what a compilation returns, and prints notes meanwhile; tracing took `spent` s."""
    with reminding("still compiling", time.perf_counter() - spent):
        return compiling()


def _made(lowered: jax.stages.Lowered, text: str, name: str | None, spent: float) -> Callable[..., Any]:
    """A traced program loaded from disk, or compiled and stored; `spent` is the time in s that tracing took."""
    begun = time.perf_counter()
    key = disk.key("program", f"all arguments\n{text}")
    data, program = disk.load(key), None
    if data is not None:
        try:  # the file may be of another machine or version
            program = _loaded(data, lowered.in_tree, lowered.out_tree)
        except Exception as error:
            disk.warn(key, repr(error))
    if program is None:
        program, whole = _with_reminders(lambda: _compiled(lowered), spent + time.perf_counter() - begun)
        note(f"compiled in {spent + time.perf_counter() - begun:.1f} s")
        if not whole:
            return program
        try:
            disk.store(key, serialize(program)[0])
        except Exception:  # not every program can be serialised
            return program
    if name is not None:
        kernels = {kernel: calls.stored_as(kernel) for kernel in set(re.findall(rf"@({calls.PREFIX}\w+)", text))}
        with contextlib.suppress(Exception):  # classes that no other process finds
            disk.store(name, pickle.dumps(Index(key, kernels, _shapes(lowered.out_info))))
    return program


def _loaded(data: bytes, given: Any, results: Any) -> Callable[..., Any]:
    if b"lapack_" in data:
        _lapack_ready()
    return deserialize_and_load(data, given, results, backend="cpu", execution_devices=machine.devices()[:1])


@functools.cache
def _lapack_ready() -> None:
    """Loads LAPACK, as JAX does when it lowers a call of it; programs from disk would call a null pointer.

    See `prepare_lapack_call` in https://github.com/jax-ml/jax/blob/main/jaxlib/lapack.py.
    """
    jax.jit(jnp.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), jnp.float32))


def _compiled(lowered: jax.stages.Lowered) -> tuple[Any, bool]:
    """A compiled program, and whether it can be serialised: those from JAX's own cache lack their code."""
    named: tuple[dict[str, str | bool], ...] = ({}, {"xla_embed_ir_in_executable": False})
    for options in named:  # the second is the default under another key of that cache
        before = _hits.count
        program = lowered.compile(options or None)
        if _hits.count == before:
            return program, True
    return program, False


class _Hits(threading.local):
    """Number of programs that this thread found in JAX's own cache on disk."""

    count = 0


_hits = _Hits()


def _count(event: str, **_: Any) -> None:
    if event == "/jax/compilation_cache/cache_hits":
        _hits.count += 1


jax.monitoring.register_event_listener(_count)
