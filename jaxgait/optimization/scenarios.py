"""Robust design: a design is evaluated in many scenarios; its mean or its worst value counts.

    optimize(knee, maximize="rho", over={"damper.k": (1e4, 4e4)}, across={"cadence": [0.9, 1.0, 1.1]}, robust="worst")

A scenario is a member of an ensemble, with values that are not optimised: masses, cadences, people, single strides.
Every requested point is run in all scenarios, those of all starts in one batch. Limits apply to each scenario
separately. A point fails if one of its scenarios fails.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxgait.elements import array_of
from jaxgait.ensembles.conversion import in_own_units
from jaxgait.ensembles.members import Members, as_members, check_members
from jaxgait.model import Model
from jaxgait.optimization.evaluate import Combined, Evaluated, Runs
from jaxgait.optimization.goals import Goal, Limit
from jaxgait.parameters import ParameterError
from jaxgait.support import checks, xr
from jaxgait.support.checks import shown

ROBUST = ("mean", "worst")
"""How the values of the scenarios are combined."""
_NAMED = 3
"""Largest number of values in the name of a scenario; with more, its name is its number."""


@dataclass(frozen=True, eq=False)
class Scenarios:
    """Values that vary but are not optimised, and how the objective combines their runs."""

    members: Members
    weights: Float[np.ndarray, " scenarios"]
    """Weights of the mean; they sum to one."""
    worst: bool
    """Whether the worst scenario counts, instead of the mean."""
    sign: float
    """1 to maximise, -1 to minimise."""

    @classmethod
    def of(
        cls,
        model: Model,
        across: Members | Mapping[str, Any] | None,
        robust: str | None,
        weights: Any,
        sign: float,
        taken: Collection[str],
    ) -> Scenarios | None:
        """The scenarios from the checked arguments of `jaxgait.optimize`; None without scenarios.

        Args:
            model: the mechanism.
            across: values by name (their grid), each in its unit, or members.
            robust: see `ROBUST`; None is the mean.
            weights: weights of the mean, one positive number per scenario; None: equal weights.
            sign: 1 to maximise, -1 to minimise.
            taken: names that are optimised or fixed; an element in `across` replaces that of a fixed array.

        Raises:
            ParameterError: for unknown names, for names that are taken, and for arrays with a taken element.
            ValueError: for an unknown `robust`, impossible weights, and either of them without scenarios.
        """
        if across is None:
            if robust is not None or weights is not None:
                argument = "robust" if robust is not None else "weights"
                raise ValueError(f"{argument} needs scenarios: give across={{name: values}}")
            return None
        members = in_own_units(model, as_members(across))
        both = sorted(name for name in taken if {name, array_of(name)} & {*members.values})
        if both:
            raise ParameterError(f"{both[0]!r} is in `across` and also in `over` or `initial`: use it in one of them")
        check_members(model, members)
        checks.one_of("robust", "mean" if robust is None else robust, ROBUST)
        return cls(members, _weights(weights, members, robust == "worst"), robust == "worst", sign)

    @property
    def size(self) -> int:
        """Number of scenarios."""
        return self.members.size

    @property
    def names(self) -> list[str]:
        """A unique name for each scenario, such as "mass = 60"."""
        members, found = self.members, []
        for index in np.ndindex(*members.shape):
            found.append(", ".join(_name_along(members, dim, index) for dim in members.dims))
        if len(set(found)) == len(found):
            return found
        return [f"scenario {i}" for i in range(self.size)]

    def missing(self, values: Float[np.ndarray, "*b values"]) -> Bool[np.ndarray, "*b scenarios"]:
        """The scenarios without a result, from the values of `Robust` (units of measures)."""
        return np.isnan(values[..., -self.size :])

    def combined(self, runs: Runs) -> Robust:
        """The mean or the worst over the scenarios, from their single runs."""
        return Robust(runs, self)

    def goal(self, goal: Goal) -> RobustGoal:
        """The same objective, and every limit once for each scenario."""
        goal = goal.flat()
        in_scenario = lambda x, name: ScenarioLimit(**vars(x), scenario=name)
        limits = zip(goal.measures[1:], goal.limits, strict=True)
        rows = [(m, in_scenario(x, name)) for m, x in limits for name in self.names]
        return RobustGoal((goal.measures[0], *(m for m, _ in rows)), tuple(limit for _, limit in rows), scenarios=self)

    def identity(self) -> dict[str, Any]:
        """Everything that affects the values of a search, as plain data."""
        values = {name: x.tolist() for name, x in self.members.values.items()}
        return {"worst": self.worst, "weights": self.weights.tolist(), "values": values}


@dataclass(frozen=True)
class ScenarioLimit(Limit):
    """A limit in one scenario."""

    scenario: str = ""
    """The scenario's name."""

    def __str__(self) -> str:
        return f"{super().__str__()} at {self.scenario}"


