"""Search under constraints: one function gives the objective and the slacks, exact derivatives come with it.

SciPy's SLSQP asks for the objective, the constraints and their derivatives one by one; one solve with its tangents
(forward mode: few parameters) answers all of them, and is kept until the search moves on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize

from jaxgait import precision
from jaxgait.optimization.methods import restored

__all__ = ["Found", "Point", "constrained_search"]


class Point(NamedTuple):
    """A point that was visited, what is to be minimised there, and the slacks (units: the function's own)."""

    x: Float[np.ndarray, " n"]
    objective: float
    slack: Float[np.ndarray, " m"]


class Found(NamedTuple):
    """How a search ended."""

    end: Point
    visited: tuple[Point, ...]
    """All points that were evaluated, the start first."""
    steps: int
    why_stopped: str

    def best(self, margin: float = 0.0) -> Point | None:
        """The visited point of least objective whose slacks are at least -`margin`, in the slacks' unit; None: none.

        A search may end a little outside its limits.
        """
        allowed = [point for point in self.visited if point.slack.min() >= -margin]
        return min(allowed, key=lambda point: point.objective, default=None)


def constrained_search(
    function: Callable[[Float[Array, " n"]], Float[Array, " values"]],
    start: Float[np.ndarray, " n"],
    bounds: Sequence[tuple[float, float]],
    *,
    steps: int = 50,
    tolerance: float = 1e-6,
) -> Found:
    """Minimises under constraints by SLSQP, in float64; where they are exceeded at the end, Newton's method mends it.

    Args:
        function: differentiable, gives the objective, then the slacks that must not be negative: shape (1 + m,). All of
            them are best of order one (no unit, or scaled by the caller).
        start: where to begin, shape (n,), in the units of the bounds.
        bounds: lower and upper bound of each entry.
        steps: at most.
        tolerance: change of the objective at which the search stops, in its unit.

    Raises:
        ValueError: the start is outside the bounds, the function gives no vector, or a value there is not finite.

    Examples:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait.optimization.constrained import constrained_search
        >>> def cost(x):  # the point of the line x + y >= 1 that is nearest to the origin
        ...     return jnp.stack([x @ x, x[0] + x[1] - 1.0])
        >>> found = constrained_search(cost, np.array([2.0, 0.0]), [(-3.0, 3.0), (-3.0, 3.0)])
        >>> [round(float(v), 4) for v in found.end.x]
        [0.5, 0.5]
    """
    low, high = np.array(bounds, dtype=float).T
    start = np.asarray(start, dtype=float)
    if start.shape != low.shape or not np.all((low <= start) & (start <= high)):
        raise ValueError(f"start must be one number within the bounds for each of {low.size} entries, got {start}")
    with precision.use("float64"):
        at = _Evaluator(function)
        if not np.isfinite(at(start)[0]).all():
            raise ValueError(f"the objective and the slacks must be finite at the start, got {at(start)[0]}")
        result = minimize(
            lambda x: at(x)[0][0],
            start,
            jac=lambda x: at(x)[1][0],
            bounds=list(zip(low, high, strict=True)),
            constraints={"type": "ineq", "fun": lambda x: at(x)[0][1:], "jac": lambda x: at(x)[1][1:]},
            method="SLSQP",
            options={"maxiter": steps, "ftol": tolerance},
        )
        width = high - low
        unit = restored(
            lambda u: at(low + u * width)[0][1:], lambda u: at(low + u * width)[1][1:] * width, (result.x - low) / width
        )
        end = _point(low + unit * width, at(low + unit * width)[0])
    return Found(end, tuple(at.visited), int(result.nit), str(result.message))


class _Evaluator:
    """Values and derivatives at a point, kept for when they are asked for again."""

    def __init__(self, function: Callable[[Array], Array]):
        self._function = function
        self._known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        self.visited: list[Point] = []

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = x.tobytes()
        if key not in self._known:
            slope, value = _derived(self._function, jnp.asarray(x))
            self._known[key] = np.asarray(value), np.asarray(slope)
            self.visited.append(_point(x.copy(), self._known[key][0]))
        return self._known[key]


@functools.partial(jax.jit, static_argnums=0)
def _derived(function: Callable[[Array], Array], x: Array) -> tuple[Array, Array]:
    """Jacobian and values; searches of one function from several starts share what is compiled."""

    def both(x: Array) -> tuple[Array, Array]:
        values = function(x)
        if values.ndim != 1 or values.shape[0] < 2:
            raise ValueError(f"the function must give the objective and the slacks in a vector, got {values.shape}")
        return values, values

    return jax.jacfwd(both, has_aux=True)(x)


def _point(x: np.ndarray, values: np.ndarray) -> Point:
    return Point(x, float(values[0]), values[1:])
