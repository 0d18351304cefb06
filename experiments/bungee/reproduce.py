"""The bungee exercise: its figures, one jump, and which jumpers and ropes are safe."""

from __future__ import annotations

import pathlib

import jax
import matplotlib.pyplot as plt
import numpy as np

import jaxgait
from jaxgait.measure import Measure
from jaxgait.models.bungee.measures import clearance, critical_value, lowest_point
from jaxgait.models.bungee.model import Bungee
from jaxgait.parameters import with_parameters
from jaxgait.plot.style import BLUE, ORANGE, RED, axis_label, save, style
from jaxgait.report import Report
from jaxgait.reproduction import parts

from . import expected

TITLE = "Bungee jumping"
MINUTES = 0.5
INTRO = (
    "An exercise asks whether a person of 70 kg can safely jump with a rope of 20 N/m, and gives no answer. It is not "
    "safe; a rope of 27 N/m is."
)
QUESTION = "asks whether the jump is safe, without an answer"
MASSES, ROPES = np.linspace(40.0, 100.0, 121), np.linspace(15.0, 40.0, 101)


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    report = Report(TITLE, INTRO)
    with parts(report, out, 3, progress) as part:
        part.add({"the lowest point": _figures, "a jump": _path, "the safety map": _map})
    return report


def _figures(report: Report, out: pathlib.Path) -> None:
    low = lowest_point(Bungee())
    report.compare("lowest-time", "time of the lowest point", float(low.time), expected.LOWEST["time"])
    report.compare("lowest-position", "lowest point", float(low.x), expected.LOWEST["position"])
    rows = [
        ("clearance", "clearance at k = 20 N/m (not safe)", Bungee()),
        ("clearance-27", "clearance at k = 27 N/m (safe)", Bungee(stiffness=27.0)),
        ("clearance-40kg", "clearance of a jumper of 40 kg", Bungee(mass=40.0)),
        ("clearance-g", "clearance with g = 9.81", Bungee(gravity=9.81)),
        ("no-drag", "clearance without drag", Bungee(linear_drag=0.0, quadratic_drag=0.0)),
    ]
    for name, what, model in rows:
        paper = QUESTION if name == "clearance" else None
        report.compare(name, what, float(clearance(model)), expected.CLEARANCE[name], paper=paper)
    for name, row in expected.CRITICAL.items():
        report.compare(f"critical-{name}", f"critical {name}", float(critical_value(Bungee(), name)), row)
    for (name, row), slope in zip(expected.SLOPES.items(), slopes(), strict=True):
        what = f"slope of the clearance over {name.replace('_', ' ')}"
        report.compare(f"slope-{name}", what, float(slope), row.slope)


def slopes() -> jax.Array:
    """Derivatives of the clearance with respect to the parameters of `expected.SLOPES`, at their values there."""
    values = np.array([row.at for row in expected.SLOPES.values()])
    changed = lambda v: with_parameters(Bungee(), dict(zip(expected.SLOPES, v, strict=True)))
    return jax.jacfwd(lambda v: clearance(changed(v)))(values)


def _path(report: Report, out: pathlib.Path) -> None:
    run = jaxgait.simulate(Bungee(), duration=60.0, samples=1200)
    report.data(out / "path.nc", run)
    at_ten = float(run.x.sel(time=10.0, method="nearest", tolerance=1e-9))
    report.compare("x-10", "position after 10 s", at_ten, expected.AT_TEN_SECONDS["x"])
    with style():
        figure, axes = plt.subplots(2, 1, figsize=(6.5, 4.5), sharex=True)
        axes[0].plot(run.time, run.height, color=BLUE)
        axes[0].axhline(0.0, color=RED, lw=1.2)
        axes[0].annotate("ground", (58, 1.0), color=RED, ha="right", va="bottom", fontsize=8)
        axes[0].set_ylabel(axis_label("height above the ground", "m"))
        axes[1].plot(run.time, run.rope_force / (70.0 * 10.0), color=ORANGE)
        axes[1].set(ylabel=axis_label("rope force", "body weights"), xlabel=axis_label("time", "s"))
    report.picture(
        save(figure, out / "path.png"), "A person of 70 kg on a rope of 20 N/m: the path passes through the ground."
    )


def _map(report: Report, out: pathlib.Path) -> None:
    scan = jaxgait.ensemble(
        Bungee(),
        {"mass": MASSES, "stiffness": ROPES},
        duration=20.0,
        samples=400,
        observe=Measure("clearance", lambda run: run["height"].min(), "m", "clearance"),
        rtol=1e-7,
        atol=1e-7,
    )
    report.data(out / "safety_map.nc", scan)
    report.figure("map", "jumps on the safety map", "1", int(scan.clearance.size))
    report.figure("map-failed", "of which failed", "1", int((scan.status != 0).sum()), expected=0)
    with style():
        figure, axis = plt.subplots(figsize=(6.0, 4.2))
        span = float(np.abs(scan.clearance).max())
        field = scan.clearance.transpose("stiffness", "mass")
        mesh = axis.pcolormesh(MASSES, ROPES, field, cmap="RdBu", vmin=-span, vmax=span, rasterized=True)
        lines = axis.contour(MASSES, ROPES, field, levels=[0.0], colors="black", linewidths=1.5)
        axis.clabel(lines, fmt={0.0: "just safe"}, fontsize=8)
        axis.plot(70.0, 20.0, "o", color="black")
        axis.annotate("the exercise", (71.0, 20.3), fontsize=8)
        figure.colorbar(mesh, ax=axis, label=axis_label("clearance", "m"))
        axis.set(xlabel=axis_label("mass", "kg"), ylabel=axis_label("rope stiffness", "N/m"))
        axis.grid(False)
    report.picture(
        save(figure, out / "safety_map.png"),
        "Clearance over body mass and rope stiffness; the jump is safe above the line.",
    )
