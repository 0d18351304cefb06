"""Measured references of the variables of a result, which pictures draw dashed in the panel of their variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from jaxgait.plot.style import displayed

LOOK: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1.0, "zorder": 3}
"""The line of a reference."""


def references(data: xr.Dataset) -> dict[str, str]:
    """The references in a result by the variables that they belong to, as its model declares them.

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
    return {base: name for name, base in named.items() if base in data.data_vars}


def with_their_references(data: xr.Dataset, names: Sequence[str]) -> list[str]:
    """Variables without those that are drawn in the panel of another one among them.

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


def draw_reference(ax: Axes, x: xr.DataArray, dim: str) -> None:
    """Draws a reference into the panel of its variable, dashed, with its long name in the legend.

    Args:
        ax: the panel, in which the lines of its variable are.
        x: the reference over `dim` and the dimensions of its variable, along which it may be the same.
        dim: the dimension along the axis.

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
    curves = x.transpose(dim, ...).values.reshape(x.sizes[dim], -1)
    own = list(ax.lines)
    longest = curves[:, [np.isfinite(curves).sum(axis=0).argmax()]]  # others may have ended early
    alike = bool(((curves == longest) | np.isnan(curves)).all())
    label = str(x.attrs.get("long_name") or x.name)
    for i, curve in enumerate(longest.T if alike else curves.T):
        look: dict[str, Any] = LOOK | ({} if alike or len(own) != curves.shape[1] else {"color": own[i].get_color()})
        ax.plot(x[dim], curve, **look, label=label if i == 0 else None)
