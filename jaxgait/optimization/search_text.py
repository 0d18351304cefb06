"""Sentences on a search: why each start stopped, and whether its gradient was reliable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxgait.ensembles.validity import rejection
from jaxgait.optimization.basins import SAME_OPTIMUM
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.evaluate import Extra
from jaxgait.optimization.gradient_checks import MAX_DEVIATION
from jaxgait.optimization.methods import (
    BY_TOLERANCE,
    FIRST_STEP,
    GRADIENT_FREE,
    NEGLIGIBLE,
    STEEP_FACTOR,
    USED_UP,
    Ended,
    SearchEnd,
)
from jaxgait.optimization.optimum import AGREEMENT, CONSTANT, NO_OPTIMUM, ON_THE_WAY, Local, Reference
from jaxgait.optimization.scenarios import RobustGoal
from jaxgait.optimization.search_record import SearchRecord
from jaxgait.optimization.statuses import UNSTABLE, sentence
from jaxgait.outcome import INVALID

NEARBY = 0.02
"""Distance to an optimum, as a fraction of the bounds, within which the end of a search counts as there."""
_KINK = "probably at a kink, among rough values or in a narrow valley, so that it need not be an optimum; compare with"


def endings(
    record: SearchRecord,
    ended: Sequence[SearchEnd],
    ends: Sequence[Row],
    best: Row,
    local: Local | None,
    better: Row | None,
    reference: Reference | None = None,
) -> list[str]:
    """A sentence on how each start ended, with what is remarkable about the search and its best point.

    Args:
        record: the search.
        ended: how each start ended.
        ends: the evaluations there, in the units of measures.
        best: the best evaluation.
        local: what is known around it.
        better: an evaluation next to it that is better, if there is one.
        reference: its gait with finer tolerances, if it was computed.
    """
    pairs = enumerate(zip(ended, ends, strict=True))
    found = [why_stopped(record, i, end, row) + _without_influence(record, local) for i, (end, row) in pairs]
    found[best.search] += _on_the_way(record, ends, best) + _next_to_it(record, best, local, better)
    found[best.search] += f"; {reference.disagreement}" if reference is not None and reference.disagreement else ""
    return found


def _next_to_it(record: SearchRecord, best: Row, local: Local | None, better: Row | None) -> str:
    """A remark if the best point is no optimum, or one of many."""
    if better is not None:
        design = ", ".join(f"{name!r}: {x:.6g}" for name, x in record.space.named(better.x).items())
        value = f"{float(better.evaluation.values[0]):.6g}"
        return f"; {NO_OPTIMUM}: {{{design}}} gives {value}: search on from there, with `starts`"
    constant = local is not None and not (local.slope or local.active or local.difference or local.curvature.any())
    return "; around it the objective does not change" if constant else _unresolved(record, best, local)


def _unresolved(record: SearchRecord, best: Row, local: Local | None) -> str:
    """A remark if a method stopped by its tolerance on a slope that does not vanish nearby, as with a large offset.

    Judges by the largest curvature; empty if `hardly_resolved`, which judges by changes among all points, has a remark.
    """
    tolerance = record.settings.tolerance
    rows = [row for rows in record.rows for row in rows if row.evaluation.valid]
    if local is None or record.method not in BY_TOLERANCE or hardly_resolved("", rows, tolerance):
        return ""
    left, size = local.slope, abs(float(best.evaluation.values[0]))
    stopped = FIRST_STEP * left <= STEEP_FACTOR * tolerance * size and local.difference <= AGREEMENT
    if not stopped or left <= NEARBY * np.abs(local.curvature).max():
        return ""
    return (
        f"; the remaining slope does not vanish within {NEARBY:.0%} of the bounds, but promises too little for the "
        f"tolerance, {tolerance:g} of the objective: a smaller one, or an objective without an offset, resolves it"
    )


def _without_influence(record: SearchRecord, local: Local | None) -> str:
    """A remark on parameters on which nothing seems to depend: by symmetry slopes vanish, but not the curvature."""
    rows = [row for rows in record.rows for row in rows if row.evaluation.valid]
    objectives = {float(row.evaluation.values[0]) for row in rows}
    points = len({row.x.tobytes() for row in rows})
    if points > 1 and np.ptp([*objectives]) <= NEGLIGIBLE * max(map(abs, objectives)):
        return f"; {CONSTANT} {points} points"
    if record.method in BY_TOLERANCE and (remark := hardly_resolved("the objective", rows, record.settings.tolerance)):
        return f"; {remark}"
    if points < 2 or record.method in GRADIENT_FREE or record.unreliable:
        return ""
    goal = record.settings.goal
    flat = ~np.any([row.evaluation.slopes for row in rows], axis=(0, 1))  # also of scenarios that are not the worst
    flat &= True if local is None else ~local.hessian.values.any(axis=0)
    names = [name for name, is_flat in zip(record.space.names, flat, strict=True) if is_flat]
    what = "neither the objective nor a limit depends" if goal.limits else "the objective does not depend"
    return f"; {what} on {' and '.join(names)}" if 0 < len(names) < len(flat) else ""


def hardly_resolved(what: str, rows: Sequence[Row], tolerance: float, which: int = 0) -> str:
    """A remark if an objective varies so little, among points far apart, that the tolerance stops searches early.

    Args:
        what: the objective, for the sentence.
        rows: successful evaluations, in the units of measures.
        tolerance: relative change of the objective at which a search stops.
        which: the number of the objective.
    """
    values = np.array([float(row.evaluation.values[which]) for row in rows])
    varied, size = float(np.ptp(values)) if rows else np.inf, float(np.abs(values).max(initial=0.0))
    hardly = NEGLIGIBLE * size < varied <= STEEP_FACTOR * tolerance * size  # no tolerance resolves a constant
    if not hardly or np.ptp([row.x for row in rows], axis=0).max() < FIRST_STEP:
        return ""
    return (
        f"{what} varies by only {varied:.2g} among all points, {varied / size:.1g} of its size: "
        f"a smaller tolerance than {tolerance:g} resolves it better"
    )


def _on_the_way(record: SearchRecord, ends: Sequence[Row], best: Row) -> str:
    """A remark if the best point was evaluated on the way: no start ended at one as good."""
    sign, value = record.settings.sign, float(best.evaluation.values[0])
    worse = [sign * (value - float(row.evaluation.values[0])) for row in ends if record.allowed(row)]
    if min(worse, default=np.inf) <= STEEP_FACTOR * record.settings.tolerance * abs(value):
        return ""
    number = next(k for k, row in enumerate(record.rows[best.search]) if row is best)
    return f"; the best point is its evaluation {number}, {ON_THE_WAY}: it need not be an optimum"


def why_stopped(record: SearchRecord, i: int, end: SearchEnd, row: Row) -> str:
    """One sentence on how a start ended."""
    evaluation, goal = row.evaluation, record.settings.goal
    if end.where is Ended.START or not evaluation.valid:
        return _failed(record, record.rows[i][0])
    if not goal.met(evaluation.values):
        worst = int(np.argmin(goal.slack(evaluation.values)))
        how = f"stopped ({end.message})" if end.message and not end.converged else "ended"
        return f"{how} outside its limits: {goal.bounds[worst]}, reached {float(evaluation.values[1 + worst]):.6g}"
    if (multiplier := float(evaluation.multiplier)) >= record.stability:
        loose = f"a gait whose multiplier, {multiplier:.3g}, is not below stability={record.stability:g}"
        unstable = f"an unstable gait (multiplier {multiplier:.3g}): walks diverge from it"
        return f"ended on {unstable if multiplier >= 1.0 else loose}"
    walls = record.space.walls(record.space.on_walls(row.x))
    at = f" on the bound {' and '.join(walls)}" if walls else ""
    if i in record.unreliable:
        return _without_gradient(record, i, end, at)
    if record.method in GRADIENT_FREE:
        return _by_values(record, end, at) + _near_failures(record, i, row)
    values = np.array([float(one.evaluation.values[0]) for one in record.rows[i]])
    size, tolerance = abs(float(evaluation.values[0])), record.settings.tolerance
    left = max(10 * STEEP_FACTOR * tolerance, tolerance**0.5)  # next to the vertex of a parabola, slopes are as roots
    negligible = STEEP_FACTOR * tolerance * size if end.message == USED_UP else left * max(size, end.size)
    rounding = NEGLIGIBLE * float(np.ptp(values[np.isfinite(values)]))
    return _converged(record, end, at, record.slope(row), max(negligible, rounding))


def _by_values(record: SearchRecord, end: SearchEnd, at: str) -> str:
    """How a search without gradients ended."""
    if end.converged and end.kinked:
        return f"found no better point{at}, by values alone: {_KINK} method={_without_model(record)!r}"
    return f"converged{at}, by values alone: {end.message}" if end.converged else f"stopped{at}: {end.message}"


def _near_failures(record: SearchRecord, i: int, row: Row) -> str:
    """A remark if runs next to an end failed, which misleads methods that model the objective."""
    failed = np.array([one.x for one in record.rows[i] if not one.evaluation.valid]).reshape(-1, len(row.x))
    if record.method != "COBYQA" or not (np.abs(failed - row.x) <= SAME_OPTIMUM).all(axis=1).any():
        return ""
    return f"; runs next to it fail, so that it need not be an optimum: {_along_edges(record)}"


def _along_edges(record: SearchRecord) -> str:
    """What to try where runs fail next to the end of a search."""
    return f"method={_without_model(record)!r} from there goes along such edges"


def _without_model(record: SearchRecord) -> str:
    """A method that models neither the objective nor the limits, which kinks and failing runs mislead."""
    return "CMA-ES" if record.settings.goal.limits else "Nelder-Mead"


def _without_gradient(record: SearchRecord, i: int, end: SearchEnd, at: str) -> str:
    """How a start with an unreliable gradient ended."""
    if record.fallback is None:
        return f"stopped{at}: {record.unreliable[i]}; method='auto' would continue without derivatives"
    return f"{record.unreliable[i]}; {record.fallback} continued from its best point and {_by_values(record, end, at)}"


def rejection_of(record: SearchRecord, row: Row) -> str:
    """Why the model rejects the design of an evaluation; empty if it does not."""
    if row.evaluation.status != INVALID:
        return ""
    goal = record.settings.goal
    extra = Extra.of(goal.scenarios.members) if isinstance(goal, RobustGoal) else Extra()
    each = np.arange(extra.scenarios)
    return rejection(record.model, record.space.columns(np.repeat(row.x[None], len(each), axis=0)) | extra(each))


def _failed(record: SearchRecord, row: Row) -> str:
    """How a start failed at its first evaluation."""
    evaluation = row.evaluation
    status, goal, where = int(evaluation.status), record.settings.goal, ""
    if isinstance(goal, RobustGoal) and (missing := goal.scenarios.missing(evaluation.values)).any():
        first = goal.scenarios.names[np.argmax(missing)]
        where = f" ({first}: {missing.sum()} of {missing.size} scenarios have no result)"
    if not status:
        return f"the objective or its slope is not finite at its start{where}"
    why = sentence(record.model, status, rejection_of(record, row))
    if status == UNSTABLE:
        return f"the run at its start is an unstable gait{where}"
    others = [rows[0].evaluation for rows in record.rows if rows and rows[0] is not row]
    if status != INVALID and any(np.isfinite(one.multiplier) for one in others):
        where += "; no gait of another start could be followed to there"
    return f"the run at its start failed: {why}{where}"


def _converged(record: SearchRecord, end: SearchEnd, at: str, slope: float, negligible: float) -> str:
    """How an allowed start ended, with the remaining slope; a first step along it may promise `negligible` at most."""
    left = f"remaining slope {slope:.1e} over the width of the bounds"
    if end.where is Ended.EDGE:
        what = "runs fail or gaits lose their stability" if _of_gaits(record) else "runs fail"
        return f"ended at an edge{at} ({left}): further along the slope, {what}; {_along_edges(record)}"
    if FIRST_STEP * slope <= negligible and (end.converged or end.message == USED_UP):
        return f"converged{at}: {left}"
    if not end.converged:
        return f"stopped{at}: {end.message} ({left})"
    return f"found no better point{at}, although a slope remains ({left}): {_KINK} method={_without_model(record)!r}"


def _of_gaits(record: SearchRecord) -> bool:
    """Whether the search is one over gaits, which have multipliers, rather than over entire runs."""
    return any(np.isfinite(row.evaluation.multiplier) for rows in record.rows for row in rows)


def unverified(record: SearchRecord, search: int, local: Local | None) -> str:
    """A caveat if differences around the best point, found by the start `search`, do not confirm the gradient."""
    if search in record.unreliable or record.method in GRADIENT_FREE or record.worst is not None:
        return ""
    if local is None:
        return "; not checked around the best point, because runs next to it failed"
    if local.difference <= MAX_DEVIATION:
        return ""
    size = f"{local.difference:.0%} of the slopes"
    return f"; around the best point it differs from differences of values by {size}: a kink, or unreliable"


def lost_gradients(record: SearchRecord) -> str:
    """A caveat if the gradient proved unreliable for some starts."""
    if not record.unreliable:
        return ""
    then = "stopped there" if record.fallback is None else f"continued without it, by {record.fallback}"
    return f"; it proved unreliable for {len(record.unreliable)} of {len(record.rows)} starts, which {then}"
