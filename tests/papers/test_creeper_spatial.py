"""The creeping robot in space: the drive force of figure 5 in its three variants, springs, errors."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.creeper.expected import CORIOLIS, DRIVE_FORCE, FORCE
from jaxgait.models.creeper.chain import Bearing, CreeperChain, SoftExtension
from jaxgait.models.creeper.model import Creeper
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import ParameterError, with_parameters
from jaxgait.solve.simulate import simulate

TIMES = np.array([0.08, 0.2, 0.35, 0.7, 0.9])
MOMENTS = np.array([0.2, 0.53, 0.75, 0.97])
GRID = np.arange(2000) * 5e-4

FX = {
    "straight": [0.97796, 0.29168, 0.10106, -0.10107, -0.21336],
    "steer": [0.97706, 0.29004, 0.09932, -0.10107, -0.21336],
    "yaw": [0.97789, 0.29160, 0.10097, -0.10112, -0.21341],
}
FY = {"straight": [0.0, 0.0, 0.0], "steer": [0.04095, 0.03048, 0.01841], "yaw": [1.371e-4] * 3}
PEAK_ACROSS = 0.1255
"""Time in s of the largest side force of the steering robot."""


@pytest.fixture(scope="module", params=list(FX))
def cycle(request):
    """By time: states, their derivatives, rates of the coordinates by the velocities, and drive forces."""
    robot, t = CreeperChain(manoeuvre=request.param), np.concatenate([TIMES, MOMENTS, GRID])

    @jax.jit
    @jax.vmap
    def at(t):
        state, derivatives = jax.jvp(robot.state_at, (t,), (jnp.ones(()),))
        return state, derivatives, robot.tree().rate(state.q, state.v), robot.drive_force(t)

    found = jax.device_get(at(jnp.asarray(t)))
    parts = [jax.tree.map(lambda x, rows=rows: x[rows], found) for rows in np.split(np.arange(t.size), [5, 9])]
    return request.param, *parts


@pytest.fixture(scope="module")
def drive(cycle):
    name, at_times, _, on_grid = cycle
    return name, at_times[-1], on_grid[-1]


def test_drive_force_at_five_times(drive):
    name, at_times, _ = drive
    np.testing.assert_allclose(at_times[:, 0], FX[name], atol=FORCE)
    np.testing.assert_allclose(at_times[:3, 1], FY[name], atol=CORIOLIS if name == "yaw" else FORCE)


def test_extremes_of_the_drive_force(drive):
    name, _, force = drive
    found = force[:, 0].max(), force[:, 0].min(), force[:, 1].max()
    for value, (expected, _, tolerance) in zip(found, DRIVE_FORCE[name], strict=True):
        assert value == pytest.approx(expected, abs=tolerance)
    assert GRID[force[:, 0].argmax()] == pytest.approx(0.08, abs=1e-3)
    if name == "steer":
        assert GRID[force[:, 1].argmax()] == pytest.approx(PEAK_ACROSS, abs=1e-3)
    assert np.abs(force[:, 2]).max() < 1e-12


def test_side_force_of_a_yawing_robot_is_coriolis(drive):
    name, at_times, _ = drive
    if name == "yaw":
        robot, speed = Creeper(), 13.63636e-3
        assert at_times[1, 1] == pytest.approx(2 * robot.front_mass * np.pi / 6 * speed, abs=1e-9)


def test_layers_agree_on_the_peak_force(drive):
    name, _, force = drive
    if name == "straight":
        axial = simulate(Creeper(), strides=4, samples=1000).actuator_force[:1001]
        assert force[:, 0].max() == pytest.approx(float(axial.max()), abs=3e-4)


@pytest.mark.slow
def test_stiff_springs_are_the_rigid_robot_and_soft_ones_lag():
    stiff = Bearing(axial_stiffness=4e5, lateral_stiffness=4e5, axial_damping=50.0, lateral_damping=50.0)
    results = {}
    for name, bearing in {"stiff": stiff, "soft": Bearing()}.items():
        model = SoftExtension(CreeperChain(bearing=bearing, manoeuvre="steer"))
        results[name] = simulate(model, samples=100)
        assert results[name].status == 0
    moving = slice(6, 94)  # at rest the regularised friction follows the springs' smallest motion
    rigid = jax.jit(jax.vmap(lambda t: CreeperChain(manoeuvre="steer").drive_force(t)))(
        results["stiff"].time.values[moving]
    )
    np.testing.assert_allclose(results["stiff"].drive_x[moving], rigid[:, 0], atol=FORCE)
    np.testing.assert_allclose(results["stiff"].drive_y[moving], rigid[:, 1], atol=FORCE)
    soft = results["soft"]
    assert float(soft.x.min()) == pytest.approx(-0.9775 / 400.0, rel=0.3)  # quasi-static, with an overshoot
    assert soft.time[int(np.argmax(soft.drive_x.values))] > 0.08


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"curvature": 1 / 0.02}, r"robot\.length is 0\.03 m, but at most 0\.0288444 m pass a bend of 0\.02 m radius"),
        ({"curvature": 1 / 0.025, "steering_limit": 1.0}, r"0\.025 m radius needs 2\.08 rad of steering; .* is 1 rad"),
        ({"turning_rate": 2.0}, r"steers by 2 rad per cycle, beyond steering_limit, 1\.0472 rad"),
        (
            {"turning_rate": np.array([2.0, 0.1]), "steering_limit": np.array([1.5, 0.2])},
            r"steers by 2 rad per cycle, beyond steering_limit, 1\.5 rad",
        ),
        (
            {"curvature": np.array([50.0, 55.0]), "robot.length": np.array([0.03, 0.01])},
            r"robot\.length is 0\.03 m, but at most 0\.0288444 m pass a bend of 0\.02 m radius",
        ),
        (
            {"curvature": np.array([40.0, 45.0]), "steering_limit": np.array([1.0, 3.0])},
            r"0\.025 m radius needs 2\.08 rad of steering; steering_limit is 1 rad",
        ),
        ({"robot.pads.friction_high": 0.01}, "friction_high is 0.01"),
        ({"shaft_mass": 0.0}, r"shaft_mass .* positive"),
    ],
)
def test_impossible_chains_raise(changes, message):
    with pytest.raises(ParameterError, match=message):
        with_parameters(CreeperChain(manoeuvre="steer"), changes).validate()


def test_a_straight_chain_has_no_steering_limit():
    CreeperChain(turning_rate=2.0).validate()


def test_one_unit_is_no_inchworm():
    with pytest.raises(ParameterError, match="units must be a whole number, at least 2, got 1"):
        dataclasses.replace(CreeperChain(), units=1).validate()
    with pytest.raises(ValueError, match="2 units, this robot has 3"):
        CreeperChain(units=3).drive_force(jnp.asarray(0.1))


def test_positions_velocities_and_accelerations_belong_together(cycle):
    _, _, (state, derivatives, rate, _), _ = cycle
    np.testing.assert_allclose(derivatives.q, rate, atol=1e-14)
    np.testing.assert_allclose(derivatives.v, state.vdot, atol=1e-14)


@pytest.mark.slow
def test_a_soft_extension_ends_with_the_extension():
    """Its last sample is still of the extension; beyond it, the loads would be wrong."""
    model = SoftExtension()
    ends = [model.outputs(t, model.initial_state())["drive_x"] for t in (0.5 - 1e-9, 0.5)]
    np.testing.assert_allclose(*ends, atol=1e-6)
    with pytest.warns(IncompleteRun, match="the extension is over"):
        run = simulate(model, duration=0.6, samples=6)
    assert run.t_end_s == pytest.approx(0.5, abs=5e-3)
