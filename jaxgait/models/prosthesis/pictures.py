"""Pictures of the prosthetic knee."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.analysis import gait
from jaxgait.motion.drive import GaitDrive
from jaxgait.plot.maps import cells, draw_empty, set_scale
from jaxgait.plot.panels import PER_ROW, grid, legend, named_artists
from jaxgait.plot.runs import brief, ending
from jaxgait.plot.scale import stepped
from jaxgait.plot.style import BLUE, GREY, ORANGE, RED, axis_label, style
from jaxgait.plot.table import COUNTS, Table, table
from jaxgait.precision import float64_default

PERIODS = ("irregular", "T", "2T", "3T", "4T")
"""Names of gaits by their order; T is one stride."""
LEAST_AMPLITUDE = 1e-2
"""Amplitude in deg at the lower end of spectra, if the peaks are much higher."""
ABOVE = 1.3
"""Upper end of the axis of spectra, relative to the highest peak."""


def knee_curves(runs: Mapping[str, xr.Dataset], period: float, last: int = 3) -> Figure:
    """Knee flexion over the last strides of runs, with the measured knee dashed, and how each early end came about.

    Args:
        runs: results of `simulate(Prosthesis(...))` by label.
        period: stride time in s.
        last: number of strides.
    """
    with style():
        figure, axes = plt.subplots(
            len(runs), 1, figsize=(7.5, 2.1 * len(runs) + 0.6), sharex=True, sharey=True, squeeze=False
        )
        for ax, (label, run) in zip(axes[:, 0], runs.items(), strict=True):
            strides = run.time.values / period
            shown = strides >= strides[-1] - last - 1e-9
            ax.plot(strides[shown], np.degrees(run.measured_knee_angle[shown]), "--", color=GREY, label="measured")
            ax.plot(strides[shown], np.degrees(run.knee_angle[shown]), color=BLUE, label="prosthesis")
            title = ": ".join(filter(None, (label, brief(ending(run)))))
            ax.set(title=title, ylabel=axis_label("knee flexion", "deg"))
        legend(figure, "outside upper left")
        axes[-1, 0].set_xlabel(axis_label("time", "strides"))
    return figure


@float64_default
def spectra(runs: Mapping[str, xr.Dataset], strides: int, samples_per_stride: int, highest: float = 4.0) -> Figure:
    """Amplitude spectra of the knee over a whole number of last strides, on a logarithmic scale.

    Amplitudes in deg, frequencies up to `highest` in 1/stride.
    """
    with style():
        figure, axes = grid(len(runs), (3.6, 3.0), sharey=True)
        highest_peak = 0.0
        for ax, (label, run) in zip(axes, runs.items(), strict=True):
            curve = jnp.degrees(run.knee_angle.values[-strides * samples_per_stride - 1 : -1])
            frequency, amplitude = (np.asarray(x) for x in gait.spectrum(curve, strides))
            shown = (frequency > 0) & (frequency <= highest)
            _lines(ax, frequency[shown], amplitude[shown])
            highest_peak = np.nanmax(amplitude[shown], initial=highest_peak)
            ax.set(title=label, xlabel=axis_label("frequency", "1/stride"), yscale="log")
            ax.set_xticks(np.arange(0, highest + 0.1, 0.5), minor=True)
        top = ABOVE * (highest_peak or 1.0)
        axes[0].set_ylim(min(LEAST_AMPLITUDE, 1e-3 * top), top)
        for ax in axes[::PER_ROW]:
            ax.set_ylabel(axis_label("amplitude", "deg"))
    return figure


def _lines(ax: Axes, frequency: np.ndarray, amplitude: np.ndarray) -> None:
    """Draws lines down to the lower end of any logarithmic scale."""
    ax.vlines(frequency, 1e-9, amplitude, color=BLUE, lw=1.5)


def hip_motion(drive: GaitDrive, measured: Mapping[str, Sequence[float]] | None = None) -> Figure:
    """The measured motion that drives the leg over one stride, and the spectra of its periodic parts.

    Args:
        drive: the motion as Fourier series.
        measured: the samples that were fitted, at equal phases of one stride (0 and 100 % included): `hip_x_m` without
            the progression, `hip_y_m`, `thigh_rad`.
    """
    phase = np.linspace(0.0, 1.0, 201)
    motion = jax.jit(jax.vmap(lambda s: drive.evaluate(s * drive.period)))(phase)
    curves = motion.hip_x.value, motion.hip_y.value, np.degrees(motion.thigh.value)
    labels = axis_label("hip forward", "m"), axis_label("hip height", "m"), axis_label("thigh forward", "deg")
    with style():
        figure, axes = plt.subplots(2, 3, figsize=(10.6, 4.8))
        for ax, curve, label in zip(axes[0], curves, labels, strict=True):
            ax.plot(100.0 * phase, curve, color=BLUE, label="Fourier series")
            ax.set(xlabel=axis_label("stride", "%"), ylabel=label)
        for ax, samples in zip(axes[0], _sampled(drive, measured), strict=False):
            ax.plot(np.linspace(0.0, 100.0, len(samples)), samples, ".", color=GREY, ms=3, label="measured", zorder=1)
        axes[0, 0].legend()
        axes[1, 0].set_axis_off()  # the progression has no spectrum
        pairs = ((drive.hip_y, 1e3, "hip height", "mm"), (drive.thigh, np.degrees(1.0), "thigh", "deg"))
        for ax, (series, scale, name, unit) in zip(axes[1, 1:], pairs, strict=True):
            _lines(ax, np.arange(1, len(series.a) + 1), scale * np.hypot(series.a, series.b))  # type: ignore[arg-type]
            ax.set(xlabel=axis_label("frequency", "1/stride"), ylabel=axis_label(f"amplitude, {name}", unit))
            ax.set_ylim(0.0, None)
    return figure


def _sampled(drive: GaitDrive, measured: Mapping[str, Sequence[float]] | None) -> tuple[np.ndarray, ...]:
    """Measured samples with the progression; empty without measured samples."""
    if measured is None:
        return ()
    sway, height, thigh = (np.asarray(measured[name]) for name in ("hip_x_m", "hip_y_m", "thigh_rad"))
    return float(drive.speed * drive.period) * np.linspace(0.0, 1.0, sway.size) + sway, height, np.degrees(thigh)


def centrode(run: xr.Dataset, paper: Mapping[str, Sequence[float]] | None = None) -> Figure:
    """Path of the knee's instantaneous centre in the thigh frame (the J-curve), coloured by flexion.

    Args:
        run: result of `simulate`.
        paper: columns `x` and `y` in mm for comparison.
    """
    with style():
        figure, ax = plt.subplots(figsize=(3.6, 5.2))
        flexion = np.degrees(run.knee_angle.values)
        shown = flexion >= 0.0  # in hyperextension the centre goes to infinity
        dots = ax.scatter(1e3 * run.centre_x[shown], 1e3 * run.centre_y[shown], c=flexion[shown], s=6)
        figure.colorbar(dots, label=axis_label("knee flexion", "deg"))
        if paper is not None:
            ax.plot(paper["x"], paper["y"], "o", mfc="none", color=RED, label="closed form at\n0, 10, 30, 60 deg")
            ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.75), fontsize=8)
        ax.plot(0, 0, "k+", ms=10)
        ax.annotate("pivot A", (0, 0), xytext=(4, -12), textcoords="offset points", fontsize=8)
        ax.set(
            xlabel=axis_label("forward of A", "mm"),
            ylabel=axis_label("above A", "mm"),
            title="Instantaneous centre of the knee",
            aspect="equal",
        )
    return figure


def ground_forces(runs: Mapping[str, xr.Dataset], period: float) -> Figure:
    """Heel and toe forces and their friction over the last stride of each run. Forces in N, period in s."""
    with style():
        figure, axes = plt.subplots(
            2, len(runs), figsize=(4.2 * len(runs), 4.6), sharex=True, sharey="row", squeeze=False
        )
        for column, (label, run) in zip(axes.T, runs.items(), strict=True):
            phase, shown = _last_stride(run, period)
            for foot, colour in (("heel", BLUE), ("toe", ORANGE)):
                column[0].plot(phase, run[f"{foot}_force"][shown], color=colour, label=foot)
                column[1].plot(phase, run[f"{foot}_friction"][shown], color=colour)
            column[0].set_title(label)
            column[1].set_xlabel(axis_label("stride", "%"))
        axes[0, 0].set_ylabel(axis_label("normal force", "N"))
        axes[1, 0].set_ylabel(axis_label("friction, forward", "N"))
        axes[0, 0].legend()
    return figure


def _last_stride(run: xr.Dataset, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Phase in % over the last stride, and which samples belong to it."""
    strides = run.time.values / period
    shown = strides >= strides[-1] - 1 - 1e-9
    return 100 * (strides[shown] - strides[shown][0]), shown


