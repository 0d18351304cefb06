"""Runs a search: evaluates the points of all starts together, records them and summarises the result."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
import numpy as np
import xarray as xr
from jaxtyping import Float
from tqdm import tqdm

from jaxgait.ensembles.fingerprint import RUNS_A_MEMBER
from jaxgait.ensembles.labels import described_value
from jaxgait.ensembles.source import Sources, digest, value
from jaxgait.model import Model
from jaxgait.optimization.basins import basins, group_ends
from jaxgait.optimization.checkpoint import Checkpoint, Row
from jaxgait.optimization.epigraph import RAISED, with_epigraph, worst_balance
from jaxgait.optimization.evaluate import Evaluated, Evaluator, Extra
from jaxgait.optimization.failures import OPTIMUM, Wording, no_result, sentence
from jaxgait.optimization.goals import MAX_VIOLATION
from jaxgait.optimization.methods import (
    EDGE_TEXT,
    FAILED_TEXT,
    FIRST_STEP,
    GRADIENT_FREE,
    METHODS,
    SERIAL,
    STEEP_FACTOR,
    Ended,
    Settings,
    quiet,
)
from jaxgait.optimization.optimum import Local, Optimum, around, balance
from jaxgait.optimization.scenarios import RobustGoal
from jaxgait.optimization.space import Space
from jaxgait.optimization.together import Ask, together
from jaxgait.optimization.trust import MAX_DEVIATION, Guard, UnreliableGradient
from jaxgait.optimization.validity import INVALID, UNSTABLE, rejection, status_text
from jaxgait.parameters import with_parameters
from jaxgait.report import labels

WHERE = ("batch", "cluster", "devices", "workers")
"""Options of runs that do not affect their results."""


class Search:
    """All starts of one search."""

    def __init__(
        self,
        model: Model,
        space: Space,
        evaluate: Evaluator,
        method: str,
        settings: Settings,
        stability: float,
        checkpoint: pathlib.Path | str | None,
        fallback: str | None = None,
        run: Mapping[str, Any] = MappingProxyType({}),
        wording: Wording = OPTIMUM,
    ):
        """`fallback` continues starts with an unreliable gradient (None: they end); `run` are options of the runs.

        `wording` is that of the error of a search without a result.
        """
        self._model, self._space, self._evaluate, self._method = model, space, evaluate, method
        self._settings, self._stability = settings, stability
        self._file, self._fallback, self._options, self._wording = checkpoint, fallback, run, wording
        self._rows: list[list[Row]] = []
        self._lost: dict[int, str] = {}
        self._strict = False

    def optimum(self, x: Float[np.ndarray, "starts n"], progress: bool | None) -> Optimum:
        """Searches from the points `x` of the unit box (no dimension) and returns the result.

        Raises:
            jaxgait.outcome.NoResult: if every trajectory failed, or no start met the limits.
        """
        return self._summarised(x, self._ended(x, progress))

    def best(self, x: Float[np.ndarray, "starts n"], progress: bool | None = False) -> Row:
        """The best allowed evaluation, without exploring its surroundings; see `optimum`.

        Raises:
            jaxgait.outcome.NoResult: if every trajectory failed, or no start met the limits.
        """
        self._ended(x, progress)
        return self._best()

    def _ended(self, x: np.ndarray, progress: bool | None) -> list[Ended]:
        self._rows, self._strict, self._lost = [[] for _ in x], False, {}
        shown = None if progress is None else not progress
        with (
            Checkpoint(self._file, {} if self._file is None else self._fingerprint(x)) as self._known,
            tqdm(desc="optimize", unit="run", disable=shown) as self._bar,
        ):
            ended = self._searched(dict(enumerate(x)))
            if not any(self._allowed(self._end(i, end)) for i, end in ended.items()):
                self._strict = True
                ended |= self._searched(self._last_stable(ended))
        return [ended[i] for i in range(len(x))]

    def _searched(self, begin: Mapping[int, np.ndarray]) -> dict[int, Ended]:
        """Runs the method; starts with an unreliable gradient continue from their best points by the fallback."""
        ended = self._run({i: x for i, x in begin.items() if i not in self._lost}, self._method)
        if self._fallback is None:
            return ended
        lost = {i: ended[i].x if i in ended else x for i, x in begin.items() if i in self._lost}
        return ended | self._run(lost, self._fallback)

    def _run(self, begin: Mapping[int, np.ndarray], method: str) -> dict[int, Ended]:
        """Runs the searches in parallel, or in sequence for `SERIAL` methods."""
        search, who = METHODS[method], list(begin)
        if self._worst is not None and method in RAISED:
            search = with_epigraph(search)
        lanes: list[Callable[[Ask], Ended]] = [lambda ask, i=i: search(ask, begin[i], self._settings) for i in who]
        if method not in GRADIENT_FREE:
            lanes = [self._guarded(i, lane) for i, lane in zip(who, lanes, strict=True)]
        with quiet():
            if method not in SERIAL:
                found = together(lanes, lambda asking, questions: self._answer([who[i] for i in asking], questions))
                return dict(zip(who, found, strict=True))
            one = lambda i: lambda _, questions: self._answer([i], questions)
            return {i: together([lane], one(i))[0] for i, lane in zip(who, lanes, strict=True)}

    def _guarded(self, i: int, search: Callable[[Ask], Ended]) -> Callable[[Ask], Ended]:
        """A search that ends at the best point so far if its gradient proves unreliable."""
        goal, sign = self._settings.goal, self._settings.sign
        names = ["the objective", *map(str, goal.bounds)]
        least = [0.0, *(MAX_VIOLATION * one.scale for one in goal.bounds)]

        def cost(values: np.ndarray) -> tuple[float, float]:
            exceeded = max(-float(goal.slack(values).min(initial=0.0)), 0.0)
            return (exceeded if exceeded > MAX_VIOLATION else 0.0), -sign * float(values[0])

        def lane(ask: Ask) -> Ended:
            guard = Guard(ask, names, least)
            try:
                return search(guard)
            except UnreliableGradient as why:
                self._lost[i] = f"the gradient is unreliable at evaluation {len(self._rows[i])}: {why}"
                return Ended(guard.best(cost), False, "")

        return lane

    @property
    def _worst(self) -> RobustGoal | None:
        goal = self._settings.goal
        return goal if isinstance(goal, RobustGoal) and goal.worst else None

    def _last_stable(self, ended: Mapping[int, Ended]) -> dict[int, np.ndarray]:
        """The best stable gait of each start that ended on an unstable one."""
        sign, found = self._settings.sign, {}
        for i, end in ended.items():
            stable = [row for row in self._rows[i] if row.found.valid and row.found.multiplier < self._stability]
            if stable and self._end(i, end).found.multiplier >= self._stability:
                found[i] = max(stable, key=lambda row: sign * row.found.values[0]).x
        return found

    def _fingerprint(self, x: np.ndarray) -> dict[str, Any]:
        """Everything that affects the evaluations of a search, as far as it can be written to a file."""
        s = self._settings
        numbers = {"tolerance": s.tolerance, "seed": s.seed, "sign": s.sign}  # (more iterations go on with it)
        space = {"names": self._space.names, "low": self._space.low.tolist(), "high": self._space.high.tolist()}
        leaves = [np.asarray(x) for x in jax.tree.leaves(self._model) if eqx.is_array_like(x)]
        values = digest(*(f"{x.shape} {x.dtype}".encode() + x.tobytes() for x in leaves))  # `repr` shows no arrays
        texts = {"model": repr(self._model), "values": values, "method": self._method, "gradient": self._evaluate.name}
        measures = [getattr(m, "name", getattr(m, "__qualname__", "")) for m in s.goal.measures]
        limits = [str(one) for one in s.goal.limits]
        scenarios = s.goal.scenarios.identity() if isinstance(s.goal, RobustGoal) else None
        wanted = {"measures": measures, "limits": limits, "scenarios": scenarios, "source": self._source()}
        run = {name: value(x) for name, x in self._options.items() if x is not None and name not in WHERE}
        return {**texts, **numbers, **space, **wanted, "run": run, "starts": x.tolist()}

    def _source(self) -> str:
        """A digest of the code of the model, the measures and the solvers, and of the values that measures enclose."""
        sources = Sources()
        sources.add_module(RUNS_A_MEMBER)
        for used in (type(self._model), *(getattr(m, "function", m) for m in self._settings.goal.measures)):
            sources.add(used, "code")
        return digest(json.dumps(sources.digests(), sort_keys=True))

    # --- evaluations --------------------------------------------------------------------------------------------------

    def _answer(self, who: Sequence[int], questions: Sequence[np.ndarray]) -> list[Evaluated]:
        """Evaluates the points of one round that are not in the file."""
        lanes, points = np.repeat(who, [len(q) for q in questions]), np.concatenate(questions)
        rows: list[Row | None] = [self._known.take(int(i), x) for i, x in zip(lanes, points, strict=True)]
        new = np.array([row is None for row in rows])
        if new.any():
            recall = getattr(self._evaluate, "recall", None)
            if recall is not None:
                recall(self._known.memories())
            found = self._evaluate(lanes[new], points[new])
            memory = getattr(self._evaluate, "memory", lambda i: None)
            for k, i in enumerate(np.flatnonzero(new)):
                rows[i] = self._known.add(Row(int(lanes[i]), points[i], found.at(k), memory(int(lanes[i]))))
        judged = [self._judged(row) for row in rows if row is not None]
        for row in judged:
            self._rows[row.who].append(row)
        self._bar.update(len(rows))
        self._bar.set_postfix_str(f"best {self._best_so_far():.7g}, {len(who)} starts active")
        answers = iter(row.found for row in judged)
        return [Evaluated.stacked([next(answers) for _ in q]) for q in questions]

    def _judged(self, row: Row) -> Row:
        """An evaluation as its search sees it.

        Unstable gaits count as failed only in the second, strict pass: the objective is smooth across them. A start
        that continues without derivatives gets none.
        """
        if row.who in self._lost and self._fallback is not None:
            row = row._replace(found=row.found._replace(slopes=np.zeros_like(row.found.slopes)))
        return row._replace(found=row.found.judged(self._stability)) if self._strict else row

    def _best_so_far(self) -> float:
        sign = self._settings.sign
        found = (sign * float(r.found.values[0]) for rows in self._rows for r in rows if r.found.valid)
        return sign * max(found, default=np.nan)

    # --- the result ---------------------------------------------------------------------------------------------------

    def _allowed(self, row: Row) -> bool:
        """Whether a point may be the result: completed, within limits, stable."""
        found = row.found
        kept = bool(found.valid) and bool(self._settings.goal.met(found.values))
        return kept and not found.multiplier >= self._stability

    def _best(self) -> Row:
        sign, rows = self._settings.sign, [row for rows in self._rows for row in rows if self._allowed(row)]
        if not rows:
            everything = [row for rows in self._rows for row in rows]
            why = next(filter(None, map(self._rejection, everything)), "")
            raise no_result(self._model, self._settings.goal, [row.found for row in everything], self._wording, why)
        return max(rows, key=lambda row: sign * row.found.values[0])

    def _summarised(self, x: np.ndarray, ended: Sequence[Ended]) -> Optimum:
        sign, goal, space, best = self._settings.sign, self._settings.goal, self._space, self._best()
        ends = [self._end(i, end) for i, end in enumerate(ended)]
        named = space.named(best.x)
        local = None
        if self._method not in GRADIENT_FREE and self._worst is None and best.who not in self._lost:
            local = around(self._evaluate, space, goal, sign, best.who, best.x, Evaluated.stacked([best.found]))
        return Optimum(
            with_parameters(self._model, named),
            {name: space.physical(x)[:, k].tolist() for k, name in enumerate(space.names)},
            named,
            float(best.found.values[0]),
            [self._why(i, end, row) for i, (end, row) in enumerate(zip(ended, ends, strict=True))],
            self._history(ends),
            self._method,
            self._evaluate.name + self._lost_gradients() + self._unverified(best.who, local),
            *self._ends(ends),
            goal.left(goal.slack(best.found.values)),
            local,
            self._scenarios(best),
        )

    def _unverified(self, who: int, local: Local | None) -> str:
        """A caveat if differences around the best point, found by the start `who`, do not confirm the gradient."""
        if who in self._lost or self._method in GRADIENT_FREE or self._worst is not None:
            return ""
        if local is None:
            return "; not checked around the best point, because runs next to it failed"
        if local.difference <= MAX_DEVIATION:
            return ""
        size = f"{local.difference:.0%} of the slopes"
        return f"; around the best point it differs from differences of values by {size}: a kink, or unreliable"

    def _lost_gradients(self) -> str:
        """A caveat if the gradient proved unreliable for some starts."""
        if not self._lost:
            return ""
        then = "stopped there" if self._fallback is None else f"continued without it, by {self._fallback}"
        return f"; it proved unreliable for {len(self._lost)} of {len(self._rows)} starts, which {then}"

    def _scenarios(self, row: Row) -> xr.Dataset | None:
        goal, found = self._settings.goal, row.found
        if not isinstance(goal, RobustGoal):
            return None
        shares = goal.scenarios.weights
        if goal.worst and self._method in GRADIENT_FREE:
            shares = np.full(len(shares), np.nan)  # the shares cannot be computed without slopes
        elif goal.worst:
            shares = worst_balance(self._space, goal, self._settings.sign, row.x, found.values, found.slopes)[2]
        return goal.table(found.values, shares)

    def _end(self, i: int, end: Ended) -> Row:
        """The last evaluation at the point where a start ended; the start's best one if that failed."""
        rows = self._rows[i]
        there = [row for row in rows if np.array_equal(row.x, end.x) and row.found.valid]
        sign = self._settings.sign
        valid = [row for row in rows if row.found.valid]
        return (there or sorted(valid, key=lambda row: sign * row.found.values[0]) or rows)[-1]

    def _slope(self, row: Row) -> float:
        """The unbalanced slope, in units of the objective per box."""
        if not row.found.valid or row.who in self._lost:
            return float("nan")
        goal, sign = self._settings.goal, self._settings.sign
        if self._worst is not None:
            return worst_balance(self._space, self._worst, sign, row.x, row.found.values, row.found.slopes)[0]
        return balance(self._space, goal, sign, row.x, row.found.values, row.found.slopes)[0]

    def _why(self, i: int, end: Ended, row: Row) -> str:
        """One sentence on how a start ended."""
        found, goal = row.found, self._settings.goal
        if end.message == FAILED_TEXT or not found.valid:
            return self._failed(self._rows[i][0])
        if not goal.met(found.values):
            worst = int(np.argmin(goal.slack(found.values)))
            how = "ended" if end.converged else f"stopped ({end.message})"
            return f"{how} outside its limits: {goal.bounds[worst]}, reached {float(found.values[1 + worst]):.6g}"
        if found.multiplier >= self._stability:
            return f"ended on an unstable gait (multiplier {float(found.multiplier):.3g}): walks diverge from it"
        walls = self._space.walls(row.x)
        at = f" on the bound {' and '.join(walls)}" if walls else ""
        if i in self._lost:
            return self._without(i, end, at)
        if self._method in GRADIENT_FREE or self._method == "adam":
            return end.message + at
        return self._content(end, at, self._slope(row), abs(float(found.values[0])))

    def _without(self, i: int, end: Ended, at: str) -> str:
        """How a start with an unreliable gradient ended."""
        if self._fallback is None:
            return f"stopped{at}: {self._lost[i]}; method='auto' would continue without derivatives"
        return f"{self._lost[i]}; {self._fallback} continued from its best point: {end.message}{at}"

    def _rejection(self, row: Row) -> str:
        """Why the model rejects the design of an evaluation; empty if it does not."""
        if row.found.status != INVALID:
            return ""
        goal = self._settings.goal
        extra = goal.scenarios.extra if isinstance(goal, RobustGoal) else Extra()
        each = np.arange(extra.scenarios)
        return rejection(self._model, self._space.columns(np.repeat(row.x[None], len(each), axis=0)) | extra(each))

    def _failed(self, row: Row) -> str:
        found = row.found
        status, goal, where = int(found.status), self._settings.goal, ""
        if isinstance(goal, RobustGoal) and (missing := goal.scenarios.missing(found.values)).any():
            first = goal.scenarios.names[np.argmax(missing)]
            where = f" ({first}: {missing.sum()} of {missing.size} scenarios have no result)"
        if not status:
            return f"the objective or its slope is not finite at its start{where}"
        why = sentence(self._model, status, self._rejection(row))
        return f"the run at its start {'is an unstable gait' if status == UNSTABLE else f'failed: {why}'}{where}"

    def _content(self, end: Ended, at: str, slope: float, size: float) -> str:
        """How an allowed start ended, with the remaining slope."""
        left = f"remaining slope {slope:.1e} over the width of the bounds"
        if end.message == EDGE_TEXT:
            return f"ended at an edge{at} ({left}): {EDGE_TEXT}"
        if not end.converged:
            return f"stopped{at}: {end.message}"
        flat = FIRST_STEP * slope <= 10 * STEEP_FACTOR * self._settings.tolerance * max(size, FIRST_STEP * slope)
        return f"converged{at}: {left}" if flat else f"found no better point{at} ({left})"

    # --- labelled -----------------------------------------------------------------------------------------------------

    def _history(self, ends: Sequence[Row]) -> xr.Dataset:
        """All evaluations of all starts; finished ones repeat their end, with the status -1."""
        longest, space = 1 + max(map(len, self._rows)), self._space
        filled = [rows + [end] * (longest - len(rows)) for rows, end in zip(self._rows, ends, strict=True)]
        grid = lambda get: np.array([[get(row) for row in rows] for rows in filled])
        dims, alive = ("start", "iteration"), np.array([len(rows) for rows in self._rows])[:, None] > np.arange(longest)
        points, values = grid(lambda row: row.x), grid(lambda row: row.found.values)
        slopes = grid(lambda row: row.found.slopes[0]) / space.width
        status = np.where(alive, grid(lambda row: row.found.status), -1)
        label = self._settings.goal.label
        unit = "" if label["units"] == "1" else label["units"]
        data: dict[str, Any] = {
            "objective": (dims, values[..., 0], label),
            "status": (dims, status, labels("1", status_text("-1: this start had stopped"))),
        }
        allowed = grid(self._allowed).astype(np.int32)
        data["allowed"] = (dims, allowed, labels("1", "whether it may be the result: completed, stable, within limits"))
        for k, name in enumerate(space.names):
            data[name] = (dims, space.physical(points)[..., k], described_value(self._model, name))
            label = labels(f"{unit} per {space.units[k]}".strip(), f"slope of the objective over {name}")
            data[f"objective_gradient[{name}]"] = (dims, slopes[..., k], label)
        data |= self._limited(values, dims)
        multiplier = grid(lambda row: row.found.multiplier)
        if np.isfinite(multiplier).any():
            data["multiplier"] = (dims, multiplier, labels("1", "modulus of the largest Floquet multiplier"))
        return xr.Dataset(data)

    def _limited(self, values: np.ndarray, dims: tuple[str, ...]) -> dict[str, Any]:
        """The limited measures as `limit_0`, ..., arrays along `element_0`, ... ."""
        goal, data, at = self._settings.goal, {}, 1
        for k, (one, size) in enumerate(zip(goal.limits, goal.elements, strict=True)):
            label = labels((*goal.units, "")[at] or "1", f"limited: {one}")
            part = values[..., at] if size is None else values[..., at : at + size]
            data[f"limit_{k}"] = (dims if size is None else (*dims, f"element_{k}"), part, label)
            at += 1 if size is None else size
        return data

    def _ends(self, rows: Sequence[Row]) -> tuple[xr.Dataset, xr.Dataset]:
        space, dims = self._space, ("start",)
        data: dict[str, Any] = {}
        for k, name in enumerate(space.names):
            values = np.array([space.physical(row.x)[k] for row in rows])
            data[name] = (dims, values, described_value(self._model, name))
        data["objective"] = (dims, np.array([float(row.found.values[0]) for row in rows]), self._settings.goal.label)
        objective = self._settings.sign * np.array([float(row.found.values[0]) for row in rows])
        allowed, valid = (
            np.array(x) for x in zip(*((self._allowed(r), bool(r.found.valid)) for r in rows), strict=True)
        )
        basin, bests = group_ends(np.array([row.x for row in rows]), objective, allowed, valid)
        numbers = {
            "basin": (basin, "number of the basin (see `basins`) in which it ended, the best first; -1: none"),
            "slope": ([self._slope(row) for row in rows], "unbalanced slope, in units of the objective per box"),
            "multiplier": ([float(row.found.multiplier) for row in rows], "modulus of the largest Floquet multiplier"),
            "evaluations": ([len(r) for r in self._rows], "points that were evaluated"),
            "failed": (
                [sum(not r.found.valid for r in rows_) for rows_ in self._rows],
                "points among them whose run failed",
            ),
        }
        ends = xr.Dataset(data | {n: (dims, np.array(v), labels("1", label)) for n, (v, label) in numbers.items()})
        return ends, basins(ends, bests)
