"""The bodies, joints, contacts and ground of a robot that MuJoCo's compiler has read, in the terms of a `TreeModel`.

MuJoCo moves a body by joints with anchors of their own, where a `Link` moves about its origin: the frame of a body is
shifted to the anchor, and where several joints of a body have several anchors, links without mass stand between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jaxgait.mechanics.spatial import Link, Tree, ball, fixed, free, screws
from jaxgait.mechanics.spatial.joints import Joint
from jaxgait.models.tree.parts import ContactPoint
from jaxgait.support import checks

_SAME = 1e-9
"""Distance in m up to which anchors are one point, and deviation up to which vectors are equal."""


class _Group(NamedTuple):
    """Joints of one body about one anchor, by number."""

    given: np.ndarray | None
    """The anchor in m in the body's frame; None: the joints only slide."""
    joints: list[int]

    @property
    def anchor(self) -> np.ndarray:
        return np.zeros(3) if self.given is None else self.given


class Piece(NamedTuple):
    """A link, and the numbers of the joints by which it moves."""

    link: Link
    joints: list[int]


@dataclass(frozen=True)
class Robot:
    """A compiled model, read in the terms of a `TreeModel`."""

    mujoco: Any
    compiled: Any
    at_zero: Any
    """MuJoCo's data in the pose of the file."""

    def name(self, kind: str, number: int) -> str:
        """The name, without dots, which separate names of parameters; a shape without a name has that of its body."""
        own = getattr(self.compiled, kind)(number).name
        if not own and kind == "geom":
            body = int(self.compiled.geom_bodyid[number])
            own = f"{self.name('body', body)}_geom{number - int(self.compiled.body_geomadr[body]) + 1}"
        return (own or f"{kind}{number}").replace(".", "_")

    def matrix(self, quaternion: Any) -> np.ndarray:
        """The rotation (3, 3) of a quaternion (w, x, y, z) of any length (no dimension)."""
        found = np.zeros(9)
        self.mujoco.mju_quat2Mat(found, np.asarray(quaternion, float) / np.linalg.norm(quaternion))
        return found.reshape(3, 3)

    def joint_type(self, joint: int) -> str:
        """One of "free", "ball", "slide" and "hinge"."""
        return self.mujoco.mjtJoint(self.compiled.jnt_type[joint]).name.removeprefix("mjJNT_").lower()

    def pieces(self, body: int) -> list[Piece]:
        """The links of a body: one for each run of joints about one anchor."""
        above, rotation, position = self._seat(body)
        groups, found = self._groups(body), []
        offset = position + rotation @ groups[0].anchor
        for group, following in zip(groups, [*groups[1:], None], strict=True):
            name = self.name("joint", group.joints[-1]) if following else self.name("body", body)
            mass = {"mass": 0.0} if following else self._mass(body, group.anchor)
            turned = None if np.array_equal(rotation, np.eye(3)) else _rows(rotation)
            link = Link(name, above, self._joint(group.joints), offset=_row(offset), rotation=turned, **mass)
            found.append(Piece(link, group.joints))
            if following:
                above, rotation, offset = name, np.eye(3), following.anchor - group.anchor
        return found

    def _seat(self, body: int) -> tuple[str | None, np.ndarray, np.ndarray]:
        """The link that holds a body, and the rotation of the body and its position in m there, in the file's pose."""
        compiled, parent = self.compiled, int(self.compiled.body_parentid[body])
        rotation, position = self.matrix(compiled.body_quat[body]), np.array(compiled.body_pos[body])
        if (mocap := int(compiled.body_mocapid[body])) >= 0:
            rotation, position = self.matrix(self.at_zero.mocap_quat[mocap]), np.array(self.at_zero.mocap_pos[mocap])
        if "free" in map(self.joint_type, self._joints(body)):
            return None, np.eye(3), np.zeros(3)
        if compiled.body_weldid[parent] == 0:  # it does not move
            turned = self.at_zero.xmat[parent].reshape(3, 3)
            return None, turned @ rotation, self.at_zero.xpos[parent] + turned @ position - self.ground()
        return self.name("body", parent), rotation, position - self.anchor(parent)

    def anchor(self, body: int) -> np.ndarray:
        """The origin (3,) in m of the frame of the link with the mass of a body, in the body's frame."""
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

    def single(self, pieces: list[Piece]) -> dict[int, str]:
        """The coordinates of hinges and slides, by the number of the joint."""
        found = {}
        for link, joints in pieces:
            if len(joints) == link.joint.nq:  # neither free nor a ball, which have several numbers
                names = [link.name] if len(joints) == 1 else [f"{link.name}.{one}" for one in link.joint.coordinates]
                found |= dict(zip(joints, names, strict=True))
        return found

    def start(
        self, pieces: list[Piece], qpos: np.ndarray, qvel: np.ndarray
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Coordinates and velocities by name, of MuJoCo's positions (nq,) and velocities (nv,), in SI units."""
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
        x, y, z = map(float, self.compiled.opt.gravity) if self.enabled("GRAVITY") else (0.0, 0.0, 0.0)
        if abs(y) > _SAME or z > 0.0:
            raise ValueError(f"gravity must point down, or down and along x, got ({x:g}, {y:g}, {z:g}) m/s^2")
        return float(np.hypot(x, z)), float(np.arctan2(x, -z)) if x else 0.0

    def ground(self) -> np.ndarray:
        """A point (3,) of the ground in m, the horizontal plane of the file; the origin without one."""
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
            not self._excluded(geom, plane)
            and (compiled.geom_contype[geom] & compiled.geom_conaffinity[plane])
            | (compiled.geom_contype[plane] & compiled.geom_conaffinity[geom])
            for plane in self._planes()
        ]
        return any(meets) if meets else self._touches(geom)

    def _excluded(self, *geoms: int) -> bool:
        """Whether the file excludes contacts between the bodies of two shapes."""
        first, second = sorted(int(self.compiled.geom_bodyid[geom]) for geom in geoms)
        return (first << 16) + second in self.compiled.exclude_signature

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

    def enabled(self, *flags: str) -> bool:
        """Whether no option of the file switches something off, such as "GRAVITY"."""
        older = {"SPRING": "PASSIVE", "DAMPER": "PASSIVE"}  # one flag for both
        names = {*flags, *(older[flag] for flag in flags if flag in older)}
        bits = (getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{name}", 0) for name in names)
        return not any(int(bit) & int(self.compiled.opt.disableflags) for bit in bits)

    def left_out(self, geoms: list[int], *, ground: bool) -> dict[tuple[str, str], int]:
        """Numbers of the things in the file that bodies and contacts lack, by kind (singular and plural).

        Args:
            geoms: the shapes that may touch the ground.
            ground: whether they do.
        """
        compiled = self.compiled
        lost = [geom for geom in geoms if not (ground and len(self._points(geom)[0]))]
        lost = lost if ground or self._planes() else []
        in_contact = [*geoms, *self._planes()] if ground else []
        none = np.zeros(compiled.ngeom)  # older MuJoCo
        having = lambda what: sum(bool(np.any(getattr(compiled, f"geom_{what}", none)[geom])) for geom in in_contact)
        compensated = int(np.count_nonzero(compiled.body_gravcomp))
        touch = "may touch the ground" if ground else "may touch the ground (give normal= and friction=)"
        return {
            ("body with compensated gravity", "bodies with compensated gravity"): compensated,
            (f"shape that {touch}", f"shapes that {touch}"): len(lost),
            ("fixed shape that is no plane", "fixed shapes that are no planes"): len(self._fixed()),
            ("shape whose surface moves", "shapes whose surfaces move"): having("surfacevel"),
            ("shape with adhesion", "shapes with adhesion"): having("adhesion"),
            ("pair of shapes that collide", "pairs of shapes that collide"): compiled.npair,
            ("soft body", "soft bodies"): compiled.nflex,
            ("plugin", "plugins"): compiled.nplugin,
            ("fluid", "fluids"): int(compiled.opt.density > 0.0 or compiled.opt.viscosity > 0.0),
        }


def _row(vector: Any) -> tuple[float, float, float]:
    x, y, z = map(float, vector)
    return x, y, z


def _rows(matrix: Any) -> tuple[tuple[float, float, float], ...]:
    x, y, z = map(_row, matrix)
    return x, y, z
