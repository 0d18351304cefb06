"""Checks at run time: those that the caller has made sure of are left out, all others stay."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.bungee.model import Bungee
from jaxgait.native import compiled, native
from jaxgait.outcome import Outcome
from jaxgait.solve.smooth import Smooth, integrate

X = jnp.linspace(0.1, 2.0, 16)


def checked(x):
    x = eqx.error_if(x, x < 0.0, "must be positive: all of it")
    for _ in range(10):
        x = x * x - 0.5 * x + 0.1
    return eqx.error_if(x, jnp.isnan(x), "must be a number")


def pushed(x):
    return jax.jvp(checked, (x,), (x,))


def in_a_loop(x):
    return jax.lax.scan(lambda c, part: (c, checked(part)), 0, x.reshape(2, -1))[1].reshape(x.shape)


@pytest.mark.slow
@pytest.mark.parametrize("transformed", [checked, jax.vmap(checked), pushed, jax.vmap(pushed), in_a_loop])
def test_only_assured_checks_are_left_out(transformed):
    count = lambda *assured: jax.jit(native(transformed, assured=assured)).lower(X).as_text().count("python")
    every, one, none = count(), count("must be positive"), count("must be positive", "must be a number")
    assert every > one > none == 0
    assert count("another message") == every
    found = compiled(transformed, X, assured=["must be positive", "must be a number"])(X)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), found, transformed(X))


def test_a_check_that_stays_raises():
    run = compiled(checked, X, assured=["must be a number"])
    np.testing.assert_allclose(run(X), checked(X), rtol=1e-12)
    with pytest.raises(Exception, match="must be positive"):
        jax.block_until_ready(run(-X))


def test_callbacks_of_the_users_are_kept():
    chosen = lambda x: jax.pure_callback(lambda x: 2.0 * np.asarray(x), jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    run = lambda x: jax.lax.cond(x.sum() > 0.0, chosen, lambda x: x, x)
    np.testing.assert_allclose(compiled(run, X, assured=[""])(X), 2.0 * X)


def test_impossible_times_are_a_status():
    model = Bungee()
    status = eqx.filter_jit(lambda ts: integrate(model, ts, Smooth.of(model)).status)
    for times in ([1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, np.nan], [np.nan, 0.5, 1.0]):
        assert int(status(jnp.asarray(times))) == Outcome.NONFINITE, times
    assert int(status(jnp.asarray([0.0, 0.5, 1.0]))) == Outcome.COMPLETED
