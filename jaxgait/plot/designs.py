"""Pictures of a search for design parameters: paths, convergence, tolerances around the optimum, before and after."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.ensembles.spacing import Log, Spacing
from jaxgait.optimization.evaluate import SINCE
from jaxgait.optimization.optimum import BOUND, FAILED, OBJECTIVE, UNSEARCHED, Optimum
from jaxgait.outcome import failures
from jaxgait.plot.jumps import instants, parted
from jaxgait.plot.panels import grid, legend
from jaxgait.plot.references import draw_references, references, with_their_references
from jaxgait.plot.style import BLUE, GREY, ORANGE, RED, axis_label, cell_edges, make_logarithmic, mark_whole, style
from jaxgait.support.units import displayed, with_unit

_MIN_DISTANCE = 1e-6
"""Smallest distance from the best to draw, relative to the objective: runs themselves are hardly more accurate."""
_LINES = ("-", "--", ":", "-.")
"""Line styles of several quantities in one panel."""
TITLE = 80
"""Characters per line above these pictures."""
ALONE, FOLLOWED = "this parameter alone", "if the others follow"
"""Legends of the bars and of the lines of tolerances."""
HIGH = 36
"""Characters of a label that fit next to a panel of these pictures."""


def paths(found: Optimum, *, scan: xr.DataArray | None = None) -> Figure:
    """Starts, evaluations and ends of a search, over one parameter, or over every pair of up to four.

    Args:
        found: result of a search.
        scan: the objective over a grid of two of the parameters, in its own unit, to draw behind the paths.

    Raises:
        ValueError: for a scan that is not over two of the parameters.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> from jaxgait.plot.designs import paths
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> print(paths(found).axes[0].get_xlabel())
        stiffness (N/m)
    """
    names = list(found.best)[:4]
    if scan is not None and (scan.ndim != 2 or not set(scan.dims) <= set(names)):
        raise ValueError(f"scan must be over two of {', '.join(names)}, got one over {', '.join(map(str, scan.dims))}")
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]] or [(names[0], None)]
    goal = textwrap.fill(axis_label(found.history["objective"]), HIGH)
    with style():
        figure, axes = grid(len(pairs), (5.2, 4.2))
        for ax, (a, b) in zip(axes, pairs, strict=True):
            points = _path(ax, found, a, b, scan if scan is not None and {a, b} == set(scan.dims) else None)
            _span(ax, found.bounds, a, b)
            ax.set_xlabel(axis_label(a, found.history[a].attrs["units"]))
            ax.set_ylabel(goal if b is None else axis_label(b, found.history[b].attrs["units"]))
        look: dict[str, Any] = {"ncols": 4, "fontsize": 7, "handletextpad": 0.1, "columnspacing": 0.8}
        shown = axes[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), **look)
        plt.setp(shown.legend_handles[-1:], markersize=10)  # the best's large star would overlap the next words
        if points is not None:
            figure.colorbar(points, ax=axes, label=goal, extend=_clipped(points))
    return figure


def _path(ax: Axes, found: Optimum, a: str, b: str | None, scan: xr.DataArray | None):
    """Draws evaluations, coloured by objective and marked if they may not be the result, and paths, over a scan."""
    history = found.history
    y = history["objective"] if b is None else history[b]
    done = (history.status == -1).values
    valid = ~(failures(history.status.values) | done) & np.isfinite(history["objective"].values)  # early ends may count
    for i in range(history.sizes["start"]):
        kept = valid[i] | done[i]
        ax.plot(history[a].values[i][kept], y.values[i][kept], "-", color=GREY, lw=0.7, alpha=0.7, zorder=1)
    marked = {
        "failed": ("x", ~(valid | done)),
        "unstable, or outside limits": ("o", valid & (history.allowed != 1).values),
    }
    for label, (marker, which) in marked.items():
        if which.any():
            look = {"color": RED, "mfc": "none", "ms": {"x": 4, "o": 6}[marker], "alpha": 0.6, "zorder": 2}
            ax.plot(history[a].values[which], y.values[which], marker, label=label, **look)
    colour = history["objective"].values[valid]
    limits = _of_the_better(colour, found.objective) if colour.size else {}
    points = ax.scatter(history[a].values[valid], y.values[valid], c=colour, s=12, zorder=3, **limits)
    if scan is not None and b is not None:
        edges = [cell_edges(scan[name].values, isinstance(found.bounds[name], Log)) for name in (a, b)]
        mesh = ax.pcolormesh(*edges, scan.transpose(b, a), zorder=0, rasterized=True)
        mesh.set_norm(points.norm)
        points.set_edgecolor("white")
    ran = np.isfinite(history["objective"].values).any(axis=1)  # a failed start is only a cross
    began, ended = (lambda x: x.values[ran, 0]), (lambda x: x.values[ran, -1])
    ax.plot(began(history[a]), began(y), "o", color=BLUE, mfc="white", ms=6, zorder=4, label="start")
    ax.plot(ended(history[a]), ended(y), "*", color=ORANGE, mec="black", mew=0.6, ms=8, ls="", zorder=5, label="end")
    best = found.objective if b is None else found.best[b]  # larger than the end that it lies behind
    ax.plot(found.best[a], best, "*", color=RED, mec="white", ms=20, ls="", zorder=4.5, label="best")
    return None if b is None else points


def _of_the_better(values: np.ndarray, best: float) -> dict[str, Any]:
    """The limit of the colours: they span twice the range of the better 3/4 of the values, and at most the better 9/10.

    A few excursions, such as a start far worse than all others, would otherwise take the whole range.
    """
    sign = 1.0 if best >= np.nanmedian(values) else -1.0
    top, quarter, tenth = np.nanquantile(sign * values, (1.0, 0.25, 0.1))
    least = max(tenth, quarter - (top - quarter)) if top > quarter else tenth
    return {"vmin" if sign > 0.0 else "vmax": float(sign * least)}


def _clipped(points: Any) -> str:
    """The end of a colour bar beyond which there are values, as matplotlib's `extend`."""
    values = points.get_array()
    if np.nanmin(values) < points.norm.vmin:
        return "min"
    return "max" if np.nanmax(values) > points.norm.vmax else "neither"


