"""What a search did: its evaluations, and which of them may be the result."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from jaxgait.model import Model
from jaxgait.optimization.active_constraints import balance
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.epigraph import worst_balance
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
    """Modulus of the largest Floquet multiplier from which a gait counts as failed."""
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
        """Larger for better points: allowed ones before all others."""
        return self.allowed(row), self.settings.sign * float(row.evaluation.values[0])

    def slope(self, row: Row) -> float:
        """The unbalanced slope, in units of the objective per box."""
        if not row.evaluation.valid or row.search in self.unreliable:
            return float("nan")
        at = self.settings.sign, row.x, row.evaluation.values, row.evaluation.slopes
        worst, space = self.worst, self.space
        return (balance(space, self.settings.goal, *at) if worst is None else worst_balance(space, worst, *at))[0]
