"""The robot in its vessel: where its pads grip, and how long the film is."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from jaxgait.models.creeper import pictures
from jaxgait.models.creeper.model import Creeper
from jaxgait.plot.style import RED

NAMES = ("x", "tip", "coil_rear", "coil_front", "flow", "actuator_force")


@pytest.fixture
def run():
    """Five instants; the front coil is on, the rear one off."""
    t = np.linspace(0.0, 0.4, 5)
    values = {"x": 0.01 * t, "tip": 0.07 + 0.01 * t, "coil_rear": 0.0 * t, "coil_front": 0.0 * t + 1.0}
    values |= {"flow": np.cos(t), "actuator_force": t}
    return xr.Dataset({name: ("time", values[name]) for name in NAMES}, {"time": t})


def test_pads_that_grip_are_solid_and_touch_the_wall(run):
    robot, (figure, ax) = Creeper(), plt.subplots()
    pictures.draw_robot(ax, robot, run.isel(time=0), (-60.0, 120.0))
    patches = [p for p in ax.patches if type(p) is Rectangle]
    pads = [p for p in patches if p.get_edgecolor() == to_rgba(RED)]
    radius, wall = 1e3 * robot.diameter / 2, 1e3 * (robot.diameter / 2 + robot.clearance)
    grips = [p.get_facecolor() == to_rgba(RED) for p in pads]
    reach = [max(abs(p.get_y()), abs(p.get_y() + p.get_height())) for p in pads]
    assert grips == [False, False, True, True]
    np.testing.assert_allclose(reach, [radius + 0.25 * (wall - radius)] * 2 + [wall] * 2)
    plt.close(figure)
