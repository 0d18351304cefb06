"""The creeping in-pipe robot in one report: Figures 4 and 5, and what goes beyond the paper."""

from __future__ import annotations

import pathlib

from tqdm import tqdm

from jaxgait.models.creeper.design import fastest_gait
from jaxgait.models.creeper.model import Creeper
from jaxgait.report import Report

from . import axial, drive, scans

TITLE = "The creeping in-pipe robot"
MINUTES = 3
INTRO = (
    "Zhao, Chen, Wu, Sang and Qian (2010) print curves but no masses, sizes or friction: expected values are those of "
    "an independent simulation with the parameters chosen here. Figure 4 is the displacement of the front point, "
    "Figure 5 the drive force."
)
FORCE_LIMIT = 1.0  # N
SLIP_LIMIT = 0.015


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    out.mkdir(parents=True, exist_ok=True)
    report = Report(TITLE, INTRO)
    with tqdm(total=9, desc="creeper", disable=not progress) as bar:
        default = axial.table(report, out)
        bar.update()
        for step in (axial.figure_4, drive.figure_5, drive.long_chains, design):
            step(report, out)
            bar.update()
        for scan in (scans.speed_scans, scans.force_envelope, scans.more_units):
            scan(report, out, False)
            bar.update()
        axial.moving(report, out, default)
        bar.update()
    report.write(out)
    return report


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
    rows = "\n".join(f"| {name} | {found.start[name][0]:.4g} | {value:.4g} |" for name, value in found.best.items())
    ending = f"{int(found.ends.evaluations[0])} evaluations by {found.method}: {found.why_stopped[0]}."
    report.section("The fastest gait", f"| parameter | default | best |\n|---|---|---|\n{rows}\n\n{ending}")
