"""An estimate of what a scan needs: members, blocks, memory, disk and time, from a small sample of it."""

from __future__ import annotations

import heapq
import inspect
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jaxgait.ensembles.disk_space import disk_bytes, disk_files, free_bytes, free_files
from jaxgait.ensembles.driver import ensemble, plan_of
from jaxgait.ensembles.members import Members
from jaxgait.ensembles.plan import Plan, bytes_per_member, compile_blocks, default_workers
from jaxgait.ensembles.store import finished, root_of
from jaxgait.ensembles.workers import Results, run_blocks
from jaxgait.model import Model
from jaxgait.solve.smooth import FLOAT64_RETRY
from jaxgait.support.checks import count_of
from jaxgait.support.machine import free_memory, size_text

_SHORT = 1.0
"""A sample that takes less than this time in s runs twice: the first blocks of a process take up to ten times as long.
A sample with retries always runs twice, because retries compile programs of their own."""


@dataclass(frozen=True)
class Estimate:
    """What a scan needs on this machine."""

    members: int
    shape: tuple[int, ...]
    """Members along each dimension."""
    blocks: int
    block: int
    """Members in a full block."""
    done: int
    """Blocks that are already in the store."""
    workers: int
    """Blocks that run in parallel."""
    result_bytes: int
    """Size of all results in memory."""
    disk_bytes: int
    """Approximate size of the finished store on disk: many small files take more than their contents."""
    working_bytes: int
    """Approximate memory of the blocks that run in parallel."""
    process_bytes: int
    """Peak memory of this process so far, with JAX, the compiler and the sample; 0 where it is not reported."""
    free_memory: int
    """Bytes."""
    free_disk: int | None
    """Bytes free on the disk of the store; None without a store."""
    disk_files: int
    """Approximate number of the finished store's files and folders."""
    free_files: int | None
    """How many more files the disk of the store can hold; None without a store, and where that is not limited."""
    sample: int
    """Number of members that were run as a sample."""
    sample_seconds: float
    """Time in s that the sample took."""
    compile_seconds: float
    """Time in s to compile the sample's program: nearly zero if it was found on disk."""
    promoted: int
    """Members of the sample that failed in float32 and ran again in float64."""
    seconds: float
    """Expected time in s for the remaining members, without compilation."""

    def lines(self) -> Iterator[str]:
        """The estimate as lines of text."""
        box = f"{' x '.join(map(str, self.shape))} = " if len(self.shape) > 1 else ""
        blocks = count_of(self.blocks, "block", "blocks")
        yield f"members: {box}{self.members}, in {blocks} of up to {self.block}, {self.workers} at a time"
        if self.done:
            yield f"done: {self.done} of {self.blocks} blocks are in the store"
        free = f"{size_text(self.process_bytes)} with program and sample; {size_text(self.free_memory)} are free"
        if self.free_disk is None:
            yield f"memory: {size_text(self.result_bytes)} of results, {size_text(self.working_bytes)} at work, {free}"
        else:
            yield f"memory: {size_text(self.working_bytes)} at work, {free}"
            room = "" if self.free_files is None else f" and {self.free_files} files"
            need = f"about {size_text(self.disk_bytes)} in {self.disk_files} files"
            yield f"disk: {need}; {size_text(self.free_disk)}{room} are free"
        found = f"{self.sample} members took {duration(self.sample_seconds)}"
        yield f"time: about {duration(self.seconds)} ({found}), after {duration(self.compile_seconds)} to compile"
        if self.promoted:
            again = f"{self.promoted} of {self.sample} members ran again in float64, after float32 had failed"
            yield f"precision: {again}: without --precision float32 the scan may be faster"


