"""A planar leg from markers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jaxgait.checks import count_of, first_few
from jaxgait.motion.capture import maps
from jaxgait.motion.capture.axes import axes_of, handed
from jaxgait.motion.capture.joints import Joints, joints
from jaxgait.motion.capture.leg import Leg, Options, Plane, Signal
from jaxgait.motion.capture.maps import MarkerSet
from jaxgait.motion.capture.repeats import MAX_MARKER_SPEED, without_repeats
from jaxgait.motion.capture.smoothing import cutoff_warnings, describe_lowpass, described_gaps, fill, lowpass
from jaxgait.motion.capture.standing import standing_of, standing_remarks, standing_warnings
from jaxgait.motion.recording import Recording

FLOOR = (0.0, 0.12)
"""Heights in m above the laboratory's zero of the lowest marker of a standing foot: no marker lies below the floor.

In seven measured walks of four people it is 0.019 to 0.040 high.
"""
SOLE_DEPTH = 0.03
"""Height in m of the lowest marker of a foot above its sole, where the floor has to be found from it."""


def from_markers(recording: Recording, side: str, marker_set: MarkerSet, options: Options, slope: float) -> Leg:
    """The leg of markers, whose positions are in m, with warnings of what looks wrong with them."""
    other = maps.find(recording.markers, maps.OTHER_SIDE[side], options.static is not None, options.own_map)
    names = marker_set.names | {other.roles[r] for r in ("heel", "toe", "ankle_lateral") if r in other.roles}
    recording, repeated = without_repeats(recording, sorted(names))
    missing = {name: np.asarray(~np.isfinite(recording.markers[name]).all(axis=1)) for name in marker_set.names}
    notes = [f"markers: {marker_set.set_name} ({marker_set.describe()})"]
    smooth = _smooth(recording, sorted(names), options, notes)
    axes = axes_of(recording, smooth, marker_set)
    axes, warnings = handed(axes, smooth, marker_set)
    axes = axes.levelled(slope) if slope else axes
    warnings += [
        *repeated,
        *axes.warnings,
        *cutoff_warnings(recording.rate, options.cutoff),
        *_jumps(recording, sorted(names)),
    ]
    turned = {name: axes.turned(x) for name, x in smooth.items()}
    standing = standing_of(marker_set, side, options, recording)
    warnings += [] if options.static is None else standing_warnings(options.static, recording, marker_set)
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
        segments=_segments(plane),
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


def _smooth(recording: Recording, names: list[str], options: Options, notes: list[str]) -> dict[str, np.ndarray]:
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
    return {name: lowpass(f.values, recording.rate, cutoff) for name, f in filled.items()}


def _jumps(recording: Recording, names: list[str]) -> list[str]:
    """A warning of markers that move faster from frame to frame than any limb; empty if there are none."""
    found = []
    for name in names:
        step = np.linalg.norm(np.diff(recording.markers[name], axis=0), axis=1)
        fast = np.flatnonzero(step * recording.rate > MAX_MARKER_SPEED)  # steps into gaps are NaN
        if fast.size:
            found.append(f"{name} by {step[fast[0]]:.3g} m at {recording.time[fast[0] + 1]:.2f} s")
    if not found:
        return []
    advice = "swapped labels, or a code for missing values? leave those cells empty"
    return [f"markers jump within a frame: {first_few(found, 4)}: {advice}"]


def _floor(markers: Mapping[str, np.ndarray], marker_set: MarkerSet, ramp: bool) -> float:
    """Offset in m that puts the floor at zero height; 0 if it is there, which a ramp is at one place at most."""
    low = [np.nanpercentile(markers[marker_set.roles[r]][:, 1], 5) for r in ("heel", "toe") if r in marker_set.roles]
    lowest = float(min(low))
    return 0.0 if FLOOR[0] <= lowest <= FLOOR[1] and not ramp else SOLE_DEPTH - lowest


def _hanging(above: Plane, below: Plane) -> Signal:
    """Angle in rad of a segment from the downward vertical, forward positive."""
    return np.arctan2(below[:, 0] - above[:, 0], above[:, 1] - below[:, 1])


def _middle(markers: Mapping[str, np.ndarray], marker_set: MarkerSet) -> np.ndarray | None:
    tracks = [markers[marker_set.roles[r]] for r in ("heel", "toe") if r in marker_set.roles]
    tracks = tracks or [markers[marker_set.roles[r]] for r in ("ankle_lateral",) if r in marker_set.roles]
    return np.mean(tracks, axis=0) if tracks else None


def _pelvis_tilt(markers: Mapping[str, np.ndarray], marker_set: MarkerSet) -> np.ndarray | None:
    if not marker_set.pelvis:
        return None
    ends = (marker_set.asis.values(), marker_set.back_of_pelvis)
    front, back = (np.mean([markers[name] for name in names], axis=0) for names in ends)
    return np.arctan2(back[:, 1] - front[:, 1], front[:, 0] - back[:, 0])


def _segments(plane: Mapping[str, Plane]) -> dict[str, float]:
    """Mean lengths in m of thigh and shank in the sagittal plane."""
    long = lambda a, b: float(np.nanmean(np.hypot(*(plane[a] - plane[b]).T)))
    return {"thigh_m": long("hip", "knee"), "shank_m": long("knee", "ankle")}
