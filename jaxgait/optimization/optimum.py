"""The result of a search and its robustness: multipliers, curvature along and across the ridge, tolerances."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import xarray as xr
from jaxtyping import Bool, Float
from scipy.optimize import nnls

from jaxgait import files
from jaxgait.model import Model
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.space import Space

TOLERATED_LOSS = 1e-3
"""Loss, relative to the objective, for which the tolerances around an optimum are computed."""
HESSIAN_STEP = 0.02
"""Step of the differences of slopes for the Hessian, as a fraction of the box."""
ACTIVE_SLACK = 1e-5
"""A limit with less slack than this, relative to its value, can be active at an optimum."""
FIXED_WITHIN = 1e-9
"""A parameter that moves by less than this along the active limits is fixed by them."""


@dataclass(frozen=True)
class Local:
    """The objective around the best point, from differences of exact slopes.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> multipliers = found.local.multipliers
        >>> print({name: round(gain) for name, gain in multipliers.items()})  # N per m of clearance given up
        {'clearance >= 0': 12}
    """

    slope: float
    """Norm of the slope not balanced by bounds and limits, in units of the objective per box."""
    active: tuple[str, ...]
    """Bounds and limits on which the optimum lies."""
    multipliers: dict[str, float]
    """Gain of the objective per unit by which each of them is relaxed."""
    hessian: xr.DataArray
    """Second derivatives of the objective (with limits: of the Lagrangian) in the parameters' units."""
    curvature: Float[np.ndarray, " n"]
    """Its eigenvalues in the unit box, the flattest direction (the ridge) first."""
    directions: Float[np.ndarray, "n n"]
    """Their directions in the unit box, as rows."""
    loss: float
    """Loss of the objective for which the tolerances are computed, in its unit; zero if the objective is zero."""
    room: dict[str, tuple[float, float]]
    """By how much each parameter alone may fall and rise for that loss, in its unit, within box and limits (linear)."""
    ridge: dict[str, float]
    """By how much it may move for that loss along the active limits if all other free parameters follow; may be inf."""
    difference: float
    """Largest deviation of slopes from differences of values around the optimum, relative to the slopes there."""


