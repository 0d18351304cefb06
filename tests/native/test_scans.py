"""Loops over arrays as kernels: equal to JAX's own, whatever they go over and stack."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from jaxgait.native import explain, looped, native
from jaxgait.native.looping import LOOP
from tests.native.programs import kernel, loops_left

pytestmark = [pytest.mark.usefixtures("short_loops"), pytest.mark.filterwarnings("error::RuntimeWarning")]


def smoothed(x):
    """Sums of a series from its end, and what they come from."""
    step = lambda c, row: (0.7 * c + jnp.sin(row[0]) * row[1].astype(float), (c, row[0] > c, row[1]))
    return jax.lax.scan(step, x, (x * jnp.arange(90.0), jnp.arange(90)), reverse=True)


def rows(x):
    """Rows of matrices, of which some are stacked in another type."""
    step = lambda c, row: (c @ row + 0.1, (row[1] * c.sum(), (c[0] * 10.0).astype(jnp.int32)))
    return jax.lax.scan(step, jnp.stack([x, 1.0 - x]), x * jnp.linspace(-0.5, 0.5, 40).reshape(10, 2, 2))


def chosen(x):
    """A loop over arrays in a branch, whose arrays are that branch's own."""

    def body(c, a):
        long = lambda: jax.lax.scan(lambda z, _: (0.5 * z + jnp.sin(x * a), z), c, length=70)[1][63]
        return jax.lax.cond(c + a > 1.0, long, lambda: c + 1.0), c

    return jax.lax.scan(body, x, jnp.linspace(0.0, 1.0, 12))


def resting(x):
    """A member's own number of rounds inside of each round."""

    def step(y, n):
        y = jax.lax.while_loop(lambda z: z > 1.0 + 0.01 * n, lambda z: 0.7 * z, y + x)
        return y, y

    return jax.lax.scan(step, x, jnp.arange(70.0))


def counted(x):
    """Nothing to go over and nothing to stack."""
    return jax.lax.fori_loop(0, 100, lambda i, y: 0.9 * y + jnp.sin(x + i.astype(float)), x)


