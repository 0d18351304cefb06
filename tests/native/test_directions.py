"""Derivatives along many directions: in a loop over them, with the same bits as written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import directions, explain, looped, native
from tests.native.programs import kernel

pytestmark = pytest.mark.usefixtures("short_loops")

MEMBERS = 11
LOOPED = "directions in a loop"


def along(function, count):
    """Value and derivatives along many directions of a function of one number."""
    slopes = jnp.linspace(-1.0, 2.0, count)
    return lambda x: jax.vmap(lambda d: jax.jvp(function, (x,), (d,)), out_axes=(None, 0))(slopes)


def both(function, *args):
    """Results with a loop over directions, and with all of them written out."""
    assert LOOPED in explain(function, *(x[0] for x in args))
    found = kernel(function)(*args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(directions, "MAX_UNROLLED", 1000)
        assert LOOPED not in explain(function, *(x[0] for x in args))
        return found, kernel(function)(*args)


def same_bits(function, *args):
    for x, y in zip(*map(jax.tree.leaves, both(function, *args)), strict=True):
        assert x.shape == y.shape and np.isfinite(x).any()
        np.testing.assert_array_equal(x, y)


def swing(length):
    """A pendulum's motion, for as many steps as its length asks for."""

    def step(c):
        t, x, v = c
        middle = v - 5e-2 * jnp.sin(x) / length
        return t + 0.1, x + 0.1 * middle, v - 0.1 * jnp.sin(x + 0.05 * v) / length

    return jax.lax.while_loop(lambda c: c[0] < 2.0 * length, step, (0.0, 0.3 * length, 0.0))[1:]


def sampled(length):
    """The same, which also stores what it passes, in an inner loop at times of its own."""

    def step(c):
        t, x, v, seen, k = c
        new = x + 0.1 * v

        def store(inner):
            k, seen = inner
            return k + 1, seen.at[k].set(x + (new - x) * (0.25 * k - t))

        k, seen = jax.lax.while_loop(lambda inner: inner[0] * 0.25 < t + 0.1, store, (k, seen))
        return t + 0.1, new, v - 0.1 * jnp.sin(x) / length, seen, k

    start = (0.0, 0.3 * length, 0.0, jnp.zeros(80), 0)
    return jax.lax.while_loop(lambda c: c[0] < 2.0 * length, step, start)[1:4]


def refined(length):
    """Newton's square roots, rounds as many as each takes, in a loop: tangents pass from one loop to the other."""

    def step(c):
        x, k = c
        going = lambda y: jnp.abs(y * y - x) > 1e-9
        return jax.lax.while_loop(going, lambda y: 0.5 * (y + x / y), x) + length, k + 1

    return jax.lax.while_loop(lambda c: c[1] < 4, step, (length + 1.0, 0))[0]


def chosen(length):
    """Tangents pass through an inner loop in which nothing is computed with them: what it returns is known before."""

    def step(c):
        x, k = c
        wave = jnp.sin(x)
        inner = jax.lax.while_loop(lambda s: s[1] < 2.0 * length, lambda s: (jnp.sin(x), s[1] + 1), (x, 0))[0]
        return 0.5 * wave * inner + length, k + 1

    return jax.lax.while_loop(lambda c: c[1] < 4, step, (length + 1.0, 0))[0]


def remembered(length):
    """A swing that keeps its last three angles in a short array, and looks one of them up at a time of its own."""

    def step(c):
        t, x, v, seen, k = c
        seen = seen.at[k % 3].set(x)
        return t + 0.1, x + 0.1 * v, v - 0.1 * jnp.sin(x + 0.1 * seen[(k + 1) % 3]) / length, seen, k + 1

    return jax.lax.while_loop(lambda c: c[0] < 2.0 * length, step, (0.0, 0.3 * length, 0.0, jnp.zeros(3), 0))[1:4]


