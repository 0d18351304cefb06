"""Film scenes of the jumpers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxgait.models.jumper.planar import JumperState, PlanarJumper
from jaxgait.models.jumper.spatial import SpatialJumper, SpatialState, side_and_part
from jaxgait.plot.scene import Body, Curve, ForceArrow, Ground, Limb, Scene, Trail, View, disc, floor, points, rod, seen
from jaxgait.plot.style import BLUE, GREEN, GREY, ORANGE
from jaxgait.precision import cast, float64_default

THICKNESS: Mapping[str, float] = {
    "foot": 0.05,
    "shank": 0.09,
    "thigh": 0.13,
    "lower_trunk": 0.2,
    "upper_trunk": 0.22,
    "trunk": 0.12,
    "upper_arm": 0.07,
    "forearm": 0.055,
    "hand": 0.04,
}
"""Thickness of the bodies relative to half the height: in m for a height of 1.8 m."""
ARMS = ("upper_arm", "forearm", "hand")
ABOVE, ASIDE = 0.2, 0.5
"""Viewing direction in rad of the spatial jumper: above the horizon, and from the right toward the front."""
MAX_BAR = 0.08
"""Length in m of the bar below the stud with the largest load."""


@float64_default
def planar(model: PlanarJumper, run: xr.Dataset) -> Scene:
    """A jump in the sagittal plane; see `jaxgait.plot.scene`."""
    bars, names = figures(model, run), [link.name for link in model.links()]
    tall = float(bars[..., 1].max())
    path = points((run.com_x.values, run.com_z.values))[:, 0]
    force = points((run.grf_x.values, run.grf_z.values))[:, 0]
    middle = np.stack([run.x.values + 0.05, np.full(run.sizes["time"], 0.47 * tall)], axis=-1)
    foot = np.stack([run.x.values + 0.05, np.maximum(run.z.values, 0.0)], axis=-1)
    return Scene(
        time=run.time.values,
        shapes=(*_studs(model, run), _foot(model, run, bars[:, 0]), *_bodies(bars[:, 1:], names[1:], tall)),
        views=(View(middle, (0.8 * tall, 1.12 * tall)), View(foot, (0.5, 0.5), "sole: load of the studs")),
        ground=Ground(),
        forces=(ForceArrow(points((run.cop_x.values, 0.0))[:, 0], force),),
        trails=(Trail(path, "centre of mass"),),
        curves=(
            Curve("ground force", "N", {"upward": run.grf_z.values, "forward": run.grf_x.values}),
            Curve("CoM height", "cm", {"height": 100.0 * run.com_z.values}),
        ),
        readouts={"CoM height": (100.0 * run.com_z.values, "cm")},
        legend={"studs": GREEN},
    )


@float64_default
def spatial(model: SpatialJumper, run: xr.Dataset) -> Scene:
    """A jump in space, seen from the right and a little from the front; see `jaxgait.plot.scene`."""
    flat = lambda points: seen(points, ASIDE, ABOVE)
    bars, names = flat(figures(model, run)), list(model.tree().names)
    tall = float(bars[..., 1].max())
    limbs: dict[str, list[Limb | Body]] = {"left": [], "": [], "right": []}  # from behind to the front
    for i, name in enumerate(names):
        limbs[side_and_part(name)[0]] += _bodies(bars[:, [i]], [name], tall)
    hips, shoulders = (_across(bars, names, part) for part in ("thigh", "upper_arm"))
    middle = np.stack([flat(run.com.values)[:, 0], np.full(run.sizes["time"], 0.47 * tall)], axis=-1)
    return Scene(
        time=run.time.values,
        shapes=(
            floor((-0.5, -0.4), (0.7, 0.4), ASIDE, ABOVE),
            *limbs["left"],
            Limb(hips, 0.04 * tall, GREY),
            Limb(shoulders, 0.04 * tall, GREY),
            *limbs[""],
            *limbs["right"],
        ),
        views=(View(middle, (0.8 * tall, 1.15 * tall)),),
        forces=tuple(_load(run, side, flat) for side in (0, 1)),
        trails=(Trail(flat(run.com.values), "centre of mass"),),
        curves=(
            Curve("ground force", "N", {side: run.grf.values[:, i, 2] for i, side in enumerate(("left", "right"))}),
        ),
        readouts={"CoM height": (100.0 * run.com.values[:, 2], "cm")},
        legend={"left": ORANGE, "right": BLUE},
    )


def _across(bars: np.ndarray, names: list[str], part: str) -> np.ndarray:
    return rod(*(bars[:, names.index(f"{side}_{part}"), 0] for side in ("left", "right")))


@float64_default
def figures(model: Any, run: xr.Dataset) -> np.ndarray:
    """Joint and far end of each body at all samples in m: (samples, bodies, 2, 2 or 3)."""
    kind: Any = SpatialState if isinstance(model, SpatialJumper) else JumperState
    states = kind(**{name: jnp.asarray(run[name].values) for name in kind._fields if name in run})
    return np.asarray(jax.jit(jax.vmap(cast(model).figure))(jnp.asarray(run.time.values), states))


def _bodies(bars: np.ndarray, names: list[str], tall: float) -> list[Limb | Body]:
    """Limbs with the thickness of their kind; the head is round."""
    found: list[Limb | Body] = []
    for i, name in enumerate(names):
        side, part = side_and_part(name)
        a, b = bars[:, i, 0], bars[:, i, 1]
        if part == "head":
            found.append(Body(disc(0.5 * (a + b), 0.06 * tall), GREY))
        else:
            own = {"left": ORANGE, "right": BLUE}.get(side)
            colour = own or (ORANGE if part in ARMS else GREY if "trunk" in part else BLUE)
            found.append(Limb(rod(a, b), THICKNESS[part] * tall / 2, colour))
    return found


def _studs(model: PlanarJumper, run: xr.Dataset) -> list[Body]:
    """A bar below each row of studs, its length proportional to the load."""
    x = run.x.values[:, None] + np.asarray(jax.vmap(model.stud_centres)(run.pitch.values)[0])
    load = run.normal.transpose("time", "row").values
    depth = -MAX_BAR * load / max(float(np.nanmax(load)), 1e-12)
    half = 0.35 * _row_spacing(model)
    sides = ((x - half, 0.0), (x + half, 0.0), (x + half, depth), (x - half, depth))
    outlines = np.stack([np.stack(np.broadcast_arrays(*side), axis=-1) for side in sides], axis=2)
    outlines = np.where(load[:, :, None, None] > 0.0, outlines, np.nan)
    return [Body(outlines[:, i], GREEN) for i in range(len(model.sole.rows))]


def _row_spacing(model: PlanarJumper) -> float:
    """Least distance in m between rows of studs; the diameter of a stud if there is one row."""
    rows = sorted(float(row) for row in model.sole.rows)
    return float(np.min(np.diff(rows))) if len(rows) > 1 else 2.0 * float(model.sole.radius)


def _foot(model: PlanarJumper, run: xr.Dataset, bar: np.ndarray) -> Body:
    """Heel, toe and ankle, the heel one row behind the last studs."""
    pitch = run.pitch.values
    heel, drop = float(min(model.sole.rows)) - _row_spacing(model), float(model.sole.drop)
    point = lambda x, z: (
        bar[:, 0] + np.stack([x * np.cos(pitch) + z * np.sin(pitch), z * np.cos(pitch) - x * np.sin(pitch)], axis=-1)
    )
    outline = [
        bar[:, 1],
        point(heel, -drop),
        point(heel, -0.2 * drop),
        point(-0.02, 0.4 * drop),
        point(0.03, 0.4 * drop),
    ]
    return Body(np.stack(outline, axis=1), BLUE)


def _load(run: xr.Dataset, side: int, flat: Any) -> ForceArrow:
    """Ground reaction of one foot at its centre of pressure."""
    half = run.sizes["stud"] // 2
    own = slice(side * half, (side + 1) * half)
    load, point = run.normal.values[:, own, None], run.contact_position.values[:, own]
    total = load.sum(axis=1)
    centre = np.where(total > 0.0, (load * point).sum(axis=1) / np.where(total > 0.0, total, 1.0), point.mean(axis=1))
    return ForceArrow(flat(centre), flat(run.grf.values[:, side]))
