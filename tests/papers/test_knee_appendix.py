"""Appendix A of the paper, entry by entry, as printed: M, C, N and J against the formulation with multipliers.

Brackets that the appendix repeats are named once: a pair (x, y) holds the derivatives of a point's position by the
angle that moves it. Rates are factored out of the entries of C.

Source: Lü et al., Chin. J. Theor. Appl. Mech. 52 (2020) 1157, appendix A.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from numpy import cos, sin

from jaxgait.models.prosthesis.leg import KneeState
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.parameters import with_parameters
from tests.models.prosthesis.multipliers import ProsthesisMultipliers, jacobian, matrices, parts

RTOL = 1e-13  # rounding of sums of a few terms, relative to the largest entry
KNEE = with_parameters(Prosthesis(), {"linkage.gamma1": 1.3, "segments.ankle": 0.2})  # no right angle hides anything

MISPRINTED = {("M", 4, 4), ("C", 3, 4)}
NOT_LISTED = {("M", 5, 7), ("C", 3, 3)}
WITHOUT_SHANK_MASS = {
    "M": {11, 22, 13, 14, 15, 23, 24, 25, 33, 34, 35, 44, 45, 55},
    "N": {21, 31, 41, 51},
}
"""Entries (row, column in one number) from which the appendix drops the mass of the shank, wholly or in part."""


class Pair(NamedTuple):
    x: float
    y: float


class Brackets(NamedTuple):
    """The appendix's repeated brackets at one point."""

    A: Pair
    """Pivot A by alpha1."""
    B: Pair
    """Pivot B by alpha1."""
    BE: Pair
    """Centre of the upper bar by alpha1."""
    K: Pair
    """Ankle against D by alpha11."""
    foot: Pair
    """Centre of the foot by beta1."""
    CD: Pair
    """Half the lower bar by alpha11 (the appendix subtracts it)."""


def brackets(leg, q):
    k, s = leg.linkage, leg.segments
    _, _, a1, a11, _, _, b1 = q
    c, s1 = cos(a1 + k.gamma1), sin(a1 + k.gamma1)
    d, s2 = cos(a11 + k.gamma2), sin(a11 + k.gamma2)
    tx, ty = s.thigh * cos(a1), s.thigh * sin(a1)
    return Brackets(
        Pair(-k.l_AE * c + tx, -k.l_AE * s1 + ty),
        Pair(-k.l_AB * c - k.l_AE * c + tx, -k.l_AB * s1 - k.l_AE * s1 + ty),
        Pair(0.5 * (-k.l_AB - k.l_AE) * c + tx, -0.5 * (k.l_AB + k.l_AE) * s1 + ty),
        Pair(-k.l_DF * d + s.shank * cos(a11), -k.l_DF * s2 + s.shank * sin(a11)),
        Pair(-0.5 * s.foot * sin(b1) + s.foot * s.ankle * sin(b1), 0.5 * s.foot * cos(b1) - s.foot * s.ankle * cos(b1)),
        Pair(0.5 * k.l_CD * d, 0.5 * k.l_CD * s2),
    )


def inertias(leg):
    m, k, s = leg.masses, leg.linkage, leg.segments
    rods = {"AD": (m.AD, k.l_AD), "BC": (m.BC, k.l_BC), "CD": (m.CD, k.l_CD)}
    rods |= {"s": (m.shank, s.shank), "f": (m.foot, s.foot)}
    return {"t": m.inertia_thigh, "BE": m.inertia_BE} | {n: mass * l**2 / 12 for n, (mass, l) in rods.items()}


