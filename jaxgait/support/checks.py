"""Checks of arguments of the entry points; errors name the argument, its value and what is valid."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import inspect
import itertools
import math
import numbers
import operator
import os
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxgait.support.forking import check_threads
from jaxgait.support.libraries import is_installed
from jaxgait.support.notes import warn_user

P = ParamSpec("P")
R = TypeVar("R")
_MISSPELT = 0.85
"""Similarity from which an argument counts as misspelt: maximise is maximize, but strides are not starts."""
_CODE = 80
"""Largest number of characters of a line of code that a message quotes."""
_AS_NEAR = 0.15
"""Of several similar names, a hint offers those whose similarity is within this of the highest one."""


def by_name(example: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: a positional, unknown or missing argument raises an error that shows a correct call.

    For a function with further arguments (``**run``), only names that resemble its own arguments count as unknown.

    Args:
        example: a correct call, as in "write simulate(model, duration=60.0)"; by default made from the signature.

    Raises:
        TypeError: by the decorated function, naming the value or the argument.

    Examples:
        >>> from jaxgait import Bungee, simulate
        >>> simulate(Bungee(), 60.0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        TypeError: simulate takes only model as a positional argument, got also 60.0: write simulate(model, dur...
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        callee, known = function.__name__, inspect.signature(function).parameters
        correct = example or _call_of(callee, known.values())
        positional = [p.name for p in known.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        named = {p.name for p in known.values() if p.kind is not p.VAR_KEYWORD}
        is_open = len(named) < len(known)
        wanted = [p.name for p in known.values() if p.name in named and p.default is p.empty]

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if len(args) > len(positional):
                more = ", ".join(shown(x) for x in args[len(positional) :])
                few = " and ".join(positional)
                kind = "a positional argument" if len(positional) == 1 else "positional arguments"
                raise TypeError(f"{callee} takes only {few} as {kind}, got also {more}: {correct}")
            unknown = [name for name in kwargs if name not in named]
            if is_open:
                unknown = [name for name in unknown if difflib.get_close_matches(name, named, 1, _MISSPELT)]
            if unknown:
                hint = nearest(unknown[0], named, limit=1, otherwise=correct, cutoff=0.65)
                raise TypeError(f"{callee} has no argument {unknown[0]!r}: {hint}")
            missing = [name for name in wanted if name not in kwargs and name not in positional[: len(args)]]
            if missing:
                raise TypeError(f"{callee} needs {' and '.join(missing)}: {correct}")
            return function(*args, **kwargs)

        call.__by_name__ = True  # type: ignore[attr-defined]  # read by the tests
        return call

    return decorate


def _call_of(callee: str, arguments: Iterable[inspect.Parameter]) -> str:
    """A call with the arguments that have no default, and the first of those that are given by name."""
    first = [p.name for p in arguments if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty]
    by_names = [p for p in arguments if p.kind is p.KEYWORD_ONLY]
    chosen = [p for p in by_names if p.default is p.empty] or by_names[:1]
    return f"write {callee}({', '.join([*first, *(f'{p.name}=...' for p in chosen)])})"


def nearest(name: Any, known: Iterable[str], *, limit: int = 3, otherwise: str = "", cutoff: float = 0.5) -> str:
    """A hint for an unknown name: up to `limit` similar known ones; if there are none, `otherwise` or all of them."""
    known = list(known)
    if other_case := [one for one in known if one.lower() == str(name).lower()]:
        return f"did you mean {other_case[0]!r}?"
    near = difflib.get_close_matches(str(name), known, n=limit, cutoff=cutoff)
    alike = [difflib.SequenceMatcher(None, one, str(name)).ratio() for one in near]
    near = [one for one, ratio in zip(near, alike, strict=True) if ratio > max(alike) - _AS_NEAR]
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    return otherwise or f"it has {', '.join(known) or 'none'}"


NEED_A_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)
"""Errors of code that needs a value while it is traced, before there are values."""


def needs_a_value(code: str, error: BaseException) -> str:
    """The message for an error of `NEED_A_VALUE` in some code: the line that raised it, and what to write instead."""
    return (
        f"{code} needs a value that is known only when the compiled program runs ({location(error)}): write "
        "jnp.where(condition, a, b) instead of `if` and x[condition], and jnp functions instead of float(), math and "
        "numpy ones"
    )


class Place(str):
    """A note on an error: where in a model's code it was raised."""

    __slots__ = ()


