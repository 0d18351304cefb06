"""Pictures of a search: a scan behind its paths in the same colours. The other ones: tests/cli/test_optimizing.py."""

import dataclasses
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import PathCollection, QuadMesh

from jaxgait import Bungee, ensemble, optimize
from jaxgait.optimization.optimum import Optimum
from jaxgait.outcome import FIRST_TERMINATION
from jaxgait.plot import designs

BOX = {"stiffness": (15.0, 40.0), "rope_length": (20.0, 32.0)}
RUN = {"duration": 10.0, "progress": False}


@pytest.mark.slow
def test_a_scan_lies_behind_the_paths_in_their_colours():
    grid = {name: np.linspace(*bounds, 3) for name, bounds in reversed(BOX.items())}
    scan = ensemble(Bungee(), grid, observe=["peak_rope_force", "clearance"], **RUN)
    found = optimize(Bungee(), minimize="peak_rope_force", over=BOX, starts=1, iterations=2, **RUN)
    ax = designs.paths(found, scan=scan.peak_rope_force).axes[0]
    (mesh,) = (one for one in ax.collections if isinstance(one, QuadMesh))
    (points,) = (one for one in ax.collections if isinstance(one, PathCollection))
    assert mesh.norm is points.norm and points.norm.vmin == points.get_array().min(), "the best are not clipped"
    np.testing.assert_array_equal(mesh.get_array(), scan.peak_rope_force.transpose("rope_length", "stiffness"))
    figure = designs.convergence(found)
    assert all(tick == int(tick) for tick in figure.axes[0].get_xticks()) and not figure.axes[0].texts
    assert re.match(r"the best of all, or within \S+ N of it", figure.legends[0].get_texts()[0].get_text())
    single = scan.isel(stiffness=[1]).peak_rope_force
    drawn = designs.paths(found, scan=single).axes[0].collections
    (mesh,) = (one for one in drawn if isinstance(one, QuadMesh))
    assert np.ptp(np.reshape(mesh.get_coordinates(), (-1, 2)), axis=0).min() > 0.0, (
        "a single value has a cell with a width"
    )
    with pytest.raises(ValueError, match="scan must be over two of stiffness, rope_length, got one over rope_length"):
        designs.paths(found, scan=scan.clearance.isel(stiffness=0))
    plt.close("all")


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_excursion_does_not_take_the_range_of_the_colours(sign):
    """A fifth of the points are far worse than the others."""
    values = sign * np.concatenate([np.linspace(9.0, 10.0, 80), np.full(20, -1e3)])
    (limit,) = designs._of_the_better(values, 10.0 * sign).values()
    assert 8.0 < sign * limit < 9.0, "about the range of the others"
    assert designs._of_the_better(np.full(3, 2.0), 2.0) == {"vmin": 2.0}


@pytest.mark.slow
def test_a_start_that_failed_is_a_cross_alone():
    found = optimize(Bungee(), minimize="peak_rope_force", over=BOX, starts=2, iterations=2, **RUN)
    history = found.history.copy(deep=True)
    history["objective"][1], history["status"][1, 0], history["status"][1, 1:] = np.nan, 4, -1
    ax = designs.paths(dataclasses.replace(found, history=history)).axes[0]
    drawn = {line.get_label(): len(line.get_xdata()) for line in ax.lines}
    assert drawn["start"] == drawn["end"] == 1 and drawn["failed"] == 1
    reason = dataclasses.replace(found, gradient="through the whole run, since no gait was found")
    assert designs.convergence(reason).axes[0].get_title(loc="left").endswith("gradient through the whole run")
    assert len(ax.get_legend().get_texts()) == 4
    above = {line.get_label(): line.get_zorder() for line in ax.lines}
    assert above["end"] > above["best"], "not hidden by the larger star"
    plt.close("all")


