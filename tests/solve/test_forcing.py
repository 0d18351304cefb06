"""Equations that depend on time: which runs another run may continue."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import pytest

from jaxgait import Bungee, Creeper, Exoskeleton, Inchworm, Jumper, Prosthesis, RigidWalker, RollingWalker, simulate
from jaxgait.solve.forcing import reads_time, warn_of_restart
from jaxgait.solve.periodic import StroboscopicMap


@pytest.mark.slow
def test_which_equations_depend_on_time():
    assert not any(map(reads_time, (Bungee(), RollingWalker(), RigidWalker())))
    assert all(map(reads_time, (Jumper(), Prosthesis(), Exoskeleton(), Inchworm())))


def test_a_creeper_repeats_with_its_gait_and_its_heartbeat():
    robot = Creeper()
    beat = simulate(robot, strides=4, samples=5)
    with pytest.warns(UserWarning, match="sample after 1 period, 1 s, when the equations of Creeper are not those of"):
        simulate(robot, strides=1, initial_state=beat.isel(time=5))
    z = jnp.zeros(4)
    with pytest.warns(UserWarning, match="a motion from this point returns after 1 period, 1 s, when"):
        StroboscopicMap().start(robot, z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(robot, strides=1, samples=5, initial_state=beat.isel(time=-1))
        assert StroboscopicMap(periods=4).start(robot, z).x == 0.0
        assert jax.jit(StroboscopicMap().start)(robot, z).x == 0.0
        assert jax.jit(lambda point: StroboscopicMap().start(robot, point).x)(z) == 0.0


@pytest.mark.parametrize("model", [Prosthesis(), Exoskeleton()])
def test_driven_models_repeat(model, recwarn):
    warn_of_restart(model, 20, "it is a sample")
    assert not recwarn.list
