"""The knee's periodic gaits as fixed points: against long walks, and against the critical k of the specification."""

import numpy as np
import pytest

from experiments.knee_gaits import branches
from experiments.knee_gaits.expected import CRITICAL
from experiments.knee_gaits.reproduce import end_of_first, widest_window
from jaxgait import precision
from jaxgait.analysis.crossings import crossings
from jaxgait.analysis.families import follow, gaits, strides

MIDDLE = 2  # c/k = 0.05 s
STRIDES = 16


def walked(family, who, k, count):
    """The states at the heel strikes of walks from the model's own start, (walks, strides, 4)."""
    y = family.model.initial_state()
    z = np.tile(np.stack([np.asarray(leaf) for leaf in y]), (len(who), 1, 1))
    path = []
    for _ in range(count):
        z = strides(family, who, k, z)[0]
        path.append(z[:, 0])
    return np.stack(path, axis=1)


@pytest.mark.slow
def test_fixed_points_are_what_walks_settle_on_at_the_rate_of_their_multiplier():
    with precision.use("float64"):
        family, who, k = branches.family(lanes=2), np.array([MIDDLE, MIDDLE]), np.array([1.6e4, 1.8e4])
        path = walked(family, who, k, STRIDES)
        found = gaits(family, who, k, path[:, 5:6])
    assert (found.residual < branches.TOLERANCE).all()
    np.testing.assert_allclose(path[:, -1, :2], found.z[:, 0, :2], atol=1e-4)  # rad
    np.testing.assert_allclose(path[:, -1], found.z[:, 0], atol=2e-3)  # rad, rad/s (of 10)
    multipliers = found.multipliers
    assert (np.abs(multipliers[:, 1]) < 0.05).all()  # one direction decays slowly, all others within a stride
    apart = np.linalg.norm(path[0] - found.z[0], axis=1)
    n = int(np.argmax(apart < 0.1))  # near enough to be linear, far enough above the solver's jitter
    step, next_step = path[0, n] - found.z[0, 0], path[0, n + 1] - found.z[0, 0]
    assert step @ next_step / (step @ step) == pytest.approx(multipliers[0, 0].real, rel=0.1)


@pytest.mark.slow
def test_critical_k_by_the_multiplier():
    """Specification, section 8: critical k of scans in steps of 1e3 N/m, here by the multiplier -1."""
    expected = [CRITICAL[ratio] for ratio in (0.03, 0.04, 0.05, 0.06)]
    who = np.arange(len(expected))
    with precision.use("float64"):
        family = branches.family(lanes=len(expected))
        above = np.array([row.value for row in expected]) + 500.0
        values = above - 600.0 * np.arange(4.0)[:, None]
        branch = follow(family, who, values, walked(family, who, above, 12)[:, -1:])
        found = crossings(family, branch, width=branches.WIDTH)
    assert [c.kind for c in found] == ["period doubling"] * len(expected)
    for c in found:
        assert c.parameter == pytest.approx(expected[c.member].value, abs=expected[c.member].tolerance)
        assert c.distance < 0.05  # at the tolerance of the search; the values of k are accurate to about 1 %


def test_the_first_unstable_range_ends_and_the_widest_lies_between_stable_ones():
    ranges = [(-np.inf, 1.52e4), (2.01e4, 2.23e4), (2.65e4, 2.75e4)]
    assert end_of_first(ranges) == 1.52e4 and widest_window(ranges) == (2.01e4, 2.23e4)
    assert np.isnan(end_of_first([])) and np.isnan(widest_window([(-np.inf, 1.0)])).all()
