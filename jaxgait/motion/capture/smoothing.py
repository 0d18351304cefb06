"""Gaps and noise: short gaps filled by splines, then a zero-lag low-pass filter.

SciPy is imported where it is used: it is slow to import, and only recordings need it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jaxgait.motion.recording import runs
from jaxgait.support.checks import first_few

DEFAULT_CUTOFF = 8.0
"""Cut-off frequency in Hz of the low-pass filter, usual for walking (Winter 2009, chapter 3)."""
PASSES = (math.sqrt(2.0) - 1.0) ** 0.25
"""Cut-off of two passes of a second-order Butterworth filter over that of one pass, 0.802."""
HIGHEST_CUTOFF = 0.48
"""Cut-off over frame rate from which nothing is left to filter: the limit is 0.5."""
LOWEST_CUTOFF = 4.0
"""Cut-off frequency in Hz below which a low-pass filter removes part of the gait."""
LEAST_RATE = 18.0
"""Frames per second below which angles between the frames are uncertain: the knee by 2 deg at 15 Hz, by 6 at 10 Hz."""
MAX_GAP = 0.2
"""Longest gap in s that is filled."""
BLOCK = 0.01
"""Time in s over which the frames next to a gap are averaged: more frames average out more noise."""
SUPPORT = 10
"""Blocks on each side of a gap through which its spline goes: 0.1 s, or as many frames at less than 100 Hz."""

REACH = 80
"""Frames on each side of the wanted times through which a spline goes.

