"""Events of smooth models: times against a closed form, derivatives, and nothing changed by looking."""

from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import ensemble, simulate
from jaxgait.measure import Measure
from jaxgait.model import Numerics
from jaxgait.models.bungee.model import Bungee
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import with_parameters
from jaxgait.run import Sampling
from jaxgait.solve.schemes import scheme_for
from tests.solve.swing import Harmonic

CUBIC = 2e-8  # s; steps of 0.02 s of a swing of 1 s: the cubic's error is (h w)^4 / 384 of the amplitude


class Oscillator(Harmonic):
    """Turns and passes through the middle at known times."""

    numerics: ClassVar = Numerics(stiff=False, rtol=1e-9, atol=1e-9, max_step=0.02)

    def events(self):
        return {"forward": lambda t, y: -y.x, "back": lambda t, y: y.x}


def _exact(rate):
    return (jnp.arange(4.0) + 0.5) * jnp.pi / rate


def test_times_and_states_are_those_of_the_closed_form():
    run = simulate(Oscillator(), samples=3)
    np.testing.assert_allclose(run.event_time, _exact(6.0), atol=CUBIC)
    assert list(run.event_name.values) == ["back", "forward"] * 2
    np.testing.assert_allclose(run.x_before, 0.0, atol=1e-14)
    np.testing.assert_allclose(np.abs(run.v_after), 6.0, rtol=1e-7)


@pytest.mark.slow
def test_watching_changes_no_result_even_with_too_many_events():
    model, sampling = Oscillator(), Sampling.of(Oscillator(), None, 2.0, 7)
    blind, seeing = (jax.jit(partial(scheme_for(model, max_events=n).run, sampling=sampling))(model) for n in (0, 3))
    assert blind.events is None and int(blind.steps) == int(seeing.steps)
    np.testing.assert_array_equal(blind.ys.x, seeing.ys.x)
    np.testing.assert_array_equal(seeing.events.kind, [1, 0, 1])


@pytest.mark.parametrize(
    ("mode", "derivative"), [("forward", jax.jacfwd), pytest.param("reverse", jax.jacrev, marks=pytest.mark.slow)]
)
def test_event_times_have_derivatives(mode, derivative):
    """Four events happen. The fifth time is NaN, and so is its derivative; what leaves it out has its own."""
    model = Oscillator()
    scheme = scheme_for(model, max_events=5, max_steps=1024).in_mode(mode)

    def times(rate):
        t = scheme.run(with_parameters(model, {"rate": rate}), Sampling.of(model, None, 2.0, 2)).events.t
        return jnp.append(t, jnp.nansum(t))

    slopes, exact = jax.jit(derivative(times))(6.0), jax.jacfwd(_exact)(6.0)
    np.testing.assert_allclose(slopes, [*exact, np.nan, exact.sum()], atol=1e-6)


@pytest.mark.slow
def test_second_derivatives_are_those_of_the_samples_and_nan_for_events():
    model, scheme = Oscillator(), scheme_for(Oscillator(), max_events=1)

    def at_end_and_event(rate):
        run = scheme.run(with_parameters(model, {"rate": rate}), Sampling.of(model, None, 0.5, 2))
        return run.ys.x[-1], run.events.t[0], run.events.before.v[0]

    end, t, v = jax.jit(jax.jacfwd(jax.jacfwd(at_end_and_event)))(6.0)
    assert float(end) == pytest.approx(-0.25 * np.cos(3.0), rel=1e-5) and np.isnan(t) and np.isnan(v)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["Verner8", "Dopri8"])
def test_with_long_steps_event_times_are_as_accurate_as_states(solver):
    """Steps of such solvers are so long that the cubic alone is off by some 1e-6 s."""
    model = Oscillator()
    scheme = scheme_for(model, solver=solver, rtol=1e-10, atol=1e-10, max_step=1.0, max_events=4)
    assert scheme.run(model, Sampling.of(model, None, 2.0, 2)).steps < 60

    def times(rate):
        return scheme.run(with_parameters(model, {"rate": rate}), Sampling.of(model, None, 2.0, 2)).events.t

    found, slopes = jax.jit(lambda rate: (times(rate), jax.jacfwd(times)(rate)))(6.0)
    np.testing.assert_allclose(found, _exact(6.0), atol=1e-9)
    np.testing.assert_allclose(slopes, jax.jacfwd(_exact)(6.0), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["Tsit5", "Verner8"])
