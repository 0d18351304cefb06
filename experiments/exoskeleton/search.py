"""The gait of least work per metre, compared with our example."""

from __future__ import annotations

import pathlib

import jax
import matplotlib.pyplot as plt
import numpy as np

from jaxgait import precision
from jaxgait.models.exoskeleton import pictures
from jaxgait.models.exoskeleton.design import MIN_CLEARANCE, example, least_work
from jaxgait.models.exoskeleton.measures import histories, step_figures
from jaxgait.models.exoskeleton.model import Exoskeleton
from jaxgait.parameters import parameter_info
from jaxgait.plot.style import GREEN, GREY, axis_label, save, style
from jaxgait.report import Report, table

MARGIN = 1e-6
"""Violation of a constraint, in its own unit, that counts as none."""


def add(report: Report, out: pathlib.Path) -> None:
    found, start = least_work(), example()
    with precision.use("float64"):
        figures = jax.jit(step_figures)
        before, after = (figures(precision.cast(exo)) for exo in (start, found.model))
    gain = 1 - float(after.work_per_metre / before.work_per_metre)
    for id, what, step in (("before", "our example", before), ("after", "optimised gait", after)):
        report.figure(f"cost_{id}", f"positive work per metre, {what}", "J/m", float(step.work_per_metre))
    report.figure("work_saved", "work saved by the optimised gait", "1", gain)
    report.figure(
        "worst_margin", "smallest margin of its constraints, each in its own unit", "SI", min(found.limits.values())
    )
    kept = min(found.limits.values()) >= -MARGIN
    report.figure("constraints_kept", "all constraints kept", "", kept, expected=True)
    infos = {name: parameter_info(start, name) for name in found.best}
    rows = [[i.doc, i.unit, f"{float(i.value):.4f}", f"{found.best[n]:.4f}"] for n, i in infos.items()]
    rows += [
        [what, unit, f"{float(a):.4f}", f"{float(b):.4f}"]
        for what, unit, a, b in (
            ("step length", "m", before.length, after.length),
            ("speed", "m/s", before.speed, after.speed),
            ("largest ankle moment", "N m", before.ankle, after.ankle),
            ("friction coefficient needed", "1", before.friction, after.friction),
            ("highest foot", "m", before.foot[:, 2].max(), after.foot[:, 2].max()),
        )
    ]
    report.section(
        "A better gait",
        f"SLSQP with gradients by forward mode, {int(found.ends.evaluations.sum())} evaluations from "
        f"{found.ends.sizes['start']} starts: least positive work of all actuators per metre, at no less than the "
        f"example's speed, foot above the ground and {MIN_CLEARANCE * 100:g} cm above it in the middle half of the "
        f"step, knees never overstretched, friction at most 0.6, steps that join. It saves {gain:.0%} of the "
        "work, by longer and slower steps with a low foot."
        f"\n\n{table(['', 'unit', 'example', 'optimised'], rows)}",
    )
    assert isinstance(found.model, Exoskeleton)
    picture = _picture(start, found.model, out / "better_gait.png")
    report.picture(picture, "Postures in one step: our example and the optimised gait.")


def _picture(start: Exoskeleton, best: Exoskeleton, path: pathlib.Path) -> pathlib.Path:
    """Postures of one step, with the path of the swing foot."""
    with style():
        figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
        for ax, exo, title in zip(axes, (start, best), ("our example", "optimised"), strict=True):
            data = histories(exo, strides=0.5, samples=200)
            last = data.sizes["time"] - 1
            for i in np.linspace(0, last, 7).round().astype(int):
                pictures.draw_posture(ax, data, int(i), alpha=0.25 + 0.75 * i / last)
            foot = data.joints.sel(link=4, end="far")
            ax.plot(
                foot.sel(axis="x"), foot.sel(axis="z"), color=GREEN, lw=1.2, ls="--", label="path of the swing foot"
            )
            ax.axhline(0, color=GREY, lw=0.8)
            ax.set(title=title, xlabel=axis_label("x", "m"), xlim=(-0.8, 0.8), ylim=(-0.05, 1.55))
            ax.set_aspect("equal")
        axes[0].set_ylabel(axis_label("z", "m"))
        axes[0].legend(loc="upper left")
        axes[1].legend(handles=pictures.leg_handles(data), loc="upper left", ncols=3)
    return save(figure, path)
