"""Pictures of the sole: what sticks, slips and hovers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgba

from jaxgait.models.jumper.pictures import foot_maps, ground_reaction, landings, postures, sole_map
from jaxgait.models.jumper.robot import JumpingRobot
from jaxgait.models.jumper.scene import _foot, _studs
from jaxgait.models.jumper.sole import Sole
from jaxgait.plot.style import BLUE, GREY, ORANGE


def test_labels_of_forces_stand_beside_their_own_axes():
    run = xr.Dataset({name: ("time", np.ones(3)) for name in ("grf_x", "grf_z")}, {"time": np.linspace(0.0, 0.3, 3)})
    figure = ground_reaction({"jump": run}, weight=1.0)
    figure.canvas.draw()
    above, below = (axis.yaxis.label.get_window_extent() for axis in figure.axes)
    assert not above.overlaps(below) and below.y1 < figure.axes[0].get_window_extent().y0
    plt.close(figure)


@pytest.mark.parametrize("draw", [ground_reaction, landings])
def test_every_run_is_drawn_even_if_there_are_more_than_colours(draw):
    run = xr.Dataset({name: ("time", np.ones(2)) for name in ("grf_x", "grf_z", "com_z")}, {"time": [0.0, 0.3]})
    figure = draw({f"jump {i}": run for i in range(9)}, weight=1.0)
    names = [line.get_label() for line in figure.axes[0].lines]
    assert [name for name in names if not name.startswith("_")] == [f"jump {i}" for i in range(9)]
    plt.close(figure)


def test_sole_map_shows_sticking_slipping_and_hovering_rows():
    normal = np.array([[100.0, 100.0, 0.0]] * 4)
    run = xr.Dataset(
        {
            "depth": (("time", "row"), np.where(normal > 0.0, 1e-3, -1e-3)),
            "normal": (("time", "row"), normal),
            "tangential": (("time", "row"), np.array([[10.0, -70.0, 0.0]] * 4)),
        },
        coords={"time": np.linspace(0.0, 0.3, 4)},
    )
    figure = sole_map(run, (-0.04, 0.0, 0.04), friction=0.7)
    load, state = (np.ma.asarray(axis.collections[0].get_array()) for axis in figure.axes[:2])
    np.testing.assert_array_equal(state[:, 0], [1, 2, 0])
    assert np.ma.getmaskarray(load)[2].all() and not np.ma.getmaskarray(load)[:2].any()
    plt.close(figure)


@pytest.mark.parametrize(
    ("rows", "edges"), [((0.0, 0.01, 0.02), [-0.5, 0.5, 1.5, 2.5]), ((0.05,), [2.9, 7.1])], ids=["dense", "single"]
)
def test_rows_of_studs_on_the_map_are_as_wide_as_their_spacing(rows, edges):
    columns = {name: (("time", "row"), np.ones((4, len(rows)))) for name in ("depth", "normal", "tangential")}
    figure = sole_map(xr.Dataset(columns, {"time": np.linspace(0.0, 0.3, 4)}), rows, friction=0.7)
    corners = np.asarray(figure.axes[0].collections[0].get_coordinates())
    np.testing.assert_allclose(np.unique(corners[..., 1].round(9)), edges)
    plt.close(figure)


def test_the_hardest_landing_lies_within_the_axis():
    columns = {"grf_z": ("time", [0.0, 700.0, 120000.0, 700.0]), "com_z": ("time", np.ones(4))}
    figure = landings({"hard": xr.Dataset(columns, {"time": [0.0, 0.1, 0.2, 0.3]})}, weight=687.0)
    low, high = figure.axes[0].get_ylim()
    assert low == pytest.approx(0.1) and high > 120000.0 / 687.0
    assert not figure.axes[0].get_legend() and len(figure.legends) == 1  # outside, where it hides no landing
    plt.close(figure)


def test_a_robot_of_four_bars_has_postures():
    figure = postures(np.zeros((2, 4, 2, 2)), np.array([0.0, 0.1]))
    assert [line.get_color() for line in figure.axes[0].lines[1:5]] == [BLUE, BLUE, BLUE, GREY]
    plt.close(figure)


def test_one_row_of_studs_is_drawn_with_the_width_of_a_stud():
    robot = JumpingRobot(sole=Sole(rows=(0.06,)))
    columns = {"x": [0.0], "pitch": [0.0]}
    run = xr.Dataset({k: ("time", x) for k, x in columns.items()} | {"normal": (("time", "row"), [[10.0]])})
    (bar,), foot = _studs(robot, run), _foot(robot, run, np.zeros((1, 2, 2)))
    assert np.ptp(bar.outline[0][:, 0]) == pytest.approx(0.7 * 2.0 * robot.sole.radius)
    assert np.isfinite(foot.outline).all()


def test_the_heel_is_behind_the_studs_in_whatever_order_they_are_given():
    run = xr.Dataset({"pitch": ("time", [0.0])})
    feet = [_foot(JumpingRobot(sole=Sole(rows=rows)), run, np.zeros((1, 2, 2))) for rows in ((0.0, 0.05), (0.05, 0.0))]
    np.testing.assert_array_equal(feet[1].outline, feet[0].outline)
    assert feet[0].outline[0, 1, 0] == pytest.approx(-0.05)


def test_foot_maps_ring_each_stud_by_its_state():
    studs = np.array([[0.0, 0.1], [0.04, 0.1], [0.0, -0.1], [0.04, -0.1]])
    run = xr.Dataset(
        {
            "normal": (("time", "stud"), np.array([[100.0, 0.0, 50.0, 0.0]] * 2)),
            "tangential": (("time", "stud", "axis"), np.array([[[10.0, 0.0], [0, 0], [0.0, 35.0], [0, 0]]] * 2)),
        },
        coords={"time": [0.0, 0.1]},
    )
    both = foot_maps({"jump": run, "again": run}, (0.0, 0.0125), studs, friction=0.7)
    assert [ax.get_title() for ax in both.axes[:4]] == ["0 s", "0.0125 s", "", ""]
    plt.close(both)
    figure = foot_maps({"jump": run}, (0.0, 0.1), studs, friction=0.7)
    hovering, pressed = figure.axes[0].collections[:2]
    np.testing.assert_allclose(np.asarray(hovering.get_offsets())[:, 0], [-10.0, 10.0])  # left foot on the left
    np.testing.assert_allclose(np.array(pressed.get_edgecolor()), [to_rgba(BLUE), to_rgba(ORANGE)])
    plt.close(figure)


def test_foot_maps_show_every_stud_also_before_any_touches():
    studs = np.array([[0.30, 0.0], [0.0, 0.2], [0.0, 0.0]])
    columns = {
        "normal": (("time", "stud"), np.zeros((2, 3))),
        "tangential": (("time", "stud", "axis"), np.zeros((2, 3, 2))),
    }
    figure = foot_maps({"jump": xr.Dataset(columns, {"time": [0.0, 0.1]})}, [0.0], studs, friction=0.7)
    (left, right), (behind, ahead) = figure.axes[0].get_xlim(), figure.axes[0].get_ylim()
    assert left < -20.0 and right > 0.0 and behind < 0.0 and ahead > 30.0  # cm
    plt.close(figure)
