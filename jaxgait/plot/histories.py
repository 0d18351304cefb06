"""Pictures of labelled results: time histories of runs, curves and maps of scans, one panel per variable."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.checks import nearest
from jaxgait.plot.style import FAILED, axis_label, style

MAX_PANELS = 8
MAX_NAMED = 8
"""Lines of a panel up to which a legend names them: as many as there are colours."""
_OUTCOME = ("status", "first_status", "retries", "steps", "rejected_steps", "t_end")


def picture(data: xr.Dataset, variables: Sequence[str] = ()) -> Figure:
    """Draws a result over time, or else over the scanned parameters.

    Args:
        data: a result of `simulate` or `ensemble`.
        variables: by default the first few.

    Raises:
        ValueError: for unknown variables, or if there is nothing to draw.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.histories import picture
        >>> jump = xr.Dataset({"height": ("time", [80.0, 75.0, 60.0], {"units": "m"})}, {"time": [0.0, 1.0, 2.0]})
        >>> picture(jump).axes[0].get_ylabel()
        'height (m)'
    """
    return histories(data, variables) if "time" in data.dims else scanned(data, variables)


def histories(data: xr.Dataset, variables: Sequence[str] = ()) -> Figure:
    """Draws variables of a result against time.

    Args:
        data: a result of `simulate`, or anything with the dimension `time`.
        variables: names; by default the first few scalar histories.

    Raises:
        ValueError: for unknown variables, or if there is nothing to draw.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.histories import histories
        >>> columns = {"height": ("time", [80.0, 75.0, 60.0], {"units": "m"}), "v": ("time", [0.0, 10.0, 20.0])}
        >>> figure = histories(xr.Dataset(columns, {"time": [0.0, 1.0, 2.0]}), ["height", "v"])
        >>> print([panel.get_ylabel() for panel in figure.axes], figure.axes[-1].get_xlabel())
        ['height (m)', 'v'] time (s)
    """
    members = data["status"].dims if "status" in data else ()
    own = [str(n) for n, x in data.data_vars.items() if set(x.dims) == {"time", *members}]
    chosen = _chosen(data, variables, own, ("time",))
    return _panels(data, chosen, lambda ax, x: _curve(ax, x, "time", "-"), axis_label("time", "s"))


def scanned(data: xr.Dataset, variables: Sequence[str] = ()) -> Figure:
    """Draws variables of a scan over its one or two dimensions; members without a value are grey or left out.

    Args:
        data: a result of `ensemble` without time histories.
        variables: names; by default the first few measures, or the status if there are none.

    Raises:
        ValueError: for unknown variables, more than two dimensions, or if there is nothing to draw.

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
    dims = tuple(str(d) for d in data["status"].dims)
    if len(dims) not in (1, 2):
        raise ValueError(f"only scans with one or two dimensions can be drawn, this one has {', '.join(dims)}")
    plain = [str(n) for n, x in data.data_vars.items() if x.dims == dims and x.dtype.kind in "fiu"]
    measures = [n for n in plain if n not in _OUTCOME and not n.endswith("_end")]
    chosen = _chosen(data, variables, measures or [n for n in plain if n == "status"], dims)
    across = axis_label(dims[0], data[dims[0]].attrs.get("units") if dims[0] in data.coords else None)
    return _panels(data, chosen, _map if len(dims) == 2 else lambda ax, x: _curve(ax, x, dims[0], ".-"), across)


def _panels(data: xr.Dataset, chosen: Sequence[str], draw: Callable[[Axes, xr.DataArray], None], across: str) -> Figure:
    """One panel per variable, drawn by a function, over an axis with the label `across`."""
    with style():
        figure, axes = plt.subplots(len(chosen), 1, figsize=(7.5, 1.6 * len(chosen) + 0.6), sharex=True, squeeze=False)
        figure.align_ylabels(axes)
        for ax, name in zip(axes[:, 0], chosen, strict=True):
            draw(ax, data[name])
            ax.set_title(data[name].attrs.get("long_name", ""), fontsize=8, loc="left")
        axes[-1, 0].set_xlabel(across)
        _legend(figure)
    return figure


def _chosen(data: xr.Dataset, named: Sequence[str], own: Sequence[str], dims: tuple[str, ...]) -> list[str]:
    """The variables to draw: the named ones, or the first few of `own`."""
    unknown = [v for v in named if v not in data]
    if unknown:
        there = [str(name) for name in data.data_vars]
        hint = nearest(unknown[0], there, limit=2, otherwise=f"there are {', '.join(there)}")
        raise ValueError(f"no variable {unknown[0]!r}: {hint}")
    short = [v for v in named if not set(dims) <= set(data[v].dims)]
    if short:
        raise ValueError(f"{short[0]!r} has the dimensions {data[short[0]].dims}, but needs {dims}")
    chosen = list(named) or list(own)[:MAX_PANELS]
    if not chosen:
        raise ValueError(f"nothing to draw: no variable has only the dimensions {dims}; name the variables")
    return chosen


def _curve(ax: Axes, x: xr.DataArray, dim: str, kind: str) -> None:
    """Draws a variable over one of its dimensions; a few lines are named by where they are in the others."""
    others = [str(d) for d in x.dims if d != dim]
    curves = x.transpose(dim, ...).values.reshape(x.sizes[dim], -1)
    lines = ax.plot(x[dim], curves, kind, lw=1)
    if others and len(lines) <= MAX_NAMED:
        for line, place in zip(lines, itertools.product(*(x[d].values.tolist() for d in others)), strict=True):
            text = [f"{value:g}" if isinstance(value, float) else str(value) for value in place]
            line.set_label(", ".join(f"{d} = {value}" for d, value in zip(others, text, strict=True)))
    ax.set_ylabel(axis_label(str(x.name), x.attrs.get("units")), fontsize=8)


def _legend(figure: Figure) -> None:
    """One legend for the lines of all panels, if they have names."""
    named = {label: line for ax in figure.axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if named:
        figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=2, fontsize=7)


def _map(ax: Axes, x: xr.DataArray) -> None:
    if x.ndim != 2:
        raise ValueError(f"{x.name!r} has the dimensions {x.dims}: a map needs one number per member")
    first, second = map(str, x.dims)
    ax.set_facecolor(FAILED)
    mesh = ax.pcolormesh(
        x[first], x[second], np.ma.masked_invalid(x.transpose(second, first).values), shading="nearest"
    )
    ax.set_ylabel(axis_label(second, x[second].attrs.get("units")), fontsize=8)
    ax.figure.colorbar(mesh, ax=ax, label=axis_label(str(x.name), x.attrs.get("units")))