def printed_M(leg, q, corrected=False):
    """Entries of the mass matrix as listed (the upper triangle)."""
    m, k, s, inertia = leg.masses, leg.linkage, leg.segments, inertias(leg)
    A, B, BE, K, foot, CD = brackets(leg, q)
    _, _, a1, a11, ta, tb, _ = q
    half_BC = 0.5 * m.BC * k.l_BC
    on_AD = 0.5 * m.AD * k.l_AD + m.CD * k.l_AD + m.foot * k.l_AD
    at_A = m.AD + m.CD + m.foot
    lost = -k.l_DF * sin(a11) + k.gamma2 + s.shank * sin(a11)  # the bracket of sin(alpha11 + gamma2) is lost in M44
    c, s1 = cos(a1 + k.gamma1), sin(a1 + k.gamma1)
    total = m.AD + m.BC + m.BE + m.CD + m.foot + m.thigh
    return {
        11: total,
        12: 0.0,
        13: at_A * A.x + m.BC * B.x + m.BE * BE.x + 0.5 * m.thigh * s.thigh * cos(a1),
        14: -m.CD * CD.x + m.foot * K.x,
        15: on_AD * cos(ta),
        16: half_BC * cos(tb),
        17: m.foot * foot.x,
        22: total,
        23: at_A * A.y + m.BC * B.y + m.BE * BE.y + 0.5 * m.thigh * s.thigh * sin(a1),
        24: -m.CD * CD.y + m.foot * K.y,
        25: on_AD * sin(ta),
        26: half_BC * sin(tb),
        27: m.foot * foot.y,
        33: inertia["BE"]
        + inertia["t"]
        + at_A * (A.x**2 + A.y**2)
        + m.BC * (B.x**2 + B.y**2)
        + m.BE * (BE.x**2 + BE.y**2)
        + 0.25 * m.thigh * s.thigh**2,
        34: -m.CD * CD.x * A.x - m.CD * CD.y * A.y + m.foot * K.x * A.x + m.foot * K.y * A.y,
        35: on_AD * (cos(ta) * A.x + sin(ta) * A.y),
        36: half_BC * cos(tb) * (-k.l_AB * c - k.l_AE * c)
        + half_BC * sin(tb) * (-k.l_AB * s1 - k.l_AE * s1)
        + half_BC * s.thigh * cos(tb - a1),
        37: m.foot * A.y * foot.y + m.foot * A.x * foot.x,
        44: inertia["CD"]
        + inertia["s"]
        + m.CD * (CD.x**2 + CD.y**2)
        + m.foot * K.x**2
        + m.foot * (K.y if corrected else lost) ** 2
        + 0.25 * m.shank * s.shank**2,
        45: k.l_AD * (-m.CD * CD.x * cos(ta) - m.CD * CD.y * sin(ta) + m.foot * cos(ta) * K.x + m.foot * sin(ta) * K.y),
        46: 0.0,
        47: m.foot * K.y * foot.y + m.foot * K.x * foot.x,
        55: inertia["AD"] + 0.25 * m.AD * k.l_AD**2 + m.CD * k.l_AD**2 + m.foot * k.l_AD**2,
        56: 0.0,
        66: inertia["BC"] + 0.25 * m.BC * k.l_BC**2,
        67: 0.0,
        77: inertia["f"] + m.foot * foot.y**2 + m.foot * foot.x**2,
    }


