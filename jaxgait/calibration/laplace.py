"""The parabola around a best fit (Laplace): standard errors, undetermined directions, parameters held by bounds.

Near the best fit the sum of squares is a parabola, ``r^2 + (J dx)^2``, with the Jacobian J of the weighted residuals
by the unit box. The standard error along a direction with the singular value s is 1/s of the box. With independent
normal noise the covariance of the parameters is the inverse of J^T J. This suffices if the curve is nearly linear in
the parameters over their standard errors (see `jaxgait.calibration.profile`).

A parameter on a bound is held there: the errors of the others follow from the other columns of J. A bound does not
replace data, though: parameters that take part in a direction along which the curve does not change stay undetermined,
even if a bound stops the search from moving along it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jaxgait.optimization.curvature import determined

RANK_TOLERANCE = 1e-6
"""Singular values below this fraction of the largest count as zero: derivatives are only as exact as the solver."""
NAMED_COMPONENT = 0.1
"""Least component of a parameter to be named in the description of a direction."""
ON_A_BOUND = 1e-3
"""Distance from a bound, in widths of the box, below which a parameter may be held by it."""


class Laplace(NamedTuple):
    """The parabola around a best fit, in units of the box (no dimension)."""

    singular_values: Float[np.ndarray, " n"]
    """Singular values of the Jacobian, the best determined direction first."""
    directions: Float[np.ndarray, "n n"]
    """Their directions in the unit box, as rows."""
    covariance: Float[np.ndarray, "n n"]
    """Covariance with the parameters on bounds held there; infinite on the diagonal of undetermined parameters, else
    NaN in the rows of held ones."""
    growth_without_bounds: Float[np.ndarray, " n"]
    """Standard errors without the bounds, as multiples of those with them; NaN where there are none."""
    leverage: Float[np.ndarray, " points"]
    """Variance of the fitted curve, in units of the noise variance."""
    rank: int
    """Number of directions of the free parameters along which the curve changes."""


def laplace(slopes: Float[np.ndarray, "points n"], free: Bool[np.ndarray, " n"]) -> Laplace:
    """The parabola from the Jacobian of the weighted residuals by the unit box (no dimension) at the best fit.

    Parameters that are not free are held on a bound.
    """
    values, directions = _decomposed(slopes)
    own, turned = _decomposed(slopes[:, free])
    least = RANK_TOLERANCE * values.max(initial=0.0)
    covariance = np.full(2 * free.shape, np.nan)
    without, lost = determined(values**2, directions, least**2)
    covariance[np.ix_(free, free)], lost_too = determined(own**2, turned, least**2)
    lost[free] |= lost_too
    with np.errstate(invalid="ignore", divide="ignore"):
        growth = np.sqrt(np.diagonal(without) / np.diagonal(covariance))
    growth[lost] = np.nan
    covariance[lost] = covariance[:, lost] = np.nan
    covariance[lost, lost] = np.inf
    spread = slopes[:, free] @ turned.T / np.where(own > least, own, np.inf)
    return Laplace(values, directions, covariance, growth, (spread**2).sum(axis=1), int((own > least).sum()))


def open_directions(parabola: Laplace, names: list[str]) -> tuple[str, ...]:
    """Sentences on the undetermined directions (with a standard error larger than the box) of the named parameters."""
    s = parabola.singular_values
    left_open = (s < 1.0) | (s <= RANK_TOLERANCE * s.max(initial=0.0))
    return tuple(_sentence(parabola, int(k), names) for k in np.flatnonzero(left_open))


def free_parameters(
    values: Float[np.ndarray, " points"], slopes: Float[np.ndarray, "points n"], x: Float[np.ndarray, " n"]
) -> Bool[np.ndarray, " n"]:
    """Mask of the parameters that are not held by a bound: in a wide box, a minimum may lie next to one, not on it.

    Args:
        values: weighted residuals at the best fit, no dimension.
        slopes: their derivatives by the unit box.
        x: the best fit in the unit box.
    """
    to = x + np.linalg.lstsq(slopes, -values, rcond=RANK_TOLERANCE)[0]
    return ((x > ON_A_BOUND) & (x < 1.0 - ON_A_BOUND)) | ((to > 0.0) & (to < 1.0))


def further_fall(values: Float[np.ndarray, " points"], slopes: Float[np.ndarray, "points free"]) -> float:
    """Predicted fall of chi-square (no dimension) to the bottom of the parabola.

    Args:
        values: weighted residuals, no dimension.
        slopes: their derivatives by the free coordinates of the unit box.
    """
    step = np.linalg.lstsq(slopes, -values, rcond=RANK_TOLERANCE)[0]
    return float(np.sum((slopes @ step) ** 2))


def _decomposed(slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values, padded with zeros if there are fewer points than parameters, and directions as rows."""
    points, n = slopes.shape
    _, values, directions = np.linalg.svd(slopes, full_matrices=points < n)  # else points x points
    return np.append(values, np.zeros(n - len(values))), directions


def _sentence(parabola: Laplace, k: int, names: list[str]) -> str:
    direction, s = parabola.directions[k], parabola.singular_values[k]
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    parts = [f"{x:+.2g} {name}" for x, name in zip(direction, names, strict=True) if abs(x) > NAMED_COMPONENT]
    along = names[int(np.argmax(np.abs(direction)))] if len(parts) == 1 else f"the direction ({', '.join(parts)})"
    if s <= RANK_TOLERANCE * parabola.singular_values.max(initial=0.0):
        return f"the data do not determine {along} (in widths of the box): the curve does not change along it"
    return f"the data do not determine {along}: the standard error along it is {1.0 / s:.3g} widths of the box"
