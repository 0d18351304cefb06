"""Time histories of any labelled result, one panel per variable."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.figure import Figure

from jaxgait.plot.style import axis_label, style

MOST = 8
"""Panels drawn when no variables are named."""


def histories(data: xr.Dataset, variables: Sequence[str] = ()) -> Figure:
    """Draws variables of a result against time.

    Args:
        data: a result of `simulate`, or anything with the dimension `time`.
        variables: which; the first few scalar histories if none are named.

    Raises:
        ValueError: for unknown variables, or if there is nothing to draw.
    """
    unknown = [v for v in variables if v not in data]
    if unknown:
        raise ValueError(f"no variable {unknown[0]!r}; there are {', '.join(map(str, data.data_vars))}")
    chosen = list(variables) or [str(n) for n, x in data.data_vars.items() if x.dims == ("time",)][:MOST]
    if not chosen:
        raise ValueError("nothing to draw: no variable over time alone; name some")
    with style():
        figure, axes = plt.subplots(len(chosen), 1, figsize=(7.5, 1.6 * len(chosen) + 0.6), sharex=True, squeeze=False)
        for ax, name in zip(axes[:, 0], chosen, strict=True):
            x = data[name]
            ax.plot(data["time"], x.transpose("time", ...).values.reshape(len(data["time"]), -1), lw=1)
            ax.set_ylabel(axis_label(name, x.attrs.get("units")), fontsize=8)
            ax.set_title(x.attrs.get("long_name", ""), fontsize=8, loc="left")
        axes[-1, 0].set_xlabel(axis_label("time", "s"))
    return figure
