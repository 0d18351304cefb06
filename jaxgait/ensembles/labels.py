"""Names, units and dimensions for the results of a plan."""

from __future__ import annotations

import collections
import contextlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxgait.elements import declared
from jaxgait.ensembles.addresses import DRIVE, INITIAL
from jaxgait.ensembles.checksums import COMPLETE
from jaxgait.ensembles.members import MOTIONS, PERSON, VALUES
from jaxgait.ensembles.plan import Plan, stem
from jaxgait.model import Model, Variable
from jaxgait.outcome import COMPLETED_TEXT, INVALID, INVALID_TEXT, failures
from jaxgait.parameters import parameters
from jaxgait.solve.dataset import extra_dims, model_coordinates, phase_attributes, provenance, with_phase
from jaxgait.solve.names import PHASE
from jaxgait.solve.smooth import FLOAT64_RETRY
from jaxgait.states import described_component
from jaxgait.support import xr
from jaxgait.support.units import ratio

_OF_MEMBERS = (VALUES, "batch", "efficiency", COMPLETE, "status_legend", "retries_legend")
"""Attributes that describe members, and how the work was done."""
MASKED = int(np.iinfo(np.int32).min)
"""Code of a member that was masked, such as by `where`."""
MASKED_TEXT, NOT_RUN = "masked (no status)", "not run yet"

_FIXED = {
    "status": Variable("1", "how the trajectory ended"),
    "first_status": Variable("1", "how its first attempt ended"),
    "retries": Variable("1", "last attempt that was made, 0 for the first"),
    "t_end": Variable("s", "last time reached"),
    "steps": Variable("1", "accepted steps"),
    "rejected_steps": Variable("1", "rejected steps"),
    "time": Variable("s", "time"),
    "event_time": Variable("s", "time of the event"),
}
"""Results of every ensemble."""

_MOTION = {
    "drive.period": {"units": "s", "long_name": "stride time of the motion"},
    "drive.speed": {"units": "m/s", "long_name": "walking speed of the motion"},
    PERSON: {"long_name": "whose walk"},
    "stride": {"units": "1", "long_name": "stride of the walk"},
}
"""Labels of members that differ in their motion."""

_OF_RUN = {"status": "status", "t_end_s": "t_end", "steps": "steps", "rejected_steps": "rejected_steps"}
"""Attributes of a run that are results in a scan, and their names there."""


class Description(NamedTuple):
    """One result of a plan: its dimensions beyond those of the members, and its attributes."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    attrs: dict[str, Any]


def descriptions(plan: Plan) -> dict[str, Description]:
    """All results of a plan by name. Shared sampling times are a coordinate and not listed."""
    found = dict(plan.results)
    shared = plan.times is not None
    if shared:
        found.pop("time")
    known, result = {**plan.model.variables, **plan.variables}, {}
    for name, (group, shape, dtype) in found.items():
        first = {"trajectory": ("time" if shared else "instant",), "events": ("event",)}.get(group, ())
        last = ("parameter",) if group == "gradient" else ()
        own = extra_dims(known, stem(name, group), len(shape) - len(first) - len(last))
        dims = first + own + last
        # What a function observes is not the model's variable of the same name.
        described = {**_FIXED, **(plan.variables if group in ("observed", "gradient") else known)}
        result[name] = Description(dims, shape, dtype, _attributes(plan, name, group, described))
    return result


def coordinates(plan: Plan) -> dict[str, Any]:
    """Coordinates of the result: the labels of the members, the times, the names of the gradient's parameters."""
    coords: dict[str, Any] = {}
    for name, (dims, x) in plan.members.labels.items():
        extra = tuple(f"{name}_{i}" for i in range(x.ndim - len(dims)))
        of = {"of": PERSON} if dims == (PERSON,) and name != PERSON else {}  # known from the person's name
        coords[name] = xr.DataArray(x, dims=dims + extra, attrs=described_value(plan.model, name) | of)
    times = plan.times
    if times is not None:
        coords["time"] = xr.DataArray(times, dims="time", attrs={"units": "s", "long_name": "time"})
    if plan.job.gradient:
        coords["parameter"] = xr.DataArray(np.array(plan.job.gradient, dtype=object), dims="parameter")
    sizes = {dim: n for d in descriptions(plan).values() for dim, n in zip(d.dims, d.shape, strict=True)}
    return coords | model_coordinates(plan.model, sizes)


