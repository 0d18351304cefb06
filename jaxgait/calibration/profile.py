"""The profile of one parameter: the least chi-square at each of its values, with all other parameters refitted.

With a robust loss, the least sum of the loss takes its place. If the curve is nonlinear in the parameters, the interval
in which it rises by at most its quantile is more accurate than the one from the standard error; it is open where the
data set no limit. Both sides are traced outwards in parallel, from fit to fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxgait.calibration.fitted import Fit, column, quantile
from jaxgait.calibration.laplace import ON_A_BOUND
from jaxgait.calibration.problem import AskFrom
from jaxgait.calibration.search import Stopping, search
from jaxgait.report import labels
from jaxgait.support import checks
from jaxgait.support.units import with_unit

FIRST_STEP_ERRORS = 0.5
"""First step, in standard errors."""
MAX_FIRST_STEP = 0.1
"""Longest first step, in widths of the box."""
SLOW_RISE = 0.2
"""Steps grow if the root of chi-square rises by less than this fraction of the threshold's root."""
LIMIT_TOLERANCE = 1e-3
"""Distance from the threshold at which a limit counts as found, as a fraction of the threshold's root."""
MAX_HALVINGS = 12
"""Largest number of halvings to find a limit: chi-square can jump where another parameter reaches its bound."""
MAX_RETRIES = 4
"""Number of times that a step to a failed run is halved before the trace ends."""
FALLBACK_FRACTIONS = (0.25, 0.75)
"""Fractions of the interval to try if the run in between fails."""
REACHED = "the threshold was reached"
"""Why a trace ended, in the ordinary case."""
BETTER_FIT = 1e-3
"""Fall of chi-square, compared with the fit, that counts as a better fit."""


@dataclass(frozen=True)
class Profile:
    """The rise of chi-square away from the best fit along one parameter.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> from jaxgait.calibration import profile
        >>> truth = simulate(with_parameters(Bungee(), {"stiffness": 26.0}), duration=10.0, samples=100)
        >>> found = fit(Bungee(), truth.height, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1,
        ...             duration=10.0, samples=100, starts=1)
        >>> drawn = profile(found, "stiffness", steps=4)
        >>> print(drawn)
        profile of stiffness: 25.9869 to 26.0131 N/m (95 %)
    """

    parameter: str
    unit: str
    level: float
    """Probability that the interval contains the true value."""
    threshold: float
    """Rise of chi-square (of the loss, if it is robust) at the ends of the interval."""
    interval: tuple[float, float]
    """In the parameter's unit; minus or plus infinity where it is open."""
    laplace: tuple[float, float]
    """The interval from the standard error."""
    curve: xr.Dataset
    """Over the parameter: the `rise` of chi-square or of the loss, and the refitted other parameters ("parameter.rise"
    if one is called rise)."""
    why: tuple[str, str]
    """Why the trace ended below and above."""
    better: bool
    """Whether a better fit was found, so that the fit should be repeated with more starts."""

    def __str__(self) -> str:
        low, high = (f"{end:.6g}" if np.isfinite(end) else "open" for end in self.interval)
        line = f"profile of {self.parameter}: {with_unit(f'{low} to {high}', self.unit)} ({100.0 * self.level:g} %)"
        ends = list(zip(("below", "above"), self.interval, self.why, strict=True))
        opened = [f"{side} because {why}" for side, end, why in ends if not np.isfinite(end)]
        line += f"; open {', '.join(opened)}" if opened else ""
        line += "".join(f"; {side}, {why}" for side, end, why in ends if np.isfinite(end) and why != REACHED)
        return line + ("; the profile found a better fit: fit again with more starts" if self.better else "")


class _Point(NamedTuple):
    """One point of the profile, in the unit box."""

    x: np.ndarray
    rise: float
    memory: Any


