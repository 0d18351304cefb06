"""Events at the same instant: none is lost, and their order is that of declaration, whatever rounding makes of them."""

from functools import partial
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.kinds import Transition
from jaxgait.model import Scalar
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.periodic import Coordinates, PoincareMap
from jaxgait.solve.rosenbrock import Ros4
from jaxgait.solve.samples import SampleRecorder
from jaxgait.solve.segments import Engine

HEIGHTS = jnp.linspace(0.3, 2.0, 40)  # m
GRAVITY = 9.81


@partial(jax.jit, static_argnames=("events", "scheme"))
@partial(jax.vmap, in_axes=(0, None, None, None))
def run(model, events, t_end, scheme):
    return hybrid(model, events=events, t_end=t_end, scheme=scheme)


def all_of(
    kind: Any, t_end: Scalar = 1.0, events: int = 6, scheme: EventDriven | None = None, **parameters: Any
) -> Any:
    """One run for each of several models; all numbers are arguments of one program."""
    return jax.tree.map(np.asarray, run(jax.vmap(lambda p: kind(**p))(parameters), events, t_end, scheme))


class Feet(NamedTuple):
    left: Scalar
    right: Scalar
    fall: Scalar


class Landing(eqx.Module):
    """Two feet that reach the ground together, each of which stops the fall."""

    height: Scalar = 1.0
    residue: Scalar = 1.0
    """Share of a foot's distance from the ground (a rounding error) that stays."""

    def initial_state(self):
        return Feet(self.height, self.height, 0.0)

    def phases(self):
        return [lambda t, y: Feet(y.fall, y.fall, -GRAVITY), lambda t, y: Feet(0.0, 0.0, 0.0)]

    def transitions(self):
        stopped = lambda t, y: Feet(self.residue * y.left, self.residue * y.right, 0.0)
        return {
            "left": Transition((0, 1), 1, lambda t, y: y.left, reset=stopped),
            "right": Transition((0, 1), 1, lambda t, y: 30.0 * y.right, reset=stopped),
        }


@pytest.mark.slow
@pytest.mark.parametrize("residue", [0.0, 1.0])
def test_both_feet_of_a_plastic_landing_are_events(residue):
    runs = all_of(Landing, height=HEIGHTS, residue=jnp.full_like(HEIGHTS, residue))
    np.testing.assert_array_equal(runs.transitions[:, :3], [[0, 1, -1]] * 40)
    np.testing.assert_allclose(runs.ts[:, :2], np.sqrt(2.0 * HEIGHTS / GRAVITY)[:, None] * [1.0, 1.0], rtol=1e-12)
    np.testing.assert_array_equal(runs.status, Outcome.COMPLETED)


class Ball(NamedTuple):
    z: Scalar
    v: Scalar


class Watched(eqx.Module):
    """A ball with an end on the same zero as its bounce."""

    height: Scalar
    scale: Scalar

    def initial_state(self):
        return Ball(self.height, 0.0)

    def phases(self):
        return [lambda t, y: Ball(y.v, -GRAVITY)]

    def transitions(self):
        bounce = Transition(0, 0, lambda t, y: y.z, reset=lambda t, y: Ball(y.z, -0.8 * y.v))
        return {"bounce": bounce, "broke": Transition(0, None, lambda t, y: self.scale * y.z, ends=True)}


class WatchedFirst(Watched):
    def transitions(self):
        return dict(reversed(super().transitions().items()))


@pytest.mark.parametrize(("kind", "fired"), [(Watched, [0, 1]), (WatchedFirst, [0, -1])])
def test_the_order_is_that_of_declaration(kind, fired):
    runs = all_of(kind, height=HEIGHTS, scale=jnp.logspace(-3, 3, 40))
    np.testing.assert_array_equal(runs.transitions[:, :2], [fired] * 40)
    np.testing.assert_array_equal(runs.status, FIRST_TERMINATION)


class Times(NamedTuple):
    fast: Scalar
    slow: Scalar


class Clocks(eqx.Module):
    """Two clocks; every third tick of the fast one is one of the slow one, but for rounding."""

    interval: Scalar

    def initial_state(self):
        return Times(self.interval, 3.0 * self.interval)

    def phases(self):
        return [lambda t, y: Times(0.0, 0.0)]

    def transitions(self):
        fast = lambda t, y: Times(y.fast + self.interval, y.slow)
        slow = lambda t, y: Times(y.fast, y.slow + 3.0 * self.interval)
        return {
            "fast": Transition(0, None, lambda t, y: y.fast - t, reset=fast),
            "slow": Transition(0, None, lambda t, y: 1e6 * (y.slow - t), reset=slow),
        }


INTERVALS = jnp.linspace(0.1, 0.137, 16)  # s
SCHEMES = {"explicit": None, "implicit": EventDriven(Ros4(), dt=1e-2)}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES.keys())
def test_two_clocks_tick_in_the_order_of_declaration_until_the_end(scheme):
    """The ninth tick is at the end of the first run, and counts."""
    runs = all_of(Clocks, t_end=0.9, events=14, scheme=scheme, interval=INTERVALS)
    np.testing.assert_array_equal(runs.status, Outcome.COMPLETED)
    np.testing.assert_array_equal(runs.transitions[0], [0, 0, 0, 1] * 3 + [-1] * 2)
    for interval, kinds, times in zip(np.asarray(INTERVALS), runs.transitions, runs.ts, strict=True):
        ticks = np.arange(1, int(0.9 / interval + 1e-9) + 1)
        np.testing.assert_allclose(times[kinds == 0], interval * ticks, rtol=1e-12)
        np.testing.assert_allclose(times[kinds == 1], interval * ticks[2::3], rtol=1e-12)


