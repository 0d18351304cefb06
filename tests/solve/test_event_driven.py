"""Whole trajectories from event to event against a closed form: samples, events, extremes, statuses, derivatives."""

import warnings
from typing import Any, ClassVar, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import ensemble, simulate
from jaxgait.kinds import Transition
from jaxgait.measure import Measure
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.outcome import FIRST_TERMINATION, IncompleteRun, Outcome
from jaxgait.parameters import with_parameters
from jaxgait.run import Sampling
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.simulate import _by_value as by_value
from jaxgait.solve.smooth import integrate

EXACT = 1e-9  # the motion is a parabola: every solver is exact but for rounding, which grows with every bounce


class Ball(NamedTuple):
    h: Scalar
    v: Scalar


class Bouncing(Model):
    """Falls, bounces with restitution e; ends at a ceiling."""

    gravity: Scalar = parameter(9.8, unit="m/s^2", doc="gravity")
    e: Scalar = parameter(0.8, unit="1", doc="restitution")
    height: Scalar = parameter(1.0, unit="m", doc="height at the start")
    speed: Scalar = parameter(0.0, unit="m/s", doc="velocity at the start")

    variables: ClassVar = {"h": Variable("m", "height"), "v": Variable("m/s", "velocity")}
    numerics: ClassVar = Numerics(stiff=False)
    duration: ClassVar = 2.0

    def initial_state(self):
        return Ball(jnp.asarray(self.height), jnp.asarray(self.speed))

    def phases(self):
        return (lambda t, y: Ball(y.v, -self.gravity),)

    def transitions(self):
        return {
            "bounce": Transition(0, 0, lambda t, y: y.h, reset=lambda t, y: Ball(jnp.zeros_like(y.h), -self.e * y.v)),
            "ceiling": Transition(0, 0, lambda t, y: 1.5 - y.h, ends=True),
        }


class Loose(Bouncing):
    """Its state, rates and resets are numbers of a type; so are those of a second phase, but for one."""

    number: Any = eqx.field(default=jnp.int32, static=True)

    def initial_state(self):
        return Ball(self.number(1), self.number(0))

    def phases(self):
        return lambda t, y: Ball(y.v, self.number(-10)), lambda t, y: Ball(y.v, -10.0)

    def transitions(self):
        bounce = lambda t, y: Ball(self.number(0), -0.5 * y.v)
        return {"bounce": Transition((0, 1), 1, lambda t, y: y.h, reset=bounce)}


def closed_form(p, t):
    """Height at a time, and the times of the bounces before it."""
    g, e, h = p
    bounces, start, speed = [], jnp.sqrt(2 * h / g), jnp.sqrt(2 * g * h)
    height = h - 0.5 * g * t**2
    while start < t:
        bounces.append(start)
        speed = e * speed
        height = speed * (t - start) - 0.5 * g * (t - start) ** 2
        start = start + 2 * speed / g
    return height, bounces


P = (9.8, 0.8, 1.0)


class UntilItLands(Bouncing):
    """Runs end at the first bounce."""

    duration = property(lambda self: jnp.sqrt(2.0 * self.height / self.gravity))


@pytest.mark.slow
def test_an_event_at_the_end_of_a_run_happens_before_it():
    """But for rounding, by which the last step ends above the ground or below."""
    heights = np.linspace(0.3, 1.4, 12)
    runs = ensemble(UntilItLands(), {"height": heights}, samples=7, trajectories=["h"])
    np.testing.assert_array_equal(runs.status, Outcome.COMPLETED)
    np.testing.assert_array_equal((runs.event_kind == 0).sum("event"), 1)
    np.testing.assert_allclose(runs.v_end, 0.8 * np.sqrt(2.0 * 9.8 * heights), rtol=1e-9)


