"""The command line: thin functions over the Python API. `jaxgait --help` lists them.

Exit codes: 0, all is well; 1, the work was done and did not fully succeed (a run that did not reach its end, a scan of
which no member completed, a search without a result, a reproduction with unmet figures); 2, bad input or usage, said in
one line; 130, interrupted. Results computed by then are written.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import sys
import warnings
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import jax
import numpy as np
import tyro
import xarray as xr

from jaxgait import arguments as typed
from jaxgait import registry
from jaxgait.ensembles.store import StoreError
from jaxgait.measure import Measure, Measures, known
from jaxgait.outcome import COMPLETED_TEXT, NoResult, Outcome
from jaxgait.parameters import parameters, with_parameters
from jaxgait.precision import Precision
from jaxgait.run import Sampling, state_variables

Positional = tyro.conf.Positional
ModelName = Annotated[str, tyro.conf.arg(metavar=f"{{{','.join(registry.models())}}}")]
ExperimentName = Annotated[str, tyro.conf.arg(metavar=f"{{{','.join(registry.experiments())},all}}")]
NOT_ALL, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""Exit codes."""


@dataclasses.dataclass(frozen=True)
class Run:
    """Run one trajectory and save its labelled time histories as NetCDF."""

    model: Positional[ModelName]
    """Which mechanism."""
    set: tuple[str, ...] = ()
    """Parameters, as name=value: damper.k=2e4 damper.c=1000."""
    motion: str | None = None
    """Drive of the knee: a CSV stride or an embedded gait by name (`jaxgait motion` lists and checks them)."""
    strides: int | None = None
    """Strides to run (models with a period)."""
    duration: float | None = None
    """Seconds to run."""
    samples: int | None = None
    """Samples per stride (100) of a run counted in strides, or in all (1000)."""
    rtol: float | None = None
    """Relative tolerance."""
    out: pathlib.Path | None = None
    """NetCDF file to write."""
    precision: Precision = "float64"
    list: bool = False
    """Only list the model's parameters, variables and measures with their units."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.solve.simulate import simulate

        typed.to_write(self.out, kinds=("nc",))
        chosen = _model(self.model, self.set, self.motion)
        if self.list:
            print(listing(chosen))
            return 0
        data = simulate(
            chosen,
            strides=self.strides,
            duration=self.duration,
            samples=self.samples,
            rtol=self.rtol,
            precision=self.precision,
            progress=sys.stderr.isatty(),
        )
        print(data)
        _save(data, self.out)
        return 0 if data.attrs["status"] == Outcome.COMPLETED else NOT_ALL


@dataclasses.dataclass(frozen=True)
class Scan:
    """Run the full grid of some parameters and save it; an existing store is continued where it stopped."""

    model: Positional[ModelName]
    over: tuple[str, ...]
    """Axes, as name=low:high:count or name=a,b,c: damper.k=1e4:4e4:31."""
    store: pathlib.Path | None = None
    """Zarr store, written block by block; the same command continues it."""
    out: pathlib.Path | None = None
    """NetCDF file to write at the end."""
    set: tuple[str, ...] = ()
    """Fixed parameters, as name=value."""
    observe: tuple[str, ...] = ()
    """Measures by name, as `jaxgait run MODEL --list` shows them: rho,order. All that the sampling allows if none."""
    motion: str | None = None
    """Drive of the knee: a CSV stride or an embedded gait by name (`jaxgait motion` lists and checks them)."""
    strides: int | None = None
    """Strides to run (models with a period)."""
    duration: float | None = None
    """Seconds to run."""
    samples: int | None = None
    """Samples per stride (100) of runs counted in strides, or in all (1000)."""
    rtol: float | None = None
    """Relative tolerance."""
    trajectories: bool = False
    """Keep whole time histories."""
    cluster: str | None = None
    """Address of a Dask scheduler, tcp://host:port."""
    repair: bool = False
    """Run blocks of the store again whose files were damaged."""
    precision: Precision = "float64"

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.ensembles import ensemble, summary

        typed.to_write(self.out, kinds=("nc",))
        typed.apart(self.set, self.over)
        chosen = _model(self.model, self.set, self.motion)
        members = typed.axes(self.over)
        sampling: dict[str, Any] = {"strides": self.strides, "duration": self.duration, "samples": self.samples}
        observe = typed.names(self.observe) or _possible_measures(chosen, sampling, self.trajectories)
        options: dict[str, Any] = {"rtol": self.rtol, "precision": self.precision, "trajectories": self.trajectories}
        options |= {"store": self.store, "cluster": self.cluster, "repair": self.repair}
        data = ensemble(chosen, members, observe=observe, **sampling, **options)
        ended = summary(data)
        for outcome, count in ended.items():
            print(f"{count:8d}  {outcome}")
        print(data)
        _save(data, self.out)
        return 0 if COMPLETED_TEXT in ended else NOT_ALL


