"""Runs a search: evaluates the points of all starts together, records them and summarises the result."""

from __future__ import annotations

import functools
import itertools
import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxgait.ensembles.addresses import parted
from jaxgait.model import Model
from jaxgait.optimization.checkpoint import Checkpoint, Row
from jaxgait.optimization.epigraph import RAISED, with_epigraph
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.failures import OPTIMUM, Wording, no_result
from jaxgait.optimization.fingerprint import fingerprint
from jaxgait.optimization.goals import MAX_VIOLATION, name_of
from jaxgait.optimization.gradient_checks import Guard, UnreliableGradient
from jaxgait.optimization.methods import GRADIENT_FREE, METHODS, SERIAL, SearchEnd, SearchSettings, quiet
from jaxgait.optimization.neighbourhood import around, tolerated_loss
from jaxgait.optimization.optimum import Local, Optimum, Reference
from jaxgait.optimization.request_batching import Ask, together
from jaxgait.optimization.search_record import Recorder, SearchRecord
from jaxgait.optimization.search_tables import tabulate_ends, tabulate_history, tabulate_scenarios
from jaxgait.optimization.search_text import endings, lost_gradients, rejection_of, unverified
from jaxgait.optimization.space import Space
from jaxgait.optimization.statuses import brief
from jaxgait.parameters import with_parameters
from jaxgait.support.notes import waiting


