"""The search: optima known in closed form, limits, gaits against runs, what cannot be had, what is kept in a file."""

import json
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import numpy as np
import pytest
import scipy.optimize

from jaxgait import Log
from jaxgait.measure import Measure
from jaxgait.models.bungee import Bungee
from jaxgait.optimization import at_least, at_most, optimize
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.gait import Linear, PeriodicGait
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.methods import METHODS, NONE_TEXT, USED_UP, Ended, Scaled, SearchEnd, SearchSettings
from jaxgait.optimization.search import Search
from jaxgait.optimization.search_record import SearchRecord
from jaxgait.optimization.search_text import why_stopped
from jaxgait.optimization.space import Space
from jaxgait.outcome import NoResult
from jaxgait.run import Sampling
from jaxgait.solve.smooth import Smooth
from tests.optimization.oscillator import Oscillator, amplitude

BOX = {"k": (0.3, 2.5), "c": (0.2, 1.5)}
QUICK = {"progress": False}


@pytest.fixture(scope="module")
def held():
    """Least excursion at a given power: on a limit and on a bound."""
    return optimize(
        Oscillator(), maximize="power", over=BOX, subject_to=["excursion <= 1.25"], starts=3, tolerance=1e-9, **QUICK
    )


def test_the_gait_is_the_default_and_its_optimum_is_exact(held):
    """Power is half the amplitude squared (driven at 1 rad/s): greatest where the excursion is at its limit."""
    assert held.gradient.startswith("through the periodic gait") and held.method == "SLSQP"
    assert held.objective == pytest.approx(0.5 * 1.25**2, rel=1e-6)
    assert amplitude(**held.best) == pytest.approx(1.25, rel=1e-6)
    assert -1.25e-8 <= held.limits["excursion <= 1.25"] < 1e-6
    assert held.history.multiplier.values[0, 0] == pytest.approx(np.exp(-np.pi * 0.6), rel=1e-5)


def test_what_holds_an_optimum_is_said(held):
    """Power = excursion^2 / 2: the limit's multiplier is the excursion."""
    assert held.local.active == ("excursion <= 1.25",)
    assert held.local.multipliers["excursion <= 1.25"] == pytest.approx(1.25, rel=1e-4)
    assert held.local.slope < 1e-5 and held.local.difference < 1e-2
    k, c = held.best["k"], held.best["c"]  # alone, neither may bring the excursion above its limit
    for name, (down, up) in held.local.room.items():
        for moved in (-0.99 * down, 0.99 * up):
            assert amplitude(**{"k": k, "c": c, name: held.best[name] + moved}) < 1.25 * (1.0 + 1e-3)
    assert min(held.local.room["c"]) < 1e-6
    assert all("converged" in why for why in held.why_stopped)


@pytest.mark.slow
def test_an_optimum_on_a_bound_its_curvature_and_its_room():
    """The amplitude is largest at k = 1 and on the bound of c, where d A / dc = -1 / c^2 and d2 A / dk2 = -1 / c^3."""
    found = optimize(Oscillator(), maximize="excursion", over=BOX, starts=2, tolerance=1e-8, gradient="gait", **QUICK)
    assert found.best["k"] == pytest.approx(1.0, abs=1e-4) and found.best["c"] == 0.2
    assert found.local.active == ("c = 0.2",)
    assert found.local.multipliers["c = 0.2"] == pytest.approx(25.0, rel=1e-3)
    assert float(found.local.hessian.sel(parameter="k", by="k")) == pytest.approx(-125.0, rel=0.1)
    down, up = found.local.room["k"]
    assert down == pytest.approx(np.sqrt(2e-3 * 5.0 / 125.0), rel=0.1) and up == pytest.approx(down, rel=1e-3)
    assert found.local.room["c"] == (0.0, pytest.approx(2e-4, rel=0.05))
    assert found.ends.evaluations.max() <= 25


@pytest.mark.parametrize("way", ["gait", "run", "differences"])
def test_three_gradients_agree(way):
    """d A / dk = -(k - 1) A^3; a run of six strides has settled to 1e-5."""
    start = [{"k": 1.5, "c": 1.2}]
    found = optimize(
        Oscillator(), maximize="excursion", over=BOX, starts=start, strides=6, iterations=1, gradient=way, **QUICK
    )
    slope = found.history["objective_gradient[k]"].values[0, 0]
    assert slope == pytest.approx(-0.5 * amplitude(1.5, 1.2) ** 3, rel=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("others", "loss"), [([], 0.0), ([{"k": 2.0}], 1e-4 * 0.5 * 0.75**2)])
def test_an_objective_of_zero_tolerates_a_fraction_of_its_variation_between_the_starts(others, loss):
    distance = lambda run: (run.model.k - 1.25) ** 2 + 0.0 * run.ys.x[-1]
    starts = [{"k": 1.25}, *others]
    found = optimize(
        Oscillator(), minimize=distance, over={"k": (0.5, 2.0)}, starts=starts, gradient="run", progress=False
    )
    assert found.objective == 0.0 and found.local is not None
    assert found.local.loss == pytest.approx(loss)
    assert found.local.room["k"] == pytest.approx((np.sqrt(loss),) * 2, rel=1e-3)


