"""The return map of a driven model, over its period: the other kind besides `jaxgait.solve.return_maps.PoincareMap`."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, ArrayLike, Float, Int

from jaxgait.model import Model, State, as_model
from jaxgait.native import kept
from jaxgait.outcome import Outcome
from jaxgait.precision import float64_default
from jaxgait.roots import only_if
from jaxgait.run import check_period
from jaxgait.scheme import Scheme
from jaxgait.solve.forcing import warn_of_restart
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.return_maps import Point, checked_motion, checked_start, ended_by
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.smooth import REDUNDANT_CHECKS, Smooth, integrate
from jaxgait.solve.steps import as_point, start_state
from jaxgait.support import checks


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
            TypeError: for anything but a model.
        """
        return self.tried(model, z)[0]

    def tried(self, model: Model, z: Point) -> tuple[Point, Int[Array, ""]]:
        """The state one period later and how the motion ended, as `PoincareMap.tried`; `NO_RETURN` in another phase.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait import Prosthesis
            >>> from jaxgait.outcome import sentence
            >>> from jaxgait.solve.periodic import StroboscopicMap
            >>> _, code = StroboscopicMap().tried(Prosthesis(), jnp.array([0.36, 0.4, -0.78, -2.1]))  # rad, rad/s
            >>> sentence(Prosthesis(), int(code))
            'completed'
        """
        if as_model(model).period is None:
            raise ValueError(f"{type(model).__name__} is not driven with a period: use PoincareMap")
        check_period(model)
        scheme = self.scheme_of(model)
        if not isinstance(scheme, EventDriven | Smooth):
            raise ValueError(
                f"StroboscopicMap needs the exact derivatives of Smooth or EventDriven: {type(model).__name__} is "
                f"integrated by {type(scheme).__name__}"
            )
        if self.phase and isinstance(scheme, Smooth):
            raise ValueError(f"{type(model).__name__} moves smoothly, without phases: leave out phase={self.phase}")
        return _after_periods(self, *checked_motion(model, _whole_state(model, z)[0]), scheme)

    def first_point(self, model: Model) -> Point:
        """The model's own initial state as a point, a first guess of a gait; in the units of its components.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> from jaxgait.solve.periodic import StroboscopicMap
            >>> print(StroboscopicMap().first_point(Prosthesis()).shape)
            (4,)
        """
        return ravel_pytree(start_state(as_model(model), None))[0]

    def scheme_of(self, model: Model) -> Scheme:
        """The scheme in use: the given one with the options that suit the model, or the model's default.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> from jaxgait.solve.periodic import StroboscopicMap
            >>> type(StroboscopicMap().scheme_of(Prosthesis())).__name__
            'Smooth'
        """
        return scheme_for(model, self.scheme)

    def start(self, model: Model, z: Float[ArrayLike, " n"]) -> State:
        """The state at a point, as `initial_state` of a run, such as that of a gait; see `PoincareMap.start`.

        Raises:
            ValueError: for a point in a later phase, as runs start in the first one, for one of another size than the
                state, and for one that is not finite, as from a failed search.

        Warns:
            UserWarning: if the equations of the model do not repeat after the map's periods.

        Examples:
            >>> import numpy as np
            >>> from jaxgait import Prosthesis
            >>> from jaxgait.solve.periodic import StroboscopicMap
            >>> y = StroboscopicMap().start(Prosthesis(), np.array([0.36, 0.4, -0.78, -2.1]))  # rad, rad/s
            >>> print(y._fields[0], y[0])
            theta_b 0.36
        """
        warn_of_restart(as_model(model), self.periods, "a motion from this point returns")
        return checked_start(*_whole_state(model, z), self.phase)


@functools.partial(kept, assured=REDUNDANT_CHECKS)
def _after_periods(
    strobe: StroboscopicMap, model: Any, y: State, scheme: EventDriven | Smooth
) -> tuple[Point, Int[Array, ""]]:
    """The state after the periods of a map as a point, and how the motion ended."""
    t_end = strobe.periods * jnp.asarray(model.period, float)
    if isinstance(scheme, EventDriven):
        run = hybrid(model, events=1, t_end=t_end, y0=y, phase=strobe.phase, scheme=scheme, counted=())
        came = (run.status == Outcome.COMPLETED) & (run.phase == strobe.phase)
    else:
        run = integrate(model, jnp.stack([jnp.zeros_like(t_end), t_end]), scheme, y)
        came = run.status == Outcome.COMPLETED
    return only_if(came, ravel_pytree(run.y_end)[0]), ended_by(came, run.status)


def _whole_state(model: Model, z: Any) -> tuple[State, Point]:
    """The state whose numbers a point holds, and the point as an array."""
    own, unravel = ravel_pytree(start_state(model, None))
    z = as_point(z, "z")
    if z.shape != own.shape:
        raise ValueError(f"a point has {own.size} numbers, those of the state, got the shape {z.shape}")
    return unravel(z), z
