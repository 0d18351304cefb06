"""Predictor and corrector for branches of solutions, one or many in parallel.

A branch is a curve on which ``f(x) = 0``, with one equation less than unknowns. The predictor steps along the tangent;
the corrector solves by Newton's method (`jaxgait.roots.many`) for the point of the branch in the plane through the
prediction with a chosen normal: the tangent if the branch may turn back (pseudo-arclength), or the axis of the last
unknown, the parameter, for points at prescribed values of it. If no point is found, the step is halved.

Reference: Kuznetsov, Elements of Applied Bifurcation Theory, chapter 10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Float, Int

from jaxgait.roots import Bracket, Rule, many, solved

__all__ = [
    "Between",
    "Corrector",
    "Points",
    "Steps",
    "System",
    "Walk",
    "advance",
    "between",
    "correct",
    "parameter_axis",
    "refined",
    "switched",
    "tangents",
    "walk",
]

T = TypeVar("T")

System: TypeAlias = Callable[[Int[np.ndarray, " b"], Float[np.ndarray, "b n"]], tuple[np.ndarray, np.ndarray]]
"""Residuals (b, n - 1) and exact Jacobians (b, n - 1, n) of branches, by their numbers, at points (b, n); NaN where
they are not defined."""

MIN_COSINE = 0.9
"""Cosine of the angle between successive tangents below which the step is halved."""
STEP_GROWTH = 1.4
MIN_STEP = 1e-6
"""Smallest step, as a fraction of the longest one."""
NOISE_FACTOR = 10.0
"""Steps shorter than this multiple of the tolerance are too short to be judged."""
NEGLIGIBLE_MOVE = 0.1
"""Distance of the next point, relative to the size of the last one, up to which it is accepted in any case."""
FLAT_MOVE = 2.5
"""Largest distance of the next point, relative to that predicted by the flatter of both tangents."""
BENT_DEVIATION = 0.25
"""Largest deviation of the next point from the mean of both tangents, relative to the distance predicted by the steeper
one, where the branch becomes steeper."""
EQUAL_WITHIN = 1e-12
"""Largest distance of unknowns, or of fractions of a step, that count as equal."""
CROSSING_MARGIN = 1e-6
"""Distance from a crossing of branches, as a fraction of a step, at which points can still be corrected."""
MAX_SECANTS = 60
"""Largest number of steps of `between`."""
FLAT = 0.01
"""Largest distance of a branch from the straight line between neighbouring points, in any unknown, as a fraction of
what the unknown covers along the branch: lines through more than two points, as drawn, miss it by much less."""
LEAST_RANGE = 1e-4
"""Change of a scaled unknown along a branch up to which it counts as constant."""
SWITCHES = 10
"""Number of halvings of the first step from one branch to another."""
LEFT = "the branch left the span"
LOST = "the corrector no longer converges: the gait ceases to exist, or cannot be found"


class Points(NamedTuple):
    """One point on each of some branches; NaN where none was found."""

    x: Float[np.ndarray, "b n"]
    linear: Float[np.ndarray, "b m n"]
    """Jacobian of the system."""
    residual: Float[np.ndarray, " b"]
    """Largest component of the system before the last Newton step, even if no point was found."""


class Steps(NamedTuple):
    """Steps along some branches."""

    x: Float[np.ndarray, "b n"]
    """Points from which they start."""
    along: Float[np.ndarray, "b n"]
    """Tangents at these points."""
    length: Float[np.ndarray, " b"]
    """Lengths of the steps, in units of `along`."""
    smallest: Float[np.ndarray, " b"]
    """Lengths of the smallest steps to which they may be shortened."""


def unknown(x: Float[np.ndarray, "b n"]) -> Points:
    """As many points as in `x`, none of which was found."""
    count, n = x.shape
    return Points(np.full_like(x, np.nan), np.full((count, n - 1, n), np.nan), np.full(count, np.nan))


class Corrector(NamedTuple):
    """Settings of the corrector."""

    rule: Rule
    max_evaluations: int
    contraction: float = float("inf")
    """Largest ratio of a Newton step to the one before: near a branch they shrink, between branches they do not."""


def parameter_axis(x: Float[np.ndarray, "b n"]) -> Float[np.ndarray, "b n"]:
    """The unit vectors of the last unknown."""
    return np.zeros_like(x) + np.eye(x.shape[-1])[-1]


def tangents(linear: Float[np.ndarray, "b m n"], like: Float[np.ndarray, "b n"]) -> Float[np.ndarray, "b n"]:
    """Tangents of branches, with a component of 1 along `like`."""
    bordered = np.concatenate([linear, like[:, None, :]], axis=1)
    return solved(np, bordered, parameter_axis(like))


def correct(
    system: System,
    branches: Int[np.ndarray, " b"],
    guess: Float[np.ndarray, "b n"],
    normal: Float[np.ndarray, "b n"],
    corrector: Corrector,
) -> Points:
    """The points of some branches, by their numbers in the system, in the planes through `guess` with given normals."""
    last, length = np.array(guess, dtype=float), np.full(len(guess), np.inf)

    def evaluate(which: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, linear = system(branches[which], x)
        ahead = np.sum(normal[which] * (x - guess[which]), axis=1)
        matrix = np.concatenate([linear, normal[which][:, None, :]], axis=1)
        step, before = np.linalg.norm(x - last[which], axis=1), length[which]
        wandering = step > np.maximum(corrector.contraction * before, NOISE_FACTOR * corrector.rule.tolerance)
        last[which], length[which] = x, np.where(step > 0.0, step, before)
        return np.where(wandering[:, None], np.nan, np.column_stack([value, ahead])), matrix

    found = many(evaluate, guess, corrector.rule, corrector.max_evaluations)
    return Points(found.x, found.jacobian[:, :-1], found.residual)


def advance(
    system: System,
    branches: Int[np.ndarray, " b"],
    steps: Steps,
    corrector: Corrector,
    *,
    normal: Float[np.ndarray, "b n"] | None = None,
    straight: float = -np.inf,
) -> tuple[Points, Float[np.ndarray, " b"]]:
    """The next point of each branch, and the step to it, halved until one is found.

    Args:
        system: the equations.
        branches: the numbers of the branches.
        steps: from their last points.
        corrector: settings.
        normal: of the planes of the points; by default the tangents. If it is the axis of the parameter, points too far
            away for the tangents, as on another branch, are rejected.
        straight: cosine of the angle by which the tangent may turn.
    """
    x, along, length, smallest = steps
    planes, step = along if normal is None else normal, np.array(length, dtype=float)
    found = unknown(x)
    pending = np.arange(len(x))
    while pending.size:
        guess = x[pending] + step[pending, None] * along[pending]
        new = correct(system, branches[pending], guess, planes[pending], corrector)
        missed = ~(np.isfinite(new.x).all(axis=1) & (_cosines(new.linear, along[pending]) >= straight))
        if normal is not None:
            slack = NOISE_FACTOR * corrector.rule.tolerance
            missed |= ~_near(new, x[pending], along[pending], step[pending], normal[pending], slack)
        new.x[missed], new.linear[missed] = np.nan, np.nan
        for stored, part in zip(found, new, strict=True):
            stored[pending] = part
        pending = pending[missed]
        step[pending] *= 0.5
        pending = pending[(np.abs(step[pending]) >= smallest[pending]) & (step[pending] != 0.0)]
    return found, step


def _near(
    new: Points, x: np.ndarray, along: np.ndarray, step: np.ndarray, normal: np.ndarray, slack: float
) -> np.ndarray:
    """Whether points at given values of the parameter may be on the branches of their predecessors, not on others.

    The prediction must miss by no more than both tangents allow. Unless the branch moves little, it must move about as
    far as the flatter of its tangents predicts (on a parabola, the shape of a branch near a fold, at most twice as
    far), or as their mean predicts if it becomes steeper, as next to the vertex of a parabola. (A branch with size and
    slope zero at a point, z = p^2 at p = 0, is lost there: it cannot be distinguished from a jump near a fold.)
    """
    length = lambda x: np.linalg.norm(x[:, :-1], axis=1)
    ahead, behind = step[:, None] * along, step[:, None] * tangents(new.linear, normal)
    before, after, moved = length(ahead), length(behind), new.x - x
    little = length(moved) <= np.maximum(NEGLIGIBLE_MOVE * length(x), FLAT_MOVE * np.minimum(before, after) + slack)
    bent = (after > before) & (length(moved - 0.5 * (ahead + behind)) <= BENT_DEVIATION * after)
    return (little | bent) & (length(moved - ahead) <= before + after + slack)


def _cosines(linear: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Cosines of the angles between old and new tangents."""
    turned = tangents(linear, along)
    return np.sum(turned * along, axis=1) / (np.linalg.norm(turned, axis=1) * np.linalg.norm(along, axis=1))


