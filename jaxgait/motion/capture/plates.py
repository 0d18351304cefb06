"""Warnings about ground forces: plates that are not zeroed, rotated, misplaced or under both feet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from jaxgait.checks import count_of
from jaxgait.motion.capture.ground import (
    LOADED_FORCE,
    MAX_FOOT_DISTANCE,
    MAX_STRIKE_LAG,
    MIN_CONTACT,
    Load,
    PlateContact,
    distances,
    least_force,
    most_vertical,
    stretches,
)
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.smoothing import sampled_at
from jaxgait.motion.recording import GroundReaction, runs

MAX_CENTRE_DISTANCE = 50.0
"""Distance in m of a centre of pressure from the origin that no laboratory has."""
MAX_OFFSET = 10.0
"""Vertical force in N that a zeroed plate does not show while unloaded."""
UNLOADED_TIME = 0.1
"""Time in s without a contact after which a plate is unloaded: shorter gaps are a foot that comes or goes."""
MIN_PUSH = 0.02
"""Ratio of mean horizontal to vertical force above which braking and propulsion can be distinguished."""
EARLY = (0.038, 0.002)
"""Time in s by which heel strikes and toe-offs by the motion come before those of the force in measured walks."""
MAX_CLOCK_SHIFT = 0.03
"""Warn if the clocks of markers and plates differ by more, in s; events scatter by 0.015 s about `EARLY`."""
MAX_STANCE_RATIO = 1.12
"""Warn if stance by the motion is longer or shorter than by the force by more than this factor."""
_FIGURE = r"(?<![\w.-])[-+]?\d+(?:\.\d+)?(?!\w)"
"""A number by itself; digits of a marker's name are none."""
MIN_PRESSURE_PATH = 0.02
"""Least distance in m that the centre of pressure moves forward of the ankle in the middle half of a contact."""


def plate_warnings(leg: Leg, load: Load | None) -> list[str]:
    """Warnings about the plates of a trial; empty if there are none."""
    (strikes, offs), plates = leg.motion_events, leg.recording.forces
    scale = _scale(leg, load)
    if scale or not plates:
        return scale
    found = [line for plate in plates for line in (*_zero(leg, plate), *_elsewhere(leg, plate))]
    known = lambda found: [c for c in found if np.isfinite(c.start) and np.isfinite(c.end)]
    whole, stances = ([], []) if load is None else (known(load.contacts), known(load.stances))
    whole = [c for c in whole if c.end - c.start >= MIN_CONTACT]
    stride = float(np.median(np.diff(strikes))) if strikes.size > 1 else np.inf
    for contact in () if load is None else load.too_long[:1]:
        what = f"a contact of {contact.end - contact.start:.2f} s on {contact.plate}, in strides of {stride:.2f} s"
        found.append(f"{what}, is not used: are both feet on the plate, or are its forces noisy?")
    found += _paces(leg.recording.rate, stances, strikes, offs) or _clocks(stances, strikes, offs)
    curves = [_contact_curves(leg, plates[c.number], c.start, c.end) for c in whole]
    return [*found, *_turned([force for force, _ in curves]), *_path([ahead for _, ahead in curves])]


def _paces(rate: float, contacts: list[PlateContact], strikes: np.ndarray, offs: np.ndarray) -> list[str]:
    """Warns if stance durations imply another frame rate than stated."""
    stood = [c.end - c.start for c in contacts]
    moved = [float(np.min(offs[offs > t])) - t - EARLY[0] + EARLY[1] for t in strikes if (offs > t).any()]
    if not stood or not moved:
        return []
    here, there = float(np.median(moved)), float(np.median(stood))
    if not MAX_STANCE_RATIO < max(here / there, there / here) < 1.5:
        return []
    what = f"stance lasts {here:.2f} s by the motion, and {there:.2f} s on the plates"
    return [f"{what}: frames at {rate * here / there:.0f} Hz, or a foot partly off the plate?"]


def _clocks(contacts: list[PlateContact], strikes: np.ndarray, offs: np.ndarray) -> list[str]:
    late = []
    for exact, motion, early in (([c.start for c in contacts], strikes, 0), ([c.end for c in contacts], offs, 1)):
        apart = [float(motion[np.argmin(np.abs(motion - t))]) - t + EARLY[early] for t in exact if motion.size]
        late.append([x for x in apart if abs(x) < MAX_STRIKE_LAG])
    if not all(late):
        return []
    shift = float(np.mean([np.median(x) for x in late]))
    word = "behind" if shift > 0 else "ahead of"
    what = f"the markers are about {1e3 * abs(shift):.0f} ms {word} the plates by heel strikes and toe-offs"
    return [f"{what}: two clocks?"] if abs(shift) > MAX_CLOCK_SHIFT else []


def merged_lines(trials: Iterable[tuple[Leg, list[str]]]) -> list[str]:
    """The warnings of several trials, merging those of different trials that differ only in their numbers."""
    kinds: dict[tuple[str, int], list[str]] = {}
    for leg, lines in trials:
        names = sorted({plate.name for plate in leg.recording.forces}, key=len, reverse=True)
        figures = re.compile("|".join([*(f"({re.escape(name)})" for name in names), _FIGURE]))
        own = Counter[str]()
        for line in lines:
            kind = figures.sub(lambda m: m[0] if m.lastindex else "#", line)
            own[kind] += 1
            kinds.setdefault((kind, own[kind]), []).append(line)
    more = lambda n: f" (likewise in {count_of(n, 'more trial', 'more trials')})" if n else ""
    return [f"{lines[0]}{more(len(lines) - 1)}" for lines in kinds.values()]


