"""The result of a fit: parameters with standard errors, undetermined directions, the fitted curve and its band."""

from __future__ import annotations

import pathlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from scipy import stats

from jaxgait.calibration.laplace import open_directions
from jaxgait.calibration.losses import Loss
from jaxgait.calibration.problem import Problem
from jaxgait.calibration.remarks import UNFINISHED_FALL, Best, Part, best_of, per_degree, remarks
from jaxgait.calibration.search import FitEnd
from jaxgait.model import Model
from jaxgait.outcome import NoResult
from jaxgait.parameters import get_parameter, with_parameters
from jaxgait.report import labels
from jaxgait.support import files
from jaxgait.support.checks import listed, positive


@dataclass(frozen=True, eq=False)
class FittedTrial:
    """One trial of a fit.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> truth = simulate(with_parameters(Bungee(), {"stiffness": 26.0}), duration=10.0, samples=100)
        >>> found = fit(Bungee(), truth.height, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1,
        ...             duration=10.0, samples=100, starts=1)
        >>> one = found.trials["trial 0"]
        >>> print(one.output, one.quantity, one.points, round(one.degrees, 3), round(one.reduced, 3))
        height height above the ground slice(0, 101, None) 100.0 0.0
        >>> print(round(float(one.model.stiffness), 3))  # N/m
        26.0
    """

    curve: xr.Dataset
    """`measured`, `fitted`, `residual` and `band` (half the width of the 95 % band of the fitted curve)."""
    output: str
    """The measured output; "curve" for a function of a run."""
    model: Model
    """The mechanism with the best and the known parameters of the trial."""
    given: dict[str, Any]
    """What was known of it, in the units of the model (`Trial.given`)."""
    points: slice
    """Its points among those of all trials."""
    chi_square: float
    """Its share of chi-square, no dimension."""
    degrees: float
    """Its share of the degrees of freedom: its points minus the sum of their leverages on the fitted curve, the part of
    the parameters that this trial determines."""

    @property
    def quantity(self) -> str:
        """The measured output in words, such as "knee flexion"; its name if it has none."""
        known = self.model.variables.get(self.output)
        return self.output if known is None else known.long_name or self.output

    @property
    def reduced(self) -> float:
        """Chi-square per degree of freedom, without dimension; NaN if there are none."""
        return per_degree(self.chi_square, self.degrees)


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
        >>> print(found.loss, found.f_scale, found.residuals.shape)
        linear 1.0 (101,)
        >>> found.curve.sizes["time"], found.before().shape  # the curves after and before the fit
        (101, (101,))
        >>> found.to_json("fit.json")
        >>> found.as_dict()["units"]
        {'stiffness': 'N/m'}
    """

    model: Model
    best: dict[str, float]
    units: dict[str, str]
    standard_error: dict[str, float]
    """In the parameters' units (Laplace; those of an M-estimate if the loss is robust), with parameters on bounds held
    there; infinite for parameters that take part in a direction that the data do not determine, otherwise NaN for
    parameters on a bound."""
    covariance: xr.DataArray
    """In products of the units of the parameters."""
    correlation: xr.DataArray
    """Of the parameters' errors, without dimension."""
    noise: Float[np.ndarray, " points"]
    """Standard deviation of each measured value, trial after trial, in the unit of its curve."""
    noise_estimated: bool
    """Whether it was estimated from the residual; then chi-square does not show whether the model is right."""
    chi_square: float
    """Sum of the squared residuals over the squared noise; also with a robust loss, which does not minimise it."""
    degrees: int
    """Degrees of freedom: points minus the rank of the Jacobian by the parameters that are not on bounds."""
    fall: float
    """Predicted further fall of chi-square to the bottom of the parabola (no dimension): zero at a minimum."""
    trials: dict[str, FittedTrial]
    """The curve and the share of chi-square of each trial, by its name."""
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
    """Over `start`: where each search ended, its chi-square (or the sum of its loss), and its number of evaluations."""
    gradient: str
    problem: Problem = field(repr=False, compare=False)
    """For `profile` and `sample`."""
    memory: Any = field(default=None, repr=False, compare=False)
    """The gaits that were found, as guesses for further searches."""

    @property
    def curve(self) -> xr.Dataset:
        """`measured`, `fitted`, `residual` and `band` of the only trial (see `FittedTrial.curve`).

        Raises:
            ValueError: for a fit to several trials.
        """
        if len(self.trials) > 1:
            names = ", ".join(map(repr, self.trials))
            raise ValueError(f"each trial has a curve: write trials[name].curve for one of {names}")
        return next(iter(self.trials.values())).curve

    def __repr__(self) -> str:
        from jaxgait.calibration.describe import value_text

        found = (f"{name} = {value_text(self, name)}" for name in self.best)
        caveats = "".join(f"\n  {text}" for text in (*self.undetermined, *self.remarks))
        to = f" to {len(self.trials)} trials" if len(self.trials) > 1 else ""
        errors = " (standard errors)" * self.minimum
        return f"<Fit of {type(self.model).__name__}{to}: {', '.join(found)}{errors}{caveats}>"

    @property
    def loss(self) -> str:
        """What was minimised: "linear" is chi-square, any other a robust loss."""
        return self.problem.loss.name

    @property
    def f_scale(self) -> float:
        """The residual, in standard deviations of the noise, above which a robust loss grows more slowly."""
        return self.problem.loss.scale

    @property
    def residuals(self) -> Float[np.ndarray, " points"]:
        """Fitted minus measured values over their noise, trial after trial; no dimension."""
        return np.concatenate([one.curve.residual.values for one in self.trials.values()]) / self.noise

    @property
    def condition(self) -> float:
        """Ratio of the largest and the smallest singular value, without dimension; infinite if the smallest is zero."""
        least = self.singular_values[-1]
        return float(self.singular_values[0] / least) if least > 0.0 else float("inf")

    @property
    def reduced(self) -> float:
        """Chi-square per degree of freedom, without dimension; NaN if there are none."""
        return per_degree(self.chi_square, self.degrees)

    @property
    def minimum(self) -> bool:
        """Whether it is a minimum, within a small fraction of the standard errors."""
        return self.fall <= UNFINISHED_FALL

    @property
    def determined(self) -> bool:
        """Whether it is a minimum and the data determine all directions, so that the standard errors are meaningful."""
        return self.minimum and not self.undetermined

    def before(self) -> Float[np.ndarray, " points"]:
        """The initial curve of the model at the points of the data, in their unit; NaN if that run failed.

        For several trials, one after the other: that of a trial is `found.before()[found.trials[name].points]`.
        """
        problem = self.problem
        own = np.array([float(get_parameter(problem.model, name)) for name in problem.space.names])
        return problem.beginning_at(own).at(np.zeros_like(own)).simulated

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """The interval of one parameter, in its unit, from its standard error (Laplace).

        It contains the true value with the probability `level`, if the fit is a `minimum`.

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
        record: dict[str, Any] = {
            name: getattr(self, name) for name in (*names, "why_stopped", "gradient", "loss", "f_scale")
        }
        record |= {"covariance": self.covariance.values, "correlation": self.correlation.values}
        if len(self.trials) > 1:
            record["trials"] = {name: _record(one) for name, one in self.trials.items()}
        else:
            one = _record(next(iter(self.trials.values())))
            record |= {"curve": one["curve"], "given": one["given"]}
        return files.plain(record | {"ends": {name: x.values for name, x in self.ends.data_vars.items()}})

    def __str__(self) -> str:
        from jaxgait.calibration.describe import describe  # (which describes this class)

        return "\n".join(describe(self))


def _record(one: FittedTrial) -> dict[str, Any]:
    """A trial by name, without its model; the curves in the unit of the measured one."""
    facts = {name: getattr(one, name) for name in ("output", "given", "chi_square", "degrees")}
    curve = {str(name): x.values for name, x in one.curve.variables.items()}
    return {**facts, "unit": one.curve.measured.attrs["units"], "curve": curve}


def quantile(fit: Fit, level: float) -> float:
    """Half width, in standard errors (no dimension), of an interval with the probability `level`.

    Raises:
        ValueError: for anything but a number between 0 and 1.
    """
    level = positive("level", level, below=1.0)
    return float(_law(fit.problem, fit.noise_estimated, fit.degrees).ppf(0.5 * (1.0 + level)))


def _law(problem: Problem, estimated: bool, degrees: int) -> Any:
    """The distribution of an error over its standard error: Student's t if the residuals set its size, else normal."""
    return stats.t(degrees) if estimated or problem.loss.robust else stats.norm()


