"""Figures of the bungee's specification: section 6 (70 kg, 20 N/m, g = 10 m/s^2) and, without drag, section 5."""

from __future__ import annotations

from typing import NamedTuple

from jaxgait.report import Expected

DIGITS = 1e-6
"""Tolerance in m or s: the digits printed."""
SAMPLED = 1e-5
"""Tolerance in m, s or m/s of values that are read off samples."""


class Slope(NamedTuple):
    """The slope of the clearance at a parameter's value."""

    at: float
    slope: Expected


def _slope(at: float, value: float, unit: str) -> Slope:
    return Slope(at, Expected(value, unit, 1e-4 * abs(value)))


LOWEST = {"time": Expected(7.0839941, "s", DIGITS), "position": Expected(60.4591251, "m", DIGITS)}
CLEARANCE = {
    "clearance": Expected(-10.4591251, "m", DIGITS),
    "clearance-27": Expected(0.8748176, "m", DIGITS),
    "clearance-40kg": Expected(14.787895, "m", SAMPLED),
    "clearance-g": Expected(-9.643392, "m", SAMPLED),
    "no-drag": Expected(-42.662813, "m", DIGITS),
}
"""Figures by id: the defaults, k = 27 N/m, 40 kg, g = 9.81 m/s^2, no drag."""
CRITICAL = {"stiffness": Expected(26.3113115, "N/m", DIGITS), "mass": Expected(57.4597019, "kg", DIGITS)}
"""Where the clearance vanishes, over one parameter."""
SLOPES = {
    "stiffness": _slope(20.0, 2.120072, "m^2/N"),
    "mass": _slope(70.0, -0.829936, "m/kg"),
    "linear_drag": _slope(1.0, 0.895843, "m s/kg"),
    "quadratic_drag": _slope(1.0, 14.79825, "m^2/kg"),
}
AT_TEN_SECONDS = {"x": Expected(38.090567, "m", SAMPLED), "v": Expected(-10.915024, "m/s", SAMPLED)}
