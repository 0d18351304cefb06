"""The driven knee, stiff and adaptive: ensembles over the damper's spring, value and gradient."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from experiments.knee.expected import RATIO
from jaxgait import precision
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.native import looped, native
from jaxgait.parameters import parameters, with_parameters
from jaxgait.solve.rosenbrock import Rodas4, Rodas5P, Ros4
from jaxgait.solve.smooth import REDUNDANT_CHECKS, Smooth, integrate

from . import cpp, pool
from .gradients import directional
from .rows import Program, Row, Target, Timing, announce, last, row, timed

COMPILE = """
from experiments.benchmarks import knee
with knee.precision.use("float64"):
    print(knee.Ensemble({members}, knee.Ros4(pivoting=False)).program.compile)
"""
ROOT = pathlib.Path(__file__).parents[2]
STOCK_RTOL = 1e-5
REFERENCE_RTOL = 1e-9


def springs(members: int) -> jax.Array:
    """Springs in N/m over the period-1 range of the set R2; every count has the end points in common."""
    return jnp.linspace(1.6e4, 3.0e4, members)


def member(k: Any, c: Any) -> Prosthesis:
    """The knee with a damper (k, c)."""
    return with_parameters(precision.cast(Prosthesis()), {"damper.k": k, "damper.c": c})


def angles(k: Any, c: Any, span: Any, rtol: Any, settings: Smooth) -> tuple[jax.Array, jax.Array]:
    """Final angles in rad (2,) of one member, and its number of steps; the tolerance may be traced."""
    chosen = dataclasses.replace(settings, rtol=rtol, atol=rtol * 1e-2)
    run = integrate(member(k, c), jnp.stack([jnp.zeros_like(span), span]), chosen)
    return jnp.stack([run.y_end.theta_b, run.y_end.beta_1]), run.steps + run.rejected


class Ensemble:
    """The ensemble as jaxgait runs it, or by XLA alone: compiled once for all spans and tolerances."""

    def __init__(self, members: int, solver: diffrax.AbstractSolver, *, xla: bool = False):
        settings = Smooth.of(Prosthesis(), solver=solver)
        one = lambda k, span, rtol: angles(k, RATIO * k, span, rtol, settings)
        run = jax.vmap(one if xla else looped(one, assured=REDUNDANT_CHECKS), in_axes=(0, None, None))
        self.springs = springs(members)
        self.program = Program(run if xla else native(run), self.springs, jnp.asarray(1.0), jnp.asarray(1e-5))

    def time(self, span: float, rtol: float, repeats: int) -> Timing:
        """Integrates to `span` in s."""
        return self.program.time(self.springs, jnp.asarray(span), jnp.asarray(rtol), repeats=repeats)


def stock(k: jax.Array, span: float, repeats: int) -> Timing:
    """What a user would write: the state an array, `jit(vmap(diffeqsolve))` with Kvaerno5."""

    def one(k: Any) -> tuple[jax.Array, jax.Array]:
        model = member(k, RATIO * k)
        start = model.initial_state()
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, m: pool.flat(m.vector_field, start)(t, y)),
            *(diffrax.Kvaerno5(), 0.0, span, 1e-5, jnp.stack(start), model),
            stepsize_controller=diffrax.PIDController(STOCK_RTOL, STOCK_RTOL * 1e-2, dtmax=0.01),
            max_steps=1_000_000,
            throw=False,
        )
        return last(solution)[:2], solution.stats["num_steps"]

    return timed(jax.vmap(one), k, repeats=repeats)


def one_by_one() -> pool.Problem:
    """The knee for SciPy; the parameter is the spring."""
    y0 = member(1.6e4, 800.0).initial_state()
    field = lambda t, y, k: pool.flat(member(k, RATIO * k).vector_field, y0)(t, y)
    return field, np.array(y0, dtype=float)


def scipy(method: str, k: jax.Array, span: float) -> Timing:
    """SciPy's method with jitted right-hand side and Jacobian, in a pool of processes."""
    options = dict(rtol=STOCK_RTOL, atol=STOCK_RTOL * 1e-2, max_step=0.01, first_step=1e-5)
    timing = pool.scipy(one_by_one, k.tolist(), span, method=method, **options)
    y, steps = timing.result
    timing.result = (y[:, :2], steps)
    return timing


def description(model: Prosthesis) -> str:
    """The parameters and the drive as the C++ program reads them: lines of a name and its numbers."""
    numbers = {name: [info.value] for name, info in parameters(model).items()}
    drive = model.drive
    numbers |= {"drive.period": [drive.period], "drive.speed": [drive.speed]}
    for name in ("hip_x", "hip_y", "thigh", "ankle"):
        series = getattr(drive, name)
        numbers[f"drive.{name}"] = [series.a0, *np.stack([series.a, series.b], axis=1).ravel()]
    return "".join(f"{name} {' '.join(repr(float(x)) for x in row)}\n" for name, row in numbers.items())


