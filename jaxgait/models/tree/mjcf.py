"""A `TreeModel` from a robot's file: MJCF or URDF, as MuJoCo's own compiler reads it.

    robot = from_mujoco("robot.xml", key="home", normal=KelvinVoigt(), friction=Coulomb(0.8))
    run = simulate(robot, duration=2.0)

MuJoCo's joints, bodies, shapes and ground are read by `mjcf_robot`, its springs, motors and so on by `mjcf_drives`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxgait.models.tree.mjcf_drives import Drives
from jaxgait.models.tree.mjcf_robot import Robot
from jaxgait.models.tree.model import TreeModel
from jaxgait.precision import float64_default
from jaxgait.support import checks, files
from jaxgait.support.checks import by_name

_SIZES = {
    "qpos": ("position", "positions"),
    "qvel": ("velocity", "velocities"),
    "ctrl": ("command", "commands"),
    "mocap_pos": ("mocap body", "mocap bodies"),
    "eq_active": ("equality constraint", "equality constraints"),
}
"""Arrays of a `mujoco.MjData` that a model is read from, and what they count."""


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
    """The bodies, joints, springs, motors and feet of a robot, with its gravity and its pose at the start.

    A link has the name of its body, and a coordinate that of its link, or ``body.turn_x`` if the body has several.
    Angles are counted from the pose of the file (`qpos0`). Where a body has joints with different anchors, there is a
    link for each, with the name of the joint; the last one has the name of the body and its mass. Motors and servos at
    hinges and slides keep their commands (`ctrl`); joints with limits get a `Stop`, those with armature a `Rotor`.

    Args:
        source: path of an MJCF or URDF file, or a `mujoco.MjModel`.
        key: name of the keyframe at which runs start; None: the pose of the file, at rest.
        data: a `mujoco.MjData` of the model, whose `qpos`, `qvel`, `ctrl`, mocap poses and active constraints are
            used, instead of those of a keyframe.
        normal: normal law of all contacts (see `ContactPoint`); None: nothing touches the ground. Spheres, the ends of
            capsules and the corners of boxes that MuJoCo lets collide with the ground become contact points. Bodies do
            not collide with each other.
        friction: their friction law; None: frictionless. Neither is in the file, whose contacts are constraints.
        touching: names of the bodies and shapes that may touch the ground, such as the feet, for speed; None: all.

    Returns:
        The model, whose parts and numbers can be changed like those of any other.

    Warns:
        UserWarning: naming what the model lacks of the file, such as tendons, muscles and dry friction, and joints
            that start beyond their limits.

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
    chosen = _chosen(mujoco, compiled, key, data)
    robot = Robot(mujoco, compiled, _at_zero(mujoco, compiled, chosen))
    if loops := int(np.sum(chosen.eq_active)) * robot.enabled("EQUALITY", "CONSTRAINT"):
        has = checks.count_of(loops, "active equality constraint", "active equality constraints")
        field = "eq_active0" if data is None else "eq_active"
        what = f"switch them off (`{field}`), and add what they do as drives"
        raise ValueError(f"the model has {has}, and a TreeModel no loops: {what}")
    bodies = [body for body in range(1, compiled.nbody) if compiled.body_weldid[body] != 0]
    if not bodies:
        raise ValueError("the model has no body that moves")
    pieces = [piece for body in bodies for piece in robot.pieces(body)]
    geoms = robot.touching(bodies, touching)
    contacts = {} if normal is None else robot.contacts(geoms, normal, friction)
    start, rates = robot.start(pieces, chosen.qpos, chosen.qvel)
    drives = Drives(robot, robot.single(pieces))
    left = drives.left_out() | robot.left_out(geoms, ground=normal is not None)
    if left_out := [checks.count_of(n, *words) for words, n in left.items() if n]:
        checks.warn_user(f"this TreeModel has nothing of what else is in the file: {', '.join(left_out)}")
    if beyond := drives.beyond(start):
        what = f"{', '.join(beyond)} beyond the ends of their ranges, which push them back"
        checks.warn_user(f"runs start with {what}: give a keyframe (key=) or data")
    gravity, slope = robot.gravity()
    return TreeModel(
        [piece.link for piece in pieces],
        contacts=contacts,
        drives=drives.by_name(chosen.ctrl),
        start=start,
        start_rates=rates,
        gravity=gravity,
        slope=slope,
    )


def _loaded(mujoco: Any, path: Any) -> Any:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"source must be a path or a mujoco.MjModel, got {checks.shown(path)}")
    file = files.expanded(path)
    if str(path).lstrip().startswith("<"):
        raise TypeError("source must be a path or a mujoco.MjModel: read text by mujoco.MjModel.from_xml_string(text)")
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    try:
        return mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        raise ValueError(f"MuJoCo cannot read {file}: {' '.join(str(error).split())}") from None


def _at_zero(mujoco: Any, compiled: Any, chosen: Any) -> Any:
    """MuJoCo's data in the pose of the file, with mocap bodies where they are in the data that was chosen."""
    data = mujoco.MjData(compiled)
    data.mocap_pos[:], data.mocap_quat[:] = chosen.mocap_pos, chosen.mocap_quat
    mujoco.mj_kinematics(compiled, data)
    return data


def _chosen(mujoco: Any, compiled: Any, key: str | None, data: Any) -> Any:
    """MuJoCo's data with the state at which runs start, and the commands that they keep."""
    if key is not None and data is not None:
        raise ValueError("give key or data, not both")
    if data is not None:
        fresh = mujoco.MjData(compiled)
        for name, what in _SIZES.items():
            if (found := getattr(data, name).shape[0]) != (own := getattr(fresh, name).shape[0]):
                raise ValueError(f"data is of another model: it has {checks.count_of(found, *what)}, not {own}")
        return data
    data = mujoco.MjData(compiled)
    if key is not None:
        names = [compiled.key(i).name for i in range(compiled.nkey)]
        if key not in names:
            raise ValueError(f"there is no keyframe {key!r}: {checks.nearest(key, names)}")
        mujoco.mj_resetDataKeyframe(compiled, data, names.index(key))
    return data
