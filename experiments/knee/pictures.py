"""Figures 11 to 13 of the paper: the knee's response over the damper's stiffness."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from jaxgait.models.prosthesis.pictures import LEAST_AMPLITUDE
from jaxgait.plot.panels import legend
from jaxgait.plot.style import BLUE, FAILED, RED, axis_label, cell_edges, style

from .runs import first_fall


def scan_lines(
    scan: xr.Dataset, ratios: Sequence[float], critical: Mapping[float, float], measured_peak: float
) -> Figure:
    """Peak flexion in deg and rho over k at some c/k (figures 12 and 13 of the paper).

    Marked in red, as in the paper: in the upper panels the k at which the peak falls to the measured one (see
    `first_fall`), in the lower panels the critical k.
    """
    red: dict[str, Any] = {
        "color": RED,
        "ls": "--",
        "lw": 1,
        "label": "red: above, the peak is the measured one; below, critical k",
    }
    with style():
        figure, axes = plt.subplots(2, len(ratios), figsize=(2.9 * len(ratios), 5.2), sharex=True, squeeze=False)
        for column, ratio in zip(axes.T, ratios, strict=True):
            line = scan.sel(ratio=ratio, method="nearest")
            ok = line.status == 0
            k = line.k / 1e3
            column[0].vlines(
                k[ok], line.peak_flexion_min[ok], line.peak_flexion_max[ok], color=BLUE, alpha=0.4, label="all strides"
            )
            column[0].plot(k[ok], line.peak_flexion[ok], "o", color=BLUE, ms=2.5, label="their mean")
            column[0].axhline(measured_peak, ls="--", color="k", lw=1, label="measured")
            column[1].plot(k, line.rho.where(ok), ".-", color=BLUE, ms=3, lw=0.8)
            edges = cell_edges(k.values)
            for ax, i in itertools.product(column, np.flatnonzero(~ok)):
                ax.axvspan(edges[i], edges[i + 1], color=FAILED, lw=0)
            equal = first_fall(k.values, line.peak_flexion.where(ok).values, measured_peak)
            for ax, at in ((column[0], equal), (column[1], critical.get(ratio, np.nan) / 1e3)):
                if np.isfinite(at):
                    ax.axvline(at, **red)
            column[0].set_title(f"c/k = {ratio:g} s")
            column[1].set_xlabel(axis_label("k", "kN/m"))
        axes[0, 0].set_ylabel(axis_label("peak flexion", "deg"))
        axes[1, 0].set_ylabel("correlation rho")
        axes[0, 0].fill([], [], color=FAILED, label="the knee folds")
        legend(figure)
    return figure


def waterfall(k: np.ndarray, frequency: np.ndarray, amplitude: np.ndarray) -> Figure:
    """Spectrum of the knee over stiffness as a map (the paper's Figure 11): subharmonics are lines below one.

    Stiffness in N/m, frequency in 1/stride, amplitude in deg; shapes (k,), (lines,), (k, lines).
    """
    with style():
        figure, ax = plt.subplots(figsize=(7.5, 3.8))
        ax.grid(False)
        shown = (frequency > 0) & (frequency <= 2.5)
        looks: dict[str, Any] = {"shading": "nearest", "cmap": "magma", "norm": LogNorm(LEAST_AMPLITUDE)}
        level = np.maximum(amplitude[:, shown], LEAST_AMPLITUDE).T
        mesh = ax.pcolormesh(np.asarray(k) / 1e3, frequency[shown], level, **looks)
        figure.colorbar(mesh, label=axis_label("amplitude", "deg"), extend="min")
        ax.set_yticks([1 / 3, 1 / 2, 2 / 3, 1, 1.5, 2], ["1/3", "1/2", "2/3", "1", "3/2", "2"])
        ax.set(
            xlabel=axis_label("k", "kN/m"),
            ylabel=axis_label("frequency", "1/stride"),
            title="Response spectra at c/k = 0.05 s",
        )
    return figure