def test_the_star_of_a_start_is_where_it_ended_not_its_best():
    column = lambda rows: (("start", "iteration"), np.array(rows))
    history = {"objective": column([[3.0, 1.0, 2.5], [2.0, 2.0, 2.0]]), "status": column([[0, 0, 0], [0, -1, -1]])}
    history = xr.Dataset(history | {"allowed": column([[1, 1, 1], [1, 1, 1]])})
    found = Optimum(Bungee(), {}, {"stiffness": 1.0}, 1.0, [], history)
    drawn = lambda: [x.get_ydata() for x in designs.convergence(found).axes[0].lines if x.get_marker() == "*"]
    stars = lambda: [float(y[0]) for y in drawn() if len(y)]  # that of the legend has none
    assert stars() == [1.5, 1.0]
    history["allowed"][0, -1] = 0
    assert stars() == [1.0]
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("names", [["stiffness"], list(BOX)])
def test_a_long_objective_fits_its_axis(names):
    found = optimize(Bungee(), maximize="clearance", over={n: BOX[n] for n in names}, starts=1, iterations=1, **RUN)
    figure = designs.paths(found)
    figure.canvas.draw()
    label = figure.axes[len(names) - 1].yaxis.label  # of the colour bar for two parameters
    box = label.get_window_extent()
    assert label.get_text().endswith("(m)") and box.y0 >= 0.0 and box.y1 <= figure.bbox.height
    assert figure.axes[0].get_legend().legend_handles[-1].get_markersize() == 10, "the star lies on no words"
    plt.close("all")


@pytest.mark.slow
def test_points_that_may_not_be_the_result_are_ringed():
    found = optimize(Bungee(), minimize="peak_rope_force", over=BOX, subject_to=["clearance >= 0"], starts=1, **RUN)
    history = found.history
    outside = ((history.status == 0) & (history.allowed == 0)).values.sum()
    lines = lambda found: {line.get_label(): len(line.get_xdata()) for line in designs.paths(found).axes[0].lines}
    drawn = lines(found)
    assert outside > 0 and drawn["unstable, or outside limits"] == outside and "failed" not in drawn
    early = history.assign(status=history.status.where(history.status != 0, FIRST_TERMINATION))
    assert lines(dataclasses.replace(found, history=early)) == drawn
    plt.close("all")


@pytest.mark.slow
def test_tolerances_are_drawn_within_the_bounds_with_the_unit_of_the_loss():
    found = optimize(Bungee(), minimize="peak_rope_force", over=BOX, starts=1, iterations=2, **RUN)
    room, ridge = (
        {"stiffness": (1.0, 2.5), "rope_length": (0.3, 0.6)},
        {"stiffness": (5.0, 10.0), "rope_length": (3, 6)},
    )
    stops = dict.fromkeys(room, ("bound", "objective"))
    local = dataclasses.replace(found.local, room=room, stops=stops, ridge=ridge, ridge_unknown="", loss=1.5)
    ax = designs.room(dataclasses.replace(found, local=local)).axes[0]
    assert [bar.get_bbox().intervalx.round(6).tolist() for bar in ax.patches] == [[-4.0, 10.0], [-2.5, 5.0]]
    assert [text.get_text() for text in ax.texts] == ["a fall ends at its bound; a rise with this loss"] * 2
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == [
        "if the others follow",
        "this parameter alone",
    ]
    lines = [line.get_xdata().round(6).tolist() for line in ax.lines if line.get_marker() == "|"]
    assert lines == [[-20.0, 40.0], [-25.0, 50.0]] and "a loss of 1.5 N, within" in ax.get_title(loc="left")
    plt.close("all")


def test_where_the_ridge_is_unknown_there_is_no_line_and_the_legend_says_why():
    found = optimize(Bungee(), minimize="peak_rope_force", over=BOX, starts=1, iterations=2, **RUN)
    ridge = dict.fromkeys(BOX, (np.nan, np.nan))
    local = dataclasses.replace(found.local, ridge=ridge, ridge_unknown="the gradient is wrong")
    figure = designs.room(dataclasses.replace(found, local=local))
    texts = {text.get_text() for text in figure.legends[0].get_texts()}
    assert texts == {"if the others follow: unknown, because the gradient is wrong", "this parameter alone"}
    assert not [line for line in figure.axes[0].lines if line.get_marker() == "|"]
    plt.close("all")


def test_a_long_title_of_the_convergence_is_wrapped():
    found = optimize(Bungee(), minimize="peak_rope_force", over=BOX, starts=1, iterations=1, **RUN)
    long = dataclasses.replace(found, gradient="through the periodic gait " * 5)
    assert max(map(len, designs.convergence(long).axes[0].get_title(loc="left").split("\n"))) <= designs.TITLE
    plt.close("all")


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        ("failed: fell", "where runs fail (fell)"),
        ("clearance >= 0", "at the limit clearance >= 0"),
        ("not searched farther", "unknown (not searched farther)"),
    ],
)
def test_what_ends_a_tolerance_is_in_words(stop, words):
    assert designs._stop(stop) == words


