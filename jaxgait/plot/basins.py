"""Maps of basins of attraction: how walks end over two coordinates of their start."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from jaxgait.analysis.attractors import FELL, OTHER, REACHED, Basin
from jaxgait.plot.panels import legend
from jaxgait.plot.style import FAILED, GREEN, ORANGE, cell_edges, style
from jaxgait.support import checks

FATES = {FELL: ("falls", FAILED), REACHED: ("reaches the gait", GREEN), OTHER: ("walks on, elsewhere", ORANGE)}
"""Names and colours of the outcomes of walks."""


def basin_map(
    found: Basin, x: ArrayLike, y: ArrayLike, *, labels: tuple[str, str] = ("", ""), gait: ArrayLike | None = None
) -> Figure:
    """Draws which starts lead to a gait.

    Args:
        found: outcomes of a grid of starts, (nx, ny).
        x: values of the first coordinate, (nx,), in its own unit.
        y: values of the second one, (ny,), in its own unit.
        labels: of both axes, with their units.
        gait: the gait's own two coordinates, (2,), or those of each of its points, (points, 2); marked by stars.

    Warns:
        UserWarning: for a gait beyond the map, as when x and y are exchanged.

    Raises:
        ValueError: if there are not as many values as outcomes, and for a gait without two coordinates.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.attractors import Basin
        >>> from jaxgait.plot.basins import basin_map
        >>> angles, rates = np.linspace(0.1, 0.4, 4), np.linspace(-2.0, -1.0, 3)  # rad, rad/s
        >>> outcome = (angles[:, None] + rates < -1.2).astype(int)  # REACHED or FELL
        >>> found = Basin(outcome, 40 * outcome)
        >>> figure = basin_map(found, angles, rates, labels=("stance angle (rad)", "stance rate (rad/s)"))
        >>> [text.get_text() for text in figure.legends[0].get_texts()]
        ['falls', 'reaches the gait']
    """
    _checked(found, x, y, gait)  # before there is an empty figure
    with style():
        figure, ax = plt.subplots(figsize=(6.0, 4.6))
        draw_basin(ax, found, x, y, gait=gait)
        ax.set(xlabel=labels[0], ylabel=labels[1])
        legend(figure, fontsize=8)
    return figure


def draw_basin(ax: Axes, found: Basin, x: ArrayLike, y: ArrayLike, *, gait: ArrayLike | None = None) -> None:
    """Draws a basin into given axes, with names for a legend; see `basin_map`.

    Raises:
        ValueError: as `basin_map` does.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import numpy as np
        >>> from jaxgait.analysis.attractors import Basin
        >>> from jaxgait.plot.basins import draw_basin
        >>> ax = plt.figure().subplots()
        >>> draw_basin(ax, Basin(np.array([[1, 0]]), np.array([[9, 1]])), [0.2], [-1.5, -1.0])  # rad, rad/s
        >>> ax.get_legend_handles_labels()[1]
        ['falls', 'reaches the gait']
    """
    across, up, points = _checked(found, x, y, gait)
    shades = ListedColormap([FATES[fate][1] for fate in (FELL, REACHED, OTHER)])
    edges = cell_edges(across), cell_edges(up)
    ax.pcolormesh(*edges, found.outcome.T, cmap=shades, vmin=-0.5, vmax=2.5, rasterized=True)
    for fate, (name, colour) in FATES.items():
        if np.any(found.outcome == fate):
            ax.scatter([], [], s=60.0, marker="s", color=colour, label=name)
    if len(points):
        ax.plot(*points.T, "*", color="black", mec="white", ms=11, label="the gait")
        inside = (points > (edges[0].min(), edges[1].min())) & (points < (edges[0].max(), edges[1].max()))
        if not inside.all():
            checks.warn_user("a point of the gait is beyond the map: are x and y exchanged, or its coordinates?")
    ax.grid(visible=False)


def _checked(found: Basin, x: Any, y: Any, gait: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values of both coordinates, and the points of the gait (points, 2)."""
    across, up = np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(y, float))
    if found.outcome.shape != (*across.shape, *up.shape):
        got = f"{across.shape} and {up.shape} for outcomes of the shape {found.outcome.shape}"
        raise ValueError(f"x and y must be the values of the two coordinates of the starts, got {got}")
    points = np.empty((0, 2)) if gait is None else np.atleast_2d(np.asarray(gait, float))
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"gait must be its two coordinates on the map, (points, 2), got the shape {points.shape}")
    return across, up, points