def hand_written(kind: str, k: Any, span: float, rtol: float, repeats: int) -> Timing:
    """The C++ program ("scalar" or "simd") with the method of `Ros4`, on one core; results as of `angles`."""
    k = np.asarray(k, dtype=float)
    start = np.array(member(1.6e4, 800.0).initial_state(), dtype=float)
    with tempfile.TemporaryDirectory() as folder:
        model, members, states = (pathlib.Path(folder) / name for name in ("model", "members", "states"))
        model.write_text(description(Prosthesis()))
        np.column_stack([k, RATIO * k, np.tile(start, (k.size, 1))]).tofile(members)
        timing = cpp.timed("knee", "run", kind, model, members, repr(span), repr(rtol), states, repeats=repeats)
        rows = np.fromfile(states).reshape(k.size, 5)
    timing.result = (rows[:, :2], rows[:, 4])
    return timing


def hand_written_field(kind: str, model: Prosthesis, points: np.ndarray) -> np.ndarray:
    """Right-hand side and its derivatives with respect to t, y by the C++ program.

    Args:
        kind: "scalar" or "simd".
        model: parameters and drive.
        points: rows of t, y (points, 5).

    Returns:
        (points, 6, 4): the right-hand side, its time derivative and its derivatives along the four variables.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("model", "points", "out")]
        paths[0].write_text(description(model))
        np.asarray(points, dtype=float).tofile(paths[1])
        cpp.run("knee", "field", kind, *paths)
        return np.fromfile(paths[2]).reshape(-1, 6, 4)


def final_angles(values: jax.Array, span: float) -> jax.Array:
    """Final angles (2,) of a member with spring and damper `values` (2,).

    Steps are unrolled for derivatives, too, as `ensemble` does it for large batches.
    """
    k, c = values
    return angles(k, c, jnp.asarray(span), STOCK_RTOL, Smooth.of(Prosthesis()))[0]


def cached_compile(members: int) -> float:
    """Seconds to trace and load the ensemble's program from the disk caches, in a second process."""
    command = [sys.executable, "-c", COMPILE.format(members=members)]
    with tempfile.TemporaryDirectory() as folder:
        caches = {"JAXGAIT_CACHE": f"{folder}/jaxgait", "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax"}
        env = {**os.environ, **caches, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        run = lambda: subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout
        run()
        return float(run())


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """All rows of the knee; quickly without SciPy, derivatives and scaling."""
    members, few, span, repeats = (64, 2, 0.01, 1) if quick else (256, 8, 1.127, 3)
    solvers = [Ros4] if quick else [Ros4, Rodas4, Rodas5P]
    tolerances = (1e-5,) if quick else (1e-5, 1e-6, 1e-7)
    all_k = springs(members)
    some_k = all_k[np.linspace(0, members - 1, few).round().astype(int)]
    rows: list[Row] = []
    ensembles: dict[str, Ensemble] = {}
    for solver in solvers:
        announce(f"knee: compiling {solver.__name__}, {members} members")
        ensembles[solver.__name__] = Ensemble(members, solver(pivoting=False))
    announce("knee: reference")
    exact = ensembles[solvers[-1].__name__].time(span, REFERENCE_RTOL, 1).result[0]
    reference = dict(zip(all_k.tolist(), np.asarray(exact), strict=True))

    def add(timing: Timing, code: str, method: str, k: jax.Array, rtol: float) -> Row:
        final, steps = timing.result
        error = [np.abs(a - reference[x]).max() for x, a in zip(k.tolist(), np.asarray(final), strict=True)]
        details = dict(problem="knee", code=code, method=method, members=k.size, work=f"{span:g} s, rtol {rtol:g}")
        rows.append(row(timing, **details, steps=int(np.sum(steps)), error=error))  # type: ignore[arg-type]
        return rows[-1]

    for name, ensemble in ensembles.items():
        for rtol in tolerances:
            announce(f"knee: jaxgait, {name}, rtol {rtol:g}")
            add(ensemble.time(span, rtol, repeats), "jaxgait", name, all_k, rtol)
    if not quick:
        announce("knee: jaxgait without machine code of its own")
        by_xla = Ensemble(members, Ros4(pivoting=False), xla=True)
        add(by_xla.time(span, STOCK_RTOL, 1), "jaxgait", "Ros4, by XLA alone", all_k, STOCK_RTOL)
    if cpp.compiler():
        for kind in ("simd", "scalar"):
            for rtol in tolerances:
                announce(f"knee: C++, {kind}, rtol {rtol:g}")
                add(hand_written(kind, all_k, span, rtol, repeats), "C++", f"Ros4, {kind}", all_k, rtol)
    announce(f"knee: stock Kvaerno5, {few} members")
    kvaerno = add(stock(some_k, span, 1), "diffrax", "Kvaerno5, jit(vmap)", some_k, STOCK_RTOL)
    radau = None
    for method in () if quick else ("LSODA", "Radau"):
        announce(f"knee: SciPy {method}, {few} members")
        radau = add(scipy(method, some_k, span), "SciPy", f"{method}, in processes", some_k, STOCK_RTOL)
    targets = _targets(rows, kvaerno, radau)
    if not quick:
        announce("knee: value and gradient")
        targets += _differentiated(rows, members, span)
        announce("knee: second compilation")
        seconds = cached_compile(members)
        targets.append(Target("knee: second compilation, from the disk cache, s", 5.0, seconds, at_most=True))
        announce("knee: scaling with members and strides")
        rows += _scaling(ensembles["Ros4"], members, span)
    return rows, targets


def _targets(rows: list[Row], kvaerno: Row, radau: Row | None) -> list[Target]:
    """Ratios at equal error: the slower code against the cheapest row of ours that is at least as accurate."""
    of = lambda code, method: [r for r in rows if r.code == code and r.method == method]

    def ratio(slow: Row | None) -> tuple[float | None, str]:
        if slow is None:
            return None, "not in a quick run"
        as_good = [r for r in rows if r.code == "jaxgait" and r.error is not None and r.error <= (slow.error or 0.0)]
        fast = min(as_good or [rows[0]], key=lambda r: r.cpu_ms_per_member)
        note = f"{fast.method}, {fast.work}" + ("" if as_good else ", which is less accurate")
        return slow.cpu_ms_per_member / fast.cpu_ms_per_member, note

    def floor(kind: str) -> float | None:
        """Processor time of ours over that of C++: the same method and, at the first tolerance, the same steps."""
        theirs = of("C++", f"Ros4, {kind}")
        return of("jaxgait", "Ros4")[0].cpu_ms_per_member / theirs[0].cpu_ms_per_member if theirs else None

    (stock_ratio, stock_note), (radau_ratio, radau_note) = ratio(kvaerno), ratio(radau)
    scalar, note = floor("scalar"), "" if cpp.compiler() else "no g++ on this machine"
    return [
        Target("knee: stock Kvaerno5 over jaxgait, CPU time", 150.0, stock_ratio, note=stock_note),
        Target("knee: SciPy Radau over jaxgait, CPU time", 50.0, radau_ratio, note=radau_note),
        Target("knee: scalar C++ over jaxgait, CPU time", 4.0, None if scalar is None else 1.0 / scalar, note=note),
        Target("knee: jaxgait over SIMD C++, CPU time", 1.3, floor("simd"), True, note, promised=True),
        Target("knee: compilation of a value, s", 30.0, rows[0].compile_s, at_most=True),
    ]


def _differentiated(rows: list[Row], members: int, span: float) -> list[Target]:
    """Value alone, and value with derivatives along directions in the plane of k and c."""
    k = springs(members)
    timings = {}
    for count in (0, 1, 2, 8, 32):
        announce(f"knee: value and {count} tangents")
        timings[count] = directional(lambda v: final_angles(v, span), jnp.stack([k, RATIO * k]), count, repeats=1)
        method = f"Ros4, value and {count} tangents" if count else "Ros4, value"
        details = dict(problem="knee", code="jaxgait", method=method, members=members)
        work = f"{span:g} s, rtol {STOCK_RTOL:g}"
        rows.append(row(timings[count], **details, work=work, steps=None, error=None))  # type: ignore[arg-type]
    ratio = {n: t.cpu_min / timings[0].cpu_min for n, t in timings.items()}
    note = "ratio by directions: " + ", ".join(f"{n}: {r:.3g}" for n, r in ratio.items() if n)
    return [
        Target(
            "knee: value and gradient (2 parameters) over value, CPU time", 2.0, ratio[2], True, note, promised=True
        ),
        Target("knee: compilation of value and gradient, s", 60.0, timings[2].compile, at_most=True),
    ]


def _scaling(ensemble: Ensemble, members: int, span: float) -> list[Row]:
    """Cost against the number of strides and of members."""
    runs = [(members, strides, ensemble) for strides in (2, 4)]
    runs += [(n, 1, Ensemble(n, Ros4(pivoting=False))) for n in (16, 1024)]
    rows = []
    for n, strides, each in runs:
        timing = each.time(strides * span, STOCK_RTOL, 1)
        details = dict(problem="knee", code="jaxgait", method="Ros4, scaling", members=n)
        steps = int(np.sum(timing.result[1]))
        rows.append(row(timing, **details, work=f"{strides * span:g} s, rtol 1e-05", steps=steps, error=None))  # type: ignore[arg-type]
    return rows
