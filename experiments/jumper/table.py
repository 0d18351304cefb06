"""The jump with both joint profiles: figures, ground reaction, the sole stud by stud, films."""

from __future__ import annotations

import pathlib

import diffrax
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import jaxgait
from jaxgait import precision
from jaxgait.mechanics.friction import Stribeck
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.measures import Jump, assess, lift_off_times, slid
from jaxgait.models.jumper.pictures import foot_maps, ground_reaction, sole_map
from jaxgait.models.jumper.spatial import HIP_ASIDE, SpatialJumper
from jaxgait.parts import with_parts
from jaxgait.plot import film
from jaxgait.plot.style import BLUE, GREY, ORANGE, axis_label, save, style
from jaxgait.report import Report

from . import expected

MASS = 70.0
WEIGHT = MASS * 9.81
PROFILES = {"sequenced": Jumper(), "simultaneous": Jumper.simultaneous()}
UNREADABLE = "its results are not in the available text"
WORDS = {
    "take_off": "take-off",
    "x": "CoM at take-off, x",
    "z": "CoM at take-off, z",
    "vx": "velocity at take-off, x",
    "vz": "velocity at take-off, z",
    "height": "jump height",
    "apex": "largest height of the CoM",
    "peak_force": "peak force / body weight",
    "angular_momentum": "angular momentum at take-off",
    "pitch": "foot pitch at take-off",
    "grf_x_min": "smallest fore-aft force",
    "grf_x_max": "largest fore-aft force",
    "depth": "largest compression",
    "joint_power": "peak joint power",
    "joint_work": "work of the joints",
    "contact_work": "work of the ground",
    "energy": "gain of mechanical energy",
}
SAMPLES, FRAMES = 3000, 50


def run(model: Jumper) -> xr.Dataset:
    """One accurate jump."""
    return jaxgait.simulate(model, samples=SAMPLES, solver=diffrax.Dopri8(), rtol=1e-9, atol=1e-10)


def jump_of(data: xr.Dataset) -> Jump:
    with precision.use("float64"):
        return assess(data, MASS)


def inputs(report: Report, out: pathlib.Path) -> None:
    """Compares what the paper prints of its model: inputs, not results."""
    model, space = Jumper(), SpatialJumper()
    tree = space.tree()
    printed = expected.PRINTED
    report.compare("bodies", "bodies", len(tree.names), printed["bodies"], paper=15, input=True)
    mass = float(np.sum(np.asarray(tree.mass)))
    report.compare("mass", "mass of all bodies", mass, printed["mass"], paper=70, input=True)
    for joint, swing in expected.PRINTED_SWINGS.items():
        angle = float(np.degrees(abs(getattr(model, joint).angle)))
        report.compare(f"swing-{joint}", f"swing of the {joint}", angle, swing, paper=swing.value, input=True)
    speed, row = float(model.sole.stribeck_velocity), printed["transition-speed"]
    what = "speed at which friction turns from static to kinetic"
    report.compare("transition-speed", what, speed, row, paper=row.value, input=True)


def figures(report: Report, out: pathlib.Path) -> None:
    runs = {name: run(model) for name, model in PROFILES.items()}
    for profile, data in runs.items():
        report.data(out / f"{profile}.nc", data)
        jump, found = jump_of(data), histories(data, expected.END[profile])
        for name, rows in expected.JUMP.items():
            paper = UNREADABLE if "force" in name else None
            value, label = float(getattr(jump, name)), f"{WORDS[name]}, {profile}"
            report.compare(f"{profile}-{name}", label, value, rows[profile], paper=paper)
        for name, rows in expected.HISTORIES.items():
            paper = UNREADABLE if name.startswith("grf") else None
            label = f"{WORDS[name]}, {profile}"
            report.compare(f"{profile}-{name}", label, found[name], rows[profile], paper=paper)
        with precision.use("float64"):
            times = np.asarray(lift_off_times(data.time.values, data.depth.values))
        # The last row's lift-off is the take-off, which is compared above.
        *heels, _ = zip(times, expected.LIFT_OFFS[profile], strict=True)
        for number, (value, row) in enumerate(heels, 1):
            label = f"lift-off of row {number}, {profile}"
            report.compare(f"{profile}-row-{number}", label, float(value), row)
    report.picture(
        save(ground_reaction(runs, WEIGHT), out / "ground_reaction.png"), "Ground reaction of both profiles."
    )
    stance = runs["sequenced"].sel(time=slice(0.08, 0.34)).isel(time=slice(None, None, 4))
    sole = Jumper().sole
    figure = sole_map(stance, tuple(float(x) for x in sole.rows), float(sole.kinetic_friction))
    report.picture(save(figure, out / "sole.png"), "Every row of studs: load, and stick or slip.")


