"""Contact and friction laws: limits, no tension, sign of dissipation, continuity of derivatives."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from jaxgait.mechanics import contact

ACTIVATIONS = ["tanh", "arctan", "softplus"]
K, C, STEEP = 1e5, 20.0, 1e6
NORMAL_LAWS = {
    "kelvin_voigt": functools.partial(contact.kelvin_voigt, stiffness=K, damping=C, steepness=STEEP),
    "hertz": functools.partial(contact.hertz, stiffness=K, damping=C, steepness=STEEP),
    "hunt_crossley": functools.partial(contact.hunt_crossley, stiffness=K, dissipation=5.0, steepness=STEEP),
}
DEPTHS = jnp.linspace(-0.02, 0.02, 81)
RATES = jnp.linspace(-3.0, 3.0, 41)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("law", NORMAL_LAWS)
def test_normal_force_never_pulls(law, activation):
    depth, rate = jnp.meshgrid(DEPTHS, RATES)
    # The arctan form has a tail of -K/(pi STEEP) = -0.03 N that belongs to the law; the outer clamp removes pulling.
    assert jnp.all(NORMAL_LAWS[law](depth, rate, activation=activation) >= -1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("law", NORMAL_LAWS)
def test_no_force_in_the_air_and_full_law_inside(law, activation):
    far = 0.0 if activation != "arctan" else 1.1 * K / (np.pi * STEEP)
    force = functools.partial(NORMAL_LAWS[law], activation=activation)
    assert abs(force(-0.01, 0.0)) <= far + 1e-12
    d, v = 0.01, 0.5
    full = {"kelvin_voigt": K * d + C * v, "hertz": K * d**1.5 + C * v, "hunt_crossley": K * d * (1 + 5.0 * v)}[law]
    np.testing.assert_allclose(force(d, v), full, rtol=1e-4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("law", NORMAL_LAWS)
def test_damping_dissipates(law, activation):
    """The part of the force that depends on the rate has the sign of the rate: it takes energy out."""
    force = functools.partial(NORMAL_LAWS[law], activation=activation)
    depth, rate = jnp.meshgrid(DEPTHS[DEPTHS > 0], RATES)
    assert jnp.all((force(depth, rate) - force(depth, 0.0 * rate)) * rate >= 0.0)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("law", NORMAL_LAWS)
def test_derivatives_are_continuous_through_touch_down(law, activation):
    """With a smoothing depth of 1 mm the slope changes by little over steps of 0.2 micrometres, and autodiff agrees."""
    force = functools.partial(NORMAL_LAWS[law], activation=activation, rate=0.05)
    force = functools.partial(force, steepness=1e3)
    grad = jax.vmap(jax.grad(force))
    depth = jnp.arange(-3e-3, 3e-3, 2e-7) + 1e-7  # Hertz's d^1.5 has no second derivative at zero
    slope = grad(depth)
    assert jnp.all(jnp.isfinite(slope))
    pushing = jax.vmap(force)(depth) > 1e-9  # past the clamp, where the law is smooth
    jumps = jnp.abs(jnp.diff(slope))[pushing[1:] & pushing[:-1]]
    assert jnp.max(jumps) < 0.02 * jnp.max(jnp.abs(slope))
    h = 1e-8
    fd = (jax.vmap(force)(depth + h) - jax.vmap(force)(depth - h)) / (2 * h)
    np.testing.assert_allclose(slope[pushing], fd[pushing], rtol=2e-5, atol=1e-5 * K)


@pytest.mark.parametrize("form", ["arctan", "tanh", "algebraic"])
def test_friction_opposes_and_saturates(form):
    v = jnp.linspace(-1.0, 1.0, 201)
    force = contact.coulomb(v, 100.0, 0.6, 1e-4, form)
    assert jnp.all(force * v <= 0.0)
    assert jnp.all(jnp.abs(force) <= 60.0 + 1e-12)
    np.testing.assert_allclose(contact.coulomb(1.0, 100.0, 0.6, 1e-4, form), -60.0, rtol=1e-4)
    assert float(contact.coulomb(0.0, 100.0, 0.6, 1e-4, form)) == 0.0
    slope = {"arctan": 2 / np.pi, "tanh": 1.0, "algebraic": 1.0}[form]
    np.testing.assert_allclose(jax.grad(contact.sign)(0.0, 1e-4, form), slope / 1e-4, rtol=1e-12)


def test_stribeck_falls_from_static_to_kinetic():
    force = functools.partial(contact.stribeck, normal=10.0, static_friction=0.8, kinetic_friction=0.5)
    force = functools.partial(force, stribeck_velocity=0.1, slip_velocity=1e-4)
    np.testing.assert_allclose(force(5e-3), -8.0, rtol=5e-3)
    np.testing.assert_allclose(force(1.0), -5.0, rtol=1e-6)


@pytest.mark.parametrize("call", [lambda: contact.step(0.0, "cubic"), lambda: contact.sign(0.0, 1.0, "cubic")])
def test_unknown_forms_are_named(call):
    with pytest.raises((ValueError, TypeError), match="cubic"):
        call()


def test_dissipation_for_a_restitution():
    """The walker's table (specification, section 8: three digits), and a drop integrated for itself."""
    e = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    found = contact.hunt_crossley_dissipation(e, 0.169)
    np.testing.assert_allclose(found, [29.1, 18.3, 12.3, 8.48, 5.77, 3.76, 2.21], rtol=3e-3)

    def force(depth, rate, dissipation):
        return contact.hunt_crossley(depth, rate, 1e4, dissipation, 1e8, exponent=1.5, tension_width=1e-4)

    force = jax.jit(force)
    for wanted, dissipation in zip(e[::3], found[::3], strict=True):
        run = scipy.integrate.solve_ivp(
            lambda t, y, a=float(dissipation): [y[1], -float(force(y[0], y[1], a))],
            (0.0, 1.0),
            [0.0, 0.169],
            events=_leaves,
            rtol=1e-7,
            atol=1e-11,
        )
        assert -run.y_events[0][-1, 1] / 0.169 == pytest.approx(wanted, rel=2e-3)


def _leaves(t, y):
    return y[0] + 1e-12


_leaves.terminal, _leaves.direction = True, -1.0