@pytest.mark.slow
def test_the_last_sample_of_a_completed_run_is_in_the_phase_after_an_event_there():
    """A reset there makes the guard of another event rise, which is no sign of a wrong one."""

    class Landing(UntilItLands):
        def phases(self):
            return (*super().phases(), lambda t, y: Ball(y.v, 0.0 * y.v))

        def transitions(self):
            landed = Transition(0, 1, lambda t, y: y.h, reset=lambda t, y: Ball(y.h, 0.0 * y.v + 1.0))
            return {"land": landed, "slow": Transition((0, 1), 0, lambda t, y: y.v - 0.5)}

    for height in (0.7, 1.0, 1.3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = simulate(Landing(height=height), samples=4, progress=False)
        assert run.v[-1] == 1.0 and run.phase.values.tolist() == [0, 0, 0, 0, 1]


def test_samples_and_events_are_those_of_the_closed_form():
    run = simulate(Bouncing(), samples=40)
    assert run.attrs["status_text"] == "completed" and run.attrs["scheme"] == "EventDriven"
    np.testing.assert_allclose(run.h, [closed_form(P, t)[0] for t in run.time.values], atol=EXACT)
    np.testing.assert_allclose(run.event_time, closed_form(P, 2.0)[1], atol=EXACT)
    assert set(run.event_name.values) == {"bounce"} and run.event_time.attrs["units"] == "s"
    np.testing.assert_allclose(run.v_after, -0.8 * run.v_before, atol=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("number", [int, jnp.int32, jnp.float32])
@pytest.mark.filterwarnings("ignore:.*float32:UserWarning")
def test_numbers_of_any_type_are_computed_in_the_precision_of_the_run(number):
    exact = closed_form((10.0, 0.5, 1.0), 1.0)
    measured = Measure("speed", lambda run: run.extremes("v").largest, "m/s", "speed", watch=("v",))
    run = simulate(Loose(number=number), duration=1.0, samples=4, observe=[measured])
    assert run.h.dtype == run.v_before.dtype == np.float64
    np.testing.assert_allclose([run.h[-1], run.event_time[0]], [exact[0], exact[1][0]], atol=EXACT)
    np.testing.assert_allclose(run.speed, 0.5 * np.sqrt(20.0), atol=EXACT)  # m/s, after the bounce
    assert hybrid(Loose(number=number), events=2, t_end=1.0).after.v.dtype == np.float64


@pytest.mark.slow
def test_sampling_changes_nothing():
    few, many = (simulate(Bouncing(), samples=n) for n in (2, 500))  # two: several bounces between samples
    np.testing.assert_allclose(few.event_time, many.event_time, atol=EXACT)
    np.testing.assert_allclose(few.h[-1], many.h[-1], atol=EXACT)


def test_a_transition_that_ends_is_a_status_and_the_last_event():
    with pytest.warns(IncompleteRun, match="ended early: ceiling"):
        run = simulate(Bouncing(speed=4.0), samples=40)
    assert run.attrs["status"] == FIRST_TERMINATION and run.event_name.values[-1] == "ceiling"
    assert float(run.h_before[-1]) == pytest.approx(1.5, abs=EXACT) and np.isnan(run.h[-1])


def test_only_smooth_models_are_integrated():
    with pytest.raises(
        TypeError, match=r"but Bouncing has no vector_field\(t, y\): .*; simulate\(model, \.\.\.\) runs it"
    ):
        integrate(Bouncing(), jnp.array([0.0, 1.0]))


def test_too_many_events_are_a_status():
    with pytest.warns(IncompleteRun, match="raise max_events"):
        run = simulate(Bouncing(), max_events=2)
    assert run.attrs["status"] == Outcome.EVENT_LIMIT and run.sizes["event"] == 2
    count = len(closed_form(P, 2.0)[1])
    assert simulate(Bouncing(), max_events=count).attrs["status"] == Outcome.COMPLETED  # as many as there are


def test_an_end_that_is_not_recorded_is_a_status():
    with pytest.warns(IncompleteRun, match="raise max_events"):
        run = simulate(Bouncing(e=1.4), max_events=1)  # the bounce leads to the ceiling
    assert list(run.event_name.values) == ["bounce"]


@pytest.mark.slow
@pytest.mark.parametrize("steps", [3, 46], ids=["in_flight", "at_a_bounce"])
def test_a_run_that_fails_ends_where_it_failed(steps):
    """Its last state used to be one that the first transition's reset had changed."""
    model = Bouncing()
    scheme, sampling = scheme_for(model, max_steps=steps), Sampling.of(model, None, 2.0, 2)
    run = jax.jit(lambda model: scheme.run(model, sampling))(model)
    assert run.status == Outcome.MAX_STEPS
    np.testing.assert_allclose(run.y_end.v, -9.8 * run.t_end, rtol=EXACT)
    np.testing.assert_allclose(run.y_end.h, 1.0 - 4.9 * run.t_end**2, atol=EXACT)


HIGHEST = Measure("lowest", lambda run: run.extremes("h").least, "m", "lowest point", watch=("h",))


def test_members_end_each_in_its_own_way_and_extremes_are_over_all_steps():
    members = {"speed": [0.0, 4.0, 1.0]}
    found = ensemble(Bouncing(), members, samples=5, observe=[HIGHEST])
    np.testing.assert_array_equal(found.status, [0, FIRST_TERMINATION, 0])
    np.testing.assert_allclose(found.lowest, [0.0, np.nan, 0.0], atol=EXACT)


def test_ensembles_keep_events_with_their_trajectories():
    found = ensemble(Bouncing(), {"height": [1.0, 0.5]}, samples=5, trajectories=True, max_events=20)
    for i, height in enumerate((1.0, 0.5)):
        expected = closed_form((9.8, 0.8, height), 2.0)[1]
        np.testing.assert_allclose(found.event_time[i, : len(expected)], expected, atol=EXACT)
    assert found.event_kind.attrs["legend"] == '{"0": "bounce", "1": "ceiling"}'


def _height_at(mode):
    model, time = Bouncing(), 1.7
    sampling = Sampling.of(model, None, time, 3)
    scheme = scheme_for(model, max_steps=256, max_events=8).in_mode(mode)

    def height(p):
        values = dict(zip(("gravity", "e", "height"), p, strict=True))
        trajectory = scheme.run(with_parameters(model, values), sampling)
        assert trajectory.events is not None
        return jnp.stack([*trajectory.ys.h[1:], trajectory.events.t[1]])

    return height


@pytest.mark.slow
def test_derivatives_of_samples_and_event_times_go_both_ways():
    p = jnp.array(P)

    def exact(p):
        return jnp.stack([closed_form(p, 1.7 / 3 * i)[0] for i in (1, 2, 3)] + [closed_form(p, 1.7)[1][1]])

    expected = jax.jacfwd(exact)(p)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(_height_at("forward")))(p), expected, atol=1e-7)
    np.testing.assert_allclose(jax.jit(jax.jacrev(_height_at("reverse")))(p), expected, atol=1e-7)


