"""Table 2 and Figures 4 to 7 of Duan, Wang and Wang (2011), and the walker's periodic gaits."""

from __future__ import annotations

import pathlib

from jaxgait import precision
from jaxgait.report import Report

from .gaits import basin_picture, bifurcations
from .sets import parameter_sets
from .smooth import animation, smooth_figures, smooth_walk
from .walks import figure_7, figures_4_to_6, records, report_table, sweeps

TITLE = "The round-foot passive walker"
MINUTES = 5
INTRO = (
    "The round-foot passive walker in three forms: rigid feet by time stepping (the paper's method, dt = 0.1 ms), "
    "rigid rolling with heel strikes as events, and smooth compliant feet. The paper's column of step frequencies "
    "contradicts its own step lengths and velocities (V / L = 2.4304 1/s) and is not a target; its fall at e_N = 0.9 "
    "is not reproduced."
)


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    report = Report(TITLE, INTRO)
    with precision.use("float64"), report.parts(out, 7, progress) as part:
        runs = part("23 walks of 50 s", sweeps)
        report_table(report, runs)
        figure_7(report, runs, out)
        figures_4_to_6(report, part("dense records", records), out)
        smooth_figures(report, part("smooth walker", smooth_walk), out)
        part("parameter sets of the smooth walker", parameter_sets, report)
        part("animation", animation, report, out)
        part("bifurcations", bifurcations, report, out)
        part("basin of 65536 starts", basin_picture, report, out)
    return report
