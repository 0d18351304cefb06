"""Programs compiled once for every structure of their arguments."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun

from jaxgait.native import compiled, kept, looped, native
from tests.native.programs import root

X = jnp.linspace(1.0, 3.0, 5)


def test_constants_that_are_equal_in_python_are_distinguished():
    over = kept(lambda x, n: x / n)
    assert over(X, 0.0)[0] == np.inf and over(X, -0.0)[0] == -np.inf
    kind = kept(lambda x, n: x * len(type(n).__name__))
    assert [float(kind(X, n)[0]) for n in (1, 1.0, True)] == [3.0, 5.0, 4.0]


@pytest.mark.parametrize("whole", [native, kept])
def test_operation_by_operation_nothing_is_changed(whole, short_loops):
    """So that a debugger, or a print, sees the numbers; what must be compiled is."""
    seen = []
    batch = jax.vmap(lambda a: looped(root)(a)[0])
    program = jax.make_jaxpr(batch)(X)
    with jax.disable_jit():
        found = whole(lambda x: (seen.append(float(x[0])), batch(x))[1])(X)
        made = compiled(batch, X)
        (again,) = jaxpr_as_fun(program)(X)
    assert seen == [1.0]
    np.testing.assert_allclose(made(X), np.sqrt(X), rtol=1e-12)
    np.testing.assert_allclose(found, np.sqrt(X), rtol=1e-12)
    np.testing.assert_allclose(again, np.sqrt(X), rtol=1e-12)


SCRIPT = """
import jax, jax.numpy as jnp
from jaxgait.native import kept
twice = kept(lambda x: 2.0 * x)
for device in (*jax.devices(), jax.devices()[0]):
    y = twice(jax.device_put(jnp.ones(3), device))
    assert y.devices() == {device} and y[0] == 2.0, y.devices()
"""


@pytest.mark.slow
def test_arguments_may_lie_on_any_device():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAXGAIT_CACHE": "off"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=os.environ | flags, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]


def test_it_takes_numpy_arrays_and_named_arguments_and_is_itself_within_transformations():
    weighted = kept(lambda x, *, by, power: by["mass"] * x**power)
    given = {"by": {"mass": np.array([2.0, 3.0, 4.0, 5.0, 6.0])}, "power": 2}
    np.testing.assert_allclose(weighted(np.asarray(X), **given), given["by"]["mass"] * X**2, rtol=1e-15)
    slope = jax.vmap(jax.grad(lambda x, m: weighted(x, by={"mass": m}, power=2)))
    np.testing.assert_allclose(slope(X, given["by"]["mass"]), 2 * given["by"]["mass"] * X, rtol=1e-15)


def test_numbers_of_numpy_are_constants_like_those_of_python():
    """A count decides how long the program is."""
    powers = kept(lambda x, count, base: jnp.stack([base**i * x for i in range(count)]))
    for count in (np.int64(3), 3):
        np.testing.assert_array_equal(powers(X, count, np.float64(2.0)), np.outer([1.0, 2.0, 4.0], X))


FACTOR = 2.0


def scaled(x):
    return FACTOR * x


def raised(x):
    return scaled(x) + 1.0


def test_globals_of_a_users_function_may_change(monkeypatch):
    """As in a notebook, where only the changed cell is run again."""
    found = kept(raised)
    assert float(found(X)[0]) == 3.0
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert float(found(X)[0]) == 4.0
    monkeypatch.setitem(globals(), "scaled", lambda x: -x)
    assert float(found(X)[0]) == 0.0


@jax.jit
def scaled_by_jax(x):
    return FACTOR * x


def partly_unknown(x):
    return (scaled(x) + 1.0) * float(os.environ.get("JAXGAIT_TEST_SCALE", "1"))


def with_a_callback(x):
    jax.debug.callback(lambda: None)
    return scaled_by_jax(x) + 1.0


@pytest.mark.parametrize("function", [partly_unknown, with_a_callback, lambda x: scaled_by_jax(x) + 1.0])
@pytest.mark.parametrize("cache", ["off", "on"])
def test_globals_may_change_whatever_else_the_function_does(monkeypatch, tmp_path, function, cache):
    """Look at its environment, call Python, be compiled by JAX, which remembers it; with or without files on disk."""
    monkeypatch.setenv("JAXGAIT_CACHE", "off" if cache == "off" else str(tmp_path))
    found = kept(function)
    for factor in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert float(found(X)[0]) == factor + 1.0
