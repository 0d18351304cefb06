"""Tables of a model's parameters from their declarations in the code, so that they cannot go stale."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxgait import models
from jaxgait.mechanics import contact, friction
from jaxgait.models.creeper import Bearing
from jaxgait.models.prosthesis import Socket
from jaxgait.models.walker.round_feet import RoundFeet
from jaxgait.parameters import ParameterInfo, parameters
from jaxgait.report import table as markdown

Infos = Mapping[str, ParameterInfo]


def _beyond(model: Any, other: Any) -> Infos:
    """The parameters of a model that another one lacks."""
    return {name: info for name, info in parameters(model).items() if name not in parameters(other)}


def _laws(*laws: Any) -> Infos:
    """The parameters of some laws, by law."""
    return {f"{type(law).__name__}.{name}": info for law in laws for name, info in parameters(law).items()}


TABLES: Mapping[str, Callable[[], Infos]] = {
    "bungee": lambda: parameters(models.Bungee()),
    "knee": lambda: parameters(models.Prosthesis()),
    "socket": lambda: _beyond(models.Prosthesis(socket=Socket()), models.Prosthesis()),
    "walker": lambda: parameters(models.Walker()),
    "rigid-walker": lambda: _beyond(models.RigidWalker(), RoundFeet()),
    "exoskeleton": lambda: parameters(models.Exoskeleton()),
    "creeper": lambda: parameters(models.Creeper()),
    "inchworm": lambda: _own(models.Inchworm(), "robot."),
    "chain": lambda: _own(models.CreeperChain(bearing=Bearing()), "robot."),
    "jumper": lambda: parameters(models.Jumper()),
    "spatial-jumper": lambda: _own(models.SpatialJumper(), "plane."),
    "robot": lambda: _own(models.JumpingRobot(), "sole."),
    "normal": lambda: _laws(
        contact.UnilateralSpring(),
        contact.KelvinVoigt(),
        contact.Hertz(),
        contact.HuntCrossley(),
        contact.HystereticHertz(),
        contact.ImpactHertz(),
    ),
    "friction": lambda: _laws(
        friction.Coulomb(), friction.Stribeck(), friction.Bristle(), friction.Dahl(), friction.Incremental()
    ),
}
"""Contents of the tables, by the name that a page gives."""


def _own(model: Any, shared: str) -> Infos:
    """A model's parameters without those of a part, which have its prefix."""
    return {name: info for name, info in parameters(model).items() if not name.startswith(shared)}


def table(name: str) -> str:
    """The parameters of a model, or of the laws of contact, as a Markdown table.

    Args:
        name: of `TABLES`.

    Raises:
        ValueError: for an unknown name.
    """
    if name not in TABLES:
        raise ValueError(f"no table of parameters {name!r}: there are {', '.join(TABLES)}")
    infos = TABLES[name]()
    headings = ["parameter", "default", "unit", "meaning", "source"]
    rows = [[f"`{n}`", shown(x.value, x.unit), unit(x.unit), x.doc, x.source] for n, x in infos.items()]
    width = len(headings) if any(x.source for x in infos.values()) else len(headings) - 1
    return markdown(headings[:width], [row[:width] for row in rows])


def unit(text: str) -> str:
    """A unit as text; "-" for numbers without dimension."""
    return "-" if text == "1" else text.replace("^2", "²").replace("^3", "³")


def shown(value: Any, unit: str) -> str:
    """A value to six digits, rows of an array one below the other; angles in degrees too."""
    array = np.asarray(value, dtype=float)
    if array.ndim == 2:
        return "<br>".join(shown(row, unit) for row in array)
    if array.ndim == 1:
        return ", ".join(_digits(x) for x in array)
    degrees = f" ({_digits(math.degrees(array.item()))}°)" if unit == "rad" and array.item() else ""
    return _digits(array.item()) + degrees


def _digits(x: float) -> str:
    return f"{x:.6g}".replace("e+0", "e").replace("e-0", "e-")
