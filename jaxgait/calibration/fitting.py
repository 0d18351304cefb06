"""`fit`: fits parameters of a mechanism to one or several measured curves, with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxgait.calibration.fitted import Fit, check_points, summarise
from jaxgait.calibration.losses import Loss
from jaxgait.calibration.measured import MeasuredData
from jaxgait.calibration.problem import Output, Problem
from jaxgait.calibration.search import Stopping, search
from jaxgait.calibration.trials import Trial, checked, problem_of
from jaxgait.ensembles.driver import check_run
from jaxgait.model import Model, as_model
from jaxgait.optimization.design import as_stability
from jaxgait.optimization.gradient_checks import HALF_STEPS, IGNORED_DISAGREEMENT
from jaxgait.optimization.space import Box, Starts, search_space
from jaxgait.outcome import NoResult
from jaxgait.support import checks
from jaxgait.support.checks import by_name

_MAX_DEVIATION = 0.1
"""Deviation of a curve's slopes and differences, relative to the larger ones, above which they disagree. It is smaller
than for a search, which only needs to get uphill: standard errors are as wrong as slopes."""


@by_name('write fit(model, measured, over={"mass": (60.0, 80.0)}, output="height")')
def fit(
    model: Model,
    measured: MeasuredData | Trial | Sequence[Trial],
    *,
    over: Box,
    output: Output | None = None,
    noise: Any = None,
    gradient: str = "auto",
    initial: Mapping[str, Any] | None = None,
    starts: Starts = 4,
    iterations: int = 50,
    tolerance: float = 1e-8,
    stability: float = 1.0,
    loss: str = "linear",
    f_scale: float = 1.0,
    seed: int = 0,
    progress: bool | None = None,
    **run: Any,
) -> Fit:
    """Fits parameters of a model to measured curves by least squares with exact Jacobians.

        fit(knee, "rajagopal_1.26ms", over={"damper.k": (1e4, 3e4)}, output="knee_angle")
        fit(Bungee(), [Trial(light, given={"mass": 60.0}), Trial(heavy, given={"mass": 90.0})],
            over={"stiffness": (15.0, 40.0)}, output="height", noise=0.2, duration=10.0)

    A curve over the phase of a stride is compared with the periodic gait if the model has one, otherwise with the last
    stride of a run (a remark reports if it still differs from the stride before, which a run of one stride does not
    have); a curve over time is compared with the run. Steps to points where the run fails are rejected.

    Several trials share all fitted parameters; their residuals, each divided by its noise, are fitted together.
    Trials of one mechanism that differ in known values, or in the measured output, run as one ensemble.

    Args:
        model: the mechanism; its other parameters stay as they are.
        measured: see `over_phase`, `over_time` and `measured_curve`; or `jaxgait.calibration.Trial`, one or several.
        over: bounds (low, high) by dotted parameter name, in the parameters' units; `jaxgait.Log(low, high)` for a
            search in the logarithm.
        output: the measured quantity: an output or component of the state by name, with a compatible unit, or a
            function of a run with one number per sample (JAX code), in the unit of the measured curve. Only trials
            that all have their own may leave it out.
        noise: standard deviation of the measured values, one number or (points,), in the unit of the curve; a labelled
            array with the attribute `units` is converted to it. None: it is estimated from the residual, assuming that
            the model is right. Noise is assumed independent between points; a remark reports if the residual is not.
            For several trials without noise, one common standard deviation is estimated, which requires the same output
            for all: between outputs, or with trials of known noise, the relative weights would be unknown, and weights
            estimated from the residuals would favour the trial that happens to be fitted best. Give the noise of each
            instead, which a fit to each trial alone estimates.
        gradient: "gait", "run" or "differences", as in `jaxgait.optimize`; "auto": of the gait if there is one, and by
            differences of runs if its derivatives near the best fit disagree with them, as where a law jumps.
        initial: components of the initial state that differ from the model's own, by name (see also `Trial.given`).
        starts: the number of starts (the model's own values if they lie in the bounds, then Sobol points), or points.
        iterations: largest number of evaluations of each start.
        tolerance: relative change of the sum of squares and of the parameters at which a start stops.
        stability: modulus of the largest Floquet multiplier at which a gait counts as failed, since walks diverge
            from it; infinity accepts all gaits.
        loss: what is minimised, by SciPy's names: "linear" is the sum of squares; "soft_l1", "huber" and "cauchy" let
            outliers pull the parameters less. They need the noise. Standard errors and profiles are then those of an
            M-estimate, whose size follows from the residuals (see `jaxgait.calibration.losses`).
        f_scale: the residual above which a robust loss grows more slowly than its square, in standard deviations of the
            noise: SciPy's, since residuals are divided by the noise. At 1, standard errors with normal noise are 4 %
            (soft_l1), 5 % (huber) and 15 % (cauchy) larger than by least squares; at larger scales, outliers pull more.
        seed: seed of the Sobol points.
        progress: whether to show a progress bar; None: on a terminal and in notebooks.
        run: further arguments of `jaxgait.ensemble`: strides, duration, samples, rtol, ...; more `samples` make the
            interpolation between them more accurate.

    Returns:
        The best parameters with standard errors, correlations, and the directions that the data do not determine.

    Warns:
        UserWarning: if derivatives of the curve disagree with differences of runs.

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
        >>> print(str(found).splitlines()[2])
        stiffness = 26 ± 0.0067 N/m (95 %: 25.9869 to 26.0131), was 20
    """
    space = search_space(as_model(model), over)
    trials = checked(model, space, measured, output, noise)
    checks.count("iterations", iterations)
    checks.positive("tolerance", tolerance, below=1.0)
    limit = as_stability(stability)
    check_run("fit", run)
    minimised, estimated = Loss.of(loss, f_scale), all(one.estimated for one in trials)
    if estimated and minimised.robust:
        raise ValueError(
            f"loss={loss!r} counts residuals in standard deviations of the noise: give the noise (a fit with "
            "loss='linear' estimates it)"
        )
    if estimated or minimised.robust:
        check_points(sum(len(one.noise) for one in trials), len(space.names), minimised)
    x = space.points(model, starts, checks.count("seed", seed, least=0))
    settings = {"initial": initial or {}, "run": run, "stability": limit}

    def found_by(way: str) -> Fit:
        problem = replace(problem_of(model, space, trials, x, gradient=way, **settings), loss=minimised)
        return solve_problem(problem, x, Stopping(iterations, tolerance), estimated=estimated, progress=progress)

    found = found_by(gradient)
    if gradient == "differences" or not (wrong := _misjudged(found)):
        return found
    by = checks.listed(wrong, "and")
    what = f"derivatives of the curve by {by} disagree with differences of runs, as where a law jumps"
    if gradient != "auto":
        checks.warn_user(f"{what}: give gradient='differences'")
        return found
    checks.warn_user(f"{what}: it is fitted by differences of runs")
    try:
        return found_by("differences")
    except NoResult as error:  # whole runs may fail where a gait exists
        checks.warn_user(f"no run completed in the fit by differences, so that the first fit is returned: {error}")
        return found


def _misjudged(found: Fit) -> list[str]:
    """Parameters by which the derivatives of the curve, near the best fit, disagree with differences of runs."""
    problem, x = found.problem, found.problem.space.unit(found.best)
    wrong = np.arange(len(x))
    for step in HALF_STEPS:
        if wrong.size:
            problem.recall({0: found.memory})  # another search may have ended at another gait
            wrong = wrong[_contradicted(problem, x, wrong, step)]
    return [problem.space.names[k] for k in wrong]


def _contradicted(
    problem: Problem, x: Float[np.ndarray, " n"], chosen: Int[np.ndarray, " k"], step: float
) -> Bool[np.ndarray, " k"]:
    """Whether the slopes along each chosen coordinate fail to predict the change of the curve across a point.

    Points are in the unit box. Where a run fails, nothing is known, and nothing counts as contradicted.
    """
    shifts = step * np.eye(len(x))[chosen]
    ends = np.clip(np.concatenate([x - shifts, x + shifts]), 0.0, 1.0)
    sides = problem([0] * len(ends), ends)
    low, high = np.split(sides.values, 2)
    apart = (ends[len(chosen) :] - ends[: len(chosen)]).sum(axis=1)
    slopes = sides.slopes[np.arange(len(ends)), :, np.tile(chosen, 2)].reshape(2, *low.shape).mean(axis=0)
    size = lambda curves: np.linalg.norm(curves, axis=1)
    change, predicted = high - low, slopes * apart[:, None]
    least = np.maximum(
        _MAX_DEVIATION * np.maximum(size(change), size(predicted)),
        IGNORED_DISAGREEMENT * step * np.linalg.norm(sides.simulated / problem.noise, axis=1).max(),
    )
    return size(change - predicted) > least


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
        progress: whether to show a progress bar; None: on a terminal and in notebooks.

    Raises:
        jaxgait.outcome.NoResult: if no run of any start completed.
        ValueError: for too few points to estimate the noise.
    """
    if estimated or problem.loss.robust:
        check_points(len(problem.noise), len(problem.space.names), problem.loss)
    free = np.ones(x.shape[1], bool)
    lanes = [lambda ask, start=start: search(ask, start, free, stopping, problem) for start in x]
    return summarise(problem, x, problem.together(lanes, "fit", progress), estimated)
