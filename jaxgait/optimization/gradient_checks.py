"""Checks whether a gradient is reliable, by comparing it with changes of the values at the starts and later.

Through irregular walks a derivative grows with every stride although the objective does not; a rounded or counted
objective has zero slope; at a bifurcation the implicit derivative is infinite. Only the change of the objective over a
step shows this.

All points are points of the unit box, and their distances have no dimension; values are in the units of measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from jaxgait.optimization.evaluate import Aside, Evaluated, Evaluator
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.request_batching import Ask

HALF_STEPS = (1e-3, 1e-2)
"""Half steps of the differences, as fractions of the box: a gradient that agrees with either is accepted."""
MAX_DEVIATION = 0.5
"""Deviation of slope and difference, relative to the larger one, above which they disagree."""
IGNORED_DISAGREEMENT = 1e-3
"""Disagreements below this, relative to the objective and per box, are ignored."""
ROUNDING = 1e-9
"""Differences of values below this, relative to the values, count as none."""
MAX_STARTS = 8
"""Largest number of starts to check."""
LARGEST_PROMISE = 100.0
"""Largest change that a credible slope predicts, relative to the entire observed variation of a value."""
RECHECK_RATIO = 10.0
"""A slope that proved right is checked again when it is this many times as steep."""


def gradient_fault(
    evaluate: Evaluator, x: Float[np.ndarray, "starts n"], goal: Goal, parameters: Sequence[str] = ()
) -> str:
    """Why the gradient of the objective or of a limit is unreliable; empty unless one disagrees at most starts.

    Takes three or five runs for each of at most eight starts (in the unit box, without dimension), and two more for
    each of the `parameters` by which a slope is zero at all of them; ignores starts whose run fails.
    """
    chosen = np.linspace(0, len(x) - 1, min(len(x), MAX_STARTS)).round().astype(int)
    # under other numbers: the starts keep their own gaits
    evaluate.recall({i + Aside.GRADIENT: evaluate.memory(int(k)) for i, k in enumerate(chosen)})
    x = x[chosen]
    found = evaluate(np.arange(len(x)) + Aside.GRADIENT, x)
    ran, valid = found.ran.sum(), np.flatnonzero(found.valid)
    if 2 * valid.size < ran:
        return f"it is not finite at {ran - valid.size} of {ran} starts"
    names, found = ["", *(one.name for one in goal.bounds)], found.at(valid)
    whose = lambda value: f"that of {names[value]}" if value else "it"
    values, slopes, sizes = found.values[:, : len(names)], found.slopes[:, : len(names)], goal.magnitudes(found.values)
    if valid.size > 1:
        flat = ~slopes.any(axis=(0, 2)) & (np.ptp(values, axis=0) > ROUNDING * sizes.max(axis=0))
        for value in np.flatnonzero(flat)[:1]:
            differs = names[value] or "the objective"
            return f"{whose(value)} is zero at {valid.size} starts although {differs} differs between them"
    for k, parameter in enumerate(parameters):
        unseen = ~slopes[:, :, k].any(axis=0)
        if valid.size and unseen.any():
            often = (_changes(evaluate, valid, x[valid], sizes, k) & unseen).sum(axis=0)
            value = int(np.argmax(often))
            if 2 * often[value] > valid.size:
                changes = f"although {names[value] or 'the objective'} changes with it at {often[value]}"
                return f"{whose(value)} is zero by {parameter}, {changes} of {valid.size} starts"
    wrong = np.ones(values.shape, bool)
    for step in HALF_STEPS:
        left = np.flatnonzero(wrong.any(axis=1))
        if left.size:
            wrong[left] &= _disagreements(evaluate, valid[left], x[valid[left]], slopes[left], sizes[left], step)
    often = wrong.sum(axis=0)
    value = int(np.argmax(often))
    if 2 * often[value] <= valid.size:
        return ""
    how = f"disagrees with differences of runs by more than {MAX_DEVIATION:.0%}"
    return f"{whose(value)} {how} at {often[value]} of {valid.size} starts"


def _disagreements(
    evaluate: Evaluator,
    searches: np.ndarray,
    x: np.ndarray,
    slopes: Float[np.ndarray, "b values n"],
    sizes: Float[np.ndarray, "b values"],
    step: float,
) -> Bool[np.ndarray, "b values"]:
    """Where slopes and differences disagree, along a direction in which all parameters change."""
    along = _direction(slopes[:, 0])
    ends = np.clip(np.concatenate([x - step * along, x + step * along]), 0.0, 1.0)
    sides = evaluate(np.concatenate([searches, searches]) + Aside.GRADIENT, ends)
    apart, valid = ends[len(x) :] - ends[: len(x)], sides.ran.reshape(2, -1).all(axis=0)
    low, high = np.split(sides.values[:, : sizes.shape[1]], 2)
    change, predicted = high - low, np.einsum("bvn,bn->bv", slopes, apart)
    noticed = np.abs(change - predicted) > IGNORED_DISAGREEMENT * sizes * np.linalg.norm(apart, axis=1)[:, None]
    larger = np.maximum(np.abs(change), np.abs(predicted))
    return valid[:, None] & noticed & (np.abs(change - predicted) > MAX_DEVIATION * larger)


def _changes(
    evaluate: Evaluator, searches: np.ndarray, x: np.ndarray, sizes: Float[np.ndarray, "b values"], k: int
) -> Bool[np.ndarray, "b values"]:
    """Where values change with one coordinate of the unit box but have no slope by it, because it moves a law's jump.

    Next to an extremum, even one on a bound, they would have slopes.
    """
    step = HALF_STEPS[-1] * np.eye(x.shape[1])[k]
    sides = evaluate(np.concatenate([searches, searches]) + Aside.GRADIENT, np.clip([*(x - step), *(x + step)], 0, 1))
    low, high = np.split(sides.values[:, : sizes.shape[1]], 2)
    flat = sides.ran[:, None] & (sides.slopes[:, : sizes.shape[1], k] == 0.0)
    return np.logical_and(*np.split(flat, 2)) & (np.abs(high - low) > IGNORED_DISAGREEMENT * step[k] * sizes)


def _direction(slopes: Float[np.ndarray, "b n"]) -> Float[np.ndarray, "b n"]:
    """Unit vectors near slopes (of any unit) with a component along every coordinate, even for zero slopes."""
    n, size = slopes.shape[1], np.linalg.norm(slopes, axis=1, keepdims=True)
    shares = (-1.0) ** np.arange(n) / np.sqrt(n)
    uphill = slopes / np.where(size > 0.0, size, 1.0)
    along = uphill + np.where(uphill @ shares[:, None] < 0.0, -1.0, 1.0) * shares
    return along / np.linalg.norm(along, axis=1, keepdims=True)


class UnreliableGradient(Exception):
    """The gradient of a start is unreliable; the message names the value and the extent."""


class Guard:
    """Evaluates the points of one start, and compares its slopes with the changes of its values between evaluations.

    A slope is suspect if it is not finite, or if it promises, over the distance from an earlier evaluation of the same
    start, more than `LARGEST_PROMISE` times the observed variation of the value (at the first evaluation: if a slope of
    the objective promises that many times its value across the box). Since a sound objective may be flat next to a
    steep wall, two more points are evaluated, `HALF_STEPS[0]` of the box to either side. Only if the slopes at all
    three points promise more than `LARGEST_PROMISE` times the variation over that distance is the gradient unreliable:
    a sound objective would have to traverse its entire range a hundred times within two thousandths of the box.
    Distances are in boxes and changes relative to the observed variation, so that units do not matter.

    Values include the limited measures, and the objectives of scenarios.
    """

    def __init__(self, ask: Ask, names: Sequence[str] = (), least: Sequence[float] = ()):
        """`names` and `least` (the variation to ignore, in the value's unit) are those of the first values."""
        self._ask, self._names, self._least = ask, names, least
        self._points: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._right: np.ndarray | None = None

    def __call__(self, points: Float[np.ndarray, "p n"]) -> Evaluated:
        """The evaluation of points of the unit box (no dimension).

        Raises:
            UnreliableGradient: if the gradient proves unreliable.
        """
        found = self._asked(points)
        for k in np.flatnonzero(found.ran):
            self._look(points[k], found.slopes[k])
        return found

    def best(self, costs: Any) -> Float[np.ndarray, " n"]:
        """The point of the unit box with the least cost, a function of values in the units of measures."""
        return min(zip(self._points, self._values, strict=True), key=lambda one: costs(one[1]))[0]

    def _asked(self, points: np.ndarray) -> Evaluated:
        found = self._ask(points)
        for k in np.flatnonzero(found.ran):
            self._points.append(np.array(points[k]))
            self._values.append(found.values[k])
        return found

    def _look(self, x: np.ndarray, slopes: np.ndarray) -> None:
        """Evaluates points around one with suspect slopes, and raises an error if they are unreliable."""
        size = _size(slopes)
        right = np.zeros(len(size)) if self._right is None else self._right
        suspect = (size > RECHECK_RATIO * right) & self._suspect(x, slopes)
        if not suspect.any():
            return
        along = _direction(np.nan_to_num(slopes[[np.argmax(suspect)]], posinf=0.0, neginf=0.0))
        ends = np.clip(x + HALF_STEPS[0] * np.concatenate([-along, along]), 0.0, 1.0)
        sides = self._asked(ends)
        if not sides.ran.any():
            return
        around = np.concatenate([slopes[None], sides.slopes[sides.ran]])
        promised, varied = _promised(around, ends[1] - ends[0]).min(axis=0), self._varied()
        if (wrong := suspect & (promised > LARGEST_PROMISE * varied)).any():
            value = int(np.argmax(wrong))
            raise UnreliableGradient(self._sentence(value, promised[value], varied[value]))
        self._right = np.where(suspect & np.isfinite(size), size, right)

    def _suspect(self, x: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """The values whose slopes promise too much."""
        if len(self._points) > 1:
            steps = x - np.array(self._points)
            return np.max([_promised(slopes, step) for step in steps], axis=0) > LARGEST_PROMISE * self._varied()
        size = _size(slopes)
        size[1:] = np.where(np.isfinite(size[1:]), 0.0, size[1:])
        return size > LARGEST_PROMISE * np.abs(self._values[0])

    def _varied(self) -> np.ndarray:
        """The observed variation of each value, at least the one to ignore."""
        least = np.zeros(len(self._values[0]))
        least[: len(self._least)] = self._least
        return np.maximum(
            np.ptp(self._values, axis=0), np.maximum(IGNORED_DISAGREEMENT * np.abs(self._values).max(axis=0), least)
        )

    def _sentence(self, value: int, promised: float, varied: float) -> str:
        what = self._names[value] if value < len(self._names) else "the objective of a scenario"
        if not np.isfinite(promised):
            return f"the slopes of {what} are not finite"
        if not varied:
            return f"the slopes of {what} promise a change, but there is none"
        span = f"{2 * HALF_STEPS[0]:g} of the box"
        return f"over {span} the slopes of {what} promise {promised / varied:.0e} times its entire variation"


def _size(slopes: Float[np.ndarray, "values n"]) -> Float[np.ndarray, " values"]:
    """The norms of slopes, infinite for those that are not finite."""
    return np.where(np.isfinite(slopes).all(axis=-1), np.linalg.norm(slopes, axis=-1), np.inf)


def _promised(slopes: Float[np.ndarray, "*b n"], step: Float[np.ndarray, " n"]) -> Float[np.ndarray, "*b"]:
    """The changes of values along a step predicted by their slopes; infinite if these are not finite."""
    change = np.abs(np.where(np.isfinite(slopes), slopes, 0.0) @ step)
    return np.where(np.isfinite(slopes).all(axis=-1), change, np.inf)
