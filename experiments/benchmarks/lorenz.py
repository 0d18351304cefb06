"""The published GPU benchmark: Lorenz, float32, Tsit5, 1000 fixed steps, and adaptive with tolerance 1e-8.

Utkarsh et al., CMAME 419 (2024) 116591, at 131072 members on a V100: JAX vmap 198 ms, MPGOS 3.0 ms, Julia 3.4 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait.native import looped, native
from jaxgait.solve.explicit import Tsit5

from .rows import Row, Target, announce, last, row, timed


def field(_: Any, y: Sequence[Any], rho: Any) -> tuple[Any, ...]:
    """Lorenz's equations with sigma = 10, beta = 8/3."""
    a, b, c = y
    return 10.0 * (b - a), a * (rho - c) - b, a * b - (8.0 / 3.0) * c


def member(solver: diffrax.AbstractSolver, adaptive: bool, dtype: Any) -> Any:
    """The final state (3,) and the number of steps as a function of rho."""
    controller = diffrax.PIDController(1e-8, 1e-8) if adaptive else diffrax.ConstantStepSize()

    def one(rho: jax.Array) -> tuple[jax.Array, jax.Array]:
        y0 = (jnp.ones((), dtype), jnp.zeros((), dtype), jnp.zeros((), dtype))
        t0, t1, dt0 = (jnp.asarray(t, dtype) for t in (0.0, 1.0, 0.001))
        solution = diffrax.diffeqsolve(
            *(diffrax.ODETerm(field), solver, t0, t1, dt0, y0, rho),
            stepsize_controller=controller,
            max_steps=4096,
            adjoint=diffrax.ForwardMode(),
            throw=False,
        )
        return jnp.stack(last(solution)), solution.stats["num_steps"]

    return one


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """Our solver and the stock one, over the number of members."""
    on_gpu = jax.default_backend() != "cpu"
    largest = 2**23 if on_gpu else (2**13 if quick else 2**17)
    sizes = [largest] if quick else [n for n in (8, 2**10, 2**13, 2**17, 2**20, 2**23) if n <= largest]
    rows = []
    for adaptive in (False, True):
        for members in sizes:
            codes = [("jaxgait", Tsit5())] + ([("diffrax", diffrax.Tsit5())] if members <= 2**13 else [])
            rho = np.linspace(0.0, 21.0, members)
            reference = jax.jit(jax.vmap(member(Tsit5(), False, float)))(rho[:: max(1, members // 8)])[0]
            for code, solver in codes:
                announce(f"Lorenz: {code}, {members} members, {'adaptive' if adaptive else 'fixed'}")
                one = member(solver, adaptive, jnp.float32)
                run = native(jax.vmap(looped(one))) if code == "jaxgait" else jax.vmap(one)
                timing = timed(run, rho.astype(np.float32), repeats=1 if quick else 3)
                error = np.abs(np.asarray(timing.result[0])[:: max(1, members // 8)] - np.asarray(reference)).max(
                    axis=1
                )
                work = "float32, tol 1e-08" if adaptive else "float32, 1000 steps"
                details = dict(problem="Lorenz", code=code, method="Tsit5", members=members, work=work)
                rows.append(row(timing, **details, steps=int(np.sum(timing.result[1])), error=error))  # type: ignore[arg-type]
    return rows, []
