"""Markers that only repeat a position, as some programs write gaps."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

import numpy as np
from jaxtyping import Float

from jaxgait.motion.recording import Recording, runs
from jaxgait.support.checks import first_few

SHORTEST = 0.02
"""Time in s for which a marker repeats its position before this counts as lost."""
FINE = 5e-5
"""Last digit of a file in m below which a moving marker never repeats its position."""
MAX_MARKER_SPEED = 20.0
"""Speed in m/s that no marker reaches, not even on a sprinter's foot."""
MANY = 0.05
"""Number of stretches that repeat whole frames, as a share of all frames, above which they are not due to chance."""
LEFT_BEHIND = 0.02
"""Distance in m that a neighbouring marker moves while this one is at rest, beyond what rotation explains."""


def repeated_positions(
    values: Float[np.ndarray, "frames axes"], rate: float, neighbour: Float[np.ndarray, "frames axes"] | None = None
) -> list[tuple[int, int]]:
    """Half-open ranges of frames in which a lost marker only repeats its last position in m.

    A standing foot repeats its position, too, if a file has few digits, but it starts from rest: its first step is
    smaller than the next one. A marker that was lost makes up for all missed steps in its first one. If no step
    follows, or the marker comes back to where it was lost, a `neighbour` that moves on shows that it is left behind. A
    position to or from which the marker jumps is a code for missing values, even in the first of these frames.

    Args:
        values: positions.
        rate: in Hz.
        neighbour: positions in m of a marker near it, if there is one.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.frozen_markers import repeated_positions
        >>> knee = np.linspace(0.0, 1.0, 101)[:, None] ** 3  # m, at 100 Hz
        >>> lost = knee.copy()
        >>> lost[41:46], lost[90:] = knee[40], knee[89]
        >>> print(repeated_positions(lost, rate=100.0), repeated_positions(lost, rate=100.0, neighbour=knee + 0.4))
        [(41, 46)] [(41, 46), (90, 101)]
    """
    moves = np.abs(np.diff(values, axis=0))
    steps, some = np.linalg.norm(moves, axis=1), moves[moves > 0]
    resolution = float(np.quantile(some, 0.05)) if some.size else 0.0
    least = max(2, round(SHORTEST * rate))
    repeats = [(a, b) for a, b in runs(steps == 0) if b - a >= least]
    jumps = {(a, b) for a, b in repeats if b + 1 < steps.size and steps[b] > steps[b + 1] + 3 * resolution}
    if neighbour is not None and _digit(np.concatenate([values, neighbour])) < FINE:
        moved = lambda a, b: np.linalg.norm(neighbour[a + 1 : b + 1] - neighbour[a], axis=1)
        jumps |= {(a, b) for a, b in repeats if np.any(moved(a, b) > LEFT_BEHIND)}
    fast = steps * rate > MAX_MARKER_SPEED
    codes = {(a, b) for a, b in repeats if fast[a - 1 : a].any() or (a == 0 and fast[b : b + 1].any())}
    return sorted([*((a, b + 1) for a, b in codes), *((a + 1, b + 1) for a, b in jumps - codes)])


def _digit(values: np.ndarray) -> float:
    """The smallest difference of two coordinates in m: that of the file's last digit, if there are many values."""
    apart = [np.diff(np.unique(x[np.isfinite(x)])) for x in values.T]
    return float(min((x.min() for x in apart if x.size), default=np.inf))


def without_repeats(recording: Recording, names: Collection[str]) -> tuple[Recording, list[str]]:
    """The recording with gaps where one of these markers only repeats a position, and a warning about them, if any.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.frozen_markers import without_repeats
        >>> from jaxgait.motion.recording import Recording
        >>> time = np.linspace(0.0, 1.0, 101)
        >>> knee = time[:, None] * [1.0, 0.0, 0.0]  # m, at 1 m/s
        >>> knee[41:46] = knee[40]
        >>> found, warnings = without_repeats(Recording("walk", "walk.trc", 100.0, time, {"RKNE": knee}), ["RKNE"])
        >>> print(np.isnan(found.markers["RKNE"][:, 0]).sum(), warnings[0][:71])
        5 markers repeat a position while they move: RKNE for 0.05 s from 0.41 s:
    """
    markers, found = dict(recording.markers), []
    for name in names:
        values = recording.markers[name]
        repeats = repeated_positions(values, recording.rate, _neighbour(recording.markers, name, names))
        if repeats:
            lost = np.concatenate([np.arange(a, b) for a, b in repeats])
            markers[name] = values.copy()
            markers[name][lost] = np.nan
            found.append(f"{name} for {lost.size / recording.rate:.2f} s from {recording.time[lost[0]]:.2f} s")
    if not found:
        return recording, []
    what = f"markers repeat a position while they move: {first_few(found, 4)}"
    advice = "treated as gaps; the last position of a lost marker, or a code for missing values?"
    return dataclasses.replace(recording, markers=markers), [f"{what}: {advice}"]


def frame_warnings(recording: Recording) -> list[str]:
    """A warning about frames that repeat the one before in all markers, or else in all angles; empty unless many do.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.frozen_markers import frame_warnings
        >>> from jaxgait.motion.recording import Recording
        >>> time = np.linspace(0.0, 1.0, 101)
        >>> trial = Recording("walk", "walk.mot", 100.0, time, angles={"knee_angle_r": np.sin(time).repeat(2)[:101]})
        >>> print(frame_warnings(trial)[0][:62])
        50 of 101 frames repeat the one before: rows written twice, or
    """
    tracks = [x for x in recording.markers.values()] or [x[:, None] for x in recording.angles.values()]
    values = np.concatenate(tracks, axis=1) if tracks else np.zeros((0, 1))
    same = np.asarray(np.all((values[1:] == values[:-1]) | np.isnan(values[1:] + values[:-1]), axis=1))
    same &= np.isfinite(values[1:]).any(axis=1)
    if len(runs(same)) <= MANY * same.size:
        return []
    what = f"{int(same.sum())} of {recording.frames} frames repeat the one before"
    return [f"{what}: rows written twice, or a lower rate than is stated? Speed and times follow the stated one"]


def _neighbour(markers: Mapping[str, np.ndarray], name: str, names: Collection[str]) -> np.ndarray | None:
    """The marker that is nearest to the named one in the median: most likely on the same segment."""
    apart = {other: np.linalg.norm(markers[other] - markers[name], axis=1) for other in names if other != name}
    usual = {other: np.nanmedian(x) for other, x in apart.items() if np.isfinite(x).sum() > x.size // 2}
    return markers[min(usual, key=usual.__getitem__)] if usual else None
