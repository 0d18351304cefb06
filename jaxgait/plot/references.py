"""Measured references of the variables of a result, which pictures draw dashed in the panel of their variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from jaxgait.plot.panels import of_known
from jaxgait.support.units import displayed

LOOK: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1.0, "zorder": 3}
"""The line style of a reference."""
ALIKE, ALIKE_WITHIN = 1e-6, 1e-2
"""Largest difference of references that are drawn as one, relative to the largest value: of members, due to rounding;
of runs with samples of their own, due to interpolation."""


def references(data: xr.Dataset) -> dict[str, str]:
    """The references in a result by the variables that they belong to, as its model declares them.

    One with a dimension that its variable lacks is drawn like any other variable, in a panel of its own.

    Args:
        data: a result of `simulate` or `ensemble`; the attribute `reference_of` of a variable names another one.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.references import references
        >>> measured = ("time", [0.1, 0.2], {"reference_of": "knee_angle"})
        >>> references(xr.Dataset({"knee_angle": ("time", [0.1, 0.3]), "measured_knee_angle": measured}))
        {'knee_angle': 'measured_knee_angle'}
    """
    named = {str(name): str(x.attrs.get("reference_of", "")) for name, x in data.data_vars.items()}
    known = {base: name for name, base in named.items() if base in data.data_vars}
    return {base: name for base, name in known.items() if {*data[name].dims} <= {*data[base].dims}}


def with_their_references(data: xr.Dataset, names: Sequence[str]) -> list[str]:
    """The variables without references that are drawn in the panel of another one of them.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.references import with_their_references
        >>> measured = ("time", [0.1, 0.2], {"reference_of": "knee_angle"})
        >>> run = xr.Dataset({"knee_angle": ("time", [0.1, 0.3]), "measured_knee_angle": measured})
        >>> with_their_references(run, ["knee_angle", "measured_knee_angle"])
        ['knee_angle']
    """
    drawn = {other for name, other in references(data).items() if name in names}
    return [name for name in names if name not in drawn]


def draw_references(ax: Axes, curves: Sequence[xr.DataArray], dim: str, looks: Sequence[Mapping[str, Any]]) -> None:
    """Draws the references of several runs into the panel of their variable: one if all are alike.

    Args:
        ax: the panel.
        curves: the reference of each run over `dim` alone, all of the same variable.
        dim: the dimension along the axis.
        looks: of the lines of the runs; references that differ get their colours.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import xarray as xr
        >>> from jaxgait.plot.references import draw_references
        >>> _, ax = plt.subplots()
        >>> knee = xr.DataArray([0.1, 0.2], {"time": [0.0, 1.0]}, attrs={"long_name": "measured knee flexion"})
        >>> draw_references(ax, [knee, 2.0 * knee], "time", [{"color": "C0"}, {"color": "C1"}])
        >>> [line.get_color() for line in ax.lines[:2]], ax.get_legend_handles_labels()[1]
        (['C0', 'C1'], ['measured knee flexion, each in its colour'])
    """
    first = curves[0]
    if all(_alike(first, other, dim) for other in curves[1:]):
        draw_reference(ax, first, dim)
        for other in map(displayed, curves[1:]):
            beyond = (other[dim] < first[dim].min()) | (other[dim] > first[dim].max())
            if beyond.any():
                ax.plot(other[dim], other.where(beyond), **LOOK)
        return
    for curve, look in zip(curves, looks, strict=True):
        ax.plot(curve[dim], displayed(curve), **LOOK | {"color": look["color"]})
    _name_all(ax, str(first.attrs.get("long_name") or first.name))


def _name_all(ax: Axes, label: str) -> None:
    """Adds one black entry to the legend for references that differ, each of which has the colour of its run."""
    ax.plot([], [], **LOOK, label=f"{label}, each in its colour")


def _alike(one: xr.DataArray, other: xr.DataArray, dim: str) -> bool:
    """Whether two curves are the same as far as both go."""
    at = one[dim].values
    values = np.interp(at, other[dim].values, other.values, left=np.nan, right=np.nan)
    apart = of_known(np.nanmax, np.abs(one.values - values), initial=0.0)
    return bool(apart <= ALIKE_WITHIN * of_known(np.nanmax, np.abs(one.values), initial=0.0))


def draw_reference(ax: Axes, x: xr.DataArray, dim: str, *, band: bool = False) -> None:
    """Draws a reference into the panel of its variable, dashed, with its long name in the legend.

    Args:
        ax: the panel, which already has the lines of its variable.
        x: the reference over `dim` and the dimensions of its variable, along which it may be the same.
        dim: the dimension along the axis.
        band: whether references that differ, as those of several people do, become their mean and a band of 1 SD;
            otherwise each is a line in the colour of its variable's line.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import xarray as xr
        >>> from jaxgait.plot.references import draw_reference
        >>> _, ax = plt.subplots()
        >>> knee = xr.DataArray([0.1, 0.2], {"time": [0.0, 1.0]}, attrs={"long_name": "measured knee flexion"})
        >>> draw_reference(ax, knee, "time")
        >>> ax.lines[0].get_label()
        'measured knee flexion'
    """
    x = displayed(x)
    across, curves = x[dim].values, x.transpose(dim, ...).values.reshape(x.sizes[dim], -1)
    mean, label = of_known(np.nanmean, curves, axis=1), str(x.attrs.get("long_name") or x.name)
    apart = np.abs(curves - mean[:, None]) > ALIKE * of_known(np.nanmax, np.abs(curves))
    if band or not apart.any():
        ax.plot(across, mean, **LOOK, label=label)
        if apart.any():
            spread = of_known(np.nanstd, curves, axis=1, ddof=1)
            look: dict[str, Any] = {"color": "black", "alpha": 0.12, "lw": 0}
            ax.fill_between(across, mean - spread, mean + spread, label=f"{label}, ± 1 SD", **look)
        return
    own: list[Any] = [line.get_color() for line in ax.lines]
    colours = own if len(own) == curves.shape[1] else [LOOK["color"]] * curves.shape[1]
    for curve, colour in zip(curves.T, colours, strict=True):
        ax.plot(across, curve, **LOOK | {"color": colour})
    _name_all(ax, label)
