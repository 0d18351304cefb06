"""Film scene of the prosthetic leg."""

from __future__ import annotations

import numpy as np
import xarray as xr

from jaxgait.models.prosthesis.fitting import straight_ankle
from jaxgait.models.prosthesis.leg import POINTS
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.plot.scene import Body, Curve, ForceArrow, Ground, Limb, Scene, View, disc, ghost, rod, tapered
from jaxgait.plot.style import BLUE, GREEN, GREY, ORANGE

STEEL, DARK, SKIN = "#9DB2C4", "#3A4A58", "#E3B79B"
SOUND = "measured leg"
PIVOT_RADIUS = 0.006
"""Radius in m of a drawn pivot."""


def scene(model: Prosthesis, run: xr.Dataset) -> Scene:
    """The walking leg and a close-up of its knee; see `jaxgait.plot.scene`."""
    at = {name: run.points.values[:, i] for i, name in enumerate(POINTS)}
    overview = np.stack([at["H"][:, 0], np.full(run.sizes["time"], 0.42)], axis=-1)
    near = at["A"] + np.array([0.0, -0.06])
    knee, measured = (np.degrees(run[name].values) for name in ("knee_angle", "measured_knee_angle"))
    load = {foot: run[f"{foot}_force"].values for foot in ("heel", "toe")}
    knees = Curve("knee angle", "deg", {"prosthesis": knee, SOUND: measured}, measured=(SOUND,))
    push = {foot: np.stack([run[f"{foot}_friction"].values, load[foot]], axis=-1) for foot in load}
    return Scene(
        time=run.time.values,
        shapes=(*_sound_leg(model, run, at["H"]), *_limbs(at), *_hardware(model, run, at)),
        views=(View(overview, (1.35, 1.1)), View(near, (0.36, 0.36), "four-bar knee")),
        ground=Ground(),
        forces=tuple(ForceArrow(at[foot] * [1.0, 0.0], push[foot]) for foot in load),
        curves=(knees, Curve("ground force", "N", load)),
        readouts={"knee": (knee, "deg")},
        legend={"prosthesis": BLUE, SOUND: GREY, "cylinder": GREEN},
    )


def _limbs(at: dict[str, np.ndarray]) -> tuple[Limb | Body, ...]:
    """Shank, foot, and thigh in its socket. The model's ankle lies in the sole; the foot is drawn above it."""
    along = (at["toe"] - at["heel"]) / np.linalg.norm(at["toe"] - at["heel"], axis=-1, keepdims=True)
    up = np.stack([-along[:, 1], along[:, 0]], axis=-1)
    instep = [at["heel"] + 0.05 * up, at["K"] - 0.03 * along + 0.085 * up, at["K"] + 0.03 * along + 0.085 * up]
    foot = np.stack([at["heel"], *instep, at["toe"] + 0.02 * up, at["toe"]], axis=1)
    stump, brim = (w * at["H"] + (1.0 - w) * at["E"] for w in (0.3, 0.75))
    return (
        Body(foot, BLUE),
        Limb(rod(at["F"], at["K"] + 0.05 * up), 0.03, STEEL),
        Body(tapered(at["H"], stump, (0.15, 0.1)), SKIN),
        Body(disc(at["H"], 0.075), SKIN, edge="none"),
        Body(tapered(brim, at["E"], (0.145, 0.05)), BLUE),
    )


def _hardware(model: Prosthesis, run: xr.Dataset, at: dict[str, np.ndarray]) -> tuple[Limb | Body, ...]:
    upper, lower = cylinder(model, run)
    half = 0.5 * (upper + lower)
    plates = (Limb(np.stack([at[n] for n in names], axis=1), 0.012, STEEL) for names in ("EAB", "CDF"))
    bars = (Limb(rod(at[a], at[b]), 0.012, c) for a, b, c in (("A", "D", ORANGE), ("B", "C", GREY)))
    pivots = (Body(disc(at[name], PIVOT_RADIUS, 12), DARK) for name in "ABCD")
    barrel = (Limb(rod(half, lower), 0.016, GREEN), Limb(rod(upper, half), 0.007, STEEL))
    return (*barrel, *plates, *bars, *pivots)


def cylinder(model: Prosthesis, run: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Upper and lower end of the hydraulic cylinder in m, (samples, 2): equations (10) and (11)."""
    A, D = (run.points.values[:, POINTS.index(name)] for name in "AD")
    along = (D - A) / np.linalg.norm(D - A, axis=-1, keepdims=True)
    angle = run.thigh_angle.values + np.pi - float(model.damper.thigh_tilt - model.linkage.gamma1)
    return A + float(model.damper.thigh_arm) * _down(angle), A + float(model.damper.link_arm) * along


def _sound_leg(model: Prosthesis, run: xr.Dataset, hip: np.ndarray) -> tuple[Limb, ...]:
    """Thigh and shank of the measured leg: same hip, thigh and leg length, measured knee."""
    thigh = float(model.segments.thigh + model.linkage.l_AE)
    ankle = straight_ankle(model)
    shank = float(np.hypot(float(ankle.x), float(ankle.y))) - thigh
    knee = hip + thigh * _down(run.thigh_angle.values)
    end = knee + shank * _down(run.thigh_angle.values - run.measured_knee_angle.values)
    return ghost(rod(hip, knee), 0.1), ghost(rod(knee, end), 0.06)


def _down(angle: np.ndarray) -> np.ndarray:
    """Unit vectors at angles in rad from straight down, positive forward."""
    return np.stack([np.sin(angle), -np.cos(angle)], axis=-1)
