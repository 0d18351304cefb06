"""How well the search for the knee's damper does: against a fine scan, by method, in processor time.

Run `python -m experiments.knee.search --json FILE`; about three minutes of processor time. Every figure is measured
here and compared with the `targets` set for the search. `basins` shows where the starts ended: a third of them
climb to the optimum of the period-one gait itself (k = 22.6 kN/m, multiplier 1.5), better than any stable one by 5e-5
and of no use, since walks diverge from it.
"""

from __future__ import annotations

import functools
import json
import pathlib
import sys
import time
from typing import Annotated, Any

import numpy as np
import tyro

from experiments.knee.tune import OVER, RTOL, soft
from jaxgait import ensemble
from jaxgait.ensembles import grid, sobol
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.optimization import Optimum, optimize
from jaxgait.report import machine

STARTS = 64
SCAN = {"damper.k": np.arange(1.55e4, 1.67e4, 30.0), "damper.c": np.array([400.0, 420.0, 440.0, 480.0])}
"""The neighbourhood of the optimum in steps of 0.2 % of k."""


def leg() -> Prosthesis:
    """The reference knee with a touch-down soft enough for gradients."""
    return soft(Prosthesis())


def period_one_starts(count: int) -> list[dict[str, float]]:
    """The first Sobol points whose walks, after twenty strides, have the period of the drive."""
    cloud = sobol(OVER, 2 * count, seed=0)
    walks = ensemble(leg(), cloud, strides=20, rtol=RTOL, observe=["order"], progress=False)
    inside = np.flatnonzero(walks.order.values == 1)[:count]
    return [{name: float(cloud.values[name][i]) for name in OVER} for i in inside]


def search(starts: Any, **options: Any) -> tuple[Optimum, float, float]:
    """One search, with its processor time and its time in s."""
    begin, wall = time.process_time(), time.perf_counter()
    found = optimize(leg(), maximize="rho", over=OVER, starts=starts, rtol=RTOL, progress=False, **options)
    return found, time.process_time() - begin, time.perf_counter() - wall


def scanned() -> tuple[float, float, float]:
    """k, c and rho of the best of a fine scan of walks of twenty strides: no gradient, no gait solved for."""
    walks = ensemble(leg(), grid(SCAN), strides=20, rtol=RTOL, observe=["rho"], progress=False)
    best = walks.rho.isel(walks.rho.argmax(...))
    return float(best["damper.k"]), float(best["damper.c"]), float(best)


def figures(starts: int = STARTS, methods: tuple[str, ...] = ()) -> dict[str, Any]:
    """All figures, and the targets; some starts by other methods too."""
    points = period_one_starts(starts)
    search(points[:2])  # compiles
    five, cpu_5, wall_5 = search(points[:5])
    many, cpu_64, wall_64 = search(points)
    k, c, rho = scanned()
    reached = np.abs(many.ends.objective.values - many.objective) < 1e-5
    row = functools.partial(_row, many.objective)
    rows = [row("SLSQP, 5 starts", five, cpu_5, wall_5), row(f"SLSQP, {len(points)} starts", many, cpu_64, wall_64)]
    rows += [row(f"{name}, 4 starts", *search(points[:4], method=name, strides=12)) for name in methods]
    median = float(np.median(many.ends.evaluations))
    targets = [
        _target(
            "k of the optimum against a fine scan, relative", 0.01, abs(many.best["damper.k"] / k - 1.0), at_most=True
        ),
        _target("rho of the optimum below that of the scan", 1e-5, max(rho - many.objective, 0.0), at_most=True),
        _target("share of starts in the period-one region that reach it within 1e-5", 60 / 64, float(reached.mean())),
        _target("processor time on 2 cores, s per core and 64 starts", 60.0, 32 * cpu_64 / len(points), at_most=True),
        _target("processor time of 5 starts on 2 cores, s per core", 15.0, cpu_5 / 2, at_most=True),
        _target("evaluations a start, median", 15, median, at_most=True),
    ]
    return {
        "machine": machine(),
        "optimum": many.best | {"rho": many.objective},
        "scan": {"damper.k": k, "damper.c": c, "rho": rho},
        "gradient": many.gradient,
        "rows": rows,
        "basins": basins(many),
        "targets": targets,
    }


def basins(optimum: Optimum) -> list[dict[str, Any]]:
    """The points where starts ended, the best first: how many starts ended there, and why."""
    columns = {str(name): column.values.tolist() for name, column in optimum.basins.data_vars.items()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [row | {"why": optimum.why_stopped[row["best_start"]]} for row in rows]


def _row(best: float, what: str, optimum: Optimum, cpu: float, wall: float) -> dict[str, Any]:
    ends = optimum.ends
    return {
        "what": what,
        "rho": optimum.objective,
        **optimum.best,
        "evaluations a start, median": float(np.median(ends.evaluations)),
        "evaluations": int(ends.evaluations.sum()),
        "of them failed": int(ends.failed.sum()),
        "starts within 1e-5 of the best of all": int((np.abs(ends.objective.values - best) < 1e-5).sum()),
        "processor time s": round(cpu, 2),
        "time s": round(wall, 2),
    }


def _target(what: str, target: float, measured: float, at_most: bool = False) -> dict[str, Any]:
    met = measured <= target if at_most else measured >= target
    return {"what": what, "target": target, "measured": measured, "met": bool(met)}


def main(
    json_file: Annotated[pathlib.Path | None, tyro.conf.arg(name="json")] = None,
    starts: int = STARTS,
    methods: tuple[str, ...] = (),
) -> None:
    """Measures, prints and writes; `--methods SLSQP L-BFGS-B` compares those on four starts."""
    found = figures(starts, methods)
    text = json.dumps(found, indent=1)
    print(text)
    if json_file is not None:
        json_file.write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
