"""Links, contacts, drives and starts of a tree of bodies by name, from what users give."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx

from jaxgait.mechanics.spatial import Link
from jaxgait.models.tree.parts import ContactPoint, law
from jaxgait.parameters import ParameterError
from jaxgait.support.checks import shown


def links_by_name(links: Any) -> Any:
    """Links by name, from a list of them or a mapping.

    Raises:
        ParameterError: for anything else, for none, and for names that are taken or unknown.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, hinge
        >>> from jaxgait.models.tree.inputs import links_by_name
        >>> print(*links_by_name([Link("leg", None, hinge((0, 1, 0)), mass=2.0)]))
        leg
    """
    values = list(links.values() if isinstance(links, Mapping) else links) if isinstance(links, Iterable) else [links]
    if not all(isinstance(link, Link) for link in values):
        raise ParameterError(f"links must be a list of Link, got {shown(links)}")
    if not values:
        raise ParameterError("links is empty: a mechanism has at least one body")
    found = OrderedDict((link.name, link) for link in values)
    if len(found) < len(values):
        names = [link.name for link in values]
        raise ParameterError(f"two links are called {next(n for n in names if names.count(n) > 1)!r}: rename one")
    for i, link in enumerate(values):
        if link.parent not in (None, *(before := list(found)[:i])):
            choose = "choose one of " + ", ".join(before) if before else "choose None, the world"
            raise ParameterError(f"links[{link.name!r}]: no body {link.parent!r} before it; {choose}")
    return found


def contacts_by_name(contacts: Any) -> Any:
    """Contact points by name.

    Raises:
        ParameterError: for anything but a mapping of names to contact points.

    Examples:
        >>> from jaxgait.mechanics.contact import UnilateralSpring
        >>> from jaxgait.models.tree import ContactPoint
        >>> from jaxgait.models.tree.inputs import contacts_by_name
        >>> print(*contacts_by_name({"heel": ContactPoint("foot", UnilateralSpring(1e4))}))  # N/m
        heel
    """
    found = _named("contacts", '{"heel": ContactPoint("foot", ...)}', contacts)
    for name, contact in found.items():
        if not isinstance(contact, ContactPoint):
            raise ParameterError(f"contacts[{name!r}] must be a ContactPoint, got {shown(contact)}")
    return found


def drives_by_name(drives: Any) -> Any:
    """Drives by name; those that are plain functions become modules.

    Raises:
        ParameterError: for anything but a mapping of names to drives.

    Examples:
        >>> from jaxgait.models.tree.inputs import drives_by_name
        >>> print(type(drives_by_name({"motor": lambda t, q, v: -2.0 * v})["motor"]).__name__)  # N m
        Function
    """
    found = _named("drives", '{"knee": Spring("shank", stiffness=2.0)}', drives)
    for name, drive in found.items():
        if isinstance(drive, type) or not (isinstance(drive, eqx.Module) or callable(drive)):
            what = (
                f"drives[{name!r}] must be a drive, such as Spring('shank', stiffness=2.0), or a function of (t, q, v)"
            )
            raise ParameterError(f"{what}, got {shown(drive)}")
    return OrderedDict((name, law(drive)) for name, drive in found.items())


def start_by_name(start: Any) -> Any:
    """Coordinates in m and rad, or their rates, by name.

    Raises:
        ParameterError: for anything but a mapping of names.

    Examples:
        >>> from jaxgait.models.tree.inputs import start_by_name
        >>> print(start_by_name({"knee": 0.1}))  # rad
        {'knee': 0.1}
    """
    return dict(_named("start and start_rates", '{"knee": 0.1}', start))


def _named(what: str, example: str, mapping: Any) -> OrderedDict[str, Any]:
    if not isinstance(mapping, Mapping) or not all(isinstance(name, str) for name in mapping):
        raise ParameterError(f"{what} must be given by name, such as {example}, got {shown(mapping)}")
    return OrderedDict(mapping)
