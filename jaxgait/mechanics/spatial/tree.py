"""Kinematic trees: bodies, how they hang together, and where everything is and how fast it moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxgait.mechanics.spatial.joints import Joint
from jaxgait.mechanics.spatial.vectors import Mat6, Placement, Vec6, cross_motion, rigid_inertia
from jaxgait.parameters import parameter
from jaxgait.precision import float64_default

_ANY = (float("-inf"), float("inf"))  # bodies come in every size


@float64_default
class Link(eqx.Module):
    """One body as the user describes it; its numbers are parameters.

    The joint frame sits at `offset` and `rotation` in the parent's frame; at zero coordinates the body's own frame
    coincides with it. `com` and `inertia` (about the centre of mass) are in the body's frame.
    """

    name: str = eqx.field(static=True)
    parent: str | None = eqx.field(static=True)
    """Name of the body that carries it; None: the world."""
    joint: Joint = eqx.field(static=True)
    mass: Any = parameter(MISSING, unit="kg", doc="mass of the body", bounds="nonnegative", plausible=_ANY)
    com: Any = parameter((0.0, 0.0, 0.0), unit="m", doc="centre of mass in the body's frame", plausible=_ANY)
    inertia: Any = parameter(
        ((0.0, 0.0, 0.0),) * 3, unit="kg m^2", doc="inertia tensor about the centre of mass", plausible=_ANY
    )
    offset: Any = parameter(
        (0.0, 0.0, 0.0), unit="m", doc="position of the joint in the parent's frame", plausible=_ANY
    )
    rotation: Any = parameter(
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), unit="1", doc="orientation of the joint in the parent"
    )


@float64_default
class Tree(eqx.Module):
    """A tree of n bodies, each behind its parent in the list; numbers are leaves, topology is static.

    SI units: coordinates in m and rad, velocities in m/s and rad/s.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    parents: tuple[int, ...] = eqx.field(static=True)
    """Index of each body's parent, -1 for the world."""
    joints: tuple[Joint, ...] = eqx.field(static=True)
    offset: Float[ArrayLike, "n 3"]
    """Joint origin in the parent's frame, m."""
    rotation: Float[ArrayLike, "n 3 3"]
    """Orientation of the joint frame in the parent's frame."""
    mass: Float[ArrayLike, " n"]
    com: Float[ArrayLike, "n 3"]
    """Centre of mass in the body's frame, m."""
    inertia: Float[ArrayLike, "n 3 3"]
    """About the centre of mass, in the body's axes, kg m^2."""

    @classmethod
    def build(cls, *links: Link) -> Tree:
        """Builds a tree from its links, parents first; numbers may be traced.

        Raises:
            ValueError: for a repeated name or a parent that does not come before its child.
        """
        names = [link.name for link in links]
        parents = []
        for i, link in enumerate(links):
            if link.name in names[:i]:
                raise ValueError(f"two bodies are called {link.name!r}")
            if link.parent is not None and link.parent not in names[:i]:
                raise ValueError(f"body {link.name!r}: its parent {link.parent!r} must be one of the bodies before it")
            parents.append(-1 if link.parent is None else names.index(link.parent))

        def stack(values: Sequence[Any]) -> Any:
            plain = all(isinstance(x, float | int | np.ndarray) for v in values for x in _leaves(v))
            if plain:
                return np.stack([np.asarray(v, dtype=float) for v in values])
            return jnp.stack([_traced(v) for v in values])

        return cls(
            names=tuple(names),
            parents=tuple(parents),
            joints=tuple(link.joint for link in links),
            offset=stack([link.offset for link in links]),
            rotation=stack([link.rotation for link in links]),
            mass=stack([link.mass for link in links]),
            com=stack([link.com for link in links]),
            inertia=stack([link.inertia for link in links]),
        )

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(joint.nq for joint in self.joints)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(joint.nv for joint in self.joints)

    @property
    def q_slices(self) -> list[slice]:
        """Where each body's joint finds its coordinates in q."""
        return _slices([joint.nq for joint in self.joints])

    @property
    def v_slices(self) -> list[slice]:
        """Where each body's joint finds its velocities in v."""
        return _slices([joint.nv for joint in self.joints])

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q: the body's, followed by the motion's if the joint has several ("trunk.x")."""
        return _names(self.names, [joint.coordinates for joint in self.joints])

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the entries of v (and of vdot, tau and the mass matrix), likewise."""
        return _names(self.names, [joint.velocities for joint in self.joints])

    def index(self, name: str) -> int:
        """Index of a body by name."""
        return self.names.index(name)

    def neutral(self) -> Float[np.ndarray, " nq"]:
        """Coordinates with every body's frame in its joint frame."""
        return np.concatenate([joint.neutral() for joint in self.joints])

    def rate(self, q: Float[Array, " nq"], v: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """Time derivative of the coordinates from the velocities (they differ in quaternions)."""
        parts = zip(self.joints, self.q_slices, self.v_slices, strict=True)
        return jnp.concatenate([joint.rate(q[a], v[b]) for joint, a, b in parts])

    def inertias(self) -> list[Mat6]:
        """Spatial inertia of each body at its origin."""
        mass, com, inertia = (jnp.asarray(x) for x in (self.mass, self.com, self.inertia))
        return [rigid_inertia(mass[i], com[i], inertia[i]) for i in range(len(self.names))]


class Motion(NamedTuple):
    """Where the bodies of a tree are and how they move, one entry per body."""

    local: list[Placement]
    """Placement in the parent."""
    world: list[Placement]
    """Placement in the world."""
    S: list[Float[Array, "6 nv"]]
    """Joint maps, in body axes."""
    twist: list[Vec6]
    """Angular and linear velocity at the body's origin, in body axes."""
    bias: list[Vec6]
    """Acceleration in the parent at zero joint accelerations: velocity products."""


@float64_default
def kinematics(tree: Tree, q: Float[Array, " nq"], v: Float[Array, " nv"]) -> Motion:
    """One outward pass over the tree.

    Coordinates in m and rad, velocities in m/s and rad/s.

    Args:
        tree: the bodies.
        q: coordinates, `nq` numbers.
        v: velocities, `nv` numbers.
    """
    motion = Motion([], [], [], [], [])
    offset, rotation = jnp.asarray(tree.offset), jnp.asarray(tree.rotation)
    for i, (joint, a, b) in enumerate(zip(tree.joints, tree.q_slices, tree.v_slices, strict=True)):
        local = Placement(rotation[i], offset[i]).then(joint.placement(q[a]))
        S = joint.columns(q[a])
        relative = S @ v[b]
        p = tree.parents[i]
        carried = local.motion_to_child(motion.twist[p]) if p >= 0 else jnp.zeros_like(relative)
        motion.local.append(local)
        motion.world.append(motion.world[p].then(local) if p >= 0 else local)
        motion.S.append(S)
        motion.twist.append(carried + relative)
        motion.bias.append(joint.bias(S, v[b]) + cross_motion(carried, relative))
    return motion


@float64_default
def check_inertia(name: str, mass: float, inertia: Float[ArrayLike, "3 3"]) -> None:
    """Rejects a mass or inertia tensor that no rigid body has.

    Mass in kg, inertia in kg m^2.

    Raises:
        ValueError: naming the body and what was wrong (mass, symmetry, or the triangle inequality of the moments).
    """
    tensor = np.asarray(inertia, dtype=float)
    scale = max(float(np.abs(tensor).max()), 1e-300)
    slack = 1e-9 * scale  # rounding of tensors that lie on the boundary (thin plates and rods)
    if not (np.isfinite(mass) and mass >= 0.0):
        raise ValueError(f"body {name!r}: its mass must be nonnegative, got {mass:g} kg")
    if not np.isfinite(tensor).all() or np.abs(tensor - tensor.T).max() > slack:
        raise ValueError(f"body {name!r}: its inertia tensor must be finite and symmetric, got {tensor.tolist()}")
    small, middle, large = (float(x) for x in np.linalg.eigvalsh(tensor))
    if small < -slack or large > small + middle + slack:
        raise ValueError(
            f"body {name!r}: its principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg m^2 belong to no "
            "rigid body: the largest may not exceed the sum of the other two"
        )


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)]


def _names(bodies: Sequence[str], motions: Sequence[Sequence[str]]) -> tuple[str, ...]:
    parts = zip(bodies, motions, strict=True)
    return tuple(f"{b}.{m}" if len(own) > 1 else b for b, own in parts for m in own)


def _traced(value: Any) -> Array:
    """Nested tuples of numbers, some of them traced, as one array."""
    return (
        jnp.stack([_traced(v) for v in value]) if isinstance(value, tuple | list) else jnp.asarray(value, dtype=float)
    )


def _leaves(value: Any) -> list[Any]:
    return [x for v in value for x in _leaves(v)] if isinstance(value, tuple | list) else [value]
