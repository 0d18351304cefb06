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


@pytest.mark.parametrize(
    ("below", "above", "first", "second", "expected"),
    [
        (-0.5, -1.5, 0.99, 1.01, [(2.02e4, np.inf)]),  # the doubled gait loses a pair of multipliers, too
        (-0.5, -1.5, 0.99, 0.99, [(2.02e4, np.inf)]),  # the first crossing alone decides
        (-0.5, -0.5, 0.01, 0.01, [(2.02e4, 2.03e4)]),  # unstable for 100 N/m
        (-1.5, -1.5, 0.01, 0.01, [(-np.inf, 2.02e4), (2.03e4, np.inf)]),  # stable for 100 N/m
        (-1.5, -1.5, 1.01, 1.01, [(-np.inf, np.inf)]),
    ],
)
def test_between_crossings_without_a_gait_stability_is_what_they_imply(below, above, first, second, expected):
    one = followed(lambda k: np.where(k < 2.025e4, below, above))
    turned = np.exp([1j, -1j])
    doubling = crossing(2.02e4)._replace(multipliers=np.array([-1.0, *first * turned]))
    pair = crossing(2.03e4)._replace(kind="Neimark-Sacker", multipliers=np.array([*turned, -second]))
    assert unstable_ranges(one, [pair, doubling], 0) == expected


def test_crossings_that_imply_different_stability_raise():
    one = followed(lambda k: 0.0 * k - 1.5)
    other = crossing(2.03e4)._replace(multipliers=np.array([-1.0, 1.5]))
    with pytest.raises(ValueError, match="crossings at 20200 and 20300 imply different stability of member 0 between"):
        unstable_ranges(one, [crossing(2.02e4), other], 0)


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
