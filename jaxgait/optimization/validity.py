"""Which designs a model accepts: rules between parameters may forbid parts of a box."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool

from jaxgait.model import Model
from jaxgait.parameters import parameters, with_parameters
from jaxgait.plausible import ImplausibleValue

INVALID, UNSTABLE = -2, -3
"""The statuses of a design that the model rejects, and of one whose gait is found but not stable.

Of other designs they are codes of `jaxgait.outcome`; see `jaxgait.optimization.failures.sentence`.
"""
GROUP = 8
"""Batch size when narrowing down an invalid design."""


def status_text(*more: str) -> str:
    """What the statuses of a search mean, and more codes of this kind.

    Examples:
        >>> from jaxgait.optimization.validity import status_text
        >>> status_text("-1: this start had stopped")[-29:]
        '; -1: this start had stopped)'
    """
    codes = ("0: completed", f"{INVALID}: not a valid design", f"{UNSTABLE}: the gait is not stable", *more)
    return f"how the run ended ({'; '.join(codes)})"


def accepted(model: Model, columns: Mapping[str, np.ndarray]) -> Bool[np.ndarray, " b"]:
    """Which members a model accepts.

    Args:
        model: the mechanism.
        columns: values by name, (b, ...), in their units; names other than those of parameters are ignored.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.optimization.validity import accepted
        >>> accepted(RollingWalker(), {"leg_length": np.array([0.4, 0.4]), "foot_radius": np.array([0.1, 0.5])})  # m
        array([ True, False])
    """
    size = len(next(iter(columns.values())))
    if _faultless(model, columns):
        return np.ones(size, bool)
    found = np.zeros(size, bool)
    for start in range(0, size, GROUP):
        group = np.arange(start, min(start + GROUP, size))
        full = np.resize(group, GROUP)  # of one size, so that what models compile serves all groups
        all_valid = _faultless(model, {name: x[full] for name, x in columns.items()})
        found[group] = all_valid or [not _fault(model, _one(columns, i)) for i in group.tolist()]
    return found


def rejection(model: Model, columns: Mapping[str, np.ndarray]) -> str:
    """Why a model rejects the first of the members that it rejects; empty if it accepts all; see `accepted`.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.optimization.validity import rejection
        >>> rejection(RollingWalker(), {"foot_radius": np.array([0.1, 0.5])}).split(":")[0]  # m
        'RollingWalker cannot stand'
    """
    rejected = np.flatnonzero(~accepted(model, columns))
    return _fault(model, _one(columns, int(rejected[0]))) if rejected.size else ""


def _one(columns: Mapping[str, np.ndarray], i: int) -> dict[str, np.ndarray | float]:
    return {name: x[i] if x.ndim > 1 else float(x[i]) for name, x in columns.items()}


def _faultless(model: Model, columns: Mapping[str, np.ndarray]) -> bool:
    """Whether a model accepts several members at once; False also where its rules were not written for arrays."""
    try:
        return not _fault(model, columns)
    except TypeError:
        return False


def _fault(model: Model, values: Mapping[str, np.ndarray | float]) -> str:
    """The model's objection to values by name, with a leading axis over members or without one; empty if none."""
    known = parameters(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleValue)  # the bounds were checked before
        try:
            with_parameters(model, {name: x for name, x in values.items() if name in known}).validate()
        except ValueError as error:
            return str(error) or type(error).__name__
    return ""
