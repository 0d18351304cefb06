"""What a search did: its evaluations, and which of them may be the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from tqdm import tqdm

from jaxgait.model import Model
from jaxgait.optimization.active_constraints import balance
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.epigraph import worst_balance
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.methods import SearchEnd, SearchSettings
from jaxgait.optimization.scenarios import RobustGoal
from jaxgait.optimization.space import Space


@dataclass
class SearchRecord:
    """The evaluations of all starts of a search, in the units of measures."""

    model: Model
    space: Space
    settings: SearchSettings
    method: str
    fallback: str | None
    """The method that continues starts with an unreliable gradient; None: they end."""
    stability: float
    """Modulus of the largest Floquet multiplier at which a gait counts as failed."""
    rows: list[list[Row]] = field(default_factory=list)
    """The evaluations of each start."""
    unreliable: dict[int, str] = field(default_factory=dict)
    """Why the gradient of some starts is unreliable, by their numbers."""

    @property
    def worst(self) -> RobustGoal | None:
        """The goal if it is a worst case."""
        goal = self.settings.goal
        return goal if isinstance(goal, RobustGoal) and goal.worst else None

    def allowed(self, row: Row) -> bool:
        """Whether a point may be the result: completed, within limits, stable."""
        evaluation = row.evaluation
        within = bool(evaluation.valid) and bool(self.settings.goal.met(evaluation.values))
        return within and not evaluation.multiplier >= self.stability

    def end_of(self, i: int, end: SearchEnd) -> Row:
        """The last evaluation at the point where a start ended; if that failed, its best one, allowed if one is."""
        valid = [row for row in self.rows[i] if row.evaluation.valid]
        at_end = [row for row in valid if np.array_equal(row.x, end.x)]
        return (at_end or sorted(valid, key=self.rank) or self.rows[i])[-1]

    def rank(self, row: Row) -> tuple[bool, float]:
        """A sort key, larger for better points; allowed ones come before all others."""
        return self.allowed(row), self.settings.sign * float(row.evaluation.values[0])

    def slope(self, row: Row) -> float:
        """The unbalanced slope, in units of the objective per box."""
        if not row.evaluation.valid or row.search in self.unreliable:
            return float("nan")
        at = self.settings.sign, row.x, row.evaluation.values, row.evaluation.slopes
        worst, space = self.worst, self.space
        return (balance(space, self.settings.goal, *at) if worst is None else worst_balance(space, worst, *at))[0]


class Recorder(Evaluator):
    """An evaluator that records its evaluations and treats unstable gaits as failed runs."""

    def __init__(self, evaluate: Evaluator, stability: float, bar: tqdm):
        self._evaluate, self.stability, self._bar = evaluate, stability, bar
        self.name, self.rows = evaluate.name, list[Row]()

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `jaxgait.optimization.evaluate.Evaluator`; values in the units of measures."""
        return self.lenient(searches, x).judged(self.stability)

    def lenient(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """The same as a call, but a search may cross unstable gaits; values in the units of measures."""
        found = self._evaluate(searches, x)
        judged = found.judged(self.stability)
        for k, (i, point) in enumerate(zip(searches.tolist(), x.copy(), strict=True)):
            self.rows.append(Row(i, point, judged.at(k), self.memory(i, point)))
        self._bar.update(len(x))
        return found

    def memory(self, search: int, x: Float[np.ndarray, " n"] | None = None) -> Any:
        """See `jaxgait.optimization.evaluate.Evaluator`."""
        return self._evaluate.memory(search, x)

    def recall(self, memories: Mapping[int, Any]) -> None:
        """See `jaxgait.optimization.evaluate.Evaluator`."""
        self._evaluate.recall(memories)
