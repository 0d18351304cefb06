"""Figures of the creeping robot's specification (section 7), over 4 s (four cycles); the paper prints only curves."""

from __future__ import annotations

from jaxgait.report import Expected

ANCHORED, SLIPPING = 2e-3, 2e-2
"""Relative tolerances of displacements."""
FORCE = 1e-4
"""Tolerance in N of the drive force in space."""
CORIOLIS = 1e-6
"""Tolerance in N of the side force of a yawing robot."""
AXIAL_FORCE = 1e-3
"""Tolerance in N of the axial actuator force: extremes of samples."""


def _displacement(value: float, relative: float = ANCHORED) -> Expected:
    return Expected(value, "mm", relative * abs(value))


def _axial(largest: float, smallest: float) -> tuple[Expected, Expected]:
    return Expected(largest, "N", AXIAL_FORCE), Expected(smallest, "N", AXIAL_FORCE)


def _drive(largest: float, smallest: float, across: float, tolerance: float = FORCE) -> tuple[Expected, ...]:
    return Expected(largest, "N", FORCE), Expected(smallest, "N", FORCE), Expected(across, "N", tolerance)


DISPLACEMENT = {
    "against the flow": _displacement(23.7467),
    "no flow": _displacement(23.9529),
    "with the flow": _displacement(24.0824),
    "no hammer": _displacement(23.9224),
    "stiffer pads": _displacement(23.9356),
    "half a beat later": _displacement(23.7467),
    "printed back-flow": _displacement(23.7437),
    "memoryless pads": _displacement(23.9651),
}
ACTUATOR_FORCE = {
    "against the flow": _axial(0.97819, -0.21847),
    "no flow": _axial(0.1145, -0.1182),
    "with the flow": _axial(0.7723, -0.1340),
    "no hammer": _axial(0.2974, -0.2182),
}
"""Largest and smallest."""
GRIP = {mu: _displacement(x) for mu, x in {0.7: 23.694, 0.6: 23.560, 0.56: 23.320, 0.54: 21.884, 0.5: 19.928}.items()}
"""Displacement by the friction of the solid pads."""
SWEPT = {mu: _displacement(x, SLIPPING) for mu, x in {0.45: 18.388, 0.4: -5.267, 0.3: -200.6, 0.1: -1307.0}.items()}
"""The same, where the flow sweeps the robot back."""
THRESHOLD = Expected(0.546, "1", 5e-4)
"""Static estimate of the friction below which the robot slips."""
THRESHOLD_SIMULATED = Expected(0.55, "1", 0.01)
"""Friction at which 5 % of the strokes are lost."""
DRIVE_FORCE = {
    "straight": _drive(0.977961, -0.218175, 0.0),
    "steer": _drive(0.977057, -0.218175, 0.052894),
    "yaw": _drive(0.977888, -0.218224, 1.371e-4, CORIOLIS),
}
"""Drive force by manoeuvre: largest and smallest along x, largest along y."""
PRINTED = {
    "heart-period": Expected(0.8, "s", 1e-12),
    "gait-period": Expected(1, "s", 1e-12),
    "stroke": Expected(0.2, "1", 1e-12),
}
