"""Ensembles over people, and over one person's strides: members that differ in the motion driving them.

    leg, walkers = people(Prosthesis(), ["anna.json", "ben.json"])
    ensemble(leg, product(walkers, grid({"damper.k": k})), strides=20)  # dimensions `subject` and `damper.k`
    leg, steps = single_strides(Prosthesis(), "anna.json")              # dimension `stride`

Parameters that follow from the motion (a prosthesis is fitted to the person who walked) vary with it. Results hold the
motions in an attribute, by `subject` or `stride`, so that any member can be simulated again, and tables stay short.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Sequence, ValuesView
from typing import Any

import equinox as eqx
import jax
import numpy as np

from jaxgait.contents import contents, restored
from jaxgait.ensembles.addresses import DRIVE, drive_number
from jaxgait.ensembles.members import MOTIONS, PERSON, Members
from jaxgait.model import Model, as_model
from jaxgait.motion import MotionWarning
from jaxgait.motion.drive import FourierSeries, GaitDrive
from jaxgait.motion.text import distinct
from jaxgait.parameters import ParameterError, get_parameter, parameters
from jaxgait.precision import float64_default
from jaxgait.support import files, xr
from jaxgait.support.checks import by_name, shown, warn_user


@by_name()
@float64_default
def people(
    model: Model, motions: Sequence[Any] | ValuesView[Any], *, then: Callable[[Model], Model] = lambda leg: leg
) -> tuple[Model, Members]:
    """The model driven by several people's walks.

    Args:
        model: a model that measured motion can drive, with a motion at which it walks well.
        motions: for each person, what `jaxgait.motion.naming.motion_drive` takes: a name as in `--motion` (an embedded
            gait, a walk, a recording, a stride), a drive, recordings, a `Walk`, a `Stride`, or a table.
        then: further changes to every driven model, such as `lambda leg: with_parameters(leg, {...})`.

    Returns:
        The model driven by the first walk, and the members along `subject`, labelled by the names of the files (without
        their ending), or of the walks.

    Raises:
        ParameterError: for no motions, and for a model that motion does not drive.
        MotionFormatError: for an unusable file.
        FileNotFoundError: for a name that is neither a file nor an embedded gait.

    Warns:
        MotionWarning: if the body mass is known for some people only; and for walks to which the leg is not fitted,
            such as embedded gaits by name.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.ensembles.walks import people
        >>> leg, walkers = people(Prosthesis(), ["rajagopal_1.26ms", "hbm07_0.98ms"])
        >>> print(walkers.dims, walkers.labels["drive.speed"][1].round(2))  # m/s
        ('subject',) [1.26 0.98]
    """
    # Imported here: with the readers of recordings, it would take a fifth of the package's own import time.
    from jaxgait.motion.naming import motion_drive

    if isinstance(motions, str) or not isinstance(motions, Sequence | ValuesView) or not len(motions):
        raise ParameterError(f"give a list of motions, such as ['anna.json', 'ben.json'], got {shown(motions)}")
    drives = [motion_drive(m) for m in motions]
    labels = [_label(m, d) for m, d in zip(motions, drives, strict=True)]
    names = np.array(distinct(labels, "{} ({})"), dtype=object)
    unknown = [n for n, d in zip(names, drives, strict=True) if d.person is not None and d.person.mass is None]
    if unknown and any(d.person is not None and d.person.mass is not None for d in drives):
        what = f"{', '.join(unknown)}: the body mass is not known, as it is for others, so that masses stay the model's"
        warn_user(MotionWarning(f"{what}; give it with `jaxgait motion --mass`"))
    if unfitted := [n for n, d in zip(names, drives, strict=True) if d.person is None]:
        what = f"{', '.join(unfitted)}: the leg keeps the model's segments and masses"
        advice = (
            "a JSON file of `jaxgait motion` fits it to that person, as do thigh_m, shank_m and mass_kg in the "
            "comments (attrs) of a table, and for an embedded gait reference_gait(NAME, with_person=True) in Python"
        )
        warn_user(MotionWarning(f"{what}; {advice}"))
    return _members(model, drives, (PERSON, names), then)


def _label(motion: Any, drive: GaitDrive) -> str:
    """The name of the file, which distinguishes the legs and trials of one recording; otherwise the drive's name."""
    path = files.expanded(motion) if isinstance(motion, str | os.PathLike) else None
    return path.stem if path is not None and path.is_file() else drive.name


@by_name()
@float64_default
def single_strides(
    model: Model, motion: Any, *, then: Callable[[Model], Model] = lambda leg: leg
) -> tuple[Model, Members]:
    """The model driven by each kept stride of one person's walk, as if it were repeated indefinitely.

    Args:
        model: a model that measured motion can drive.
        motion: a walk (JSON) or recordings, as for `motion_drive`, or a list of drives.
        then: as for `people`.

    Returns:
        The model driven by the first stride, and the members along `stride`, counted from 1.

    Raises:
        ParameterError: for a model that motion does not drive.
        MotionFormatError: for an unusable file, and for one without single strides.
        FileNotFoundError: if there is no such file.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.ensembles.walks import single_strides
        >>> from jaxgait.motion.drive import at_cadence, reference_gait
        >>> slow, fast = reference_gait(), at_cadence(reference_gait(), 1.1)
        >>> leg, strides = single_strides(Prosthesis(), [slow, fast])
        >>> print(strides.dims, strides.labels["drive.period"][1].round(3))  # s
        ('stride',) [1.127 1.025]
    """
    from jaxgait.motion.naming import motion_strides  # (see `people`)

    are_drives = isinstance(motion, list | tuple) and all(isinstance(one, GaitDrive) for one in motion)
    drives = list(motion) if are_drives else motion_strides(motion)
    if not drives:
        raise ParameterError("give at least one stride of a walk, got none")
    return _members(model, drives, ("stride", np.arange(1, len(drives) + 1)), then)


