"""One leg in the sagittal plane: its points and angles over time, from markers or from joint angles."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxgait.checks import count_of, first_few, one_of
from jaxgait.motion.capture import maps
from jaxgait.motion.capture.axes import Axes, find_axes
from jaxgait.motion.capture.joints import (
    AUTO,
    HARRINGTON,
    KEEP,
    REGRESSIONS,
    STANDING_KNEE,
    Joints,
    Standing,
    joints,
    stand,
)
from jaxgait.motion.capture.maps import MarkerSet
from jaxgait.motion.capture.repeats import MAX_MARKER_SPEED, without_repeats
from jaxgait.motion.capture.smoothing import (
    DEFAULT_CUTOFF,
    MAX_GAP,
    cutoff_warnings,
    describe_lowpass,
    described_gaps,
    fill,
    lowpass,
)
from jaxgait.motion.capture.zeni import MotionEvents, motion_events
from jaxgait.motion.recording import Recording, upward

Plane = Float[np.ndarray, "frames 2"]
Signal = Float[np.ndarray, " frames"]

FLOOR = (0.0, 0.12)
"""Heights in m above the laboratory's zero of the lowest marker of a standing foot: no marker lies below the floor.

In seven measured walks of four people it is 0.019 to 0.040 high.
"""
STANDING_SWAY = 0.03
"""Standard deviation in m of a marker's position above which the person does not stand still."""
SKIN_SHIFT = 0.015
"""Change in m of the distance of two markers on a shank that skin movement does not explain."""
SOLE_DEPTH = 0.03
"""Height in m of the lowest marker of a foot above its sole, where the floor has to be found from it."""
MOST_NAMED = 40
"""Names of a recording that an error lists."""


@dataclasses.dataclass(frozen=True)
class Options:
    """How a leg is measured from a recording."""

    own_map: Mapping[str, Any] | None = None
    static: Recording | None = None
    regression: str = HARRINGTON
    """Regression that locates the hip joint centre: one of `REGRESSIONS`."""
    cutoff: float | None = DEFAULT_CUTOFF
    """Cut-off of the low-pass in Hz; None leaves the data unfiltered."""
    max_gap: float = MAX_GAP
    """Longest gap that is filled, in s."""
    standing_knee: str = AUTO
    """How to treat knee flexion in the standing trial: "auto" subtracts up to 12 deg as an offset of the markers,
    "keep" subtracts nothing (for people who cannot straighten the knee), and "zero" subtracts any angle."""

    def __post_init__(self):
        one_of("regression", self.regression, REGRESSIONS)
        if self.standing_knee not in STANDING_KNEE:
            raise ValueError(f"standing_knee is one of {', '.join(STANDING_KNEE)}, got {self.standing_knee!r}")
        if self.cutoff is not None and not 0.0 < self.cutoff < np.inf:
            raise ValueError(f"the cut-off must be positive (0 on the command line for none), got {self.cutoff:g} Hz")
        if not self.max_gap >= 0.0:
            raise ValueError(f"the longest gap that is filled must not be negative, got {self.max_gap:g} s")


