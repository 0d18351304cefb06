"""Why a motion does not return to its section, as a code for each of many walks, and in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxgait.model import Model
from jaxgait.native import kept
from jaxgait.outcome import FIRST_TERMINATION, Outcome, sentence
from jaxgait.precision import cast, float64_default
from jaxgait.solve.return_maps import PoincareMap, Point, ReturnMap
from jaxgait.solve.stroboscopic import StroboscopicMap
from jaxgait.support.checks import is_concrete

__all__ = ["described", "step_of", "why_lost"]


def step_of(return_map: ReturnMap) -> Callable[[Any, Point], tuple[Point, Int[Array, ""]]]:
    """The map as a function to the next point and how the motion ended, a code of `jaxgait.outcome`.

    The code is always `COMPLETED` for maps that do not report it, such as plain functions.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.return_failures import step_of
        >>> z, code = step_of(lambda model, z: 0.5 * z)(None, jnp.array([2.0]))
        >>> print(z, code)
        [1.] 0
    """
    if type(return_map) in (PoincareMap, StroboscopicMap):
        return return_map.tried
    return lambda model, z: (return_map(model, z), jnp.asarray(int(Outcome.COMPLETED), jnp.int32))


@float64_default
def why_lost(return_map: Any, model: Any, z0: Float[ArrayLike, " n"], returns: int) -> str:
    """How the motion from a point ends, if it does not return as often as wanted; "" if it does, or if unknown.

    Args:
        return_map: any; only a `PoincareMap` and a `StroboscopicMap` report how it ends.
        model: the mechanism.
        z0: the point, in the units of its coordinates.
        returns: how often it is to return.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.solve.return_failures import why_lost
        >>> from jaxgait.solve.periodic import PoincareMap
        >>> why_lost(PoincareMap(), RollingWalker(), jnp.array([0.2, 0.5, 0.3]), returns=1)
        'ended early: fell'
    """
    if not (type(return_map) in (PoincareMap, StroboscopicMap) and is_concrete((model, z0))):
        return ""
    model, z = cast(model), jnp.asarray(z0, float)
    for done in range(returns):
        z, ended = _tried(return_map, model, z)
        if (code := int(ended)) != Outcome.COMPLETED:
            return described(return_map, model, code) + (f" (after {done} of {returns} returns)" if done else "")
    return ""


@float64_default
def described(return_map: ReturnMap, model: Any, code: int, before: str = "") -> str:
    """From its code, how a motion ended that does not return to the section of a map, after `before`; "" if unknown.

    Examples:
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.outcome import Outcome
        >>> from jaxgait.solve.return_failures import described
        >>> from jaxgait.solve.periodic import PoincareMap
        >>> described(PoincareMap(max_time=2.0), RollingWalker(), Outcome.NO_RETURN)
        'it is not back after 2 s, the max_time'
    """
    return "" if code == Outcome.COMPLETED else before + _sentence(return_map, model, code)


def _sentence(return_map: Any, model: Any, code: int) -> str:
    if code >= FIRST_TERMINATION and not isinstance(model, Model):  # a plain class with phases and transitions
        ends = [name for name, one in model.transitions().items() if one.ends]
        return f"ended early: {ends[code - FIRST_TERMINATION]}"
    if code != Outcome.NO_RETURN:
        return sentence(model, code)
    if isinstance(return_map, StroboscopicMap):
        return f"it is not in phase {return_map.phase} after its period"
    return f"it is not back after {float(np.max(return_map.longest(model))):g} s, the max_time"


@kept
def _tried(return_map: PoincareMap | StroboscopicMap, model: Any, z: Point) -> tuple[Point, Int[Array, ""]]:
    return return_map.tried(model, z)
