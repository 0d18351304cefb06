"""Ensembles: net speed, actuator force and lost strokes over parameters of robot and flow."""

from __future__ import annotations

import pathlib

import diffrax
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import jaxgait
from jaxgait.ensembles import Members, zipped
from jaxgait.models.creeper.inchworm import Inchworm
from jaxgait.models.creeper.measures import MEASURES, grip_threshold
from jaxgait.models.creeper.model import Creeper
from jaxgait.parameters import get_parameter, with_parameters
from jaxgait.plot.style import BLUE, ORANGE, PALETTE, RED, axis_label, save, style
from jaxgait.report import Report

from .expected import THRESHOLD_SIMULATED

# The fastest rate of a bristle limits the step: a low order and loose tolerances lose 1e-6 of the speed (measured).
FAST = {"solver": diffrax.Bosh3(), "rtol": 1e-5, "atol": 1e-8}
GRIP = np.r_[np.linspace(0.36, 0.5, 24), np.linspace(0.505, 1.0, 1000)]
RATES = np.linspace(45.0, 200.0, 1000)  # beats per minute
CLEARANCES = np.linspace(1.4e-3, 4.0e-3, 1000)
PHASES = np.linspace(0.0, 0.8, 400)
UNITS = (2, 3, 4)
PEAK_FLOW = -1.13549  # m/s


def run(model: Creeper | Inchworm, members: Members | dict) -> xr.Dataset:
    """One ensemble over four cycles."""
    return jaxgait.ensemble(model, members, strides=4, samples=100, observe=MEASURES, progress=False, **FAST)


def speed_scans(report: Report, out: pathlib.Path) -> None:
    robot = Creeper()
    grip, heart, gap = _three_scans(robot)
    for name, data in (("grip", grip), ("heart", heart), ("clearance", gap)):
        report.data(out / f"scan_{name}.nc", data)
    static = float(grip_threshold(robot))
    simulated = float(np.interp(-0.05, -grip.slip.values, GRIP))
    what = "grip at which 5 % of the strokes are lost (drop between 0.54 and 0.56)"
    report.compare("threshold-simulated", what, simulated, THRESHOLD_SIMULATED)
    members = len(GRIP) + len(RATES) + len(CLEARANCES)
    failed = sum(int((d.status != 0).sum()) for d in (grip, heart, gap))
    report.figure("members", "robots simulated in these scans", "1", members)
    report.figure("failed", "of which failed", "1", failed, expected=0)
    _draw_speeds(report, out, (grip, heart, gap), static)


def _three_scans(robot: Creeper) -> list[xr.Dataset]:
    """One ensemble for all three, because it compiles once; split afterwards."""
    values = {"pads.friction_high": GRIP, "inflow.heart_period": 60.0 / RATES, "clearance": CLEARANCES}
    total = sum(len(v) for v in values.values())
    columns = {name: np.full(total, float(get_parameter(robot, name))) for name in values}
    ends = np.cumsum([len(v) for v in values.values()])
    for (name, column), end in zip(values.items(), ends, strict=True):
        columns[name][end - len(column) : end] = column
    whole = run(robot, zipped(columns))
    (dim,) = whole.status.dims
    return [whole.isel({dim: slice(end - len(v), end)}) for v, end in zip(values.values(), ends, strict=True)]


def _draw_speeds(report: Report, out: pathlib.Path, scans: tuple[xr.Dataset, ...], static: float) -> None:
    grip, heart, gap = scans
    with style():
        figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.2))
        axes[0].plot(GRIP, 1e3 * grip.speed, color=BLUE)
        axes[0].axvline(static, color=RED, ls="--", lw=1.0, label=f"static threshold {static:.3f}")
        axes[0].set(xlabel="friction of the solid pad", ylabel=axis_label("net speed", "mm/s"), ylim=(-4, 6.5))
        axes[0].axhline(0.0, color="black", lw=0.6)
        axes[0].legend(loc="lower right")
        axes[1].plot(RATES, 1e3 * heart.speed, color=BLUE, lw=0.8)
        axes[1].set(xlabel=axis_label("heart rate", "beats/min"), ylabel=axis_label("net speed", "mm/s"))
        axes[2].plot(1e3 * CLEARANCES, 1e3 * gap.speed, color=BLUE)
        axes[2].set_xlabel(axis_label("clearance", "mm"))
        axes[2].set_ylabel(axis_label("net speed", "mm/s"), color=BLUE)
        force = axes[2].twinx()
        force.plot(1e3 * CLEARANCES, gap.peak_force, color=ORANGE)
        force.set_ylabel(axis_label("largest actuator force", "N"), color=ORANGE)
        force.grid(False)
        force.spines["right"].set_visible(True)
        report.picture(
            save(figure, out / "speeds.png"), "Net speed over four cycles, against grip, heart rate and clearance."
        )


def force_envelope(report: Report, out: pathlib.Path) -> None:
    """Envelope of the actuator force over all phases between gait and pulse."""
    data = jaxgait.ensemble(
        Creeper(),
        {"inflow.phase": PHASES},
        strides=4,
        samples=200,
        observe=lambda r: {"force": r["actuator_force"][1:].reshape(4, 200)},
        progress=False,
        **FAST,
    )
    force = data.force.values.reshape(-1, 200)
    t = np.arange(1, 201) / 200
    with style():
        figure, ax = plt.subplots(figsize=(5.6, 3.4))
        ax.fill_between(t, force.min(axis=0), force.max(axis=0), color=BLUE, alpha=0.2, label="envelope, all phases")
        for i in (0, 100, 200, 300):
            ax.plot(t, data.force.values[i, 1], lw=1.0, label=f"phase {PHASES[i]:.1f} s, 2nd cycle")
        ax.set(xlabel=axis_label("time within the cycle", "s"), ylabel=axis_label("actuator force", "N"), xlim=(0, 1))
        ax.legend(loc="upper right")
        report.picture(save(figure, out / "envelope.png"), "Actuator force for every phase between gait and pulse.")
    report.figure("envelope-max", "largest actuator force over all phases", "N", force.max())
    report.figure("envelope-min", "smallest actuator force over all phases", "N", force.min())


def more_units(report: Report, out: pathlib.Path) -> None:
    """Lost strokes against grip, for 2 to 4 units: the holding units share the load."""
    front, rear = Creeper().fluid_forces(PEAK_FLOW, 0.0, 0.0)
    with style():
        figure, ax = plt.subplots(figsize=(5.2, 3.4))
        for units, colour in zip(UNITS, PALETTE, strict=False):
            load = -float(front) - (units - 1) * float(rear)
            static = (load / Creeper().pads.normal_force + Creeper().pads.friction_low) / (units - 1)
            grip = np.r_[np.linspace(0.9, 1.1, 16) * static, np.linspace(1.2 * static, 0.7, 8)]
            # The stroke of one unit takes as long in every robot.
            worm = with_parameters(Inchworm(units=units), {"robot.gait.period": 0.5 * units})
            data = run(worm, {"robot.pads.friction_high": grip})
            ax.plot(grip, 1.0 - data.slip, "o-", ms=3, color=colour, label=f"{units} units")
            ax.axvline(static, color=colour, ls=":", lw=1.0)
        ax.set(xlabel="friction of the solid pads", ylabel="share of the strokes that counts", ylim=(0.0, 1.05))
        ax.legend(loc="lower right")
        report.picture(
            save(figure, out / "units.png"),
            "More units need less grip: share of the strokes that counts; dotted: static estimates.",
        )
