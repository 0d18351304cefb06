"""Rules between parameters hold at every design that a search runs, whatever the corners of the box are."""

import math

import numpy as np
import pytest

from jaxgait import Bungee
from jaxgait.ensembles.validity import GROUP, accepted, rejection
from jaxgait.measure import Measure, MeasureError
from jaxgait.optimization import front, optimize
from jaxgait.optimization.evaluate import Extra, extent
from jaxgait.optimization.space import Space
from jaxgait.outcome import INVALID, NoResult
from jaxgait.parameters import ParameterError
from tests.optimization.oscillator import Oscillator

BOX = {"k": (1.0, 2.0), "c": (0.5, 1.5)}


def _excess(run):
    return run.model.c - run.model.k + 0.0 * run.ys.x[-1]


EXCESS = Measure("excess", _excess, "1", "c - k", strides=1)


class Ruled(Oscillator):
    def validate(self) -> None:
        super().validate()
        if np.any(np.asarray(self.c) > np.asarray(self.k)):
            raise ParameterError(f"c must not exceed k, got {np.max(self.c):g}")


class Single(Oscillator):
    """Its rule is not written for arrays."""

    def validate(self) -> None:
        if math.sqrt(self.c) > math.sqrt(self.k):
            raise ParameterError("c must not exceed k")


class Signed(Oscillator):
    def validate(self) -> None:
        if np.any(np.abs(self.c) != 1.0):
            raise ParameterError("c must be 1 or -1")


@pytest.mark.parametrize("model", [Ruled(), Single()])
def test_members_are_accepted_one_by_one(model):
    columns = {"k": np.full(5, 1.0), "c": np.array([0.5, 1.2, 0.9, 1.0, 1.5]), "drive.x": np.zeros(5)}
    assert accepted(model, columns).tolist() == [True, False, True, True, False]
    assert rejection(model, columns).startswith("c must not exceed k")
    assert rejection(model, {"k": np.ones(2)}) == ""
    many = {"k": np.ones(3 * GROUP + 1), "c": np.linspace(0.0, 1.2, 3 * GROUP + 1)}
    assert (accepted(model, many) == (many["c"] <= 1.0)).all()


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["gait", "run"])
def test_the_best_design_is_one_that_the_model_accepts(gradient):
    found = optimize(
        Ruled(), maximize=EXCESS, over=BOX, starts=3, gradient=gradient, method="SLSQP", iterations=8, progress=False
    )
    found.model.validate()
    assert -0.2 < found.objective <= 0.0
    lost = found.history.status.values == INVALID
    assert lost.any() and not found.history.allowed.values[lost].any()


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["gait", "run"])
def test_a_corner_of_the_box_may_be_invalid(gradient):
    """The lowest corner (k = 1, c = 1.1) breaks the rule,."""
    found = optimize(
        Ruled(), minimize=EXCESS, over={"k": (1.0, 2.0), "c": (1.1, 1.5)}, starts=2, gradient=gradient, progress=False
    )
    assert found.best == pytest.approx({"k": 2.0, "c": 1.1}, abs=1e-6)
    with pytest.raises(ParameterError, match=r"Bungee.mass \(body mass\) must be positive, got -1 kg"):
        Space(Bungee(), {"mass": (-1.0, 80.0)})


def test_the_longest_run_is_that_of_a_valid_design():
    box = Space(Ruled(), {"k": (1.0, 2.0), "c": (1.1, 1.5)})
    columns = extent(Ruled(), box)
    assert len(columns["k"]) > 3 and (columns["c"] <= columns["k"]).all()
    whole = extent(Ruled(), Space(Ruled(), {"k": (2.0, 3.0), "c": (1.1, 1.5)}))
    assert {len(x) for x in whole.values()} == {6}  # the corners alone
    none = extent(Ruled(k=3.0, c=0.5), Space(Ruled(), {"k": (1.0, 2.0), "c": (2.5, 3.0)}))
    assert {name: x.tolist() for name, x in none.items()} == {"k": [3.0], "c": [0.5]}


class Longer(Oscillator):
    """The longest run within its rule is that of no corner."""

    def validate(self) -> None:
        if np.any(np.asarray(self.k) + np.asarray(self.c) > 3.0):
            raise ParameterError("k + c must not exceed 3")

    @property
    def duration(self):
        return self.k + self.c


@pytest.mark.parametrize("gradient", ["run", "differences"])
def test_samples_are_close_enough_for_the_longest_valid_run(gradient):
    """Those of valid corners, of at most 2.5 s, are."""
    box, extra = Space(Longer(), BOX), Extra({"initial.x": np.array([0.0, 0.1])}, scenarios=2)
    for columns in (extent(Longer(), box), extent(Longer(), box, extra)):
        assert 2.9 < (columns["k"] + columns["c"]).max() <= 3.0
    assert {*columns["initial.x"]} == {0.0, 0.1}
    fastest = Measure("fastest", lambda run: run.ys.v.max(), "1", "largest velocity", interval=0.26)
    with pytest.raises(MeasureError, match=r"samples at most 0\.26 s apart, they are 0\.29"):
        optimize(Longer(), maximize=fastest, over=BOX, samples=10, gradient=gradient, progress=False)


@pytest.mark.slow
def test_the_front_is_within_the_rules():
    pytest.importorskip("pymoo")
    goals = {"maximize": EXCESS, "minimize": "power", "method": "NSGA-II", "population": 8, "generations": 2}
    found = front(Ruled(), over=BOX, progress=False, **goals)
    assert (found.c <= found.k).all() and (found["tried.status"] == INVALID).any()


@pytest.mark.slow
def test_starts_are_valid_and_objections_are_passed_on():
    task = {"maximize": EXCESS, "over": BOX, "iterations": 1, "progress": False}
    found = optimize(Ruled(), starts=8, **task)
    assert (np.array(found.start["c"]) <= np.array(found.start["k"])).all()
    with pytest.raises(ParameterError, match="a start is not a valid design: c must not exceed k"):
        optimize(Ruled(), starts=[{"k": 1.0, "c": 1.5}], **task)
    with pytest.raises(
        ParameterError, match=r"almost all points within the bounds \(c must be 1 or -1\): give `starts`"
    ):
        optimize(Signed(c=1.0), **task | {"over": {"c": (-1.0, 1.0)}, "starts": 2})
    with pytest.raises(
        NoResult, match=r"failed \(not a valid design: c must not exceed k, got 1\.4; .* c = 1\.4, at 1 of 1 points\)"
    ):
        optimize(Ruled(), **task | {"over": {"k": (1.0, 1.3)}, "across": {"c": [0.5, 1.4]}, "starts": 1})
