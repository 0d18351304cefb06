"""Bifurcation diagrams and basins of attraction, by iterating return maps (see `jaxgait.solve.periodic`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxgait.native import kept
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default
from jaxgait.solve.periodic import Point, ReturnMap, orbit

FELL = 0
"""The motion did not return to the section: the walker fell."""
REACHED = 1
OTHER = 2
"""The motion continued for all strides without reaching the gait."""

CHUNK = 4096
"""Members that run side by side: large enough to fill the vector units, small enough for the caches."""


class Basin(NamedTuple):
    """Outcome of every start; both fields have the leading shape of the starts."""

    outcome: Int[np.ndarray, " ..."]
    """`FELL`, `REACHED` or `OTHER`."""
    strides: Int[np.ndarray, " ..."]
    """Strides until then."""


@float64_default
@kept
def bifurcation_diagram(
    return_map: ReturnMap, model: Any, name: str, values: Float[Array, " values"], z0: Point, discard: int, keep: int
) -> Float[Array, "values keep n"]:
    """The last `keep` points of long walks, for many values of one parameter; NaN after a fall.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        name: the parameter, by dotted name.
        values: its values, in its own unit.
        z0: start of every walk, in the units of the section; one point, or one per value.
        discard: number of first strides to discard.
        keep: number of strides to return.

    Examples:
        >>> import equinox as eqx
        >>> import jax.numpy as jnp
        >>> from jaxgait import parameter
        >>> from jaxgait.analysis.attractors import bifurcation_diagram
        >>> class Logistic(eqx.Module):
        ...     r: float = parameter(2.0, unit="1", doc="growth")
        >>> grow, start = lambda model, z: model.r * z * (1.0 - z), jnp.array([0.5])
        >>> points = bifurcation_diagram(grow, Logistic(), "r", jnp.array([2.5, 3.2]), start, discard=200, keep=2)
        >>> [[round(float(z[0]), 3) for z in row] for row in points]  # one point, then two
        [[0.6, 0.6], [0.799, 0.513]]
    """
    starts = jnp.broadcast_to(z0, (values.shape[0], z0.shape[-1]))

    def member(value: Array, z: Point) -> Array:
        return orbit(return_map, with_parameters(model, {name: value}), z, discard + keep)[discard:]

    return jax.vmap(member)(values, starts)


@float64_default
def basin(
    return_map: ReturnMap,
    model: Any,
    starts: Float[Array, "*grid n"],
    gait: Float[Array, "points n"],
    *,
    strides: int = 40,
    tolerance: float = 1e-3,
) -> Basin:
    """Which starts lead to a gait: each is iterated until it falls, reaches the gait, or runs out of strides.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        starts: section points, in any arrangement and in the units of the section.
        gait: the points of the gait (several for a gait of period k).
        strides: largest number of strides.
        tolerance: largest distance in any coordinate, in its unit, at which the gait counts as reached.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.attractors import basin
        >>> halfway = lambda model, z: jnp.where(jnp.abs(z) < 1.0, 0.5 * z, jnp.nan)  # from beyond 1 it falls
        >>> found = basin(halfway, None, jnp.array([[0.5], [2.0]]), gait=jnp.zeros((1, 1)), tolerance=0.1)
        >>> print(found.outcome, found.strides)  # REACHED after 3 strides (0.25, 0.125, 0.0625), FELL at the first
        [1 0] [3 1]
    """
    grid, n = starts.shape[:-1], starts.shape[-1]
    count = int(np.prod(grid))
    padded = jnp.resize(starts.reshape(count, n), (-(-count // CHUNK) * CHUNK, n)) if count > CHUNK else starts
    outcome, lasted = _basin(return_map, model, padded.reshape(-1, n), gait, strides, tolerance)
    return Basin(*(np.asarray(z)[:count].reshape(grid) for z in (outcome, lasted)))


@kept
def _basin(
    return_map: ReturnMap, model: Any, starts: Array, gait: Array, strides: int, tolerance: float
) -> tuple[Array, Array]:
    def near(z: Array) -> Array:
        return jnp.min(jnp.max(jnp.abs(gait - z[None, :]), axis=1)) < tolerance

    def going(c: tuple[Array, Array]) -> Array:
        z, lasted = c
        return jnp.all(jnp.isfinite(z)) & ~near(z) & (lasted < strides)

    def member(z: Array) -> tuple[Array, Array]:
        z, lasted = jax.lax.while_loop(going, lambda c: (return_map(model, c[0]), c[1] + 1), (z, jnp.asarray(0)))
        fell = ~jnp.all(jnp.isfinite(z))
        return jnp.where(fell, FELL, jnp.where(near(z), REACHED, OTHER)), lasted

    return jax.lax.map(member, starts, batch_size=CHUNK)
