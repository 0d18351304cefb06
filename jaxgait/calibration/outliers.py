"""Outliers of a fitted curve: single measured values that stand out from their neighbours.

A systematic error of the model gives rows of large residuals, noise gives many; an outlier is a single one. So each
residual is compared with the two before and the two after it, and with the noise nearby. The size of the noise follows
from second differences, which do not contain the smooth error of the model, by a quantile, which does not contain the
outlier: a root mean square would contain both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.lib.stride_tricks import sliding_window_view
from scipy import stats

OUTLIER_DEVIATIONS = 5.0
"""Distance from the range of its neighbours, in standard deviations of the noise, above which a value is an outlier.

Of 100 curves with 10 to 1000 values and normal noise, fewer than one has a value that far away by chance.
"""
ISOLATION = 2.0
"""The same distance, in widths of that range; for a smooth residual it is less than 1."""
LEAST_POINTS = 10
"""Least number of points for an estimate of the noise around a value."""
NEARBY = 10
"""Number of points on each side from which the noise around a value is estimated."""
QUANTILE = 0.75
"""Quantile of the second differences that measures the noise; the median is zero where half of a curve is exact."""


class Outlier(NamedTuple):
    """A measured value that stands out from its neighbours."""

    point: int
    """Its index in the curve."""
    above: float
    """Measured minus fitted value, in the unit of the curve."""
    deviations: float
    """The size of `above` in standard deviations of the noise around the value, no dimension."""


def outliers(
    measured: Float[np.ndarray, " points"],
    fitted: Float[np.ndarray, " points"],
    noise: Float[np.ndarray, " points"],
    known: bool,
) -> list[Outlier]:
    """The outliers of a curve, the largest first; never the two values at either end, which have fewer neighbours.

    Args:
        measured: the curve, in its unit.
        fitted: the fitted curve, in the same unit. A value that it takes within one sample is no outlier, since small
            errors in time give large residuals where a curve jumps.
        noise: standard deviations in the same unit; if they are not known, only their ratios count.
        known: whether they are known; the noise around a value is then at least as large.
    """
    if len(measured) < LEAST_POINTS:
        return []
    residual = measured - fitted
    others = np.delete(sliding_window_view(residual, 5), 2, axis=1)
    apart = _beyond(residual[2:-2], others)
    distance = np.minimum(apart, _beyond(measured[2:-2], sliding_window_view(fitted, 5)[:, 1:4]))
    single = np.flatnonzero((apart > ISOLATION * np.ptp(others, axis=1)) & (distance > 0.0))
    gaps = np.diff(np.unique(measured))
    rounding, found = float(gaps.min(initial=np.inf)) / np.sqrt(12.0) if gaps.size else 0.0, []
    for i in map(int, single + 2):
        size = max(_noise_around(residual / noise, i), float(known)) * noise[i]
        if distance[i - 2] > OUTLIER_DEVIATIONS * max(size, rounding):
            found.append(Outlier(i, float(residual[i]), float(abs(residual[i]) / max(size, rounding))))
    return sorted(found, key=lambda one: -one.deviations)


def _beyond(values: Float[np.ndarray, " n"], others: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " n"]:
    """Distances of values from the ranges of others; negative inside."""
    return np.maximum(values - others.max(axis=1), others.min(axis=1) - values)


def _noise_around(r: Float[np.ndarray, " points"], i: int) -> float:
    """Standard deviation of weighted residuals around one, without it: that nearby or that of all, if it is larger."""
    bends = np.pad(np.abs(r[1:-1] - 0.5 * (r[:-2] + r[2:])), 1, constant_values=np.nan)
    bends[i - 1 : i + 2] = np.nan
    size = max(np.nanquantile(x, QUANTILE) for x in (bends, bends[max(0, i - NEARBY) : i + NEARBY + 1]))
    return float(size / (np.sqrt(1.5) * stats.norm.ppf(0.5 + 0.5 * QUANTILE)))
