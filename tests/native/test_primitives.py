"""Parameters of JAX's loops, branches and calls: read in any known form, left alone in others."""

import types
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import compiled, native, primitives
from jaxgait.native.primitives import Scan, Unfamiliar, bind, read
from tests.native.programs import tower

X = jnp.linspace(0.1, 2.0, 16)


def loops(x):
    """All that has a program inside: with constants, carried values and arrays of their own."""
    a, b = x[:1] * 0.1, jnp.arange(3.0)
    y, ys = jax.lax.scan(lambda c, s: (jax.jit(tower)(a * c + s), c.sum()), x, b, reverse=True)
    y = jax.lax.while_loop(lambda c: jnp.all(c < 5.0 + a), lambda c: tower(c * 0.1) + c + a + 1.0, y)
    return jax.lax.cond(ys.sum() > 0, lambda y: y + a, lambda y: y - a, jax.nn.relu(y))


def scan_equation():
    (equation,) = (e for e in jax.make_jaxpr(loops)(X).eqns if e.primitive.name == "scan")
    return equation


class Groups(tuple):
    """Inputs in groups, as JAX has them from version 0.12 on."""

    def unpack(self):
        return tuple(self)


def test_scans_are_read_in_the_forms_of_all_versions():
    equation = scan_equation()
    common = {name: equation.params[name] for name in ("jaxpr", "length", "reverse", "unroll")}
    found = read("scan", equation.params, len(equation.invars))
    assert isinstance(found, Scan)
    n, carried = found.constants, found.carried
    old = {**common, "num_consts": n, "num_carry": carried, "linear": (), "_split_transpose": False}
    new = {**common, "ft_in": Groups(([0] * n, [0] * carried, [0])), "ft_out": None}
    for params in (old, new):
        other = read("scan", params, len(equation.invars))
        assert isinstance(other, Scan)
        assert (other.constants, other.carried, other.options) == (n, carried, found.options)
    assert found.options == {"length": 3, "reverse": True, "unroll": 1}


@pytest.mark.parametrize("names", [{"jaxpr": 1}, {"num_consts": 1, "num_carry": 0}, {"jaxpr": 1, "length": 3}])
def test_unknown_forms_are_none_with_one_warning(names):
    primitives.warn.cache_clear()
    with pytest.warns(RuntimeWarning, match="a form of 'scan' that jaxgait does not know") as caught:
        assert read("scan", names, 3) is None
        assert read("scan", names, 3) is None
    assert len(caught) == 1


class Reversed:
    """An operation as JAX has `searchsorted` from version 0.12 on: equal to others, whatever their inputs."""

    def __init__(self, size):
        self.in_avals_flat = (jax.core.ShapedArray((size,), np.dtype("float64")),)
        self.in_tree = jax.tree.structure((0.0,))

    def expand(self, x):
        return 2.0 * x[::-1]

    def __eq__(self, other):
        return isinstance(other, Reversed)

    def __hash__(self):
        return 0


def test_operations_that_expand_to_others_are_calls():
    for size in (3, 4):
        found = read("call_hi_primitive", {"_prim": Reversed(size)}, 1)
        x = jnp.arange(float(size))
        np.testing.assert_array_equal(
            jax.core.eval_jaxpr(found.program.jaxpr, found.program.consts, x)[0], 2.0 * x[::-1]
        )
    with pytest.warns(RuntimeWarning, match="a form of 'call_hi_primitive' that jaxgait does not know"):
        assert read("call_hi_primitive", {"_prim": object()}, 1) is None


def test_counts_that_do_not_fit_are_unknown():
    equation = scan_equation()
    found = read("scan", equation.params, len(equation.invars))
    common = {"jaxpr": found.body, **found.options}
    primitives.warn.cache_clear()
    with pytest.warns(RuntimeWarning):
        assert read("scan", {**common, "num_consts": found.constants + 1, "num_carry": 1}, len(equation.invars)) is None


@pytest.mark.parametrize("lost", ["scan", "while", "cond", "jit"])
def test_unknown_primitives_are_left_to_xla(monkeypatch, lost):
    monkeypatch.setenv("JAXGAIT_CACHE", "off")  # a program on disk is that of the files of this package
    monkeypatch.setitem(primitives.READERS, lost, lambda name, params: None)
    primitives.warn.cache_clear()
    with pytest.warns(RuntimeWarning, match=f"a form of '{lost}'"):
        found = compiled(loops, X)(X)
    np.testing.assert_allclose(found, jax.jit(loops)(X), rtol=1e-12)


def test_known_forms_do_not_warn():
    primitives.warn.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(compiled(loops, X)(X), jax.jit(loops)(X), rtol=1e-12)


def primitive(answer):
    """Something that gives its bind parameters in the form of a version."""
    bound = lambda *args, **params: (args, params)
    return types.SimpleNamespace(name="made", multiple_results=True, get_bind_params=answer, bind=bound)


def test_parameters_are_bound_in_the_forms_of_all_versions():
    assert bind(primitive(lambda params: params), [1, 2], {"a": 3}) == ((1, 2), {"a": 3})
    assert bind(primitive(lambda params: (["f"], params)), [1, 2], {"a": 3}) == (("f", 1, 2), {"a": 3})
    with pytest.raises(Unfamiliar, match="made"):
        bind(primitive(lambda params: [params]), [1], {})


def test_a_program_that_cannot_be_bound_is_left_to_xla(monkeypatch):
    def lost(*_):
        raise Unfamiliar("sort")

    monkeypatch.setattr("jaxgait.native.program.bind", lost)
    primitives.warn.cache_clear()
    with pytest.warns(RuntimeWarning, match="sort"):
        found = jax.jit(native(lambda x: jnp.sort(-tower(x))))(X)
    np.testing.assert_allclose(found, jnp.sort(-tower(X)), rtol=1e-12)
