"""How good the smooth walker is: parameter sets, restitution by damping, friction; beside the rigid walkers."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxgait import ensemble
from jaxgait.ensembles import zipped
from jaxgait.mechanics.contact import hunt_crossley_dissipation
from jaxgait.models.walker.measures import passing_gait
from jaxgait.models.walker.smooth import Walker
from jaxgait.report import Report

from .smooth import RIGID

NAMES = ("stiffness", "dissipation", "smoothing_depth", "slip_velocity", "friction")
SETS = {  # values of `NAMES`; errors in % of period and velocity against the rigid gait (specification, section 8)
    "reference": ((1e7, 200.0, 1e-7, 3e-4, 0.5), 0.00, -0.04),
    "recommended": ((1e6, 50.0, 1e-6, 3e-4, 0.5), 0.02, 0.08),
    "cheap": ((3e5, 50.0, 3.3e-6, 1e-3, 0.5), 0.06, -0.44),
    "borderline": ((3e5, 20.0, 3.3e-6, 1e-3, 0.5), 0.87, -0.04),
    "too soft": ((1e5, 50.0, 1e-5, 1e-3, 0.5), -0.01, -2.2),
}
FAILING = (1e4, 50.0, 1e-5, 1e-3, 0.5)
LANDING = 0.169
"""Velocity in m/s with which the foot of the rigid walker lands."""
BOUNCING = {0.2: (0.374523, 0.15), 0.4: (0.374413, 0.21), 0.6: (0.374074, 0.24)}
"""Restitution -> velocity in m/s of the time-stepped walker as dt goes to zero, and by how much in % the smooth one of
the specification was faster."""
IRREGULAR = (0.8, 0.372956, 0.28)
"""The same at 0.8, where bounces last from step to step and the smooth walk never settles: walks that differ by 1e-9 in
the damping have ten-second velocities 1 % apart, so that the specification's one walk is compared with many."""
COPIES = 16
FRICTIONS = {0.12: None, 0.125: None, 0.13: 0.3548, 0.14: 0.36618, 0.15: 0.3714, 0.16: 0.3734, 0.2: 0.3738}
"""Friction -> velocity in m/s of the specification's smooth walker; None: falls."""
DURATION, STEADY = 20.0, 10.0


def _observe(run: Any) -> dict[str, Any]:
    return {"x": run.ys.x, "apart": run.ys.theta_1 - run.ys.theta_2}


def parameter_sets(report: Report) -> None:
    """Walks all cases as one ensemble and compares them; a minute or two."""
    damping = [float(hunt_crossley_dissipation(e, LANDING)) for e in BOUNCING]
    copies = float(hunt_crossley_dissipation(IRREGULAR[0], LANDING)) * (1.0 + 1e-9 * np.arange(COPIES))
    rows = [values for values, _, _ in SETS.values()]
    rows += [(1e7, d, 1e-7, 3e-4, 0.5) for d in (*damping, *copies)]
    rows += [(*SETS["recommended"][0][:4], mu) for mu in FRICTIONS]
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
    for name, (_, period_error, velocity_error) in SETS.items():
        (period, velocity), _ = next(rest)
        for what, value, goal, error, tolerance in (
            ("period", period, RIGID["period"], period_error, 0.05),
            ("velocity", velocity, RIGID["velocity"], velocity_error, 0.15),
        ):
            report.figure(
                f"smooth_{name.replace(' ', '_')}_{what}_error",
                f"error of the {what}, smooth set '{name}'",
                "%",
                100.0 * (value / goal - 1.0),
                expected=error,
                tolerance=tolerance,
            )
    for (e, (stepped, excess)), d in zip(BOUNCING.items(), damping, strict=True):
        (_, velocity), _ = next(rest)
        report.figure(
            f"smooth_restitution_{e:g}",
            f"velocity over that of the rigid walker, restitution {e:g} by dissipation {d:.2f} s/m",
            "%",
            100.0 * (velocity / stepped - 1.0),
            expected=excess,
            tolerance=0.1,
        )
    e, stepped, excess = IRREGULAR
    velocities = [next(rest)[0][1] for _ in copies]
    excesses = 100.0 * (np.array(velocities) / stepped - 1.0)
    what = f"velocity over that of the rigid walker, restitution {e:g}: irregular, {COPIES} walks of ten seconds"
    report.figure(
        f"smooth_restitution_{e:g}_mean", f"{what}, mean (specification, one walk: {excess:g})", "%", excesses.mean()
    )
    report.figure(f"smooth_restitution_{e:g}_spread", f"{what}, standard deviation", "%", excesses.std(ddof=1))
    for mu, expected in FRICTIONS.items():
        (_, velocity), lost = next(rest)
        report.figure(
            f"smooth_falls_mu{mu:g}", f"smooth walker falls, mu = {mu:g}", "", bool(lost), expected=expected is None
        )
        if expected is not None:
            report.figure(
                f"smooth_velocity_mu{mu:g}",
                f"velocity, smooth, mu = {mu:g}",
                "m/s",
                velocity,
                expected=expected,
                tolerance=2e-3 * expected,
            )
    (period, _), lost = next(rest)
    wrong = bool(lost) or not abs(period / RIGID["period"] - 1.0) < 0.02
    report.figure("smooth_1e4_fails", "stiffness 1e4 N/m: falls, or another gait", "", wrong, expected=True)
