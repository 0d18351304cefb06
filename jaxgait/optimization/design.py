"""Search for design parameters: many starts side by side in a box, under limits, every trajectory with a status.

Parameters are scaled to the unit box of their bounds. Each start is one search of a library (`methods`); what they
ask for is evaluated together, as one ensemble with exact derivatives (`together`, `evaluate`, `gait`). A failed run is
a step to be rejected, and never an optimum.
"""

from __future__ import annotations

import difflib
import inspect
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from jaxgait import checks
from jaxgait.ensembles import ensemble
from jaxgait.ensembles.members import INITIAL, Members, as_members
from jaxgait.measure import Measure
from jaxgait.model import Model, as_model
from jaxgait.optimization.epigraph import KINKED, RAISED
from jaxgait.optimization.goals import Goal, Limit, Objective, as_observable
from jaxgait.optimization.methods import FALLBACK, GRADIENT_FREE, LIMITED, METHODS, Settings
from jaxgait.optimization.optimum import Local, Optimum
from jaxgait.optimization.scenarios import Scenarios
from jaxgait.optimization.search import Search
from jaxgait.optimization.space import Box, Space, Starts
from jaxgait.optimization.stages import Stages, through_stages
from jaxgait.optimization.trust import doubt
from jaxgait.optimization.ways import way
from jaxgait.run import Sampling

__all__ = ["Local", "Optimum", "as_observable", "optimize"]


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
    checkpoint: pathlib.Path | str | None = None,
    progress: bool | None = None,
    **run: Any,
) -> Optimum:
    """Makes an objective of a model's trajectory largest or smallest over some of its parameters, by gradients.

        optimize(knee, maximize="rho", over={"damper.k": (1e4, 4e4)}, subject_to=["peak_flexion >= 60"])

    Args:
        model: the mechanism; its other parameters stay as they are.
        maximize: a measure, by its name ("rho") or as it is, or a function from a `Run` to a scalar (JAX code).
        minimize: the same, to be made smallest, instead of `maximize`.
        over: bounds (low, high) by dotted parameter name, in the parameters' units.
        across: scenarios in which each design is judged: values by name (all combinations), or members of any kind
            (`jaxgait.zipped`, `jaxgait.sobol`, `jaxgait.ensembles.walks`). A design for which one of them fails has
            failed, and limits hold in each.
        robust: the objective over the scenarios: "mean", the default, or "worst", by the epigraph (`epigraph`).
        weights: of the mean, one positive number a scenario; all alike if None.
        subject_to: limits, as texts ("peak_flexion >= 60") or made by `at_least` and `at_most`. They are met to 1e-8 of
            their value. Of a limited array, every element keeps the limit.
        method: see `jaxgait.optimization.methods`; "auto" is SLSQP. If the gradient is "auto" too, it is held against
            differences of runs at the starts: where it means nothing (see `jaxgait.optimization.trust`), "auto" is
            COBYQA, without gradients. Where it becomes meaningless on a start's way, that start goes on from its best
            point by COBYQA; under a method by name it stops. The result says so.
        gradient: "gait": of the periodic gait, by implicit differentiation; "run": through the whole run;
            "differences": central ones of whole runs. "auto" takes the gait where the model is driven, all measures
            are content with one stride, and the gait is found from at least one start (with `across`: in every
            scenario of it); otherwise the run, for all starts. The result says which and why.
        initial: components of the initial state that differ from the model's own, by name.
        starts: how many (the model's own values if they lie in the bounds, then Sobol points), or the points.
        iterations: at most so many steps; derivative-free methods evaluate as often for each parameter, and once more.
        learning_rate: first step of Adam as a fraction of the box; it falls to a tenth of that along a cosine.
        tolerance: relative change of the objective at which a start stops.
        stability: modulus of the largest Floquet multiplier from which on a gait counts as failed, since no walk stays
            on it. It may be exceeded on the way. If all starts end where it is, they continue from their best
            stable gaits and no longer exceed it.
        seed: of the Sobol points.
        continue_in: values of further parameters, such as {"ground.steepness": [1e4, 1e5, 1e6]}: the search goes on
            from the optimum at each value to the next. The result is that at the last one; `Optimum.stages` has all,
            and `Optimum.moved` says how far the optimum moved.
        checkpoint: a file to which every evaluation is added; the same call on an existing file takes them from there
            and continues.
        progress: show a progress bar; None: only on a terminal.
        run: what `jaxgait.ensemble` takes: strides, duration, rtol, precision, ...

    Returns:
        The best point over all starts that keeps the limits, with the history of each.

    Raises:
        ParameterError: for unknown parameters, bounds that are not an interval, starts outside them.
        TypeError: for anything but a model, an objective that is not a function, and none or two of them.
        ValueError: for impossible counts, rates, limits and methods, an objective that is not one real number, and a
            checkpoint of another search.
        jaxgait.outcome.NoResult: if every trajectory of every start failed, or no start came within the limits.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> {name: round(value, 2) for name, value in found.best.items()}  # the softest rope that is safe
        {'stiffness': 26.31}
    """
    if continue_in is not None:
        request: dict[str, Any] = {"maximize": maximize, "minimize": minimize, "over": over, "subject_to": subject_to}
        request |= {"across": across, "robust": robust, "weights": weights}
        request |= {"method": method, "gradient": gradient, "initial": initial, "iterations": iterations}
        request |= {"learning_rate": learning_rate, "tolerance": tolerance, "stability": stability, "seed": seed}
        stage = lambda model, starts, file: optimize(
            model, **request, starts=starts, checkpoint=file, progress=progress, **run
        )
        taken = [*over, *(() if across is None else as_members(across).values)]
        return through_stages(stage, as_model(model), continue_in, taken, starts, checkpoint)
    space = Space(as_model(model), over)
    objective, sign = one_objective(maximize, minimize)
    check_search(iterations, learning_rate, tolerance, stability, seed)
    check_run("optimize", run)
    Sampling.of(model, *(run.get(name) for name in ("strides", "duration", "samples")))  # though gaits need none of it
    goal = Goal.of(model, objective, several(subject_to))
    fixed = {INITIAL + name: value for name, value in (initial or {}).items()}
    scenarios = Scenarios.of(model, across, robust, weights, sign, {*space.names, *fixed})
    chosen = _method(method, goal, scenarios is not None and scenarios.worst)
    x = space.points(model, starts, seed)
    evaluate = way(model, space, goal, None if chosen in GRADIENT_FREE else gradient, run, fixed, x, scenarios)
    if method == gradient == "auto" and (why := doubt(evaluate, x)):
        chosen, name = _method(FALLBACK, goal, scenarios is not None and scenarios.worst), evaluate.name
        evaluate = way(model, space, goal, None, run, fixed, x, scenarios)
        evaluate.name += f", since the gradient {name} means nothing here: {why}"
    goal = goal.sized(evaluate.shapes(x))
    judged = goal if scenarios is None else scenarios.goal(goal)
    settings = Settings(sign, judged, iterations, tolerance, learning_rate, seed)
    fallback = FALLBACK if method == "auto" else None
    search = Search(model, space, evaluate, chosen, settings, stability, checkpoint, fallback)
    return search.optimum(x, progress)


