"""Guards that an event stops or turns at zero: they rise, rest there, or end the run; those that pass zero do not."""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.kinds import Transition
from jaxgait.model import Scalar
from jaxgait.outcome import Outcome
from jaxgait.precision import use
from jaxgait.solve.hybrid import hybrid

GRAVITY = 9.81
LANDING = float(np.sqrt(2.0 / GRAVITY))  # s, from 1 m


class Motion(NamedTuple):
    z: Scalar
    v: Scalar


class Body(eqx.Module):
    """Falls from 1 m, and moves on with a share of its speed, as phase 1, in which something may carry it."""

    share: Scalar = 0.0
    carried: Scalar = 0.0
    """Share of its weight, in phase 1."""
    residue: Scalar = 0.0
    """Share of its distance from the ground (a rounding error) that stays."""
    height: Scalar = 0.0
    """Height in m of the event."""

    def initial_state(self):
        return Motion(1.0, 0.0)

    def phases(self):
        return [lambda t, y: Motion(y.v, -GRAVITY), lambda t, y: Motion(y.v, (self.carried - 1.0) * GRAVITY)]

    def transitions(self):
        landed = lambda t, y: Motion(self.residue * y.z + (1.0 - self.residue) * self.height, self.share * y.v)
        return {"land": Transition((0, 1), 1, lambda t, y: y.z - self.height, reset=landed)}


@partial(jax.jit, static_argnames=("events",))
def run(model: Any, t_end: Scalar, events: int = 5) -> Any:
    return hybrid(model, events=events, t_end=t_end)


@pytest.mark.slow
@pytest.mark.parametrize("residue", [0.0, 1.0])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_body_without_rebound_does_not_fall_through_the_floor(precision, residue):
    with use(precision):
        landed = run(Body(residue=residue), 3.0)
    assert landed.status == Outcome.EVENTS_CROWDED and landed.count == 1
    assert float(landed.t_end) == pytest.approx(LANDING, rel=1e-9 if precision == "float64" else 1e-5)
    assert float(landed.y_end.z) == pytest.approx(0.0, abs=1e-6) and float(landed.y_end.v) == 0.0


@pytest.mark.slow
def test_members_without_rebound_end_at_their_landing():
    found = jax.vmap(lambda share: run(Body(share=share), 1.0))(jnp.array([0.0, -0.9]))
    np.testing.assert_array_equal(found.status, [Outcome.EVENTS_CROWDED, Outcome.COMPLETED])


@pytest.mark.parametrize("residue", [0.0, 1.0])
def test_a_body_that_is_carried_rests(residue):
    landed = run(Body(carried=1.0, residue=residue), 3.0)
    assert landed.status == Outcome.COMPLETED and landed.count == 1
    assert float(landed.y_end.z) == pytest.approx(0.0, abs=1e-9)
    assert run(Body(carried=1.2, residue=residue), 3.0).y_end.z > 0.5  # or rises


def test_a_body_that_rests_may_drift():
    assert run(Body(carried=1.0 - 1e-10), 1.0).status == Outcome.COMPLETED


def test_a_guard_that_is_passed_ends_nothing():
    """A curtain takes half of the speed: the body falls on."""
    passed = run(Body(share=0.5, height=0.5), 1.0)
    assert passed.status == Outcome.COMPLETED and passed.count == 1 and passed.y_end.z < 0.0


class Feet(NamedTuple):
    left: Scalar
    right: Scalar
    v: Scalar


class Landing(eqx.Module):
    """Two feet that reach the ground together; then the ground gives way below one of them."""

    lost: int = eqx.field(static=True)

    def initial_state(self):
        return Feet(1.0, 1.0, 0.0)

    def phases(self):
        falls = jnp.array([self.lost == 0, self.lost == 1], float)
        return [
            lambda t, y: Feet(y.v, y.v, -GRAVITY),
            lambda t, y: Feet(falls[0] * y.v, falls[1] * y.v, -GRAVITY),
        ]

    def transitions(self):
        stopped = lambda t, y: Feet(0.0 * y.left, 0.0 * y.right, 0.0 * y.v)
        guards = {"left": lambda t, y: y.left, "right": lambda t, y: y.right}
        return {name: Transition((0, 1), 1, guard, reset=stopped) for name, guard in guards.items()}


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0, 1])
def test_events_at_the_same_instant_are_one_stop(lost):
    landed = run(Landing(lost), 2.0)
    assert landed.status == Outcome.EVENTS_CROWDED
    np.testing.assert_array_equal(landed.transitions[:3], [0, 1, -1])
    assert float(landed.t_end) == pytest.approx(LANDING, rel=1e-9)