def test_a_run_that_ended_before_what_is_drawn_is_named_instead_of_its_curve():
    run = lambda h, text: xr.Dataset({"h": ("time", h, {"units": "m"})}, {"time": [0.0, 1.0]}, {"status_text": text})
    (ax,) = designs.before_and_after(
        run([1.0, 2.0], "completed"), run([np.nan] * 2, "ended early: fell (far)"), ["h"]
    ).axes
    assert [one.get_text() for one in ax.get_legend().get_texts()] == ["before", "after: ended early: fell"]
    assert not ax.texts, "which would lie on the curves"


def test_a_reference_is_drawn_once_from_the_run_that_is_longer():
    attrs = {"units": "deg", "long_name": "measured knee", "reference_of": "knee"}
    run = lambda x: xr.Dataset(
        {"knee": ("time", x, {"units": "deg"}), "sound": ("time", np.array(x) * 0.0 + 1.0, attrs)}, {"time": [0.0, 1.0]}
    )
    whole, cut, gone = run([1.0, 2.0]), run([1.0, np.nan]), run([np.nan, np.nan])
    for before, after in ((whole, cut), (cut, whole), (whole, gone)):
        (ax,) = designs.before_and_after(before, after, ["knee", "sound"]).axes
        (line,) = (one for one in ax.lines if one.get_label() == "measured knee")
        assert line.get_color() == "black" and line.get_ydata().tolist() == [1.0, 1.0]
        assert not any("measured knee, " in text.get_text() for text in ax.get_legend().get_texts())
    plt.close("all")


def test_before_and_after_are_in_degrees():
    run = lambda x: xr.Dataset({"knee": ("time", x, {"units": "rad"})}, {"time": [0.0, 1.0]})
    ax = designs.before_and_after(run([0.0, np.pi]), run([0.0, 2 * np.pi]), ["knee"]).axes[0]
    assert ax.get_ylabel() == "knee (deg)" and [line.get_ydata()[-1] for line in ax.lines] == [180.0, 360.0]
    plt.close("all")


def test_curves_of_one_unit_share_a_panel_that_names_them_all():
    run = xr.Dataset(
        {n: ("time", [0.0, 1.0], {"units": "N", "long_name": f"{n} rope"}) for n in "ab"}, {"time": [0, 1]}
    )
    (ax,) = designs.before_and_after(run, run, ["a", "b"]).axes
    assert ax.get_ylabel() == "a rope, b rope (N)"
    plt.close("all")


def test_a_title_is_above_the_curves_which_have_words():
    words = {"knee": "knee flexion", "sound": "measured knee"}
    attrs = {n: {"units": "deg", "long_name": text} for n, text in words.items()}
    attrs["sound"]["reference_of"] = "knee"
    run = lambda x: xr.Dataset(
        {n: ("time", [0.0, y], attrs[n]) for n, y in (("knee", x), ("sound", 1.0))}, {"time": [0, 1]}
    )
    figure = designs.before_and_after(run(1.0), run(2.0), ["knee", "sound"], "subject = anna")
    (ax,) = figure.axes
    legend = ax.get_legend()
    assert legend.get_title().get_text() == "subject = anna" and ax.get_ylabel() == "knee flexion (deg)"
    assert [x.get_text() for x in legend.get_texts()] == [
        "knee flexion, before",
        "knee flexion, after",
        "measured knee",
    ]
    plt.close("all")


def test_the_best_design_is_a_star_among_the_slopes():
    figure = designs.slopes(["a"], np.ones((3, 1)), np.ones((3, 1)), "N", last_is_best=True)
    assert {line.get_label(): len(line.get_xdata()) for line in figure.axes[0].lines[1:]} == {"start": 2, "best": 1}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["start", "best"]
    plt.close("all")


def test_slopes_of_many_parameters_are_in_rows():
    figure = designs.slopes(list("abcd"), np.ones((3, 4)), np.ones((3, 4)), "N")
    assert figure.axes[0].get_ylabel() == "slope of the search\n(N per width of the bounds)"
    assert [ax.get_visible() for ax in figure.axes] == [True] * 4 + [False] * 2
    assert [ax.get_title() for ax in figure.axes] == [*"abcd", "", ""]
    plt.close("all")
