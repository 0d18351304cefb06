"""The knee's equations: check values, linkage, two formulations, an independent Lagrangian, energy, errors."""

import dataclasses
import math
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

from experiments.exoskeleton.lagrange import dynamics
from jaxgait import precision
from jaxgait.cli.listing import listing
from jaxgait.ensembles import ensemble
from jaxgait.mechanics import fourbar
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.prosthesis.fitting import (
    REFERENCE_MASS,
    REFERENCE_PERSON,
    aligned,
    straight_ankle_height,
    with_drive,
)
from jaxgait.models.prosthesis.leg import KneeState, SocketState, energy
from jaxgait.models.prosthesis.model import THIGH, Prosthesis
from jaxgait.models.prosthesis.parts import Socket
from jaxgait.motion import MotionWarning
from jaxgait.motion.drive import REFERENCE_GAITS, reference_gait
from jaxgait.motion.stride import Person
from jaxgait.native import native
from jaxgait.outcome import code, legend
from jaxgait.parameters import ParameterError, get_parameter, parameters, with_parameters
from tests.models.prosthesis.multipliers import (
    MultiplierState,
    ProsthesisMultipliers,
    closure,
    matrices,
    parts,
    vectors,
)

CHECK_RTOL = 1e-8  # the specification gives ten digits or more, of inputs that it gives with ten
KNEE = with_parameters(Prosthesis(), {"damper.k": 2e4, "damper.c": 1000.0})
LOWER = sum(float(getattr(KNEE.masses, name)) for name in ("AD", "BC", "CD", "shank", "foot"))  # kg, below the thigh
CHECKS = {
    0.12: dict(
        y=KneeState(-0.4, 0.02, -1.4, 0.5),
        q=(0.1570063513228, 0.7946076573448, 0.346548639191, 0.2152790134626, -0.04715438671955, -0.4, 0.02),
        qdd=(-2264.733653312, -3242.141874034, -4698.512732537, 25944.89741012),
        multipliers=(-103.7199170484, -269.3590115441),
        normal=(1644.902464776, 1166.554673458),
        friction=(-986.8723096224, -699.8836208183),
        torques=(0.0, 0.3227214093744, 0.8139033915616),
        length=0.1685120006246,
        heel=(0.2763918764762, -0.01645871728308),
        toe=(0.5143442780628, -0.01169903461007),
    ),
    0.8: dict(
        y=KneeState(-1.87, -0.6, 6.1, 2.0),
        q=(1.017895583893, 0.7955490511357, 0.07275213120027, -0.8359556241889, -1.167211533184, -1.87, -0.6),
        qdd=(65.40992342216, 59.66811712393, 82.5650470222, -1106.012480053),
        multipliers=(-32.35224329235, 9.387531428259),
        normal=(0.0, 0.0),
        friction=(0.0, 0.0),
        torques=(0.0, 4.533704797567, -4.700344911509),
        length=0.1529704711033,
        heel=(0.6486076014996, 0.1681934266734),
        toe=(0.8450374778481, 0.03380851800536),
    ),
}


@pytest.mark.parametrize("t", CHECKS)
def test_check_values_of_the_specification(t):
    c = CHECKS[t]
    _, d, _, o, _ = both_formulations(t, c["y"])
    np.testing.assert_allclose([d.theta_b_rate, d.beta_1_rate], c["qdd"][2:], rtol=CHECK_RTOL)
    np.testing.assert_allclose([o["heel_force"], o["toe_force"]], c["normal"], rtol=CHECK_RTOL, atol=1e-12)
    np.testing.assert_allclose([o["heel_friction"], o["toe_friction"]], c["friction"], rtol=CHECK_RTOL, atol=1e-12)
    torques = [o["lock_torque"], o["damper_torque"], o["ankle_torque"]]
    np.testing.assert_allclose(torques, c["torques"], rtol=CHECK_RTOL, atol=1e-12)
    np.testing.assert_allclose(o["damper_length"], c["length"], rtol=CHECK_RTOL)
    np.testing.assert_allclose(o["points"][-2:], [c["heel"], c["toe"]], rtol=CHECK_RTOL)
    hip = o["points"][0]
    q = [*hip, o["thigh_angle"], o["shank_angle"], o["theta_a"], c["y"].theta_b, c["y"].beta_1]
    np.testing.assert_allclose(q, c["q"], rtol=CHECK_RTOL)


