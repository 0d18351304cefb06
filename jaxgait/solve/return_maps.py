"""Return maps of a mechanism, whose fixed points are periodic gaits (`jaxgait.solve.periodic`).

A point on the section stands for the state just after an event (`PoincareMap`), or once per period of the drive
(`StroboscopicMap`); `start` makes it the initial state of a run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from jaxgait.kinds import HybridModel, Transition
from jaxgait.model import Scalar, State
from jaxgait.native import kept
from jaxgait.outcome import Outcome
from jaxgait.precision import cast, float64_default
from jaxgait.roots import only_if
from jaxgait.scheme import Scheme
from jaxgait.solve.checks import check_one, check_state
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.smooth import REDUNDANT_CHECKS
from jaxgait.solve.steps import as_point, prepared, start_state
from jaxgait.support import checks, units

RUNS = 10.0
"""Number of runs of a model's own duration within which its motion must return: a gait has several strides in a run."""

Point: TypeAlias = Float[Array, " n"]
ReturnMap: TypeAlias = Callable[[Any, Point], Point]
"""Maps (model, point) to the next point; NaN where the motion does not return. Hashable, so that it compiles once."""


@runtime_checkable
class SectionMap(Protocol):
    """A return map whose points are starts of runs: `PoincareMap` and `StroboscopicMap`."""

    def __call__(self, model: Any, z: Point) -> Point:
        """The next point; NaN if the motion does not return."""
        ...

    def start(self, model: Any, z: Float[ArrayLike, " n"]) -> State:
        """The state (in its units) at a point, as `initial_state` of a run."""
        ...

    def first_point(self, model: Any) -> Point:
        """A point from which to look for a gait, from the model's own initial state."""
        ...

    def scheme_of(self, model: Any) -> Scheme:
        """The scheme in use."""
        ...


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
        ...     duration = 1.0
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
    max_time: float | None = None
    """Time in s within which it must return; None: that of `RUNS` runs of the model's own duration."""
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
        if self.scheme is not None:
            checks.of_class("scheme", self.scheme, EventDriven, "such as EventDriven.of(model, rtol=1e-9)")
        if not (isinstance(self.coordinates, Coordinates | None) and all(map(callable, self.coordinates or ()))):
            what = "coordinates must be a Coordinates(state, point) of two functions"
            raise TypeError(f"{what}, got {checks.shown(self.coordinates)}")
        if self.max_time is not None:
            longest = units.seconds("max_time", self.max_time)
            object.__setattr__(self, "max_time", checks.positive("max_time", longest, "seconds"))

    def __call__(self, model: HybridModel, z: Point) -> Point:
        """The next point; NaN if the motion does not return.

        Raises:
            ValueError: for a section, a phase or counts that the model does not have.
            TypeError: for a model without coordinates of a section.
        """
        return self.timed(model, z)[0]

    def timed(self, model: HybridModel, z: Point) -> tuple[Point, Float[Array, ""]]:
        """The next point and the time in s until then."""
        z, t, _ = self._started(model, z)
        return z, t

    def tried(self, model: HybridModel, z: Point) -> tuple[Point, Int[Array, ""]]:
        """The next point and how the motion ended, a code of `jaxgait.outcome`: `NO_RETURN` after `longest`.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait import RollingWalker
            >>> from jaxgait.outcome import sentence
            >>> from jaxgait.solve.periodic import PoincareMap
            >>> _, code = PoincareMap().tried(RollingWalker(), jnp.array([0.2, 0.5, 0.3]))  # it starts backwards
            >>> sentence(RollingWalker(), int(code))
            'ended early: fell'
        """
        z, _, ended = self._started(model, z)
        return z, ended

    def longest(self, model: Any) -> Scalar:
        """Time in s within which a motion must return.

        Raises:
            ValueError: for a model without a duration, if the map has no `max_time`.

        Examples:
            >>> from jaxgait import RollingWalker
            >>> from jaxgait.solve.periodic import PoincareMap
            >>> PoincareMap().longest(RollingWalker()), PoincareMap(max_time=2.0).longest(RollingWalker())
            (100.0, 2.0)
        """
        if self.max_time is not None:
            return self.max_time
        if (own := getattr(model, "duration", None)) is None:
            name = type(model).__name__
            raise ValueError(f"{name} has no duration: give PoincareMap(max_time=...), the longest time of a return")
        return RUNS * own

    def first_point(self, model: HybridModel) -> Point:
        """Where a run from the model's own initial state first meets the section; NaN if it does not.

        A first guess of a gait, if the motion settles; like every point, in the units of its coordinates.

        Examples:
            >>> from jaxgait import RollingWalker
            >>> from jaxgait.solve.periodic import PoincareMap
            >>> print(PoincareMap().first_point(RollingWalker()).shape)  # stance angle and rate, swing rate
            (3,)
        """
        self._coordinates(model)
        return _arrival(self, *checked_motion(model, start_state(model, None)), 0, 1)[0]

    def _started(self, model: HybridModel, z: Point) -> tuple[Point, Float[Array, ""], Int[Array, ""]]:
        (y, _), (_, phase) = self._state(model, z), self._section(model)
        return _arrival(self, *checked_motion(model, y), phase, checks.count("events", self.events))

    def scheme_of(self, model: HybridModel) -> EventDriven:
        """The scheme in use: the given one, or that which suits the model.

        Examples:
            >>> from jaxgait import RollingWalker
            >>> from jaxgait.solve.periodic import PoincareMap
            >>> PoincareMap(max_events=20).scheme_of(RollingWalker()).max_events
            20
        """
        scheme = EventDriven.of(model) if self.scheme is None else self.scheme
        return scheme if self.max_events is None else replace(scheme, max_events=self.max_events)

    def start(self, model: HybridModel, z: Float[ArrayLike, " n"]) -> State:
        """The state at a point of the section, as `initial_state` of a run, such as that of a gait.

        Raises:
            ValueError: for a section in a later phase, as runs start in the first one, and for a point that is not
                finite, as from a failed search.
            TypeError: for a model without coordinates of a section.

        Examples:
            >>> import numpy as np
            >>> from jaxgait import RollingWalker, simulate
            >>> from jaxgait.models.walker import PAPER_POINT
            >>> from jaxgait.solve.periodic import PoincareMap
            >>> walker, z = RollingWalker(), np.array(PAPER_POINT)
            >>> run = simulate(walker, duration=2.0, initial_state=PoincareMap().start(walker, z))
            >>> print(round(float(run.event_time.diff("event").std()), 6))  # s: all steps take the same time
            0.0
        """
        return checked_start(*self._state(model, z), self._section(model)[1])

    def round_trip(self, model: Any, z: Point) -> Point:
        """The coordinates, in their units, of the state at a point of the section: the point itself, if they fit.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait import RollingWalker
            >>> from jaxgait.solve.periodic import PoincareMap
            >>> print(PoincareMap().round_trip(RollingWalker(), jnp.array([0.2, -0.5, 0.3])))
            [ 0.2 -0.5  0.3]
        """
        coordinates = self._coordinates(model)
        return coordinates.point(model, coordinates.state(model, z))

    def going_on(self, model: HybridModel, z: Point, returns: int) -> tuple[State, State, Point, State]:
        """The motion without a restart: it goes on from the state after a return, not from its coordinates.

        Args:
            model: the mechanism.
            z: point from which it starts, in the units of its coordinates.
            returns: how many.

        Returns:
            The state after so many returns; that which its coordinates stand for; the point after as many returns more,
            NaN if the motion does not; and how far the state would go in one return at the rates of its start, which is
            (nearly) nothing at an equilibrium.

        Examples:
            >>> import jax.numpy as jnp
            >>> import numpy as np
            >>> from jaxgait import RollingWalker
            >>> from jaxgait.models.walker import PAPER_POINT
            >>> from jaxgait.solve.periodic import PoincareMap
            >>> after, restarted, z, _ = PoincareMap().going_on(RollingWalker(), jnp.array(PAPER_POINT), 1)
            >>> np.allclose(z, PAPER_POINT, atol=1e-4)
            True
        """
        to_state, to_point = self._coordinates(model)
        counted, phase = self._section(model)
        scheme, start = self.scheme_of(model), to_state(model, z)
        run = hybrid(
            model,
            events=2 * returns * self.events,
            t_end=2 * returns * self.longest(model),
            y0=start,
            phase=phase,
            scheme=replace(scheme, max_events=2 * returns * scheme.max_events),
            counted=counted,
        )
        first, last = (jax.tree.map(lambda leaf, k=k: leaf[k * returns * self.events - 1], run.after) for k in (1, 2))
        second = only_if(run.count == 2 * returns * self.events, to_point(model, last))
        rates, t = prepared(model).phases()[phase](jnp.zeros(()), start), run.ts[self.events - 1]
        return first, to_state(model, to_point(model, first)), second, jax.tree.map(lambda rate: rate * t, rates)

    def _state(self, model: HybridModel, z: Any) -> tuple[State, Point]:
        """The state at a point of the section, and the point as an array."""
        (to_state, to_point), z = self._coordinates(model), as_point(z, "z")
        y = to_state(model, z)
        size = jax.eval_shape(lambda y: to_point(model, y), y).size  # JAX indexes beyond the end without an error
        if size != z.size:
            has = checks.count_of(size, "number", "numbers")
            raise ValueError(f"a point on the section has {has}, got {z.size} in z")
        return y, z

    def _coordinates(self, model: Any) -> Coordinates:
        checks.an_instance(model)
        if not hasattr(model, "transitions"):
            instead = "give another model, such as RollingWalker()"
            if getattr(model, "period", None) is not None:
                instead = "use StroboscopicMap(), from period to period of its drive"
            elif hasattr(model, "vector_field"):
                instead = "add them, [self.vector_field] and a Transition(0, 0, guard=...) where the section lies"
            name = type(model).__name__
            raise TypeError(f"a PoincareMap needs phases() and transitions(), which {name} does not have: {instead}")
        if self.coordinates is not None:
            return self.coordinates
        if isinstance(model, SectionedModel):
            return Coordinates(type(model).on_section, type(model).section)
        instead = "give PoincareMap(coordinates=Coordinates(...))"
        raise TypeError(f"{type(model).__name__} has no methods on_section and section: {instead}")

    def _section(self, model: HybridModel) -> tuple[list[str], int]:
        """Names of the transitions to count, and the phase after them."""
        transitions = model.transitions()
        counted = [name for name, tr in transitions.items() if not tr.ends and self.section in (None, name)]
        if not counted:
            lasting = [name for name, tr in transitions.items() if not tr.ends]
            what = f"section must be a transition that does not end the motion, {lasting}"
            raise ValueError(f"{what}: got {checks.shown(self.section)}")
        after = {phase for name in counted for phase in _phases_after(transitions[name])}
        phases = after if self.phase is None else {self.phase}
        if len(phases) > 1:
            raise ValueError(f"the events {counted} lead to phases {sorted(phases)}: choose one by section= or phase=")
        return counted, phases.pop()


