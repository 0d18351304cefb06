"""A `TreeModel` from a robot's file: MJCF or URDF, as MuJoCo's own compiler reads it.

    robot = from_mujoco("robot.xml", key="home", normal=KelvinVoigt(), friction=Coulomb(0.8))
    run = simulate(robot, duration=2.0)

MuJoCo moves a body by joints with anchors of their own, where a `Link` moves about its origin: the frame of a body is
shifted to the anchor, and where several joints of a body have several anchors, links without mass stand between them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jaxgait import checks
from jaxgait.checks import by_name
from jaxgait.mechanics.spatial import Link, Tree, ball, fixed, free, screws
from jaxgait.mechanics.spatial.joints import Joint
from jaxgait.models.tree.model import TreeModel
from jaxgait.models.tree.parts import ContactPoint, Spring
from jaxgait.precision import float64_default

_SAME = 1e-9
"""Distance in m below which anchors are one point, and deviation of a vector that is no deviation."""


@by_name('write from_mujoco("robot.xml", key="home")')
@float64_default
def from_mujoco(
    source: Any,
    *,
    key: str | None = None,
    data: Any = None,
    normal: Any = None,
    friction: Any = None,
    touching: Sequence[str] | None = None,
) -> TreeModel:
    """The bodies, joints, springs, dampers and feet of a robot, with its gravity and its pose at the start.

    A link has the name of its body, and a coordinate that of its link, or ``body.turn_x`` if the body has several.
    Angles are counted from the pose of the file (`qpos0`). Where a body has joints with different anchors, there is a
    link for each, with the name of the joint; the last one has the name of the body and its mass.

    Args:
        source: path of an MJCF or URDF file, or a `mujoco.MjModel`.
        key: name of the keyframe at which runs start; None: the pose of the file, at rest.
        data: a `mujoco.MjData` of the model, whose `qpos` and `qvel` are the start, instead of a keyframe.
        normal: normal law of all contacts (see `ContactPoint`); None: nothing touches the ground. Spheres, the ends of
            capsules and the corners of boxes that MuJoCo lets collide with the ground become contact points. Bodies do
            not collide with each other.
        friction: their friction law; None: frictionless. Neither is in the file, whose contacts are constraints.
        touching: names of the bodies and shapes that may touch the ground, such as the feet, for speed; None: all.

    Returns:
        The model, whose parts and numbers can be changed like those of any other.

    Warns:
        UserWarning: naming what the file has and the model has not, such as actuators, armature and limits of joints.

    Raises:
        ModuleNotFoundError: without MuJoCo.
        FileNotFoundError: if there is no such file.
        TypeError: for another source, and a single name instead of a list (`touching`).
        ValueError: for a file that MuJoCo cannot read, loops closed by constraints, a ground that is not one horizontal
            plane, gravity upward or along y, joints that no `Link` has, unknown names, and data of another model.
        jaxgait.parameters.ParameterError: for impossible parameters, such as bodies that move without mass.

    Examples:
        >>> import mujoco
        >>> from jaxgait.models.tree import from_mujoco
        >>> compiled = mujoco.MjModel.from_xml_string('''<mujoco><worldbody>
        ...   <body name="leg" pos="0 0 1"><joint axis="0 1 0" stiffness="2"/>
        ...     <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="1.5"/></body>
        ...   </worldbody></mujoco>''')
        >>> model = from_mujoco(compiled)
        >>> print(*model.links, model.links["leg"].mass, model.drives["leg"].stiffness, model.gravity)  # kg, N m/rad
        leg 1.5 2.0 9.81
    """
    mujoco = checks.library("mujoco", "reading MJCF and URDF needs", '"jaxgait[robots]"')
    compiled = source if isinstance(source, mujoco.MjModel) else _loaded(mujoco, source)
    if friction is not None and normal is None:
        raise ValueError("friction needs normal, the law of the normal force")
    if isinstance(touching, str):
        raise TypeError(f"touching must be a list of names, got {touching!r}: write [{touching!r}]")
    robot = _Robot(mujoco, compiled, _at_zero(mujoco, compiled))
    if loops := 0 if robot.disabled("EQUALITY") else int(np.sum(compiled.eq_active0)):
        has = checks.count_of(loops, "active equality constraint", "active equality constraints")
        what = "switch them off (`eq_active0`), and add what they do as drives"
        raise ValueError(f"the model has {has}, and a TreeModel no loops: {what}")
    bodies = [body for body in range(1, compiled.nbody) if compiled.body_weldid[body] != 0]
    if not bodies:
        raise ValueError("the model has no body that moves")
    pieces = [piece for body in bodies for piece in robot.pieces(body)]
    geoms = robot.touching(bodies, touching)
    contacts = {} if normal is None else robot.contacts(geoms, normal, friction)
    start, rates = robot.start(pieces, *_chosen(mujoco, compiled, key, data))
    if left_out := robot.left_out(geoms, ground=normal is not None):
        checks.warn_user(f"this TreeModel has nothing of what else is in the file: {', '.join(left_out)}")
    gravity, slope = robot.gravity()
    return TreeModel(
        [piece.link for piece in pieces],
        contacts=contacts,
        drives=dict(robot.springs(pieces)),
        start=start,
        start_rates=rates,
        gravity=gravity,
        slope=slope,
    )


def _loaded(mujoco: Any, path: Any) -> Any:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"source must be a path or a mujoco.MjModel, got {checks.shown(path)}")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {os.fspath(path)}")
    try:
        return mujoco.MjModel.from_xml_path(os.fspath(path))
    except ValueError as error:
        raise ValueError(f"MuJoCo cannot read {os.fspath(path)}: {' '.join(str(error).split())}") from None


def _at_zero(mujoco: Any, compiled: Any) -> Any:
    """MuJoCo's data in the pose of the file."""
    data = mujoco.MjData(compiled)
    mujoco.mj_kinematics(compiled, data)
    return data


