"""Gradients that mean nothing are noticed by what the objective does one step further on; right ones are not."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.bungee import Bungee
from jaxgait.optimization import optimize
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.gradient_checks import Guard, UnreliableGradient, gradient_fault
from jaxgait.optimization.methods import SearchSettings
from jaxgait.optimization.neighbourhood import around
from jaxgait.optimization.search import Search
from jaxgait.optimization.space import Space
from jaxgait.solve.smooth import Smooth
from tests.optimization.oscillator import Oscillator

STARTS = np.random.default_rng(0).random((5, 2))


class InClosedForm(Evaluator):
    """An evaluator of a function with a slope that is given too, right or wrong."""

    name = "of a function"

    def __init__(self, value, slope, fails=lambda x: False):
        self._value, self._slope, self._fails, self.count = value, slope, fails, 0

    def __call__(self, searches, x):
        self.count += len(x)
        values, slopes = np.array([[self._value(at)] for at in x]), np.array([[self._slope(at)] for at in x])
        status = np.array([int(self._fails(at)) for at in x])
        return Evaluated(values, slopes, status, np.full(len(x), np.nan))

    def shapes(self, x):
        return {"objective": ()}


class Limited(InClosedForm):
    """The same with a limited measure, whose slope is given too."""

    def __init__(self, value, slope, limited, limited_slope):
        super().__init__(value, slope)
        self._limited = InClosedForm(limited, limited_slope)

    def __call__(self, searches, x):
        found, limited = super().__call__(searches, x), self._limited(searches, x)
        join = lambda one, other: np.concatenate([one, other], axis=1)
        return found._replace(values=join(found.values, limited.values), slopes=join(found.slopes, limited.slopes))


def fault(evaluate, x, *limits):
    return gradient_fault(evaluate, x, Goal.of(Oscillator(), "power", limits))


def test_a_steeply_curved_objective_does_not_disagree_with_its_own_slopes():
    """Around the optimum: the mean of the slopes at the ends of the interval alone is 5 % off here."""
    curve = InClosedForm(lambda x: np.exp(20.0 * x[0]), lambda x: 20.0 * np.exp(20.0 * x))
    wrong = InClosedForm(lambda x: np.exp(20.0 * x[0]), lambda x: 21.0 * np.exp(20.0 * x))
    space, goal = Space(Oscillator(), {"k": (0.0, 2.0)}), Goal.of(Oscillator(), "power")
    at = lambda evaluate, x: around(evaluate, space, goal, 1.0, 0, np.array([x]), evaluate(0, np.array([[x]])))
    assert at(curve, 0.5).difference < 1e-3 and at(wrong, 0.5).difference > 0.02
    assert at(curve, 0.0).difference < 0.05  # beside a wall the ends are all there is


def bowl(x):
    return 1.0 + (x[0] - 0.3) ** 2 + 3.0 * (x[1] - 0.6) ** 2


def slope(x):
    return np.array([2.0 * (x[0] - 0.3), 6.0 * (x[1] - 0.6)])


def test_a_right_gradient_is_trusted_after_two_runs_a_start():
    evaluate = InClosedForm(bowl, slope)
    assert fault(evaluate, STARTS) == "" and evaluate.count == 3 * len(STARTS)
    assert fault(InClosedForm(bowl, slope), np.array([[0.3, 0.6]])) == ""  # at its own optimum
    assert fault(InClosedForm(bowl, slope), np.array([[0.0, 1.0]])) == ""  # in a corner


def test_a_slope_with_noise_of_the_solver_is_trusted():
    noise = np.random.default_rng(1)
    assert fault(InClosedForm(lambda x: bowl(x) + 1e-5 * noise.standard_normal(), slope), STARTS) == ""


@pytest.mark.parametrize("factor", [0.0, -1.0, 3.0, 1e6])
def test_a_wrong_gradient_is_noticed(factor):
    assert fault(InClosedForm(bowl, lambda x: factor * slope(x)), STARTS)
    assert "at 1 of 1 starts" in fault(InClosedForm(bowl, lambda x: factor * slope(x)), STARTS[:1])


def test_a_rounded_objective_has_no_gradient():
    why = fault(InClosedForm(lambda x: np.floor(bowl(x) * 4.0), lambda x: np.zeros(2)), STARTS)
    assert why == "it is zero at 5 starts although the objective differs between them"


@pytest.mark.parametrize("count", [1, 5])
def test_a_parameter_that_moves_a_jump_of_a_law_is_named(count):
    """Its derivatives are zero, while those by the other parameter are right."""
    seen = lambda evaluate: gradient_fault(evaluate, STARTS[:count], Goal.of(Oscillator(), "power"), ("k", "onset"))
    why = seen(InClosedForm(bowl, lambda x: slope(x) * [1.0, 0.0]))
    assert why == f"it is zero by onset, although the objective changes with it at {count} of {count} starts"
    independent = InClosedForm(lambda x: bowl([x[0], 0.0]), lambda x: slope(x) * [1.0, 0.0])
    assert seen(independent) == "" and independent.count == 5 * count


def test_an_extremum_on_a_bound_is_no_jump_of_a_law():
    ridge = InClosedForm(lambda x: 2.0 + x[0] - x[1] ** 2, lambda x: np.array([1.0, -2.0 * x[1]]))
    assert gradient_fault(ridge, np.array([[0.3, 0.0]]), Goal.of(Oscillator(), "power"), ("k", "c")) == ""


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_wrong_gradient_over_one_parameter_is_noticed_uphill_and_downhill(sign):
    evaluate = InClosedForm(lambda x: 2.0 + sign * x[0], lambda x: np.array([30.0 * sign]))
    assert "at 1 of 1 starts" in fault(evaluate, np.array([[0.5]]))


def test_it_counts_by_most_of_the_starts_that_run():
    wrong = lambda x: slope(x) * (1e3 if x[0] > 0.5 else 1.0)
    few, most = np.array([[0.2, 0.2], [0.4, 0.1], [0.7, 0.3]]), np.array([[0.2, 0.2], [0.8, 0.1], [0.7, 0.3]])
    assert fault(InClosedForm(bowl, wrong), few) == "" and "at 2 of 3 starts" in fault(InClosedForm(bowl, wrong), most)
    assert fault(InClosedForm(bowl, wrong, fails=lambda x: x[0] > 0.5), most) == ""
    assert fault(InClosedForm(bowl, wrong, fails=lambda x: True), most) == ""


def test_a_limit_without_a_gradient_is_named_and_one_with_it_is_trusted():
    floor = Limited(bowl, slope, lambda x: np.floor(8.0 * x[0]), lambda x: np.zeros(2))
    wrong = Limited(bowl, slope, lambda x: x[0], lambda x: np.array([5.0, 0.0]))
    right = Limited(bowl, slope, lambda x: 1e-9 * x[0], lambda x: np.array([1e-9, 0.0]))
    text = "that of excursion is zero at 5 starts although excursion differs between them"
    assert fault(floor, STARTS, "excursion >= 1") == text
    assert fault(wrong, STARTS, "excursion >= 1").startswith("that of excursion disagrees with differences of runs")
    assert fault(right, STARTS, "excursion >= 0") == ""


def test_slopes_that_are_not_finite_at_most_starts_are_a_fault():
    assert fault(InClosedForm(bowl, lambda x: np.full(2, np.nan)), STARTS) == "it is not finite at 5 of 5 starts"


@pytest.mark.slow
def test_where_the_gradient_means_nothing_the_search_goes_without():
    """A speed read off in steps of 1 m/s: the slope is zero everywhere, the jumper's speed at 12 m/s is found."""
    coarse = lambda run: jnp.abs(jnp.floor(run.ys.v[-1]) - 12.0)
    box, run = {"stiffness": (15.0, 60.0)}, {"duration": 4.0, "samples": 20, "progress": False}
    found = optimize(Bungee(), minimize=coarse, over=box, starts=3, iterations=6, **run)
    assert found.method == "COBYQA" and found.objective == 0.0
    assert found.gradient == (
        "none: values alone, since the gradient through the whole run is unreliable here: "
        "it is zero at 3 starts although the objective differs between them"
    )


