"""Values of parameters and states that are arrays or nested tuples, and their elements by name, as "masses[1,0]"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxgait.support.checks import is_concrete

ELEMENT = re.compile(r"(.+)\[([^\[\]]*)\]")
"""A name with indices: the name and the indices."""


def declared(known: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The declarations of those names that have one: of parameters, and of elements of arrays.

    Args:
        known: the declarations of a model's parameters, see `jaxgait.parameters.parameters`.
        names: dotted names; others are left out.

    Examples:
        >>> from jaxgait import Exoskeleton
        >>> from jaxgait.elements import declared
        >>> from jaxgait.parameters import parameters
        >>> found = declared(parameters(Exoskeleton()), ["lengths[1]", "lengths[9]"])
        >>> print(list(found), found["lengths[1]"].unit, found["lengths[1]"].rank)
        ['lengths[1]'] m 0
    """
    found = {}
    for name in names:
        if name in known:
            found[name] = known[name]
        elif (split := _split(name, known)) is not None:
            info = known[split[0]]
            if (index := _index(split[1], shape_of(info.value, info.rank))) is not None:
                found[name] = info._replace(value=element(info.value, index), rank=0)
    return found


def array_of(name: str) -> str:
    """The name of the array of which a name is an element, such as "masses" of "masses[1,0]"; other names unchanged.

    Examples:
        >>> from jaxgait.elements import array_of
        >>> print(array_of("masses[1,0]"), array_of("mass"))
        masses mass
    """
    found = ELEMENT.fullmatch(name)
    return found[1] if found else name


def value_named(values: Mapping[str, Any], name: str) -> Any:
    """The value with a name, or an element of an array such as "q[2]"; None if there is neither.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.elements import value_named
        >>> print(value_named({"q": np.array([0.1, 0.2])}, "q[1]"), value_named({"q": np.zeros(2)}, "q[2]"))
        0.2 None
    """
    if name in values:
        return values[name]
    split = _split(name, values)
    index = None if split is None else _index(split[1], np.shape(values[split[0]]))
    return None if split is None or index is None else element(values[split[0]], index)


def no_element(label: str, name: str, values: Mapping[str, Any]) -> str:
    """The error message for indices that an array does not have; empty unless the name is of an element of an array.

    Args:
        label: what precedes the name of the array, such as "Exoskeleton.".
        name: the name with indices.
        values: arrays and numbers by name.
    """
    if (split := _split(name, values)) is None:
        return ""
    array, text = split
    if not (shape := np.shape(values[array])):
        return f"{label}{array} is a single number: leave out [{text}]"
    first, last = (f"'{array}[{','.join(map(str, index))}]'" for index in ([0] * len(shape), [n - 1 for n in shape]))
    return f"{label}{array} is an array of shape {shape}: its elements are {first} to {last}, got {name!r}"


