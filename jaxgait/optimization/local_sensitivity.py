"""Local sensitivity of a design to one percent of each parameter, from exact slopes.

For entire ranges, with all interactions, see `jaxgait.analysis.sensitivity`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Bool, Float

from jaxgait.elements import array_of, value_named
from jaxgait.ensembles.addresses import parted
from jaxgait.ensembles.driver import check_run
from jaxgait.ensembles.members import Members, as_members
from jaxgait.model import Model, as_model
from jaxgait.optimization.design import as_limits, one_objective
from jaxgait.optimization.evaluate import Evaluated, Runs
from jaxgait.optimization.goals import Goal, Limit, Objective, name_of
from jaxgait.optimization.gradient_checks import MAX_DEVIATION
from jaxgait.optimization.gradients import Task, begun, evaluator_for
from jaxgait.optimization.methods import NEGLIGIBLE
from jaxgait.optimization.scenarios import Scenarios
from jaxgait.optimization.space import Space, given_start, variable
from jaxgait.optimization.statuses import sentence
from jaxgait.outcome import NoResult, Outcome
from jaxgait.parameters import ParameterError, ParameterInfo, is_real, parameters, with_parameters
from jaxgait.plausible import ImplausibleValue
from jaxgait.solve.periodic import SectionMap
from jaxgait.support import xr
from jaxgait.support.checks import by_name
from jaxgait.support.notes import without_warnings

RELATIVE_CHANGE = 0.01
"""Relative change of each parameter; the box extends as far to either side."""
STEP_OF_DIFFERENCES = 0.05
"""Step of central differences as a fraction of the box, for `gradient="differences"`: 0.1 % of a parameter."""
IGNORED_DISAGREEMENT = 0.05
"""Disagreements of slopes and runs below this, relative to the largest change of the objective, are ignored."""
CHECKED_PARAMETERS = 5
"""Number of parameters (the most important ones) whose slopes are compared with runs."""


@by_name('write sensitivities(model, minimize="measure")')
def sensitivities(
    model: Model,
    *,
    maximize: Objective | None = None,
    minimize: Objective | None = None,
    by: Sequence[str] | None = None,
    subject_to: Sequence[Limit | str] | Limit | str = (),
    across: Members | Mapping[str, Any] | None = None,
    robust: str | None = None,
    weights: Sequence[float] | Float[np.ndarray, " scenarios"] | None = None,
    gradient: str = "auto",
    initial: Mapping[str, Any] | None = None,
    return_map: SectionMap | None = None,
    gait: Float[ArrayLike, "*scenarios components"] | None = None,
    **run: Any,
) -> xr.Dataset:
    """How objective and limited measures of a design change when a parameter rises by 1 %, from exact slopes.

    Args:
        model: the design: the mechanism with the parameters at which to differentiate.
        maximize: the objective, as for `jaxgait.optimize`.
        minimize: the same, instead of `maximize`.
        by: parameters, elements of arrays ("masses[1]") and components of the initial state ("initial.v") by dotted
            name, except arrays, zeros and values varied between scenarios, which are left out; None: all parameters
            that are nonzero numbers.
        subject_to: limits, of which only the measures are used.
        across: scenarios in which the design is evaluated, as for `jaxgait.optimize`.
        robust: how the objective combines them; for "worst" the slope is that of the worst scenario at the design.
        weights: weights of their mean.
        gradient: as for `jaxgait.optimize`; "differences" are central differences over 0.1 % of each parameter.
        initial: components of the initial state that differ from the model's own, by name.
        return_map: as for `jaxgait.optimize`.
        gait: first guess of the state at the beginning of the periodic gait, such as `Optimum.gait`: runs from the
            model's own initial state may not reach it. Only with gradient="gait" or a return map.
        run: further arguments of `jaxgait.ensemble`: strides, duration, rtol, ...

    Returns:
        Over `measure` (the objective, then the limited measures) and `parameter` (the most important to the objective
        first): `change` for a rise of the parameter by 1 % of its magnitude, in the measure's unit; `slope` in the
        measure's unit per unit of the parameter; and for the first five parameters `difference`, half the change from
        1 % less to 1 % more by runs, in the measure's unit (NaN if one fails, and for the others). Also `result`, the
        measures at the design, and `value`, the parameters, with their units. The attributes contain the gradient that
        was used, the parameters `left_out`, those of the five with a failed run or an unstable gait 1 % away (`lost`),
        and those for which runs and slope of the objective `disagree` by more than half.

    Raises:
        ParameterError: for a parameter that is unknown, and if all are arrays, zero, or varied between scenarios.
        TypeError: for anything but a model, and unless there is exactly one objective.
        ValueError: for an impossible gradient, a gait with another one than "gait" or of another shape than the state
            (than those of all scenarios), and for unknown options.
        jaxgait.outcome.NoResult: if the run of the design fails.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization import sensitivities
        >>> found = sensitivities(Bungee(), minimize="peak_rope_force", by=["mass", "stiffness"], duration=10.0)
        >>> found.change.sel(measure="peak_rope_force").round(1).to_series().to_dict()  # N for 1 %
        {'mass': 11.6, 'stiffness': 3.6}
    """
    objective, sign = one_objective(maximize, minimize)
    check_run("sensitivities", run)
    if "progress" in run:  # an argument of `ensemble` that would prevent solving for a gait
        raise ValueError("sensitivities has no progress bar: it only runs two batches")
    varied = [] if across is None else list(as_members(across).values)
    names, left_out = differentiable(as_model(model), by, varied, initial)
    goal = _distinct(Goal.of(model, objective, as_limits(subject_to)))
    given = given_start(model, initial)
    fixed = {name: value for name, value in given.items() if name not in names}
    scenarios = Scenarios.of(model, across, robust, weights, sign, {*names, *fixed})
    space = _near(model, names, given)
    x = np.full((1, len(names)), 0.5)
    task = Task(model, space, goal, run, fixed, scenarios, return_map)
    evaluate = begun(evaluator_for(task, gradient, x, step=STEP_OF_DIFFERENCES), task, gradient, gait)
    goal = goal.sized(evaluate.shapes(x)).flat()
    found = evaluate(np.zeros(1, int), x)
    if not _ended(found)[0]:
        raise NoResult(f"the run of the design failed: {sentence(model, int(found.status[0]))}")
    labels, units = _labels(goal, scenarios)
    values, change = found.values[0, : len(labels)], 0.5 * found.slopes[0, : len(labels)]
    order = np.argsort(-np.nan_to_num(np.abs(change[0]), nan=-1.0), kind="stable")
    runs = evaluator_for(task, None, x) if gradient == "differences" else evaluate
    difference, lost = _checked(runs, space, order[:CHECKED_PARAMETERS], len(labels))
    data = _dataset(space, (labels, units), values, change, difference).isel(parameter=order)
    attrs = {"model": type(model).__name__, "gradient": evaluate.name + _stability(found), "left_out": left_out}
    return data.assign_attrs(attrs | {"lost": ", ".join(lost), "disagree": ", ".join(_disagreeing(data))})


def differentiable(
    model: Model, by: Sequence[str] | None, varied: Collection[str] = (), initial: Mapping[str, Any] | None = None
) -> tuple[list[str], str]:
    """Parameters that can change by 1 %, and a text that lists those that were left out.

    Args:
        model: the mechanism.
        by: names of parameters; None: all.
        varied: names of those that vary between scenarios.
        initial: components of the initial state that differ from the model's own, by name, in their units.

    Raises:
        ParameterError: for one in `by` that is unknown, and if none can change by 1 %.
    """
    if by is None:
        unfit = {name: _unfit(name, info, varied) for name, info in parameters(model).items()}
        names = _changeable(model, [name for name, why in unfit.items() if not why])
        if not names:
            raise ParameterError(f"{type(model).__name__} has no parameter that can be differentiated")
        left_out = {name: why or "not free to change by 1 %" for name, why in unfit.items() if name not in names}
        return names, "; ".join(f"{name} ({why})" for name, why in left_out.items())
    if isinstance(by, str):
        raise ParameterError(f"`by` must be a list of parameters, got {by!r}")
    if not by:
        raise ParameterError("`by` is empty: name parameters, or leave it out for all of them")
    unfit = without_change(model, by, varied, initial)
    names = [name for name in dict.fromkeys(by) if name not in unfit]
    if not names:
        name, why = next(iter(unfit.items()))
        raise ParameterError(f"no sensitivity to {name} can be computed: it is {why}")
    return names, "; ".join(f"{name} ({why})" for name, why in unfit.items())


def without_change(
    model: Model, by: Sequence[str], varied: Collection[str] = (), initial: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Those of the named parameters that cannot change by 1 %, each with the reason; arguments as in `differentiable`.

    Raises:
        ParameterError: for one that is unknown.
    """
    given = given_start(model, initial)
    reasons = {name: _unfit(name, _at_design(model, name, given), varied) for name in by}
    return {name: why for name, why in reasons.items() if why}


