"""Periodic gaits as fixed points: return maps, and Newton's method on them.

A gait that repeats every stride is a fixed point ``z = P(model, z)`` of a return map; solving for it needs no
transient. Two return maps are provided, both differentiable with respect to the model and the point:

- `PoincareMap`: from event to event of a hybrid mechanism (the walker: from heel strike to heel strike);
- `StroboscopicMap`: over one period of a periodically driven model (the knee: one stride of the measured thigh).

`fixed_point` finds the point, its Jacobian (whose eigenvalues are the Floquet multipliers) and a status, for one
model or, under `jax.vmap`, for an ensemble. It is differentiable: by the implicit function theorem

    dz = (I - P_z)^-1 P_model dmodel,

which one Newton step with a frozen Jacobian at the solution delivers. An observable of the gait computed from this
point therefore has exact first derivatives with respect to any parameter, and no transient is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from jaxgait import checks
from jaxgait.kinds import HybridModel
from jaxgait.model import Model, State
from jaxgait.outcome import Outcome
from jaxgait.precision import float64_default
from jaxgait.solve.checks import check_model
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.smooth import Smooth, integrate

__all__ = [
    "CONVERGED",
    "NO_GAIT",
    "NO_RETURN",
    "FixedPoint",
    "PoincareMap",
    "ReturnMap",
    "StroboscopicMap",
    "fixed_point",
    "iterated",
    "linearised",
    "orbit",
]

Point: TypeAlias = Float[Array, " n"]
ReturnMap: TypeAlias = Callable[[Any, Point], Point]
"""Maps (model, point) to the next point; NaN where the motion does not return. Hashable, so that it compiles once."""

CONVERGED = 0
NO_GAIT = 1
"""The iteration stalled or ran out: no gait found; the residual tells how far off it is."""
NO_RETURN = 2
"""The first guess does not return to the section (the walker falls), or the point has become NaN."""

SENTENCES = {
    CONVERGED: "converged",
    NO_GAIT: "no gait found: Newton's iteration stalled (see the residual)",
    NO_RETURN: "no gait found: the motion does not return to the section from here",
}
"""What the statuses of `fixed_point` mean."""

SHRINK, SMALLEST = 0.4, 0.01
"""A Newton step that does not reduce the residual is shortened by the first factor, down to the second."""


@runtime_checkable
class SectionedModel(HybridModel, Protocol):
    """A hybrid mechanism with a Poincare section just after an event."""

    def on_section(self, z: Point) -> State:
        """The state with section coordinates `z`."""
        ...

    def section(self, y: State) -> Point:
        """The section coordinates of a state just after the event."""
        ...


@float64_default
@dataclass(frozen=True)
class PoincareMap:
    """From event to event of a hybrid mechanism."""

    scheme: EventDriven = EventDriven()  # noqa: RUF009 (frozen)
    longest: float = 5.0
    """Time in s within which the event must come."""

    def __call__(self, model: SectionedModel, z: Point) -> Point:
        """The next point; NaN if the event does not come."""
        return self.timed(model, z)[0]

    def timed(self, model: SectionedModel, z: Point) -> tuple[Point, Float[Array, ""]]:
        """The next point and the time in s until then."""
        run = hybrid(model, events=1, t_end=self.longest, y0=model.on_section(z), scheme=self.scheme)
        came = run.status == Outcome.EVENT_LIMIT
        return jnp.where(came, model.section(run.y_end), jnp.nan), jnp.where(came, run.t_end, jnp.nan)


@float64_default
@dataclass(frozen=True)
class StroboscopicMap:
    """Over `periods` periods of a driven model; the point is the whole state, leaf by leaf."""

    settings: Smooth
    periods: int = 1

    def __call__(self, model: Model, z: Point) -> Point:
        """The state one period later; NaN if the trajectory ended early."""
        assert model.period is not None
        _, unravel = ravel_pytree(model.initial_state())
        ts = jnp.stack([jnp.zeros_like(z[0]), self.periods * jnp.asarray(model.period, z.dtype)])
        run = integrate(model, ts, self.settings, unravel(z))
        return jnp.where(run.status == Outcome.COMPLETED, ravel_pytree(run.y_end)[0], jnp.nan)


class FixedPoint(NamedTuple):
    """A periodic orbit; under `vmap` every field gets a leading axis.

    Where none was found, point and Jacobian are NaN.
    """

    z: Float[Array, " n"]
    """Its point on the section."""
    jacobian: Float[Array, "n n"]
    """Derivative of the (iterated) return map there; its eigenvalues are the Floquet multipliers."""
    residual: Float[Array, ""]
    """Largest component of ``P(z) - z`` where the search ended."""
    iterations: Int[Array, ""]
    status: Int[Array, ""]
    """`CONVERGED`, `NO_GAIT` or `NO_RETURN` (see `SENTENCES`)."""


def iterated(return_map: ReturnMap, order: int) -> ReturnMap:
    """The return map applied `order` times."""
    if order == 1:
        return return_map
    return float64_default(lambda model, z: jax.lax.scan(lambda x, _: (return_map(model, x), None), z, length=order)[0])


@float64_default
def linearised(
    function: Callable[[Any, Point], Float[Array, " m"]], model: Any, z: Point
) -> tuple[Float[Array, " m"], Float[Array, "m n"]]:
    """Value and exact Jacobian of a return map (or any function of a model and a point) in one pass, forward mode."""

    def twice(x: Point) -> tuple[Array, Array]:
        value = function(model, x)
        return value, value

    jacobian, value = jax.jacfwd(twice, has_aux=True)(z)
    return value, jacobian


@float64_default
def orbit(return_map: ReturnMap, model: Any, z0: Point, strides: int) -> Float[Array, "strides n"]:
    """The points after 1, 2, ..., `strides` applications of the return map; NaN from where it does not return."""

    def one(z: Point, _: None) -> tuple[Point, Point]:
        z = return_map(model, z)
        return z, z

    return jax.lax.scan(one, z0, length=strides)[1]


class _Iterate(NamedTuple):
    z: Array
    """The best point so far."""
    jacobian: Array
    """There."""
    residual: Array
    """There; infinity before the first evaluation and if that is not finite."""
    direction: Array
    """Newton's step from there."""
    fraction: Array
    """How much of it is tried next."""
    count: Array
    ended: Array


