"""A fit to a measured curve in words: parameters with units and errors, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jaxgait.calibration.fitted import Fit, FittedTrial
from jaxgait.parameters import get_parameter
from jaxgait.support.units import with_unit


def describe(fit: Fit) -> Iterator[str]:
    """Lines on a fit, which `print(fit)` and `jaxgait fit` print: the parameters, and how far to trust them."""
    width = max(map(len, fit.best))
    if fit.minimum:  # otherwise the first caveat
        yield verdict(fit)
    yield from (*fit.undetermined, *fit.remarks)
    yield from (f"{name:{width}} = {_parameter_line(fit, name)}" for name in fit.best)
    yield from (f"  {line}" for line in quality(fit))
    if len(fit.best) > 1 and fit.minimum:
        yield "  correlation of the errors:"
        yield from _triangle(fit, width)
    yield f"  gradient: {fit.gradient}"
    for i, why in enumerate(fit.why_stopped):
        yield f"  start {i}: {why}"


def _parameter_line(fit: Fit, name: str) -> str:
    """A parameter with its standard error, its interval and its initial value, in its unit."""
    own, error = float(get_parameter(fit.problem.model, name)), known_error(fit, name)
    low, high = (_rounded(x, error) for x in fit.interval(name))
    interval = f" (95 %: {low} to {high})" if error is not None and np.isfinite(error) else ""
    return f"{value_text(fit, name)}{interval}, was {own:.6g}"


def value_text(fit: Fit, name: str) -> str:
    """A parameter with its standard error, or why there is none, in its unit."""
    error = known_error(fit, name)
    value = _rounded(fit.best[name], error)
    if error is None:
        return with_unit(value, fit.units[name])
    if np.isfinite(error):
        return with_unit(f"{value} ± {error_text(error)}", fit.units[name])
    return f"{with_unit(value, fit.units[name])} ({error_text(error)})"


def known_error(fit: Fit, name: str) -> float | None:
    """The standard error of a parameter in its unit; None without a minimum, away from which it is not valid."""
    return fit.standard_error[name] if fit.minimum else None


def error_text(error: float | None) -> str:
    """A standard error in the unit of its parameter as text, or why there is none."""
    if error is None:
        return "no minimum"
    if not np.isfinite(error):
        return "on its bound" if np.isnan(error) else "not determined"
    return with_unit(f"{error:.2g}", "")


def _rounded(value: float, error: float | None) -> str:
    """A value with six digits, or as many as its standard error (in its unit) makes meaningful."""
    known = np.inf if error is None else error
    beyond = np.log10(abs(value) / known) if value and np.isfinite(known) and known > 0.0 else 0.0
    return f"{value:.{int(np.clip(np.ceil(beyond) + 2, 6, 15))}g}"


def quality(fit: Fit) -> list[str]:
    """The distance of each trial's curve from the data, with units; that of all together; and the loss, if robust."""
    if len(fit.trials) == 1:
        lines = [_distance(next(iter(fit.trials.values())), fit)]
    else:
        lines = [f"{name}: {_distance(one, fit)}" for name, one in fit.trials.items()]
        lines += [] if fit.noise_estimated else [f"all: {_chi_square(fit)}"]
    robust = f"loss: {fit.loss}, f_scale {fit.f_scale:g} (standard deviations); standard errors of an M-estimate"
    return [*lines, robust] if fit.problem.loss.robust else lines


def _distance(trial: FittedTrial, fit: Fit) -> str:
    residual = trial.curve.residual
    size = lambda x: with_unit(f"{x:.3g}", residual.attrs["units"])
    text = f"residual: {size(float(np.sqrt(np.mean(residual**2))))} (root mean square)"
    if not fit.noise_estimated:
        return f"{text}; {_chi_square(trial)}"
    noise = fit.noise[trial.points][0]
    text += f"; noise, from it: {size(np.sqrt(trial.reduced) * noise)}"
    return text if len(fit.trials) == 1 else f"{text}, from all trials: {size(noise)}"


def _chi_square(of: Fit | FittedTrial) -> str:
    degrees = f"{of.degrees:.6g}"  # of a trial, its share
    text = f"chi-square {of.chi_square:.4g} at {degrees} {'degree' if degrees == '1' else 'degrees'} of freedom"
    return text + (f", {of.reduced:.3g} each" if of.degrees > 0 else "")


def _triangle(fit: Fit, width: int) -> Iterator[str]:
    """The lower half of the correlation."""
    for i, name in enumerate(fit.best):
        values = "".join(f"{x:8.3f}" if np.isfinite(x) else f"{'–':>8}" for x in fit.correlation.values[i, : i + 1])
        yield f"    {name:{width}}{values}"


def verdict(fit: Fit) -> str:
    """Whether the fit is a minimum, and whether the data determine all directions."""
    if not fit.minimum:
        return "not a minimum"
    count = len(fit.undetermined)
    what = f"directions left open: {count}" if count else "all directions are determined"
    condition = f"condition number {fit.condition:.3g}"
    step = f"another step would reduce {fit.problem.loss.statistic} by {fit.fall:.1g}"
    return f"a minimum: {step}; {what} ({condition})"