@functools.partial(kept, assured=REDUNDANT_CHECKS)
def _arrival(
    section: PoincareMap, model: HybridModel, y0: State, phase: int, events: int
) -> tuple[Point, Float[Array, ""], Int[Array, ""]]:
    """The point after some events, the time in s until then, and how the motion ended."""
    to_point, (counted, _) = section._coordinates(model).point, section._section(model)
    scheme, t_end = section.scheme_of(model), section.longest(model)
    run = hybrid(model, events=events, t_end=t_end, y0=y0, phase=phase, scheme=scheme, counted=counted)
    y, t, came = jax.tree.map(lambda leaf: leaf[-1], run.after), run.ts[-1], run.count == events
    return only_if(came, to_point(model, y)), only_if(came, t), ended_by(came, run.status)


@float64_default
def ended_by(came: Bool[Array, ""], status: Int[Array, ""]) -> Int[Array, ""]:
    """How the search for a return ended, as a code without unit, from the status of its run."""
    lost = jnp.where(status == Outcome.COMPLETED, Outcome.NO_RETURN, status)
    return jnp.where(came, Outcome.COMPLETED, lost).astype(jnp.int32)


def _phases_after(transition: Transition) -> tuple[int, ...]:
    """The phases in which the motion may go on."""
    return transition.sources if transition.target is None else (transition.target,)


@float64_default
def checked_motion(model: Any, y: State) -> tuple[Any, State]:
    """A model and a state (in its units) as arguments of a compiled program, which cannot check them itself.

    Raises:
        ValueError: for a state that is not finite.
        jaxgait.parameters.ParameterError: for impossible parameters, and for several values of one.
    """
    if checks.is_concrete((model, y)):
        check_one(model)
        check_state("y0", y, jax.eval_shape(model.initial_state))
    return cast(model), start_state(model, y)


@float64_default
def checked_start(y: State, z: Point, phase: int) -> State:
    """The state at a point of a section, checked: from there, a run must move as the map does."""
    if phase:
        raise ValueError(f"the section lies in phase {phase}, and runs start in phase 0: choose another section")
    if checks.is_concrete(z) and not np.isfinite(np.asarray(z)).all():
        raise ValueError(f"z must be finite, got {checks.shown(z)}: no gait was found, if it is the result of a search")
    return y
