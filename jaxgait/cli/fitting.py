"""`jaxgait fit`: reads measured curves, fits parameters to them, prints and writes the result."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgait.calibration import CurveTable, Fit, Profile, Trial, as_dataset, fit, profile, read_curve
from jaxgait.calibration.measured import measured_curve
from jaxgait.cli import fit_page, parsing
from jaxgait.cli.console import DONE, NOT_ALL, note, write_json
from jaxgait.cli.fit_page import Known
from jaxgait.cli.records import how_run, origin
from jaxgait.cli.running import fixed_start, mechanisms
from jaxgait.ensembles.addresses import parted
from jaxgait.ensembles.labels import described_value
from jaxgait.model import Model
from jaxgait.motion import MotionFormatError
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.text import distinct
from jaxgait.parameters import ParameterError, parameters
from jaxgait.run import Sampling
from jaxgait.support import checks, files

TABLES = (".csv", ".txt", ".tsv", ".dat")
"""Extensions of tables of a curve; any other file is a drive, whose knee curve is fitted."""


def run_fit(request: Any) -> int:
    """Runs a `jaxgait.cli.commands.Fit`; the exit code is 1 if the data leave a direction open, or without a minimum.

    Raises:
        ValueError: for impossible requests.
        jaxgait.outcome.NoResult: if no run of any start completed.
    """
    parsing.check_output(request.out, kinds=("nc",))
    if request.report is not None:
        parsing.make_folder(request.report)
    model, *others = models = _models(request)
    curves, box = _curves(request, models), parsing.box(model, request.over)
    if not box:
        raise ParameterError(f"nothing to fit: give --over name=low:high with some of {', '.join(parameters(model))}")
    start = fixed_start(request, model, box)
    _check_given(request, box)
    run = _span(request, models, curves)
    trials = [
        Trial(one.read.curve, output=one.read.output, noise=one.noise, given=one.given, name=name, model=own)
        for (name, one), own in zip(curves.items(), models if others else [None] * len(curves), strict=True)
    ]
    print("\n".join(_data_lines(curves, run)), flush=True)
    points = sum(len(one.read.curve.values) for one in curves.values())
    note(f"fitting {', '.join(box)} of {type(model).__name__} to {points} points")
    names = ("starts", "iterations", "gradient", "loss", "f_scale")
    wanted = {name: getattr(request, name) for name in names}
    found = fit(model, trials, over=box, initial=start, **wanted, **run)
    print(found, f"  as parameters: {_options(found)}", sep="\n", flush=True)
    profiles: list[Profile] = []
    try:
        for name in box if request.profile else ():
            profiles.append(profile(found, name))
            print(f"  {profiles[-1]}", flush=True)
    finally:  # after an interruption, writes what is finished
        _write(request, found, curves, profiles, how_run(model, run))
    return DONE if found.determined else NOT_ALL


def _options(found: Fit) -> str:
    """The fitted parameters as options of a run; for a single curve, with its known values."""
    given = next(iter(found.trials.values())).given if len(found.trials) == 1 else {}
    known, start = parted(found.model, given)
    written = lambda values: " ".join(f"{name}={value:.10g}" for name, value in values.items())
    return f"--set {written(found.best | known)}" + (f" --initial {written(start)}" if start else "")


def _write(request: Any, found: Fit, curves: Mapping[str, Known], profiles: Sequence[Profile], how: str) -> None:
    if request.out is not None:
        named = {"output": fit_page.outputs(curves), "measured": ", ".join(one.read.file for one in curves.values())}
        files.netcdf(request.out, as_dataset(found, profiles).assign_attrs(named))
        print(f"wrote {request.out}")
    write_json(request.json, _record(found, curves, profiles) if request.json else None)
    if request.report is not None:
        print(f"wrote {fit_page.write(request.report, found, curves, profiles, how)}")


def _models(request: Any) -> list[Model]:
    """The mechanism of all curves or, with several motions, of each."""
    motions, count = request.motion, len(request.measured)
    if len(motions) > 1 and len(motions) != count:
        curves = checks.count_of(count, "curve", "curves")
        raise ValueError(f"--motion has {len(motions)} motions for {curves}: give one for all curves, or one for each")
    return mechanisms(request)


def _curves(request: Any, models: Sequence[Model]) -> dict[str, Known]:
    """The measured curves by name, with what is known of each."""
    texts = request.measured
    if not texts:
        raise ValueError("no data: give --measured FILE, a CSV file with a header such as 'time (s),height (m)'")
    own = models if len(models) > 1 else [*models] * len(texts)
    reads = [source(text, model, request.output) for text, model in zip(texts, own, strict=True)]
    known = parsing.given(models[0], request.given, len(texts))
    names = distinct([text if text in REFERENCE_GAITS else pathlib.Path(text).stem for text in texts])
    units = {name: described_value(models[0], name).get("units", "1") for name in known[0]}
    return {
        name: Known(read, request.noise, _noise(request.noise, read), values, units)
        for name, read, values in zip(names, reads, known, strict=True)
    }


def _check_given(request: Any, box: Mapping[str, Any]) -> None:
    """Checks that what is known of each curve is neither given for all of them nor fitted."""
    parsing.check_not_fixed(request.set, request.initial, request.given, "--given")
    if both := sorted({text.partition("=")[0] for text in request.given} & {*box}):
        raise ParameterError(f"{both[0]} is given to --given and to --over: it is known or fitted")


def source(text: str, model: Model, output: str | None) -> CurveTable:
    """The measured curve: a table, or the knee curve of a drive; `output`, by default its column, is what was measured.

    Raises:
        FileNotFoundError: if there is no such file or gait.
        ValueError: if it cannot be used.
    """
    path = pathlib.Path(text)
    if path.suffix.lower() in TABLES and text not in REFERENCE_GAITS:
        if not path.exists():
            raise FileNotFoundError(f"{text}: no such file; --measured expects a table of the measured curve (CSV)")
        return read_curve(path, model, output)
    curve, output = measured_curve(motion_drive(text)), output or "knee_angle"
    if output not in model.variables:
        raise ValueError(f"{text} contains a knee curve, but {type(model).__name__} has no output {output!r}")
    columns = ("phase (1)", f"{output} ({curve.unit})")
    return CurveTable(curve, output, None, text, np.arange(len(curve.at)), columns, ())


def _span(request: Any, models: Sequence[Model], curves: Mapping[str, Known]) -> dict[str, Any]:
    """Length and options of the runs, which by default end with the data and must not end before them."""
    model, reads = models[0], [one.read for one in curves.values()]
    span, ends = dict(request.sampling), [float(read.curve.at[-1]) for read in reads if read.curve.axis == "time"]
    for read in reads:
        if read.curve.axis == "phase" and model.period is None:
            advice = "give times from the start of the run: 'time (s)'"
            what = f"phases of a stride, but {type(model).__name__} has no strides"
            raise MotionFormatError(what, advice, read.file, column=read.columns[0])
    if ends and span["strides"] is None and span["duration"] is None:
        span["duration"] = max(ends)
    for read, own in zip(reads, models if len(models) > 1 else [model] * len(reads), strict=True):
        if read.curve.axis == "time":
            read.check_end(float(np.asarray(Sampling.of(own, **span).times(own))[-1]))
    return {name: value for name, value in (span | request.options).items() if value is not None}


def _noise(stated: float | None, read: CurveTable) -> Any:
    """Standard deviations in the unit of the curve, from the file or the command; None: estimate them."""
    if stated is not None and read.noise is not None:
        raise ValueError(f"--noise and the column {read.columns[2]!r} of {read.file} both give the noise: use one")
    return read.noise if stated is None else stated


def _data_lines(curves: Mapping[str, Known], run: Mapping[str, Any]) -> Iterator[str]:
    """How the data were interpreted."""
    for one in curves.values():
        yield fit_page.curve_line(one)
        if one.read.unused:
            yield f"  not used: {', '.join(one.read.unused)}"
    if "duration" in run:
        yield f"  runs of {run['duration']:.10g} s, compared at the times of the data"


def _record(found: Fit, curves: Mapping[str, Known], profiles: Sequence[Profile]) -> dict[str, Any]:
    """The result for JSON; one curve and its file are part of it, several are in `trials`."""
    record, before = found.as_dict(), found.before()
    origin_of = lambda read: {"output": read.output, "measured": read.file, "unused": read.unused}
    origins = {name: origin_of(one.read) for name, one in curves.items()}
    if len(curves) == 1:
        (about,), record["curve"] = origins.values(), record["curve"] | {"before": before}
    else:
        about, parts = {}, {name: {"before": before[one.points]} for name, one in found.trials.items()}
        record["trials"] = {
            name: one | origins[name] | {"curve": one["curve"] | parts[name]} for name, one in record["trials"].items()
        }
    return {
        "model": type(found.model).__name__,
        **about,
        **record,
        "interval": {name: found.interval(name) if found.minimum else (np.nan, np.nan) for name in found.best},
        "profile": dict(map(_profile, profiles)),
        **_origin(found),
    }


def _origin(found: Fit) -> dict[str, Any]:
    """The provenance of the fit, with the parameters of the runs of its curves."""
    models = [one.model for one in found.trials.values()]
    rows = [{name: p.value for name, p in parameters(model).items()} for model in models]
    each = {name: [row[name] for row in rows] for name in rows[0]}
    differing = {name: x for name, x in each.items() if not all(np.array_equal(x[0], other) for other in x)}
    return origin(models[0], found.problem.space.bounds, differing)


def _profile(found: Profile) -> tuple[str, dict[str, Any]]:
    points = {"value": found.curve["value"].values, "rise": found.curve.rise.values}
    facts = ("interval", "laplace", "level", "threshold", "why", "better")
    return found.parameter, {name: getattr(found, name) for name in facts} | points
