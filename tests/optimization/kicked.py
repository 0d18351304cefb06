"""A bouncing ball with a kick, whose gaits are known in closed form."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp

from jaxgait import Measure, Model, Variable, parameter
from jaxgait.kinds import Transition
from jaxgait.measure import table
from jaxgait.model import Scalar
from jaxgait.solve.periodic import PoincareMap

G = 10.0
"""In m/s^2."""


class Ball(NamedTuple):
    z: Scalar
    v: Scalar


def _bounce_time(run):
    """Time in s between the second and the third bounce."""
    return run.events.t[2] - run.events.t[1]


class Kicked(Model):
    """A ball that leaves the ground with e times its speed and a kick; its gait has v = kick / (1 - e)."""

    e: Scalar = parameter(0.6, unit="1", doc="restitution", source="chosen")
    kick: Scalar = parameter(2.0, unit="m/s", doc="speed added at each bounce", source="chosen")

    variables: ClassVar = {"z": Variable("m", "height"), "v": Variable("m/s", "velocity")}
    measures: ClassVar = table(
        Measure("bounce_time", _bounce_time, "s", "time of a bounce"),
        Measure("highest", lambda run: run["v"][0] ** 2 / (2.0 * G), "m", "height of the first bounce"),
    )
    duration: ClassVar = 5.0

    def initial_state(self):
        return Ball(jnp.asarray(1.0), jnp.asarray(0.0))

    def phases(self):
        return [lambda t, y: Ball(y.v, jnp.asarray(-G))]

    def transitions(self):
        bounce = lambda t, y: Ball(0.0 * y.z, self.kick - self.e * y.v)
        return {"bounce": Transition(0, 0, guard=lambda t, y: y.z, reset=bounce)}

    def on_section(self, z):
        return Ball(jnp.zeros_like(z[0]), z[0])

    def section(self, y):
        return jnp.stack([y.v])


BOUNCE = PoincareMap(section="bounce")
