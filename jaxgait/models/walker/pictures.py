"""Pictures of walks: animation, phase portraits, ground contact, energy, branches of gaits, basins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from jaxgait.analysis.attractors import FELL, OTHER, REACHED, Basin
from jaxgait.analysis.continuation import Branch
from jaxgait.models.walker.smooth import RoundFeet, WalkerState
from jaxgait.plot.style import BLUE, FAILED, GREEN, GREY, ORANGE, RED, axis_label, style

__all__ = ["animate", "basin_map", "branches", "contact_strip", "phase_portrait"]

REACH = 0.43
"""What a film shows of the ground on either side of the hip, m."""
FOOT_ARC = 0.6
"""Half opening in rad of the drawn arc of a foot."""


def leg_outline(walker: RoundFeet, x: float, y: float, theta: float) -> tuple[np.ndarray, np.ndarray]:
    """Hip-to-sole line and foot arc of one leg, each as (points, 2), in the axes of the slope.

    Positions in m, angle in rad.
    """
    shank, radius = float(walker.leg_length - walker.foot_radius), float(walker.foot_radius)
    hip = np.array([x, y])
    centre = hip + shank * np.array([np.sin(theta), -np.cos(theta)])
    angles = theta + np.linspace(-FOOT_ARC, FOOT_ARC, 15)
    arc = centre + radius * np.column_stack([np.sin(angles), -np.cos(angles)])
    sole = centre + radius * np.array([np.sin(theta), -np.cos(theta)])
    return np.stack([hip, sole]), arc


def animate(walks: Mapping[str, WalkerState], walker: RoundFeet, *, frame_step: float) -> FuncAnimation:
    """Walkers side by side, on their slope beside a level line, with the camera at the hip, at half speed.

    Args:
        walks: title -> states at equally spaced times, all equally many; a walker that has fallen stays where it is.
        walker: its geometry, and the slope.
        frame_step: time in s between them.
    """
    slope = float(walker.slope)
    with style():
        figure, axes = plt.subplots(1, len(walks), figsize=(3.4 * len(walks), 3.2), squeeze=False)
        artists = [_stage(axis, title, slope) for axis, title in zip(axes[0], walks, strict=True)]
        states = [_until_it_falls(walker, np.stack([np.asarray(v) for v in y])) for y in walks.values()]

        def draw(frame: int) -> list:
            for y, axis, lines in zip(states, axes[0], artists, strict=True):
                x, height = y[0, frame], y[1, frame]
                for leg, (bar, foot) in enumerate(lines[:2]):
                    straight, arc = (_level(p, slope) for p in leg_outline(walker, x, height, y[2 + leg, frame]))
                    bar.set_data(*straight.T)
                    foot.set_data(*arc.T)
                (here, _), below = _level(np.array([x, height]), slope), -x * np.sin(slope)
                lines[2].set_data(*_level(np.array([[x, height]]), slope).T)
                fallen = ", fallen" if frame and np.array_equal(y[:, frame], y[:, frame - 1]) else ""
                lines[3].set_text(f"t = {frame * frame_step:.2f} s{fallen}")
                lines[4].set_ydata([below + REACH * np.tan(slope)] * 2)  # level with the ground at the left edge
                axis.set(xlim=(here - REACH, here + REACH), ylim=(below - 0.06, below + 0.46))
            return []

        draw(0)
        figure.canvas.draw()
        figure.set_layout_engine("none")  # laid out once: else the panels shake with the width of the numbers
    interval = 1000.0 / round(0.5 / frame_step)
    return FuncAnimation(figure, draw, frames=states[0].shape[1], interval=interval, blit=False)


def _until_it_falls(walker: RoundFeet, states: np.ndarray) -> np.ndarray:
    """States (coordinates, times) in which a walker whose hip is below half a leg's length moves no more."""
    fallen = np.flatnonzero(states[1] < 0.5 * float(walker.leg_length))
    return states if not fallen.size else states[:, np.minimum(np.arange(states.shape[1]), fallen[0])]


def _level(points: np.ndarray, slope: float) -> np.ndarray:
    """Points (..., 2) in the axes of the slope, seen with the horizontal level."""
    along, out = points[..., 0], points[..., 1]
    return np.stack([along * np.cos(slope) + out * np.sin(slope), out * np.cos(slope) - along * np.sin(slope)], axis=-1)


def _stage(axis: Axes, title: str, slope: float) -> tuple:
    axis.set(title=title, xlabel=axis_label("x", "m"), aspect="equal", yticks=[])
    axis.grid(False)
    ends = np.array([-1.0, 20.0])  # m, more than any film walks
    axis.fill_between(ends, -ends * np.tan(slope), -ends * np.tan(slope) - 2.0, color=FAILED, lw=0, zorder=0)
    lines = []
    for colour in (BLUE, ORANGE):
        (bar,) = axis.plot([], [], color=colour, lw=4, solid_capstyle="round")
        (foot,) = axis.plot([], [], color=colour, lw=3)
        lines.append((bar, foot))
    (hip,) = axis.plot([], [], "o", color="black", ms=7)
    time = axis.text(0.03, 0.93, "", transform=axis.transAxes, fontsize=8)
    level = axis.axhline(0.0, color="black", lw=0.6, ls=":")
    axis.text(
        0.97,
        0.02,
        f"slope {np.degrees(slope):.2f} deg (dotted: level)",
        transform=axis.transAxes,
        fontsize=7,
        ha="right",
    )
    return *lines, hip, time, level


