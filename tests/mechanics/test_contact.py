"""Normal contact laws: no tension, limits, dissipation, restitution, continuity of derivatives."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import xarray as xr

from jaxgait.mechanics import contact
from jaxgait.mechanics.contact import (
    Hertz,
    HuntCrossley,
    HystereticHertz,
    ImpactHertz,
    KelvinVoigt,
    LinearSpring,
    NoContact,
    UnilateralSpring,
    softplus,
)
from jaxgait.parameters import ParameterError, check, parameters, with_parameters

SMOOTHINGS = ["tanh", "arctan", "softplus"]
K, C, STEEP = 1e5, 20.0, 1e6
SMOOTHED = {KelvinVoigt: KelvinVoigt(K, C, STEEP), Hertz: Hertz(K, C, STEEP), HuntCrossley: HuntCrossley(K, 5.0, STEEP)}
EVERY = [NoContact(), UnilateralSpring(), *SMOOTHED.values(), Hertz(exponent=1.0), HystereticHertz()]
DEPTHS = jnp.linspace(-0.02, 0.02, 81)
RATES = jnp.linspace(-3.0, 3.0, 41)
KINDS = [(kind, smoothing) for kind in SMOOTHED for smoothing in SMOOTHINGS]


def smoothed(kind, smoothing, **changes):
    return dataclasses.replace(SMOOTHED[kind], smoothing=smoothing, **changes)


def named(law):
    return type(law).__name__


@pytest.mark.parametrize("law", [*EVERY, *(smoothed(*kind) for kind in KINDS)], ids=named)
def test_normal_force_never_pulls_and_damping_dissipates(law):
    """The part of the force that depends on the rate has the sign of the rate: it takes energy out."""
    depth, rate = jnp.meshgrid(DEPTHS, RATES)
    # The arctan form has a tail of -K/(pi STEEP) = -0.03 N that belongs to the law; the outer clamp removes pulling.
    assert jnp.all(law.force(depth, rate) >= -1e-12)
    depth, rate = jnp.meshgrid(DEPTHS[DEPTHS > 0], RATES)
    assert jnp.all((law.force(depth, rate) - law.force(depth, 0.0 * rate)) * rate >= 0.0)


@pytest.mark.parametrize(("kind", "smoothing"), KINDS)
def test_no_force_in_the_air_and_full_law_inside(kind, smoothing):
    far = 0.0 if smoothing != "arctan" else 1.1 * K / (np.pi * STEEP)
    law = smoothed(kind, smoothing)
    assert abs(law.force(-0.01, 0.0)) <= far + 1e-12
    d, v = 0.01, 0.5
    full = {KelvinVoigt: K * d + C * v, Hertz: K * d**1.5 + C * v, HuntCrossley: K * d * (1 + 5.0 * v)}[kind]
    np.testing.assert_allclose(law.force(d, v), full, rtol=1e-4)


@pytest.mark.parametrize("law", EVERY[1:], ids=named)
def test_static_depth_and_energy_belong_to_the_force(law):
    """At the static depth the force is the load; the energy is the work of the force on the way there."""
    depth = law.static_depth(500.0)
    np.testing.assert_allclose(law.force(depth, 0.0), 500.0, rtol=1e-6)
    way = jnp.linspace(0.0, depth, 2001)
    np.testing.assert_allclose(law.energy(depth), jnp.trapezoid(law.force(way, 0.0 * way), way), rtol=1e-4)
    np.testing.assert_allclose([law.engaged(-0.01), law.engaged(0.01)], [0.0, 1.0], atol=1e-12)
    assert jnp.isrealobj(law.static_depth(-500.0))


@pytest.mark.parametrize("restitution", [1.5, -0.1])
def test_no_contact_returns_more_than_it_got(restitution):
    """Beyond 1 the hysteresis would be negative: every landing would add energy."""
    with pytest.raises(ParameterError, match=rf"restitution\) must be from 0 to 1, got {restitution}$"):
        check(HystereticHertz(restitution=restitution))


def test_no_contact_carries_nothing():
    law = NoContact()
    assert not np.any(law.force(DEPTHS, 0.0 * DEPTHS)) and np.isinf(law.static_depth(1.0))
    assert float(law.energy(0.01)) == float(law.engaged(0.01)) == 0.0


@pytest.mark.parametrize(("kind", "smoothing"), KINDS)
def test_derivatives_are_continuous_through_touch_down(kind, smoothing):
    """With a smoothing depth of 1 mm the slope changes by little over steps of 0.2 micrometres, and autodiff agrees."""
    force = functools.partial(smoothed(kind, smoothing, steepness=1e3).force, rate=0.05)
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


@pytest.mark.parametrize("law", EVERY, ids=named)
def test_derivatives_are_finite_at_touch_down(law):
    """With respect to depth, rate and every parameter."""
    slopes = jax.grad(lambda law, d, v: law.force(d, v), argnums=(0, 1, 2))(law, 0.0, 0.1)
    assert all(np.isfinite(leaf) for leaf in jax.tree.leaves(slopes))


@pytest.mark.parametrize(
    ("law", "unit"),
    [
        (Hertz(), "N/m^1.5"),
        (Hertz(exponent=1.0), "N/m"),
        (HuntCrossley(), "N/m"),
        (HuntCrossley(exponent=1.5), "N/m^1.5"),
        (HuntCrossley(exponent=2.0), "N/m^2"),
    ],
)
def test_the_unit_of_a_stiffness_follows_its_exponent(law, unit):
    assert parameters(law)["stiffness"].unit == unit
    labelled = lambda unit: with_parameters(law, {"stiffness": xr.DataArray(2.0, attrs={"units": unit})}).stiffness
    assert float(labelled(f"k{unit}")) == 2e3
    with pytest.raises(ParameterError, match="stiffness"):
        labelled("N/m" if law.exponent != 1.0 else "N/m^1.5")


def test_unknown_smoothing_is_named():
    with pytest.raises((ValueError, TypeError), match="cubic"):
        contact.step(0.0, "cubic")


@pytest.mark.parametrize("ratio", [-1.0, 0.51, 1.0, np.nan, np.array([0.3, 0.6])])
def test_ratios_of_no_solid_raise(ratio):
    assert contact.hertz_stiffness(5e6, 0.0, 0.01) == pytest.approx(4e6 * 0.1 * 5 / 3)
    with pytest.raises(ValueError, match="above -1 and at most 1/2"):
        contact.hertz_stiffness(5e6, ratio, 0.01)


def test_dissipation_for_a_restitution():
    """The walker's table (specification, section 8: three digits), and a drop integrated for itself."""
    e = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    found = contact.hunt_crossley_dissipation(e, 0.169)
    np.testing.assert_allclose(found, [29.1, 18.3, 12.3, 8.48, 5.77, 3.76, 2.21], rtol=3e-3)
    assert np.isnan(contact.hunt_crossley_dissipation(np.array([-0.1, 0.0, 1.0, 1.5]), 0.169)).all()

    slope = jax.jit(jax.grad(lambda e: contact.hunt_crossley_dissipation(e, 1.0)))
    curvature = jax.jit(jax.jacfwd(slope))(0.5)
    assert float(curvature) == pytest.approx(float(slope(0.5 + 1e-5) - slope(0.5 - 1e-5)) / 2e-5, rel=1e-6)

    @jax.jit
    def force(depth, rate, dissipation):
        return HuntCrossley(1e4, dissipation, 1e8, tension_width=1e-4, exponent=1.5).force(depth, rate)

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


