"""Ensembles: the jump over stud stiffness, friction and posture; the four-bar robot."""

from __future__ import annotations

import pathlib

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import jaxgait
from jaxgait.ensembles import zipped
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.measures import MEASURES
from jaxgait.models.jumper.robot import JumpingRobot
from jaxgait.parameters import get_parameter
from jaxgait.plot.style import FAILED, axis_label, save, style
from jaxgait.report import Report

FAST = {"samples": 300, "rtol": 1e-6, "atol": 1e-8}
MODULI, FRICTIONS = np.geomspace(4e6, 40e6, 32), np.linspace(0.3, 1.2, 32)
SCANNED = ("sole.modulus", "sole.kinetic_friction", "sole.static_friction", "knee_start", "hip_start")
PANELS = {
    "height": axis_label("jump height", "m"),
    "peak_force": axis_label("peak force", "body weights"),
    "take_off_angular_momentum": axis_label("angular momentum", "kg m$^2$/s"),
}
KNEES, HIPS = np.radians(np.linspace(86.0, 104.0, 32)), np.radians(np.linspace(84.0, 104.0, 32))


def sole(report: Report, out: pathlib.Path) -> None:
    """Stud stiffness and friction; static friction exceeds kinetic by 0.2."""
    stiffness, friction = np.meshgrid(MODULI, FRICTIONS, indexing="ij")
    scan = _jumps(
        {"sole.modulus": stiffness, "sole.kinetic_friction": friction, "sole.static_friction": friction + 0.2}
    )
    _report(report, out, scan, "sole")
    panels = [scan[name].values.reshape(stiffness.shape) for name in PANELS]
    figure = _maps(MODULI / 1e6, FRICTIONS, panels, axis_label("modulus of the studs", "MPa"), "kinetic friction")
    for axis in figure.axes[: len(PANELS)]:
        axis.set_xscale("log")
        axis.set_xticks([4, 6, 10, 20, 40], labels=["4", "6", "10", "20", "40"])
        axis.minorticks_off()
    report.picture(
        save(figure, out / "scan_sole.png"),
        "Soft or slippery soles at take-off: friction leaves height and peak force alone, but sets how fast the body "
        "turns backward.",
    )


def posture(report: Report, out: pathlib.Path) -> None:
    """Knee and hip flexion of the crouch; the swings keep their size."""
    knees, hips = np.meshgrid(KNEES, HIPS, indexing="ij")
    scan = _jumps({"knee_start": knees, "hip_start": hips})
    _report(report, out, scan, "posture")
    panels = [scan[name].values.reshape(knees.shape) for name in PANELS]
    figure = _maps(
        np.degrees(KNEES),
        np.degrees(HIPS),
        panels,
        axis_label("knee in the crouch", "deg"),
        axis_label("hip in the crouch", "deg"),
    )
    report.picture(
        save(figure, out / "scan_posture.png"),
        "Postures of the crouch: jump height, peak force and angular momentum (negative: backward).",
    )


def robot(report: Report, out: pathlib.Path) -> None:
    """The jumping robot: same equations, other numbers."""
    scan = jaxgait.ensemble(JumpingRobot(), {"trunk_mass": np.linspace(3.0, 12.0, 10)}, observe=MEASURES, **FAST)
    report.data(out / "robot.nc", scan)
    middle = scan.sel(trunk_mass=6.0)
    report.figure("robot-height", "jump height of the four-bar robot", "m", float(middle.height))
    report.figure("robot-peak", "its peak force / body weight", "1", float(middle.peak_force))


def _jumps(grids: dict[str, np.ndarray]) -> xr.Dataset:
    """Jumps over grids of parameters; both scans have the same parameters over their members, for one program."""
    size = next(iter(grids.values())).size
    own = {name: np.full(size, float(get_parameter(Jumper(), name))) for name in SCANNED}
    values = own | {name: grid.ravel() for name, grid in grids.items()}
    return jaxgait.ensemble(Jumper(), zipped(values), observe=MEASURES, **FAST)


def _report(report: Report, out: pathlib.Path, scan: xr.Dataset, name: str) -> None:
    report.data(out / f"scan_{name}.nc", scan)
    report.figure(f"{name}-jumps", f"jumps in the scan of the {name}", "1", int(scan.status.size))
    report.figure(f"{name}-failed", "of which failed", "1", int((scan.status != 0).sum()), expected=0)
    for observable, unit in (("height", "m"), ("peak_force", "1"), ("take_off_angular_momentum", "kg m^2/s")):
        what = observable.removeprefix("take_off_")
        words = what.replace("_", " ")
        low, high = float(scan[observable].min()), float(scan[observable].max())
        report.figure(f"{name}-{what}-min", f"smallest {words} over the {name}", unit, low)
        report.figure(f"{name}-{what}-max", f"largest {words} over the {name}", unit, high)


def _maps(x: np.ndarray, y: np.ndarray, panels: list[np.ndarray], xlabel: str, ylabel: str) -> Figure:
    with style():
        figure, axes = plt.subplots(1, len(PANELS), figsize=(12.5, 3.6), sharey=True)
        for axis, values, label in zip(axes, panels, PANELS.values(), strict=True):
            axis.set_facecolor(FAILED)
            mesh = axis.pcolormesh(x, y, values.T, rasterized=True)
            figure.colorbar(mesh, ax=axis)
            axis.set(title=label, xlabel=xlabel)
            axis.grid(False)
        axes[0].set_ylabel(ylabel)
    return figure
