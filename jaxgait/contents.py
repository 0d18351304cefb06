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

M = TypeVar("M")

_KIND, _OTHER = "class", "not recorded"
"""Keys of the record of a module or dataclass, and of something that has no record, such as a function."""
MAX_LENGTH = 30_000
"""Largest number of characters of a field's record: HDF5 limits the length of attributes to 64 kB."""


def contents(model: Any) -> dict[str, Any]:
    """The fields of a model that differ from its class's in more than parameters, as plain values.

    Examples:
        >>> from jaxgait import Creeper
        >>> from jaxgait.contents import contents
        >>> from jaxgait.models.creeper.artery import Inflow
        >>> print(contents(Creeper()), contents(Creeper(inflow=Inflow(backflow="printed")))["inflow"]["backflow"])
        {} printed
    """
    usual = _usual(type(model))
    fields = [f for f in dataclasses.fields(model) if not _is_parameter(model, f)]
    values = {f.name: getattr(model, f.name) for f in fields}
    changed = {n: _record(x) for n, x in values.items() if n not in usual or usual[n] != _record(x, numbers=False)}
    return {n: x if len(json.dumps(x)) <= MAX_LENGTH else {_OTHER: "too long"} for n, x in changed.items()}


def restored(model: M, recorded: Mapping[str, Any]) -> M:
    """A model of default values with recorded `contents`.

    Raises:
        ValueError: if a field was not recorded completely, or not by this version.

    Examples:
        >>> from jaxgait import Creeper
        >>> from jaxgait.contents import contents, restored
        >>> from jaxgait.models.creeper.artery import Inflow
        >>> robot = restored(Creeper(), contents(Creeper(inflow=Inflow(backflow="printed"))))
        >>> print(robot.inflow.backflow)
        printed
    """
    fields = {name: _value(record, type(model), name) for name, record in recorded.items()}
    for name, value in fields.items():
        if json.dumps(_record(value)) != json.dumps(recorded[name]):
            raise ValueError(f"its {name} was recorded by another version")
    return dataclasses.replace(model, **fields) if fields else model  # type: ignore[type-var]


@functools.cache
def _usual(kind: type) -> dict[str, Any]:
    """The records of a class's default values, or of those that its own constructor gives without arguments."""
    made = kind() if len(inspect.signature(kind.__init__).parameters) == 1 else None
    defaults = {f.name: default_of(f) if made is None else getattr(made, f.name) for f in dataclasses.fields(kind)}
    return {n: _record(x, numbers=False) for n, x in defaults.items() if x is not dataclasses.MISSING}


def default_of(field: dataclasses.Field) -> Any:
    """The default of a field, of any type and unit; `dataclasses.MISSING` without one."""
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def is_default(owner: Any, name: str) -> bool:
    """Whether a field of a dataclass has its default."""
    default = default_of(owner.__dataclass_fields__[name])
    return default is not dataclasses.MISSING and bool(eqx.tree_equal(default, getattr(owner, name)))


def _is_parameter(owner: Any, field: dataclasses.Field) -> bool:
    return "unit" in field.metadata and not isinstance(getattr(owner, field.name), eqx.Module)


def _record(value: Any, numbers: bool = True) -> Any:
    """A value as plain data; without `numbers`, parameters are left out."""
    if getattr(value, "shape", None) == () and value.dtype.kind in "biuf":  # a number, which a run made an array
        value = np.asarray(value).item()
    names = getattr(value, "_fields", None)  # of a named tuple
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.init and (numbers or not _is_parameter(value, f))]
    if names is not None and not isinstance(value, type):
        where = f"{type(value).__module__}:{type(value).__qualname__}"
        return {_KIND: where} | {name: _record(getattr(value, name), numbers) for name in names}
    if isinstance(value, tuple):
        return {"tuple": [_record(x, numbers) for x in value]}
    if isinstance(value, Mapping):
        pairs = value.items() if isinstance(value, OrderedDict) else sorted(value.items())  # as JAX orders a dict
        return {"mapping": [[key, _record(x, numbers)] for key, x in pairs]}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic | np.ndarray | jax.Array) and np.asarray(value).dtype.kind in "biuf":
        array = np.asarray(value)
        return {"array": array.tolist(), "dtype": array.dtype.name}
    return {_OTHER: getattr(value, "__qualname__", type(value).__qualname__)}


def _value(record: Any, kind: type, name: str) -> Any:
    """The value of a record, of a field of the class `kind`."""
    if not isinstance(record, dict):
        return record
    if "tuple" in record:
        return tuple(_value(x, kind, name) for x in record["tuple"])
    if "mapping" in record:
        return {key: _value(x, kind, name) for key, x in record["mapping"]}
    if "array" in record:
        return np.asarray(record["array"], record["dtype"])
    if _KIND not in record:
        raise ValueError(f"its {name} ({record.get(_OTHER)}) was not recorded")
    module = _class(record[_KIND], kind, name)
    return module(**{n: _value(x, kind, f"{name}.{n}") for n, x in record.items() if n != _KIND})


def _class(where: str, kind: type, name: str) -> Any:
    """A class by "module:name", of jaxgait or of the model's package: a file must not import anything else."""
    packages = {"jaxgait", kind.__module__.partition(".")[0]}
    found = registry.load(where) if where.partition(":")[0].partition(".")[0] in packages else None
    if not (isinstance(found, type) and (dataclasses.is_dataclass(found) or issubclass(found, tuple))):
        raise ValueError(f"its {name} is a {where.rpartition(':')[2]}, which is not of {' or '.join(sorted(packages))}")
    return found
