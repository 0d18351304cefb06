"""Pictures of the docs: all mechanisms, those of the page Start, a measured walk, and pictures for a journal's column.

`python -m experiments.docs.gallery` draws them.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Callable
from typing import NamedTuple
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from PIL import Image

from jaxgait import animate, ensemble, simulate
from jaxgait.models import Bungee, Creeper, Jumper, Prosthesis, RollingWalker
from jaxgait.models.exoskeleton import five_links
from jaxgait.motion.capture.walk import measure, walk_stride
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import with_forces
from jaxgait.motion.verdict import judge
from jaxgait.plot import film_layout
from jaxgait.plot.histories import picture
from jaxgait.plot.strides import over_stride
from jaxgait.plot.style import save, style
from jaxgait.plot.walk import sheet

PICTURES = pathlib.Path(__file__).parents[2] / "docs" / "pictures"
PICTURE, CAPTURE = PICTURES / "mechanisms.png", PICTURES / "capture.png"
COLUMN, STRIDE = PICTURES / "column.png", PICTURES / "stride.png"


class Panel(NamedTuple):
    """One mechanism."""

    title: str
    run: Callable[[], xr.Dataset]
    at: float
    """Instant shown, as a fraction of the run."""


ROWS = (
    (
        Panel("four-bar prosthetic knee", lambda: simulate(Prosthesis(), strides=2), 0.85),
        Panel("round-foot passive walker", lambda: simulate(RollingWalker(), duration=2.0), 0.58),
    ),
    (
        Panel("human jump on a flexible sole", lambda: simulate(Jumper()), 0.24),
        Panel("walking exoskeleton", lambda: simulate(five_links(mode="gait"), duration=0.9), 0.16),
        Panel("bungee jumper", lambda: simulate(Bungee(), duration=20.0), 0.2),
    ),
    (Panel("inchworm robot in an artery", lambda: simulate(Creeper(), strides=2), 0.4),),
)
FRAMES, DPI = 50, 160
HEIGHT, WIDTH = 2.2, 6.0
"""Size of the views in inches: smaller than in films, for words that are large enough side by side."""
GAP, TITLE = 30, 45
"""Distance between panels and height of their titles in pixels."""


def still(run: xr.Dataset, at: float) -> np.ndarray:
    """One frame of an animation without curves and words, as an image without its margin."""
    with mock.patch.multiple(film_layout, HEIGHT=HEIGHT, WIDTH=WIDTH):
        moving = animate(run, speed=float(run.time[-1] - run.time[0]), fps=FRAMES, curves=False)
    figure = moving.figure
    for words in (*figure.legends, *(child for ax in figure.axes for child in (ax.title, ax.get_legend()))):
        if words is not None:
            words.set_visible(False)
    for ax in figure.axes:
        ax.set_title("", loc="left")
    with tempfile.TemporaryDirectory() as folder:
        path = moving.save(pathlib.Path(folder, "film.gif"), dpi=DPI)
        with Image.open(path) as frames:
            frames.seek(round(at * (FRAMES - 1)))
            image = np.asarray(frames.convert("RGB"))
    rows, columns = (np.flatnonzero((image < 250).any(axis=(1 - axis, 2))) for axis in (0, 1))
    return image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def draw(path: pathlib.Path = PICTURE) -> pathlib.Path:
    """Draws all mechanisms into one picture, every one in its own size, so that words are equally large."""
    rows = [[(panel.title, still(panel.run(), panel.at)) for panel in row] for row in ROWS]
    wide = max(sum(image.shape[1] for _, image in row) + GAP * (len(row) - 1) for row in rows)
    tall = [TITLE + max(image.shape[0] for _, image in row) for row in rows]
    size = np.array([wide, sum(tall) + GAP * len(rows)])
    with style(figure__constrained_layout__use=False):
        figure = plt.figure(figsize=tuple(size / DPI))
        top = size[1]
        for row, height in zip(rows, tall, strict=True):
            gap = (wide - sum(image.shape[1] for _, image in row)) / (len(row) + 1 if len(row) == 1 else len(row) - 1)
            left = gap if len(row) == 1 else 0.0
            for title, image in row:
                high, across = image.shape[:2]
                ax = figure.add_axes((left / wide, (top - TITLE - high) / size[1], across / wide, high / size[1]))
                ax.imshow(image, aspect="auto")
                ax.set_title(title)
                ax.axis("off")
                left += across + gap
            top -= height + GAP
        figure.savefig(path, dpi=DPI)
        plt.close(figure)
    return path


def start() -> list[pathlib.Path]:
    """Runs the code of `docs/start.md` up to the scan, and takes its animation and its map."""
    blocks = re.findall(r"```python\n(.*?)```", (PICTURES.parent / "start.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks[: 1 + next(i for i, block in enumerate(blocks) if "ensemble(" in block)]:
            exec(block, names)
        return [pathlib.Path(shutil.copy(name, PICTURES / name)) for name in ("jump.gif", "safe.png")]


def capture(path: pathlib.Path = CAPTURE) -> pathlib.Path:
    """Draws the report of Rajagopal's public trial, which is in `$JAXGAIT_GAIT_DATA/raw`."""
    raw = pathlib.Path(os.environ["JAXGAIT_GAIT_DATA"], "raw")
    trial = with_forces(*(read_recording(raw / f"rajagopal_{name}") for name in ("markers_walk.trc", "grf_walk.mot")))
    walk = measure([trial], "right", mass=85.07)  # kg, of the subject
    return save(sheet(walk, judge(walk_stride(walk))), path, dpi=100)


def column(path: pathlib.Path = COLUMN) -> pathlib.Path:
    """Draws the first picture of `docs/howto/pictures.md`, 85 mm wide."""
    return save(picture(simulate(Bungee(), duration=20.0), ["height", "rope_force"]), path, width_mm=85, dpi=300)


def stride(path: pathlib.Path = STRIDE) -> pathlib.Path:
    """Draws the second one: a mean and its spread over the stride."""
    grid = {"damper.k": np.linspace(1.4e4, 3e4, 6), "damper.c": np.linspace(300.0, 1500.0, 4)}
    knees = ensemble(Prosthesis(), grid, strides=6, trajectories=["knee_angle", "measured_knee_angle"])
    return save(over_stride(knees), path, width_mm=85, dpi=300)


if __name__ == "__main__":
    for drawn in (draw(), *start(), capture(), column(), stride()):
        print(f"drew {drawn}")
