"""The bristle law: holds a load, slips at its limit, gives back what it held when released."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.mechanics import friction
from jaxgait.mechanics.friction import bristle

STIFFNESS, DAMPING, RELEASE = 3.2e4, 10.0, 2e-3
EXACT = 1e-12


def law(velocity, deflection, limit=1.6):
    return bristle(velocity, deflection, limit, STIFFNESS, DAMPING, RELEASE)


def test_steady_sliding_force_is_the_limit():
    for v in (-0.3, 1e-4, 0.02):
        force, rate = law(v, np.sign(v) * 1.6 / STIFFNESS)
        assert float(force) == pytest.approx(-np.sign(v) * 1.6, rel=EXACT)
        assert abs(float(rate)) < EXACT


def test_a_static_load_is_held_without_creep():
    force, rate = law(0.0, 0.9 * 1.6 / STIFFNESS)
    assert float(force) == pytest.approx(-0.9 * 1.6, rel=EXACT)
    assert float(rate) == 0.0


def test_a_melting_pad_gives_its_excess_back():
    held = 1.6 / STIFFNESS
    _, rate = law(0.0, held, limit=0.1)
    assert float(rate) == pytest.approx(-15.0 * held / RELEASE, rel=EXACT)


def test_solidifying_adds_no_force():
    assert float(law(0.0, 1e-6, limit=1.6)[0]) == float(law(0.0, 1e-6, limit=0.1)[0])


def test_small_motions_are_a_spring_and_a_damper():
    stiffness = jax.grad(lambda z: law(0.0, z)[0])(0.0)
    damping = jax.grad(lambda v: law(v, 0.0)[0])(0.0)
    np.testing.assert_allclose([stiffness, damping], [-STIFFNESS, -16.0], rtol=EXACT)


def test_friction_never_feeds_energy_over_a_closed_cycle():
    t = jnp.linspace(0.0, 2.0, 200_001)
    v = 0.01 * jnp.cos(2.0 * jnp.pi * t)

    def step(z, v):
        force, rate = law(v, z)
        return z + 1e-5 * rate, force * v

    _, power = jax.jit(lambda: jax.lax.scan(step, 0.0, v))()
    assert float(power[100_000:].sum() * 1e-5) < -1e-3


def test_loaded_bristle_sticks_below_its_limit_and_slips_at_it():
    """Steady sliding: the force is mu N whatever the speed; a small deflection holds like a spring."""
    velocity, normal, mu = jnp.array([[0.3, 0.4]]), jnp.array([20.0]), jnp.array([0.7])
    steady = 0.7 / 1500.0 * velocity / 0.5
    force, rate = friction.loaded_bristle(velocity, steady, normal, mu, jnp.ones(1), 1500.0, 1.0, 0.02)
    np.testing.assert_allclose(rate, 0.0, atol=1e-15)
    np.testing.assert_allclose(force, [[-0.7 * 20.0 * 0.6, -0.7 * 20.0 * 0.8]], rtol=1e-12)
    held, rate = friction.loaded_bristle(0.0 * velocity, steady / 2, normal, mu, jnp.ones(1), 1500.0, 1.0, 0.02)
    np.testing.assert_allclose(held, force / 2, rtol=1e-12)
    np.testing.assert_allclose(rate, 0.0, atol=1e-15)


def test_open_contact_lets_the_bristle_go():
    z = jnp.array([[1e-4, 0.0]])
    closed = jnp.zeros(1)
    force, rate = friction.loaded_bristle(z, z, closed, jnp.array([0.7]), closed, 1500.0, 1.0, 0.02)
    np.testing.assert_array_equal(force, 0.0)
    np.testing.assert_allclose(rate, -z / 0.02, rtol=1e-12)


def test_friction_laws_have_finite_gradients_at_rest():
    def force(v):
        return friction.loaded_bristle(v, 0.0 * v, jnp.ones(1), jnp.ones(1), jnp.ones(1), 1500.0, 1.0, 0.02)[0].sum()

    assert np.isfinite(jax.grad(force)(jnp.zeros((1, 2)))).all()
    assert np.isfinite(jax.grad(lambda v: friction.memoryless(v, jnp.ones(1), 0.006).sum())(jnp.zeros((1, 2)))).all()


def test_incremental_and_bristle_laws_agree_in_slip():
    """A contact pushed under constant load slides at the kinetic limit, or between both limits."""
    normal, stiffness, step = jnp.array([28.6]), 4.3e4, 1e-5
    z, spring = jnp.zeros((1, 1)), jnp.zeros((1, 1))
    sigma = stiffness / 28.6

    @jax.jit
    def advance(t, z, spring):
        v = jnp.full((1, 1), 0.2 * jnp.cos(40.0 * t))
        mu = friction.falling_coefficient(friction.length(v), 0.9, 0.7, 0.006)
        smooth, rate = friction.loaded_bristle(v, z, normal, mu, jnp.ones(1), sigma, 0.0, 0.02)
        stepped, spring = friction.incremental(v, spring, normal, 0.9, mu, stiffness, step)
        return z + step * rate, spring, smooth[0, 0], stepped[0, 0]

    for k in range(3000):
        z, spring, smooth, stepped = advance(k * step, z, spring)
    assert float(smooth) == pytest.approx(-0.7 * 28.6, rel=0.05)
    assert -0.9 * 28.6 <= float(stepped) <= -0.7 * 28.6  # its reset makes it chatter between both coefficients