@jax.jit
def both_formulations(t, y):
    """Accelerations and multipliers; of the minimal form: rates, coordinates and outputs; the hip's reaction.

    Newton-Euler about the hip (the outputs) against rows 1 to 3 of the paper (the reaction).
    """
    redundant = ProsthesisMultipliers(KNEE)
    state = redundant.state(t, y)
    q, _, _ = redundant.coordinates(t, state)
    minimal = KNEE.vector_field(t, y), q, KNEE.outputs(t, y)
    return redundant.accelerations(t, state), *minimal, redundant.hip_reaction(t, state)


@pytest.mark.parametrize("t", CHECKS)
def test_multipliers_give_the_same_motion(t):
    c = CHECKS[t]
    (qdd, multipliers), d, q, minimal, reaction = both_formulations(t, c["y"])
    np.testing.assert_allclose(qdd, c["qdd"], rtol=CHECK_RTOL)
    np.testing.assert_allclose(multipliers, c["multipliers"], rtol=CHECK_RTOL)
    np.testing.assert_allclose(qdd[2:], [d.theta_b_rate, d.beta_1_rate], rtol=1e-11)
    assert jnp.linalg.norm(closure(KNEE, q)) < 1e-15
    expected = [minimal["hip_force_x"], minimal["hip_force_y"], minimal["hip_moment"]]
    np.testing.assert_allclose(reaction, expected, rtol=1e-10)


CONFIGURATIONS = [  # knee (deg), thetaA - alpha1, thetaB - alpha1, centre (mm), cylinder (mm): section 5
    (0, -0.188776, -0.446351, 15.283, 79.997, 172.1229),
    (10, -0.454290, -0.834226, 18.282, 37.435, 167.3952),
    (30, -0.870011, -1.428358, 4.711, 3.974, 159.5151),
    (60, -1.359817, -2.103816, -16.874, -3.614, 151.1217),
    (90, -1.778014, -2.627964, -26.095, 5.486, 146.3459),
    (110, -2.040135, -2.915801, -26.033, 13.202, 145.0227),
]


@pytest.mark.parametrize("row", CONFIGURATIONS)
def test_configurations_of_the_linkage(row):
    bars = Prosthesis().linkage.bars
    psi = fourbar.psi_at(bars, math.radians(row[0]))
    knee = fourbar.close(bars, psi)
    centre = fourbar.instantaneous_centre(knee)
    length, _ = Prosthesis().damper.torque(knee.AD, 0.0, Prosthesis().linkage.gamma1)
    np.testing.assert_allclose([fourbar.link_angle(knee), psi], row[1:3], atol=1.01e-6)
    np.testing.assert_allclose([centre.x * 1e3, centre.y * 1e3], row[3:5], atol=1.01e-3)
    np.testing.assert_allclose(length * 1e3, row[5], atol=1.01e-4)
    np.testing.assert_allclose(fourbar.shank_angle(bars, knee), -math.radians(row[0]), atol=1e-14)


@pytest.mark.parametrize(
    ("name", "psi"), [("R1", -0.48372335000453615), ("R2", -0.4463510567591383), ("R3", -0.5412602720501117)]
)
def test_straight_knee_of_each_set(name, psi):
    np.testing.assert_allclose(fourbar.psi_at(Prosthesis().preset(name).linkage.bars, 0.0), psi, rtol=1e-14)


def test_rates_and_bias_are_derivatives_of_the_closure():
    bars = Prosthesis().linkage.bars
    psi, rate = -1.7, 3.3
    angles = lambda p: jnp.stack([fourbar.link_angle(k := fourbar.close(bars, p)), fourbar.shank_angle(bars, k)])
    first = jax.jacfwd(angles)

    @jax.jit
    def seen(psi):
        knee = fourbar.close(bars, psi)
        return [knee.rate_A, knee.rate_S], first(psi), fourbar.bias(bars, knee, rate), jax.jacfwd(first)(psi)

    rates, slopes, bias, curvatures = seen(psi)
    np.testing.assert_allclose(rates, slopes, rtol=1e-12)
    np.testing.assert_allclose(bias, curvatures * rate**2, rtol=1e-10)