Farther ones do not matter: a frame's effect on a spline falls by a factor of 3.7 (cubic) or 2.3 (quintic) per frame.
"""


class Filled(NamedTuple):
    """A trajectory without its short gaps."""

    values: Float[np.ndarray, "frames axes"]
    filled: int
    """Frames that were filled."""
    left: int
    """Frames in gaps that are too long, between the first and the last position."""


def fill(values: Float[np.ndarray, "frames axes"], rate: float, max_gap: float = MAX_GAP) -> Filled:
    """Fills gaps of up to `max_gap` s between recorded frames, but not at the ends, in their own unit.

    A cubic spline goes through means over blocks of about 10 ms on both sides. It is therefore no more sensitive to
    noise at higher rates, and does not smooth the motion, as a polynomial through the whole neighbourhood would.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.smoothing import fill
        >>> track = np.linspace(0.0, 1.0, 11)[:, None]  # m, at 100 Hz
        >>> track[4:6] = np.nan  # a gap of 20 ms
        >>> found = fill(track, rate=100.0)
        >>> print(found.values[4:6, 0].round(6), found.filled, found.left)
        [0.4 0.5] 2 0
    """
    there = np.asarray(np.isfinite(values).all(axis=1))
    gaps = [(a, b) for a, b in runs(~there) if a > 0 and b < there.size]
    short = [(a, b) for a, b in gaps if (b - a) <= max_gap * rate + 1e-9]
    result = np.where(there[:, None], values, np.nan)
    for a, b in short:
        result[a:b] = _across(values, there, a, b, rate)
    filled = sum(b - a for a, b in short)
    return Filled(result, filled, sum(b - a for a, b in gaps) - filled)


def described_gaps(
    lost: Mapping[str, Bool[np.ndarray, " frames"]], time: Float[np.ndarray, " frames"], rate: float
) -> str:
    """The first gaps by name, length and start; `lost` marks the frames in gaps, at times in s, with a rate in Hz.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.smoothing import described_gaps
        >>> described_gaps({"knee": np.array([False, True, True, False])}, np.arange(4) / 100.0, rate=100.0)
        'knee 0.02 s from 0.01 s'
    """
    found: dict[tuple[int, int], list[str]] = {}
    for name, frames in lost.items():
        for gap in runs(frames):
            found.setdefault(gap, []).append(name)
    every = lambda names: "all columns" if len(names) == len(lost) > 1 else ", ".join(names)
    return first_few([f"{every(found[a, b])} {(b - a) / rate:.3g} s from {time[a]:.4g} s" for a, b in sorted(found)], 4)


def long_gap_warnings(
    lost: Mapping[str, Bool[np.ndarray, " frames"]], time: Float[np.ndarray, " frames"], rate: float
) -> list[str]:
    """A warning about filled gaps above `MAX_GAP`; `lost` marks the frames in gaps, at times in s, with a rate in Hz.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.smoothing import long_gap_warnings
        >>> lost = {"knee": np.arange(100) < 40}  # 0.4 s
        >>> print(long_gap_warnings(lost, np.arange(100) / 100.0, rate=100.0)[0][:63])
        gaps of more than 0.2 s are filled, as requested (knee 0.4 s fr
    """
    long = {name: np.zeros(time.size, bool) for name in lost}
    for name, frames in lost.items():
        for a, b in runs(frames):
            long[name][a:b] = b - a > MAX_GAP * rate + 1e-9
    what = f"gaps of more than {MAX_GAP:g} s are filled, as requested ({described_gaps(long, time, rate)})"
    advice = "in swing, a knee that is missing for 0.5 s may be wrong by 20 degrees"
    return [f"{what}: {advice}"] if any(x.any() for x in long.values()) else []


def _across(values: np.ndarray, there: np.ndarray, a: int, b: int, rate: float) -> np.ndarray:
    """Values in the gap of frames a to b, from those that are `there` on both sides."""
    from scipy.interpolate import CubicSpline

    width = max(1, round(BLOCK * rate))
    near = np.arange(max(0, a - SUPPORT * width), min(there.size, b + SUPPORT * width))
    known = near[there[near]]
    block = np.where(known < a, (known - a) // width, (known - b) // width)  # counted from the gap: -1 and 0 adjoin it
    _, block, frames = np.unique(block, return_inverse=True, return_counts=True)
    mean = lambda x: np.bincount(block, x) / frames
    means = np.stack([mean(x) for x in values[known].T], axis=1)
    return CubicSpline(mean(known), means)(np.arange(a, b))


def filters(rate: float, cutoff: float | None) -> bool:
    """Whether a low-pass filter is possible at a rate and a cut-off in Hz (None: no filter).

    Examples:
        >>> from jaxgait.motion.capture.smoothing import filters
        >>> print(filters(100.0, 8.0), filters(15.0, 8.0), filters(100.0, None))
        True False False
    """
    return cutoff is not None and cutoff < HIGHEST_CUTOFF * rate


def describe_lowpass(rate: float, cutoff: float | None) -> str:
    """The low-pass filter in words; frame rate and cut-off in Hz.

    Examples:
        >>> from jaxgait.motion.capture.smoothing import describe_lowpass
        >>> describe_lowpass(15.0, 8.0)
        'no low-pass: a cut-off of 8 Hz is too high for 15 frames per second'
    """
    if cutoff is None:
        return "no low-pass"
    if not filters(rate, cutoff):
        return f"no low-pass: a cut-off of {cutoff:g} Hz is too high for {rate:g} frames per second"
    return f"zero-lag Butterworth low-pass of fourth order, {cutoff:g} Hz"


def rate_warnings(rate: float, cutoff: float | None) -> list[str]:
    """Warnings about too few frames, and a low-pass that removes part of the gait; frame rate and cut-off in Hz.

    Examples:
        >>> from jaxgait.motion.capture.smoothing import rate_warnings
        >>> print(rate_warnings(100.0, 0.5), rate_warnings(100.0, 8.0))
        ['a low-pass of 0.5 Hz removes part of the gait: 6 to 10 Hz are usual'] []
    """
    few = f"{rate:g} frames per second are few for a walk: angles may be wrong by some degrees, and events by 20 ms"
    found = [few] if rate < LEAST_RATE else []
    if cutoff is None or not filters(rate, cutoff) or cutoff >= LOWEST_CUTOFF:
        return found
    return [*found, f"a low-pass of {cutoff:g} Hz removes part of the gait: 6 to 10 Hz are usual"]


def lowpass(values: Float[np.ndarray, "frames axes"], rate: float, cutoff: float | None = DEFAULT_CUTOFF):
    """Zero-lag Butterworth of fourth order (second order, forward and backward), every stretch between gaps separately.

    Each pass has a higher cut-off, so that both together have the given one: their gain there is 1/sqrt(2) at any frame
    rate, because the correction is that of the analog filter, before the bilinear transform (Winter 2009, eq. 3.9;
    Robertson and Dowling 2003, J. Electromyogr. Kinesiol. 13:569).

    Args:
        values: positions; gaps are NaN and remain.
        rate: in Hz.
        cutoff: in Hz; None leaves the values as they are.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.smoothing import lowpass
        >>> t = np.arange(0.0, 2.0, 0.01)
        >>> noise = np.sin(2 * np.pi * 40.0 * t)  # 40 Hz, over a stride of 1 Hz
        >>> left = lowpass((np.sin(2 * np.pi * t) + noise)[:, None], rate=100.0)[:, 0] - np.sin(2 * np.pi * t)
        >>> bool(np.abs(left[50:150]).max() < 0.001)
        True
    """
    from scipy.signal import butter, filtfilt

    if cutoff is None or not filters(rate, cutoff):
        return values
    each = math.atan(math.tan(math.pi * cutoff / rate) / PASSES) / math.pi
    b, a = butter(2, each * rate, fs=rate, output="ba")  # type: ignore[misc]
    result, pad = np.array(values, dtype=float), int(rate // 4)
    for start, end in runs(np.asarray(np.isfinite(values).all(axis=1))):
        if end - start > 12:
            result[start:end] = filtfilt(b, a, values[start:end], axis=0, padlen=min(max(pad, 9), end - start - 1))
    return result


def sampled_at(
    clock: Float[np.ndarray, " frames"],
    track: Float[np.ndarray, "frames axes"],
    time: Float[np.ndarray, " samples"],
    *,
    degree: int = 3,
    derivative: int = 0,
) -> Float[np.ndarray, "samples axes"]:
    """A track, or a time derivative of it, at given times, by splines between gaps; NaN where it is not known.

    Args:
        clock: times of the frames in s.
        track: positions or angles at the frames, NaN in gaps.
        time: in s.
        degree: of the splines; 5 gives accelerations that are smooth.
        derivative: its order; the result is in the unit of the track per s to this power.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.smoothing import sampled_at
        >>> clock = np.linspace(0.0, 1.0, 11)
        >>> fall = -5.0 * clock[:, None] ** 2  # m, at g = 10 m/s^2
        >>> print(sampled_at(clock, fall, np.array([0.25, 0.75]), derivative=2).round(6).ravel())  # m/s^2
        [-10. -10.]
    """
    from scipy.interpolate import make_interp_spline

    result = np.full((time.size, track.shape[1]), np.nan)
    if not time.size:
        return result
    ends = np.searchsorted(clock, [time.min(), time.max()])
    near = slice(max(0, int(ends[0]) - REACH), int(ends[1]) + REACH)  # a fit through an hour for every stride is slow
    clock, track = clock[near], track[near]
    for a, b in runs(np.asarray(np.isfinite(track).all(axis=1))):
        inside_run = (time >= clock[a] - 1e-9) & (time <= clock[b - 1] + 1e-9)
        if b - a > degree and inside_run.any():
            spline = make_interp_spline(clock[a:b], track[a:b], k=degree)
            result[inside_run] = spline(time[inside_run], nu=derivative)
    return result
