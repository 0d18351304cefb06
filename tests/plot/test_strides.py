"""Curves over the stride: which strides and members count, their mean and spread, and what was measured."""

import warnings

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from jaxgait.analysis.gait import COMPARED_STRIDES, stride_table, subharmonic_order
from jaxgait.plot import strides
from jaxgait.plot.histories import picture
from jaxgait.plot.strides import FEWEST, order, over_stride, stride_time
from jaxgait.plot.style import save

COUNTED = {"strides": 3, "samples_per_stride": 4}
SHAPE = np.array([0.0, 1.0, 2.0, 1.0])


@pytest.fixture(autouse=True)
def closed(monkeypatch):
    monkeypatch.setattr(strides, "FEWEST", 4)
    yield
    plt.close("all")


def run(*heights, measured=None):
    """Of strides of 4 samples, each of them with its height, which lasts 1 s."""
    curve = np.append(np.concatenate([h * SHAPE for h in heights]), 0.0)
    found = xr.Dataset({"knee": ("time", curve, {"units": "rad", "long_name": "knee flexion"})}, attrs=COUNTED)
    if measured is not None:
        attrs = {"units": "rad", "long_name": "measured knee", "reference_of": "knee"}
        found["sound"] = ("time", measured * np.append(np.tile(SHAPE, 3), 0.0), attrs)
    return found.assign_coords(time=np.linspace(0.0, 3.0, 13))


def scan(*members, status=None):
    """An ensemble, whose members have times of their own: the n-th one's strides last n seconds."""
    data = xr.concat([run(*heights, measured=1.0) for heights in members], "member").drop_vars("time")
    times = np.outer(np.arange(len(members)) + 1.0, np.linspace(0.0, 3.0, 13))
    data = data.rename(time="instant").assign(time=(("member", "instant"), times, {"units": "s", "long_name": "time"}))
    return data[["time", "knee", "sound"]].assign(status=("member", status or [0] * len(members)))


def band(ax, percent):
    """Lower and upper end of the band there."""
    edge = ax.collections[0].get_paths()[0].vertices
    there = edge[np.isclose(edge[:, 0], percent), 1]
    return [there.min(), there.max()]


def text(figure):
    legend = figure.legends[0]
    return [one.get_text() for one in legend.get_texts()], legend.get_title().get_text()


def test_strides_of_a_run_are_a_band_in_degrees_next_to_the_measured_curve():
    figure = over_stride(run(1.0, 2.0, 3.0, measured=1.5), last=3)
    (ax,) = figure.axes
    middle, dashed = ax.lines
    np.testing.assert_allclose(middle.get_xydata()[:, 0], [0, 25, 50, 75, 100])
    closed = np.degrees(np.append(SHAPE, 0.0))
    np.testing.assert_allclose(middle.get_ydata(), 2.0 * closed)
    np.testing.assert_allclose(dashed.get_ydata(), 1.5 * closed)
    np.testing.assert_allclose(band(ax, 50.0), [closed[2], 3.0 * closed[2]])  # the standard deviation is 1
    assert text(figure) == (["mean of 3 strides", "± 1 SD", "measured knee"], "")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("stride (%)", "knee flexion (deg)")


def test_the_first_two_strides_of_a_run_count_only_without_others():
    whole = run(1.0, 2.0, 3.0)
    shorter = whole.assign_attrs(t_end_s=2.5)
    shortest = whole.assign_attrs(t_end_s=1.0)
    for data, height, note in (
        (whole, 3.0, "stride 3 of 3"),
        (shorter, 2.0, "stride 2 of 3; the motion is still leaving its start; 1 of 2 strides left out: not completed"),
        (shortest, 1.0, "stride 1 of 3; the motion is still leaving its start; 2 of 3 strides left out: not completed"),
    ):
        figure = over_stride(data)
        np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata().max(), np.degrees(2.0 * height))
        assert text(figure)[1].replace("\n", " ") == note


def test_a_flag_is_drawn_as_0_and_1():
    data = run(1.0, 1.0, 1.0)
    ax = over_stride(data.assign(contact=("time", data.knee.values > 0.5)), "contact").axes[0]
    assert ax.lines[0].get_ydata().tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_bands_of_forces_that_only_push_or_only_pull_end_at_zero():
    (ax,) = over_stride(run(0.0, 0.0, 3.0), last=3).axes
    assert band(ax, 50.0)[0] == 0.0
    (ax,) = over_stride(run(0.0, 0.0, -3.0), last=3).axes
    assert band(ax, 50.0)[-1] == 0.0
    (ax,) = over_stride(run(-1.0, 0.0, 3.0), last=3).axes
    assert band(ax, 50.0)[0] < 0.0


