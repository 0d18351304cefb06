"""The objective around an optimum: active bounds and limits, curvature, and the tolerances of the parameters.

Second derivatives are differences of exact slopes. A step must be short against the width of the peak and long against
the errors of runs, and neither is known; slopes are therefore compared with differences of values at two steps, and for
each parameter the step at which they agree better is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from jaxtyping import Bool, Float

from jaxgait.optimization.active_constraints import balance
from jaxgait.optimization.curvature import determined
from jaxgait.optimization.evaluate import Aside, Evaluated, Evaluator
from jaxgait.optimization.goals import MAX_VIOLATION, Goal
from jaxgait.optimization.optimum import AGREEMENT, BOUND, FAILED, OBJECTIVE, UNSEARCHED, Local
from jaxgait.optimization.space import Space
from jaxgait.report import labels
from jaxgait.support import xr
from jaxgait.support.units import ratio

TOLERATED_LOSS = 1e-3
"""Loss, relative to the objective, for which the tolerances around an optimum are computed."""
NEAR_ZERO = 0.1
"""An objective smaller than this fraction of its variation is near zero: losses are then relative to this fraction."""
STEPS = (0.02, 0.001)
"""Steps of the differences around an optimum, as fractions of the box."""
SHORTEST_SIDE = 0.5
"""Where a wall is nearer than this fraction of a step, differences only use the other side."""
IGNORED_SLOPE = 1e-3
"""Slopes below this, relative to the objective and per box, need not agree with differences of values."""
FLAT = 1e-6
"""Curvatures below this fraction of the largest count as zero."""
ROOM_ERROR = 0.1
"""Relative error of a tolerance, or of the loss at its end, up to which the tolerance is accepted."""
ROOM_ROUNDS = 16
"""Largest number of evaluations for the end of a tolerance: one that they do not reach is `UNSEARCHED`."""


def tolerated_loss(value: float, variation: float) -> float:
    """The loss for which tolerances are computed, from the objective and its variation within the box, in its unit.

    Examples:
        >>> from jaxgait.optimization.neighbourhood import tolerated_loss
        >>> tolerated_loss(-2.0, 1.0), tolerated_loss(0.0, 1.0)
        (0.002, 0.0001)
    """
    return TOLERATED_LOSS * max(abs(value), NEAR_ZERO * variation)


def around(
    evaluate: Evaluator,
    space: Space,
    goal: Goal,
    sign: float,
    search: int,
    x: np.ndarray,
    evaluation: Evaluated,
    variation: float = 0.0,
    stability: float = 1.0,
    words: Callable[[int], str] = str,
) -> Local | None:
    """The objective around a point, from values and slopes on both sides of it along each parameter (one batch).

    Further batches check the tolerances of the parameters.

    Args:
        evaluate: evaluates the slopes.
        space: the box.
        goal: objective and limits.
        sign: 1 to maximise, -1 to minimise.
        search: the search that found the point.
        x: the point in the unit box, (n,).
        evaluation: the evaluation at the point.
        variation: of the objective within the box, in its unit, for the loss if the objective is near zero.
        stability: modulus of the largest Floquet multiplier at which a gait counts as failed.
        words: the meaning of a status.

    Returns:
        None if runs next to the point failed along a parameter.
    """
    sides = _sides(evaluate, search, x, evaluation)
    if not sides.valid.any(axis=0).all():
        return None
    x, value = space.on_walls(x), float(evaluation.values[0, 0])
    slope, multipliers = balance(space, goal, sign, x, evaluation.values[0], evaluation.slopes[0])
    forces = np.array([multipliers.get(str(one), 0.0) * one.sign for one in goal.bounds])
    weights = np.concatenate([[1.0], sign * forces])
    hessian = _hessian(sides, weights, abs(value))
    curvature, directions = np.linalg.eigh(hessian)
    order = np.argsort(np.abs(curvature))
    what, units = "second derivatives of the objective", {*space.units}
    product = f"{what}, in its unit per product of the parameters' units"
    unit = ratio(ratio(goal.label["units"], space.units[0]), space.units[0])
    loss, free, memory = tolerated_loss(value, variation), (x > 0.0) & (x < 1.0), evaluate.memory(search)
    ends = _estimated(goal, sign, x, evaluation, hessian, loss, memory is not None)
    judge = lambda one: _judged(goal, one, sign * (value - float(one.values[0])), loss, words)
    _check_ends(ends, evaluate, memory, x, stability, judge)
    each = dict(zip(space.names, ends, strict=True))
    room = {name: (down.good, up.good) for name, (down, up) in each.items()}
    where = lambda end: end.fails.at if end.stop.startswith(FAILED) else np.nan
    failed = {name: (where(down), where(up)) for name, (down, up) in each.items()}
    normals = goal.slack_slopes(evaluation.slopes[0])[forces != 0.0]
    walls = [*np.flatnonzero(x <= 0.0), *np.flatnonzero(x >= 1.0)]
    held = np.zeros(len(x))
    held[walls] = [multipliers.get(name, 0.0) for name in space.walls(x)] * space.spacing.slopes(x)[walls]
    difference = _difference(sides, abs(value))
    ridge, unknown = _along_ridge(x, -sign * hessian, free, normals, loss, held, room, difference)
    return Local(
        slope,
        tuple(name for name, force in multipliers.items() if force > 0.0),
        multipliers,
        xr.DataArray(
            space.spacing.hessian(x, weights @ evaluation.slopes[0, : len(weights)], hessian),
            {"parameter": space.names, "by": space.names},
            ("parameter", "by"),
            attrs=labels(unit, what) if len(units) == 1 else {"long_name": product},
        ),
        curvature[order],
        directions.T[order],
        loss,
        _in_units(space, x, room),
        {name: (down.stop, up.stop) for name, (down, up) in each.items()},
        _in_units(space, x, failed),
        _in_units(space, x, ridge),
        difference,
        unknown,
    )


class _Sides(NamedTuple):
    """Evaluations around a point of the unit box, with leading axes over steps, the two sides, and the parameters.

    A side cut off by a wall has the length zero, and the values at the point.
    """

    lengths: Float[np.ndarray, "steps 2 n"]
    values: Float[np.ndarray, "steps 2 n values"]
    slopes: Float[np.ndarray, "steps 2 n values n"]
    valid: Bool[np.ndarray, "steps n"]
    at: Evaluated
    """The evaluation at the point."""

    def gaps(self, weights: Float[np.ndarray, " some"]) -> tuple[np.ndarray, np.ndarray]:
        """Compares the slopes of a weighted sum of the first values with differences of its values.

        The mean slope on a side is that of the parabola through the slopes on both sides and at the point; without the
        other side, of a line. The two sides count separately: at a symmetric optimum their differences cancel, right or
        wrong.

        Returns:
            For each step and parameter, in units of the sum per box: the largest distance between the mean slope on a
            side and the difference of values (infinite where runs failed), and the largest mean slope.
        """
        count, (a, b) = len(weights), np.moveaxis(self.lengths, 1, 0)
        left, right = np.moveaxis(np.einsum("v,...kvk->...k", weights, self.slopes[..., :count, :]), 1, 0)
        centre = weights @ self.at.slopes[0, :count]
        rise = self.values[..., :count] @ weights - self.at.values[0, :count] @ weights
        with np.errstate(divide="ignore", invalid="ignore"):
            before, after = (centre - left) / a, (right - centre) / b
            bend = np.where((a > 0.0) & (b > 0.0), (after - before) / (a + b), 0.0)
            slant = np.where(b > 0.0, after - bend * b, before)
            means = np.stack(
                [centre - slant * a / 2.0 + bend * a**2 / 3.0, centre + slant * b / 2.0 + bend * b**2 / 3.0], 1
            )
            apart = np.abs(rise * np.array([[-1.0], [1.0]]) / self.lengths - means)
        largest = lambda x: np.where(self.lengths > 0.0, np.abs(x), 0.0).max(axis=1)
        return np.where(self.valid, largest(apart), np.inf), np.where(self.valid, largest(means), 0.0)


def _sides(evaluate: Evaluator, search: int, x: np.ndarray, evaluation: Evaluated) -> _Sides:
    """Evaluates points at `STEPS` from a point of the unit box, on both sides along each parameter."""
    n, steps = len(x), np.array(STEPS)[:, None, None]
    moved = steps[..., None] * np.array([-1.0, 1.0])[:, None, None] * np.eye(n)
    points = np.clip(x + moved, 0.0, 1.0)
    lengths = np.abs(np.einsum("...kk->...k", points) - x)
    used = lengths >= SHORTEST_SIDE * steps
    found = evaluate(np.full(points.size // n, search), points.reshape(-1, n))
    valid = np.reshape(found.valid, used.shape) | ~used
    return _Sides(
        np.where(used, lengths, 0.0),
        np.where(used[..., None], found.values.reshape(*used.shape, -1), evaluation.values[0]),
        np.where(used[..., None, None], found.slopes.reshape(*used.shape, -1, n), evaluation.slopes[0]),
        valid.all(axis=1),
        evaluation,
    )


def _hessian(sides: _Sides, weights: np.ndarray, size: float) -> Float[np.ndarray, "n n"]:
    """Second derivatives of a weighted sum of the first values by the unit box.

    Uses, for each parameter, the step at which differences of slopes and of values imply more similar curvatures.
    `size` is the magnitude of the objective.
    """
    slopes = np.einsum("v,...vn->...n", weights, sides.slopes[..., : len(weights), :])
    changes = slopes[:, 1] - slopes[:, 0]
    bends = np.maximum(np.abs(np.einsum("sii->si", changes)), IGNORED_SLOPE * size)
    best = np.argmin(sides.gaps(weights)[0] / np.where(bends > 0.0, bends, 1.0), axis=0), np.arange(changes.shape[-1])
    hessian = changes[best] / sides.lengths.sum(axis=1)[best][:, None]
    return 0.5 * (hessian + hessian.T)


def _difference(sides: _Sides, size: float) -> float:
    """Largest deviation of the objective's slopes from differences of its values, relative to the slopes, up to 1.

    For each parameter, at the step at which it is smaller, except where slopes and changes of values are all zero.
    `size` is the magnitude of the objective.
    """
    gaps, means = sides.gaps(np.ones(1))
    scale = np.maximum(means.max(axis=1), IGNORED_SLOPE * size)[:, None]
    silent = (means == 0.0) & (gaps == 0.0)
    relative = np.where(silent, np.inf, gaps / np.where(scale > 0.0, scale, 1.0)).min(axis=0)
    return min(float(relative[np.isfinite(relative)].max(initial=0.0)), 1.0)


def _in_units(space: Space, x: np.ndarray, reaches: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Distances down and up from a point of the unit box, in the units of the parameters."""
    down, up = np.array([*reaches.values()]).T
    ends = zip((-space.spacing.moved(x, -down)).tolist(), space.spacing.moved(x, up).tolist(), strict=True)
    return dict(zip(reaches, ends, strict=True))


