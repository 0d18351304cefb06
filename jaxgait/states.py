"""The components of a state by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from jaxgait.checks import nearest
from jaxgait.fields import within_arrays
from jaxgait.model import State
from jaxgait.precision import float64_default


@float64_default
def state_variables(y: State) -> dict[str, Any]:
    """The components of a state by name.

    Fields of a named tuple or module and entries of a dict keep their names, entries of a tuple or list are `state_0`,
    `state_1`, ..., a single array is `state`; names of nested components are joined by underscores.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.states import state_variables
        >>> {name: float(value) for name, value in state_variables(Bungee().initial_state()).items()}
        {'x': -30.0, 'v': 0.0}
        >>> list(state_variables({"hip": {"x": 0.0, "y": 0.9}}))
        ['hip_x', 'hip_y']
    """
    leaves = jax.tree.leaves_with_path(y)
    if isinstance(y, Mapping):  # in its own order; jax sorts the keys
        order = {key: number for number, key in enumerate(y)}
        leaves.sort(key=lambda pair: order[pair[0][0].key])
    return {_component(path): leaf for path, leaf in leaves}


@float64_default
def with_state_variables(y: State, values: Mapping[str, Any]) -> State:
    """A state with some components, or elements of arrays ("q[2]"), replaced, by their names in `state_variables`.

    Raises:
        ValueError: for an unknown name, with the nearest ones.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.states import with_state_variables
        >>> with_state_variables(Bungee().initial_state(), {"v": 3.0}).v
        3.0
    """
    own = state_variables(y)
    whole = within_arrays(values, own)
    if unknown := [name for name in whole if name not in own]:
        raise ValueError(f"the state has no {unknown[0]!r}: {nearest(unknown[0], own)}")
    return jax.tree.map_with_path(lambda path, leaf: whole.get(_component(path), leaf), y)


def _component(path: tuple[Any, ...]) -> str:
    keys = [str(getattr(key, "name", getattr(key, "key", getattr(key, "idx", "")))) for key in path]
    numbered = path and isinstance(path[0], jax.tree_util.SequenceKey)
    return "_".join((["state"] if numbered or not path else []) + keys)
