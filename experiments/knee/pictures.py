"""Figures 11 to 13 of the paper: the knee's response over the damper's stiffness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from jaxgait.plot.style import BLUE, FAILED, RED, axis_label, style

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
            for ax in column:
                for failed in k[~ok].values:
                    ax.axvspan(failed - 0.25, failed + 0.25, color=FAILED, lw=0)
            equal = first_fall(k.values, line.peak_flexion.where(ok).values, measured_peak)
            for ax, at in ((column[0], equal), (column[1], critical.get(ratio, np.nan) / 1e3)):
                if np.isfinite(at):
                    ax.axvline(at, **red)
            column[0].set_title(f"c/k = {ratio:g} s")
            column[1].set_xlabel(axis_label("k", "kN/m"))
        axes[0, 0].set_ylabel(axis_label("peak flexion", "deg"))
        axes[1, 0].set_ylabel("correlation rho")
        named = {label: one for ax in axes[0] for one, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        named["the knee folds"] = Patch(color=FAILED)
        figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=len(named))
    return figure


def waterfall(k: np.ndarray, frequency: np.ndarray, amplitude: np.ndarray) -> Figure:
    """Spectrum of the knee over stiffness as a map (the paper's Figure 11): subharmonics are lines below one.

    Stiffness in N/m, frequency in 1/stride, amplitude in deg; shapes (k,), (lines,), (k, lines).
    """
    with style():
        figure, ax = plt.subplots(figsize=(7.5, 3.8))
        ax.grid(False)
        shown = (frequency > 0) & (frequency <= 2.5)
        level = np.log10(np.maximum(amplitude[:, shown], 1e-2)).T
        mesh = ax.pcolormesh(np.asarray(k) / 1e3, frequency[shown], level, shading="nearest", cmap="magma")
        figure.colorbar(mesh, label=axis_label("log$_{10}$ amplitude", "deg"))
        ax.set_yticks([1 / 3, 1 / 2, 2 / 3, 1, 1.5, 2], ["1/3", "1/2", "2/3", "1", "3/2", "2"])
        ax.set(
            xlabel=axis_label("k", "kN/m"),
            ylabel=axis_label("frequency", "1/stride"),
            title="Response spectra at c/k = 0.05 s",
        )
    return figure
