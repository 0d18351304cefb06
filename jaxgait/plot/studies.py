"""Recognises files of studies, which are neither runs nor scans, and draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.plot.fronts import trade_offs
from jaxgait.plot.sensitivities import shares, tornado
from jaxgait.plot.style import BLUE, GREY, ORANGE, axis_label, style


class Study(NamedTuple):
    """A kind of file, and the function that draws it."""

    name: str
    """With its article."""
    draw: Callable[[xr.Dataset], Figure]


def study(data: xr.Dataset) -> Study | None:
    """The study that a Dataset is the result of; None for runs, scans and anything else."""
    if {"objectives", "senses", "parameters"} <= set(data.attrs) and "point" in data.dims:
        return Study("a front of the best compromises", trade_offs)
    if "change" in data and {"measure", "parameter"} == set(data["change"].dims):
        return Study("a set of sensitivities", tornado)
    if {"first", "total", "first_interval"} <= set(data.data_vars):
        return Study("a set of Sobol indices", shares)
    if {"measured", "fitted", "residual", "band"} <= set(data.data_vars):
        return Study("a fit to a measured curve", saved_fit)
    if _trials(data):
        return Study("a fit to several measured curves", saved_fit)
    return None


def saved_fit(data: xr.Dataset) -> Figure:
    """Curves and residuals of a result of `jaxgait.calibration.as_dataset`, also from its file; trials side by side."""
    found = {name: _trial(data, name) for name in _trials(data)} or {"": data}
    with style():
        figure, axes = plt.subplots(
            *(2, len(found)),
            figsize=(2.5 + 5.0 * len(found), 5.0),
            sharex="col",
            height_ratios=(2.2, 1.0),
            squeeze=False,
        )
        for (upper, lower), (name, one) in zip(axes.T, found.items(), strict=True):
            quantity = one.fitted.attrs.get("output", data.attrs.get("output", "curve"))
            curves(upper, lower, one, str(quantity), one.get("before"), one.get("noise"))
            upper.set_title(name, loc="right", fontsize=9)
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


def curves(upper: Axes, lower: Axes, curve: xr.Dataset, quantity: str, before: Any = None, noise: Any = None) -> None:
    """Draws the curves of a fit, `Fit.curve`, optionally with the initial curve and the noise, all in the same unit."""
    axis, unit = str(curve.fitted.dims[0]), curve.fitted.attrs.get("units")
    x = curve[axis].values
    if before is not None and np.isfinite(before).any():
        upper.plot(x, before, "--", color=ORANGE, lw=1.2, label="before")
    upper.plot(x, curve.measured, "o", color=GREY, ms=3, label="measured")
    upper.plot(x, curve.fitted, color=BLUE, lw=1.5, label="fitted, with its 95 % band")
    upper.fill_between(x, curve.fitted - curve.band, curve.fitted + curve.band, color=BLUE, alpha=0.3, lw=0)
    upper.set_ylabel(axis_label(quantity, unit))
    upper.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
    upper.tick_params(labelbottom=False)
    if noise is not None:
        lower.fill_between(x, -2 * noise, 2 * noise, color=GREY, alpha=0.25, lw=0)
        lower.set_title("grey: two standard deviations of the noise", loc="left", fontsize=8)
    lower.plot(x, curve.residual, ".-", color=BLUE, lw=0.8, ms=3)
    lower.axhline(0.0, color="black", lw=0.8)
    lower.set_xlabel("phase of the stride" if axis == "phase" else axis_label(axis, "s"))
    lower.set_ylabel(axis_label("residual", unit))
