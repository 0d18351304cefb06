"""What a measured knee curve determines of the numbers that the paper does not print: fits, errors, open questions.

Run `python -m experiments.knee.calibration --out DIR`; some minutes. The cylinder's attachment points (thigh_arm,
thigh_tilt, link_arm) and the position of the ankle on the foot are reconstructed, the paper does not print them. They
are fitted together with two stiffnesses that it prints, those of ankle and ground, twice, by the periodic gait:

- to a synthetic curve of the reference set R2 with noise of 1 degree, whose parameters are known;
- to the measured knee curve that ships. It is that of a sound knee, whose hip drives the leg: the fit says which
  prosthesis would follow it best, and how closely. No curve of a prosthetic knee ships. Its residual is systematic,
  so that the errors given there are too small. It leaves two directions open: without the tilt and the ground's
  stiffness, which mostly make them up, the other four are fitted again.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Sequence

import numpy as np
import tyro

from experiments.knee.search import leg
from experiments.knee.tune import RTOL
from jaxgait import fit
from jaxgait.calibration import Fit, MeasuredCurve, Profile, over_phase, profile
from jaxgait.optimization.space import Space
from jaxgait.parameters import get_parameter
from jaxgait.plot import fits
from jaxgait.plot.style import save
from jaxgait.report import Report
from jaxgait.report import table as markdown

OVER = {
    "damper.thigh_arm": (0.016, 0.022),
    "damper.thigh_tilt": (0.45, 0.70),
    "damper.link_arm": (0.158, 0.170),
    "segments.ankle": (0.18, 0.30),
    "ankle.stiffness": (5.0, 20.0),
    "ground.stiffness": (5e4, 2e5),
}
"""Ranges of the fit: a tenth to a third to either side of set R2, for stiffnesses a factor of two."""
NOISE = 1.0
"""Standard deviation of the synthetic curve in deg, that of a good motion laboratory from stride to stride."""
PHASES = 20
"""The drive's knee curve has eight harmonics, 17 numbers: more points would only seem to be more data."""
STARTS = 4
DETERMINED = ("damper.thigh_arm", "damper.link_arm", "segments.ankle", "ankle.stiffness")
PROFILED = "damper.link_arm"


def fitted(curve: MeasuredCurve, noise: float | None, names: Sequence[str] = tuple(OVER)) -> Fit:
    """One fit of some parameters from some starts."""
    over = {name: OVER[name] for name in names}
    return fit(leg(), curve, over=over, output="knee_angle", noise=noise, starts=STARTS, rtol=RTOL)


def sound_knee() -> MeasuredCurve:
    """The measured knee curve of the drive in deg."""
    drive, phase = leg().drive, np.arange(PHASES) / PHASES
    return over_phase(phase, [np.degrees(float(drive.knee_angle(p * drive.period))) for p in phase], unit="deg")


def synthetic(measured: Fit, seed: int = 0) -> MeasuredCurve:
    """The gait of set R2 with noise, in deg at 100 phases; solved for by the program of another fit."""
    space, phase = Space(leg(), OVER), np.arange(100) / 100
    truth = np.array([float(get_parameter(leg(), name)) for name in OVER])
    gait = measured.problem.groups[0].runs(np.array([1 << 20]), space.spacing.unit(truth[None]))
    values = np.degrees(gait.values[0, :-1])
    return over_phase(phase, values + NOISE * np.random.default_rng(seed).normal(size=100), unit="deg")


def table(result: Fit) -> str:
    """Parameters with their standard errors, next to set R2 and the box."""
    rows = []
    for name, value in result.best.items():
        low, high = OVER[name]
        share = result.standard_error[name] / (high - low)
        numbers = [f"{float(get_parameter(leg(), name)):.5g}", f"{value:.5g}", f"{result.standard_error[name]:.2g}"]
        rows.append([name, *numbers, f"{100 * share:.0f}", result.units[name]])
    return markdown(["parameter", "set R2", "fitted", "standard error", "of the box (%)", "unit"], rows)


