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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, ArrayLike, Float, Int

from jaxgait import checks
from jaxgait.kinds import HybridModel, Transition
from jaxgait.model import Model, State
from jaxgait.native import kept
from jaxgait.outcome import Outcome, warn_of_search
from jaxgait.precision import Precision, cast, float64_default, in_force
from jaxgait.roots import CONVERGED, Root, only_if, root
from jaxgait.run import check_period
from jaxgait.scheme import Scheme
from jaxgait.solve.checks import check_model
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.smooth import Smooth, integrate
from jaxgait.solve.steps import start_state

__all__ = [
    "CONVERGED",
    "MAX_ITERATIONS",
    "TOLERANCE",
    "Closing",
    "Coordinates",
    "FixedPoint",
    "PoincareMap",
    "ReturnMap",
    "StroboscopicMap",
    "checked_search",
    "fixed_point",
    "iterated",
    "linearised",
    "orbit",
]

Point: TypeAlias = Float[Array, " n"]
ReturnMap: TypeAlias = Callable[[Any, Point], Point]
"""Maps (model, point) to the next point; NaN where the motion does not return. Hashable, so that it compiles once."""

TOLERANCE: Mapping[Precision, float] = {"float64": 1e-10, "float32": 1e-5}
"""Largest absolute component of the residual of a gait, in the units of its point; float32 resolves some 1e-6."""
MAX_ITERATIONS = 30
"""Evaluations of a return map and its Jacobian after which a search is given up."""


@runtime_checkable
class SectionedModel(HybridModel, Protocol):
    """A hybrid mechanism with a Poincare section of its own just after an event.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.solve.periodic import SectionedModel
        >>> walker, z = RollingWalker(), jnp.array([0.2, -0.5, 0.3])
        >>> isinstance(walker, SectionedModel)
        True
        >>> print(walker.section(walker.on_section(z)))  # to a state and back
        [ 0.2 -0.5  0.3]
    """

    def on_section(self, z: Point) -> State:
        """The state with section coordinates `z`."""
        ...

    def section(self, y: State) -> Point:
        """The section coordinates of a state just after the event."""
        ...


class Coordinates(NamedTuple):
    """Coordinates of a section, for mechanisms that do not define them; two plain functions."""

    state: Callable[[Any, Point], State]
    """The state just after the event, from (model, coordinates)."""
    point: Callable[[Any, State], Point]
    """The coordinates, from (model, state)."""