class _Stop(NamedTuple):
    """A distance in the box that is not tolerated, and why."""

    at: float = np.inf
    why: str = ""


_NONE = _Stop()


@dataclass
class _End:
    """The end of the tolerance of one parameter to one side; distances in the box."""

    trial: float
    """The distance to evaluate next: no farther than the least one that is not tolerated."""
    wall: float
    """The distance to the wall."""
    stop: str
    """What stops the parameter, as `Local.stops`."""
    known: bool
    """Whether the stop and the distance are found, to `ROOM_ERROR`."""
    follows: bool
    """Whether a gait is sought from the last one: where a long step finds none, a shorter one may."""
    good: float = 0.0
    """The largest distance that is tolerated, as far as is known."""
    bad: _Stop = _NONE
    """The least distance at which the loss is too large, or a limit is violated."""
    fails: _Stop = _NONE
    """The least distance at which a run failed, or no gait was found, if it is nearer than `bad`."""
    step: float = np.inf
    """The longest step from a tolerated distance: half of the last one that failed. It does not grow again: a longer
    one would probably fail again, and each failure costs an evaluation."""

    @property
    def first(self) -> _Stop:
        """The least distance that is not tolerated."""
        return self.fails if self.fails.why else self.bad

    def learn(self, stop: str, spent: bool) -> None:
        """Moves the end by what stops the parameter at the trial (empty: nothing), and whether it spends the loss."""
        failed = stop.startswith(FAILED)
        if failed:
            self.fails, self.step = _Stop(self.trial, stop), 0.5 * (self.trial - self.good)
        elif stop:  # a failure farther away was that of a long step, and does not matter any more
            self.bad, self.fails = _Stop(self.trial, stop), _NONE
        else:
            self.good = self.trial
            self.fails = self.fails if self.fails.at > self.good else _NONE  # only the step was too long
        again = self.follows and bool(self.fails.why) and not failed  # from the gait that is nearest now
        if self.first.why and not again and self.first.at - self.good <= ROOM_ERROR * self.first.at:
            self.known, self.stop = True, self.first.why
        elif not stop and spent:
            self.known, self.stop = True, OBJECTIVE
        elif self.good >= self.wall:
            self.known, self.stop = True, BOUND
        elif again:
            self.trial = self.fails.at
        elif self.first.why:
            self.trial = self.good + min(0.5 * (self.first.at - self.good), self.step)
        else:
            self.trial = min(self.good + min(self.step, self.good or self.step), self.wall)