@float64_default
def fixed_point(
    return_map: ReturnMap,
    model: Any,
    z0: Point,
    *,
    order: int = 1,
    tolerance: float = 1e-10,
    max_iterations: int = 30,
) -> FixedPoint:
    """Solves for a periodic orbit by Newton's method with exact Jacobian and line search.

    Args:
        return_map: see `PoincareMap`, `StroboscopicMap`.
        model: its leaves may be traced; the result is differentiable with respect to them.
        z0: first guess.
        order: the orbit repeats after this many applications of the map.
        tolerance: largest component of the residual at which it is converged, in the units of the point.
        max_iterations: evaluations of the map and its Jacobian after which it is given up.

    Returns:
        The orbit, if `status` is `CONVERGED`; otherwise NaN and how far off the search ended.

    Raises:
        ValueError: for an impossible guess, count or tolerance (as far as they are not traced).
        jaxgait.parameters.ParameterError: for impossible parameters.
    """
    z0 = _checked(model, z0, order, tolerance, max_iterations)
    repeated = iterated(return_map, order)
    frozen = jax.lax.stop_gradient(model)
    z0 = jax.lax.stop_gradient(z0)
    n, number = z0.shape[0], lambda x: jnp.asarray(x, z0.dtype)
    last = jax.lax.while_loop(
        lambda it: ~it.ended,
        lambda it: _improve(repeated, frozen, it, tolerance, max_iterations),
        _Iterate(
            z0,
            jnp.zeros((n, n), z0.dtype),
            number(jnp.inf),
            jnp.zeros_like(z0),
            number(1.0),
            jnp.asarray(0),
            jnp.asarray(False),
        ),
    )
    z, jacobian = jax.lax.stop_gradient((last.z, last.jacobian))
    eye = jnp.eye(z.shape[0], dtype=z.dtype)
    z = z + jnp.linalg.solve(eye - jacobian, repeated(model, z) - z)
    converged = last.residual <= tolerance
    status = jnp.where(converged, CONVERGED, jnp.where(jnp.isfinite(last.residual), NO_GAIT, NO_RETURN))
    z, jacobian = (jnp.where(converged, found, jnp.nan) for found in (z, jacobian))
    return FixedPoint(z, jacobian, last.residual, last.count, status)


def _checked(model: Any, z0: Any, order: int, tolerance: float, max_iterations: int) -> Point:
    """The first guess as an array, after a look at everything that is not traced; see `fixed_point`."""
    check_model(model)
    checks.count("order", order)
    checks.count("max_iterations", max_iterations)
    checks.number("tolerance", tolerance, "the units of the point", above=0.0)
    z0 = jnp.asarray(z0)
    if z0.ndim != 1 or z0.size == 0:
        raise ValueError(f"z0 must be one point, a vector, got the shape {z0.shape}: use jax.vmap for many")
    if checks.is_concrete(z0) and not np.isfinite(np.asarray(z0)).all():
        raise ValueError(f"z0 must be finite, got {np.asarray(z0)}")
    return z0 if jnp.issubdtype(z0.dtype, jnp.floating) else z0.astype(float)


def _improve(return_map: ReturnMap, model: Any, it: _Iterate, tolerance: float, max_iterations: int) -> _Iterate:
    """Tries the step and takes it if the residual falls; shortens it otherwise.

    Value and Jacobian are always evaluated together: a full step, which is nearly always taken, then costs one
    evaluation, and the compiled program holds the return map once.
    """
    z = it.z + it.fraction * it.direction
    value, jacobian = linearised(return_map, model, z)
    residual = jnp.max(jnp.abs(value - z))
    better = residual < it.residual  # never so for NaN
    newton = jnp.linalg.solve(jnp.eye(z.shape[0], dtype=z.dtype) - jacobian, value - z)
    take = lambda new, old: jnp.where(better, new, old)
    fraction = take(jnp.ones_like(it.fraction), SHRINK * it.fraction)
    best, count = take(residual, it.residual), it.count + 1
    ended = (best <= tolerance) | (count >= max_iterations) | (fraction < SMALLEST) | ~jnp.isfinite(best)
    return _Iterate(
        take(z, it.z), take(jacobian, it.jacobian), best, take(newton, it.direction), fraction, count, ended
    )
