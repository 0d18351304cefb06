"""Bifurcation diagrams: branches of periodic gaits over a parameter, solid where stable, dashed where not."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import ArrayLike, Complex, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.analysis.continuation import BifurcationPoint, Branch
from jaxgait.analysis.orbits import orbit_branches
from jaxgait.parameters import parameter_info
from jaxgait.plot.style import BLUE, GREEN, GREY, ORANGE, RED, axis_label, style
from jaxgait.solve.periodic import ReturnMap
from jaxgait.support import checks

ORDERS = {1: BLUE, 2: RED, 4: GREEN, 8: ORANGE}
"""Colours of gaits by the number of strides after which they repeat; others are black."""
MARKERS = {"fold": "s", "branch point": "^", "period doubling": "o", "Neimark-Sacker": "D"}
"""Markers of bifurcations, by kind."""
BETWEEN = 10
"""Pieces of a line between neighbouring points of a branch."""
FLATTER = 3.0
"""Largest ratio of a curve's bends at two neighbouring points."""
CLOSE = 1e-3
"""Share of the distance between two points up to which a bifurcation is drawn as one of them."""
MULTIPLIER = "multiplier"
"""The quantity that stability depends on."""
Quantity = int | np.integer | Literal["multiplier"] | Callable[[Branch], Float[np.ndarray, " points"]]
Walks = tuple[Float[ArrayLike, " values"], Float[ArrayLike, "walks keep *n"]]


def branch_diagram(
    branches: Branch | Sequence[Branch],
    quantity: Quantity = 0,
    *,
    label: str = "",
    model: Any = None,
    return_map: ReturnMap | None = None,
    walks: Walks | None = None,
) -> Figure:
    """Draws a quantity of periodic gaits against the parameter in which they were continued, with their bifurcations.

    Args:
        branches: of one parameter. A gait of the order n has n points in the section: with `return_map`, each is drawn;
            without, only the one that was followed.
        quantity: number of a coordinate of the section; "multiplier" for the largest magnitude of the Floquet
            multipliers; or a function of a branch that returns a number for each of its points, such as the period,
            ``lambda branch: periods(return_map, model, branch)`` by `continuation.periods`. It gets the points in
            their order along the branch, bifurcations included.
        label: of the vertical axis, with its unit.
        model: the mechanism, for the meaning and the unit of the parameter, and for `return_map`.
        return_map: the map of the branches, which leads from each point of a gait to the next one.
        walks: values of the parameter, and what `bifurcation_diagram` returns for them, from which the drawn
            coordinate is taken; or the quantity itself, (values, keep). Drawn as dots behind the branches.

    Raises:
        ValueError: for branches of different parameters or without points, an unknown quantity, a function that does
            not return a number for each point, walks without the quantity or of other values, and a map without a
            model.
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
        >>> figure = branch_diagram([single, double], label="population", model=Growth(), return_map=logistic)
        >>> print(figure.axes[0].get_xlabel(), [text.get_text() for text in figure.legends[0].get_texts()])
        growth ['order 1', 'order 2', 'unstable', 'period doubling']
    """
    listed = [branches] if isinstance(branches, Branch) else list(branches)
    names = list(dict.fromkeys(branch.name for branch in listed if len(branch.parameter)))
    if len(names) != 1:
        raise ValueError(
            f"the branches must be of one parameter, got {', '.join(names)}" if names else "the branches have no points"
        )
    if return_map is not None and model is None:
        raise ValueError("return_map needs the model that it maps: give model=")
    info = None if model is None else parameter_info(model, names[0])
    orbits = listed
    if return_map is not None and not _is_multiplier(quantity):  # the same at all points of a gait
        orbits = [each for one in listed for each in orbit_branches(return_map, model, one)]
    unnamed = "largest multiplier (magnitude)" if _is_multiplier(quantity) else ""
    with style():
        figure, ax = plt.subplots(figsize=(6.0, 3.8))
        draw_branches(ax, orbits, quantity, walks=walks)
        ax.set(xlabel=axis_label(names[0]) if info is None else axis_label(info.doc, info.unit))
        ax.set_ylabel(label or unnamed or ("" if callable(quantity) else f"coordinate {quantity} of the section"))
        figure.legend(loc="outside upper left", ncols=4)
    return figure


