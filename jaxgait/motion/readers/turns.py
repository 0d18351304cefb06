"""Whether angles are in degrees or in radians, by their size: no joint turns by 6.3 rad."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.checks import count_of
from jaxgait.motion.readers.sheet import Sheet, Source

ANGLE = re.compile(r"flex|angle|tilt|rotation|adduction|_deg|_rad", re.IGNORECASE)
"""In the names of angles."""
MOST = 90.0
"""Percentile of the sizes in a column that are compared with a turn: absurd ones in less than a tenth do not decide."""
SPIKE = 3.0
"""Size of a value over that percentile of its column, above which it is absurd if it also exceeds a turn."""
_JOINT = re.compile(r"flex|adduction|tilt|knee|ankle", re.IGNORECASE)
"""In the names of angles that no person turns by a whole turn."""
_HEADING = re.compile(r"rotation|heading|yaw", re.IGNORECASE)
"""In the names of angles that may grow by a turn and more, and do not show the unit."""
_TURNS = {True: 360.0, False: 2.0 * math.pi}
"""A whole turn in degrees (True), and in radians."""


class Size(NamedTuple):
    """The size of angles in the unit of their file."""

    largest: float
    usual: Float[np.ndarray, " columns"]
    """The percentile `MOST` of every column; 0 without values."""
    in_degrees: bool
    """Whether some column exceeds a turn in radians, but for some absurd values and for headings among other angles."""


def size_of(sheet: Sheet, columns: Mapping[str, int]) -> Size:
    """The size of the angles in some columns, by name.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source, read_sheet
        >>> from jaxgait.motion.readers.turns import size_of
        >>> lines = ["0.00,0.1", "0.01,0.2", "0.02,57.0", "0.03,0.4"]
        >>> size = size_of(read_sheet(Source("knee.csv", lines), start=0), {"knee_flexion": 1})
        >>> print(size.largest, size.usual, size.in_degrees)
        57.0 [0.4] False
    """
    sizes = np.abs(sheet.values[:, [*columns.values()]])
    usual = [np.percentile(x[np.isfinite(x)], MOST, method="lower") if np.isfinite(x).any() else 0.0 for x in sizes.T]
    deciding = [x for name, x in zip(columns, usual, strict=True) if not _HEADING.search(name)] or usual
    in_degrees = max(deciding, default=0.0) > _TURNS[False]
    return Size(float(np.nanmax(sizes, initial=0.0)), np.array(usual, float), bool(in_degrees))


def check_turns(source: Source, sheet: Sheet, columns: Mapping[str, int], degrees: bool) -> None:
    """Checks that no joint angle exceeds a turn in its unit; others, which may grow, nearly all of their column too.

    Raises:
        MotionFormatError: for the first one that does, naming line, column and how many do.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source, read_sheet
        >>> from jaxgait.motion.readers.turns import check_turns
        >>> source = Source("knee.csv", ["0.00,0.1", "0.01,0.2", "0.02,57.0", "0.03,0.4"])
        >>> check_turns(source, read_sheet(source, start=0), {"knee_flexion": 1}, degrees=False)
        Traceback (most recent call last):
        jaxgait.motion.MotionFormatError: knee.csv, line 3, column knee_flexion: 57 is no angle in radians: beyond ...
    """
    usual, unit = size_of(sheet, columns).usual, "degrees" if degrees else "radians"
    advice = "correct it, or write NaN" + ("" if degrees else "; if the angles are in degrees, state it")
    for (name, i), most in zip(columns.items(), usual, strict=True):
        limit = _TURNS[degrees] if _JOINT.search(name) else max(_TURNS[degrees], SPIKE * most)
        wrong = np.flatnonzero(np.abs(sheet.values[:, i]) > limit)
        if wrong.size:
            first, last = (int(sheet.lines[wrong[k]]) for k in (0, -1))
            rows = count_of(wrong.size, "row", "rows") + f", the last on line {last + 1}" * (last > first)
            what = f"{sheet.values[wrong[0], i]:.6g} is no angle in {unit}: beyond {limit:.3g} in {rows}"
            raise source.error(what, advice, first, name)
