"""Maps of basins of attraction."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from jaxgait.analysis.attractors import FELL, OTHER, REACHED, Basin
from jaxgait.plot.basins import FATES, basin_map
from jaxgait.plot.style import FAILED, GREEN, ORANGE

OUTCOME = np.array([[REACHED, FELL], [REACHED, OTHER], [FELL, FELL]])
ANGLES, RATES = [0.1, 0.2, 0.3], [-2.0, -1.0]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_every_start_has_the_colour_of_its_fate_and_the_legend_says_which():
    figure = basin_map(Basin(OUTCOME, OUTCOME), ANGLES, RATES, labels=("angle (rad)", "rate (rad/s)"), gait=[0.1, -1.9])
    (ax,) = figure.axes
    mesh = ax.collections[0]
    shown = mesh.to_rgba(mesh.get_array()).reshape(2, 3, 4)  # up, across
    colours = {FELL: FAILED, REACHED: GREEN, OTHER: ORANGE}
    for i, j in np.ndindex(OUTCOME.shape):
        np.testing.assert_allclose(shown[j, i], to_rgba(colours[OUTCOME[i, j]]))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [*(n for n, _ in FATES.values()), "the gait"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("angle (rad)", "rate (rad/s)")
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0.1, -1.9]])


def test_a_single_value_of_a_coordinate_has_a_cell_with_a_width():
    figure = basin_map(Basin(OUTCOME[:1], OUTCOME[:1]), [0.2], RATES)
    corners = np.asarray(figure.axes[0].collections[0].get_coordinates())
    np.testing.assert_allclose(np.unique(corners[..., 0]), [0.19, 0.21])


def test_fates_that_do_not_occur_are_not_in_the_legend():
    figure = basin_map(Basin(np.full((3, 2), REACHED), OUTCOME), ANGLES, RATES)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["reaches the gait"]


def test_values_and_a_gait_that_do_not_fit_raise():
    with pytest.raises(ValueError, match=r"x and y must be .* \(2,\) and \(3,\) for outcomes of the shape \(3, 2\)"):
        basin_map(Basin(OUTCOME, OUTCOME), RATES, ANGLES)
    with pytest.raises(ValueError, match=r"gait must be its two coordinates on the map, .*, got the shape \(1, 3\)"):
        basin_map(Basin(OUTCOME, OUTCOME), ANGLES, RATES, gait=[0.1, -1.9, -1.1])
    assert not plt.get_fignums()  # no empty picture below the cell of a notebook


def test_a_gait_beyond_the_map_is_pointed_out():
    square = Basin(OUTCOME[:2], OUTCOME[:2])
    with pytest.warns(UserWarning, match="a point of the gait is beyond the map: are x and y exchanged"):
        basin_map(square, RATES, ANGLES[:2], gait=[0.1, -1.9])
