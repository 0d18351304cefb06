"""Every operation at the edges of its numbers, in kernels of both kinds, against XLA: bit for bit, zeros with signs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgait.native import explain, looped, native
from jaxgait.native.functions import EXPANSIONS
from jaxgait.native.functions.arithmetic import FORMATS
from jaxgait.native.instructions import TYPES

INTEGERS = ("int64", "int32", "uint64", "uint32")
NEAR = {*EXPANSIONS, "erf", "erfc", "rsqrt", "power", "dot"}
"""Rounded otherwise by XLA, which takes other polynomials, or joins other products and sums."""
ULPS = 8
EITHER_ZERO = ("dot",)
"""Sums that XLA begins with a zero."""

ONE = ("abs", "neg", "sign", "square", "sqrt", "rsqrt", "floor", "ceil", "is_finite", "erf", "erfc")
TWO = ("add", "sub", "mul", "div", "max", "min", "rem", "eq", "ne", "lt", "le", "gt", "ge", "atan2", "nextafter", "pow")
ROUNDINGS = {"even": lax.RoundingMethod.TO_NEAREST_EVEN, "away": lax.RoundingMethod.AWAY_FROM_ZERO}
unary = lambda f: lambda x, _: f(x)
as_type = lambda dtype: lambda x, _: x.astype(dtype)


def of_nothing(x):
    """Results of no numbers, (0, 2), some of which are no numbers either."""
    joined = [lax.reduce_and_p.bind(x > 0, axes=axes) for axes in ((0,), (0, 1))]
    return *joined, jnp.sum(x, axis=1), jnp.sum(x, axis=0, dtype=x.dtype), jnp.prod(x, dtype=x.dtype), jnp.any(x > 0)


CHOICES = {
    "select": lambda x, y: lax.select(x > y, x, y),
    "clamp": lambda x, y: lax.clamp(x, y, jnp.full_like(x, 7)),
    "extremes": lambda x, y: (jnp.max(jnp.stack([x, y, x])), jnp.argmin(jnp.stack([x, y, x]))),
    "divided": lambda x, y: (jnp.floor_divide(x, y), jnp.remainder(x, y)),
    "nothing": lambda x, y: of_nothing(jnp.stack([x, y])[None, :] * jnp.stack([x])[:0, None]),
}
REAL = {
    **CHOICES,
    **{name: getattr(lax, name) for name in TWO},
    **{name: unary(getattr(lax, name)) for name in (*ONE, *EXPANSIONS) if name not in TWO},
    **{f"round to {name}": lambda x, _, how=how: lax.round(x, how) for name, how in ROUNDINGS.items()},
    **{f"power {n}": lambda x, _, n=n: lax.integer_pow(x, n) for n in (-3, -2, -1, 0, 1, 2, 3, 5)},
    **{f"to {dtype}": as_type(dtype) for dtype in ("float64", "float32", "int64", "int32", "bool")},
    **{"copysign": jnp.copysign, "sum": lambda x, y: jnp.sum(jnp.stack([x, y]))},
    "dot": lambda x, y: jnp.dot(jnp.stack([x, y]), jnp.stack([y, x])),
}
WHOLE = {
    **CHOICES,
    **{name: getattr(lax, name) for name in TWO[:13]},
    **{name: getattr(lax, f"bitwise_{name}") for name in ("and", "or", "xor")},
    **{name: getattr(lax, name) for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical")},
    **{name: unary(getattr(lax, name)) for name in ("neg", "sign", "square", "bitwise_not")},
    **{f"to {dtype}": as_type(dtype) for dtype in (*INTEGERS, "bool")},
}
SIGNED = {"abs": unary(lax.abs), **{f"to {dtype}": as_type(dtype) for dtype in FORMATS}}
"""Further operations on integers with a sign; of the others, kernels leave these to XLA."""


def edges(dtype):
    """All pairs of remarkable numbers; denormal ones count as zeros of either sign."""
    if dtype in FORMATS:
        info = np.finfo(dtype)
        size = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 3.3e-5, 1.0 - info.epsneg, 1e5, 1e10, 2.0**31, 2.0**63, np.inf]
        found = [*size, *(-x for x in size), info.max, -info.max, np.nan]
    else:
        info = np.iinfo(dtype)
        found = [0, 1, 2, 7, 31, 32, 33, 63, 64, info.max, info.max - 1, info.min, info.min + 1]
        found += [-1, -2, -7, -32] if info.min else []
    return [jnp.asarray(x.ravel()) for x in np.meshgrid(*2 * [np.array(found, dtype)])]


def in_a_loop(function):
    """The same function of one member, in a loop that runs once."""

    def run(*args):
        none = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(function, *args))
        return lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, function(*c[2]), c[2]), (0, none, args))[1]

    return run


def results(how, function, args):
    if how == "block":
        return jax.jit(native(jax.vmap(function)))(*args)
    assert explain(in_a_loop(function), *(x[0] for x in args)).startswith("a kernel of ")
    return jax.jit(native(jax.vmap(looped(in_a_loop(function)))))(*args)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [d for d in TYPES if d != "bool"])
def test_edges_are_those_of_xla(dtype):
    table = REAL if dtype in FORMATS else WHOLE if dtype.startswith("u") else WHOLE | SIGNED
    args = edges(dtype)
    functions = lambda x, y: {name: f(x, y) for name, f in table.items()}
    wanted = jax.jit(jax.vmap(functions))(*args)
    wanted |= {"cbrt": np.cbrt(args[0])} if "cbrt" in table else {}  # JAX 0.8's is 60 units in the last place off
    for how in ("block", "loop"):
        found = results(how, functions, args)
        for name in table:
            for a, b in zip(jax.tree.leaves(found[name]), jax.tree.leaves(wanted[name]), strict=True):
                _check(name, np.asarray(a), np.asarray(b), about=f"{name} in a {how}")


def _check(name, a, b, *, about):
    assert a.dtype == b.dtype, about
    if a.dtype.kind != "f":
        np.testing.assert_array_equal(a, b, err_msg=about)
        return
    ulps = ULPS if name.partition(" ")[0] in NEAR else 0
    np.testing.assert_allclose(a, b, rtol=ulps * np.finfo(a.dtype).eps, atol=0.0, err_msg=about)
    if name not in EITHER_ZERO:
        known = ~np.isnan(a)
        np.testing.assert_array_equal(np.signbit(a[known]), np.signbit(b[known]), err_msg=about)


@pytest.mark.parametrize("dtype", FORMATS)
def test_denormal_numbers_count_as_zero_in_every_kernel(dtype):
    """XLA runs on CPUs with denormal numbers flushed to zero, which LLVM must know: log was -746 in loops."""
    x = np.finfo(dtype).smallest_subnormal * np.array([1, -1, 1000, -1000] * 5, dtype)
    function = lambda x: {"log": jnp.log(x), "root": jnp.cbrt(x) + 0.0, "positive": x > 0.0, "inverse": 1.0 / x}
    for how in ("block", "loop"):
        found = results(how, function, [jnp.asarray(x)])
        np.testing.assert_array_equal(found["log"], np.full_like(x, -np.inf))
        np.testing.assert_array_equal(found["root"], 0.0 * x)
        assert not found["positive"].any() and np.isinf(found["inverse"]).all()
