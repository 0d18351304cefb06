"""`joined`: one result of several scans of one model, such as the parts of a batch job or a scan and its extension."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgait.ensembles.checksums import COMPLETE, PLAN, unfinished
from jaxgait.ensembles.labels import status_codes, with_promotions
from jaxgait.ensembles.members import MOTIONS, SAMPLED, VALUES
from jaxgait.ensembles.results import open_result
from jaxgait.ensembles.source import ARRANGEMENT
from jaxgait.ensembles.store import StoreError, read_store
from jaxgait.solve.dataset import SESSION_CLASS
from jaxgait.support import checks, files, machine, xr
from jaxgait.support.checks import by_name, shown

JOINED = "joined"
"""Attribute of joined results: the sources, as JSON."""
_VERSIONS = ("jaxgait", "commit", "versions")
_OF_SOURCE = (*_VERSIONS, SAMPLED, "created", "device")
"""Attributes that are listed with each source."""
_FREE = ("batch", "created", "device", "efficiency", COMPLETE, SESSION_CLASS)
"""Attributes that may differ; those that do are left out of the whole."""
_OF_MEMBERS = ("dimensions", "order of the members", SAMPLED, "values of ", "axis ", "blocks")
"""Beginnings of those entries of a store's fingerprint that may differ between parts."""

_NOTHING = "(nothing)"
_SOURCE = "(source)"
"""Column, in a table of members, for the name of their result; no coordinate is called this."""


class _Part(NamedTuple):
    name: str
    data: xr.Dataset
    plan: Mapping[str, Any]
    """The fingerprint of a store; empty for others."""


@by_name('write joined(["part0.zarr", "part1.zarr"])')
def joined(results: Iterable[Any], dim: str | None = None, *, any_version: bool = False) -> xr.Dataset:
    """Joins results of scans of one model, such as the parts of a batch job, or a scan and further members.

        joined([f"part{i}.zarr" for i in range(4)]).to_netcdf("scan.nc")

    They must agree in everything but their members: model, fixed parameters, sampling, scheme, tolerances, results with
    their units and, for stores, the source code of measures. Members may be joined in any order: an axis of numbers
    that ascends in each part ascends in the whole.

    Args:
        results: results of `ensemble`, NetCDF files and stores, whose checksums are verified.
        dim: the dimension along which they are joined; None: the one along which their labels differ.
        any_version: whether results of several versions and commits of jaxgait, and of JAX, may be joined; the whole
            then lacks the attributes that differ.

    Returns:
        All members, in memory. The attribute `joined` lists the sources as JSON, each with its number of members and
        the attributes that are its own (when and where it was computed, how it was `sampled`).

    Raises:
        ValueError: if parts differ (the message names the first difference) or share members, if members have not run
            yet, if it is not clear along which dimension to join, and if a file cannot be read.
        TypeError: for anything but results of scans.
        FileNotFoundError: for a missing file or store.
        jaxgait.ensembles.store.StoreError: for a damaged store.
        MemoryError: if the whole does not fit in memory.

    Examples:
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles import joined
        >>> jump = lambda mass: ensemble(Bungee(), {"mass": mass}, duration=20.0, observe=["clearance"])
        >>> whole = joined([jump([60.0, 80.0]), jump([70.0])])
        >>> print(whole.mass.values, whole.clearance.values.round(2))
        [60. 70. 80.] [ -2.13 -10.46 -18.73]
    """
    single = isinstance(results, str | os.PathLike | xr.Dataset) or not isinstance(results, Iterable)
    parts = [] if single else [_part(result, number) for number, result in enumerate(results, start=1)]
    if not parts:
        raise TypeError(f"joined takes a list of results, such as ['part0.zarr', 'part1.zarr'], got {shown(results)}")
    checks.flag("any_version", any_version)
    first = parts[0]
    for part in parts[1:]:
        _check_same(first, part, any_version)
    along = _dimension(parts, dim)
    for part in parts[1:]:
        _check_labels(first, part, along)
    _check_apart(parts, along)
    size, count = (sum(n) for n in zip(*((p.data.nbytes, p.data.status.size) for p in parts), strict=True))
    machine.fits_in_memory(f"{count} members with their results", 2 * size, "join fewer parts")
    whole = xr.concat(
        [part.data for part in parts],
        along,
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
        combine_attrs="override",
    )
    for name in (*_FREE, *_VERSIONS):
        if len({part.data.attrs.get(name) for part in parts}) > 1:
            whole.attrs.pop(name, None)
    whole = whole.assign_attrs(_attributes(parts))
    if _ascending(parts, along):
        whole = whole.sortby(along)
    return with_promotions(whole)


