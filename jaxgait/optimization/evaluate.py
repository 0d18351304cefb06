"""Evaluates objective and limits with their derivatives at many points together, as ensembles."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Bool, Float, Int

from jaxgait import precision
from jaxgait.ensembles.addresses import own_value
from jaxgait.ensembles.batch import run_member
from jaxgait.ensembles.driver import plan_of
from jaxgait.ensembles.members import Members, constant, zipped
from jaxgait.ensembles.plan import LANES, Plan
from jaxgait.ensembles.validity import accepted
from jaxgait.ensembles.workers import run_blocks
from jaxgait.measure import Observe
from jaxgait.model import Model
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.space import Space, variable
from jaxgait.optimization.statuses import UNSTABLE
from jaxgait.outcome import INVALID, Outcome, failures
from jaxgait.plausible import ImplausibleValue
from jaxgait.support import machine
from jaxgait.support.notes import without_warnings

DIFFERENCE_STEP = 1e-3
"""Step of central differences, as a fraction of the box."""
_POINTS_BETWEEN = 64
"""Number of points at which to look for the longest run; the model may reject some of them."""


class Extra(NamedTuple):
    """Values that are not optimised: those of scenarios, or none."""

    values: Mapping[str, np.ndarray] = MappingProxyType({})
    """By name, in their units, with a leading axis over scenarios."""
    scenarios: int = 1

    @classmethod
    def of(cls, members: Members) -> Extra:
        """The values of scenarios."""
        return cls(members.values, members.size)

    def __call__(self, searches: Int[np.ndarray, " b"]) -> dict[str, np.ndarray]:
        """The values by name, (b, ...), in their units; search i in scenario s has the number i * scenarios + s."""
        return {name: x[searches % self.scenarios] for name, x in self.values.items()}


def extent(model: Model, space: Space, extra: Extra = Extra()) -> dict[str, np.ndarray]:
    """Values by name, (members, ...), in their units, that include the longest run of a search, at least nearly.

    They are the corners of its box. If the model rejects some of them, points between the corners are added, because
    the longest valid run may be anywhere then. If it rejects all points, they are the model's own values with those of
    the scenarios.
    """
    found = _valid(model, space, extra, space.corners)
    if len(found[space.names[0]]) < len(space.corners) * extra.scenarios:
        between = _valid(model, space, extra, scipy.stats.qmc.Sobol(len(space.names), rng=0).random(_POINTS_BETWEEN))
        found = {name: np.concatenate([x, between[name]]) for name, x in found.items()}
    if len(found[space.names[0]]):
        return found
    each = np.arange(extra.scenarios)
    return {name: np.full(len(each), float(variable(model, name).value)) for name in space.names} | extra(each)


def _valid(model: Model, space: Space, extra: Extra, points: Float[np.ndarray, "b n"]) -> dict[str, np.ndarray]:
    """Values by name, (members, ...), of the points of the unit box that the model accepts, in each scenario."""
    x = np.repeat(points, extra.scenarios, axis=0)
    columns = space.columns(x) | extra(np.arange(len(x)))
    valid = accepted(model, columns)
    return {name: values[valid] for name, values in columns.items()}


class Evaluated(NamedTuple):
    """Results at several points, with a leading axis over them, or at one point.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.optimization.evaluate import Evaluated
        >>> from jaxgait.optimization.statuses import UNSTABLE
        >>> found = Evaluated(np.ones((3, 1)), np.zeros((3, 1, 2)), np.zeros(3, int), np.array([0.5, 1.5, np.nan]))
        >>> found.judged(1.0).status.tolist() == [0, UNSTABLE, 0]
        True
        >>> Evaluated.stacked([found.at(2), found.at(0)]).multiplier.tolist()
        [nan, 0.5]
    """

    values: Float[np.ndarray, "*b values"]
    """Objective, then limited measures, each in its unit; NaN if the run failed. More may follow (`scenarios`)."""
    slopes: Float[np.ndarray, "*b values n"]
    """Their derivatives by the coordinates of the unit box; zeros where a method uses values alone."""
    status: Int[Any, "*b"]
    """How the runs ended, codes of `jaxgait.outcome`."""
    multiplier: Float[Any, "*b"]
    """Modulus of the largest Floquet multiplier of the gait; NaN where no gait was solved for."""

    @property
    def ran(self) -> Any:
        """Whether the run has finite values: it completed, or all measures are defined for its early end."""
        return ~failures(np.asarray(self.status)) & np.isfinite(self.values).all(axis=-1)

    @property
    def valid(self) -> Any:
        """Whether the slopes are finite too, so that a search may step to the points."""
        return self.ran & np.isfinite(self.slopes).all(axis=(-2, -1))

    def at(self, which: Any) -> Evaluated:
        """The results at one of several points (a number, without the leading axis) or at some (a slice, an array)."""
        return Evaluated(*(field[which] for field in self))

    @classmethod
    def stacked(cls, evaluations: Sequence[Evaluated]) -> Evaluated:
        """Results at single points, with a leading axis over them."""
        return cls(*(np.stack(field) for field in zip(*evaluations, strict=True)))

    def without(self, rejected: Bool[np.ndarray, " b"]) -> Evaluated:
        """The results of several points, with the status `INVALID` and no values at those that the model rejects."""
        lost = np.asarray(rejected)
        blank = np.where(lost, np.nan, 1.0)
        return Evaluated(
            self.values * blank[:, None],
            self.slopes * blank[:, None, None],
            np.where(lost, INVALID, self.status).astype(np.int32),
            self.multiplier * blank,
        )

    def judged(self, stability: float) -> Evaluated:
        """The results with the status `UNSTABLE` where a gait's multiplier reaches `stability` (no dimension)."""
        lost = (np.asarray(self.multiplier) >= stability) & (self.status == Outcome.COMPLETED)
        return self._replace(status=np.where(lost, UNSTABLE, self.status).astype(np.int32))


