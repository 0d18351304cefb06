"""Where the foot stands: the slope of the ground, and whether the foot stands on it at all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.axes import OVERGROUND_SPEED, slope_text
from jaxgait.motion.capture.leg import Leg, Options
from jaxgait.motion.capture.leg_source import leg_of
from jaxgait.motion.capture.maps import OTHER_SIDE
from jaxgait.motion.capture.treadmill import BELT_SPEED
from jaxgait.motion.norms import inside
from jaxgait.motion.recording import Recording

STANDING = (0.15, 0.45)
"""Shares of a stride between which the front of the foot stands on the ground, even while the heel rises."""
LEAST_STEP = 0.3
"""Least distance in m between two footholds that show a slope."""
LEAST_RISE = 0.015
"""Difference in m of the heights of the first and the last foothold above which the ground slopes.

Two footholds on a level floor differ by up to 0.011 in five measured walks of three people.
"""
WITH_THE_HIP = (0.5, 1.5)
"""Ratio of the rises of hip and footholds on a slope; if a marker moves on the foot, only the footholds rise."""
LEAST_INCLINE = math.radians(3.0)
"""Slope in rad above which a belt is inclined: feet on level belts seem to rise or fall by up to 0.014."""
MAX_DEVIATION = 0.006
"""Deviation in m from steady motion above which a foot does not stand; up to 0.001 in measured walks."""

SAME_LINE = math.cos(math.radians(15.0))
"""Cosine of the angle between two paths up to which they are along the same line."""


class Foothold(NamedTuple):
    """The front of the foot while it stands."""

    forward: float
    up: float
    """Mean position in m."""
    hip: float
    """Mean height of the hip in m meanwhile."""
    speed: float
    """Forward speed in m/s: 0 overground, negative on a belt."""
    climb: float
    """Upward speed in m/s."""
    deviation: float
    """Root mean square deviation in m from this steady motion."""


def footholds(leg: Leg) -> list[Foothold]:
    """The footholds of a leg, one after each heel strike by the motion; none unless there are two strikes.

    Examples:
        >>> from jaxgait.motion.capture.foot_contact import footholds
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> leg = leg_of(synthetic_recording(reference_gait()), "right")
        >>> print([round(one.forward, 1) for one in footholds(leg)])  # m
        [2.0, 3.4, 4.8]
    """
    strikes = leg.motion_events.strikes
    if strikes.size < 2:
        return []
    front = leg.points.get("toe", leg.points.get("heel", leg.points["ankle"]))
    time, stride = leg.recording.time, float(np.median(np.diff(strikes)))
    spans = [(t + STANDING[0] * stride, t + STANDING[1] * stride) for t in strikes]
    parts = [(time >= a) & (time <= b) for a, b in spans if b <= time[-1]]
    seen = np.asarray(np.isfinite(np.column_stack([front, leg.hip])).all(axis=1))
    return [_foothold(time[on], front[on], leg.hip[on, 1]) for on in parts if on.sum() > 3 and seen[on].all()]


def _foothold(time: np.ndarray, front: np.ndarray, hip: np.ndarray) -> Foothold:
    x, y = front.T
    (speed, start), (climb, height) = (np.polyfit(time, track, 1) for track in (x, y))
    apart = np.hypot(x - start - speed * time, y - height - climb * time)
    rms = float(np.sqrt(np.mean(apart**2)))
    return Foothold(float(x.mean()), float(y.mean()), float(hip.mean()), float(speed), float(climb), rms)


def level_legs(recordings: Sequence[Recording], side: str, options: Options) -> list[tuple[Leg, Leg | None]]:
    """The leg of a side in every recording, and the other one if it was recorded, turned so that the ground is level.

    Raises:
        MotionFormatError: as in `leg_of`, for the leg of the side.
    """
    found = [(leg_of(recording, side, options), _other_leg(recording, side, options)) for recording in recordings]
    slopes = slopes_of([[leg for leg in pair if leg is not None and leg.foot is not None] for pair in found])
    # from the original recordings: a leg's own lacks the positions that its warnings name
    turned = lambda recording, leg, slope: leg_of(recording, leg.side, options, slope) if slope else leg
    return [
        (turned(recording, own, slope), None if other is None else turned(recording, other, slope))
        for recording, (own, other), slope in zip(recordings, found, slopes, strict=True)
    ]


def _other_leg(recording: Recording, side: str, options: Options) -> Leg | None:
    try:
        return leg_of(recording, OTHER_SIDE[side], options)
    except MotionFormatError:
        return None


class _Ground(NamedTuple):
    """The ground under a trial."""

    slope: float
    """In rad, by the footholds, positive uphill; also if it cannot be distinguished from 0."""
    travel: float
    """Distance in m between the first and the last foothold of a foot; 0 if no foot has two of them."""
    slopes: bool
    """Whether it slopes."""
    forward: Float[np.ndarray, " 3"] | None
    """Direction of a walk overground, in the axes of the laboratory; None for other walks."""


def slopes_of(trials: Sequence[Sequence[Leg]]) -> list[float]:
    """Slope of the ground in rad under each trial, by both feet, positive uphill; 0 if it does not differ from level.

    Overground it is that of the footholds, if the hip rises with them; on a belt that of the standing feet's paths. A
    trial overground that is too short to show a slope gets the median slope of the others along the same line.
    """
    grounds = [_ground(legs) for legs in trials]
    return [one.slope if one.slopes else _slope_of_others(one, grounds) for one in grounds]


def _slope_of_others(one: _Ground, grounds: Sequence[_Ground]) -> float:
    """Median slope in rad of trials along the same line, there or back; 0 if the footholds of this one contradict."""
    if one.forward is None:
        return 0.0
    along = [(float(one.forward @ g.forward), g.slope) for g in grounds if g.slopes and g.forward is not None]
    slopes = [math.copysign(slope, slope * cosine) for cosine, slope in along if abs(cosine) > SAME_LINE]
    slope = float(np.median(slopes)) if slopes else 0.0
    return slope if abs(slope - one.slope) * one.travel < LEAST_RISE else 0.0


def _ground(legs: Sequence[Leg]) -> _Ground:
    found = [[one for one in footholds(leg) if one.deviation < MAX_DEVIATION] for leg in legs]
    forward = next((leg.axes.rotation[0] for leg in legs if _crosses(leg)), None)
    still = [[one for one in foot if abs(one.speed) < BELT_SPEED] for foot in found]
    pairs = [(a, b) for foot in still for a, b in itertools.combinations(foot, 2)]
    pairs = [(a, b) for a, b in pairs if abs(b.forward - a.forward) > LEAST_STEP]
    if pairs:
        rise = lambda a, b: np.array([b.up - a.up, b.hip - a.hip]) / (b.forward - a.forward)
        slope, of_hip = (float(x) for x in np.median([rise(a, b) for a, b in pairs], axis=0))
        travel = max(abs(b.forward - a.forward) for a, b in pairs)
        together = inside(of_hip / slope, WITH_THE_HIP) if slope else False
        return _Ground(math.atan(slope), travel, together and abs(slope) * travel > LEAST_RISE, forward)
    moving = [[math.atan(one.climb / one.speed) for one in foot if one.speed < -BELT_SPEED] for foot in found]
    inclines = [float(np.median(foot)) for foot in moving if foot]
    if forward is not None or not inclines:
        return _Ground(0.0, 0.0, False, forward)
    least = min(inclines, key=abs)  # a belt is inclined under both feet
    return _Ground(least, 0.0, abs(least) > LEAST_INCLINE and all(x * least > 0 for x in inclines), None)


def _crosses(leg: Leg) -> bool:
    """Whether the hip crosses the laboratory."""
    seen = np.flatnonzero(np.isfinite(leg.hip[:, 0]))
    if seen.size < 2:
        return False
    travel = float(leg.hip[seen[-1], 0] - leg.hip[seen[0], 0])
    return abs(travel) > OVERGROUND_SPEED * float(leg.recording.time[seen[-1]] - leg.recording.time[seen[0]])


def footing_notes(leg: Leg) -> list[str]:
    """Notes about the ground under a leg.

    Examples:
        >>> from jaxgait.motion.capture.foot_contact import footing_notes
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> footing_notes(leg_of(synthetic_recording(reference_gait()), "right"))
        []
    """
    tilt = leg.axes.tilt
    return [f"{slope_text(tilt)}: the laboratory's axes are tilted, and are levelled"] if tilt else []


def footing_warnings(leg: Leg) -> list[str]:
    """Warnings about where the foot of a leg stands: in the air, or on a slope.

    Examples:
        >>> from jaxgait.motion.capture.foot_contact import footing_warnings
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> footing_warnings(leg_of(synthetic_recording(reference_gait()), "right"))
        []
    """
    found, moves = [], [one.deviation for one in footholds(leg)]
    if moves and np.median(moves) > MAX_DEVIATION:
        what = f"the {leg.side} foot does not stand where it should: it moves by {1e3 * np.median(moves):.0f} mm (rms)"
        found.append(f"{what} off a steady motion: is it in the air, or are the markers of the foot wrong?")
    if leg.axes.slope:
        what = f"{slope_text(leg.axes.slope)}, a ramp or stairs"
        found.append(f"{what}: heights and angles are from the ground, not from the vertical")
    # on a belt, generic segments hardly show it
    if leg.foot is None and _crosses(leg) and (slope := slopes_of([[leg]])[0]):
        found.append(f"{slope_text(slope)}, and so does the hip: joint angles are not turned to a slope, markers are")
    return found
