"""A harmonic oscillator, whose turns and zeros are known in closed form."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp

from jaxgait.model import Model, Scalar, Variable, parameter


class Swing(NamedTuple):
    x: Scalar
    v: Scalar


class Harmonic(Model):
    """Released at rest from 1 m."""

    rate: Scalar = parameter(6.0, unit="rad/s", doc="angular frequency")

    variables: ClassVar = {"x": Variable("m", "position"), "v": Variable("m/s", "velocity")}
    duration: ClassVar = 2.0

    def initial_state(self):
        return Swing(jnp.asarray(1.0), jnp.asarray(0.0))

    def vector_field(self, t, y):
        return Swing(y.v, -(self.rate**2) * y.x)
