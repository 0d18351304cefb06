"""Observed variables of an exoskeleton: units, meanings and dimensions."""

from __future__ import annotations

from collections.abc import Mapping

from jaxgait.model import Variable

SPATIAL: Mapping[str, Variable] = {
    "x": Variable("m", "link vectors", ("link", "axis")),
    "v": Variable("m/s", "rates of the link vectors", ("link", "axis")),
    "phi": Variable("rad", "azimuth of the links (plane: angle from the horizontal)", ("link",)),
    "psi": Variable("rad", "elevation of the links", ("link",)),
    "l": Variable("m", "length of the links", ("link",)),
    "M_phi": Variable("N m", "joint moment conjugate to phi", ("link",)),
    "M_psi": Variable("N m", "joint moment conjugate to psi", ("link",)),
    "F": Variable("N", "axial force", ("link",)),
    "power_phi": Variable("W", "power of the joint actuators, phi", ("link",)),
    "power_psi": Variable("W", "power of the joint actuators, psi", ("link",)),
    "power_l": Variable("W", "power of the axial actuators", ("link",)),
    "torque": Variable("N m", "physical joint moments", ("link", "axis")),
    "reaction": Variable("N", "ground reaction", ("axis",)),
    "pressure_point": Variable("m", "centre of pressure from the ground joint", ("ground_axis",)),
    "joints": Variable("m", "positions of the proximal and the far end of each link", ("link", "end", "axis")),
    "power": Variable("W", "power of all actuators"),
    "energy": Variable("J", "mechanical energy"),
    "com": Variable("m", "position of the centre of mass from the ground joint", ("axis",)),
    "angular_momentum": Variable("kg m^2/s", "angular momentum about the centre of mass", ("axis",)),
    "tracking_error": Variable("m", "largest distance of a link vector from the prescribed one"),
}
"""Variables in space."""
PLANAR: Mapping[str, Variable] = {
    **SPATIAL,
    "torque": Variable("N m", "physical joint moments", ("link",)),
    "angular_momentum": Variable("kg m^2/s", "angular momentum about the centre of mass"),
}
"""Variables in the plane, where a moment has one component."""
