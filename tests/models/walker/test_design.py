"""The fastest rolling gait at a given stability."""

import numpy as np
import pytest

from jaxgait import RollingWalker, precision
from jaxgait.models.walker.design import fastest_stable_gait
from jaxgait.models.walker.measures import PAPER_POINT, rolling_gait


@pytest.mark.slow
def test_the_fastest_stable_gait_is_as_stable_as_asked_for():
    """On the steepest slope; larger feet are faster, and less stable from a radius on."""
    found = fastest_stable_gait(RollingWalker())
    assert found.best["slope"] == 0.02 and 0.15 < found.best["foot_radius"] < 0.16
    assert found.local.active == ("multiplier <= 0.6", "slope = 0.02")
    assert -6e-9 <= found.limits["multiplier <= 0.6"] < 1e-6
    assert found.objective > 1.4 * float(found.history.objective[0, 0]) and int(found.ends.evaluations[0]) < 15
    with precision.use("float64"):  # from the paper's gait alone Newton's method leaps to one that is not stable
        leapt = rolling_gait(found.model, np.array(PAPER_POINT))
    assert np.abs(np.linalg.eigvals(leapt.point.jacobian)).max() > 1.0
