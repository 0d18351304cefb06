"""The smooth walker: period and speed, forces, energy and its losses, animation; its errors against the rigid ones.

The errors are those of parameter sets, of restitution by damping, and of friction.
"""

from __future__ import annotations

import functools
import pathlib
import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import jaxgait
from jaxgait import ensemble, outcome
from jaxgait.ensembles import summary, zipped
from jaxgait.mechanics.contact import hunt_crossley_dissipation
from jaxgait.models.walker.measures import passing_gait
from jaxgait.models.walker.pictures import contact_strip
from jaxgait.models.walker.rigid import RigidWalker
from jaxgait.models.walker.smooth import Walker
from jaxgait.parameters import with_parameters
from jaxgait.plot import film
from jaxgait.plot.style import BLUE, GREEN, GREY, ORANGE, RED, axis_label, save, style
from jaxgait.report import Report

from .expected import BOUNCING, IRREGULAR, RIGID, SET_ERRORS, SMOOTH, SMOOTH_FRICTION

DURATION, STEADY = 20.0, 10.0
"""Duration in s of a simulation, and of its beginning, which the measures of the parameter sets ignore."""
SAMPLES = 48_000
FRAME, FILM = 0.02, 2.5
"""Time in s between frames, and of the whole film."""
SLIPPERY = 0.12
"""Friction below the paper's threshold."""


def smooth_walk(report: Report, out: pathlib.Path) -> None:
    """The smooth walker from the paper's start: errors against the rigid gait; forces, contact and energy."""
    run = jaxgait.simulate(Walker(), duration=DURATION, samples=SAMPLES)
    steady = run.sel(time=slice(6.0, None))
    period, velocity = passing_gait(*(a.values for a in (steady.time, steady.x, steady.theta_1 - steady.theta_2)))
    report.compare("smooth_period", "period, smooth against rigid", period, SMOOTH["period"])
    report.compare("smooth_velocity", "velocity, smooth against rigid", velocity, SMOOTH["velocity"])
    late = run.sel(time=slice(DURATION - 1.7, None))
    t = late.time.values - late.time.values[0]
    with style():
        figure, axes = plt.subplots(3, 1, figsize=(7, 6.4), sharex=True, height_ratios=(2, 1, 2))
        for foot, colour in ((1, BLUE), (2, ORANGE)):
            axes[0].semilogy(t, np.maximum(late[f"normal_{foot}"], 1e-3), color=colour, label=f"foot {foot}, normal")
        axes[0].axhline(2 * 9.8, color=GREY, ls=":", lw=0.9, label="weight")
        axes[0].set(ylabel=axis_label("force", "N"), ylim=(1, 1e3), title="Ground forces of the smooth walker")
        axes[0].legend(ncols=3, loc="upper center")
        contact_strip(axes[1], t, [late.normal_1 > 0.1, late.normal_2 > 0.1])
        axes[1].set_title("Feet on the ground")
        dt = float(t[1] - t[0])
        gravity = -1e3 * (late.potential_energy - late.potential_energy[0])
        axes[2].plot(t, -1e3 * np.cumsum(late.impact_power) * dt, color=BLUE, label="lost in impacts")
        axes[2].plot(t, -1e3 * np.cumsum(late.friction_power) * dt, color=RED, label="lost in friction")
        axes[2].plot(t, gravity, color=GREEN, lw=0.9, label="gained from gravity")
        axes[2].set(xlabel=axis_label("time", "s"), ylabel=axis_label("energy", "mJ"), title="Where the energy goes")
        axes[2].legend()
        report.picture(save(figure, out / "smooth_forces.png"), "Smooth walker: forces, contact, energy balance")
    report.data(out / "smooth.nc", late.isel(time=slice(None, None, 4)))


