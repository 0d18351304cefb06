"""Recordings as the text of OpenSim's MOT and STO files, which `motion.readers` can read; walks as recordings."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from jaxgait.motion import MotionWarning
from jaxgait.motion.capture.axes import axes_remarks
from jaxgait.motion.capture.coordinates import SAGITTAL, leg_angles
from jaxgait.motion.capture.tables import trial_curves
from jaxgait.motion.capture.walk import Walk
from jaxgait.motion.readers.stated_units import is_length
from jaxgait.motion.recording import LOADED_FORCE, GroundReaction, Recording, runs
from jaxgait.support.checks import first_few, warn_user

Columns = Mapping[str, Float[np.ndarray, " rows"]]


def storage_text(
    name: str, time: Float[np.ndarray, " rows"], columns: Columns, *, degrees: bool, notes: Sequence[str] = ()
) -> str:
    """The text of a MOT or STO file, as OpenSim 4 writes it.

    Args:
        name: of the data, for the first line.
        time: in s.
        columns: by label (without tabs); angles in the unit that `degrees` states.
        degrees: whether angles are in degrees; otherwise they are in radians.
        notes: lines of the header about the motion.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.writing import storage_text
        >>> text = storage_text("knee", np.array([0.0, 0.01]), {"knee_angle_r": np.array([10.0, 12.5])}, degrees=True)
        >>> print(text.replace(chr(9), " "))
        knee
        version=1
        nRows=2
        nColumns=2
        inDegrees=yes
        <BLANKLINE>
        Units are S.I. units (second, meters, Newtons, ...)
        Angles are in degrees.
        <BLANKLINE>
        endheader
        time knee_angle_r
        0.0 10.0
        0.01 12.5
        <BLANKLINE>
    """
    table = np.column_stack([time, *columns.values()])
    head = [
        " ".join(name.split()) or "motion",
        "version=1",
        f"nRows={len(table)}",
        f"nColumns={table.shape[1]}",
        f"inDegrees={'yes' if degrees else 'no'}",
        "",
        "Units are S.I. units (second, meters, Newtons, ...)",
        f"Angles are in {'degrees' if degrees else 'radians'}.",
        *(" ".join(note.replace("=", " ").split()) for note in notes),
        "",
        "endheader",
        "\t".join(["time", *columns]),
    ]
    return "\n".join([*head, *("\t".join(map(repr, row)) for row in table.tolist())]) + "\n"


def recording_columns(
    recording: Recording, *, degrees: bool
) -> tuple[Float[np.ndarray, " rows"], dict[str, np.ndarray]]:
    """Times in s and columns of the joint angles and the ground forces of a recording, under OpenSim's names.

    A missing centre of pressure is 0 where the plate is unloaded, and NaN where it is loaded.

    Args:
        recording: without markers; ground forces are on the clock of the angles.
        degrees: whether the columns of angles are in degrees; otherwise they are in radians.

    Raises:
        MotionFormatError: if the recording has markers, no angles, or forces on another clock.

    Examples:
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> from jaxgait.motion.writing import recording_columns
        >>> time, columns = recording_columns(synthetic_recording(reference_gait()), degrees=True)
        >>> print([*columns][3:], round(columns["knee_angle_r"].max()))  # deg
        ['hip_flexion_r', 'knee_angle_r', 'ankle_angle_r'] 64
    """
    _check_writable(recording)
    turn = 180.0 / np.pi if degrees else 1.0
    columns = {k: x * (1.0 if is_length(k) else turn) for k, x in recording.angles.items()}
    for plate in recording.forces:
        columns |= {f"{plate.name}_v{axis}": plate.force[:, i] for i, axis in enumerate("xyz")}
        if plate.point is not None:
            columns |= {
                f"{plate.name}_p{axis}": x for axis, x in zip("xyz", _centre(plate.force, plate.point).T, strict=True)
            }
    return recording.time, columns


def _centre(force: Float[np.ndarray, "rows 3"], point: Float[np.ndarray, "rows 3"]) -> Float[np.ndarray, "rows 3"]:
    """The centre of pressure in m; where missing, 0 if the plate is unloaded (and has none), NaN if it is loaded."""
    unloaded = np.linalg.norm(force, axis=1, keepdims=True) <= LOADED_FORCE
    return np.where(np.isnan(point) & unloaded, 0.0, point)


def _check_writable(recording: Recording) -> None:
    """Checks that a recording has joint angles, no markers, and ground forces on the clock of the angles."""
    if recording.markers or not recording.angles:
        what = "contains markers" if recording.markers else "contains no joint angles"
        raise recording.error(what, "MOT and STO files hold joint angles: measure the walk first, and write that")
    for plate in recording.forces:
        if not np.array_equal(plate.time, recording.time):
            raise recording.error(f"{plate.name} has other times than the angles", "write it to a file of its own")


def without_gaps(recording: Recording) -> Recording:
    """The longest stretch of frames in which all angles have values, with the force plates that have no gaps there.

    OpenSim stops reading a file at the first gap. Gaps in forces do not shorten the stretch.

    Args:
        recording: without markers; ground forces are on the clock of the angles.

    Raises:
        MotionFormatError: if no two successive frames have all values, and as in `recording_columns`.

    Warns:
        MotionWarning: if frames outside the stretch have values, naming the angles that they lack; and for force plates
            that are left out because a force or its point of application is missing in the stretch.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.recording import Recording
        >>> from jaxgait.motion.writing import without_gaps
        >>> knee = {"knee_angle_r": np.array([np.nan, 0.1, 0.2, np.nan])}  # rad
        >>> found = without_gaps(Recording("walk", "walk.mot", 100.0, np.array([0.0, 0.01, 0.02, 0.03]), angles=knee))
        >>> print(found.time, found.angles["knee_angle_r"])
        [0.01 0.02] [0.1 0.2]
    """
    _check_writable(recording)
    there = {k: np.isfinite(x) for k, x in recording.angles.items()}
    stretches = runs(np.logical_and.reduce([*there.values()], dtype=bool))
    first, end = max(stretches, key=lambda run: run[1] - run[0], default=(0, 0))
    if end - first < 2:
        empty = [k for k, x in there.items() if not x.any()]
        without = f"; without any value: {first_few(empty)}" if empty else ""
        raise recording.error(f"no two successive frames have values in all columns{without}", "fill the gaps first")
    _warn_of_cut_frames(recording, there, first, end)
    plates = [_part(plate, first, end) for plate in recording.forces]
    is_whole = [bool(np.isfinite(plate.force).all()) and _has_centre(plate) for plate in plates]
    if gapped := [plate.name for plate, whole in zip(plates, is_whole, strict=True) if not whole]:
        what = f"the forces of {first_few(gapped)} are left out, because values are missing, and OpenSim reads no gaps"
        warn_user(f"{recording.file}: {what}; fill them, or write .csv", MotionWarning)
    return dataclasses.replace(
        recording,
        time=recording.time[first:end],
        angles={k: x[first:end] for k, x in recording.angles.items()},
        forces=tuple(itertools.compress(plates, is_whole)),
    )


def _has_centre(plate: GroundReaction) -> bool:
    """Whether the centre of pressure is known wherever the plate is loaded, or nowhere."""
    return plate.point is None or bool(np.isfinite(_centre(plate.force, plate.point)).all())


def _part(plate: GroundReaction, first: int, end: int) -> GroundReaction:
    """The ground reaction in a range of frames."""
    point = None if plate.point is None else plate.point[first:end]
    return plate._replace(time=plate.time[first:end], force=plate.force[first:end], point=point)


def _times(recording: Recording, first: int, end: int) -> str:
    """The times of a range of frames as text."""
    ends = dict.fromkeys(f"{recording.time[i]:.2f}" for i in (first, end - 1))
    return f"{' to '.join(ends)} s"


def _warn_of_cut_frames(recording: Recording, there: Mapping[str, np.ndarray], first: int, end: int) -> None:
    """Warns if frames outside the stretch have values; `there` marks the frames in which each angle has one."""
    known = np.flatnonzero(np.logical_or.reduce([*there.values()]))
    start, stop = int(known[0]), int(known[-1]) + 1
    if first <= start and stop <= end:
        return
    lacking = {k: ~x[start:stop] for k, x in there.items() if not x[start:stop].all()}
    spans = runs(np.logical_or.reduce([*lacking.values()], dtype=bool))
    gaps = first_few([_times(recording, start + a, start + b) for a, b in spans], 3)
    what = f"values of {first_few([*lacking], 3)} are missing at {gaps}, and OpenSim reads no gaps"
    advice = "fill them to keep the rest"
    warn_user(f"{recording.file}: {what}: only {_times(recording, first, end)} is written; {advice}", MotionWarning)


def check_one_walk(walks: Sequence[Walk]) -> None:
    """Checks that walks are of different legs in the same trials, as `measure_both` measures them.

    Raises:
        ValueError: if they are not.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> from jaxgait.motion.writing import check_one_walk
        >>> walk = measure([synthetic_recording(reference_gait())])
        >>> check_one_walk([walk, walk])
        Traceback (most recent call last):
        ValueError: 2 walks are of the right leg: write each to a file of its own
    """
    sides = [walk.side for walk in walks]
    for side in sides:
        if sides.count(side) > 1:
            raise ValueError(f"{sides.count(side)} walks are of the {side} leg: write each to a file of its own")
    trials = [[(leg.recording.name, leg.recording.file) for leg in walk.legs] for walk in walks]
    if any(own != trials[0] for own in trials):
        names = [first_few([name for name, _ in own], 2) for own in trials]
        what = f"the {sides[0]} leg is of the trials {names[0]}, the {sides[1]} one of {names[1]}"
        raise ValueError(f"{what}: write each to a file of its own, or measure both legs of the same files")


def walk_recording(walks: Sequence[Walk], trial: int | None = None) -> Recording:
    """A whole trial of a measured walk: the joint angles of its legs, and the pelvis midway between the hips.

    Args:
        walks: of one leg, or of both legs of the same trials.
        trial: its number, counted from 0; may be omitted if there is only one.

    Warns:
        jaxgait.motion.MotionWarning: if x and y of the laboratory are not forward and up, or the ground is not level:
            the header says so.

    Raises:
        ValueError: if there is no such trial, if there are several and none is given, and as in `check_one_walk`.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> from jaxgait.motion.writing import walk_recording
        >>> walk = measure([synthetic_recording(reference_gait())])
        >>> found = walk_recording([walk])
        >>> print(found.frames, [*found.angles][:4])
        400 ['pelvis_tilt', 'pelvis_tx', 'pelvis_ty', 'hip_flexion_r']
    """
    check_one_walk(walks)
    several = len(walks[0].trials)
    if trial is None and several > 1:
        raise ValueError(f"{walks[0].name} has {several} trials, and a file holds one: give trial=0 to {several - 1}")
    number = trial or 0
    curves = {walk.side: trial_curves(walk, number) for walk in walks}
    mean = lambda name: np.mean([one[name].values for one in curves.values()], axis=0)
    level = 0.0 * mean("hip_height")  # NaN where the hip is not known
    tilt = -np.radians(mean("pelvis_tilt")) if all("pelvis_tilt" in one for one in curves.values()) else level
    angles = {}
    for side, one in curves.items():
        joints = (np.radians(one[f"{name}_angle"].values) for name in ("thigh", "knee", "ankle"))
        angles |= leg_angles(mean("hip_x"), mean("hip_height"), *joints, side=side, tilt=tilt)
    leg = walks[0].legs[number]
    of, remarks = leg.recording, axes_remarks(leg.axes)
    if remarks:
        warn_user(f"positions and angles are in the walker's axes: {'; '.join(remarks)}", MotionWarning)
    sentences = (f"{text[0].upper()}{text[1:]}." for text in remarks)
    return Recording(of.name, of.file, of.rate, of.time, angles=angles, notes=(SAGITTAL, *sentences))
