"""The best point of a fit with the parabola around it, and what casts doubt on it, one sentence each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from jaxgait.calibration.laplace import Laplace, free_parameters, further_fall, laplace
from jaxgait.calibration.measured import MeasuredCurve
from jaxgait.calibration.problem import FitEnd, Problem, Residuals
from jaxgait.units import alike, factor

UNLIKELY_PROBABILITY = 1e-3
"""Probability of a chi-square as large, or as small, below which the residual is reported not to fit the noise."""
UNFINISHED_FALL = 0.1
"""Predicted further fall of chi-square above which a fit is not a minimum; 1 is a distance of one standard error."""
SIGNIFICANT_DEVIATIONS = 2.0
"""Correlation of neighbouring residuals, in standard deviations of that of independent noise (the root of one over the
number of points), above which they are reported not to be independent noise."""
EXACT_NOISE = 1e-9
"""Noise, relative to the largest value, below which the residuals are rounding of the search and the solver."""
UNLIKE_RANGES = 5.0
"""Ratio of the ranges of two curves above which the measured one is reported to be, perhaps, in another unit."""
INTERPOLATION_ERROR = 0.1
"""Error of interpolation, in standard deviations of the noise, above which more samples are recommended."""
UNSETTLED_DIFFERENCE = 0.1
"""Difference of the last two strides, in standard deviations of the noise, above which a gait has not settled."""
RELEASED_GROWTH = 1.1
"""Growth of a standard error without the bounds above which it is reported."""


class Best(NamedTuple):
    """The best point of a fit and the parabola around it."""

    problem: Problem
    """With the noise of the data, even if it was estimated."""
    x: Float[np.ndarray, " n"]
    """The point in the unit box."""
    residuals: Residuals
    free: Bool[np.ndarray, " n"]
    """Mask of the parameters that are not held by a bound."""
    local: Laplace
    degrees: int
    """Degrees of freedom: points minus the rank of the Jacobian by the free parameters."""
    estimated: bool
    """Whether the noise was estimated from the residual."""

    @property
    def exact(self) -> bool:
        """Whether the residuals are only rounding, as for a curve that the model itself produced."""
        size = np.abs(self.problem.measured.values).max()
        return self.estimated and bool(np.sqrt(np.mean(self.problem.noise**2)) < EXACT_NOISE * size)

    @property
    def near(self) -> bool:
        """Whether the residuals are too small for the given noise."""
        return self._judged and bool(stats.chi2.cdf(self.residuals.squares, self.degrees) < UNLIKELY_PROBABILITY)

    @property
    def far(self) -> bool:
        """Whether the residuals are too large for the given noise."""
        return self._judged and bool(stats.chi2.sf(self.residuals.squares, self.degrees) < UNLIKELY_PROBABILITY)

    @property
    def reduced(self) -> float:
        """Chi-square per degree of freedom, no dimension."""
        return float(self.residuals.squares) / max(self.degrees, 1)

    @property
    def fall(self) -> float:
        """Predicted further fall of chi-square to the bottom of the parabola, no dimension."""
        return 0.0 if self.exact else further_fall(self.residuals.values, self.residuals.slopes[:, self.free])

    @property
    def active(self) -> tuple[str, ...]:
        """Bounds on which it lies, such as "mass = 80"."""
        space = self.problem.space
        nearer = np.where(self.x < 0.5, space.low, space.high)
        return tuple(f"{space.names[i]} = {nearer[i]:g}" for i in np.flatnonzero(~self.free))

    @property
    def correlation(self) -> float:
        """Correlation of neighbouring residuals, no dimension; zero where they do not matter."""
        r = self.residuals.values
        return 0.0 if self.exact or self.near or not r.any() else float(r[1:] @ r[:-1] / (r @ r))

    @property
    def correlated(self) -> bool:
        """Whether neighbouring residuals are more correlated than independent noise."""
        return self.correlation > SIGNIFICANT_DEVIATIONS / math.sqrt(len(self.residuals.values))

    @property
    def _judged(self) -> bool:
        """Whether chi-square says anything about the noise."""
        return not self.estimated and self.degrees > 0


def best_of(problem: Problem, end: FitEnd, estimated: bool) -> Best:
    """The end of the best search with the parabola around it.

    Args:
        problem: model and data, with a noise of 1 in the unit of the curve if it is to be estimated.
        end: the search.
        estimated: whether to estimate the noise from the residual.
    """
    found = end.residuals
    free = free_parameters(found.values, found.slopes, end.x)
    local = laplace(found.slopes, free)
    degrees = len(problem.noise) - local.rank
    if estimated:
        problem, found = _with_noise(problem, found, degrees)
        local = laplace(found.slopes, free)
    return Best(problem, end.x, found, free, local, degrees, estimated)


def remarks(best: Best) -> tuple[str, ...]:
    """All that casts doubt on a fit, the gravest first."""
    return tuple(text for text in (doubt(best) for doubt in _DOUBTS) if text)


def _with_noise(problem: Problem, residuals: Residuals, degrees: int) -> tuple[Problem, Residuals]:
    """Problem and residuals with the noise that the residual estimates."""
    rounding = np.finfo(float).eps * (np.abs(problem.measured.values).max() or 1.0)
    size = max(float(np.sqrt(residuals.squares / degrees)), float(rounding))
    scaled = residuals._replace(values=residuals.values / size, slopes=residuals.slopes / size)
    return replace(problem, noise=np.full(len(problem.noise), size)), scaled


def _unfinished(best: Best) -> str:
    if best.fall <= UNFINISHED_FALL:
        return ""
    return (
        f"this is not a minimum: another step would reduce chi-square by about {best.fall:.2g} (see why_stopped), and "
        "the standard errors are not valid"
    )


def _exact(best: Best) -> str:
    text = "the curve is fitted to the accuracy of a run: it has no noise, so the standard errors mean nothing"
    return text if best.exact else ""


def _far(best: Best) -> str:
    if not best.far:
        return ""
    return (
        f"chi-square per degree of freedom is {best.reduced:.3g}: the model does not fit the data within the noise, "
        "which the standard errors ignore"
    )


def _near(best: Best) -> str:
    if not best.near:
        return ""
    return (
        f"chi-square per degree of freedom is {best.reduced:.3g}: the residual is much smaller than the given noise; "
        "unless the curve is a simulated one without noise, the standard errors are too large (is the noise in another "
        "unit, or a variance instead of a standard deviation?)"
    )


def _correlated(best: Best) -> str:
    """The sentence names the factor instead of enlarging the errors by it.

    A systematic error of the model correlates residuals, too, and biases the parameters instead of scattering them, so
    that no factor makes the intervals right.
    """
    if not best.correlated:
        return ""
    r, chance = best.correlation, SIGNIFICANT_DEVIATIONS / math.sqrt(len(best.residuals.values))
    return (
        f"neighbouring residuals are correlated ({r:.2f}; of independent noise, rarely above {chance:.2f}): if the "
        f"noise is correlated, the standard errors are too small by a factor of about {_inflation(r):.2g}; if the "
        "model has a systematic error, the parameters are also biased"
    )


def _inflation(r: float) -> float:
    """Factor of standard errors if noise is autoregressive of first order, AR(1), with the correlation r of neighbours.

    It holds if the derivatives of the curve by the parameters change little from point to point.
    """
    return math.sqrt((1.0 + r) / (1.0 - r))


def _unlike(best: Best) -> str:
    return other_unit(best.problem.measured, best.residuals.simulated) if best.correlated else ""


def other_unit(measured: MeasuredCurve, fitted: Float[np.ndarray, " points"]) -> str:
    """A sentence if the ranges of two curves differ as if the measured one were in another unit; otherwise empty."""
    wanted, reached, unit = float(np.ptp(measured.values)), float(np.ptp(fitted)), measured.unit
    if not (wanted and reached) or 1.0 / UNLIKE_RANGES < reached / wanted < UNLIKE_RANGES:
        return ""
    apart = lambda other: abs(math.log(reached / wanted * factor(unit, other, "the output")))
    near = [other for other in alike(unit) if other != unit and apart(other) < 0.5 * math.log(10.0)]
    question = f"in {' or '.join(near)}" if near else "in another unit"
    return (
        f"the measured curve spans {wanted:.3g} {unit}, the fitted one {reached:.3g} {unit}: is the first {question}?"
    )


def _unstable(best: Best) -> str:
    multiplier = float(best.residuals.multiplier)
    text = f"the gait is not stable (largest multiplier {multiplier:.3g}): walks diverge from it"
    return text if multiplier >= 1.0 else ""


def _held(best: Best) -> str:
    """What the bounds on which the fit lies do to the standard errors."""
    if not best.active:
        return ""
    one, names, released = len(best.active) == 1, best.problem.space.names, best.local.released
    text = f"the fit lies on the bound{'' if one else 's'} {', '.join(best.active)}"
    if not np.isfinite(released).any():
        return text
    worst = int(np.nanargmax(released))
    text += f": the standard errors of the other parameters assume that {'this value is' if one else 'these are'} true"
    if released[worst] > RELEASED_GROWTH:
        without = "it" if one else "them"
        text += f"; without {without}, that of {names[worst]} would be {released[worst]:.2g} times as large"
    return text


def _coarse(best: Best) -> str:
    apart = _weighted(best, best.residuals.coarse) / 8.0
    text = f"the error of interpolation between samples is about {apart:.2g} of the noise: give more samples"
    return text if apart > INTERPOLATION_ERROR else ""


def _unsettled(best: Best) -> str:
    apart = _weighted(best, best.residuals.earlier)
    text = (
        f"the last two strides of the runs differ by {apart:.2g} of the noise (root mean square): the gait has not "
        "settled, so that the fit depends on the start of the run (give more strides), or repeats only after several"
    )
    return text if apart > UNSETTLED_DIFFERENCE and not best.exact else ""


def _weighted(best: Best, curve: Float[np.ndarray, " points"]) -> float:
    """Root mean square of the distance of a curve from the fitted one, in standard deviations of the noise."""
    return float(np.sqrt(np.mean(((curve - best.residuals.simulated) / best.problem.noise) ** 2)))


_DOUBTS: tuple[Callable[[Best], str], ...] = (
    *(_unfinished, _exact, _far, _near, _correlated, _unlike, _unstable, _held, _unsettled, _coarse),
)
