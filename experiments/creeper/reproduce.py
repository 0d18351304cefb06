"""The creeping in-pipe robot in one report: Figures 4 and 5, and what goes beyond the paper."""

from __future__ import annotations

import pathlib

from jaxgait.models.creeper.design import fastest_gait
from jaxgait.models.creeper.model import Creeper
from jaxgait.report import Report, table
from jaxgait.reproduction import parts

from . import axial, drive, scans

TITLE = "The creeping in-pipe robot"
MINUTES = 2
INTRO = (
    "Zhao, Chen, Wu, Sang and Qian (2010) print curves but no masses, sizes or friction: expected values are those of "
    "an independent simulation with the parameters chosen here. Figure 4 is the displacement of the front point, "
    "Figure 5 the drive force."
)
FORCE_LIMIT = 1.0  # N
SLIP_LIMIT = 0.015
MARGIN = 1e-3
"""Relative slack of the limits."""


def design(report: Report, out: pathlib.Path) -> None:
    """The fastest gait under limits on actuator force and slip, by gradients through the solve."""
    found = fastest_gait(Creeper(), force_limit=FORCE_LIMIT, slip_limit=SLIP_LIMIT)
    before, (push, pull, slip) = float(found.history.objective[0, 0]), found.limits.values()
    report.figure("design-start", "net speed of the default gait", "mm/s", 1e3 * before)
    report.figure("design-best", "net speed of the best gait found", "mm/s", 1e3 * found.objective)
    report.figure("design-gain", "gain", "1", found.objective / before)
    largest = FORCE_LIMIT - min(push, pull)
    report.figure("design-force", f"its largest actuator force (limit {FORCE_LIMIT:g} N)", "N", largest)
    report.figure("design-slip", f"its slip (limit {SLIP_LIMIT:g})", "1", SLIP_LIMIT - slip)
    kept = largest < FORCE_LIMIT * (1.0 + MARGIN) and slip > -MARGIN * SLIP_LIMIT
    report.figure("design-limits", "both limits kept", "", kept, expected=True)
    rows = ([name, f"{found.start[name][0]:.4g}", f"{value:.4g}"] for name, value in found.best.items())
    ending = f"{int(found.ends.evaluations[0])} evaluations by {found.method}: {found.why_stopped[0]}."
    report.section("The fastest gait", f"{table(['parameter', 'default', 'best'], rows)}\n\n{ending}")


PARTS = {
    "the axial gait": axial.gait,
    "Figure 4": axial.figure_4,
    "Figure 5": drive.figure_5,
    "the fastest gait": design,
    "scans of the speed": scans.speed_scans,
    "envelope of the force": scans.force_envelope,
    "more units": scans.more_units,
}


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    report = Report(TITLE, INTRO)
    with parts(report, out, len(PARTS) + 1, progress) as part:
        part.add(PARTS)
        part.run("long chains", drive.long_chains, report, out)  # measures times, with nothing running in parallel
    return report
