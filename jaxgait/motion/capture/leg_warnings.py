"""Warnings about a measured leg: its markers, the lengths of its segments, its strides, its joint moments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from jaxgait.motion.capture.axes import Track
from jaxgait.motion.capture.dynamics import Dynamics
from jaxgait.motion.capture.leg import Leg, Options
from jaxgait.motion.capture.maps import MarkerSet
from jaxgait.motion.capture.smoothing import sampled_at
from jaxgait.motion.capture.strides import StrideCurve, jumps, unlike, unrepeated
from jaxgait.motion.norms import PEAKS, inside, odd_mass
from jaxgait.motion.recording import known_median
from jaxgait.support.checks import count_of, first_few

THIGH_TO_SHANK = (0.75, 1.3)
"""Usual ratio of the lengths of thigh and shank, between joint centres in the sagittal plane."""
MAX_LAG = {("hip", "knee"): 0.02, ("knee", "ankle"): 0.015, ("ankle", "heel"): 0.015, ("ankle", "toe"): 0.015}
"""Share of the stride by which one end of a segment, in space, may seem to lag the other.

In single strides of seven measured legs of four people it is up to 0.013 in the thigh and 0.007 below; markers that are
delayed by 30 ms, 0.025 of a stride, have 0.02 or more.
"""
EXPLAINED_SHARE = 0.75
"""Share of a segment's change of length that a lag must explain."""
MAX_CROSSING = 0.02
"""Median distance in m of a knee or ankle marker beyond the middle of the pelvis; feet that cross only come near it."""
MAX_OBLIQUITY = 0.02
"""Mean difference in m of the heights of both ASIS; measured walks have up to 0.013."""


PARTS = np.linspace(0.0, 1.0, 101)
"""Times at which a stride is sampled, as shares of it."""
MAX_TURN = np.radians(15.0)
"""Mean angle in rad of the pelvis to the direction of travel in a stride; three measured walks have up to 2 deg."""
PELVIS_WIDTH = (0.12, 0.38)
"""Usual distance in m between the ASIS, in children and adults."""
FLAT_LINES = (math.radians(-18.0), math.radians(10.0))
"""Angles in rad of the line from heel to toe of a flat foot, toe up; -10 to 1 deg in seven measured legs."""
MAX_SIDE_DIFFERENCE = {("hip", "knee"): 0.06, ("knee", "ankle"): 0.06, ("ankle", "heel"): 0.25}
"""Relative difference of distances in both legs; up to 0.03, 0.04 and 0.06 in three people."""
SHORTEST_STANCE = 0.5
"""Stance as a share of the stride below which the gait is running: walking has double support."""


def marker_warnings(leg: Leg, options: Options, stride_time: float) -> list[str]:
    """Warnings about the markers of a leg that makes strides of a mean time in s."""
    if leg.joints is None:
        return []
    marker_set = options.markers(leg.recording, leg.side)
    return [*_late(leg, stride_time), *_askew(leg, marker_set), *_crossed(leg, marker_set), *_narrow(leg, marker_set)]


def turn_warnings(leg: Leg, options: Options, kept: Sequence[StrideCurve]) -> list[str]:
    """A warning about strides in which the pelvis does not face along the path; empty if there are none."""
    marker_set = options.markers(leg.recording, leg.side)
    if leg.joints is None or len(marker_set.asis) < 2 or _narrow(leg, marker_set):
        return []
    right, left = (leg.axes.turned(leg.recording.markers[marker_set.asis[side]]) for side in ("right", "left"))
    across = right - left
    turned = {s.start: _yaw(sampled_at(leg.recording.time, across, s.start + s.period * PARTS)) for s in kept}
    listed = [f"{math.degrees(x):.0f} deg at {start:.2f} s" for start, x in turned.items() if abs(x) > MAX_TURN]
    what = f"the pelvis faces off the direction of travel in {count_of(len(listed), 'stride', 'strides')}"
    advice = "angles are of the plane of travel, and too small there: did the person turn or walk a curve?"
    return [f"{what} ({first_few(listed, 4)}): {advice}"] if listed else []