@pytest.mark.slow
def test_ticks_have_derivatives():
    """That of a tick is its number, also where two coincide."""
    times = lambda interval: hybrid(Clocks(interval), events=8, t_end=0.65).ts
    np.testing.assert_allclose(jax.jit(jax.jacfwd(times))(0.1), [1, 2, 3, 3, 4, 5, 6, 6], rtol=1e-9)


@pytest.mark.slow
def test_a_sample_at_an_event_is_the_state_before_it():
    @jax.jit
    @jax.vmap
    def sampled(interval):
        ts = interval * jnp.arange(8.0)
        model = Clocks(interval)
        return Engine(model, ts[-1], EventDriven(), SampleRecorder(model, ts, (), "forward")).trajectory(
            model.initial_state()
        )

    ys = sampled(INTERVALS).ys
    np.testing.assert_allclose(ys.fast[:, :-1] / INTERVALS[:, None], [[1, 1, 2, 3, 4, 5, 6]] * 16, rtol=1e-12)


class Swing(eqx.Module):
    """From rest at its height, a swing reaches zero after a given time, and ends there."""

    height: Scalar
    after: Scalar

    def initial_state(self):
        return Ball(self.height, jnp.zeros_like(self.height))

    def phases(self):
        return [lambda t, y: Ball(y.v, -((0.5 * jnp.pi / self.after) ** 2) * y.z)]

    def transitions(self):
        return {"down": Transition(0, 0, lambda t, y: y.z, ends=True)}


@pytest.mark.slow
def test_a_sample_at_the_end_belongs_to_the_run_although_the_event_is_a_rounding_error_before_it():
    ts = jnp.arange(6.0) / 10.0

    @jax.jit
    @jax.vmap
    def sampled(model):
        engine = Engine(model, ts[-1], EventDriven(), SampleRecorder(model, ts, (), "forward"))
        found = engine.trajectory(model.initial_state())
        return found.ys.z[3:5], found.t_end - ts[3]

    at, off = sampled(jax.vmap(lambda height: Swing(height, ts[3]))(HEIGHTS))
    np.testing.assert_array_equal(np.isfinite(at), [[True, False]] * 40)
    np.testing.assert_allclose(off, 0.0, atol=1e-15)


class Disarmed(eqx.Module):
    """An oscillator whose crossings count from a time on; near zero they are armed, so that steps to them end."""

    since: Scalar

    def initial_state(self):
        return Ball(1.0, 0.0)

    def phases(self):
        return [lambda t, y: Ball(y.v, -y.z)]

    def transitions(self):
        armed = lambda t, y: (t > self.since) | (y.z > 1e-3)
        return {"down": Transition(0, None, lambda t, y: y.z, armed=armed)}


@pytest.mark.slow
def test_crossings_that_do_not_count_use_up_no_events_in_reverse_mode():
    scheme = EventDriven(diffrax.Bosh3(scan_kind="lax"), dt=0.02, max_steps=2000)
    found = lambda since, mode: hybrid(Disarmed(since), events=1, t_end=40.0, scheme=scheme.in_mode(mode))
    times = [float(jax.jit(found, static_argnums=1)(20.0, mode).ts[0]) for mode in ("forward", "reverse")]
    np.testing.assert_allclose(times, 6.5 * np.pi, rtol=1e-6)


@pytest.mark.slow
def test_a_start_on_the_section_but_for_rounding_is_no_event():
    """The sine of the arc sine of some numbers is 1e-17 more than they are, of others less."""

    @jax.jit
    @jax.vmap
    def returned(height):
        state = lambda model, z: Ball(jnp.sin(jnp.arcsin(height)), z[0])
        section = PoincareMap(coordinates=Coordinates(state, lambda model, y: jnp.stack([y.v])), max_time=10.0)
        return section.timed(Crossing(height), jnp.array([-0.5]))

    points, times = returned(jnp.linspace(-0.9, 0.9, 100))
    np.testing.assert_allclose(times, 2.0 * np.pi, rtol=1e-9)
    np.testing.assert_allclose(points[:, 0], -0.5, rtol=1e-9)


class Crossing(Disarmed):
    def transitions(self):
        return {"down": Transition(0, None, lambda t, y: y.z - self.since)}


class Grazing(Disarmed):
    """A guard that touches zero at the end of a step, and has no slope there."""

    def transitions(self):
        return {"touch": Transition(0, None, lambda t, y: (t - self.since) ** 2 - 0.0 * y.z)}


@pytest.mark.slow
def test_where_an_event_is_not_located_the_motion_until_then_stays():
    ts = jnp.linspace(0.0, 2.0, 9)

    @jax.jit
    def found(model):
        return Engine(model, ts[-1], EventDriven(), SampleRecorder(model, ts, (), "forward")).trajectory(
            model.initial_state()
        )

    trajectory = found(Grazing(1.0))
    known = ts <= trajectory.t_end
    assert 0.9 < float(trajectory.t_end) <= 2.0 and np.isfinite(trajectory.y_end).all()
    np.testing.assert_allclose(trajectory.ys.z[known], jnp.cos(ts)[known], atol=1e-9)
    assert known.sum() >= 4 and np.isnan(trajectory.ys.z[~known]).all()