def ground_load(
    runs: Mapping[str, xr.Dataset], period: float, weight: float, measured: Float[np.ndarray, "2 phases"] | None = None
) -> Figure:
    """Total ground reaction over the last stride of runs, in body weights, with a measured one.

    Args:
        runs: results with the forces of heel and toe, by label.
        period: stride time in s.
        weight: body weight in N.
        measured: ground reaction in N, forward and upward, at equal phases over one stride.
    """
    with style():
        figure, axes = plt.subplots(2, 1, figsize=(7.5, 5.4), sharex=True, height_ratios=(2, 1))
        for label, run in runs.items():
            phase, shown = _last_stride(run, period)
            for ax, kind in zip(axes, ("force", "friction"), strict=True):
                ax.plot(phase, (run[f"heel_{kind}"] + run[f"toe_{kind}"])[shown] / weight, label=label, lw=1.2)
        if measured is not None:
            phase = np.linspace(0.0, 100.0, measured.shape[1])
            axes[0].plot(phase, measured[1] / weight, "--", color=GREY, label="measured, sound leg")
            axes[1].plot(phase, measured[0] / weight, "--", color=GREY)
        axes[0].set_ylabel("upward\n(body weights)")
        axes[1].set_ylabel("forward\n(body weights)")
        axes[1].set_xlabel(axis_label("stride", "%"))
        axes[0].legend()
    return figure


