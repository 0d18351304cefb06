"""Periodic gaits as fixed points: return maps, and Newton's method on them.

A gait that repeats every stride is a fixed point ``z = P(model, z)`` of a return map, and is found without a transient.
Two return maps are provided, both differentiable with respect to the model and the point:

- `PoincareMap`: from event to event of a hybrid mechanism (the walker: from heel strike to heel strike);
- `StroboscopicMap`: over one period of a periodically driven model, smooth (the knee: one stride of the measured thigh)
  or event-driven.

`fixed_point` finds the point, its Jacobian (whose eigenvalues are the Floquet multipliers) and a status, also under
`jax.vmap`; for thousands see `jaxgait.analysis.families.fixed_points`. It is differentiable by the implicit function
theorem (see `jaxgait.roots`)

    dz = (I - P_z)^-1 P_model dmodel.

Observables of the gait computed from this point have exact first derivatives; no transient is differentiated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxgait.native import kept, looped
from jaxgait.outcome import Outcome, warn_of_search
from jaxgait.precision import Precision, cast, float64_default, in_force
from jaxgait.roots import CONVERGED, Root, Rule, root
from jaxgait.solve.checks import check_map, check_one
from jaxgait.solve.return_failures import why_lost
from jaxgait.solve.return_maps import (
    Coordinates,
    PoincareMap,
    Point,
    ReturnMap,
    SectionedModel,
    SectionMap,
)
from jaxgait.solve.sections import check_section, warn_of_section
from jaxgait.solve.smooth import REDUNDANT_CHECKS
from jaxgait.solve.steps import as_point
from jaxgait.solve.stroboscopic import StroboscopicMap
from jaxgait.support import checks

__all__ = [
    "CONVERGED",
    "MAX_ITERATIONS",
    "TOLERANCE",
    "Closing",
    "Coordinates",
    "FixedPoint",
    "PoincareMap",
    "Point",
    "ReturnMap",
    "SectionMap",
    "SectionedModel",
    "StroboscopicMap",
    "checked_search",
    "fixed_point",
    "iterated",
    "linearised",
    "orbit",
]


TOLERANCE: Mapping[Precision, float] = {"float64": 1e-10, "float32": 1e-5}
"""Largest absolute component of the residual of a gait, in the units of its point; float32 resolves some 1e-6."""
ONE_WITHIN: Mapping[Precision, float] = {"float64": 1e-7, "float32": 1e-4}
"""Distance of a multiplier from +1 up to which it counts as +1."""
SAME_POINT = 1e-6
"""Distance, relative to a point, up to which another one counts as the same."""
MAX_ITERATIONS = 30
"""Evaluations of a return map and its Jacobian after which a search is given up."""


@float64_default
class FixedPoint(NamedTuple):
    """A periodic orbit; under `vmap` every field gets a leading axis.

    Point and Jacobian are NaN if none was found.
    """

    z: Float[Array, " n"]
    """Its point on the section."""
    jacobian: Float[Array, "n n"]
    """Derivative of the (iterated) return map there; its eigenvalues are the Floquet multipliers. Its own derivatives
    are not finite: for a smooth map, take those of ``linearised(iterated(return_map, order), model, gait.z)[1]``, and
    for an event-driven one differences between gaits."""
    residual: Float[Array, ""]
    """Largest absolute component of ``P(z) - z`` where the search ended."""
    iterations: Int[Array, ""]
    status: Int[Array, ""]
    """`CONVERGED`; `Outcome.NOT_CONVERGED`: the iteration stalled or reached its limit, and the residual shows by how
    much it misses; `Outcome.NO_RETURN`: the first guess does not return to the section, or the point became NaN."""

    @classmethod
    def of(cls, found: Root) -> FixedPoint:
        """A root of ``P(z) - z`` (or many), with the Jacobian of P.

        Examples:
            >>> import numpy as np
            >>> from jaxgait.roots import CONVERGED, Root
            >>> from jaxgait.solve.periodic import FixedPoint
            >>> found = Root(np.array([2.0]), np.array([[-0.5]]), np.array(0.0), np.array(3), np.array(CONVERGED))
            >>> print(FixedPoint.of(found).jacobian)  # half of a disturbance is left after a stride
            [[0.5]]
        """
        xp = found.x.__array_namespace__()
        jacobian = found.jacobian + xp.eye(found.x.shape[-1], dtype=found.x.dtype)
        status = xp.where(found.status == Outcome.NONFINITE, int(Outcome.NO_RETURN), found.status)
        return cls(found.x, jacobian, found.residual, found.steps, status)


def iterated(return_map: ReturnMap, order: int) -> ReturnMap:
    """The return map applied `order` times.

    Raises:
        TypeError: for anything but a return map.
        ValueError: for an impossible count.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.periodic import iterated
        >>> float(iterated(lambda a, z: a * z, 3)(2.0, jnp.array([1.0]))[0])
        8.0
    """
    check_map(return_map)
    if checks.count("order", order) == 1:
        return return_map
    return float64_default(lambda model, z: jax.lax.scan(lambda x, _: (return_map(model, x), None), z, length=order)[0])


@float64_default
def linearised(
    function: Callable[[Any, Point], Float[Array, " m"]], model: Any, z: Point
) -> tuple[Float[Array, " m"], Float[Array, "m n"]]:
    """Value and exact Jacobian of a function of a model and a point, such as a return map, in one forward-mode pass.

    Components are in the units of the section's coordinates.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.periodic import linearised
        >>> value, slope = linearised(lambda a, z: a * z**2, 3.0, jnp.array([2.0]))
        >>> print(float(value[0]), float(slope[0, 0]))
        12.0 12.0
    """

    def twice(x: Point) -> tuple[Array, Array]:
        value = function(model, x)
        return value, value

    jacobian, value = jax.jacfwd(twice, has_aux=True)(z)
    return value, jacobian


@float64_default
def orbit(return_map: ReturnMap, model: Any, z0: Float[ArrayLike, " n"], strides: int) -> Float[Array, "strides n"]:
    """The points after 1, 2, ..., `strides` applications of the return map; NaN from where it does not return.

    Components are in the units of the section's coordinates.

    Raises:
        TypeError: for a class instead of an instance of the model, and for anything but a return map.
        ValueError: for a point of another size, for an impossible count, and for coordinates of a section that do not
            fit together.
        jaxgait.parameters.ParameterError: for impossible parameters, and for several values of one.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.periodic import orbit
        >>> [round(float(z[0]), 3) for z in orbit(lambda a, z: a * z * (1.0 - z), 3.2, jnp.array([0.5]), 4)]
        [0.8, 0.512, 0.8, 0.513]
    """
    checks.count("strides", strides)
    check_one(model)
    z0 = as_point(z0)
    check_section(return_map, model, z0)
    model = cast(model)
    points = _kernel if checks.is_concrete((model, z0)) else _points
    return points(return_map, model, z0, strides)


@functools.partial(kept, assured=REDUNDANT_CHECKS)
def _kernel(return_map: ReturnMap, model: Any, z0: Point, strides: int) -> Array:
    """As `_points`, as one loop in machine code, which cannot be differentiated."""
    alone = looped(lambda z: _points(return_map, model, z, strides), assured=REDUNDANT_CHECKS)
    return jax.vmap(alone)(z0[None])[0]


def _points(return_map: ReturnMap, model: Any, z0: Point, strides: int) -> Array:
    def one(z: Point, _: None) -> tuple[Point, Point]:
        z = return_map(model, z)
        return z, z

    return jax.lax.scan(one, z0, length=strides)[1]


@float64_default
@dataclass(frozen=True)
class Closing:
    """The closure error of an orbit, ``P(z) - z``; hashable, so that it compiles once.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.periodic import Closing
        >>> closing = Closing(lambda goal, z: 0.5 * (z + goal), order=1)
        >>> print(closing(jnp.array([2.0]), 2.0), closing(jnp.array([0.0]), 2.0))  # at the fixed point, and off it
        [0.] [1.]
    """

    return_map: ReturnMap
    order: int

    def __call__(self, z: Point, model: Any) -> Point:
        """Zero for a periodic orbit.

        Raises:
            ValueError: if the map returns a point of another size.
        """
        returned = iterated(self.return_map, self.order)(model, z)
        if returned.shape != z.shape:
            size = checks.count_of(returned.size, "number", "numbers")
            raise ValueError(f"a point on the section has {size}, got {z.size} in z0")
        return returned - z


@float64_default
def fixed_point(
    return_map: ReturnMap,
    model: Any,
    z0: Float[ArrayLike, " n"],
    *,
    order: int = 1,
    tolerance: float | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> FixedPoint:
    """Solves for a periodic orbit by Newton's method with exact Jacobian and line search.

    Args:
        return_map: see `PoincareMap`, `StroboscopicMap`.
        model: its leaves may be traced; the result is differentiable with respect to them.
        z0: first guess.
        order: the orbit repeats after this many applications of the map.
        tolerance: largest component of the residual at which it is converged, in the units of the point; None: that of
            `TOLERANCE` for the precision in force.
        max_iterations: evaluations of the map and its Jacobian after which the search is given up.

    Returns:
        The orbit if `status` is `CONVERGED`; otherwise NaN, with the residual at which the search ended.

    Warns:
        jaxgait.outcome.NoOrbit: if it found none, unless the result is traced.
        UserWarning: if the coordinates of a section leave out something on which the motion depends, so that it does
            not repeat; if a multiplier is +1, so that the gait is not isolated; if the gait repeats after fewer
            returns than `order`; and for an equilibrium.

    Raises:
        TypeError: for a traced tolerance, and for anything but a return map.
        ValueError: for an impossible count, tolerance or guess (unless that is traced), and for coordinates of a
            section that do not fit together.
        jaxgait.parameters.ParameterError: for impossible parameters.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.periodic import CONVERGED, fixed_point
        >>> def henon(a, z):
        ...     return jnp.stack([1.0 - a * z[0] ** 2 + z[1], 0.3 * z[0]])
        >>> gait = fixed_point(henon, 0.2, jnp.array([0.5, 0.2]))
        >>> print(int(gait.status) == CONVERGED, [round(float(x), 4) for x in gait.z])
        True [1.0895, 0.3268]
    """
    tolerance = TOLERANCE[in_force()] if tolerance is None else tolerance
    if not checks.is_concrete(tolerance):
        raise TypeError("tolerance must be a number that is known, not one that jax.jit or a derivative traces")
    z0 = checked_search(model, z0, order, tolerance, max_iterations)
    check_section(return_map, model, z0)
    end = _closed(Closing(return_map, int(order)), cast(model), z0, float(tolerance), int(max_iterations))
    found, lost = FixedPoint.of(end), lambda: why_lost(return_map, model, z0, order)
    warn_of_search(found, tolerance, max_iterations, lost, singular=end.singular)
    _warn_if_not_isolated(found)
    _warn_if_shorter(return_map, model, found, order)
    warn_of_section(return_map, model, found, order)
    return found


def search_rule(tolerance: Any) -> Rule:
    """When a search for a gait ends: residuals are quadratic in the distance from a fold, which limits the last step.

    Examples:
        >>> from jaxgait.solve.periodic import search_rule
        >>> print(round(search_rule(1e-10).last, 6))
        0.001
    """
    return Rule(tolerance, last=100.0 * tolerance**0.5, relative=tolerance**0.5)


def _warn_if_shorter(return_map: ReturnMap, model: Any, found: FixedPoint, order: int) -> None:
    """Warns of a gait that repeats after fewer returns than asked for."""
    if order == 1 or not (checks.is_concrete((model, found)) and np.isfinite(np.asarray(found.z)).all()):
        return
    z = np.asarray(found.z)
    off = np.abs(np.asarray(orbit(return_map, model, z, order - 1)) - z).max(axis=1)
    if (same := off <= SAME_POINT * np.abs(z).max()).any():
        fewer = int(np.argmax(same)) + 1
        checks.warn_user(
            f"the gait repeats already after {checks.count_of(fewer, 'return', 'returns')}, not only after {order}, "
            "and its multipliers are those of several periods: for one that does not, give a guess farther from it"
        )


def _warn_if_not_isolated(found: FixedPoint) -> None:
    if not (checks.is_concrete(found) and np.isfinite(np.asarray(found.jacobian)).all()):
        return
    if np.abs(np.linalg.eigvals(np.asarray(found.jacobian)) - 1.0).min() < ONE_WITHIN[in_force()]:
        checks.warn_user(
            "a multiplier of the gait is +1: it is one of many, as of a motion that keeps its energy or phase, or lies "
            "at a bifurcation, and its point depends on the guess; let the section fix what is kept"
        )


@kept
def _closed(closing: Closing, model: Any, z0: Point, tolerance: float, max_iterations: int) -> Root:
    rule = search_rule(tolerance)._asdict()
    return root(closing, z0, model, max_steps=max_iterations, **{k: rule[k] for k in ("tolerance", "last", "relative")})


@float64_default
def checked_search(
    model: Any, z0: Any, order: int = 1, tolerance: float = TOLERANCE["float64"], max_iterations: int = MAX_ITERATIONS
) -> Point:
    """The first guess as an array in its own units, after checks of the arguments of `fixed_point`.

    Raises:
        ValueError: for an impossible guess, count or tolerance.
        TypeError: for a class instead of an instance of the model.
        jaxgait.parameters.ParameterError: for impossible parameters, and for several values of one.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.solve.periodic import checked_search
        >>> checked_search(RollingWalker(), jnp.array([0.2, jnp.nan]))
        Traceback (most recent call last):
            ...
        ValueError: z0 must be finite, got [0.2 nan]
    """
    check_one(model)
    checks.count("order", order)
    checks.count("max_iterations", max_iterations)
    checks.number("tolerance", tolerance, "the units of the point", above=0.0)
    z0 = as_point(z0)
    if checks.is_concrete(z0) and not np.isfinite(np.asarray(z0)).all():
        raise ValueError(f"z0 must be finite, got {np.asarray(z0)}")
    return z0