def _unfit(name: str, info: ParameterInfo, varied: Collection[str]) -> str:
    """Why a parameter cannot change by 1 %; empty if it can."""
    if name in varied or array_of(name) in varied:
        return "varied between scenarios"
    if info.rank or np.ndim(info.value):
        return "an array"
    if not is_real(info.value):
        return "not a number"
    return "" if float(info.value) else "zero"


def _changeable(model: Model, names: list[str]) -> list[str]:
    """Parameters that the model accepts 1 % away."""
    try:
        _near(model, names)
    except ParameterError:
        half = len(names) // 2
        return [*_changeable(model, names[:half]), *_changeable(model, names[half:])] if half else []
    return names


def _at_design(model: Model, name: str, given: Mapping[str, Any]) -> ParameterInfo:
    """The number to which a sensitivity refers, with its value at the design (of the initial state, the given one)."""
    info, started = variable(model, name), value_named(given, name)
    return info if started is None else info._replace(value=started)


def _near(model: Model, names: Sequence[str], given: Mapping[str, Any] = MappingProxyType({})) -> Space:
    """The box within 1 % of the design.

    Raises:
        ParameterError: if the model rejects its lowest or highest corner.
    """
    values = {name: float(_at_design(model, name, given).value) for name in names}
    with without_warnings(ImplausibleValue):  # about corners of the box, which are not evaluated
        away = {name: RELATIVE_CHANGE * abs(x) for name, x in values.items()}
        space = Space(model, {name: (x - away[name], x + away[name]) for name, x in values.items()}, starting=True)
        for corner in (np.zeros(len(names)), np.ones(len(names))):
            with_parameters(model, parted(model, space.named(corner))[0]).validate()
    return space