def is_ours(file: str) -> bool:
    """Whether a file belongs to this package.

    Examples:
        >>> from jaxgait.support import checks
        >>> print(checks.is_ours(checks.__file__), checks.is_ours("/home/me/hopper.py"))
        True False
    """
    return file.startswith(os.path.dirname(os.path.dirname(__file__)) + os.sep)


def location(error: BaseException) -> str:
    """The line of the user's code that raised an error; if there is none, the last one of this package or a library."""
    frames = traceback.extract_tb(error.__traceback__)
    return own_line(error) or _line(next((f for f in frames[::-1] if not is_installed(f.filename)), frames[-1]))


def own_line(error: BaseException) -> str:
    """The last line of the user's code that led to an error; empty if none did.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.support.checks import own_line
        >>> try:
        ...     Bungee().preset("heavy")
        ... except ValueError as error:
        ...     print("line 2 of" in own_line(error))
        True
    """
    frames = traceback.extract_tb(error.__traceback__)[::-1]
    own = (f for f in frames if f.line and not (is_ours(f.filename) or is_installed(f.filename)))
    return next(map(_line, own), "")


def _line(at: traceback.FrameSummary) -> str:
    code = (at.line or "").strip()
    code = code if len(code) <= _CODE else f"{code[: _CODE - 3]}..."
    return f"line {at.lineno} of {at.filename}: {code!r}"


def listed(items: Sequence[str], last: str = "or") -> str:
    """Items joined for a sentence: "a, b or c"; empty for none."""
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def count_of(count: int | np.integer, one: str, many: str) -> str:
    """A count with its noun: "1 block" or "3 blocks"; no dimension.

    Examples:
        >>> from jaxgait.support.checks import count_of
        >>> print(count_of(1, "frame is missing", "frames are missing"))
        1 frame is missing
    """
    return f"{count} {one if count == 1 else many}"


def first_few(items: Sequence[str], limit: int = 6) -> str:
    """The first `limit` items, and how many were left out; no dimension.

    Examples:
        >>> from jaxgait.support.checks import first_few
        >>> print(first_few(["RASI", "LASI", "RKNE"], limit=2))
        RASI, LASI and 1 more
    """
    more = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(items[:limit]) + more


def fitting(items: Sequence[str], letters: int) -> str:
    """The first items, joined by semicolons, that fit into `letters` characters; if none does, the first one, cut.

    Examples:
        >>> from jaxgait.support.checks import fitting
        >>> print(fitting(["RASI is missing", "RKNE is missing", "no forces"], 32))
        RASI is missing; RKNE is missing
    """
    kept = [
        text
        for text, size in zip(items, itertools.accumulate(len(x) + 2 for x in items), strict=True)
        if size - 2 <= letters
    ]
    return "; ".join(kept) or "".join(f"{x[: letters - 3]}..." for x in items[:1])


def is_concrete(tree: Any) -> bool:
    """Whether no leaf is traced by `jit`, `vmap` or a derivative."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def computed_at_once() -> AbstractContextManager[Any]:
    """A context in which JAX computes with concrete numbers, even while it traces the caller.

    It is empty if JAX is not tracing: its own context would compile operations on constants one by one.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxgait.support.checks import computed_at_once, is_concrete
        >>> def doubled(x):
        ...     with computed_at_once():
        ...         assert is_concrete(jnp.sin(0.0))
        ...     return 2 * x
        >>> print(jax.jit(doubled)(1.0))
        2.0
    """
    now = is_concrete(jnp.zeros(()))  # under jit, new arrays are traced
    return contextlib.nullcontext() if now else jax.ensure_compile_time_eval()


def untraced(caller: str, *values: Any) -> None:
    """Checks that a function which returns labelled results is not called while JAX traces.

    Raises:
        TypeError: with what to use instead.
        RuntimeError: in a process that was forked after JAX had started its threads.
    """
    check_threads()
    if not is_concrete((values, jnp.zeros(()))):  # under jit, new arrays are traced too
        raise TypeError(
            f"{caller} cannot run within jax.jit, jax.vmap or a derivative, because its results are labelled: outside, "
            "call ensemble (gradient=[...] for derivatives); inside, jaxgait.solve.smooth.integrate, "
            "jaxgait.solve.hybrid.hybrid or jaxgait.solve.time_stepping.march"
        )


def an_instance(model: Any) -> None:
    """Raises an error if a model is a class instead of an instance; return maps may take anything else.

    Raises:
        TypeError: with the call that makes an instance.
    """
    if isinstance(model, type):
        raise TypeError(f"give an instance of the model, not the class: {model.__name__}()")


def of_class(name: str, value: Any, kind: type, example: str) -> None:
    """Checks that an argument is of a class; `example` is for the message.

    Raises:
        TypeError: for anything else.

    Examples:
        >>> from jaxgait.support.checks import of_class
        >>> of_class("branch", 3, dict, "such as continuation returns")
        Traceback (most recent call last):
            ...
        TypeError: branch must be a dict, such as continuation returns, got 3
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise TypeError(f"{name} must be {article} {kind.__name__}, {example}, got {shown(value)}")


