"""Measures: what they need of a run, and that members that ended early never count."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgait import ensemble, simulate
from jaxgait.ensemble import zipped
from jaxgait.measure import Measure, MeasureError, Measures, known, observer
from jaxgait.models.bungee import Bungee
from jaxgait.models.catalogue import MODELS, model
from jaxgait.models.creeper import Creeper
from jaxgait.models.prosthesis import Prosthesis
from jaxgait.run import Sampling
from tests.oscillator import Oscillator

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
    assert np.isfinite(scan.ends).all() and (scan.ends[fails] < 2.0).all()
    if not fails.all():
        assert float(scan.largest.mean()) == pytest.approx(float(undisturbed.largest[~fails].mean()), rel=1e-14)


def test_gradients_of_members_that_end_early_are_nan():
    members = zipped({"poison": np.array([1e9, 1.0] * 5), "mass": np.linspace(1, 2, 10)})
    with pytest.warns(UserWarning, match="5 of 10"):
        scan = ensemble(Oscillator(), members, observe=[LARGEST], gradient=["mass"], **OPTIONS)
    failed = scan.poison.values < 2
    assert np.isnan(scan.largest_gradient.values[failed]).all()
    assert np.isfinite(scan.largest_gradient.values[~failed]).all()


def test_plain_functions_are_masked_too():
    scan = ensemble(
        Bungee(),
        {"mass": np.linspace(40, 100, 10)},
        observe=lambda run: {"low": run["height"].min()},
        duration=10.0,
        samples=50,
        max_steps=30,
        retry=False,
        workers=1,
    )
    assert (scan.status != 0).all() and np.isnan(scan.low).all() and "low" in scan


def test_units_arrive_in_the_dataset():
    scan = ensemble(Bungee(), {"mass": [60.0, 70.0]}, observe=["clearance"], duration=10.0, samples=100)
    assert scan.clearance.attrs == {
        "units": "m",
        "long_name": "smallest height above the ground (negative: he hits it)",
    }


@pytest.mark.parametrize("name", MODELS)
def test_measures_of_every_model_have_units(name):
    for key, measure in known(model(name)).items():
        assert key == measure.name and measure.unit and measure.long_name


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        (Sampling(None, 1000), r"order .* needs a run of whole strides: give strides=9"),
        (Sampling(5, 100), "at least 9 strides, the run has 5"),
        (Sampling(20, 10), "at least 50 samples per stride, the run has 10"),
    ],
)
def test_a_measure_refuses_a_run_that_is_not_enough(sampling, message):
    with pytest.raises(MeasureError, match=message):
        known(Prosthesis())["order"].check(sampling)


@pytest.mark.parametrize(
    ("observe", "error", "message"),
    [
        (["roh"], MeasureError, "did you mean 'rho'"),
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


def test_peaks_between_samples_are_found():
    fine = ensemble(Creeper(), {"inflow.phase": [0.13, 0.4]}, strides=2, samples=400, observe=["peak_force"])
    coarse = ensemble(Creeper(), {"inflow.phase": [0.13, 0.4]}, strides=2, samples=5, observe=["peak_force"])
    np.testing.assert_allclose(coarse.peak_force, fine.peak_force, rtol=1e-3)


def test_what_was_not_watched_is_said():
    peak = known(Creeper())["peak_force"]
    with pytest.raises(ValueError, match="was not watched"):
        ensemble(Creeper(), {"clearance": [2e-3, 2.1e-3]}, strides=1, observe=lambda run: {"peak": peak(run)})


def test_a_periodic_model_runs_whole_strides_by_default():
    assert Sampling.of(Prosthesis(), None, None, None) == Sampling(20, 100)
    assert Sampling.of(Bungee(), None, None, None) == Sampling(None, 1000)
    assert isinstance(observer(Prosthesis(), "rho"), Measures)
