"""Beyond the paper: joint timing for height under limits, and a landing on flexing legs."""

from __future__ import annotations

import pathlib
from math import radians

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import jaxgait
from jaxgait.ensembles import zipped
from jaxgait.mechanics.contact import HystereticHertz, ImpactHertz
from jaxgait.model import Variable
from jaxgait.models.jumper.design import ArmSwinger, highest_jump
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.landing import assess_landing, with_landing
from jaxgait.models.jumper.pictures import landings, postures
from jaxgait.models.jumper.scene import figures
from jaxgait.models.jumper.swing import Swing
from jaxgait.parameters import get_parameter
from jaxgait.parts import with_parts
from jaxgait.plot import film
from jaxgait.plot.style import BLUE, axis_label, save, style
from jaxgait.report import Report, table
from jaxgait.run import Run

from .table import WEIGHT, jump_of
from .table import run as accurate

ARMS_UP = eqx.tree_at(
    lambda m: m.shoulder.then, Jumper(), Swing(radians(120.0), 0.27, 0.30), is_leaf=lambda leaf: leaf is None
)
"""Arms that keep rising in the air bring the trunk forward for the landing."""

ALOFT = 0.36
"""Time in s at which the landing is planned."""
MARGIN = 1e-3
"""Relative slack of the limits, whose quantities are read off samples."""


def timing(report: Report, out: pathlib.Path) -> None:
    """The highest jump with no more peak force and angular momentum than the hand-tuned profile."""
    found = highest_jump(Jumper())
    assert isinstance(found.model, ArmSwinger)
    ours, limits = (jump_of(accurate(model)) for model in (found.model.jumper(), Jumper()))  # another solver, samples
    best, tuned = found.best, float(limits.height)
    report.figure("timing-start", "jump height, hand-tuned timing", "m", tuned)
    report.figure("timing-best", "jump height, optimised timing", "m", found.objective)
    report.figure("timing-gain", "gain of the optimised timing", "1", found.objective / tuned - 1.0)
    report.figure("timing-peak", "its peak force / body weight (limit: hand-tuned)", "1", ours.peak_force)
    report.figure("timing-spin", "its angular momentum (limit: hand-tuned)", "kg m^2/s", ours.angular_momentum)
    spin = abs(float(ours.angular_momentum)) / abs(float(limits.angular_momentum))
    within = max(float(ours.peak_force) / float(limits.peak_force), spin) < 1.0 + MARGIN
    report.figure("timing-limits", "both limits kept", "", within, expected=True)
    start = {name: float(get_parameter(Jumper(), name)) for name in best}
    rows = ([name, f"{start[name]:.4f}", f"{value:.4f}"] for name, value in best.items())
    why = found.why_stopped[int(found.basins.best_start[0])]
    text = f"{found.method}, exact gradients {found.gradient}; the best of {len(found.why_stopped)} starts {why}.\n\n"
    report.section("Joint timing", text + table(["parameter", "hand-tuned / s", "optimised / s"], rows))


def landing(report: Report, out: pathlib.Path) -> None:
    """Landings on locked and on flexing legs."""
    once = {"duration": 1.5, "samples": 15000, "solver": diffrax.Tsit5()}  # (of solvers, it compiles fastest)
    locked = jaxgait.simulate(ARMS_UP, **once)
    softer = with_parts(ARMS_UP, {"sole.normal": ImpactHertz(HystereticHertz(ARMS_UP.sole.stiffness))})
    flexing = with_landing(ARMS_UP, locked.sel(time=slice(0.0, ALOFT + 1e-9)))
    runs = {
        "locked legs": locked,
        "locked legs, impact law": jaxgait.simulate(softer, **once),
        "flexing legs": jaxgait.simulate(flexing, **once),
    }
    landed = {name: assess_landing(run, mass=70.0) for name, run in runs.items()}
    for name, of in landed.items():
        key = name.replace(",", "").replace(" ", "-")
        report.figure(f"{key}-status", f"landing completed, {name}", "", runs[name].status == 0, expected=True)
        report.figure(f"{key}-peak", f"peak landing force / body weight, {name}", "1", of.peak_force)
        report.figure(f"{key}-airborne", f"bouncing: time in the air after touch-down, {name}", "s", of.airborne)
    run, found = runs["flexing legs"], landed["flexing legs"]
    report.figure("landing-fall", "fall from the apex to touch-down, flexing legs", "m", found.fall)
    report.figure("landing-speed", "landing speed, flexing legs", "m/s", found.speed)
    report.figure("landing-lowering", "lowering of the centre of mass to rest", "m", found.lowering)
    report.figure(
        "landing-impulse",
        "impulse of the ground reaction minus weight, against the momentum removed",
        "N s",
        found.impulse,
        expected=found.momentum,
        tolerance=1e-3,
    )
    report.figure("landing-end-speed", "speed of the centre of mass at the end", "m/s", found.speed_end)
    report.figure("landing-end-com", "centre of mass ahead of the ankle at the end", "m", found.com_end)
    over = -0.045 < found.com_end < 0.165
    report.figure("landing-over-sole", "centre of mass comes to rest over the sole", "", over, expected=True)
    picture = save(landings(runs, WEIGHT), out / "landing.png")
    report.picture(picture, "Landings: straight legs meet the ground with almost 40 body weights, bounce, and topple.")
    shown = run.sel(time=[0.36, 0.54, 0.68, 0.75, 0.82, 0.90], method="nearest")
    picture = save(postures(figures(flexing, shown), shown.time.values), out / "landing_postures.png")
    report.picture(picture, "The landing: flight, preparation, touch-down, absorption, rest.")
    moving = film.animate(run.sel(time=slice(0.3, 1.2)).isel(time=slice(None, None, 20)), flexing, speed=0.25)
    report.picture(moving.save(out / "landing.gif"), "The same landing as an animation (at quarter speed).")
    _mistimed(report, out, flexing)


def _mistimed(report: Report, out: pathlib.Path, flexing: Jumper) -> None:
    """The absorbing motion too early or too late, since prescribed joints cannot react."""
    errors = np.linspace(-0.03, 0.03, 49)
    legs = {f"{n}.then.delay": getattr(flexing, n).then.delay + errors for n in ("ankle", "knee", "hip")}
    scan = jaxgait.ensemble(
        flexing,
        zipped(legs),
        duration=1.0,
        samples=5000,
        observe=_peak,
        variables={"peak": Variable("1", "peak landing force / body weight")},
    )
    failed = int((scan.status != 0).sum())
    report.figure("mistimed-failed", "failed among 49 mistimed landings", "1", failed, expected=0)
    peak = scan.peak.values.ravel()
    for error in (-0.01, 0.01):
        value = float(np.interp(error, errors, peak))
        report.figure(f"mistimed-{1e3 * error:.0f}ms", f"peak force, legs {1e3 * error:+.0f} ms off", "1", value)
    with style():
        figure, axis = plt.subplots(figsize=(5.5, 3.0))
        axis.plot(1e3 * errors, peak, color=BLUE)
        axis.set(
            xlabel=axis_label("timing error of the legs, late is positive", "ms"),
            ylabel=axis_label("peak force", "body weights"),
        )
        axis.set_ylim(0.0, None)
    report.picture(save(figure, out / "mistimed.png"), "Mistimed landings: prescribed joints must be on time.")


def _peak(run: Run) -> dict[str, jax.Array]:
    down = jnp.where(run.ts > 0.5, run.outputs()["grf_z"], 0.0)
    return {"peak": jnp.max(down) / WEIGHT}
