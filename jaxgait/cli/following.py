"""Further results after a search on the command line: sensitivities at the optimum, and a front."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import xarray as xr

from jaxgait import checks
from jaxgait.cli.options import POINTS, Further
from jaxgait.measure import Measures, observer
from jaxgait.model import Model
from jaxgait.optimization.methods import GRADIENT_FREE
from jaxgait.optimization.optimum import Optimum
from jaxgait.optimization.pareto import front
from jaxgait.optimization.sensitivity import differentiable, sensitivities
from jaxgait.run import Sampling

__all__ = ["Follows", "Front", "Sensitivities", "caveats", "following", "objective", "surpassed"]

SHOWN = 8
"""Parameters whose sensitivities are printed; files and the report have all."""
EVOLVED: dict[str, Any] = {"population": 24, "generations": 12}
"""Of NSGA-II, which traces the front where the search had no gradient."""
BETTER = 1e-4
"""From which gain, relative to the objective, the end of a front is said to be better than the search's optimum."""
_RUN = ("strides", "duration", "samples", "scheme", "solver", "rtol", "atol", "max_step", "max_steps", "dt")
_RUN += ("max_events", "precision")
_SENSES = ("maximize", "minimize")


@runtime_checkable
class Follows(Protocol):
    """Something that follows a search."""

    def announced(self, found: Optimum, seconds: float) -> str:
        """What will be done, with the time in s that the search took to tell how long."""
        ...

    def made(self, found: Optimum) -> xr.Dataset:
        """The work itself."""
        ...

    def lines(self, made: xr.Dataset, found: Optimum) -> Iterator[str]:
        """Its result in lines for people."""
        ...


def following(model: Model, arguments: Mapping[str, Any], further: Further) -> dict[str, Follows]:
    """What is to follow a search, by name, checked before anything runs.

    Args:
        model: before the search.
        arguments: of `jaxgait.optimize`.
        further: what was asked for.

    Raises:
        ValueError: if it is not possible, saying why.
    """
    found: dict[str, Follows] = {}
    if further.sensitivities is not None:
        found["sensitivities"] = Sensitivities.of(model, arguments, further.sensitivities)
    if further.front:
        if further.report is None:
            raise ValueError("--front needs --report FOLDER: its picture, its table and front.nc go there")
        found["front"] = Front.of(model, arguments, further.front, further.points)
    elif further.points is not None:
        raise ValueError("--points are those of a front: give --front, or leave them out")
    return found


@dataclass(frozen=True)
class Sensitivities:
    """What 1 % of each parameter changes at the optimum."""

    arguments: Mapping[str, Any]
    by: tuple[str, ...] | None

    @classmethod
    def of(cls, model: Model, arguments: Mapping[str, Any], by: Sequence[str]) -> Sensitivities:
        """Of the parameters `by`, or of all if it is empty.

        Raises:
            ValueError: for a parameter of which there are none.
        """
        chosen = tuple(name for text in by for name in text.split(",") if name) or None
        differentiable(model, chosen, list(arguments.get("across") or {}))
        return cls(arguments, chosen)

    def announced(self, found: Optimum, seconds: float) -> str:
        """How many parameters."""
        names = differentiable(found.model, self.by, list(self.arguments.get("across") or {}))[0]
        return f"sensitivities at the optimum to {len(names)} parameters"

    def made(self, found: Optimum) -> xr.Dataset:
        """By the gradient of the search, or by differences if it had none."""
        taken = (*_RUN, *_SENSES, "subject_to", "across", "robust", "initial")
        given = {name: self.arguments[name] for name in taken if self.arguments.get(name) is not None}
        gradient = "differences" if found.method in GRADIENT_FREE else self.arguments.get("gradient", "auto")
        return sensitivities(found.model, by=self.by, gradient=gradient, **given)

    def lines(self, made: xr.Dataset, found: Optimum) -> Iterator[str]:
        """The largest ones."""
        yield f"  {made.attrs['gradient']}; 1 % more of a parameter changes"
        first = made.isel(parameter=slice(0, SHOWN))
        for name in first.parameter.values:
            one = first.change.sel(parameter=name)
            units = zip(one.measure.values, one.values, one.measure_unit.values, strict=True)
            changes = (f"{measure} by {x:+.3g}{'' if unit == '1' else f' {unit}'}" for measure, x, unit in units)
            yield f"  {name}: {', '.join(changes)}"
        yield from (f"  {text}" for text in caveats(made))


def caveats(made: xr.Dataset) -> list[str]:
    """Sentences on where the slopes of sensitivities do not tell what a change by 1 % does."""
    lost, disagree = made.attrs["lost"], made.attrs["disagree"]
    found = [f"1 % more or less of these, and a run fails or its gait is not stable: {lost}."] if lost else []
    return found + ([f"Runs 1 % away differ from the slope by more than half of it: {disagree}."] if disagree else [])


