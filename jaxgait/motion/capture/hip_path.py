"""The path of the hip for joint angles without one: that of an embedded gait, from heel strike to heel strike."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxgait.motion.capture.coordinates import facing, from_angles, has_joints, hip_from_pelvis
from jaxgait.motion.capture.events import events_of
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.recording import AssumedPath, Recording
from jaxgait.motion.stride import embedded_stride


def with_hip_path(recording: Recording, sides: Sequence[str], options: Options, speed: float | None) -> Recording:
    """The recording with `pelvis_tx` and `pelvis_ty`, if it has the other angles of a leg, and no markers of one.

    The hip progresses at the walking speed, in m/s, and moves in every stride as in the embedded gait of the nearest
    speed; a pelvis that was not recorded is level. A warning says so. Heel strikes are those that are marked, otherwise
    by the motion.

    Raises:
        MotionFormatError: without a speed, unless there are markers, and for fewer than two heel strikes.

    Examples:
        >>> import dataclasses
        >>> from jaxgait.motion.capture.hip_path import with_hip_path
        >>> from jaxgait.motion.capture.leg import Options
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> trial = synthetic_recording(reference_gait())
        >>> joints = {name: x for name, x in trial.angles.items() if "pelvis" not in name}
        >>> found = with_hip_path(dataclasses.replace(trial, angles=joints), ["right"], Options(), speed=1.25)
        >>> print(round(float(found.angles["pelvis_ty"].mean()), 2), found.warnings[0][:39])  # m
        0.99 the path of the hip was not recorded: a
    """
    path = {"pelvis_tx", "pelvis_ty"} & set(recording.angles)
    if not any(has_joints(recording, side) for side in sides) or len(path) == 2:
        return recording
    carried = options.static is not None
    whole = any(not options.markers(recording, side).lacks(carried) for side in sides)
    if recording.markers and (speed is None or whole):
        return recording
    side = "right" if has_joints(recording, "right") else "left"  # whichever legs are asked for: they share the path
    if speed is None:
        what = "joint angles without the path of the pelvis (pelvis_tx, pelvis_ty)"
        call = (
            f"`jaxgait motion {recording.file} --speed 1.2 --out walk.json`, in Python measure(recordings, speed=1.2)"
        )
        advice = f"give the walking speed in m/s, and the hip moves as in an embedded gait: {call}"
        raise recording.error(what, advice)
    gait = min((embedded_stride(name) for name in REFERENCE_GAITS), key=lambda gait: abs(gait.speed - speed))
    tilt = recording.angles.get("pelvis_tilt", np.zeros(recording.frames))
    height, still = float(np.mean(gait.signals["hip_y_m"])), np.zeros(recording.frames)
    angles = recording.angles | {"pelvis_tilt": tilt, "pelvis_tx": still, "pelvis_ty": still + height}
    alone = dataclasses.replace(recording, angles=angles)
    strikes = events_of(from_angles(alone, side, options.cutoff, options.max_gap), None).strikes
    if strikes.size < 2:
        found = "".join(f", only one heel strike of the {side} leg, at {t:.2f} s" for t in strikes)
        what = f"no whole stride{found or f', no heel strike of the {side} leg'}"
        raise recording.error(what, "give a longer trial, or the times of heel strikes (capture.events.with_strikes)")
    time, usual = recording.time, float(np.median(np.diff(strikes)))
    more = usual * np.arange(1, 2 + (time[-1] - time[0]) // usual)
    ends = np.concatenate([strikes[0] - more[::-1], strikes, strikes[-1] + more])
    share = np.interp(time, ends, np.arange(ends.size)) % 1.0
    sway, up = (np.interp(share, gait.time / gait.time[-1], gait.signals[k]) for k in ("hip_x_m", "hip_y_m"))
    forward = facing(recording, still)
    ahead, above = hip_from_pelvis(forward * tilt)
    angles |= {"pelvis_tx": forward * (speed * (time - time[0]) + sway - ahead), "pelvis_ty": up - above}
    level = "" if "pelvis_tilt" in recording.angles else ", and the pelvis as level: the thigh is at hip_flexion"
    unused = "".join(
        f" ({name} of the file is not used: pelvis_tx and pelvis_ty are both needed)" for name in sorted(path)
    )
    warning = (
        f"the path of the hip was not recorded{unused}: at {speed:g} m/s it is taken from {gait.name}, "
        f"{height:.2f} m high{level}; the load on a leg depends on this"
    )
    return dataclasses.replace(
        recording,
        angles=angles,
        forces=tuple(plate._replace(point=None) for plate in recording.forces),  # they would not be below this leg
        warnings=(*recording.warnings, warning),
        assumed_path=AssumedPath(gait.name, speed),
    )
