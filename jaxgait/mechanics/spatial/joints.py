"""Joints of a tree: how a body may move relative to its parent.

A joint has `nq` coordinates and `nv` velocities. Velocities are the rates of the coordinates, except of a ball joint,
with a unit quaternion (w, x, y, z) and the angular velocity in the child's axes, and of a free joint, with position,
quaternion, and the twist (angular first) in the child's axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.mechanics.spatial.vectors import (
    Placement,
    Vec6,
    cross_motion,
    quaternion_rate,
    rotation_about,
    rotation_of_quaternion,
)
from jaxgait.precision import float64_default
from jaxgait.support.checks import as_array, shown

Axis = tuple[float | int, float | int, float | int]
_UNIT = 1e-6
"""Deviation of the length of an axis from 1 that counts as rounding, also of float32, and is removed."""
_QUATERNION, _ANGULAR = ("q_w", "q_x", "q_y", "q_z"), ("w_x", "w_y", "w_z")


@float64_default
@dataclass(frozen=True)
class Joint:
    """A joint made of elementary screws, applied in turn from the parent to the child.

    Each screw is six numbers, (axis, 0) for a rotation or (0, axis) for a translation, in the frame moved by the screws
    before it, with an axis of length 1. Coordinates are in rad and m, twists in rad/s and m/s.

    Raises:
        ValueError: for anything else; `screws` takes axes of any length.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import hinge
        >>> joint, rate = hinge((0, 0, 1)), jnp.array([2.0])
        >>> print(joint.nq, joint.nv, joint.coordinates, joint.velocities, joint.neutral())
        1 1 ('turn_z',) ('turn_z',) [0.]
        >>> q = jnp.array([jnp.pi / 2])
        >>> print(joint.placement(q).R[:, 0].round(6))  # after a quarter turn the child's x axis points along y
        [0. 1. 0.]
        >>> S = joint.columns(q)
        >>> print(S @ rate, joint.rate(q, rate))  # the twist and the rate of the angle
        [0. 0. 2. 0. 0. 0.] [2.]
        >>> bool((joint.bias(S, rate) == 0.0).all())  # a single axis
        True
    """

    screws: Any = ()
    """A row of six numbers for each, as tuples of tuples."""

    def __post_init__(self) -> None:
        """Checks the screws, and makes them tuples, which can be hashed."""
        object.__setattr__(self, "screws", tuple(_checked(screw) for screw in self.screws))

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.velocities)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates: x, y, z for slides, turn_x, turn_y, turn_z for turns.

        Oblique axes are numbered (turn_2), and so are axes that occur again (turn_z, turn_x, turn_z_3).
        """
        names = [_name(screw, k) for k, screw in enumerate(self.screws)]
        return tuple(f"{name}_{k + 1}" if name in names[:k] else name for k, name in enumerate(names))

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities."""
        return self.coordinates

    def neutral(self) -> np.ndarray:
        """Coordinates, shape (nq,), at which child and parent frames coincide."""
        return np.zeros(self.nq)

    def placement(self, q: Float[Array, " nq"]) -> Placement:
        """Placement of the child in the parent."""
        return self._moves(q)[0]

    def _moves(self, q: Float[Array, " nq"]) -> tuple[Placement, list[Placement]]:
        """Placement of the child in the parent, and in the frame after each of the screws."""
        steps = [_elementary(screw, angle) for screw, angle in zip(self.screws, q, strict=True)]
        dtype = q.dtype
        behind = [Placement(jnp.eye(3, dtype=dtype), jnp.zeros(3, dtype=dtype))]
        for step in reversed(steps):
            behind.insert(0, step.then(behind[0]))
        return behind[0], behind[1:]

    def columns(self, q: Float[Array, " nq"]) -> Float[Array, "6 nv"]:
        """Joint map S: the child's twist in the parent is S v, in the child's axes."""
        if not self.screws:  # fixed: no direction; a ball: the turns; free: all six
            return jnp.eye(6, self.nv, dtype=q.dtype)
        behind = self._moves(q)[1]
        return jnp.stack(
            [p.motion_to_child(jnp.asarray(s, dtype=q.dtype)) for p, s in zip(behind, self.screws, strict=True)], axis=1
        )

    def bias(self, S: Float[Array, "6 nv"], v: Float[Array, " nv"]) -> Vec6:
        """Acceleration dS/dt v, from outer screw axes carried along by inner ones; without screws, S is constant."""
        total = inner = jnp.zeros(6, dtype=S.dtype)
        for k in reversed(range(len(self.screws))):
            total = total - cross_motion(inner, S[:, k] * v[k])
            inner = inner + S[:, k] * v[k]
        return total

    def rate(self, q: Float[Array, " nq"], v: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """Time derivative of the coordinates."""
        return v


@float64_default
@dataclass(frozen=True)
class Ball(Joint):
    """Three rotations: quaternion and angular velocity in the child's axes.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import ball
        >>> hip = ball()
        >>> print(hip.nq, hip.coordinates, hip.nv, hip.velocities)
        4 ('q_w', 'q_x', 'q_y', 'q_z') 3 ('w_x', 'w_y', 'w_z')
        >>> q, spin = jnp.asarray(hip.neutral()), jnp.array([0.0, 0.0, 2.0])
        >>> print(hip.rate(q, spin)[3])  # a quaternion turns at half the rate
        1.0
    """

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the quaternion's components."""
        return _QUATERNION

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the angular velocity's components."""
        return _ANGULAR

    def neutral(self) -> np.ndarray:
        """The unit quaternion."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    def placement(self, q: Float[Array, " 4"]) -> Placement:
        """The rotation of the quaternion."""
        return Placement(rotation_of_quaternion(q), jnp.zeros(3, dtype=q.dtype))

    def rate(self, q: Float[Array, " 4"], v: Float[Array, " 3"]) -> Float[Array, " 4"]:
        """Rate of the quaternion."""
        return quaternion_rate(q, v)


@float64_default
@dataclass(frozen=True)
class Free(Joint):
    """Six degrees of freedom: position and quaternion; twist in the child's axes.

    Examples:
        >>> from jaxgait.mechanics.spatial import free
        >>> trunk = free()
        >>> print(trunk.nq, trunk.coordinates[:3], trunk.nv, trunk.velocities[3:])
        7 ('x', 'y', 'z') 6 ('v_x', 'v_y', 'v_z')
        >>> print(trunk.neutral())  # position and quaternion
        [0. 0. 0. 1. 0. 0. 0.]
    """

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of position and quaternion."""
        return ("x", "y", "z", *_QUATERNION)

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the twist's components."""
        return (*_ANGULAR, "v_x", "v_y", "v_z")

    def neutral(self) -> np.ndarray:
        """At the origin, unit quaternion."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def placement(self, q: Float[Array, " 7"]) -> Placement:
        """Position and rotation."""
        return Placement(rotation_of_quaternion(q[3:]), q[:3])

    def rate(self, q: Float[Array, " 7"], v: Vec6) -> Float[Array, " 7"]:
        """Velocity in the parent's axes and rate of the quaternion."""
        return jnp.concatenate([rotation_of_quaternion(q[3:]) @ v[3:], quaternion_rate(q[3:], v[:3])])


