"""Pareto fronts by populations of pymoo's NSGA-II, each one ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from jaxgait.optimization.evaluate import Evaluated
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.search_record import Recorder
from jaxgait.optimization.space import Space
from jaxgait.support import checks

VIOLATION_OF_FAILURES = 1e6
"""Violation of the limits assigned to a failed run: larger than that of any that completed."""


def evolve(
    record: Recorder,
    space: Space,
    goal: Goal,
    signs: Float[np.ndarray, " objectives"],
    population: int,
    generations: int,
    seed: int,
) -> None:
    """Evolves a population towards the front; the record contains all evaluations, each value in its unit.

    The goal has the objectives (all but the first as limits; `signs` are 1 to maximise, -1 to minimise), then limits.

    Raises:
        ModuleNotFoundError: without pymoo.
    """
    checks.library("pymoo", "NSGA-II needs", '"jaxgait[pareto]"')
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.problem import Problem
    from pymoo.problems.static import StaticProblem

    n, limits = len(space.names), len(goal.limits) - len(signs) + 1
    problem = Problem(n_var=n, n_obj=len(signs), n_ieq_constr=1 + limits, xl=0.0, xu=1.0)
    first: Any = scipy.stats.qmc.LatinHypercube(n, rng=seed).random(population)
    search = NSGA2(pop_size=population, sampling=first)
    search.setup(problem, termination=("n_gen", generations), seed=seed, verbose=False)
    while search.has_next():
        asked: Any = search.ask()
        x = asked.get("X")
        found = record(np.arange(len(x)), x)
        judged = StaticProblem(problem, **_losses(goal, signs, found))
        Evaluator().eval(judged, asked)
        search.tell(infills=asked)


def _losses(goal: Goal, signs: np.ndarray, evaluation: Evaluated) -> dict[str, np.ndarray]:
    """Losses, and violations of the limits; a failed run violates an additional limit."""
    valid, objectives = evaluation.valid[:, None], len(signs)
    exceeded = -goal.slack(evaluation.values)[:, objectives - 1 :]
    losses = np.where(valid, -signs * evaluation.values[:, :objectives], 0.0)
    failed = np.where(valid, -1.0, VIOLATION_OF_FAILURES)
    return {"F": losses, "G": np.concatenate([failed, np.where(valid, exceeded, 0.0)], axis=1)}
