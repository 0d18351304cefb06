"""Exponential and hyperbolic functions in arithmetic, against extended precision."""

import jax
import numpy as np
import pytest

from jaxgait.native.expansions import EXPANSIONS

EXACT = {
    "exp": np.exp,
    "tanh": np.tanh,
    "logistic": lambda x: np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x))),
}
ULP = {"exp": 2.0, "tanh": 3.0, "logistic": 4.0}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EXPANSIONS)
def test_accuracy(name, dtype):
    rng = np.random.default_rng(0)
    # Results stay normal numbers: the largest |x| is where exp(x) becomes denormal.
    x = np.concatenate([rng.normal(0, s, 20000) for s in (1e-3, 0.3, 1.0, 20.0)]).astype(dtype)
    wide = x.astype(np.longdouble if dtype == np.float64 else np.float64)
    exact = EXACT[name](wide)
    error = np.abs(np.asarray(jax.jit(EXPANSIONS[name])(x)) - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert error.max() < ULP[name]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EXPANSIONS)
def test_ends(name, dtype):
    x = np.array([0.0, -0.0, 1e4, -1e4, np.inf, -np.inf, np.nan], dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = EXACT[name](np.where(np.isinf(x), np.copysign(1e4, x), x))
    if name == "logistic":
        expected = np.array([0.5, 0.5, 1.0, 0.0, 1.0, 0.0, np.nan])
    np.testing.assert_array_equal(jax.jit(EXPANSIONS[name])(x), expected.astype(dtype))


def test_smallest_results():
    x = np.linspace(-720.0, -690.0, 200)  # XLA runs everything with denormal numbers flushed to zero
    np.testing.assert_allclose(jax.jit(EXPANSIONS["exp"])(x), np.exp(x), rtol=1e-15, atol=np.finfo(float).tiny)
