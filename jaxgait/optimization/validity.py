"""Which designs a model accepts: rules between parameters may forbid points inside a box whose corners are valid."""

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
STATUS_TEXT = "how the run ended (0: completed; -2: no valid design; -3: the gait is not stable)"


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
    if not _fault(model, columns):
        return np.ones(size, bool)
    if size == 1:
        return np.zeros(1, bool)
    halves = ({name: x[part] for name, x in columns.items()} for part in (slice(size // 2), slice(size // 2, None)))
    return np.concatenate([accepted(model, half) for half in halves])


def rejection(model: Model, columns: Mapping[str, np.ndarray]) -> str:
    """Why a model rejects the first of the members that it rejects; empty if it accepts all; see `accepted`.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.optimization.validity import rejection
        >>> rejection(RollingWalker(), {"foot_radius": np.array([0.1, 0.5])}).split(":")[0]  # m
        'RollingWalker cannot stand'
    """
    one = lambda i: {name: x[i] if x.ndim > 1 else float(x[i]) for name, x in columns.items()}
    return next((_fault(model, one(i)) for i in np.flatnonzero(~accepted(model, columns))), "")


def _fault(model: Model, values: Mapping[str, np.ndarray | float]) -> str:
    """The model's objection to values by name, with a leading axis over members or without one; empty if none."""
    known = parameters(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleValue)  # the bounds were checked before
        try:
            with_parameters(model, {name: x for name, x in values.items() if name in known}).validate()
        except (
            ValueError
        ) as error:  # also of rules that were not written for arrays: then of one member after the other
            return str(error) or type(error).__name__
    return ""
