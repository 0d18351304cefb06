"""The figure of a film: views of one or several scenes in rows, their captions above, their histories below."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib.patheffects as effects
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

from jaxgait.outcome import COMPLETED_TEXT
from jaxgait.plot.scene import Body, Ground, Limb, Scene, View, arrow_scale, largest_force, rounded
from jaxgait.plot.style import EARTH, FAILED, RED
from jaxgait.plot.timeline import CHARACTER, ENTRY, Panel, length, panels

WIDTH, NARROWEST, HEIGHT = 7.2, 4.2, 3.6
"""Largest (for text to be legible in a file) and least width of a figure, and height of a row of views, in inches."""
CELL = (1.65, 1.4)
"""Least width and height in inches of a run next to others; more go into further rows."""
GAP = 0.1
"""Space between views, runs and rows, in inches."""
LINE, CAPTION = 0.165, 0.078
"""Height of a line of text, and width of a character of a caption, in inches."""
CURVE, BETWEEN, AXIS = 1.0, 0.16, (0.62, 0.45)
"""Height of a panel of curves with the space above it; this space; room for labels left and below, in inches."""
PANEL, LOWEST = (2.6, 0.7), 3.0
"""Least width and height of panels of curves beside the views of a single run, and least height of such views."""
FIGURE_SPACE = "\u2007"
"""A space as wide as a digit."""
RIM, MARKS = "#555555", 6
"""Colour of the ground's surface; least number of marks on it in a view that moves."""
MIN_ARROW = 0.02
"""Arrows shorter than this fraction of a view's height are left out."""


