"""Tuning the damper by gradients of the periodic gait; one through the solve is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from jaxgait import ensemble
from jaxgait.ensembles import zipped
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.optimization import Optimum, optimize
from jaxgait.optimization.goals import Goal
from jaxgait.parameters import with_parameters
from jaxgait.report import Report, table

OVER = {"damper.k": (1.2e4, 3.6e4), "damper.c": (400.0, 2400.0)}
STRIDES = 7
"""Strides of the checked run: enough for the transient of a period-one gait."""
STARTS = [(1.5e4, 1400.0), (2.4e4, 800.0), (3.2e4, 1000.0), (2.0e4, 2000.0), (3.0e4, 2200.0)]
ITERATIONS = 40
CHECKED, STEP = {"damper.k": 1.8e4, "damper.c": 900.0}, 1e-3
"""Where a gradient is checked, and the relative step of its central differences."""
RTOL = 1e-5
"""Tolerance of search and check, so that both use one compiled program; tests check the gradient at 1e-7."""
STEEPNESS = 1e4
"""Steepness in 1/m: a touch-down layer of 0.1 mm instead of 1 micrometre, for correct gradients; rho changes by
1e-5."""


def soft(leg: Prosthesis) -> Prosthesis:
    """A leg with a touch-down soft enough for gradients."""
    return with_parameters(leg, {"ground.steepness": STEEPNESS})


def tune(leg: Prosthesis, progress: bool | None = None) -> tuple[Optimum, xr.Dataset]:
    """The optimisation, and the runs that compare a gradient with central differences."""
    smooth = soft(leg)
    starts = [dict(zip(OVER, start, strict=True)) for start in STARTS]
    options: dict[str, Any] = {"strides": STRIDES, "rtol": RTOL}
    search: dict[str, Any] = {"over": OVER, "starts": starts, "iterations": ITERATIONS, "progress": progress}
    best = optimize(smooth, maximize="rho", **search, **options)
    away = STEP * np.array([[0, 1, -1, 0, 0], [0, 0, 0, 1, -1]])
    points = {name: value * (1.0 + steps) for (name, value), steps in zip(CHECKED.items(), away, strict=True)}
    check = ensemble(
        smooth,
        zipped(points),
        observe=Goal.of(smooth, "rho"),
        gradient=tuple(OVER),
        retry=False,
        progress=False,
        **options,
    )
    return best, check


def describe(report: Report, best: Optimum, check: xr.Dataset) -> None:
    rho, gradient = check.objective.values, check.objective_gradient.isel(member=0)
    for i, (name, value) in enumerate(CHECKED.items()):
        difference = (rho[1 + 2 * i] - rho[2 + 2 * i]) / (2.0 * STEP * value)
        ratio = float(gradient.sel(parameter=name)) / difference
        what = f"d rho / d {name}: forward mode over central difference"
        report.figure(f"knee.gradient.{name}", what, "1", ratio, expected=1.0, tolerance=0.05)
    report.section("Check of the gradient", f"By forward mode and by differences of runs, both at rtol {RTOL:g}.")
    history = best.history
    report.figure("knee.optimum.rho", "largest rho found by gradient", "1", best.objective)
    report.figure("knee.optimum.k", "its k", "N/m", best.best["damper.k"])
    report.figure("knee.optimum.c", "its c", "N s/m", best.best["damper.c"])
    rows = []
    for i, why in enumerate(best.why_stopped):
        k, c, rho = history["damper.k"][i, 0], history["damper.c"][i, 0], history.objective[i]
        rows.append([f"{k:.0f}, {c:.0f}", f"{float(rho[0]):.4f}", f"{float(rho.max()):.4f}", why])
    report.section("Optimisation", table(["start (k, c)", "rho there", "best rho", "why it stopped"], rows))
