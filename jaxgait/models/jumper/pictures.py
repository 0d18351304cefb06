"""Pictures of jumps."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.colors import ListedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from jaxgait.plot.panels import legend
from jaxgait.plot.style import BLUE, GREY, ORANGE, PALETTE, axis_label, cell_edges, style

LIGHTEST, ABOVE = 0.1, 1.5
"""Ends of the axis of landings: the lower one in body weights, the upper one relative to the largest force."""
PER_LINE = 3
"""Names of runs in a line of a legend."""
STUD_SPACING = 4.2
"""Width in cm of a single row of studs on the map of a sole: the spacing of the boot's rows."""
AROUND = 5.0
"""Margin in cm around the studs on a map of both soles."""
SLIPPING_FRACTION = 0.95
"""Fraction of the kinetic friction limit above which a stud counts as slipping on the map."""
MARKS = {"sticks": (BLUE, 1.8), "slips": (ORANGE, 1.8), "in the air": (GREY, 0.6)}
"""Colour and width of the rings round the studs."""
BAR_COLOURS = [BLUE] * 3 + [GREY] * 3 + [ORANGE] * 3
"""Colours of the bars of a stick figure in the plane: legs, trunk and head, arms (a robot has the first four)."""


def ground_reaction(runs: Mapping[str, xr.Dataset], weight: float) -> Figure:
    """Vertical and fore-aft ground reaction over time, in body weights, one line per run."""
    with style():
        figure, axes = plt.subplots(2, 1, figsize=(6.5, 5.0), sharex=True, height_ratios=(2, 1))
        for colour, (name, run) in zip(itertools.cycle(PALETTE), runs.items()):
            axes[0].plot(run.time, run.grf_z / weight, color=colour, label=name)
            axes[1].plot(run.time, run.grf_x / weight, color=colour)
        axes[0].axhline(1.0, color=GREY, lw=0.8, ls="--")
        axes[0].set(ylabel=axis_label("vertical force", "body weights"))
        axes[1].set(ylabel="fore-aft force\n(body weights)", xlabel=axis_label("time", "s"))
        axes[0].legend(loc="upper right")
    return figure


def landings(runs: Mapping[str, xr.Dataset], weight: float) -> Figure:
    """Vertical ground reaction of landings in body weights (logarithmic) and height of the centre of mass over time."""
    with style():
        figure, axes = plt.subplots(2, 1, figsize=(6.5, 5.0), sharex=True, height_ratios=(3, 2))
        for colour, (name, run) in zip(itertools.cycle((GREY, ORANGE, BLUE)), runs.items()):
            force = run.grf_z.where(run.grf_z > 0.0)
            axes[0].plot(run.time, force / weight, color=colour, label=name, lw=1.2)
            axes[1].plot(run.time, run.com_z, color=colour)
        axes[0].axhline(1.0, color="black", lw=0.8, ls="--")
        axes[0].set(ylabel=axis_label("vertical force", "body weights"), yscale="log")
        axes[0].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        peak = max((float(run.grf_z.max()) for run in runs.values()), default=0.0) / weight
        axes[0].set_ylim(LIGHTEST, max(ABOVE * peak, 100.0 * LIGHTEST))
        legend(figure, "outside upper left", ncols=PER_LINE)
        axes[1].set(ylabel=axis_label("height of the CoM", "m"), xlabel=axis_label("time", "s"))
    return figure


def postures(bodies: Float[np.ndarray, "frames bars 2 2"], time: Float[np.ndarray, " frames"]) -> Figure:
    """Stick figures side by side, each above its time. Positions in m, times in s."""
    gap = 0.85  # m between figures
    with style():
        figure, axis = plt.subplots(figsize=(7.0, 3.6))
        axis.axhline(0.0, color="black", lw=1.0)
        for k, (frame, t) in enumerate(zip(bodies, time, strict=True)):
            for colour, bar in zip(itertools.cycle(BAR_COLOURS), frame):
                axis.plot(bar[:, 0] + gap * k, bar[:, 1], "-o", color=colour, lw=2.2, ms=2.5)
            axis.text(gap * k + 0.1, -0.06, f"{t:.2f} s", ha="center", va="top", fontsize=8)
        axis.set(aspect="equal", ylabel=axis_label("z", "m"), ylim=(-0.2, None), xticks=[])
        axis.grid(False)
        axis.spines["bottom"].set_visible(False)
    return figure


