"""The surroundings of an optimum in closed form: peaks of any width, flat directions, objectives near zero."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.optimization.active_constraints import balance
from jaxgait.optimization.evaluate import Evaluator
from jaxgait.optimization.goals import Goal, at_least
from jaxgait.optimization.neighbourhood import around
from jaxgait.optimization.space import Space
from tests.optimization.oscillator import Oscillator
from tests.optimization.test_gradient_checks import InClosedForm, Limited

PEAK = lambda k, c: 2.0 - k**2 - c**2
SPACE = Space(Oscillator(), {"k": (-2.0, 2.0), "c": (-2.0, 2.0)})


class Following(Evaluator):
    """Finds a gait only near the last one of the same search, as Newton's method does."""

    def __init__(self, evaluate, reach):
        self._evaluate, self._reach, self.last, self.batches = evaluate, reach, {}, 0

    def __call__(self, searches, x):
        found, self.batches = self._evaluate(searches, x), self.batches + 1
        moved = [np.abs(one - self.last.get(int(i), one)).max() for i, one in zip(searches, x, strict=True)]
        lost = np.array(moved) > self._reach
        self.last |= {int(i): one for i, one, gone in zip(searches, x, lost, strict=True) if not gone}
        return found.without(lost)

    def memory(self, search):
        return self.last.get(search)

    def recall(self, memories):
        self.last |= memories


def around_best(objective, best, sign=1.0, fails=lambda x: False, variation=0.0, error=0.0, least=None, reach=None):
    """The surroundings of the best point of an objective of k and c, whose slopes are too large by a fraction.

    `least` is a measure of them that must be at least -1. With a `reach`, as a fraction of the box, gaits are found
    only that near to the last one.
    """
    at = lambda x: -2.0 + 4.0 * x
    with jax.enable_x64(True):
        value, slope = jax.jit(lambda x: objective(*at(x))), jax.jit(jax.grad(lambda x: objective(*at(x))))
        evaluate = InClosedForm(value, lambda x: (1.0 + error) * slope(x), lambda x: fails(at(x)))
        x, goal = (np.array(best) + 2.0) / 4.0, Goal.of(Oscillator(), "power")
        if least is not None:
            goal = Goal.of(Oscillator(), "power", [at_least("excursion", -1.0)])
            evaluate = Limited(value, slope, lambda x: least(*at(x)), jax.grad(lambda x: least(*at(x))))
        evaluate = evaluate if reach is None else Following(evaluate, reach)
        return around(evaluate, SPACE, goal, sign, 0, x, evaluate([0], x[None]), variation)


@pytest.mark.parametrize("width", [1.0, 0.05, 0.0125])
def test_the_curvature_of_a_peak_of_any_width(width):
    """Also one that is a third of the coarse step wide, where differences of values and slopes at that step vanish."""
    local = around_best(lambda k, c: jnp.cos(k / width) + jnp.exp(-((c / width) ** 2) / 2.0), (0.0, 0.0))
    np.testing.assert_allclose(np.diagonal(local.hessian), -1.0 / width**2, rtol=0.06 if width < 0.05 else 0.02)
    assert local.difference < 0.05
    assert local.room["k"] == pytest.approx((np.sqrt(4e-3) * width,) * 2, rel=0.05)
    assert local.hessian.attrs["units"] == "1"


def test_slopes_are_checked_where_both_vanish_by_symmetry():
    """Differences over both sides are zero at a symmetric optimum, whatever the slopes."""
    peak = lambda k, c: 2.0 - k**2 - c**2
    assert around_best(peak, (0.0, 0.0)).difference < 1e-9
    assert around_best(peak, (0.0, 0.0), error=1.0).difference > 0.3
    assert around_best(lambda k, c: 2.0 - jnp.abs(k) - c**2, (0.0, 0.0)).difference > 0.3  # a kink
    needle = around_best(lambda k, c: jnp.exp(-((k / 1e-4) ** 2)) - c**2, (0.0, 0.0))  # narrower than both steps
    assert needle.difference > 0.3


def test_where_runs_fail_at_the_coarse_step_the_fine_one_remains():
    local = around_best(lambda k, c: 2.0 - k**2 - c**2, (0.0, 0.0), fails=lambda x: x[0] > 0.05)
    assert float(local.hessian[0, 0]) == pytest.approx(-2.0) and local.difference < 1e-6
    assert around_best(lambda k, c: 2.0 - k**2, (0.0, 0.0), fails=lambda x: x[0] > 0.003) is None


