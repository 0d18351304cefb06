"""Uncertainty around a best fit: covariance (Laplace), singular values, and undetermined directions.

Near the best fit the sum of squares is a parabola, ``r^2 + (J dx)^2``, with the Jacobian J of the weighted residuals
by the unit box. The standard error along a direction with the singular value s is 1/s of the box. With independent
normal noise the covariance of the parameters is the inverse of J^T J. It suffices if the curve is nearly linear in the
parameters over their standard errors (see `profile`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

RANK = 1e-6
"""Singular values below this fraction of the largest count as zero: derivatives are only as exact as the solver."""
TAKES_PART = 1e-3
"""Least component of a parameter that counts as part of a direction."""
NAMED = 0.1
"""Least component of a parameter to be named in the description of a direction."""


class Laplace(NamedTuple):
    """The parabola around a best fit, in units of the box (no dimension)."""

    singular_values: Float[np.ndarray, " n"]
    """Singular values of the Jacobian, the best determined direction first."""
    directions: Float[np.ndarray, "n n"]
    """Their directions in the unit box, as rows."""
    covariance: Float[np.ndarray, "n n"]
    """Covariance; infinite on the diagonal of undetermined parameters, NaN in the rows of fixed ones."""
    leverage: Float[np.ndarray, " points"]
    """Variance of the fitted curve, in squares of the noise."""


def laplace(slopes: Float[np.ndarray, "points n"], free: Bool[np.ndarray, " n"]) -> Laplace:
    """The parabola from the Jacobian of the weighted residuals by the unit box (no dimension) at the best fit.

    Parameters that are not free are fixed on a bound.
    """
    n = slopes.shape[1]
    values, directions = _decomposed(slopes)
    own, turned = _decomposed(slopes[:, free])
    known = own > RANK * own.max(initial=0.0)
    inverse = np.where(known, own, np.inf) ** -1.0
    inside = (turned.T * inverse**2) @ turned
    lost = np.abs(turned[~known]).max(axis=0, initial=0.0) > TAKES_PART
    inside[lost] = inside[:, lost] = np.nan
    inside[lost, lost] = np.inf
    covariance = np.full((n, n), np.nan)
    covariance[np.ix_(free, free)] = inside
    spread = slopes[:, free] @ turned.T * inverse
    return Laplace(values, directions, covariance, (spread**2).sum(axis=1))


def open_directions(found: Laplace, names: list[str]) -> tuple[str, ...]:
    """Sentences on the undetermined directions (with a standard error larger than the box) of the named parameters."""
    s = found.singular_values
    left_open = (s < 1.0) | (s <= RANK * s.max(initial=0.0))
    return tuple(_sentence(found, int(k), names) for k in np.flatnonzero(left_open))


def _decomposed(slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values, padded with zeros if there are fewer points than parameters, and directions as rows."""
    _, values, directions = np.linalg.svd(slopes, full_matrices=True)
    return np.append(values, np.zeros(slopes.shape[1] - len(values))), directions


def _sentence(found: Laplace, k: int, names: list[str]) -> str:
    direction, s = found.directions[k], found.singular_values[k]
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    parts = [f"{x:+.2g} {name}" for x, name in zip(direction, names, strict=True) if abs(x) > NAMED]
    along = names[int(np.argmax(np.abs(direction)))] if len(parts) == 1 else f"the direction ({', '.join(parts)})"
    if s <= RANK * found.singular_values.max(initial=0.0):
        return f"the data do not determine {along} (in widths of the box): the curve does not change along it"
    return f"the data do not determine {along}: the standard error along it is {1.0 / s:.3g} widths of the box"
