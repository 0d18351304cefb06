"""Hybrid solves against closed forms: a bouncing ball (one phase) and a ball on a spring floor (two phases)."""

from functools import partial
from typing import ClassVar, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ellipk, ellipkinc

from jaxgait.kinds import Transition
from jaxgait.model import Model, Numerics, Scalar, Variable, derived, parameter
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.run import Sampling
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.samples import SampleRecorder
from jaxgait.solve.segments import Engine

EXACT = 1e-12  # the motion is a parabola: every solver is exact but for rounding
SOME = 200
"""Events of the runs that share a program."""


@partial(jax.jit, static_argnames=("events", "scheme"))
def run(model, t_end, y0=None, *, events=SOME, scheme=None):
    """One program for each class of model, number of events and scheme; all numbers are its arguments."""
    return hybrid(model, events=events, t_end=t_end, y0=y0, scheme=scheme)


class Ball(NamedTuple):
    h: Scalar
    v: Scalar


class Bouncing(eqx.Module):
    """Falls, bounces with restitution e; ends above a ceiling; its gravity turns to NaN at `poison`."""

    gravity: Scalar = 9.8
    e: Scalar = 0.8
    height: Scalar = 1.0
    ceiling: Scalar = 10.0
    poison: Scalar = 1e9

    def initial_state(self):
        return Ball(self.height, 0.0)

    def phases(self):
        return (lambda t, y: Ball(y.v, jnp.where(t < self.poison, -self.gravity, jnp.nan)),)

    def transitions(self):
        return {
            "bounce": Transition(0, 0, lambda t, y: y.h, reset=lambda t, y: Ball(-y.h, -self.e * y.v)),
            "ceiling": Transition(0, 0, lambda t, y: self.ceiling - y.h, ends=True),
        }


@pytest.fixture(scope="module")
def bounced():
    """Events and end of a bouncing ball and their derivatives with respect to (gravity, e, height)."""

    def summary(p, t_end):
        solution = hybrid(Bouncing(*p), events=4, t_end=t_end)
        return jnp.concatenate([solution.ts, jnp.stack([solution.y_end.h, solution.y_end.v])]), solution

    @jax.jit
    def derived(p, t_end):
        jacobian, solution = jax.jacfwd(summary, has_aux=True)(p, t_end)
        return solution, jacobian

    return derived, jnp.array([9.8, 0.8, 1.0])


def closed_form(p):
    g, e, h = p
    first = jnp.sqrt(2 * h / g)
    ts = [first, first * (1 + 2 * e), first * (1 + 2 * e + 2 * e**2), first * (1 + 2 * e + 2 * e**2 + 2 * e**3)]
    return jnp.stack([*ts, jnp.zeros(()), e**4 * g * first])


def test_times_states_and_saltation_are_exact(bounced):
    derived, p = bounced
    solution, jacobian = derived(p, 2.4)
    exact = closed_form(p)
    np.testing.assert_allclose([*solution.ts, solution.y_end.h, solution.y_end.v], exact, atol=1e-10)
    assert int(solution.status) == Outcome.EVENT_LIMIT
    np.testing.assert_allclose(jacobian, jax.jacfwd(closed_form)(p), atol=1e-8)


@pytest.mark.slow
def test_reverse_mode_agrees(bounced):
    """Through the search of each event with checkpoints, and through its location."""
    derived, p = bounced
    _, jacobian = derived(p, 2.4)
    with pytest.raises(ValueError, match="checkpointed"):
        EventDriven(mode="reverse")
    settings = EventDriven(diffrax.Dopri8(scan_kind="checkpointed"), mode="reverse", max_steps=256)

    def backward(events, observed):
        return jax.jit(jax.grad(lambda p: observed(hybrid(Bouncing(*p), events=events, t_end=2.4, scheme=settings))))

    found = backward(4, lambda run: run.ts[-1] + run.y_end.v)(p)
    np.testing.assert_allclose(found, jacobian[3] + jacobian[5], atol=1e-8)
    early = backward(7, lambda run: run.ts[3])(p)  # segments that are not needed any more take no part
    np.testing.assert_allclose(early, jacobian[3], atol=1e-8)


