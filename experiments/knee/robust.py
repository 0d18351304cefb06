"""Robust design of the knee's damper: the best (k, c) for one walk, on average, and in the worst of many.

Run `python -m experiments.knee.robust --out DIR`: a table (robust.md, robust.json) and a picture (robust.png); about
five minutes of processor time. What varies (`SPREAD`): cadence, mass of shank and foot, stiffness and friction of the
ground, and how far the thigh swings from stride to stride. Designs are found among the periodic gaits of a few
scenarios; walks of twenty strides in other scenarios, which no search has seen, show what they are worth.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import tyro
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.knee.search import leg
from experiments.knee.tune import OVER, RTOL
from jaxgait import ensemble, report
from jaxgait.ensembles import sobol, zipped
from jaxgait.ensembles.members import Members
from jaxgait.optimization import Optimum, optimize
from jaxgait.parameters import get_parameter
from jaxgait.plot.style import BLUE, GREEN, ORANGE, axis_label, save, style


class Factor(NamedTuple):
    """A factor that varies: names of the numbers that it multiplies, its range, and its words."""

    names: tuple[str, ...]
    low: float
    high: float
    words: str


SPREAD = {
    "cadence": Factor(("cadence",), 0.97, 1.03, "cadence"),
    "mass": Factor(("masses.shank", "masses.foot"), 0.9, 1.1, "mass of shank and foot"),
    "stiffness": Factor(("ground.stiffness",), 0.7, 1.4, "stiffness of the ground"),
    "friction": Factor(("ground.friction",), 0.97, 1.03, "friction of the ground"),
    "swing": Factor(("drive.thigh.a", "drive.thigh.b"), 0.985, 1.015, "amplitude of the thigh"),
}
"""Ratios to the reference. Stride times scatter by a few percent from stride to stride (Hausdorff, J. NeuroEng.
Rehabil. 2 (2005) 19); the others are chosen: masses and grounds as they differ, friction and thigh so little that the
leg, whose hip path is prescribed, does not fold: at 8 % less friction it does."""
SCENARIOS = 8
"""Number of scenarios in which designs are judged during the search."""
UNSEEN = 64
"""Number of scenarios in which they are judged afterwards."""
STARTS = [
    {"damper.k": 1.8e4, "damper.c": 700.0},
    {"damper.k": 2.0e4, "damper.c": 1000.0},
    {"damper.k": 2.6e4, "damper.c": 1400.0},
]
ITERATIONS = 25
STABILITY = 0.9
"""Largest Floquet multiplier of a robust design in any of its scenarios. The edge itself, 1, is no margin: a little
beyond the scenarios searched strides alternate. The design for the reference alone has none."""
STRIDES = 20
STEPS = 9
"""Number of values of each factor alone."""
COLOURS = {"nominal": BLUE, "mean": ORANGE, "worst": GREEN}
WORDS = {"nominal": "at the reference", "mean": "on average", "worst": "in the worst scenario"}
HEADINGS = ["best", "k (N/m)", "c (N s/m)", "largest multiplier", "at the reference"]
HEADINGS += ["mean over the scenarios searched", "worst of these", f"mean of {UNSEEN} unseen walks"]
HEADINGS += ["5th percentile of these", "worst of these", "unseen walks of period one", "runs that fold"]
COLUMNS = ("reference", "searched: mean", "searched: worst", "mean", "5 %", "worst")


def scenarios(ratios: dict[str, np.ndarray]) -> Members:
    """Members whose numbers are the reference's times ratios by factor, (members,) each."""
    reference, values = leg(), {}
    for factor, ratio in ratios.items():
        for name in SPREAD[factor].names:
            own = _own(reference, name)
            values[name] = ratio.reshape(-1, *(1,) * own.ndim) * own
    return zipped(values)


def _own(model: Any, name: str) -> np.ndarray:
    """A parameter, or the coefficients of the drive's thigh, in their units."""
    if name.startswith("drive."):
        return np.asarray(getattr(model.drive.thigh, name.rpartition(".")[2]), float)
    return np.asarray(get_parameter(model, name), float)


