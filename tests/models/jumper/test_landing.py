"""Landing on legs that give way: no impact, no bounce, and the balances of momentum and energy."""

from math import radians

import equinox as eqx
import jax
import numpy as np
import pytest
import xarray as xr

from jaxgait import simulate
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.landing import Absorption, assess_landing, with_landing
from jaxgait.models.jumper.swing import Keyframes, Swing
from jaxgait.parameters import ParameterError, with_parameters

WEIGHT = 70.0 * 9.81
RISE = Swing(radians(120.0), 0.27, 0.30)
"""The arms go up in the air, which brings the trunk forward."""


@pytest.fixture(scope="module")
def jumper():
    return eqx.tree_at(lambda m: m.shoulder.then, Jumper(), RISE, is_leaf=lambda leaf: leaf is None)


@pytest.fixture(scope="module")
def aloft(jumper):
    return simulate(jumper, duration=0.36, samples=36)


@pytest.fixture(scope="module")
def run(jumper, aloft):
    return simulate(with_landing(jumper, aloft), duration=1.5, samples=15000)


@pytest.mark.slow
def test_the_landing_is_soft_and_ends_over_the_sole(run):
    landing = assess_landing(run, mass=70.0)
    assert run.status == 0
    assert 0.2 < landing.fall < 0.3  # m
    assert 2.0 < landing.peak_force < 4.0  # body weights
    assert landing.airborne == 0.0  # no bounce
    assert landing.speed_end < 0.03  # m/s: what is left rocks on the rubber
    assert -0.045 < landing.com_end < 0.165  # m: between the first and the last row of studs
    knee = np.degrees(run.joint_angle.values[:, 1])
    assert knee[-1] > 90.0


@pytest.mark.slow
def test_touch_down_is_without_impact(run):
    """The studs meet the ground a hundred times slower than the body falls; the force grows from zero."""
    depth, touch = run.depth.values, round(assess_landing(run, mass=70.0).touch_down * 1e4)
    closing = np.gradient(depth, run.time.values, axis=0)[touch]
    assert np.abs(closing).max() < 0.02  # m/s
    assert run.grf_z.values[touch : touch + 100].max() < 0.1 * WEIGHT  # 10 ms


@pytest.mark.slow
def test_momentum_and_energy_of_the_landing_balance(run):
    landing = assess_landing(run, mass=70.0)
    assert landing.impulse == pytest.approx(landing.momentum, abs=1e-3)  # N s, trapezoids of 0.1 ms
    assert landing.impulse == pytest.approx(70.0 * landing.speed, rel=0.02)  # the rest of the way is rocking
    part = run.sel(time=slice(landing.touch_down, None))
    work = float((part.joint_power + part.contact_power).integrate("time"))
    assert float(part.energy[-1] - part.energy[0]) == pytest.approx(work, abs=0.02)  # J, trapezoids of 0.1 ms
    assert float(part.joint_power.integrate("time")) < -100.0  # the legs absorb


@pytest.mark.slow
def test_landings_that_cannot_be_raise(jumper, aloft):
    with pytest.raises(ValueError, match="touches the ground"):
        with_landing(jumper, aloft.sel(time=slice(0.0, 0.2)))
    with pytest.raises(ValueError, match="no time for a preparation"):
        with_landing(jumper, aloft, Absorption(reach=0.5))
    with pytest.raises(ValueError, match="no such landing"):
        with_landing(jumper, aloft, Absorption(knee=0.05))
    with pytest.raises(ParameterError, match=r"ankle swings to .* beyond its limits"):
        with_landing(jumper, aloft, Absorption(duration=0.3))
    with pytest.raises(ParameterError, match="positive"):
        with_landing(jumper, aloft, Absorption(duration=-0.1))


@pytest.mark.slow
def test_a_flight_is_no_landing(aloft):
    with pytest.raises(ValueError, match="there is no landing"):
        assess_landing(aloft, mass=70.0)


