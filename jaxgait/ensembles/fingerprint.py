"""The fingerprint of a scan, a dict of plain values: two scans with the same fingerprint have the same results."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import numpy as np

from jaxgait.contents import is_default
from jaxgait.ensembles.members import SAMPLED, Members
from jaxgait.ensembles.plan import Plan
from jaxgait.ensembles.source import ARRANGEMENT, OF_CLASS, Sources, digest, name_of, value
from jaxgait.measure import Measures
from jaxgait.model import Model

RUNS_A_MEMBER = "jaxgait.ensembles.batch"
"""The module that computes a member's results; everything that affects them is imported from there."""

_SOURCE = "source of "
_MEASURE = "measure "
_OF_OBSERVE = ("defined for early ends", "watched", "units and dimensions")
"""Entries that follow from the observed measures."""
_NOTHING = "(nothing)"
_ORDERS = {"order of the members": ", or of their labels", ARRANGEMENT: ""}
"""Entries that are digests of an order, and how sentences continue after their names."""


def fingerprint(plan: Plan) -> dict[str, Any]:
    """Everything that affects the results of a plan, under readable names.

    How members were drawn (`SAMPLED`) does not affect them, but explains in one sentence why their values differ.
    It does not contain the versions of JAX and other libraries, which are in a store's `sessions.jsonl`.
    """
    sources = Sources()
    sources.add_module(RUNS_A_MEMBER)
    return {
        **_model(plan.model, sources),
        **_members(plan.members),
        **_scheme(plan.job.scheme, sources),
        "strides": plan.job.sampling.strides,
        "duration": plan.job.sampling.duration,
        "samples": plan.job.sampling.samples,
        "trajectories": list(kept) if isinstance(kept := plan.job.trajectories, tuple) else kept,
        "gradient": list(plan.job.gradient),
        **_observed(plan.job.observe, sources),
        "units and dimensions": {n: " ".join([v.unit, *v.dims]) for n, v in plan.variables.items()},
        "precision": plan.precision,
        "retries": {r.name: {"precision": r.precision, **_scheme(r.scheme, sources)} for r in plan.retries},
        "results": {n: [list(s.shape), s.dtype.name] for n, s in plan.results.items()},
        "blocks": list(plan.block_shape),
        **sources.digests(),
    }


