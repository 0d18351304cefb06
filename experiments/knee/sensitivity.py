"""Which parameters of the knee and its foot rho and the peak flexion depend on: Sobol indices, slopes beside them.

Run `python -m experiments.knee.sensitivity --out DIR`: a table (sensitivity.md) and a picture (sensitivity.png) from
one ensemble of walks, rows times (2 + parameters) of them.

Expect interactions: in the corner of a long link arm and high friction the knee straightens fully in stance (smallest
flexion below 0.1 degrees, 0.4 at the centre) and rho falls from 0.996 to between 0.8 and 0.93, strides no longer equal.
That corner is most of rho's variance, and no slope at the centre knows of it.
"""

from __future__ import annotations

import pathlib
import sys
import time

import matplotlib.pyplot as plt
import numpy as np
import tyro
import xarray as xr
from matplotlib.figure import Figure

from jaxgait.analysis.sensitivity import sensitivity
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.parameters import get_parameter, with_parameters
from jaxgait.plot.style import BLUE, GREY, ORANGE, save, style

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
"""Half widths relative to the reference: 10 % for properties, 2 % for lengths, of which the paper prints no value."""
MEASURES = ("rho", "peak_flexion")
STRIDES = 24
"""Enough for walks in this box to settle; after twelve, transients pass for interactions of parameters."""
RTOL = 1e-5
STEEPNESS = 1e4
"""Of the touch-down in 1/m: soft enough for slopes."""


def table(rows: int) -> xr.Dataset:
    """Indices of both measures over all ranges; no dimension."""
    leg = with_parameters(Prosthesis(), {"ground.steepness": STEEPNESS})
    own = {name: (float(get_parameter(leg, name)), share) for name, share in RANGES.items()}
    over = {name: ((1.0 - share) * x, (1.0 + share) * x) for name, (x, share) in own.items()}
    return sensitivity(leg, over, MEASURES, rows=rows, strides=STRIDES, rtol=RTOL, retry=False, progress=False)


def picture(found: xr.Dataset) -> Figure:
    """First-order and total indices with their intervals, and what the slopes alone would say."""
    names = [str(name) for name in found.parameter.values]
    at = np.arange(len(names))
    with style():
        figure, axes = plt.subplots(1, len(MEASURES), figsize=(9.0, 3.8), sharey=True, layout="constrained")
        for ax, name in zip(axes, MEASURES, strict=True):
            one = found.sel(measure=name)
            for shift, kind, colour, text in ((0.15, "first", BLUE, "first order"), (-0.15, "total", ORANGE, "total")):
                low, high = one[f"{kind}_interval"].values.T
                ax.hlines(at + shift, low, high, color=colour, lw=2)
                ax.plot(one[kind], at + shift, "o", color=colour, label=text)
            ax.plot(one["linear"], at, "x", color=GREY, label="from slopes at the centre")
            ax.set(title=name.replace("_", " "), xlabel="share of the variance")
            ax.axvline(0.0, color=GREY, lw=0.8)
        axes[0].set_yticks(at, names)
        axes[0].invert_yaxis()
        figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def rows_of(found: xr.Dataset) -> str:
    """The table in Markdown."""
    lines = ["| measure | parameter | first | total | from slopes |", "|---|---|---|---|---|"]
    for name in MEASURES:
        one = found.sel(measure=name)
        for parameter in found.parameter.values:
            here = one.sel(parameter=parameter)
            cells = [_with_interval(here, "first"), _with_interval(here, "total"), f"{float(here['linear']):.2f}"]
            lines.append("| " + " | ".join([name, str(parameter), *cells]) + " |")
    return "\n".join(lines)


def _with_interval(here: xr.Dataset, kind: str) -> str:
    low, high = here[f"{kind}_interval"].values
    return f"{float(here[kind]):.2f} ({low:.2f} to {high:.2f})"


def main(out: pathlib.Path, rows: int = 256) -> None:
    """Measures, draws and writes."""
    begin = time.perf_counter()
    found = table(rows)
    took = time.perf_counter() - begin
    out.mkdir(parents=True, exist_ok=True)
    save(picture(found), out / "sensitivity.png")
    each = zip(MEASURES, found["mean"].values, found["deviation"].values, found["rows"].values, strict=True)
    spread = "; ".join(f"{name} {mean:.4g} +- {sd:.2g} ({n} rows)" for name, mean, sd, n in each)
    walks = f"{found.attrs['members']} walks of {STRIDES} strides in {took:.0f} s"
    text = f"{rows_of(found)}\n\n{walks}. Mean and standard deviation over the box: {spread}.\n"
    (out / "sensitivity.md").write_text(text)
    print(text)


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