@float64_default
@dataclass(frozen=True)
class PoincareMap:
    """From event to event of a hybrid mechanism: from heel strike to heel strike, from apex to apex of a hop.

    Examples:
        >>> from typing import NamedTuple
        >>> import jax.numpy as jnp
        >>> from jaxgait.kinds import Transition
        >>> from jaxgait.solve.periodic import PoincareMap
        >>> class Ball(NamedTuple):
        ...     z: float
        ...     v: float
        >>> class Bouncing:  # under 10 m/s^2; a ball that returns with 8/10 of its speed
        ...     def initial_state(self):
        ...         return Ball(1.25, 0.0)
        ...     def phases(self):
        ...         return [lambda t, y: Ball(y.v, -10.0)]
        ...     def transitions(self):
        ...         bounce = lambda t, y: Ball(0.0 * y.z, -0.8 * y.v)
        ...         return {"bounce": Transition(0, 0, guard=lambda t, y: y.z, reset=bounce)}
        ...     def on_section(self, z):
        ...         return Ball(jnp.zeros_like(z[0]), z[0])  # just after a bounce: its speed
        ...     def section(self, y):
        ...         return jnp.stack([y.v])
        >>> speed, time = PoincareMap().timed(Bouncing(), jnp.array([4.0]))
        >>> print(f"{speed[0]:.3f} m/s after {time:.3f} s")  # 8/10 of the speed, 2 v / g
        3.200 m/s after 0.800 s
    """

    scheme: EventDriven | None = None
    """Solver and step sizes; None: those that suit the model (`EventDriven.of`)."""
    max_time: float = 5.0
    """Time in s within which it must return."""
    section: str | None = None
    """Name of the transition just after which the section lies; None: any that does not end the motion."""
    events: int = 1
    """Number of these transitions that make one return."""
    phase: int | None = None
    """Phase on the section; None: the one to which the transition leads."""
    max_events: int | None = None
    """Events of any name within which it must return, such as a clock's ticks; None: the limit of the scheme."""
    coordinates: Coordinates | None = None
    """Coordinates of the section; None: those of the model (see `SectionedModel`)."""

    def __post_init__(self) -> None:
        if not isinstance(self.scheme, EventDriven | None):
            got = checks.shown(self.scheme)
            raise TypeError(f"scheme must be an EventDriven, such as EventDriven.of(model, rtol=1e-9), got {got}")

    def __call__(self, model: HybridModel, z: Point) -> Point:
        """The next point; NaN if the motion does not return.

        Raises:
            ValueError: for a section, a phase or counts that the model does not have.
            TypeError: for a model without coordinates of a section.
        """
        return self.timed(model, z)[0]

    def timed(self, model: HybridModel, z: Point) -> tuple[Point, Float[Array, ""]]:
        """The next point and the time in s until then."""
        to_state, to_point = self._coordinates(model)
        counted, phase = self._section(model)
        checks.count("events", self.events)
        scheme = EventDriven.of(model) if self.scheme is None else self.scheme
        if self.max_events is not None:
            scheme = replace(scheme, max_events=self.max_events)
        run = hybrid(
            model,
            events=self.events,
            t_end=self.max_time,
            y0=to_state(model, z),
            phase=phase,
            scheme=scheme,
            counted=counted,
        )
        y, t, came = jax.tree.map(lambda leaf: leaf[-1], run.after), run.ts[-1], run.count == self.events
        return only_if(came, to_point(model, y)), only_if(came, t)

    def _coordinates(self, model: HybridModel) -> Coordinates:
        if self.coordinates is not None:
            return self.coordinates
        if isinstance(model, SectionedModel):
            return Coordinates(type(model).on_section, type(model).section)
        raise TypeError(
            f"{type(model).__name__} has no methods on_section and section: "
            "give PoincareMap(coordinates=Coordinates(...))"
        )

    def _section(self, model: HybridModel) -> tuple[list[str], int]:
        """Names of the transitions to count, and the phase after them."""
        transitions = model.transitions()
        counted = [name for name, tr in transitions.items() if not tr.ends and self.section in (None, name)]
        if not counted:
            lasting = [name for name, tr in transitions.items() if not tr.ends]
            raise ValueError(
                f"section must be a transition that does not end the motion, {lasting}: got {self.section!r}"
            )
        after = {phase for name in counted for phase in _phases_after(transitions[name])}
        phases = after if self.phase is None else {self.phase}
        if len(phases) > 1:
            raise ValueError(f"the events {counted} lead to phases {sorted(phases)}: choose one by section= or phase=")
        return counted, phases.pop()


def _phases_after(transition: Transition) -> tuple[int, ...]:
    """The phases in which the motion may go on."""
    return transition.sources if transition.target is None else (transition.target,)


@float64_default
@dataclass(frozen=True)
class StroboscopicMap:
    """Over `periods` periods of a driven model; the point is the whole state, leaf by leaf.

    Raises:
        ValueError: unless `periods` is a whole number of at least 1.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import Model, Variable, parameter
        >>> from jaxgait.solve.periodic import StroboscopicMap
        >>> class Driven(Model):  # x' = -x, sampled every second
        ...     variables = {"x": Variable("m", "position")}
        ...     duration = period = 1.0
        ...     def initial_state(self):
        ...         return {"x": jnp.array(1.0)}
        ...     def vector_field(self, t, y):
        ...         return {"x": -y["x"]}
        >>> print(StroboscopicMap()(Driven(), jnp.array([1.0])).round(4))  # exp(-1)
        [0.3679]
    """

    scheme: Scheme | type[Scheme] | str | None = None
    """`Smooth` or `EventDriven`: an instance with its options, the class or its name; None: the model's default."""
    periods: int = 1
    """Periods that make one return."""
    phase: int = 0
    """Phase of the point, for an event-driven model; a motion that ends in another one has not returned."""

    def __post_init__(self) -> None:
        checks.count("periods", self.periods)
        checks.count("phase", self.phase, least=0)

    def __call__(self, model: Model, z: Point) -> Point:
        """The state one period later; NaN if the trajectory ended early, or is in another phase then.

        Derivatives are exact across events. An event at the very start or end has none: let the period begin elsewhere.

        Raises:
            ValueError: for a model without a period, for a phase of one that moves smoothly, and for a scheme that
                has no exact derivatives.
        """
        if model.period is None:
            raise ValueError(f"{type(model).__name__} is not driven with a period: use PoincareMap")
        check_period(model)
        scheme = scheme_for(model, self.scheme)
        t_end = self.periods * jnp.asarray(model.period, z.dtype)
        _, unravel = ravel_pytree(start_state(model, None))
        if isinstance(scheme, EventDriven):
            moving: Any = model
            run = hybrid(moving, events=1, t_end=t_end, y0=unravel(z), phase=self.phase, scheme=scheme, counted=())
            came = (run.status == Outcome.COMPLETED) & (run.phase == self.phase)
        elif isinstance(scheme, Smooth):
            if self.phase:
                raise ValueError(f"{type(model).__name__} moves smoothly, without phases: leave out phase={self.phase}")
            run = integrate(model, jnp.stack([jnp.zeros_like(t_end), t_end]), scheme, unravel(z))
            came = run.status == Outcome.COMPLETED
        else:
            raise ValueError(
                f"StroboscopicMap needs the exact derivatives of Smooth or EventDriven: {type(model).__name__} is "
                f"integrated by {type(scheme).__name__}"
            )
        return only_if(came, ravel_pytree(run.y_end)[0])


