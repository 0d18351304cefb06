"""`fit`: fits parameters of a mechanism to a measured curve, with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from jaxgait import checks
from jaxgait.calibration.fitted import Fit, check_points, summarise
from jaxgait.calibration.measured import MeasuredCurve, MeasuredData, measured_curve
from jaxgait.calibration.problem import Output, Problem, Stopping, reading, search, simulated_curve
from jaxgait.checks import by_name
from jaxgait.ensembles.driver import check_run
from jaxgait.ensembles.members import INITIAL
from jaxgait.model import Model, as_model
from jaxgait.optimization.evaluate import Evaluator
from jaxgait.optimization.gait import PeriodicGait
from jaxgait.optimization.gradients import Task, evaluator_for
from jaxgait.optimization.space import Box, Space, Starts
from jaxgait.run import Sampling
from jaxgait.units import factor


@by_name('write fit(model, measured, over={"mass": (60.0, 80.0)}, output="height")')
def fit(
    model: Model,
    measured: MeasuredData,
    *,
    over: Box,
    output: Output,
    noise: Any = None,
    gradient: str = "auto",
    initial: Mapping[str, Any] | None = None,
    starts: Starts = 4,
    iterations: int = 50,
    tolerance: float = 1e-8,
    stability: float = 1.0,
    seed: int = 0,
    progress: bool | None = None,
    **run: Any,
) -> Fit:
    """Fits parameters of a model to a measured curve by least squares with exact Jacobians.

        fit(knee, "rajagopal_1.26ms", over={"damper.k": (1e4, 3e4)}, output="knee_angle")

    A curve over the phase of a stride is compared with the periodic gait if the model has one, otherwise with the last
    stride of a run (a remark reports if it still differs from the stride before, which a run of one stride does not
    have); a curve over time is compared with the run. Steps to points where the run fails are rejected.

    Args:
        model: the mechanism; its other parameters stay as they are.
        measured: see `over_phase`, `over_time` and `measured_curve`.
        over: bounds (low, high) by dotted parameter name, in the parameters' units.
        output: the measured quantity: an output or component of the state by name, with a compatible unit, or a
            function of a run with one number per sample (JAX code), in the unit of the measured curve.
        noise: standard deviation of the measured values, one number or (points,), in the unit of the curve; a labelled
            array with the attribute `units` is converted to it. None: it is estimated from the residual, assuming that
            the model is right. Noise is assumed independent between points; a remark reports if the residual is not.
        gradient: "gait", "run" or "differences", as in `jaxgait.optimize`; "auto": of the gait if there is one.
        initial: components of the initial state that differ from the model's own, by name.
        starts: the number of starts (the model's own values if they lie in the bounds, then Sobol points), or points.
        iterations: largest number of evaluations of each start.
        tolerance: relative change of the sum of squares and of the parameters at which a start stops.
        stability: modulus of the largest Floquet multiplier from which a gait counts as failed, since walks diverge
            from it; infinity accepts all gaits.
        seed: seed of the Sobol points.
        progress: whether to show a progress bar; None: only on a terminal.
        run: further arguments of `jaxgait.ensemble`: strides, duration, samples, rtol, ...; more `samples` make the
            interpolation between them more accurate.

    Returns:
        The best parameters with standard errors, correlations, and the directions that the data do not determine.

    Raises:
        ParameterError: for unknown parameters, bounds that are not an interval, starts outside them.
        TypeError: for anything but a model, a measured curve, an output.
        ValueError: for impossible data, units, noise and options.
        jaxgait.outcome.NoResult: if no run of any start completed.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> truth = simulate(with_parameters(Bungee(), {"stiffness": 26.0}), duration=10.0, samples=100)
        >>> found = fit(Bungee(), truth.height, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1,
        ...             duration=10.0, samples=100, starts=1)
        >>> print(str(found).splitlines()[0])
        stiffness = 26 ± 0.0067 N/m
    """
    space, curve = Space(as_model(model), over), measured_curve(measured)
    checks.count("iterations", iterations)
    checks.positive("tolerance", tolerance, below=1.0)
    if not (isinstance(stability, int | float) and stability > 0.0):
        raise ValueError(f"stability must be a positive number (infinity accepts all gaits), got {stability!r}")
    check_run("fit", run)
    if noise is None:
        check_points(len(curve.values), len(space.names))
    x, sigma = space.points(model, starts, checks.count("seed", seed, least=0)), _noise(noise, curve)
    goal, scale = simulated_curve(model, output, curve)
    fixed = {INITIAL + name: value for name, value in (initial or {}).items()}
    evaluate = evaluator_for(Task(model, space, goal, run, fixed), _gradient_for(gradient, curve), x)
    read = reading(model, space, _sampling(model, curve, evaluate, run), curve, scale)
    problem = Problem(model, space, evaluate, read, curve, sigma, float(stability))
    return solve_problem(problem, x, Stopping(iterations, tolerance), estimated=noise is None, progress=progress)


def solve_problem(
    problem: Problem,
    x: Float[np.ndarray, "starts n"],
    stopping: Stopping,
    *,
    estimated: bool,
    progress: bool | None = False,
) -> Fit:
    """Searches from some points of the unit box (no dimension) in parallel, and returns the result.

    Args:
        problem: model and data.
        x: starts of the searches.
        stopping: when they stop.
        estimated: whether to estimate the noise from the residual.
        progress: whether to show a progress bar; None: only on a terminal.

    Raises:
        jaxgait.outcome.NoResult: if no run of any start completed.
        ValueError: for too few points to estimate the noise.
    """
    if estimated:
        check_points(len(problem.noise), len(problem.space.names))
    free = np.ones(x.shape[1], bool)
    lanes = [lambda ask, start=start: search(ask, start, free, stopping, problem.model) for start in x]
    return summarise(problem, x, problem.together(lanes, "fit", progress), estimated)


def _gradient_for(gradient: str, measured: MeasuredCurve) -> str:
    if measured.axis == "phase":
        return gradient
    if gradient == "gait":
        raise ValueError("gradient='gait' needs data over the phase (over_phase): for data over time use 'run'")
    return "run" if gradient == "auto" else gradient


def _sampling(model: Model, measured: MeasuredCurve, evaluate: Evaluator, run: Mapping[str, Any]) -> Sampling:
    gait = isinstance(evaluate, PeriodicGait)
    strides, duration, samples = (run.get(name) for name in ("strides", "duration", "samples"))
    sampling = Sampling.of(model, 1 if gait else strides, None if gait else duration, samples)
    if measured.axis == "phase" and sampling.strides is None:
        raise ValueError("data over the phase need a run of whole strides: give strides instead of duration")
    return sampling


def _noise(noise: Any, measured: MeasuredCurve) -> Float[np.ndarray, " points"]:
    """One standard deviation per point, in the unit of the curve; 1 if it will be estimated."""
    size = len(measured.values)
    sigma = checks.as_array(1.0 if noise is None else _unlabelled(noise, measured))
    valid = (
        sigma.dtype.kind in "iuf" and sigma.shape in ((), (size,)) and bool((np.isfinite(sigma) & (sigma > 0)).all())
    )
    if not valid:
        raise ValueError(
            f"noise must be a positive number in {measured.unit}, or one for each of the {size} points, got {noise!r}"
        )
    return np.broadcast_to(sigma.astype(float), (size,)).copy()


def _unlabelled(noise: Any, measured: MeasuredCurve) -> Any:
    """The numbers of a labelled array in the unit of the curve; anything else as it is."""
    if not isinstance(noise, xr.DataArray):
        return noise
    at = noise.coords.get(measured.axis)
    if noise.dims not in ((), (measured.axis,)) or (noise.dims and at is not None and not _same(at, measured.at)):
        raise ValueError(
            f"noise must be a number or have the coordinate {measured.axis} of the measured curve, with the same "
            f"{len(measured.at)} values, got the dimensions {noise.dims} of {noise.size} values"
        )
    unit = noise.attrs.get("units", measured.unit)
    return noise.values * factor(str(unit), measured.unit, "the measured curve", of="the noise")


def _same(at: Any, other: np.ndarray) -> bool:
    return at.shape == other.shape and np.allclose(at, other, rtol=1e-9, atol=1e-12)