def dataset(plan: Plan, results: dict[str, np.ndarray]) -> xr.Dataset:
    """The labelled Dataset of a plan from arrays of shape (*box of members, *shape of the result)."""
    described = descriptions(plan)
    data = {
        n: xr.DataArray(x, dims=plan.members.dims + described[n].dims, attrs=described[n].attrs)
        for n, x in results.items()
    }
    return xr.Dataset(data, coords=coordinates(plan), attrs=attributes(plan))


def attributes(plan: Plan) -> dict[str, Any]:
    """The provenance of the result, and the legends of its codes."""
    attempts = ["first attempt", *(retry.name for retry in plan.retries)]
    own = {label for name in plan.members.values for label in (name, f"{name}_values") if not name.startswith(DRIVE)}
    own |= {*json.loads(plan.members.attrs.get(MOTIONS, "{}"))}  # the dimension along which motions differ
    found = provenance(plan.model, plan.job.scheme, plan.precision, plan.job.sampling)
    if plan.valid is not None:
        found["status_legend"] = json.dumps(json.loads(found["status_legend"]) | {str(INVALID): INVALID_TEXT})
    return {
        **found,
        "retries_legend": json.dumps(dict(enumerate(attempts))),
        "batch": plan.batch_length,
        VALUES: json.dumps([name for name in plan.members.labels if name in own]),
        **plan.members.attrs,
    }


