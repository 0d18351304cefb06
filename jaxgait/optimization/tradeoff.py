"""Along the Pareto front of two objectives by gradients, from both its ends.

The ends are the optima of each objective alone; of several, the best in the other objective. Between them the
normalised normal constraint method (Messac, Ismail-Yahaya and Mattson 2003, Struct. Multidisc. Optim. 25, 86) divides
the straight line that joins them into equal parts and minimises one objective on its side of the normal through each:
points come evenly along the front, also where it is steep or concave. Two sweeps go along it side by side, each point
starting from its neighbour. The one from the first end minimises the second objective, the one from the second end the
first; the better point of the two is kept. Where something better was tried anywhere else, a search goes on from there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import nnls
from tqdm import tqdm

from jaxgait.model import Model
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.goals import Goal, Limit
from jaxgait.optimization.methods import KEPT, METHODS, Settings
from jaxgait.optimization.search import UNSTABLE, Search
from jaxgait.optimization.space import Space
from jaxgait.optimization.together import Ask, together
from jaxgait.outcome import Outcome

__all__ = ["Record", "Tried", "followed", "rate"]

TIE = 1e-4
"""How much worse than its optimum an objective may be, in spans of the front, where others are the same but for it."""
WORTH = 0.1
"""What the other objective must gain by that, in spans: many designs are then as good, and this one is the front's."""
BETTER = 1e-4
"""How much better, in spans of the front, what is known elsewhere must be for a search from there."""
STILL, STEPS = 1e-4, 5
"""A search whose last points, so many, lie within this fraction of the box, has settled."""
NEAR = 1e-3
"""A limit with less slack than this, relative to its value, can hold a point."""
FIRM = 1e3
"""Weight of the condition that the objectives' weights add up to one, against slopes of order one."""
ALIKE = 1e-9
"""Ends whose objectives differ by less than this, relative to their size, are one point: nothing opposes."""


class Tried(NamedTuple):
    """An evaluation."""

    who: int
    x: Float[np.ndarray, " n"]
    """In the unit box."""
    found: Evaluated