def drawn(count: int, seed: int) -> dict[str, np.ndarray]:
    """Sobol points of all factors, the reference first."""
    points = sobol({name: (f.low, f.high) for name, f in SPREAD.items()}, count - 1, seed=seed).values
    return {name: np.concatenate([[1.0], x]) for name, x in points.items()}


def alone() -> dict[str, np.ndarray]:
    """Each factor over its range while the others rest, one factor after the other."""
    count = len(SPREAD) * STEPS
    ratios = {name: np.ones(count) for name in SPREAD}
    for i, (name, f) in enumerate(SPREAD.items()):
        ratios[name][i * STEPS : (i + 1) * STEPS] = np.linspace(f.low, f.high, STEPS)
    return ratios


def designs() -> dict[str, Optimum]:
    """The best damper for the reference, on average and in the worst of the scenarios, by gradients of the gait."""
    options: dict[str, Any] = {"maximize": "rho", "over": OVER, "starts": STARTS, "rtol": RTOL, "gradient": "gait"}
    options |= {"iterations": ITERATIONS, "progress": False}
    found = {"nominal": optimize(leg(), **options)}
    across = scenarios(drawn(SCENARIOS, seed=1))
    options |= {"across": across, "stability": STABILITY}
    return found | {kind: optimize(leg(), robust=kind, **options) for kind in ("mean", "worst")}


def multiplier(one: Optimum) -> float:
    """Modulus of the largest Floquet multiplier of a design's gait, in the worst of its scenarios."""
    at = one.history.objective.values == one.objective
    return float(one.history.multiplier.values[at].min())


def walks(optima: dict[str, Optimum], ratios: dict[str, np.ndarray]) -> dict[str, xr.Dataset]:
    """Walks of each design with the factors at given ratios."""
    members = scenarios(ratios)
    options: dict[str, Any] = {"strides": STRIDES, "rtol": RTOL, "observe": ["rho", "order"], "progress": False}
    return {name: ensemble(one.model, members, **options) for name, one in optima.items()}


def judged(
    optima: dict[str, Optimum], searched: dict[str, xr.Dataset], unseen: dict[str, xr.Dataset]
) -> list[dict[str, Any]]:
    """One row a design; walks that fold are counted, and have no rho."""
    rows = []
    for name, one in optima.items():
        rho, folds, known = unseen[name].rho.values, unseen[name].status.values != 0, searched[name].rho.values
        rows.append(
            {
                "design": name,
                **one.best,
                "multiplier": multiplier(one),
                "reference": float(rho[0]),
                "searched: mean": float(np.nanmean(known)),
                "searched: worst": float(np.nanmin(known)),
                "mean": float(np.nanmean(rho)),
                "5 %": float(np.nanquantile(rho, 0.05)),
                "worst": float(np.nanmin(rho)),
                "period one": int((unseen[name].order.values == 1).sum()),
                "folds": int(folds.sum()),
                "objective": one.objective,
                "scenarios": None if one.scenarios is None else one.as_dict()["scenarios"],
                "evaluations": int(one.ends.evaluations.sum()),
                "why stopped": one.why_stopped,
            }
        )
    return rows