@dataclasses.dataclass(frozen=True)
class Leg:
    """Points in m (x forward, y up) and angles in rad of one leg; NaN in gaps."""

    recording: Recording
    side: str
    hip: Plane
    thigh: Signal
    shank: Signal
    foot: Signal | None
    """Line of the foot from the horizontal, toe up; its offset is not removed. None if the ankle angle is recorded."""
    ankle_angle: Signal | None
    """Recorded ankle angle, dorsiflexion positive; None if it follows from the foot."""
    points: dict[str, Plane]
    """Knee, ankle, heel and toe, as far as they are known."""
    other_foot: Float[np.ndarray, "frames 3"] | None
    own_foot: Float[np.ndarray, "frames 3"] | None
    """Middle of the feet in the walker's axes, to tell which one is on a plate."""
    heel: Float[np.ndarray, "frames 3"]
    """Heel, or ankle if the heel has no marker, in the walker's axes; z is NaN if joint angles were recorded."""
    pelvis: Signal | None
    """Forward (anterior) tilt of the pelvis in rad; None without pelvis markers.

    It is the angle below the horizontal, in the sagittal plane, of the line from the middle of the PSIS, or the sacrum,
    to the middle of the ASIS (the forward axis of the pelvis in Wu et al. 2002, J Biomech 35:543-548); if joint angles
    were recorded, `pelvis_tilt` of the opposite sign.
    """
    axes: Axes
    segments: dict[str, float]
    """Lengths in m."""
    gaps: dict[str, Float[np.ndarray, " frames"]]
    """1 where a marker of the leg was missing in the recording."""
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def foot_line(self) -> Signal:
        """The line of the foot, toe up; that of the sole if the ankle angle is recorded."""
        if self.foot is not None:
            return self.foot
        assert self.ankle_angle is not None, "a leg has the line of its foot or an ankle angle"
        return self.shank + self.ankle_angle

    @functools.cached_property
    def motion_events(self) -> MotionEvents:
        """Heel strikes and toe-offs by the motion alone."""
        ahead = lambda name: self.points.get(name, self.points["ankle"])[:, 0] - self.hip[:, 0]
        return motion_events(ahead("heel"), ahead("toe"), self.recording.time, self.recording.rate)


def leg_of(recording: Recording, side: str, options: Options = Options(), slope: float = 0.0) -> Leg:
    """The leg of a side, from markers if they make one, otherwise from joint angles.

    Args:
        recording: of the walk.
        side: right or left.
        options: how it is measured.
        slope: of the ground in rad, positive uphill; markers are turned so that it is level.

    Raises:
        MotionFormatError: naming what is missing.
    """
    if options.static is not None:
        options = dataclasses.replace(options, static=_named_alike(options.static, recording))
    marker_set = maps.find(recording.markers, side, options.static is not None, options.own_map)
    lacking = marker_set.lacks(options.static is not None)
    if not lacking:
        return _upright(_from_markers(recording, side, marker_set, options, slope))
    from jaxgait.motion.capture.coordinates import angle_names, from_angles, has_angles

    if has_angles(recording, side):
        return _upright(from_angles(recording, side, options.cutoff, options.max_gap))
    if recording.angles and not recording.markers:
        absent = ", ".join(name for name in angle_names(side) if name not in recording.angles)
        recorded = first_few([*recording.angles], MOST_NAMED)
        what = f"no {side} leg: of the joint angles that make one, {absent} not found among {recorded}"
        raise recording.error(what, "export the whole result of inverse kinematics, or name the columns so")
    there = first_few([*recording.markers, *recording.angles], MOST_NAMED) or "nothing"
    what = f"no {side} leg: {', '.join(lacking)} not found among {there}"
    advice = "name the markers in a map of your own (--markers map.toml)"
    if not marker_set.lacks(carried=True):
        advice = "give a standing trial (--static), whose knee and ankle markers the shank's cluster carries"
    elif not maps.find(recording.markers, maps.OTHER_SIDE[side], options.static is not None, options.own_map).lacks(
        False
    ):
        advice = f"the {maps.OTHER_SIDE[side]} leg is there"
    raise recording.error(what, advice)


def _upright(leg: Leg) -> Leg:
    """The leg with the forces of all plates upward, and notes on those that were not."""
    recording, notes = upward(leg.recording, leg.axes.rotation[1])
    return dataclasses.replace(leg, recording=recording, notes=leg.notes + notes)


def _named_alike(static: Recording, recording: Recording) -> Recording:
    """The standing trial with the walk's names of markers, where a subject's prefix or the case differs."""
    plain = lambda name: name.split(":")[-1].strip().lower()
    there = {plain(name): name for name in recording.markers if name not in static.markers}
    return dataclasses.replace(static, markers={there.get(plain(n), n): x for n, x in static.markers.items()})


