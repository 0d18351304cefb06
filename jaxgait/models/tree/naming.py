"""Names, units and meanings of what a tree of bodies has: coordinates, velocities, and results of single joints."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from jaxgait.definition import ENDINGS, RESERVED
from jaxgait.mechanics.spatial.joints import Joint
from jaxgait.mechanics.spatial.links import Link
from jaxgait.mechanics.spatial.tree import Topology, Tree
from jaxgait.model import Variable

_OF_ALL = {
    "memory": Variable("m", "memories of the friction laws", ("contact", "tangent")),
    "position": Variable("m", "positions of the bodies' origins", ("body", "axis")),
    "com": Variable("m", "position of the centre of mass", ("axis",)),
    "com_velocity": Variable("m/s", "velocity of the centre of mass", ("axis",)),
    "momentum": Variable("kg m/s", "momentum", ("axis",)),
    "angular_momentum": Variable("kg m^2/s", "angular momentum about the centre of mass", ("axis",)),
    "contact_force": Variable("N", "forces of the ground on the contact points", ("contact", "axis")),
    "contact_depth": Variable("m", "penetration of the contact points", ("contact",)),
    "kinetic_energy": Variable("J", "kinetic energy"),
    "energy": Variable("J", "kinetic, potential and elastic energy"),
}
"""Variables that any tree may have, besides those that depend on its joints."""
_LOADS = {"m/s": "N", "rad/s": "N m"}
"""Units of generalised forces, by those of their velocities."""
_DIMS = ("body", "coordinate", "velocity", "contact", "axis", "tangent")


def skeleton(links: Mapping[str, Link]) -> Tree:
    """The tree of some bodies by name, without its numbers, which may have batch axes.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, hinge
        >>> from jaxgait.models.tree.naming import skeleton
        >>> print(skeleton({"leg": Link("leg", None, hinge((0, 1, 0)), mass=[5.0, 6.0])}).coordinate_names)
        ('leg',)
    """
    return _structure(*((link.name, link.parent, link.joint) for link in links.values()))


@functools.lru_cache(maxsize=64)  # every name and unit is read from it, thousands of times in a call
def _structure(*bodies: tuple[str, str | None, Joint]) -> Tree:
    return Tree.build(*(Link(*body, mass=0.0) for body in bodies))


def coordinates(tree: Topology) -> dict[str, Variable]:
    """Unit and meaning of every coordinate of a tree, by its name.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge, planar
        >>> from jaxgait.models.tree.naming import coordinates
        >>> leg = Link("leg", "trunk", hinge((0, 1, 0)), mass=5.0)
        >>> tree = Tree.build(Link("trunk", None, planar(), mass=50.0), leg)
        >>> for name, variable in coordinates(tree).items():
        ...     print(f"{name}: {variable.long_name} ({variable.unit})")
        trunk.x: x of trunk (m)
        trunk.z: z of trunk (m)
        trunk.turn_y: turn_y of trunk (rad)
        leg: joint angle of leg (rad)
    """
    found, units = [], {"turn": "rad", "q": "1"}
    for body, joint in zip(tree.names, tree.joints, strict=True):
        for one in joint.coordinates:
            found.append(Variable(units.get(one.partition("_")[0], "m"), f"{_motion(joint, one)} of {body}"))
    return dict(zip(tree.coordinate_names, found, strict=True))


def velocities(tree: Topology) -> dict[str, Variable]:
    """Unit and meaning of every velocity of a tree, by its name.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, free
        >>> from jaxgait.models.tree.naming import velocities
        >>> named = velocities(Tree.build(Link("box", None, free(), mass=5.0)))
        >>> print(named["box.w_x"].unit, named["box.v_z"].long_name)
        rad/s v_z of box
    """
    found = []
    for body, joint in zip(tree.names, tree.joints, strict=True):
        for one in joint.velocities:
            own = one if joint.nq != joint.nv else f"rate of the {_motion(joint, one)}"
            found.append(Variable("rad/s" if one.partition("_")[0] in ("turn", "w") else "m/s", f"{own} of {body}"))
    return dict(zip(tree.velocity_names, found, strict=True))


def unit_of_all(variables: Iterable[Variable]) -> str:
    """The unit of several variables in one array, or all of their units, joined by commas.

    Examples:
        >>> from jaxgait import Variable
        >>> from jaxgait.models.tree.naming import unit_of_all
        >>> print(unit_of_all([Variable("m", "height"), Variable("rad", "angle"), Variable("rad", "other angle")]))
        m, rad
    """
    return ", ".join(dict.fromkeys(one.unit for one in variables))


def joint_results(tree: Topology, taken: Iterable[str]) -> tuple[dict[str, tuple[int, Variable]], ...]:
    """The coordinates, and their rates, that are results of their own: by name, the index in q or v, and what it is.

    Those of quaternions are not. A name that another result has is left out: the number is in `q` or `v` anyway.

    Args:
        tree: the bodies.
        taken: names of other results.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge, planar
        >>> from jaxgait.models.tree.naming import joint_results
        >>> leg = Link("leg", "trunk", hinge((0, 1, 0)), mass=5.0)
        >>> tree = Tree.build(Link("trunk", None, planar(), mass=50.0), leg)
        >>> for named in joint_results(tree, ()):
        ...     print(*named)
        trunk_x trunk_z trunk_turn_y leg_angle
        trunk_x_rate trunk_z_rate trunk_turn_y_rate leg_rate
    """
    angles, rates = dict[str, tuple[int, Variable]](), dict[str, tuple[int, Variable]]()
    q, v, seen = [*coordinates(tree).values()], [*velocities(tree).values()], {*taken}
    for body, joint, i, j in zip(tree.names, tree.joints, tree.q_slices, tree.v_slices, strict=True):
        for k, one in enumerate(joint.coordinates):
            if one.startswith("q_"):
                continue
            single = joint.nq == 1 and one.startswith("turn")
            stem = _plain(body if single else f"{body}_{one}")
            for to, name, at in ((angles, f"{stem}_angle" if single else stem, i), (rates, f"{stem}_rate", j)):
                if (to is angles or joint.nq == joint.nv) and _is_free(name, seen):
                    to[name] = at.start + k, (q if to is angles else v)[at.start + k]
                    seen.add(name)
    return angles, rates


def contact_results(contacts: Mapping[str, Any], taken: Iterable[str]) -> dict[str, tuple[int, int, Variable]]:
    """The forces of single contacts that are results: by name, the indices of contact and axis, and what it is.

    Args:
        contacts: contact points by name; without friction, only the normal force is a result.
        taken: names of other results.

    Examples:
        >>> from jaxgait.mechanics.contact import UnilateralSpring
        >>> from jaxgait.models.tree import ContactPoint
        >>> from jaxgait.models.tree.naming import contact_results
        >>> print(contact_results({"heel": ContactPoint("foot", UnilateralSpring(1e4))}, ()))
        {'heel_force': (0, 2, Variable(unit='N', long_name='normal force on heel', dims=(), reference_of=''))}
    """
    found, seen = dict[str, tuple[int, int, Variable]](), {*taken}
    for i, (contact, one) in enumerate(contacts.items()):
        wanted = [(f"{contact}_force", 2, f"normal force on {contact}")]
        if one.friction is not None:
            wanted.append((f"{contact}_friction", 0, f"friction on {contact}, along x"))
        for name, axis, meaning in wanted:
            if _is_free(_plain(name), seen):
                found[_plain(name)] = i, axis, Variable("N", meaning)
                seen.add(_plain(name))
    return found


def single_results(tree: Topology, contacts: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The results of single joints and their rates (`joint_results`), and of single contacts (`contact_results`).

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge
        >>> from jaxgait.models.tree.naming import single_results
        >>> print(*map(list, single_results(Tree.build(Link("leg", None, hinge((0, 1, 0)), mass=5.0)), {})))
        ['leg_angle'] ['leg_rate'] []
    """
    taken = {*_OF_ALL, *_DIMS, "q", "v", "joint_force", *RESERVED}
    angles, rates = joint_results(tree, taken)
    return angles, rates, contact_results(contacts, {*taken, *angles, *rates})


