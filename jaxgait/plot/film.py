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
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib.patheffects as effects
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.animation import AbstractMovieWriter, FuncAnimation
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from tqdm import tqdm

from jaxgait import checks, files
from jaxgait.ensembles.results import open_result
from jaxgait.model import Model
from jaxgait.outcome import COMPLETED_TEXT
from jaxgait.plot.encoding import INSTALL, MAX_RATE, WRITERS, drawn_once, encoder, only_moving
from jaxgait.plot.scene import Body, Curve, Ground, Limb, Scene, View, cut_off, scene
from jaxgait.plot.style import EARTH, FAILED, PALETTE, RED, axis_label, style

SHORTEST, LONGEST = 3.0, 30.0
"""Length in s of a film below which it is in slow motion, and above which it is fast, unless a speed is given."""
HEIGHT, MAX_WIDTH, CURVE_HEIGHT = 3.6, 11.0, 1.0
"""Height of the views, width of all views, and height of a panel of curves, in inches."""
WIDTH = 800
"""Of a film's file in pixels: half a slide."""
CAPTION, ENTRY, CHARACTER = 0.35, (0.5, 0.17), 0.055
"""Height of the caption, size of a legend's entry without its text, width of a character, in inches."""
LEGEND_ROOM = 0.3
"""Height above the curves of a panel for their legend, as a fraction of theirs."""
FIGURE_SPACE = "\u2007"
"""As wide as a digit."""
HOLD = 1.0
"""Time in s for which the last frame of a run that ended early stays."""
MIN_ARROW = 0.02
"""Arrows shorter than this fraction of a view's height are left out."""


