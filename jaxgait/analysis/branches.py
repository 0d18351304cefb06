"""Predictor and corrector for branches of solutions, one or many in parallel.

A branch is a curve on which ``f(x) = 0``, with one equation less than unknowns. The predictor steps along the tangent;
the corrector solves by Newton's method (`jaxgait.roots.many`) for the point of the branch in the plane through the
prediction with a chosen normal: the tangent if the branch may turn back (pseudo-arclength), or the axis of the last
unknown, the parameter, for points at prescribed values of it. If no point is found, the step is halved.

Reference: Kuznetsov, Elements of Applied Bifurcation Theory, chapter 10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from jaxgait.roots import Rule, many, solved

__all__ = ["Corrector", "Points", "System", "Walk", "advanced", "corrected", "parameter_axis", "tangents", "walk"]

System: TypeAlias = Callable[[Int[np.ndarray, " b"], Float[np.ndarray, "b n"]], tuple[np.ndarray, np.ndarray]]
"""Residuals (b, n - 1) and exact Jacobians (b, n - 1, n) of branches, by their numbers, at points (b, n); NaN where
they are not defined."""

STRAIGHT = 0.9
"""Cosine of the angle between successive tangents below which the step is halved."""
GROWTH = 1.4
MIN_STEP = 1e-6
"""Smallest step, as a fraction of the longest one."""


class Points(NamedTuple):
    """One point on each of some branches; NaN where none was found."""

    x: Float[np.ndarray, "b n"]
    linear: Float[np.ndarray, "b m n"]
    """Jacobian of the system."""
    residual: Float[np.ndarray, " b"]
    """Largest component of the system before the last Newton step, even if no point was found."""


def unknown(x: Float[np.ndarray, "b n"]) -> Points:
    """As many points as `x` has, of which none was found."""
    count, n = x.shape
    return Points(np.full_like(x, np.nan), np.full((count, n - 1, n), np.nan), np.full(count, np.nan))


class Corrector(NamedTuple):
    """Settings of the corrector."""

    rule: Rule
    max_evaluations: int


def parameter_axis(x: Float[np.ndarray, "b n"]) -> Float[np.ndarray, "b n"]:
    """The unit vectors of the last unknown."""
    return np.zeros_like(x) + np.eye(x.shape[-1])[-1]


def tangents(linear: Float[np.ndarray, "b m n"], like: Float[np.ndarray, "b n"]) -> Float[np.ndarray, "b n"]:
    """Tangents of branches, of component 1 along `like`."""
    bordered = np.concatenate([linear, like[:, None, :]], axis=1)
    return solved(np, bordered, parameter_axis(like))


def corrected(
    system: System,
    who: Int[np.ndarray, " b"],
    guess: Float[np.ndarray, "b n"],
    normal: Float[np.ndarray, "b n"],
    corrector: Corrector,
) -> Points:
    """The points of some branches (numbered `who` in the system) in the planes through `guess` with given normals."""

    def evaluate(which: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, linear = system(who[which], x)
        ahead = np.sum(normal[which] * (x - guess[which]), axis=1)
        matrix = np.concatenate([linear, normal[which][:, None, :]], axis=1)
        return np.column_stack([value, ahead]), matrix

    found = many(evaluate, guess, corrector.rule, corrector.max_evaluations)
    return Points(found.x, found.jacobian[:, :-1], found.residual)


def advanced(
    system: System,
    who: Int[np.ndarray, " b"],
    x: Float[np.ndarray, "b n"],
    along: Float[np.ndarray, "b n"],
    step: Float[np.ndarray, " b"],
    smallest: Float[np.ndarray, " b"],
    corrector: Corrector,
    *,
    normal: Float[np.ndarray, "b n"] | None = None,
    straight: float = -np.inf,
) -> tuple[Points, Float[np.ndarray, " b"]]:
    """The next point of each branch, and the step to it, halved until one is found.

    Args:
        system: the equations.
        who: the numbers of the branches.
        x: their last points.
        along: tangents there.
        step: length of the step, in units of `along`.
        smallest: length of the smallest step.
        corrector: settings.
        normal: of the planes of the points; by default the tangents.
        straight: cosine of the angle by which the tangent may turn.
    """
    planes, step = along if normal is None else normal, np.array(step, dtype=float)
    found = unknown(x)
    pending = np.arange(len(x))
    while pending.size:
        guess = x[pending] + step[pending, None] * along[pending]
        new = corrected(system, who[pending], guess, planes[pending], corrector)
        missed = ~(np.isfinite(new.x).all(axis=1) & (_cosines(new.linear, along[pending]) >= straight))
        new.x[missed], new.linear[missed] = np.nan, np.nan
        for stored, part in zip(found, new, strict=True):
            stored[pending] = part
        pending = pending[missed]
        step[pending] *= 0.5
        pending = pending[(np.abs(step[pending]) >= smallest[pending]) & (step[pending] != 0.0)]
    return found, step


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
    inside: Callable[[np.ndarray], bool],
    corrector: Corrector,
) -> Walk:
    """Follows branch 0 of a system along its arc, through folds, to at most `max_points` points.

    `along` is the unit tangent at the start, and `step` the first and longest step; the first point (n,) that is not
    `inside` is the last.
    """
    points, why = [Points(*start)], f"{max_points} points were reached"
    ds, who = np.array([step]), np.zeros(1, dtype=int)
    along = along[None]
    while len(points) < max_points and inside(points[-1].x[0]):
        straight = STRAIGHT if len(points) > 1 else -np.inf
        smallest = np.array([MIN_STEP * step])
        new, ds = advanced(system, who, points[-1].x, along, ds, smallest, corrector, straight=straight)
        if not np.isfinite(new.x).all():
            why = "the corrector no longer converges: the gait ceases to exist, or cannot be found"
            break
        points.append(new)
        along = tangents(new.linear, along)
        along, ds = along / np.linalg.norm(along), np.minimum(GROWTH * ds, step)
    else:
        why = why if inside(points[-1].x[0]) else "the branch left the span"
    return Walk(np.concatenate([p.x for p in points]), np.concatenate([p.linear for p in points]), why)