@pytest.mark.slow
@pytest.mark.parametrize("function", [swing, sampled, refined, chosen, remembered])
def test_the_bits_are_those_of_unrolled_code(function):
    same_bits(along(function, 9), jnp.linspace(0.5, 3.0, MEMBERS))


def test_few_directions_are_computed_one_after_the_other_if_all_would_be_too_long(monkeypatch):
    function, x = along(swing, 4), jnp.linspace(0.5, 3.0, MEMBERS)
    assert LOOPED not in explain(function, x[0])
    written_out = kernel(function)(x)
    monkeypatch.setattr("jaxgait.native.code.LONG", 220)  # of 250 operations
    assert LOOPED in explain(function, x[0])
    one_by_one = kernel(function)(x)
    for a, b in zip(jax.tree.leaves(written_out), jax.tree.leaves(one_by_one), strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_member_and_branches():
    function = lambda x: jax.lax.while_loop(
        lambda c: c[1] < 5,
        lambda c: (jax.lax.cond(c[0] > 1.0, jnp.sqrt, lambda y: y * x + 1.0, c[0]), c[1] + 1),
        (x, 0),
    )[0]
    same_bits(along(function, 10), jnp.array([0.7]))


def test_a_state_with_as_many_components_as_directions():
    """Components of the state act on each other, directions do not; the arrays of tangents are large."""
    matrix = jnp.asarray(np.random.default_rng(0).normal(size=(9, 9)) / 9)

    def flow(y):
        return jax.lax.while_loop(lambda c: c[1] < 6, lambda c: (c[0] + jnp.sin(matrix @ c[0]), c[1] + 1), (y, 0))[0]

    def value_and_slope(y):
        return jax.vmap(lambda d: jax.jvp(flow, (y,), (d,)), out_axes=(None, 0))(jnp.eye(9))

    y = jnp.asarray(np.random.default_rng(1).normal(size=(MEMBERS, 9)))
    assert LOOPED in explain(value_and_slope, y[0])
    found = jax.jit(native(jax.vmap(looped(value_and_slope))))(y)
    expected = jax.jit(jax.vmap(lambda y: (flow(y), jax.jacfwd(flow)(y).T)))(y)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_code_that_mixes_directions_is_unrolled():
    """Sums over a vector, of which each number goes its own way otherwise."""
    function = lambda y: jax.lax.while_loop(lambda c: c[1] < 4, lambda c: (c[0] * jnp.sum(c[0]), c[1] + 1), (y, 0))[0]
    y = jnp.linspace(0.0, 0.2, 20)
    assert LOOPED not in explain(function, y)
    np.testing.assert_allclose(jax.jit(native(looped(function)))(y), function(y), rtol=1e-13)


def test_values_and_tangents_in_one_array_keep_the_order_of_their_writes():
    """A position that is first a tangent's and then a value's."""

    def function(x, d):
        def body(c):
            whole, y, tangents, k = c
            whole = whole.at[:9, k].set(tangents).at[0, k].set(y)
            return whole, 0.5 * y + 1.0, 0.5 * tangents * y, k + 1

        return jax.lax.while_loop(lambda c: c[3] < 8, body, (jnp.zeros((10, 8)), x, d, 0))[0]

    x, d = jnp.linspace(0.5, 1.0, MEMBERS), jnp.ones((MEMBERS, 9))
    assert "a kernel of" in explain(function, x[0], d[0])
    found = kernel(function)(x, d)
    np.testing.assert_array_equal(found, jax.vmap(function)(x, d))


def test_long_programs_for_many_directions_become_kernels(monkeypatch):
    function = along(lambda x: sampled(x)[0], 30)
    assert "a kernel of" in explain(function, 1.0)
    monkeypatch.setattr("jaxgait.native.code.LONG", 400)
    assert LOOPED in explain(function, 1.0)
    monkeypatch.setattr("jaxgait.native.code.MAX_VALUES", 20)
    assert explain(function, 1.0) == "left to XLA: more than 20 values"
