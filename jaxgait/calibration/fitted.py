"""The result of a fit: parameters with standard errors, undetermined directions, the fitted curve and its band.

Near the best fit the sum of squares is a parabola, ``r^2 + (J dx)^2``, with the Jacobian J of the weighted residuals
by the unit box. The standard error along a direction with the singular value s is 1/s of the box. With independent
normal noise the covariance of the parameters is the inverse of J^T J. It suffices if the curve is nearly linear in the
parameters over their standard errors (see `profile`).
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from scipy import stats

from jaxgait import files
from jaxgait.calibration.measured import MeasuredCurve
from jaxgait.calibration.problem import Ended, Problem, Residuals
from jaxgait.model import Model
from jaxgait.outcome import NoResult
from jaxgait.parameters import get_parameter, with_parameters
from jaxgait.report import labels
from jaxgait.units import alike, factor

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


ON_A_BOUND = 1e-3
"""Distance from a bound, in widths of the box, below which it may hold a parameter."""
TOO_FAR = 1e-3
"""Probability of the chi-square below which the model is reported not to fit the data."""
UNFINISHED = 0.1
"""Predicted further fall of chi-square above which a fit is not a minimum; 1 is a distance of one standard error."""
CORRELATED = 0.5
"""Correlation of neighbouring residuals above which they are reported not to be noise."""
EXACT = 1e-9
"""Noise, relative to the largest value, below which the residuals are rounding of the search and the solver."""
UNLIKE = 5.0
"""Ratio of the ranges of two curves above which the measured one is reported to be, perhaps, in another unit."""
INTERPOLATION = 0.1
"""Error of interpolation, in standard deviations of the noise, above which more samples are recommended."""
OUTSIDE = 1 << 20
"""Search number of a run outside the searches, so that it does not affect the memory of their gaits."""


@dataclass(frozen=True, repr=False)
class Fit:
    """The result of a fit.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> truth = simulate(with_parameters(Bungee(), {"stiffness": 26.0}), duration=10.0, samples=100)
        >>> found = fit(Bungee(), truth.height, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1,
        ...             duration=10.0, samples=100, starts=1)
        >>> low, high = found.interval("stiffness")  # 95 %
        >>> print(round(low, 2), round(high, 2))  # N/m
        25.99 26.01
        >>> print(found.condition, round(found.reduced, 3))
        1.0 0.0
        >>> found.minimum, found.determined
        (True, True)
        >>> found.before().shape  # the curve of the model before the fit
        (101,)
        >>> found.to_json("fit.json")
        >>> found.as_dict()["units"]
        {'stiffness': 'N/m'}
    """

    model: Model
    best: dict[str, float]
    units: dict[str, str]
    standard_error: dict[str, float]
    """In the parameters' units (Laplace); infinite for undetermined parameters, NaN for those on a bound."""
    covariance: xr.DataArray
    """In products of the units of the parameters."""
    correlation: xr.DataArray
    """Of the parameters' errors, without dimension."""
    noise: Float[np.ndarray, " points"]
    """Standard deviation of each measured value, in the unit of the curve."""
    noise_estimated: bool
    """Whether it was estimated from the residual; then chi-square does not tell whether the model is right."""
    chi_square: float
    """Sum of the squared residuals over the squared noise."""
    degrees: int
    """Degrees of freedom: points minus free parameters."""
    fall: float
    """Predicted further fall of chi-square to the bottom of the parabola (no dimension): zero at a minimum."""
    curve: xr.Dataset
    """`measured`, `fitted`, `residual` and `band` (half the width of the 95 % band of the fitted curve)."""
    singular_values: Float[np.ndarray, " n"]
    """Of the Jacobian of the weighted residuals by the unit box: 1/s is the standard error along a direction."""
    directions: Float[np.ndarray, "n n"]
    """Their directions in the unit box, as rows, the best determined first."""
    undetermined: tuple[str, ...]
    """The directions that the data do not determine, one sentence each."""
    remarks: tuple[str, ...]
    """Other caveats, one sentence each."""
    active: tuple[str, ...]
    """Bounds on which it lies."""
    why_stopped: list[str]
    """One sentence per start."""
    ends: xr.Dataset
    """Over `start`: where each search ended, its chi-square, and its number of evaluations."""
    gradient: str
    problem: Problem = field(repr=False, compare=False)
    """For `profile` and `sample`."""
    memory: Any = field(default=None, repr=False, compare=False)
    """The gait that was found, as a guess for further searches."""

    def __repr__(self) -> str:
        found = (f"{n} = {x:g} ± {self.standard_error[n]:.2g} {self.units[n]}".rstrip() for n, x in self.best.items())
        caveats = "".join(f"\n  {text}" for text in (*self.undetermined, *self.remarks))
        return f"<Fit of {type(self.model).__name__}: {', '.join(found)} (standard errors){caveats}>"

    @property
    def condition(self) -> float:
        """Ratio of the largest and the smallest singular value, without dimension; infinite if that is zero."""
        least = self.singular_values[-1]
        return float(self.singular_values[0] / least) if least > 0.0 else float("inf")

    @property
    def reduced(self) -> float:
        """Chi-square per degree of freedom, without dimension; NaN if there are none."""
        return self.chi_square / self.degrees if self.degrees > 0 else float("nan")

    @property
    def minimum(self) -> bool:
        """Whether it is a minimum, within a small fraction of the standard errors."""
        return self.fall <= UNFINISHED

    @property
    def determined(self) -> bool:
        """Whether it is a minimum and the data determine all directions, so that the standard errors are meaningful."""
        return self.minimum and not self.undetermined

    def before(self) -> Float[np.ndarray, " points"]:
        """The initial curve of the model at the points of the data, in their unit; NaN if that run failed."""
        problem, space = self.problem, self.problem.space
        own = np.array([float(get_parameter(problem.model, name)) for name in space.names])
        return problem([OUTSIDE], (own[None] - space.low) / space.width).simulated[0]

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """The interval of one parameter, in its unit, from its standard error (Laplace).

        It contains the true value with the probability `level`.

        Raises:
            KeyError: for a parameter that was not fitted.
            ValueError: for an impossible level.
        """
        if name not in self.best:
            raise KeyError(f"{name!r} was not fitted: there are {', '.join(self.best)}")
        reach = quantile(self, level) * self.standard_error[name]
        return self.best[name] - reach, self.best[name] + reach

    def to_json(self, path: pathlib.Path | str) -> None:
        """Writes the result of `as_dict` to a file."""
        files.text(path, files.as_json(self.as_dict()))

    def as_dict(self) -> dict[str, Any]:
        """The entire result for JSON, with None for numbers that are not finite."""
        names = ("best", "units", "standard_error", "noise", "noise_estimated", "chi_square", "degrees", "fall")
        names += ("minimum", "determined", "singular_values", "directions", "undetermined", "remarks", "active")
        record: dict[str, Any] = {name: getattr(self, name) for name in (*names, "why_stopped", "gradient")}
        record |= {"covariance": self.covariance.values, "correlation": self.correlation.values}
        record["curve"] = {name: x.values for name, x in self.curve.variables.items()}
        return files.plain(record | {"ends": {name: x.values for name, x in self.ends.data_vars.items()}})

    def __str__(self) -> str:
        rows = [
            f"{name} = {value:.6g} ± {self.standard_error[name]:.2g} {self.units[name]}".rstrip()
            for name, value in self.best.items()
        ]
        if self.noise_estimated:
            rows.append(f"noise, from the residual: {self.noise[0]:.3g} {self.problem.measured.unit}")
        else:
            rows.append(f"chi-square per degree of freedom: {self.reduced:.3g}")
        return "\n".join([*rows, *self.undetermined, *self.remarks])


