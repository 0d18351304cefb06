"""Interrupts lines of runs that jump, such as at heel strikes: they end just before a jump and begin just after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int, Real

EVENT_DRIVEN = "EventDriven"
"""The scheme of runs that may jump."""


class Jumps(NamedTuple):
    """The events of a run, and histories just before and after them; those that do not jump have the same value."""

    time: Float[np.ndarray, " events"]
    """In s."""
    sample: Int[np.ndarray, " events"]
    """Number of the first sample after each."""
    before: dict[str, xr.DataArray]
    """By name, (events,), in the unit of the history."""
    after: dict[str, xr.DataArray]


def jumps(run: xr.Dataset, names: Sequence[str]) -> Jumps:
    """Where histories of a run jump.

    Runs have the states just before and after each event. Outputs, and the histories of members of an ensemble, are
    extrapolated from the two samples on each side; they jump if the extrapolated values differ by more than these
    samples do. Between two events without a sample in between, those that jump are NaN.

    Args:
        run: a result of `simulate`, or one member of an ensemble with trajectories.
        names: of numeric variables over `time`.

    Examples:
        >>> from jaxgait import RollingWalker, simulate
        >>> from jaxgait.plot.jumps import jumps
        >>> found = jumps(simulate(RollingWalker(), duration=1.0, samples=100), ["stance"])
        >>> print(found.time.round(2), found.before["stance"].values.round(2), found.after["stance"].values.round(2))
        [0.4 0.8] [-0.2 -0.2] [0.2 0.2]
    """
    if "event_time" not in run or run["event_time"].dims != ("event",):
        return Jumps(np.zeros(0), np.zeros(0, dtype=int), {}, {})
    time = run["time"].values
    inside, at, sample = _within(time, run["event_time"].values)
    before, after = {}, {}
    for name in names:
        x = run[name]
        if {f"{name}_before", f"{name}_after"} <= set(run.data_vars):
            low, high = (run[f"{name}_{side}"].values[inside] for side in ("before", "after"))
        elif run.attrs.get("scheme") == EVENT_DRIVEN:
            low, high = _extrapolated(time, x.values.astype(float), at, sample)
        else:
            low = high = np.interp(at, time, x.values)
        before[name], after[name] = (xr.DataArray(side, dims="event", attrs=x.attrs) for side in (low, high))
    return Jumps(at, sample, before, after)


def instants(run: xr.Dataset) -> Float[np.ndarray, " events"]:
    """The times in s at which histories of a run may jump.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.jumps import instants
        >>> print(instants(xr.Dataset({"event_time": ("event", [0.4, 0.8])}, attrs={"scheme": "EventDriven"})))
        [0.4 0.8]
    """
    known = run.attrs.get("scheme") == EVENT_DRIVEN and "event_time" in run and run["event_time"].dims == ("event",)
    at = run["event_time"].values if known else np.zeros(0)
    return at[np.isfinite(at)]


def parted(
    time: Real[np.ndarray, " samples"], x: Real[np.ndarray, " samples"], at: Float[np.ndarray, " events"]
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """A line over time, in any unit, interrupted where it jumps at one of the instants `at`; times in s.

    The values just before and after a jump are extrapolated as in `jumps`.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.jumps import parted
        >>> print(parted(np.arange(4.0), np.array([1.0, 2.0, 7.0, 8.0]), np.array([1.5]))[1])
        [1.  2.  2.5 nan 6.5 7.  8. ]
    """
    time, x = time.astype(float), x.astype(float)
    _, at, sample = _within(time, at)
    low, high = _extrapolated(time, x, at, sample)
    jumps = low != high
    rows, gap = np.repeat(sample[jumps], 3), np.full(int(jumps.sum()), np.nan)
    values = np.stack([low[jumps], gap, high[jumps]], axis=-1)
    return np.insert(time, rows, np.repeat(at[jumps], 3)), np.insert(x, rows, values.ravel())


def _within(time: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of the instants between the first and the last sample, these, and the first sample after each."""
    sample = np.searchsorted(time, at + 1e-12 * np.abs(time).max(), side="right")  # a sample at the event is before it
    inside = np.flatnonzero((sample > 0) & (sample < time.size))
    return inside, at[inside], sample[inside]


def _extrapolated(time: np.ndarray, x: np.ndarray, at: np.ndarray, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values just before and after events, from the samples between events; their mean where they hardly differ.

    Between two events without a sample in between, values are unknown: NaN if one of the events is a jump.
    """
    firsts, group = np.unique(sample, return_inverse=True)  # one group between the same samples
    first, last = np.append(0, firsts[:-1])[group], (np.append(firsts[1:], time.size) - 1)[group]
    sides, steps = [], []
    for near, far in (
        (sample - 1, np.minimum(sample - 1, np.maximum(sample - 2, first))),
        (sample, np.maximum(sample, np.minimum(sample + 1, last))),
    ):
        step, apart = x[near] - x[far], np.where(far == near, 1.0, time[near] - time[far])
        sides.append(x[near] + step * (at - time[near]) / apart)
        steps.append(np.abs(step))
    apart = np.abs(sides[1] - sides[0]) > np.maximum(*steps)
    joined = (np.bincount(group, apart, firsts.size) == 0)[group]
    same = np.diff(sample) == 0
    unknown = np.append(same, False), np.append(False, same)  # just after an event, and just before one
    low, high = np.where(unknown[1], np.nan, sides[0]), np.where(unknown[0], np.nan, sides[1])
    mean = np.mean(sides, axis=0)
    return np.where(joined, mean, low), np.where(joined, mean, high)


def split_at_jumps(run: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Histories of a run as lines that are interrupted where one of them jumps.

    Args:
        run: a result of `simulate`, or one member of an ensemble with trajectories.
        names: of numeric variables over `time`, which become floating-point numbers.

    Returns:
        The histories over a longer `time`, in which each of these jumps has three samples more: the values just before
        it, NaN, and those just after it.

    Examples:
        A phase portrait of the stance leg of a walker, whose legs change roles at every heel strike:

        >>> from jaxgait import RollingWalker, simulate
        >>> from jaxgait.models.walker.pictures import phase_portrait
        >>> from jaxgait.plot.jumps import split_at_jumps
        >>> import matplotlib.pyplot as plt
        >>> figure, ax = plt.subplots()
        >>> line = split_at_jumps(simulate(RollingWalker(), duration=1.0, samples=100), ["stance", "stance_rate"])
        >>> phase_portrait(ax, line.stance.values, line.stance_rate.values)
        >>> print(line.sizes["time"])  # 101 samples, two heel strikes
        107
    """
    found = jumps(run, names)
    which = np.flatnonzero(np.any([found.before[n] != found.after[n] for n in found.before], axis=0))
    rows, gap = np.repeat(found.sample[which], 3), np.full(which.size, np.nan)

    def longer(name: str) -> xr.DataArray:
        low, high = (side[name].values[which] if name in side else gap for side in (found.before, found.after))
        values = np.insert(run[name].values.astype(float), rows, np.stack([low, gap, high], axis=-1).ravel())
        return xr.DataArray(values, dims="time", attrs=run[name].attrs)

    times = np.insert(run["time"].values, rows, np.repeat(found.time[which], 3))
    return xr.Dataset({n: longer(n) for n in names}, {"time": ("time", times, run["time"].attrs)})
