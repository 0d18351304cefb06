"""Sheets of numbers under header lines: what the readers of TRC, MOT, STO, CSV and TXT share.

Cells are delimited by tabs, semicolons, commas or blanks; decimal commas are accepted where the delimiter leaves no
doubt; empty cells and words such as NaN are gaps.
"""

from __future__ import annotations

import array
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxgait.motion import MotionFormatError
from jaxgait.motion.readers import labels
from jaxgait.motion.readers.clock import Clock
from jaxgait.motion.readers.subjects import without_subject
from jaxgait.motion.recording import GroundReaction, Recording
from jaxgait.motion.text import cells, decimal_comma, delimiter_of, is_remark, no_number, number, trimmed
from jaxgait.support.checks import count_of

MAX_CELLS = 20_000
"""Largest number of cells of a line: 6 600 markers."""
LARGEST_SHORT_SHARE = 0.9
"""Share of rows that may be shorter or longer than the line of labels; if more are, the labels do not fit."""
_COMMENT = ("#", "%", "//", "!")


class Source(NamedTuple):
    """The lines of a text file.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source
        >>> print(Source("walk.csv", ["time,x", "0,a"]).error("'a' is not a number", "write one", line=1))
        walk.csv, line 2: 'a' is not a number; write one
    """

    file: str
    lines: list[str]

    def error(self, what: str, advice: str = "", line: int | None = None, column: str | None = None):
        """An error about this file; lines count from 0 here, and from 1 in the message."""
        return MotionFormatError(what, advice, self.file, None if line is None else line + 1, column)


class Sheet(NamedTuple):
    """Rows of numbers; NaN where a cell is empty."""

    values: Float[np.ndarray, "rows columns"]
    lines: Int[np.ndarray, " rows"]
    """Line of each row in the file, counted from 0."""
    notes: list[str]
    longer: int = 0
    """Number of rows that continue after the last label."""


def is_data(line: str) -> bool:
    """Whether a line is a row: at least two numbers, and nothing but numbers and gaps.

    Examples:
        >>> from jaxgait.motion.readers.sheet import is_data
        >>> print(is_data("0.01,12.5"), is_data("time,knee"))
        True False
    """
    if not line[:1000].strip() or re.match(r"[^\d]*[A-Za-z]{4}", line):
        return False
    delimiter = delimiter_of(line)
    row = trimmed(cells(line[:20_000], delimiter))
    row = row[:-1] if len(line) > 20_000 else row
    comma = delimiter != ","
    found = [number(cell, comma) for cell in row]
    return len(found) > 1 and None not in found and sum(not math.isnan(x) for x in found if x is not None) > 1


def first_data(source: Source, start: int = 0) -> int:
    """The first row from line `start` on.

    Raises:
        MotionFormatError: if there is none, and for rows before it that contain text among the numbers.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source, first_data
        >>> first_data(Source("walk.csv", ["rate 100", "time,x", "0.00,12.5"]))  # lines count from 0
        2
    """
    found = next((i for i in range(start, len(source.lines)) if is_data(source.lines[i])), None)
    if found is None:
        raise source.error("no rows of numbers", "export the trial as text, one row per frame")
    _check_above(source, found)
    return found


def _check_above(source: Source, first: int) -> None:
    """Checks that no rows with text among their numbers, and no lone number, lie between labels and rows of numbers."""
    delimiter = delimiter_of(source.lines[first])
    row = lambda i: [(cell, number(cell, delimiter != ",")) for cell in cells(source.lines[i], delimiter)]
    known = lambda found: sum(x is not None and math.isfinite(x) for _, x in found)
    numbers = lambda found: 0 if labels.are_axes([cell for cell, _ in found]) else known(found)
    width, top = len(row(first)), first
    while top and len(above := row(top - 1)) == width and numbers(above):
        top -= 1
    cut = top  # passes the rows above that have a single cell
    while cut and len(above := row(cut - 1)) == numbers(above) == 1:
        cut -= 1
    named = next((row(i) for i in range(cut - 1, -1, -1) if source.lines[i].strip()), [])
    labelled = len(named) == width and not numbers(named) and 2 * sum(bool(cell) for cell, _ in named) > width
    if cut < top and labelled:
        raise source.error(
            f"1 cell where {width} are expected", "write NaN into gaps, or remove lines without data", cut
        )
    if top < first and labelled:
        for i, (cell, x) in enumerate(row(top), 1):
            if x is None:
                raise no_number(cell, source.file, top + 1, i)


