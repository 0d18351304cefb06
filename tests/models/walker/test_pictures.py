"""Films of the walker stand on the slope."""

import numpy as np

from jaxgait.models.walker import pictures
from jaxgait.models.walker.smooth import Walker


def test_what_lies_on_the_slope_falls_below_the_level():
    ground = pictures._level(np.array([[0.0, 0.0], [2.0, 0.0]]), 0.1)
    np.testing.assert_allclose(ground[1], [2.0 * np.cos(0.1), -2.0 * np.sin(0.1)])


def test_a_walker_that_has_fallen_stays_where_it_is():
    height = np.array([0.4, 0.3, 0.19, -0.5])
    states = np.stack([np.arange(4.0), height])
    drawn = pictures._until_it_falls(Walker(), states)
    np.testing.assert_array_equal(drawn, [[0, 1, 2, 2], [0.4, 0.3, 0.19, 0.19]])
    np.testing.assert_array_equal(pictures._until_it_falls(Walker(), states[:, :2]), states[:, :2])
