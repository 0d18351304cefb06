"""Even times of frames: rounded times corrected, missing frames as gaps, uneven times resampled, or an error."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxgait.motion import MotionFormatError
from jaxgait.motion.rounding import last_digit, rounded_line
from jaxgait.support.checks import count_of

ROUNDED_STEPS = 0.1
"""Deviation from even times, in steps, that needs no explanation."""
MAX_JITTER = 0.5
"""Deviation of a step from the usual one, as a share of it, up to which uneven times are resampled."""
MAX_MISSING = 0.5
"""Share of the frames that may be missing."""
LOWEST_RATE = 5.0
"""Lowest rate in Hz of a recorded walk: times in ms that are read as s give less."""
RATE_AGREEMENT = 0.02
"""Relative difference up to which a stated rate agrees with that of the times."""


class Clock(NamedTuple):
    """Even times of frames, and how to bring columns onto them.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.clock import Clock
        >>> ticks = Clock(100.0, np.arange(4) / 100.0, frame=np.array([0, 1, 3]), recorded=None)  # no third
        >>> print(ticks.on(np.array([0.1, 0.2, 0.4])))
        [0.1 0.2 nan 0.4]
    """

    rate: float
    """In Hz."""
    time: Float[np.ndarray, " frames"]
    """In s."""
    frame: Int[np.ndarray, " rows"] | None
    """Frame of each row, if frames are missing; None if every frame has a row."""
    recorded: Float[np.ndarray, " rows"] | None
    """The uneven times in s to interpolate from; None if they are even."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def on(self, column: np.ndarray) -> np.ndarray:
        """A column (rows, ...) at the even times (frames, ...), in its own unit; NaN at missing frames."""
        if self.recorded is not None:
            at = self.time if self.frame is None else self.time[self.frame]
            flat = column.reshape(column.shape[0], -1)
            even = np.stack([np.interp(at, self.recorded, x) for x in flat.T], axis=1)
            column = even.reshape(at.size, *column.shape[1:])
        if self.frame is None:
            return column
        by_frame = np.full((self.time.size, *column.shape[1:]), np.nan)
        by_frame[self.frame] = column
        return by_frame


def counted(
    frames: Float[np.ndarray, " rows"] | None, rows: int, rate: float, per: str, notes: list[str]
) -> Float[np.ndarray, " rows"]:
    """Times in s of rows without times, from frame numbers: frame 1 is at 0 s, unless there is a frame 0.

    The rate is in Hz; `per` is its name, for the note.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.clock import counted
        >>> notes = []
        >>> print(counted(np.array([1.0, 2.0, 3.0]), 3, 100.0, "100 Hz", notes), notes)
        [0.   0.01 0.02] ['no times are written: (frame - 1) / 100 Hz is used']
    """
    if frames is None or not np.isfinite(frames).all() or not np.all(np.diff(frames) > 0):
        frames = np.arange(float(rows))
    first = 1 if frames[0] >= 1 else 0
    notes.append(f"no times are written: {'(frame - 1)' if first else 'frame'} / {per} is used")
    return (frames - first) / rate


def clock(
    file: str, time: Float[np.ndarray, " rows"], lines: Int[np.ndarray, " rows"], stated: float | None = None
) -> Clock:
    """The clock of a column of times.

    Args:
        file: its name, for errors.
        time: times in s as they are written, perhaps rounded.
        lines: line of every row in the file, counted from 0.
        stated: the rate in Hz that the header states.

    Raises:
        MotionFormatError: for fewer than two times, and times that are missing, decrease, are seconds apart, or are too
            uneven to be resampled.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.clock import clock
        >>> time = np.array([0.0, 0.01, 0.03, 0.04])
        >>> ticks = clock("walk.csv", time, lines=np.arange(1, 5))
        >>> print(round(ticks.rate, 6), ticks.time.size, ticks.notes)  # Hz, frames
        100.0 5 ('1 frame is missing (such as before line 4): it is a gap',)
    """
    if time.size < 2:
        raise MotionFormatError(
            f"{count_of(time.size, 'time', 'times')}: too few for a rate", "export all frames", file
        )
    _check_increasing(file, time, lines)
    steps, span, rows = np.diff(time), float(time[-1] - time[0]), np.arange(time.size)
    usual, quantum = float(np.median(steps)), last_digit(time)
    mean, is_whole = (time.size - 1) / span, bool(np.all(np.abs(steps / usual - 1) < MAX_JITTER))
    rounding, start = max(quantum, 1e-6) / span, float(time[0])
    if (line := rounded_line(time)) is not None:
        start, mean, is_whole = line[0], 1 / line[1], True
        rounding *= 3.0 / math.sqrt(time.size)  # three standard errors of the fitted step
    rate, warnings = _rate(mean, mean if is_whole else 1 / usual, stated, rounding)
    if rate < LOWEST_RATE:
        what = f"frames are {1 / rate:.4g} s apart, too far to show a walk"
        advice = "milliseconds? divide by 1000, or name the column time_ms"
        if math.isclose(rate, 1.0):
            advice += "; numbers of frames? divide by their rate"
        raise MotionFormatError(what, advice, file, int(lines[1]) + 1, "time")
    even = start + rows / rate
    off = float(np.max(np.abs(time - even))) * rate
    if off <= ROUNDED_STEPS or off <= 0.55 * quantum * rate:
        rounded = f"times are rounded (by up to {off:.2g} frames): frame / {rate:g} Hz is used"
        return Clock(rate, even, None, None, (rounded,) if off > ROUNDED_STEPS else (), warnings)
    if is_whole:
        return _resampled(time if line is None else start + rows / mean, mean, rate, warnings)
    counted_rate = float(np.round(steps / usual).sum()) / span
    return _uneven(file, time, lines, counted_rate if stated is None else rate, warnings)