def quantile(found: Fit, level: float) -> float:
    """Half width, in standard errors (no dimension), of an interval with the probability `level`.

    Raises:
        ValueError: for anything but a number between 0 and 1.
    """
    if not (isinstance(level, float) and 0.0 < level < 1.0):
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}")
    law = stats.t(found.degrees) if found.noise_estimated else stats.norm()
    return float(law.ppf(0.5 * (1.0 + level)))


def check_points(points: int, parameters: int) -> None:
    """Checks that there are enough points to estimate the noise as well as so many parameters.

    Raises:
        ValueError: if there are too few.
    """
    if points <= parameters:
        raise ValueError(
            f"{points} points are too few to estimate {parameters} parameters and the noise: give the noise (the "
            f"result then shows what they leave open), or at least {parameters + 1} points"
        )


def summarised(problem: Problem, x: Float[np.ndarray, "starts n"], ended: Sequence[Ended], estimated: bool) -> Fit:
    """The result of the searches from some points of the unit box (no dimension).

    Args:
        problem: model and data, with a noise of 1 in the unit of the curve if it is to be estimated.
        x: starts of the searches.
        ended: their ends.
        estimated: whether to estimate the noise from the residual.

    Raises:
        jaxgait.outcome.NoResult: if no run of any start completed.
    """
    best = min(ended, key=lambda end: end.squares)
    if not np.isfinite(best.squares):
        raise NoResult(f"no start could be fitted ({ended[0].why}): try other bounds or more starts")
    space, found = problem.space, best.found
    free = _free(found, best.x)
    degrees = len(problem.noise) - int(free.sum())
    if estimated:
        problem, found = _estimated(problem, found, degrees)
    local = laplace(found.slopes, free)
    covariance = local.covariance * np.outer(space.width, space.width)
    errors, named = np.sqrt(np.diagonal(covariance)), space.named(best.x)
    fall = 0.0 if estimated and _exact(problem) else _fall(found, free)
    with np.errstate(invalid="ignore"):
        correlation = covariance / np.outer(errors, errors)
    correlation[np.isinf(errors), np.isinf(errors)] = 1.0
    pairs = lambda values, what, unit: xr.DataArray(
        values, {"parameter": space.names, "by": space.names}, ("parameter", "by"), attrs=labels(unit, what)
    )
    return Fit(
        with_parameters(problem.model, named),
        named,
        dict(zip(space.names, space.units, strict=True)),
        dict(zip(space.names, map(float, errors), strict=True)),
        pairs(covariance, "covariance of the parameters", "product of the parameters' units"),
        pairs(correlation, "correlation of the parameters' errors", "1"),
        problem.noise,
        estimated,
        float(found.squares),
        degrees,
        fall,
        _curves(problem, found, local, degrees if estimated else None),
        local.singular_values,
        local.directions,
        open_directions(local, space.names),
        _remarks(problem, found, fall, degrees, estimated),
        _active(problem, best.x, free),
        [end.why for end in ended],
        _ends(problem, x, ended, problem.noise[0] if estimated else 1.0),
        problem.evaluate.name,
        problem,
        best.found.memory,
    )


