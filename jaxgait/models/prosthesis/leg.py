"""States of the leg and its kinematics at one time; reactions, powers, energy and the closure error of the loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxgait.mechanics.fourbar import Closure
from jaxgait.mechanics.kane import AppliedForce, Body, Point, Rotation
from jaxgait.mechanics.planar import Vec, cross, dot
from jaxgait.model import Scalar
from jaxgait.models.prosthesis.parts import Linkage
from jaxgait.motion.drive import HipMotion


class KneeState(NamedTuple):
    """Free angles in rad and their rates in rad/s."""

    theta_b: Scalar
    beta_1: Scalar
    theta_b_rate: Scalar
    beta_1_rate: Scalar


class SocketState(NamedTuple):
    """`KneeState` with the displacement of the hip in the socket in m and its rate in m/s."""

    theta_b: Scalar
    beta_1: Scalar
    theta_b_rate: Scalar
    beta_1_rate: Scalar
    socket_x: Scalar
    socket_y: Scalar
    socket_x_rate: Scalar
    socket_y_rate: Scalar


class BristledKneeState(NamedTuple):
    """`KneeState` or `SocketState` with the memory of the ground's friction law, in m for `Bristle`."""

    theta_b: Scalar
    beta_1: Scalar
    theta_b_rate: Scalar
    beta_1_rate: Scalar
    socket_x: Scalar | None
    socket_y: Scalar | None
    socket_x_rate: Scalar | None
    socket_y_rate: Scalar | None
    heel_bristle: Scalar
    toe_bristle: Scalar


class Leg(NamedTuple):
    """Kinematics of the leg at one time and state."""

    hip: HipMotion
    knee: Closure
    thigh: Rotation
    plate: Rotation
    link_AD: Rotation
    link_BC: Rotation
    bar_CD: Rotation
    shank: Rotation
    foot: Rotation
    points: dict[str, Point]


class Torques(NamedTuple):
    """Torques in N m, and the length of the cylinder in m."""

    lock: Scalar
    cylinder: Scalar
    ankle: Scalar
    cylinder_length: Scalar


POINTS = ("H", "E", "A", "B", "C", "D", "F", "K", "heel", "toe")
"""Points of the output `points` (see the sketch in `prosthesis.model`)."""


def reaction(
    leg: Leg,
    about: str,
    bodies: Iterable[Body],
    accelerations: Sequence[Scalar],
    ground: Sequence[AppliedForce],
    gravity: Scalar,
) -> tuple[Vec, Scalar]:
    """Force in N and moment in N m about a point, of what is above on bodies and ground contacts (Newton-Euler).

    For the entire leg about H, rows 1 to 3 of the paper's equations.

    Args:
        leg: the leg.
        about: name of the point.
        bodies: the foot, and all others below the cut.
        accelerations: of the free coordinates.
        ground: forces of the ground on heel and toe.
        gravity: in m/s^2.
    """
    force, moment = Vec(0.0, 0.0), 0.0
    at = leg.points[about].position
    for mass, inertia, centre, rotation in bodies:
        a, spin = centre.acceleration, rotation.acceleration
        for V, w, rate in zip(centre.partial_velocities, rotation.partial_rates, accelerations, strict=True):
            a = a if V is None else a + V * rate
            spin = spin if w is None else spin + w * rate
        weight_and_inertia = mass * Vec(a.x, a.y + gravity)
        force = force + weight_and_inertia
        moment = moment + cross(centre.position - at, weight_and_inertia) + inertia * spin
    for point, f in zip((leg.points["heel"], leg.points["toe"]), ground, strict=True):
        force = force - f.force
        moment = moment - cross(point.position - at, f.force)
    return force, moment


def energy(bodies: Iterable[Body], gravity: Scalar) -> Scalar:
    """Kinetic and potential energy in J of all bodies, zero on the floor."""
    total = 0.0
    for mass, inertia, centre, rotation in bodies:
        kinetic = 0.5 * (mass * dot(centre.velocity, centre.velocity) + inertia * rotation.rate**2)
        total = total + kinetic + mass * gravity * centre.position.y
    return total


def powers(leg: Leg, torques: Torques, ground: Sequence[AppliedForce], hip: tuple[Vec, Scalar]) -> dict[str, Any]:
    """Powers in W of the hip, the joints and the ground on heel and toe: their sum is the rate of `energy`.

    Args:
        leg: the leg.
        torques: of its joints.
        ground: forces of the ground on heel and toe.
        hip: its force and moment.
    """
    P, thigh, (force, moment) = leg.points, leg.thigh.rate, hip
    return {
        "hip_power": dot(force, P["H"].velocity) + moment * thigh,
        "lock_power": -torques.lock * (leg.link_BC.rate - thigh),
        "damper_power": torques.cylinder * (leg.link_AD.rate - thigh),
        "ankle_power": torques.ankle * (leg.foot.rate - leg.shank.rate),
        "ground_power": sum(dot(f.force, P[end].velocity) for f, end in zip(ground, ("heel", "toe"), strict=True)),
    }


def loop_residual(leg: Leg, linkage: Linkage) -> Scalar:
    """Distance in m by which the bar CD misses C, the larger of its components."""
    missed = leg.points["D"].position - linkage.l_CD * leg.bar_CD.direction - leg.points["C"].position
    return jnp.maximum(jnp.abs(missed.x), jnp.abs(missed.y))
