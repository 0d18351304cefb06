"""Pictures of a walking exoskeleton from `measures.histories`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from jaxgait.models.exoskeleton.scene import AXES, exchanged
from jaxgait.plot.runs import looks
from jaxgait.plot.style import BLUE, GREY, ORANGE, PALETTE, axis_label, style
from jaxgait.support.checks import count, listed, shown

PART_COLOURS = {"left leg": BLUE, "right leg": ORANGE, "torso": GREY}
_PARTS = ("left leg", "left leg", "right leg", "right leg", "torso")
_ACTUATORS = ("M_phi", "M_psi", "F")
WIDEST, HIGHEST = 9.2, 7.0
"""Width and height in inches that a kinogram's panels together do not exceed."""
LABELS = (0.9, 1.1)
"""Space in inches for labels, across and up."""
MARGIN = 0.1
"""Margin in m around the joints of a kinogram."""
LEGEND = 0.15
"""Space in m for the legend above the joints seen from the side."""
Group = Sequence[tuple[str, int]]


def actuator_curves(data: xr.Dataset, groups: Mapping[str, Group]) -> Figure:
    """Actuator moments or forces over time, one panel for each group.

    Args:
        data: histories.
        groups: title of each panel with its curves: (variable, link), with the variables "M_phi", "M_psi" and "F".

    Raises:
        ValueError: for anything but lists of curves, for curves that the histories do not have, and for moments and
            forces in one panel.
    """
    for title, curves in groups.items():
        _check_curves(data, title, curves)
    with style():
        figure, axes = plt.subplots(len(groups), 1, figsize=(7, 2.3 * len(groups)), sharex=True, squeeze=False)
        for ax, (title, curves) in zip(axes[:, 0], groups.items(), strict=True):
            for (name, link), look in zip(curves, looks(len(curves)), strict=True):
                ax.plot(data.time, data[name].sel(link=link), label=symbol(name, link), **look)
            ax.axhline(0, color="k", lw=0.5)
            ax.set_title(title, loc="left")
            first = curves[0][0]
            ax.set_ylabel(axis_label("axial force" if first == "F" else "moment", data[first].attrs["units"]))
            ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        axes[-1, 0].set_xlabel(axis_label("time", "s"))
    return figure


def _check_curves(data: xr.Dataset, title: str, curves: Group) -> None:
    if not (isinstance(curves, list | tuple) and curves and all(isinstance(x, list | tuple) for x in curves)):
        raise ValueError(f'give the curves of {title!r} as a list such as [("M_psi", 1)], got {shown(curves)}')
    for curve in curves:
        if len(curve) != 2 or curve[0] not in _ACTUATORS or curve[0] not in data or curve[1] not in data.link:
            links = ", ".join(map(str, data.link.values))
            raise ValueError(
                f"{title!r} has an unknown curve {curve!r}: give a variable ({listed(_ACTUATORS)}) and a link ({links})"
            )
    if len(units := sorted({str(data[name].attrs["units"]) for name, _ in curves})) > 1:
        raise ValueError(f"{title!r} has curves in {listed(units, 'and')}, which share no axis: give each a panel")


def symbol(name: str, link: int) -> str:
    """Mathematical symbol of an actuator by its variable and link."""
    greek = {"M_phi": rf"M_{{{link}}}^{{\varphi}}", "M_psi": rf"M_{{{link}}}^{{\psi}}", "F": f"F_{{{link}}}"}
    return f"${greek[name]}$"


def ground_reaction(data: xr.Dataset) -> Figure:
    """Ground reaction over time next to the path of the centre of pressure, in the plane over time."""
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), width_ratios=(1.5, 1))
        for i, (axis, name) in enumerate(zip(data.axis.values, AXES[data.sizes["axis"]], strict=True)):
            left.plot(data.time, data.reaction.sel(axis=axis), color=PALETTE[i], label=f"$R_{axis}$, {name}")
        left.axhline(0, color="k", lw=0.5)
        left.set(xlabel=axis_label("time", "s"), ylabel=axis_label("ground reaction", "N"))
        left.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        point, spatial = data.pressure_point, "y" in data.ground_axis
        path = point.sel(ground_axis="y") if spatial else data.time
        right.plot(point.sel(ground_axis="x"), path, color=PALETTE[3])
        right.plot(0, 0, "k^", ms=6, label="ankle")
        right.axvspan(-0.05, 0.2, color=GREY, alpha=0.2, lw=0, label="a real foot, 25 cm")
        right.set(xlabel=axis_label("x", "m"), ylabel=axis_label(*(("y", "m") if spatial else ("time", "s"))))
        right.set_title("centre of pressure")
        if spatial:
            right.set_aspect("equal", adjustable="datalim")
        right.legend(loc="upper left")
    return figure


