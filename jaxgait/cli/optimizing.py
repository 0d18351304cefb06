"""The implementation of `jaxgait optimize`: a search by options and the model's defaults, its result as text and files.

A front and sensitivities follow the search, if requested; their arguments are checked before it.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxgait import registry
from jaxgait.cli import arguments as typed
from jaxgait.cli.console import DONE, note, write_json
from jaxgait.cli.following import following
from jaxgait.cli.options import Further
from jaxgait.cli.records import dataset_record, origin
from jaxgait.cli.running import mechanism
from jaxgait.ensembles import starting
from jaxgait.measure import known
from jaxgait.model import Model
from jaxgait.optimization.basins import ON_THE_WAY, described, on_the_way
from jaxgait.optimization.optimum import Local, Optimum
from jaxgait.parameters import parameter_info, parameters


class Search(NamedTuple):
    """What `jaxgait optimize` looks for."""

    model: Model
    arguments: dict[str, Any]
    """Of `jaxgait.optimize`."""
    show: tuple[str, ...] = ()
    """Outputs that a report draws before and after."""


def searched_model() -> str:
    """The name of the model that brings a search of its own.

    Raises:
        ValueError: if there is none, or more than one.
    """
    names = [name for name in registry.models() if getattr(registry.model_class(name), "search", None)]
    if len(names) != 1:
        hint = f"these bring a search of their own: {', '.join(names)}" if names else "none brings one of its own"
        raise ValueError(f"say which model to optimize; {hint}")
    return names[0]


def search(request: Any, box: Mapping[str, tuple[float, float]], options: Mapping[str, Any]) -> Search:
    """A search from what is given, and for the rest from what the model brings.

    Raises:
        ValueError: if it is not clear what to look for, or where.
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
    arguments = {**own, **({"over": dict(box)} if box else {}), **goals, **given}
    model = mechanism(request, ready)
    if not {"maximize", "minimize"} & set(arguments):
        raise ValueError(f"say what to optimize: --maximize or --minimize with one of {', '.join(known(model))}")
    if "over" not in arguments:
        raise ValueError(f"say what to vary: --over name=low:high with some of {', '.join(parameters(model))}")
    typed.apart(request.set, request.initial, [f"{name}=" for name in arguments["over"]])
    fixed = typed.components(request.initial)
    starting(model, fixed)
    return Search(model, {**arguments, "initial": fixed}, show)


def optimized(
    wanted: Search, effort: Mapping[str, Any], json: pathlib.Path | None, further: Further | None = None
) -> int:
    """A search and what follows it: what was found is shown, and written if there are a file and a folder for it.

    If something goes wrong after the search, what is there by then is written all the same.

    Raises:
        ValueError: if something that is to follow is not possible; nothing has run then.
    """
    from jaxgait.optimization import optimize

    further = Further() if further is None else further
    arguments = {**wanted.arguments, **effort}
    follows = following(wanted.model, arguments, further)
    if further.report is not None:
        typed.folder_to_write(further.report)
    note(f"searching {', '.join(arguments['over'])} of {type(wanted.model).__name__}")
    begin = time.perf_counter()
    found = optimize(wanted.model, **arguments)
    seconds, beside = time.perf_counter() - begin, dict[str, xr.Dataset]()
    print("\n".join(description(found)), flush=True)
    try:
        for name, one in follows.items():
            print(one.announced(found, seconds), flush=True)
            beside[name] = one.made(found)
            print("\n".join(one.lines(beside[name], found)), flush=True)
    finally:
        more = {name: dataset_record(data) for name, data in beside.items()}
        write_json(json, found.as_dict() | more | origin(found.model, arguments["over"]))
        if further.report is not None:
            from jaxgait.cli.reports.design import write

            print(f"wrote {write(further.report, wanted.model, arguments, found, wanted.show, beside)}")
    return DONE


def description(found: Optimum) -> Iterator[str]:
    """A result in lines for people."""
    units = {name: parameter_info(found.model, name).unit for name in found.best}
    best = ", ".join(f"{k}={v:.6g} {units[k]}" for k, v in found.best.items())
    yield f"best objective {found.objective:.6f} at {best}"
    if on_the_way(found.best, found.ends):
        yield f"  {ON_THE_WAY}"
    yield f"  by {found.method}; gradient: {found.gradient}"
    yield from (f"  limit {text}: {left:.4g} left" for text, left in found.limits.items())
    if found.scenarios is not None:
        yield from _scenarios(found.scenarios)
    if found.local is not None:
        yield from _local(found.local, units)
    if len(found.why_stopped) > 1:
        yield from (f"  {line}" for line in described(found.basins, units, found.why_stopped))
    for i, why in enumerate(found.why_stopped):
        yield f"  start {i}{_basin(found, i)}: {why}"


def _basin(found: Optimum, start: int) -> str:
    """Where a start ended, if there are several."""
    number = int(found.ends.basin[start])
    return f", basin {number}" if len(found.why_stopped) > 1 and number >= 0 else ""


def _scenarios(each: xr.Dataset) -> Iterator[str]:
    """Objective and what counts of it, scenario by scenario."""
    columns = (each.scenario, each.objective, each.weight)
    for name, value, weight in zip(*(column.values.ravel() for column in columns), strict=True):
        counts = "" if np.isnan(weight) else f", weight {weight:.3g}"
        yield f"  {name}: objective {value:.6f}{counts}"


def _local(local: Local, units: Mapping[str, str]) -> Iterator[str]:
    for name, gain in local.multipliers.items():
        yield f"  {name} holds it: {gain:.3g} of objective per unit"
    for name, (down, up) in local.room.items():
        yield f"  {name} alone may move by -{down:.3g} to +{up:.3g} {units[name]} for a loss of {local.loss:.2g}"
