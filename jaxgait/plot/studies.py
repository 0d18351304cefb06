"""Recognises files of studies, which are neither runs nor scans, and draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.figure import Figure

from jaxgait.plot.fits import curves
from jaxgait.plot.fronts import trade_offs
from jaxgait.plot.sensitivities import shares, tornado
from jaxgait.plot.style import style

__all__ = ["Study", "saved_fit", "study"]


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
    return None


def saved_fit(data: xr.Dataset) -> Figure:
    """Curves and residual of a result of `jaxgait.calibration.as_dataset`, also from its file."""
    with style():
        figure, (upper, lower) = plt.subplots(2, 1, figsize=(7.5, 5.0), sharex=True, height_ratios=(2.2, 1.0))
        curves(upper, lower, data, str(data.attrs.get("output", "curve")), data.get("before"), data.get("noise"))
    return figure
