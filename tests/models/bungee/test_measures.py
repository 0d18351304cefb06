"""Critical values: the clearance is zero there, within the parameter's bounds, or there is none."""

import pytest

from jaxgait.models.bungee.measures import clearance, critical_value
from jaxgait.models.bungee.model import Bungee
from jaxgait.parameters import ParameterError, with_parameters

SAFE = 1e-7  # m; tolerance of the fall over 60 m


@pytest.mark.parametrize("name", ["ground", "gravity"])
def test_the_clearance_is_zero_at_a_critical_value(name):
    value = critical_value(Bungee(), name)
    assert value > 0.0
    assert abs(float(clearance(with_parameters(Bungee(), {name: value})))) < SAFE


def test_no_rope_is_short_enough():
    """The jumper hits the ground even with hardly any rope: Newton's method went on to a rope of -77 m."""
    with pytest.raises(ValueError, match=r"no rope_length from 0\.3 to 3000 m makes the jump just safe.* below zero"):
        critical_value(Bungee(), "rope_length")


def test_searches_that_cannot_be_are_named():
    with pytest.raises(ParameterError, match="did you mean 'stiffness'"):
        critical_value(Bungee(), "stifness")
    with pytest.raises(ParameterError, match="must be one number to search for"):
        critical_value(with_parameters(Bungee(), {"mass": [60.0, 70.0]}), "mass")
    with pytest.raises(ParameterError, match=r"Bungee\.ground"):
        critical_value(Bungee(ground=-1.0), "mass")
