"""The picture of the solvers' page: why derivatives jump at an event, and the orders of the methods, measured."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxgait import precision
from jaxgait.plot.style import BLUE, GREY, RED, style
from jaxgait.solve.solvers import SOLVERS

from .drawing import DARK, save_sketch

STEPS = (16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512)
ROUNDING = 1e-12
SPAN = 5.0
"""Length of the runs in s."""


def solvers(path: pathlib.Path) -> pathlib.Path:
    """Two neighbouring trajectories through an event, and errors against steps."""
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), width_ratios=(1, 1.15))
        _event(left)
        with precision.use("float64"):
            _orders(right)
    return save_sketch(figure, path)


def _event(ax: Any) -> None:
    """A ball that lands and bounces, and one that was let go a little higher."""
    for drop, color, name in ((1.0, BLUE, "$y$"), (1.22, RED, r"$y + \delta y$")):
        landing = np.sqrt(2.0 * drop)
        before, after = np.linspace(0.6, landing, 50), np.linspace(landing, 2.3, 50)
        ax.plot(before, drop - 0.5 * before**2, color=color, label=name)
        ax.plot(after, 0.7 * landing * (after - landing) - 0.5 * (after - landing) ** 2, color=color)
        ax.plot(landing, 0.0, "o", color=color, ms=5)
    ax.axhline(0.0, color=DARK, lw=1.2)
    ax.annotate("", (np.sqrt(2.44), -0.07), (np.sqrt(2.0), -0.07), arrowprops={"arrowstyle": "<->", "color": GREY})
    ax.text(1.49, -0.16, r"$\delta t^*$", ha="center", color=DARK)
    ax.text(0.64, 0.03, "guard $g = 0$", fontsize=8)
    ax.set(
        ylim=(-0.22, 1.15), xlabel="time", ylabel="state", title="an event moves with the state", xticks=[], yticks=[]
    )
    ax.legend(loc="upper right")


def _orders(ax: Any) -> None:
    """Errors of all solvers with steps of fixed length on a driven pendulum."""
    solve = {name: _solver(solver()) for name, solver in SOLVERS.items()}
    exact, steps = solve["Verner8"](5000), np.array(STEPS)
    for name, run in solve.items():
        errors = np.array([np.hypot(*(run(n) - exact)) for n in STEPS])
        seen = errors > ROUNDING
        slope = -np.polyfit(np.log(steps[seen][-3:]), np.log(errors[seen][-3:]), 1)[0]
        line = "--" if name.startswith("Ro") else "-"
        ax.loglog(steps[seen], errors[seen], line, marker="o", ms=3, lw=1.2, label=f"{name} ({slope:.1f})")
    ax.set(title="a driven pendulum, fixed steps (measured order)", xlabel="steps in 5 s", ylabel="error of the state")
    ax.set_xticks([16, 32, 64, 128, 256, 512], ["16", "32", "64", "128", "256", "512"])
    ax.minorticks_off()
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def _solver(solver: diffrax.AbstractSolver) -> Callable[[int], np.ndarray]:
    """The pendulum's angle and rate at the end, by the number of steps."""
    field = lambda t, y, args: (y[1], jnp.sin(3.0 * t) - 4.0 * jnp.sin(y[0]) - 0.1 * y[1])

    @jax.jit
    def run(dt: Any) -> Any:
        start = (jnp.asarray(0.7), jnp.asarray(0.0))
        found = diffrax.diffeqsolve(diffrax.ODETerm(field), solver, 0.0, SPAN, dt, start, max_steps=None)
        assert found.ys is not None
        return jnp.stack([y[-1] for y in found.ys])

    return lambda n: np.asarray(run(SPAN / n * (1.0 + 1e-14)))
