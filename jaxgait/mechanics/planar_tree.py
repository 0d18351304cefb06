"""Planar trees of rigid bars on a floating base whose joints follow prescribed motions.

In the (x, z) plane, x forward and z up; angles are positive about +y, so an upward axis leans forward. Body 0 is the
base; every other body turns about a point of its parent. A body's frame at angle th has its forward axis along
(cos th, -sin th) and its upward axis along (sin th, cos th).

Only the base's three accelerations are unknown (Newton and Euler for the whole system); the joint moments follow from
the sums over what lies beyond each joint. Written in scalars: under `vmap` it becomes straight vector code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from jaxgait.precision import float64_default

if TYPE_CHECKING:
    Number = Any  # static checkers cannot do arithmetic with unions of array types
else:
    Number = Float[ArrayLike, ""]


@float64_default
class Vec(NamedTuple):
    """A vector in the plane."""

    x: Number
    z: Number

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.z + other.z)

    def __sub__(self, other: Vec) -> Vec:
        return Vec(self.x - other.x, self.z - other.z)

    def scaled(self, factor: Number) -> Vec:
        """The vector times a number."""
        return Vec(factor * self.x, factor * self.z)

    def turned(self) -> Vec:
        """Turned by a quarter: the velocity of this lever at unit angular velocity about +y."""
        return Vec(self.z, -self.x)

    def moment(self, force: Vec) -> Number:
        """Moment about +y of a force at the end of this lever."""
        return self.z * force.x - self.x * force.z

    def dot(self, other: Vec) -> Number:
        """Scalar product."""
        return self.x * other.x + self.z * other.z


class PlanarTree(eqx.Module):
    """n bars; numbers are leaves, topology is static."""

    parents: tuple[int, ...] = eqx.field(static=True)
    """Parent of each bar, -1 for the base, parents first."""
    offset: Float[Array, "n 2"]
    """Joint in the parent's frame (x, z), m."""
    com: Float[Array, "n 2"]
    """Centre of mass in the own frame (x, z), m."""
    mass: Float[Array, " n"]
    inertia: Float[Array, " n"]
    """About the centre of mass, kg m^2."""


class Turn(NamedTuple):
    """An angle in rad with its first and second time derivative."""

    angle: Number
    rate: Number
    acceleration: Number


@float64_default
class Point(NamedTuple):
    """A point with its velocity and acceleration."""

    place: Vec
    velocity: Vec
    acceleration: Vec

    def beyond(self, turn: Turn, lever: Vec) -> Point:
        """The point at the end of a lever, given in the frame of a bar that turns."""
        c, s = jnp.cos(turn.angle), jnp.sin(turn.angle)
        arm = Vec(c * lever.x + s * lever.z, c * lever.z - s * lever.x)
        return Point(
            self.place + arm,
            self.velocity + arm.turned().scaled(turn.rate),
            self.acceleration + arm.turned().scaled(turn.acceleration) - arm.scaled(turn.rate**2),
        )


class Bar(NamedTuple):
    """Motion of one bar: its turning, its joint (origin) and its centre of mass."""

    turn: Turn
    origin: Point
    com: Point


class Whole(NamedTuple):
    """Balance quantities of the whole system."""

    mass: Number
    com: Vec
    velocity: Vec
    angular_momentum: Number
    """About the centre of mass, positive about +y."""
    kinetic: Number
    """Kinetic energy, J."""


@float64_default
def bars(tree: PlanarTree, base: Point, pitch: Turn, joints: list[Turn | None]) -> list[Bar]:
    """Outward pass: the motion of every bar.

    Args:
        tree: the bars.
        base: the base's origin; with accelerations of zero the result holds the bias accelerations.
        pitch: turning of the base.
        joints: turning of each bar relative to its parent (None: fixed to it; the base's entry is not read).
    """
    found: list[Bar] = []
    for i, p in enumerate(tree.parents):
        turn, origin = pitch, base
        if p >= 0:
            relative, parent = joints[i], found[p]
            turn = parent.turn
            if relative is not None:
                turn = Turn(*(a + b for a, b in zip(turn, relative, strict=True)))
            origin = parent.origin.beyond(parent.turn, Vec(tree.offset[i, 0], tree.offset[i, 1]))
        found.append(Bar(turn, origin, origin.beyond(turn, Vec(tree.com[i, 0], tree.com[i, 1]))))
    return found