def _estimated(problem: Problem, found: Residuals, degrees: int) -> tuple[Problem, Residuals]:
    rounding = np.finfo(float).eps * (np.abs(problem.measured.values).max() or 1.0)
    size = max(float(np.sqrt(found.squares / degrees)), float(rounding))
    scaled = found._replace(values=found.values / size, slopes=found.slopes / size)
    return replace(problem, noise=np.full(len(problem.noise), size)), scaled


def _curves(problem: Problem, found: Residuals, local: Laplace, estimated_from: int | None) -> xr.Dataset:
    measured = problem.measured
    law = stats.norm() if estimated_from is None else stats.t(estimated_from)
    band = float(law.ppf(0.975)) * np.sqrt(local.leverage) * problem.noise
    columns = {
        "measured": (measured.values, "measured curve"),
        "fitted": (found.simulated, "fitted curve"),
        "residual": (found.simulated - measured.values, "fitted minus measured curve"),
        "band": (band, "half the width of the 95 % band of the fitted curve"),
    }
    axis = xr.DataArray(measured.at, dims=measured.axis, attrs=labels(measured.over, measured.axis))
    return xr.Dataset(
        {name: (measured.axis, values, labels(measured.unit, what)) for name, (values, what) in columns.items()},
        {measured.axis: axis},
    )


def _fall(found: Residuals, free: Bool[np.ndarray, " n"]) -> float:
    slopes = found.slopes[:, free]
    step = np.linalg.lstsq(slopes, -found.values, rcond=RANK)[0]
    return float(np.sum((slopes @ step) ** 2))


def _exact(problem: Problem) -> bool:
    """Whether the residuals are only rounding, as for a curve that the model itself produced."""
    return bool(np.sqrt(np.mean(problem.noise**2)) < EXACT * np.abs(problem.measured.values).max())


