"""The gait of a best point once more, with the model's own tolerances.

A search with coarser ones is faster and finds the same objective, but not the same Floquet multipliers: near 1, they
decide differently whether the gait is stable.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxgait.model import Model
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.gradients import Task, begun, evaluator_for, scheme_of
from jaxgait.optimization.optimum import Reference
from jaxgait.optimization.search_record import SearchRecord
from jaxgait.scheme import Scheme
from jaxgait.solve.periodic import PoincareMap, StroboscopicMap
from jaxgait.solve.solvers import numerics_of, tolerances


class Referee:
    """Computes gaits of a task with the model's own tolerances where those of the task are coarser."""

    def __init__(self, task: Task):
        self._task, self._finer = task, _with_own_tolerances(task)

    def __call__(self, record: SearchRecord, best: Row, gait: Float[np.ndarray, "*scenarios m"]) -> Reference | None:
        """The reference of the best point of a search, whose gait (in the units of its components) is the first guess.

        None if the tolerances of the search are no coarser than the model's own.
        """
        if self._finer is None:
            return None
        evaluate = begun(evaluator_for(self._finer, "gait", best.x[None]), self._finer, "gait", gait)
        found = evaluate(np.zeros(1, int), best.x[None]).at(0)
        finer, coarse = _scheme(self._finer), _scheme(self._task)
        objective, multiplier = float(found.values[0]), float(found.multiplier)
        disagreement = _disagreement(record, best, objective, multiplier, finer, coarse)
        return Reference(finer.rtol, objective, multiplier, disagreement)


def _disagreement(record: SearchRecord, best: Row, objective: float, multiplier: float, finer: Any, coarse: Any) -> str:
    """In words, how a gait by a finer scheme differs from that of the search; empty if it does not."""
    searched, own = float(best.evaluation.values[0]), float(best.evaluation.multiplier)
    given, before = _tolerance(finer, coarse)
    begin, end = f"with {given} instead of {before},", f": search with {given}"
    if not np.isfinite(objective):
        return f"{begin} no gait was found at the best point{end}"
    parts = []
    if any((multiplier >= limit) != (own >= limit) for limit in (1.0, record.stability)):
        parts.append(f"the largest Floquet multiplier {multiplier:.4g}, not {own:.4g}")
    if abs(objective - searched) > max(coarse.rtol, record.settings.tolerance) * abs(searched):
        parts.append(f"the objective {objective:.8g}, not {searched:.8g}")
    return f"{begin} the best gait has {', and '.join(parts)}{end}" if parts else ""


def _tolerance(finer: Any, coarse: Any) -> tuple[str, str]:
    """A tolerance that is finer than another, as it is given, and the other."""
    name = "rtol" if finer.rtol < coarse.rtol else "atol"
    return f"{name}={getattr(finer, name):g}", f"{getattr(coarse, name):g}"


def _scheme(task: Task) -> Any:
    """The scheme of the gait."""
    return scheme_of(task) if task.return_map is None else task.return_map.scheme_of(task.model)


def _with_own_tolerances(task: Task) -> Task | None:
    """A task with the model's own tolerances; None if its own are no coarser."""
    finer = _finer(task.model, _scheme(task))
    if finer is None or not isinstance(task.return_map, PoincareMap | StroboscopicMap | None):
        return None
    mapped = None if task.return_map is None else dataclasses.replace(task.return_map, scheme=finer)
    run: dict[str, Any] = {name: x for name, x in task.run.items() if name not in ("rtol", "atol")}
    scheme = scheme_of(task)
    return task._replace(run=run | {"scheme": _finer(task.model, scheme) or scheme}, return_map=mapped)


def _finer(model: Model, scheme: Any) -> Scheme | None:
    """A scheme with the model's own tolerances; None if its own are no coarser, and without any."""
    rtol, atol = (getattr(scheme, name, None) for name in ("rtol", "atol"))
    own = tolerances(numerics_of(model), "float64")
    if rtol is None or atol is None or (rtol <= own[0] and atol <= own[1]):
        return None
    return dataclasses.replace(scheme, rtol=min(rtol, own[0]), atol=min(atol, own[1]))
