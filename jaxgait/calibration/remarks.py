"""The best point of a fit with the parabola around it, and what casts doubt on it, one sentence each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from jaxgait.calibration.laplace import Laplace, free_parameters, further_fall, laplace
from jaxgait.calibration.losses import Loss
from jaxgait.calibration.measured import MeasuredCurve
from jaxgait.calibration.outliers import outliers
from jaxgait.calibration.problem import Problem, Residuals, TrialData
from jaxgait.calibration.search import FitEnd
from jaxgait.support.checks import listed
from jaxgait.support.units import alike, factor, with_unit

UNLIKELY_PROBABILITY = 1e-3
"""Probability of a chi-square as large, or as small, below which the residual is reported not to fit the noise."""
NORMAL_MEDIAN = float(stats.norm.ppf(0.75))
"""Median size of normal noise, in standard deviations."""
NAMED_OUTLIERS = 3
"""Largest number of outliers of a curve that are named."""
UNFINISHED_FALL = 0.1
"""Predicted further fall of chi-square above which a fit is not a minimum; 1 is a distance of one standard error."""
RIVAL_DEVIATIONS, RIVAL_RISE, RIVAL_DISTANCE = 3.0, 4.0, 1e-3
"""The end of another start is reported if it is more than this many standard errors, and this fraction of the box, from
the best one, and if chi-square rises by less than this many times its rise at one standard error."""
SIGNIFICANT_DEVIATIONS = 2.0
"""Correlation of neighbouring residuals, in standard deviations of that of independent noise (the root of one over the
number of points), above which they are reported not to be independent noise."""
LARGE_MISFIT, SMOOTH = 0.05, 0.5
"""Root mean square of the residuals, relative to the range of the measured curve, and correlation of neighbouring ones,
above both of which the model is reported not to explain the curve, if the noise is not known."""
EXACT_NOISE = 1e-9
"""Noise, relative to the largest value, below which the residuals are rounding of the search and the solver."""
UNLIKE_RANGES = 5.0
"""Ratio of the ranges of two curves above which the measured one is reported to be, perhaps, in another unit."""
COARSE_ERROR = 8.0
"""Difference of the curves from every other sample and from all of them, in errors of the latter.

It is 15 where the curve is smooth, because the error falls with the fourth power of the distance of the samples, and 1
to 3 at kinks and jumps, such as those of loads at heel strike; most curves have both.
"""
INTERPOLATION_ERROR = 0.1
"""Error of interpolation, in standard deviations of the noise, above which more samples are recommended."""
UNSETTLED_DIFFERENCE = 0.1
"""Difference of the last two strides, in standard deviations of the noise, above which a gait has not settled."""
TOLERANCE_ERROR = 0.1
"""Difference of the curve with the model's own tolerances, in standard deviations of the noise, that is reported."""
REPORTED_GROWTH = 1.1
"""Growth of a standard error without the bounds above which it is reported."""


def per_degree(squares: float, degrees: float | int) -> float:
    """Chi-square per degree of freedom, no dimension; NaN if there are none.

    Examples:
        >>> from jaxgait.calibration.remarks import per_degree
        >>> per_degree(12.0, 10.0)
        1.2
    """
    return squares / degrees if degrees > 0.0 else math.nan


