"""Vectors that are refilled: the same bits as vectors that wait, whatever members there are and in whatever order."""

import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import looped, loops, native
from jaxgait.native.refilling import assembly
from tests.native.programs import root

pytestmark = pytest.mark.usefixtures("short_loops")

LENGTHS = np.random.default_rng(5).integers(0, 40, 61)


def sums(n, x):
    """A number of rounds for each member, none for some; starts from a truth value, constants and a shared number."""

    def body(c):
        i, y, odd, seen = c
        return i + 1, y + jnp.sin(x * i) / (1.0 + y * y), ~odd, jnp.maximum(seen, i)

    return jax.lax.while_loop(lambda c: c[0] < n, body, (0, x, False, jnp.int32(-1).astype(n.dtype)))


def samples(n, x):
    """An array in memory, which every round writes a number to and reads another one from."""

    def body(c):
        i, y, kept = c
        y = jnp.cos(y + kept[jnp.maximum(i - 3, 0)])
        return i + 1, y, kept.at[i].set(y)

    return jax.lax.while_loop(lambda c: c[0] < n, body, (0, x, jnp.full(70, x)))


def triangles(n, x):
    """A loop in a loop."""

    def body(c):
        i, y = c
        inner = lambda c: (c[0] + 1, 0.5 * c[1] + jnp.sqrt(c[0] + x))
        return i + 1, jax.lax.while_loop(lambda c: c[0] < i, inner, (0, y))[1]

    return jax.lax.while_loop(lambda c: c[0] < n, body, (0, x))


def run(function, monkeypatch, make, *args, in_axes=0):
    monkeypatch.setattr("jaxgait.native.looping.assembly", make)
    return jax.jit(native(jax.vmap(looped(function), in_axes=in_axes)))(*args)


def same(found, expected):
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.slow
@pytest.mark.parametrize("members", [1, 8, 9, 61])
@pytest.mark.parametrize("function", [sums, samples, triangles])
def test_bits_are_those_of_vectors_that_wait(function, members, monkeypatch):
    n, x = jnp.asarray(LENGTHS[:members]), jnp.linspace(0.1, 2.0, members)
    expected = run(function, monkeypatch, loops.assembly, n, x)
    same(run(function, monkeypatch, assembly, n, x), expected)
    order = np.random.default_rng(1).permutation(members)
    back = np.argsort(order)
    same(jax.tree.map(lambda y: y[back], run(function, monkeypatch, assembly, n[order], x[order])), expected)


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0)])
def test_operands_may_be_the_same_for_all(in_axes, monkeypatch):
    n, x = jnp.asarray(LENGTHS), jnp.linspace(0.1, 2.0, 61)
    args = (n, x[7]) if in_axes[1] is None else (n[5], x)
    same(*(run(sums, monkeypatch, make, *args, in_axes=in_axes) for make in (assembly, loops.assembly)))


def test_single_precision_and_members_without_an_end(monkeypatch):
    a = jnp.asarray([4.0, 0.0, jnp.nan, jnp.inf, *np.linspace(1e-6, 1e6, 40)], jnp.float32)
    single = lambda a: jax.lax.while_loop(
        lambda c: (jnp.abs(c[0] * c[0] - a) > 1e-6 * a) & (c[1] < 60),
        lambda c: (0.5 * (c[0] + a / c[0]), c[1] + 1),
        (a, 0),
    )
    same(*(run(single, monkeypatch, make, a) for make in (assembly, loops.assembly)))
    same(*(run(root, monkeypatch, make, a.astype(float)) for make in (assembly, loops.assembly)))


def test_short_members_do_not_wait_for_long_ones(monkeypatch):
    """One member in eight is long: vectors that wait take nearly eight times as long."""
    n, x = jnp.asarray([20_000, *[1] * 7] * 16), jnp.linspace(0.1, 2.0, 128)
    programs = []
    for make in (loops.assembly, assembly):
        monkeypatch.setattr("jaxgait.native.looping.assembly", make)
        programs.append(jax.jit(native(jax.vmap(looped(sums)))).lower(n, x).compile())
    seconds = []
    for program in programs * 3:
        start = time.process_time()
        jax.block_until_ready(program(n, x))
        seconds.append(time.process_time() - start)
    assert min(seconds[::2]) > 3.0 * min(seconds[1::2])


BETWEEN_GUARDS = """
import ctypes, mmap, sys
import jax, jax.numpy as jnp, numpy as np
from jaxgait.native import explain, looped, native

jax.config.update("jax_enable_x64", True)
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
memory = mmap.mmap(-1, 3 * mmap.PAGESIZE)
begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
for page in (begin, begin + 2 * mmap.PAGESIZE):
    assert libc.mprotect(page, mmap.PAGESIZE, 0) == 0  # neither read nor written
numbers = np.frombuffer(memory, np.float64, mmap.PAGESIZE // 8, mmap.PAGESIZE)
numbers[:] = np.linspace(0.0, 1.0, numbers.size)
over = jax.dlpack.from_dlpack(numbers)
assert over.unsafe_buffer_pointer() == begin + mmap.PAGESIZE  # where they are, without a copy

def function(x, over):
    def step(c, a):
        for _ in range(12):
            c = 0.5 * jnp.sin(c) + a * x
        return c, None

    return [jax.lax.scan(step, x, over, reverse=back)[0] for back in (False, True)]

x = jnp.linspace(0.5, 1.5, 9)
assert explain(function, 1.0, over).count("a kernel of") == 2
batch = lambda f: jax.jit(native(jax.vmap(f, in_axes=(0, None))))
np.testing.assert_allclose(batch(looped(function))(x, over), batch(function)(x, over), rtol=1e-9)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="protects pages of memory as Linux does")
def test_lanes_without_a_member_do_not_read_past_an_array():
    """Nine members in vectors of eight: the second time, seven lanes have none."""
    done = subprocess.run([sys.executable, "-c", BETWEEN_GUARDS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