def column(name: str, taken: Collection[str]) -> str:
    """The name of a parameter in a table, such as "parameter.rise" in one that has a `rise` of its own."""
    return f"parameter.{name}" if name in taken else name


def check_points(points: int, parameters: int, loss: Loss) -> None:
    """Checks that there are enough points to estimate the size of the residuals and this many parameters.

    Raises:
        ValueError: if there are too few.
    """
    if points > parameters:
        return
    size, instead = ("noise", "give the noise") if not loss.robust else ("size of the errors", "give loss='linear'")
    raise ValueError(
        f"{points} points are too few to estimate {parameters} parameters and the {size}: {instead} (the result then "
        f"lists undetermined directions), or at least {parameters + 1} points"
    )


def summarise(problem: Problem, x: Float[np.ndarray, "starts n"], ended: Sequence[FitEnd], estimated: bool) -> Fit:
    """The result of the searches from some points of the unit box (no dimension).

    Args:
        problem: model and data, with noise of any size if it is to be estimated.
        x: starts of the searches.
        ended: their ends.
        estimated: whether to estimate the noise from the residual.

    Raises:
        jaxgait.outcome.NoResult: if no run of any start completed.
    """
    if not any(np.isfinite(end.total) for end in ended):
        raise NoResult(f"no start could be fitted ({ended[0].why}): try other bounds or more starts")
    best, space = best_of(problem, ended, estimated), problem.space
    named = space.named(best.x)
    return Fit(
        model=with_parameters(problem.model, named),
        best=named,
        units=dict(zip(space.names, space.units, strict=True)),
        **_errors(best),
        noise=best.problem.noise,
        noise_estimated=estimated,
        chi_square=float(best.residuals.squares),
        degrees=best.degrees,
        fall=best.fall,
        trials=_trials(best, named),
        singular_values=best.local.singular_values,
        directions=best.local.directions,
        undetermined=open_directions(best.local, space.names),
        remarks=remarks(best),
        active=best.active,
        why_stopped=[end.why for end in ended],
        ends=_ends(problem, x, ended, float(best.problem.noise[0] / problem.noise[0])),
        gradient=listed(list(dict.fromkeys(group.name for group in problem.groups)), "and"),
        problem=best.problem,
        memory=best.residuals.memory,
    )


