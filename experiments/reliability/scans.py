"""Gates of ensembles: what must not change a bit, what is compiled, what stays in memory."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import jax
import numpy as np
import xarray as xr

from jaxgait import ensemble, zipped
from jaxgait.models.bungee.model import Bungee

from .rows import Row, below, equal

GRID = {"mass": np.linspace(40.0, 100.0, 12), "stiffness": np.linspace(15.0, 40.0, 10)}
QUICK: dict[str, Any] = {"duration": 10.0, "samples": 20, "rtol": 1e-6, "observe": ["clearance"], "progress": False}
NEW = 21
"""Samples that no other gate takes, so that its program is its own."""
PAGE = os.sysconf("SC_PAGE_SIZE")
"""Bytes of a page of memory on Linux."""

_compiled: list[str] = []


@jax.monitoring.register_event_duration_secs_listener
def _heard(event: str, duration_secs: float, **about: Any) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _compiled.append(str(about.get("fun_name", "")))


def _different(one: xr.Dataset, other: xr.Dataset) -> int:
    """Number of bytes of all results that differ."""
    names = [n for n in one.data_vars if one[n].dtype.kind in "fib"]
    return sum(int((one[n].values.view(np.uint8) != other[n].values.view(np.uint8)).sum()) for n in names)


def _scan(**changes: Any) -> xr.Dataset:
    return ensemble(Bungee(), changes.pop("members", GRID), **{**QUICK, **changes})


def invariances(folder: pathlib.Path) -> Iterator[Row]:
    """120 members in other batches, in another order, on more threads, through a store."""
    whole = _scan()
    for batch in (8, 24, 120):
        yield equal(f"bytes that differ in batches of {batch}", _different(whole, _scan(batch=batch)), 0)
    turned = _scan(members={"mass": GRID["mass"][::-1], "stiffness": GRID["stiffness"]})
    back = turned.isel(mass=slice(None, None, -1)).map(lambda x: x.copy(data=np.ascontiguousarray(x.values)))
    yield equal("bytes that differ with members in reversed order", _different(whole, back), 0)
    one, three = (_scan(workers=n, batch=24) for n in (1, 3))
    yield equal("bytes that differ with 1 and 3 threads", _different(one, three), 0)
    stored = _scan(store=folder / "blocks.zarr", batch=16).load()
    yield equal("bytes that differ after writing to a store", _different(whole, stored), 0)


def poison() -> Iterator[Row]:
    """Members that give up, between others that do not."""
    masses = np.linspace(50.0, 90.0, 24)
    air = np.ones(24)
    bad = np.zeros(24, dtype=bool)
    bad[[3, 11, 17]] = True
    sick = np.where(bad, 1e7, air)  # stiff: explicit steps of less than a millisecond, so that the limit is reached
    request = {**QUICK, "retry": False, "max_steps": 500}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = ensemble(Bungee(), zipped({"mass": masses, "quadratic_drag": air}), **request)
        ill = ensemble(Bungee(), zipped({"mass": masses, "quadratic_drag": sick}), **request)
    yield equal("members deliberately made to fail that were reported, of 3", int((ill.status.values != 0).sum()), 3)
    differ = _different(clean.isel(member=~bad), ill.isel(member=~bad))
    yield equal("bytes of their 21 neighbours that differ", differ, 0)


def traces() -> Iterator[Row]:
    """Programs compiled by calls that differ in numbers only, with nothing on disk."""
    with mock.patch.dict(os.environ, {"JAXGAIT_CACHE": "off"}):
        kernels = sum("run" in name for name in _compilations(samples=NEW))
        yield equal("kernels compiled for a scan", kernels, 1)
        for what, changes in {
            "the same scan again": {},
            "other members": {"members": {n: x + 1.0 for n, x in GRID.items()}},
            "another tolerance": {"rtol": 1e-5},
            "another duration": {"duration": 11.0},
        }.items():
            yield equal(f"programs compiled for {what}", len(_compilations(samples=NEW, **changes)), 0)


def _compilations(**changes: Any) -> list[str]:
    _compiled.clear()
    _scan(**changes)
    return list(_compiled)


def repeated_calls(calls: int) -> Iterator[Row]:
    """Growth of memory over the later half of many calls: a leak grows with every one of them."""
    members = {name: x[:4] for name, x in GRID.items()}
    before = 0
    for i in range(calls):
        _scan(members=members)
        if i == calls // 2:
            before = resident()
    yield below(f"growth of memory over calls {calls // 2} to {calls}", (resident() - before) / 1e6, 5.0, "MB")


def resident() -> int:
    """Bytes of this process that are in memory; 0 where the system does not report it."""
    try:
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0