def test_a_failed_last_try_does_not_take_the_gait_that_was_found():
    """Errors of the solver keep the residual above the tolerance, and all further strides fail."""
    model, calls = Oscillator(), []
    settings = Smooth.of(model), Sampling.of(model, 1, None, None)
    gait = PeriodicGait(model, Space(model, {"k": (0.5, 2.5)}), Goal.of(model, "power"), *settings)

    def strides(x, z, extra):
        calls.append(np.nan if calls else 1.0)
        slopes = np.zeros((1, 3, 3))
        slopes[:, :, 0] = 1.0
        return Linear(calls[-1] * (z + 5e-6), calls[-1] * np.full((1, 1), 2.0), calls[-1] * slopes, np.zeros(1, int))

    gait.strides = strides
    gait.begin_with(np.array([100.0, 100.0]))
    found = gait(np.zeros(1, int), np.full((1, 1), 0.5))
    assert len(calls) > 1 and found.valid and found.values == 2.0 and found.slopes == 1.0


@pytest.mark.slow
def test_a_gait_that_no_walk_stays_on_is_no_optimum():
    """Without damping the gait is found but not stable; the optimum is where it becomes so."""
    found = optimize(
        Oscillator(),
        maximize="excursion",
        over={"c": (-0.3, 0.5)},
        starts=[{"c": 0.4}, {"c": -0.2}],
        stability=0.9,
        **QUICK,
    )
    assert found.best["c"] > -np.log(0.9) / np.pi - 1e-6
    assert "not stable" in found.why_stopped[1] or found.ends.multiplier[1] < 0.9
    with pytest.raises(NoResult, match=r"no stable gait was found from any start \(smallest multiplier"):
        optimize(Oscillator(), maximize="excursion", over={"c": (-0.3, -0.1)}, starts=2, **QUICK)
    accepted = optimize(
        Oscillator(), maximize="excursion", over={"c": (-0.3, -0.1)}, starts=2, stability=np.inf, **QUICK
    )
    assert accepted.ends.multiplier.min() > 1.0


@pytest.mark.slow
def test_runs_have_no_multipliers_that_a_stability_could_limit():
    task = {"minimize": "peak_rope_force", "over": {"stiffness": (15.0, 60.0)}, "stability": 0.9}
    with pytest.raises(ValueError, match=r"stability=0\.9 limits the multipliers of a gait, which runs do not have"):
        optimize(Bungee(), **task, starts=1)


def test_limits_are_met_where_they_bind():
    limits = [at_least("clearance", 1.0)]
    found = optimize(
        Bungee(),
        minimize="peak_rope_force",
        over={"stiffness": (15.0, 60.0)},
        subject_to=limits,
        duration=20.0,
        **QUICK,
    )
    assert "whole run" in found.gradient
    assert -1e-8 <= found.limits["clearance >= 1"] < 1e-5
    assert found.local.active == ("clearance >= 1",)


@pytest.mark.parametrize("method", ["L-BFGS-B", "adam", "COBYQA", "Nelder-Mead"])
def test_every_method_finds_the_way(method):
    found = optimize(
        Oscillator(),
        maximize="excursion",
        over={"k": (0.3, 2.5)},
        method=method,
        starts=2,
        iterations=40,
        strides=4,
        **QUICK,
    )
    assert found.method == method and found.best["k"] == pytest.approx(1.0, abs=0.03)


def test_a_search_is_continued_from_its_file(tmp_path):
    file = tmp_path / "search.jsonl"
    request = {"maximize": "excursion", "over": BOX, "starts": 2, "checkpoint": file, **QUICK}
    whole = optimize(Oscillator(), **request)
    lines = file.read_text().splitlines(keepends=True)
    for kept in (len(lines) // 2, len(lines)):
        file.write_text("".join(lines[:kept]) + lines[-1][:20])  # killed while it wrote
        again = optimize(Oscillator(), **request)
        assert again.best == whole.best and again.history.equals(whole.history)
        assert again.as_dict()["local"] == whole.as_dict()["local"]
    assert file.read_text().splitlines()[0] == lines[0].rstrip("\n")
    assert optimize(Oscillator(), **request | {"iterations": 40}).objective >= whole.objective  # it goes on
    with pytest.raises(ValueError, match="checkpoint of another search: seed"):
        optimize(Oscillator(), **request, seed=1)
    with pytest.raises(ValueError, match="checkpoint of another search: logarithmic"):
        optimize(Oscillator(), **request | {"over": {name: Log(*bounds) for name, bounds in BOX.items()}})
    for damaged in ("{}\n", f"{lines[0]}[1, 2]\n"):
        file.write_text(damaged)
        with pytest.raises(ValueError, match="not a checkpoint of a search"):
            optimize(Oscillator(), **request)


def test_the_record_has_all_that_is_known(held, tmp_path):
    held.to_json(tmp_path / "found.json")
    record = json.loads((tmp_path / "found.json").read_text())
    assert record["local"]["active"] == ["excursion <= 1.25"] and record["method"] == "SLSQP"
    assert len(record["ends"]["k"]) == 3 and set(record["limits"]) == {"excursion <= 1.25"}
    task = {name: record[name] for name in ("model", "sense", "measure", "unit", "bounds", "units")}
    box, units = {"k": [0.3, 2.5], "c": [0.2, 1.5]}, {"k": "1", "c": "1"}
    assert list(task.values()) == ["Oscillator", "maximize", "power", "1", box, units]
    assert repr(held).startswith("<Optimum of Oscillator, maximize power: 0.78125 at k = ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subject_to": ["excursion 2"]}, "a limit is text such as 'peak_flexion >= 60'"),
        ({"subject_to": ["excursion >= much"]}, "a limit is text such as"),
        ({"subject_to": ["excurson >= 2"]}, "has no measure 'excurson': did you mean 'excursion'"),
        ({"method": "newton"}, "method must be 'auto' or 'SLSQP'"),
        ({"method": "adam", "subject_to": ["power >= 0"]}, "adam does not support limits"),
        ({"gradient": "adjoint"}, "gradient must be 'auto' or 'gait'"),
        (
            {"gradient": "gait", "maximize": "late"},
            "the measures need 3 strides, but a gait has one; use gradient='run'",
        ),
        ({"gradient": "gait", "initial": {"x": 1.0}}, "components of the initial state are given"),
        ({"stability": 0.0}, "stability must be a positive number"),
        ({"foo": 1.0}, "optimize has no argument 'foo': it has strides, duration, samples, retry"),
        ({"checkpoint": "."}, "a checkpoint is a file, but . is a folder: give a name in it"),
    ],
)
def test_impossible_requests_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        optimize(Oscillator(), **{"maximize": "excursion", "over": BOX, **QUICK, **changes})


