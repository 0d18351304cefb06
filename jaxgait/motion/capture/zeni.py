"""Heel strikes and toe-offs by the motion of the foot alone (Zeni et al. 2008, Gait Posture 27:710-714)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion import norms

NO_STRIDE = 0.5 * norms.PERIOD.possible[0]
"""Time in s between two heel strikes of one foot below which they are one event: half the shortest possible stride.

Shorter strides are found and dropped as too short; otherwise two would be taken for one stride.
"""
NEAR_END = 0.04
"""Time in s from either end of the record within which a maximum may be only part of a longer rise or fall."""
SAME_EVENT = 0.15
"""Largest time in s between two estimates of the same event."""


class MotionEvents(NamedTuple):
    """Times in s of a foot's events by its motion."""

    strikes: Float[np.ndarray, " strikes"]
    offs: Float[np.ndarray, " offs"]


def motion_events(
    heel: Float[np.ndarray, " frames"],
    toe: Float[np.ndarray, " frames"],
    time: Float[np.ndarray, " frames"],
    rate: float,
) -> MotionEvents:
    """The events of a foot, which is farthest forward of the hip at heel strike and farthest behind it at toe-off.

    Args:
        heel: its position forward of the hip in m, NaN in gaps.
        toe: that of the toe.
        time: of the frames in s.
        rate: of the frames in Hz.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.zeni import motion_events
        >>> time = np.arange(300) / 100.0
        >>> swing = 0.4 * np.cos(2 * np.pi * (time - 0.5) / 1.1)  # m, farthest forward at 0.5 s and every 1.1 s
        >>> found = motion_events(swing, swing + 0.2, time, 100.0)
        >>> print(found.strikes.round(2), found.offs.round(2))  # s
        [0.5 1.6 2.7] [1.05 2.15]
    """
    return MotionEvents(*(time[0] + _peaks(signal, rate) / rate for signal in (heel, -toe)))


def _peaks(signal: np.ndarray, rate: float) -> np.ndarray:
    """The frames of the maxima, refined to fractions of a frame by parabolas."""
    from scipy.signal import find_peaks, peak_prominences  # (see `jaxgait.motion.capture.smoothing`)

    there = np.isfinite(signal)
    if there.sum() < 5:
        return np.zeros(0)
    first, last = np.flatnonzero(there)[[0, -1]]
    frames = np.arange(signal.size)
    whole = np.interp(frames, frames[there], signal[there])
    high = max(0.3 * float(np.percentile(whole, 99) - np.percentile(whole, 1)), 1e-9)
    found, _ = find_peaks(whole, distance=max(1, int(NO_STRIDE * rate)))
    found = found[np.minimum(found - first, last - found) >= max(1.0, NEAR_END * rate)]
    # beyond its ends the signal is taken to be low: a maximum shortly before an end need not fall far within the record
    low = np.pad(whole[first : last + 1], 1, constant_values=whole.min())
    found = found[peak_prominences(low, found - first + 1)[0] >= high]
    found = np.array([i for i in found if there[i - 1 : i + 2].all()], int)
    before, at, after = whole[found - 1], whole[found], whole[found + 1]
    bend = before - 2 * at + after
    shift = np.where(np.abs(bend) > 1e-15, 0.5 * (before - after) / np.where(bend == 0, 1.0, bend), 0.0)
    return found + np.clip(shift, -0.5, 0.5)
