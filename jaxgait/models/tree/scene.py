"""Film scene of a tree of bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxgait.models.tree.model import TreeModel, TreeState
from jaxgait.models.tree.parts import ContactPoint
from jaxgait.plot.scene import (
    Body,
    Curve,
    ForceArrow,
    Ground,
    Limb,
    Scene,
    View,
    disc,
    floor,
    levelled,
    points,
    rod,
    seen,
)
from jaxgait.plot.style import BLUE, GREEN, GREY, ORANGE, PURPLE
from jaxgait.precision import cast, float64_default

BODIES = (BLUE, ORANGE, GREEN, "#56B4E9", GREY, "#882255", PURPLE)
"""Colours of bodies: neither that of forces nor the black of joints; last that of the reference in the explorer."""
ABOVE, ASIDE = 0.2, 0.5
"""Viewing direction in rad of a motion outside the plane y = 0: above the horizon, and toward the front."""
Placements = list[tuple[np.ndarray, np.ndarray]]
"""Rotation matrix and origin of every body at all samples."""
MARGIN = 0.1
"""Ground beyond everything that is drawn, as a fraction of its extent."""
IN_PANEL, PANELS = 4, 3
"""Largest number of histories in a panel, and of panels of one kind."""
THICKNESS = 0.03
"""Thickness of a rod as a fraction of the height of the view."""
ROUNDING = 1e-9
"""Relative difference up to which positions are the same."""


@float64_default
def scene(model: TreeModel, run: xr.Dataset) -> Scene:
    """The bodies, with contact balls, the ground, which falls to the right, and its forces; see `jaxgait.plot.scene`.

    Massless links that slide from the ground are coordinates, not bodies, and are not drawn.
    """
    tree = model.tree()
    q, world = _moved(model, run)
    sliding = _coordinates(model)
    bodies = [i for i, name in enumerate(tree.names) if name not in sliding]
    rods = [(i, a, b) for i in bodies for a, b in _rods(model, tree, world, i)]
    balls = [(float(c.radius), _centre(tree, world, c), tree.index(c.body)) for c in model.contacts.values()]
    visible = sorted({i for i, *_ in rods} | {i for r, _, i in balls if r > 0.0})
    colours = {i: BODIES[k % len(BODIES)] for k, i in enumerate(visible)}
    ends = [*(world[i][1] for i in bodies), *(end for _, *both in rods for end in both)]
    everything = np.concatenate([end.reshape(-1, 3) for end in ends])
    planar = bool(np.abs(everything[:, 1]).max() < 1e-9)
    slope, view_from = float(model.slope), (0.0, 0.0) if planar else (ASIDE, ABOVE)
    flat = lambda x: seen(levelled(x, slope), *view_from)
    stands = bool(balls) or slope != 0.0
    ground = _floor(everything, max((r for r, *_ in balls), default=0.0), slope) if stands and not planar else ()
    edges = [flat(everything), *(flat(centre) + sense * r for r, centre, _ in balls for sense in (-1.0, 1.0))]
    seen_at = np.concatenate([*edges, *(body.outline[0] for body in ground)])
    low, high = seen_at.min(axis=0), seen_at.max(axis=0)
    below = flat(everything * [1.0, 1.0, 0.0])[..., 1].min() if stands else np.inf
    low = np.minimum(low, [np.inf, below])
    tall = 1.3 * max(high[1] - low[1], 0.7 * (high[0] - low[0]), 1e-6)
    view = View((0.5 * (low + high))[None], (max(1.0, 1.1 * (high[0] - low[0]) / tall) * tall, tall))
    limbs = [Limb(rod(flat(a), flat(b)), THICKNESS * tall, colours[i]) for i, a, b in rods]
    touching = [Body(disc(flat(centre), r), colours[i], 0.5) for r, centre, i in balls if r > 0.0]
    joints = [Body(disc(flat(world[i][1]), 0.6 * THICKNESS * tall, 12), "black") for i in bodies]
    named = {tree.names[i]: colour for i, colour in colours.items()}
    return Scene(
        time=run.time.values,
        shapes=(*ground, *touching, *limbs, *joints),
        views=(view,),
        ground=Ground(0.0, slope) if stands and planar else None,
        forces=_forces(model, tree, world, run, flat),
        curves=_curves(model, run, q),
        readouts={"slope": (np.full(run.sizes["time"], np.degrees(slope)), "deg")} if slope else {},
        legend=named if len(named) <= len(BODIES) else {"bodies": BLUE},
    )


def _moved(model: TreeModel, run: xr.Dataset) -> tuple[np.ndarray, Placements]:
    """Coordinates in rad and m, (time, nq), and placements of bodies; prescribed motions are those of their laws."""

    def placed(t: Any, q: Any, v: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        moving = cast(model)
        loads = moving.loads(t, TreeState(q, v, None))
        return loads.q, [(body.R, body.r) for body in moving.placed(loads).world]

    found = jax.jit(jax.vmap(placed))(*(jnp.asarray(run[name].values) for name in ("time", "q", "v")))
    return jax.tree.map(np.asarray, found)


def _curves(model: TreeModel, run: xr.Dataset, q: np.ndarray) -> tuple[Curve, ...]:
    """Joint angles, other coordinates in m, normal forces and energies, in panels of a few; only the first of many."""
    known = [*zip(model.tree().coordinate_names, model.elements["q"], q.T, strict=True)]
    angles = {name: np.degrees(values) for name, one, values in known if one.unit == "rad"}
    places = {name: values for name, one, values in known if one.unit == "m"}
    forces = {n: run.contact_force.sel(contact=n, axis="z").values for n in model.contacts}
    named = (("joint angles", "deg", angles), ("positions", "m", places), ("normal forces", "N", forces))
    few = [Curve(name, unit, dict(part)) for name, unit, found in named for part in _panels([*found.items()])]
    return (*few, Curve("energy", "J", _energies(run)))


def _energies(run: xr.Dataset) -> dict[str, np.ndarray]:
    """Histories in J, from the least potential energy of the run: from the ground, it would dwarf the kinetic one."""
    kinetic = run.kinetic_energy.values
    return {
        "total, from the least potential": run.energy.values - np.nanmin(run.energy.values - kinetic),
        "kinetic": kinetic,
    }


def _panels(histories: list[tuple[str, np.ndarray]]) -> Iterator[list[tuple[str, np.ndarray]]]:
    """Histories by name in panels of similar numbers."""
    shown = histories[: IN_PANEL * PANELS]
    count = -(-len(shown) // IN_PANEL)
    each = -(-len(shown) // max(count, 1))
    return (shown[i * each : (i + 1) * each] for i in range(count))


def _floor(everything: np.ndarray, reach: float, slope: float) -> tuple[Body]:
    """The ground around all points, and balls of a radius in m about them."""
    margin = reach + MARGIN * float(np.ptp(everything, axis=0).max())
    (back, right), (front, left) = (of(everything[:, :2], axis=0).tolist() for of in (np.min, np.max))
    return (floor((back - margin, right - margin), (front + margin, left + margin), ASIDE, ABOVE, slope),)


def _coordinates(model: TreeModel) -> set[str]:
    """Massless links that slide from the ground, or from such a link: they position the next body, and are none."""
    found: set[str] = set()
    for name, link in model.links.items():
        massless = not np.any(link.mass) and not np.any(link.inertia)
        slides = bool(link.joint.screws) and not any(any(screw[:3]) for screw in link.joint.screws)
        if massless and slides and (link.parent is None or link.parent in found):
            found.add(name)
    return found


def _rods(model: TreeModel, tree: Any, world: Placements, i: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ends in m of the rods of one body: to its children's joints, to its contact points, and to its free end.

    The free end is twice as far as the centre of mass, in a body whose joints and contact points are all nearer.
    """
    R, r = world[i]
    name = tree.names[i]
    ends = [world[j][1] for j, link in enumerate(model.links.values()) if link.parent == name]
    ends += [_point(R, r, c.position) for c in model.contacts.values() if c.body == name]
    com = _point(R, r, model.links[name].com) - r
    reach = max((float(((end - r) * com).sum(axis=-1).max()) for end in ends), default=0.0)
    if reach < (1.0 - ROUNDING) * float((com**2).sum(axis=-1).max()):
        ends.append(r + 2.0 * com)
    return [(r, end) for end in ends if np.abs(end - r).max() > ROUNDING * (1.0 + np.abs(r).max())]


def _point(R: np.ndarray, r: np.ndarray, position: Any) -> np.ndarray:
    """A point of a body in the world, (samples, 3)."""
    return r + R @ np.asarray([float(x) for x in position])


def _centre(tree: Any, world: Placements, contact: ContactPoint) -> np.ndarray:
    """The centre of a contact's ball in the world, (samples, 3)."""
    R, r = world[tree.index(contact.body)]
    return _point(R, r, contact.position)


def _forces(model: TreeModel, tree: Any, world: Placements, run: xr.Dataset, flat: Any) -> tuple[ForceArrow, ...]:
    found = []
    for name, contact in model.contacts.items():
        centre = _centre(tree, world, contact)
        below = points((centre[:, 0], centre[:, 1]))[:, 0]
        foot = np.concatenate([below, np.zeros((len(below), 1))], axis=1)
        found.append(ForceArrow(flat(foot), flat(run.contact_force.sel(contact=name).values)))
    return tuple(found)