def kinogram(data: xr.Dataset, frames: int = 17) -> Figure:
    """Postures at equal intervals, seen from the side and, in space, from above.

    Args:
        data: histories of the mode "gait".
        frames: number of postures.

    Raises:
        ValueError: for an impossible number of postures.
    """
    picks = np.linspace(0, data.sizes["time"] - 1, count("frames", frames)).round().astype(int)
    x, *aside, z = ((float(v.min()) - MARGIN, float(v.max()) + MARGIN) for _, v in data.joints.groupby("axis"))
    z = (z[0], z[1] + LEGEND)
    heights = [high - low for low, high in (z, *aside)]
    scale = min(WIDEST / (x[1] - x[0]), HIGHEST / sum(heights))
    size = (scale * (x[1] - x[0]) + LABELS[0], scale * sum(heights) + LABELS[1])
    with style():
        figure, axes = plt.subplots(len(heights), 1, figsize=size, sharex=True, height_ratios=heights, squeeze=False)
        figure.align_ylabels()
        side, *above = axes[:, 0]
        for i, fade in zip(picks, np.linspace(1.0, 0.35, frames)[::-1], strict=True):
            draw_posture(side, data, int(i), alpha=fade)
        side.axhline(0, color="k", lw=0.8)
        side.set(ylabel=axis_label(f"height {data.axis.values[-1]}", "m"), xlim=x, ylim=z, aspect="equal")
        side.legend(handles=leg_handles(data), loc="upper left", ncols=3)
        for top, y in zip(above, aside, strict=True):
            _draw_paths(top, data)
            top.set(ylabel=axis_label("y", "m"), ylim=y, aspect="equal", title="seen from above: feet and hip (dotted)")
        axes[-1, 0].set_xlabel(axis_label("x", "m"))
    return figure


def _draw_paths(ax: Axes, data: xr.Dataset) -> None:
    """Draws the paths of the feet and of the hip, in m, seen from above."""
    for leg in ("left leg", "right leg"):
        foot = _foot(data, leg)
        ax.plot(foot.sel(axis="x"), foot.sel(axis="y"), color=PART_COLOURS[leg], lw=1.2)
    hip = data.joints.sel(link=2, end="far")
    ax.plot(hip.sel(axis="x"), hip.sel(axis="y"), color="k", lw=1, ls=":")


def draw_posture(ax: Axes, data: xr.Dataset, i: int, *, alpha: float = 1.0) -> list[Line2D]:
    """Draws the links at sample `i`, in m, from the side; each anatomical leg keeps its colour."""
    lines, ends_of = [], data.joints.values[i][:, :, [0, -1]].transpose(0, 2, 1)  # of links: forward and upward, 2 ends
    for part, ends in zip(_parts(data, i), ends_of, strict=True):
        (line,) = ax.plot(*ends, "o-", color=PART_COLOURS[part], lw=1.6, ms=2.5, alpha=alpha, solid_capstyle="round")
        lines.append(line)
    return lines


def leg_handles(data: xr.Dataset) -> list[Line2D]:
    """Legend handles of the body's parts, without a torso if it has none."""
    return [Line2D([], [], color=PART_COLOURS[name], lw=2, label=name) for name in dict.fromkeys(_parts(data, 0))]


def _exchanged(data: xr.Dataset) -> np.ndarray:
    return exchanged(data, data.attrs["mode"], data.attrs["stride_time_s"])


def _parts(data: xr.Dataset, i: int) -> tuple[str, ...]:
    """Part of the body of each link at sample `i`; the legs exchange roles at every step."""
    swap = {"left leg": "right leg", "right leg": "left leg"} if _exchanged(data)[i] else {}
    return tuple(swap.get(part, part) for part in _PARTS[: data.sizes["link"]])


def _foot(data: xr.Dataset, leg: str) -> xr.DataArray:
    """Path of the foot of an anatomical leg: the base in stance, the far end of link 4 in swing."""
    stands = _exchanged(data) == (leg == "right leg")
    base, swing = data.joints.sel(link=1, end="proximal"), data.joints.sel(link=4, end="far")
    return xr.where(xr.DataArray(stands, dims="time"), base, swing)