@float64_default
def base_acceleration(
    tree: PlanarTree, motion: list[Bar], force: Vec, moment: Number, gravity: Number
) -> tuple[Vec, Number]:
    """Acceleration of the base under an external wrench at its origin.

    Args:
        tree: the bars.
        motion: from `bars`, with base accelerations of zero.
        force: external force in N (without weight).
        moment: external moment about the base's origin in N m.
        gravity: m/s^2.

    Returns:
        Acceleration of the base's origin in m/s^2 and angular acceleration of the base in rad/s^2.
    """
    origin = motion[0].origin.place
    mass = jnp.sum(tree.mass)
    first, second = Vec(0.0 * mass, 0.0 * mass), 0.0 * mass
    fx, fz, torque = force.x, force.z - mass * gravity, moment
    for i, bar in enumerate(motion):
        m, lever, bias = tree.mass[i], bar.com.place - origin, bar.com.acceleration
        first = first + lever.scaled(m)
        second = second + m * lever.dot(lever) + tree.inertia[i]
        fx, fz = fx - m * bias.x, fz - m * bias.z
        needed = Vec(m * bias.x, m * (bias.z + gravity))
        torque = torque - lever.moment(needed) - tree.inertia[i] * bar.turn.acceleration
    angular = (torque - (first.z * fx - first.x * fz) / mass) / (second - first.dot(first) / mass)
    return Vec((fx - first.z * angular) / mass, (fz + first.x * angular) / mass), angular


@float64_default
def joint_moments(tree: PlanarTree, motion: list[Bar], gravity: Number) -> list[Number]:
    """Moment in N m (about +y) that each bar's parent exerts on it, if outside forces act on the base only.

    Args:
        tree: the bars.
        motion: from `bars`, with the true accelerations of the base.
        gravity: m/s^2.

    Returns:
        One moment per bar; the base's own entry is the sum about its origin (the moment of the outside forces).
    """
    zero = 0.0 * tree.mass[0]
    force, moment = [Vec(zero, zero)] * len(motion), [zero] * len(motion)
    for i in reversed(range(len(motion))):
        bar, m = motion[i], tree.mass[i]
        own = Vec(m * bar.com.acceleration.x, m * (bar.com.acceleration.z + gravity))
        moment[i] = moment[i] + (bar.com.place - bar.origin.place).moment(own) + tree.inertia[i] * bar.turn.acceleration
        force[i] = force[i] + own
        p = tree.parents[i]
        if p >= 0:
            lever = bar.origin.place - motion[p].origin.place
            moment[p] = moment[p] + moment[i] + lever.moment(force[i])
            force[p] = force[p] + force[i]
    return moment


@float64_default
def whole(tree: PlanarTree, motion: list[Bar]) -> Whole:
    """Centre of mass, its velocity, angular momentum about it and kinetic energy."""
    mass = jnp.sum(tree.mass)
    com, velocity = (
        Vec(
            sum(((m * v.x) for m, v in zip(tree.mass, vectors, strict=True)), 0.0 * mass) / mass,
            sum(((m * v.z) for m, v in zip(tree.mass, vectors, strict=True)), 0.0 * mass) / mass,
        )
        for vectors in ([b.com.place for b in motion], [b.com.velocity for b in motion])
    )
    angular, kinetic = 0.0 * mass, 0.0 * mass
    for i, bar in enumerate(motion):
        relative, spin = bar.com.velocity - velocity, tree.inertia[i] * bar.turn.rate
        angular = angular + spin + (bar.com.place - com).moment(relative.scaled(tree.mass[i]))
        kinetic = kinetic + 0.5 * (tree.mass[i] * bar.com.velocity.dot(bar.com.velocity) + spin * bar.turn.rate)
    return Whole(mass, com, velocity, angular, kinetic)
