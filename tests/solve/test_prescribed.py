"""Motion that is given: a point on a circle, and the chain of the creeping robot."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import ensemble, simulate
from jaxgait.measure import Measure
from jaxgait.model import Model, Scalar, Variable, parameter
from jaxgait.models.creeper.chain import CreeperChain
from jaxgait.outcome import IncompleteRun

FAR = Measure("far", lambda run: run.extremes("x").largest + run["x"][-1], "m", "where it gets", watch=("x",))


class Place(NamedTuple):
    x: Scalar
    y: Scalar


class Circle(Model):
    """A point on a circle."""

    radius: Scalar = parameter(2.0, unit="m", doc="radius of the circle", bounds="positive")
    rate: Scalar = parameter(3.0, unit="rad/s", doc="angular velocity")
    variables: ClassVar = {"x": Variable("m", "to the right"), "y": Variable("m", "up")}
    duration: ClassVar[float] = 1.0

    def initial_state(self):
        return self.state_at(0.0)

    def state_at(self, t):
        return Place(self.radius * jnp.cos(self.rate * t), self.radius * jnp.sin(self.rate * t))

    def terminations(self):
        return {"under ground": lambda t, y: y.y < -0.01}


def test_states_are_those_of_the_motion():
    run = simulate(Circle(), samples=50)
    t = np.linspace(0.0, 1.0, 51)
    np.testing.assert_allclose(run.x, 2.0 * np.cos(3.0 * t), atol=1e-15)
    assert run.attrs["scheme"] == "Prescribed" and run.attrs["steps"] == 50 and run.attrs["status"] == 0


def test_ensembles_with_exact_gradients():
    scan = ensemble(Circle(), {"rate": [1.0, 2.0]}, observe=[FAR], gradient=["radius", "rate"], samples=20)
    rate = scan.rate.values
    np.testing.assert_allclose(scan.far, 2.0 + 2.0 * np.cos(rate), rtol=1e-14)
    expected = np.stack([1.0 + np.cos(rate), -2.0 * np.sin(rate)], axis=1)
    np.testing.assert_allclose(scan.far_gradient, expected, rtol=1e-12)


def test_an_early_end_is_known_to_the_sample():
    with pytest.warns(IncompleteRun, match="ended early: under ground"):
        run = simulate(Circle(), duration=2.0, samples=200)
    assert run.attrs["t_end_s"] == pytest.approx(1.05)
    assert np.isfinite(run.x[:106]).all() and np.isnan(run.x[106:]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate(Circle(), initial_state=Place(1.0, 0.0)), "including its start: leave out initial_state"),
        (lambda: ensemble(Circle(), {"initial.x": [1.0]}), r"leave out initial\.x"),
        (lambda: simulate(Circle(), rtol=1e-6), "with no options: there is no option 'rtol'"),
    ],
)
def test_arguments_that_a_prescribed_motion_excludes_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.slow
def test_the_chain_is_a_model():
    run = simulate(CreeperChain(manoeuvre="steer"), samples=500)
    assert run.q.dims == ("time", "coordinate") and list(run.coordinate.values[6:8]) == ["q_z", "shaft 1"]
    assert run.v.dims == run.vdot.dims == ("time", "velocity") and run.sizes["velocity"] == 9
    np.testing.assert_allclose(run.q.sel(coordinate="shaft 1"), run.stroke)
    np.testing.assert_allclose(
        run.stroke.differentiate("time")[50:200], run.v.sel(velocity="shaft 1")[50:200], rtol=1e-2
    )
    scan = ensemble(
        CreeperChain(manoeuvre="steer"),
        {"front_mass": [8e-3, 9e-3]},
        observe=["peak_drive", "side_drive"],
        gradient=["front_mass"],
        samples=500,
    )
    assert float(scan.peak_drive[0]) == pytest.approx(float(run.drive_x.max()), rel=1e-12)
    slope = np.diff(scan.side_drive) / 1e-3
    np.testing.assert_allclose(scan.side_drive_gradient.squeeze("parameter"), [slope[0]] * 2, rtol=1e-6)


@pytest.mark.slow
def test_the_chain_ends_with_its_cycle():
    with pytest.warns(IncompleteRun, match="ended early: the cycle is over"):
        run = simulate(CreeperChain(), duration=1.5, samples=30)
    assert run.attrs["t_end_s"] == pytest.approx(1.05)
    assert simulate(CreeperChain(), samples=10, precision="float32").attrs["status"] == 0