def test_members_that_did_not_complete_and_their_number_are_left_out():
    figure = over_stride(scan((0, 0, 1), (0, 0, 3), (0, 9, 9), status=[0, 0, 10]))
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata().max(), np.degrees(4.0))
    assert text(figure)[0][0] == "mean of 2 members"
    assert text(figure)[1] == "last stride of each; 1 of 3 members left out: not completed"
    with pytest.raises(ValueError, match="no curves of 'knee': none of 2 members completed"):
        over_stride(scan((0, 0, 1), (0, 0, 3), status=[10, 10]))


def test_a_member_counts_with_the_mean_of_its_last_strides():
    figure = over_stride(scan((9, 1, 3), (9, 3, 5)), last=2, spread=np.array([0, 100]))
    ax = figure.axes[0]
    np.testing.assert_allclose(ax.lines[0].get_ydata().max(), np.degrees(6.0))
    np.testing.assert_allclose(band(ax, 50.0), np.degrees([4.0, 8.0]))
    names, note = text(figure)
    assert names[:2] == ["median of 2 members", "0 to 100 %"] and note == "mean of the last 2 strides of each"


def test_strides_that_a_run_did_not_finish_are_left_out():
    data = run(1.0, 2.0, 3.0).assign_attrs(t_end_s=1.4)
    data["knee"].values[6:] = np.nan
    figure = over_stride(data)
    assert text(figure)[0] == ["simulated"] and "2 of 3 strides left out: not\ncompleted" in text(figure)[1]
    assert len(figure.axes[0].lines) == 1 and not figure.axes[0].collections, "a single stride has no spread"


def test_every_stride_is_a_line_on_request():
    figure = over_stride(run(1.0, 2.0, 1.0), spread=None, last=3)
    assert len(figure.axes[0].lines) == 3 and text(figure)[0] == ["3 strides"]
    assert text(over_stride(run(1.0, 2.0, 1.0), last=2))[1] == "strides 2 to 3 of 3"


def test_references_of_several_people_have_a_band():
    data = xr.concat([run(1, 1, 1, measured=m) for m in (1.0, 2.0)], "subject").assign(status=("subject", [0, 0]))
    assert text(over_stride(data.isel(subject=0), last=3))[0] == ["mean of 3 strides", "± 1 SD", "measured knee"]
    figure = over_stride(data)
    assert text(figure)[0][-2:] == ["measured knee", "measured knee, ± 1 SD"]


def test_people_with_several_designs_are_drawn_apart():
    """A mean over both would be of no person and no design, and weigh what was measured by who completed."""
    of_one = lambda m, heights: xr.concat([run(h, h, h, measured=m) for h in heights], "k")
    data = xr.concat([of_one(1.0, (1.0, 2.0)), of_one(3.0, (3.0, 4.0))], "subject")
    data = data.assign_coords(subject=["anna", "ben"], mass=("subject", [60.0, 80.0]))
    data = data.assign(status=(("subject", "k"), [[0, 0], [0, 9]]))
    figure = over_stride(data)
    names, note = text(figure)
    assert names[0] == "anna (mean of 2)" and names[1].startswith("ben") and names[2].startswith("measured knee, each")
    middle = [line.get_ydata()[2] for line in figure.axes[0].lines[:2]]
    np.testing.assert_allclose(middle, np.degrees([3.0, 6.0]))
    assert "mass" not in note and "ben" in note


def test_a_picture_over_stride_is_that_of_the_curves(tmp_path):
    figure = picture(run(1.0, 2.0, 3.0, measured=1.0), ["knee"], ["stride"])
    assert figure.axes[0].get_xlabel() == "stride (%)"
    save(figure, tmp_path / "column.png", width_mm=85)
    with pytest.raises(ValueError, match=r"drawn over time, or over=\['stride'\], not over mass"):
        picture(run(1.0, 2.0, 3.0), ["knee"], ["mass"])


def test_members_with_times_of_their_own_are_drawn_over_the_stride():
    data = scan((0, 0, 1), (0, 0, 3))
    np.testing.assert_allclose(picture(data, "knee", "stride").axes[0].lines[0].get_ydata().max(), np.degrees(4.0))
    with pytest.raises(ValueError, match=r"times of their own: draw knee over the stride, over=\['stride'\]"):
        picture(data, ["knee"])
    panels = over_stride(data.drop_vars("sound")).axes
    assert [ax.get_ylabel() for ax in panels] == ["knee flexion (deg)"], "not the time"


