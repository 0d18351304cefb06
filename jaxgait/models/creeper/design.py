"""The fastest gait of the creeping robot under limits on actuator force and slip, by gradients through the solve."""

from __future__ import annotations

from collections.abc import Mapping

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision
from jaxgait.models.creeper.measures import performance
from jaxgait.models.creeper.model import Creeper
from jaxgait.optimization.constrained import Found, constrained_search
from jaxgait.parameters import get_parameter, with_parameters
from jaxgait.solve.smooth import Smooth

__all__ = ["BOUNDS", "fastest_gait"]

BOUNDS = {
    "gait.stroke": (2e-3, 12e-3),
    "gait.period": (0.5, 2.0),
    "gait.dwell": (0.005, 0.03),
    "gait.ramp": (0.01, 0.05),
    "gait.coil_time": (0.01, 0.04),
    "gait.coil_delay": (-0.01, 0.01),
}
"""Of the search, in m and s; the stroke of the shaft is at most 0.4 unit lengths."""
STABLE_STEP = 8e-5
"""In s. Step control keeps an explicit solve bounded, but not its tangents: |v| / z_s times the step must be < 2.5."""
SPEED, SLACK = -100.0, 10.0
"""Scales of the objective (1/(m/s)) and of the slacks (1/N and no unit) that make them of order one."""


def fastest_gait(
    robot: Creeper,
    over: Mapping[str, tuple[float, float]] = BOUNDS,
    *,
    force_limit: float = 1.0,
    slip_limit: float = 0.015,
    steps: int = 12,
) -> tuple[dict[str, float], Found]:
    """Maximises the net speed over parameters of the gait; a step costs one solve with its tangents (forward mode).

    Args:
        robot: the start of the search.
        over: parameters and their bounds, in the units of the parameters.
        force_limit: largest pull and push of the actuator in N.
        slip_limit: largest share of the strokes that is lost (no dimension).
        steps: of the search, at most.

    Returns:
        The parameters of the fastest gait that was visited and keeps both limits (the start if none does), and the
        search, in a box of unit edges; its objective is `SPEED` times the net speed in m/s, its slacks are `SLACK`
        times what is left of push and pull (N) and of the slip.
    """
    names, bounds = list(over), np.array(list(over.values()))
    fast = Smooth.of(robot, solver=diffrax.Bosh3(), rtol=1e-5, atol=1e-8, max_step=STABLE_STEP)
    gait = lambda x: bounds[:, 0] + x * (bounds[:, 1] - bounds[:, 0])

    def values(x: jax.Array) -> jax.Array:
        p = performance(with_parameters(robot, dict(zip(names, gait(x), strict=True))), samples=200, settings=fast)
        left = jnp.stack([force_limit - p.peak_force, force_limit + p.least_force, slip_limit - p.slip])
        return jnp.concatenate([SPEED * p.speed[None], SLACK * left])

    with precision.use("float64"):
        start = np.array([float(get_parameter(robot, name)) for name in names])
        unit = (start - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
        found = constrained_search(values, unit, [(0.0, 1.0)] * len(names), steps=steps, tolerance=1e-5)
    best = found.best() or found.visited[0]
    return dict(zip(names, gait(best.x), strict=True)), found