def scan_maps(scan: xr.Dataset, path: xr.Dataset | None = None) -> Figure:
    """Maps of rho, peak flexion and subharmonic order over the damper's k and c/k.

    Members that did not complete are hatched in the colours of their statuses, which the legend names.

    Args:
        scan: dimensions `k` (N/m) and `ratio` (c/k in s) with `rho`, `peak_flexion`, `order`, `status`.
        path: history of an optimisation over `damper.k` and `damper.c`, drawn on the map of rho.
    """
    with style():
        figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True)
        scan = scan.assign_coords(k=("k", scan.k.values / 1e3, {"units": "kN/m"}))
        rows = table(scan)
        rows = rows._replace(statuses=tuple((brief(sentence), colour) for sentence, colour in rows.statuses))
        for ax, name, low in ((axes[0], "rho", 0.93), (axes[1], "peak_flexion", None)):
            mesh = _map(ax, scan[name], rows, vmin=low)
            # without a label, which would look like that of the next y axis
            figure.colorbar(mesh, ax=ax, extend="min" if low else "neither")
        draw_orders(axes[2], functools.partial(_map, axes[2], scan["order"], rows))
        for ax, title in zip(
            axes, ("Correlation with the sound knee", "Peak flexion (deg)", "Period (T: one stride)"), strict=True
        ):
            ax.set(title=title, xlabel=axis_label("k", "kN/m"))
        axes[0].set_ylabel(axis_label("c/k", "s"))
        if path is not None:
            limits = axes[0].get_ylim()
            _draw_path(axes[0], path)
            axes[0].set(xlim=axes[1].get_xlim(), ylim=limits)  # a path may leave the map
        if named_artists(figure):
            legend(figure, ncols=4)
    return figure


def draw_orders(ax: Axes, draw: Callable[..., Any]) -> None:
    """Draws orders of gaits, 0 (irregular) to 4, in the colours of counts, with the periods beside them.

    `draw` is given these colours as keywords, and returns what it drew into `ax`.
    """
    count = len(PERIODS)
    bar = ax.figure.colorbar(draw(**stepped(np.arange(count + 1) - 0.5, COUNTS[:count])), ax=ax)
    bar.set_ticks(range(count), labels=PERIODS)
    bar.minorticks_off()


def _map(ax: Axes, x: xr.DataArray, rows: Table, **keywords: Any) -> Any:
    """One map of the members that completed, in the given colours, and of the others by their statuses."""
    along = ["k", "ratio"]
    empty = ~(np.isfinite(x.transpose(*rows.dims).values) & rows.completed.reshape(rows.shape)).T
    mesh = cells(ax, rows, along)(np.ma.masked_array(x.transpose(*rows.dims).values.T, empty), **keywords)
    draw_empty(ax, empty, rows, along)
    for axis, name in ((ax.xaxis, "k"), (ax.yaxis, "ratio")):
        set_scale(axis, rows.columns[name])
    ax.grid(visible=False)
    return mesh


def _draw_path(ax: Axes, path: xr.Dataset) -> None:
    """Draws, for every start, the points better than all earlier ones, from a circle to a star at the end.

    A star is open where the search ended at a gait that is not stable.
    """
    ax.plot([], [], "o-", color=RED, mfc="white", ms=5, lw=1.2, label="search from its start")
    ends: dict[bool, dict[str, Any]] = {True: {"mfc": RED, "mec": "white"}, False: {"mfc": "white", "mec": RED}}
    for stable, look in ends.items():
        ax.plot([], [], "*", ms=11, **look, label="end, at a stable gait" if stable else "end, at an unstable gait")
    for start in path.start.values:
        one = path.sel(start=start)
        steps = _improvements(one.objective.values)
        k, ratio = one["damper.k"].values[steps] / 1e3, (one["damper.c"] / one["damper.k"]).values[steps]
        ax.plot(k, ratio, "-", color="white", lw=2.2)
        ax.plot(k, ratio, "-", color=RED, lw=1.2)
        ax.plot(k[0], ratio[0], "o", color=RED, mfc="white", ms=5)
        ax.plot(k[-1], ratio[-1], "*", ms=11, clip_on=False, zorder=3, **ends[bool(one.allowed[steps[-1]] == 1)])


def _improvements(objective: Float[np.ndarray, " n"]) -> np.ndarray:
    """Indices of the first value, of those above all earlier ones, and of the last finite one."""
    values = np.where(np.isfinite(objective), objective, -np.inf)
    before = np.maximum.accumulate(np.concatenate([[-np.inf], values[:-1]]))
    better = np.flatnonzero(values > before)
    return np.unique(np.concatenate([[0], better, np.flatnonzero(np.isfinite(objective))[-1:]])).astype(int)