def printed_C(leg, q, qd, corrected=False):
    """Entries of the matrix of Coriolis and centrifugal terms as listed."""
    m, k, s = leg.masses, leg.linkage, leg.segments
    A, B, BE, K, foot, CD = brackets(leg, q)
    _, _, a1, a11, ta, tb, _ = q
    _, _, a1d, a11d, tad, tbd, b1d = qd
    half_BC = 0.5 * m.BC * k.l_BC
    on_AD = 0.5 * m.AD * k.l_AD + m.CD * k.l_AD + m.foot * k.l_AD
    at_A = m.AD + m.CD + m.foot
    d, s2 = cos(a11 + k.gamma2), sin(a11 + k.gamma2)
    wrong = a11 if corrected else a1  # the fourth line of C34 has cos alpha1 for cos alpha11
    zeros = {10 * row + column: 0.0 for row in range(1, 8) for column in (1, 2)}
    zeros |= dict.fromkeys((64, 55, 65, 46, 56, 66, 76, 67), 0.0)
    return zeros | {
        13: a1d * (-0.5 * s.thigh * m.thigh * sin(a1) - m.BE * BE.y - at_A * A.y - m.BC * B.y),
        23: a1d * (0.5 * s.thigh * m.thigh * cos(a1) + at_A * A.x + m.BC * B.x + m.BE * BE.x),
        43: a1d * (-m.CD * CD.y * A.x + K.y * m.foot * A.x + m.CD * CD.x * A.y - K.x * m.foot * A.y),
        53: a1d * on_AD * (sin(ta) * A.x - cos(ta) * A.y),
        63: a1d * half_BC * (sin(tb) * B.x - cos(tb) * B.y),
        73: a1d * m.foot * (A.x * foot.y - A.y * foot.x),
        14: a11d * (m.CD * CD.y - m.foot * K.y),
        24: a11d * (-m.CD * CD.x + m.foot * K.x),
        34: a11d
        * (
            m.CD * CD.y * A.x
            - m.CD * CD.x * A.y
            - k.l_DF * m.foot * d * A.y
            + s.shank * m.foot * cos(wrong) * A.y
            + k.l_DF * m.foot * s2 * A.x
            - s.shank * m.foot * sin(a11) * A.x
        ),
        44: a11d * m.foot * (K.x * K.y - K.y * K.x),
        54: a11d * k.l_AD * (m.CD * (cos(ta) * CD.y - CD.x * sin(ta)) + m.foot * (sin(ta) * K.x - cos(ta) * K.y)),
        74: a11d * m.foot * (foot.y * K.x - foot.x * K.y),
        15: -tad * on_AD * sin(ta),
        25: tad * on_AD * cos(ta),
        35: tad * on_AD * (-sin(ta) * A.x + cos(ta) * A.y),
        45: tad * k.l_AD * (m.CD * (-cos(ta) * CD.y + CD.x * sin(ta)) + m.foot * (-sin(ta) * K.x + cos(ta) * K.y)),
        75: tad * k.l_AD * m.foot * (cos(ta) * foot.y - sin(ta) * foot.x),
        16: -tbd * half_BC * sin(tb),
        26: tbd * half_BC * cos(tb),
        36: tbd * half_BC * (-sin(tb) * B.x + cos(tb) * B.y),
        17: -b1d * m.foot * foot.y,
        27: b1d * m.foot * foot.x,
        37: b1d * m.foot * (-foot.y * A.x + foot.x * A.y),
        47: b1d * m.foot * (-foot.y * K.x + foot.x * K.y),
        57: b1d * k.l_AD * m.foot * (-cos(ta) * foot.y + sin(ta) * foot.x),
        77: b1d * m.foot * (-foot.y * foot.x + foot.x * foot.y),
    }


def printed_N(leg, q):
    """The weights as listed."""
    m, k, s = leg.masses, leg.linkage, leg.segments
    A, B, BE, K, foot, CD = brackets(leg, q)
    _, _, a1, a11, ta, tb, _ = q
    on_AD = 0.5 * m.AD + m.CD + m.foot
    thigh = 0.5 * s.thigh * m.thigh * sin(a1)
    N = {
        11: 0.0,
        21: m.AD + m.BC + m.BE + m.CD + m.foot + m.thigh,
        31: thigh + (m.AD + m.CD + m.foot) * A.y + m.BC * B.y + m.BE * BE.y,
        41: 0.5 * s.shank * m.shank * sin(a11) - m.CD * CD.y + m.foot * K.y,
        51: k.l_AD * on_AD * sin(ta),
        61: 0.5 * k.l_BC * m.BC * sin(tb),
        71: m.foot * foot.y,
    }
    return {index: leg.gravity * value for index, value in N.items()}


