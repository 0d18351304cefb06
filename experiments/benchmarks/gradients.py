"""Cost of derivatives: value and derivatives along 1, 2, 8 and 32 directions of parameter space, over a value."""

from __future__ import annotations

from typing import Any

import diffrax
import jax
import jax.numpy as jnp

from jaxgait import precision
from jaxgait.models.parameters import parameters, with_parameters
from jaxgait.models.walker import Walker
from jaxgait.solve.explicit import RK4

from .rows import Row, Target, last, row, timed
from .walker import STEP

NAMES = tuple(parameters(Walker()))


def final(values: Any, steps: int) -> jax.Array:
    """Final hip position and angles of an ensemble of walkers; `values` (parameters, members)."""

    def one(v: jax.Array) -> jax.Array:
        model = with_parameters(precision.cast(Walker()), dict(zip(NAMES, v, strict=True)))
        solution = diffrax.diffeqsolve(
            *(diffrax.ODETerm(lambda t, y, m: m.vector_field(t, y)), RK4(), 0.0, steps * STEP, STEP),
            *(model.initial_state(), model),
            stepsize_controller=diffrax.ConstantStepSize(),
            max_steps=steps + 2,
            adjoint=diffrax.ForwardMode(),
            throw=False,
        )
        return jnp.stack(last(solution)[:4])

    return jax.vmap(one, in_axes=1)(values)


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """One row per number of directions; directions are random, since more of them are wanted than parameters exist."""
    members, steps, counts = (64, 200, (1, 2)) if quick else (256, 1000, (1, 2, 8, 32))
    base = jnp.asarray([float(p.value) for p in parameters(Walker()).values()])
    values = jnp.tile(base[:, None], (1, members))
    rows = []
    for count in (0, *counts):
        directions = base[:, None] * jax.random.normal(jax.random.key(0), (count, len(NAMES), members))

        def run(values: jax.Array, directions: jax.Array, count: int = count) -> Any:
            if count == 0:
                return final(values, steps)
            push = lambda d: jax.jvp(lambda v: final(v, steps), (values,), (d,))
            return jax.vmap(push, out_axes=(None, 0))(directions)

        timing = timed(run, values, directions, repeats=2)
        method = f"RK4, value and {count} tangents" if count else "RK4, value"
        details = dict(problem="walker", code="jaxgait", method=method, members=members, work=f"{steps} steps")
        rows.append(row(timing, **details, steps=members * steps, error=None))  # type: ignore[arg-type]
    return rows, []
