"""What nobody needs is left out of kernels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import looped, native
from jaxgait.native.code import everything
from jaxgait.native.members import outermost


@pytest.fixture(autouse=True)
def worthwhile(monkeypatch):
    """Every loop becomes a kernel, however short."""
    monkeypatch.setattr("jaxgait.native.members.WORTHWHILE", 0)


def test_values_and_carried_values_that_nobody_needs():
    def function(x):
        def inner(c):
            k, y, unused = c
            return k + 1, y * 0.5, jnp.exp(unused) + y

        def step(c):
            k, y = c
            _, halved, _ = jax.lax.while_loop(lambda c: c[0] < 2, inner, (0, y, jnp.sin(y)))
            return k + 1, halved + 1.0

        return jax.lax.while_loop(lambda c: c[0] < 5, step, (0, x))[1]

    statements = outermost(function, 1.0)[0].code.vectors.statements  # type: ignore[union-attr]
    names = {getattr(s, "name", "") for s in everything(statements)}
    assert "mul" in names and not names & {"exp", "sin", "round"}
    x = jnp.linspace(0.0, 3.0, 11)
    np.testing.assert_array_equal(jax.jit(native(jax.vmap(looped(function))))(x), jax.vmap(function)(x))
