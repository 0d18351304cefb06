"""The lowest point of a jump, and critical values, at which it is just safe."""

import jax
import numpy as np
import pytest

from jaxgait import ensemble
from jaxgait.mechanics.contact import KelvinVoigt
from jaxgait.models.bungee.measures import clearance, critical_value, lowest_point
from jaxgait.models.bungee.model import Bungee
from jaxgait.parameters import ParameterError, with_parameters

SAFE = 1e-7  # m; tolerance of the fall over 60 m


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_run_that_ends_in_the_fall_has_no_lowest_point():
    short, whole = (
        ensemble(Bungee(), {"stiffness": [20.0]}, duration=t, observe=["clearance", "peak_rope_force"])
        for t in (5.0, 10.0)
    )
    assert np.isnan(short.clearance).all() and np.isnan(short.peak_rope_force).all()
    # extremes within steps of 0.05 s
    assert float(whole.clearance[0]) == pytest.approx(float(clearance(Bungee())), abs=1e-6)
    assert float(whole.peak_rope_force[0]) == pytest.approx(20.0 * float(50.0 - clearance(Bungee())), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("start", [{"v": 0.0}, {"v": -2.0}])
@pytest.mark.parametrize("duration", [1e-9, 0.02, 0.1])
def test_a_start_from_which_the_jumper_falls_is_no_lowest_point(start, duration):
    leap = {f"initial.{name}": [x] for name, x in start.items()}
    scan = ensemble(Bungee(), leap, duration=duration, observe=["clearance", "peak_rope_force"])
    assert np.isnan(scan.clearance).all() and np.isnan(scan.peak_rope_force).all()


@pytest.mark.slow
def test_a_start_from_which_the_rope_lifts_the_jumper_is_the_lowest_point():
    scan = ensemble(Bungee(), {"initial.x": [45.0]}, duration=0.1, observe=["clearance"])
    assert float(scan.clearance[0]) == pytest.approx(5.0, abs=1e-9)


@pytest.mark.slow
def test_a_jumper_on_a_strongly_damped_rope_never_turns_but_arrives():
    damped = Bungee(rope=KelvinVoigt(20.0, 2000.0, 1e3))
    scan = ensemble(damped, {"mass": [70.0]}, duration=3000.0, observe=["clearance"])
    assert float(scan.clearance[0]) == pytest.approx(50.0 - 70.0 * 10.0 / 20.0, abs=0.2)
    assert float(clearance(damped)) == pytest.approx(50.0 - 70.0 * 10.0 / 20.0, abs=0.2)


def test_a_jumper_who_never_arrives_has_no_critical_value():
    with pytest.raises(ValueError, match=r"no ground from .* makes the jump just safe: the jumper still falls after"):
        critical_value(Bungee(stiffness=1e-9), "ground")


@pytest.mark.parametrize("derivative", [jax.grad, jax.jacrev, pytest.param(jax.hessian, marks=pytest.mark.slow)])
@pytest.mark.parametrize("measure", [clearance, lambda bungee: lowest_point(bungee).time])
def test_a_derivative_in_reverse_mode_names_those_that_work(derivative, measure):
    with pytest.raises(
        RuntimeError, match=r"forward mode: use jax.jacfwd or jax.jvp .*jax.jacfwd\(jax.jacfwd\(f\)\)\)"
    ):
        derivative(lambda k: measure(with_parameters(Bungee(), {"stiffness": k})))(20.0)
