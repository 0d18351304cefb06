"""Pictures of walks draw what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxgait.analysis.continuation import BifurcationPoint, Branch
from jaxgait.models.walker import pictures


def test_a_contact_strip_is_filled_while_a_foot_touches():
    figure, axis = plt.subplots()
    t = np.linspace(0.0, 1.0, 5)
    pictures.contact_strip(axis, t, [t < 0.6, t > 0.6])
    first, second = (bars.get_paths() for bars in axis.collections)
    assert first[0].get_extents().x1 <= 0.75 and second[0].get_extents().x0 >= 0.5
    assert first[0].get_extents().y1 == 0.9 and second[0].get_extents().y0 == 1.1
    plt.close(figure)


def test_a_contact_strip_is_of_one_foot_or_two():
    figure, axis = plt.subplots()
    t = np.linspace(0.0, 1.0, 5)
    pictures.contact_strip(axis, t, [t < 0.6])
    assert [label.get_text() for label in axis.get_yticklabels()] == ["foot 1"] and axis.get_ylim() == (0.0, 1.0)
    for feet in ([t < 0.6] * 3, t < 0.6, [t[1:] < 0.6]):
        with pytest.raises(ValueError, match=r"one or two arrays of the shape \(5,\) of the times, got \("):
            pictures.contact_strip(axis, t, feet)
    plt.close(figure)


def branch_with(*located, order=1):
    """A branch that loses its stability at 0.55, and bifurcations at these points."""
    p = np.linspace(0.0, 1.0, 11)
    points = tuple(BifurcationPoint(None, x, np.array([z]), None, None) for x, z in located)
    return Branch("slope", order, p, p[:, None] ** 2, None, p < 0.55, points, "")


@pytest.mark.parametrize(("located", "joint"), [((0.55, 0.3), [0.55]), ((0.95, 0.9), [])])
def test_a_bifurcation_joins_a_branch_where_its_stability_changes(located, joint):
    """One that is elsewhere, as of another change that was not located, would be a spike."""
    parameter, _, stable, unstable = pictures._joined(branch_with((-3.0, 2.0), located), [])
    assert parameter[(stable == 1) & (unstable == 1)].tolist() == joint and np.all(np.diff(parameter) > 0.0)


def test_branches_of_one_order_have_one_line_in_the_legend():
    figure, axis = plt.subplots()
    pictures.branches(axis, [branch_with(), branch_with(), branch_with(order=2)])
    names = [text.get_text() for text in axis.get_legend().texts]
    assert names == ["period 1 (dashed: unstable)", "period 2 (dashed: unstable)", "bifurcation, located"]
    plt.close(figure)


def test_a_phase_portrait_is_rate_over_angle():
    figure, axis = plt.subplots()
    angle, rate = np.array([0.1, 0.2]), np.array([1.0, -1.0])
    pictures.phase_portrait(axis, angle, rate, label="leg 1")
    np.testing.assert_array_equal(axis.lines[0].get_xydata(), np.column_stack([angle, rate]))
    plt.close(figure)
