r"""A mechanism assembled from bodies, joints, contact points and drives, without writing an equation.

    rod = dict(mass=1.0, com=(0, 0, -0.25), inertia=np.diag([0.02, 0.02, 1e-4]))
    pendulum = TreeModel(
        [
            Link("upper", None, hinge((0, 1, 0)), **rod),
            Link("lower", "upper", hinge((0, 1, 0)), offset=(0, 0, -0.5), **rod),
        ],
        drives={"knee": Spring("lower", stiffness=2.0)},
        start={"upper": 1.0},
    )
    run = simulate(pendulum, duration=2.0)
    run.q.sel(coordinate="lower")                          # joint angles by name
    ensemble(pendulum, {"links.lower.mass": masses, "drives.knee.stiffness": stiffnesses})

The equations are those of `jaxgait.mechanics.spatial` (articulated bodies), the loads those of `parts`. The ground is
at z = 0, with z along its outward normal; it falls along x by `slope`, as that of the walkers: gravity is turned, and
films show the ground inclined.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.batches import each
from jaxgait.elements import array_of
from jaxgait.fields import with_fields
from jaxgait.mechanics import spatial
from jaxgait.mechanics.linalg import stacked
from jaxgait.mechanics.spatial import Link, PlanarTree, Tree
from jaxgait.mechanics.spatial.tree import Topology
from jaxgait.model import Model, Numerics, Scalar, Variable, derived, parameter
from jaxgait.models.tree import naming
from jaxgait.models.tree.checks import (
    can_be_probed,
    check_law,
    check_motion,
    check_moved,
    check_position,
    coordinate_of,
    index_of,
    named_fault,
)
from jaxgait.models.tree.inputs import contacts_by_name, drives_by_name, links_by_name, start_by_name
from jaxgait.models.tree.loads import Loads, driven, grounded, wrenches
from jaxgait.models.tree.motions import Jumps, jumps
from jaxgait.models.tree.parts import ContactPoint, Force, JointDrive, LockedJoint, PrescribedJoint, Rotor, Torque
from jaxgait.parameters import ParameterError, ParameterInfo, entries
from jaxgait.plausible import plausible_range
from jaxgait.support.checks import is_concrete, shown

__all__ = ["TreeModel", "TreeState"]

MAX_CONTACT_STEP = 1e-3
"""Longest step in s of models with contacts, so that no touch-down is missed."""
MAX_IMPLICIT = 20
"""Largest number of linear equations of an implicit step in a kernel. Beyond, explicit steps are so much cheaper
(`experiments.benchmarks.trees`) that they may be shorter; not for derivatives, which they amplify near instability."""
MAX_START_PUSH = 5.0
"""Largest force on a contact at the start, where it is at rest, in weights of the mechanism."""


class TreeState(NamedTuple):
    """Coordinates and velocities of all joints, base first (`Tree.coordinate_names`), and memories of friction laws."""

    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    memory: Float[Array, "contacts 2"] | None = None
    """One row per contact, e.g. deflections of bristles in m; None without memories."""


def _start_coordinates(model: TreeModel) -> dict[str, ParameterInfo]:
    """Declarations of the coordinates that `start` may contain."""
    return {
        name: ParameterInfo(None, one.unit, f"{name} at t = 0", plausible=_plausible(one.unit))
        for name, one in naming.coordinates(naming.skeleton(model.links)).items()
    }


def _start_velocities(model: TreeModel) -> dict[str, ParameterInfo]:
    """Declarations of the velocities that `start_rates` may contain."""
    return {
        name: ParameterInfo(None, one.unit, f"velocity {name} at t = 0")
        for name, one in naming.velocities(naming.skeleton(model.links)).items()
    }


_SLIDING = {"N m/rad": "N/m", "N m s/rad": "N s/m", "rad": "m", "N m": "N", "kg m^2": "kg"}
"""Units of drives at joints that slide, by those at joints that turn."""


def _plausible(unit: str) -> tuple[float, float] | None:
    """The plausible values of a coordinate: of angles, because bodies may have any size."""
    return plausible_range(0.0, "rad", "any") if unit == "rad" else None


def _of_drives(model: TreeModel) -> Callable[[Any, ParameterInfo], ParameterInfo]:
    """A function that puts a drive's parameter into the units of its joint, unless a law of the user declares it."""
    velocities = naming.velocities(naming.skeleton(model.links))  # once for all drives: the bodies take their time

    def refined(drive: Any, info: ParameterInfo) -> ParameterInfo:
        if not isinstance(drive, JointDrive) or isinstance(drive, Torque | PrescribedJoint):
            return info
        joint = velocities.get(drive.joint)
        if joint is not None and joint.unit == "m/s":
            return info._replace(unit=_SLIDING.get(info.unit, info.unit))
        return info._replace(plausible=_plausible("rad")) if info.unit == "rad" else info

    return refined


