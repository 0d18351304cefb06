"""Labelled values of members (`units`), converted to the units of their model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jaxgait.ensembles.addresses import shape_of
from jaxgait.ensembles.labels import described_value
from jaxgait.ensembles.members import Members
from jaxgait.model import Model
from jaxgait.parameters import in_own_unit
from jaxgait.support import xr


def in_own_units(model: Model, members: Members) -> Members:
    """Members with all values in the units of the model; converts values that are labelled with other units.

    Raises:
        ParameterError: for values in a unit of another quantity, or in an unknown one.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait import Bungee, grid
        >>> from jaxgait.ensembles.conversion import in_own_units
        >>> members = grid({"mass": xr.DataArray([6e4, 7.5e4], attrs={"units": "g"})})
        >>> in_own_units(Bungee(), members).values
        {'mass': array([60., 75.])}
    """
    values, labels = dict(members.values), dict(members.labels)
    for name, unit in members.units.items():
        if name not in values:  # a label that is not a parameter
            continue
        shape_of(model, name)  # raises an error for an unknown name
        in_own = lambda x, name=name, unit=unit: value_in_unit(model, name, xr.DataArray(x, attrs={"units": unit}))
        values[name] = in_own(values[name])
        for label in {name, f"{name}_values"} & {*labels}:
            dims, x = labels[label]
            labels[label] = (dims, in_own(x))
    return replace(members, values=values, labels=labels, units={})


def value_in_unit(model: Model, name: str, values: Any) -> Any:
    """Values of a parameter, or of a component of the initial state, in its unit; see `jaxgait.support.units.in_unit`.

    Raises:
        ParameterError: for values in a unit of another quantity, or in an unknown one.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait import Bungee
        >>> from jaxgait.ensembles.conversion import value_in_unit
        >>> print(value_in_unit(Bungee(), "initial.v", xr.DataArray(50.0, attrs={"units": "cm/s"})))  # in m/s
        0.5
    """
    return in_own_unit(name, values, described_value(model, name).get("units"))
