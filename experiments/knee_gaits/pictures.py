"""Pictures of the followed gaits."""

from __future__ import annotations

import functools

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.analysis.crossings import Crossing
from jaxgait.analysis.families import Gaits
from jaxgait.models.prosthesis.pictures import draw_orders
from jaxgait.plot.style import BLUE, FAILED, GREY, RED, axis_label, style

from .branches import KEPT, LINE, RATIOS

SHOWN = (0.03, 0.04, 0.05, 0.06, 0.07, 0.08)


def multipliers(one: Gaits, crossings: list[Crossing]) -> Figure:
    """The largest multiplier (real; the others are tiny) against k, one panel per c/k."""
    with style():
        figure, axes = plt.subplots(2, 3, figsize=(9, 4.8), sharex=True, sharey=True)
        for axis, ratio in zip(axes.flat, SHOWN, strict=True):
            i = int(np.argmin(np.abs(RATIOS - ratio)))
            k, largest = one.parameter[:, i] / 1e3, np.real(one.multipliers[:, i, 0])
            axis.axhspan(-1, 1, color=BLUE, alpha=0.08, lw=0)
            axis.axhline(-1, color=RED, lw=0.9)
            axis.plot(k, largest, ".-", color=BLUE, ms=3.5, lw=0.9)
            points = [c.parameter / 1e3 for c in crossings if c.member == i]
            axis.plot(points, np.full(len(points), -1.0), "o", color=RED, ms=5, mfc="white")
            axis.set_title(f"c/k = {ratio:g} s")
        axes[0, 0].set(ylim=(-4, 1.5), xlim=(12, 30))
        axes[0, 2].text(29.6, 0.95, "stable", color=BLUE, ha="right", va="top", fontsize=8)
        axes[0, 2].text(29.6, -1.1, "every other stride differs", color=RED, ha="right", va="top", fontsize=8)
        for axis in axes[1]:
            axis.set_xlabel(axis_label("k", "kN/m"))
        for axis in axes[:, 0]:
            axis.set_ylabel("largest multiplier")
    return figure


def critical_curve(over: xr.Dataset, one: Gaits, crossings: list[Crossing]) -> Figure:
    """The curve on which the multiplier is -1, over the orders of the scan."""
    with style():
        figure, axis = plt.subplots(figsize=(7.5, 4.2))
        axis.set_facecolor(FAILED)
        axis.grid(False)
        orders = over.k / 1e3, over.ratio, over.order.transpose("ratio", "k")
        draw_orders(axis, functools.partial(axis.pcolormesh, *orders, shading="nearest"))
        fine, smallest = _between(one, crossings)
        axis.contour(fine / 1e3, RATIOS, smallest.T, levels=[-1.0], colors="black", linestyles="solid")
        points = np.array([(c.parameter / 1e3, RATIOS[c.member]) for c in crossings])
        axis.plot(*points.T, "o", color="black", mfc="white", ms=5)
        axis.plot([], [], "-", color="black", label="multiplier -1, between the followed gaits")
        axis.plot([], [], "o", color="black", mfc="white", label="period doubling, located")
        axis.legend(loc="upper right", frameon=True)
        axis.set(
            xlabel=axis_label("k", "kN/m"),
            ylabel=axis_label("c/k", "s"),
            title="Order after twenty strides, and the period doubling followed",
        )
    return figure


def _between(one: Gaits, crossings: list[Crossing]) -> tuple[np.ndarray, np.ndarray]:
    """Smallest multiplier over fine k and c/k, linear between gaits, so that level -1 meets the located crossings."""
    k, smallest = one.parameter[:, 0], np.real(one.multipliers).min(axis=2)
    fine = np.unique(np.concatenate([np.linspace(k[0], k[-1], 1001), [c.parameter for c in crossings]]))
    columns = []
    for i in range(RATIOS.size):
        points = [c.parameter for c in crossings if c.member == i]
        known = np.concatenate([k, points]), np.concatenate([smallest[:, i], np.full(len(points), -1.0)])
        order = np.argsort(known[0])
        columns.append(np.interp(fine, known[0][order], known[1][order]))
    return fine, np.stack(columns, axis=1)


def diagram(line: xr.Dataset, one: Gaits, two: Gaits, crossings: list[Crossing]) -> Figure:
    """Angle of the posterior link at heel strike: walks, and the followed gaits."""
    i = int(np.argmin(np.abs(RATIOS - LINE)))
    born = [c for c in crossings if c.member == i]
    with style():
        figure, axis = plt.subplots(figsize=(7.5, 4.2))
        points = np.degrees(line.strobe.values[:, 0])
        axis.plot(
            np.repeat(line.k / 1e3, KEPT + 1), points.ravel(), "o", color=GREY, ms=2.2, label="walks, strides 12 to 20"
        )
        _branch(axis, one.parameter[:, i], one.z[:, i, 0, 0], np.abs(one.multipliers[:, i, 0]) < 1.0, born, BLUE)
        for z in (two.z[:, 0, 0, 0], two.z[:, 0, 1, 0]):
            _branch(axis, two.parameter[:, 0], z, np.abs(two.multipliers[:, 0, 0]) < 1.0, born, RED)
        axis.plot([], [], color=BLUE, label="gait of one stride (dashed: unstable)")
        axis.plot([], [], color=RED, label="gait of two strides")
        points = np.array([(c.parameter / 1e3, np.degrees(c.z[0, 0])) for c in born])
        axis.plot(*points.T, "o", color="black", ms=5, zorder=5, label="period doubling, located")
        title = "Gaits at c/k = 0.05 s"
        axis.set(
            xlabel=axis_label("k", "kN/m"),
            ylabel=axis_label("link angle at heel strike", "deg"),
            title=title,
            xlim=(12, 30),
        )
        axis.legend(loc="lower right")
    return figure


def _branch(
    axis: Axes, k: np.ndarray, angle: np.ndarray, stable: np.ndarray, born: list[Crossing], colour: str
) -> None:
    """A branch, solid where stable and dashed where not; both meet at the bifurcations."""
    points = np.array([c.parameter for c in born])
    edges = np.array([c.z[0, 0] for c in born])
    known = np.isfinite(angle)
    order = np.argsort(np.concatenate([k[known], points]))
    k, angle = (np.concatenate(pair)[order] for pair in ((k[known], points), (angle[known], edges)))
    both = np.ones(len(points), dtype=bool)
    for flag, dash in ((True, "-"), (False, "--")):
        part = np.concatenate([stable[known] == flag, both])[order]
        axis.plot(k / 1e3, np.where(part, np.degrees(angle), np.nan), dash, color=colour, lw=1.3)
