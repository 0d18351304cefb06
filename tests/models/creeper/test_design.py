"""The fastest gait: faster than the default, within the limits it was given."""

import pytest

from jaxgait.models.creeper.design import SLACK, fastest_gait
from jaxgait.models.creeper.model import Creeper


@pytest.mark.slow
def test_a_longer_stroke_is_faster_as_long_as_the_limits_are_kept():
    best, search = fastest_gait(Creeper(), {"gait.stroke": (2e-3, 12e-3)}, force_limit=1.2, steps=3)
    assert best["gait.stroke"] > 6e-3 and search.best().objective < search.visited[0].objective
    assert (search.best().slack / SLACK >= 0.0).all()
