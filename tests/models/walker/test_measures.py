"""Measures of the smooth walker against the same figures from its samples; gaits of the rolling one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.walker.expected import RIGID
from jaxgait import ensemble, simulate
from jaxgait.models.walker.measures import MEASURES, PAPER_POINT, passing_gait, rolling_gait
from jaxgait.models.walker.rigid import RollingWalker
from jaxgait.models.walker.round_feet import WalkerStart, WalkerState
from jaxgait.models.walker.smooth import Walker
from jaxgait.outcome import NoOrbit
from jaxgait.parameters import ParameterError, with_parameters
from jaxgait.run import Run, Sampling, Trajectory
from jaxgait.solve.periodic import CONVERGED


@pytest.mark.slow
def test_measures_of_a_walk_are_those_of_its_samples():
    scan = ensemble(
        Walker(), {"slope": [0.01, 0.2]}, observe=["step_period", "velocity", "fell_at"], samples=500, duration=5.0
    )
    run = simulate(Walker(), samples=500, duration=5.0)
    late = run.isel(time=run.time >= 2.5)
    period, velocity = passing_gait(late.time.values, late.x.values, (late.theta_1 - late.theta_2).values)
    np.testing.assert_allclose([scan.step_period[0], scan.velocity[0]], [period, velocity], rtol=1e-5)
    assert np.isnan(scan.fell_at[0]) and np.isnan(scan.velocity[1]) and 0.0 < float(scan.fell_at[1]) < 2.0


@pytest.mark.slow
def test_where_there_is_no_rolling_gait_its_numbers_are_nan():
    """Uphill nothing drives a walker: the iterate at which the search ended has a period all the same."""
    gait = jax.jit(jax.vmap(lambda slope: rolling_gait(with_parameters(RollingWalker(), {"slope": slope}))))
    slopes = jnp.array([0.01, -0.02])
    gaits, rates = jax.jvp(gait, (slopes,), (jnp.ones(2),))
    assert gaits.point.status[0] == CONVERGED != gaits.point.status[1]
    found = np.stack([gaits.period, gaits.velocity, gaits.step_length, gaits.normal_impulse, gaits.lift_off])
    assert np.isfinite(found[:, 0]).all() and np.isnan(found[:, 1]).all()
    assert float(gaits.period[0]) == pytest.approx(RIGID["period"], abs=1e-7)
    assert np.isfinite(rates.period[0]) and np.isnan(rates.period[1])  # not zero


@pytest.mark.slow
def test_the_gait_of_a_steep_slope_is_the_stable_one():
    """From the paper's gait alone Newton's method leaps to a gait of another branch, of a period of 0.37 s."""
    for walker in (RollingWalker(slope=0.026), RollingWalker(slope=0.05, start=WalkerStart(on_ground=True))):
        gait = rolling_gait(walker)
        assert gait.point.status == CONVERGED and gait.period > 0.41
        assert np.abs(np.linalg.eigvals(gait.point.jacobian)).max() < 0.6
    assert float(rolling_gait(RollingWalker(slope=0.026), np.array(PAPER_POINT)).period) < 0.38
    with pytest.warns(NoOrbit, match="the motion from z0 does not return"):
        assert np.isnan(rolling_gait(RollingWalker(slope=0.026), np.array([0.2, -0.5, 0.3])).period)


@pytest.mark.slow
def test_similar_walkers_have_similar_gaits():
    """Of the size of a man, and on the Moon: the speed grows with the root of length times gravity."""
    mass, length = 8.0, 0.9 / 0.4
    sizes = {"leg_length": 0.9, "com_offset": 0.1 * length, "foot_radius": 0.1 * length}
    large = RollingWalker(mass=mass, inertia=0.008 * mass * length**2, **sizes)
    paper, tall, moon = (rolling_gait(of) for of in (RollingWalker(), large, RollingWalker(gravity=1.62)))
    assert tall.velocity / paper.velocity == pytest.approx(np.sqrt(length), rel=1e-9)
    assert moon.velocity / paper.velocity == pytest.approx(np.sqrt(1.62 / 9.8), rel=1e-9)
    assert tall.energy_lost / paper.energy_lost == pytest.approx(mass * length, rel=1e-8)


@pytest.mark.parametrize("samples", [0, 1])
def test_a_walk_of_one_sample_has_no_gait(samples):
    assert np.isnan(passing_gait(*np.ones((3, samples)))).all()


@pytest.mark.slow
def test_a_walker_too_small_for_the_samples_has_no_gait():
    """Its steps of 41 ms, sampled every 50 ms, look like steps of 63 ms."""
    ts = jnp.linspace(0.0, 10.0, 201)
    angle = 0.2 * jnp.cos(jnp.pi * ts / 0.0412)
    ys = WalkerState(0.09 * ts, 0.0 * ts, angle, -angle, *[0.0 * ts] * 4)
    walk = Trajectory(ts, ys, jnp.array(0), ts[-1], ys, *ts[:2])
    period = [
        MEASURES["step_period"](Run(Walker(leg_length=size), walk, Sampling(None, 200, 10.0, 0.05)))
        for size in (0.004, 0.4)
    ]
    assert np.isnan(period[0]) and period[1] > 0.05


def test_rolling_gaits_that_cannot_be_are_named():
    with pytest.raises(ParameterError, match=r"RollingWalker\.gravity"):
        rolling_gait(RollingWalker(gravity=-9.8))
    with pytest.raises(ValueError, match="z0 must be finite"):
        rolling_gait(RollingWalker(), jnp.array([0.2, jnp.nan, -1.0]))
