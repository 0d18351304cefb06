"""The leg of a recording: from its markers if they make one, otherwise from its joint angles."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence

from jaxgait.motion.capture.coordinates import angle_names, from_angles, has_angles, has_joints
from jaxgait.motion.capture.frozen_markers import frame_warnings
from jaxgait.motion.capture.leg import Leg, Options, seen
from jaxgait.motion.capture.maps import OTHER_SIDE
from jaxgait.motion.capture.markers import from_markers
from jaxgait.motion.recording import Recording, upward
from jaxgait.support.checks import first_few

MOST_NAMED = 12
"""Names of a recording that an error lists."""
ALIKE = 0.65
"""Least similarity of a column's name to that of a joint angle that it may be meant to be."""


def leg_of(recording: Recording, side: str, options: Options = Options(), slope: float = 0.0) -> Leg:
    """The leg of a side, from markers if they make one, otherwise from joint angles.

    Args:
        recording: of the walk.
        side: right or left.
        options: how it is measured.
        slope: of the ground in rad, positive uphill; markers are turned so that it is level.

    Raises:
        MotionFormatError: naming what is missing.
    """
    if options.static is not None:
        options = dataclasses.replace(options, static=_named_alike(options.static, recording))
    marker_set = options.markers(recording, side)
    lacking = marker_set.lacks(options.static is not None)
    if not lacking:
        return _upright(from_markers(recording, side, marker_set, options, slope), frame_warnings(recording))
    if has_angles(recording, side):
        found = from_angles(recording, side, options.cutoff, options.max_gap)
        return _upright(found, frame_warnings(dataclasses.replace(recording, markers={})))
    other = OTHER_SIDE[side]
    if recording.angles and not recording.markers:
        joints = [name for name in angle_names(side)[3:] if name not in recording.angles]
        absent = ", ".join(joints or [name for name in angle_names(side)[:3] if name not in recording.angles])
        renamed = _advice_to_rename(joints, recording) if joints else ""
        if joints and has_joints(recording, other):
            raise recording.error(f"no {side} leg: {absent} not found", renamed or _advice_to_take(other, recording))
        recorded = first_few([*recording.angles], MOST_NAMED)
        what = f"no {side} leg: of the joint angles that make one, {absent} not found among {recorded}"
        whole = "export the whole result of inverse kinematics, or name the columns so"
        raise recording.error(what, renamed or whole)
    known = seen(recording)
    lost = first_few([name for name in recording.markers if name not in known])
    there = first_few([*known, *recording.angles], MOST_NAMED) or "nothing"
    what = f"no {side} leg: {', '.join(lacking)} not found among {there}" + (f"; never seen: {lost}" if lost else "")
    advice = "name the markers in a map of your own (--markers map.toml)"
    if not marker_set.lacks(carried=True):
        advice = "give a standing trial (--static), whose knee and ankle markers the shank's cluster carries"
    elif not options.markers(recording, other).lacks(carried=False):
        advice = _advice_to_take(other, recording)
    if has_joints(recording, side):
        advice += ", or the walking speed (--speed 1.2), and the joint angles of the file are used"
    raise recording.error(what, advice)


def _advice_to_rename(lacks: Sequence[str], recording: Recording) -> str:
    """Advice on columns that may be the missing joint angles: of Plug-in Gait, or with similar names; or empty."""
    side = lacks[0][-1].upper()
    gait = {"hip_flexion": "Hip", "knee_angle": "Knee", "ankle_angle": "Ankle"}
    begins = {name: f"{side}{gait[name[:-2]]}Angles".lower() for name in lacks}
    found = {name: next((k for k in recording.angles if k.lower().startswith(begins[name])), "") for name in lacks}
    if not all(found.values()):
        others = [k for k in recording.angles if k not in angle_names("right") + angle_names("left")]
        near = {name: difflib.get_close_matches(name, others, n=1, cutoff=ALIKE) for name in lacks}
        found = {name: own[0] for name, own in near.items() if own}
    if not found:
        return ""
    return f"is it {', '.join(f'{other!r} ({name})' for name, other in found.items())}? rename it (flexion is positive)"


def _advice_to_take(side: str, recording: Recording) -> str:
    """Advice to use the leg that is there; without a path of the hip, the speed has to be given."""
    speed = "" if recording.markers or has_angles(recording, side) else " --speed 1.2"
    call = f"`jaxgait motion {recording.file} --leg {side}{speed} --out walk.json`"
    return f"the {side} leg is there (side={side!r}): {call}, then `--motion walk.json`"


def _upright(leg: Leg, warnings: Sequence[str]) -> Leg:
    """The leg with additional warnings, and with the forces of all plates upward; notes name those reversed."""
    recording, notes = upward(leg.recording, leg.axes.rotation[1])
    return dataclasses.replace(leg, recording=recording, notes=leg.notes + notes, warnings=(*leg.warnings, *warnings))


def _named_alike(static: Recording, recording: Recording) -> Recording:
    """The standing trial with the walk's names of markers, where a subject's prefix or the case differs."""
    plain = lambda name: name.split(":")[-1].strip().lower()
    there = {plain(name): name for name in recording.markers if name not in static.markers}
    return dataclasses.replace(static, markers={there.get(plain(n), n): x for n, x in static.markers.items()})
