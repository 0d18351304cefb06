"""The inverse of a parabola's curvature where some directions are flat."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

TAKES_PART = 1e-3
"""Least component of a parameter that counts as part of a direction."""


def determined(
    curvature: Float[np.ndarray, " k"], directions: Float[np.ndarray, "k n"], least: float
) -> tuple[Float[np.ndarray, "n n"], Bool[np.ndarray, " n"]]:
    """The inverse of a symmetric matrix without its flat directions, and the parameters that take part in these.

    A flat direction leaves only these parameters undetermined; the others are as well determined as without it.

    Args:
        curvature: eigenvalues of the matrix, in any unit.
        directions: its unit eigenvectors, as rows.
        least: eigenvalues up to this, and negative ones, count as zero; in their unit.

    Returns:
        The pseudo-inverse, and the mask of the parameters that take part in directions that are not determined.
    """
    flat = curvature <= least
    inverse = (directions.T * (1.0 / np.where(flat, np.inf, curvature))) @ directions
    return inverse, np.sqrt((directions[flat] ** 2).sum(axis=0)) > TAKES_PART
