"""The results of commands for `--json`: names, units and numbers, without the time histories."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from jaxgait.cli.options import SCHEME, given
from jaxgait.cli.parsing import choices
from jaxgait.definition import RESERVED_RESULTS
from jaxgait.ensembles import summary
from jaxgait.ensembles.gaps import undefined
from jaxgait.ensembles.labels import decoded
from jaxgait.ensembles.spacing import logarithmic
from jaxgait.measure import known, with_gaps
from jaxgait.model import Model
from jaxgait.outcome import FIRST_TERMINATION, Outcome, sentence
from jaxgait.parameters import parameter_info, parameters
from jaxgait.parts import parts
from jaxgait.run import Sampling
from jaxgait.solve.dataset import made_by, scheme_options
from jaxgait.solve.schemes import scheme_for, schemes
from jaxgait.solve.solvers import SOLVERS
from jaxgait.states import state_variables
from jaxgait.support import checks
from jaxgait.support.units import with_unit

MOST_COUNTED = 9
"""Results with up to this many different whole numbers are counted, too: a mean of orders of gaits says little."""


def run_record(data: xr.Dataset) -> dict[str, Any]:
    """A result of `jaxgait.simulate`.

    Returns:
        `attributes` (including `status` and `status_text`), `variables` by name with unit, long name, and first, last,
        lowest and highest value, `measures` by name with unit, long name and value, and `events` with name and time in
        s.
    """
    histories = dict(_histories(data))
    return {
        "attributes": decoded(data.attrs),
        "variables": {name: {**_labels(x), **_ends(x), **_range(x)} for name, x in histories.items()},
        "measures": {name: {**_labels(x), "value": _exact(x)} for name, x in measures_of(data).items()},
        "events": list(_events(data)),
    }


def _histories(run: xr.Dataset) -> Iterator[tuple[str, xr.DataArray]]:
    """The time histories of a run by name, those of an array's components as "name[label]"."""
    for name, x in run.data_vars.items():
        if x.dims == ("time",):
            yield str(name), x
        elif x.ndim == 2 and x.dims[0] == "time" and x.dtype.kind in "fiu":
            for i, label in enumerate(x[x.dims[1]].values):
                yield f"{name}[{label}]", x.isel({x.dims[1]: i}, drop=True)


def measures_of(run: xr.Dataset) -> dict[str, xr.DataArray]:
    """What was observed of a run besides its time histories and events, by name."""
    return {str(name): x for name, x in run.data_vars.items() if not {"time", "event"} & {*x.dims}}


def scan_record(data: xr.Dataset) -> dict[str, Any]:
    """A result of `jaxgait.ensemble`.

    Returns:
        `attributes`, `members` (how many), `outcomes` (sentence to count), `axes` by name with unit and values, and the
        scalar `results` by name with unit, long name, mean, lowest and highest value, the members of the latter,
        `counts` (how often each value occurs, of a few whole numbers without a unit; otherwise empty), `lowest_with`
        and `highest_with` (what of such results these members have), and what these numbers leave out: `undefined` and
        `infinite`, the numbers of completed members without a value (0 for integers and for results that every run has)
        and with an infinite one, and `early`, that of members that ended early with a value (0 if no completed one has
        any).
    """
    dims = data["status"].dims
    axes = {str(n): x for n, x in data.coords.items() if set(x.dims) <= set(dims)}
    single = {str(n): x for n, x in data.data_vars.items() if x.dims == dims and x.dtype.kind in "fiu"}
    completed = data["status"] == Outcome.COMPLETED
    early = {name: _early(x, completed) for name, x in single.items()}
    single |= {name: _of_completed(single[name], completed) for name, count in early.items() if count}
    counts = {name: _counts(x) for name, x in single.items()}
    counted = {n: single[n] for n, different in counts.items() if different and n not in RESERVED_RESULTS}
    found = {n: {**_labels(x), **_range(x), "counts": counts[n], **_extremes(x, counted)} for n, x in single.items()}
    infinite = {n: int((np.isinf(x) & completed).sum()) for n, x in single.items()}
    gaps = undefined(data, [name for name in single if name not in RESERVED_RESULTS])  # of numbers that are now loaded
    return {
        "attributes": decoded(data.attrs),
        "members": data["status"].size,
        "outcomes": summary(data),
        "axes": {name: {**_labels(x), "values": x.values} for name, x in axes.items()},
        "results": {
            n: {**one, "undefined": gaps.get(n, 0), "infinite": infinite[n], "early": early[n]}
            for n, one in found.items()
        },
    }