def _lagrangian(leg):
    """Kinetic less potential energy from the positions of the centres of mass alone."""
    m, k, s = leg.masses, leg.linkage, leg.segments
    mass = {"thigh": m.thigh, "BE": m.BE, "AD": m.AD, "BC": m.BC, "CD": m.CD, "shank": m.shank, "foot": m.foot}
    rod = lambda a, b: a * b**2 / 12
    spin = [m.inertia_thigh + m.inertia_BE, rod(m.CD, k.l_CD) + rod(m.shank, s.shank), rod(m.AD, k.l_AD)]
    spin = jnp.array([0.0, 0.0, *spin, rod(m.BC, k.l_BC), rod(m.foot, s.foot)])

    def at(q, name):
        position = q[:2]
        for j, length, offset in parts(leg)[name]:
            position = position + length * jnp.stack([jnp.sin(q[j] + offset), -jnp.cos(q[j] + offset)])
        return position

    def lagrangian(q, qd):
        value = 0.5 * jnp.sum(spin * qd**2)
        for name, weight in mass.items():
            position, velocity = jax.jvp(lambda x, name=name: at(x, name), (q,), (qd,))
            value = value + 0.5 * weight * velocity @ velocity - weight * leg.gravity * position[1]
        return value

    return lagrangian


@eqx.filter_jit
def matrices_and_lagrange(leg, q, qd):
    """The matrices of the paper, and mass matrix and bias of an independent Lagrangian."""
    return matrices(leg, q, qd), dynamics(_lagrangian(leg), q, qd)


