"""Bytes, text, cells, numbers and names in files that laboratories and spreadsheets write."""

from __future__ import annotations

import codecs
import csv
import itertools
import math
import os
import re
import reprlib
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from jaxgait.motion import MotionFormatError
from jaxgait.support import files

_UNICODE = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FORMATS = {
    b"PK\x03\x04": "an Excel or OpenDocument workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x89HDF": "an HDF5 or MATLAB file",
    b"MATLAB 5.0 MAT-file": "a MATLAB file",
    b"MATLAB 7.3 MAT-file": "a MATLAB file",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "a gzip archive",
}

_ERRORS = ("1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind")
_EXCEL = ("#n/a", "#n/a n/a", "#na", "#nv", "#n/d", "#n/b")
GAPS = frozenset(("", "-", "--", "nan", "-nan", "na", "n/a", "null", "none", "<na>", *_EXCEL, *_ERRORS))
"""Cells, in lower case, that stand for a missing value: those of pandas, dashes, and Excel's #N/A in Europe."""
_EXPONENT = re.compile(r"(?<=\d)[dD](?=[-+\d])")
_MISSING = re.compile(r"#n(/?a|v|/d|/b)\b", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')


def delimiter_of(line: str) -> str:
    """The delimiter of a line: a tab, else a semicolon, else a comma, else a blank.

    Semicolons delimit only if there is at most one (decimal) comma per cell. Text in quotation marks is ignored, unless
    the whole line is quoted.

    Examples:
        >>> from jaxgait.motion.text import delimiter_of
        >>> delimiter_of("0,01;12,5;3,0")  # decimal commas between semicolons
        ';'
    """
    if '"' in line:
        line = _QUOTED.sub("", line) if _QUOTED.sub("", line).strip() else line
    if "\t" in line.strip():
        return "\t"
    semicolons, commas = line.count(";"), line.count(",")
    if semicolons and commas <= semicolons + 1:
        return ";"
    return "," if commas else " "


def cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line, without the blanks and quotation marks around them; delimiters in quotes are text.

    A line that is quoted as a whole is split, too: spreadsheets with another delimiter write such lines.

    Examples:
        >>> from jaxgait.motion.text import cells
        >>> cells('0.01, "knee, right", 12', ",")
        ['0.01', 'knee, right', '12']
    """
    if '"' not in line:
        return [part.strip() for part in (line.split() if delimiter == " " else line.split(delimiter))]
    found = _unquoted(" ".join(line.split()) if delimiter == " " else line, delimiter)
    if len(found) == 1 and line.rstrip().endswith('"'):
        found = _unquoted(found[0], delimiter)
    return [part.strip().strip('"').strip() for part in found]


def _unquoted(line: str, delimiter: str) -> list[str]:
    # Line by line: an open quotation mark, or a field above csv's size limit, affects no other line.
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [""])
    except csv.Error:
        return [line]


def no_number(cell: str, file: str, line: int, column: str | int) -> MotionFormatError:
    """The error for a cell that is not a number; `line` and `column` (unless it is a name) are counted from 1.

    Examples:
        >>> from jaxgait.motion.text import no_number
        >>> print(no_number("fast", "walk.csv", 3, 2))
        walk.csv, line 3: 'fast' in column 2 is not a number; write a number, or NaN for a gap
    """
    where, name = (f" in column {column}", None) if isinstance(column, int) else ("", column)
    what = f"{reprlib.repr(cell)}{where} is not a number"
    return MotionFormatError(what, "write a number, or NaN for a gap", file, line, name)


def distinct(names: Sequence[str], numbered: str = "{}_{}") -> list[str]:
    """The names, with a number appended to each repeated one: the lowest, from 2 on, that makes an unused name.

    Args:
        names: the first of several equal ones stays as it is.
        numbered: how a name and its number are joined.

    Returns:
        Names that all differ, in the same order.

    Examples:
        >>> from jaxgait.motion.text import distinct
        >>> print(distinct(["RASI", "RASI_2", "RASI"]), distinct(["walk", "walk"], "{} ({})"))
        ['RASI', 'RASI_2', 'RASI_3'] ['walk', 'walk (2)']
    """
    given, numbers, found = set(names), {}, []
    for name in names:
        if name not in numbers:
            numbers[name] = itertools.count(2)
            found.append(name)
            continue
        free = next(n for n in (numbered.format(name, k) for k in numbers[name]) if n not in given)
        given.add(free)
        found.append(free)
    return found


def trimmed(row: list[str]) -> list[str]:
    """The cells without the empty ones at the end.

    Examples:
        >>> from jaxgait.motion.text import trimmed
        >>> trimmed(["time", "", "x", "", ""])
        ['time', '', 'x']
    """
    count = len(row)
    while count and not row[count - 1]:
        count -= 1
    return row[:count]


def number(cell: str, comma: bool = False) -> float | None:
    """The number of a cell in its own unit, NaN for a gap, None for anything else.

    Examples:
        >>> from jaxgait.motion.text import number
        >>> print(number("1,5", comma=True), number("n/a"), number("RASI"))
        1.5 nan None
    """
    text = cell.replace(",", ".") if comma else cell
    if text.lower() in GAPS:
        return math.nan
    if "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        try:
            value = float(_EXPONENT.sub("e", text))
        except ValueError:
            return None
    return value if math.isfinite(value) else math.nan


def is_remark(line: str, marks: str | tuple[str, ...] = "#") -> bool:
    """Whether a line is a comment, rather than a missing value as Excel writes it (#N/A).

    Examples:
        >>> from jaxgait.motion.text import is_remark
        >>> print(is_remark("# speed_m_s=1.2"), is_remark("#N/A,0.93,12.5"))
        True False
    """
    start = line.lstrip(' "')
    return start.startswith(marks) and not _MISSING.match(start)


def content(path: str | os.PathLike[str], largest: int, wanted: str, smaller: str) -> bytes:
    """The bytes of a file.

    Args:
        path: the file; a leading "~" is the user's folder.
        largest: allowed size in bytes.
        wanted: what to name instead of a folder.
        smaller: advice for a file that is too large.

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: for a folder, a file that is too large or that may not be read.

    Examples:
        >>> import pathlib
        >>> from jaxgait.motion.text import content
        >>> _ = pathlib.Path("a.csv").write_text("time_s")
        >>> content("a.csv", 100, "a CSV file", "cut out one stride")
        b'time_s'
    """
    path = files.expanded(path)
    if path.is_dir():
        raise MotionFormatError("is a folder", f"name {wanted}", str(path))
    try:
        with path.open("rb") as stream:
            raw = _limited(stream, largest)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: no such file") from error
    except PermissionError as error:
        raise MotionFormatError("may not be read", "ask its owner for the permission", str(path)) from error
    if len(raw) > largest:
        raise MotionFormatError(f"is larger than {largest // 2**20} MB", smaller, str(path))
    return raw


def _limited(stream: BinaryIO, largest: int) -> bytes:
    """The bytes of a stream, but at most one more than `largest`: special files do not state their size.

    Reads in parts, because one large read allocates all of its memory first.
    """
    parts, size = [], 0
    while size <= largest and (part := stream.read(min(2**16, largest + 1 - size))):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def decimal_comma(file: str, rows: Iterable[tuple[int, str]]) -> bool:
    """Whether numbers have decimal commas, in rows that commas do not delimit.

    `rows` are the lines' numbers, counted from 0, and their texts.

    Raises:
        MotionFormatError: for both commas and points.

    Examples:
        >>> from jaxgait.motion.text import decimal_comma
        >>> decimal_comma("knee.csv", [(1, "0,01;12,5")])
        True
    """
    first: dict[str, int] = {}
    for i, text in rows:
        first |= {mark: i + 1 for mark in ",." if mark in text and mark not in first}
        if len(first) == 2:
            what = f"decimal commas (line {first[',']}) and decimal points (line {first['.']})"
            raise MotionFormatError(what, "use one kind, preferably the point", file, i + 1)
    return "," in first


def decoded(file: str, raw: bytes, advice: str) -> str:
    """Text of the bytes, with line ends as newlines.

    Raises:
        MotionFormatError: for what is not text, with the advice.

    Examples:
        >>> from jaxgait.motion.text import decoded
        >>> decoded("knee.csv", "Knie; Hüfte".encode("utf-16"), "save it as CSV")
        'Knie; Hüfte'
    """
    encoding = next((name for mark, name in _UNICODE.items() if raw.startswith(mark)), None)
    kind = next((name for start, name in _FORMATS.items() if raw.startswith(start)), "binary")
    if encoding is None and (kind != "binary" or re.search(rb"[\x00-\x08\x0e-\x1f]", raw)):
        what = "is not a text file" + ("" if kind == "binary" else f" but {kind}")
        raise MotionFormatError(what, advice, file)
    try:
        text = raw.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise MotionFormatError(f"is broken {encoding} text: {error.reason}", "save it as UTF-8", file) from error
        text = raw.decode("latin-1")  # reads any byte; names and numbers are ASCII in all Western encodings
    return text.replace("\r\n", "\n").replace("\r", "\n")