class Record:
    """An evaluator that remembers what it found, and to which a gait that is not stable is a failed run."""

    def __init__(self, evaluate: Evaluator, stability: float, progress: bool | None):
        self._evaluate, self.stability, self._shown = evaluate, stability, progress
        self.name, self.rows = evaluate.name, list[Tried]()

    def __enter__(self) -> Record:
        self._bar = tqdm(desc="front", unit="run", disable=None if self._shown is None else not self._shown)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.close()

    def __call__(self, who: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `jaxgait.optimization.evaluate.Evaluator`; values in the units of measures."""
        return self._judged(who, x)[1]

    def lenient(self, who: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """The same, but a search may cross gaits that are not stable; values in the units of measures."""
        return self._judged(who, x)[0]

    def _judged(self, who: np.ndarray, x: np.ndarray) -> tuple[Evaluated, Evaluated]:
        """What is found, and the same with the status of gaits that are not stable."""
        found = self._evaluate(who, x)
        unstable = (np.asarray(found.multiplier) >= self.stability) & (found.status == Outcome.COMPLETED)
        judged = found._replace(status=np.where(unstable, UNSTABLE, found.status).astype(np.int32))
        for i in range(len(x)):
            self.rows.append(Tried(int(who[i]), x[i].copy(), Evaluated(*(part[i] for part in judged))))
        self._bar.update(len(x))
        return found, judged


@dataclass
class Mixed:
    """An evaluator whose values are mixtures ``weights @ values + shift`` of another one's; no dimension.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.optimization.evaluate import Evaluated
        >>> from jaxgait.optimization.tradeoff import Mixed
        >>> both = lambda who, x: Evaluated(np.array([[2.0, 6.0]]), np.ones((1, 2, 1)), np.zeros(1, int), np.zeros(1))
        >>> mixed = Mixed(both, weights=np.array([[0.5, 0.5]]), shift=np.array([1.0]))
        >>> print(mixed(np.zeros(1, int), np.zeros((1, 1))).values)  # half of each, and 1
        [[5.]]
    """

    evaluate: Callable[[np.ndarray, np.ndarray], Evaluated]
    weights: Float[np.ndarray, "mixtures values"]
    shift: Float[np.ndarray, " mixtures"]
    name: str = field(default="mixtures")

    def __call__(self, who: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `jaxgait.optimization.evaluate.Evaluator`."""
        return self.mixed(self.evaluate(who, x))

    def shapes(self, x: Float[np.ndarray, "b n"]) -> dict[str, tuple[int, ...]]:
        """All are single numbers, of no dimension."""
        return {"objective": (), **{f"limited_{i}": () for i in range(len(self.shift) - 1)}}

    def mixed(self, found: Evaluated) -> Evaluated:
        """What is found as mixtures."""
        values = found.values @ self.weights.T + self.shift
        return found._replace(values=values, slopes=self.weights @ found.slopes)


def followed(
    model: Model,
    space: Space,
    record: Record,
    signs: Float[np.ndarray, " objectives"],
    settings: Settings,
    x: Float[np.ndarray, "starts n"],
    points: int,
) -> list[Tried]:
    """Points evenly along a front, those of its ends first and last; fewer where a search did not get there.

    Args:
        model: the mechanism.
        space: the box.
        record: gives the values, each in its unit: two objectives, then what is limited.
        signs: 1 for an objective to be made large, -1 for one to be made small.
        settings: of the searches.
        x: where the ends are searched from, in the unit box (no dimension).
        points: how many.

    Raises:
        jaxgait.outcome.NoResult: if an end is not found.
    """
    ends = [_end(model, space, record, settings, x, which, float(signs[which])) for which in (0, 1)]
    unit = _normalised(record, signs, ends)
    if unit is None:
        return [min(ends, key=lambda row: tuple(-signs * row.found.values[:2]))]
    ties = [_lane(settings, [_tied(unit, which)], end, which) for which, end in enumerate(ends)]
    loss = lambda row, which, unit=unit: unit.mixed(row.found).values[1 - which]
    for which, (other,) in enumerate(_side_by_side(record, ties)):
        if other is not None and loss(ends[which], which) - loss(other, which) > WORTH:
            ends[which] = other
    unit = _normalised(record, signs, ends)
    assert unit is not None
    between = np.linspace(0.0, 1.0, points)[1:-1]
    normals = [[_beyond(unit, which, along) for along in between] for which in (0, 1)]
    lanes = [_lane(settings, mixed, end, which) for which, (mixed, end) in enumerate(zip(normals, ends, strict=True))]
    forth, back = _side_by_side(record, lanes)
    found = [_better(unit, pair) for pair in zip(forth, reversed(back), strict=True)]
    more = _from_elsewhere(record, settings, normals, [found, found[::-1]])
    return [ends[0], *(row for row in [*found, *more] if row is not None), ends[1]]


def _end(
    model: Model, space: Space, record: Record, settings: Settings, x: np.ndarray, which: int, sign: float
) -> Tried:
    """The optimum of one objective alone, within the limits; the search may cross gaits that are not stable."""
    goal, columns = settings.goal, np.r_[which, 2 : len(settings.goal.measures)]
    own = replace(settings, sign=sign, goal=Goal(tuple(goal.measures[i] for i in columns), goal.limits[1:]))
    alone = Mixed(record.lenient, np.eye(len(goal.measures))[columns], np.zeros(len(columns)))
    best = Search(model, space, alone, "SLSQP", own, record.stability, None).best(x)
    return next(row for row in reversed(record.rows) if np.array_equal(row.x, best.x) and row.found.fine)


def _normalised(record: Record, signs: np.ndarray, ends: Sequence[Tried]) -> Mixed | None:
    """Losses that are 0 at the ideal corner and 1 at the other end of the front, then what is limited.

    None where nothing opposes: both ends are one.
    """
    losses = np.array([-signs * row.found.values[:2] for row in ends])
    span = np.array([losses[1, 0] - losses[0, 0], losses[0, 1] - losses[1, 1]])
    if not (span > ALIKE * np.abs(losses).max(axis=0)).all():
        return None
    count = len(ends[0].found.values)
    weights, shift = np.eye(count), np.zeros(count)
    weights[[0, 1], [0, 1]], shift[:2] = -signs / span, -np.diagonal(losses) / span
    return Mixed(record, weights, shift)


def _tied(unit: Mixed, which: int) -> Mixed:
    """The other objective, and one that may not be worse than at its optimum: 1 with `TIE` of the span lost."""
    count = len(unit.shift)
    weights = unit.weights[np.r_[1 - which, which, 2:count]]
    return replace(
        unit, weights=weights, shift=unit.shift[np.r_[1 - which, which, 2:count]] + np.eye(count)[1] * (1.0 - TIE)
    )


def _lane(settings: Settings, problems: Sequence[Mixed], begin: Tried, who: int) -> Callable[[Ask], list[Tried | None]]:
    """One sweep: for each problem, from where the last one ended, the best evaluation within the limits.

    The first of a problem's mixtures is to be made small, the second may not exceed 1.
    """
    goal = _sided(settings)
    own = replace(settings, sign=-1.0, goal=goal)

    def sweep(ask: Ask) -> list[Tried | None]:
        found, at = [], begin.x
        for mixed in problems:
            rows = list[Tried]()

            def asked(points: np.ndarray, mixed: Mixed = mixed, rows: list[Tried] = rows) -> Evaluated:
                raw = ask(points)
                rows += [Tried(who, p, Evaluated(*(part[i] for part in raw))) for i, p in enumerate(points)]
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
    record: Record,
    settings: Settings,
    normals: Sequence[Sequence[Mixed]],
    found: Sequence[Sequence[Tried | None]],
) -> list[Tried | None]:
    """Searches again from what was tried anywhere in the box, where that is better than what the sweeps found.

    A front may have pieces with failing runs between them, over which no sweep gets. Both as seen from each end.
    """
    goal, lanes = _sided(settings), []
    for mixed, row in (pair for side in zip(normals, found, strict=True) for pair in zip(*side, strict=True)):
        known, value = _best(goal, mixed, record.rows), lambda one, mixed=mixed: mixed.mixed(one.found).values[0]
        beaten = row is None or goal.slack(mixed.mixed(row.found).values).min() < -KEPT
        if known is not None and (beaten or value(known) < value(row) - BETTER):
            lanes.append(_lane(settings, [mixed], known, 2 + len(lanes)))
    return [row for rows in _side_by_side(record, lanes) for row in rows]


