"""Figures of the knee's specification (section 8 and 12) and of the paper, to compare with."""

from __future__ import annotations

# k (N/m), class, rho, peak (deg) at c/k = 0.05 with set R2; tolerances: P1 rho 2e-5 and 0.01 deg, P2 5e-5 and 0.02 deg
# where five or more digits are given, otherwise half a unit of the last digit.
TABLE_R2 = [
    (1.40e4, 2, 0.990873, 66.05, 5e-5, 0.02),
    (1.80e4, 1, 0.996482, 65.2858, 2e-5, 0.01),
    (2.00e4, 1, 0.9964, 65.0, 1e-4, 0.06),
    (2.40e4, 1, 0.9948, 64.8, 1e-4, 0.06),
    (3.00e4, 1, 0.991714, 64.2705, 2e-5, 0.01),
    (4.00e4, 1, 0.9867, 64.7, 1e-4, 0.06),
]
# Set R3 at c/k = 0.05: k, class, rho, tolerance of rho.
TABLE_R3 = [(1.40e4, 2, 0.9855, 2e-4), (1.52e4, 3, 0.9924, 1e-3), (1.60e4, 1, 0.9947, 5e-5)]
# Knee angle (deg) at phases 0, 0.05, ..., 1 of stride 20, k = 1.8e4, c/k = 0.05.
CURVE = [-7.918, -2.041, 7.169, 13.395, 13.862, 11.306, 7.652, 3.386, 0.150, -0.553, 3.252, 9.272, 20.158]
CURVE += [40.754, 58.559, 65.286, 58.736, 44.695, 21.502, -1.101, -7.918]
# Largest heel and toe force and mean of the sum (N) over the last five strides of the same run.
FORCES = {"heel": 1889.7, "toe": 623.4, "mean": 392.8}
# Critical k (N/m) by c/k: specification's prototype (R2), and what the paper says at 0.05.
CRITICAL = {0.03: 1.3e4, 0.04: 1.5e4, 0.05: 1.54e4, 0.06: 1.8e4, 0.07: 2.6e4}
PAPER_CRITICAL = {0.05: 1.6e4}
# Largest rho over k in 1e4..4e4 and where, by c/k (specification, k steps of 1e3 to 2e3).
BEST = {
    0.02: (0.9980, 1.5e4),
    0.03: (0.9978, 1.7e4),
    0.04: (0.9973, 1.7e4),
    0.05: (0.9965, 1.8e4),
    0.06: (0.9938, 2.2e4),
    0.07: (0.9896, 2.2e4),
    0.08: (0.9869, 1.8e4),
    0.10: (0.9452, 1.7e4),
}
PAPER_BEST = 0.9896
# Centrode (mm) at 0, 10, 30 and 60 deg of flexion, thigh frame, relative to A.
CENTRODE = {"x": [15.283, 18.282, 4.711, -16.874], "y": [79.997, 37.435, 3.974, -3.614]}
