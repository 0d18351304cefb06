"""Runs, scans and measured walks for other programs: OpenSim's MOT and STO files, and CSV with units in its header.

export(simulate(Prosthesis(), strides=3), "gait.mot")   # joint angles and ground force, for OpenSim
export(measure_both([read_recording("walk.c3d")]), "walk.mot")
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxgait import registry
from jaxgait.ensembles.labels import decoded, status_codes, status_text, summary
from jaxgait.ensembles.members import VALUES
from jaxgait.ensembles.results import missing_histories, over_time, recorded_class, remade
from jaxgait.model import Model
from jaxgait.motion.capture.coordinates import AS_THE_RIGHT, SAGITTAL
from jaxgait.motion.capture.tables import stride_curves
from jaxgait.motion.capture.walk import Walk
from jaxgait.motion.drive import GaitDrive, synthetic_recording
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.readers.stated_units import is_length
from jaxgait.motion.recording import Recording
from jaxgait.motion.stride import Stride
from jaxgait.motion.writing import check_one_walk, recording_columns, storage_text, walk_recording, without_gaps
from jaxgait.support import files, xr
from jaxgait.support.checks import by_name, first_few, listed, shown, warn_user

ENDINGS = (".csv", ".mot", ".sto")
"""Endings of the files that `export` writes."""
_FORCE = re.compile(r"_v[xyz]$")
STRIDES_OF_A_DRIVE = 4
"""Strides written for a drive, which repeats one: readers find two or more of them between heel strikes."""


class Column(NamedTuple):
    """A time history."""

    values: np.ndarray
    unit: str


@by_name()
def export(result: Any, path: str | pathlib.Path, *, trial: int | None = None) -> None:
    """Writes a run or a measured walk as a table over time, in the format of the file's ending.

    - `.mot`: the motion under OpenSim's names, in degrees: `pelvis_tx`, `hip_flexion_r`, `knee_angle_r`, ..., and the
      ground force of a run. OpenSim shows it, and `jaxgait motion` reads it. The motion is that of the sagittal plane,
      and the leg the one that was measured (`hip_flexion_l`); if unknown, it is the right one, and the file says so.
    - `.sto`: for a walk, the same in radians; for a run, all outputs under their own names.
    - `.csv`: all outputs of a run, every kept stride of a walk over the gait cycle, or the members of a scan without
      time histories (see `members_csv`), with units in the header. A run and a scan have a second file with their
      provenance, `NAME.csv-metadata.json` (see `table_metadata`).

    OpenSim reads MOT and STO up to the first gap. For a walk, the longest stretch without gaps in angles is written;
    for a run, STO lacks the columns with gaps. In CSV gaps are empty cells.

    Args:
        result: a run (of `simulate`, or one member of an ensemble with trajectories); a scan, as CSV; a `Walk`, or both
            as the dict of `measure_both`; four strides of a drive, a stride or an embedded gait by
            name.
        path: a file whose name ends in one of `ENDINGS`; an old one is replaced when the new one is complete.
        trial: which one of a walk of several, counted from 0, for MOT and STO; CSV has the strides of all trials.

    Raises:
        OSError: if it cannot be written.
        ValueError: for another ending, several runs over time, a run without a sample, two walks of one leg, walks of
            different trials, and a trial that does not exist, does not apply, or is missing for a walk of several; as
            MOT, for a run that lacks histories, or whose joints OpenSim does not name; as STO, for a run whose outputs
            all have gaps.
        MotionFormatError: for a walk without two successive frames of all angles, as MOT and STO.
        TypeError: for anything else.

    Warns:
        UserWarning: for frames with values, and columns, that are left out because of gaps.

    Examples:
        >>> from jaxgait import Bungee, export, simulate
        >>> export(simulate(Bungee(), duration=1.0, samples=2), "fall.csv")
        >>> print(open("fall.csv").readline().split(",")[:3])
        ['time (s)', 'x (m)', 'v (m/s)']
        >>> export("rajagopal_1.26ms", "gait.mot")
        >>> print(open("gait.mot").read().splitlines()[4])
        inDegrees=yes
    """
    path = files.local(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"cannot write {path}: the name of a table must end in {listed(ENDINGS)}")
    walks = _walks(result)
    if trial is not None and (ending == ".csv" or not walks):
        raise ValueError(f"trial={shown(trial)} selects a trial of a walk for .mot and .sto: leave it out")
    if ending == ".csv" and walks:
        check_one_walk(walks)
        text = strides_csv(walks)
    elif ending == ".csv" and _is_scan(result):
        text = members_csv(result)
    elif ending != ".mot" and isinstance(result, xr.Dataset):
        time, columns = run_columns(result)
        text = _csv(time, columns) if ending == ".csv" else _plain_storage(path.stem, time, columns)
    else:
        recording = walk_recording(walks, trial) if walks else _recording(result)
        recording = recording if ending == ".csv" else without_gaps(recording)
        time, found = recording_columns(recording, degrees=ending != ".sto")
        if ending == ".csv":
            unit = lambda k: "deg" if k in recording.angles and not is_length(k) else "N" if _FORCE.search(k) else "m"
            text = _csv(time, {k: Column(x, unit(k)) for k, x in found.items()})
        else:
            notes = () if isinstance(result, Recording) else recording.notes  # those of a file are about that file
            text = storage_text(recording.name, time, found, degrees=ending == ".mot", notes=notes)
    files.text(path, text)
    if ending == ".csv" and isinstance(result, xr.Dataset) and path.is_file():  # not into a pipe
        files.text(metadata_path(path), files.as_json(table_metadata(result, path.name)))


def metadata_path(table: pathlib.Path) -> pathlib.Path:
    """Where the provenance of a CSV table is: next to it, under the name that the W3C's CSV on the Web expects.

    Examples:
        >>> import pathlib
        >>> from jaxgait.exporting import metadata_path
        >>> metadata_path(pathlib.Path("members.csv")).name
        'members.csv-metadata.json'
    """
    return table.with_name(f"{table.name}-metadata.json")


def table_metadata(result: xr.Dataset, name: str) -> dict[str, Any]:
    """What a CSV table cannot hold of a result, as metadata of the W3C's CSV on the Web; `name` is that of the table.

    Returns:
        `@context`, `url`, and `notes` with a dict of the attributes: model, the parameters that all rows share, scheme,
        tolerances, versions and, for a sample, how it was drawn (`sampled`).

    Examples:
        >>> from jaxgait import Bungee, simulate
        >>> from jaxgait.exporting import table_metadata
        >>> found = table_metadata(simulate(Bungee(), duration=1.0, samples=2), "fall.csv")
        >>> found["url"], found["notes"][0]["model"]
        ('fall.csv', 'Bungee')
    """
    notes, rows = decoded(result.attrs), {*result["status"].dims} if "status" in result else set()
    for label in (label for label in notes.get(VALUES, ()) if label in result.coords):
        own = label.removesuffix("_values")
        notes["parameters"].pop(own, None)  # the model's, which not all members have
        if not rows & {*result[label].dims}:  # selected members share it
            notes["parameters"][own] = result[label].values.tolist()
    return {"@context": "http://www.w3.org/ns/csvw", "url": name, "notes": [notes]}


def check_exportable(model: Any, path: pathlib.Path | None) -> None:
    """Checks before a run that the runs of a model can be written to a file.

    Raises:
        ValueError: for a MOT file of a mechanism whose joints OpenSim does not name.

    Examples:
        >>> import pathlib
        >>> from jaxgait import Bungee
        >>> from jaxgait.exporting import check_exportable
        >>> check_exportable(Bungee(), pathlib.Path("jump.mot"))
        Traceback (most recent call last):
        ValueError: OpenSim has no names for the joints of Bungee: write .sto or .csv, or define `recording` of the ...
    """
    if path is not None and path.suffix.lower() == ".mot" and not model.recording:
        raise _unnamed(type(model).__name__)


def _unnamed(name: str) -> ValueError:
    advice = "write .sto or .csv, or define `recording` of the model"
    return ValueError(f"OpenSim has no names for the joints of {name}: {advice}")


def strides_csv(walks: Any) -> str:
    """The kept strides of walks over percent of the gait cycle as CSV, with the units in the header.

    Examples:
        >>> from jaxgait.exporting import strides_csv
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> print(strides_csv([measure([synthetic_recording(reference_gait())])]).split(",")[:3])
        ['stride', 'percent (%)', 'hip_x (m)']
    """
    curves = stride_curves(*walks)
    units = {name: x.attrs.get("units") for name, x in curves.variables.items()}
    labels = {name: f"{name} ({unit})" for name, unit in units.items() if unit}
    return curves.to_dataframe().reset_index().rename(columns=labels).to_csv(index=False)


def run_columns(run: xr.Dataset) -> tuple[np.ndarray, dict[str, Column]]:
    """Times in s of a run until its end, and every output at them; elements of arrays are named as `points_heel_x`.

    Raises:
        ValueError: for anything but one run over time, and for one without a single value.

    Examples:
        >>> from jaxgait import Bungee, simulate
        >>> from jaxgait.exporting import run_columns
        >>> time, columns = run_columns(simulate(Bungee(), duration=1.0, samples=4))
        >>> print(time, columns["height"].unit)
        [0.   0.25 0.5  0.75 1.  ] m
    """
    run = over_time(run)
    if "time" not in run.dims or ("status" in run and run["status"].ndim):
        what = "a table over time is of one run: give a result of simulate, or one member of an ensemble with "
        raise ValueError(f"{what}trajectories (data.isel(member=0)); a scan without histories is a table as .csv")
    columns = {}
    for name, found in run.data_vars.items():
        if "time" in found.dims and found.dtype.kind in "fiub":
            columns |= dict(_elements(str(name), found.transpose("time", ...)))
    floats = [c.values for c in columns.values() if c.values.dtype.kind == "f"]
    known = np.isfinite(np.stack(floats)).any(axis=0) if floats else np.ones(run.sizes["time"], bool)
    if not known.any():
        raise ValueError(f"the run has no value at any time{_ended(run)}: there is nothing to write")
    last = np.flatnonzero(known)[-1] + 1
    return run["time"].values[:last], {k: Column(c.values[:last], c.unit) for k, c in columns.items()}


def _ended(run: xr.Dataset) -> str:
    """How a run ended, in brackets; empty if it does not say."""
    return "".join(f" ({text})" for text in (summary(run) if "status_legend" in run.attrs else ()))


def _is_scan(result: Any) -> bool:
    return isinstance(result, xr.Dataset) and "status" in result and result["status"].ndim > 0


def members_csv(scan: xr.Dataset) -> str:
    """The members of a scan as the rows of a CSV table: what they were given, how they ended, and their results.

    Units are in the header, values that are not known are empty cells, and elements of arrays have a column each.

    Raises:
        ValueError: for a scan without members, and for one with time histories or times of events.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.exporting import members_csv
        >>> columns = {"status": ("mass", [0, 0]), "reach": ("mass", [2.0, 2.5], {"units": "m"})}
        >>> print(members_csv(xr.Dataset(columns, {"mass": ("mass", [60.0, 80.0], {"units": "kg"})})).strip())
        mass (kg),status,status_text,reach (m)
        60.0,0,completed,2.0
        80.0,0,completed,2.5
    """
    dims = [str(dim) for dim in scan["status"].dims]
    if not scan["status"].size:
        raise ValueError(f"nothing to write: the scan over {', '.join(dims)} has no members")
    if long := [str(name) for name, x in scan.data_vars.items() if {"time", "instant", "event"} & {*x.dims}]:
        what = f"a table of members has one row for each, and this scan has time histories ({first_few(long)})"
        raise ValueError(f"{what}: write .nc, leave them out, or export one member, data.isel({dims[0]}=0)")
    columns: dict[str, Any] = {}
    shared = json.loads(scan.attrs.get(VALUES, "[]"))  # those of selected members have no dimension
    given = {dim: scan[dim] for dim in dims}
    given |= {str(n): x for n, x in scan.coords.items() if n in shared or {*x.dims} & {*dims}}
    for name, x in {**given, **{str(n): x for n, x in scan.data_vars.items()}}.items():
        whole = x.broadcast_like(scan["status"]).transpose(*dims, ...)
        rows = whole.values.reshape(scan["status"].size, -1)
        for label, values in zip(_labels(name, whole, len(dims)), rows.T, strict=True):
            unit = str(x.attrs.get("units", ""))
            columns[f"{label} ({unit})" if unit not in ("", "1") else label] = values
        if name == "status":
            legend = json.loads(scan.attrs.get("status_legend", "{}"))
            columns["status_text"] = [status_text(code, legend) for code in status_codes(rows[:, 0]).tolist()]
    return xr.Dataset({label: ("member", x) for label, x in columns.items()}).to_dataframe().to_csv(index=False)


def _labels(name: str, found: xr.DataArray, first: int) -> list[str]:
    """Names of the elements of an array, by the labels of its dimensions from the `first` one."""
    dims = found.dims[first:]
    labels = [found[dim].values.tolist() if dim in found.coords else range(found.sizes[dim]) for dim in dims]
    return ["_".join([name, *map(str, parts)]) for parts in itertools.product(*labels)]


def _elements(name: str, found: xr.DataArray) -> Iterator[tuple[str, Column]]:
    """The time histories in an array over (time, ...), named by the labels of its other dimensions."""
    flat = found.values.reshape(found.sizes["time"], -1)
    for i, label in enumerate(_labels(name, found, 1)):
        yield label, Column(flat[:, i], str(found.attrs.get("units", "")))


def _csv(time: np.ndarray, columns: Mapping[str, Column]) -> str:
    """A table with the units in its header, where there are any."""
    labels = ["time (s)", *(f"{k} ({c.unit})" if c.unit not in ("", "1") else k for k, c in columns.items())]
    rows = zip(time.tolist(), *(c.values.tolist() for c in columns.values()), strict=True)
    lines = (",".join("" if math.isnan(x) else repr(x) for x in row) for row in rows)
    return "\n".join([",".join(f'"{k}"' if "," in k else k for k in labels), *lines]) + "\n"


def _plain_storage(name: str, time: np.ndarray, columns: Mapping[str, Column]) -> str:
    """A STO file of the columns that have no gaps, because OpenSim stops reading at the first one."""
    gaps = [k for k, c in columns.items() if not np.isfinite(c.values).all()]
    if len(gaps) == len(columns):
        what = f"{name}.sto is not written: OpenSim reads no gaps, and every output has one ({first_few(gaps)})"
        raise ValueError(f"{what}: write .csv, which has them")
    if gaps:
        warn_user(f"left out of {name}.sto, because OpenSim reads no gaps: {first_few(gaps)}; .csv has them")
    whole = {k: c.values.astype(float) for k, c in columns.items() if k not in gaps}
    return storage_text(name, time, whole, degrees=False)


def _walks(result: Any) -> list[Walk]:
    """The walks in a result; none in anything else."""
    if isinstance(result, xr.Dataset):
        return []
    each = [*result.values()] if isinstance(result, Mapping) else [result]
    return each if each and all(isinstance(walk, Walk) for walk in each) else []


def _recording(result: Any) -> Recording:
    """The joint angles in a run, or of some strides of a drive."""
    if isinstance(result, xr.Dataset):
        return _run_recording(result)
    named = isinstance(result, str) and result in REFERENCE_GAITS
    if not (named or isinstance(result, GaitDrive | Stride | Recording)):
        advice = "give a run, a Walk or the dict of measure_both, a drive, a stride, or an embedded gait by name"
        raise TypeError(f"{shown(result)} cannot be written as a table over time: {advice}")
    if isinstance(result, Recording):
        return result
    drive = motion_drive(result)
    found = synthetic_recording(drive, STRIDES_OF_A_DRIVE * float(drive.period), 100.0)
    return dataclasses.replace(found, notes=(SAGITTAL,) if drive.side else (SAGITTAL, AS_THE_RIGHT))


def _run_recording(run: xr.Dataset) -> Recording:
    """The joint angles of a run until its end, by the function that its model names."""
    time, _ = run_columns(run)  # checks that it is one run with values
    if time.size < 2:
        raise ValueError(f"the run has values at one time only{_ended(run)}, and MOT needs two: write .csv or .sto")
    run = over_time(run).isel(time=slice(time.size))
    kind = recorded_class(run)
    if kind is None or not kind.recording:
        raise _unnamed(run.attrs.get("model", "this mechanism"))
    try:
        return registry.load(kind.recording)(run)
    except (AttributeError, KeyError) as error:
        if not (lacking := _lacking(kind, run, error)):
            raise
        what = f"joint angles need histories that the run {lacking}"
        raise ValueError(f"{what}; keep them (trajectories=True), or write .csv or .sto") from error


def _lacking(kind: type[Model], run: xr.Dataset, error: Exception) -> str:
    """The histories that a run lacks, as the end of a sentence; empty if it has all."""
    try:
        missing = missing_histories(remade(kind, run), run)
    except ValueError:  # of a model with functions, which no result records
        return f"may lack ({str(error.args[0]).partition('. ')[0]})"
    return f"lacks: {first_few(missing, 3)}" if missing else ""