def test_the_end_time_is_an_event(bounced):
    derived, p = bounced
    solution, _ = derived(p, 1.0)
    assert int(solution.status) == Outcome.COMPLETED and int(solution.count) == 1
    assert float(solution.t_end) == pytest.approx(1.0, abs=EXACT)
    assert np.isnan(solution.ts[-1]) and int(solution.transitions[-1]) == -1


def test_statuses():
    up = run(Bouncing(ceiling=0.5, height=0.4), 5.0, Ball(0.4, 5.0))
    assert int(up.status) == FIRST_TERMINATION
    assert float(up.y_end.h) == pytest.approx(0.5, abs=EXACT)
    lost = run(Bouncing(poison=0.2), 5.0, Ball(1.0, 0.0))
    assert int(lost.status) == Outcome.STEP_UNDERFLOW and 0.199 < lost.t_end <= 0.2
    constant = EventDriven(max_steps=30)  # of 10 ms: enough to meet the NaN, too few to meet the floor
    assert int(run(Bouncing(poison=0.2), 5.0, scheme=constant).status) == Outcome.NONFINITE
    assert int(run(Bouncing(), 5.0, scheme=constant).status) == Outcome.MAX_STEPS


def test_a_ball_that_comes_to_rest_does_not_fall_through_the_floor():
    settled = run(Bouncing(e=0.8), 9.0, Ball(1.0, 0.0))
    rest = jnp.sqrt(2 / 9.8) * 1.8 / 0.2  # s: the limit of its bounces, v + 2 e v + 2 e^2 v + ...
    assert int(settled.status) == Outcome.EVENTS_CROWDED
    assert float(settled.t_end) == pytest.approx(float(rest), abs=1e-6)
    assert (settled.after.v[: int(settled.count)] > 0.0).all()


def test_a_start_that_is_nan_is_a_status():
    """Its status was that of the step limit."""
    lost = run(Bouncing(), 2.0, Ball(jnp.nan, 0.0))
    assert int(lost.status) == Outcome.NONFINITE and int(lost.count) == 0


@pytest.mark.parametrize("t_end", [0.0, -1.0])
def test_an_end_before_the_start_is_a_status(t_end):
    """It was passed, and the motion went on to the limit of events."""
    lost = run(Bouncing(), t_end, Ball(1.0, 0.0))
    assert int(lost.status) == Outcome.NONFINITE and int(lost.count) == 0 and float(lost.t_end) == 0.0


class Trampoline(Bouncing):
    """Phase 0: free flight; phase 1: on a massless spring, until it lets go."""

    k: Scalar = 400.0

    def phases(self):
        return (lambda t, y: Ball(y.v, -self.gravity), lambda t, y: Ball(y.v, -self.gravity - self.k * y.h))

    def transitions(self):
        return {
            "land": Transition(0, 1, lambda t, y: y.h),
            "leave": Transition(1, 0, lambda t, y: -y.h, armed=lambda t, y: y.v > 0),
        }


def test_two_phases_conserve_energy_and_take_the_time_of_a_half_swing():
    ts = jnp.linspace(0.0, 2.5, 129)  # through four events

    @jax.jit
    def found(model):
        return Engine(model, ts[-1], EventDriven(), SampleRecorder(model, ts, (), "forward")).trajectory(
            model.initial_state()
        )

    run = found(Trampoline())
    ys, events = run.ys, run.events
    np.testing.assert_array_equal(events.kind[:5], [0, 1, 0, 1, -1])
    energy = 9.8 * ys.h + 0.5 * ys.v**2 + jnp.where(ys.h < 0, 200.0 * ys.h**2, 0.0)
    np.testing.assert_allclose(energy, 9.8, rtol=1e-9)
    assert float(events.t[1] - events.t[0]) == pytest.approx(STAY, rel=1e-9)


