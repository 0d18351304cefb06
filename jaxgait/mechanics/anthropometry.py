"""Body segments of a man by mass and stature: P. de Leva, J. Biomech. 29 (1996) 1223, table 4 (males)."""

from __future__ import annotations

from typing import NamedTuple

from jaxgait.mechanics import Scalar
from jaxgait.precision import float64_default
from jaxgait.support.checks import nearest

REFERENCE_STATURE = 1.741
"""Mean stature in m of de Leva's subjects."""

SHOULDER_BELOW_NECK = 0.0878
"""Shoulder joints below the cervicale in m at the reference stature (from de Leva's trunk lengths)."""

# name: length mm, mass %, centre of mass % of length from the cranial (proximal, heel) end, and radii of gyration % of
# length about the antero-posterior, medio-lateral and longitudinal axis (de Leva's sagittal, transverse, longitudinal).
_TABLE = {
    "head": (242.9, 6.94, 50.02, 30.3, 31.5, 26.1),
    "chest": (242.1, 15.96, 50.66, 50.5, 32.0, 46.5),
    "abdomen": (215.5, 16.33, 45.02, 48.2, 38.3, 46.8),
    "lower_trunk": (145.7, 11.17, 61.15, 61.5, 55.1, 58.7),
    "upper_arm": (281.7, 2.71, 57.72, 28.5, 26.9, 15.8),
    "forearm": (268.9, 1.62, 45.74, 27.6, 26.5, 12.1),
    "hand": (86.2, 0.61, 79.00, 62.8, 51.3, 40.1),
    "thigh": (422.2, 14.16, 40.95, 32.9, 32.9, 14.9),
    "shank": (434.0, 4.33, 44.59, 25.5, 24.9, 10.3),
    "foot": (258.1, 1.37, 44.15, 25.7, 24.5, 12.4),
}


class Segment(NamedTuple):
    """One segment of one side."""

    length: Scalar
    """m."""
    mass: Scalar
    """kg."""
    com: Scalar
    """Distance in m of the centre of mass from the cranial (proximal, heel) end."""
    sagittal: Scalar
    """Moment of inertia about the antero-posterior axis through the centre of mass, kg m^2."""
    transverse: Scalar
    """Moment of inertia about the medio-lateral axis, likewise."""
    longitudinal: Scalar
    """Moment of inertia about the axis along the segment, likewise."""


@float64_default
def segments(mass: Scalar, stature: Scalar) -> dict[str, Segment]:
    """Body segments of an adult male, scaled by his mass in kg and stature in m; limbs for one side.

    Chest and abdomen form one rigid `upper_trunk`.

    Examples:
        >>> from jaxgait.mechanics.anthropometry import segments
        >>> man = segments(70.0, 1.741)
        >>> print(round(man["thigh"].mass, 2), round(man["thigh"].length, 3))  # kg, m: 14.16 % of the body
        9.91 0.422
    """
    scale = stature / REFERENCE_STATURE
    found = {name: _cut(row, mass, row[0] * 1e-3 * scale) for name, row in _TABLE.items()}
    found["upper_trunk"] = _merged(found.pop("chest"), found.pop("abdomen"))
    return found


@float64_default
def segment(name: str, mass: Scalar, length: Scalar) -> Segment:
    """One segment of a given length in m of a man of a given mass in kg.

    Raises:
        KeyError: for an unknown segment, with the nearest ones.

    Examples:
        >>> from jaxgait.mechanics.anthropometry import segment
        >>> shank = segment("shank", 100.0, 0.4)
        >>> print(round(shank.mass, 2), round(shank.com, 3))  # kg; m below the knee
        4.33 0.178
    """
    if name not in _TABLE:
        raise KeyError(f"there is no segment {name!r}: {nearest(name, _TABLE)}")
    return _cut(_TABLE[name], mass, length)


@float64_default
def stature_of(thigh: Scalar, shank: Scalar) -> Scalar:
    """Stature in m of a man from the lengths in m of his thigh and shank.

    Examples:
        >>> from jaxgait.mechanics.anthropometry import stature_of
        >>> round(stature_of(0.4222, 0.434), 3)
        1.741
    """
    return REFERENCE_STATURE * (thigh + shank) / (1e-3 * (_TABLE["thigh"][0] + _TABLE["shank"][0]))


def _cut(row: tuple[float, ...], mass: Scalar, length: Scalar) -> Segment:
    own = row[1] * 1e-2 * mass
    moments = (own * (r * 1e-2 * length) ** 2 for r in row[3:])
    return Segment(length, own, row[2] * 1e-2 * length, *moments)


def _merged(upper: Segment, lower: Segment) -> Segment:
    """Two adjoining segments as one (parallel-axis theorem)."""
    mass = upper.mass + lower.mass
    gap = upper.length + lower.com - upper.com
    shift = upper.mass * lower.mass / mass * gap**2
    return Segment(
        upper.length + lower.length,
        mass,
        upper.com + lower.mass / mass * gap,
        upper.sagittal + lower.sagittal + shift,
        upper.transverse + lower.transverse + shift,
        upper.longitudinal + lower.longitudinal,
    )


@float64_default
def shoulder_height(body: dict[str, Segment], stature: Scalar) -> Scalar:
    """Height in m of the shoulder joints above the lower end of the upper trunk.

    Examples:
        >>> from jaxgait.mechanics.anthropometry import segments, shoulder_height
        >>> print(round(shoulder_height(segments(mass=73.0, stature=1.741), 1.741), 4))
        0.3698
    """
    return body["upper_trunk"].length - SHOULDER_BELOW_NECK * stature / REFERENCE_STATURE


@float64_default
def axes(name: str, s: Segment) -> tuple[Scalar, Scalar, Scalar]:
    """Moments of inertia in kg m^2 about x (forward), y and z (up) of an upright segment, or a foot along x.

    Examples:
        >>> from jaxgait.mechanics.anthropometry import axes, segment
        >>> [round(moment, 3) for moment in axes("thigh", segment("thigh", 70.0, 0.422))]  # kg m^2: slender about z
        [0.191, 0.191, 0.039]
    """
    return (s.longitudinal, s.transverse, s.sagittal) if name == "foot" else (s.sagittal, s.transverse, s.longitudinal)


@float64_default
def diagonal_inertia(x: Scalar, y: Scalar, z: Scalar) -> tuple[tuple[Scalar, ...], ...]:
    """Inertia tensor in kg m^2 from its principal moments.

    Examples:
        >>> from jaxgait.mechanics.anthropometry import diagonal_inertia
        >>> diagonal_inertia(0.2, 0.2, 0.04)
        ((0.2, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.04))
    """
    return ((x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z))
