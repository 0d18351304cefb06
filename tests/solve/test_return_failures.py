"""Motions that do not return, equilibria and families of gaits: searches say what is wrong with them."""

import warnings
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.analysis.attractors import FELL, basin, bifurcation_diagram
from jaxgait.analysis.continuation import continuation, locate
from jaxgait.analysis.floquet import lyapunov_exponent
from jaxgait.kinds import Transition
from jaxgait.model import Model, Scalar, Variable, parameter
from jaxgait.models.bungee.model import Bungee
from jaxgait.outcome import IncompleteRun, NoOrbit, Outcome
from jaxgait.solve.periodic import PoincareMap, StroboscopicMap, fixed_point, orbit
from jaxgait.solve.return_failures import why_lost
from tests.oscillator import Oscillator


class Swing(NamedTuple):
    x: Scalar
    v: Scalar


class VanDerPol(Model):
    """Its section lies at the largest deflection; it takes `slowness` times as long as usual, and ends beyond 9."""

    mu: float = parameter(1.0, unit="1", doc="damping", bounds="any")
    slowness: float = parameter(1.0, unit="1", doc="time scale", bounds="positive")

    variables = {"x": Variable("1", "deflection"), "v": Variable("1", "velocity")}  # noqa: RUF012

    @property
    def duration(self):
        return 10.0 * self.slowness

    def initial_state(self):
        return Swing(2.0, 0.0)

    def swing(self, t, y):
        return Swing(y.v / self.slowness, (self.mu * (1.0 - y.x**2) * y.v - y.x) / self.slowness)

    def phases(self):
        return (self.swing,)

    def transitions(self):
        return {
            "top": Transition(0, 0, lambda t, y: y.v),
            "beyond": Transition(0, 0, lambda t, y: 9.0 - y.x, ends=True),
        }

    def on_section(self, z):
        return Swing(z[0], 0.0)

    def section(self, y):
        return jnp.stack([y.x])


AMPLITUDE = 2.00861986
"""By SciPy's DOP853 with a tolerance of 1e-12; the multiplier is exp of the integral of mu (1 - x^2) over a period."""
SLOW, HASTY = VanDerPol(slowness=10.0), PoincareMap(max_time=5.0)


@pytest.mark.slow
def test_a_return_may_take_as_long_as_the_model_suggests():
    """This gait has a period of 67 s."""
    found = fixed_point(PoincareMap(), SLOW, jnp.array([1.5]))
    np.testing.assert_allclose([found.z[0], found.jacobian[0, 0]], [AMPLITUDE, 8.59695e-4], rtol=1e-6)
    with pytest.warns(UserWarning, match="the gait of VanDerPol is an equilibrium: at .* the motion stands still"):
        assert int(fixed_point(PoincareMap(), SLOW, jnp.array([1e-3])).iterations) < 10
    with pytest.raises(ValueError, match=r"object has no duration: give PoincareMap\(max_time=...\), the longest time"):
        PoincareMap().longest(object())
    with pytest.raises(ValueError, match="max_time must be a positive number of seconds, got -1"):
        PoincareMap(max_time=-1.0)


@pytest.mark.slow
def test_motions_that_take_too_long_are_not_taken_for_falls_in_silence():
    late = "it is not back after 5 s, the max_time"
    with pytest.warns(NoOrbit, match=rf"the motion from z0 does not return \({late}\): give a first guess"):
        assert int(fixed_point(HASTY, SLOW, jnp.array([2.0])).status) == Outcome.NO_RETURN
    given_up = pytest.warns(IncompleteRun, match=f"1 start counts as FELL only because the motion was given up: {late}")
    with (
        pytest.warns(UserWarning, match="gait is not one of this model's: the motion .* does not make 1 return"),
        given_up,
    ):
        assert basin(HASTY, SLOW, jnp.array([[2.0], [9.1]]), jnp.array([[1.0]])).outcome[0] == FELL
    with pytest.warns(IncompleteRun, match=rf"2 of 2 walks fell \(first at mu = 1: {late}\), and their points are NaN"):
        bifurcation_diagram(HASTY, SLOW, "mu", jnp.array([1.0, 2.0]), jnp.array([2.0]), discard=0, keep=1)
    assert why_lost(PoincareMap(), SLOW, jnp.array([9.1]), returns=2) == "ended early: beyond"


def test_the_time_to_return_is_that_of_the_walk_that_is_named():
    class Brief(VanDerPol):
        duration = property(lambda self: 0.5 * self.slowness)

    with pytest.warns(IncompleteRun, match=r"first at slowness = 2: it is not back after 10 s, the max_time"):
        bifurcation_diagram(PoincareMap(), Brief(), "slowness", jnp.array([2.0]), jnp.array([2.0]), discard=0, keep=1)