def test_limits_that_cannot_be_met_are_named():
    with pytest.raises(NoResult, match="no start met the limits: nearest to excursion >= 9 was"):
        optimize(
            Oscillator(),
            maximize="power",
            over=BOX,
            subject_to=[at_least("excursion", 9.0)],
            starts=1,
            iterations=5,
            **QUICK,
        )


def test_limits_read_as_they_are_written():
    assert str(at_most("excursion", 2)) == "excursion <= 2" and at_most("excursion", -4.0).scale == 4.0
    power = lambda run: run["v"].max()
    assert str(at_most(Measure("joint-power", power, "W", "largest"), 2)) == "joint-power <= 2"
    assert str(at_most(power, 2)) == "a function of the run <= 2"
    with pytest.raises(ValueError, match="the value of a limit must be a finite number"):
        at_least("excursion", float("nan"))


@pytest.mark.slow
def test_a_population_is_one_batch():
    """CMA-ES asks for a whole population at once; it ends near k = 1 on the bound of c."""
    pytest.importorskip("cma")
    found = optimize(
        Oscillator(),
        maximize="excursion",
        over=BOX,
        method="CMA-ES",
        starts=[{"k": 1.5, "c": 1.0}],
        iterations=25,
        strides=4,
        **QUICK,
    )
    assert found.best["k"] == pytest.approx(1.0, abs=0.05) and found.best["c"] < 0.25
    assert found.local is None and "values alone" in found.gradient


@pytest.mark.slow
def test_populations_meet_limits_whatever_the_unit_of_the_objective():
    """The softest safe rope, with a pull in newtons: some 12 N are gained for every metre beyond the limit."""
    pytest.importorskip("cma")
    box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
    request = {"minimize": "peak_rope_force", "over": box, "subject_to": safe, "duration": 20.0}
    found = optimize(Bungee(), **request, method="CMA-ES", starts=1, iterations=25, **QUICK)
    assert found.best["stiffness"] == pytest.approx(26.31, abs=0.2)
    assert "outside its limits" not in found.why_stopped[0]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["gait", "run"])
def test_a_limit_on_an_array_holds_for_each_of_its_elements(way):
    """The whole curve keeps below a height: the amplitude A ends there, however many samples there are."""
    curve = at_most(lambda run: run["x"][-101:], 1.25)
    limits = [curve, at_least("power", 0.1)]
    request = {"maximize": "power", "over": {"k": (0.3, 1.0)}, "subject_to": limits, "starts": [{"k": 0.35}]}
    found = optimize(Oscillator(c=0.6), **request, gradient=way, strides=8, tolerance=1e-9, **QUICK)
    assert amplitude(found.best["k"], 0.6) == pytest.approx(1.25, rel=1e-3)
    assert list(found.limits) == ["a function of the run <= 1.25", "power >= 0.1"]
    assert -1.25e-8 <= found.limits["a function of the run <= 1.25"] < 1e-6
    assert found.history.limit_0.dims == ("start", "iteration", "element_0") and found.history.limit_1.ndim == 2
    assert len(found.local.active) == 1 and found.local.active[0].startswith("a function of the run[")


def test_an_objective_is_labelled_with_what_it_measures(held):
    assert held.history.objective.attrs == held.ends.objective.attrs == Goal.of(Oscillator(), "power").label

    def lowest(run):
        return run["height"].min()

    assert Goal.of(Bungee(), "peak_rope_force").label == {"units": "N", "long_name": "largest pull of the rope"}
    assert Goal.of(Bungee(), lowest).label == {"units": "", "long_name": "lowest"}
    assert Goal.of(Bungee(), lambda run: run["height"].min()).label["long_name"] == "objective"


class Loaded(Oscillator):
    """With an array that its text does not show."""

    load: Any = eqx.field(default_factory=lambda: np.zeros(3))


@pytest.mark.slow
def test_a_checkpoint_knows_the_arrays_of_its_model(tmp_path):
    request = {"maximize": "excursion", "over": {"k": BOX["k"]}, "starts": 1, "iterations": 1, **QUICK}
    optimize(Loaded(), checkpoint=tmp_path / "search.jsonl", **request)
    assert repr(Loaded()) == repr(Loaded(load=np.ones(3)))
    with pytest.raises(ValueError, match="checkpoint of another search: values differ"):
        optimize(Loaded(load=np.ones(3)), checkpoint=tmp_path / "search.jsonl", **request)


class Driven(Oscillator):
    """With a function that its text only names."""

    drive: Callable = eqx.field(static=True, default=abs)


