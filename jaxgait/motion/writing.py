"""Recordings as text of OpenSim's MOT and STO files, which `motion.readers` reads again, and walks as recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from jaxgait.motion.capture.coordinates import leg_angles
from jaxgait.motion.capture.tables import trial_curves
from jaxgait.motion.capture.walk import Walk
from jaxgait.motion.readers.storage import is_length
from jaxgait.motion.recording import Recording

Columns = Mapping[str, Float[np.ndarray, " rows"]]


def storage_text(name: str, time: Float[np.ndarray, " rows"], columns: Columns, *, degrees: bool) -> str:
    """A MOT or STO file, as OpenSim 4 writes them.

    Args:
        name: of the data, for the first line.
        time: in s.
        columns: by label, which has no tabs; angles in the unit that `degrees` states.
        degrees: whether angles are in degrees; otherwise they are in radians.

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
        "",
        "endheader",
        "\t".join(["time", *columns]),
    ]
    return "\n".join([*head, *("\t".join(map(repr, row)) for row in table.tolist())]) + "\n"


def recording_columns(
    recording: Recording, *, degrees: bool
) -> tuple[Float[np.ndarray, " rows"], dict[str, np.ndarray]]:
    """Times in s and columns of the joint angles and the ground forces of a recording, under OpenSim's names.

    Frames before the first and after the last one with all angles are left out. A centre of pressure is 0 without a
    force.

    Args:
        recording: without markers; ground forces are on the clock of the angles.
        degrees: whether the columns of angles are in degrees; otherwise they are in radians.

    Raises:
        MotionFormatError: for markers, without angles, and for forces on another clock.

    Examples:
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> from jaxgait.motion.writing import recording_columns
        >>> time, columns = recording_columns(synthetic_recording(reference_gait()), degrees=True)
        >>> print([*columns][3:], round(columns["knee_angle_r"].max()))  # deg
        ['hip_flexion_r', 'knee_angle_r', 'ankle_angle_r'] 64
    """
    if recording.markers or not recording.angles:
        what = "contains markers" if recording.markers else "contains no joint angles"
        raise recording.error(what, "MOT and STO files hold joint angles: measure the walk first, and write that")
    turn = 180.0 / np.pi if degrees else 1.0
    columns = {k: x * (1.0 if is_length(k) else turn) for k, x in recording.angles.items()}
    for plate in recording.forces:
        if not np.array_equal(plate.time, recording.time):
            raise recording.error(f"{plate.name} has other times than the angles", "write it to a file of its own")
        columns |= {f"{plate.name}_v{axis}": plate.force[:, i] for i, axis in enumerate("xyz")}
        if plate.point is not None:
            columns |= {f"{plate.name}_p{axis}": np.nan_to_num(plate.point[:, i]) for i, axis in enumerate("xyz")}
    whole = np.flatnonzero(np.isfinite(np.stack([*recording.angles.values()])).all(axis=0))
    if whole.size < 2:
        raise recording.error("fewer than two frames have all joint angles", "fill the gaps first")
    rows = np.s_[whole[0] : whole[-1] + 1]
    return recording.time[rows], {k: x[rows] for k, x in columns.items()}


def walk_recording(walks: Sequence[Walk], trial: int = 0) -> Recording:
    """A whole trial of a measured walk as the joint angles of its legs, on the pelvis between their hips.

    Args:
        walks: of one leg, or of both legs of the same trials.
        trial: which one, counted from 0.

    Raises:
        ValueError: if there is no such trial.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> from jaxgait.motion.writing import walk_recording
        >>> walk = measure([synthetic_recording(reference_gait())])
        >>> found = walk_recording([walk])
        >>> print(found.frames, [*found.angles][:4])
        400 ['pelvis_tilt', 'pelvis_tx', 'pelvis_ty', 'hip_flexion_r']
    """
    curves = {walk.side: trial_curves(walk, trial) for walk in walks}
    mean = lambda name: np.mean([one[name].values for one in curves.values()], axis=0)
    tilt = -np.radians(mean("pelvis_tilt")) if all("pelvis_tilt" in one for one in curves.values()) else 0.0
    angles = {}
    for side, one in curves.items():
        joints = (np.radians(one[f"{name}_angle"].values) for name in ("thigh", "knee", "ankle"))
        angles |= leg_angles(mean("hip_x"), mean("hip_height"), *joints, side=side, tilt=tilt)
    of = walks[0].legs[trial].recording
    return Recording(of.name, of.file, of.rate, of.time, angles=angles)
