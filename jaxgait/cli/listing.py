"""`jaxgait run MODEL --list`: everything that a model has, one item per line, with units; and results in short."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr

from jaxgait.cli import parsing
from jaxgait.cli.console import DONE, write_json
from jaxgait.cli.motion import takes_motion
from jaxgait.cli.options import SCHEME
from jaxgait.cli.records import events, model_record, run_record, scan_record
from jaxgait.definition import RESERVED_RESULTS
from jaxgait.measure import Measure, known
from jaxgait.model import Model
from jaxgait.outcome import COMPLETED_TEXT, FIRST_TERMINATION, Outcome, legend
from jaxgait.parameters import parameters
from jaxgait.parts import parts
from jaxgait.solve.schemes import schemes
from jaxgait.solve.solvers import SOLVERS
from jaxgait.solve.tracing import traced
from jaxgait.states import state_variables
from jaxgait.support.checks import count_of
from jaxgait.support.units import displayed, with_unit

NAME = 18
"""Minimum width of the column of names."""
MAX_HISTORIES = 12
"""Largest number of time histories to print."""
MAX_ROWS = 16
"""Largest size of a dimension to print as a table."""
MAX_ELEMENTS = 36
"""Largest number of elements of an array to print, as `--set` takes them."""

_UNDEFINED = "not defined, because the run does not contain what they measure; a longer run may"
"""Why a measure has no value although the run completed."""


def show(model: Model, json: pathlib.Path | None = None) -> int:
    """Prints the listing of a model, and writes it as JSON if requested."""
    print(listing(model))
    write_json(json, model_record(model))
    return DONE


def listing(model: Model) -> str:
    """Everything that a model has, as text."""
    taken = lambda kind: [field.name for field in dataclasses.fields(kind) if field.name in SCHEME]
    options, own = {kind.__name__: taken(kind) for kind in schemes(model)}, parameters(model)
    variables = _variables(model)  # first, because its errors name the place in the model
    sections = {
        "parameters (--set)": [f"{n:28} {_short(p.value):>24} {p.unit:10} {p.doc}" for n, p in own.items()],
        "parts and choices (--set)": _choices(model),
        "parameter sets (--preset)": list(model.presets),
        "initial state": _start(model),
        "states and outputs": variables,
        "measures": [f"{m.name:53} {m.unit:10} {m.long_name}{needs(m)}" for m in known(model).values()],
        "events that end a run": [
            x.removeprefix("ended early: ") for c, x in legend(model).items() if c >= FIRST_TERMINATION
        ],
        "events": events(model),
        "schemes (--scheme), the default first": [f"{name:28} {_flags(names)}" for name, names in options.items()],
        "solvers (--solver)": [", ".join(SOLVERS)] if any("solver" in names for names in options.values()) else [],
        "motion (--motion)": ["measured strides: see `jaxgait motion`"] if takes_motion(type(model)) else [],
    }
    return "\n\n".join("\n".join([f"{title}:", *rows]) for title, rows in sections.items() if rows)


def _choices(model: Model) -> list[str]:
    found = {n: (p.present, f"of {', '.join(p.options)};", p.doc) for n, p in parts(model).items()}
    found |= {n: (str(value), "", "") for n, value in parsing.choices(model).items() if n not in found}
    return [f"{n:28} {' '.join([f'{present:>24}', *filter(None, rest)])}" for n, (present, *rest) in found.items()]


def _flags(names: Iterable[str]) -> str:
    """Options of a scheme as they are given."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def _start(model: Model) -> list[str]:
    units = {name: variable.unit for name, variable in model.variables.items()}
    found = state_variables(model.initial_state())
    return [f"{'initial.' + n:28} {with_unit(f'{_short(x):>24}', units.get(n, ''))}" for n, x in found.items()]


