"""CSV, TSV and TXT: labelled markers, forces and angles, as Vicon, Qualisys, OptiTrack and HBM export them.

Exports of Vicon Nexus have sections (`readers.nexus`): the trajectories are read, and the force plates of the devices.

There is either one line of labels such as `RASI.X`, `RASI_y_mm`, `RASI:Z` or `hip_flexion_r`, or names over every third
column and a line of axes below. Units are in a line of their own, after the labels, or inferred from the body's size.
"""

from __future__ import annotations

import dataclasses
import math
import re
import reprlib
from typing import NamedTuple

import numpy as np

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.coordinates import COLUMNS
from jaxgait.motion.readers import angle_units, labels, model_results, nexus
from jaxgait.motion.readers.clock import Clock, clock, counted
from jaxgait.motion.readers.sheet import Sheet, Source, first_data, fully_written, read_sheet, recording
from jaxgait.motion.readers.stated_units import ANGLES, agreed, units_of, without_unit
from jaxgait.motion.recording import Recording
from jaxgait.motion.text import cells, delimiter_of, number, trimmed
from jaxgait.support.checks import count_of, first_few

_RATE = re.compile(r"(?:rate|frequency|freq)\b(?:(?!rate|freq)[^\d\n]){0,20}(\d+(?:[.,]\d+)?)", re.IGNORECASE)
_COUNT = re.compile(r"^[\s\"#%]*(?:NO_OF_FRAMES|.*\bTotal Exported Frames)\W+(\d{1,12})\b", re.IGNORECASE)
"""The number of frames in headers of Qualisys and OptiTrack."""
_OTHER_RATE = re.compile(r"analog|force|plate|emg|cut.?off|(?:low|high|band).?pass|filter", re.IGNORECASE)
"""Words before a rate that is not that of the frames."""
_HEADER_LINES = 200
"""Number of lines in which the labels of a table are sought."""
_PERCENT_ROWS = 101
"""Rows of a curve over the stride as laboratories export it."""
_ANGULAR = re.compile(r"[\s_.(\[](deg|rad|°)(?:rees|ians)?(?![a-z])", re.IGNORECASE)
"""The unit in the name of an angle."""
_LIKE_FORCES = re.compile(r"(^|[\s._])((grf|cop)[xyz]?(?![a-z]{2})|f[xyz](?![a-z]))|force", re.IGNORECASE)
"""Parts of the names of columns that may be meant to be forces."""


class _Header(NamedTuple):
    """What the lines above the numbers state."""

    names: list[str]
    rate: float | None
    units: list[str]
    """A line of units by column in lower case, if there is one."""
    count: float | None
    """The number of frames."""
    no_positions: dict[int, str]
    """What is in columns that OptiTrack's lines of types and quantities distinguish from positions of markers."""


def read_labelled(source: Source, name: str) -> Recording:
    """The recording of a text file with labelled columns.

    Raises:
        MotionFormatError: if it cannot be read.

    Examples:
        >>> from jaxgait.motion.readers.columns import read_labelled
        >>> from jaxgait.motion.readers.sheet import Source
        >>> lines = ["time,knee_flexion_deg", "0.00,10", "0.01,20", "0.02,30"]
        >>> found = read_labelled(Source("knee.csv", lines), "knee")
        >>> print(found.rate, found.angles["knee_flexion_deg"].round(4))  # Hz, rad
        100.0 [0.1745 0.3491 0.5236]
    """
    try:
        return _recording_of(source, name)
    except MotionFormatError:
        plain, note = without_text(source)
        if not note:
            raise
    found = _recording_of(plain, name)
    return dataclasses.replace(found, notes=(note, *found.notes))


