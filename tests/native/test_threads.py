"""Kernels of GPUs, run on this processor thread after thread: equal to those of CPUs bit for bit."""

import ctypes
import hashlib
import math
import re

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from jax.extend.core import Literal

from jaxgait.native import calls, looped
from jaxgait.native.code import Code, Loop, Unsupported
from jaxgait.native.functions.library import FUNCTIONS
from jaxgait.native.instructions import Operation
from jaxgait.native.looping import LOOP
from jaxgait.native.passes import fused
from jaxgait.native.primitives import bind
from jaxgait.native.primitives import results as results_of
from jaxgait.native.ptx import POSITION, block_threads, kernel
from tests.native.programs import turning
from tests.native.test_looping import PROGRAMS

SENTINEL = 77
LOADED = re.compile(r'call (\w+) asm sideeffect "ld\.shared[^"]+", "[^"]+"\((ptr addrspace\(3\) .*)\) memory.*$', re.M)
"""A load from shared memory."""


# Machine code that contains addresses of this process must not be kept.
pytestmark = pytest.mark.usefixtures("short_loops", "small_shared_memory", "no_cache")


def on_this_processor(text, where):
    """A kernel of a GPU whose threads find in memory which they are."""
    text = text.replace("ptx_kernel ", "")
    for i, register in enumerate(POSITION):
        function = f"i32 @llvm.nvvm.read.ptx.sreg.{register}()"
        text = text.replace(f"declare {function}\n", "")
        text = text.replace(f"call {function}", f"load i32, ptr inttoptr (i64 {where.ctypes.data + 4 * i} to ptr)")
    text = LOADED.sub(r"load volatile \1, \2", text)
    name = f"threads_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return calls.address(name, text.replace("KERNEL", name), optimised=True)