class Search:
    """All starts of one search."""

    def __init__(
        self,
        model: Model,
        space: Space,
        evaluate: Evaluator,
        method: str,
        settings: SearchSettings,
        stability: float,
        checkpoint: pathlib.Path | str | None,
        fallback: str | None = None,
        run: Mapping[str, Any] = MappingProxyType({}),
        wording: Wording = OPTIMUM,
        referee: Callable[[SearchRecord, Row], Reference] | None = None,
    ):
        """`fallback` continues starts with an unreliable gradient (None: they end); `run` are options of the runs.

        `wording` is for the error if there is no result; `referee` judges the best point's gait again.
        """
        self._record = SearchRecord(model, space, settings, method, fallback, stability)
        self._evaluate, self._file, self._options, self._wording = evaluate, checkpoint, run, wording
        self._strict, self._leader, self._referee = False, list[Row](), referee

    def optimum(self, x: Float[np.ndarray, "starts n"], progress: bool | None) -> Optimum:
        """Searches from the points `x` of the unit box (no dimension) and returns the result.

        Raises:
            jaxgait.outcome.NoResult: if every trajectory failed, or no start met the limits.
        """
        return self._summarised(x, self._ended(x, progress), progress)

    def best(self, x: Float[np.ndarray, "starts n"], progress: bool | None = False) -> Row:
        """The best allowed evaluation, without exploring its surroundings; see `optimum`.

        Raises:
            jaxgait.outcome.NoResult: if every trajectory failed, or no start met the limits.
        """
        self._ended(x, progress)
        return self._best()

    def _ended(self, x: np.ndarray, progress: bool | None) -> list[SearchEnd]:
        record = self._record = replace(self._record, rows=[[] for _ in x], unreliable={})
        self._strict, self._leader = False, list[Row]()
        identity = {} if self._file is None else fingerprint(record, self._evaluate.name, self._options, x)
        with (
            Checkpoint(self._file, identity) as self._known,
            waiting("optimize", "run", progress, patience=0.0) as self._bar,
        ):
            self._evaluate.recall(self._known.memories)
            ended = self._searched(dict(enumerate(x)))
            if not any(record.allowed(record.end_of(i, end)) for i, end in ended.items()):
                self._strict = True
                ended |= self._searched(self._last_stable(ended))
        return [ended[i] for i in range(len(x))]

    def _searched(self, begin: Mapping[int, np.ndarray]) -> dict[int, SearchEnd]:
        """Runs the method; starts with an unreliable gradient continue from their best points by the fallback."""
        record = self._record
        ended = self._run({i: x for i, x in begin.items() if i not in record.unreliable}, record.method)
        if record.fallback is None:
            return ended
        lost = {i: ended[i].x if i in ended else x for i, x in begin.items() if i in record.unreliable}
        return ended | self._run(lost, record.fallback)

    def _run(self, begin: Mapping[int, np.ndarray], method: str) -> dict[int, SearchEnd]:
        """Runs the searches in parallel, or in sequence for `SERIAL` methods."""
        search, starts, settings = METHODS[method], list(begin), self._record.settings
        if self._record.worst is not None and method in RAISED:
            search = with_epigraph(search)
        lanes: list[Callable[[Ask], SearchEnd]] = [lambda ask, i=i: search(ask, begin[i], settings) for i in starts]
        if method not in GRADIENT_FREE:
            lanes = [self._guarded(i, lane) for i, lane in zip(starts, lanes, strict=True)]
        with quiet():
            if method not in SERIAL:
                found = together(lanes, lambda asking, questions: self._answer([starts[i] for i in asking], questions))
                return dict(zip(starts, found, strict=True))
            one = lambda i: lambda _, questions: self._answer([i], questions)
            return {i: together([lane], one(i))[0] for i, lane in zip(starts, lanes, strict=True)}

    def _guarded(self, i: int, search: Callable[[Ask], SearchEnd]) -> Callable[[Ask], SearchEnd]:
        """A search that ends at the best point so far if its gradient proves unreliable."""
        record, goal, sign = self._record, self._record.settings.goal, self._record.settings.sign
        names = ["the objective", *map(str, goal.bounds)]
        least = [0.0, *(MAX_VIOLATION * one.scale for one in goal.bounds)]

        def cost(values: np.ndarray) -> tuple[float, float]:
            exceeded = max(-float(goal.slack(values).min(initial=0.0)), 0.0)
            return (exceeded if exceeded > MAX_VIOLATION else 0.0), -sign * float(values[0])

        def lane(ask: Ask) -> SearchEnd:
            guard = Guard(ask, names, least)
            try:
                return search(guard)
            except UnreliableGradient as why:
                record.unreliable[i] = f"the gradient is unreliable at evaluation {len(record.rows[i])}: {why}"
                return SearchEnd(guard.best(cost), False, "")

        return lane

    def _last_stable(self, ended: Mapping[int, SearchEnd]) -> dict[int, np.ndarray]:
        """The best stable gait of each start that ended on an unstable one."""
        record, found = self._record, {}
        for i, end in ended.items():
            valid = (row for row in record.rows[i] if row.evaluation.valid)
            stable = [row for row in valid if row.evaluation.multiplier < record.stability]
            if stable and record.end_of(i, end).evaluation.multiplier >= record.stability:
                found[i] = max(stable, key=record.rank).x
        return found

    def _answer(self, searches: Sequence[int], questions: Sequence[np.ndarray]) -> list[Evaluated]:
        """Evaluates the points of one round that are not in the file."""
        lanes, points = np.repeat(searches, [len(q) for q in questions]), np.concatenate(questions)
        rows: list[Row | None] = [self._known.take(int(i), x) for i, x in zip(lanes, points, strict=True)]
        new = np.array([row is None for row in rows])
        if new.any():
            found = self._evaluate(lanes[new], points[new])
            memory = self._evaluate.memory
            for k, i in enumerate(np.flatnonzero(new)):
                lane, x = int(lanes[i]), points[i]
                rows[i] = self._known.add(Row(lane, x, found.at(k), memory(lane, x)))
        judged = [self._judged(row) for row in rows if row is not None]
        for row in judged:
            self._record.rows[row.search].append(row)
        allowed = [*self._leader, *(row for row in judged if self._record.allowed(row))]
        self._leader = sorted(allowed, key=self._record.rank)[-1:]
        best = "".join(f"best {row.evaluation.values[0]:.7g}, " for row in self._leader)
        self._bar.update(len(rows))
        self._bar.set_postfix_str(f"{best}{len(searches)} starts active")
        answers = iter(row.evaluation for row in judged)
        return [Evaluated.stacked([next(answers) for _ in q]) for q in questions]

    def _judged(self, row: Row) -> Row:
        """An evaluation as its search sees it.

        Unstable gaits count as failed only in the second, strict pass: the objective is smooth across them. A start
        that continues without derivatives gets none.
        """
        evaluation = row.evaluation
        if row.search in self._record.unreliable and self._record.fallback is not None:
            evaluation = evaluation._replace(slopes=np.zeros_like(evaluation.slopes))
        return row._replace(evaluation=evaluation.judged(self._record.stability) if self._strict else evaluation)

    def _best(self) -> Row:
        record, everything = self._record, list(itertools.chain.from_iterable(self._record.rows))
        rows = [row for row in everything if record.allowed(row)]
        if not rows:
            why = next(filter(None, (rejection_of(record, row) for row in everything)), "")
            evaluations = [row.evaluation for row in everything]
            raise no_result(record.model, record.settings.goal, evaluations, self._wording, why)
        return max(rows, key=record.rank)

    def _surroundings(self, best: Row, progress: bool | None) -> tuple[Local | None, Row | None]:
        """What is known around the best point, and the best evaluation there if it is better by more than is tolerated.

        Both are None without slopes there, and at a kink.
        """
        record = self._record
        if record.method in GRADIENT_FREE or record.worst is not None or best.search in record.unreliable:
            return None, None
        where = (record.space, record.settings.goal, record.settings.sign, best.search, best.x)
        at, words = Evaluated.stacked([best.evaluation]), functools.partial(brief, record.model)
        with waiting("tolerances", "run", progress, patience=0.0) as bar:
            evaluate, variation = Recorder(self._evaluate, np.inf, bar), self._variation(best)
            evaluate.recall({best.search: best.memory})
            local = around(evaluate, *where, at, variation, record.stability, words)
        near = max(evaluate.rows, key=record.rank, default=best)
        gain = record.rank(near)[1] - record.rank(best)[1]
        loss = tolerated_loss(float(best.evaluation.values[0]), variation)
        return local, near if record.allowed(near) and gain > loss else None

    def _summarised(self, x: np.ndarray, ended: Sequence[SearchEnd], progress: bool | None) -> Optimum:
        record, space, best = self._record, self._record.space, self._best()
        goal, sign = record.settings.goal, record.settings.sign
        ends = [record.end_of(i, end) for i, end in enumerate(ended)]
        named = space.named(best.x)
        values, start = parted(record.model, named)
        local, better = self._surroundings(best, progress)
        gait = self._evaluate.gait_of(best.memory)
        reference = None if self._referee is None or gait is None else self._referee(record, best)
        return Optimum(
            with_parameters(record.model, values),
            {name: space.physical(x)[:, k].tolist() for k, name in enumerate(space.names)},
            named,
            float(best.evaluation.values[0]),
            endings(record, ended, ends, best, local, better, reference),
            tabulate_history(record, ends),
            record.method,
            self._evaluate.name + lost_gradients(record) + unverified(record, best.search, local),
            *tabulate_ends(record, ends),
            goal.slack_by_limit(goal.slack(best.evaluation.values)),
            local,
            tabulate_scenarios(record, best),
            sense="maximize" if sign > 0.0 else "minimize",
            measure=name_of(goal.measures[0], "a function of the run"),
            bounds=space.bounds,
            initial=start,
            gait=gait,
            reference=reference,
        )

    def _variation(self, best: Row) -> float:
        """Typical difference of the objective between a start and the best point, in its unit."""
        first = [rows[0].evaluation for rows in self._record.rows if rows and rows[0].evaluation.valid]
        return float(np.median([abs(one.values[0] - best.evaluation.values[0]) for one in first] or [0.0]))
