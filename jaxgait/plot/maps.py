"""Maps of a variable over two parameters of a scan: cells of a grid, or points of a sample."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import ListedColormap
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from jaxgait.outcome import COMPLETED_TEXT
from jaxgait.plot.scale import boundaries, colours, stepped, texts
from jaxgait.plot.style import axis_label, broken, cell_edges, make_logarithmic, mark_whole
from jaxgait.plot.table import Column, Table
from jaxgait.support.units import with_unit

MAX_HATCHED = 20_000
"""Largest number of members of a map without a value that are hatched: each is a polygon, and more take minutes."""
TITLE = 100
"""Characters of a line above a panel."""
SQUARE, LARGEST_SQUARE, SMALLEST_SQUARE = 0.4, 6.0, 2.5
"""Size of the square on a cell whose member ended early: fraction of the cell, and at most and at least in points."""
HATCHES = ("\\\\\\\\", "....", "----", "++++")
"""Hatches of cells too small for a square, one for each status; those of cells without a value lean the other way."""
NO_BREAK = "\N{NO-BREAK SPACE}"
"""Between a number and its unit, where lines are broken."""
POINT, RING, COVERED = 14.0, 44.0, 3e5
"""Areas in square points: of a sampled member, of the ring around one that ended early, and of very many members."""
EXTREMES = {"highest": ("^", "▲"), "lowest": ("v", "▼")}
"""Markers of the completed members with the extreme values, and these in text."""


def draw_map(ax: Axes, x: xr.DataArray, rows: Table, along: Sequence[str]) -> None:
    """A variable over two parameters, with its name, its extremes and how members ended.

    Members without a value have the colour of their status. Those that have one although they ended early get a square
    or a ring in that colour, or a hatch if cells are too small for a square. If most values are close together, the
    colours are in unequal steps (see `boundaries`).

    Args:
        ax: where to draw.
        x: one number per member, NaN for none.
        rows: the table of the scan.
        along: names of the two parameters, first that along the x axis.

    Raises:
        ValueError: for several numbers per member.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import xarray as xr
        >>> from jaxgait.plot.table import table
        >>> from jaxgait.plot.maps import draw_map
        >>> data = xr.Dataset(
        ...     {"rho": (("k", "c"), [[0.9, 0.8], [0.7, 0.6]]), "status": (("k", "c"), [[0, 0], [0, 0]])},
        ...     {"k": [1.0, 2.0], "c": [3.0, 4.0]},
        ... )
        >>> _, ax = plt.subplots()
        >>> draw_map(ax, data.rho, table(data), ["k", "c"])
        >>> ax.get_ylabel()
        'c'
    """
    if x.ndim != len(rows.dims):
        raise ValueError(f"{x.name!r} has the dimensions {x.dims}: a map needs one number per member")
    first, second = (rows.columns[n] for n in along)
    values = np.ma.masked_invalid(x.transpose(*rows.dims).values.T.astype(float))
    empty = np.ma.getmaskarray(values)
    draw = (cells if x.ndim == 2 else _samples)(ax, rows, along)
    column = rows.columns.get(str(x.name))
    title = column.title if column else axis_label(str(x.name))
    ax.grid(visible=False)
    counts = column.colours if column else ()
    if not empty.all() and values.min() == values.max():
        middle = counts[-1] if counts else colours(3)[1]  # neither the lowest nor the highest
        draw(values, cmap=ListedColormap([middle]))
        ax.text(0.5, 0.5, f"{values.min():g} everywhere", transform=ax.transAxes, ha="center", backgroundcolor="white")
    elif not empty.all():
        _coloured(ax, draw, values, counts)
        if not counts:
            title += _mark_extremes(ax, values.T.ravel(), rows, first, second)
    ax.set_title(title, fontsize=8, loc="left")
    if empty.any():
        draw_empty(ax, empty, rows, along, own=x.name == "status")
    _mark_early_ends(ax, ~empty.T.ravel(), rows, along)
    for axis, column in ((ax.xaxis, first), (ax.yaxis, second)):
        set_scale(axis, column)
    ax.set_ylabel(broken(second.in_words), fontsize=8)


def set_scale(axis: Axis, column: Column) -> None:
    """The scale and the ticks of an axis of a parameter or of a measure: names, a constant ratio, whole numbers.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import numpy as np
        >>> from jaxgait.plot.maps import set_scale
        >>> from jaxgait.plot.table import Column
        >>> ax = plt.figure().subplots()
        >>> _ = ax.plot([1.0, 2.0, 4.0], [0.0, 1.0, 2.0])
        >>> set_scale(ax.xaxis, Column("links", "links", "1", "axis", np.array([1.0, 2.0, 4.0])))
        >>> print(ax.get_xscale(), [float(x) for x in ax.get_xticks() if 1 <= x <= 4])
        log [1.0, 2.0, 3.0, 4.0]
    """
    if column.names:
        axis.set_ticks(range(len(column.names)), labels=column.names)
    elif column.geometric:
        make_logarithmic(axis, column.values, whole=column.whole)
    elif column.whole:
        mark_whole(axis)


def cells(ax: Axes, rows: Table, along: Sequence[str]) -> Callable[..., Any]:
    """A function that draws numbers of a grid of members, (second dimension, first one), as cells with given looks.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxgait.plot.maps import cells
        >>> from jaxgait.plot.table import table
        >>> scan = xr.Dataset({"rho": (("k", "c"), [[0.9, 0.8]])}, {"k": [1.0], "c": [3.0, 4.0]})
        >>> mesh = cells(plt.figure().subplots(), table(scan), ["k", "c"])(scan.rho.values.T)
        >>> print(np.unique(mesh.get_coordinates()[..., 0]))
        [0.95 1.05]
    """
    across, up = _corners(rows, along)
    return lambda z, **looks: (ax.pcolor if "hatch" in looks else ax.pcolormesh)(across, up, z, **looks)


def _corners(rows: Table, along: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the cells of a grid of members, along the picture's axes, (second dimension + 1, first one + 1)."""
    levels = [rows.columns[d].values.reshape(rows.shape).take(0, 1 - i) for i, d in enumerate(rows.dims)]
    edges = [cell_edges(z, rows.columns[d].geometric) for z, d in zip(levels, rows.dims, strict=True)]
    grids = np.meshgrid(*edges)
    return grids[rows.dims.index(along[0])], grids[rows.dims.index(along[1])]


