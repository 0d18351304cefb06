"""Equations of motion of planar rigid bodies by Kane's method.

Choose generalised speeds u_1 ... u_n. For every body write the velocity of its centre of mass as
``sum_i V_i u_i + (prescribed)`` and its angular velocity as ``sum_i w_i u_i + (prescribed)``. Then

    sum_b (m V_i . V_j + I w_i w_j) du_j/dt = sum_b (V_i . (R - m a0) + w_i (T - I e0)) + Q_i

with the accelerations a0, e0 at du/dt = 0, applied forces R and torques T, and generalised forces Q_i. All entries are
scalars; a vanishing partial velocity is None and costs nothing.

Reference: Kane and Levinson, Dynamics: Theory and Applications (1985), chapter 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jaxgait.mechanics import Scalar, linalg
from jaxgait.mechanics.planar import Vec, dot, turned
from jaxgait.precision import float64_default


class Rotation(NamedTuple):
    """A direction fixed in a body, and the body's rotation."""

    direction: Vec
    """Unit vector."""
    rate: Scalar
    """Angular velocity in rad/s."""
    acceleration: Scalar
    """Angular acceleration in rad/s^2 at zero generalised accelerations."""
    partial_rates: tuple[Scalar | None, ...]
    """Partial derivatives of the angular velocity, one per generalised speed."""


class Point(NamedTuple):
    """A moving point."""

    position: Vec
    velocity: Vec
    acceleration: Vec
    """Acceleration in m/s^2 at zero generalised accelerations."""
    partial_velocities: tuple[Vec | None, ...]
    """One per generalised speed."""


@float64_default
def along(start: Point, length: Scalar, rotation: Rotation) -> Point:
    """The point at a distance `length` in m from `start`, along a direction fixed in a body.

    Examples:
        >>> from jaxgait.mechanics.kane import Point, Rotation, along
        >>> from jaxgait.mechanics.planar import Vec, down
        >>> origin = Vec(0.0, 0.0)
        >>> pivot = Point(origin, origin, origin, (None,))
        >>> bob = along(pivot, 0.5, Rotation(down(0.0), 2.0, 0.0, (1.0,)))  # a hanging pendulum, at 2 rad/s
        >>> print(float(bob.velocity.x), float(bob.acceleration.y))  # m/s, m/s^2
        1.0 2.0
    """
    d, n = length * rotation.direction, length * turned(rotation.direction)
    partials = [
        v if w is None else (n * w if v is None else v + n * w)
        for v, w in zip(start.partial_velocities, rotation.partial_rates, strict=True)
    ]
    return Point(
        start.position + d,
        start.velocity + n * rotation.rate,
        start.acceleration + n * rotation.acceleration - d * rotation.rate**2,
        tuple(partials),
    )


class Body(NamedTuple):
    """A planar rigid body in motion.

    Examples:
        >>> from jaxgait.mechanics.kane import Body, Point, Rotation, along
        >>> from jaxgait.mechanics.planar import Vec, down
        >>> origin = Vec(0.0, 0.0)
        >>> pivot, swing = Point(origin, origin, origin, (None,)), Rotation(down(0.0), 0.0, 0.0, (1.0,))
        >>> rod = Body(3.0, 0.25, along(pivot, 0.5, swing), swing)  # 3 kg, 1 m long, pivoted at its upper end
        >>> print(float(rod.centre.partial_velocities[0].x))  # m/s of the centre of mass per rad/s
        0.5
    """

    mass: Scalar
    """kg."""
    inertia: Scalar
    """Central moment of inertia in kg m^2."""
    centre: Point
    """Centre of mass."""
    rotation: Rotation


class AppliedForce(NamedTuple):
    """A force in N with the partial velocities of its point of application."""

    force: Vec
    partial_velocities: tuple[Vec | None, ...]