def _estimated(
    goal: Goal, sign: float, x: np.ndarray, evaluation: Evaluated, hessian: np.ndarray, loss: float, follows: bool
) -> list[tuple[_End, _End]]:
    """For each parameter alone, the distances down and up in the box to a loss of `loss`, a wall, or a limit.

    The objective is a parabola, the limits are linear. `follows` as in `_End`.
    """
    slack, tightens = goal.slack(evaluation.values[0]), -goal.slack_slopes(evaluation.slopes[0])
    slack = np.where(slack > MAX_VIOLATION, slack, 0.0)  # within that, searches end on limits
    ends = []
    for i, at in enumerate(x.tolist()):
        falls, bend = -sign * evaluation.slopes[0, 0, i], max(-sign * hessian[i, i], 0.0)
        pair = []
        for sense, wall in ((-1.0, at), (1.0, 1.0 - at)):
            rate = max(sense * falls, 0.0)  # at a bound the slope points outwards; elsewhere it is noise
            steep = rate + np.sqrt(rate**2 + 2.0 * bend * loss)  # zero on a parabola too if no loss is tolerated
            reaches = [(wall, BOUND), (2.0 * loss / steep if steep else 0.0 if bend else np.inf, OBJECTIVE)]
            nearer = np.flatnonzero(sense * tightens[:, i] > 0.0)
            reaches += [(slack[k] / abs(tightens[k, i]), str(goal.bounds[k])) for k in nearer]
            reach, stop = min(reaches, key=lambda one: one[0])
            known = bool(reach <= 0.0)
            pair.append(_End(float(reach), wall, stop if known else UNSEARCHED, known, follows))
        ends.append((pair[0], pair[1]))
    return ends