def _chosen(mujoco: Any, compiled: Any, key: str | None, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """The `qpos` and `qvel` at which runs start."""
    if key is not None and data is not None:
        raise ValueError("give key or data, not both")
    if data is not None:
        if (data.qpos.size, data.qvel.size) != (compiled.nq, compiled.nv):
            raise ValueError(f"data is of another model: it has {data.qpos.size} positions, not {compiled.nq}")
        return np.array(data.qpos), np.array(data.qvel)
    if key is None:
        return np.array(compiled.qpos0), np.zeros(compiled.nv)
    names = [compiled.key(i).name for i in range(compiled.nkey)]
    if key not in names:
        raise ValueError(f"there is no keyframe {key!r}: {checks.nearest(key, names)}")
    return np.array(compiled.key_qpos[names.index(key)]), np.array(compiled.key_qvel[names.index(key)])


class _Group(NamedTuple):
    """Joints of one body about one anchor, by their numbers."""

    given: np.ndarray | None
    """In m in the body's frame; None: they only slide."""
    joints: list[int]

    @property
    def anchor(self) -> np.ndarray:
        return np.zeros(3) if self.given is None else self.given


class _Piece(NamedTuple):
    """A link, and the numbers of the joints by which it moves."""

    link: Link
    joints: list[int]


@dataclass(frozen=True)
class _Robot:
    """What is read from a compiled model."""

    mujoco: Any
    compiled: Any
    at_zero: Any
    """MuJoCo's data in the pose of the file."""

    def name(self, kind: str, number: int) -> str:
        """Without dots, which separate the names of parameters; a shape without a name has that of its body."""
        own = getattr(self.compiled, kind)(number).name
        if not own and kind == "geom":
            body = int(self.compiled.geom_bodyid[number])
            own = f"{self.name('body', body)}_geom{number - int(self.compiled.body_geomadr[body]) + 1}"
        return (own or f"{kind}{number}").replace(".", "_")

    def matrix(self, quaternion: Any) -> np.ndarray:
        """The rotation of a quaternion (w, x, y, z), of any length."""
        found = np.zeros(9)
        self.mujoco.mju_quat2Mat(found, np.asarray(quaternion, float) / np.linalg.norm(quaternion))
        return found.reshape(3, 3)

    def joint_type(self, joint: int) -> str:
        """One of "free", "ball", "slide" and "hinge"."""
        return self.mujoco.mjtJoint(self.compiled.jnt_type[joint]).name.removeprefix("mjJNT_").lower()

    def pieces(self, body: int) -> list[_Piece]:
        """The links of a body: one for each run of joints about one anchor."""
        above, rotation, position = self._seat(body)
        groups, found = self._groups(body), []
        offset = position + rotation @ groups[0].anchor
        for group, following in zip(groups, [*groups[1:], None], strict=True):
            name = self.name("joint", group.joints[-1]) if following else self.name("body", body)
            mass = {"mass": 0.0} if following else self._mass(body, group.anchor)
            link = Link(name, above, self._joint(group.joints), offset=_row(offset), rotation=_rows(rotation), **mass)
            found.append(_Piece(link, group.joints))
            if following:
                above, rotation, offset = name, np.eye(3), following.anchor - group.anchor
        return found

    def _seat(self, body: int) -> tuple[str | None, np.ndarray, np.ndarray]:
        """The link that holds a body, and the rotation of the body and its position in m there, in the file's pose."""
        compiled, parent = self.compiled, int(self.compiled.body_parentid[body])
        rotation, position = self.matrix(compiled.body_quat[body]), np.array(compiled.body_pos[body])
        if "free" in map(self.joint_type, self._joints(body)):
            return None, np.eye(3), np.zeros(3)
        if compiled.body_weldid[parent] == 0:  # it does not move
            turned = self.at_zero.xmat[parent].reshape(3, 3)
            return None, turned @ rotation, self.at_zero.xpos[parent] + turned @ position - self.ground()
        return self.name("body", parent), rotation, position - self.anchor(parent)

    def anchor(self, body: int) -> np.ndarray:
        """The origin in m of the frame of the link with the mass of a body, in the body's frame."""
        return self._groups(body)[-1].anchor

    def _joints(self, body: int) -> list[int]:
        first = int(self.compiled.body_jntadr[body])
        return list(range(first, first + int(self.compiled.body_jntnum[body])))

    def _groups(self, body: int) -> list[_Group]:
        """The joints of a body in runs about one anchor; slides have none of their own."""
        groups: list[_Group] = []
        for joint in self._joints(body):
            own = None if self.joint_type(joint) == "slide" else np.array(self.compiled.jnt_pos[joint])
            before = groups[-1].given if groups else None
            if groups and (own is None or before is None or np.abs(own - before).max() < _SAME):
                groups[-1] = _Group(before if own is None else own, [*groups[-1].joints, joint])
            else:
                groups.append(_Group(own, [joint]))
        return groups or [_Group(None, [])]

    def _joint(self, joints: list[int]) -> Joint:
        if not joints:
            return fixed()
        kinds = [self.joint_type(joint) for joint in joints]
        if kinds in (["free"], ["ball"]):
            return free() if kinds == ["free"] else ball()
        if "ball" in kinds:
            raise ValueError(f"joint {self.name('joint', joints[0])!r}: a ball joint must be alone at its anchor")
        words = {"hinge": "turn", "slide": "slide"}
        axes = [_row(self.compiled.jnt_axis[joint]) for joint in joints]
        return screws(*((words[kind], axis) for kind, axis in zip(kinds, axes, strict=True)))

    def _mass(self, body: int, anchor: np.ndarray) -> dict[str, Any]:
        """Mass, centre of mass and inertia of a body, in a frame with its origin at an anchor."""
        turned = self.matrix(self.compiled.body_iquat[body])
        inertia = turned @ np.diag(self.compiled.body_inertia[body]) @ turned.T
        com = self.compiled.body_ipos[body] - anchor
        return {
            "mass": float(self.compiled.body_mass[body]),
            "com": _row(com),
            "inertia": _rows((inertia + inertia.T) / 2),
        }

    def springs(self, pieces: list[_Piece]) -> Iterator[tuple[str, Spring]]:
        """Springs and dampers of hinges and slides, by coordinate."""
        compiled = self.compiled
        on = {name: not self.disabled(name) for name in ("SPRING", "DAMPER")}
        for joint, coordinate in self._single(pieces).items():
            at, dof = compiled.jnt_qposadr[joint], compiled.jnt_dofadr[joint]
            stiffness = float(compiled.jnt_stiffness[joint]) * on["SPRING"]
            damping = float(compiled.dof_damping[dof]) * on["DAMPER"]
            if stiffness or damping:
                rest = float(compiled.qpos_spring[at] - compiled.qpos0[at])
                yield coordinate, Spring(coordinate, stiffness=stiffness, damping=damping, rest=rest)

    def _single(self, pieces: list[_Piece]) -> dict[int, str]:
        """The coordinates of hinges and slides, by the number of the joint."""
        found = {}
        for link, joints in pieces:
            if len(joints) == link.joint.nq:  # neither free nor a ball, which have several numbers
                names = [link.name] if len(joints) == 1 else [f"{link.name}.{one}" for one in link.joint.coordinates]
                found |= dict(zip(joints, names, strict=True))
        return found

    def start(
        self, pieces: list[_Piece], qpos: np.ndarray, qvel: np.ndarray
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Coordinates and velocities by name, of MuJoCo's positions and velocities."""
        tree, q, v = Tree.build(*(piece.link for piece in pieces)), [], []
        for _, joints in pieces:
            for joint in joints:
                kind = self.joint_type(joint)
                at, dof = int(self.compiled.jnt_qposadr[joint]), int(self.compiled.jnt_dofadr[joint])
                if kind == "free":
                    position, quaternion = qpos[at : at + 3], qpos[at + 3 : at + 7]
                    q += [position - self.ground(), quaternion]
                    v += [qvel[dof + 3 : dof + 6], self.matrix(quaternion).T @ qvel[dof : dof + 3]]
                elif kind == "ball":
                    q, v = [*q, qpos[at : at + 4]], [*v, qvel[dof : dof + 3]]
                else:
                    q, v = [*q, qpos[at : at + 1] - self.compiled.qpos0[at : at + 1]], [*v, qvel[dof : dof + 1]]
        start = dict(zip(tree.coordinate_names, map(float, np.concatenate([*q, []])), strict=True))
        return start, dict(zip(tree.velocity_names, map(float, np.concatenate([*v, []])), strict=True))

    def gravity(self) -> tuple[float, float]:
        """Gravity in m/s^2, and the slope in rad at which it has its direction."""
        x, y, z = (0.0, 0.0, 0.0) if self.disabled("GRAVITY") else map(float, self.compiled.opt.gravity)
        if abs(y) > _SAME or z > 0.0:
            raise ValueError(f"gravity must point down, or down and along x, got ({x:g}, {y:g}, {z:g}) m/s^2")
        return float(np.hypot(x, z)), float(np.arctan2(x, -z)) if x else 0.0

    def ground(self) -> np.ndarray:
        """A point of the ground in m, the horizontal plane of the file; the origin without one."""
        planes = self._planes()
        for geom in planes:
            if abs(self.at_zero.geom_xmat[geom].reshape(3, 3)[2, 2] - 1.0) > _SAME:
                raise ValueError(f"the plane {self.name('geom', geom)!r} is not horizontal: turn gravity instead")
        heights = [float(self.at_zero.geom_xpos[geom][2]) for geom in planes]
        if heights and max(heights) - min(heights) > _SAME:
            raise ValueError(f"there are planes at several heights, {', '.join(f'{h:g}' for h in heights)} m")
        return np.array([0.0, 0.0, heights[0] if heights else 0.0])

    def _planes(self) -> list[int]:
        compiled, plane = self.compiled, self.mujoco.mjtGeom.mjGEOM_PLANE
        return [geom for geom in range(compiled.ngeom) if compiled.geom_type[geom] == plane and self._touches(geom)]

    def _fixed(self) -> list[int]:
        """Shapes of static bodies other than planes, which may collide with something."""
        compiled, plane = self.compiled, self.mujoco.mjtGeom.mjGEOM_PLANE
        static = [geom for geom in range(compiled.ngeom) if compiled.body_weldid[compiled.geom_bodyid[geom]] == 0]
        return [geom for geom in static if compiled.geom_type[geom] != plane and self._touches(geom)]

    def _touches(self, geom: int) -> bool:
        return bool(self.compiled.geom_contype[geom] or self.compiled.geom_conaffinity[geom])

    def _on_ground(self, geom: int) -> bool:
        """Whether MuJoCo lets a shape collide with the ground, or with anything, if it has no ground."""
        compiled = self.compiled
        meets = [
            (compiled.geom_contype[geom] & compiled.geom_conaffinity[plane])
            | (compiled.geom_contype[plane] & compiled.geom_conaffinity[geom])
            for plane in self._planes()
        ]
        return any(meets) if meets else self._touches(geom)

    def touching(self, bodies: list[int], chosen: Sequence[str] | None) -> list[int]:
        """The shapes of bodies that may touch the ground; those that are chosen, by their or their bodies' names.

        Raises:
            ValueError: for names of no such body or shape.
        """
        body_of = {geom: body for body in bodies for geom in self._geoms(body)}
        names = {geom: {self.name("body", body), self.name("geom", geom)} for geom, body in body_of.items()}
        known = set().union(*names.values())
        for name in chosen or ():
            if name not in known:
                hint = checks.nearest(name, sorted(known))
                raise ValueError(f"touching: no body or shape {name!r} may touch the ground: {hint}")
        return [geom for geom, own in names.items() if chosen is None or own & {*chosen}]

    def contacts(self, geoms: list[int], normal: Any, friction: Any) -> dict[str, ContactPoint]:
        """Contact points by name: spheres, ends of capsules, corners of boxes.

        Raises:
            ValueError: for two of one name, and for a ground of other shapes than a plane.
        """
        if not self._planes() and self._fixed():
            what = f"{self.name('geom', self._fixed()[0])!r} is no plane, and the file has none"
            raise ValueError(f'the ground must be a plane: {what}: add <geom type="plane" size="1 1 1"/> to its world')
        found = {}
        for name, point in self._contact_points(geoms, normal, friction):
            if name in found:
                raise ValueError(f"two contacts would be called {name!r}: rename a shape")
            found[name] = point
        return found

    def _contact_points(self, geoms: list[int], normal: Any, friction: Any) -> Iterator[tuple[str, ContactPoint]]:
        for geom in geoms:
            body = int(self.compiled.geom_bodyid[geom])
            turned, centre = (
                self.matrix(self.compiled.geom_quat[geom]),
                self.compiled.geom_pos[geom] - self.anchor(body),
            )
            points, radius = self._points(geom)
            for i, point in enumerate(points):
                name = self.name("geom", geom) + f"_{i + 1}" * (len(points) > 1)
                position = _row(centre + turned @ point)
                yield name, ContactPoint(self.name("body", body), normal, friction, position, radius)

    def _geoms(self, body: int) -> list[int]:
        first = int(self.compiled.body_geomadr[body])
        return [geom for geom in range(first, first + int(self.compiled.body_geomnum[body])) if self._on_ground(geom)]

    def _points(self, geom: int) -> tuple[np.ndarray, float]:
        """Centres in m of the balls that stand for a shape, (points, 3), and their radius in m; none for others."""
        kinds, kind, size = self.mujoco.mjtGeom, self.compiled.geom_type[geom], self.compiled.geom_size[geom]
        if kind == kinds.mjGEOM_SPHERE:
            return np.zeros((1, 3)), float(size[0])
        if kind == kinds.mjGEOM_CAPSULE:
            return np.array([[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]]), float(size[0])
        if kind == kinds.mjGEOM_BOX:
            return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size, 0.0
        return np.zeros((0, 3)), 0.0

    def disabled(self, flag: str) -> bool:
        """Whether an option of the file switches something off, such as "GRAVITY"."""
        older = {"SPRING": "PASSIVE", "DAMPER": "PASSIVE"}  # one flag for both
        flags = (getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{name}", 0) for name in (flag, older.get(flag, flag)))
        return any(int(one) & int(self.compiled.opt.disableflags) for one in flags)

    def left_out(self, geoms: list[int], *, ground: bool) -> list[str]:
        """What the file has and the tree has not, with its numbers; of shapes, those that may touch the ground."""
        compiled = self.compiled
        many = [j for j in range(compiled.njnt) if self.joint_type(j) in ("free", "ball")]
        damped = [j for j in many if compiled.dof_damping[compiled.jnt_dofadr[j]] or compiled.jnt_stiffness[j]]
        compensated = np.count_nonzero(compiled.body_gravcomp)
        lost = [geom for geom in geoms if not (ground and len(self._points(geom)[0]))]
        lost = lost if ground or self._planes() else []
        counts = {
            ("actuator", "actuators"): compiled.nu,
            ("tendon", "tendons"): compiled.ntendon,
            ("joint with limits", "joints with limits"): np.sum(compiled.jnt_limited),
            ("velocity with armature", "velocities with armature"): np.count_nonzero(compiled.dof_armature),
            ("joint with dry friction", "joints with dry friction"): np.count_nonzero(compiled.dof_frictionloss),
            ("spring or damper of a ball or free joint", "springs or dampers of ball or free joints"): len(damped),
            ("nonlinear spring or damper", "nonlinear springs or dampers"): self._nonlinear(),
            ("body with compensated gravity", "bodies with compensated gravity"): compensated,
            ("shape that may touch the ground", "shapes that may touch the ground"): len(lost),
            ("fixed shape that is no plane", "fixed shapes that are no planes"): len(self._fixed()),
            ("pair of shapes that collide", "pairs of shapes that collide"): compiled.npair,
            ("soft body", "soft bodies"): compiled.nflex,
        }
        found = [checks.count_of(int(n), *words) for words, n in counts.items() if n]
        fluid = "a fluid" if compiled.opt.density or compiled.opt.viscosity else ""
        return [*found, fluid] if fluid else found

    def _nonlinear(self) -> int:
        rows = [getattr(self.compiled, name, np.zeros(0)) for name in ("jnt_stiffnesspoly", "dof_dampingpoly")]
        return sum(int(np.any(np.reshape(row, (len(row), -1)), axis=1).sum()) for row in rows if np.size(row))


def _row(vector: Any) -> tuple[float, float, float]:
    x, y, z = map(float, vector)
    return x, y, z


def _rows(matrix: Any) -> tuple[tuple[float, float, float], ...]:
    x, y, z = map(_row, matrix)
    return x, y, z
