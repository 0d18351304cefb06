"""Checks of models and states before anything is compiled; traced values are not checked."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait.checks import is_concrete, shown
from jaxgait.model import Model
from jaxgait.native import disk
from jaxgait.native.identity import identity
from jaxgait.parameters import check, is_real
from jaxgait.run import state_variables

__all__ = ["check_equations", "check_kind", "check_model", "check_state"]


def check_kind(model: Any, kind: type, what: str) -> None:
    """Checks that a model has the class, or implements the protocol, that a solver needs.

    Args:
        model: the model to check.
        kind: the class or protocol.
        what: the requirement in words, with an example, for the message.

    Raises:
        TypeError: if it does not.
    """
    if isinstance(model, type):
        raise TypeError(f"give an instance, not the class: {model.__name__}()")
    if not isinstance(model, kind):
        hint = ": run it with jaxgait.simulate" if isinstance(model, Model) else ""
        raise TypeError(f"a mechanism with {what} is needed, got {type(model).__name__}{hint}")


def check_model(model: Any) -> None:
    """Validates a model; if some leaves are traced, only the parameters that are concrete.

    Raises:
        jaxgait.parameters.ParameterError: naming the parameter, its value and what would be right.
    """
    if not hasattr(model, "validate"):
        return
    if is_concrete(model):
        model.validate()
    else:
        check(model)


def check_state(name: str, y: Any, like: Any) -> None:
    """Checks that a state has the structure of another one, and is finite where it is not traced.

    Args:
        name: the argument's name, for the message.
        y: the state to check.
        like: the model's own initial state.

    Raises:
        ValueError: naming the expected structure, or the component that is not finite.
    """
    wanted, given = jax.tree.structure(like), jax.tree.structure(y)
    if given != wanted:
        fields = ", ".join(state_variables(like))
        raise ValueError(f"{name} must be a {type(like).__name__} ({fields}), as the model's own, got {shown(y)}")
    pairs = zip(jax.tree.leaves_with_path(y), jax.tree.leaves(like), strict=True)
    for (path, leaf), own in pairs:
        component = name + jax.tree_util.keystr(path)
        if np.shape(leaf) != np.shape(own):
            raise ValueError(
                f"{component} must have the shape {np.shape(own)}, got {np.shape(leaf)}: one state at a time"
            )
        if not is_real(leaf):
            raise ValueError(f"{component} must be a real number, got {shown(leaf)}")
        if is_concrete(leaf) and not np.all(np.isfinite(np.asarray(leaf, dtype=float))):
            raise ValueError(f"{component} must be finite, got {shown(leaf)}")


def check_equations(model: Any) -> None:
    """Traces a model's own functions once per structure, so that error messages can be in the model's terms.

    Args:
        model: with leaves of the precision in force; their values do not matter.

    Raises:
        TypeError: for a state of another structure than the vector field's, outputs that are not a dict of numbers, and
            functions that branch on values that are only known when the program runs.
    """
    dynamic, static = eqx.partition(model, eqx.is_array_like)
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), jnp.result_type(x)), dynamic)
    leaves, structure = jax.tree.flatten(shapes)
    _check_equations(_Structure(type(model), structure, tuple((x.shape, x.dtype) for x in leaves), (shapes, static)))


class _Structure:
    """A model without its numbers, equal to others of the same structure."""

    def __init__(self, kind: type, structure: Any, leaves: tuple, model: Any) -> None:
        self.key, self.kind, self.model = (kind, structure, leaves), kind, model

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Structure) and self.key == other.key


@functools.lru_cache(maxsize=64)
def _check_equations(structure: _Structure) -> None:
    shapes, static = structure.model
    name, known = structure.kind.__name__, identity(structure.kind, shapes, static)
    passed = None if known is None else disk.key("checked", known)
    if passed is not None and disk.load(passed) is not None:  # by an earlier process
        return

    def whole(numbers: Any) -> Any:
        return eqx.combine(numbers, static)

    y = _traced(f"{name}.initial_state", lambda m: whole(m).initial_state(), shapes)
    if not jax.tree.leaves(y):
        raise TypeError(f"{name}.initial_state must return the state at the start, got {shown(y)}")
    t = jax.ShapeDtypeStruct((), float)
    if hasattr(structure.kind, "vector_field"):
        rates = _traced(f"{name}.vector_field", lambda m, t, y: whole(m).vector_field(t, y), shapes, t, y)
        _check_rates(name, rates, y)
    found = _traced(f"{name}.outputs", lambda m, t, y: whole(m).outputs(t, y), shapes, t, y)
    if not (isinstance(found, dict) and all(isinstance(key, str) for key in found)):
        raise TypeError(f"{name}.outputs must return a dict of numbers and arrays by name, got {shown(found)}")
    if passed is not None:
        disk.store(passed, b"")


def _traced(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The shapes that a function of a model returns."""
    try:
        return jax.eval_shape(function, *arguments)
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        own = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename]
        at = own[-1] if own else frame
        raise TypeError(
            f"{name} looks at a value that is only known when the compiled program runs (line {at.lineno} of "
            f"{at.filename}: {(at.line or '').strip()!r}): write jnp.where(condition, a, b) instead of `if`, and "
            "jnp functions instead of float(), math and numpy ones"
        ) from error


def _check_rates(name: str, rates: Any, y: Any) -> None:
    """Checks that a vector field returns the structure of the state."""
    if jax.tree.structure(rates) != jax.tree.structure(y):
        raise TypeError(
            f"{name}.vector_field must return the rates as a {_kind(y)}, like the state, got {_what(rates, y)}"
        )
    for (path, rate), own in zip(jax.tree.leaves_with_path(rates), jax.tree.leaves(y), strict=True):
        if np.shape(rate) != np.shape(own):
            component = jax.tree_util.keystr(path)
            raise TypeError(
                f"{name}.vector_field must return a rate of the shape {np.shape(own)} for {component}, got "
                f"{np.shape(rate)}"
            )
        if jnp.issubdtype(rate.dtype, jnp.complexfloating) and not jnp.issubdtype(own.dtype, jnp.complexfloating):
            raise TypeError(f"{name}.vector_field must return real rates, got complex ones{_of(path)}")


def _of(path: Any) -> str:
    component = jax.tree_util.keystr(path)
    return f" for {component}" if component else ""


def _kind(y: Any) -> str:
    return f"array of shape {y.shape}" if isinstance(y, jax.ShapeDtypeStruct) else type(y).__name__


def _what(rates: Any, y: Any) -> str:
    """What a vector field returned, in words."""
    if type(rates) is type(y) and hasattr(y, "_fields"):
        wrong = [n for n in y._fields if jax.tree.structure(getattr(rates, n)) != jax.tree.structure(getattr(y, n))]
        return f"one with {' and '.join(f'.{n} = {shown(getattr(rates, n))}' for n in wrong)}"
    return "None" if rates is None else f"{'an' if isinstance(rates, jax.ShapeDtypeStruct) else 'a'} {_kind(rates)}"
