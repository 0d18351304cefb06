"""A measured walk on a sheet: strides, forces, joint moments, stick figures, contacts, gaps."""

from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from jaxgait.motion.capture.dynamics import MOMENTS, POWERS
from jaxgait.motion.capture.tables import SPATIOTEMPORAL, side_means, spatiotemporal
from jaxgait.motion.capture.walk import LOADS, Walk
from jaxgait.motion.embedded import REFERENCE_GAITS, joint_loads
from jaxgait.motion.norms import GRAVITY
from jaxgait.motion.stride import SIGNALS, sampled
from jaxgait.motion.verdict import DISPLAY, Verdict
from jaxgait.plot.motion import BAND, NAMES, PATH, SHIFTED, assumed, band
from jaxgait.plot.style import BLUE, GREEN, GREY, RED, axis_label, style

PERCENT = np.linspace(0.0, 100.0, 101)
LONGEST_NAME = 100
"""Most characters of a trial's name above its bar."""
MOST_GAPS = 16
"""Largest number of markers whose gaps are shown."""
FIGURE_INTERVALS = 12
"""Number of intervals between the stick figures of a stride."""
FIGURE_SPACING = 0.5
"""Distance of the hips of neighbouring stick figures in m: so far apart that they do not overlap."""


def sheet(walk: Walk, verdict: Verdict) -> Figure:
    """A measured walk, with the verdict on its mean stride, on one sheet."""
    with style():
        loaded = 0 if walk.dynamics is None else 2
        weighed, gapped = LOADS[1] in walk.mean, any(leg.gaps for leg in walk.legs)
        heights = (*((2 + loaded) * (2.5,)), 2.4, 2.5 if weighed or gapped else 1.6)  # inches
        figure = plt.figure(figsize=(11.0, sum(heights)))
        grid = figure.add_gridspec(4 + loaded, 6, height_ratios=heights)
        axes = [figure.add_subplot(grid[i // 3, 2 * (i % 3) : 2 * (i % 3) + 2]) for i in range(6)]
        for ax, k in zip(axes, SIGNALS, strict=False):
            _curves(ax, walk, verdict, k)
        _forces(axes[-1], walk) if weighed else _parameters(axes[-1], walk)
        for i, k in enumerate((*MOMENTS, *POWERS) if loaded else ()):
            _joint_load(figure.add_subplot(grid[2 + i // 3, 2 * (i % 3) : 2 * (i % 3) + 2]), walk, k)
        _sticks(figure.add_subplot(grid[2 + loaded, :]), walk)
        below = 4 if weighed else 6  # columns beside the parameters
        _contacts(figure.add_subplot(grid[3 + loaded, : below // 2 if gapped else below]), walk)
        if gapped:
            _gaps(figure.add_subplot(grid[3 + loaded, below // 2 : below]), walk)
        if weighed:
            _parameters(figure.add_subplot(grid[3 + loaded, 4:]), walk)
        handles, labels = axes[[*SIGNALS].index("knee_rad")].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        kept = f"{len(walk.kept)} of {len(walk.strides)} strides"
        figure.suptitle(
            f"{walk.title}: {kept}, drive at {walk.speed:.2f} m/s ({walk.speed_source}), "
            f"stride time {walk.stride_time:.3f} s",
            fontsize=11,
        )
    return figure


def _curves(ax: Axes, walk: Walk, verdict: Verdict, signal: str) -> None:
    unit, factor = DISPLAY[SIGNALS[signal]]
    mean = walk.mean[signal]
    fit = factor * sampled(verdict.signals[signal].series, 100)
    ax.set(xlim=(0, 100), xlabel=axis_label("stride", "%"), ylabel=unit)
    if walk.assumed_path is not None and signal in PATH:
        ax.plot(PERCENT, np.append(fit, fit[0]), color=GREEN, lw=1.6, ls="--")
        ax.set_title(f"{NAMES[signal]}\n{assumed(walk.assumed_path.gait)}", fontsize=9)
        return
    low, high = band(signal, float(mean[:-1].mean()))
    steps = np.linspace(0.0, 100.0, low.size)
    ax.fill_between(steps, factor * low, factor * high, color=GREY, alpha=0.35, lw=0, label=BAND)
    for i, stride in enumerate(s for s in walk.strides if s.reason and signal in s.signals):
        label = None if i else "dropped strides"
        ax.plot(PERCENT, factor * stride.signals[signal], color=RED, lw=0.6, ls=":", label=label)
    several = len(walk.kept) > 1
    look = (
        {"color": BLUE, "lw": 0.4, "alpha": 0.5} if several else {"color": "black", "lw": 1.0, "ls": ":", "zorder": 3}
    )
    for i, stride in enumerate(walk.kept):  # a single one lies on the drive
        ax.plot(PERCENT, factor * stride.signals[signal], **look, label=None if i else "kept strides")
    if walk.deviation:
        off = walk.deviation[signal]
        ends = factor * (mean - off), factor * (mean + off)
        ax.fill_between(PERCENT, *ends, color=BLUE, alpha=0.3, lw=0, zorder=2, label="mean, 1 SD")
    label = f"drive, {verdict.harmonics} harmonics"
    ax.plot(PERCENT, np.append(fit, fit[0]), color=GREEN, lw=1.2, label=label)
    if walk.toe_off is not None:
        ax.axvline(100 * walk.toe_off, color=GREY, lw=0.8, ls="--", label="toe-off")
    ax.set_title(NAMES[signal] + (f"\n{SHIFTED}" if signal == "hip_y_m" else ""), fontsize=9)


def _forces(ax: Axes, walk: Walk) -> None:
    ax.set_title("ground reaction", fontsize=9)
    ax.set(xlim=(0, 100), xlabel=axis_label("stride", "%"))
    mass = walk.subject.get("mass_kg")
    scale = 1.0 if mass is None else 1.0 / (float(mass) * GRAVITY)
    for name, color, label in ((LOADS[1], BLUE, "upward"), (LOADS[0], GREEN, "forward")):
        ax.plot(PERCENT, scale * walk.mean[name], color=color, lw=1.4, label=label)
        column = LOADS.index(name)
        for load in (s.load for s in walk.kept if s.load is not None):
            ax.plot(PERCENT, scale * load[:, column], color=color, lw=0.5, alpha=0.5)
    ax.axhline(0.0, color=GREY, lw=0.6)
    ax.set_ylabel("body weights" if scale != 1.0 else "N")
    ax.legend(fontsize=7, loc="upper right")


def _joint_load(ax: Axes, walk: Walk, name: str) -> None:
    found = walk.dynamics
    assert found is not None
    joint, kind, unit = name.split("_", 2)
    gaits = [curves[name] for curves in joint_loads().values()]
    band_of = f"(grey: {len(gaits)} of the {len(REFERENCE_GAITS)} embedded gaits)"
    ax.fill_between(PERCENT, np.min(gaits, axis=0), np.max(gaits, axis=0), color=GREY, alpha=0.35, lw=0)
    for curves in found.strides:
        ax.plot(PERCENT, curves[name], color=BLUE, lw=0.6, alpha=0.7)
    mean = found.mean[name]
    if found.deviation:
        off = found.deviation[name]
        ax.fill_between(PERCENT, mean - off, mean + off, color=BLUE, alpha=0.2, lw=0)
    ax.plot(PERCENT, mean, color=BLUE, lw=1.6)
    ax.axhline(0.0, color=GREY, lw=0.6)
    if walk.toe_off is not None:
        ax.axvline(100 * walk.toe_off, color=GREY, lw=0.8, ls="--")
    sense = {"hip": "flexion", "knee": "flexion", "ankle": "dorsiflexion"}[joint] if kind == "moment" else "generated"
    ax.set_title(f"{joint} {kind}, {sense} positive\n{band_of}", fontsize=9)
    ax.set(
        xlim=(0, 100),
        xlabel=axis_label("stride", "%") if kind == "power" else "",
        ylabel=unit.replace("_", "/"),
    )


def _sticks(ax: Axes, walk: Walk) -> None:
    """The leg at even times, side by side."""
    stride = walk.kept[0]
    chain = [k for k in ("hip", "knee", "ankle", "heel", "toe", "ankle") if k in stride.points]
    at = np.linspace(0, 100, FIGURE_INTERVALS + 1).astype(int)
    for column, i in enumerate(at):
        x = [stride.points[k][i, 0] + FIGURE_SPACING * column for k in chain]
        y = [stride.points[k][i, 1] for k in chain]
        stands = walk.toe_off is not None and i / 100.0 < walk.toe_off
        ax.plot(x, y, color=BLUE if stands else GREY, lw=1.3, marker="o", ms=2.2)
    ax.axhline(0.0, color="black", lw=0.8)
    ax.set_xticks(FIGURE_SPACING * np.arange(at.size), [f"{i}" for i in at])
    ax.set(aspect="equal", xlabel=axis_label("stride", "%"), ylabel=axis_label("height", "m"))
    ax.margins(x=0.02, y=0.12)
    ax.set_title("first kept stride, side by side (blue: in contact with the floor)", fontsize=9)


def _contacts(ax: Axes, walk: Walk) -> None:
    for row, trial in enumerate(walk.trials):
        events = trial.own.events
        for stride in (s for s in walk.strides if s.trial == trial.name):
            color = RED if stride.reason else BLUE
            if stride.toe_off is None:
                ax.barh(row, stride.period, left=stride.start, height=0.5, fill=False, edgecolor=color, alpha=0.8)
                continue
            stance = stride.toe_off * stride.period
            ax.barh(row, stance, left=stride.start, height=0.5, color=color, alpha=0.8)
            swing, toe_off = stride.period - stance, stride.start + stance
            ax.barh(row, swing, left=toe_off, height=0.5, color=color, alpha=0.25)
        ax.plot(events.strikes, np.full(events.strikes.size, row), "k|", ms=14, mew=1.5, zorder=4)
        name = textwrap.shorten(trial.name, LONGEST_NAME, placeholder="...")
        ax.text(0.01, row + 0.3, name, transform=ax.get_yaxis_transform(), fontsize=7, va="bottom")
    ax.set_yticks([])
    ax.set_ylim(-0.6, len(walk.trials) - 0.2)
    ax.use_sticky_edges = False  # not to bars: the first heel strike lies on one
    ax.margins(x=0.03)
    ax.set_xlabel(axis_label("time", "s"))
    unknown = any(stride.toe_off is None for stride in walk.strides)
    title = "stance (dark), swing (light), heel strikes; red: dropped" + unknown * "\noutlined: toe-off unknown"
    ax.set_title(title, fontsize=9)


def _parameters(ax: Axes, walk: Walk) -> None:
    """The spatiotemporal parameters as a table: mean and standard deviation of the kept strides."""
    means = side_means(spatiotemporal(walk)).isel(side=0)
    known = [name for name in SPATIOTEMPORAL if np.isfinite(means[name])]
    cells = []
    for name in known:
        spread = float(means[f"{name}_sd"])
        deviation = f" ± {spread:.2g}" if np.isfinite(spread) else ""
        deviation = " (given)" if name == "speed" and walk.assumed_path else deviation
        cells.append([name.replace("_", " "), f"{float(means[name]):.4g}{deviation}", SPATIOTEMPORAL[name].units])
    table = ax.table(cells, cellLoc="left", colWidths=(0.42, 0.38, 0.2), edges="horizontal", bbox=Bbox.unit())
    table.auto_set_font_size(False)
    table.set_fontsize(7.5)
    for cell in table.get_celld().values():
        cell.set_edgecolor(GREY)
        cell.set_linewidth(0.4)
    ax.set_axis_off()
    shown = "mean and SD of the kept strides" if means.strides > 1 else "the kept stride"
    lengths = "stride length, speed: those of the footprints"
    lengths = "stride length: given speed times stride time" if walk.assumed_path else lengths
    ax.set_title(f"{shown}\n({lengths})", fontsize=9)


def _gaps(ax: Axes, walk: Walk) -> None:
    rows = [(leg.recording.time, name, gap) for leg in walk.legs for name, gap in leg.gaps.items()]
    more = f", and {len(rows) - MOST_GAPS} more" if len(rows) > MOST_GAPS else ""
    ax.set_title(f"gaps of the leg's markers{more}", fontsize=9)
    rows = rows[:MOST_GAPS]
    for row, (time, _, gap) in enumerate(rows):
        ax.fill_between(time, row - 0.4, row + 0.4, where=gap > 0, color=RED, step="mid", lw=0.5)
    ax.set_xlim(min(time[0] for time, _, _ in rows), max(time[-1] for time, _, _ in rows))
    ax.set_yticks(range(len(rows)), [name[:14] for _, name, _ in rows], fontsize=6.5)
    ax.set_xlabel(axis_label("time", "s"))
