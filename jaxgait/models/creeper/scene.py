"""Film scenes of the creeping robots."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxgait.mechanics.spatial import kinematics
from jaxgait.models.creeper.chain import CreeperChain
from jaxgait.models.creeper.inchworm import Inchworm
from jaxgait.models.creeper.model import Creeper
from jaxgait.plot.scene import Body, Curve, ForceArrow, Limb, Scene, View, disc, points, rod
from jaxgait.plot.style import GREEN, GREY, ORANGE
from jaxgait.precision import cast, float64_default

WALL, SHELL, LIQUID = "#F2C9C4", "#DCE6EE", "#B5534A"
GRIPS = {"gripping pad": GREEN}
SPRING_TURNS = 7
"""Turns of a drawn spring of the actuator."""
PACKED, LANES = 9, 4
"""Drops in a lane of the vessel; lanes on either side of the axis."""


@float64_default
def axial(model: Creeper, run: xr.Dataset) -> Scene:
    """The robot of two units in its vessel; see `jaxgait.plot.scene`."""
    faces = [run.tip.values, run.x.values]
    coils = [run.coil_front.values, run.coil_rear.values]
    friction = [run.friction_front.values, run.friction_rear.values]
    return _in_the_vessel(
        model,
        run,
        faces,
        coils,
        run.flow.values,
        forces=tuple(
            ForceArrow(_at(face - 0.5 * model.length), _at(f)) for face, f in zip(faces, friction, strict=True)
        ),
        curves=(
            Curve("front end", "mm", {"moved": 1e3 * (run.tip.values - run.tip.values[0])}),
            Curve("flow", "cm/s", {"mean velocity": 100.0 * run.flow.values}),
        ),
    )


@float64_default
def inchworm(model: Inchworm, run: xr.Dataset) -> Scene:
    """The robot of many units in its vessel; see `jaxgait.plot.scene`."""
    t = jnp.asarray(run.time.values)
    coils = list(np.asarray(jax.vmap(model.coils)(t)).T)
    flow = np.asarray(jax.vmap(model.robot.inflow)(t))
    faces = list(run.positions.transpose("unit", "time").values)
    moved = {"moved": 1e3 * (faces[0] - faces[0][0])}
    return _in_the_vessel(model.robot, run, faces, coils, flow, (), (Curve("front end", "mm", moved),))


@float64_default
def chain(model: CreeperChain, run: xr.Dataset) -> Scene:
    """The robot in space, seen from above; see `jaxgait.plot.scene`."""
    world = _placements(cast(model), run)
    length, radius = float(model.robot.length), 0.5 * float(model.robot.diameter)
    shapes: list[Limb | Body] = []
    for k in range(model.units - 1, 0, -1):
        shaft, spring = float(model.shaft_length), float(model.spring_length)
        shapes.append(Limb(_seen_above(world[f"shaft {k}"], np.array([[-length / 3, 0.0], [shaft, 0.0]])), 0.003, GREY))
        coil = _coil(spring, float(model.spring_radius))
        shapes.append(Limb(_seen_above(world[f"spring {k}"], coil), 0.0003, ORANGE))
    for k in range(model.units, 0, -1):
        back = -length if k == model.units else 0.0
        box = np.array([[0, -1], [1, -1], [1, 1], [0, 1]]) * [length, radius] + [back, 0.0]
        shapes.append(Body(_seen_above(world[f"unit {k}"], box), SHELL))
    base = np.asarray(world[f"unit {model.units}"][1])[:, :2]
    R = np.asarray(world[f"unit {model.units}"][0])[:, :2, :2]
    drive = np.einsum("tij,tj->ti", R, np.stack([run.drive_x.values, run.drive_y.values], axis=-1))
    seen = np.concatenate([one.outline if isinstance(one, Body) else one.points for one in shapes], axis=1)
    low, high = seen.min((0, 1)) - 0.3 * length, seen.max((0, 1)) + 0.3 * length
    wide, tall = high - low
    return Scene(
        time=run.time.values,
        shapes=tuple(shapes),
        views=(View(0.5 * (low + high)[None], (wide, max(tall, 0.4 * wide)), "seen from above"),),
        forces=(ForceArrow(base, drive),),
        curves=(Curve("drive force", "N", {axis: run[f"drive_{axis}"].values for axis in "xy"}),),
        readouts={"steering": (np.degrees(run.steering.values), "deg")},
    )


def _placements(model: CreeperChain, run: xr.Dataset) -> dict[str, tuple[Any, Any]]:
    """Rotation matrix and origin of every body at all samples."""
    tree = model.tree()
    moved = jax.jit(jax.vmap(lambda q, v: [(w.R, w.r) for w in kinematics(tree, q, v).world]))
    return dict(zip(tree.names, moved(jnp.asarray(run.q.values), jnp.asarray(run.v.values)), strict=True))


def _in_the_vessel(
    model: Creeper,
    run: xr.Dataset,
    faces: list[np.ndarray],
    coils: list[np.ndarray],
    flow: np.ndarray,
    forces: tuple[ForceArrow, ...],
    curves: tuple[Curve, ...],
) -> Scene:
    """The robot from its units' front faces in m and the switching level of their pads, both from the front."""
    length, radius = float(model.length), float(model.diameter) / 2
    pipe = radius + float(model.clearance)
    low, high = float(faces[-1].min()) - length, float(faces[0].max())
    ends = (low - 0.3 * length, high + 0.6 * length)
    shapes: list[Limb | Body] = [Body(_box(ends[0], ends[1], -pipe, pipe), "#FBEDEB", edge="none")]
    shapes += [Body(_box(*ends, side * pipe, side * 1.25 * pipe), WALL) for side in (-1, 1)]
    shapes += _drops(run.time.values, flow, ends, pipe)
    shapes += [s for front, back in itertools.pairwise(faces) for s in _actuator(back, front - length, radius)]
    for face, coil in zip(faces, coils, strict=True):
        shapes += _unit(face, coil, length, radius, pipe)
    wide = ends[1] - ends[0]
    return Scene(
        time=run.time.values,
        shapes=tuple(shapes),
        views=(View(np.array([[0.5 * (ends[0] + ends[1]), 0.0]]), (wide, max(3.4 * pipe, 0.3 * wide))),),
        forces=forces,
        curves=curves,
        readouts={"flow": (100.0 * flow, "cm/s")},
        legend=GRIPS,
    )