def _remarks(problem: Problem, found: Residuals, fall: float, degrees: int, estimated: bool) -> tuple[str, ...]:
    r = found.values
    together = float(r[1:] @ r[:-1] / (r @ r)) if len(r) > 1 and r.any() else 0.0
    apart = float(np.sqrt(np.mean((found.coarse - found.simulated) ** 2) / np.mean(problem.noise**2))) / 8.0
    far = not estimated and degrees > 0 and stats.chi2.sf(found.squares, degrees) < TOO_FAR
    exact = estimated and _exact(problem)
    seen = not exact and (estimated or found.squares > degrees)  # below the noise, patterns do not matter
    multiplier, reduced = float(found.multiplier), float(found.squares) / max(degrees, 1)
    unlike = _unlike(problem.measured, found.simulated)
    sentences = [
        (
            fall > UNFINISHED,
            f"this is not a minimum: another step would reduce chi-square by about {fall:.2g} (see why_stopped), and "
            "the standard errors do not hold",
        ),
        (exact, "the curve is fitted to the accuracy of a run: it has no noise, so the standard errors mean nothing"),
        (
            far,
            f"chi-square per degree of freedom is {reduced:.3g}: the model does not fit the data within the noise, "
            "which the standard errors ignore",
        ),
        (
            seen and together > CORRELATED,
            f"neighbouring residuals are correlated ({together:.2f}): the residual is not independent noise, so the "
            "standard errors are too small",
        ),
        (seen and together > CORRELATED and bool(unlike), unlike),
        (multiplier >= 1.0, f"the gait is not stable (largest multiplier {multiplier:.3g}): walks diverge from it"),
        (
            apart > INTERPOLATION,
            f"the error of interpolation between samples is about {apart:.2g} of the noise: give more samples",
        ),
    ]
    return tuple(text for holds, text in sentences if holds)


def _unlike(measured: MeasuredCurve, fitted: Float[np.ndarray, " points"]) -> str:
    """A sentence if the ranges of two curves differ as if the measured one were in another unit; otherwise empty."""
    given, found, unit = float(np.ptp(measured.values)), float(np.ptp(fitted)), measured.unit
    if not (given and found) or 1.0 / UNLIKE < found / given < UNLIKE:
        return ""
    apart = lambda other: abs(math.log(found / given * factor(unit, other, "the output")))
    near = [other for other in alike(unit) if other != unit and apart(other) < 0.5 * math.log(10.0)]
    question = f"in {' or '.join(near)}" if near else "in another unit"
    return f"the measured curve spans {given:.3g} {unit}, the fitted one {found:.3g} {unit}: is the first {question}?"


def _free(found: Residuals, x: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Which parameters no bound holds: in a wide box, a minimum may lie next to a bound without being on it."""
    to = x + np.linalg.lstsq(found.slopes, -found.values, rcond=RANK)[0]
    return ((x > ON_A_BOUND) & (x < 1.0 - ON_A_BOUND)) | ((to > 0.0) & (to < 1.0))


def _active(problem: Problem, x: Float[np.ndarray, " n"], free: Bool[np.ndarray, " n"]) -> tuple[str, ...]:
    space = problem.space
    nearer = np.where(x < 0.5, space.low, space.high)
    return tuple(f"{space.names[i]} = {nearer[i]:g}" for i in np.flatnonzero(~free))


def _ends(problem: Problem, x: np.ndarray, ended: Sequence[Ended], noise: float) -> xr.Dataset:
    """The ends of the searches, whose squares are in units of `noise`."""
    space = problem.space
    begun, at = space.physical(x), space.physical(np.stack([end.x for end in ended]))
    columns = {name: (at[:, k], space.units[k], "where it ended") for k, name in enumerate(space.names)}
    columns |= {f"start[{n}]": (begun[:, k], space.units[k], "where it began") for k, n in enumerate(space.names)}
    columns["squares"] = (np.array([end.squares for end in ended]) / noise**2, "1", "sum of the weighted squares")
    columns["multiplier"] = (
        np.array([float(end.found.multiplier) for end in ended]),
        "1",
        "modulus of the largest Floquet multiplier; NaN where no gait was solved for",
    )
    columns["evaluations"] = (np.array([end.evaluations for end in ended]), "1", "evaluations")
    columns["failed"] = (np.array([end.failed for end in ended]), "1", "evaluations whose run failed")
    return xr.Dataset({name: ("start", values, labels(unit, what)) for name, (values, unit, what) in columns.items()})
