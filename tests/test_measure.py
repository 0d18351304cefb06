"""Measures: what they need of a run, and that members that ended early never count."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgait import ensemble, optimize, simulate
from jaxgait.ensembles import zipped
from jaxgait.measure import Measure, MeasureError, Measures, known, last, observed, observer
from jaxgait.models.bungee.measures import clearance
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.creeper.chain import CreeperChain
from jaxgait.models.creeper.model import Creeper
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.models.walker.rigid import RigidWalker
from jaxgait.models.walker.smooth import Walker
from jaxgait.optimization.goals import at_least
from jaxgait.outcome import IncompleteRun
from jaxgait.registry import model, models
from jaxgait.run import Run, Sampling, Trajectory
from jaxgait.solve import simulate as module
from jaxgait.states import state_variables
from tests.oscillator import Oscillator, Point

LARGEST = Measure("largest", lambda run: jnp.max(run["x"]), "m", "largest position")
ENDS = Measure("ends", lambda run: run.trajectory.t_end, "s", "time of the end", early=True)
STEPS = Measure("lows", lambda run: jnp.sum(run["x"] < 0.0), "1", "samples below zero")
ALL = [LARGEST, ENDS, STEPS]
OPTIONS = {"duration": 2.0, "samples": 16, "batch": 16, "workers": 1, "retry": False}
MEMBERS = 16


@pytest.fixture(scope="module")
def undisturbed():
    return ensemble(
        Oscillator(),
        zipped({"poison": np.full(MEMBERS, 1e9), "mass": np.linspace(1, 2, MEMBERS)}),
        observe=ALL,
        **OPTIONS,
    )


@settings(max_examples=25, deadline=None)
@given(fails=st.lists(st.booleans(), min_size=MEMBERS, max_size=MEMBERS))
def test_members_that_end_early_change_no_statistic(fails, undisturbed):
    fails = np.array(fails)
    members = zipped({"poison": np.where(fails, 1.0, 1e9), "mass": np.linspace(1, 2, MEMBERS)})
    if fails.any():
        with pytest.warns(UserWarning, match=f"{MEMBERS - fails.sum()} of {MEMBERS} trajectories"):
            scan = ensemble(Oscillator(), members, observe=ALL, **OPTIONS)
    else:
        scan = ensemble(Oscillator(), members, observe=ALL, **OPTIONS)
    np.testing.assert_array_equal(scan.largest, np.where(fails, np.nan, undisturbed.largest))
    np.testing.assert_array_equal(scan.lows, np.where(fails, -1, undisturbed.lows))
    np.testing.assert_array_equal(scan.ends, np.where(fails, np.nan, 2.0))  # early or not: a failure has no result
    if not fails.all():
        assert float(scan.largest.mean()) == pytest.approx(float(undisturbed.largest[~fails].mean()), rel=1e-14)


@pytest.mark.slow
def test_gradients_of_members_that_end_early_are_nan():
    members = zipped({"poison": np.array([1e9, 1.0] * 5), "mass": np.linspace(1, 2, 10)})
    with pytest.warns(UserWarning, match="5 of 10"):
        scan = ensemble(Oscillator(), members, observe=[LARGEST, ENDS], gradient=["mass"], **OPTIONS)
    failed = scan.poison.values < 2
    assert np.isnan(scan.largest_gradient.values[failed]).all()
    assert np.isnan(scan.ends_gradient.values[failed]).all()  # it ended at a step, which has no derivative
    assert np.isfinite(scan.largest_gradient.values[~failed]).all()


def test_plain_functions_are_masked_too():
    look = lambda run: {"low": run["x"].min()}
    scan = ensemble(Oscillator(), {"mass": np.linspace(1, 2, 10)}, observe=look, max_steps=30, **OPTIONS)
    assert (scan.status != 0).all() and np.isnan(scan.low).all() and "low" in scan


def test_units_arrive_in_the_dataset():
    scan = ensemble(Bungee(), {"mass": [60.0, 70.0]}, observe=["clearance"], duration=10.0, samples=100)
    assert scan.clearance.attrs == {
        "units": "m",
        "long_name": "smallest height above the ground (negative: the jumper hits it)",
    }


@pytest.mark.parametrize("name", models())
def test_measures_of_every_model_have_units(name):
    for key, measure in known(model(name)).items():
        assert key == measure.name and measure.unit and measure.long_name
        assert "`" not in measure.long_name, "it is the label of an axis"


@pytest.mark.parametrize("name", models())
def test_no_measure_has_the_name_of_a_time_history(name):
    """`observe` of all measures, with trajectories: a result has one meaning."""
    mechanism = model(name)
    states = state_variables(jax.eval_shape(mechanism.initial_state))
    assert not set(known(mechanism)) & {*mechanism.variables, *states}


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        (Sampling(None, 1000), r"order .* needs a run of whole strides: give strides=20"),
        (Sampling(5, 100), "at least 20 strides, the run has 5"),
        (Sampling(20, 10), "at least 50 samples per stride, the run has 10"),
    ],
)
def test_a_measure_raises_for_an_insufficient_run(sampling, message):
    with pytest.raises(MeasureError, match=message):
        known(Prosthesis())["order"].check(sampling)


@pytest.mark.parametrize(
    ("observe", "error", "message"),
    [
        (["roh"], MeasureError, "did you mean 'rho'"),
        (
            ["knee_angle"],
            MeasureError,
            r"in Python, Measure\('largest', .*run\['knee_angle'\].*, 'rad', '.*'\)",
        ),
        ([3], TypeError, "names of measures"),
        (7, TypeError, "observe must be a function"),
        (["rho", "rho"], MeasureError, "given twice: rho"),
        ([], MeasureError, "observe is empty"),
    ],
)
def test_mistakes_in_observe_are_named(observe, error, message):
    with pytest.raises(error, match=message):
        observer(Prosthesis(), observe)


def test_sampling_travels_with_the_run():
    run = simulate(Oscillator(), strides=2, samples=7)
    assert run.attrs["samples_per_stride"] == 7 and run.attrs["strides"] == 2


@pytest.mark.slow
def test_peaks_between_samples_are_found():
    fine = ensemble(Creeper(), {"inflow.phase": [0.13, 0.4]}, strides=2, samples=400, observe=["peak_force"])
    coarse = ensemble(Creeper(), {"inflow.phase": [0.13, 0.4]}, strides=2, samples=5, observe=["peak_force"])
    np.testing.assert_allclose(coarse.peak_force, fine.peak_force, rtol=1e-3)  # what the steps of rtol 1e-6 resolve


@pytest.mark.slow
@pytest.mark.parametrize("samples", [5, *(pytest.param(n, marks=pytest.mark.slow) for n in (20, 40, 100))])
def test_the_lowest_point_does_not_depend_on_the_samples(samples):
    """Against the event-located one; the solver's steps miss it by 0.1 mm at most."""
    scan = ensemble(Bungee(), {"mass": [60.0, 70.0]}, duration=20.0, samples=samples, observe=["clearance"])
    exact = [float(clearance(Bungee(mass=m))) for m in (60.0, 70.0)]
    np.testing.assert_allclose(scan.clearance, exact, atol=1e-4)
    one = simulate(Bungee(mass=70.0), duration=20.0, samples=samples, observe=["clearance"])
    assert float(one.clearance) == pytest.approx(float(scan.clearance[1]), rel=1e-6)


