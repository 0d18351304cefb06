"""Searches over components of the initial state and elements of arrays, with optima in closed form."""

import json
import re
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait import Measure, Model, Numerics, Variable, fit, parameter, simulate, with_parameters
from jaxgait.models import Bungee, CreeperChain
from jaxgait.optimization import front, optimize, sensitivities
from jaxgait.optimization.evaluate import BatchedProgram
from jaxgait.optimization.space import COLUMNS, Space
from jaxgait.parameters import ParameterError
from jaxgait.plausible import ImplausibleValue
from tests.optimization.oscillator import Oscillator
from tests.throw import Throw

BOX = {"initial.v[1]": (0.0, 8.0), "push[1,0]": (-4.0, 4.0)}
TASK = {"minimize": "miss", "over": BOX, "starts": 1, "progress": False}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return optimize(Throw(), checkpoint=tmp_path_factory.mktemp("throw") / "search.jsonl", **TASK)


def test_the_optimum_is_that_of_the_closed_form(found):
    assert found.best["initial.v[1]"] == pytest.approx(1.0 - (2.0 - 9.81) / 2.0, abs=1e-4)  # m/s: z = 1 m
    assert found.best["push[1,0]"] == pytest.approx(1.0, abs=1e-4)  # m/s^2: x = 3 m
    assert found.objective < 1e-8 and found.gradient == "through the whole run, since Throw is not driven with a period"
    assert found.units == {"initial.v[1]": "m/s", "push[1,0]": "m/s^2"}
    assert found.history["initial.v[1]"].attrs["long_name"] == "velocity, at the start"
    assert found.history["objective_gradient[initial.v[1]]"].attrs["units"] == "m^2/(m/s)"
    assert found.ends.remaining_slope.attrs["units"] == found.basins.remaining_slope.attrs["units"] == "m^2"
    assert "units" not in found.local.hessian.attrs and "per product of" in found.local.hessian.attrs["long_name"]


def test_its_model_and_initial_state_reproduce_the_optimum(found):
    assert found.model.push[1, 0] == found.best["push[1,0]"] and found.initial == {"v[1]": found.best["initial.v[1]"]}
    run = simulate(found.model, initial_state=found.initial, observe="miss")
    assert float(run.miss) == pytest.approx(found.objective, rel=1e-9, abs=1e-24)
    record = json.loads(json.dumps(found.as_dict()))
    assert record["initial"] == found.initial and record["best"] == found.best


def test_slopes_are_those_of_runs(found):
    first = found.history.isel(start=0, iteration=0)
    at = {name: float(first[name]) for name in BOX}

    def miss(name, step):
        moved = at | {name: at[name] + step}
        model = with_parameters(Throw(), {"push[1,0]": moved["push[1,0]"]})
        return float(simulate(model, initial_state={"v[1]": moved["initial.v[1]"]}, observe="miss").miss)

    for name in BOX:
        difference = (miss(name, 1e-3) - miss(name, -1e-3)) / 2e-3
        assert float(first[f"objective_gradient[{name}]"]) == pytest.approx(difference, rel=1e-6)


@pytest.mark.slow
def test_given_components_are_kept_and_the_found_ones_go_over_them(tmp_path, monkeypatch):
    file, given = tmp_path / "search.jsonl", {"v": xr.DataArray([100.0, 500.0], attrs={"units": "cm/s"})}
    found = optimize(Throw(), checkpoint=file, initial=given, **TASK)
    assert found.best["push[1,0]"] == pytest.approx(3.0, abs=1e-3)  # from 1 m/s instead of 2 m/s
    assert found.as_dict()["initial"] == {"v": [1.0, 5.0], "v[1]": found.best["initial.v[1]"]}  # m/s
    run = simulate(found.model, initial_state=found.initial, observe="miss")
    assert float(run.miss) == pytest.approx(found.objective, rel=1e-9, abs=1e-24)
    with pytest.raises(ValueError, match="checkpoint of another search: low, starts differ"):
        optimize(Throw(), checkpoint=file, initial=given, **TASK | {"over": BOX | {"push[1,0]": (-5.0, 4.0)}})
    monkeypatch.setattr(BatchedProgram, "__call__", lambda *_: pytest.fail("an evaluation was repeated"))
    monkeypatch.setattr("jaxgait.optimization.search.around", lambda *_: None)
    again = optimize(Throw(), checkpoint=file, initial=given, **TASK | {"gradient": "run"})
    assert again.best == found.best and again.objective == found.objective


