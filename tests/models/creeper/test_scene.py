"""The robot in its vessel: where its pads grip."""

import numpy as np
import pytest

import jaxgait
from jaxgait.models.creeper.inchworm import Inchworm
from jaxgait.models.creeper.model import Creeper
from jaxgait.plot.scene import Body, scene
from jaxgait.plot.style import GREEN


@pytest.mark.parametrize("robot", [Creeper(), Inchworm(units=2)])
def test_pads_that_grip_touch_the_wall(robot):
    """In mid-extension the front pads are free and the rear ones hold, in mid-retraction the opposite."""
    many = {"strides": 4, "samples": 1000}  # a Creeper's run as in other tests, so that they share its program
    run = jaxgait.simulate(robot, **many if isinstance(robot, Creeper) else {"strides": 1, "samples": 4})
    shown = scene(run.sel(time=[0.0, 0.25, 0.5, 0.75, 1.0], method="nearest"), robot)
    pads = [shape.outline for shape in shown.shapes if isinstance(shape, Body) and shape.colour == GREEN]
    reach = np.array([np.abs(pad[[1, 3], :, 1]).max(axis=1) for pad in pads])
    one = Creeper()
    radius, wall = one.diameter / 2, one.diameter / 2 + one.clearance
    free = radius + 0.25 * (wall - radius)
    np.testing.assert_allclose(reach, [[free, wall]] * 2 + [[wall, free]] * 2)
