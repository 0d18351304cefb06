"""Sensitivities at a design: a closed form, what they are sorted and labelled by, what is left out or impossible."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import Bungee
from jaxgait.models import Creeper
from jaxgait.optimization import at_most, local_sensitivity, sensitivities
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.local_sensitivity import differentiable
from jaxgait.outcome import NoResult, Outcome
from jaxgait.parameters import ParameterError
from jaxgait.registry import model
from tests.optimization.oscillator import Oscillator, Swing

ROPE = {"minimize": "peak_rope_force", "subject_to": ["clearance >= 0", "clearance <= 9", "peak_rope_force <= 3e3"]}


def test_of_a_periodic_gait_they_are_those_of_the_closed_form():
    found = sensitivities(Oscillator(), maximize="power", subject_to="excursion <= 1.25")  # as test_search compiles
    k, c = 1.5, 0.6
    size = 1.0 / np.hypot(k - 1.0, c)
    slopes = -(size**3) * np.array([k - 1.0, c])  # of the amplitude; the power is half its square
    np.testing.assert_allclose(found.result, [0.5 * size**2, size], rtol=1e-6)
    assert found.parameter.values.tolist() == ["k", "c"]
    np.testing.assert_allclose(found.slope, [size * slopes, slopes], rtol=1e-5)
    np.testing.assert_allclose(found.change, 0.01 * found.slope * found.value, rtol=1e-12)
    np.testing.assert_allclose(found.difference, found.change, rtol=1e-3)
    assert found.attrs["gradient"].startswith("through the periodic gait") and not found.attrs["lost"]


class Lost(Oscillator):
    """Its runs from the initial state end at once, but its gait is that of the oscillator."""

    def initial_state(self):
        return Swing(jnp.asarray(9.0), jnp.zeros(()))

    def terminations(self):
        return {"lost": lambda t, y: jnp.abs(y.x) > 5.0}


@pytest.mark.slow
def test_a_gait_that_runs_do_not_reach_is_found_from_the_guess():
    request = {"maximize": "power", "by": ["k", "c"], "gradient": "gait"}
    with pytest.raises(NoResult, match="the run of the design failed"):
        sensitivities(Lost(), **request)
    steady = 1.0 / complex(1.5 - 1.0, 0.6)  # x = Re(steady exp(i t))
    found = sensitivities(Lost(), **request, gait=np.array([steady.real, -steady.imag]))
    np.testing.assert_allclose(found.slope, [-(abs(steady) ** 4) * np.array([0.5, 0.6])], rtol=1e-5)
    for wrong in (np.zeros(3), np.zeros((1, 2)), np.array([np.nan, 0.0])):
        with pytest.raises(ValueError, match=r"gait must be finite numbers of the shape \(2,\), such as"):
            sensitivities(Lost(), **request, gait=wrong)
    with pytest.raises(ValueError, match=r"of the shape \(2, 2\)"):
        sensitivities(Lost(), **request | {"by": ["c"]}, across={"k": [1.4, 1.5]}, gait=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="first guess for gradient='gait' or a return_map, got gradient='run'"):
        sensitivities(Lost(), **request | {"gradient": "run"}, gait=np.zeros(2))


class Linear(Evaluator):
    """Measures whose slopes by the coordinates of the box are known; a run fails at a wall of one parameter."""

    name = "linear"

    def __init__(self, slopes, multiplier, failing, edge):
        self.slopes, self.multiplier, self.failing, self.edge = np.array(slopes), multiplier, failing, edge

    def shapes(self, x):
        return {"objective": (), "limited_0": ()}

    def measured(self, x):
        return x @ np.nan_to_num(self.slopes).T

    def __call__(self, searches, x):
        values = self.measured(x)
        status = np.where(x[:, self.failing] >= self.edge, Outcome.MAX_STEPS, Outcome.COMPLETED)
        return Evaluated(values, np.tile(self.slopes, (len(x), 1, 1)), status, np.full(len(x), self.multiplier))


@pytest.fixture
def of(monkeypatch):
    def asked(slopes, jumper=None, multiplier=np.nan, failing=0, edge=2.0, **options):
        runs = Linear(slopes, multiplier, failing, edge)
        monkeypatch.setattr(local_sensitivity, "evaluator_for", lambda *_, **__: runs)
        return sensitivities(jumper or Bungee(), **{**ROPE, "by": ["mass", "gravity", "stiffness"], **options})

    return asked


def test_what_matters_most_to_the_objective_comes_first_and_every_measure_once(of):
    found = of([[1.0, np.nan, -4.0], [3.0, 2.0, 0.0]])
    assert found.parameter.values.tolist() == ["stiffness", "mass", "gravity"]
    assert found.measure.values.tolist() == ["peak_rope_force", "clearance"]
    assert found.measure_unit.values.tolist() == ["N", "m"] and found.parameter_unit.values.tolist()[0] == "N/m"
    np.testing.assert_allclose(found.change, [[-2.0, 0.5, np.nan], [0.0, 1.5, 1.0]])
    np.testing.assert_allclose(found.slope.sel(parameter="mass"), [0.5 / 0.7, 1.5 / 0.7])


def test_functions_without_a_name_are_called_by_what_they_are(of):
    limits = [at_most(lambda run: run["x"][-1], 50.0)]
    found = of([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], minimize=lambda run: run["x"].max(), subject_to=limits)
    assert found.measure.values.tolist() == ["objective", "limited"]


def test_a_rise_of_a_negative_parameter_goes_up(of):
    found = of([[2.0]], jumper=Oscillator(k=-50.0), by=["k"], minimize="power", subject_to=())
    assert found.change.values[0] == [1.0] and found.slope.values[0] == [2.0]


def test_a_parameter_of_a_few_values_only_is_left_out():
    names, left_out = differentiable(Creeper(), None)
    assert "inflow.direction" not in names and "inflow.direction (not free to change by 1 %)" in left_out
    assert len(names) == 26
    with pytest.raises(ParameterError, match=r"inflow\.direction must be 1 or -1, got -1\.01"):
        sensitivities(Creeper(), maximize="speed", by=["inflow.direction"])


def test_runs_beside_the_design_that_fail_or_are_not_stable_are_named(of):
    found = of([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], failing=1, edge=1.0)
    assert found.attrs["lost"] == "gravity" and np.isnan(found.difference.sel(parameter="gravity")).all()
    np.testing.assert_allclose(found.difference.values[0, ::2], [1.5, 0.5])
    unstable = of([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], multiplier=1.25)
    assert unstable.attrs["lost"] == "stiffness, gravity, mass"
    assert unstable.attrs["gradient"] == "linear; the gait is not stable (multiplier 1.25)"


def test_slopes_that_runs_do_not_bear_out_are_named(of, monkeypatch):
    monkeypatch.setattr(Linear, "measured", lambda self, x: x @ np.array([[1.0, -4.0], [0.0, 0.0]]).T)
    for gradient in ("auto", "differences"):  # which may be noise
        found = of([[4.0, -4.0], [1.0, 1.0]], by=["mass", "stiffness"], gradient=gradient)
        assert found.attrs["disagree"] == "mass" and not found.attrs["lost"]
    found = of([[np.inf, 4.0], [1.0, 1.0]], by=["mass", "stiffness"])
    assert found.attrs["disagree"] == "mass, stiffness", "an infinite slope hides no other"
    monkeypatch.setattr(Linear, "measured", lambda self, x: np.ones((len(x), 2)))
    assert not of([[1e-20, 0.0, 0.0], [1.0, 1.0, 1.0]]).attrs["disagree"], "but for rounding, nothing changes"


def test_limits_are_distinguished_by_scenario_and_varied_parameters_are_left_out(of):
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 9.0]]  # objective, two of the limit, two objectives
    found = of(rows, across={"mass": [60.0, 90.0]}, by=["gravity", "stiffness"])
    assert found.measure.values.tolist() == ["peak_rope_force", "clearance at mass = 60", "clearance at mass = 90"]
    np.testing.assert_allclose(found.change.sel(parameter="gravity"), [0.5, 1.5, 2.5])
    every = of(np.ones((5, 5)), jumper=Bungee(linear_drag=0.0), across={"mass": [60.0, 90.0]}, by=None)
    assert "mass (varied between scenarios)" in every.attrs["left_out"]
    assert "linear_drag (zero)" in every.attrs["left_out"]
    named = of(rows, across={"mass": [60.0, 90.0]}, by=["gravity", "mass", "stiffness"])
    assert sorted(named.parameter.values) == ["gravity", "stiffness"]
    assert named.attrs["left_out"] == "mass (varied between scenarios)"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"by": ["massive"]}, "Bungee has no parameter 'massive': did you mean 'mass'"),
        (
            {"by": ["linear_drag"], "jumper": Bungee(linear_drag=0.0)},
            "no sensitivity to linear_drag can be computed: it is zero",
        ),
        ({"by": ["mass"], "across": {"mass": [60.0, 90.0]}}, "to mass can be computed: it is varied between scenarios"),
        (
            {"by": ["sole.rows"], "jumper": model("jumper"), "minimize": min},
            "to sole.rows can be computed: it is an array",
        ),
        ({"by": []}, "`by` is empty"),
        ({"by": "mass"}, "`by` must be a list of parameters, got 'mass'"),
    ],
)
def test_parameters_of_which_there_is_no_percent(of, wrong, message):
    with pytest.raises(ParameterError, match=message):
        of([[1.0], [1.0]], **wrong)


def test_a_design_whose_run_fails_has_none(of):
    with pytest.raises(NoResult, match="the run of the design failed: "):
        of([[1.0], [1.0]], by=["mass"], edge=0.0)


def test_one_objective_is_given_and_no_progress(of):
    with pytest.raises(ValueError, match="has no progress bar"):
        of([[1.0], [1.0]], progress=False)
    with pytest.raises(TypeError, match="give either maximize or minimize"):
        of([[1.0], [1.0]], maximize="clearance")
