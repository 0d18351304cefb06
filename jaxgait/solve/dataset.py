"""Labelled results: xarray Datasets with units, long names and provenance."""

from __future__ import annotations

import dataclasses
import datetime
import json
import platform
from collections.abc import Mapping
from typing import Any

import diffrax
import equinox as eqx
import jax
import numpy as np

from jaxgait import registry
from jaxgait.contents import contents, is_default
from jaxgait.kinds import several_phases
from jaxgait.model import Model, Variable
from jaxgait.outcome import legend
from jaxgait.parameters import parameters
from jaxgait.run import Events, Sampling, Trajectory
from jaxgait.scheme import Scheme
from jaxgait.solve.guards import phases
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.names import PHASE
from jaxgait.states import state_variables
from jaxgait.support import machine, xr
from jaxgait.support.commits import commit

SESSION_CLASS = "session_class"
"""Attribute of a result of a class that no import finds (`jaxgait.registry.session_mark`)."""
_IN_SECONDS = ("first_step", "max_step", "dt")
"""Options in seconds, whose attributes end in `_s`."""
_ROUNDING = ("pivoting", "unrolled", "scan_kind")
"""Options of solvers that change nothing but rounding, or which derivatives exist."""


def labelled(variables: Mapping[str, Variable], name: str, values: Any, dims: tuple[str, ...]) -> xr.DataArray:
    """A variable with its unit and long name; see `extra_dims` for dimensions beyond `dims`."""
    array = np.asarray(values)
    extra = extra_dims(variables, name, array.ndim - len(dims))
    known = variables.get(name)
    return xr.DataArray(array, dims=dims + extra, attrs={} if known is None else known.attrs)


def extra_dims(variables: Mapping[str, Variable], name: str, count: int) -> tuple[str, ...]:
    """Names of the dimensions of an array variable beyond time: those it declares, otherwise numbered ones.

    Raises:
        ValueError: if it declares another number of them.
    """
    known = variables.get(name)
    if known is not None and known.dims:
        if len(known.dims) != count:
            declared = ", ".join(map(repr, known.dims))
            raise ValueError(f"{name!r} declares the dimensions {declared}, but its values have {count}")
        return known.dims
    return tuple(f"{name}_{i}" for i in range(count))


def model_coordinates(model: Model, sizes: Mapping[Any, int]) -> dict[str, np.ndarray]:
    """The model's labels of the dimensions of a result, each a vector of that dimension's size."""
    found = {dim: np.asarray(labels) for dim, labels in model.labels.items()}
    return {dim: labels for dim, labels in found.items() if sizes.get(dim) == len(labels)}


def trajectory_dataset(
    model: Model, trajectory: Trajectory, outputs: dict[str, Any], scheme: Scheme, precision: str, sampling: Sampling
) -> xr.Dataset:
    """The Dataset of one trajectory, with the dimensions `time` and, if there are events, `event`.

    If the motion has several phases, `phase` is the one of each sample, and -1 after its end.
    The outputs are in the order in which the model declares them, which compiled programs do not keep.
    """
    described = model.variables
    declared = {name: outputs[name] for name in described if name in outputs}
    variables = {**state_variables(trajectory.ys), **declared, **outputs}
    found = xr.Dataset({name: labelled(described, name, values, ("time",)) for name, values in variables.items()})
    time = xr.DataArray(np.asarray(trajectory.ts), dims="time", attrs={"units": "s", "long_name": "time"})
    found = found.assign(_events(model, trajectory.events))
    if with_phase(model, scheme):
        found[PHASE] = xr.DataArray(phases(model, trajectory), dims="time", attrs=phase_attributes(model))
    coords = {"time": time, **model_coordinates(model, found.sizes)}
    return found.assign_coords(coords).assign_attrs(provenance(model, scheme, precision, sampling))


def names_of_run(model: Any, trajectory: Trajectory, outputs: Mapping[str, Any], scheme: Scheme) -> set[str]:
    """Names that `trajectory_dataset` may give to variables; the values may be traced."""
    variables, recorded = {*state_variables(trajectory.ys), *outputs}, set[str]()
    names = {"time", *variables}
    if (events := trajectory.events) is not None:
        recorded = {*state_variables(events.before), *events.totals}
        names |= {"event_time", "event_name", *(f"{name}_{side}" for name in recorded for side in ("before", "after"))}
    described, labels = model.variables, model.labels
    names |= {dim for n in variables | recorded if n in described for dim in described[n].dims if dim in labels}
    return names | ({PHASE} if with_phase(model, scheme) else set())


