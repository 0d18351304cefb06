"""Pairs files of ground forces with their trials, and gives trials distinct names."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxgait.motion.capture.coordinates import has_joints
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.recording import LOADED_FORCE, GroundReaction, Recording, with_forces
from jaxgait.motion.text import distinct
from jaxgait.support.checks import shown

SAME_MOTION, LEAST_COMMON = 1e-3, 0.5
"""Recordings show the same motion if they differ by less in m or rad (root mean square), for at least a time in s."""
SAME_FORCES = 0.1
"""Relative difference (root mean square) of two plates' forces below which one is a copy of the other."""


def has_leg(found: Recording) -> bool:
    """Whether a recording has the joint angles of a leg.

    Examples:
        >>> from jaxgait.motion.capture.trials import has_leg
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> has_leg(synthetic_recording(reference_gait()))  # of the right one
        True
    """
    return has_joints(found, "right") or has_joints(found, "left")


def together(found: Sequence[Recording]) -> list[Recording]:
    """Recordings of markers or angles, combined with the ground forces of files that contain nothing else.

    With several trials, forces belong to the one whose name begins theirs (walk1.trc, walk1_grf.mot), in whole words;
    the longest counts. Otherwise they belong to the trial before them, unless another one's name has more words in
    common with theirs (walk_fast_markers.trc, walk_fast_grf.mot).

    Raises:
        TypeError: for anything but a list of recordings.
        ValueError: without recordings.
        MotionFormatError: if all contain only ground forces; if a file of forces fits no trial, or one that has its
            own, or it is not clear which (one would get two files and another none); or if joint angles come with
            markers. Forces or strides would count twice.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.trials import together
        >>> from jaxgait.motion.recording import GroundReaction, Recording
        >>> time = np.linspace(0.0, 1.0, 101)
        >>> markers = {name: np.ones((101, 3)) for name in ("RASI", "LASI", "RHEE")}
        >>> body = Recording("walk", "walk.trc", 100.0, time, markers)
        >>> plate = GroundReaction("plate 1", time, np.tile([0.0, 700.0, 0.0], (101, 1)), None)
        >>> found = together([body, Recording("forces", "forces.mot", 100.0, time, forces=(plate,))])
        >>> print(len(found), found[0].file, found[0].forces[0].name)
        1 walk.trc plate 1
    """
    if not (isinstance(found, list | tuple) and all(isinstance(one, Recording) for one in found)):
        raise TypeError(f'give a list of recordings, such as [read_recording("walk.c3d")], got {shown(found)}')
    if not found:
        raise ValueError("give at least one recording of a walk, got none")
    moving = [r for r in found if r.markers or r.angles]
    moving = [r for r in moving if len(r.markers) > 2 or has_leg(r)] or moving
    forces = [r for r in found if not any(r is one for one in moving)]
    if not moving:
        what = "contains ground forces only" if found[0].forces else "contains neither markers nor joint angles"
        raise found[0].error(what, "give the file with the markers or joint angles too")
    if any(r.markers for r in moving):
        for other in (r for r in moving if not r.markers):
            raise other.error("joint angles in addition to markers", "leave one out: a walk is measured from either")
    trials = [0] * len(forces) if len(moving) == 1 else _trials_of(forces, moving, found)
    for own, other in zip(trials, forces, strict=True):
        if moving[own].forces:
            what = f"ground forces in addition to those of {moving[own].file}"
            raise other.error(what, "leave one of them out: they would add up")
    joined = list(moving)
    for own, other in zip(trials, forces, strict=True):
        whose = [f"the forces of {other.file} are of {moving[own].file}"] if moving[1:] else []
        joined[own] = with_forces(joined[own], dataclasses.replace(other, notes=(*whose, *other.notes)))
    return [_without_copies(recording) for recording in joined]


def _without_copies(recording: Recording) -> Recording:
    """The recording without plates that repeat the forces of another one, which would add up; with warnings."""
    kept: list[GroundReaction] = []
    warnings = list(recording.warnings)
    for plate in recording.forces:
        same = next((other for other in kept if _is_copy(plate, other) and _is_copy(other, plate)), None)
        if same is None:
            kept.append(plate)
        else:
            what = f"the forces on {plate.name} are those on {same.name}, and are used once"
            warnings.append(f"{what}: are they in the files twice, perhaps filtered?")
    return dataclasses.replace(recording, forces=tuple(kept), warnings=tuple(warnings))


def _is_copy(plate: GroundReaction, other: GroundReaction) -> bool:
    """Whether the other plate has the same forces, or the opposite ones, wherever this one is loaded."""
    on = np.linalg.norm(plate.force, axis=1) > LOADED_FORCE
    if not on.any():
        return False
    own, time = plate.force[on], plate.time[on]
    theirs = np.stack([np.interp(time, other.time, x, left=0.0, right=0.0) for x in other.force.T], axis=1)
    size = lambda force: float(np.nanmean(force**2))
    return min(size(own - theirs), size(own + theirs)) < SAME_FORCES**2 * size(own)