def _members(
    model: Model, drives: Sequence[GaitDrive], label: tuple[str, np.ndarray], then: Callable[[Model], Model]
) -> tuple[Model, Members]:
    driven = [then(_plain(as_model(model).driven(d))) for d in _alike(drives)]
    dim, marks = label
    varying = {n: np.array([get_parameter(m, n) for m in driven], float) for n in parameters(driven[0])}
    varying = {n: x for n, x in varying.items() if np.any(x != x[:1])}
    moving = _numbers(driven)
    labels = {dim: ((dim,), marks)} | {n: ((dim,), x) for n, x in varying.items()}
    labels |= {n: ((dim,), moving[n]) for n in (f"{DRIVE}period", f"{DRIVE}speed")}
    records = {str(mark): contents(m)["drive"] for mark, m in zip(marks, driven, strict=True)}
    attrs = {MOTIONS: json.dumps({dim: records})}
    return driven[0], Members((dim,), (len(driven),), varying | moving, labels, attrs=attrs)


def _plain(model: Any) -> Any:
    """The driven model, whose motion must be its field `drive`, with a name of the motion that suits all members."""
    if not isinstance(getattr(model, "drive", None), GaitDrive):
        raise ParameterError(f"{type(model).__name__} has no field `drive` that holds its motion, for members to vary")
    drive = dataclasses.replace(model.drive, name="several")
    return eqx.tree_at(lambda m: m.drive, model, drive, is_leaf=lambda x: isinstance(x, GaitDrive))


def recorded(data: xr.Dataset) -> xr.DataArray | None:
    """The records of the motions of a result's members (`jaxgait.contents`), or of one member; None if all share one.

    Raises:
        ValueError: if they were not recorded, or with other labels than the result's, or if they are of other walks.
    """
    if MOTIONS not in data.attrs:
        if any(str(name).startswith(DRIVE) for name in data.coords):
            raise ValueError("its members were driven by different motions, which were not recorded")
        return None
    ((label, records),) = json.loads(data.attrs[MOTIONS]).items()
    marks = data[label]
    if lost := sorted({str(mark) for mark in marks.values.flat} - {*records}):
        joined = "of results that xarray joins, only the motions of the first are kept"
        what = f"it has the motions of {', '.join(records)}, not of {lost[0]}"
        raise ValueError(f"{what}: leave {label!r} as it was ({joined}: simulate their members before you join them)")
    own = [records[str(mark)] for mark in marks.values.flat]
    for name in (f"{DRIVE}period", f"{DRIVE}speed"):
        given = np.broadcast_to(data[name].values if name in data.coords else np.nan, marks.shape).ravel()
        if np.any(np.abs(given - [record[name.removeprefix(DRIVE)] for record in own]) > 1e-6 * np.abs(given)):
            raise ValueError(
                f"its {name} is not that of its motions, which are those of another result: xarray keeps "
                f"the attributes of the first of results that it joins; give each {label} its own name"
            )
    return xr.DataArray(np.array(own, dtype=object).reshape(marks.shape), dims=marks.dims)


def recorded_motions(model: Model, records: Iterable[Any]) -> dict[str, np.ndarray]:
    """The numbers of motions from their records (see `recorded`), in their own units.

    Returns:
        By name, such as "drive.thigh.a", each with a leading axis over the records.

    Raises:
        ValueError: for records of another version.
    """
    return _numbers([restored(model, {"drive": record}) for record in records])


def _numbers(models: Sequence[Any]) -> dict[str, np.ndarray]:
    """All numbers of the motions of models by name, each with a leading axis over the models.

    The person's numbers are left out: they only serve to fit the model, which is done.
    """
    drive = dataclasses.replace(models[0].drive, person=None)
    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(drive)[0]]
    names = [".".join(str(getattr(key, "name", getattr(key, "idx", ""))) for key in path) for path in paths]
    return {n: np.array([drive_number(m, n) for m in models], float) for n in (DRIVE + name for name in names)}


def _alike(drives: Sequence[GaitDrive]) -> list[GaitDrive]:
    """The drives with the same number of harmonics, and with ground reactions only if all have them."""
    most = max(np.shape(s.a)[-1] for d in drives for s in _series(d))
    loaded = all(d.load is not None for d in drives)
    kept = [d if loaded else dataclasses.replace(d, load=None) for d in drives]
    return [jax.tree.map(lambda s: _padded(s, most), d, is_leaf=_is_series) for d in kept]


def _series(drive: GaitDrive) -> list[FourierSeries]:
    return [s for s in jax.tree.leaves(drive, is_leaf=_is_series) if _is_series(s)]


def _is_series(x: Any) -> bool:
    return isinstance(x, FourierSeries)


def _padded(leaf: Any, harmonics: int) -> Any:
    """A series padded with zeros for missing harmonics; numbers unchanged."""
    if not _is_series(leaf):
        return leaf
    longer = lambda c: np.pad(np.asarray(c, float), (0, harmonics - np.shape(c)[-1]))
    return FourierSeries(leaf.a0, longer(leaf.a), longer(leaf.b))