def _span(ax: Axes, bounds: Mapping[str, tuple[float, float]], a: str, b: str | None) -> None:
    for name, axis, set_limits in ((a, ax.xaxis, ax.set_xlim), (b, ax.yaxis, ax.set_ylim)):
        if name is not None:
            set_limits(*Spacing.of([bounds[name]])(np.array([[-0.03], [1.03]])).ravel())
            if isinstance(bounds[name], Log):
                make_logarithmic(axis, np.asarray(bounds[name]))


def convergence(found: Optimum) -> Figure:
    """Distance of each start's best value from the best of all, in the objective's unit, over its evaluations.

    A star marks where the start ended, which need not be its best value; it is missing if that end may not be the
    result (see `history.allowed`).

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> from jaxgait.plot.designs import convergence
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> convergence(found).axes[0].get_xlabel()
        'evaluations of a start'
    """
    history, sign = found.history, found.sign
    values = np.where(history.allowed.values == 1, sign * history.objective.values, -np.inf)
    gap = sign * found.objective - np.maximum.accumulate(values, axis=1)
    least = _MIN_DISTANCE * (abs(found.objective) or 1.0)
    with style():
        figure, ax = plt.subplots(figsize=(6.4, 4.0))
        ends = sign * found.objective - values[:, -1]
        for one, end, status in zip(gap, ends, history.status.values, strict=True):
            seen = np.flatnonzero(np.isfinite(one) & (status != -1))
            ax.semilogy(1 + seen, np.maximum(one[seen], least), lw=1.0, color=BLUE, alpha=0.6)
            if seen.size and np.isfinite(end):
                ax.semilogy(1 + seen[-1], max(end, least), "*", color=ORANGE, mec="black", ms=9)
        unit = str(history.objective.attrs.get("units", ""))
        near = with_unit(f"{least:.1g}", unit)
        ax.axhline(least, color=GREY, lw=0.8, ls="--", label=f"the best of all, or within {near} of it")
        ax.plot([], [], color=BLUE, alpha=0.6, label="best of a start so far")
        ax.plot([], [], "*", color=ORANGE, mec="black", ms=9, label="its end")
        figure.legend(loc="outside lower center", ncols=3, fontsize=7)
        ax.set(xlabel="evaluations of a start", ylabel=axis_label("distance from the best objective", unit))
        mark_whole(ax.xaxis)
        how = f"{found.method}, gradient {found.gradient.partition(SINCE)[0]}"
        ax.set_title(textwrap.fill(how, TITLE), loc="left", fontsize=8)
    return figure


