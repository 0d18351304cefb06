"""The robot along its axis: the table of the axial gait, Figure 4, the animation."""

from __future__ import annotations

import pathlib
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import jaxgait
from jaxgait.mechanics.friction import Coulomb
from jaxgait.models.creeper.artery import VALVE_CLOSURE, Inflow
from jaxgait.models.creeper.measures import grip_threshold
from jaxgait.models.creeper.model import Creeper
from jaxgait.parameters import with_parameters
from jaxgait.parts import with_parts
from jaxgait.plot import film
from jaxgait.plot.style import BLUE, GREY, RED, axis_label, save, style
from jaxgait.report import Report

from . import expected

SAMPLES = 500
STILL = {"inflow.amplitude": 0.0, "inflow.back_amplitude": 0.0}
CURVE = "a curve without values (Figure 4); measured and theoretical agree closely"
"""The paper's statement on the displacement of the front point; it does not state the flow."""
CASES = {
    "against the flow": {},
    "no flow": STILL,
    "with the flow": {"inflow.direction": 1.0},
    "no hammer": {"blood.hammer": 0.0},
    "stiffer pads": {"pads.stiffness": 12.8e4, "pads.damping": 5.0},
    "half a beat later": {"inflow.phase": 0.4},
}
"""Changed parameters, by row of the table."""


def inputs(report: Report) -> None:
    """Compares what the paper prints of its robot and of the flow: inputs, not results."""
    robot = Creeper()
    for id, what, value in (
        ("heart-period", "duration of a heartbeat", robot.inflow.heart_period),
        ("gait-period", "duration of a gait cycle", robot.gait.period),
        ("stroke", "stroke relative to the length of a unit", robot.gait.stroke / robot.length),
    ):
        printed = expected.PRINTED[id]
        report.compare(id, what, value, printed, paper=printed.value, input=True)
    report.figure(
        "backflow-end",
        "inflow at valve closure (0.27 s)",
        "m/s",
        robot.inflow.beat(VALVE_CLOSURE),
        expected=0.0,
        tolerance=1e-6,
        paper="jumps from -0.105 to 0",
        agrees=False,
        input=True,
        note="With the printed frequency of the back-flow the velocity jumps; here it is continuous (the printed form "
        "is an option).",
    )


def gait(report: Report, out: pathlib.Path) -> None:
    """Simulates all rows of the table; NetCDF file and animation of the default run."""
    inputs(report)
    runs = {}
    for name, changes in CASES.items():
        run = jaxgait.simulate(with_parameters(Creeper(), changes), strides=4, samples=SAMPLES)
        runs[name] = run
        _displacement(report, name, run, CURVE if changes is STILL else None)
        if name in expected.ACTUATOR_FORCE:
            _forces(report, name, run.actuator_force)
    _other_laws(report)
    _grip(report)
    report.data(out / "axial.nc", runs["against the flow"])
    _animation(report, out, runs["against the flow"])


def _displacement(report: Report, name: str, run: xr.Dataset, paper: str | None = None) -> None:
    moved = 1e3 * float(run.x[-1] - run.x[0])
    row = expected.DISPLACEMENT[name]
    report.compare(f"way-{_slug(name)}", f"{name}: displacement in 4 s", moved, row, paper=paper)


def _forces(report: Report, name: str, force: xr.DataArray) -> None:
    largest, smallest = expected.ACTUATOR_FORCE[name]
    for which, value, row in (("largest", force.max(), largest), ("smallest", force.min(), smallest)):
        report.compare(f"{which}-{_slug(name)}", f"{name}: {which} actuator force", float(value), row)


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def _other_laws(report: Report) -> None:
    printed = Creeper(inflow=Inflow(backflow="printed"))
    _displacement(report, "printed back-flow", jaxgait.simulate(printed, strides=4, samples=20))
    memoryless = with_parts(Creeper(), {"pads.friction": Coulomb(1.0, 5e-5, "tanh")})
    _displacement(report, "memoryless pads", jaxgait.simulate(memoryless, strides=4, samples=20))


def _grip(report: Report) -> None:
    cases = {**expected.GRIP, **expected.SWEPT}
    members = {"pads.friction_high": np.array(list(cases))}
    moved = jaxgait.ensemble(
        Creeper(), members, strides=4, samples=1, observe=lambda run: {"x": run["x"][-1]}, progress=False
    )["x"]
    for (mu, row), measured in zip(cases.items(), moved.values, strict=True):
        report.compare(f"way-mu-{mu:g}", f"grip {mu:g}: displacement in 4 s", 1e3 * measured, row)
    threshold = grip_threshold(Creeper())
    report.compare("threshold", "static estimate of the grip threshold", threshold, expected.THRESHOLD)


def figure_4(report: Report, out: pathlib.Path) -> None:
    """Displacement of the front point over the 25 frames (4 per second) of the paper's film."""
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
            moved = 1e3 * (run.tip - run.tip[0])
            open_marks: dict[str, Any] = {"ms": 5, "mfc": "none", "clip_on": False}  # both are seen where they coincide
            ax.plot(run.time[::25], moved[::25], marker, color=colour, ls="none", label=label, **open_marks)
            ax.plot(run.time, moved, color=colour, lw=0.8)
        ax.set(xlabel=axis_label("time", "s"), ylabel=axis_label("displacement of the front point", "mm"), xlim=(0, 6))
        ax.legend()
        caption = "Figure 4: front point, theory against simulation; marks every 0.25 s as in the paper's video."
        report.picture(save(figure, out / "figure_4.png"), caption)
    worst = float(np.abs(1e3 * (still.tip - still.tip[0]).values - theory).max())
    report.figure("figure-4", "still liquid: largest distance from the rigid theory", "mm", worst, paper=CURVE)


def _animation(report: Report, out: pathlib.Path, run: xr.Dataset) -> None:
    part = run.isel(time=slice(0, 2 * SAMPLES + 1))
    path = film.animate(part, speed=0.25).save(out / "creeper.gif")
    report.picture(path, "The robot against the pulse: pads that touch the wall grip; drops drift with the blood.")