class Walk(NamedTuple):
    """One branch, point after point."""

    x: Float[np.ndarray, "points n"]
    linear: Float[np.ndarray, "points m n"]
    why_stopped: str


def walk(
    system: System,
    start: Points,
    along: Float[np.ndarray, " n"],
    step: float,
    max_points: int,
    limits: tuple[float, float],
    corrector: Corrector,
) -> Walk:
    """Follows branch 0 of a system along its arc, through folds, to at most `max_points` points.

    `along` is the unit tangent at the start, and `step` the first and longest step. No point lies beyond the `limits`
    of the last unknown: a branch that leaves them ends at one of them.
    """
    points, why = [Points(*start)], f"{max_points} points were reached"
    ds, along = step, along[None]
    while len(points) < max_points:
        new, ds, leaves = _next(system, points[-1].x, along, ds, MIN_STEP * step, limits, corrector)
        if not np.isfinite(new.x).all():
            why = LEFT if leaves else LOST
            break
        points.append(new)
        if leaves:
            why = LEFT
            break
        along = tangents(new.linear, along)
        along, ds = along / np.linalg.norm(along), min(STEP_GROWTH * ds, step)
    return Walk(np.concatenate([p.x for p in points]), np.concatenate([p.linear for p in points]), why)


def refined(
    system: System,
    walked: Walk,
    max_points: int,
    corrector: Corrector,
    *,
    origin: tuple[Float[np.ndarray, "1 n"], Float[np.ndarray, "1 n"]] | None = None,
) -> Walk:
    """A walk along branch 0 with points added, up to `max_points`, halfway between any two where it is not `FLAT`.

    How far it bends there follows from the tangents at both. If the walk starts at a crossing with another branch,
    `origin` is that crossing, and the tangent of branch 0 there.
    """
    knots = list(zip(walked.x[:, None], walked.linear[:, None], strict=True))
    if origin is not None:
        knots.insert(0, (origin[0], _across(origin[1])))
    first, room = int(origin is not None), max_points - len(walked.x)
    least = FLAT * np.maximum(np.ptp([x[0] for x, _ in knots], axis=0), LEAST_RANGE)
    i = 0
    while i + 1 < len(knots) and room > 0:
        (left, before), (right, after) = knots[i : i + 2]
        chord = right - left
        bend = 0.125 * np.sum(chord * chord) * (tangents(before, chord) - tangents(after, chord))
        guess, new = 0.5 * (left + right) + bend, unknown(left)
        if (abs(bend) > least).any():  # (not if NaN)
            new = correct(system, np.zeros(1, dtype=int), guess, chord, corrector)
        if np.linalg.norm(new.x - guess) <= np.linalg.norm(bend):
            knots.insert(i + 1, (new.x, new.linear))
            room -= 1
        else:
            i += 1
    x, linear = (np.concatenate(part) for part in zip(*knots[first:], strict=True))
    return Walk(x, linear, walked.why_stopped)


