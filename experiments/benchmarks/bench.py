"""`jaxgait bench`: everything side by side in one run; tables on the screen, rows and targets in a JSON file."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import time
from collections.abc import Iterator
from typing import Any

import diffrax
import equinox as eqx
import jax
import numpy
import scipy
from jax.experimental.compilation_cache import compilation_cache

import jaxgait
from jaxgait import precision, report

from . import gradients, knee, loops, lorenz, page, walker
from .rows import Row, Target, announce, table


def bench(
    json_path: pathlib.Path | None = None, quick: bool = False, page_path: pathlib.Path | None = None
) -> dict[str, Any]:
    """Runs all benchmarks and prints their tables, one after the other.

    Args:
        json_path: file for rows and targets; none is written if None.
        quick: small sizes, a minute instead of half an hour. Ratios of small ensembles and short runs are worse, so no
            target is judged by them.
        page_path: Markdown page to write, with a picture of the same name next to it.

    Returns:
        What is written to the file: machine, versions, date, load, `rows`, and `targets` with what, target, measured,
        met.
    """
    rows: list[Row] = []
    targets: list[Target] = []
    begin, load = time.perf_counter(), os.getloadavg()[0]
    parts: list[Any] = [walker, knee, loops] if quick else [walker, knee, gradients, loops, lorenz]
    result: dict[str, Any] = {}
    with precision.use("float64"), compiled_anew():
        for part in parts:
            more_rows, more_targets = part.measure(quick)
            more_targets = [dataclasses.replace(t, full_size=t.full_size and not quick) for t in more_targets]
            print(table(more_rows, more_targets) + "\n", flush=True)
            rows += more_rows
            targets += more_targets
            result = {
                "machine": report.machine(),
                "processor": processor(),
                "versions": {m.__name__: m.__version__ for m in (jaxgait, jax, diffrax, eqx, numpy, scipy)},
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "load": [load, os.getloadavg()[0]],
                "quick": quick,
                "seconds": time.perf_counter() - begin,
                "rows": [r.as_dict() for r in rows],
                "targets": [t.as_dict() for t in targets],
            }
            if json_path is not None:  # after every part: a run that is interrupted leaves what it has
                json_path.write_text(json.dumps(result, indent=1) + "\n")
            if page_path is not None:
                page.write(result, page_path)
    announce(f"{time.perf_counter() - begin:.0f} s in all")
    return result


def processor() -> str:
    """The processor's name, where the system reports it."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@contextlib.contextmanager
def compiled_anew() -> Iterator[None]:
    """Disables disk caches of compiled programs: compile times are part of what is measured."""
    ours, before = os.environ.get("JAXGAIT_CACHE"), jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    jax.config.update("jax_compilation_cache_dir", None)
    os.environ["JAXGAIT_CACHE"] = "off"
    compilation_cache.reset_cache()
    try:
        yield
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
        os.environ.pop("JAXGAIT_CACHE")
        os.environ |= {} if ours is None else {"JAXGAIT_CACHE": ours}
        compilation_cache.reset_cache()