def without_text(source: Source) -> tuple[Source, str]:
    """A table without its columns of text, such as remarks, and a note that names them (empty if there are none).

    The labels are in the first line that has one for times or frame numbers; columns of text have no number below it.
    Columns of markers, forces and a leg's angles are never left out: text in them is an error.

    Examples:
        >>> from jaxgait.motion.readers.columns import without_text
        >>> from jaxgait.motion.readers.sheet import Source
        >>> without_text(Source("knee.csv", ["time,leg,knee_angle_r", "0.00,right,10", "0.01,right,12"]))  # s, -, deg
        (Source(file='knee.csv', lines=['time,knee_angle_r', '0.00,10', '0.01,12']), 'not read: text under leg')
    """
    rows = [cells(line, delimiter_of(line)) for line in source.lines[:_HEADER_LINES]]
    top = next((i for i, row in enumerate(rows) if any(map(labels.is_clock, row))), None)
    if top is None:
        return source, ""
    delimiter = delimiter_of(source.lines[top])
    names = labels.unique([without_unit(label)[0] for label in rows[top]], [])
    others = labels.classify(names, (), [], source.file).others
    below = source.lines[top + 1 :]
    if below and any(cells(below[0], delimiter)) and not units_of(cells(below[0], delimiter))[1]:
        below = below[1:]  # a line of units
    columns = _text_columns(below, delimiter, {i for name, i in others.items() if name not in COLUMNS})
    text = {i: names[i] for i in sorted(columns)}
    quoted = lambda cell: f'"{cell}"' if delimiter in cell else cell
    left = lambda line: delimiter.join(quoted(x) for i, x in enumerate(cells(line, delimiter)) if i not in text)
    lines = [*source.lines[:top], *map(left, source.lines[top:])] if text else source.lines
    return Source(source.file, lines), f"not read: text under {first_few([*text.values()])}" if text else ""


def _text_columns(lines: list[str], delimiter: str, columns: set[int]) -> set[int]:
    """Those of some columns whose cells contain text, and no number."""
    free, text = set(columns), set()
    for line in lines:
        if not free:
            break
        row = cells(line, delimiter)
        found = {i: number(row[i], delimiter != ",") for i in free if i < len(row)}
        text |= {i for i, x in found.items() if x is None}
        free -= {i for i, x in found.items() if x is not None and math.isfinite(x)}
    return text & free


def _recording_of(source: Source, name: str) -> Recording:
    """The recording of a file that has text only above the numbers."""
    parts, whole = nexus.sections(source), source
    devices = parts.get(nexus.DEVICES)
    main = next((x for x in (nexus.TRAJECTORIES, nexus.MODEL_OUTPUTS) if x in parts), None)
    if devices and main is None:
        return _of_devices(source, name, devices)
    section, end = (0, len(source.lines)) if main is None else parts[main]
    source = Source(source.file, source.lines[:end])
    start = _start(source, section)
    header = _read_header(source, section, start)
    sheet, early = fully_written(source, read_sheet(source, start, len(header.names)), header.count, "frames")
    notes = [*sheet.notes, *_not_read(source, parts, main)]
    if header.no_positions:
        notes.append(f"not read: columns labelled {first_few([*dict.fromkeys(header.no_positions.values())])}")
        kept = [i for i in range(len(header.names)) if i not in header.no_positions]
        header = header._replace(names=[header.names[i] for i in kept])
        sheet = sheet._replace(values=sheet.values[:, kept])
    named = [*map(without_unit, header.names)]
    plain = model_results.renamed([name for name, _ in named])
    notes += plain.notes
    names, own = labels.unique(plain.names, notes), [unit for _, unit in named]
    line = [] if len(header.units) == 1 else header.units  # a single one is that of all columns without their own
    by_column = agreed(source.file, names, own, line)
    units = [unit or next(iter(header.units), "") for unit in by_column] if len(header.units) == 1 else by_column
    columns = labels.classify(names, units, notes, source.file)
    if unread := [name for name in (*columns.others, *columns.markers) if _LIKE_FORCES.search(name)]:
        wanted = "ground_force_vx, ..., and ground_force_px, ... for the centre of pressure"
        notes.append(f"not read as ground forces: {first_few(unread)}; if they are, name them {wanted}")
    _check_units(source, header.units, columns, len(names), start)
    stated = _marker_unit(source, columns, units, start - 1)
    ticks = _clock(source, sheet, columns, header.rate, notes)
    values = ticks.on(sheet.values)
    markers = {k: labels.vectors(values, i) for k, i in columns.markers.items()}
    if any(-1 in three for three in columns.markers.values()):
        notes.append("markers have no z: they are taken to lie in the sagittal plane")
    unit = _unit_sizes(source, sheet, columns.others, by_column, {*ANGLES} & {*header.units}, notes)
    sign = lambda i: -1.0 if i in plain.opposite else 1.0
    angles = {k: sign(i) * unit.get(k, 1.0) * values[:, i] for k, i in columns.others.items()}
    plates = labels.forces(values, ticks.time, columns, notes)
    points = {i for plate in columns.forces.values() for i in plate.get("point", ()) if i >= 0}
    if not points & columns.force_units.keys():
        plates = _in_metres(plates, notes)
    if devices:
        numbers = (math.nan, math.nan) if columns.frame is None else sheet.values[[0, -1], columns.frame].tolist()
        plates += nexus.device_forces(whole, devices, nexus.Frames(ticks.rate, *numbers), notes)
    return recording(source, name, ticks, markers, stated, notes, angles=angles, forces=plates, warnings=early)


