"""The basins of a search: groups of starts that ended at the same optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxgait.support import checks, xr
from jaxgait.support.units import with_unit

SAME_OPTIMUM = 0.01
"""Ends no further apart than this fraction of the box, along every parameter, count as the same optimum."""


def group_ends(
    x: Float[np.ndarray, "starts n"],
    objective: Float[np.ndarray, " starts"],
    allowed: Bool[np.ndarray, " starts"],
    valid: Bool[np.ndarray, " starts"],
) -> tuple[Int[np.ndarray, " starts"], Int[np.ndarray, " basins"]]:
    """The basin in which each start ended, and the start with the best end of each basin.

    Basins extend `SAME_OPTIMUM` of the box around their best ends, by which they are numbered, allowed ones first.

    Args:
        x: ends in the unit box (no dimension).
        objective: their values, larger is better, in any unit.
        allowed: which ends may be the result.
        valid: which ends have a value; the others are in basin -1.
    """
    numbers, bests = np.full(len(x), -1), list[int]()
    for i in (i for i in np.lexsort((-objective, ~allowed)).tolist() if valid[i]):
        near = [k for k, j in enumerate(bests) if np.abs(x[i] - x[j]).max() <= SAME_OPTIMUM]
        numbers[i] = near[0] if near else len(bests)
        bests += [] if near else [i]
    return numbers, np.array(bests, int)


def basins(ends: xr.Dataset, bests: Int[np.ndarray, " basins"]) -> xr.Dataset:
    """The best end of each basin, over `basin`, and the number of starts that ended there.

    Args:
        ends: over `start`, with the number of each start's `basin`.
        bests: the starts with the best ends, by number (no unit).
    """
    count = np.bincount(ends.basin.values[ends.basin.values >= 0], minlength=len(bests))
    found = ends.isel(start=bests).drop_vars(["basin", "evaluations", "failed"]).rename(start="basin")
    more = {"starts": (count, "starts that ended there"), "best_start": (bests, "the start with the best end")}
    return found.assign({n: ("basin", x, {"units": "1", "long_name": text}) for n, (x, text) in more.items()})


def describe_basins(data: xr.Dataset, units: Mapping[str, str], why: list[str]) -> Iterator[str]:
    """One line per basin: the number of its starts, its location, its objective, and why the best start stopped."""
    for number in range(data.sizes["basin"]):
        one = data.isel(basin=number)
        at = ", ".join(f"{name}={with_unit(f'{float(one[name]):.6g}', unit)}" for name, unit in units.items())
        many = checks.count_of(int(one.starts), "start", "starts")
        value = with_unit(f"{float(one.objective):.7g}", one.objective.attrs.get("units", ""))
        yield f"optimum {number}: {many}, objective {value} at {at}; {why[int(one.best_start)]}"