def room(found: Optimum) -> Figure:
    """How far each parameter may move for a small loss, alone and if the others follow, within the bounds.

    Where the latter is unknown, there is no line for it, and the legend says so.

    Raises:
        ValueError: for an optimum without known surroundings.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> from jaxgait.plot.designs import room
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> [label.get_text() for label in room(found).axes[0].get_yticklabels()]
        ['stiffness']
    """
    if found.local is None:
        raise ValueError("the surroundings of this optimum are unknown: it has no slopes, or runs next to it failed")
    local, names = found.local, list(found.best)
    with style():
        figure, ax = plt.subplots(figsize=(6.4, 1.5 + 0.7 * len(names)))
        ax.set_ylim(-0.65, len(names) - 0.5)
        for i, name in enumerate(names):
            within, best = Spacing.of([found.bounds[name]]), np.array([found.best[name]])
            moved = lambda by, within=within, best=best: 100.0 * (within.unit(best + by) - within.unit(best)).item()
            alone, follow = ([moved(-down), moved(up)] for down, up in (local.room[name], local.ridge[name]))
            ax.barh(i, np.ptp(alone), left=alone[0], height=0.6, color=BLUE, alpha=0.8, label=ALONE)
            if np.isfinite(follow).all():
                ax.plot(follow, (i, i), "|-", color="black", lw=1.2, ms=8, label=FOLLOWED)
            stops = "a fall ends {}; a rise {}".format(*map(_stop, local.stops[name]))
            look: dict[str, Any] = {"fontsize": 6.5, "va": "top", "bbox": {"color": "white", "pad": 0.5}}
            ax.text(0.01, i - 0.36, stops, transform=ax.get_yaxis_transform(), **look)
        ax.axvline(0.0, color="black", lw=1)
        ax.use_sticky_edges = False
        ax.autoscale_view(scaley=False)
        ax.set_yticks(range(len(names)), names)
        ax.set_xlabel("change (% of the width of the bounds)")
        loss = with_unit(f"{local.loss:.2g}", found.unit)
        ax.set_title(f"Tolerances for a loss of {loss}, within the bounds", loc="left", fontsize=8)
        if local.ridge_unknown:
            why = textwrap.fill(f"{FOLLOWED}: unknown, because {local.ridge_unknown}", TITLE)
            ax.plot([], [], ls="", label=why)
        legend(figure, ncols=2, fontsize=7)
    return figure


def _stop(stop: str) -> str:
    """What ends the tolerance of a parameter, in words (see `Local.stops`)."""
    if stop.startswith(FAILED):
        return f"where runs fail ({stop.removeprefix(FAILED)})"
    known = {OBJECTIVE: "with this loss", BOUND: "at its bound", UNSEARCHED: f"unknown ({UNSEARCHED})"}
    return known.get(stop, f"at the limit {stop}")