@pytest.mark.slow
def test_a_front_and_sensitivities_take_them(found):
    goals = {"maximize": "height", "minimize": "miss", "points": 3, "starts": 1, "progress": False}
    trade = front(Throw(), over={"initial.v[1]": (4.0, 8.0)}, **goals)
    assert trade["initial.v[1]"].attrs["units"] == "m/s"
    np.testing.assert_allclose(trade["initial.v[1]"][[0, -1]], [8.0, 4.905], atol=1e-3)
    by = ["initial.v[1]", "initial.v[0]", "push[1,0]"]
    slopes = sensitivities(Throw(), maximize="height", by=by, initial={"v": [1.0, 5.0]}).slope.isel(measure=0)
    np.testing.assert_allclose(slopes.sel(parameter=by), [0.75, 0.0, 0.0], atol=1e-8)
    with pytest.raises(ParameterError, match=r"no sensitivity to initial.v\[0\] can be computed: it is zero"):
        sensitivities(Throw(), maximize="height", by=by[1:2], initial={"v[0]": 0.0})
    with pytest.raises(ParameterError, match=r"no sensitivity to push\[1,0\] can be computed: it is varied between"):
        sensitivities(Throw(), maximize="height", by=by[2:], across={"push": np.ones((1, 2, 2))})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"over": {"push": (0.0, 1.0)}}, "a search varies single numbers, such as its element 'push[0,0]'"),
        ({"over": {"push[1]": (0.0, 1.0)}}, "its elements are 'push[0,0]' to 'push[1,1]', got 'push[1]'"),
        ({"over": {"push[2,0]": (0.0, 1.0)}}, "its elements are 'push[0,0]' to 'push[1,1]', got 'push[2,0]'"),
        ({"over": {"shares[0]": (0.5, 1.5)}}, "Throw.shares[0] (shares) must be from 0 to 1, got 1.5"),
        ({"over": {"initial.v": (0.0, 1.0)}}, "a search varies single numbers, such as its element 'initial.v[0]'"),
        ({"over": {"initial.v[2]": (0.0, 1.0)}}, "its elements are 'initial.v[0]' to 'initial.v[1]', got 'initial.v["),
        ({"over": {"initial.w": (0.0, 1.0)}}, "the state of Throw has no component 'w': did you mean 'initial."),
        ({"initial": {"v[1]": 3.0}}, "'initial.v[1]' is in `over` and also in `initial`: use it in one of them"),
        ({"across": {"initial.v[1]": [3.0]}}, "'initial.v[1]' is in `across` and also in `over` or `initial`"),
        ({"across": {"push": np.ones((1, 2, 2))}}, "'push[1,0]' is in `across` and also in `over` or `initial`"),
        ({"across": {"initial.v": [[2.0, 3.0]]}}, "'initial.v[1]' is in `across` and also in `over` or `initial`"),
        (
            {"across": {"shares": [[0.1, 0.2]]}, "continue_in": {"shares[1]": [0.1, 0.2]}},
            "shares[1] is searched over or in `across`: continue_in",
        ),
        ({"starts": [{"initial.v[1]": 9.0, "push[1,0]": 0.0}]}, "the start 9 of initial.v[1] lies outside the bounds"),
    ],
)
def test_impossible_bounds_are_errors(changed, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        optimize(Throw(), **TASK | changed)


def test_bounds_of_elements_may_be_implausible():
    with pytest.warns(ImplausibleValue, match=re.escape("Throw.push[1,0] (pushes)")), pytest.raises(ValueError):
        optimize(Throw(), **TASK | {"over": {"push[1,0]": (0.0, 20.0)}, "method": "none"})


def test_a_component_of_a_quaternion_cannot_vary_alone():
    with pytest.raises(ParameterError, match=r"'initial.q\[4\]' cannot vary alone: .* must be a quaternion of length"):
        Space(CreeperChain(), {"initial.q[4]": (0.0, 0.5)}, starting=True)


@pytest.mark.slow
def test_a_gait_has_no_initial_state_to_search():
    task = {"maximize": "power", "over": {"initial.v": (0.0, 1.0)}, "starts": 1, "iterations": 1, "progress": False}
    why = "components of the initial state are given or searched for, but a gait does not depend on them"
    with pytest.raises(ValueError, match=why):
        optimize(Oscillator(), gradient="gait", **task)
    assert optimize(Oscillator(), **task).gradient == f"through the whole run, since {why}"


def test_a_fit_varies_parameters():
    fall = simulate(Bungee(), duration=1.0, samples=5).height
    with pytest.raises(ParameterError, match=r"'initial.v' is a component of the initial state, not a parameter"):
        fit(Bungee(), fall, over={"initial.v": (0.0, 1.0)}, output="height", duration=1.0, samples=5)


class Ramp(Model):
    """Stands on a slope; a parameter may have the name of what tables of searches had."""

    slope: float = parameter(0.2, unit="rad", doc="slope of the ground")
    rate: float = parameter(0.1, unit="1/s", doc="rate")
    basin: float = parameter(0.0, unit="m", doc="depth of a basin")
    measures: ClassVar = {
        "miss": Measure("miss", lambda run: (run.model.slope - 0.3) ** 2 + (run.model.rate - 0.7) ** 2, "1", "miss"),
        "gain": Measure("gain", lambda run: run.model.slope + run.model.rate, "1", "gain"),
    }
    variables: ClassVar = {"x": Variable("m", "position")}
    numerics: ClassVar = Numerics(dt=0.5)
    duration: ClassVar = 1.0

    def initial_state(self):
        return {"x": jnp.zeros(())}

    def advance(self, t, y, dt):
        return {"x": y["x"] + 0.0 * self.slope}


@pytest.mark.slow
def test_parameters_with_names_of_their_tables_keep_their_values():
    box = {"slope": (0.1, 0.4), "rate": (0.0, 1.0)}
    found = optimize(Ramp(), minimize="miss", over=box, starts=2, progress=False)
    assert found.best == pytest.approx({"slope": 0.3, "rate": 0.7}, abs=1e-4)
    assert found.objective < 1e-8 and all(why.startswith("converged") for why in found.why_stopped), "not at a kink"
    for table in (found.ends, found.basins):
        np.testing.assert_allclose(table.slope, 0.3, atol=1e-4)
        np.testing.assert_allclose(table.rate, 0.7, atol=1e-4)
    compromises = front(Ramp(), minimize="miss", maximize="gain", over=box, points=3, starts=1, progress=False)
    assert compromises.slope.values[[0, -1]] == pytest.approx([0.4, 0.3], abs=1e-3)
    named = {str(n) for table in (found.history, found.ends, found.basins, compromises) for n in table.variables}
    others = {n for n in named if "[" not in n and not n.startswith("tried.")} - {*box, "miss", "gain"}
    assert others <= COLUMNS, "the names that no parameter may have"
    with pytest.raises(ParameterError, match="'basin' cannot be in `over`: tables of a search have this name"):
        optimize(Ramp(), minimize="miss", over={"basin": (0.0, 1.0)}, progress=False)