@pytest.mark.slow
def test_what_the_surroundings_of_the_optimum_say_against_its_slopes_is_said():
    options = {"over": {"k": (15.0, 40.0)}, "gradient": "run", "method": "SLSQP", "starts": 1, "progress": False}
    steps = optimize(Oscillator(), maximize=lambda run: jnp.floor(run.model.k), duration=1.0, **options)
    assert "a kink, or unreliable" in steps.gradient and not steps.local.difference <= 0.5
    smooth = optimize(Oscillator(), maximize=lambda run: run.model.k, duration=1.0, **options)
    assert smooth.gradient == "through the whole run"


# --- on the way -------------------------------------------------------------------------------------------------------

TOP = np.array([0.8, 0.3])


def hill(x):
    return 2.0 - np.sum((x - TOP) ** 2)


def uphill(x):
    return -2.0 * (x - TOP)


def chaos(x):
    """Slopes of any size and sign: those of a walk that is irregular beyond the middle of the box."""
    return 10.0 ** (8.0 + 13.0 * np.abs(np.sin(1e5 * x))) * np.sign(np.sin(3e6 * x))


def searched(evaluate, method="SLSQP", fallback="COBYQA", starts=((0.1, 0.9),), limits=()):
    space = Space(Oscillator(), dict(zip("kc", [(0.0, 1.0)] * len(starts[0]), strict=False)))
    settings = SearchSettings(1.0, Goal.of(Oscillator(), "power", limits), 60, 1e-8, 0.1, 0)
    return Search(Oscillator(), space, evaluate, method, settings, 1.0, None, fallback).optimum(np.array(starts), False)


