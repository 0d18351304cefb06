"""The driver on a tiny model with known answers."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait.ensembles import ensemble
from jaxgait.measure import Measure
from jaxgait.model import Model, Variable
from jaxgait.models import Bungee
from jaxgait.outcome import Outcome
from jaxgait.parameters import ParameterError
from jaxgait.run import Sampling
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.simulate import simulate
from jaxgait.solve.smooth import LEAST_STEPS, Smooth, integrate
from tests.oscillator import Oscillator, Point


def test_labelled_and_right():
    data = simulate(Oscillator(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(data.x, np.cos(2 * data.time), atol=1e-7)
    assert data.x.attrs == {"units": "m", "long_name": "position"} and data.energy.dims == ("time",)
    assert data.attrs["status"] == Outcome.COMPLETED and data.attrs["steps"] > 10
    assert data.x.dtype == np.float64


def test_a_load_that_begins_while_a_mechanism_rests_is_not_missed():
    """2 N between 1 s and 1.05 s on 2 kg at 2 rad/s; step-size control has nothing to follow until then."""

    class Pushed(Oscillator):
        def vector_field(self, t, y):
            return super().vector_field(t, y)._replace(v=-4.0 * y.x + jnp.where((t > 1.0) & (t < 1.05), 1.0, 0.0))

    run = simulate(Pushed(), initial_state={"x": 0.0, "v": 0.0})
    swing = 0.25 * (np.cos(2 * (run.time - 1.05)) - np.cos(2 * (run.time - 1.0)))
    np.testing.assert_allclose(run.x, np.where(run.time < 1.05, run.x, swing), atol=1e-6)
    assert np.abs(run.x).max() > 0.02


@pytest.mark.slow
def test_a_run_at_rest_takes_the_least_number_of_steps():
    rest = {"initial_state": {"x": 0.0, "v": 0.0}, "samples": 1}
    assert LEAST_STEPS <= simulate(Oscillator(), **rest).attrs["steps"] <= LEAST_STEPS + 5
    assert simulate(Oscillator(), max_steps=50, **rest).attrs["status"] == Outcome.COMPLETED  # in half as many
    assert simulate(Oscillator(), max_step=1.0, **rest).attrs["steps"] < 10


@pytest.mark.slow
def test_the_gradient_of_a_rest_is_that_of_the_motion_beside_it():
    end = Measure("end", lambda run: run["x"][-1], "m", "position at the end")
    ends = ensemble(Oscillator(), {"initial.x": [0.0, 1e-3]}, observe=[end], gradient=["initial.x"])
    np.testing.assert_allclose(ends.end_gradient.values.ravel(), np.cos(2 * 3.0), atol=1e-6)


class Rotor(Model):
    """A complex state that turns at 1 rad/s."""

    duration = 1.0
    variables: ClassVar[dict[str, Variable]] = {"z": Variable("1", "position")}

    def initial_state(self):
        return {"z": jnp.asarray(1.0 + 0.0j)}

    def vector_field(self, t, y):
        return {"z": 1j * y["z"]}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Complex dtype")  # of diffrax
def test_a_state_keeps_its_type():
    """Complex numbers, and float32 in a function of the user's that JAX compiles."""
    with jax.numpy_dtype_promotion("standard"):
        turned = integrate(Rotor(), jnp.array([0.0, 1.0]), Smooth.of(Rotor()))
    np.testing.assert_allclose(turned.ys["z"][-1], np.exp(1j), rtol=1e-6)
    single = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), Oscillator())
    traced = lambda m, ts, y0: integrate(m, ts, Smooth.of(Oscillator(), rtol=1e-4), y0).ys
    start = Point(jnp.float32(1.0), jnp.float32(0.0))
    assert jax.eval_shape(traced, single, jnp.zeros(2, jnp.float32), start).x.dtype == jnp.float32


def test_outputs_are_in_the_order_in_which_they_are_declared():
    class Told(Oscillator):
        variables: ClassVar = {n: Variable(unit, n) for n, unit in (("x", "m"), ("tension", "N"), ("energy", "J"))}

        def outputs(self, t, y):
            return super().outputs(t, y) | {"tension": self.stiffness * y.x, "also": y.v}

    assert list(simulate(Told()).data_vars) == ["x", "v", "tension", "energy", "also"]


def test_strides_are_counted_in_periods():
    data = simulate(Oscillator(), strides=3, samples=10)
    assert data.sizes["time"] == 31
    np.testing.assert_allclose(data.x[::10], 1.0, atol=1e-6)


