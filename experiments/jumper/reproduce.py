"""The jumper in one report: tables, pictures, films, and what goes beyond the paper."""

from __future__ import annotations

import pathlib

from jaxgait.report import Report
from jaxgait.reproduction import parts

from . import design, scans, table

TITLE = "The human jumper"
MINUTES = 5
INTRO = (
    "Chen, Yan and Jin (2003) replace the one-sided constraint between sole and ground by forces at many flexible "
    "points. They print the size of the joints' swings, but no segment table, no studs and no timing, and our copy "
    "ends before their results: expected values are those of an independent simulation with the parameters chosen here."
)
PARTS = {
    "what the paper prints": table.inputs,
    "the jump": table.figures,
    "friction laws": table.friction_laws,
    "films": table.films,
    "soles": scans.sole,
    "posture": scans.posture,
    "the robot": scans.robot,
    "the timing of the swings": design.timing,
    "a soft landing": design.landing,
}


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    report = Report(TITLE, INTRO)
    with parts(report, out, len(PARTS), progress) as part:
        part.add(PARTS)
    return report