def animation(report: Report, out: pathlib.Path) -> None:
    """Two time-stepped walkers, on rough and on slippery ground."""
    walker = RigidWalker()
    run = functools.partial(jaxgait.simulate, duration=FILM, samples=round(FILM / FRAME))
    runs = {f"friction {walker.friction:g}: it walks": run(walker)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* fell", outcome.IncompleteRun)  # as the film shows
        slipping = run(with_parameters(walker, {"friction": SLIPPERY}))
    runs[f"friction {SLIPPERY:g}: it slips and falls"] = slipping
    path = film.animate(runs, speed=0.5).save(out / "walker.gif", dpi=100)
    report.picture(
        path, "The time-stepped walker from the paper's start, at half speed, on rough and on slippery ground"
    )


SETS = {name: tuple(values.values()) for name, values in Walker.presets.items()}
NAMES = tuple(Walker.presets["reference"])
FAILING = (1e4, 50.0, 1e-5, 1e-3, 0.5)
LANDING = 0.169
"""Velocity in m/s with which the rigid walker's foot lands."""
COPIES = 16


def _observe(run: Any) -> dict[str, Any]:
    return {"x": run.ys.x, "apart": run.ys.theta_1 - run.ys.theta_2}


def _fell(runs: xr.Dataset) -> np.ndarray:
    """Which walks ended in a fall.

    Raises:
        jaxgait.outcome.NoResult: if the computation of any of them failed, which is not a fall.
    """
    if outcome.failures(runs.status).any():
        raise outcome.NoResult(f"the computation of some walks failed: {summary(runs)}")
    return runs.status.values != outcome.Outcome.COMPLETED


def parameter_sets(report: Report, out: pathlib.Path) -> None:
    """Simulates all cases as one ensemble, and compares them."""
    damping = [float(hunt_crossley_dissipation(e, LANDING)) for e in BOUNCING]
    copies = float(hunt_crossley_dissipation(IRREGULAR[0], LANDING)) * (1.0 + 1e-9 * np.arange(COPIES))
    rows = list(SETS.values())
    rows += [(1e7, d, 1e-7, 3e-4, 0.5) for d in (*damping, *copies)]
    rows += [(*SETS["recommended"][:4], mu) for mu in SMOOTH_FRICTION]
    rows.append(FAILING)
    members = zipped(dict(zip(NAMES, np.array(rows).T, strict=True)))
    samples = round(1e3 * DURATION)
    runs = ensemble(Walker(), members, duration=DURATION, samples=samples, observe=_observe, retry=False)
    t = np.linspace(0.0, DURATION, runs.x.shape[1])
    late = t > STEADY
    gaits = [
        passing_gait(t[late], x[late], apart[late]) for x, apart in zip(runs.x.values, runs.apart.values, strict=True)
    ]
    fell = _fell(runs)
    rest = iter(zip(gaits, fell, strict=True))
    for name in SETS:
        (period, velocity), _ = next(rest)
        for what, value in (("period", period), ("velocity", velocity)):
            report.compare(
                f"smooth_{name.replace(' ', '_')}_{what}_error",
                f"error of the {what}, smooth set '{name}'",
                100.0 * (value / RIGID[what] - 1.0),
                SET_ERRORS[name][what],
            )
    for (e, (stepped, excess)), d in zip(BOUNCING.items(), damping, strict=True):
        (_, velocity), _ = next(rest)
        what = f"velocity over that of the rigid walker, restitution {e:g} by dissipation {d:.2f} s/m"
        report.compare(f"smooth_restitution_{e:g}", what, 100.0 * (velocity / stepped - 1.0), excess)
    e, stepped, excess = IRREGULAR
    velocities = [next(rest)[0][1] for _ in copies]
    excesses = 100.0 * (np.array(velocities) / stepped - 1.0)
    what = f"velocity over that of the rigid walker, restitution {e:g}: irregular, {COPIES} walks of ten seconds"
    report.figure(
        f"smooth_restitution_{e:g}_mean", f"{what}, mean (specification, one walk: {excess:g})", "%", excesses.mean()
    )
    report.figure(f"smooth_restitution_{e:g}_spread", f"{what}, standard deviation", "%", excesses.std(ddof=1))
    for mu, row in SMOOTH_FRICTION.items():
        (_, velocity), lost = next(rest)
        what = f"smooth walker falls, mu = {mu:g}"
        report.figure(f"smooth_falls_mu{mu:g}", what, "", bool(lost), expected=row is None)
        if row is not None:
            report.compare(f"smooth_velocity_mu{mu:g}", f"velocity, smooth, mu = {mu:g}", velocity, row)
    (period, _), lost = next(rest)
    wrong = bool(lost) or not abs(period / RIGID["period"] - 1.0) < 0.02
    report.figure("smooth_1e4_fails", "stiffness 1e4 N/m: falls, or another gait", "", wrong, expected=True)