class Aside(IntEnum):
    """First numbers of evaluations that belong to no search, by their purpose.

    Evaluators remember a gait for each number: these ranges overlap neither with searches nor with each other.
    """

    MAGNITUDES = 1_000_000
    GRADIENT = 2_000_000
    TOLERANCES = 3_000_000


SINCE = ", since "
"""Precedes, in the name of an evaluator, why its kind of gradient was chosen; that does not affect its values."""


@runtime_checkable
class Evaluator(Protocol):
    """Evaluates points (no dimension), with values in the units of measures; `name` describes the gradient.

    Some evaluators remember a gait for each search, as a guess at its next point.
    """

    name: str

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """Values and derivatives at points of the unit box, requested by `searches`."""
        ...

    def memory(self, search: int, x: Float[np.ndarray, " n"] | None = None) -> Any:
        """What is remembered of a search, as lists; None if nothing.

        If one call evaluated several points (no dimension) for it, what belongs to `x`; by default, to the last.
        """
        return None

    def recall(self, memories: Mapping[int, Any]) -> None:
        """Restores what is remembered of searches, by their numbers; those with None keep what they have."""

    def gait_of(self, memory: Any) -> np.ndarray | None:
        """The state at the beginning of a remembered gait, in the units of its components; None without a gait."""
        return None

    def begin_with(self, gait: np.ndarray) -> None:
        """Takes the result of `gait_of` as the first guess of all searches, also in another box."""


@runtime_checkable
class Runs(Evaluator, Protocol):
    """An evaluator that runs a model and knows the shapes of its results beforehand."""

    def shapes(self, x: Float[np.ndarray, "b n"]) -> Mapping[str, tuple[int, ...]]:
        """Shapes of what the goal observes of one run, by name, before anything runs."""
        ...


