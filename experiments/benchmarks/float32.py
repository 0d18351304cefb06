"""What float32 costs: every mechanism in both precisions at its defaults, as a page of the docs.

python -m experiments.benchmarks.float32 docs/float32.md
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxgait import simulate
from jaxgait.model import Model
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.creeper.chain import SoftExtension
from jaxgait.models.creeper.inchworm import Inchworm
from jaxgait.models.creeper.model import Creeper
from jaxgait.models.exoskeleton.model import Exoskeleton
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.robot import JumpingRobot
from jaxgait.models.jumper.spatial import SpatialJumper
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.models.walker.measures import passing_gait
from jaxgait.models.walker.smooth import Walker
from jaxgait.report import table
from jaxgait.solve.solvers import LEAST_RTOL

TITLE = "# float32 against float64"
ABOUT = """
This page lists the error of single precision for every mechanism at its default settings; all of them complete with
`precision="float32"`. Each precision has its own default tolerances: in float64 those of the model, in float32 at least
rtol {rtol:.1e} and atol {atol:.1e}, because tighter ones are below rounding errors; an rtol below
{least:.1e} raises a `ValueError`. The difference is a root mean square over a curve, or that of a single number; it
includes the errors of both solves.

Written by `python -m experiments.benchmarks.float32 docs/float32.md`; `tests/solve/test_float32.py` asserts the bounds.
"""
TIME = """
Long runs do not lose accuracy through the rounding of time: a step is the difference of two representable times, and
the solver advances the state by exactly that difference. If a contact requires steps below the resolution of time
(2e-6 s after 10 s), such a step is taken as it is, with an error no larger than the rounding of time itself. Irregular
gaits (subharmonic, chaotic) differ between the two precisions as they do between two tolerances.

float32 is not always faster: rounding makes the steps of long runs short (the knee over twenty strides takes more than
twice as many), and members that fail run again in float64.

`ensemble` retries members that fail in float32, finally in float64. It then warns, marks these members in `promoted`,
and states their number in the attribute `precision`.
"""

Read = Callable[[xr.Dataset], Any]


class Case(NamedTuple):
    """A run, a quantity that is read off it, and how far float32 may be from float64."""

    model: Model
    request: Mapping[str, Any]
    what: str
    unit: str
    read: Read
    bound: float
    """Root mean square difference of a curve, or the difference of a number."""


class Row(NamedTuple):
    """The results of a case."""

    case: Case
    completed: bool
    error: float
    largest: float
    """Largest absolute value of the quantity in float64."""
    steps: tuple[int, int]
    """Accepted steps in float64 and in float32."""
    t_end: float
    rtol: float
    atol: float


def curve(name: str, factor: float = 1.0) -> Read:
    """A time history, in the unit of the table."""
    return lambda run: factor * run[name].values.astype(float)


def largest(name: str) -> Read:
    """The largest sample of a time history."""
    return lambda run: float(run[name].max())


def apex(run: xr.Dataset) -> float:
    """Largest height of the centre of mass in mm."""
    height = run["com_z"] if "com_z" in run else run["com"].isel(axis=-1)
    return 1e3 * float(height.max())


def elevation(run: xr.Dataset) -> Any:
    """Elevation of the links in degrees."""
    links = run["x"].values.astype(float)
    return DEGREES * np.arcsin(links[..., -1] / np.linalg.norm(links, axis=-1))


def displacement(run: xr.Dataset) -> float:
    """Displacement from start to end along x, in mm."""
    return 1e3 * float(run["x"][-1] - run["x"][0])


def period(run: xr.Dataset) -> float:
    """Mean period of a step of the walker in ms, after 2 s."""
    late = run.sel(time=slice(2.0, None))
    apart = (late["theta_1"] - late["theta_2"]).values.astype(float)
    return 1e3 * passing_gait(late["time"].values.astype(float), late["x"].values.astype(float), apart)[0]


DEGREES = 180.0 / np.pi
CASES = (
    Case(Bungee(), {}, "lowest point", "m", largest("x"), 0.05),
    Case(Creeper(), {"strides": 4}, "displacement in four strokes", "mm", displacement, 0.01),
    Case(Exoskeleton(), {"strides": 1}, "elevation of the links", "deg", elevation, 0.02),
    Case(Inchworm(), {"strides": 2}, "displacement in two strokes", "mm", displacement, 0.01),
    Case(Jumper(), {}, "largest height of the centre of mass", "mm", apex, 0.1),
    Case(JumpingRobot(), {}, "largest height of the centre of mass", "mm", apex, 0.1),
    Case(Prosthesis(), {"strides": 2}, "knee angle over two strides", "deg", curve("knee_angle", DEGREES), 0.05),
    Case(Prosthesis(), {"strides": 20}, "knee angle over twenty strides", "deg", curve("knee_angle", DEGREES), 0.1),
    Case(Walker(), {"duration": 10.0, "samples": 5000}, "mean period of a step", "ms", period, 0.2),
    Case(Walker(), {"duration": 40.0, "samples": 20000}, "mean period of a step, 40 s", "ms", period, 0.2),
    Case(SoftExtension(), {}, "axial deflection", "mm", curve("x", 1e3), 0.01),
    Case(SpatialJumper(), {}, "largest height of the centre of mass", "mm", apex, 0.1),
)


def row(case: Case) -> Row:
    """Runs a case in both precisions at the defaults of each."""
    double, single = (simulate(case.model, precision=p, **case.request) for p in ("float64", "float32"))
    reference = np.asarray(case.read(double))
    error = np.sqrt(np.mean((np.asarray(case.read(single)) - reference) ** 2))
    return Row(
        case,
        single.attrs["status"] == 0,
        float(error),
        float(np.max(np.abs(reference))),
        (double.attrs["steps"], single.attrs["steps"]),
        single.attrs["t_end_s"],
        single.attrs["rtol"],
        single.attrs["atol"],
    )


def markdown(rows: list[Row]) -> str:
    """The page."""
    head = ["mechanism", "quantity", "float64", "difference", "bound", "unit", "steps in float64", "in float32"]
    least = LEAST_RTOL * float(np.finfo("float32").eps)
    about = ABOUT.format(rtol=rows[0].rtol, atol=rows[0].atol, least=least)
    return "\n".join([TITLE, about, table(head, map(_cells, rows)), TIME])


def _cells(r: Row) -> list[str]:
    c = r.case
    cells = [type(c.model).__name__, c.what, f"{r.largest:.6g}", f"{r.error:.1e}", f"{c.bound:g}", c.unit]
    return [*cells, *map(str, r.steps)]


def main(path: str) -> None:
    """Runs all cases and writes the page."""
    rows = []
    for case in CASES:
        rows.append(row(case))
        print(*_cells(rows[-1]), sep=", ", flush=True)
    pathlib.Path(path).write_text(markdown(rows))


if __name__ == "__main__":
    main(sys.argv[1])
