"""A planar leg from joint angles, as inverse kinematics of OpenSim writes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxgait.motion.capture.axes import OVERGROUND_SPEED, Axes
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.smoothing import (
    MAX_GAP,
    describe_lowpass,
    described_gaps,
    fill,
    long_gap_warnings,
    lowpass,
    rate_warnings,
)
from jaxgait.motion.norms import SEGMENTS_OF_HEIGHT, SIGNAL_NORMS, SPEED
from jaxgait.motion.recording import Recording, runs
from jaxgait.support.checks import count_of

HIP_IN_PELVIS = (-0.0707, -0.0661)
"""Hip joint in m forward of and above the origin of the pelvis, in the unscaled model gait2392 (Delp et al. 1990)."""
FOOT, ANKLE_HEIGHT, HEEL = 0.152, 0.039, 0.25
"""Length of the foot and height of the ankle as shares of the body height (Winter); share of the foot behind it."""
HIP_OF_HEIGHT = 0.530
"""Height of the hip as a share of the body height (Winter)."""
OBLIQUE_SINE = 0.5
"""Sine of the angle (30 deg) between the pelvis and the x axis above which pelvis_tx is not the path."""
MOST_OVEREXTENSION = np.radians(20.0)
"""Angle in rad by which no knee is overextended: beyond it, the knee is flexed."""
MOST_FLEXION = np.radians(100.0)
"""Angle in rad by which no knee is flexed for half of a walk: beyond it, the angle is measured in another way."""
FASTEST = 15.0
"""Speed in m/s that no pelvis has: sprinters reach 12.5."""
UNITS_OF_LENGTH = {"in": 0.0254, "cm": 1e-2, "mm": 1e-3}
"""Units that lengths taken as m may be in, with their sizes in m."""
MOST_AT_ANKLE = np.radians(60.0)
"""Angle in rad that no ankle has for half of a walk: beyond it, zero is not at the right angle of foot and shank."""
KNEES = ("knee_angle_r", "knee_angle_l")
SAGITTAL = "The motion is planar (all z are 0): joint moments outside the sagittal plane mean nothing."
"""For files of angles that `leg_angles` made."""
AS_THE_RIGHT = "It is not known which leg this is: it is written as the right one."
"""For files of a leg whose side was not recorded."""
NAMES = ("pelvis_tilt", "pelvis_tx", "pelvis_ty", "hip_flexion_{s}", "knee_angle_{s}", "ankle_angle_{s}")
COLUMNS = frozenset(name.format(s=side) for name in NAMES for side in "rl") | {"pelvis_rotation"}
"""Names of all columns from which legs are made."""


def has_angles(recording: Recording, side: str) -> bool:
    """Whether a recording has the joint angles of a leg.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.coordinates import has_angles
        >>> from jaxgait.motion.recording import Recording
        >>> time = np.array([0.0, 0.01])
        >>> trial = Recording("walk", "walk.mot", 100.0, time, angles={"knee_angle_r": np.zeros(2)})
        >>> has_angles(trial, "right")  # the pelvis and the other joints are missing
        False
    """
    return all(name in recording.angles for name in angle_names(side))


def has_joints(recording: Recording, side: str) -> bool:
    """Whether a recording has the angles of hip, knee and ankle of a leg, with or without the pelvis.

    Examples:
        >>> from jaxgait.motion.capture.coordinates import has_joints
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> has_joints(synthetic_recording(reference_gait()), "right")
        True
    """
    return all(name in recording.angles for name in angle_names(side)[3:])


def angle_names(side: str) -> list[str]:
    """The columns that make a leg, as OpenSim names them.

    Examples:
        >>> from jaxgait.motion.capture.coordinates import angle_names
        >>> angle_names("right")[3:]
        ['hip_flexion_r', 'knee_angle_r', 'ankle_angle_r']
    """
    return [name.format(s=side[0]) for name in NAMES]


def from_angles(recording: Recording, side: str, cutoff: float | None, max_gap: float = MAX_GAP) -> Leg:
    """The leg from `pelvis_tilt`, `pelvis_tx`, `pelvis_ty`, `hip_flexion`, `knee_angle` and `ankle_angle`.

    Args:
        recording: with these in rad and m, under `NAMES`.
        side: right or left.
        cutoff: of the low-pass in Hz; None: no filter.
        max_gap: longest gap that is filled, in s.

    Raises:
        MotionFormatError: if no frame has all of them, or `pelvis_rotation` shows that the walk does not go along x,
            the knee angle is not flexion, the ankle is not 0 at right angles, or the path of the pelvis is not in m.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.coordinates import NAMES, from_angles
        >>> from jaxgait.motion.recording import Recording
        >>> values = (0.0, 0.0, 0.96, 0.3, 0.5, 0.1)  # rad and m, standing still
        >>> angles = {name.format(s="r"): np.full(101, x) for name, x in zip(NAMES, values, strict=True)}
        >>> trial = Recording("stand", "stand.mot", 100.0, np.linspace(0.0, 1.0, 101), angles=angles)
        >>> leg = from_angles(trial, "right", 8.0)
        >>> print(leg.shank[0].round(6), leg.hip[0].round(4))  # rad: thigh less knee; m: below the origin of the pelvis
        -0.2 [-0.0707  0.8939]
    """
    columns = {name: recording.angles[name] for name in angle_names(side)}
    together = np.stack([*columns.values()], axis=1)
    if not np.isfinite(together).all(axis=1).any():
        empty = [name for name, x in columns.items() if not np.isfinite(x).any()]
        what = f"no frame has all joint angles of the {side} leg; without any value: {', '.join(empty) or 'none'}"
        raise recording.error(what, "export the whole result of inverse kinematics")
    filled = fill(together, recording.rate, max_gap)
    lost = {name: np.isnan(x) & np.isfinite(filled.values[:, 0]) for name, x in columns.items()}
    tilt, x, y, flexion, knee, ankle = lowpass(filled.values, recording.rate, cutoff).T
    notes = [
        f"from joint angles; the hip is {-1e3 * HIP_IN_PELVIS[0]:.0f} mm behind and {-1e3 * HIP_IN_PELVIS[1]:.0f} mm "
        "below the origin of the pelvis, as in the unscaled gait2392",
        f"gaps of up to {max_gap:g} s are filled: {count_of(filled.filled, 'frame', 'frames')}"
        + (f" ({described_gaps(lost, recording.time, recording.rate)})" if filled.filled else "")
        + (f"; longer ones remain: {count_of(filled.left, 'frame', 'frames')}" if filled.left else ""),
        describe_lowpass(recording.rate, cutoff),
    ]
    warnings = [*long_gap_warnings(lost, recording.time, recording.rate), *rate_warnings(recording.rate, cutoff)]
    knee = _flexion(recording, side, notes, warnings) * knee
    _check_neutral(recording, f"ankle_angle_{side[0]}")
    forward = facing(recording, x)
    if forward < 0:
        notes.append("the walker faces against pelvis_tx: x and the tilt of the pelvis, which is about z, are reversed")
    tilt = forward * tilt
    ahead, above = hip_from_pelvis(tilt)
    hip = np.stack([forward * x + ahead, y + above], axis=1)
    _check_path(recording, hip)
    thigh = tilt + flexion
    height = float(np.nanmean(hip[:, 1])) / HIP_OF_HEIGHT
    notes.append("segment lengths are shares of the body height (Winter), which follows from the hip height")
    points = _points(hip, thigh, thigh - knee, ankle, height)
    return Leg(
        recording=recording,
        side=side,
        hip=hip,
        thigh=thigh,
        shank=thigh - knee,
        foot=None,
        ankle_angle=ankle,
        points=points,
        other_foot=None,
        own_foot=None,
        heel=np.column_stack([points["heel"], np.full(x.size, np.nan)]),
        pelvis=-tilt,
        axes=Axes(np.diag([forward, 1.0, forward]), ()),
        gaps={},
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _check_path(recording: Recording, hip: np.ndarray) -> None:
    """Checks the path of a hip in m, of shape (frames, 2): lengths without a unit are taken as m.

    Raises:
        MotionFormatError: for a height or a speed that no hip has, naming a unit that would explain it.
    """
    height, (low, high) = float(np.nanmean(hip[:, 1])), SIGNAL_NORMS["hip_y_m"]["mean"].possible
    if not low <= height <= high:
        unit = next((word for word, size in UNITS_OF_LENGTH.items() if low <= height * size <= high), None)
        what = f"the hip is at a mean height of {height:.3g} m, where walking has {low:g} to {high:g} m"
        advice = f"{unit}? write the unit: pelvis_ty ({unit})" if unit else "give its height above the floor"
        raise recording.error(what, advice, "pelvis_ty")
    steps = np.abs(np.diff(hip[:, 0]))
    speed = recording.rate * float(np.median(steps[np.isfinite(steps)])) if np.isfinite(steps).any() else 0.0
    if speed > FASTEST:
        unit = next((word for word, size in UNITS_OF_LENGTH.items() if speed * size <= SPEED.possible[1]), "mm")
        what = f"the pelvis moves at {speed:.4g} m/s"
        raise recording.error(what, f"{unit}? write the unit: pelvis_tx ({unit})", "pelvis_tx")


def _range(knee: np.ndarray) -> tuple[float, float]:
    """Lowest and highest angle of a knee in rad, without half a percent at either end; 0 if there are none."""
    low, high = np.nanpercentile(knee, [0.5, 99.5]) if np.isfinite(knee).any() else (0.0, 0.0)
    return float(low), float(high)


def _certain_signs(recording: Recording) -> dict[str, float]:
    """The sign of flexion, 1 or -1, of each knee of a recording by its own range; 0 if the knee may be overextended."""
    ranges = {name: _range(recording.angles[name]) for name in KNEES if name in recording.angles}
    straight = MOST_OVEREXTENSION
    return {
        name: -1.0 if low < -max(high, straight) else 1.0 if high > max(-low, straight) else 0.0
        for name, (low, high) in ranges.items()
    }


def with_one_flexion(recordings: Sequence[Recording]) -> list[Recording]:
    """The recordings of one person; those that do not show the knees' sign of flexion get it from the others.

    Within a recording, `from_angles` compares the legs.

    Raises:
        MotionFormatError: if the sign of a knee is certain in two recordings, and opposite.

    Examples:
        >>> import dataclasses
        >>> from jaxgait.motion.capture.coordinates import with_one_flexion
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> trial = synthetic_recording(reference_gait())
        >>> knee = trial.angles["knee_angle_r"]
        >>> bent, stiff = (dataclasses.replace(trial, angles={"knee_angle_r": k * knee}) for k in (-1.0, -0.1))
        >>> with_one_flexion([bent, stiff])[1].notes
        ('knee_angle is negative in flexion, as in the other recordings: its sign is changed',)
    """
    signs = [_certain_signs(recording) for recording in recordings]
    known: dict[str, float] = {}
    for name in KNEES:
        shown = [(own[name], recording) for own, recording in zip(signs, recordings, strict=True) if own.get(name)]
        for sign, recording in shown:
            if sign != known.setdefault(name, sign):
                word = "negative" if sign < 0 else "positive"
                what = f"the angle is {word} in flexion, in {shown[0][1].file} it is the opposite"
                raise recording.error(what, "change the sign of this column in one of them", name)
    return [
        recording if any(own.values()) else _like(recording, known)
        for recording, own in zip(recordings, signs, strict=True)
    ]


def _like(recording: Recording, known: Mapping[str, float]) -> Recording:
    """The recording with the signs changed of knees that are (or else whose other knee is) known to be negative."""
    there = [name for name in KNEES if name in recording.angles]
    turned = [name for name in there if known.get(name, next(iter(known.values()), 0.0)) < 0]
    if not turned:
        return recording
    note = "knee_angle is negative in flexion, as in the other recordings: its sign is changed"
    angles = recording.angles | {name: -recording.angles[name] for name in turned}
    return dataclasses.replace(recording, angles=angles, notes=(*recording.notes, note))


def _flexion(recording: Recording, side: str, notes: list[str], warnings: list[str]) -> float:
    """The sign of flexion, 1 or -1, of a knee by its own range, or else by that of the other knee.

    Adds a note if it is -1, and a warning if it is not certain, or opposite to that of the other knee.

    Raises:
        MotionFormatError: if the angle exceeds 100 deg most of the time, as the inner angle of a knee does.
    """
    signs, name = _certain_signs(recording), f"knee_angle_{side[0]}"
    middle = float(np.nanmedian(recording.angles[name]))
    if abs(middle) > MOST_FLEXION:
        inside, less = "180 degrees minus the flexion? subtract it from 180", "the flexion less 180 degrees? add 180"
        advice = "degrees instead of rad?" if abs(middle) > 2.0 * np.pi else inside if middle > 0 else less
        what = f"the median of this knee is {np.degrees(middle):.0f} deg, which is no flexion of walking"
        raise recording.error(what, advice, name)
    own, other = signs[name], next((sign for knee, sign in signs.items() if knee != name), 0.0)
    negative = next((knee for knee, sign in signs.items() if sign < 0), name)
    if own * other < 0:
        warnings.append(f"the knees of the two legs have opposite signs: that of {negative} is changed")
    elif (own or other) < 0:
        notes.append("knee_angle is negative in flexion, as in gait2392: its sign is changed")
    low, high = _range(recording.angles[name])
    if not own and other >= 0 and low < -max(high, 0.0):
        what = f"{name} is mostly {np.degrees(low):.0f} to {np.degrees(high):.0f} deg, and taken as overextension"
        warnings.append(f"{what}: if it is negative in flexion, as in gait2392, change the sign of the column")
    return -1.0 if (own or other) < 0 else 1.0


def _check_neutral(recording: Recording, name: str) -> None:
    """Checks that an ankle's angle is 0 where foot and shank are at right angles.

    Raises:
        MotionFormatError: for a median that no walk has, with the offset that would explain it.
    """
    middle = float(np.degrees(np.nanmedian(recording.angles[name])))
    if abs(middle) > np.degrees(MOST_AT_ANKLE):
        what = f"the median of this ankle is {middle:.0f} deg, where 0 is foot and shank at right angles"
        less = "90 deg there? subtract 90 (pi/2 in rad), or subtract it from 90 if dorsiflexion makes it smaller"
        raise recording.error(what, less if middle > 0 else "-90 deg there? add 90 (pi/2 in rad)", name)


def hip_from_pelvis(tilt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far in m the hip is forward of and above the origin of a pelvis that is tilted by an angle in rad.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.coordinates import hip_from_pelvis
        >>> print(*hip_from_pelvis(np.zeros(1)))
        [-0.0707] [-0.0661]
    """
    a, b = HIP_IN_PELVIS
    return a * np.cos(tilt) - b * np.sin(tilt), a * np.sin(tilt) + b * np.cos(tilt)


