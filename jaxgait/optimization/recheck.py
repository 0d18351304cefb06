"""Computes the gaits of best points again, with the model's own tolerances.

A search with coarser tolerances is faster and finds the same objective, but not quite the same Floquet multipliers:
near 1, these may differ on whether the gait is stable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.model import Model
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.evaluate import Evaluated
from jaxgait.optimization.gradients import Task, evaluator_for, scheme_of
from jaxgait.optimization.optimum import Reference
from jaxgait.optimization.search_record import SearchRecord
from jaxgait.scheme import Scheme
from jaxgait.solve.periodic import PoincareMap, StroboscopicMap
from jaxgait.solve.solvers import numerics_of, tolerances


class Finer(NamedTuple):
    """A task with the model's own tolerances, made from one with coarser tolerances."""

    task: Task
    scheme: Any
    """The scheme of its gaits."""
    coarse: Any
    """The scheme of the coarser task's gaits."""

    @classmethod
    def of(cls, task: Task) -> Finer | None:
        """The finer task; None if the tolerances of the given one are no coarser."""
        finer = _with_own_tolerances(task)
        return None if finer is None else cls(finer, _scheme(finer), _scheme(task))

    @property
    def _name(self) -> str:
        return "rtol" if self.scheme.rtol < self.coarse.rtol else "atol"

    @property
    def given(self) -> str:
        """The tolerance that is finer, as an argument; no dimension."""
        return f"{self._name}={getattr(self.scheme, self._name):g}"

    @property
    def instead(self) -> str:
        """The same as `given`, and what it replaces."""
        return f"with {self.given} instead of {getattr(self.coarse, self._name):g}"

    def again(self, x: Float[np.ndarray, "b n"], memories: Sequence[Any]) -> Evaluated:
        """Gaits at points of the unit box (no dimension), from what the coarser task remembers of each."""
        evaluate = evaluator_for(self.task, "gait", x)
        evaluate.recall(dict(enumerate(memories)))
        return evaluate(np.arange(len(x)), x)

    def reference(self, record: SearchRecord, best: Row) -> Reference:
        """The best point of a search, judged again."""
        found = self.again(best.x[None], [best.memory]).at(0)
        objective, multiplier = float(found.values[0]), float(found.multiplier)
        return Reference(self.scheme.rtol, objective, multiplier, self._disagreement(record, best, found))

    def _disagreement(self, record: SearchRecord, best: Row, found: Evaluated) -> str:
        """In words, how the gait differs from that of the search; empty if it does not."""
        searched, own = float(best.evaluation.values[0]), float(best.evaluation.multiplier)
        objective, multiplier, parts = float(found.values[0]), float(found.multiplier), []
        if not np.isfinite(objective):
            return f"{self.instead}, no gait was found at the best point: search with {self.given}"
        if any((multiplier >= limit) != (own >= limit) for limit in (1.0, record.stability)):
            parts.append(f"the largest Floquet multiplier {multiplier:.4g}, not {own:.4g}")
        if abs(objective - searched) > max(self.coarse.rtol, record.settings.tolerance) * abs(searched):
            parts.append(f"the objective {objective:.8g}, not {searched:.8g}")
        return f"{self.instead}, the best gait has {', and '.join(parts)}: search with {self.given}" if parts else ""


def _scheme(task: Task) -> Any:
    """The scheme of the gait."""
    return scheme_of(task) if task.return_map is None else task.return_map.scheme_of(task.model)


def _with_own_tolerances(task: Task) -> Task | None:
    """A task with the model's own tolerances; None if the task's are no coarser."""
    finer = _finer(task.model, _scheme(task))
    if finer is None or not isinstance(task.return_map, PoincareMap | StroboscopicMap | None):
        return None
    mapped = None if task.return_map is None else dataclasses.replace(task.return_map, scheme=finer)
    run: dict[str, Any] = {name: x for name, x in task.run.items() if name not in ("rtol", "atol")}
    scheme = scheme_of(task)
    return task._replace(run=run | {"scheme": _finer(task.model, scheme) or scheme}, return_map=mapped)


def _finer(model: Model, scheme: Any) -> Scheme | None:
    """A scheme with the model's own tolerances; None if the scheme's are no coarser, or if it has none."""
    rtol, atol = (getattr(scheme, name, None) for name in ("rtol", "atol"))
    own = tolerances(numerics_of(model), "float64")
    if rtol is None or atol is None or (rtol <= own[0] and atol <= own[1]):
        return None
    return dataclasses.replace(scheme, rtol=min(rtol, own[0]), atol=min(atol, own[1]))
