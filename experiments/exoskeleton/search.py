"""The free numbers of the gait chosen by optimisation: least positive actuator work per metre at the same speed.

The paper leaves j, f, T and eps to "the synthesis of an anthropomorphic periodic gait". Periodicity (steps join without
a jump) is built into the parametrisation by `joined_amplitudes`; what remains are six numbers and inequalities.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from jaxgait.models.exoskeleton import pictures
from jaxgait.models.exoskeleton.measures import Step, histories, step_figures
from jaxgait.models.exoskeleton.model import Exoskeleton, five_links
from jaxgait.models.exoskeleton.walking import joined_amplitudes
from jaxgait.parameters import with_parameters
from jaxgait.plot.style import GREEN, GREY, axis_label, save, style
from jaxgait.report import Report

NAMES = ("amplitude A", "f_1", "f_2 = f_3", "f_4", "stride time T", "stretch eps")
UNITS = ("rad", "rad", "rad", "rad", "s", "1")
START = np.array([0.28, np.pi / 2, 0.3, 0.45, 1.8, 0.03])
LOW = np.array([0.10, 1.0, 0.05, 0.15, 0.8, -0.10])
HIGH = np.array([0.45, 2.1, 0.80, 1.40, 3.0, 0.10])
FEASIBLE = 1e-6
ROUNDING = 1.5
"""Power in W over which the search rounds the kink of positive work, so that its steps do not stall there."""
CLEARANCE = 0.01
"""Height in m that the swing foot keeps in the middle half of the step."""


def model(p: jax.Array) -> Exoskeleton:
    """The exoskeleton with the gait of six numbers (see `NAMES`)."""
    phase = jnp.stack([p[1], p[2], p[2], p[3], 0.0 * p[3]])
    changes = {
        "gait.amplitude": joined_amplitudes(p[0], phase),
        "gait.phase": phase,
        "gait.stride_time": p[4],
        "gait.stretch": p[5],
    }
    return with_parameters(five_links(mode="gait"), changes)


def margins(step: Step, speed: float) -> jax.Array:
    """What must not be negative: foot clearance (m), knee flexion (rad), friction and lift left, speed (m/s)."""
    n = step.foot.shape[0]
    return jnp.concatenate(
        [
            10 * step.foot[:, 2],
            10 * (step.foot[n // 4 : n - n // 4, 2] - CLEARANCE),
            step.flexion.reshape(-1),
            jnp.stack([0.6 - step.friction, step.lift / 500.0 - 0.2, step.speed - speed]),
        ]
    )


def search() -> tuple[np.ndarray, Step, Step, int]:
    """Optimises the gait with SLSQP, exact gradients and several starts.

    Returns:
        The best numbers, the steps before and after, and the iterations of all starts.
    """
    before = jax.jit(lambda p: step_figures(model(p)))(jnp.asarray(START))
    speed = float(before.speed)

    @jax.jit
    def both(p: jax.Array) -> tuple[jax.Array, jax.Array]:
        def values(p: jax.Array) -> jax.Array:
            step = step_figures(model(p), samples=120, rounding=ROUNDING)
            return jnp.concatenate([step.work_per_metre[None] / 100.0, margins(step, speed)])

        return values(p), jax.jacfwd(values)(p)

    cache: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def at(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = p.tobytes()
        if key not in cache:
            cache[key] = tuple(np.asarray(x) for x in both(jnp.asarray(p)))  # type: ignore[assignment]
        return cache[key]

    runs = [_slsqp(at, start) for start in _starts()]
    allowed = [r for r in runs if at(r.x)[0][1:].min() > -FEASIBLE]
    best = min(allowed, key=lambda r: r.fun)
    after = jax.jit(lambda p: step_figures(model(p)))(jnp.asarray(best.x))
    return best.x, before, after, int(sum(r.nit for r in runs))


def _starts(count: int = 4) -> list[np.ndarray]:
    """The example and a few gaits around it."""
    rng = np.random.default_rng(0)
    around = [
        np.clip(START + 0.25 * rng.uniform(-1, 1, START.size) * (HIGH - LOW), LOW, HIGH) for _ in range(count - 1)
    ]
    return [START, *around]


def _slsqp(at: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], start: np.ndarray) -> Any:
    """One run of SLSQP; `at` gives the objective and the constraints in one vector, and its Jacobian."""
    return minimize(
        lambda p: at(p)[0][0],
        start,
        jac=lambda p: at(p)[1][0],
        bounds=list(zip(LOW, HIGH, strict=True)),
        constraints={"type": "ineq", "fun": lambda p: at(p)[0][1:], "jac": lambda p: at(p)[1][1:]},
        method="SLSQP",
        options={"maxiter": 80, "ftol": 1e-7},
    )


def add(report: Report, out: pathlib.Path) -> None:
    """Runs the optimisation and reports what it gains."""
    best, before, after, iterations = search()
    gain = 1 - float(after.work_per_metre / before.work_per_metre)
    for id, what, step in (("before", "our example", before), ("after", "optimised gait", after)):
        report.figure(f"cost_{id}", f"positive work per metre, {what}", "J/m", float(step.work_per_metre))
    report.figure("gain", "work saved by the optimised gait", "1", gain)
    report.figure(
        "worst_margin", "smallest margin of its constraints", "1", float(margins(after, float(before.speed)).min())
    )
    rows = [f"| {n} | {u} | {a:.4f} | {b:.4f} |" for n, u, a, b in zip(NAMES, UNITS, START, best, strict=True)]
    rows += [
        f"| {what} | {unit} | {float(a):.4f} | {float(b):.4f} |"
        for what, unit, a, b in (
            ("step length", "m", before.length, after.length),
            ("speed", "m/s", before.speed, after.speed),
            ("largest ankle moment", "N m", before.ankle, after.ankle),
            ("friction needed", "1", before.friction, after.friction),
            ("highest foot", "m", before.foot[:, 2].max(), after.foot[:, 2].max()),
        )
    ]
    report.section(
        "A better gait",
        f"SLSQP with gradients by forward mode, {iterations} iterations from four starts: least positive work of all "
        "actuators per metre, at no less than the example's speed, foot above the ground and "
        f"{CLEARANCE * 100:g} cm above it in the middle half of the step, knees never overstretched, friction at most "
        f"0.6, steps that join. It saves {gain:.0%} of the work, by longer and slower steps with a low foot."
        "\n\n| | unit | example | optimised |\n|---|---|---|---|\n" + "\n".join(rows),
    )
    report.picture(_picture(best, out / "better_gait.png"), "Postures in one step: our example and the optimised gait.")


def _picture(best: np.ndarray, path: pathlib.Path) -> pathlib.Path:
    """Postures of one step, side by side, with the path of the swing foot."""
    with style():
        figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
        for ax, p, title in zip(axes, (START, best), ("our example", "optimised"), strict=True):
            data = histories(jax.device_get(model(jnp.asarray(p))), strides=0.5, samples=200)
            last = data.sizes["time"] - 1
            for i in np.linspace(0, last, 7).round().astype(int):
                pictures.draw_posture(ax, data, int(i), alpha=0.25 + 0.75 * i / last)
            foot = data.joints.sel(link=4, end="far")
            ax.plot(
                foot.sel(axis="x"), foot.sel(axis="z"), color=GREEN, lw=1.2, ls="--", label="path of the swing foot"
            )
            ax.axhline(0, color=GREY, lw=0.8)
            ax.set(title=title, xlabel=axis_label("x", "m"), xlim=(-0.8, 0.8), ylim=(-0.05, 1.55))
            ax.set_aspect("equal")
        axes[0].set_ylabel(axis_label("z", "m"))
        axes[0].legend(loc="upper left")
        axes[1].legend(handles=pictures.leg_handles(), loc="upper left", ncols=3)
    return save(figure, path)
