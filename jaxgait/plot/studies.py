"""Files of studies, which are neither a run nor a scan, told apart by what is in them, each with its picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.figure import Figure

from jaxgait.plot.fronts import trade_offs
from jaxgait.plot.sensitivities import shares, tornado
from jaxgait.plot.style import BLUE, GREY, ORANGE, axis_label, style

__all__ = ["Study", "saved_fit", "study"]


class Study(NamedTuple):
    """What a file is, and what draws it."""

    name: str
    """With its article."""
    draw: Callable[[xr.Dataset], Figure]


def study(data: xr.Dataset) -> Study | None:
    """Which study a Dataset is the result of; None for runs, scans and anything else.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.studies import study
        >>> found = xr.Dataset({"change": (("measure", "parameter"), [[0.1, -0.2]])})
        >>> study(found).name
        'a set of sensitivities'
    """
    if {"objectives", "senses", "parameters"} <= set(data.attrs) and "point" in data.dims:
        return Study("a front of the best compromises", trade_offs)
    if "change" in data and {"measure", "parameter"} == set(data["change"].dims):
        return Study("a set of sensitivities", tornado)
    if {"first", "total", "first_interval"} <= set(data.data_vars):
        return Study("a set of Sobol indices", shares)
    if {"measured", "fitted", "residual", "band"} <= set(data.data_vars):
        return Study("a fit to a measured curve", saved_fit)
    return None


def saved_fit(data: xr.Dataset) -> Figure:
    """Measured and fitted curve with its 95 % band, the curve before the fit, and the residual.

    Args:
        data: result of `jaxgait.calibration.as_dataset`, also from its file.
    """
    axis = str(data["fitted"].dims[0])
    x, unit = data[axis], data["fitted"].attrs.get("units")
    quantity = str(data.attrs.get("output", "curve"))
    with style():
        figure, (upper, lower) = plt.subplots(2, 1, figsize=(7.5, 5.0), sharex=True, height_ratios=(2.2, 1.0))
        upper.plot(x, data["measured"], "o", color=GREY, ms=3, label="measured")
        if "before" in data:
            upper.plot(x, data["before"], "--", color=ORANGE, lw=1.2, label="before")
        upper.plot(x, data["fitted"], color=BLUE, lw=1.5, label="fitted, with its 95 % band")
        upper.fill_between(x, data["fitted"] - data["band"], data["fitted"] + data["band"], color=BLUE, alpha=0.2, lw=0)
        upper.set_ylabel(axis_label(quantity, unit))
        upper.legend()
        lower.axhline(0.0, color=GREY, lw=0.8)
        lower.plot(x, data["residual"], ".", color=BLUE, ms=3)
        lower.set_ylabel(axis_label("residual", unit))
        lower.set_xlabel("phase of the stride" if axis == "phase" else axis_label(axis, x.attrs.get("units")))
    return figure
