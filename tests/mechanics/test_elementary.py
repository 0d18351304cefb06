import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxgait.mechanics import elementary

MPMATH = {
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "arctan": mpmath.atan,
    "arccos": mpmath.acos,
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
}
ULPS = {"sin": 2, "cos": 2, "arctan": 2, "arccos": 3, "softplus": 4}
NEAR_ZERO = 1e-20  # absolute error of sine and cosine next to a multiple of pi/2 that is not zero
NATIVE = {"sin": jnp.sin, "cos": jnp.cos, "arctan": jnp.arctan, "arccos": jnp.arccos, "softplus": jax.nn.softplus}


def samples(name):
    rng = np.random.default_rng(7)
    if name == "arccos":
        return np.concatenate([rng.uniform(-1, 1, 900), 1 - 10.0 ** rng.uniform(-15, 0, 500)])
    wide = rng.choice([-1, 1], 1200) * 10.0 ** rng.uniform(-9, 2 if name == "softplus" else 6, 1200)
    near_multiples = np.arange(-400, 400) * np.pi / 4
    return np.concatenate([wide, near_multiples, rng.uniform(-4, 4, 600)])


def exact(function, *arguments):
    with mpmath.workprec(160):
        rows = zip(*(map(float, a) for a in arguments), strict=True)
        return [function(*map(mpmath.mpf, row)) for row in rows]


def ulps(got, wanted):
    """Errors in units in the last place of the exact result, less what is allowed next to a zero."""
    with mpmath.workprec(160):
        pairs = [(abs(mpmath.mpf(float(g)) - w), float(w)) for g, w in zip(np.asarray(got), wanted, strict=True)]
        return np.array([max(float(error) - NEAR_ZERO, 0.0) / np.spacing(abs(w)) for error, w in pairs])


@pytest.mark.parametrize("name", MPMATH)
def test_accuracy_in_ulp(name):
    x = samples(name)
    got = jax.jit(getattr(elementary, name))(x)
    error = ulps(got, exact(MPMATH[name], x))
    assert error.max() <= ULPS[name], (name, error.max(), x[error.argmax()])


def test_arctan2_accuracy_in_all_quadrants():
    rng = np.random.default_rng(3)
    y, x = rng.choice([-1, 1], (2, 1200)) * 10.0 ** rng.uniform(-6, 6, (2, 1200))
    error = ulps(jax.jit(elementary.arctan2)(y, x), exact(mpmath.atan2, y, x))
    assert error.max() <= 3


def test_arctan2_on_the_axes():
    y, x = np.array([0.0, 0.0, 1.0, -1.0, 0.0]), np.array([1.0, -1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(elementary.arctan2(y, x), np.arctan2(y, x), rtol=0, atol=0)


@pytest.mark.parametrize("name", MPMATH)
def test_derivatives_follow_the_native_ones(name):
    x = jnp.asarray([-0.99, -0.7, -0.2, 0.0, 0.3, 0.66, 0.95])
    f, g = getattr(elementary, name), NATIVE[name]
    for derive in (lambda h: h, jax.grad, lambda h: jax.grad(jax.grad(h)), lambda h: jax.jacfwd(jax.jacfwd(h))):
        np.testing.assert_allclose(jax.vmap(derive(f))(x), jax.vmap(derive(g))(x), rtol=1e-12, atol=1e-14)


def test_arctan2_derivatives():
    grad = jax.vmap(jax.grad(elementary.arctan2, argnums=(0, 1)))
    native = jax.vmap(jax.grad(jnp.arctan2, argnums=(0, 1)))
    point = jnp.asarray([0.3, -2.0, 1.0]), jnp.asarray([-1.0, 0.1, 2.0])
    np.testing.assert_allclose(grad(*point), native(*point), rtol=1e-13)


@pytest.mark.parametrize("name", MPMATH)
def test_not_a_number_and_infinities(name):
    f = getattr(elementary, name)
    assert np.isnan(f(jnp.nan))
    got, native = np.asarray(f(jnp.asarray([jnp.inf, -jnp.inf]))), NATIVE[name](jnp.asarray([jnp.inf, -jnp.inf]))
    np.testing.assert_array_equal(got, native)


def test_huge_angles_stay_bounded():
    x = 10.0 ** np.arange(6, 300, 3)
    s, c = elementary.sincos(x)
    assert np.all(np.abs(s) <= 1.5) and np.all(np.abs(c) <= 1.5)
    np.testing.assert_allclose(s[:3], np.sin(x[:3]), atol=1e-3)


@pytest.mark.parametrize("name", MPMATH)
def test_float32_and_python_floats(name):
    f = getattr(elementary, name)
    assert f(jnp.float32(0.3)).dtype == jnp.float32
    np.testing.assert_allclose(f(0.3), NATIVE[name](0.3), rtol=1e-15)


def test_sine_and_cosine_are_vectorised_on_a_cpu():
    """No scalar library call is left in the compiled program: the reason for this module."""
    if jax.default_backend() != "cpu":
        pytest.skip("about CPUs")
    program = jax.jit(elementary.sincos).lower(jnp.zeros(64)).as_text()
    assert "sine" not in program and "cosine" not in program
