"""Pictures of labelled results: time histories of runs, curves and maps of scans, one panel per variable."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize, to_hex
from matplotlib.figure import Figure

from jaxgait.ensembles.columns import MEMBER
from jaxgait.ensembles.members import listed
from jaxgait.ensembles.results import over_time
from jaxgait.measure import with_gaps
from jaxgait.plot.jumps import split_at_jumps
from jaxgait.plot.maps import draw_map, no_value, set_scale
from jaxgait.plot.panels import chosen, distinct, legend, named_artists, not_all, of_known, scalar_histories
from jaxgait.plot.references import draw_reference, draw_references, references, with_their_references
from jaxgait.plot.runs import (
    MAX_NAMED,
    Runs,
    brief,
    end_time,
    ending,
    fixed_values,
    looks,
    member_names,
    members_ending,
    notes,
    runs_by_name,
    while_moving,
)
from jaxgait.plot.strides import over_stride
from jaxgait.plot.style import GREY, PALETTE, are_counts, axis_label, broken, keep_level, mark_whole, style
from jaxgait.plot.table import Column, Table, table
from jaxgait.solve.names import PHASE
from jaxgait.support.checks import as_names
from jaxgait.support.units import displayed, with_unit

LOWEST, HIGHEST, TOGETHER = 1.75, 3.4, 6.4
"""Height of a panel at least and at most, and of all panels if these allow it, in inches."""
OUTCOMES = 0.8
"""Height of a panel of statuses over one parameter, or of phases over time, in inches: a few levels."""
LEGEND = 110
"""Characters of the names that fit below all panels."""
STRIDE = "stride"
"""The alternative to time as the axis of histories."""
SIMULATED = "simulated"
"""Name of the only line in a panel with a reference."""
FAINTEST = 0.15
"""Least opacity of lines too many to name."""
MARKERS = "o^sDv<>"
"""Markers of lines for names, such as subjects, each of which gets its own."""
MANY = 200
"""More members than this are drawn as maps of their measures or, over time, as bands."""
SHARES = ((5.0, 95.0, 0.2), (25.0, 75.0, 0.35))
"""Bands of many members: their ends as percentiles, and their opacity."""
EXAMPLES = 5
"""Number of single members that are drawn on such bands."""
Drawing = Callable[[Axes, xr.DataArray], xr.DataArray | None]
"""Draws a variable into a panel, and returns the values by which its lines are coloured, if any are."""


def picture(
    data: Runs, variables: str | Sequence[str] = (), over: str | Sequence[str] = (), *, last: int | None = None
) -> Figure:
    """Draws a result over time, or else over the scanned parameters.

    The picture states how runs that did not complete ended, and the parameter values of a single member of a scan.

    Args:
        data: a result of `simulate` or `ensemble`; or several runs by name, such as {"soft": run, "stiff": other}, to
            compare over time or over the stride.
        variables: names; by default the first few. Measures of a scan with time histories are drawn over the parameters
            if they are named, or if there are more than `MANY` members and no names. Named histories of so many members
            are drawn as median and bands.
        over: two of the sampled parameters of a scan, by default the first two or the only one; ["stride"] for time
            histories over per cent of the stride (see `jaxgait.plot.strides.over_stride`).
        last: number of the last strides that count over the stride.

    Raises:
        TypeError: for anything else.
        ValueError: for unknown variables, or if there is nothing to draw.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.histories import picture
        >>> jump = xr.Dataset({"height": ("time", [80.0, 75.0, 60.0], {"units": "m"})}, {"time": [0.0, 1.0, 2.0]})
        >>> picture(jump).axes[0].get_ylabel()
        'height (m)'
    """
    variables, over = as_names("variables", variables), as_names("over", over)
    if over == (STRIDE,):
        return over_stride(data, variables, last=last)
    if last is not None:
        raise ValueError(f"last={last} counts strides: draw over the stride, over=['{STRIDE}']")
    runs = runs_by_name(data, "picture")
    if not isinstance(data, xr.Dataset):
        if over:
            raise ValueError(f"several runs are drawn over time, or over=['{STRIDE}'], not over {', '.join(over)}")
        return histories(runs, variables)
    data = over_time(data)
    if own := [v for v in variables if v in data and "instant" in data[v].dims]:
        raise ValueError(f"the members have times of their own: draw {own[0]} over the stride, over=['{STRIDE}']")
    many = "status" in data and data["status"].size > MANY
    measures = bool(variables or over or many) and not any("time" in data[v].dims for v in variables if v in data)
    if "time" not in data.dims or ("status" in data and measures):
        return scanned(data.drop_dims("time", errors="ignore"), variables, over)
    if over:
        raise ValueError(f"a result over time is drawn over time, or over=['{STRIDE}'], not over {', '.join(over)}")
    return histories(data, variables)


def histories(data: Runs, variables: str | Sequence[str] = ()) -> Figure:
    """Draws variables of a result against time, each with its measured reference, dashed, if it has one.

    Args:
        data: a result of `simulate`, or anything with the dimension `time`; or several runs by name.
        variables: names; by default the first few scalar histories.

    Raises:
        TypeError: for anything else.
        ValueError: for unknown variables, if there is nothing to draw, and for ensembles among several runs.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.histories import histories
        >>> columns = {"height": ("time", [80.0, 75.0, 60.0], {"units": "m"}), "v": ("time", [0.0, 10.0, 20.0])}
        >>> figure = histories(xr.Dataset(columns, {"time": [0.0, 1.0, 2.0]}), ["height", "v"])
        >>> print([panel.get_ylabel() for panel in figure.axes], figure.axes[-1].get_xlabel())
        ['height (m)', 'v'] time (s)
    """
    runs = {name: over_time(run) for name, run in runs_by_name(data, "picture").items()}
    several = not isinstance(data, xr.Dataset)
    for name, run in runs.items():
        if several and (run.sizes.get("time", 0) == 0 or ("status" in run and run["status"].ndim)):
            raise ValueError(f"several results are drawn together if each is one run over time, and {name!r} is not")
    first = next(iter(runs.values()))
    own = with_their_references(first, [n for n in scalar_histories(first) if all(n in run for run in runs.values())])
    for run in runs.values():  # each must have them
        names = with_their_references(first, chosen(run, variables, own, ["time"], only=several))
    first = distinct(first, names)
    own_note = "" if variables else not_all(names, own)
    if several:
        values = [f"{name}: {', '.join(fixed)}" for name, run in runs.items() if (fixed := fixed_values(run))]
        note, draw = notes(*values, own_note), lambda ax, x: _compared(ax, runs, x)
    else:
        note, draw = notes(*fixed_values(first), _early(first), own_note), lambda ax, x: _history(ax, first, x)
    return _panels(first, names, draw, axis_label("time", "s"), note)


def _early(data: xr.Dataset) -> str:
    """How many members of an ensemble did not complete."""
    ends = members_ending(data, [str(d) for d in data["status"].dims]) if "status" in data else []
    return f"{np.count_nonzero(ends)} of {len(ends)} members did not complete" if len(ends) > 1 and any(ends) else ""


def _history(ax: Axes, data: xr.Dataset, x: xr.DataArray) -> xr.DataArray | None:
    """A variable over time, of a run or of members, with its reference and the end of a run that ended early."""
    single = lambda x: while_moving(x) if x.dims != ("time",) else _split(data, str(x.name))
    others = [str(d) for d in x.dims if d != "time"]
    coloured_by = _curve(ax, single(x), "time", ends=members_ending(data, others))
    reference = references(data).get(str(x.name))
    ended = ending(data)
    if len(ax.lines) == 1 and (reference or ended):
        ax.lines[0].set_label(SIMULATED)
    if reference:
        draw_reference(ax, single(data[reference]), "time")
    _mark_end(ax, data, ended, GREY)
    _mark_counts(ax, x)
    return coloured_by


def _compared(ax: Axes, runs: Mapping[str, xr.Dataset], x: xr.DataArray) -> None:
    """A variable of several runs over time, each in its colour, with their references and early ends."""
    name, own = str(x.name), looks(len(runs))
    for (label, run), look in zip(runs.items(), own, strict=True):
        line = _split(run, name)
        ax.plot(line["time"], line, lw=1, label=label, **look)
    known = [references(run).get(name) for run in runs.values()]
    if all(known):
        curves = [run[reference] for run, reference in zip(runs.values(), known, strict=True)]
        draw_references(ax, curves, "time", own)
    for (label, run), look in zip(runs.items(), own, strict=True):
        ended = ending(run)
        _mark_end(ax, run, ended and f"{label}: {ended}", look["color"])
    ax.set_ylabel(broken(axis_label(x)), fontsize=8)
    _mark_counts(ax, *(displayed(run[name]) for run in runs.values()))


def _mark_counts(ax: Axes, *histories: xr.DataArray) -> None:
    """Ticks at whole numbers only, if these histories, of one variable, have no others."""
    if all(are_counts(x.values, str(x.attrs.get("units", "1"))) for x in histories):
        mark_whole(ax.yaxis)


def _split(run: xr.Dataset, name: str) -> xr.DataArray:
    """A history as it is shown, interrupted where it jumps."""
    return displayed(split_at_jumps(run.assign({name: while_moving(run[name])}), [name])[name])


def _mark_end(ax: Axes, run: xr.Dataset, ended: str, colour: str) -> None:
    """A dotted line where a run ended early, with the reason in the legend."""
    if ended:
        at = end_time(run)
        ax.axvline(np.nan if at is None else at, color=colour, lw=1.0, ls=(0, (1, 2)), label=brief(ended))


def scanned(data: xr.Dataset, variables: str | Sequence[str] = (), over: Sequence[str] = ()) -> Figure:
    """Draws variables of a scan over its one or two dimensions, or over two sampled parameters.

    Members without a value have the colour of their status.

    Args:
        data: a result of `ensemble` without time histories.
        variables: names; by default the first few measures, or the status if there are none.
        over: two of the parameters; by default the first two or the only one. The title names the others.

    Raises:
        ValueError: for unknown variables and parameters, more than two dimensions, or if there is nothing to draw.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.histories import scanned
        >>> columns = {"clearance": ("mass", [2.0, -1.0], {"units": "m"}), "status": ("mass", [0, 0])}
        >>> figure = scanned(xr.Dataset(columns, {"mass": ("mass", [60.0, 80.0], {"units": "kg"})}))
        >>> print(figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel(), sep=", ")
        mass (kg), clearance (m)
    """
    if "status" not in data:
        raise ValueError("nothing to draw: this is neither a run over time nor a scan with a status per member")
    data, fixed = _arranged(listed(data))
    rows = table(data)
    if len(rows.dims) > 2:
        drawn = list(over) if {*over} < {*rows.dims} and len(over) == 2 else rows.dims[:2]
        others = [d for d in rows.dims if d not in drawn]
        what = f"a picture over {', '.join(drawn)} needs one value of {', '.join(others)}"
        how = f"select it, data.isel({dict.fromkeys(others, 0)}) (--select {others[0]}=VALUE)"
        raise ValueError(f"{what}: {how}, or make a page, which shows all (jaxgait view FILE)")
    measures = [c.name for c in rows.of_role("measure")] or ["status"]
    names = chosen(data, variables, measures, rows.dims)
    few = "" if variables else not_all(names, measures)
    alone = fixed_values(data)
    data, along, of = distinct(data, names), _along(rows, over), "" if over or "status" in names else _named(rows)
    draw = functools.partial(_lines, of=of) if of else _line
    draw = functools.partial(draw_map, along=along) if len(along) > 1 and not of else draw
    across = next(d for d in (along if len(along) > 1 else rows.dims) if d != of)
    across = rows.columns[across].in_words if across in rows.columns else axis_label(data[across])
    shown = lambda x: x.copy(data=with_gaps(x)).where(x.name != "status")  # its codes are not quantities
    hidden = [_span(rows.columns[name]) for name in rows.along if name not in along] if len(along) > 1 else []
    whose = ", ".join([*alone, *fixed, *hidden])
    axes = "\nother axes: view --over NAME NAME" if hidden else ""
    note = notes(f"members with {whose}" if whose else "", few) + axes
    return _panels(data, names, lambda ax, x: draw(ax, shown(x), rows), across, note)


def _arranged(scan: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    """The scan over increasing values without dimensions of size 1, and the values of these.

    If a single parameter varies in a sample, its values replace the members' numbers as the dimension.
    """
    dims = [str(d) for d in scan["status"].dims]
    single = [d for d in dims if scan.sizes[d] == 1][: len(dims) - 1]  # at least one remains
    columns = table(scan).columns
    fixed = [_span(columns[d]) for d in single if d in columns]
    scan = scan.isel(dict.fromkeys(single, 0), drop=True)
    rows = table(scan)
    if len(rows.dims) == len(rows.along) == 1 and rows.along[0] in scan.coords:
        scan = scan.swap_dims({rows.dims[0]: rows.along[0]})
    return scan.sortby([d for d in scan["status"].dims if scan[d].dtype.kind in "fiu"]), fixed


def _along(rows: Table, over: Sequence[str]) -> list[str]:
    """The parameters that a picture of a scan is drawn over: two, or the only one."""
    if not over or list(over) == rows.along:
        return rows.along[:2]
    if len(rows.along) < 2:
        raise ValueError(f"over names two axes, but only {', '.join(rows.along)} has several values: leave it out")
    if len({*over}) != 2 or not {*over} <= {*rows.along}:
        raise ValueError(f"over must name two of {', '.join(rows.along)}, got {', '.join(over)}")
    return list(over)


def _named(rows: Table) -> str:
    """In a scan over two dimensions, the one with few names, such as subjects, which each get a line; empty if none."""
    names = {d: rows.columns[d].names for d in rows.dims if d in rows.columns}
    named = [d for d, own in names.items() if 0 < len(own) <= len(MARKERS)]
    return named[0] if len(rows.dims) == len(names) == 2 and len(named) == 1 else ""


def _span(column: Column) -> str:
    ends = sorted({np.nanmin(column.values), np.nanmax(column.values)})
    text = [column.names[int(x)] if column.names else f"{x:.4g}" for x in ends]
    return with_unit(f"{column.name} {'from' if len(ends) > 1 else '='} {' to '.join(text)}", column.unit)


def _panels(data: xr.Dataset, names: Sequence[str], draw: Drawing, across: str, note: str) -> Figure:
    """One panel per variable, drawn by `draw` over an axis with the label `across`; colour bars of the lines.

    The note is above all panels.
    """
    usual = min(HIGHEST, max(LOWEST, TOGETHER / len(names)))
    few_levels = lambda name: name == PHASE or (name == "status" and data["status"].ndim == 1)
    heights = [OUTCOMES if few_levels(name) else usual for name in names]
    layout: dict[str, Any] = {"sharex": True, "squeeze": False, "height_ratios": heights}
    with style():
        figure, axes = plt.subplots(len(names), 1, figsize=(7.5, sum(heights) + 0.6), **layout)
        figure.align_ylabels(axes)
        by: dict[bytes, tuple[xr.DataArray, list[Axes]]] = {}
        for ax, name in zip(axes[:, 0], names, strict=True):
            values = draw(ax, displayed(data[name]))
            keep_level(ax)
            if values is not None:
                by.setdefault(values.values.tobytes(), (values, []))[1].append(ax)
        for values, coloured in by.values():
            bar = figure.colorbar(_colours(values), ax=coloured, label=broken(axis_label(values)))
            if _column(values).whole and not _column(values).geometric:
                mark_whole(bar.ax.yaxis)
        axes[-1, 0].set_xlabel(across)
        if note:
            figure.suptitle(note, fontsize=8)
        _legend(figure)
    return figure


def _curve(ax: Axes, x: xr.DataArray, dim: str, ends: Sequence[str] = (), **drawn: Any) -> xr.DataArray | None:
    """Draws a variable over one of its dimensions, and returns the values by which its lines are coloured, if any are.

    Up to `MAX_NAMED` lines are named by the values of the other dimensions, and by how their members ended early
    (`ends`, empty for those that did not). If there are more lines than colours, and one parameter varies, it colours
    them. All others are grey. More than `MANY` become bands with a few lines.
    """
    others = [str(d) for d in x.dims if d != dim]
    curves = x.transpose(dim, ...).values.reshape(x.sizes[dim], -1)
    count = curves.shape[1]
    by = _by(x, others) if count > len(PALETTE) else None
    if count > MANY:
        _bands(ax, x, dim, curves)
        ax.set_ylabel(broken(axis_label(x)), fontsize=8)
        return by
    named = bool(others) and by is None and count <= MAX_NAMED
    if by is not None:
        ax.set_prop_cycle(color=[to_hex(c) for c in _colours(by).to_rgba(by.values)])
    elif named:
        own = looks(MAX_NAMED)
        ax.set_prop_cycle(**{key: [look[key] for look in own] for key in own[0]})
    elif others:
        ax.set_prop_cycle(color=[GREY], alpha=[max(FAINTEST, MAX_NAMED / count)])
        ax.set_title(f"{count} lines", fontsize=8, loc="left")
    lines = ax.plot(x[dim], curves, lw=1, **drawn)
    if named:
        for line, name, end in zip(lines, member_names(x, others), ends or [""] * count, strict=True):
            line.set_label(f"{name} ({end})" if end else name)
    ax.set_ylabel(broken(axis_label(x)), fontsize=8)
    return by


def _bands(ax: Axes, x: xr.DataArray, dim: str, curves: np.ndarray) -> None:
    """Many curves, (samples, members), as their median and the bands around it, with a few of them.

    The lines are coloured by the parameter, if there is one, and have names otherwise.
    """
    others, count = [str(d) for d in x.dims if d != dim], curves.shape[1]
    percent = [50.0, *(end for low, high, _ in SHARES for end in (low, high))]
    middle, *ends = of_known(np.nanpercentile, np.asarray(curves, float), percent, axis=1)
    for (low, high, opacity), lower, upper in zip(SHARES, ends[::2], ends[1::2], strict=True):
        label = f"{high - low:.0f} % of {count} members"
        ax.fill_between(x[dim], lower, upper, color=GREY, alpha=opacity, lw=0, label=label)
    ax.plot(x[dim], middle, color="black", lw=1.5, label="median", zorder=3)
    picked, by = np.linspace(0, count - 1, EXAMPLES).round().astype(int), _by(x, others)
    colours = PALETTE if by is None else [to_hex(c) for c in _colours(by).to_rgba(by.values[picked])]
    at = np.unravel_index(picked, [x.sizes[d] for d in others])
    for i, member, colour in zip(range(EXAMPLES), picked, colours, strict=False):
        one = x.isel({d: int(index[i]) for d, index in zip(others, at, strict=True)})
        name = ", ".join(fixed_values(one.to_dataset(name="x"))) if by is None else None
        ax.plot(x[dim], curves[:, member], color=colour, lw=0.8, label=name)


def _by(x: xr.DataArray, others: Sequence[str]) -> xr.DataArray | None:
    """The coordinate that colours lines: the only one with different numbers, along the only dimension of size > 1."""
    varied = [d for d in others if x.sizes[d] > 1]
    along = [c for c in x.coords.values() if c.dims == tuple(varied) and c.dtype.kind in "fiu" and c.name != MEMBER]
    along = [c for c in along if np.unique(c).size > 1]
    along = [c for c in along if c.name in varied] or along
    return along[0] if len(varied) == len(along) == 1 and np.isfinite(along[0]).all() else None


def _colours(by: xr.DataArray) -> ScalarMappable:
    return ScalarMappable(
        (LogNorm if _column(by).geometric else Normalize)(float(by.min()), float(by.max())), "viridis"
    )


def _column(by: xr.DataArray) -> Column:
    return Column(str(by.name), "", str(by.attrs.get("units", "1")), "axis", by.values)


def _lines(ax: Axes, x: xr.DataArray, rows: Table, of: str) -> None:
    """A variable over the scanned parameter, with a line for each name along a dimension."""
    axis, status = rows.dims.index(of), rows.status.reshape(rows.shape)
    for i, (name, marker) in enumerate(zip(rows.columns[of].names, MARKERS, strict=False)):
        own = rows._replace(dims=(rows.dims[1 - axis],), shape=(rows.shape[1 - axis],), status=status.take(i, axis))
        _line(ax, x.isel({of: i}, drop=True), own, label=name, marker=marker, ms=4, mfc="none")


def _line(ax: Axes, x: xr.DataArray, rows: Table, **drawn: Any) -> xr.DataArray | None:
    """A variable over the scanned parameter; squares mark early ends, at the bottom for members without a value."""
    dim = rows.dims[0]
    across, up = (rows.columns.get(name) for name in (dim, str(x.name)))
    joined = not (up and up.colours) and not (across and across.names)
    by = _curve(ax, x, dim, **{"marker": ".", **drawn}, **({} if joined else {"linestyle": ""}))
    for axis, column in ((ax.xaxis, across), (ax.yaxis, up)):
        if column:
            set_scale(axis, column)
    own, look = x.name == "status", {"marker": "s", "ms": 4, "ls": ""}
    if drawn:  # of several names
        look |= {"marker": drawn["marker"], "color": ax.lines[-1].get_color()}
    if own:
        ax.set(yticks=[], ylabel="")  # a status is not a quantity
    values = x.transpose(dim, ...).values.reshape(rows.size, -1)
    empty = ~np.isfinite(values).any(axis=1)
    for number, status in enumerate(rows.statuses):
        early = ~empty & ~rows.completed & (rows.status == number)
        if early.any():
            ax.plot(x[dim][early], values[early], "s", ms=6, mfc="none", mec=status[1], label=status[0])
        where = x[dim][empty & (rows.status == number)]
        if where.size:
            at = {"transform": ax.get_xaxis_transform(), "clip_on": False}
            why = no_value(own, *status)
            why |= {"label": f"{drawn['label']}: {why['label']}"} if drawn else {}
            ax.plot(where, np.full(where.size, 0.5 * own), **why | look | at)
    return by


def _legend(figure: Figure) -> None:
    """One legend for the lines of all panels, if they have names."""
    named = named_artists(figure)
    if named:
        columns = max(1, min(4 if len(named) > 8 else 2, LEGEND // max(map(len, named))))
        legend(figure, ncols=columns, fontsize=7)
        figure.set_figheight(figure.get_figheight() + 0.15 * -(-len(named) // columns))
