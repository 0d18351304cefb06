"""Fills the gaps in the columns of a stride, from files and tables, by the same rule as those of recordings."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from jaxgait.motion import MotionWarning, norms
from jaxgait.motion.capture.smoothing import MAX_GAP, described_gaps, fill
from jaxgait.motion.recording import runs
from jaxgait.motion.rounding import rounded_line
from jaxgait.support.checks import warn_user

if TYPE_CHECKING:
    from jaxgait.motion.stride import Stride

ROUNDED = 0.1
"""Deviation from even times, in steps, up to which rounded times are left as they are."""


def without_gaps(stride: Stride) -> Stride:
    """The stride with its short gaps filled as in a recording (see `capture.smoothing.fill`).

    Gaps are NaN values, and rows that are missing between rows at even times. Those of forces are interpolated
    linearly, because splines would overshoot the steps.

    Raises:
        MotionFormatError: for a gap of more than 0.2 s, one at the start or the end, and a signal of which at least
            half is missing.

    Warns:
        MotionWarning: with the signals, times and lengths of the gaps that are filled.

    Examples:
        >>> import dataclasses
        >>> import numpy as np
        >>> from jaxgait.motion.gaps import without_gaps
        >>> from jaxgait.motion.stride import embedded_stride
        >>> gait = embedded_stride("rajagopal_1.26ms")
        >>> knee = gait.signals["knee_rad"].copy()
        >>> knee[40:45] = np.nan
        >>> filled = without_gaps(dataclasses.replace(gait, signals=gait.signals | {"knee_rad": knee}))
        >>> bool(np.abs(filled.signals["knee_rad"] - gait.signals["knee_rad"]).max() < 0.001)  # rad
        True
    """
    stride = _with_missing_rows(stride)
    size, span = stride.time.size, float(stride.time[-1] - stride.time[0]) if stride.time.size else 0.0
    lost = {k: np.isnan(x) for k, x in stride.signals.items() if x.shape == (size,)}
    gaps = [k for k, there in lost.items() if there.any()]
    if not gaps or not span > 0:
        return stride
    rate, filled = (size - 1) / span, dict(stride.signals)
    # a span that no stride has is in another unit, which the verdict will name
    longest = MAX_GAP * (1.0 if norms.inside(span, norms.PERIOD.possible) else span)
    for k in gaps:
        first = int(np.argmax(lost[k]))
        if 2 * lost[k].sum() >= size:
            what = f"{lost[k].sum()} of {size} values are missing, this is the first"
            raise stride.error(what, "fill them, or leave the column out", k, first)
        if lost[k][0] or lost[k][-1]:
            at, end = (first, "start") if lost[k][0] else (size - 1, "end")
            advice = "fill it, or leave this row out if the stride is whole without it"
            raise stride.error(f"no value at the {end} of the stride", advice, k, at)
        filled[k] = fill(stride.signals[k][:, None], rate, longest).values[:, 0]
        if np.isnan(filled[k]).any():
            a, b = runs(np.isnan(filled[k]))[0]
            what = f"no value for {(b - a) / rate:.3g} s, where gaps of up to {MAX_GAP:g} s are filled"
            raise stride.error(what, "fill it, or take another stride", k, a)
        if k.endswith("_N"):  # a spline would overshoot the steps of a force
            there = ~lost[k]
            filled[k] = np.interp(np.arange(size), np.flatnonzero(there), stride.signals[k][there])
    listed = described_gaps(lost, stride.time, rate)
    warn_user(f"{stride.file or stride.name}: gaps are filled: {listed}", MotionWarning)
    return dataclasses.replace(stride, signals=filled)


def _check_ends(stride: Stride, timed: np.ndarray) -> None:
    """Checks that rows before the first time and after the last one are empty."""
    if stride.time.size and not timed.any():
        raise stride.error("no times", "give the time of every row in s", "time_s", 0)
    within = np.logical_or.accumulate(timed) & np.logical_or.accumulate(timed[::-1])[::-1]
    columns = [x for x in stride.signals.values() if x.shape == timed.shape]
    for i in np.flatnonzero(~within):
        if any(not np.isnan(x[i]) for x in columns):
            end = "start" if i < np.argmax(timed) else "end"
            advice = "give it, or leave this row out if the stride is whole without it"
            raise stride.error(f"no time at the {end} of the stride", advice, "time_s", int(i))


def _with_missing_rows(stride: Stride) -> Stride:
    """The stride with rows of NaN where rows between others at even times are missing, or lack their time.

    Times that are even except for rounding are made even.
    """
    timed = ~np.isnan(stride.time)
    _check_ends(stride, timed)
    time = stride.time[timed]
    if time.size > 2 and np.isfinite(stride.time).all() and (line := rounded_line(time)) is not None:
        even = line[0] + line[1] * np.arange(time.size)
        if np.max(np.abs(time - even)) > ROUNDED * line[1]:
            return dataclasses.replace(stride, time=even)
    steps = np.diff(time)
    usual = float(np.median(steps)) if steps.size else 0.0
    ratio = steps / usual if usual > 0 else np.ones(steps.size)
    whole = np.round(ratio)
    if not (np.all(whole > 0) and np.all(np.abs(ratio - whole) < 0.25) and whole.sum() < 2 * time.size):
        whole = np.ones(steps.size)  # `close` interpolates uneven times, or raises
    row = np.append(0, np.cumsum(whole)).astype(int)
    if timed.all() and row[-1] == time.size - 1:
        return stride
    every = np.arange(row[-1] + 1)

    def with_gaps(x: np.ndarray) -> np.ndarray:
        found = np.full(every.size, np.nan)
        found[row] = x[timed]
        return found

    own = stride.lines
    lines = None if own is None else own[timed][np.searchsorted(row, every)]  # of the row that follows a gap
    signals = {k: with_gaps(x) if x.shape == stride.time.shape else x for k, x in stride.signals.items()}
    return dataclasses.replace(stride, time=np.interp(every, row, time), signals=signals, lines=lines)