def _scale(leg: Leg, load: Load | None) -> list[str]:
    """Warns if the forces have an implausible unit, so that none is used."""
    plates = leg.recording.forces
    if load is not None or not plates:
        return []
    most, least = most_vertical(leg), least_force(leg)
    if 0.0 < most < least:
        unit = "kilonewtons or body weights" if most <= LOADED_FORCE else "per cent of the body weight"
        what = f"no ground force is above {most:.3g} N, where a person of this size exceeds {least:.0f} N"
        return [f"{what}, and none is used: {unit} instead of N?"]
    vertical = [np.abs(plate.force @ leg.axes.rotation[1]) for plate in plates]
    pressed = [
        np.abs(plate.point[v > LOADED_FORCE])
        for plate, v in zip(plates, vertical, strict=True)
        if plate.point is not None
    ]
    middle = [float(np.nanmedian(x.max(axis=1))) for x in pressed if np.isfinite(x.max(axis=1, initial=0.0)).any()]
    if middle and min(middle) > MAX_CENTRE_DISTANCE:
        what = f"the centre of pressure is {min(middle):.4g} m from the laboratory's origin, and no force is used"
        return [f"{what}: millimetres instead of m?"]
    return []


def _zero(leg: Leg, plate: GroundReaction) -> Iterator[str]:
    shown = plate.force @ leg.axes.rotation[1]
    vertical = shown[np.isfinite(shown)]
    if not vertical.size:
        return
    long = UNLOADED_TIME / float(np.median(np.diff(plate.time)))
    spans = [shown[a:b] for a, b in runs(np.abs(shown) <= LOADED_FORCE) if b - a >= long]
    quiet, least = np.concatenate([vertical[:0], *spans]), float(np.percentile(np.abs(vertical), 1))
    if least > LOADED_FORCE:
        yield f"{plate.name} carries {least:.0f} N or more all the time: not zeroed, or both feet on it?"
    elif quiet.size > 0.02 * vertical.size and abs(np.median(quiet)) > MAX_OFFSET:
        yield f"{plate.name} shows {np.median(quiet):+.0f} N while nobody is on it: is it zeroed?"


def all_foreign(leg: Leg) -> bool:
    """Whether the centres of pressure of all contacts in a trial, as far as known, are away from both feet.

    Examples:
        >>> from jaxgait.motion.capture.finding import leg_of
        >>> from jaxgait.motion.capture.plates import all_foreign
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> all_foreign(leg_of(synthetic_recording(reference_gait()), "right"))  # without plates
        False
    """
    found = [d for plate in leg.recording.forces for d in _from_feet(leg, plate)]
    return bool(found) and min(found) > MAX_FOOT_DISTANCE


def _from_feet(leg: Leg, plate: GroundReaction) -> list[float]:
    """Distance in m of the nearer foot from the centre of pressure, of every contact where both feet are seen."""
    if leg.own_foot is None or leg.other_foot is None:
        return []
    vertical = plate.force @ leg.axes.rotation[1]
    near = [np.min(distances(leg, plate, start, end)) for start, end in stretches(vertical, plate.time)]
    return [float(d) for d in near if np.isfinite(d)]  # NaN where one of the feet is not seen


def _elsewhere(leg: Leg, plate: GroundReaction) -> Iterator[str]:
    known = _from_feet(leg, plate)
    off = [d for d in known if d > MAX_FOOT_DISTANCE]
    if off:
        what = f"the centre of pressure of {len(off)} of {len(known)} contacts on {plate.name} is {min(off):.2f} m "
        yield f"{what}or more from both feet: corners of the plate, unit of its moments, or another clock?"


def _contact_curves(leg: Leg, plate: GroundReaction, start: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """The force in the walker's axes in N, and the centre of pressure ahead of the ankle in m, of a contact."""
    on = slice(*np.searchsorted(plate.time, [start, end]))
    force = plate.force[on] @ leg.axes.rotation.T
    if plate.point is None:
        return force, np.full(force.shape[0], np.nan)
    ankle = sampled_at(leg.recording.time, leg.points["ankle"], plate.time[on])
    return force, (plate.point[on] @ leg.axes.rotation.T)[:, 0] - ankle[:, 0]


def _turned(forces: list[np.ndarray]) -> list[str]:
    """Warns of horizontal forces that do not look like walking: a foot first brakes, then pushes, along the path."""
    if not forces:
        return []
    share = lambda f, a, b: float(np.mean(f[int(a * len(f)) : int(b * len(f)), 0]) / np.mean(f[:, 1]))
    early, late = (float(np.median([share(f, *part) for f in forces])) for part in ((0.1, 0.45), (0.55, 0.9)))
    along, across = (float(np.median([np.sqrt(np.mean(f[:, i] ** 2)) for f in forces])) for i in (0, 2))
    if across > along:
        return [f"forces are larger across the path ({across:.0f} N rms) than along it ({along:.0f} N): plates turned?"]
    if early > MIN_PUSH and late < -MIN_PUSH:
        return ["propulsion comes before braking: plates rotated by 180 deg, or walking backwards?"]
    return []


def _path(ahead: list[np.ndarray]) -> list[str]:
    quarter = lambda x, a: np.nanmedian(x[int(a * len(x)) : int((a + 0.15) * len(x)) + 1])
    travels = [float(quarter(x, 0.6) - quarter(x, 0.15)) for x in ahead if np.isfinite(x).all() and len(x) > 20]
    if not travels or np.median(travels) > MIN_PRESSURE_PATH:
        return []
    what = f"the centre of pressure moves {1e3 * np.median(travels):+.0f} mm forward of the ankle in stance"
    return [f"{what}, where 50 to 150 mm are usual: corners of the plates, or unit of their moments?"]
