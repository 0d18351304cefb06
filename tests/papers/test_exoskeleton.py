"""Borisov & Chigarev: reference states, the five-link example, and the misprints of the printed formulas.

The paper prints no numbers of results; the expected ones are those of our specification, derived independently of this
code. Each misprint is tested both ways: the printed formula fails, the corrected one holds.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.exoskeleton.expected import EXTREMES, MEANS, READ, STEP
from jaxgait.models.exoskeleton import dynamics, formulations, vectors
from jaxgait.models.exoskeleton.elements import Planar, Spatial, matrices_of
from jaxgait.models.exoskeleton.model import Exoskeleton, five_links, four_links
from jaxgait.models.exoskeleton.tree import Chain, RodLink
from tests.shared import flat

REFERENCE = 1e-10
TABLE = 2e-6  # digits of the table of the specification
HOLDS = 1e-11
FAILS = 0.1
A = jnp.array

S1_LINKS = [RodLink(0, (0.5, 1.2, 0.8), (0, 0.45, 1)), RodLink(1, (0.3, 0.9, 0.4), (0, 0.6, 1))]
S1 = [
    Planar(A([0.7, -0.4]), A([0.9, 0.6])),
    Planar(A([0.5, -1.1]), A([0.2, -0.3])),
    Planar(A([1.0, 2.0]), A([-0.5, 0.8])),
]
S2_LINKS = [*S1_LINKS, RodLink(1, (0.6, 0.7, 0.2), (0, 0.35, 1), -1)]
S2 = [
    Spatial(A([0.7, -0.4, 1.9]), A([0.5, -0.8, 1.1]), A([0.9, 0.6, 0.75])),
    Spatial(A([0.5, -1.1, 0.3]), A([0.9, 0.4, -0.7]), A([0.2, -0.3, 0.1])),
    Spatial(A([1.0, 2.0, -1.0]), A([0.5, -0.6, 0.7]), A([-0.5, 0.8, 0.3])),
]


def hanging(links, *which):
    return [x._replace(sign=-1) if i + 1 in which else x for i, x in enumerate(links)]


def close(a, b, tolerance=REFERENCE):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=tolerance)


def meets(value, row):
    close(value, row.value, row.tolerance)


# Reference states


def test_planar_reference_state():
    upright, hung = Chain.from_links(S1_LINKS), Chain.from_links(hanging(S1_LINKS, 2))
    close(flat(dynamics.inverse_dynamics(upright, *S1)), [23.1277450816, 5.82106345426, 18.2537040992, -4.76804046882])
    close(flat(dynamics.inverse_dynamics(hung, *S1)), [21.8118099471, -4.20509545426, 15.0742259102, 4.87519246882])
    close(hung.W, [[2.643, -0.94], [-0.94, 0.724]])
    close(hung.rho, [2.94, -0.94])
    force = Planar(A([3.0 - 1.0, 1.0]), A([20.0, -5.0]))  # the second moment acts back on the first link
    found, _ = formulations.forward_dynamics(hung, S1[0], S1[1], force)
    close(flat(found), [-3.27837251334, 30.5924630749, 5.93067316311, -4.59717116635])


def test_spatial_reference_state():
    chain = Chain.from_links(S2_LINKS)
    close(chain.W, [[4.143, 0.94, -0.445], [0.94, 0.724, 0], [-0.445, 0, 0.28575]])
    close(chain.rho, [4.44, 0.94, -0.445])
    forces = dynamics.inverse_dynamics(chain, *S2)
    close(forces.phi, [2.62845234777, -0.202433758803, -0.269624807123])
    close(forces.psi, [36.7777323934, 2.97080748766, -1.43458927205])
    close(forces.l, [15.1849202525, -7.27366995051, -3.94883424864])
    drive = Spatial(A([0.5, -0.2, 0.1]), A([3.0, 1.0, -2.0]), A([20.0, 5.0, -6.0]))
    found, _ = formulations.forward_dynamics(chain, S2[0], S2[1], drive)
    close(found.phi, [3.67332558103, -21.8634984032, -18.5482405652])
    close(found.psi, [-12.0977466074, 2.69758684011, -19.8061102176])
    close(found.l, [1.91317880488, 8.16586733285, -15.7583525653])


# The five-link example

TIMES = (0, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4)
M_PHI = [
    [-4.429158, -3.103261, -0.902863, -0.136284, 0],
    [-6.578301, -3.149332, 0.208947, 0.511277, 0],
    [1.998074, 1.998074, -0.104360, 0.258215, 0],
    [-7.491953, -8.712521, -2.064975, -0.001992, 0],
    [5.551265, 2.447717, 0.481267, 0.129962, 0],
    [2.737800, 2.737800, 0.334175, 1.194739, 0],
]
M_PSI = [
    [-91.502739, -48.143423, -13.984365, -3.677306, 4.760565],
    [-306.530702, -160.045719, 15.152615, 1.197770, -34.202889],
    [-51.854983, -38.267450, 4.720834, -0.483774, -9.856183],
    [298.725287, 148.849881, -14.847381, -5.326268, 37.435967],
    [141.370774, 73.312253, 4.275479, -0.605029, 5.227053],
    [-59.353151, -33.371410, 6.419639, 1.225456, -8.551802],
]
AXIAL = [
    [484.331433, 427.945635, -69.276917, -14.597393, 139.250891],
    [465.921625, 398.431893, -89.128507, -21.137450, 152.507595],
    [399.852988, 344.008307, -58.977305, -11.191264, 108.799384],
    [451.013451, 412.404244, -89.502116, -18.581920, 148.205423],
    [482.725894, 425.780622, -74.467885, -15.719767, 144.552409],
    [436.507613, 378.483052, -62.046774, -14.712781, 123.161118],
]
EXTREME_TIMES = {  # s: of the smallest, of the largest
    ("M_psi", 1): (0.288, 0.642),
    ("M_psi", 2): (0.291, 0.649),
    ("M_psi", 3): (0.603, 0.320),
    ("M_psi", 4): (1.159, 1.436),
    ("M_psi", 5): (0.313, 0.624),
    ("M_phi", 1): (0.607, 1.463),
    ("F", 1): (0.496, 1.588),
}


@pytest.fixture(scope="module")
def literal_and_step():
    """Everything over one stride at 3600 instants, the last one excluded, and at 60 Gauss points of a step."""
    exo = Exoskeleton()
    t = np.arange(3600) * exo.gait.stride_time / 3600
    nodes = (np.polynomial.legendre.leggauss(60)[0] + 1) * exo.gait.stride_time / 4
    found = jax.device_get(jax.jit(jax.vmap(exo.prescribed))(jnp.asarray(np.concatenate([t, nodes]))))
    stride, step = ({name: x[rows] for name, x in found.items()} for rows in (slice(3600), slice(3600, None)))
    return {"t": t, **stride}, step


@pytest.fixture(scope="module")
def literal(literal_and_step):
    return literal_and_step[0]


@pytest.fixture(scope="module")
def walking():
    """Everything over two steps in the mode "gait"."""
    exo = five_links(mode="gait")
    t = np.arange(3600) * exo.gait.stride_time / 3600
    return {"t": t, **jax.device_get(jax.jit(jax.vmap(exo.prescribed))(jnp.asarray(t)))}


def test_constants_of_the_five_links():
    chain = Exoskeleton().chain
    close(chain.moments.zeta, [1.242606375, 3.558716625, 3.558716625, 1.242606375, 10.84875])
    close(chain.moments.eta, [1.593225, 4.665925, 4.665925, 1.593225, 14.465])
    close(
        chain.W,
        [
            [50.942606375, 45.435925, -7.575925, -1.593225, 14.465],
            [45.435925, 44.328716625, -7.575925, -1.593225, 14.465],
            [-7.575925, -7.575925, 6.468716625, 1.593225, 0],
            [-1.593225, -1.593225, 1.593225, 1.242606375, 0],
            [14.465, 14.465, 0, 0, 10.84875],
        ],
    )
    close(chain.rho, [51.293225, 45.435925, -7.575925, -1.593225, 14.465])
    values = np.linalg.eigvalsh(chain.W)
    close(values[[0, -1]], [0.772854, 99.218074], 1e-6)
    close(values[-1] / values[0], 128.38, 5e-3)


def test_table_of_moments_and_forces(literal):
    rows = [round(x * 3600) for x in TIMES]
    close(literal["M_phi"][rows], M_PHI, TABLE)
    close(literal["M_psi"][rows], M_PSI, TABLE)
    close(literal["F"][rows], AXIAL, TABLE)


@pytest.mark.parametrize("which", EXTREMES)
def test_extremes(literal, which):
    name, link = which
    curve = literal[name][:, link - 1]
    for value, row in zip((curve.min(), curve.max()), EXTREMES[which], strict=True):
        meets(value, row)
    if which in EXTREME_TIMES:
        close(literal["t"][[curve.argmin(), curve.argmax()]], EXTREME_TIMES[which], 2e-3)


def test_means_over_a_stride(literal):
    meets(literal["reaction"][:, 2].mean(), MEANS["mean_R_z"])
    meets(five_links().masses.sum() * 9.81, MEANS["mean_R_z"])  # the weight
    meets(literal["M_phi"][:, 0].mean(), MEANS["mean_M_phi_1"])
    meets(literal["F"][:, 4].mean(), MEANS["mean_F_5"])
    dt = literal["t"][1]
    close(literal["power"].sum() * dt, 0.0, 1e-9)
    meets(np.abs(literal["M_phi"][:, 4]).max(), MEANS["M_phi_5"])


def test_moments_agree_where_the_first_link_is_vertical(literal):
    for i in (900, 2700):
        close(literal["M_phi"][i, 0], literal["M_phi"][i, 1], 1e-12)


def test_steps(walking):
    step = {k: v[:1800] for k, v in walking.items()}
    foot, hip = step["joints"][:, 3, 1], step["joints"][:, 1, 1]
    rows = [0, 450, 900, 1350]
    close(
        foot[rows],
        [
            (-STEP["step_length"].value, -0.063874, 0),
            (-0.468898, -0.145414, 0.045874),
            (-0.169985, -0.127549, 0.087377),
            (0.295485, -0.022872, 0.011989),
        ],
        1e-6,
    )
    close(five_links().landing(), (STEP["step_length"].value, -0.063874, 0), 1e-6)
    close(hip[[0, 900]], [(-0.216371, -0.031937, 0.768844), (-0.035640, 0, 0.822456)], 1e-6)
    meets(foot[:, 2].min(), STEP["penetration"])
    meets(foot[:, 2].max(), STEP["clearance"])
    close(step["t"][foot[:, 2].argmax()], 0.402, 2e-3)
    knees = np.degrees([step["psi"][:, 1] - step["psi"][:, 0], step["psi"][:, 2] - step["psi"][:, 3]])
    meets(knees[0].max(), STEP["knee_stance"])
    meets(knees[1].max(), STEP["knee_swing"])
    assert knees.min() > -1e-12
    assert step["l"].min() > 0.38


def test_ground_reaction_of_a_step(walking):
    R, cop = walking["reaction"][:1800], walking["pressure_point"][:1800]
    for axis, name in ((0, "R_x"), (2, "R_z")):
        meets(R[:, axis].min(), STEP[f"{name}_min"])
        meets(R[:, axis].max(), STEP[f"{name}_max"])
    close([R[:, 1].min(), R[:, 1].max()], [-101.76, 82.57], READ)
    meets((np.hypot(R[:, 0], R[:, 1]) / R[:, 2]).max(), STEP["friction"])
    meets(cop[:, 0].min(), STEP["cop_back"])
    meets(cop[:, 0].max(), STEP["cop_front"])


def test_work_of_a_step(literal_and_step):
    stride, out = literal_and_step
    half = Exoskeleton().gait.stride_time / 2
    start, end = stride["energy"][[0, 1800]]
    work = float(np.polynomial.legendre.leggauss(60)[1] @ out["power"]) * half / 2
    meets(work, STEP["gain"])
    close(work, end - start, 1e-9)
    meets(start, STEP["energy"])
    actuators = sum(np.sum(out[f"power_{c}"], axis=1) for c in ("phi", "psi", "l"))
    close(actuators, out["power"], 1e-9)


def test_positive_work_of_a_step(walking):
    dt = walking["t"][1]
    for power, name in (("power_psi", "work_psi"), ("power_l", "work_axial")):
        meets(np.maximum(walking[power][:1800], 0).sum() * dt, STEP[name])


def test_steps_join_without_a_jump(walking):
    """Exchange of roles: where the legs end is where they begin, though their rates jump a little."""
    exo = five_links()
    x, v, _ = vectors.motion(*exo.motion(exo.gait.stride_time / 2))
    before = exo.exchanged(type(exo.initial_state())(x, v))
    after = exo.initial_state()
    close(before.x, after.x, 1e-14)
    jump = np.abs(np.asarray(before.v - after.v))
    close([jump[[0, 3], 1].max(), jump[[1, 2], 2].max(), jump[4, 2]], [0.1404, 0.0805, 0.1152], 1e-4)
    joints = walking["joints"]
    seam = np.abs(joints[1799, :, :, 0].max() - joints[1800, :, :, 0].max())
    assert seam < 1e-3


def test_statics_and_the_other_readings():
    exo = five_links()
    up = Spatial(jnp.zeros(5), jnp.full(5, jnp.pi / 2), jnp.asarray(exo.lengths))
    still = jax.tree.map(jnp.zeros_like, up)
    force = dynamics.inverse_dynamics(exo.chain, up, still, still, 9.81)
    close(force.l, [503.186537, 445.726424, -74.319824, -15.629537, MEANS["mean_F_5"].value], 1e-6)
    close(jnp.concatenate([force.phi, force.psi]), np.zeros(10), 1e-13)
    distal = five_links(split="distal").chain
    close(9.81 * distal.rho[0], 510.323, 1e-3)
    close(five_links(mirror_swing=True).fractions[:, 1], [0.595, 0.545, 0.455, 0.405, 0.5])
    with pytest.raises(ValueError, match="'half' or 'distal'"):
        five_links(split="proximal")


# The paper's formulas as printed


def test_two_links_are_written_as_equation_4():
    import sympy as sp

    for sign, s in ((1, 1), (-1, -1)):
        written = Chain((0, 1), (1, sign), np.ones((2, 3)), np.ones((2, 3))).equations()
        symbols = {x.name: x for e in written.left for x in e.free_symbols}
        text = """
            (zeta_1 + theta_2)*l_1**2*ddphi_1 + s*l_1*l_2*eta_2*C12*ddphi_2 + s*l_1*l_2*eta_2*S12*dphi_2**2
              + (eta_1 + theta_2)*g*l_1*C1 + 2*(zeta_1 + theta_2)*l_1*dl_1*dphi_1 + s*2*l_1*eta_2*C12*dl_2*dphi_2
              - s*l_1*eta_2*S12*ddl_2;
            s*l_1*l_2*eta_2*C12*ddphi_1 + zeta_2*l_2**2*ddphi_2 - s*l_1*l_2*eta_2*S12*dphi_1**2 + s*eta_2*g*l_2*C2
              + s*2*l_2*eta_2*C12*dl_1*dphi_1 + 2*zeta_2*l_2*dl_2*dphi_2 + s*l_2*eta_2*S12*ddl_1;
            s*l_2*eta_2*S12*ddphi_2 - (zeta_1 + theta_2)*l_1*dphi_1**2 - s*l_2*eta_2*C12*dphi_2**2
              + (eta_1 + theta_2)*g*S1 + s*2*eta_2*S12*dl_2*dphi_2 + (zeta_1 + theta_2)*ddl_1 + s*eta_2*C12*ddl_2;
            - s*l_1*eta_2*S12*ddphi_1 - s*l_1*eta_2*C12*dphi_1**2 - zeta_2*l_2*dphi_2**2 + s*eta_2*g*S2
              - s*2*eta_2*S12*dl_1*dphi_1 + s*eta_2*C12*ddl_1 + zeta_2*ddl_2"""
        one, two = symbols["phi_1"], symbols["phi_2"]
        known = {**symbols, "s": s, "C12": sp.cos(one - two), "S12": sp.sin(one - two)}
        known |= {f"C{i}": sp.cos(x) for i, x in ((1, one), (2, two))}
        known |= {f"S{i}": sp.sin(x) for i, x in ((1, one), (2, two))}
        for ours, paper in zip(written.left, text.split(";"), strict=True):
            assert sp.expand(ours - sp.sympify(" ".join(paper.split()), locals=known)) == 0
        assert [str(x) for x in written.right] == ["M_1 - M_2", "M_2", "F_1", "F_2"]


def test_one_link_in_space_equations_13_to_15():
    """(13) and (15) hold as printed; in (14), misprint 1, 2 zeta l l' phi' stands where 2 zeta l l' psi' belongs."""
    chain = Chain.from_links(S1_LINKS[:1])
    (q, rate, acceleration) = (Spatial(*(x[:1] for x in s)) for s in S2)
    zeta, eta = float(chain.moments.zeta[0]), float(chain.moments.eta[0])
    l, c, s = float(q.l[0]), np.cos(q.psi[0]), np.sin(q.psi[0])
    rest = zeta * l**2 * acceleration.psi + zeta * l**2 * c * s * rate.phi**2 + 9.81 * eta * l * c
    force = dynamics.inverse_dynamics(chain, q, rate, acceleration)
    close(rest + 2 * zeta * l * rate.l * rate.psi, force.psi, HOLDS)
    assert abs(float((rest + 2 * zeta * l * rate.l * rate.phi - force.psi)[0])) > 0.01
    turning = l * c**2 * acceleration.phi + 2 * c**2 * rate.l * rate.phi - 2 * l * c * s * rate.phi * rate.psi
    close(zeta * l * turning, force.phi, HOLDS)
    pull = zeta * (acceleration.l - l * c**2 * rate.phi**2 - l * rate.psi**2) + 9.81 * eta * s
    close(pull, force.l, HOLDS)


def test_signs_flip_for_all_coupling_terms_not_for_some():
    """Misprints 2 and 3: the factor is s_i s_j (gravity: s_i); both indices beyond a branch do not flip."""
    links = [*S1_LINKS, S1_LINKS[1]._replace(parent=2)]
    upright, hung = Chain.from_links(links), Chain.from_links(hanging(links, 2, 3))
    s = np.array([1.0, -1.0, -1.0])
    close(hung.W, upright.W * s[:, None] * s[None, :], HOLDS)
    close(hung.rho, upright.rho * s, HOLDS)
    printed = np.where(np.maximum.outer(np.arange(3), np.arange(3)) >= 1, -1.0, 1.0) * np.asarray(upright.W)
    assert np.abs(printed - hung.W)[1:, 1:].max() > FAILS


def test_sums_over_later_links_hold_for_one_sequence_only():
    """Misprint 4: with two links at one joint the sums run over descendants, and the two do not couple."""

    def printed(chain):
        theta, eta, zeta = chain.moments
        later = np.array([theta[i + 1 :].sum() for i in range(chain.size)])
        W = np.diag(zeta + later)
        for i in range(chain.size):
            for j in range(i + 1, chain.size):
                W[i, j] = W[j, i] = eta[j] + later[j]
        return W

    serial = Chain.from_links([*S1_LINKS, S1_LINKS[1]._replace(parent=2)])
    branched = Chain.from_links([*S1_LINKS, S1_LINKS[1]])
    close(printed(serial), serial.W, HOLDS)
    assert np.abs(printed(branched) - branched.W).max() > FAILS
    assert not np.asarray(branched.W)[1, 2]


def transition(plane, q):
    """The corrected transition from planar to spatial elements (the paper's table 18)."""
    C = jnp.cos(q.phi[:, None] - q.phi[None, :])
    c, s = jnp.cos(q.psi), jnp.sin(q.psi)
    ci, cj, si, sj, li, lj = c[:, None], c[None, :], s[:, None], s[None, :], q.l[:, None], q.l[None, :]
    (a, al), (lam, laml), (d, dl), (h, hl), (p, pl) = plane
    return {
        "A": (a * ci * cj, -al * li * si * cj, al * ci * cj),
        "B": (al * li * ci * sj, a * (si * sj + ci * cj / C), dl * (ci * sj - si * cj / C)),
        "Lambda": (lam * ci * cj, h * (ci * sj / C - si * cj), laml * (ci * cj + si * sj / C)),
        "D": (d * ci * cj, a * si * cj, dl * ci * cj),
        "E": (d * ci * cj, a * (si * cj - ci * sj / C), dl * (ci * cj + si * sj / C)),
        "G": (-h * lj * ci * sj, d * si * sj, -al * ci * sj),
        "H": (h * ci * cj, lam * si * cj, hl * ci * cj),
        "K": (-lam * ci * sj, h * (si * sj + ci * cj / C), dl * (ci * sj - si * cj / C) / lj),
        "P": (0 * p, p * c / jnp.cos(q.phi), pl * s / jnp.sin(q.phi)),
    }


@pytest.mark.parametrize("links", [[*S1_LINKS, S1_LINKS[1]._replace(parent=2)], S2_LINKS])
def test_table_18_corrected_holds_and_printed_fails(links):
    """Misprint 8, element by element."""
    chain, q = Chain.from_links(links), S2[0]
    plane, space = dynamics.matrices(chain, Planar(q.phi, q.l)), dynamics.matrices(chain, q)
    for name, rows in transition(plane, q).items():
        for ours, theirs in zip(getattr(space, name), rows, strict=True):
            close(ours, theirs, HOLDS)
    c, s = jnp.cos(q.psi), jnp.sin(q.psi)
    ci, cj, si, sj, lj = c[:, None], c[None, :], s[:, None], s[None, :], q.l[None, :]
    C = jnp.cos(q.phi[:, None] - q.phi[None, :])
    printed = {
        ("E", 0): plane.H[0] * ci * cj,
        ("G", 0): plane.H[0] * lj * ci * sj,
        ("K", 0): plane.Lambda[0] * ci * sj,
        ("A", 1): plane.A[1] * q.l[:, None] * si * cj,
        ("Lambda", 1): plane.H[0] * (ci * sj / C - si * cj / C),
        ("P", 1): plane.P[0],  # p^psi = p^phi cos psi / cos psi
    }
    for (name, row), wrong in printed.items():
        assert float(jnp.abs(getattr(space, name)[row] - wrong).max()) > FAILS, (name, row)


def test_equation_20_holds_for_hanging_links_with_19_as_magnitudes():
    """Misprint 9: the minus signs of (20) belong to s = +,+,-,-; then a_23, a_24 flip too and a_34 does not."""
    upright = Chain((0, 1, 2, 3), (1, 1, 1, 1), *_four())
    hung = four_links().chain
    flips = np.sign(np.asarray(hung.W) / np.asarray(upright.W))
    expected = np.array([[1, 1, -1, -1], [1, 1, -1, -1], [-1, -1, 1, 1], [-1, -1, 1, 1]])
    np.testing.assert_array_equal(flips, expected)
    (m1, m2, m3, m4), (n1, _, n3, n4) = _four()
    close(upright.W[0, 0], m1[1] * n1[1] ** 2 + m1[2] + m2.sum() + m3.sum() + m4.sum(), HOLDS)
    close(upright.W[1, 2], m3[1] * n3[1] + m3[2] + m4.sum(), HOLDS)
    close(upright.W[2, 3], m4[1] * n4[1] + m4[2], HOLDS)


def _four():
    chain = four_links().chain
    return chain.masses, chain.fractions


def test_equation_25_has_a_wrong_length_in_its_last_row():
    """Misprint 10: the entry (n+1, n) is printed with l_n l_n where l_{n+1} l_n belongs."""
    chain, q = Chain.from_links([*S1_LINKS, S1_LINKS[1]._replace(parent=2)]), Planar(S2[0].phi, S2[0].l)
    eta = float(chain.moments.eta[2])
    C = float(jnp.cos(q.phi[2] - q.phi[1]))
    entry = dynamics.matrices(chain, q).A[0][2, 1]
    l2, l3 = float(q.l[1]), float(q.l[2])
    close(entry, eta * l3 * l2 * C, HOLDS)
    assert abs(float(entry) - eta * l2 * l2 * C) > 0.01


def test_the_increment_in_space_has_two_different_cosines():
    """Misprint 10, text: the factor is cos psi_i cos psi_j (printed: cos psi_i twice), for A, Lambda, D, H of row 1."""
    chain, q = Chain.from_links([*S1_LINKS, S1_LINKS[1]._replace(parent=2)]), S2[0]
    plane, space = (matrices_of(*formulations.increment(chain, 3), x) for x in (Planar(q.phi, q.l), q))
    c = jnp.cos(q.psi)
    for name in ("A", "Lambda", "D", "H"):
        ours, flat_one = getattr(space, name)[0], getattr(plane, name)[0]
        close(ours, flat_one * c[:, None] * c[None, :], HOLDS)
        assert float(jnp.abs(ours - flat_one * c[:, None] ** 2).max()) > 0.01
    assert float(jnp.abs(space.E[2] - plane.D[1] * c[:, None] * c[None, :]).max()) > 0.01


def test_the_mass_at_the_elbow_joins_the_parents_far_end():
    """Misprint 6: the second rod's first mass sits at B; at A it would not move and leave the equations alone."""
    moved = [S1_LINKS[0]._replace(masses=(0.5, 1.2, 1.1)), S1_LINKS[1]._replace(masses=(0.0, 0.9, 0.4))]
    close(
        flat(dynamics.inverse_dynamics(Chain.from_links(moved), *S1)),
        flat(dynamics.inverse_dynamics(Chain.from_links(S1_LINKS), *S1)),
        HOLDS,
    )
