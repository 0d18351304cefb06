"""SciPy's `solve_ivp`, one member per task in a pool of processes: an ensemble without batches."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from .rows import Timing

Problem = tuple[Callable[[Any, Any, Any], Any], np.ndarray]
"""A right-hand side f(t, y, parameter) of arrays in JAX, to be jitted, and the state at t = 0."""

_worker: dict[str, Any] = {}
"""In a worker process: the jitted right-hand side f, its Jacobian J, the first state y0 and the barrier."""


def _start(problem: Callable[[], Problem], parameter: float, barrier: Any) -> None:
    jax.config.update("jax_enable_x64", True)
    field, y0 = problem()
    f, J = (_called(jax.jit(g)) for g in (field, jax.jacfwd(field, argnums=1)))
    f(0.0, y0, parameter)
    J(0.0, y0, parameter)
    _worker.update(f=f, J=J, y0=y0, barrier=barrier)


def _called(compiled: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], np.ndarray]:
    """The same function of NumPy numbers, always of the same types: another type would be compiled again."""
    return lambda t, y, parameter: np.asarray(compiled(np.float64(t), np.asarray(y), np.float64(parameter)))


def _ready(_: int) -> None:
    _worker["barrier"].wait()  # one such task per worker: none starts before all are compiled


def _solve(parameter: float, span: float, options: dict[str, Any]) -> tuple[np.ndarray, int, float]:
    begin = time.process_time()
    field, tangent = (lambda t, y: _worker["f"](t, y, parameter)), (lambda t, y: _worker["J"](t, y, parameter))
    jac = {"jac": tangent} if options["method"] in ("Radau", "BDF", "LSODA") else {}
    run = solve_ivp(field, (0.0, span), _worker["y0"], **jac, **options)
    return run.y[:, -1], run.t.size - 1, time.process_time() - begin


def scipy(problem: Callable[[], Problem], parameters: Sequence[float], span: float, **options: Any) -> Timing:
    """Integrates all members from 0 to `span` in s, on all cores; the processor time is that of the members alone.

    Args:
        problem: makes the problem in each process; a function of a module.
        parameters: one per member.
        span: in s.
        options: of `solve_ivp`, the method among them.

    Returns:
        The timing, whose result is the final states (members, n) and the number of steps of each member.
    """
    context, workers = multiprocessing.get_context("spawn"), min(os.cpu_count() or 1, len(parameters))
    begin = time.perf_counter()
    arguments = (problem, float(parameters[0]), context.Barrier(workers))
    with ProcessPoolExecutor(workers, context, _start, arguments) as pool:
        list(pool.map(_ready, range(workers)))
        timing = Timing(compile=time.perf_counter() - begin)
        begin = time.perf_counter()
        tasks = [pool.submit(_solve, float(p), span, options) for p in parameters]
        runs = [task.result() for task in tasks]
        timing.wall.append(time.perf_counter() - begin)
    timing.cpu.append(sum(cpu for _, _, cpu in runs))
    timing.result = (np.array([y for y, _, _ in runs]), np.array([steps for _, steps, _ in runs]))
    return timing


def flat(vector_field: Callable[[Any, Any], Any], y0: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
    """A vector field of named scalars as one of arrays."""
    return lambda t, y: jnp.stack(vector_field(t, type(y0)(*y)))
