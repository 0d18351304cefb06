"""Traces functions of a model for their shapes, and says in its own terms why one cannot be traced."""

from __future__ import annotations

import dataclasses
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax

from jaxgait.contents import default_of
from jaxgait.elements import shape_of
from jaxgait.parameters import ParameterError, parameters
from jaxgait.support.checks import NEED_A_VALUE, Place, is_ours, location, needs_a_value

_NOT_OF_JAX = re.compile(
    r"returned a value of type <class '([^']+)'>(?: at output component (?:([.\[]\S*)|.*))?, which is not a valid"
)  # older versions of JAX name a function there instead of the component


class EquationError(TypeError):
    """A function of a model, such as its vector field, does not take or return what a run needs."""


def traced(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The shapes that a function of a model returns, of any structure.

    Args:
        name: of the function, for messages, such as "Bungee.vector_field".
        function: of the model, and of the time and the state if it has these.
        arguments: the model, and the time and the state; with shapes instead of arrays.

    Raises:
        EquationError: for a function that branches on a value known only at run time, takes (y, t) instead of (t, y) or
            other arguments, or reads fields that the state does not have.
        Exception: any other error of the function, with a note that says where.

    Examples:
        >>> import jax
        >>> from jaxgait.solve.tracing import traced
        >>> traced("Rod.mass", lambda rod: 2.0 * rod, jax.ShapeDtypeStruct((3,), float)).shape
        (3,)
    """
    try:
        return jax.eval_shape(function, *arguments)
    except (ParameterError, EquationError):
        raise
    except NEED_A_VALUE as error:
        raise EquationError(needs_a_value(name, error)) from error
    except Exception as error:
        if explanation := _explanation(name, error, function, *arguments):
            raise EquationError(explanation) from error
        error.add_note(Place(f"in {name}, {location(error)}"))
        raise


def _explanation(name: str, error: Exception, function: Callable[..., Any], *arguments: Any) -> str:
    """The message for an error whose cause is known; empty for others."""
    if not isinstance(error, AttributeError | TypeError | IndexError | ValueError):
        return ""
    if isinstance(error.__cause__, NEED_A_VALUE):  # NumPy's, where a traced value is put into one of its arrays
        return needs_a_value(name, error)
    if _swapped(function, *arguments):
        return (
            f"{name} takes its arguments in the wrong order ({location(error)}): it is called with the time first, "
            "then the state, (t, y)"
        )
    if what := _not_of_the_state(error, *arguments) or _incomplete(error):
        return f"{name} ({location(error)}) {what}"
    if "positional argument" in str(error) and is_ours(traceback.extract_tb(error.__traceback__)[-1].filename):
        return f"{name} must take two arguments, the time and the state, (t, y): {error}"
    return _no_number(name, error)


def _no_number(name: str, error: Exception) -> str:
    """The message for a result that JAX does not take, such as text; empty for other errors."""
    found = _NOT_OF_JAX.search(str(error))
    where = f" for {found[2]}" if found and found[2] else ""
    return f"{name} must return numbers, got one of type {found[1]}{where}" if found else ""


def _not_of_the_state(error: Exception, model: Any, *when: Any) -> str:
    """Message for a function that reads a field of a state without fields, such as an array; empty for other errors."""
    if not (isinstance(error, AttributeError) and len(when) == 2):
        return ""
    y, given = when[1], error.obj
    array = isinstance(y, jax.ShapeDtypeStruct) and isinstance(given, jax.Array) and given.shape == y.shape
    if not array and (type(given) is not type(y) or hasattr(y, "_fields")):
        return ""
    return (
        f"reads .{error.name} of the state, of which initial_state returns {in_words(y)}: return a NamedTuple with "
        "that field, or read what it has"
    )


def _incomplete(error: Exception) -> str:
    """The message for a state, or another object, made without some of its fields; empty for other errors."""
    lacks = _LACKS.match(str(error))
    return f"must give {lacks[1]} all of its components: it lacks {lacks[2]}" if lacks else ""


_LACKS = re.compile(r"([\w.]+)\.__(?:new|init)__\(\) missing \d+ required [\w-]+ arguments?: (.*)")


def _swapped(function: Callable[..., Any], model: Any, *when: Any) -> bool:
    """Whether a function of time and state works with the two exchanged: rates have the shapes of the state then."""
    if len(when) != 2:
        return False
    try:
        found = jax.eval_shape(function, model, *when[::-1])
    except Exception:  # wrong in either order
        return False
    y = when[1]
    shapes = [x.shape for x in jax.tree.leaves(found)]
    own = [x.shape for x in jax.tree.leaves(y)]
    return jax.tree.structure(found) != jax.tree.structure(y) or shapes in (own, [()])  # [()]: a guard


def in_words(found: Any) -> str:
    """The result of a function, given as shapes, in words for a message.

    Examples:
        >>> import jax
        >>> from jaxgait.solve.tracing import in_words
        >>> in_words(jax.ShapeDtypeStruct((3,), float))
        'an array of shape (3,)'
    """
    article = "an" if isinstance(found, jax.ShapeDtypeStruct) else "a"
    return "None" if found is None else f"{article} {kind_in_words(found)}"


def kind_in_words(found: Any) -> str:
    """The type of what a function returned, as shapes, for a message; for a dict, with its names.

    Examples:
        >>> from jaxgait.solve.tracing import kind_in_words
        >>> kind_in_words({"height": 0.0})
        "dict of 'height'"
    """
    if isinstance(found, Mapping):
        return f"{type(found).__name__} of {', '.join(map(repr, found))}"
    return f"array of shape {found.shape}" if isinstance(found, jax.ShapeDtypeStruct) else type(found).__name__


class Unusual(NamedTuple):
    """An array of another shape than its default."""

    own: tuple[int, ...]
    usual: tuple[int, ...]
    default: Any


def unusual_shapes(model: Any) -> dict[str, Unusual]:
    """The arrays among a model's parameters whose shapes are not those of their defaults, by dotted name.

    Examples:
        >>> from jaxgait import Exoskeleton, with_parameters
        >>> from jaxgait.solve.tracing import unusual_shapes
        >>> unusual_shapes(with_parameters(Exoskeleton(), {"lengths": [0.4, 0.4]}))["lengths"].own
        (2,)
    """
    usual, known = dict(_usual(model, "")), parameters(model)
    infos = {name: known[name] for name in usual if name in known}
    found = {n: Unusual(shape_of(x.value, x.rank), shape_of(usual[n], x.rank), usual[n]) for n, x in infos.items()}
    return {name: one for name, one in found.items() if one.own != one.usual}


def _usual(module: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """The defaults of the arrays among the parameters of a module and its parts, by dotted name."""
    for field in dataclasses.fields(module):
        value, default = getattr(module, field.name), default_of(field)
        if isinstance(value, eqx.Module):
            yield from _usual(value, f"{prefix}{field.name}.")
        elif isinstance(value, Mapping):
            for key, one in value.items():
                yield from _usual(one, f"{prefix}{field.name}.{key}.") if isinstance(one, eqx.Module) else ()
        elif field.metadata.get("rank") and default is not dataclasses.MISSING:
            yield prefix + field.name, default
