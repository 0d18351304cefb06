"""Spreads values between bounds, linearly or in their logarithm, or by distributions, for samples and searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.parameters import ParameterError


class Log(NamedTuple):
    """Bounds (low, high) between which values are spread, and searched, in their logarithm: for ranges of decades.

    Use it instead of a pair of numbers in the `over` of `sobol`, `latin_hypercube`, `optimize`, `front`, `fit` and
    `jaxgait.analysis.sensitivity.sobol_indices`; results are in the parameter's own unit. In a shell:
    `--over damper.c=log:10:1e5`.

    Examples:
        >>> from jaxgait import Bungee, Log, optimize
        >>> box, safe = {"stiffness": Log(1.0, 1000.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> {name: round(value, 2) for name, value in found.best.items()}  # N/m
        {'stiffness': 26.31}
    """

    low: Any
    """Lowest value, in the unit of the parameter; positive."""
    high: Any
    """Highest value."""


def check_positive(name: str, bounds: Any) -> None:
    """Checks that the ends of a logarithmic range of a parameter, in its unit, are positive.

    Raises:
        ParameterError: otherwise; linear ranges may have any sign.

    Examples:
        >>> from jaxgait import Log
        >>> from jaxgait.ensembles.spacing import check_positive
        >>> check_positive("damper.c", Log(0.0, 1e5))
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: logarithmic bounds of 'damper.c' must be positive, got Log(0, 100000)
    """
    if isinstance(bounds, Log) and not all(float(x) > 0.0 for x in bounds):
        low, high = (f"{float(x):.6g}" for x in bounds)
        raise ParameterError(f"logarithmic bounds of {name!r} must be positive, got Log({low}, {high})")


def logarithmic(bounds: Mapping[str, Any]) -> list[str]:
    """The parameters, by name, whose bounds are logarithmic.

    Examples:
        >>> from jaxgait import Log
        >>> from jaxgait.ensembles.spacing import logarithmic
        >>> logarithmic({"damper.c": Log(10.0, 1e5), "damper.k": (1e4, 4e4)})
        ['damper.c']
    """
    return [name for name, one in bounds.items() if isinstance(one, Log)]


def is_distribution(values: Any) -> bool:
    """Whether these are a distribution of `scipy.stats`, of any kind (see `check_distribution`).

    Examples:
        >>> from scipy import stats
        >>> from jaxgait.ensembles.spacing import is_distribution
        >>> is_distribution(stats.norm(loc=70.0, scale=5.0)), is_distribution((40.0, 100.0))
        (True, False)
    """
    return hasattr(values, "rvs") or hasattr(values, "icdf")  # of scipy.stats, whose import takes long


def check_distribution(name: str, given: Any) -> None:
    """Checks that the distribution of a parameter is frozen, of a single number, and has valid arguments.

    Raises:
        ParameterError: otherwise.

    Examples:
        >>> from scipy import stats
        >>> from jaxgait.ensembles.spacing import check_distribution
        >>> check_distribution("mass", stats.norm(loc=70.0, scale=-5.0))
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: the distribution of 'mass' is impossible: norm(loc=70.0, scale=-5.0)
    """
    if not (hasattr(given, "ppf") and hasattr(given, "dist")):
        raise ParameterError(
            f"{name!r} needs a frozen distribution of one number, such as scipy.stats.norm(loc=70, scale=5), got "
            f"{type(given).__name__}; of correlated parameters, draw the values and give zipped(table)"
        )
    median = given.ppf(0.5)
    if np.shape(median):
        raise ParameterError(f"the distribution of {name!r} is of several numbers: {range_text(given)}")
    if not np.isfinite(median):
        raise ParameterError(f"the distribution of {name!r} is impossible: {range_text(given)}")


def range_text(given: Any) -> str:
    """A range, or a distribution with all its arguments, in the unit of the parameter.

    Examples:
        >>> from scipy import stats
        >>> from jaxgait import Log
        >>> from jaxgait.ensembles.spacing import range_text
        >>> [range_text(one) for one in ((40, 100), Log(10, 1e5), stats.lognorm(0.2, scale=70))]
        ['(40.0, 100.0)', 'Log(10.0, 100000.0)', 'lognorm(s=0.2, loc=0.0, scale=70.0)']
    """
    if not is_distribution(given):
        return f"{'Log' * isinstance(given, Log)}({', '.join(repr(float(x)) for x in given)})"
    kind = type(given.dist)
    if kind.__name__ == "rv_histogram" or not kind.__module__.startswith("scipy.stats"):  # not known by its name
        quantiles = ", ".join(f"{x:.6g}" for x in given.ppf([0.0, 0.25, 0.5, 0.75, 1.0]))
        return f"{kind.__name__}(quartiles from end to end: {quantiles})"
    names = [*(given.dist.shapes or "").replace(",", " ").split(), "loc", "scale"]
    own = {"loc": 0.0, "scale": 1.0} if hasattr(given.dist, "pdf") else {"loc": 0.0}
    own |= {**dict(zip(names, given.args, strict=False)), **given.kwds}
    found = {n: np.asarray(own[n], float).tolist() for n in names if n in own}
    return f"{given.dist.name}({', '.join(f'{n}={x!r}' for n, x in found.items())})"


def ranges_text(ranges: Mapping[str, Any], units: Mapping[str, str] = MappingProxyType({})) -> str:
    """Ranges and distributions by parameter name, as a dict is written; with the unit of those that are labelled.

    Examples:
        >>> from jaxgait.ensembles.spacing import ranges_text
        >>> ranges_text({"mass": (4e4, 1e5), "stiffness": (15, 40)}, {"mass": "g"})
        "{'mass': (40000.0, 100000.0) g, 'stiffness': (15.0, 40.0)}"
    """
    texts = (f"{n!r}: {range_text(one)}{f' {units[n]}' if n in units else ''}" for n, one in ranges.items())
    return f"{{{', '.join(texts)}}}"


def spread(ranges: Sequence[Any], unit: Float[np.ndarray, "*b n"]) -> Float[np.ndarray, "*b n"]:
    """Points of the unit box as values of parameters, in their units: within ranges, or quantiles of distributions.

    Args:
        ranges: for each parameter a pair of bounds, `Log`, or a frozen distribution of `scipy.stats`.
        unit: the points (no dimension); the outermost 1e-10 of it counts as the edge of a distribution's quantiles,
            which may be infinite at 0 and 1.

    Examples:
        >>> import numpy as np
        >>> from scipy import stats
        >>> from jaxgait.ensembles.spacing import spread
        >>> spread([(0.0, 10.0), stats.norm(loc=70.0, scale=5.0)], np.array([[0.5, 0.5], [1.0, 0.84134475]])).round(3)
        array([[ 5., 70.],
               [10., 75.]])
    """
    values = Spacing.of([(0.0, 1.0) if is_distribution(one) else one for one in ranges])(unit)
    for k, one in enumerate(ranges):
        if is_distribution(one):
            values[..., k] = one.ppf(0.5 + (1.0 - 1e-10) * (unit[..., k] - 0.5))
    return values


def deviations(ranges: Sequence[Any]) -> Float[np.ndarray, " n"]:
    """Standard deviations of parameters in their units, each uniform in its range or with a distribution.

    For a logarithmic range, it is linearised about the centre.

    Examples:
        >>> from scipy import stats
        >>> from jaxgait.ensembles.spacing import deviations
        >>> deviations([(0.0, 12.0), stats.norm(loc=70.0, scale=5.0)]).round(3)
        array([3.464, 5.   ])
    """
    uniform = lambda one: Spacing.of([one]).slopes(np.full(1, 0.5)).item() / np.sqrt(12.0)
    return np.array([one.std() if is_distribution(one) else uniform(one) for one in ranges])


class Spacing(NamedTuple):
    """The map from the unit box to a box of parameters, in their units.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import Log
        >>> from jaxgait.ensembles.spacing import Spacing
        >>> spacing = Spacing.of([(0.0, 10.0), Log(1.0, 100.0)])
        >>> spacing(np.array([0.5, 0.5])).round(6).tolist(), spacing.unit(np.array([5.0, 10.0])).tolist()
        ([5.0, 10.0], [0.5, 0.5])
    """

    low: Float[Any, " n"]
    step: Float[Any, " n"]
    """Widths of the linear ranges; zero for the logarithmic ones."""
    rate: Float[Any, " n"] | None
    """Natural logarithms of high/low of the logarithmic ranges (no dimension), zero for the linear ones; None if all
    are linear, so that these need no exponential."""

    @classmethod
    def of(cls, ranges: Sequence[tuple[float, float]]) -> Spacing:
        """The map to ranges, each a pair of bounds or `Log`, in the units of their parameters."""
        (low, high), log = np.array(ranges, float).T, np.array([isinstance(one, Log) for one in ranges])
        if not log.any():
            return cls(low, high - low, None)
        rate = np.zeros(len(low))
        rate[log] = np.log(high[log] / low[log])
        return cls(low, np.where(log, 0.0, high - low), rate)

    def __call__(self, x: Float[Any, "*b n"]) -> Float[Any, "*b n"]:
        """Points of the unit box in the parameters' units; also traced ones."""
        return x * self.step + self._grown(x)

    def slopes(self, x: Float[Any, "*b n"]) -> Float[Any, "*b n"]:
        """Derivatives of the parameters by the coordinates of the unit box at points of it; also traced ones."""
        own = self.step if self.rate is None else self.step + self.rate * self._grown(x)
        return own if isinstance(x, jax.Array) else np.broadcast_to(own, np.shape(x))

    def unit(self, values: Float[np.ndarray, "*b n"]) -> Float[np.ndarray, "*b n"]:
        """Points in the parameters' units as points of the unit box; NaN where a logarithm has none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            linear = (values - self.low) / self.step
            if self.rate is None:
                return linear
            return np.where(self.rate > 0.0, np.log(values / self.low) / self.rate, linear)

    def moved(self, x: Float[np.ndarray, " n"], by: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Changes of the parameters, in their units, when a point of the unit box moves by `by` (no dimension)."""
        return by * self.step if self.rate is None else by * self.step + self._grown(x) * np.expm1(self.rate * by)

    def hessian(
        self, x: Float[np.ndarray, " n"], slope: Float[np.ndarray, " n"], hessian: Float[np.ndarray, "n n"]
    ) -> Float[np.ndarray, "n n"]:
        """Second derivatives by the parameters, in their units, from both derivatives by the unit box at a point."""
        own = self.slopes(x)
        bent = 0.0 if self.rate is None else np.diag(slope * self.rate)
        return (hessian - bent) / np.outer(own, own)

    def _grown(self, x: Any) -> Float[Array, "*b n"] | Float[np.ndarray, "*b n"]:
        """The lower bounds, times the growth of logarithmic ranges up to a point."""
        if self.rate is None:
            return self.low
        return self.low * (jnp if isinstance(x, jax.Array) else np).exp(self.rate * x)


SOBOL_LENGTH = 1 << 30
"""Number of points of a Sobol sequence of SciPy."""


def sobol_points(dimensions: int, count: int, seed: int, skip: int = 0) -> Float[np.ndarray, "count dimensions"]:
    """The first points of a scrambled Sobol sequence in the unit box (no dimension), or those after `skip` points.

    Examples:
        >>> from jaxgait.ensembles.spacing import sobol_points
        >>> points = sobol_points(2, 3, seed=0)
        >>> print(points.shape, bool((points >= 0.0).all()), bool((points < 1.0).all()))
        (3, 2) True True
    """
    from scipy.stats import qmc

    sequence = qmc.Sobol(dimensions, rng=seed)
    if skip:
        return sequence.fast_forward(skip).random(count)
    power = int(count - 1).bit_length()  # a power of two keeps the points balanced
    return sequence.random_base2(power)[:count]