def leg_angles(
    hip_x: np.ndarray,
    hip_y: np.ndarray,
    thigh: np.ndarray,
    knee: np.ndarray,
    ankle: np.ndarray,
    *,
    side: str = "right",
    tilt: np.ndarray | float = 0.0,
) -> dict[str, np.ndarray]:
    """Coordinates of a leg as OpenSim names them, from its angles and its hip's path: the inverse of `from_angles`.

    Args:
        hip_x: forward position of the hip, in m, of shape (frames,) as all others.
        hip_y: its height in m.
        thigh: angle from the vertical in rad, forward.
        knee: flexion in rad.
        ankle: dorsiflexion in rad.
        side: right or left.
        tilt: of the pelvis in rad, backward; 0 for a level one.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.coordinates import leg_angles
        >>> one = np.ones(1)
        >>> found = leg_angles(0.0 * one, one, 0.3 * one, one, 0.0 * one, side="left")
        >>> print(*(f"{name} {x[0]:.4g}" for name, x in found.items()))
        pelvis_tilt 0 pelvis_tx 0.0707 pelvis_ty 1.066 hip_flexion_l 0.3 knee_angle_l 1 ankle_angle_l 0
    """
    tilted = np.zeros_like(thigh) + tilt
    ahead, above = hip_from_pelvis(tilted)
    return dict(
        zip(angle_names(side), (tilted, hip_x - ahead, hip_y - above, thigh - tilted, knee, ankle), strict=True)
    )