def lost_beyond(middle, beyond=chaos):
    return InClosedForm(hill, lambda x: beyond(x) if x[0] > middle else uphill(x))


@pytest.mark.parametrize("method", ["SLSQP", "L-BFGS-B", "adam"])
@pytest.mark.parametrize("beyond", [chaos, lambda x: np.full(2, np.nan)])
def test_where_slopes_become_meaningless_on_the_way_the_start_goes_on_without(method, beyond):
    found = searched(lost_beyond(0.5, beyond), method)
    assert (
        found.objective == pytest.approx(2.0, abs=1e-4)
        and found.local is None
        and np.isnan(found.ends.remaining_slope[0])
    )
    message = "of a function; it proved unreliable for 1 of 1 starts, which continued without it, by COBYQA"
    assert found.gradient == message
    assert found.why_stopped[0].startswith("the gradient is unreliable at evaluation ")
    assert "; COBYQA continued from its best point and " in found.why_stopped[0]


def test_a_method_by_name_stops_there_and_the_other_starts_go_on():
    found = searched(lost_beyond(0.85), fallback=None, starts=((0.1, 0.9), (0.9, 0.1)))
    assert "converged" in found.why_stopped[0] and found.objective == pytest.approx(2.0, abs=1e-6)
    assert found.why_stopped[1].startswith("stopped: the gradient is unreliable at evaluation ")
    assert (
        "promise" in found.why_stopped[1] and "method='auto' would continue without derivatives" in found.why_stopped[1]
    )
    assert found.gradient == "of a function; it proved unreliable for 1 of 2 starts, which stopped there"


def test_a_limit_whose_slopes_mean_nothing_is_named():
    irregular = lambda x: chaos(x) if x[0] > 0.5 else np.array([1.0, 0.0])
    found = searched(Limited(hill, uphill, lambda x: x[0], irregular), limits=["excursion <= 0.7"])
    assert "the slopes of excursion <= 0.7 promise" in found.why_stopped[0]
    assert found.best["k"] == pytest.approx(0.7, abs=1e-3) and found.objective == pytest.approx(1.99, abs=1e-3)


def logistic(x):
    """Mean of the last 50 of 200 iterates of r x (1 - x), r of 2.8 to 4, with its derivative: chaos beyond r = 3.57."""
    r, at, slope, mean, rate = 2.8 + 1.2 * x[0], 0.4, 0.0, 0.0, 0.0
    for i in range(200):
        at, slope = r * at * (1.0 - at), at * (1.0 - at) + r * (1.0 - 2.0 * at) * slope
        mean, rate = mean + (at / 50.0 if i >= 150 else 0.0), rate + (slope / 50.0 if i >= 150 else 0.0)
    return mean + x[0], np.array([1.2 * rate + 1.0])


def test_chaos_is_noticed_though_its_derivatives_are_exact():
    found = searched(InClosedForm(lambda x: logistic(x)[0], lambda x: logistic(x)[1]), starts=((0.1,),))
    assert re.search(
        r"the slopes of the objective promise \de\+[1-5]\d times its entire variation", found.why_stopped[0]
    )
    assert found.objective > 1.4  # r = 4 has 1.5