def with_phase(model: Any, scheme: Scheme) -> bool:
    """Whether results have the phase of each sample, which only event-driven runs have."""
    return isinstance(scheme, EventDriven) and several_phases(model)


def phase_attributes(model: Any) -> dict[str, str]:
    """Attributes of the variable `PHASE` of results, with a legend if the phases' methods differ in their names."""
    names = [getattr(field, "__name__", "") for field in model.phases()]
    named = len({*names}) == len(names) and all(name.isidentifier() for name in names)
    return Variable("1", "phase").attrs | ({"legend": json.dumps(dict(enumerate(names)))} if named else {})


def _events(model: Model, events: Events | None) -> dict[str, xr.DataArray]:
    if events is None:
        return {}
    described, happened = model.variables, np.flatnonzero(np.asarray(events.kind) >= 0)
    names = np.array(events.names, dtype=object)[np.asarray(events.kind)[happened]]
    found = {
        "event_time": xr.DataArray(
            np.asarray(events.t)[happened], dims="event", attrs={"units": "s", "long_name": "time of the event"}
        ),
        "event_name": xr.DataArray(names.astype(str), dims="event", attrs={"long_name": "what happened"}),
    }
    sums = {name: before + events.amounts[name] for name, before in events.totals.items()}
    for side, states, totals in (("before", events.before, events.totals), ("after", events.after, sums)):
        for name, values in {**state_variables(states), **totals}.items():
            one = labelled(described, name, np.asarray(values)[happened], ("event",))
            long_name = one.attrs.get("long_name", name)
            found[f"{name}_{side}"] = one.assign_attrs(long_name=f"{long_name}, just {side} the event")
    return found


def provenance(model: Model, scheme: Scheme, precision: str, sampling: Sampling) -> dict[str, Any]:
    """Attributes that record the origin of a result: model, sampling, scheme with options, versions."""
    return {
        "model": type(model).__name__,
        "module": type(model).__module__,
        **({SESSION_CLASS: mark} if (mark := registry.session_mark(type(model))) else {}),
        "parameters": json.dumps(
            {n: jax.tree.map(lambda x: np.asarray(x).tolist(), p.value) for n, p in parameters(model).items()}
        ),
        "contents": json.dumps(contents(model)),
        **scheme_options(scheme),
        "precision": precision,
        **_sampled(sampling),
        "status_legend": json.dumps(legend(model)),
        **made_by(),
    }


def made_by() -> dict[str, str]:
    """What made a result, and when: versions, commit, device, time.

    Examples:
        >>> from jaxgait.solve.dataset import made_by
        >>> list(made_by())
        ['jaxgait', 'commit', 'versions', 'device', 'created']
    """
    from jaxgait import __version__

    return {
        "jaxgait": __version__,
        "commit": commit(),
        "versions": f"jax {jax.__version__}, diffrax {diffrax.__version__}, Python {platform.python_version()}",
        "device": machine.device().device_kind,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def scheme_options(scheme: Scheme) -> dict[str, Any]:
    """The scheme and its options as attributes, without None, which files cannot hold."""
    found = {f.name: getattr(scheme, f.name) for f in dataclasses.fields(scheme)}
    plain = {n: as_attribute(x) for n, x in found.items() if x is not None}
    return {"scheme": type(scheme).__name__, **{f"{n}_s" if n in _IN_SECONDS else n: x for n, x in plain.items()}}


def as_attribute(setting: Any) -> int | float | str:
    """A setting as an attribute; a solver or controller as the call that makes it, without defaults."""
    if isinstance(setting, np.generic | np.ndarray | jax.Array):
        setting = np.asarray(setting).tolist()
    if isinstance(setting, int | float | str):
        return setting
    if not isinstance(setting, eqx.Module):
        return getattr(setting, "__name__", type(setting).__name__)
    given = [f.name for f in dataclasses.fields(setting) if f.init and f.name not in _ROUNDING]
    chosen = [f"{n}={as_attribute(getattr(setting, n))}" for n in given if not is_default(setting, n)]
    return f"{type(setting).__name__}({', '.join(chosen)})" if chosen else type(setting).__name__


def _sampled(sampling: Sampling) -> dict[str, int | float]:
    if sampling.strides is None:
        return {"samples": sampling.samples} | ({} if sampling.duration is None else {"duration_s": sampling.duration})
    return {"strides": sampling.strides, "samples_per_stride": sampling.samples}
