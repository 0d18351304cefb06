"""Subjects, objects and segments before the names of markers: `Anna:RASI`, `Wand:TIP`, `RThigh:RTH1`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.maps import is_marker, is_on_pelvis, plain
from jaxgait.support.checks import first_few

_SIDE = r"(?:right|left|r|l)?"
_SEGMENT = re.compile(
    rf"{_SIDE}(?:pelvis|hip|thigh|femur|upperleg|knee|shank|tibia|calf|lowerleg|leg|ankle|foot|toes)(?:cluster)?{_SIDE}"
)
"""Plain names of segments, in lower case: they are parts of a subject and not subjects of their own."""
_NO_PREFIX = ""
"""The subject of markers without one."""


def without_subject(names: Sequence[str], notes: list[str], file: str) -> list[str]:
    """The names of markers without their subject (`Anna:RASI`), and without a segment if that leaves them distinct.

    The subject is the one with markers on the pelvis, without which there is no leg; or, if none has any, the only
    one with known names, or the only one. Markers of others keep theirs, to avoid confusion with the subject's:
    `Wand:TIP` becomes `Wand TIP`.

    Raises:
        MotionFormatError: if several subjects have markers on the pelvis, or a known marker occurs both with and
            without a subject.

    Examples:
        >>> from jaxgait.motion.readers.subjects import without_subject
        >>> without_subject(["Anna:RASI", "Anna:RHEE", "Wand:RTOE", "RThigh:RTH1"], [], "walk.c3d")
        ['RASI', 'RHEE', 'Wand RTOE', 'RTH1']
    """
    parts = [(prefix.strip(), own.strip()) for prefix, _, own in (name.rpartition(":") for name in names)]
    parts = [(_NO_PREFIX if _is_part(prefix, parts) else prefix, own) for prefix, own in parts]
    markers: dict[str, list[str]] = {}
    for prefix, own in parts:
        markers.setdefault(prefix.lower(), []).append(own)
    written = {prefix.lower(): prefix for prefix, _ in reversed(parts)}  # as first written
    subjects = _subjects(markers)
    if len(subjects) > 1:
        shown = lambda prefix: f"{written[prefix] or 'one without a name'} ({first_few(_of_a_leg(markers[prefix]), 3)})"
        what = f"markers of {len(subjects)} subjects: {', '.join(map(shown, subjects))}"
        raise MotionFormatError(what, "export the trial for each subject alone", file)
    kept = {_NO_PREFIX, *subjects}
    if others := [f"{written[prefix]} ({first_few(own, 3)})" for prefix, own in markers.items() if prefix not in kept]:
        used = (
            f"markers of {written[subjects[0]] or 'the one without a name'} are used" if subjects else "none are used"
        )
        notes.append(f"there are several subjects or objects: {used}, and not those of {first_few(others)}")
    return [own if prefix.lower() in kept else f"{prefix} {own}" for prefix, own in parts]


def _is_part(prefix: str, parts: Sequence[tuple[str, str]]) -> bool:
    """Whether a prefix is that of a segment, and no other prefix has a marker of the same name."""
    if not _SEGMENT.fullmatch(plain(prefix).lower()):
        return False
    own = {plain(name) for one, name in parts if one == prefix}
    return own.isdisjoint(plain(name) for one, name in parts if one != prefix)


def _subjects(markers: Mapping[str, Collection[str]]) -> list[str]:
    """The prefix, in lower case, of the measured subject; several if it is not clear which one was measured."""
    on_pelvis = [prefix for prefix, own in markers.items() if any(map(is_on_pelvis, own))]
    named = [prefix for prefix in markers if prefix != _NO_PREFIX]
    known = [prefix for prefix in named if any(map(is_marker, markers[prefix]))]
    candidates = on_pelvis or known or named
    if len(on_pelvis) > 1 or len(candidates) != 1:
        return on_pelvis
    plainly = lambda prefix: {plain(name) for name in markers.get(prefix, ()) if is_marker(name)}
    shared = candidates[0] != _NO_PREFIX and plainly(candidates[0]) & plainly(_NO_PREFIX)
    return [*candidates, _NO_PREFIX] if shared else candidates


def _of_a_leg(names: Collection[str]) -> list[str]:
    """The known names, those on the pelvis first."""
    return sorted(filter(is_marker, names), key=lambda name: not is_on_pelvis(name))
