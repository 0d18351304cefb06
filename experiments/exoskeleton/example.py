"""The paper's five-link example (Figures 7 to 9): inverse dynamics, then forward runs."""

from __future__ import annotations

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.flatten_util import ravel_pytree

from jaxgait import simulate
from jaxgait.models.exoskeleton import pictures
from jaxgait.models.exoskeleton.measures import histories, step_figures
from jaxgait.models.exoskeleton.model import Exoskeleton, five_links
from jaxgait.plot import film
from jaxgait.plot.style import save
from jaxgait.report import Report, table
from jaxgait.solve.smooth import Smooth, integrate

from . import expected

SAMPLES = 3600
GROWTH_TIMES = (0.1, 0.3, 0.5)
MOMENTS = {
    "stance leg, elevation": [("M_psi", 1), ("M_psi", 2)],
    "swing leg and torso, elevation": [("M_psi", 3), ("M_psi", 4), ("M_psi", 5)],
    "azimuth (the torso's is zero: it stands upright)": [("M_phi", i) for i in range(1, 6)],
}
FORCES = {"stance leg and torso": [("F", 1), ("F", 2), ("F", 5)], "swing leg": [("F", 3), ("F", 4)]}
CURVE = "a curve without readable values (Figure 7)"


def add(report: Report, out: pathlib.Path) -> None:
    """Inverse dynamics of one stride (literal mode) and of the walk (gait mode)."""
    literal = histories(five_links(), samples=SAMPLES)
    walk = histories(five_links(mode="gait"), strides=2, samples=400)
    report.data(out / "stride.nc", literal)
    report.data(out / "walk.nc", walk)
    _extremes(report, literal)
    _step(report, literal.isel(time=slice(0, SAMPLES // 2 + 1)))
    _pictures(report, out, literal, walk)
    report.section("Moments and forces", _table(literal))
    report.section(
        "Limits of the example",
        "The prescribed motion needs an ankle moment of up to 344 N m. A fixed base can supply it, a foot cannot: the "
        "centre of pressure moves from 0.63 m behind to 0.59 m in front of the ankle. All elevation rates vanish when "
        "the legs are exchanged, so the gait stops and goes. The torso is always upright: its azimuth is undefined, "
        "and the 15 x 15 spherical mass matrix always singular; link vectors are not affected.",
    )


def _extremes(report: Report, data: xr.Dataset) -> None:
    for (name, link), rows in expected.EXTREMES.items():
        curve = data[name].sel(link=link)
        paper = "a curve without readable values (Figure 8)" if name == "F" else CURVE
        for word, measured, row in zip(("smallest", "largest"), (curve.min(), curve.max()), rows, strict=True):
            what = f"{word} {pictures.symbol(name, link)}"
            report.compare(f"{word}_{name}_{link}", what, float(measured), row, paper=paper)
    stride = data.isel(time=slice(0, -1))
    for id, what, measured in (
        ("mean_R_z", "mean vertical reaction: the weight", stride.reaction.sel(axis="z").mean()),
        ("mean_M_phi_1", "mean azimuth moment of the ankle", stride.M_phi.sel(link=1).mean()),
        ("mean_F_5", "mean axial force of the torso", stride.F.sel(link=5).mean()),
        ("M_phi_5", "largest azimuth moment of the torso", abs(data.M_phi.sel(link=5)).max()),
    ):
        report.compare(id, what, float(measured), expected.MEANS[id])


def _step(report: Report, step: xr.Dataset) -> None:
    figures = step_figures(five_links())
    work = np.trapezoid(step.power, step.time)
    reaction, point = step.reaction, step.pressure_point.sel(ground_axis="x")
    foot = step.joints.sel(link=4, end="far", axis="z")
    friction = np.hypot(reaction.sel(axis="x"), reaction.sel(axis="y")) / reaction.sel(axis="z")
    knees = np.degrees([step.psi.sel(link=2) - step.psi.sel(link=1), step.psi.sel(link=3) - step.psi.sel(link=4)])
    rows = [
        ("step_length", "step length", figures.length),
        ("speed", "mean speed", figures.speed),
        ("clearance", "highest point of the swing foot", foot.max()),
        ("penetration", "lowest point of the swing foot", foot.min()),
        ("knee_stance", "largest knee flexion, stance", knees[0].max()),
        ("knee_swing", "largest knee flexion, swing", knees[1].max()),
        ("R_z_min", "smallest vertical reaction", reaction.sel(axis="z").min()),
        ("R_z_max", "largest vertical reaction", reaction.sel(axis="z").max()),
        ("R_x_min", "smallest forward reaction", reaction.sel(axis="x").min()),
        ("R_x_max", "largest forward reaction", reaction.sel(axis="x").max()),
        ("friction", "friction coefficient needed", friction.max()),
        ("cop_back", "centre of pressure, hindmost", point.min()),
        ("cop_front", "centre of pressure, foremost", point.max()),
        ("work", "work of all actuators in a step", work),
        ("gain", "change of energy in a step", step.energy[-1] - step.energy[0]),
        ("energy", "energy at the start", step.energy[0]),
        ("work_psi", "positive work of the elevation joints per step", figures.work[1]),
        ("work_axial", "positive axial work per step", figures.work[2]),
    ]
    for id, what, measured in rows:
        report.compare(id, what, float(measured), expected.STEP[id])


def _pictures(report: Report, out: pathlib.Path, literal: xr.Dataset, walk: xr.Dataset) -> None:
    report.picture(
        save(pictures.actuator_curves(literal, MOMENTS), out / "moments.png"),
        "Joint moments over one stride, grouped by magnitude as in the paper (Figure 7).",
    )
    report.picture(
        save(pictures.actuator_curves(literal, FORCES), out / "forces.png"),
        "Axial forces over one stride (Figure 8). The swing leg hangs in tension.",
    )
    step = walk.isel(time=slice(0, 201))
    report.picture(
        save(pictures.ground_reaction(step), out / "ground.png"), "Ground reaction and centre of pressure in one step."
    )
    report.picture(save(pictures.kinogram(walk), out / "kinogram.png"), "Kinogram of four steps (Figure 9).")
    report.picture(
        film.animate(walk, five_links(mode="gait"), speed=1.0).save(out / "walk.gif"), "The walk in real time."
    )


def _table(data: xr.Dataset) -> str:
    rows = []
    for label, part in (("0", 0), ("T/8", 1 / 8), ("T/4", 1 / 4), ("3T/8", 3 / 8), ("T/2", 1 / 2), ("3T/4", 3 / 4)):
        row = data.isel(time=round(part * SAMPLES))
        cells = (" ".join(f"{x:.6f}" for x in row[name].values + 0.0) for name in ("M_phi", "M_psi", "F"))
        rows.append([label, *cells])
    return table(["t", "M_phi 1..5 (N m)", "M_psi 1..5 (N m)", "F 1..5 (N)"], rows)


def add_forward(report: Report, out: pathlib.Path) -> None:
    """Forward dynamics: a stride with tracking, and how fast errors grow without it."""
    exo = Exoskeleton()
    run = simulate(exo, strides=1, samples=100, rtol=1e-10, atol=1e-12)
    report.data(out / "forward.nc", run)
    error = float(run.tracking_error.max())
    report.compare("tracking", "forward run of a stride with tracking: largest error", error, expected.TRACKING)
    for t, growth in zip(GROWTH_TIMES, _open_loop_growth(), strict=True):
        report.figure(f"growth_{t:g}", f"open loop: largest growth of a perturbation in {t:g} s", "1", growth)
    report.section(
        "Open-loop runs are no test",
        "Axial forces turn with their rods. Growth is the largest singular value of the state transition matrix (SI "
        "units), too large for an open-loop run of a whole step. Forward runs are checked at instants, over 0.1 s, and "
        "with tracking.",
    )


def _open_loop_growth() -> list[float]:
    """Norms of the state transition matrix from t = 0."""
    exo = five_links(tracking=0.0)
    start, whole = ravel_pytree(exo.initial_state())
    settings = Smooth.of(exo, rtol=1e-8, atol=1e-10)
    ts = jnp.asarray((0.0, *GROWTH_TIMES))

    def path(y: jax.Array) -> jax.Array:
        ys = integrate(exo, ts, settings, whole(y)).ys
        return jnp.concatenate([leaf.reshape(ts.size, -1) for leaf in ys], axis=1)

    transition = np.asarray(jax.jit(jax.jacfwd(path))(start))[1:]
    return [float(x) for x in np.linalg.svd(transition, compute_uv=False)[:, 0]]
