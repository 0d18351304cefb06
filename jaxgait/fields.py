"""The fields of modules: the base class of those whose fields cannot be set, what fields may hold, and dotted names.

Exchangeable parts are known by their type, static choices by their alternatives. Dotted names lead through modules and
mappings, and may end in the indices of an element of an array: "masses[1,0]".
"""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import jax
import numpy as np

from jaxgait.elements import ELEMENT, as_value, element, no_element
from jaxgait.support import units
from jaxgait.support.checks import first_few, listed, nearest, shown
from jaxgait.support.unpickled import modules_in, whole, with_whole_parts

T = TypeVar("T")


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

    if not typing.TYPE_CHECKING:  # type checkers know the fields

        def __new__(cls, *args: Any, **given: Any) -> Any:
            """Makes an instance of the class that JAX knows (see `whole`)."""
            return super().__new__(whole(cls), *args, **given)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores the fields of a pickled module."""
        vars(self).update(state)
        with_whole_parts(self)

    def __check_init__(self) -> None:
        """Converts values as their parameters declare (see `_as_declared`), also in parts.

        Raises:
            ValueError: for values in a unit of another quantity, or in an unknown one.
        """
        with_whole_parts(self)
        _as_declared(self)

    def check_together(self, label: str) -> None:
        """Rejects values of a part that are impossible together; `check` calls it with the part's dotted name.

        A model does so in `validate`.

        Leaves may have a batch axis, and may be traced.

        Raises:
            jaxgait.parameters.ParameterError: naming the parameters.
        """

    def warn_together(self, label: str) -> None:
        """Warns of values of a part that are possible but implausible together; called as `check_together`.

        Warns:
            jaxgait.plausible.ImplausibleValue: naming the parameters.
        """
        del label

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a field during construction; afterwards, the error explains how to make another model."""
        try:
            super().__setattr__(name, value)
        except dataclasses.FrozenInstanceError:
            how = "with_parts" if isinstance(value, eqx.Module) else "with_parameters"
            other = f"models are immutable; {how}(model, {{{self._path + name!r}: value}}) makes another one"
            raise dataclasses.FrozenInstanceError(f"{name!r} cannot be set: {other}") from None


def _as_declared(module: Any) -> None:
    """Converts labelled values to the units of their parameters, and tuples to arrays, unless annotated as tuples.

    Fields that a constructor leaves out get their defaults. Plain equinox modules among the parts are changed in place.
    """
    for field in dataclasses.fields(module):
        taken = given = getattr(module, field.name)
        if "unit" in field.metadata:
            taken = _converted(f"{type(module).__name__}.{field.name}", given, field, unit_of(module, field))
        if taken is not given or field.name not in vars(module):  # the class has the default, the leaves have not
            object.__setattr__(module, field.name, taken)
        for part in modules_in(given):
            if not isinstance(part, Immutable):
                _as_declared(part)


OWN = re.compile(r"{(\w+)}")
"""Placeholder of a static field of the owner in the unit of a parameter: "N/m^{exponent}"."""


def unit_of(owner: Any, field: dataclasses.Field) -> str:
    """The unit of a parameter of a model or part, with the present values of what it names (see `OWN`)."""
    return OWN.sub(lambda found: f"{getattr(owner, found[1]):g}", field.metadata["unit"]).removesuffix("^1")


def _converted(label: str, given: Any, field: dataclasses.Field, unit: str) -> Any:
    """The value of a parameter that a constructor was given."""
    tuples = bool(re.search(r"\btuple\b", str(field.type), re.IGNORECASE))
    value = units.in_unit(given, unit, label)
    if value is not given or (field.metadata["rank"] and not tuples):
        return as_value(value, tuples=tuples and field.metadata["rank"] > 0)
    whole = tuples and field.metadata["rank"] > 0 and isinstance(given, np.ndarray | jax.Array) and given.ndim == 1
    return as_value(given, tuples=True) if whole else given


_SIZES = re.compile(r"""\[[^\[\]]*Array(?:Like)?,\s*['"]([^'"]*)['"]\s*\]""")


