"""Film scenes of the walkers."""

from __future__ import annotations

import numpy as np
import xarray as xr

from jaxgait.models.walker.round_feet import RoundFeet
from jaxgait.plot.scene import Body, Curve, ForceArrow, Ground, Limb, Scene, View, arrow_scale, disc, levelled
from jaxgait.plot.style import BLUE, ORANGE

FOOT_ARC = 0.6
"""Half opening in rad of the drawn arc of a foot, at least: it reaches as far as the leg is inclined, and touches."""
DEEP = 0.05
"""Depth of a swing foot in the ground that the caption states, as a fraction of the leg: more than in a usual swing."""
THICKNESS = 0.05
"""Thickness of a leg as a fraction of its length."""
COLOURS = (BLUE, ORANGE)


def scene(model: RoundFeet, run: xr.Dataset) -> Scene:
    """A walk on its slope, the camera at the hip; see `jaxgait.plot.scene`."""
    slope, length = float(model.slope), float(model.leg_length)
    hip = np.stack([run.x.values, run["y" if "y" in run else "hip_height"].values], axis=-1)
    angles = _angles(run)
    legs = [leg(model, hip, angle) for angle in angles]
    width = THICKNESS * length
    shapes = [Limb(levelled(p, slope), width, c) for pair, c in zip(legs, COLOURS, strict=True) for p in pair[::-1]]
    body = disc(levelled(hip, slope), 0.06 * length)
    below = np.stack([hip[:, 0] * np.cos(slope), 0.55 * length - hip[:, 0] * np.sin(slope)], axis=-1)
    degrees = {f"leg {i + 1}": np.degrees(angle) for i, angle in enumerate(angles)}
    views = (View(below, (1.55 * length, 1.5 * length)),)
    weight = ForceArrow(
        np.zeros((1, 2)), np.array([[0.0, 2.0 * float(model.mass * model.gravity)]])
    )  # impacts are far larger
    return Scene(
        time=run.time.values,
        shapes=(*shapes, Body(body, "black")),
        views=views,
        ground=Ground(0.0, slope),
        forces=_forces(model, run, hip, angles),
        newtons_per_metre=arrow_scale(Scene(run.time.values, (), views, forces=(weight,))),
        curves=(Curve("leg angle", "deg", degrees),),
        readouts={"slope": (np.full(run.sizes["time"], np.degrees(slope)), "deg")} | _sunk(model, run),
        legend={"leg 1": BLUE, "leg 2": ORANGE},
    )


def _sunk(model: RoundFeet, run: xr.Dataset) -> dict[str, tuple[np.ndarray, str]]:
    """The height of a swing foot that passes far through the ground, which a walker that rolls does not feel."""
    if "swing_gap" not in run or float(run.swing_gap.min()) > -DEEP * float(model.leg_length):
        return {}
    return {"swing foot": (100.0 * run.swing_gap.values, "cm above the ground (it passes through)")}


def leg(model: RoundFeet, hip: np.ndarray, angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hip-to-sole line and foot arc of one leg, (samples, points, 2) in the axes of the slope.

    Args:
        model: its geometry.
        hip: positions in m, (samples, 2).
        angle: of the leg in rad, (samples,).
    """
    shank, radius = float(model.shank), float(model.foot_radius)
    down = lambda a: np.stack([np.sin(a), -np.cos(a)], axis=-1)
    centre = hip + shank * down(angle)
    sole, half = radius - 0.5 * THICKNESS * float(model.leg_length), max(FOOT_ARC, float(np.nanmax(np.abs(angle))))
    arc = centre[:, None] + sole * down(angle[:, None] + np.linspace(-half, half, round(25 * half)))
    return np.stack([hip, centre + sole * down(angle)], axis=1), arc


def _angles(run: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Angles of both legs in rad: stance and swing leg swap at every heel strike, each leg keeps its colour."""
    if "theta_1" in run:
        return run.theta_1.values, run.theta_2.values
    strikes = run.event_time.values[run.event_name.values == "heel strike"]
    odd = np.searchsorted(strikes, run.time.values, side="right") % 2 == 1
    stance, swing = run.stance.values, run.swing.values
    return np.where(odd, swing, stance), np.where(odd, stance, swing)


def _forces(
    model: RoundFeet, run: xr.Dataset, hip: np.ndarray, angles: tuple[np.ndarray, np.ndarray]
) -> tuple[ForceArrow, ...]:
    """Forces of the ground at the lowest points of the feet; for a rigid walker, mean normal forces over a sample."""
    slope, shank = float(model.slope), float(model.shank)
    if "normal_1" in run:
        loads = [(run[f"tangent_{i}"].values, run[f"normal_{i}"].values, angles[i - 1]) for i in (1, 2)]
    elif "normal" in run:
        loads = [(run.tangent.values, run.normal.values, run.stance.values)]
    else:
        mean = [_mean_rate(run[f"impulse_{i}"].values, run.time.values) for i in (1, 2)]
        loads = [(np.zeros_like(normal), normal, angle) for normal, angle in zip(mean, angles, strict=True)]
    found = []
    for tangent, normal, angle in loads:
        at = np.stack([hip[:, 0] + shank * np.sin(angle), np.zeros_like(angle)], axis=-1)
        found.append(ForceArrow(levelled(at, slope), levelled(np.stack([tangent, normal], axis=-1), slope)))
    return tuple(found)


def _mean_rate(total: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Rate of a running total over the samples about each one; zero of a single sample."""
    return np.gradient(total, time) if len(time) > 1 else np.zeros_like(total)