def _distinct(goal: Goal) -> Goal:
    first, *others = goal.measures
    kept: dict[Any, Limit] = {}
    for measure, limit in zip(others, goal.limits, strict=True):
        if measure != first:
            kept.setdefault(measure, limit)
    return Goal((first, *kept), tuple(kept.values()))


def _labels(goal: Goal, scenarios: Scenarios | None) -> tuple[list[str], list[str]]:
    """Names and units of the objective and the limited measures, scenario by scenario."""
    which = ["" if one.element is None else f"[{one.element}]" for one in goal.limits]
    limited = [name_of(m, "limited") + element for m, element in zip(goal.measures[1:], which, strict=True)]
    where = [""] if scenarios is None else [f" at {one}" for one in scenarios.names]
    labels = [name_of(goal.measures[0], "objective"), *(one + scenario for one in limited for scenario in where)]
    return labels, [goal.units[0], *(unit for unit in goal.units[1:] for _ in where)]


def _checked(evaluate: Runs, space: Space, looked: np.ndarray, count: int) -> tuple[np.ndarray, list[str]]:
    """Half the differences of the measures across the box along some parameters, and those whose runs fail."""
    n, k = len(space.names), len(looked)
    change, lost = np.full((count, n), np.nan), []
    if not k:
        return change, lost
    away = 0.5 * np.eye(n)[looked]
    found = evaluate(np.zeros(2 * k, int), np.concatenate([0.5 - away, 0.5 + away]))
    values = np.where(_ended(found)[:, None], found.values[:, :count], np.nan)
    change[:, looked] = 0.5 * (values[k:] - values[:k]).T
    bad = ~_ended(found) | (np.asarray(found.multiplier) >= 1.0)
    return change, [space.names[i] for i, is_bad in zip(looked, bad[:k] | bad[k:], strict=True) if is_bad]


def _ended(evaluation: Evaluated) -> Bool[np.ndarray, " b"]:
    """Whether runs completed, or ended early where all measures are defined for that."""
    return (evaluation.status == Outcome.COMPLETED) | evaluation.ran


def _disagreeing(data: xr.Dataset) -> list[str]:
    """Parameters whose slope does not predict the effect of a 1 % change on the objective."""
    slope, runs = data.change.values[0], data.difference.values[0]
    apart, size = np.abs(runs - slope), np.fmax(np.abs(runs), np.abs(slope))
    rounding = NEGLIGIBLE * abs(float(data.result[0]))
    largest = np.max(np.abs(slope), where=np.isfinite(slope), initial=0.0)
    noticed = apart > max(IGNORED_DISAGREEMENT * largest, rounding)
    return data.parameter.values[noticed & (np.isinf(apart) | (apart > MAX_DEVIATION * size))].tolist()


def _stability(evaluation: Evaluated) -> str:
    """A remark about an unstable gait; empty for a stable one."""
    multiplier = float(evaluation.multiplier[0])
    return f"; the gait is not stable (multiplier {multiplier:.3g})" if multiplier >= 1.0 else ""


def _dataset(
    space: Space, measures: tuple[list[str], list[str]], result: np.ndarray, change: np.ndarray, difference: np.ndarray
) -> xr.Dataset:
    """The labelled result; `measures` are names and units."""
    (labels, units), value = measures, space.physical(np.full(len(space.names), 0.5))
    both = lambda values, long_name: (("measure", "parameter"), values, {"long_name": long_name})
    data = {
        "change": both(change, "change for a rise of the parameter by 1 % of its size, in the measure's unit"),
        "difference": both(difference, "half the change from 1 % less to 1 % more by runs, in the measure's unit"),
        "slope": both(
            change / (RELATIVE_CHANGE * np.abs(value)), "slope, in the measure's unit per unit of the parameter"
        ),
        "result": ("measure", result, {"long_name": "the measure at the design, in its unit"}),
        "value": ("parameter", value, {"long_name": "the parameter at the design, in its unit"}),
    }
    of_measures = {"measure": labels, "measure_unit": ("measure", [unit or "1" for unit in units])}
    return xr.Dataset(data, of_measures | {"parameter": space.names, "parameter_unit": ("parameter", space.units)})
