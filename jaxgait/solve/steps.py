"""What all schemes share: starts, choices between states, and what is recorded after a step."""

from __future__ import annotations

import contextlib
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxgait.mechanics import Scalar
from jaxgait.model import Model, State
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.run import Extremes
from jaxgait.states import state_variables
from jaxgait.support import checks

T = TypeVar("T")


def prepared(model: Any) -> Any:
    """A model with everything derived from its parameters; itself if it only has the methods of a protocol."""
    return model.prepared() if isinstance(model, Model) else model


def start_state(model: Any, y0: State | None) -> State:
    """A given state, or the model's own, as arrays in SI units."""
    in_floats = lambda x: x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(float)
    return jax.tree.map(lambda x: in_floats(jnp.asarray(x)), model.initial_state() if y0 is None else y0)


def as_point(z: Any, name: str = "z0") -> Float[Array, " n"]:
    """One point of a return map as an array, in the units of its coordinates; `name` is the argument's, for messages.

    Raises:
        ValueError: for anything else.

    Examples:
        >>> from jaxgait.solve.steps import as_point
        >>> print(as_point([0.2, -1]))
        [ 0.2 -1. ]
    """
    found = as_points(z, name, "one point, a vector of numbers")
    if found.ndim != 1 or found.size == 0:
        raise ValueError(f"{name} must be one point, a vector, got the shape {found.shape}: use jax.vmap for many")
    return found


def as_points(z: Any, name: str, what: str = "points, an array of numbers") -> Float[Array, " ..."]:
    """Points of a return map, in any arrangement, as an array in the units of their coordinates; see `as_point`.

    Raises:
        ValueError: for anything but `what`: text, None, and lists that form no array.

    Examples:
        >>> from jaxgait.solve.steps import as_points
        >>> as_points(None, "z0")
        Traceback (most recent call last):
            ...
        ValueError: z0 must be points, an array of numbers, got None
    """
    with contextlib.suppress(ValueError):  # of lists that form no array
        if not checks.is_concrete(z) or checks.as_array(z).dtype.kind in "fiu":
            return jnp.asarray(z).astype(float)
    raise ValueError(f"{name} must be {what}, got {checks.shown(z)}")


def as_precise_as(t: Scalar, y: State) -> State:
    """A state as arrays with at least the digits of the time `t` in s, each in its own unit, as diffrax makes them."""
    return jax.tree.map(lambda x: _as_precise(x, jnp.result_type(t)), y)


def like_state(found: State, y: State) -> State:
    """Rates, or a state after an event, as arrays of the types of a state, also from whole numbers or fewer digits.

    Each keeps its unit; complex rates of a real state stay complex.
    """
    return jax.tree.map(lambda x, own: _as_precise(x, jnp.result_type(own)), found, y)


def _as_precise(x: Any, dtype: Any) -> Array:
    """Numbers as an array of a type, or of the one between both that loses nothing: complex numbers stay complex."""
    with jax.numpy_dtype_promotion("standard"):
        dtype = jnp.promote_types(jnp.result_type(x), dtype)
    return jnp.asarray(x, dtype)


def unfilled(tree: T, count: int) -> T:
    """`count` NaN-filled copies of a pytree in its units, stacked along a leading axis."""
    return jax.tree.map(lambda x: jnp.full((count, *jnp.shape(x)), jnp.nan, jnp.result_type(x)), tree)


def select(condition: Bool[Array, ""], yes: T, no: T) -> T:
    """One of two pytrees of the same units, leaf by leaf; `condition` is a scalar."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def all_finite(tree: Any) -> Bool[Array, ""]:
    """Whether all numbers of a pytree, in any units, are finite: a scalar."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]))


def ending(model: Any, t: Scalar, y: State) -> Int[Array, ""]:
    """The outcome of a run that ends after a step: one of the model's terminations, otherwise `Outcome.COMPLETED`.

    Args:
        model: the mechanism; the first of its terminations that is true counts.
        t: time in s after the step.
        y: state after it.
    """
    code = jnp.int32(Outcome.COMPLETED)
    for i, condition in enumerate(model.terminations().values()):
        code = jnp.where((code == Outcome.COMPLETED) & condition(t, y), jnp.int32(FIRST_TERMINATION + i), code)
    return jnp.where(all_finite(y), code, jnp.int32(Outcome.NONFINITE))


def watched(model: Any, t: Scalar, y: State, names: tuple[str, ...]) -> dict[str, Array]:
    """Outputs or components of the state by name, at one time in s, each in its own unit and shape.

    Raises:
        ValueError: for an unknown name, with the nearest ones.
        TypeError: for anything but names.
    """
    found, names = state_variables(y), checks.as_names("watch", names)
    if not all(n in found for n in names):
        found = {**model.outputs(t, y), **found}
    if unknown := [n for n in names if n not in found]:
        raise ValueError(f"there is no {unknown[0]!r} to watch: {checks.nearest(unknown[0], found)}")
    return {n: jnp.asarray(found[n]) for n in names}


def extremes(values: dict[str, Array], counts: Bool[Array, " steps"]) -> dict[str, Extremes]:
    """Extremes, each in its own unit, over the steps (leading axis) where `counts` is true, as it is for the first."""
    keep = lambda x: jnp.where(counts.reshape(-1, *[1] * (x.ndim - 1)), x, x[0])
    return {name: Extremes(keep(x).min(axis=0), keep(x).max(axis=0)) for name, x in values.items()}


def widened(seen: dict[str, Extremes], values: dict[str, Array], counts: Bool[Array, ""]) -> dict[str, Extremes]:
    """Extremes, each in its own unit and shape, widened by the values of one more step if `counts` is true."""
    return select(counts, {n: old.including(values[n], values[n]) for n, old in seen.items()}, seen)


def rounding(t: Any) -> Any:
    """Rounding error in s of times near t, an array of NumPy or JAX.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.solve.steps import rounding
        >>> print(f"{rounding(np.array(2.0)):.1g}")  # s
        4e-15
    """
    xp = t.__array_namespace__()
    return 8.0 * float(xp.finfo(t.dtype).eps) * xp.maximum(xp.abs(t), 1e-3)


def instant(dt: Array, t: Array) -> Array:
    """Time in s below which two events near time t coincide: by the precision of a step of dt and the rounding of t."""
    eps = float(jnp.finfo(t.dtype).eps)
    return jax.lax.stop_gradient(eps**0.5 * jnp.abs(dt) + rounding(t))
