"""Heel strikes and toe-offs: from ground forces, else from the laboratory's marks, else from the motion (Zeni 2008)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion.capture.ground import Load
from jaxgait.motion.capture.leg import Leg

SAME = 0.15
"""Largest time in s between two estimates of the same event."""
MIN_STRIDE = 0.5
"""Shortest stride in s that is accepted."""


class Events(NamedTuple):
    """Times of one leg's events in s, and their sources."""

    strikes: Float[np.ndarray, " strikes"]
    offs: Float[np.ndarray, " offs"]
    sources: tuple[str, ...]
    """Of every heel strike: force, mark or motion."""
    notes: tuple[str, ...]


def by_motion(leg: Leg) -> tuple[Float[np.ndarray, " strikes"], Float[np.ndarray, " offs"]]:
    """Heel strikes and toe-offs in s by Zeni et al. 2008 (Gait Posture 27:710-714).

    The foot is farthest forward of the hip at heel strike and farthest behind it at toe-off.
    """
    ahead = lambda p: p[:, 0] - leg.hip[:, 0]
    heel = leg.points.get("heel", leg.points["ankle"])
    toe = leg.points.get("toe", leg.points["ankle"])
    return _peaks(leg, ahead(heel)), _peaks(leg, -ahead(toe))


def _peaks(leg: Leg, signal: np.ndarray) -> np.ndarray:
    """Times in s of the maxima, between frames by parabolas."""
    from scipy.signal import find_peaks  # (see `jaxgait.motion.capture.smoothing`)

    there = np.isfinite(signal)
    if there.sum() < 5:
        return np.zeros(0)
    frames = np.arange(signal.size)
    whole = np.interp(frames, frames[there], signal[there])
    high = 0.3 * float(np.percentile(whole, 99) - np.percentile(whole, 1))
    found, _ = find_peaks(whole, distance=max(1, int(MIN_STRIDE * leg.recording.rate)), prominence=max(high, 1e-9))
    found = np.array([i for i in found if there[max(0, i - 1) : i + 2].all()], int)
    if not found.size:
        return np.zeros(0)
    before, at, after = whole[found - 1], whole[found], whole[found + 1]
    bend = before - 2 * at + after
    shift = np.where(np.abs(bend) > 1e-15, 0.5 * (before - after) / np.where(bend == 0, 1.0, bend), 0.0)
    return leg.recording.time[0] + (found + np.clip(shift, -0.5, 0.5)) / leg.recording.rate


def events_of(leg: Leg, load: Load | None) -> Events:
    """The events of the leg, each from the best source.

    If only some heel strikes have a force (or a mark), the others, by motion, are shifted by the median difference of
    those that have both.
    """
    strikes, offs = by_motion(leg)
    exact, left, name = _exact(leg, load)
    if not exact.size:
        note = "heel strikes by the motion: heel farthest forward of the hip (Zeni 2008)"
        return Events(strikes, offs, ("motion",) * strikes.size, (note,))
    times, sources, shift = _merged(exact, strikes, name)
    offs = _merged(left, offs, name)[0] if left.size else offs
    count = sources.count(name)
    word = f"ground force (more than 30 N): {count}" if name == "force" else f"the laboratory's marks: {count}"
    notes = [f"heel strikes by {word} of {len(sources)}"]
    if count < len(sources):
        notes.append(f"the others by the motion (Zeni 2008), {1e3 * shift:+.0f} ms as where both are known")
    return Events(times, offs, tuple(sources), tuple(notes))


def _exact(leg: Leg, load: Load | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Heel strikes and toe-offs in s that were measured or marked."""
    if load is not None:
        starts = np.array([c.start for c in load.contacts])
        ends = np.array([c.end for c in load.contacts])
        if np.isfinite(starts).any():
            return np.sort(starts[np.isfinite(starts)]), np.sort(ends[np.isfinite(ends)]), "force"
    marks = [m for m in leg.recording.marks if m.side.startswith(leg.side) and m.label]
    at = lambda word: np.array(sorted(m.time for m in marks if word in m.label.lower()))
    return at("strike"), at("off"), "mark"


def _merged(exact: np.ndarray, motion: np.ndarray, name: str) -> tuple[np.ndarray, list[str], float]:
    """Exact times, those of the motion where no exact one is near, and the shift in s of the latter."""
    pairs = [(t, exact[np.argmin(np.abs(exact - t))]) for t in motion]
    near = [e - t for t, e in pairs if abs(e - t) < SAME]
    shift = float(np.median(near)) if near else 0.0
    alone = [t + shift for t, e in pairs if abs(e - t) >= SAME]
    apart = [t for t in alone if np.min(np.abs(exact - t)) > MIN_STRIDE]
    times = [*((t, name) for t in exact), *((t, "motion") for t in apart)]
    times.sort()
    return np.array([t for t, _ in times]), [s for _, s in times], shift