def _yaw(across: Track) -> float:
    """The mean angle in rad about the vertical by which a line from left to right is turned, in the walker's axes."""
    seen = across[np.isfinite(across).all(axis=1)]
    return math.atan2(float(np.sum(seen[:, 0])), float(np.sum(seen[:, 2]))) if len(seen) else 0.0


def _narrow(leg: Leg, marker_set: MarkerSet) -> list[str]:
    if not marker_set.pelvis or "hip_centre" in marker_set.roles:
        return []
    right, left = (leg.recording.markers[marker_set.asis[side]] for side in ("right", "left"))
    width = known_median(np.linalg.norm(right - left, axis=1))
    what = f"both ASIS are {1e3 * width:.0f} mm apart, where {1e3 * PELVIS_WIDTH[0]:.0f} to {1e3 * PELVIS_WIDTH[1]:.0f}"
    advice = "the hip joint centre follows from it: misplaced markers, or no z?"
    return [] if math.isnan(width) or inside(width, PELVIS_WIDTH) else [f"{what} mm is usual: {advice}"]


def _late(leg: Leg, stride_time: float) -> list[str]:
    found = []
    for (above, below), limit in MAX_LAG.items():
        upper, lower = (getattr(leg.joints, name) for name in (above, below))
        if upper is not None and lower is not None:
            late, explained = _lag(upper, lower, leg.recording.rate)
            if abs(late) > limit * stride_time and explained > EXPLAINED_SHARE:
                first, second = (below, above) if late > 0 else (above, below)
                found.append(f"the {first} lags the {second} by about {1e3 * abs(late):.0f} ms")
    what = f"{leg.side} leg: {', '.join(found)}, as their distance shows: markers on another clock, or filtered?"
    return [what] if found else []


def _askew(leg: Leg, marker_set: MarkerSet) -> list[str]:
    if len(marker_set.asis) < 2:
        return []
    right, left = (leg.recording.markers[marker_set.asis[side]] @ leg.axes.rotation[1] for side in ("right", "left"))
    apart = (right - left)[np.isfinite(right - left)]
    above = float(np.sum(apart)) / max(apart.size, 1)
    word = "higher" if above > 0 else "lower"
    what = f"the right ASIS is {1e3 * abs(above):.0f} mm {word} than the left one on average"
    return [f"{what}: a misplaced marker, or an oblique pelvis?"] if abs(above) > MAX_OBLIQUITY else []


def _crossed(leg: Leg, marker_set: MarkerSet) -> list[str]:
    """A warning about markers of knee and ankle on the wrong side of the pelvis."""
    if len(marker_set.asis) < 2:
        return []
    markers, outward = leg.recording.markers, leg.axes.rotation[2] * (1.0 if leg.side == "right" else -1.0)
    middle = 0.5 * (markers[marker_set.asis["right"]] + markers[marker_set.asis["left"]])
    names = marker_set.of("knee_lateral", "knee_centre", "ankle_lateral", "ankle_centre")
    beyond = {name: -known_median((markers[name] - middle) @ outward) for name in names}
    listed = ", ".join(f"{name} by {1e3 * far:.0f} mm" for name, far in beyond.items() if far > MAX_CROSSING)
    what = f"markers of the {leg.side} leg are beyond the middle of the pelvis: {listed}"
    return [f"{what}: were the labels of both legs swapped?"] if listed else []


