"""Floating-point precision: float64 by default, regardless of JAX's setting, which importing jaxgait does not change.

Public functions and methods are decorated with `float64_default`. There are two ways to request another precision: a
block,

    with precision.use("float32"):
        period = rolling_gait(RollingWalker()).period

and a JAX transformation: under `jax.jit`, `jax.vmap` or `jax.grad`, jaxgait's functions use the caller's precision.
`simulate`, `ensemble`, `optimize` and the command line take `precision="float64"` or `"float32"`.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.core import trace_state_clean  # JAX 0.8 to 0.12 have no public name in common for it

from jaxgait.support.checks import shown
from jaxgait.support.forking import check_threads

Precision = Literal["float64", "float32"]
T = TypeVar("T")

_chosen: contextvars.ContextVar[bool] = contextvars.ContextVar("jaxgait_precision_chosen", default=False)


@contextlib.contextmanager
def use(precision: Precision) -> Iterator[None]:
    """Runs a block of JAX code in a precision, "float64" or "float32", and restores the setting afterwards.

    JAX's search for NaN (`jax_debug_nans`) is off meanwhile: NaN marks missing events, and samples after a run's end.

    Raises:
        ValueError: for any other name.
        RuntimeError: in a process that was forked after JAX had started its threads.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.precision import use
        >>> with use("float64"):
        ...     print(jnp.ones(2).dtype)
        float64
    """
    if precision not in ("float64", "float32"):
        raise ValueError(f"precision must be 'float64' or 'float32', got {shown(precision)}")
    check_threads()
    before = _chosen.set(True)
    searching = jax.config.jax_debug_nans  # type: ignore[attr-defined]
    try:
        with jax.enable_x64(precision == "float64"), jax.debug_nans(False) if searching else contextlib.nullcontext():
            yield
    finally:
        _chosen.reset(before)


def _tell_constants_apart() -> None:
    """Makes JAX keep apart, by precision, its constants for NumPy arrays in equations.

    JAX reuses the constant of an earlier trace, of whatever precision, as long as the traced program lives: equations
    with a table, traced in float32 and then in float64, would not compile, or compute with rounded numbers.
    """
    with contextlib.suppress(ImportError, AttributeError):  # private; as in JAX 0.9 and later
        from jax._src import dtypes
        from jax._src.literals import TypedNdArray
        from jaxlib.weakref_lru_cache import weak_key_weak_value_cache

        make = lambda x: TypedNdArray(np.asarray(x, dtypes.canonicalize_dtype(x.dtype)))
        made = {kind: weak_key_weak_value_cache(make) for kind in ("float32", "float64")}
        dtypes.canonicalize_value_handlers[np.ndarray] = lambda x: made[in_force()](x)  # noqa: PLW0108


_tell_constants_apart()


def float64_default(target: T) -> T:
    """Decorates a public function, or the public methods and properties of a class, to compute in float64.

    A plain call runs under `use("float64")`, with float32 arrays among its arguments widened, which copies them. Inside
    a block of `use` and inside a JAX transformation, a call uses the precision in force.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.precision import float64_default
        >>> @float64_default
        ... def area(radius):
        ...     return jnp.pi * jnp.square(radius)
        >>> area(2.0).dtype.name
        'float64'
    """
    decorated: Any = _decorated_class(target) if isinstance(target, type) else _decorated(target)
    return decorated


def _decorated(function: Any) -> Any:
    @functools.wraps(function)
    def in_float64(*args: Any, **kwargs: Any) -> Any:
        return call_in_float64(function, args, kwargs)

    in_float64.__float64_default__ = True  # type: ignore[attr-defined]  # read by the tests
    return in_float64


def call_in_float64(function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """A call as by `float64_default`.

    A module-level function, not a closure, so that models defined in a script or notebook, which are pickled by value
    with everything their methods refer to, can be sent to other processes.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.precision import call_in_float64
        >>> call_in_float64(jnp.ones, (2,), {}).dtype.name
        'float64'
    """
    if _chosen.get() or not trace_state_clean():
        return function(*args, **kwargs)
    with use("float64"):
        if _is_narrow((args, kwargs)):  # otherwise the same objects, not copies
            args, kwargs = _widened((args, kwargs))
        return function(*args, **kwargs)


def _decorated_class(cls: type) -> type:
    fields = inspect.get_annotations(cls)
    for name, member in [*vars(cls).items()]:
        if isinstance(member, functools.cached_property):  # models are immutable: there is nowhere to keep it
            setattr(cls, name, property(member.func))
    for name in [n for n in vars(cls) if (n == "__call__" or not n.startswith("_")) and n not in fields]:
        member = inspect.getattr_static(cls, name)
        if isinstance(member, property):
            setattr(cls, name, property(_decorated(member.fget), member.fset, member.fdel))
        elif isinstance(member, staticmethod | classmethod):
            setattr(cls, name, type(member)(_decorated(member.__func__)))
        elif not isinstance(member, type) and inspect.isroutine(getattr(cls, name)):
            setattr(cls, name, _decorated(getattr(cls, name)))
    return cls


def _is_dict(x: Any) -> bool:
    """Whether a value is a plain dict: JAX would sort its keys, which changes their order or is impossible."""
    return type(x) is dict


def _is_narrow(tree: Any) -> bool:
    """Whether an array in the tree is in single precision."""
    leaves = jax.tree.leaves(tree, is_leaf=_is_dict)
    return any(any(map(_is_narrow, x.values())) if _is_dict(x) else _wider(x) is not None for x in leaves)


def _widened(tree: Any) -> Any:
    """The tree with its float32 arrays in float64; Python numbers and the order of dicts do not change."""
    return jax.tree.map(_widened_leaf, tree, is_leaf=_is_dict)


def _widened_leaf(x: Any) -> Any:
    if _is_dict(x):
        return {key: _widened(value) for key, value in x.items()}
    wide = _wider(x)
    return x if wide is None else x.astype(wide)


def _wider(x: Any) -> Any:
    """The type of twice the precision of an array in single precision; None of anything else."""
    if not isinstance(x, np.ndarray | np.generic | jax.Array):
        return None
    return {"float32": jnp.float64, "complex64": jnp.complex128}.get(x.dtype.name)


def in_force() -> Precision:
    """The precision in which JAX currently computes.

    Examples:
        >>> from jaxgait.precision import in_force, use
        >>> with use("float32"):
        ...     print(in_force())
        float32
    """
    return "float64" if jax.config.jax_enable_x64 else "float32"  # type: ignore[attr-defined]


def cast(tree: T) -> T:
    """Turns every float leaf, of Python or NumPy, into a JAX array of the precision in force.

    Models keep their parameters as plain numbers until an entry point calls this. Integers of declared parameters
    (see `jaxgait.parameters`), given or default, are converted too, unless the field is annotated as `int`; other
    integers are not, because they may be counts.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.precision import cast, use
        >>> with use("float64"):
        ...     print(cast(Bungee()).mass.dtype)
        float64
    """

    def leaf(path: Any, x: Any) -> Any:
        real = _is(x, float, jnp.floating) or (_is(x, int, jnp.integer) and _is_declared(tree, path))
        return jnp.asarray(x, dtype=jnp.result_type(float)) if real else x

    return jax.tree_util.tree_map_with_path(leaf, tree)


def _is(x: Any, scalar: type, dtype: Any) -> bool:
    """Whether a leaf is a Python number or an array of a kind, and not a flag."""
    is_array = isinstance(x, np.ndarray | np.generic | jax.Array) and jnp.issubdtype(x.dtype, dtype)
    return is_array or (isinstance(x, scalar) and not isinstance(x, bool))


def _is_declared(tree: Any, path: Any) -> bool:
    """Whether a leaf lies in a field of a module that was declared with a unit, and not as a whole number."""
    for key in path:
        if isinstance(key, jax.tree_util.GetAttrKey):
            field = getattr(type(tree), "__dataclass_fields__", {}).get(key.name)
            if field is not None and {"unit", "entries"} & field.metadata.keys():
                words = set(re.findall(r"\w+", str(field.type)))  # of "int", int, "int | None", Optional[int], ...
                return "int" not in words or not words <= {"class", "int", "None", "NoneType", "Optional", "typing"}
            tree = getattr(tree, key.name)
        elif isinstance(key, jax.tree_util.DictKey | jax.tree_util.SequenceKey):
            tree = tree[key.key if isinstance(key, jax.tree_util.DictKey) else key.idx]
        else:
            return False
    return False
