"""Unstable ranges are found from stability alone."""

import numpy as np
import pytest

from jaxgait.analysis.stability import unstable_ranges
from tests.analysis.branches_by_hand import K, crossing, followed


def test_crossings_are_chosen_by_stability():
    # unstable below 15.2, between 20.1 and 22.3, and between 26.5 and 27.5 kN/m
    limits = [(-np.inf, 1.52e4), (2.01e4, 2.23e4), (2.65e4, 2.75e4)]
    unstable = lambda k: np.any([(k > a) & (k < b) for a, b in limits], axis=0)
    one = followed(lambda k: np.where(unstable(k), -1.5, -0.5))
    found = [crossing(k) for k in (2.75e4, 1.52e4, 2.23e4, 2.65e4, 2.01e4)]
    ranges = unstable_ranges(one, found, 0)
    assert ranges == limits
    assert unstable_ranges(followed(lambda k: 0.0 * k - 0.5), [], 0) == []


def test_a_second_crossing_within_a_range_does_not_end_it():
    one = followed(lambda k: np.where((k > 1.52e4) & (k < 2.23e4), -1.5, -0.5))
    ranges = unstable_ranges(one, [crossing(k) for k in (1.52e4, 2.01e4, 2.23e4)], 0)
    assert ranges == [(1.52e4, 2.23e4)]


def test_a_branch_of_some_members_is_read_at_theirs():
    one = followed(lambda k: np.where(k > 2.0e4, -1.5, -0.5), members=(7,))
    assert unstable_ranges(one, [crossing(2.0e4, 7)], 7) == [(2.0e4, np.inf)]
    with pytest.raises(ValueError, match=r"the branch contains the members \[7\], not 1"):
        unstable_ranges(one, [], 1)


@pytest.mark.parametrize("unstable", [4, 6, 15])
def test_a_change_that_was_not_located_is_not_passed_over(unstable):
    one = followed(lambda k: np.where(k < K[unstable], -1.5, -0.5))
    message = f"{unstable} of {K.size} gaits are unstable, the first at 12000"
    with pytest.raises(ValueError, match=f"member 0 changes between -inf and inf, .*: {message}"):
        unstable_ranges(one, [], 0)
    jump = crossing(K[unstable] - 500.0)
    assert unstable_ranges(one, [jump], 0) == [(-np.inf, jump.parameter)]