def _checked(screw: Any) -> tuple[float, ...]:
    """A screw with an axis of length 1, but for rounding in float64."""
    numbers = as_array(screw)
    is_six = numbers.shape == (6,) and numbers.dtype.kind in "fiu"
    axes = numbers.astype(float).reshape(2, 3) if is_six else np.zeros((2, 3))
    lengths = np.linalg.norm(axes, axis=1)
    if not np.allclose(sorted(lengths), (0.0, 1.0), rtol=0.0, atol=_UNIT):
        wanted = "six numbers, (axis, 0) of a turn or (0, axis) of a slide, with an axis of length 1"
        raise ValueError(f"each screw of a joint must be {wanted}, got {shown(screw)}; `screws` makes them")
    length = lengths.max()
    return tuple((axes if abs(length - 1.0) <= 4.0 * np.finfo(float).eps else axes / length).ravel().tolist())


def _name(screw: tuple[float, ...], k: int) -> str:
    turns = any(screw[:3])
    own = screw[:3] if turns else screw[3:]
    axis = next((name for name, unit in zip("xyz", np.eye(3), strict=True) if own == tuple(unit)), None)
    if axis is None:
        return f"turn_{k + 1}" if turns else f"slide_{k + 1}"
    return f"turn_{axis}" if turns else axis


def _elementary(screw: tuple[float, ...], q: Float[Array, ""]) -> Placement:
    axis = jnp.asarray(screw, dtype=q.dtype)
    if any(screw[:3]):
        return Placement(rotation_about(axis[:3], q), jnp.zeros(3, dtype=q.dtype))
    return Placement(jnp.eye(3, dtype=q.dtype), q * axis[3:])


