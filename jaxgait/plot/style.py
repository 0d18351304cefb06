"""The style of all pictures: sizes, colours for colour-blind readers, and saving of figures."""

from __future__ import annotations

import contextlib
import io
import itertools
import pathlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr
from cycler import cycler
from jaxtyping import Float, Num
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection, PathCollection
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import AutoLocator, LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from jaxgait.support import files
from jaxgait.support.checks import listed, positive, real, shown

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
    "axes.formatter.use_mathtext": True,  # powers of ten instead of 1e-5
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.hspace": 0.04,
    "figure.constrained_layout.wspace": 0.07,  # else the label of a colour bar seems to be that of the next y axis
    "image.cmap": "viridis",
}


_SAVED: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "jaxgait"}
"""TrueType, as journals require; text that can be searched and edited; reproducible identifiers in SVG."""
_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "svgz": {"Date": None}, "pdf": {"CreationDate": None}}
"""No creation time: the same picture gives the same file."""
MIN_SIDE, MAX_SIDE = 15.0, 1200.0
"""Least and largest width and height of a picture in print, in mm: room for its labels; a poster (A0) has 1189 mm."""
_NARROWEST, _BAR = 40.0, 15.0
"""Least width of a column of panels in print, in mm, and what a colour bar adds to it."""
_LARGEST, _PRINTED, _SMALLEST = 8.0, 7.0 / 8.0, 6.0
"""Size in points to which larger letters are reduced in print, scale of all of them then, and their least size."""
NOISE, LEVEL = 1e-7, 0.01
"""Relative range of values below which a panel shows no variation, and half its height then, relative to the values."""
LONGEST = 22
"""Characters of a label that fit next to a panel."""
_LETTERS, _HANDLE = 1.45, 7
"""Letters of a legend per width of one font size, and the number that would fit in place of a line and its gaps."""


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


def line_colours(names: Sequence[str], own: Mapping[str, str], elsewhere: Sequence[str] = ()) -> list[str]:
    """Colours of lines by name: their own ones, otherwise ones that nothing else in the picture has.

    When these are used up, colours follow that are used elsewhere, and then those of other names. Lines of one panel
    have different colours as long as there are enough.

    Args:
        names: of the lines of a panel.
        own: colours with a meaning, by name.
        elsewhere: further colours that the picture uses.

    Examples:
        >>> from jaxgait.plot.style import BLUE, GREEN, ORANGE, line_colours
        >>> line_colours(["knee", "total"], {"knee": BLUE, "hip": ORANGE}, [GREEN])
        ['#0072B2', '#D55E00']
    """
    named = [own.get(name) for name in names]
    used = lambda colour: (colour in own.values(), colour in elsewhere)
    others = itertools.cycle(sorted((c for c in PALETTE if c not in named), key=used) or PALETTE)
    return [next(others) if colour is None else colour for colour in named]


def broken(label: str, longest: int = LONGEST) -> str:
    r"""Breaks a label that is too long for the height of a panel into several lines, but not within its unit.

    Args:
        label: as from `axis_label`.
        longest: number of characters that fit in a line.

    Examples:
        >>> from jaxgait.plot.style import broken
        >>> broken("angle of the posterior link BC (deg)")
        'angle of the posterior\nlink BC (deg)'
    """
    words, bracket, unit = label.rpartition(" (") if label.endswith(")") else (label, "", "")
    whole = words + bracket + unit.replace(" ", "\u00a0")
    return textwrap.fill(whole, longest, break_long_words=False).replace("\u00a0", " ")


def keep_level(ax: Axes) -> None:
    """Gives a panel whose values differ by rounding or tolerances only, such as a conserved energy, some height.

    Otherwise that noise would fill it, and look like a motion.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.style import keep_level
        >>> ax = plt.figure().subplots()
        >>> _ = ax.plot([0.0, 1.0, 2.0], [69.0, 69.0 + 1e-12, 69.0])  # J
        >>> keep_level(ax)
        >>> print([round(float(end), 2) for end in ax.get_ylim()])
        [68.31, 69.69]
    """
    low, high = ax.dataLim.intervaly
    largest = max(abs(low), abs(high))
    if np.isfinite(largest) and high - low < NOISE * largest:
        middle = 0.5 * (low + high)
        ax.set_ylim(middle - LEVEL * largest, middle + LEVEL * largest)


