"""The simulated counterpart of a measured curve: an output of a run at its samples, interpolated to the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.interpolate import CubicSpline

from jaxgait.calibration.measured import MeasuredCurve
from jaxgait.checks import nearest
from jaxgait.model import Model
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.space import Space
from jaxgait.parameters import with_parameters
from jaxgait.run import Run, Sampling
from jaxgait.units import factor

__all__ = ["Curve", "Output", "Reading", "observed", "reading"]

Output: TypeAlias = Callable[[Run], Any] | str
"""An output or component of the state by name, or a function of a run with one number per sample (JAX code)."""


@dataclass(frozen=True)
class Named:
    """An output by its name, in its own unit; equal for equal names, so that programs are reused."""

    name: str

    def __call__(self, run: Run) -> Float[Array, " times"]:
        """Its values at the samples of the run."""
        return run[self.name]


@dataclass(frozen=True)
class Curve(Goal):
    """A curve of a run in its own unit: of its last stride, or of the whole run."""

    stride: bool = True

    def __call__(self, run: Run) -> dict[str, Array]:
        """The curve at all samples, as "curve".

        Raises:
            ValueError: for an output that is not one number per sample.
        """
        values = self.measures[0](run)
        if jnp.shape(values) != run.ts.shape:
            raise ValueError(
                f"the output must have the shape {run.ts.shape} of a run's samples, got {jnp.shape(values)}"
            )
        return {"curve": values[-run.sampling.samples - 1 :] if self.stride else values}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the observables."""
        return ("curve",)

    @property
    def strides(self) -> int:
        """Number of strides that it needs."""
        return int(self.stride)


@dataclass(frozen=True, eq=False)
class Reading:
    """The linear map from the samples of a run to the points of the data, in the unit of the measured curve."""

    matrix: Float[np.ndarray, "points samples"]
    """A cubic spline through the samples, evaluated at the points, times the factor between the units."""
    coarse: Float[np.ndarray, "points samples"]
    """The same from every other sample, to estimate the error of interpolation."""


def observed(model: Model, output: Output, measured: MeasuredCurve) -> tuple[Curve, float]:
    """The curve to simulate, and the factor (no dimension) that converts it to the unit of the measured one.

    Raises:
        ValueError: for an unknown output, and incompatible units.
        TypeError: for an output that is neither a name nor a function.
    """
    over = measured.axis == "phase"
    if callable(output):
        return Curve((output,), (), stride=over), 1.0
    if not isinstance(output, str):
        raise TypeError(f"output must be the name of an output or a function of a run, got {output!r}")
    if output not in model.variables:
        hint = nearest(output, model.variables, limit=2)
        raise ValueError(f"{type(model).__name__} has no output {output!r}: {hint}")
    if measured.knee and output != "knee_angle":
        raise ValueError(f"the data are the knee curve of a drive, got output={output!r}: give output='knee_angle'")
    return Curve((Named(output),), (), stride=over), 1.0 / factor(measured.unit, model.variables[output].unit, output)


def reading(model: Model, space: Space, sampling: Sampling, measured: MeasuredCurve, scale: float) -> Reading:
    """The interpolation from the samples of a run to the points of the data; `scale` has no dimension.

    Raises:
        ValueError: for times beyond the run, and times that depend on the parameters.
    """
    if measured.axis == "phase":
        grid = np.arange(sampling.samples + 1) / sampling.samples
    else:
        grid = _times(model, space, sampling)
        if measured.at[-1] > grid[-1] * (1.0 + 1e-12):
            raise ValueError(
                f"the data end at {measured.at[-1]:g} s, after the run ({grid[-1]:g} s): give a longer duration, or "
                "leave out the later points"
            )
    every_other = np.unique(np.append(np.arange(0, len(grid), 2), len(grid) - 1))
    coarse = np.zeros((len(measured.at), len(grid)))
    coarse[:, every_other] = _spline(grid[every_other], measured.at)
    return Reading(scale * _spline(grid, measured.at), scale * coarse)


def _times(model: Model, space: Space, sampling: Sampling) -> Float[np.ndarray, " times"]:
    ends = [with_parameters(model, space.named(x)) for x in (np.zeros(len(space.names)), np.ones(len(space.names)))]
    first, other = (np.asarray(sampling.times(one)) for one in ends)
    if not np.allclose(first, other, rtol=1e-9):
        raise ValueError(
            "the length of a run depends on the fitted parameters: give a duration, or data over the phase"
        )
    return first


def _spline(grid: np.ndarray, at: np.ndarray) -> Float[np.ndarray, "points samples"]:
    return CubicSpline(grid, np.eye(len(grid)))(at)
