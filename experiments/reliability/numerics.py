"""Gates of the numerics: orders of convergence, drifts, agreement with peers, gradients against differences."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.flatten_util import ravel_pytree
from scipy.integrate import solve_ivp

from jaxgait import ensemble, registry, simulate
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.jumper.robot import JumpingRobot
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.parameters import get_parameter, with_parameters
from jaxgait.solve.solvers import SOLVERS
from jaxgait.states import state_variables

from .rows import Row, below

ORDERS = {"Bosh3": 3, "Tsit5": 5, "Dopri8": 8, "Verner8": 8, "Rodas3": 3, "Ros4": 4, "Rodas4": 4, "Rodas5P": 5}
"""Orders in theory (see the solvers' sources)."""
SLACK = 0.3
"""How far a slope between finite steps may stay below the order, because of terms of higher order."""
ROPE = {"duration": 20.0, "samples": 200, "rtol": 1e-10, "atol": 1e-10}
STEP = 1e-4
"""Relative step of central differences: truncation and rounding meet near the cube root of the solver's error."""
DELAY = 1e-3
"""The same for the timing of a jump."""
DAMPER = 1e-5
"""The same for the damper of a knee, whose touch-down bends its measures within a thousandth."""
DAMPERS = np.linspace(0.5, 1.5, 24)
"""Stiffnesses of a knee's damper, relative to its own."""
TOUCH_DOWNS = {
    "original touch-down": ({}, (0.08, 0.5)),
    "ground.steepness=1e4": ({"ground.steepness": 1e4}, (0.03, 0.2)),
}
"""Parameters, and the largest error at the default tolerance: at the median, and of nine dampers in ten."""


def orders() -> Iterator[Row]:
    """Slopes of the error of y' = -y^2 cos t, y(0) = 1, whose solution is 1 / (1 + sin t), between two step lengths."""
    for name, kind in SOLVERS.items():
        steps = 8 if ORDERS[name] == 8 else 64
        coarse, fine = (_error(kind(), n) for n in (steps, 2 * steps))
        slope = float(np.log2(coarse / fine))
        bound = ORDERS[name] - SLACK
        yield Row(f"order of {name} from halving the step", f"{slope:.2f}", f"at least {bound:.1f}", slope >= bound)


def _error(solver: diffrax.AbstractSolver, steps: int) -> float:
    field = lambda t, y, args: {"y": -(y["y"] ** 2) * jnp.cos(t)}
    end, start = 2.0, {"y": jnp.asarray(1.0)}
    solved = diffrax.diffeqsolve(diffrax.ODETerm(field), solver, 0.0, end, end / steps, start, max_steps=steps + 1)
    return abs(float(np.asarray((solved.ys or {})["y"])[-1]) - 1.0 / (1.0 + np.sin(end)))


def drifts() -> Iterator[Row]:
    """Energy of a jump without drag, in units of what is exchanged in it; every step may lose its tolerance."""
    free = Bungee(linear_drag=0.0, quadratic_drag=0.0)
    run = simulate(free, **{**ROPE, "duration": 100.0})
    kinetic = 0.5 * float(free.mass) * float((run.v**2).max())
    drift, allowed = float(np.abs(run.energy).max()) / kinetic, run.attrs["steps"] * ROPE["rtol"]
    yield below(f"energy drift of the bungee without drag, 100 s in {run.attrs['steps']} steps", drift, allowed)


PEERS = {
    "bungee": 1e-7,
    "knee": 1e-7,
    "walker": 1e-7,
    "exoskeleton": 1e-8,
    "creeper": 1e-5,
    "inchworm": 1e-5,
    "jumper": 1e-4,
    "jumping-robot": 1e-4,
    "spatial-jumper": 1e-4,
}
"""Largest difference allowed, relative to the largest value of the component; in mechanisms that slide, of friction,
whose bristles are micrometres long."""


def peers() -> Iterator[Row]:
    """Every smooth mechanism against SciPy's integrators, which share no code with ours."""
    for name, bound in PEERS.items():
        model = registry.model(name)
        duration = 20.0 if name == "bungee" else min(1.0, float(model.duration))
        method = "Radau" if model.numerics.stiff else "DOP853"
        run = simulate(model, duration=duration, samples=100, rtol=1e-9, atol=1e-10)
        what = f"{name} against SciPy's {method} over {duration:.3g} s, relative"
        yield below(what, _apart(model, run, method, 1e-10), bound)


def _apart(model: Any, run: xr.Dataset, method: str, tolerance: float) -> float:
    """The largest relative difference of a component of the state between a run and SciPy's solve."""
    start, restored = ravel_pytree(model.initial_state())
    field = jax.jit(lambda t, y: ravel_pytree(model.vector_field(t, restored(y)))[0])
    times = run.time.values
    options = {"t_eval": times, "method": method, "rtol": tolerance, "atol": tolerance}
    solved = solve_ivp(lambda t, y: np.asarray(field(t, y)), times[[0, -1]], np.asarray(start), **options)
    states = jax.vmap(restored)(jnp.asarray(solved.y.T))
    least = np.finfo(float).tiny  # for components that stay zero
    compared = [(run[name].values, np.asarray(theirs)) for name, theirs in state_variables(states).items()]
    return float(np.max([np.abs(x - y).max() / max(np.abs(y).max(), least) for x, y in compared]))  # NaN stays NaN


def gradients() -> Iterator[Row]:
    """Forward derivatives through the solve against central differences, and members against each alone."""
    over = {"mass": np.array([60.0, 70.0, 80.0])}
    request = {**ROPE, "observe": lambda run: {"last": run["x"][-1]}, "progress": False}
    names = ["mass", "stiffness", "gravity"]
    data = ensemble(Bungee(), over, gradient=names, **request)
    found = data.last_gradient.values[1]
    yield below(
        "gradient of the position after 20 s against finite differences, relative", _worst(found, names, request), 1e-5
    )
    alone = ensemble(Bungee(), {"mass": over["mass"][1:2]}, gradient=names, **request).last_gradient.values[0]
    yield below(
        "gradient of a member, batch against single run, relative", float(np.max(np.abs(found / alone - 1))), 1e-12
    )


def _worst(found: np.ndarray, names: list[str], request: dict) -> float:
    """The largest relative difference of a gradient from central differences at the standard jump."""
    own = {"mass": 70.0, "stiffness": 20.0, "gravity": 10.0}
    worst = 0.0
    for name, slope in zip(names, found, strict=True):
        ends = own[name] * np.array([1.0 - STEP, 1.0 + STEP])
        low, high = ensemble(with_parameters(Bungee(), own), {name: ends}, **request).last.values
        worst = max(worst, abs(slope / ((high - low) / (ends[1] - ends[0])) - 1.0))
    return float(worst)


def take_off_gradients() -> Iterator[Row]:
    """Derivatives of a jump by the timing of the knee, against differences of runs with tight tolerances.

    Error control sees values only, so that derivatives are less accurate than them where the feet slip.
    """
    names = ["height", "take_off_vx"]
    tight: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}
    delay = float(get_parameter(JumpingRobot(), "knee.delay"))
    jump = functools.partial(ensemble, JumpingRobot(), observe=names, progress=False)
    ends = jump({"knee.delay": delay * np.array([1.0 - DELAY, 1.0 + DELAY])}, **tight)
    for tolerance, options, bounds in (("default tolerance", {}, (2e-3, 5e-2)), ("rtol 1e-10", tight, (2e-3, 5e-3))):
        found = jump({"knee.delay": [delay]}, gradient="knee.delay", **options)
        for name, bound in zip(names, bounds, strict=True):
            slope = float(ends[name].diff("knee.delay").item()) / (2.0 * DELAY * delay)
            words = found[name].attrs["long_name"]
            error = abs(found[f"{name}_gradient"].item() / slope - 1.0)
            what = f"gradient of the jumping robot's {words}, {tolerance}, {int(found.steps.item())} steps, relative"
            yield below(what, error, bound)


