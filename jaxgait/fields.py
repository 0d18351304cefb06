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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxgait.support import units
from jaxgait.support.checks import first_few, is_concrete, listed, nearest, shown
from jaxgait.support.unpickled import whole, with_whole_parts

T = TypeVar("T")

_ELEMENT = re.compile(r"(.+)\[([^\[\]]*)\]")


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
            """Makes one of the class that JAX knows (see `whole`)."""
            return super().__new__(whole(cls), *args, **given)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes over the fields of a pickled one."""
        vars(self).update(state)
        with_whole_parts(self)

    def __check_init__(self) -> None:
        """Takes labelled values in the units of their parameters, and tuples as arrays, unless annotated as tuples.

        Fields that a constructor of the class's own leaves out have their defaults.

        Raises:
            ValueError: for values in a unit of another quantity, or in an unknown one.
        """
        with_whole_parts(self)
        for field in dataclasses.fields(self):
            taken = given = getattr(self, field.name)
            if "unit" in field.metadata:
                taken = _taken(f"{type(self).__name__}.{field.name}", given, field, unit_of(self, field))
            if taken is not given or field.name not in vars(self):  # the class has the default, the leaves have not
                object.__setattr__(self, field.name, taken)

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


OWN = re.compile(r"{(\w+)}")
"""What stands for a static field of the owner in the unit of a parameter: "N/m^{exponent}"."""


def unit_of(owner: Any, field: dataclasses.Field) -> str:
    """The unit of a parameter of a model or part, with the present values of what it names (see `OWN`)."""
    return OWN.sub(lambda found: f"{getattr(owner, found[1]):g}", field.metadata["unit"]).removesuffix("^1")


def _taken(label: str, given: Any, field: dataclasses.Field, unit: str) -> Any:
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
    """Whether a module has been made without a parameter that it need not have."""
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
    """What is at one step in a module or mapping; the step may name an element of an array."""
    if (found := _ELEMENT.fullmatch(step)) and not (isinstance(owner, Mapping) and step in owner):
        return _element(entered(owner, found[1]), tuple(map(int, found[2].split(","))))
    return owner[step] if isinstance(owner, Mapping) else getattr(owner, step)


def declared(known: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The declarations of those names that have one: of parameters, and of elements of arrays.

    Args:
        known: the declarations of a model's parameters, see `jaxgait.parameters.parameters`.
        names: dotted names; others are left out.

    Examples:
        >>> from jaxgait import Exoskeleton
        >>> from jaxgait.fields import declared
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
                found[name] = info._replace(value=_element(info.value, index), rank=0)
    return found


def array_of(name: str) -> str:
    """The name of the array of which a name is an element, such as "masses" of "masses[1,0]"; other names unchanged.

    Examples:
        >>> from jaxgait.fields import array_of
        >>> print(array_of("masses[1,0]"), array_of("mass"))
        masses mass
    """
    found = _ELEMENT.fullmatch(name)
    return found[1] if found else name


def value_named(values: Mapping[str, Any], name: str) -> Any:
    """The value with a name, or an element of an array such as "q[2]"; None if there is neither.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.fields import value_named
        >>> print(value_named({"q": np.array([0.1, 0.2])}, "q[1]"), value_named({"q": np.zeros(2)}, "q[2]"))
        0.2 None
    """
    if name in values:
        return values[name]
    split = _split(name, values)
    index = None if split is None else _index(split[1], np.shape(values[split[0]]))
    return None if split is None or index is None else _element(values[split[0]], index)


def no_element(label: str, name: str, values: Mapping[str, Any]) -> str:
    """The error message for indices that an array does not have; empty unless the name is of an element of an array.

    Args:
        label: what precedes the name of the array, such as "Exoskeleton.".
        name: the name with indices.
        values: arrays and numbers by name.
    """
    split = _split(name, values)
    if split is None:
        return ""
    array, text = split
    shape = np.shape(values[array])
    if not shape:
        return f"{label}{array} is a single number: leave out [{text}]"
    first, last = (f"'{array}[{','.join(map(str, index))}]'" for index in ([0] * len(shape), [n - 1 for n in shape]))
    return f"{label}{array} is an array of shape {shape}: its elements are {first} to {last}, got {name!r}"


def within_arrays(values: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, with those of elements put into their arrays: into those among the values, or the `own` ones.

    Values may have leading axes, as those of several members, and may be traced.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.fields import within_arrays
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
    found = _ELEMENT.fullmatch(name) if isinstance(name, str) and name not in known else None
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
        >>> from jaxgait.fields import shape_of
        >>> print(shape_of(np.zeros((8, 3)), 1), shape_of(((1.0, 0.0), (0.0, 1.0)), 2))
        (3,) (2, 2)
    """
    if isinstance(value, tuple | list):
        return (len(value), *(shape_of(value[0], rank - 1) if value and rank > 1 else ()))
    return np.shape(value)[np.ndim(value) - rank :]


def _element(value: Any, index: tuple[int, ...]) -> Any:
    """An element of an array (counted along its last axes) or of nested tuples."""
    if index and isinstance(value, tuple | list):
        return _element(value[index[0]], index[1:])
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
        >>> from jaxgait.fields import as_value
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
    """A list or tuple as an array; anything else as it is, as are rows of different lengths, which checks name."""
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
    """The error message for what a dotted name leads to, which is no parameter; empty if it leads nowhere."""
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
