"""Transitions that keep time: sampled controllers against their discrete map, and clocks that coincide."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from jaxgait.kinds import Transition
from jaxgait.model import Model, Scalar, Variable, parameter
from jaxgait.outcome import Outcome
from jaxgait.run import Sampling
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.periodic import PoincareMap

GROWTH = 3.0  # 1/s: x'' = GROWTH**2 x + u
END = 5.0  # s
STIFFNESS, DAMPING, START = 20.0, 6.0, (0.1, -0.2)


class Held(NamedTuple):
    x: Scalar
    v: Scalar
    u: Scalar
    due: Scalar


class Sampled(Model):
    """An unstable body in two alternating phases of the same motion, held by a controller with a zero-order hold."""

    interval: Scalar = parameter(0.05, unit="s", doc="sampling interval", bounds="positive")
    variables: ClassVar = {
        "x": Variable("m", "position"),
        "v": Variable("m/s", "velocity"),
        "u": Variable("m/s^2", "push"),
        "due": Variable("s", "time of the next sample"),
    }
    duration = END  # type: ignore[assignment]

    def initial_state(self):
        x, v = START
        return Held(x, v, -STIFFNESS * x - DAMPING * v, self.interval)

    def move(self, t, y):
        return Held(y.v, GROWTH**2 * y.x + y.u, 0.0, 0.0)

    def phases(self):
        return [self.move, self.move]

    def transitions(self):
        renewed = lambda t, y: Held(y.x, y.v, -STIFFNESS * y.x - DAMPING * y.v, y.due + self.interval)
        return {
            "sample": Transition((0, 1), None, lambda t, y: y.due - t, reset=renewed),
            "forth": Transition(0, 1, lambda t, y: jnp.sin(7.0 * t + 1.0)),
            "back": Transition(1, 0, lambda t, y: -jnp.sin(7.0 * t + 1.0)),
        }


INTERVALS = jnp.array([0.05, 0.1, 0.25, 0.3])
SYSTEM = np.array([[0.0, 1.0, 0.0], [GROWTH**2, 0.0, 1.0], [0.0, 0.0, 0.0]])
"""Rates of position, velocity and push between samples."""


def exact(interval: float) -> np.ndarray:
    """Position and velocity at the end: whole intervals, and what is left of the last one."""
    state = np.array(START)
    samples = int(END / interval + 1e-9)
    for duration in [interval] * samples + [END - samples * interval]:
        push = -STIFFNESS * state[0] - DAMPING * state[1]
        state = expm(SYSTEM * duration)[:2] @ [*state, push]
    return state


@pytest.fixture(scope="module")
def runs():
    """One run for each sampling interval."""
    scheme = EventDriven.of(Sampled(), max_events=150)

    @jax.jit
    @jax.vmap
    def run(interval):
        return scheme.run(Sampled(interval=interval), Sampling(None, samples=100))

    return run(INTERVALS)


def test_a_sampled_controller_is_the_discrete_map(runs):
    expected = [exact(interval) for interval in INTERVALS.tolist()]
    np.testing.assert_allclose(np.stack([runs.y_end.x, runs.y_end.v], axis=1), expected, rtol=1e-6, atol=1e-9)


def test_runs_end_on_time_where_the_end_coincides_with_a_sample(runs):
    """0.05 s added up a hundred times is 2e-15 s less than 5 s: both are events, the sample before the end."""
    np.testing.assert_array_equal(runs.status, Outcome.COMPLETED)
    np.testing.assert_allclose(runs.t_end, END, atol=1e-12)
    np.testing.assert_array_equal((runs.events.kind == 0).sum(axis=1), [100, 50, 20, 16])


def test_a_clock_leaves_the_phase_as_it_is(runs):
    """The other events alternate, as they would not if a sample had changed the phase."""
    for kinds, times in zip(runs.events.kind, runs.events.t, strict=True):
        own = kinds > 0
        np.testing.assert_array_equal(kinds[own][:2], [1, 2])
        assert np.all(np.diff(kinds[own]) != 0)
        np.testing.assert_allclose(jnp.sin(7.0 * times[own] + 1.0), 0.0, atol=1e-10)


class Clocks(NamedTuple):
    fast: Scalar
    slow: Scalar


class TwoClocks(Model):
    """Two clocks whose ticks coincide but for rounding."""

    variables: ClassVar = {"fast": Variable("s", "next tick"), "slow": Variable("s", "next tick")}
    duration = 1.05  # type: ignore[assignment]

    def initial_state(self):
        return Clocks(0.1, 0.3)

    def phases(self):
        return [lambda t, y: Clocks(0.0, 0.0)]

    def transitions(self):
        return {
            "fast": Transition(0, None, lambda t, y: y.fast - t, reset=lambda t, y: y._replace(fast=y.fast + 0.1)),
            "slow": Transition(0, None, lambda t, y: y.slow - t, reset=lambda t, y: y._replace(slow=y.slow + 0.3)),
        }


def test_two_clocks_tick_at_the_same_instant():
    run = hybrid(TwoClocks(), events=30, t_end=1.05)
    ticks = {kind: run.ts[run.transitions == kind] for kind in (0, 1)}
    np.testing.assert_allclose(ticks[0], 0.1 * np.arange(1, 11), atol=1e-12)
    np.testing.assert_allclose(ticks[1], 0.3 * np.arange(1, 4), atol=1e-12)


def test_a_section_at_a_tick_needs_to_know_the_phase():
    assert PoincareMap(section="fast", phase=None)._section(TwoClocks())[1] == 0
    with pytest.raises(ValueError, match=r"\['sample'\] lead to phases \[0, 1\]: choose one by section= or phase="):
        PoincareMap(section="sample")._section(Sampled())


def test_only_the_target_may_be_left_open():
    class Anywhere(TwoClocks):
        def transitions(self):
            return {"tick": Transition(None, 0, lambda t, y: y.fast - t)}  # type: ignore[arg-type]

    with pytest.raises(ValueError, match="the source of the transition 'tick' must be one of the model's 1 phases"):
        hybrid(Anywhere(), events=1, t_end=1.0)
