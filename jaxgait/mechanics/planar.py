"""Vectors and directions of the plane, as pairs of scalars.

Angles run counter-clockwise from the downward vertical, as in gait analysis: `down(a)` points down for a = 0 and
forward for a = pi/2. Its derivative with respect to the angle is `turned(down(a))`, the same vector turned by a
quarter.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from jaxgait.mechanics import elementary
from jaxgait.mechanics.scalars import Scalar
from jaxgait.precision import float64_default


class Vec(NamedTuple):
    """A vector (x, y) with the usual arithmetic; x points forward, y up."""

    x: Scalar
    y: Scalar

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Vec) -> Vec:
        return Vec(self.x - other.x, self.y - other.y)

    def __mul__(self, factor: Scalar) -> Vec:
        return Vec(self.x * factor, self.y * factor)

    def __rmul__(self, factor: Scalar) -> Vec:
        return Vec(self.x * factor, self.y * factor)

    def __neg__(self) -> Vec:
        return Vec(-self.x, -self.y)


@float64_default
def dot(a: Vec, b: Vec) -> Scalar:
    """Scalar product. In the product of the units of both: any units."""
    return a.x * b.x + a.y * b.y


@float64_default
def cross(a: Vec, b: Vec) -> Scalar:
    """The out-of-plane component of the vector product; sin of the angle from a to b for unit vectors.

    In the product of the units of both: any units.
    """
    return a.x * b.y - a.y * b.x


@float64_default
def turned(a: Vec) -> Vec:
    """The vector turned counter-clockwise by a quarter turn."""
    return Vec(-a.y, a.x)


@float64_default
def down(angle: Scalar) -> Vec:
    """Unit vector at an angle in rad from the downward vertical, positive forward: (sin a, -cos a)."""
    sin, cos = elementary.sincos(angle)
    return Vec(sin, -cos)


@float64_default
def bolted(angle: Scalar) -> Vec:
    """`down` of an angle that is built in, not moving: XLA's own sine, one operation instead of a polynomial.

    Unlike a moving angle it is the same for a whole batch (unless the angle itself is scanned) and hoisted out of it.
    """
    return Vec(jnp.sin(angle), -jnp.cos(angle))


@float64_default
def forward(angle: Scalar) -> Vec:
    """Unit vector at an angle in rad from the forward horizontal, positive upward: (cos a, sin a)."""
    sin, cos = elementary.sincos(angle)
    return Vec(cos, sin)


@float64_default
def added(a: Vec, b: Vec) -> Vec:
    """`down(alpha + beta)` from `down(alpha)` and `down(beta)`, without another sine."""
    return Vec(-(a.x * b.y + a.y * b.x), a.x * b.x - a.y * b.y)
