"""Gaits that are not stable: bands of them are crossed, but no search ends there if there is another end."""

import numpy as np
import pytest

from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.methods import SearchSettings
from jaxgait.optimization.search import Search
from jaxgait.optimization.space import Space
from jaxgait.outcome import Outcome
from tests.optimization.oscillator import Oscillator


class Function(Evaluator):
    """An evaluator, by central differences, of a function of one point; NaN stands for a run that failed."""

    name = "of a function"

    def __init__(self, value, multiplier=lambda x: np.nan):
        self._value, self._multiplier = value, multiplier

    def __call__(self, searches, x):
        value, h = self._value, 1e-6
        slope = lambda at: [(value(at + h * e) - value(at - h * e)) / (2 * h) for e in np.eye(len(at))]
        values, slopes = np.array([[value(at)] for at in x]), np.array([[slope(at)] for at in x])
        status = np.where(np.isfinite(values[:, 0]), Outcome.COMPLETED, Outcome.NOT_CONVERGED).astype(np.int32)
        return Evaluated(values, slopes, status, np.array([self._multiplier(at) for at in x]))

    def shapes(self, x):
        return {"objective": ()}


def searched(multiplier):
    """A search along one parameter for the top at 0.9 of its box, from 0.2."""
    space = Space(Oscillator(), {"k": (0.0, 1.0)})
    evaluate = Function(lambda x: 1.0 - (x[0] - 0.9) ** 2, lambda x: multiplier(x[0]))
    settings = SearchSettings(1.0, Goal.of(Oscillator(), "power"), 40, 1e-8, 0.1, 0)
    search = Search(Oscillator(), space, evaluate, "SLSQP", settings, 1.0, None)
    return search.optimum(np.array([[0.2]]), False)


def test_a_band_of_gaits_that_are_not_stable_is_crossed():
    found = searched(lambda k: 1.5 if 0.3 < k < 0.7 else 0.5)
    assert found.best["k"] == pytest.approx(0.9, abs=1e-4) and "converged" in found.why_stopped[0]


def test_from_a_gait_that_is_not_stable_the_search_goes_back_to_the_edge():
    found = searched(lambda k: 1.5 if k > 0.6 else 0.5)
    assert 0.59 < found.best["k"] <= 0.6 and found.ends.multiplier[0] == 0.5
