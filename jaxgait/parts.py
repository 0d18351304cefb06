"""The exchangeable parts and choices of a model, by dotted name: their values and the alternatives.

    parts(model)                                            # {"ground.friction": Part(...), ...}
    with_parts(model, {"ground.friction": Stribeck(static=0.9)})  # another friction law
    with_parts(model, {"ground.friction": "Stribeck", "ground.smoothing": "arctan"})   # alternatives by name

A part is a module, such as a law with its own parameters: once `ground.friction` is a `Stribeck`,
`ground.friction.static` is a parameter of the model. Models declare parts and choices with `jaxgait.parameters.part`
and `choice`.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import equinox as eqx

from jaxgait.fields import choices, entered, first_step, part_types, replaced, suitable_values, unit_of, with_fields
from jaxgait.parameters import ParameterError, is_real, parameters, with_parameters
from jaxgait.support.checks import nearest, shown

M = TypeVar("M")


class Part(NamedTuple):
    """One exchangeable part or choice of a model."""

    value: Any
    """The present value: a module, None, the number that the default law uses, or a choice."""
    present: str
    """The name of the present value."""
    options: Mapping[str, Any]
    """The alternatives, by name."""
    doc: str


def parts(model: Any) -> dict[str, Part]:
    """The exchangeable parts and choices of a model, including nested modules, by dotted name.

    Raises:
        ParameterError: for anything but a model.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.parts import parts
        >>> ground = parts(Prosthesis())["ground.friction"]
        >>> print(ground.present, list(ground.options))
        Coulomb ['Coulomb', 'Stribeck', 'Bristle']
    """
    parameters(model)  # raises for what is not a model
    return dict(_walk(model, ""))


def with_parts(model: M, values: Mapping[str, Any]) -> M:
    """A copy of the model with some parts or choices replaced, addressed by dotted names.

    Args:
        model: the model.
        values: by dotted name, a suitable module, the name of an alternative (see `parts`), or a choice. None or a
            number restores the default law of a part whose default uses numbers of the model.

    Raises:
        ParameterError: for an unknown name, with the nearest valid ones, and for an unsuitable value, with suitable
            ones.

    Examples:
        >>> from jaxgait import Prosthesis, with_parts
        >>> from jaxgait.mechanics.friction import Stribeck
        >>> leg = with_parts(Prosthesis(), {"ground.friction": Stribeck(static=0.9, kinetic=0.6)})
        >>> print(leg.ground.friction.static)
        0.9
    """
    if not isinstance(values, Mapping):
        raise ParameterError(f"give a dict of parts by name, got {shown(values)}")
    for name, value in values.items():
        model = _with_part(model, name, value)
    return model


def _walk(module: Any, prefix: str) -> Iterator[tuple[str, Part]]:
    for field in dataclasses.fields(module):
        value, options = getattr(module, field.name), _options(module, field)
        if field.name.startswith("_") or replaced(module, field):
            continue
        if len(options) > 1:
            doc = field.metadata.get("doc", "")
            yield prefix + field.name, Part(value, _present(field, value), options, doc)
        name = prefix + field.name
        inside = {f"{name}.{key}.": one for key, one in value.items()} if isinstance(value, Mapping) else {}
        for path, one in (inside or {f"{name}.": value}).items():
            if isinstance(one, eqx.Module):
                yield from _walk(one, path)


def _options(owner: Any, field: dataclasses.Field) -> dict[str, Any]:
    """The alternatives of a field, by name."""
    if field.metadata.get("static"):
        return {str(option): option for option in choices(type(owner), field.name)}
    offered = {type(option).__name__: option for option in field.metadata.get("options", ())}
    wanted = part_types(type(owner)).get(field.name, ())
    found = offered or {cls.__name__: cls for kind in wanted for cls in _concrete(kind)}
    if type(None) in wanted and not field.metadata.get("standard"):
        found = {"none": None, **found}
    return found


def _concrete(kind: type) -> Iterator[type]:
    """A class and its subclasses, without abstract and private ones."""
    if issubclass(kind, eqx.Module) and not inspect.isabstract(kind) and not kind.__name__.startswith("_"):
        yield kind
    if issubclass(kind, eqx.Module):
        for subclass in kind.__subclasses__():
            yield from _concrete(subclass)


def _present(field: dataclasses.Field, value: Any) -> str:
    if isinstance(value, eqx.Module):
        return type(value).__name__
    if field.metadata.get("static"):
        return str(value)
    return field.metadata.get("standard") or ("none" if value is None else shown(value))


def _with_part(model: M, name: str, value: Any) -> M:
    owners, steps = _owners(model, name)
    owner, leaf = owners[-1], steps[-1]
    field = next(f for f in dataclasses.fields(owner) if f.name == leaf)
    new = _resolved(model, name, owner, field, value)
    if "unit" in field.metadata and is_real(new) and not isinstance(getattr(owner, leaf), eqx.Module):
        return with_parameters(model, {name: new})
    for holder, step in zip(reversed(owners), reversed(steps), strict=True):
        new = with_fields(holder, {step: new})
    return new


def _owners(model: Any, name: str) -> tuple[list[Any], list[str]]:
    """The modules and mappings on the path to a part, the model first, and the step taken in each of them."""
    known = parts(model)
    if not isinstance(name, str):
        raise ParameterError(f"parts are addressed by dotted names, such as 'ground.friction', got {shown(name)}")
    owner: Any = model
    owners, steps, rest = [], [], name or "."
    while rest:
        step, rest = first_step(owner, rest)
        within = owner if isinstance(owner, Mapping) else [f.name for f in dataclasses.fields(owner)]
        found = step in within and not step.startswith("_")
        inner = entered(owner, step) if found else None
        leads_on = isinstance(inner, eqx.Module | Mapping)
        if not (leads_on if rest else found and not isinstance(owner, Mapping)) or name.endswith("."):
            hint = nearest(name, known) if known else "it has none"
            raise ParameterError(f"{type(model).__name__} has no part {name!r}: {hint}")
        owners, steps, owner = [*owners, owner], [*steps, step], inner
    return owners, steps


def _resolved(model: Any, name: str, owner: Any, field: dataclasses.Field, value: Any) -> Any:
    """The module or choice for a user's value, checked against the field's type."""
    label, options = f"{type(model).__name__}.{name}", _options(owner, field)
    if isinstance(value, str) and not field.metadata.get("static"):
        by_name = {option.lower(): option for option in options}
        if value.lower() not in by_name:
            unit = unit_of(owner, field) if "unit" in field.metadata else ""
            number = f"a number{' in ' * (unit != '1')}{unit.removeprefix('1')}, or " if unit else ""
            wanted = f"must be {number}one of {', '.join(options) or 'none'}, got {value!r}"
            near = difflib.get_close_matches(value.lower(), by_name, n=1)
            raise ParameterError(f"{label} {wanted}" + (f": did you mean {by_name[near[0]]}?" if near else ""))
        value = options[by_name[value.lower()]]
        value = value() if isinstance(value, type) else value
    if "converter" in field.metadata and not isinstance(value, type):
        try:
            value = field.metadata["converter"](value)
        except ParameterError as error:
            raise ParameterError(f"{label}: {error}") from None
    if isinstance(value, type):
        raise ParameterError(f"{label}: give an instance, {value.__name__}(...), not the class")
    modules = part_types(type(owner)).get(field.name)
    if "unit" in field.metadata and not modules:
        raise ParameterError(f"{label} is a parameter, not a part: set it with with_parameters")
    if not modules and not field.metadata.get("static"):
        raise ParameterError(f"{label} is not an exchangeable part; those are {', '.join(parts(model)) or 'none'}")
    wrong = suitable_values(owner, field, value)
    if "unit" in field.metadata and not isinstance(value, eqx.Module) and not is_real(value):
        wrong = f"a number in {unit_of(owner, field)} or a module"
    if wrong:
        offered = f" (one of {', '.join(options)})" if options else ""
        raise ParameterError(f"{label} must be {wrong}{offered}, got {shown(value)}")
    return value