@dataclasses.dataclass(frozen=True)
class Optimize:
    """Tune parameters of the knee by gradient, to maximise its correlation with the measured knee."""

    model: Positional[Literal["knee"]] = "knee"
    over: tuple[str, ...] = ("damper.k=5e3:4e4", "damper.c=100:3e3")
    """Bounds, as name=low:high."""
    set: tuple[str, ...] = ()
    """Fixed parameters, as name=value."""
    motion: str | None = None
    """Drive of the knee: a CSV stride or an embedded gait by name (`jaxgait motion` lists and checks them)."""
    strides: int = 12
    starts: int = 4
    iterations: int = 25
    json: pathlib.Path | None = None
    """File for start, best, objective, history, why_stopped."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.optimization import optimize

        typed.to_write(self.json)
        typed.apart(self.set, self.over)
        # A touch-down layer of 0.1 mm instead of 1 micrometre: tangents need steps that resolve it.
        chosen = _model(self.model, self.set, self.motion, {"ground.steepness": 1e4})
        found = optimize(
            chosen,
            maximize="rho",
            over=typed.box(self.over),
            strides=self.strides,
            starts=self.starts,
            iterations=self.iterations,
            rtol=1e-5,
        )
        print(f"best objective {found.objective:.6f} at " + ", ".join(f"{k}={v:.6g}" for k, v in found.best.items()))
        for i, why in enumerate(found.why_stopped):
            print(f"  start {i}: {why}")
        if self.json is not None:
            found.to_json(self.json)
            print(f"wrote {self.json}")
        return 0


@dataclasses.dataclass(frozen=True)
class Motion:
    """List the embedded measured gaits, or judge a stride: its figures, what is wrong, and whether it makes a drive."""

    file: Positional[str | None] = None
    """CSV with time_s, hip_x_m, hip_y_m, thigh_rad, knee_rad, ankle_rad and, if measured, ground_x_N, ground_y_N; or
    an embedded gait. Without it the embedded gaits are listed."""
    speed: float | None = None
    """Walking speed in m/s, if the file does not say it."""
    out: pathlib.Path | None = None
    """Picture to write (PNG, PDF): every signal with its fit, beside measured walking."""

    def __call__(self) -> None:
        """Shows it."""
        if self.file is None:
            _list_gaits()
            return
        from jaxgait.motion.drive import named_stride
        from jaxgait.motion.verdict import describe, judge
        from jaxgait.plot.motion import stride
        from jaxgait.plot.style import kinds, save

        typed.to_write(self.out, kinds=kinds())
        verdict = judge(named_stride(self.file, speed=self.speed))
        print(describe(verdict))
        if self.out is not None:
            print(f"wrote {save(stride(verdict), self.out)}")
        if not verdict.usable:
            raise verdict.error()
        print("\n".join(_heights(verdict)))


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Regenerate a paper's figures: pictures, data, report.md and figures.json."""

    name: Positional[ExperimentName]
    out: pathlib.Path = pathlib.Path("out")
    """Folder for the results; each experiment writes into a folder of its own name."""

    def __call__(self) -> int:
        """Runs it."""
        chosen = registry.experiments() if self.name == "all" else (self.name,)
        found = {name: registry.experiment(name) for name in chosen}
        folders = {name: self.out / name if self.name == "all" else self.out for name in chosen}
        for folder in folders.values():
            typed.folder_to_write(folder)
            typed.to_write(folder / "report.md")
        unmet = 0
        for name, folder in folders.items():
            report = found[name].reproduce(folder, progress=True)
            print(f"{name}: {report.counts()}; see {folder / 'report.md'}")
            unmet += len(report.unmet)
            if report.unmet:
                _say(f"{name}: unmet: {'; '.join(figure.what for figure in report.unmet)}")
        return NOT_ALL if unmet else 0


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure speed against stock diffrax, SciPy and hand-written C++, side by side."""

    json: pathlib.Path | None = None
    """File for the rows and targets."""
    page: pathlib.Path | None = None
    """Markdown page of the results; a picture is put beside it."""
    quick: bool = False
    """Small sizes: a minute instead of half an hour."""

    def __call__(self) -> int:
        """Runs it."""
        for path in (self.json, self.page):
            typed.to_write(path)
        registry.experiment_module("benchmarks", "bench").bench(self.json, quick=self.quick, page_path=self.page)
        return 0


@dataclasses.dataclass(frozen=True)
class View:
    """Show a saved result: its variables, how its trajectories ended, and a picture.

    A run is drawn over time. A scan, which has no time, is drawn over its one or two parameters: measures as curves or
    maps, without the members that did not complete.
    """

    file: Positional[pathlib.Path]
    """NetCDF file or Zarr store."""
    variables: tuple[str, ...] = ()
    """Variables to draw; the first few if none."""
    out: pathlib.Path | None = None
    """Picture to write (PNG, PDF, SVG); without it only the text is shown."""

    def __call__(self) -> int:
        """Shows it."""
        from jaxgait.plot.histories import picture
        from jaxgait.plot.style import kinds, save

        typed.to_write(self.out, kinds=kinds())
        data = saved(self.file)
        for outcome, count in _outcomes(data).items():
            print(f"{count:8d}  {outcome}")
        print(data)
        if self.out is not None:
            save(picture(data, typed.names(self.variables)), self.out)
            print(f"wrote {self.out}")
        elif self.variables:
            raise ValueError("--variables are drawn: give --out, the picture to write")
        return 0


Command = (
    Annotated[Run, tyro.conf.subcommand("run")]
    | Annotated[Scan, tyro.conf.subcommand("scan")]
    | Annotated[Optimize, tyro.conf.subcommand("optimize")]
    | Annotated[Motion, tyro.conf.subcommand("motion")]
    | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
    | Annotated[Bench, tyro.conf.subcommand("bench")]
    | Annotated[View, tyro.conf.subcommand("view")]
)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `jaxgait` command; see the module for its exit codes."""
    given = sys.argv[1:] if arguments is None else arguments
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _say(message)
        code = _exit_code(given)
    if code:
        sys.exit(code)