def _early(x: xr.DataArray, completed: xr.DataArray) -> int:
    """How many members ended early with a value; 0 if no completed one has a value, which a scan would compare."""
    known = np.isfinite(with_gaps(x))
    mixed = x.name not in RESERVED_RESULTS and bool((known & completed.values).any())
    return int((known & ~completed.values).sum()) if mixed else 0


def _of_completed(x: xr.DataArray, completed: xr.DataArray) -> xr.DataArray:
    """The values of completed members, and none of the others."""
    return x.where(completed, -1) if x.dtype.kind == "i" else x.where(completed)


def dataset_record(data: xr.Dataset) -> dict[str, Any]:
    """A small labelled result in full.

    Returns:
        `attributes`, and `variables` by name (including coordinates) with unit, long name, dimensions and values.
    """
    columns = {str(name): x for name, x in data.variables.items()}
    return {
        "attributes": decoded(data.attrs),
        "variables": {name: {**_labels(x), "dims": list(x.dims), "values": x.values} for name, x in columns.items()},
    }


def model_record(model: Model) -> dict[str, Any]:
    """What `jaxgait run MODEL --list` prints, by name.

    Returns:
        `model`, `parameters`, `parts` (with the current value and, of choices with names, the `options`), `presets`,
        `initial_state`, `variables` (states and outputs), `measures`, `endings` (what may end a run early, with the
        status and its meaning), `events`, `schemes` with their options, and `solvers`.
    """
    found, outputs = parameters(model), model.variables
    start = state_variables(model.initial_state())
    options = {kind.__name__: [field.name for field in dataclasses.fields(kind)] for kind in schemes(model)}
    endings = {name: FIRST_TERMINATION + i for i, name in enumerate(model.terminations())}
    return {
        "model": type(model).__name__,
        "parameters": {n: {"value": p.value, "unit": p.unit, "doc": p.doc} for n, p in found.items()},
        "parts": dict(_parts(model)),
        "presets": list(model.presets),
        "initial_state": {n: {"value": x, "unit": outputs[n].unit if n in outputs else ""} for n, x in start.items()},
        "variables": {n: {"unit": v.unit, "long_name": v.long_name} for n, v in outputs.items()},
        "measures": {n: {"unit": m.unit, "long_name": m.long_name} for n, m in known(model).items()},
        "endings": {n: {"status": code, "meaning": sentence(model, code)} for n, code in endings.items()},
        "events": events(model),
        "schemes": options,
        "solvers": list(SOLVERS) if any("solver" in own for own in options.values()) else [],
    }


def events(model: Model) -> list[str]:
    """The names of the events that its runs record, by whatever scheme."""
    listed = lambda method: getattr(model, method, tuple)()
    return list(dict.fromkeys([*listed("transitions"), *listed("events"), *listed("event_names")]))


