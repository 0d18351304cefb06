"""Active bounds and limits, whose slopes balance the objective's at an optimum; points moved back within limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Bool, Float

from jaxgait.optimization.goals import MAX_VIOLATION, Goal
from jaxgait.optimization.space import Space

ACTIVE_SLACK = 1e-5
"""A limit with less slack than this, relative to its value, can be active at an optimum."""
SUM_WEIGHT = 1e3
"""Weight of the condition that the shares of objectives sum to one, relative to slopes of order one."""
NEGLIGIBLE_FORCE = 1e-12
"""Force of a bound or a limit, relative to the slope of the objective, up to which it is a rounding error."""
WALL_MARGIN = 1e-9
"""Distance from a wall of the unit box below which a point counts as on it."""
RESTORING_STEPS = 6
"""Maximum number of Newton steps on limits that are violated at the end."""


def balance(
    space: Space, goal: Goal, sign: float, x: np.ndarray, values: np.ndarray, slopes: np.ndarray
) -> tuple[float, dict[str, float]]:
    """The unbalanced slope at a point, and the multipliers of the bounds and limits that balance the rest.

    Args:
        space: the box.
        goal: the limits.
        sign: 1 to maximise, -1 to minimise.
        x: the point in the unit box, (n,).
        values: objective and limited measures, (1 + bounds,).
        slopes: their derivatives by the unit box, (1 + bounds, n).

    Returns:
        Norm of the unbalanced slope, in units of the objective per box, and the multipliers: gain of the objective per
        unit by which a bound or a limit is relaxed, by "name = value" or the text of the limit; for arrays, only of
        active elements.
    """
    pushing, normals = sign * slopes[0], active_normals(space, goal, x, values, slopes)
    if not normals.names:
        return float(np.linalg.norm(pushing)), {}
    forces, left = scipy.optimize.nnls(normals.slopes.T, -pushing)
    sizes = forces * np.linalg.norm(normals.slopes, axis=1)
    forces[sizes <= NEGLIGIBLE_FORCE * np.linalg.norm(pushing)] = 0.0
    multipliers = zip(normals.names, (forces / normals.widths).tolist(), normals.elements, strict=True)
    return float(left), {name: force for name, force, element in multipliers if force > 0.0 or not element}


def shared_balance(
    pushing: Float[np.ndarray, "objectives n"], normals: Float[np.ndarray, "active n"]
) -> tuple[float, Float[np.ndarray, " objectives"], Float[np.ndarray, " active"]]:
    """The smallest slope, among all means of the objectives, that bounds and limits do not balance.

    Args:
        pushing: slopes of the objectives in the desired directions, in a common unit per box.
        normals: slopes of the slacks of bounds and limits, in any unit.

    Returns:
        Norm of the unbalanced slope, in the unit of the objectives per box; the objectives' shares, which sum to one;
        and the multipliers of bounds and limits.
    """
    size = max(float(np.abs(pushing).max()), 1e-300)
    system = np.concatenate([pushing / size, normals]).T
    closed = np.repeat([SUM_WEIGHT, 0.0], [len(pushing), len(normals)])
    forces, _ = scipy.optimize.nnls(np.vstack([system, closed]), np.append(np.zeros(len(system)), SUM_WEIGHT))
    forces = forces / forces[: len(pushing)].sum()
    left = size * float(np.linalg.norm(system @ forces))
    return left, forces[: len(pushing)], size * forces[len(pushing) :]


class Normals(NamedTuple):
    """Bounds and limits on which a point lies."""

    names: list[str]
    slopes: Float[np.ndarray, "active n"]
    """Derivatives of their slacks by the unit box, in the units of measures."""
    widths: Float[np.ndarray, " active"]
    """For bounds, units of the parameter per box at the point; for limits, one."""
    elements: Bool[np.ndarray, " active"]
    """Which of them are elements of an array."""
    scales: Float[np.ndarray, " active"]
    """Scales of the slacks of limits in the units of measures, one for bounds."""


def active_normals(
    space: Space, goal: Goal, x: np.ndarray, values: np.ndarray, slopes: np.ndarray, near: float = ACTIVE_SLACK
) -> Normals:
    """Bounds and limits that can be active at a point; arguments as in `balance`, with their shapes and units.

    A limit can be active if its slack, relative to its value, is below `near` (no dimension); a bound, if
    `Space.on_walls` puts the point on it.
    """
    x = space.on_walls(x)
    scales = np.array([one.scale for one in goal.bounds])
    binding = goal.slack(values) < near if goal.limits else np.zeros(0, bool)
    normals = goal.slack_slopes(slopes)[binding] * scales[binding, None] if goal.limits else np.zeros((0, len(x)))
    low, high = np.eye(len(x))[x <= 0.0], -np.eye(len(x))[x >= 1.0]
    active = [one for one, binds in zip(goal.bounds, binding, strict=True) if binds]
    names = [*map(str, active), *space.walls(x)]
    steep = space.spacing.slopes(x)
    widths = np.concatenate([np.ones(len(active)), steep[x <= 0.0], steep[x >= 1.0]])
    elements = np.zeros(len(names), bool)
    elements[: len(active)] = [one.element is not None for one in active]
    scales = np.concatenate([scales[binding], np.ones(len(low) + len(high))])
    return Normals(names, np.concatenate([normals, low, high]), widths, elements, scales)


def clip_to_box(x: Float[np.ndarray, "*b n"]) -> Float[np.ndarray, "*b n"]:
    """A point clipped to the unit box (no dimension); coordinates within rounding of a wall are set on it."""
    return np.where(x < WALL_MARGIN, 0.0, np.where(x > 1.0 - WALL_MARGIN, 1.0, x))


def restore_limits(
    slack_at: Callable[[np.ndarray], np.ndarray],
    slopes_at: Callable[[np.ndarray], np.ndarray],
    x: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """The nearest point that meets limits, by Newton's method on violated ones.

    Args:
        slack_at: function that returns the slacks of the limits at a point, of order one (no dimension), (limits,).
        slopes_at: its derivative, (limits, n).
        x: a point of the unit box that nearly meets the limits.
    """
    margin = 0.1 * MAX_VIOLATION
    for _ in range(RESTORING_STEPS):
        slack = slack_at(x)
        exceeded = np.flatnonzero(slack < 0.0)
        if not exceeded.size or slack.min() >= -MAX_VIOLATION:
            break
        slopes = slopes_at(x)[exceeded]
        free = np.ones(len(x), bool)
        for _ in range(len(x)):  # coordinates that would leave the box stay at its wall
            step = np.zeros(len(x))
            step[free] = np.linalg.lstsq(slopes[:, free], margin - slack[exceeded], rcond=None)[0]
            out = free & ((x + step < 0.0) | (x + step > 1.0))
            if not out.any() or out.sum() == free.sum():
                break
            free &= ~out
        x, margin = clip_to_box(x + step), 3.0 * margin
    return x
