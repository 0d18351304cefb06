"""Least squares between a simulated and a measured curve, in the unit box of the parameters, by SciPy.

Residuals are (simulated - measured) / noise, with an exact Jacobian (of the periodic gait, or through the run). The
search is SciPy's `least_squares`: Gauss-Newton steps in a trust region within the bounds. Steps to points where the run
fails are rejected. Several searches run in parallel, with their points evaluated as one ensemble.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import least_squares
from tqdm import tqdm

from jaxgait import outcome
from jaxgait.calibration.curve import Reading
from jaxgait.calibration.measured import MeasuredCurve
from jaxgait.model import Model
from jaxgait.optimization.evaluate import Evaluator
from jaxgait.optimization.search import UNSTABLE
from jaxgait.optimization.space import Space
from jaxgait.optimization.together import Ask, together

__all__ = ["Ended", "Problem", "Residuals", "Settings", "search"]

INSIDE = 1e-3
"""Least distance of a start from the bounds, because the library's search stays inside and leaves bounds slowly."""
_WHY = {
    0: "the limit of evaluations (`iterations`) was reached",
    1: "the slope of the sum of squares vanished",
    2: "the sum of squares changed by less than the tolerance",
    3: "the parameters changed by less than the tolerance",
    4: "sum of squares and parameters changed by less than the tolerance",
}


class Residuals(NamedTuple):
    """Weighted residuals at some points of the unit box, without dimension, with a leading axis over the points."""

    values: Float[np.ndarray, "*b points"]
    """(simulated - measured) / noise; NaN where the run failed."""
    slopes: Float[np.ndarray, "*b points n"]
    """Their derivatives by the coordinates of the unit box."""
    simulated: Float[np.ndarray, "*b points"]
    """The simulated curve at the points of the data, in the unit of the measured one."""
    coarse: Float[np.ndarray, "*b points"]
    """The same from every other sample of the run."""
    status: Int[Any, "*b"]
    """How the runs ended, codes of `jaxgait.outcome`."""
    multiplier: Float[Any, "*b"]
    """Modulus of the largest Floquet multiplier of the gait; NaN where no gait was solved for."""
    memory: Any = None
    """At one point: its gait, as a guess for the next one, or None."""

    @property
    def valid(self) -> Bool[Any, "*b"]:
        """Whether a search may step to the points."""
        return np.isfinite(self.values).all(axis=-1) & np.isfinite(self.slopes).all(axis=(-2, -1))

    @property
    def squares(self) -> Float[Any, "*b"]:
        """Chi-square: the sum of squares; infinite where the run failed. No dimension."""
        return np.where(self.valid, (self.values**2).sum(axis=-1), np.inf)


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, data, and the map from parameters to residuals."""

    model: Model
    """The mechanism before the fit."""
    space: Space
    evaluate: Evaluator
    reading: Reading
    measured: MeasuredCurve
    noise: Float[np.ndarray, " points"]
    """Standard deviation of each measured value, in the unit of the curve."""
    stability: float = np.inf
    """Modulus of the largest Floquet multiplier at which a gait counts as failed."""

    def __call__(self, who: Sequence[int], x: Float[np.ndarray, "b n"]) -> Residuals:
        """Residuals at points of the unit box (no dimension), requested by the searches `who`."""
        found = self.evaluate(np.asarray(who), x)
        lost = np.greater_equal(found.multiplier, self.stability)  # False where there is no gait
        simulated = np.where(lost[:, None], np.nan, found.values @ self.reading.matrix.T)
        slopes = np.einsum("ps,bsn->bpn", self.reading.matrix, found.slopes)
        return Residuals(
            (simulated - self.measured.values) / self.noise,
            slopes / self.noise[:, None],
            simulated,
            found.values @ self.reading.coarse.T,
            np.where(lost, UNSTABLE, found.status),
            found.multiplier,
        )

    def at(self, x: Float[np.ndarray, " n"]) -> Residuals:
        """Residuals at one point of the unit box, without dimension and leading axis."""
        return _one(self([0], x[None]), 0, None)

    def together(
        self, searches: Sequence[Callable[[AskFrom], Any]], title: str = "", progress: bool | None = False
    ) -> list[Any]:
        """Runs searches in parallel; each requests one point at a time, with a gait as a guess.

        Of several gaits at the same parameters, the one nearest to the guess is found: the gait of a rejected step
        must not be used.

        Args:
            searches: functions of an `AskFrom`.
            title: description for the progress bar.
            progress: whether to show a progress bar; None: only on a terminal.
        """
        guesses: dict[int, Any] = {}

        def lane(i: int) -> Callable[[Ask], Any]:
            def ask_from(ask: Ask, x: np.ndarray, memory: Any) -> Residuals:
                guesses[i] = memory
                return ask(x[None])

            return lambda ask: searches[i](lambda x, memory: ask_from(ask, x, memory))

        def answer(asking: Sequence[int], questions: Sequence[np.ndarray]) -> list[Residuals]:
            self.recall({i: guesses[i] for i in asking})
            found = self(asking, np.concatenate(questions))
            least.append(min([float(found.squares.min()), *least[-1:]]))
            bar.set_postfix_str(f"least sum of squares {least[-1]:.5g}, active searches: {len(asking)}", False)
            bar.update(len(asking))
            return [_one(found, k, self._memory(i)) for k, i in enumerate(asking)]

        least: list[float] = []
        with tqdm(desc=title, unit=" runs", disable=None if progress is None else not progress) as bar:
            return together([lane(i) for i in range(len(searches))], answer)

    def recall(self, memories: Mapping[int, Any]) -> None:
        """Sets the guesses of searches; those with None keep theirs."""
        recall = getattr(self.evaluate, "recall", None)
        if recall is not None:
            recall({who: memory for who, memory in memories.items() if memory is not None})

    def _memory(self, who: int) -> Any:
        memory = getattr(self.evaluate, "memory", None)
        return None if memory is None else memory(who)

    def with_noise(self, noise: Float[np.ndarray, " points"]) -> Problem:
        """The problem with another standard deviation of the data, in the unit of the curve."""
        return replace(self, noise=noise)


AskFrom: TypeAlias = Callable[[np.ndarray, Any], Residuals]
"""From one point of the unit box, shape (n,), and the gait to guess from (or None) to the residuals there."""


def _one(found: Residuals, k: int, memory: Any) -> Residuals:
    fields: dict[str, Any] = {name: field[k] for name, field in found._asdict().items() if name != "memory"}
    return Residuals(**fields, memory=memory)


class Settings(NamedTuple):
    """When a search stops."""

    iterations: int = 50
    """Largest number of evaluations."""
    tolerance: float = 1e-8
    """Relative change of the sum of squares and of the parameters; norm of the slope. No dimension."""


class Ended(NamedTuple):
    """How one search ended."""

    x: Float[np.ndarray, " n"]
    """The best point, in the unit box."""
    found: Residuals
    why: str
    evaluations: int
    failed: int
    """Evaluations whose run failed."""

    @property
    def squares(self) -> float:
        """Chi-square at the best point, without dimension; infinite if no run completed."""
        return float(self.found.squares)


class _Asked:
    """Evaluates what a library's search requests: values, then slopes at the same point."""

    def __init__(self, ask: AskFrom, x: np.ndarray, free: np.ndarray, memory: Any):
        self._ask, self._x, self._free, self._memory = ask, x.copy(), free, memory
        self._last: tuple[bytes, Residuals] | None = None
        self.best: tuple[np.ndarray, Residuals] | None = None
        self.evaluations, self.failed, self.unstable = 0, 0, 0

    def found(self, part: np.ndarray) -> Residuals:
        """Residuals with the free coordinates replaced."""
        if self._last is None or self._last[0] != part.tobytes():
            x = self._x.copy()
            x[self._free] = part
            found = self._ask(x, self._memory)
            self.evaluations, self.failed = self.evaluations + 1, self.failed + int(not found.valid)
            self.unstable += int(found.status == UNSTABLE)
            self._last = (part.tobytes(), found)
            if self.best is None or found.squares < self.best[1].squares:
                self.best, self._memory = (x, found), found.memory if found.valid else self._memory
        return self._last[1]

    def values(self, part: np.ndarray) -> np.ndarray:
        """The residuals; NaN, which the library rejects, if values or slopes are unknown."""
        found = self.found(part)
        return found.values if found.valid else np.full(found.values.shape, np.nan)

    def slopes(self, part: np.ndarray) -> np.ndarray:
        return self.found(part).slopes[:, self._free]

    def ended(self, why: str) -> Ended:
        assert self.best is not None
        if self.failed and self.evaluations > 1:
            unstable = f", {self.unstable} of them with unstable gaits" if self.unstable else ""
            why += f"; {self.failed} of {self.evaluations} runs failed{unstable}"
        return Ended(*self.best, why, self.evaluations, self.failed)