def decoded(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes with their mappings and lists, which files store as JSON text, decoded."""
    return {str(name): _decoded(x) for name, x in attrs.items()}


def _decoded(x: Any) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(x) if isinstance(x, str) and x.startswith(("{", "[")) else x
    return x


def origin(data: xr.Dataset) -> dict[str, Any]:
    """The attributes of a scan that still hold for what is computed from all of its members together."""
    return {str(name): x for name, x in data.attrs.items() if name not in _OF_MEMBERS}


def status_codes(codes: Any) -> np.ndarray:
    """Codes of statuses or retries as integers, in the same shape, whatever xarray made of them; `MASKED` for NaN.

    Raises:
        ValueError: for codes that are not whole numbers.
    """
    found = np.asarray(codes)
    if found.dtype.kind != "f":
        return found.astype(int)
    known = np.isfinite(found)
    if (odd := found[known][found[known] % 1.0 != 0.0]).size:
        what = "an average over members is not a member (without it, by drop_vars('status'), a page shows averages)"
        raise ValueError(f"{odd[0]:g} is no code of a status or a retry: {what}")
    return np.where(known, found, MASKED).astype(int)


def status_text(code: int, legend: Mapping[str, str]) -> str:
    """The sentence of a status, by the legend of its scan."""
    unlisted = {0: COMPLETED_TEXT, -1: NOT_RUN, MASKED: MASKED_TEXT}
    return legend.get(str(code)) or unlisted.get(code, f"status {code}")


def _with_statuses(data: xr.Dataset, purpose: str) -> xr.Dataset:
    """A result of `ensemble` unchanged; a result of `simulate` as one member, without dimensions."""
    if isinstance(data, xr.Dataset) and "status_legend" in data.attrs:
        if "status" in data:
            return data
        if "status" in data.attrs:
            return xr.Dataset({n: data.attrs[key] for key, n in _OF_RUN.items() if key in data.attrs}, attrs=data.attrs)
    raise ValueError(f"{purpose} the statuses of a result of ensemble, got {type(data).__name__} without them")


def summary(data: xr.Dataset) -> dict[str, int]:
    """Number of trajectories by how they ended, the most frequent first; of a run, how it ended.

    Raises:
        ValueError: for anything but a result of `ensemble` or `simulate`, and for averages over members.

    Examples:
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles import summary
        >>> summary(ensemble(Bungee(), {"mass": [60.0, 70.0, 80.0]}, duration=20.0, observe=["clearance"]))
        {'completed': 3}
    """
    data = _with_statuses(data, "summary counts")
    legend, counts = json.loads(data.attrs["status_legend"]), collections.Counter[str]()
    for code, count in zip(*np.unique(status_codes(data["status"]), return_counts=True), strict=True):
        counts[status_text(int(code), legend)] += int(count)
    return dict(counts.most_common())


def with_promotions(data: xr.Dataset) -> xr.Dataset:
    """Marks the members of a float32 scan whose final result was computed in float64."""
    legend = json.loads(data.attrs.get("retries_legend", "{}"))
    numbers = [int(number) for number, name in legend.items() if name == FLOAT64_RETRY]
    if not numbers or not (promoted := data["retries"].isin(numbers)).any():
        return data
    attrs = {"units": "1", "long_name": "computed in float64, after float32 failed"}
    done = f"float32, {int(promoted.sum())} of {promoted.size} members float64 (see promoted)"
    return data.assign(promoted=promoted.assign_attrs(attrs)).assign_attrs(precision=done)


def failed(data: xr.Dataset) -> xr.Dataset:
    """The members whose computation failed, along `member`, with a sentence that describes each failure.

    The model's own terminations (a fall, a folded knee) are results, not failures. One member, or a run, counts as a
    scan of one.

    Raises:
        ValueError: for anything but a result of `ensemble` or `simulate`, and for averages over members.

    Examples:
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles import failed
        >>> scan = ensemble(Bungee(), {"mass": [60.0, 70.0, 80.0]}, duration=20.0, observe=["clearance"])
        >>> failed(scan).sizes["member"]
        0
    """
    data = _with_statuses(data, "failed lists")
    data = data if data["status"].dims else data.expand_dims("member")
    dims, codes = data["status"].dims, status_codes(data["status"])
    own = lambda name, x: x.dims == dims if name in data.data_vars else not x.dims or {*dims} & {*x.dims}
    keep = data.drop_vars([name for name, x in data.variables.items() if not own(name, x)])
    found = np.nonzero(failures(codes) & (codes != MASKED))
    rows = keep.isel({d: xr.DataArray(i, dims="member") for d, i in zip(dims, found, strict=True)})
    legend = json.loads(data.attrs["status_legend"])
    sentences = [status_text(int(code), legend) for code in codes[found]]
    return rows.assign(sentence=("member", np.array(sentences, dtype=object)))


def _attributes(plan: Plan, name: str, group: str, known: Mapping[str, Variable]) -> dict[str, Any]:
    """Unit and long name of a result: its own, or derived from those of another result."""
    if numbered := _numbered(plan, name, group):
        return numbered
    if name in known:
        return known[name].attrs
    if name.endswith("_end") and (base := known.get(name.removesuffix("_end"))):
        return {"units": base.unit, "long_name": f"{base.long_name}, at the end"}
    if name.endswith("_gradient") and (base := known.get(name.removesuffix("_gradient"))):
        long_name = f"gradient of {base.long_name}"
        by = {described_value(plan.model, one).get("units", "1") for one in plan.job.gradient}
        if len(by) == 1:
            return {"units": ratio(base.unit, by.pop()), "long_name": long_name}
        return {"long_name": f"{long_name}, in {base.unit} per unit of the parameter"}
    return {}


def _numbered(plan: Plan, name: str, group: str) -> dict[str, str]:
    """The attributes of results that are codes with a legend: kinds of events, phases; empty for other results."""
    if name == "event_kind":
        names = dict(enumerate(plan.job.scheme.event_names(plan.model)))
        return {"units": "1", "long_name": "what happened (-1: nothing more)", "legend": json.dumps(names)}
    of_samples = name == PHASE and group == "trajectory" and with_phase(plan.model, plan.job.scheme)
    return phase_attributes(plan.model) if of_samples else {}


def described_value(model: Model, name: str) -> dict[str, Any]:
    """Unit and long name of a parameter, a component of the initial state, or a label of the members, as attributes."""
    if found := declared(parameters(model), [name]):
        return {"units": found[name].unit, "long_name": found[name].doc}
    if name in _MOTION:
        return _MOTION[name]
    if (array := name.removesuffix("_values")) != name:  # the label of arrays along the dimension of their name
        return described_value(model, array)
    if name.startswith(INITIAL) and (variable := described_component(model, name.removeprefix(INITIAL))):
        return {"units": variable.unit, "long_name": f"{variable.long_name}, at the start"}
    return {}