def estimate(model: Model, members: Members | Mapping[str, Any] | Any, **request: Any) -> Estimate:
    """Estimates the cost of `jaxgait.ensemble` with the same arguments by running a few blocks; keeps no results.

    The sample runs on this machine with its own number of workers, also where `cluster` is given. The time is only a
    rough estimate, because members differ in cost and other programs may use the machine.

    Raises:
        TypeError: for arguments that `ensemble` does not have.
        ValueError: as `ensemble` does.
        jaxgait.ensembles.store.StoreError: if the store holds another scan.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.ensembles import estimate
        >>> estimate(Bungee(), {"mass": [60.0, 70.0]}, duration=2.0).members
        2
    """
    bound = inspect.signature(ensemble).bind(model, members, **request)
    bound.apply_defaults()
    request = bound.arguments
    plan, done = plan_of(request), frozenset()
    store = None if request["store"] is None else root_of(request["store"])
    if store is not None and store.exists():
        plan, done = finished(store, plan)
    workers = min(request["workers"] or default_workers(plan.job.devices), plan.size)
    before = time.perf_counter()
    sampled = _sampled(plan, workers if plan.size >= 4 * workers else 1)
    compile_blocks(sampled)  # not the plan's: the sample's blocks are shorter if few members are valid
    compile_seconds = time.perf_counter() - before
    ran, took = _timed(sampled, workers)
    retried = any(found["retries"].any() for found in ran)
    if took < _SHORT or retried:
        first, (ran, took) = took, _timed(sampled, workers)
        compile_seconds += max(first - took, 0.0) if retried else 0.0
    sizes = [found["status"].size for found in ran]
    wide = [number for number, retry in enumerate(plan.retries, start=1) if retry.name == FLOAT64_RETRY]
    longest = _most_of_one_worker(plan, (block for block in range(plan.size) if block not in done), workers)
    block = math.prod(plan.block_shape)
    batch = min(block, plan.batch or block)
    need = bytes_per_member(plan.job, plan.results)
    return Estimate(
        members=plan.members.size,
        shape=plan.members.shape,
        blocks=plan.size,
        block=block,
        done=len(done),
        workers=workers,
        result_bytes=plan.members.size * plan.result_bytes,
        disk_bytes=disk_bytes(plan),
        process_bytes=_peak(),
        working_bytes=workers * (batch * need + (block - batch) * plan.result_bytes),
        free_memory=free_memory(),
        free_disk=None if store is None else free_bytes(store),
        disk_files=disk_files(plan),
        free_files=None if store is None else free_files(store),
        sample=sum(sizes),
        sample_seconds=took,
        compile_seconds=compile_seconds,
        promoted=sum(int(np.isin(found["retries"], wide).sum()) for found in ran),
        seconds=longest * took / max(sizes),
    )


def _timed(plan: Plan, workers: int) -> tuple[list[Results], float]:
    """The results of all blocks, and the time in s that they took."""
    before = time.perf_counter()
    ran = [found for _, found in run_blocks(plan, range(plan.size), workers)]
    return ran, time.perf_counter() - before


def _sampled(plan: Plan, blocks: int) -> Plan:
    """A plan of some full blocks of members, each spread evenly over the scan."""
    block = min(math.prod(plan.block_shape), plan.batch or plan.members.size)
    runnable = plan.runnable
    size = len(next(iter(runnable.values())))
    count = min(size, blocks * block)
    spread = np.linspace(0, size - 1, count).astype(int)
    index = np.concatenate([spread[i::blocks] for i in range(blocks)])
    values = {name: x[index] for name, x in runnable.items()}
    members = Members(("sample",), (count,), values, {})
    return replace(plan, members=members, valid=None, block_shape=(math.ceil(count / blocks),))


def _most_of_one_worker(plan: Plan, blocks: Iterable[int], workers: int) -> int:
    """Number of members that the busiest worker runs, if each takes the next block as soon as it is free."""
    valid = np.ones(plan.members.size, bool) if plan.valid is None else plan.valid
    box = valid.reshape(plan.members.shape)
    totals = [0] * workers
    for block in blocks:
        heapq.heapreplace(totals, totals[0] + int(np.count_nonzero(box[plan.region(block)])))
    return max(totals)


def _peak() -> int:
    """Peak memory of this process in bytes; 0 where the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def duration(seconds: float) -> str:
    """A time as text in a convenient unit, such as "1.5 h"."""
    units = (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 0.0))
    unit, length = next((one for one in units if seconds >= 1.5 * one[1]), units[-1])
    number = seconds / (length or 1.0)
    return f"{number:.2g} {unit}" if number < 10.0 else f"{number:.0f} {unit}"
