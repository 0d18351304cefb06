"""Step-size control limited by the floating-point resolution of time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.solve.steps import all_finite

__all__ = ["Resolving", "resolution"]


def resolution(t: Float[Array, ""]) -> Float[Array, ""]:
    """Shortest step in s that advances time `t`: two units in the last place of t."""
    return jax.lax.stop_gradient(2.0 * jnp.finfo(t.dtype).eps * jnp.abs(t))


class Resolving(diffrax.PIDController):
    """A PID step-size controller whose smallest step is the resolution of time.

    A step is the difference of two representable times, by exactly which the solver advances the state, so that time
    loses no accuracy. But contacts may need steps below the resolution of float32 (at 10 s: 1e-6 s): a step of one or
    two units is then accepted if it is finite, with an error comparable to the rounding of time. In float64 no model
    needs such steps: they end a run.
    """

    def adapt_step_size(
        self, t0: Any, t1: Any, y0: Any, y1_candidate: Any, args: Any, y_error: Any, *state: Any
    ) -> Any:
        """As in diffrax, with the smallest step of the time reached."""
        coarse = t1.dtype == jnp.float32
        least = None if coarse else resolution(t1)
        if self.dtmin is not None:
            least = self.dtmin if least is None else jnp.maximum(self.dtmin, least)
        control = replace(self, dtmin=least, force_dtmin=self.force_dtmin and self.dtmin is not None)
        decided = diffrax.PIDController.adapt_step_size(control, t0, t1, y0, y1_candidate, args, y_error, *state)
        return _within_resolution(t0, t1, y_error, *decided) if coarse else decided


def _within_resolution(
    t0: Any, t1: Any, y_error: Any, keep: Any, start: Any, end: Any, jump: Any, state: Any, result: Any
) -> Any:
    """Accepts a rejected step if rounding leaves no shorter one."""
    step, unit = t1 - t0, 0.5 * resolution(t1)
    least = ~keep & (step <= 1.5 * unit)
    end = jnp.where(~keep & (step <= 8.0 * unit), t0 + 0.5 * step, end)
    result = diffrax.RESULTS.where(least & ~all_finite(y_error), diffrax.RESULTS.dt_min_reached, result)
    taken = least & all_finite(y_error)
    return (
        keep | taken,
        jnp.where(taken, t1, start),
        jnp.where(taken, t1 + jnp.maximum(step, unit), end),
        jump,
        state,
        result,
    )