def variables(tree: Topology, contacts: Mapping[str, Any]) -> dict[str, Variable]:
    """Unit, meaning and dimensions of everything that is observed of a tree, in the order of pictures.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, Tree, hinge
        >>> from jaxgait.models.tree.naming import variables
        >>> list(variables(Tree.build(Link("leg", None, hinge((0, 1, 0)), mass=5.0)), {}))[:4]
        ['q', 'v', 'leg_angle', 'memory']
    """
    q, v = coordinates(tree).values(), velocities(tree).values()
    loads = unit_of_all(one._replace(unit=_LOADS[one.unit]) for one in v)
    axes = "" if all(joint.nq == joint.nv for joint in tree.joints) else " (ball and free: in the body's axes)"
    angles, rates, forces = single_results(tree, contacts)
    return {
        "q": Variable(unit_of_all(q), "coordinates of the joints", ("coordinate",)),
        "v": Variable(unit_of_all(v), f"velocities of the joints{axes}", ("velocity",)),
        **{name: one for name, (_, one) in angles.items()},
        **{name: one for name, (*_, one) in forces.items()},
        **_OF_ALL,
        "joint_force": Variable(loads, "generalised forces of the joints", ("velocity",)),
        **{name: one for name, (_, one) in rates.items()},
    }


def _motion(joint: Joint, one: str) -> str:
    """One motion of a joint in words."""
    if joint.nq > 1:
        return one
    return "joint angle" if one.startswith("turn") else "slide" if one.startswith("slide") else one


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name)


def _is_free(name: str, taken: set[str]) -> bool:
    """Whether no other result has a name, and no name derives from the other as "hip_end" does from "hip"."""
    stems = {name.removesuffix(ending) for ending in ENDINGS}
    return not (taken & {*stems, *(f"{name}{ending}" for ending in ENDINGS)})
