"""The search for the least sum of squares, or of another loss, from one start, by SciPy.

It is SciPy's `least_squares`: Gauss-Newton steps in a trust region within the bounds of the unit box. Steps to points
where a run fails are rejected.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import least_squares

from jaxgait.calibration.problem import AskFrom, Problem, Residuals
from jaxgait.optimization.statuses import UNSTABLE, sentence

MIN_BOUND_DISTANCE = 1e-3
"""Least distance of a start from the bounds, because the library's search stays inside and leaves bounds slowly."""
_WHY = {
    0: "the limit of evaluations (`iterations`) was reached",
    1: "the slope of {} vanished",
    2: "{} changed by less than the tolerance",
    3: "the parameters changed by less than the tolerance",
    4: "{} and the parameters changed by less than the tolerance",
}


class Stopping(NamedTuple):
    """When a search stops."""

    iterations: int = 50
    """Largest number of evaluations."""
    tolerance: float = 1e-8
    """Relative change of the loss and of the parameters; norm of the slope. No dimension."""


class FitEnd(NamedTuple):
    """How one search ended."""

    x: Float[np.ndarray, " n"]
    """The best point, in the unit box."""
    residuals: Residuals
    total: float
    """Chi-square, or the sum of another loss, at the best point (no dimension); infinite if no run completed."""
    why: str
    evaluations: int
    failed: int
    """Evaluations whose run failed."""


class _Asked:
    """Evaluates what a library's search requests: values, then slopes at the same point."""

    def __init__(self, ask: AskFrom, x: np.ndarray, free: np.ndarray, memory: Any, problem: Problem):
        self._ask, self._x, self._free, self._memory, self._problem = ask, x.copy(), free, memory, problem
        self._last: tuple[bytes, Residuals] | None = None
        self.best: tuple[np.ndarray, Residuals, float] | None = None
        self.evaluations, self.failed, self.unstable = 0, 0, 0

    def residuals(self, part: np.ndarray) -> Residuals:
        """Residuals with the free coordinates replaced."""
        if self._last is None or self._last[0] != part.tobytes():
            x = self._x.copy()
            x[self._free] = part
            found = self._ask((x, self._memory))
            self.evaluations, self.failed = self.evaluations + 1, self.failed + int(not found.valid)
            self.unstable += int(found.status == UNSTABLE)
            self._last = (part.tobytes(), found)
            total = float(self._problem.total(found))
            if self.best is None or total < self.best[2]:
                self.best, self._memory = (x, found, total), found.memory if found.valid else self._memory
        return self._last[1]

    def values(self, part: np.ndarray) -> np.ndarray:
        """The residuals; NaN, which the library rejects, if values or slopes are unknown."""
        found = self.residuals(part)
        return found.values if found.valid else np.full(found.values.shape, np.nan)

    def slopes(self, part: np.ndarray) -> np.ndarray:
        return self.residuals(part).slopes[:, self._free]

    def ended(self, why: str) -> FitEnd:
        assert self.best is not None
        if self.failed and self.evaluations > 1:
            unstable = f", {self.unstable} of them with unstable gaits" if self.unstable else ""
            runs = "runs" if len(self._problem.trials) == 1 else "evaluations"
            why += f"; {self.failed} of {self.evaluations} {runs} failed{unstable}"
        return FitEnd(*self.best, why, self.evaluations, self.failed)


def _failure(problem: Problem, residuals: Residuals) -> str:
    """Which run failed, and why."""
    trial, status, multiplier = int(residuals.trial), int(residuals.status), float(residuals.multiplier)
    why = sentence(problem.trials[trial].model, status) if status else "its curve is not finite"
    if status == UNSTABLE and np.isfinite(multiplier):
        limit = f", stability={problem.stability:g}" if multiplier < 1.0 else ""
        why = f"its gait is not stable{' enough' if limit else ''} (largest multiplier {multiplier:.3g}{limit})"
    return f"the run{problem.of(trial)} at the start failed: {why}"


def search(
    ask: AskFrom,
    x: Float[np.ndarray, " n"],
    free: Bool[np.ndarray, " n"],
    stopping: Stopping,
    problem: Problem,
    memory: Any = None,
) -> FitEnd:
    """Minimises the loss of a problem from one point of the unit box; points have no dimension.

    Args:
        ask: evaluates the residuals at one point, from a guess of its gaits.
        x: the start.
        free: coordinates that may move.
        stopping: when to stop.
        problem: the problem, for its loss and for messages about failed runs.
        memory: the first guess of the gaits.
    """
    asked, loss = _Asked(ask, x, free, memory, problem), problem.loss
    begin = np.clip(x[free], MIN_BOUND_DISTANCE, 1.0 - MIN_BOUND_DISTANCE)
    first = asked.residuals(begin)
    if not first.valid:
        return asked.ended(_failure(problem, first))
    if not free.any():
        return asked.ended("nothing to fit")
    t = max(stopping.tolerance, 1e-15)
    found = least_squares(
        asked.values,
        begin,
        jac=asked.slopes,  # type: ignore[arg-type]
        bounds=(0.0, 1.0),
        method="trf",
        loss=loss.name,
        f_scale=loss.scale,
        ftol=t,
        xtol=t,
        gtol=t,
        max_nfev=stopping.iterations,
    )
    return asked.ended(_WHY[int(found.status)].format(loss.objective))