@pytest.mark.parametrize("t", CHECKS)
def test_matrices_against_an_autodiff_lagrangian(t):
    rng = np.random.default_rng(0)
    qd = jnp.asarray(rng.normal(size=7) * 3)
    (M, C, N), independent = matrices_and_lagrange(precision.cast(KNEE), jnp.asarray(CHECKS[t]["q"]), qd)
    np.testing.assert_allclose(M, independent.mass, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(C @ qd + N, independent.bias, rtol=1e-11, atol=1e-12)


def test_appendix_shank_is_a_consistent_but_different_mechanism():
    """Dropping the shank's mass as printed changes M where the shank's upper end moves."""
    q, qd = jnp.asarray(CHECKS[0.8]["q"]), jnp.arange(1.0, 8.0)
    both = lambda q, qd: [matrices(KNEE, q, qd, appendix_shank=printed) for printed in (False, True)]
    full, printed = jax.device_get(jax.jit(both)(q, qd))
    assert abs(full[0][0, 0] - printed[0][0, 0] - KNEE.masses.shank) < 1e-12
    np.testing.assert_allclose(printed[0][5], full[0][5], atol=0)  # BC never carries the shank
    assert not np.allclose(full[0][3, 3], printed[0][3, 3])
    np.testing.assert_allclose(printed[0], printed[0].T, atol=1e-15)


def test_wrong_lagrangian_is_noticed():
    """The check above can fail: a shank lighter by one per cent is seen."""
    q, qd = jnp.asarray(CHECKS[0.8]["q"]), jnp.ones(7)
    lighter = with_parameters(KNEE, {"masses.shank": 0.99 * KNEE.masses.shank})
    (M, _, _), _ = matrices_and_lagrange(precision.cast(KNEE), q, qd)
    _, independent = matrices_and_lagrange(precision.cast(lighter), q, qd)
    assert not np.allclose(M, independent.mass, rtol=1e-6)


def _free_leg():
    """Section 9: hip fixed with the thigh at 1 rad, no dissipation, no contact, no lock, k = 2e3."""
    drive = Prosthesis().drive
    still = lambda series, a0: eqx.tree_at(lambda s: (s.a0, s.a, s.b), series, (a0, 0 * series.a, 0 * series.b))
    signals = {"hip_x": 0.0, "hip_y": 10.0, "thigh": 1.0, "ankle": 0.0}
    for name, value in signals.items():
        drive = eqx.tree_at(lambda d, n=name: getattr(d, n), drive, still(getattr(drive, name), value))
    drive = eqx.tree_at(lambda d: d.speed, drive, 0.0)
    leg = eqx.tree_at(lambda p: p.drive, Prosthesis(), drive)
    return with_parameters(
        leg, {"damper.k": 2e3, "damper.c": 0.0, "ankle.damping": 0.0, "lock.stiffness": 0.0, "lock.damping": 0.0}
    )


def _energy(leg, t, y):
    rates = leg.leg(t, y)
    q = jnp.stack([rates.hip.hip_x.value, rates.hip.hip_y.value, rates.hip.thigh.value, 0.0, 0.0, y[0], y[1]])
    thigh = rates.hip.thigh.value
    shank = thigh + fourbar.shank_angle(leg.linkage.bars, rates.knee)
    q = q.at[3].set(shank).at[4].set(thigh + fourbar.link_angle(rates.knee))
    qd = jnp.stack([0.0, 0.0, 0.0, rates.shank.rate, rates.link_AD.rate, y[2], y[3]])
    length, _ = leg.damper.torque(rates.knee.AD, 0.0, leg.linkage.gamma1)
    spring = 0.5 * leg.damper.k * (length - leg.damper.rest_length) ** 2
    ankle = 0.5 * leg.ankle.stiffness * (y[1] - shank) ** 2
    lagrangian = _lagrangian(leg)
    return qd @ jax.grad(lagrangian, argnums=1)(q, qd) - lagrangian(q, qd) + spring + ankle


@pytest.mark.slow
def test_energy_is_conserved_and_both_forms_agree_in_free_swing():
    leg, redundant = _free_leg(), ProsthesisMultipliers(_free_leg())
    start = leg.initial_state()
    minimal = jax.jit(lambda t, y: jnp.stack(leg.vector_field(t, KneeState(*y))))
    full = jax.jit(lambda t, y: jnp.stack(redundant.vector_field(t, MultiplierState(*y))))
    options = dict(method="DOP853", rtol=1e-11, atol=1e-11)
    a = solve_ivp(minimal, (0, 1), jnp.stack(start), **options).y[:, -1]
    solution = solve_ivp(full, (0, 1), jnp.stack(redundant.state(0.0, start)), **options)
    b = solution.y[:, -1]
    np.testing.assert_allclose(a, b[[2, 3, 6, 7]], atol=1e-10)
    drift = _energy(leg, 1.0, KneeState(*map(jnp.asarray, a))) - _energy(leg, 0.0, start)
    assert abs(drift) < 1e-9  # the specification's prototype: 6e-13 J at the same tolerance, |E| about 21 J
    q = jnp.concatenate([jnp.array([0.0, 10.0 - 0.1175, 1.0]), jnp.asarray(b[:4])])
    assert jnp.linalg.norm(closure(leg, q)) < 1e-11


@pytest.mark.parametrize("socket", [None, Socket()])
def test_energy_and_knee_change_as_the_outputs_say(socket):
    """On the ground, bent, all joints turning: powers account for the energy, of the entire leg and below the thigh.

    The derivatives are those along the motion, by automatic differentiation.
    """
    leg, y = eqx.tree_at(lambda m: m.socket, KNEE, socket, is_leaf=lambda x: x is None), CHECKS[0.12]["y"]
    if socket is not None:
        y = SocketState(*y, *map(jnp.asarray, (0.003, -0.004, 0.1, 0.2)))

    def changing(t, y):
        """Some outputs; below the thigh, momentum and energy; position of A and angle of the thigh."""
        now, out = leg.leg(t, y), leg.outputs(t, y)
        lower = [body for name, body in leg.bodies(now).items() if name not in THIGH]
        momentum = sum(body.mass * jnp.stack(body.centre.velocity) for body in lower)
        position = jnp.stack([*now.points["A"].position, now.hip.thigh.value])
        found = {name: out[name] for name in ("energy", "damper_length", "knee_angle", "knee_rate")}
        return (found, momentum, energy(lower, leg.gravity), position), out

    def seen(t, y):
        _, rates, out = jax.jvp(changing, (t, y), (jnp.ones_like(t), leg.vector_field(t, y)), has_aux=True)
        return out, *rates

    out, rate, push, work, moved = jax.device_get(
        jax.jit(native(seen))(jnp.asarray(0.12), jax.tree.map(jnp.asarray, y))
    )
    powers = {name: value for name, value in out.items() if name.endswith("_power")}
    assert len(powers) == 5 and abs(powers["ground_power"]) > 1.0 and abs(powers["hip_power"]) > 1.0
    np.testing.assert_allclose(sum(powers.values()), rate["energy"], rtol=1e-9)
    at_A = push - [
        out["heel_friction"] + out["toe_friction"],
        out["heel_force"] + out["toe_force"] - LOWER * leg.gravity,
    ]
    of_thigh = np.dot([*at_A, -out["knee_moment"]], moved)
    assert abs(out["knee_moment"] * moved[2]) > 1.0
    np.testing.assert_allclose(sum(powers.values()) - powers["hip_power"] + of_thigh, work, rtol=1e-9)
    stretch = rate["damper_length"]
    np.testing.assert_allclose(
        out["damper_power"], -leg.damper.force(out["damper_length"], stretch) * stretch, rtol=1e-9
    )
    np.testing.assert_allclose(
        [out["knee_rate"], out["knee_acceleration"]], [rate["knee_angle"], rate["knee_rate"]], rtol=1e-9
    )
    assert float(out["loop_residual"]) < 1e-12


def test_the_meaning_of_folded_is_explained_everywhere():
    meaning = "folded (a dead point of the four-bar knee: its links AD and DC are in line)"
    assert meaning in listing(KNEE).splitlines()
    assert legend(KNEE)[code(KNEE, "folded")] == f"ended early: {meaning}"


def test_socket_becomes_the_rigid_hip_when_stiff():
    """With a very stiff socket whose displacement balances the load, the knee's acceleration is the rigid one."""
    t, y = 0.8, CHECKS[0.8]["y"]
    soft = eqx.tree_at(
        lambda p: p.socket, KNEE, Socket(1e9, 1e9, 0.0, 0.0, load_share=0.0), is_leaf=lambda x: x is None
    )
    o = KNEE.outputs(t, y)
    still = SocketState(*y, -o["hip_force_x"] / 1e9, -o["hip_force_y"] / 1e9, 0.0, 0.0)
    d, rigid = soft.vector_field(t, still), KNEE.vector_field(t, y)
    np.testing.assert_allclose([d.theta_b_rate, d.beta_1_rate], rigid[2:], rtol=1e-4)
    assert abs(d.socket_x_rate) + abs(d.socket_y_rate) < 1e-2


def test_the_trunk_pushes_with_its_share_of_the_measured_load():
    """Hung in the air, the socket's displacement balances the measured load alone: rows 1 and 2 of the whole leg."""
    t, y, share = 0.3, CHECKS[0.8]["y"], 0.7
    high = with_parameters(KNEE, {"height_offset": 10.0})
    socket = Socket(1e9, 1e9, 0.0, 0.0, load_share=share)
    soft = eqx.tree_at(lambda p: p.socket, high, socket, is_leaf=lambda x: x is None)
    o, load = high.outputs(t, y), KNEE.drive.evaluate(t).load
    assert load.y > 600.0
    push = [o["hip_force_x"] + share * load.x, o["hip_force_y"] + share * load.y]
    still = SocketState(*y, -push[0] / 1e9, -push[1] / 1e9, 0.0, 0.0)
    d = soft.vector_field(t, still)
    assert abs(d.socket_x_rate) + abs(d.socket_y_rate) < 1e-2


def test_a_load_that_was_not_measured_raises():
    silent = eqx.tree_at(lambda p: p.drive, KNEE, reference_gait("hbm07_0.98ms"))
    soft = eqx.tree_at(lambda p: p.socket, silent, Socket(), is_leaf=lambda x: x is None)
    with pytest.raises(ParameterError, match=r"load_share needs a measured ground reaction.*hbm07.*ground_x_N"):
        soft.validate()
    with_parameters(soft, {"socket.load_share": 0.0}).validate()


def test_smooth_parameters_have_gradients():
    y = CHECKS[0.8]["y"]
    f = lambda k: with_parameters(KNEE, {"damper.k": k}).vector_field(0.8, y).theta_b_rate
    h = 1.0
    slope, ends = jax.jit(lambda k: (jax.grad(f)(k), jax.vmap(f)(jnp.stack([k + h, k - h]))))(2e4)
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), rtol=1e-7)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"masses.shank": -1.0}, "masses.shank.*positive"),
        ({"linkage.l_AB": 0.0}, "linkage.l_AB.*positive"),
        ({"damper.k": -5.0}, "damper.k.*nonnegative"),
        ({"damper.c": float("nan")}, "damper.c.*finite"),
        ({"linkage.l_AD": 0.3}, r"l_AD=0\.3 m\) cannot be assembled"),
        ({"damper.k": np.array([1e4, -1.0])}, r"got -1 N/m at index \(1,\)"),
        ({"segments.ankle": 1.5}, "from 0 to 1, got 1.5$"),
    ],
)
def test_impossible_knees_raise(changes, message):
    with pytest.raises(ParameterError, match=message):
        with_parameters(Prosthesis(), changes).validate()


