"""Pictures of the exoskeleton show the data."""

import numpy as np
import pytest
import xarray as xr

from jaxgait.models.exoskeleton import pictures
from jaxgait.models.exoskeleton.measures import histories
from jaxgait.models.exoskeleton.model import five_links
from jaxgait.models.exoskeleton.scene import ABOVE, ASIDE, scene
from jaxgait.plot.scene import seen


@pytest.fixture(scope="module")
def walk():
    walk = histories(five_links(mode="gait"), strides=1.5, samples=40)  # as in `test_measures`: one program
    return walk.isel(time=slice(0, 41))


def test_curves_have_their_values(walk):
    figure = pictures.actuator_curves(walk, {"stance": [("M_psi", 1), ("M_psi", 2)], "axial": [("F", 5)]})
    first, second = figure.axes
    np.testing.assert_array_equal(first.lines[1].get_ydata(), walk.M_psi.sel(link=2))
    assert second.get_ylabel() == "axial force (N)" and first.get_legend().texts[0].get_text() == r"$M_{1}^{\psi}$"


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ([("M_psi", 9)], r"unknown curve \('M_psi', 9\): give .*\(M_phi, M_psi or F\) and a link \(1, 2, 3, 4, 5\)"),
        ([("M", 1)], r"unknown curve \('M', 1\)"),
        ([("M_psi", 1), ("F", 1)], r"'knee' has curves in N and N m, which share no axis: give each a panel"),
        ([], "the curves of 'knee' as a list such as .*, got "),
    ],
)
def test_unknown_curves_raise(walk, curves, message):
    with pytest.raises(ValueError, match=message):
        pictures.actuator_curves(walk, {"knee": curves})


def test_a_panel_may_have_more_curves_than_there_are_colours(walk):
    curves = [(name, link) for name in ("M_phi", "M_psi") for link in range(1, 6)]
    (ax,) = pictures.actuator_curves(walk, {"all": curves}).axes
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.get_legend().get_lines()}
    assert len(looks) == len(curves)


def test_legs_keep_their_colours_when_roles_change(walk):
    figure = pictures.kinogram(walk, frames=3)
    drawn = figure.axes[0].lines
    assert drawn[0].get_color() == pictures.PART_COLOURS["left leg"]
    assert drawn[10].get_color() == pictures.PART_COLOURS["right leg"]  # link 1 of the second step
    assert len(pictures.ground_reaction(walk).axes) == 2


@pytest.mark.parametrize("stretched", [0.5, 1.0, 4.0])
def test_a_kinogram_has_the_shape_of_its_walk(walk, stretched):
    far = walk.assign(joints=walk.joints * xr.where(walk.axis == "x", stretched, 1.0))
    figure = pictures.kinogram(far, frames=3)
    figure.draw_without_rendering()
    boxes = [ax.get_window_extent() for ax in figure.axes]
    empty = [figure.bbox.height - sum(box.height for box in boxes), *(figure.bbox.width - box.width for box in boxes)]
    assert max(empty) < 1.2 * figure.dpi, "room for labels alone"
    assert all(ax.get_tightbbox().x0 > -1.0 for ax in figure.axes), "which are not cut off"


def test_a_walk_in_the_plane_is_seen_from_the_side(walk):
    flat = walk.sel(axis=["x", "z"], ground_axis=["x"])
    (side,) = pictures.kinogram(flat, frames=3).axes
    forces, point = pictures.ground_reaction(flat).axes
    assert [text.get_text() for text in forces.get_legend().texts] == ["$R_x$, forward", "$R_z$, up"]
    np.testing.assert_array_equal(point.lines[0].get_ydata(), walk.time)
    shown = scene(five_links(mode="gait", dimension=2), flat)
    assert list(shown.curves[0].values) == ["forward", "up"] and side.get_ylabel() == "height z (m)"
    legs = pictures.kinogram(flat.isel(link=slice(4)), frames=1).axes[0]
    assert [text.get_text() for text in legs.get_legend().texts] == ["left leg", "right leg"]


def test_a_kinogram_shows_all_of_a_tall_body_in_one_posture_too(walk):
    tall = walk.assign(joints=walk.joints * 2.0)
    figure = pictures.kinogram(tall, frames=1)
    assert figure.axes[0].get_ylim()[1] > tall.joints.max() and figure.axes[0].lines[0].get_alpha() == 1.0
    with pytest.raises(ValueError, match="frames must be a whole number"):
        pictures.kinogram(walk, frames=0)


def test_legs_keep_their_links_in_a_film(walk):
    shown = scene(five_links(mode="gait"), walk)
    legs = [shape.points for shape in shown.shapes if getattr(shape, "colour", "") == pictures.PART_COLOURS["left leg"]]
    joints = seen(walk.joints.values, ASIDE, ABOVE)
    np.testing.assert_array_equal(legs[0][6], joints[6, 0])  # shank: link 1 while it stands
    np.testing.assert_array_equal(legs[0][30], joints[30, 3])  # link 4 while it swings
