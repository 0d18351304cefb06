"""A run of the prosthetic leg as a recording: joint angles under OpenSim's names, and the ground force."""

from __future__ import annotations

import numpy as np
import xarray as xr

from jaxgait.ensembles.results import recorded_class, remade
from jaxgait.motion.capture.coordinates import AS_THE_RIGHT, SAGITTAL, leg_angles
from jaxgait.motion.drive import GaitDrive
from jaxgait.motion.recording import GroundReaction, Recording


def recording(run: xr.Dataset) -> Recording:
    """The leg of a level pelvis, and the force under its foot with the centre of pressure.

    The leg is the one whose motion drives it, and the right one if that is not known. All z are 0, also that of the
    force, which in space is about 0.1 m beside the middle of the pelvis.

    Examples:
        >>> from jaxgait import Prosthesis, simulate
        >>> from jaxgait.models.prosthesis.recording import recording
        >>> found = recording(simulate(Prosthesis(), strides=2))
        >>> print(found.frames, [*found.angles][3:], found.forces[0].name)
        201 ['hip_flexion_r', 'knee_angle_r', 'ankle_angle_r'] ground_force
    """
    at = lambda point, axis: run.points.sel(point=point, axis=axis).values
    values = (run[name].values for name in ("thigh_angle", "knee_angle", "ankle_angle"))
    time, feet, side = run.time.values, ("heel", "toe"), _side(run)
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
        angles=leg_angles(at("H", "x"), at("H", "y"), *values, side=side or "right"),
        forces=(GroundReaction("ground_force", time, force, point),),
        notes=(SAGITTAL,) if side else (SAGITTAL, AS_THE_RIGHT),
    )


def _side(run: xr.Dataset) -> str:
    """The leg whose motion drives a run, right or left; empty if it is not known."""
    kind = recorded_class(run)
    try:
        drive = None if kind is None else getattr(remade(kind, run), "drive", None)
    except ValueError:  # of a result that does not record its motion
        return ""
    return drive.side if isinstance(drive, GaitDrive) else ""
