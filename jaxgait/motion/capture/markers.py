"""A planar leg from markers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from jaxgait.motion.capture.axes import axes_of, handed
from jaxgait.motion.capture.frozen_markers import MAX_MARKER_SPEED, without_repeats
from jaxgait.motion.capture.joints import Joints, joints
from jaxgait.motion.capture.leg import Leg, Options, Plane, Signal
from jaxgait.motion.capture.maps import OTHER_SIDE, MarkerSet
from jaxgait.motion.capture.smoothing import (
    describe_lowpass,
    described_gaps,
    fill,
    long_gap_warnings,
    lowpass,
    rate_warnings,
)
from jaxgait.motion.capture.static_trial import standing_of, standing_remarks, standing_warnings
from jaxgait.motion.recording import Recording
from jaxgait.support.checks import count_of, first_few

FLOOR = (0.0, 0.12)
"""Heights in m above the laboratory's zero of the lowest marker of a standing foot: no marker lies below the floor.

In seven measured walks of four people it is 0.019 to 0.040 high.
"""
SOLE_DEPTH = 0.03
"""Height in m of the lowest marker of a foot above its sole, where the floor has to be found from it."""
SKIN_STEP, SKIN_SPEED, SKIN_SHIFT = 0.02, 0.1, 0.05
"""Change in m of the distance between two markers of a segment that skin explains: at once, per second, and at most.

From frame to frame it is up to 0.008 in seven measured walks of four people, and up to 0.023 over a whole walk.
"""
NOISE_STEPS = 8.0
"""The same for noisy markers, as a multiple of the median change from frame to frame."""


def from_markers(recording: Recording, side: str, marker_set: MarkerSet, options: Options, slope: float) -> Leg:
    """The leg from markers, whose positions are in m, with warnings about what looks wrong with them."""
    other = options.markers(recording, OTHER_SIDE[side])
    names = marker_set.names | {*other.of("heel", "toe", "ankle_lateral")}
    recording, repeated = without_repeats(recording, sorted(names))
    missing = {name: np.asarray(~np.isfinite(recording.markers[name]).all(axis=1)) for name in marker_set.names}
    notes = [f"markers: {marker_set.set_name} ({marker_set.describe()})"]
    smooth, guessed = _smooth(recording, sorted(names), options, notes)
    axes = axes_of(recording, smooth, marker_set)
    axes, warnings = handed(axes, smooth, marker_set)
    axes = axes.levelled(slope) if slope else axes
    warnings += [
        *repeated,
        *guessed,
        *axes.warnings,
        *rate_warnings(recording.rate, options.cutoff),
        *_jumps(recording, marker_set, sorted(names)),
    ]
    turned = {name: axes.turned(x) for name, x in smooth.items()}
    standing = standing_of(marker_set, side, options, recording)
    if options.static is not None:
        there = options.markers(options.static, side)
        warnings += standing_warnings(options.static, recording, there, marker_set)
    knee_notes, bent = standing_remarks(standing, options.standing_knee)
    warnings += bent
    body = joints(turned, marker_set, side, options.regression, standing)
    plane = _plane(body, _floor(turned, marker_set, bool(axes.slope)), warnings)
    back, front = plane.get("heel", plane["ankle"]), plane.get("toe", plane["ankle"])
    return Leg(
        recording=recording,
        side=side,
        hip=plane["hip"],
        thigh=_hanging(plane["hip"], plane["knee"]),
        shank=_hanging(plane["knee"], plane["ankle"]),
        foot=np.arctan2(front[:, 1] - back[:, 1], front[:, 0] - back[:, 0]),
        ankle_angle=None,
        points={k: x for k, x in plane.items() if k != "hip"},
        other_foot=_middle(turned, other),
        own_foot=_middle(turned, marker_set),
        heel=body.ankle if body.heel is None else body.heel,
        pelvis=_pelvis_tilt(turned, marker_set),
        axes=axes,
        gaps={name: gap.astype(float) for name, gap in missing.items() if gap.any()},
        notes=(*notes, *axes.notes, *body.notes, *knee_notes),
        warnings=tuple(warnings),
        joints=body,
    )


def _plane(body: Joints, lift: float, warnings: list[str]) -> dict[str, Plane]:
    """Joints and markers of the foot in the sagittal plane, in m, raised by a height in m; extends the warnings."""
    points = {"hip": body.hip, "knee": body.knee, "ankle": body.ankle, "heel": body.heel, "toe": body.toe}
    if lift:
        warnings.append(f"the floor is not at the laboratory's zero: heights are raised by {1e3 * lift:.0f} mm")
    if body.heel is None or body.toe is None:
        warnings.append("the foot has one marker besides the ankle: its line goes through the ankle")
    return {k: x[:, :2] + np.array([0.0, lift]) for k, x in points.items() if x is not None}


def _smooth(
    recording: Recording, names: list[str], options: Options, notes: list[str]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The positions without short gaps and noise, and a warning about long gaps that are filled; extends the notes."""
    filled = {name: fill(recording.markers[name], recording.rate, options.max_gap) for name in names}
    count = sum(f.filled for f in filled.values())
    left = {name: f.left for name, f in filled.items() if f.left}
    seen = lambda x: np.asarray(np.isfinite(x).all(axis=1))
    lost = {name: seen(f.values) & ~seen(recording.markers[name]) for name, f in filled.items()}
    where = f" ({described_gaps(lost, recording.time, recording.rate)})" if count else ""
    notes.append(f"gaps of up to {options.max_gap:g} s are filled: {count_of(count, 'position', 'positions')}{where}")
    if left:
        long = [f"{name} {frames / recording.rate:.2f} s" for name, frames in left.items()]
        notes.append(f"longer gaps remain: {first_few(long)}")
    cutoff = options.cutoff
    notes.append(describe_lowpass(recording.rate, cutoff))
    smooth = {name: lowpass(f.values, recording.rate, cutoff) for name, f in filled.items()}
    return smooth, long_gap_warnings(lost, recording.time, recording.rate)


