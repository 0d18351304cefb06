"""Figures of the knee's specification (sections 8 and 12) and of the paper."""

from __future__ import annotations

from typing import NamedTuple

from jaxgait.report import Expected

RHO: dict[int | str, float] = {1: 2e-5, 2: 5e-5}
"""Tolerance of rho by period in strides, sets R1 and R2, where six digits are printed."""
RHO_R3: dict[int | str, float] = {1: 5e-5, 2: 2e-4, 3: 1e-3}
"""The same for set R3."""
PEAK: dict[int | str, float] = {1: 0.01, 2: 0.02}
"""Tolerance of the peak flexion in deg by period in strides."""
FOLDED = "folded"
RATIO = 0.05
"""c/k of the damper in s, of the paper's Figures 8 to 11."""


class Case(NamedTuple):
    """A damper and what the specification found after twenty strides.

    Attributes:
        k: stiffness of the damper in N/m.
        order: period in strides (0: irregular), or "folded".
        rho: correlation with the measured knee, as printed.
        peak: peak flexion in deg, as printed.
        ratio: c/k in s.
        lift: scale of the hip's height.
    """

    k: float
    order: int | str
    rho: str | None = None
    peak: str | None = None
    ratio: float = RATIO
    lift: float = 1.0


REFERENCE = [
    Case(1.80e4, 1, "0.996482", "65.2858"),
    Case(1.40e4, 2, "0.990873", "66.05"),
    Case(3.00e4, 1, "0.991714", "64.2705"),
    Case(1.40e4, 1, "0.9979", lift=1.006),
]
"""Set R2: the runs printed with most digits, and the lifted hip."""
SET_R2 = [
    Case(1.22e4, 2, "0.943"),
    Case(1.24e4, 2, "0.945"),
    Case(1.30e4, 2, "0.9813", "66.6"),
    Case(1.52e4, 2, "0.9934", "66.0"),
    Case(1.56e4, 1, "0.9940", "65.9"),
    Case(1.60e4, 1, "0.9946", "65.9"),
    Case(2.00e4, 1, "0.9964", "65.0"),
    Case(2.40e4, 1, "0.9948", "64.8"),
    Case(4.00e4, 1, "0.9867", "64.7"),
    Case(1.40e4, 1, "0.9968", lift=1.003),
    Case(1.52e4, 1, "0.9973", lift=1.003),
    Case(1.40e4, 1, "0.867", lift=0.997),
    Case(1.52e4, 1, "0.895", lift=0.997),
    Case(1.40e4, FOLDED, lift=1.009),
    Case(1.50e4, 1, "0.9980", ratio=0.02),
    Case(1.90e4, FOLDED, ratio=0.02),
    Case(3.20e4, FOLDED, ratio=0.02),
    Case(1.70e4, 1, "0.9978", ratio=0.03),
    Case(3.80e4, FOLDED, ratio=0.03),
    Case(1.70e4, 1, "0.9973", ratio=0.04),
    Case(2.20e4, 1, "0.9938", ratio=0.06),
    Case(2.20e4, 2, "0.9896", ratio=0.07),
    Case(1.80e4, 1, "0.9869", ratio=0.08),
    Case(1.70e4, 1, "0.9452", ratio=0.10),
]
SET_R2_LONG = [Case(1.52e4, 1, "0.9978", lift=1.006)]
"""After 28 strides: the transient is chaotic, see `runs.SETTLED`."""
SET_R1 = [
    Case(1.36e4, 2),
    Case(1.38e4, 2),
    Case(1.56e4, 2),
    Case(1.58e4, 2),
    Case(1.30e4, 0),
    Case(1.50e4, 0),
    Case(1.60e4, 1, "0.9927"),
    Case(1.66e4, 1, "0.993293"),
    Case(2.00e4, 1, "0.995803"),
    Case(3.00e4, 1, "0.992293"),
    Case(1.50e4, 1, lift=1.006),
    Case(2.30e4, FOLDED, ratio=0.03),
]
SET_R3 = [
    Case(1.40e4, 2, "0.9855"),
    Case(1.44e4, 0),
    Case(1.51e4, 3),
    Case(1.52e4, 3, "0.9924"),
    Case(1.54e4, 3),
    Case(1.60e4, 1, "0.9947"),
    Case(1.90e4, 1, "0.9944"),
    Case(2.30e4, 1, "0.9947"),
    Case(3.10e4, 1, "0.9927"),
    Case(1.40e4, 1, "0.9910", lift=1.003),
    Case(1.52e4, 1, "0.9914", lift=1.003),
    Case(1.52e4, 1, "0.9926", lift=1.006),
]


def _cases(cases: list[Case], *k: float) -> list[Case]:
    """The cases at these k, with an unlifted hip and c/k = `RATIO`."""
    found = {c.k: c for c in cases if c.lift == 1.0 and c.ratio == RATIO}
    return [found[value] for value in k]


