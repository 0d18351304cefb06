"""Arrays in memory that are updated: a program that needs an older version, too, is left to XLA.

Kernels update in place. `rec.at[k].set(x)` is another array, after which only that one may be used.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import explain
from tests.native.programs import kernel

pytestmark = pytest.mark.usefixtures("short_loops")

X = jnp.linspace(0.5, 1.5, 9)


def repeated(rounds, step, *initial):
    """A loop whose step takes its number and the carried values."""
    body = lambda s: (s[0] + 1, *step(*s))
    return jax.lax.while_loop(lambda s: s[0] < rounds, body, (0, *initial))[1:]


def series(x, k):
    """Seventy numbers that a loop stacks, too many for registers."""
    return jax.lax.scan(lambda c, _: (jnp.sin(c) + 0.1 * x, c * c), x + 0.1 * k, None, length=70)[1]


def older_temporary_begins_a_loop(x):
    def step(k, total):
        whole = series(x, k)
        total += 1e-3 * whole.at[2].set(1000.0)[k]
        (after,) = repeated(5, lambda i, y: (y.at[i + 1].add(0.5 * y[i]),), whole)
        return (total + after[3],)

    return repeated(3, step, 0.0)


def older_record_begins_a_loop(x):
    def step(k, record, total):
        total = jnp.sin(total) + 1e-3 * record.at[k].set(1000.0 * x)[k]
        (record,) = repeated(k, lambda i, y: (y.at[i].add(total),), record)
        return record, total

    return repeated(5, step, jnp.zeros(300), 0.0)


OLDER = (older_temporary_begins_a_loop, older_record_begins_a_loop)


@pytest.mark.parametrize("function", OLDER)
def test_an_older_version_does_not_begin_a_loop(function):
    assert explain(function, 1.0) == "left to XLA: an array that is used after an updated copy was made"
    for found, expected in zip(kernel(function)(X), jax.vmap(function)(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
