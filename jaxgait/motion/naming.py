"""Measured motion by name: an embedded gait, a stride, a walk, or a laboratory's recording."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import warnings
from collections.abc import Sequence

import numpy as np

from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.capture.coordinates import has_angles
from jaxgait.motion.capture.strides import POINTS_PER_STRIDE
from jaxgait.motion.capture.walk import Walk, measure
from jaxgait.motion.drive import GaitDrive, reference_gait, stride_drive
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.readers import read_recording
from jaxgait.motion.record import read_record, record_stride, record_strides, unrepeated_strides, walk_record
from jaxgait.motion.recording import Recording, with_forces
from jaxgait.motion.stride import UNITS, Stride, embedded_stride, read_stride, record_person
from jaxgait.precision import float64_default

_STRIDE_WORDS = re.compile(rb"hip_[xy]|thigh_|time_s\b|knee_rad", re.IGNORECASE)
_MARKERS = re.compile(rb"(\w[._: ][xyz](_[mc]?m)?\b[^\n]*){6}|(\b[xyz]\d*\W+){6}", re.IGNORECASE)
"""Labels of two markers or more, or the line of axes below them."""
_TABLES = (".csv", ".txt", ".dat", "")
"""Endings of files that may hold the columns of one stride."""


def motion_drive(text: str) -> GaitDrive:
    """The drive of an embedded gait, a stride, a walk or a recording, by name.

    Of a recording it is the right leg, with the defaults of `motion.capture.walk.measure`; `jaxgait motion` has more.

    Raises:
        FileNotFoundError: if it is none of them.
        MotionFormatError: if the file cannot be used.

    Warns:
        MotionWarning: for what looks wrong with a recording, or is unusual about its stride.

    Examples:
        >>> from jaxgait.motion.naming import motion_drive
        >>> drive = motion_drive("hbm07_0.98ms")  # or "walk.c3d", "walk.json", "stride.csv"
        >>> print(drive.name, round(float(drive.speed), 2))
        hbm07_0.98ms 0.98
    """
    return reference_gait(text) if text in REFERENCE_GAITS else stride_drive(named_stride(text))


def named_stride(text: str, *, speed: float | None = None) -> Stride:
    """The stride of an embedded gait or a file; the mean one of a walk or a recording.

    A walking speed in m/s replaces that of the file.

    Raises:
        FileNotFoundError: if it is neither.
        MotionFormatError: if the file cannot be read.

    Examples:
        >>> from jaxgait.motion.naming import named_stride
        >>> stride = named_stride("rajagopal_1.26ms", speed=1.3)
        >>> print(stride.name, stride.speed)  # m/s
        rajagopal_1.26ms 1.3
    """
    if text in REFERENCE_GAITS:
        stride = embedded_stride(text)
        return stride if speed is None else dataclasses.replace(stride, speed=speed)
    path = pathlib.Path(text)
    if not path.exists():
        raise _not_found(text)
    if path.suffix.lower() == ".json":
        stride = record_stride(read_record(path), text)
        return stride if speed is None else dataclasses.replace(stride, speed=speed)
    found = recording_of(path)
    return read_stride(path, speed=speed) if found is None else walk_stride(_measured(found, speed))


def _measured(found: Recording, speed: float | None = None) -> Walk:
    """Measures the walk and emits its warnings, because no report is printed here."""
    walk = measure(together([found]), speed=speed)
    for line in walk.warnings:
        warnings.warn(f"{found.file}: {line}", MotionWarning, stacklevel=4)
    return walk


def recording_of(path: pathlib.Path) -> Recording | None:
    """The recording in a file; None for a file with the columns of one stride.

    Raises:
        MotionFormatError: for a file that is neither.

    Examples:
        >>> import pathlib
        >>> import pandas as pd
        >>> from jaxgait.motion.naming import recording_of
        >>> from jaxgait.motion.stride import embedded_stride
        >>> gait = embedded_stride("rajagopal_1.26ms")
        >>> pd.DataFrame({"time_s": gait.time, **gait.signals}).to_csv("stride.csv", index=False)
        >>> print(recording_of(pathlib.Path("stride.csv")))
        None
    """
    if path.is_dir():
        return None
    start = b""
    if path.suffix.lower() in _TABLES:
        with path.open("rb") as stream:
            start = stream.read(2**16).replace(b"\x00", b"")
        if _STRIDE_WORDS.search(start) and not _MARKERS.search(start):
            return None
    try:
        found = read_recording(path)
    except MotionFormatError:
        if path.suffix.lower() in _TABLES and not _MARKERS.search(start):
            return None  # the reader of strides gives the better message
        raise
    if len(found.markers) < 3 and not found.forces and not _has_leg(found):
        return None if path.suffix.lower() in _TABLES else found
    return found


def _has_leg(found: Recording) -> bool:
    return has_angles(found, "right") or has_angles(found, "left")


def together(found: Sequence[Recording]) -> list[Recording]:
    """Recordings of markers or angles, combined with the ground forces of files that contain nothing else.

    Raises:
        MotionFormatError: if all contain only ground forces, a file of forces fits none or comes with a trial that has
            its own, or joint angles come with markers: forces or strides would count twice.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.naming import together
        >>> from jaxgait.motion.recording import Force, Recording
        >>> time = np.linspace(0.0, 1.0, 101)
        >>> markers = {name: np.ones((101, 3)) for name in ("RASI", "LASI", "RHEE")}
        >>> body = Recording("walk", "walk.trc", 100.0, time, markers)
        >>> plate = Force("plate 1", time, np.tile([0.0, 700.0, 0.0], (101, 1)), None)
        >>> found = together([body, Recording("forces", "forces.mot", 100.0, time, forces=(plate,))])
        >>> print(len(found), found[0].file, found[0].forces[0].name)
        1 walk.trc plate 1
    """
    moving = [r for r in found if r.markers or r.angles]
    moving = [r for r in moving if len(r.markers) > 2 or _has_leg(r)] or moving
    forces = [r for r in found if not any(r is one for one in moving)]
    if not moving:
        what = "contains ground forces only" if found[0].forces else "contains neither markers nor joint angles"
        raise found[0].error(what, "give the file with the markers or joint angles too")
    if any(r.markers for r in moving):
        for other in (r for r in moving if not r.markers):
            raise other.error("joint angles in addition to markers", "leave one out: a walk is measured by either")
    if forces and len(moving) == 1:
        if moving[0].forces:
            what = f"ground forces in addition to those of {moving[0].file}"
            raise forces[0].error(what, "leave one of them out: they would add up")
        for other in forces:
            moving = [with_forces(moving[0], other)]
        return moving
    for other in forces:
        raise other.error("ground forces with several trials", "give each trial with its forces in one C3D file")
    return moving


def walk_stride(walk: Walk, harmonics: int | None = None) -> Stride:
    """The mean stride of a walk, for a drive; by default with as many harmonics as the data support.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import recorded, reference_gait
        >>> from jaxgait.motion.naming import walk_stride
        >>> stride = walk_stride(measure([recorded(reference_gait())]))
        >>> print(stride.name, stride.time.size, round(stride.time[-1], 2))  # one period of 101 samples, s
        rajagopal_1.26ms 101 1.13
    """
    record = walk_record(walk, harmonics)
    return Stride(
        name=walk.name,
        time=np.linspace(0.0, walk.period, POINTS_PER_STRIDE),
        signals={k: walk.mean[k] for k in UNITS if k in walk.mean},
        speed=walk.speed,
        file=walk.legs[0].recording.file,
        person=record_person(record),
        harmonics=record["n_harmonics"],
        measured=True,
    )


@float64_default
def motion_strides(text: str) -> list[GaitDrive]:
    """The drives of the single strides of a walk or a recording (its right leg), by name.

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: if it cannot be used, or contains no individual strides.

    Warns:
        MotionWarning: for strides that do not repeat, and what looks wrong with a recording.

    Examples:
        >>> from jaxgait.motion.naming import motion_strides
        >>> motion_strides("rajagopal_1.26ms")
        Traceback (most recent call last):
        MotionFormatError: rajagopal_1.26ms: contains no individual strides; write a recording with `jaxgait ...
    """
    path = pathlib.Path(text)
    strides = []
    if text not in REFERENCE_GAITS:
        if not path.exists():
            raise _not_found(text)
        if path.suffix.lower() == ".json":
            record = read_record(path)
            strides = record_strides(record, text)
            for line in unrepeated_strides(record):
                warnings.warn(f"{text}: {line}", MotionWarning, stacklevel=3)
        elif (found := recording_of(path)) is not None:
            strides = record_strides(walk_record(_measured(found)), text)
    if not strides:
        raise MotionFormatError("contains no individual strides", "write a recording with `jaxgait motion --out`", text)
    return [stride_drive(s, check=False) for s in strides]


def _not_found(text: str) -> FileNotFoundError:
    return FileNotFoundError(f"{text}: no such file, nor an embedded gait (there are {', '.join(REFERENCE_GAITS)})")