class Sinking(Bouncing):
    """Also ends by a condition that is no transition."""

    def terminations(self):
        return {"deep": lambda t, y: y.h < -1.0}


def test_terminations_that_are_not_transitions_raise():
    """They were ignored, and the status had the name of another one."""
    with pytest.raises(ValueError, match=r"its transitions with ends=True, \['ceiling'\], not at .* \['deep'\]"):
        simulate(Sinking(), samples=2)


@pytest.mark.slow
def test_what_is_measured_until_an_early_end_has_a_gradient():
    """The ball thrown up reaches the ceiling, half a metre above its start, while it rises."""
    reached = Measure("reached", lambda run: run.trajectory.t_end, "s", "time at the ceiling", early=True)
    thrown = ensemble(Bouncing(), {"speed": [4.0, 5.0, 6.0]}, observe=[reached], gradient=["speed"], samples=2)
    at_ceiling = np.sqrt(thrown.speed**2 - 9.8)
    np.testing.assert_array_equal(thrown.status, FIRST_TERMINATION)
    np.testing.assert_allclose(thrown.reached, (thrown.speed - at_ceiling) / 9.8, rtol=1e-9)
    slope = (1.0 - thrown.speed / at_ceiling) / 9.8
    np.testing.assert_allclose(thrown.reached_gradient.sel(parameter="speed"), slope, rtol=1e-9)


