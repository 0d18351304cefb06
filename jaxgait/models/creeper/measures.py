"""Measures of a creeping robot."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.measure import Measure, table
from jaxgait.models.creeper.artery import VALVE_CLOSURE
from jaxgait.models.creeper.model import Creeper
from jaxgait.parameters import check_single
from jaxgait.precision import float64_default
from jaxgait.roots import only_if
from jaxgait.run import Run

_BEAT_SAMPLES = 2701  # 0.1 ms: the peak load is flat there, 1e-8 relative


def _displacement(run: Run) -> Float[Array, ""]:
    return run["x"][-1] - run["x"][0]


def _speed(run: Run) -> Float[Array, ""]:
    return _displacement(run) / (run.ts[-1] - run.ts[0])


def _slip(run: Run) -> Float[Array, ""]:
    robot: Any = run.model
    whole = (run.sampling.strides or 0) * jnp.asarray(robot.gait.stroke)
    moves = whole != 0.0
    return only_if(moves, 1.0 - _displacement(run) / jnp.where(moves, whole, 1.0))


def _peak_force(run: Run) -> Float[Array, ""]:
    return jnp.maximum(run["actuator_force"].max(), run.extremes("actuator_force").largest.max())


def _least_force(run: Run) -> Float[Array, ""]:
    return jnp.minimum(run["actuator_force"].min(), run.extremes("actuator_force").least.min())


_FORCE = ("actuator_force",)
MEASURES = table(
    Measure("speed", _speed, "m/s", "mean speed", strides=1),
    Measure("slip", _slip, "1", "share of the strokes lost (NaN: no stroke)", strides=1),
    Measure("peak_force", _peak_force, "N", "largest push of the actuator", strides=1, watch=_FORCE),
    Measure("least_force", _least_force, "N", "smallest (most negative) actuator force", strides=1, watch=_FORCE),
)
"""Measures of a run over whole cycles, by name."""

CHAIN_INTERVAL = 2e-3
"""Longest time in s between samples that resolve the chain's drive force, smooth within half a cycle."""
_sampled = functools.partial(Measure, interval=CHAIN_INTERVAL)
_X, _Y = "drive force along the actuator unit", "drive force across the actuator unit"
CHAIN_MEASURES = table(
    _sampled("peak_drive", lambda run: run["drive_x"].max(), "N", f"largest {_X}"),
    _sampled("least_drive", lambda run: run["drive_x"].min(), "N", f"smallest (most negative) {_X}"),
    _sampled("side_drive", lambda run: jnp.abs(run["drive_y"]).max(), "N", f"largest {_Y}"),
)
"""Measures of a cycle of the robot as a chain, by name."""

SOFT_MEASURES = table(
    CHAIN_MEASURES["peak_drive"],
    CHAIN_MEASURES["side_drive"],
    _sampled("deflection", lambda run: jnp.abs(run["x"]).max(), "m", "largest axial displacement of the front unit"),
)
"""Measures of the extension of the robot with a soft front unit, by name."""


@float64_default
def peak_load(creeper: Creeper, samples: int = _BEAT_SAMPLES) -> Float[Array, ""]:
    """Largest axial fluid force in N on the robot at rest over a beat, against the forward direction.

    Args:
        creeper: one robot; for several, use `jax.vmap` or `jaxgait.batches.each`.
        samples: samples of the beat.

    Raises:
        TypeError: for other robots, such as an `Inchworm`: its flow passes several gaps.
        jaxgait.parameters.ParameterError: for several values of one parameter.

    Examples:
        >>> from jaxgait.models.creeper.measures import peak_load
        >>> from jaxgait.models.creeper.model import Creeper
        >>> print(round(1e3 * float(peak_load(Creeper()))))  # mN
        992
    """
    if not isinstance(creeper, Creeper):
        raise TypeError(f"the load is that of two units: give a Creeper, got {type(creeper).__name__}")
    check_single(creeper)
    s = jnp.linspace(0.0, VALVE_CLOSURE, samples)
    inflow = creeper.inflow
    flows = inflow.direction * jax.vmap(inflow.beat)(s)
    front, rear = jax.vmap(lambda u: creeper.fluid_forces(u, 0.0, 0.0))(flows)
    return jnp.max(-(front + rear))


@float64_default
def grip_threshold(creeper: Creeper) -> Float[Array, ""]:
    """Friction coefficient (no dimension) of a solid pad below which the flow pushes the robot back: a static estimate.

    The solid pad carries the peak load and the drag of the sliding, liquid pad.

    Raises:
        TypeError: for other robots (see `peak_load`).
        jaxgait.parameters.ParameterError: for several values of one parameter.

    Examples:
        >>> from jaxgait.models.creeper.measures import grip_threshold
        >>> from jaxgait.models.creeper.model import Creeper
        >>> robot = Creeper()
        >>> print(float(grip_threshold(robot)) < robot.pads.friction_high)
        True
    """
    load = peak_load(creeper)
    return load / creeper.pads.normal_force + creeper.pads.friction_low
