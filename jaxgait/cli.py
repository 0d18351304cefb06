"""Simulates gait mechanics as ensembles, tunes them by gradients, and reproduces papers: thin functions over Python's.

Examples:
  jaxgait run knee --list                                    what a mechanism has: parameters, outputs, measures
  jaxgait run knee --set damper.k=2e4 --strides 5 --out run.nc
  jaxgait view run.nc --out walk.gif
  jaxgait scan bungee --over mass=40:100:61 stiffness=15:40:51 --store scan.zarr --dry-run
  jaxgait optimize knee --over damper.k=1.2e4:3e4 --maximize rho --json best.json
  jaxgait fit bungee --measured jump.csv --over stiffness=15:40 rope_length=24:34 --report out/fit
  jaxgait reproduce bungee
  jaxgait completion bash                                    so that the Tab key completes names

`jaxgait COMMAND --help` shows a command's options, which have the names of Python's arguments; `--version` says which
version this is. With `--json FILE` a command writes what it found as JSON, with `--json -` to the standard output.

Exit codes: 0, all is well; 1, the work was done and did not fully succeed (a run that did not reach its end, a scan of
which no member completed, a search without a result, a fit that is no minimum or leaves parameters open, a reproduction
with unmet figures); 2, bad input or usage, said in one line; 130, interrupted. Results computed by then are written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pathlib
import sys
import warnings
from typing import Annotated, Any, Literal

import tyro

from jaxgait import __version__, registry
from jaxgait.console import (
    BAD_INPUT,
    INTERRUPTED,
    NOT_ALL,
    STDOUT,
    followed,
    kept_for_json,
    note,
    once,
    say,
    usage,
    write_json,
)
from jaxgait.design_options import Further
from jaxgait.fit_command import Fit
from jaxgait.options import Found, Mechanism, Positional, Span, Steps

PROGRAM = "jaxgait"
ExperimentName = Annotated[str, tyro.conf.arg(metavar=f"{{{','.join(registry.experiments())},{registry.ALL}}}")]
OptimizeMethod = Literal["auto", "SLSQP", "L-BFGS-B", "trust-constr", "adam", "COBYQA", "Nelder-Mead", "CMA-ES"]
# What a command imports, it imports when it runs: `jaxgait --help` needs no JAX.


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(Found, Steps, Span, Mechanism):
    """Run one trajectory and save its labelled time histories as NetCDF.

    Example: `jaxgait run knee --set damper.k=2e4 damper.c=1000 --strides 5 --out run.nc`
    """

    out: pathlib.Path | None = None
    """NetCDF file to write."""
    list: bool = False
    """Only list what the model has: parameters, initial state, outputs and measures, with their units."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait import arguments as typed
        from jaxgait import commands

        typed.to_write(self.out, kinds=("nc",))
        typed.json_to_write(self.json)
        chosen = commands.mechanism(self)
        if self.list:
            return commands.shown(chosen, self.json)
        start = typed.state(chosen, self.initial)
        return commands.run(chosen, start, self.sampling | self.options, self.out, self.json)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scan(Found, Steps, Span, Mechanism):
    """Run the full grid of some parameters and save it; an existing store is continued where it stopped.

    Several motions are an axis too: `jaxgait scan knee --motion anna.json ben.json` runs the knee of either.

    Example: `jaxgait scan knee --over damper.k=1.4e4:3e4:17 --strides 20 --observe rho order --out scan.nc`
    """

    motion: tuple[str, ...] = ()
    """Measured motion, as for `jaxgait run`; several give the result the dimension `subject`."""
    each_stride: bool = False
    """Every kept stride of the one motion is a member of its own: dimension `stride`."""
    over: tuple[str, ...] = ()
    """Axes, as name=low:high:count or name=a,b,c: damper.k=1e4:4e4:31; initial.NAME=... for the initial state."""
    store: pathlib.Path | None = None
    """Zarr store, written block by block; the same command continues it."""
    out: pathlib.Path | None = None
    """NetCDF file to write at the end."""
    observe: tuple[str, ...] = ()
    """Measures by name, as `jaxgait run MODEL --list` shows them: rho,order. All that the sampling allows if none."""
    trajectories: bool = False
    """Keep whole time histories."""
    gradient: tuple[str, ...] = ()
    """Parameters by which the measures are differentiated, by name."""
    retry: bool = True
    """Run members whose computation failed again, more carefully."""
    batch: int | None = None
    """Members that run together; what pays off and fits in memory if not given."""
    workers: int | None = None
    """Batches at once; one for each core if not given."""
    devices: int = 1
    """Local devices that share every batch."""
    dry_run: bool = False
    """Only run a small sample, to tell members, memory, disk and the time that the scan would take."""
    cluster: str | None = None
    """Address of a Dask scheduler, tcp://host:port."""
    repair: bool = False
    """Run blocks of the store again whose files were damaged."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait import arguments as typed
        from jaxgait import commands

        typed.to_write(self.out, kinds=("nc",))
        typed.json_to_write(self.json)
        typed.apart(self.set, self.initial, self.over)
        chosen, walkers = commands.walkers(self)
        members = commands.members(chosen, typed.axes(self.over), typed.components(self.initial), walkers)
        kept = {"trajectories": self.trajectories, "observe": typed.names(self.observe)}
        kept |= {"gradient": typed.names(self.gradient), "retry": self.retry}
        where = {name: getattr(self, name) for name in ("store", "repair", "cluster", "batch", "workers", "devices")}
        return commands.scan(
            chosen, members, self.sampling, kept, self.options | where, self.out, self.json, self.dry_run
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Optimize(Further, Found, Steps, Span, Mechanism):
    """Tune parameters by gradient, so that a measure becomes largest or smallest, within limits.

    What is not given is what the model brings for such a search, if it brings one.

    Example: `jaxgait optimize knee --over damper.k=1.2e4:3e4 damper.c=400:2000 --maximize rho --json best.json`
    """

    model: Positional[Annotated[str | None, tyro.conf.arg(metavar=f"[{{{','.join(registry.models())}}}]")]] = None
    """Which mechanism; without it, the one that brings a search of its own."""
    over: tuple[str, ...] = ()
    """Bounds, as name=low:high."""
    maximize: str | None = None
    """Measure to make as large as possible, as `jaxgait run MODEL --list` shows them."""
    minimize: str | None = None
    """Measure to make as small as possible."""
    subject_to: tuple[str, ...] = ()
    """Limits that are met, as "measure>=value" or "measure<=value", in the measure's unit."""
    across: tuple[str, ...] = ()
    """Scenarios in which each design is judged, as name=a,b,c or name=low:high:count; limits hold in all of them."""
    robust: Literal["mean", "worst"] | None = None
    """What the objective is over the scenarios: their mean (unless said otherwise), or the worst of them."""
    method: OptimizeMethod = "auto"
    """SLSQP if auto; L-BFGS-B and trust-constr as well for smooth objectives, adam for noisy ones, COBYQA, Nelder-Mead
    and CMA-ES (needs the package cma) without gradient."""
    gradient: Literal["auto", "gait", "run", "differences"] = "auto"
    """Of the periodic gait, through the whole run, or by central differences; auto: of the gait if there is one."""
    starts: int = 4
    """Points to start from: the model's own values, then points spread over the box."""
    iterations: int = 25
    """Steps of the search at most."""
    checkpoint: pathlib.Path | None = None
    """File to which every evaluation is added; the same command continues from there."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait import arguments as typed
        from jaxgait import optimizing

        typed.json_to_write(self.json)
        typed.to_write(self.checkpoint)
        request = dataclasses.replace(self, model=self.model or optimizing.searched_model())
        search = optimizing.search(request, typed.box(self.over), self.sampling | self.options)
        effort = {"starts": self.starts, "iterations": self.iterations, "checkpoint": self.checkpoint}
        across = typed.axes(self.across, "--across") if self.across else None
        typed.apart(self.set, self.initial, self.across, "--across")
        wanted = {"subject_to": self.subject_to, "method": self.method, "gradient": self.gradient}
        wanted |= {"across": across, "robust": self.robust}
        return optimizing.optimized(search, wanted | effort, self.json, self)


@dataclasses.dataclass(frozen=True)
class Motion(Found):
    """Measure a walk from what a laboratory recorded, judge a stride, or list the embedded measured gaits.

    Recordings are C3D, TRC, MOT, STO, CSV or TXT, with markers or joint angles, with or without ground forces; several
    files are trials of one person, or one trial and its forces. A stride is a CSV with time_s, hip_x_m, hip_y_m,
    thigh_rad, knee_rad, ankle_rad and, if measured, ground_x_N, ground_y_N. What is written drives a model:
    `jaxgait run knee --motion walk.json`.

    Example: `jaxgait motion walk.c3d --leg right --static standing.c3d --out walk.json`
    """

    files: Positional[tuple[str, ...]] = ()
    """Recordings, a stride, a walk that was written before, or an embedded gait. Without them the latter are listed."""
    leg: Literal["right", "left"] = "right"
    """Which leg is measured."""
    static: pathlib.Path | None = None
    """Standing trial, which calibrates the knee and lets a cluster on the shank carry knee and ankle."""
    markers: pathlib.Path | None = None
    """Marker map of your own, TOML: lines such as knee_lateral = "{S}KNE", with {S} for R or L."""
    hip: Literal["harrington", "bell"] = "harrington"
    """Regression of the hip joint centre."""
    cutoff: float = 8.0
    """Cut-off in Hz of the zero-lag low-pass; 0 for none."""
    gap: float = 0.2
    """Longest gap of a marker in s that is filled."""
    mass: float | None = None
    """Mass of the person in kg, if the file does not say it."""
    speed: float | None = None
    """Walking speed in m/s, if the file does not say it."""
    harmonics: int | None = None
    """Harmonics of the Fourier series; by default as many as are worth it."""
    out: pathlib.Path | None = None
    """File to write: .json (the drive, and beside it a page and a picture), .html, or a picture (PNG, PDF)."""

    def __call__(self) -> None:
        """Shows it."""
        from jaxgait import arguments as typed
        from jaxgait import motion_commands

        typed.json_to_write(self.json)
        if not self.files:
            print("\n".join(motion_commands.gaits()))
            write_json(self.json, motion_commands.gait_records())
        else:
            motion_commands.shown(self)


@dataclasses.dataclass(frozen=True)
class Reproduce(Found):
    """Regenerate a paper's figures: pictures, data, report.md and figures.json.

    Example: `jaxgait reproduce bungee --out out/bungee`
    """

    name: Positional[ExperimentName]
    """Which experiment."""
    out: pathlib.Path | None = None
    """Folder for the results, out/NAME if not given; for all of them the folder that holds theirs, out."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait import arguments as typed
        from jaxgait import commands

        typed.json_to_write(self.json)
        out = pathlib.Path("out")
        if self.name == registry.ALL:
            return commands.reproduce_all(self.out or out, self.json)
        found = {self.name: registry.experiment(self.name)}
        return commands.reproduce(found, {self.name: self.out or out / self.name}, self.json)


