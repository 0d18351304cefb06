"""Spatiotemporal parameters of measured walks, as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from jaxgait.motion.capture.tables import SPATIOTEMPORAL, SYMMETRIC, side_means, spatiotemporal
from jaxgait.motion.capture.walk import Walk
from jaxgait.support.checks import count_of


def table_lines(walks: Sequence[Walk]) -> Iterator[str]:
    """Lines of a table with mean and standard deviation by side, and the symmetry of both sides."""
    means = side_means(spatiotemporal(*walks))
    sides = [str(side) for side in means.side.values]
    counts = [count_of(int(n), "stride", "strides") for n in means.strides.values]
    heads = "".join(f"{f'{side} ({count})':>20}" for side, count in zip(sides, counts, strict=True))
    given = walks[0].assumed_path is not None
    yield f"{'mean and SD of':26}{heads}" + ("   symmetry index  right/left" if len(sides) == 2 else "")
    for name, quantity in SPATIOTEMPORAL.items():
        cells = [_cell(*pair) for pair in zip(means[name].values, means[f"{name}_sd"].values, strict=True)]
        if name == "speed" and given:
            cells = [f"{mean:.4g} (given)" for mean in means[name].values]
        line = f"{name.replace('_', ' ') + f' ({quantity.units})':26}" + "".join(f"{cell:>20}" for cell in cells)
        if len(sides) == 2 and name in SYMMETRIC and math.isfinite(means[f"{name}_ratio"].item()):
            line += f"{means[f'{name}_symmetry_index'].item():+15.1f} %{means[f'{name}_ratio'].item():12.3f}"
        yield line
    if given:
        yield "stride length: the given speed times the stride time, because no footprints were recorded"


def _cell(mean: float, deviation: float) -> str:
    if not math.isfinite(mean):
        return "not known"
    return f"{mean:.4g}" + (f" +- {deviation:.2g}" if math.isfinite(deviation) else "")


def table_record(walks: Sequence[Walk]) -> dict[str, Any]:
    """That table as JSON: by side the number of strides, mean and standard deviation (null if not known), and units."""
    means = side_means(spatiotemporal(*walks))
    number = lambda x: float(x) if math.isfinite(x) else None
    found: dict[str, Any] = {}
    for side in means.side.values:
        own = means.sel(side=side)
        found[str(side)] = {"n_strides": int(own.strides)} | {
            name: {"mean": number(own[name]), "sd": number(own[f"{name}_sd"]), "unit": quantity.units}
            for name, quantity in SPATIOTEMPORAL.items()
        }
    if len(found) == 2:
        for figure in ("symmetry_index", "ratio"):
            found[figure] = {name: number(means[f"{name}_{figure}"]) for name in SYMMETRIC}
    return found
