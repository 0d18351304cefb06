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

    @jax.jit
    @jax.vmap
    def both(t, v, zf, zr):
        state = CreeperState(jnp.asarray(0.01), v, zf, zr)
        many = InchwormState(state.x, v, jnp.stack([zf, zr]))
        rates, wanted = worm.vector_field(t, many), robot.vector_field(t, state)
        out, expected = worm.outputs(t, many), robot.outputs(t, state)
        found = [rates.v, *rates.z, out["actuator_force"][0], out["positions"][0]]
        return found, [wanted.v, wanted.z_front, wanted.z_rear, expected["actuator_force"], expected["tip"]]

    times = jnp.array([0.05, 0.33, 0.493, 0.515, 0.8])
    states = np.random.default_rng(3).normal(scale=(1e-2, 1e-5, 1e-5), size=(5, 3))
    np.testing.assert_allclose(*both(times, *states.T), rtol=ROUNDING)


@pytest.mark.slow
def test_one_stroke_per_wave_and_one_unit_at_a_time():
    four = simulate(Inchworm(units=4), strides=2, samples=200)
    still = with_parameters(Inchworm(units=4), {"robot.inflow.amplitude": 0.0, "robot.inflow.back_amplitude": 0.0})
    steps = jax.jit(performance)(still).steps
    np.testing.assert_allclose(steps, 6e-3, rtol=3e-3)
    way = np.diff(four.positions.values, axis=0)
    moving = way > 1.5e-5 * 4 / 2  # half the top speed, 10 mm/s in 5 ms
    assert moving.any(axis=0).all() and (moving.sum(axis=1) <= 1).all()


def test_section_forces_balance_the_rear_unit():
    """In any state: here with units and pads in motion, during the wave's third move."""
    worm = Inchworm(units=4)
    y = worm.initial_state()._replace(v=jnp.asarray(3e-3), z=jnp.array([1e-5, -2e-5, 1.5e-5, -1e-5]))

    @jax.jit
    def seen(t, y):
        return worm._forces(t, y).load[-1], worm.vector_field(t, y).v, worm.outputs(t, y)["actuator_force"][-1]

    load, a, force = map(float, seen(jnp.asarray(0.65), y))
    assert abs(force) > 1e-3
    assert load - worm.robot.rear_mass * a == pytest.approx(force, abs=1e-9)


@pytest.mark.slow
def test_more_units_need_less_grip():
    weak = {"robot.pads.friction_high": 0.4}
    run = jax.jit(lambda worm: performance(worm, cycles=2).slip)
    slips = [float(run(with_parameters(Inchworm(units=n), weak))) for n in (2, 3)]
    assert slips[0] > 1.0 and slips[1] < 0.1


def test_impossible_inchworms_raise():
    with pytest.raises(ParameterError, match="units must be a whole number, at least 2, got 1"):
        dataclasses.replace(Inchworm(), units=1).validate()
    Inchworm(units=np.int64(3)).validate()  # as from np.arange
    with pytest.raises(ParameterError, match=r"ramp is 0\.08 s, longer than 1/16 of the period, 0\.0625 s"):
        Inchworm(units=16).validate()