@dataclasses.dataclass(frozen=True)
class Bench(Found):
    """Measure speed against stock diffrax, SciPy and hand-written C++, side by side.

    Example: `jaxgait bench --quick --json bench.json`
    """

    page: pathlib.Path | None = None
    """Markdown page of the results; a picture is put beside it."""
    quick: bool = False
    """Small sizes: a minute instead of half an hour."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait import arguments as typed

        typed.json_to_write(self.json)
        typed.to_write(self.page)
        file = None if self.json == STDOUT else self.json  # which is written part by part
        found = registry.experiment_module("benchmarks", "bench").bench(file, quick=self.quick, page_path=self.page)
        if file is None:
            write_json(self.json, found)
        return 0


@dataclasses.dataclass(frozen=True)
class Completion:
    """Print what a shell needs to complete the names of commands and options.

    For bash put `source <(jaxgait completion bash)` into ~/.bashrc; for zsh write `jaxgait completion zsh` to a file
    _jaxgait in a folder of $fpath; for fish write `jaxgait completion fish` to
    ~/.config/fish/completions/jaxgait.fish.
    """

    shell: Positional[Literal["bash", "zsh", "fish"]]
    """Which shell."""

    def __call__(self) -> int:
        """Prints it."""
        try:
            tyro.cli(Command, prog=PROGRAM, args=["--tyro-print-completion", self.shell], description=__doc__)
        except SystemExit as printed:
            return int(printed.code or 0)
        return 0


@dataclasses.dataclass(frozen=True)
class View:
    """Show a saved result: its variables, how its trajectories ended, a page to explore, a picture or a film.

    A scan becomes a page (SCAN.html beside it): map and parallel coordinates of its members, motions of chosen ones
    that play, and for each the lines that reproduce it. A run is drawn over time, as a film of the mechanism, or as a
    page. Pictures of a scan are maps or curves of measures, without the members that did not complete.
    """

    file: Positional[pathlib.Path]
    """NetCDF file or Zarr store, also while it is being written."""
    variables: tuple[str, ...] = ()
    """Variables to draw; the first few if none. On the page of a scan, the measure that colours it."""
    out: pathlib.Path | None = None
    """Page (HTML), picture (PNG, PDF, SVG) or film (GIF, MP4) to write."""
    members: int | None = None
    """Members of a scan whose motion plays in its page (32); motions that were not kept are simulated."""
    serve: bool = False
    """Serve the page on this machine instead of writing it: any member that is clicked is simulated then."""

    def __call__(self) -> int:
        """Shows it."""
        from jaxgait import commands

        return commands.view(self.file, self.variables, self.out, self.members, self.serve)


Command = (
    Annotated[Run, tyro.conf.subcommand("run")]
    | Annotated[Scan, tyro.conf.subcommand("scan")]
    | Annotated[Optimize, tyro.conf.subcommand("optimize")]
    | Annotated[Fit, tyro.conf.subcommand("fit")]
    | Annotated[Motion, tyro.conf.subcommand("motion")]
    | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
    | Annotated[Bench, tyro.conf.subcommand("bench")]
    | Annotated[View, tyro.conf.subcommand("view")]
    | Annotated[Completion, tyro.conf.subcommand("completion")]
)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `jaxgait` command; see the module for its exit codes."""
    given = sys.argv[1:] if arguments is None else arguments
    for fault in registry.faults():
        say(fault)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(message)
        code = _exit_code(given)
    if code:
        sys.exit(code)


