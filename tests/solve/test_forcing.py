"""Equations that depend on time: which runs another run may continue."""

from __future__ import annotations

import warnings
from typing import ClassVar

import jax
import jax.numpy as jnp
import pytest

from jaxgait import (
    Bungee,
    Creeper,
    Exoskeleton,
    Inchworm,
    Jumper,
    Model,
    Prosthesis,
    RigidWalker,
    RollingWalker,
    Variable,
    simulate,
)
from jaxgait.solve.forcing import reads_time, warn_of_restart
from jaxgait.solve.periodic import StroboscopicMap


@pytest.mark.slow
def test_which_equations_depend_on_time():
    assert not any(map(reads_time, (Bungee(), RollingWalker(), RigidWalker())))
    assert all(map(reads_time, (Jumper(), Prosthesis(), Exoskeleton(), Inchworm())))


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("model", [Prosthesis(), Exoskeleton()])
def test_driven_models_repeat(model, recwarn):
    warn_of_restart(model, 20, "it is a sample")
    assert not recwarn.list


class Swung(Model):
    """A body at rest that a periodic force drives, through a damper whose strength varies at another rate."""

    variables: ClassVar = {"x": Variable("m", "position"), "v": Variable("m/s", "velocity")}
    period: ClassVar = 1.0
    duration: ClassVar = 1.0

    def initial_state(self):
        return {"x": jnp.zeros(()), "v": jnp.zeros(())}

    def vector_field(self, t, y):
        damping = 1.0 + 0.5 * jnp.sin(3.0 * t)
        return {"x": y["v"], "v": jnp.sin(2.0 * jnp.pi * t) - damping * y["v"]}


def test_what_vanishes_at_the_start_counts_too():
    with pytest.warns(UserWarning, match="it is a sample after 2 periods, 2 s, when the equations of Swung are not"):
        warn_of_restart(Swung(), 2, "it is a sample")
