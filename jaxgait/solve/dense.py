"""Dense output of the solvers here: polynomials in the fraction of a step, from 0 to 1."""

from __future__ import annotations

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxgait.model import State


class StageInterpolation(diffrax.AbstractLocalInterpolation):
    """A polynomial ``y0 + theta c_1 + theta^2 c_2 + ...`` in the fraction theta of the step."""

    t0: Any
    t1: Any
    y0: State
    coefficients: tuple[State, ...]
    """Coefficients of the powers 1, 2, ... of the fraction."""

    def evaluate(self, t0: Any, t1: Any = None, left: bool = True) -> State:
        """The solution at `t0`, or its increment from `t0` to `t1`."""
        del left
        if t1 is not None:
            return jax.tree.map(lambda a, b: a - b, self.evaluate(t1), self.evaluate(t0))
        span = self.t1 - self.t0
        empty = span == 0
        theta = jnp.where(empty, 0.0, (t0 - self.t0) / jnp.where(empty, 1.0, span))
        return jax.tree.map(
            lambda y, *c: self.polynomial(theta.astype(jnp.real(y).dtype), y, *c), self.y0, *self.coefficients
        )

    def polynomial(self, theta: Array, y: Array, *coefficients: Array) -> Array:
        """Value of one component, in its own unit and shape, by Horner's rule; `theta` has no dimension."""
        value = coefficients[-1]
        for c in reversed(coefficients[:-1]):
            value = c + value * theta
        return y + value * theta


class AlternatingInterpolation(StageInterpolation):
    """A polynomial ``y0 + theta (c_1 + (1 - theta) (c_2 + theta (c_3 + ...)))``: two-sided, without cancellation.

    Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I (1993), section II.6.
    """

    def polynomial(self, theta: Array, y: Array, *coefficients: Array) -> Array:
        """Value of one component, in its own unit and shape; `theta` has no dimension."""
        value = jnp.zeros_like(y)
        for k in reversed(range(len(coefficients))):
            value = (value + coefficients[k]) * (1.0 - theta if k % 2 else theta)
        return y + value
