"""Declared parameters: addressing, replacing, refusing."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.base import Scalar, parameter
from jaxgait.models.parameters import ParameterError, check, parameters, with_parameters


class Damper(eqx.Module):
    k: Scalar = parameter(1.8e4, unit="N/m", doc="stiffness", bounds="nonnegative")
    c: Scalar = parameter(900.0, unit="N s/m", doc="damping", bounds="nonnegative")


class Leg(eqx.Module):
    damper: Damper = Damper()
    mass: Scalar = parameter(2.0, unit="kg", doc="mass", bounds="positive")
    masses: tuple = parameter((1.0, 2.0), unit="kg", doc="masses", bounds="positive")


def test_dotted_names_reach_nested_modules():
    assert list(parameters(Leg())) == ["damper.k", "damper.c", "mass", "masses"]
    leg = with_parameters(Leg(), {"damper.k": 3.0, "masses": (4.0, 5.0)})
    assert leg.damper.k == 3.0 and leg.masses == (4.0, 5.0) and leg.damper.c == 900.0


@pytest.mark.parametrize(("name", "hint"), [("damper.q", "damper.k"), ("k", "damper.k"), ("mas", "mass")])
def test_unknown_name_suggests_the_nearest(name, hint):
    with pytest.raises(ParameterError, match=hint):
        with_parameters(Leg(), {name: 1.0})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mass", 0.0, "positive, got 0 kg"),
        ("damper.k", -1.0, "nonnegative, got -1 N/m"),
        ("damper.c", float("nan"), "finite, got nan"),
        ("damper.c", np.array([1.0, np.inf]), r"finite, got inf N s/m at index \(1,\)"),
        ("masses", (1.0, -2.0), "positive, got -2 kg"),
        ("mass", "heavy", "must be a number in kg"),
    ],
)
def test_impossible_values_are_named(name, value, message):
    with pytest.raises(ParameterError, match=message):
        check(with_parameters(Leg(), {name: value}))


def test_batched_leaves_pass():
    check(with_parameters(Leg(), {"mass": jnp.linspace(1.0, 2.0, 3)}))
