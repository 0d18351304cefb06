"""Readers of the files of motion laboratories (C3D, TRC, MOT, STO, CSV, TSV, TXT), each into a `Recording`."""

from __future__ import annotations

import pathlib
import re

from jaxgait.motion import MotionFormatError
from jaxgait.motion.readers.c3d import read_c3d
from jaxgait.motion.readers.columns import read_labelled
from jaxgait.motion.readers.sheet import Source
from jaxgait.motion.readers.storage import read_storage
from jaxgait.motion.readers.trc import read_trc
from jaxgait.motion.recording import Recording
from jaxgait.motion.text import content, decoded
from jaxgait.support import files

MAX_BYTES = 128 * 2**20
"""Largest text file in bytes. Ten minutes of 50 markers at 100 Hz take 95 MiB, and reading them 500 MiB of memory."""


def read_recording(path: str | pathlib.Path) -> Recording:
    """Reads a C3D, TRC, MOT, STO, CSV, TSV or TXT file; the content overrides a wrong ending.

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: if it cannot be read.

    Examples:
        >>> import pandas as pd
        >>> from jaxgait.motion.readers import read_recording
        >>> rows = {"time": [0.0, 0.01, 0.02], "knee_flexion": [10.0, 12.0, 15.0]}
        >>> pd.DataFrame(rows).to_csv("knee.csv", index=False)
        >>> recording = read_recording("knee.csv")
        >>> print(recording.rate, recording.angles["knee_flexion"].round(3), recording.notes)  # Hz, rad
        100.0 [0.175 0.209 0.262] ('angles are taken as degrees: the largest is 15',)
    """
    path = files.expanded(path)
    if path.exists() and not path.is_dir() and not path.is_file():
        raise MotionFormatError("is not a regular file", "copy it into one", str(path))
    if path.is_file() and _begins_as_c3d(path):
        return read_c3d(path)
    raw = content(path, MAX_BYTES, "a C3D, TRC, MOT or CSV file", "cut out some strides")
    if not raw.strip():
        raise MotionFormatError("is empty", "export the trial again", str(path))
    if path.suffix.lower() == ".c3d":
        raise MotionFormatError("is not a C3D file: it lacks the C3D signature", "export it as C3D again", str(path))
    text = decoded(str(path), raw, "export the trial as C3D, TRC, MOT or CSV (UTF-8)")
    source = Source(str(path), text.split("\n"))
    if len(source.lines) > 4_000_000:
        raise MotionFormatError("has more than 4 million lines", "cut out some strides", str(path))
    return _reader(path.suffix.lower(), source)(source, path.stem)


def _begins_as_c3d(path: pathlib.Path) -> bool:
    """Whether the second byte is that of C3D files, and there are zeros, unlike in text; PNG pictures are excluded."""
    try:
        with path.open("rb") as stream:
            start = stream.read(512)
    except PermissionError as error:
        raise MotionFormatError("may not be read", "ask its owner for the permission", str(path)) from error
    return len(start) == 512 and start[1] == 0x50 and b"\x00" in start and not start.startswith(b"\x89PNG")


def _reader(suffix: str, source: Source):
    start = "\n".join(line[:200] for line in source.lines[:40])
    if re.search(r"^\s*endheader", start, re.IGNORECASE | re.MULTILINE):
        return read_storage
    if re.match(r'[\s"]*PathFileType', start, re.IGNORECASE):
        return read_trc
    return {".trc": read_trc, ".mot": read_storage, ".sto": read_storage}.get(suffix, read_labelled)
