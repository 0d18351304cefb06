"""Tables of numbers from text files as spreadsheets and laboratories write them.

Cells are delimited by commas, semicolons, tabs or blanks; decimal commas are accepted where the delimiter leaves no
doubt; the encoding is UTF-8, UTF-16 with a byte order mark, or compatible with ASCII; comments start with `#`.
"""

from __future__ import annotations

import array
import difflib
import math
import pathlib
import re
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.text import (
    GAPS,
    cells,
    content,
    decimal_comma,
    decoded,
    delimiter_of,
    is_remark,
    no_number,
    number,
    trimmed,
)
from jaxgait.support.checks import count_of, first_few, fitting, warn_user

MAX_BYTES = 16 * 2**20
"""Largest file in bytes: a stride of 100 000 samples takes less."""

_HINTS = 170
"""Characters of the hints at missing columns; with the names of the first ones, an error then has up to 300."""

_REMARK = re.compile(r"\b(\w+)\s*=\s*([^\s;][^;]*?)\s*(?=$|;|,\D|\s\w+\s*=)")


class Header(NamedTuple):
    """The names of all columns of a table, and their line."""

    file: str
    line: int
    """Counted from 1."""
    names: list[str]

    def error(self, what: str, advice: str, column: str | None = None) -> MotionFormatError:
        """An error about the header."""
        return MotionFormatError(what, advice, self.file, self.line, column)

    def check(self, example: str) -> None:
        """Checks that the header has names.

        Args:
            example: a correct header line, for the message.

        Raises:
            MotionFormatError: for a line of numbers.
        """
        if all(number(cell, comma=True) is not None for cell in self.names):
            what = "numbers where the names of the columns should be"
            raise self.error(what, f"write a header line first: {example}")


class Table(NamedTuple):
    """Columns of numbers with their origin."""

    file: str
    columns: dict[str, Float[np.ndarray, " rows"]]
    lines: Int[np.ndarray, " rows"]
    """Line of every row in the file, counted from 1."""
    remarks: dict[str, tuple[str, ...]]
    """Comments of the form name=value: the different values of each name."""
    header: Header


def read_chosen_columns(
    path: str | pathlib.Path, choose: Callable[[Header], Mapping[str, int]], *, keep_gaps: bool = False
) -> Table:
    """Reads columns of numbers that are chosen by the header of a text file; others are ignored.

    Args:
        path: the file.
        choose: returns, for a header, the positions of the columns, counted from 0, by name.
        keep_gaps: whether to keep rows with gaps (NaN), without a warning.

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: if it cannot be read.

    Warns:
        MotionWarning: for rows with gaps (empty cells, NaN, Excel's #N/A and the like), which are left out.

    Examples:
        >>> import pandas as pd
        >>> from jaxgait.motion.table import read_chosen_columns
        >>> pd.DataFrame({"time (s)": [0.0, 0.5], "knee (rad)": [0.1, 1.0]}).to_csv("a.csv", index=False)
        >>> table = read_chosen_columns("a.csv", lambda header: {"knee": header.names.index("knee (rad)")})
        >>> print(table.columns)
        {'knee': array([0.1, 1. ])}
    """
    file = str(path)
    raw = content(path, MAX_BYTES, "a CSV file", "cut out what is needed: some hundred rows are enough")
    lines = decoded(file, raw, "export it as CSV (UTF-8)").split("\n")
    padding = ' \t,;"'  # of spreadsheets
    stated: dict[str, dict[str, None]] = {}
    for name, value in (pair for text in lines if is_remark(text) for pair in _REMARK.findall(text.strip(padding))):
        stated.setdefault(name, {})[value] = None
    remarks = {name: tuple(values) for name, values in stated.items()}
    first = next((i for i, text in enumerate(lines) if text.strip() and not is_remark(text)), None)
    if first is None:
        raise MotionFormatError("no samples: the file is empty", "write a header line and rows of numbers", file)
    delimiter = delimiter_of(lines[first])
    header = Header(file, first + 1, trimmed(cells(lines[first], delimiter)))
    names = choose(header)
    rows = [i for i in range(first + 1, len(lines)) if lines[i].strip(delimiter + ' "') and not is_remark(lines[i])]
    if len(rows) < 2:
        found = "only a header line" if not rows else f"only one row of numbers (line {rows[0] + 1})"
        raise MotionFormatError(f"no samples: {found}", "write one row per sample", file)

    def chosen() -> Iterator[tuple[int, list[str]]]:
        for i in rows:  # row by row: the texts of all cells would take many times the file's size
            row = _whole_row(file, i + 1, cells(lines[i], delimiter), len(header.names))
            yield i, [row[k] for k in names.values()]

    comma = delimiter != "," and decimal_comma(file, ((i, " ".join(row)) for i, row in chosen()))
    values = array.array("d")
    for i, row in chosen():
        values.extend(_number(cell, comma, file, i + 1, name) for name, cell in zip(names, row, strict=True))
    every = np.array(values).reshape(len(rows), len(names))
    whole = np.s_[:] if keep_gaps else _without_gaps(file, every, np.array(rows) + 1, list(names))
    return Table(file, dict(zip(names, every[whole].T, strict=True)), np.array(rows)[whole] + 1, remarks, header)


