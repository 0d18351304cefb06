"""Traces the Pareto front of two objectives by gradients, from both its ends.

The ends are the optima of each objective alone; of several optima, the one best in the other objective. The normalised
normal constraint method (Messac, Ismail-Yahaya and Mattson 2003, Struct. Multidisc. Optim. 25, 86) divides the line
between them into equal parts and minimises one objective on one side of the normal through each: points are spread
evenly along the front, even where it is steep or concave. Two sweeps run in parallel, each point starting from its
neighbour: the one from the first end minimises the second objective, the other one the first; the better point is kept.
If a better point was evaluated elsewhere, another search starts there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

from jaxgait.model import Model
from jaxgait.optimization.active_constraints import active_normals, shared_balance
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.failures import ENDS, no_result
from jaxgait.optimization.goals import Goal, Limit
from jaxgait.optimization.methods import METHODS, SETTLED_EXTENT, SearchSettings, quiet
from jaxgait.optimization.request_batching import Ask, together
from jaxgait.optimization.search import Search
from jaxgait.optimization.search_record import Recorder
from jaxgait.optimization.space import Space
from jaxgait.outcome import NoResult

TIED_LOSSES = (1e-7, 1e-4)
"""Losses of an objective at its optimum, in spans of the front, that are accepted to improve the other one: one within
the tolerance of a search, which costs nothing, and a small one."""
WORTHWHILE_GAIN = 10.0
"""Improvement of the other objective, in spans and in roots of the loss, above which a loss is accepted: the optimum is
then not unique. At a unique one in the interior, a loss of d^2 improves the other objective by about d."""
BETTER_BY = 1e-4
"""Improvement, in spans of the front, above which a point evaluated elsewhere starts another search."""
SETTLED_POINTS = 5
"""Number of points within the fraction `SETTLED_EXTENT` of the box with which a search has settled."""
BINDING_SLACK = 1e-3
"""A limit with less slack than this, relative to its value, can be active at a point."""
COINCIDENT_WITHIN = 1e-9
"""Ends whose objectives differ by less than this, relative to their size, are one point: no conflict."""


@dataclass
class Mixed(Evaluator):
    """An evaluator of combinations ``weights @ values + shift`` of another one's values; no dimension."""

    evaluate: Callable[[np.ndarray, np.ndarray], Evaluated]
    weights: Float[np.ndarray, "mixtures values"]
    shift: Float[np.ndarray, " mixtures"]
    name: str = field(default="mixtures")

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `jaxgait.optimization.evaluate.Evaluator`."""
        return self.mixed(self.evaluate(searches, x))

    def mixed(self, evaluation: Evaluated) -> Evaluated:
        """The combinations of an evaluation."""
        values = evaluation.values @ self.weights.T + self.shift
        return evaluation._replace(values=values, slopes=self.weights @ evaluation.slopes)


def trace_front(
    model: Model,
    space: Space,
    record: Recorder,
    signs: Float[np.ndarray, " objectives"],
    settings: SearchSettings,
    x: Float[np.ndarray, "starts n"],
    points: int,
) -> list[Row]:
    """Points spread evenly along a front, its ends first and last; fewer if searches fail.

    Args:
        model: the mechanism.
        space: the box.
        record: evaluates two objectives, then the limited measures, each in its unit.
        signs: 1 for an objective to maximise, -1 for one to minimise.
        settings: of the searches.
        x: starts of the searches for the ends, in the unit box (no dimension).
        points: how many.

    Raises:
        jaxgait.outcome.NoResult: if an end is not found.
    """
    ends = [_end(model, space, record, settings, x, which, float(signs[which])) for which in (0, 1)]
    unit = _normalised(record, signs, ends)
    one = lambda: [min(ends, key=lambda row: tuple(-signs * row.evaluation.values[:2]))]
    if unit is None:
        return one()
    ties = [_lane(settings, [_tied(unit, i, loss) for loss in TIED_LOSSES], end, i) for i, end in enumerate(ends)]
    other = lambda row, which, unit=unit: unit.mixed(row.evaluation).values[1 - which]
    for which, found in enumerate(_side_by_side(record, ties)):
        for row, loss in zip(found, TIED_LOSSES, strict=True):
            worthwhile = WORTHWHILE_GAIN * np.sqrt(loss)
            if row is not None and other(ends[which], which) - other(row, which) > worthwhile:
                ends[which] = row
    if (unit := _normalised(record, signs, ends)) is None:  # the ties of both ends meet
        return one()
    between = np.linspace(0.0, 1.0, points)[1:-1]
    normals = [[_beyond(unit, which, along) for along in between] for which in (0, 1)]
    lanes = [_lane(settings, mixed, end, which) for which, (mixed, end) in enumerate(zip(normals, ends, strict=True))]
    forth, back = _side_by_side(record, lanes)
    found = [_better(unit, pair) for pair in zip(forth, reversed(back), strict=True)]
    more = _from_elsewhere(record, settings, normals, [found, found[::-1]])
    return [ends[0], *(row for row in [*found, *more] if row is not None), ends[1]]


def _end(
    model: Model,
    space: Space,
    record: Recorder,
    settings: SearchSettings,
    x: np.ndarray,
    which: int,
    sign: float,
) -> Row:
    """The optimum of one objective alone, within the limits; the search may cross unstable gaits."""
    goal, columns = settings.goal, np.r_[which, 2 : len(settings.goal.measures)]
    own = replace(settings, sign=sign, goal=Goal(tuple(goal.measures[i] for i in columns), goal.limits[1:]))
    alone = Mixed(record.lenient, np.eye(len(goal.measures))[columns], np.zeros(len(columns)))
    try:
        best = Search(model, space, alone, "SLSQP", own, record.stability, None, wording=ENDS).best(x)
    except NoResult:
        if any(row.evaluation.status or row.evaluation.ran for row in record.rows):
            raise
        # names the objective that is undefined, which may be the other one
        raise no_result(model, goal, [row.evaluation for row in record.rows], ENDS) from None
    return next(row for row in reversed(record.rows) if np.array_equal(row.x, best.x) and row.evaluation.valid)


def _normalised(record: Recorder, signs: np.ndarray, ends: Sequence[Row]) -> Mixed | None:
    """Losses that are 0 at the ideal corner and 1 at the other end of the front, then the limited measures.

    None if both ends are the same point.
    """
    losses = np.array([-signs * row.evaluation.values[:2] for row in ends])
    span = np.array([losses[1, 0] - losses[0, 0], losses[0, 1] - losses[1, 1]])
    if not (span > COINCIDENT_WITHIN * np.abs(losses).max(axis=0)).all():
        return None
    count = len(ends[0].evaluation.values)
    weights, shift = np.eye(count), np.zeros(count)
    weights[[0, 1], [0, 1]], shift[:2] = -signs / span, -np.diagonal(losses) / span
    return Mixed(record, weights, shift)


def _tied(unit: Mixed, which: int, loss: float) -> Mixed:
    """The other objective, then this one, shifted so that it is 1 at `loss`, in spans of the front."""
    order = np.r_[1 - which, which, 2 : len(unit.shift)]
    shift = unit.shift[order] + np.eye(len(order))[1] * (1.0 - loss)
    return replace(unit, weights=unit.weights[order], shift=shift)


def _lane(
    settings: SearchSettings, problems: Sequence[Mixed], begin: Row, search: int
) -> Callable[[Ask], list[Row | None]]:
    """One sweep: the best evaluation within the limits for each problem, starting from the previous one.

    The first of a problem's combinations is minimised, the second must not exceed 1.
    """
    goal = _sided(settings)
    own = replace(settings, sign=-1.0, goal=goal)

    def sweep(ask: Ask) -> list[Row | None]:
        found, at = [], begin.x
        for mixed in problems:
            rows = list[Row]()

            def asked(points: np.ndarray, mixed: Mixed = mixed, rows: list[Row] = rows) -> Evaluated:
                raw = ask(points)
                rows += [Row(search, p, raw.at(i)) for i, p in enumerate(points)]
                if _settled(goal, mixed, rows):
                    raise _Settled
                return mixed.mixed(raw)

            with contextlib.suppress(_Settled):
                METHODS["SLSQP"](asked, at, own)
            found.append(_best(goal, mixed, rows))
            at = at if found[-1] is None else found[-1].x
        return found

    return sweep


def _from_elsewhere(
    record: Recorder,
    settings: SearchSettings,
    normals: Sequence[Sequence[Mixed]],
    found: Sequence[Sequence[Row | None]],
) -> list[Row | None]:
    """Searches again from evaluations anywhere in the box that are better than the points of the sweeps.

    Sweeps cannot cross failing runs between pieces of a front. `normals` and `found` are ordered from either end.
    """
    goal, lanes = _sided(settings), []
    for mixed, row in (pair for side in zip(normals, found, strict=True) for pair in zip(*side, strict=True)):
        known, value = _best(goal, mixed, record.rows), lambda one, mixed=mixed: mixed.mixed(one.evaluation).values[0]
        beaten = row is None or not goal.met(mixed.mixed(row.evaluation).values)
        if known is not None and (beaten or value(known) < value(row) - BETTER_BY):
            lanes.append(_lane(settings, [mixed], known, 2 + len(lanes)))
    return [row for rows in _side_by_side(record, lanes) for row in rows]


def _sided(settings: SearchSettings) -> Goal:
    """A goal with the side of the normal and the limits."""
    return Goal((), (Limit("side", 1.0, at_least=False), *settings.goal.limits[1:]))


class _Settled(Exception):
    """The search no longer moves."""


def _settled(goal: Goal, mixed: Mixed, rows: Sequence[Row]) -> bool:
    """Whether the last points coincide within rounding, and one of them is a result.

    Where two limits are active, a library merely steps through the noise of an adaptive solver, because its own
    tolerance on limits is finer.
    """
    last = rows[-SETTLED_POINTS:]
    still = len(last) == SETTLED_POINTS and bool(np.ptp([row.x for row in last], axis=0).max() < SETTLED_EXTENT)
    return still and _best(goal, mixed, last) is not None


def _beyond(unit: Mixed, first: int, along: float) -> Mixed:
    """The other objective, and the position relative to the normal at the fraction `along` of the front (1: on it).

    The fraction counts from the end at which the objective `first` is best.
    """
    other, limits = 1 - first, len(unit.shift) - 2
    to = np.zeros((2 + limits, 2 + limits))
    to[0, other] = to[1, first] = 1.0
    to[1, other] = -1.0
    to[2:, 2:] = np.eye(limits)
    shift = np.r_[0.0, 2.0 - 2.0 * along, np.zeros(limits)]
    return replace(unit, weights=to @ unit.weights, shift=to @ unit.shift + shift)


def _best(goal: Goal, mixed: Mixed, rows: Sequence[Row]) -> Row | None:
    """The best evaluation that meets the limits."""
    allowed = [row for row in rows if row.evaluation.valid and goal.met(mixed.mixed(row.evaluation).values)]
    return min(allowed, key=lambda row: mixed.mixed(row.evaluation).values[0], default=None)


def _better(unit: Mixed, pair: Sequence[Row | None]) -> Row | None:
    """Of two sweeps' points at one normal, the one nearer to the ideal corner."""
    found = [row for row in pair if row is not None]
    return min(found, key=lambda row: unit.mixed(row.evaluation).values[:2].sum(), default=None)


