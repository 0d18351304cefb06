"""`jaxgait run MODEL --list`: everything that a model has, one item per line, with units."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
import xarray as xr

from jaxgait.cli import parsing
from jaxgait.cli.console import DONE, write_json
from jaxgait.cli.motion import takes_motion
from jaxgait.cli.records import measures_of, model_record
from jaxgait.measure import Measure, known
from jaxgait.model import Model
from jaxgait.outcome import FIRST_TERMINATION, Outcome, legend
from jaxgait.parameters import parameters
from jaxgait.parts import parts
from jaxgait.run import state_variables
from jaxgait.solve.schemes import schemes
from jaxgait.solve.solvers import SOLVERS


def show(model: Model, json: pathlib.Path | None = None) -> int:
    """Prints the listing of a model, and writes it as JSON if requested."""
    print(listing(model))
    write_json(json, model_record(model))
    return DONE


def listing(model: Model) -> str:
    """Everything that a model has, as text."""
    sections = {
        "": _parameters(model),
        "parts and choices (--set)": _choices(model),
        "parameter sets (--preset)": list(model.presets),
        "initial state": _start(model),
        "states and outputs": _variables(model),
        "measures": [f"{m.name:53} {m.unit:10} {m.long_name}{needs(m)}" for m in known(model).values()],
        "events that end a run": [
            x.removeprefix("ended early: ") for c, x in legend(model).items() if c >= FIRST_TERMINATION
        ],
        "events": list(getattr(model, "transitions", dict)()),
        "schemes (--scheme), the default first": _schemes(model),
        "solvers (--solver)": _solvers(model),
        "motion (--motion)": ["measured strides: see `jaxgait motion`"] if takes_motion(type(model)) else [],
    }
    return "\n".join("\n".join(_section(*section)) for section in sections.items() if section[1])


def _section(title: str, rows: list[str]) -> list[str]:
    return ["", f"{title}:", *rows] if title else rows


def _parameters(model: Model) -> list[str]:
    return [f"{n:28} {_short(p.value):>24} {p.unit:10} {p.doc}" for n, p in parameters(model).items()]


def _choices(model: Model) -> list[str]:
    found = {n: (p.present, f"of {', '.join(p.options)}", p.doc) for n, p in parts(model).items()}
    found |= {n: (str(value), "", "") for n, value in parsing.choices(model).items() if n not in found}
    return [f"{n:28} {' '.join([f'{present:>24}', *filter(None, rest)])}" for n, (present, *rest) in found.items()]


def _start(model: Model) -> list[str]:
    units = {name: variable.unit for name, variable in model.variables.items()}
    found = state_variables(model.initial_state())
    return [f"{'initial.' + name:28} {_short(x):>24} {units.get(name, '')}".rstrip() for name, x in found.items()]


def _schemes(model: Model) -> list[str]:
    return [f"{s.__name__:28} {', '.join(field.name for field in dataclasses.fields(s))}" for s in schemes(model)]


def _solvers(model: Model) -> list[str]:
    taken = any("solver" in (field.name for field in dataclasses.fields(s)) for s in schemes(model))
    return [", ".join(SOLVERS)] if taken else []


def _variables(model: Model) -> list[str]:
    states = state_variables(jax.eval_shape(model.initial_state))
    return [
        f"{name:53} {variable.unit:10} {variable.long_name}{' (state)' if name in states else ''}"
        for name, variable in model.variables.items()
    ]


def _short(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array.item():.10g}" if array.dtype.kind == "f" else str(array)
    return np.array2string(array, precision=4, max_line_width=10**6)


def measured(run: xr.Dataset, left_out: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """Lines with the measures of a run, if it has any: value, unit and meaning, or why one is left out."""
    found = measures_of(run)
    if found or left_out:
        yield "measures:"
    for name, x in found.items():
        values, unit = ", ".join(f"{value:.6g}" for value in x.values.ravel()), x.attrs.get("units", "1")
        value = values if unit == "1" else f"{values} {unit}"
        yield f"  {name:18} {value:24} {x.attrs.get('long_name', '')}".rstrip()
    yield from (f"  {name:18} {why}" for name, why in left_out.items())
    if found and run.attrs["status"] != Outcome.COMPLETED:
        yield "  nan: not defined, because the run did not complete"


def needs(measure: Measure) -> str:
    """What a measure needs of a run, in parentheses."""
    least = "1 stride" if measure.strides == 1 else f"{measure.strides} strides"
    strides = f"{least} or more" if measure.strides else ""
    samples = f"{measure.samples_per_stride} samples per stride" if measure.samples_per_stride else ""
    needs = ", ".join(need for need in (strides, samples) if need)
    return f" (needs {needs})" if needs else ""