def _failure(model: Model, found: Residuals) -> str:
    if found.status == UNSTABLE and np.isfinite(found.multiplier):
        return f"its gait is not stable (largest multiplier {float(found.multiplier):.3g})"
    return outcome.sentence(model, int(found.status)) if found.status else "its curve is not finite"


def search(
    ask: AskFrom,
    x: Float[np.ndarray, " n"],
    free: Bool[np.ndarray, " n"],
    settings: Settings,
    model: Model,
    memory: Any = None,
) -> Ended:
    """Minimises the sum of squares from one point of the unit box; points have no dimension.

    Args:
        ask: evaluates the residuals at one point.
        x: the start.
        free: coordinates that may move.
        settings: when to stop.
        model: the model, for messages about failed runs.
        memory: the first guess of a gait.
    """
    asked = _Asked(ask, x, free, memory)
    begin = np.clip(x[free], INSIDE, 1.0 - INSIDE)
    first = asked.found(begin)
    if not first.valid:
        return asked.ended(f"the run at the start failed: {_failure(model, first)}")
    if not free.any():
        return asked.ended("nothing to fit")
    t = max(settings.tolerance, 1e-15)
    found = least_squares(
        asked.values,
        begin,
        jac=asked.slopes,  # type: ignore[arg-type]
        bounds=(0.0, 1.0),
        method="trf",
        ftol=t,
        xtol=t,
        gtol=t,
        max_nfev=settings.iterations,
    )
    return asked.ended(_WHY[int(found.status)])