def _sided(settings: Settings) -> Goal:
    """The side of the normal and the limits."""
    return Goal((), (Limit("side", 1.0, at_least=False), *settings.goal.limits[1:]))


class _Settled(Exception):
    """The search no longer moves."""


def _settled(goal: Goal, mixed: Mixed, rows: Sequence[Tried]) -> bool:
    """Whether the last points are one but for rounding, and one of them a result.

    Where two limits hold a point, a library only steps through the noise of an adaptive solver: its own tolerance on
    limits is finer.
    """
    last = rows[-STEPS:]
    still = len(last) == STEPS and bool(np.ptp([row.x for row in last], axis=0).max() < STILL)
    return still and _best(goal, mixed, last) is not None


def _beyond(unit: Mixed, first: int, along: float) -> Mixed:
    """The other objective, and how far a point is beyond the normal at a fraction of the way (1: on it).

    From the end at which the objective `first` is best.
    """
    other, limits = 1 - first, len(unit.shift) - 2
    to = np.zeros((2 + limits, 2 + limits))
    to[0, other] = to[1, first] = 1.0
    to[1, other] = -1.0
    to[2:, 2:] = np.eye(limits)
    shift = np.r_[0.0, 2.0 - 2.0 * along, np.zeros(limits)]
    return replace(unit, weights=to @ unit.weights, shift=to @ unit.shift + shift)


def _best(goal: Goal, mixed: Mixed, rows: Sequence[Tried]) -> Tried | None:
    """The best evaluation of one search that keeps its limits."""
    allowed = [row for row in rows if row.found.fine and goal.slack(mixed.mixed(row.found).values).min() >= -KEPT]
    return min(allowed, key=lambda row: mixed.mixed(row.found).values[0], default=None)


def _better(unit: Mixed, pair: Sequence[Tried | None]) -> Tried | None:
    """Of what two sweeps found at one normal, the nearer one to the ideal corner."""
    there = [row for row in pair if row is not None]
    return min(there, key=lambda row: unit.mixed(row.found).values[:2].sum(), default=None)


def _side_by_side(record: Record, lanes: Sequence[Callable[[Ask], list[Tried | None]]]) -> list[list[Tried | None]]:
    """What sweeps find whose questions are answered in one batch."""
    return together(lanes, lambda asking, questions: _answers(record, asking, questions))


def _answers(record: Record, asking: Sequence[int], questions: Sequence[np.ndarray]) -> list[Evaluated]:
    """What the sweeps ask for, in one batch."""
    sizes = [len(q) for q in questions]
    found = record(np.repeat(asking, sizes), np.concatenate(questions))
    parts = [np.split(part, np.cumsum(sizes)[:-1]) for part in found]
    return [Evaluated(*one) for one in zip(*parts, strict=True)]


def rate(
    goal: Goal, signs: Float[np.ndarray, " objectives"], span: Float[np.ndarray, " objectives"], row: Tried
) -> tuple[float, float]:
    """The rate of exchange at a point of a front, and how exact the point is, from the slopes there.

    On a front the slopes of both losses, and of what bounds and limits hold, balance each other with weights that are
    not negative. The ratio of the two objectives' weights is the rate.

    Args:
        goal: two objectives, the second as a limit, then the limits.
        signs: 1 for an objective to be made large, -1 for one to be made small.
        span: of the front in each objective, in its unit.
        row: the point.

    Returns:
        The gain of the second objective per unit of the first that is given up, in their units (infinity where the
        second has no weight), and the norm of what does not balance, in spans of the front per box.
    """
    falls = -signs[:, None] * row.found.slopes[:2] / span[:, None]
    near = np.flatnonzero(goal.slack(row.found.values)[1:] < NEAR)
    held = -goal.slack_slopes(row.found.slopes)[1:][near]
    walls = np.concatenate([-np.eye(len(row.x))[row.x <= 0.0], np.eye(len(row.x))[row.x >= 1.0]])
    size = max(float(np.linalg.norm(falls)), 1.0)
    forces = np.concatenate([falls / size, held, walls]).T
    together_one = np.r_[1.0, 1.0, np.zeros(forces.shape[1] - 2)]
    weights, _ = nnls(np.vstack([forces, FIRM * together_one]), np.r_[np.zeros(len(row.x)), FIRM])
    left = size * float(np.linalg.norm(forces @ weights)) / weights[:2].sum()
    with np.errstate(divide="ignore"):
        return float(weights[0] / weights[1] * span[1] / span[0]), left
