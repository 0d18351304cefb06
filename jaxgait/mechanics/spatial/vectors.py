"""Spatial vectors and the operators on them: cross products, changes of frame, rotations, inertias."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.mechanics import linalg
from jaxgait.precision import float64_default

Vec3 = Float[Array, " 3"]
Mat3 = Float[Array, "3 3"]
Vec6 = Float[Array, " 6"]
Mat6 = Float[Array, "6 6"]
Quaternion = Float[Array, " 4"]


@float64_default
def real(x: Any) -> Array:
    """Numbers as an array that has derivatives, also of integers; their unit and shape do not change."""
    x = jnp.asarray(x)
    return x.astype(x.dtype if jnp.issubdtype(x.dtype, jnp.inexact) else float)


@float64_default
class Placement(NamedTuple):
    """Position and orientation of a frame (the child) in another (the parent).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import Placement
        >>> knee = Placement(jnp.eye(3), jnp.array([0.0, 0.0, -0.4]))  # 0.4 m below the hip, not turned
        >>> print(knee.then(knee).r)  # the ankle in the axes of the hip, m
        [ 0.   0.  -0.8]
        >>> swing = jnp.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0])  # the hip turns at 2 rad/s about y
        >>> print(knee.motion_to_child(swing), knee.matrix() @ swing)  # rad/s, m/s
        [ 0.   2.   0.  -0.8  0.   0. ] [ 0.   2.   0.  -0.8  0.   0. ]
        >>> print(knee.motion_to_parent(knee.motion_to_child(swing)))
        [0. 2. 0. 0. 0. 0.]
        >>> print(knee.force_to_parent(jnp.array([0.0, 0.0, 0.0, 100.0, 0.0, 0.0])))  # 100 N forward at the knee
        [  0. -40.   0. 100.   0.   0.]
        >>> point = jnp.diag(jnp.array([0.0, 0.0, 0.0, 3.0, 3.0, 3.0]))  # 3 kg at the knee
        >>> print(knee.inertia_to_parent(point)[1, 1].round(6))  # kg m^2 about the hip: m l^2
        0.48
    """

    R: Mat3
    """Rotation from child components to parent components."""
    r: Vec3
    """Origin of the child in the parent, m."""

    def then(self, inner: Placement) -> Placement:
        """Placement of a grandchild in the parent."""
        return Placement(self.R @ inner.R, self.r + self.R @ inner.r)

    def motion_to_child(self, m: Vec6) -> Vec6:
        """A twist or spatial acceleration from the parent's frame to the child's."""
        w, v = m[:3], m[3:]
        return jnp.concatenate([w @ self.R, (v - cross(self.r, w)) @ self.R])

    def motion_to_parent(self, m: Vec6) -> Vec6:
        """A twist or spatial acceleration from the child's frame to the parent's."""
        w = self.R @ m[:3]
        return jnp.concatenate([w, self.R @ m[3:] + cross(self.r, w)])

    def force_to_parent(self, f: Vec6) -> Vec6:
        """A wrench on the child from the child's frame to the parent's, each at its origin."""
        force = self.R @ f[3:]
        return jnp.concatenate([self.R @ f[:3] + cross(self.r, force), force])

    def matrix(self) -> Mat6:
        """The matrix X of `motion_to_child`; its transpose is `force_to_parent`."""
        Rt = self.R.T
        return jnp.block([[Rt, jnp.zeros_like(Rt)], [-Rt @ skew(self.r), Rt]])

    def inertia_to_parent(self, inertia: Mat6) -> Mat6:
        """A spatial (rigid or articulated) inertia I of the child in the parent's frame: X^T I X by its blocks."""
        blocks = jnp.einsum("ai,minj,bj->manb", self.R, inertia.reshape(2, 3, 2, 3), self.R)
        (A, H), (Ht, M) = blocks[0].swapaxes(0, 1), blocks[1].swapaxes(0, 1)
        H, A = H + cross(self.r, M), A + cross(self.r, Ht)
        return jnp.block([[A + cross(self.r, H.T).T, H], [Ht + cross(self.r, M.T).T, M]])


