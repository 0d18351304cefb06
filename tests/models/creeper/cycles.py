"""Whole cycles of a creeping robot, to be jitted, mapped over the model's leaves and differentiated."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array

from jaxgait.measure import Measures, mask
from jaxgait.models.creeper.measures import MEASURES
from jaxgait.run import Run, Sampling
from jaxgait.solve.smooth import Smooth, integrate

ALL = Measures(tuple(MEASURES.values()))


class Performance(NamedTuple):
    """Net displacement of each cycle in m, `MEASURES`, all NaN if the run failed, and its status."""

    steps: Array
    speed: Array
    slip: Array
    peak_force: Array
    least_force: Array
    status: Array


def performance(robot, cycles=4, samples=250, settings=None):
    """A `Performance`; `samples` are per cycle."""
    sampling = Sampling(cycles, samples)
    trajectory = integrate(robot, sampling.times(robot), settings or Smooth.of(robot), watch=ALL.watch)
    steps = jnp.diff(trajectory.ys.x[::samples])
    found = mask({"steps": steps, **ALL(Run(robot, trajectory, sampling))}, trajectory.status)
    return Performance(**found, status=trajectory.status)