def within_arrays(values: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name; those of elements are put into their array, which is among the values or else in `own`.

    Values may have leading axes, such as one for members, and may be traced.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.elements import within_arrays
        >>> within_arrays({"mass": 2.0, "q[1]": 0.5}, {"mass": 1.0, "q": np.zeros(3)})
        {'mass': 2.0, 'q': array([0. , 0.5, 0. ])}
    """
    found = {name: x for name, x in values.items() if _split(name, own) is None}
    for name, x in values.items():
        if (split := _split(name, own)) is not None:
            array, index = split[0], tuple(map(int, split[1].split(",")))
            found[array] = _with_element(found.get(array, own[array]), index, x)
    return found


def _split(name: Any, known: Mapping[str, Any]) -> tuple[str, str] | None:
    """The array of which a name is an element, and its indices as text; None for other names."""
    found = ELEMENT.fullmatch(name) if isinstance(name, str) and name not in known else None
    return (found[1], found[2]) if found and found[1] in known else None


def _index(text: str, shape: Sequence[int]) -> tuple[int, ...] | None:
    """The indices "1,0" of an element of an array; None unless it has this element, spelled in this way."""
    if not re.fullmatch(r"[0-9]+(,[0-9]+)*", text):
        return None
    index = tuple(map(int, text.split(",")))
    inside = len(index) == len(shape) and all(i < n for i, n in zip(index, shape, strict=True))
    return index if inside and text == ",".join(map(str, index)) else None


def shape_of(value: Any, rank: int) -> tuple[int, ...]:
    """The shape of an array or of nested tuples, without leading axes beyond the rank.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.elements import shape_of
        >>> print(shape_of(np.zeros((8, 3)), 1), shape_of(((1.0, 0.0), (0.0, 1.0)), 2))
        (3,) (2, 2)
    """
    if isinstance(value, tuple | list):
        return (len(value), *(shape_of(value[0], rank - 1) if value and rank > 1 else ()))
    return np.shape(value)[np.ndim(value) - rank :]


def element(value: Any, index: tuple[int, ...]) -> Any:
    """An element of an array (counted along its last axes) or of nested tuples."""
    if index and isinstance(value, tuple | list):
        return element(value[index[0]], index[1:])
    return value[(..., *index)] if index else value


def _with_element(value: Any, index: tuple[int, ...], x: Any) -> Any:
    """An array or nested tuples with one element replaced, which may have leading axes."""
    if not index:
        return x
    if isinstance(value, tuple | list):
        others = (one if np.shape(x) == () else _spread(one, np.shape(x)) for one in value)
        return tuple(_with_element(one, index[1:], x) if i == index[0] else one for i, one in enumerate(others))
    own = np.ndim(value) - len(index)  # the number of leading axes
    shape = np.broadcast_shapes(np.shape(value)[:own], np.shape(x)) + np.shape(value)[own:]
    if isinstance(value, Tracer) or isinstance(x, Tracer):
        return jnp.broadcast_to(value, shape).astype(jnp.result_type(value, x)).at[(..., *index)].set(x)
    whole = np.array(np.broadcast_to(value, shape), np.result_type(np.asarray(value), np.asarray(x)))
    whole[(..., *index)] = x
    return whole


def _spread(value: Any, leading: tuple[int, ...]) -> Any:
    """A number, or nested tuples of them, with leading axes."""
    spread = lambda one: jnp.broadcast_to if isinstance(one, Tracer) else np.broadcast_to
    return jax.tree.map(lambda one: spread(one)(one, np.broadcast_shapes(np.shape(one), leading)), value)


def as_tuples(value: Any) -> Any:
    """Nested lists as tuples; anything else as it is."""
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value


def as_value(value: Any, *, tuples: bool) -> Any:
    """A value of a parameter: a list as tuples, or as an array, and a single number of NumPy as one of Python.

    Args:
        value: what a user gives, in the unit of the parameter.
        tuples: whether lists, and arrays of one axis, become tuples; otherwise lists and tuples become arrays.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.elements import as_value
        >>> print(as_value(np.array([1.0, 2.0]), tuples=True), as_value((1.0, 2.0), tuples=False))
        (1.0, 2.0) [1. 2.]
    """
    # A model may multiply named tuples by its numbers: one of NumPy would turn them into arrays.
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiu":
        return value.item()
    if isinstance(value, np.ndarray | jax.Array) and value.ndim == 1 and tuples:
        return tuple(value.tolist()) if isinstance(value, np.ndarray) else tuple(value)
    return as_tuples(value) if tuples else as_array_of(value)


def as_array_of(value: Any) -> Any:
    """A list or tuple as an array; anything else unchanged, also rows of different lengths, which checks report."""
    if not isinstance(value, list | tuple):
        return value
    try:
        array = (np if is_concrete(value) else jnp).asarray(value)
    except (TypeError, ValueError):
        return value
    return value if array.dtype.kind == "O" else array


def entries_of(value: Any) -> Iterator[Any]:
    """The entries of nested tuples and lists; anything else is one entry."""
    if isinstance(value, tuple | list):
        for entry in value:
            yield from entries_of(entry)
    else:
        yield value


def rank_of(value: Any) -> int:
    """The number of axes of an array or of nested tuples and lists."""
    return 1 + max(map(rank_of, value), default=0) if isinstance(value, tuple | list) else np.ndim(value)
