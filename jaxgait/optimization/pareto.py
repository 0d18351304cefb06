"""Pareto fronts: designs of which none is better than another in every objective, found in two ways.

| method | how | for |
|---|---|---|
| gradient | along the front from both its ends, with exact derivatives (`tradeoff`) | two objectives with gradients |
| NSGA-II | populations of pymoo, each one ensemble (`nsga`) | two or more, noise, schemes without derivatives |

The first gives a few exact points and the rate of exchange between the objectives, the second many approximate points
anywhere in the box. Each checks the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Bool, Float

from jaxgait.ensembles.driver import check_run
from jaxgait.ensembles.labels import described_value
from jaxgait.ensembles.validity import rejection
from jaxgait.measure import Measure
from jaxgait.model import Model, as_model
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.design import as_limits, check_search, check_stability
from jaxgait.optimization.evaluate import Evaluated, Runs, with_magnitudes
from jaxgait.optimization.failures import POPULATION, no_result
from jaxgait.optimization.goals import MAX_VIOLATION, Goal, Limit, Objective, name_of
from jaxgait.optimization.gradient_checks import gradient_fault
from jaxgait.optimization.gradients import Task, begun, evaluator_for
from jaxgait.optimization.methods import SearchSettings
from jaxgait.optimization.nsga import evolve
from jaxgait.optimization.recheck import Finer
from jaxgait.optimization.search_record import Recorder
from jaxgait.optimization.search_text import hardly_resolved
from jaxgait.optimization.space import Box, Space, Starts, search_space
from jaxgait.optimization.statuses import meanings
from jaxgait.optimization.tradeoff import rate, trace_front
from jaxgait.outcome import INVALID
from jaxgait.report import labels
from jaxgait.run import Sampling
from jaxgait.solve.periodic import SectionMap
from jaxgait.solve.schemes import scheme_for
from jaxgait.support import checks, xr
from jaxgait.support.checks import by_name
from jaxgait.support.notes import waiting
from jaxgait.support.units import ratio

FRONT_METHODS = ("auto", "gradient", "NSGA-II")
MAX_IMBALANCE = 0.1
"""Unbalanced slope, in spans of the front per box, above which a point is at an edge of failing or unstable runs."""
MIN_IMPROVEMENT = 1e-6
"""Least improvement in every objective, in spans of the front, to replace a point."""
SAME_POINT = 1e-3
"""Distance in every objective, in spans of the front, within which points of the gradient method count as one."""


@by_name('write front(model, minimize=["measure", "other"], over={"mass": (60.0, 80.0)})')
def front(
    model: Model,
    *,
    maximize: Sequence[Objective] | Objective = (),
    minimize: Sequence[Objective] | Objective = (),
    over: Box,
    subject_to: Sequence[Limit | str] | Limit | str = (),
    method: str = "auto",
    gradient: str = "auto",
    initial: Mapping[str, Any] | None = None,
    return_map: SectionMap | None = None,
    gait: Float[ArrayLike, " components"] | None = None,
    points: int = 11,
    starts: Starts = 4,
    iterations: int = 30,
    tolerance: float = 1e-6,
    stability: float = 1.0,
    population: int = 48,
    generations: int = 30,
    seed: int = 0,
    progress: bool | None = None,
    **run: Any,
) -> xr.Dataset:
    """The best compromises between objectives that oppose each other: the Pareto front.

    Args:
        model: the mechanism; its other parameters stay as they are.
        maximize: measures or their names, or named functions from a `Run` to a scalar (JAX code); one or more.
        minimize: the same, to minimise.
        over: bounds (low, high) by dotted name, as for `jaxgait.optimize`.
        subject_to: limits that every point of the front must meet, as for `jaxgait.optimize`.
        method: "gradient" (two objectives) or "NSGA-II" (two or more); "auto" is "NSGA-II" for more than two, and for
            schemes without derivatives, such as the LCP walker's.
        gradient: for the method "gradient", as for `jaxgait.optimize`.
        initial: components of the initial state that differ from the model's own, by name.
        return_map: as for `jaxgait.optimize`.
        gait: first guess of its point, as for `jaxgait.optimize`.
        points: for the method "gradient": number of points along the front, with both ends; more if it has pieces,
            fewer where no search succeeds.
        starts: for the method "gradient": number of starts, or the starts, from which the ends of the front are
            searched. Pieces of a front behind failing runs need starts near them, such as designs found by NSGA-II.
        iterations: for the method "gradient": largest number of steps for each point.
        tolerance: for the method "gradient": relative change of an objective at which a search stops.
        stability: for the method "gradient": modulus of the largest Floquet multiplier at which a gait counts as
            failed; infinity accepts all. NSGA-II without a return map evaluates runs, whose multipliers are unknown,
            and only takes 1.
        population: for NSGA-II: number of members of a generation, which run as one ensemble.
        generations: for NSGA-II: number of generations.
        seed: seed of the Sobol points, and of NSGA-II.
        progress: whether to show a progress bar; None: on a terminal and in notebooks.
        run: further arguments of `jaxgait.ensemble`: strides, duration, rtol, precision, ...

    Returns:
        Over `point`, from the best of the first objective (of `maximize`, then `minimize`) to its worst: parameters and
        objectives with their units, and with the method "gradient" `exchange_rate`, the gain of the second objective
        per unit of the first given up (NaN at the first one's own optimum, and where `remaining_slope` exceeds 0.1),
        and `remaining_slope`, the imbalance of the slopes of both objectives, bounds and limits (zero if a point is
        exact, large at an edge of failing runs or unstable gaits). Over `evaluation` all evaluations, as `tried.NAME`,
        with `tried.status` and `tried.on_front`.

    Warns:
        UserWarning: with the method "gradient", for an objective that varies, but by less than 100 tolerances of its
            size, and with `gradient` "auto" for gradients that disagree with differences of runs; for gaits on the
            front that are unstable, or not found, with the model's own tolerances, if these are finer.

    Raises:
        ParameterError: for unknown parameters, bounds that are not an interval, starts outside them.
        TypeError: for anything but a model, and for objectives that are not functions.
        ValueError: for fewer than two objectives, two of one name, more than two with the method "gradient", a
            stability without the gradient of a gait, impossible counts and limits.
        ModuleNotFoundError: without pymoo, for NSGA-II.
        jaxgait.outcome.NoResult: if every trajectory failed, or none met the limits.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization import front
        >>> box = {"stiffness": (20.0, 40.0)}
        >>> found = front(Bungee(), maximize="clearance", minimize="peak_rope_force", over=box, points=3, starts=1)
        >>> print(found.stiffness.values[[0, -1]].round(3))  # N/m: from the safest to the gentlest jump
        [40. 20.]
    """
    space = search_space(as_model(model), over, starting=True)
    goal, signs = _goal(model, maximize, minimize, as_limits(subject_to))
    names = _names(goal, len(signs), space)
    checks.one_of("method", method, FRONT_METHODS)
    check_search(iterations, 0.1, tolerance, stability, seed)
    check_run("front", run)
    Sampling.of(model, *(run.get(name) for name in ("strides", "duration", "samples")))
    task = Task(model, space, goal, run, space.fixed(model, initial), return_map=return_map)
    if method == "auto":
        without = return_map is None and bool(scheme_for(model, run.get("scheme")).no_gradient)
        method = "NSGA-II" if gradient == "auto" and (without or len(signs) > 2) else "gradient"
    traced = method == "gradient"
    if traced:
        if len(signs) > 2:
            raise ValueError(f"the method 'gradient' takes two objectives, got {len(signs)}: use method='NSGA-II'")
        checks.count("points", points, least=2)
        x = space.points(model, starts, seed)
    else:
        checks.count("population", population, least=4)
        checks.count("generations", generations)
        x = np.full((1, len(over)), 0.5)
    evaluate = begun(evaluator_for(task, gradient if traced else None, x), task, gradient, gait)
    check_stability(evaluate, stability)
    goal = _judged(goal, evaluate, x, len(signs))
    if traced and gradient == "auto" and (why := gradient_fault(evaluate, x, goal, space.names)):
        others = "method='NSGA-II' or gradient='differences'"
        checks.warn_user(f"the gradient of an objective or a limit is unreliable here: {why}; compare with {others}")
    with waiting("front", "run", progress, patience=0.0) as bar:
        record = Recorder(evaluate, stability, bar)
        if traced:
            settings = SearchSettings(-1.0, goal, iterations, tolerance, 0.1, seed)
            chosen = trace_front(model, space, record, signs, settings, x, points)
            valid = [row for row in record.rows if row.evaluation.valid]
            remarks = [hardly_resolved(n, valid, tolerance, i) for i, n in enumerate(names)]
            if any(remarks):
                checks.warn_user("; ".join(filter(None, remarks)))
        else:
            evolve(record, space, goal, signs, population, generations, seed)
            chosen = list(record.rows)
    judged = task._replace(goal=goal)
    on_front = _on_front(judged, signs, record, chosen, method)
    _warn_of_tolerances(task, record, on_front)
    return _labelled(judged, names, signs, record, on_front, method)


def nondominated(losses: Float[np.ndarray, "members objectives"]) -> Bool[np.ndarray, " members"]:
    """Which members are nondominated: no other is at least as good in every objective and better in one.

    Args:
        losses: objectives in their own units, smaller is better; members with NaN are dominated.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.optimization.pareto import nondominated
        >>> nondominated(np.array([[0.0, 2.0], [1.0, 1.0], [1.0, 2.0], [2.0, np.nan]])).tolist()
        [True, True, False, False]
    """
    kept = np.array(np.isfinite(losses).all(axis=1), bool)
    for i in np.flatnonzero(kept):
        if kept[i]:
            worse = (losses[i] <= losses).all(axis=1) & (losses[i] < losses).any(axis=1)
            kept[worse] = False
    return kept


def hypervolume(losses: Float[np.ndarray, "members objectives"], reference: Float[np.ndarray, " objectives"]) -> float:
    """Volume of the objective space that a front dominates, up to a reference point (Zitzler and Thiele 1998).

    Args:
        losses: objectives in their own units, smaller is better; points with NaN or beyond the reference are ignored.
        reference: a point that is worse than the front in every objective.

    Returns:
        An area, a volume, ...: the product of the objectives' units.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.optimization.pareto import hypervolume
        >>> hypervolume(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([2.0, 2.0]))
        3.0
    """
    inside = losses[nondominated(losses)]
    inside = inside[(inside < reference).all(axis=1)]
    if not len(inside):
        return 0.0
    if losses.shape[1] == 1:
        return float(reference[0] - inside.min())
    inside = inside[np.argsort(inside[:, -1])]
    levels = [*inside[:, -1], reference[-1]]
    slabs = enumerate(itertools.pairwise(levels), start=1)
    parts = ((high - low) * hypervolume(inside[:i, :-1], reference[:-1]) for i, (low, high) in slabs if high > low)
    return float(sum(parts))


def _goal(model: Model, maximize: Any, minimize: Any, limits: Sequence[Any]) -> tuple[Goal, np.ndarray]:
    """Objectives and limits as one `observe` function, and signs of the objectives: 1 to maximise, -1 to minimise."""
    great, small = _many("maximize", maximize), _many("minimize", minimize)
    if len(great) + len(small) < 2:
        raise ValueError("a front needs two objectives: give maximize and minimize, or two of either")
    first, *others = great + small
    goal = Goal.of(model, first, [*(Limit(one, 1.0) for one in others), *limits])
    return goal, np.array([1.0] * len(great) + [-1.0] * len(small))


def _judged(goal: Goal, evaluate: Runs, x: np.ndarray, objectives: int) -> Goal:
    """The goal with limits on arrays expanded, from the shapes of a run's results; no objective may be an array."""
    sized = goal.sized(evaluate.shapes(x))
    if any(size is not None for size in sized.sizes[: objectives - 1]):
        raise ValueError("an objective must be one real number of a run, got an array")
    return with_magnitudes(sized.flat(), evaluate, x)


def _many(sense: str, objectives: Any) -> list[Objective]:
    several = isinstance(objectives, Sequence) and not isinstance(objectives, str)
    chosen: list[Any] = list(objectives) if several else [objectives]
    for one in chosen:
        if not (callable(one) or isinstance(one, str | Measure)):
            raise TypeError(f"{sense} must be measures, their names, or functions of a run, got {one!r}")
    return chosen


def _names(goal: Goal, objectives: int, space: Space) -> list[str]:
    """Names of the objectives, checked: functions need a name, and no name may stand for two things."""
    names = [name_of(m, "") for m in goal.measures[:objectives]]
    for name in names:
        if not name:
            raise ValueError("an objective of a front needs a name: write it with def, or as a jaxgait.Measure")
        if names.count(name) > 1 or name in space.names:
            raise ValueError(f"the front has {name} twice: give the objective another name")
    return names


def _on_front(task: Task, signs: np.ndarray, record: Recorder, chosen: list[Row], method: str) -> list[Row]:
    """The points of the front, from the best of the first objective to its worst."""
    goal = task.goal
    on_front = _unbeaten(goal, signs, _front(goal, signs, chosen), record.rows)
    if not on_front:
        lost = np.array([row.x for row in record.rows if row.evaluation.status == INVALID])
        why = rejection(task.model, task.space.columns(lost)) if len(lost) else ""
        raise no_result(task.model, *_without_objectives(goal, len(signs), record.rows), POPULATION, why)
    on_front.sort(key=lambda row: -signs[0] * row.evaluation.values[0])
    return _apart(on_front, len(signs), SAME_POINT if method == "gradient" else MIN_IMPROVEMENT)


def _warn_of_tolerances(task: Task, record: Recorder, on_front: list[Row]) -> None:
    """Warns of gaits on a front that are not stable, or not found, with the model's own tolerances."""
    memories = {row.x.tobytes(): row.memory for row in record.rows if row.evaluation.valid}
    known, x = [memories[row.x.tobytes()] for row in on_front], np.array([row.x for row in on_front])
    if all(one is None for one in known) or (finer := Finer.of(task)) is None:
        return
    lost = ~finer.again(x, known).judged(record.stability).ran
    if lost.any():
        what = f"the gaits of {lost.sum()} of {lost.size} points of the front are unstable or not found"
        checks.warn_user(f"{finer.instead}, {what}: search with {finer.given}")


# --- labelled ---------------------------------------------------------------------------------------------------------


def _labelled(
    task: Task, names: list[str], signs: np.ndarray, record: Recorder, on_front: list[Row], method: str
) -> xr.Dataset:
    """The front and all evaluations, labelled."""
    data = _columns(task, names, on_front, "", "point")
    if method == "gradient":
        data |= _exactness(task, names, signs, on_front)
    everything = _columns(task, names, record.rows, "tried.", "evaluation")
    status = np.array([row.evaluation.status for row in record.rows], np.int32)
    best = {row.x.tobytes() for row in on_front}
    member = np.array([row.x.tobytes() in best and bool(row.evaluation.valid) for row in record.rows], np.int8)
    everything["tried.status"] = ("evaluation", status, labels("1", meanings()))
    everything["tried.on_front"] = ("evaluation", member, labels("1", "whether it is on the front (1) or not (0)"))
    attrs = {"model": type(task.model).__name__, "method": method, "gradient": record.name}
    attrs["objectives"] = ", ".join(names)
    attrs["parameters"] = ", ".join(task.space.names)
    attrs["senses"] = ", ".join("max" if sign > 0 else "min" for sign in signs)
    return xr.Dataset(data | everything, attrs=attrs)


def _front(goal: Goal, signs: np.ndarray, rows: Sequence[Row]) -> list[Row]:
    """The allowed, nondominated evaluations, each point once."""
    allowed = list({row.x.tobytes(): row for row in rows if _allowed(goal, len(signs), row)}.values())
    return [row for row, kept in zip(allowed, nondominated(_losses(signs, allowed)), strict=True) if kept]


def _losses(signs: np.ndarray, rows: Sequence[Row]) -> np.ndarray:
    return np.array([-signs * row.evaluation.values[: len(signs)] for row in rows]).reshape(-1, len(signs))


def _apart(rows: Sequence[Row], objectives: int, distance: float) -> list[Row]:
    """The evaluations, except those within a distance, in spans, of an earlier one in every objective."""
    values, kept = np.array([row.evaluation.values[:objectives] for row in rows]), list[int]()
    span = np.maximum(np.ptp(values, axis=0), 1e-300)
    for i, one in enumerate(values):
        if not (np.abs(values[kept] - one) <= distance * span).all(axis=1).any():
            kept.append(i)
    return [rows[i] for i in kept]


def _unbeaten(goal: Goal, signs: np.ndarray, rows: list[Row], tried: Sequence[Row]) -> list[Row]:
    """Each point, or in its place an evaluation that is better in every objective by more than rounding."""
    allowed = [row for row in tried if _allowed(goal, len(signs), row)]
    everything, own = _losses(signs, allowed), _losses(signs, rows)
    span, chosen = np.maximum(np.ptp(own, axis=0), 1e-300) if rows else 1.0, []
    for row, loss in zip(rows, own, strict=True):
        better = np.flatnonzero((everything < loss - MIN_IMPROVEMENT * span).all(axis=1))
        chosen.append(allowed[min(better, key=lambda i: (everything[i] / span).sum())] if better.size else row)
    return _front(goal, signs, chosen)


def _allowed(goal: Goal, objectives: int, row: Row) -> bool:
    slack = goal.slack(row.evaluation.values)[objectives - 1 :]  # without the limits that represent objectives
    return bool(row.evaluation.valid) and bool((slack >= -MAX_VIOLATION).all())


def _without_objectives(goal: Goal, objectives: int, rows: Sequence[Row]) -> tuple[Goal, list[Evaluated]]:
    """The goal with the first objective and the limits alone, and the evaluations with its values."""
    chosen = np.r_[0, objectives : len(goal.measures)]
    own = Goal(tuple(goal.measures[i] for i in chosen), goal.limits[objectives - 1 :])
    return own, [row.evaluation._replace(values=row.evaluation.values[chosen]) for row in rows]


def _columns(task: Task, names: list[str], rows: Sequence[Row], prefix: str, dim: str) -> dict[str, Any]:
    x, data = task.space.physical(np.array([row.x for row in rows])), {}
    for i, name in enumerate(task.space.names):
        data[prefix + name] = (dim, x[:, i], described_value(task.model, name))
    for i, (name, measure) in enumerate(zip(names, task.goal.measures, strict=False)):
        own = labels(getattr(measure, "unit", ""), getattr(measure, "long_name", name))
        data[prefix + name] = (dim, np.array([row.evaluation.values[i] for row in rows]), own)
    return data


def _exactness(task: Task, names: Sequence[str], signs: np.ndarray, rows: Sequence[Row]) -> dict[str, Any]:
    """Rates of exchange, and unbalanced slopes."""
    span = np.abs(rows[-1].evaluation.values[:2] - rows[0].evaluation.values[:2])
    found = np.full((len(rows), 2), np.nan)
    if len(rows) > 1:
        found = np.array([rate(task.space, task.goal, signs, span, row) for row in rows])
        found[0, 0] = np.nan
        found[found[:, 1] > MAX_IMBALANCE, 0] = np.nan
    units = [getattr(m, "unit", "") or "1" for m in task.goal.measures[:2]]
    gained = labels(ratio(units[1], units[0]), f"gain of {names[1]} per unit of {names[0]} given up")
    left = labels("1", "unbalanced slope, in spans of the front per box")
    return {"exchange_rate": ("point", found[:, 0], gained), "remaining_slope": ("point", found[:, 1], left)}