def count(name: str, value: Any, *, least: int = 1) -> int:
    """An integer of at least `least`.

    Raises:
        ValueError: for anything else, including strings, booleans, fractions and traced values.
    """
    try:
        integer = least - 1 if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        integer = least - 1
    if integer < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {shown(value)}")
    return integer


def number(name: str, value: Any, unit: str, *, above: float = -math.inf) -> None:
    """Checks one finite number above a limit, if it is concrete.

    Raises:
        ValueError: for anything else, also for a number that is labelled with another unit.
    """
    if not is_concrete(value):
        return
    _check_label(name, value, unit)
    x = real(value)
    if x is None or not math.isfinite(x) or not x > above:
        wanted = "finite" if above == -math.inf else f"finite and above {above:g} {unit}"
        raise ValueError(f"{name} must be one number in {unit}, {wanted}, got {shown(value)}")


def positive(name: str, value: Any, unit: str = "", *, below: float = math.inf) -> float:
    """A finite number above zero (and below a limit); `unit`, such as "s" or "seconds", is for the message.

    Raises:
        ValueError: for anything else, also for a number that is labelled with another unit.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.support.checks import positive
        >>> positive("speed", xr.DataArray(5.0, attrs={"units": "km/h"}), "m/s")
        Traceback (most recent call last):
            ...
        ValueError: speed must be a number in m/s, got one labelled 'km/h': convert it, and give the number alone
    """
    _check_label(name, value, unit)
    wanted = f"a positive number{f' of {unit}' if unit else ''}" + (f" below {below:g}" if below < math.inf else "")
    number = real(value)
    if number is None or not (math.isfinite(number) and 0 < number < below):
        raise ValueError(f"{name} must be {wanted}, got {shown(value)}")
    return number


def _check_label(name: str, value: Any, unit: str) -> None:
    """Checks that a number labelled with a unit, as xarray and pandas do, has the one wanted, if there is one."""
    given = getattr(value, "attrs", {}).get("units", unit)
    if unit and given not in (unit, {"seconds": "s"}.get(unit)):
        what = f"{name} must be a number in {unit}, got one labelled {given!r}"
        raise ValueError(f"{what}: convert it, and give the number alone")


def flag(name: str, value: Any) -> bool:
    """True or False.

    Raises:
        ValueError: for anything else.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def one_of(name: str, value: Any, known: Sequence[str] | Mapping[str, Any]) -> str:
    """A value that must be one of several names.

    Raises:
        ValueError: for any other value, listing the names.
    """
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, got {shown(value)}")
    return value


def as_names(argument: str, value: Any) -> tuple[str, ...]:
    """Several names in order, or a single one, as a tuple.

    Raises:
        TypeError: for anything else, naming the argument.

    Examples:
        >>> from jaxgait.support.checks import as_names
        >>> print(as_names("watch", "height"), as_names("watch", ["x", "v"]))
        ('height',) ('x', 'v')
    """
    several = (value,) if isinstance(value, str) else value
    if not (isinstance(several, Sequence) and all(isinstance(one, str) for one in several)):
        raise TypeError(f"{argument} must be a list of names, got {shown(value)}")
    return tuple(several)


def library(module: str, purpose: str, install: str) -> Any:
    """Imports a library that only some tasks need; `purpose` ("sampling needs") and `install` are for the message.

    Raises:
        ModuleNotFoundError: if it is missing, with what to install.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = f"{purpose} {error.name}: pip install {install}"
        raise ModuleNotFoundError(message, name=error.name) from error


