"""What the sketches are drawn with: bars, joints, angles, arrows, dimensions, ground."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.plot.style import GREY, RED, style

Point: TypeAlias = Any
"""Two numbers: a tuple, a list or an array."""
TEXT = 11
PATHS, DIGITS = re.compile(r' d="[^"]*"'), re.compile(r"(\.\d\d)\d+")
"""Coordinates of an SVG's curves, and their digits beyond a hundredth of a point."""
INDENTATION = re.compile(r"\n +")
DARK, LIGHT = "#333333", "#D9D9D9"


def canvas(
    widths: Sequence[float], height: float, limits: Sequence[tuple[float, float, float, float]]
) -> tuple[Figure, list[Axes]]:
    """A figure of panels without axes and of equal scales in x and y.

    Args:
        widths: of the panels in inches.
        height: in inches.
        limits: of each panel, left, right, bottom and top.
    """
    with style(axes__grid=False):
        figure, found = plt.subplots(1, len(widths), figsize=(sum(widths), height), width_ratios=widths, squeeze=False)
    for ax, (left, right, bottom, top) in zip(found[0], limits, strict=True):
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        ax.axis("off")
    return figure, list(found[0])


def save_sketch(figure: Figure, path: pathlib.Path) -> pathlib.Path:
    """Writes an SVG that is the same whenever it is drawn by the same matplotlib."""
    with plt.rc_context({"svg.hashsalt": "jaxgait", "svg.fonttype": "path"}):
        dated: dict[str, Any] = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 110}
        figure.savefig(path, bbox_inches="tight", pad_inches=0.05, **dated)
    plt.close(figure)
    if path.suffix == ".svg":
        short = PATHS.sub(lambda found: DIGITS.sub(r"\1", found[0]), path.read_text())
        path.write_text(INDENTATION.sub("\n", short))
    return path


def moved(p: Point, dx: float, dy: float) -> np.ndarray:
    """A point moved by dx and dy."""
    return np.array([p[0] + dx, p[1] + dy])


def bar(ax: Axes, a: Point, b: Point, color: str = DARK, width: float = 5.0, **how: Any) -> None:
    """A rigid bar between two points."""
    ax.plot([a[0], b[0]], [a[1], b[1]], color=color, lw=width, solid_capstyle="round", **how)


def joint(ax: Axes, *points: Point, size: float = 6.0) -> None:
    """Hinges."""
    for p in points:
        ax.plot(p[0], p[1], "o", ms=size, mfc="white", mec=DARK, mew=1.3, zorder=5)


def dot(ax: Axes, *points: Point, size: float = 5.0, color: str = DARK) -> None:
    """Points or point masses."""
    for p in points:
        ax.plot(p[0], p[1], "o", ms=size, color=color, zorder=5)


def label(
    ax: Axes, p: Point, text: str, dx: float = 0.0, dy: float = 0.0, color: str = DARK, size: float = TEXT
) -> None:
    """Words at a point, moved by points of the page."""
    ax.annotate(
        text, (p[0], p[1]), (dx, dy), textcoords="offset points", ha="center", va="center", color=color, fontsize=size
    )


def arrow(ax: Axes, a: Point, b: Point, color: str = RED, style: str = "-|>", width: float = 1.6) -> None:
    """An arrow from a to b; `style` "<->" draws a dimension."""
    how = {"arrowstyle": style, "color": color, "lw": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 11}
    ax.annotate("", (b[0], b[1]), (a[0], a[1]), arrowprops=how, zorder=6)


def dimension(ax: Axes, a: Point, b: Point, text: str, dx: float = 0.0, dy: float = 0.0) -> None:
    """A length between two points with its name next to it."""
    arrow(ax, a, b, GREY, "<->", 1.0)
    label(ax, (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])), text, dx, dy)


def dashed(ax: Axes, a: Point, b: Point, color: str = GREY) -> None:
    """A thin dashed line."""
    ax.plot([a[0], b[0]], [a[1], b[1]], "--", color=color, lw=0.9, zorder=1)


def angle(
    ax: Axes, centre: Point, radius: float, start: float, end: float, text: str, out: float = 1.35, color: str = RED
) -> None:
    """An angle as an arc with an arrow head, from start to end in rad counter-clockwise from x, named at its middle.

    Args:
        ax: axes.
        centre: of the arc.
        radius: of the arc.
        start: where it begins.
        end: where its head is.
        text: its name.
        out: distance of the name from the centre in radii.
        color: of both.
    """
    turn = np.linspace(start, end, 40)
    x, y = centre[0] + radius * np.cos(turn), centre[1] + radius * np.sin(turn)
    ax.plot(x, y, color=color, lw=1.2)
    arrow(ax, (x[-2], y[-2]), (x[-1], y[-1]), color, width=1.2)
    middle = 0.5 * (start + end)
    label(ax, (centre[0] + out * radius * np.cos(middle), centre[1] + out * radius * np.sin(middle)), text, color=color)


def ground(ax: Axes, a: Point, b: Point, depth: float, below: bool = True) -> None:
    """A hatched surface from a to b."""
    along = np.subtract(b, a) / np.hypot(*np.subtract(b, a))
    normal = np.array([-along[1], along[0]]) * (-depth if below else depth)
    ax.plot([a[0], b[0]], [a[1], b[1]], color=DARK, lw=1.4)
    for s in np.arange(0.0, np.hypot(*np.subtract(b, a)), 1.6 * depth):
        foot = np.add(a, s * along)
        end = foot + normal - depth * along
        ax.plot([foot[0], end[0]], [foot[1], end[1]], color=GREY, lw=0.8)


def zigzag(ax: Axes, a: Point, b: Point, width: float, turns: int = 7, color: str = DARK) -> None:
    """A spring between two points."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    along = (b - a) / np.hypot(*(b - a))
    normal = np.array([-along[1], along[0]])
    steps = np.linspace(0.0, 1.0, 2 * turns + 2)
    sides = np.array([0.0, *([1.0, -1.0] * turns), 0.0])
    x, y = (a + np.outer(steps, b - a) + np.outer(sides * width, normal)).T
    ax.plot(x, y, color=color, lw=1.3)
