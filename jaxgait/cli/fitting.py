"""`jaxgait fit`: reads a measured curve, fits parameters to it, prints and writes the result."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgait import files
from jaxgait.calibration import CurveTable, Fit, Profile, as_dataset, fit, profile, read_curve
from jaxgait.calibration.describe import describe, describe_profile
from jaxgait.calibration.measured import measured_curve
from jaxgait.cli import fit_page, parsing
from jaxgait.cli.console import DONE, NOT_ALL, note, write_json
from jaxgait.cli.records import origin
from jaxgait.cli.running import fixed_start, mechanism
from jaxgait.model import Model
from jaxgait.motion import MotionFormatError
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.naming import motion_drive
from jaxgait.parameters import ParameterError, parameters
from jaxgait.run import Sampling

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
    model = mechanism(request)
    read, box = source(request.measured, model, request.output), parsing.box(model, request.over)
    if not box:
        raise ParameterError(f"nothing to fit: give --over name=low:high with some of {', '.join(parameters(model))}")
    run, noise, start = _span(request, model, read), _noise(request.noise, read), fixed_start(request, model, box)
    print("\n".join(_data_lines(read, request.noise, run)), flush=True)
    note(f"fitting {', '.join(box)} of {type(model).__name__} to {len(read.curve.values)} points")
    wanted = {"starts": request.starts, "iterations": request.iterations, "gradient": request.gradient}
    found = fit(model, read.curve, over=box, output=read.output, noise=noise, initial=start, **wanted, **run)
    best = " ".join(f"{name}={value:.10g}" for name, value in found.best.items())
    print("\n".join([*describe(found), f"  as parameters: --set {best}"]), flush=True)
    profiles: list[Profile] = []
    try:
        for name in box if request.profile else ():
            profiles.append(profile(found, name))
            print(f"  {describe_profile(profiles[-1])}", flush=True)
    finally:  # after an interruption, writes what is finished
        _write(request, found, read, profiles)
    return DONE if found.determined else NOT_ALL


def _write(request: Any, found: Fit, read: CurveTable, profiles: Sequence[Profile]) -> None:
    if request.out is not None:
        data = as_dataset(found, profiles).assign_attrs(output=read.output, measured=read.file)
        files.netcdf(request.out, data)
        print(f"wrote {request.out}")
    write_json(request.json, _record(found, read, profiles) if request.json else None)
    if request.report is not None:
        print(f"wrote {fit_page.write(request.report, found, read, request.noise, profiles)}")


def source(text: str | None, model: Model, output: str | None) -> CurveTable:
    """The measured curve: a table, or the knee curve of a drive; `output`, by default its column, is what was measured.

    Raises:
        FileNotFoundError: if there is no such file or gait.
        ValueError: if it cannot be used.
    """
    if text is None:
        raise ValueError("no data: give --measured FILE, a CSV file with a header such as 'time (s),height (m)'")
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


def _span(request: Any, model: Model, read: CurveTable) -> dict[str, Any]:
    """Length and options of the runs, which by default end with the data and must not end before them."""
    span = dict(request.sampling)
    if read.curve.axis == "phase" and model.period is None:
        advice = "give times from the start of the run: 'time (s)'"
        what = f"phases of a stride, but {type(model).__name__} has no strides"
        raise MotionFormatError(what, advice, read.file, column=read.columns[0])
    if read.curve.axis == "time":
        if span["strides"] is None and span["duration"] is None:
            span["duration"] = float(read.curve.at[-1])
        read.check_end(float(np.asarray(Sampling.of(model, **span).times(model))[-1]))
    return {name: value for name, value in (span | request.options).items() if value is not None}


def _noise(stated: float | None, read: CurveTable) -> Any:
    """Standard deviations in the unit of the curve, from the file or the command; None: estimate them."""
    if stated is not None and read.noise is not None:
        raise ValueError(f"--noise and the column {read.columns[2]!r} of {read.file} both give the noise: use one")
    return read.noise if stated is None else stated


def _data_lines(read: CurveTable, stated: float | None, run: Mapping[str, Any]) -> Iterator[str]:
    """How the data were understood."""
    yield f"{read.file}: {fit_page.curve_summary(read)}; noise: {fit_page.noise_source(read, stated)}"
    if read.unused:
        yield f"  not used: {', '.join(read.unused)}"
    if "duration" in run:
        yield f"  runs of {run['duration']:.10g} s, compared at the times of the data"


def _record(found: Fit, read: CurveTable, profiles: Sequence[Profile]) -> dict[str, Any]:
    about = {"model": type(found.model).__name__, "output": read.output, "measured": read.file, "unused": read.unused}
    intervals = {name: found.interval(name) for name in found.best}
    curves = found.as_dict()["curve"] | {"before": found.before()}
    space = found.problem.space
    box = {n: (float(a), float(b)) for n, a, b in zip(space.names, space.low, space.high, strict=True)}
    return {
        **about,
        **found.as_dict(),
        "interval": intervals,
        "curve": curves,
        "profile": dict(map(_profile, profiles)),
        **origin(found.model, box),
    }


def _profile(found: Profile) -> tuple[str, dict[str, Any]]:
    points = {"value": found.curve["value"].values, "rise": found.curve.rise.values}
    facts = ("interval", "laplace", "level", "threshold", "why", "better")
    return found.parameter, {name: getattr(found, name) for name in facts} | points
