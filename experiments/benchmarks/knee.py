"""The driven knee, stiff and adaptive: ensembles over the damper's spring, value and gradient."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.compilation_cache import compilation_cache
from scipy.integrate import solve_ivp

from jaxgait import precision
from jaxgait.models.base import Model
from jaxgait.models.parameters import with_parameters
from jaxgait.models.prosthesis import Prosthesis
from jaxgait.solve.integrate import Settings, integrate, settings_for
from jaxgait.solve.rosenbrock import Rodas4, Rodas5P, Ros4

from .rows import Program, Row, Target, Timing, clocked, last, row, timed

RATIO = 0.05
"""c / k in s of the set R2."""
STOCK_RTOL = 1e-5
REFERENCE_RTOL = 1e-9
GRADIENT_OPTIONS = {"xla_cpu_use_fusion_emitters": False}


def springs(members: int) -> jax.Array:
    """Springs in N/m over the period-1 range of the set R2; every count has the end points in common."""
    return jnp.linspace(1.6e4, 3.0e4, members)


def member(k: Any, c: Any) -> Model:
    """The knee with a damper (k, c)."""
    return with_parameters(precision.cast(Prosthesis()), {"damper.k": k, "damper.c": c})


def angles(k: Any, c: Any, span: Any, rtol: Any, settings: Settings) -> tuple[jax.Array, jax.Array]:
    """Final angles in rad (2,) of one member, and its number of steps; the tolerance may be traced."""
    chosen = dataclasses.replace(settings, rtol=rtol, atol=rtol * 1e-2)
    run = integrate(member(k, c), jnp.stack([jnp.zeros_like(span), span]), chosen)
    return jnp.stack([run.y_end.theta_b, run.y_end.beta_1]), run.steps + run.rejected


class Ensemble:
    """The ensemble as jaxgait runs it: compiled once for all spans and tolerances."""

    def __init__(self, members: int, solver: diffrax.AbstractSolver):
        settings = settings_for(Prosthesis(), solver=solver)
        run = jax.vmap(lambda k, span, rtol: angles(k, RATIO * k, span, rtol, settings), in_axes=(0, None, None))
        self.springs = springs(members)
        self.program = Program(run, self.springs, jnp.asarray(1.0), jnp.asarray(1e-5))

    def time(self, span: float, rtol: float, repeats: int) -> Timing:
        """Integrates to `span` in s."""
        return self.program.time(self.springs, jnp.asarray(span), jnp.asarray(rtol), repeats=repeats)


def stock(members: int, span: float, repeats: int) -> Timing:
    """What a user would write: the state an array, `jit(vmap(diffeqsolve))` with Kvaerno5."""

    def one(k: Any) -> tuple[jax.Array, jax.Array]:
        model = member(k, RATIO * k)
        start = model.initial_state()
        field = lambda t, y, m: jnp.stack(m.vector_field(t, type(start)(*y)))
        solution = diffrax.diffeqsolve(
            *(diffrax.ODETerm(field), diffrax.Kvaerno5(), 0.0, span, 1e-5, jnp.stack(start), model),
            stepsize_controller=diffrax.PIDController(STOCK_RTOL, STOCK_RTOL * 1e-2, dtmax=0.01),
            max_steps=1_000_000,
            throw=False,
        )
        return last(solution)[:2], solution.stats["num_steps"]

    return timed(jax.vmap(one), springs(members), repeats=repeats)


def radau(members: int, span: float) -> Timing:
    """SciPy's Radau, one member after the other, with jitted right-hand side and Jacobian."""
    start = member(1.6e4, 800.0).initial_state()
    field = lambda t, y, k: jnp.stack(member(k, RATIO * k).vector_field(t, type(start)(*y)))
    f, J = jax.jit(field), jax.jit(jax.jacfwd(field, argnums=1))
    y0 = np.array(jnp.stack(start))
    begin = time.perf_counter()
    jax.block_until_ready((f(0.0, y0, 1.6e4), J(0.0, y0, 1.6e4)))
    timing = Timing(compile=time.perf_counter() - begin)
    options: dict[str, Any] = dict(
        method="Radau", rtol=STOCK_RTOL, atol=STOCK_RTOL * 1e-2, max_step=0.01, first_step=1e-5
    )

    def all_of_them() -> list[Any]:
        tangent = lambda k: lambda t, y: np.asarray(J(t, y, k))
        value = lambda k: lambda t, y: np.asarray(f(t, y, k))
        return [solve_ivp(value(k), (0.0, span), y0, jac=tangent(k), **options) for k in np.asarray(springs(members))]

    runs = clocked(timing, all_of_them)
    timing.result = (np.array([r.y[:2, -1] for r in runs]), np.array([r.t.size - 1 for r in runs]))
    return timing


