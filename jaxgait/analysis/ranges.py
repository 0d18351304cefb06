"""The values that a parameter takes in an analysis, in its unit and checked against its declared bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxgait.parameters import check_value, in_own_unit, parameter_info, with_parameters
from jaxgait.precision import float64_default
from jaxgait.solve.checks import check_model
from jaxgait.support.checks import is_concrete, shown

__all__ = ["check_pair", "check_span", "check_values"]


def check_pair(what: str, names: Any) -> tuple[str, str]:
    """The argument, after checking that it names two different parameters.

    Args:
        what: the argument's name, for the message.
        names: both names.

    Raises:
        ValueError: for anything else, such as a single name.

    Examples:
        >>> from jaxgait.analysis.ranges import check_pair
        >>> check_pair("names", "mass")
        Traceback (most recent call last):
            ...
        ValueError: names must be two different parameters, such as ("mass", "stiffness"), got 'mass'
    """
    pair = tuple(names) if isinstance(names, tuple | list) else ()
    if not (len(pair) == 2 and all(isinstance(name, str) for name in pair) and pair[0] != pair[1]):
        raise ValueError(f'{what} must be two different parameters, such as ("mass", "stiffness"), got {shown(names)}')
    return pair


@float64_default
def check_values(model: Any, name: str, values: Any) -> Any:
    """Values of a parameter, one or more, converted to its own unit if labelled, and checked unless traced.

    Raises:
        jaxgait.parameters.ParameterError: for an unknown parameter, a value out of its bounds, and another quantity.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.analysis.ranges import check_values
        >>> check_values(Bungee(), "mass", [70.0, 0.0])
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: Bungee.mass (body mass) must be positive, got 0 kg at index (1,)
    """
    info = parameter_info(model, name)
    values = in_own_unit(name, values, info.unit)
    varied = with_parameters(model, {name: values})
    if is_concrete(values):
        check_value(f"{type(model).__name__}.{name}", values, info)
    check_model(varied)
    return values


@float64_default
def check_span(what: str, span: Any, model: Any, name: str) -> tuple[float, float]:
    """The first and the last value of a parameter in its own unit; see `check_values`.

    Args:
        what: the argument's name, for the message.
        span: both values.
        model: the mechanism.
        name: the parameter, by dotted name.

    Raises:
        ValueError: for anything but two different numbers.
        jaxgait.parameters.ParameterError: as `check_values`.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.analysis.ranges import check_span
        >>> check_span("span", 90.0, Bungee(), "mass")
        Traceback (most recent call last):
            ...
        ValueError: span must be the first and the last value of mass, such as (0.01, 0.02), got 90.0
    """
    if np.shape(span) != (2,):
        raise ValueError(
            f"{what} must be the first and the last value of {name}, such as (0.01, 0.02), got {shown(span)}"
        )
    first, last = (float(check_values(model, name, end)) for end in span)
    if first == last:
        raise ValueError(f"{what} must have two different ends, got {span}")
    return first, last
