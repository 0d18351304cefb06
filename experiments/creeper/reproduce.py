"""The creeping in-pipe robot in one report: Figures 4 and 5, and what goes beyond the paper."""

from __future__ import annotations

import pathlib

from tqdm import tqdm

from jaxgait.report import Report

from . import axial, design, drive, scans

TITLE = "The creeping in-pipe robot"
MINUTES = 3
INTRO = (
    "Zhao, Chen, Wu, Sang and Qian (2010) print curves but no masses, sizes or friction: expected values are those of "
    "an independent simulation with the parameters chosen here. Figure 4 is the displacement of the front point, "
    "Figure 5 the drive force."
)


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    out.mkdir(parents=True, exist_ok=True)
    report = Report(TITLE, INTRO)
    with tqdm(total=9, desc="creeper", disable=not progress) as bar:
        default = axial.table(report, out)
        bar.update()
        for step in (axial.figure_4, drive.figure_5, drive.long_chains, design.optimise):
            step(report, out)
            bar.update()
        for scan in (scans.speed_scans, scans.force_envelope, scans.more_units):
            scan(report, out, False)
            bar.update()
        axial.moving(report, out, default)
        bar.update()
    report.write(out)
    return report