@pytest.mark.slow
def test_a_checkpoint_knows_the_functions_of_its_model(tmp_path):
    request = {"maximize": "excursion", "over": {"k": BOX["k"]}, "starts": 1, "iterations": 1, **QUICK}
    drives = [eval("lambda t: 2.0 * t"), eval("lambda t: 3.0 * t")]
    optimize(Driven(drive=drives[0]), checkpoint=tmp_path / "search.jsonl", **request)
    with pytest.raises(ValueError, match=r"checkpoint of another search: .*source"):
        optimize(Driven(drive=drives[1]), checkpoint=tmp_path / "search.jsonl", **request)


def highest(factor):
    return lambda run: factor * run["height"].max()


@pytest.mark.slow
def test_a_checkpoint_knows_how_its_runs_are_made(tmp_path):
    request = {"minimize": highest(1.0), "over": {"stiffness": (20.0, 30.0)}, "duration": 4.0}
    request |= {"starts": 1, "iterations": 1, "checkpoint": tmp_path / "search.jsonl", **QUICK}
    optimize(Bungee(), **request)
    optimize(Bungee(), **request, workers=1)  # where it is done makes no difference
    for changed in ({"duration": 5.0}, {"rtol": 1e-4}, {"initial": {"v": 1.0}}):
        with pytest.raises(ValueError, match="checkpoint of another search: run differ"):
            optimize(Bungee(), **request | changed)
    with pytest.raises(ValueError, match="checkpoint of another search: source differ"):
        optimize(Bungee(), **request | {"minimize": highest(2.0)})


def test_limits_on_functions_of_the_same_name_stay_apart():
    low, high = (lambda run: run["x"].max(), lambda run: run["x"].min())
    goal = Goal.of(Oscillator(), "excursion", [at_least(low, 0.0), at_least(high, -5.0), at_least(high, 0.0)])
    assert list(goal.slack_by_limit(np.array([1.0, 2.0, 3.0]))) == [
        *("a function of the run >= 0", "a function of the run >= -5", "a function of the run (2) >= 0")
    ]


def distances(x, edge=0.5):
    """Squared distances from 0.1 in every coordinate; runs fail where one is larger than `edge`."""
    failed = (x > edge).any(axis=1)
    values = np.where(failed, np.nan, ((x - 0.1) ** 2).sum(axis=1))
    return Evaluated(values[:, None], 2.0 * (x - 0.1)[:, None], failed.astype(np.int32), np.full(len(x), np.nan))


def settings(*limits):
    return SearchSettings(-1.0, Goal.of(Oscillator(), "power", limits), 30, 1e-6, 0.06, 0)


@pytest.mark.parametrize(
    ("method", "n"), [("COBYQA", 4), ("COBYQA", 6), ("Nelder-Mead", 2), ("Nelder-Mead", 6), ("CMA-ES", 4)]
)
def test_without_gradients_a_search_leaves_a_start_at_an_edge_of_failing_runs(method, n):
    if method == "CMA-ES":
        pytest.importorskip("cma")
    ended = METHODS[method](distances, np.full(n, 0.5), settings())
    assert np.abs(ended.x - 0.1).max() < 0.05


def test_cobyqa_says_that_it_stopped_at_a_kink_and_nelder_mead_finds_the_optimum():
    """A diagonal valley: all neighbours along a coordinate are worse."""
    valley = asking(lambda x: 1.0 + 10.0 * np.abs(x[:, 0] - x[:, 1]) + (x.sum(axis=1) - 1.0) ** 2, np.zeros_like)
    bowl = asking(lambda x: 1.0 + ((x - 0.4) ** 2).sum(axis=1) + x[:, 0], np.zeros_like)
    start = np.array([0.05, 0.1])
    ended = METHODS["COBYQA"](valley, start, settings())
    assert ended.x.sum() < 0.9 and ended.kinked and not METHODS["COBYQA"](bowl, start, settings()).kinked
    assert METHODS["Nelder-Mead"](valley, start, settings()).x.sum() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("method", ["COBYQA", "Nelder-Mead"])
@pytest.mark.parametrize("limits", [(), (at_most("power", 0.5),)])
def test_without_gradients_a_search_keeps_to_its_evaluations(method, limits):
    """Also those that look for a point within the limits, and those beside its end, where it begins again."""
    asked = 0

    def stairs(x):
        nonlocal asked
        asked += len(x)
        values = np.stack([np.floor(40.0 * x).sum(axis=1), *[1.0 - x.min(axis=1) for _ in limits]], axis=1)
        return Evaluated(values, np.zeros((*values.shape, 2)), np.zeros(len(x), np.int32), np.full(len(x), np.nan))

    for most in (1, 5, 20):
        asked = 0
        METHODS[method](stairs, np.array([0.3, 0.4]), replace(settings(*limits), iterations=most))
        assert asked <= 3 * most


def test_the_first_simplex_is_not_flat_on_a_wall_beside_failing_runs():
    """Between 1e-4 and 1e-3 from the wall all runs fail, and SciPy clips points beyond the wall."""

    def asked(x):
        failed = (x[:, 1] > 1e-4) & (x[:, 1] < 1e-3)
        values = np.where(failed, np.nan, ((x - 0.5) ** 2).sum(axis=1))
        return Evaluated(values[:, None], np.zeros((len(x), 1, 2)), failed.astype(np.int32), np.full(len(x), np.nan))

    ended = METHODS["Nelder-Mead"](asked, np.array([0.4, 0.0]), settings())
    np.testing.assert_allclose(ended.x, 0.5, atol=1e-3)


