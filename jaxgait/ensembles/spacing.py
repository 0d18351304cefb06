"""How the values between two bounds are spread, linearly or in their logarithm, for samples and searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def sobol_points(dimensions: int, count: int, seed: int) -> Float[np.ndarray, "count dimensions"]:
    """The first points of a scrambled Sobol sequence in the unit box (no dimension).

    Examples:
        >>> from jaxgait.ensembles.spacing import sobol_points
        >>> points = sobol_points(2, 3, seed=0)
        >>> print(points.shape, bool((points >= 0.0).all()), bool((points < 1.0).all()))
        (3, 2) True True
    """
    from scipy.stats import qmc

    power = int(count - 1).bit_length()  # a power of two keeps the points balanced
    return qmc.Sobol(dimensions, rng=seed).random_base2(power)[:count]