def _lag(above: Track, below: Track, rate: float) -> tuple[float, float]:
    """Lag in s of a segment's lower end behind its upper end, and the share of its change of length that it explains.

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


def segment_warnings(lengths: Mapping[str, float], mass: float | None) -> list[str]:
    """Warnings about the lengths in m of a leg's segments, and about a mass in kg that does not suit them."""
    thigh, shank = lengths["thigh_m"], lengths["shank_m"]
    odd = "" if mass is None else odd_mass(mass, thigh, shank)
    found = [odd] if odd else []
    if not inside(thigh, (THIGH_TO_SHANK[0] * shank, THIGH_TO_SHANK[1] * shank)):
        found.append(
            f"a thigh of {thigh:.3f} m on a shank of {shank:.3f} m: are markers of pelvis, knee or ankle swapped?"
        )
    back, front = lengths.get("ankle_to_heel_marker_back_m"), lengths.get("ankle_to_toe_marker_fwd_m")
    behind = None
    if back is not None and front is not None and back + front < 0:
        behind = f"the toe is {-back - front:.3f} m behind the heel: markers swapped, or walking backwards?"
    elif back is not None and back < 0:
        behind = f"the heel is {-back:.3f} m ahead of the ankle: were markers of heel and ankle swapped?"
    elif front is not None and front < 0:
        behind = f"the toe is {-front:.3f} m behind the ankle: were markers of toe and ankle swapped?"
    return [*found, *([] if behind is None else [f"{behind} Events and angles of the foot follow them"])]


def side_warnings(leg: Leg, other: Leg | None) -> list[str]:
    """A warning about distances that differ between the legs more than usual; empty if one has no markers."""
    if other is None or leg.joints is None or other.joints is None:
        return []
    found = []
    for (above, below), share in MAX_SIDE_DIFFERENCE.items():
        ends = [(getattr(one.joints, above), getattr(one.joints, below)) for one in (leg, other)]
        if any(upper is None or lower is None for upper, lower in ends):
            continue
        own, theirs = (known_median(np.linalg.norm(upper - lower, axis=1)) for upper, lower in ends)
        if abs(own - theirs) >= share * 0.5 * (own + theirs):  # (not if they were never seen together)
            found.append(f"{above} to {below} {1e3 * own:.0f} and {1e3 * theirs:.0f} mm")
    what = f"the {leg.side} leg and the {other.side} one differ: {', '.join(found)}"
    return [f"{what}: a misplaced marker, or a shorter leg?"] if found else []


def flat_warnings(line: float) -> list[str]:
    """A warning if the foot's line, at an angle in rad, is too steep to be flat where its angle is set to 0."""
    if inside(line, FLAT_LINES) or math.isnan(line):
        return []
    word = "falls" if line < 0 else "rises"
    what = f"the line from heel to toe {word} by {math.degrees(abs(line)):.0f} deg where the foot is taken to be flat"
    return [f"{what}: walking on the toes, or a misplaced marker? Angles of foot and ankle are from there"]


def dynamics_warnings(dynamics: Dynamics | None, legs: Sequence[Leg]) -> list[str]:
    """Warnings about joint moments of legs whose joints were not measured, and about unusual moments and powers."""
    if dynamics is None:
        return []
    generic = "joint moments are about joints of generic segment lengths, which were not measured"
    found = [f"{generic}: 20 mm change them by 0.2 Nm/kg"] if any(leg.foot is None for leg in legs) else []
    for name, ends in dynamics.peaks.items():
        for end, value, usual in zip(("lowest", "highest"), ends, PEAKS[name], strict=True):
            if not inside(value, usual):
                joint, kind, unit = name.split("_", 2)
                what = f"{joint} {kind} is {end} at {value:.2f} {unit.replace('_', '/')}"
                found.append(f"{what}, where {usual[0]:g} to {usual[1]:g} is usual: check mass and centre of pressure")
    return found


def stride_warnings(kept: Sequence[StrideCurve]) -> list[str]:
    """Warnings about the kept strides and their mean."""
    found = []
    if len(kept) == 1:
        found.append("only one stride: no standard deviation, and it may not be typical")
    if differs := unlike(list(kept)):
        found.append(f"the only two strides differ, and which one is wrong is not known: in one, {differs}")
    offs = [s.toe_off for s in kept if s.toe_off is not None]
    if offs and float(np.mean(offs)) < SHORTEST_STANCE:
        what = f"stance lasts {float(np.mean(offs)):.0%} of the stride, less than in any walk"
        found.append(f"{what}: running, or wrong events? Models and norms are of walking")
    return [*found, *unrepeated((s.trial, s.start, jumps(s)) for s in kept)]