@dataclass(frozen=True, repr=False)
class Optimum:
    """The result of a search.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> print(round(found.objective), found.local.active, found.moved)  # N, the active limit; one stage only
        1316 ('clearance >= 0',) {}
        >>> found.to_json("best.json")
        >>> sorted(found.as_dict())[:3]
        ['basins', 'best', 'ends']
    """

    model: Model
    """The model with the best parameters."""
    start: dict[str, list[float]]
    """The starting points, by parameter."""
    best: dict[str, float]
    objective: float
    """The objective at the best point."""
    why_stopped: list[str]
    """Why each start stopped, one sentence each."""
    history: xr.Dataset
    """Parameters, objective, limits, slopes and status over (`start`, `iteration`); ended starts repeat their end."""
    method: str = ""
    gradient: str = ""
    """Which gradient was used."""
    ends: xr.Dataset = field(default_factory=xr.Dataset)
    """Over `start`: where each ended, in which basin, and its number of evaluations."""
    basins: xr.Dataset = field(default_factory=xr.Dataset)
    """Over `basin`: the best end of the starts that ended at the same point, and their number; the best basin first."""
    limits: dict[str, float] = field(default_factory=dict)
    """Slack of each limit at the best point, in its unit."""
    local: Local | None = None
    """The surroundings of the best point; None for a worst case (which has kinks), and without slopes there."""
    scenarios: xr.Dataset | None = None
    """Objective, limited measures and weight of each scenario at the best point; None without scenarios."""
    stages: xr.Dataset | None = None
    """With `continue_in`: over `stage`, its values, the optimum, the objective and the number of evaluations."""

    def __repr__(self) -> str:
        best = ", ".join(f"{n} = {x:g}" for n, x in self.best.items())
        ends = "".join(f"\n  start {i}: {why}" for i, why in enumerate(self.why_stopped))
        return f"<Optimum of {type(self.model).__name__}: objective {self.objective:g} at {best}{ends}>"

    @property
    def moved(self) -> dict[str, float]:
        """Changes of parameters and objective from the first stage's optimum to the last one's, in their units."""
        if self.stages is None:
            return {}
        names = (*self.best, "objective")
        return {name: float(self.stages[name][-1] - self.stages[name][0]) for name in names}

    def to_json(self, path: pathlib.Path | str) -> None:
        """Writes the result of `as_dict` to a file."""
        files.text(path, files.as_json(self.as_dict()))

    def as_dict(self) -> dict[str, Any]:
        """Start, best, objective, history, why_stopped and all other results, for JSON."""
        names = ("start", "best", "objective", "why_stopped", "method", "gradient", "limits")
        record = {name: getattr(self, name) for name in names}
        columns = lambda data: {name: column.values for name, column in data.data_vars.items()}
        record |= {name: columns(getattr(self, name)) for name in ("history", "ends", "basins")}
        if self.stages is not None:
            record["stages"] = columns(self.stages)
        local = self.local and vars(self.local) | {"hessian": self.local.hessian.values}
        each = None
        if self.scenarios is not None:
            each = {"scenario": self.scenarios.scenario, **self.scenarios.data_vars}
            each = {name: column.values.ravel() for name, column in each.items()}
        return files.plain(record | {"local": local, "scenarios": each})


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
        unit by which a bound or a limit is relaxed, by "name = value" or the text of the limit; of arrays only the
        active elements.
    """
    pushing, normals = sign * slopes[0], active_normals(space, goal, x, values, slopes)
    if not normals.names:
        return float(np.linalg.norm(pushing)), {}
    forces, left = nnls(normals.slopes.T, -pushing)
    multipliers = zip(normals.names, (forces / normals.widths).tolist(), normals.elements, strict=True)
    return float(left), {name: force for name, force, element in multipliers if force > 0.0 or not element}


class Normals(NamedTuple):
    """Bounds and limits on which a point lies."""

    names: list[str]
    slopes: Float[np.ndarray, "active n"]
    """Derivatives of their slacks by the unit box, in the units of measures."""
    widths: Float[np.ndarray, " active"]
    """Widths of the box in the units of the parameters for bounds, one for limits."""
    elements: Bool[np.ndarray, " active"]
    """Which of them are elements of an array."""
    scales: Float[np.ndarray, " active"]
    """Scales of the slacks of limits in the units of measures, one for bounds."""


def active_normals(
    space: Space, goal: Goal, x: np.ndarray, values: np.ndarray, slopes: np.ndarray, near: float = ACTIVE_SLACK
) -> Normals:
    """Bounds and limits that can be active at a point; arguments as in `balance`, with their shapes and units.

    A limit can be active if its slack, relative to its value, is less than `near` (no dimension).
    """
    scales = np.array([one.scale for one in goal.bounds])
    binding = goal.slack(values) < near if goal.limits else np.zeros(0, bool)
    normals = goal.slack_slopes(slopes)[binding] * scales[binding, None] if goal.limits else np.zeros((0, len(x)))
    low, high = np.eye(len(x))[x <= 0.0], -np.eye(len(x))[x >= 1.0]
    active = [one for one, binds in zip(goal.bounds, binding, strict=True) if binds]
    names = [*map(str, active), *space.walls(x)]
    widths = np.concatenate([np.ones(len(active)), space.width[x <= 0.0], space.width[x >= 1.0]])
    elements = np.zeros(len(names), bool)
    elements[: len(active)] = [one.element is not None for one in active]
    scales = np.concatenate([scales[binding], np.ones(len(low) + len(high))])
    return Normals(names, np.concatenate([normals, low, high]), widths, elements, scales)


def around(
    evaluate: Evaluator, space: Space, goal: Goal, sign: float, search: int, x: np.ndarray, evaluation: Evaluated
) -> Local | None:
    """The objective around a point, from slopes at two points along each parameter (one batch).

    Args:
        evaluate: evaluates the slopes.
        space: the box.
        goal: objective and limits.
        sign: 1 to maximise, -1 to minimise.
        search: the search that found the point.
        x: the point in the unit box, (n,).
        evaluation: the evaluation at the point.

    Returns:
        None if a run around the point failed.
    """
    n = len(x)
    points = np.clip(x + HESSIAN_STEP * np.concatenate([-np.eye(n), np.eye(n)]), 0.0, 1.0)
    sides = evaluate(np.full(2 * n, search), points)
    if not sides.valid.all():
        return None
    slope, multipliers = balance(space, goal, sign, x, evaluation.values[0], evaluation.slopes[0])
    forces = np.array([multipliers.get(str(one), 0.0) * one.sign for one in goal.bounds])
    weights = np.concatenate([[1.0], sign * forces])
    lagrangian = np.einsum("v,bvn->bn", weights, sides.slopes[:, : len(weights)])
    apart = np.diagonal(points[n:] - points[:n])
    hessian = (lagrangian[n:] - lagrangian[:n]) / apart[:, None]
    hessian = 0.5 * (hessian + hessian.T)
    differences = (sides.values[n:, 0] - sides.values[:n, 0]) / apart
    # The mean slope by Simpson's rule, except next to a wall of the box, where x is an end of the interval.
    ends, centred = (
        np.diagonal(sides.slopes[n:, 0] + sides.slopes[:n, 0]),
        (x >= HESSIAN_STEP) & (x <= 1.0 - HESSIAN_STEP),
    )
    means = np.where(centred, (ends + 4.0 * evaluation.slopes[0, 0]) / 6.0, 0.5 * ends)
    size = np.linalg.norm([sides.slopes[:, 0].max(), sides.slopes[:, 0].min()]) or 1.0
    curvature, directions = np.linalg.eigh(hessian)
    order, loss = np.argsort(np.abs(curvature)), TOLERATED_LOSS * abs(float(evaluation.values[0, 0]))
    named = {"parameter": space.names, "by": space.names}
    physical = hessian / np.outer(space.width, space.width)
    free = (x > 0.0) & (x < 1.0)
    return Local(
        slope,
        tuple(name for name, force in multipliers.items() if force > 0.0),
        multipliers,
        xr.DataArray(physical, named, ("parameter", "by")),
        curvature[order],
        directions.T[order],
        loss,
        _rooms(space, goal, sign, x, evaluation, hessian, loss),
        _along_ridge(space, -sign * hessian, free, goal.slack_slopes(evaluation.slopes[0])[forces != 0.0], loss),
        float(np.abs(differences - means).max() / size),
    )


def _rooms(
    space: Space, goal: Goal, sign: float, x: np.ndarray, evaluation: Evaluated, hessian: np.ndarray, loss: float
) -> dict[str, tuple[float, float]]:
    """For each parameter alone, the distances down and up to a loss of `loss`, a wall of the box, or a limit.

    The objective is a parabola, the limits are linear.
    """
    rooms = {}
    slack, tightens = goal.slack(evaluation.values[0]).clip(min=0.0), -goal.slack_slopes(evaluation.slopes[0])
    for i, name in enumerate(space.names):
        falls, bend = -sign * evaluation.slopes[0, 0, i], max(-sign * hessian[i, i], 0.0)
        reaches = []
        for sense, wall in ((-1.0, x[i]), (1.0, 1.0 - x[i])):
            rate = max(sense * falls, 0.0)  # at a bound the slope points outwards; elsewhere it is noise
            steep = rate + np.sqrt(rate**2 + 2.0 * bend * loss)  # zero on a parabola too if no loss is tolerated
            reach = 2.0 * loss / steep if steep else 0.0 if bend else np.inf
            nearer = sense * tightens[:, i] > 0.0
            limits = slack[nearer] / np.abs(tightens[nearer, i])
            reaches.append(float(min(reach, wall, *limits) * space.width[i]))
        rooms[name] = (reaches[0], reaches[1])
    return rooms


def _along_ridge(
    space: Space, bend: np.ndarray, free: np.ndarray, normals: np.ndarray, loss: float
) -> dict[str, float]:
    """By how much each free parameter may move along the active limits, of slopes `normals`, if the others follow."""
    ridge = dict.fromkeys(space.names, 0.0)
    along = scipy.linalg.null_space(normals[:, free]) if len(normals) and free.any() else np.eye(free.sum())
    inside = along.T @ bend[np.ix_(free, free)] @ along
    if not inside.size:
        return ridge
    if np.linalg.eigvalsh(inside).min() > 0.0:
        spread = np.sqrt(2.0 * loss * np.einsum("ij,ij->i", along, np.linalg.solve(inside, along.T).T))
    else:
        spread = np.where(np.abs(along).max(axis=1) > FIXED_WITHIN, np.inf, 0.0)
    return ridge | dict(zip(np.array(space.names)[free].tolist(), (spread * space.width[free]).tolist(), strict=True))
