"""Whether angles are in degrees or in radians, by their size: no joint turns by 3.5 rad."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.coordinates import COLUMNS
from jaxgait.motion.readers.sheet import Sheet, Source
from jaxgait.motion.readers.stated_units import is_length
from jaxgait.support.checks import count_of

MOST = 90.0
"""Percentile of the absolute values that shows a column's unit: absurd values in under a tenth of the rows do not."""
FARTHEST = 3.5
"""Angle in rad (200 deg) that no joint exceeds; programs that measure inner angles give a straight knee pi."""
_ANGLE = re.compile(r"flex|angle|tilt|rotation|adduction|_deg|_rad", re.IGNORECASE)
"""Parts of the names of angles."""
_NO_ANGLE = re.compile(
    r"veloc|speed|accel|jerk|moment|torque|power|work|emg|flexor|(?<![a-z])(rate|vel|acc|dot)(?![a-z])|_u$"
    r"|(deg|rad|°)(rees|ians)?(\s*/|[\s_.·]*(per|s)(?![a-z]))",
    re.IGNORECASE,
)
"""Parts of the names of other quantities, such as rates, that belong to an angle."""
_JOINT = re.compile(r"hip|knee|ankle|flex|adduction|tilt", re.IGNORECASE)
"""Parts of the names of angles that never reach a whole turn."""
_HEADING = re.compile(r"rotation|heading|yaw|crank", re.IGNORECASE)
"""Parts of the names of angles that may exceed a whole turn."""
TURNS = {"deg": 360.0, "rad": 2.0 * math.pi}
"""A whole turn."""
WORDS = {"deg": "degrees", "rad": "radians"}
_CLARIFY = "state the unit (knee_angle_r (deg), or inDegrees=yes in a MOT), and write NaN for absurd values"


class Guess(NamedTuple):
    """The unit of angles, inferred from their size."""

    unit: str
    """deg or rad."""
    largest: float
    """The largest angle, in the unit of the file."""
    joint: float
    """The largest percentile `MOST` of a joint's angle."""
    doubt: MotionFormatError | None
    """Evidence for the other unit, if there is any."""

    def remark(self) -> str:
        """The largest angle and the doubt, for notes.

        Examples:
            >>> from jaxgait.motion.readers.angle_units import Guess
            >>> Guess("rad", largest=1.25, joint=1.2, doubt=None).remark()
            'the largest is 1.25'
        """
        doubt = "" if self.doubt is None else f" ({self.doubt.column}: {self.doubt.what})"
        return f"the largest is {self.largest:.4g}{doubt}"


def is_angle(name: str) -> bool:
    """Whether a column is an angle by its name, and not a rate, moment or power.

    Examples:
        >>> from jaxgait.motion.readers.angle_units import is_angle
        >>> print(is_angle("knee_flexion"), is_angle("knee_flexion_velocity"), is_angle("knee_angle (deg/s)"))
        True False False
    """
    return bool(_ANGLE.search(name)) and not _NO_ANGLE.search(name)


def is_joint(name: str) -> bool:
    """Whether a column is, by its name, the angle of a joint, which never reaches a whole turn.

    Examples:
        >>> from jaxgait.motion.readers.angle_units import is_joint
        >>> print(is_joint("knee_angle_r"), is_joint("pelvis_rotation"), is_joint("ankle_crank_rotation"))
        True False False
    """
    return is_angle(name) and bool(_JOINT.search(name)) and not _HEADING.search(name)


