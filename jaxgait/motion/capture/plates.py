"""Warnings about ground forces: plates that are not zeroed, rotated, misplaced or under both feet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from jaxgait.motion.capture.events import EARLY, behind
from jaxgait.motion.capture.ground import (
    FAINT,
    LOADED_FORCE,
    MAX_FOOT_DISTANCE,
    MIN_CONTACT,
    Load,
    PlateContact,
    distances,
    least_force,
    most_vertical,
    slanted,
    stretches,
)
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.smoothing import sampled_at
from jaxgait.motion.capture.zeni import MotionEvents
from jaxgait.motion.recording import GroundReaction, known_median, runs

MAX_CENTRE_DISTANCE = 50.0
"""Distance in m of a centre of pressure from the origin that is not reached in any laboratory."""
MAX_OFFSET = 10.0
"""Vertical force in N that a zeroed plate does not show while unloaded."""
MAX_NOISE = 8.0
"""Standard deviation in N of the vertical force on an unloaded plate; up to 1 in measured walks."""
UNLOADED_TIME = 0.1
"""Time in s without a contact after which a plate is unloaded: in shorter gaps, a foot comes or goes."""
MIN_PUSH = 0.02
"""Ratio of mean horizontal to vertical force above which braking and propulsion can be distinguished."""
MAX_CLOCK_SHIFT = 0.03
"""Warn if the clocks of markers and plates differ by more, in s; events scatter by 0.015 s about `EARLY`."""
MAX_STANCE_RATIO = 1.12
"""Warn if stance by the motion is longer or shorter than by the force by more than this factor."""
OFF_THE_FOOT = {"behind the heel": 0.03, "ahead of the toe marker": 0.05, "beside the line from heel to toe": 0.08}
"""Distances in m of the centre of pressure that no foot reaches: from the markers of heel and toe in 5 % of a contact,
and from their line in the median. In eight contacts of three people they are -0.016, 0.021 and 0.049 or less."""
MAX_SURFACE_HEIGHT = 0.02
"""Distance in m of the plates' surface from the floor above which to warn; up to 0.008 in measured walks."""
MIN_PRESSURE_PATH = 0.02
"""Least distance in m that the centre of pressure moves forward of the ankle in the middle half of a contact."""


def plate_warnings(leg: Leg, load: Load | None) -> list[str]:
    """Warnings about the plates of a trial; empty if there are none."""
    askew, sound = _slanted(leg), [plate for plate in leg.recording.forces if not slanted(leg, plate)]
    unusable = _away(leg) or _scale(leg, load) if sound else []
    if unusable or not sound:
        return [*askew, *unusable]
    found = [line for plate in sound for line in (*_zero(leg, plate), *_elsewhere(leg, plate))]
    contacts = [] if load is None else _contact_warnings(leg, load)
    return [*askew, *found, *_surface(leg, sound), *contacts]


def _contact_warnings(leg: Leg, load: Load) -> list[str]:
    """Warnings about the contacts of the leg's foot."""
    motion = leg.motion_events
    known = lambda found: [c for c in found if np.isfinite(c.start) and np.isfinite(c.end)]
    stances = known(load.stances)
    whole = [
        (leg, leg.recording.forces[c.number], c.start, c.end)
        for c in known(load.contacts)
        if c.end - c.start >= MIN_CONTACT
    ]
    curves = [_contact_curves(*contact) for contact in whole]
    return [
        *_too_long(load, motion),
        *(_paces(leg.recording.rate, stances, motion) or _clocks(stances, motion)),
        *_turned([force for force, _ in curves]),
        *_path([ahead for _, ahead in curves]),
        *_outside(leg, [_off_the_foot(*contact) for contact in whole]),
    ]


