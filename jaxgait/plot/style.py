"""One look for all pictures: sizes, colours that colour-blind readers can tell apart, and how a figure is saved."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#7F7F7F"
PALETTE = (BLUE, ORANGE, GREEN, RED, PURPLE, "#56B4E9", "#000000")
"""Okabe and Ito's palette."""
FAILED = "#C8C8C8"
"""Colour of a failed member on a map."""

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


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Draws in the look of jaxgait inside the block; the user's own matplotlib settings are untouched outside."""
    with mpl.rc_context(_RC):
        yield


def save(figure: Figure, path: pathlib.Path | str, *, dpi: int = 150) -> pathlib.Path:
    """Saves a figure, closes it and returns its path."""
    import matplotlib.pyplot as plt

    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)
    plt.close(figure)
    return path
