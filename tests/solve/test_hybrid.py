"""Hybrid solves against closed forms: a bouncing ball (one phase) and a ball on a spring floor (two phases)."""

from typing import NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.base import Scalar
from jaxgait.models.nonsmooth import Transition
from jaxgait.solve.hybrid import EVENT_LIMIT, FAILED, FIRST_ENDING, TIME_UP, HybridSettings, hybrid, sentence

EXACT = 1e-12  # the motion is a parabola: every solver is exact but for rounding


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

    @jax.jit
    def run(p, t_end):
        return hybrid(Bouncing(*p, ceiling=10.0), events=4, t_end=t_end)

    def summary(p):
        solution = run(p, 2.4)
        return jnp.concatenate([solution.ts, jnp.stack([solution.y_end.h, solution.y_end.v])])

    p = jnp.array([9.8, 0.8, 1.0])
    return run, p, summary(p), jax.jit(jax.jacfwd(summary))(p)


def closed_form(p):
    g, e, h = p
    first = jnp.sqrt(2 * h / g)
    ts = [first, first * (1 + 2 * e), first * (1 + 2 * e + 2 * e**2), first * (1 + 2 * e + 2 * e**2 + 2 * e**3)]
    return jnp.stack([*ts, jnp.zeros(()), e**4 * g * first])


def test_times_and_states(bounced):
    run, p, values, _ = bounced
    np.testing.assert_allclose(values, closed_form(p), atol=1e-10)
    assert int(run(p, 2.4).status) == EVENT_LIMIT


def test_saltation_is_exact(bounced):
    _, p, _, jacobian = bounced
    np.testing.assert_allclose(jacobian, jax.jacfwd(closed_form)(p), atol=1e-8)


def test_reverse_mode_agrees(bounced):
    """Through the search of each event with checkpoints, and through its location."""
    _, p, _, jacobian = bounced
    with pytest.raises(ValueError, match="checkpointed"):
        HybridSettings(mode="reverse")
    settings = HybridSettings(diffrax.Dopri8(scan_kind="checkpointed"), mode="reverse", max_steps=256)

    @jax.jit
    @jax.grad
    def backward(p):
        run = hybrid(Bouncing(*p), events=4, t_end=2.4, settings=settings)
        return run.ts[-1] + run.y_end.v

    np.testing.assert_allclose(backward(p), jacobian[3] + jacobian[5], atol=1e-8)


def test_the_end_time_is_an_event(bounced):
    run, p, _, _ = bounced
    solution = run(p, 1.0)
    assert int(solution.status) == TIME_UP and int(solution.count) == 1
    assert float(solution.t_end) == pytest.approx(1.0, abs=EXACT)
    assert np.isnan(solution.ts[-1]) and int(solution.transitions[-1]) == -1


def test_statuses(bounced):
    model = Bouncing(ceiling=0.5, height=0.4)
    up = hybrid(model, events=3, t_end=5.0, y0=Ball(0.4, 5.0))
    assert int(up.status) == FIRST_ENDING + 1 and sentence(model, int(up.status)) == "ended early: ceiling"
    assert float(up.y_end.h) == pytest.approx(0.5, abs=EXACT)
    lost = hybrid(Bouncing(poison=0.2), events=3, t_end=5.0)
    assert int(lost.status) == FAILED
    assert int(hybrid(Bouncing(), events=3, t_end=5.0, settings=HybridSettings(max_steps=10)).status) == FAILED


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
    solution = hybrid(Trampoline(), events=4, t_end=10.0, samples=33)
    np.testing.assert_array_equal(solution.transitions, [0, 1, 0, 1])
    energy = 9.8 * solution.samples.h + 0.5 * solution.samples.v**2
    energy += jnp.where(solution.samples.h < 0, 200.0 * solution.samples.h**2, 0.0)
    np.testing.assert_allclose(energy, 9.8, rtol=1e-9)
    omega, v = np.sqrt(400.0), np.sqrt(2 * 9.8)
    stay = 2 * (np.pi - np.arctan(omega * v / 9.8)) / omega
    assert float(solution.ts[1] - solution.ts[0]) == pytest.approx(stay, rel=1e-9)


def test_adaptive_steps_locate_the_same_events():
    settings = HybridSettings(diffrax.Tsit5(scan_kind="lax"), diffrax.PIDController(1e-10, 1e-10))
    solution = hybrid(Trampoline(), events=2, t_end=10.0, settings=settings)
    omega, v = np.sqrt(400.0), np.sqrt(2 * 9.8)
    stay = 2 * (np.pi - np.arctan(omega * v / 9.8)) / omega
    assert float(solution.ts[1] - solution.ts[0]) == pytest.approx(stay, rel=1e-8)
