"""`animate` for every mechanism that defines a scene, and writing films to files."""

from __future__ import annotations

import base64
import contextlib
import errno
import functools
import itertools
import math
import os
import pathlib
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.animation import AbstractMovieWriter, FuncAnimation
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from jaxgait.ensembles.results import open_result
from jaxgait.model import Model
from jaxgait.plot.encoding import INSTALL, MAX_RATE, WRITERS, drawn_once, encoder, only_moving
from jaxgait.plot.film_layout import Stage, laid_out
from jaxgait.plot.scene import Scene, alike, cut_off, scene
from jaxgait.plot.style import style
from jaxgait.plot.timeline import length
from jaxgait.support import checks, files
from jaxgait.support.checks import by_name, warn_user
from jaxgait.support.notes import waiting

SHORTEST, LONGEST = 3.0, 30.0
"""Lengths in s below which a film is in slow motion, and above which it is sped up, unless a speed is given."""
WIDTH = 800
"""Width of a film's file in pixels: half a slide."""
FEWEST = 10.0
"""Samples per second of a film below which it moves in jumps, unless it has no more frames."""
HOLD = 1.0
"""Time in s for which the last frame of a run that ended early stays."""


class Film(FuncAnimation):
    """A matplotlib animation that notebooks play when it is the value of a cell.

    It is shown as MP4 if there is an encoder (the extra `film`), otherwise as GIF.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.film import Film
        >>> figure, ax = plt.subplots(figsize=(1.0, 1.0))
        >>> film = Film(figure, lambda i: ax.plot([0.0, i], [0.0, 1.0]), frames=2)
        >>> film.save("films/line.gif", fps=2).name
        'line.gif'
    """

    _moving: Sequence[Artist] = ()
    """Artists in axes that otherwise do not change, and are therefore drawn only once."""

    _frames: Sequence[Any] = ()
    """Frames of the file that is being written."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._draw_was_started = True  # or matplotlib would warn if a film is discarded

    @property
    def figure(self) -> Figure:
        """The figure in which the frames are drawn; `save` closes it.

        Examples:
            >>> from jaxgait import Bungee, animate, simulate
            >>> film = animate(simulate(Bungee(), duration=10.0))
            >>> print(film.figure.axes[0].get_title(loc="left")[:10])
            t = 0.00 s
        """
        return self._fig  # type: ignore[attr-defined]  # matplotlib has no public attribute

    def new_saved_frame_seq(self) -> Iterator[Any]:
        """The frames of a file, for which matplotlib asks when it writes one.

        Examples:
            >>> import matplotlib.pyplot as plt
            >>> from jaxgait.plot.film import Film
            >>> film = Film(plt.figure(), lambda i: [], frames=2)
            >>> _ = film.save("empty.gif")
            >>> len(list(film.new_saved_frame_seq()))
            2
        """
        return iter(self._frames)

    def _rate(self, writer: AbstractMovieWriter | str, fps: int | float | None) -> float:
        """Frames of a file in 1/s."""
        rate = float(getattr(writer, "fps", fps or self._own_rate))
        return min(rate, MAX_RATE) if writer == WRITERS["gif"] else rate

    def _at_rate(self, rate: float) -> list[Any]:
        """The frames of a file: at another rate (in 1/s) than the film's own, some are repeated or left out."""
        frames = list(itertools.islice(self.new_frame_seq(), self._save_count))  # type: ignore[attr-defined]
        count = _steps((len(frames) - 1) / self._own_rate, rate)
        return [frames[i] for i in np.linspace(0, len(frames) - 1, count + 1).round().astype(int)]

    @property
    def _own_rate(self) -> float:
        return 1000.0 / self._interval  # type: ignore[attr-defined]

    def save(  # matplotlib's returns nothing, and chooses ffmpeg for every file
        self,
        filename: pathlib.Path | str,
        writer: AbstractMovieWriter | str | None = None,
        *,
        fps: int | float | None = None,
        dpi: int | float | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> pathlib.Path:
        """Writes the film as GIF or MP4, closes its figure and returns the path.

        Args:
            filename: a file whose name ends in .gif or .mp4, or in any way if a writer is given.
            writer: one of matplotlib's; None: that for the extension.
            fps: largest number of frames in 1/s, which does not change the speed; the film's own if None, 50 at most in
                a GIF file.
            dpi: resolution in dots per inch; None: such that the film is `WIDTH` pixels wide.
            progress: whether to show a progress bar; None: on a terminal and in notebooks.
            options: further ones of matplotlib's `Animation.save`.

        Raises:
            OSError: if it cannot be written; an old film stays as it is.
            ValueError: for another extension, impossible fps and dpi, fps together with a writer (which has its own),
                and without the writer on this machine.

        Examples:
            >>> from jaxgait import Bungee, animate, simulate
            >>> animate(simulate(Bungee(), duration=10.0), fps=5).save("fall.gif").name
            'fall.gif'
        """
        path = files.local(filename)
        writer = WRITERS.get(path.suffix.removeprefix(".").lower()) if writer is None else writer
        if writer is None:
            raise ValueError(f"cannot write {path}: the name of an animation must end in .{' or .'.join(WRITERS)}")
        for name, value in (("fps", fps), ("dpi", dpi)):
            if value is not None:
                checks.positive(name, value, "")
        if fps is not None and not isinstance(writer, str):
            raise ValueError("the writer has its own fps: give one of them")
        changes = encoder() if writer == "ffmpeg" else {}
        if changes is None:
            raise ValueError(f"cannot write {path}: ffmpeg is missing: {INSTALL}, or write a .gif")
        files.in_its_folder(path)
        dpi = WIDTH / self.figure.get_figwidth() if dpi is None else dpi
        with (
            style(**changes, figure__constrained_layout__use=False),  # the figure has its own layout
            waiting(path.name, "frame", progress) as bar,
        ):
            rate = self._rate(writer, fps)
            self._frames = self._at_rate(rate)
            bar.total = len(self._frames)
            kept = (len(self._frames) - 1) / max(1, self._save_count - 1)  # type: ignore[attr-defined]
            # with a writer, matplotlib accepts no other rate than the writer's
            own = kept * self._own_rate if isinstance(writer, str) else None

            def shown(frame: int, frames: int) -> None:
                bar.update()
                if frame + 1 == frames:
                    bar.set_description(f"{path.name}: encoding")

            further = {"fps": own, "dpi": dpi, "progress_callback": shown, **options}
            pixels = writer in WRITERS.values()  # other writers may have none
            once = only_moving(self.figure, self._moving) if pixels else contextlib.nullcontext()
            at = files.replacing(path) if pixels else contextlib.nullcontext(path)  # others write folders, too
            with at as draft, drawn_once(self.figure.canvas), once:
                try:
                    super().save(str(draft), writer=writer, **further)
                except subprocess.CalledProcessError as error:
                    raise files.not_written(pathlib.Path(draft), f"the encoder failed: {_reason(error)}") from error
            bar.set_description(path.name)
        plt.close(self.figure)
        return path

    def _repr_html_(self) -> str:
        kind = "mp4"
        if encoder() is None:
            kind = "gif"
            checks.warn_user(f"without ffmpeg the animation becomes a GIF, which is large: {INSTALL}")
        with tempfile.TemporaryDirectory() as folder:
            content = self.save(pathlib.Path(folder, f"film.{kind}")).read_bytes()
        data = base64.b64encode(content).decode()
        if kind == "gif":
            return f'<img alt="film" src="data:image/gif;base64,{data}">'
        return f'<video controls autoplay loop muted src="data:video/mp4;base64,{data}"></video>'


def _reason(error: subprocess.CalledProcessError) -> str:
    """Why an encoder failed: a full disk or a limit if it says so, otherwise its last line, or how it ended."""
    printed = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else error.stderr or ""
    limited = error.returncode == -getattr(signal, "SIGXFSZ", 0)  # never 0
    if limited or any(os.strerror(number) in printed for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)):
        return "is the disk full?"
    lines = printed.strip().splitlines() if error.returncode > 0 else []  # a signal leaves no reason
    return lines[-1] if lines else f"exit code {error.returncode}"