def _side_by_side(record: Recorder, lanes: Sequence[Callable[[Ask], list[Row | None]]]) -> list[list[Row | None]]:
    """Runs sweeps in parallel, with their requests answered in batches."""

    def answers(asking: Sequence[int], questions: Sequence[np.ndarray]) -> list[Evaluated]:
        sizes = [len(q) for q in questions]
        found = record(np.repeat(asking, sizes), np.concatenate(questions))
        return [found.at(part) for part in np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])]

    with quiet():
        return together(lanes, answers)


def rate(
    space: Space, goal: Goal, signs: Float[np.ndarray, " objectives"], span: Float[np.ndarray, " objectives"], row: Row
) -> tuple[float, float]:
    """The rate of exchange at a point of a front, and the imbalance of the slopes there.

    On a front the slopes of both losses and of the active bounds and limits balance each other with nonnegative
    weights. The ratio of the two objectives' weights is the rate.

    Args:
        space: the box.
        goal: two objectives, the second as a limit, then the limits.
        signs: 1 for an objective to maximise, -1 for one to minimise.
        span: of the front in each objective, in its unit.
        row: the point.

    Returns:
        The gain of the second objective per unit of the first given up, in their units (infinity if the second has no
        weight), and the norm of the imbalance, in spans of the front per box.
    """
    falls = -signs[:, None] * row.evaluation.slopes[:2] / span[:, None]
    limited = Goal(goal.measures[1:], goal.limits[1:])
    normals = active_normals(space, limited, row.x, row.evaluation.values[1:], row.evaluation.slopes[1:], BINDING_SLACK)
    left, shares, _ = shared_balance(-falls, normals.slopes / normals.scales[:, None])
    with np.errstate(divide="ignore"):
        return float(shares[0] / shares[1] * span[1] / span[0]), left
