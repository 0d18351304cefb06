"""Figures of the jumper's specification (section 7), by profile, and what the paper prints of its model."""

from __future__ import annotations

from math import radians

from jaxgait.report import Expected

PROFILES = ("sequenced", "simultaneous")


def _both(unit: str, sequenced: float, simultaneous: float, tolerance: float) -> dict[str, Expected]:
    return {p: Expected(x, unit, tolerance) for p, x in zip(PROFILES, (sequenced, simultaneous), strict=True)}


def _relative(unit: str, sequenced: float, simultaneous: float, relative: float) -> dict[str, Expected]:
    values = zip(PROFILES, (sequenced, simultaneous), strict=True)
    return {profile: Expected(x, unit, relative * abs(x)) for profile, x in values}


JUMP = {
    "take_off": _both("s", 0.325946, 0.246491, 1e-4),
    "x": _both("m", 0.15104, 0.11821, 1e-4),
    "z": _both("m", 0.95705, 0.91636, 1e-4),
    "vx": _both("m/s", -0.03217, 0.03490, 2e-3),
    "vz": _both("m/s", 2.05401, 2.06792, 2e-3),
    "height": _both("m", 0.21503, 0.21796, 5e-4),
    "apex": _both("m", 1.17208, 1.13432, 5e-4),
    "peak_force": _both("1", 3.0015, 3.9512, 6e-3),
    "angular_momentum": _both("kg m^2/s", -2.881, -6.611, 0.05),
    "pitch": _both("rad", radians(29.071), radians(6.482), radians(0.05)),
}
"""At take-off; forces in body weights."""
HISTORIES = {
    "grf_x_min": _relative("N", -474.5, -21.8, 0.01),
    "grf_x_max": _relative("N", 279.8, 94.2, 0.01),
    "depth": _relative("m", 4.389e-3, 3.836e-3, 0.01),
    "joint_power": _relative("W", 2900.0, 5060.0, 0.01),
    "joint_work": _relative("J", 301.097, 275.644, 0.002),
    "contact_work": _relative("J", -1.883, -0.759, 0.002),
    "energy": _relative("J", 299.214, 274.885, 0.002),
}
"""Extremes; work and gain of energy up to `END`."""
END = {"sequenced": 0.5, "simultaneous": 0.42}
"""Time in s up to which work and energy count."""
LIFT_OFFS = {
    profile: [Expected(t, "s", 2e-4) for t in times]
    for profile, times in {
        "sequenced": (0.1299, 0.1411, 0.1532, 0.1700, 0.2011, 0.3259),
        "simultaneous": (0.1462, 0.1581, 0.1717, 0.1902, 0.2167, 0.2465),
    }.items()
}
"""Of the rows of studs, from heel to toe."""
PRINTED_SWINGS = {
    joint: Expected(x, "deg", 1e-9)
    for joint, x in (("shoulder", 54), ("elbow", 54), ("hip", 90), ("knee", 90), ("ankle", 45))
}
"""The paper's Table 1."""
PRINTED = {
    "bodies": Expected(15, "1"),
    "mass": Expected(70.0, "kg", 1e-9),
    "transition-speed": Expected(0.006, "m/s", 1e-12),
}
"""What else the paper prints."""
