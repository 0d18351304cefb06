"""Pictures of sensitivities: the effect of 1 % of each parameter, and shares of the variance over a box."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from jaxgait.plot.panels import PER_ROW, grid, legend
from jaxgait.plot.style import BLUE, GREY, ORANGE, axis_label, style
from jaxgait.support.units import with_unit

_HATCHED: dict[str, Any] = {"hatch": "////", "edgecolor": "white", "linewidth": 0.0}
_DOUBTFUL = "a slope, not a change: runs with it\nfail, are unstable, or differ by over half"
_MAX_LETTERS = 34
_FAR = 2.0
"""Multiple of the longest bar beyond which a difference of runs is written instead of drawn to scale."""
_SHORT = (-2, 4)
"""Powers of ten between which numbers are short enough without a factor."""


def tornado(found: xr.Dataset, *, searched: Collection[str] = (), max_bars: int = 16) -> Figure:
    """The effect of a rise of each parameter by 1 %: one panel per measure, the largest effect on any of them on top.

    Effects are compared relative to the longest bar of their panel.

    Circles, if any, show runs on either side of the design: if one is off the end of its bar, the slope does not hold
    for 1 %. An arrow gives the number of one far beyond the longest bar.
    Hatched bars are slopes alone: runs or gaits fail with a change of 1 % (`lost` in the attributes of `found`), or
    their results differ from the slope by over half (`disagree`).

    Args:
        found: result of `jaxgait.optimization.sensitivities`.
        searched: parameters to mark as searched.
        max_bars: largest number of parameters: those with the longest bars in any panel.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization import sensitivities
        >>> from jaxgait.plot.sensitivities import tornado
        >>> found = sensitivities(Bungee(), maximize="clearance", by=["mass", "stiffness"], duration=20.0)
        >>> [name.get_text() for name in tornado(found).axes[0].get_yticklabels()]
        ['mass', 'stiffness']
    """
    chosen = found.isel(parameter=_longest(found.change.values, max_bars))
    names = [str(name) for name in chosen.parameter.values]
    doubtful = {name for key in ("lost", "disagree") for name in str(found.attrs.get(key, "")).split(", ") if name}
    with style():
        figure, panels = _panels(chosen.sizes["measure"], names, 0.26)
        for ax, measure in zip(panels, chosen.measure.values, strict=True):
            bars = _bars(ax, chosen.sel(measure=measure), [ORANGE if name in searched else BLUE for name in names])
            for bar, name in zip(bars, names, strict=True):
                bar.set(**_HATCHED if name in doubtful else {})
        if len(names) < found.sizes["parameter"]:
            rest = "the largest effects" if len(names) == max_bars else "the others have no effect"
            title = f"{len(names)} of {found.sizes['parameter']} parameters: {rest}"
            figure.suptitle(title, x=0.01, ha="left", fontsize=9)
        handles = _legend(chosen, names, searched)
        if doubtful & {*names}:
            handles.append(Patch(facecolor=GREY, label=_DOUBTFUL, **_HATCHED))
        if handles:
            figure.legend(handles=handles, loc="outside lower center", ncols=1 if len(panels) == 1 else PER_ROW)
    return figure


def _panels(count: int, names: Sequence[str], high: float) -> tuple[Figure, list[Axes]]:
    """Panels of measures, each with a line of a height in inches for every parameter, the first one at the top."""
    figure, panels = grid(count, (3.3, 1.1 + high * len(names)), extra=(1.8, 0.3), sharey=True)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    return figure, panels


def _longest(change: Float[np.ndarray, "measures parameters"], count: int) -> np.ndarray:
    """The parameters with the longest bars, relative to the longest one of each measure; the longest first."""
    size = np.abs(_finite(change))
    largest = np.nanmax(size, axis=1, keepdims=True, initial=1e-300)
    share = np.where(np.isinf(change), np.inf, np.nan_to_num(size / largest)).max(axis=0)
    kept = np.argsort(-share, kind="stable")[:count]
    return kept[share[kept] > 0.0] if share.any() else kept


def _finite(change: np.ndarray) -> np.ndarray:
    """Changes with NaN for infinite ones, as of a square root at zero, which no bar can show."""
    return np.where(np.isinf(change), np.nan, change)


def _bars(ax: Axes, one: xr.Dataset, colours: list[str]) -> BarContainer:
    at = np.arange(one.sizes["parameter"])
    change = _finite(one.change.values)
    bars = ax.barh(at, change, height=0.7, color=colours)
    _runs(ax, one.difference.values, _FAR * np.nanmax(np.abs(change), initial=0.0), 10.0 ** _power(change))
    for i in np.flatnonzero(np.isinf(one.change.values)).tolist():
        text = "∞" if one.change.values[i] > 0.0 else "−∞"
        ax.annotate(text, (0.0, i), (3.0, 0.0), textcoords="offset points", va="center")
    ax.axvline(0.0, color="black", lw=0.8)
    ax.margins(x=0.08)
    power, unit = _power(change), str(one.measure_unit.values)
    scaled = f"$10^{{{power}}}$ {unit}".removesuffix(" 1") if power else unit
    ax.set_xlabel(axis_label("change for 1 %", scaled))
    ax.set_axisbelow(True)
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x / 10.0**power:g}")
    here = with_unit(f"{one.measure.values}: {float(one.result):.5g}", one.measure_unit.item())
    ax.set_title(textwrap.fill(here, _MAX_LETTERS), loc="left", fontsize=9)
    return bars


def _runs(ax: Axes, differences: np.ndarray, edge: float, unit: float) -> None:
    """A circle for each difference of runs; beyond an edge, where it would squeeze the bars, a number with an arrow."""
    far = np.abs(differences) > (edge or np.inf)  # (without bars, nothing is squeezed)
    ax.plot(np.where(far, np.nan, differences), range(len(far)), "o", color="black", mfc="white", ms=4)
    for i in np.flatnonzero(far).tolist():
        right, number = differences[i] > 0.0, f"{differences[i] / unit:.3g}"
        end, side = (edge, "right") if right else (-edge, "left")
        ax.plot(end, i, ls="")  # within the limits
        ax.text(end, i, f"{number} ►" if right else f"◄ {number}", ha=side, va="center", fontsize=8)


def _power(values: np.ndarray) -> int:
    """The power of ten of the largest value if its numbers would be long; otherwise 0."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    power = int(np.floor(np.log10(largest))) if largest > 0.0 else 0
    return power if not _SHORT[0] <= power < _SHORT[1] else 0


