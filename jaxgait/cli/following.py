"""Follow-ups of `jaxgait optimize`: sensitivities at the optimum, and a Pareto front."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import xarray as xr

from jaxgait.cli import parsing
from jaxgait.cli.options import FRONT_POINTS, RUN, FollowUpOptions, given
from jaxgait.cli.records import length
from jaxgait.ensembles import ensemble, grid, summary
from jaxgait.ensembles.addresses import INITIAL
from jaxgait.ensembles.members import as_members, constant
from jaxgait.ensembles.realism import expecting, unrealistic
from jaxgait.measure import Measure, Measures, observer
from jaxgait.model import Model
from jaxgait.optimization.gait import PeriodicGait
from jaxgait.optimization.goals import Goal, Limit
from jaxgait.optimization.local_sensitivity import differentiable, sensitivities, without_change
from jaxgait.optimization.methods import GRADIENT_FREE
from jaxgait.optimization.optimum import Optimum
from jaxgait.optimization.pareto import front
from jaxgait.outcome import COMPLETED_TEXT, IncompleteRun
from jaxgait.run import Sampling
from jaxgait.support import checks
from jaxgait.support.notes import without_warnings
from jaxgait.support.units import with_unit

MAX_PRINTED = 8
"""Number of parameters whose sensitivities are printed; files and the report have all."""
EVOLVED: dict[str, Any] = {"population": 24, "generations": 12}
"""Settings of NSGA-II, which traces the front if the search had no gradient."""
BETTER_GAIN = 1e-4
"""Relative gain above which the end of a front counts as better than the search's optimum."""
MIN_STRIDES = 20
"""Least number of strides in which runs should settle into the gait of the best design."""
SAME_GAIT = 5e-3
"""Largest difference of the objective, relative to it, between a gait and runs that have settled into it; also the
largest violation of a limit there, relative to its value."""
_SENSES = ("maximize", "minimize")


def follow_ups(
    model: Model, arguments: Mapping[str, Any], further: FollowUpOptions
) -> dict[str, Sensitivities | Front]:
    """The requested follow-ups by name, checked before anything runs.

    Raises:
        ValueError: for an impossible request.
    """
    found: dict[str, Sensitivities | Front] = {}
    if further.sensitivities is not None:
        found["sensitivities"] = Sensitivities.of(model, arguments, further.sensitivities)
    if further.front:
        if further.report is None:
            raise ValueError("--front needs --report FOLDER, for its picture, its table and front.nc")
        found["front"] = Front.of(model, arguments, further.front, further.points)
    elif further.points is not None:
        raise ValueError("--points needs --front: it sets the number of points along the front")
    return found


@dataclass(frozen=True)
class Sensitivities:
    """The effect of 1 % of each parameter at the optimum."""

    arguments: Mapping[str, Any]
    by: tuple[str, ...] | None

    @classmethod
    def of(cls, model: Model, arguments: Mapping[str, Any], by: Sequence[str]) -> Sensitivities:
        """For the parameters `by`; for all if empty.

        Raises:
            ValueError: for an unknown parameter, and if there are none with derivatives.
        """
        chosen, rest = parsing.names(by) or None, (_varied(arguments), arguments.get("initial"))
        fixed = [name for name in chosen or () if name not in arguments["over"]]  # searched ones may be zero before
        if len(fixed) == len(chosen or ()):
            differentiable(model, chosen, *rest)
        else:
            without_change(model, fixed, *rest)
        return cls(arguments, chosen)

    def announcement(self, found: Optimum, seconds: float) -> str:
        """What it will do."""
        names = differentiable(found.model, self.by, _varied(self.arguments), found.initial)[0]
        return f"sensitivities at the optimum to {checks.count_of(len(names), 'parameter', 'parameters')}"

    def run(self, found: Optimum) -> xr.Dataset:
        """Uses the gradient and the gait of the search, or differences if it had none."""
        taken = given(self.arguments, (*RUN, *_SENSES, "subject_to", "across", "robust", "return_map"))
        gradient, gait = self.arguments.get("gradient", "auto"), None
        if found.method in GRADIENT_FREE and "return_map" not in taken:
            gradient = "differences"
        elif found.gait is not None:
            gradient, gait = "gait", found.gait
        return sensitivities(found.model, by=self.by, gradient=gradient, gait=gait, initial=found.initial, **taken)

    def lines(self, made: xr.Dataset, found: Optimum) -> Iterator[str]:
        """Lists the largest ones."""
        yield f"  {made.attrs['gradient']}; 1 % more of a parameter changes"
        first, lost = made.isel(parameter=slice(0, MAX_PRINTED)), made.attrs["lost"].split(", ")
        for name in first.parameter.values:
            one = first.change.sel(parameter=name)
            units = zip(one.measure.values, one.values, one.measure_unit.values, strict=True)
            changes = (f"{measure} by {with_unit(f'{x:+.3g}', unit)}" for measure, x, unit in units)
            mark = " (a slope, not a change: runs with 1 % more or less fail or are unstable)" if name in lost else ""
            yield f"  {name}: {', '.join(changes)}{mark}"
        if self.by is not None and made.attrs["left_out"]:
            yield f"  left out: {made.attrs['left_out']}"
        yield from (f"  {text}" for text in caveats(made))