def _not_read(source: Source, parts: dict[str, tuple[int, int]], main: str | None) -> list[str]:
    """Notes on sections that are not read (all but devices and the main one), and on lines before the first one."""
    others = [name.capitalize() for name in parts if name not in (nexus.DEVICES, main)]
    notes = [f"not read: the sections {first_few(others)}"] if others else []
    first = min((start for start, _ in parts.values()), default=0)
    if any(line.strip() for line in source.lines[:first]):
        notes.append(f"not read: {count_of(first, 'line', 'lines')} before the first section")
    return notes


def _of_devices(source: Source, name: str, section: tuple[int, int]) -> Recording:
    """The recording of an export without trajectories."""
    notes: list[str] = []
    plates = nexus.device_forces(source, section, None, notes)
    if not plates:
        what = "neither trajectories nor force plates (Fx, Fy, Fz) among the devices"
        raise source.error(what, "export them from Nexus", section[0])
    time = plates[0].time
    rate = (time.size - 1) / float(time[-1] - time[0])
    return Recording(name, source.file, rate, time, forces=plates, notes=tuple(notes))


def _check_units(source: Source, units: list[str], columns: labels.Columns, count: int, start: int) -> None:
    """Checks that a line of units delimited by blanks, where no cell can be empty, has a unit for each column.

    Raises:
        MotionFormatError: if it has fewer, and there are forces or angles.
    """
    short = len(units) < count and len(set(units)) > 1 and delimiter_of(source.lines[start]) == " "
    if short and (columns.forces or any(map(angle_units.is_angle, columns.others))):
        what = f"the line of units has {len(units)} units for {count} columns"
        raise source.error(what, "write one for each column (s for the time), or units in the labels: Fx_kN", start - 1)


def _start(source: Source, section: int) -> int:
    """The first row that is as long as the next: a rate alone on its line is not a row."""
    start = first_data(source, section)
    while start + 1 < len(source.lines):
        here, below = (len(cells(line, delimiter_of(line))) for line in source.lines[start : start + 2])
        if here == below or not source.lines[start + 1].strip():
            return start
        start = first_data(source, start + 1)
    return start


def _read_header(source: Source, section: int, start: int) -> _Header:
    delimiter = delimiter_of(source.lines[start])
    width = len(trimmed(cells(source.lines[start], delimiter)))
    lines = [line for line in source.lines[section:start] if line.strip(' \t,;"')]
    rows = [cells(line.lstrip("#%!/ "), delimiter) for line in lines]
    units = _units(source, rows, start)
    names = _names(rows, width)
    if names is None:
        what = f"no line of labels for {width} columns above the numbers"
        raise source.error(what, "write one, such as time,RASI.X,RASI.Y,RASI.Z", start)
    if len(names) < width:
        advice = "label every column; decimal commas need ';' or tabs between the cells"
        raise source.error(f"{width} cells under {len(names)} labels", advice, start)
    count = next((float(found[1]) for line in lines if (found := _COUNT.match(line))), None)
    return _Header(names, _rate(lines), units, count, {} if units else _no_positions(rows, len(names)))