def _samples(ax: Axes, rows: Table, along: Sequence[str]) -> Callable[..., Any]:
    """A function that draws numbers of sampled members as points."""
    across, up = (rows.columns[n].values for n in along)
    size = min(POINT, max(1.0, COVERED / across.size))
    return lambda z, **looks: ax.scatter(across, up, c=np.ma.filled(z.astype(float), np.nan), s=size, **looks)


def _whole(shades: Sequence[str]) -> dict[str, Any]:
    """One colour for each of the numbers 0, 1, ..."""
    return stepped(np.arange(len(shades) + 1) - 0.5, shades)


def _coloured(ax: Axes, draw: Callable[..., Any], values: np.ma.MaskedArray, counts: Sequence[str]) -> None:
    """Draws the values with a colour bar, which says if its steps are unequal; counts have colours of their own."""
    steps = None if counts else boundaries(values.compressed())
    looks = _whole(counts) if counts else {} if steps is None else stepped(steps)
    bar = ax.figure.colorbar(draw(values, **looks), ax=ax)
    if counts:
        bar.set_ticks(range(len(counts)), labels=[str(n) for n in range(len(counts))])
        bar.minorticks_off()
    elif not (values.compressed() % 1).any():
        mark_whole(bar.ax.yaxis)
    if steps is not None:
        bar.set_ticks(steps.tolist(), labels=texts(steps), fontsize=7)
        bar.set_label("colours in unequal steps", fontsize=7)


def _mark_extremes(ax: Axes, values: np.ma.MaskedArray, rows: Table, first: Column, second: Column) -> str:
    """Marks the completed members with the highest and the lowest value; returns what the title says of them."""
    known = np.where(rows.completed, np.ma.filled(values, np.nan), np.nan)
    if not np.isfinite(known).any():
        return ""
    listed = []
    for (name, (marker, sign)), find in zip(EXTREMES.items(), (np.nanmax, np.nanmin), strict=True):
        (members,) = np.nonzero(known == find(known))
        if members.size > 1:
            continue
        across, up = (float(column.values[members[0]]) for column in (first, second))
        ax.plot(across, up, marker, color="white", mec="black", ms=7, clip_on=False, zorder=5)
        one, other = (_text(*x).replace(" ", NO_BREAK) for x in ((first, across), (second, up)))
        at = f"{one}, {other}{_counted(rows, int(members[0]))}"
        listed.append(f"{name} ({sign}) {known[members[0]]:.5g} at {at}")
    whose = "of those that completed: " if (np.isfinite(np.ma.filled(values, np.nan)) & ~rows.completed).any() else ""
    return f"\n{textwrap.fill(whose + '; '.join(listed), TITLE)}" if listed else ""


