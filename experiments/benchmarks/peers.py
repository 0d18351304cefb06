"""heyoka's Taylor integrator in batch mode and ours, on the same equations, at equal error, in one process.

    pip install heyoka
    python -m experiments.benchmarks.peers

Each problem is an ensemble of smooth ordinary differential equations on one core. Both codes are run over a range of
tolerances, and of each the fastest run counts whose error, the median over the members against a much tighter solution,
is small enough. Runs take turns, so that a busy machine slows both. heyoka: https://bluescarni.github.io/heyoka.py/
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision
from jaxgait.native import looped, native
from jaxgait.solve.explicit import Tsit5
from jaxgait.solve.rosenbrock import Rodas5P
from jaxgait.solve.verner import Verner8

from . import lorenz
from .rows import Row, Target, Timing, announce, clocked, last, row, table

MEMBERS, REPEATS, WIDTH = 1024, 3, 8
NOT_THERE = "heyoka is not installed"


class Problem(NamedTuple):
    """An ensemble over one parameter; `field` takes a module with `sin` and `cos`, the state and the parameter."""

    field: Callable[[Any, Sequence[Any], Any], tuple[Any, ...]]
    y0: tuple[float, ...]
    parameters: tuple[float, float]
    span: float
    error: float
    """Largest error of the final state."""
    target: float
    """Largest ratio of our time to heyoka's."""
    solvers: dict[str, Any]


def swing(m: Any, y: Sequence[Any], slope: Any) -> tuple[Any, ...]:
    """The swing of the simplest walking model (Garcia et al., J. Biomech. Eng. 120 (1998) 281): angles, then rates."""
    stance, leg, rate, leg_rate = y
    pull = m.sin(stance - slope)
    return rate, leg_rate, pull, pull + (rate * rate - m.cos(stance - slope)) * m.sin(leg)


def van_der_pol(_: Any, y: Sequence[Any], mu: Any) -> tuple[Any, ...]:
    """Van der Pol's oscillator."""
    return y[1], mu * (1.0 - y[0] * y[0]) * y[1] - y[0]


SMOOTH = {"Verner8": Verner8(), "Tsit5": Tsit5()}
PROBLEMS = {
    "Lorenz": Problem(lorenz.field, (1.0, 0.0, 0.0), (0.0, 21.0), 10.0, 1e-9, 2.0, SMOOTH),
    "compass swing": Problem(swing, (0.2, 0.4, -0.2, -0.015), (0.0, 0.01), 3.0, 1e-11, 2.0, SMOOTH),
    "van der Pol": Problem(
        van_der_pol, (2.0, 0.0), (20.0, 100.0), 20.0, 1e-8, 1.0, {"Rodas5P": Rodas5P(), "Verner8": Verner8()}
    ),
}


def ours(problem: Problem, solver: Any) -> Callable[[Any, Any], Any]:
    """Final states (members, n) and steps as a compiled function of the parameters (members,) and the tolerance."""

    def one(p: jax.Array, rtol: jax.Array) -> tuple[jax.Array, jax.Array]:
        solution = diffrax.diffeqsolve(
            *(diffrax.ODETerm(lambda t, y, p: problem.field(jnp, y, p)), solver, 0.0, problem.span, 1e-3),
            *(tuple(jnp.asarray(x) for x in problem.y0), p),
            stepsize_controller=diffrax.PIDController(rtol, rtol),
            max_steps=1_000_000,
            adjoint=diffrax.ForwardMode(),
            throw=False,
        )
        return jnp.stack(last(solution)), solution.stats["num_steps"]

    return jax.jit(native(jax.vmap(looped(one), in_axes=(0, None))))


def theirs(problem: Problem, tolerance: float) -> Callable[[np.ndarray], np.ndarray]:
    """The same by heyoka, as many members at once as a vector register holds, with what it compiles."""
    import heyoka  # type: ignore[import-not-found]

    names = [f"y{i}" for i in range(len(problem.y0))]
    variables = heyoka.make_vars(*names)
    system = list(zip(variables, problem.field(heyoka, variables, heyoka.par[0]), strict=True))
    start = np.repeat(np.array(problem.y0)[:, None], WIDTH, axis=1)
    options = {"tol": tolerance, "pars": np.zeros((1, WIDTH))}
    integrator = heyoka.taylor_adaptive_batch(system, start, **options)

    def run(parameters: np.ndarray) -> np.ndarray:
        ends = []
        for group in parameters.reshape(-1, WIDTH):
            integrator.set_time(0.0)
            integrator.state[:], integrator.pars[:] = start, group
            integrator.propagate_until(problem.span)
            ends.append(integrator.state.T.copy())
        return np.concatenate(ends)

    return run


