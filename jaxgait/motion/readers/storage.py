"""MOT and STO: joint angles and ground forces as OpenSim and SIMM write them."""

from __future__ import annotations

import re

from jaxgait.motion.readers import angle_units, labels, model_results
from jaxgait.motion.readers.clock import clock
from jaxgait.motion.readers.sheet import Sheet, Source, first_data, fully_written, read_sheet, recording
from jaxgait.motion.readers.stated_units import ANGLES, agreed, is_length, without_unit
from jaxgait.motion.recording import Recording
from jaxgait.motion.text import cells, delimiter_of, trimmed
from jaxgait.support.checks import count_of

_STATE = re.compile(r"^/(?:[^/]+/)*(?P<name>[^/]+)/value$")
"""A coordinate as OpenSim 4 names it: /jointset/knee_r/knee_angle_r/value."""


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
    sheet, early = fully_written(source, read_sheet(source, start, len(names)), _count(header, "rows"), "rows")
    notes = _header_notes(header, sheet.values.shape) + sheet.notes
    named = [without_unit(state["name"] if (state := _STATE.match(n)) else n) for n in names]
    plain = model_results.renamed([name for name, _ in named])
    notes += plain.notes
    names = labels.unique(plain.names, notes)
    units = agreed(source.file, names, [unit for _, unit in named], ())
    columns = labels.classify(names, units, notes, source.file)
    if paths := [k for k in columns.others if k.startswith("/")]:
        columns = columns._replace(others={k: i for k, i in columns.others.items() if k not in paths})
        what = count_of(len(paths), "column of another state", "columns of other states")
        notes.append(f"not read: {what} (speeds, activations), such as {paths[0]}")
    if columns.time is None:
        raise source.error("no column 'time'", "export it with times", at)
    ticks = clock(source.file, sheet.values[:, columns.time], sheet.lines)
    values = ticks.on(sheet.values)
    sizes = _sizes(source, header, sheet, columns.others, units, notes)
    markers = {k: labels.vectors(values, i) for k, i in columns.markers.items()}
    angles = {k: (-sizes[k] if i in plain.opposite else sizes[k]) * values[:, i] for k, i in columns.others.items()}
    plates = labels.forces(values, ticks.time, columns, notes)
    return recording(source, name, ticks, markers, None, notes, angles=angles, forces=plates, warnings=early)


def _count(header: list[str], of: str) -> int | None:
    """The number of rows or columns that the header states."""
    pattern = rf"^\s*(?:n|data){of}\s*[= ]\s*(\d{{1,12}})"
    stated = re.search(pattern, "\n".join(header), re.IGNORECASE | re.MULTILINE)
    return None if stated is None else int(stated[1])


def _header_notes(header: list[str], shape: tuple[int, ...]) -> list[str]:
    """Notes on counts in the header that differ, except for rows that are missing at the end (see `fully_written`)."""
    counts = {word: (_count(header, word), there) for word, there in zip(("rows", "columns"), shape, strict=True)}
    return [
        f"the header counts {stated} {word}, the file has {there}"
        for word, (stated, there) in counts.items()
        if stated is not None and (stated < there or (word == "columns" and stated != there))
    ]


def _sizes(
    source: Source, header: list[str], sheet: Sheet, others: dict[str, int], units: list[str], notes: list[str]
) -> dict[str, float]:
    """Units of angles in rad and of lengths in m, by name: from the label, else the header, else their size.

    Raises:
        MotionFormatError: for an absurd angle of a leg, for an angle whose label states another unit than the header,
            and if the unit is not clear (see `angle_units.decided`).
    """
    found = re.search(r"inDegrees\s*=\s*(yes|no)", "\n".join(header), re.IGNORECASE)
    stated = None if found is None else "deg" if found[1].lower() == "yes" else "rad"
    own = {k: units[i] for k, i in others.items() if units[i]}
    for k, unit in own.items():
        if stated and unit in ANGLES and unit != stated:
            what = f"its label states {unit}, the header inDegrees={found[1].lower() if found else ''}"
            raise source.error(what, "correct one of them", column=k)
    angles = {k: i for k, i in others.items() if not is_length(k) and k not in own}
    own |= dict.fromkeys(angles, _unit(source, sheet, angles, stated, notes)) if angles else {}
    angle_units.check_turns(source, sheet, others, own)
    return {k: {**labels.LENGTHS, **ANGLES}.get(own.get(k, ""), 1.0) for k in others}


def _unit(source: Source, sheet: Sheet, angles: dict[str, int], stated: str | None, notes: list[str]) -> str:
    """The unit of angles: as the header states it, unless joints exceed a turn in radians; otherwise by their size.

    Columns whose names are not those of angles count only if there are no others.
    """
    named = {k: i for k, i in angles.items() if angle_units.is_angle(k)} or angles
    guess = angle_units.guess(source, sheet, named) if stated else angle_units.decided(source, sheet, named)
    unit = guess.unit if stated is None else "deg" if guess.joint > angle_units.TURNS["rad"] else stated
    if unit != stated:
        why = "the header says radians" if stated else "the header does not say whether angles are in degrees"
        notes.append(f"{why}; {guess.remark()}: {angle_units.WORDS[unit]}")
    return unit
