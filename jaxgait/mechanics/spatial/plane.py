"""Spatial vectors of the sagittal plane in named scalars.

x points forward, z up; angles are positive about +y, so an upward axis leans forward. A motion is (w, v_x, v_z), a
wrench (moment, f_x, f_z): entries 1, 3 and 5 of the spatial vectors, at the body's origin and in its axes. Names are
those of `vectors`, `joints` and `space`; under `vmap` everything here becomes straight vector code.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxgait.mechanics import linalg
from jaxgait.mechanics.spatial.joints import Joint
from jaxgait.precision import float64_default

if TYPE_CHECKING:
    Number = Any  # static checkers: unions of array types have no arithmetic
else:
    Number = Float[ArrayLike, "*any"]


@float64_default
class SagittalVec(NamedTuple):
    """A vector of the plane, named and signed like spatial vectors: turned about +y, from z to x.

    In `jaxgait.mechanics.planar`, where y points up, vectors turn the other way.
    """

    x: Number
    z: Number

    def __add__(self, other: SagittalVec) -> SagittalVec:
        return SagittalVec(self.x + other.x, self.z + other.z)

    def __sub__(self, other: SagittalVec) -> SagittalVec:
        return SagittalVec(self.x - other.x, self.z - other.z)

    def scaled(self, factor: Number) -> SagittalVec:
        """The vector times a number."""
        return SagittalVec(factor * self.x, factor * self.z)

    def turned(self) -> SagittalVec:
        """Turned by 90 degrees: the velocity of this lever at unit angular velocity about +y."""
        return SagittalVec(self.z, -self.x)

    def moment(self, force: SagittalVec) -> Number:
        """Moment about +y of a force at the end of this lever."""
        return self.z * force.x - self.x * force.z

    def dot(self, other: SagittalVec) -> Number:
        """Scalar product."""
        return self.x * other.x + self.z * other.z


@float64_default
class Vector(NamedTuple):
    """A spatial vector of the plane: a twist, an acceleration, a momentum or a wrench."""

    turn: Number
    """About +y: rad/s or N m."""
    x: Number
    z: Number

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.turn + other.turn, self.x + other.x, self.z + other.z)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.turn - other.turn, self.x - other.x, self.z - other.z)

    def scaled(self, factor: Number) -> Vector:
        """The vector times a number."""
        return Vector(factor * self.turn, factor * self.x, factor * self.z)

    def dot(self, other: Vector) -> Number:
        """Power of a wrench and a twist."""
        return self.turn * other.turn + self.x * other.x + self.z * other.z

    @property
    def linear(self) -> SagittalVec:
        """Velocity in m/s or force in N."""
        return SagittalVec(self.x, self.z)


@float64_default
class Placement(NamedTuple):
    """Position and orientation of a frame (the child) in another (the parent)."""

    r: SagittalVec
    """Origin of the child in the parent, m."""
    cos: Number | None = None
    """Cosine of the child's angle about +y; None: it is not turned."""
    sin: Number | None = None
    side: Number = 0.0
    """Position of the child's plane in that of the parent along +y, m: always the same, and the dynamics ignore it."""

    def out(self, v: SagittalVec) -> SagittalVec:
        """Vector components from the child to the parent."""
        if self.cos is None:
            return v
        return SagittalVec(self.cos * v.x + self.sin * v.z, self.cos * v.z - self.sin * v.x)

    def back(self, v: SagittalVec) -> SagittalVec:
        """Vector components from the parent to the child."""
        if self.cos is None:
            return v
        return SagittalVec(self.cos * v.x - self.sin * v.z, self.cos * v.z + self.sin * v.x)

    def point(self, lever: SagittalVec) -> SagittalVec:
        """A point of the child in the parent."""
        return self.r + self.out(lever)

    def then(self, inner: Placement) -> Placement:
        """Placement of a grandchild in the parent."""
        r, side = self.point(inner.r), self.side + inner.side
        if self.cos is None or inner.cos is None:
            turned = inner if self.cos is None else self
            return Placement(r, turned.cos, turned.sin, side)
        assert inner.sin is not None
        axis = self.out(SagittalVec(inner.cos, -inner.sin))  # the grandchild's forward axis
        return Placement(r, axis.x, -axis.z, side)

    def motion_to_child(self, m: Vector) -> Vector:
        """A twist or spatial acceleration from the parent's frame to the child's."""
        return Vector(m.turn, *self.back(m.linear + self.r.turned().scaled(m.turn)))

    def force_to_parent(self, f: Vector) -> Vector:
        """A wrench on the child from the child's frame to the parent's, each at its origin."""
        force = self.out(f.linear)
        return Vector(f.turn + self.r.moment(force), *force)

    def inertia_to_parent(self, inertia: Inertia) -> Inertia:
        """An inertia of the child in the parent's frame."""
        return inertia.seen_from(self)


