"""The slope of rho by three ways across the subharmonic range of k: of the gait, through the run, and of the scan.

Run `python -m experiments.knee.slopes --out DIR`: a table (slopes.json) and a picture (slopes.png). All along
c = 0.05 k, per box of k from 12 to 22 kN/m. The gait is followed from high k downwards, through where it loses its
stability.
"""

from __future__ import annotations

import json
import pathlib
import sys

import matplotlib.pyplot as plt
import numpy as np
import tyro
from matplotlib.figure import Figure

from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.optimization.evaluate import Differences, Transient
from jaxgait.optimization.gait import PeriodicGait
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.space import Space
from jaxgait.parameters import with_parameters
from jaxgait.plot.style import BLUE, GREY, ORANGE, RED, axis_label, save, style
from jaxgait.run import Sampling
from jaxgait.solve.smooth import Smooth

OVER = {"damper.k": (1.2e4, 2.2e4), "damper.c": (600.0, 1100.0)}
"""The diagonal of this box is c = 0.05 k."""
POINTS = 26
STRIDES = 20
STEP = 2e-3
"""Step of the differences of the scan, as a fraction of the box."""
RTOL = 1e-6


def table(steepness: float = 1e4) -> dict[str, list[float]]:
    """Values of k in N/m, rho of walk and gait, the gait's multiplier, and the slopes of rho per box by the three ways.

    Args:
        steepness: of the touch-down in 1/m.
    """
    leg = with_parameters(Prosthesis(), {"ground.steepness": steepness})
    space, goal, options = Space(leg, OVER), Goal.of(leg, "rho"), {"strides": STRIDES, "rtol": RTOL}
    along = np.linspace(0.02, 0.98, POINTS)
    diagonal = lambda u: np.stack([u, u], axis=1)
    gait = PeriodicGait(leg, space, goal, Smooth.of(leg, rtol=RTOL), Sampling.of(leg, 1, None, None))
    found = [gait(np.zeros(1, int), diagonal(np.array([u]))) for u in along[::-1]][::-1]
    run = Transient(leg, space, goal, options, {})(np.arange(POINTS), diagonal(along))
    around = diagonal(np.concatenate([along - STEP, along, along + STEP]))
    walks, _ = Differences(leg, space, goal, options, {}).values(np.zeros(len(around), int), around)
    below, at, above = walks[:, 0].reshape(3, -1)
    columns = {
        "damper.k": space.physical(diagonal(along))[:, 0],
        "rho of the walk": at,
        "rho of the gait": np.array([one.values[0, 0] for one in found]),
        "multiplier": np.array([one.multiplier[0] for one in found]),
        "gait": np.array([one.slopes[0, 0].sum() for one in found]),
        "run": run.slopes[:, 0].sum(axis=1),
        "scan": (above - below) / (2 * STEP),
    }
    return {name: [float(x) for x in column] for name, column in columns.items()}


def picture(columns: dict[str, list[float]]) -> Figure:
    """Multiplier, rho and the slopes over k."""
    k, unstable = np.array(columns["damper.k"]) / 1e3, np.array(columns["multiplier"]) >= 1.0
    with style():
        figure, axes = plt.subplots(3, 1, figsize=(7.2, 7.6), sharex=True)
        axes[0].plot(k, columns["multiplier"], ".-", color=BLUE)
        axes[0].axhline(1.0, color=RED, lw=1)
        axes[0].set_ylabel("multiplier of the gait")
        axes[1].plot(k, columns["rho of the gait"], ".-", color=BLUE, label="of the gait")
        axes[1].plot(k, columns["rho of the walk"], "x", color=ORANGE, label="of a walk of 20 strides")
        axes[1].set_ylabel("rho")
        axes[1].legend()
        for name, mark, colour in (("gait", ".-", BLUE), ("run", "+", RED), ("scan", "x", ORANGE)):
            axes[2].plot(k, columns[name], mark, color=colour, label=name)
        axes[2].set_ylabel("slope of rho per box")
        axes[2].set_yscale("symlog", linthresh=0.1)
        axes[2].legend(ncols=3)
        axes[2].set_xlabel(axis_label("k", "kN/m"))
        for ax in axes:
            ax.fill_between(k, 0, 1, where=unstable, color=GREY, alpha=0.2, lw=0, transform=ax.get_xaxis_transform())
    return figure


def main(out: pathlib.Path, steepness: float = 1e4) -> None:
    """Measures, draws and writes."""
    found = table(steepness)
    out.mkdir(parents=True, exist_ok=True)
    (out / "slopes.json").write_text(json.dumps(found, indent=1) + "\n")
    save(picture(found), out / "slopes.png")
    for row in zip(*found.values(), strict=True):
        print("  ".join(f"{x:12.6g}" for x in row))


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