class _Side:
    """One side of the profile, traced outwards from the best fit."""

    def __init__(self, ask: AskFrom, fit: Fit, start: np.ndarray, along: int, stopping: Stopping):
        self._ask, self._problem, self._stopping = ask, fit.problem, stopping
        self._best, self._i = float(fit.problem.loss.total(fit.residuals)), along
        self._free = np.arange(len(start)) != along
        self.points = [_Point(start, 0.0, fit.memory)]

    def fitted(self, at: float, threshold: float) -> _Point | None:
        """The fit with the parameter fixed at a value; None if no run completed.

        A fit above the threshold is repeated from another guess, in case the search got stuck.
        """
        last, ends = self.points[-1], []
        for guess in (self._guess(at), last.x):
            x = np.clip(guess, 0.0, 1.0)
            x[self._i] = at
            ends.append(search(self._ask, x, self._free, self._stopping, self._problem, last.memory))
            if ends[-1].total - self._best < threshold:
                break
        best = min(ends, key=lambda end: end.total)
        if not np.isfinite(best.total):
            return None
        return _Point(best.x, best.total - self._best, best.residuals.memory)

    def _guess(self, at: float) -> np.ndarray:
        """A guess on the line through the last two points."""
        if len(self.points) < 2:
            return self.points[-1].x
        a, b = self.points[-2].x, self.points[-1].x
        return b + (b - a) * (at - b[self._i]) / (b[self._i] - a[self._i])

    def limit(self, sign: float, step: float, threshold: float, max_steps: int) -> tuple[float, str]:
        """Where the rise reaches the threshold, in the unit box, or infinity, and why the trace ended.

        A step to a failed run is halved, a few times; later ones do not grow again.
        """
        shortest, failed = 0.5**MAX_RETRIES * step, False
        for _ in range(max_steps):
            before = self.points[-1]
            at = float(np.clip(before.x[self._i] + sign * step, 0.0, 1.0))
            if at == before.x[self._i]:
                return sign * np.inf, "the data set no limit within the bounds"
            point = self.fitted(at, threshold)
            if point is None:
                if step <= shortest:
                    return sign * np.inf, "runs failed before a limit was reached"
                step, failed = 0.5 * step, True
                continue
            if point.rise >= threshold:
                end, gap = self._between(before, point, threshold)
                return end, REACHED + gap + self._on_bounds()
            self.points.append(point)
            if not failed and _root(point.rise) - _root(before.rise) < SLOW_RISE * np.sqrt(threshold):
                step *= 2.0
        return sign * np.inf, f"the threshold was not reached in {max_steps} steps"

    def _between(self, inside: _Point, outside: _Point, threshold: float) -> tuple[float, str]:
        """The limit between two points, alternating false position in the root of the rise with halving.

        If all runs between them fail, it is the outer one, with a text to append.
        """
        at, gap, wanted = float(outside.x[self._i]), "", np.sqrt(threshold)
        for turn in range(2 * MAX_HALVINGS):
            low, high = _root(inside.rise), _root(outside.rise)
            fraction = 0.5 if turn % 2 else (wanted - low) / (high - low)
            point = self._completed(inside, outside, (fraction, *FALLBACK_FRACTIONS), threshold)
            if point is None:
                at, gap = float(outside.x[self._i]), self._gap(inside, outside)
                break
            at = float(point.x[self._i])
            if abs(_root(point.rise) - wanted) < LIMIT_TOLERANCE * wanted:
                break
            if point.rise < threshold:
                inside = point
                self.points.append(point)
            else:
                outside = point
        self.points.append(outside)
        return at, gap

    def _completed(
        self, inside: _Point, outside: _Point, fractions: tuple[float, ...], threshold: float
    ) -> _Point | None:
        """The fit at the first of some fractions of the interval where a run completes; None if all fail."""
        a, b = float(inside.x[self._i]), float(outside.x[self._i])
        fits = (self.fitted(a + fraction * (b - a), threshold) for fraction in fractions)
        return next((point for point in fits if point is not None), None)

    def _gap(self, inside: _Point, outside: _Point) -> str:
        """Between which values, in the parameter's unit, runs failed."""
        space, i = self._problem.space, self._i
        ends = (space.physical(point.x)[i] for point in (inside, outside))
        a, b = (f"{end:.6g}" for end in sorted(ends))
        return f" somewhere between {a} and {b}, where runs failed"

    def _on_bounds(self) -> str:
        """The other parameters that lie on a bound at the end of the trace."""
        x, names = self.points[-1].x, self._problem.space.names
        on = [
            n for n, at, free in zip(names, x, self._free, strict=True) if free and not ON_A_BOUND < at < 1 - ON_A_BOUND
        ]
        return f", with {', '.join(on)} on its bound" if on else ""


