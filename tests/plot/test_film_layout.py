"""The figure of a film: runs side by side on one scale, captions that do not cover each other, legible text."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest

import jaxgait
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.walker.rigid import RollingWalker
from jaxgait.plot import film_layout, timeline
from jaxgait.plot.film import WIDTH
from jaxgait.plot.scene import Body, Curve, ForceArrow, Ground, Scene, View, scene
from jaxgait.plot.style import PALETTE


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def jump():
    return jaxgait.simulate(Bungee(), duration=6.0, samples=60)


def view_axes(figure):
    return [ax for ax in figure.axes if ax.get_aspect() == 1.0]


def walk(span=(2.0, 1.5), curves=(), seconds=10.0, forces=(), views=None):
    time = np.linspace(0.0, seconds, 1001)
    own = views or (View(np.zeros((1, 2)), span),)
    return Scene(time, (), own, Ground(), forces=forces, curves=curves, readouts={"height": (80.0 - time, "m")})


@pytest.mark.slow
def test_runs_of_one_mechanism_have_one_scale():
    """A deeper fall needs a larger view, and a heavier jumper a larger scale of forces."""
    runs = [jaxgait.simulate(Bungee(mass=mass), duration=10.0, samples=50) for mass in (50.0, 90.0)]
    alone = [scene(run) for run in runs]
    spans, scales = ({one.views[0].span for one in alone}, {film_layout.arrow_scale(one) for one in alone})
    assert len(spans) + len(scales) > 2
    moving = jaxgait.animate(dict(zip((50.0, 90.0), runs, strict=True)), fps=5)
    figure = moving.figure
    first, second = view_axes(figure)
    assert first.get_xlim() == second.get_xlim() and first.get_ylim() == second.get_ylim()
    assert [ax.get_title(loc="left").partition("\n")[0] for ax in (first, second)] == ["50", "90"]
    assert len(figure.legends) == 1 and "force (" in figure.legends[0].get_texts()[-1].get_text()
    panels = [ax for ax in figure.axes if ax.get_ylabel()]
    assert {ax.get_ylabel() for ax in panels} == {"height (m)", "rope force (N)"}
    assert len({(ax.get_ylabel(), ax.get_ylim()) for ax in panels}) == 2, "one for each pair"


@pytest.mark.parametrize("count", [2, 3, 4, 6, 9])
def test_captions_of_many_runs_do_not_cover_each_other(count):
    titles = ["a title that is a good deal longer than its run is wide", *map(str, range(1, count))]
    curves = (Curve("angle", "deg", {"leg": np.sin(np.linspace(0.0, 6.0, 1001))}),)
    figure, stages = film_layout.laid_out([(t, walk((0.8, 1.0), curves)) for t in titles], True, pace=10.0)
    for one in stages:
        one.show(10.0)
    figure.draw_without_rendering()
    paces = [text for text in figure.texts if text.get_text() == "10 x real time"]
    captions = [ax._left_title.get_window_extent() for ax in view_axes(figure)]
    boxes = [*captions, paces[0].get_window_extent(), *(ax.get_tightbbox() for ax in figure.axes if ax.get_ylabel())]
    assert len(paces) == 1 and len(captions) == count
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)
    assert len({round(ax.get_window_extent().y0) for ax in view_axes(figure)}) == -(-count // 4)


@pytest.mark.parametrize(
    ("span", "panels", "beside"),
    [
        ((1.0, 2.0), 1, True),
        ((1.0, 1.0), 4, True),
        ((1.25, 1.0), 1, True),
        ((1.0, 2.0), 5, False),
        ((1.4, 1.0), 1, False),
    ],
)
def test_curves_are_beside_narrow_views_and_keep_apart(span, panels, beside):
    curves = tuple(Curve(f"joint angles {i}", "deg", {s: np.sin(np.linspace(0.0, 6.0, 1001) + i) for s in "ab"})
                   for i in range(panels))  # fmt: skip
    figure, _ = film_layout.laid_out([("", walk(span, curves))], True, pace=1.0)
    figure.draw_without_rendering()
    (view,), boxes = view_axes(figure), [ax.get_tightbbox() for ax in figure.axes if ax.get_ylabel()]
    assert len(boxes) == panels and all((box.x0 > view.bbox.x1) == beside for box in boxes)
    assert not any(a.overlaps(b) for a, b in itertools.combinations([view.bbox, *boxes], 2))
    assert all(box.y0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert figure.get_figheight() < 0.65 * figure.get_figwidth() or not beside, "the shape of a slide"


@pytest.mark.parametrize("span", [(1.0, 3.0), (1.0, 1.0), (5.0, 1.0), (9.0, 1.0)])
def test_text_is_legible_in_a_file(span):
    figure, _ = film_layout.laid_out([("", walk(span))], True, pace=1.0)
    assert 7.0 / 72.0 * WIDTH / figure.get_figwidth() > 10.0, "px, of the smallest text"
    assert figure.axes[0].get_window_extent().width / figure.axes[0].get_window_extent().height == pytest.approx(
        span[0] / span[1]
    )


def test_of_many_cycles_a_window_moves_with_the_film():
    angle = lambda cycles: (Curve("angle", "deg", {"leg": np.sin(np.linspace(0.0, 2 * np.pi * cycles, 1001))}),)
    for cycles, seconds in ((12, 10.0), (40, 2.3)):
        figure, (one,) = film_layout.laid_out([("", walk(curves=angle(cycles)))], True, pace=1.0)
        seen = []
        for elapsed in (0.0, 5.0, 10.0):
            one.show(elapsed)
            low, high = figure.axes[1].get_xlim()
            assert low <= elapsed <= high and high - low == pytest.approx(seconds, rel=0.2)
            seen.append((low, high))
        assert seen[0][0] == 0.0 and seen[-1][1] == pytest.approx(10.0)
        assert one.panels[0].scrolls == (cycles == 40)


def test_panels_that_scroll_are_drawn_in_every_frame(jump, monkeypatch):
    assert len(jaxgait.animate(jump, fps=5)._moving) == 2, "otherwise only their cursors"
    monkeypatch.setattr(timeline, "_window", lambda shown, share: 2.0)
    assert not jaxgait.animate(jump, fps=5)._moving


def test_a_curve_on_another_one_is_dashed():
    load = np.linspace(0.0, 1.0, 1001)
    curves = (Curve("load", "N", {"left": load, "right": load + 1e-6, "other": load**2}),)
    figure, _ = film_layout.laid_out([("", walk(curves=curves))], True, pace=1.0)
    assert [line.get_linestyle() for line in figure.axes[1].lines[:3]] == ["-", "--", "-"]


@pytest.mark.parametrize("bodies", [*range(1, len(PALETTE) + 1)])
def test_curves_of_one_panel_differ_however_many_bodies_have_colours(bodies):
    values = dict(zip(("total", "kinetic", "body 0"), np.random.default_rng(0).normal(size=(3, 1001)), strict=True))
    legend = {f"body {i}": colour for i, colour in enumerate(PALETTE[:bodies])}
    shown = walk(curves=(Curve("energy", "J", values),))._replace(legend=legend)
    figure, _ = film_layout.laid_out([("", shown)], True, pace=1.0)
    colours = [line.get_color() for line in figure.axes[1].lines[:3]]
    assert len({*colours}) == 3 and colours[2] == PALETTE[0]
    free = PALETTE[bodies:]
    assert {*colours[:2]} <= {*free} or len(free) < 2, "no other body's as long as there are others"


def test_a_run_without_forces_has_no_scale_of_them(jump):
    nothing = (ForceArrow(np.zeros((1, 2)), np.zeros((1001, 2))),)
    curves = (Curve("rope", "N", {"tension": np.zeros(1001)}),)
    figure, _ = film_layout.laid_out([("", walk(curves=curves, forces=nothing))], True, pace=1.0)
    assert not figure.legends and figure.axes[1].get_ylim() == (-1.0, 1.0)


def test_titles_of_views_and_scale_bars_lie_on_no_shape():
    man = Body(np.array([[[-9.0, 0.05], [9.0, 0.05], [9.0, 9.0], [-9.0, 9.0]]]))  # fills the views above the ground
    near = View(np.array([[0.0, 0.6]]), (1.0, 1.4), "sole")
    shown = walk(views=(near._replace(title=""), near))._replace(shapes=(man,))
    figure, _ = film_layout.laid_out([("", shown)], True, pace=1.0)
    figure.draw_without_rendering()
    first, second = view_axes(figure)
    (title,) = (text for text in second.texts if text.get_text() == "sole")
    assert title.get_window_extent().y0 >= second.get_window_extent().y1
    assert not title.get_window_extent().overlaps(first._left_title.get_window_extent())
    ground = first.transData.transform((0.0, 0.0))[1]
    assert all(text.get_window_extent().y1 < ground for text in first.texts)
    assert all(text.get_path_effects() for text in second.texts if text.get_text() != "sole"), (
        "legible on what is behind"
    )


def test_long_labels_of_curves_fit_their_panels():
    named = ("velocity of the upper body, forward", "m/s"), ("height", "m"), ("acceleration", "m/s^2")
    curves = tuple(Curve(name, unit, {"own": np.linspace(-2.5, 2.5, 1001)}) for name, unit in named)
    figure, _ = film_layout.laid_out([("", walk(curves=curves))], True, pace=1.0)
    figure.draw_without_rendering()
    labels = [ax.yaxis.label.get_window_extent() for ax in figure.axes[1:]]
    assert all(one.x0 >= 0.0 for one in labels)
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(labels))


def test_measured_curves_are_dashed():
    values = {"prosthesis": np.sin(np.linspace(0.0, 6.0, 1001)), "sound": np.cos(np.linspace(0.0, 6.0, 1001))}
    curve = Curve("knee", "deg", values, measured=("sound",))
    figure, _ = film_layout.laid_out([("", walk(curves=(curve,)))], True, pace=1.0)
    (panel,) = (ax for ax in figure.axes if ax.get_ylabel() == "knee (deg)")
    assert {line.get_label(): line.get_linestyle() for line in panel.lines[:2]} == {"prosthesis": "-", "sound": "--"}


def test_curves_are_not_joined_where_they_jump():
    time = np.linspace(0.0, 10.0, 1001)
    saw, smooth = (time + 1.0) % 4.0, np.sin(time)
    still = walk(curves=(Curve("angle", "deg", {"saw": saw, "smooth": smooth}),))._replace(
        instants=np.array([2.997, 6.997])
    )
    figure, _ = film_layout.laid_out([("", still)], True, pace=1.0)
    drawn, other = (line.get_ydata() for line in figure.axes[1].lines[:2])
    assert np.isnan(drawn).sum() == 2 and np.nanmax(np.abs(np.diff(drawn))) < 0.02
    assert np.nanmax(drawn) == pytest.approx(3.997, abs=1e-3) and np.nanmin(drawn[300:305]) == pytest.approx(
        -0.003, abs=1e-3
    )
    assert not np.isnan(other).any()


def test_curves_of_whole_numbers_have_no_ticks_between_them():
    phase = {"phase": np.arange(1001) // 500 % 2.0}
    curves = Curve("phase", "1", phase), Curve("load", "N", phase)
    figure, _ = film_layout.laid_out([("", walk(curves=curves))], True, pace=1.0)
    panels = {ax.get_ylabel(): ax for ax in figure.axes if ax.get_ylabel()}
    assert {name: bool(np.any(ax.get_yticks() % 1)) for name, ax in panels.items()} == {
        "phase": False,
        "load (N)": True,
    }


@pytest.mark.slow
def test_a_scene_knows_when_its_run_jumps():
    run = jaxgait.simulate(RollingWalker(), duration=1.0, samples=100)
    np.testing.assert_allclose(scene(run).instants, run.event_time)
    assert scene(jaxgait.simulate(Bungee(), duration=1.0, samples=10)).instants.size == 0


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_marks_stay_on_the_ground_while_the_view_moves(slope):
    x = np.linspace(0.0, 10.0, 1001)
    moving = View(np.stack([x, np.full_like(x, 0.5)], axis=-1), (2.0, 1.5))
    figure, (one,) = film_layout.laid_out(
        [("", walk(views=(moving,))._replace(ground=Ground(0.1, slope)))], True, pace=1.0
    )
    for elapsed in (0.0, 3.3, 10.0):
        one.show(elapsed)
        (ax,), marks = view_axes(figure), np.asarray(one.views[0].marks.get_xydata())[::3]
        low, high = ax.get_xlim()
        assert np.allclose(marks[:, 0] / 0.2, np.round(marks[:, 0] / 0.2)) and len(marks) in (10, 11)
        assert np.allclose(marks[:, 1], 0.1 - np.tan(slope) * marks[:, 0]) and (low <= marks[:, 0]).all()
        assert (marks[:, 0] <= high).all()
    still = film_layout.laid_out([("", walk())], True, pace=1.0)[1][0]
    assert len(np.asarray(still.views[0].marks.get_xdata())) == 0


def test_curves_keep_a_part_of_their_panel_below_a_long_legend():
    values = {f"velocity of the long body {i}": np.linspace(0.0, 1.0, 1001) for i in range(7)}
    figure, _ = film_layout.laid_out([("", walk(curves=(Curve("velocity", "m/s", values),)))] * 3, True, pace=1.0)
    heights = [ax.get_ylim() for ax in figure.axes if ax.get_legend()]
    assert len(heights) == 3 and all(high > 1.0 and high - low < 1.1 / 0.4 + 1e-9 for low, high in heights)
