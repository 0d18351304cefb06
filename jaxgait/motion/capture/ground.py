"""Ground forces: which foot each contact belongs to, and the load on the foot in the sagittal plane."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion.capture.coordinates import HIP_OF_HEIGHT
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.smoothing import sampled_at
from jaxgait.motion.capture.zeni import SAME_EVENT
from jaxgait.motion.recording import LOADED_FORCE, NOISE_FORCE, GroundReaction, known_median, runs
from jaxgait.support.checks import count_of

MIN_CONTACT = 0.15
"""Shortest contact in s."""
MAX_STANCE_SHARE = 0.85
"""Share of the stride that no walker's stance exceeds."""
LEAST_FORCE = 49.0
"""Vertical force in N over the squared body height in m that every walker exceeds: half the weight at 10 kg/m^2."""
FAINT, FAINT_SHARE = 50.0, 0.2
"""Vertical force in N, and share of the largest one of a contact, below which its centre of pressure may be noise (in
a measured walk 170 mm ahead at 10 N), or not written (programs write 0 or nothing at 10 to 50 N). The smaller applies.
"""
MAX_SLANT = math.radians(45.0)
"""Angle in rad of the mean force of a plate from the vertical above which its axes are not those of the markers."""
MAX_FOOT_DISTANCE = 0.30
"""Largest distance in m of the centre of pressure from the middle of the foot on it."""
LONGEST_GAP = 0.03
"""Longest interruption in s of a contact, on one plate or from one plate to the next."""
SHORTEST_PART = 0.03
"""Shortest time in s on one of several plates."""


class PlateContact(NamedTuple):
    """A foot on a plate."""

    plate: str
    start: float
    end: float
    """Times in s; NaN where the record begins or ends in contact, or a gap of the force hides it."""
    number: int
    """Index of the plate among the recording's forces: several may have the same name."""


class Load(NamedTuple):
    """The ground reaction on one foot at the frames."""

    force: Float[np.ndarray, "frames 2"]
    """In N, forward and upward, averaged over a frame."""
    moment: Float[np.ndarray, " frames"]
    """About the ankle in Nm, counter-clockwise for a walker in +x, averaged over a frame; NaN in a contact whose
    centre of pressure (on the floor) or ankle is not known."""
    contacts: tuple[PlateContact, ...]
    """One for each plate that the foot stands on."""
    stances: tuple[PlateContact, ...]
    """The contacts merged: those that overlap in time, or follow within `LONGEST_GAP`, are one."""
    notes: tuple[str, ...]
    too_long: tuple[PlateContact, ...] = ()
    """Contacts longer than any stance (noise, or both feet on one plate); not used."""


def least_force(leg: Leg) -> float:
    """Vertical force in N that every walker exceeds whose hip is as high as the leg's.

    Examples:
        >>> from jaxgait.motion.capture.ground import least_force
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> print(round(least_force(leg_of(synthetic_recording(reference_gait()), "right"))))  # of an adult
        148
    """
    return LEAST_FORCE * (float(np.nanmean(leg.hip[:, 1])) / HIP_OF_HEIGHT) ** 2


def load_of(leg: Leg) -> Load | None:
    """The ground reaction on the leg's foot; None if there are no forces, or none of this foot.

    Heel strikes by the motion identify the foot where no centre of pressure does. Contacts that take longer than
    `MAX_STANCE_SHARE` of their strides are not used.
    """
    strikes = leg.motion_events.strikes
    if most_vertical(leg) < least_force(leg):
        return None
    total, steps, notes = np.zeros((leg.recording.frames, 3)), [], []
    for number, plate in enumerate(leg.recording.forces):
        force = plate.force @ leg.axes.rotation.T
        stood = stretches(force[:, 1], plate.time, SHORTEST_PART)
        ours = [_ours(leg, plate, start, end) for start, end in stood]
        if not any(ours) or slanted(leg, plate):
            continue
        faded = np.flatnonzero(~(force[:, 1] > NOISE_FORCE))
        for i, (start, end) in enumerate(stood):
            if ours[i]:
                others = stood[i - 1][1] if i else None, stood[i + 1][0] if stood[i + 1 :] else None
                first, last = _to_the_ends(faded, plate.time.size, start, end, others)
                contact, span = _contact(plate, number, start, end), (plate.time[start], plate.time[end - 1])
                steps.append(_Step(*span, contact, plate.time[first:last], _pressed(leg, plate, force, first, last)))
    stances = [s for s in _stances(steps) if _lasts(s) >= MIN_CONTACT or _cut_off(s)]
    if not stances:
        return None
    longest = MAX_STANCE_SHARE * float(np.median(np.diff(strikes))) if strikes.size > 1 else np.inf
    too_long = [s for s in stances if _lasts(s) > longest and np.isfinite(s[0].contact.start)]
    stances = [s for s in stances if s not in too_long]
    contacts = tuple(step.contact for stance in stances for step in stance)
    for step in (step for stance in stances for step in stance):
        frames, mean = _averaged(leg, step.time, step.pressed)
        total[frames] += mean
    if contacts:
        plates = ", ".join(sorted({c.plate for c in contacts}))
        count = count_of(len(contacts), "contact", "contacts")
        notes.append(f"ground forces of {count} of the {leg.side} foot on {plates}")
    joined = tuple(map(_joined, stances))
    return Load(total[:, :2], total[:, 2], contacts, joined, tuple(notes), tuple(map(_joined, too_long)))


