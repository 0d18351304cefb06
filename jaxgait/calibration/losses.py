"""What a search minimises: the sum of the squared residuals, or of a robust loss, which grows more slowly with them.

With weighted residuals r (in standard deviations of the noise) and the scale C (`f_scale`), it is the sum of
C^2 rho((r / C)^2), twice the cost of SciPy's `least_squares`. For residuals far below C each loss is r^2, so that the
sum is chi-square; far above it grows like |r| (`soft_l1`, `huber`) or like log |r| (`cauchy`).

The best parameters are an M-estimate. With psi = r rho'((r / C)^2), the part of a residual that pulls the parameters,
their covariance is the inverse of J^T J times the mean square of psi over the square of the mean of its derivative
(P. J. Huber and E. M. Ronchetti, Robust Statistics, 2nd ed., 2009, ch. 7, with Huber's correction for few points). It
holds for independent noise of any symmetric distribution, so that the given noise only sets the scale of the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxgait.support import checks

Rho = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]

LEAST_SLOPE = 1e-6
"""Least mean derivative of psi: with `cauchy` it can be negative if most residuals are far above the scale."""


def _huber(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    far = np.maximum(z, 1.0)
    return np.where(z <= 1.0, z, 2.0 * far**0.5 - 1.0), far**-0.5, np.where(z <= 1.0, 0.0, -0.5 * far**-1.5)


LOSSES: dict[str, Rho] = {
    "linear": lambda z: (z, np.ones_like(z), np.zeros_like(z)),
    "soft_l1": lambda z: (2.0 * ((1.0 + z) ** 0.5 - 1.0), (1.0 + z) ** -0.5, -0.5 * (1.0 + z) ** -1.5),
    "huber": _huber,
    "cauchy": lambda z: (np.log1p(z), 1.0 / (1.0 + z), -1.0 / (1.0 + z) ** 2),
}
"""rho of z = (r / C)^2 with its first and second derivative, by SciPy's names."""


@dataclass(frozen=True)
class Loss:
    """A loss by its name and its scale C in standard deviations of the noise."""

    name: str = "linear"
    scale: float = 1.0

    @classmethod
    def of(cls, name: str, scale: float) -> Loss:
        """The loss of a call.

        Raises:
            ValueError: for an unknown name, and a scale that is not positive.
        """
        return cls(checks.one_of("loss", name, LOSSES), checks.positive("f_scale", scale))

    @property
    def robust(self) -> bool:
        """Whether it is any but the sum of squares."""
        return self.name != "linear"

    @property
    def objective(self) -> str:
        """What is minimised, in words."""
        return "the loss" if self.robust else "the sum of squares"

    @property
    def statistic(self) -> str:
        """What rises away from the best fit, in words."""
        return "the loss" if self.robust else "chi-square"

    def total(self, r: Float[np.ndarray, "*b points"]) -> Float[Any, "*b"]:
        """The sum over weighted residuals; for the linear loss chi-square. No dimension."""
        return (self.scale**2 * self._rho(r)[0]).sum(axis=-1)

    def psi(self, r: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
        """The part of weighted residuals that pulls the parameters, half the derivative of the loss; no dimension."""
        return r * self._rho(r)[1]

    def as_squares(
        self, r: Float[np.ndarray, " points"], slopes: Float[np.ndarray, "points n"]
    ) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, "points n"]]:
        """Residuals and derivatives whose sum of squares has the slope and the curvature of the loss there."""
        root = np.sqrt(np.maximum(self._bend(r), np.finfo(float).eps))
        return self.psi(r) / root, root[:, None] * slopes

    def widening(self, r: Float[np.ndarray, " points"], degrees: int) -> float:
        """Ratio of the standard errors to those of least squares with the given noise; 1 for the linear loss.

        Args:
            r: weighted residuals at the best fit; no dimension.
            degrees: degrees of freedom.
        """
        if not self.robust:
            return 1.0
        variance, slope = self._variance(r, degrees)
        return float(np.sqrt(variance)) / slope

    def threshold(self, r: Float[np.ndarray, " points"], degrees: int) -> float:
        """The rise of the loss at a distance of one standard error from the best fit; arguments as in `widening`."""
        if not self.robust:
            return 1.0
        variance, slope = self._variance(r, degrees)
        return variance / slope

    def _variance(self, r: Float[np.ndarray, " points"], degrees: int) -> tuple[float, float]:
        """Variance of psi with the correction for few points, and the mean slope of psi; arguments as in `widening`."""
        bend = self._bend(r)
        slope = max(float(bend.mean()), LEAST_SLOPE)
        few = 1.0 + (len(r) - degrees) / len(r) * float(bend.var()) / slope**2
        return few**2 * float(np.sum(self.psi(r) ** 2)) / degrees, slope

    def _rho(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return LOSSES[self.name]((r / self.scale) ** 2)

    def _bend(self, r: np.ndarray) -> np.ndarray:
        """The derivative of psi."""
        _, first, second = self._rho(r)
        return first + 2.0 * (r / self.scale) ** 2 * second


LEAST_SQUARES = Loss()
