"""The results of a search as labelled tables: all evaluations, the ends of the starts, and the scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxgait.ensembles.labels import described_value
from jaxgait.optimization.basins import basins, group_ends
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.epigraph import worst_balance
from jaxgait.optimization.evaluate import Evaluated
from jaxgait.optimization.methods import GRADIENT_FREE
from jaxgait.optimization.scenarios import RobustGoal
from jaxgait.optimization.search_record import SearchRecord
from jaxgait.optimization.statuses import meanings
from jaxgait.report import labels
from jaxgait.support import xr
from jaxgait.support.units import ratio


def tabulate_history(record: SearchRecord, ends: Sequence[Row]) -> xr.Dataset:
    """All evaluations of all starts; finished ones repeat their end, with the status -1."""
    longest, space = 1 + max(map(len, record.rows)), record.space
    filled = [rows + [end] * (longest - len(rows)) for rows, end in zip(record.rows, ends, strict=True)]
    grid = lambda get: np.array([[get(row) for row in rows] for rows in filled])
    dims, alive = ("start", "iteration"), np.array([len(rows) for rows in record.rows])[:, None] > np.arange(longest)
    points, values = grid(lambda row: row.x), grid(lambda row: row.evaluation.values)
    slopes = grid(lambda row: row.evaluation.slopes[0]) / space.spacing.slopes(points)
    status = np.where(alive, grid(lambda row: row.evaluation.status), -1)
    label = record.settings.goal.label
    unit = label["units"]
    data: dict[str, Any] = {
        "objective": (dims, values[..., 0], label),
        "status": (dims, status, labels("1", meanings("-1: this start had stopped"))),
    }
    allowed = grid(record.allowed).astype(np.int32)
    data["allowed"] = (dims, allowed, labels("1", "whether it may be the result: completed, stable, within limits"))
    for k, name in enumerate(space.names):
        data[name] = (dims, space.physical(points)[..., k], described_value(record.model, name))
        label = labels(ratio(unit, space.units[k]), f"slope of the objective over {name}")
        data[f"objective_gradient[{name}]"] = (dims, slopes[..., k], label)
    data |= _limited(record, values, dims)
    multiplier = grid(lambda row: row.evaluation.multiplier)
    if np.isfinite(multiplier).any():
        data["multiplier"] = (dims, multiplier, labels("1", "modulus of the largest Floquet multiplier"))
    return xr.Dataset(data)


def _limited(record: SearchRecord, values: np.ndarray, dims: tuple[str, ...]) -> dict[str, Any]:
    """The limited measures as `limit_0`, ..., arrays along `element_0`, ... ."""
    goal, data, at = record.settings.goal, {}, 1
    for k, (one, size) in enumerate(zip(goal.limits, goal.elements, strict=True)):
        label = labels((*goal.units, "")[at] or "1", f"limited: {one}")
        part = values[..., at] if size is None else values[..., at : at + size]
        data[f"limit_{k}"] = (dims if size is None else (*dims, f"element_{k}"), part, label)
        at += 1 if size is None else size
    return data


def tabulate_ends(record: SearchRecord, rows: Sequence[Row]) -> tuple[xr.Dataset, xr.Dataset]:
    """The ends of the starts, over `start`, and their basins."""
    space, dims, settings = record.space, ("start",), record.settings
    x, evaluation = np.array([row.x for row in rows]), Evaluated.stacked([row.evaluation for row in rows])
    objective, allowed = evaluation.values[:, 0], np.array([record.allowed(row) for row in rows])
    basin, bests = group_ends(x, settings.sign * objective, allowed, evaluation.valid)
    data: dict[str, Any] = {}
    for k, name in enumerate(space.names):
        data[name] = (dims, space.physical(x)[:, k], described_value(record.model, name))
    data["objective"] = (dims, objective, settings.goal.label)
    failed = [sum(not row.evaluation.valid for row in own) for own in record.rows]
    unit = settings.goal.label["units"]
    slopes = np.array([record.slope(row) for row in rows])
    data["remaining_slope"] = (dims, slopes, labels(unit, "unbalanced slope over the width of the bounds"))
    numbers = {
        "basin": (basin, "number of the basin (see `basins`) in which it ended, the best first; -1: none"),
        "multiplier": (evaluation.multiplier, "modulus of the largest Floquet multiplier"),
        "evaluations": ([len(own) for own in record.rows], "points that were evaluated"),
        "failed": (failed, "points among them whose run failed"),
    }
    ends = xr.Dataset(data | {n: (dims, np.array(v), labels("1", label)) for n, (v, label) in numbers.items()})
    return ends, basins(ends, bests)


def tabulate_scenarios(record: SearchRecord, row: Row) -> xr.Dataset | None:
    """Objective, limited measures and share of each scenario at a point; None without scenarios."""
    goal, evaluation = record.settings.goal, row.evaluation
    if not isinstance(goal, RobustGoal):
        return None
    shares = goal.scenarios.weights
    if goal.worst and record.method in GRADIENT_FREE:
        shares = np.full(len(shares), np.nan)  # the shares cannot be computed without slopes
    elif goal.worst:
        sign, values, slopes = record.settings.sign, evaluation.values, evaluation.slopes
        shares = worst_balance(record.space, goal, sign, row.x, values, slopes)[2]
    return goal.table(evaluation.values, shares)
