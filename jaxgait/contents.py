"""What a model holds besides its parameters (laws, choices, a measured motion), as plain values stored with results."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from jaxgait import registry
from jaxgait.fields import assemble, with_fields

M = TypeVar("M")

_KIND, _OTHER = "class", "not recorded"
"""Keys of the record of a module or dataclass, and of something that has no record, such as a function."""
MAX_LENGTH = 30_000
"""Largest number of characters of a field's record: HDF5 limits the length of attributes to 64 kB."""


def contents(model: Any) -> dict[str, Any]:
    """The fields of a model that differ from its class's defaults in more than parameters, as plain values.

    Examples:
        >>> from jaxgait import Creeper
        >>> from jaxgait.contents import contents
        >>> from jaxgait.models.creeper.artery import Inflow
        >>> print(contents(Creeper()), contents(Creeper(inflow=Inflow(backflow="printed")))["inflow"]["backflow"])
        {} printed
    """
    usual = _usual(type(model))
    fields = {f: getattr(model, f.name) for f in dataclasses.fields(model) if not _is_apart(model, f)}
    changed = {f.name: _record(x) for f, x in fields.items() if f.name not in usual or usual[f.name] != _bare(f, x)}
    return {n: x if len(json.dumps(x)) <= MAX_LENGTH else {_OTHER: "too long"} for n, x in changed.items()}


def restored(model: M | type[M], recorded: Mapping[str, Any]) -> M:
    """A model with recorded `contents`.

    Args:
        model: one with default values, or a class, whose parameters without a default become None.
        recorded: its contents.

    Raises:
        ValueError: if a field was not recorded, or not completely, or not by this version.

    Examples:
        >>> from jaxgait import Creeper
        >>> from jaxgait.contents import contents, restored
        >>> from jaxgait.models.creeper.artery import Inflow
        >>> robot = restored(Creeper, contents(Creeper(inflow=Inflow(backflow="printed"))))
        >>> print(robot.inflow.backflow)
        printed
    """
    kind: Any = model if isinstance(model, type) else type(model)
    fields = {name: _value(record, kind, name) for name, record in recorded.items()}
    known = {f.name: f for f in dataclasses.fields(kind)}
    for name, value in fields.items():
        if name not in known or json.dumps(_record(value)) != json.dumps(recorded[name]):
            raise ValueError(f"its {name} was recorded by another version")
    if not isinstance(model, type):
        return with_fields(model, fields) if fields else model
    parameters = {name: None for name, field in known.items() if "unit" in field.metadata}
    values = parameters | _defaults(kind) | fields
    if lacking := [name for name in known if name not in values]:
        raise ValueError(f"its {lacking[0]} was not recorded")
    return assemble(kind, values)


@functools.cache
def _usual(kind: type) -> dict[str, Any]:
    """The records of a class's default values, without parameters."""
    usual, fields = _defaults(kind), dataclasses.fields(kind)
    return {f.name: _bare(f, usual[f.name]) for f in fields if f.name in usual}


def _defaults(kind: type) -> dict[str, Any]:
    """The fields' values in an instance made without arguments, if the constructor takes none; else their defaults."""
    fields: Any = dataclasses.fields(kind)
    if len(inspect.signature(kind.__init__).parameters) == 1:
        made = kind()
        return {f.name: getattr(made, f.name) for f in fields}
    return {f.name: x for f in fields if (x := default_of(f)) is not dataclasses.MISSING}


def _bare(field: dataclasses.Field, value: Any) -> Any:
    """The record of a field without its parameters; for a mapping of parameters, its keys."""
    return sorted(value) if "entries" in field.metadata else _record(value, numbers=False)


def default_of(field: dataclasses.Field) -> Any:
    """The default of a field, of any type and unit; `dataclasses.MISSING` without one."""
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def is_default(owner: Any, name: str) -> bool:
    """Whether a field of a dataclass has its default."""
    default = default_of(owner.__dataclass_fields__[name])
    return default is not dataclasses.MISSING and bool(eqx.tree_equal(default, getattr(owner, name)))


def _is_apart(owner: Any, field: dataclasses.Field) -> bool:
    """Whether a field is a number that is recorded with the parameters of a model, not with what it consists of."""
    optional = field.default is None  # a part that a model has or has not
    return "unit" in field.metadata and not optional and not isinstance(getattr(owner, field.name), eqx.Module)


def _record(value: Any, numbers: bool = True) -> Any:
    """A value as plain data; without `numbers`, parameters are left out."""
    if getattr(value, "shape", None) == () and value.dtype.kind in "biuf":  # a number, which a run made an array
        value = np.asarray(value).item()
    names = getattr(value, "_fields", None)  # of a named tuple
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.init and (numbers or not _is_apart(value, f))]
    if names is not None and not isinstance(value, type):
        where = f"{type(value).__module__}:{type(value).__qualname__}"
        return {_KIND: where} | {name: _record(getattr(value, name), numbers) for name in names}
    if isinstance(value, tuple):
        return {"tuple": [_record(x, numbers) for x in value]}
    if isinstance(value, Mapping):
        ordered = isinstance(value, OrderedDict)
        pairs = value.items() if ordered else sorted(value.items())  # as JAX orders a dict
        return {"ordered" if ordered else "mapping": [[key, _record(x, numbers)] for key, x in pairs]}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic | np.ndarray | jax.Array) and np.asarray(value).dtype.kind in "biuf":
        array = np.asarray(value)
        return {"array": array.tolist(), "dtype": array.dtype.name}
    return {_OTHER: getattr(value, "__qualname__", type(value).__qualname__)}


def _value(record: Any, kind: type, name: str) -> Any:
    """The value of a record, for a field of the class `kind`."""
    if not isinstance(record, dict):
        return record
    if _KIND in record:  # first, because its fields may have any other name
        module = _class(record[_KIND], kind, name)
        return module(**{n: _value(x, kind, f"{name}.{n}") for n, x in record.items() if n != _KIND})
    if "tuple" in record:
        return tuple(_value(x, kind, name) for x in record["tuple"])
    for word, made in (("ordered", OrderedDict), ("mapping", dict)):
        if word in record:
            return made((key, _value(x, kind, f"{name}.{key}")) for key, x in record[word])
    if "array" in record:
        return np.asarray(record["array"], record["dtype"])
    raise ValueError(f"its {name} ({record.get(_OTHER)}) was not recorded")


def _class(where: str, kind: type, name: str) -> Any:
    """A class by "module:name", of jaxgait or of the model's package: a file must not import anything else."""
    packages = {"jaxgait", kind.__module__.partition(".")[0]}
    found = registry.load(where) if where.partition(":")[0].partition(".")[0] in packages else None
    if not (isinstance(found, type) and (dataclasses.is_dataclass(found) or issubclass(found, tuple))):
        raise ValueError(f"its {name} is a {where.rpartition(':')[2]}, which is not of {' or '.join(sorted(packages))}")
    return found