class Part(NamedTuple):
    """The part of one trial in the best point of a fit; weighted residuals have no dimension."""

    trial: TrialData
    """With the noise of the data, even if it was estimated."""
    values: Float[np.ndarray, " points"]
    """Its weighted residuals."""
    simulated: Float[np.ndarray, " points"]
    coarse: Float[np.ndarray, " points"]
    earlier: Float[np.ndarray, " points"]
    leverage: Float[np.ndarray, " points"]
    """Variance of the fitted curve, in units of the noise variance."""
    degrees: float
    """Degrees of freedom: its points minus its share of the fitted parameters, the sum of the leverage."""
    estimated: bool
    """Whether the noise was estimated from the residual."""
    loss: Loss
    """What was minimised."""

    @property
    def squares(self) -> float:
        """Its share of chi-square, no dimension."""
        return float(self.values @ self.values)

    @property
    def reduced(self) -> float:
        """Chi-square per degree of freedom, no dimension; NaN if there are none."""
        return per_degree(self.squares, self.degrees)

    @property
    def exact(self) -> bool:
        """Whether the residuals are only rounding, as for a curve that the model itself produced."""
        size = np.abs(self.trial.measured.values).max()
        return self.estimated and bool(np.sqrt(np.mean(self.trial.noise**2)) < EXACT_NOISE * size)

    @property
    def near(self) -> bool:
        """Whether the residuals are too small for the given noise."""
        return self._judged and bool(stats.chi2.cdf(self.squares, self.degrees) < UNLIKELY_PROBABILITY)

    @property
    def far(self) -> bool:
        """Whether the residuals, of which a robust loss may leave some large, are too large for the given noise."""
        if self.loss.robust:
            above = int((np.abs(self.values) > NORMAL_MEDIAN).sum())
            return bool(stats.binom.sf(above - 1, len(self.values), 0.5) < UNLIKELY_PROBABILITY)
        return self._judged and bool(stats.chi2.sf(self.squares, self.degrees) < UNLIKELY_PROBABILITY)

    @property
    def median(self) -> float:
        """Median of the sizes of the residuals, in standard deviations of the noise."""
        return float(np.median(np.abs(self.values)))

    @property
    def correlation(self) -> float:
        """Correlation of psi of neighbouring residuals, no dimension; zero for a fit within the noise."""
        r = self.loss.psi(self.values)
        return 0.0 if self.exact or self.near or not r.any() else float(r[1:] @ r[:-1] / (r @ r))

    @property
    def correlated(self) -> bool:
        """Whether neighbouring residuals are more correlated than independent noise."""
        return self.correlation > SIGNIFICANT_DEVIATIONS / math.sqrt(len(self.values))

    @property
    def _judged(self) -> bool:
        """Whether chi-square says anything about the noise: a robust loss does not minimise it."""
        return not (self.estimated or self.loss.robust) and self.degrees > 0.0

    def apart(self, curve: Float[np.ndarray, " points"]) -> float:
        """Root mean square of the distance of a curve from the fitted one, in standard deviations of the noise."""
        return float(np.sqrt(np.mean(((curve - self.simulated) / self.trial.noise) ** 2)))


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
    widening: float
    """Ratio of the standard errors to those of least squares with this noise; 1 unless the loss is robust."""
    ends: Float[np.ndarray, "starts n"]
    """Where all starts ended, in the unit box."""
    rises: Float[np.ndarray, " starts"]
    """Rises of chi-square or of the loss from the best end to all of them, no dimension."""

    @property
    def parts(self) -> list[Part]:
        """The parts of the trials; their chi-squares and degrees of freedom sum to those of the fit."""
        found, leverage, loss, parts = self.residuals, self.local.leverage, self.problem.loss, []
        for trial, at in zip(self.problem.trials, self.problem.points, strict=True):
            own = round(len(trial.noise) - float(leverage[at].sum()), 9)  # exactly zero if all points are used up
            degrees = own if len(self.problem.trials) > 1 else float(self.degrees)
            curves = (found.values[at], found.simulated[at], found.coarse[at], found.earlier[at], leverage[at])
            parts.append(Part(trial, *curves, degrees, self.estimated, loss))
        return parts

    @property
    def fall(self) -> float:
        """Predicted further fall of chi-square or of the loss to the bottom of its parabola, no dimension."""
        if all(part.exact for part in self.parts):
            return 0.0
        values, slopes = self.problem.loss.as_squares(self.residuals.values, self.residuals.slopes)
        return further_fall(values, slopes[:, self.free])

    @property
    def active(self) -> tuple[str, ...]:
        """Bounds on which it lies, such as "mass = 80"."""
        space = self.problem.space
        nearer = np.where(self.x < 0.5, space.low, space.high)
        return tuple(f"{space.names[i]} = {nearer[i]:g}" for i in np.flatnonzero(~self.free))


def best_of(problem: Problem, ended: Sequence[FitEnd], estimated: bool) -> Best:
    """The end of the best search with the parabola around it.

    Args:
        problem: model and data, with noise of any size if it is to be estimated.
        ended: the searches.
        estimated: whether to estimate the noise from the residual.
    """
    end, given = min(ended, key=lambda end: end.total), problem.noise[0]
    found = end.residuals
    free = free_parameters(*problem.loss.as_squares(found.values, found.slopes), end.x)
    degrees = len(problem.noise) - laplace(found.slopes, free).rank
    if estimated:
        problem, found = _with_noise(problem, found, degrees)
    widening = problem.loss.widening(found.values, degrees)
    local = laplace(found.slopes / widening, free)
    rises = np.array([one.total - end.total for one in ended]) * (given / problem.noise[0]) ** 2
    ends = np.stack([one.x for one in ended])
    return Best(problem, end.x, found, free, local, degrees, estimated, widening, ends, rises)