def caveats(made: xr.Dataset) -> list[str]:
    """Sentences naming the parameters whose slopes do not predict the effect of a 1 % change."""
    lost, disagree = made.attrs["lost"], made.attrs["disagree"]
    found = [f"A run fails or its gait is not stable with 1 % more or less of: {lost}."] if lost else []
    more = f"Runs with 1 % more or less differ from the slope by over half of it for: {disagree}."
    return [*found, more] if disagree else found


@dataclass(frozen=True)
class Front:
    """The Pareto front of the objective and a second one."""

    model: Model
    arguments: Mapping[str, Any]
    sense: str
    measure: str
    points: int

    @classmethod
    def of(cls, model: Model, arguments: Mapping[str, Any], words: Sequence[str], points: int | None) -> Front:
        """Parses words such as ("minimize", "peak_flexion").

        Raises:
            ValueError: for other words, an unknown measure or the objective itself, scenarios, and too few points.
        """
        text = " ".join(words)
        sense, _, measure = text.partition(" ")
        if sense not in _SENSES or len(measure.split()) != 1:
            raise ValueError(f"--front expects maximize MEASURE or minimize MEASURE, got {text!r}")
        if measure == objective(arguments)[1]:
            raise ValueError(f"--front {text}: {measure} is the objective itself, name another measure")
        if arguments.get("across") is not None:
            raise ValueError(
                "--front takes one scenario: leave out --front, or --across, --each-stride, other --motion"
            )
        _check_measure(model, arguments, measure)
        count = FRONT_POINTS if points is None else checks.count("points", points, least=2)
        if arguments.get("method") in GRADIENT_FREE and importlib.util.find_spec("pymoo") is None:
            raise ValueError('a front without gradients needs pymoo: pip install "jaxgait[pareto]"')
        return cls(model, arguments, sense, measure, count)

    def announcement(self, found: Optimum, seconds: float) -> str:
        """What it will do; its duration is estimated from the time in s that the search took."""
        spent = int(found.ends.evaluations.sum())
        if found.method in GRADIENT_FREE:
            runs, how = EVOLVED["population"] * EVOLVED["generations"], "by NSGA-II"
        else:
            searches = 2 * (1 + len(found.ends.evaluations) + self.points)
            runs, how = searches * spent // len(found.ends.evaluations), f"{self.points} points"
        pace = "" if self.arguments.get("checkpoint") else f", {runs * seconds / spent:.0f} s at the pace of the search"
        return f"front with {self.measure}, {how}: about {runs} runs, more where some fail{pace}"

    def run(self, found: Optimum) -> xr.Dataset:
        """Starts from the optimum and from the starting points of the search."""
        goals: dict[str, list[Any]] = {n: [self.arguments[n]] for n in _SENSES if n in self.arguments}
        goals.setdefault(self.sense, []).append(self.measure)
        taken = given(self.arguments, (*RUN, "over", "subject_to", "initial", "return_map"))
        if found.gait is not None:
            taken["stability"] = self.arguments.get("stability", 1.0)
        if "return_map" in taken:
            taken["gait"] = found.gait
        if found.method in GRADIENT_FREE:
            return front(self.model, **goals, **taken, method="NSGA-II", **EVOLVED)
        own = given(self.arguments, ("gradient", "iterations"))
        return front(self.model, **goals, **taken, **own, starts=self._starts(found), points=self.points)

    def _starts(self, found: Optimum) -> list[dict[str, float]]:
        begun = (dict(zip(found.start, x, strict=True)) for x in zip(*found.start.values(), strict=True))
        points = [found.best, *begun]
        inside = lambda name, x: float(np.clip(x, *self.arguments["over"][name]))  # they are, except for rounding
        return [{name: inside(name, x) for name, x in point.items()} for point in points]

    def lines(self, made: xr.Dataset, found: Optimum) -> Iterator[str]:
        """Lists the points."""
        objectives, parameters = (made.attrs[name].split(", ") for name in ("objectives", "parameters"))
        text = lambda name, row: f"{name}={with_unit(f'{float(row[name]):.6g}', made[name].attrs['units'])}"
        yield f"  {made.sizes['point']} points from {made.sizes['evaluation']} runs, method {made.attrs['method']}"
        for i in range(made.sizes["point"]):
            row = made.isel(point=i)
            values, design = (", ".join(text(name, row) for name in names) for names in (objectives, parameters))
            yield f"  {values} at {design}"
        if text := improvement(made, self.arguments, found):
            yield f"  {text}"


