"""Why a search has no result, and what to try: the same sentences for single optima and fronts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxgait.model import Model
from jaxgait.optimization.evaluate import Evaluated
from jaxgait.optimization.goals import MAX_VIOLATION, Goal, name_of
from jaxgait.optimization.scenarios import RobustGoal
from jaxgait.optimization.statuses import sentence
from jaxgait.outcome import FIRST_TERMINATION, NoResult
from jaxgait.support.units import with_unit

LISTED = 3
"""Largest number of limits in a message."""


class Wording(NamedTuple):
    """What a search calls its runs and points, and what it advises."""

    runs: str
    points: str
    limits: str
    """What to do if no point met the limits."""
    failed: str
    """What to do if all runs failed."""
    gradients: str
    """What to do if no gradient is finite."""
    walks: str
    """How to search over walks that do not repeat."""


OPTIMUM = Wording(
    runs="every trajectory of every start",
    points="no start",
    limits="loosen it, widen the bounds, or use more starts",
    failed="try other bounds or more starts",
    gradients="try gradient='differences', or a method without gradients such as COBYQA",
    walks="gradient='run' with method='COBYQA' also accepts walks that do not repeat",
)
"""Of `jaxgait.optimize`."""
ENDS = OPTIMUM._replace(
    gradients="try gradient='differences' or method='NSGA-II'",
    walks="method='NSGA-II' also accepts walks that do not repeat",
)
"""Of a front's ends."""
POPULATION = ENDS._replace(
    runs="every trajectory", points="no point", limits="loosen it or the bounds", failed="try other bounds"
)
"""Of a front by NSGA-II."""


def _where(goal: Goal, evaluations: Sequence[Evaluated]) -> str:
    """The scenario that failed most often; empty without scenarios, and if all failed equally often."""
    if not isinstance(goal, RobustGoal):
        return ""
    often = goal.scenarios.missing(np.array([one.values for one in evaluations])).sum(axis=0)
    if often.max() == often.min():
        return ""
    scenario = goal.scenarios.names[int(np.argmax(often))]
    return f"; most often in the scenario {scenario}, at {often.max()} of {len(evaluations)} points"


def _undefined(goal: Goal, evaluations: Sequence[Evaluated]) -> str:
    """Says that runs complete, but the objective or a limited measure is not a finite number."""
    names = [name_of(goal.measures[0], "the objective"), *(one.name for one in goal.bounds)]
    often = (~np.isfinite([one.values[: len(names)] for one in evaluations])).sum(axis=0)
    what = names[int(np.argmax(often))]
    if isinstance(goal, RobustGoal) and len(names) > 1:  # its scenarios only show that something is missing
        what = "the objective or a limited measure"
    return (
        f"every run completed, but {what} is not a finite number at {often.max()} of {len(evaluations)} points"
        f"{_where(goal, evaluations)}: longer runs (duration, strides) may contain what it measures; look at one"
    )


def _missed(goal: Goal, valid: Sequence[Evaluated]) -> str:
    """Lists the limits that the nearest point misses, with its values."""
    slacks = goal.slack(np.array([one.values for one in valid]))
    nearest = int(np.argmax(slacks.min(axis=1)))
    worst = [int(k) for k in np.argsort(slacks[nearest]) if slacks[nearest, k] < -MAX_VIOLATION]
    value = lambda k: with_unit(f"{float(valid[nearest].values[1 + k]):.6g}", goal.units[1 + k])
    each = [f"{goal.bounds[k]} was {value(k)}" for k in worst]
    more = f" (and {len(each) - LISTED} more)" if len(each) > LISTED else ""
    apart = ", each of which some point met, but none all" if (slacks >= -MAX_VIOLATION).any(axis=0).all() else ""
    return f"nearest to {' and to '.join(each[:LISTED])}{more}{apart}"


def no_result(model: Model, goal: Goal, evaluations: Sequence[Evaluated], wording: Wording, why: str = "") -> NoResult:
    """The error of a search none of whose points may be the result.

    Args:
        model: the mechanism.
        goal: objective and limits.
        evaluations: all evaluations, each of one point, in the units of measures.
        wording: of the search.
        why: why the model rejects one of the points, if it does.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization.evaluate import Evaluated
        >>> from jaxgait.optimization.failures import POPULATION, no_result
        >>> from jaxgait.optimization.goals import Goal
        >>> goal = Goal.of(Bungee(), "peak_rope_force", ["clearance >= 2"])
        >>> found = Evaluated(np.array([1500.0, 1.5]), np.zeros((2, 1)), np.int32(0), np.float64("nan"))  # N, m
        >>> print(no_result(Bungee(), goal, [found], POPULATION))
        no point met the limits: nearest to clearance >= 2 was 1.5 m; loosen it or the bounds
    """
    valid = [one for one in evaluations if one.valid]
    if not valid and any(one.ran for one in evaluations):
        return NoResult(f"no gradient is finite at any point, although runs have values there: {wording.gradients}")
    if not valid:
        codes = sorted({int(one.status) for one in evaluations} - {0})
        if not codes:
            return NoResult(_undefined(goal, evaluations))
        listed = "; ".join(sentence(model, code, why) for code in codes) + _where(goal, evaluations)
        early = "; measures with early=True are defined for early ends" if max(codes) >= FIRST_TERMINATION else ""
        return NoResult(f"{wording.runs} failed ({listed}): {wording.failed}{early}")
    if not any(goal.met(one.values) for one in valid):
        return NoResult(f"{wording.points} met the limits: {_missed(goal, valid)}; {wording.limits}")
    least = min(float(one.multiplier) for one in valid if goal.met(one.values))
    gait = "no stable gait was found" if least >= 1.0 else "no gait stable enough was found"
    return NoResult(
        f"{gait} from any start (smallest multiplier {least:.3g}): use more starts or other bounds; {wording.walks}"
    )