def remarks(best: Best) -> tuple[str, ...]:
    """All that casts doubt on a fit, the gravest first; doubts about single trials give their names."""
    return tuple(text for doubts in _DOUBTS for text in doubts(best) if text)


Doubts: TypeAlias = Callable[[Best], Sequence[str]]


def _whole(doubt: Callable[[Best], str]) -> Doubts:
    """A doubt about the entire fit."""
    return lambda best: [doubt(best)]


def _each(doubt: Callable[[Part], str]) -> Doubts:
    """A doubt about single trials, with the names of those to which it applies."""

    def doubts(best: Best) -> list[str]:
        texts = {part.trial.name: doubt(part) for part in best.parts}
        if len(texts) == 1:
            return list(texts.values())
        alike = lambda text: listed([name for name, other in texts.items() if other == text], "and")
        return [f"{alike(text)}: {text}" for text in dict.fromkeys(texts.values()) if text]

    return doubts


def _with_noise(problem: Problem, residuals: Residuals, degrees: int) -> tuple[Problem, Residuals]:
    """Problem and residuals with the noise that the residual estimates, of one size for all trials."""
    largest = max(float(np.abs(one.measured.values / one.noise).max()) for one in problem.trials)
    rounding = np.finfo(float).eps * (largest or 1.0)
    size = max(float(np.sqrt(residuals.squares / degrees)), float(rounding))
    scaled = residuals._replace(values=residuals.values / size, slopes=residuals.slopes / size)
    trials = tuple(replace(one, noise=size * one.noise) for one in problem.trials)
    return replace(problem, trials=trials), scaled


def _unfinished(best: Best) -> str:
    if best.fall <= UNFINISHED_FALL:
        return ""
    return (
        f"this is not a minimum: another step would reduce {best.problem.loss.statistic} by about {best.fall:.2g} (see "
        "why_stopped), and the standard errors are not valid"
    )


def _rivalled(best: Best) -> str:
    """Reports another fit, beyond the standard errors of the best one, that the data cannot distinguish from it."""
    moves = best.ends - best.x
    apart = np.linalg.norm(moves @ best.residuals.slopes.T, axis=1) / best.widening
    far = (apart > RIVAL_DEVIATIONS) & (np.abs(moves).max(axis=1) > RIVAL_DISTANCE)
    rises, loss = np.where(far, best.rises, np.inf), best.problem.loss
    if rises.min() >= RIVAL_RISE * loss.threshold(best.residuals.values, best.degrees):
        return ""
    other = int(np.argmin(rises))
    where = ", ".join(f"{name} = {x:.6g}" for name, x in best.problem.space.named(best.ends[other]).items())
    return (
        f"start {other} ended at {where}, where {loss.statistic} is larger by only {rises[other]:.2g}: the data do not "
        "tell these fits apart, and the standard errors are those around one of them"
    )


def _exact(part: Part) -> str:
    text = "the curve is fitted to the accuracy of a run: it has no noise, so the standard errors mean nothing"
    return text if part.exact else ""


def _unexplained(part: Part) -> str:
    """Reports the misfit, if it can hardly be noise although the noise was estimated from it."""
    measured = part.trial.measured
    rms, range_ = float(np.sqrt(np.mean((part.simulated - measured.values) ** 2))), float(np.ptp(measured.values))
    smooth = part.correlated and part.correlation > SMOOTH
    if not (part.estimated and smooth) or rms <= LARGE_MISFIT * range_:
        return ""
    size = with_unit(f"{rms:.3g}", measured.unit)
    size += f" ({np.degrees(rms):.3g} deg)" if measured.unit == "rad" else ""
    share = f" {rms / range_:.0%} of the range of the curve," if range_ else ""
    return (
        f"the model does not explain the curve: the residual is {size} (root mean square),{share} and correlated, so "
        "that it is a misfit rather than noise; the standard errors, which take it for noise, mean little"
    )