def test_steps_are_not_counted_from_samples_too_far_apart():
    with pytest.raises(MeasureError, match=r"samples at most 0.05 s apart, they are 2 s apart"):
        ensemble(Walker(), {"slope": [0.01]}, duration=40.0, samples=20, observe=["step_period"])


def test_the_interval_is_that_of_the_slowest_member():
    slow = {"robot.gait.period": [1.0, 4.0]}
    with pytest.raises(MeasureError, match=r"at most 0\.002 s apart, they are 0\.004 s apart"):
        ensemble(CreeperChain(), slow, observe=["peak_drive"], samples=1000)


def test_flags_and_unsigned_integers_become_real_numbers():
    members = zipped({"poison": np.array([1.0, 1e9])})
    look = lambda run: {"safe": run["x"].min() > -2.0, "n": jnp.uint32(3_000_000_000)}
    with pytest.warns(UserWarning, match="1 of 2"):
        scan = ensemble(Oscillator(), members, observe=look, **OPTIONS)
    np.testing.assert_array_equal(scan.safe, [np.nan, 1.0])
    np.testing.assert_array_equal(scan.n, [np.nan, 3e9])


def test_a_mapping_names_its_measures():
    (mine,) = observer(Bungee(), {"mine": "clearance"}).members
    assert mine.name == "mine" and mine.watch == ("height",)
    with pytest.raises(TypeError, match="observe must be"):
        observer(Bungee(), {"clearance"})  # a set has no order, but results have


