"""Values by dotted name: parameters, components of the initial state, and numbers of the motion that drives a model."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike

from jaxgait.elements import array_of, declared, no_element, value_named
from jaxgait.model import Model, State
from jaxgait.parameters import ParameterError, parameter_info, parameters, with_parameters
from jaxgait.precision import cast
from jaxgait.states import component_labelled, state_variables, with_state_variables
from jaxgait.support import checks

T = TypeVar("T")

INITIAL = "initial."
"""Prefix that addresses a component of the initial state instead of a parameter."""
DRIVE = "drive."
"""Prefix that addresses a number of the motion that drives a model, such as "drive.thigh.a" (see `walks`)."""


def is_start(model: Model, name: Any) -> bool:
    """Whether a name addresses a component of the initial state, and not a parameter of a part called "initial"."""
    return isinstance(name, str) and name.startswith(INITIAL) and not declared(parameters(model), [name])


def parted(model: Model, values: Mapping[str, T]) -> tuple[dict[str, T], dict[str, T]]:
    """Splits values by dotted name into parameters and components of the initial state (by their names in the state).

    Numbers of the motion count as parameters.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.ensembles.addresses import parted
        >>> parted(Bungee(), {"mass": 70.0, "initial.v": 3.0})
        ({'mass': 70.0}, {'v': 3.0})
    """
    start = {name: x for name, x in values.items() if is_start(model, name)}
    own = {name: x for name, x in values.items() if name not in start}
    return own, {name.removeprefix(INITIAL): x for name, x in start.items()}


def shape_of(model: Model, name: str) -> tuple[int, ...]:
    """Shape of the value at a name: a parameter, a component of the initial state, or a number of the motion.

    Raises:
        ParameterError: for an unknown name, with the nearest valid ones, and for parameters that are not real numbers.
    """
    if not declared(parameters(model), [name]):
        if name.startswith(DRIVE):
            return np.shape(drive_number(model, name))
        if name.startswith(INITIAL):
            return np.shape(initial_value(model, name.removeprefix(INITIAL)))
    value = parameter_info(model, name).value
    if not _is_real(value):
        value = parameter_info(cast(model), name).value  # integers for real parameters, as in Bungee(mass=80)
    if not _is_real(value):
        raise ParameterError(f"{name!r} is not a real number ({value!r}) and cannot vary within an ensemble")
    return np.shape(value)


def _is_real(value: Any) -> bool:
    return all(isinstance(leaf, float | np.ndarray | np.floating | jax.Array) for leaf in jax.tree.leaves(value))


def initial_value(model: Model, component: str) -> Any:
    """The model's own value of a component of its initial state, in its unit.

    Raises:
        ParameterError: for an unknown component, with the nearest known ones.
    """
    components = state_variables(model.initial_state())
    found = value_named(components, component)
    if found is None:
        if wrong := no_element("", INITIAL + component, {INITIAL + n: x for n, x in components.items()}):
            raise ParameterError(wrong)
        nearest = checks.nearest(INITIAL + component, [INITIAL + name for name in sorted(components)])
        hint = component_labelled(model, component, INITIAL) or nearest
        raise ParameterError(f"the state of {type(model).__name__} has no component {component!r}: {hint}")
    return found


def drive_number(model: Model, name: str) -> Any:
    """The number or array at a name such as "drive.thigh.a" in a driven model's motion, in its own unit.

    Raises:
        ParameterError: if the model is not driven, or its motion has no such number.
    """
    try:
        found = value_at(model, array_of(name))
    except (AttributeError, IndexError, ValueError, TypeError):
        found = None
    if not isinstance(found, float | int | np.ndarray | np.floating | jax.Array):
        raise ParameterError(
            f"the motion of {type(model).__name__} has no number {name!r}: see jaxgait.ensembles.walks"
        )
    if array_of(name) != name:
        raise ParameterError(f"{name!r} is an element of an array of the motion: give all of {array_of(name)!r}")
    return found


def value_at(model: Any, name: str) -> Any:
    """The value at a dotted name in a tree of modules and tuples, of any type and in its own unit."""
    step = lambda owner, key: owner[int(key)] if isinstance(owner, tuple) and key.isdecimal() else getattr(owner, key)
    return functools.reduce(step, name.split("."), model)


def own_value(model: Model, name: str, y0: State | None = None) -> Array:
    """The model's own value of a parameter, a number of its motion or a component of its initial state, in its unit.

    Args:
        model: the mechanism, such as the one that `member_of` returns.
        name: the dotted name.
        y0: the initial state; None: the model's own.
    """
    if found := declared(parameters(model), [name]):
        return jnp.asarray(found[name].value, dtype=float)
    if name.startswith(DRIVE):
        return jnp.asarray(drive_number(model, name), dtype=float)
    y0 = model.initial_state() if y0 is None else y0
    return value_named(state_variables(y0), name.removeprefix(INITIAL))


def member_of(model: Model, values: Mapping[str, ArrayLike]) -> tuple[Model, State]:
    """The model of one member and its initial state, from its values by dotted name, in their units."""
    own, start = parted(model, values)
    model = model_of(model, own)
    return model, with_state_variables(model.initial_state(), start)


def model_of(model: Model, values: Mapping[str, ArrayLike]) -> Model:
    """The model with these values of its parameters and of numbers of its motion, each of the same shape as before."""
    known = declared(parameters(model), values)
    moved = {n: x for n, x in values.items() if n not in known}
    model = with_parameters(model, {n: x for n, x in values.items() if n in known})
    if moved:
        model = eqx.tree_at(lambda m: [value_at(m, n) for n in moved], model, list(moved.values()))
    return model
