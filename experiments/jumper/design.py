"""Beyond the paper: joint timing for height under limits, and a landing on flexing legs."""

from __future__ import annotations

import pathlib
from math import radians

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import jaxgait
from jaxgait import precision
from jaxgait.analysis.jumper import fly
from jaxgait.models.jumper import Jumper
from jaxgait.models.parameters import get_parameter, with_parameters
from jaxgait.models.swing import Swing
from jaxgait.plot.style import BLUE, GREY, ORANGE, save, style
from jaxgait.report import Report
from jaxgait.solve.integrate import settings_for

FREE = {  # parameter: bounds in s
    "ankle.delay": (0.0, 0.2),
    "knee.delay": (0.0, 0.2),
    "hip.delay": (0.0, 0.2),
    "shoulder.delay": (0.0, 0.2),
    "ankle.duration": (0.15, 0.5),
    "knee.duration": (0.2, 0.5),
    "hip.duration": (0.2, 0.5),
    "shoulder.duration": (0.2, 0.5),
}
MARGIN = 1e-3
"""Relative slack for the limits: peak and angular momentum are read off samples."""


def timing(report: Report, out: pathlib.Path) -> None:
    """Highest jump whose peak force and angular momentum stay below those of the hand-tuned profile."""
    with precision.use("float64"):
        model = precision.cast(Jumper())
        start = np.array([float(get_parameter(model, name)) for name in FREE])
        evaluate, history = _evaluator(model), []
        tuned = evaluate(start)[0]
        limits = np.array([tuned[1], abs(tuned[2]), abs(tuned[2])])

        def slack(x: np.ndarray) -> np.ndarray:
            _, peak, spin = evaluate(x)[0]
            return 1.0 - np.array([peak, spin, -spin]) / limits

        def slope(x: np.ndarray) -> np.ndarray:
            J = evaluate(x)[1]
            return -np.stack([J[1], J[2], -J[2]]) / limits[:, None]

        found = minimize(
            lambda x: -evaluate(x)[0][0],
            start,
            jac=lambda x: -evaluate(x)[1][0],
            bounds=list(FREE.values()),
            constraints={"type": "ineq", "fun": slack, "jac": slope},
            method="SLSQP",
            callback=lambda x: history.append(evaluate(x)[0][0]),
            options={"maxiter": 25, "ftol": 1e-5},
        )
        best = evaluate(found.x)[0]
    report.figure("timing-start", "jump height, hand-tuned timing", "m", float(tuned[0]))
    report.figure("timing-best", "jump height, optimised timing", "m", float(best[0]))
    report.figure("timing-gain", "gain of the optimised timing", "1", float(best[0] / tuned[0] - 1.0))
    report.figure("timing-peak", "its peak force / body weight (limit: hand-tuned)", "1", float(best[1]))
    report.figure("timing-spin", "its angular momentum (limit: hand-tuned)", "kg m^2/s", float(best[2]))
    within = bool((slack(found.x) > -MARGIN).all())
    report.figure("timing-limits", "both limits kept", "", within, expected=True)
    table = "\n".join(f"| {n} | {a:.4f} | {b:.4f} |" for n, a, b in zip(FREE, start, found.x, strict=True))
    text = f"SLSQP with exact gradients through the solve, {found.nit} iterations: {found.message}.\n\n"
    report.section("Joint timing", f"{text}| parameter | hand-tuned / s | optimised / s |\n|---|---|---|\n{table}")


def _evaluator(model: Jumper):
    """Height, peak force and angular momentum with their gradient, remembering the last point."""
    ts, settings = jnp.linspace(0.0, 0.6, 601), settings_for(model, rtol=1e-7, atol=1e-8)

    def figures(x: jax.Array) -> jax.Array:
        changed = with_parameters(model, dict(zip(FREE, x, strict=True)))
        # elbow and shoulder swing together
        changed = eqx.tree_at(lambda m: m.elbow, changed, Swing(model.elbow.angle, x[3], x[7]))
        jump = fly(changed, ts, settings)
        return jnp.stack([jump.height, jump.peak_force, jump.angular_momentum])

    run = jax.jit(lambda x: (figures(x), jax.jacfwd(figures)(x)))
    seen: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = np.asarray(x).tobytes()
        if key not in seen:
            seen[key] = tuple(np.asarray(v) for v in run(jnp.asarray(x)))  # type: ignore[assignment]
        return seen[key]

    return evaluate


def landing(report: Report, out: pathlib.Path) -> None:
    """Coming down with straight locked legs, and with legs that flex while they meet the ground."""
    locked, flexing = Jumper(), _with_flexion()
    runs = {}
    for name, model in (("locked", locked), ("flexing", flexing)):
        runs[name] = jaxgait.simulate(model, duration=1.0, samples=2000)
        down = runs[name].sel(time=slice(0.5, 1.0))
        peak = float(down.grf_z.max() / (70.0 * 9.81))
        report.figure(f"landing-{name}", f"peak landing force / body weight, {name} legs", "1", peak)
        done = runs[name].attrs["status"] == 0
        report.figure(f"landing-{name}-status", f"landing survived by the solver, {name} legs", "", done, expected=True)
    with style():
        figure, axis = plt.subplots(figsize=(6.5, 3.2))
        for (name, run), colour in zip(runs.items(), (GREY, BLUE), strict=True):
            axis.plot(run.time, run.grf_z / (70.0 * 9.81), color=colour, label=f"{name} legs")
        axis.axhline(1.0, color=ORANGE, lw=0.8, ls="--")
        axis.set(xlabel="time / s", ylabel="vertical force / body weight", yscale="symlog", ylim=(0, None))
        axis.legend(loc="upper left")
    report.picture(save(figure, out / "landing.png"), "Landing on straight and on flexing legs.")


def _with_flexion() -> Jumper:
    """The sequenced jump whose legs flex again from shortly before touch-down."""
    model = Jumper()
    flexion = {"ankle": 30.0, "knee": 70.0, "hip": 60.0}
    for name, angle in flexion.items():
        swing = getattr(model, name)
        then = Swing(radians(angle), 0.55, 0.30)
        changed = Swing(swing.angle, swing.delay, swing.duration, then)
        model = eqx.tree_at(lambda m, n=name: getattr(m, n), model, changed)
    return model