def test_a_landing_may_be_followed_by_unknown_samples():
    """Of a run that ended early."""
    columns = {"com_z": [1.0, 1.2, 1.0, 0.9, np.nan], "com_vz": [2.0, 0.0, -2.0, 0.0, np.nan]}
    columns |= {"grf_z": [0.0, 0.0, 1500.0, 500.0, np.nan]} | dict.fromkeys(["com_x", "com_vx", "x"], np.zeros(5))
    data = xr.Dataset({k: ("time", x) for k, x in columns.items()}, {"time": [0.0, 0.2, 0.4, 0.5, 0.6]})
    data["depth"] = ("time", "row"), [[-1e-3], [-1e-3], [1e-3], [1e-3], [np.nan]]
    known, nothing = data.isel(time=slice(4)), data.isel(time=slice(0))
    assert assess_landing(data, mass=50.0) == assess_landing(known, mass=50.0)
    with pytest.raises(ValueError, match="there is no landing"):
        assess_landing(nothing, mass=50.0)


@pytest.mark.slow
def test_keyframes_pass_through_their_angles_rates_and_accelerations():
    keys = Keyframes((0.0, 0.2, 0.5), (0.0, 0.3, -0.1), (0.0, 2.0, 0.0), (0.0, -9.0, 0.0), delay=0.1)
    turn = jax.jit(lambda t: tuple(keys.turn(t)))
    for k in range(3):
        for side in (-1e-10, 1e-10):
            found = turn(0.1 + keys.times[k] + side)
            expected = (keys.angles[k], keys.rates[k], keys.accelerations[k])
            np.testing.assert_allclose(found, expected, atol=1e-6)
    t, h = 0.37, 1e-5
    before, here, after = (np.array(turn(t + d)) for d in (-h, 0.0, h))
    differences = (after - before)[:2] / (2 * h)
    np.testing.assert_allclose(here[1], differences[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(here[2], differences[1], rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose([turn(-9.0), turn(9.0)], [(0.0, 0.0, 0.0), (-0.1, 0.0, 0.0)], atol=1e-12)
    curved = Keyframes(accelerations=(3.0, 4.0))
    found = [float(curved.turn(t).acceleration) for t in (-1.0, 0.0, 0.3, 9.0)]
    assert found == pytest.approx([0.0, 3.0, 4.0, 0.0])
    assert min(map(float, keys.extremes())) < -0.0999
    with pytest.raises(ValueError, match=r"as many times, angles, rates, accelerations.* 'rates': 2"):
        Keyframes((0.0, 0.2, 0.5), (0.0, 0.3, -0.1))  # the third rate would be the second, unseen
    with pytest.raises(ParameterError, match=r"times of keyframes must increase, got 0\.2 s before 0\.2 s"):
        Keyframes((0.2, 0.2), (0.0, 0.3))
    with pytest.raises(ParameterError, match=r"rates of the first and the last keyframe must be zero, .* got 4 rad/s"):
        Keyframes((0.0, 0.2), (0.0, 0.3), rates=(0.0, 4.0))


@pytest.mark.slow
def test_joint_limits_hold_for_overlapping_motions():
    """The knee bends by 60 degrees, and stretches by 120 degrees within the first third of that time."""
    both = Swing(np.pi / 3, duration=0.3, then=Swing(-2 * np.pi / 3, duration=0.1))
    angles = jax.jit(jax.vmap(lambda t: both.turn(t).angle))(np.linspace(-0.1, 0.5, 601))
    np.testing.assert_allclose(both.extremes(), [angles.min(), angles.max()], atol=2e-3)
    jumper = eqx.tree_at(lambda m: m.knee, Jumper(), both)
    with pytest.raises(ParameterError, match=r"knee swings to -20\.\d+ deg"):
        jumper.validate()
    keys = Keyframes((0.3, 0.4), (0.0, 0.1))
    late = eqx.tree_at(lambda m: m.hip.then, Jumper(), keys, is_leaf=lambda leaf: leaf is None)
    with pytest.raises(ParameterError, match="times of keyframes must increase"):
        with_parameters(late, {"hip.then.times": (0.4, 0.4)}).validate()


def test_the_times_of_keyframes_may_differ_between_members():
    array = lambda times: with_parameters(Keyframes(), {"times": np.array(times)})
    array([[0.3, 0.4], [0.3, 0.5]]).validate()
    with pytest.raises(ParameterError, match=r"must increase, got 0\.5 s before 0\.4 s"):
        array([[0.3, 0.4], [0.5, 0.4]]).validate()