def _errors(best: Best) -> dict[str, Any]:
    """Standard errors, covariance and correlation of the parameters, in their units."""
    space = best.problem.space
    steep = space.spacing.slopes(best.x)
    covariance = best.local.covariance * np.outer(steep, steep)
    errors = np.sqrt(np.diagonal(covariance))
    with np.errstate(invalid="ignore"):
        correlation = covariance / np.outer(errors, errors)
    correlation[np.isinf(errors), np.isinf(errors)] = 1.0
    pairs = lambda values, what, unit: xr.DataArray(
        values, {"parameter": space.names, "by": space.names}, ("parameter", "by"), attrs=labels(unit, what)
    )
    return {
        "standard_error": dict(zip(space.names, map(float, errors), strict=True)),
        "covariance": pairs(covariance, "covariance of the parameters", "product of the parameters' units"),
        "correlation": pairs(correlation, "correlation of the parameters' errors", "1"),
    }


def _trials(best: Best, named: dict[str, float]) -> dict[str, FittedTrial]:
    parts = zip(best.parts, best.problem.points, strict=True)
    return {part.trial.name: _trial(best, part, at, named) for part, at in parts}


def _trial(best: Best, part: Part, at: slice, named: dict[str, float]) -> FittedTrial:
    trial, model = part.trial, with_parameters(part.trial.model, named)
    return FittedTrial(_curve(best, part), trial.output, model, dict(trial.given), at, part.squares, part.degrees)


def _curve(best: Best, part: Part) -> xr.Dataset:
    measured, simulated = part.trial.measured, part.simulated
    reach = best.widening * float(_law(best.problem, best.estimated, best.degrees).ppf(0.975))
    band = reach * np.sqrt(part.leverage) * part.trial.noise
    columns = {
        "measured": (measured.values, "measured curve"),
        "fitted": (simulated, "fitted curve"),
        "residual": (simulated - measured.values, "fitted minus measured curve"),
        "band": (band, "half the width of the 95 % band of the fitted curve"),
    }
    axis = xr.DataArray(measured.at, dims=measured.axis, attrs=labels(measured.over, measured.axis))
    return xr.Dataset(
        {name: (measured.axis, values, labels(measured.unit, what)) for name, (values, what) in columns.items()},
        {measured.axis: axis},
    )


def _ends(problem: Problem, x: np.ndarray, ended: Sequence[FitEnd], noise: float) -> xr.Dataset:
    """The ends of the searches of a problem; `noise` is the factor from its noise to the one that was found."""
    space = problem.space
    begun, at = space.physical(x), space.physical(np.stack([end.x for end in ended]))
    columns = {name: (at[:, k], space.units[k], "where it ended") for k, name in enumerate(space.names)}
    columns |= {f"start[{n}]": (begun[:, k], space.units[k], "where it began") for k, n in enumerate(space.names)}
    what = "sum of the loss" if problem.loss.robust else "sum of the weighted squares"
    columns["squares"] = (np.array([end.total for end in ended]) / noise**2, "1", what)
    columns["multiplier"] = (
        np.array([float(end.residuals.multiplier) for end in ended]),
        "1",
        "modulus of the largest Floquet multiplier; NaN where no gait was solved for",
    )
    columns["evaluations"] = (np.array([end.evaluations for end in ended]), "1", "evaluations")
    columns["failed"] = (np.array([end.failed for end in ended]), "1", "evaluations whose run failed")
    return xr.Dataset({name: ("start", values, labels(unit, what)) for name, (values, unit, what) in columns.items()})
