"""The exoskeleton's paper (curves, kinogram, times), then a better gait and ensembles."""

from __future__ import annotations

import pathlib

from jaxgait.report import Report
from jaxgait.reproduction import parts

from . import cost, ensembles, example, search

TITLE = "The exoskeleton of telescopic links"
MINUTES = 2
INTRO = (
    "A walking exoskeleton of five telescopic links in space (Borisov & Chigarev). The paper prints the masses and the "
    "form of the gait but neither its parameters nor readable values of its curves: expected values are those of our "
    "specification, derived independently of this code. The paper does print computing times in Mathematica."
)
PARTS = {
    "five links": example.add,
    "forward runs": example.add_forward,
    "a better gait": search.add,
    "ensembles": ensembles.add,
}
TIMED = {"composing the equations": cost.add_composing, "cost of evaluation": cost.add_evaluation}
"""Parts that measure times, with nothing running in parallel."""


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    report = Report(TITLE, INTRO)
    with parts(report, out, len(PARTS | TIMED), progress) as part:
        part.add(PARTS)
        for name, add in TIMED.items():
            part.run(name, add, report, out)
    return report