@float64_default
class FixedPoint(NamedTuple):
    """A periodic orbit; under `vmap` every field gets a leading axis.

    Point and Jacobian are NaN if none was found.
    """

    z: Float[Array, " n"]
    """Its point on the section."""
    jacobian: Float[Array, "n n"]
    """Derivative of the (iterated) return map there; its eigenvalues are the Floquet multipliers."""
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

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.periodic import iterated
        >>> float(iterated(lambda a, z: a * z, 3)(2.0, jnp.array([1.0]))[0])
        8.0
    """
    if order == 1:
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

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.periodic import orbit
        >>> [round(float(z[0]), 3) for z in orbit(lambda a, z: a * z * (1.0 - z), 3.2, jnp.array([0.5]), 4)]
        [0.8, 0.512, 0.8, 0.513]
    """
    return _points(return_map, cast(model), jnp.asarray(z0, float), strides)


@kept
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
            raise ValueError(f"a point on the section has {size}, got {z.size} as the first guess z0")
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

    Raises:
        ValueError: for an impossible guess, count or tolerance (unless they are traced).
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
    z0 = checked_search(model, z0, order, tolerance, max_iterations)
    tolerance = float(tolerance) if checks.is_concrete(tolerance) else tolerance
    found = FixedPoint.of(_closed(Closing(return_map, int(order)), cast(model), z0, tolerance, int(max_iterations)))
    warn_of_search(found, tolerance, max_iterations)
    return found


@kept
def _closed(closing: Closing, model: Any, z0: Point, tolerance: float, max_iterations: int) -> Root:
    return root(closing, z0, model, tolerance=tolerance, max_steps=max_iterations)


@float64_default
def checked_search(
    model: Any, z0: Any, order: int = 1, tolerance: float = TOLERANCE["float64"], max_iterations: int = MAX_ITERATIONS
) -> Point:
    """The first guess as an array in its own units, after checks of the arguments of `fixed_point`.

    Raises:
        ValueError: for an impossible guess, count or tolerance.
        jaxgait.parameters.ParameterError: for impossible parameters.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.solve.periodic import checked_search
        >>> checked_search(RollingWalker(), jnp.array([0.2, jnp.nan]))
        Traceback (most recent call last):
            ...
        ValueError: z0 must be finite, got [0.2 nan]
    """
    check_model(model)
    checks.count("order", order)
    checks.count("max_iterations", max_iterations)
    checks.number("tolerance", tolerance, "the units of the point", above=0.0)
    z0 = jnp.asarray(z0)
    if z0.ndim != 1 or z0.size == 0:
        raise ValueError(f"z0 must be one point, a vector, got the shape {z0.shape}: use jax.vmap for many")
    if checks.is_concrete(z0) and not np.isfinite(np.asarray(z0)).all():
        raise ValueError(f"z0 must be finite, got {np.asarray(z0)}")
    return z0.astype(float)
