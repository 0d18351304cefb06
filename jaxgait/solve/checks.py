"""Checks of models and states before anything is compiled; traced values are not checked."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxgait.checks import is_concrete, shown
from jaxgait.model import Model, System
from jaxgait.parameters import check, is_real
from jaxgait.run import state_variables


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
    moves = model._model if isinstance(model, System) else model  # Python 3.12 does not see what a System delegates
    if not isinstance(moves, kind):
        hint = ": use jaxgait.simulate" if isinstance(model, Model) else ""
        raise TypeError(f"expected a model with {what}, got {type(model).__name__}{hint}")


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
        fields = list(state_variables(like))
        own = (
            f"such as model.initial_state()._replace({fields[0]}=...)"
            if hasattr(like, "_replace")
            else "as the model's"
        )
        what = f"{name} must be a {type(like).__name__} ({', '.join(fields)}), {own}"
        if is_concrete(y):
            y = jax.tree.map(lambda x: x.item() if isinstance(x, jax.Array) and not x.shape else x, y)
        raise ValueError(f"{what}, got {shown(y)}")
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
