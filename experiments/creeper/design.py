"""Design: the fastest gait under limits on actuator force and slip, by gradients through the solve."""

from __future__ import annotations

import pathlib

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from jaxgait import precision
from jaxgait.models.creeper.measures import performance
from jaxgait.models.creeper.model import Creeper
from jaxgait.parameters import get_parameter, with_parameters
from jaxgait.report import Report
from jaxgait.solve.smooth import Smooth

FORCE_LIMIT = 1.0  # N
SLIP_LIMIT = 0.015
BOUNDS = {  # of the search; the stroke of the shaft is at most 0.4 unit lengths
    "gait.stroke": (2e-3, 12e-3),
    "gait.period": (0.5, 2.0),
    "gait.dwell": (0.005, 0.03),
    "gait.ramp": (0.01, 0.05),
    "gait.coil_time": (0.01, 0.04),
    "gait.coil_delay": (-0.01, 0.01),
}
STEPS = 12
STABLE_STEP = 8e-5
"""In s. Step control keeps an explicit solve bounded, but not its tangents: |v| / z_s times the step must be < 2.5."""


def optimise(report: Report, out: pathlib.Path) -> None:
    """Maximises net speed over the gait; a step costs one solve with its tangents (forward mode)."""
    names, bounds = list(BOUNDS), np.array(list(BOUNDS.values()))
    start = np.array([float(get_parameter(Creeper(), name)) for name in names])
    evaluate, visited = _evaluator(names, bounds)
    unit = (start - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
    with precision.use("float64"):
        result = minimize(
            lambda x: -100.0 * evaluate(x)[0][0],
            unit,
            jac=lambda x: -100.0 * evaluate(x)[1][0],
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(names),
            constraints={
                "type": "ineq",
                "fun": lambda x: 10.0 * evaluate(x)[0][1:],
                "jac": lambda x: 10.0 * evaluate(x)[1][1:],
            },
            options={"maxiter": STEPS, "ftol": 1e-5},
        )
        before = evaluate(unit)[0]
    # The search may end a little outside its limits: the fastest gait visited that keeps them is the answer.
    where, after = max((v for v in visited if v[1][1:].min() >= 0.0), key=lambda v: v[1][0])
    best = bounds[:, 0] + where * (bounds[:, 1] - bounds[:, 0])
    report.figure("design-start", "net speed of the default gait", "mm/s", 1e3 * before[0])
    report.figure("design-best", "net speed of the best gait found", "mm/s", 1e3 * after[0])
    report.figure("design-gain", "gain", "1", after[0] / before[0])
    report.figure(
        "design-force", f"its largest actuator force (limit {FORCE_LIMIT:g} N)", "N", FORCE_LIMIT - after[1:3].min()
    )
    report.figure("design-slip", f"its slip (limit {SLIP_LIMIT:g})", "1", SLIP_LIMIT - after[3])
    rows = "\n".join(f"| {n} | {a:.4g} | {b:.4g} |" for n, a, b in zip(names, start, best, strict=True))
    ending = f"Stopped after {result.nit} steps: {result.message}."
    report.section("The fastest gait", f"| parameter | default | best |\n|---|---|---|\n{rows}\n\n{ending}")


def _evaluator(names: list[str], bounds: np.ndarray):
    """Speed and slacks (force, pull, slip) with their derivatives as a function, and the points it has visited."""
    fast = Smooth.of(Creeper(), solver=diffrax.Bosh3(), rtol=1e-5, atol=1e-8, max_step=STABLE_STEP)

    def values(x: jax.Array) -> jax.Array:
        gait = bounds[:, 0] + x * (bounds[:, 1] - bounds[:, 0])
        p = performance(with_parameters(Creeper(), dict(zip(names, gait, strict=True))), samples=200, settings=fast)
        limits = [FORCE_LIMIT - p.peak_force, FORCE_LIMIT + p.least_force, SLIP_LIMIT - p.slip]
        return jnp.stack([p.speed, *limits])

    both = jax.jit(lambda x: (values(x), jax.jacfwd(values)(x)))
    last: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    visited: list[tuple[np.ndarray, np.ndarray]] = []

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = x.tobytes()
        if key not in last:
            last.clear()
            value, slope = both(jnp.asarray(x))
            last[key] = np.asarray(value), np.asarray(slope)
            visited.append((x.copy(), np.asarray(value)))
        return last[key]

    return evaluate, visited