class Undone(Body):
    """A second event at the instant of the landing, whose reset turns the speed once more."""

    def transitions(self):
        turned = lambda t, y: Motion(0.0 * y.z, -0.8 * y.v)
        land = Transition(0, 0, lambda t, y: y.z, reset=turned)
        return {"land": land, "again": land._replace(guard=lambda t, y: 2.0 * y.z)}


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_second_event_that_turns_a_guard_back_ends_the_run(precision):
    with use(precision):
        found = run(Undone(), 3.0)
    assert found.status == Outcome.EVENTS_CROWDED and float(found.y_end.z) == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_array_equal(found.transitions[:3], [0, 1, -1])


class Relay(eqx.Module):
    """A force of constant size that switches where `z + slope * v` changes sign; it slides once it switches at once."""

    slope: Scalar = 0.5
    band: Scalar = 0.0
    """Of hysteresis."""

    def initial_state(self):
        return Motion(1.0, 0.0)

    def phases(self):
        return [lambda t, y: Motion(y.v, -1.0), lambda t, y: Motion(y.v, 1.0)]

    def transitions(self):
        across = lambda y: y.z + self.slope * y.v
        return {
            "down": Transition(0, 1, lambda t, y: across(y) + self.band),
            "up": Transition(1, 0, lambda t, y: self.band - across(y)),
        }


@pytest.mark.parametrize(("slope", "end"), [(0.5, 2.0), (2.0, np.sqrt(6.0) - 2.0)])
def test_a_run_ends_where_two_phases_switch_without_end(slope, end):
    """1 - t^2 / 2 - slope * t = 0; with the small slope that is the second switch, at the point of rest."""
    slid = run(Relay(slope), 5.0)
    assert slid.status == Outcome.EVENTS_CROWDED and float(slid.t_end) == pytest.approx(end, rel=1e-7)


@pytest.mark.parametrize("relay", [Relay(0.0), Relay(-0.1), Relay(0.5, band=0.05)], ids=["still", "away", "hysteresis"])
def test_two_phases_that_switch_to_and_fro_complete(relay):
    assert run(relay, 5.0, events=100).status == Outcome.COMPLETED


class Rolling(NamedTuple):
    angle: Scalar
    rate: Scalar


class RimlessWheel(eqx.Module):
    """Massless spokes on a slope, one of which stands: it rolls over them, or rocks on two until it rests."""

    slope: Scalar
    rate: Scalar
    """In rad/s, at the start."""

    HALF = np.pi / 8  # rad, between a spoke and the middle of two

    def initial_state(self):
        return Rolling(self.slope - 0.9 * self.HALF, self.rate)

    def phases(self):
        return [lambda t, y: Rolling(y.rate, GRAVITY * jnp.sin(y.angle))]

    def transitions(self):
        onto = lambda way: lambda t, y: Rolling(y.angle - way * 2 * self.HALF, y.rate * np.cos(2 * self.HALF))
        return {
            "forward": Transition(0, 0, lambda t, y: self.slope + self.HALF - y.angle, reset=onto(1.0)),
            "backward": Transition(0, 0, lambda t, y: y.angle - (self.slope - self.HALF), reset=onto(-1.0)),
        }


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_a_wheel_that_rocks_to_rest_never_falls_through_its_spokes(precision):
    """Rolling, it converges to the rate of McGeer's rimless wheel; rocking, two guards fire in turn without end."""
    slopes, rates = (x.ravel() for x in np.meshgrid(np.linspace(0.0, 0.2, 21), np.linspace(-1.0, 3.0, 21)))
    with use(precision):
        roll = jax.jit(jax.vmap(lambda slope, rate: hybrid(RimlessWheel(slope, rate), events=200, t_end=8.0)))
        ends = roll(jnp.asarray(slopes, float), jnp.asarray(rates, float))
    status, half = np.asarray(ends.status), RimlessWheel.HALF
    angle, rate = (np.asarray(x, float) for x in ends.y_end)
    assert set(np.unique(status)) <= {Outcome.COMPLETED, Outcome.EVENTS_CROWDED}
    rolls = status == Outcome.COMPLETED
    assert np.abs(angle - slopes)[rolls].max() < half * (1.0 + 1e-5)
    lost = np.cos(2 * half) ** 2
    settled = rolls & (slopes > 0.12)
    after = np.sqrt(2 * GRAVITY * lost / (1 - lost) * (np.cos(slopes - half) - np.cos(slopes + half)))
    energy = 0.5 * rate**2 + GRAVITY * np.cos(angle)
    expected = 0.5 * after**2 + GRAVITY * np.cos(slopes - half)
    np.testing.assert_allclose(energy[settled], expected[settled], rtol=1e-4)
    assert settled.sum() > 80
