"""What a model builds before a run: everything that follows from its parameters alone, computed once.

    class Rotor(Model):
        @derived
        def inertia(self): ...                # in kg m^2: a sum over many bodies

        def vector_field(self, t, y):
            return State(y.speed, self.torque(t) / self.inertia())

    system = Rotor().prepared()               # a `System`: its inertia() returns what was computed here

Derived values are in no field of the model, so that a model with another parameter cannot have those of the old one.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import equinox as eqx

from jaxgait.mechanics import Scalar
from jaxgait.parameters import Prepared
from jaxgait.precision import float64_default
from jaxgait.support.checks import shown

__all__ = ["System", "derived"]

M = TypeVar("M")
T = TypeVar("T")

_MARK = "__derived__"
"""Attribute of a derived method: the function that computes its value."""
_VALUES = "__derived_values__"


def derived(method: Callable[[M], T]) -> Callable[[M], T]:
    """Declares a method of a model whose value follows from the parameters alone: computed once before a run.

    In the equations of motion it is called as any other method. On the model itself it computes its value; during a
    run, on the prepared model, it returns what was computed before. A derived method may use those defined before it,
    and those of models and laws that are fields of the model.

    Args:
        method: a method without arguments; its value, of any unit, is an array or a pytree of arrays.

    Raises:
        TypeError: for anything but a function.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.model import derived
        >>> class Heavy(Bungee):
        ...     @derived
        ...     def weight(self):
        ...         print("computed")
        ...         return self.mass * self.gravity
        >>> system = Heavy(mass=80.0).prepared()
        computed
        >>> print(system.weight(), Heavy(mass=50.0).weight())  # N
        computed
        800.0 500.0
    """
    if not callable(method):
        raise TypeError(f"derived decorates a method of a model (@derived), got {shown(method)}")
    name = method.__name__

    @functools.wraps(method)
    def once(self: M) -> T:
        known = vars(self).get(_VALUES, {})
        chosen = getattr(getattr(type(self), name, None), _MARK, None)  # another one, if `super()` called this
        return known[name] if chosen is method and name in known else method(self)

    setattr(once, _MARK, method)
    return once


@float64_default
class System(Prepared):
    """A model prepared for a run, with everything derived from its parameters.

    It has the model's methods and parameters, but it is not a `Model`: its parameters cannot be replaced, because the
    derived values would not follow.

    Examples:
        >>> from jaxgait import Bungee
        >>> system = Bungee().prepared()
        >>> start = system.initial_state()
        >>> print(system.name, system.vector_field(0.0, start).v, system(0.0, start).v)  # m/s^2
        Bungee 10.0 10.0
    """

    _model: Any
    _values: dict[str, Any]
    """Values by the names of the derived methods; those of a field's module in a dict under the field's name."""

    @classmethod
    def of(cls, model: Any) -> System:
        """A model with the values of all its derived methods.

        Examples:
            >>> from jaxgait import Bungee
            >>> from jaxgait.model import System
            >>> print(System.of(Bungee()).mass)  # kg
            70.0
        """
        return cls(model, _computed(model))

    def __getattr__(self, name: str) -> Any:
        """An attribute of the model, whose derived methods return the values computed before."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(_knowing(self._model, self._values), name)

    def vector_field(self, t: Any, y: Any) -> Any:
        """The model's vector field, whatever its arguments: checks exchange them."""
        return _knowing(self._model, self._values).vector_field(t, y)

    def __call__(self, t: Scalar, y: Any, args: object = None) -> Any:
        """The vector field, in the argument order of diffrax."""
        return self.vector_field(t, y)

    @property
    def name(self) -> str:
        """The model's class, for messages."""
        return type(self._model).__name__


def _computed(model: Any) -> dict[str, Any]:
    """The values of all derived methods of a model and of the modules in its fields."""
    parts = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    known = {name: _computed(part) for name, part in parts.items() if isinstance(part, eqx.Module)}
    known = {name: values for name, values in known.items() if values}
    for name in _derived_methods(type(model)):
        known[name] = getattr(_knowing(model, known), name)()
    return known


@functools.cache
def _derived_methods(kind: type) -> tuple[str, ...]:
    """The names of the derived methods of a class, those of its bases first, in the order of their definition."""
    names = dict.fromkeys(name for base in reversed(kind.__mro__) for name in vars(base))
    return tuple(name for name in names if hasattr(getattr(kind, name, None), _MARK))


def _knowing(model: M, values: Mapping[str, Any]) -> M:
    """A copy of a model whose derived methods return known values.

    They are in an attribute that is not a field: every model made from this one, by replacing a parameter or by a JAX
    transformation, lacks them.
    """
    fields: Mapping[str, Any] = vars(model)
    inside = {name: _knowing(fields[name], found) for name, found in values.items() if name in fields}
    made: Any = object.__new__(type(model))
    vars(made).update({**fields, **inside, _VALUES: dict(values)})
    return made