def differences(stored: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """The differences between two fingerprints, one sentence each, such as "strides: 20 in the store, 5 now"."""
    same_model = stored.get("model") == wanted.get("model")
    names = [*stored, *(n for n in wanted if n not in stored)] if same_model else ["model"]
    found = {n: _difference(n, stored.get(n, _NOTHING), wanted.get(n, _NOTHING)) for n in names}
    found = {name: sentence for name, sentence in found.items() if sentence}
    if not {"dimensions", "order of the members"} & found.keys():
        found.pop(SAMPLED, None)  # the same members, however they were drawn
    telling = {name: sentence for name, sentence in found.items() if not _follows(name, stored, wanted)}
    return list((telling or {n: x for n, x in found.items() if n != ARRANGEMENT} or found).values())


def _follows(name: str, stored: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a difference only follows from others, such as other source code from another class."""
    one_sided = name.startswith((_SOURCE, _MEASURE)) and not (name in stored and name in wanted)
    chosen = name in _OF_OBSERVE and stored.get("observe") != wanted.get("observe")
    return one_sided or chosen or name in ("order of the members", "results", "retries", ARRANGEMENT)


def _difference(name: str, stored: Any, wanted: Any) -> str:
    if name == "dimensions" and stored == wanted and [*stored] != [*wanted]:
        return f"order of the dimensions: {', '.join(stored)} in the store, {', '.join(wanted)} now"
    if stored == wanted or _by_class(stored, wanted):
        return ""
    if name in _ORDERS:
        return f"{name}{_ORDERS[name]}: another one in the store"
    if name == "retries" and {*stored} != {*wanted}:
        stored, wanted = (", ".join(attempts) or _NOTHING for attempts in (stored, wanted))
    if name.startswith(_SOURCE) and type(stored) is type(wanted):
        files = sorted(_changed(stored, wanted)) if isinstance(stored, dict) else []
        return f"the {name}: changed since" + (f" ({', '.join(files)})" if files else "")
    if isinstance(stored, dict) and isinstance(wanted, dict):
        parts = {n: (stored.get(n, _NOTHING), wanted.get(n, _NOTHING)) for n in _changed(stored, wanted)}
        return "; ".join(_difference(f"{name}, {n}", *pair) for n, pair in parts.items())
    return f"{name}: {stored} in the store, {wanted} now"


def _by_class(stored: Any, wanted: Any) -> bool:
    """Whether two entries only show the values of one class, whose digest decides; early versions had no such entry."""
    first, second = (str(x).rpartition(OF_CLASS) for x in (stored, wanted))
    both = (first[1], first[2]) == (second[1], second[2]) and bool(first[1])
    return both or (_NOTHING in (stored, wanted) and bool(first[1] or second[1]))


def _changed(stored: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    return [n for n in {**stored, **wanted} if stored.get(n) != wanted.get(n)]


def _members(members: Members) -> dict[str, Any]:
    values = {name: _range(x) for name, x in members.values.items()}
    labels = {f"axis {name}": _range(x) for name, (_, x) in members.labels.items() if name not in values}
    drawn = {SAMPLED: members.attrs[SAMPLED]} if SAMPLED in members.attrs else {}
    return {
        "dimensions": dict(zip(members.dims, members.shape, strict=True)),
        **drawn,
        **{f"values of {name}": x for name, x in values.items()},
        **labels,
        "order of the members": digest(
            *(np.ascontiguousarray(x).tobytes() for x in members.values.values()),
            *(repr((name, dims, x.tolist())).encode() for name, (dims, x) in members.labels.items()),
        ),
    }


def _model(model: Model, sources: Sources) -> dict[str, Any]:
    """The model's class, its parameters, and the values of its other fields."""
    sources.add(type(model), "model")
    return {"model": name_of(type(model)), **_fields(model, "", sources)}


def _fields(module: Any, prefix: str, sources: Sources) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in dataclasses.fields(module):
        name, given = prefix + field.name, getattr(module, field.name)
        if isinstance(given, eqx.Module):
            sources.add(type(given), name)
            found |= {f"part {name}": name_of(type(given)), **_fields(given, name + ".", sources)}
        elif "unit" in field.metadata:
            found[f"parameter {name}"] = jax.tree.map(lambda x: np.asarray(x).tolist(), given)
        else:
            sources.add(given, f"{'choice' if field.metadata.get('static') else 'value of'} {name}")
    return found


def _scheme(scheme: Any, sources: Sources) -> dict[str, Any]:
    sources.add(type(scheme), "scheme")
    settings = {field.name: _setting(getattr(scheme, field.name), sources) for field in dataclasses.fields(scheme)}
    return {"scheme": name_of(type(scheme)), **settings}


def _setting(setting: Any, sources: Sources) -> Any:
    """A setting as plain data; a solver as the call that makes it, without default arguments."""
    if not isinstance(setting, eqx.Module):
        return setting if isinstance(setting, bool | int | float | str | None) else value(setting)
    sources.add(type(setting), "solver")
    given = [f.name for f in dataclasses.fields(setting) if f.init and not is_default(setting, f.name)]
    chosen = {n: _setting(getattr(setting, n), sources) for n in given}
    return f"{name_of(type(setting))}({', '.join(f'{n}={x}' for n, x in chosen.items())})"


def _observed(observe: Any, sources: Sources) -> dict[str, Any]:
    """What is observed of each run: measures by name, or the function."""
    if observe is None:
        return {"observe": None}
    early, watched = sorted(getattr(observe, "early", ())), list(getattr(observe, "watch", ()))
    found = {"defined for early ends": early, "watched": watched}
    if isinstance(observe, Measures):
        for measure in observe.members:
            sources.add(measure.function, _MEASURE + measure.name)
        return {"observe": [m.name for m in observe.members], **found}
    sources.add(observe, "observe")
    return {"observe": name_of(observe), **found}


def _range(x: np.ndarray) -> str:
    """The distinct values as text, sorted, so that an axis's text does not depend on the other axes."""
    values = np.unique(x)
    if values.dtype.kind not in "fiu":
        return f"{', '.join(f'{x!s:.40}' for x in values[:8])} ({digest(repr(values.tolist()).encode())})"
    return f"{values.size} values from {values[0]:g} to {values[-1]:g} ({digest(values.tobytes())})"