def _across(along: Float[np.ndarray, "1 n"]) -> Float[np.ndarray, "1 m n"]:
    """The Jacobian of linear equations whose branches are parallel to `along`."""
    return np.linalg.svd(along[:, None, :])[2][:, 1:]


def switched(
    system: System,
    x: Float[np.ndarray, "1 n"],
    along: Float[np.ndarray, "1 n"],
    other: Float[np.ndarray, "1 n"],
    step: float,
    limits: tuple[float, float],
    corrector: Corrector,
) -> tuple[Points, str]:
    """The first point of a branch beyond its crossing `x` with another one, or why there is none.

    It lies in a plane along the `other` branch's tangent, which does not cut that branch: one across `along`, the
    tangent of this one, might. No point lies beyond the `limits` of the last unknown.
    """
    along, other = along / np.linalg.norm(along), other / np.linalg.norm(other)
    normal, why = along - np.sum(along * other) * other, LOST
    for _ in range(SWITCHES):
        guess = x + step * along
        new = correct(system, np.zeros(1, dtype=int), guess, normal, corrector)
        if np.linalg.norm(new.x - guess) < step and (_cosines(new.linear, along) >= MIN_COSINE).all():  # (not if NaN)
            if _limit(x, new.x, limits) is None:
                return new, ""
            why = LEFT
        step *= 0.5
    return unknown(x), why


def _next(
    system: System,
    x: Float[np.ndarray, "1 n"],
    along: Float[np.ndarray, "1 n"],
    step: float,
    smallest: float,
    limits: tuple[float, float],
    corrector: Corrector,
) -> tuple[Points, float, bool]:
    """The next point, the step to it, and whether the branch leaves the limits there.

    The limit is tried first where the prediction is beyond it: there the system may not even be defined.
    """
    branch = np.zeros(1, dtype=int)
    while step >= smallest:
        if (end := _limit(x, x + step * along, limits)) is not None:
            if abs(x[0, -1] - end) <= EQUAL_WITHIN:
                return unknown(x), step, True
            new = _at_limit(system, x, step * along, end, corrector)
            if (_cosines(new.linear, along) >= MIN_COSINE).all():  # NaN if there is no point
                return new, step, True
        steps = Steps(x, along, np.array([step]), np.array([smallest]))
        new, (step,) = advance(system, branch, steps, corrector, straight=MIN_COSINE)
        if not np.isfinite(new.x).all():
            break
        if (end := _limit(x, new.x, limits)) is None:
            return new, step, False
        if abs(x[0, -1] - end) <= EQUAL_WITHIN:
            return unknown(x), step, True
        new = _at_limit(system, x, new.x - x, end, corrector)
        if np.isfinite(new.x).all():
            return new, step, True
        step *= 0.5
    return unknown(x), step, False


