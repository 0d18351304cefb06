"""Whether the coordinates of a Poincare section fit together, and hold all of the state on which a gait depends.

And whether what was found is a gait at all, not an equilibrium on the section.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from jaxgait.model import State
from jaxgait.native import kept
from jaxgait.precision import cast, float64_default
from jaxgait.solve.checks import check_map
from jaxgait.solve.return_maps import PoincareMap, Point
from jaxgait.solve.steps import as_point, start_state
from jaxgait.solve.stroboscopic import StroboscopicMap
from jaxgait.states import state_variables
from jaxgait.support.checks import an_instance, count_of, first_few, is_concrete, warn_user

__all__ = ["check_section", "warn_of_section"]

_SAME = 1e-4
"""Largest relative difference that errors of integration and of a search explain."""
_STILL = 1e-6
"""Largest change of a state at an equilibrium in the time of a return, relative to its size."""
_SMALL = 1e-2
"""Fraction of the largest number of a point or a state that is added to a number's own size."""


@float64_default
def check_section(return_map: Any, model: Any, z: Float[ArrayLike, " n"]) -> None:
    """Checks that a point has as many numbers as its map returns, and comes back from its state, unless it is traced.

    Args:
        return_map: any; only a `PoincareMap` has coordinates that might not come back.
        model: the mechanism.
        z: the point, in the units of its coordinates.

    Raises:
        ValueError: naming the coordinates that differ; for a point of another size, and for anything but one point.
        TypeError: for a class instead of an instance of the model, and for anything but a return map.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.solve.periodic import Coordinates, PoincareMap
        >>> from jaxgait.solve.sections import check_section
        >>> check_section(PoincareMap(), RollingWalker(), jnp.array([0.2, -0.5, 0.3]))
        >>> swapped = Coordinates(RollingWalker.on_section, lambda walker, y: walker.section(y)[::-1])
        >>> check_section(PoincareMap(coordinates=swapped), RollingWalker(), jnp.array([0.2, -0.5, 0.3]))
        ... # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: section(on_section(z)) must be z, the same coordinates in the same order and units: z[0] = 0.2 ...
    """
    check_map(return_map)
    an_instance(model)
    if not is_concrete((model, z)):
        return
    own = np.asarray(as_point(z))
    back = _back(return_map, cast(model), jnp.asarray(own))
    if back.shape != own.shape:
        raise ValueError(f"a point on the section has {count_of(back.size, 'number', 'numbers')}, got {own.size} in z0")
    if not np.isfinite(back).all():  # the search says what is wrong with z
        return
    if isinstance(return_map, PoincareMap) and (off := np.flatnonzero(_differ(own, back))).size:
        changes = first_few([f"z[{i}] = {own[i]:.4g} becomes {back[i]:.4g}" for i in off])
        what = "section(on_section(z)) must be z, the same coordinates in the same order and units"
        raise ValueError(f"{what}: {changes}")


def _back(return_map: Any, model: Any, z: Point) -> np.ndarray:
    """The point that comes back from the state at a point; for other maps than `PoincareMap`, only its size counts."""
    if isinstance(return_map, PoincareMap):
        return np.asarray(return_map.round_trip(model, z))
    if isinstance(return_map, StroboscopicMap):
        return np.asarray(return_map.first_point(model))
    return np.zeros(jax.eval_shape(return_map, model, z).shape)


@float64_default
def warn_of_section(return_map: Any, model: Any, found: Any, order: int) -> None:
    """Warns of an equilibrium instead of a gait, and of coordinates that leave out what the gait depends on.

    A motion that goes on from the state after a return, instead of from that of its coordinates, leads to the same
    point if what they leave out only shifts, such as the distance travelled.

    Args:
        return_map: any; only a `PoincareMap` is looked at.
        model: the mechanism, with numbers that are known.
        found: the gait (`jaxgait.solve.periodic.FixedPoint`); none if its numbers are NaN or traced.
        order: returns after which it repeats.

    Warns:
        UserWarning: of an equilibrium; and naming the components that are not as after a return.

    Raises:
        ValueError: see `check_section`.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.models.walker import PAPER_POINT
        >>> from jaxgait.solve.periodic import PoincareMap, fixed_point
        >>> from jaxgait.solve.sections import warn_of_section
        >>> walker = RollingWalker()
        >>> gait = fixed_point(PoincareMap(), walker, np.array(PAPER_POINT))
        >>> warn_of_section(PoincareMap(), walker, gait, order=1)  # no warning
    """
    known = isinstance(return_map, PoincareMap) and is_concrete((model, found))
    if not (known and np.isfinite(np.asarray(found.jacobian)).all()):
        return
    check_section(return_map, model, found.z)  # a guess may be the same in another order
    z, largest = np.asarray(found.z), float(np.abs(np.asarray(found.jacobian)).max())
    after, restarted, second, moved = jax.tree.map(
        np.asarray, _going_on(return_map, cast(model), jnp.asarray(z, float), order)
    )
    size = _largest(after)
    if _largest(moved) <= _STILL * max(size, _largest(start_state(model, None))):
        warn_user(
            f"the gait of {type(model).__name__} is an equilibrium: at {_short(z)} the motion stands still; give a "
            "first guess farther from it, such as the last point of `orbit`"
        )
        return
    if not _differ(z, second, max(1.0, largest)).any():
        return
    states = state_variables(after)
    pairs = zip(states.items(), state_variables(restarted).values(), strict=True)
    lost = [f"{n} ({_short(own)} for {_short(x)})" for (n, x), own in pairs if _differ(x, own, size=size).any()]
    cause = f"on_section restarts with other values of {first_few(lost)}" if lost else "the motion depends on time"
    warn_user(
        f"the gait of {type(model).__name__} does not repeat: the next return leads to {_short(second)}, not "
        f"{_short(z)}, as {cause}; let section and on_section hold all but what only shifts"
    )


def _largest(y: State) -> float:
    return max(float(np.abs(x).max()) for x in jax.tree.leaves(y))


def _short(x: Any) -> str:
    return np.array2string(np.asarray(x), precision=4, threshold=6)


@kept
def _going_on(return_map: PoincareMap, model: Any, z: Point, returns: int) -> tuple[State, State, Point, State]:
    return return_map.going_on(model, z, returns)


def _differ(x: Any, y: Any, by: float = 1.0, size: float = 0.0) -> np.ndarray:
    """Where two arrays differ by more than errors, which are `by` times as large as usual; or one of them is NaN.

    Numbers that are small beside the largest one, or beside `size`, have its errors.
    """
    x, y = np.atleast_1d(x), np.atleast_1d(y)
    own = np.maximum(np.abs(x), np.abs(y))
    return ~(np.abs(x - y) <= _SAME * by * (own + _SMALL * max(size, np.max(own, initial=0.0))))
