"""Which parameters of the knee and its foot rho and the peak flexion depend on: Sobol indices and slopes.

Run `python -m experiments.knee.sensitivity --out DIR`: a table (sensitivity.md) and a picture (sensitivity.png) from
one ensemble of walks, rows times (2 + parameters) of them.

Expect interactions: in the corner of a long link arm and high friction the knee straightens fully in stance (smallest
flexion below 0.1 degrees, 0.4 at the centre) and rho falls from 0.996 to between 0.8 and 0.93, strides no longer equal.
That corner is most of rho's variance, and no slope at the centre shows it.
"""

from __future__ import annotations

import pathlib
import sys
import time

import tyro
import xarray as xr

from experiments.knee.search import leg
from experiments.knee.tune import RTOL
from jaxgait import report
from jaxgait.analysis.sensitivity import sobol_indices
from jaxgait.parameters import get_parameter
from jaxgait.plot.sensitivities import shares
from jaxgait.plot.style import save

RANGES = {
    "damper.k": 0.1,
    "damper.c": 0.1,
    "ankle.stiffness": 0.1,
    "ground.friction": 0.1,
    "masses.shank": 0.1,
    "damper.thigh_arm": 0.02,
    "damper.link_arm": 0.02,
    "linkage.l_AB": 0.02,
}
"""Half widths relative to the reference: 10 % for properties, 2 % for lengths, which the paper does not print."""
MEASURES = ("rho", "peak_flexion")
STRIDES = 24
"""Enough for walks in this box to settle; after twelve, transients pass for interactions of parameters."""


def table(rows: int) -> xr.Dataset:
    """Indices of both measures over all ranges; no dimension."""
    knee = leg()
    own = {name: (float(get_parameter(knee, name)), share) for name, share in RANGES.items()}
    over = {name: ((1.0 - share) * x, (1.0 + share) * x) for name, (x, share) in own.items()}
    return sobol_indices(knee, over, MEASURES, count=rows, strides=STRIDES, rtol=RTOL, retry=False, progress=False)


def rows_of(indices: xr.Dataset) -> str:
    """The table in Markdown."""
    rows = []
    for name in MEASURES:
        one = indices.sel(measure=name)
        for parameter in indices.parameter.values:
            here = one.sel(parameter=parameter)
            cells = [_with_interval(here, "first"), _with_interval(here, "total"), f"{float(here['linear']):.2f}"]
            rows.append([name, str(parameter), *cells])
    return report.table(["measure", "parameter", "first", "total", "from slopes"], rows)


def _with_interval(here: xr.Dataset, kind: str) -> str:
    low, high = here[f"{kind}_interval"].values
    return f"{float(here[kind]):.2f} ({low:.2f} to {high:.2f})"


def main(out: pathlib.Path, rows: int = 256) -> None:
    """Measures, draws and writes."""
    begin = time.perf_counter()
    found = table(rows)
    took = time.perf_counter() - begin
    out.mkdir(parents=True, exist_ok=True)
    save(shares(found), out / "sensitivity.png")
    each = zip(MEASURES, found["mean"].values, found["deviation"].values, found["rows"].values, strict=True)
    spread = "; ".join(f"{name} {mean:.4g} +- {sd:.2g} ({n} rows)" for name, mean, sd, n in each)
    walks = f"{found.attrs['members']} walks of {STRIDES} strides in {took:.0f} s"
    text = f"{rows_of(found)}\n\n{walks}. Mean and standard deviation over the box: {spread}.\n"
    (out / "sensitivity.md").write_text(text)
    print(text)


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
