"""TRC: marker trajectories as Motion Analysis and OpenSim write them.

Vendors differ in keys and counts of the header, in the spacing and numbering of labels, and in empty lines; the rows
decide.
"""

from __future__ import annotations

import re

import numpy as np

from jaxgait.motion.readers import labels
from jaxgait.motion.readers.clock import Clock, clock, counted
from jaxgait.motion.readers.model_results import is_result, model_angles
from jaxgait.motion.readers.sheet import (
    LARGEST_SHORT_SHARE,
    Sheet,
    Source,
    first_data,
    fully_written,
    read_sheet,
    recording,
)
from jaxgait.motion.readers.stated_units import ANGLES
from jaxgait.motion.recording import Recording
from jaxgait.motion.text import cells, delimiter_of, number, trimmed
from jaxgait.support.checks import count_of, first_few


def read_trc(source: Source, name: str) -> Recording:
    """The recording of a TRC file.

    Raises:
        MotionFormatError: if it cannot be read.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source
        >>> from jaxgait.motion.readers.trc import read_trc
        >>> head = ["PathFileType 4", "DataRate Units", "100 mm", "Frame# Time RASI", "X1 Y1 Z1"]
        >>> rows = ["1 0.00 0 950 120", "2 0.01 12 951 120", "3 0.02 24 952 120"]
        >>> found = read_trc(Source("walk.trc", head + rows), "walk")
        >>> print(found.rate, found.markers["RASI"][0])  # Hz, m
        100.0 [0.   0.95 0.12]
    """
    at = next((i for i, line in enumerate(source.lines[:50]) if re.match(r'[\s"]*frame', line, re.IGNORECASE)), None)
    if at is None:
        raise source.error("no line of labels that begins with 'Frame#'", "export it as TRC again, or as CSV")
    header = _header(source, at)
    start = first_data(source, at + 1)
    names = _names(source, at)
    sheet = read_sheet(source, start, 2 + 3 * len(names), beyond=3)
    counted, numbers = _stated(header, "numframes"), sheet.values[:, 0]
    span = (numbers[-1] - numbers[0]) / np.median(np.diff(numbers)) + 1  # in frames, which may be every second one
    if counted is not None and span >= counted:  # the last frame is there: those that are missing are gaps
        counted = None
    sheet, early = fully_written(source, sheet, counted, "frames")
    excerpt = _is_excerpt(header, sheet)
    notes = [*_header_notes(header, sheet, len(names), excerpt), *sheet.notes]
    counted_markers = _stated(header, "nummarkers")
    unlike = counted_markers is not None and counted_markers != len(names)
    if unlike and sheet.longer > LARGEST_SHORT_SHARE * sheet.lines.size:
        what = f"{len(names)} labels of markers, but the header counts {counted_markers:g} and rows have more"
        raise source.error(what, "write one label for every marker", at)
    names = labels.unique(names, notes, labels.COPY)
    ticks = _clock(source, sheet, header.get("datarate"), notes)
    markers = {k: ticks.on(sheet.values[:, 2 + 3 * i : 5 + 3 * i]) for i, k in enumerate(names)}
    results = {k: markers.pop(k) for k in names if is_result(k)}
    if results:
        what = count_of(
            len(results), "name is that of a result, not of a marker", "names are those of results, not of markers"
        )
        notes.append(f"{what}: {first_few([*results])}")
    angles = model_angles(labels.gapped(results, []), ANGLES["deg"], notes)
    unit, warnings = str(header.get("units", "")), () if excerpt else early
    return recording(source, name, ticks, markers, unit, notes, angles=angles, warnings=warnings)


def _header(source: Source, at: int) -> dict[str, float | str]:
    """Keys in lower case with the values below them; empty cells are skipped if there are as many values as keys."""
    for i in range(at):
        if "datarate" in source.lines[i].lower().replace(" ", ""):
            line = next((line for line in source.lines[i + 1 : at] if line.strip()), "")
            keys, below = (cells(one, delimiter_of(one)) for one in (source.lines[i], line))
            if len(full := [v for v in below if v]) == len([k for k in keys if k]):  # as with doubled tabs
                keys, below = [k for k in keys if k], full
            values = [number(v, comma="." not in v) if number(v, True) is not None else v for v in below]
            return {k.lower(): v for k, v, cell in zip(keys, values, below, strict=False) if cell and v is not None}
    return {}


def _names(source: Source, at: int) -> list[str]:
    delimiter = delimiter_of(source.lines[at])
    found = cells(source.lines[at], delimiter)
    whole = trimmed(found)
    if len(whole) < 3:
        raise source.error("no markers in the line of labels", "label every marker", at)
    spread = whole[2:]
    over_x = delimiter != " " and len(spread) > 1 and not any(spread[1::3] + spread[2::3])
    return spread[::3] if over_x else [name for name in spread if name]


def _stated(header: dict[str, float | str], key: str) -> float | None:
    """A number of the header; None if it has none, or text."""
    return found if isinstance(found := header.get(key), float) else None


def _is_excerpt(header: dict[str, float | str], sheet: Sheet) -> bool:
    """Whether the rows begin after the header's first frame; if so, the header counts the frames of the whole trial."""
    first = _stated(header, "origdatastartframe")
    return bool(sheet.values[0, 0] > (1.0 if first is None else first))


def _header_notes(header: dict[str, float | str], sheet: Sheet, markers: int, excerpt: bool) -> list[str]:
    """Notes on counts in the header that differ; in whole trials, `fully_written` warns about missing frames."""
    frames, named = _stated(header, "numframes"), _stated(header, "nummarkers")
    other = frames is not None and (frames < sheet.lines.size or (excerpt and frames != sheet.lines.size))
    notes = [f"the header counts {frames:g} frames, the file has {sheet.lines.size}"] if other else []
    unlike = named is not None and named != markers
    return [*notes, *([f"the header counts {named:g} markers, the file has {markers}"] if unlike else [])]


def _clock(source: Source, sheet: Sheet, stated: float | str | None, notes: list[str]) -> Clock:
    frames, time = sheet.values[:, 0], sheet.values[:, 1]
    rate = stated if isinstance(stated, float) and 1 <= stated <= 1e5 else None
    if stated is not None and rate is None:
        notes.append(f"the header's rate {stated} is not usable")
    if np.isnan(time).all() or not np.any(np.diff(time)):
        if rate is None:
            raise source.error("neither times nor a rate", "write DataRate and the column Time", int(sheet.lines[0]))
        time = counted(frames, frames.size, rate, "DataRate", notes)
    return clock(source.file, time, sheet.lines, rate)
