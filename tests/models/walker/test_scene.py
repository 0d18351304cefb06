"""Films of the walkers stand on the slope, and every leg keeps its colour."""

import numpy as np
import xarray as xr

from jaxgait.models.walker import scene
from jaxgait.models.walker.rigid import RollingWalker
from jaxgait.plot.scene import levelled


def test_what_lies_on_the_slope_falls_below_the_level():
    ground = levelled(np.array([[0.0, 0.0], [2.0, 0.0]]), 0.1)
    np.testing.assert_allclose(ground[1], [2.0 * np.cos(0.1), -2.0 * np.sin(0.1)])


def test_legs_exchange_their_roles_at_heel_strikes():
    time = np.array([0.0, 0.4, 0.5, 0.9])
    values = {
        name: ("time", sign * np.array([0.1, 0.2, 0.3, 0.4])) for name, sign in (("stance", 1.0), ("swing", -1.0))
    }
    events = {"event_time": ("event", [0.45, 0.8]), "event_name": ("event", ["heel strike", "heel strike"])}
    run = xr.Dataset({**values, **events}, {"time": time})
    first, second = scene._angles(run)
    np.testing.assert_array_equal(first, [0.1, 0.2, -0.3, 0.4])
    np.testing.assert_array_equal(second, [-0.1, -0.2, 0.3, -0.4])


def test_one_sample_shows_no_force():
    assert scene._mean_rate(np.ones(1), np.zeros(1)).tolist() == [0.0]


def test_a_standing_foot_touches_the_ground():
    walker = RollingWalker()
    hip = np.array([[0.0, float(walker.leg_length)]])
    line, arc = scene.leg(walker, hip, np.zeros(1))
    half = 0.5 * scene.THICKNESS * float(walker.leg_length)
    assert np.isclose(line[0, 1, 1], half) and np.isclose(arc[0, :, 1].min(), half)
