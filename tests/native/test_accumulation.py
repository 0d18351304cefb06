"""Derivatives along several directions: what they share is multiplied out once, and they stay what they were."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import looped, native
from jaxgait.native.accumulation import accumulated
from jaxgait.native.code import PartLoop, count, everything
from jaxgait.native.looping import outermost
from tests.native.programs import kernel

pytestmark = pytest.mark.usefixtures("short_loops")

MEMBERS = 11


def swing(p):
    """A damped pendulum with a stop, where a spring begins: angle and rate after some steps."""

    def rate(x, v):
        stop = jnp.where(x > 0.2, 40.0 * (x - 0.2) / jnp.sqrt(1.0 + x * x), 0.0)
        return -jnp.sin(x) / p[0] - p[1] * v / (1.0 + v * v) - stop

    def step(c):
        k, x, v = c
        middle = v + 5e-2 * rate(x, v)
        return k + 1, x + 0.1 * middle, v + 0.1 * rate(x + 0.05 * v, middle)

    return jnp.stack(jax.lax.while_loop(lambda c: c[0] < 30, step, (0, 0.3 * p[0], 0.0 * p[1]))[1:])


def along(count):
    """Value and derivatives along directions."""
    directions = jax.random.normal(jax.random.key(1), (count, 2))
    return lambda p: jax.vmap(lambda d: jax.jvp(swing, (p,), (d,)), out_axes=(None, 0))(directions)


def statements_of(function):
    """The statements of a kernel."""
    return outermost(function, jnp.ones(2))[0].code.vectors.statements  # type: ignore[union-attr]


def operations(function):
    """Operations of a kernel, those in loops over directions as often as they are done."""
    statements = statements_of(function)
    parts = [s for s in everything(statements) if isinstance(s, PartLoop)]
    return count(statements) + sum((s.parts - 1) * count(s.body) for s in parts)


@pytest.mark.parametrize("count", [2, 3, 9])
def test_derivatives_are_those_of_jax(count):
    p = jnp.stack([jnp.linspace(0.5, 3.0, MEMBERS), jnp.linspace(0.1, 1.0, MEMBERS)], axis=1)
    found = kernel(along(count))(p)
    for a, b in zip(found, jax.vmap(along(count))(p), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_a_direction_costs_a_fraction_of_the_value():
    value, *with_derivatives = operations(swing), *(operations(along(n)) for n in (2, 8, 32))
    two, eight, many = (n / value for n in with_derivatives)
    assert two < 2.2 and eight < 3.0 and (many - eight) / 24 < 0.25


def test_divisions_are_done_once_for_all_directions():
    divisions = lambda f: sum(getattr(s, "name", "") == "div" for s in everything(statements_of(f)))
    assert divisions(along(8)) == divisions(along(3)) == divisions(along(2))


def test_arrays_that_are_linear_by_themselves_are_not_derivatives():
    """Known numbers alone are their factors: NaN for zero times infinity stays."""
    grow = lambda y: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 0.5 + 0.0 * c[1]), (0, y))[1]
    y = jnp.array([[1.0, jnp.inf], [2.0, 3.0]])
    np.testing.assert_array_equal(jax.jit(native(jax.vmap(looped(grow))))(y), jax.vmap(grow)(y))


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["value", "value of a derivative", "both"])
def test_compensated_sums_of_arrays_keep_their_corrections(wanted):
    """The correction is linear in the sum: as a tangent, its two differences would cancel to zero."""

    def summed(x, rate):
        def step(c):
            k, total, lost = c
            more = x * (rate * jnp.cos(1e-9 * k)) - lost
            new = total + more
            return k + 1, new, (new - total) - more

        return jax.lax.while_loop(lambda c: c[0] < 1000, step, (0, 1e6 * x, 0.0 * x))[1]

    along_x = lambda x, rate: jax.vmap(lambda d: jax.jvp(lambda x: summed(x, rate), (x,), (d,)), out_axes=(None, 0))
    both = lambda x, rate: along_x(x, rate)(jnp.eye(3))
    x, rate = jnp.ones((MEMBERS, 3)), jnp.linspace(1e-11, 1e-10, MEMBERS)
    function = {"value": summed, "value of a derivative": lambda x, rate: both(x, rate)[0], "both": both}[wanted]
    found = jax.tree.leaves(kernel(function)(x, rate))
    for a, b in zip(found, jax.tree.leaves(jax.vmap(function)(x, rate)), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(found[0][:, 0] - 1e6, 1000 * rate, atol=1.2e-10)  # half a unit in the last place of 1e6


def test_positions_of_samples_as_many_as_directions():
    """Two samples are no directions, if they lie in arrays of the length of two directions, too."""

    def sampled(p):
        def step(c):
            k, x, seen = c
            seen = seen.at[jnp.minimum(k // 3, 1)].set(x)
            return k + 1, x + 0.1 * jnp.sin(p * x), seen

        return jax.lax.while_loop(lambda c: c[0] < 6, step, (0, 0.5 * p, jnp.zeros(2)))[1:]

    both = lambda p: jax.vmap(lambda d: jax.jvp(sampled, (p,), (d,)), out_axes=(None, 0))(jnp.array([1.0, -2.0]))
    p = jnp.linspace(0.5, 3.0, MEMBERS)
    found, expected = jax.jit(native(jax.vmap(looped(both))))(p), jax.vmap(both)(p)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def recorded(p):
    """A decay, and a record of it too long for registers."""
    step = lambda c: (c[0] + 1, c[1] - 0.01 * p[0] * jnp.tanh(c[1]) * p[1], c[2].at[c[0] // 2].set(c[1]))
    _, x, record = jax.lax.while_loop(lambda c: c[0] < 190, step, (0, 1.0 + p[1], jnp.zeros(100)))
    return x, record


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 9])
def test_derivatives_of_what_is_recorded_at_positions_of_their_own_are_accumulated(count, monkeypatch):
    done = []
    monkeypatch.setattr(
        "jaxgait.native.directions.accumulated", lambda code: done.append(accumulated(code)) or done[-1]
    )
    directions = jax.random.normal(jax.random.key(1), (count, 2))
    whole = lambda p: jax.vmap(lambda d: jax.jvp(recorded, (p,), (d,)), out_axes=(None, 0))(directions)
    p = jnp.stack([jnp.linspace(0.5, 3.0, MEMBERS), jnp.linspace(0.1, 1.0, MEMBERS)], axis=1)
    found = jax.jit(native(jax.vmap(looped(whole))))(p)
    assert done[-1]
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(jax.vmap(whole)(p)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