def _jumps(recording: Recording, marker_set: MarkerSet, names: list[str]) -> list[str]:
    """Warnings about markers that move faster than any limb, or whose distance from others of their segment jumps."""
    fast: dict[str, str] = {}
    stay: list[int] = []  # first jumps of markers that do not jump back, as from a code
    for name in names:
        move = np.diff(recording.markers[name], axis=0)
        step = np.linalg.norm(move, axis=1)
        there = np.flatnonzero(step * recording.rate > MAX_MARKER_SPEED)  # steps into gaps are NaN
        if there.size:
            if np.linalg.norm(move[there].sum(axis=0)) > 0.5 * step[there[0]]:
                stay.append(int(there[0]))
            fast[name] = f"{name} by {step[there[0]]:.3g} m at {recording.time[there[0] + 1]:.2f} s"
    apart = _apart(recording, marker_set, set(fast))
    code = "swapped labels, or a code for missing values? leave those cells empty"
    if len({*stay}) == 1 and 2 * len(stay) > len(names):
        code = "several passes in one file? give each of them as a file of its own"
    found = [f"markers jump within a frame: {first_few([*fast.values()], 4)}: {code}"] if fast else []
    what = f"the distance of markers on one segment jumps: {first_few(apart, 4)}"
    return [*found, *([f"{what}: labels swapped for a while, or a marker that came off?"] if apart else [])]


def _apart(recording: Recording, marker_set: MarkerSet, done: set[str]) -> list[str]:
    """The jumps of distances on one segment, the largest first; each marker once, and none of those in `done`."""
    found = []
    for pair in (pair for names in marker_set.segments for pair in itertools.combinations(dict.fromkeys(names), 2)):
        one, other = (recording.markers[name] for name in pair)
        distance = np.linalg.norm(one - other, axis=1)
        seen = np.flatnonzero(np.isfinite(distance))
        step, wait = np.abs(np.diff(distance[seen])), np.diff(seen) / recording.rate
        if not step.size:
            continue
        usual = np.minimum(SKIN_STEP + SKIN_SPEED * wait, SKIN_SHIFT)
        beyond = step - np.maximum(usual, NOISE_STEPS * np.median(step))
        if beyond[most := int(np.argmax(beyond))] > 0:
            found.append((float(step[most]), recording.time[seen[most + 1]], pair))
    listed = []
    for step, time, pair in sorted(found, reverse=True):
        if done.isdisjoint(pair):
            listed.append(f"{' and '.join(pair)} by {1e3 * step:.0f} mm at {time:.2f} s")
            done |= set(pair)
    return listed


def _floor(markers: Mapping[str, np.ndarray], marker_set: MarkerSet, ramp: bool) -> float:
    """Offset in m that puts the floor at zero height; 0 if it is there already, as a ramp is at one place at most."""
    lowest = float(min(np.nanpercentile(markers[name][:, 1], 5) for name in marker_set.of("heel", "toe")))
    return 0.0 if FLOOR[0] <= lowest <= FLOOR[1] and not ramp else SOLE_DEPTH - lowest


def _hanging(above: Plane, below: Plane) -> Signal:
    """Angle in rad of a segment from the downward vertical, forward positive."""
    return np.arctan2(below[:, 0] - above[:, 0], above[:, 1] - below[:, 1])


def _middle(markers: Mapping[str, np.ndarray], marker_set: MarkerSet) -> np.ndarray | None:
    names = marker_set.of("heel", "toe") or marker_set.of("ankle_lateral")
    return np.mean([markers[name] for name in names], axis=0) if names else None


def _pelvis_tilt(markers: Mapping[str, np.ndarray], marker_set: MarkerSet) -> np.ndarray | None:
    if not marker_set.pelvis:
        return None
    ends = (marker_set.asis.values(), marker_set.back_of_pelvis)
    front, back = (np.mean([markers[name] for name in names], axis=0) for names in ends)
    return np.arctan2(back[:, 1] - front[:, 1], front[:, 0] - back[:, 0])
