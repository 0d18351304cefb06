"""Roles of markers: the known marker sets, recognised by their names, and custom maps."""

from __future__ import annotations

import functools
import importlib.resources
import pathlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jaxgait.motion import MotionFormatError
from jaxgait.motion.text import content
from jaxgait.support import checks

SIDES = {"right": "R", "left": "L"}
OTHER_SIDE = {"right": "left", "left": "right"}
CLUSTERS = ("thigh_cluster", "shank_cluster")
ROLES = ["asis", "psis", "sacrum", "hip_centre", "trochanter", "knee_centre", "knee_lateral", "knee_medial"]
ROLES += ["ankle_centre", "ankle_lateral", "ankle_medial", "heel", "toe", *CLUSTERS]
"""Roles of markers; a cluster has several."""


class MarkerSet(NamedTuple):
    """The markers of one side by role.

    Examples:
        >>> from jaxgait.motion.capture.maps import find
        >>> marker_set = find(["RASI", "LASI", "RPSI", "LPSI", "RKNE", "RANK"], "right")
        >>> print(marker_set.pelvis, marker_set.lacks(carried=False))
        True ['foot (heel or toe)']
    """

    set_name: str
    roles: dict[str, str]
    clusters: dict[str, tuple[str, ...]]
    asis: dict[str, str]
    """ASIS markers by side: the pelvis needs both."""
    psis: dict[str, str]

    def describe(self) -> str:
        """The roles with their markers."""
        single = [f"{role} {name}" for role, name in self.roles.items()]
        many = [f"{role} {' '.join(names)}" for role, names in self.clusters.items() if names]
        return ", ".join(single + many)

    @property
    def pelvis(self) -> bool:
        """Whether the hip centre can be computed from the pelvis."""
        return len(self.asis) == 2 and (len(self.psis) == 2 or "sacrum" in self.roles)

    @property
    def back_of_pelvis(self) -> list[str]:
        """The markers whose middle is the back of the pelvis: both PSIS, or the sacrum."""
        return [*self.psis.values()] if len(self.psis) == 2 else [self.roles["sacrum"]]

    def of(self, *roles: str) -> list[str]:
        """The markers with these roles, as far as there are any, in their order."""
        return [self.roles[role] for role in roles if role in self.roles]

    @property
    def names(self) -> set[str]:
        """Names of all its markers: of the leg, of the pelvis, and those that carry joints."""
        pelvis = [*self.asis.values(), *self.psis.values()]
        return {*self.roles.values(), *pelvis, *self.clusters["shank_cluster"]}

    @property
    def segments(self) -> tuple[list[str], ...]:
        """Names of the markers that keep their distances: on the pelvis, from knee to ankle, and from ankle to toe."""
        ankle = self.of("ankle_centre", "ankle_lateral", "ankle_medial")
        pelvis = [*self.asis.values(), *self.psis.values(), *self.of("sacrum")]
        shank = [*self.of("knee_centre", "knee_lateral", "knee_medial"), *ankle, *self.clusters["shank_cluster"]]
        return pelvis, shank, [*ankle, *self.of("heel", "toe")]

    def lacks(self, carried: bool) -> list[str]:
        """What is missing for a planar leg; knee and ankle may be carried by a cluster from a static trial."""
        wants = [] if self.pelvis or {"hip_centre", "trochanter"} & set(self.roles) else ["hip (ASIS and PSIS/sacrum)"]
        if not (carried and self.clusters["shank_cluster"]):
            wants += [j for j in ("knee", "ankle") if not {f"{j}_centre", f"{j}_lateral"} & set(self.roles)]
        return wants + ([] if {"heel", "toe"} & set(self.roles) else ["foot (heel or toe)"])