def guess(source: Source, sheet: Sheet, columns: Mapping[str, int]) -> Guess:
    """The unit of the angles in `columns`, positions by name.

    It is degrees if a joint of a leg (any joint, if there is none of a leg) exceeds `FARTHEST` in a tenth of the rows.
    In fewer rows these may be absurd values in radians, which is a doubt. Other angles, such as headings, may grow:
    they decide only if there are no joints. Otherwise they raise a doubt, unless they exceed a turn in either unit.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source, read_sheet
        >>> from jaxgait.motion.readers.angle_units import guess
        >>> source = Source("knee.csv", ["0.00,0.1", "0.01,0.2", "0.02,57.0", "0.03,0.4"])
        >>> found = guess(source, read_sheet(source, start=0), {"knee_flexion": 1})
        >>> print(found.unit, found.largest, found.doubt.what)
        rad 57.0 it is not clear whether this is in degrees: 57 in 1 of 4 rows, at most 0.4 in the others
    """
    sizes = {name: np.abs(sheet.values[:, i]) for name, i in columns.items()}
    usual, largest = {name: _usual(x) for name, x in sizes.items()}, {name: _largest(x) for name, x in sizes.items()}
    joints = [name for name in columns if is_joint(name)]
    joints = [name for name in joints if name in COLUMNS] or joints
    others = [name for name in columns if name not in joints]
    most, top = max((usual[name] for name in joints), default=0.0), max(largest.values(), default=0.0)
    if most > FARTHEST or not joints:
        in_degrees = most > FARTHEST or any(usual[name] > TURNS["rad"] for name in others)
        return Guess("deg" if in_degrees else "rad", top, most, None)
    rare = next((name for name in joints if largest[name] > FARTHEST), None)
    if rare is not None:
        return Guess("rad", top, most, _rarely(source, sheet, rare, sizes[rare]))
    limit = lambda name: FARTHEST if is_joint(name) else TURNS["rad"]
    unlike = next((name for name in others if limit(name) < usual[name] <= TURNS["deg"]), None)
    if unlike is None:
        return Guess("rad", top, most, None)
    what = f"it is not clear whether angles are in degrees: up to {largest[unlike]:.4g} here"
    first = max(joints, key=largest.__getitem__)
    doubt = source.error(f"{what}, but {largest[first]:.4g} in {first}", _CLARIFY, column=unlike)
    return Guess("rad", top, most, doubt)


def _usual(sizes: np.ndarray) -> float:
    known = sizes[np.isfinite(sizes)]
    return float(np.percentile(known, MOST, method="lower")) if known.size else 0.0


def _largest(sizes: np.ndarray) -> float:
    return float(np.nanmax(sizes, initial=0.0))


def _rarely(source: Source, sheet: Sheet, name: str, sizes: np.ndarray) -> MotionFormatError:
    """The doubt about a joint that exceeds `FARTHEST` in few rows."""
    beyond = sizes > FARTHEST
    few = f"{int(beyond.sum())} of {sizes.size} rows, at most {_largest(sizes[~beyond]):.4g} in the others"
    what = f"it is not clear whether this is in degrees: {_largest(sizes):.6g} in {few}"
    return source.error(what, _CLARIFY, int(sheet.lines[np.flatnonzero(beyond)[0]]), name)


def check_turns(source: Source, sheet: Sheet, columns: Mapping[str, int], units: Mapping[str, str]) -> None:
    """Checks that no joint angle of a leg exceeds a turn in its unit; other columns and units are ignored.

    Raises:
        MotionFormatError: for the first column that does, naming the first line and the number of rows.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source, read_sheet
        >>> from jaxgait.motion.readers.angle_units import check_turns
        >>> source = Source("knee.csv", ["0.00,0.1", "0.01,0.2", "0.02,57.0", "0.03,0.4"])
        >>> check_turns(source, read_sheet(source, start=0), {"knee_angle_r": 1}, {"knee_angle_r": "rad"})
        Traceback (most recent call last):
        jaxgait.motion.MotionFormatError: knee.csv, line 3, column knee_angle_r: 57 is no angle in radians: beyond ...
    """
    for name, i in columns.items():
        unit = units.get(name, "")
        if unit not in TURNS or name not in COLUMNS or not is_joint(name) or is_length(name):
            continue
        wrong = np.flatnonzero(np.abs(sheet.values[:, i]) > TURNS[unit])
        if wrong.size:
            first, last = (int(sheet.lines[wrong[k]]) for k in (0, -1))
            rows = count_of(wrong.size, "row", "rows") + f", the last on line {last + 1}" * (last > first)
            what = f"{sheet.values[wrong[0], i]:.6g} is no angle in {WORDS[unit]}: beyond {TURNS[unit]:.3g} in {rows}"
            advice = "correct it, or write NaN" + "; if the angles are in degrees, state it" * (unit == "rad")
            raise source.error(what, advice, first, name)


def decided(source: Source, sheet: Sheet, columns: Mapping[str, int]) -> Guess:
    """The guess about angles whose unit is not stated, after `check_turns`.

    Raises:
        MotionFormatError: if the unit is not clear and some of them are of a leg, or for an absurd one of a leg.

    Examples:
        >>> from jaxgait.motion.readers.sheet import Source, read_sheet
        >>> from jaxgait.motion.readers.angle_units import decided
        >>> source = Source("knee.csv", ["0.00,10", "0.01,20", "0.02,30"])
        >>> print(decided(source, read_sheet(source, start=0), {"knee_angle_r": 1}).unit)
        deg
    """
    found = guess(source, sheet, columns)
    if found.doubt is not None and COLUMNS & columns.keys():
        raise found.doubt
    check_turns(source, sheet, columns, dict.fromkeys(columns, found.unit))
    return found
