"""Where the foot stands: the slope of the ground, and whether the foot stands on it at all."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from jaxgait.motion.capture.axes import OVERGROUND_SPEED
from jaxgait.motion.capture.events import by_motion
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.strides import BELT_SPEED
from jaxgait.motion.norms import inside

STANDING = (0.15, 0.45)
"""Shares of a stride between which the front of the foot stands on the ground, also while the heel rises."""
LEAST_STEP = 0.3
"""Distance in m of two footholds that show a slope."""
LEAST_RISE = 0.015
"""Difference in m of the heights of the first and the last foothold above which the ground slopes.

Two footholds on a level floor differ by up to 0.011 in five measured walks of three people.
"""
WITH_THE_HIP = (0.5, 1.5)
"""Ratio of the rises of hip and footholds on a slope; if a marker moves on the foot, only the footholds rise."""
LEAST_INCLINE = math.radians(3.0)
"""Slope in rad above which a belt is inclined: feet on level belts seem to rise or fall by up to 0.014."""
MAX_UNSTEADY = 0.006
"""Deviation in m from steady motion above which a foot does not stand; up to 0.001 in measured walks."""


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
    unsteady: float
    """Root mean square deviation in m from this steady motion."""


def footholds(leg: Leg) -> list[Foothold]:
    """Where the foot of a leg stands, by the heel strikes of the motion; none unless there are two of them.

    Examples:
        >>> from jaxgait.motion.capture.footing import footholds
        >>> from jaxgait.motion.capture.leg import leg_of
        >>> from jaxgait.motion.drive import recorded, reference_gait
        >>> print([round(one.forward, 1) for one in footholds(leg_of(recorded(reference_gait()), "right"))])  # m
        [2.0, 3.4, 4.8]
    """
    strikes, _ = by_motion(leg)
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


def slope_of(leg: Leg) -> float:
    """Slope of the ground in rad, positive uphill; 0 if it cannot be distinguished from a level one.

    Overground it is that of the footholds, if the hip rises with them; on a belt that of the standing foot's path.
    """
    found = [one for one in footholds(leg) if one.unsteady < MAX_UNSTEADY]
    still = [one for one in found if abs(one.speed) < BELT_SPEED]
    pairs = [(a, b) for i, a in enumerate(still) for b in still[i + 1 :] if abs(b.forward - a.forward) > LEAST_STEP]
    if pairs:
        rise = lambda a, b: np.array([b.up - a.up, b.hip - a.hip]) / (b.forward - a.forward)
        slope, of_hip = (float(x) for x in np.median([rise(a, b) for a, b in pairs], axis=0))
        way = float(np.ptp([one.forward for one in still]))
        together = inside(of_hip / slope, WITH_THE_HIP) if slope else False
        return math.atan(slope) if together and abs(slope) * way > LEAST_RISE else 0.0
    inclines = [] if _crosses(leg) else [math.atan(one.climb / one.speed) for one in found if one.speed < -BELT_SPEED]
    incline = float(np.median(inclines)) if inclines else 0.0
    return incline if abs(incline) > LEAST_INCLINE else 0.0


def _crosses(leg: Leg) -> bool:
    """Whether the hip crosses the laboratory."""
    seen = np.flatnonzero(np.isfinite(leg.hip[:, 0]))
    if seen.size < 2:
        return False
    way = float(leg.hip[seen[-1], 0] - leg.hip[seen[0], 0])
    return abs(way) > OVERGROUND_SPEED * float(leg.recording.time[seen[-1]] - leg.recording.time[seen[0]])


def footing_warnings(leg: Leg) -> list[str]:
    """Warnings about where the foot of a leg stands: in the air, or on a slope that joint angles are not turned to.

    Examples:
        >>> from jaxgait.motion.capture.footing import footing_warnings
        >>> from jaxgait.motion.capture.leg import leg_of
        >>> from jaxgait.motion.drive import recorded, reference_gait
        >>> footing_warnings(leg_of(recorded(reference_gait()), "right"))
        []
    """
    found, moves = [], [one.unsteady for one in footholds(leg)]
    if moves and np.median(moves) > MAX_UNSTEADY:
        what = f"the {leg.side} foot does not stand where it should: it moves by {1e3 * np.median(moves):.0f} mm (rms)"
        found.append(f"{what} off a steady motion: is it in the air, or are the markers of the foot wrong?")
    slope = slope_of(leg) if leg.foot is None and _crosses(leg) else 0.0  # on a belt, generic segments hardly show it
    if slope:
        what = f"the ground rises by {math.degrees(slope):+.1f} deg along the path"
        found.append(f"{what}, and so does the hip: joint angles are not turned to a slope, markers are")
    return found