def draw_branches(
    ax: Axes,
    branches: Sequence[Branch],
    quantity: Quantity = 0,
    *,
    walks: Walks | None = None,
) -> None:
    """Draws branches into a panel, in the units of the map, with names for a legend; see also `branch_diagram`.

    The legend says so if a gait of order n is drawn without its other points: with fewer than n branches.

    Raises:
        ValueError: for an unknown quantity, a function that does not return a number for each point, and walks without
            the quantity or of other values.

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
        values, reached = _walked(walks, quantity)
        size = np.clip(200.0 / max(len(values), 1), 1.2, 6.0)  # for few values, wider than the branches in front
        ax.plot(np.repeat(values, reached.shape[1]), np.ravel(reached), ".", ms=size, color=GREY)
        ax.plot([], [], ".", ms=max(size, 4.0), color=GREY, label="long walks")  # large enough for a legend
    branches = [branch for branch in branches if len(branch.parameter)]
    kinds: dict[str, str] = {}
    opens = not (callable(quantity) or isinstance(quantity, str))
    for branch in branches:
        colour = ORDERS.get(branch.order, "black")
        heights = _heights(branch, quantity)
        parameter, height, *parts = _joined(branch, heights)
        for part, dash in zip(parts, ("-", "--"), strict=True):
            ax.plot(parameter, np.where(part, height, np.nan), dash, color=colour, lw=1.4)
        for point, y in zip(_special(branch), [*heights.origin, *heights.bifurcations], strict=True):
            kinds[point.kind] = MARKERS[point.kind]
            ax.plot(point.parameter, y, MARKERS[point.kind], color="black", ms=4, zorder=5)
    if _is_multiplier(quantity):
        ax.axhline(1.0, color=GREY, lw=0.8)
    orders = sorted({branch.order for branch in branches})
    for order in orders if len(orders) > 1 or any(branch.stable.any() for branch in branches) else []:
        partly = " (one of its points)" if order > 1 and opens and _single(branches, order) else ""
        name = (f"order {order}" if len(orders) > 1 else "stable") + partly
        ax.plot([], [], color=ORDERS.get(order, "black"), label=name)
    if any(not branch.stable.all() for branch in branches):
        colour = "black" if len(orders) > 1 else ORDERS.get(orders[0], "black")
        ax.plot([], [], "--", color=colour, label="unstable")
    for kind, marker in kinds.items():
        ax.plot([], [], marker, color="black", ms=4, label=f"{kind} bifurcation" if kind == "Neimark-Sacker" else kind)


class _Heights(NamedTuple):
    """The drawn quantity of one branch."""

    points: Float[np.ndarray, " points"]
    origin: Float[np.ndarray, " origins"]
    """At its origin, if it has one."""
    bifurcations: Float[np.ndarray, " bifurcations"]
    polynomials: tuple[Complex[np.ndarray, "points n"], ...] = ()
    """If it is the multiplier: the characteristic polynomials at these, without their first coefficients (1)."""


def _special(branch: Branch) -> list[BifurcationPoint]:
    """The origin of a branch, if it has one, and its bifurcations."""
    return [*([] if branch.origin is None else [branch.origin]), *branch.bifurcations]


def _single(branches: Sequence[Branch], order: int) -> bool:
    """Whether a gait of an order is drawn without its other points: too few branches have the same parameter values."""
    own = [branch for branch in branches if branch.order == order]
    alike = lambda a, b: len(a.parameter) == len(b.parameter) and np.array_equal(a.parameter, b.parameter)
    return any(sum(alike(one, other) for other in own) < order for one in own)


def _walked(walks: Walks, quantity: Quantity) -> tuple[np.ndarray, np.ndarray]:
    """Values of the parameter, and the quantity in the last strides of the walks with each, (values, keep)."""
    values, reached = np.asarray(walks[0]), np.asarray(walks[1])
    if values.ndim != 1 or reached.ndim not in (2, 3) or len(reached) != len(values):
        raise ValueError(
            "walks must be the values of the parameter, (values,), and the strides with each, (values, keep) or "
            f"(values, keep, coordinates), got the shapes {values.shape} and {reached.shape}"
        )
    if reached.ndim == 2:
        return values, reached
    number = _coordinate(quantity, reached.shape[2])
    if number is None:
        raise ValueError(
            f"walks of {reached.shape[2]} coordinates do not hold {checks.shown(quantity)}: give what is drawn, "
            "(values, keep), or the number of a coordinate as the quantity"
        )
    return values, reached[:, :, number]


def _heights(branch: Branch, quantity: Quantity) -> _Heights:
    """The quantity at the points, the origin and the bifurcations of a branch, evaluated in their order along it."""
    special, ends = _special(branch), np.cumsum([len(branch.parameter), branch.origin is not None])
    if branch.origin is not None:  # its multipliers are over half the strides
        special[0] = special[0]._replace(multipliers=special[0].multipliers ** 2)
    rows = [(point.parameter, point.z, point.multipliers, False) for point in special]
    fields = ("parameter", "z", "multipliers", "stable")
    added = zip(*rows, strict=True) if rows else [()] * len(fields)
    along = np.argsort([*range(len(branch.parameter)), *_places(branch)], kind="stable")
    more = {name: np.array([*getattr(branch, name), *new])[along] for name, new in zip(fields, added, strict=True)}
    found = np.empty(len(along))
    whole = branch._replace(**more, bifurcations=(), origin=None)
    found[along] = _of(whole, quantity)
    points, origin, located = np.split(found, ends)
    if not _is_multiplier(quantity):
        return _Heights(points, origin, located)
    polynomials = np.empty(np.shape(whole.multipliers), dtype=complex)
    polynomials[along] = np.reshape([np.poly(one)[1:] for one in whole.multipliers], polynomials.shape)
    return _Heights(points, origin, located, tuple(np.split(polynomials, ends)))


def _is_multiplier(quantity: Quantity) -> bool:
    return isinstance(quantity, str) and quantity == MULTIPLIER


def _places(branch: Branch) -> list[float]:
    """Positions of the origin and the bifurcations along a branch, as fractional indices of its points."""
    path = np.column_stack([branch.parameter, branch.z])
    scale = np.maximum(np.ptp(path, axis=0), 1e-300)
    path = path / scale
    steps = np.diff(path, axis=0)
    lengths = np.maximum(np.linalg.norm(steps, axis=1), 1e-300)

    def place(point: BifurcationPoint) -> float:
        if not len(steps):
            return 0.5
        at = np.array([point.parameter, *point.z]) / scale
        there = np.linalg.norm(at - path, axis=1)
        nearest = int(np.argmin(there[:-1] + there[1:] - lengths))  # the least detour
        share = float((at - path[nearest]) @ steps[nearest] / lengths[nearest] ** 2)
        beyond = (nearest == 0 and share < 0.0) or (nearest == len(steps) - 1 and share > 1.0)
        return nearest + (share if beyond else min(max(share, 0.0), 1.0 - 1e-9))

    first = [] if branch.origin is None else [-np.inf]
    return [*first, *(place(point) for point in branch.bifurcations)]


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
    if _is_multiplier(quantity):
        return np.abs(branch.multipliers).max(axis=1)
    number = _coordinate(quantity, branch.z.shape[1])
    if number is not None:
        return branch.z[:, number]
    raise ValueError(
        f'quantity must be the number of a coordinate from 0 to {branch.z.shape[1] - 1}, "{MULTIPLIER}", or a '
        f"function of a branch, got {checks.shown(quantity)}"
    )


def _coordinate(quantity: Quantity, count: int) -> int | None:
    """The number of the coordinate, if the quantity is one of `count`; otherwise None."""
    try:
        number = -1 if isinstance(quantity, bool) else operator.index(quantity)  # type: ignore[arg-type]
    except TypeError:
        return None
    return number if 0 <= number < count else None


class _Knot(NamedTuple):
    """A point that a line is drawn through."""

    parameter: float
    height: float
    z: np.ndarray
    stable: bool
    unstable: bool
    """Whether it belongs to the stable and to the unstable part of the branch: a bifurcation belongs to both."""
    polynomial: np.ndarray | None = None
    """See `_Heights.polynomials`."""


def _joined(branch: Branch, heights: _Heights) -> tuple[np.ndarray, ...]:
    """Parameter and quantity along a branch, and which of these points are on its stable and on its unstable parts.

    At the origin of a branch of doubled period the parameter turns back, as in a fold.
    """
    knots = _knots(branch, heights)
    parameter, height, stable, unstable = (np.array([knot[i] for knot in knots]) for i in (0, 1, 3, 4))
    path = np.column_stack([parameter, [knot.z for knot in knots]])
    steps = np.linalg.norm(np.diff(path / np.maximum(np.ptp(path, axis=0), 1e-300), axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1e-12))])
    drawn = (stable[1:] & stable[:-1]) | (unstable[1:] & unstable[:-1])
    found = []
    for part in np.split(np.arange(len(knots)), np.flatnonzero(~drawn) + 1):  # nothing is known in a gap
        born = branch.origin is not None and bool(part[0] == 0)
        across, up = _smooth(along[part], parameter[part], even=born), _smooth(along[part], height[part], even=False)
        if heights.polynomials:
            polynomials = np.array([knots[i].polynomial for i in part])
            between = np.array([_smooth(along[part], x, even=False) for x in polynomials.T]).T
            up = np.array([_largest(one) for one in between])
            up[::BETWEEN] = height[part]
        found.append((across, up, _within(stable[part]), _within(unstable[part])))
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))


def _largest(polynomial: Complex[np.ndarray, " n"]) -> float:
    """The largest magnitude of the multipliers with a characteristic polynomial; NaN if unknown.

    The polynomial varies smoothly along a branch; this magnitude has a kink where a multiplier passes zero or another
    one becomes the largest, and where two meet.
    """
    if not np.isfinite(polynomial).all():
        return np.nan
    return float(np.abs(np.roots([1.0, *polynomial])).max(initial=0.0))


def _knots(branch: Branch, heights: _Heights) -> list[_Knot]:
    """The points of a branch, its origin, and located bifurcations where its stability changes.

    Bifurcations join the parts, unless the detour over the nearest one more than doubles the distance of two points.
    """
    path = np.column_stack([branch.parameter, heights.points])
    scale = np.maximum(np.ptp(path, axis=0), 1e-300)
    way = lambda *stops: sum(np.linalg.norm((b - a) / scale) for a, b in itertools.pairwise(stops))
    of_points, of_origin, of_located = heights.polynomials or ([None] * n for n in map(len, heights[:3]))
    rows = zip(branch.parameter, heights.points, branch.z, branch.stable, of_points, strict=True)
    knots = [_Knot(p, y, z, stable, not stable, polynomial) for p, y, z, stable, polynomial in rows]
    both = lambda point, y, polynomial: _Knot(point.parameter, y, point.z, True, True, polynomial)
    located = [both(*one) for one in zip(branch.bifurcations, heights.bifurcations, of_located, strict=True)]
    for i in np.flatnonzero(branch.stable[1:] != branch.stable[:-1])[::-1]:
        begin, end = path[i], path[i + 1]
        detour = lambda b, begin=begin, end=end: way(begin, np.array(b[:2]), end)
        near = min(located, key=detour, default=None)
        if near is None or detour(near) > 2.0 * way(begin, end):
            continue
        share = way(begin, np.array(near[:2])) / way(begin, end)
        if CLOSE < share < 1.0 - CLOSE:
            knots.insert(int(i) + 1, near)
        else:
            same = int(i) + (share > 0.5)
            knots[same] = knots[same]._replace(stable=True, unstable=True)
    if branch.origin is not None:
        first = knots[0]._replace(parameter=branch.origin.parameter, height=heights.origin[0], z=branch.origin.z)
        knots.insert(0, first._replace(polynomial=of_origin[0]))
    return knots


def _smooth(x: np.ndarray, y: np.ndarray, *, even: bool) -> np.ndarray:
    """Values at points and, between neighbours, on cubics that blend two parabolas, each through a further neighbour.

    The flatter parabola limits the other one, which prevents overshoot beside a kink. An `even` function has a slope of
    zero at the first point.
    """
    width = np.diff(x)
    bends = np.diff(np.diff(y) / width) / (x[2:] - x[:-2])
    first = np.diff(y[:2]) / width[:1] ** 2 if even else bends[:1]
    known = np.concatenate([first, bends, bends[-1:] if bends.size else first])
    left, right = (known[:-1], known[1:]) if known.size else np.zeros((2, width.size))
    least = np.finfo(float).tiny
    sign = lambda x: np.divide(x, abs(x), out=np.zeros_like(x), where=abs(x) > least)  # also of complex numbers
    limited = lambda one, other: sign(one) * np.minimum(abs(one), FLATTER * abs(other))
    t = np.arange(BETWEEN) / BETWEEN
    bend = np.outer(limited(left, right), 1.0 - t) + np.outer(limited(right, left), t)
    between = y[:-1, None] + np.outer(np.diff(y), t) - t * (1.0 - t) * width[:, None] ** 2 * bend
    return np.append(between, y[-1])


def _within(part: np.ndarray) -> np.ndarray:
    """Which of the points of `_smooth` belong to a part: the part's own points, and those between two of them."""
    between = np.repeat((part[1:] & part[:-1])[:, None], BETWEEN, axis=1)
    between[:, 0] = part[:-1]
    return np.append(between, part[-1])