@functools.cache
def sizes_of(field: dataclasses.Field) -> tuple[int | None, ...]:
    """The lengths of the axes that a jaxtyping annotation states, None for others: (3, None) of "3 bodies"."""
    found = _SIZES.search(str(field.type))
    axes = found[1].split() if found else []
    if any(not axis.replace("_", "").isalnum() for axis in axes):  # "*axes", "...": their number is not known
        return ()
    return tuple(int(axis) if axis.isdecimal() else None for axis in axes)


def replaced(module: Any, field: dataclasses.Field) -> bool:
    """Whether a field belongs to the default of a part (see `parameter`) that has been exchanged."""
    if not (of := field.metadata.get("of")):
        return False
    owner = next(f for f in dataclasses.fields(module) if f.name == of)
    value = getattr(module, of)
    return isinstance(value, eqx.Module) or (owner.metadata.get("static", False) and value != owner.default)


def is_parameter(module: Any, field: dataclasses.Field) -> bool:
    """Whether a declared parameter is one of this module: it has it, and no exchanged part replaces it."""
    return "unit" in field.metadata and not (replaced(module, field) or _left_out(module, field))


def _left_out(module: Any, field: dataclasses.Field) -> bool:
    """Whether a module was made without an optional parameter."""
    return field.default is None and getattr(module, field.name) is None


def suitable_values(owner: Any, field: dataclasses.Field, value: Any) -> str:
    """The values that a part or a choice may have, for an error message; empty if the value fits, or is a number."""
    if field.metadata.get("static"):
        options = choices(type(owner), field.name)
        fits = not options or any(value is o or (value == o and type(value) is type(o)) for o in options)
        return "" if fits else listed([repr(o) for o in options])
    wanted = part_types(type(owner)).get(field.name, ())
    number = "unit" in field.metadata and not isinstance(value, eqx.Module | type)  # see `_check_numbers`
    return "" if not wanted or number or isinstance(value, wanted) else f"a {parts_of(field, owner)}(...)"


def python_integer(value: Any) -> Any:
    """Converter of static fields: NumPy integers become Python ones, as equinox warns about arrays there; others stay.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.fields import python_integer
        >>> python_integer(np.int64(3)), python_integer(2.5)
        (3, 2.5)
    """
    return int(value) if isinstance(value, np.integer) else value


def parts_of(field: Any, owner: Any) -> str:
    """The names of the classes that a field may hold, joined by "or"."""
    classes = [t.__name__ for t in part_types(type(owner)).get(field.name, ()) if t is not type(None)]
    return " or ".join(classes) or field.name.capitalize()


@functools.cache
def part_types(cls: type) -> dict[str, tuple[type, ...]]:
    """The module classes (and that of None) that the fields of a class may hold; other fields are left out."""
    found = {}
    for name, hint in _hints(cls).items():
        options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
        classes = tuple(t for t in options if isinstance(t, type))
        modules = tuple(t for t in classes if issubclass(t, eqx.Module) or t is type(None))
        if len(classes) == len(options) and any(t is not type(None) for t in modules):
            found[name] = modules
    return found


@functools.cache
def choices(cls: type, name: str) -> tuple[Any, ...]:
    """The alternatives of a static field with a `Literal` type or a flag; empty for other types."""
    hint = _hints(cls).get(name)
    if hint is bool:
        return False, True
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    """The types of the fields of a class, by name; empty if they cannot be resolved."""
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError):  # annotations of a user's own model need not be resolvable
        return {}


def first_step(owner: Any, name: str) -> tuple[str, str]:
    """The first step of a dotted name in a module or mapping, and the rest; keys of mappings may contain dots."""
    keys = [key for key in owner if f"{name}.".startswith(f"{key}.")] if isinstance(owner, Mapping) else []
    step = max(keys, key=len, default=name.partition(".")[0])
    return step, name[len(step) + 1 :]


def entered(owner: Any, step: str) -> Any:
    """The value at one step in a module or mapping; the step may name an element of an array."""
    if (found := ELEMENT.fullmatch(step)) and not (isinstance(owner, Mapping) and step in owner):
        return element(entered(owner, found[1]), tuple(map(int, found[2].split(","))))
    return owner[step] if isinstance(owner, Mapping) else getattr(owner, step)