PROGRAMS = {
    "smoothed": smoothed,
    "rows": rows,
    "chosen": chosen,
    "resting": resting,
    "counted": counted,
}
X = np.array([0.4, -1.5, 3.0, 0.0, 17.0, 0.9, 0.1, -0.2, 1.7, 0.6, 5.0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_over_arrays_are_those_of_jax(name):
    agrees(PROGRAMS[name], jnp.asarray(X), 1e-11)


def test_loops_over_arrays_are_those_of_jax_in_float32():
    with jax.enable_x64(False):
        agrees(chosen, jnp.asarray(X, "float32"), 2e-4)


def agrees(function, x, tolerance):
    assert loops_left(function, x[0]) == [LOOP.name]
    found, expected = kernel(function)(x), jax.jit(jax.vmap(function))(x)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_every_member_is_as_if_it_were_alone():
    """Bit for bit, in vectors of any width, in any order, and next to one that is undefined."""
    x, run = jnp.asarray(X), kernel(chosen)
    poisoned, others = run(x.at[3].set(jnp.nan)), np.arange(x.size) != 3
    for a, back, bad, *ones in zip(
        *map(jax.tree.leaves, (run(x), run(x[::-1]), poisoned, run(x[:1]), run(x[4:5]))), strict=True
    ):
        np.testing.assert_array_equal(a, back[::-1])
        np.testing.assert_array_equal(a[others], bad[others])
        np.testing.assert_array_equal(a[np.array([0, 4])], np.concatenate(ones))
    assert np.isnan(poisoned[0][3])


def test_arrays_may_be_the_same_for_all_members():
    """And what is stacked is thrown away."""
    over = jnp.linspace(0.0, 1.0, 70)
    function = lambda x, over: jax.lax.scan(lambda c, a: (c + a * x, (c, a)), x, over)[1][0][-1]
    run = lambda f: jax.jit(native(jax.vmap(f, in_axes=(0, None))))(jnp.asarray(X), over)
    np.testing.assert_allclose(run(looped(function)), run(function), rtol=1e-13)


def test_derivatives_go_backward_over_arrays_that_were_stacked():
    final = lambda x: jax.lax.scan(lambda c, a: (jnp.sin(c) + a * x, c), x, jnp.arange(30.0))[0]
    back = jax.jacrev(final)
    assert "scan" not in loops_left(back, X[0])
    expected = jax.vmap(jax.jacfwd(final))(jnp.asarray(X))
    np.testing.assert_allclose(kernel(back)(jnp.asarray(X)), expected, rtol=1e-9)


def test_what_kernels_cannot_do_is_left_to_xla():
    none = lambda x: jax.lax.scan(lambda c, a: (c + a, c), x, jnp.zeros(0))
    large = lambda x: jax.lax.scan(lambda c, a: (c + a, c * jnp.arange(99.0)), x, jnp.arange(9.0))
    huge = lambda x: jax.lax.scan(
        lambda c, a: (jax.lax.scan(lambda d, b: (d + b, d), c, a + jnp.arange(2100.0))[1][7], c), x, jnp.arange(9.0)
    )
    reasons = ("a loop without iterations", "an array", "a constant array", "temporary arrays of 16800 bytes in a loop")
    for function, reason in zip((none, large, huge), reasons, strict=False):
        assert explain(function, 1.0).startswith("left to XLA: "), reason
        agree = zip(*(jax.tree.leaves(f(jnp.asarray(X))) for f in (kernel(function), jax.vmap(function))), strict=True)
        for a, b in agree:
            np.testing.assert_allclose(a, b, rtol=1e-13)


KINDS = {
    "f": (lambda c, a: c * 0.5 + a, lambda c, a: jnp.sin(c) * a, lambda c, a: jnp.where(a > c, a, -c)),
    "i": (lambda c, a: c + (a > 0.3).astype(jnp.int32), lambda c, a: jnp.right_shift(c, 1) - 3, lambda c, a: -c),
    "b": (lambda c, a: ~c, lambda c, a: c & (a > 0.0), lambda c, a: c | (a < -0.5)),
}
"""Operations on a carried number and one that is gone over, by type."""


@st.composite
def programs(draw):
    """Which operation for each type, how many rounds, in which order, and what is stacked and used."""
    which = {kind: draw(st.integers(0, 2)) for kind in KINDS}
    length, reverse = draw(st.sampled_from([1, 2, 9, 70])), draw(st.booleans())
    return which, length, reverse, draw(st.lists(st.sampled_from("fib"), max_size=3)), draw(st.booleans())


@settings(max_examples=5, deadline=None)
@given(programs(), st.sampled_from(["float64", "float32"]))
def test_random_loops_over_arrays_are_those_of_jax(program, dtype):
    which, length, reverse, kept, inner = program
    over = jnp.asarray(np.random.default_rng(1).normal(size=length), dtype)

    def advance(c, a):
        new = {kind: KINDS[kind][which[kind]](x, a).astype(x.dtype) for kind, x in c.items()}
        if inner:
            new["f"] = jax.lax.scan(lambda z, b: (0.5 * z + b * a, z), new["f"], over, reverse=not reverse)[1][0]
        return new, [new[kind] for kind in kept]

    def function(x):
        start = {"f": x, "i": jnp.int32(5), "b": x > 0.0}
        return jax.lax.scan(advance, start, over * x, reverse=reverse)

    x = jnp.asarray([0.0, -0.0, 1.5, -2.0, np.nan, 3e-5, 0.7, 2.0, -1.0], dtype)
    found, expected = kernel(function)(x), jax.vmap(function)(x)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4 if dtype == "float32" else 1e-11, atol=1e-5)
