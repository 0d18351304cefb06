"""The commands with their options and help. They import their implementation on use: `--help` needs no JAX."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Annotated, Literal

import tyro

from jaxgait import registry
from jaxgait.cli.console import STDOUT, write_json
from jaxgait.cli.options import (
    IN_SECONDS,
    RUN,
    DrivenMechanism,
    FollowUpOptions,
    JsonOutput,
    Kilograms,
    Mechanism,
    MetresPerSecond,
    Millimetres,
    Positional,
    Span,
    Steps,
    check_unused,
    shown_plainly,
)

ExperimentName = Annotated[str, tyro.conf.arg(metavar=f"{{{','.join(registry.experiments())},{registry.ALL}}}")]
_MAYBE_A_MODEL = f"[{{{','.join(registry.models())}}}]"
OptimizeMethod = Literal["auto", "SLSQP", "L-BFGS-B", "adam", "COBYQA", "Nelder-Mead", "CMA-ES"]


@shown_plainly
@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(JsonOutput, Steps, Span, Mechanism):
    """Simulate one trajectory and save its labelled time histories: NetCDF, CSV, or OpenSim's MOT and STO.

    Example: `jaxgait run knee --set damper.k=2e4 damper.c=1000 --strides 5 --out run.nc`
    """

    out: pathlib.Path | None = None
    """File to write: .nc, .csv (units in its header), .sto (all outputs), or .mot (joint angles, for OpenSim)."""
    last: int | None = None
    """With --out: number of the last strides to write, without those in which the motion leaves its start."""
    list: bool = False
    """List parameters, parts, presets, initial state, outputs, measures, endings, schemes, solvers, without a run."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.cli import listing, parsing, running
        from jaxgait.exporting import ENDINGS

        parsing.check_output(self.out, kinds=("nc", *(ending[1:] for ending in ENDINGS)))
        chosen = running.mechanism(self)
        if self.list:
            check_unused(self, ("out", "last", "initial", *RUN), "--list shows the model, without a run")
            return listing.show(chosen, self.json)
        start = parsing.components(chosen, self.initial) or None
        return running.run(chosen, start, self.sampling | self.options, self.out, self.last, self.json)


@shown_plainly
@dataclasses.dataclass(frozen=True, kw_only=True)
class Scan(JsonOutput, Steps, Span, DrivenMechanism):
    """Simulate a grid or a sample of parameter values and save the results; resumes an interrupted store.

    Several motions also form an axis: `jaxgait scan knee --motion anna.json ben.json` drives the knee with each.

    Ranges of a sample may be normal(mean,sd), lognormal(mean,sd), truncnorm(mean,sd,low,high) or uniform(low,high).

    Example: `jaxgait scan knee --over damper.k=1.4e4:3e4:17 --strides 20 --observe rho order --out scan.nc`

    Example of a sample: `jaxgait scan knee --over damper.k=1.4e4:3e4 'damper.c=normal(1600,200)' --sobol 64`
    """

    over: tuple[str, ...] = ()
    """Axes name=[log:]low:high:count or name=a,b,c, also of initial.NAME; for a sample, name=[log:]low:high."""
    sobol: int | None = None
    """Number of Sobol points over all ranges and distributions; preferably a power of two."""
    latin_hypercube: int | None = None
    """Number of points of a Latin hypercube over all ranges and distributions."""
    seed: int | None = None
    """Seed of the random numbers for --sobol and --latin-hypercube; 0 by default."""
    skip: int | None = None
    """With --sobol: number of points to skip, those of an earlier scan; `jaxgait join` then joins both."""
    store: pathlib.Path | None = None
    """Zarr store, written block by block; run the same command again to resume."""
    out: pathlib.Path | None = None
    """File to write at the end: .nc, or .csv (a row for each member, with units in its header)."""
    observe: tuple[str, ...] = ()
    """Measures by name (see `jaxgait run MODEL --list`), such as rho,order; by default all that the sampling allows."""
    trajectories: tuple[str, ...] | None = None
    """Keep the time histories of all states and outputs, or of those that are named."""
    gradient: tuple[str, ...] = ()
    """Parameters with respect to which the measures are differentiated."""
    retry: bool = True
    """Leave failed members as they are, instead of running them again with tighter settings."""
    invalid: Literal["raise", "mark"] = "raise"
    """Whether members that the model rejects are an error, or marked by the status -2 while the others run."""
    batch: int | None = None
    """Members per batch; by default as many as pay off and fit in memory."""
    workers: int | None = None
    """Batches that run in parallel; by default one per core."""
    devices: int = 1
    """Number of local devices that share every batch."""
    dry_run: bool = False
    """Only run a small sample, to estimate the scan's memory, disk space and time."""
    cluster: str | None = None
    """Address of a Dask scheduler, tcp://host:port."""
    repair: bool = False
    """Rerun damaged blocks of the store."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.cli import parsing, running

        parsing.check_output(self.out, kinds=("nc", "csv"))
        running.check_table(self.out, self.trajectories)
        parsing.check_not_fixed(self.set, self.initial, self.over)
        chosen, walkers = running.walkers(self)
        start = parsing.components(chosen, self.initial)
        sample, over = running.sampled(chosen, self)
        members = running.members(chosen, parsing.axes(chosen, over), start, walkers, sample)
        histories = self.trajectories is not None and (parsing.names(self.trajectories) or True)
        kept = {"trajectories": histories, "observe": parsing.names(self.observe)}
        kept |= {"gradient": parsing.names(self.gradient), "retry": self.retry, "invalid": self.invalid}
        where = {name: getattr(self, name) for name in ("store", "repair", "cluster", "batch", "workers", "devices")}
        return running.scan(
            chosen, members, self.sampling, kept, self.options | where, self.out, self.json, self.dry_run
        )


@shown_plainly
@dataclasses.dataclass(frozen=True, kw_only=True)
class Join(JsonOutput):
    """Join results of scans of one model: the parts of a batch job, or a scan and its extension.

    They must agree in everything but their members: model, fixed parameters, sampling, tolerances, results.

    Example: `jaxgait join part0.zarr part1.zarr --out scan.nc`
    """

    results: Positional[tuple[str, ...]] = ()
    """NetCDF files and stores; no member may be in two of them."""
    out: pathlib.Path
    """File to write: .nc, or .csv (a row for each member, with units in its header)."""
    dim: str | None = None
    """Dimension along which they are joined; by default the one along which their labels differ."""
    any_version: bool = False
    """Also join results of several versions of jaxgait and JAX; the whole then lacks the attributes that differ."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.cli import parsing, running

        parsing.check_output(self.out, kinds=("nc", "csv"))
        return running.join(self.results, self.out, self.dim, self.any_version, self.json)


