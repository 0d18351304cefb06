"""Gates of the store: scans that are killed, two writers, a full disk, many members."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import pathlib
import pickle
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxgait import ensemble
from jaxgait.ensembles import StoreError, summary
from jaxgait.ensembles.driver import plan_of
from jaxgait.ensembles.plan import Plan, run_task, task_of
from jaxgait.ensembles.store import open_store
from jaxgait.models.bungee.model import Bungee

from .rows import Row, below, equal
from .scans import resident

MEMBERS = {"mass": np.linspace(40.0, 100.0, 20), "stiffness": np.linspace(15.0, 40.0, 30)}
REQUEST: dict[str, Any] = {"duration": 10.0, "samples": 10, "rtol": 1e-4, "observe": ["clearance"], "retry": False}
SEED = 0
LATEST = 0.03
"""Longest time in s between the moment that a kill waits for and the kill."""


def kills(folder: pathlib.Path, count: int) -> Iterator[Row]:
    """A scan of 600 blocks, killed at random moments and continued by the next process.

    The blocks' results come from a table, so that a process takes a second; all else is as in any scan. A store holds
    the commit and the source that began it: a checkout that changes meanwhile shows as bytes that differ.
    """
    plan, table, path = _plan(), folder / "table", folder / "killed.zarr"
    table.write_bytes(pickle.dumps((plan, {i: run_task(task_of(plan, i)) for i in range(plan.size)})))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["experiments.reliability.stores", "zarr"])
    killed, chance, scans, wrong = 0, random.Random(SEED), 0, 0
    whole = _written(folder / "whole.zarr", table)
    while killed < count:
        child = context.Process(target=write, args=(path, table))
        child.start()
        wanted = _done(path) + chance.randint(0, 12)
        while child.is_alive() and _done(path) < wanted:
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, LATEST))
        child.kill()
        child.join()
        killed += child.exitcode == -signal.SIGKILL
        if _done(path) >= plan.size:
            scans, wrong, path = scans + 1, wrong + (_digest(path) != whole), folder / f"killed{scans + 1}.zarr"
    write(path, table)
    yield equal(
        f"scans whose bytes differ, of {scans + 1} that were killed {killed} times in all and continued",
        wrong + (_digest(path) != whole),
        0,
    )


def write(path: pathlib.Path, table: pathlib.Path) -> None:
    """Writes what a store lacks of a scan; the table holds the pickled plan and results by block."""
    plan, results = pickle.loads(table.read_bytes())
    with open_store(path, plan) as store:
        for block in store.missing:
            store.write(block, results[block])


def writers(folder: pathlib.Path) -> Iterator[Row]:
    """A second process gets an error that the store is in use, and changes nothing."""
    path, plan = folder / "two.zarr", _plan()
    with open_store(path, plan) as store:
        store.write(0, run_task(task_of(plan, 0)))
        before, message = _digest(path), "no error"
        try:
            with open_store(path, plan):
                pass
        except StoreError as error:
            message = "StoreError" if "use" in str(error) else str(error)
        yield equal("error raised for a second writer to a store", message, "StoreError")
        yield equal("the first writer's bytes are unchanged", _digest(path) == before, True)


def full_disk(folder: pathlib.Path) -> Iterator[Row]:
    """A file system in memory that holds half of a scan; nothing where mounting is not allowed."""
    disk = folder / "tiny"
    disk.mkdir()
    if not _mount("-t", "tmpfs", "-o", "size=900k", "tmpfs", str(disk)):
        return
    try:
        message = "no error"
        try:
            _scan(disk / "scan.zarr", batch=10)
        except StoreError as error:
            message = "free some disk space" if "free some disk space" in str(error) else str(error)
        yield equal("error message of a scan on a full disk", message, "free some disk space")
        _mount("-o", "remount,size=64m", str(disk))
        ended = summary(_scan(disk / "scan.zarr", batch=10))
        yield equal("outcomes of that scan, continued with more space", ended, {"completed": 600})
    finally:
        subprocess.run(["umount", disk], check=False)


def many_members(folder: pathlib.Path, count: int) -> Iterator[Row]:
    """A scan of many members through a store: memory must not grow with what has been done."""
    side = round(count**0.5)
    grid = {"mass": np.linspace(40.0, 100.0, side), "stiffness": np.linspace(15.0, 40.0, side)}
    _scan(folder / "first.zarr", members={n: x[: min(side, 32)] for n, x in grid.items()})
    before, begun = resident(), time.perf_counter()
    data = _scan(folder / "many.zarr", members=grid)
    ended, took = summary(data), time.perf_counter() - begun
    yield equal(f"outcomes of {side**2} members through a store, in {took:.0f} s", ended, {"completed": side**2})
    # Members and statuses in memory take 17 bytes each; a leak of results would take 60 more.
    yield below("growth of memory during that scan", (resident() - before) / 1e6, 50.0 + 40e-6 * side**2, "MB")


def _scan(store: pathlib.Path, **changes: Any) -> Any:
    return ensemble(Bungee(), changes.pop("members", MEMBERS), **REQUEST, **changes, store=store, progress=False)


def _plan() -> Plan:
    return plan_of({"model": Bungee(), "members": MEMBERS, **REQUEST, "batch": 1})


def _written(path: pathlib.Path, table: pathlib.Path) -> str:
    write(path, table)
    return _digest(path)


def _done(path: pathlib.Path) -> int:
    """Blocks in the manifest of a store."""
    manifest = path / ".jaxgait" / "manifest.jsonl"
    return len(manifest.read_text().splitlines()) if manifest.exists() else 0


def _digest(path: pathlib.Path) -> str:
    """Digest of all bytes of a scan except the times at which it was worked on."""
    files = sorted(p for p in path.rglob("*") if p.is_file() and p.name != "sessions.jsonl" and p.parent.name != "tmp")
    digests = [(str(p.relative_to(path)), hashlib.sha256(p.read_bytes()).hexdigest()) for p in files]
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def _mount(*arguments: str) -> bool:
    try:
        return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0
    except OSError:
        return False