OMEGA, SPEED = np.sqrt(400.0), np.sqrt(2 * 9.8)
STAY = 2 * (np.pi - np.arctan(OMEGA * SPEED / 9.8)) / OMEGA
"""Seconds of a ball, dropped from 1 m, on the spring."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("allowed", "status", "count"),
    [(4, Outcome.COMPLETED, 2), (3, Outcome.EVENT_LIMIT, 2), (2, Outcome.EVENT_LIMIT, 1)],
)
def test_a_run_with_as_many_events_as_are_allowed_completes(allowed, status, count):
    """Of four events within 2.5 s the landings are counted, the first and the third; none beyond the limit."""
    scheme = EventDriven(max_events=allowed)
    found = hybrid(Trampoline(), events=2 if allowed < 4 else 5, t_end=2.5, counted=["land"], scheme=scheme)
    assert int(found.status) == status and int(found.count) == count == int(jnp.isfinite(found.ts).sum())
    assert status != Outcome.COMPLETED or float(found.t_end) == pytest.approx(2.5)


def test_adaptive_steps_locate_the_same_events():
    settings = EventDriven(diffrax.Tsit5(scan_kind="lax"), diffrax.PIDController(1e-10, 1e-10))
    solution = run(Trampoline(), 10.0, events=2, scheme=settings)
    assert float(solution.ts[1] - solution.ts[0]) == pytest.approx(STAY, rel=1e-8)


class Swinging(eqx.Module):
    """A pendulum whose phases and guards are bound methods, as a user writes them; two phases of the same motion."""

    gravity: Scalar = 9.8
    mark: Scalar = 0.5

    def initial_state(self):
        return Ball(1.0, 0.0)

    def swing(self, t, y):
        return Ball(y.v, -self.gravity * jnp.sin(y.h))

    def back(self, t, y):
        return self.swing(t, y)

    def phases(self):
        return self.swing, self.back

    def passing(self, t, y):
        return y.h**3 - self.mark

    def bottom(self, t, y):
        return y.h

    def transitions(self):
        return {"passing": Transition(0, 0, self.passing), "bottom": Transition(0, 1, self.bottom)}


@partial(jax.jit, static_argnames=("events",))
def many(members, events):
    """One run of 1 s for each member, in one compilation."""
    return jax.vmap(lambda model: hybrid(model, t_end=1.0, events=events))(members)


def members(kind, **values):
    return jax.vmap(lambda values: kind(**values))(values)


MARKS = jnp.linspace(0.01, 0.9, 50)


@pytest.mark.slow
def test_phases_may_be_bound_methods_under_jit():
    """They hash their object, whose leaves are traced. A pendulum's times are elliptic integrals."""
    runs = many(members(Swinging, mark=MARKS), events=3)
    np.testing.assert_array_equal(runs.transitions, [[0, 1, -1]] * 50)
    k = np.sin(0.5)  # released from 1 rad
    passed = ellipk(k**2) - ellipkinc(np.arcsin(np.sin(np.cbrt(MARKS) / 2) / k), k**2)
    np.testing.assert_allclose(runs.ts[:, 0], passed / np.sqrt(9.8), rtol=1e-8)
    np.testing.assert_allclose(runs.ts[:, 1], ellipk(k**2) / np.sqrt(9.8), rtol=1e-8)
    assert (runs.status == Outcome.COMPLETED).all() and (runs.phase == 1).all()


class Twice(Swinging):
    """Two guards of other scales that fall through zero together, where the lower one has a kink."""

    scale: Scalar = 30.0

    def transitions(self):
        return {
            "one": Transition(0, 0, self.passing),
            "other": Transition(0, 0, lambda t, y: self.scale * (y.h - jnp.cbrt(self.mark))),
        }


