"""Values computed once: the identity to every transformation, and nothing else is taken for it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import compiled
from jaxgait.native.materialization import computed_once, derivatives_once
from tests.native.programs import tower

X = jnp.linspace(0.1, 2.0, 7)


@pytest.mark.slow
@pytest.mark.parametrize("one", [1, 1.0])
@pytest.mark.parametrize("other", [2, 2.0, 3.0])
def test_divisors_of_users_are_unchanged(one, other):
    def guarded(x, y):
        z = x + 0.0 * tower(y)
        return z / jnp.where(y == y, one, other), tower(x)  # noqa: PLR0124

    x, y = jnp.full(16, 10.0), jnp.full(16, jnp.nan).at[::2].set(1.0)
    found, expected = compiled(guarded, x, y)(x, y), jax.jit(guarded)(x, y)
    np.testing.assert_array_equal(found[0], expected[0])
    plain = lambda x, y: (x / jnp.where(y == y, one, other), tower(x))  # noqa: PLR0124
    np.testing.assert_array_equal(compiled(plain, x, y)(x, y)[0], np.where(np.isnan(y), 10.0 / other, 10.0))


@pytest.mark.parametrize("function", [computed_once, derivatives_once])
def test_it_is_the_identity(function):
    x = jnp.asarray([0.0, -0.0, 1.5, -jnp.inf, jnp.nan, 1e-310, 1e308])
    np.testing.assert_array_equal(function(x), x)
    np.testing.assert_array_equal(jax.jit(function)(x[:5]), x[:5])
    np.testing.assert_array_equal(jax.vmap(function)(X), X)
    np.testing.assert_array_equal(jax.jit(jax.vmap(function, in_axes=1, out_axes=1))(X[None]), X[None])
    primal, tangent = jax.jvp(function, (X,), (2.0 * X,))
    np.testing.assert_array_equal(primal, X)
    np.testing.assert_array_equal(tangent, 2.0 * X)
    (cotangent,) = jax.vjp(function, X)[1](3.0 * X)
    np.testing.assert_array_equal(cotangent, 3.0 * X)
    np.testing.assert_array_equal(jax.jit(jax.hessian(lambda x: jnp.sum(function(x) ** 3)))(X), jnp.diag(6.0 * X))


def test_it_is_linear():
    (transposed,) = jax.linear_transpose(lambda x: 2.0 * computed_once(x), X)(X)
    np.testing.assert_array_equal(transposed, 2.0 * X)


def test_leaves_of_trees_that_are_not_floating_point_are_unchanged():
    tree = {
        "x": X,
        "n": jnp.arange(3),
        "flag": jnp.asarray(True),
        "single": X.astype(jnp.float32),
        "z": jax.lax.complex(X, X),
    }
    found = jax.jit(computed_once)(tree)
    jax.tree.map(np.testing.assert_array_equal, found, tree)
    assert {n: x.dtype for n, x in found.items()} == {n: x.dtype for n, x in tree.items()}


def test_only_cpus_need_a_division():
    text = lambda platform: jax.jit(computed_once).trace(X).lower(lowering_platforms=(platform,)).as_text()
    assert "stablehlo.divide" in text("cpu")
    assert "stablehlo.divide" not in text("cuda")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
def test_division_by_chosen_numbers_of_any_dtype(dtype):
    """Which looks like a value to be computed once, and was taken for one."""
    wide = "float64" if dtype in ("float64", "int64") else "float32"
    x, y = jnp.full(16, 10, dtype), jnp.full(16, jnp.nan, wide).at[::2].set(1.0)
    divide = jax.lax.div if dtype.startswith("int") else jnp.divide

    def program(x, y):
        own = divide(x, jnp.where(y == y, x // x, x // x + x // x))  # noqa: PLR0124
        return own, divide(x, jnp.where(y == y, jnp.ones_like(x), jnp.full_like(x, 2))), tower(y)  # noqa: PLR0124

    for found in compiled(program, x, y)(x, y)[:2]:
        np.testing.assert_array_equal(found, np.where(np.arange(16) % 2 == 0, 10, 5).astype(dtype))
