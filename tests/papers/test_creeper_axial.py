"""The creeping robot along its axis: every row of the specification's table of the axial gait."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.creeper.axial import CASES
from experiments.creeper.expected import ACTUATOR_FORCE, DISPLACEMENT, GRIP, SWEPT, THRESHOLD
from jaxgait import simulate
from jaxgait.mechanics.friction import Coulomb
from jaxgait.models.creeper.artery import Inflow
from jaxgait.models.creeper.measures import grip_threshold
from jaxgait.models.creeper.model import Creeper, Pads
from jaxgait.native import looped
from jaxgait.parameters import get_parameter, with_parameters
from tests.models.creeper.cycles import performance

DIGITS = 6e-5  # mm: what we reach where four decimals are printed
FORCE = 1e-4  # N: three or four digits are printed; sampled every 1 ms

ROWS = {**CASES, **{f"mu {mu}": {"pads.friction_high": mu} for mu in (*GRIP, *SWEPT)}}
STEPS = {  # mm per cycle
    "against the flow": [5.9205, 5.9550, 5.9148, 5.9563],
    "no flow": [5.9905, 5.9875, 5.9875, 5.9875],
    "with the flow": [6.0341, 6.0034, 6.0414, 6.0035],
    "no hammer": [5.9816, 5.9833, 5.9735, 5.9841],
    "stiffer pads": [5.9800, 5.9886, 5.9780, 5.9890],
}


@pytest.fixture(scope="module")
def table():
    names = sorted({name for changes in ROWS.values() for name in changes})
    values = np.array([[c.get(n, get_parameter(Creeper(), n)) for n in names] for c in ROWS.values()])

    @jax.jit
    @jax.vmap
    @looped
    def run(row):
        return performance(with_parameters(Creeper(), dict(zip(names, row, strict=True))), samples=1000)

    results = run(values)
    assert not results.status.any()
    return {name: jax.tree.map(lambda x, i=i: np.asarray(x[i]), results) for i, name in enumerate(ROWS)}


@pytest.mark.parametrize("row", STEPS)
def test_net_step_of_each_cycle(table, row):
    np.testing.assert_allclose(table[row].steps * 1e3, STEPS[row], atol=DIGITS)


@pytest.mark.parametrize("row", CASES)
def test_displacement_in_four_seconds(table, row):
    assert table[row].steps.sum() * 1e3 == pytest.approx(DISPLACEMENT[row].value, abs=DIGITS)


def test_less_grip_lets_the_flow_sweep_the_robot_back(table):
    for mu, (total, _, tolerance) in {**GRIP, **SWEPT}.items():
        assert table[f"mu {mu}"].steps.sum() * 1e3 == pytest.approx(total, abs=tolerance)


@pytest.mark.parametrize("row", ACTUATOR_FORCE)
def test_actuator_force(table, row):
    """The specification's extremes are those of 1000 samples a cycle; the peaks themselves lie up to 0.5 % beyond."""
    robot = with_parameters(Creeper(), ROWS[row])
    force = simulate(robot, strides=4, samples=1000).actuator_force
    largest, smallest = ACTUATOR_FORCE[row]
    assert float(force.max()) == pytest.approx(largest.value, abs=FORCE)
    assert float(force.min()) == pytest.approx(smallest.value, abs=FORCE)
    beyond = table[row].peak_force / float(force.max()), table[row].least_force / float(force.min())
    assert all(1.0 - 1e-4 <= ratio < 1.006 for ratio in beyond)


def test_half_a_beat_permutes_the_cycles(table):
    here, there = table["against the flow"].steps, table["half a beat later"].steps
    np.testing.assert_allclose(there[1:], here[[3, 2, 1]], atol=5e-6)  # the first cycle starts from rest


def test_static_threshold_of_grip_agrees_with_the_drop(table):
    assert float(grip_threshold(Creeper())) == pytest.approx(THRESHOLD.value, abs=THRESHOLD.tolerance)
    assert table["mu 0.56"].slip < 0.03
    assert table["mu 0.54"].slip > 0.08


@pytest.mark.slow
def test_printed_back_flow():
    steps = jax.jit(performance)(Creeper(inflow=Inflow(backflow="printed"))).steps
    np.testing.assert_allclose(steps * 1e3, [5.9200, 5.9538, 5.9142, 5.9557], atol=DIGITS)


@pytest.mark.slow
def test_memoryless_pads():
    @jax.jit
    @jax.vmap
    def run(slip_velocity):
        return performance(Creeper(pads=Pads(friction=Coulomb(1.0, slip_velocity, "tanh"))))

    steps = run(jnp.array([5e-5, 2e-5])).steps * 1e3
    np.testing.assert_allclose(steps[0], [5.9876, 5.9924, 5.9929, 5.9923], atol=DIGITS)
    np.testing.assert_allclose(steps.sum(axis=1), [DISPLACEMENT["memoryless pads"].value, 23.9860], atol=DIGITS)


def test_inflow_figures():
    flow = Inflow(direction=1.0)
    s = np.linspace(0.0, 0.27, 27001)
    V = jax.vmap(flow)(s)
    assert float(V.max()) == pytest.approx(1.13549, abs=1e-5)
    assert s[V.argmax()] == pytest.approx(0.080002, abs=2e-5)
    assert float(V.min()) == pytest.approx(-0.30704, abs=1e-5)
    assert s[V.argmin()] == pytest.approx(0.25431, abs=2e-5)
    assert np.trapezoid(V[:24001], s[:24001]) == pytest.approx(0.159937, abs=1e-6)
    assert np.trapezoid(V[24000:], s[24000:]) == pytest.approx(-0.0058559, abs=1e-7)
    assert np.trapezoid(V, s) / 0.8 == pytest.approx(0.192601, abs=1e-6)
    printed = jax.vmap(Inflow(direction=1.0, backflow="printed"))(s)
    assert np.trapezoid(printed[24000:], s[24000:]) == pytest.approx(-0.0017180, abs=1e-7)
    assert float(printed[-1]) == pytest.approx(-0.104635, abs=1e-5)


def test_loads_at_peak_flow():
    robot = Creeper()
    u = -1.1354938893964694
    dp = robot.blood.gap_pressure(u, 0.0, robot.diameter, robot.clearance, robot.length)
    np.testing.assert_allclose(robot.blood.dynamic_pressure(u, 0.0), -683.354, atol=1e-3)
    np.testing.assert_allclose(robot.blood.wave_pressure(u), -6018.118, atol=1e-3)
    np.testing.assert_allclose(dp, -1035.570, atol=1e-3)
    np.testing.assert_allclose(robot.fluid_forces(u, 0.0, 0.0), [-0.875039, -0.117120], atol=5e-6)
