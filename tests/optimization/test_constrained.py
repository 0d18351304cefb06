"""Search under constraints: an optimum on a limit that is known, limits kept, what cannot be searched."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.optimization import constrained_search
from jaxgait.optimization.constrained import Found, Point

BOX = [(0.0, 2.0), (0.0, 2.0)]


def nearest(x):
    """The point of the disc of radius 1 that is nearest to (2, 1): (2, 1) / sqrt(5)."""
    return jnp.stack([(x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2, 1.0 - x @ x])


def test_the_optimum_lies_on_the_limit():
    found = constrained_search(nearest, np.array([0.1, 0.1]), BOX, tolerance=1e-12)
    np.testing.assert_allclose(found.end.x, np.array([2.0, 1.0]) / np.sqrt(5.0), atol=1e-6)
    assert found.end.objective == pytest.approx((np.sqrt(5.0) - 1.0) ** 2, abs=1e-6)
    np.testing.assert_array_equal(found.visited[0].x, [0.1, 0.1])
    assert 1 < found.steps < 50 and "success" in found.why_stopped


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-3])
def test_limits_are_kept_however_early_a_search_stops(tolerance):
    assert constrained_search(nearest, np.array([0.1, 0.1]), BOX, tolerance=tolerance).end.slack >= -1e-8


def test_the_best_point_keeps_its_limits():
    point = lambda objective, *slack: Point(np.zeros(1), objective, np.array(slack))
    visited = point(3.0, 1.0, 1.0), point(1.0, 2.0, -1e-3), point(2.0, 0.0, 0.5)
    found = Found(visited[1], visited, 3, "")
    assert found.best() is visited[2] and found.best(margin=1e-2) is visited[1]
    assert Found(visited[1], visited[1:2], 1, "").best() is None


@pytest.mark.parametrize(
    ("function", "start", "message"),
    [
        (nearest, [0.1], "one number within the bounds for each of 2 entries"),
        (nearest, [3.0, 0.0], "within the bounds"),
        (lambda x: x @ x, [0.1, 0.1], "the objective and the slacks in a vector"),
        (lambda x: jnp.nan * nearest(x), [0.1, 0.1], "must be finite at the start"),
    ],
)
def test_impossible_searches_are_named(function, start, message):
    with pytest.raises(ValueError, match=message):
        constrained_search(function, np.array(start), BOX)