def _units(source: Source, rows: list[list[str]], start: int) -> list[str]:
    """The units of a line below the labels, which is removed from `rows`; empty if there is no such line.

    A line without labels of times or frame numbers, below one that has them, must be one of units: others are an error.
    """
    found, unknown = units_of(trimmed(rows[-1])) if rows else ([], [])
    if any(found) and not unknown:
        rows.pop()
        return found
    labelled = len(rows) > 1 and any(map(labels.is_clock, rows[-2])) and not any(map(labels.is_clock, unknown))
    if labelled and len(rows[-1]) >= 0.5 * len(rows[-2]) and not labels.are_axes(rows[-1]):
        what = f"the line below the labels is not one of units: {first_few([*map(reprlib.repr, unknown)], 4)}"
        raise source.error(what, "write units such as s, mm, deg or N, or leave the line out", start - 1)
    return []


def _marker_unit(source: Source, columns: labels.Columns, units: list[str], line: int) -> str | None:
    """The unit of length of all markers, stated in the line of units or in the labels; None if there is none."""
    at = {i for three in columns.markers.values() for i in three}
    stated = {unit for i, unit in enumerate(units) if i in at and unit in labels.LENGTHS} | set(columns.units.values())
    if len(stated) > 1:
        raise source.error(f"markers are in {' and '.join(sorted(stated))}", "export all of them in one unit", line)
    return next(iter(stated), None)


def _rate(lines: list[str]) -> float | None:
    """The rate of the frames in Hz: a number after a word for it, or alone in its line (Vicon)."""
    for line in lines:
        found = [(re.split("[,;\t]", line[: m.start()])[-1], m[1]) for m in _RATE.finditer(line)]
        found = [(words, number) for words, number in found if not _OTHER_RATE.search(words)]
        found.sort(key=lambda rate: "export" not in rate[0].lower())  # of OptiTrack's two, this is the frames'
        if alone := re.match(r'^[\s"]*(\d{2,5}(?:\.\d+)?)[\s",;]*(?:hz)?[\s",;]*$', line, re.IGNORECASE):
            found.append(("", alone[1]))
        rates = [float(number.replace(",", ".")) for _, number in found]
        if possible := [rate for rate in rates if 5 <= rate <= 20_000]:
            return possible[0]
    return None


def _names(whole: list[list[str]], width: int) -> list[str] | None:
    """The labels of the columns, of which there are `width`; None without a line of labels."""
    rows = [trimmed(row) for row in whole]
    axes = next((i for i in range(len(rows) - 1, -1, -1) if labels.are_axes(rows[i])), None)
    if axes is not None and axes > 0:
        return _over_axes(_named(rows[:axes], rows[axes]), rows[axes], width)
    listed = next((row[1:] for row in rows if row and row[0].upper() == "MARKER_NAMES"), None)
    if listed and 0 <= width - 3 * len(listed) <= 2:
        clocks = ["Frame", "Time"][: width - 3 * len(listed)]
        return clocks + [f"{name}.{axis}" for name in listed for axis in "XYZ"]
    at = next((i for i in range(len(rows) - 1, -1, -1) if len(rows[i]) >= max(2, 0.5 * width)), None)
    return None if at is None else whole[at][: max(width, len(rows[at]))]


def _no_positions(rows: list[list[str]], width: int) -> dict[int, str]:
    """Columns of rotations, errors and, beside markers, bones, each with what it contains (OptiTrack's skeletons)."""
    words = [[cell.lower() for cell in row] for row in rows]
    quantities = next((row for row in words if "position" in row and not any(row[:2])), [])
    types = next((row for row in words if row[:2] == ["", "type"]), [])
    if not (quantities and types):  # another program's file, in which a column may be called "position"
        return {}
    others = {i: word for i, word in enumerate(quantities[:width]) if word not in ("", "position")}
    if any("marker" in word for word in types):
        others |= {i: word for i, word in enumerate(types[:width]) if i > 1 and word and "marker" not in word}
    return others