def _number(printed: str | None, unit: str, tolerance: float) -> Expected:
    return Expected(float(printed or "nan"), unit, tolerance)


def _as_scanned(case: Case) -> tuple[Expected, Expected]:
    """Rho and peak flexion in set R2; where few digits are printed, tolerances allow for the rounding."""
    few = len(case.rho or "") <= len("0.9999")
    rho, peak = (1e-4, 0.06) if few else (RHO[case.order], PEAK[case.order])
    return _number(case.rho, "1", rho), _number(case.peak, "deg", peak)


# At c/k = 0.05 s: case, rho and peak flexion (set R2); case and rho (set R3).
TABLE_R2 = [
    (case, *_as_scanned(case)) for case in _cases(REFERENCE + SET_R2, 1.40e4, 1.80e4, 2.00e4, 2.40e4, 3.00e4, 4.00e4)
]
TABLE_R3 = [(c, _number(c.rho, "1", RHO_R3[c.order])) for c in _cases(SET_R3, 1.40e4, 1.52e4, 1.60e4)]
# Knee angle (deg) at phases 0, 0.05, ..., 1 of stride 20, k = 1.8e4, c/k = 0.05.
CURVE = [-7.918, -2.041, 7.169, 13.395, 13.862, 11.306, 7.652, 3.386, 0.150, -0.553, 3.252, 9.272, 20.158]
CURVE += [40.754, 58.559, 65.286, 58.736, 44.695, 21.502, -1.101, -7.918]
# Tolerance of the knee angle in deg.
CURVE_TOLERANCE = 0.01
# Largest heel and toe force and mean of the sum (N) over the last five strides of the same run.
FORCES = {n: Expected(f, "N", 0.01 * f) for n, f in {"heel": 1889.7, "toe": 623.4, "mean": 392.8}.items()}
# Critical k (N/m) by c/k: the specification with set R2, and what the paper says at 0.05 s.
CRITICAL = {
    ratio: Expected(k, "N/m", 1e3)
    for ratio, k in {0.03: 1.3e4, 0.04: 1.5e4, 0.05: 1.54e4, 0.06: 1.8e4, 0.07: 2.6e4}.items()
}
PAPER_CRITICAL = {0.05: "1.6e4"}
# Largest rho and its k, by c/k. The specification scanned k in steps of 1e3 to 2e3: a finer grid may find 5e-4 more.
BEST = {
    c.ratio: (Expected(round(float(c.rho), 4), "1", 6e-4), Expected(c.k, "N/m", 1e3))
    for c in sorted(REFERENCE[:1] + SET_R2, key=lambda c: c.ratio)
    if c.rho is not None and c.lift == 1.0 and (c.ratio != RATIO or c.k == 1.8e4)
}
PAPER_BEST = 0.9896
OTHER_DRIVE = (
    "The paper's subject and the dimensions of its knee are not available; the reconstruction follows its own measured "
    "knee more closely."
)
OTHER_WINDOWS = "The dimensions are lost; the paper's window of period three appears with set R3, not with R2."
LIFTED = (
    "With set R3, lifting the hip by 1.003 restores period one at both k; at 1.006 and k = 14 kN/m a subharmonic of "
    "2.9 deg remains."
)
FEATURES = {
    "falling peak": ("peak flexion decreases with k (c/k = 0.05 s)", True, ""),
    "rise and fall": ("above critical k, rho rises, then falls", True, ""),
    "critical k": (
        "critical k decreases with c/k",
        False,
        "With the reconstructed sets it increases, from 13 to 25 kN/m for c/k of 0.03 to 0.07 s; Table 3 is lost.",
    ),
    "equal peak": (
        "the k at which peak flexion equals the measured one decreases with c/k",
        False,
        "Here it increases from c/k = 0.03 to 0.04 s, and at 0.05 s the peak never falls to that value.",
    ),
    "faster fall": ("after its maximum, rho falls faster for larger c/k", True, ""),
    "minima": ("below critical k, rho has minima at c/k = 0.03 and 0.05 s", True, ""),
    "above 0.9": ("rho can exceed 0.9", True, ""),
}
"""What the paper says in words: the statement, whether the specification confirms it, and if not, why."""
# Centrode (mm) at 0, 10, 30 and 60 deg of flexion, thigh frame, relative to A.
CENTRODE = {"x": [15.283, 18.282, 4.711, -16.874], "y": [79.997, 37.435, 3.974, -3.614]}


def paper_order(k: float) -> int | None:
    """Period in strides at c/k = 0.05 s that the paper names: two and three in its Figure 8, one from 16 kN/m on."""
    return {1.4e4: 2, 1.52e4: 3}.get(k, 1 if k >= 1.6e4 else None)