@pytest.mark.parametrize("bend", [0.0, 1e-9, -1e-9])
def test_a_flat_direction_leaves_open_only_the_parameters_that_take_part_in_it(bend):
    local = around_best(lambda k, c: 1.0 + (k - 0.3) ** 2 + bend * c**2, (0.3, 1.0), sign=-1.0)
    assert local.ridge["k"] == pytest.approx((np.sqrt(1e-3),) * 2) and local.ridge["c"] == (3.0, 1.0)  # to the bounds
    both = around_best(lambda k, c: 1.0 + (k - c) ** 2, (0.0, 0.0), sign=-1.0)
    assert both.room["k"] == pytest.approx((np.sqrt(1e-3),) * 2) and both.ridge["k"] == both.ridge["c"] == (2.0, 2.0)
    assert all(np.greater_equal(local.ridge[name], local.room[name]).all() for name in ("k", "c"))


def test_no_ridge_is_said_to_be_known_where_the_second_derivatives_describe_no_optimum():
    saddle = around_best(lambda k, c: 2.0 - k**2 + 0.3 * c**2, (0.0, 0.0))
    wrong = around_best(PEAK, (0.0, 0.0), error=1.0)
    assert np.isnan([*saddle.ridge.values(), *wrong.ridge.values()]).all()
    assert saddle.ridge_unknown == "by the second derivatives, the objective would improve in some direction"
    assert wrong.ridge_unknown.startswith("the gradient and differences of values next to this design disagree by")
    assert not around_best(PEAK, (0.0, 0.0)).ridge_unknown and np.isfinite(wrong.room["k"]).all()


def test_the_loss_of_an_objective_near_zero_is_relative_to_its_variation():
    valley = lambda k, c: k**2 + c**2 + 1e-12
    assert around_best(valley, (0.0, 0.0), sign=-1.0, variation=10.0).loss == pytest.approx(1e-3)
    assert around_best(lambda k, c: 5.0 + k**2, (0.0, 0.0), sign=-1.0, variation=10.0).loss == pytest.approx(5e-3)


def test_a_parameter_on_a_bound_moves_inwards_while_the_free_ones_follow():
    """From c = -2, where c loses something: alone, with k along the bottom of a valley, and with k along a limit."""
    linear = around_best(lambda k, c: 1.0 + 3.0 * (c + 2.0) + k**2, (0.0, -2.0), sign=-1.0)
    assert linear.ridge["c"] == pytest.approx((0.0, 1e-3 / 3.0)) == linear.room["c"]
    follows = around_best(lambda k, c: 1.0 + (c + 2.0) + 1e4 * (k - c - 2.0) ** 2, (0.0, -2.0), sign=-1.0)
    assert follows.ridge["c"] == pytest.approx((0.0, 1e-3), rel=1e-3) and follows.room["c"][1] < 0.5e-3
    limited = around_best(
        lambda k, c: 3.0 + k + 2.0 * (c + 2.0), (0.0, -2.0), sign=-1.0, least=lambda k, c: k + 0.5 * c
    )
    assert limited.room["c"] == pytest.approx((0.0, 3e-3 / 2.0)) and limited.ridge["c"] == pytest.approx((0.0, 2e-3))


def test_a_parameter_on_a_bound_that_no_free_one_can_follow_has_no_ridge():
    corner = around_best(lambda k, c: 3.0 + k + 0.5 * c, (-2.0, 2.0), sign=-1.0, least=lambda k, c: k + c - 1.0)
    assert np.isnan(corner.ridge["k"]).all() and np.isfinite(corner.room["k"]).all()


def test_tolerances_end_where_runs_fail_limits_are_violated_or_the_objective_is_worse():
    """Derivatives at the best point do not know of an edge nearby, of a curved limit, or of a flat top."""
    edge = around_best(PEAK, (0.0, 0.0), fails=lambda x: x[0] > 0.02)
    down, up = edge.room["k"]
    assert down == pytest.approx(np.sqrt(2e-3), rel=0.01) and 0.018 <= up <= 0.02 and up < edge.fails["k"][1] < 0.0223
    assert edge.stops == {"k": ("objective", "failed: 1"), "c": ("objective", "objective")}
    assert np.isnan([edge.fails["k"][0], *edge.fails["c"]]).all()
    curved = around_best(PEAK, (0.0, 0.0), least=lambda k, c: -1.0 + 1e-4 - k**2)
    assert curved.stops["k"] == ("excursion >= -1",) * 2 and 0.009 < min(curved.room["k"]) <= 0.01
    flat = around_best(lambda k, c: 2.0 - k**4 - c**2, (0.0, 0.0))
    assert flat.room["k"] == pytest.approx((2e-3**0.25,) * 2, rel=0.1) and flat.stops["k"] == ("objective",) * 2
    wide = around_best(lambda k, c: 2.0 + 1e-4 * k, (2.0, 0.0))
    assert wide.room == {"k": (4.0, 0.0), "c": (2.0, 2.0)} and {*wide.stops["k"], *wide.stops["c"]} == {"bound"}


