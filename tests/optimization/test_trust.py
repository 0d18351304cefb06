"""Gradients that mean nothing are noticed by what the objective does one step further on; right ones are not."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.bungee import Bungee
from jaxgait.optimization import optimize
from jaxgait.optimization.evaluate import Evaluated
from jaxgait.optimization.trust import doubt

STARTS = np.random.default_rng(0).random((5, 2))


class Given:
    """An evaluator of a function with a slope that is given too, right or wrong."""

    name = "of a function"

    def __init__(self, value, slope, fails=lambda x: False):
        self._value, self._slope, self._fails, self.count = value, slope, fails, 0

    def __call__(self, who, x):
        self.count += len(x)
        values, slopes = np.array([[self._value(at)] for at in x]), np.array([[self._slope(at)] for at in x])
        status = np.array([int(self._fails(at)) for at in x])
        return Evaluated(values, slopes, status, np.full(len(x), np.nan))

    def shapes(self, x):
        return {"objective": ()}


def bowl(x):
    return 1.0 + (x[0] - 0.3) ** 2 + 3.0 * (x[1] - 0.6) ** 2


def slope(x):
    return np.array([2.0 * (x[0] - 0.3), 6.0 * (x[1] - 0.6)])


def test_a_right_gradient_is_trusted_after_two_runs_a_start():
    evaluate = Given(bowl, slope)
    assert doubt(evaluate, STARTS) == "" and evaluate.count == 3 * len(STARTS)
    assert doubt(Given(bowl, slope), np.array([[0.3, 0.6]])) == ""  # at its own optimum
    assert doubt(Given(bowl, slope), np.array([[0.0, 1.0]])) == ""  # in a corner


def test_a_slope_with_noise_of_the_solver_is_trusted():
    noise = np.random.default_rng(1)
    assert doubt(Given(lambda x: bowl(x) + 1e-5 * noise.standard_normal(), slope), STARTS) == ""


@pytest.mark.parametrize("factor", [0.0, -1.0, 3.0, 1e6])
def test_a_wrong_gradient_is_noticed(factor):
    assert doubt(Given(bowl, lambda x: factor * slope(x)), STARTS)
    assert "at 1 of 1 starts" in doubt(Given(bowl, lambda x: factor * slope(x)), STARTS[:1])


def test_a_rounded_objective_has_no_gradient():
    why = doubt(Given(lambda x: np.floor(bowl(x) * 4.0), lambda x: np.zeros(2)), STARTS)
    assert why == "it is zero at 5 starts between which the objective differs"


def test_it_counts_by_most_of_the_starts_that_run():
    wrong = lambda x: slope(x) * (1e3 if x[0] > 0.5 else 1.0)
    few, most = np.array([[0.2, 0.2], [0.4, 0.1], [0.7, 0.3]]), np.array([[0.2, 0.2], [0.8, 0.1], [0.7, 0.3]])
    assert doubt(Given(bowl, wrong), few) == "" and "at 2 of 3 starts" in doubt(Given(bowl, wrong), most)
    assert doubt(Given(bowl, wrong, fails=lambda x: x[0] > 0.5), most) == ""
    assert doubt(Given(bowl, wrong, fails=lambda x: True), most) == ""


def test_where_the_gradient_means_nothing_the_search_goes_without():
    """A speed read off in steps of 1 m/s: the slope is zero everywhere, the jumper's speed at 12 m/s is found."""
    coarse = lambda run: jnp.abs(jnp.floor(run.ys.v[-1]) - 12.0)
    box, run = {"stiffness": (15.0, 60.0)}, {"duration": 4.0, "samples": 20, "progress": False}
    found = optimize(Bungee(), minimize=coarse, over=box, starts=3, iterations=6, **run)
    assert found.method == "COBYQA" and found.objective == 0.0
    assert found.gradient == (
        "none: values alone, since the gradient through the whole run means nothing here: "
        "it is zero at 3 starts between which the objective differs"
    )


def test_what_the_surroundings_of_the_optimum_say_against_its_slopes_is_said():
    box = {"stiffness": (15.0, 40.0)}
    options = {"over": box, "method": "SLSQP", "starts": 1, "duration": 1.0, "progress": False}
    steps = optimize(Bungee(), maximize=lambda run: jnp.floor(run.model.stiffness), **options)
    assert "a gradient that means nothing" in steps.gradient and not steps.local.difference <= 0.5
    smooth = optimize(Bungee(), maximize=lambda run: run.model.stiffness, **options)
    assert smooth.gradient == "through the whole run"
