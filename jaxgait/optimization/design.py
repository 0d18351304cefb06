"""Search for design parameters within bounds and limits, from many starts in parallel.

Parameters are scaled to the unit box of their bounds. Each start is one search by a library (`methods`); all requested
points are evaluated together, as one ensemble with exact derivatives (`request_batching`, `evaluate`, `gait`). Steps to
points where the run fails are rejected.

With `continue_in`, a search proceeds from optimum to optimum while a smoothing parameter moves to its true value: a
smoothed law biases the position of the optimum, not only the objective.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxgait.elements import array_of
from jaxgait.ensembles.addresses import parted
from jaxgait.ensembles.driver import check_run
from jaxgait.ensembles.labels import described_value
from jaxgait.ensembles.members import Members, as_members
from jaxgait.measure import Measure
from jaxgait.model import Model, as_model
from jaxgait.optimization.epigraph import KINKED, RAISED
from jaxgait.optimization.evaluate import SINCE, Runs, with_magnitudes
from jaxgait.optimization.gait import PeriodicGait
from jaxgait.optimization.goals import Goal, Limit, Objective
from jaxgait.optimization.gradient_checks import gradient_fault
from jaxgait.optimization.gradients import Task, begun, evaluator_for
from jaxgait.optimization.methods import FALLBACK, GRADIENT_FREE, LIMITED, METHODS, SearchSettings
from jaxgait.optimization.optimum import Optimum
from jaxgait.optimization.recheck import Finer
from jaxgait.optimization.scenarios import Scenarios
from jaxgait.optimization.search import Search
from jaxgait.optimization.space import Box, Starts, finite_number, search_space
from jaxgait.parameters import ParameterError, in_own_unit, parameter_info, with_parameters
from jaxgait.report import labels
from jaxgait.run import Sampling
from jaxgait.solve.periodic import SectionMap
from jaxgait.solve.schemes import scheme_for
from jaxgait.support import checks, xr
from jaxgait.support.checks import by_name

Stages = Mapping[str, Any]
"""Successive values by dotted parameter name, in the parameter's unit or labelled with another; as many for each."""
StageSearch = Callable[[Model, Starts, pathlib.Path | None], Optimum]


