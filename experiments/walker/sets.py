"""Errors of the smooth walker against the rigid ones: parameter sets, restitution by damping, friction."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

from jaxgait import ensemble
from jaxgait.ensembles import zipped
from jaxgait.mechanics.contact import hunt_crossley_dissipation
from jaxgait.models.walker.measures import passing_gait
from jaxgait.models.walker.smooth import Walker
from jaxgait.report import Report

from .expected import BOUNCING, IRREGULAR, RIGID, SET_ERRORS, SMOOTH_FRICTION

SETS = {name: tuple(values.values()) for name, values in Walker.presets.items()}
NAMES = tuple(Walker.presets["reference"])
FAILING = (1e4, 50.0, 1e-5, 1e-3, 0.5)
LANDING = 0.169
"""Velocity in m/s with which the rigid walker's foot lands."""
COPIES = 16
DURATION, STEADY = 20.0, 10.0


def _observe(run: Any) -> dict[str, Any]:
    return {"x": run.ys.x, "apart": run.ys.theta_1 - run.ys.theta_2}


def parameter_sets(report: Report, out: pathlib.Path) -> None:
    """Simulates all cases as one ensemble, and compares them."""
    damping = [float(hunt_crossley_dissipation(e, LANDING)) for e in BOUNCING]
    copies = float(hunt_crossley_dissipation(IRREGULAR[0], LANDING)) * (1.0 + 1e-9 * np.arange(COPIES))
    rows = list(SETS.values())
    rows += [(1e7, d, 1e-7, 3e-4, 0.5) for d in (*damping, *copies)]
    rows += [(*SETS["recommended"][:4], mu) for mu in SMOOTH_FRICTION]
    rows.append(FAILING)
    members = zipped(dict(zip(NAMES, np.array(rows).T, strict=True)))
    samples = round(1e3 * DURATION)
    runs = ensemble(Walker(), members, duration=DURATION, samples=samples, observe=_observe, retry=False)
    t = np.linspace(0.0, DURATION, runs.x.shape[1])
    late = t > STEADY
    gaits = [
        passing_gait(t[late], x[late], apart[late]) for x, apart in zip(runs.x.values, runs.apart.values, strict=True)
    ]
    fell = runs.status.values != 0
    rest = iter(zip(gaits, fell, strict=True))
    for name in SETS:
        (period, velocity), _ = next(rest)
        for what, value in (("period", period), ("velocity", velocity)):
            report.compare(
                f"smooth_{name.replace(' ', '_')}_{what}_error",
                f"error of the {what}, smooth set '{name}'",
                100.0 * (value / RIGID[what] - 1.0),
                SET_ERRORS[name][what],
            )
    for (e, (stepped, excess)), d in zip(BOUNCING.items(), damping, strict=True):
        (_, velocity), _ = next(rest)
        what = f"velocity over that of the rigid walker, restitution {e:g} by dissipation {d:.2f} s/m"
        report.compare(f"smooth_restitution_{e:g}", what, 100.0 * (velocity / stepped - 1.0), excess)
    e, stepped, excess = IRREGULAR
    velocities = [next(rest)[0][1] for _ in copies]
    excesses = 100.0 * (np.array(velocities) / stepped - 1.0)
    what = f"velocity over that of the rigid walker, restitution {e:g}: irregular, {COPIES} walks of ten seconds"
    report.figure(
        f"smooth_restitution_{e:g}_mean", f"{what}, mean (specification, one walk: {excess:g})", "%", excesses.mean()
    )
    report.figure(f"smooth_restitution_{e:g}_spread", f"{what}, standard deviation", "%", excesses.std(ddof=1))
    for mu, row in SMOOTH_FRICTION.items():
        (_, velocity), lost = next(rest)
        what = f"smooth walker falls, mu = {mu:g}"
        report.figure(f"smooth_falls_mu{mu:g}", what, "", bool(lost), expected=row is None)
        if row is not None:
            report.compare(f"smooth_velocity_mu{mu:g}", f"velocity, smooth, mu = {mu:g}", velocity, row)
    (period, _), lost = next(rest)
    wrong = bool(lost) or not abs(period / RIGID["period"] - 1.0) < 0.02
    report.figure("smooth_1e4_fails", "stiffness 1e4 N/m: falls, or another gait", "", wrong, expected=True)
