"""Which members of an ensemble, or designs of a search, a model accepts: rules between parameters may forbid some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool

from jaxgait.elements import declared
from jaxgait.ensembles.columns import one_of, warn_of_values
from jaxgait.ensembles.members import Members, check_names, check_values
from jaxgait.model import Model
from jaxgait.parameters import ParameterError, parameters, with_parameters, within_bounds
from jaxgait.plausible import ImplausibleValue
from jaxgait.support.notes import without_warnings

GROUP = 8
"""Batch size when narrowing down an invalid member."""

Fault: TypeAlias = Callable[[Mapping[str, Any]], str]
"""The objection to values by name, of one member or of several with a leading axis; empty if there is none."""


def accepted(model: Model, columns: Mapping[str, np.ndarray]) -> Bool[np.ndarray, " b"]:
    """Which members a model accepts.

    Args:
        model: the mechanism.
        columns: values by name, (b, ...), in their units; names other than those of parameters are ignored.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.ensembles.validity import accepted
        >>> accepted(RollingWalker(), {"leg_length": np.array([0.4, 0.4]), "foot_radius": np.array([0.1, 0.5])})  # m
        array([ True, False])
    """
    return _accepted(lambda values: _fault(model, values), columns)


def _accepted(fault: Fault, columns: Mapping[str, np.ndarray]) -> Bool[np.ndarray, " b"]:
    size = len(next(iter(columns.values())))
    if _accepts_all(fault, columns):
        return np.ones(size, bool)
    found = np.zeros(size, bool)
    for start in range(0, size, GROUP):
        group = np.arange(start, min(start + GROUP, size))
        full = np.resize(group, GROUP)  # equally long, so that what models compile serves all groups
        all_valid = _accepts_all(fault, {name: x[full] for name, x in columns.items()})
        found[group] = all_valid or [not fault(one_of(columns, i)) for i in group.tolist()]
    return found


def rejection(model: Model, columns: Mapping[str, np.ndarray]) -> str:
    """Why a model rejects the first of the members, (members, ...), that it rejects; empty if none; see `accepted`.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.ensembles.validity import rejection
        >>> rejection(RollingWalker(), {"foot_radius": np.array([0.1, 0.5])}).split(":")[0]  # m
        'RollingWalker cannot stand'
    """
    rejected = np.flatnonzero(~accepted(model, columns))
    return _fault(model, one_of(columns, int(rejected[0]))) if rejected.size else ""


def valid_members(model: Model, members: Members) -> tuple[Bool[np.ndarray, " members"], str]:
    """Which members of an ensemble a model accepts, and why it rejects the first of the others ("" if it accepts all).

    Raises:
        ParameterError: for names and shapes that no member could have, and if the model rejects all members.

    Warns:
        jaxgait.plausible.ImplausibleValue: for values of valid members out of their plausible range.

    Examples:
        >>> from jaxgait import Bungee, grid
        >>> from jaxgait.ensembles.validity import valid_members
        >>> found, why = valid_members(Bungee(), grid({"mass": [70.0, -3.0]}))
        >>> print(found, why)
        [ True False] mass (body mass) must be positive, got -3 kg
    """
    check_names(model, members)
    fault = lambda values: _objection(lambda: check_values(model, values))
    found = _in_bounds(model, members)
    inside = np.flatnonzero(found)
    if inside.size:
        found[inside] = _accepted(fault, {name: x[inside] for name, x in members.values.items()})
    rejected = np.flatnonzero(~found)
    why = fault(one_of(members.values, int(rejected[0]))) if rejected.size else ""
    if not found.any():
        raise ParameterError(f"the model accepts none of the {members.size} members; the first: {why}")
    warn_of_values(model, {name: x[found] for name, x in members.values.items()})
    return found, why


def _in_bounds(model: Model, members: Members) -> Bool[np.ndarray, " members"]:
    """Members whose values are finite and within the bounds of their parameters: fast, and finds most invalid ones."""
    known, found = declared(parameters(model), members.values), np.ones(members.size, bool)
    for name, x in members.values.items():
        good = np.isfinite(x) & (within_bounds(x, known[name]) if name in known else True)
        found &= good.reshape(members.size, -1).all(axis=1)
    return found


def _accepts_all(fault: Fault, columns: Mapping[str, np.ndarray]) -> bool:
    """Whether all members are accepted, checked together; False also if the model's rules cannot take arrays."""
    try:
        return not fault(columns)
    except TypeError:
        return False


def _fault(model: Model, values: Mapping[str, np.ndarray | float]) -> str:
    """The model's objection to values by name, with a leading axis over members or without one; empty if none."""
    own = {name: values[name] for name in declared(parameters(model), values)}
    return _objection(lambda: with_parameters(model, own).validate())


def _objection(check: Callable[[], None]) -> str:
    """The error of a check as text; empty if there is none. Suppresses warnings of implausible values."""
    try:
        with without_warnings(ImplausibleValue):
            check()
    except ValueError as error:
        return str(error) or type(error).__name__
    return ""