@by_name('write optimize(model, minimize="measure", over={"mass": (60.0, 80.0)})')
def optimize(
    model: Model,
    *,
    maximize: Objective | None = None,
    minimize: Objective | None = None,
    over: Box,
    across: Members | Mapping[str, Any] | None = None,
    robust: str | None = None,
    weights: Sequence[float] | Float[np.ndarray, " scenarios"] | None = None,
    subject_to: Sequence[Limit | str] | Limit | str = (),
    method: str = "auto",
    gradient: str = "auto",
    initial: Mapping[str, Any] | None = None,
    starts: Starts = 4,
    iterations: int = 30,
    learning_rate: float = 0.06,
    tolerance: float = 1e-6,
    stability: float = 1.0,
    seed: int = 0,
    continue_in: Stages | None = None,
    return_map: SectionMap | None = None,
    gait: Float[ArrayLike, "*scenarios components"] | None = None,
    checkpoint: pathlib.Path | str | None = None,
    progress: bool | None = None,
    **run: Any,
) -> Optimum:
    """Maximises or minimises an objective of a model's trajectory over some of its parameters, by gradients.

        optimize(knee, maximize="rho", over={"damper.k": (1e4, 4e4)}, subject_to=["peak_flexion >= 60"])

    Args:
        model: the mechanism; its other parameters stay as they are.
        maximize: a measure or its name ("rho"), or a function from a `Run` to a scalar (JAX code).
        minimize: the same, to be minimised, instead of `maximize`.
        over: bounds (low, high) by dotted name, in the units of what they name: parameters, elements of arrays
            ("masses[1]"), and components of the initial state ("initial.v", "initial.q[2]"), whose best values are in
            `Optimum.initial`. Designs within them that the model rejects count as failed. `jaxgait.Log(low, high)`
            spreads the starts and searches in the logarithm, for ranges of decades.
        across: scenarios in which each design is evaluated: values by name (all combinations), or members of any kind
            (`jaxgait.zipped`, `jaxgait.sobol`, `jaxgait.ensembles.walks`). A design fails if one of its scenarios
            fails, and limits apply to each scenario.
        robust: the objective over the scenarios: "mean", the default, or "worst", by the epigraph (`epigraph`).
        weights: weights of the mean, one positive number per scenario; equal if None.
        subject_to: limits, as texts ("peak_flexion >= 60") or made by `at_least` and `at_most`. They are met to 1e-8 of
            their value (if that is zero, of the measure's magnitude within the bounds); an array, by every element.
        method: see `jaxgait.optimization.methods`; "auto" is SLSQP. If the gradient is "auto" too, it is compared with
            differences of runs at the starts: if it is unreliable (see `jaxgait.optimization.gradient_checks`), or the
            scheme has none (the LCP walker's), "auto" is COBYQA, without gradients. If the gradient becomes unreliable
            during a search, that start continues from its best point by COBYQA; with a method chosen by name it stops.
            The result reports this.
        gradient: "gait": of the periodic gait, by implicit differentiation; "run": through the entire run;
            "differences": central differences of entire runs. "auto" uses the gait if the model is driven, all measures
            need only one stride, and the gait is found from at least one start (with `across`: in all its scenarios);
            otherwise the run, for all starts. The result reports which and why.
        initial: components of the initial state that differ from the model's own, by name.
        starts: the number of starts (the model's own values if they lie in the bounds, then Sobol points), or points.
        iterations: largest number of steps; derivative-free methods may evaluate as often per parameter, plus once
            (CMA-ES: a population in each step). A search with gradients that stops on a slope restarts there, for up to
            three times as many further steps; one without restarts next to its end if values are better there, with its
            remaining evaluations. For the best worst case, COBYQA may evaluate up to four times as often.
        learning_rate: first step of Adam as a fraction of the box; it decays to a tenth along a cosine.
        tolerance: relative change of the objective at which a start stops; Adam and COBYQA stop when their points have
            settled.
        stability: a gait whose largest Floquet multiplier reaches this modulus counts as failed, since walks diverge
            from it; infinity accepts all. The search may cross such gaits. If all starts end at unstable gaits, they
            continue from their best stable gaits without crossing unstable ones.
        seed: seed of the Sobol points, and of CMA-ES.
        continue_in: values of further parameters, such as {"ground.steepness": [1e4, 1e5, 1e6]}: the search continues
            from the optimum at each value (and its gait, where `gait` could be given) to the next. The result is the
            optimum at the last value; `Optimum.stages` contains all, and `Optimum.moved` how far the optimum moved.
        return_map: a `PoincareMap` or `StroboscopicMap` whose fixed point is the gait to be judged, stable or not: runs
            (of `duration` or `strides`) start in it, and the gradient is that of the gait.
        gait: first guess of its point, such as `Optimum.gait` of another search; None: the point after some strides
            from the model's own initial state, which is also tried where the guess leads to no gait.
        checkpoint: a file to which every evaluation is added; the same call resumes from an existing file.
        progress: whether to show a progress bar; None: on a terminal and in notebooks.
        run: further arguments of `jaxgait.ensemble`: strides, duration, rtol, precision, ...

    Returns:
        The best point of all starts that meets the limits, with the history of each start.

    Raises:
        ParameterError: for unknown parameters, bounds that are not an interval, starts outside them.
        TypeError: for anything but a model, and unless there is exactly one objective.
        ValueError: for impossible counts, rates, limits and methods, an objective that is not one real number, a
            stability without the gradient of a gait, coordinates of a section that do not fit together, and a
            checkpoint of another search.
        jaxgait.outcome.NoResult: if every trajectory of every start failed, or no start met the limits.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> {name: round(value, 2) for name, value in found.best.items()}  # N/m: the softest safe rope
        {'stiffness': 26.31}
    """
    request = {name: value for name, value in locals().items() if name not in ("model", "run")} | run
    space = search_space(as_model(model), over, starting=True)
    if continue_in is not None:
        request["continue_in"] = None

        def stage(model: Model, starts: Starts, file: pathlib.Path | None) -> Optimum:
            found = optimize(model, **request | {"starts": starts, "checkpoint": file})
            if found.gait is not None and (gradient == "gait" or return_map is not None):
                request["gait"] = found.gait  # the guess of the next stage
            return found

        taken = [*over, *(() if across is None else as_members(across).values)]
        return through_stages(stage, as_model(model), continue_in, taken, starts, checkpoint)
    objective, sign = one_objective(maximize, minimize)
    check_search(iterations, learning_rate, tolerance, stability, seed)
    check_run("optimize", run)
    Sampling.of(model, *(run.get(name) for name in ("strides", "duration", "samples")))  # checked even for gaits
    goal = Goal.of(model, objective, as_limits(subject_to))
    fixed = space.fixed(model, initial)
    scenarios = Scenarios.of(model, across, robust, weights, sign, {*space.names, *fixed})
    scheme, free = scheme_for(model, run.get("scheme")), method == gradient == "auto"
    without = free and return_map is None and bool(scheme.no_gradient)
    chosen = _method(FALLBACK if without else method, goal, scenarios is not None and scenarios.worst)
    x = space.points(model, starts, seed)
    task = Task(model, space, goal, run, fixed, scenarios, return_map)
    evaluate = begun(evaluator_for(task, None if chosen in GRADIENT_FREE else gradient, x), task, gradient, gait)
    goal = goal.sized(evaluate.shapes(x))
    judged = with_magnitudes(goal if scenarios is None else scenarios.goal(goal), evaluate, x)
    if without:
        evaluate.name += f"{SINCE}{type(scheme).__name__} has no gradient"
    elif free and (why := gradient_fault(evaluate, x, judged, space.names)):
        chosen, name = _method(FALLBACK, goal, scenarios is not None and scenarios.worst), evaluate.name
        evaluate = begun(evaluator_for(task, None, x), task, gradient, None if return_map is None else gait)
        evaluate.name += f"{SINCE}the gradient {name.partition(SINCE)[0]} is unreliable here: {why}"
    check_stability(evaluate, stability)
    settings = SearchSettings(sign, judged, iterations, tolerance, learning_rate, seed)
    fallback = FALLBACK if method == "auto" else None
    guided = {"return_map": return_map, "gait": None if gait is None else np.asarray(gait)}
    options, finer = {**run, **fixed, **guided}, Finer.of(task)
    referee = None if finer is None else finer.reference
    search = Search(model, space, evaluate, chosen, settings, stability, checkpoint, fallback, options, referee=referee)
    found = search.optimum(x, progress)
    return dataclasses.replace(found, initial=parted(model, fixed)[1] | found.initial)


