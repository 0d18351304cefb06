"""Runs by the names of their components, whatever the structure of the state."""

import re
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgait
from jaxgait import Bungee, simulate
from jaxgait.model import Model, Scalar, Variable, parameter
from jaxgait.outcome import IncompleteRun
from jaxgait.plausible import ImplausibleValue
from jaxgait.run import Sampling
from jaxgait.states import state_variables, with_state_variables
from tests.oscillator import Oscillator


class Pose(NamedTuple):
    x: float
    spin: float | None


class Held(eqx.Module):
    angle: float
    pose: Pose
    name: str = eqx.field(static=True, default="held")


def test_an_attribute_that_a_run_lacks_is_pointed_to_the_components():
    lowest = jaxgait.Measure("lowest", lambda run: run.height.min(), "m", "lowest point")
    with pytest.raises(AttributeError, match=r'a run has no attribute \'height\': write run\["height"\]'):
        jaxgait.ensemble(jaxgait.Bungee(), {"mass": [60.0]}, duration=1.0, samples=2, observe=[lowest])


@pytest.mark.parametrize("read", [lambda run: run.event_time, lambda run: run["event_time"]])
def test_the_names_of_a_dataset_are_pointed_to_what_a_run_has_instead(read):
    period = jaxgait.Measure("period", lambda run: jnp.diff(read(run))[0], "s", "time of a stride")
    with pytest.raises((AttributeError, KeyError), match=r"a run .*'event_time': write run.events.t"):
        jaxgait.ensemble(jaxgait.Bungee(), {"mass": [60.0]}, duration=1.0, samples=2, observe=[period])


@pytest.mark.parametrize(
    ("state", "names"),
    [
        (np.zeros(3), ["state"]),
        ((1.0, jnp.zeros(2)), ["state_0", "state_1"]),
        ([1.0, (2.0, 3.0)], ["state_0", "state_1_0", "state_1_1"]),
        ({"v": 1.0, "b": Pose(1.0, 2.0)}, ["v", "b_x", "b_spin"]),
        (Pose(1.0, None), ["x"]),
        (Held(1.0, Pose(2.0, 3.0)), ["angle", "pose_x", "pose_spin"]),
    ],
)
def test_components_have_names_and_are_replaced_by_them(state, names):
    assert list(state_variables(state)) == names
    with pytest.raises(ValueError, match=f"the state has no 'other': .*{re.escape(names[0])}"):
        with_state_variables(state, {"other": 1.0})
    other = with_state_variables(state, {names[-1]: np.full(3, 7.0)})
    assert type(other) is type(state)
    for name, value in state_variables(other).items():
        np.testing.assert_array_equal(value, 7.0 if name == names[-1] else state_variables(state)[name])


class Pair(Model):
    """A mass on a spring with a tuple as its state."""

    stiffness: Scalar = parameter(4.0, unit="N/m", doc="spring", bounds="positive")

    variables: ClassVar = {"state_0": Variable("m", "position"), "state_1": Variable("m/s", "velocity")}
    duration = 1.0

    def initial_state(self):
        return jnp.asarray(1.0), jnp.asarray(0.0)

    def vector_field(self, t, y):
        return y[1], -self.stiffness * y[0]

    def outputs(self, t, y):
        return {}


@pytest.mark.slow
def test_a_tuple_as_state_runs_and_scans_from_named_components():
    run = jaxgait.simulate(Pair(), samples=4)
    assert run.state_0.attrs == {"units": "m", "long_name": "position"}
    np.testing.assert_allclose(run.state_0, np.cos(2 * run.time), atol=1e-5)
    scan = jaxgait.ensemble(Pair(), {"initial.state_1": [0.0, 2.0]}, samples=4, retry=False)
    np.testing.assert_allclose(scan.state_0_end, np.cos(2.0) + np.array([0.0, 1.0]) * np.sin(2.0), atol=1e-5)


def test_samples_after_an_early_end_are_not_results():
    class Counting(Oscillator):
        variables: ClassVar = {**Oscillator.variables, "n": Variable("1", "count"), "up": Variable("1", "whether up")}

        def outputs(self, t, y):
            return {**super().outputs(t, y), "n": jnp.asarray(t, int), "up": y.x > -2.0}

        def terminations(self):
            return {"broke": lambda t, y: y.x < 0.0}

    with pytest.warns(IncompleteRun):
        run = simulate(Counting(), duration=3.0, samples=6)
    after = np.isnan(run.x.values)
    assert after.any() and (run.n.values[after] == -1).all() and not run.up.values[after].any()
    assert (run.n.values[~after] >= 0).all() and run.up.values[~after].all()


@pytest.mark.parametrize("own", [None, 0.0, np.inf])
@pytest.mark.filterwarnings("error")
def test_a_model_without_a_duration_of_its_own_runs_for_a_given_one(own):
    endless = type("Endless", (Bungee,), {"duration": property(lambda self: own)})
    assert Sampling.of(endless(), None, 20.0, 10).duration == 20.0


def test_a_duration_in_milliseconds_is_noticed():
    with pytest.warns(ImplausibleValue, match="duration of a run of Bungee is 20000 s, .* ms instead of s"):
        Sampling.of(Bungee(), None, 20000.0, None)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_outputs_from_a_sample_on_are_a_part_of_all_of_them(shared):
    calls = []

    class Counted(Bungee):
        def outputs(self, t, y):
            calls.append(1)  # when a loop over samples is traced
            return super().outputs(t, y)

    def last(run):
        if shared:
            run.outputs()
        before = len(calls)
        part = run.outputs(-3)["rope_force"]
        assert (len(calls) == before) == shared
        return {"part": part, "whole": run.outputs()["rope_force"]}

    found = jaxgait.ensemble(Counted(), {"mass": [60.0]}, duration=5.0, samples=8, observe=last)
    np.testing.assert_array_equal(found.part, found.whole[:, -3:])