def _legend(one: xr.Dataset, names: list[str], searched: Collection[str]) -> list[Patch | Line2D]:
    both = any(name in searched for name in names)
    differences = np.isfinite(one.difference.values).any()
    handles: list[Patch | Line2D] = []
    if both or differences:
        handles.append(Patch(color=BLUE, label="fixed parameter" if both else "from the slope"))
    if both:
        handles.append(Patch(color=ORANGE, label="searched parameter"))
    if differences:
        label = "half the change from 1 % less to 1 % more, from runs"
        handles.append(Line2D([], [], ls="", marker="o", color="black", mfc="white", ms=4, label=label))
    return handles


def shares(found: xr.Dataset) -> Figure:
    """First-order and total Sobol indices with their intervals, and those from slopes; one panel per measure.

    `found` is the result of `jaxgait.analysis.sensitivity.sobol_indices`.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.analysis.sensitivity import sobol_indices
        >>> from jaxgait.plot.sensitivities import shares
        >>> box = {"mass": (60.0, 80.0), "stiffness": (20.0, 30.0)}
        >>> found = sobol_indices(Bungee(), box, "clearance", count=64, duration=20.0)
        >>> shares(found).savefig("shares.png")
    """
    names = [str(name) for name in found.parameter.values]
    at = np.arange(len(names))
    with style():
        figure, panels = _panels(found.sizes["measure"], names, 0.3)
        for ax, name in zip(panels, found.measure.values, strict=True):
            one = found.sel(measure=name)
            for shift, kind, colour, text in ((-0.15, "first", BLUE, "first order"), (0.15, "total", ORANGE, "total")):
                low, high = one[f"{kind}_interval"].values.T
                ax.hlines(at + shift, low, high, color=colour, lw=2)
                ax.plot(one[kind], at + shift, "o", color=colour, label=text)
            if "linear" in one:
                ax.plot(one["linear"], at, "x", color=GREY, label="from slopes at the centre")
            kept, drawn = int(one["rows"]), int(found.attrs["rows"])
            part = "" if kept == drawn else f" ({kept} of {drawn} rows)"
            ax.set(title=str(name).replace("_", " ") + part, xlabel="share of the variance")
            ax.axvline(0.0, color=GREY, lw=0.8)
        legend(figure)
    return figure
