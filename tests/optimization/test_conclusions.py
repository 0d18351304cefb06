"""Conclusions about the best design of a search."""

import dataclasses

import numpy as np
import xarray as xr

from jaxgait.optimization.conclusions import conclusions, tolerances
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.methods import SearchSettings
from jaxgait.optimization.optimum import Local, Optimum
from jaxgait.optimization.search import Search
from jaxgait.optimization.space import Space
from tests.optimization.oscillator import Oscillator
from tests.optimization.test_stability import Function


def moved(found, **local):
    """The same optimum with other surroundings."""
    return dataclasses.replace(found, local=dataclasses.replace(found.local, **local))


def test_a_best_design_on_the_way_is_not_taken_for_an_end():
    """From the top of a ridge, Adam climbs down to gaits that are not stable."""
    space = Space(Oscillator(), {"k": (0.0, 1.0)})
    runs = Function(lambda x: 1.0 - abs(x[0] - 0.5), lambda x: 0.4 if x[0] < 0.55 else 1.2)
    settings = SearchSettings(1.0, Goal.of(Oscillator(), "power"), 4, 1e-8, 0.3, 0)
    found = Search(Oscillator(), space, runs, "adam", settings, 2.0, None).optimum(np.full((2, 1), 0.5), False)
    assert found.best["k"] == 0.5 and found.ends.k.min() > 0.55
    starts, stable, *_ = conclusions(found)
    assert starts.startswith("no start ended at a design as good as this one, met on the way: more iterations")
    assert stable == "its gait is stable: largest Floquet multiplier 0.4 (1 or more: unstable)"


def test_of_an_objective_that_is_constant_no_more_starts_are_advised():
    space, runs = Space(Oscillator(), {"k": (0.0, 1.0)}), Function(lambda x: 2.0)
    settings = SearchSettings(1.0, Goal.of(Oscillator(), "power"), 4, 1e-8, 0.3, 0)
    found = Search(Oscillator(), space, runs, "SLSQP", settings, 1.0, None).optimum(np.array([[0.2], [0.7]]), False)
    assert next(conclusions(found)).startswith("no design is better than another")


def test_conclusions_state_how_sure_a_design_is_and_what_to_do_next():
    local = Local(
        0.0, (), {"clearance >= 0": 11.0, "c = 2": 3.0}, xr.DataArray(), np.array([-0.1, -2.0]),
        np.array([[0.6, -0.8], [0.8, 0.6]]), 1.0, {"k": (0.1, 0.0)},
        {"k": ("objective", "failed: fell")}, {"k": (np.nan, 0.02)}, {}, 0.26, "",
    )  # fmt: skip
    basins = xr.Dataset({"starts": ("basin", [2, 1])})
    found = Optimum(
        Oscillator(), {}, {"k": 1.4, "c": 2.0}, 1.0, [""] * 3, xr.Dataset(), basins=basins, local=local,
        bounds={"k": (1.0, 2.0), "c": (0.0, 2.0)},
    )  # fmt: skip
    starts, limit, ridge, gradient, edge, bound = conclusions(found)
    assert starts.startswith("2 of 3 starts ended at this design: more starts")
    worse = dataclasses.replace(found, why_stopped=["", "converged; it is no optimum: {'k': 2} gives 0", ""])
    assert next(conclusions(worse)).startswith("a better design was found next to this one")
    assert limit == "clearance >= 0 holds the design back: relaxing it improves the objective by 11 per unit"
    assert ridge.startswith("changing k and c together, in opposite directions, affects the objective least")
    assert gradient.startswith("the gradient and differences of values next to this design disagree by 26% (below 5%")
    (near,) = [one for one in conclusions(moved(found, difference=0.0503)) if "disagree" in one]
    assert "disagree by 5.03% (below 5% is good)" in near
    assert edge.startswith("runs or gaits fail close to this design, with k + 0.02: ")
    lost = [one for by in (0.19, 0.21) for one in conclusions(moved(found, fails={"k": (by, np.nan)})) if "fail" in one]
    assert [one.partition(":")[0] for one in lost] == ["runs or gaits fail close to this design, with k - 0.19"]
    unknown = moved(found, stops={"k": ("not searched farther", "bound")}, room={"k": (0.1, 0.6)})
    assert list(tolerances(unknown)) == [
        "k alone may fall by 0.1 or more (it was not searched farther), and rise by 0.6 until its bound"
    ]
    assert list(tolerances(found)) == [
        "k alone may fall by 0.1 until the objective is 1 worse, and rise by 0 until runs fail (fell)"
    ]
    assert bound.startswith("c lies on its upper bound, 2: ") and bound.endswith("by about 3 per unit")
    sure = dataclasses.replace(
        found, local=dataclasses.replace(local, multipliers={}, active=("c = 2",), difference=1e-9, fails={}),
        basins=basins.isel(basin=[0]).assign(starts=("basin", [3])), bounds={"k": (1.0, 2.0)},
    )  # fmt: skip
    assert list(conclusions(sure)) == [
        "all 3 starts ended at this design: it is probably the best within the bounds",
        "the gradient is reliable: differences of values confirm it within 0.1%",
    ]
    history = {"objective": ("iteration", [1.0, 1.0, 0.5]), "allowed": ("iteration", [1, 0, 1])}
    of_gait = lambda size: dataclasses.replace(
        sure, history=xr.Dataset(history | {"multiplier": ("iteration", [size, 1.1, 0.1])})
    )
    assert [[*conclusions(of_gait(size))][1].partition(":")[0] for size in (0.32, 0.95, 1.2, np.nan)] == [
        "its gait is stable", "its gait may be unstable", "its gait is not stable", "the gradient is reliable"
    ]  # fmt: skip
    both_ways = moved(found, difference=0.0, ridge_unknown="it is a saddle", fails={})
    assert "how far a parameter may move if the others follow is unknown: it is a saddle" in [*conclusions(both_ways)]
    assert not any("least certain" in text for text in conclusions(both_ways)), "the curvature says nothing"
    one = dataclasses.replace(found, why_stopped=[""], local=None, bounds={"k": (1.0, 2.0)})
    assert [text.partition(":")[0] for text in conclusions(one)] == ["only one start"]