def laid_out(scenes: Sequence[tuple[str, Scene]], curves: bool, pace: float) -> tuple[Figure, list[Stage]]:
    """The figure with all views, and each scene's curves below its views; beside them if these are narrow.

    Args:
        scenes: with their titles, which may be empty.
        curves: whether to draw the curves.
        pace: ratio to real time, no dimension.

    Returns:
        The figure, and the `Stage` of each scene.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import Scene, View
        >>> from jaxgait.plot.film_layout import laid_out
        >>> still = Scene(np.array([0.0, 1.0]), (), (View(np.zeros((1, 2)), (4.0, 3.0)),))
        >>> figure, (stage,) = laid_out([("", still)], curves=True, pace=1.0)
        >>> stage.show(1.0)
        >>> figure.axes[0].get_title(loc="left")
        't = 1.00 s   real time'
    """
    shown = [one for _, one in scenes]
    plan, text = _plan(shown, curves), pace_text(pace)
    captions = [_Caption(title, one, "" if len(shown) > 1 else text, plan.cell) for title, one in scenes]
    legends = [_legend(one, plan.cell) for one in shown]
    common = len({_names(legend) for legend in legends}) == 1
    heights = _heights(shown, captions, legends, common, plan)
    # Not one of pyplot's figures, which stay open.
    figure = Figure(figsize=(plan.width, heights.top + plan.rows * heights.row))
    named: dict[str, Any] = {"loc": "upper left", "frameon": False, "borderaxespad": 0.2}
    if common and legends[0]["handles"]:
        figure.legend(**legends[0] | _columns(legends[0], plan.width), bbox_to_anchor=(0.0, 1.0), **named)
    if len(shown) > 1:
        figure.text(*_corner(figure, 0.06, heights.top - 0.02), text, fontsize=8, va="bottom")
    stages = []
    for i, (one, caption) in enumerate(zip(shown, captions, strict=True)):
        left = GAP / 2 + (i % plan.columns) * (plan.cell + GAP)
        down = heights.top + (i // plan.columns) * heights.row
        if legends[i]["handles"] and not common:
            figure.legend(**legends[i], bbox_to_anchor=_corner(figure, left, down), **named)
        axes = _views(figure, one, plan, left, down + heights.above)
        box = axes[0].get_window_extent()
        caption.artist = axes[0].set_title(
            "", loc="left", fontsize=9, family="DejaVu Sans", pad=6.0 + 72.0 * heights.titled,  # equally wide digits
            x=-(box.x0 / figure.dpi - left) / (box.width / figure.dpi),
        )  # fmt: skip
        histories = _histories(figure, one, shown, plan, left, down + heights.above)
        stages.append(Stage(one, axes, histories, caption))
    return figure, stages


def _corner(figure: Figure, left: float, down: float) -> tuple[float, float]:
    """A position in inches from the upper left corner, converted to fractions of the figure."""
    return left / figure.get_figwidth(), 1.0 - down / figure.get_figheight()


class _Heights(NamedTuple):
    """Heights of what is stacked in a figure, in inches."""

    top: float
    """What all runs have in common, above the first row."""
    titled: float
    """Titles of views."""
    above: float
    """Captions, legends and titles above the views of a run."""
    row: float
    """A run with all of these."""


def _heights(
    shown: Sequence[Scene], captions: Sequence[_Caption], legends: Sequence[dict[str, Any]], common: bool, plan: _Plan
) -> _Heights:
    top = LINE if len(shown) > 1 else 0.0
    if common:
        top += _height(legends[0] | _columns(legends[0], plan.width))
    titled = LINE * any(view.title for one in shown for view in one.views)
    above = LINE * max(caption.lines for caption in captions) + 0.12 + titled
    above += 0.0 if common else max(map(_height, legends))
    below = plan.panels * CURVE + AXIS[1] if plan.panels and not plan.shift else 0.0
    return _Heights(top, titled, above, above + plan.high + GAP + below)


def _histories(
    figure: Figure, one: Scene, shown: Sequence[Scene], plan: _Plan, left: float, down: float
) -> list[Panel]:
    """A scene's curves, at the scales of all scenes, below or beside its views, whose upper left corner is given."""
    left += plan.shift + AXIS[0]
    wide, high = plan.cell - plan.shift - AXIS[0], CURVE
    if plan.shift:
        high = (plan.high - AXIS[1]) / plan.panels
    else:
        down += plan.high + GAP
    size = (wide - 0.1) / plan.width, (high - BETWEEN) / figure.get_figheight()
    boxes = [(*_corner(figure, left, down + k * high), *size) for k in range(1, min(plan.panels, len(one.curves)) + 1)]
    return panels([figure.add_axes(box) for box in boxes], one, shown, wide / plan.width)


class _Plan(NamedTuple):
    """The arrangement of runs in a figure; sizes in inches."""

    width: float
    """Of the figure."""
    cell: float
    """Width of a run."""
    high: float
    """Height of the views."""
    columns: int
    rows: int
    panels: int
    """Largest number of panels of curves of a run."""
    shift: float
    """Distance of the curves from the left edge of the views, if they are beside these; 0 if they are below."""


def _plan(shown: Sequence[Scene], curves: bool) -> _Plan:
    aspect = max(sum(v.span[0] / v.span[1] for v in one.views) for one in shown)
    gaps = GAP * (max(len(one.views) for one in shown) - 1)
    least = NARROWEST if len(shown) == 1 else max(CELL[0], CELL[1] * aspect + gaps)
    rows = -(-len(shown) // max(1, int(WIDTH / (least + GAP))))
    columns = -(-len(shown) // rows)
    most = WIDTH / columns - GAP
    high = min(HEIGHT / math.sqrt(rows), (most - gaps) / aspect)
    cell = min(most, max(aspect * high + gaps, NARROWEST / columns))
    count = max(len(one.curves) for one in shown) if curves else 0
    tall = min(HEIGHT, (WIDTH - GAP - AXIS[0] - PANEL[0] - GAP - gaps) / aspect)
    if len(shown) == 1 and tall >= LOWEST and 0 < count * PANEL[1] <= tall - AXIS[1]:
        return _Plan(WIDTH, WIDTH - GAP, tall, 1, 1, count, aspect * tall + gaps + GAP)
    return _Plan(columns * (cell + GAP), cell, high, columns, rows, count, 0.0)


def _views(figure: Figure, shown: Scene, plan: _Plan, left: float, down: float) -> list[Axes]:
    """The axes of a scene's views, next to each other in the middle of its cell."""
    wide, high = figure.get_size_inches()
    widths = [plan.high * v.span[0] / v.span[1] for v in shown.views]
    left += 0.0 if plan.shift else (plan.cell - sum(widths) - GAP * (len(widths) - 1)) / 2
    axes = []
    for width in widths:
        axes.append(figure.add_axes((left / wide, 1.0 - (down + plan.high) / high, width / wide, plan.high / high)))
        left += width + GAP
    return axes


class Stage:
    """Shows one scene at any time of the film.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import Scene, View
        >>> from jaxgait.plot.film_layout import Stage, laid_out
        >>> still = Scene(np.array([0.0, 1.0]), (), (View(np.zeros((1, 2)), (4.0, 3.0)),))
        >>> _, (stage,) = laid_out([("", still)], curves=True, pace=1.0)
        >>> isinstance(stage, Stage), stage.early
        (True, False)
    """

    def __init__(self, shown: Scene, axes: list[Axes], panels: list[Panel], caption: _Caption) -> None:
        self.scene, self.panels, self.caption = shown, panels, caption
        self.early, self.span = shown.ended not in (COMPLETED_TEXT, Scene._field_defaults["ended"]), length(shown)
        self.views = [_Window(shown, view, ax) for view, ax in zip(shown.views, axes, strict=True)]

    def show(self, elapsed: float) -> None:
        """Shows the scene at a time in s after the start.

        Examples:
            >>> import numpy as np
            >>> from jaxgait.plot.scene import Scene, View
            >>> from jaxgait.plot.film_layout import laid_out
            >>> still = Scene(np.array([0.0, 1.0]), (), (View(np.zeros((1, 2)), (4.0, 3.0)),))
            >>> _, (stage,) = laid_out([("", still)], curves=True, pace=1.0)
            >>> stage.show(0.5)
        """
        times = self.scene.time
        i = int(np.searchsorted(times, times[0] + elapsed * (1.0 - 1e-12)))
        i = min(i, len(times) - 1)
        for part in (*self.views, *self.panels):
            part.show(i)
        self.caption.show(i, bool(elapsed > self.span + (-1e-9 if self.early else 1e-9)))


class _Caption:
    """Title, time and readouts of a run, in lines that fit above it."""

    artist: Any = None

    def __init__(self, title: str, shown: Scene, pace: str, width: float) -> None:
        self.scene, self.pace, self.most = shown, pace, int(width / CAPTION)
        self.title = textwrap.wrap(title, self.most)
        self.lines = max(len(self._lines(i, over)) for i, over in ((0, False), (len(shown.time) - 1, True)))

    def show(self, i: int, over: bool) -> None:
        self.artist.set_text("\n".join(self._lines(i, over)))

    def _lines(self, i: int, over: bool) -> list[str]:
        parts = [f"t = {self.scene.time[i]:.2f} s" + (f" ({self.scene.ended})" if over else "")]
        for name, (values, unit) in self.scene.readouts.items():
            now, *ends = (f"{round(float(x), 1) + 0.0:.1f}" for x in (values[i], np.nanmin(values), np.nanmax(values)))
            parts.append(f"{name} {now.rjust(max(map(len, ends)), FIGURE_SPACE)} {unit}")  # never -0.0
        lines = parts[:1]
        for part in filter(None, (*parts[1:], self.pace)):
            joined = f"{lines[-1]}   {part}"
            lines = [*lines[:-1], joined] if len(joined) <= self.most else [*lines, part]
        return [*self.title, *lines]


class _Window:
    """One view of a scene."""

    def __init__(self, shown: Scene, view: View, ax: Axes) -> None:
        self.scene, self.view, self.ax = shown, view, ax
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(bool(len(shown.views) > 1))
            spine.set_color(FAILED)
        if shown.ground is not None:
            ax.add_patch(_earth(shown.ground))
        self.marks = ax.plot([], [], color=RIM, lw=1.0, zorder=1)[0]
        self._look(0)
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
        self.scale = shown.newtons_per_metre or arrow_scale(shown)
        _bar(ax, view, grounded=shown.ground is not None)
        if view.title:
            ax.text(0.0, 1.0, view.title, transform=ax.transAxes, va="bottom", fontsize=8)

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
        if self.scene.ground is not None and len(self.view.centre) > 1:
            self.marks.set_data(_marks(self.scene.ground, x, self.view))
        self.ax.set(xlim=(x - width / 2, x + width / 2), ylim=(y - height / 2, y + height / 2))


def _at(values: np.ndarray, i: int) -> np.ndarray:
    """The value at a sample; a single value holds for all samples."""
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
    return Polygon([*corners, *below], facecolor=EARTH, edgecolor=RIM, lw=1.0, zorder=1)


def _marks(ground: Ground, x: float, view: View) -> np.ndarray:
    """Lines in the ground around x at even distances, (2, points), which show how far a view has moved."""
    wide, tall = view.span
    step = rounded(wide / MARKS)
    at = step * np.arange(math.ceil((x - wide / 2) / step), (x + wide / 2) / step)
    top = ground.height - at * np.tan(ground.slope)
    return np.reshape([[at, at, at], [top, top - 0.02 * tall, np.full_like(at, np.nan)]], (2, 3, -1)).mT.reshape(2, -1)


def _bar(ax: Axes, view: View, grounded: bool) -> None:
    """A scale bar low in the view, with its length beside it (in the ground) or above it (where feet may be beside)."""
    size = rounded(view.span[0] / 4)
    end = (0.04 + size / view.span[0], 0.04)
    halo = [effects.withStroke(linewidth=4.0, foreground="white")]  # on what moves behind them
    ax.plot([0.04, end[0]], [0.04, 0.04], color="black", lw=2.0, transform=ax.transAxes, zorder=8, path_effects=halo)
    look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "fontsize": 7, "zorder": 8}
    look["path_effects"] = [effects.withStroke(linewidth=2.5, foreground="white")]
    if grounded:
        ax.annotate(_metric(size), end, (5.0, 0.0), va="center_baseline", **look)
    else:
        ax.annotate(_metric(size), (0.04, 0.04), (0.0, 3.0), **look)


def _metric(size: float) -> str:
    """A length in m as text in m, cm or mm."""
    unit, factor = next((u, f) for u, f in (("m", 1.0), ("cm", 1e2), ("mm", 1e3)) if size * f >= 0.999 or u == "mm")
    return f"{size * factor:g} {unit}"


def pace_text(pace: float) -> str:
    """A speed (1 is real time) in words.

    Examples:
        >>> from jaxgait.plot.film_layout import pace_text
        >>> pace_text(0.25)
        'slow motion 1/4'
    """
    slower = 1 / pace
    if pace >= 1.0:
        return "real time" if pace == 1.0 else f"{pace:g} x real time"
    return f"slow motion 1/{slower:{'.0f' if slower >= 100 else '.3g'}}"


def _legend(shown: Scene, width: float) -> dict[str, Any]:
    """Entries of a scene's legend, in as many columns as fit into a width in inches, and their style."""
    handles = [Line2D([], [], color=colour, lw=3.0, label=name) for name, colour in shown.legend.items()]
    handles += [Line2D([], [], color=t.colour, lw=1.0, label=t.name) for t in shown.trails]
    if largest_force(shown):
        size = rounded(shown.views[0].span[1] / 6)
        force = size * (shown.newtons_per_metre or arrow_scale(shown))
        handles.append(Line2D([], [], color=RED, lw=1.5, label=f"force ({_metric(size)}: {force:g} N)"))
    legend = {"handles": handles, "fontsize": 7, "handlelength": 1.6, "columnspacing": 1.2}
    return legend | _columns(legend, width)


def _columns(legend: dict[str, Any], width: float) -> dict[str, int]:
    widest = ENTRY + CHARACTER * max((len(str(line.get_label())) for line in legend["handles"]), default=0)
    return {"ncols": max(1, min(len(legend["handles"]), int(width / widest)))}


def _height(legend: dict[str, Any]) -> float:
    """Height of a legend in inches."""
    return LINE * -(-len(legend["handles"]) // legend["ncols"]) + 0.05 * bool(legend["handles"])


def _names(legend: dict[str, Any]) -> tuple[Any, ...]:
    return tuple((line.get_label(), line.get_color()) for line in legend["handles"])
