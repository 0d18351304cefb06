"""Copies in common steps: their differences are the derivative of the computed solution."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgait.models.base import Model, Numerics, Scalar, parameter
from jaxgait.solve.integrate import settings_for
from jaxgait.solve.periodic import StroboscopicMap, linearised

AGREE = 1e-7  # central differences of 1e-6: rounding over 1e-6, curvature times 1e-12


class Turn(NamedTuple):
    x: Scalar
    v: Scalar


class Rattle(Model):
    """A driven mass that rattles against a stiff smooth stop; ends where it runs away."""

    stiffness: Scalar = parameter(1e5, unit="N/m", doc="stop")
    drive: Scalar = parameter(3.0, unit="N", doc="amplitude")

    variables: ClassVar = {}
    numerics: ClassVar = Numerics(stiff=True, rtol=1e-5, atol=1e-7, first_step=1e-3, max_step=0.05)

    def vector_field(self, t, y):
        stop = self.stiffness * jnp.logaddexp(0.0, 1e3 * y.x) / 1e3
        return Turn(y.v, self.drive * jnp.cos(2 * jnp.pi * t) - y.x - 0.4 * y.v * (1.0 + stop) - stop)

    def initial_state(self):
        return Turn(jnp.asarray(-0.1), jnp.asarray(0.0))

    def outputs(self, t, y):
        return {}

    def terminations(self):
        return {"away": lambda t, y: y.x < -5.0}

    @property
    def period(self):
        return 1.0

    @property
    def duration(self):
        return 1.0


def make(shared, own):
    return Rattle(stiffness=shared, drive=own)


def test_differences_of_copies_are_the_tangent_and_those_of_single_runs_are_not():
    strobe, stop = StroboscopicMap(settings_for(Rattle())), jnp.asarray(1e5)
    x, nudge = jnp.array([3.0, -0.1, 0.2]), 1e-6
    offsets = nudge * jnp.concatenate([jnp.zeros((1, 3)), jnp.eye(3), -jnp.eye(3)])

    @jax.jit
    def bundled(x, offsets):
        points = x[None] + offsets
        return strobe.bundled(make, stop, points[:, 0], points[:, 1:])

    value, exact = linearised(lambda _, x: bundled(x, offsets)[0], None, x)
    mapped = bundled(x, offsets)
    np.testing.assert_allclose(mapped[0], value, rtol=1e-13)
    together = (mapped[1:4] - mapped[4:]).T / (2 * nudge)
    np.testing.assert_allclose(together, exact, atol=AGREE * np.abs(exact).max())
    alone = jax.jit(jax.vmap(lambda x: strobe(make(stop, x[0]), x[1:])))(x[None] + offsets)
    apart = (alone[1:4] - alone[4:]).T / (2 * nudge)
    assert np.abs(apart - exact).max() > 1e3 * np.abs(together - exact).max()


def test_equal_copies_are_one_run():
    strobe, stop = StroboscopicMap(settings_for(Rattle())), jnp.asarray(1e5)
    one = jnp.array([3.0, -0.1, 0.2])
    mapped = jax.jit(lambda p: strobe.bundled(make, stop, p[:, 0], p[:, 1:]))(jnp.tile(one, (3, 1)))
    single = strobe(make(stop, one[0]), one[1:])
    np.testing.assert_allclose(mapped, np.tile(single, (3, 1)), rtol=0, atol=1e-12)


def test_a_bundle_ends_where_one_copy_ends():
    strobe = StroboscopicMap(settings_for(Rattle()))
    starts = jnp.array([[-0.1, 0.0], [-4.99, -20.0]])
    assert np.isnan(strobe.bundled(make, jnp.asarray(1e5), jnp.array([3.0, 3.0]), starts)).all()
