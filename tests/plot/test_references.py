"""Measured curves are dashed in the panel of their variable."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxgait.plot.histories import picture
from jaxgait.plot.references import draw_references
from tests.plot.test_histories import run


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def with_a_reference():
    """Of a run of 4 samples: a knee, its measured angle and a foot."""
    measured = {"units": "m", "long_name": "measured knee", "reference_of": "knee"}
    return run(["knee", "foot"]).assign(sound=("time", np.full(4, 2.0), measured))


def test_a_measured_reference_is_dashed_in_the_panel_of_its_variable():
    data = with_a_reference()
    for variables, panels in (([], 2), (["knee"], 1), (["sound", "knee", "foot"], 2)):
        figure = picture(data, variables)
        assert len(figure.axes) == panels
        own, dashed = figure.axes[0].lines
        assert own.get_linestyle() == "-" != dashed.get_linestyle()
        np.testing.assert_array_equal(dashed.get_ydata(), 2.0)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["simulated", "measured knee"]
    (alone,) = picture(data, ["sound"]).axes
    assert len(alone.lines) == 1 and alone.get_ylabel() == "measured knee (m)"


def test_a_reference_of_runs_with_different_ends_is_drawn_for_each():
    _, ax = plt.subplots()
    sound = run(["knee"]).knee
    later = sound.assign_coords(time=sound.time + 10.0)
    draw_references(ax, [sound, later], "time", [{"color": "C0"}, {"color": "C1"}])
    assert [line.get_xdata()[0] for line in ax.lines] == [sound.time[0], later.time[0]]
    assert len(ax.get_legend_handles_labels()[1]) == 1


def test_references_of_members_are_one_line_unless_they_differ():
    members = with_a_reference().expand_dims(mass=[60.0, 80.0]).copy(deep=True)
    members["sound"].values[0, -1] = np.nan  # which ended early
    lines = picture(members, ["knee"]).axes[0].lines
    assert len(lines) == 3 and np.isfinite(lines[-1].get_ydata()).all()
    members["sound"].values[0, 0] = 1.0
    lines = picture(members, ["knee"]).axes[0].lines
    assert len(lines) == 5 and [x.get_color() for x in lines[:2]] == [x.get_color() for x in lines[2:4]]


def test_a_reference_with_a_dimension_more_than_its_variable_has_a_panel_of_its_own():
    data = with_a_reference()
    data["sound"] = data["sound"].expand_dims(subject=2)
    figure = picture(data, ["knee", "sound"])
    assert [(ax.get_ylabel(), len(ax.lines)) for ax in figure.axes] == [("knee of it (m)", 1), ("measured knee (m)", 2)]