class TreeModel(Model):
    """A tree of bodies with contact points and drives; see the module's docstring.

    Every number is a parameter: `links.<body>.mass`, `contacts.<name>.normal.<...>`, `drives.<name>.stiffness`,
    `start.<coordinate>`, ...; the laws of contacts are parts: `contacts.<name>.normal`, `contacts.<name>.friction`.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, hinge
        >>> from jaxgait.models.tree.model import TreeModel
        >>> turning, middle, end = hinge((0.0, 1.0, 0.0)), (0.0, 0.0, -0.5), (0.0, 0.0, -1.0)  # m
        >>> upper = Link("upper", None, turning, mass=1.0, com=middle)
        >>> lower = Link("lower", "upper", turning, mass=1.0, com=middle, offset=end)
        >>> pendulum = TreeModel([upper, lower], duration=2.0)
        >>> print(pendulum.labels["coordinate"], pendulum.tree().names, pendulum.duration, pendulum.numerics.stiff)
        ('upper', 'lower') ('upper', 'lower') 2.0 False
    """

    links: Mapping[str, Link] = eqx.field(converter=links_by_name)
    """The bodies, parents first; given as a list of `Link`."""
    contacts: Mapping[str, ContactPoint] = eqx.field(converter=contacts_by_name, default_factory=OrderedDict)
    """Contact points by name."""
    drives: Mapping[str, Any] = eqx.field(
        converter=drives_by_name, default_factory=OrderedDict, metadata={"refined": _of_drives}
    )
    """`Spring`, `Stop`, `Motor`, `Torque`, `Rotor`, `PrescribedJoint`, `LockedJoint` at joints, `Force` at points, by
    name, or functions of t, q, v for all forces, shape (nv,)."""
    start: Mapping[str, Scalar] = entries(_start_coordinates, converter=start_by_name)
    """Coordinates at t = 0 in m and rad, by name; the others are neutral."""
    start_rates: Mapping[str, Scalar] = entries(_start_velocities, converter=start_by_name)
    """Velocities at t = 0 in m/s and rad/s, by name; the others are zero. Those of `free` and `ball` joints are in the
    axes of the body (`jaxgait.mechanics.spatial.free` shows how to convert them)."""
    gravity: Scalar = parameter(9.81, unit="m/s^2", doc="gravitational acceleration, downward", bounds="nonnegative")
    duration: Scalar = parameter(1.0, unit="s", doc="length of a run", bounds="positive")
    slope: Scalar = parameter(0.0, unit="rad", doc="inclination of the ground, down along x", plausible=(-0.6, 0.6))

    scene: ClassVar[str] = "jaxgait.models.tree.scene:scene"

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Unit, meaning and dimensions of everything that is observed, also of single joints and contacts.

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, hinge
            >>> from jaxgait.models.tree.model import TreeModel
            >>> pendulum = TreeModel([Link("leg", None, hinge((0.0, 1.0, 0.0)), mass=1.0, com=(0.0, 0.0, -0.5))])
            >>> print(pendulum.variables["q"].unit, pendulum.variables["leg_angle"].long_name, sep=": ")
            rad: joint angle of leg
        """
        return naming.variables(naming.skeleton(self.links), self.contacts)

    @property
    def elements(self) -> Mapping[str, Sequence[Variable]]:
        """Unit and meaning of the single coordinates and velocities.

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, hinge
            >>> from jaxgait.models.tree.model import TreeModel
            >>> pendulum = TreeModel([Link("leg", None, hinge((0.0, 1.0, 0.0)), mass=1.0, com=(0.0, 0.0, -0.5))])
            >>> print(pendulum.elements["v"][0].long_name)
            rate of the joint angle of leg
        """
        tree = naming.skeleton(self.links)
        return {"q": [*naming.coordinates(tree).values()], "v": [*naming.velocities(tree).values()]}

    @property
    def numerics(self) -> Numerics:
        """Explicit steps; if a contact is stiff, implicit ones with a larger `rtol` (many joints: for derivatives)."""
        stiff = any(contact.stiff for contact in self.contacts.values())
        rtol, atol = (1e-6, 1e-8) if stiff else (1e-8, 1e-9)
        max_step, tree = MAX_CONTACT_STEP if self.contacts else None, naming.skeleton(self.links)
        coordinates = 0 if tree.nq == tree.nv else tree.nq  # without quaternions, they are eliminated first
        large = coordinates + tree.nv + 2 * self._memories > MAX_IMPLICIT
        steps = {"first_step": 1e-4, "max_step": max_step, "explicit_values": large}
        return Numerics(stiff=stiff, unrolled=False, rtol=rtol, atol=atol, **steps)

    @property
    def _memories(self) -> int:
        """Rows of the memory: one per contact, if any remembers."""
        return len(self.contacts) if any(contact.remembers for contact in self.contacts.values()) else 0

    @property
    def labels(self) -> Mapping[str, Sequence[Any]]:
        """Names of bodies, coordinates, velocities, contacts and axes."""
        tree, axes = naming.skeleton(self.links), ("x", "y", "z")
        return {
            "body": tree.names,
            "coordinate": tree.coordinate_names,
            "velocity": tree.velocity_names,
            "contact": tuple(self.contacts),
            "axis": axes,
            "tangent": axes[:2],
        }

    @property
    def free_fall(self) -> Float[Array, " 3"]:
        """The acceleration of free fall in m/s^2, in the axes of the ground.

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, hinge
            >>> from jaxgait.models.tree.model import TreeModel
            >>> pendulum = TreeModel([Link("leg", None, hinge((0.0, 1.0, 0.0)), mass=1.0)], slope=0.1)
            >>> print(pendulum.free_fall.round(3))
            [ 0.979  0.    -9.761]
        """
        slope = jnp.asarray(self.slope, dtype=jnp.result_type(float))
        return self.gravity * jnp.stack([jnp.sin(slope), jnp.zeros_like(slope), -jnp.cos(slope)])

    @derived
    def tree(self) -> Tree:
        """The bodies and rotors."""
        rotors = [drive for drive in self.drives.values() if isinstance(drive, Rotor)]
        armature = {of.joint: sum(one.inertia for one in rotors if one.joint == of.joint) for of in rotors}
        return Tree.build(*self.links.values(), armature=armature)

    @derived
    def moving(self) -> Tree | PlanarTree:
        """The tree as the equations of motion take it: in the plane, if it moves in it.

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, hinge
            >>> from jaxgait.models.tree.model import TreeModel
            >>> print(type(TreeModel([Link("leg", None, hinge((0.0, 1.0, 0.0)), mass=1.0)]).moving()).__name__)
            PlanarTree
        """
        tree = self.tree()
        return tree.in_plane() if tree.is_planar else tree

    def initial_state(self) -> TreeState:
        """`start` and `start_rates`; prescribed joints start on their motion."""
        tree = self.tree()
        q, v = jnp.asarray(tree.neutral(), dtype=float), jnp.zeros(tree.nv)
        for name, value in self.start.items():
            q = q.at[index_of("start", "coordinate", tree.coordinate_names, name)].set(value)
        for name, value in self.start_rates.items():
            v = v.at[index_of("start_rates", "velocity", tree.velocity_names, name)].set(value)
        q, v, _ = self._prescribed(jnp.zeros(()), q, v)
        return TreeState(q, v, jnp.zeros((self._memories, 2)) if self._memories else None)

    def vector_field(self, t: Scalar, y: TreeState) -> TreeState:
        """Rates of coordinates, velocities and memories."""
        tree, loads = self.tree(), self.loads(t, y)
        rate = tree.rate(loads.q, loads.v)
        return TreeState(rate, self._accelerations(loads).vdot, None if y.memory is None else loads.memory_rate)

    def loads(self, t: Scalar, y: TreeState) -> Loads:
        """All loads on the bodies at time t in s.

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, hinge
            >>> from jaxgait.models.tree.model import TreeModel
            >>> from jaxgait.models.tree.parts import Spring
            >>> bob = Link("bob", None, hinge((0.0, 1.0, 0.0)), mass=2.0, com=(0.0, 0.0, -0.5))
            >>> pendulum = TreeModel([bob], drives={"spring": Spring("bob", stiffness=10.0)}, start={"bob": 0.2})
            >>> print(pendulum.loads(0.0, pendulum.initial_state()).tau)  # N m
            [-2.]
        """
        tree = self.moving()
        q, v, vdot = self._prescribed(t, y.q, y.v)
        motion = spatial.kinematics(tree, *self._entries(q, v))
        tau, pushes = driven(self.drives, tree, motion, t, q, v)
        ground = grounded(self.contacts, tree, motion, y.memory)
        own = wrenches(motion, [*pushes, *ground.pushes])
        return Loads(q, v, motion, ground.depth, ground.force, ground.memory_rate, tau, vdot, own)

    def _accelerations(self, loads: Loads) -> spatial.Accelerations:
        tree, (vdot, tau) = self.moving(), self._entries(loads.vdot, loads.tau)
        held, others = self._held(tree), (loads.wrenches, self.free_fall)
        found = spatial.hybrid_dynamics(tree, loads.motion, vdot, tau, held, *others)
        return found._replace(vdot=jnp.asarray(found.vdot), tau=jnp.asarray(found.tau))

    def _entries(self, *vectors: Array) -> Sequence[Any]:
        """Vectors (nv,) as `moving` takes them."""
        return [list(x) for x in vectors] if self.tree().is_planar else vectors

    def placed(self, loads: Loads) -> spatial.Motion:
        """The motion of the bodies in space.

        Examples:
            >>> from jaxgait.mechanics.spatial import Link, prismatic
            >>> from jaxgait.models.tree.model import TreeModel
            >>> lift = TreeModel([Link("cage", None, prismatic((0, 0, 1)), mass=9.0)], start={"cage": 0.5})
            >>> print(lift.placed(lift.loads(0.0, lift.initial_state())).world[0].r)  # m
            [0.  0.  0.5]
        """
        tree = self.tree()
        return spatial.kinematics(tree, loads.q, loads.v) if tree.is_planar else loads.motion

    def after_impact(
        self,
        y: TreeState,
        body: str,
        position: tuple[Any, ...] | Any = (0.0, 0.0, 0.0),
        *,
        sticking: bool = True,
        released: Sequence[str] = (),
    ) -> TreeState:
        """The state after a point of a body has landed without bounce (`jaxgait.mechanics.spatial.impact`).

        Joints whose motion is prescribed, and locked ones, are not moved by the impact.

        Args:
            y: the state before.
            body: its name.
            position: of the point in the body's frame in m, three numbers.
            sticking: whether the point stops in all directions; otherwise only its motion along z.
            released: names of velocities of locked joints that the impact frees, such as those of the other foot.

        Raises:
            ValueError: for a body or joint that the tree does not have.

        Examples:
            >>> import numpy as np
            >>> from jaxgait.mechanics.spatial import Link, planar
            >>> from jaxgait.models.tree.model import TreeModel
            >>> stone = Link("stone", None, planar(), mass=1.0, inertia=0.01 * np.eye(3))
            >>> model = TreeModel([stone], start_rates={"stone.z": -2.0})
            >>> print(model.after_impact(model.initial_state(), "stone").v)  # m/s, rad/s
            [0. 0. 0.]
        """
        tree = self.tree()
        points = spatial.Points((index_of("after_impact", "body", tree.names, body),), stacked(tuple(position))[None])
        freed = {index_of("released", "velocity", tree.velocity_names, name) for name in released}
        flags = self._held(tree, freed)
        return y._replace(v=spatial.plastic_impact(tree, y.q, y.v, points, sticking=sticking, prescribed=flags).v)

    def _motions(self, tree: Topology) -> list[tuple[int, int, PrescribedJoint | LockedJoint]]:
        held = {n: d for n, d in self.drives.items() if isinstance(d, PrescribedJoint | LockedJoint)}
        return [(*coordinate_of(tree, name, drive.joint), drive) for name, drive in held.items()]

    def _held(self, tree: Topology, freed: Collection[int] = ()) -> list[bool]:
        """Whether a drive determines each velocity, but for those that are freed."""
        held = {j for _, j, _ in self._motions(tree)}
        return [j in held and j not in freed for j in range(tree.nv)]

    def _prescribed(self, t: Scalar, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Coordinates and velocities with the prescribed ones among them, and the prescribed accelerations."""
        vdot = jnp.zeros_like(v)
        for i, j, drive in self._motions(self.tree()):
            angle, rate, acceleration = (q[i], 0.0, 0.0) if isinstance(drive, LockedJoint) else drive.at(t)
            q, v, vdot = q.at[i].set(angle), v.at[j].set(rate), vdot.at[j].set(acceleration)
        return q, v, vdot

    def outputs(self, t: Scalar, y: TreeState) -> dict[str, Array]:
        """See `variables`."""
        tree, loads = self.tree(), self.loads(t, y)
        motion = self.placed(loads)
        angles, rates, contacts = naming.single_results(tree, self.contacts)
        momentum = spatial.momentum(tree, motion)
        kinetic, potential = spatial.energy(tree, motion, self.free_fall)
        found = {
            **{name: loads.q[i] for name, (i, _) in angles.items()},
            **{name: loads.v[i] for name, (i, _) in rates.items()},
            **{name: loads.contact[i, axis] for name, (i, axis, _) in contacts.items()},
            "position": jnp.stack([body.r for body in motion.world]),
            "com": momentum.com,
            "com_velocity": momentum.linear / momentum.mass,
            "momentum": momentum.linear,
            "angular_momentum": momentum.angular,
            "joint_force": self._accelerations(loads).tau,
            "kinetic_energy": kinetic,
            "energy": kinetic + potential + self._elastic(tree, loads),
        }
        touching = {"contact_force": loads.contact, "contact_depth": loads.depth} if self.contacts else {}
        return found | touching

    def _elastic(self, tree: Tree, loads: Loads) -> Array:
        """Energy in J of all springs, and of contacts whose laws define one."""
        drives = {name: drive for name, drive in self.drives.items() if isinstance(drive, JointDrive)}
        stored = [jnp.asarray(d.energy(loads.q[coordinate_of(tree, name, d.joint)[0]])) for name, d in drives.items()]
        stored += [c.energy(loads.depth[i]) for i, c in enumerate(self.contacts.values())]
        return sum(stored, jnp.zeros(()))

    def __check_init__(self) -> None:
        """Rejects a vector of gravity, and names that no body or joint has, where the mistake was made."""
        if isinstance(self.gravity, tuple | list):
            what = f"{type(self).__name__}.gravity must be one number in m/s^2, downward, got {shown(self.gravity)}"
            raise ParameterError(f"{what}: for a slope, give its angle as slope=")
        named_fault(self, lambda: self._check_names(naming.skeleton(self.links)))

    def validate(self) -> None:
        """Rejects impossible parameters, impossible bodies, unknown names, and prescribed motions that jump."""
        super().validate()
        named_fault(self, self._check_bodies)
        named_fault(self, self._check_motions)

    def validate_start(self, start: Mapping[str, Any]) -> None:
        """Rejects starts deep in the ground.

        Examples:
            >>> from jaxgait.mechanics.contact import UnilateralSpring
            >>> from jaxgait.mechanics.spatial import Link, prismatic
            >>> from jaxgait.models.tree.model import TreeModel
            >>> from jaxgait.models.tree.parts import ContactPoint
            >>> box = Link("box", None, prismatic((0.0, 0.0, 1.0)), mass=1.0)
            >>> model = TreeModel([box], contacts={"sole": ContactPoint("box", UnilateralSpring(1e4))})
            >>> model.validate_start({"q": [-0.1]})  # m; doctest: +ELLIPSIS
            Traceback (most recent call last):
                ...
            jaxgait.parameters.ParameterError: TreeModel starts with sole 100 mm deep in the ground, which pushes ...
        """
        names, given = naming.skeleton(self.links).coordinate_names, dict[str, Any]()
        for name, values in start.items():
            if name == "q":
                given |= dict(zip(names, np.moveaxis(np.asarray(values), -1, 0), strict=True))
            elif array_of(name) == "q":
                given[names[int(name[2:-1])]] = np.asarray(values)
        (with_fields(self, {"start": {**self.start, **given}}) if given else self)._check_depth()

    def _check_depth(self) -> None:
        """Rejects a start at which the ground would throw the mechanism up."""
        if not (self.contacts and is_concrete(self)):
            return
        push, depth = each(self, _pushes)
        member, i = np.unravel_index(np.argmax(push), push.shape)
        if push[member, i] > MAX_START_PUSH:
            which = f" (member {member})" if len(push) > 1 else ""
            deep = f"{list(self.contacts)[i]} {1e3 * depth[member, i]:.3g} mm deep in the ground{which}"
            raise ParameterError(
                f"{type(self).__name__} starts with {deep}, which pushes with {push[member, i]:.3g} times its weight "
                f"(at most {MAX_START_PUSH:g}): start higher"
            )

    def _check_bodies(self) -> None:
        tree = naming.skeleton(self.links)
        self._check_names(tree)
        for link in self.links.values():
            spatial.check_link(link)
        moved = [drive.joint for _, _, drive in self._motions(tree)]
        rotors = [d.joint for d in self.drives.values() if isinstance(d, Rotor) and np.all(np.asarray(d.inertia) > 0.0)]
        check_moved(self.links, [*moved, *rotors])
        neutral = zip(tree.coordinate_names, np.asarray(tree.neutral()).tolist(), strict=True)
        start = [np.asarray(self.start.get(name, usual)) for name, usual in neutral]
        spatial.check_quaternions(tree.coordinate_names, np.stack(np.broadcast_arrays(*start), axis=-1))

    def _check_motions(self) -> None:
        drives = {name: drive for name, drive in self.drives.items() if isinstance(drive, PrescribedJoint)}
        if drives and is_concrete(self) and all(can_be_probed(drive.law) for drive in drives.values()):
            units = naming.velocities(naming.skeleton(self.links))
            for name, found in each(self, _jumps).items():
                check_motion(name, joint := drives[name].joint, units[joint].unit, found)

    def _check_names(self, tree: Tree) -> None:
        if not tree.nv:
            raise ValueError("all joints are fixed, so that nothing moves")
        for name, contact in self.contacts.items():
            index_of(f"contacts[{name!r}]", "body", tree.names, contact.body)
            check_position(f"contacts[{name!r}]", contact.position)
        for name, drive in self.drives.items():
            if isinstance(drive, Force):
                index_of(f"drives[{name!r}]", "body", tree.names, drive.body)
                check_position(f"drives[{name!r}]", drive.position)
            elif isinstance(drive, JointDrive):
                coordinate_of(tree, name, drive.joint)
            check_law(name, drive)
        prescribed = [drive.joint for _, _, drive in self._motions(tree)]
        if twice := sorted({joint for joint in prescribed if prescribed.count(joint) > 1}):
            raise ValueError(f"several drives prescribe the motion of {', '.join(map(repr, twice))}: keep one of them")
        q_names, v_names = tree.coordinate_names, tree.velocity_names
        rates = {v_names[j] for _, j, _ in self._motions(tree)}
        moved = {"start": {q_names[i] for i, _, d in self._motions(tree) if isinstance(d, PrescribedJoint)}}
        for what, kind, names in (("start", "coordinate", q_names), ("start_rates", "velocity", v_names)):
            for name in getattr(self, what):
                index_of(what, kind, names, name)
                if name in moved.get(what, rates):
                    raise ValueError(
                        f"the motion of {name!r} is prescribed, including its start: leave it out of {what}"
                    )


def _jumps(model: TreeModel) -> dict[str, Jumps]:
    """The jumps of all prescribed motions, by the name of the drive."""
    return {n: jumps(d.at, model.duration) for n, d in model.drives.items() if isinstance(d, PrescribedJoint)}


def _pushes(model: TreeModel) -> tuple[Array, Array]:
    """Normal force on each contact at the start, at rest, in weights of the mechanism; and the depths in m."""
    tree, y = model.tree(), model.initial_state()
    motion = spatial.kinematics(tree, y.q, jnp.zeros_like(y.v))
    depth = grounded(model.contacts, tree, motion, y.memory).depth
    force = jnp.stack([contact.static_force(depth[i]) for i, contact in enumerate(model.contacts.values())])
    weight = jnp.sum(jnp.asarray(tree.mass)) * model.gravity
    return jnp.where(weight > 0.0, force / jnp.where(weight > 0.0, weight, 1.0), 0.0), depth