def _without_gaps(file: str, values: np.ndarray, lines: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Marks the rows without gaps, and warns about the others."""
    whole = np.asarray(np.isfinite(values).all(axis=1))
    gaps = lines[~whole]
    if 2 * gaps.size >= lines.size:
        column = names[int(np.argmin(np.isfinite(values[~whole][0])))]
        what = f"{gaps.size} of {lines.size} rows have gaps, this is the first"
        raise MotionFormatError(what, "fill them, or leave the column out", file, int(gaps[0]), column)
    if gaps.size:
        what = count_of(gaps.size, "row with gaps is left out (line", "rows with gaps are left out (lines")
        warn_user(f"{file}: {what} {first_few([*map(str, gaps)])})", MotionWarning)
    return whole


def named_columns(
    header: Header,
    required: Sequence[str],
    optional: Sequence[str] = (),
    advice: Mapping[str, str] = MappingProxyType({}),
    distinct: Collection[str] = (),
) -> dict[str, int]:
    """Positions of the columns with certain names, counted from 0.

    Args:
        header: of the table.
        required: names of columns.
        optional: names of columns of which all or none are read.
        advice: how to get a column that is missing, by name.
        distinct: columns that hold something else, and are never taken for misspelt names.

    Raises:
        MotionFormatError: for a column that is missing, or occurs twice.

    Examples:
        >>> from jaxgait.motion.table import Header, named_columns
        >>> named_columns(Header("a.csv", 1, ["time_s", "leg", "knee_rad"]), ["time_s", "knee_rad"])
        {'time_s': 0, 'knee_rad': 2}
    """
    header.check(",".join(required))
    found = header.names
    wanted = [*required, *(optional if any(name in found for name in optional) else ())]
    for name in wanted:
        if found.count(name) > 1:
            twice = [i for i, other in enumerate(found, 1) if other == name]
            what = f"this is the name of columns {' and '.join(map(str, twice))}"
            raise header.error(what, "keep one of them", name)
    missing, others = [n for n in wanted if n not in found], [n for n in found if n not in (*wanted, *distinct)]
    if missing:
        hints = dict.fromkeys(_instead(name, others) or advice.get(name, "") for name in missing)
        column = f"column{'s' if len(missing) > 1 else ''} {first_few([*map(repr, missing)], 3)}"
        what = f"no {column}; it has {reprlib.repr(', '.join(found))}"
        hint = fitting([*filter(None, hints)], _HINTS) or f"needed: {', '.join(wanted)}"
        raise header.error(what, hint, missing[0])
    return {name: found.index(name) for name in wanted}


def _instead(name: str, others: list[str]) -> str:
    """Advice about a column that may be the missing one, misspelt or in another unit."""
    (quantity, _, unit), near = name.rpartition("_"), difflib.get_close_matches(name, others, 1, 0.65)
    same = [other for other in others if other.rpartition("_")[0] == quantity]
    if same:
        return f"convert {same[0][:40]!r} to {unit} and name it {name!r}"
    where = f", in {unit}" if unit else ""
    other = f" ({quantity}_deg if in degrees)" if unit == "rad" else ""
    return f"rename {near[0][:40]!r} to {name!r} if it is that{where}{other}" if near else ""


def _whole_row(file: str, line: int, row: list[str], names: int) -> list[str]:
    """The cells of a row, one for each name; empty cells after the last name are dropped."""
    row = row if len(row) <= names else [*row[:names], *trimmed(row[names:])]
    if len(row) != names:
        advice = "write one value per column; decimal commas need ';' or tabs between the cells"
        raise MotionFormatError(f"{len(row)} values under {names} column names", advice, file, line)
    return row


def _number(cell: str, comma: bool, file: str, line: int, name: str) -> float:
    value = number(cell, comma)
    if value is None:
        raise no_number(cell, file, line, name)
    if math.isnan(value) and cell.lower() not in GAPS:
        raise MotionFormatError(f"{cell} is not finite", "fill the gap, or leave the whole row out", file, line, name)
    return value
