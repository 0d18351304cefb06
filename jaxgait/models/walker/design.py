"""The fastest gait of the rolling walker at a given stability, over the slope and the radius of its feet.

The gait is solved for (`rolling_gait`), so its period is free and no transient enters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.measure import Measure
from jaxgait.models.walker.measures import RollingGait, rolling_gait
from jaxgait.models.walker.rigid import RollingWalker
from jaxgait.optimization import Optimum, at_most, optimize
from jaxgait.run import Run
from jaxgait.solve.periodic import PoincareMap, linearised
from jaxgait.support.checks import by_name

BOUNDS = {"slope": (0.005, 0.02), "foot_radius": (0.05, 0.18)}
"""Bounds of the search, in rad and m."""
SHORT = {"duration": 0.01, "samples": 1}
"""As short as possible: the measures depend on the walker alone."""


class _Judged(NamedTuple):
    gait: RollingGait
    multiplier: Float[Array, ""]
    """Modulus of the largest Floquet multiplier; NaN without a gait."""


def _judged(run: Run) -> _Judged:
    walker, step = cast(RollingWalker, run.model), PoincareMap()
    gait = rolling_gait(walker)
    there = jnp.isfinite(gait.velocity)
    _, jacobian = linearised(step, walker, gait.point.z)  # the Jacobian of the search has no second derivative
    multipliers = jnp.linalg.eigvals(jnp.where(there, jacobian, 0.0))
    return _Judged(gait, jnp.where(there, jnp.max(jnp.abs(multipliers)), jnp.nan))


SPEED = Measure("gait_speed", lambda run: run.once(_judged).gait.velocity, "m/s", "speed of the periodic gait")
MULTIPLIER = Measure("multiplier", lambda run: run.once(_judged).multiplier, "1", "largest Floquet multiplier, modulus")


@by_name()
def fastest_stable_gait(
    model: RollingWalker,
    over: Mapping[str, tuple[float, float]] = BOUNDS,
    *,
    stability: float = 0.6,
    iterations: int = 30,
    **search: Any,
) -> Optimum:
    """Maximises the speed in m/s of the periodic gait, from the walker's own.

    Finite differences are accurate enough, as gaits are solved for to 1e-10.

    Args:
        model: the start of the search.
        over: parameters and their bounds, in the units of the parameters.
        stability: largest growth of a perturbation in a step (no dimension).
        iterations: largest number of iterations.
        search: further arguments of `jaxgait.optimize`.

    Raises:
        jaxgait.outcome.NoResult: if no gait that was evaluated meets the limit.
    """
    limits = [at_most(MULTIPLIER, stability)]
    request = {"starts": 1, "gradient": "differences", "iterations": iterations}
    return optimize(model, maximize=SPEED, over=over, subject_to=limits, **request | SHORT | search)
