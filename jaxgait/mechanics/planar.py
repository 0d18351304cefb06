"""Planar vectors and directions, as pairs of scalars.

Angles run counter-clockwise from the downward vertical, as in gait analysis: `down(a)` points down for a = 0 and
forward for a = pi/2. Its derivative with respect to a is `turned(down(a))`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from jaxgait.mechanics import Scalar
from jaxgait.precision import float64_default


class Vec(NamedTuple):
    """A vector (x, y) with the usual arithmetic; x points forward, y up.

    Examples:
        >>> from jaxgait.mechanics.planar import Vec
        >>> hip, thigh = Vec(0.0, 0.9), Vec(0.1, -0.4)  # m
        >>> print(hip + thigh, 0.5 * thigh)  # the knee; mid-thigh from the hip
        Vec(x=0.1, y=0.5) Vec(x=0.05, y=-0.2)
    """

    x: Scalar
    y: Scalar

    __array_priority__ = 100.0  # the product of a number of NumPy and a vector is a vector

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Vec) -> Vec:
        return Vec(self.x - other.x, self.y - other.y)

    def __mul__(self, factor: Scalar) -> Vec:
        return Vec(self.x * factor, self.y * factor)

    __rmul__ = __mul__

    def __neg__(self) -> Vec:
        return Vec(-self.x, -self.y)


@float64_default
def dot(a: Vec, b: Vec) -> Scalar:
    """Scalar product, in the product of the units of both vectors.

    Examples:
        >>> from jaxgait.mechanics.planar import Vec, dot
        >>> dot(Vec(0.0, -700.0), Vec(1.2, -0.1))  # W: the power of a weight in N at a velocity in m/s
        70.0
    """
    return a.x * b.x + a.y * b.y


@float64_default
def cross(a: Vec, b: Vec) -> Scalar:
    """The out-of-plane component of the vector product, in the product of the units of both vectors.

    For unit vectors: the sine of the angle from a to b.

    Examples:
        >>> from jaxgait.mechanics.planar import Vec, cross
        >>> cross(Vec(0.2, 0.0), Vec(0.0, 700.0))  # N m: body weight at a lever of 0.2 m
        140.0
    """
    return a.x * b.y - a.y * b.x


@float64_default
def turned(a: Vec) -> Vec:
    """The vector turned counter-clockwise by 90 degrees, in its own unit.

    Examples:
        >>> from jaxgait.mechanics.planar import Vec, turned
        >>> turned(Vec(1.0, 0.5))
        Vec(x=-0.5, y=1.0)
    """
    return Vec(-a.y, a.x)


@float64_default
def down(angle: Scalar) -> Vec:
    """Unit vector at an angle in rad from the downward vertical, positive forward: (sin a, -cos a).

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.planar import down
        >>> thigh = down(math.radians(30.0))  # flexed by 30 degrees
        >>> print(round(float(thigh.x), 4), round(float(thigh.y), 4))
        0.5 -0.866
    """
    return Vec(jnp.sin(angle), -jnp.cos(angle))


@float64_default
def forward(angle: Scalar) -> Vec:
    """Unit vector at an angle in rad from the forward horizontal, positive upward: (cos a, sin a).

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.planar import forward
        >>> sole = forward(math.radians(30.0))  # toe up by 30 degrees
        >>> print(round(float(sole.x), 4), round(float(sole.y), 4))
        0.866 0.5
    """
    return Vec(jnp.cos(angle), jnp.sin(angle))


@float64_default
def added(a: Vec, b: Vec) -> Vec:
    """`down(alpha + beta)` from `down(alpha)` and `down(beta)`, without further sines.

    Examples:
        >>> from jaxgait.mechanics.planar import added, down
        >>> print(f"{added(down(0.5), down(-0.2)).x:.6f} {down(0.3).x:.6f}")
        0.295520 0.295520
    """
    return Vec(-(a.x * b.y + a.y * b.x), a.x * b.x - a.y * b.y)
