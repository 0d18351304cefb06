"""What `jaxgait optimize` can add to a search: a report, a front, sensitivities. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
import pathlib

POINTS = 7
"""Points along a front, if it is not said how many."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Further:
    """What follows a search."""

    report: pathlib.Path | None = None
    """Folder for a report: pictures, and one page (report.html) that holds them all."""
    front: tuple[str, ...] = ()
    """For the report, the best compromises of the objective with a second one: maximize MEASURE, or minimize MEASURE;
    the folder then holds front.nc too."""
    points: int | None = None
    """Points along the front, both ends included; 7 if not given."""
    sensitivities: tuple[str, ...] | None = None
    """What 1 % of each parameter changes at the optimum: of the parameters named here, or of all; in the report, and in
    sensitivities.nc beside it."""
