"""The choice of a gradient: of the periodic gait, through the entire run, by differences, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from jaxgait import precision
from jaxgait.ensembles.addresses import is_start, parted
from jaxgait.ensembles.members import Members
from jaxgait.model import Model
from jaxgait.optimization.evaluate import DIFFERENCE_STEP, SINCE, Differences, Extra, Runs, Transient, Values
from jaxgait.optimization.gait import PeriodicGait, point_size
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.space import Space
from jaxgait.run import NotRecorded, Sampling
from jaxgait.solve.periodic import SectionMap
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.smooth import Smooth
from jaxgait.states import state_variables
from jaxgait.support import checks
from jaxgait.support.checks import as_array

_WAYS = ("auto", "gait", "run", "differences")
_OF_RUNS = ("strides", "duration")
_OF_SMOOTH = ("solver", "rtol", "atol", "max_step", "max_steps")
_TAKEN = {*_OF_RUNS, *_OF_SMOOTH, "samples", "scheme", "precision", "retry", "batch", "workers"}


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

    def missing(self, values: Float[np.ndarray, "*b values"]) -> Bool[np.ndarray, "*b conditions"]:
        """The conditions without a result, from the values of `combined` (units of measures)."""
        ...

    def combined(self, runs: Runs) -> Runs:
        """Runs under all conditions together: search i under condition s has the number i * size + s in `runs`."""
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
    return_map: SectionMap | None = None
    """The map whose fixed point is the gait that runs begin in; None: see `evaluator_for`."""

    @property
    def extra(self) -> Extra:
        """The values of the conditions, in their units."""
        return Extra() if self.scenarios is None else Extra.of(self.scenarios.members)

    @property
    def runs(self) -> tuple[Any, ...]:
        """The arguments of an evaluator of whole runs; values in their units."""
        return self.model, self.space, self.goal, self.run, self.fixed, self.extra

    @property
    def started(self) -> list[str]:
        """Names of the components of the initial state that are given, searched for, or varied between conditions."""
        varied = [] if self.scenarios is None else [name for name in self.scenarios.members.values]
        searched = parted(self.model, dict.fromkeys(self.space.names))[1]
        return [*self.fixed, *(name for name in varied if is_start(self.model, name)), *searched]

    def combined(self, runs: Runs) -> Runs:
        """Runs under all conditions together; values in the units of measures."""
        return runs if self.scenarios is None else self.scenarios.combined(runs)


def evaluator_for(
    task: Task, wanted: str | None, starts: Float[np.ndarray, "starts n"], step: float = DIFFERENCE_STEP
) -> Runs:
    """The evaluator with the requested gradient; "auto": of the periodic gait if there is one, else through the run.

    All starts share it, because objectives of gaits and of runs are not comparable: if a gait is found from at least
    one start (in all scenarios), starts without a gait fail. With a return map, the gradient is that of its gait. If
    `wanted` is None, there are no derivatives. `step`, of central differences, is a fraction of the box (no dimension).

    Raises:
        ValueError: for an unknown gradient, and for "gait" or a return map if no periodic gait is possible.
        TypeError: for a return map whose points are not starts of runs.
    """
    task = task._replace(goal=task.goal.observed())
    if wanted is not None:
        checks.one_of("gradient", wanted, _WAYS)
    if task.return_map is not None:
        return task.combined(_in_gait(task, wanted))
    if wanted is None:
        return task.combined(Values(*task._replace(goal=replace(task.goal, counts=True)).runs))
    if wanted == "differences":
        return task.combined(Differences(*task.runs, step=step))
    through = Transient(*task.runs)
    if wanted == "run":
        return task.combined(through)
    hindered = _hindered(task, by_name=wanted == "gait")
    if wanted == "gait" and hindered:
        raise ValueError(f"gradient='gait' is impossible: {hindered}; use gradient='run'")
    if not hindered:
        gait = task.combined(_of_stride(task))
        hindered = "" if wanted == "gait" else _missed(gait, starts, task.scenarios)
        if not hindered:
            return gait
    through.name += f"{SINCE}{hindered}"
    return task.combined(through)


def _of_stride(task: Task) -> PeriodicGait:
    stride = Sampling.of(task.model, strides=1, duration=None, samples=task.run.get("samples"))
    return PeriodicGait(task.model, task.space, task.goal, scheme_of(task), stride, extra=task.extra)


def _in_gait(task: Task, wanted: str | None) -> PeriodicGait:
    """The evaluator of runs that begin in the gait of a return map; `wanted` as in `evaluator_for`."""
    model, run, return_map = task.model, task.run, task.return_map
    if not isinstance(return_map, SectionMap):
        what = "return_map must be a PoincareMap or a StroboscopicMap, whose points are starts of runs"
        raise TypeError(f"{what}, got {checks.shown(return_map)}")
    if wanted not in (None, "auto", "gait"):
        raise ValueError(f"with return_map, the gradient is that of its gait: leave out gradient={wanted!r}")
    if why := _gaitless(task):
        raise ValueError(f"no gait of a return_map can be searched for: {why}")
    with precision.use("float64"):
        return_map.start(model, jnp.zeros(point_size(model, return_map)))  # which checks the phase of the section
    sampling = Sampling.of(model, *(run.get(name) for name in ("strides", "duration", "samples")))
    return PeriodicGait(model, task.space, task.goal, scheme_of(task), sampling, return_map, task.extra)


def begun(evaluate: Runs, task: Task, gradient: str, gait: Any) -> Runs:
    """The evaluator, whose searches take a given gait as their first guess.

    Args:
        evaluate: made for the task.
        task: what the search evaluates.
        gradient: as requested.
        gait: in the units of its components, (components,), or one for each scenario; None: none is given.

    Raises:
        ValueError: for a gait where none is searched for, of another shape, and for anything but finite numbers.
    """
    if gait is None:
        return evaluate
    if gradient != "gait" and task.return_map is None:
        raise ValueError(f"a gait is the first guess for gradient='gait' or a return_map, got gradient={gradient!r}")
    size = point_size(task.model, task.return_map)
    wanted = (size,) if task.scenarios is None else (len(task.scenarios.names), size)
    found = as_array(gait)
    if found.shape != wanted or found.dtype.kind not in "fiu" or not np.isfinite(found).all():
        what = f"gait must be finite numbers of the shape {wanted}, such as `Optimum.gait` of the same scenarios"
        raise ValueError(f"{what}, got {checks.shown(gait)}")
    evaluate.begin_with(found.astype(float))
    return evaluate


def _missed(gait: Runs, starts: Float[np.ndarray, "starts n"], scenarios: Several | None) -> str:
    """Why gaits cannot replace runs, in words; empty if one is found from at least one start in all scenarios."""
    try:
        found = gait(np.arange(len(starts)), starts)
    except NotRecorded:
        return "measures read events, which are those of whole runs"
    return "" if found.valid.any() else _gaits_missing(found.values, scenarios)  # a search does not solve for it again


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


def _hindered(task: Task, by_name: bool) -> str:
    """Why no periodic gait of a stride can be differentiated; empty if one can."""
    kind, strides = type(task.model).__name__, task.goal.strides
    reasons = {
        f"{kind} is not driven with a period": task.model.period is None,
        "duration is given, but a gait lasts one stride": task.run.get("duration") is not None,
        "it is unknown whether functions of a run need more than one stride": not by_name and strides is None,
        f"the measures need {strides} strides, but a gait has one": (strides or 0) > 1,
    }
    found = next((reason for reason, holds in reasons.items() if holds), "") or _gaitless(task)
    if found:
        return found
    if not isinstance(scheme_of(task), Smooth):
        return f"{kind} does not move smoothly"
    state = state_variables(jax.eval_shape(task.model.initial_state))
    return f"the state of {kind} has arrays" if any(leaf.ndim for leaf in state.values()) else ""


def _gaitless(task: Task) -> str:
    """What in a task rules out a search for gaits; empty if nothing does."""
    unknown = sorted(name for name, value in task.run.items() if value is not None and name not in _TAKEN)
    reasons = {
        "components of the initial state are given or searched for, but a gait does not depend on them": task.started,
        f"{', '.join(unknown)} is given, which a search for gaits does not take": unknown,
        "precision must be float64": task.run.get("precision", "float64") != "float64",
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def scheme_of(task: Task) -> Any:
    """The scheme of a task's runs, which may be differentiated."""
    options: dict[str, Any] = {name: task.run.get(name) for name in _OF_SMOOTH}
    return scheme_for(task.model, task.run.get("scheme"), precision="float64", **options).in_mode("forward")