def facing(recording: Recording, x: np.ndarray) -> float:
    """1 if the walker faces along x, -1 if against it, by the rotation of the pelvis, or else by its motion.

    `x` are positions of the pelvis in m.

    Raises:
        MotionFormatError: for a pelvis that faces neither.

    Examples:
        >>> from jaxgait.motion.capture.coordinates import facing
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> trial = synthetic_recording(reference_gait())
        >>> facing(trial, trial.angles["pelvis_tx"])
        1.0
    """
    turned = recording.angles.get("pelvis_rotation", np.zeros(0))
    if np.isfinite(turned).any():
        if np.nanmedian(np.abs(np.sin(turned))) > OBLIQUE_SINE:
            what = f"the pelvis is turned by {np.degrees(np.nanmedian(turned)):.0f} deg, and does not face along x"
            raise recording.error(what, "turn the trial so that the walk goes along x", "pelvis_rotation")
        return 1.0 if np.nanmedian(np.cos(turned)) > 0 else -1.0
    start, end = max(runs(np.isfinite(x)), key=lambda run: run[1] - run[0])
    speed = (x[end - 1] - x[start]) / max((end - start) / recording.rate, 1e-9)
    return -1.0 if speed < -OVERGROUND_SPEED else 1.0


def _points(hip: np.ndarray, thigh: np.ndarray, shank: np.ndarray, ankle: np.ndarray, height: float):
    """Knee, ankle, heel and toe in m by forward kinematics, for a body height in m."""
    along = lambda a: np.stack([np.sin(a), -np.cos(a)], axis=1)
    forward = lambda a: np.stack([np.cos(a), np.sin(a)], axis=1)
    knee_at = hip + SEGMENTS_OF_HEIGHT["thigh_m"] * height * along(thigh)
    ankle_at = knee_at + SEGMENTS_OF_HEIGHT["shank_m"] * height * along(shank)
    foot = shank + ankle
    sole = ankle_at + ANKLE_HEIGHT * height * along(foot)
    heel = sole - HEEL * FOOT * height * forward(foot)
    toe = sole + (1 - HEEL) * FOOT * height * forward(foot)
    return {"knee": knee_at, "ankle": ankle_at, "heel": heel, "toe": toe}
