"""The panels of a picture: their grid, the variables that are available and chosen, and one legend for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from jaxgait.support.checks import as_names, nearest
from jaxgait.support.notes import without_library_warnings

MAX_PANELS = 8
"""Largest number of panels if no variables are named."""
PER_ROW = 3
"""Largest number of panels of a grid next to each other."""


def grid(
    count: int, size: tuple[float, float], *, extra: tuple[float, float] = (0.0, 0.0), **shared: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with panels in rows of up to `PER_ROW`; surplus ones in the last row are hidden.

    Args:
        count: number of panels.
        size: width and height of each in inches.
        extra: space beside and above all of them, in inches.
        **shared: options of `matplotlib.pyplot.subplots`, such as ``sharey=True``.

    Examples:
        >>> from jaxgait.plot.panels import grid
        >>> figure, panels = grid(4, (2.0, 1.5))
        >>> print(len(panels), figure.get_size_inches())
        4 [6. 3.]
    """
    columns = min(count, PER_ROW)
    rows = -(-count // columns)
    figsize = (size[0] * columns + extra[0], size[1] * rows + extra[1])
    figure, axes = plt.subplots(rows, columns, figsize=figsize, squeeze=False, **shared)
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    return figure, list(axes.flat[:count])


def scalar_histories(data: xr.Dataset, dim: str = "time") -> list[str]:
    """Names of the numeric variables with one value per sample of a run, or of each member of a scan.

    Args:
        data: a result of `simulate` or `ensemble`.
        dim: the dimension of the samples: "time", or "instant" of members with times of their own.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.panels import scalar_histories
        >>> columns = {"height": ("time", [80.0, 75.0]), "foot": (("time", "axis"), [[0.0, 1.0], [0.2, 1.0]])}
        >>> scalar_histories(xr.Dataset(columns, {"time": [0.0, 1.0]}))
        ['height']
    """
    numbers = {str(n): x for n, x in data.data_vars.items() if dim in x.dims and x.dtype.kind in "fiub" and n != "time"}
    others = {name: {*x.dims} - {dim} for name, x in numbers.items()}
    members = {*data["status"].dims} if "status" in data else min(others.values(), key=len, default=set())
    return [name for name in numbers if others[name] == members]


def chosen(
    data: xr.Dataset, named: str | Sequence[str], own: Sequence[str], dims: Sequence[str], *, only: bool = False
) -> list[str]:
    """The variables to draw: the named ones, or the first few of `own`.

    Args:
        data: a result of `simulate` or `ensemble`.
        named: names of variables, or a single one.
        own: those that are drawn if none are named.
        dims: the dimensions that a named one must have.
        only: whether it must have no others.

    Raises:
        ValueError: for unknown variables and for others without these dimensions, and if there is nothing to draw.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.panels import chosen
        >>> chosen(xr.Dataset({"height": ("time", [80.0, 75.0])}), "height", [], ["time"])
        ['height']
    """
    names = [*as_names("variables", named)]
    check_there(data, names)
    for name in names:
        if not {*dims} <= {*data[name].dims} or (only and len(dims) < data[name].ndim):
            own = f"has the dimensions {', '.join(map(str, data[name].dims))}" if data[name].ndim else "is one number"
            raise ValueError(f"{name!r} {own}: what is drawn here is {'only ' * only}over {' and '.join(dims)}")
    found = names or list(own)[:MAX_PANELS]
    if not found:
        raise ValueError(f"nothing to draw: no variable has only the dimensions {tuple(dims)}; name the variables")
    if empty := [name for name in found if not data[name].size]:
        raise ValueError(f"nothing to draw: {empty[0]!r} has no values, only the sizes {dict(data[empty[0]].sizes)}")
    return found


def not_all(drawn: Sequence[str], own: Sequence[str]) -> str:
    """A note if a picture shows only the first few of the variables that could be drawn; empty if it shows all.

    Examples:
        >>> from jaxgait.plot.panels import not_all
        >>> not_all(["height", "v"], ["height", "v", "drag", "energy"])
        'the first 2 of 4 variables (others by name)'
    """
    return f"the first {len(drawn)} of {len(own)} variables (others by name)" if len(drawn) < len(own) else ""


def check_there(data: xr.Dataset, names: Sequence[str]) -> None:
    """Checks that a result has the named variables.

    Raises:
        ValueError: for the first one that is missing, with similar names.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.panels import check_there
        >>> check_there(xr.Dataset({"height": ("time", [80.0, 75.0])}), ["heihgt"])
        Traceback (most recent call last):
            ...
        ValueError: no variable 'heihgt': did you mean 'height'?
    """
    for name in names:
        if name not in data:
            there = [str(other) for other in data.data_vars]
            hint = nearest(name, there, limit=2, otherwise=f"there are {', '.join(there)}")
            raise ValueError(f"no variable {name!r}: {hint}")


def distinct(data: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """The result in which those of the variables that have the same long name are called by their names instead.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.panels import distinct
        >>> columns = {name: ("time", [0.0, 1.0], {"long_name": "angle"}) for name in ("hip", "knee")}
        >>> [x.attrs["long_name"] for x in distinct(xr.Dataset(columns), ["hip", "knee"]).values()]
        ['hip', 'knee']
    """
    words = [data[name].attrs.get("long_name", name) for name in names]
    alike = [name for name, own in zip(names, words, strict=True) if words.count(own) > 1]
    return data.assign({name: data[name].assign_attrs(long_name=name) for name in alike})


def named_artists(figure: Figure) -> dict[str, Artist]:
    """The labelled artists of all panels of a figure, by label, for a common legend.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.panels import named_artists
        >>> figure, panels = plt.subplots(2)
        >>> lines = [ax.plot([0.0, 1.0], label="measured") for ax in panels]
        >>> list(named_artists(figure))
        ['measured']
    """
    return {name: one for ax in figure.axes for one, name in zip(*ax.get_legend_handles_labels(), strict=True)}


def legend(figure: Figure, loc: str = "outside lower center", **looks: Any) -> Legend:
    """One legend, beside the panels, for the labelled artists of all of them; in one line unless `ncols` is given.

    Args:
        figure: where to draw it.
        loc: its location; one that begins with "outside" reserves space for it.
        **looks: further options of `matplotlib.figure.Figure.legend`.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.panels import legend
        >>> figure, panels = plt.subplots(2, layout="constrained")
        >>> lines = [ax.plot([0.0, 1.0], label="measured") for ax in panels]
        >>> [text.get_text() for text in legend(figure).get_texts()]
        ['measured']
    """
    named = named_artists(figure)
    looks = {"loc": loc, "ncols": max(len(named), 1)} | looks
    return figure.legend(list(named.values()), list(named), **looks)


def of_known(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Calls one of NumPy's functions that skip NaN; where all values are NaN, the result is NaN, without a warning.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.panels import of_known
        >>> of_known(np.nanmean, np.array([[1.0, np.nan], [3.0, np.nan]]), axis=0)
        array([ 2., nan])
    """
    with without_library_warnings():
        return function(*args, **options)
