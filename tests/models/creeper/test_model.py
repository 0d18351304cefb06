"""The creeper's parts: gait, coils, forces; its balances, limits and errors."""

import warnings

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.ensembles import ensemble, zipped
from jaxgait.measure import MeasureError
from jaxgait.mechanics.spatial import check_quaternions, kinematics
from jaxgait.models.creeper.artery import SYSTOLE_END, VALVE_CLOSURE, Inflow
from jaxgait.models.creeper.chain import CreeperChain, SoftExtension
from jaxgait.models.creeper.model import Creeper, CreeperState, Gait
from jaxgait.models.walker import RollingWalker
from jaxgait.parameters import ParameterError, get_parameter, with_parameters
from jaxgait.solve.simulate import simulate
from tests.models.creeper.cycles import performance

ROUNDING = 1e-12


@pytest.fixture(scope="module")
def run():
    return simulate(Creeper(), strides=4, samples=1000)


@pytest.fixture(scope="module")
def two_cycles():
    """The `Performance` of two cycles without back-flow, of robots with other parameters, all by one program."""
    names = ("pads.friction_high", "pads.stiffness", "pads.damping", "inflow.amplitude", "gait.stroke")

    @jax.jit
    @jax.vmap
    def cycles(values):
        changes = dict(zip(names, values, strict=True)) | {"inflow.back_amplitude": 0.0}
        return performance(with_parameters(Creeper(), changes), cycles=2)

    own = {name: get_parameter(Creeper(), name) for name in names}
    robots = {
        stiffness: {"inflow.amplitude": 0.0, "pads.stiffness": k, "pads.damping": 10.0 * np.sqrt(3.2e4 / k)}
        for stiffness, k in {"stiff": 3.2e4, "stiffer": 12.8e4, "stiffest": 51.2e4}.items()
    } | {
        "no grip, no flow": {"pads.friction_high": 0.0501, "inflow.amplitude": 0.0},
        "no grip, flow": {"pads.friction_high": 0.0501, "inflow.amplitude": 2.4},
        "no strokes": {"gait.stroke": 0.0},
    }
    found = jax.device_get(cycles(jnp.array([list((own | changes).values()) for changes in robots.values()])))
    assert not found.status.any()
    return {robot: jax.tree.map(lambda x, i=i: x[i], found) for i, robot in enumerate(robots)}


def test_a_chains_loads_are_those_of_two_units():
    chain = CreeperChain(units=3)
    tree = chain.tree()
    with pytest.raises(ValueError, match="2 units, this robot has 3"):
        jax.eval_shape(
            lambda q, v: chain.loads(kinematics(tree, q, v), 0.1, jnp.asarray(True)),
            jnp.ones(tree.nq),
            jnp.ones(tree.nv),
        )


def test_a_chains_quaternion_is_found_by_its_labels():
    names = CreeperChain().labels["coordinate"]
    with pytest.raises(ValueError, match="q_w, _x, _y, _z must be a quaternion of length 1"):
        check_quaternions(names, 2.0 * CreeperChain().initial_state().q)


def test_stroke_derivatives_are_those_of_the_stroke():
    gait = Gait()
    t = jnp.array([0.01, 0.025, 0.033, 0.2, 0.47, 0.49, 0.53, 0.55, 0.7, 0.965, 0.99])
    got, rates = jax.jit(lambda t: jax.jvp(jax.vmap(gait.stroke_at), (t,), (jnp.ones_like(t),)))(t)
    np.testing.assert_allclose(got.speed, rates.s, atol=ROUNDING)
    np.testing.assert_allclose(got.acceleration, rates.speed, atol=ROUNDING)


def test_stroke_figures():
    t = np.linspace(0.0, 1.0, 20001)
    s, speed, acceleration = jax.device_get(jax.jit(jax.vmap(Gait().stroke_at))(t))
    assert float(s[10000]) == pytest.approx(6e-3, abs=ROUNDING)
    assert abs(float(s[-1])) < ROUNDING and float(s.min()) > -ROUNDING
    assert float(speed.max()) == pytest.approx(13.63636e-3, abs=1e-8)
    assert float(acceleration.max()) == pytest.approx(1.0710, abs=1e-4)
    assert float(np.abs(np.diff(speed)).max()) < 1.0711 * 5e-5  # no jump of the speed, also at the reversals


def test_one_pad_always_holds_and_the_other_is_free_while_its_unit_moves():
    t = np.linspace(0.0, 2.0, 4001)
    (front, rear), stroke = jax.device_get(jax.jit(jax.vmap(lambda t: (Gait().coils(t), Gait().stroke_at(t))))(t))
    assert np.maximum(front, rear).min() == 1.0
    assert np.where(stroke.speed > 1e-12, front, 0.0).max() < ROUNDING
    assert np.where(stroke.speed < -1e-12, rear, 0.0).max() < ROUNDING


def test_inflow_is_continuous_and_rests_in_diastole():
    flow = Inflow(direction=1.0)
    for s in (0.0, SYSTOLE_END, VALVE_CLOSURE, 0.8):
        assert abs(float(flow(s - 1e-9)) - float(flow(s + 1e-9))) < 1e-6
    assert float(flow(0.5)) == 0.0


def test_faster_heart_keeps_its_systole():
    fast, slow = Inflow(heart_period=0.4), Inflow()
    assert float(fast(0.4 + 0.1)) == pytest.approx(float(slow(0.1)), rel=ROUNDING)


