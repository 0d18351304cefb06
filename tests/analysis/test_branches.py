"""The predictor and corrector on circles: one branch all around, many branches to given values."""

import numpy as np

from jaxgait.analysis.branches import Corrector, Points, Steps, advance, correct, parameter_axis, tangents, walk
from jaxgait.roots import Rule

RADII = np.array([1.0, 2.0, 3.0])
CORRECTOR = Corrector(Rule(1e-12, shorten=False), max_evaluations=8)
ROUNDING = 1e-12


def circles(branches, x):
    """Of radius `RADII[branches]`, in unknowns (y, p)."""
    value = np.sum(x**2, axis=1) - RADII[branches] ** 2
    return value[:, None], 2 * x[:, None, :]


def test_a_branch_is_followed_through_both_folds():
    start = Points(np.array([[1.0, 0.0]]), circles([0], np.array([[1.0, 0.0]]))[1], np.zeros(1))
    around = walk(circles, start, np.array([0.0, 1.0]), 0.2, 40, (-np.inf, np.inf), CORRECTOR)
    np.testing.assert_allclose(np.linalg.norm(around.x, axis=1), 1.0, atol=ROUNDING)
    angle = np.unwrap(np.arctan2(around.x[:, 1], around.x[:, 0]))
    assert (np.diff(angle) > 0).all() and angle[-1] > 2 * np.pi and around.why_stopped == "40 points were reached"


def test_the_end_of_the_span_is_said():
    start = Points(np.array([[1.0, 0.0]]), circles([0], np.array([[1.0, 0.0]]))[1], np.zeros(1))
    part = walk(circles, start, np.array([0.0, 1.0]), 0.1, 40, (-0.5, 0.5), CORRECTOR)
    assert part.why_stopped == "the branch left the span"
    assert (part.x[:-1, 1] < 0.5).all() and part.x[-1, 1] == 0.5  # not beyond, where there may be nothing


def test_many_branches_at_a_given_value_of_the_parameter():
    """At p = 1.5 the first circle has no point: it alone is lost, with the step halved to its limit."""
    numbers = np.array([0, 1, 2])
    x = np.column_stack([RADII, np.zeros(3)])
    axis = parameter_axis(x)
    along = tangents(circles(numbers, x)[1], axis)
    np.testing.assert_allclose(along, axis, atol=ROUNDING)
    step, smallest = np.full(3, 1.5), np.array([1.2, 0.1, 0.1])
    found, used = advance(circles, numbers, Steps(x, along, step, smallest), CORRECTOR, normal=axis)
    expected = np.sqrt(RADII[1:] ** 2 - 1.5**2)
    np.testing.assert_allclose(found.x[1:], np.column_stack([expected, [1.5, 1.5]]), atol=ROUNDING)
    assert np.isnan(found.x[0]).all() and (used[1:] == 1.5).all() and used[0] < 1.2
    first = Steps(x[:1], along[:1], step[:1], smallest[1:2])
    halved, used = advance(circles, numbers[:1], first, CORRECTOR, normal=axis[:1])
    assert used[0] == 0.75
    np.testing.assert_allclose(halved.x, [[np.sqrt(1 - 0.75**2), 0.75]], atol=ROUNDING)


def test_the_residual_says_how_far_off_a_lost_point_is():
    guess = np.array([[0.0, 5.0]])
    lost = correct(circles, np.zeros(1, dtype=int), guess, parameter_axis(guess), CORRECTOR)
    assert np.isnan(lost.x).all() and lost.residual[0] >= 20.0
