"""A fit to a measured curve in words: parameters with units and errors, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jaxgait.calibration.fitted import Fit, FittedTrial, error_text
from jaxgait.calibration.profile import REACHED, Profile
from jaxgait.parameters import get_parameter
from jaxgait.units import with_unit


def describe(fit: Fit) -> Iterator[str]:
    """Lines on a fit: parameters with units and errors, and how far to trust them."""
    width = max(map(len, fit.best))
    if fit.minimum:  # otherwise the first caveat
        yield verdict(fit)
    yield from caveats(fit)
    yield from (f"{name:{width}} = {_parameter_line(fit, name)}" for name in fit.best)
    yield from (f"  {line}" for line in quality(fit))
    if len(fit.best) > 1:
        yield "  correlation of the errors:"
        yield from _triangle(fit, width)
    yield f"  gradient: {fit.gradient}"
    for i, why in enumerate(fit.why_stopped):
        yield f"  start {i}: {why}"


def _parameter_line(fit: Fit, name: str) -> str:
    """A parameter with its standard error, its interval and its initial value, in its unit."""
    own, error = float(get_parameter(fit.problem.model, name)), fit.standard_error[name]
    low, high = (_rounded(x, error) for x in fit.interval(name))
    known = np.isfinite(error)
    firm = with_unit(f"{_rounded(fit.best[name], error)}{f' ± {error:.2g}' if known else ''}", fit.units[name])
    return f"{firm} ({f'95 %: {low} to {high}' if known else error_text(error)}), was {own:.6g}"


def _rounded(value: float, error: float) -> str:
    """A value with six digits, or as many as its standard error, in its unit, leaves meaningful."""
    beyond = np.log10(abs(value) / error) if value and np.isfinite(error) and error > 0.0 else 0.0
    return f"{value:.{int(np.clip(np.ceil(beyond) + 2, 6, 15))}g}"


def quality(fit: Fit) -> list[str]:
    """The distance of the curve from the data, with units; of several trials, that of each first."""
    if len(fit.trials) == 1:
        return [_distance(next(iter(fit.trials.values())), fit)]
    each = [f"{name}: {_distance(one, fit)}" for name, one in fit.trials.items()]
    return each if fit.noise_estimated else [*each, f"all: {_chi_square(fit)}"]


def _distance(trial: FittedTrial, fit: Fit) -> str:
    residual = trial.curve.residual
    unit, rms = residual.attrs["units"], float(np.sqrt(np.mean(residual**2)))
    text = f"residual: {rms:.3g} {unit} (root mean square)"
    if fit.noise_estimated:
        source = "it" if len(fit.trials) == 1 else "those of all trials"
        return f"{text}; noise, from {source}: {fit.noise[trial.points][0]:.3g} {unit}"
    return f"{text}; {_chi_square(trial)}"


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
    return f"a minimum: another step would reduce chi-square by {fit.fall:.1g}; {what} ({condition})"


def caveats(fit: Fit) -> list[str]:
    """Caveats about a fit, one sentence each."""
    return [*fit.undetermined, *fit.remarks]


def describe_profile(profile: Profile) -> str:
    """The interval of a profile, with its unit."""
    text = lambda end: f"{end:.6g}" if np.isfinite(end) else "open"
    low, high = map(text, profile.interval)
    line = (
        f"profile of {profile.parameter}: {with_unit(f'{low} to {high}', profile.unit)} ({100.0 * profile.level:g} %)"
    )
    ends = list(zip(("below", "above"), profile.interval, profile.why, strict=True))
    opened = [f"{side} because {why}" for side, end, why in ends if not np.isfinite(end)]
    line += f"; open {', '.join(opened)}" if opened else ""
    line += "".join(f"; {side}, {why}" for side, end, why in ends if np.isfinite(end) and why != REACHED)
    return line + ("; the profile found a better fit: fit again with more starts" if profile.better else "")