def _from_markers(recording: Recording, side: str, marker_set: MarkerSet, options: Options, slope: float) -> Leg:
    """The leg of markers, with warnings of what looks wrong with them."""
    other = maps.find(recording.markers, maps.OTHER_SIDE[side], options.static is not None, options.own_map)
    names = _wanted(marker_set) | {other.roles[r] for r in ("heel", "toe", "ankle_lateral") if r in other.roles}
    recording, repeated = without_repeats(recording, sorted(names))
    missing = {name: np.asarray(~np.isfinite(recording.markers[name]).all(axis=1)) for name in _wanted(marker_set)}
    notes = [f"markers: {marker_set.set_name} ({marker_set.describe()})"]
    smooth = _smooth(recording, sorted(names), options, notes)
    axes = _axes(recording, smooth, marker_set)
    axes, warnings = _handed(axes, smooth, marker_set)
    axes = axes.levelled(slope) if slope else axes
    warnings += [
        *repeated,
        *axes.warnings,
        *cutoff_warnings(recording.rate, options.cutoff),
        *_jumps(recording, sorted(names)),
    ]
    turned = {name: axes.turned(x) for name, x in smooth.items()}
    standing = _standing(marker_set, side, options, recording)
    warnings += [] if options.static is None else _standing_warnings(options.static, recording, marker_set)
    knee_notes, bent = _standing_knee(standing, options.standing_knee)
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
    )


def _standing_knee(standing: Standing | None, wanted: str) -> tuple[list[str], list[str]]:
    """A note on a knee angle of the standing trial that is kept on request, or a warning if it is too large."""
    if standing is None or standing.forward or not standing.angle:
        return [], []
    how = "bent" if standing.angle > 0 else "overextended"
    bent = f"knee {how} by {abs(math.degrees(standing.angle)):.0f} deg in the"
    if wanted == KEEP:
        return [f"{bent} standing trial: kept"], []
    keep = "keep it if the knee cannot be straightened (--standing-knee keep)"
    advice = f"{keep}, or remove it (zero) if markers are misplaced"
    return [], [f"{bent} standing trial: not removed as an offset of markers; {advice}"]


def _plane(body: Joints, lift: float, warnings: list[str]) -> dict[str, Plane]:
    """Joints and markers of the foot in the sagittal plane, in m, raised by a height in m; extends the warnings."""
    points = {"hip": body.hip, "knee": body.knee, "ankle": body.ankle, "heel": body.heel, "toe": body.toe}
    if lift:
        warnings.append(f"the floor is not at the laboratory's zero: heights are raised by {1e3 * lift:.0f} mm")
    if body.heel is None or body.toe is None:
        warnings.append("the foot has one marker besides the ankle: its line goes through the ankle")
    return {k: x[:, :2] + np.array([0.0, lift]) for k, x in points.items() if x is not None}


def _wanted(marker_set: MarkerSet) -> set[str]:
    pelvis = [*marker_set.asis.values(), *marker_set.psis.values()]
    return {*marker_set.roles.values(), *pelvis, *marker_set.clusters["shank_cluster"]}


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


def _axes(recording: Recording, markers: Mapping[str, np.ndarray], marker_set: MarkerSet) -> Axes:
    hips = [*marker_set.asis.values()] or [
        marker_set.roles[r] for r in ("hip_centre", "trochanter") if r in marker_set.roles
    ]
    feet = [marker_set.roles[r] for r in ("ankle_centre", "ankle_lateral", "heel", "toe") if r in marker_set.roles]
    pelvis = np.mean([markers[name] for name in hips], axis=0)
    foot = np.mean([markers[name] for name in feet], axis=0)
    front = marker_set.roles.get("toe", feet[0])
    back = marker_set.roles.get("heel", feet[0])
    pointing = markers[front] - markers[back]
    if marker_set.pelvis:
        pointing = pelvis - np.mean([markers[name] for name in marker_set.back_of_pelvis], axis=0)
    if not np.isfinite(pelvis - foot).all(axis=1).any():
        raise recording.error("no frame has all markers of pelvis and foot", "fill gaps first")
    return find_axes(pelvis, foot, pointing, recording.rate, recording.file)


