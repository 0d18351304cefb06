"""Checks of a tree of bodies: joints that nothing keeps from infinite acceleration, laws and motions of drives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxgait.elements import shape_of
from jaxgait.mechanics.spatial import Link
from jaxgait.mechanics.spatial.links import numbers
from jaxgait.mechanics.spatial.tree import Topology
from jaxgait.models.tree.motions import Jumps
from jaxgait.models.tree.parts import Force, PrescribedJoint, Torque, takes
from jaxgait.parameters import ParameterError
from jaxgait.support.checks import is_concrete, shown


def check_moved(links: Mapping[str, Link], moved: Collection[str] = ()) -> None:
    """Rejects bodies without inertia about, or mass along, their joint: no force determines their acceleration.

    Numbers may have a batch axis. Bodies beyond the joint count as well, unless they also lie on it.

    Args:
        links: by name, parents first.
        moved: names of the velocities whose motion is prescribed, or that a rotor resists.

    Raises:
        ValueError: naming the body and the motion.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, hinge
        >>> from jaxgait.models.tree.checks import check_moved
        >>> check_moved({"leg": Link("leg", None, hinge((0, 1, 0)), mass=2.0)})
        Traceback (most recent call last):
            ...
        ValueError: body 'leg' has no inertia about its joint (turn_y): give it an inertia, or a com off the axis
    """
    beyond = {name: [one for one in links if _descends(links, one, name)] for name in links}
    for name, link in links.items():
        mass = _least(sum((np.asarray(links[one].mass, dtype=float) for one in [name, *beyond[name]]), np.zeros(())))
        motions = link.joint.velocities
        for column, motion in zip(_screws(link), motions, strict=True):
            turn, slide = np.asarray(column[:3]), np.asarray(column[3:])
            if (name if len(motions) == 1 else f"{name}.{motion}") in moved:
                continue
            if slide.any() and mass == 0.0:
                raise ValueError(f"body {name!r} has no mass along its joint ({motion}): give it one")
            if turn.any() and _about(link, turn) == 0.0 and not any(_off(links, one, name) for one in beyond[name]):
                what = f"body {name!r} has no inertia about its joint ({motion})"
                raise ValueError(f"{what}: give it an inertia, or a com off the axis")


def _descends(links: Mapping[str, Link], name: str, ancestor: str) -> bool:
    parent = links[name].parent
    return parent is not None and (parent == ancestor or _descends(links, parent, ancestor))


def _least(values: Any) -> float:
    """The least value of all members."""
    return float(np.min(values))


def _about(link: Link, axis: np.ndarray) -> float:
    """The least moment of inertia in kg m^2 of a body about an axis through its joint."""
    mass, com, inertia = (numbers(x, axes) for axes, x in enumerate((link.mass, link.com, link.inertia)))
    arm = np.cross(axis, com)
    return _least(mass * (arm * arm).sum(axis=-1) + np.einsum("i,...ij,j", axis, inertia, axis))


def _off(links: Mapping[str, Link], name: str, ancestor: str) -> bool:
    """Whether a body is not a point at the joint of an ancestor, and has a mass or an inertia."""
    link = links[name]
    if numbers(link.inertia, axes=2).any():
        return True
    if not np.asarray(link.mass, dtype=float).any():
        return False
    apart, one = bool(numbers(link.com, axes=1).any()), name
    while one != ancestor:
        slides = any(any(screw[3:]) for screw in _screws(links[one]))
        apart, one = apart or slides or bool(numbers(links[one].offset, axes=1).any()), str(links[one].parent)
    return apart


def _screws(link: Link) -> Sequence[Sequence[float]]:
    """The motions of a joint, each as turn and slide."""
    return link.joint.screws or np.eye(6)[: link.joint.nv].tolist()


def check_law(name: str, drive: Any) -> None:
    """Checks that the law of a drive takes the arguments that it is called with.

    Raises:
        ParameterError: if it does not.

    Examples:
        >>> from jaxgait.models.tree.checks import check_law
        >>> from jaxgait.models.tree.parts import Torque
        >>> check_law("motor", Torque("hip", lambda t: 40.0))  # N m
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: drives['motor'].law must take (t, q, v)
    """
    arguments = {Torque: "(t, q, v)", Force: "(t, position, velocity)", PrescribedJoint: "(t)"}.get(type(drive))
    if arguments is not None and not takes(drive.law, arguments.count(",") + 1):
        raise ParameterError(f"drives[{name!r}].law must take {arguments}")


def check_position(where: str, position: Any) -> None:
    """Checks that a point of a body has three coordinates, in m.

    Raises:
        ParameterError: if it does not.

    Examples:
        >>> from jaxgait.models.tree.checks import check_position
        >>> check_position("contacts['heel']", (0.0, -0.4))
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: contacts['heel'].position must have three numbers in m, (x, y, z), got ...
    """
    if not isinstance(position, str) and shape_of(position, 1) != (3,):
        raise ParameterError(f"{where}.position must have three numbers in m, (x, y, z), got {shown(position)}")


def returned(name: str, force: Any, shape: tuple[int, ...], what: str) -> Array:
    """What a drive returned, in N or N m, checked for the shape that it must have.

    Raises:
        ParameterError: naming the drive and both shapes, or what is not an array.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.tree.checks import returned
        >>> print(returned("motor", jnp.array(40.0), (), "one number"))  # N m
        40.0
    """
    try:
        found = jnp.asarray(force)
    except (TypeError, ValueError):
        raise ParameterError(f"drives[{name!r}] must return {what}, shape {shape}, got {shown(force)}") from None
    if found.shape != shape:
        raise ParameterError(f"drives[{name!r}] must return {what}, shape {shape}, got the shape {found.shape}")
    return found


def index_of(where: str, kind: str, names: Sequence[str], name: str) -> int:
    """The index of a name among those of a tree's bodies, joints or coordinates.

    Raises:
        ValueError: for another name: where it was given, and those that there are.

    Examples:
        >>> from jaxgait.models.tree.checks import index_of
        >>> index_of("start", "coordinate", ("hip", "knee"), "knee")
        1
    """
    if name not in names:
        raise ValueError(f"{where}: no {kind} {name!r}; choose one of {', '.join(names)}")
    return list(names).index(name)


def coordinate_of(tree: Topology, name: str, joint: str) -> tuple[int, int]:
    """Indices in q and in v of a drive's joint coordinate, whose velocity must be its rate.

    Args:
        tree: its bodies.
        name: of the drive.
        joint: as named by the drive.

    Raises:
        ValueError: for a joint that the tree does not have, and for one whose velocities are not rates of coordinates.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge
        >>> from jaxgait.models.tree.checks import coordinate_of
        >>> coordinate_of(Tree.build(Link("leg", None, hinge((0, 1, 0)), mass=1.0)), "motor", "leg")
        (0, 0)
    """
    where = f"drives[{name!r}]"
    j = index_of(where, "joint", tree.velocity_names, joint)
    body = next(i for i, rows in enumerate(tree.v_slices) if rows.start <= j < rows.stop)
    if tree.joints[body].nq != tree.joints[body].nv:
        raise ValueError(f"{where}: {joint!r} is not a rate of a coordinate; drive it by a function of t, q, v")
    return tree.q_slices[body].start + j - tree.v_slices[body].start, j


def named_fault(model: Any, check: Callable[[], None]) -> None:
    """Runs a check, whose message then begins with the model's class.

    Raises:
        ParameterError: instead of a `ValueError` of the check.

    Examples:
        >>> from jaxgait.models.tree.checks import index_of, named_fault
        >>> named_fault(3.0, lambda: index_of("start", "coordinate", ("hip", "knee"), "ankle"))
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: float: start: no coordinate 'ankle'; choose one of hip, knee
    """
    try:
        check()
    except ValueError as error:
        raise ParameterError(f"{type(model).__name__}: {error}") from error


def can_be_probed(law: Any) -> bool:
    """Whether the law of a prescribed motion can be evaluated before a run: it raises nothing, its numbers are known.

    What a law raises is reported when the equations are checked. A law that is a closure may hold traced numbers.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.tree.checks import can_be_probed
        >>> can_be_probed(jnp.sin), can_be_probed(lambda t: t if t > 0.0 else 0.0)
        (True, False)
    """
    try:
        traced = jax.make_jaxpr(law)(0.0)
    except Exception:  # whatever a user's function raises
        return False
    return is_concrete(traced.consts) and [one.shape for one in traced.out_avals] == [()]


def check_motion(name: str, joint: str, unit: str, found: Jumps) -> None:
    """Rejects a prescribed motion that no joint can follow.

    Args:
        name: of the drive.
        joint: its joint.
        unit: of the joint's rate.
        found: of every member, with a leading axis.

    Raises:
        ParameterError: for a motion that is not finite, or that jumps, or whose rate does.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.models.tree.checks import check_motion
        >>> from jaxgait.models.tree.motions import Jumps
        >>> jump = Jumps(np.array([np.inf]), np.array([[0.0, 2.0]]), np.array([[0.0, 0.3]]))
        >>> check_motion("motor", "knee", "rad/s", jump)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: drives['motor']: the rate of the motion of 'knee' jumps by 2 rad/s ...
    """
    where = f"drives[{name!r}]"
    if np.isfinite(undefined := np.min(found.undefined)):
        raise ParameterError(
            f"{where}: the motion of {joint!r} is not finite at {undefined:.4g} s: prescribe its coordinate, rate and "
            "acceleration for the whole duration"
        )
    for k, (what, of) in enumerate((("motion", unit.removesuffix("/s")), ("rate of the motion", unit))):
        member = np.argmax(found.size[:, k])
        if size := found.size[member, k]:
            which = f" (member {member})" if len(found.size) > 1 else ""
            raise ParameterError(
                f"{where}: the {what} of {joint!r} jumps by {size:.3g} {of} at {found.time[member, k]:.4g} s"
                f"{which}: prescribe a motion with a continuous rate, such as Sampled(time, values) through samples"
            )