def _variables(model: Model) -> list[str]:
    name, (arrays, rest) = type(model).__name__, eqx.partition(model, eqx.is_array)
    start = traced(f"{name}.initial_state", lambda m: eqx.combine(m, rest).initial_state(), arrays)
    outputs = traced(f"{name}.outputs", lambda m, t, y: eqx.combine(m, rest).outputs(t, y), arrays, 0.0, start)
    states = state_variables(start)
    kind = lambda name: " (state)" if name in states else "" if name in outputs else " (not by default)"
    return [f"{n:53} {variable.unit:10} {variable.long_name}{kind(n)}" for n, variable in model.variables.items()]


def _short(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array.item():.10g}" if array.dtype.kind == "f" else str(array)
    if array.ndim > 2 or array.size > MAX_ELEMENTS:
        return np.array2string(array, precision=4, max_line_width=10**6, threshold=MAX_ELEMENTS).replace("\n", "")
    return ";".join(",".join(f"{x:.4g}" for x in row) for row in np.atleast_2d(array))


def run_lines(run: xr.Dataset, left_out: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """A run in short: how it ended, its measures, or why one is left out, and the ranges of its first histories.

    Histories of angles are in degrees, as in pictures; those in files are in radians.
    """
    record, attrs = run_record(run.assign({n: displayed(x) for n, x in run.items() if "time" in x.dims})), run.attrs
    ended = f"{attrs['status_text']}, {attrs['t_end_s']:.6g} s" if "t_end_s" in attrs else "run"
    begins = float(run["time"][0]) if "time" in run.coords else 0.0
    part = f", without the first {begins:.6g} s," if begins > 0.0 else ""
    yield f"{attrs.get('model', 'result')}: {ended}{part} in {run.sizes['time'] - 1} samples"
    found = record["measures"]
    if found or left_out:
        yield "measures:"
    wide, amounts = _width([*found, *left_out]), {n: _amount(one["value"], one["unit"]) for n, one in found.items()}
    across = max(map(len, amounts.values()), default=0)
    for name, one in found.items():
        yield f"  {name:{wide}} {amounts[name]:{max(24, across)}} {one['long_name']}".rstrip()
    yield from (f"  {name:{wide}} {why}" for name, why in left_out.items())
    if any(one["value"] is None or np.isnan(one["value"]).all() for one in found.values()):
        completed = attrs.get("status") == Outcome.COMPLETED
        yield f"  -: {_UNDEFINED if completed else 'not defined, because the run did not complete'}"
    histories = record["variables"]
    wide = _width([*histories][:MAX_HISTORIES])
    if histories:
        yield f"{'histories:':{wide + 2}} {'lowest':>12} {'highest':>12} {'last':>12}"
    for name, one in itertools.islice(histories.items(), MAX_HISTORIES):
        numbers = " ".join(f"{_amount(one[key]):>12}" for key in ("lowest", "highest", "last"))
        yield f"  {name:{wide}} {numbers}{with_unit('', one['unit']):9} {one['long_name']}".rstrip()
    if len(histories) > MAX_HISTORIES:
        yield f"  and {len(histories) - MAX_HISTORIES} more: all in --json FILE, over time in --out FILE"


def scan_lines(scan: xr.Dataset) -> Iterator[str]:
    """The results of a scan in short: lowest, mean and highest value of each, which members have these, and gaps.

    Only completed members count, as on a map, unless only others have values.

    Results with few different whole numbers, such as orders of gaits, are also counted, and shown for extreme members.
    """
    record = scan_record(scan)
    found = {name: one for name, one in record["results"].items() if name not in RESERVED_RESULTS}
    found = {name: one for name, one in found.items() if not name.endswith("_end")} or found
    wide = _width(found)
    if found:
        yield f"{'results:':{wide + 2}} {'lowest':>12} {'mean':>12} {'highest':>12}"
    differing = {name for name, one in found.items() if len(one["counts"]) > 1}
    telling = _telling(scan)
    for name, one in found.items():
        numbers = " ".join(f"{_amount(one[key]):>12}" for key in ("lowest", "mean", "highest"))
        yield f"  {name:{wide}} {numbers}{with_unit('', one['unit']):9} {one['long_name']}".rstrip()
        if name in differing:
            yield f"    members: {', '.join(f'{value} ({count})' for value, count in one['counts'].items())}"
        if one["highest_at"] is not None and one["lowest"] < one["highest"]:
            where = (
                f"{which} at {_where(one[f'{which}_at'], telling)}{_with(one[f'{which}_with'], differing)}"
                for which in ("lowest", "highest")
            )
            yield f"    {'; '.join(where)}"
        if one["early"]:
            others = count_of(one["early"], "other has a value", "others have values")
            yield f"    of the members that completed; {others}, too"
        for what in ("undefined", "infinite"):
            if one[what]:
                yield f"    {what} for {one[what]} of {record['outcomes'][COMPLETED_TEXT]} completed members"
    if any(one["undefined"] for one in found.values()):
        yield "  undefined: these runs do not contain what is measured; longer ones may"


def dataset_lines(data: xr.Dataset) -> Iterator[str]:
    """A small result of another kind, such as a fit, in short: tables over short dimensions, and ranges of the rest."""
    yield str(data.attrs.get("model", "result"))
    tabled: set[str] = set()
    for dim in (str(dim) for dim, size in data.sizes.items() if size <= MAX_ROWS):
        names = [str(name) for name, x in data.variables.items() if x.dims == (dim,) and name != dim]
        rows = data[dim].values if dim in data.coords else range(data.sizes[dim])
        table = [[dim, *names], *zip(map(str, rows), *(map(_cell, data[name].values) for name in names), strict=True)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        yield from ("  ".join(f"{x:>{w}}" for x, w in zip(row, widths, strict=True)) for row in table if names)
        tabled |= {*names}
    others = {str(n): x for n, x in data.data_vars.items() if x.dtype.kind in "fiu" and n not in tabled}
    wide = _width(others)
    if others:
        yield f"{'ranges:':{wide + 2}} {'lowest':>12} {'highest':>12}"
    for name, x in others.items():
        numbers = " ".join(f"{_amount(end):>12}" for end in (x.min(), x.max()))
        about = x.attrs.get("long_name", "")
        yield f"  {name:{wide}} {numbers}{with_unit('', x.attrs.get('units', '1')):9} {about}".rstrip()


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _width(names: Iterable[str]) -> int:
    """The width of the column of some names."""
    return max([NAME, *map(len, names)])


def _with(others: Mapping[str, Any], differing: Collection[str]) -> str:
    """Other results of a member that differ between members, in parentheses."""
    listed = ", ".join(f"{name} {_amount(x)}" for name, x in others.items() if name in differing)
    return f" ({listed})" if listed else ""


def _telling(scan: xr.Dataset) -> set[str]:
    """The labels that identify members: those named like a dimension, on which the others along it depend."""
    along = {str(dim): {str(n) for n, x in scan.coords.items() if dim in x.dims} for dim in scan["status"].dims}
    return set().union(*({dim} if dim in names else names for dim, names in along.items()))


def _where(member: Mapping[str, Any], telling: Collection[str]) -> str:
    labels = {name: x for name, x in member.items() if name in telling}
    return ", ".join(f"{name}={x:.5g}" if x.dtype.kind == "f" else f"{name}={x}" for name, x in labels.items())


def _amount(value: Any, unit: str = "1") -> str:
    """A value in six digits with its unit; a dash for each that is missing."""
    numbers = [] if value is None else np.ravel(value).tolist()
    text = ", ".join("-" if np.isnan(x) else f"{x + 0.0:.6g}" for x in numbers) or "-"  # + 0.0: no -0
    return with_unit(text, unit) if np.isfinite(numbers).any() else text


def needs(measure: Measure) -> str:
    """What a measure needs of a run, in parentheses."""
    least = "1 stride" if measure.strides == 1 else f"{measure.strides} strides"
    strides = f"{least} or more" if measure.strides else ""
    samples = f"{measure.samples_per_stride} samples per stride" if measure.samples_per_stride else ""
    needs = ", ".join(need for need in (strides, samples) if need)
    return f" (needs {needs})" if needs else ""