def value_and_gradient(members: int, span: float, repeats: int) -> tuple[Timing, Timing]:
    """Value alone, and value with the derivatives with respect to k and c (batched tangents sharing the primal)."""

    def value(differentiated: bool) -> Any:
        settings = settings_for(Prosthesis(), differentiated=differentiated)
        return jax.vmap(lambda k, c: angles(k, c, jnp.asarray(span), STOCK_RTOL, settings)[0])

    def both(k: jax.Array, c: jax.Array) -> Any:
        push = lambda a, b: jax.jvp(value(True), (k, c), (jnp.full_like(k, a), jnp.full_like(c, b)))
        return jax.vmap(push, out_axes=(None, 0))(jnp.asarray([1.0, 0.0]), jnp.asarray([0.0, 1.0]))

    k = springs(members)
    alone = timed(value(False), k, RATIO * k, repeats=repeats)
    return alone, timed(both, k, RATIO * k, repeats=repeats, options=GRADIENT_OPTIONS)


def cached_compile(members: int) -> float:
    """Seconds to trace and load the ensemble's program from the disk cache, as a second process would."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, value in zip(names, (folder, 0.0), strict=True):
                jax.config.update(name, value)
            seconds = 0.0
            for _ in range(2):
                jax.clear_caches()
                compilation_cache.reset_cache()
                seconds = Ensemble(members, Ros4(pivoting=False)).program.compile
            return seconds
        finally:
            for name, value in before.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """All rows of the knee."""
    members, few, span, repeats = (64, 2, 0.02, 1) if quick else (256, 8, 1.127, 3)
    work = f"{span:g} s"
    solvers = [Ros4] if quick else [Ros4, Rodas4, Rodas5P]
    ensembles = {solver.__name__: Ensemble(members, solver(pivoting=False)) for solver in solvers}
    best = ensembles[solvers[-1].__name__]
    reference = dict(zip(springs(members).tolist(), best.time(span, REFERENCE_RTOL, 1).result[0], strict=True))

    def entry(timing: Timing, code: str, method: str, n: int, rtol: float) -> Row:
        final, steps = timing.result
        # Ensembles of any size have their end points in common.
        pairs = [(angle, reference[k]) for k, angle in zip(springs(n).tolist(), final, strict=True) if k in reference]
        error = [np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in pairs]
        details = dict(problem="knee", code=code, method=method, members=n, work=f"{work}, rtol {rtol:g}")
        return row(timing, **details, steps=int(np.sum(steps)), error=error)  # type: ignore[arg-type]

    rows = [
        entry(ensemble.time(span, rtol, repeats), "jaxgait", name, members, rtol)
        for name, ensemble in ensembles.items()
        for rtol in ((1e-5,) if quick else (1e-5, 1e-6, 1e-7))
    ]
    kvaerno = entry(stock(few, span, 1), "diffrax", "Kvaerno5, jit(vmap)", few, STOCK_RTOL)
    scipy = entry(radau(1, span), "SciPy", "Radau, one by one", 1, STOCK_RTOL)
    targets = _targets([*rows, kvaerno, scipy], kvaerno, scipy)
    rows += [kvaerno, scipy]
    if not quick:
        targets += _differentiated(rows, members, span)
        seconds = cached_compile(members)
        targets.append(Target("knee: second compilation, from the disk cache, s", 5.0, seconds, at_most=True))
        rows += _scaling(ensembles["Ros4"], members, span)
    return rows, targets


def _targets(rows: list[Row], kvaerno: Row, scipy: Row) -> list[Target]:
    """Ratios at equal error: the slower code against the cheapest row of ours that is at least as accurate."""

    def ratio(slow: Row) -> tuple[float, str]:
        as_good = [r for r in rows if r.code == "jaxgait" and r.error is not None and r.error <= (slow.error or 0.0)]
        fast = min(as_good or [rows[0]], key=lambda r: r.cpu_ms_per_member)
        note = f"{fast.method}, {fast.work}" + ("" if as_good else ", which is less accurate")
        return slow.cpu_ms_per_member / fast.cpu_ms_per_member, note

    (stock_ratio, stock_note), (radau_ratio, radau_note) = ratio(kvaerno), ratio(scipy)
    return [
        Target("knee: stock Kvaerno5 over jaxgait, CPU time", 150.0, stock_ratio, note=stock_note),
        Target("knee: SciPy Radau over jaxgait, CPU time", 50.0, radau_ratio, note=radau_note),
        Target("knee: compilation of a value, s", 30.0, rows[0].compile_s, at_most=True),
    ]


def _differentiated(rows: list[Row], members: int, span: float) -> list[Target]:
    alone, both = value_and_gradient(members, span, 2)
    for name, timing in (("value", alone), ("value and d/d(k, c)", both)):
        details = dict(problem="knee", code="jaxgait", method=f"Ros4, {name}", members=members)
        rows.append(row(timing, **details, work=f"{span:g} s, rtol {STOCK_RTOL:g}", steps=None, error=None))  # type: ignore[arg-type]
    ratio = both.cpu_min / alone.cpu_min
    return [
        Target("knee: value and gradient (2 parameters) over value, CPU time", 3.0, ratio, at_most=True),
        Target("knee: compilation of value and gradient, s", 60.0, both.compile, at_most=True),
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
