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
    """Turns every Python or NumPy float leaf of a pytree into a JAX array of the precision in force.

    Models keep their parameters as plain floats until an entry point calls this: building a model fixes no precision.
    """

    def leaf(x: Any) -> Any:
        is_array = isinstance(x, np.ndarray | np.floating | jax.Array) and jnp.issubdtype(x.dtype, jnp.floating)
        return jnp.asarray(x, dtype=jnp.result_type(float)) if is_array or isinstance(x, float) else x

    return jax.tree.map(leaf, tree)
