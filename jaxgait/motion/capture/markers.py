"""What looks wrong with markers that are all there: some on another clock than the others, a pelvis that is askew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Float

from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.maps import Found
from jaxgait.motion.capture.smoothing import sampled_at

LAG = 0.02
"""Time in s by which one end of a segment may seem to lag the other; skin makes up to 8 ms of it in measured walks."""
EXPLAINED = 0.6
"""Share of a segment's change of length that the lag explains, from which it is one; skin made 0.5 of 40 ms."""
ASKEW = 0.02
"""Mean difference in m of the heights of both ASIS; sound people whose walks were tried have up to 13 mm."""
SEGMENTS = (("hip", "knee"), ("knee", "ankle"), ("ankle", "heel"), ("ankle", "toe"))

Points = Float[np.ndarray, "frames 2"]


def doubts(leg: Leg, found: Found) -> list[str]:
    """What looks wrong with the markers of a leg, found as in the map; empty if there is nothing to say."""
    return [*_late(leg), *_askew(leg, found)] if leg.ankle_angle is None else []


def _late(leg: Leg) -> list[str]:
    places, found = {"hip": leg.hip} | leg.points, []
    for above, below in SEGMENTS:
        if above in places and below in places:
            late, explained = _lag(places[above], places[below], leg.recording.rate)
            if abs(late) > LAG and explained > EXPLAINED:
                first, second = (below, above) if late > 0 else (above, below)
                found.append(f"the {first} lags the {second} by about {1e3 * abs(late):.0f} ms")
    if not found:
        return []
    return [f"{leg.side} leg: {', '.join(found)}, as their distance tells: markers on another clock, or filtered?"]


def _askew(leg: Leg, found: Found) -> Iterator[str]:
    above, behind = (_above(leg, pair) for pair in (found.asis, found.psis))
    if abs(above) > ASKEW:
        behind = f" (right PSIS {1e3 * behind:+.0f} mm)" if np.isfinite(behind) else ""
        word = "higher" if above > 0 else "lower"
        what = f"the right ASIS is {1e3 * abs(above):.0f} mm {word} than the left one{behind}"
        yield f"{what}, on average: a marker out of its place, or a pelvis that is oblique? Hip and thigh follow it"


def _above(leg: Leg, pair: Mapping[str, str]) -> float:
    """By how much in m the right of two markers is above the left one on average; NaN where that is not known."""
    if len(pair) < 2:
        return np.nan
    apart = (leg.recording.markers[pair["right"]] - leg.recording.markers[pair["left"]]) @ leg.axes.rotation[1]
    known = apart[np.isfinite(apart)]
    return float(known.mean()) if known.size else np.nan


def _lag(above: Points, below: Points, rate: float) -> tuple[float, float]:
    """Time in s by which a segment's lower end lags its upper end, and the share of its change of length that goes so.

    If the lower end moves at v and is recorded late by t, half the squared length of the segment d changes by t d.v.
    """
    time = np.arange(above.shape[0]) / rate
    late, explained = 0.0, 0.0
    for i in range(6):
        moved = sampled_at(time, below, time + late)
        apart, speed = above - moved, np.gradient(0.5 * (above + moved), 1.0 / rate, axis=0)
        both = np.stack([0.5 * np.sum(apart**2, axis=1), np.sum(apart * speed, axis=1)])
        both = both[:, np.isfinite(both).all(axis=0)]
        if both.shape[1] < 20 or not np.ptp(both, axis=1).all():
            return 0.0, 0.0
        (length, cross), (_, pull) = np.cov(both)
        explained = explained if i else float(cross**2 / pull / length)
        late = float(np.clip(late + cross / pull, -0.3, 0.3))
    return late, explained