def test_the_first_simplex_is_as_wide_everywhere_in_the_box():
    """Stairs of a tenth of the box: a simplex in proportion to its coordinates, 0.2 and 0.9, stays on a step."""
    stairs = asking(lambda x: np.floor(10.0 * x).sum(axis=1), np.zeros_like)
    assert METHODS["Nelder-Mead"](stairs, np.array([0.9, 0.2]), settings()).x.max() < 0.1


def test_a_population_without_a_result_is_not_converged():
    pytest.importorskip("cma")
    ended = METHODS["CMA-ES"](lambda x: distances(x, edge=-1.0), np.full(2, 0.5), settings())
    assert not ended.converged and ended.message == NONE_TEXT


def test_adam_beside_failing_runs_ends_at_the_edge():
    """All runs but the first fail."""
    start = np.array([0.5])
    ended = METHODS["adam"](lambda x: distances(x, edge=0.5 if x[0, 0] == 0.5 else -1.0), start, settings())
    assert ended.where is Ended.EDGE and not ended.converged and ended.x == start
    assert METHODS["adam"](lambda x: distances(x, edge=-1.0), start, settings()).message == NONE_TEXT


def test_a_start_whose_end_failed_ended_at_its_best_point_within_the_limits():
    """Runs in the upper half of the box fail; the first coordinate of the others is limited, and is the objective."""
    wanted, model = settings(at_most("power", 0.3)), Oscillator()
    record = SearchRecord(model, Space(model, {"k": (0.5, 2.5)}), replace(wanted, sign=1.0), "SLSQP", None, 1.0)
    one = lambda x, failed: Evaluated(np.array([x, x]), np.zeros((2, 1)), np.int32(failed), np.float64("nan"))
    record.rows.append([Row(0, np.array([x]), one(x, x > 0.5)) for x in (0.1, 0.2, 0.4, 0.6)])
    assert record.end_of(0, SearchEnd(np.array([0.6]), False, "")).x == 0.2


def _end_of_a_start(multiplier, stability=1.0, **end):
    """The sentence on a start that ended where a slope remains."""
    model = Oscillator()
    record = SearchRecord(model, Space(model, {"k": (0.5, 2.5)}), settings(), "SLSQP", None, stability)
    row = Row(0, np.array([0.5]), Evaluated(np.ones(1), np.ones((1, 1)), np.int32(0), np.float64(multiplier)))
    record.rows.append([row])
    return why_stopped(record, 0, SearchEnd(row.x, True, "", **end), row)


def test_gaits_that_are_stable_but_not_enough_are_not_called_unstable():
    assert "on an unstable gait (multiplier 1.2)" in _end_of_a_start(1.2)
    assert _end_of_a_start(0.95, stability=0.9) == "ended on a gait whose multiplier, 0.95, is not below stability=0.9"


def test_only_searches_over_gaits_speak_of_gaits():
    of_runs, of_gaits = (_end_of_a_start(multiplier, where=Ended.EDGE) for multiplier in (np.nan, 0.5))
    advice = "; method='Nelder-Mead' from there goes along such edges"
    assert of_runs.startswith("ended at an edge") and of_runs.endswith("further along the slope, runs fail" + advice)
    assert of_gaits.endswith("further along the slope, runs fail or gaits lose their stability" + advice)


def test_an_end_on_a_slope_is_said_to_be_no_certain_optimum():
    said = _end_of_a_start(np.nan)
    assert said.startswith("found no better point, although a slope remains (remaining slope 1.0e+00 over")
    assert "probably at a kink, among rough values or in a narrow valley, so that it need not be an optimum" in said


def limited(x):
    """Of one coordinate, which is itself the limited measure, the second column."""
    found = distances(x, edge=1.0)
    twice = lambda field, extra: np.concatenate([field, extra], axis=1)
    return found._replace(values=twice(found.values, x), slopes=twice(found.slopes, np.ones((len(x), 1, 1))))


class Limited(Evaluator):
    name = "of a function"

    def __call__(self, searches, x):
        return limited(x)


def test_the_progress_bar_shows_the_best_design_within_the_limits(capsys):
    """The minimum, at 0.1, is outside."""
    space = Space(Oscillator(), {"k": (0.5, 1.5)})
    search = Search(Oscillator(), space, Limited(), "SLSQP", settings("excursion >= 0.5"), 1.0, None)
    assert search.best(np.array([[0.2]]), progress=True).x == pytest.approx(0.5, abs=1e-7)
    first, *_, last = re.findall(r"\d+run.*?\]", capsys.readouterr().err)
    assert "best" not in first and "best 0.16, 1 starts active" in last


@pytest.mark.parametrize("progress", [True, False])
def test_the_evaluations_of_tolerances_are_shown_too(capsys, progress):
    """At least those at two steps to both sides, in one batch, and one for each end."""
    found = optimize(Oscillator(), maximize="excursion", over=BOX, starts=1, **QUICK | {"progress": progress})
    runs = [int(text) for text in re.findall(r"tolerances: (\d+)run", capsys.readouterr().err)]
    assert found.local is not None and (max(runs) >= 2 * 2 * len(BOX) + 2 if progress else not runs)


