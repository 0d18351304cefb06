"""Checks of the values that a parameter takes in an analysis, against its declared bounds."""

from __future__ import annotations

from typing import Any

from jaxgait.checks import is_concrete
from jaxgait.parameters import check_value, parameter_info, with_parameters
from jaxgait.precision import float64_default
from jaxgait.solve.checks import check_model

__all__ = ["check_values"]


@float64_default
def check_values(model: Any, name: str, values: Any) -> None:
    """Checks one or more values of a parameter, in its own unit, unless they are traced.

    Raises:
        jaxgait.parameters.ParameterError: for an unknown parameter, and for a value out of its bounds.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.analysis.ranges import check_values
        >>> check_values(Bungee(), "mass", [70.0, 0.0])
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: Bungee.mass (body mass) must be positive, got 0 kg at index (1,)
    """
    varied = with_parameters(model, {name: values})
    if is_concrete(values):
        check_value(f"{type(model).__name__}.{name}", values, parameter_info(model, name))
    check_model(varied)
