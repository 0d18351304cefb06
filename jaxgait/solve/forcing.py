"""How the equations of a model depend on time, and so from where a run, which begins at time 0, continues another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import partial_eval
from jaxtyping import Array, Float

from jaxgait import precision
from jaxgait.kinds import HybridModel, MarchingModel, PrescribedModel, SmoothModel
from jaxgait.model import Model
from jaxgait.native import kept
from jaxgait.support.checks import count_of, is_concrete, warn_user

_COMPARED = 120
"""Times at which equations are compared."""
_SPAN = 3.0
"""Periods over which these are spread, so that other periods, such as a heartbeat, appear."""
_OFFSET = 0.618
"""Where in its interval each of them is: not where equations switch."""
_ROUNDING = 1e-6
"""Relative difference of equations that counts as rounding."""
_LEAST = 1e-12
"""Rounding of what should be zero, relative to the largest number of all equations, whatever their units."""


def reads_time(model: Any) -> bool:
    """Whether the equations of a model, its outputs, events or endings depend on time.

    Examples:
        >>> from jaxgait import Bungee, Prosthesis
        >>> from jaxgait.solve.forcing import reads_time
        >>> print(reads_time(Bungee()), reads_time(Prosthesis()))
        False True
    """
    y = model.initial_state()
    functions = (model.outputs, *model.terminations().values(), *model.events().values(), *_motion(model))
    program = jax.make_jaxpr(lambda t: [function(t, y) for function in functions])(0.0).jaxpr
    return partial_eval.dce_jaxpr(program, [True] * len(program.outvars))[1][0]


def _motion(model: Any) -> list[Callable[[Array, Any], Any]]:
    """The functions of time in s and state, in its units, that determine the motion of a model."""
    found = [model.vector_field] if isinstance(model, SmoothModel) else []
    if isinstance(model, HybridModel):
        events = [f for one in model.transitions().values() for f in (one.guard, one.armed, one.reset) if f]
        found += [*model.phases(), *events]
    if isinstance(model, MarchingModel):
        found.append(lambda t, y: model.advance(t, y, 1e-3))
    if isinstance(model, PrescribedModel):
        found.append(lambda t, y: model.state_at(t))
    return found


def warn_of_restart(model: Model, periods: int, what: str) -> None:
    """Warns if the equations of motion after some periods of a driven model are not those of its start.

    Then something else drives it, too, such as the heartbeat a creeper; or something happens to it once, such as a
    push, which may be meant to happen again. While JAX traces, nothing is compared.

    Args:
        model: with a period.
        periods: number of its periods.
        what: what begins or returns then, for the message.

    Examples:
        >>> from jaxgait import Creeper
        >>> from jaxgait.solve.forcing import warn_of_restart
        >>> warn_of_restart(Creeper(), 4, "the sample is")  # no warning: four strokes last as long as five heartbeats
    """
    if not is_concrete((model, jnp.zeros(()))):  # under jit, new arrays are traced
        return
    with precision.use("float64"):
        model = precision.cast(model)
        period = float(np.asarray(model.period))
        times = period * (_SPAN / _COMPARED) * (np.arange(_COMPARED) + _OFFSET)
        here, later = (
            [np.asarray(x, float) for x in jax.tree.leaves(_equations(model, t))]
            for t in (times, times + periods * period)
        )
    largest = max((np.max(np.abs(x), initial=0.0) for x in here), default=0.0)
    if not all(_alike(x, y, _LEAST * largest) for x, y in zip(here, later, strict=True)):
        warn_user(
            f"{what} after {count_of(periods, 'period', 'periods')}, {periods * period:.4g} s, when the equations of "
            f"{type(model).__name__} are not those of its start, with which the new run begins: if something else "
            "drives it, too, choose a whole number of all its periods"
        )


@kept
def _equations(model: Any, times: Float[Array, " times"]) -> list[Any]:
    """What determines the motion of a model at times in s, in its initial state and in one where nothing is zero."""
    y = jax.tree.map(lambda x: jnp.stack([x, 1.1 * x + 0.01]), jax.tree.map(_real, model.initial_state()))
    return [jax.vmap(jax.vmap(function, (None, 0)), (0, None))(times, y) for function in _motion(model)]


def _real(x: Any) -> Array:
    """A component of a state, in its unit, as real numbers."""
    return jnp.asarray(x, dtype=float)


def _alike(here: np.ndarray, later: np.ndarray, least: float) -> bool:
    """Whether two histories are equal up to rounding, or up to `least`, in their unit."""
    within = max(_ROUNDING * np.max(np.abs(here), initial=0.0), least)
    return np.allclose(here, later, rtol=0.0, atol=within, equal_nan=True)
