"""Members of a scan that are worth looking at: extremes, one of each status, some that fill the box."""

from __future__ import annotations

import numpy as np

from jaxgait.ensembles.labels import MASKED_TEXT, NOT_RUN
from jaxgait.outcome import INVALID_TEXT
from jaxgait.plot.table import Table


def spread(rows: Table, count: int, measure: str | None) -> list[int]:
    """Members worth looking at: extremes of a measure, one of each status, then some spread over the box.

    Returns:
        Distinct numbers of members.
    """
    run = _run(rows)
    chosen = list(dict.fromkeys([*extremes(rows, measure), *one_of_each_status(rows)]))[:count]
    return chosen + _farthest(_unit_box(rows), run, chosen, count - len(chosen)) if len(run) else []


def extremes(rows: Table, measure: str | None) -> list[int]:
    """The completed members with the largest and the smallest value of a measure, if any has one."""
    values = np.full(rows.size, np.nan) if measure is None else rows.columns[measure].values
    values = np.where(rows.completed, values, np.nan)
    return [int(np.nanargmax(values)), int(np.nanargmin(values))] if np.isfinite(values).any() else []


def one_of_each_status(rows: Table) -> list[int]:
    """For each status, the member in the middle of those with it."""
    run, unit, found = _run(rows), _unit_box(rows), []
    for status in np.unique(rows.status[run]):
        group = run[rows.status[run] == status]
        middle = np.median(unit[group], axis=0)
        found.append(int(group[np.argmin(((unit[group] - middle) ** 2).sum(axis=1))]))
    return found


def _run(rows: Table) -> np.ndarray:
    """Numbers of the members that were run."""
    return np.flatnonzero(
        np.array([sentence not in (NOT_RUN, INVALID_TEXT, MASKED_TEXT) for sentence, _ in rows.statuses])[rows.status]
    )


def _unit_box(rows: Table) -> np.ndarray:
    """Members in the unit box of the axes, (members, axes); in the middle of an axis without a value on it."""
    axes = np.stack([c.values for c in rows.of_role("axis")], axis=1)
    low = np.fmin.reduce(axes)
    wide = np.fmax.reduce(axes) - low
    return np.nan_to_num((axes - low) / np.where(wide > 0.0, wide, 1.0), nan=0.5)


def _farthest(unit: np.ndarray, among: np.ndarray, chosen: list[int], count: int) -> list[int]:
    """Successive points, each farthest from all before it (Gonzalez 1985, doi:10.1016/0304-3975(85)90224-5)."""
    points, found = unit[among], []
    distance = np.full(len(among), np.inf)
    for member in chosen:
        distance = np.minimum(distance, ((points - unit[member]) ** 2).sum(axis=1))
    for _ in range(count):
        i = int(np.argmax(distance))
        if not distance[i] > 0.0:
            break
        found.append(int(among[i]))
        distance = np.minimum(distance, ((points - points[i]) ** 2).sum(axis=1))
    return found
