"""Units that files state, in brackets after their labels, or in a line below the labels."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.coordinates import COLUMNS
from jaxgait.motion.readers import labels

ANGLES = {"deg": math.pi / 180, "rad": 1.0}
"""Units of angle in rad."""
TIMES = {"s": 1.0, "ms": 1e-3}
"""Units of time in s."""
_SAME = {"sec": "s", "second": "s", "seconds": "s", "°": "deg", "degree": "deg", "degrees": "deg"}
_SAME |= {"radian": "rad", "radians": "rad"}
"""Other words for units."""
_KINDS: tuple[Mapping[str, float], ...] = (labels.LENGTHS, labels.FORCES, ANGLES, TIMES)
_READ = frozenset().union(*_KINDS)
_OTHERS = {"n.mm", "nm", "nmm", "n m", "mm/s", "mm/s^2", "m/s", "m/s^2", "deg/s", "deg/s^2", "rad/s", "rad/s^2"}
_OTHERS |= {"v", "mv", "uv", "µv", "%", "w", "n/kg", "nm/kg", "nmm/kg", "n.mm/kg", "n.m", "n.m/kg", "w/kg"}
"""Units of quantities that are not read, in lower case."""
_IN_BRACKETS = re.compile(r"(?P<name>.*[^\s(\[])\s*[(\[](?P<unit>[^()\[\]]+)[)\]]")
_NO_UNITS = {"foot", "in"}
"""Units that are other words in brackets after a name."""
_LENGTH = re.compile(r"_t[xyz]$|_[xyz]$|_length$", re.IGNORECASE)
"""Names of coordinates that are not angles."""


def is_length(name: str) -> bool:
    """Whether a coordinate is, by its name, a length rather than an angle.

    Examples:
        >>> from jaxgait.motion.readers.stated_units import is_length
        >>> print(is_length("pelvis_tx"), is_length("knee_angle_r"))
        True False
    """
    return bool(_LENGTH.search(name))


def units_of(row: Sequence[str]) -> tuple[list[str], list[str]]:
    """The units in the cells of a line, with synonyms replaced, and those of them that are unknown.

    Examples:
        >>> from jaxgait.motion.readers.stated_units import units_of
        >>> units_of(["s", "[Degrees]", "", "furlong"])
        (['s', 'deg', '', 'furlong'], ['furlong'])
    """
    found = [_SAME.get(unit, unit) for unit in map(labels.unit_of, row)]
    return found, sorted({unit for unit in found if unit and unit not in _READ and unit not in _OTHERS})


def without_unit(label: str) -> tuple[str, str]:
    """The name in a label and the unit in brackets after it; other labels as they are, without a unit.

    Only units that are read are removed from the name: a rate in deg/s keeps its own. Joint angles of a leg get their
    names in `COLUMNS`, however they are capitalised.

    Examples:
        >>> from jaxgait.motion.readers.stated_units import without_unit
        >>> print(without_unit("pelvis_ty (mm)"), without_unit("knee_flexion [°]"), without_unit("knee (deg/s)"))
        ('pelvis_ty', 'mm') ('knee_flexion', 'deg') ('knee (deg/s)', '')
        >>> without_unit("Knee Angle R (deg)")
        ('knee_angle_r', 'deg')
    """
    found = _IN_BRACKETS.fullmatch(label.strip())
    ((unit,), _) = units_of([found["unit"]]) if found else ([""], [])
    name, unit = (found["name"], unit) if found and unit in _READ and unit not in _NO_UNITS else (label, "")
    own = re.sub(r"[\s_-]+", "_", name.strip()).lower()
    return own if own in COLUMNS else name, unit


def agreed(file: str, names: Sequence[str], own: Sequence[str], line: Sequence[str]) -> list[str]:
    """The unit of every column: that of its label, or else that of the line of units; empty if neither states one.

    Args:
        file: for messages.
        names: of the columns.
        own: the units in their labels.
        line: of units by column, which may be shorter.

    Raises:
        MotionFormatError: for a column with two different units, and for a leg's angle in another unit than deg or rad,
            or a leg's length in no unit of length.

    Examples:
        >>> from jaxgait.motion.readers.stated_units import agreed
        >>> agreed("walk.csv", ["time", "pelvis_ty", "knee_angle_r"], ["s", "mm", ""], ["s", "", "deg"])
        ['s', 'mm', 'deg']
        >>> agreed("walk.csv", ["pelvis_ty"], ["mm"], ["m"])
        Traceback (most recent call last):
        MotionFormatError: walk.csv, column pelvis_ty: its label states mm, the line of units m; correct one of them
    """
    below = [*line, *[""] * len(names)][: len(names)]
    found = [one or other for one, other in zip(own, below, strict=True)]
    for name, unit, other in zip(names, found, below, strict=True):
        if other and unit != other and not any(kind.get(unit, math.nan) == kind.get(other) for kind in _KINDS):
            what = f"its label states {unit}, the line of units {other}"
            raise MotionFormatError(what, "correct one of them", file, column=name)
        known = labels.LENGTHS if is_length(name) else ANGLES
        if name in COLUMNS and unit and unit not in known:
            kind, units = ("a length", "m or mm") if is_length(name) else ("an angle", "deg or rad")
            raise MotionFormatError(f"{unit} is no unit of {kind}", f"write it in {units}", file, column=name)
    return found