def _outlying(part: Part) -> str:
    trial, unit = part.trial, part.trial.measured.unit
    found = [] if part.exact else outliers(trial.measured.values, part.simulated, trial.noise, not part.estimated)
    if not found:
        return ""
    at = lambda i: f"{trial.measured.at[i]:.6g}" + (" s" if trial.measured.axis == "time" else " of the stride")
    side = lambda above: f"{with_unit(f'{abs(above):.3g}', unit)} {'above' if above > 0.0 else 'below'} the fit"
    each = [f"{at(i)} ({side(above)}, {size:.3g} standard deviations)" for i, above, size in found]
    named = [*each[:NAMED_OUTLIERS], *([f"{len(found) - NAMED_OUTLIERS} more"] if len(found) > NAMED_OUTLIERS else [])]
    text = f"the measured {trial.output} stands out from its neighbours at {listed(named, 'and')}: outliers"
    if part.loss.robust:
        return f"{text}, which pull the parameters less with the loss {part.loss.name} than by least squares"
    noise = abs(found[0].above) / found[0].deviations
    first = f"with the noise (about {with_unit(f'{noise:.2g}', unit)}) and " if part.estimated else "with "
    return f"{text} pull the parameters; correct them, leave them out, or fit {first}a robust loss such as soft_l1"


def _far(part: Part) -> str:
    if not part.far:
        return ""
    if part.loss.robust:
        return (
            f"half of the residuals exceed {part.median:.2g} standard deviations, of normal noise {NORMAL_MEDIAN:.2g}: "
            "the model does not fit the data within the noise, and the loss treats ordinary residuals as outliers"
        )
    return (
        f"chi-square per degree of freedom is {part.reduced:.3g}: the model does not fit the data within the noise, "
        "which the standard errors ignore"
    )


def _far_together(best: Best) -> str:
    """Reports trials that together are too far from the model, although each is within the bounds of chance."""
    squares, loose = float(best.residuals.squares), best.estimated or best.problem.loss.robust
    if loose or best.degrees <= 0 or any(part.far for part in best.parts):
        return ""
    if stats.chi2.sf(squares, best.degrees) > UNLIKELY_PROBABILITY:
        return ""
    return (
        f"chi-square per degree of freedom of all trials is {per_degree(squares, best.degrees):.3g}: the model does "
        "not fit them together within the noise, which the standard errors ignore"
    )


def _uneven(best: Best) -> str:
    """Reports the trial whose residual is least compatible with the noise that was estimated for all."""
    parts, squares = best.parts, float(best.residuals.squares)
    if not best.estimated or best.degrees <= 0 or all(part.exact for part in parts):
        return ""
    found = []
    for part in parts:
        own, others = max(part.degrees, 1.0), max(best.degrees - part.degrees, 1.0)
        ratio = (part.squares / own) / max((squares - part.squares) / others, np.finfo(float).tiny)
        chance = min(stats.f.sf(ratio, own, others), stats.f.cdf(ratio, own, others))
        found.append((chance, ratio, part.trial.name))
    chance, ratio, name = min(found, key=lambda one: (one[0], -one[1]))
    text = (
        f"{name}: its residual is {math.sqrt(ratio):.2g} times as large as that of the other trials, which one common "
        "noise hardly explains: give the noise of each trial"
    )
    return text if len(parts) > 1 and chance < UNLIKELY_PROBABILITY else ""


def _near(part: Part) -> str:
    if not part.near:
        return ""
    return (
        f"chi-square per degree of freedom is {part.reduced:.3g}: the residual is much smaller than the given noise; "
        "unless the curve is a simulated one without noise, the standard errors are too large (is the noise in another "
        "unit, or a variance instead of a standard deviation?)"
    )


def _correlated(part: Part) -> str:
    """Reports correlated residuals, and names the factor of the errors instead of enlarging them by it.

    A systematic error of the model also correlates residuals, but it biases the parameters instead of scattering them:
    then no factor makes the intervals right.
    """
    if not part.correlated:
        return ""
    r, chance = part.correlation, SIGNIFICANT_DEVIATIONS / math.sqrt(len(part.values))
    inflation = math.sqrt((1.0 + r) / (1.0 - r))  # of noise AR(1), if slopes of the curve change little between points
    return (
        f"neighbouring residuals are correlated ({r:.2f}; of independent noise, rarely above {chance:.2f}): if the "
        f"noise is correlated, the standard errors are too small by a factor of about {inflation:.2g}; if the "
        "model has a systematic error, the parameters are also biased"
    )