def test_an_impact_is_remembered_until_the_next_one():
    """In the air the memory follows the approach, on the ground it is held; slow approaches count as a least speed."""
    law = ImpactHertz(HystereticHertz(approach_speed=0.2))
    np.testing.assert_array_equal(law.at_rest(2), [0.2, 0.2])
    assert float(law.memory_rate(-1e-3, 1.0, 0.7)) == pytest.approx(0.3 / 2e-3)
    assert float(law.memory_rate(1e-3, 1.0, 0.7)) == 0.0
    assert float(law.force(1e-3, 0.1, 1e-6)) == float(law.steady.force(1e-3, 0.1))
    assert float(law.force(1e-3, 0.1, 2.0)) < float(law.force(1e-3, 0.1, 0.2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "derive", [lambda f: f, jax.grad, lambda f: jax.grad(jax.grad(f)), lambda f: jax.jacfwd(jax.grad(f))]
)
def test_the_smooth_positive_part_and_its_derivatives_are_those_of_jax(derive):
    """Against `jax.nn.softplus`, at zero and far away as well."""
    x = jnp.asarray([-np.inf, -800.0, -40.0, -1e-3, 0.0, 0.7, 40.0, 800.0, np.inf])
    x = x if derive(abs) is abs else x[1:-1]
    mine, jaxs = jax.vmap(derive(softplus))(x), jax.vmap(derive(jax.nn.softplus))(x)
    np.testing.assert_allclose(mine, jaxs, rtol=2e-15, atol=1e-300)


def test_a_linear_spring_pushes_and_pulls_and_stores_what_it_does_not_lose():
    leg, depth = LinearSpring(stiffness=2e4, damping=30.0), jnp.linspace(-0.01, 0.01, 5)
    np.testing.assert_allclose(leg.force(depth, -0.5), 2e4 * depth - 15.0, rtol=1e-12)
    np.testing.assert_allclose(jax.vmap(jax.grad(leg.energy))(depth), leg.force(depth, 0.0), atol=1e-12)


@pytest.mark.parametrize(
    ("law", "excess"),
    [
        (HuntCrossley(2e4, 0.0, 1e4), np.pi**2 / 6.0 * 2e4 / 1e4**2),
        (KelvinVoigt(2e4, 0.0, 1e4), -(np.pi**2) / 48.0 * 2e4 / 1e4**2),
        (Hertz(2e4, 0.0, 1e4), 1.7833 * 2e4 / 1e4**2.5),
    ],
    ids=lambda x: type(x).__name__,
)
def test_the_work_of_smoothing_is_what_the_page_says(law, excess):
    depth = jnp.linspace(-5e-3, 2e-3, 70_001)
    work = np.trapezoid(law.force(depth, jnp.zeros_like(depth)), depth)
    assert work - float(law.energy(2e-3)) == pytest.approx(excess, rel=1e-3)
