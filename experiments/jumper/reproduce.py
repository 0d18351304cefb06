"""The jumper in one report: tables, pictures, films, and what goes beyond the paper."""

from __future__ import annotations

import pathlib

from tqdm import tqdm

from jaxgait.report import Report

from . import design, scans, table

TITLE = "The human jumper"
MINUTES = 5
INTRO = (
    "Chen, Yan and Jin (2003) replace the one-sided constraint between sole and ground by forces at many flexible "
    "points. They print the size of the joints' swings, but no segment table, no studs and no timing, and our copy "
    "ends before their results: expected values are those of an independent simulation with the parameters chosen here."
)


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    out.mkdir(parents=True, exist_ok=True)
    report = Report(TITLE, INTRO)
    steps = (
        table.given,
        table.figures,
        table.friction_laws,
        table.films,
        scans.sole,
        scans.posture,
        scans.robot,
        design.timing,
        design.landing,
    )
    for step in tqdm(steps, desc="jumper", disable=not progress):
        step(report, out)
    report.write(out)
    return report
