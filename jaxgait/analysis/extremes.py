"""Largest and least values of sampled curves, and where they lie between the samples."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.precision import float64_default

__all__ = ["maximum", "minimum"]

_EVEN = 0.5  # how much neighbouring second differences may differ, relative to the middle one, on a smooth curve


@float64_default
def maximum(curve: Float[Array, " samples"]) -> Float[Array, ""]:
    """Largest value of a curve sampled at equal intervals, in its unit.

    Where the curve is smooth about its largest sample, the vertex of the parabola through that sample and its
    neighbours: exact to third order in the interval, for smooth curves. Next to a jump or a kink (where neighbouring
    second differences disagree) and at the ends it is the sample itself.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.extremes import maximum
        >>> t = jnp.linspace(0.0, 3.0, 31)
        >>> print(round(float(jnp.sin(t).max()), 6), round(float(maximum(jnp.sin(t))), 6))
        0.999574 0.999999
    """
    if curve.shape[0] < 5:
        return jnp.max(curve)
    i = jnp.clip(jnp.argmax(curve), 2, curve.shape[0] - 3)
    left, middle, right = curve[i - 1], curve[i], curve[i + 1]
    bend = left - 2.0 * middle + right
    before = curve[i - 2] - 2.0 * left + middle
    after = middle - 2.0 * right + curve[i + 2]
    smooth = (jnp.abs(before - bend) <= -_EVEN * bend) & (jnp.abs(after - bend) <= -_EVEN * bend) & (bend < 0.0)
    rise = (right - left) ** 2 / (-8.0 * jnp.where(smooth, bend, -1.0))
    inside = smooth & (middle >= jnp.maximum(left, right))
    return jnp.maximum(jnp.max(curve), jnp.where(inside, middle + rise, middle))


@float64_default
def minimum(curve: Float[Array, " samples"]) -> Float[Array, ""]:
    """Least value of a curve sampled at equal intervals, in its unit; see `maximum`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.extremes import minimum
        >>> round(float(minimum((jnp.linspace(0.0, 1.0, 8) - 0.5) ** 2)), 6)
        0.0
    """
    return -maximum(-curve)
