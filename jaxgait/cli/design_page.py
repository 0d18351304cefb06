"""The report of a search for design parameters: pictures, and an HTML page that contains them all."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from jaxgait.cli.following import caveats, improvement
from jaxgait.cli.options import RUN, given
from jaxgait.cli.page import listed, page, paragraph, picture, starts_table, table
from jaxgait.cli.running import last_strides, possible_measures
from jaxgait.ensembles.addresses import INITIAL, member_of
from jaxgait.ensembles.members import as_members
from jaxgait.measure import known
from jaxgait.model import Model
from jaxgait.optimization.basins import describe_basins
from jaxgait.optimization.conclusions import conclusions
from jaxgait.optimization.evaluate import differences
from jaxgait.optimization.gait import PeriodicGait
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.gradients import Task, begun, evaluator_for
from jaxgait.optimization.neighbourhood import STEPS
from jaxgait.optimization.optimum import Local, Optimum
from jaxgait.optimization.scenarios import Scenarios
from jaxgait.optimization.space import Space, variable
from jaxgait.outcome import failures
from jaxgait.plot import designs, fronts, sensitivities
from jaxgait.plot.jumps import instants
from jaxgait.plot.scene import histories, scene
from jaxgait.plot.style import axis_label
from jaxgait.precision import float64_default
from jaxgait.solve.periodic import SectionMap
from jaxgait.solve.simulate import simulate
from jaxgait.states import state_variables
from jaxgait.support import files
from jaxgait.support.checks import first_few
from jaxgait.support.units import with_unit

CHECKED_STARTS = 4
"""Number of starts at which slopes are checked against finite differences."""
NAMED = 8
"""Largest number of omitted histories that are named."""
STRIDES_DRAWN = 2
"""Number of strides up to the (perhaps early) end of a run that are drawn before and after the search."""


def search_parts(
    folder: pathlib.Path, model: Model, arguments: Mapping[str, Any], found: Optimum, shown: Sequence[str] = ()
) -> list[str]:
    """Draws a search into a folder (PNG and PDF); returns the parts of the page with these pictures.

    `model` is the one before the search; by default, the curves of its scene are shown before and after.
    """
    drawn = [
        ("paths", designs.paths(found), _PATHS),
        ("convergence", designs.convergence(found), _CONVERGENCE),
    ]
    if found.local is not None:
        unknown = f" There are none: {found.local.ridge_unknown}." if found.local.ridge_unknown else ""
        drawn.append(("room", designs.room(found), _ROOM + unknown))
        drawn.append(("slopes", *_slopes(model, arguments, found)))
    worst = _worst_scenario(found)
    whose = _whose(model, found, worst)
    change, others, measures = _before_after(model, arguments, found, shown, worst, whose)
    starts = " It starts in its own initial state before, and in the gait after." if arguments.get("return_map") else ""
    drawn.append(("before_after", change, f"The model before and after{whose and f': {whose}'}.{starts}{others}"))
    folder.mkdir(parents=True, exist_ok=True)
    return [*(picture(figure, folder / name, caption) for name, figure, caption in drawn), measures]


def follow_up_parts(
    folder: pathlib.Path, name: str, data: xr.Dataset, arguments: Mapping[str, Any], found: Optimum
) -> list[str]:
    """Writes what a follow-up found into a folder (NAME.nc, PNG, PDF); returns its parts of the page."""
    files.netcdf(folder / f"{name}.nc", data)
    title, figure, caption, rows = _FOLLOW_UPS[name](data, arguments, found)
    return [f"<h2>{title}</h2>", picture(figure, folder / name, caption), rows]


def write(
    folder: pathlib.Path,
    model: Model,
    arguments: Mapping[str, Any],
    found: Optimum,
    parts: Sequence[str],
    reached: str = "",
) -> pathlib.Path:
    """Writes `report.html`, with the parts that the functions above made, and returns its path.

    `reached` is a sentence on runs of the best design (see `from_the_start`).
    """
    path = folder / "report.html"
    files.text(path, _page(model, arguments, found, parts, reached))
    return path


_BASINS = (
    "Starts that ended within 1 % of the bounds of each other found the same optimum; optimum 0 is the best valid one."
)
_PATHS = (
    "Every evaluation, coloured by its objective. Blue circles: starts that ran. Small stars: their ends. Red star: "
    "the best. Crosses: failed runs, also of starts. Red rings: gaits that are not stable, and designs outside the "
    "limits."
)

_ROOM = (
    "Tolerances of the parameters. The ends of the bars were evaluated; under them is what stops a fall and a rise. "
    "The lines are estimates by second derivatives."
)
_CONVERGENCE = "Distance of the best valid design of each start so far from the best of all. Stars: ends of the starts."


def _slopes(model: Model, arguments: Mapping[str, Any], found: Optimum) -> tuple[Figure, str]:
    """Slopes at the first starts and at the best design, compared with differences of whole runs, or of gaits."""
    space = Space(model, arguments["over"], starting=True)
    goal = Goal.of(model, arguments.get("maximize", arguments.get("minimize")))
    first = found.history.isel(start=slice(0, CHECKED_STARTS), iteration=0)
    chosen = [first, *_at_best(found)]
    of_all = lambda name: np.concatenate([np.atleast_1d(one[name].values) for one in chosen])
    points = space.unit({name: of_all(name) for name in space.names})
    across, robust, weights = (arguments.get(name) for name in ("across", "robust", "weights"))
    scenarios = Scenarios.of(model, across, robust, weights, found.sign, [])
    fixed, stride = space.fixed(model, arguments.get("initial")), arguments.get("return_map")
    task = Task(model, space, goal, given(arguments, RUN), fixed, scenarios, stride)
    if stride is None:
        runs, what = evaluator_for(task, "differences", points), "whole runs"
        by_differences = runs(np.arange(len(points)), points)
    else:
        gaits, what = begun(evaluator_for(task, "gait", points), task, "gait", found.gait), "gaits"
        of_gaits = lambda searches, x: ((found := gaits(searches, x)).values, found.status)
        by_differences = differences(of_gaits, np.arange(len(points)), points)
    checked = by_differences.slopes[:, 0]
    exact = np.stack([of_all(f"objective_gradient[{name}]") for name in space.names], axis=1)
    exact = exact * space.spacing.slopes(points)
    starts, star = slice(first.sizes["start"]), " and at the best design (star)" if len(chosen) > 1 else ""
    caption = (
        f"Slopes at the first starts{star}, over the width of the bounds, compared with central "
        f"differences of {what}; at the starts, {_largest_difference(exact[starts], checked[starts])}. "
        f"{_next_to_the_best(found)}."
    )
    if found.gradient.startswith(PeriodicGait.name) and stride is None:
        caption += " They may differ where walks do not settle into the gait within the run."
    ran = ~failures(first["status"].values) & np.isfinite(first["objective"].values) & by_differences.ran[starts]
    figure = designs.slopes(space.names, exact, checked, found.unit, last_is_best=bool(star))
    return figure, caption + _without_slopes(ran, (exact + checked)[starts])


def _at_best(found: Optimum) -> list[xr.Dataset]:
    """The evaluation of the best design, if the history has it."""
    history, best = found.history, found.best
    same = np.all([np.isclose(history[name], x, rtol=1e-12, atol=0.0) for name, x in best.items()], axis=0)
    return [history.isel(start=i, iteration=k) for i, k in np.argwhere(same)[:1]]


def _next_to_the_best(found: Optimum) -> str:
    """How far slopes are from differences of values around the best design."""
    local = cast(Local, found.local)
    return (
        f"Next to the best design, where slopes are small, they differ from differences of values, over {STEPS[1]:.1%} "
        f"or {STEPS[0]:.0%} of the bounds, by up to {local.difference:.1%} of the slopes there"
    )


def _without_slopes(ran: np.ndarray, slopes: np.ndarray) -> str:
    """How many starts have no finite slopes, (starts, n), and why: their runs failed, or did not."""
    lost, of = ~np.isfinite(slopes).all(axis=1), f"of {len(ran)} starts"
    failed, undefined = int((lost & ~ran).sum()), int((lost & ran).sum())
    text = f" {failed} {of} have no slopes: their runs failed." if failed else ""
    why = "although their runs did not fail: a derivative is undefined there, or a run next to them failed"
    return text + (f" {undefined} {of} have no finite slopes, {why}." if undefined else "")


def _largest_difference(exact: np.ndarray, checked: np.ndarray) -> str:
    """The largest difference between two slopes at some points, (points, n), relative to the steeper one."""
    size = np.abs([exact, checked]).max(axis=(0, 2))
    apart = np.abs(exact - checked).max(axis=1) / np.where(size > 0.0, size, 1.0)
    return f"largest difference: {np.nanmax(apart):.1%} of the slope" if np.isfinite(apart).any() else "no valid runs"


def _worst_scenario(found: Optimum) -> int | None:
    return None if found.scenarios is None else int(np.argmin(found.sign * found.scenarios.objective.values.ravel()))


def _whose(model: Model, found: Optimum, scenario: int | None) -> str:
    """The scenario that is drawn, such as a person, or the walk that drives the model; empty if there is neither."""
    if found.scenarios is not None and scenario is not None:
        names = found.scenarios.scenario.values.ravel()
        return f"{names[scenario]}, the worst of {names.size} scenarios at the best point"
    walk = getattr(getattr(model, "drive", None), "name", "")
    return f"walk {walk}" if walk else ""


@float64_default
def _with(model: Model, values: Mapping[str, Any]) -> tuple[Model, Any]:
    return member_of(model, {name: jnp.asarray(value) for name, value in values.items()})


def _before_after(
    model: Model,
    arguments: Mapping[str, Any],
    found: Optimum,
    shown: Sequence[str],
    scenario: int | None,
    whose: str,
) -> tuple[Figure, str, str]:
    """The last strides of runs before and after the search, what is not drawn of them, and a table of measures."""
    sampling = {name: arguments.get(name) for name in ("strides", "duration", "samples")}
    observe, _ = possible_measures(model, sampling, trajectories=True)
    stride = arguments.get("return_map")
    across = {} if scenario is None else as_members(arguments["across"]).values
    own, runs, drawn = {name: column[scenario] for name, column in across.items()}, [], []
    for before_or_after, initial in ((model, arguments.get("initial") or {}), (found.model, found.initial)):
        values = {INITIAL + name: value for name, value in initial.items()} | own
        one, start = _with(before_or_after, values)
        if stride is not None and before_or_after is found.model:
            start = _in_gait(stride, one, found, scenario)
        elif not values:
            start = None
        run = simulate(one, initial_state=start, observe=observe, progress=False, **given(arguments, RUN))
        runs.append(last_strides(run, one, STRIDES_DRAWN))
        chosen = runs[-1][list(shown)] if shown else _drawn(runs[-1], one, found.measure)
        drawn.append(chosen.assign_coords(event_time=("event", instants(runs[-1]))))
    seen = {} if observe is None else observe.variables
    rows = [
        [name, *(_number(run[name]) for run in runs), one.unit, one.long_name]
        for name, one in seen.items()
        if runs[0][name].ndim == 0
    ]
    measures = table(["measure", "before", "after", "unit", "meaning"], rows) if rows else ""
    names = [*shown] or _distinct(drawn)
    return (
        designs.before_and_after(drawn[0], drawn[1], names, whose),
        _others(runs[0], drawn[0]),
        measures,
    )


@float64_default
def _in_gait(stride: SectionMap, model: Model, found: Optimum, scenario: int | None) -> Any:
    """The state at which the gait of the best design begins, in a scenario."""
    assert found.gait is not None
    return stride.start(model, found.gait if scenario is None else found.gait[scenario])


def _drawn(run: xr.Dataset, model: Model, measure: str) -> xr.Dataset:
    """What is drawn of a run: first the histories that the objective measures, if it names them.

    Then the curves of the model's scene, if it has some, or else its first two scalar states.
    """
    watched = known(model)[measure].watch if measure in known(model) else ()
    first = run[[n for n in watched if n in run and run[n].dims == ("time",)]]
    curves = histories(scene(run, model)) if model.scene else xr.Dataset()
    if not len(curves):
        curves = run[[n for n in state_variables(model.initial_state()) if run[n].ndim == 1][:2]]
    return first.assign(curves.data_vars)


def _distinct(drawn: Sequence[xr.Dataset]) -> list[str]:
    """The names of the histories, except those that equal an earlier one in every run."""
    names = list(map(str, drawn[0]))
    is_earlier = lambda i: any(all(_same(run[names[i]], run[m]) for run in drawn) for m in names[:i])
    return [name for i, name in enumerate(names) if not is_earlier(i)]


def _same(x: xr.DataArray, one: xr.DataArray) -> bool:
    """Whether two histories are the same, perhaps under different names."""
    return x.attrs.get("units") == one.attrs.get("units") and np.array_equal(x, one, equal_nan=True)


def _others(run: xr.Dataset, drawn: xr.Dataset) -> str:
    """The histories of a run that a picture leaves out, as a sentence."""
    left = [str(n) for n, x in run.items() if x.dims == ("time",) and not any(_same(x, one) for one in drawn.values())]
    return f" Not drawn: {first_few(left, NAMED)} (--show NAME draws others)." if left else ""


def _number(x: Any) -> str:
    return f"{float(x):.6g}" if np.isfinite(x) else "–"


def _page(model: Model, arguments: Mapping[str, Any], found: Optimum, figures: Sequence[str], reached: str) -> str:
    under = f", subject to {', '.join(found.limits)}" if found.limits else ""
    title = f"{type(model).__name__}: {found.sense} {found.measure}{under}"
    paragraphs = [f"Objective {found.objective:.8g}. Method: {found.method}. Gradient: {found.gradient}."]
    lines = [*([reached] if reached else []), *conclusions(found)]
    parts = [*map(paragraph, paragraphs), listed(f"{line}." for line in lines)]
    parts += [_parameters(model, found), _limits(found), _scenarios(found), *figures, _starts(found)]
    return page(title, parts)


def _parameters(model: Model, found: Optimum) -> str:
    rows = []
    for name, best in found.best.items():
        before, (low, high) = float(variable(model, name).value), found.bounds[name]
        row = [name, f"{before:.6g}", f"{best:.6g}", found.units[name], f"{low:g} to {high:g}"]
        if found.local is not None:
            down, up = found.local.room[name]
            row += [f"{0.0 - down:+.3g} to {up:+.3g}", " / ".join(found.local.stops[name])]
        rows.append(row)
    head = ["parameter", "before", "best", "unit", "bounds"]
    if found.local is not None:
        head += [with_unit(f"room for a loss of {found.local.loss:.2g}", found.unit), "what stops it below / above"]
    return table(head, rows)


def _limits(found: Optimum) -> str:
    if not found.limits:
        return ""
    return table(["limit", "slack"], [[text, f"{left:.6g}"] for text, left in found.limits.items()])


def _scenarios(found: Optimum) -> str:
    if found.scenarios is None:
        return ""
    columns = [column for name, column in found.scenarios.data_vars.items() if name != "weight"]
    texts = [[f"{x:.7g}" for x in column.values.ravel()] for column in columns]
    counts = [f"{x:.3g}" if np.isfinite(x) else "not known" for x in found.scenarios.weight.values.ravel()]
    head = ["scenario", *(column.attrs["long_name"] for column in columns), found.scenarios.weight.attrs["long_name"]]
    rows = [list(row) for row in zip(found.scenarios.scenario.values.ravel(), *texts, counts, strict=True)]
    return "<h2>Scenarios</h2>" + table(head, rows)


def _sensitivities(data: xr.Dataset, arguments: Mapping[str, Any], found: Optimum) -> tuple[str, Figure, str, str]:
    """Title, picture with its caption, and table of the sensitivities."""
    caption = f"Effect of 1 % more of each parameter, from its slope. Gradient: {data.attrs['gradient']}."
    caption += (
        " It predicts a change only as far as the measure is linear, and is hatched where runs do not confirm it."
    )
    caption = " ".join([caption, *caveats(data)])
    if data.attrs["left_out"]:
        caption += f" Left out: {data.attrs['left_out']}."
    still = [str(name) for name in data.parameter.values if not data.change.sel(parameter=name).any()]
    if still:
        caption += f" Without influence: {', '.join(still)}."
    head = list(map(axis_label, data.measure.values.tolist(), data.measure_unit.values.tolist()))
    rows = []
    for name in data.parameter.values:
        if name not in still:
            one = data.sel(parameter=name)
            row = [str(name), f"{float(one.value):.6g}", str(one.parameter_unit.values)]
            rows.append([*row, *(f"{x:+.3g}" for x in one.change.values), variable(found.model, str(name)).doc])
    figure = sensitivities.tornado(data, searched=list(found.best))
    return "Sensitivities", figure, caption, table(["parameter", "value", "unit", *head, "meaning"], rows)


def _front(data: xr.Dataset, arguments: Mapping[str, Any], found: Optimum) -> tuple[str, Figure, str, str]:
    """Title, picture with its caption, and table of a front."""
    names = [name for key in ("objectives", "parameters") for name in data.attrs[key].split(", ")]
    caption = (
        f"The best compromises: none is better than another in both objectives. {data.sizes['point']} points from "
    )
    caption += f"{data.sizes['evaluation']} runs. Method: {data.attrs['method']}. Gradient: {data.attrs['gradient']}."
    more = improvement(data, arguments, found)
    caption += f" Note that {more}." if more else ""
    if "exchange_rate" in data:
        names += ["exchange_rate"]
        caption += f" Exchange rate: {data.exchange_rate.attrs['long_name']}; a dash where undefined."
    rows = [[_number(x) for x in row] for row in zip(*(data[name].values for name in names), strict=True)]
    return (
        "Trade-off",
        fronts.trade_offs(data),
        caption,
        table([axis_label(name, data[name].attrs["units"]) for name in names], rows),
    )


_FOLLOW_UPS = {"sensitivities": _sensitivities, "front": _front}


def _starts(found: Optimum) -> str:
    basins = listed(describe_basins(found.basins, found.units, found.why_stopped))
    reached = ["none" if basin < 0 else str(basin) for basin in found.ends.basin.values.tolist()]
    columns: dict[str, Any] = {"optimum": reached, **{n: found.ends[n].values for n in found.best}}
    columns["objective"] = [f"{x:.7g}" for x in found.ends.objective.values]
    return starts_table(paragraph(_BASINS) + basins, columns, found.ends.evaluations.values, found.why_stopped)