def sole_map(run: xr.Dataset, rows: tuple[float, ...], friction: float) -> Figure:
    """Normal force of each row of studs over time, and whether it sticks, slips or hovers.

    Rows in m ahead of the ankle; the coefficient of friction has no dimension.
    """
    edges = cell_edges(100.0 * np.array(rows), alone=STUD_SPACING)
    touching = run.depth.values > 0.0
    sliding = np.abs(run.tangential.values) > SLIPPING_FRACTION * friction * run.normal.values
    state = np.where(touching, np.where(sliding, 2, 1), 0)
    with style():
        figure, axes = plt.subplots(2, 1, figsize=(7.0, 5.0), sharex=True)
        load = np.where(touching, run.normal.values, np.nan)  # white in the air; roots show light loads, too
        mesh = axes[0].pcolormesh(
            cell_edges(run.time.values), edges, load.T, cmap="viridis", norm=PowerNorm(0.5, vmin=0.0), rasterized=True
        )
        figure.colorbar(mesh, ax=axes[0], label=axis_label("normal force of one stud", "N"))
        colours = ListedColormap(["white", BLUE, ORANGE])
        mesh = axes[1].pcolormesh(
            cell_edges(run.time.values), edges, state.T, cmap=colours, vmin=-0.5, vmax=2.5, rasterized=True
        )
        bar = figure.colorbar(mesh, ax=axes[1], ticks=[0, 1, 2])
        bar.ax.set_yticklabels(["in the air", "sticks", "slips"])
        for axis in axes:
            axis.set_ylabel(axis_label("ahead of the ankle", "cm"))
            axis.grid(False)
        axes[1].set_xlabel(axis_label("time", "s"))
    return figure


def foot_maps(
    runs: Mapping[str, xr.Dataset], times: Sequence[float], positions: Float[np.ndarray, "studs 2"], friction: float
) -> Figure:
    """Both soles from above, one row per run: load (area and colour) of each stud, stick or slip.

    Args:
        runs: jumps of the spatial jumper.
        times: instants in s.
        positions: of the studs in the soles' frame, (ahead, left of the middle between the feet) in m, as in the runs.
        friction: kinetic friction coefficient.
    """
    top = max(float(run.normal.max()) for run in runs.values()) or 1.0
    across, ahead = -100.0 * positions[:, 1], 100.0 * positions[:, 0]
    xlim, ylim = ((float(x.min()) - AROUND, float(x.max()) + AROUND) for x in (across, ahead))
    with style():
        figure, axes = plt.subplots(
            len(runs), len(times), figsize=(1.2 * len(times) + 1.4, 1.75 * len(runs) + 0.7), sharex=True, sharey=True
        )
        axes = np.reshape(axes, (len(runs), len(times)))
        for row, (name, run) in zip(axes, runs.items(), strict=True):
            for axis, t in zip(row, times, strict=True):
                load = run.normal.sel(time=t, method="nearest").values
                pull = np.linalg.norm(run.tangential.sel(time=t, method="nearest").values, axis=-1)
                slips, pressed = pull > SLIPPING_FRACTION * friction * load, load > 0.0
                edges = np.where(slips, ORANGE, BLUE)
                axis.scatter(across[~pressed], ahead[~pressed], s=8, facecolors="none", edgecolors=GREY, linewidths=0.6)
                shown = axis.scatter(
                    across[pressed],
                    ahead[pressed],
                    s=25.0 + 95.0 * load[pressed] / top,
                    c=load[pressed],
                    edgecolors=edges[pressed],
                    linewidths=1.8,
                    cmap="Greys",
                    norm=PowerNorm(0.5, vmin=0.0, vmax=top),
                )
                axis.set(aspect="equal", xlim=xlim, ylim=ylim)
                axis.xaxis.set_major_locator(MaxNLocator(2))
                axis.grid(False)
            row[0].set_ylabel(f"{name}\n" + axis_label("ahead of the ankle", "cm"))
        for upper, lower, t in zip(axes[0], axes[-1], times, strict=True):
            upper.set_title(f"{t:g} s")
            lower.set_xlabel(axis_label("right", "cm"))
        figure.colorbar(shown, ax=axes, label=axis_label("normal force of one stud", "N"), shrink=0.8)
        marks = [Line2D([], [], marker="o", ls="", mfc="none", mec=c, mew=w) for c, w in MARKS.values()]
        figure.legend(marks, list(MARKS), loc="outside upper center", ncols=3)
    return figure