def in_turn(runs: dict[Any, Callable[[], Any]], repeats: int) -> dict[Any, Timing]:
    """Times runs one after the other, several times; the first one of each counts as compilation."""
    timings = {key: Timing() for key in runs}
    for timing, run in zip(timings.values(), runs.values(), strict=True):
        begin = time.perf_counter()
        run()
        timing.compile = time.perf_counter() - begin
    for _ in range(repeats):
        for timing, run in zip(timings.values(), runs.values(), strict=True):
            timing.result = clocked(timing, run)
    return timings


def compared(name: str, members: int, repeats: int) -> tuple[list[Row], Target]:
    """Rows of a problem, one for each code, method and tolerance, and ours over theirs at the required error."""
    problem = PROBLEMS[name]
    parameters = np.linspace(*problem.parameters, members)
    there = importlib.util.find_spec("heyoka") is not None
    runs: dict[tuple[str, str, float], Callable[[], Any]] = {}
    for method, solver in problem.solvers.items():
        run = ours(problem, solver)
        for rtol in problem.error * 10.0 ** np.arange(2.0, -3.1, -1.0):
            if rtol > 1e-14:
                args = jnp.asarray(parameters), jnp.asarray(rtol)
                runs["jaxgait", method, float(rtol)] = lambda r=run, a=args: jax.block_until_ready(r(*a))
    for tolerance in problem.error * 10.0 ** np.arange(2.0, -3.1, -1.0) if there else ():
        taylor = theirs(problem, float(tolerance))
        runs["heyoka", "Taylor", float(tolerance)] = lambda r=taylor: (r(parameters), None)
    announce(f"{name}: {len(runs)} runs")
    timings = in_turn(runs, repeats)
    reference = np.asarray(ours(problem, Verner8())(jnp.asarray(parameters), jnp.asarray(1e-14))[0])
    rows = []
    for (code, method, rtol), timing in timings.items():
        ends, steps = timing.result
        error = np.abs(np.asarray(ends) - reference).max(axis=1)
        details = dict(problem=name, code=code, method=method, members=members, work=f"T = {problem.span:g}, {rtol:g}")
        rows.append(row(timing, **details, steps=None if steps is None else int(np.sum(steps)), error=error))  # type: ignore[arg-type]
    return rows, target(name, problem, rows, there)


def target(name: str, problem: Problem, rows: list[Row], there: bool) -> Target:
    """Ratio of the times of the fastest runs that are accurate enough, ours over theirs."""
    good = [r for r in rows if r.error is not None and r.error <= problem.error]
    best = {code: min((r for r in good if r.code == code), key=_cost, default=None) for code in ("jaxgait", "heyoka")}
    mine, other = best["jaxgait"], best["heyoka"]
    shown = lambda r: f"{r.code} {r.method} {1e3 * r.cpu_ms_per_member:.3g} us, error {r.error:.1e}"
    note = "; ".join(shown(r) for r in (mine, other) if r is not None) + ("" if there else f"; {NOT_THERE}")
    measured = None if mine is None or other is None else _cost(mine) / _cost(other)
    what = f"{name}: jaxgait over heyoka at an error of {problem.error:g}, CPU time"
    return Target(what, problem.target, measured, True, note, promised=True)


def _cost(r: Row) -> float:
    return r.cpu_min_s


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """All problems."""
    rows: list[Row] = []
    targets = []
    with precision.use("float64"):
        for name in PROBLEMS:
            more, found = compared(name, 64 if quick else MEMBERS, 1 if quick else REPEATS)
            rows += more
            targets.append(found)
    return rows, targets


if __name__ == "__main__":
    print(table(*measure(False)))
