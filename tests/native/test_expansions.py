"""Which operations are replaced by arithmetic; how exact that is stands in test_functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import compiled, explain, looped
from jaxgait.native.blocks import Block
from jaxgait.native.functions import EXPANSIONS, expanded
from jaxgait.native.functions.arithmetic import FORMATS
from jaxgait.native.instructions import SELDOM, supports

PAIRS = ("atan2", "nextafter", "pow")


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", EXPANSIONS)
def test_all_is_arithmetic_of_one_format(name, dtype):
    """For one member alone, as for arrays: no operation is left that kernels do not know, no other format comes in."""
    aval = jax.ShapeDtypeStruct((), dtype)
    program = expanded(name, [aval] * (2 if name in PAIRS else 1))
    assert [(a.shape, str(a.dtype)) for a in program.out_avals] == [((), dtype)]
    block = Block(program)
    for e in block.equations:
        dtypes = [np.dtype(block.avals[v].dtype) for v in (*e.inputs, *e.outputs)]
        assert supports(e.primitive.name, tuple(dtypes)), e.primitive.name
        assert {d.itemsize for d in dtypes} <= {1, np.dtype(dtype).itemsize}
        assert e.primitive.name not in EXPANSIONS and (e.primitive.name not in SELDOM or name in ("sin", "cos", "tan"))


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("log2", lambda x, a, b: np.log2(x)),
        ("one_minus_square", lambda x, a, b: 1.0 - x**2),
        ("polynomial", lambda x, a, b: 2.0 + x * (a + x * b)),
    ],
)
def test_operations_that_newer_versions_of_jax_have(name, exact):
    x, a, b = (np.linspace(low, low + 3.0, 50) for low in (0.1, -1.0, 2.0))
    given = (x, np.full(50, 2.0), a, b) if name == "polynomial" else (x,)
    program = expanded(name, [jax.ShapeDtypeStruct((50,), "float64")] * len(given))
    (found,) = jax.core.eval_jaxpr(program.jaxpr, program.consts, *given)
    np.testing.assert_allclose(found, exact(x, a, b), rtol=4e-16, atol=4e-16)


@pytest.mark.parametrize(
    "function", [jnp.tanh, jnp.arcsin, jnp.log2, lambda x: jnp.polyval(jnp.array([2.0, x, 1.0]), x)]
)
def test_derivatives_of_functions_contain_no_unknown_operations(function):
    """In JAX 0.12 that of tanh has 1 - x^2 as an operation of its own."""
    run = lambda x: jax.lax.fori_loop(0, 3, lambda _, y: jax.jacfwd(function)(0.5 * jnp.tanh(y)), x)
    assert "a kernel of" in explain(run, 0.3)
    x = jnp.array([0.3, 0.7])
    np.testing.assert_allclose(jax.jit(jax.vmap(looped(run)))(x), jax.vmap(run)(x), rtol=1e-5)


def test_other_operations_are_unchanged():
    of = lambda *dtypes: [jax.ShapeDtypeStruct((8,), dtype) for dtype in dtypes]
    assert expanded("erf", of("float64")) is None
    assert expanded("exp", of("float16")) is None
    assert expanded("exp", of("complex128")) is None
    assert expanded("pow", of("float64", "int32")) is None


def test_operands_of_different_shapes():
    """Programs contain numbers next to arrays, as constants."""
    x = jnp.linspace(0.5, 2.0, 8)
    run = lambda x: (x**2.5, 2.5**x, jnp.arctan2(x, 1.0), jnp.arctan2(-1.0, x))
    for found, wanted in zip(compiled(run, x)(x), run(np.asarray(x)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=4e-16)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3, 21])
@pytest.mark.parametrize("far", [0, -1])
def test_angles_of_any_size_among_usual_ones(far, width):
    """The C library is called for those that are too large, and no other member is touched; along directions, too."""
    x = jnp.linspace(0.3, 3.0, width)
    run = lambda x: (jnp.sin(x), jnp.cos(x) * jnp.tan(x), jax.vmap(lambda d: jnp.sin(x * d))(jnp.asarray([1.0, 2.0])))
    program = compiled(run, x)
    clean, found = program(x), program(x.at[far].set(1e22))
    wanted = run(np.asarray(x.at[far].set(1e22)))
    others = np.delete(np.arange(width), far)
    for before, after, exact in zip(clean, found, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(before)[..., others], np.asarray(after)[..., others])
        np.testing.assert_allclose(after, exact, rtol=1e-15)