def read_sheet(source: Source, start: int, width: int | None = None, beyond: int = 0) -> Sheet:
    """The rows from a line on, to the end of the file or of the section.

    Args:
        source: the file.
        start: line of the first row.
        width: number of columns that the labels name; by default those of the first row.
        beyond: unlabelled cells may follow in multiples of this number: 3 for markers, 0 for none.

    Raises:
        MotionFormatError: for a row with too many or too few cells, a cell that is not a number, and if nearly all rows
            end before the last label: the labels may be over the wrong columns.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source, read_sheet
        >>> sheet = read_sheet(Source("walk.csv", ["time,x", "0.00,12.5", "0.01,"]), start=1)
        >>> print(sheet.values)
        [[0.00e+00 1.25e+01]
         [1.00e-02      nan]]
    """
    delimiter = delimiter_of(source.lines[start])
    if source.lines[start].count(delimiter) > MAX_CELLS:
        raise source.error(f"more than {MAX_CELLS} cells", "write one row per frame", start)
    rows, notes = _rows(source, start)
    comma = delimiter != "," and decimal_comma(source.file, ((i, source.lines[i]) for i in rows))
    width = width or len(trimmed(cells(source.lines[start], delimiter)))
    values, kept, short, long = array.array("d"), array.array("q"), 0, 0
    for i in rows:
        row, missing = _row(source, i, delimiter, comma, width, beyond, last=i == rows[-1])
        if row is None:
            notes.append(f"line {i + 1}, the last, is cut off and left out")
            continue
        values.extend(row)
        kept.append(i)
        short += missing > 0
        long += missing < 0
    if short > LARGEST_SHORT_SHARE * len(kept):
        raise _other_length(source, rows, delimiter, width)
    if short:
        notes.append(count_of(short, "row ends", "rows end") + " early; missing cells are gaps")
    if long:
        notes.append(
            count_of(long, "row continues", "rows continue") + " after the last label: those cells are not read"
        )
    if len(kept) < 2:
        raise _too_few(source, start)
    return Sheet(np.array(values).reshape(len(kept), width), np.array(kept, dtype=np.int64), notes, long)


def fully_written(source: Source, sheet: Sheet, counted: int | float | None, of: str) -> tuple[Sheet, list[str]]:
    """The complete rows of a file, and a warning if there are fewer than its header counts.

    In that case, a last row whose line end is missing may be cut within a number ("-48.0" to "-4"), and is left out.

    Args:
        source: the file.
        sheet: its rows.
        counted: their number by the header, if it states one; no dimension.
        of: what the rows are: frames or rows.

    Raises:
        MotionFormatError: for fewer than two whole rows.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source, fully_written, read_sheet
        >>> source = Source("walk.mot", ["0.00 12.5", "0.01 13.5", "0.02 1"])
        >>> sheet, warnings = fully_written(source, read_sheet(source, start=0), 9, "rows")
        >>> print(sheet.lines, warnings)
        [0 1] ['the file ends early: 2 of 9 rows are there']
    """
    if counted is None or sheet.lines.size >= counted:
        return sheet, []
    if sheet.lines[-1] == len(source.lines) - 1:  # a line that ends is followed by another, which may be empty
        if sheet.lines.size < 3:
            raise _too_few(source, int(sheet.lines[0]))
        note = f"line {sheet.lines[-1] + 1}, the last, may be cut off within a number and is left out"
        sheet = sheet._replace(values=sheet.values[:-1], lines=sheet.lines[:-1], notes=[*sheet.notes, note])
    return sheet, [f"the file ends early: {sheet.lines.size} of {counted:g} {of} are there"]


def _too_few(source: Source, start: int) -> MotionFormatError:
    return source.error("fewer than two whole rows of numbers", "export all frames of the trial", start)