def printed_J(leg, q):
    """Rows: depths of heel and toe, forward positions of heel and toe, lock on link BC, lock on the thigh."""
    k, s = leg.linkage, leg.segments
    A, _, _, K, _, _ = brackets(leg, q)
    _, _, _, _, ta, _, b1 = q
    heel, toe = s.foot * s.ankle, -s.foot * (1.0 - s.ankle)
    depth, forward = [0.0, -1.0, -A.y, -K.y, -k.l_AD * sin(ta), 0.0], [1.0, 0.0, A.x, K.x, k.l_AD * cos(ta), 0.0]
    return np.array(
        [
            [*depth, heel * cos(b1)],
            [*depth, toe * cos(b1)],
            [*forward, heel * sin(b1)],
            [*forward, toe * sin(b1)],
            [0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )


@pytest.fixture(params=range(3))
def point(request):
    rng = np.random.default_rng(request.param)
    return rng.uniform(-2.0, 2.0, 7), rng.uniform(-3.0, 3.0, 7)


def _ours(q, qd, appendix_shank=True):
    M, C, N = matrices(KNEE, jnp.asarray(q), jnp.asarray(qd), appendix_shank=appendix_shank)
    return {"M": np.asarray(M), "C": np.asarray(C), "N": np.asarray(N)[:, None]}


def _printed(q, qd, corrected=False):
    return {"M": printed_M(KNEE, q, corrected), "C": printed_C(KNEE, q, qd, corrected), "N": printed_N(KNEE, q)}


def _disagreeing(q, qd, corrected):
    ours = _ours(q, qd)
    return {
        (name, index // 10, index % 10)
        for name, entries in _printed(q, qd, corrected).items()
        for index, value in entries.items()
        if abs(value - ours[name][index // 10 - 1, index % 10 - 1]) > RTOL * np.abs(ours[name]).max()
    }


def test_every_listed_entry_but_the_misprints_agrees(point):
    assert _disagreeing(*point, corrected=False) == MISPRINTED


def test_misprints_agree_when_corrected(point):
    assert _disagreeing(*point, corrected=True) == set()


def test_all_entries_are_listed_but_two(point):
    printed, ours = _printed(*point), _ours(*point)
    upper = {("M", i, j) for i in range(1, 8) for j in range(i, 8)}
    rest = {("C", i, j) for i in range(1, 8) for j in range(1, 8)} | {("N", i, 1) for i in range(1, 8)}
    listed = {(name, index // 10, index % 10) for name, entries in printed.items() for index in entries}
    assert upper | rest == listed | NOT_LISTED
    (_, _, _, _, ta, _, b1), m, s = point[0], KNEE.masses, KNEE.segments
    coupling = m.foot * KNEE.linkage.l_AD * s.foot * (0.5 - s.ankle) * sin(ta - b1)
    np.testing.assert_allclose(ours["M"][4, 6], coupling, rtol=1e-12)  # not zero
    assert abs(ours["C"][2, 2]) < 1e-14


def test_where_the_appendix_drops_the_shank(point):
    printed, full = _ours(*point), _ours(*point, appendix_shank=False)
    for name, indices in WITHOUT_SHANK_MASS.items():
        differing = {(int(i) + 1, int(j) + 1) for i, j in np.argwhere(np.abs(full[name] - printed[name]) > 1e-12)}
        expected = {(i // 10, i % 10) for i in indices}
        assert differing == (expected | {(j, i) for i, j in expected} if name == "M" else expected)


def test_force_jacobian_has_the_sign_of_its_normal_rows_wrong():
    """Rows 1 and 2 are derivatives of depths: with forces upward on the foot they must be turned round."""
    leg, t, y = Prosthesis(), 0.12, KneeState(-0.05, 0.02, -1.4, 0.5)
    silent = {"damper.k": 0.0, "damper.c": 0.0, "ankle.stiffness": 0.0, "ankle.damping": 0.0}
    leg = with_parameters(leg, {**silent, "height_offset": -0.1375})  # both ends of the foot in the ground
    redundant, o = ProsthesisMultipliers(leg), leg.outputs(t, y)
    q, qd, _ = redundant.coordinates(t, redundant.state(t, y))
    J = printed_J(leg, np.asarray(q))
    heel, toe = jacobian(parts(leg)["heel"], q), jacobian(parts(leg)["toe"], q)
    np.testing.assert_allclose(J[:4], np.stack([-heel[1], -toe[1], heel[0], toe[0]]), atol=1e-15)
    forces = [o[n] for n in ("heel_force", "toe_force", "heel_friction", "toe_friction", "lock_torque", "lock_torque")]
    assert min(abs(float(f)) for f in forces) > 0.1  # everything acts
    corrected = J * np.array([-1.0, -1.0, 1.0, 1.0, 1.0, 1.0])[:, None]
    ours = redundant.forces(t, redundant.state(t, y), q, qd)
    np.testing.assert_allclose(corrected.T @ np.array(forces), ours, rtol=1e-10, atol=1e-9)
    assert not np.allclose(J.T @ np.array(forces), ours, rtol=1e-2)
