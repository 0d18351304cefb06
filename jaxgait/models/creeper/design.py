"""The fastest gait of the creeping robot under limits on actuator force and slip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import diffrax

from jaxgait.models.creeper.model import Creeper
from jaxgait.optimization import Optimum, at_least, at_most, optimize
from jaxgait.support.checks import by_name

BOUNDS = {
    "gait.stroke": (2e-3, 12e-3),
    "gait.period": (0.5, 2.0),
    "gait.dwell": (0.005, 0.03),
    "gait.ramp": (0.01, 0.05),
    "gait.coil_time": (0.01, 0.04),
    "gait.coil_delay": (-0.01, 0.01),
}
"""Bounds of the search, in m and s; the longest stroke is 0.4 lengths of a default unit (see `LONGEST_STROKE`)."""
STABLE_STEP = 8e-5
"""Longest step in s. Step control keeps an explicit solve bounded, but not its tangents: the step must stay below 2.5
times the time in which a sliding pad's bristles follow, their deflection at the limit over the speed."""
CYCLES = 4
"""Cycles of the gait in a run."""
SETTINGS: dict[str, Any] = {
    "starts": 1,
    "gradient": "run",
    "tolerance": 1e-5,
    "strides": CYCLES,
    "samples": 200,
    "solver": diffrax.Bosh3(),
    "rtol": 1e-5,
    "atol": 1e-8,
    "max_step": STABLE_STEP,
    "batch": 1,
}
"""Options of the search and its runs."""


@by_name()
def fastest_gait(
    model: Creeper,
    over: Mapping[str, tuple[float, float]] = BOUNDS,
    *,
    force_limit: float = 1.0,
    slip_limit: float = 0.015,
    iterations: int = 12,
    **search: Any,
) -> Optimum:
    """Maximises the mean speed in m/s over parameters of the gait, starting from the model's own.

    The speed is that of the first `CYCLES` cycles, which are whole heartbeats for some periods only: runs that begin in
    another phase of the heart are faster or slower by 0.5 %, with other largest forces (for several phases, give
    `inflow.phase` in `across` of `jaxgait.optimize`, at ten times the cost).

    Args:
        model: the start of the search.
        over: parameters and their bounds, in the units of the parameters.
        force_limit: largest pull and push of the actuator in N.
        slip_limit: largest fraction of the strokes lost (no dimension).
        iterations: largest number of iterations.
        search: further arguments of `jaxgait.optimize`.

    Raises:
        jaxgait.outcome.NoResult: if no gait that was evaluated meets the limits.
    """
    limits = [at_most("peak_force", force_limit), at_least("least_force", -force_limit), at_most("slip", slip_limit)]
    return optimize(
        model,
        maximize="speed",
        over=over,
        subject_to=limits,
        iterations=iterations,
        **SETTINGS | search,
    )
