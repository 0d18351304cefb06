"""The worst case: minimax problems with known answers, whose runs are formulas."""

import numpy as np
import pytest

from jaxgait.models.bungee import Bungee
from jaxgait.optimization import optimize
from jaxgait.optimization.epigraph import with_epigraph
from jaxgait.optimization.methods import SearchEnd, SearchSettings
from jaxgait.optimization.scenarios import Robust
from jaxgait.outcome import NoResult
from tests.optimization.minimax import CENTRES, MIDDLE, Distances, searched, task


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_kink_is_found_from_everywhere_with_the_share_of_each_scenario(sign):
    """The shares are the barycentric coordinates of the circle's centre."""
    found = searched(sign)
    best = np.array([found.best["mass"], found.best["stiffness"]]) - 1.0
    np.testing.assert_allclose(best, MIDDLE, atol=1e-5)
    np.testing.assert_allclose(found.ends.objective, -sign * 0.180556, atol=1e-6)
    np.testing.assert_allclose(found.scenarios.weight.values @ CENTRES, best, atol=1e-5)
    np.testing.assert_allclose(found.scenarios.objective, found.objective, atol=1e-7)
    assert all("converged" in why for why in found.why_stopped) and found.ends.evaluations.max() <= 15


def test_limits_hold_in_the_scenario_where_they_are_hardest_to_keep():
    found = searched(limited=True)
    left = found.limits
    assert list(left) == [f"right >= 0.7 at ground = {depth}" for depth in (40, 50, 60)]
    assert -1e-8 <= left["right >= 0.7 at ground = 40"] < 1e-6 and left["right >= 0.7 at ground = 50"] > 0.07
    assert found.best["mass"] == pytest.approx(1.69, abs=1e-6)
    assert found.scenarios.limited_0.values == pytest.approx([0.7, 0.78, 0.73], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "within"), [("COBYQA", 1e-6), ("adam", 1e-3), ("Nelder-Mead", 1e-4)])
def test_other_methods_come_near(method, within):
    found = searched(method=method)
    assert found.objective == pytest.approx(-0.180556, abs=within)
    assert np.isfinite(found.scenarios.weight.values).all() == (method == "adam")


def test_a_design_that_fails_in_one_scenario_is_never_the_result():
    """It fails in the second one right of 0.45: the optimum is on that edge."""
    found = searched(edge=0.45)
    assert found.best["mass"] - 1.0 <= 0.45 and found.objective == pytest.approx(-0.2050, abs=2e-3)
    assert "the run at its start failed" in found.why_stopped[1]
    with pytest.raises(NoResult, match="every trajectory of every start failed"):
        searched(edge=-1.0)


def test_a_method_that_kinks_would_stop_is_named():
    with pytest.raises(ValueError, match="L-BFGS-B needs a smooth objective, but a worst case has kinks: use SLSQP"):
        optimize(
            Bungee(),
            minimize="peak_rope_force",
            over={"stiffness": (15.0, 60.0)},
            across={"mass": [60.0, 90.0]},
            robust="worst",
            method="L-BFGS-B",
        )


def test_restarts_use_four_times_the_iterations_in_all():
    """A method that improves a little each time, and always says that it converged."""
    used, (_, goal, scenarios) = [], task(-1.0)
    runs = Robust(Distances(-1.0, False, 2.0), scenarios)

    def method(ask, x, settings):
        used.append((1 + settings.restarts) * settings.iterations)
        return SearchEnd(x - 0.02, True, "")

    settings = SearchSettings(-1.0, goal, 40, 1e-8, 0.06, 0)
    with_epigraph(method)(lambda x: runs(np.zeros(len(x), int), x), np.array([0.9, 0.9]), settings)
    assert sum(used) == 4 * settings.iterations


class Steep(Distances):
    """The first scenario is a million times as steep as the others, and good at the starts."""

    def __call__(self, searches, x):
        found, first = super().__call__(searches, x), (searches % len(CENTRES) == 0)[:, None]
        values = np.where(first, 1e6 * (x[:, :1] - 0.3), found.values)
        return found._replace(values=values, slopes=np.where(first[..., None], [1e6, 0.0], found.slopes))


class Errors(Distances):
    """Of the first parameter from 0.47 to both sides, one twice as steep, and one far from being the worst."""

    def __call__(self, searches, x):
        found, factors = super().__call__(searches, x), np.array([1.0, -2.0, 0.0])[searches % len(CENTRES)]
        grown = np.exp(factors * (x[:, 0] - 0.47))
        values = grown - 1.0 - (factors == 0.0)
        return found._replace(values=values[:, None], slopes=(factors * grown)[:, None, None] * np.eye(2)[:1])


def test_a_worst_error_of_zero_is_balanced_by_its_scenarios():
    found = searched(-1.0, starts=((0.3, 0.3), (0.7, 0.6)), runs=Errors)
    np.testing.assert_allclose(found.scenarios.weight, [2.0 / 3.0, 1.0 / 3.0, 0.0], atol=1e-6)
    assert abs(found.objective) < 1e-8 and all(why.startswith("converged") for why in found.why_stopped)


class Behind(Distances):
    """Only the scenarios that are not the worst, at the points that are evaluated, depend on the second parameter."""

    def __call__(self, searches, x):
        found, first = super().__call__(searches, x), (searches % len(CENTRES) == 0)[:, None]
        slopes = np.where(first[..., None], [1.0, 0.0], [0.0, 1.0]) * np.ones((len(x), 1, 1))
        return found._replace(values=np.where(first, x[:, :1], x[:, 1:] - 0.95), slopes=slopes)


def test_a_parameter_of_other_scenarios_than_the_worst_has_influence():
    found = searched(-1.0, starts=((0.3, 0.3), (0.7, 0.6)), runs=Behind)
    assert found.scenarios.objective.argmax() == 0 and "does not depend" not in found.why_stopped[0]


def test_a_steep_scenario_that_is_not_the_worst_does_not_stop_the_search():
    """The worst distance from the others, left of 0.3: equally far from both centres."""
    found = searched(-1.0, starts=((0.1, 0.3), (0.25, 0.9)), runs=Steep)
    right = lambda y: ((np.array([0.3, y]) - CENTRES[1:]) ** 2).sum(axis=1).max()
    assert found.ends.objective.values == pytest.approx(min(map(right, np.linspace(0.0, 1.0, 100001))), abs=1e-5)
