"""A thousand exoskeletons: body sizes and gaits by inverse dynamics, disturbed starts by forward runs."""

from __future__ import annotations

import pathlib
import time

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from jaxgait import ensemble
from jaxgait.ensembles.members import zipped
from jaxgait.mechanics.linalg import norm
from jaxgait.models.exoskeleton import vectors
from jaxgait.models.exoskeleton.measures import StepFigures, step_figures
from jaxgait.models.exoskeleton.model import five_links
from jaxgait.models.exoskeleton.walking import WalkingGait, joined_amplitudes
from jaxgait.parameters import with_parameters
from jaxgait.plot.style import BLUE, axis_label, save, style
from jaxgait.report import Report, labels
from jaxgait.run import Run

MEMBERS = 1000
COLUMNS = {
    "mass_scale": ("1", "scale of the masses"),
    "length_scale": ("1", "scale of the lengths"),
    "amplitude": ("rad", "amplitude"),
    "stride_time": ("s", "stride time"),
    "stretch": ("1", "stretch of the telescopes"),
    "speed": ("m/s", "speed"),
    "ankle": ("N m", "largest ankle moment"),
    "work_per_metre": ("J/m", "positive work per metre"),
}
"""Unit and long name."""


def samples(seed: int = 0) -> dict[str, np.ndarray]:
    """Random body sizes and gaits."""
    rng = np.random.default_rng(seed)
    ranges = {
        "mass_scale": (0.7, 1.3),
        "length_scale": (0.9, 1.1),
        "amplitude": (0.2, 0.35),
        "stride_time": (1.4, 2.6),
        "stretch": (0.0, 0.05),
    }
    return {name: rng.uniform(*limits, MEMBERS) for name, limits in ranges.items()}


def walkers(drawn: dict[str, np.ndarray]) -> StepFigures:
    base = five_links(mode="gait")
    assert isinstance(base.gait, WalkingGait)
    phase = base.gait.phase

    def one(x: dict[str, jax.Array]) -> StepFigures:
        changes = {
            "masses": base.masses * x["mass_scale"],
            "lengths": base.lengths * x["length_scale"],
            "gait.amplitude": joined_amplitudes(x["amplitude"], phase),
            "gait.stride_time": x["stride_time"],
            "gait.stretch": x["stretch"],
        }
        return step_figures(with_parameters(base, changes), samples=100)

    return jax.jit(jax.vmap(one))({k: jnp.asarray(v) for k, v in drawn.items()})


def disturbed() -> xr.Dataset:
    """Forward runs from disturbed velocities, each with its own tracking gain."""
    base, rng = five_links(), np.random.default_rng(1)
    start = np.asarray(base.initial_state().v)
    members = zipped(
        {
            "tracking": rng.uniform(10.0, 80.0, MEMBERS),
            "initial.v": start + rng.normal(0.0, 0.1, (MEMBERS, *start.shape)),
        }
    )
    return ensemble(
        base,
        members,
        duration=0.2,
        samples=1,
        observe=_last_error,
        variables={"error": base.variables["tracking_error"]},
        rtol=1e-5,
        atol=1e-7,
        progress=False,
    )


def _last_error(run: Run) -> dict[str, jax.Array]:
    """Largest distance in m of a link vector from the prescribed one, at the end."""
    wanted = vectors.link_vectors(run.model.motion(run.ts[-1]).q)  # type: ignore[attr-defined]
    return {"error": jnp.max(norm(run.ys.x[-1] - wanted))}


def add(report: Report, out: pathlib.Path) -> None:
    drawn = samples()
    step = walkers(drawn)
    start = time.perf_counter()
    runs = disturbed()
    seconds = time.perf_counter() - start
    columns = {**drawn, "speed": step.speed, "ankle": step.ankle, "work_per_metre": step.work_per_metre}
    data = xr.Dataset({k: ("member", np.asarray(v), labels(*COLUMNS[k])) for k, v in columns.items()})
    report.data(out / "walkers.nc", data)
    report.data(out / "disturbed.nc", runs)
    firm = runs.error.where(runs.tracking > 60)
    report.figure("members_finite", f"walkers of {MEMBERS} with finite results", "", int(np.isfinite(step.ankle).sum()))
    report.figure("disturbed_completed", f"disturbed runs of {MEMBERS} completed", "", int((runs.status == 0).sum()))
    report.figure("disturbed_firm", "their largest error at the end, gain above 60 1/s", "m", float(firm.max()))
    report.figure("disturbed_seconds", f"{MEMBERS} forward runs of 0.2 s, compilation included", "s", seconds)
    report.section(
        "Ensembles",
        f"{MEMBERS} body sizes and gaits: masses +-30%, lengths +-10%, amplitude, stride time and stretch. Work "
        "per metre grows with speed and mass; short strides need large ankle moments, because the body is "
        f"accelerated again in every step. In {MEMBERS} forward runs the initial velocities were disturbed by "
        "0.1 m/s per component. Axial forces turn with their rods: the errors stay several times above what the "
        "feedback alone would leave (dashed: 0.25 m/s, the usual disturbance of the worst link).",
    )
    report.picture(_picture(data, runs, out / "ensembles.png"), "A thousand walkers and a thousand disturbed runs.")


def _picture(data: xr.Dataset, runs: xr.Dataset, path: pathlib.Path) -> pathlib.Path:
    with style():
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6))
        dots = left.scatter(data.speed, data.work_per_metre, c=data.mass_scale, s=6)
        left.set(xlabel=axis_label("speed", "m/s"), ylabel=axis_label("positive work per metre", "J/m"))
        figure.colorbar(dots, ax=left, label="scale of the masses")
        dots = middle.scatter(data.stride_time, data.ankle, c=data.amplitude, s=6)
        middle.set(xlabel=axis_label("stride time", "s"), ylabel=axis_label("largest ankle moment", "N m"))
        figure.colorbar(dots, ax=middle, label=axis_label("amplitude", "rad"))
        right.semilogy(runs.tracking, runs.error * 1e3, ".", ms=3, color=BLUE)
        gain = np.linspace(10, 80, 50)
        right.semilogy(gain, 0.25e3 * 0.2 * np.exp(-0.2 * gain), "k--", lw=1, label="feedback alone")
        right.legend()
        right.set(
            xlabel=axis_label("tracking gain k", "1/s"),
            ylabel=axis_label("error after 0.2 s", "mm"),
            title="disturbed starts",
        )
    return save(figure, path)
