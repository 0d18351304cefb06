"""Pictures of fronts: what is drawn, and fronts that do not belong together."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from jaxgait.plot.fronts import trade_offs
from jaxgait.plot.style import save


def made(method, count, objectives=("speed", "cost")):
    """A front of two parameters along which everything grows."""
    along = np.linspace(0.0, 1.0, count)
    labels = {"units": "m", "long_name": "length"}
    data = {name: ("point", along * (1 + i), labels) for i, name in enumerate([*objectives, "leg.a", "leg.b"])}
    senses = ", ".join(["max", "min", "min"][: len(objectives)])
    attrs = {"method": method, "objectives": ", ".join(objectives), "parameters": "leg.a, leg.b", "senses": senses}
    return xr.Dataset(data, attrs=attrs)


def test_both_ways_and_the_ideal_corner_are_drawn_once_for_each_parameter():
    figure = trade_offs({"exact": made("gradient", 5), "evolved": made("NSGA-II", 9)})
    first, second, *bars = figure.axes
    for ax, bar, name in zip((first, second), bars, ("leg.a (m)", "leg.b (m)"), strict=True):
        assert [len(points.get_offsets()) for points in ax.collections] == [5, 9]
        line, star = ax.lines
        assert len(line.get_xdata()) == 5 and (star.get_xdata()[0], star.get_ydata()[0]) == (1.0, 0.0)
        assert ax.get_title() == f"colour: {name}" and not bar.get_ylabel() and ax.get_xlabel() == "length (m)"
    assert (first.get_ylabel(), second.get_ylabel()) == ("length (m)", "")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["exact", "evolved", "ideal corner"]
    plt.close(figure)


def test_labels_of_values_near_one_are_apart():
    found = made("NSGA-II", 5)
    found["speed"] = 0.996 + 0.0014 * found.speed
    figure = trade_offs(found)
    figure.canvas.draw()
    for ax in figure.axes[:2]:
        boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
        assert len(boxes) > 2 and all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    plt.close(figure)


def test_a_third_objective_has_a_panel_of_its_own():
    figure = trade_offs(made("NSGA-II", 4, ("speed", "cost", "mass")))
    assert len(figure.axes) == 6 and figure.axes[2].get_title() == "colour: leg.b (m)"
    plt.close(figure)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "columns"), [(85, 1), (120, 2), (180, 3)])
def test_panels_with_colour_bars_have_room_in_print(tmp_path, width, columns):
    figure = trade_offs(made("NSGA-II", 4, ("speed", "cost", "mass")))
    save(figure, tmp_path / "front.png", width_mm=width, dpi=80)
    figure.draw_without_rendering()
    panels = [ax.bbox for ax in figure.axes[:3]]
    assert all(box.width > 15.0 / 25.4 * figure.dpi for box in panels)
    assert len({round(box.x0) for box in panels}) == columns
    labels = [ax.get_ylabel() for ax in figure.axes[:3]]
    assert labels == ["length (m)" if i % columns == 0 else "" for i in range(3)]
    assert [ax.yaxis.get_tick_params()["labelleft"] for ax in figure.axes[:3]] == [bool(label) for label in labels]


def test_fronts_that_do_not_belong_together_are_named():
    with pytest.raises(ValueError, match=r"speed, cost over leg.a, leg.b; speed, mass over leg.a, leg.b"):
        trade_offs({"a": made("gradient", 3), "b": made("gradient", 3, ("speed", "mass"))})
    with pytest.raises(ValueError, match="got none"):
        trade_offs({})
