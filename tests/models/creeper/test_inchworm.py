"""The inchworm of n units: two units are the creeper, more units share the load."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.creeper.inchworm import Inchworm, InchwormState
from jaxgait.models.creeper.model import Creeper, CreeperState
from jaxgait.parameters import ParameterError, with_parameters
from jaxgait.solve.simulate import simulate
from tests.models.creeper.cycles import performance

ROUNDING = 1e-9  # relative: stiff bristles amplify rounding of the velocities


def test_two_units_are_the_creeper():
    worm, robot = Inchworm(units=2), Creeper()
    rng = np.random.default_rng(3)
    for t in (0.05, 0.33, 0.493, 0.515, 0.8):
        v, zf, zr = (jnp.asarray(x) for x in rng.normal(scale=(1e-2, 1e-5, 1e-5)))
        state = CreeperState(jnp.asarray(0.01), v, zf, zr)
        many = InchwormState(state.x, v, jnp.stack([zf, zr]))
        rates, wanted = worm.vector_field(t, many), robot.vector_field(t, state)
        np.testing.assert_allclose([rates.v, *rates.z], [wanted.v, wanted.z_front, wanted.z_rear], rtol=ROUNDING)
        out, expected = worm.outputs(t, many), robot.outputs(t, state)
        np.testing.assert_allclose(out["actuator_force"][0], expected["actuator_force"], rtol=ROUNDING)
        np.testing.assert_allclose(out["positions"][0], expected["tip"], rtol=ROUNDING)


@pytest.fixture(scope="module")
def four():
    return simulate(Inchworm(units=4), strides=2, samples=200)


@pytest.mark.slow
def test_one_stroke_per_wave_and_one_unit_at_a_time(four):
    still = with_parameters(Inchworm(units=4), {"robot.inflow.amplitude": 0.0, "robot.inflow.back_amplitude": 0.0})
    steps = jax.jit(performance)(still).steps
    np.testing.assert_allclose(steps, 6e-3, rtol=3e-3)
    way = np.diff(four.positions.values, axis=0)
    moving = way > 1.5e-5 * 4 / 2  # half the top speed, 10 mm/s in 5 ms
    assert moving.any(axis=0).all() and (moving.sum(axis=1) <= 1).all()


def test_section_forces_balance_the_rear_unit(four):
    worm = Inchworm(units=4)
    index = 130
    y = worm.initial_state()._replace(x=four.x.values[index], v=four.v.values[index], z=four.z.values[index])
    t = float(four.time[index])
    forces = worm._forces(t, y)
    a = worm.vector_field(t, y).v
    rear = forces.load[-1] - worm.robot.rear_mass * a
    assert float(rear) == pytest.approx(float(four.actuator_force[index, -1]), abs=1e-9)


@pytest.mark.slow
def test_more_units_need_less_grip():
    weak = {"robot.pads.friction_high": 0.4}
    run = jax.jit(lambda worm: performance(worm, cycles=2).slip)
    slips = [float(run(with_parameters(Inchworm(units=n), weak))) for n in (2, 3)]
    assert slips[0] > 1.0 and slips[1] < 0.1


def test_impossible_inchworms_raise():
    with pytest.raises(ParameterError, match="units must be a whole number, at least 2, got 1"):
        dataclasses.replace(Inchworm(), units=1).validate()
    with pytest.raises(ParameterError, match=r"ramp is 0\.08 s, longer than 1/16 of the period, 0\.0625 s"):
        Inchworm(units=16).validate()
