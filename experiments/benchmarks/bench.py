"""`jaxgait bench`: everything side by side in one run; a table on the screen, rows and targets in a JSON file."""

from __future__ import annotations

import json
import pathlib
import time
from typing import Any

import diffrax
import equinox as eqx

import jaxgait
from jaxgait import precision, report

from . import gradients, knee, lorenz, walker
from .rows import Row, Target, table


def bench(json_path: pathlib.Path | None = None, quick: bool = False) -> dict[str, Any]:
    """Runs all benchmarks and prints their tables, one after the other.

    Args:
        json_path: file for rows and targets; none is written if None.
        quick: small sizes, a minute instead of a quarter of an hour; ratios of small ensembles are worse.

    Returns:
        What is written to the file: machine, versions, `rows`, and `targets` with what, target, measured, met.
    """
    rows: list[Row] = []
    targets: list[Target] = []
    begin = time.perf_counter()
    parts: list[Any] = [walker, knee] if quick else [walker, lorenz, gradients, knee]
    result: dict[str, Any] = {}
    with precision.use("float64"):
        for part in parts:
            more_rows, more_targets = part.measure(quick)
            print(table(more_rows, more_targets) + "\n", flush=True)
            rows += more_rows
            targets += more_targets
            result = _result(rows, targets, quick, time.perf_counter() - begin)
            if json_path is not None:  # after every part: a run that is interrupted leaves what it has
                json_path.write_text(json.dumps(result, indent=1) + "\n")
    return result


def _result(rows: list[Row], targets: list[Target], quick: bool, seconds: float) -> dict[str, Any]:
    return {
        "machine": report.machine(),
        "versions": {m.__name__: m.__version__ for m in (jaxgait, diffrax, eqx)},
        "quick": quick,
        "seconds": seconds,
        "rows": [r.as_dict() for r in rows],
        "targets": [t.as_dict() for t in targets],
    }
