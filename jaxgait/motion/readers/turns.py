"""Whether angles are in degrees or in radians, by their size: no joint turns by 6.3 rad."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion.readers.sheet import Sheet, Source

ANGLE = re.compile(r"flex|angle|tilt|rotation|adduction|_deg|_rad", re.IGNORECASE)
"""In the names of angles."""
MOST = 99.5
"""Percentile of the sizes in a column that are compared with a turn: some absurd values do not decide."""
SPIKE = 3.0
"""Size of a value over that percentile of its column, above which it is absurd if it also exceeds a turn."""
_TURNS = {True: 360.0, False: 2.0 * math.pi}
"""A whole turn in degrees (True), and in radians."""


class Size(NamedTuple):
    """The size of angles in the unit of their file."""

    largest: float
    usual: Float[np.ndarray, " columns"]
    """The percentile `MOST` of every column; 0 without values."""

    @property
    def in_degrees(self) -> bool:
        """Whether some column exceeds a turn in radians, but for some absurd values."""
        return bool(np.max(self.usual, initial=0.0) > _TURNS[False])


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
    return Size(float(np.nanmax(sizes, initial=0.0)), np.array(usual, float))


def check_turns(source: Source, sheet: Sheet, columns: Mapping[str, int], degrees: bool) -> None:
    """Checks that no angle exceeds both a turn and three times nearly all others of its column, in its unit.

    Raises:
        MotionFormatError: for the first one that does, naming line and column.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source, read_sheet
        >>> from jaxgait.motion.readers.turns import check_turns
        >>> source = Source("knee.csv", ["0.00,0.1", "0.01,0.2", "0.02,57.0", "0.03,0.4"])
        >>> check_turns(source, read_sheet(source, start=0), {"knee_flexion": 1}, degrees=False)
        Traceback (most recent call last):
        jaxgait.motion.MotionFormatError: knee.csv, line 3, column knee_flexion: 57 is no angle in radians, where ...
    """
    usual, unit = size_of(sheet, columns).usual, "degrees" if degrees else "radians"
    for (name, i), most in zip(columns.items(), usual, strict=True):
        wrong = np.flatnonzero(np.abs(sheet.values[:, i]) > max(_TURNS[degrees], SPIKE * most))
        if wrong.size:
            what = f"{sheet.values[wrong[0], i]:.6g} is no angle in {unit}, where {MOST:g} % of the column are within"
            line = int(sheet.lines[wrong[0]])
            raise source.error(f"{what} {most:.3g}", "correct it, or write NaN", line, name)