def _too_long(load: Load, motion: MotionEvents) -> list[str]:
    """A warning about contacts that are longer than any stance, and are not used."""
    stride = float(np.median(np.diff(motion.strikes))) if motion.strikes.size > 1 else np.inf
    lines = [
        f"a contact of {c.end - c.start:.2f} s on {c.plate}, in strides of {stride:.2f} s" for c in load.too_long[:1]
    ]
    return [f"{what}, is not used: are both feet on the plate, or are its forces noisy?" for what in lines]


def _paces(rate: float, contacts: list[PlateContact], motion: MotionEvents) -> list[str]:
    """Warns if stance durations imply another frame rate than stated."""
    stood, (strikes, offs) = [c.end - c.start for c in contacts], motion
    moved = [float(np.min(offs[offs > t])) - t - EARLY[0] + EARLY[1] for t in strikes if (offs > t).any()]
    if not stood or not moved:
        return []
    here, there = float(np.median(moved)), float(np.median(stood))
    if not MAX_STANCE_RATIO < max(here / there, there / here) < 1.5:
        return []
    what = f"stance lasts {here:.2f} s by the motion, and {there:.2f} s on the plates"
    return [f"{what}: frames at {rate * here / there:.0f} Hz, or a foot partly off the plate?"]


def _clocks(contacts: list[PlateContact], motion: MotionEvents) -> list[str]:
    starts, ends = np.array([[c.start, c.end] for c in contacts]).reshape(-1, 2).T
    shift = behind(starts, ends, motion)
    if shift is None or abs(shift) <= MAX_CLOCK_SHIFT:
        return []
    word = "behind" if shift > 0 else "ahead of"
    what = f"the markers are about {1e3 * abs(shift):.0f} ms {word} the plates by heel strikes and toe-offs"
    return [f"{what}: two clocks?"]


def _slanted(leg: Leg) -> list[str]:
    """A warning about plates whose axes are not those of the markers, and whose forces are therefore not used."""
    wrong = [plate for plate in leg.recording.forces if slanted(leg, plate)]
    if not wrong:
        return []
    along = lambda vector: "xyz"[int(np.argmax(np.abs(vector)))]
    force, up = np.concatenate([plate.force for plate in wrong]), along(leg.axes.rotation[1])
    mostly = along(np.nansum(np.abs(force), axis=0))
    what = f"forces on {', '.join(plate.name for plate in wrong)} are mostly along {mostly}"
    unused = "they are not used; export forces and markers in the same axes"
    return [f"{what}, and the body is upright along {up}: {unused}"]


def _away(leg: Leg) -> list[str]:
    """A warning if all forces were recorded before the frames, or after them."""
    time, plates = leg.recording.time, leg.recording.forces
    first, last = min(plate.time[0] for plate in plates), max(plate.time[-1] for plate in plates)
    if first <= time[-1] and last >= time[0]:
        return []
    what = f"forces are from {first:.2f} to {last:.2f} s, frames from {time[0]:.2f} to {time[-1]:.2f} s"
    return [f"{what}, and no force is used: two clocks?"]


def _scale(leg: Leg, load: Load | None) -> list[str]:
    """A warning if no force is used because the unit of forces or centres of pressure is implausible."""
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
    middle = [x for x in (known_median(point.max(axis=1, initial=0.0)) for point in pressed) if np.isfinite(x)]
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
    elif quiet.size > 0.02 * vertical.size and (noise := float(np.std(quiet))) > MAX_NOISE:
        what = f"{plate.name} has noise of {noise:.0f} N (standard deviation) while nobody is on it"
        yield f"{what}: {LOADED_FORCE:g} N are reached before heel strike and after toe-off; filter its forces"


