"""Warnings of a chain: parameters that it does not use, pads that slip."""

import dataclasses

import numpy as np
import pytest

from jaxgait.mechanics.friction import Dahl
from jaxgait.models.creeper.chain import Bearing, CreeperChain, SoftExtension
from jaxgait.models.creeper.inchworm import Inchworm
from jaxgait.models.creeper.measures import grip_threshold, peak_load
from jaxgait.models.creeper.model import Creeper
from jaxgait.models.creeper.remarks import SAMPLES_PER_BEAT
from jaxgait.parameters import ParameterError, get_parameter, with_parameters
from jaxgait.parts import with_parts
from tests.shared import warnings_of


@pytest.mark.parametrize(
    "name",
    [
        *("robot.gap", "robot.gait.coil_time", "robot.gait.coil_delay"),
        *("robot.pads.stiffness", "robot.pads.damping", "robot.pads.melting_time", "turning_rate"),
        "bearing.axial_stiffness",
    ],
)
def test_what_has_no_effect_is_named(name):
    chain = CreeperChain(bearing=Bearing())
    assert not warnings_of(chain)
    (message,) = warnings_of(with_parameters(chain, {name: 1.1 * get_parameter(chain, name) + 1e-3}))
    assert message.startswith("no effect of ") and f"{name.rpartition('.')[2]}: " in message


def test_parts_and_the_turns_of_a_straight_robot_only_are_without_effect():
    assert (
        "no effect of robot.pads.friction: "
        in warnings_of(with_parts(CreeperChain(), {"robot.pads.friction": Dahl()}))[0]
    )
    assert not warnings_of(CreeperChain(manoeuvre="steer", turning_rate=0.4))
    assert not warnings_of(SoftExtension(CreeperChain(bearing=Bearing(axial_stiffness=300.0), manoeuvre="steer")))
    assert "no effect of Inchworm.middle_mass" in warnings_of(Inchworm(units=2, middle_mass=0.02))[0]
    assert not warnings_of(Inchworm(units=3, middle_mass=0.02))


@pytest.mark.slow
def test_pads_that_cannot_hold_the_prescribed_motion_are_named():
    (message,) = warnings_of(with_parameters(CreeperChain(), {"robot.pads.friction_high": np.array([0.8, 0.051])}))
    assert message.startswith("a solid pad holds 0.102 N") and "pull with up to 1.09 N" in message
    assert float(peak_load(Creeper(), SAMPLES_PER_BEAT)) == pytest.approx(float(peak_load(Creeper())), rel=1e-3)


def test_a_load_is_that_of_one_robot():
    both = with_parameters(Creeper(), {"diameter": np.array([10e-3, 12e-3])})
    for figure in (peak_load, grip_threshold):
        with pytest.raises(ParameterError, match=r"Creeper\.diameter .* must be one number in m"):
            figure(both)


def test_the_bend_is_that_of_the_bodies_of_the_chain():
    assert not warnings_of(CreeperChain(curvature=20.0))
    (message,) = warnings_of(with_parameters(CreeperChain(curvature=20.0), {"robot.gap": 0.017}))
    assert message.startswith("no effect of robot.gap")
    with pytest.raises(ValueError, match=r"0\.05 m radius needs 2\.12 rad of steering"):
        dataclasses.replace(CreeperChain(curvature=20.0), shaft_length=0.05, spring_length=0.02).validate()


def test_a_stroke_longer_than_its_unit_allows_is_named():
    long = with_parameters(Creeper(), {"gait.stroke": np.array([6e-3, 0.1])})
    (message,) = warnings_of(long)
    assert message.startswith("gait.stroke is 0.1 m for units 0.03 m long") and "0.012 m" in message
    assert not warnings_of(with_parameters(Creeper(), {"gait.stroke": 12e-3}))
