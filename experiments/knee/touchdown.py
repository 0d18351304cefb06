"""What a softened touch-down costs: the best damper, and slopes at a given one, on the way to the model's own.

Run `python -m experiments.knee.touchdown --out DIR`: a table (touchdown.md) and a picture (touchdown.png); about a
minute of processor time. The ground takes hold within 1 / `ground.steepness`: 0.1 mm where gradients are taken,
1 micrometre in the model itself. Each search begins at the optimum of the softer ground before it.
"""

from __future__ import annotations

import pathlib
import sys

import matplotlib.pyplot as plt
import numpy as np
import tyro
from matplotlib.figure import Figure

from experiments.knee.tune import OVER, RTOL
from jaxgait import optimize, report
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.optimization.gait import PeriodicGait
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.space import Space
from jaxgait.parameters import with_parameters
from jaxgait.plot.style import BLUE, GREY, ORANGE, axis_label, save, style
from jaxgait.run import Sampling
from jaxgait.solve.smooth import Smooth

STEEPNESS = (1e4, 3e4, 1e5, 3e5, 1e6)
"""Steepnesses in 1/m; the last is the model's own."""
START = {"damper.k": 1.8e4, "damper.c": 700.0}
AT = {"damper.k": 2.6e4, "damper.c": 1300.0}
"""Damper (N/m, N s/m) at which slopes are taken: a stable gait, inside the box."""
FINE = 1e-7
"""Relative tolerance of the runs whose slopes are compared."""
SLOPES = {"rho": ("1e-3 / (kN/m)", 1e6), "peak_flexion": ("deg / (kN/m)", 1e3)}
"""Measures whose derivatives by k are compared: the unit, and how many of it make one SI unit."""


def optima() -> dict[str, np.ndarray]:
    """Spring (N/m), damping (N s/m) and rho of the optimum at each steepness."""
    found = optimize(
        Prosthesis(),
        maximize="rho",
        over=OVER,
        starts=[START],
        rtol=RTOL,
        continue_in={"ground.steepness": STEEPNESS},
        progress=False,
    )
    assert found.stages is not None
    return {name: found.stages[name].values for name in (*OVER, "objective")}


def slope(measure: str, steepness: float) -> float:
    """Derivative of a measure of the periodic gait by k at `AT`, in the unit of `SLOPES`."""
    leg = with_parameters(Prosthesis(), {"ground.steepness": steepness})
    space = Space(leg, OVER)
    gait = PeriodicGait(leg, space, Goal.of(leg, measure), Smooth.of(leg, rtol=FINE), Sampling.of(leg, 1, None, None))
    low, high = OVER["damper.k"]
    per_box = gait(np.zeros(1, int), space.points(leg, [AT], seed=0)).slopes[0, 0, 0]
    return float(per_box) / (high - low) * SLOPES[measure][1]


def table(best: dict[str, np.ndarray], slopes: dict[str, list[float]]) -> str:
    """The figures in Markdown."""
    names = {"rho": "d rho / dk", "peak_flexion": "d peak flexion / dk"}
    head = ["steepness / (1/m)", "k / (N/m)", "c / (N s/m)", "rho"]
    head += [f"{names[name]} / ({SLOPES[name][0]})" for name in slopes]
    lines = []
    for i, steepness in enumerate(STEEPNESS):
        k, c, rho = (float(best[name][i]) for name in (*OVER, "objective"))
        numbers = [f"{steepness:.0e}", f"{k:.0f}", f"{c:.0f}", f"{rho:.6f}"]
        lines.append(numbers + [f"{column[i]:.4f}" for column in slopes.values()])
    return report.table(head, lines)


def picture(best: dict[str, np.ndarray], slopes: dict[str, list[float]]) -> Figure:
    """How far the best damper's spring, and slopes at another one, are from those with the model's own touch-down."""
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
        for (name, column), colour in zip(
            (("k", best["damper.k"]), *slopes.items()), (GREY, BLUE, ORANGE), strict=True
        ):
            ax, label = (left, "k") if name == "k" else (right, f"slope of {name} by k")
            own = column[-1]
            ax.plot(STEEPNESS, 100.0 * (np.array(column) / own - 1.0), "o-", color=colour, label=label)
        left.set(title="spring of the best damper", ylim=(-0.1, 0.1))
        right.set_title("slopes at a given damper")
        right.legend()
        for ax in (left, right):
            ax.set(xscale="log", xlabel=axis_label("ground.steepness", "1/m"))
            ax.set_ylabel(axis_label("difference from the model's own", "%"))
    return figure


def main(out: pathlib.Path) -> None:
    """Measures, draws and writes."""
    found = optima()
    slopes = {name: [slope(name, steepness) for steepness in STEEPNESS] for name in SLOPES}
    out.mkdir(parents=True, exist_ok=True)
    save(picture(found, slopes), out / "touchdown.png")
    (out / "touchdown.md").write_text(table(found, slopes) + "\n")
    print(table(found, slopes))


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
