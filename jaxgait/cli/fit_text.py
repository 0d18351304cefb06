"""Describes a fit for the console and the report: parameters with units and errors, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jaxgait.calibration import CurveTable, Fit, Profile
from jaxgait.parameters import get_parameter

__all__ = ["caveats", "curve_summary", "description", "noise_source", "profile_line", "quality", "verdict"]


def curve_summary(read: CurveTable) -> str:
    """A measured curve's output, unit, number of points and range."""
    curve = read.curve
    over = "s" if curve.axis == "time" else "of the stride"
    return f"{read.output} in {curve.unit}, {len(curve.at)} points from {curve.at[0]:.6g} to {curve.at[-1]:.6g} {over}"


def noise_source(read: CurveTable, stated: float | None) -> str:
    """Where the standard deviation of the data comes from; `stated` is the user's, in the curve's unit."""
    if read.noise is not None:
        return f"of column {read.columns[2]!r}"
    return "estimated from the residual" if stated is None else f"{stated:g} {read.curve.unit}"


def description(found: Fit) -> Iterator[str]:
    """The lines that the console shows of a fit."""
    width = max(map(len, found.best))
    if found.minimum:  # otherwise the first remark
        yield verdict(found)
    yield from caveats(found)
    yield from (f"{name:{width}} = {_parameter_line(found, name)}" for name in found.best)
    yield f"  {quality(found)}"
    if len(found.best) > 1:
        yield "  correlation of the errors:"
        yield from _triangle(found, width)
    yield f"  gradient: {found.gradient}"
    for i, why in enumerate(found.why_stopped):
        yield f"  start {i}: {why}"
    yield f"  as parameters: --set {' '.join(f'{name}={value:.10g}' for name, value in found.best.items())}"


def _parameter_line(found: Fit, name: str) -> str:
    """A parameter with its standard error, its interval and its initial value, in its unit."""
    own, error = float(get_parameter(found.problem.model, name)), found.standard_error[name]
    unit = "" if found.units[name] == "1" else f" {found.units[name]}"
    low, high = found.interval(name)
    firm = f"± {error:.2g}{unit} (95 %: {low:.6g} to {high:.6g})" if np.isfinite(error) else f"{unit} {_loose(error)}"
    return f"{found.best[name]:.6g} {firm.strip()}, was {own:.6g}"


def _loose(error: float) -> str:
    """Why there is no standard error."""
    return "(on its bound)" if np.isnan(error) else "(not determined)"


def quality(found: Fit) -> str:
    """The distance of the curve from the data, with units."""
    unit, rms = found.problem.measured.unit, float(np.sqrt(np.mean(found.curve.residual**2)))
    if found.noise_estimated:
        return f"residual: {rms:.3g} {unit} (root mean square); noise, from it: {found.noise[0]:.3g} {unit}"
    text = f"residual: {rms:.3g} {unit} (root mean square); chi-square {found.chi_square:.4g}"
    return f"{text} at {found.degrees} degrees of freedom" + (
        f", {found.reduced:.3g} each" if found.degrees > 0 else ""
    )


def _triangle(found: Fit, width: int) -> Iterator[str]:
    """The lower half of the correlation."""
    for i, name in enumerate(found.best):
        values = "".join(f"{x:8.3f}" if np.isfinite(x) else f"{'–':>8}" for x in found.correlation.values[i, : i + 1])
        yield f"    {name:{width}}{values}"


def verdict(found: Fit) -> str:
    """Whether the fit is a minimum, and whether the data determine all directions."""
    if not found.minimum:
        return "not a minimum"
    count = len(found.undetermined)
    what = f"directions left open: {count}" if count else "all directions are determined"
    condition = f"condition number {found.condition:.3g}"
    return f"a minimum: another step would reduce chi-square by {found.fall:.1g}; {what} ({condition})"


def caveats(found: Fit) -> list[str]:
    """Caveats about a fit, one sentence each."""
    return [*found.undetermined, *found.remarks, *(f"on its bound: {bound}" for bound in found.active)]


def profile_line(found: Profile) -> str:
    """The interval of a profile, with its unit."""
    text = lambda end: f"{end:.6g}" if np.isfinite(end) else "open"
    low, high = map(text, found.interval)
    unit = "" if found.unit == "1" else f" {found.unit}"
    line = f"profile of {found.parameter}: {low} to {high}{unit} ({100.0 * found.level:g} %)"
    ends = zip(("below", "above"), found.interval, found.why, strict=True)
    opened = [f"{side} because {why}" for side, end, why in ends if not np.isfinite(end)]
    line += f"; open {', '.join(opened)}" if opened else ""
    return line + ("; the profile found a better fit: fit again with more starts" if found.better else "")