def test_a_limit_met_to_rounding_lets_a_parameter_not_move():
    """At k = -1, which a limit of at least -1 + 1e-16 holds: distances of 1e-16 are no tolerances."""
    local = around_best(lambda k, c: 2.0 - k - c**2, (-1.0, 0.0), least=lambda k, c: k + 1e-16)
    assert local.room["k"][0] == 0.0 and local.stops["k"][0] == "excursion >= -1"


def test_a_gait_that_is_found_in_shorter_steps_has_not_failed():
    """A jump to the end of the tolerance, 0.011 of the box away, finds none."""
    local = around_best(PEAK, (0.0, 0.0), fails=lambda x: x[1] > 0.03, reach=0.004)
    assert local.room["k"] == pytest.approx((np.sqrt(2e-3),) * 2, rel=0.1) and np.isnan(local.fails["k"]).all()
    assert 0.027 <= local.room["c"][1] <= 0.03 < local.fails["c"][1] < 0.0334


FLAT_IN_C = lambda k, c: 2.0 - k**2


def test_a_long_step_that_failed_beyond_a_limit_is_no_failure():
    """Gaits exist everywhere; the first step to a wall is too long for Newton's method, the next one breaks a limit."""
    for reach in (0.3, 0.2, 0.1):
        local = around_best(FLAT_IN_C, (0.0, 0.0), least=lambda k, c: -0.75 - c**2, reach=reach)
        assert local.stops["c"] == ("excursion >= -1",) * 2 and np.isnan([*local.fails["k"], *local.fails["c"]]).all()
        assert all(0.45 <= by <= 0.5 for by in local.room["c"])


def test_an_end_that_the_largest_number_of_evaluations_does_not_reach_is_not_one():
    """Neither a bound nor a loss farther away was found where gaits are found only in short steps."""
    flat = around_best(FLAT_IN_C, (0.0, 0.0), reach=0.011)
    assert flat.stops == {"k": ("objective",) * 2, "c": ("not searched farther",) * 2}
    assert all(0.1 < by < 2.0 for by in flat.room["c"]) and np.isnan(flat.fails["c"]).all()
    wide = around_best(lambda k, c: 2.0 - k**2 - 1e-9 * c**2 - 7.8e-4 * c**4, (0.0, 0.0), reach=0.011)
    assert wide.stops["c"] == ("not searched farther",) * 2 and all(0.1 < by < 1.27 for by in wide.room["c"])


def test_a_parameter_that_cannot_move_at_all_is_stopped_by_what_fails_there():
    cracks = lambda x: 1e-7 < x[1] < 0.0039 or 0.0041 < x[1] < 0.079  # not at the steps of the differences
    local = around_best(PEAK, (0.0, 0.0), fails=cracks)
    assert local.stops["c"] == ("objective", "failed: 1") and local.room["c"][1] == 0.0 < local.fails["c"][1] < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("edge", np.random.default_rng(0).uniform(0.05, 1.9, 8))
@pytest.mark.parametrize("reach", [None, 0.3, 0.06])
def test_an_end_at_which_runs_fail_lies_between_the_room_and_the_failure(edge, reach):
    local = around_best(FLAT_IN_C, (0.0, 0.0), fails=lambda x: x[1] > edge, reach=reach)
    room, fails = local.room["c"][1], local.fails["c"][1]
    if local.stops["c"][1] == "not searched farther":
        assert reach == 0.06 and room <= edge and np.isnan(fails)
    else:
        assert local.stops["c"][1] == "failed: 1" and room <= edge < fails <= room / 0.9 + 1e-12


def test_a_point_next_to_a_bound_is_held_by_it():
    """A search may end 1e-8 of the box from a bound: its slope towards the bound is none that remains."""
    model = Oscillator()
    space, goal = Space(model, {"k": (0.5, 2.5), "c": (0.2, 1.2)}), Goal.of(model, "power")
    left, multipliers = balance(space, goal, 1.0, np.array([1e-8, 0.4]), np.array([3.0]), np.array([[-2.0, 0.0]]))
    assert left == 0.0 and multipliers == {"k = 0.5": 1.0}  # per unit, of which the box is two wide


def test_a_bound_that_only_rounding_presses_on_has_no_multiplier():
    """At (1, 1), k c >= 1 alone holds both parameters, and what is left for their bounds is rounding."""
    space = Space(Oscillator(), {"k": (0.0, 1.0), "c": (0.0, 1.0)})
    goal = Goal.of(Oscillator(), "power", ["excursion >= 1"])
    values, slopes = np.array([2.0, 1.0]), np.array([[0.1 + 0.2, 0.3], [1.0, 1.0]])
    _, multipliers = balance(space, goal, -1.0, np.ones(2), values, slopes)
    assert multipliers == {"excursion >= 1": pytest.approx(0.3), "k = 1": 0.0, "c = 1": 0.0}