def _exit_code(arguments: list[str]) -> int:
    """Runs a command; an error that a user can mend is one line on stderr, without a traceback.

    With the environment variable `JAXGAIT_TRACEBACK` set, errors keep their traceback: to find a fault of ours.
    """
    try:
        once(arguments)
        if arguments == ["--version"]:
            print(f"jaxgait {__version__}")
            return 0
        command = _read(arguments)
        with followed(), kept_for_json(getattr(command, "json", None)):
            if not isinstance(command, Completion):
                note("loading JAX, a few seconds")
            code = command() or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as interruption:
        say(interruption if interruption.args else "interrupted")
        return INTERRUPTED
    except Exception as error:
        code = _code_of(error)
        if code is None or os.environ.get("JAXGAIT_TRACEBACK"):
            raise
        say(error)
        return code


def _read(arguments: list[str]) -> Any:
    """The command that is typed.

    Raises:
        ValueError: if it is none, saying in one line why.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(Command, prog=PROGRAM, args=arguments, description=__doc__)
    except SystemExit as stop:
        if not stop.code:  # --help
            raise
    raise ValueError(usage(said.getvalue()))


def _code_of(error: Exception) -> int | None:
    """The exit code for an error that is not a fault of ours; None for one that is."""
    from jaxgait.ensembles.store import StoreError
    from jaxgait.outcome import NoResult

    if isinstance(error, ValueError | OSError | ModuleNotFoundError | MemoryError | StoreError):
        return BAD_INPUT
    return NOT_ALL if isinstance(error, NoResult) else None


if __name__ == "__main__":
    main()