class Film(FuncAnimation):
    """A matplotlib animation that notebooks play when it is the value of a cell.

    They get an MP4 file where there is an encoder (the extra `film`), otherwise a GIF file.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.film import Film
        >>> figure, ax = plt.subplots(figsize=(1.0, 1.0))
        >>> film = Film(figure, lambda i: ax.plot([0.0, i], [0.0, 1.0]), frames=2)
        >>> film.save("films/line.gif", fps=2).name
        'line.gif'
    """

    _moving: Sequence[Artist] = ()
    """Artists in axes of which all else stays as it is, and is therefore drawn only once."""

    _frames: Sequence[Any] = ()
    """Those of the file that is being written."""

    def new_saved_frame_seq(self) -> Iterator[Any]:
        """What matplotlib asks for when a file is written: its frames.

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
        count = round((len(frames) - 1) * rate / self._own_rate) + 1
        return [frames[i] for i in np.linspace(0, len(frames) - 1, count).round().astype(int)]

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
            fps: frames in 1/s, which do not change the speed; the film's own if None. A GIF file has at most 50.
            dpi: resolution in dots per inch; None: such that the film is `WIDTH` pixels wide.
            progress: whether to show a progress bar; None: only on a terminal.
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
        path = pathlib.Path(filename)
        writer = WRITERS.get(path.suffix.removeprefix(".").lower()) if writer is None else writer
        self._draw_was_started = True  # otherwise matplotlib warns of a film that is not written because of an error
        if writer is None:
            raise ValueError(f"cannot write {path}: the name of an animation must end in .{' or .'.join(WRITERS)}")
        for name, value in (("fps", fps), ("dpi", dpi)):
            if value is not None:
                checks.positive(name, value, "")
        if fps is not None and not isinstance(writer, str):
            raise ValueError("the writer has its own fps: give one of them")
        figure = self._fig  # type: ignore[attr-defined]  # there is no public attribute
        changes = encoder() if writer == "ffmpeg" else {}
        if changes is None:
            raise ValueError(f"cannot write {path}: ffmpeg is missing: {INSTALL}, or write a .gif")
        path.parent.mkdir(parents=True, exist_ok=True)
        dpi = WIDTH / figure.get_figwidth() if dpi is None else dpi
        with (
            style(**changes, figure__constrained_layout__use=False),  # the figure has its own layout
            tqdm(desc=path.name, unit="frame", disable=None if progress is None else not progress) as bar,
        ):
            rate = self._rate(writer, fps)
            self._frames = self._at_rate(rate)
            bar.total = len(self._frames)
            own = rate if isinstance(writer, str) else None  # matplotlib accepts no other rate than that of a writer

            def shown(frame: int, frames: int) -> None:
                bar.update()
                if frame + 1 == frames:
                    bar.set_description(f"{path.name}: encoding")

            further = {"fps": own, "dpi": dpi, "progress_callback": shown, **options}
            pixels = writer in WRITERS.values()  # others may draw frames without
            once = only_moving(figure, self._moving) if pixels else contextlib.nullcontext()
            at = files.replaced(path) if pixels else contextlib.nullcontext(path)  # others write folders, too
            with at as draft, drawn_once(figure.canvas), once:
                try:
                    super().save(str(draft), writer=writer, **further)
                except subprocess.CalledProcessError as error:
                    raise OSError(f"the encoder failed: {_reason(error)}") from error
            bar.set_description(path.name)
        plt.close(figure)
        return path

    def _repr_html_(self) -> str:
        kind = "mp4"
        if encoder() is None:
            kind = "gif"
            warnings.warn(f"without ffmpeg the animation becomes a GIF, which is large: {INSTALL}", stacklevel=2)
        with tempfile.TemporaryDirectory() as folder:
            content = self.save(pathlib.Path(folder, f"film.{kind}"), progress=kind == "gif").read_bytes()
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


def animate(
    shown: xr.Dataset | str | os.PathLike[str] | Mapping[str, xr.Dataset | str | os.PathLike[str]],
    model: Model | None = None,
    *,
    speed: float | None = None,
    fps: int = 25,
    curves: bool = True,
) -> Film:
    """A film of a run, or of several runs side by side.

    Args:
        shown: result of `simulate` (or one member of an ensemble with trajectories) or its file, or several by title. A
            run that ends early freezes, and its caption states how it ended.
        model: the mechanism; None: made from the attributes of the runs.
        speed: 1 is real time; None: as `usual_pace`. The title states it.
        fps: frames in 1/s.
        curves: whether to draw histories below the scene, if it has any.

    Raises:
        TypeError: for a file name as the model.
        ValueError: for anything but runs over time, for mechanisms without a scene, and for impossible speeds.

    Examples:
        >>> from jaxgait import Bungee, animate, simulate
        >>> film = animate(simulate(Bungee(), duration=20.0), speed=20.0, fps=5)
        >>> film.save("jump.gif").name
        'jump.gif'
    """
    runs = dict(shown) if isinstance(shown, Mapping) and not isinstance(shown, xr.Dataset) else {"": shown}
    if not runs:
        raise ValueError("an animation needs at least one run, got none")
    if isinstance(model, str | os.PathLike):
        raise TypeError(f"animate takes no file but a model, got {model!r}: write animate(run).save({str(model)!r})")
    scenes = {title: scene(open_result(run), model) for title, run in runs.items()}
    for text in filter(None, dict.fromkeys(map(cut_off, scenes.values()))):
        warnings.warn(text, stacklevel=2)
    span = max(map(_span, scenes.values()))
    pace = usual_pace(span) if speed is None else checks.positive("speed", speed, "")
    frames = max(2, round(span / pace * checks.count("fps", fps)) + 1)
    with style(figure__constrained_layout__use=False):
        figure, stages = _laid_out(scenes, curves, pace, span)
    fell = any(stage.early and stage.span >= span for stage in stages)
    times = np.append(np.linspace(0.0, span, frames), np.full(round(HOLD * fps) * fell, span))
    draw = functools.partial(_draw, stages, times)
    draw(0)
    film = Film(figure, draw, frames=len(times), interval=1000.0 / fps, blit=False)
    film._moving = [cursor for stage in stages for cursor in stage.cursors]
    return film


def _span(shown: Scene) -> float:
    return float(shown.time[-1] - shown.time[0])


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


def _draw(stages: list[_Stage], times: np.ndarray, frame: int) -> list[Any]:
    for stage in stages:
        stage.show(times[frame])
    return []


def _laid_out(scenes: Mapping[str, Scene], curves: bool, pace: float, span: float) -> tuple[Figure, list[_Stage]]:
    """The figure with all views side by side, and each scene's curves below it."""
    aspects = [[v.span[0] / v.span[1] for v in s.views] for s in scenes.values()]
    height = min(HEIGHT, MAX_WIDTH / sum(map(sum, aspects)))
    widths = [[height * a for a in own] for own in aspects]
    rows = max(len(s.curves) for s in scenes.values()) if curves else 0
    legends = [_legend(s, max(4.0 / len(scenes), sum(own))) for s, own in zip(scenes.values(), widths, strict=True)]
    lines = any(scenes) + max(-(-len(legend["handles"]) // legend["ncols"]) for legend in legends)
    header = CAPTION + ENTRY[1] * lines
    size = (max(4.2, sum(map(sum, widths)) + 0.2), height + header + rows * CURVE_HEIGHT + (0.6 if rows else 0.1))
    figure = plt.figure(figsize=size)
    top = 1.0 - header / size[1]
    lowest = top - height / size[1]
    across: dict[str, Any] = {"width_ratios": [sum(w) for w in widths], "left": 0.01, "right": 0.99, "wspace": 0.03}
    columns = figure.add_gridspec(1, len(scenes), top=top, bottom=lowest, **across)
    stages = []
    for column, (title, one), width, legend in zip(range(len(scenes)), scenes.items(), widths, legends, strict=True):
        inner = columns[column].subgridspec(1, len(width), width_ratios=width, wspace=0.03)
        axes = [figure.add_subplot(inner[i]) for i in range(len(width))]
        box = columns[column].get_position(figure)
        if legend["handles"]:
            figure.legend(**legend, loc="upper left", bbox_to_anchor=(box.x0, 1.0), frameon=False, borderaxespad=0.2)
        panels = _panels(figure, (box.x0, box.x1), lowest, one.curves[:rows], size)
        stages.append(_Stage(one, axes, panels, title, "" if stages else _pace_text(pace), span))
    return figure, stages


def _panels(
    figure: Figure, across: tuple[float, float], top: float, curves: tuple[Curve, ...], size: tuple[float, float]
) -> list[Axes]:
    left, right = across[0] + 0.62 / size[0], across[1] - 0.1 / size[0]
    high = CURVE_HEIGHT / size[1]
    boxes = [(left, top - 0.12 / size[1] - (i + 1) * high, right - left, 0.84 * high) for i in range(len(curves))]
    return [figure.add_axes(box) for box in boxes]


class _Stage:
    def __init__(self, shown: Scene, axes: list[Axes], panels: list[Axes], title: str, pace: str, span: float) -> None:
        self.scene, self.title, self.pace = shown, title, pace
        self.early, self.span = shown.ended not in (COMPLETED_TEXT, Scene._field_defaults["ended"]), _span(shown)
        self.scale = shown.newtons_per_metre or arrow_scale(shown)
        self.views = [_Window(shown, view, ax, self.scale) for view, ax in zip(shown.views, axes, strict=True)]
        self.cursors = [_histories(ax, shown, curve, span) for ax, curve in zip(panels, shown.curves, strict=False)]
        for ax in panels[:-1]:
            ax.tick_params(labelbottom=False)
        for ax in panels[-1:]:
            ax.set_xlabel(axis_label("time", "s"))
        self.text = axes[0].set_title("", loc="left", fontsize=9, family="DejaVu Sans")  # all digits are as wide

    def show(self, elapsed: float) -> None:
        """Shows the scene at a time in s after the start."""
        times = self.scene.time
        i = int(np.searchsorted(times, times[0] + elapsed * (1.0 - 1e-12)))
        i = min(i, len(times) - 1)
        for view in self.views:
            view.show(i)
        for cursor in self.cursors:
            cursor.set_xdata([times[i]] * 2)
        self.text.set_text(self._caption(i, bool(elapsed > self.span + (-1e-9 if self.early else 1e-9))))

    def _caption(self, i: int, over: bool) -> str:
        line = f"t = {self.scene.time[i]:.2f} s" + (f" ({self.scene.ended})" if over else "")
        for name, (values, unit) in self.scene.readouts.items():
            now, *ends = (f"{round(float(x), 1) + 0.0:.1f}" for x in (values[i], np.nanmin(values), np.nanmax(values)))
            line += f"   {name} {now.rjust(max(map(len, ends)), FIGURE_SPACE)} {unit}"  # never -0.0
        return "\n".join(filter(None, (self.title, f"{line}   {self.pace}".rstrip())))


class _Window:
    def __init__(self, shown: Scene, view: View, ax: Axes, scale: float) -> None:
        self.scene, self.view, self.ax = shown, view, ax
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(bool(len(shown.views) > 1))
            spine.set_color(FAILED)
        self._look(0)
        if shown.ground is not None:
            ax.add_patch(_earth(shown.ground))
        dot = {"lw": 1.0, "marker": "o", "ms": 4, "mec": "w", "markevery": [-1], "zorder": 5}
        self.trails = [ax.plot([], [], color=t.colour, **dot)[0] for t in shown.trails]
        box = ax.get_window_extent()
        per_metre = 72.0 / ax.figure.dpi * min(box.width / view.span[0], box.height / view.span[1])
        self.shapes = [_artist(ax, shape, per_metre) for shape in shown.shapes]
        self.arrows = None
        if shown.forces:
            colours = [force.colour for force in shown.forces]
            nothing = np.zeros(len(colours))
            self.arrows = ax.quiver(
                nothing, nothing, nothing, nothing, color=colours, angles="xy", scale_units="xy", scale=1.0, zorder=6,
                units="inches", width=0.03, headwidth=3.5, headlength=4.5, headaxislength=4.0,
            )  # fmt: skip
        self.scale = scale
        _bar(ax, view)
        if view.title:
            text = ax.text(0.03, 0.97, view.title, transform=ax.transAxes, va="top", fontsize=8, zorder=9)
            text.set_path_effects([effects.withStroke(linewidth=3.0, foreground="white")])

    def show(self, i: int) -> None:
        self._look(i)
        for trail, line in zip(self.scene.trails, self.trails, strict=True):
            line.set_data(*trail.points[: i + 1].T)
        for shape, artist in zip(self.scene.shapes, self.shapes, strict=True):
            _move(artist, shape, i)
        if self.arrows is not None:
            at, force = (np.array([_at(getattr(f, n), i) for f in self.scene.forces]) for n in ("at", "force"))
            size = np.linalg.norm(force, axis=-1) / self.scale
            hidden = ~(size > MIN_ARROW * self.view.span[1]) | np.isnan(at).any(axis=-1)  # otherwise a dot remains
            self.arrows.set_offsets(np.nan_to_num(at))
            self.arrows.set_UVC(*(np.ma.array(x, mask=hidden) for x in np.nan_to_num(force).T / self.scale))

    def _look(self, i: int) -> None:
        (x, y), (width, height) = _at(self.view.centre, i), self.view.span
        self.ax.set(xlim=(x - width / 2, x + width / 2), ylim=(y - height / 2, y + height / 2))


def _at(values: np.ndarray, i: int) -> np.ndarray:
    """The value at a sample; a single one stands for all."""
    return values[i if len(values) > 1 else 0]


def _artist(ax: Axes, shape: Limb | Body, per_metre: float) -> Any:
    if isinstance(shape, Body):
        patch = Polygon(np.zeros((3, 2)), closed=True, facecolor=shape.colour, alpha=shape.opacity, zorder=3)
        patch.set(edgecolor=shape.edge, linewidth=0.7)
        return ax.add_patch(patch)
    width = max(1.0, shape.width * per_metre)
    (line,) = ax.plot([], [], color=shape.colour, alpha=shape.opacity, lw=width, zorder=3)
    line.set(solid_capstyle="round", solid_joinstyle="round")
    if shape.opacity == 1.0:
        line.set_path_effects([effects.Stroke(linewidth=width + 1.2, foreground="black"), effects.Normal()])
    return line


def _move(artist: Any, shape: Limb | Body, i: int) -> None:
    if isinstance(shape, Body):
        artist.set_xy(_at(shape.outline, i))
    else:
        artist.set_data(*_at(shape.points, i).T)


def _earth(ground: Ground) -> Polygon:
    far, deep = 1e4, 1e3  # m, beyond what any view sees
    drop = far * np.tan(ground.slope)
    corners = [(-far, ground.height + drop), (far, ground.height - drop)]
    below = [(far, ground.height - drop - deep), (-far, ground.height - drop - deep)]
    return Polygon([*corners, *below], facecolor=EARTH, edgecolor="#555555", lw=1.0, zorder=1)


def _bar(ax: Axes, view: View) -> None:
    length = _nice(view.span[0] / 4)
    part = length / view.span[0]
    ax.plot([0.04, 0.04 + part], [0.05, 0.05], color="black", lw=2.0, transform=ax.transAxes, zorder=8)
    ax.text(0.04, 0.065, _metric(length), transform=ax.transAxes, fontsize=7, va="bottom", zorder=8)


def _metric(length: float) -> str:
    """A length in m as text in m, cm or mm."""
    unit, factor = next((u, f) for u, f in (("m", 1.0), ("cm", 1e2), ("mm", 1e3)) if length * f >= 0.999 or u == "mm")
    return f"{length * factor:g} {unit}"


def _pace_text(pace: float) -> str:
    return "real time" if pace == 1.0 else f"{pace:g} x real time" if pace > 1 else f"slow motion 1/{1 / pace:g}"


def _legend(shown: Scene, width: float) -> dict[str, Any]:
    """Entries of a scene's legend, in as many columns as fit into a width in inches, and their style."""
    handles = [Line2D([], [], color=colour, lw=3.0, label=name) for name, colour in shown.legend.items()]
    handles += [Line2D([], [], color=t.colour, lw=1.0, label=t.name) for t in shown.trails]
    if shown.forces:
        length = _nice(shown.views[0].span[1] / 6)
        force = length * (shown.newtons_per_metre or arrow_scale(shown))
        handles.append(Line2D([], [], color=RED, lw=1.5, label=f"force ({_metric(length)}: {force:g} N)"))
    widest = ENTRY[0] + CHARACTER * max((len(str(line.get_label())) for line in handles), default=0)
    columns = max(1, min(len(handles), int(width / widest)))
    return {"handles": handles, "ncols": columns, "fontsize": 7, "handlelength": 1.6, "columnspacing": 1.2}


def _histories(ax: Axes, shown: Scene, curve: Curve, span: float) -> Line2D:
    """Draws curves over a time in s, in the colour of the body that they describe; returns the time cursor."""
    time, others = shown.time, (c for c in PALETTE * len(curve.values) if c not in shown.legend.values())
    for label, values in curve.values.items():
        ax.plot(time, values, color=shown.legend.get(label) or next(others), lw=1.1, label=label)
    ax.set(xlim=(time[0], time[0] + span))
    ax.set_ylabel(axis_label(curve.name, curve.unit), fontsize=7)
    ax.tick_params(labelsize=7)
    if len(curve.values) > 1:
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + LEGEND_ROOM * (high - low))
        ax.legend(fontsize=7, loc="upper right", ncols=len(curve.values))
    return ax.axvline(time[0], color="black", lw=0.8, zorder=8, clip_on=False)  # whole at the ends, too


def arrow_scale(shown: Scene) -> float:
    """Rounded scale of the arrows in N/m, such that the longest has at most a quarter of the view's height.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.film import arrow_scale
        >>> from jaxgait.plot.scene import Force, Scene, View
        >>> weight = Force(at=np.zeros((1, 2)), force=np.array([[0.0, 700.0]]))
        >>> view = View(centre=np.zeros((1, 2)), span=(4.0, 3.0))
        >>> arrow_scale(Scene(np.zeros(1), (), (view,), forces=(weight,)))  # 0.7 m long
        1000.0
    """
    sizes = [np.linalg.norm(force.force, axis=-1) for force in shown.forces]
    largest = max((float(np.nanmax(s)) for s in sizes if np.isfinite(s).any()), default=0.0)
    return 1.0 / _nice(shown.views[0].span[1] / (4.0 * largest)) if largest > 0.0 else 1.0


def _nice(x: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten up to x."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(next(m for m in (5.0, 2.0, 1.0) if m * power <= x * (1.0 + 1e-9)) * power)