def _standing(marker_set: MarkerSet, side: str, options: Options, recording: Recording) -> Standing | None:
    if options.static is None:
        return None
    static = options.static
    there = maps.find(static.markers, side, own=options.own_map)
    if there.lacks(carried=False):
        what = f"the standing trial lacks {', '.join(there.lacks(carried=False))}"
        raise static.error(what, "knee and ankle need markers in it")
    still = {n: np.nanmedian(static.markers[n], axis=0, keepdims=True) for n in _wanted(there) if n in static.markers}
    axes, _ = _handed(_axes(static, still, there), still, there)
    cluster = tuple(n for n in marker_set.clusters["shank_cluster"] if n in still)
    there = there._replace(clusters=there.clusters | {"shank_cluster": cluster})
    still |= {n: np.nanmedian(static.markers[n], axis=0, keepdims=True) for n in cluster}
    carried = {"knee_lateral", "knee_centre"}.isdisjoint(marker_set.roles) or {
        "ankle_lateral",
        "ankle_centre",
    }.isdisjoint(marker_set.roles)
    if carried and len(cluster) < 3:
        what = f"only {len(cluster)} markers of the shank's cluster are in both trials ({' '.join(cluster)})"
        raise recording.error(what, "three are needed, or markers on knee and ankle")
    turned = {name: axes.turned(x) for name, x in still.items()}
    return stand(turned, there, side, options.regression, options.standing_knee)


def _standing_warnings(static: Recording, recording: Recording, marker_set: MarkerSet) -> list[str]:
    both = [name for name in sorted(_wanted(marker_set)) if name in static.markers]
    moved = {name: float(np.nanstd(static.markers[name], axis=0).max()) for name in both}
    most = max(moved, key=moved.__getitem__, default=None)
    if most is not None and moved[most] > STANDING_SWAY:
        where = f"{most} moves by {1e3 * moved[most]:.0f} mm (standard deviation)"
        return [f"the standing trial {static.name} does not stand still: {where}: is it the walk?"]
    roles = ("knee_lateral", "knee_centre", "ankle_lateral", "ankle_centre")
    rigid = [*marker_set.clusters["shank_cluster"], *(marker_set.roles[r] for r in roles if r in marker_set.roles)]
    pairs = [(a, b) for i, a in enumerate(rigid) for b in rigid[i + 1 :] if a in both and b in both]
    for a, b in pairs:
        apart = [np.linalg.norm(r.markers[a] - r.markers[b], axis=1) for r in (static, recording)]
        if not all(np.isfinite(x).any() for x in apart):
            continue  # never seen together
        there, here = (float(np.nanmedian(x)) for x in apart)
        if abs(there - here) > max(SKIN_SHIFT, 0.05 * here):
            what = f"{a} and {b} are {1e3 * there:.0f} mm apart in it, and {1e3 * here:.0f} mm in the walk"
            return [f"the standing trial {static.name} may show another person or other marker positions: {what}"]
    return []


def _handed(axes: Axes, markers: Mapping[str, np.ndarray], marker_set: MarkerSet) -> tuple[Axes, list[str]]:
    """The axes with z towards the right ASIS: some laboratories write left-handed ones."""
    if len(marker_set.asis) < 2:
        return axes, []
    apart = markers[marker_set.asis["right"]] - markers[marker_set.asis["left"]]
    if not float(np.nanmean(apart @ axes.rotation[2])) < 0:
        return axes, []
    warning = "the right ASIS is left of the left one: swapped sides or left-handed axes; z is reversed"
    return axes._replace(rotation=axes.rotation * np.array([[1.0], [1.0], [-1.0]])), [warning]


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