class Unmoved(Swinging):
    """A reset that leaves the state on the guard, and a phase that has the same guard."""

    def transitions(self):
        same = lambda t, y: Ball(1.0 * y.h, 1.0 * y.v)
        return {"passing": Transition(0, 1, self.passing, reset=same), "again": Transition(1, 0, self.passing)}


@pytest.mark.slow
@pytest.mark.parametrize(("model", "fired"), [(Twice, [0, 1]), (Unmoved, [0])])
def test_a_transition_fires_once_at_an_instant(model, fired):
    """Whatever side of zero rounding puts its guard on; one that falls through zero with it is not lost."""
    others = {"scale": jnp.full(50, 30.0, dtype=float)} if model is Twice else {}
    runs = jax.tree.map(np.asarray, many(members(model, mark=MARKS, **others), events=4))
    np.testing.assert_array_equal(np.sort(runs.transitions, axis=1)[:, ::-1][:, : len(fired)], [fired[::-1]] * 50)
    np.testing.assert_array_equal(runs.count, len(fired))
    np.testing.assert_allclose(runs.ts[:, : len(fired)], runs.ts[:, :1] * np.ones(len(fired)), atol=1e-9)
    assert (runs.status == Outcome.COMPLETED).all()


def test_guards_that_fall_together_may_differ_in_scale():
    runs = many(members(Twice, mark=jnp.full(50, 0.3, dtype=float), scale=jnp.logspace(-6, 9, 50)), events=4)
    assert (runs.count == 2).all() and (runs.status == Outcome.COMPLETED).all()


class Free(Swinging):
    def transitions(self):
        return {"passing": Transition(0, 0, self.passing)}


def test_a_transition_without_a_reset_fires_again_when_its_guard_has_been_positive():
    """A swing passes the mark downward once in a period, 2.16 s from this height."""
    ts = run(Free(mark=0.3), 6.0).ts
    gaps = np.diff(ts[np.isfinite(ts)])
    assert len(gaps) == 2 and np.ptp(gaps) < 1e-9 and 2.1 < gaps[0] < 2.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"events": 0}, "events must be a whole number, at least 1, got 0"),
        ({"t_end": 0.0}, "t_end must be later than t0 = 0 s, got 0 s"),
        ({"t_end": 1.0, "t0": 2.0}, "t_end must be later than t0 = 2 s, got 1 s"),
        ({"t_end": np.nan}, "t_end must be one number in s, finite, got nan"),
        ({"y0": Ball(np.nan, 0.0)}, r"y0\.h must be finite, got nan"),
        ({"y0": (1.0, 0.0)}, r"y0 must be a Ball"),
        ({"phase": 2}, "phase must be one of the model's 2, 0 to 1, got 2"),
        ({"phase": -1}, "phase must be a whole number, at least 0, got -1"),
    ],
    ids=str,
)
def test_impossible_runs_raise(change, message):
    with pytest.raises(ValueError, match=message):
        hybrid(Trampoline(), **({"events": 2, "t_end": 1.0} | change))


class Astray(Trampoline):
    def transitions(self):
        return {"land": Transition(0, 2, lambda t, y: y.h)}


def test_transitions_lead_to_phases_that_exist():
    with pytest.raises(ValueError, match="the target of the transition 'land' must be one of the model's 2 phases"):
        hybrid(Astray(), events=1, t_end=1.0)


class Drifting(Bouncing):
    """Its speed settles to 1 m/s at a rate; the event is at 1 m, at 1 + 1/rate seconds."""

    rate: Scalar = 1e3
    numerics: ClassVar[Numerics] = Numerics(stiff=True, rtol=1e-8, atol=1e-10, first_step=1e-4)

    def initial_state(self):
        return Ball(0.0, 0.0)

    def phases(self):
        return (lambda t, y: Ball(y.v, self.rate * (1.0 - y.v)),)

    def transitions(self):
        return {"arrived": Transition(0, 0, lambda t, y: 1.0 - y.h, ends=True)}


