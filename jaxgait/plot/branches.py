"""Bifurcation diagrams: branches of periodic gaits over a parameter, solid where stable, dashed where not."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait import checks
from jaxgait.analysis.continuation import BifurcationPoint, Branch
from jaxgait.parameters import parameter_info
from jaxgait.plot.style import BLUE, GREEN, GREY, ORANGE, RED, axis_label, style

ORDERS = {1: BLUE, 2: RED, 4: GREEN, 8: ORANGE}
"""Colours of gaits by the number of strides after which they repeat; others are black."""
MARKERS = {"fold": "s", "branch point": "^", "period doubling": "o", "Neimark-Sacker": "D"}
"""Of bifurcations, by their kind."""
MULTIPLIER = "multiplier"
"""The quantity that stability depends on."""
Quantity = int | np.integer | Literal["multiplier"] | Callable[[Branch], Float[np.ndarray, " points"]]


def branch_diagram(
    branches: Branch | Sequence[Branch],
    quantity: Quantity = 0,
    *,
    label: str = "",
    model: Any = None,
    walks: tuple[Float[np.ndarray, " values"], Float[np.ndarray, "values keep"]] | None = None,
) -> Figure:
    """Draws a quantity of periodic gaits against the parameter in which they were continued, with their bifurcations.

    Args:
        branches: of one parameter; of a gait of several strides only the point that was followed is drawn.
        quantity: number of a coordinate of the section; "multiplier" for the largest magnitude of the Floquet
            multipliers; or a function of a branch that returns a number for each of its points, such as its
            `continuation.periods`. It is called once, with the bifurcations among the points.
        label: of the vertical axis, with its unit.
        model: the mechanism, for the meaning and the unit of the parameter.
        walks: values of the parameter, and the quantity in the last strides of long walks with each, as
            `bifurcation_diagram` returns them, to draw as dots behind the branches.

    Raises:
        ValueError: for branches of different parameters or without points, an unknown quantity, and a function that
            does not return a number for each point.
        jaxgait.parameters.ParameterError: for a model without the parameter.

    Examples:
        >>> import equinox as eqx
        >>> import numpy as np
        >>> from jaxgait import parameter
        >>> from jaxgait.analysis.continuation import continuation, period_doubled
        >>> from jaxgait.plot.branches import branch_diagram
        >>> class Growth(eqx.Module):
        ...     r: float = parameter(2.8, unit="1", doc="growth")
        >>> logistic = lambda model, z: model.r * z * (1.0 - z)
        >>> single = continuation(logistic, Growth(), "r", np.array([0.6]), (2.5, 3.2))
        >>> double = period_doubled(logistic, Growth(), single, single.bifurcations[0], 3.4)
        >>> figure = branch_diagram([single, double], label="population", model=Growth())
        >>> print(figure.axes[0].get_xlabel(), [text.get_text() for text in figure.legends[0].get_texts()])
        growth ['period 1', 'period 2', 'unstable', 'period doubling']
    """
    listed = [branches] if isinstance(branches, Branch) else list(branches)
    names = list(dict.fromkeys(branch.name for branch in listed if len(branch.parameter)))
    if len(names) != 1:
        raise ValueError(
            f"the branches must be of one parameter, got {', '.join(names)}" if names else "the branches have no points"
        )
    info = None if model is None else parameter_info(model, names[0])
    unnamed = "largest multiplier (magnitude)" if quantity == MULTIPLIER else ""
    with style():
        figure, ax = plt.subplots(figsize=(6.0, 3.8))
        draw_branches(ax, listed, quantity, walks=walks)
        ax.set(xlabel=axis_label(names[0]) if info is None else axis_label(info.doc, info.unit))
        ax.set_ylabel(label or unnamed or ("" if callable(quantity) else f"coordinate {quantity} of the section"))
        figure.legend(loc="outside upper left", ncols=4)
    return figure


def draw_branches(
    ax: Axes,
    branches: Sequence[Branch],
    quantity: Quantity = 0,
    *,
    walks: tuple[Float[np.ndarray, " values"], Float[np.ndarray, "values keep"]] | None = None,
) -> None:
    """Draws branches into a panel, in the units of the map, with names for a legend; see also `branch_diagram`.

    Raises:
        ValueError: for an unknown quantity, and a function that does not return a number for each point.

    Examples:
        >>> import matplotlib.pyplot as plt
        >>> import numpy as np
        >>> from jaxgait.analysis.continuation import Branch
        >>> from jaxgait.plot.branches import draw_branches
        >>> slope, period, small = np.linspace(0.0, 0.1, 5), np.full((5, 1), 0.4), np.full((5, 1), 0.5)
        >>> _, ax = plt.subplots()
        >>> draw_branches(ax, [Branch("slope", 1, slope, period, small, np.full(5, True), (), "")])
        >>> ax.get_legend_handles_labels()[1]
        ['stable']
    """
    if walks is not None:
        values = np.repeat(walks[0], walks[1].shape[1])
        ax.plot(values, np.ravel(walks[1]), ".", ms=1.2, color=GREY, label="long walks")
    branches = [branch for branch in branches if len(branch.parameter)]
    kinds: dict[str, str] = {}
    opens = not (callable(quantity) or isinstance(quantity, str))
    for branch in branches:
        colour = ORDERS.get(branch.order, "black")
        heights = _heights(branch, quantity)
        parameter, height, *parts = _joined(branch, heights, opens=opens)
        for part, dash in zip(parts, ("-", "--"), strict=True):
            ax.plot(parameter, np.where(part, height, np.nan), dash, color=colour, lw=1.4)
        for point, y in zip(_special(branch), [*heights.origin, *heights.bifurcations], strict=True):
            kinds[point.kind] = MARKERS[point.kind]
            ax.plot(point.parameter, y, MARKERS[point.kind], color="black", ms=4, zorder=5)
    if quantity == MULTIPLIER:
        ax.axhline(1.0, color=GREY, lw=0.8)
    orders = sorted({branch.order for branch in branches})
    for order in orders if len(orders) > 1 or any(branch.stable.any() for branch in branches) else []:
        name = f"period {order}" if len(orders) > 1 else "stable"
        ax.plot([], [], color=ORDERS.get(order, "black"), label=name)
    if any(not branch.stable.all() for branch in branches):
        colour = "black" if len(orders) > 1 else ORDERS.get(orders[0], "black")
        ax.plot([], [], "--", color=colour, label="unstable")
    for kind, marker in kinds.items():
        ax.plot([], [], marker, color="black", ms=4, label=f"{kind} bifurcation" if kind == "Neimark-Sacker" else kind)


class _Heights(NamedTuple):
    """The quantity that is drawn, of one branch."""

    points: Float[np.ndarray, " points"]
    origin: Float[np.ndarray, " origins"]
    """At its origin, if it has one."""
    bifurcations: Float[np.ndarray, " bifurcations"]


def _special(branch: Branch) -> list[BifurcationPoint]:
    """The origin of a branch, if it has one, and its bifurcations."""
    return [*([] if branch.origin is None else [branch.origin]), *branch.bifurcations]


def _heights(branch: Branch, quantity: Quantity) -> _Heights:
    """The quantity at the points, the origin and the bifurcations of a branch, all evaluated at once."""
    points, ends = _special(branch), np.cumsum([len(branch.parameter), branch.origin is not None])
    if branch.origin is not None:  # whose multipliers are those of half the strides
        points[0] = points[0]._replace(multipliers=points[0].multipliers ** 2)
    rows = [(point.parameter, point.z, point.multipliers, False) for point in points]
    fields = ("parameter", "z", "multipliers", "stable")
    added = zip(*rows, strict=True) if rows else [()] * len(fields)
    more = {name: np.array([*getattr(branch, name), *new]) for name, new in zip(fields, added, strict=True)}
    found = _of(branch._replace(**more, bifurcations=(), origin=None), quantity)
    return _Heights(*np.split(found, ends))


def _of(branch: Branch, quantity: Quantity) -> Float[np.ndarray, " points"]:
    """The quantity at the points of a branch."""
    if callable(quantity):
        found = np.asarray(quantity(branch), dtype=float)
        if found.shape != branch.parameter.shape:
            raise ValueError(
                f"the function must return a number for each of the {len(branch.parameter)} points of the branch that "
                f"it is given, got the shape {found.shape}"
            )
        return found
    if isinstance(quantity, str) and quantity == MULTIPLIER:
        return np.abs(branch.multipliers).max(axis=1)
    try:
        number = -1 if isinstance(quantity, bool) else operator.index(quantity)
    except TypeError:
        number = -1
    if 0 <= number < branch.z.shape[1]:
        return branch.z[:, number]
    raise ValueError(
        f'quantity must be the number of a coordinate from 0 to {branch.z.shape[1] - 1}, "{MULTIPLIER}", or a '
        f"function of a branch, got {checks.shown(quantity)}"
    )


def _joined(branch: Branch, heights: _Heights, *, opens: bool) -> tuple[np.ndarray, ...]:
    """Parameter, quantity, and which points are on the stable and on the unstable parts of a branch.

    Located bifurcations join the parts, unless the detour over the nearest one more than doubles the way between two
    points. From its origin, a coordinate of a gait of doubled period opens with the square root of the parameter.
    """
    height = heights.points
    path = np.column_stack([branch.parameter, height])
    scale = np.maximum(np.ptp(path, axis=0), 1e-300)
    way = lambda *stops: sum(np.linalg.norm((b - a) / scale) for a, b in itertools.pairwise(stops))
    rows = [(p, y, s, not s) for p, y, s in zip(branch.parameter, height, branch.stable, strict=True)]
    located = [np.array([b.parameter, y]) for b, y in zip(branch.bifurcations, heights.bifurcations, strict=True)]
    for i in np.flatnonzero(branch.stable[1:] != branch.stable[:-1])[::-1]:
        begin, end = path[i], path[i + 1]
        near = min(located, key=lambda b, begin=begin, end=end: way(begin, b, end), default=None)
        if near is not None and way(begin, near, end) <= 2.0 * way(begin, end):
            rows.insert(int(i) + 1, (*near, True, True))
    if branch.origin is not None:
        birth, start = branch.origin, heights.origin[0]
        parameter, first, stable, unstable = rows[0]
        power = 2 if opens else 1  # both points of the orbit have the same period
        for s in np.linspace(1.0, 0.0, 12)[1:]:
            along = birth.parameter + s**power * (parameter - birth.parameter)
            rows.insert(0, (along, start + s * (first - start), stable, unstable))
    return tuple(np.array(column) for column in zip(*rows, strict=True))
