"""Unused values are left out of kernels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import explain
from jaxgait.native.code import everything, loops
from jaxgait.native.looping import outermost
from tests.native.programs import kernel

pytestmark = pytest.mark.usefixtures("short_loops")


def test_unused_values_and_carried_values_are_left_out():
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
    np.testing.assert_array_equal(kernel(function)(x), jax.vmap(function)(x))


def test_unused_records_are_left_out():
    """Neither memory nor the loop that fills it; what remains keeps its bits."""

    def function(x):
        def put(c):
            record, k = c
            return record.at[k].set(jnp.exp(x) * k), k + 1

        def step(c):
            records, last, y, k = c
            record, last = jax.lax.while_loop(lambda c: c[1] <= 8 * k, put, (records[0], last))
            whole = records[1].at[k].set(y)
            return (record, whole), last, y * 0.5 + x * x + whole[k // 2], k + 1

        start = ((jnp.zeros(100), jnp.zeros(100)), 0, x, 0)
        return jax.lax.while_loop(lambda c: c[3] < 10, step, start)

    code = lambda f: outermost(f, 1.0)[0].code.vectors  # type: ignore[union-attr]
    whole, end = code(function), code(lambda x: function(x)[2])
    assert [loops(c.statements) for c in (whole, end)] == [2, 1]
    assert [len(c.results) for c in (whole, end)] == [5, 2]  # y, and the record that it reads
    assert "1 loops, 1 arrays in memory" in explain(lambda x: function(x)[2], 1.0)
    x = jnp.linspace(0.0, 1.0, 11)
    run = lambda function: kernel(function)(x)
    np.testing.assert_array_equal(run(lambda x: function(x)[2]), run(function)[2])
