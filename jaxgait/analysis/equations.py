"""The equations of a periodic gait and one or two parameters, in unknowns scaled by their typical size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.analysis.branches import System, Walk, tangents
from jaxgait.native import kept
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default, in_force
from jaxgait.solve.periodic import Closing, ReturnMap, linearised
from jaxgait.solve.return_failures import why_lost
from jaxgait.solve.sections import check_section
from jaxgait.solve.steps import as_point
from jaxgait.support.checks import shown

__all__ = ["GaitEquations", "alone", "typical_sizes"]

AHEAD = (1e-3, 1e-1)
"""Distances beyond the last point of a lost branch at which to see how the motion ends, in steps."""
LEAST_SIZE = 1e-12
"""Size below which a point or a parameter is too small to define its typical size."""


@float64_default
@dataclass(frozen=True)
class GaitEquations:
    """A return map with one or two named parameters, in scaled unknowns x = (z, parameters) / scale.

    Raises:
        ValueError: in float32.

    Examples:
        >>> import equinox as eqx
        >>> import jax.numpy as jnp
        >>> from jaxgait import parameter, precision
        >>> from jaxgait.analysis.equations import GaitEquations
        >>> class Growth(eqx.Module):
        ...     r: float = parameter(2.8, unit="1", doc="growth")
        >>> with precision.use("float64"):
        ...     problem = GaitEquations(lambda model, z: model.r * z * (1.0 - z), ("r",), order=1)
        ...     print(problem.residual(Growth(), jnp.ones(2), jnp.array([0.5, 2.0])))  # 2 * 0.5 * (1 - 0.5) - 0.5
        [0.]
    """

    return_map: ReturnMap
    names: tuple[str, ...]
    order: int

    def __post_init__(self) -> None:
        if in_force() != "float64":
            raise ValueError("bifurcations need float64: float32 does not resolve the derivatives of test functions")

    def check_start(self, model: Any, z: Any, *parameters: float) -> None:
        """Checks, before compiling, that a point of a section (in its units) is finite and recovered from its state.

        Raises:
            ValueError: for numbers that are not finite, and see `jaxgait.solve.sections.check_section`.
        """
        if not np.isfinite(np.asarray(as_point(z))).all():
            raise ValueError(f"z0 must be finite, got {shown(z)}: no gait was found, if it is the result of a search")
        check_section(self.return_map, with_parameters(model, dict(zip(self.names, parameters, strict=True))), z)

    def residual(self, model: Any, scale: Float[Array, " m"], x: Float[Array, " m"]) -> Float[Array, " n"]:
        """``(P(z) - z) / scale``, no dimension."""
        full, n = x * scale, x.shape[0] - len(self.names)
        varied = with_parameters(model, dict(zip(self.names, full[n:], strict=True)))
        return Closing(self.return_map, self.order)(full[:n], varied) / scale[:n]

    def linear(self, model: Any, scale: Float[Any, " m"], x: Float[Any, " m"]) -> tuple[Array, Array]:
        """The residual (n,) and its Jacobian (n, m), no dimension; compiled at the first call."""
        return _linear(self, model, jnp.asarray(scale), jnp.asarray(x))

    def beyond(self, model: Any, scale: Float[np.ndarray, " m"], lost: Walk, step: float) -> str:
        """How the motion ends just beyond the last point of a branch that was lost; "" if it returns.

        Args:
            model: the mechanism.
            scale: sizes of the unknowns, in their own units.
            lost: the branch, scaled.
            step: the longest step along it.
        """
        ahead = lost.x[-1] - lost.x[-2] if len(lost.x) > 1 else np.eye(len(scale))[-1]
        along = tangents(lost.linear[-1:], ahead[None])[0]
        for part in AHEAD:
            *z, p = scale * (lost.x[-1] + part * step * along / np.linalg.norm(along))
            varied = with_parameters(model, {self.names[0]: p})
            if why := why_lost(self.return_map, varied, np.array(z), self.order):
                return f"; beyond, the motion does not return: {why}"
        return ""


@kept
def _linear(problem: GaitEquations, model: Any, scale: Array, x: Array) -> tuple[Array, Array]:
    return linearised(lambda _, x: problem.residual(model, scale, x), None, x)


def alone(equations: Callable[[Array], tuple[Array, ...]], bar: Any = None) -> System:
    """The system of one branch, from values (m,) and Jacobian (m, n) of its equations at a point (n,), no dimension.

    Each evaluation advances the progress bar, if there is one (`jaxgait.support.notes.waiting`).

    Examples:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait.analysis.equations import alone
        >>> circle = alone(lambda x: (jnp.sum(x**2)[None] - 1.0, 2.0 * x[None]))
        >>> value, linear = circle(np.zeros(1, int), np.array([[3.0, 4.0]]))
        >>> print(value.item(), linear.tolist())
        24.0 [[[6.0, 8.0]]]
    """

    def system(_: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if bar is not None:
            bar.update()
        value, linear = equations(jnp.asarray(x[0]))[:2]
        return np.asarray(value)[None], np.asarray(linear)[None]

    return system


def typical_sizes(z: Float[np.ndarray, " n"], *parameters: float) -> Float[np.ndarray, " m"]:
    """Typical sizes of the components of a point, all the same, and of parameters, in their units.

    Sizes that are practically zero become 1.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.equations import typical_sizes
        >>> print(typical_sizes(np.array([0.2, -3.0]), 0.5))
        [3.  3.  0.5]
    """
    sizes = np.abs([np.abs(z).max(), *parameters])
    size, *others = np.where(sizes > LEAST_SIZE, sizes, 1.0)
    return np.array([size] * len(z) + others)