@float64_default
class Rigid(NamedTuple):
    """Inertia of rigid bodies at the origin of a frame."""

    mass: Number
    first: SagittalVec
    """Mass times centre of mass, kg m."""
    second: Number
    """About the origin, kg m^2."""

    def __matmul__(self, m: Vector) -> Vector:
        p = m.linear.scaled(self.mass) + self.first.turned().scaled(m.turn)
        return Vector(self.second * m.turn + self.first.moment(m.linear), *p)

    def __add__(self, other: Inertia) -> Inertia:
        if isinstance(other, Articulated):
            return other + self
        return Rigid(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def seen_from(self, child: Placement) -> Rigid:
        """The same inertia in the frame of the parent of `child`."""
        first, r = child.out(self.first), child.r
        second = self.second + 2.0 * r.dot(first) + self.mass * r.dot(r)
        return Rigid(self.mass, first + r.scaled(self.mass), second)

    def full(self) -> Articulated:
        """The inertia as a symmetric matrix."""
        h, zero = self.first, 0.0 * self.mass
        return Articulated(Vector(self.second, h.z, -h.x), Vector(h.z, self.mass, zero), Vector(-h.x, zero, self.mass))


@float64_default
class Articulated(NamedTuple):
    """Articulated inertia, reduced by the free joints beyond the body: the rows of a symmetric matrix."""

    turn: Vector
    x: Vector
    z: Vector

    def __matmul__(self, m: Vector) -> Vector:
        return Vector(self.turn.dot(m), self.x.dot(m), self.z.dot(m))

    def __add__(self, other: Inertia) -> Articulated:
        full = other.full()
        return Articulated(self.turn + full.turn, self.x + full.x, self.z + full.z)

    def full(self) -> Articulated:
        """The inertia as a symmetric matrix."""
        return self

    def less(self, gain: Sequence[Vector], columns: Sequence[Vector]) -> Articulated:
        """The matrix less the products gain columns^T."""
        rows = list(self)
        for g, u in zip(gain, columns, strict=True):
            rows = [row - u.scaled(factor) for row, factor in zip(rows, g, strict=True)]
        return Articulated(*rows)

    def seen_from(self, child: Placement) -> Articulated:
        """The same inertia in the frame of the parent of `child`: X^T I X."""
        units = (Vector(1.0, 0.0, 0.0), Vector(0.0, 1.0, 0.0), Vector(0.0, 0.0, 1.0))
        return Articulated(*(child.force_to_parent(self @ child.motion_to_child(unit)) for unit in units))


Inertia = Rigid | Articulated
Gravity = Any
"""In m/s^2: a number, along -z of the world, or the acceleration of free fall (3,) in its axes, as in `space`."""
Numbers = list[Number]


@float64_default
def rigid_inertia(mass: Number, com: SagittalVec, inertia: Number) -> Rigid:
    """Inertia at the body's origin from mass in kg, centre of mass in m and inertia about it in kg m^2."""
    first = com.scaled(mass)
    return Rigid(mass, first, inertia + first.dot(com))


@float64_default
def cross_motion(m: Vector, other: Vector) -> Vector:
    """Spatial cross product of a twist with a motion vector: its rate of change when carried along."""
    return Vector(0.0 * m.turn, *(other.linear.turned().scaled(m.turn) - m.linear.turned().scaled(other.turn)))


@float64_default
def cross_force(m: Vector, f: Vector) -> Vector:
    """Spatial cross product of a twist with a wrench or momentum."""
    return Vector(m.linear.moment(f.linear), *f.linear.turned().scaled(m.turn))


@float64_default
def upward(world: Placement, gravity: Gravity) -> Vector:
    """The acceleration opposite to gravity, in the axes of a body."""
    up = SagittalVec(0.0 * gravity, gravity) if jnp.ndim(gravity) == 0 else SagittalVec(-gravity[0], -gravity[2])
    return Vector(0.0 * up.z, *world.back(up))


@float64_default
def lift(position: SagittalVec, gravity: Gravity) -> Number:
    """Potential energy in J of 1 kg at a position in the world, zero at the origin."""
    return gravity * position.z if jnp.ndim(gravity) == 0 else -gravity[0] * position.x - gravity[2] * position.z


# --- joints ---------------------------------------------------------------------------------------------------------


class Moved(NamedTuple):
    """A joint in motion, in the child's axes."""

    local: Placement
    """Placement of the child in the parent."""
    S: list[Vector]
    """Columns of the joint map."""
    relative: Vector | None
    """Twist of the child in the parent; None: it does not move."""
    bias: Vector | None
    """Acceleration dS/dt v; None: it is zero."""


@float64_default
def moved(joint: Joint, seat: Placement, q: Sequence[Number], v: Sequence[Number]) -> Moved:
    """A joint whose frame sits at `seat` in the parent, at coordinates q and velocities v."""
    steps = [elementary(screw, angle) for screw, angle in zip(joint.screws, q, strict=True)]
    behind: Placement | None = None
    columns: list[Vector] = []
    for screw, step in zip(reversed(joint.screws), reversed(steps), strict=True):
        own = _direction(screw)
        columns.insert(0, own if behind is None else behind.motion_to_child(own))
        behind = step if behind is None else step.then(behind)
    local = seat if behind is None else seat.then(behind)
    inner = bias = None
    for column, rate in zip(reversed(columns), reversed(list(v)), strict=True):
        own = column.scaled(rate)
        if inner is not None:
            carried = cross_motion(own, inner)
            bias = carried if bias is None else bias + carried
        inner = own if inner is None else inner + own
    return Moved(local, columns, inner, bias)


@float64_default
def elementary(screw: tuple[float, ...], q: Number) -> Placement:
    """Placement after one screw of a joint."""
    turn, x, z = _direction(screw)
    if turn:
        return Placement(SagittalVec(0.0, 0.0), jnp.cos(q), turn * jnp.sin(q))
    return Placement(SagittalVec(x * q, z * q))


def _direction(screw: tuple[float, ...]) -> Vector:
    return Vector(screw[1], screw[3], screw[5])


def is_planar(joint: Joint) -> bool:
    """Whether a joint moves in the sagittal plane: slides in it, turns about its normal."""
    return type(joint) is Joint and all(s[0] == s[2] == s[4] == 0.0 for s in joint.screws)


@float64_default
def along(S: Sequence[Vector], numbers: Sequence[Number]) -> Vector | None:
    """S times joint velocities or their rates; None for a fixed joint."""
    return _combined(S, numbers) if S else None


@float64_default
def dot(a: Vector, b: Vector) -> Number:
    """Power of a wrench and a twist."""
    return a.dot(b)


@float64_default
def components(S: Sequence[Vector], wrench: Vector) -> Numbers:
    """Generalised forces S^T f of a wrench."""
    return [column.dot(wrench) for column in S]


@float64_default
def put(values: Sequence[Number], where: Sequence[Sequence[int]], new: Sequence[Sequence[Number]]) -> Numbers:
    """The numbers with those at each of `where` replaced."""
    found = list(values)
    for i, x in zip(itertools.chain(*where), itertools.chain(*new), strict=True):
        found[i] = x
    return found


@float64_default
def only(chosen: Sequence[bool], values: Sequence[Number]) -> Numbers:
    """The chosen numbers, zeros elsewhere."""
    return [x if on else jnp.zeros_like(x) for on, x in zip(chosen, values, strict=True)]


@float64_default
def with_rotors(tau: Sequence[Number], rotors: Array, vdot: Sequence[Number], moved: Any) -> Numbers:
    """Generalised forces plus those that accelerate rotors, for the velocities marked in `moved`."""
    return [t + r * a if on else t for t, r, a, on in zip(tau, rotors, vdot, moved, strict=True)]


@float64_default
def joined(parts: Sequence[Numbers]) -> Numbers:
    """The numbers of all joints in one list."""
    return [x for part in parts for x in part]


@float64_default
def still() -> Vector:
    """No motion."""
    return Vector(0.0, 0.0, 0.0)


@float64_default
class Section(NamedTuple):
    """One body and its joint in the articulated-body recursion, the joint's columns split into free and driven ones."""

    free: list[int]
    driven: list[int]
    S_free: list[Vector]
    S_driven: list[Vector]
    bias: Vector | None
    tau: Numbers
    U: tuple[Vector, ...] = ()
    """Articulated inertia times the free columns."""
    D: linalg.LDL | None = None
    u: tuple[Number, ...] = ()
    rotors: Any = None
    """Inertia of the rotors of the free columns."""

    @classmethod
    def split(
        cls,
        S: Sequence[Vector],
        bias: Vector | None,
        rows: slice,
        vdot: Sequence[Number],
        tau: Sequence[Number],
        prescribed: np.ndarray,
    ) -> Section:
        """Splits the columns of a joint with the velocities `rows` of v; `vdot` and `tau` are of all joints, (nv,)."""
        columns = list(zip(range(rows.start, rows.stop), S, strict=True))
        free = [(j, s) for j, s in columns if not prescribed[j]]
        driven = [(j, s) for j, s in columns if prescribed[j]]
        known = along([s for _, s in driven], [vdot[j] for j, _ in driven])
        total = known if bias is None else bias if known is None else bias + known
        found = [j for j, _ in free], [j for j, _ in driven], [s for _, s in free], [s for _, s in driven]
        return cls(*found, total, [tau[j] for j, _ in free])

    def articulate(self, inertia: Inertia, force: Vector) -> Section:
        """The section with the articulated inertia and force of the free columns."""
        if not self.free:
            return self
        U = tuple(inertia @ s for s in self.S_free)
        D = [components(self.S_free, u) for u in U]
        for i, rotor in enumerate([] if self.rotors is None else self.rotors):
            D[i][i] = D[i][i] + rotor
        return self._replace(
            U=U, D=linalg.ldl(D), u=tuple(t - s.dot(force) for t, s in zip(self.tau, self.S_free, strict=True))
        )

    def seen_from_parent(self, inertia: Inertia, force: Vector) -> tuple[Inertia, Vector]:
        """Inertia and force that the joint transmits to the parent."""
        left, through = force, inertia
        if self.D is not None:
            n = len(self.U)
            inverse = [linalg.ldl_solve(self.D, [float(i == k) for i in range(n)]) for k in range(n)]
            gain = [_combined(self.U, column) for column in inverse]
            through = inertia.full().less(gain, self.U)
            left = left + _combined(gain, self.u)
        return through, left if self.bias is None else left + through @ self.bias

    def accelerate(self, parent: Vector) -> tuple[Vector, Numbers]:
        """Acceleration of the body and of the free columns from the parent's, which is in the body's axes."""
        a = parent if self.bias is None else parent + self.bias
        if self.D is None:
            return a, []
        vdot = linalg.ldl_solve(self.D, [x - column.dot(a) for x, column in zip(self.u, self.U, strict=True)])
        return a + _combined(self.S_free, vdot), vdot


def _combined(vectors: Sequence[Any], numbers: Sequence[Number]) -> Any:
    first, *others = (vector.scaled(number) for vector, number in zip(vectors, numbers, strict=True))
    return sum(others, first)


# --- balances -------------------------------------------------------------------------------------------------------


class Momentum(NamedTuple):
    """Mass, centre of mass and momentum of all bodies, in world axes."""

    mass: Number
    com: SagittalVec
    """Centre of mass, m."""
    linear: SagittalVec
    """Momentum, kg m/s."""
    angular: Number
    """Angular momentum about the centre of mass, positive about +y, kg m^2/s."""


@float64_default
def momentum(
    masses: Sequence[Number], coms: Sequence[SagittalVec], inertias: Sequence[Number], motion: Any
) -> Momentum:
    """Centre of mass, momentum and angular momentum of bodies with these masses, centres of mass and inertias."""
    total = sum(masses[1:], masses[0])
    found = [point_motion(motion, i, com) for i, com in enumerate(coms)]
    first, linear = (_combined(vectors, masses) for vectors in zip(*found, strict=True))
    com, angular = first.scaled(1.0 / total), 0.0 * total
    for m, inertia, twist, (position, velocity) in zip(masses, inertias, motion.twist, found, strict=True):
        angular = angular + inertia * twist.turn + (position - com).moment(velocity.scaled(m))
    return Momentum(total, com, linear, angular)


@float64_default
def point_motion(motion: Any, body: int, lever: SagittalVec) -> tuple[SagittalVec, SagittalVec]:
    """Position in m and velocity in m/s, in the world, of a point (or, with arrays, points) of a body."""
    world, twist = motion.world[body], motion.twist[body]
    return world.point(lever), world.out(twist.linear + lever.turned().scaled(twist.turn))


@float64_default
def wrench(world: Placement, position: SagittalVec, force: SagittalVec) -> Vector:
    """Wrench on a body, at its origin and in its axes, of a force in N at a position in m, both in the world's axes."""
    own = world.back(force)
    return Vector(world.back(position - world.r).moment(own), *own)
