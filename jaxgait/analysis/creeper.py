"""What is asked of a creeping robot: how far it gets, how hard its actuator works, and how much grip it needs."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxgait.ensemble.batch import Run
from jaxgait.models.artery import CLOSURE
from jaxgait.models.base import Variable
from jaxgait.models.creeper import Creeper
from jaxgait.models.inchworm import Inchworm
from jaxgait.solve.integrate import Settings, integrate, settings_for

__all__ = ["MEASURES", "Performance", "grip_threshold", "measures", "peak_load", "performance"]

_BEAT_SAMPLES = 2701  # 0.1 ms: the peak load is flat there, 1e-8 relative


class Performance(NamedTuple):
    """Outcome of one run over whole cycles; every field is NaN (status aside) where the run failed."""

    steps: Float[Array, " cycles"]
    """Net way of each cycle in m, forward positive."""
    speed: Float[Array, ""]
    """Mean speed in m/s."""
    slip: Float[Array, ""]
    """Share of the strokes that was lost: 1 - net way / (cycles x stroke)."""
    peak_force: Float[Array, ""]
    """Largest push of the actuator in N."""
    least_force: Float[Array, ""]
    """Smallest (most negative: pull) force of the actuator in N."""
    status: Int[Array, ""]


def performance(
    creeper: Creeper | Inchworm, cycles: int = 4, samples: int = 250, settings: Settings | None = None
) -> Performance:
    """Runs the robot over whole cycles; may be jitted, vmapped over the model's leaves, and differentiated.

    Args:
        creeper: the robot.
        cycles: how many; 4 is the common period of gait and pulse at the defaults.
        samples: per cycle, at which the actuator's force is read.
        settings: of the integration; the model's own if None. For derivatives with an explicit solver set a `max_step`
            within its stability (1e-4 s while creeping): step control bounds the solution, but not its tangents.
    """
    ts = jnp.arange(cycles * samples + 1, dtype=float) * (creeper.gait.period / samples)
    run = integrate(creeper, ts, settings or settings_for(creeper))
    return Performance(jnp.diff(run.ys.x[::samples]), **measures(Run(creeper, run)), status=run.status)


def measures(run: Run) -> dict[str, Float[Array, ""]]:
    """Speed, slip and forces of one run over whole cycles (see `Performance`), as `ensemble` wants to observe them."""
    creeper: Any = run.model
    force, x = run["actuator_force"], run["x"]
    way, span = x[-1] - x[0], run.ts[-1] - run.ts[0]
    slip = 1.0 - way * creeper.gait.period / (span * creeper.gait.stroke)
    return {"speed": way / span, "slip": slip, "peak_force": force.max(), "least_force": force.min()}


MEASURES = {
    "speed": Variable("m/s", "mean speed"),
    "slip": Variable("1", "share of the strokes lost"),
    "peak_force": Variable("N", "largest push of the actuator"),
    "least_force": Variable("N", "smallest (most negative) actuator force"),
}
"""Units and long names of `measures`."""


def peak_load(creeper: Creeper) -> Float[Array, ""]:
    """Largest axial fluid force in N on the robot at rest over a beat, against the forward direction."""
    s = jnp.linspace(0.0, CLOSURE, _BEAT_SAMPLES)
    inflow = creeper.inflow
    flows = inflow.direction * jax.vmap(inflow.beat)(s)
    front, rear = jax.vmap(lambda u: creeper.fluid_forces(u, 0.0, 0.0))(flows)
    return jnp.max(-(front + rear))


def grip_threshold(creeper: Creeper) -> Float[Array, ""]:
    """Static estimate of the solid pad's friction coefficient below which the flow sweeps the robot back.

    The holding pad must carry the peak load and the drag of the sliding, liquid pad.
    """
    return peak_load(creeper) / creeper.pads.normal_force + creeper.pads.friction_low