def as_threads(inputs, **params):
    """Runs a loop as a GPU would: whole blocks of threads, of which those beyond the last member do nothing."""
    code, members, shared = params["code"].it.threads, params["members"], params["shared"]
    operands = [np.ascontiguousarray(x) for x in inputs]
    sizes = [math.prod(x.shape[0 if same else 1 :]) for x, same in zip(operands, shared, strict=True)]
    size = block_threads(members)
    where, blocks = np.array([0, size, 0], np.int32), -(-members // size)
    address = on_this_processor(kernel(code, members, shared, sizes), where)
    whole = results_of(params["loop"].it)
    avals = [whole[i] for i in code.given]
    results = [np.full((blocks * size, *a.shape), np.asarray(SENTINEL).astype(a.dtype)) for a in avals]
    pointers = [x.ctypes.data for x in (*operands, *results)]
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(address)
    for block, thread in np.ndindex(blocks, size):
        where[[0, 2]] = block, thread
        run(*pointers)
    for x in results:
        assert (x[members:] == np.asarray(SENTINEL).astype(x.dtype)).all()
    return [jnp.asarray(x[:members]) for i, x in zip(code.given, results, strict=True) if params["wanted"][i]]


def evaluated(program, args, loop):
    """A program's results, its loops run by a function."""
    known = dict(zip((*program.jaxpr.constvars, *program.jaxpr.invars), (*program.consts, *args), strict=True))
    get = lambda v: v.val if isinstance(v, Literal) else known[v]
    for e in program.jaxpr.eqns:
        inputs = [get(v) for v in e.invars]
        found = loop(inputs, **e.params) if e.primitive is LOOP else bind(e.primitive, inputs, e.params)
        known.update(zip(e.outvars, found, strict=True))
    return [get(v) for v in program.jaxpr.outvars]


def same_bits(function, *args, assured=()):
    program = jax.make_jaxpr(jax.vmap(looped(function, assured=assured)))(*args)
    assert LOOP in {e.primitive for e in program.jaxpr.eqns}
    leaves = jax.tree.leaves(args)
    threads = evaluated(program, leaves, as_threads)
    vectors = evaluated(program, leaves, lambda inputs, **params: LOOP.bind(*inputs, **params))
    for a, b in zip(threads, vectors, strict=True):
        np.testing.assert_array_equal(a, b)
        if jnp.issubdtype(a.dtype, jnp.inexact):
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_are_vectors(name):
    function, args = PROGRAMS[name]
    same_bits(function, jnp.asarray(args))


def test_more_members_than_a_block():
    same_bits(PROGRAMS["real"][0], jnp.linspace(0.1, 9.0, 2 * block_threads(1) + 3))


def test_derivatives_and_shared_operands():
    root = PROGRAMS["real"][0]
    slope = lambda a, b: jax.jvp(lambda a: root(a * b)[0], (a,), (jnp.ones_like(a),))[1]
    same_bits(lambda a: slope(a, jnp.asarray(2.5)), jnp.asarray(PROGRAMS["real"][1]))


def test_numbers_shared_by_all_members_are_kept_once_for_a_block(monkeypatch):
    """Few numbers stay in registers."""
    one, args = PROGRAMS["shared numbers"]
    x = jnp.asarray(args)
    (loop,) = (e for e in jax.make_jaxpr(jax.vmap(looped(one)))(x).jaxpr.eqns if e.primitive is LOOP)
    code, shared = loop.params["code"].it.threads, loop.params["shared"]
    sizes = [math.prod(v.aval.shape[0 if same else 1 :]) for v, same in zip(loop.invars, shared, strict=True)]
    loads = lambda shared: len(LOADED.findall(kernel(code, len(x), shared, sizes)))
    assert loads(shared) >= 9 and loads((False,) * len(sizes)) == 0
    monkeypatch.setattr("jaxgait.native.threads.STATEMENTS_PER_LOAD", 1)
    assert loads(shared) >= 9
    same_bits(one, x)
    monkeypatch.setattr("jaxgait.native.threads.MOST_NUMBERS", 2)
    text = kernel(code, len(x), shared, sizes)
    assert "@uniform0 = internal addrspace(3) global [2 x double]" in text and "@uniform1" not in text
    monkeypatch.setattr("jaxgait.native.threads.LEAST_NUMBERS", 100)
    assert loads(shared) == 0


def test_directions_and_both_precisions_that_all_members_share():
    """Directions in a loop over them, and tables of float64 and float32 in one kernel."""
    seeds, wide = jnp.linspace(0.5, 2.0, 12), jnp.linspace(0.5, 1.5, 3)
    narrow = wide.astype(jnp.float32)

    def end(x, s):
        body = lambda c: (
            c[0] - 0.1 * jnp.sin(c[0] * wide[0]) * wide[1] + wide[2] * x,
            c[1] * narrow[0] + narrow[1],
            c[2] + 1,
        )
        y, z, _ = jax.lax.while_loop(lambda c: c[2] < 5, body, (x, s, 0))
        return y, z

    slopes = lambda x: jax.vmap(lambda d: jax.jvp(lambda x: end(x, narrow[2])[0], (x,), (d,))[1])(seeds)
    both = lambda x: (end(x, narrow[2]), slopes(x))
    x = jnp.linspace(0.1, 0.4, 5)
    same_bits(both, x)
    program = jax.make_jaxpr(jax.vmap(looped(lambda x: end(x, narrow[2]))))(x)
    (loop,) = (e for e in program.jaxpr.eqns if e.primitive is LOOP)
    shared = loop.params["shared"]
    sizes = [math.prod(v.aval.shape[0 if same else 1 :]) for v, same in zip(loop.invars, shared, strict=True)]
    text = kernel(loop.params["code"].it.threads, len(x), shared, sizes)
    assert re.search(r"@uniform0 = .* x double\]", text) and re.search(r"@uniform1 = .* x float\]", text)


def test_small_ensembles_spread_over_a_gpu_and_large_ones_fill_its_registers():
    sizes = {members: block_threads(members) for members in (1, 64, 8448, 16384, 33792, 10**6)}
    assert sizes == {1: 64, 64: 64, 8448: 64, 16384: 128, 33792: 256, 10**6: 256}


def test_products_used_by_one_sum_are_fused_with_it():
    """One in a loop is not part of a sum behind it, nor one that is used twice; differences know their signs."""
    operation = lambda name, *values: Operation(name, values[:-1], values[-1], {})
    once, twice = operation("mul", 0, 1, 2), operation("mul", 0, 0, 3)
    inner = (operation("mul", 1, 1, 4), operation("sub", 4, 0, 5), operation("mul", 5, 1, 8))
    loop = Loop((6,), (0,), (), 7, inner, (8,), None)
    after = [operation("sub", 1, 2, 9), operation("add", 3, 9, 10), operation("add", 3, 8, 11)]
    code = Code([np.dtype(float)] * 12, results=[(10, 11)], statements=[once, twice, loop, *after])
    signs = {"product": True, "addend": False}, {"product": False, "addend": True}
    assert fused(code) == (
        twice,
        loop._replace(body=(Operation("multiply_add", (1, 1, 0), 5, signs[1]), inner[2])),
        Operation("multiply_add", (0, 1, 1), 9, signs[0]),
        *after[1:],
    )


def test_functions_of_the_c_library():
    """Angles too large for the usual arithmetic, and remainders, which are exact."""
    x = jnp.linspace(1e9, 1e12, 9)
    program = jax.make_jaxpr(jax.vmap(looped(turning)))(x)
    for a, b in zip(evaluated(program, (x,), as_threads), jax.jit(jax.vmap(turning))(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_of_any_size(name):
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(np.log(2.0**14), np.log(1e308), 200)) * rng.choice([-1.0, 1.0], 200)
    x = np.append(x, [6381956970095103.0 * 2.0**797, 1e22, 2.0**60 * np.pi])  # (the first: closest to a zero of cos)
    found = np.asarray(jax.jit(jax.vmap(FUNCTIONS[name]))(x))
    with mpmath.workprec(1400):
        exact = [getattr(mpmath, name)(mpmath.mpf(v)) for v in x.tolist()]
        error = [
            float(abs(mpmath.mpf(f) - e)) / np.spacing(abs(float(e)))
            for f, e in zip(found.tolist(), exact, strict=True)
        ]
    assert max(error) <= (2.0 if name == "tan" else 1.0)
    assert np.isnan(jax.vmap(FUNCTIONS[name])(jnp.array([np.inf, -np.inf, np.nan]))).all()


def test_remainders_are_exact():
    rng = np.random.default_rng(0)
    number = lambda: rng.normal(size=200) * 10.0 ** rng.integers(-250, 250, 200)
    special = np.array([0.0, -0.0, 1.0, -3.0, 7.5, 1e308, np.inf, -np.inf, np.nan])
    pairs = [x.ravel() for x in np.meshgrid(special, special)]
    x, y = (np.concatenate([a, number()]) for a in pairs)
    found = np.asarray(jax.jit(jax.vmap(FUNCTIONS["fmod"]))(x, y))
    with np.errstate(invalid="ignore"):
        exact = np.fmod(x, y)
    exact = np.where(np.abs(exact) < np.finfo(float).tiny, 0.0 * exact, exact)  # (as XLA has it on CPUs)
    np.testing.assert_array_equal(found, exact)
    np.testing.assert_array_equal(np.signbit(found)[~np.isnan(exact)], np.signbit(exact)[~np.isnan(exact)])


def test_loops_without_arithmetic_are_left_to_xla():
    function = lambda x: jax.lax.while_loop(lambda y: y < 1.0, lambda y: y + jax.lax.erf(y), x)
    program = jax.make_jaxpr(jax.vmap(looped(function)))(jnp.ones(3))
    (loop,) = (e for e in program.jaxpr.eqns if e.primitive is LOOP)
    with pytest.raises(Unsupported, match="erf, which has no implementation"):
        kernel(loop.params["code"].it.threads, 3, loop.params["shared"], [1])
