"""Films: what the `animate` of a mechanism draws, written to a file."""

from __future__ import annotations

import pathlib

import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation, writers
from tqdm import tqdm

from jaxgait.plot.style import style

WRITERS = {".gif": "pillow", ".mp4": "ffmpeg"}
"""Who writes which kind of file."""


def save(
    film: FuncAnimation,
    path: pathlib.Path | str,
    *,
    fps: int | None = None,
    dpi: int = 80,
    progress: bool | None = None,
) -> pathlib.Path:
    """Writes a film as GIF or MP4, closes its figure and returns its path.

    Args:
        film: as `animate` of a mechanism returns it.
        path: a file whose name ends in .gif or .mp4.
        fps: frames per second; the film's own if None.
        dpi: resolution in dots per inch.
        progress: show a progress bar; None: only on a terminal.

    Raises:
        ValueError: for another ending, and for a kind of file that this machine has no writer for.
    """
    path = pathlib.Path(path)
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ValueError(f"cannot write {path}: the name of a film must end in {' or '.join(WRITERS)}")
    if not writers.is_available(writer):
        raise ValueError(f"cannot write {path}: {writer} is not installed; install it, or write a .gif")
    path.parent.mkdir(parents=True, exist_ok=True)
    look = style(figure__constrained_layout__use=False)  # layouts are the figure's own business
    with look, tqdm(desc=path.name, unit="frame", disable=None if progress is None else not progress) as bar:

        def advance(frame: int, frames: int | None) -> None:
            bar.total = frames
            bar.update()

        film.save(str(path), writer=writer, fps=fps, dpi=dpi, progress_callback=advance)
    plt.close(film._fig)  # type: ignore[attr-defined]  # a film does not give its figure otherwise
    return path