def test_a_stiff_phase_has_exact_derivatives_by_default():
    """Explicit steps of constant length gave NaN here."""
    arrival = lambda rate: hybrid(Drifting(rate=rate), events=1, t_end=3.0).ts[0]
    t, slope = jax.jit(lambda rate: jax.jvp(arrival, (rate,), (1.0,)))(1e3)
    assert t == pytest.approx(1.0 + 1e-3, rel=1e-9)
    assert slope == pytest.approx(-1e-6, rel=1e-6)
    assert EventDriven.of(Drifting(), dt=1e-3).dt == 1e-3


class Humming(Bouncing):
    """Swings 300 rad in a second."""

    rate: Scalar = 300.0

    def phases(self):
        return (lambda t, y: Ball(y.v, -(self.rate**2) * y.h),)

    def transitions(self):
        return {"ceiling": super().transitions()["ceiling"]}


def test_a_fast_phase_is_as_accurate_as_the_tolerances_by_default():
    """With constant steps of 10 ms the amplitude was 2.7, without a word."""
    assert float(run(Humming(), 1.0).y_end.h) == pytest.approx(np.cos(300.0), abs=1e-4)


@pytest.mark.parametrize("rtol", [1e-5, 1e-11])
def test_errors_follow_the_tolerances(rtol):
    scheme = EventDriven.of(Humming(), rtol=rtol, atol=rtol)
    end = run(Humming(), 1.0, scheme=scheme).y_end.h
    assert float(end) == pytest.approx(np.cos(300.0), abs=100.0 * rtol) and scheme.control.dtmax == 0.01


def test_steps_resolve_events_with_any_controller():
    """With a controller without `dtmax`, steps of a ball in free flight became so long that it missed its bounces."""
    own = diffrax.PIDController(1e-8, 1e-8)
    assert EventDriven.of(Bouncing(), controller=own).control.dtmax == 0.01
    assert EventDriven.of(Bouncing(), controller=own, max_step=0.1).control.dtmax == 0.1
    assert EventDriven.of(Bouncing(), controller=diffrax.PIDController(1e-8, 1e-8, dtmax=0.3)).control.dtmax == 0.3
    assert EventDriven.of(Bouncing(), controller=diffrax.ClipStepSizeController(own)).control.controller.dtmax == 0.01
    assert EventDriven.of(Bouncing(), max_step=1e-3).control.dtmax == 1e-3
    assert EventDriven.of(Drifting()).control.dtmax == 0.01, "a stiff model without a longest step"
    assert isinstance(EventDriven.of(Bouncing(), dt=1e-3).control, diffrax.ConstantStepSize)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rtol": 1e-6}, "rtol and atol belong together"),
        ({"rtol": 1e-6, "atol": 1e-6, "controller": diffrax.ConstantStepSize()}, "are those of the controller"),
        ({"rtol": 1e-6, "atol": 1e-6, "solver": diffrax.Euler()}, "need a solver that estimates its error"),
        ({"max_step": 0.1}, "limits adaptive steps"),
        ({"rtol": -1e-6, "atol": 1e-6}, "rtol must be"),
    ],
)
def test_impossible_steps_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        EventDriven(**options)


class Rooted(Bouncing):
    """The guard of its bounce is NaN below the floor."""

    def transitions(self):
        return {"bounce": super().transitions()["bounce"]._replace(guard=lambda t, y: jnp.sqrt(y.h))}


class Limited(Bouncing):
    """Bounces up to a speed that the ball has just after it reaches the floor, within the same step."""

    limit: Scalar = 4.45

    def transitions(self):
        return {"bounce": super().transitions()["bounce"]._replace(armed=lambda t, y: y.v > -self.limit)}