def _parts(model: Model) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts and choices that `--set` takes."""
    exchangeable = parts(model)
    for name, part in exchangeable.items():
        yield name, {"value": part.present, "options": list(part.options), "doc": part.doc}
    for name, value in choices(model).items():
        if name not in exchangeable:
            yield name, {"value": value, "options": [], "doc": ""}


def origin(
    model: Model, over: Mapping[str, tuple[float, float]], differing: Mapping[str, list[Any]] | None = None
) -> dict[str, Any]:
    """The provenance of the result of a search or a fit, with the parameters that differ between its runs.

    Returns:
        `model`, all `parameters` with their units (lists of values if they differ between scenarios or curves), the
        `bounds`, the names of `logarithmic` ones if there are some, and `made_by` (versions, device, time, command).
    """
    lists, spread = differing or {}, logarithmic(over)
    found = {n: {"value": lists.get(n, p.value), "unit": p.unit} for n, p in parameters(model).items()}
    made = made_by() | {"command": shlex.join(["jaxgait", *sys.argv[1:]])}
    bounds = {"bounds": dict(over), **({"logarithmic": spread} if spread else {})}
    return {"model": type(model).__name__, "parameters": found, **bounds, "made_by": made}


def _labels(data: xr.DataArray | xr.Variable) -> dict[str, str]:
    return {"unit": data.attrs.get("units", ""), "long_name": data.attrs.get("long_name", "")}


def _ends(data: xr.DataArray) -> dict[str, Any]:
    """First and last value; after an early end, values are NaN."""
    valid = data.values[np.isfinite(data.values)] if data.dtype.kind == "f" else data.values
    return {"first": valid[0], "last": valid[-1]} if valid.size else {"first": None, "last": None}


def _exact(data: xr.DataArray) -> np.ndarray:
    """The values; integers remain integers unless one stands for a missing value."""
    values = with_gaps(data)
    return data.values if data.dtype.kind == "i" and np.isfinite(values).all() else values


def _range(data: xr.DataArray) -> dict[str, Any]:
    values = np.ma.masked_invalid(with_gaps(data))
    if not values.count():
        return {"lowest": None, "highest": None}
    kind = data.dtype if data.dtype.kind == "i" else values.dtype
    return {"lowest": values.min().astype(kind), "highest": values.max().astype(kind)}


def _extremes(data: xr.DataArray, counted: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """The mean, and the members with the lowest and the highest value, with other results of theirs."""
    values = np.ma.masked_invalid(with_gaps(data))
    found: dict[str, Any] = {"mean": values.mean() if values.count() else None}
    for which, index in (("lowest", values.argmin()), ("highest", values.argmax())):
        others = {name: with_gaps(x).flat[index] for name, x in counted.items() if name != data.name}
        found[f"{which}_at"] = _member(data, index) if values.count() else None
        found[f"{which}_with"] = others if values.count() else {}
    return found


def _counts(data: xr.DataArray) -> dict[str, int]:
    """How often each value occurs, of up to `MOST_COUNTED` different whole numbers without a unit; otherwise empty."""
    values = with_gaps(data)
    numbers, often = np.unique(values[np.isfinite(values)], return_counts=True)
    if data.attrs.get("units") != "1" or (numbers % 1).any() or numbers.size > MOST_COUNTED:
        return {}
    return {f"{number + 0.0:.0f}": int(count) for number, count in zip(numbers, often, strict=True)}  # + 0.0: no -0


def _member(data: xr.DataArray, index: Any) -> Mapping[str, Any]:
    """The labels of a member, given its number."""
    member = dict(zip(data.dims, np.unravel_index(index, data.shape), strict=True))
    coordinates = data.isel(member).coords.items()
    return {str(name): x.values for name, x in coordinates if not x.dims}


def _events(data: xr.Dataset) -> Iterator[dict[str, Any]]:
    if "event_time" in data:
        for name, time in zip(data["event_name"].values, data["event_time"].values, strict=True):
            yield {"name": str(name), "time": time}


def how_run(model: Model, arguments: Mapping[str, Any], ready: Iterable[str] = ()) -> str:
    """How runs of a search or a fit are made: length, scheme, tolerances or step, and the parameters set for it."""
    sampling = Sampling.of(model, *(arguments.get(name) for name in ("strides", "duration", "samples")))
    chosen = scheme_options(
        scheme_for(model, precision=arguments.get("precision") or "float64", **given(arguments, SCHEME))
    )
    options = [f"{name} {chosen[name]}" for name in ("solver", "rtol", "atol") if name in chosen]
    options += [f"dt {chosen['dt_s']:g} s"] if "dt_s" in chosen and "rtol" not in chosen else []
    values = {name: parameter_info(model, name) for name in ready}
    own = [f"{name} = {with_unit(f'{float(one.value):g}', one.unit)}" for name, one in values.items()]
    return ", ".join([f"runs of {length(model, sampling)} by {chosen['scheme']}", *options, *own])


def length(model: Model, sampling: Sampling) -> str:
    """The length of a run, in words."""
    if sampling.strides is not None:
        return checks.count_of(sampling.strides, "stride", "strides")
    return f"{sampling.intervals * float(sampling.spacing(model)):g} s"