def _check_increasing(file: str, time: np.ndarray, lines: np.ndarray) -> None:
    """Checks that every frame has a time in s, and none an earlier one than the frame before.

    Raises:
        MotionFormatError: if not, or if most frames have the time of the frame before.
    """
    if not np.isfinite(time).all():
        line = int(lines[int(np.argmin(np.isfinite(time)))]) + 1
        raise MotionFormatError("no time", "write the time of every frame", file, line, "time")
    steps = np.diff(time)
    if not np.median(steps):
        bad = int(np.argmin(steps)) + 1
        what = f"most frames have the time of the frame before, such as {time[bad]:g}"
        advice = "write times with more digits; decimal commas need ';' or tabs between the cells"
        raise MotionFormatError(what, advice, file, int(lines[bad]) + 1, "time")
    if not time[-1] > time[0] or np.any(steps < 0):
        bad = int(np.argmin(steps)) + 1
        what = f"time goes from {time[bad - 1]:g} to {time[bad]:g}"
        raise MotionFormatError(what, "sort the rows by time and keep each once", file, int(lines[bad]) + 1, "time")


def _rate(mean: float, usual: float, stated: float | None, rounding: float) -> tuple[float, tuple[str, ...]]:
    """The rate in Hz (the stated one if the times agree; an integer if relative rounding may hide it), and warnings."""
    rate = usual if abs(usual - mean) > RATE_AGREEMENT * mean and stated is None else mean
    if stated is not None and min(abs(stated - mean), abs(stated - usual)) <= RATE_AGREEMENT * stated:
        return stated, ()
    rate = float(round(rate) if abs(rate - round(rate)) <= rounding * rate and round(rate) else rate)
    if stated is None:
        return rate, ()
    return rate, (f"the header states {stated:g} Hz, the times give {rate:.6g} Hz: the latter is used",)


def _resampled(time: np.ndarray, mean: float, rate: float, warnings: tuple[str, ...]) -> Clock:
    """A clock that interpolates times without missing frames, which are uneven, or of another mean rate (in Hz)."""
    steps = np.diff(time)
    worst = float(np.max(np.abs(steps / np.median(steps) - 1)))
    off = float(np.max(np.abs((time - time[0]) * mean - np.arange(time.size))))
    is_even = off <= max(ROUNDED_STEPS, 0.55 * last_digit(time) * mean)
    why = f"the times give {mean:.4g} Hz, the header {rate:.6g} Hz" if is_even else ""
    note = f"{why or f'times are uneven (steps differ by up to {worst:.0%})'}: resampled at {rate:.6g} Hz"
    even = time[0] + np.arange(int((time[-1] - time[0]) * rate + 1e-6) + 1) / rate
    return Clock(rate, even, None, time, (note,), warnings)


def _uneven(file: str, time: np.ndarray, lines: np.ndarray, rate: float, warnings: tuple[str, ...]) -> Clock:
    """A clock with missing frames as gaps and uneven times interpolated; raises if they are too uneven."""
    position = (time - time[0]) * rate
    frame = np.round(position).astype(np.int64)
    count, steps = int(frame[-1]) + 1, np.diff(position)
    worst = int(np.argmax(np.abs(steps - 1))) + 1
    if count * (1 - MAX_MISSING) > time.size:
        what = f"of {count} frames at {rate:.6g} Hz only {time.size} are there"
        raise MotionFormatError(what, "export all frames", file, int(lines[worst]) + 1, "time")
    off, rounding = float(np.max(np.abs(position - frame))), 0.55 * last_digit(time) * rate
    if np.any(np.diff(frame) < 1) or off > max(0.25, rounding):
        what = (
            f"times are too uneven: a step of {steps[worst - 1] / rate:.4g} s, where the usual one is {1 / rate:.4g} s"
        )
        raise MotionFormatError(what, "export the trial at one rate", file, int(lines[worst]) + 1, "time")
    lost, where = count - time.size, f"(such as before line {lines[worst] + 1})"
    words = f"frame is missing {where}: it is a gap", f"frames are missing {where}: they are gaps"
    notes = [count_of(lost, *words)] if lost else []
    is_uneven = off > max(ROUNDED_STEPS, rounding)
    notes += [f"times are uneven (by up to {off:.2g} frames): resampled at {rate:.6g} Hz"] if is_uneven else []
    even = time[0] + np.arange(count) / rate
    return Clock(rate, even, frame, time if is_uneven else None, tuple(notes), warnings)