def test_flow_through_the_gap_obeys_continuity():
    robot, u, v = Creeper(), -0.7, 0.02
    D, h = robot.diameter, robot.clearance
    dp = float(robot.blood.gap_pressure(u, v, D, h, robot.length))
    gap = np.pi * D * h**3 * dp / (12 * robot.blood.viscosity * robot.length) + np.pi * D * h * v / 2
    assert gap + np.pi * D**2 / 4 * v == pytest.approx(np.pi * (D + 2 * h) ** 2 / 4 * u, rel=ROUNDING)


def test_actuator_force_is_the_same_from_both_sides(run):
    np.testing.assert_allclose(run.actuator_force, run.actuator_reaction, atol=ROUNDING)


def test_energy_balance(run):
    """Work of actuator, fluid and friction is the kinetic energy: an integral check on the solve."""
    robot = Creeper()
    kinetic = 0.5 * robot.rear_mass * run.v**2 + 0.5 * robot.front_mass * run.v_front**2
    fluid = run.fluid_front * run.v_front + run.fluid_rear * run.v
    friction = run.friction_front * run.v_front + run.friction_rear * run.v
    power = run.actuator_power + fluid + friction
    work = np.trapezoid(power, run.time)
    supplied = np.trapezoid(np.abs(run.actuator_power), run.time)
    assert work == pytest.approx(float(kinetic[-1] - kinetic[0]), abs=5e-3 * supplied)  # trapezia of 1 ms


@pytest.mark.slow
def test_rigid_limit_is_one_stroke_per_cycle(two_cycles):
    short = 6e-3 - np.array([two_cycles[robot].steps[1] for robot in ("stiff", "stiffer", "stiffest")])
    assert (np.diff(short) < 0).all() and (short > 0).all()
    np.testing.assert_allclose(short[:-1] / short[1:], 4.0, rtol=0.03)  # elastic: about 1 / stiffness


def test_no_grip_no_way_but_the_flow_carries(two_cycles):
    assert abs(two_cycles["no grip, no flow"].steps.sum()) < 2e-3
    assert two_cycles["no grip, flow"].steps.sum() < -0.1


@pytest.mark.slow
def test_gradients_agree_with_differences():
    names, step = ("pads.friction_high", "gait.stroke"), 2e-3
    start = np.array([0.8, 6e-3])
    steps = np.concatenate([np.zeros((1, 2)), *(np.diag(start) * sign * step for sign in (1.0, -1.0))])
    members = zipped(dict(zip(names, (start + steps).T, strict=True)))
    scan = ensemble(Creeper(), members, strides=2, observe=["speed", "peak_force"], gradient=names, rtol=1e-8)
    for name in ("speed", "peak_force"):
        values = scan[name].values
        differences = (values[1:3] - values[3:]) / (2.0 * step * start)
        np.testing.assert_allclose(scan[f"{name}_gradient"].values[0], differences, rtol=1e-3)


@pytest.mark.slow
def test_single_precision_follows_the_reference():
    explicit = {"duration": 0.45, "samples": 20, "solver": diffrax.Tsit5(), "max_step": 2e-4}
    low = simulate(Creeper(), precision="float32", rtol=1e-3, atol=1e-6, **explicit)
    high = simulate(Creeper(), **explicit)
    assert low.tip.dtype == np.float32
    np.testing.assert_allclose(low.tip, high.tip, atol=2e-5)


def test_vector_field_keeps_structure():
    robot = Creeper()
    y = CreeperState(*(jnp.asarray(v) for v in (0.0, 0.01, 1e-6, -1e-6)))
    assert isinstance(robot.vector_field(0.1, y), CreeperState)
    assert set(robot.outputs(0.1, y)) | set(y._fields) == set(robot.variables)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clearance": 0.0}, r"Creeper\.clearance .* must be positive, got 0 m"),
        ({"diameter": -0.01}, r"Creeper\.diameter .* must be positive, got -0\.01 m"),
        ({"pads.friction_high": 0.01}, r"pads\.friction_high is 0\.01, below pads\.friction_low, 0\.05"),
        ({"pads.friction_high": np.array([0.8, 0.02])}, r"pads\.friction_high is 0\.02"),
        ({"gait.dwell": 0.24}, r"gait\.dwell .* is 0\.52 s, longer than half the period, 0\.5 s"),
        ({"gait.ramp": 0.3}, r"gait\.ramp is 0\.64 s"),
        ({"gait.coil_time": 0.3}, r"gait\.coil_time is 0\.6 s"),
        ({"inflow.heart_period": 0.2}, r"heart_period must be at least 0\.27 s .* got 0\.2 s"),
        ({"inflow.direction": 0.3}, r"inflow\.direction must be 1 or -1, got 0\.3"),
    ],
)
def test_impossible_robots_raise(changes, message):
    with pytest.raises(ParameterError, match=message):
        with_parameters(Creeper(), changes).validate()


def test_without_strokes_there_is_no_share_of_them(two_cycles):
    found = two_cycles["no strokes"]
    assert np.isnan(found.slip) and np.isfinite(found.speed)


def test_the_give_of_the_front_unit_needs_samples_that_resolve_it():
    """With 50 samples of the extension it is 1 % less than with 250."""
    with pytest.raises(MeasureError, match=r"deflection.*at most 0\.002 s apart"):
        ensemble(SoftExtension(), {"chain.turning_rate": [0.5]}, observe=["deflection"], samples=50)


def test_parameters_that_a_model_only_inherits_are_warned_of():
    for model, name in ((CreeperChain(), "robot.front_mass"), (RollingWalker(), "start.vx")):
        with pytest.warns(UserWarning, match=f"no effect of {name}: "):
            with_parameters(model, {name: 0.5}).validate()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.validate()
