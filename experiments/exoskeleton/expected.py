"""Figures of the exoskeleton's specification (section 6), derived independently of this code, and the paper's times."""

from __future__ import annotations

from jaxgait.report import Expected

READ = 0.01
"""Tolerance in N or N m: two decimals are printed."""


def _extremes(unit: str, smallest: float, largest: float) -> tuple[Expected, Expected]:
    return Expected(smallest, unit, READ), Expected(largest, unit, READ)


EXTREMES = {
    ("M_psi", 1): _extremes("N m", -344.41, 307.52),
    ("M_psi", 2): _extremes("N m", -181.18, 151.66),
    ("M_psi", 3): _extremes("N m", -19.17, 24.67),
    ("M_psi", 4): _extremes("N m", -6.24, 2.85),
    ("M_psi", 5): _extremes("N m", -45.85, 41.36),
    ("M_phi", 1): _extremes("N m", -10.05, 10.02),
    ("F", 1): _extremes("N", 393.12, 492.31),
    ("F", 2): _extremes("N", 343.89, 431.60),
    ("F", 3): _extremes("N", -92.07, -58.97),
    ("F", 4): _extremes("N", -21.82, -10.22),
    ("F", 5): _extremes("N", 107.60, 161.17),
}
"""Smallest and largest over a stride of the literal mode, by actuator and link."""
MEANS = {
    "mean_R_z": Expected(516.1041, "N", 1e-6),
    "mean_M_phi_1": Expected(0.0, "N m", 1e-6),
    "mean_F_5": Expected(141.90165, "N", 1e-6),
    "M_phi_5": Expected(0.0, "N m", 2e-15),
}
"""Means over a stride; `M_phi_5` is the largest value, zero because the torso stands upright."""
STEP = {
    "step_length": Expected(0.432741, "m", 1e-6),
    "speed": Expected(0.480823, "m/s", 1e-6),
    "clearance": Expected(0.0927, "m", 2e-4),
    "penetration": Expected(0.0, "m", 1e-12),
    "knee_stance": Expected(5.0, "deg", 0.05),
    "knee_swing": Expected(38.2, "deg", 0.05),
    "R_z_min": Expected(408.93, "N", READ),
    "R_z_max": Expected(554.15, "N", READ),
    "R_x_min": Expected(-269.30, "N", READ),
    "R_x_max": Expected(290.55, "N", READ),
    "friction": Expected(0.5665, "1", 1e-4),
    "cop_back": Expected(-0.625, "m", 1e-3),
    "cop_front": Expected(0.590, "m", 1e-3),
    "work": Expected(-0.0436048, "J", 1e-4),
    "gain": Expected(-0.0436048, "J", 1e-7),
    "energy": Expected(408.885059, "J", 1e-6),
    "work_psi": Expected(89.3, "J", 0.45),
    "work_axial": Expected(14.0, "J", 0.07),
}
"""One step: `work` is the integral of the sampled power, `gain` the difference of the energies."""
TRACKING = Expected(0.0, "m", 1e-9)
MATHEMATICA = {(1, 2): (0.59, 0.46), (2, 2): (5.3, 0.55), (3, 2): (37.0, 0.79), (2, 3): (113.69, 1.30)}
"""The paper's seconds by (links, dimension): Lagrange's method, matrices."""
MATHEMATICA_RECURRENCE = {(2, 2): 0.59, (3, 2): 0.86}
"""The same for the recurrence."""