def _at(x: np.ndarray) -> np.ndarray:
    """Points on the axis of the vessel, or forces along it."""
    return points((x, 0.0))[:, 0]


def _box(
    left: float | np.ndarray, right: float | np.ndarray, bottom: float | np.ndarray, top: float | np.ndarray
) -> np.ndarray:
    return points((left, bottom), (right, bottom), (right, top), (left, top))


def _unit(face: np.ndarray, coil: np.ndarray, length: float, radius: float, pipe: float) -> list[Body]:
    """A unit with its pads, which reach the wall as they grip."""
    reach = radius + (pipe - radius) * (0.25 + 0.75 * coil)
    pads = [(face - 0.7 * length, face - 0.3 * length, side * radius, side * reach) for side in (-1, 1)]
    return [Body(_box(face - length, face, -radius, radius), SHELL), *(Body(_box(*pad), GREEN) for pad in pads)]


def _actuator(start: np.ndarray, end: np.ndarray, radius: float) -> list[Limb]:
    """Shaft and springs from the front face of one unit to the rear face of the next."""
    middle = start + 0.55 * (end - start)
    turns = np.linspace(0.0, 1.0, 12 * SPRING_TURNS + 1)
    springs = []
    for offset in (-0.45, 0.0, 0.45):
        y = radius * (offset + 0.12 * np.sin(2 * np.pi * SPRING_TURNS * turns))
        x = middle[:, None] + turns * (end - middle)[:, None]
        springs.append(Limb(np.stack(np.broadcast_arrays(x, y), axis=-1), 0.06 * radius, ORANGE))
    return [Limb(rod(_at(start), _at(middle)), 0.25 * radius, GREY), *springs]


def _drops(time: np.ndarray, flow: np.ndarray, ends: tuple[float, float], pipe: float) -> list[Body]:
    """Drops that drift with the liquid, faster at the axis; those that leave enter again."""
    y = np.linspace(-0.9, 0.9, 2 * LANES)
    profile = 9.0 / 7.0 * (1.0 - np.abs(y) ** 7)  # mean 1 over the section
    drift = np.concatenate([[0.0], np.cumsum(0.5 * (flow[1:] + flow[:-1]) * np.diff(time))])
    wide, found = ends[1] - ends[0], []
    for lane, (level, speed) in enumerate(zip(y, profile, strict=True)):
        for i in range(PACKED):
            start = (i + 0.5 * (lane % 2)) * wide / PACKED
            x = ends[0] + np.mod(start + speed * drift, wide)
            found.append(Body(disc(points((x, level * pipe))[:, 0], 0.05 * pipe, 8), LIQUID, 0.5, "none"))
    return found


def _coil(length: float, radius: float) -> np.ndarray:
    """A spring along x from 0, seen from the side."""
    turns = np.linspace(0.0, 1.0, 12 * SPRING_TURNS + 1)
    return np.stack([length * turns, radius * np.sin(2 * np.pi * SPRING_TURNS * turns)], axis=-1)


def _seen_above(placement: tuple, points: np.ndarray) -> np.ndarray:
    """Points (x, y) of a body, seen from above in the world: (samples, points, 2)."""
    R, r = (np.asarray(x) for x in placement)
    return np.einsum("tij,pj->tpi", R[:, :2, :2], points) + r[:, None, :2]
