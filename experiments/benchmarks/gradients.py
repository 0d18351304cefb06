"""Cost of derivatives: value and derivatives along 1, 2, 8 and 32 directions of parameter space, over a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp

from jaxgait import precision
from jaxgait.models.walker.smooth import Walker
from jaxgait.native import looped, native
from jaxgait.parameters import parameters, with_parameters
from jaxgait.solve.explicit import RK4

from .rows import Row, Target, Timing, announce, last, row, timed
from .walker import STEP

NAMES = tuple(sorted(parameters(Walker()), key=lambda name: name not in ("slope", "friction")))
"""The walker's parameters, those that people tune first."""


def final(values: jax.Array, steps: int) -> jax.Array:
    """Final hip position and angles of a walker; `values` (parameters,) are the first of NAMES."""
    model = with_parameters(precision.cast(Walker()), dict(zip(NAMES, values, strict=False)))
    solution = diffrax.diffeqsolve(
        *(diffrax.ODETerm(lambda t, y, m: m.vector_field(t, y)), RK4(), 0.0, steps * STEP, STEP),
        *(model.initial_state(), model),
        stepsize_controller=diffrax.ConstantStepSize(),
        max_steps=steps + 2,
        adjoint=diffrax.ForwardMode(),
        throw=False,
    )
    return jnp.stack(last(solution)[:4])


def directional(function: Callable[[Any], Any], values: jax.Array, count: int, repeats: int) -> Timing:
    """Times a value with its derivatives along `count` random directions, or the value alone for none.

    Args:
        function: of the parameters of one member (parameters,).
        values: the parameters of all members (parameters, members).
        count: how many directions; one primal serves them all.
        repeats: how many runs.
    """
    if count == 0:
        return timed(native(jax.vmap(looped(function), in_axes=1)), values, repeats=repeats)
    directions = values * jax.random.normal(jax.random.key(0), (count, *values.shape))

    def run(values: jax.Array, directions: jax.Array) -> Any:
        return jax.vmap(lambda d: jax.jvp(function, (values,), (d,)), out_axes=(None, 0))(directions)

    return timed(native(jax.vmap(looped(run), in_axes=(1, 2))), values, directions, repeats=repeats)


def measure(quick: bool) -> tuple[list[Row], list[Target]]:
    """One row per number of directions, in as many parameters; in all of them where more are wanted than there are."""
    members, steps, counts = (64, 200, (0, 2)) if quick else (256, 1000, (0, 1, 2, 8, 32))
    known = parameters(Walker())
    base = jnp.asarray([float(known[name].value) for name in NAMES])
    rows = {}
    for count in counts:
        announce(f"walker: value and {count} tangents")
        values = jnp.tile(base[: count or 2, None], (1, members))
        timing = directional(lambda v: final(v, steps), values, count, repeats=2)
        method = f"RK4, value and {count} tangents" if count else "RK4, value"
        details = dict(problem="walker", code="jaxgait", method=method, members=members, work=f"{steps} steps")
        rows[count] = row(timing, **details, steps=members * steps, error=None)  # type: ignore[arg-type]
    ratio = {n: r.cpu_min_s / rows[0].cpu_min_s for n, r in rows.items()}
    note = ", ".join(f"{n}: {ratio[n]:.3g}" for n in counts if n)
    what = "walker: value and gradient (2 parameters) over value, CPU time"
    target = Target(what, 2.0, ratio[2], True, f"ratio by directions: {note}", promised=True)
    return list(rows.values()), [target]