@pytest.mark.parametrize(
    "guard",
    [
        lambda x: jnp.where(x > 0.0, 1.0 + 0.1 * x, -1.0 + 0.1 * x),
        lambda x: x + jnp.where(x > 0.0, 0.5, -0.5),
        jnp.cbrt,
        lambda x: x**3,
    ],
    ids=["jump", "sloped jump", "root", "cube"],
)
def test_guards_without_a_simple_zero_fall_in_time_too(guard, solver):
    class Own(Oscillator):
        def events(self):
            return {"back": lambda t, y: guard(y.x)}

    tight = {"rtol": 1e-9, "atol": 1e-9, "max_step": 1.0}
    run = simulate(Own(), duration=1.0, samples=3, solver=solver, **tight)
    np.testing.assert_allclose(run.event_time, _exact(6.0)[:1], atol=1e-9)


PASSES = Measure("passes", lambda run: run.happened("forward").sum(), "1", "forward passes")


def test_measures_of_events_that_do_not_exist_raise():
    wrong = Measure("passes", lambda run: run.happened("foward").sum(), "1", "forward passes")
    with pytest.raises(KeyError, match="no event 'foward': there are forward, back"):
        ensemble(Oscillator(), {"rate": [3.0]}, samples=2, observe=[wrong], max_events=20)
    with pytest.raises(ValueError, match="Harmonic has no events: define `events`"):
        ensemble(Harmonic(), {"rate": [3.0]}, samples=2, observe=[PASSES])


@pytest.mark.slow
def test_events_that_a_measure_reads_are_recorded_and_none_is_left_out():
    last = Measure("last", lambda run: run["x"][-1], "1", "position at the end")
    found = ensemble(Oscillator(), {"rate": [3.0, 6.0, 12.0]}, samples=2, observe=[PASSES, last])
    np.testing.assert_array_equal(found.passes, [1, 2, 4])
    with pytest.warns(IncompleteRun, match="1 of 2 .* completed; 1: gave up: the limit of events was reached"):
        few = ensemble(
            Oscillator(), {"rate": [3.0, 12.0]}, samples=2, observe=[PASSES, last], max_events=3, gradient=["rate"]
        )
    np.testing.assert_array_equal(few.passes, [1, -1])
    np.testing.assert_allclose(few.last, found["last"][[0, 2]], err_msg="it does not depend on what else is observed")
    assert np.isfinite(few.last_gradient).all()
    unread = ensemble(Oscillator(), {"rate": [12.0]}, samples=2, observe=[last], max_events=3)
    assert (unread.status == 0).all()


def test_a_run_with_more_events_than_are_recorded_warns():
    with pytest.warns(UserWarning, match="only the first 3 events of Oscillator are recorded: raise max_ev") as caught:
        run = simulate(Oscillator(), samples=2, observe=[PASSES], max_events=3)
    assert run.sizes["event"] == 3 and run.passes == -1 and {one.filename for one in caught} == {__file__}


def test_outputs_that_cannot_be_watched_raise():
    lowest = Measure("lowest", lambda run: run.extremes("xx").least, "m", "lowest", watch=("xx",))
    with pytest.raises(ValueError, match="there is no 'xx' to watch: did you mean 'x'"):
        ensemble(Oscillator(), {"rate": [3.0]}, samples=2, observe=[lowest])


def test_the_rope_becomes_taut_and_slack():
    run = simulate(with_parameters(Bungee(), {"quadratic_drag": 0.0}), duration=20.0, samples=10)
    assert list(run.event_name.values[:4]) == ["taut", "lowest", "slack", "top"]

    assert float(run.event_time[0]) == pytest.approx(np.sqrt(6.0), abs=0.03)  # a free fall of 30 m, but for 1 % of drag
    np.testing.assert_allclose(run.x_before[[0, 2]], 0.0, atol=1e-12)
    np.testing.assert_allclose(run.v_before[[1, 3]], 0.0, atol=1e-12)


class UntilTaut(Bungee):
    """Runs end where the rope becomes taut, after a free fall."""

    duration = property(lambda self: jnp.sqrt(2.0 * self.rope_length / self.gravity))


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["Tsit5", pytest.param("Dopri8", marks=pytest.mark.slow)])
def test_an_event_at_the_end_of_a_run_is_recorded_whatever_its_rounding(solver):
    falling, lengths = UntilTaut(linear_drag=0.0, quadratic_drag=0.0), np.linspace(10.0, 30.0, 12)
    runs = ensemble(falling, {"rope_length": lengths}, samples=7, max_events=2, trajectories=["x"], solver=solver)
    np.testing.assert_array_equal((runs.event_kind == 0).sum("event"), 1)
    np.testing.assert_allclose(runs.event_time[:, 0], runs.t_end, rtol=1e-12)
