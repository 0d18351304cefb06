"""The forces of drives and of the ground on a tree of bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.mechanics import Scalar, spatial
from jaxgait.mechanics.linalg import stacked
from jaxgait.mechanics.spatial.tree import Topology
from jaxgait.models.tree.checks import coordinate_of, returned
from jaxgait.models.tree.parts import ContactPoint, Force, JointDrive
from jaxgait.precision import float64_default


class Push(NamedTuple):
    """A force on a body, in world axes."""

    body: int
    position: Float[Array, " 3"]
    """Where it acts, m."""
    force: Float[Array, " 3"]
    """Force in N."""


class Ground(NamedTuple):
    """Depths and forces of the contacts with the ground."""

    depth: Float[Array, " contacts"]
    """Penetrations, m."""
    force: Float[Array, "contacts 3"]
    """Forces in N."""
    memory_rate: Float[Array, "contacts 2"]
    """Rates of the memories of friction laws."""
    pushes: Sequence[Push]


class Loads(NamedTuple):
    """All loads at one instant."""

    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    motion: spatial.Motion
    """Motion of the bodies of `TreeModel.moving`."""
    depth: Float[Array, " contacts"]
    contact: Float[Array, "contacts 3"]
    """Contact forces in N."""
    memory_rate: Float[Array, "contacts 2"]
    tau: Float[Array, " nv"]
    vdot: Float[Array, " nv"]
    """Prescribed accelerations, zero elsewhere."""
    wrenches: Any
    """Wrenches on the bodies, as `jaxgait.mechanics.spatial.hybrid_dynamics` takes them."""


@float64_default
def driven(
    drives: Mapping[str, Any], tree: Topology, motion: spatial.Motion, t: Scalar, q: Array, v: Array
) -> tuple[Float[Array, " nv"], list[Push]]:
    """Generalised forces (nv,) in N and N m, and forces on bodies, of all drives at time t in s."""
    tau, pushes = jnp.zeros_like(v), list[Push]()
    for name, drive in drives.items():
        if isinstance(drive, JointDrive):
            i, j = coordinate_of(tree, name, drive.joint)
            tau = tau.at[j].add(returned(name, drive.force(t, q[i], v[j]), (), "one number"))
        elif isinstance(drive, Force):
            body, own = tree.index(drive.body), jnp.asarray(drive.position, dtype=v.dtype)[None]
            (position,), (velocity,) = spatial.point_motion(motion, spatial.Points((body,), own))
            force = returned(name, drive.force(t, position, velocity), (3,), "the force along x, y and z")
            pushes.append(Push(body, position, force))
        else:
            each = f"one generalised force for each of {', '.join(tree.velocity_names)}"
            tau = tau + returned(name, drive(t, q, v), (tree.nv,), each).astype(v.dtype)
    return tau, pushes


@float64_default
def grounded(
    contacts: Mapping[str, ContactPoint], tree: Topology, motion: spatial.Motion, memory: Array | None
) -> Ground:
    """Depths in m and forces in N at the contacts, whose friction laws remember `memory`, (contacts, 2)."""
    if not contacts:
        return Ground(jnp.zeros(0), jnp.zeros((0, 3)), jnp.zeros((0, 2)), [])
    each = list(contacts.values())
    points = spatial.Points(tuple(tree.index(c.body) for c in each), jnp.stack([stacked(c.position) for c in each]))
    feet = spatial.feet(motion, points)
    depth = stacked([c.radius for c in each]) - feet.height
    kept = jnp.zeros_like(feet.slip) if memory is None else memory
    found = [c.forces(depth[i], -feet.rise[i], feet.slip[i], kept[i]) for i, c in enumerate(each)]
    force, change = (jnp.stack(parts) for parts in zip(*found, strict=True))
    return Ground(depth, force, change, [Push(*one) for one in zip(points.body, feet.position, force, strict=True)])


@float64_default
def wrenches(motion: spatial.Motion, pushes: Sequence[Push]) -> Any:
    """Wrenches on the bodies, as `jaxgait.mechanics.spatial.hybrid_dynamics` takes them; None without forces."""
    if not pushes:
        return None
    bodies, position, force = zip(*pushes, strict=True)
    at = jnp.stack(position)
    return spatial.point_wrenches(motion, spatial.Points(bodies, at), at, jnp.stack(force))