class Reached(NamedTuple):
    """How runs of the best design end, and whether they are realistic."""

    sentence: str = ""
    """In words; empty if nothing needs to be said."""
    completed: bool = True
    """Whether all of them reached their end."""


def from_the_start(found: Optimum, arguments: Mapping[str, Any]) -> Reached:
    """How runs of the best design end, from where simulations start, and what is unrealistic about them.

    A periodic gait is found without a transient, so that a run need not reach it, even if it is stable: another gait
    may exist, with another objective (see `SAME_GAIT`). For a return map, this only reports whether runs reach their
    end, because their objective includes the transient. For a search that made such runs itself, it only reports what
    is unrealistic.
    """
    of_map = arguments.get("return_map") is not None
    of_gait = found.gradient.startswith(PeriodicGait.name) and not of_map
    run = given(arguments, [name for name in RUN if name != "duration" or not of_gait])
    goal = _goal(found, arguments) if of_gait else None
    if goal is not None:
        run["strides"] = max(MIN_STRIDES, run.get("strides", 0), goal.strides or 0)
    sampling = Sampling.of(found.model, *(run.get(name) for name in ("strides", "duration", "samples")))
    expected = expecting(found.model, sampling)
    observed = (*(_as_measures(goal) if goal is not None else ()), *(expected.members if expected is not None else ()))
    if not (observed or of_map):
        return Reached()
    across, start = arguments.get("across"), arguments.get("initial") or {}
    members = grid({name: [x] for name, x in found.best.items()}) if across is None else as_members(across)
    run["observe"] = Measures(observed)
    with without_warnings(IncompleteRun):  # the sentence already states it
        made = ensemble(found.model, constant(members, {INITIAL + n: x for n, x in start.items()}), **run)
    ended, remarks = summary(made), unrealistic(found.model, made)
    if goal is None and not of_map:
        return Reached("; ".join(remarks))
    completed = ended.keys() == {COMPLETED_TEXT}
    counts = COMPLETED_TEXT if completed else ", ".join(f"{count} {text}" for text, count in ended.items())
    parts = [f"runs of the best design from the start ({length(found.model, sampling)}): {counts}"]
    if not completed:
        parts.append("the gait is periodic, but runs do not reach it from there")
    if goal is not None and (others := list(_differing(found, goal, made))):
        parts.append(f"they have not settled into the gait that was found, or reach another: {', '.join(others)}")
    return Reached("; ".join([*parts, *remarks]), completed or of_map)