def phase_portrait(axis: Axes, angle: np.ndarray, rate: np.ndarray, *, label: str = "", color: str = BLUE) -> None:
    """Rate over angle of one leg. In rad/s over rad, shape (samples,)."""
    axis.plot(angle, rate, color=color, lw=1.0, label=label or None)
    axis.set(xlabel=axis_label("leg angle", "rad"), ylabel=axis_label("leg rate", "rad/s"))


def contact_strip(axis: Axes, t: ArrayLike, feet: Sequence[ArrayLike]) -> None:
    """Which foot is on the ground, as bars over time: arrays of booleans, one per foot.

    Times in s, shape (samples,).
    """
    for i, (touching, colour) in enumerate(zip(feet, (BLUE, ORANGE), strict=True)):
        axis.fill_between(np.asarray(t), i + 0.1, i + 0.9, where=np.asarray(touching), color=colour, step="post", lw=0)
    axis.set(yticks=[0.5, 1.5], yticklabels=["foot 1", "foot 2"], ylim=(0, 2))
    axis.grid(False)


def branches(axis: Axes, continued: Sequence[Branch], brute: tuple[np.ndarray, np.ndarray] | None = None) -> None:
    """Continued branches over the points of long walks: first section coordinate over the parameter.

    Args:
        axis: where to draw.
        continued: branches; solid where stable, dashed where not, bifurcations as dots. Every point of an orbit of
            higher order would need the return map: the branch shows the one that was followed.
        brute: parameter values (n,) and section coordinate (n, keep) of long walks.
    """
    if brute is not None:
        values = np.repeat(brute[0], brute[1].shape[1])
        axis.plot(values, brute[1].ravel(), ".", ms=1.2, color=GREY, label="long walks")
    colours = {1: BLUE, 2: RED, 4: GREEN, 8: ORANGE}
    for branch in continued:
        colour = colours.get(branch.order, "black")
        parameter, height, *parts = _joined(branch, continued)
        for part, dash in zip(parts, ("-", "--"), strict=True):
            axis.plot(parameter, np.where(part, height, np.nan), dash, color=colour, lw=1.4)
        axis.plot([], [], color=colour, label=f"period {branch.order} (dashed: unstable)")
        for point in branch.bifurcations:
            axis.plot(point.parameter, point.z[0], "o", color="black", ms=4, zorder=5)
    axis.plot([], [], "o", color="black", ms=4, label="bifurcation, located")
    axis.legend(loc="upper left", markerscale=2)


def _joined(branch: Branch, others: Sequence[Branch]) -> tuple[np.ndarray, ...]:
    """Parameter, first coordinate, and which points belong to the stable and to the unstable parts of a branch.

    Located bifurcations are put in where the parts meet. A branch of doubled period starts at one, and opens from there
    with the square root of the parameter.
    """
    rows = [(p, z, s, not s) for p, z, s in zip(branch.parameter, branch.z[:, 0], branch.stable, strict=True)]
    for i in np.flatnonzero(branch.stable[1:] != branch.stable[:-1])[::-1]:
        if branch.bifurcations:
            near = min(branch.bifurcations, key=lambda b, i=i: abs(b.parameter - branch.parameter[i]))
            rows.insert(int(i) + 1, (near.parameter, near.z[0], True, True))
    parents = [b for other in others if 2 * other.order == branch.order for b in other.bifurcations]
    if parents and rows:
        birth = min(parents, key=lambda b: abs(b.parameter - branch.parameter[0]))
        parameter, height, stable, unstable = rows[0]
        for s in np.linspace(1.0, 0.0, 12)[1:]:
            opening = birth.z[0] + s * (height - birth.z[0])
            rows.insert(0, (birth.parameter + s * s * (parameter - birth.parameter), opening, stable, unstable))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def basin_map(axis: Axes, x: np.ndarray, y: np.ndarray, result: Basin) -> None:
    """Which starts lead to the gait: outcome over two coordinates of the start, shaded by the strides it took."""
    colours = {FELL: FAILED, REACHED: GREEN, OTHER: ORANGE}
    axis.pcolormesh(
        x, y, result.outcome.T, cmap=ListedColormap(list(colours.values())), vmin=-0.5, vmax=2.5, shading="nearest"
    )
    names = {FELL: "falls", REACHED: "reaches the gait", OTHER: "walks on, elsewhere"}
    axis.legend(
        handles=[Patch(color=colours[k], label=names[k]) for k in names if np.any(result.outcome == k)],
        loc="lower left",
        frameon=True,
    )
    axis.grid(False)
