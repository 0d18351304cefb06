"""The components of a state by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from jaxgait.elements import array_of, within_arrays
from jaxgait.model import Model, State, Variable
from jaxgait.precision import float64_default
from jaxgait.support.checks import listed, nearest

_BEYOND_MECHANISMS = 1e15
"""A number that no component of a state in SI units reaches. One that starts beyond it may stand for "never"."""


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


def out_of_bounds(x: Any) -> Any:
    """Whether numbers of a state are larger than those of any mechanism, one by one.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.states import out_of_bounds
        >>> print(out_of_bounds(np.array([0.3, np.nan, -1e20])))
        [False False  True]
    """
    return np.abs(x) > _BEYOND_MECHANISMS


def growth(model: Model, name: str, where: str = "") -> str:
    """The message about a component of the state that is out of bounds at the end, but not at the start.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.states import growth
        >>> growth(Bungee(), "v", " in 2 members")
        'v of Bungee grows without bound in 2 members: a force may have the wrong sign'
    """
    return f"{name} of {type(model).__name__} grows without bound{where}: a force may have the wrong sign"


def described_component(model: Model, name: str) -> Variable | None:
    """Unit and meaning of a component of a model's state, or of an element such as "q[2]"; None without any.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.states import described_component
        >>> print(described_component(Bungee(), "v").unit, described_component(Bungee(), "speed"))
        m/s None
    """
    component = array_of(name)
    index, elements = name[len(component) + 1 : -1], model.elements.get(component, ())
    if not (index and elements):
        return model.variables.get(component)
    return elements[int(index)] if index.isdecimal() and int(index) < len(elements) else None


def component_labelled(model: Model, label: Any, prefix: str = "") -> str:
    """A hint for a name, such as a joint's, given where an element of the state is needed; empty for other names.

    Args:
        model: the mechanism.
        label: one of its labels of a dimension.
        prefix: what precedes the names of components.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, hinge
        >>> from jaxgait.models.tree.model import TreeModel
        >>> from jaxgait.states import component_labelled
        >>> component_labelled(TreeModel([Link("leg", None, hinge((0, 1, 0)), mass=1.0, com=(0.0, 0.0, -0.5))]), "leg")
        "it is 'q[0]' or 'v[0]'"
    """
    dims = {name: one.dims for name, one in model.variables.items() if name in state_variables(model.initial_state())}
    places = [(name, list(model.labels.get(own[0], ()))) for name, own in dims.items() if len(own) == 1]
    found = [f"'{prefix}{name}[{labels.index(label)}]'" for name, labels in places if label in labels]
    return f"it is {listed(found)}" if found else ""


def _component(path: tuple[Any, ...]) -> str:
    keys = [str(getattr(key, "name", getattr(key, "key", getattr(key, "idx", "")))) for key in path]
    numbered = path and isinstance(path[0], jax.tree_util.SequenceKey)
    return "_".join((["state"] if numbered or not path else []) + keys)


def blank(values: Array, keep: Bool[Array, " times"]) -> Array:
    """Values along a leading axis, in their own unit, where `keep` is true.

    Elsewhere real numbers are NaN, signed integers -1, and flags False; other types do not change.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.states import blank
        >>> print(blank(jnp.array([80.0, 75.0, 60.0]), jnp.array([True, True, False])))
        [80. 75. nan]
    """
    nothing = {jnp.inexact: jnp.nan, jnp.signedinteger: -1, jnp.bool_: False}
    none = next((x for kind, x in nothing.items() if jnp.issubdtype(values.dtype, kind)), None)
    if none is None:
        return values
    return jnp.where(keep.reshape((-1,) + (1,) * (values.ndim - 1)), values, jnp.asarray(none, values.dtype))
