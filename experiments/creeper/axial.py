"""The robot along its axis: the table of the axial gait, figure 4, the animation."""

from __future__ import annotations

import pathlib

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import jaxgait
from jaxgait import precision
from jaxgait.models.creeper.artery import CLOSURE, Inflow
from jaxgait.models.creeper.measures import grip_threshold
from jaxgait.models.creeper.model import Creeper, Pads
from jaxgait.models.creeper.pictures import animate
from jaxgait.parameters import with_parameters
from jaxgait.plot.style import BLUE, GREY, RED, axis_label, save, style
from jaxgait.report import Report

SAMPLES = 500
ANCHORED, SLIPPING = 2e-3, 2e-2  # relative tolerances of the specification
FORCE = 1e-3  # N

STILL = {"inflow.amplitude": 0.0, "inflow.back_amplitude": 0.0}
CURVE = "a curve without values (Figure 4); measured and theoretical agree closely"
"""What the paper says of the displacement of the front point; it prints no flow for it."""
ROWS = {  # name: changes, displacement in 4 s in mm, largest and smallest actuator force in N
    "against the flow": ({}, 23.7467, 0.97819, -0.21847),
    "no flow": (STILL, 23.9529, 0.1145, -0.1182),
    "with the flow": ({"inflow.direction": 1.0}, 24.0824, 0.7723, -0.1340),
    "no hammer": ({"blood.hammer": 0.0}, 23.9224, 0.2974, -0.2182),
    "stiffer pads": ({"pads.stiffness": 12.8e4, "pads.damping": 5.0}, 23.9356, None, None),
    "half a beat later": ({"inflow.phase": 0.4}, 23.7467, None, None),
}
GRIP = {0.7: 23.694, 0.6: 23.560, 0.56: 23.320, 0.54: 21.884, 0.5: 19.928}
SWEPT = {0.45: 18.388, 0.4: -5.267, 0.3: -200.6, 0.1: -1307.0}


def given(report: Report) -> None:
    """What the paper prints of its robot and of the flow, beside ours."""
    robot = Creeper()
    for id, what, unit, value, printed in (
        ("heart-period", "one heart beat", "s", robot.inflow.heart_period, 0.8),
        ("gait-period", "one cycle of the gait", "s", robot.gait.period, 1),
        ("stroke", "stroke over the length of a unit", "1", robot.gait.stroke / robot.length, 0.2),
    ):
        report.figure(id, what, unit, value, expected=printed, tolerance=1e-12, paper=printed)
    report.figure(
        "backflow-end",
        "inflow as the valve shuts (0.27 s)",
        "m/s",
        robot.inflow.beat(CLOSURE),
        expected=0.0,
        tolerance=1e-6,
        paper="jumps from -0.105 to 0",
        agrees=False,
        note="With the printed frequency of the back-flow the velocity jumps; the one that closes its lobe lets it be "
        "continuous (the printed form is an option).",
    )


def table(report: Report, out: pathlib.Path) -> xr.Dataset:
    """Runs the rows of the table; returns the default run and writes it as NetCDF."""
    with precision.use("float64"):
        given(report)
    default = None
    for name, (changes, way, peak, least) in ROWS.items():
        run = jaxgait.simulate(with_parameters(Creeper(), changes), strides=4, samples=SAMPLES)
        default = run if default is None else default
        _way(report, name, run, way, ANCHORED, CURVE if changes is STILL else None)
        if peak is not None and least is not None:
            _forces(report, name, run.actuator_force, peak, least)
    _other_laws(report)
    _grip(report)
    assert default is not None
    report.data(out / "axial.nc", default)
    return default


def _way(
    report: Report, name: str, run: xr.Dataset, expected: float, relative: float, paper: str | None = None
) -> None:
    way = 1e3 * float(run.x[-1] - run.x[0])
    beside = {"expected": expected, "tolerance": relative * abs(expected), "paper": paper}
    report.figure(f"way-{_slug(name)}", f"{name}: displacement in 4 s", "mm", way, **beside)


def _forces(report: Report, name: str, force: xr.DataArray, peak: float, least: float) -> None:
    for which, value, expected in (("largest", force.max(), peak), ("smallest", force.min(), least)):
        what = f"{name}: {which} actuator force"
        report.figure(f"{which}-{_slug(name)}", what, "N", float(value), expected=expected, tolerance=FORCE)


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def _other_laws(report: Report) -> None:
    printed = Creeper(inflow=Inflow(backflow="printed"))
    _way(report, "printed back-flow", jaxgait.simulate(printed, strides=4, samples=20), 23.7437, ANCHORED)
    memoryless = Creeper(pads=Pads(law="memoryless"))
    _way(report, "memoryless pads", jaxgait.simulate(memoryless, strides=4, samples=20), 23.9651, ANCHORED)


def _grip(report: Report) -> None:
    cases = {**GRIP, **SWEPT}
    members = {"pads.friction_high": np.array(list(cases))}
    way = jaxgait.ensemble(
        Creeper(), members, strides=4, samples=1, observe=lambda run: {"way": run["x"][-1]}, progress=False
    )["way"]
    for mu, measured in zip(cases, way.values, strict=True):
        tolerance = abs(cases[mu]) * (ANCHORED if mu in GRIP else SLIPPING)
        report.figure(
            f"way-mu-{mu:g}",
            f"grip {mu:g}: displacement in 4 s",
            "mm",
            1e3 * measured,
            expected=cases[mu],
            tolerance=tolerance,
        )
    threshold = grip_threshold(Creeper())
    report.figure("threshold", "static estimate of the grip threshold", "1", threshold, expected=0.546, tolerance=5e-4)


def figure_4(report: Report, out: pathlib.Path) -> None:
    """Front-point displacement over the 25 frames (4 per second) of the paper's film: rigid theory and simulation."""
    robot = Creeper()
    still = jaxgait.simulate(with_parameters(robot, STILL), duration=6.0, samples=600)
    flow = jaxgait.simulate(robot, duration=6.0, samples=600)
    t = still.time.values
    theory = 6.0 * (np.floor(t) + np.clip(2.0 * (t % 1.0), 0.0, 1.0))
    with style():
        figure, ax = plt.subplots(figsize=(6.2, 3.6))
        ax.plot(t, theory, color=GREY, lw=3.0, alpha=0.5, label="theory: one stroke per cycle, constant speed")
        curves = (still, BLUE, "o", "simulated, still liquid"), (flow, RED, "s", "simulated, against the pulse")
        for run, colour, marker, label in curves:
            way = 1e3 * (run.tip - run.tip[0])
            ax.plot(run.time[::25], way[::25], marker, color=colour, ms=3.5, ls="none", label=label)
            ax.plot(run.time, way, color=colour, lw=0.8)
        ax.set(xlabel=axis_label("time", "s"), ylabel=axis_label("displacement of the front point", "mm"), xlim=(0, 6))
        ax.legend()
        caption = "Figure 4: front point, theory against simulation; marks every 0.25 s as in the paper's film."
        report.picture(save(figure, out / "figure_4.png"), caption)
    worst = float(np.abs(1e3 * (still.tip - still.tip[0]).values - theory).max())
    report.figure("figure-4", "still liquid: largest distance from the rigid theory", "mm", worst, paper=CURVE)


def film(report: Report, out: pathlib.Path, run: xr.Dataset) -> None:
    """The robot in the vessel over two cycles."""
    part = run.isel(time=slice(0, 2 * SAMPLES + 1))
    path = animate(Creeper(), part, out / "creeper.gif", fps=16, every=20)
    report.picture(path, "The robot against the pulse: solid pads grip, arrows show the flow profile.")
