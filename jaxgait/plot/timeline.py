"""Histories below or beside the views of a film, with a cursor in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from jaxgait.plot.jumps import parted
from jaxgait.plot.scene import Curve, Scene
from jaxgait.plot.style import are_counts, axis_label, broken, line_colours, mark_whole

ENTRY, CHARACTER = 0.5, 0.055
"""Width of a legend's entry without its text, and of a character in it, in inches."""
LABEL = 22
"""Characters of the label of a panel that fit in an inch."""
LEGEND_ROOM = 0.19
"""Height above the curves of a panel for a line of their legend, in inches."""
LEAST_HEIGHT = 0.4
"""Share of a panel that its curves keep, however long their legend."""
CYCLES, SHOWN = 20.0, 10.0
"""Largest number of cycles that fit legibly across a figure, and the number in the window on longer histories."""
HIDDEN = 0.9, 0.01
"""A curve is dashed if in this fraction of the samples it lies on another one, within this fraction of the height."""


def length(shown: Scene) -> float:
    """Duration of the motion in s.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scene import Scene
        >>> from jaxgait.plot.timeline import length
        >>> length(Scene(np.array([1.0, 2.0, 4.0]), (), ()))
        3.0
    """
    return float(shown.time[-1] - shown.time[0])


def panels(axes: Sequence[Axes], shown: Scene, others: Sequence[Scene], share: float) -> list[Panel]:
    """A scene's first histories, each in axes of its own.

    Args:
        axes: one above the other.
        shown: the scene.
        others: all scenes of the film, which share scales.
        share: of the figure's width that the axes take, no dimension; many cycles are shown in a moving window.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import numpy as np
        >>> from jaxgait.plot.scene import Curve, Scene
        >>> from jaxgait.plot.timeline import panels
        >>> drop = Scene(np.array([0.0, 1.0]), (), (), curves=(Curve("height", "m", {"ball": np.array([4.9, 0.0])}),))
        >>> (panel,) = panels([plt.figure().add_subplot()], drop, [drop], share=1.0)
        >>> panel.ax.get_ylabel(), panel.scrolls
        ('height (m)', False)
    """
    span, limits, window = max(map(length, others)), _limits(others), _window(others, share)
    found = [Panel(ax, shown, curve, span, limits, window) for ax, curve in zip(axes, shown.curves, strict=False)]
    for panel in found[:-1]:
        panel.ax.tick_params(labelbottom=False)
    for panel in found[-1:]:
        panel.ax.set_xlabel(axis_label("time", "s"), fontsize=8)
    return found


Limits = dict[tuple[str, str], tuple[float, float]]


def _limits(shown: Sequence[Scene]) -> Limits:
    """Limits by the name and unit of curves, over all scenes, with a margin."""
    found: Limits = {}
    for curve in (c for one in shown for c in one.curves):
        own = np.concatenate([np.ravel(x) for x in curve.values.values()])
        own = own[np.isfinite(own)]
        if own.size:
            low, high = found.get((curve.name, curve.unit), (np.inf, -np.inf))
            found[curve.name, curve.unit] = min(low, float(own.min())), max(high, float(own.max()))
    for key, (low, high) in found.items():
        margin = 0.05 * (high - low) if high - low > 1e-9 * max(abs(low), abs(high)) else 1.0
        found[key] = low - margin, high + margin
    return found


def _window(shown: Sequence[Scene], share: float) -> float:
    """Length in s of histories shown in a panel with a share of the figure's width: all, or a few of many cycles."""
    found = span = max(map(length, shown))
    for one in shown:
        cycles = max((_cycles(x) for curve in one.curves for x in curve.values.values()), default=0)
        if cycles > CYCLES * share:
            found = min(found, SHOWN * share * length(one) / cycles)
    return min(span, found)


def _cycles(values: np.ndarray) -> int:
    """How often a history rises from its lower third to its upper one."""
    low, high = np.nanquantile(values, (0.05, 0.95)) if np.isfinite(values).any() else (0.0, 0.0)
    sides = np.select([values > low + (high - low) * 2 / 3, values < low + (high - low) / 3], [1, -1])
    return int((np.diff(sides[sides != 0]) > 0).sum())


class Panel:
    """Histories with a time cursor, in the colours of the bodies that they describe; see `panels`."""

    def __init__(self, ax: Axes, shown: Scene, curve: Curve, span: float, limits: Limits, window: float) -> None:
        self.ax, self.time, self.span, self.window = ax, shown.time, span, window
        least, most = limits.get((curve.name, curve.unit), (0.0, 1.0))
        rows, (wide, high) = 0, np.divide(ax.get_window_extent().size, ax.figure.dpi)
        colours = line_colours([*curve.values], shown.legend, [x.colour for x in (*shown.forces, *shown.trails)])
        drawn: list[np.ndarray] = []
        for (label, values), colour in zip(curve.values.items(), colours, strict=True):
            dashed = label in curve.measured or any(_on(values, other, most - least) for other in drawn)
            look: dict[str, Any] = {"lw": 1.1, "ls": (0, (3, 3)) if dashed else "-", "label": label}
            ax.plot(*parted(self.time, values, shown.instants), color=colour, **look)
            drawn.append(values)
        name = broken(axis_label(curve.name, curve.unit), int(LABEL * high))
        ax.set_ylabel(name, fontsize=6 if "\n" in name else 7, linespacing=1.0)
        ax.tick_params(labelsize=7)
        if len(curve.values) > 1:
            entries = [ENTRY + CHARACTER * len(n) for n in curve.values]
            columns = len(entries) if sum(entries) < wide else max(1, int(wide / max(entries)))
            rows = -(-len(curve.values) // columns)
            ax.legend(fontsize=7, loc="upper right", ncols=columns, borderaxespad=0.1, labelspacing=0.2)
        if all(are_counts(x, curve.unit) for x in curve.values.values()):
            mark_whole(ax.yaxis)
        room = high / max(high - LEGEND_ROOM * rows, LEAST_HEIGHT * high)
        ax.set_ylim(least, least + room * (most - least))
        at = {"x": self.time[0], "ymax": 1.0 / room}  # below the legend
        self.cursor = ax.axvline(**at, color="black", lw=0.8, zorder=8, clip_on=False)  # whole at the ends, too
        self.show(0)

    @property
    def scrolls(self) -> bool:
        """Whether only a window of the histories is shown."""
        return self.window < self.span

    def show(self, i: int) -> None:
        """Moves the cursor to a sample, and the window with it.

        Examples:
            >>> import matplotlib.pyplot as plt
            >>> import numpy as np
            >>> from jaxgait.plot.scene import Curve, Scene
            >>> from jaxgait.plot.timeline import panels
            >>> fall = Scene(np.array([0.0, 1.0]), (), (), curves=(Curve("height", "m", {"ball": np.zeros(2)}),))
            >>> (panel,) = panels([plt.figure().add_subplot()], fall, [fall], share=1.0)
            >>> panel.show(1)
        """
        self.cursor.set_xdata([self.time[i]] * 2)
        start = np.clip(self.time[i] - self.window / 2, self.time[0], self.time[0] + self.span - self.window)
        self.ax.set_xlim(start, start + self.window)


def _on(values: np.ndarray, other: np.ndarray, height: float) -> bool:
    return bool(np.mean(np.abs(values - other) < HIDDEN[1] * height) > HIDDEN[0])