def test_a_search_that_gives_up_just_outside_the_limits_keeps_what_it_gained(monkeypatch):
    """SLSQP follows curved limits a little outside of them: only the start met them, and it was taken for the best."""
    given_up = scipy.optimize.OptimizeResult(x=np.array([0.4999]), success=False, nit=3, message="incompatible")
    monkeypatch.setattr(scipy.optimize, "minimize", lambda *args, **options: given_up)
    ended = METHODS["SLSQP"](limited, np.array([0.9]), settings("excursion >= 0.5"))
    assert ended.x == pytest.approx(0.5, abs=1e-7)


def test_a_start_outside_the_limits_is_not_the_best_point():
    at = Scaled(limited, settings("excursion >= 0.5"))
    assert at.begin(np.array([0.1])) and at.best == [0.1]
    at.value(np.array([0.6]))
    assert at.best == [0.6]
    assert at.begin(np.array([0.2])) and at.best == [0.6]  # again, from elsewhere
    at.value(np.array([0.55]))
    assert at.best == [0.55]


class OfRun(UserWarning):
    """A warning of a run."""


class Warns(Evaluator):
    """An evaluator whose runs warn."""

    name = "of a function"

    def __call__(self, searches, x):
        warnings.warn("as a run does", OfRun, stacklevel=2)
        return distances(x, edge=1.0)


def test_a_search_leaves_filters_of_warnings_as_they_were_and_shows_those_of_runs():
    before = list(warnings.filters)
    space = Space(Oscillator(), {"k": (0.0, 1.0)})
    search = Search(Oscillator(), space, Warns(), "SLSQP", settings(), 1.0, None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        within = list(warnings.filters)
        search.optimum(np.array([[0.9], [0.5], [0.0]]), False)
        assert warnings.filters == within
    assert warnings.filters == before and len([one for one in seen if one.category is OfRun]) > 2


@pytest.mark.parametrize("method", ["SLSQP", "L-BFGS-B"])
def test_a_flat_start_is_scaled_anew_where_it_is_steep(method):
    """A peak of a width of 1 % of the box, 20 widths from the start: there its slope is 1e-80."""

    def asked(x):
        values = np.exp(-0.5 * ((x - 0.4) ** 2).sum(axis=1) / 0.015**2)
        slopes = -(x - 0.4) / 0.015**2 * values[:, None]
        return Evaluated(values[:, None], slopes[:, None], np.zeros(len(x), np.int32), np.full(len(x), np.nan))

    ended = METHODS[method](asked, np.array([0.5, 0.45]), replace(settings(), sign=1.0))
    assert ended.converged
    np.testing.assert_allclose(ended.x, 0.4, atol=1e-4)


def asking(value, slope, failed=lambda x: np.zeros(len(x), bool)):
    """A function that evaluates points by formulas, and counts them."""

    def asked(x):
        asked.count += len(x)
        lost = failed(x)
        values, slopes = np.where(lost, np.nan, value(x))[:, None], np.where(lost[:, None], np.nan, slope(x))[:, None]
        return Evaluated(values, slopes, lost.astype(np.int32), np.full(len(x), np.nan))

    asked.count = 0
    return asked


def test_adam_takes_the_same_steps_in_any_unit():
    """Slopes of 1e-12 were small against the constant that keeps its steps finite: it settled at its start."""
    ends = []
    for unit in (1.0, 1e-12, 1e12):
        asked = asking(
            lambda x, unit=unit: unit * ((x - 0.3) ** 2).sum(axis=1), lambda x, unit=unit: 2 * unit * (x - 0.3)
        )
        ends.append(METHODS["adam"](asked, np.array([0.9, 0.2]), settings()).x)
    np.testing.assert_allclose(ends, 0.3, atol=0.02)
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, rtol=1e-9)


@pytest.mark.parametrize("method", ["SLSQP", "L-BFGS-B"])
def test_a_search_from_a_very_high_start_goes_on_to_the_optimum(method):
    """From e^20 to 2: a change of 1e-6 of the objective at the start is far more than its value at the optimum."""
    sides = lambda x: np.exp(40.0 * (x - 0.2) * [1.0, -1.0])
    asked = asking(lambda x: sides(x).sum(axis=1), lambda x: 40.0 * (sides(x) @ [1.0, -1.0])[:, None])
    ended = METHODS[method](asked, np.array([0.7]), settings())
    assert ended.converged and ended.x == pytest.approx(0.2, abs=1e-4)


def rosenbrock(x):
    """In any dimension, one at its best."""
    y = 4.0 * x - 2.0
    return 1.0 + (100.0 * (y[:, 1:] - y[:, :-1] ** 2) ** 2 + (1.0 - y[:, :-1]) ** 2).sum(axis=1)


def cliff(x):
    return 1.0 + np.exp(30.0 * (x[:, 0] - 0.2)) + (x[:, 1] - 0.4) ** 2


@pytest.mark.parametrize(
    ("method", "value", "start", "best"),
    [
        ("COBYQA", cliff, [0.7, 0.1], cliff(np.array([[0.0, 0.4]]))),
        ("CMA-ES", rosenbrock, [0.82389, 0.52284], 1.0),
    ],
)
def test_without_gradients_a_search_from_a_high_start_has_converged_only_at_the_optimum(method, value, start, best):
    """COBYQA stopped where its radius was small, though values beside it were better, CMA-ES relative to its start."""
    if method == "CMA-ES":
        pytest.importorskip("cma")
    asked = asking(value, np.zeros_like)
    ended = METHODS[method](asked, np.array(start), replace(settings(), iterations=200))
    assert ended.converged and value(ended.x[None]) == pytest.approx(best, abs=1e-4)
    assert asked.count <= 200 * (1 + len(start)) * (2 if method == "CMA-ES" else 1)