class Hopping(Bouncing):
    """Lands on a spring instead of a hard floor."""

    def phases(self):
        return self.fly, self.push

    def fly(self, t, y):
        return Ball(y.v, -self.gravity)

    def push(self, t, y):
        return Ball(y.v, -self.gravity - 1e3 * y.h)

    def transitions(self):
        return {
            "lands": Transition(0, 1, lambda t, y: y.h),
            "leaves": Transition(1, 0, lambda t, y: -y.h),
            "ceiling": Transition((0, 1), 0, lambda t, y: 1.5 - y.h, ends=True),
        }


@pytest.mark.slow
def test_samples_know_their_phase():
    run = simulate(Hopping(), samples=400)
    np.testing.assert_array_equal(run.phase, run.h < 0.0)
    assert run.sizes["event"] > 3 and run.phase.dtype.kind == "i"
    with pytest.warns(IncompleteRun, match="ceiling"):
        ended = simulate(Hopping(speed=4.0), samples=40)
    np.testing.assert_array_equal(ended.phase, np.where(np.isnan(ended.h), -1, 0))
    assert "phase" not in simulate(Bouncing())
    deep = run.isel(time=int(np.argmax(run.phase.values)))
    with pytest.raises(ValueError, match="is a sample in phase 1, and runs start in phase 0"):
        simulate(Hopping(), initial_state=deep)


@pytest.mark.parametrize("kind", [Hopping, pytest.param(Bouncing, marks=pytest.mark.slow)])
def test_the_phase_of_each_sample_is_not_replaced(kind):
    named = {**Bouncing.variables, "phase": Variable("m", "height")}
    mine = {"outputs": lambda self, t, y: {"phase": 2.0 + y.h}, "variables": named}  # an output or a dimension
    feet = {"outputs": lambda self, t, y: {"z": y.h * jnp.ones(2)}}
    feet |= {"variables": {**Bouncing.variables, "z": Variable("m", "heights", ("phase",))}}
    for what, body in (("a component of the state or an output", mine), ("a dimension of 'z'", feet)):
        model = type("Named", (kind,), body)()
        if kind is Hopping:
            with pytest.raises(ValueError, match=f"Named must not use the name 'phase' for {what}: it is that of"):
                simulate(model, samples=4)
        else:  # has a single phase, of which there is no variable
            run = simulate(model, duration=0.1, samples=4)
            assert simulate(model, duration=0.1, samples=4, initial_state=run.isel(time=-1)).attrs["status"] == 0


class Timed(NamedTuple):
    due: Scalar
    tick: Scalar


class Alternating(Model):
    """Changes its phase every half a second; a clock that ticks every fifth of a second leaves it as it is."""

    variables: ClassVar = {"due": Variable("s", "time of the change"), "tick": Variable("s", "time of the tick")}
    numerics: ClassVar = Numerics(stiff=False)
    duration: ClassVar = 2.0

    def initial_state(self):
        return Timed(jnp.asarray(0.5), jnp.asarray(0.2))

    def phases(self):
        return (lambda t, y: jax.tree.map(jnp.zeros_like, y),) * 2

    def transitions(self):
        later = lambda t, y: y._replace(due=y.due + 0.5)
        return {
            "tick": Transition((0, 1), None, lambda t, y: y.tick - t, lambda t, y: y._replace(tick=y.tick + 0.2)),
            "on": Transition(0, 1, lambda t, y: y.due - t, later),
            "off": Transition(1, 0, lambda t, y: y.due - t, later),
        }


