"""The basins of a search: groups of starts that ended at the same optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

__all__ = ["ON_THE_WAY", "basins", "described", "gathered", "on_the_way"]

ON_THE_WAY = "the best point lies on the way of a start: all ends are worse, or may not be a result"

SAME = 0.01
"""Ends no further apart than this fraction of the box, along every parameter, count as the same optimum."""


def gathered(
    x: Float[np.ndarray, "starts n"],
    objective: Float[np.ndarray, " starts"],
    allowed: Bool[np.ndarray, " starts"],
    fine: Bool[np.ndarray, " starts"],
) -> tuple[Int[np.ndarray, " starts"], Int[np.ndarray, " basins"]]:
    """The basin in which each start ended, and the start with the best end of each basin.

    Basins are numbered by their best ends, those that may be a result first, and reach `SAME` of the box around them.

    Args:
        x: ends in the unit box (no dimension).
        objective: their values, the larger the better, in any unit.
        allowed: which of them may be the result.
        fine: which of them have a value; the others are in the basin -1.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.optimization.basins import gathered
        >>> ends, yes = np.array([[0.2], [0.7], [0.201]]), np.ones(3, bool)
        >>> numbers, bests = gathered(ends, np.array([1.0, 2.0, 1.1]), yes, yes)
        >>> numbers.tolist(), bests.tolist()
        ([1, 0, 1], [1, 2])
    """
    numbers, bests = np.full(len(x), -1), list[int]()
    for i in (i for i in np.lexsort((-objective, ~allowed)).tolist() if fine[i]):
        near = [k for k, j in enumerate(bests) if np.abs(x[i] - x[j]).max() <= SAME]
        numbers[i] = near[0] if near else len(bests)
        bests += [] if near else [i]
    return numbers, np.array(bests, int)


def basins(ends: xr.Dataset, bests: Int[np.ndarray, " basins"]) -> xr.Dataset:
    """The best end of each basin, over `basin`, and the number of starts that ended there.

    Args:
        ends: over `start`, with the number of each start's `basin`.
        bests: starts with the best ends (no unit).
    """
    count = np.bincount(ends.basin.values[ends.basin.values >= 0], minlength=len(bests))
    found = ends.isel(start=bests).drop_vars(["basin", "evaluations", "failed"]).rename(start="basin")
    words = {"starts": (count, "starts that ended there"), "best_start": (bests, "the one whose end is the best")}
    return found.assign({n: ("basin", x, {"units": "1", "long_name": text}) for n, (x, text) in words.items()})


def described(found: xr.Dataset, units: Mapping[str, str], why: list[str]) -> Iterator[str]:
    """One line per basin: the number of its starts, its location, its objective, and why the best start stopped.

    Args:
        found: see `basins`.
        units: of the parameters, by name.
        why: why each start stopped.
    """
    for number in range(found.sizes["basin"]):
        one = found.isel(basin=number)
        at = ", ".join(f"{name}={float(one[name]):.6g} {unit}".rstrip() for name, unit in units.items())
        many = f"{int(one.starts)} start{'s' if one.starts > 1 else ''}"
        yield f"basin {number}: {many}, objective {float(one.objective):.7g} at {at}; {why[int(one.best_start)]}"


def on_the_way(best: Mapping[str, float], ends: xr.Dataset) -> bool:
    """Whether the best point is none of the ends: these are worse, or may not be results.

    Args:
        best: the best point, by parameter.
        ends: over `start`.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.optimization.basins import on_the_way
        >>> on_the_way({"stiffness": 26.3}, xr.Dataset({"stiffness": ("start", [15.0, 26.3])}))
        False
    """
    there = [np.isclose(ends[name].values, value, rtol=1e-9, atol=0.0) for name, value in best.items() if name in ends]
    return bool(there) and not np.all(there, axis=0).any()