def _other_length(source: Source, rows: list[int], delimiter: str, width: int) -> MotionFormatError:
    counts = {i: len(cells(source.lines[i], delimiter)) for i in rows}
    first, count = next((i, n) for i, n in counts.items() if n < width)
    short = sum(n < width for n in counts.values())
    what = f"{count} cells under {width} labels, as in {short} of {len(rows)} rows"
    advice = "write one label over every column (in quotation marks if it contains the delimiter) and NaN into gaps"
    return source.error(what, advice, first)


def _rows(source: Source, start: int) -> tuple[list[int], list[str]]:
    """The lines of the rows, until text after an empty line begins another section; and notes."""
    rows, blank = [], False
    for i in range(start, len(source.lines)):
        line = source.lines[i]
        if not line.strip(' \t,;"'):
            blank = True
        elif blank and re.match(r'[\s"]*[A-Za-z]{3}', line) and not line.lower().lstrip(' "').startswith("nan"):
            return rows, [f"line {i + 1} begins another section, which is not read"]
        elif not is_remark(line, _COMMENT):
            rows.append(i)
            blank = False
    return rows, []


def _row(
    source: Source, i: int, delimiter: str, comma: bool, width: int, beyond: int, last: bool
) -> tuple[list[float] | None, int]:
    """The numbers of a line, and how many cells are missing (negative: extra); None for a truncated last line."""
    if source.lines[i].count(delimiter) > 2 * MAX_CELLS:
        raise source.error(f"more than {2 * MAX_CELLS} cells", "write one row per frame", i)
    found = cells(source.lines[i], delimiter)
    found = found if len(found) <= width else trimmed(found)
    more = max(0, len(found) - width)
    if more and beyond and more % beyond == 0:
        found = found[:width]
    if len(found) > width:
        advice = "label every column; decimal commas need ';' or tabs between the cells"
        raise source.error(f"{len(found)} cells where {width} are expected", advice, i)
    missing = width - len(found)
    if missing and last:
        return None, missing
    # With blanks it is unknown which cell is missing; a line with less than half of the cells is not a row.
    if missing and (delimiter == " " or 2 * len(found) < width):
        raise source.error(f"{len(found)} cells where {width} are expected", "write NaN into gaps", i)
    numbers: list[Any] | None = _plain(found) if not comma and "_" not in source.lines[i] else None
    numbers = [number(cell, comma) for cell in found] if numbers is None else numbers
    if None in numbers:
        at = numbers.index(None)
        raise no_number(found[at], source.file, i + 1, at + 1)
    return numbers + [math.nan] * missing, missing - more


def _plain(row: list[str]) -> list[float | None] | None:
    """A fast way to the numbers of a row without gaps and text, as nearly all are; None for others."""
    try:
        numbers: list[float | None] = [float(cell) for cell in row]
    except ValueError:
        return None
    return numbers if math.isfinite(sum(abs(x) for x in numbers if x is not None)) else None


def recording(
    source: Source,
    name: str,
    ticks: Clock,
    markers: dict[str, Float[np.ndarray, "frames 3"]],
    unit: str | None,
    notes: list[str],
    *,
    angles: Mapping[str, Float[np.ndarray, " frames"]] | None = None,
    forces: tuple[GroundReaction, ...] = (),
    warnings: Sequence[str] = (),
) -> Recording:
    """The recording of what was read: gaps marked, lengths in m.

    Args:
        source: the file.
        name: of the trial.
        ticks: the clock of the frames.
        markers: positions in the unit of the file.
        unit: of length, if the file states one.
        notes: assumptions made while reading; extended.
        angles: in rad, and translations in m.
        forces: in N, with points in m.
        warnings: about the rows.

    Raises:
        MotionFormatError: for markers of several subjects, and if no unit gives the size of a body.
    """
    names = labels.unique(without_subject(list(markers), notes, source.file), notes, labels.COPY)
    clean = labels.gapped(dict(zip(names, markers.values(), strict=True)), notes)
    metre, more, doubts = labels.length_unit(clean, unit, source.file)
    return Recording(
        name=name,
        file=source.file,
        rate=ticks.rate,
        time=ticks.time,
        markers={k: metre * x for k, x in clean.items()},
        angles=dict(angles or {}),
        forces=forces,
        notes=(*notes, *ticks.notes, *more),
        warnings=(*warnings, *ticks.warnings, *doubts),
    )