@pytest.mark.slow
def test_a_sample_at_an_event_has_the_phase_before_and_clocks_change_none():
    run = simulate(Alternating(), samples=20)  # every tenth of a second
    changes = np.array([0.5, 1.0, 1.5]) + 1e-6
    changes = np.append(changes, 2.0 - 1e-6)  # what continues the run begins in the phase after the event at its end
    np.testing.assert_array_equal(run.phase, np.searchsorted(changes, run.time) % 2)
    np.testing.assert_allclose(run.due[run.time < 0.55], 0.5)


class Armed(Bouncing):
    """The ceiling counts only on the way down."""

    def transitions(self):
        found = super().transitions()
        return found | {"ceiling": found["ceiling"]._replace(armed=lambda t, y: y.v < 0.0)}


@pytest.mark.slow
def test_a_run_that_starts_beyond_its_end_is_over_there():
    with pytest.warns(IncompleteRun, match=r"ended early: ceiling, 0 s into the run: the guard of that is negative"):
        run = simulate(Bouncing(height=1.6), samples=40)
    assert float(run.h[0]) == 1.6 and np.isnan(run.h[1:]).all() and run.sizes["event"] == 0
    scan = ensemble(Bouncing(), {"height": [1.0, 1.6]}, duration=2.0)
    assert scan.status.values.tolist() == [Outcome.COMPLETED, FIRST_TERMINATION]
    found = hybrid(Bouncing(height=1.6), events=2, t_end=2.0)
    assert int(found.status) == FIRST_TERMINATION and int(found.count) == 0 and float(found.t_end) == 0.0
    slope = jax.grad(
        lambda h: (
            EventDriven.of(Bouncing())
            .in_mode("reverse")
            .run(with_parameters(Bouncing(), {"height": h}), Sampling.of(Bouncing(), None, 2.0, 4))
            .y_end.h
        )
    )
    assert float(slope(1.6)) == 1.0  # of the state at the start


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_an_end_that_is_not_armed_or_zero_at_the_start_ends_no_run():
    assert int(hybrid(Armed(height=1.6, speed=1.0), events=1, t_end=0.05).status) == Outcome.COMPLETED
    simulate(Bouncing(height=1.5, speed=0.0), samples=40)


class Wire(Bouncing):
    """Touches a wire just below the top of its flight: the guard is negative for 4 ms."""

    def transitions(self):
        return {"wire": Transition(0, None, lambda t, y: 1.0 + self.speed**2 / 19.6 - 2e-5 - y.h, ends=True)}


@pytest.mark.slow
@pytest.mark.parametrize("samples", [2, 40, 401])
def test_the_longest_step_holds_however_dense_the_samples_are(samples):
    ball = Wire(height=1.0, speed=2.0)
    top, half = 2.0 / 9.8, np.sqrt(2 * 2e-5 / 9.8)
    with pytest.warns(IncompleteRun, match="wire"):
        run = simulate(ball, duration=0.4, samples=samples, max_step=1e-3)
    assert run.attrs["t_end_s"] == pytest.approx(top - half, abs=1e-9)
    many = simulate(Bouncing(height=1.0, speed=2.0), duration=0.4, samples=samples, max_step=1e-3)
    assert many.attrs["steps"] >= 400


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_longest_step_of_a_controller_holds_from_the_first_step_on(wrapped):
    control: Any = diffrax.PIDController(rtol=1e-8, atol=1e-8, dtmax=2e-3)
    if wrapped:
        control = diffrax.ClipStepSizeController(control, jump_ts=jnp.array([0.1]))
    scheme = EventDriven.of(Bouncing(), controller=control)
    assert float(scheme.first_step) == pytest.approx(2e-3)


def test_one_program_serves_all_longest_steps():
    compiled = set(by_value)
    steps = [simulate(Bouncing(), duration=0.4, samples=9, max_step=x).attrs["steps"] for x in (2e-3, 1e-3)]
    assert steps[0] < 250 < steps[1]
    assert by_value == compiled