@dataclass(frozen=True)
class RobustGoal(Goal):
    """Objective and limits of all scenarios: limits scenario by scenario, followed by the objectives."""

    scenarios: Scenarios = field(kw_only=True)

    @property
    def worst(self) -> bool:
        """Whether the worst scenario counts."""
        return self.scenarios.worst

    def each(self, found: Float[np.ndarray, "values ..."]) -> np.ndarray:
        """The rows of the single objectives (with their units) among those of one point's values, or slopes."""
        return found[1 + len(self.limits) :]

    def table(self, values: Float[np.ndarray, " values"], shares: Float[np.ndarray, " scenarios"]) -> xr.Dataset:
        """Objective and limited measures of one point in their units, over the dimensions of the scenarios.

        Args:
            values: of the point.
            shares: weight of each scenario (no dimension).
        """
        members, size = self.scenarios.members, self.scenarios.size
        columns = {"objective": (self.each(values), self.units[0], "objective")}
        kind = "share of the scenario in the worst case (multiplier)" if self.worst else "weight of the scenario"
        columns["weight"] = (shares, "1", kind)
        for k in range(len(self.limits) // size):
            one = self.limits[k * size]
            rows = values[1 + k * size : 1 + (k + 1) * size]
            columns[f"limited_{k}"] = (rows, self.units[1 + k * size], Limit.__str__(one))
        data = {
            name: (members.dims, x.reshape(members.shape), {"units": unit or "1", "long_name": words})
            for name, (x, unit, words) in columns.items()
        }
        marks = {name: label for name, label in members.labels.items() if len(label[0]) == label[1].ndim}
        names = np.array(self.scenarios.names, dtype=object).reshape(members.shape)
        return xr.Dataset(data, marks).assign_coords(scenario=(members.dims, names))


class Robust(Combined):
    """Objective and limits over all scenarios, from their single runs (see `Evaluator`); in the units of measures.

    Values are those of `RobustGoal`: the mean or the worst objective, each limited measure scenario by scenario, and
    the objective of each scenario (NaN if it failed, and then for the whole too). The multiplier is the largest.
    """

    def __init__(self, runs: Runs, scenarios: Scenarios):
        super().__init__(runs, scenarios.size)
        self._scenarios = scenarios
        self.name = f"{runs.name}; {'worst' if scenarios.worst else 'mean'} of {scenarios.size} scenarios"

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `jaxgait.optimization.evaluate.Evaluator`."""
        found = self.each(searches, x)
        values = np.where(found.ran[..., None], found.values, np.nan)
        shares = self._shares(values[..., 0])
        return self.whole(
            _rows(values, np.einsum("bs,bs->b", shares, values[..., 0])),
            _rows(found.slopes, np.einsum("bs,bsn->bn", shares, found.slopes[:, :, 0])),
            found,
        )

    def _shares(self, objectives: np.ndarray) -> np.ndarray:
        """The share of each scenario: its weight, or one for the worst scenario."""
        if not self._scenarios.worst:
            return np.broadcast_to(self._scenarios.weights, objectives.shape)
        return np.eye(self.size)[np.argmin(self._scenarios.sign * objectives, axis=1)]

    def gait_of(self, memory: Any) -> np.ndarray | None:
        """The gaits of all scenarios, (scenarios, components), in the units of the components; None if any has none."""
        found = [self.runs.gait_of(one) for one in memory or ()]
        return np.stack([z for z in found if z is not None]) if found and all(z is not None for z in found) else None

    def begin_with(self, gait: np.ndarray) -> None:
        """See `jaxgait.optimization.evaluate.Evaluator`; a gait for each scenario."""
        self.runs.begin_with(gait)


def _rows(single: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The objective over all scenarios, the limited measures scenario by scenario, and the single objectives."""
    limited = np.swapaxes(single[:, :, 1:], 1, 2)
    limited = limited.reshape(len(single), -1, *single.shape[3:])
    return np.concatenate([whole[:, None], limited, single[:, :, 0]], axis=1)


def _weights(weights: Any, members: Members, worst: bool) -> np.ndarray:
    """Weights that sum to one, from one positive number per scenario; a worst case has none."""
    if weights is None:
        return np.full(members.size, 1.0 / members.size)
    if worst:
        raise ValueError("weights belong to robust='mean': a worst case has no weights")
    try:
        numbers = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.shape not in (members.shape, (members.size,)) or not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ValueError(f"weights must be {members.size} positive numbers, one per scenario, got {shown(weights)}")
    return numbers.ravel() / numbers.sum()


def _name_along(members: Members, dim: str, index: Sequence[int]) -> str:
    """The name of a scenario along one dimension: its label, otherwise its values, otherwise its number."""
    at = dict(zip(members.dims, index, strict=True))
    along = {name: x for name, (dims, x) in members.labels.items() if dims == (dim,) and x.ndim == 1}
    if dim in along:
        along = {dim: along[dim]}
    if not 0 < len(along) <= _NAMED:
        return f"{dim} {at[dim]}"
    return ", ".join(f"{name} = {_short(x[at[dim]])}" for name, x in along.items())


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