def knee_gradients() -> Iterator[Row]:
    """Derivatives of two strides of the knee by its damper, against differences of runs with tight tolerances.

    The worse of two measures. A few dampers are left out of the bounds: where a derivative crosses zero, its relative
    error has no limit.
    """
    names = ["rho", "peak_flexion"]
    tight: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11}
    for touch_down, (parameters, default) in TOUCH_DOWNS.items():
        leg = with_parameters(Prosthesis(), parameters)
        walk: Any = functools.partial(ensemble, leg, strides=2, observe=names, progress=False)
        k = DAMPERS * float(leg.damper.k)
        low, high = (walk({"damper.k": k * (1.0 + side * DAMPER)}, **tight) for side in (-1.0, 1.0))
        for tolerance, options, bounds in (
            ("default tolerance", {}, default),
            ("rtol 1e-8", {"rtol": 1e-8, "atol": 1e-10}, (5e-3, 2e-2)),
        ):
            found = walk({"damper.k": k}, gradient="damper.k", **options)
            slopes = [(high[name].values - low[name].values) / (2.0 * DAMPER * k) for name in names]
            errors = [
                np.abs(found[f"{name}_gradient"].values[:, 0] / slope - 1.0)
                for name, slope in zip(names, slopes, strict=True)
            ]
            steps = int(found.steps.mean())
            for share, words, bound in zip((0.5, 0.9), ("the median", "the 90th percentile"), bounds, strict=True):
                what = f"gradient of the knee's rho and peak flexion, {touch_down}, {tolerance}, {steps} steps: "
                yield below(
                    f"{what}{words} of {k.size} dampers, relative", np.quantile(errors, share, axis=1).max(), bound
                )