def with_fields(owner: T, values: Mapping[str, Any]) -> T:
    """A copy of a module or mapping with some fields replaced, static or not, without calling its constructor."""
    cls: Any = type(owner)
    if isinstance(owner, Mapping):
        return cls({**owner, **values})
    return assemble(cls, {f.name: getattr(owner, f.name) for f in dataclasses.fields(cls)} | dict(values))


def assemble(cls: type[T], values: Mapping[str, Any]) -> T:
    """A module of a class with these values of all its fields, checked but without calling its constructor."""
    made = object.__new__(whole(cls))
    for name, value in values.items():
        object.__setattr__(made, name, value)
    for base in cls.__mro__:
        if "__check_init__" in vars(base):
            vars(base)["__check_init__"](made)
    return made


def no_parameter(model: Any, name: Any, known: Mapping[str, Any]) -> str:
    """The error message for a name that is not one of a model's known parameters, with how to change what it names."""
    model_name = type(model).__name__
    if not isinstance(name, str):
        return f"parameters are addressed by dotted names, such as {next(iter(known), 'damper.k')!r}, got {name!r}"
    if wrong := no_element(f"{model_name}.", name, {n: info.value for n, info in known.items()}):
        return wrong
    if inside := [n for n in known if n.startswith(name + ".")]:
        return f"{model_name}.{name} is a group of parameters: set {first_few(inside, 8)} one by one"
    whole = name.partition("[")[0]  # of an element of an array
    return (all(whole.split(".")) and _dead_end(model, model_name, whole)) or _unknown(model_name, name, known)


def _dead_end(owner: Any, here: str, name: str) -> str:
    """The error message for what a dotted name leads to, which is not a parameter; empty if it leads nowhere."""
    possible: Mapping[str, Any] = {}
    while name:
        step, rest = first_step(owner, name)
        if isinstance(owner, Mapping):
            if step not in owner:
                return f"{here} has no {name!r}: give it when the model is made" if name in possible else ""
        else:
            field = {f.name: f for f in dataclasses.fields(owner)}.get(step)
            if field is None or step.startswith("_"):
                return ""
            value = getattr(owner, step)
            if exchanged := _exchanged(owner, field, f"{here}.{step}", value):
                return exchanged
            if not (rest or isinstance(value, eqx.Module | Mapping)):
                declared = f"{step}: Scalar = parameter({shown(value)}, unit=..., doc=...)"
                where = f"declare it in {type(owner).__name__}, as {declared}"
                return f"{here}.{step} is a plain field, not a parameter: {where}"
            possible = field.metadata["entries"](owner) if "entries" in field.metadata else {}
        owner, here, name = entered(owner, step), f"{here}.{step}", rest
        if name and not isinstance(owner, eqx.Module | Mapping):
            return ""
    return f"{here} is a {type(owner).__name__} without parameters: replace it when the model is made"


def _unknown(model_name: str, name: str, known: Mapping[str, Any]) -> str:
    """The error message for an unknown name, with the nearest known ones."""
    inside = " or ".join(repr(n) for n in known if n.endswith("." + name))
    others = f"did you mean {inside}?" if inside else f"it has {first_few(sorted(known), 8)}"
    hint = nearest(name, known, otherwise=others) if known else "it declares none (see jaxgait.model.parameter)"
    return f"{model_name} has no parameter {name!r}: {hint}"


def _exchanged(owner: Any, field: Any, label: str, value: Any) -> str:
    """The error message for a field that is a choice, exchanged or missing; otherwise empty."""
    maker, name = type(owner).__name__, field.name
    if field.metadata.get("static"):
        return (
            f"{label} is a choice ({value!r}), not a parameter: make it with {maker}({name}=...), or exchange it with "
            "jaxgait.parts.with_parts"
        )
    if "unit" in field.metadata and _left_out(owner, field):
        return f"{label} is None, and no parameter: give it when you make the {maker}"
    if replaced(owner, field):
        of = field.metadata["of"]
        present = getattr(owner, of)
        what = f"a {type(present).__name__} with its own" if isinstance(present, eqx.Module) else repr(present)
        return f"{label} has no meaning here: {label.removesuffix(name)}{of} is {what}"
    if value is None:
        model_name, _, here = label.partition(".")
        return f"{model_name} has no {here}: make it with {maker}({name}={parts_of(field, owner)}(...))"
    return ""
