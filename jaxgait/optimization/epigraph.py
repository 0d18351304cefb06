"""The worst case as a smooth problem: the largest t that no scenario falls below (or the smallest that none exceeds).

The worst of several smooth objectives has kinks where another scenario becomes the worst, and optima lie on kinks.
With an additional unknown t and one limit ``value_i >= t`` per scenario, the problem is smooth, and methods with limits
solve it with exact derivatives [Nocedal and Wright, Numerical Optimization, 2nd ed., section 12.1 on smoothness]. The
multipliers, which sum to one, show how much each scenario determines the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from jaxgait.optimization.active_constraints import ACTIVE_SLACK, active_normals, clip_to_box, shared_balance
from jaxgait.optimization.evaluate import Evaluated
from jaxgait.optimization.goals import Goal, Limit
from jaxgait.optimization.methods import (
    FIRST_STEP,
    MAX_RESTARTS,
    STEEP_FACTOR,
    Ended,
    SearchEnd,
    SearchSettings,
)
from jaxgait.optimization.request_batching import Ask
from jaxgait.optimization.scenarios import RobustGoal
from jaxgait.optimization.space import Space

RAISED = ("SLSQP", "COBYQA")
"""Methods that solve the smooth problem."""
KINKED = ("adam", "Nelder-Mead", "CMA-ES")
"""Methods that use the worst value itself, because its kinks do not stop them."""
T_RANGE = 2.0
"""Range of t in units of the worst scenario's slope per box: larger ones shorten first steps, smaller confine t."""

Method: TypeAlias = Callable[[Ask, np.ndarray, SearchSettings], SearchEnd]


def with_epigraph(method: Method) -> Method:
    """A method of `jaxgait.optimization.methods` for the worst case of a `RobustGoal` (units of its measures)."""

    def search(ask: Ask, x0: np.ndarray, settings: SearchSettings) -> SearchEnd:
        at = _Epigraph(ask, settings)
        x, ended = x0, at.search(method, x0)
        for _ in range(MAX_RESTARTS):
            if not at.unfinished(x, ended):
                break
            x, size = ended.x[:-1], ended.size
            ended = at.search(method, x)
            ended = ended._replace(size=max(size, ended.size))  # if this search gained nothing
        return ended._replace(x=at.best() if ended.where is Ended.EDGE else ended.x[:-1])

    return search


class _Epigraph:
    """One search in the unit box and t, scaled to the unit interval; no dimension."""

    def __init__(self, ask: Ask, settings: SearchSettings):
        assert isinstance(settings.goal, RobustGoal)
        self._ask, self._settings, self._goal = ask, settings, settings.goal
        self._known: dict[bytes, tuple[np.ndarray, Evaluated]] = {}
        self._low, self._width = 0.0, 1.0

    def search(self, method: Method, x: np.ndarray) -> SearchEnd:
        """Searches from a point, with t in a range around the worst value there."""
        found = self._found(x)
        if not found.valid[0]:
            return SearchEnd(np.append(x, 0.5), False, "", Ended.START)
        value = float(found.values[0, 0])
        slopes = np.linalg.norm(found.slopes[0], axis=1)
        self._width = T_RANGE * (slopes[0] or self._goal.each(slopes).max()) or abs(value) or 1.0
        self._low = value - 0.5 * self._width
        settings = replace(self._settings, goal=self._raised_goal(), restarts=0)
        return method(self._answer, np.append(x, 0.5), settings)

    def unfinished(self, x: np.ndarray, ended: SearchEnd) -> bool:
        """Whether t reached the end of its range, or the search stopped on a slope as if converged."""
        before, after = self._found(x), self._found(ended.x[:-1])
        if not (before.valid[0] and after.valid[0]):
            return False
        if ended.converged and not 0.0 < ended.x[-1] < 1.0:
            return True
        gained = self._settings.sign * (after.values[0, 0] - before.values[0, 0])
        size = max(abs(after.values[0, 0]), FIRST_STEP * self._width)
        return bool(ended.converged and gained > STEEP_FACTOR * self._settings.tolerance * size)

    def best(self) -> np.ndarray:
        """The best evaluated point that meets the limits."""
        valid = [(x, f) for x, f in self._known.values() if f.valid[0]]
        kept = [(x, f) for x, f in valid if self._goal.met(f.values).all()] or valid
        return max(kept, key=lambda one: self._settings.sign * one[1].values[0, 0])[0]

    def _found(self, x: np.ndarray) -> Evaluated:
        x = clip_to_box(x)
        if x.tobytes() not in self._known:
            self._known[x.tobytes()] = x, self._ask(x[None])
        return self._known[x.tobytes()][1]

    def _raised_goal(self) -> Goal:
        """The limits, and one more for each scenario: its objective on the better side of t."""
        measures = self._goal.measures + self._goal.scenarios.size * self._goal.measures[:1]
        beyond = Limit("objective beyond t", 0.0, self._settings.sign > 0.0)
        return Goal(measures, self._goal.limits + self._goal.scenarios.size * (beyond,))

    def _answer(self, points: Float[np.ndarray, "1 raised"]) -> Evaluated:
        """t, the limited measures, and the distance of each objective from t in units of the range of t."""
        found, n, width = self._found(points[0, :-1]), points.shape[1] - 1, self._width
        values, slopes, count = found.values[0], found.slopes[0], len(self._goal.limits)
        t = self._low + width * points[0, -1]
        each = self._goal.each
        rows = np.concatenate([[t], values[1 : 1 + count], (each(values) - t) / width])
        tilts = np.zeros((len(rows), n + 1))
        tilts[1 : 1 + count, :n] = slopes[1 : 1 + count]
        tilts[1 + count :, :n] = each(slopes) / width
        tilts[0, n], tilts[1 + count :, n] = width, -1.0
        if not found.valid[0]:
            rows, tilts = np.full_like(rows, np.nan), np.full_like(tilts, np.nan)
        return Evaluated(rows[None], tilts[None], found.status, found.multiplier)


def worst_balance(
    space: Space, goal: RobustGoal, sign: float, x: np.ndarray, values: np.ndarray, slopes: np.ndarray
) -> tuple[float, dict[str, float], Float[np.ndarray, " scenarios"]]:
    """The unbalanced slope at a point, the multipliers that balance the rest, and the scenarios' shares.

    Args:
        space: the box.
        goal: the scenarios and their limits.
        sign: 1 to maximise, -1 to minimise.
        x: the point in the unit box, (n,).
        values: of the point, (values,).
        slopes: their derivatives by the unit box, (values, n).

    Returns:
        Norm of the unbalanced slope, in units of the objective per box; the multipliers of bounds and limits as from
        `jaxgait.optimization.active_constraints.balance`; and the shares in the worst case, which sum to one.
    """
    each, normals = goal.each(values), active_normals(space, goal, x, values, slopes)
    size = max(abs(values[0]), FIRST_STEP * np.linalg.norm(slopes[0]))  # the worst of errors may be zero
    near = np.flatnonzero(sign * (each - values[0]) <= ACTIVE_SLACK * size)
    left, near_shares, forces = shared_balance(sign * goal.each(slopes)[near], normals.slopes)
    shares = np.zeros(len(each))
    shares[near] = near_shares
    multipliers = forces / normals.widths
    return left, dict(zip(normals.names, multipliers.tolist(), strict=True)), shares