@shown_plainly
@dataclasses.dataclass(frozen=True, kw_only=True)
class Optimize(JsonOutput, Steps, Span, DrivenMechanism, FollowUpOptions):
    """Optimise parameters with gradients to maximise or minimise a measure, within limits.

    Options left out take the model's own search defaults, if it defines any. Several motions are scenarios of each
    design: `jaxgait optimize knee --motion anna.json ben.json --robust worst` finds one damper for both people.

    Example: `jaxgait optimize knee --over damper.k=1.2e4:3e4 damper.c=400:2000 --maximize rho --json best.json`
    """

    model: Positional[Annotated[str | None, tyro.conf.arg(metavar=_MAYBE_A_MODEL, help_behavior_hint="")]] = None
    """Which mechanism; the knee by default."""
    over: tuple[str, ...] = ()
    """Bounds, as name=low:high: damper.k=12:30kN/m; name=log:low:high searches in the logarithm."""
    maximize: str | None = None
    """Measure to maximise (see `jaxgait run MODEL --list`)."""
    minimize: str | None = None
    """Measure to minimise."""
    subject_to: tuple[str, ...] = ()
    """Limits, as "measure>=value" or "measure<=value", in the measure's unit or another: "clearance>=50cm"."""
    across: tuple[str, ...] = ()
    """Scenarios of each design, as name=a,b,c or name=low:high:count, each with every motion; limits apply to all."""
    robust: Literal["mean", "worst"] | None = None
    """The objective over the scenarios: their mean (the default), or the worst of them."""
    method: OptimizeMethod = "auto"
    """With gradients: SLSQP (auto), L-BFGS-B, adam (for noise). Without: COBYQA, Nelder-Mead, CMA-ES."""
    gradient: Literal["auto", "gait", "run", "differences"] = "auto"
    """Gradient of the periodic gait, of the whole run, or central differences; auto: of the gait if there is one."""
    return_map: str | None = None
    """Judge the periodic gait from one event to the next, such as "heel strike"; `period`: of a model with a period."""
    stability: float = 1.0
    """A gait counts as failed if its largest Floquet multiplier has this magnitude or more."""
    starts: int = 4
    """Number of starting points: the model's own values, or those of --set, then others spread over the bounds."""
    iterations: int = 30
    """Search steps per start; a search that stops on a slope restarts there, for up to three times as many more."""
    checkpoint: pathlib.Path | None = None
    """File that records every evaluation; run the same command again to resume."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.cli import optimizing, parsing

        parsing.check_output(self.checkpoint)
        request = dataclasses.replace(self, model=self.model or optimizing.searched_model())
        search = optimizing.search(request, self.sampling | self.options)
        effort = {name: getattr(self, name) for name in ("starts", "iterations", "stability", "checkpoint")}
        wanted = {"subject_to": self.subject_to, "method": self.method, "gradient": self.gradient}
        wanted |= {"robust": self.robust}
        return optimizing.run_search(search, wanted | effort, self.json, self)


@shown_plainly
@dataclasses.dataclass(frozen=True, kw_only=True)
class Fit(JsonOutput, Steps, Span, Mechanism):
    """Fit parameters to measured curves by least squares, with their uncertainty and undetermined directions.

    A curve is a CSV file whose header names the columns with their units: times as "time (s)" or "time (ms)", or
    phases as "stride (%)" or "phase (1)"; values, under the name of a model output, as "height (m)"; optional
    standard deviations as "sd (m)". Compatible units are converted; units are never assumed.

    Several curves share the fitted parameters; --given (or one --motion for each) states what is known of
    each: `jaxgait fit bungee --measured anna.csv ben.csv --given mass=62,84kg --over stiffness=15:40`.

    The exit code is 1 if the fit is not a minimum, or if the curves do not determine all directions.

    Example: `jaxgait fit bungee --measured jump.csv --over stiffness=15:40 rope_length=24:34 --report out/fit`
    """

    measured: tuple[str, ...] = ()
    """The measured curves: CSV files; for a knee also walks (JSON) or embedded gaits (see `jaxgait motion`)."""
    given: tuple[str, ...] = ()
    """Known values for each curve, in the order of the curves: mass=62,84kg, also initial.NAME=0,1."""
    motion: tuple[str, ...] = ()
    """Measured motion, as for `jaxgait run`: one for all curves, or one for each."""
    over: tuple[str, ...] = ()
    """Bounds, as name=low:high: damper.k=12:30kN/m; name=log:low:high searches in the logarithm."""
    output: str | None = None
    """Output that was measured (see `jaxgait run MODEL --list`); by default the name of each file's column."""
    noise: float | None = None
    """Standard deviation of the values in their unit, if not in the files; by default estimated from the residual."""
    loss: Literal["linear", "soft_l1", "huber", "cauchy"] = "linear"
    """What is minimised: squares (linear), or a robust loss, which outliers pull less and which needs the noise."""
    f_scale: float = 1.0
    """Residual above which a robust loss grows more slowly than its square, in standard deviations of the noise."""
    gradient: Literal["auto", "gait", "run", "differences"] = "auto"
    """Gradient of the periodic gait, of the whole run, or differences; auto: of the gait for data over the stride."""
    starts: int = 4
    """Number of starting points: the model's own values, or those of --set, then others spread over the bounds."""
    iterations: int = 50
    """Maximum number of evaluations per start."""
    profile: bool = False
    """Also compute every parameter's profile likelihood: better intervals, at the cost of dozens of fits each."""
    report: pathlib.Path | None = None
    """Folder for a report: pictures (PNG, and PDF for print), and a page (report.html) that contains them all."""
    out: pathlib.Path | None = None
    """NetCDF file to write: curves, parameters, errors, profiles, with units."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.cli import fitting

        return fitting.run_fit(self)


@shown_plainly
@dataclasses.dataclass(frozen=True)
class Motion(JsonOutput):
    """Extract a walk from laboratory recordings, check a stride, or list the embedded measured gaits.

    Recordings are C3D, TRC, MOT, STO, CSV, TSV or TXT, with markers or joint angles, with or without ground forces;
    several files are trials of one person, or one trial and its forces. A stride is a CSV, TSV or TXT with the columns
    time_s, hip_x_m, hip_y_m, thigh_rad, knee_rad, ankle_rad and, if measured, ground_x_N, ground_y_N. The result drives
    a model, as in the second example.

    Examples: `jaxgait motion walk.c3d --leg right --static standing.c3d --out walk.json`,
    then `jaxgait run knee --motion walk.json`
    """

    files: Positional[tuple[str, ...]] = ()
    """Recordings, a stride, a saved walk, or an embedded gait. Without any, the embedded gaits are listed."""
    leg: Literal["right", "left", "both"] = "right"
    """Which leg to measure; with both, NAME_right and NAME_left are written, or one .nc or .csv."""
    static: pathlib.Path | None = None
    """Standing trial: calibrates the knee angle, and locates knee and ankle relative to a cluster on the shank."""
    standing_knee: Literal["auto", "keep", "zero"] = "auto"
    """Knee angle of the standing trial: removed up to 12 deg (auto), kept (for a stiff knee), or removed."""
    markers: pathlib.Path | None = None
    """Your own marker map, TOML: lines such as knee_lateral = "{S}KNE", with {S} for R or L."""
    hip: Literal["harrington", "bell"] = "harrington"
    """Regression for the hip joint centre."""
    cutoff: float = 8.0
    """Cut-off in Hz of the zero-lag low-pass filter; 0 for none."""
    gap: Annotated[float, IN_SECONDS] = 0.2
    """Longest marker gap to fill, in s."""
    mass: Kilograms = None
    """Body mass in kg; it replaces that of the file, or of the ground forces."""
    speed: MetresPerSecond = None
    """Walking speed in m/s, or as 4.5km/h; it replaces the file's or the measured one: every stride is scaled to it."""
    harmonics: int | None = None
    """Harmonics of the Fourier series; by default as many as the data support."""
    out: pathlib.Path | None = None
    """File: .json (drive, page, picture), .html, a picture (PNG, PDF), strides (.nc, .csv), trials (.mot, .sto)."""

    def __call__(self) -> None:
        """Runs it."""
        from jaxgait.cli import motion

        if not self.files:
            check_unused(self, motion.OF_MOTION, "without files the embedded gaits are listed")
            print("\n".join(motion.gaits()))
            write_json(self.json, motion.gait_records())
        else:
            motion.show(self)


