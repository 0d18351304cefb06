"""Uncertainty around a best fit: covariance (Laplace), singular values, and undetermined directions.

Near the best fit the sum of squares is a parabola, ``r^2 + (J dx)^2``, with the Jacobian J of the weighted residuals
by the unit box. Its singular values s tell how well each direction is determined: the standard error along it is 1/s
of the box. With independent normal noise the covariance of the parameters is the inverse of J^T J. It describes the
uncertainty completely if the curve is nearly linear in the parameters over their standard errors (see `profile`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

__all__ = ["Laplace", "laplace", "open_directions"]

RANK = 1e-6
"""Singular values below this fraction of the largest count as zero: derivatives are only as exact as the solver."""
TAKES_PART = 1e-3
"""Least component of a parameter that takes part in a direction."""
NAMED = 0.1
"""Least component of a parameter that is named in the description of a direction."""


class Laplace(NamedTuple):
    """The parabola around a best fit, in units of the box (no dimension)."""

    singular_values: Float[np.ndarray, " n"]
    """Singular values of the Jacobian, the best determined direction first."""
    directions: Float[np.ndarray, "n n"]
    """Their directions in the unit box, as rows."""
    covariance: Float[np.ndarray, "n n"]
    """Covariance; infinite on the diagonal of undetermined parameters, NaN in rows of those that are held."""
    leverage: Float[np.ndarray, " points"]
    """Variance of the fitted curve, in squares of the noise."""


def laplace(slopes: Float[np.ndarray, "points n"], free: Bool[np.ndarray, " n"]) -> Laplace:
    """The parabola from the Jacobian of the weighted residuals by the unit box (no dimension).

    Args:
        slopes: the Jacobian at the best fit.
        free: parameters that may move; the others lie on a bound and are held there.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.calibration.laplace import laplace
        >>> found = laplace(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]), np.array([True, True]))
        >>> print(found.singular_values, np.sqrt(np.diagonal(found.covariance)).round(3))
        [4. 3.] [0.333 0.25 ]
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
    """The undetermined directions in words: those along which the standard error exceeds the box.

    Args:
        found: the parabola.
        names: names of the parameters.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.calibration.laplace import laplace, open_directions
        >>> slopes = np.array([[30.0, 30.0], [40.0, 40.0]])  # the curve depends only on the sum of the two
        >>> (sentence,) = open_directions(laplace(slopes, np.array([True, True])), ["k", "c"])
        >>> print(sentence.partition(":")[0])
        the data do not determine the direction (+0.71 k, -0.71 c)
    """
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
        return f"the data do not determine {along}: the curve does not change along it (in widths of the box)"
    return f"the data do not determine {along}: the standard error along it is {1.0 / s:.3g} widths of the box"