def slopes(
    names: Sequence[str],
    exact: Float[np.ndarray, "points n"],
    differences: Float[np.ndarray, "points n"],
    unit: str = "",
    *,
    last_is_best: bool = False,
) -> Figure:
    """Slopes of the search compared with central differences, in units of the objective per box.

    `unit` is that of the objective, for the axes. `last_is_best` says that the last point is the best design, drawn as
    a star among the circles of the starts.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.designs import slopes
        >>> exact = np.array([[1.0], [2.0], [3.0]])
        >>> figure = slopes(["stiffness"], exact, differences=exact + 1e-6)
        >>> figure.axes[0].get_title()
        'stiffness'
    """
    with style():
        figure, axes = grid(len(names), (3.4, 3.4), extra=(0.6, 0.0))
        for ax, name, x, y in zip(axes, names, differences.T, exact.T, strict=True):
            both = np.concatenate([x, y])[np.isfinite(np.concatenate([x, y]))]
            if both.size:
                ends = np.array([min(0.0, both.min()), max(0.0, both.max())])  # with zero, for a sense of the size
                ax.plot(ends, ends, "-", color=GREY, lw=1)
            starts = slice(None, -1 if last_is_best else None)
            ax.plot(x[starts], y[starts], "o", color=BLUE, ms=6, mfc="none", label="start")
            if last_is_best:
                ax.plot(x[-1:], y[-1:], "*", color=RED, mec="white", ms=12, label="best")
            per = f"{'' if unit == '1' else unit} per width of the bounds".strip()
            ax.set_xlabel(f"central difference\n({per})")
            ax.set_ylabel(f"slope of the search\n({per})")
            ax.set_title(name)
        if last_is_best:
            legend(figure, ncols=2, fontsize=7)
    return figure


def before_and_after(before: xr.Dataset, after: xr.Dataset, variables: Sequence[str], title: str = "") -> Figure:
    """Time histories before and after a search; those with the same unit share a panel.

    `title` says whose walk this is, or which scenario.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.designs import before_and_after
        >>> run = lambda h: xr.Dataset({"height": ("time", h, {"units": "m"})}, {"time": [0.0, 1.0, 2.0]})
        >>> figure = before_and_after(run([80.0, 20.0, -5.0]), run([80.0, 25.0, 2.0]), ["height"])
        >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        ['before', 'after']
    """
    before, after = (run.assign({name: displayed(run[name]) for name in variables}) for run in (before, after))
    panels: dict[str, list[str]] = {}
    for name in variables:
        panels.setdefault(str(after[name].attrs.get("units")), []).append(name)
    with style():
        figure, axes = plt.subplots(len(panels), 1, figsize=(7.2, 3.0 * len(panels) + 0.4), squeeze=False)
        for ax, (unit, names) in zip(axes[:, 0], panels.items(), strict=True):
            words = {name: str(after[name].attrs.get("long_name", name)) for name in names}
            quantities = dict.fromkeys(words[name] for name in with_their_references(after, names))
            for name, line in zip(names, itertools.cycle(_LINES)):
                called = words[name] if len({*words.values()}) == len(names) else name
                _compared(ax, before, after, name, line, called, alone=len(names) == 1)
            ax.set_ylabel(textwrap.fill(axis_label(", ".join(quantities), unit), HIGH))
            above = title if ax is axes[0, 0] else ""
            if ax.lines:
                look: dict[str, Any] = {"title": textwrap.fill(above, TITLE) or None, "alignment": "left"}
                ax.legend(ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0), **look)
            else:
                ax.set_title(above, loc="left", fontsize=8)
        axes[-1, 0].set_xlabel(axis_label("time", "s"))
    return figure


def _compared(ax: Axes, before: xr.Dataset, after: xr.Dataset, name: str, line: str, called: str, alone: bool) -> None:
    """One variable before and after; drawn once if unchanged, and a reference if both runs have the same one."""
    if name in references(after).values():
        looks = ((before[name], {"color": ORANGE}), (after[name], {"color": BLUE}))
        longest_first = sorted(looks, key=lambda one: -int(np.isfinite(one[0]).sum()))
        curves, colours = zip(*longest_first, strict=True)
        draw_references(ax, curves, "time", colours)
        return
    prefix = "" if alone else f"{called}, "
    if np.array_equal(before[name], after[name], equal_nan=True):
        ax.plot(after.time, after[name], "--", color="black", lw=1.0, label=called)
        return
    for run, colour, when in ((before, ORANGE, "before"), (after, BLUE, "after")):
        if np.isfinite(run[name]).any():
            ax.plot(
                *parted(run.time.values, run[name].values, instants(run)),
                line,
                color=colour,
                lw=1.2,
                label=f"{prefix}{when}",
            )
        else:
            ended = str(run.attrs.get("status_text", "no values")).partition(" (")[0]
            ax.plot([], [], line, color=colour, lw=1.2, label=f"{prefix}{when}: {ended}")
