"""MOT and STO: joint angles and ground forces as OpenSim and SIMM write them."""

from __future__ import annotations

import math
import re

from jaxgait.checks import count_of
from jaxgait.motion.readers import labels, turns
from jaxgait.motion.readers.clock import clock
from jaxgait.motion.readers.sheet import Sheet, Source, first_data, read_sheet, recording
from jaxgait.motion.recording import Recording
from jaxgait.motion.text import cells, delimiter_of, trimmed

_LENGTH = re.compile(r"_t[xyz]$|_[xyz]$|_length$", re.IGNORECASE)
"""Names of coordinates that are not angles."""
_STATE = re.compile(r"^/(?:[^/]+/)*(?P<name>[^/]+)/value$")
"""A coordinate in the words of OpenSim 4: /jointset/knee_r/knee_angle_r/value."""


def read_storage(source: Source, name: str) -> Recording:
    """The recording of a MOT or STO file.

    Raises:
        MotionFormatError: if it cannot be read.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source
        >>> from jaxgait.motion.readers.storage import read_storage
        >>> lines = ["inDegrees=yes", "endheader", "time knee_angle_r", "0.00 10", "0.01 20", "0.02 30"]
        >>> found = read_storage(Source("knee.mot", lines), "knee")
        >>> print(found.rate, found.angles["knee_angle_r"].round(4))  # Hz, rad
        100.0 [0.1745 0.3491 0.5236]
    """
    end = next((i for i, line in enumerate(source.lines[:500]) if "endheader" in line.lower()), None)
    start = first_data(source, 0 if end is None else end + 1)
    at = next((i for i in range(start - 1, (end or -1), -1) if source.lines[i].strip()), None)
    if at is None:
        raise source.error("no line of labels above the numbers", "write one that begins with 'time'", start)
    names = trimmed(cells(source.lines[at], delimiter_of(source.lines[at])))
    header = source.lines[:at]
    sheet = read_sheet(source, start, len(names))
    notes = _header_notes(header, sheet.values.shape) + sheet.notes
    names = labels.unique([state["name"] if (state := _STATE.match(n)) else n for n in names], notes)
    columns = labels.classify(names, (), notes, source.file)
    if paths := [k for k in columns.others if k.startswith("/")]:
        columns = columns._replace(others={k: i for k, i in columns.others.items() if k not in paths})
        what = count_of(len(paths), "column of another state", "columns of other states")
        notes.append(f"not read: {what} (speeds, activations), such as {paths[0]}")
    if columns.time is None:
        raise source.error("no column 'time'", "export it with times", at)
    ticks = clock(source.file, sheet.values[:, columns.time], sheet.lines)
    values = ticks.on(sheet.values)
    degrees = _in_degrees(source, header, sheet, columns, notes)
    turn = lambda k: math.pi / 180 if degrees and not is_length(k) else 1.0
    markers = {k: labels.vectors(values, i) for k, i in columns.markers.items()}
    angles = {k: turn(k) * values[:, i] for k, i in columns.others.items()}
    plates = labels.forces(values, ticks.time, columns, notes)
    return recording(source, name, ticks, markers, None, notes, angles=angles, forces=plates)


def is_length(name: str) -> bool:
    """Whether a coordinate is a length by its name, no angle.

    Examples:
        >>> from jaxgait.motion.readers.storage import is_length
        >>> print(is_length("pelvis_tx"), is_length("knee_angle_r"))
        True False
    """
    return bool(_LENGTH.search(name))


def _header_notes(header: list[str], shape: tuple[int, ...]) -> list[str]:
    notes, patterns = [], (r"(?:nRows|datarows)", r"(?:nColumns|datacolumns)")
    for word, pattern, count in zip(("rows", "columns"), patterns, shape, strict=True):
        stated = re.search(rf"^\s*{pattern}\s*[= ]\s*(\d{{1,12}})", "\n".join(header), re.IGNORECASE | re.MULTILINE)
        if stated and int(stated[1]) != count:
            notes.append(f"the header counts {stated[1]} {word}, the file has {count}")
    return notes


def _in_degrees(source: Source, header: list[str], sheet: Sheet, columns: labels.Columns, notes: list[str]) -> bool:
    """Whether angles are in degrees: as stated, otherwise by their size.

    Raises:
        MotionFormatError: for an absurd angle (see `turns.check_turns`).
    """
    angles = {k: i for k, i in columns.others.items() if not is_length(k)}
    if not angles:
        return False
    found = re.search(r"inDegrees\s*=\s*(yes|no)", "\n".join(header), re.IGNORECASE)
    stated = None if found is None else found[1].lower() == "yes"
    named = {k: i for k, i in angles.items() if turns.ANGLE.search(k)}
    size = turns.size_of(sheet, angles if stated is None else named)  # a stated unit is doubted for angles only
    degrees = stated or size.in_degrees
    turns.check_turns(source, sheet, named, degrees)
    if stated is None or stated != degrees:
        why = "the header does not say whether angles are in degrees" if stated is None else "the header says radians"
        notes.append(f"{why}; the largest is {size.largest:.4g}: {'degrees' if degrees else 'radians'}")
    return degrees
