"""The smooth positive part of contact laws."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgait.mechanics.scalars import Real, RealArray
from jaxgait.precision import float64_default

__all__ = ["softplus"]


@float64_default
def softplus(x: Real) -> RealArray:
    """Smooth positive part ``log(1 + exp(x))`` of a dimensionless number.

    `jax.nn.softplus` with the logistic function as its derivative: JAX's own rule computes two exponentials.

    Examples:
        >>> from jaxgait.mechanics.smoothing import softplus
        >>> round(float(softplus(0.0)), 6)
        0.693147
    """
    return _softplus(jnp.asarray(x))


@jax.custom_jvp
def _softplus(x: RealArray) -> RealArray:
    return jnp.maximum(x, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


@_softplus.defjvp
def _(primals: tuple[RealArray], tangents: tuple[RealArray]) -> tuple[RealArray, RealArray]:
    return _softplus(*primals), jax.nn.sigmoid(primals[0]) * tangents[0]