def _part(result: Any, number: int) -> _Part:
    """One result with its name and fingerprint, without `promoted`, which is derived again for the whole."""
    plan: Mapping[str, Any] = {}
    unconfirmed = 0
    if isinstance(result, xr.Dataset):
        name, data = f"result {number}", result
    elif isinstance(result, str | os.PathLike):
        name, path = os.fspath(result), files.expanded(result)
        if not path.is_dir():
            data = open_result(path)
        else:
            data, unconfirmed = read_store(path), unfinished(path).unconfirmed
            try:
                plan = json.loads((path / PLAN).read_text())
            except (OSError, ValueError) as error:
                raise StoreError(f"{path}: joined cannot verify it: it lacks jaxgait's own records") from error
    else:
        raise TypeError(f"joined takes results of ensemble and paths, got {shown(result)}")
    if "status" not in data or not data["status"].dims or "model" not in data.attrs:
        raise TypeError(f"{name} is not the result of a scan: joined takes what ensemble returns, or its files")
    if data["status"].dtype.kind == "f":
        how = f"isel({data['status'].dims[0]}=[0, 2]) and sel() select members and keep them as they were"
        raise ValueError(f"{name} cannot be joined: its statuses are real numbers, as where() makes them; {how}")
    if missing := int((status_codes(data["status"]) == -1).sum()) + unconfirmed:
        many = checks.count_of(missing, "member has", "members have")
        raise ValueError(f"{name}: {many} not run yet: finish the scan before you join it")
    data = data.drop_vars("promoted", errors="ignore")
    precision = str(data.attrs.get("precision", "float64")).partition(",")[0]
    return _Part(name, data.assign_attrs(precision=precision), plan)


def _check_same(first: _Part, other: _Part, any_version: bool) -> None:
    """Checks that two results are of the same model, settings, results and code."""
    one, two = (_settings(part.data) for part in (first, other))
    if first.plan and other.plan:
        code = ("source of jaxgait",) if any_version else ()
        one, two = (found | _code(part, code) for found, part in ((one, first), (two, other)))
    for name in _VERSIONS if any_version else ():
        one[name] = two[name] = ""
    if difference := next(_differences("", one, two), ""):
        advice = "; any_version=True joins them" if difference.startswith((*_VERSIONS, "source of jaxgait")) else ""
        raise ValueError(f"{first.name} and {other.name} cannot be joined: {difference}{advice}")


def _settings(data: xr.Dataset) -> dict[str, Any]:
    """What holds for every member of a scan: everything except the parameters and motions that its members vary."""
    attrs, members = data.attrs, data["status"].dims
    found = {
        str(name): x for name, x in attrs.items() if name not in (*_FREE, SAMPLED, MOTIONS, JOINED, "status_legend")
    }
    contents, varied = json.loads(found.pop("contents", "{}")), _varied(data)
    fixed = json.loads(found.pop("parameters", "{}"))
    results = {
        str(name): {
            "type": str(x.dtype),
            "dimensions": {str(dim): n for dim, n in x.sizes.items() if dim not in members},
            "unit": x.attrs.get("units", ""),
        }
        for name, x in data.data_vars.items()
    }
    return {
        **{name: found.pop(name) for name in ("model", "module") if name in found},
        "dimensions": list(members),
        "parameter": {name: x for name, x in fixed.items() if name not in varied},
        "contents": {name: x for name, x in contents.items() if name not in varied},
        **found,
        "result": results,
    }


def _varied(data: xr.Dataset) -> set[str]:
    """What the members vary of the model; "drive" stands for their motion."""
    return {*json.loads(data.attrs.get(VALUES, "[]")), *(["drive"] if MOTIONS in data.attrs else [])}


def _code(part: _Part, skipped: tuple[str, ...]) -> dict[str, Any]:
    """The fingerprint of a store without its members: the model, and the source of what is computed."""
    varied = _varied(part.data)
    found = {}
    for name, x in part.plan.items():
        subject = name.rpartition(" ")[2]
        moved = "drive" in varied and (subject.partition(".")[0] == "drive" or name == ARRANGEMENT)
        if not (name.startswith(_OF_MEMBERS + skipped) or subject in varied or moved):
            found[f"{name} of the store" if name in part.data.attrs else name] = x
    return found


