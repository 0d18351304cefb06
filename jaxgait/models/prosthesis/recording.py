"""A run of the prosthetic leg as a recording: joint angles under OpenSim's names, and the ground force."""

from __future__ import annotations

import numpy as np
import xarray as xr

from jaxgait.motion.capture.coordinates import SAGITTAL, leg_angles
from jaxgait.motion.recording import GroundReaction, Recording

AS_THE_RIGHT = "The leg is written as the right one, also if the motion of a left one drives it."


def recording(run: xr.Dataset) -> Recording:
    """The leg as the right one of a level pelvis, and the force under its foot with the centre of pressure.

    All z are 0, also that of the force, which in space is about 0.1 m to the right of the middle of the pelvis.

    Examples:
        >>> from jaxgait import Prosthesis, simulate
        >>> from jaxgait.models.prosthesis.recording import recording
        >>> found = recording(simulate(Prosthesis(), strides=2))
        >>> print(found.frames, [*found.angles][3:], found.forces[0].name)
        201 ['hip_flexion_r', 'knee_angle_r', 'ankle_angle_r'] ground_force
    """
    at = lambda point, axis: run.points.sel(point=point, axis=axis).values
    values = (run[name].values for name in ("thigh_angle", "knee_angle", "ankle_angle"))
    time, feet = run.time.values, ("heel", "toe")
    upward = {foot: run[f"{foot}_force"].values for foot in feet}
    total, zero = sum(upward.values()), np.zeros(time.size)
    force = np.column_stack([sum(run[f"{foot}_friction"].values for foot in feet), total, zero])
    with np.errstate(divide="ignore", invalid="ignore"):  # a foot in the air
        pressed = sum(upward[foot] * at(foot, "x") for foot in feet) / total
    point = np.column_stack([np.where(total > 0.0, pressed, np.nan), zero, zero])
    return Recording(
        name=str(run.attrs.get("model", "leg")),
        file="a run",
        rate=(time.size - 1) / float(time[-1] - time[0]),
        time=time,
        angles=leg_angles(at("H", "x"), at("H", "y"), *values),
        forces=(GroundReaction("ground_force", time, force, point),),
        notes=(SAGITTAL, AS_THE_RIGHT),
    )
