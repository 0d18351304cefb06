"""The model of the runs and ensembles in tests: a mass on a spring that can break, turn to NaN or run away."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxgait.model import Model, Numerics, Scalar, Variable, parameter


class Point(NamedTuple):
    x: Scalar
    v: Scalar


class Oscillator(Model):
    """A mass on a spring; breaks at `limit`; the force is NaN after `poison`; `growth` makes it run away.

    `shape` is a vector-valued parameter without effect.
    """

    mass: Scalar = parameter(2.0, unit="kg", doc="mass", bounds="positive")
    stiffness: Scalar = parameter(8.0, unit="N/m", doc="spring", bounds="nonnegative")
    limit: Scalar = parameter(1e9, unit="m", doc="length at which it breaks")
    poison: Scalar = parameter(1e9, unit="s", doc="time from which the force is NaN")
    growth: Scalar = parameter(0.0, unit="N/m^3", doc="cubic force outwards")
    damping: Scalar = parameter(0.0, unit="N s/m", doc="damper", bounds="nonnegative")
    shape: np.ndarray = parameter(np.zeros(2), unit="1", doc="a vector")
    links: int = parameter(3, unit="1", doc="an integer")

    variables: ClassVar = {"x": Variable("m", "position"), "energy": Variable("J", "energy")}
    numerics: ClassVar = Numerics(stiff=False, rtol=1e-8, atol=1e-8, first_step=1e-3, max_steps=2000)

    def vector_field(self, t, y):
        force = jnp.where(t < self.poison, -self.stiffness * y.x + self.growth * y.x**3 - self.damping * y.v, jnp.nan)
        return Point(y.v, force / self.mass)

    def initial_state(self):
        return Point(jnp.asarray(1.0), jnp.asarray(0.0))

    def outputs(self, t, y):
        return {"energy": self.mass * y.v**2 / 2 + self.stiffness * y.x**2 / 2}

    @property
    def period(self):
        return 2 * jnp.pi * jnp.sqrt(self.mass / self.stiffness)

    @property
    def duration(self):
        return 3.0

    def terminations(self):
        return {"broke": lambda t, y: y.x < -self.limit}


def peaks(run):
    return {"lowest": jnp.min(run["x"]), "energy_end": run["energy"][-1]}