def test_a_start_may_be_given_by_components():
    whole = simulate(Bungee(), duration=1.0, samples=2, initial_state=Bungee().initial_state()._replace(v=3.0))
    part = simulate(Bungee(), duration=1.0, samples=2, initial_state={"v": 3})
    np.testing.assert_array_equal(part.x, whole.x)
    assert float(part.v[0]) == 3.0 and float(part.x[0]) == -30.0
    both = simulate(Bungee(), duration=1.0, samples=2, initial_state={"v": 0.0, "x": 3.0})
    assert float(both.x[0]) == 3.0
    with pytest.raises(ValueError, match=r"initial_state\.v must have the shape \(\), got \(1,\)"):
        simulate(Bungee(), duration=1.0, initial_state={"v": [3.0]})
    with pytest.raises(ValueError, match=r"initial_state\.v must be a real number, got None"):
        simulate(Bungee(), duration=1.0, initial_state={"v": None})


def test_a_start_is_converted_to_the_units_of_the_model():
    start = xr.DataArray(50.0, attrs={"units": "cm/s"})
    assert float(simulate(Bungee(), duration=1.0, samples=2, initial_state={"v": start}).v[0]) == 0.5
    with pytest.raises(ValueError, match=r"initial\.v is in 'mph', but the model's in 'm/s'"):
        simulate(Bungee(), duration=1.0, initial_state={"v": start.assign_attrs(units="mph")})


@pytest.mark.slow
def test_a_sample_of_a_run_continues_it():
    whole = simulate(Bungee(), duration=2.0, samples=4, rtol=1e-9)
    first = simulate(Bungee(), duration=1.0, samples=2, rtol=1e-9)
    second = simulate(Bungee(), duration=1.0, samples=2, rtol=1e-9, initial_state=first.isel(time=-1))
    np.testing.assert_allclose(second.x, whole.x[2:], rtol=1e-7)
    for wrong, message in (
        (first, r"must be one sample of a run: give run\.isel\(time=-1\)"),
        (first.drop_vars("v").isel(time=1), "needs v, which the run of Bungee has not"),
        (first.isel(time=1).assign(v=np.nan), "after the end of its run, which completed: give an earlier one"),
    ):
        with pytest.raises(ValueError, match=message):
            simulate(Bungee(), duration=1.0, initial_state=wrong)
    driven = simulate(Oscillator(), strides=1, samples=4)
    assert simulate(Oscillator(), strides=1, samples=4, initial_state=driven.isel(time=-1)).attrs["status"] == 0
    with pytest.raises(ValueError, match=r"after 0\.75 periods .* give a sample after a whole number"):
        simulate(Oscillator(), strides=1, initial_state=driven.isel(time=3))
    single = {"samples": 3, "precision": "float32", "rtol": 1e-3, "atol": 1e-3}
    long = simulate(Oscillator(), strides=50, **single)  # whose times are rounded by up to 2e-6 periods
    for stride in range(40, 51):
        start = long.isel(time=3 * stride)
        assert simulate(Oscillator(), strides=1, initial_state=start, **single).attrs["status"] == 0


@pytest.mark.slow
def test_a_run_with_equations_of_time_is_not_continued():
    class Pushed(Bungee):
        def vector_field(self, t, y):
            return super().vector_field(t, y)._replace(v=9.8 - t)

    run = simulate(Pushed(), duration=0.05, samples=2)
    with pytest.raises(ValueError, match=r"at 0\.05 s, but its equations depend on time, .*: make one longer run"):
        simulate(Pushed(), duration=0.05, initial_state=run.isel(time=-1))


class Nested(Oscillator):
    variables: ClassVar = {"part_x": Variable("m", "position"), "part_v": Variable("m/s", "velocity")}

    def initial_state(self):
        return {"part": {"x": 1.0, "v": 0.0}}

    def vector_field(self, t, y):
        return {"part": {"x": y["part"]["v"], "v": -y["part"]["x"]}}

    def outputs(self, t, y):
        return {}

    def terminations(self):
        return {}


def test_a_start_of_dicts_is_taken_whole_or_by_components():
    whole = simulate(Nested(), duration=1.0, samples=1, initial_state={"part": {"x": 2.0, "v": 0.0}})
    part = simulate(Nested(), duration=1.0, samples=1, initial_state={"part_x": 2.0})
    assert float(part.part_x[-1]) == float(whole.part_x[-1]) == pytest.approx(2.0 * np.cos(1.0), abs=1e-6)