@shown_plainly
@dataclasses.dataclass(frozen=True)
class Reproduce(JsonOutput):
    """Reproduce a paper's results: pictures, data, report.md and figures.json.

    Example: `jaxgait reproduce bungee --out out/bungee`
    """

    name: Positional[ExperimentName]
    """Which experiment."""
    out: pathlib.Path | None = None
    """Folder for the results, by default out/NAME; with `all`, the parent of these folders, by default out."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.cli import reproducing

        out = pathlib.Path("out")
        if self.name == registry.ALL:
            return reproducing.reproduce_all(self.out or out, self.json)
        found = {self.name: reproducing.experiment_or_all(self.name)}
        return reproducing.reproduce(found, {self.name: self.out or out / self.name}, self.json)


@shown_plainly
@dataclasses.dataclass(frozen=True)
class Bench(JsonOutput):
    """Measure speed against stock diffrax, SciPy and hand-written C++, side by side; needs a checkout.

    Example: `jaxgait bench --quick --json bench.json`
    """

    page: pathlib.Path | None = None
    """Markdown page of the results, with a picture next to it."""
    quick: bool = False
    """Small sizes: a minute instead of half an hour."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.cli import parsing

        benchmarks = registry.benchmarks()
        parsing.check_output(self.page)
        file = None if self.json == STDOUT else self.json  # written part by part
        found = benchmarks.bench(file, quick=self.quick, page_path=self.page)
        if file is None:
            write_json(self.json, found)
        return 0


