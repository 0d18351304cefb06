"""Heel strikes and toe-offs: from ground forces, else from the laboratory's marks, else from the motion (Zeni 2008)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion.capture.ground import Load
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.zeni import SAME_EVENT, MotionEvents
from jaxgait.motion.recording import Mark, Recording
from jaxgait.support.checks import first_few, one_of

EARLY = (0.038, 0.002)
"""Time in s by which heel strikes and toe-offs by the motion come before those by force in measured walks."""
MAX_MARK_SHIFT = 0.05
"""Shift in s of marks against the motion above which to warn: eyes differ from the force by a frame or two."""
_SIDES = {"r": "right", "right": "right", "l": "left", "left": "left"}
_EVENT = re.compile(
    r"(?:(?P<before>right|left|r|l)(?: leg)?)? ?"
    r"(?:(?P<strike>hs|fs|ic|(?P<struck>(?:(?:heel|foot|initial) ?)?(?:strike|contact)))"
    r"|to|fo|(?P<lifted>(?:toe|foot) ?off))"
    r"(?: ?(?P<after>right|left|r|l))?"
    r"(?P<rest>(?(struck)(?: (?!off|end).*)?)(?(lifted)(?: .*)?))"
)
"""Names of heel strikes and toe-offs, in lower case without punctuation, with or without a side before or after.

Other words may follow a name in full (Heel Strike FP2), but not an abbreviation, which may be a word (to be checked).
"""


class StrideEvents(NamedTuple):
    """Times of one leg's events in s, and their sources."""

    strikes: Float[np.ndarray, " strikes"]
    offs: Float[np.ndarray, " offs"]
    sources: tuple[str, ...]
    """Source of each heel strike: force, mark or motion."""
    notes: tuple[str, ...]


def events_of(leg: Leg, load: Load | None) -> StrideEvents:
    """The events of the leg, each from the best source.

    If only some heel strikes have a force (or a mark), the others, by motion, are shifted by the median difference of
    those that have both.
    """
    strikes, offs = leg.motion_events
    exact, left, name, marked = _exact(leg, load)
    if not exact.size:
        early = f"about {1e3 * EARLY[0]:.0f} ms before a force shows them, so that stance and double support are longer"
        note = f"heel strikes by the motion: heel farthest forward of the hip (Zeni 2008), {early}"
        return StrideEvents(strikes, offs, ("motion",) * strikes.size, (note, *marked))
    times, sources, shift = _merged(exact, strikes, name)
    offs = _merged(left, offs, name)[0] if left.size else offs
    count = sources.count(name)
    word = f"ground force (more than 30 N): {count}" if name == "force" else f"the laboratory's marks: {count}"
    notes = [f"heel strikes by {word} of {len(sources)}"]
    if count < len(sources):
        notes.append(f"the others by the motion (Zeni 2008), {1e3 * shift:+.0f} ms as where both are known")
    return StrideEvents(times, offs, tuple(sources), (*notes, *marked))


def only_one_by_motion(one: StrideEvents, other: StrideEvents) -> bool:
    """Whether the heel strikes of exactly one foot are all by the motion, which finds them early.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.events import StrideEvents, only_one_by_motion
        >>> plate = StrideEvents(np.array([0.27, 1.42]), np.array([1.02]), ("force", "motion"), ())  # s
        >>> zeni = StrideEvents(np.array([0.82, 1.97]), np.array([0.44]), ("motion", "motion"), ())
        >>> only_one_by_motion(plate, zeni), only_one_by_motion(zeni, zeni)
        (True, False)
    """
    if not one.sources or not other.sources:
        return False
    return (set(one.sources) == {"motion"}) != (set(other.sources) == {"motion"})