def _trials_of(forces: Sequence[Recording], moving: Sequence[Recording], found: Sequence[Recording]) -> list[int]:
    """For each file of forces, the number of its trial in `moving`; `found` has all files in their given order."""
    before = [last for last, r in zip([None, *found], found, strict=False) if any(r is other for other in forces)]
    which = [_trial_of(other, moving, last) for other, last in zip(forces, before, strict=True)]
    without = any(not r.forces and i not in which for i, r in enumerate(moving))
    for j, i in enumerate(which):
        if i is None or (without and i in which[:j]):
            advice = "give it directly after its trial, or name it like that (walk1.trc, walk1_grf.mot)"
            what = "ground forces with several trials, and it is not clear of which"
            raise forces[j].error(what, f"{advice}, or use with_forces")
    return [i for i in which if i is not None]


def _trial_of(other: Recording, moving: Sequence[Recording], last: Recording | None) -> int | None:
    """The trial whose name begins the file's, or else the one before it, `last`, unless another name is nearer."""
    near = [_likeness(r, other) for r in moving]
    nearest = [i for i, one in enumerate(near) if one == max(near)]
    if len(nearest) == 1 and near[nearest[0]].whole:
        return nearest[0]
    return next((i for i in nearest if moving[i] is last), None)


class _Likeness(NamedTuple):
    """How near a file's name is to that of a trial: compared in this order."""

    common: int
    """Words that both begin with: walk10 and walk1 have none in common."""
    whole: bool
    """Whether these are the whole name of the trial."""
    together: bool
    """Whether they are in the same folder."""


def _likeness(trial: Recording, other: Recording) -> _Likeness:
    paths = [pathlib.PurePath(r.file) for r in (trial, other)]
    own, words = (re.findall(r"[^\W_]+", path.stem) for path in paths)
    common = sum(own[:n] == words[:n] for n in range(1, 1 + min(len(own), len(words))))
    return _Likeness(common, 0 < common == len(own), paths[0].parent == paths[1].parent)


def with_own_names(recordings: Sequence[Recording]) -> tuple[list[Recording], list[str]]:
    """The trials under distinct names, to which their strides refer, and a warning if one is given twice.

    Examples:
        >>> from jaxgait.motion.capture.trials import with_own_names
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> trials, warnings = with_own_names(2 * [synthetic_recording(reference_gait())])
        >>> print([trial.name for trial in trials], len(warnings))
        ['rajagopal_1.26ms', 'rajagopal_1.26ms (2)'] 1
    """
    twice: list[str] = []
    for i, trial in enumerate(recordings):
        same = next((other for other in recordings[:i] if _same(trial, other)), None)
        if same is not None:
            twice.append(f"{trial.file} contains the same motion as {same.file}: its strides count twice")
    names = distinct([trial.name for trial in recordings], "{} ({})")
    return [dataclasses.replace(trial, name=name) for trial, name in zip(recordings, names, strict=True)], twice


def _same(one: Recording, other: Recording) -> bool:
    """Whether two recordings show the same motion at the same times, perhaps of parts of a trial, or in other axes."""
    at = one.time[(one.time >= other.time[0]) & (one.time <= other.time[-1])]
    if at.size < LEAST_COMMON * one.rate:
        return False
    pairs = [(np.interp(at, one.time, x), np.interp(at, other.time, y)) for x, y in _comparable(one, other)]
    apart = [(x - y)[np.isfinite(x - y)] for x, y in pairs]
    return bool(pairs) and all(2 * x.size > at.size and np.sqrt(np.mean(x**2)) < SAME_MOTION for x in apart)


def _comparable(one: Recording, other: Recording) -> list[tuple[np.ndarray, np.ndarray]]:
    """Curves of both in m or rad that do not depend on the axes: angles, or the distances of markers that vary most."""
    if not (one.markers and other.markers):
        return [(x, other.angles[k]) for k, x in one.angles.items() if k in other.angles and not one.markers]
    names = [name for name in one.markers if name in other.markers]
    far = lambda recording, name: np.linalg.norm(recording.markers[name] - recording.markers[names[0]], axis=1)
    spread = lambda x: float(np.std(x[np.isfinite(x)])) if np.isfinite(x).any() else 0.0
    varied = sorted(names[1:], key=lambda name: -spread(far(one, name)))
    return [(far(one, name), far(other, name)) for name in varied[:3]]


def check_one_kind(legs: Sequence[Leg]) -> None:
    """Checks that all legs are from markers, or all from joint angles.

    Raises:
        MotionFormatError: if there are both, because strides of the same trial would count twice.

    Examples:
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.capture.trials import check_one_kind
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> check_one_kind(2 * [leg_of(synthetic_recording(reference_gait()), "right")])
    """
    solved, marked = ([leg.recording for leg in legs if (leg.foot is None) == angles] for angles in (True, False))
    if solved and marked:
        what = f"contains joint angles, but {marked[0].file} markers"
        raise solved[0].error(what, "give one of them: strides of the same trial would count twice")