def _check_ends(
    ends: Sequence[tuple[_End, _End]],
    evaluate: Evaluator,
    memory: Any,
    x: np.ndarray,
    stability: float,
    judge: Callable[[Evaluated], tuple[str, bool]],
) -> None:
    """Evaluates the ends of tolerances, and moves them until they are accurate: all in one batch each time.

    Every gait is sought from the nearest tolerated one on its side, at first from the one at `x` (`memory`): from
    farther away, Newton's method may find none, or another one. `judge` says what stops a parameter at an evaluation,
    and whether the loss is spent there.

    The evaluations have slopes, which only the guess of the next gait needs, because the search has compiled that
    program: one for values alone would save 0.08 s a batch (knee, five strides), but take 4 s to compile.
    """
    sides = [(i, sense, end) for i, pair in enumerate(ends) for sense, end in zip((-1.0, 1.0), pair, strict=True)]
    memories = {Aside.TOLERANCES + k: memory for k in range(len(sides))}
    for _ in range(ROOM_ROUNDS):
        left = [(lane, *side) for lane, side in zip(memories, sides, strict=True) if not side[2].known]
        if not left:
            break
        evaluate.recall({lane: memories[lane] for lane, *_ in left})
        moved = np.array([sense * end.trial * np.eye(len(x))[i] for _, i, sense, end in left])
        found = evaluate(np.array([lane for lane, *_ in left]), np.clip(x + moved, 0.0, 1.0)).judged(stability)
        for k, (lane, _, _, end) in enumerate(left):
            stop, spent = judge(found.at(k))
            end.learn(stop, spent)
            memories[lane] = memories[lane] if stop else evaluate.memory(lane)
    for *_, end in sides:
        if not end.known and not end.good:  # it cannot move at all
            end.stop = end.first.why


