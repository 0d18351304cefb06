"""The robot in space: the drive force of Figure 5, springs, and the cost of long chains."""

from __future__ import annotations

import pathlib

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import jaxgait
from jaxgait import precision
from jaxgait.mechanics.spatial import kinematics
from jaxgait.models.creeper import formulations as soa
from jaxgait.models.creeper.chain import CreeperChain, Manoeuvre, SoftExtension
from jaxgait.plot.style import BLUE, GREEN, ORANGE, RED, axis_label, save, style
from jaxgait.report import Report, labels

from ..exoskeleton.cost import measure
from .expected import DRIVE_FORCE

MANOEUVRES: tuple[Manoeuvre, ...] = ("straight", "steer", "yaw")
UNITS = (2, 4, 8, 22)  # 4, 10, 22 and 64 bodies


def figure_5(report: Report, out: pathlib.Path) -> None:
    """Drive force over one cycle: three manoeuvres, and one with a soft front unit."""
    runs = {name: jaxgait.simulate(CreeperChain(manoeuvre=name), samples=2000) for name in MANOEUVRES}
    t = runs["steer"].time.to_numpy()
    forces = {n: np.stack([run[f"drive_{axis}"] for axis in "xyz"], axis=1) for n, run in runs.items()}
    for name, force in forces.items():
        found = {
            "largest along x": force[:, 0].max(),
            "smallest along x": force[:, 0].min(),
            "largest along y": force[:, 1].max(),
        }
        paper = "a curve without values (Figure 5)" if name == "steer" else None
        for (label, value), row in zip(found.items(), DRIVE_FORCE[name], strict=True):
            id = f"drive-{name}-{label.replace(' ', '-')}"
            report.compare(id, f"{name}: drive force, {label}", value, row, paper=paper)
    soft = jaxgait.simulate(SoftExtension(), samples=500)
    report.figure(
        "soft-peak", "steer, front unit on springs: largest drive force along x", "N", float(soft.drive_x.max())
    )
    stack = np.stack(list(forces.values()))
    force = labels("N", "force of the actuator unit on its shaft, in its axes")
    data = xr.Dataset(
        {"drive_force": (("manoeuvre", "time", "axis"), stack, force)},
        {"manoeuvre": list(forces), "time": ("time", t, labels("s", "time")), "axis": list("xyz")},
    )
    report.data(out / "drive.nc", data)
    _draw(report, out, t, forces, soft)


def _draw(report: Report, out: pathlib.Path, t: np.ndarray, forces: dict[str, np.ndarray], soft: xr.Dataset) -> None:
    with style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4))
        left.plot(soft.time, soft.drive_x, color=ORANGE, lw=1.0, label="steer, front unit on springs (extension)")
        left.plot(t, forces["steer"][:, 0], color=BLUE, label="steer, rigid")
        apart = 1e3 * np.abs(forces["yaw"][:, 0] - forces["steer"][:, 0]).max()
        left.plot(t, forces["yaw"][:, 0], color=RED, lw=0.8, ls="--", label=f"yaw, rigid: within {apart:.1g} mN of it")
        left.set(xlabel=axis_label("time", "s"), ylabel=axis_label("drive force along x", "N"), xlim=(0, 1))
        left.legend()
        right.plot(soft.time, soft.drive_y, color=ORANGE, lw=1.0)
        right.plot(t, forces["steer"][:, 1], color=BLUE)
        right.plot(t, 100.0 * forces["yaw"][:, 1], color=RED, lw=0.8, ls="--", label="yaw, 100 times enlarged")
        right.set(xlabel=axis_label("time", "s"), ylabel=axis_label("drive force along y", "N"), xlim=(0, 1))
        right.legend()
        caption = "Figure 5: force of the actuator while the robot creeps and turns at 30 degrees per second."
        report.picture(save(figure, out / "figure_5.png"), caption)


def long_chains(report: Report, out: pathlib.Path) -> None:
    """Times forward dynamics: recursion against the dense global form."""
    counts, recursive, dense = [], [], []
    with precision.use("float64"):
        for units in UNITS:
            tree = CreeperChain(units=units).tree()
            q, v = jnp.asarray(tree.neutral()), jnp.linspace(-0.5, 0.5, tree.nv)
            ops = soa.operators(tree, kinematics(tree, q, v))
            none = jnp.zeros_like(ops.V)
            counts.append(len(tree.names))
            recursive.append(measure(soa.forward_dynamics, ops, v, none).evaluate)
            dense.append(measure(_global_forward, ops, v, none).evaluate)
    with style():
        figure, ax = plt.subplots(figsize=(4.8, 3.4))
        ax.loglog(counts, recursive, "o-", color=GREEN, label="recursion, O(N)")
        ax.loglog(counts, dense, "s-", color=BLUE, label="dense global form")
        ax.set(
            xlabel="bodies",
            ylabel=axis_label("time of one forward dynamics", "µs"),
            xticks=counts,
            xticklabels=[str(c) for c in counts],
        )
        ax.minorticks_off()
        ax.legend()
        report.picture(save(figure, out / "chains.png"), "Cost of forward dynamics of inchworms of 2 to 22 units.")
    power = np.polyfit(np.log(counts[1:]), np.log(recursive[1:]), 1)[0]
    report.figure("order", "recursion: exponent of the cost from 10 to 64 bodies", "1", power)


@jax.jit
def _global_forward(ops: soa.Operators, tau: jax.Array, f_ext: jax.Array) -> jax.Array:
    left = soa.H(ops)[ops.base_first] @ soa.phi(ops)
    bias = left @ (soa.M(ops) @ (soa.phi(ops).T @ ops.a.reshape(-1)) + (ops.b - f_ext).reshape(-1))
    return jnp.linalg.solve(soa.mass_matrix(ops), tau - bias)
