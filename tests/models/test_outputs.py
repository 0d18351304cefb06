"""Outputs that no other test proves, each against a relation that does not use its formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import precision, simulate
from jaxgait.mechanics.anthropometry import segments, shoulder_height, stature_of
from jaxgait.models import CreeperChain, Jumper, Prosthesis, RigidWalker, RollingWalker, SpatialJumper, Walker
from jaxgait.models.prosthesis.leg import SocketState
from jaxgait.models.prosthesis.parts import Socket
from jaxgait.models.walker.round_feet import WalkerState
from jaxgait.parts import with_parts

LEGS = dict(mass=1.3, com_offset=0.12, leg_length=0.42, foot_radius=0.09, slope=0.03)
WALKING = WalkerState(0.1, 0.41, 0.17, -0.23, 0.6, -0.04, -1.4, -0.9)


def changing(model, t, y):
    """Outputs, and their rates along the motion, by automatic differentiation."""

    def moved(t, y):
        return jax.jvp(model.outputs, (t, y), (jnp.ones_like(t), model.vector_field(t, y)))

    return jax.device_get(jax.jit(moved)(jnp.asarray(t), jax.tree.map(jnp.asarray, y)))


def centres(q, down):
    """Points (2,) at a distance `down` in m from the hip along both legs, in the axes of the slope."""
    return [np.array([q[0] + down * np.sin(angle), q[1] - down * np.cos(angle)]) for angle in q[2:4]]


def level(point):
    """Height in m of a point in the axes of the slope."""
    return point[1] * np.cos(LEGS["slope"]) - point[0] * np.sin(LEGS["slope"])


@pytest.mark.parametrize("kind", [Walker, RigidWalker])
def test_feet_and_heights_of_a_walker(kind):
    """A foot slips by how its lowest material point moves: with the arc's centre, and as the leg turns the arc."""
    out, radius, dt = kind(**LEGS).outputs(0.0, precision.cast(WALKING)), LEGS["foot_radius"], 1e-6
    q, u = np.array(WALKING[:4]), np.array(WALKING[4:])
    before, after = (centres(q + sense * dt * u, LEGS["leg_length"] - radius) for sense in (-0.5, 0.5))
    for i, centre in enumerate(centres(q, LEGS["leg_length"] - radius)):
        assert float(out[f"gap_{i + 1}"]) == pytest.approx(centre[1] - radius, abs=1e-12)
        slip = (after[i] - before[i])[0] / dt + radius * u[2 + i]
        assert float(out[f"slip_{i + 1}"]) == pytest.approx(slip, abs=1e-8)
    heights = [level(com) for com in centres(q, LEGS["com_offset"])]
    assert float(out["potential_energy"]) == pytest.approx(LEGS["mass"] * 9.8 * sum(heights), rel=1e-12)


def test_the_swing_foot_of_a_rolling_walker():
    model = RollingWalker(**LEGS)
    y = model.initial_state()._replace(stance=0.1, swing=-0.3)
    out = model.outputs(0.0, precision.cast(y))
    stance, swing = centres((0.0, float(out["hip_height"]), 0.1, -0.3), LEGS["leg_length"] - LEGS["foot_radius"])
    assert stance[1] == pytest.approx(LEGS["foot_radius"], abs=1e-12)
    assert float(out["swing_gap"]) == pytest.approx(swing[1] - LEGS["foot_radius"], abs=1e-12)


@pytest.mark.slow
def test_every_exchange_of_the_legs_is_a_heel_strike():
    run = simulate(RollingWalker(), duration=2.0, samples=200, observe=["heel_strikes"])
    assert float(run.heel_strikes) == (np.diff(run.stance.values) > 0.2).sum() == 4


@pytest.mark.slow  # a minute to compile
def test_the_ground_reaction_of_a_jumper_acts_at_its_centre_of_pressure():
    """The moment of that force about the centre of mass is the rate of angular momentum; nothing acts in the air."""
    model = precision.cast(Jumper())
    crouch = model.initial_state()
    out, rates = changing(model, 0.25, crouch._replace(pitch=crouch.pitch + 2e-3, vx=jnp.asarray(0.05)))
    moment = -out["com_z"] * out["grf_x"] - (out["cop_x"] - out["com_x"]) * out["grf_z"]
    assert abs(moment) > 10.0 and abs(out["grf_x"]) > 10.0
    assert rates["angular_momentum"] == pytest.approx(moment, rel=1e-9)
    assert np.isnan(changing(model, 0.25, crouch._replace(z=crouch.z + 0.5))[0]["cop_x"])


@pytest.mark.slow
def test_joints_of_a_prosthesis():
    """The knee turns about where its links meet; the ankle's power is that of its torque; the socket moves the hip."""
    model = precision.cast(with_parts(Prosthesis(), {"socket": Socket()}))
    y = SocketState(-1.87, -0.6, 6.1, 2.0, socket_x=0.003, socket_y=-0.004, socket_x_rate=0.1, socket_y_rate=0.2)
    out, rates = changing(model, 0.8, y)
    assert abs(out["ankle_power"]) > 1.0
    assert out["ankle_power"] == pytest.approx(out["ankle_torque"] * rates["ankle_angle"], rel=1e-9)
    hip, end, A, B, C, D = out["points"][:6]
    path = model.hip(0.8)
    np.testing.assert_allclose(hip - [path.hip_x.value, path.hip_y.value], [0.003, -0.004], atol=1e-12)
    along = np.linalg.solve(np.stack([D - A, B - C], axis=1), B - A)[0]
    up = (hip - end) / np.linalg.norm(hip - end)
    forward = np.array([up[1], -up[0]])
    centre = along * (D - A)
    np.testing.assert_allclose([out["centre_x"], out["centre_y"]], [centre @ forward, centre @ up], atol=1e-12)


@pytest.mark.slow
def test_a_chain_in_a_plane_needs_no_force_out_of_it():
    run = simulate(CreeperChain(manoeuvre="steer"), samples=500, observe=["least_drive"])
    assert abs(run.drive_y).max() > 1e-6 and abs(run.drive_z).max() < 1e-12
    assert float(run.least_drive) == pytest.approx(float(run.drive_x.min()), rel=1e-9)
    assert float(run.least_drive) < 0.0


def test_a_stature_is_that_of_its_segments():
    stature = stature_of(0.45, 0.46)
    man = segments(80.0, stature)
    assert man["thigh"].length + man["shank"].length == pytest.approx(0.91, rel=1e-12)
    below_neck = man["upper_trunk"].length - shoulder_height(man, stature)
    assert below_neck / stature == pytest.approx(0.0878 / 1.741, rel=1e-12)  # de Leva's cervicale and shoulder


@pytest.mark.parametrize("jumper", (Jumper, lambda **body: SpatialJumper(plane=Jumper(**body))))
def test_a_jumper_of_twice_the_stature_has_twice_the_lengths(jumper):
    small, tall = (jumper(stature=stature).tree() for stature in (0.85, 1.7))
    for name in ("offset", "com"):
        np.testing.assert_allclose(getattr(tall, name), 2.0 * np.asarray(getattr(small, name)), rtol=1e-12)
