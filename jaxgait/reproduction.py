"""The parts of a reproduction: timed, on CPUs side by side in processes, and written as one report."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import pathlib
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from tqdm import tqdm

from jaxgait import precision
from jaxgait.ensembles.plan import default_workers
from jaxgait.outcome import NoResult
from jaxgait.report import Report, table

MAX_PROCESSES = 4
"""Each process takes up to two gigabytes of memory."""


class Parts:
    """Runs the parts of a reproduction in float64 and measures the time of each; see `parts`."""

    def __init__(self, report: Report, out: pathlib.Path, bar: tqdm, pool: ProcessPoolExecutor | None) -> None:
        self._report, self._out, self._bar, self._pool = report, out, bar, pool
        self.seconds: dict[str, float] = {}

    def run(self, name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        """What `work(*arguments)` returns, run in this process."""
        return self._finish(name, lambda: _timed(work, *arguments))

    def start(self, name: str, work: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
        """Starts `work(*arguments)` in another process, and returns a function that waits for its result.

        Work, arguments and result must be picklable. Without other processes (on GPUs, and on a single core) the
        returned function runs the work.
        """
        if self._pool is None:
            return lambda: self.run(name, work, *arguments)
        future = self._pool.submit(_with_warnings, work, *arguments)

        def wait() -> tuple[Any, float]:
            found, seconds, warned = future.result()
            for message, category in warned:
                warnings.warn(message, category, stacklevel=2)
            return found, seconds

        return lambda: self._finish(name, wait)

    def add(self, parts: Mapping[str, Callable[[Report, pathlib.Path], None]]) -> None:
        """Runs independent parts side by side, and appends what they add to the report in the order given."""
        waiting = [self.start(name, _reported, add, self._out) for name, add in parts.items()]
        for wait in waiting:
            self._report.append(wait())

    def _finish(self, name: str, result: Callable[[], tuple[Any, float]]) -> Any:
        self._bar.set_description(name)
        try:
            found, self.seconds[name] = result()
        except BrokenProcessPool as error:
            raise NoResult(
                f"a process ended while {name!r} was running: out of memory, or called from a script without "
                "`if __name__ == '__main__':`"
            ) from error
        self._bar.update()
        return found


@contextlib.contextmanager
def parts(report: Report, out: pathlib.Path, count: int, progress: bool | None) -> Iterator[Parts]:
    """Runs the parts of a reproduction, then adds their times to the report and writes it into `out`.

    Args:
        report: the report.
        out: a folder, made if need be.
        count: number of parts.
        progress: whether to show a bar.

    Raises:
        jaxgait.outcome.NoResult: inside the block, if a process ends before its part.

    Examples:
        >>> import pathlib, tempfile
        >>> from jaxgait.report import Report
        >>> from jaxgait.reproduction import parts
        >>> report, out = Report("Falling"), pathlib.Path(tempfile.mkdtemp())
        >>> with parts(report, out, 1, progress=False) as part:
        ...     speed = part.run("one second", lambda g: g * 1.0, 9.81)
        >>> print(speed, list(part.seconds), (out / "report.md").exists())
        9.81 ['one second'] True
    """
    out.mkdir(parents=True, exist_ok=True)
    with precision.use("float64"), tqdm(total=count, unit="part", disable=not progress) as bar, _processes() as pool:
        part = Parts(report, out, bar, pool)
        yield part
    rows = ([name, f"{seconds:.0f}"] for name, seconds in part.seconds.items())
    report.section("Time", table(["part (compilation included)", "s"], rows))
    report.write(out)


@contextlib.contextmanager
def _processes() -> Iterator[ProcessPoolExecutor | None]:
    """Processes that start when they are needed and end with the block; None where a second one gains nothing."""
    workers = min(default_workers(1), MAX_PROCESSES)
    if workers == 1:
        yield None
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_become_worker)
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _become_worker() -> None:
    """Leaves Ctrl-C to the parent process, ends with it, and shows no progress bars besides the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tqdm.set_lock(threading.RLock())  # (tqdm's own is shared by processes: Python complains if one is terminated)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    sys.stderr = _Log(sys.stderr.buffer, encoding="utf-8", errors="backslashreplace", line_buffering=True)


class _Log(io.TextIOWrapper):
    """A stream that is not taken for a terminal."""

    def isatty(self) -> bool:
        return False


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """The result of a part, and the time that it took in s."""
    begin = time.perf_counter()
    with precision.use("float64"):
        return work(*arguments), time.perf_counter() - begin


def _with_warnings(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float, list[tuple[str, type[Warning]]]]:
    """What `_timed` returns for a part in another process, and its warnings: issued there, they would name its code."""
    with warnings.catch_warnings(record=True) as caught:
        found, seconds = _timed(work, *arguments)
    return found, seconds, [(str(each.message), each.category) for each in caught]


def _reported(add: Callable[[Report, pathlib.Path], None], out: pathlib.Path) -> Report:
    """What a part adds to a report."""
    report = Report("")
    add(report, out)
    return report
