"""The contents of objects as named parts, so that objects of different processes can be compared."""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from jaxgait.native.code_facts import facts


class Opaque(ValueError):
    """Raised where content cannot be determined: of a lock, for example, or of code whose file has changed since."""


def is_plain(x: Any) -> bool:
    """Whether a value is a number, text or None."""
    return x is None or isinstance(x, bool | int | float | complex | str | bytes | np.generic)


_PARTS: dict[Any, Callable[[Any], Mapping[Any, Any]]] = {
    functools.partial: lambda x: {"": x.func, **dict(enumerate(x.args)), **x.keywords},
    types.MethodType: lambda x: {"": x.__func__, "self": x.__self__},
    tuple | list: lambda x: x._asdict() if hasattr(x, "_asdict") else dict(enumerate(x)),
    Mapping: lambda x: x if all(map(is_plain, x)) else dict(enumerate(x.items())),
    np.ndarray: lambda x: {"shape": x.shape, "values": x.ravel().tolist()},
}


def parts_of(x: Any) -> Mapping[Any, Any] | None:
    """The parts of a container or of a function with bound arguments; None for other objects."""
    for kind, parts in _PARTS.items():
        if isinstance(x, kind):
            return parts(x)
    table = hasattr(x, "__array__") and hasattr(x, "to_dict")  # of pandas or xarray, with its labels
    return {"": x.to_dict()} if table else None


def state_of(x: Any, name: str) -> Mapping[Any, Any]:
    """The state of an object, as for pickling, by name of its parts; messages call the object `name`.

    Raises:
        Opaque: if its state cannot be determined.
    """
    if isinstance(x, weakref.ref):
        return {"": x()}
    if isinstance(x, types.CodeType):
        return {"": facts(x).digest}
    if dataclasses.is_dataclass(x):
        fields = {field.name: getattr(x, field.name) for field in dataclasses.fields(x)}
        return fields | _lasting(x, getattr(x, "__dict__", {}))
    try:
        if isinstance(x, np.ufunc) and getattr(np, x.__name__, None) is not x:
            raise TypeError("it may hide a function of Python")
        reduced = x.__reduce_ex__(4)
    except Exception as error:  # a failed pickling may raise anything
        what = f"a {type(x).__qualname__} cannot be compared with another, as stores and checkpoints need ({error})"
        raise Opaque(f"{name}: {what}: leave it out") from error
    if isinstance(reduced, str):
        return {"": reduced}
    parts: list[Any] = [list(part) if isinstance(part, Iterator) else part for part in reduced]
    make, arguments, *rest = parts
    state, *items = rest or [None]
    made = {} if make is copyreg.__newobj__ else {"made by": make}  # type: ignore[attr-defined]
    if arguments != (type(x),):
        made["arguments"] = arguments
    slots = state if isinstance(state, tuple) else (state,)
    plain = all(isinstance(one, dict | None) for one in slots)
    named = {k: v for one in slots for k, v in (one or {}).items()} if plain else {"state": state}
    return made | _lasting(x, named) | {f"item {n}": part for n, part in enumerate(items) if part is not None}


def _lasting(x: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """The state without the values that cached properties keep."""
    return {k: v for k, v in state.items() if not isinstance(getattr(type(x), k, None), functools.cached_property)}