@pytest.mark.slow
def test_a_state_that_is_a_dict_is_continued_and_converted():
    class Flat(Nested):
        variables: ClassVar = {name: Variable("m", name) for name in ("x", "v")}

        def initial_state(self):
            return {"x": 1.0, "v": 0.0}

        def vector_field(self, t, y):
            return {"x": y["v"], "v": -y["x"]}

    run = simulate(Flat(), strides=1, samples=2)
    again = simulate(Flat(), strides=1, samples=2, initial_state=run.isel(time=-1))
    np.testing.assert_allclose((run.x[-1], again.x[-1]), (-1.0, 1.0), atol=1e-5)  # a period is half a swing
    start = {"x": xr.DataArray(50.0, attrs={"units": "cm"}), "v": 0.0}
    assert float(simulate(Flat(), duration=1.0, samples=1, initial_state=start).x[0]) == 0.5


def test_float32_is_a_choice():
    data = simulate(Oscillator(), precision="float32", rtol=1e-5, atol=1e-5)
    assert data.x.dtype == np.float32
    np.testing.assert_allclose(data.x, np.cos(2 * data.time), atol=1e-3)


def test_terminations_become_a_status():
    data = simulate(Oscillator(limit=0.5))
    assert data.attrs["status_text"] == "ended early: broke"
    assert data.attrs["t_end_s"] < 1.5
    assert np.isnan(data.x[-1]) and np.isfinite(data.x[0])


def test_terminations_are_traced_once():
    class Counted(Oscillator):
        def terminations(self):
            return {"broke": lambda t, y: asked.append(t) or y.x < -self.limit}

    asked, model = [], Counted(limit=0.5)
    scheme, sampling = scheme_for(model, None, precision="float64"), Sampling.of(model, None, 3.0, 10)
    jax.make_jaxpr(lambda: scheme.run(model, sampling, None).ys)()
    assert len(asked) == 1


def test_nan_is_a_status_not_an_exception():
    data = simulate(Oscillator(poison=1.0))
    assert data.attrs["status"] == Outcome.STEP_UNDERFLOW
    np.testing.assert_allclose(data.attrs["t_end_s"], 1.0, atol=1e-3)
    assert simulate(Oscillator(), max_steps=5).attrs["status"] == Outcome.MAX_STEPS


def test_a_start_that_is_nan_is_not_taken_for_an_ending():
    class Sunk(Oscillator):
        def initial_state(self):
            return super().initial_state()._replace(x=jnp.full((), jnp.nan))

        def terminations(self):
            return {"fell": lambda t, y: ~(y.x > 0.0)}

    assert simulate(Sunk()).attrs["status"] == Outcome.NONFINITE


def test_a_run_that_ends_at_once_has_its_initial_state():
    data = simulate(Oscillator(poison=-1.0), samples=4)
    assert data.attrs["t_end_s"] == 0.0 and data.x[0] == 1.0 and np.isnan(data.x[1:]).all()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"strides": 2, "duration": 1.0}, "not both"),
        ({"strides": 0}, "at least 1"),
        ({"duration": -1.0}, "positive number of seconds"),
        ({"samples": 0}, "at least 1"),
        ({"rtol": -1.0}, "rtol must be a positive number below 1"),
    ],
)
def test_impossible_requests_raise(kwargs, message):
    with pytest.raises(ValueError, match=message):
        simulate(Oscillator(), **kwargs)


def test_impossible_parameters_raise_before_compiling():
    with pytest.raises(ParameterError, match="mass"):
        simulate(Oscillator(mass=-1.0))


@pytest.mark.parametrize("y0", [(1.0, 0.0), 1.0])
def test_integrate_raises_for_a_state_of_another_structure(y0):
    model = Oscillator()
    with pytest.raises(ValueError, match="y0 must be a Point"):
        integrate(model, jnp.linspace(0.0, 1.0, 3), Smooth.of(model), y0)


class Repelled(Oscillator):
    def vector_field(self, t, y):
        return Point(y.v, 1e3 * y.x)


def test_a_state_that_grows_without_bound_is_noticed():
    with pytest.warns(UserWarning, match=r"x of Repelled grows without bound: a force may have the wrong sign"):
        simulate(Repelled(), progress=False)


class Waiting(Oscillator):
    def initial_state(self):
        return Point(1e30, 0.0)  # as the time of what never happens

    def vector_field(self, t, y):
        return Point(0.0, 0.0)


def test_a_state_that_starts_beyond_all_bounds_does_not_grow(recwarn):
    simulate(Waiting(), progress=False)
    assert not any("grows" in str(one.message) for one in recwarn)
