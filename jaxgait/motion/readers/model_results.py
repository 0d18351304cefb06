"""Results of a body model among the trajectories: its angles, which are read, and its moments and powers.

Vicon's Plug-in Gait writes them like markers, as X, Y and Z of `RKneeAngles`. X is flexion of hip and knee,
dorsiflexion of the ankle and forward tilt of the pelvis, positive and in degrees (Plug-in Gait Reference Guide, Vicon).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.support.checks import first_few

_RESULT = re.compile(
    r"(?:^|[a-z0-9_. ])(?:Angle|Moment|Force|Power|Torque)s?$|(?:^|[_. ])(?:angle|moment|force|power|torque)s?$"
    r"|(?:^|[_. ])(?:ANGLE|MOMENT|FORCE|POWER|TORQUE)S?$"
)
"""Last words of the names of results, for files that do not list these (LKneeAngles, but not LTriangle)."""
_PLUG_IN_GAIT = re.compile(r"(?:.*:)?\s*(?P<side>[rl])(?P<joint>pelvis|hip|knee|ankle)angles", re.IGNORECASE)
_WITH_AXIS = re.compile(rf"{_PLUG_IN_GAIT.pattern}[\s._:\-\[(]*x[\])]?", re.IGNORECASE)
_COORDINATES = {"pelvis": "pelvis_tilt", "hip": "hip_flexion_{s}", "knee": "knee_angle_{s}", "ankle": "ankle_angle_{s}"}
TILT = _COORDINATES["pelvis"]
"""The coordinate that is positive backward here, but forward in Plug-in Gait."""


class Renamed(NamedTuple):
    """Labels of columns, in which angles of Plug-in Gait have OpenSim's names."""

    names: list[str]
    opposite: set[int]
    """Columns whose sign is not that of OpenSim."""
    notes: list[str]


def is_result(name: str) -> bool:
    """Whether a name, without an axis, is that of a result rather than of a marker.

    Examples:
        >>> from jaxgait.motion.readers.model_results import is_result
        >>> print(is_result("RKneeAngles"), is_result("LHipPower"), is_result("RThighTriangle"))
        True True False
    """
    return bool(_RESULT.search(name.strip()))


def renamed(names: Sequence[str]) -> Renamed:
    """The labels with OpenSim's names for the flexion angles of Plug-in Gait, unless the file has these as well.

    Examples:
        >>> from jaxgait.motion.readers.model_results import renamed
        >>> found = renamed(["time", "RPelvisAngles.X", "Jo:LKneeAngles_X", "LKneeAngles_Y"])
        >>> print(found.names, found.opposite)
        ['time', 'pelvis_tilt', 'knee_angle_l', 'LKneeAngles_Y'] {1}
    """
    found = _coordinates({name: match for name in names if (match := _WITH_AXIS.fullmatch(name.strip()))}, names)
    opposite = {i for i, name in enumerate(names) if found.get(name) == TILT}
    return Renamed([found.get(name, name) for name in names], opposite, _notes(found))


def model_angles(
    results: Mapping[str, Float[np.ndarray, "frames 3"]], unit: float, notes: list[str]
) -> dict[str, Float[np.ndarray, " frames"]]:
    """The flexion angles of Plug-in Gait in rad, under OpenSim's names and with its signs.

    Args:
        results: of the model, with X, Y and Z.
        unit: of angles, in rad.
        notes: extended by what is read.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.readers.model_results import model_angles
        >>> results = {"Jo:RKneeAngles": np.array([[60.0, 1.0, 2.0]]), "RKneeMoment": np.zeros((1, 3))}
        >>> model_angles(results, np.pi / 180, [])["knee_angle_r"].round(4)  # rad
        array([1.0472])
    """
    found = _coordinates({name: match for name in results if (match := _PLUG_IN_GAIT.fullmatch(name.strip()))}, ())
    notes += _notes(found)
    return {new: (-unit if new == TILT else unit) * results[name][:, 0] for name, new in found.items()}


def _coordinates(matches: Mapping[str, re.Match[str]], taken: Sequence[str]) -> dict[str, str]:
    """OpenSim's names by those of the file. The first one for an angle counts: both sides have the pelvis."""
    found: dict[str, str] = {}
    for name, match in matches.items():
        new = _COORDINATES[match["joint"].lower()].format(s=match["side"].lower())
        if new not in taken and new not in found.values():
            found[name] = new
    return found


def _notes(found: Mapping[str, str]) -> list[str]:
    listed = [f"{name} ({'-' if new == TILT else ''}{new})" for name, new in found.items()]
    what = "read as joint angles of Plug-in Gait, of which X is flexion"
    return [f"{what}: {first_few(listed, 8)}"] if found else []