def test_vectors_are_positions():
    q = jnp.asarray(CHECKS[0.12]["q"])
    np.testing.assert_allclose(
        q[:2] + vectors(parts(KNEE)["heel"], q).sum(axis=0), CHECKS[0.12]["heel"], rtol=CHECK_RTOL
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["R1", "R2", "R3"])
def test_another_drive_meets_the_floor_as_the_own_one_does(name):
    leg = Prosthesis().preset(name)
    assert with_drive(leg, leg.drive).height_offset == leg.height_offset
    for gait in REFERENCE_GAITS:
        other = with_drive(leg, reference_gait(gait))
        assert straight_ankle_height(other) == pytest.approx(straight_ankle_height(leg), abs=1e-12)
    lifted = with_drive(with_parameters(leg, {"hip_lift": 1.006}), reference_gait(REFERENCE_GAITS[2]))
    own = straight_ankle_height(with_parameters(leg, {"hip_lift": 1.006}))
    assert straight_ankle_height(lifted) == pytest.approx(own, abs=1e-12)


def test_a_drive_is_known_by_its_name():
    named, given = Prosthesis().driven("hbm07_0.98ms"), Prosthesis().driven(reference_gait("hbm07_0.98ms"))
    assert named.drive.name == "hbm07_0.98ms" and float(named.height_offset) == float(given.height_offset)
    for name in ("anna.json", pathlib.Path("anna.json")):
        with pytest.raises(FileNotFoundError, match=r"anna\.json: no such file, nor an embedded gait"):
            Prosthesis().driven(name)


