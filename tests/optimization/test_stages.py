"""A search that goes on in a smoothing parameter: the optimum at each stage is that of a closed formula."""

import json

import numpy as np
import pytest
import xarray as xr

from jaxgait.models.bungee import Bungee
from jaxgait.models.prosthesis import Prosthesis
from jaxgait.optimization import design, optimize
from tests.optimization.oscillator import Oscillator

REQUEST = {
    "minimize": lambda run: (run.model.stiffness - 20.0 - 2.0 * run.model.linear_drag) ** 2 + run.model.linear_drag,
    "over": {"stiffness": (15.0, 60.0)},
    "starts": [{"stiffness": 50.0}],
    "gradient": "run",
    "duration": 0.5,
    "samples": 2,
    "progress": False,
}


@pytest.mark.slow
def test_each_stage_goes_on_from_the_optimum_before(tmp_path):
    file = tmp_path / "search.jsonl"
    found = optimize(Bungee(), continue_in={"linear_drag": [4.0, 2.0, 1.0]}, checkpoint=file, **REQUEST)
    np.testing.assert_allclose(found.stages.stiffness, [28.0, 24.0, 22.0], atol=1e-3)
    np.testing.assert_allclose(found.stages.objective, [4.0, 2.0, 1.0], atol=1e-5)
    assert found.stages.objective.attrs["units"] == found.unit and found.stages.stiffness.attrs["units"] == "N/m"
    assert (found.stages.evaluations > 0).all()
    assert found.start == {"stiffness": [float(found.stages.stiffness[1])]}
    assert float(found.model.linear_drag) == 1.0 and found.best["stiffness"] == float(found.stages.stiffness[2])
    assert found.moved == pytest.approx({"stiffness": -6.0, "objective": -3.0}, abs=2e-3)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [f"search.jsonl{end}" for end in ("", ".1", ".2")]
    found.to_json(tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text())["stages"]["linear_drag"] == [4.0, 2.0, 1.0]


@pytest.mark.slow
def test_each_stage_begins_at_the_gait_of_the_one_before(monkeypatch):
    """At t = 0, x = (k - 1) / ((k - 1)^2 + c^2), and x' = c / ((k - 1)^2 + c^2)."""
    given, begun = [], design.begun
    monkeypatch.setattr(design, "begun", lambda *task: given.append(task[-1]) or begun(*task))
    task = {"maximize": "power", "over": {"k": (1.2, 1.8)}, "gradient": "gait", "method": "SLSQP", "starts": 1}
    found = optimize(Oscillator(), **task, continue_in={"c": [0.6, 0.4]}, iterations=2, progress=False)
    away = float(found.stages.k[0]) - 1.0
    assert given[0] is None
    np.testing.assert_allclose(given[1], np.array([away, 0.6]) / (away**2 + 0.36), rtol=1e-5)


@pytest.mark.slow
def test_the_knee_s_optimum_at_true_touch_down_is_near_that_of_a_smoothed_one():
    """Measured: k from 16096.1 to 16090.6 N/m, rho by -2.3e-6, on the least damping, with 29, 5 and 10 points."""
    box = {"damper.k": (1.2e4, 3e4), "damper.c": (400.0, 2000.0)}
    stages = {"ground.steepness": [1e4, 1e5, 1e6]}
    found = optimize(Prosthesis(), maximize="rho", over=box, continue_in=stages, starts=2, progress=False)
    assert found.method == "SLSQP" and found.gradient.startswith("through the periodic gait")
    assert abs(found.moved["damper.k"]) < 40.0 and -1e-5 < found.moved["objective"] < 0.0
    assert found.best["damper.k"] == pytest.approx(16089.0, rel=1e-3) and found.best["damper.c"] == 400.0
    assert (found.stages.evaluations[1:] <= found.stages.evaluations[0] / 2).all()
    assert float(found.model.ground.steepness) == 1e6 == float(Prosthesis().ground.steepness)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ({}, "continue_in must be a dict of values by parameter"),
        ({"linear_drag": [1.0]}, "continue_in needs at least two values of linear_drag"),
        ({"linear_drag": [1.0, np.nan]}, "a value of linear_drag must be a finite number, got nan"),
        ({"linear_drg": [1.0, 2.0]}, "linear_drag"),
        ({"linear_drag": [2.0, 1.0], "mass": [1.0, 2.0, 3.0]}, "same number of values for each parameter"),
        ({"stiffness": [20.0, 30.0]}, "stiffness is searched over or in `across`: continue_in takes"),
        ({"linear_drag": [1.0, -1.0]}, "linear_drag .* must be nonnegative"),
        ({"linear_drag": xr.DataArray([2.0, 1.0], dims="at", attrs={"units": "m"})}, "linear_drag is in 'm', but"),
    ],
)
def test_impossible_stages_are_named(stages, message):
    with pytest.raises(ValueError, match=message):
        optimize(Bungee(), continue_in=stages, **REQUEST)
