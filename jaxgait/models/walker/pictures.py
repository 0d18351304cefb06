"""Pictures of walks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from jaxgait.analysis.attractors import FELL, OTHER, REACHED, Basin
from jaxgait.analysis.continuation import Branch
from jaxgait.checks import by_name, first_few
from jaxgait.plot.style import BLUE, FAILED, GREEN, GREY, ORANGE, RED, axis_label


@by_name()
def phase_portrait(axis: Axes, angle: np.ndarray, rate: np.ndarray, *, label: str = "", colour: str = BLUE) -> None:
    """Rate in rad/s over angle in rad of one leg, both of the shape (samples,).

    All samples are joined; `jaxgait.plot.jumps.split_at_jumps` parts those of an event-driven run, as at heel strikes.
    """
    axis.plot(angle, rate, color=colour, lw=1.0, label=label or None)
    axis.set(xlabel=axis_label("leg angle", "rad"), ylabel=axis_label("leg rate", "rad/s"))


def contact_strip(axis: Axes, t: ArrayLike, feet: Sequence[ArrayLike] | np.ndarray) -> None:
    """Which foot is on the ground, as bars over time.

    Args:
        axis: where to draw.
        t: times in s, (samples,).
        feet: whether each foot touches the ground, (samples,), of one foot or two.

    Raises:
        ValueError: for another number of feet or of samples.
    """
    times, touching = np.asarray(t), [np.asarray(foot) for foot in feet]
    if len(touching) not in (1, 2) or any(foot.shape != times.shape for foot in touching):
        got = first_few([str(foot.shape) for foot in touching])
        raise ValueError(f"feet must be a list of one or two arrays of the shape {times.shape} of the times, got {got}")
    for i, (foot, colour) in enumerate(zip(touching, (BLUE, ORANGE), strict=False)):
        axis.fill_between(times, i + 0.1, i + 0.9, where=foot, color=colour, step="post", lw=0)
    names = [f"foot {i + 1}" for i in range(len(touching))]
    axis.set(yticks=[i + 0.5 for i in range(len(names))], yticklabels=names, ylim=(0, len(names)))
    axis.grid(False)


def branches(axis: Axes, continued: Sequence[Branch], brute: tuple[np.ndarray, np.ndarray] | None = None) -> None:
    """Continued branches over the points of long walks: first section coordinate against the parameter.

    Args:
        axis: where to draw.
        continued: branches, solid where stable and dashed where not, bifurcations as dots; of an orbit of higher order
            only the point that was followed.
        brute: parameter values (n,) and section coordinate (n, keep) of long walks, both in SI units.
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
        for point in branch.bifurcations:
            axis.plot(point.parameter, point.z[0], "o", color="black", ms=4, zorder=5)
    for order in sorted({branch.order for branch in continued}):
        axis.plot([], [], color=colours.get(order, "black"), label=f"period {order} (dashed: unstable)")
    axis.plot([], [], "o", color="black", ms=4, label="bifurcation, located")
    axis.legend(loc="upper left", markerscale=2)


def _joined(branch: Branch, others: Sequence[Branch]) -> tuple[np.ndarray, ...]:
    """Parameter, first coordinate, and which points are on the stable and on the unstable parts of a branch.

    Located bifurcations join the parts, unless the detour over the nearest one more than doubles the way between two
    points. A branch of doubled period starts at one, and opens with the square root of the parameter.
    """
    path = np.column_stack([branch.parameter, branch.z[:, 0]])
    scale = np.maximum(np.ptp(path, axis=0), 1e-300) if len(path) else 1.0
    way = lambda *stops: sum(np.linalg.norm((b - a) / scale) for a, b in itertools.pairwise(stops))
    rows = [(p, z, s, not s) for p, z, s in zip(branch.parameter, branch.z[:, 0], branch.stable, strict=True)]
    for i in np.flatnonzero(branch.stable[1:] != branch.stable[:-1])[::-1]:
        begin, end = path[i], path[i + 1]
        located = [np.array([b.parameter, b.z[0]]) for b in branch.bifurcations]
        near = min(located, key=lambda b, begin=begin, end=end: way(begin, b, end), default=None)
        if near is not None and way(begin, near, end) <= 2.0 * way(begin, end):
            rows.insert(int(i) + 1, (*near, True, True))
    parents = [b for other in others if 2 * other.order == branch.order for b in other.bifurcations]
    if parents and rows:
        birth = min(parents, key=lambda b: abs(b.parameter - branch.parameter[0]))
        parameter, height, stable, unstable = rows[0]
        for s in np.linspace(1.0, 0.0, 12)[1:]:
            opening = birth.z[0] + s * (height - birth.z[0])
            rows.insert(0, (birth.parameter + s * s * (parameter - birth.parameter), opening, stable, unstable))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def basin_map(axis: Axes, x: np.ndarray, y: np.ndarray, result: Basin) -> None:
    """Which starts lead to the gait: outcome over two coordinates of the start.

    Args:
        axis: where to draw.
        x: values of the first coordinate (nx,), in its own unit.
        y: values of the second one (ny,), in its own unit.
        result: outcomes of the starts (nx, ny).
    """
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
