"""Recognises files of studies, which are neither runs nor scans, and draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.plot.fronts import trade_offs
from jaxgait.plot.panels import PER_ROW, grid, legend, of_known
from jaxgait.plot.sensitivities import shares, tornado
from jaxgait.plot.style import BLUE, GREY, ORANGE, axis_label, style
from jaxgait.support.checks import count_of
from jaxgait.support.units import displayed

ONE, EACH = (6.8, 5.0), (3.6, 3.4)
"""Width and height in inches of the curves of the only trial of a fit, and of each of several."""
SIDES = {"right": BLUE, "left": ORANGE}
"""Colours of the legs."""
BESIDE = 4.0
"""Width in inches of a further panel beside the only trial."""


class Study(NamedTuple):
    """A kind of file, and the function that draws it."""

    name: str
    """The kind, with its article."""
    draw: Callable[[xr.Dataset], Figure]
    of_any: bool = False
    """Whether it can draw any selection of the variables."""


def study(data: xr.Dataset) -> Study | None:
    """The study whose result a Dataset is; None for runs, scans and anything else."""
    attrs, dims, names = set(data.attrs), set(data.dims), set(data.data_vars)
    front = {"objectives", "senses", "parameters"} <= attrs and "point" in dims
    sensitivities = "change" in names and set(data["change"].dims) == {"measure", "parameter"}
    known = (
        (front, Study("a front of the best compromises", trade_offs)),
        (sensitivities, Study("a set of sensitivities", tornado)),
        ({"first", "total", "first_interval"} <= names, Study("a set of Sobol indices", shares)),
        ({"measured", "fitted", "residual", "band"} <= names, Study("a fit to a measured curve", saved_fit)),
        (bool(_trials(data)), Study("a fit to several measured curves", saved_fit)),
        (
            {"stride", "percent"} <= dims and "side" in data.coords,
            Study("a set of measured strides", gait_cycles, True),
        ),
    )
    return next((one for is_it, one in known if is_it), None)


def gait_cycles(data: xr.Dataset) -> Figure:
    """Measured strides (`jaxgait.motion.capture.tables.stride_curves`) as thin lines, and their means by side."""
    sides, percent = data["side"].values, data["percent"].values
    curves = {str(name): x for name, x in data.items() if x.dims == ("stride", "percent")}
    with style():
        figure, panels = grid(len(curves), (3.4, 2.3), extra=(0.0, 0.4), sharex=True)
        for ax, (name, x) in zip(panels, curves.items(), strict=True):
            for side, colour in SIDES.items():
                own = x.values[sides == side]
                ax.plot(percent, own.T, color=colour, lw=0.6, alpha=0.6)
                if len(own):
                    mean, count = of_known(np.nanmean, own, axis=0), count_of(len(own), "stride", "strides")
                    ax.plot(percent, mean, color=colour, lw=1.8, label=f"{side}: mean of {count}")
            ax.set_ylabel(axis_label(name.replace("_", " "), str(x.attrs.get("units", "1"))))
        for ax in panels[-PER_ROW:]:
            ax.set(xlim=(0.0, 100.0), xlabel=axis_label("gait cycle", "%"))
            ax.xaxis.set_tick_params(labelbottom=True)
        legend(figure)
    return figure


def saved_fit(data: xr.Dataset) -> Figure:
    """Curves and residuals of a result of `jaxgait.calibration.as_dataset`, also from its file: see `draw_curves`."""
    found = {name: _trial(data, name) for name in _trials(data)} or {"": data}
    facts = lambda one: data.attrs | one.fitted.attrs
    quantity = lambda one: str(facts(one).get("quantity", facts(one).get("output", "curve")))
    estimated = bool(data.attrs.get("noise_estimated", 0.0))
    if not data.attrs.get("minimum", 1.0):  # elsewhere, errors are not known
        found = {name: one.assign(band=one.band * np.nan) for name, one in found.items()}
    with style():
        figure, _ = draw_curves(
            [
                Curves(name, one, quantity(one), one.get("before"), one.get("noise"), estimated)
                for name, one in found.items()
            ]
        )
    return figure


def _trials(data: xr.Dataset) -> list[str]:
    """Names of the trials of a saved fit to several."""
    return [str(name)[len("fitted[") : -1] for name in data.data_vars if str(name).startswith("fitted[")]


def _trial(data: xr.Dataset, name: str) -> xr.Dataset:
    """The curves of one trial under their plain names."""
    end = f"[{name}]"
    own = [one for one in map(str, data.data_vars) if one.endswith(end) and data[one].ndim]
    named = {str(one): str(one).removesuffix(end) for one in data[own].variables}
    return data[own].rename(named)


class Curves(NamedTuple):
    """One trial of a fit."""

    name: str
    """Its title; empty if it is the only one."""
    curve: xr.Dataset
    """`Fit.curve` of the trial."""
    quantity: str
    """The label of the vertical axis."""
    before: Any = None
    """The initial curve in the unit of the measured one, if it is known."""
    noise: Any = None
    """One standard deviation of each measured value in the same unit, if it is known."""
    noise_estimated: bool = False
    """Whether that is only the size of the residual, which may be a misfit of the model."""


def draw_curves(trials: Sequence[Curves], side_panel: bool = False) -> tuple[Figure, Axes | None]:
    """Measured and fitted curves above their residuals, angles in degrees; several trials fill about a square.

    Trials of one quantity have the same scale.

    Args:
        trials: at least one.
        side_panel: whether to add a further panel after the last trial.

    Returns:
        The figure, and the further panel if there is one.
    """
    cells, (width, high) = len(trials) + side_panel, ONE if len(trials) == 1 else EACH
    columns = min(math.ceil(math.sqrt(cells)), PER_ROW)
    rows = math.ceil(cells / columns)
    widths = [width, BESIDE][:columns] if len(trials) == 1 else columns * [width]
    figure = plt.figure(figsize=(sum(widths), high * rows))
    grid = figure.add_gridspec(2 * rows, columns, width_ratios=widths, height_ratios=rows * (2.2, 1.0))
    cell = lambda i: (2 * (i // columns), i % columns)
    of_quantity: dict[Any, tuple[Axes, Axes]] = {}  # the first of each
    over: dict[str, Axes] = {}
    for i, one in enumerate(trials):
        (row, column), axis = cell(i), _axis(one.curve)
        quantity = one.quantity, displayed(one.curve.fitted).attrs.get("units")
        own = of_quantity.get(quantity, (None, None))
        upper = figure.add_subplot(grid[row, column], sharex=over.get(axis), sharey=own[0])
        lower = figure.add_subplot(grid[row + 1, column], sharex=upper, sharey=own[1])
        over.setdefault(axis, upper)
        of_quantity.setdefault(quantity, (upper, lower))
        _draw(upper, lower, one)
        upper.set_title(one.name, loc="right", fontsize=9)
    legend(figure, "outside upper left")
    row, column = cell(len(trials))
    return figure, figure.add_subplot(grid[row : row + 2, column]) if side_panel else None


def _axis(curve: xr.Dataset) -> str:
    return str(curve.fitted.dims[0])


def _draw(upper: Axes, lower: Axes, one: Curves) -> None:
    shown = lambda values: displayed(one.curve.fitted.copy(data=values))
    measured, fitted, band, residual = (shown(one.curve[n].values) for n in ("measured", "fitted", "band", "residual"))
    axis, unit = _axis(one.curve), fitted.attrs.get("units")
    x, over = one.curve[axis].values, axis_label(axis, "s")
    if axis == "phase":
        x, over = 100.0 * x, axis_label("stride", "%")
    upper.plot(x, measured, "o", color=GREY, ms=3.5, label="measured")
    known = bool(np.isfinite(band).any())
    upper.plot(x, fitted, color=BLUE, lw=1.5, label="fitted, with its 95 % band" if known else "fitted; no band")
    if known:
        upper.fill_between(x, fitted - band, fitted + band, color=BLUE, alpha=0.3, lw=0)
    if one.before is not None and np.isfinite(one.before).any():
        upper.plot(x, shown(np.asarray(one.before)), "--", color=ORANGE, lw=1.2, label="before")
    upper.set_ylabel(axis_label(one.quantity, unit))
    upper.tick_params(labelbottom=False)
    if one.noise is not None:
        what = "misfit" if one.noise_estimated else "noise"
        noise, label = shown(np.asarray(one.noise)), f"{what}, two standard deviations"
        lower.fill_between(x, -2 * noise, 2 * noise, color=GREY, alpha=0.25, lw=0, label=label)
    lower.plot(x, residual, ".-", color=BLUE, lw=0.8, ms=3)
    lower.axhline(0.0, color="black", lw=0.8)
    lower.set_xlabel(over)
    lower.set_ylabel(axis_label("residual", unit))
