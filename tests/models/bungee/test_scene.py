"""The film does not show the jumper in the ground while he is above it."""

import numpy as np
import pytest

from jaxgait import Bungee, simulate
from jaxgait.models.bungee.scene import scene
from jaxgait.plot.style import BLUE


@pytest.mark.parametrize("bridge", [1.0, 0.31, 0.02])
def test_the_lowest_point_of_the_man_is_at_the_height(bridge):
    model = Bungee(ground=50.0 * bridge, rope_length=30.0 * bridge, stiffness=29.0 / bridge)
    run = simulate(model, duration=8.0)
    shown = scene(model, run)
    man = [shape for shape in shown.shapes if shape.colour == BLUE]
    low = np.min([limb.points[..., 1].min(axis=-1) - limb.width / 2 for limb in man], axis=0)
    size = np.ptp(np.stack([limb.points[0, :, 1] for limb in man[:3:2]]))
    assert ((low >= run.height.values) & (low - run.height.values < 0.02 * size)).all()
    assert ("times as large" in next(iter(shown.legend))) == (bridge == 1.0)
