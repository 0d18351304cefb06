"""Times that were rounded when they were written: at 1080 Hz in whole ms, some occur twice."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

LEAST, FEWEST = 0.02, 5.0
"""If the step were a multiple of the last digit, some rows would be missing or surplus. It counts as no multiple if
they are more than this share and number of the rows: fewer may be missing at even intervals by chance.
"""


def last_digit(time: Float[np.ndarray, " rows"]) -> float:
    """The power of ten in s of which all times are multiples; 0 below 1 microsecond.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.rounding import last_digit
        >>> print(last_digit(np.array([0.0, 0.01, 0.025])))
        0.001
    """
    for digits in range(7):
        scaled = time * 10.0**digits
        if np.max(np.abs(scaled - np.round(scaled))) < 1e-6 * max(1.0, float(np.max(np.abs(scaled)))) ** 0.5:
            return 10.0**-digits
    return 0.0


def rounded_line(time: Float[np.ndarray, " rows"]) -> tuple[float, float] | None:
    """Start and step in s of even times that are rounded to a last digit of which their step is no multiple.

    None for other times, such as those with missing frames, which are farther from even ones. `time` is finite, and has
    two rows or more.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.rounding import rounded_line
        >>> start, step = rounded_line(np.round(np.arange(1000) / 900.0, 3))
        >>> print(round(1.0 / step, 2), rounded_line(np.arange(1000) / 1000.0))  # Hz
        900.0 None
    """
    rows, digit = np.arange(time.size), last_digit(time)
    step, start = (float(x) for x in np.polyfit(rows, time, 1))
    if not digit or np.ptp(time - step * rows) > 1.2 * digit:  # rounding makes 1, the fit of few rows a little more
        return None
    return (start, step) if abs(step / digit - round(step / digit)) > max(LEAST, FEWEST / time.size) else None
