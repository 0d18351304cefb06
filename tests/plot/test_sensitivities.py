"""Pictures of sensitivities: which bars there are, in which order and colour, and the notes next to them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from jaxgait.plot.sensitivities import shares, tornado
from jaxgait.plot.style import BLUE, ORANGE


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def made(change, difference=None):
    """Of as many parameters a, b, ... and measures as there are."""
    change = np.array(change, float)
    measures, parameters = [f"m{i}" for i in range(len(change))], list("abcdefgh"[: change.shape[1]])
    differences = np.full(change.shape, np.nan) if difference is None else np.array(difference, float)
    both = ("measure", "parameter")
    data = {"change": (both, change), "difference": (both, differences), "result": ("measure", np.ones(len(change)))}
    units = ("measure", ["1", *["N"] * (len(change) - 1)])
    return xr.Dataset(data, {"measure": measures, "parameter": parameters, "measure_unit": units})


def lengths(ax):
    return [bar.get_width() for bar in ax.patches]


def test_one_panel_a_measure_in_the_order_of_the_largest_effect_in_any_panel():
    figure = tornado(
        made([[3.0, -2.0, 0.5], [0.0, 1.0, -9.0]], [[3.1, np.nan, np.nan], [0.0, 1.0, np.nan]]), searched="b"
    )
    first, second = figure.axes
    assert lengths(first) == [3.0, 0.5, -2.0] and lengths(second) == [0.0, -9.0, 1.0] and first.yaxis_inverted()
    assert [text.get_text() for text in first.get_yticklabels()] == ["a", "c", "b"]
    assert [to_hex(bar.get_facecolor()).upper() for bar in first.patches] == [BLUE, BLUE, ORANGE]
    assert first.get_xlabel() == "change for 1 %" and second.get_xlabel() == "change for 1 % (N)"
    assert first.get_title(loc="left") == "m0: 1" and second.get_title(loc="left") == "m1: 1 N"
    assert first.lines[0].get_xdata()[0] == 3.1
    assert len(figure.legends[0].get_texts()) == 3


def test_the_longest_of_any_panel_are_kept_and_what_has_no_bar_is_not():
    change = [[5.0, 4.0, 0.1, 0.0, np.nan], [0.0, 0.0, 7.0, 0.0, 0.0]]
    assert lengths(tornado(made(change), max_bars=2).axes[0]) == [5.0, 0.1]
    assert lengths(tornado(made(change), max_bars=9).axes[1]) == [0.0, 7.0, 0.0]
    assert lengths(tornado(made([[0.0, 0.0]])).axes[0]) == [0.0, 0.0]
    titles = [tornado(made(change), max_bars=n).get_suptitle() for n in (2, 9)]
    assert titles == ["2 of 5 parameters: the largest effects", "3 of 5 parameters: the others have no effect"]
    small = tornado(made([[2e-3, -1e-3], [2e-5, 1e-5]]))
    assert [ax.get_xlabel()[14:] for ax in small.axes] == [" ($10^{-3}$)", " ($10^{-5}$ N)"] and not small.legends


def test_an_infinite_change_is_named_and_hides_no_other():
    figure = tornado(made([[1.0, np.inf, 0.5], [-np.inf, 1e-5, 0.0]]))
    figure.draw_without_rendering()
    first, second = figure.axes
    assert sorted(text.get_text() for text in first.get_yticklabels()) == ["a", "b", "c"]
    assert [[text.get_text() for text in ax.texts] for ax in (first, second)] == [["∞"], ["−∞"]]
    np.testing.assert_array_equal(lengths(first), [1.0, np.nan, 0.5])
    assert "10^{-5}" in second.get_xlabel()


def test_a_run_far_beyond_the_bars_is_a_number_and_does_not_squeeze_them():
    ax = tornado(made([[3.0, -2.0, 0.5]], [[3.1, -55.0, np.nan]])).axes[0]
    assert [text.get_text() for text in ax.texts] == ["◄ -55"] and ax.get_xlim()[0] > -10.0
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [3.1, np.nan, np.nan])
    flat = tornado(made([[0.0, 0.0]], [[2.0, np.nan]])).axes[0]
    np.testing.assert_array_equal(flat.lines[0].get_xdata(), [2.0, np.nan])


def test_bars_that_runs_do_not_confirm_are_hatched():
    figure = tornado(made([[3.0, -2.0, 0.5]]).assign_attrs(lost="a", disagree="c"))
    assert [bar.get_hatch() for bar in figure.axes[0].patches] == ["////", None, "////"]
    (text,) = (one.get_text() for one in figure.legends[0].get_texts() if "slope, not a change" in one.get_text())
    assert "fail, are unstable" in text
    all_kinds = tornado(made([[3.0, -2.0]], [[3.1, np.nan]]).assign_attrs(lost="a"), searched="b")
    for one in (figure, all_kinds):
        one.draw_without_rendering()
        assert one.legends[0].get_window_extent().x0 >= 0.0 and one.legends[0].get_window_extent().x1 <= one.bbox.x1
    assert not tornado(made([[3.0]]).assign_attrs(lost="", disagree="")).legends


def test_four_measures_take_two_rows():
    figure = tornado(made(np.ones((4, 2))))
    assert [ax.get_visible() for ax in figure.axes] == [True] * 4 + [False] * 2


def test_indices_have_their_intervals_and_slopes_next_to_them():
    both, along = ("measure", "parameter"), ("measure", "parameter", "bound")
    values, interval = np.array([[0.2, 0.7]]), np.array([[[0.1, 0.3], [0.6, 0.8]]])
    data = {"first": (both, values), "total": (both, values + 0.1), "linear": (both, values - 0.1)}
    data |= {"first_interval": (along, interval), "total_interval": (along, interval + 0.1)}
    data["rows"] = ("measure", [128])
    found = xr.Dataset(data, {"measure": ["peak_flexion"], "parameter": ["a", "b"]}, {"rows": 128})
    (ax,) = shares(found).axes
    first, total, linear, _ = ax.lines
    assert first.get_xdata().tolist() == [0.2, 0.7] and linear.get_marker() == "x"
    np.testing.assert_allclose(total.get_xdata(), [0.3, 0.8])
    assert ax.get_title() == "peak flexion" and len(shares(found.drop_vars("linear")).axes[0].lines) == 3
    assert shares(found.assign_attrs(rows=256)).axes[0].get_title() == "peak flexion (128 of 256 rows)"
    five = xr.concat([found.assign_coords(measure=[f"m{i}"]) for i in range(5)], "measure")
    assert [ax.get_visible() for ax in shares(five).axes] == [True] * 5 + [False], "in rows"
    assert shares(five).get_figwidth() < 12.0