def _surface(leg: Leg, plates: Sequence[GroundReaction]) -> list[str]:
    """A warning if the plates' surface is not the floor of the heights; 0 everywhere means that it was not recorded."""
    if leg.axes.slope or leg.axes.tilt:
        return []
    lift = 0.0 if leg.joints is None else float(np.nanmedian(leg.hip[:, 1] - leg.joints.hip[:, 1]))
    pressed = [
        (plate.point @ leg.axes.rotation[1])[plate.force @ leg.axes.rotation[1] > LOADED_FORCE]
        for plate in plates
        if plate.point is not None
    ]
    heights = [x for x in map(known_median, pressed) if np.isfinite(x)]
    off = float(np.median([x + lift for x in heights])) if any(heights) else 0.0
    word = "above" if off > 0 else "below"
    what = f"the surface of the plates is {1e3 * abs(off):.0f} mm {word} the floor that heights are from"
    return [f"{what}: is the floor at the laboratory's zero?"] if abs(off) > MAX_SURFACE_HEIGHT else []


def all_foreign(leg: Leg) -> bool:
    """Whether the centres of pressure of all contacts in a trial, as far as known, are away from both feet.

    Examples:
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.capture.plates import all_foreign
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> all_foreign(leg_of(synthetic_recording(reference_gait()), "right"))  # without plates
        False
    """
    found = [d for plate in leg.recording.forces for d in _from_feet(leg, plate)]
    return bool(found) and min(found) > MAX_FOOT_DISTANCE


def _from_feet(leg: Leg, plate: GroundReaction) -> list[float]:
    """Distance in m of the nearer foot from the centre of pressure, for each contact in which both feet are seen."""
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


def _off_the_foot(leg: Leg, plate: GroundReaction, start: float, end: float) -> np.ndarray:
    """Distances in m of a contact's centre of pressure behind the heel, ahead of the toe marker, and beside their line.

    NaN without markers of both, and where the centre of pressure is not known.
    """
    joints = leg.joints
    if plate.point is None or joints is None or joints.heel is None or joints.toe is None:
        return np.full(3, np.nan)
    on = slice(*np.searchsorted(plate.time, [start, end]))
    time, firm = plate.time[on], plate.force[on] @ leg.axes.rotation[1] > FAINT
    level = lambda track: sampled_at(leg.recording.time, track[:, ::2], time[firm])
    heel, toe, point = level(joints.heel), level(joints.toe), (plate.point[on] @ leg.axes.rotation.T)[firm, ::2]
    length = np.linalg.norm(toe - heel, axis=1)
    (x, z), (along, across) = (point - heel).T, ((toe - heel) / length[:, None]).T
    forward = x * along + z * across
    known = np.isfinite(forward)
    if not known.any():
        return np.full(3, np.nan)
    forward, beyond, lateral = (v[known] for v in (forward, forward - length, z * along - x * across))
    return np.array([-np.percentile(forward, 5), np.percentile(beyond, 95), abs(np.median(lateral))])


def _outside(leg: Leg, off: list[np.ndarray]) -> list[str]:
    """A warning if the centre of pressure, in the median of the contacts, is not under the foot."""
    known = [x for x in off if np.isfinite(x).all()]
    middle = np.median(known, axis=0) if known else np.zeros(3)
    wrong = [
        f"{1e3 * x:.0f} mm {where}" for x, (where, most) in zip(middle, OFF_THE_FOOT.items(), strict=True) if x > most
    ]
    what = f"the centre of pressure is up to {' and '.join(wrong)} of the {leg.side} foot"
    return [f"{what}: corners or origin of the plates, or another clock? Joint moments follow it"] if wrong else []


def _turned(forces: list[np.ndarray]) -> list[str]:
    """A warning if horizontal forces do not look like walking: a foot first brakes, then pushes, along the path."""
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
    known = [
        x for x in ahead if len(x) > 20 and np.isfinite(x[len(x) // 10 : -(len(x) // 10)]).all()
    ]  # faint forces excluded
    travels = [float(quarter(x, 0.6) - quarter(x, 0.15)) for x in known]
    if not travels or np.median(travels) > MIN_PRESSURE_PATH:
        return []
    what = f"the centre of pressure moves {1e3 * np.median(travels):+.0f} mm forward of the ankle in stance"
    return [f"{what}, where 50 to 150 mm are usual: corners of the plates, or unit of their moments?"]