@float64_default
def mass_matrix(bodies: Sequence[Body]) -> list[list[Scalar]]:
    """The symmetric mass matrix of the generalised speeds, as rows of scalars.

    Examples:
        >>> from jaxgait.mechanics.kane import Body, Point, Rotation, along, mass_matrix
        >>> from jaxgait.mechanics.planar import Vec, down
        >>> origin = Vec(0.0, 0.0)
        >>> pivot, swing = Point(origin, origin, origin, (None,)), Rotation(down(0.0), 0.0, 0.0, (1.0,))
        >>> rod = Body(3.0, 0.25, along(pivot, 0.5, swing), swing)  # 3 kg, 1 m: m l^2 / 12 about its centre
        >>> float(mass_matrix([rod])[0][0])  # m l^2 / 3 about its end
        1.0
    """
    n = len(bodies[0].rotation.partial_rates)
    M: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for body in bodies:
        V, w = body.centre.partial_velocities, body.rotation.partial_rates
        for i in range(n):
            for j in range(i + 1):
                M[i][j] = M[i][j] + _product(body.mass, V[i], V[j]) + _rate_product(body.inertia, w[i], w[j])
    for i in range(n):
        for j in range(i + 1, n):
            M[i][j] = M[j][i]
    return M


@float64_default
def generalised_forces(
    bodies: Sequence[Body], gravity: Scalar, forces: Sequence[AppliedForce], applied: Sequence[Scalar]
) -> list[Scalar]:
    """The right-hand side: applied and contact forces, weights, and inertia forces of the prescribed motion.

    Args:
        bodies: all bodies.
        gravity: in m/s^2, along -y.
        forces: forces at points.
        applied: generalised forces Q_i of springs, dampers and torques.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.kane import Body, Point, Rotation, along, generalised_forces
        >>> from jaxgait.mechanics.planar import Vec, down
        >>> origin = Vec(0.0, 0.0)
        >>> pivot = Point(origin, origin, origin, (None,))
        >>> swing = Rotation(down(math.pi / 2), 0.0, 0.0, (1.0,))  # level, at rest
        >>> rod = Body(3.0, 0.25, along(pivot, 0.5, swing), swing)
        >>> [round(float(Q), 6) for Q in generalised_forces([rod], 10.0, [], [20.0])]  # N m: motor less m g l / 2
        [5.0]
    """
    rhs = list(applied)
    for i in range(len(rhs)):
        for body in bodies:
            V, w = body.centre.partial_velocities[i], body.rotation.partial_rates[i]
            if V is not None:
                a = body.centre.acceleration
                rhs[i] = rhs[i] - body.mass * (V.x * a.x + V.y * (a.y + gravity))
            if w is not None:
                rhs[i] = rhs[i] - body.inertia * w * body.rotation.acceleration
        for force, V in ((f.force, f.partial_velocities[i]) for f in forces):
            if V is not None:
                rhs[i] = rhs[i] + dot(V, force)
    return rhs


@float64_default
def accelerations(
    bodies: Sequence[Body], gravity: Scalar, forces: Sequence[AppliedForce], applied: Sequence[Scalar]
) -> list[Scalar]:
    """Generalised accelerations du/dt in m/s^2 or rad/s^2; arguments as in `generalised_forces`.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.kane import Body, Point, Rotation, accelerations, along
        >>> from jaxgait.mechanics.planar import Vec, down
        >>> origin = Vec(0.0, 0.0)
        >>> pivot = Point(origin, origin, origin, (None,))
        >>> swing = Rotation(down(math.pi / 2), 0.0, 0.0, (1.0,))  # level, released
        >>> rod = Body(3.0, 0.25, along(pivot, 0.5, swing), swing)
        >>> [round(float(a), 6) for a in accelerations([rod], 10.0, [], [0.0])]  # rad/s^2: 3 g / 2 l
        [-15.0]
    """
    return linalg.solve_symmetric(mass_matrix(bodies), generalised_forces(bodies, gravity, forces, applied))


def _product(factor: Scalar, a: Vec | None, b: Vec | None) -> Scalar:
    return 0.0 if a is None or b is None else factor * dot(a, b)


def _rate_product(factor: Scalar, a: Scalar | None, b: Scalar | None) -> Scalar:
    return 0.0 if a is None or b is None else factor * a * b
