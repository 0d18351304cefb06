"""Exchangeable parts and choices: listed, exchanged by name, and errors for those that do not fit."""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import pytest

from jaxgait.model import Scalar, parameter
from jaxgait.parameters import ParameterError, check, choice, parameters, part, with_parameters
from jaxgait.parts import parts, with_parts


class Law(eqx.Module):
    """What may stand in `Pad.law`."""


class Spring(Law):
    k: Scalar = parameter(3.0, unit="N/m", doc="stiffness", bounds="positive")


class Rubber(Law):
    k: Scalar = parameter(5.0, unit="N/m", doc="stiffness", bounds="positive")
    loss: Scalar = parameter(0.1, unit="1", doc="loss factor")


class Pad(eqx.Module):
    k: Scalar = parameter(2.0, unit="N/m", doc="stiffness", bounds="positive", of="law")
    grip: Scalar | Law = parameter(0.5, unit="1", doc="grip", bounds="positive", standard="Dry")
    soft: Scalar = parameter(1.0, unit="1", doc="softness", of="grip")
    law: Law | None = part(None, doc="law of the pad", standard="Linear")
    shape: Literal["round", "flat"] = choice("round", doc="shape of the pad", of="law")


class Robot(eqx.Module):
    pad: Pad = Pad()
    tail: Spring | None = part(None, doc="a tail")
    loud: bool = choice(False, doc="whether it makes noise")
    pitch: Scalar = parameter(440.0, unit="1/s", doc="pitch of the noise", of="loud")


def test_parts_are_listed_with_their_alternatives():
    found = parts(Robot())
    assert list(found) == ["pad.grip", "pad.law", "pad.shape", "tail", "loud"]
    assert found["pad.law"].present == "Linear" and set(found["pad.law"].options) == {"Law", "Spring", "Rubber"}
    assert found["pad.grip"].present == "Dry" and found["pad.grip"].doc == "grip"
    assert list(found["tail"].options) == ["none", "Spring"] and found["tail"].present == "none"
    assert list(found["pad.shape"].options) == ["round", "flat"] and found["loud"].present == "False"


def test_a_part_adds_its_parameters_and_removes_those_of_the_default():
    robot = with_parts(Robot(), {"pad.law": Rubber(), "pad.grip": "spring", "tail": Spring(4.0)})
    assert list(parameters(robot)) == ["pad.grip.k", "pad.law.k", "pad.law.loss", "tail.k", "pitch"]
    assert with_parameters(robot, {"pad.law.k": 6.0}).pad.law.k == 6.0
    assert "pad.shape" not in parts(robot)
    back = with_parts(robot, {"pad.law": None, "pad.grip": 0.7, "tail": "none"})
    assert back.pad.grip == 0.7 and list(parameters(back)) == ["pad.k", "pad.grip", "pad.soft", "pitch"]
    check(back)


def test_choices_are_exchanged_and_may_make_parameters_idle():
    robot = with_parts(Robot(), {"pad.shape": "flat", "loud": True})
    assert robot.pad.shape == "flat" and robot.loud is True and "pitch" not in parameters(robot)
    assert Robot().pad.shape == "round"


def test_a_model_of_many_members_keeps_them():
    robot = with_parts(with_parameters(Robot(), {"pad.k": jnp.ones(3)}), {"pad.grip": Spring()})
    assert robot.pad.k.shape == (3,) and isinstance(robot.pad.grip, Spring)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("pad.lav", Spring(), "has no part 'pad.lav': did you mean 'pad.law'"),
        ("pad.k.x", Spring(), "has no part 'pad.k.x'"),
        ("pad.k", 2.0, "Robot.pad.k is a parameter, not a part"),
        ("pad.law", Spring, r"give an instance, Spring\(...\), not the class"),
        ("pad.law", 3.0, r"Robot.pad.law must be a Law\(...\) \(one of Law, Spring, Rubber\), got 3.0"),
        ("pad.law", "steel", "must be one of Law, Spring, Rubber, got 'steel'"),
        ("pad.grip", "steel", "must be a number, or one of Law, Spring, Rubber, got 'steel'"),
        ("pad.grip", None, "must be a number in 1 or a module"),
        ("tail", Rubber(), r"Robot.tail must be a Spring\(...\) \(one of none, Spring\), got Rubber"),
        ("pad.shape", "square", "must be 'round' or 'flat'"),
        ("loud", 1, "must be False or True"),
    ],
)
def test_errors_explain_parts_that_do_not_fit(name, value, message):
    with pytest.raises(ParameterError, match=message):
        with_parts(Robot(), {name: value})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pad.k", r"Robot.pad.k has no meaning here: Robot.pad.law is a Spring with its own"),
        ("pitch", r"Robot.pitch has no meaning here: Robot.loud is True"),
        ("pad.grip", r"Robot.pad.grip is a group of parameters: set pad.grip.k"),
        ("pad.shape", r"is a choice \('round'\).*with_parts"),
    ],
)
def test_errors_for_exchanged_parameters_name_the_replacement(name, message):
    robot = with_parts(Robot(), {"pad.law": Spring(), "pad.grip": Spring(), "loud": True})
    with pytest.raises(ParameterError, match=message):
        with_parameters(robot, {name: 1.0})


def test_choices_that_do_not_exist_are_found_by_the_check():
    with pytest.raises(ParameterError, match=r"Robot.pad.shape must be 'round' or 'flat', got 'square'"):
        check(Robot(pad=Pad(shape="square")))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"Robot.pad.grip .*must be one number in 1, got 'much'"):
        check(Robot(pad=Pad(grip="much")))