def _counted(rows: Table, member: int) -> str:
    """The measures of a member that are small counts and differ between members, such as the order of its gait."""
    counts = (c for c in rows.of_role("measure") if len({*c.values[np.isfinite(c.values)]}) > 1 and c.colours)
    listed = ", ".join(f"{c.name} {c.values[member]:g}" for c in counts)
    return f" ({listed})" if listed else ""


def _text(column: Column, value: float) -> str:
    return column.names[int(value)] if column.names else with_unit(f"{float(f'{value:.4g}'):.10g}", column.unit)


def draw_empty(
    ax: Axes, empty: Bool[np.ndarray, "*members"], rows: Table, along: Sequence[str], *, own: bool = False
) -> None:
    """Draws members without a value in the colour of their status, hatched or crossed out, unlike any value.

    Args:
        ax: where to draw.
        empty: which members these are, with the last dimension of the scan first.
        rows: the table of the scan.
        along: names of the two parameters, first that along the x axis.
        own: whether the picture is one of the status, which then is the value.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxgait.plot.maps import draw_empty
        >>> from jaxgait.plot.table import table
        >>> scan = xr.Dataset({"status": (("k", "c"), [[0, 1]])}, {"k": [1.0], "c": [3.0, 4.0]})
        >>> ax = plt.figure().subplots()
        >>> draw_empty(ax, np.array([[False], [True]]), table(scan), ["k", "c"])
        >>> [label.split(":")[0] for label in ax.get_legend_handles_labels()[1]]
        ['no value']
    """
    grid = len(rows.dims) == 2
    draw = (cells if grid else _samples)(ax, rows, along)
    looks: dict[str, Any] = {}
    if not grid:
        looks = {"marker": "o" if own else "x"}
    elif empty.sum() <= MAX_HATCHED and not own:
        looks = {"hatch": "////", "edgecolor": "white", "linewidth": 0.0}
    status = rows.status.reshape(rows.shape).T
    draw(np.ma.masked_array(status, ~empty), **_whole([colour for _, colour in rows.statuses]), **looks)
    for number in np.unique(status[empty]):
        named = no_value(own, *rows.statuses[number])
        if "hatch" in looks:
            ax.fill([], [], facecolor=named["color"], label=named["label"], **looks)
        else:
            ax.plot([], [], looks.get("marker", "s"), ls="", **named)


def _mark_early_ends(ax: Axes, known: np.ndarray, rows: Table, along: Sequence[str]) -> None:
    """Marks members that have a value but ended early: by squares on cells (hatches on small ones), or rings."""
    across, up = (rows.columns[n].values for n in along)
    looks: dict[str, Any] = {"facecolor": "none", "s": RING, "marker": "o", "linewidth": 1.2}
    size = LARGEST_SQUARE
    if len(rows.dims) == 2:
        box = ax.get_window_extent()
        cell = min(box.width / np.unique(across).size, box.height / np.unique(up).size) * 72.0 / ax.figure.dpi
        size = min(SQUARE * cell, LARGEST_SQUARE)
        looks = {"edgecolor": "white", "s": size**2, "marker": "s", "linewidth": 0.5}
    paint = "edgecolor" if "facecolor" in looks else "facecolor"
    early = {number: known & ~rows.completed & (rows.status == number) for number in range(len(rows.statuses))}
    present = [number for number, which in early.items() if which.any()]
    for number, hatch in zip(present, itertools.cycle(HATCHES)):
        (sentence, colour), which = rows.statuses[number], early[number]
        if size < SMALLEST_SQUARE:
            hatched = {"facecolor": "none", "edgecolor": colour, "linewidth": 0.0, "hatch": hatch}
            cells = _outlines(_corners(rows, along), which.reshape(rows.shape).T)
            ax.add_patch(PathPatch(cells, label=sentence, zorder=4, **hatched))
        else:
            ax.scatter(across[which], up[which], label=sentence, zorder=4, **{paint: colour}, **looks)


def _outlines(corners: tuple[np.ndarray, np.ndarray], which: np.ndarray) -> Path:
    """Some cells of a grid as one path, which takes no longer to hatch than one cell."""
    i, j = np.nonzero(which)
    around = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j)]
    points = np.stack([np.stack([x[at] for x in corners], axis=-1) for at in around], axis=1)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(points.reshape(-1, 2), codes * len(i))


def no_value(own: bool, sentence: str, colour: str) -> dict[str, Any]:
    """Style of members without a value; a picture of the status (`own`) shows their status.

    Examples:
        >>> from jaxgait.plot.maps import no_value
        >>> no_value(False, "fell", "#D55E00")["label"]
        'no value: fell'
    """
    why = "not defined in a completed run" if sentence == COMPLETED_TEXT else f"no value: {sentence}"
    return {"color": colour, "label": sentence if own else why}
