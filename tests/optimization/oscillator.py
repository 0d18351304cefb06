"""A driven oscillator whose steady motion is known in closed form."""

import math
from typing import ClassVar, NamedTuple

import jax.numpy as jnp

from jaxgait.measure import Measure, table
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter


class Swing(NamedTuple):
    x: Scalar
    v: Scalar


def _power(run):
    """Mean of v^2 over the last stride."""
    v = run.ys.v[-run.sampling.samples - 1 : -1]
    return jnp.mean(v**2)


def _excursion(run):
    x = run.ys.x[-run.sampling.samples - 1 : -1]
    return jnp.sqrt(2.0 * jnp.mean(x**2))


class Oscillator(Model):
    """x'' + c x' + k x = cos t: amplitude 1 / sqrt((k - 1)^2 + c^2); multipliers of modulus exp(-pi c)."""

    k: Scalar = parameter(1.5, unit="1", doc="stiffness", source="chosen")
    c: Scalar = parameter(0.6, unit="1", doc="damping", source="chosen")

    numerics: ClassVar[Numerics] = Numerics(stiff=False, rtol=1e-8, atol=1e-10)
    variables: ClassVar = {"x": Variable("1", "displacement"), "v": Variable("1", "velocity")}
    measures: ClassVar = table(
        Measure("power", _power, "1", "mean square velocity", strides=1),
        Measure("excursion", _excursion, "1", "amplitude", strides=1),
        Measure("late", _excursion, "1", "amplitude, late", strides=3),
    )

    @property
    def period(self) -> Scalar:
        return 2.0 * math.pi

    @property
    def duration(self) -> Scalar:
        return 4.0 * self.period

    def initial_state(self) -> Swing:
        return Swing(jnp.zeros(()), jnp.zeros(()))

    def vector_field(self, t, y):
        return Swing(y.v, jnp.cos(t) - self.c * y.v - self.k * y.x)


def amplitude(k, c):
    return 1.0 / math.hypot(k - 1.0, c)