def _named(above: list[list[str]], axes: list[str]) -> list[str]:
    """The line with the most different names over the x axes: OptiTrack also writes lines of types and identifiers."""
    at = [i for i, axis in enumerate(axes) if re.match(r"x\d*$", axis, re.IGNORECASE)] or [0]
    whole = [row for row in above if len(row) > at[-1] and not row[0] and all(row[i] for i in at)]
    return max(whole, key=lambda row: len({row[i] for i in at}), default=above[-1])


def _over_axes(names: list[str], axes: list[str], width: int) -> list[str]:
    """Labels from a line of names over a line of axes; a name applies to all columns up to the next name."""
    labelled, current = [], ""
    for i in range(max(width, len(axes))):
        current = (names[i] if i < len(names) else "") or current
        axis = axes[i] if i < len(axes) else ""
        own = names[i] if i < len(names) else ""
        other = axis if labels.is_clock(axis) else own or axis  # OptiTrack has "Name" over its times
        labelled.append(f"{current}.{axis[0]}" if labels.AXIS.match(axis) else other)
    return labelled


def _clock(source: Source, sheet: Sheet, columns: labels.Columns, rate: float | None, notes: list[str]) -> Clock:
    if columns.time is not None:
        time = sheet.values[:, columns.time] * columns.time_unit
        return clock(source.file, time, sheet.lines, rate)
    if rate is None:
        advice = "write a column time_s, or above the labels a line such as 'rate 100'"
        if sheet.lines.size == _PERCENT_ROWS:
            advice += "; if the 101 rows are per cent of one stride, time_s is percent / 100 * stride time"
        raise source.error("no times and no rate", advice, int(sheet.lines[0]))
    frames = None if columns.frame is None else sheet.values[:, columns.frame]
    return clock(source.file, counted(frames, sheet.lines.size, rate, f"{rate:g} Hz", notes), sheet.lines, rate)


def _unit_sizes(
    source: Source, sheet: Sheet, others: dict[str, int], units: list[str], line: set[str], notes: list[str]
) -> dict[str, float]:
    """Units of angles in rad and of lengths in m, by name: from the label, else the line of units, else their size.

    Args:
        source: the file.
        sheet: its rows.
        others: the columns by name.
        units: the stated ones, by column.
        line: the units of angles in the line of units; if there is only one, angles without a unit have it, too.
        notes: extended by what is assumed.

    Raises:
        MotionFormatError: for an absurd angle of a leg, and if its unit is not clear (see `angle_units.decided`).
    """
    sizes = {**ANGLES, **labels.LENGTHS}
    found = {k: units[i] for k, i in others.items() if units[i]}
    angles = {k for k in others if angle_units.is_angle(k) and found.get(k, "deg") in ANGLES}
    found |= {k: "deg" if unit[1] == "°" else unit[1].lower() for k in angles if (unit := _ANGULAR.search(k))}
    unsure = {k: i for k, i in others.items() if k in angles and k not in found}
    if len(line) == 1:
        found |= dict.fromkeys(unsure, *line)
    elif unsure:
        guess = angle_units.decided(source, sheet, unsure)
        found |= dict.fromkeys(unsure, guess.unit)
        notes.append(f"angles are taken as {angle_units.WORDS[guess.unit]}: {guess.remark()}")
    angle_units.check_turns(source, sheet, others, found)
    return {k: sizes[unit] for k, unit in found.items() if unit in sizes}


def _in_metres(forces: tuple, notes: list[str]) -> tuple:
    """Forces with the centre of pressure in m; coordinates of 20 and more are taken to be in mm."""
    points = [f.point for f in forces if f.point is not None and np.isfinite(f.point).any()]
    spread = max((float(np.nanpercentile(np.abs(p), 90)) for p in points), default=0.0)
    if spread < 20:
        return forces
    notes.append("the centre of pressure is taken to be in mm, by its size")
    return tuple(f if f.point is None else f._replace(point=1e-3 * f.point) for f in forces)
