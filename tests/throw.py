"""A ball in the plane whose flight is known in closed form, with arrays as parameters and in its state."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxgait.measure import Measure, table
from jaxgait.model import Array, Model, Numerics, Scalar, Variable, parameter


class Flight(NamedTuple):
    q: Array
    v: Array


class Throw(Model):
    """A ball in the plane, pushed by two thrusters: q(t) = v t + (push[0] + push[1] - (0, gravity)) t^2 / 2."""

    push: np.ndarray = parameter(np.array([[1.0, 0.0], [0.5, 2.0]]), unit="m/s^2", doc="pushes", plausible=(-9.0, 9.0))
    shares: tuple = parameter((0.25, 0.75), unit="1", doc="shares", bounds="fraction")
    gravity: Scalar = parameter(9.81, unit="m/s^2", doc="gravity")

    variables: ClassVar = {"q": Variable("m", "position"), "v": Variable("m/s", "velocity")}
    numerics: ClassVar = Numerics(stiff=False, rtol=1e-10, atol=1e-10)
    measures: ClassVar = table(
        Measure("miss", lambda run: jnp.sum((run.ys.q[-1] - jnp.array([3.0, 1.0])) ** 2), "m^2", "squared distance"),
        Measure("height", lambda run: run.ys.q[-1, 1] * run.model.shares[1], "m", "height at the end"),
    )

    @property
    def duration(self):
        return 1.0

    def initial_state(self):
        return Flight(jnp.zeros(2), jnp.array([2.0, 4.0]))

    def vector_field(self, t, y):
        return Flight(y.v, self.push[0] + self.push[1] - jnp.array([0.0, 1.0]) * self.gravity)