def test_an_output_that_was_not_watched_raises():
    peak = known(Creeper())["peak_force"]
    with pytest.raises(ValueError, match="was not watched"):
        ensemble(Creeper(), {"clearance": [2e-3, 2.1e-3]}, strides=1, observe=lambda run: {"peak": peak(run)})


def test_a_periodic_model_runs_whole_strides_by_default():
    walk, jump = Sampling.of(Prosthesis(), None, None, None), Sampling.of(Bungee(), None, None, None)
    assert (walk.strides, walk.samples) == (20, 100) and (jump.strides, jump.samples) == (None, 1000)
    assert walk.interval == pytest.approx(float(Prosthesis().period) / 100) and jump.interval == pytest.approx(0.1)
    assert isinstance(observer(Prosthesis(), "rho"), Measures)


PLAIN = {
    "float": lambda run: float(run["x"].min()),
    "if": lambda run: 1.0 if run["x"].min() > 0.0 else 0.0,
    "numpy": lambda run: np.asarray(run["x"]).max(),
    "index": lambda run: jnp.zeros(8)[run["x"].argmin().__index__()],
    "mask": lambda run: run["x"][run["x"] > 0.0].sum(),
}


def at_samples(xs):
    """A run of the mass, with its position at three samples."""
    states = Point(xs, xs)
    end = Point(xs[-1], xs[-1])
    trajectory = Trajectory(jnp.arange(3.0), states, jnp.array(0), jnp.array(2.0), end, jnp.array(9), jnp.array(0))
    return Run(Oscillator(), trajectory, Sampling(None, 2, 2.0))


@pytest.mark.parametrize("code", PLAIN)
def test_code_that_cannot_be_compiled_is_named_with_its_line(code):
    deep = Measure("deep", PLAIN[code], "m", "a depth")
    message = rf"the measure 'deep' needs a value .* \(line \d+ of .*test_measure.py: '\"{code}\": lambda.*jnp.where"
    with pytest.raises(MeasureError, match=message) as found:
        jax.eval_shape(lambda xs: observed(Measures((deep,)), at_samples(xs)), jnp.ones(3))
    assert isinstance(found.value.__cause__, TypeError | IndexError)


def test_an_ensemble_names_a_measure_that_cannot_be_compiled():
    deep = Measure("deep", PLAIN["if"], "m", "a depth")
    with pytest.raises(MeasureError, match=r"the measure 'deep' needs a value .* \(line \d+ of .*test_measure.py"):
        ensemble(Oscillator(), {"mass": [60.0]}, observe=[deep], duration=1.0, samples=8)


@pytest.mark.slow
def test_objectives_that_cannot_be_compiled_are_named_too():
    deep, asked = Measure("deep", PLAIN["if"], "m", "a depth"), {"over": {"mass": (1.0, 2.0)}, "duration": 1.0}
    with pytest.raises(MeasureError, match="the objective needs a value"):
        optimize(Oscillator(), maximize=PLAIN["if"], **asked)
    with pytest.raises(MeasureError, match="the measure 'deep' needs a value"):
        optimize(Oscillator(), minimize=LARGEST, subject_to=[at_least(deep, 0.0)], **asked)


def test_after_a_measure_that_cannot_be_compiled_other_values_still_share_a_program(monkeypatch):
    monkeypatch.setattr(module, "_by_value", set())
    with pytest.raises(MeasureError, match="the function `observe` needs a value"):
        simulate(Oscillator(), observe=lambda run: {"deep": float(run["x"].min())}, duration=1.0, samples=8)
    assert not module._by_value


def test_one_run_is_measured_like_the_members_of_an_ensemble(undisturbed):
    short = {"duration": OPTIONS["duration"], "samples": OPTIONS["samples"], "observe": ALL}
    one = simulate(Oscillator(mass=1.0), **short)
    for name in ("largest", "ends", "lows"):
        assert float(one[name]) == pytest.approx(float(undisturbed[name][0]), rel=1e-6)
        assert one[name].attrs == undisturbed[name].attrs and one[name].dims == ()
    with pytest.warns(IncompleteRun, match="broke"):
        broke = simulate(Oscillator(mass=1.0, limit=0.5), **short)
    assert np.isnan(broke.largest) and broke.lows == -1 and 0.0 < float(broke.ends) < 2.0


