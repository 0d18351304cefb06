"""Gradient search on a model whose optimum is known."""

import json
from dataclasses import replace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait.measure import Measure, MeasureError
from jaxgait.model import Model, Variable, parameter
from jaxgait.models.bungee.model import Bungee
from jaxgait.optimization import at_most, optimize
from jaxgait.optimization.evaluate import BatchedProgram
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.space import Space
from jaxgait.parameters import ParameterError
from tests.optimization.oscillator import Oscillator

FAST = {"duration": 4.0, "samples": 20}


def towards(run):
    """Largest (zero) where the jumper's speed at the end of the run is 12 m/s: a ridge in (mass, stiffness)."""
    return -((run.ys.v[-1] - 12.0) ** 2)


@pytest.fixture(scope="module")
def found():
    box = {"mass": (40.0, 100.0), "stiffness": (15.0, 60.0)}
    return optimize(Bungee(), maximize=towards, over=box, starts=3, iterations=40, progress=False, **FAST)


def test_it_climbs_to_the_top(found):
    assert found.objective > -1e-2
    objective = found.history["objective"]
    assert (objective.isel(iteration=-1) > objective.isel(iteration=0)).all()
    assert found.model.mass == found.best["mass"]
    head, *ends = repr(found).splitlines()
    assert head.startswith("<Optimum of Bungee, maximize towards: -") and "at mass = " in head and len(ends) == 3
    assert (found.history["mass"] >= 40).all() and (found.history["mass"] <= 100).all()


def test_gradients_are_those_of_finite_differences(found):
    from jaxgait import simulate
    from jaxgait.parameters import with_parameters

    step = found.history.isel(start=0, iteration=0)
    at = {"mass": float(step["mass"]), "stiffness": float(step["stiffness"])}

    def objective(stiffness):
        data = simulate(with_parameters(Bungee(), at | {"stiffness": stiffness}), rtol=1e-10, atol=1e-10, **FAST)
        return -((float(data.v[-1]) - 12.0) ** 2)

    h = 1e-3
    difference = (objective(at["stiffness"] + h) - objective(at["stiffness"] - h)) / (2 * h)
    np.testing.assert_allclose(step["objective_gradient[stiffness]"], difference, rtol=1e-4)


def test_history_is_written(found, tmp_path):
    found.to_json(tmp_path / "best.json")
    record = json.loads((tmp_path / "best.json").read_text())
    assert {"start", "best", "objective", "history", "why_stopped"} <= set(record)
    assert len(record["why_stopped"]) == 3 and len(record["start"]["mass"]) == 3


def test_measures_that_need_samples_share_one_program_for_all_tolerances(monkeypatch):
    """A measure that compared the interval in the program would need one for each tolerance, found after a trace."""
    monkeypatch.setattr("jaxgait.ensembles.batch._program", lambda *_: pytest.fail("a program for one tolerance"))
    fastest = Measure("fastest", lambda run: jnp.max(run.ys.v), "m/s", "largest speed", interval=0.3)
    goal, columns = Goal.of(Bungee(), fastest), {"mass": np.array([70.0])}
    assert BatchedProgram(Bungee(), goal, ("mass",), FAST, {}).shapes(columns)["objective_gradient"] == (1,)
    with pytest.raises(MeasureError, match=r"at most 0.3 s apart, they are 0.4 s apart"):
        BatchedProgram(Bungee(), goal, ("mass",), FAST | {"samples": 10}, {}).shapes(columns)


def test_the_walls_of_the_box_are_the_bounds_to_the_last_bit():
    for low, high in np.random.default_rng(0).uniform([10.0, 30.0], [20.0, 60.0], (200, 2)):
        space = Space(Bungee(), {"stiffness": (low, high)})
        ends = [space.named(x) for x in (np.zeros(1), np.ones(1))]
        assert ends == [{"stiffness": low}, {"stiffness": high}]
        assert space.points(Bungee(), ends, seed=0).ravel().tolist() == [0.0, 1.0]


class Clock(Model):
    """Records its longest step."""

    span: float = parameter(1.0, unit="s", doc="length of a run", bounds="positive")
    weight: float = parameter(1.0, unit="1", doc="factor of the record", bounds="positive")
    variables: ClassVar = {"step": Variable("s", "longest step")}

    @property
    def duration(self):
        return self.span

    def initial_state(self):
        return {"step": jnp.zeros(())}

    def advance(self, t, y, dt):
        return {"step": jnp.maximum(y["step"], dt)}


class Paced(Oscillator):
    """Driven at any frequency."""

    pace: float = parameter(1.0, unit="rad/s", doc="frequency of the drive", bounds="positive")

    @property
    def period(self):
        return 2.0 * np.pi / self.pace

    def vector_field(self, t, y):
        return y._replace(x=y.v, v=jnp.cos(self.pace * t) - self.c * y.v - self.k * y.x)


@pytest.mark.slow
@pytest.mark.parametrize("scenarios", [{}, {"across": {"span": [1.0, 2.0, 4.0]}}])
def test_steps_and_samples_are_close_enough_everywhere_in_the_box(scenarios):
    """They were once those of the first run, here the shortest one."""
    box = {"over": {"weight": (0.5, 1.0)} if scenarios else {"span": (1.0, 4.0)}} | scenarios
    request = {"method": "COBYQA", "starts": 1, "iterations": 4, "samples": 4, "dt": 0.1, "progress": False, **box}
    longest = Measure("longest", lambda run: run.model.weight * run["step"].max(), "s", "longest step", interval=1.0)
    assert optimize(Clock(), maximize=longest, **request).history.objective.max() <= 0.1
    with pytest.raises(MeasureError, match=r"at most 0.9 s apart, they are 1 s apart"):
        optimize(Clock(), maximize=replace(longest, interval=0.9), **request)