def cell_edges(
    centres: Num[np.ndarray, " cells"], geometric: bool = False, *, alone: float | None = None
) -> Float[np.ndarray, " edges"]:
    """Edges of cells around values: halfway between them, on a logarithmic axis as seen there.

    Args:
        centres: values in any unit, in their order along the axis.
        geometric: whether the axis is logarithmic.
        alone: width of the cell around a single value, in its unit; without one a tenth of the value (1 around zero).

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.style import cell_edges
        >>> print(cell_edges(np.array([1.0, 2.0, 4.0])))
        [0.5 1.5 3.  5. ]
        >>> print(cell_edges(np.array([2.0])), cell_edges(np.array([0.0]), alone=4.0))
        [1.9 2.1] [-2.  2.]
    """
    if len(centres) == 1:
        (centre,) = np.asarray(centres, float)
        half = 0.5 * (alone or 0.1 * abs(centre) or 1.0)
        return np.array([centre - half, centre + half])
    x = np.log(centres) if geometric else np.asarray(centres, float)
    middle = (x[1:] + x[:-1]) / 2.0
    edges = np.concatenate([2.0 * x[:1] - middle[:1], middle, 2.0 * x[-1:] - middle[-1:]])
    return np.exp(edges) if geometric else edges


def make_logarithmic(axis: Axis, values: Num[np.ndarray, " values"], *, whole: bool = False) -> None:
    """Makes an axis of positive values logarithmic, with plain numbers at its ticks if they span few decades.

    There are no ticks between `whole` numbers.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import numpy as np
        >>> from jaxgait.plot.style import make_logarithmic
        >>> ax = plt.figure().subplots()
        >>> values = np.geomspace(8e3, 5e4, 5)  # N/m
        >>> _ = ax.plot(values, values)
        >>> make_logarithmic(ax.xaxis, values)
        >>> print(ax.get_xscale(), ax.get_xticks()[1:4])
        log [10000. 20000. 30000.]
    """
    setter = axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale
    setter("log")
    ratio = np.nanmax(values) / np.nanmin(values)
    if ratio < 1e3:  # where the usual ticks are few, and labelled as 2 x 10^1
        few = AutoLocator()
        few.set_params(integer=whole)
        axis.set_major_locator(few if ratio < 10.0 else LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(NullLocator())


def are_counts(values: Num[np.ndarray, " ..."], unit: str) -> bool:
    """Whether all known values are whole numbers without a unit, such as counts or the phases of a motion.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.style import are_counts
        >>> print(are_counts(np.array([0.0, 1.0, np.nan]), "1"), are_counts(np.array([0.0, 1.0]), "N"))
        True False
    """
    known = np.asarray(values, float)[np.isfinite(values)]
    return unit in ("", "1") and bool(known.size) and bool((known % 1 == 0).all())


def mark_whole(axis: Axis) -> None:
    """Places the ticks of an axis of counts, or of its colour bar, at whole numbers only.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.style import mark_whole
        >>> ax = plt.figure().subplots()
        >>> _ = ax.plot([0.0, 1.0, 1.0])
        >>> mark_whole(ax.yaxis)
        >>> print([float(tick) for tick in ax.get_yticks() if 0.0 <= tick <= 1.0])
        [0.0, 1.0]
    """
    axis.set_major_locator(MaxNLocator(integer=True))


def kinds() -> tuple[str, ...]:
    """File extensions of pictures that can be written.

    Examples:
        >>> from jaxgait.plot.style import kinds
        >>> "png" in kinds()
        True
    """
    return tuple(sorted(Figure().canvas.get_supported_filetypes()))


def check_side(name: str, value: Any) -> float:
    """The width or height of a picture in print, in mm; `name` is for the message.

    Raises:
        ValueError: for anything but a number from `MIN_SIDE` to `MAX_SIDE`.

    Examples:
        >>> from jaxgait.plot.style import check_side
        >>> check_side("width_mm", 85)
        85.0
    """
    side = real(value)
    if side is None or not MIN_SIDE <= side <= MAX_SIDE:
        raise ValueError(f"{name} must be between {MIN_SIDE:g} and {MAX_SIDE:g} mm, got {shown(value)}")
    return side


def save(
    figure: Figure,
    path: pathlib.Path | str,
    *,
    dpi: int | None = None,
    width_mm: float | int | None = None,
    height_mm: float | int | None = None,
) -> pathlib.Path:
    """Saves a figure with the labels of its axes in line, closes it and returns its path; creates missing folders.

    The extension is one of `kinds`, by default matplotlib's (.png). The same figure gives the same PNG, SVG or PDF
    file, without a date; text in SVG and PDF files stays text.

    With `width_mm`, the picture is laid out anew for print at this width: letters of 6 to 7 points, lines and markers
    in proportion, long titles in several lines, and panels and legends in as many columns as fit.

    Args:
        figure: any figure of matplotlib.
        path: where to write it.
        dpi: resolution in dots per inch; by default 150, and 600 for a given width.
        width_mm: width of the picture in mm, such as 85 or 180 for one or two columns of a journal.
        height_mm: its height in mm; by default as its panels need.

    Raises:
        ValueError: for another extension, an impossible width or height (see `check_side`), and a height without a
            width.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> from jaxgait.plot.style import save
        >>> figure, ax = plt.subplots(figsize=(7.0, 4.0))
        >>> path = save(figure, "pictures/knee.pdf", width_mm=85)
        >>> print(path.name, path.exists(), f"{25.4 * figure.get_figwidth():.0f} mm")
        knee.pdf True 85 mm
    """
    import matplotlib.pyplot as plt

    path = files.local(path)
    kind = path.suffix.removeprefix(".").lower()
    if not kind:
        kind = mpl.rcParams["savefig.format"]
        path = path.with_name(f"{path.name.rstrip('.')}.{kind}")
    if kind not in kinds():
        raise ValueError(f"cannot write {path}: its name must end in {listed([f'.{known}' for known in kinds()])}")
    if width_mm is not None:
        height = None if height_mm is None else check_side("height_mm", height_mm)
        _resize(figure, check_side("width_mm", width_mm), height)
    elif height_mm is not None:
        raise ValueError("height_mm needs width_mm")
    files.in_its_folder(path)
    figure.align_labels([ax for ax in figure.axes if ax.get_aspect() == "auto"])  # others do not fill their cell
    drawn = io.BytesIO()
    with mpl.rc_context(_SAVED):
        figure.savefig(
            drawn,
            dpi=(600 if width_mm else 150) if dpi is None else positive("dpi", dpi, "dots per inch"),
            format=kind,
            metadata=_UNDATED.get(kind),
        )
    files.data(path, drawn.getvalue())
    plt.close(figure)
    return path


def _resize(figure: Figure, width_mm: float, height_mm: float | None) -> None:
    """Lays a figure out anew for a width in print; by default, the height of panels is scaled like that of lines."""
    figure.draw_without_rendering()
    _stack(figure, width_mm)
    thinner = min(1.0, (width_mm / 25.4 / figure.get_figwidth()) ** 0.5)
    panels = {ax: spec.get_gridspec().nrows for ax in figure.axes if (spec := ax.get_subplotspec()) is not None}
    heights = {ax: thinner * ax.bbox.height for ax in panels}
    for text in figure.findobj(Text):
        text.set(fontsize=max(_SMALLEST, _PRINTED * min(float(text.get_fontsize()), _LARGEST)), wrap=True)
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        for label in axis.get_ticklabels()[:1]:  # the size by which an axis decides how many ticks it has room for
            axis.set_tick_params(labelsize=label.get_fontsize())
    for line in figure.findobj(Line2D):
        line.set(linewidth=thinner * line.get_linewidth(), markersize=thinner * line.get_markersize())
    for drawn in figure.findobj(Collection):
        drawn.set_linewidth((thinner * np.asarray(drawn.get_linewidth())).tolist())
        if isinstance(drawn, PathCollection):
            drawn.set_sizes(thinner**2 * drawn.get_sizes())
    figure.set_size_inches(width_mm / 25.4, thinner * figure.get_figheight() if height_mm is None else height_mm / 25.4)
    _narrow_legends(figure)
    for _ in range(0 if height_mm else 2):  # titles in more lines move the panels
        figure.draw_without_rendering()
        missing = max((rows * (heights[ax] - ax.bbox.height) for ax, rows in panels.items()), default=0.0)
        figure.set_figheight(figure.get_figheight() + missing / figure.dpi)
    for _ in range(2):  # so do labels
        figure.draw_without_rendering()
        for ax in figure.axes:
            _break_label(ax)
    figure.draw_without_rendering()
    for ax in figure.axes:
        _part_labels(figure, ax)


def _stack(figure: Figure, width_mm: float) -> None:
    """Moves the panels of a grid into as many columns as have room for their labels and colour bars."""
    specs = {ax: spec for ax in figure.axes if (spec := ax.get_subplotspec()) is not None}
    bars, grids = len(specs) < len(figure.axes), {spec.get_gridspec() for spec in specs.values()}
    columns = max(1, int(width_mm / (_NARROWEST + bars * _BAR)))
    cells = sorted({spec.num1 for ax, spec in specs.items() if ax.get_visible()})
    if len(grids) != 1 or (old := grids.pop()).ncols <= columns or any(s.num1 != s.num2 for s in specs.values()):
        return
    new = GridSpec(-(-len(cells) // columns), columns, figure)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width * columns / old.ncols, height * new.nrows / old.nrows)
    first = {spec.rowspan.start: ax for ax, spec in reversed(specs.items()) if spec.is_first_col()}
    for ax, spec in specs.items():
        ax.set_subplotspec(place := new[cells.index(spec.num1) if ax.get_visible() else 0])
        leftmost = first.get(spec.rowspan.start, ax)  # whose vertical axis may be that of its row
        if leftmost is not ax and place.is_first_col() and ax.get_shared_y_axes().joined(ax, leftmost):
            ax.tick_params(left=True, labelleft=True)
            ax.set_ylabel(ax.get_ylabel() or leftmost.get_ylabel())
    figure.draw_without_rendering()


def _break_label(ax: Axes) -> None:
    """Breaks the label of the vertical axis into more lines, if it is longer than the panel."""
    text, ratio = ax.get_ylabel(), ax.bbox.height / max(ax.yaxis.label.get_window_extent().height, 1.0)
    if text and ratio < 1.0 and "$" not in text:
        longest = max(map(len, text.splitlines()))
        ax.set_ylabel(broken(text.replace("\n", " "), max(1, int(ratio * longest))))


def _part_labels(figure: Figure, ax: Axes) -> None:
    """Reduces the ticks of the horizontal axis, if their labels overlap."""
    locator = ax.xaxis.get_major_locator()
    for most in (4, 3, 2, 1) if isinstance(locator, MaxNLocator) else ():
        labels = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_visible()]
        if not any(one.x1 > other.x0 for one, other in itertools.pairwise(sorted(labels, key=lambda box: box.x0))):
            return
        ax.locator_params(axis="x", nbins=most)
        figure.draw_without_rendering()


def _narrow_legends(figure: Figure) -> None:
    """Moves legends that are wider than their figure or panel outside of all panels, in fewer columns."""
    legends: list[Any] = figure.findobj(Legend)
    for legend in legends:
        legend.set_in_layout(False)  # panels make no room for what is moved away
        for text in (*legend.get_texts(), legend.get_title()):
            text.set_wrap(False)
    figure.draw_without_rendering()
    for legend in legends:
        box, texts = legend.get_window_extent(), legend.get_texts()
        legend.set_in_layout(True)
        if box.width <= (legend.axes or figure).bbox.width:
            continue
        where = "lower" if box.y0 + box.y1 < figure.bbox.height else "upper"
        size, names = texts[0].get_fontsize(), [text.get_text() for text in texts]
        letters = int(_LETTERS * figure.get_figwidth() * 72.0 / size)
        columns = max(1, min(len(names), letters // (max(map(len, names)) + _HANDLE)))
        names = [textwrap.fill(name, letters - _HANDLE) for name in names]
        looks: dict[str, Any] = {"fontsize": size, "frameon": False, "ncols": columns, "loc": f"outside {where} center"}
        looks |= {
            "title": textwrap.fill(legend.get_title().get_text(), letters) or None,
            "title_fontsize": size,
            "alignment": legend.get_alignment(),
        }
        legend.remove()
        figure.legend(legend.legend_handles, names, **looks)