def test_only_a_leg_takes_a_drive():
    with pytest.raises(ParameterError, match="Bungee is not driven by measured motion"):
        Bungee().driven(reference_gait())


@pytest.mark.usefixtures("unaligned")
def test_the_leg_is_cut_to_who_walked():
    """As much longer as that person's thigh and shank, no other part changed, and the residual thigh as heavy."""
    leg = Prosthesis()
    drive = dataclasses.replace(leg.drive, person=Person(thigh=0.45, shank=0.44, mass=70.0))
    fitted = leg.driven(drive)
    assert float(fitted.segments.thigh) == pytest.approx(leg.segments.thigh + 0.45 - REFERENCE_PERSON.thigh)
    assert float(fitted.segments.shank) == pytest.approx(leg.segments.shank + 0.44 - REFERENCE_PERSON.shank)
    assert float(fitted.masses.thigh) == pytest.approx(leg.masses.thigh * 70.0 / 85.07)
    before, after = parameters(leg), parameters(fitted)
    changed = {n for n, p in after.items() if not p.rank and float(p.value) != float(before[n].value)}
    lengths = {"segments.thigh", "segments.shank"}
    assert changed == {*lengths, "masses.thigh", "masses.inertia_thigh", "height_offset"}
    other = dataclasses.replace(leg.drive, person=Person(thigh=0.40, shank=0.39, mass=None))
    for again, alone in ((fitted.driven(other), leg.driven(other)), (fitted.driven(leg.drive), leg)):  # fits do not add
        for name in changed:
            assert float(get_parameter(again, name)) == pytest.approx(float(get_parameter(alone, name)), abs=1e-12)
    unknown = leg.driven(dataclasses.replace(leg.drive, person=None))
    same = {n: p for n, p in parameters(unknown).items() if not p.rank}
    assert all(float(p.value) == pytest.approx(float(before[n].value)) for n, p in same.items())