def source_warnings(feet: Sequence[tuple[Leg, StrideEvents]]) -> list[str]:
    """A warning if the events of a trial's two feet have different sources and cannot be compared.

    Examples:
        >>> from jaxgait.motion.capture.events import events_of, source_warnings
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> leg = leg_of(synthetic_recording(reference_gait()), "right")
        >>> source_warnings([(leg, events_of(leg, None))])
        []
    """
    if len(feet) != 2 or not only_one_by_motion(feet[0][1], feet[1][1]):
        return []
    (leg, events), (zeni, _) = sorted(feet, key=lambda foot: set(foot[1].sources) == {"motion"})
    source = "force" if "force" in events.sources else "the laboratory's marks"
    early = _merged(events.strikes, leg.motion_events.strikes, source)[2]
    when = f", which come about {1e3 * abs(early):.0f} ms {'earlier' if early > 0 else 'later'}" if early else ""
    what = f"the {leg.side} foot's heel strikes are by {source}, the {zeni.side} foot's by the motion{when}"
    return [f"{what}: steps and double support are by the motion; stance and swing of the sides cannot be compared"]


def mark_warnings(leg: Leg, events: StrideEvents) -> list[str]:
    """A warning if the motion contradicts the laboratory's marks, as when the record was cut and they were not.

    Examples:
        >>> from jaxgait.motion.capture.events import events_of, mark_warnings
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> leg = leg_of(synthetic_recording(reference_gait()), "right")
        >>> mark_warnings(leg, events_of(leg, None))  # without marks
        []
    """
    shift = behind(*_exact(leg, None)[:2], leg.motion_events) if "mark" in events.sources else None
    if shift is None or abs(shift) <= MAX_MARK_SHIFT:
        return []
    word = "after" if shift < 0 else "before"
    what = f"the laboratory's marks of the {leg.side} foot come about {1e3 * abs(shift):.0f} ms {word} the events"
    return [f"{what} by the motion, apart from the usual difference: were they set in another record?"]


def behind(
    strikes: Float[np.ndarray, " strikes"], offs: Float[np.ndarray, " offs"], motion: MotionEvents
) -> float | None:
    """Lag in s of the motion behind heel strikes and toe-offs in s, corrected for `EARLY`; None unless both show it.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.events import behind
        >>> from jaxgait.motion.capture.zeni import SAME_EVENT, MotionEvents
        >>> motion = MotionEvents(np.array([0.962, 2.062]), np.array([1.698]))  # s
        >>> round(behind(np.array([0.95, 2.05]), np.array([1.65]), motion), 6)
        0.05
    """
    late = []
    for exact, own, early in zip((strikes, offs), motion, EARLY, strict=True):
        apart = [float(own[np.argmin(np.abs(own - t))]) - t + early for t in exact if own.size]
        late.append([x for x in apart if abs(x) < SAME_EVENT])
    return float(np.mean([np.median(x) for x in late])) if all(late) else None


def _exact(leg: Leg, load: Load | None) -> tuple[np.ndarray, np.ndarray, str, list[str]]:
    """Heel strikes and toe-offs in s by force or else by marks, which of the two, and notes on the marks."""
    if load is not None:
        starts = np.array([c.start for c in load.stances])
        ends = np.array([c.end for c in load.stances])
        if np.isfinite(starts).any():
            return np.sort(starts[np.isfinite(starts)]), np.sort(ends[np.isfinite(ends)]), "force", []
    marked, notes = _marked(leg.recording)
    (strikes, more), (offs, others) = (_once(marked[leg.side, kind]) for kind in ("strike", "off"))
    twice = ", ".join(f"{t:.2f}" for t in sorted(more + others))
    repeated = f"events of the {leg.side} foot that are marked more than once are taken at their mean: at {twice} s"
    return strikes, offs, "mark", [*notes, *([repeated] if twice else [])]


def _once(times: Sequence[float]) -> tuple[np.ndarray, list[float]]:
    """Times in s of marks, with those within `SAME_EVENT` merged to their mean, and the means of merged ones."""
    at = np.sort(times)
    groups = np.split(at, np.flatnonzero(np.diff(at) > SAME_EVENT) + 1) if at.size else []
    return np.array([x.mean() for x in groups]), [float(x.mean()) for x in groups if x.size > 1]


