"""Conversions between representations of orientations, and between the axes of twists and wrenches.

Rotations R take body components to world components. Quaternions are (w, x, y, z). Roll, pitch and yaw turn about the
world's x, y and z in this order, R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF files.

Twists and wrenches are taken at the body's origin in the body's axes (Pinocchio's LOCAL). `to_world_axes` changes the
axes (LOCAL_WORLD_ALIGNED); `Placement.motion_to_parent` of the body's placement in the world also moves the reference
point to the world's origin (WORLD).
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import ArrayLike, Float

from jaxgait.mechanics import Scalar
from jaxgait.mechanics.spatial.vectors import Mat3, Quaternion, Vec3, Vec6
from jaxgait.precision import float64_default

Rotation = Float[ArrayLike, "3 3"]
Spatial = Float[ArrayLike, " 6"]

UPRIGHT_COSINE = 1e-12
"""|cos pitch| below which roll and yaw turn about the same axis."""


@float64_default
def to_world_axes(R: Rotation, vector: Spatial) -> Vec6:
    """A twist (rad/s, m/s) or wrench (N m, N) at the body's origin, from body axes to world axes.

    Args:
        R: rotation of the body in the world.
        vector: angular part first, in body axes.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import rotation_of_rpy, to_world_axes
        >>> R = rotation_of_rpy(0.0, 0.0, jnp.pi / 2)  # the body faces left, along y
        >>> print(to_world_axes(R, jnp.array([0.0, 0.0, 0.0, 1.2, 0.0, 0.0])).round(6)[3:])  # m/s
        [0.  1.2 0. ]
    """
    R, vector = jnp.asarray(R), jnp.asarray(vector)
    return jnp.concatenate([R @ vector[:3], R @ vector[3:]])


@float64_default
def to_body_axes(R: Rotation, vector: Spatial) -> Vec6:
    """A twist (rad/s, m/s) or wrench (N m, N) at the body's origin, from world axes to body axes.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import rotation_of_rpy, to_body_axes
        >>> R = rotation_of_rpy(0.0, 0.0, jnp.pi / 2)  # the body faces left, along y
        >>> print(to_body_axes(R, jnp.array([0.0, 0.0, 0.0, 0.0, 1.2, 0.0])).round(6)[3:])  # m/s
        [1.2 0.  0. ]
    """
    R, vector = jnp.asarray(R), jnp.asarray(vector)
    return jnp.concatenate([vector[:3] @ R, vector[3:] @ R])


@float64_default
def quaternion_of_rotation(R: Rotation) -> Quaternion:
    """Unit quaternion (w, x, y, z) of a rotation matrix, with w >= 0.

    Of four candidates, the one with the largest divisor is taken (Shepperd 1978).

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import quaternion_of_rotation, rotation_of_rpy
        >>> half_turn = rotation_of_rpy(0.0, 0.0, jnp.pi)  # about z
        >>> print(jax.jit(quaternion_of_rotation)(half_turn).round(6))
        [0. 0. 0. 1.]
    """
    R = jnp.asarray(R)
    d, trace = jnp.diagonal(R), jnp.trace(R)
    squares = 1.0 + jnp.concatenate([trace[None], 2.0 * d - trace])  # 4 w^2, 4 x^2, 4 y^2, 4 z^2
    odd = jnp.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])  # 4 w (x, y, z)
    even = jnp.stack([R[1, 2] + R[2, 1], R[0, 2] + R[2, 0], R[0, 1] + R[1, 0]])  # 4 (yz, xz, xy)
    products = jnp.stack(
        [
            jnp.stack([squares[0], odd[0], odd[1], odd[2]]),
            jnp.stack([odd[0], squares[1], even[2], even[1]]),
            jnp.stack([odd[1], even[2], squares[2], even[0]]),
            jnp.stack([odd[2], even[1], even[0], squares[3]]),
        ]
    )
    largest = jnp.argmax(squares)
    q = 0.5 * products[largest] / jnp.sqrt(squares[largest])
    return jnp.where(q[0] < 0.0, -q, q)


@float64_default
def rotation_of_rpy(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Mat3:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll) of angles in rad.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import rotation_of_rpy
        >>> print(rotation_of_rpy(0.0, jnp.pi / 2, 0.0)[:, 0].round(6))  # the nose points down
        [ 0.  0. -1.]
    """
    (cr, cp, cy), (sr, sp, sy) = ([f(a) for a in (roll, pitch, yaw)] for f in (jnp.cos, jnp.sin))
    return jnp.stack(
        [
            jnp.stack([cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr]),
            jnp.stack([sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr]),
            jnp.stack([-sp, cp * sr, cp * cr]),
        ]
    )


@float64_default
def rpy_of_rotation(R: Rotation) -> Vec3:
    """Roll, pitch (-pi/2 to pi/2) and yaw in rad of a rotation matrix.

    At a pitch of +-pi/2 only the sum or difference of roll and yaw is determined: roll is then zero.

    Examples:
        >>> from jaxgait.mechanics.spatial import rotation_of_rpy, rpy_of_rotation
        >>> print(rpy_of_rotation(rotation_of_rpy(0.1, 0.2, 0.3)).round(6))  # rad
        [0.1 0.2 0.3]
    """
    R = jnp.asarray(R)
    level = jnp.hypot(R[2, 1], R[2, 2])
    roll = jnp.where(level < UPRIGHT_COSINE, 0.0, jnp.arctan2(R[2, 1], R[2, 2]))
    # The yaw is read from the other axes, turned back by the roll: near a pitch of +-pi/2 the first hardly shows it.
    sin, cos = jnp.sin(roll), jnp.cos(roll)
    yaw = jnp.arctan2(sin * R[0, 2] - cos * R[0, 1], cos * R[1, 1] - sin * R[1, 2])
    return jnp.stack([roll, jnp.arctan2(-R[2, 0], level), yaw])