@by_name()
def animate(
    shown: xr.Dataset | str | os.PathLike[str] | Mapping[Any, xr.Dataset | str | os.PathLike[str]],
    model: Model | None = None,
    *,
    speed: int | float | None = None,
    fps: int = 25,
    curves: bool = True,
) -> Film:
    """A film of a run, or of several runs side by side.

    Args:
        shown: result of `simulate` (or one member of an ensemble with trajectories) or its file, or several by title,
            such as {70.0: run, 90.0: heavy}. Those of one mechanism have the same scale. A run that ends early freezes,
            and its caption states how it ended.
        model: the mechanism; None: made from the attributes of the runs.
        speed: 1 is real time; None: as `usual_pace`. The title states it.
        fps: largest number of frames in 1/s; the film has as many as divide its length evenly, and at least two.
        curves: whether to draw histories below the scene, if it has any; of many cycles, a window that moves.

    Warns:
        UserWarning: about what is outside the view during much of the film, and runs with too few samples for it.

    Raises:
        TypeError: for a file name as the model.
        ValueError: for anything but runs over time, for mechanisms without a scene, and for impossible speeds.

    Examples:
        >>> from jaxgait import Bungee, animate, simulate
        >>> film = animate(simulate(Bungee(), duration=20.0), speed=20.0, fps=5)
        >>> film.save("jump.gif").name
        'jump.gif'
    """
    runs = list(shown.items()) if isinstance(shown, Mapping) and not isinstance(shown, xr.Dataset) else [("", shown)]
    if not runs:
        raise ValueError("an animation needs at least one run, got none")
    if isinstance(model, str | os.PathLike):
        raise TypeError(f"animate takes no file but a model, got {model!r}: write animate(run).save({str(model)!r})")
    results = [open_result(run) for _, run in runs]
    scenes = [scene(run, model) for run in results]
    for text in filter(None, dict.fromkeys(map(cut_off, scenes))):
        warn_user(text)
    kinds = {
        (len(one.views), None if model else run.attrs.get("model")) for one, run in zip(scenes, results, strict=True)
    }
    if len(runs) > 1 and len(kinds) == 1:
        scenes = alike(scenes)
    span = max(map(length, scenes))
    pace = usual_pace(span) if speed is None else checks.positive("speed", speed, "")
    least = min(FEWEST, float(checks.count("fps", fps)))
    for (title, _), one in zip(runs, scenes, strict=True):
        _warn_of_jumps(title, one, pace, least)
    steps = _steps(span / pace, float(fps))
    rate = steps * pace / span
    titles = [f"{title:g}" if isinstance(title, float | np.floating) else str(title) for title, _ in runs]
    with style(figure__constrained_layout__use=False):
        figure, stages = laid_out(list(zip(titles, scenes, strict=True)), curves, pace)
    fell = any(stage.early and stage.span >= span for stage in stages)
    times = np.append(np.linspace(0.0, span, steps + 1), np.full(round(HOLD * rate) * fell, span))
    draw = functools.partial(_draw, stages, times)
    draw(0)
    film = Film(figure, draw, frames=len(times), interval=1000.0 / rate, blit=False)
    film._moving = [panel.cursor for stage in stages for panel in stage.panels if not panel.scrolls]
    return film