def _judged(goal: Goal, one: Evaluated, lost: float, loss: float, words: Callable[[int], str]) -> tuple[str, bool]:
    """What makes a design intolerable (empty: nothing), and whether it loses about as much as is tolerated."""
    spent = bool(lost >= (1.0 - ROOM_ERROR) * loss)
    if not one.ran:
        return FAILED + (words(int(one.status)) if one.status else "objective or limits are undefined"), spent
    if not goal.met(one.values):
        return str(goal.bounds[int(np.argmin(goal.slack(one.values)))]), spent
    return OBJECTIVE if lost > (1.0 + ROOM_ERROR) * loss else "", spent


def _along_ridge(
    x: np.ndarray,
    bend: np.ndarray,
    free: np.ndarray,
    normals: np.ndarray,
    loss: float,
    multipliers: np.ndarray,
    alone: dict[str, tuple[float, float]],
    difference: float,
) -> tuple[dict[str, tuple[float, float]], str]:
    """How far each parameter may fall and rise in the box if the free ones follow; NaN, and why, if that is not known.

    They move along the active limits, whose slopes are `normals`. Those that take part in a direction without curvature
    may move as far as the bounds. `multipliers` are those of the bounds, per box, zero for free parameters;
    `difference` is the deviation of slopes from differences of values. The distances are no less than `alone`.
    """
    along = scipy.linalg.null_space(normals[:, free]) if len(normals) and free.any() else np.eye(free.sum())
    curvature, turned = np.linalg.eigh(along.T @ bend[np.ix_(free, free)] @ along)
    least = FLAT * np.abs(curvature).max(initial=0.0)
    if why := _no_parabola(curvature, least, difference):
        return dict.fromkeys(alone, (np.nan, np.nan)), why
    inverse, flat = determined(curvature, (along @ turned).T, least)
    reach = np.zeros(len(x))
    reach[free] = np.where(flat, np.inf, np.sqrt(2.0 * loss * np.diagonal(inverse)))
    for i in np.flatnonzero(~free):
        reach[i] = _inwards(i, bend, free, normals, inverse, loss, float(multipliers[i]))
    ridge = {}
    for (name, own), far, at in zip(alone.items(), reach, x, strict=True):
        down, up = (np.maximum(min(far, wall), least) for wall, least in zip((at, 1.0 - at), own, strict=True))
        ridge[name] = (float(down), float(up))
    return ridge, ""


def _no_parabola(curvature: np.ndarray, least: float, difference: float) -> str:
    """Why second derivatives do not describe the surroundings; empty if they do.

    `curvature`: eigenvalues, positive where the objective gets worse; up to `least` they count as zero. `difference`:
    deviation of slopes from differences of values.
    """
    if difference > AGREEMENT:
        return f"the gradient and differences of values next to this design disagree by {100.0 * difference:.3g}%"
    if (curvature < -least).any():
        return "by the second derivatives, the objective would improve in some direction"
    return ""


def _inwards(
    i: int | np.integer,
    bend: np.ndarray,
    free: np.ndarray,
    normals: np.ndarray,
    inverse: np.ndarray,
    loss: float,
    multiplier: float,
) -> float:
    """How far a parameter on a bound may move inwards for a loss if the free ones follow, along the limits.

    `inverse` is the inverse of the curvature along the limits, `multiplier` that of the bound, per box. NaN if the free
    parameters cannot keep to the limits.
    """
    move = np.eye(len(bend))[i]
    move[free] = -np.linalg.pinv(normals[:, free]) @ normals[:, i]
    if not np.allclose(normals @ move, 0.0, atol=1e-9 * np.abs(normals).max(initial=0.0)):
        return np.nan
    move[free] -= inverse @ (bend @ move)[free]
    curved = max(float(move @ bend @ move), 0.0)
    steep = multiplier + np.sqrt(multiplier**2 + 2.0 * curved * loss)
    return float(2.0 * loss / steep) if steep else np.inf