@pytest.mark.parametrize("method", ["SLSQP", "L-BFGS-B"])
def test_a_search_along_a_slope_soon_ends_at_an_edge_of_failing_runs(method):
    """Line searches take a tenth of a step to a failed run, and do not lose themselves in tiny ones."""
    failing = lambda x: x.sum(axis=1) > 1.2
    asked = asking(lambda x: 1.0 + ((x - 0.9) ** 2).sum(axis=1), lambda x: 2.0 * (x - 0.9), failing)
    ended = METHODS[method](asked, np.array([0.1, 0.1]), settings())
    assert ended.where is Ended.EDGE and asked.count < 70  # L-BFGS-B: 134 before
    np.testing.assert_allclose(ended.x, 0.6, atol=1e-3)


@pytest.mark.parametrize("method", ["SLSQP", "L-BFGS-B", "adam", "COBYQA", "Nelder-Mead"])
def test_a_search_without_enough_iterations_says_so(method):
    asked = asking(lambda x: ((x - 0.3) ** 4).sum(axis=1), lambda x: 4.0 * (x - 0.3) ** 3)
    ended = METHODS[method](asked, np.array([0.9, 0.2]), replace(settings(), iterations=2))
    assert not ended.converged and ended.message == USED_UP


def test_without_a_slope_an_end_is_one_even_if_iterations_are_used_up():
    """As in float32, where a library does not notice."""
    model = Oscillator()
    record = SearchRecord(model, Space(model, {"k": (0.5, 2.5)}), settings(), "SLSQP", None, 1.0)
    for slope, said in ((1e-4, "converged: remaining slope"), (1.0, f"stopped: {USED_UP} (remaining slope")):
        row = Row(0, np.array([0.5]), Evaluated(np.ones(1), np.full((1, 1), slope), np.int32(0), np.float64("nan")))
        record.rows[:] = [[row]]
        assert why_stopped(record, 0, SearchEnd(row.x, False, USED_UP, size=1e6), row).startswith(said)


def test_a_tight_tolerance_leaves_a_slope_of_its_root():
    """Next to the vertex of a parabola, which is lower by the square of the slope only."""
    model, tight = Oscillator(), replace(settings(), tolerance=1e-12)
    record = SearchRecord(model, Space(model, {"k": (0.5, 2.5)}), tight, "SLSQP", None, 1.0)
    row = Row(0, np.array([0.5]), Evaluated(np.ones(1), np.full((1, 1), 1e-6), np.int32(0), np.float64("nan")))
    record.rows[:] = [[row]]
    assert why_stopped(record, 0, SearchEnd(row.x, True, ""), row).startswith("converged: remaining slope 1.0e-06")


def test_an_end_at_a_kink_far_below_the_start_has_not_converged():
    """By 1e9, of which its slope is less than 1e-9."""
    model = Oscillator()
    record = SearchRecord(model, Space(model, {"k": (0.5, 2.5)}), settings(), "SLSQP", None, 1.0)
    at = lambda value: Evaluated(np.array([value]), np.ones((1, 1)), np.int32(0), np.float64("nan"))
    record.rows[:] = [[Row(0, np.array([0.9]), at(1e9)), Row(0, np.array([0.5]), at(1.0))]]
    end = SearchEnd(np.array([0.5]), True, "")
    assert why_stopped(record, 0, end, record.rows[0][1]).startswith("found no better point, although a slope remains")


class Cornered(Evaluator):
    """Squared distances from a corner, next to which runs fail."""

    name = "of a function"

    def __call__(self, searches, x):
        lost = x.sum(axis=1) > 1.2
        values = np.where(lost, np.nan, ((x - 0.9) ** 2).sum(axis=1))
        return Evaluated(values[:, None], np.zeros((len(x), 1, 2)), lost.astype(np.int32), np.full(len(x), np.nan))


def test_at_an_edge_of_failing_runs_the_advice_of_another_method_is_good():
    space = Space(Oscillator(), {"k": (0.0, 1.0), "c": (0.0, 1.0)})
    search = lambda method, x: Search(Oscillator(), space, Cornered(), method, settings(), 1.0, None).optimum(x, False)
    first = search("COBYQA", np.array([[0.1, 0.7]]))
    assert "runs next to it fail, so that it need not be an optimum: method='Nelder-Mead'" in first.why_stopped[0]
    again = search("Nelder-Mead", np.array([list(first.best.values())]))
    assert first.objective > 0.2 and again.objective == pytest.approx(0.18, abs=1e-4)


class Saddle(Evaluator):
    """x^2 - y^2 about the middle of the box."""

    name = "of a saddle"

    def __call__(self, searches, x):
        curved = np.array([1.0, -1.0])
        values, slopes = ((x - 0.5) ** 2 @ curved)[:, None], (2.0 * curved * (x - 0.5))[:, None]
        return Evaluated(values, slopes, np.zeros(len(x), np.int32), np.full(len(x), np.nan))


class Constant(Saddle):
    name = "of a constant"

    def __call__(self, searches, x):
        found = super().__call__(searches, x)
        return found._replace(values=0.0 * found.values + 2.0, slopes=0.0 * found.slopes)