def wall(x):
    far = np.clip((x[0] - 0.6) / 1e-7, -300.0, 300.0)
    return np.tanh(far) + x[1], np.array([1e7 / np.cosh(far) ** 2, 1.0])


def root(x):
    apart = x[0] - 0.6
    return np.sqrt(abs(apart)) + x[1], np.array([0.5 * np.sign(apart) / np.sqrt(abs(apart)), 1.0])


def barrier(x):
    return -1e-9 / (x[0] + 1e-12), np.array([1e-9 / (x[0] + 1e-12) ** 2, 0.0])


def valley(x):
    return -1e8 * (x.sum() - 1.0) ** 2 - x[0], -2e8 * (x.sum() - 1.0) * np.ones(2) - [1.0, 0.0]


def even(x):
    return -((x[0] - 0.5) ** 2), np.array([1.0 - 2.0 * x[0], 0.0])


@pytest.mark.parametrize("sound", [wall, root, barrier, valley, even])
def test_steep_and_sound_objectives_are_never_stopped_and_seldom_asked_twice(sound):
    """From far away, across, and at all distances from where they are steepest, uphill and downhill."""
    near = 0.6 + np.outer([-1.0, 1.0], 10.0 ** np.arange(-9.0, -0.5)).ravel()
    points = np.array([[at, y] for at in [*near, 0.0, 1.0, 1e-9, 1e-6, 0.2, 0.8] for y in (0.0, 0.4, 1.0)])
    points = points[np.random.default_rng(2).permutation(len(points))]
    evaluate = InClosedForm(lambda x: sound(x)[0], lambda x: sound(x)[1])
    asked = []
    guard = Guard(lambda x: asked.extend(x) or evaluate(np.zeros(len(x)), x))
    for x in points:
        guard(x[None])
    assert len(asked) <= len(points) + 2 * 8


def test_one_slope_that_is_not_finite_is_a_step_to_be_taken_back():
    slope = lambda x: np.full(2, np.nan) if np.array_equal(x, TOP) else uphill(x)
    guard = Guard(lambda x: InClosedForm(hill, slope)(np.zeros(len(x)), x))
    assert not guard(TOP[None]).valid[0] and guard(np.array([[0.2, 0.2]])).valid[0]
    with pytest.raises(UnreliableGradient, match="the slopes of the objective are not finite"):
        Guard(lambda x: InClosedForm(hill, lambda x: np.full(2, np.nan))(np.zeros(len(x)), x), ["the objective"])(
            TOP[None]
        )


@pytest.mark.slow
def test_a_scheme_without_derivatives_is_searched_without(monkeypatch):
    monkeypatch.setattr(Smooth, "no_gradient", "for this test")
    found = optimize(Oscillator(), maximize="excursion", over={"k": (0.3, 2.5)}, starts=1, strides=4, progress=False)
    assert found.method == "COBYQA" and found.best["k"] == pytest.approx(1.0, abs=0.03)
    assert found.gradient == "none: values alone, since Smooth has no gradient"


def test_a_parameter_without_influence_is_named():
    ridge = InClosedForm(lambda x: 1.0 - (x[0] - 0.5) ** 2, lambda x: np.array([1.0 - 2.0 * x[0], 0.0]))
    assert searched(ridge).why_stopped[0].endswith("; the objective does not depend on c")
    level = searched(InClosedForm(lambda x: 1.0, lambda x: np.zeros(2)), starts=((0.1, 0.9), (0.5, 0.5)))
    assert level.why_stopped[1].endswith("; the objective is the same at all 2 points")


def test_a_best_point_that_is_no_end_is_said_to_be_on_the_way():
    """Adam steps over a cusp again and again."""
    cusp = InClosedForm(
        lambda x: -np.sqrt(np.abs(x - 0.3)).sum(), lambda x: 0.5 * np.sign(0.3 - x) / np.abs(x - 0.3) ** 0.5
    )
    found = searched(cusp, "adam", None, starts=((0.9, 0.2),))
    assert re.search(r"; the best point is its evaluation \d+, on the way, better than all ends", found.why_stopped[0])