def _limit(x: np.ndarray, new: np.ndarray, limits: tuple[float, float]) -> float | None:
    """The limit of the last unknown that lies between two points, None if there is none."""
    low, high = limits
    after = float(new[0, -1])
    return low if after < low - EQUAL_WITHIN else high if after > high + EQUAL_WITHIN else None


def _at_limit(system: System, x: np.ndarray, toward: np.ndarray, end: float, corrector: Corrector) -> Points:
    """The point whose last unknown is at a limit, near the straight line to it."""
    step = (end - x[0, -1]) / toward[0, -1] * toward
    new = correct(system, np.zeros(1, dtype=int), x + step, parameter_axis(x), corrector)
    near = np.linalg.norm(new.x - x - step) <= np.linalg.norm(step)
    return new if near else unknown(x)


class Between(Generic[T]):
    """What lies at the two ends of a piece of a branch on which a test function changes sign, and near the zero.

    Places on the piece are tried by secants confined to it, with halvings in between, which locate a jump, too.

    Args:
        left: place of one end, what lies there, and its value of the test function.
        right: those of the other end.
    """

    def __init__(self, left: tuple[float, T, float], right: tuple[float, T, float]) -> None:
        self._known = {place: (one, value) for place, one, value in (left, right)}
        self._bracket = Bracket(left[0], left[2], right[0], right[2])

    def next(self, count: int) -> float:
        """The place to try after `count` others: the secant's zero, or the middle."""
        middle = 0.5 * (self._bracket.left + self._bracket.right)
        return float(middle if count % 3 == 2 else self._bracket.secant)

    def distance(self, place: float) -> float:
        """The distance of a place from the nearer end."""
        return min(abs(place - end) for end in self._ends)

    def guess(self, place: float, numbers: Callable[[T], np.ndarray]) -> np.ndarray:
        """Numbers of what lies at a place, on the straight line through those at both ends."""
        (a, b), (left, right) = self._ends, (numbers(self._known[end][0]) for end in self._ends)
        return left + (place - a) / (b - a) * (right - left)

    def narrow(self, place: float, found: T, value: float) -> None:
        """Replaces one end by what was found at a place, with its value of the test function."""
        self._known[place] = found, value
        self._bracket = self._bracket.narrowed(place, value)

    @property
    def near_and_far(self) -> tuple[T, T]:
        """What lies at both ends, first where the test function is closer to zero."""
        near, far = sorted((self._known[end] for end in self._ends), key=lambda known: abs(known[1]))
        return near[0], far[0]

    @property
    def _ends(self) -> tuple[float, float]:
        return float(self._bracket.left), float(self._bracket.right)


def between(
    system: System,
    ends: tuple[Points, Points],
    test: Callable[[Points], float],
    corrector: Corrector,
    *,
    singular: bool = False,
) -> Points:
    """The point between two neighbouring ones of branch 0 where a test function changes sign, or one next to a jump.

    If two branches cross there (`singular`), no point can be corrected next to the crossing: it is interpolated between
    points on both sides.
    """
    left, right = ends
    normal = (right.x - left.x) / np.linalg.norm(right.x - left.x)
    search = Between((0.0, left, test(left)), (1.0, right, test(right)))

    def at(s: float) -> Points:
        return correct(system, np.zeros(1, dtype=int), search.guess(s, lambda one: one.x), normal, corrector)

    for count in range(MAX_SECANTS):
        s = search.next(count)
        if search.distance(s) <= (CROSSING_MARGIN if singular else EQUAL_WITHIN):
            break
        if not np.isfinite((new := at(s)).x).all():
            break
        search.narrow(s, new, test(new))
    if (
        singular
        and (point := _interpolated(system, at(s - CROSSING_MARGIN), at(s + CROSSING_MARGIN), test)) is not None
    ):
        return point
    return search.near_and_far[0]


def _interpolated(system: System, left: Points, right: Points, test: Callable[[Points], float]) -> Points | None:
    """The zero of a test function on the straight line between two points, None if it does not change sign."""
    before, after = test(left), test(right)
    if not (np.isfinite(before - after) and (before > 0.0) != (after > 0.0)):
        return None
    x = (before * right.x - after * left.x) / (before - after)
    value, linear = system(np.zeros(1, dtype=int), x)
    return Points(x, linear, np.abs(value).max(axis=1))
