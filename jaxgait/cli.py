"""The command line: thin functions over the Python API. `jaxgait --help` lists them."""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
import sys
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from jaxgait.ensemble.store import StoreError
from jaxgait.models.catalogue import model
from jaxgait.models.parameters import ParameterError, parameter_info, parameters, with_parameters
from jaxgait.precision import Precision

ModelName = Literal["bungee", "creeper", "exoskeleton", "jumper", "knee", "walker"]
Experiment = Literal["knee", "knee-gaits", "walker", "exoskeleton", "creeper", "jumper", "bungee", "all"]
EXPERIMENTS = ("knee", "knee-gaits", "walker", "exoskeleton", "creeper", "jumper", "bungee")
Positional = tyro.conf.Positional


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
    out: pathlib.Path | None = None
    """NetCDF file to write."""
    precision: Precision = "float64"
    list: bool = False
    """Only list the model's parameters with their units."""

    def __call__(self) -> None:
        """Runs it."""
        from jaxgait.solve.simulate import simulate

        chosen = _model(self.model, self.set, self.motion)
        if self.list:
            for name, info in parameters(chosen).items():
                print(f"{name:28} {info.value!s:>24} {info.unit:10} {info.doc}")
            return
        data = simulate(
            chosen,
            strides=self.strides,
            duration=self.duration,
            precision=self.precision,
            progress=sys.stderr.isatty(),
        )
        print(data)
        if self.out is not None:
            _writable(self.out)
            data.to_netcdf(self.out, engine="h5netcdf")
            print(f"wrote {self.out}")


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
    motion: str | None = None
    """Drive of the knee: a CSV stride or an embedded gait by name (`jaxgait motion` lists and checks them)."""
    strides: int | None = None
    duration: float | None = None
    trajectories: bool = False
    """Keep whole time histories."""
    cluster: str | None = None
    """Address of a Dask scheduler, tcp://host:port."""
    repair: bool = False
    """Run blocks of the store again whose files were damaged."""
    precision: Precision = "float64"

    def __call__(self) -> None:
        """Runs it."""
        from jaxgait.ensemble import ensemble, summary

        chosen = _model(self.model, self.set, self.motion)
        members = dict(_axis(text) for text in self.over)
        options: dict[str, Any] = {"strides": self.strides, "duration": self.duration, "precision": self.precision}
        options |= {"trajectories": self.trajectories, "observe": _observe(self.model, self.strides)}
        options |= {"store": self.store, "cluster": self.cluster, "repair": self.repair}
        data = ensemble(chosen, members, **options)
        for outcome, count in summary(data).items():
            print(f"{count:8d}  {outcome}")
        print(data)
        if self.out is not None:
            _writable(self.out)
            data.to_netcdf(self.out, engine="h5netcdf")
            print(f"wrote {self.out}")


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

    def __call__(self) -> None:
        """Runs it."""
        from jaxgait.analysis.knee import correlation
        from jaxgait.optimize import optimize

        # A touch-down layer of 0.1 mm instead of 1 micrometre: tangents need steps that resolve it.
        chosen = _model(self.model, ("ground.steepness=1e4", *self.set), self.motion)
        box = {name: (values[0], values[-1]) for name, values in map(_axis, self.over)}
        found = optimize(
            chosen,
            maximize=correlation,
            over=box,
            strides=self.strides,
            starts=self.starts,
            iterations=self.iterations,
            rtol=1e-5,
        )
        print(f"best objective {found.objective:.6f} at " + ", ".join(f"{k}={v:.6g}" for k, v in found.best.items()))
        for i, why in enumerate(found.why_stopped):
            print(f"  start {i}: {why}")
        if self.json is not None:
            _writable(self.json)
            found.to_json(self.json)


@dataclasses.dataclass(frozen=True)
class Motion:
    """List the embedded measured gaits, or check a CSV stride and show what drive it makes."""

    file: Positional[pathlib.Path | None] = None
    """CSV with time_s, hip_x_m, hip_y_m, thigh_rad, knee_rad, ankle_rad; the embedded gaits are listed without it."""
    speed: float | None = None
    """Walking speed in m/s, if the file does not say it."""

    def __call__(self) -> None:
        """Shows it."""
        from jaxgait.motion.drive import REFERENCE_GAITS, gait_record, read_drive

        if self.file is None:
            for name in REFERENCE_GAITS:
                record = gait_record(name)
                print(f"{name:26} T = {record['period_T_s']:.3f} s, {record['speed_m_s']:.3f} m/s; {record['subject']}")
                print(f"{'':26} {record['licence']}; {record['citation']}")
            return
        drive: Any = read_drive(self.file, speed=self.speed)
        knee = np.degrees([float(drive.knee_angle(t)) for t in np.linspace(0, float(drive.period), 101)])
        print(f"{drive.name}: T = {float(drive.period):.4f} s, speed {float(drive.speed):.3f} m/s")
        print(f"knee {knee.min():.1f} to {knee.max():.1f} deg, hip height {float(drive.hip_y.a0):.3f} m on average")


