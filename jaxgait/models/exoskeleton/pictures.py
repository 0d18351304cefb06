"""Pictures of a walking exoskeleton from `measures.histories`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from jaxgait.checks import listed, shown
from jaxgait.models.exoskeleton.scene import step_numbers
from jaxgait.plot.style import BLUE, GREY, ORANGE, PALETTE, axis_label, style

LEGS = {"left leg": BLUE, "right leg": ORANGE, "torso": GREY}
_PARTS = ("left leg", "left leg", "right leg", "right leg", "torso")
_ACTUATORS = ("M_phi", "M_psi", "F")
WIDEST, HIGHEST, LABELS = 9.2, 7.0, (0.9, 1.1)
"""Of a kinogram's panels together, and room for labels across and up, in inches."""
TALL, MARGIN = 1.65, 0.1
"""Height of a kinogram seen from the side, and room around the joints, in m."""
Group = Sequence[tuple[str, int]]


def actuator_curves(data: xr.Dataset, groups: Mapping[str, Group]) -> Figure:
    """Actuator moments or forces over time, one panel for each group.

    Args:
        data: histories.
        groups: title of each panel with its curves: (variable, link), with the variables "M_phi", "M_psi" and "F".

    Raises:
        ValueError: for anything but lists of curves, and for curves that the histories do not have.
    """
    for title, curves in groups.items():
        _check_curves(data, title, curves)
    with style():
        figure, axes = plt.subplots(len(groups), 1, figsize=(7, 2.3 * len(groups)), sharex=True, squeeze=False)
        for ax, (title, curves) in zip(axes[:, 0], groups.items(), strict=True):
            for i, (name, link) in enumerate(curves):
                ax.plot(data.time, data[name].sel(link=link), color=PALETTE[i], label=symbol(name, link))
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


def symbol(name: str, link: int) -> str:
    """Mathematical symbol of an actuator by its variable and link."""
    greek = {"M_phi": rf"M_{{{link}}}^{{\varphi}}", "M_psi": rf"M_{{{link}}}^{{\psi}}", "F": f"F_{{{link}}}"}
    return f"${greek[name]}$"


def ground_reaction(data: xr.Dataset) -> Figure:
    """Ground reaction over time next to the path of the centre of pressure."""
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), width_ratios=(1.5, 1))
        names = {"x": "forward", "y": "to the left", "z": "upward"}
        for i, axis in enumerate(data.axis.values):
            left.plot(data.time, data.reaction.sel(axis=axis), color=PALETTE[i], label=f"$R_{axis}$, {names[axis]}")
        left.axhline(0, color="k", lw=0.5)
        left.set(xlabel=axis_label("time", "s"), ylabel=axis_label("ground reaction", "N"))
        left.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
        point = data.pressure_point
        right.plot(point.sel(ground_axis="x"), point.sel(ground_axis="y"), color=PALETTE[3])
        right.plot(0, 0, "k^", ms=6, label="ankle")
        right.axvspan(-0.05, 0.2, color=GREY, alpha=0.2, lw=0, label="a real foot, 25 cm")
        right.set(xlabel=axis_label("x", "m"), ylabel=axis_label("y", "m"), title="centre of pressure")
        right.set_aspect("equal", adjustable="datalim")
        right.legend(loc="upper left")
    return figure


def kinogram(data: xr.Dataset, frames: int = 17) -> Figure:
    """Postures at equal intervals, seen from the side and from above.

    Args:
        data: histories of the mode "gait".
        frames: number of postures.
    """
    picks = np.linspace(0, data.sizes["time"] - 1, frames).round().astype(int)
    x, y = data.joints.sel(axis="x"), data.joints.sel(axis="y")
    wide, deep = (float(across.max() - across.min()) + 2.0 * MARGIN for across in (x, y))
    scale = min(WIDEST / wide, HIGHEST / (TALL + deep))
    size = (scale * wide + LABELS[0], scale * (TALL + deep) + LABELS[1])
    with style():
        figure, (side, top) = plt.subplots(2, 1, figsize=size, sharex=True, height_ratios=(TALL, deep))
        figure.align_ylabels()
        for i in picks:
            fade = 0.35 + 0.65 * (i / picks[-1])
            draw_posture(side, data, int(i), alpha=fade)
        for leg, colour in (("left leg", LEGS["left leg"]), ("right leg", LEGS["right leg"])):
            foot = _foot(data, leg)
            top.plot(foot.sel(axis="x"), foot.sel(axis="y"), color=colour, lw=1.2)
        hip = data.joints.sel(link=2, end="far")
        top.plot(hip.sel(axis="x"), hip.sel(axis="y"), color="k", lw=1, ls=":")
        side.axhline(0, color="k", lw=0.8)
        around = lambda across: (float(across.min()) - MARGIN, float(across.max()) + MARGIN)
        side.set(ylabel=axis_label("height z", "m"), xlim=around(x), ylim=(1.6 - TALL, 1.6))
        side.set_aspect("equal")
        top.set_aspect("equal")
        top.set(
            xlabel=axis_label("x", "m"),
            ylabel=axis_label("y", "m"),
            ylim=around(y),
            title="seen from above: feet and hip (dotted)",
        )
        side.legend(handles=leg_handles(), loc="upper left", ncols=3)
    return figure


def draw_posture(ax: Axes, data: xr.Dataset, i: int, *, alpha: float = 1.0) -> list[Line2D]:
    """Draws the links at sample `i`, in m, from the side; each anatomical leg keeps its colour."""
    lines, ends_of = [], data.joints.values[i][:, :, [0, -1]].transpose(0, 2, 1)  # of links: forward and upward, 2 ends
    for part, ends in zip(_parts(data, i), ends_of, strict=True):
        (line,) = ax.plot(*ends, "o-", color=LEGS[part], lw=1.6, ms=2.5, alpha=alpha, solid_capstyle="round")
        lines.append(line)
    return lines


def leg_handles() -> list[Line2D]:
    """Legend handles of the body's parts."""
    return [Line2D([], [], color=c, lw=2, label=name) for name, c in LEGS.items()]


def _step(data: xr.Dataset) -> np.ndarray:
    """Number of the step at each sample (0 with one fixed foot)."""
    return step_numbers(data, data.attrs["mode"], data.attrs["stride_time_s"])


def _parts(data: xr.Dataset, i: int) -> tuple[str, ...]:
    """Part of the body of each link at sample `i`; the legs exchange roles at every step."""
    swap = {"left leg": "right leg", "right leg": "left leg"} if _step(data)[i] % 2 else {}
    return tuple(swap.get(part, part) for part in _PARTS[: data.sizes["link"]])


def _foot(data: xr.Dataset, leg: str) -> xr.DataArray:
    """Path of the foot of an anatomical leg: the base in stance, the far end of link 4 in swing."""
    stands = (_step(data) % 2 == 1) == (leg == "right leg")
    base, swing = data.joints.sel(link=1, end="proximal"), data.joints.sel(link=4, end="far")
    return xr.where(xr.DataArray(stands, dims="time"), base, swing)
