"""The surroundings of an optimum in closed form: peaks of any width, flat directions, objectives near zero."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.optimization.goals import Goal, at_least
from jaxgait.optimization.space import Space
from jaxgait.optimization.surroundings import around
from tests.optimization.oscillator import Oscillator
from tests.optimization.test_trust import InClosedForm, Limited

SPACE = Space(Oscillator(), {"k": (-2.0, 2.0), "c": (-2.0, 2.0)})


class Following(InClosedForm):
    """Finds a gait only near the last one of the same search, as Newton's method does."""

    longest = 0.004

    def __init__(self, *functions):
        super().__init__(*functions)
        self.last = {}

    def __call__(self, searches, x):
        found = super().__call__(searches, x)
        moved = [np.abs(one - self.last.get(int(i), one)).max() for i, one in zip(searches, x, strict=True)]
        lost = np.array(moved) > self.longest
        self.last |= {int(i): one for i, one, gone in zip(searches, x, lost, strict=True) if not gone}
        return found.without(lost)

    def memory(self, search):
        return self.last.get(search)

    def recall(self, memories):
        self.last |= memories


def around_best(objective, best, sign=1.0, fails=lambda x: False, variation=0.0, error=0.0, least=None):
    """The surroundings of the best point of an objective of k and c, whose slopes are too large by a fraction.

    `least` is a measure of them that must be at least -1.
    """
    at = lambda x: -2.0 + 4.0 * x
    with jax.enable_x64(True):
        value, slope = jax.jit(lambda x: objective(*at(x))), jax.jit(jax.grad(lambda x: objective(*at(x))))
        evaluate = InClosedForm(value, lambda x: (1.0 + error) * slope(x), lambda x: fails(at(x)))
        x, goal = (np.array(best) + 2.0) / 4.0, Goal.of(Oscillator(), "power")
        if least is not None:
            goal = Goal.of(Oscillator(), "power", [at_least("excursion", -1.0)])
            evaluate = Limited(value, slope, lambda x: least(*at(x)), jax.grad(lambda x: least(*at(x))))
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
    peak = lambda k, c: 2.0 - k**2 - c**2
    edge = around_best(peak, (0.0, 0.0), fails=lambda x: x[0] > 0.02)
    down, up = edge.room["k"]
    assert down == pytest.approx(np.sqrt(2e-3), rel=0.01) and 0.018 <= up <= 0.02 and up < edge.fails["k"][1] < 0.0223
    assert edge.stops == {"k": ("objective", "failed: 1"), "c": ("objective", "objective")}
    assert np.isnan([edge.fails["k"][0], *edge.fails["c"]]).all()
    curved = around_best(peak, (0.0, 0.0), least=lambda k, c: -1.0 + 1e-4 - k**2)
    assert curved.stops["k"] == ("excursion >= -1",) * 2 and 0.009 < min(curved.room["k"]) <= 0.01
    flat = around_best(lambda k, c: 2.0 - k**4 - c**2, (0.0, 0.0))
    assert flat.room["k"] == pytest.approx((2e-3**0.25,) * 2, rel=0.1) and flat.stops["k"] == ("objective",) * 2
    wide = around_best(lambda k, c: 2.0 + 1e-4 * k, (2.0, 0.0))
    assert wide.room == {"k": (4.0, 0.0), "c": (2.0, 2.0)} and {*wide.stops["k"], *wide.stops["c"]} == {"bound"}


def test_a_gait_that_is_found_in_shorter_steps_has_not_failed():
    """A jump to the end of the tolerance, 0.011 of the box away, finds none."""
    at, best = (lambda x: -2.0 + 4.0 * x), np.array([0.5, 0.5])
    evaluate = Following(
        lambda x: 2.0 - at(x[0]) ** 2 - at(x[1]) ** 2, lambda x: -8.0 * at(x), lambda x: -2.0 + 4.0 * x[1] > 0.03
    )
    with jax.enable_x64(True):
        local = around(evaluate, SPACE, Goal.of(Oscillator(), "power"), 1.0, 0, best, evaluate([0], best[None]))
    assert local.room["k"] == pytest.approx((np.sqrt(2e-3),) * 2, rel=0.1) and np.isnan(local.fails["k"]).all()
    assert 0.027 <= local.room["c"][1] <= 0.03 < local.fails["c"][1] < 0.0334