def _differences(name: str, one: Any, two: Any) -> Iterator[str]:
    """What differs, as sentences such as "rtol: 1e-06 and 1e-08"."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        for key in {**one, **two}:
            yield from _differences(f"{name} {key}".strip(), one.get(key, _NOTHING), two.get(key, _NOTHING))
    elif one != two and not (_is_nan(one) and _is_nan(two)):
        yield f"{name}: {' and '.join(_NOTHING if x is _NOTHING else shown(x) for x in (one, two))}"


def _is_nan(x: Any) -> bool:
    return isinstance(x, float) and math.isnan(x)


def _dimension(parts: Sequence[_Part], dim: str | None) -> str:
    """The dimension along which to join results.

    Raises:
        ValueError: for a dimension that they do not have, and if it is not clear which one is meant.
    """
    dims = [str(d) for d in parts[0].data["status"].dims]
    if dim is not None:
        return checks.one_of("dim", dim, dims)
    labelled = [d for d in dims if any(not _equal(parts[0].data, p.data, d) for p in parts)]
    bare = [d for d in dims if d not in parts[0].data.coords]
    found = labelled or bare
    if len(found) == 1:
        return found[0]
    if len(dims) == 1 or len(parts) == 1:
        return dims[0]
    what = f"their labels differ along {checks.listed(found)}" if found else "their labels are the same"
    raise ValueError(
        f"results are joined along one dimension, and {what}: give dim=, or join along one after the other"
    )


def _equal(one: xr.Dataset, two: xr.Dataset, name: str) -> bool:
    """Whether two results have the same values of a coordinate, or both have none."""
    if (name in one.coords) != (name in two.coords):
        return False
    if name not in one.coords:
        return True
    a, b = one[name], two[name]
    return a.dims == b.dims and np.array_equal(a.values, b.values, equal_nan=a.dtype.kind == b.dtype.kind == "f")


def _check_labels(first: _Part, other: _Part, along: str) -> None:
    """Checks that two results have the same coordinates, with equal values except along the joined dimension."""
    for name in dict.fromkeys([*first.data.coords, *other.data.coords]):
        one, two = (p.data[name] if name in p.data.coords else None for p in (first, other))
        if one is not None and two is not None and one.dims == two.dims and along in one.dims:
            continue
        if not _equal(first.data, other.data, str(name)):
            texts = [shown(None if x is None else x.values.ravel()[:5].tolist()) for x in (one, two)]
            raise ValueError(
                f"{first.name} and {other.name} cannot be joined along {along}: {name} is {texts[0]} and {texts[1]}"
            )


def _check_apart(parts: Sequence[_Part], along: str) -> None:
    """Checks that no member is in two results."""
    import pandas  # only here: its import takes long

    tables = [pandas.DataFrame(dict(_columns(part.data, along))).drop_duplicates() for part in parts]
    whole = pandas.concat([table.assign(**{_SOURCE: part.name}) for table, part in zip(tables, parts, strict=True)])
    names = [*tables[0].columns]
    twice = whole[whole.duplicated(names, keep=False)] if names else whole[:0]
    if len(twice):
        first = twice.iloc[:1][names].to_dict("records")[0]
        where = checks.first_few([f"{name}={shown(x)}" for name, x in first.items()])
        sources = twice[_SOURCE][twice.groupby(names, sort=False, dropna=False).ngroup() == 0]
        raise ValueError(f"{' and '.join(sources[:2])} have the same members, at {where}: join each only once")


def _columns(data: xr.Dataset, along: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yields what distinguishes the members along a dimension: names and values, (members,); arrays by element."""
    names = [n for n in dict.fromkeys([along, *json.loads(data.attrs.get(VALUES, "[]"))]) if n in data.coords]
    for name in (n for n in names if along in data[n].dims):
        x = data[name].transpose(along, ...).values
        rows = (x.astype(object) if x.dtype.kind == "T" else x).reshape(len(x), math.prod(x.shape[1:]))
        yield from ((f"{name}[{i}]" if rows.shape[1] > 1 else name, column) for i, column in enumerate(rows.T))


def _ascending(parts: Sequence[_Part], along: str) -> bool:
    """Whether every part has an axis of ascending numbers."""
    axes = [p.data[along].values for p in parts if along in p.data.coords]
    return bool(axes) and all(x.dtype.kind in "fiu" and bool((np.diff(x) > 0).all()) for x in axes)


def _attributes(parts: Sequence[_Part]) -> dict[str, Any]:
    """The attributes of the whole that combine those of the parts, and the list of the parts."""
    sources = []
    for part in parts:
        known = {n: part.data.attrs[n] for n in _OF_SOURCE if n in part.data.attrs}
        alone = [{"source": part.name, "members": part.data["status"].size, **known}]
        sources += json.loads(part.data.attrs[JOINED]) if JOINED in part.data.attrs else alone
    legends = [json.loads(p.data.attrs.get("status_legend", "{}")) for p in parts]
    found: dict[str, Any] = {JOINED: json.dumps(sources)}
    found["status_legend"] = json.dumps({code: text for legend in legends for code, text in legend.items()})
    drawn = dict.fromkeys(p.data.attrs[SAMPLED] for p in parts if SAMPLED in p.data.attrs)
    found |= {SAMPLED: "; ".join(drawn)} if drawn else {}
    motions: dict[str, dict[str, Any]] = {}
    for part in parts:
        for dim, records in json.loads(part.data.attrs.get(MOTIONS, "{}")).items():
            known = motions.setdefault(dim, {})
            if other := next((name for name in records if known.get(name, records[name]) != records[name]), ""):
                raise ValueError(f"{part.name} cannot be joined: its {dim} {other} moves as in no part before it")
            known |= records
    return found | ({MOTIONS: json.dumps(motions)} if motions else {})
