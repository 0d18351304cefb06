"""The picture of all mechanisms, from frames of their animations: `python -m experiments.docs.gallery`."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from PIL import Image

from jaxgait import animate, simulate
from jaxgait.models import Bungee, Creeper, Jumper, Prosthesis, RollingWalker
from jaxgait.models.exoskeleton import five_links
from jaxgait.plot.style import style

PICTURE = pathlib.Path(__file__).parents[2] / "docs" / "pictures" / "mechanisms.png"


class Panel(NamedTuple):
    """One mechanism."""

    title: str
    run: Callable[[], xr.Dataset]
    at: float
    """Instant shown, as a fraction of the run."""


PANELS = (
    Panel("four-bar prosthetic knee", lambda: simulate(Prosthesis(), strides=2), 0.85),
    Panel("human jump on a flexible sole", lambda: simulate(Jumper()), 0.24),
    Panel("round-foot passive walker", lambda: simulate(RollingWalker(), duration=2.0), 0.58),
    Panel("inchworm robot in an artery", lambda: simulate(Creeper(), strides=2), 0.4),
    Panel("exoskeleton of telescopic links", lambda: simulate(five_links(mode="gait"), duration=0.9), 0.16),
    Panel("bungee jumper", lambda: simulate(Bungee(), duration=20.0), 0.2),
)
FRAMES = 50


def still(run: xr.Dataset, at: float) -> np.ndarray:
    """One frame of an animation without curves and words, as an image without its margin."""
    film = animate(run, speed=float(run.time[-1] - run.time[0]), fps=FRAMES, curves=False)
    figure = plt.gcf()
    for words in (*figure.legends, *(child for ax in figure.axes for child in (ax.title, ax.get_legend()))):
        if words is not None:
            words.set_visible(False)
    with tempfile.TemporaryDirectory() as folder:
        path = film.save(pathlib.Path(folder, "film.gif"), dpi=110)
        with Image.open(path) as frames:
            frames.seek(round(at * (FRAMES - 1)))
            image = np.asarray(frames.convert("RGB"))
    rows, columns = (np.flatnonzero((image < 250).any(axis=(1 - axis, 2))) for axis in (0, 1))
    return image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def draw(path: pathlib.Path = PICTURE) -> pathlib.Path:
    """Draws all mechanisms into one picture."""
    with style():
        figure, axes = plt.subplots(2, 3, figsize=(13.0, 6.4), height_ratios=(1.0, 1.15))
        for ax, panel in zip(axes.flat, PANELS, strict=True):
            ax.imshow(still(panel.run(), panel.at))
            ax.set_title(panel.title)
            ax.set_anchor("N")
            ax.axis("off")
        figure.savefig(path, dpi=100)
        plt.close(figure)
    return path


if __name__ == "__main__":
    print(f"drew {draw()}")
