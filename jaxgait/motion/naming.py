"""Measured motion by name or as a value: an embedded gait, a stride, a walk, or a laboratory's recordings."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.capture.trials import has_leg
from jaxgait.motion.capture.walk import Walk, measure, walk_stride
from jaxgait.motion.drive import GaitDrive, reference_gait, stride_drive, verdict_drive
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.readers import read_recording
from jaxgait.motion.record import read_record, record_stride, record_strides, unrepeated_strides, walk_record
from jaxgait.motion.recording import Recording
from jaxgait.motion.stride import Stride, embedded_stride, read_stride, table_stride
from jaxgait.motion.verdict import judge
from jaxgait.precision import float64_default
from jaxgait.support import checks
from jaxgait.support.files import expanded

_STRIDE_WORDS = re.compile(rb"hip_[xy]|thigh_|knee_rad", re.IGNORECASE)
_KNEE = re.compile(rb"\bknee_(rad|deg)\b", re.IGNORECASE)
"""Labels of the knee that occur only in files with the columns of one stride."""
_MARKERS = re.compile(rb"(\w[._: ][xyz](_[mc]?m)?\b[^\n]*){6}|(\b[xyz]\d*\W+){6}", re.IGNORECASE)
"""Labels of at least two markers, or the line of axes below them."""
_ANGLES = re.compile(
    rb"(hip[ _]flexion|knee[ _]angle|ankle[ _]angle)[ _][rl]\b|\b[rl](hip|knee|ankle)angles", re.IGNORECASE
)
"""Labels of the joint angles of a whole trial, those of Plug-in Gait included."""
_TABLES = (".csv", ".tsv", ".txt", ".dat", "")
"""Endings of files that may hold the columns of one stride."""


def motion_drive(motion: Any, *, side: str | None = None) -> GaitDrive:
    """The drive of measured motion, by name or as a value.

    Args:
        motion: an embedded gait by name; the path of a stride, a walk or a recording; a `Recording`, or a list of paths
            and recordings of one person, as `jaxgait motion` takes them; a `Walk`; a `Stride`; a table (DataFrame,
            Dataset or dict) as in `motion.stride.table_stride`; or a drive, which is returned as it is.
        side: the leg of recordings, right by default. Recordings are measured with the defaults of
            `motion.capture.walk.measure`; measure them yourself for another marker map, a standing trial or a mass.

    Raises:
        FileNotFoundError: for a name that is neither a file nor an embedded gait.
        MotionFormatError: if the file cannot be used.
        ValueError: if a side is given, and the motion is neither recordings nor known to be of this side.
        TypeError: for anything else.

    Warns:
        MotionWarning: for what looks wrong with a recording, or is unusual about its stride.

    Examples:
        >>> from jaxgait.motion.naming import motion_drive
        >>> drive = motion_drive("hbm07_0.98ms")  # or "walk.c3d", "walk.json", "stride.csv"
        >>> print(drive.name, round(float(drive.speed), 2))
        hbm07_0.98ms 0.98
    """
    if isinstance(motion, GaitDrive) or (isinstance(motion, str) and motion in REFERENCE_GAITS):
        _check_side(side, None, motion if isinstance(motion, str) else motion.name)
        return motion if isinstance(motion, GaitDrive) else reference_gait(motion)
    found = _walk_or_stride(motion, side)
    if isinstance(found, Stride):
        return stride_drive(found)
    verdict = judge(walk_stride(found))
    if not verdict.usable:
        raise verdict.error()
    return verdict_drive(verdict)  # its warnings are among those of the walk


def _walk_or_stride(motion: Any, side: str | None) -> Walk | Stride:
    """The walk, whose warnings are emitted here because no report is printed, or the stride."""
    if isinstance(motion, Stride):
        _check_side(side, None, motion.name)
        return motion
    if isinstance(motion, Walk):
        _check_side(side, motion.side, motion.name)
        return _with_warnings(motion)
    if isinstance(motion, Mapping) or hasattr(motion, "columns"):
        _check_no_walk(motion)
        _check_side(side, None, "a table")
        return table_stride(motion)
    if isinstance(motion, str | os.PathLike | Recording):
        motion = [motion]
    if not isinstance(motion, list | tuple):
        advice = "give a name, a path, recordings, a Walk, a Stride, or a table with the columns of a stride"
        raise TypeError(f"{checks.shown(motion)} is not a measured motion: {advice}")
    recordings = trial_recordings(motion)
    if recordings is not None:
        return _with_warnings(measure(recordings, "right" if side is None else side))
    stride = named_stride(os.fspath(motion[0]))
    _check_side(side, stride.side or None, os.fspath(motion[0]))
    return stride


def _check_no_walk(table: Any) -> None:
    """Raises a TypeError for results of `measure_both` and `Walk.to_dataset`, which are not columns of one stride."""
    if isinstance(table, Mapping) and any(isinstance(x, Walk) for x in table.values()):
        first = next(key for key, x in table.items() if isinstance(x, Walk))
        raise TypeError(f"a dict of walks is not a measured motion: give one of them, such as walks[{first!r}]")
    if {"stride", "percent"} <= set(getattr(table, "dims", ())):
        raise TypeError("strides over percent of the gait cycle are not a measured motion: give the Walk itself")


def _check_side(side: str | None, measured: str | None, name: str) -> None:
    """Checks that the side, if given, is the measured one (None if that is not known)."""
    if side is not None and side != measured:
        what = "is not a recording" if measured is None else f"is a walk of the {measured} leg"
        raise ValueError(f"{name} {what}: leave side={side!r} out")


def _with_warnings(walk: Walk) -> Walk:
    for line in walk.warnings:
        checks.warn_user(f"{walk.legs[0].recording.file}: {line}", MotionWarning)
    return walk


def named_stride(text: str, *, speed: float | None = None) -> Stride:
    """The stride of an embedded gait, of a saved walk (JSON; named after the file), or of a file with columns.

    A walking speed in m/s replaces that of the file.

    Raises:
        FileNotFoundError: if there is neither such a gait nor such a file.
        MotionFormatError: if the file cannot be read.

    Examples:
        >>> from jaxgait.motion.naming import named_stride
        >>> stride = named_stride("rajagopal_1.26ms", speed=1.3)
        >>> print(stride.name, stride.speed)  # m/s
        rajagopal_1.26ms 1.3
    """
    path = expanded(text)
    if text in REFERENCE_GAITS:
        stride = embedded_stride(text)
    elif not path.exists():
        raise _not_found(text)
    elif _is_record(path):
        stride = dataclasses.replace(record_stride(read_record(path), text), name=path.stem)
    else:
        return read_stride(path, speed=speed)
    return stride if speed is None else dataclasses.replace(stride, speed=speed)


def _is_record(path: pathlib.Path) -> bool:
    return path.suffix.lower() == ".json"


def trial_recordings(files: Sequence[Any]) -> list[Recording] | None:
    """The recordings of one person; None for a single file that is an embedded gait, a saved walk or a stride instead.

    Args:
        files: paths and recordings.

    Raises:
        FileNotFoundError: if a file does not exist.
        MotionFormatError: if a file cannot be read.
        ValueError: for an embedded gait or a saved walk among several files.
        TypeError: for anything but paths and recordings.

    Examples:
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> from jaxgait.motion.naming import trial_recordings
        >>> trial = synthetic_recording(reference_gait())
        >>> print(trial_recordings(["rajagopal_1.26ms"]), len(trial_recordings([trial])))
        None 1
    """
    for file in files:
        if not isinstance(file, str | os.PathLike | Recording):
            advice = "a list contains paths and recordings of one person; `people` takes several motions"
            raise TypeError(f"{checks.shown(file)} is neither a path nor a recording: {advice}")
        if isinstance(file, Recording):
            continue
        path = expanded(file)
        if str(file) in REFERENCE_GAITS or _is_record(path):
            if len(files) == 1:
                return None
            kind = "an embedded gait" if str(file) in REFERENCE_GAITS else "a saved walk"
            raise ValueError(f"{file} is {kind}, not a recording: give it alone; several files are of one person")
        if not path.exists():
            raise _not_found(str(file)) if len(files) == 1 else FileNotFoundError(f"{file}: no such file")
    found = [file if isinstance(file, Recording) else recording_of(expanded(file)) for file in files]
    if found == [None]:
        return None
    return [read_recording(file) if r is None else r for file, r in zip(files, found, strict=True)]


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
        other = _MARKERS.search(start) or (_ANGLES.search(start) and not _KNEE.search(start))
        if _STRIDE_WORDS.search(start) and not other:
            return None
    try:
        found = read_recording(path)
    except MotionFormatError:
        if path.suffix.lower() in _TABLES and not _MARKERS.search(start) and not _ANGLES.search(start):
            return None  # the reader of strides gives the better message
        raise
    if len(found.markers) < 3 and not found.forces and not has_leg(found):
        return None if path.suffix.lower() in _TABLES and not _ANGLES.search(start) else found
    return found


@float64_default
def motion_strides(motion: Any, *, side: str | None = None) -> list[GaitDrive]:
    """A drive for each stride of a walk or of recordings; the arguments are those of `motion_drive`.

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: if it cannot be used.
        ValueError: if it contains no individual strides, and as in `motion_drive`.

    Warns:
        MotionWarning: for strides that do not repeat, and what looks wrong with a recording.

    Examples:
        >>> from jaxgait.motion.naming import motion_strides
        >>> motion_strides("rajagopal_1.26ms")
        Traceback (most recent call last):
        MotionFormatError: rajagopal_1.26ms: contains no individual strides; write a recording with `jaxgait ...
    """
    path = expanded(motion) if isinstance(motion, str | os.PathLike) else None
    if path is not None and _is_record(path) and path.exists():
        file, record = str(path), read_record(path)
        for line in unrepeated_strides(record):
            checks.warn_user(f"{file}: {line}", MotionWarning)
    else:
        found = motion if isinstance(motion, GaitDrive) else _walk_or_stride(motion, side)
        file, record = found.name, walk_record(found) if isinstance(found, Walk) else {}
    strides = record_strides(record, file)
    if not strides:
        raise MotionFormatError("contains no individual strides", "write a recording with `jaxgait motion --out`", file)
    _check_side(side, strides[0].side or None, file)
    return [stride_drive(s, check=False) for s in strides]


def _not_found(text: str) -> FileNotFoundError:
    return FileNotFoundError(f"{text}: no such file, nor an embedded gait (there are {', '.join(REFERENCE_GAITS)})")
