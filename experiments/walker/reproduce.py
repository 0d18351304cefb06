"""Table 2 and Figures 4 to 7 of Duan, Wang and Wang (2011), and the walker's periodic gaits."""

from __future__ import annotations

import pathlib

from jaxgait.report import Report
from jaxgait.reproduction import parts

from .gaits import basin_picture, bifurcations
from .smooth import animation, parameter_sets, smooth_walk
from .walks import figures_4_to_6, sweeps

TITLE = "The round-foot passive walker"
MINUTES = 2
INTRO = (
    "The round-foot passive walker in three forms: rigid feet by time stepping (the paper's method, dt = 0.1 ms), "
    "rigid rolling with heel strikes as events, and smooth compliant feet. The paper's column of step frequencies "
    "contradicts its own step lengths and velocities (V / L = 2.4304 1/s) and is not a target; its fall at e_N = 0.9 "
    "is not reproduced."
)
PARTS = {
    "23 walks of 50 s": sweeps,
    "dense records": figures_4_to_6,
    "smooth walker": smooth_walk,
    "parameter sets of the smooth walker": parameter_sets,
    "animation": animation,
    "bifurcations": bifurcations,
    "basin of 65536 starts": basin_picture,
}


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    report = Report(TITLE, INTRO)
    with parts(report, out, len(PARTS), progress) as part:
        part.add(PARTS)
    return report