def slanted(leg: Leg, plate: GroundReaction) -> bool:
    """Whether the mean force of a plate is nowhere near the vertical: its axes are not those of the markers.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.capture.ground import slanted
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> from jaxgait.motion.recording import GroundReaction
        >>> leg = leg_of(synthetic_recording(reference_gait()), "right")  # up is y
        >>> slanted(leg, GroundReaction("plate 1", np.zeros(1), np.array([[0.0, 50.0, 700.0]]), None))
        True
    """
    size = np.linalg.norm(plate.force, axis=1)
    mean = plate.force[size > least_force(leg)].sum(axis=0)
    return bool(abs(mean @ leg.axes.rotation[1]) < math.cos(MAX_SLANT) * np.linalg.norm(mean))


def most_vertical(leg: Leg) -> float:
    """The largest vertical force in N of all plates of a recording; 0 without any."""
    vertical = [np.abs(plate.force @ leg.axes.rotation[1]) for plate in leg.recording.forces]
    return max((float(np.nanmax(v)) for v in vertical if np.isfinite(v).any()), default=0.0)


class _Step(NamedTuple):
    """A contact with one plate."""

    first: float
    last: float
    """Times in s of its first and last sample."""
    contact: PlateContact
    time: np.ndarray
    pressed: np.ndarray
    """Force in N and moment about the ankle in Nm at these times in s, with the force's rise and fall."""


def _stances(steps: list[_Step]) -> list[list[_Step]]:
    """The contacts in order of time, grouped if they are on two plates at once, or on one right after the other."""
    found: list[list[_Step]] = []
    for step in sorted(steps, key=lambda step: step.first):
        if found and step.first <= max(other.last for other in found[-1]) + LONGEST_GAP:
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _lasts(stance: list[_Step]) -> float:
    return max(step.last for step in stance) - stance[0].first


def _cut_off(stance: list[_Step]) -> bool:
    """Whether the record begins or ends in a stance: it may be short, and still has a toe-off or a heel strike."""
    whole = _joined(stance)
    return bool(np.isfinite(whole.start) != np.isfinite(whole.end))


def _joined(stance: list[_Step]) -> PlateContact:
    """One contact from those of a stance: its start is that of the first one, its end that of the last one."""
    ending = max(stance, key=lambda step: step.last)
    return stance[0].contact._replace(end=ending.contact.end)


def stretches(
    vertical: Float[np.ndarray, " samples"], time: Float[np.ndarray, " samples"], least: float = MIN_CONTACT
) -> list[tuple[int, int]]:
    """Samples in contact as half-open ranges; interruptions below 30 ms are bridged. Force in N, time in s.

    `least` is the shortest contact in s.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.ground import stretches
        >>> stretches(np.repeat([0.0, 700.0, 0.0], 100), np.arange(300) / 200.0)
        [(100, 200)]
    """
    step = float(np.median(np.diff(time)))
    loaded = vertical > LOADED_FORCE
    for a, b in runs(~loaded):
        if a > 0 and b < loaded.size and (b - a) * step < LONGEST_GAP:
            loaded[a:b] = True
    return [(a, b) for a, b in runs(loaded) if (b - a) * step >= least]


def _to_the_ends(
    faded: np.ndarray, samples: int, start: int, end: int, others: tuple[int | None, int | None]
) -> tuple[int, int]:
    """The samples of a contact, extended at both ends to the nearest of the `faded` samples.

    On a plate that is not zeroed no force fades: the contact is then extended half-way to the end of the one before it
    and to the start of the one after it (`others`), or to the ends of the record.
    """
    left, right = others[0] or 0, samples if others[1] is None else others[1]
    bounds = np.searchsorted(faded, [left, start, end, right])
    before, after = faded[bounds[0] : bounds[1]], faded[bounds[2] : bounds[3]]
    first = 0 if others[0] is None else (left + start) // 2
    last = samples if others[1] is None else (end + right) // 2 + 1
    return (int(before[-1]) if before.size else first), (int(after[0]) + 1 if after.size else last)


def _contact(plate: GroundReaction, number: int, start: int, end: int) -> PlateContact:
    known = lambda sample: bool(np.isfinite(plate.force[sample]).all())
    begins = float(plate.time[start]) if start > 0 and known(start - 1) else np.nan
    ends = float(plate.time[end]) if end < plate.time.size and known(end) else np.nan
    return PlateContact(plate.name, begins, ends, number)