def _unlike(part: Part) -> str:
    return other_unit(part.trial.measured, part.simulated) if part.correlated else ""


def other_unit(measured: MeasuredCurve, fitted: Float[np.ndarray, " points"]) -> str:
    """A sentence if the ranges of two curves, both in the unit of the first, differ as if that unit were wrong."""
    wanted, reached, unit = float(np.ptp(measured.values)), float(np.ptp(fitted)), measured.unit
    if not (wanted and reached) or 1.0 / UNLIKE_RANGES < reached / wanted < UNLIKE_RANGES:
        return ""
    apart = lambda other: abs(math.log(reached / wanted * factor(unit, other, "the output", of="the measured curve")))
    near = [other for other in alike(unit) if other != unit and apart(other) < 0.5 * math.log(10.0)]
    question = f"in {' or '.join(near)}" if near else "in another unit"
    spans = [with_unit(f"{span:.3g}", unit) for span in (wanted, reached)]
    return f"the measured curve spans {spans[0]}, the fitted one {spans[1]}: is the first {question}?"


def _unstable(best: Best) -> str:
    multiplier, of = float(best.residuals.multiplier), best.problem.of(int(best.residuals.trial))
    text = f"the gait{of} is not stable (largest multiplier {multiplier:.3g}): walks diverge from it"
    return text if multiplier >= 1.0 else ""


def _coarsely_solved(best: Best) -> str:
    """Reports how the gait differs with the model's own tolerances, if these are finer than those of the fit."""
    if (judged := best.problem.again(best.x, best.residuals.memory)) is None:
        return ""
    found, instead, given = judged
    own, multiplier, of = float(best.residuals.multiplier), float(found.multiplier), best.problem.of(int(found.trial))
    apart = float(np.sqrt(np.mean(((found.simulated - best.residuals.simulated) / best.problem.noise) ** 2)))
    if not np.isfinite(multiplier):
        what = f"no gait was found{of}"
    elif any((multiplier >= limit) != (own >= limit) for limit in (1.0, best.problem.stability)):
        what = f"the gait{of} has the largest multiplier {multiplier:.4g}, not {own:.4g}"
    elif apart > TOLERANCE_ERROR:
        what = f"the fitted curve differs by {apart:.2g} of the noise (root mean square)"
    else:
        return ""
    return f"{instead}, {what}: fit with {given}"


def _held(best: Best) -> str:
    """Reports the bounds on which the fit lies, and their effect on the standard errors."""
    if not best.active:
        return ""
    one, names, growth = len(best.active) == 1, best.problem.space.names, best.local.growth_without_bounds
    text = f"the fit lies on the bound{'' if one else 's'} {', '.join(best.active)}"
    if not np.isfinite(growth).any():
        return text
    worst = int(np.nanargmax(growth))
    text += f": the standard errors of the other parameters assume that {'this value is' if one else 'these are'} true"
    if growth[worst] > REPORTED_GROWTH:
        without = "it" if one else "them"
        text += f"; without {without}, that of {names[worst]} would be {growth[worst]:.2g} times as large"
    return text


def _coarse(part: Part) -> str:
    apart = part.apart(part.coarse) / COARSE_ERROR
    text = f"the error of interpolation between samples is about {apart:.2g} of the noise: give more samples"
    return text if apart > INTERPOLATION_ERROR else ""


def _unsettled(part: Part) -> str:
    apart = part.apart(part.earlier)
    text = (
        f"the last two strides of the runs differ by {apart:.2g} of the noise (root mean square): the gait has not "
        "settled, so that the fit depends on the start of the run (give more strides), or repeats only after several"
    )
    return text if apart > UNSETTLED_DIFFERENCE and not part.exact else ""


_DOUBTS: tuple[Doubts, ...] = (
    *(
        _whole(_unfinished),
        _whole(_rivalled),
        _each(_exact),
        _each(_unexplained),
        _each(_outlying),
        _each(_far),
        _whole(_far_together),
        _whole(_uneven),
    ),
    *(_each(_near), _each(_correlated), _each(_unlike)),
    *(_whole(_unstable), _whole(_coarsely_solved), _whole(_held), _each(_unsettled), _each(_coarse)),
)
