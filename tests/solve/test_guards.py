"""Guards and resets that are wrong: they are noticed after a run, and right ones are not suspected."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import pytest

from jaxgait import RollingWalker, precision, simulate
from jaxgait.kinds import Transition
from jaxgait.model import parameter
from jaxgait.outcome import IncompleteRun, Outcome
from jaxgait.run import Events, Trajectory
from jaxgait.solve.guards import jump_of_guard, warn_of_guards, without_event
from tests.solve.test_event_driven import Ball, Bouncing


class Ceiling(Bouncing):
    """With a guard of the given sign for where the ball passes a height of 0.5 m, in a phase of its own or not."""

    sign: float = parameter(1.0, unit="1", doc="sign of the guard", bounds="any")
    top: float = parameter(0.5, unit="m", doc="height that is passed", bounds="any")

    def transitions(self):
        return super().transitions() | {"passed": Transition(0, 0, lambda t, y: self.sign * (y.h - self.top))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "duration", "why"),
    [
        ({"sign": -1.0}, 0.4, r"'passed' rises through zero in phase 0 \(at 0.31 s\)"),
        ({"sign": -1.0, "top": -0.1}, None, r"'passed' is negative from the start of phase 0 \(at 0 s\)"),
    ],
)
def test_a_guard_of_the_wrong_sign_is_noticed(values, duration, why):
    assert "passed" in simulate(Ceiling(), duration=0.4, samples=40).event_name  # and there is no warning
    with pytest.warns(UserWarning, match=f"guard of Ceiling may have the wrong sign: that of {why}.*opposite sign"):
        simulate(Ceiling(**values), duration=duration, samples=40)


def test_a_model_of_the_package_is_not_blamed_for_its_start():
    message = without_event(RollingWalker, "that of 'heel strike' is negative")
    assert message.startswith("RollingWalker may have started beyond an event") and "sign" not in message


@pytest.mark.filterwarnings("error")
def test_a_guard_that_is_negative_in_a_short_run_may_be_right():
    simulate(Ceiling(sign=-1.0, top=-0.1), duration=0.4, samples=40)


def test_a_run_that_is_whole_but_for_rounding_is_not_short():
    brief = type("Brief", (Ceiling,), {"duration": 0.7})()
    ts = jnp.linspace(0.0, 0.7, 8, dtype=jnp.float32)  # up to less than 0.7
    none = Events(jnp.zeros(0), jnp.zeros(0, int), None, None)
    run = Trajectory(ts, ts, jnp.array(0), ts[-1], ts[-1], jnp.array(7), jnp.array(0), events=none)
    with pytest.warns(UserWarning, match="that of 'passed' is negative from the start"):
        warn_of_guards(brief, run, {"bounce": 1.0 + ts, "ceiling": 1.0 + ts, "passed": -1.0 - ts})


def test_a_guard_that_is_negative_and_only_falls_is_noticed_in_short_runs():
    with pytest.warns(UserWarning, match="'bounce' is negative from the start of phase 0"):
        simulate(Bouncing(height=-0.1, speed=-1.0), duration=0.3, samples=20)


@pytest.mark.parametrize("speed", [-1.0, 0.0])
@pytest.mark.parametrize("samples", [40, 4000])
def test_a_start_on_the_floor_is_noticed(speed, samples):
    with pytest.warns(
        UserWarning, match="'bounce' is zero, then negative from the start of phase 0 .*start where it is"
    ):
        run = simulate(Bouncing(height=0.0, speed=speed), samples=samples)
    assert run.sizes["event"] == 0


def test_a_start_on_the_floor_is_noticed_in_a_short_run_if_the_ball_falls():
    with pytest.warns(UserWarning, match="'bounce' is zero, then negative from the start"):
        simulate(Bouncing(height=0.0, speed=-1.0), duration=0.1, samples=20)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_a_guard_that_is_zero_at_the_top_of_a_short_flight_may_be_right():
    simulate(Ceiling(sign=1.0, top=1.0, height=1.0), duration=0.05, samples=20)


class Sunk(Bouncing):
    """Ends deep below the floor."""

    def transitions(self):
        bounce = super().transitions()["bounce"]
        turn = Transition(0, 0, lambda t, y: y.v)
        return {"bounce": bounce, "turn": turn, "fell": Transition(0, 0, lambda t, y: y.h + 1.0, ends=True)}


@pytest.mark.slow
def test_a_start_below_the_floor_is_noticed_although_the_run_ends_early():
    with pytest.warns() as caught:
        simulate(Sunk(height=-0.1, speed=1.0))
    assert any("'bounce' is negative from the start of phase 0" in str(one.message) for one in caught)
    assert sum(issubclass(one.category, IncompleteRun) for one in caught) == 1 and len(caught) == 2


def test_a_start_at_the_top_of_a_jump_is_no_fault_if_the_run_ends_early():
    """The guard of the turn is zero, then negative: it would rise later."""
    ball = type("Short", (Sunk,), {"transitions": lambda self: {**Sunk.transitions(self), "bounce": NEVER}})()
    with pytest.warns(IncompleteRun, match="fell") as caught:
        simulate(ball)
    assert len(caught) == 1


NEVER = Transition(0, 0, lambda t, y: y.h + 50.0)


def bouncing(reset: Callable[[Ball], Ball]) -> Bouncing:
    """From 1 m without an initial speed, with another reset of its bounce."""
    bounce = Transition(0, 0, lambda t, y: y.h, reset=lambda t, y: reset(y))
    return type("Ours", (Bouncing,), {"transitions": lambda self: {"bounce": bounce}})(height=1.0, speed=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "reset",
    [
        lambda y: Ball(0.0 * y.h, 0.8 * y.v),
        lambda y: Ball(-0.01 + 0.0 * y.h, 0.1 * y.v),
        lambda y: Ball(-0.5 + 0.0 * y.h, 1.0),
    ],
    ids=["not turned", "below", "too slow to come back"],
)
def test_a_reset_that_lets_a_guard_sink_is_noticed(reset):
    with pytest.warns(UserWarning, match=r"reset of Ours may be wrong: that of 'bounce' at 0\.\d+ s leaves") as said:
        run = simulate(bouncing(reset), samples=40)
    assert run.sizes["event"] == 1 and run.h[-1] < -1.0 and len(said) == 1


@pytest.mark.slow
@pytest.mark.parametrize("events", ["bounce", "counted", "kicked"])
@pytest.mark.filterwarnings("error")
def test_a_guard_that_may_sink_is_not_suspected(events):
    """A guard of a phase that has ended, one that a reset does not change, and one that swings back."""
    flight, fall = lambda t, y: Ball(y.v, -10.0), lambda t, y: Ball(y.v, -20.0)
    swing = lambda t, y: Ball(y.v, -400.0 * y.h)
    kinds = {
        "bounce": ([flight, fall], Transition(0, 1, lambda t, y: y.h, reset=lambda t, y: Ball(y.h, 0.5 * y.v))),
        "counted": ([flight], Transition(0, 0, lambda t, y: y.h, reset=lambda t, y: y)),
        "kicked": ([swing], Transition(0, 0, lambda t, y: y.h, reset=lambda t, y: Ball(y.h, 1.05 * y.v))),
    }
    phases, one = kinds[events]
    ours = {"phases": lambda self: phases, "transitions": lambda self: {events: one}}
    assert simulate(type("Ours", (Bouncing,), ours)(height=1.0, speed=0.0), samples=40).h.min() < -0.9


class Jumping(Bouncing):
    """Bounces when a guard falls that jumps by 2 there: a sign, a comparison, or a height with a jump."""

    law: Any = eqx.field(default=jnp.sign)

    def transitions(self):
        bounce = super().transitions()["bounce"]
        never = bounce._replace(guard=lambda t, y: 100.0 - t)
        return {"never": never, "bounce": bounce._replace(guard=lambda t, y: self.law(y.h))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "values"),
    [
        (lambda h: jnp.sign(h) - 0.5, "from 0.5 to -1.5"),
        (lambda h: jnp.where(h > 0.0, 1.0, -1.0), "from 1 to -1"),
        (lambda h: jnp.where(h > 0.0, h, h - 1.0), "from .* to -1"),
    ],
)
def test_a_guard_that_jumps_is_named(law, values):
    text = rf"Jumping gave up, .* s into the run: the guard of 'bounce' jumps there, {values}.*: return a continuous"
    with pytest.warns(IncompleteRun, match=text) as caught:
        run = simulate(Jumping(law=law), samples=2)
    assert len(caught) == 1 and run.attrs["status"] == Outcome.EVENT_NOT_LOCATED
    assert "a guard that jumps" in run.attrs["status_text"]


def test_a_steep_guard_does_not_jump():
    with precision.use("float64"):
        y, zero, lost = Ball(jnp.asarray(1e-3), jnp.asarray(-1.0)), jnp.asarray(0), jnp.asarray(5)
        none = Events(jnp.array([jnp.nan]), jnp.array([-1]), y, y, names=("never", "bounce"))
        end = Trajectory(jnp.zeros(1), y, lost, jnp.asarray(0.0), y, zero, zero, events=none)
        steep, jumping = Jumping(law=lambda h: jnp.tanh(1e7 * h)), Jumping(law=jnp.sign)
        assert not jump_of_guard(steep, end, 0.01) and "'bounce'" in jump_of_guard(jumping, end, 0.01)


@pytest.mark.parametrize("duration", [0.05, 0.3, 2.0])
@pytest.mark.filterwarnings("error")
def test_no_shipped_guard_is_suspected(duration):
    simulate(RollingWalker(), duration=duration)


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "advice"), [(1e-9, "phase of rest"), (1e-3, "raise max_events")])
def test_events_at_one_instant_need_no_higher_limit(speed, advice):
    with pytest.warns(IncompleteRun, match=f"Ours gave up.*{advice}"):
        run = simulate(bouncing(lambda y: Ball(0.0 * y.h, speed)), samples=4, max_events=40)
    assert run.sizes["event"] == 40