def _method(method: str, goal: Goal, worst: bool) -> str:
    """The method that was asked for, if it can do what is asked of it.

    Raises:
        ValueError: for an unknown method, and for limits or kinks that it does not know of.
    """
    checks.one_of("method", method, ["auto", *METHODS])
    chosen = "SLSQP" if method == "auto" else method
    if goal.limits and chosen not in LIMITED:
        raise ValueError(f"{chosen} knows of no limits (subject_to): take {', '.join(LIMITED)}")
    if worst and chosen not in RAISED + KINKED:
        raise ValueError(f"{chosen} wants a smooth objective, and a worst case has kinks: take {', '.join(RAISED)}")
    return chosen


def one_objective(maximize: Any, minimize: Any) -> tuple[Objective, float]:
    """The objective of the two that was given, and 1 for one to be made large, -1 for one to be made small (no unit).

    Raises:
        TypeError: for none or both of them, and for anything but a measure, its name, or a function.
    """
    if (maximize is None) == (minimize is None):
        raise TypeError("give either maximize or minimize: a measure, its name, or a function of a run")
    name, objective, sign = ("maximize", maximize, 1.0) if minimize is None else ("minimize", minimize, -1.0)
    if not (callable(objective) or isinstance(objective, str | Measure)):
        raise TypeError(f"{name} must be a measure, its name, or a function of a run, got {objective!r}")
    return cast(Objective, objective), sign


def check_search(iterations: Any, learning_rate: Any, tolerance: Any, stability: Any, seed: Any) -> None:
    """Holds the arguments of a search against what it can use."""
    checks.count("iterations", iterations)
    checks.positive("learning_rate", learning_rate, below=1.0)
    checks.positive("tolerance", tolerance, below=1.0)
    checks.positive("stability", stability)
    checks.count("seed", seed, least=0)


def check_run(who: str, run: Mapping[str, Any]) -> None:
    """Holds what `who` passes on to the ensembles against what they take.

    Raises:
        ValueError: for what it decides itself, and for what ensembles do not take.
    """
    own = sorted({"members", "observe", "variables", "gradient", "trajectories", "store", "repair"} & set(run))
    if own:
        raise ValueError(f"{who} does not take {own[0]}: it says itself which trajectories to run and what to keep")
    unknown = sorted(set(run) - set(inspect.signature(ensemble).parameters))
    if unknown:
        near = difflib.get_close_matches(unknown[0], inspect.signature(ensemble).parameters, n=1)
        raise ValueError(f"{who} takes no {unknown[0]}" + (f": did you mean {near[0]}?" if near else ""))


def several(limits: Any) -> Sequence[Limit | str]:
    """Limits as a list; a single text is nearly always meant as one of them.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(limits, str | Limit):
        return [limits]
    if not isinstance(limits, Sequence):
        raise ValueError(f"subject_to must be a list of limits such as ['peak_flexion >= 60'], got {limits!r}")
    return limits
