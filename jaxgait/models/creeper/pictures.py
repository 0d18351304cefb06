"""Pictures of the creeping robot."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from jaxgait.models.creeper.model import Creeper
from jaxgait.plot.style import BLUE, GREY, ORANGE, RED, axis_label

__all__ = ["draw_robot"]

_MM = 1e3
_PROFILE = 18.0
"""Length in mm of an arrow for 1 m/s."""


def draw_robot(ax: Axes, robot: Creeper, sample: xr.Dataset, window: tuple[float, float]) -> None:
    """Draws the robot in its vessel at one instant, side view in mm.

    Gripping pads are solid and touch the wall; liquid pads are thin outlines. Arrows show the flow ahead of the robot
    (a power-law profile) and, to the same scale, its direction in the gap.

    Args:
        ax: where to draw.
        robot: the model.
        sample: a result of `simulate` at one time.
        window: part of the vessel to show, in mm.
    """
    radius, pipe = _MM * robot.diameter / 2, _MM * (robot.diameter / 2 + robot.clearance)
    length = _MM * robot.length
    front = _MM * float(sample.tip) - length
    rear = _MM * float(sample.x) - length
    for side in (-1, 1):
        wall = Rectangle((window[0], side * pipe - (0 if side > 0 else 2.5)), window[1] - window[0], 2.5)
        wall.set(facecolor="#F2C9C4", edgecolor="#B5534A", lw=0.8)
        ax.add_patch(wall)
    _draw_actuator(ax, rear + length, front, radius)
    for left, coil, name in ((rear, float(sample.coil_rear), "rear"), (front, float(sample.coil_front), "front")):
        body = FancyBboxPatch((left + 2, -radius + 2), length - 4, 2 * radius - 4, boxstyle="round,pad=2", zorder=3)
        body.set(facecolor="#DCE6EE", edgecolor="#30506A", lw=1.2)
        ax.add_patch(body)
        ax.text(left + length / 2, 0, name, ha="center", va="center", fontsize=8, zorder=4)
        _draw_pads(ax, left, length, radius, pipe, coil)
    _draw_flow(ax, float(sample.flow), pipe, window)
    ax.set(xlim=window, ylim=(-pipe - 3.5, pipe + 3.5), xlabel=axis_label("position along the vessel", "mm"), yticks=[])
    ax.set_aspect("equal")
    ax.grid(False)
    ax.spines["left"].set_visible(False)


def _draw_actuator(ax: Axes, start: float, end: float, radius: float) -> None:
    shaft = start + 0.55 * (end - start)
    ax.plot([start, shaft], [0, 0], color=GREY, lw=4, solid_capstyle="butt", zorder=2)
    turns = np.linspace(0.0, 1.0, 80)
    for offset in (-0.45, 0.0, 0.45):
        coil = radius * (offset + 0.12 * np.sin(2 * np.pi * 7 * turns))
        ax.plot(shaft + turns * (end - shaft), coil, color=ORANGE, lw=0.9, zorder=2)
    ax.plot([shaft, shaft], [-0.65 * radius, 0.65 * radius], color=GREY, lw=2, zorder=2)


def _draw_pads(ax: Axes, left: float, length: float, radius: float, pipe: float, coil: float) -> None:
    reach = radius + (pipe - radius) * (0.25 + 0.75 * coil)
    for side in (-1, 1):
        low = radius if side > 0 else -reach
        pad = Rectangle((left + 0.3 * length, low), 0.4 * length, reach - radius, zorder=3)
        pad.set(facecolor=RED if coil > 0.5 else "white", edgecolor=RED, lw=1.0)
        ax.add_patch(pad)


def _draw_flow(ax: Axes, flow: float, pipe: float, window: tuple[float, float]) -> None:
    y = np.linspace(-pipe, pipe, 61)
    profile = 9.0 / 7.0 * (1.0 - (np.abs(y) / pipe) ** 7)  # blunt, as at the heart; mean 1 over the section
    root = window[1] - 5.0 - (0.0 if flow <= 0 else 1.3 * _PROFILE * flow)
    ax.plot([root, root], [-pipe, pipe], color=BLUE, lw=0.8)
    ax.plot(root + _PROFILE * flow * profile, y, color=BLUE, lw=1.2)
    if abs(flow) > 0.02:
        for level, speed in zip(y[6:-1:8], profile[6:-1:8], strict=True):
            arrow = {"arrowstyle": "-|>", "color": BLUE, "lw": 0.8, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7}
            ax.annotate("", (root + _PROFILE * flow * speed, level), (root, level), arrowprops=arrow)
