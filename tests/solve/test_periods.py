"""Derivatives by a period: samples are at the same phases, and so are the ends of steps."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import Measure, Model, Numerics, Variable, ensemble, parameter


class Turn(NamedTuple):
    x: float
    v: float


class Driven(Model):
    """A damped spring whose end is driven in proportion to its period, so that only phases matter."""

    stride_time: float = parameter(1.0, unit="s", doc="period", bounds="positive")
    variables: ClassVar = {"x": Variable("m", "position"), "v": Variable("m", "velocity times the period")}
    numerics: ClassVar = Numerics(stiff=True, rtol=1e-5, atol=1e-7, first_step=1e-4)

    @property
    def period(self):
        return self.stride_time

    @property
    def duration(self):
        return 10.0 * self.stride_time

    def initial_state(self):
        return Turn(0.0, 0.0)

    def vector_field(self, t, y):
        beat = jnp.exp(8.0 * (jnp.cos(2.0 * np.pi * t / self.stride_time) - 1.0))
        return Turn(y.v / self.stride_time, (40.0 * beat - 25.0 * y.x - 2.0 * y.v) / self.stride_time)


@pytest.mark.parametrize("stride_time", [0.5, 2.0])
def test_what_depends_on_phases_alone_has_no_derivative_by_the_period(stride_time):
    reached = Measure("reached", lambda run: jnp.max(jnp.abs(run["x"][-20:])), "m", "largest position")
    last = Measure("last", lambda run: run["v"][-7], "m", "velocity near the end")
    request = {"strides": 10, "samples": 20, "observe": [reached, last], "progress": False}
    found = ensemble(Driven(), {"stride_time": [stride_time]}, gradient=["stride_time"], **request)
    assert float(found.reached[0]) > 0.2
    for slope in (found.reached_gradient, found.last_gradient):
        assert abs(float(slope[0, 0])) * stride_time < 1e-9