@pytest.mark.slow
def test_measures_of_one_run_are_checked_too():
    class Counted(Oscillator):
        def vector_field(self, t, y):
            jax.debug.callback(ran.append, t)
            return super().vector_field(t, y)

    ran = []
    for name in ("energy", "x", "time", "status"):
        with pytest.raises(ValueError, match=f"observe must not use the name '{name}'"):
            simulate(Counted(), observe=lambda run, name=name: {name: run["energy"].min()}, duration=1.0)
    assert not ran  # before the run
    simulate(Counted(), observe=lambda run: {"lowest": run["energy"].min()}, duration=1.0)
    assert ran
    with pytest.raises(MeasureError, match="needs at least 20 strides"):
        simulate(Prosthesis(), observe="order", strides=3)


@pytest.mark.slow
def test_names_of_dimensions_are_taken_only_in_runs_that_have_them():
    walk = simulate(RigidWalker(), observe=lambda run: {"foot": run["theta_1"].min()}, duration=0.1)
    assert walk.foot.dims == ()


def test_an_array_has_the_dimensions_that_its_measure_declares():
    """The first of them was taken, and the other ones were dropped."""
    first = Measure("first", lambda run: run["x"][:3], "m", "first positions", dims=("foot", "toe"))
    with pytest.raises(ValueError, match="'first' declares the dimensions 'foot', 'toe', but its values have 1"):
        ensemble(Oscillator(), {"mass": [1.0, 2.0]}, observe=[first], **OPTIONS)


@pytest.mark.slow
def test_the_last_value_is_that_before_an_early_end():
    histories = jnp.array([[1.0, 2.0, jnp.nan], [1.0, 2.0, 3.0], [jnp.nan] * 3])
    np.testing.assert_array_equal(jax.vmap(last)(histories), [2.0, 3.0, np.nan])
    np.testing.assert_array_equal(jax.grad(last)(histories[0]), [0.0, 1.0, 0.0])
    assert last(jnp.array([1.0, -jnp.inf, jnp.nan])) == -jnp.inf and jnp.isnan(last(jnp.zeros(0)))
    for several in (jnp.ones((3, 3)), jnp.ones((3, 2)), jnp.ones(())):
        with pytest.raises(ValueError, match="last takes one time history"):
            last(several)
    np.testing.assert_array_equal(jax.vmap(last, in_axes=1)(histories.T), [2.0, 3.0, np.nan])
    way = Measure("way", lambda run: last(run["x"]), "m", "position at the end", early=True)
    runs = ensemble(Oscillator(), {"limit": [2.0, 0.3]}, duration=1.0, samples=1000, observe=[way])
    assert runs.status.values.tolist() == [0, 10]
    np.testing.assert_allclose(runs.way, runs.x_end, atol=2.1e-3)  # samples are 1 ms apart, it moves at 2 m/s


def test_dimensions_have_names_of_their_own():
    with pytest.raises(MeasureError, match="the measure 'map' has the dimension 'a' twice: give each its own name"):
        Measure("map", lambda run: run["x"], "m", "a map", dims=("a", "b", "a"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "a/b", ".", "..", ".jaxgait", "zarr.json"])
def test_nothing_has_a_name_that_a_store_cannot_hold(name):
    """A store with "a/b" ended in a KeyError after all its runs; ".." was another folder."""
    with pytest.raises(MeasureError, match=r"the measure .*: names must "):
        Measure(name, lambda run: run["x"].max(), "m", "largest x")
    with pytest.raises(MeasureError, match="the measure 'map': names must "):
        Measure("map", lambda run: run["x"], "m", "a map", dims=(name,))
    with pytest.raises(ValueError, match="what observe returns: names must "):
        ensemble(Oscillator(), {"limit": [2.0]}, duration=1.0, observe=lambda run: {name: run["x"].max()})


@pytest.mark.slow
def test_a_history_is_no_measure_unless_it_names_its_dimension():
    history = Measure("path", lambda run: run["x"], "m", "position")
    for observing in (lambda m: simulate(Oscillator(), duration=1.0, samples=8, observe=m), _two_members):
        with pytest.raises(
            MeasureError, match=r"'path' has 9 values, one per sample .*trajectories=.*dims=\('foot',\)"
        ):
            observing(history)
    assert _two_members(dataclasses.replace(history, dims=("moment",))).path.sizes["moment"] == 9
    assert _two_members(Measure("ends", lambda run: run["x"][:8], "m", "positions")).ends.shape == (2, 8)


def _two_members(measure):
    return ensemble(Oscillator(), {"mass": [1.0, 2.0]}, duration=1.0, samples=8, observe=measure, workers=1)