@dataclass(frozen=True)
class Front:
    """The front of the objective with a second one."""

    model: Model
    arguments: Mapping[str, Any]
    sense: str
    measure: str
    points: int

    @classmethod
    def of(cls, model: Model, arguments: Mapping[str, Any], words: Sequence[str], points: int | None) -> Front:
        """From words such as ("minimize", "peak_flexion").

        Raises:
            ValueError: for other words, an unknown measure or the objective itself, scenarios, and too few points.
        """
        said = " ".join(words).split()
        if len(said) != 2 or said[0] not in _SENSES:
            raise ValueError(f"--front wants maximize MEASURE or minimize MEASURE, got {' '.join(words)!r}")
        own = objective(arguments)[1]
        if said[1] == own:
            raise ValueError(f"--front {' '.join(said)}: {own} is the objective itself, name another measure")
        if arguments.get("across") is not None:
            raise ValueError("--front is of one scenario: leave out --across, or the front")
        _check_measure(model, arguments, said[1])
        count = POINTS if points is None else checks.count("points", points, least=2)
        if arguments.get("method") in GRADIENT_FREE and importlib.util.find_spec("pymoo") is None:
            raise ValueError('a front without gradients needs pymoo: pip install "jaxgait[pareto]"')
        return cls(model, arguments, said[0], said[1], count)

    def announced(self, found: Optimum, seconds: float) -> str:
        """How many runs, and how long they would take at the pace of the search."""
        spent = int(found.ends.evaluations.sum())
        if found.method in GRADIENT_FREE:
            runs, how = EVOLVED["population"] * EVOLVED["generations"], "by NSGA-II"
        else:
            searches = 2 * (1 + len(found.ends.evaluations) + self.points)
            runs, how = searches * spent // len(found.ends.evaluations), f"{self.points} points"
        pace = "" if self.arguments.get("checkpoint") else f", {runs * seconds / spent:.0f} s at the pace of the search"
        return f"front with {self.measure}, {how}: about {runs} runs, more where some fail{pace}"

    def made(self, found: Optimum) -> xr.Dataset:
        """From the optimum and the points where the search began."""
        goals: dict[str, list[Any]] = {n: [self.arguments[n]] for n in _SENSES if n in self.arguments}
        goals.setdefault(self.sense, []).append(self.measure)
        taken = (*_RUN, "over", "subject_to", "initial")
        given = {name: self.arguments[name] for name in taken if self.arguments.get(name) is not None}
        if found.method in GRADIENT_FREE:
            return front(self.model, **goals, **given, method="NSGA-II", **EVOLVED)
        own = {name: self.arguments[name] for name in ("gradient", "iterations") if name in self.arguments}
        return front(self.model, **goals, **given, **own, starts=self._starts(found), points=self.points)

    def _starts(self, found: Optimum) -> list[dict[str, float]]:
        """The optimum, and where the search began."""
        points = [
            found.best,
            *(dict(zip(found.start, x, strict=True)) for x in zip(*found.start.values(), strict=True)),
        ]
        inside = lambda name, x: float(np.clip(x, *self.arguments["over"][name]))  # but for rounding they are
        return [{name: inside(name, x) for name, x in point.items()} for point in points]

    def lines(self, made: xr.Dataset, found: Optimum) -> Iterator[str]:
        """One line a point."""
        objectives, parameters = (made.attrs[name].split(", ") for name in ("objectives", "parameters"))
        text = lambda name, row: f"{name}={float(row[name]):.6g} {made[name].attrs['units']}".removesuffix(" 1")
        yield f"  {made.sizes['point']} points from {made.sizes['evaluation']} runs, method {made.attrs['method']}"
        for i in range(made.sizes["point"]):
            row = made.isel(point=i)
            values, design = (", ".join(text(name, row) for name in names) for names in (objectives, parameters))
            yield f"  {values} at {design}"
        if surpassed(made, self.arguments, found):
            yield f"  {surpassed(made, self.arguments, found)}"


def _check_measure(model: Model, arguments: Mapping[str, Any], name: str) -> None:
    """Whether a second objective is one number of the runs that are asked for."""
    (measure,) = cast(Measures, observer(model, name)).members
    if measure.dims:
        raise ValueError(f"--front: {name} is an array, and a front is of measures of one number")
    if measure.strides > 1:  # otherwise a periodic gait may do
        measure.check(Sampling.of(model, *(arguments.get(one) for one in ("strides", "duration", "samples"))))


def surpassed(made: xr.Dataset, arguments: Mapping[str, Any], found: Optimum) -> str:
    """What is to be said if a front reaches a better objective than the search before it; empty if it does not.

    Args:
        made: the front.
        arguments: of the search.
        found: its result, in the unit of the objective.
    """
    sense, name = objective(arguments)
    best = float(made[name].values.max() if sense == "maximize" else made[name].values.min())
    gain = (best - found.objective) * (1.0 if sense == "maximize" else -1.0)
    if gain <= BETTER * abs(found.objective):
        return ""
    return f"the front reaches {best:.6g} where the search ended at {found.objective:.6g}: take more starts"


def objective(arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Whether the objective of a search was maximized or minimized, and its name."""
    sense = next(name for name in _SENSES if arguments.get(name) is not None)
    return sense, str(getattr(arguments[sense], "name", arguments[sense]))
