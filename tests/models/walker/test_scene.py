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


def test_a_standing_foot_touches_the_ground_where_its_force_acts():
    walker, angle = RollingWalker(), np.array([-0.2, 0.0, 0.3])
    hip = np.stack([[1.0, 2.0, 3.0], float(walker.shank) * np.cos(angle) + float(walker.foot_radius)], axis=-1)
    line, arc = scene.leg(walker, hip, angle)
    half, lowest = 0.5 * scene.THICKNESS * float(walker.leg_length), arc[..., 1].argmin(axis=1)
    assert np.isclose(line[1, 1, 1], half)
    np.testing.assert_allclose(arc[..., 1].min(axis=1), half, atol=1e-4)
    run = xr.Dataset({"stance": ("time", angle)} | {name: ("time", np.ones(3)) for name in ("normal", "tangent")})
    (force,) = scene._forces(walker, run, hip, (angle, angle))
    ground = np.stack([arc[np.arange(3), lowest, 0], np.zeros(3)], axis=-1)
    np.testing.assert_allclose(force.at, levelled(ground, float(walker.slope)), atol=0.01)
