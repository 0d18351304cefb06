"""Design: the fastest gait under limits on actuator force and slip, by gradients through the solve."""

from __future__ import annotations

import pathlib

from jaxgait.models.creeper.design import SLACK, SPEED, fastest_gait
from jaxgait.models.creeper.model import Creeper
from jaxgait.parameters import get_parameter
from jaxgait.report import Report

FORCE_LIMIT = 1.0  # N
SLIP_LIMIT = 0.015


def optimise(report: Report, out: pathlib.Path) -> None:
    """The gait that the search finds, beside the default."""
    best, search = fastest_gait(Creeper(), force_limit=FORCE_LIMIT, slip_limit=SLIP_LIMIT)
    before, after = search.visited[0], search.best() or search.visited[0]
    left = after.slack / SLACK
    report.figure("design-start", "net speed of the default gait", "mm/s", 1e3 * before.objective / SPEED)
    report.figure("design-best", "net speed of the best gait found", "mm/s", 1e3 * after.objective / SPEED)
    report.figure("design-gain", "gain", "1", after.objective / before.objective)
    report.figure(
        "design-force", f"its largest actuator force (limit {FORCE_LIMIT:g} N)", "N", FORCE_LIMIT - left[:2].min()
    )
    report.figure("design-slip", f"its slip (limit {SLIP_LIMIT:g})", "1", SLIP_LIMIT - left[2])
    start = {name: float(get_parameter(Creeper(), name)) for name in best}
    rows = "\n".join(f"| {name} | {start[name]:.4g} | {value:.4g} |" for name, value in best.items())
    ending = f"Stopped after {search.steps} steps: {search.why_stopped}."
    report.section("The fastest gait", f"| parameter | default | best |\n|---|---|---|\n{rows}\n\n{ending}")
