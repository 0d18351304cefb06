"""Kinds of labelled columns: marker coordinates, ground forces, times, joint angles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.maps import is_marker
from jaxgait.motion.norms import inside
from jaxgait.motion.readers.model_results import is_result
from jaxgait.motion.recording import GroundReaction, runs
from jaxgait.motion.text import distinct
from jaxgait.support.checks import count_of, first_few

AXES = "xyz"
AXIS = re.compile(r"^[xyz]\d*$", re.IGNORECASE)
"""A cell in the line of axes below the names of markers."""
_TIME = re.compile(r"^(time|times|time_?stamp|t|sec|seconds)([\s_]*[\[(]?(s|sec|seconds|ms)[\])]?)?$", re.IGNORECASE)
_FRAME = re.compile(r"^(frame|frames|sub[\s_]*frame|field|sample|item|nr|no)[\s_]*(#|no|number)?\.?$", re.IGNORECASE)
_UNIT = r"(?:[\s_]*[\[(]?(?P<unit>mm|cm|m|n|kn|lbf)[\])]?)?"
_FORCES = (  # as named by OpenSim, HBM, Fukuchi's data set and exports of force plates
    re.compile(rf"^(?P<name>.*?)_?(?P<kind>v|p)(?P<axis>[xyz]){_UNIT}$", re.IGNORECASE),
    re.compile(rf"^(?P<name>.+?)[._\s]?(?P<kind>for|cop)(?:ce)?_?(?P<axis>[xyz]){_UNIT}$", re.IGNORECASE),
    re.compile(rf"^(?P<kind>f(?:orce)?|cop)_?(?P<axis>[xyz])_?(?P<name>\d*){_UNIT}$", re.IGNORECASE),
    re.compile(rf"^(?P<name>.*?)[._\s]?(?P<kind>f|grf|cop)_?(?P<axis>[xyz]){_UNIT}$", re.IGNORECASE),
)
_POINT = ("p", "cop")
_MARKER = re.compile(
    rf"^(?P<name>.+?)(?P<separator>[\s._:\-\[(]*(?:pos)?[\s._]*)(?P<axis>[xyz])[\])]?{_UNIT}$", re.IGNORECASE
)
_KINEMATIC = re.compile(rf"^(?P<name>.+)[._\s](?P<kind>v|p)(?P<axis>[xyz]){_UNIT}$", re.IGNORECASE)
"""Velocities and positions of markers, named as OpenSim names forces and their points: RHEE_vx, RHEE_px."""
_CENTRE = re.compile(r"(whole_?body_?|body_?|b)?(com|cog|cent(re|er)[_ ]?of[_ ]?(mass|gravity))", re.IGNORECASE)
"""The centre of mass, which has velocities but no forces."""
_MOMENT = re.compile(r"torque|mom(ent)?$|(mom(ent)?|power)s?[._\s]?[xyz]$", re.IGNORECASE)
"""Free moments of plates, joint moments, and powers in three columns: neither angles nor lengths."""
_NO_MARKER = re.compile(r"torque|mom(ent)?$|force", re.IGNORECASE)
_COORDINATE = re.compile(r"_[tvrp]$", re.IGNORECASE)
"""Ends of names that an axis follows directly: pelvis_tx is a translation, ASI_R.X is the right ASIS."""
_LENGTH_WORDS = {
    1e-3: ("mm", "millimeter", "millimeters", "millimetre", "millimetres"),
    1e-2: ("cm", "centimeter", "centimeters", "centimetre", "centimetres"),
    1e-1: ("dm", "decimeter", "decimeters", "decimetre", "decimetres"),
    1.0: ("m", "meter", "meters", "metre", "metres"),
    0.0254: ("in", "inch", "inches"),
    0.3048: ("ft", "foot", "feet"),
}
LENGTHS = {word: size for size, words in _LENGTH_WORDS.items() for word in words}
"""Units of length in m."""
_FORCE_WORDS = {1.0: ("N", "Nt", "newton", "newtons"), 1e3: ("kN",), 4.4482216: ("lbf", "lb")}
FORCES = {word.lower(): size for size, words in _FORCE_WORDS.items() for word in words}
"""Units of force in N."""
USUAL_SIZE = (0.8, 2.4)
"""Longest side in m of the box around the markers of an adult: those of the legs, or of the whole body."""
FEWEST = 3
"""Fewest markers that show the size of a body."""
UNSTATED = {"unknown", "undefined", "unspecified", "unitless", "none", "not", "null", "n/a", "na", "nan"}
"""First words with which files mark a unit as not stated."""
COPY = "{} (copy {})"
"""Pattern of repeated names of markers. No marker map has such names: only the first one can be part of a leg."""
HEAVY, SHARE = 100.0, 0.4
"""Force in N, and share of the largest one, above which a force next to a gap means that somebody is on the plate."""


class Columns(NamedTuple):
    """Columns by kind; -1 is the number of a missing column."""

    time: int | None
    time_unit: float
    """Unit of the column of times, in s."""
    frame: int | None
    markers: dict[str, tuple[int, int, int]]
    units: dict[str, str]
    """Units of length that labels of markers state."""
    forces: dict[str, dict[str, tuple[int, int, int]]]
    """`force` of every plate and, if there is one, its `point`."""
    force_units: dict[int, float]
    """Units that the labels of these columns state, in N or m, by column."""
    others: dict[str, int]


def is_clock(name: str) -> bool:
    """Whether a label is one of times or of frame numbers.

    Examples:
        >>> from jaxgait.motion.readers.labels import is_clock
        >>> print(is_clock("Time (s)"), is_clock("Sub Frame"), is_clock("RASI.X"))
        True True False
    """
    return bool(_TIME.match(name) or _FRAME.match(name))


def are_axes(cells: Sequence[str]) -> bool:
    """Whether a line is one of axes below the names of markers.

    Examples:
        >>> from jaxgait.motion.readers.labels import are_axes
        >>> print(are_axes(["Frame#", "X1", "Y1", "Z1"]), are_axes(["ITEM", "0", "X", "Y", "Z"]), are_axes(["t", "x"]))
        True True False
    """
    return sum(bool(AXIS.match(cell)) for cell in cells) >= 3


def unit_of(text: str) -> str:
    """A unit as it is looked up: in lower case, without brackets and points around it.

    Examples:
        >>> from jaxgait.motion.readers.labels import unit_of
        >>> print(unit_of("[MM]"), unit_of(" in."))
        mm in
    """
    return text.strip(" \t.()[]").lower()


def unique(names: Sequence[str], notes: list[str], numbered: str = "{}_{}") -> list[str]:
    """Names that all differ: numbers are appended to repeated ones (see `distinct`), and empty ones are named.

    Examples:
        >>> from jaxgait.motion.readers.labels import unique
        >>> notes = []
        >>> print(unique(["RASI", "RASI", ""], notes), len(notes))
        ['RASI', 'RASI_2', 'unnamed_3'] 2
    """
    named = [name or f"unnamed_{i}" for i, name in enumerate(names, 1)]
    if twice := [name for name, count in Counter(named).items() if count > 1]:
        what = "repeated names, of which only the first is used" if numbered == COPY else "repeated names are numbered"
        notes.append(f"{what}: {first_few(twice)}")
    empty = sum(not name for name in names)
    if empty:
        notes.append(count_of(empty, "column without a name is", "columns without a name are") + " called unnamed_...")
    return distinct(named, numbered)


def classify(
    names: Sequence[str], units: Sequence[str] = (), notes: list[str] | None = None, file: str | None = None
) -> Columns:
    """Sorts the columns of a file into kinds by their labels, and by a line of their units, if the file has one.

    Args:
        names: the labels.
        units: the line of units.
        notes: extended by assumptions about forces without a unit, and about markers that are labelled like plates.
        file: for messages.

    Raises:
        MotionFormatError: for ground forces without a unit among others with different ones.

    Examples:
        >>> from jaxgait.motion.readers.labels import classify
        >>> found = classify(["time", "RASI.X", "RASI.Y", "RASI.Z", "plate_vx", "plate_vy", "knee_angle_r"])
        >>> print(found.markers, found.forces, found.others)  # by column
        {'RASI': (1, 2, 3)} {'plate': {'force': (4, 5, -1)}} {'knee_angle_r': 6}
    """
    time = next((i for i, name in enumerate(names) if _TIME.match(name)), None)
    in_ms = time is not None and (
        re.search(r"[\s_\[(]ms[\])]?$", names[time], re.IGNORECASE) or [*units[time : time + 1]] == ["ms"]
    )
    frame = next((i for i, name in enumerate(names) if _FRAME.match(name)), None)
    clocks = {i for i, name in enumerate(names) if is_clock(name)}
    notes = [] if notes is None else notes
    left = _without_velocities({i: name for i, name in enumerate(names) if i not in clocks}, notes)
    forces, stated = _forces(left, units, notes, file)
    alike = {match["name"] for name in names if (match := _KINEMATIC.match(name))}
    if (plates := [plate for plate in forces if plate in alike]) and any(map(is_marker, alike)):
        notes.append(f"read as ground forces: {', '.join(plates)}; rename the columns if these are markers as well")
    taken = {i for plate in forces.values() for three in plate.values() for i in three}
    left = {i: name for i, name in left.items() if i not in taken}
    markers, lengths = _markers(left)
    taken = {i for three in markers.values() for i in three}
    others = {name: i for i, name in left.items() if i not in taken and not _MOMENT.search(name)}
    return Columns(time, 1e-3 if in_ms else 1.0, frame, markers, lengths, forces, stated, others)


def _without_velocities(left: Mapping[int, str], notes: list[str]) -> dict[int, str]:
    """The labels without velocities of markers; RHEE_px, the position of a known marker, becomes RHEE_x.

    RHEE_vx, RHEE_vy and RHEE_vz next to RHEE_x, RHEE_y and RHEE_z are the velocities of a marker of any name; com_vx
    is that of the centre of mass.
    """
    matches = {i: match for i, label in left.items() if (match := _KINEMATIC.match(label))}
    known = {match["name"] for match in matches.values() if is_marker(match["name"])}
    own = {marker["name"].lower() for label in left.values() if (marker := _MARKER.match(label))}
    found, moved, fast = dict(left), {}, {}
    for i, match in matches.items():
        name, unit = match["name"], f"_{match['unit']}" if match["unit"] else ""
        if match["kind"].lower() == "v" and (name in known or name.lower() in own or _CENTRE.fullmatch(name)):
            fast.setdefault(name, found.pop(i))
        elif name in known and name.lower() not in own:
            found[i] = f"{name}_{match['axis']}{unit}"
            moved.setdefault(name, left[i])
    for columns, what in ((moved, "are read as positions of markers"), (fast, "are velocities: not read")):
        notes += [f"columns such as {next(iter(columns.values()))} {what} ({', '.join(columns)})"] if columns else []
    return found


def _forces(
    left: Mapping[int, str], units: Sequence[str], notes: list[str], file: str | None
) -> tuple[dict[str, dict[str, tuple[int, int, int]]], dict[int, float]]:
    """Columns of forces and points by plate (markers excluded), and the units stated for them by column."""
    moving = {marker["name"].lower() for name in left.values() if (marker := _MARKER.match(name))}
    for pattern in _FORCES:
        found: dict[str, dict[str, dict[str, int]]] = {}
        stated: dict[int, float] = {}
        for i, name in left.items():
            match = pattern.match(name)
            if match:
                kind = "point" if match["kind"].lower() in _POINT else "force"
                plate = match["name"].strip("_. ") or "plate"
                found.setdefault(plate, {}).setdefault(kind, {})[match["axis"].lower()] = i
                unit = (match["unit"] or (units[i] if i < len(units) else "")).lower()
                known = LENGTHS if kind == "point" else FORCES
                stated |= {i: known[unit]} if unit in known else {}
        plates = {
            name: {kind: _three(axes) for kind, axes in kinds.items()}
            for name, kinds in found.items()
            if len(kinds.get("force", {})) > 1
            and not name.lower().startswith("pelvis")
            and not (pattern is _FORCES[0] and (name.lower() in moving or is_marker(name)))
        }
        if plates:
            return plates, _shared(plates, stated, notes, file)
    return {}, {}


def _shared(
    plates: Mapping[str, Mapping[str, tuple[int, int, int]]],
    stated: Mapping[int, float],
    notes: list[str],
    file: str | None,
) -> dict[int, float]:
    """The units by column: the stated ones; for columns without one, that of their plate, or else of the others."""
    found = dict(stated)
    for kind, what, words in (("force", "force", _FORCE_WORDS), ("point", "centre of pressure", _LENGTH_WORDS)):
        columns = {name: [i for i in kinds[kind] if i >= 0] for name, kinds in plates.items() if kind in kinds}
        everywhere = {stated[i] for three in columns.values() for i in three if i in stated}
        for name, three in columns.items():
            own = {stated[i] for i in three if i in stated}
            sizes, without = own or everywhere, [i for i in three if i not in stated]
            if without and len(sizes) > 1:
                others = " and ".join(words[size][0] for size in words if size in sizes)
                wrong = f"columns of the {what} of {name} have no unit, and others are in {others}"
                raise MotionFormatError(wrong, "write the unit in every label", file)
            if without and sizes:
                found |= dict.fromkeys(without, *sizes)
                unit = words[min(sizes)][0]
                notes += [] if own else [f"the {what} of {name} is taken to be in {unit}, like the others"]
    return found


def _three(axes: Mapping[str, int]) -> tuple[int, int, int]:
    return tuple(axes.get(axis, -1) for axis in AXES)  # type: ignore[return-value]


def _markers(left: Mapping[int, str]) -> tuple[dict[str, tuple[int, int, int]], dict[str, str]]:
    """Columns and stated units of markers by name. They have x and y; also z, if nothing separates name and axis."""
    found: dict[tuple[str, bool], dict[str, int]] = {}
    units: dict[str, str] = {}
    for i, label in left.items():
        match = _MARKER.match(label)
        if match and not (_NO_MARKER.search(match["name"]) or is_result(match["name"])):
            key = (match["name"], bool(match["separator"]))
            if not key[1] and _COORDINATE.search(match["name"]):
                continue
            found.setdefault(key, {})[match["axis"].lower()] = i
            if match["unit"]:
                units[match["name"]] = match["unit"].lower()
    whole = {key: axes for key, axes in found.items() if {"x", "y"} <= set(axes) and (key[1] or "z" in axes)}
    return {name: _three(axes) for (name, _), axes in whole.items()}, {n: u for n, u in units.items() if u in LENGTHS}


def vectors(values: Float[np.ndarray, "rows columns"], columns: tuple[int, int, int]) -> Float[np.ndarray, "rows 3"]:
    """Three columns in their own unit; zero for a missing one.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.labels import vectors
        >>> vectors(np.array([[0.01, 5.0, 9.0]]), (1, 2, -1))  # no column for z
        array([[5., 9., 0.]])
    """
    return np.stack([values[:, i] if i >= 0 else np.zeros(values.shape[0]) for i in columns], axis=1)


def forces(
    values: Float[np.ndarray, "rows columns"], time: Float[np.ndarray, " rows"], columns: Columns, notes: list[str]
) -> tuple[GroundReaction, ...]:
    """The ground forces of a file in N, with times in s; a centre of pressure is NaN without a force.

    Points are in m if the labels state their unit; otherwise they are as in the file. Gaps of the force are treated as
    in `with_unloaded_zeros`.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.labels import classify, forces
        >>> values = np.array([[0.0, 0.0, 0.0, 300.0], [0.001, 0.01, 0.7, 300.0]])
        >>> columns = classify(["time", "1_vx_kN", "1_vy_kN", "1_px_mm"])
        >>> (plate,) = forces(values, values[:, 0], columns, notes=[])
        >>> print(plate.force[1], plate.point[1])  # N, m
        [ 10. 700.   0.] [0.3 0.  0. ]
    """
    units = np.array([columns.force_units.get(i, 1.0) for i in range(values.shape[1])])
    found = []
    for name, plate in columns.forces.items():
        force = with_unloaded_zeros(vectors(units * values, plate["force"]), name, notes)
        point = vectors(units * values, plate["point"]) if "point" in plate else None
        if point is not None:
            pressed = np.abs(force).max(axis=1) > 1e-6
            point = np.where(pressed[:, None], point, np.nan)
        found.append(GroundReaction(name, time, force, point))
    return tuple(found)


def with_unloaded_zeros(
    force: Float[np.ndarray, "samples 3"], name: str, notes: list[str]
) -> Float[np.ndarray, "samples 3"]:
    """The force of a plate in N, with zeros for gaps while it seems to be unloaded: many files leave those cells blank.

    Other gaps remain, in all components: those next to a sample above `HEAVY` and `SHARE`. (At 100 Hz the first sample
    of a contact may already have a third of the largest force.)

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.labels import with_unloaded_zeros
        >>> vertical, notes = np.array([700.0, np.nan, 710.0, 20.0, np.nan, np.nan]), []
        >>> print(with_unloaded_zeros(np.column_stack([0 * vertical, vertical, 0 * vertical]), "plate 1", notes)[:, 1])
        [700.  nan 710.  20.   0.   0.]
        >>> notes[0]
        '1 sample of plate 1 has no force while somebody is on it: it is a gap'
    """
    there = np.asarray(np.isfinite(force).all(axis=1))
    filled = np.where(there[:, None], force, 0.0)
    size = np.linalg.norm(filled, axis=1)
    heavy = size > max(HEAVY, SHARE * size.max(initial=0.0))
    lost = 0
    for start, end in runs(~there):
        if heavy[max(start - 1, 0)] or heavy[min(end, there.size - 1)]:
            filled[start:end] = np.nan
            lost += end - start
    empty = int(np.sum(~there)) - lost
    has, have = f"sample of {name} has no force", f"samples of {name} have no force"
    on = "while somebody is on it"
    notes += [count_of(lost, f"{has} {on}: it is a gap", f"{have} {on}: they are gaps")] if lost else []
    notes += [f"{count_of(empty, has, have)}: it is taken to be unloaded"] if empty else []
    return filled


def length_unit(
    markers: Mapping[str, Float[np.ndarray, "frames 3"]], stated: str | None, file: str
) -> tuple[float, list[str], list[str]]:
    """The unit of marker coordinates in m, with notes and warnings: the stated one, unless no body has such a size.

    Bodies are 0.3 to 3 m long in their longest direction. A unit that is not stated is chosen among m, cm and mm,
    with a warning if only another one gives the body a usual size.

    Raises:
        MotionFormatError: if the stated unit is not known, or no unit gives the size of a body.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.labels import length_unit
        >>> body = {"RASI": np.array([[0.0, 950.0, 120.0]]), "RKNE": np.array([[30.0, 500.0, 120.0]])}
        >>> body |= {"RHEE": np.array([[-20.0, 50.0, 120.0]])}
        >>> length_unit(body, None, "walk.trc")  # 900 of what? of mm
        (0.001, ['no unit of length is stated; by the size of the body (900) it is mm'], [])
    """
    text = (stated or "").strip()
    known = re.split(r"[\s;,(\[]", unit_of(text))[0]
    known = "" if known in UNSTATED else known
    if markers and known not in LENGTHS and re.search(r"[^\W\d_]", known):  # a number belongs to another column
        listed = ", ".join(words[0] for words in _LENGTH_WORDS.values())
        raise MotionFormatError(f"the unit of length {text[:20]!r} is not known", f"write one of {listed}", file)
    named = {name: x for name, x in markers.items() if is_marker(name)}
    size = body_size(named if len(named) >= FEWEST else markers)  # others may be on the floor of the laboratory
    if size is None:
        return LENGTHS.get(known, 1.0), [], []
    fits = [unit for unit in ("m", "cm", "mm") if 0.3 <= size * LENGTHS[unit] <= 3.0]
    if known in LENGTHS and (known in fits or 0.1 <= size * LENGTHS[known] <= 4.0):
        return LENGTHS[known], [], []
    if not fits:
        what = f"markers are {size:.4g} apart (in units of the file), which is not the size of a body in m, cm or mm"
        likely = next(iter(_usual_sizes(size)), "")
        advice = f"in {likely} it is: state the unit" if likely and not known else "check the unit of the export"
        raise MotionFormatError(what, advice, file)
    if known in LENGTHS:
        what = f"the header states {known}, but no body measures {size:.4g} {known}: taken as {fits[0]}"
        return LENGTHS[fits[0]], [], [what]
    why = f"the unit {text[:20]!r} is not known" if known else "no unit of length is stated"
    own, note = size * LENGTHS[fits[0]], f"{why}; by the size of the body ({size:.4g}) it is {fits[0]}"
    others = _usual_sizes(size)
    if others and not inside(own, USUAL_SIZE):
        other, usual = next(iter(others.items()))
        doubt = f"{note}, a body of {own:.2f} m; in {other} it is of {usual:.2f} m: state the unit"
        return LENGTHS[fits[0]], [], [doubt]
    return LENGTHS[fits[0]], [note], []


def _usual_sizes(size: float) -> dict[str, float]:
    """The units in which a body of this size would be of usual size, with its size in m."""
    return {words[-1]: size * metre for metre, words in _LENGTH_WORDS.items() if inside(size * metre, USUAL_SIZE)}


def body_size(markers: Mapping[str, Float[np.ndarray, "frames 3"]]) -> float | None:
    """The longest side of the box around the markers, in the median over time, in the unit of the markers.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.labels import body_size
        >>> heights = {"RASI": 0.95, "RKNE": 0.5, "RHEE": 0.05}
        >>> round(body_size({name: np.array([[0.0, height, 0.1]]) for name, height in heights.items()}), 6)  # m
        0.9
    """
    if len(markers) < FEWEST:
        return None
    stack = np.stack([x[:: max(1, x.shape[0] // 200)] for x in markers.values()], axis=1)
    stack = np.where(np.isfinite(stack) & (np.abs(stack) < 1e12), stack, np.nan)
    whole = stack[np.isfinite(stack).all(axis=2).sum(axis=1) >= max(FEWEST, len(markers) // 2)]
    if not whole.shape[0]:
        return None
    box = np.nanmax(whole, axis=1) - np.nanmin(whole, axis=1)
    size = float(np.median(box.max(axis=1)))
    return size if size > 0 else None


def gapped(
    markers: dict[str, Float[np.ndarray, "frames 3"]], notes: list[str]
) -> dict[str, Float[np.ndarray, "frames 3"]]:
    """Markers with gaps where all coordinates are exactly 0, as some vendors write them; empty ones are dropped.

    In their own unit.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.labels import gapped
        >>> notes = []
        >>> gapped({"RASI": np.array([[0.1, 0.9, 0.1], [0.0, 0.0, 0.0]])}, notes)["RASI"][1]
        array([nan, nan, nan])
    """
    zeros = {name: np.all(x == 0, axis=1) for name, x in markers.items()}
    count = sum(int(z.sum()) for z in zeros.values())
    if count:
        where = "of exactly 0, 0, 0"
        words = f"marker position {where} is taken as a gap", f"marker positions {where} are taken as gaps"
        notes.append(count_of(count, *words))
    clean = {name: np.where(zeros[name][:, None], np.nan, x) for name, x in markers.items()}
    empty = [name for name, x in clean.items() if not np.isfinite(x).all(axis=1).any()]
    if empty:
        without = count_of(len(empty), "marker without a position is", "markers without a position are")
        notes.append(f"{without} left out: {first_few(empty)}")
    return {name: x for name, x in clean.items() if name not in empty}