class Combined(Runs):
    """Runs each point under several conditions: search i under condition s has the number i * size + s in `runs`."""

    def __init__(self, runs: Runs, size: int):
        self.runs, self.size, self.name = runs, size, runs.name

    def each(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """Results at points of the unit box, with the leading axes (points, conditions), in the units of measures."""
        lanes = (np.asarray(searches)[:, None] * self.size + np.arange(self.size)).ravel()
        found = self.runs(lanes, np.repeat(x, self.size, axis=0))
        return Evaluated(*(np.reshape(f, (len(x), self.size, *np.shape(f)[1:])) for f in found))

    def whole(self, values: np.ndarray, slopes: np.ndarray, each: Evaluated) -> Evaluated:
        """Values and slopes of all conditions, with the status of the first that failed and the largest multiplier."""
        first = np.argmax(~each.ran, axis=1)
        status = each.status[np.arange(len(first)), first]
        return Evaluated(values, slopes, status, np.fmax.reduce(each.multiplier, axis=1))

    def shapes(self, x: Float[np.ndarray, "b n"]) -> Mapping[str, tuple[int, ...]]:
        """See `Runs`."""
        return self.runs.shapes(x)

    def memory(self, search: int, x: Float[np.ndarray, " n"] | None = None) -> Any:
        """See `Evaluator`; condition by condition."""
        memories = [self.runs.memory(search * self.size + s, x) for s in range(self.size)]
        return None if all(one is None for one in memories) else memories

    def recall(self, memories: Mapping[int, Any]) -> None:
        """See `Evaluator`."""
        known = {i: memory for i, memory in memories.items() if memory is not None}
        self.runs.recall({i * self.size + s: one for i, memory in known.items() for s, one in enumerate(memory)})


class Boxed(Runs):
    """Runs at points of the unit box of one space."""

    _space: Space

    def within(self, space: Space) -> Boxed:
        """The same runs, without memory, at points of another box of the same parameters."""
        found = copy.copy(self)
        found._space = space
        return found


def with_magnitudes(goal: Goal, evaluate: Evaluator, starts: Float[np.ndarray, "starts n"]) -> Goal:
    """The goal whose limits at zero are judged by the magnitude of their measures at starts and other points.

    Args:
        goal: objective and limits.
        evaluate: evaluates the points, if there is such a limit.
        starts: in the unit box (no dimension).
    """
    if all(one.value for one in goal.limits):
        return goal
    some = starts[: LANES // 2]
    points = np.concatenate([some, scipy.stats.qmc.Sobol(starts.shape[1], rng=0).random(LANES)[len(some) :]])
    found = evaluate(Aside.MAGNITUDES + np.arange(LANES), points)
    return goal.with_magnitudes(found.values[found.ran])


class BatchedProgram:
    """Runs of one model that differ in some named numbers (in their units), in batches of one width: one program."""

    def __init__(
        self,
        model: Model,
        observe: Observe,
        gradient: tuple[str, ...],
        options: Mapping[str, Any],
        fixed: Mapping[str, Any],
        extent: Mapping[str, np.ndarray] | None = None,
    ):
        """`options`: arguments of `jaxgait.ensemble`; `fixed`: values that all share; `extent`: as for `plan_of`."""
        self._model, self._fixed, self._extent, self._plan = model, dict(fixed), extent, None
        self._options = {"retry": False} | {name: x for name, x in options.items() if x is not None}
        self._where = {name: self._options.pop(name, None) for name in ("workers", "cluster")}
        self._options |= {"model": model, "observe": observe, "gradient": gradient}

    def __call__(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Results by name; they and the columns have a leading axis over members.

        Results of designs that the model rejects are NaN, with the status `INVALID`.
        """
        members = constant(zipped(columns), self._fixed)
        plan = replace(self._plan_of(columns), members=members, block_shape=(self._lanes(members.size),))
        rejected = ~accepted(self._model, columns)
        parts = sorted(run_blocks(plan, range(plan.size), **self._where), key=lambda part: part[0])
        results = {name: np.concatenate([found[name] for _, found in parts]) for name in parts[0][1]}
        for x in (x for x in results.values() if x.dtype.kind == "f"):
            x[rejected] = np.nan
        return results | {"status": np.where(rejected, INVALID, results["status"])}

    def shapes(self, columns: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
        """Shapes of one member's results by name, before anything runs; columns as in a call."""
        return {name: found.shape for name, found in self._plan_of(columns).results.items()}

    def traced(self, values: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
        """One run as JAX code (see `jaxgait.ensembles.batch.run_member`), for use in other programs."""
        plan = self._plan_of(values)
        fixed = {name: jnp.asarray(value, float) for name, value in self._fixed.items()}
        return run_member(precision.cast(plan.model), fixed | dict(values), plan.job)

    def _plan_of(self, names: Iterable[str]) -> Plan:
        """The plan, checked once with the model's own values; `accepted` checks those of members."""
        if self._plan is None:
            with precision.use("float64"):
                own = {name: np.asarray(own_value(self._model, name))[None] for name in names}
            first = constant(zipped(own), self._fixed)
            with without_warnings(ImplausibleValue):  # the bounds were checked before
                self._plan = plan_of({"batch": LANES, **self._options, "members": first}, self._extent)
        return self._plan

    def _lanes(self, members: int) -> int:
        """Members per batch: one width on CPUs; on other devices all of them, rounded up to a few sizes."""
        if self._options.get("batch"):
            return self._options["batch"]
        return LANES if machine.on_cpu() else 1 << max(members - 1, LANES - 1).bit_length()


class _WholeRuns(Boxed):
    """Runs from the model's initial state at points of the unit box, with results in the units of measures."""

    differentiated: ClassVar[bool] = False

    def __init__(
        self,
        model: Model,
        space: Space,
        goal: Goal,
        options: Mapping[str, Any],
        fixed: Mapping[str, Any],
        extra: Extra = Extra(),
    ):
        self._space, self._goal, self._extra = space, goal, extra
        gradient = tuple(space.names) if self.differentiated else ()
        self._program = BatchedProgram(model, goal, gradient, options, fixed, extent(model, space, extra))

    def shapes(self, x: Float[np.ndarray, "b n"]) -> Mapping[str, tuple[int, ...]]:
        """Shapes of what the goal observes of a run, by name."""
        return self._program.shapes(self._space.columns(x) | self._extra(np.arange(len(x))))

    def _found(self, searches: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
        return self._program(self._space.columns(x) | self._extra(searches))


class Transient(_WholeRuns):
    """Exact derivatives through whole runs from the model's initial state, in the units of measures."""

    name, differentiated = "through the whole run", True

    def traced(
        self, x: Float[Array, " n"], extra: Mapping[str, Array] = MappingProxyType({})
    ) -> tuple[Float[Array, " values"], Float[Array, "values n"]]:
        """Values at one point of the unit box, in the units of measures, and their derivatives by it; JAX code.

        `extra` are further values by name, in their units, such as those of a scenario.
        """
        theta = self._space.spacing(x)
        found = self._program.traced({**extra, **dict(zip(self._space.names, theta, strict=True))})
        slopes = [found["gradient"][name].reshape(-1, x.size) for name in self._goal.names]
        values = [found["observed"][name].ravel() for name in self._goal.names]
        return jnp.concatenate(values), jnp.concatenate(slopes) * self._space.spacing.slopes(x)[None]

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `Evaluator`."""
        found = self._found(searches, x)
        slopes = self._goal.joined(found, "_gradient") * self._space.spacing.slopes(x)[:, None]
        return Evaluated(self._goal.joined(found), slopes, found["status"], np.full(len(x), np.nan))


class Values(_WholeRuns):
    """Values without gradients, in the units of measures."""

    name = "none: values alone"

    def values(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> tuple[np.ndarray, np.ndarray]:
        """Values (b, values) and statuses alone."""
        found = self._found(searches, x)
        return self._goal.joined(found), found["status"]

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `Evaluator`; slopes are zero."""
        values, status = self.values(searches, x)
        return Evaluated(values, np.zeros((*values.shape, x.shape[1])), status, np.full(len(x), np.nan))


class Differences(Values):
    """Central differences of entire runs, in the units of measures: for checks, and for schemes without derivatives."""

    def __init__(self, *runs: Any, step: float = DIFFERENCE_STEP):
        """`runs` are the arguments of `Transient`."""
        super().__init__(*runs)
        self._step, self.name = step, f"by central differences over {step:g} of the box"

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `Evaluator`; one-sided at the bounds."""
        return differences(self.values, searches, x, self._step)


def differences(
    values: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    searches: Int[np.ndarray, " b"],
    x: Float[np.ndarray, "b n"],
    step: float = DIFFERENCE_STEP,
) -> Evaluated:
    """Central differences of values in their units, one-sided at the bounds, with the arguments of an `Evaluator`.

    `values` gives values (b, values) and statuses at points; `step` is a fraction of the box.
    """
    b, n = x.shape
    moved = np.clip(x[:, None, None] + step * np.stack([-np.eye(n), np.eye(n)], axis=1), 0.0, 1.0)
    everywhere = np.concatenate([x[:, None], moved.reshape(b, 2 * n, n)], axis=1)
    found, status = values(np.repeat(searches, 2 * n + 1), everywhere.reshape(-1, n))
    found = found.reshape(b, 2 * n + 1, -1)
    apart = np.diagonal(moved[:, :, 1] - moved[:, :, 0], axis1=1, axis2=2)
    around = found[:, 1:].reshape(b, n, 2, -1)
    slopes = np.swapaxes((around[:, :, 1] - around[:, :, 0]) / apart[..., None], 1, 2)
    return Evaluated(found[:, 0], slopes, status.reshape(b, -1)[:, 0], np.full(b, np.nan))