@shown_plainly
@dataclasses.dataclass(frozen=True)
class View(JsonOutput):
    """Show a saved result: print it, and draw it as a page to explore, a picture or an animation.

    A scan becomes a page (SCAN.html next to it) with a map and parallel coordinates of its members, animations of some,
    and the commands that reproduce each. A run is drawn as time histories, as an animation, or as a page. Pictures of
    a scan are maps or curves of measures, without the members that did not complete.

    Examples: `jaxgait view run.nc --variables knee_angle heel_force --out run.png`, `jaxgait view run.nc --out run.gif`
    """

    file: Positional[pathlib.Path]
    """NetCDF file or Zarr store, also while it is being written."""
    variables: tuple[str, ...] = ()
    """Variables to draw, by default the first few; on the page of a scan, the measure that colours it."""
    out: pathlib.Path | None = None
    """Page (HTML), picture (PNG, PDF, SVG) or animation (GIF, MP4) to write."""
    width: Millimetres = None
    """Width of a picture in print in mm, or in the unit written after it: 85, 18cm."""
    over: tuple[str, ...] = ()
    """The two parameters that span the picture of a sampled scan, or `stride`: histories over % of the stride."""
    last: int | None = None
    """With `--over stride`: number of the last strides that count."""
    select: tuple[str, ...] = ()
    """Values of dimensions that the picture of a scan does not span, as subject=anna or damper.k=2e4."""
    members: int | None = None
    """Members that the page of a scan animates (default: 32); motions that were not kept are simulated again."""
    serve: bool = False
    """Serve the page on this machine instead of writing it; clicking a member then simulates it."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait.cli import viewing

        return viewing.view(self)
