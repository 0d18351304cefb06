"""Figures of the walker's paper (Table 2, section on friction) and of its specification (sections 5 to 8).

A figure that both print has one tolerance: the paper's eight digits scatter with its steps of 0.1 ms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxgait.report import Expected


class Printed(NamedTuple):
    """The specification's figure, and what the paper prints for it in the same unit."""

    expected: Expected
    paper: float


class Walk(NamedTuple):
    """A row of Table 2."""

    length: Printed
    velocity: Printed


def _walk(length: float, velocity: float, our_length: float, our_velocity: float, relative: float) -> Walk:
    return Walk(
        Printed(Expected(our_length, "m", relative * length), length),
        Printed(Expected(our_velocity, "m/s", relative * velocity), velocity),
    )


class Gait(NamedTuple):
    """A periodic gait of the rolling walker."""

    period: Expected
    step_length: Expected
    velocity: Expected
    impulse: Expected


def _gait(period: float, length: float, velocity: float, impulse: float) -> Gait:
    digits = 1e-6
    return Gait(
        Expected(period, "s", digits),
        Expected(length, "m", digits),
        Expected(velocity, "m/s", digits),
        Expected(impulse, "N s", 1e-5),
    )


TABLE_2 = {
    0.0: _walk(0.15364787, 0.37342895, 0.153650, 0.373434, 1e-4),
    0.2: _walk(0.15390431, 0.37401193, 0.15395, 0.37412, 5e-4),
    0.4: _walk(0.15390105, 0.37397416, 0.15386, 0.37388, 5e-4),
    0.6: _walk(0.15379852, 0.37368351, 0.15378, 0.37364, 5e-4),
    0.8: _walk(0.15328113, 0.37260489, 0.15331, 0.37267, 5e-4),
}
"""By restitution."""
IMPULSE = Printed(Expected(0.33499, "N s", 3.4e-4), 0.3351)
"""At heel strike; the tolerance is the scatter of single strikes."""
FREQUENCY = Expected(2.43042, "1/s", 2e-4 * 2.43042)
PAPER_FREQUENCY = "1.91790864"
"""Contradicts the paper's own step lengths and velocities."""
FLIGHT = Expected(14.4, "ms", 0.7)
"""Per step, restitution 0.3."""
SMALLEST_FRICTION = Printed(Expected(0.13, "1", 1e-9), 0.13)
LIMPING = Printed(Expected(1, "1"), 0)
"""How many tried values below the smallest friction still walk."""
LARGEST_SLIPPING = Printed(Expected(0.162, "1", 1e-9), 0.17)
SLIP = {"one_foot": Expected(3.9, "mm", 0.2), "other_foot": Expected(0.01, "mm", 0.005)}
"""Slip per stride at friction 0.13."""

FIXED_POINT = tuple(
    Expected(x, unit, 1e-7) for x, unit in ((0.19357318, "rad"), (-1.43542848, "rad/s"), (-1.11795551, "rad/s"))
)
"""The rigid gait on a slope of 0.01 rad after heel strike: stance angle, stance rate, swing rate."""
RIGID = {"period": 0.41153258, "velocity": 0.37453796}
"""Period in s and velocity in m/s of the same gait, the reference of the smooth walker."""
MULTIPLIERS = {
    "multiplier_real": Expected(0.689589, "1", 1e-5),
    "multiplier_pair_real": Expected(0.292163, "1", 1e-5),
    "multiplier_pair_imag": Expected(0.320817, "1", 1e-5),
}
"""Of the same gait."""
LYAPUNOV = Expected(float(np.log(0.689589)), "1/step", 5e-3)
"""The logarithm of its largest multiplier."""
SLOPES = {
    0.003: _gait(0.411161, 0.102371, 0.248980, 0.15250),
    0.010: _gait(0.411533, 0.154135, 0.374538, 0.33524),
    0.015: _gait(0.412667, 0.177190, 0.429379, 0.43607),
    0.030: _gait(0.418811, 0.225300, 0.537952, 0.68047),
    0.050: _gait(0.429737, 0.269093, 0.626180, 0.93761),
    0.090: _gait(0.453338, 0.330342, 0.728687, 1.33952),
    0.110: _gait(0.465350, 0.354568, 0.761938, 1.50834),
}
"""By slope in rad."""
DOUBLING = Expected(0.115254, "rad", 1e-4)
SECOND_DOUBLING = Expected(0.1265, "rad", 5e-4)

SMOOTH = {
    name: Expected(value, unit, 1e-3 * value)
    for name, value, unit in (("period", RIGID["period"], "s"), ("velocity", RIGID["velocity"], "m/s"))
}
"""The smooth walker at its defaults."""
SET_ERRORS = {
    name: {"period": Expected(period, "%", 0.012), "velocity": Expected(velocity, "%", tolerance)}
    for name, period, velocity, tolerance in (
        ("reference", 0.00, -0.04, 0.012),
        ("recommended", 0.02, 0.08, 0.012),
        ("cheap", 0.06, -0.44, 0.012),
        ("borderline", 0.87, -0.04, 0.012),
        ("too soft", -0.01, -2.2, 0.06),
    )
}
"""Errors of the smooth walker against the rigid gait, by parameter set, to the last digit that is stated."""
BOUNCING = {
    0.2: (0.374523, Expected(0.15, "%", 0.1)),
    0.4: (0.374413, Expected(0.21, "%", 0.1)),
    0.6: (0.374074, Expected(0.24, "%", 0.1)),
}
"""By restitution: velocity in m/s of the time-stepped walker as dt goes to zero, and by how much the specification's
smooth walker was faster."""
IRREGULAR = (0.8, 0.372956, 0.28)
"""Restitution and the same two, in m/s and %. Bounces last from step to step, and the smooth walk never settles: walks
that differ by 1e-9 in the damping have velocities 1 % apart, so that many are compared with the specification's one."""
SMOOTH_FRICTION = {
    mu: velocity and Expected(velocity, "m/s", 2e-3 * velocity)
    for mu, velocity in {
        0.12: None,
        0.125: None,
        0.13: 0.3548,
        0.14: 0.36618,
        0.15: 0.3714,
        0.16: 0.3734,
        0.2: 0.3738,
    }.items()
}
"""Velocity of the smooth walker by friction; None: falls."""