@functools.cache
def known() -> dict[str, dict[str, list[str]]]:
    """The known marker sets: names by role.

    Examples:
        >>> from jaxgait.motion.capture.maps import known
        >>> known()["plug_in_gait"]["heel"]  # {S} is R or L
        ['{S}HEE']
    """
    text = importlib.resources.files("jaxgait.motion").joinpath("data", "marker_maps.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


PELVIS = ("asis", "psis", "sacrum", "hip_centre", "trochanter")
"""Roles of markers on the pelvis and the hips."""
_PARTS = {"RFOOT", "LFOOT"}
"""Names in the known sets that are merely parts of the body, as names of force plates may be."""


@functools.cache
def _known_names(roles: tuple[str, ...] = tuple(ROLES)) -> frozenset[str]:
    """All names of the known sets for some roles, except those of `_PARTS`."""
    options = [name for table in known().values() for role in roles for name in table.get(role, [])]
    return frozenset(name.format(S=side) for name in options for side in SIDES.values()) - _PARTS


def is_marker(name: str) -> bool:
    """Whether a name is one of a marker in the known sets, and not also one of a force plate.

    Examples:
        >>> from jaxgait.motion.capture.maps import is_marker
        >>> print(is_marker("Anna:RHEE"), is_marker("ground_force"), is_marker("right"))
        True False False
    """
    return not _known_names().isdisjoint(spellings([name]))


def is_on_pelvis(name: str) -> bool:
    """Whether a name is one of a marker on pelvis or hips in the known sets.

    Examples:
        >>> from jaxgait.motion.capture.maps import is_on_pelvis
        >>> print(is_on_pelvis("Anna:RASI"), is_on_pelvis("RHEE"))
        True False
    """
    return not _known_names(PELVIS).isdisjoint(spellings([name]))


def plain(name: str) -> str:
    """A name without case, subject, dots, blanks, hyphens and underscores.

    Examples:
        >>> from jaxgait.motion.capture.maps import plain
        >>> print(plain("Anna:R.Knee"), plain("r_knee"))
        RKNEE RKNEE
    """
    return re.sub(r"[^A-Z0-9]", "", name.rsplit(":", maxsplit=1)[-1].upper())


def spellings(names: Iterable[str]) -> dict[str, str]:
    """A mapping from plain names, also with the side moved to the front, to the names as written; the first one counts.

    Examples:
        >>> from jaxgait.motion.capture.maps import spellings
        >>> spellings(["Knee_Right"])
        {'KNEERIGHT': 'Knee_Right', 'KNEER': 'Knee_Right', 'RKNEE': 'Knee_Right'}
    """
    names = list(names)
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(plain(name), name)
    for name in names:
        words = [w for w in re.split(r"[\s._\-]+", name.split(":")[-1].upper()) if w]
        short = [{"RIGHT": "R", "LEFT": "L"}.get(w, w) for w in words]
        found.setdefault(plain("".join(short)), name)
        if short and short[-1] in ("R", "L"):
            found.setdefault(plain(short[-1] + "".join(short[:-1])), name)
    return found


def find(names: Iterable[str], side: str, carried: bool = False, own: Mapping[str, Any] | None = None) -> MarkerSet:
    """The marker set that matches the names.

    Args:
        names: the markers of the recording.
        side: right or left.
        carried: whether there is a static trial, from which clusters carry joint centres.
        own: a custom map (see `read_map`).

    Returns:
        The set with the most roles among those that make a leg; otherwise the names of all sets together.

    Examples:
        >>> from jaxgait.motion.capture.maps import find
        >>> marker_set = find(["RASI", "LASI", "RPSI", "LPSI", "RKNE", "RANK", "RHEE", "RTOE"], "right")
        >>> print(marker_set.set_name, marker_set.roles["heel"], marker_set.lacks(carried=False))
        plug_in_gait RHEE []
    """
    there = spellings(names)
    if own is not None:
        return _matched("own map", own, there, side)
    candidates = [_matched(name, table, there, side) for name, table in known().items()]
    whole = [c for c in candidates if not c.lacks(carried)]
    if whole:
        return max(whole, key=_count)
    merged: dict[str, list[str]] = {}
    for table in known().values():
        for role, options in table.items():
            merged.setdefault(role, []).extend(options)
    return _matched("names of several sets", merged, there, side)


def _count(marker_set: MarkerSet) -> int:
    return len(marker_set.roles) + len(marker_set.psis) + sum(len(names) for names in marker_set.clusters.values())


def _matched(name: str, table: Mapping[str, Any], there: Mapping[str, str], side: str) -> MarkerSet:

    def names(role: str, of: str) -> list[str]:
        options = table.get(of, table) if isinstance(table.get(of), dict) else table
        listed = options.get(role, table.get(role, []))
        listed = [listed] if isinstance(listed, str) else listed
        keys = [plain(option.replace("{S}", SIDES[of])) for option in listed]
        return list(dict.fromkeys(there[key] for key in keys if key in there))

    single = {role: names(role, side)[:1] for role in ROLES if role not in CLUSTERS}
    clusters = {role: tuple(names(role, side)) for role in CLUSTERS}
    both = {role: {of: names(role, of)[0] for of in SIDES if names(role, of)} for role in ("asis", "psis")}
    return MarkerSet(name, {r: n[0] for r, n in single.items() if n}, clusters, both["asis"], both["psis"])


def read_map(path: str | pathlib.Path) -> dict[str, Any]:
    """Reads a custom map from TOML: a table of roles with {S} for R or L, or [right] and [left].

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: if it is not valid TOML, or names an unknown role.

    Examples:
        >>> import pathlib
        >>> from jaxgait.motion.capture.maps import read_map
        >>> _ = pathlib.Path("map.toml").write_text('heel = "{S}_calcaneus"')
        >>> read_map("map.toml")
        {'heel': '{S}_calcaneus'}
    """
    file = str(path)
    raw = content(path, 2**20, "a TOML file", "a map has some lines")
    try:
        table = tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).splitlines()[0][:150]
        raise MotionFormatError(f"is not valid TOML: {reason}", 'write lines such as asis = "{S}ASI"', file) from error
    tables = [table, *(table[side] for side in SIDES if isinstance(table.get(side), dict))]
    for role, value in ((r, v) for t in tables for r, v in t.items() if not (r in SIDES and isinstance(v, dict))):
        if role not in ROLES:
            advice = checks.nearest(role, ROLES, limit=1, otherwise=f"roles are {', '.join(ROLES)}")
            raise MotionFormatError(f"an unknown role {role[:40]!r}", advice, file)
        if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise MotionFormatError(f"{role} is not a name", f'write {role} = "NAME", or a list of names', file)
    return table
