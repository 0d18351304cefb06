"""Whole programs: the same results with kernels inside, nothing lost, nothing computed twice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from jaxgait.models.bungee.model import Bungee
from jaxgait.native import compiled, native
from jaxgait.native.materialization import computed_once
from jaxgait.native.regions import Block, Kernel, partition
from jaxgait.solve.smooth import Smooth, integrate
from tests.native.programs import tower

X = jnp.linspace(0.1, 2.0, 64)


def fan(x):
    """Eight results that share a tower: XLA alone computes it in each of their loops."""
    y = tower(x)
    return [y + k for k in range(8)]


def loops(x):
    """A while loop, a scan, a branch and a call, one inside the other."""

    def body(carry):
        i, y = carry
        y, ys = jax.lax.scan(lambda c, s: (jax.jit(tower)(0.1 * c) + s, c.sum()), y, jnp.arange(3.0))
        return i + 1, jax.lax.cond(ys.sum() > 0, lambda y: y + 1.0, lambda y: y - 1.0, y) * 0.1

    return jax.lax.while_loop(lambda carry: carry[0] < 3, body, (0, x))[1]


def norms(x):
    """Reductions and a sort between two towers."""
    y = tower(x)
    z = y - jnp.sum(y**2) / jnp.max(jnp.abs(y))
    return {"sum": jnp.sum(z), "tower": tower(0.1 * z), "sorted": jnp.sort(-z)}


def each_its_own_loop(x):
    """Loops of different lengths, side by side."""
    return jax.vmap(lambda x: jax.lax.while_loop(lambda c: c[0] < 5.0, lambda c: (c[0] * 1.5, tower(c[1])), (x, x)))(x)


def coefficients(x):
    """Numbers out of small arrays."""
    table = jnp.stack([jnp.sum(x) * k for k in range(4)])
    return tower(x) * table[2] + jnp.arange(5.0)[3] + table[0:1]


def matrices(x):
    """Rows of several numbers, and products of matrices."""
    A = jnp.outer(x, jnp.arange(1.0, 4.0))
    return tower(0.01 * A) @ jnp.ones((3, 2)), tower(x), tower(0.01 * A.T)


def analysed(function):
    block = Block(jax.make_jaxpr(function)(X))
    return block, partition(block)


@pytest.mark.parametrize(
    "function",
    [tower, fan, loops, each_its_own_loop, norms, coefficients, matrices, jax.vmap(jax.grad(tower)), jax.jacfwd(tower)],
)
def test_results_stay_the_same(function):
    found, expected = compiled(function, X)(X), jax.jit(function)(X)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13), found, expected)


def test_one_trajectory_and_its_events_stay_the_same():
    model, ts = Bungee(), jnp.linspace(0.0, 20.0, 50)
    run = lambda ts: integrate(model, ts, Smooth.of(model))
    found, expected = compiled(run, ts)(ts), jax.jit(run)(ts)
    assert int(found.status) == int(expected.status)
    np.testing.assert_allclose(found.ys.x, expected.ys.x, rtol=1e-9)


def test_straight_line_code_becomes_one_kernel():
    _, (kernel,) = analysed(fan)
    assert isinstance(kernel, Kernel) and len(kernel.outputs) == 8


def test_operations_stay_before_or_after_the_reduction_that_they_depend_on():
    steps = analysed(norms)[1]
    kinds = ["kernel" if isinstance(s, Kernel) else s.primitive.name for s in steps]
    assert kinds.index("kernel") < kinds.index("reduce_sum") < len(kinds) - kinds[::-1].index("kernel") - 1
    assert kinds.count("kernel") == 2


def test_few_operations_stay_with_xla():
    assert not any(isinstance(s, Kernel) for s in analysed(lambda x: 2.0 * x + 1.0)[1])


def test_programs_with_little_arithmetic_stay_with_xla():
    def shuffled(x, times):
        for _ in range(times):
            x = jnp.concatenate([x[3:], x[:3]])
        return jnp.tanh(tower(x))

    count = lambda times: sum(isinstance(s, Kernel) for s in analysed(lambda x: shuffled(x, times))[1])
    assert count(5) == 1 and count(50) == 0
    np.testing.assert_allclose(compiled(lambda x: shuffled(x, 50), X)(X), shuffled(X, 50), rtol=1e-12)


def test_equal_expressions_are_merged_and_dead_ones_dropped():
    block, _ = analysed(lambda x: (x * 2.0 + 2.0 * x, jnp.sin(x))[0])
    assert [e.primitive.name for e in block.equations] == ["mul", "add"]


def test_computed_once_leaves_no_operation():
    block, _ = analysed(lambda x: computed_once(computed_once(x) * 3.0) + 1.0)
    assert [e.primitive.name for e in block.equations] == ["mul", "add"]


def test_derivatives_of_hidden_values_have_their_shapes():
    run = jax.vmap(jax.jacfwd(lambda p: jnp.sum(computed_once(p * p)) * computed_once(p[0] + 0.0 * p[1])))
    points = jnp.stack([X, 2.0 * X], axis=1)
    np.testing.assert_allclose(compiled(run, points)(points), run(points), rtol=1e-13)


def test_programs_have_the_same_names_in_every_process():
    call = lambda: [line for line in jax.jit(native(tower)).lower(X).as_text().splitlines() if "custom_call" in line]
    assert call() == call() and "jaxgait_" in call()[0]


def test_values_of_an_outer_program_are_inputs():
    outer = lambda x, a: native(lambda x: tower(x) * a + x)(x)
    np.testing.assert_allclose(jax.jit(outer)(X, jnp.asarray(2.0)), outer(X, jnp.asarray(2.0)), rtol=1e-12)
    np.testing.assert_allclose(jax.jit(outer)(X, jnp.asarray(3.0)), tower(X) * 3.0 + X, rtol=1e-12)


def test_single_precision_stays_single():
    with jax.enable_x64(False):
        x = jnp.linspace(0.1, 2.0, 64)
        run = lambda x: jnp.tanh(tower(x)) + jnp.exp(-x)
        found = compiled(run, x)(x)
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, run(x), rtol=1e-6)


def test_effects_are_kept():
    seen = []

    def announced(x):
        jax.debug.callback(lambda total: seen.append(float(total)), x.sum())
        return tower(x)

    jax.block_until_ready(compiled(announced, X)(X))
    jax.effects_barrier()
    assert seen == pytest.approx([float(X.sum())])


def recorder(calls, where):
    return lambda x: calls.append((where, float(x)))


def in_order(x, calls):
    """Says something before and after a kernel, in a loop and without any need of the kernel."""
    record = lambda where, x: io_callback(recorder(calls, where), None, x, ordered=True)
    record("begin", x[0])
    y = tower(x)
    record("tower", y[0])
    record("constant", jnp.asarray(7.0))
    jax.lax.fori_loop(0, 2, lambda i, z: (record("loop", z[0]), tower(z))[1], 0.1 * y)
    record("end", x[1])
    return y


def test_ordered_effects_keep_their_order():
    found, expected = [], []
    jax.block_until_ready(compiled(lambda x: in_order(x, found), X)(X))
    jax.block_until_ready(jax.jit(lambda x: in_order(x, expected))(X))
    jax.effects_barrier()
    assert [where for where, _ in found] == ["begin", "tower", "constant", "loop", "loop", "end"]
    assert found == [(where, pytest.approx(x)) for where, x in expected]


def test_ordered_prints_keep_their_order(capfd):
    def talks(x):
        jax.debug.print("first {}", tower(x)[0], ordered=True)
        jax.debug.print("second", ordered=True)
        return tower(x)

    jax.block_until_ready(compiled(talks, X)(X))
    jax.effects_barrier()
    assert [line.split()[0] for line in capfd.readouterr().out.splitlines()] == ["first", "second"]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (16, 0)])
def test_empty_batches_come_out_empty(shape):
    x = jnp.zeros(shape)
    for function in (tower, each_its_own_loop) if len(shape) == 1 else (tower, lambda x: tower(x).sum(axis=0)):
        found, expected = compiled(function, x)(x), jax.jit(function)(x)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.shape == b.shape and a.dtype == b.dtype


def test_empty_parts_do_not_disturb_the_others():
    def both(x, none):
        return tower(x), tower(none), tower(x)[:, None] * none

    none = jnp.zeros((X.size, 0))
    found, expected = compiled(both, X, none)(X, none), jax.jit(both)(X, none)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), found, expected)


def test_keyword_arguments_pass():
    def run(x, *, scale, shift=1.0, name="tower"):
        return {name: tower(x) * scale + shift}

    a = jnp.asarray(2.0)
    found = jax.jit(native(run), static_argnames="name")(X, scale=a, name="other")
    np.testing.assert_allclose(found["other"], tower(X) * 2.0 + 1.0, rtol=1e-12)
    np.testing.assert_allclose(compiled(run, X, scale=a, shift=a)(X, scale=a, shift=a)["tower"], tower(X) * 2 + 2)


def test_transformations_belong_inside():
    several = jnp.stack([X, 0.5 * X, 0.2 * X])  # (one after the other)
    np.testing.assert_allclose(jax.jit(jax.vmap(native(tower)))(several), tower(several), rtol=1e-12)
    with pytest.raises(
        ValueError, match=r"what native has compiled cannot be differentiated: write native\(jax.jacfwd"
    ):
        jax.jacfwd(native(tower))(X)


@pytest.mark.slow
def test_threads_may_compile_and_run_at_once():
    from concurrent.futures import ThreadPoolExecutor

    def work(n):
        x = jnp.linspace(0.1, 0.2, n)
        return np.abs(compiled(tower, x)(x) - tower(x)).max()

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(work, [5, 6, 5, 7, 6, 9])) < 1e-13