def _ours(leg: Leg, plate: GroundReaction, start: int, end: int) -> bool:
    """Whether a contact is of the leg's own foot: by centre of pressure, else by the plate's name, else by time.

    A short contact, which may be noise or a brush of the other foot, needs a centre of pressure.
    """
    own, other = distances(leg, plate, start, end)
    if np.isfinite(own):
        return own < MAX_FOOT_DISTANCE and not own >= other
    if plate.time[end - 1] - plate.time[start] < MIN_CONTACT:
        return False
    side = _side_of(plate.name)
    if side:
        return side == leg.side
    begins, strikes = plate.time[start], leg.motion_events.strikes
    return start > 0 and strikes.size > 0 and float(np.min(np.abs(strikes - begins))) < SAME_EVENT


def distances(leg: Leg, plate: GroundReaction, start: int, end: int) -> tuple[float, float]:
    """Median horizontal distances in m of the leg's own and the other foot from the centre of pressure; NaN if unknown.

    The contact's samples are `start:end`.
    """
    clock, pressed = leg.recording.time, plate.time[start:end]
    within = slice(np.searchsorted(clock, pressed[0], "left"), np.searchsorted(clock, pressed[-1], "right"))
    if plate.point is None or within.start == within.stop:
        return np.nan, np.nan
    point = np.stack([np.interp(clock[within], pressed, x) for x in plate.point[start:end].T], axis=1)
    point = point @ leg.axes.rotation.T
    own, other = (np.nan if x is None else _distance(point, x[within]) for x in (leg.own_foot, leg.other_foot))
    return own, other


def _side_of(plate: str) -> str | None:
    """The side in the name of a plate, such as "Right Plate", "plate_r" or "FPLeft", but not in "Plate R&D"."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", plate)}
    alone = set(re.split(r"[\s._\-()\[\]:\d]+", plate.lower()))
    sides = [side for side in ("right", "left") if side in words or side[0] in alone]
    return sides[0] if len(sides) == 1 else None


def _distance(point: np.ndarray, foot: np.ndarray) -> float:
    return known_median(np.hypot(point[:, 0] - foot[:, 0], point[:, 2] - foot[:, 2]))


def _pressed(leg: Leg, plate: GroundReaction, force: np.ndarray, first: int, last: int) -> np.ndarray:
    """The force of a contact in N, of shape (samples, 2), and as a third column its moment about the ankle in Nm.

    The moment is NaN where the ankle, or the centre of pressure under more than a faint force, is not known. `force` is
    that of the plate in the walker's axes, the contact's samples are `first:last`.
    """
    force, time, clock = force[first:last], plate.time[first:last], leg.recording.time
    if plate.point is None:
        return np.column_stack([force[:, :2], np.full(time.size, np.nan)])
    inside = np.clip(time, clock[0], clock[-1])  # plates record until the next frame would come
    inside = np.where(np.abs(inside - time) < 1.0 / leg.recording.rate, inside, time)
    ankle = sampled_at(clock, leg.points["ankle"], inside)
    ahead = _firm(force[:, 1], (plate.point[first:last] @ leg.axes.rotation.T)[:, 0]) - ankle[:, 0]
    moment = np.where(force[:, 1] > NOISE_FORCE, ahead * force[:, 1] + ankle[:, 1] * force[:, 0], 0.0)
    return np.column_stack([force[:, :2], moment])


def _firm(vertical: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """A coordinate of the centre of pressure in a contact; under faint forces that of the nearest firm ones."""
    faint = vertical < min(FAINT, FAINT_SHARE * float(np.nanmax(vertical)))
    firm = np.flatnonzero(~faint & np.isfinite(ahead))
    return np.where(faint, np.interp(np.arange(ahead.size), firm, ahead[firm]), ahead) if firm.size else ahead


def _averaged(leg: Leg, time: np.ndarray, pressed: np.ndarray) -> tuple[slice, np.ndarray]:
    """The frames that a contact touches, and its signals averaged over each, by differences of their integrals."""
    step = 1.0 / leg.recording.rate
    edges = np.append(leg.recording.time - 0.5 * step, leg.recording.time[-1] + 0.5 * step)
    there = (time >= edges[0]) & (time <= edges[-1])  # beyond the frames, no markers are known, and no moments
    first, last = np.searchsorted(edges[1:], time[0], "right"), np.searchsorted(edges[:-1], time[-1], "left")
    if first >= last or not there.any():
        return slice(0, 0), np.zeros((0, pressed.shape[1]))
    means = [_mean_over(edges[first : last + 1], time[there], x[there]) for x in pressed.T]
    return slice(first, last), np.stack(means, axis=1)


def _mean_over(edges: np.ndarray, time: np.ndarray, signal: np.ndarray) -> np.ndarray:
    """The mean of a signal between edges, zero outside of its times; NaN everywhere if it has gaps."""
    if not np.isfinite(signal).all():
        return np.full(edges.size - 1, np.nan)
    impulse = np.concatenate(([0.0], np.cumsum(0.5 * (signal[1:] + signal[:-1]) * np.diff(time))))
    return np.diff(np.interp(edges, time, impulse)) / np.diff(edges)
