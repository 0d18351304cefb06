"""On a GPU: the kernels that `test_threads` runs on this processor."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.benchmarks.gpu import gpu
from jaxgait.native import looped
from tests.native.programs import turning
from tests.native.test_looping import PROGRAMS

pytestmark = [
    pytest.mark.skipif(gpu() is None, reason="JAX finds no GPU"),
    pytest.mark.usefixtures("short_loops", "small_shared_memory"),
]


def on_both(function, *args, rtol=1e-12):
    run = jax.jit(jax.vmap(looped(function)))
    ours, reference = (run(*jax.device_put(args, d)) for d in (gpu(), jax.devices("cpu")[0]))
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(reference), strict=True):
        assert a.devices() == {gpu()} and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0.0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_are_those_of_cpus(name):
    function, args = PROGRAMS[name]
    on_both(function, jnp.asarray(args), rtol=1e-5 if args.dtype == np.float32 else 1e-12)


def test_many_members_and_the_same_array_twice():
    """XLA hands the same address for both operands."""
    x = jnp.linspace(0.3, 1.2, 100_003)
    body = lambda c: (0.5 * c[0] + 0.1 * jnp.sin(c[1] * c[0]), c[1], c[2] + 1)
    function = lambda x, y: jax.lax.while_loop(lambda c: c[2] < 5 + (10 * x).astype(int), body, (x, y, 0))
    run = jax.jit(lambda x: jax.vmap(looped(function))(x, x))
    reference = run(jax.device_put(x, jax.devices("cpu")[0]))
    for a, b in zip(run(jax.device_put(x, gpu())), reference, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_angles_and_remainders_of_any_size():
    on_both(turning, jnp.linspace(1e9, 1e12, 70), rtol=1e-13)


def test_an_empty_batch():
    assert jax.jit(jax.vmap(looped(PROGRAMS["memory"][0])))(jnp.zeros(0))[0].shape == (0, 100)
