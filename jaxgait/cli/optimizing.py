"""`jaxgait optimize`: runs a search, with sensitivities and a front if requested, prints and writes the results."""

from __future__ import annotations

import contextlib
import pathlib
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import xarray as xr

from jaxgait import registry
from jaxgait.cli import parsing
from jaxgait.cli.console import DONE, NOT_ALL, STDOUT, note, write_json
from jaxgait.cli.following import Reached, follow_ups, from_the_start
from jaxgait.cli.options import SCHEME, FollowUpOptions, given
from jaxgait.cli.records import dataset_record, how_run, origin
from jaxgait.cli.running import check_not_of_motion, fixed_start, varying, walkers
from jaxgait.kinds import HybridModel
from jaxgait.measure import known
from jaxgait.model import Model
from jaxgait.optimization.basins import describe_basins
from jaxgait.optimization.conclusions import conclusions, tolerances
from jaxgait.optimization.optimum import Optimum
from jaxgait.parameters import parameters
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.periodic import PoincareMap, SectionMap, StroboscopicMap
from jaxgait.solve.schemes import scheme_for
from jaxgait.support import checks
from jaxgait.support.units import with_unit

PERIOD = "period"
"""For `--return-map`: the gait repeats with the period of the model's drive."""


class Request(NamedTuple):
    """A search to run."""

    model: Model
    arguments: dict[str, Any]
    """Arguments of `jaxgait.optimize`."""
    show: tuple[str, ...] = ()
    """Outputs that a report draws before and after."""
    runs: str = ""
    """How its runs are made, in words."""


def searched_model() -> str:
    """The name of the model that defines its own search.

    Raises:
        ValueError: if none does, or several do.
    """
    names = [name for name in registry.models() if getattr(registry.model_class(name), "search", None)]
    if len(names) != 1:
        hint = f"these define their own search: {', '.join(names)}" if names else "none defines its own search"
        raise ValueError(f"name the model to optimize; {hint}")
    return names[0]


def search(request: Any, options: Mapping[str, Any]) -> Request:
    """The search for given options, completed by the model's own defaults.

    Raises:
        ValueError: without an objective or bounds, and for impossible options.
    """
    own = dict(getattr(registry.model_class(request.model), "search", {}))
    ready, show, given = own.pop("set", {}), own.pop("show", ()), {n: x for n, x in options.items() if x is not None}
    goals = {n: getattr(request, n) for n in ("maximize", "minimize") if getattr(request, n) is not None}
    if len(goals) == 2:
        raise ValueError("give --maximize or --minimize, not both")
    if goals:
        own = {n: x for n, x in own.items() if n not in ("maximize", "minimize")}
    if "duration" in given:
        own.pop("strides", None)
    model, walking = walkers(request, ready)
    arguments = {**own, **({"over": parsing.box(model, request.over)} if request.over else {}), **goals, **given}
    if not {"maximize", "minimize"} & set(arguments):
        raise ValueError(f"no objective: give --maximize or --minimize with one of {', '.join(known(model))}")
    if "over" not in arguments:
        raise ValueError(f"nothing varies: give --over name=low:high with some of {', '.join(parameters(model))}")
    fixed = fixed_start(request, model, arguments["over"])
    parsing.check_not_fixed(request.set, request.initial, request.across, "--across")
    across = parsing.axes(model, request.across, "--across")
    check_not_of_motion(walking, arguments["over"])
    check_not_of_motion(walking, across, "--across")
    scenarios = varying(walking, across)
    if request.robust is not None and scenarios is None:
        raise ValueError("--robust needs scenarios: give --across NAME=a,b,c or several --motion")
    stride = None if request.return_map is None else return_map(model, request.return_map, options)
    arguments |= {"initial": fixed, "across": scenarios, "return_map": stride}
    held = [name for name in ready if name not in {*arguments["over"], *across}]
    return Request(model, arguments, show, how_run(model, arguments, held))


def return_map(model: Model, event: str, options: Mapping[str, Any]) -> SectionMap:
    """The map whose fixed point is a gait, integrated as the runs are.

    Args:
        model: the mechanism.
        event: the transition at which the gait repeats, such as "heel strike", or "period".
        options: of the command, among them those of the scheme.

    Raises:
        ValueError: for an event that the model does not have, and for a scheme without exact derivatives.
    """
    if event == PERIOD and model.period is not None:
        return StroboscopicMap(scheme_for(model, precision="float64", **given(options, SCHEME)))
    transitions = model.transitions() if isinstance(model, HybridModel) else {}
    events = [name for name, one in transitions.items() if not one.ends]
    if event not in events:
        known = [*events, *([] if model.period is None else [PERIOD])]
        hint = checks.nearest(event, known) if known else "its motion has neither events nor a period"
        raise ValueError(f"--return-map: {type(model).__name__} has no event {event!r} to repeat from: {hint}")
    scheme = scheme_for(model, precision="float64", **given(options, SCHEME))
    return PoincareMap(cast(EventDriven, scheme), section=event)


