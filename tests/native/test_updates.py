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


def constant_is_updated_in_a_loop(x):
    def step(k, total):
        whole = series(x, k)
        return repeated(6, lambda i, y: (y + whole[i] + 1e-3 * whole.at[i + 1].set(1000.0)[i + 1],), total)

    return repeated(3, step, 0.0)


def constant_is_updated_in_a_scan(x):
    def step(k, total):
        whole = series(x, k)

        def inner(y, i):
            y = 0.9 * y + whole[i]
            trial = whole.at[i + 1].set(1000.0)
            return jnp.sin(jnp.sin(jnp.sin(y))) + 1e-3 * trial[i + 1], None

        return (jax.lax.scan(inner, total, jnp.arange(20))[0],)

    return repeated(3, step, 0.0)


def constant_is_updated_in_a_branch_of_a_loop(x):
    def step(k, total):
        whole = series(x, k)
        trial = lambda i: 1e-3 * whole.at[i + 1].set(1000.0)[i + 1]
        choice = lambda i, y: jax.lax.cond(y > 1.0, trial, lambda i: 0.1 * x, i)
        return repeated(6, lambda i, y: (y + whole[i] + choice(i, y),), total)

    return repeated(3, step, 0.0)


def constant_is_updated_in_the_condition_of_a_loop(x):
    def step(k, total):
        whole = series(x, k)
        going = lambda s: (s[0] < 6) & (s[1] + whole[s[0]] < 1e3 + whole.at[s[0] + 1].set(1000.0)[s[0] + 1])
        return (jax.lax.while_loop(going, lambda s: (s[0] + 1, s[1] + jnp.cos(s[1])), (0, total))[1],)

    return repeated(3, step, 0.0)


def carried_by_an_inner_loop_only(x):
    def step(k, total):
        whole = series(x, k)

        def middle(i, y):
            (inner,) = repeated(3, lambda j, z: (z.at[i + j + 1].set(1000.0),), whole)
            return (y + 1e-3 * inner[i + 2],)

        return repeated(6, middle, total + whole[3])

    return repeated(3, step, 0.0)


def agrees(function):
    for found, expected in zip(kernel(function)(X), jax.vmap(function)(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11)


OLDER = (older_temporary_begins_a_loop, older_record_begins_a_loop)


@pytest.mark.parametrize("function", OLDER)
def test_an_older_version_does_not_begin_a_loop(function):
    assert explain(function, 1.0) == "left to XLA: an array that is used after an updated copy was made"
    agrees(function)


def operand_is_updated_in_a_loop(x):
    whole = x * jnp.arange(300.0)
    return repeated(6, lambda i, y: (y + whole[i] + 1e-3 * whole.at[i + 1].set(1000.0)[i + 1],), 0.0)


NOT_CARRIED = (
    operand_is_updated_in_a_loop,
    *(constant_is_updated_in_a_loop, constant_is_updated_in_a_scan, constant_is_updated_in_a_branch_of_a_loop),
    *(constant_is_updated_in_the_condition_of_a_loop, carried_by_an_inner_loop_only),
)


@pytest.mark.parametrize("function", NOT_CARRIED)
def test_a_loop_does_not_update_what_it_does_not_carry(function):
    assert explain(function, 1.0) == "left to XLA: a large array that a loop updates, but does not carry"
    agrees(function)


def temporaries_of_each_round(x):
    """A loop makes an array, and inner ones update it one after the other."""

    def step(k, total):
        (once,) = repeated(5, lambda i, y: (y.at[i + 1].add(0.5 * y[i]),), series(x, k))
        (twice,) = repeated(5, lambda i, y: (y.at[i].set(y[i + 1] * total),), once)
        return (total + twice[k] + twice[4],)

    return repeated(3, step, 0.0)


def test_arrays_that_are_used_in_order_are_updated_in_place():
    assert explain(temporaries_of_each_round, 1.0).startswith("a kernel of ")
    agrees(temporaries_of_each_round)