def test_a_start_without_a_slope_is_not_taken_for_an_optimum():
    """Nothing but the values around it shows that a start on a saddle, or on a plateau, is none."""
    space = Space(Oscillator(), {"k": (0.0, 1.0), "c": (0.0, 1.0)})
    saddle, constant = (
        Search(Oscillator(), space, evaluate, "SLSQP", settings(), 1.0, None).optimum(np.array([[0.5, 0.5]]), False)
        for evaluate in (Saddle(), Constant())
    )
    assert saddle.why_stopped[0].endswith(
        "; it is no optimum: {'k': 0.5, 'c': 0} gives -0.25: search on from there, with `starts`"
    )
    assert constant.why_stopped[0].endswith("; around it the objective does not change")


def test_a_slope_that_bounds_balance_is_a_change_of_the_objective():
    class Plane(Saddle):
        def __call__(self, searches, x):
            return super().__call__(searches, x)._replace(values=x.sum(axis=1)[:, None], slopes=np.ones((len(x), 1, 2)))

    space = Space(Oscillator(), {"k": (0.0, 1.0), "c": (0.0, 1.0)})
    found = Search(Oscillator(), space, Plane(), "SLSQP", settings(), 1.0, None).optimum(np.array([[0.5, 0.5]]), False)
    assert found.best == {"k": 0.0, "c": 0.0} and "does not change" not in found.why_stopped[0]


class Bowl(Saddle):
    """Squared distance from the middle of the box, on a height."""

    def __init__(self, height=0.0):
        self.height = height

    def __call__(self, searches, x):
        values, slopes = ((x - 0.5) ** 2).sum(axis=1)[:, None] + self.height, 2.0 * (x - 0.5)[:, None]
        return Evaluated(values, slopes, np.zeros(len(x), np.int32), np.full(len(x), np.nan))


def test_slopes_that_vanish_by_symmetry_are_not_taken_for_no_influence():
    """All points lie in the middle of c."""
    space = Space(Oscillator(), {"k": (0.0, 1.0), "c": (0.0, 1.0)})
    found = Search(Oscillator(), space, Bowl(1.0), "SLSQP", settings(), 1.0, None).optimum(
        np.array([[0.1, 0.5]]), False
    )
    assert (found.history.c == 0.5).all() and "does not depend" not in found.why_stopped[0]


@pytest.mark.parametrize(("tolerance", "resolved"), [(1e-6, False), (1e-11, True)])
def test_an_objective_that_varies_less_than_the_tolerance_resolves_is_named(tolerance, resolved):
    """Both starts would otherwise converge where they are."""
    space, own = Space(Oscillator(), {"k": (0.0, 1.0), "c": (0.0, 1.0)}), replace(settings(), tolerance=tolerance)
    search = Search(Oscillator(), space, Bowl(1e6), "SLSQP", own, 1.0, None)
    found = search.optimum(np.array([[0.1, 0.3], [0.8, 0.9]]), False)
    said = "the objective varies by only 0.05 among all points, 5e-08 of its size: a smaller tolerance than 1e-06"
    assert (said in found.why_stopped[0]) != resolved and (found.objective == 1e6) == resolved


@pytest.mark.parametrize(("start", "named"), [(0.1, True), (0.499, False)])
def test_a_single_start_that_the_tolerance_stops_far_from_the_optimum_says_so(start, named):
    space = Space(Oscillator(), {"k": (0.0, 1.0), "c": (0.0, 1.0)})
    search = Search(Oscillator(), space, Bowl(1e8), "SLSQP", settings(), 1.0, None)
    (why,) = search.optimum(np.array([[start, 0.5]]), False).why_stopped
    assert why.startswith("converged") and ("promises too little for the tolerance, 1e-06" in why) == named


@pytest.mark.parametrize("method", ["adam", "COBYQA", "Nelder-Mead"])
def test_methods_that_no_tolerance_stops_early_need_no_smaller_one(method):
    space = Space(Oscillator(), {"k": (0.0, 1.0), "c": (0.0, 1.0)})
    search = Search(Oscillator(), space, Bowl(1e6), method, replace(settings(), iterations=200), 1.0, None)
    found = search.optimum(np.array([[0.1, 0.3]]), False)
    assert found.objective == pytest.approx(1e6, abs=1e-6) and "varies by only" not in found.why_stopped[0]


def test_cobyqa_finds_the_optimum_of_an_objective_that_hardly_varies():
    """It stops where changes are small compared with one."""

    class Valley(Bowl):
        def __call__(self, searches, x):
            found = super().__call__(searches, 0.5 + (x - 0.5) * [2.5, 4.0])
            return found._replace(slopes=np.zeros_like(found.slopes))  # as of runs that have none

    space = Space(Oscillator(), {"k": (0.0, 1.0), "c": (0.0, 1.0)})
    search = Search(Oscillator(), space, Valley(1e8), "COBYQA", settings(), 1.0, None)
    found = search.optimum(np.array([[0.9, 0.875]]), False)
    assert [found.best[name] for name in "kc"] == pytest.approx([0.5, 0.5], abs=1e-3)


def test_cobyqa_first_looks_for_a_point_within_the_limits():
    """The least x + y with x y >= 0.04, x and y >= 0.02; SciPy's own follows the objective to the corner from here."""

    def asked(x):
        values = np.stack([x.sum(axis=1), (0.02 + x).prod(axis=1)], axis=1)
        return Evaluated(values, np.zeros((len(x), 2, 2)), np.zeros(len(x), np.int32), np.full(len(x), np.nan))

    ended = METHODS["COBYQA"](asked, np.array([0.08, 0.04]), settings("excursion >= 0.04"))
    np.testing.assert_allclose(ended.x, 0.18, atol=1e-3)