def histories(data: xr.Dataset, end: float) -> dict[str, float]:
    """The figures of `expected.HISTORIES`; work and energy up to `end` in s."""
    part = data.sel(time=slice(0.0, end + 1e-9))
    return {
        "grf_x_min": float(data.grf_x.min()),
        "grf_x_max": float(data.grf_x.max()),
        "depth": float(data.depth.max()),
        "joint_power": float(data.joint_power.max()),
        "joint_work": float(part.joint_power.integrate("time")),
        "contact_work": float(part.contact_power.integrate("time")),
        "energy": float(part.energy[-1] - part.energy[0]),
    }


def friction_laws(report: Report, out: pathlib.Path) -> None:
    """The jump with three friction laws; "incremental" is the paper's stick and slip."""
    model = Jumper()
    runs = {
        "bristle": run(model),
        "memoryless": run(with_parts(model, {"sole.friction": Stribeck(0.9, 0.7, 0.006, 0.006, "algebraic")})),
        "incremental": _incremental(model),
    }
    for name, data in runs.items():
        jump = jump_of(data)
        with precision.use("float64"):
            toes = float(slid(data)[-1])
        for key, what, unit, value in (
            ("take-off", "take-off", "s", jump.take_off),
            ("height", "jump height", "m", jump.height),
            ("peak", "peak force / body weight", "1", jump.peak_force),
            ("spin", "angular momentum at take-off", "kg m^2/s", jump.angular_momentum),
            ("toes", "distance the toe row slides under load", "m", toes),
        ):
            report.figure(f"friction-{name}-{key}", f"{what}, {name} friction", unit, float(value))
    heights = [float(jump_of(data).height) for data in runs.values()]
    spread = max(heights) / min(heights) - 1.0
    report.figure("friction-spread", "spread of the height over the laws", "1", spread, expected=0.0, tolerance=0.01)
    with style():
        figure, axis = plt.subplots(figsize=(6.5, 3.2))
        for colour, (name, data) in zip((BLUE, ORANGE, GREY), runs.items(), strict=True):
            axis.plot(data.time, data.grf_x / WEIGHT, color=colour, label=name, lw=1.2)
        axis.set(xlabel=axis_label("time", "s"), ylabel=axis_label("fore-aft force", "body weights"), xlim=(0.08, 0.36))
        axis.legend(loc="lower left")
    caption = "Friction laws: a spring without a damper vibrates and chatters; the height hardly changes."
    report.picture(save(figure, out / "friction.png"), caption)


def _incremental(model: Jumper) -> xr.Dataset:
    """The jump by time steps, with `grf_x`."""
    run = jaxgait.simulate(model, scheme="Marching", dt=1e-5, samples=600)
    force = run.friction_impulse.sum("row").diff("time") / run.time.diff("time")  # mean between two samples
    return run.assign(grf_x=model.studs_per_row * force.reindex_like(run.time, fill_value=0.0))


def films(report: Report, out: pathlib.Path) -> None:
    """Films of the planar and the spatial jump, their difference, and both soles."""
    plane = run(Jumper()).isel(time=slice(None, None, SAMPLES // FRAMES))
    space = jaxgait.simulate(SpatialJumper(), samples=FRAMES)
    lame = jaxgait.simulate(SpatialJumper(asymmetry=0.02), samples=FRAMES)
    gap = float(np.abs(space.com[:, 2] - plane.com_z).max())
    report.figure("space-plane", "CoM path, space against plane", "m", gap, expected=0.0, tolerance=1e-6)
    path = film.animate(plane, speed=0.125).save(out / "jump.gif")
    report.picture(path, "The sequenced jump in the plane (at an eighth of its speed).")
    path = film.animate(space, speed=0.125).save(out / "jump_3d.gif")
    report.picture(path, "The fifteen bodies in space (at an eighth of their speed).")
    sole = Jumper().sole
    grid = [(x, y + side * HIP_ASIDE) for side in (1.0, -1.0) for x in sole.rows for y in sole.columns]
    runs = {"both legs together": space, "left limbs 20 ms late": lame}
    instants = (0.1, 0.15, 0.2, 0.25, 0.2875, 0.3125, 0.325)
    figure = foot_maps(runs, instants, np.array(grid, dtype=float), float(sole.kinetic_friction))
    report.picture(save(figure, out / "feet.png"), "Both soles from above: load of the 24 studs, stick or slip.")
