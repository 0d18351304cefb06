"""Basins of a search: starts that ended together, numbered from the best, with where and why in words."""

import numpy as np

from jaxgait.optimization.basins import describe_basins, group_ends
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.methods import SearchSettings
from jaxgait.optimization.search import Search
from jaxgait.optimization.space import Space
from tests.optimization.oscillator import Oscillator
from tests.optimization.test_stability import Function


def test_what_may_be_a_result_comes_first_and_what_failed_is_nowhere():
    x = np.array([[0.5, 0.1], [0.9, 0.9], [0.504, 0.094], [0.2, 0.2], [0.5, 0.12]])
    allowed, valid = np.array([True, False, True, False, True]), np.array([True, True, True, False, True])
    numbers, bests = group_ends(x, np.array([1.0, 9.0, 1.1, np.nan, 0.5]), allowed, valid)
    assert numbers.tolist() == [0, 2, 0, -1, 1] and bests.tolist() == [2, 4, 1]


def test_a_search_says_in_which_basin_each_start_ended_and_why():
    """Two hills, the smaller at 0.2 of the box, and beyond 0.95 nothing runs."""
    space = Space(Oscillator(), {"k": (0.0, 2.0)})
    settings = SearchSettings(1.0, Goal.of(Oscillator(), "power"), 40, 1e-9, 0.1, 0)
    hills = lambda x: np.nan if x[0] > 0.95 else max(1.0 - 10.0 * (x[0] - 0.2) ** 2, 2.0 - 10.0 * (x[0] - 0.7) ** 2)
    search = Search(Oscillator(), space, Function(hills), "SLSQP", settings, 1.0, None)
    found = search.optimum(np.array([[0.1], [0.6], [0.15], [0.97], [0.8]]), False)
    assert found.ends.basin.values.tolist() == [1, 0, 1, -1, 0]
    assert found.basins.starts.values.tolist() == [2, 2]
    np.testing.assert_allclose(found.basins.k, [1.4, 0.4], rtol=1e-4)
    lines = list(describe_basins(found.basins, {"k": "1"}, found.why_stopped))
    assert lines[0].startswith("optimum 0: 2 starts, objective 2 at k=1.4; converged: remaining slope")
    assert lines[1].startswith("optimum 1: 2 starts, objective 1 at k=0.4; converged: remaining slope")
    assert found.as_dict()["basins"]["starts"] == [2, 2]