def test_samples_of_a_gait_are_close_enough_everywhere_in_the_box():
    near = Measure("near", lambda run: run["x"].max(), "1", "largest displacement", strides=1, interval=0.1)
    with pytest.raises(MeasureError, match=r"at most 0.1 s apart, they are 0.126 s apart"):
        optimize(Paced(), maximize=near, over={"pace": (0.5, 2.0)}, starts=1, gradient="gait", progress=False)


@pytest.mark.slow
def test_samples_of_a_gait_may_be_too_far_apart_outside_the_box():
    near = Measure("near", lambda run: run["x"].max(), "1", "largest displacement", strides=1, interval=0.13)
    request = {"over": {"pace": (0.5, 2.0)}, "starts": 1, "iterations": 1, "gradient": "gait", "progress": False}
    assert np.isfinite(optimize(Paced(pace=0.4), maximize=near, **request).objective)  # 0.157 s apart


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["run", "differences"])
def test_searches_that_differ_in_numbers_only_share_one_program(gradient):
    traces = []

    def speed(run):
        traces.append(1)
        return run.ys.v[-1]

    def search(slowest, box, starts):
        limits = [at_most(speed, slowest)]
        options = {"gradient": gradient, "iterations": 2, "progress": False, "method": "SLSQP"}
        return optimize(
            Bungee(), maximize=towards, over={"mass": box}, subject_to=limits, starts=starts, **options, **FAST
        )

    assert search(30.0, (50.0, 90.0), 1).limits["speed <= 30"] > 0.0 and len(traces) > 0
    once = len(traces)
    assert search(25.0, (50.0, 80.0), 2).limits["speed <= 25"] > 0.0 and len(traces) == once


@pytest.mark.parametrize(
    ("over", "starts", "message"),
    [
        ({}, 1, "at least one parameter"),
        ({"mas": (1.0, 2.0)}, 1, "mass"),
        ({"mass": (2.0, 1.0)}, 1, "low < high"),
        ({"mass": (-1.0, 1.0)}, 1, "positive"),
        ({"mass": (50.0, 60.0)}, [{"mass": 70.0}], "start 70 of mass lies outside the bounds 50 to 60"),
        ({"mass": (50.0, 60.0)}, [{"mass": np.nan}], "start of mass must be a finite number, got nan"),
        ({"mass": (50.0, 60.0)}, [{"ground": 55.0}], "each start must be a dict of mass, got {'ground': 55.0}"),
        ({"mass": (50.0, 60.0)}, [], "starts is empty"),
        ({"mass": (50.0, 60.0)}, 0, "starts must be a whole number, at least 1"),
        ({"mass": (50.0, 50.0)}, 1, "low < high"),
        ({"mass": (50.0, np.inf)}, 1, "low < high"),
    ],
)
def test_impossible_searches_raise(over, starts, message):
    with pytest.raises(ValueError, match=message):
        optimize(Bungee(), maximize=towards, over=over, starts=starts, **FAST)


LATEST = Measure("latest", lambda run: jnp.argmax(run["x"]), "1", "sample of the lowest position")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"iterations": 0}, "iterations must be a whole number, at least 1"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number below 1"),
        ({"tolerance": -1.0}, "tolerance must be a positive number"),
        ({"seed": -1}, "seed must be a whole number, at least 0"),
        ({"store": "x.zarr"}, "optimize does not take store"),
        ({"sample": 3}, "optimize has no argument 'sample': did you mean 'samples'"),
        ({"maximize": lambda run: run["x"]}, r"one real number of a run, got an array of the shape \(21,\)"),
        ({"maximize": lambda run: {"x": run["x"][-1]}}, "one real number of a run, got dict"),
        ({"maximize": lambda run: jnp.argmax(run["x"])}, "got int.*: it has no gradient"),
        ({"subject_to": [at_most(LATEST, 3.0)]}, "the limited measure \\(latest\\) must be .*, got int"),
        ({"subject_to": [at_most(lambda run: run["x"][:0], 3.0)]}, "real numbers of a run, got an array without any"),
    ],
)
def test_impossible_settings_of_a_search_raise(changes, message):
    with pytest.raises(ValueError, match=message):
        optimize(Oscillator(), **{"maximize": towards, "over": {"k": (1.0, 2.0)}, "gradient": "run", **FAST, **changes})


def test_failing_everywhere_is_said():
    with pytest.raises(RuntimeError, match="every run completed, but the objective is not a finite number"):
        optimize(
            Bungee(),
            maximize=lambda run: jnp.nan * run.ys.v[-1],
            over={"mass": (50.0, 60.0)},
            starts=1,
            iterations=2,
            progress=False,
            **FAST,
        )


def test_bounds_starts_and_what_is_fixed_are_converted_to_the_units_of_the_model():
    unit = lambda x, text: xr.DataArray(x, attrs={"units": text})
    space = Space(Bungee(), {"stiffness": (unit(0.02, "N/mm"), 25.0), "mass": unit([6e4, 7e4], "g")})
    assert space.low.tolist() == [20.0, 60.0] and space.high.tolist() == [25.0, 70.0]
    assert space.points(Bungee(), [{"stiffness": 20.0, "mass": unit(6.5e4, "g")}], 0).tolist() == [[0.0, 0.5]]
    assert space.fixed(Bungee(), {"v": unit(50.0, "cm/s")}) == {"initial.v": 0.5}
    with pytest.raises(ParameterError, match="mass is in 'oz', but the model's in 'kg'"):
        Space(Bungee(), {"mass": unit([150.0, 200.0], "oz")})
