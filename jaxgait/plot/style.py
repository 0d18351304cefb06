"""The style of all pictures: sizes, colours for colour-blind readers, and saving of figures."""

from __future__ import annotations

import contextlib
import io
import pathlib
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr
from cycler import cycler
from jaxtyping import Float, Num
from matplotlib.figure import Figure

from jaxgait import files

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#7F7F7F"
PALETTE = (BLUE, ORANGE, GREEN, RED, PURPLE, "#56B4E9", "#000000")
"""Okabe and Ito's palette."""
FAILED, EARTH = "#C8C8C8", "#E4E0D8"
"""Colours of a failed member on a map, and of the ground."""

_RC: dict[Any, Any] = {
    "axes.prop_cycle": cycler(color=PALETTE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "image.cmap": "viridis",
}


_SAVED: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "jaxgait"}
"""TrueType, as journals require; text that can be searched and edited; the same names in every file."""
_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "svgz": {"Date": None}, "pdf": {"CreationDate": None}}
"""Without the time: the same picture is the same file."""


@contextlib.contextmanager
def style(**changes: Any) -> Iterator[None]:
    """Draws in jaxgait's style inside the block, and restores the user's matplotlib settings afterwards.

    Only the settings changed here are restored: `matplotlib.rc_context` would also undo those of the backend that the
    first picture of a notebook chooses, such as `interactive`.

    Further settings are given with `__` for the dot in their names.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.style import style
        >>> with style(axes__grid=False):
        ...     figure, ax = plt.subplots()
        >>> ax.spines["top"].get_visible()
        False
    """
    mine: dict[Any, Any] = _RC | {name.replace("__", "."): value for name, value in changes.items()}
    before: dict[Any, Any] = {name: mpl.rcParams[name] for name in mine}
    mpl.rcParams.update(mine)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def axis_label(quantity: str | xr.DataArray, unit: str | None = None) -> str:
    """The label of an axis, a colour bar or a curve: "name (unit)", or the name alone without a unit.

    Args:
        quantity: its name, or an array with the attributes `long_name` and `units`.
        unit: by default that of the array.

    Examples:
        >>> from jaxgait.plot.style import axis_label
        >>> axis_label("knee angle", "deg")
        'knee angle (deg)'
    """
    if isinstance(quantity, xr.DataArray):
        unit = str(quantity.attrs.get("units", "")) if unit is None else unit
        quantity = str(quantity.attrs.get("long_name", quantity.name))
    return quantity if unit in (None, "", "1") else f"{quantity} ({unit})"


def displayed(x: xr.DataArray) -> xr.DataArray:
    """A result as pictures show it: angles and their rates in degrees, as in gait analysis; all else as it is.

    Examples:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxgait.plot.style import displayed
        >>> rate = xr.DataArray([np.pi], dims="time", attrs={"units": "rad/s"})
        >>> print(displayed(rate).values, displayed(rate).units)
        [180.] deg/s
    """
    unit = str(x.attrs.get("units", ""))
    if unit.partition("/")[0] != "rad":
        return x
    return x.copy(data=np.degrees(x.values)).assign_attrs(units=unit.replace("rad", "deg", 1))


def cell_edges(centres: Num[np.ndarray, " cells"], geometric: bool = False) -> Float[np.ndarray, " edges"]:
    """Edges of cells around two or more values: halfway between them, on a logarithmic axis as seen there.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.style import cell_edges
        >>> print(cell_edges(np.array([1.0, 2.0, 4.0])))
        [0.5 1.5 3.  5. ]
    """
    x = np.log(centres) if geometric else np.asarray(centres, float)
    middle = (x[1:] + x[:-1]) / 2.0
    edges = np.concatenate([2.0 * x[:1] - middle[:1], middle, 2.0 * x[-1:] - middle[-1:]])
    return np.exp(edges) if geometric else edges


def kinds() -> tuple[str, ...]:
    """File extensions of pictures that can be written.

    Examples:
        >>> from jaxgait.plot.style import kinds
        >>> "png" in kinds()
        True
    """
    return tuple(sorted(Figure().canvas.get_supported_filetypes()))


def save(figure: Figure, path: pathlib.Path | str, *, dpi: int = 150) -> pathlib.Path:
    """Saves a figure, closes it and returns its path; creates missing folders.

    The extension is one of `kinds`, by default matplotlib's (.png); `dpi` is the resolution in dots per inch. The same
    figure gives the same PNG, SVG or PDF file, which have no date.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.style import save
        >>> figure, ax = plt.subplots(figsize=(2.0, 1.5))
        >>> path = save(figure, "pictures/knee.png")
        >>> print(path.name, path.exists())
        knee.png True
    """
    import matplotlib.pyplot as plt

    path = pathlib.Path(path)
    kind = path.suffix.removeprefix(".").lower()
    if not kind:
        kind = mpl.rcParams["savefig.format"]
        path = path.with_name(f"{path.name.rstrip('.')}.{kind}")
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = io.BytesIO()
    with mpl.rc_context(_SAVED):
        figure.savefig(drawn, dpi=dpi, format=kind, metadata=_UNDATED.get(kind))
    files.data(path, drawn.getvalue())
    plt.close(figure)
    return path