def test_a_derivative_that_is_not_finite_is_not_taken_for_a_fall():
    with pytest.warns(NoOrbit, match="does not return, or it or its derivative is NaN: give another guess, or more"):
        fixed_point(lambda p, z: jnp.sqrt(jnp.abs(z - 1.0)) + 1.0, None, jnp.array([1.0]))


@pytest.mark.slow
def test_a_branch_of_ever_longer_periods_says_why_it_ends():
    branch = continuation(PoincareMap(max_time=8.0), VanDerPol(), "mu", jnp.array([2.0]), (1.0, 10.0))
    assert branch.why_stopped.endswith("beyond, the motion does not return: it is not back after 8 s, the max_time")


@pytest.mark.parametrize(
    "return_map", [lambda p, z: 1.0 * z, lambda p, z: z * (1.0 + 1e-13) + 1e-12], ids=("1", "nearly 1")
)
def test_gaits_that_are_not_isolated_are_not_found(return_map):
    """The last step would lead anywhere."""
    with pytest.warns(NoOrbit, match="a multiplier is .1: the gait is one of many, as of a motion that keeps"):
        found = fixed_point(return_map, None, jnp.array([1.0]))
    assert int(found.status) == Outcome.NOT_CONVERGED and float(found.residual) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_gaits_of_tiny_and_huge_numbers_are_found(unit):
    """Each residual of tiny numbers is small."""
    logistic, guess = lambda r, z: r * z * (1.0 - z / unit), unit * np.array([0.5])
    found = fixed_point(logistic, 2.5, guess, tolerance=1e-10 * max(unit, 1.0))
    np.testing.assert_allclose([found.z[0] / unit, found.jacobian[0, 0]], [0.6, -0.5], rtol=1e-4)
    assert int(found.status) == Outcome.COMPLETED
    if unit < 1.0:
        with pytest.warns(UserWarning, match="all starts are within the tolerance 0.001 of the gait: give"):
            basin(logistic, 2.5, unit * np.array([[0.2], [0.5]]), np.asarray(found.z)[None])


def test_what_only_shifts_must_be_left_out():
    travel = lambda p, z: jnp.stack([z[0] + 0.3 + z[1], 0.5 * z[1]])
    with pytest.warns(NoOrbit, match=r"at a residual of 0.3 the search met a multiplier of .1: something in"):
        fixed_point(travel, None, jnp.zeros(2))


@pytest.mark.parametrize(("model", "instead"), [(Oscillator(), "use StroboscopicMap"), (Bungee(), r"add them, \[self")])
def test_a_smooth_model_has_no_events_to_return_to(model, instead):
    with pytest.raises(TypeError, match=rf"phases\(\) and transitions\(\), which \w+ does not have: {instead}"):
        fixed_point(PoincareMap(), model, jnp.zeros(2))


def test_a_gait_of_fewer_returns_is_pointed_out():
    logistic, guess = lambda r, z: r * z * (1.0 - z), jnp.array([0.7])
    with pytest.warns(UserWarning, match="the gait repeats already after 1 return, not only after 2"):
        fixed_point(logistic, 3.3, guess, order=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed_point(logistic, 3.3, jnp.array([0.5]), order=2)


def test_a_multiplier_of_one_is_pointed_out():
    turned = lambda p, z: z + jnp.stack([1e-9 * (z[0] - 1.0), -0.5 * z[1]])
    with pytest.warns(UserWarning, match="a multiplier of the gait is .1: it is one of many"):
        assert int(fixed_point(turned, None, jnp.array([1.0, 0.2])).status) == Outcome.COMPLETED


@pytest.mark.parametrize(
    "use",
    [
        fixed_point,
        lambda strobe, model, z: orbit(strobe, model, z, 3),
        lambda strobe, model, z: continuation(strobe, model, "damping", z, (0.1, 0.2)),
        lambda strobe, model, z: locate(strobe, model, "damping", "fold", z, 0.1),
        lambda strobe, model, z: basin(strobe, model, z[None], z[None]),
        lambda strobe, model, z: lyapunov_exponent(strobe, model, z, strides=3),
    ],
)
def test_points_of_another_size_are_told(use):
    with pytest.raises(ValueError, match="a point on the section has 2 numbers, got 3 in z0"):
        use(StroboscopicMap(), Oscillator(), jnp.zeros(3))


def test_branches_do_not_start_where_no_search_ended():
    with pytest.raises(ValueError, match=r"z0 must be finite, got .*nan.*: no gait was found, if it is"):
        continuation(lambda model, z: 0.5 * z, VanDerPol(), "mu", np.array([np.nan]), (1.0, 2.0))