def profile(
    fit: Fit, name: str, *, level: float = 0.95, steps: int = 30, iterations: int = 50, progress: bool | None = None
) -> Profile:
    """The profile of one parameter of a fit, and the interval that it gives.

    Args:
        fit: the fit.
        name: the parameter.
        level: probability that the interval contains the true value (for independent noise, which is normal unless the
            loss is robust).
        steps: largest number of steps to each side.
        iterations: largest number of evaluations of each fit.
        progress: whether to show a progress bar; None: on a terminal and in notebooks.

    Raises:
        TypeError: for anything but a fit.
        KeyError: for a parameter that was not fitted.
        ValueError: for an impossible level or count.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> from jaxgait.calibration import profile
        >>> truth = simulate(with_parameters(Bungee(), {"stiffness": 26.0}), duration=10.0, samples=100)
        >>> found = fit(Bungee(), truth.height, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1,
        ...             duration=10.0, samples=100, starts=1)
        >>> drawn = profile(found, "stiffness", steps=4)
        >>> print([round(end, 2) for end in drawn.interval], round(drawn.threshold, 2))  # N/m; rise of chi-square
        [25.99, 26.01] 3.84
    """
    checks.of_class("fit", fit, Fit, "such as jaxgait.fit returns")
    laplace = fit.interval(name, level)
    threshold = quantile(fit, level) ** 2 * fit.problem.loss.threshold(fit.residuals, fit.degrees)
    checks.count("steps", steps)
    checks.count("iterations", iterations)
    problem, space = fit.problem, fit.problem.space
    i = space.names.index(name)
    best = space.unit(fit.best)
    error = fit.standard_error[name] / space.spacing.slopes(best)[i]
    step = min(FIRST_STEP_ERRORS * error, MAX_FIRST_STEP) if np.isfinite(error) else MAX_FIRST_STEP
    sides: list[_Side] = []

    def trace(ask: AskFrom, sign: float) -> tuple[float, str]:
        sides.append(_Side(ask, fit, best, i, Stopping(iterations)))
        return sides[-1].limit(sign, step, threshold, steps)

    searches = [lambda ask, sign=sign: trace(ask, sign) for sign in (-1.0, 1.0)]
    ends = problem.together(searches, f"profile of {name}", progress)
    points = sorted((p for side in sides for p in side.points), key=lambda p: p.x[i])
    value = lambda end: float(space.physical(np.where(np.arange(len(best)) == i, end, best))[i])
    low, high = (value(end) if np.isfinite(end) else float(end) for end, _ in ends)
    return Profile(
        name,
        space.units[i],
        level,
        threshold,
        (low, high),
        laplace,
        _curve(fit, points, i),
        (ends[0][1], ends[1][1]),
        min(p.rise for p in points) < -BETTER_FIT,
    )


def _root(rise: float) -> float:
    return float(np.sqrt(max(rise, 0.0)))


def _curve(fit: Fit, points: list[_Point], i: int) -> xr.Dataset:
    space = fit.problem.space
    x = space.physical(np.stack([p.x for p in points]))
    _, once = np.unique(x[:, i], return_index=True)
    named = xr.DataArray(x[once, i], dims="value", attrs=labels(space.units[i], space.names[i]))
    rise = np.array([p.rise for p in points])[once]
    columns = {"rise": ("value", rise, labels("1", f"rise of {fit.problem.loss.statistic}"))}
    for k, other in enumerate(space.names):
        if k != i:
            columns[column(other, ("rise", "value"))] = (
                "value",
                x[once, k],
                labels(space.units[k], f"{other}, refitted"),
            )
    return xr.Dataset(columns, {"value": named})