def _method(method: str, goal: Goal, worst: bool) -> str:
    """The requested method, checked: it must be able to handle the limits and kinks of the goal."""
    checks.one_of("method", method, ["auto", *METHODS])
    chosen = "SLSQP" if method == "auto" else method
    if goal.limits and chosen not in LIMITED:
        raise ValueError(f"{chosen} does not support limits (subject_to): use {', '.join(LIMITED)}")
    if worst and chosen not in RAISED + KINKED:
        raise ValueError(f"{chosen} needs a smooth objective, but a worst case has kinks: use {', '.join(RAISED)}")
    return chosen


def one_objective(maximize: Any, minimize: Any) -> tuple[Objective, float]:
    """The given objective and its sign (no unit): 1 to maximise, -1 to minimise.

    Raises:
        TypeError: for none or both, and for anything but a measure, its name, or a function.
    """
    if (maximize is None) == (minimize is None):
        raise TypeError("give either maximize or minimize: a measure, its name, or a function of a run")
    name, objective, sign = ("maximize", maximize, 1.0) if minimize is None else ("minimize", minimize, -1.0)
    if not (callable(objective) or isinstance(objective, str | Measure)):
        raise TypeError(f"{name} must be a measure, its name, or a function of a run, got {objective!r}")
    return cast(Objective, objective), sign


def check_search(iterations: Any, learning_rate: Any, tolerance: Any, stability: Any, seed: Any) -> None:
    """Checks the arguments of a search."""
    checks.count("iterations", iterations)
    checks.positive("learning_rate", learning_rate, below=1.0)
    checks.positive("tolerance", tolerance, below=1.0)
    as_stability(stability)
    checks.count("seed", seed, least=0)


def as_stability(stability: Any) -> float:
    """A limit of the multipliers of gaits (no unit); infinity accepts all.

    Raises:
        ValueError: for anything but a positive number.
    """
    limit = checks.real(stability)
    if limit is None or not limit > 0.0:
        raise ValueError(f"stability must be a positive number (infinity accepts all gaits), got {stability!r}")
    return limit