def prices(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """What each robust design gains of rho over the nominal one; at the reference it loses."""
    return {row["design"]: {what: row[what] - rows[0][what] for what in COLUMNS} for row in rows[1:]}


def table(rows: list[dict[str, Any]], price: dict[str, dict[str, float]]) -> str:
    """The report as Markdown."""
    lines = []
    for row in rows:
        design = [WORDS[row["design"]], f"{row['damper.k']:.0f}", f"{row['damper.c']:.0f}", f"{row['multiplier']:.3f}"]
        rho = [f"{row[what]:.5f}" for what in COLUMNS]
        lines.append([*design, *rho, f"{row['period one']} of {UNSEEN}", str(row["folds"])])
    gains = ([WORDS[name], *(f"{1e4 * x:+.1f}" for x in one.values())] for name, one in price.items())
    spread = "; ".join(f"{f.words} {f.low:g} to {f.high:g}" for f in SPREAD.values())
    text = [
        "# Robust design of the knee's damper",
        f"Ratios to the reference: {spread}. Designs are searched for in {SCENARIOS} scenarios (the reference and "
        f"Sobol points). All rho are of walks of {STRIDES} strides: in the scenarios searched, and in {UNSEEN} others.",
        report.table(HEADINGS, lines),
        "![rho in all scenarios and over each factor alone](robust.png)",
        "*Shares of the unseen walks that lose more than a given rho, and rho over each factor alone. Open circles: "
        "walks that do not repeat every stride.*",
        "## The cost of robustness",
        "rho gained over the damper that is best at the reference, in units of 1e-4:",
        report.table(["best", *COLUMNS], gains),
        "A robust search rejects a design if in one scenario the gait's largest multiplier is not below "
        f"{STABILITY:g}. Walks are judged as simulated: with the damper that is best at the reference, "
        f"{UNSEEN - rows[0]['period one']} of {UNSEEN} walks do not repeat every stride, and count with their own rho. "
        "The best on average among stable gaits can have a lower mean.",
        "## How the searches ended",
        "\n".join(f"- {WORDS[row['design']]}: {why}" for row in rows for why in row["why stopped"]),
    ]
    return "\n\n".join(text) + f"\n\nMachine: {report.machine()}.\n"


def picture(unseen: dict[str, xr.Dataset], swept: dict[str, xr.Dataset]) -> Figure:
    """Shares of the scenarios below a rho, and rho over each factor alone."""
    with style():
        figure, axes = plt.subplots(2, 3, figsize=(9.6, 5.6))
        _shares(axes.flat[0], unseen)
        for i, (ax, name) in enumerate(zip(axes.flat[1:], SPREAD, strict=True)):
            ax.sharey(axes.flat[1])
            _over(ax, swept, i, name)
        figure.legend(
            *axes.flat[0].get_legend_handles_labels(), title="damper that is best", loc="outside upper center", ncols=3
        )
    return figure


def _shares(ax: Axes, unseen: dict[str, xr.Dataset]) -> None:
    """Share of the walks that lose more than a given rho; walks that fold lose all, beyond the panel."""
    for name, data in unseen.items():
        lost = np.sort(1e3 * (1.0 - np.nan_to_num(data.rho.values, nan=0.0)))[::-1]
        ax.step(
            lost, np.arange(1, lost.size + 1) / lost.size * 100.0, where="post", color=COLOURS[name], label=WORDS[name]
        )
    ax.set(xlabel="1 - rho (thousandths)", ylabel=axis_label(f"of {UNSEEN} unseen walks, worse", "%"))
    known = 1e3 * (1.0 - np.concatenate([data.rho.values for data in unseen.values()]))
    ax.set(ylim=(0.0, 100.0), xlim=(0.95 * np.nanmin(known), 1.03 * np.nanmax(known)))


def _over(ax: Axes, swept: dict[str, xr.Dataset], i: int, name: str) -> None:
    """1 - rho over one factor; open circles: walks that are not of period one."""
    factor = SPREAD[name]
    ratio = np.linspace(factor.low, factor.high, STEPS)
    for kind, data in swept.items():
        part = data.isel(member=slice(i * STEPS, (i + 1) * STEPS))
        lost, other = 1e3 * (1.0 - part.rho.values), part.order.values != 1
        ax.plot(ratio, lost, "-", color=COLOURS[kind], lw=1)
        ax.plot(ratio[~other], lost[~other], "o", color=COLOURS[kind], ms=3)
        ax.plot(ratio[other], lost[other], "o", color=COLOURS[kind], ms=5, mfc="none")
    ax.set(xlabel=axis_label(factor.words, "ratio"), ylabel="1 - rho (thousandths)")


def main(out: pathlib.Path) -> None:
    """Searches, judges, draws and writes."""
    found = designs()
    searched, unseen = walks(found, drawn(SCENARIOS, seed=1)), walks(found, drawn(UNSEEN, seed=2))
    swept = walks(found, alone())
    rows = judged(found, searched, unseen)
    price = prices(rows)
    out.mkdir(parents=True, exist_ok=True)
    kept = {"designs": rows, "price": price, "machine": report.machine()}
    (out / "robust.json").write_text(json.dumps(kept, indent=1))
    (out / "robust.md").write_text(table(rows, price))
    save(picture(unseen, swept), out / "robust.png")
    print((out / "robust.md").read_text())


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