def _marked(recording: Recording) -> tuple[dict[tuple[str, str], list[float]], list[str]]:
    """Times in s of the laboratory's marks by side and event, and notes on those that are left out."""
    times: dict[tuple[str, str], list[float]] = {(s, e): [] for s in ("right", "left") for e in ("strike", "off")}
    unknown, outside = [], []
    first, last = recording.time[0] - 0.5 / recording.rate, recording.time[-1] + 0.5 / recording.rate
    for mark in (mark for mark in recording.marks if mark.label.strip()):
        key = _event(mark)
        if key is None:
            unknown.append(f"{mark.side} {mark.label}".strip())
        elif first <= mark.time <= last:
            times[key].append(mark.time)
        else:
            outside.append(f"{mark.time:.2f}")
    named = first_few(list(dict.fromkeys(unknown)))
    notes = [f"events of the file that are not understood: {named}, {len(unknown)} in all"]
    span = f"{recording.time[0]:.2f} to {recording.time[-1]:.2f} s"
    beyond = f"events of the file outside of the record ({span}) are left out: at {first_few(outside)} s"
    return times, [*(notes if unknown else []), *([beyond] if outside else [])]


def _event(mark: Mark) -> tuple[str, str] | None:
    """Side and event (strike or off) of a mark; None if either is not known, or there are two sides."""
    side, label = (re.sub(r"[^a-z]+", " ", text.lower()).strip() for text in (mark.side, mark.label))
    found = _EVENT.fullmatch(label)
    if found is None:
        return None
    first = re.match(r"right|left|[rl]\b", side)  # of "right leg"
    words = {first and first[0], found["before"], found["after"], *found["rest"].split()}
    sides = {_SIDES[word] for word in words if word in _SIDES}
    return (sides.pop(), "strike" if found["strike"] else "off") if len(sides) == 1 else None


def with_strikes(recording: Recording, side: str, times: Sequence[float] | Float[np.ndarray, " strikes"]) -> Recording:
    """The recording with heel strikes of a foot at the given times in s, instead of those that the laboratory marked.

    Raises:
        ValueError: for another side than right or left, and for times outside of the recording.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.events import with_strikes
        >>> from jaxgait.motion.recording import Recording
        >>> trial = Recording("walk", "walk.csv", 100.0, np.linspace(0.0, 3.0, 301))
        >>> print(with_strikes(trial, "right", [0.42, 1.55, 2.68]).marks[0])
        Mark(side='right', label='heel strike', time=0.42)
    """
    one_of("side", side, ("right", "left"))
    first, last = float(recording.time[0]), float(recording.time[-1])
    if outside := [t for t in times if not first <= t <= last]:
        raise ValueError(f"a heel strike at {outside[0]:g} s is outside of {recording.file}, {first:g} to {last:g} s")
    marks = tuple(Mark(side, "heel strike", float(t)) for t in times)
    kept = [mark for mark in recording.marks if _event(mark) != (side, "strike")]
    return dataclasses.replace(recording, marks=(*kept, *marks))


def _merged(exact: np.ndarray, motion: np.ndarray, name: str) -> tuple[np.ndarray, list[str], float]:
    """Exact times, and shifted ones of the motion where no exact one is near; their sources; and the shift in s."""
    pairs = [(t, exact[np.argmin(np.abs(exact - t))]) for t in motion]
    near = [e - t for t, e in pairs if abs(e - t) < SAME_EVENT]
    shift = float(np.median(near)) if near else 0.0
    alone = [t + shift for t, e in pairs if abs(e - t) >= SAME_EVENT]
    stride = float(np.median(np.diff(motion))) if motion.size > 1 else 2 * SAME_EVENT
    apart = [t for t in alone if np.min(np.abs(exact - t)) > 0.5 * stride]
    times = [*((t, name) for t in exact), *((t, "motion") for t in apart)]
    times.sort()
    return np.array([t for t, _ in times]), [s for _, s in times], shift