def _goal(found: Optimum, arguments: Mapping[str, Any]) -> Goal:
    """The objective and the limits of a search."""
    return Goal.of(found.model, arguments[objective(arguments)[0]], arguments.get("subject_to") or ())


def _as_measures(goal: Goal) -> tuple[Measure, ...]:
    """What a goal observes of a run, under its own names (`Goal.names`)."""
    named = zip(goal.names, goal.measures, strict=True)
    of = lambda name, one: replace(one, name=name) if isinstance(one, Measure) else Measure(name, one, "1", name)
    return tuple(of(name, one) for name, one in named)


def _differing(found: Optimum, goal: Goal, made: xr.Dataset) -> Iterator[str]:
    """Where completed runs of the best design have another objective than its gait, or violate limits."""
    each, unit = found.scenarios, found.unit
    names = [""] if each is None else [f" at {name}" for name in each.scenario.values.ravel()]
    wanted = np.ravel(found.objective if each is None else each.objective)
    for name, value, gait in zip(names, made["objective"].values.ravel(), wanted, strict=True):
        if abs(value - gait) > SAME_GAIT * abs(gait):  # not for NaN, of a run that did not complete
            yield f"objective {value:.4g} instead of {with_unit(f'{gait:.4g}', unit)}{name}"
    for k, one in enumerate(goal.limits):
        values = made[f"limited_{k}"].values.reshape(len(names), -1)
        slack = one.sign * (values - one.value)
        for i in np.flatnonzero((slack < -SAME_GAIT * _magnitude(found, one)).any(axis=1)):
            worst = with_unit(f"{values[i, np.nanargmin(slack[i])]:.4g}", made[f"limited_{k}"].attrs["units"])
            yield f"{one} is not met ({worst}{names[i]})"


def _magnitude(found: Optimum, one: Limit) -> float:
    """The value of a limit, or for zero the largest magnitude of its measure in the search; in the measure's unit."""
    tried = [x.values for x in found.history.values() if str(x.attrs.get("long_name")).startswith(f"limited: {one}")]
    return abs(one.value) or max((float(np.nanmax(np.abs(x), initial=0.0)) for x in tried), default=0.0) or 1.0


def _check_measure(model: Model, arguments: Mapping[str, Any], name: str) -> None:
    """Checks that the second objective is a scalar that the requested runs have."""
    (measure,) = cast(Measures, observer(model, name)).members
    if measure.dims:
        raise ValueError(f"--front: {name} is an array, a front needs measures that are single numbers")
    if measure.strides > 1:  # otherwise a periodic gait may suffice
        measure.check(Sampling.of(model, *(arguments.get(one) for one in ("strides", "duration", "samples"))))


def improvement(made: xr.Dataset, arguments: Mapping[str, Any], found: Optimum) -> str:
    """A sentence if the front reaches a better objective (in its unit) than the search did; otherwise empty."""
    sense, name = objective(arguments)
    best = float(made[name].values.max() if sense == "maximize" else made[name].values.min())
    gain = (best - found.objective) * (1.0 if sense == "maximize" else -1.0)
    if gain <= BETTER_GAIN * abs(found.objective):
        return ""
    return f"the front reaches {best:.6g}, but the search ended at {found.objective:.6g}: use more starts"


def objective(arguments: Mapping[str, Any]) -> tuple[str, str]:
    """The sense ("maximize" or "minimize") and the name of a search's objective."""
    sense = next(name for name in _SENSES if arguments.get(name) is not None)
    return sense, str(getattr(arguments[sense], "name", arguments[sense]))


def _varied(arguments: Mapping[str, Any]) -> list[str]:
    """The parameters that differ between the scenarios of a search."""
    across = arguments.get("across")
    return [] if across is None else [*across.values]