def _exit_code(arguments: list[str]) -> int:
    """Runs a command; an error that a user can mend is one line on stderr, without a traceback.

    With the environment variable `JAXGAIT_TRACEBACK` set, errors keep their traceback: to find a fault of ours.
    """
    try:
        typed.once(arguments)
        command = tyro.cli(Command, prog="jaxgait", args=arguments, description=__doc__)
        code = command() or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError, ModuleNotFoundError, MemoryError, StoreError) as error:
        if os.environ.get("JAXGAIT_TRACEBACK"):
            raise
        _say(error)
        return BAD_INPUT
    except NoResult as error:
        _say(error)
        return NOT_ALL
    except KeyboardInterrupt as interruption:
        _say(interruption if interruption.args else "interrupted")
        return INTERRUPTED


def _say(message: object) -> None:
    """One line on stderr."""
    print(f"jaxgait: {' '.join(str(message).split())}", file=sys.stderr)


def listing(chosen: Any) -> str:
    """The parameters of a model, its states and outputs, and its measures, one a line, with units."""
    rows = [f"{n:28} {_short(p.value):>24} {p.unit:10} {p.doc}" for n, p in parameters(chosen).items()]
    states = state_variables(jax.eval_shape(chosen.initial_state))
    rows += ["", "states and outputs:"]
    for name, variable in chosen.variables.items():
        rows.append(f"{name:53} {variable.unit:10} {variable.long_name}{' (state)' if name in states else ''}")
    rows += ["", "measures:"] if (brought := known(chosen)) else []
    rows += [f"{m.name:53} {m.unit:10} {m.long_name}{_needs(m)}" for m in brought.values()]
    return "\n".join(rows)


