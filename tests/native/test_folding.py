"""What is left out of kernels: what is known of whole numbers, and zeros and ones where numbers are finite."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import explain, looped, native
from jaxgait.native.primitives import assuming_finite

X = jnp.linspace(0.5, 2.0, 5)


def repeated(function):
    """A loop that applies a function three times."""
    return lambda x: jax.lax.while_loop(lambda c: c[1] < 3, lambda c: (function(c[0]), c[1] + 1), (x, 0))[0]


def operations(function):
    return int(explain(repeated(function), 1.0).split()[3])


def turned(x):
    """An upright axis turned about another: a product with many zeros and ones."""
    c, s, zero, one = jnp.cos(x), jnp.sin(x), jnp.zeros(()), jnp.ones(())
    about_y = jnp.array([[c, zero, s], [zero, one, zero], [-s, zero, c]])
    about_z = jnp.array([[c, -s, zero], [s, c, zero], [zero, zero, one]])
    return jnp.sum(about_y @ about_z @ jnp.array([0.0, 0.0, 1.0]))


def test_known_zeros_and_ones_cost_nothing_in_finite_functions():
    assert operations(assuming_finite(turned)) < operations(turned) - 40  # of 45 multiplications and additions
    run = lambda f: jax.jit(native(jax.vmap(looped(repeated(f)))))(X)
    np.testing.assert_allclose(run(assuming_finite(turned)), run(turned), rtol=1e-14)


def test_directions_of_a_jacobian_cost_what_depends_on_them():
    """Of a chain, each component of which depends on two."""

    def chain(y):
        return jnp.stack([jnp.sin(y[i]) * jnp.cos(y[(i + 1) % 7]) for i in range(7)])

    def trace(x, mark):
        push = mark(jax.linearize(chain, x * jnp.arange(1.0, 8.0))[1])
        return jnp.sum(jax.vmap(push)(jnp.eye(7)))

    plain = lambda x: trace(x, lambda f: f)
    marked = lambda x: trace(x, assuming_finite)
    assert operations(marked) < operations(plain) - 60  # of 98 products, 7 times 2 of which are not zero
    run = lambda f: jax.jit(native(jax.vmap(looped(repeated(f)))))(X)
    np.testing.assert_allclose(run(marked), run(plain), rtol=1e-13)


def test_infinite_numbers_times_zero_are_nan_except_in_finite_functions():
    vanishing = lambda x: 0.0 * jnp.log(x - x) + x  # 0 times minus infinity
    undetermined = lambda x: 0.0 / (x - x)  # as in a singular linear system
    run = lambda f: np.asarray(jax.jit(native(jax.vmap(looped(repeated(lambda x: f(x) * jnp.cos(x) ** 40)))))(X))
    assert np.isnan(run(vanishing)).all() and np.isfinite(run(assuming_finite(vanishing))).all()
    assert np.isnan(run(assuming_finite(undetermined))).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 0.0 + 1.0 * x) - 0.0,
        lambda x: 0.0 - x + 0.0 / x,
        lambda x: jnp.where(x > 1.0, 0.0, 0.0) - (-0.0) + x,
        lambda x: jnp.asarray(True).astype(float) * x + jnp.arange(3).astype(float)[2],
    ],
)
def test_each_rule(function):
    long = lambda f: lambda x: f(x) + sum(jnp.sin(k * x) for k in range(40))  # a loop long enough for a kernel
    run = lambda f: jax.jit(native(jax.vmap(looped(repeated(long(f))))))(X)
    np.testing.assert_allclose(run(assuming_finite(function)), run(function), rtol=1e-15)
