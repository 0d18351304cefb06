"""Runs the blocks of a plan, on threads of this process or on the workers of a Dask cluster, and shows the progress.

Progress is a bar on a terminal or in a notebook; in a log an occasional line, if the scan takes more than a minute.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, TypeAlias

import jax
import numpy as np
from tqdm import tqdm

from jaxgait.ensembles.plan import Plan, Task, default_workers, run_task, task_of, with_invalid
from jaxgait.ensembles.store import store_library
from jaxgait.outcome import NoResult, failures
from jaxgait.support.checks import shown
from jaxgait.support.notes import PATIENCE, is_watched

Results: TypeAlias = dict[str, np.ndarray]

_PATIENCE = 10
"""Timeout in s of a scheduler."""
_AHEAD = 2
"""Number of blocks submitted per thread: enough that none idles, few enough that results do not pile up."""


def run_blocks(
    plan: Plan, blocks: Iterable[int], workers: int | None = None, cluster: Any = None
) -> Iterator[tuple[int, Results]]:
    """Runs blocks and yields each with its number as soon as it is done, in any order.

    They run in threads (see `default_workers`), or with `cluster` (a client or an address) on Dask workers.

    Raises:
        jaxgait.outcome.NoResult: if a block cannot run, with its cause; blocks yielded before are valid.
        ConnectionError: if no scheduler answers.
    """
    if cluster is None:
        return _on_threads(plan, blocks, workers or default_workers(plan.job.devices))
    return _on_cluster(plan, blocks, cluster)


def _on_threads(plan: Plan, blocks: Iterable[int], workers: int) -> Iterator[tuple[int, Results]]:
    pool = ThreadPoolExecutor(workers, thread_name_prefix="jaxgait")
    config: Any = jax.config
    device = config.jax_default_device  # of this thread

    def run(block: int) -> Results:
        with jax.default_device(device):
            return run_task(task_of(plan, block))

    done = lambda futures: wait(futures, return_when=FIRST_COMPLETED).done
    try:
        yield from _as_finished(plan, blocks, workers, lambda block: pool.submit(run, block), done)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _on_cluster(plan: Plan, blocks: Iterable[int], cluster: Any) -> Iterator[tuple[int, Results]]:
    """Runs blocks on Dask workers; if one dies, Dask runs its blocks on another."""
    cloudpickle = store_library("cloudpickle")
    distributed, client = store_library("distributed"), connected(cluster)
    threads: Any = client.nthreads()
    queue = distributed.as_completed()
    common = cloudpickle.dumps(replace(task_of(plan, 0), values={}))

    def submit(block: int) -> Any:
        future = client.submit(_run_remotely, common, task_of(plan, block).values, pure=False)
        queue.add(future)
        return future

    try:
        yield from _as_finished(plan, blocks, sum(threads.values()), submit, lambda _: queue.next_batch())
    finally:
        if client is not cluster:
            client.close()


def _as_finished(
    plan: Plan,
    blocks: Iterable[int],
    threads: int,
    submit: Callable[[int], Any],
    done: Callable[[Mapping[Any, int]], Iterable[Any]],
) -> Iterator[tuple[int, Results]]:
    """Yields each block as soon as it is done; raises a failure only after all finished blocks, so that none is lost.

    Args:
        plan: the scan.
        blocks: numbers of the blocks to run.
        threads: number of blocks that run in parallel. Only a few more are submitted, so that results do not pile up in
            memory if the disk is slower.
        submit: begins a block and returns its future.
        done: waits until some of the futures (the keys) are done and returns these.
    """
    remaining = iter(blocks)
    futures = {submit(block): block for block in itertools.islice(remaining, _AHEAD * max(1, threads))}
    while futures:
        failed = []
        for future in sorted(done(futures), key=futures.__getitem__):
            block = futures.pop(future)
            try:
                found = _result(plan, block, future)
            except NoResult as failure:
                failed.append(failure)
                continue
            if not failed:
                futures |= {submit(following): following for following in itertools.islice(remaining, 1)}
            yield block, found
        if failed:
            raise failed[0]


def connected(cluster: Any) -> Any:
    """The client of a cluster, from its scheduler's address; a client unchanged.

    Raises:
        ConnectionError: if no scheduler answers at the address, and for a client that is closed.
        TypeError: for anything else.
    """
    distributed = store_library("distributed")
    if isinstance(cluster, distributed.Client):
        if cluster.status != "running":
            raise ConnectionError(f"the Dask client is {cluster.status}: make another one, such as Client(cluster)")
        return cluster
    if not isinstance(cluster, str):
        raise TypeError(f"cluster must be an address such as 'tcp://host:8786' or a dask Client, got {shown(cluster)}")
    try:
        with _quiet():
            return distributed.Client(cluster, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answered at {cluster!r} within {_PATIENCE} s: start one with `dask scheduler` and give "
            "its address as tcp://host:port"
        ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences Dask's log of errors that are also raised as exceptions."""
    log, silent = logging.getLogger("distributed"), lambda record: False
    log.addFilter(silent)
    try:
        yield
    finally:
        log.removeFilter(silent)