@pytest.mark.slow
def test_a_fitted_leg_is_aligned():
    """It also walks up to a millimetre off, and carries its share of the weight; earlier heights are forgotten."""
    drive = dataclasses.replace(reference_gait("hbm07_0.98ms"), person=REFERENCE_PERSON)
    leg = Prosthesis().driven(drive)
    heights = float(leg.height_offset) + 1e-3 * np.arange(-12, 19)
    nameless = dataclasses.replace(leg, drive=dataclasses.replace(drive, name="", person=None))  # as `aligned` runs it
    runs = ensemble(nameless, {"height_offset": heights}, strides=10, observe=["rho", "mean_ground_force"], rtol=1e-5)
    assert (runs.status[11:14] == 0).all() and runs.rho[11:14].min() > 0.95
    share = runs.mean_ground_force / (REFERENCE_MASS * 9.81)
    assert share[12] > 0.3 and share[27] < 0.1  # higher, the leg swings well but hardly touches the floor
    moved = with_parameters(leg, {"height_offset": -0.05})
    assert float(aligned(moved).height_offset) == pytest.approx(float(leg.height_offset), abs=1e-12)


@pytest.mark.slow
def test_a_leg_that_walks_at_no_height_is_left_as_it_is():
    leg = with_drive(Prosthesis(), reference_gait("hbm07_0.98ms"))
    limp = with_parameters(leg, {"damper.k": 0.0, "damper.c": 0.0, "cadence": 3.0})
    with pytest.warns(
        MotionWarning, match=r"walks at no height_offset from -0\.12.* to -0\.09.* m, .* was not aligned"
    ):
        assert aligned(limp) is limp


@pytest.mark.parametrize(
    ("softest", "said"),
    [
        (9000.0, "with damper.k = 9000 N/m instead of 18000 and height_offset = -0.1315 m it walks (rho 0.990)"),
        (np.inf, "nor does it with damper.k = 6300, 9000, 12600, 25200, 36000 N/m; look at the hip's path"),
    ],
)
def test_a_leg_that_walks_at_no_height_is_told_the_damper_with_which_it_does(monkeypatch, softest, said):
    def runs(model, members, **request):
        folds = not softest <= float(model.damper.k) < 18000.0
        columns = {"rho": np.full(61, 0.99), "mean_ground_force": np.full(61, 400.0), "status": np.full(61, 10 * folds)}
        return xr.Dataset({name: ("height_offset", x) for name, x in columns.items()})

    monkeypatch.setattr("jaxgait.ensembles.ensemble", runs)
    with pytest.warns(MotionWarning, match=r"walks at no height_offset .* was not aligned: ") as caught:
        aligned(Prosthesis())
    assert said in str(caught[0].message)


def test_the_lowest_of_the_good_heights_is_taken(monkeypatch):
    """Of heights at which it walks, with load; a `rho` without a value does not count. People share one program."""
    asked = []

    def runs(model, members, **request):
        asked.append((model, request["progress"]))
        rho, force, status = np.full(61, 0.9), np.full(61, 400.0), np.zeros(61, int)
        rho[5:8], rho[9:13], rho[14:19], rho[34:39], rho[50:55] = np.nan, 0.999, 0.999, 0.999, 0.999
        status[[13, 16]], force[36] = 10, 50.0  # four heights in a row are too few; one that folds; one without load
        rho[20:26] = [0.995, 0.991, 0.996, 0.995, 0.996, 0.995]
        columns = {"rho": rho, "mean_ground_force": force, "status": status}
        return xr.Dataset({name: ("height_offset", x) for name, x in columns.items()})

    monkeypatch.setattr("jaxgait.ensembles.ensemble", runs)
    leg = Prosthesis()
    assert float(aligned(leg).height_offset) == pytest.approx(float(leg.height_offset) - 4e-3, abs=1e-12)  # the 22nd
    someone = dataclasses.replace(leg.drive, name="someone", person=Person(0.4, 0.4, None))
    aligned(dataclasses.replace(leg, drive=someone))
    assert jax.tree.structure(asked[0][0]) == jax.tree.structure(asked[1][0]) and not any(shown for _, shown in asked)
