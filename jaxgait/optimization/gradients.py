"""The choice of a gradient: of the periodic gait, through the entire run, by differences, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from jaxgait import checks
from jaxgait.ensembles.members import INITIAL, Members
from jaxgait.model import Model
from jaxgait.optimization.evaluate import DIFFERENCE_STEP, SINCE, Differences, Evaluated, Extra, Runs, Transient
from jaxgait.optimization.gait import PeriodicGait
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.space import Space, parted
from jaxgait.run import NotRecorded
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.smooth import Smooth
from jaxgait.states import state_variables

_WAYS = ("auto", "gait", "run", "differences")
_OF_RUNS = ("strides", "duration")
_OF_SMOOTH = ("solver", "rtol", "atol", "max_step", "max_steps")
_TAKEN = {*_OF_RUNS, *_OF_SMOOTH, "samples", "scheme", "precision", "retry", "batch", "workers"}


class Values(Runs):
    """Values without gradients, in the units of measures."""

    name = "none: values alone"

    def __init__(self, differences: Differences):
        self._differences = differences

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `jaxgait.optimization.evaluate.Evaluator`; slopes are zero."""
        values, status = self._differences.values(searches, x)
        return Evaluated(values, np.zeros((*values.shape, x.shape[1])), status, np.full(len(x), np.nan))

    def shapes(self, x: Float[np.ndarray, "b n"]) -> Mapping[str, tuple[int, ...]]:
        """See `jaxgait.optimization.evaluate.Runs`."""
        return self._differences.shapes(x)


@runtime_checkable
class Several(Protocol):
    """Runs of each point under several conditions: the scenarios of a robust design, the trials of a fit."""

    @property
    def members(self) -> Members:
        """The values of the conditions, by name, in their units."""
        ...

    @property
    def names(self) -> list[str]:
        """A name for each condition."""
        ...

    @property
    def extra(self) -> Extra:
        """The values of the conditions, in their units."""
        ...

    def missing(self, values: Float[np.ndarray, "*b values"]) -> Bool[np.ndarray, "*b conditions"]:
        """The conditions without a result, from the values of `combined` (units of measures)."""
        ...

    def combined(self, runs: Runs) -> Runs:
        """All conditions together, from their single runs: of search i under condition s the number i * size + s."""
        ...


class Task(NamedTuple):
    """What a search evaluates."""

    model: Model
    space: Space
    goal: Goal
    run: Mapping[str, Any] = MappingProxyType({})
    """Arguments of `jaxgait.ensemble`."""
    fixed: Mapping[str, Any] = MappingProxyType({})
    """Values that all runs share, by name, in their units."""
    scenarios: Several | None = None


def evaluator_for(
    task: Task, wanted: str | None, starts: Float[np.ndarray, "starts n"], step: float = DIFFERENCE_STEP
) -> Runs:
    """The evaluator with the requested gradient; "auto": of the periodic gait if there is one, else through the run.

    All starts share it, because objectives of gaits and of runs are not comparable: if a gait is found from at least
    one start (in all scenarios), starts without a gait fail. `step` is that of central differences, as a fraction of
    the box (no dimension); with `wanted` None it gives values without derivatives.

    Raises:
        ValueError: for an unknown gradient, and for "gait" if no periodic gait is possible.
    """
    model, space, goal, run, fixed, scenarios = task._replace(goal=task.goal.observed())
    extra = Extra() if scenarios is None else scenarios.extra
    runs = (model, space, goal, run, fixed, extra)
    combined = lambda one: one if scenarios is None else scenarios.combined(one)
    if wanted is None:
        return combined(Values(Differences(model, space, replace(goal, counts=True), *runs[3:])))
    checks.one_of("gradient", wanted, _WAYS)
    if wanted == "differences":
        return combined(Differences(*runs, step=step))
    through = Transient(*runs)
    varied = [] if scenarios is None else [name for name in scenarios.members.values if name.startswith(INITIAL)]
    varied += parted(model, dict.fromkeys(space.names))[1]
    hindered = wanted != "run" and _hindered(model, goal, run, [*fixed, *varied], by_name=wanted == "gait")
    if wanted == "gait" and hindered:
        raise ValueError(f"gradient='gait' is impossible: {hindered}; use gradient='run'")
    if hindered:
        through.name += f"{SINCE}{hindered}"
    if wanted == "run" or hindered:
        return combined(through)
    gait = combined(PeriodicGait(model, space, goal, _scheme(model, run), run.get("samples"), extra))
    try:
        if wanted == "gait" or (found := gait(np.arange(len(starts)), starts)).valid.any():  # not solved for again
            return gait
    except NotRecorded:  # a measure reads events, which are those of whole runs
        return combined(through)
    through.name += f"{SINCE}{_gaits_missing(found.values, scenarios)}"
    return combined(through)


def _gaits_missing(values: Float[np.ndarray, "starts values"], scenarios: Several | None) -> str:
    """A sentence on the missing gaits."""
    missing = np.isnan(values[:, :1]) if scenarios is None else scenarios.missing(values)
    if missing.all():
        return "no periodic gait was found from any start"
    if scenarios is None or not missing.any(axis=1).all():
        return "the periodic gaits that were found have no finite derivatives"
    often = missing.sum(axis=0)
    least = f"{scenarios.names[np.argmax(often)]} has none from {often.max()} of {len(values)} starts"
    return f"no start has a periodic gait in every scenario ({least})"


def _hindered(model: Model, goal: Goal, run: Mapping[str, Any], fixed: Sequence[str], by_name: bool) -> str:
    """Why no periodic gait can be differentiated; empty if one can."""
    unknown = sorted(name for name, value in run.items() if value is not None and name not in _TAKEN)
    kind = type(model).__name__
    reasons = {
        f"{kind} is not driven with a period": model.period is None,
        "components of the initial state are given or searched for, but a gait does not depend on them": bool(fixed),
        "duration is given, but a gait lasts one stride": run.get("duration") is not None,
        "it is unknown whether functions of a run need more than one stride": not by_name and goal.strides is None,
        f"the measures need {goal.strides} strides, but a gait has one": (goal.strides or 0) > 1,
        f"{', '.join(unknown)} is given, which a search for gaits does not take": bool(unknown),
        "precision must be float64": run.get("precision", "float64") != "float64",
    }
    found = [reason for reason, holds in reasons.items() if holds]
    if found:
        return found[0]
    if not isinstance(_scheme(model, run), Smooth):
        return f"{kind} does not move smoothly"
    state = state_variables(jax.eval_shape(model.initial_state))
    return f"the state of {kind} has arrays" if any(leaf.ndim for leaf in state.values()) else ""


def _scheme(model: Model, run: Mapping[str, Any]) -> Any:
    options: dict[str, Any] = {name: run.get(name) for name in _OF_SMOOTH}
    return scheme_for(model, run.get("scheme"), precision="float64", **options).in_mode("forward")
