"""The pass that stores what XLA would compute again: same results, less work, nothing lost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.bungee import Bungee
from jaxgait.solve.integrate import integrate, settings_for
from jaxgait.solve.sharing import Block, compiled, sharing, worth_storing

X = jnp.linspace(0.1, 2.0, 64)


def tower(x):
    """Forty operations, one after the other."""
    for _ in range(10):
        x = x * x - 0.5 * x + 0.1
    return x


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
    return {"sum": jnp.sum(x**2), "largest": jnp.max(jnp.abs(x)), "sorted": jnp.sort(-x)}


@pytest.mark.parametrize("function", [tower, fan, loops, norms, jax.vmap(jax.grad(tower))])
def test_results_stay_the_same(function):
    found, expected = compiled(function, X)(X), jax.jit(function)(X)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), found, expected)


def test_one_trajectory_and_its_events_stay_the_same():
    model, ts = Bungee(), jnp.linspace(0.0, 20.0, 50)
    run = lambda ts: integrate(model, ts, settings_for(model))
    found, expected = compiled(run, ts)(ts), jax.jit(run)(ts)
    assert int(found.status) == int(expected.status)
    np.testing.assert_allclose(found.ys.x, expected.ys.x, rtol=1e-9)


def analysed(function):
    program = jax.make_jaxpr(function)(X)
    block = Block()
    results = block.include(program.jaxpr, [], [block.value(v.aval) for v in program.jaxpr.invars])
    block.keep(results)
    return block, worth_storing(block, results)


def test_shared_work_is_stored_and_nothing_else():
    assert len(analysed(fan)[1]) == 1  # the top of the tower
    assert not analysed(tower)[1]  # one loop computes it all
    assert not analysed(lambda x: [x + 1.0 + k for k in range(8)])[1]  # cheaper computed again than stored


def test_the_compiler_repeats_less():
    count = lambda program: program.compile().as_text().count(" multiply(")
    plain = count(jax.jit(fan).lower(X))
    shared = count(jax.jit(sharing(fan)).lower(X))
    assert plain == 8 * 20 and shared == 20


def test_equal_expressions_are_merged_and_dead_ones_dropped():
    block, _ = analysed(lambda x: (x * 2.0 + x * 2.0, jnp.sin(x))[0])
    assert [e.primitive.name for e in block.equations] == ["mul", "add"]


def test_effects_are_kept():
    seen = []

    def told(x):
        jax.debug.callback(lambda total: seen.append(float(total)), x.sum())
        return x + 1.0

    jax.block_until_ready(compiled(told, X)(X))
    jax.effects_barrier()
    assert seen == pytest.approx([float(X.sum())])
