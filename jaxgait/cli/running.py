"""`jaxgait run`, `jaxgait scan` and `jaxgait join`, and the model that a command requests."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from jaxgait import registry
from jaxgait.cli import parsing
from jaxgait.cli.console import DONE, NOT_ALL, note, print_outcomes, say, write_json
from jaxgait.cli.listing import needs, run_lines, scan_lines
from jaxgait.cli.motion import check_takes_motion, driven
from jaxgait.cli.records import run_record, scan_record
from jaxgait.ensembles import (
    Members,
    ensemble,
    estimate,
    grid,
    joined,
    latin_hypercube,
    people,
    product,
    single_strides,
    sobol,
    summary,
)
from jaxgait.ensembles.members import constant
from jaxgait.ensembles.realism import unrealistic
from jaxgait.exporting import ENDINGS, check_exportable, export, metadata_path
from jaxgait.measure import Measures, known
from jaxgait.model import Model
from jaxgait.outcome import COMPLETED_TEXT, Outcome
from jaxgait.parameters import ParameterError, with_parameters
from jaxgait.run import Sampling
from jaxgait.support import checks, files


def mechanism(request: Any) -> Model:
    """The model that a command requests: with its preset, exchanged parts, motion and settings, in this order.

    Raises:
        ValueError: for unknown names, and for a name that is registered for something other than a model.
    """
    return _moved(request, request.motion, {})


def mechanisms(request: Any) -> list[Model]:
    """The models that a command requests, one for each of its motions, as in `mechanism`; one if it has none."""
    return [_moved(request, motion, {}) for motion in request.motion or (None,)]


def _moved(request: Any, motion: str | None, defaults: Mapping[str, Any]) -> Model:
    chosen = _preset(request)
    chosen = chosen if motion is None else driven(chosen, motion)
    return _set(chosen, request, defaults)


def _set(model: Model, request: Any, defaults: Mapping[str, Any]) -> Model:
    return parsing.with_settings(with_parameters(model, defaults), request.set)


def _preset(request: Any) -> Model:
    chosen = registry.model(request.model)
    if not isinstance(chosen, Model):
        raise ValueError(f"{request.model!r} is registered with jaxgait but not a model: {type(chosen).__qualname__}")
    chosen = chosen if request.preset is None else chosen.preset(request.preset)
    return parsing.exchanged(chosen, request.set)[0]  # before the motion: a leg is aligned with its parts


def walkers(request: Any, defaults: Mapping[str, Any] | None = None) -> tuple[Model, Members | None]:
    """The model that a command with any number of motions requests, and their members; None for at most one motion.

    Args:
        request: the command.
        defaults: values by dotted name, which its settings override.

    Raises:
        ValueError: for unknown names, and for `each_stride` without exactly one motion.
    """
    if request.each_stride and len(request.motion) != 1:
        raise ValueError(f"--each-stride takes exactly one --motion, got {len(request.motion)}")
    if len(request.motion) < 2 and not request.each_stride:
        return _moved(request, next(iter(request.motion), None), defaults or {}), None
    model, then = _preset(request), lambda leg: _set(leg, request, defaults or {})
    check_takes_motion(model)
    if request.each_stride:
        found = single_strides(model, request.motion[0], then=then)
        count = checks.count_of(found[1].size, "stride", "strides")
        print(f"driven by {count} of {request.motion[0]} (dimension stride)")
    else:
        found = people(model, request.motion, then=then)
        print(f"driven by {', '.join(found[1].labels['subject'][1])} (dimension subject)")
    return found


def check_not_of_motion(walking: Members | None, names: Iterable[str], option: str = "--over") -> None:
    """Checks that no name is varied that differs between the motions.

    Raises:
        ParameterError: naming the one that is.
    """
    both = sorted({*names} & {*(walking.values if walking is not None else ())})
    if both:
        raise ParameterError(f"{both[0]} cannot be given to {option}: it follows from each motion")


def fixed_start(request: Any, model: Model, box: Mapping[str, Any]) -> dict[str, Any]:
    """The given components of the initial state, for a search within a box.

    The first start of the search has the settings of parameters that `--over` searches, and the model's own values.

    Raises:
        ParameterError: for unknown components, components that are both given and searched, settings of parameters
            that the model's own search varies, and settings with which the first start is not within the box.
    """
    parsing.check_not_fixed((), request.initial, [f"{name}=" for name in box])
    asked = {text.partition("=")[0] for text in request.over}
    parsing.check_not_fixed(request.set, (), [f"{name}=" for name in box if name not in asked])
    if settings := [text for text in request.set if text.partition("=")[0] in box]:
        _check_first_start(model, box, settings)
    return parsing.components(model, request.initial)


def _check_first_start(model: Model, box: Mapping[str, Any], settings: Sequence[str]) -> None:
    """Checks that the model's own values, which have the given settings, are a start, and says so.

    Raises:
        ParameterError: for one that is outside the box or that the model rejects.
    """
    from jaxgait.optimization.space import Space, variable  # takes SciPy, which other commands do without

    first = {name: float(variable(model, name).value) for name in box}
    try:
        Space(model, box, starting=True).points(model, [first], 0)
    except ParameterError as error:
        what = "the first start has the values of --set, and the model's own ones for what is not set"
        raise ParameterError(f"--set {' '.join(settings)}: {error}; {what}") from error
    say(f"the first start: {', '.join(f'{name}={value:.6g}' for name, value in first.items())}")


def run(
    model: Model,
    start: Any,
    options: Mapping[str, Any],
    out: pathlib.Path | None,
    last: int | None = None,
    json: pathlib.Path | None = None,
) -> int:
    """Runs one trajectory, prints it and writes the requested files, of the last strides only if `last` is given."""
    from jaxgait.solve.simulate import simulate

    sampling = {name: options.get(name) for name in ("strides", "duration", "samples")}
    measures, left_out = possible_measures(model, sampling, trajectories=True)
    check_exportable(model, out)
    if last is not None:
        _check_last(last, model, Sampling.of(model, **sampling), out)
    note(f"running {type(model).__name__}: {Sampling.of(model, **sampling)}")
    data = simulate(model, initial_state=start, observe=measures, progress=sys.stderr.isatty(), **options)
    print("\n".join(run_lines(data, left_out)))
    for text in unrealistic(model, data):
        say(text)
    _save(data if last is None else last_strides(data, model, last), out)
    write_json(json, run_record(data) | {"file": out})
    return DONE if data.attrs["status"] == Outcome.COMPLETED else NOT_ALL


def _check_last(last: int, model: Model, sampling: Sampling, out: pathlib.Path | None) -> None:
    """Checks that a file of the last strides of a run is possible.

    Raises:
        ValueError: if it is not.
    """
    if out is None:
        raise ValueError("--last is the number of strides that --out writes: give --out FILE, or leave --last out")
    if sampling.strides is None:
        advice = "give --strides" if model.period is not None else f"{type(model).__name__} has none"
        raise ValueError(f"--last counts strides, and the run is not counted in them: {advice}")
    if checks.count("--last", last) > sampling.strides:
        raise ValueError(f"--last must be at most {sampling.strides}, the number of strides of the run, got {last}")


def last_strides(run: xr.Dataset, model: Model, strides: int) -> xr.Dataset:
    """The last strides of a run before its (perhaps early) end; the entire run if the model has no strides."""
    end, sample = float(run.attrs["t_end_s"]), float(run.time[1] - run.time[0])
    first = None if model.period is None else end - strides * float(model.period) - sample / 2
    return run.sel(time=slice(first, end + sample / 100))  # times are rounded


def sampled(model: Model, request: Any) -> tuple[Members | None, list[str]]:
    """The sample of a scan's ranges and distributions, if it requests one, and the text of its other axes.

    Raises:
        ParameterError: for impossible ranges and counts.
        ValueError: for two samples, and for options and ranges that belong to none.
    """
    kinds = {"--sobol": (sobol, request.sobol), "--latin-hypercube": (latin_hypercube, request.latin_hypercube)}
    chosen = [option for option, (_, samples) in kinds.items() if samples is not None]
    if len(chosen) > 1:
        raise ValueError(f"give {' or '.join(chosen)}, not both: the ranges of a scan form one box")
    if not chosen:
        if request.seed is not None:
            raise ValueError(f"--seed is that of a sample: give {' or '.join(kinds)}, or leave --seed out")
        if request.skip is not None:
            raise ValueError("--skip is that of a Sobol sample: give --sobol, or leave --skip out")
        return None, [*request.over]
    ranges = [text for text in request.over if parsing.is_sampled(text)]
    if not ranges:
        raise ValueError(f"{chosen[0]} samples ranges: give at least one as --over NAME=low:high")
    sample, samples = kinds[chosen[0]]
    checks.count(chosen[0], samples)
    more = {} if request.skip is None else {"skip": request.skip}
    if more and sample is not sobol:
        raise ValueError("--skip is that of a Sobol sample: points of a Latin hypercube do not continue others")
    found = sample(parsing.sampled(model, ranges), samples, seed=request.seed or 0, **more)
    return found, [text for text in request.over if text not in ranges]


def members(
    model: Model,
    axes: Mapping[str, np.ndarray],
    fixed: Mapping[str, Any],
    walking: Members | None = None,
    sample: Members | None = None,
) -> Members:
    """Every combination of a grid of axes (points,) in their units, a sample, and members with different motions.

    Raises:
        ParameterError: for unknown names, names given twice and impossible values.
        ValueError: if nothing varies.
    """
    check_not_of_motion(walking, [*axes, *(sample.values if sample is not None else ())])
    varied = varying(walking, axes, sample)
    if varied is None:
        raise ValueError("nothing varies in this scan: give --over NAME=low:high:count, or several --motion")
    return constant(varied, {f"initial.{name}": value for name, value in fixed.items()})


def varying(walking: Members | None, axes: Mapping[str, np.ndarray], sample: Members | None = None) -> Members | None:
    """Members that differ in their motion, each with every point of a sample and a grid of axes (points,); or None."""
    parts = [part for part in (walking, sample, grid(axes) if axes else None) if part is not None]
    return product(*parts) if parts else None


def check_table(out: pathlib.Path | None, trajectories: Sequence[str] | None) -> None:
    """Checks before a scan that its members can be the rows of a table, if that is asked for.

    Raises:
        ValueError: if time histories are to be kept.
    """
    if out is not None and out.suffix.lower() == ".csv" and trajectories is not None:
        raise ValueError(
            f"{out} has one row for each member, without time histories: leave out --trajectories, or write .nc"
        )


def scan(
    model: Model,
    chosen: Members,
    sampling: Mapping[str, Any],
    kept: Mapping[str, Any],
    options: Mapping[str, Any],
    out: pathlib.Path | None,
    json: pathlib.Path | None = None,
    dry_run: bool = False,
) -> int:
    """Runs many trajectories, prints how they ended and writes the files; `dry_run` only estimates the cost."""
    observe = kept["observe"]
    if not observe:
        observe, left_out = possible_measures(model, sampling, kept["trajectories"])
        for name, why in left_out.items():
            say(f"{name}: {why}")
        if not known(model) and not kept["trajectories"]:
            say(f"{type(model).__name__} has no measures: give --trajectories to keep time histories of the runs")
    request = {**sampling, **kept, "observe": observe, **options}
    if dry_run:
        note(f"running a sample of {chosen.size} trajectories of {type(model).__name__}")
        found = estimate(model, chosen, **request)
        print("\n".join(found.lines()))
        write_json(json, dataclasses.asdict(found))
        return DONE
    note(f"running {chosen.size} trajectories of {type(model).__name__}")
    data = ensemble(model, chosen, **request)
    ended = _print_members(data)
    for text in unrealistic(model, data):
        say(text)
    _save(data, out)
    write_json(json, scan_record(data) | {"store": request.get("store"), "file": out} if json else None)
    return DONE if COMPLETED_TEXT in ended else NOT_ALL


def _print_members(data: xr.Dataset) -> dict[str, int]:
    """Prints how the members of a scan ended, and their results; returns how many ended in each way."""
    ended = summary(data)
    print_outcomes(ended, data.attrs["precision"])
    for line in scan_lines(data):
        print(line)
    return ended


def join(
    results: Sequence[str], out: pathlib.Path, dim: str | None, any_version: bool, json: pathlib.Path | None = None
) -> int:
    """Joins results of scans, prints how their members ended and writes the files.

    Raises:
        ValueError: for what cannot be joined.
    """
    if not results:
        raise ValueError("nothing to join: give results, as in `jaxgait join part0.zarr part1.zarr --out scan.nc`")
    try:
        data = joined(results, dim, any_version=any_version)
    except TypeError as error:  # for a file that is not a scan's: a user's, not a programmer's mistake here
        raise ValueError(error) from error
    several = checks.count_of(len(results), "result", "results")
    print(f"{checks.count_of(data['status'].size, 'member', 'members')} of {several}")
    ended = _print_members(data)
    _save(data, out)
    write_json(json, scan_record(data) | {"file": out} if json else None)
    return DONE if COMPLETED_TEXT in ended else NOT_ALL


def possible_measures(
    model: Model, request: Mapping[str, Any], trajectories: bool | Sequence[str]
) -> tuple[Measures | None, dict[str, str]]:
    """All measures of a model that the requested sampling allows, and why the others are left out, by name."""
    sampling, brought = Sampling.of(model, **request), known(model)
    possible = Measures(tuple(brought.values())).possible(sampling).members
    left_out = {m.name: f"not measured{needs(m)}: there are {sampling}" for m in brought.values() if m not in possible}
    kept = model.variables if trajectories is True else trajectories or ()
    left_out |= {m.name: "not measured, an output has this name" for m in possible if m.name in kept}
    members = tuple(m for m in possible if m.name not in left_out)
    return (Measures(members) if members else None), left_out


def _save(data: xr.Dataset, out: pathlib.Path | None) -> None:
    if out is not None:
        if out.suffix.lower() in ENDINGS:
            with files.saved_elsewhere(out, data):
                export(data, out)
        else:
            files.netcdf(out, data)
        print(f"wrote {out}")
        if out.suffix.lower() == ".csv" and (about := metadata_path(out)).is_file():
            print(f"wrote {about}, its provenance")