def run_search(wanted: Request, effort: Mapping[str, Any], json: pathlib.Path | None, further: FollowUpOptions) -> int:
    """Runs a search and its follow-ups, prints the results and writes the requested files.

    The results of the search are written before the follow-ups, and again with what each of these adds. The exit code
    is 1 if a run of the best design does not reach its end.

    Raises:
        ValueError: for an impossible follow-up, before anything runs.
    """
    from jaxgait.optimization import optimize

    arguments = {**wanted.arguments, **effort}
    wanted = wanted._replace(show=_shown(wanted, further))
    follows = follow_ups(wanted.model, arguments, further)
    if further.report is not None:
        parsing.make_folder(further.report)
    note(f"searching {', '.join(arguments['over'])} of {type(wanted.model).__name__}")
    print(wanted.runs, flush=True)
    begin = time.perf_counter()
    found = optimize(wanted.model, **arguments)
    seconds = time.perf_counter() - begin
    results, reached = _Results(wanted, arguments, found, json, further.report), Reached()
    try:
        results.write_numbers()  # what follows may take long, or more memory than there is
        try:
            reached = from_the_start(found, arguments)
        finally:
            print("\n".join(description(found, reached.sentence)), flush=True)
        results.begin(reached.sentence)
        for name, one in follows.items():
            print(one.announcement(found, seconds), flush=True)
            made = one.run(found)
            print("\n".join(one.lines(made, found)), flush=True)
            results.add(name, made)
    except BaseException:
        with contextlib.suppress(Exception):  # which would hide the error that ends the command
            results.print_json()
        raise
    results.print_json()
    return DONE if reached.completed else NOT_ALL


def _shown(wanted: Request, further: FollowUpOptions) -> tuple[str, ...]:
    """The outputs that a report draws before and after; none: those of the scene.

    Raises:
        ValueError: for names that are no outputs, and without a report.
    """
    chosen, known = parsing.names(further.show), wanted.model.variables
    if chosen and further.report is None:
        raise ValueError("--show is about the pictures of a report: give --report FOLDER, or leave --show out")
    for name in (name for name in chosen if name not in known):
        raise ValueError(f"--show: {type(wanted.model).__name__} has no output {name!r}: {checks.nearest(name, known)}")
    return chosen or wanted.show


class _Results:
    """What a search and its follow-ups have found so far, in the requested files; every picture is drawn once."""

    def __init__(
        self,
        wanted: Request,
        arguments: Mapping[str, Any],
        found: Optimum,
        json: pathlib.Path | None,
        report: pathlib.Path | None,
    ) -> None:
        self._wanted, self._arguments, self._found = wanted, arguments, found
        self._json, self._report = json, report
        self._made: dict[str, xr.Dataset] = {}
        self._parts: list[str] = []
        self._reached = ""

    def write_numbers(self) -> None:
        """Writes the numbers that the search found, which must not be lost."""
        self._write_json(quiet=True)

    def begin(self, reached: str) -> None:
        """Writes what the search found, with how runs of the best design end (see `from_the_start`)."""
        self._reached = reached
        self._write_json()
        if self._report is not None:
            from jaxgait.cli import page
            from jaxgait.cli.design_page import search_parts

            wanted = self._wanted
            self._parts += [page.paragraph(f"How it was computed: {wanted.runs}.")]
            self._parts += search_parts(self._report, wanted.model, self._arguments, self._found, wanted.show)
            self._write_page()

    def add(self, name: str, made: xr.Dataset) -> None:
        """Adds what a follow-up found."""
        self._made[name] = made
        self._write_json()
        if self._report is not None:
            from jaxgait.cli.design_page import follow_up_parts

            self._parts += follow_up_parts(self._report, name, made, self._arguments, self._found)
            self._write_page()

    def print_json(self) -> None:
        """Prints the record if it is for the standard output, which can only be done once."""
        if self._json == STDOUT:
            write_json(STDOUT, self._record())

    def _record(self) -> dict[str, Any]:
        across = self._arguments.get("across")
        differing = {} if across is None else {name: x.tolist() for name, x in across.values.items()}
        made = {name: dataset_record(data) for name, data in self._made.items()}
        further = made | {"from_the_start": self._reached or None, "runs": self._wanted.runs}
        return self._found.as_dict() | further | origin(self._found.model, self._arguments["over"], differing)

    def _write_json(self, *, quiet: bool = False) -> None:
        if self._json != STDOUT:
            write_json(self._json, self._record(), quiet=quiet)

    def _write_page(self) -> None:
        if self._report is not None:
            from jaxgait.cli.design_page import write

            model, reached = self._wanted.model, self._reached
            path = write(self._report, model, self._arguments, self._found, self._parts, reached)
            print(f"wrote {path}")


def description(found: Optimum, reached: str = "") -> Iterator[str]:
    """The lines that the console shows of an optimum; `reached` says how its runs end (see `from_the_start`)."""
    units = found.units
    best = ", ".join(f"{k}={with_unit(f'{v:.6g}', units[k])}" for k, v in found.best.items())
    yield f"best objective {with_unit(f'{found.objective:.7g}', found.unit)} at {best}"
    if reached:
        yield f"  {reached}"
    yield from (f"  {line}" for line in conclusions(found))
    yield f"  by {found.method}; gradient: {found.gradient}"
    yield from (f"  limit {text}: slack {left:.4g}" for text, left in found.limits.items())
    if found.scenarios is not None:
        yield from _scenarios(found.scenarios, found.unit)
    yield from (f"  {line}" for line in tolerances(found))
    if len(found.why_stopped) > 1:
        yield from (f"  {line}" for line in describe_basins(found.basins, units, found.why_stopped))
    for i, why in enumerate(found.why_stopped):
        yield f"  start {i}{_basin(found, i)}: {why}"


def _basin(found: Optimum, start: int) -> str:
    """The optimum at which a start ended, if there are several starts."""
    number = int(found.ends.basin[start])
    return f", optimum {number}" if len(found.why_stopped) > 1 and number >= 0 else ""


def _scenarios(each: xr.Dataset, unit: str) -> Iterator[str]:
    columns = (each.scenario, each.objective, each.weight)
    for name, value, weight in zip(*(column.values.ravel() for column in columns), strict=True):
        counts = "" if np.isnan(weight) else f", weight {weight:.3g}"
        yield f"  {name}: objective {with_unit(f'{value:.7g}', unit)}{counts}"