@float64_default
def screws(*elements: tuple[str, Axis]) -> Joint:
    """A joint of elementary motions, e.g. ``screws(("turn", (0, 0, 1)), ("slide", (1, 0, 0)))``.

    Raises:
        ValueError: for a motion other than "turn" and "slide", or an axis that is not three numbers, not all zero.

    Examples:
        >>> from jaxgait.mechanics.spatial import screws
        >>> screws(("turn", (0, 0, 1)), ("slide", (1, 0, 0))).coordinates  # a telescope on a turntable
        ('turn_z', 'x')
    """
    rows = []
    for kind, axis in elements:
        numbers = as_array(axis)
        length = float(np.linalg.norm(numbers)) if numbers.dtype.kind in "fiu" and numbers.shape == (3,) else 0.0
        if kind not in ("turn", "slide") or not 0.0 < length < np.inf:
            raise ValueError(
                "a joint motion is 'turn' or 'slide' with an axis of three numbers, not all zero, such as (0, 1, 0), "
                f"got {kind!r}, {shown(axis)}"
            )
        unit = tuple(float(a) / length for a in axis)
        rows.append(unit + (0.0,) * 3 if kind == "turn" else (0.0,) * 3 + unit)
    return Joint(tuple(rows))


@float64_default
def fixed() -> Joint:
    """No motion.

    Examples:
        >>> from jaxgait.mechanics.spatial import fixed
        >>> print(fixed().nq, fixed().coordinates)
        0 ()
    """
    return Joint()


@float64_default
def hinge(axis: Axis) -> Joint:
    """One rotation about an axis, angle in rad.

    Examples:
        >>> from jaxgait.mechanics.spatial import hinge
        >>> hinge((0, 1, 0)).coordinates  # a knee: about the axis from right to left
        ('turn_y',)
    """
    return screws(("turn", axis))


@float64_default
def prismatic(axis: Axis) -> Joint:
    """One translation along an axis, in m.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import prismatic
        >>> print(prismatic((0, 0, 2)).placement(jnp.array([0.3])).r)  # m; axes are normalised
        [0.  0.  0.3]
    """
    return screws(("slide", axis))


@float64_default
def universal(first: Axis, second: Axis) -> Joint:
    """A rotation about an axis of the parent, then one about a second axis, turned by the first; angles in rad.

    Examples:
        >>> from jaxgait.mechanics.spatial import universal
        >>> universal((1, 0, 0), (0, 1, 0)).coordinates
        ('turn_x', 'turn_y')
    """
    return screws(("turn", first), ("turn", second))


@float64_default
def planar() -> Joint:
    """Two translations and a rotation in the sagittal plane (x forward, z up); `screws` makes others.

    Examples:
        >>> from jaxgait.mechanics.spatial import planar
        >>> planar().coordinates
        ('x', 'z', 'turn_y')
    """
    return screws(("slide", (1.0, 0.0, 0.0)), ("slide", (0.0, 0.0, 1.0)), ("turn", (0.0, 1.0, 0.0)))


@float64_default
def ball() -> Joint:
    """Three rotations about the origin of the joint frame.

    Examples:
        >>> from jaxgait.mechanics.spatial import ball
        >>> print(ball().nq, ball().nv)
        4 3
    """
    return Ball()


@float64_default
def free() -> Joint:
    """Six degrees of freedom: position in the parent's axes (m) and a quaternion; velocities in the body's own axes.

    The velocities are the angular one (rad/s) and then that of the body's origin (m/s), both in the axes of the turned
    body: `v_z` of a tilted body is not vertical. The placement converts them from and to the parent's axes.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.spatial import free
        >>> joint = free()
        >>> print(joint.nq, joint.velocities)
        7 ('w_x', 'w_y', 'w_z', 'v_x', 'v_y', 'v_z')
        >>> placed = joint.placement(jnp.array([0.0, 0.0, 1.0, 0.8, 0.6, 0.0, 0.0]))  # x, y, z, then the quaternion
        >>> down = placed.R.T @ jnp.array([0.0, 0.0, -1.0])  # 1 m/s downwards: v_x, v_y, v_z
        >>> print(down.round(2), (placed.R @ down).round(2) + 0.0)  # m/s
        [ 0.   -0.96 -0.28] [ 0.  0. -1.]
    """
    return Free()
