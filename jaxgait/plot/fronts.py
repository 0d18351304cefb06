"""Pictures of Pareto fronts, with the ideal corner and the designs on them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from jaxgait.plot import panels
from jaxgait.plot.style import GREY, RED, axis_label, style

_MAX_LETTERS = 36
_TICKS = 4
"""Most intervals between ticks: labels of values such as 0.99725 are long."""
_MARKS = ("o", "D", "^", "s", "v", "P")


def trade_offs(fronts: Mapping[str, xr.Dataset] | xr.Dataset) -> Figure:
    """The first two objectives of one front, or of several by name: one panel per further objective and parameter.

    These give the colour. The points of a front by the method "gradient" are joined by a line. The star is the ideal
    corner: the best value of each objective, which no design reaches in both.

    Args:
        fronts: results of `jaxgait.optimization.front` for the same objectives.

    Raises:
        ValueError: for no fronts, for fronts without a point, and for fronts of different objectives or parameters.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.fronts import trade_offs
        >>> columns = {"speed": ("point", [1.0, 1.2]), "cost": ("point", [0.2, 0.3]), "mass": ("point", [60.0, 70.0])}
        >>> attrs = {"objectives": "speed, cost", "senses": "max, min", "parameters": "mass", "method": "gradient"}
        >>> figure = trade_offs(xr.Dataset(columns, attrs=attrs))
        >>> print(figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel())
        speed cost
    """
    named = {str(fronts.attrs.get("method")): fronts} if isinstance(fronts, xr.Dataset) else dict(fronts)
    (x, y, *others), parameters = _common(named)
    if not any(front[x].size for front in named.values()):
        raise ValueError("give fronts with points to draw, got none: every search failed, or a selection left none")
    shown = [*others, *parameters]
    with style():
        figure, axes = panels.grid(len(shown), (4.6, 3.8), extra=(0.4, 0.0), sharex=True, sharey=True)
        for i, (ax, colour) in enumerate(zip(axes, shown, strict=True)):
            _panel(figure, ax, named, x, y, colour)
            if i % panels.PER_ROW == 0:  # panels in a row share their y axis
                ax.set_ylabel(textwrap.fill(axis_label(next(iter(named.values()))[y]), _MAX_LETTERS))
            else:
                ax.tick_params(left=False)
            ax.tick_params(labelbottom=True)
            ax.xaxis.set_major_locator(MaxNLocator(_TICKS))
            ax.ticklabel_format(axis="both", useOffset=False)
        panels.legend(figure, "outside upper left")
    return figure


def _panel(figure: Figure, ax: Axes, named: Mapping[str, xr.Dataset], x: str, y: str, colour: str) -> None:
    every = np.concatenate([found[colour].values for found in named.values()])
    norm = Normalize(every.min(), every.max())
    for mark, (name, found) in zip(_MARKS * len(named), named.items(), strict=False):
        exact = found.attrs.get("method") == "gradient"
        look: dict[str, Any] = (
            {"s": 42, "edgecolors": "black", "linewidths": 0.8, "zorder": 4} if exact else {"s": 16, "zorder": 3}
        )
        if exact:
            ax.plot(found[x], found[y], "-", color=GREY, lw=1, zorder=2)
        ax.scatter(found[x], found[y], c=found[colour], norm=norm, marker=mark, label=name, **look)
    ax.plot(*_ideal(named, x, y), "*", color=RED, ms=13, zorder=5, label="ideal corner")
    one = next(iter(named.values()))
    ax.set_xlabel(textwrap.fill(axis_label(one[x]), _MAX_LETTERS))
    label = (
        axis_label(one[colour]) if colour in _objectives(one) else axis_label(colour, one[colour].attrs.get("units"))
    )
    figure.colorbar(ScalarMappable(norm), ax=ax)
    ax.set_title(
        textwrap.fill(f"colour: {label}", _MAX_LETTERS)
    )  # next to the bar it looks like the next y axis's label


def _ideal(named: Mapping[str, xr.Dataset], x: str, y: str) -> list[float]:
    one = next(iter(named.values()))
    senses = dict(zip(_objectives(one), one.attrs["senses"].split(", "), strict=True))
    every = lambda name: np.concatenate([found[name].values for found in named.values()])
    return [float(every(name).max() if senses[name] == "max" else every(name).min()) for name in (x, y)]


def _objectives(found: xr.Dataset) -> list[str]:
    return str(found.attrs["objectives"]).split(", ")


def _common(named: Mapping[str, xr.Dataset]) -> tuple[list[str], Sequence[str]]:
    kinds = {(str(f.attrs["objectives"]), str(f.attrs["parameters"])) for f in named.values()}
    if len(kinds) != 1:
        what = "; ".join(f"{objectives} over {parameters}" for objectives, parameters in sorted(kinds)) or "none"
        raise ValueError(f"give fronts of the same objectives over the same parameters, got {what}")
    objectives, parameters = kinds.pop()
    return objectives.split(", "), parameters.split(", ")
