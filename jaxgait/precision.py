"""Floating-point precision, chosen at the entry points and nowhere else.

Importing jaxgait changes no JAX setting. `simulate`, `ensemble`, `optimize` and the command line take
`precision="float64"` (the reference, the default) or `"float32"` (a choice made knowingly) and run under it:

    with precision.use("float64"):
        model = precision.cast(model)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

Precision = Literal["float64", "float32"]
T = TypeVar("T")


@contextlib.contextmanager
def use(precision: Precision) -> Iterator[None]:
    """Runs a block of JAX code in the given precision and restores the user's setting afterwards.

    Args:
        precision: "float64" or "float32".

    Raises:
        ValueError: for any other name.
    """
    if precision not in ("float64", "float32"):
        raise ValueError(f"precision must be 'float64' or 'float32', got {precision!r}")
    with jax.enable_x64(precision == "float64"):
        yield


def cast(tree: T) -> T:
    """Turns every float leaf, Python's or NumPy's, into a JAX array of the precision in force.

    Models keep their parameters as plain floats until an entry point calls this: building a model fixes no precision.
    Declared parameters (see `jaxgait.models.parameters`) are real numbers even when they were given as integers, but
    those with an integer as default; other integers are left alone, too: they may count something.
    """

    def leaf(path: Any, x: Any) -> Any:
        real = _is(x, float, jnp.floating) or (_is(x, int, jnp.integer) and _is_declared(tree, path))
        return jnp.asarray(x, dtype=jnp.result_type(float)) if real else x

    return jax.tree_util.tree_map_with_path(leaf, tree)


def _is(x: Any, scalar: type, dtype: Any) -> bool:
    """Whether a leaf is a Python number or an array of a kind; truth values are no numbers."""
    is_array = isinstance(x, np.ndarray | np.generic | jax.Array) and jnp.issubdtype(x.dtype, dtype)
    return is_array or (isinstance(x, scalar) and not isinstance(x, bool))


def _is_declared(tree: Any, path: Any) -> bool:
    """Whether a leaf lies in a field of a module that was declared with a unit and no integer as default."""
    for key in path:
        if isinstance(key, jax.tree_util.GetAttrKey):
            field = getattr(type(tree), "__dataclass_fields__", {}).get(key.name)
            if field is not None and "unit" in field.metadata:
                return not isinstance(field.default, int)
            tree = getattr(tree, key.name)
        elif isinstance(key, jax.tree_util.DictKey | jax.tree_util.SequenceKey):
            tree = tree[key.key if isinstance(key, jax.tree_util.DictKey) else key.idx]
        else:
            return False
    return False