def test_an_event_is_armed_where_its_guard_falls():
    """It was judged at the end of the step: the ball fell through the floor, or bounced from it too fast."""
    bounced, through = (run(Limited(limit=x), 1.0) for x in (4.45, 4.42))
    assert int(bounced.count) == 1 and float(bounced.ts[0]) == pytest.approx(np.sqrt(2.0 / 9.8), abs=EXACT)
    assert int(through.count) == 0 and int(through.status) == Outcome.COMPLETED
    np.testing.assert_allclose(through.y_end.h, 1.0 - 4.9, atol=EXACT)


def test_a_guard_that_becomes_nan_is_a_status():
    """The ball fell through the floor, without a word."""
    assert int(run(Rooted(), 2.0).status) == Outcome.NONFINITE


class StiffBall(Model):
    """The bouncing ball, dropped from 1 m, by the solver of stiff models."""

    gravity: Scalar = parameter(9.8, unit="m/s^2", doc="gravity", bounds="positive")
    variables: ClassVar = {"h": Variable("m", "height"), "v": Variable("m/s", "velocity")}
    numerics: ClassVar = Numerics(stiff=True)
    duration: ClassVar = 1.0

    def initial_state(self):
        return Ball(1.0, 0.0)

    def phases(self):
        return (lambda t, y: Ball(y.v, -self.gravity),)

    def transitions(self):
        return {"bounce": Transition(0, 0, lambda t, y: y.h, reset=lambda t, y: Ball(-y.h, -0.8 * y.v))}


@pytest.mark.slow
def test_members_that_end_before_others_keep_their_derivatives_in_reverse_mode():
    """A stiff solver's step of length 0 would be NaN, and so would be every derivative that passes it."""
    scheme = EventDriven.of(StiffBall(), differentiated=True, mode="reverse", max_steps=128)

    def end(gravity):
        return scheme.run(StiffBall(gravity=gravity), Sampling(None, 4, 1.0)).y_end.h

    gravity = jnp.array([1.5, 9.8])  # without and with a bounce, which takes another iteration
    slopes = jax.jit(jax.vmap(jax.grad(end)))(gravity)
    late = lambda g: 0.8 * jnp.sqrt(2 * g) * (1.0 - jnp.sqrt(2 / g)) - 0.5 * g * (1.0 - jnp.sqrt(2 / g)) ** 2
    np.testing.assert_allclose(slopes, [-0.5, float(jax.grad(late)(9.8))], rtol=1e-5)


@pytest.mark.slow
def test_a_stiff_run_that_fails_keeps_its_last_state():
    scheme = EventDriven.of(StiffBall(), max_steps=3)
    found = jax.jit(lambda model: scheme.run(model, Sampling(None, 4, 1.0)))(StiffBall())
    assert int(found.status) == Outcome.MAX_STEPS and np.isfinite(float(found.y_end.h))


class Prepared(Model):
    """A ball whose acceleration is derived before a run."""

    weight: float = parameter(19.6, unit="N", doc="weight", bounds="positive")
    variables: ClassVar = {"h": Variable("m", "height"), "v": Variable("m/s", "velocity")}
    duration: ClassVar = 0.4

    def initial_state(self):
        return Ball(1.0, 0.0)

    @derived
    def gravity(self):
        return self.weight / 2.0

    def phases(self):
        known = vars(self).get("__derived_values__", {})
        assert "gravity" in known, "the model itself is not integrated"
        return (lambda t, y: Ball(y.v, -self.gravity()),)

    def transitions(self):
        return {"bounce": Transition(0, 0, lambda t, y: y.h, reset=lambda t, y: Ball(-y.h, -y.v))}


def test_event_driven_runs_are_those_of_the_prepared_model():
    found = jax.jit(lambda model: EventDriven.of(model).run(model, Sampling(None, 4, 0.4)))(Prepared())
    assert float(found.y_end.h) == pytest.approx(1.0 - 0.5 * 9.8 * 0.16, abs=EXACT)