def _short(value: Any) -> str:
    return str(value) if np.ndim(value) == 0 else np.array2string(np.asarray(value), precision=4, max_line_width=10**6)


def _needs(measure: Measure) -> str:
    """What a measure needs of a run, in brackets."""
    least = "1 stride" if measure.strides == 1 else f"{measure.strides} strides"
    strides = f"{least} or more" if measure.strides else ""
    samples = f"{measure.samples_per_stride} samples per stride" if measure.samples_per_stride else ""
    needs = ", ".join(need for need in (strides, samples) if need)
    return f" (needs {needs})" if needs else ""


def saved(path: pathlib.Path) -> xr.Dataset:
    """A result from its file.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: for a file of another kind.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        return xr.open_zarr(path) if path.is_dir() else xr.open_dataset(path, engine="h5netcdf")
    except Exception as error:  # what these readers raise for a file of another kind is not theirs to choose
        kind = "Zarr store" if path.is_dir() else "NetCDF-4 file"
        raise ValueError(f"{path} is no result that can be shown: it is no readable {kind} ({error})") from error


def _outcomes(data: xr.Dataset) -> dict[str, int]:
    """How the trajectories of a result ended; of other files nothing is known."""
    from jaxgait.ensembles import summary

    return summary(data) if "status" in data and "status_legend" in data.attrs else {}


def _save(data: xr.Dataset, out: pathlib.Path | None) -> None:
    if out is not None:
        data.to_netcdf(out, engine="h5netcdf")
        print(f"wrote {out}")


def _possible_measures(chosen: Any, request: dict[str, Any], trajectories: bool) -> Measures | None:
    """All measures of a model that a run sampled as requested allows; says which it leaves out, and why."""
    sampling = Sampling.of(chosen, **request)
    brought = tuple(known(chosen).values())
    possible = Measures(brought).possible(sampling).members
    taken = {*chosen.variables} if trajectories else set()
    kept = tuple(m for m in possible if m.name not in taken)
    for measure in brought:
        if measure not in possible:
            _say(f"left out: {measure.name}{_needs(measure)}; runs are of {sampling}")
        elif measure not in kept:
            _say(f"left out: {measure.name}, whose name the trajectories use")
    return Measures(kept) if kept else None


def _model(
    name: str, texts: tuple[str, ...], motion: str | None = None, defaults: Mapping[str, float] | None = None
) -> Any:
    chosen = registry.model(name) if motion is None else _driven(registry.model(name), motion)
    return with_parameters(chosen, {**(defaults or {}), **typed.settings(chosen, texts)})


def _list_gaits() -> None:
    from jaxgait.motion.drive import REFERENCE_GAITS, gait_record

    for name in REFERENCE_GAITS:
        record = gait_record(name)
        print(f"{name:26} T = {record['period_T_s']:.3f} s, {record['speed_m_s']:.3f} m/s; {record['subject']}")
        print(f"{'':26} {record['licence']}; {record['citation']}")
    print("Any of them drives the knee: `jaxgait run knee --motion NAME` sets the hip's height to suit the leg.")


def _heights(verdict: Any) -> list[str]:
    """Where the prosthesis' hip goes with this stride, for every parameter set."""
    from jaxgait.models.prosthesis.model import parameter_set, with_drive
    from jaxgait.models.prosthesis.parts import SETS
    from jaxgait.motion.drive import verdict_drive

    drive = verdict_drive(verdict)
    offsets = {name: with_drive(parameter_set(name), drive).height_offset for name in SETS}
    listed = ", ".join(f"{name} {offset:.4f} m" for name, offset in offsets.items())
    return [f"height_offset that suits it (--motion sets it): {listed}"]


def _driven(chosen: Any, motion: str) -> Any:
    """The model driven by a stride that the user names, and a line that says so."""
    from jaxgait.models.prosthesis.model import with_drive
    from jaxgait.motion.drive import motion_drive

    driven = with_drive(chosen, motion_drive(motion))
    drive, height = driven.drive, driven.height_offset
    print(f"driven by {drive.name}: T = {drive.period:.4f} s, {drive.speed:.3f} m/s, height_offset = {height:.4f} m")
    return driven


if __name__ == "__main__":
    main()