def directions(result: Fit) -> str:
    """Singular values with the standard error along each direction and what it is made of."""
    rows = []
    for s, direction in zip(result.singular_values, result.directions, strict=True):
        largest = np.argsort(-np.abs(direction))[:3]
        what = ", ".join(f"{direction[i]:+.2f} {list(result.best)[i]}" for i in largest)
        rows.append([f"{s:.3g}", f"{100 / s:.3g}", what])
    return markdown(["singular value", "standard error (% of the box)", "direction"], rows)


def _describe(report: Report, id: str, title: str, result: Fit, out: pathlib.Path) -> None:
    report.picture(save(fits.fitted(result, "knee flexion"), out / f"{id}.png"), title)
    remarks = "\n".join(f"- {text}" for text in (*result.undetermined, *result.remarks)) or "- no objections"
    ends = "\n".join(
        f"- chi-square {float(squares):.4g}, multiplier {float(multiplier):.3f}: {text}"
        for text, squares, multiplier in zip(
            result.why_stopped, result.ends.squares, result.ends.multiplier, strict=True
        )
    )
    body = [table(result), directions(result), f"Condition number {result.condition:.3g}.", remarks, "Starts:", ends]
    report.section(title, "\n\n".join(body))
    rms = float(np.sqrt(np.mean(result.curve.residual**2)))
    report.figure(f"knee.calibration.{id}.rms", f"{title}: root mean square of the residual", "deg", rms)
    report.figure(f"knee.calibration.{id}.condition", f"{title}: condition number", "1", result.condition)
    result.to_json(out / f"{id}.json")


def _recovered(report: Report, result: Fit, drawn: Profile) -> None:
    """The truth against the errors of the fit."""
    truth = {name: float(get_parameter(leg(), name)) for name in OVER}
    apart = np.array([result.best[name] - truth[name] for name in OVER])
    distance = float(apart @ np.linalg.solve(result.covariance.values, apart))
    report.figure(
        "knee.calibration.synthetic.distance",
        "squared distance of fit and truth in the metric of the covariance (chi-square of 6 degrees)",
        "1",
        distance,
        expected=6.0,
        tolerance=10.8,  # 16.8: the quantile of 99 %
    )
    report.figure("knee.calibration.synthetic.chi", "chi-square per degree of freedom", "1", result.reduced)
    rows = [("standard error", drawn.laplace), ("profile", drawn.interval)]
    lines = ([what, f"{low:.5g}", f"{high:.5g}"] for what, (low, high) in rows)
    intervals = markdown([f"95 % interval of {PROFILED} (m) by", "from", "to"], lines)
    report.section("Profile", f"{intervals}\n\nBelow: {drawn.why[0]}. Above: {drawn.why[1]}.")


def study(out: pathlib.Path) -> Report:
    """All of it, written into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    report = Report("What a knee curve determines", (__doc__ or "").split("\n\n", 1)[1])
    sound = fitted(sound_knee(), None)
    known = fitted(synthetic(sound), NOISE)
    drawn = profile(known, PROFILED)
    _describe(report, "synthetic", "Fit to the synthetic curve", known, out)
    _recovered(report, known, drawn)
    report.picture(save(fits.profiled(drawn), out / "profile.png"), f"Profile of {PROFILED}, synthetic curve")
    _describe(report, "sound", "Fit to the measured sound knee", sound, out)
    few = fitted(sound_knee(), None, DETERMINED)
    _describe(report, "few", "Fit of four parameters to the measured sound knee", few, out)
    report.write(out)
    return report


def main(out: pathlib.Path = pathlib.Path("out/calibration")) -> None:
    """Writes report, pictures and records into a folder."""
    report = study(out)
    print(json.dumps({figure.id: figure.measured for figure in report.figures}, indent=1))


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