def test_what_has_no_value_in_a_part_of_the_stride_or_anywhere_is_no_early_end():
    data = run(1.0, 2.0, 3.0).assign_attrs(t_end_s=3.0)
    swing, nowhere = np.where(SHAPE > 1.0, np.nan, SHAPE), ("time", np.full(13, np.nan))
    data = data.assign(cop=("time", np.append(np.tile(swing, 3), 0.0)), none=nowhere)
    cop = over_stride(data).axes[1]
    np.testing.assert_allclose(cop.lines[0].get_ydata(), [0.0, 1.0, np.nan, 1.0, 0.0])
    assert text(over_stride(data, ["knee", "none"], last=3))[1] == "none has no value"
    with pytest.raises(ValueError, match="nothing to draw over the stride: none has no value in any stride"):
        over_stride(data, "none")
    members = scan((0, 0, 1), (0, 0, 3), (0, 9, 9), status=[0, 0, 10])
    members["knee"].values[1] = np.nan
    assert "not completed; knee has no value in 1\nof 3 members" in text(over_stride(members))[1]


FOLDED = {"status": 10, "status_text": "ended early: folded (at a dead point)", "t_end_s": 2.3}


def test_a_run_that_ended_early_says_how():
    data = run(1.0, 2.0, 3.0).assign_attrs(FOLDED)
    said = "stride 2 of 3; ended early: folded (at a dead point), 2.3 s into the run; the motion is still leaving its"
    assert text(over_stride(data))[1].replace("\n", " ") == f"{said} start"
    assert "leaving" not in text(over_stride(data, last=3))[1], "these strides were asked for"
    member = scan((1, 2, 3), (1, 2, 3), status=[10, 0]).assign_attrs(status_legend='{"10": "ended early: folded"}')
    member = member.assign(t_end=("member", [2.3, 6.0])).assign_coords(k=("member", [2e4, 3e4], {"units": "N/m"}))
    alone = text(over_stride(member.isel(member=0)))[1].replace("\n", " ")
    assert "k = 20000 N/m; stride 2 of 3; ended early: folded, 2.3 s into the run" in alone


def test_several_runs_have_a_colour_and_their_name():
    figure = over_stride({"soft": run(1, 2, 3, measured=1), 3e4: run(3, 4, 5, measured=1)}, last=2)
    soft, stiff, measured = figure.axes[0].lines
    assert text(figure) == (
        ["soft (mean of 2)", "30000 (mean of 2)", "measured knee"],
        "strides 2 to 3 of 3; bands: ± 1 SD",
    )
    assert soft.get_color() != stiff.get_color() and measured.get_color() == "black"
    np.testing.assert_allclose(stiff.get_ydata().max(), np.degrees(2.0 * 4.5))
    figure = over_stride({"one": run(1, 2, 3, measured=1), "other": run(1, 2, 3, measured=2).assign_attrs(FOLDED)})
    assert [line.get_color() for line in figure.axes[0].lines[2:4]] == [x.get_color() for x in figure.axes[0].lines[:2]]
    note = text(figure)[1].replace("\n", " ")
    assert note.startswith("one: stride 3 of 3; other: stride 2 of 3, ended early: folded") and "bands" not in note
    assert picture({"one": run(1, 2, 3)}, ["knee"], "stride").axes[0].lines[0].get_label() == "one"


def test_a_few_members_are_told_apart_on_request():
    data = scan((0, 0, 1), (0, 0, 3), (0, 0, 4), status=[0, 10, 0])
    data = data.assign_coords(member=[0, 1, 2], k=("member", [1e4, 2e4, 3e4], {"units": "N/m"}))
    figure = over_stride(data, spread=None)
    assert text(figure)[0][:2] == ["k = 10000 N/m", "k = 30000 N/m"]
    first, second, _ = figure.axes[0].lines
    assert first.get_color() != second.get_color()
    np.testing.assert_allclose(second.get_ydata().max(), np.degrees(8.0))


def test_strides_that_alternate_are_drawn_apart():
    counted = {"strides": 8, "samples_per_stride": 4}
    knee = np.append(np.concatenate([h * SHAPE for h in 4 * (1.0, 3.0)]), 0.0)
    time = np.linspace(0.0, 8.0, 33)
    data = xr.Dataset({"knee": ("time", knee, {"units": "rad"}), "hip": ("time", np.cos(2 * np.pi * time))})
    data = data.assign_coords(time=time).assign_attrs(counted)
    figure = over_stride(data, ["hip", "knee"])
    names, note = text(figure)
    assert names == ["strides 3, 5, 7 (mean of 3)", "strides 4, 6, 8 (mean of 3)"]
    assert "strides alternate between 2 gaits (order 2), drawn apart" in note.replace("\n", " ")
    assert [line.get_ydata().max() for line in figure.axes[1].lines] == pytest.approx(np.degrees([2.0, 6.0]))
    alone = text(over_stride(data, "knee", last=1))
    assert alone[0] == ["simulated"] and "(order 2), this is one of them" in alone[1].replace("\n", " ")
    settled = data.assign(knee=("time", np.append(np.tile(SHAPE, 8), 0.0)))
    members = xr.concat([data, settled, settled], "member").assign(status=("member", [0, 0, 0]))
    note = text(over_stride(members, "knee"))[1].replace("\n", " ")
    assert "strides of 1 of 3 members alternate (order 2 or more): their last stride is one of these" in note
    both = over_stride({"double": data, "single": settled}, "knee")
    assert text(both)[0] == ["double, strides 3, 5, 7 (mean of 3)", "double, strides 4, 6, 8 (mean of 3)",
                             "single (mean of 6)"]  # fmt: skip


