"""The fields of modules: the base class of those whose fields cannot be set, and the values that fields may hold.

Exchangeable parts are known by their type, static choices by their alternatives.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any, ClassVar

import equinox as eqx

from jaxgait.checks import listed


class Immutable(eqx.Module):
    """A model or a part of one: immutable, with parameters among its fields.

    Examples:
        >>> from jaxgait import Bungee
        >>> Bungee().mass = 80.0  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        dataclasses.FrozenInstanceError: 'mass' cannot be set: models are immutable; with_parameters(model, {'mass': ...
    """

    _path: ClassVar[str] = "PART."
    """What precedes the names of its fields in dotted names, for messages."""

    def check_together(self, label: str) -> None:
        """Rejects values of a part that are impossible together; `check` calls it with the part's dotted name.

        A model does so in `validate`.

        Leaves may have a batch axis, and may be traced.

        Raises:
            jaxgait.parameters.ParameterError: naming the parameters.
        """

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a field during construction; afterwards, the error explains how to make another model."""
        try:
            super().__setattr__(name, value)
        except dataclasses.FrozenInstanceError:
            how = "with_parts" if isinstance(value, eqx.Module) else "with_parameters"
            other = f"models are immutable; {how}(model, {{{self._path + name!r}: value}}) makes another one"
            raise dataclasses.FrozenInstanceError(f"{name!r} cannot be set: {other}") from None


def replaced(module: Any, field: dataclasses.Field) -> bool:
    """Whether a field belongs to the default of a part (see `parameter`) that has been exchanged."""
    of = field.metadata.get("of")
    if not of:
        return False
    owner = next(f for f in dataclasses.fields(module) if f.name == of)
    value = getattr(module, of)
    return isinstance(value, eqx.Module) or (owner.metadata.get("static", False) and value != owner.default)


def misfit(owner: Any, field: dataclasses.Field, value: Any) -> str:
    """The values that a part or a choice may have, for an error message; empty if the value fits, or is a number."""
    if field.metadata.get("static"):
        options = choices(type(owner), field.name)
        fits = not options or any(value is o or (value == o and type(value) is type(o)) for o in options)
        return "" if fits else listed([repr(o) for o in options])
    wanted = part_types(type(owner)).get(field.name, ())
    number = "unit" in field.metadata and not isinstance(value, eqx.Module | type)  # see `_check_kind`
    return "" if not wanted or number or isinstance(value, wanted) else f"a {parts_of(field, owner)}(...)"


def parts_of(field: Any, owner: Any) -> str:
    """The names of the classes that a field may hold, joined by "or"."""
    kinds = [t.__name__ for t in part_types(type(owner)).get(field.name, ()) if t is not type(None)]
    return " or ".join(kinds) or field.name.capitalize()


@functools.cache
def part_types(kind: type) -> dict[str, tuple[type, ...]]:
    """The module classes (and that of None) that the fields of a class may hold; other fields are left out."""
    found = {}
    for name, hint in _hints(kind).items():
        options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
        classes = tuple(t for t in options if isinstance(t, type))
        modules = tuple(t for t in classes if issubclass(t, eqx.Module) or t is type(None))
        if len(classes) == len(options) and any(t is not type(None) for t in modules):
            found[name] = modules
    return found


@functools.cache
def choices(kind: type, name: str) -> tuple[Any, ...]:
    """The alternatives of a static field with a `Literal` type or a flag; empty for other types."""
    hint = _hints(kind).get(name)
    if hint is bool:
        return False, True
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of the fields of a class, by name; empty if they cannot be resolved."""
    try:
        return typing.get_type_hints(kind)
    except (NameError, TypeError):  # annotations of a user's own model need not be resolvable
        return {}