def not_in_files(names: Iterable[str]) -> str:
    """What is wrong with the first of some names that results on disk cannot have; empty if there is none.

    Examples:
        >>> from jaxgait.support.checks import not_in_files
        >>> not_in_files(["mass", "m/s"])
        "names must not contain '/', which separates folders in files: 'm/s'"
    """
    for name in names:
        if not name:
            return "names must not be empty"
        if "/" in name:
            return f"names must not contain '/', which separates folders in files: {name!r}"
        if name.startswith(".") or name == "zarr.json":
            return f"names must neither begin with '.' nor be 'zarr.json', which stores use themselves: {name!r}"
    return ""


def shown(value: Any) -> str:
    """A value as error messages show it: on one short line, cut with "..." if necessary; a traced one in words.

    Examples:
        >>> from jaxgait.support.checks import shown
        >>> print(shown([70.0, 75.0]), shown("a long text " * 9))
        [70.0, 75.0] 'a long text a long text a long text a long text a long t...
    """
    text = "a traced value" if not is_concrete(value) else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def warn_unused(part: Any, label: str, names: Iterable[str], why: str) -> None:
    """Warns of parameters of a part that differ from their defaults but have no effect, and says why."""
    own = type(part)()
    changed = [f"{label}.{n}" for n in names if not np.allclose(getattr(part, n), getattr(own, n), rtol=1e-6, atol=0.0)]
    if changed:
        warn_user(f"no effect of {', '.join(changed)}: {why}")


def as_array(values: Any) -> np.ndarray:
    """A NumPy array, of any shape and unit, from whatever a user gives.

    Entries that a mask hides (`numpy.ma`) and missing ones among objects (None, `pandas.NA`) are NaN, hidden dates NaT,
    and hidden entries of any other kind None; objects that are all numbers, such as `decimal.Decimal`, become floats.

    Raises:
        ValueError: for lists that form no array.

    Examples:
        >>> from decimal import Decimal
        >>> import numpy as np
        >>> from jaxgait.support.checks import as_array
        >>> print(as_array(np.ma.array([60, 75], mask=[False, True])), as_array([Decimal("60.5"), 75]))
        [60. nan] [60.5 75. ]
    """
    if isinstance(values, list | tuple) and any(isinstance(x, np.ma.MaskedArray) for x in values):
        values = np.ma.stack([np.ma.asarray(x) for x in values])
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        values = np.where(np.ma.getmaskarray(values), *_hidden(values.data))
    x = np.asarray(values)
    if x.dtype.kind == "O" and x.ndim and all(is_number(entry) or _is_missing(entry) for entry in x.flat):
        return np.array([math.nan if _is_missing(entry) else float(entry) for entry in x.flat]).reshape(x.shape)
    return x


def _hidden(data: np.ndarray) -> tuple[Any, np.ndarray]:
    """What replaces hidden entries, and the others with a type that can hold it; booleans and text keep their types."""
    if data.dtype.kind in "Mm":
        return data.dtype.type("NaT"), data
    return (np.nan, data) if data.dtype.kind in "fiuc" else (None, data.astype(object))


def is_number(x: Any) -> bool:
    """Whether a value, in any unit, is a real number and not a boolean; `decimal.Decimal` counts."""
    return isinstance(x, numbers.Real | Decimal) and not isinstance(x, bool | np.bool_)


def _is_missing(x: Any) -> bool:
    return x is None or type(x).__name__ == "NAType"  # of pandas, whose import takes long


def not_numbers(x: np.ndarray) -> str:
    """A hint at what non-numeric values, of any shape, were meant to be."""
    if x.dtype.kind == "U" and x.size and re.match(r"\s*[-+]?\.?\d", str(x.flat[0])):
        return ": give numbers in the unit of the model, without quotes"
    if x.dtype.kind == "O" and x.ndim == 0 and isinstance(x.item(), Iterable):  # such as a set or a generator
        return ": give a list"
    choices = x.dtype.kind in "bU" or (x.dtype.kind == "O" and x.size > 0 and x.flat[0] is not None)
    return ": to vary a choice or a part, run one ensemble per model (with_parts)" if choices else ""


def real(value: Any) -> float | None:
    """A real number in any unit, or a scalar array of one, as a float; None for booleans, strings and anything else."""
    if isinstance(value, bool | np.bool_ | str | bytes) or np.ndim(value) != 0:
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