def _run_remotely(common: bytes, values: dict[str, np.ndarray]) -> Results:
    return run_task(replace(_unpacked(common), values=values))


@functools.lru_cache(maxsize=8)
def _unpacked(common: bytes) -> Task:
    """The task that all blocks share: the same objects every time, so that a worker compiles once."""
    return pickle.loads(common)


def _result(plan: Plan, block: int, future: Any) -> Results:
    """The results of a finished block; if it failed, raises its error with the block's position in the box."""
    try:
        return with_invalid(plan, block, future.result())
    except Exception as error:
        region = zip(plan.members.dims, plan.region(block), strict=True)
        region_text = ", ".join(f"{dim} {part.start}..{part.stop - 1}" for dim, part in region)
        raise NoResult(f"block {block} of {plan.size} ({region_text}) could not run: {error}") from error


_FORMAT = "{desc}{percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} [{elapsed}, {remaining} left{postfix}]"
"""What matters most first: a narrow terminal cuts off the end."""
FIRST_LINE, BETWEEN_LINES = 60.0, 300.0
"""Seconds until the first line in a log, and between further lines."""


class Meter:
    """A progress bar over the members of a plan; `show=None`: if somebody watches, otherwise an occasional line."""

    def __init__(self, plan: Plan, done: int = 0, show: bool | None = None) -> None:
        self._plan = plan
        self._blocks = done
        self._failures = 0
        self._lines = show is None and not is_watched()
        self._begun, self._first = time.monotonic(), done
        self._due = self._begun + FIRST_LINE
        terminal = sys.stderr is not None and sys.stderr.isatty()
        delay = 0.0 if show or terminal else PATIENCE  # a notebook keeps every bar
        self._bar = tqdm(
            total=plan.members.size,
            initial=min(plan.members.size, round(plan.members.size * done / plan.size)),
            disable=not (is_watched() if show is None else show),
            delay=delay,
            bar_format=_FORMAT,
        )
        self._describe()
        if not delay:
            self._bar.refresh()

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()

    def add(self, status: np.ndarray) -> None:
        """Counts one more block with the status codes (members,) of its members."""
        self._blocks += 1
        self._failures += int(failures(status).sum())
        self._describe()
        self._bar.update(status.size)
        if self._lines and time.monotonic() >= self._due and self._blocks < self._plan.size:
            self._due = time.monotonic() + BETWEEN_LINES
            print(f"jaxgait: {self._line()}", file=sys.stderr, flush=True)

    def _line(self) -> str:
        done, all_of_them = self._blocks, self._plan.size
        left = (time.monotonic() - self._begun) / (done - self._first) * (all_of_them - done)
        return (
            f"{100 * done // all_of_them} %: {done} of {all_of_them} blocks, {self._failures} failed, "
            f"about {max(left / 60, 1):.0f} min left"
        )

    def _describe(self) -> None:
        self._bar.set_description_str(f"{self._failures} failed, ", refresh=False)
        self._bar.set_postfix_str(f"{self._blocks}/{self._plan.size} blocks", refresh=False)