def test_curves_of_a_drift_or_with_gaps_have_no_order():
    table = np.arange(6.0)[:, None] * np.ones(3)
    assert order(np.stack([table, np.where(table == 5.0, np.nan, 1.0)])).tolist() == [0, 0]
    assert order(np.ones((1, 1, 3))).tolist() == [0], "one stride repeats nothing"


@pytest.mark.slow
@pytest.mark.parametrize(("apart", "expected"), [(0.008, 1), (0.0092, 2)])  # rad: 0.46 and 0.53 deg
def test_a_picture_and_the_measure_of_one_knee_have_the_same_order(apart, expected):
    knee = np.append(np.concatenate([h * SHAPE for h in (1.0, 1.0 + apart) * 5]), 0.0) / SHAPE.max()
    data = xr.Dataset({"knee": ("time", knee, {"units": "rad"})}, {"time": np.linspace(0.0, 10.0, 41)})
    data = data.assign_attrs(strides=10, samples_per_stride=4)
    assert strides._orders(data, ["knee"]).tolist() == [expected]
    assert int(subharmonic_order(stride_table(jnp.asarray(knee), 4)[-COMPARED_STRIDES:])) == expected


def test_too_few_samples_are_said(monkeypatch):
    monkeypatch.setattr(strides, "FEWEST", FEWEST)
    assert "only 4 samples per stride: peaks may be cut off" in text(over_stride(run(1, 2, 3)))[1]


def test_a_narrow_picture_keeps_the_size_of_its_note(tmp_path):
    figure = over_stride(scan((0, 0, 1), (0, 0, 3), (0, 9, 9), status=[0, 0, 10]), last=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib's, of a legend that is wider than the figure
        save(figure, tmp_path / "column.png", width_mm=85)
    legend = figure.legends[0]
    assert legend.get_window_extent().width <= figure.bbox.width
    assert legend.get_title().get_fontsize() == legend.get_texts()[0].get_fontsize() <= 8


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (run(1, 1, 1).drop_attrs(), {}, "whose length is given in strides, such as simulate"),
        (run(1, 1, 1), {"variables": ["kne"]}, "no variable 'kne': did you mean 'knee'"),
        (
            run(1, 1, 1).expand_dims(leg=2).assign(t=("time", np.zeros(13))),
            {"variables": "knee"},
            "dimensions leg, time: what is drawn here is only over time",
        ),
        (run(1, 1, 1), {"last": 4}, "last must be at most 3, the number of strides, got 4"),
        ({"a": run(1, 1, 1), "b": run(1, 1, 1).drop_attrs()}, {}, "whose length is given in strides"),
        ({"a": run(1, 1, 1), "b": run(1, 1, 1).drop_vars("knee")}, {"variables": "knee"}, "no variable 'knee'"),
        ({}, {}, "over_stride draws 1 to 21 results by name, which colours tell apart, got 0"),
        (run(1, 1, 1), {"spread": np.array(5)}, r"two percentiles such as \(5, 95\), or None, got array\(5\)"),
        (run(1, 1, 1), {"spread": (95, 5)}, r"two percentiles such as \(5, 95\), or None, got \(95, 5\)"),
        (run(1, 1, 1).isel(time=slice(-5, None)), {}, "all 13 samples of 3 strides, and there are 5: give the whole"),
        (run(1, 1, 1).isel(time=slice(None, None, 2)), {}, "all 13 samples of 3 strides, and there are 7"),
    ],
)
def test_what_cannot_be_drawn_over_the_stride_is_said(data, options, message):
    with pytest.raises(ValueError, match=message):
        over_stride(data, **options)


def test_the_stride_time_of_a_run():
    assert stride_time(run(1, 1, 1)) == 1.0 and stride_time(run(1, 1, 1).drop_attrs()) is None
    thinned = run(1, 1, 1).isel(time=slice(None, None, 2))
    assert stride_time(thinned) is None and stride_time(thinned.assign_attrs(status=0, t_end_s=3.0)) == 1.0