def check_stability(evaluate: Runs, stability: float) -> None:
    """Checks that only a search over gaits, which have multipliers, limits these (no unit) other than by default.

    Raises:
        ValueError: for a search over whole runs.
    """
    if stability != 1.0 and not evaluate.name.startswith(PeriodicGait.name):
        raise ValueError(
            f"stability={stability:g} limits the multipliers of a gait, which runs do not have: use gradient='gait' or "
            f"a return_map (the gradient here: {evaluate.name})"
        )


def as_limits(limits: Any) -> Sequence[Limit | str]:
    """A list of limits from a list or a single one.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(limits, str | Limit):
        return [limits]
    if not isinstance(limits, Sequence):
        raise ValueError(f"subject_to must be a list of limits such as ['peak_flexion >= 60'], got {limits!r}")
    return limits


def through_stages(
    search: StageSearch, model: Model, stages: Stages, over: Sequence[str], starts: Starts, checkpoint: Any
) -> Optimum:
    """Searches at the first values of some parameters, then from each optimum at the next values.

    Args:
        search: function of a model, starts and a checkpoint that returns the optimum.
        model: the mechanism.
        stages: the values, the true ones last.
        over: names of the parameters that are searched over or vary between scenarios.
        starts: of the first search.
        checkpoint: a file; later stages append their number to its name.

    Returns:
        The optimum at the last values, with all stages in `Optimum.stages`.

    Raises:
        ParameterError: for invalid stages.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> from jaxgait.optimization.design import through_stages
        >>> task = {"minimize": "peak_rope_force", "over": {"stiffness": (15.0, 40.0)}}
        >>> search = lambda model, starts, file: optimize(model, **task, subject_to=["clearance >= 0"], starts=starts)
        >>> found = through_stages(search, Bungee(), {"quadratic_drag": [1.5, 1.0]}, ["stiffness"], 1, None)
        >>> print(found.stages.stiffness.values.round(1), found.moved["stiffness"] > 0.0)  # N/m
        [22.6 26.3] True
    """
    values = _checked(model, stages, over)
    found: list[Optimum] = []
    for number in range(len(next(iter(values.values())))):
        begin: Starts = [found[-1].best] if found else starts
        changed = with_parameters(model, {name: column[number] for name, column in values.items()})
        changed.validate()
        file = None if checkpoint is None else pathlib.Path(checkpoint)
        if file is not None and number:
            file = file.with_name(f"{file.name}.{number}")
        found.append(search(changed, begin, file))
    return dataclasses.replace(found[-1], stages=_labelled(model, values, found))


def _checked(model: Model, stages: Stages, over: Sequence[str]) -> dict[str, list[float]]:
    if not (isinstance(stages, Mapping) and stages):
        raise ParameterError(f"continue_in must be a dict of values by parameter, got {stages!r}")
    own = {name: in_own_unit(name, column, parameter_info(model, name).unit) for name, column in stages.items()}
    for name, column in own.items():
        if name in over or array_of(name) in over:
            raise ParameterError(f"{name} is searched over or in `across`: continue_in takes another parameter")
        if isinstance(column, str) or np.ndim(column) != 1 or len(column) < 2:
            raise ParameterError(f"continue_in needs at least two values of {name}, got {column!r}")
    if len({len(column) for column in own.values()}) > 1:
        raise ParameterError("continue_in needs the same number of values for each parameter")
    return {name: [finite_number(x, f"a value of {name}") for x in column] for name, column in own.items()}


def _labelled(model: Model, values: Mapping[str, list[float]], optima: Sequence[Optimum]) -> xr.Dataset:
    columns = {**values, **{name: [one.best[name] for one in optima] for name in optima[0].best}}
    data: dict[str, Any] = {}
    for name, column in columns.items():
        data[name] = ("stage", np.array(column), described_value(model, name))
    objective = np.array([one.objective for one in optima])
    data["objective"] = ("stage", objective, labels(optima[0].unit, "objective at the optimum"))
    evaluations = np.array([int(one.ends.evaluations.sum()) for one in optima])
    data["evaluations"] = ("stage", evaluations, {"units": "1", "long_name": "points that were evaluated"})
    return xr.Dataset(data)