def _warn_of_jumps(title: Any, shown: Scene, pace: float, least: float) -> None:
    """Warns about a run with fewer samples per second of the film than are needed to move smoothly."""
    rate = pace * (len(shown.time) - 1) / length(shown)
    if rate < (1.0 - 1e-9) * least:
        whose = f"the run {title!r}" if title != "" else "the run"
        warn_user(
            f"the film moves in jumps, and peaks may be cut off: {whose} has {rate:.2g} samples per second of the "
            f"film; simulate it with {math.ceil(least / rate)} times as many samples"
        )


def usual_pace(span: float) -> float:
    """The speed (1 is real time) of a film of `span` in s: real time, slower for a short motion, faster for a long one.

    Examples:
        >>> from jaxgait.plot.film import usual_pace
        >>> print(usual_pace(1.1), usual_pace(20.0), usual_pace(100.0))
        0.25 1.0 4.0
    """
    if span > LONGEST:
        return 2.0 ** math.ceil(math.log2(span / LONGEST))
    return 2.0 ** min(0, math.floor(math.log2(span / SHORTEST)))


def _steps(duration: float, fps: float) -> int:
    """Number of steps from frame to frame of a film of a duration in s, at most at a rate in 1/s, and at least one."""
    return max(1, math.floor(duration * fps + 1e-9))


def _draw(stages: list[Stage], times: np.ndarray, frame: int) -> list[Any]:
    for stage in stages:
        stage.show(times[frame])
    return []
