"""The fastest gait: faster than the default, within the limits it was given."""

import pytest

from jaxgait.models.creeper.design import fastest_gait
from jaxgait.models.creeper.model import Creeper
from jaxgait.optimization.goals import MAX_VIOLATION


@pytest.mark.slow
def test_a_longer_stroke_is_faster_as_long_as_the_limits_are_kept():
    found = fastest_gait(Creeper(), {"gait.stroke": (2e-3, 12e-3)}, force_limit=1.2, iterations=3)
    assert found.best["gait.stroke"] > 6e-3 and found.objective > found.history.objective[0, 0]
    assert all(left >= -1.2 * MAX_VIOLATION for left in found.limits.values())