@float64_default
def cross(a: Vec3, b: Float[Array, " 3 *n"]) -> Float[Array, " 3 *n"]:
    """`linalg.cross` of a vector and another, or the columns of a matrix, in any units, as an array.

    Scalar code fuses better than `jnp.cross`.
    """
    return jnp.stack(linalg.cross(a, b))


@float64_default
def skew(a: Vec3) -> Mat3:
    """Matrix of the cross product: ``skew(a) @ b == cross(a, b)``."""
    o = jnp.zeros_like(a[0])
    return jnp.stack([jnp.stack([o, -a[2], a[1]]), jnp.stack([a[2], o, -a[0]]), jnp.stack([-a[1], a[0], o])])


@float64_default
def cross_motion(m: Vec6, other: Vec6) -> Vec6:
    """Spatial cross product of a twist with a motion vector: its rate of change when carried along."""
    w, v = m[:3], m[3:]
    return jnp.concatenate([cross(w, other[:3]), cross(w, other[3:]) + cross(v, other[:3])])


@float64_default
def cross_force(m: Vec6, f: Vec6) -> Vec6:
    """Spatial cross product of a twist with a wrench or momentum."""
    w, v = m[:3], m[3:]
    return jnp.concatenate([cross(w, f[:3]) + cross(v, f[3:]), cross(w, f[3:])])


@float64_default
def rigid_inertia(mass: Float[Array, ""], com: Vec3, inertia: Mat3) -> Mat6:
    """Spatial inertia at the body's origin from mass in kg, centre of mass in m and inertia about it in kg m^2."""
    c = skew(com)
    return jnp.block([[inertia - mass * (c @ c), mass * c], [-mass * c, mass * jnp.eye(3, dtype=c.dtype)]])


@float64_default
def rotation_about(axis: Vec3, angle: Float[Array, ""]) -> Mat3:
    """Rotation matrix about a unit axis by an angle in rad (Rodrigues).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import rotation_about
        >>> R = rotation_about(jnp.array([0.0, 1.0, 0.0]), jnp.asarray(jnp.pi / 2))
        >>> print((R @ jnp.array([0.0, 0.0, 1.0])).round(6))  # an upward axis leans forward
        [1. 0. 0.]
    """
    K = skew(axis)
    return jnp.eye(3, dtype=K.dtype) + jnp.sin(angle) * K + (1.0 - jnp.cos(angle)) * (K @ K)


@float64_default
def quaternion_about(axis: Vec3, angle: Float[Array, ""]) -> Quaternion:
    """Unit quaternion (w, x, y, z) of a rotation about a unit axis by an angle in rad.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import quaternion_about
        >>> print(quaternion_about(jnp.array([0.0, 0.0, 1.0]), jnp.asarray(jnp.pi)).round(6))  # half a turn about z
        [0. 0. 0. 1.]
    """
    half = 0.5 * angle
    return jnp.concatenate([jnp.cos(half)[None], jnp.sin(half) * axis])


@float64_default
def rotation_of_quaternion(quaternion: Quaternion) -> Mat3:
    """Rotation matrix of a quaternion (w, x, y, z) of any length.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import rotation_of_quaternion
        >>> print(rotation_of_quaternion(jnp.array([1.0, 0.0, 0.0, 1.0]))[:, 0].round(6))  # 90 degrees about z
        [0. 1. 0.]
    """
    q = quaternion / jnp.sqrt(jnp.sum(quaternion * quaternion))
    w, u = q[0], q[1:]
    K = skew(u)
    return jnp.eye(3, dtype=K.dtype) + 2.0 * (w * K + K @ K)


@float64_default
def quaternion_rate(quaternion: Quaternion, w_body: Vec3) -> Quaternion:
    """Time derivative of the quaternion of a frame that turns with `w_body` in rad/s, in its own axes.

    The quaternion may have any length, which does not change.
    """
    w, u = quaternion[0], quaternion[1:]
    return 0.5 * jnp.concatenate([-jnp.sum(u * w_body)[None], w * w_body + cross(u, w_body)])
