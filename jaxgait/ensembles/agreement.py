"""Compares a member, simulated again, with its scan: if their ends differ, the scan may not describe the member."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import numpy as np

from jaxgait.ensembles.labels import status_codes, status_text
from jaxgait.outcome import failures
from jaxgait.support import xr
from jaxgait.support.units import with_unit

WITHIN = {"float64": (1e-3, 1e-9), "float32": (1e-2, 1e-5)}
"""By precision: how far two ends may differ by rounding, relative to the motion's range and absolute, in SI units.

On one machine, repeated runs agree to the last digits, unless the scan watched extremes: its steps then differ.
"""
CAUSES = (
    "unless the motion is chaotic, or another version made the scan, its attributes or coordinates are not this "
    "member's (joined scans keep the attributes of the first)"
)


def disagreement(member: xr.Dataset, run: xr.Dataset, states: Iterable[str], precision: str = "float64") -> str:
    """Describes how the ends of a member in its scan and in a new run differ; empty if they agree.

    Failed members are not compared, because the time of a failure depends on every step, and neither are masked ones.

    Args:
        member: a member of a scan, without dimensions of the scan.
        run: as `simulate` returns it, or a member of an ensemble with trajectories over `time`.
        states: names of the components of the state.
        precision: of the run.
    """
    before = int(status_codes(member["status"])) if {"status", "t_end"} <= {*member.data_vars} else -1
    if before < 0 or failures(before):
        return ""
    now = int(run["status"] if "status" in run else run.attrs["status"])
    relative, absolute = WITHIN[precision]
    names, old, new, size, unit = zip(*_ends(member, run, states), strict=True)
    beyond = np.abs(np.subtract(new, old)) / (relative * np.array(size) + absolute)
    if now == before and not (beyond > 1.0).any():
        return ""
    one = int(np.argmax(np.nan_to_num(beyond)))
    legend = json.loads(member.attrs.get("status_legend", "{}"))
    end = lambda status, x: f"{names[one]} = {with_unit(f'{x:.6g}', unit[one])} ({status_text(status, legend)})"
    return f"in the scan it ended at {end(before, old[one])}, now at {end(now, new[one])}"


def _ends(member: xr.Dataset, run: xr.Dataset, states: Iterable[str]) -> Iterator[tuple[str, float, float, float, str]]:
    """Yields for the end time and each number of the state: name, end in the scan, end of the run, range, unit."""
    t_end = float(run["t_end"] if "t_end" in run else run.attrs["t_end_s"])
    yield "t_end", float(member["t_end"]), t_end, t_end, "s"
    for name in (n for n in states if n in run and f"{n}_end" in member):
        history = run[name].to_numpy().reshape(run.sizes["time"], -1)
        # The last sample of a run that ended early is NaN: then only the end times are compared.
        last = run[f"{name}_end"].to_numpy().ravel() if f"{name}_end" in run else history[-1]
        size = np.fmax.reduce(np.abs(history), axis=0, initial=0.0)
        for old, new, most in zip(member[f"{name}_end"].to_numpy().ravel(), last, size, strict=True):
            yield name, float(old), float(new), float(most), str(run[name].attrs.get("units", "1"))