@dataclasses.dataclass(frozen=True)
class Reproduce:
    """Regenerate a paper's figures: pictures, data, report.md and figures.json."""

    name: Positional[Experiment]
    out: pathlib.Path = pathlib.Path("out")
    """Folder for the results; each experiment writes into a folder of its own name."""

    def __call__(self) -> None:
        """Runs it."""
        for name in EXPERIMENTS if self.name == "all" else (self.name,):
            folder = self.out / name if self.name == "all" else self.out
            _writable(folder / "report.md")
            report = experiment(name).reproduce(folder, progress=True)
            print(f"{name}: {report.counts()}; see {folder / 'report.md'}")


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure speed against stock diffrax, SciPy and hand-written C++, side by side."""

    json: pathlib.Path | None = None
    """File for the rows and targets."""
    page: pathlib.Path | None = None
    """Markdown page of the results; a picture is put beside it."""
    quick: bool = False
    """Small sizes: a minute instead of half an hour."""

    def __call__(self) -> None:
        """Runs it."""
        for path in (self.json, self.page):
            if path is not None:
                _writable(path)
        experiment("benchmarks", "bench").bench(self.json, quick=self.quick, page_path=self.page)


@dataclasses.dataclass(frozen=True)
class View:
    """Show a saved result: its variables, how its trajectories ended, and a picture of its curves."""

    file: Positional[pathlib.Path]
    """NetCDF file or Zarr store."""
    variables: tuple[str, ...] = ()
    """Variables to draw against time."""
    out: pathlib.Path | None = None
    """Picture to write (PNG, PDF); without it only the text is shown."""

    def __call__(self) -> None:
        """Shows it."""
        import xarray as xr

        if not self.file.exists():
            raise FileNotFoundError(f"{self.file}: no such file")
        data = xr.open_zarr(self.file) if self.file.is_dir() else xr.open_dataset(self.file, engine="h5netcdf")
        print(data)
        if self.out is not None:
            from jaxgait.plot.histories import histories
            from jaxgait.plot.style import save

            _writable(self.out)
            save(histories(data, self.variables), self.out)
            print(f"wrote {self.out}")


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
    """Entry point of the `jaxgait` command: errors that a user can mend are one line, without a traceback."""
    command = tyro.cli(Command, prog="jaxgait", args=arguments, description=__doc__)
    try:
        command()
    except (ValueError, FileNotFoundError, PermissionError, ModuleNotFoundError, MemoryError, StoreError) as error:
        sys.exit(f"jaxgait: {error}")
    except KeyboardInterrupt as interruption:
        sys.exit(f"jaxgait: {interruption or 'interrupted'}")


def experiment(name: str, module: str = "reproduce") -> Any:
    """The module of an experiment: from the installed package, or from a checkout's `experiments` folder."""
    name = name.replace("-", "_")
    try:
        return importlib.import_module(f"jaxgait.experiments.{name}.{module}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("jaxgait.experiments"):
            raise
    return importlib.import_module(f"experiments.{name}.{module}")


def _model(name: str, settings: tuple[str, ...], motion: str | None = None) -> Any:
    chosen = model(name) if motion is None else _driven(model(name), motion)
    values = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals:
            raise ParameterError(f"--set wants name=value, got {text!r}")
        unit = parameter_info(chosen, key).unit
        values[key] = _number(value, f"{key} (in {unit})")
    return with_parameters(chosen, values)


def _driven(chosen: Any, motion: str) -> Any:
    """The model driven by a stride that the user names, and a line that says so."""
    from jaxgait.models.prosthesis import with_drive
    from jaxgait.motion.drive import motion_drive

    driven = with_drive(chosen, motion_drive(motion))
    drive, height = driven.drive, driven.height_offset
    print(f"driven by {drive.name}: T = {drive.period:.4f} s, {drive.speed:.3f} m/s, height_offset = {height:.4f} m")
    return driven


def _axis(text: str) -> tuple[str, np.ndarray]:
    name, equals, span = text.partition("=")
    if not equals or not span:
        raise ParameterError(f"--over wants name=low:high:count or name=a,b,c, got {text!r}")
    if ":" not in span:
        return name, np.array([_number(v, name) for v in span.split(",")])
    low, high, *count = span.split(":")
    return name, np.linspace(_number(low, name), _number(high, name), int(_number(count[0], name)) if count else 2)


def _number(text: str, label: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(f"{label}: {text!r} is not a number") from error


def _observe(name: str, strides: int | None) -> Any:
    """What a scan reads off each trajectory by default."""
    if name == "knee" and (strides is None or strides >= 9):
        from jaxgait.analysis.knee import measures

        return measures
    return None


def _writable(path: pathlib.Path) -> None:
    """Finds out before the work whether its result can be written.

    Raises:
        PermissionError: if not.
    """
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".{path.name}.probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise PermissionError(f"cannot write {path}: {error}") from error


if __name__ == "__main__":
    main()
