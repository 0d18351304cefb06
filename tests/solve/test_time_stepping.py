"""The LCP time stepper on the walker, digit by digit, and on a block and a bouncing disc with known answers."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import precision
from jaxgait.models.nonsmooth import Contact, Kinetics
from jaxgait.models.parameters import with_parameters
from jaxgait.models.walker_rigid import RigidWalker
from jaxgait.solve.time_stepping import march

DIGITS = 1e-8  # the specification's regression values carry 8 digits


@pytest.fixture(scope="module")
def walk():
    """2 s of three walks at once: plastic, bouncing, slippery; sampled every 0.1 s."""
    model = precision.cast(RigidWalker())
    changes = {"normal_restitution": jnp.array([0.0, 0.3, 0.0]), "friction": jnp.array([0.5, 0.5, 0.13])}
    return jax.jit(jax.vmap(lambda c: march(with_parameters(model, c), 1e-4, 20, 1000)))(changes)


def test_regression_values(walk):
    positions = np.stack(walk.y[:4], axis=-1)
    np.testing.assert_allclose(positions[0, 2], [0.11061002, 0.39907361, -0.07758063, 0.20444213], atol=DIGITS)
    expected = [
        [0.77022770, 0.39766793, -0.12431115, 0.24190278],
        [0.77045797, 0.39767212, -0.12454505, 0.24199302],
        [0.64669567, 0.39707250, -0.13968386, 0.14919346],
    ]
    np.testing.assert_allclose(positions[:, -1], expected, atol=DIGITS)
    assert float(jnp.max(walk.violation)) < 1e-12


class Puck(NamedTuple):
    x: float
    y: float
    vx: float
    vy: float


class Block:
    """A point mass over rough ground y = 0."""

    def __init__(self, start, friction, restitution):
        self.start, self.friction, self.restitution = start, friction, restitution

    def initial_state(self):
        return Puck(*(jnp.asarray(z, dtype=float) for z in self.start))

    def kinetics(self, y):
        return Kinetics(lambda f: [fi / 2.0 for fi in f], [0.0, -2.0 * 9.8])

    def contacts(self, y):
        return (
            Contact(y.y, (0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0), self.friction, self.restitution, 0.0, True),
        )


def test_a_sliding_block_stops_where_coulomb_says():
    end = march(Block((0.0, 0.0, 1.0, 0.0), 0.3, 0.0), 1e-4, 1, 5000)
    assert float(end.y.x[-1]) == pytest.approx(1.0 / (2 * 0.3 * 9.8), rel=1e-3)
    assert float(end.y.vx[-1]) == pytest.approx(0.0, abs=1e-12)
    assert float(end.work[1][-1]) == pytest.approx(0.0, abs=1e-12)


def test_newton_restitution():
    """Dropped from h, it rises to e^2 h."""
    run = march(Block((0.0, 0.1, 0.0, 0.0), 0.3, 0.6), 1e-4, 3000, 1)
    bounce = int(np.argmax(np.asarray(run.impulses[0]) > 0))
    assert float(run.y.y[bounce:].max()) == pytest.approx(0.36 * 0.1, rel=5e-3)


def test_derivatives_between_contact_changes():
    """Sliding without a change of mode: the distance depends on friction as theory says, in both modes of AD."""

    def distance(mu):
        return march(Block((0.0, 0.0, 1.0, 0.0), mu, 0.0), 1e-3, 1, 100).y.x[-1]

    mu = jnp.asarray(0.3)
    exact = -0.5 * 9.8 * 0.1**2
    assert float(jax.jacfwd(distance)(mu)) == pytest.approx(exact, rel=2e-2)
    assert float(jax.grad(distance)(mu)) == pytest.approx(float(jax.jacfwd(distance)(mu)), rel=1e-10)
