"""Whether a gradient means anything: it is held against differences of the same runs where a search begins.

Through irregular walks a derivative grows with every stride while the objective does not; a rounded or counted
objective has the slope zero; at a bifurcation the implicit derivative is infinite. None of this shows in one number,
all of it in what the objective does one step further on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from jaxgait.optimization.evaluate import Evaluated, Evaluator

__all__ = ["doubt"]

STEPS = (1e-3, 1e-2)
"""Half the distances of the differences, as fractions of the box: a gradient that fits either is one."""
DISAGREES = 0.5
"""Difference of slope and difference, relative to the larger of the two, from which on they disagree."""
SMALL = 1e-3
"""Disagreements below this, relative to the objective and per box, count as none."""
MOST = 8
"""Starts that are looked at."""
_LANE = 1_000_000
"""Searches that an evaluator does not mistake for those of the starts."""


@runtime_checkable
class Remembering(Evaluator, Protocol):
    """An evaluator that begins where a search was last."""

    def memory(self, who: int) -> Any:
        """What it remembers of a search, as lists; None: nothing."""
        ...

    def recall(self, memories: Mapping[int, Any]) -> None:
        """Takes over what it remembered."""
        ...


def doubt(evaluate: Evaluator, x: Float[np.ndarray, "starts n"]) -> str:
    """Why the gradient of the objective means nothing, in words; empty if it does not disagree at most starts.

    A start whose run fails says nothing. Two or four runs for each of at most eight starts.

    Args:
        evaluate: gives objective and slopes.
        x: starts in the unit box.
    """
    chosen = np.linspace(0, len(x) - 1, min(len(x), MOST)).round().astype(int)
    if isinstance(evaluate, Remembering):  # from the gaits of the starts, which stay as they are
        evaluate.recall({i + _LANE: memory for i, k in enumerate(chosen) if (memory := evaluate.memory(int(k)))})
    x = x[chosen]
    found = evaluate(np.arange(len(x)) + _LANE, x)
    fine = np.flatnonzero(found.fine)
    if not fine.size:
        return ""
    if fine.size > 1 and not found.slopes[fine, 0].any() and np.ptp(found.values[fine, 0]) > 0.0:
        return f"it is zero at {fine.size} starts between which the objective differs"
    wrong = fine
    for step in STEPS:
        if wrong.size:
            wrong = wrong[_disagree(evaluate, wrong, x[wrong], Evaluated(*(f[wrong] for f in found)), step)]
    if 2 * wrong.size <= fine.size:
        return ""
    return f"it disagrees with differences of runs by more than {DISAGREES:.0%} at {wrong.size} of {fine.size} starts"


def _disagree(evaluate: Evaluator, who: np.ndarray, x: np.ndarray, found: Evaluated, step: float) -> np.ndarray:
    """At which points slope and difference disagree, along a direction that every parameter has a share in."""
    n, size = x.shape[1], np.linalg.norm(found.slopes[:, 0], axis=1, keepdims=True)
    along = found.slopes[:, 0] / np.where(size > 0.0, size, 1.0) + (-1.0) ** np.arange(n) / np.sqrt(n)
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    ends = np.clip(np.concatenate([x - step * along, x + step * along]), 0.0, 1.0)
    beside = evaluate(np.concatenate([who, who]) + _LANE, ends)
    apart, fine = ends[len(x) :] - ends[: len(x)], beside.fine.reshape(2, -1).all(axis=0)
    change = np.diff(beside.values[:, 0].reshape(2, -1), axis=0)[0]
    told, distance = (found.slopes[:, 0] * apart).sum(axis=1), np.linalg.norm(apart, axis=1)
    noticed = np.abs(change - told) > SMALL * np.abs(found.values[:, 0]) * distance
    return fine & noticed & (np.abs(change - told) > DISAGREES * np.maximum(np.abs(change), np.abs(told)))
