"""Functions of one member for every member of a model, and the values of the worst one: for `validate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from jaxgait.parameters import ParameterInfo, parameters, with_parameters
from jaxgait.precision import cast, float64_default
from jaxgait.support.checks import computed_at_once

M = TypeVar("M")


@float64_default
def each(model: M, function: Callable[[M], Any]) -> Any:
    """The values (of any unit) of a function for every member of a model, as arrays with a leading axis (members,).

    They are computed immediately, even while JAX traces the caller.

    Args:
        model: its parameters may have a batch axis, all of the same length; without any it is one member.
        function: a pure function of one member, in JAX. It is compiled once, so that it should be defined once.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import Bungee, with_parameters
        >>> from jaxgait.batches import each
        >>> def weight(jump):
        ...     return jump.mass * jump.gravity
        >>> print(each(with_parameters(Bungee(), {"mass": np.array([60.0, 80.0])}), weight).round(1))  # N
        [600. 800.]
        >>> print(each(Bungee(), weight).shape)
        (1,)
    """
    infos = parameters(model)
    axes = {name: one for name, info in infos.items() if jax.tree.leaves(one := _axes(info))}
    with computed_at_once():
        batched = {name: jax.tree.map(jnp.asarray, infos[name].value) for name in axes}
        return jax.tree.map(np.asarray, _evaluated(function, cast(model), batched, axes))


def _axes(info: ParameterInfo) -> Any:
    """The batch axis, 0, of each number or array of a parameter that has one; None for the others."""
    own = lambda path: info.rank - len(path)  # number of axes within nested tuples
    return jax.tree.map_with_path(lambda path, leaf: 0 if np.ndim(leaf) > own(path) else None, info.value)


@float64_default
def of_worst(excess: ArrayLike, *values: ArrayLike) -> list[float]:
    """The values, in their own units, of the member with the largest excess, for messages about a batch of members.

    Args:
        excess: of each member over its bound, in the bound's unit, as a scalar or an array.
        values: scalars, or arrays that broadcast to the shape of the excess.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.batches import of_worst
        >>> length, longest = np.array([1.0, 2.0, 3.0]), np.array([0.9, 2.5, 2.0])  # m
        >>> of_worst(length - longest, length, longest)
        [3.0, 2.0]
    """
    excess = np.asarray(excess)
    worst = np.argmax(np.where(np.isnan(excess), -np.inf, excess))
    return [float(np.broadcast_to(np.asarray(value), excess.shape).flat[worst]) for value in values]


@eqx.filter_jit
def _evaluated(function: Callable[[M], Any], model: M, batched: dict[str, Any], axes: dict[str, Any]) -> Any:
    if not batched:
        return jax.tree.map(lambda x: jnp.asarray(x)[None], function(model))
    return jax.vmap(lambda values: function(with_parameters(model, values)), in_axes=(axes,))(batched)
