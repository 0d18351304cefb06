"""What pictures say of runs: several by name, values of members, early ends, and what cannot be drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from jaxgait.plot.histories import picture
from jaxgait.plot.runs import ending, member_names
from jaxgait.plot.strides import over_stride
from jaxgait.plot.style import BLUE, ORANGE

FELL = {"status": 10, "status_text": "ended early: fell (a leg left the ground)", "t_end_s": 1.8}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def run(factor=1.0, samples=4, measured=None):
    time = np.linspace(0.0, 3.0, samples)
    data = {n: ("time", factor * time, {"units": "m", "long_name": f"{n} of it"}) for n in ("x", "y")}
    if measured is not None:
        data["sound"] = ("time", measured * time, {"reference_of": "x", "long_name": "measured x"})
    return xr.Dataset(data, {"time": time})


def scan(**coords):
    data = xr.concat([run(f) for f in (1.0, 2.0)], "member").assign(status=("member", [0, 10]))
    return data.assign_coords(coords).assign_attrs(status_legend='{"10": "ended early: fell"}')


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def title(figure):
    return figure._suptitle.get_text() if figure._suptitle else ""


def test_a_run_that_ended_early_says_so_in_every_panel():
    figure = picture(run().assign_attrs(FELL))
    assert legend(figure) == ["simulated", "ended early: fell, 1.8 s into the run"]
    assert [ax.lines[-1].get_xdata()[0] for ax in figure.axes] == [1.8, 1.8]
    assert not picture(run().assign_attrs(FELL | {"status": 0})).legends
    member = scan(k=("member", [1.0, 2e4], {"units": "N/m"})).assign(t_end=("member", [3.0, 1.5])).isel(member=1)
    figure = picture(member, ["x"])
    assert title(figure) == "k = 20000 N/m" and "ended early: fell, 1.5 s into the run" in legend(figure)
    assert ending(member.drop_vars("t_end")) == "ended early: fell"


def test_a_person_selected_from_a_scan_is_named_without_the_numbers_that_follow():
    mass = ("member", [60.0, 80.0], {"units": "kg", "of": "subject"})
    members = scan(k=("member", [1.0, 2e4], {"units": "N/m"}), subject=("member", ["anna", "ben"]), mass=mass)
    assert title(picture(members.isel(member=0), ["x"])) == "k = 1 N/m; subject = anna"
    assert title(picture(members.drop_vars("subject").isel(member=0), ["x"])) == "k = 1 N/m; mass = 60 kg"


def test_several_runs_are_lines_with_their_names():
    runs = {"soft": run(1.0, measured=1.0), "stiff": run(2.0, samples=7, measured=1.0).assign_attrs(FELL)}
    figure = picture(runs, ["x"])
    assert legend(figure) == ["soft", "stiff", "measured x", "stiff: ended early: fell, 1.8 s into the run"]
    soft, stiff, measured, end = figure.axes[0].lines
    assert (soft.get_color(), stiff.get_color(), measured.get_color(), end.get_color()) == (
        BLUE,
        ORANGE,
        "black",
        ORANGE,
    )
    np.testing.assert_array_equal(stiff.get_ydata(), 2.0 * np.linspace(0.0, 3.0, 7))
    figure = picture({"a": run(measured=1.0), "b": run(measured=2.0)})
    assert [line.get_color() for line in figure.axes[0].lines[2:4]] == [BLUE, ORANGE], "whose references differ"
    assert len(figure.axes) == 2
    member = scan(k=("member", [1.0, 2e4], {"units": "N/m"})).isel(member=0)
    assert title(picture({"one": member, "other": run()}, ["x"])) == "one: k = 1 N/m"


def test_lines_of_members_are_named_by_what_differs_and_how_they_ended():
    k, c = ("member", [1.4e4, 3e4], {"units": "N/m"}), ("member", [7e2, 7e2], {"units": "N s/m"})
    zipped = scan(member=[0, 1], k=k, c=c)
    figure = picture(zipped, ["x"])
    assert legend(figure) == ["k = 14000 N/m", "k = 30000 N/m (ended early: fell)"]
    assert title(figure) == "1 of 2 members did not complete"
    assert legend(over_stride_of(zipped)) == ["k = 14000 N/m"]
    many = {name: ("member", [0.0, 1.0]) for name in "abcd"}
    assert member_names(scan(member=[0, 1], **many).x, ["member"]) == ["member = 0", "member = 1"]
    assert member_names(scan().x, ["member"]) == ["member = 0", "member = 1"]
    assert member_names(scan(member=["anna", "ben"]).x, ["member"]) == ["member = anna", "member = ben"]


def over_stride_of(data):
    counted = {"strides": 1, "samples_per_stride": 3}
    return over_stride({"k = 14000 N/m": data.isel(member=0, drop=True).drop_vars("status").assign_attrs(counted)}, "x")


def test_a_picture_says_if_it_shows_the_first_few_variables_and_whose():
    data = run().assign({f"z{i}": ("time", np.zeros(4)) for i in range(9)})
    assert title(picture(data)) == "the first 8 of 11 variables (others by name)"
    assert not title(picture(data, ["x", "z1"])) and not title(picture(run()))
    grid = xr.Dataset({"rho": (("k", "c"), np.ones((2, 3))), "status": (("k", "c"), np.zeros((2, 3), int))})
    grid = grid.assign_coords(k=("k", [1.0, 2.0], {"units": "N/m"}), c=[1.0, 2.0, 3.0])
    assert title(picture(grid.sel(k=1.9, method="nearest"))) == "members with k = 2 N/m"
    assert title(picture(grid.isel(k=[1]))) == "members with k = 2 N/m"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": run(), "b": scan()}, "drawn together if each is one run over time, and 'b' is not"),
        ({f"{i}": run() for i in range(22)}, "draws 1 to 21 results by name, .*, got 22"),
    ],
)
def test_what_cannot_be_drawn_together_is_said(data, message):
    with pytest.raises(ValueError, match=message):
        picture(data)
    with pytest.raises(ValueError, match=r"several runs are drawn over time, or over=\['stride'\], not over k"):
        picture({"a": run()}, (), ["k"])
