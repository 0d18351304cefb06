"""Loops of one member as kernels over all members: equal to JAX's own loops, and each member by itself."""

from types import SimpleNamespace

import diffrax
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from jaxgait.mechanics.spatial import Link, hinge
from jaxgait.models import Bungee, Prosthesis, TreeModel
from jaxgait.native import explain, looped
from jaxgait.native.looping import LOOP, outermost
from jaxgait.native.passes import UNREADABLE, _operations, _rebuilt, read_loop
from jaxgait.native.primitives import read
from jaxgait.precision import cast
from jaxgait.run import Sampling
from jaxgait.solve.rosenbrock import Ros4
from jaxgait.solve.smooth import Smooth
from tests.native.programs import kernel, loops_left, root

pytestmark = pytest.mark.usefixtures("short_loops")


def agrees(function, *args, rtol=1e-13):
    one = [jnp.asarray(x)[0] for x in args]
    assert loops_left(function, *one) == [LOOP.name]
    found, expected = kernel(function)(*args), jax.jit(jax.vmap(function))(*args)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=rtol, atol=0.0)


def collatz(n):
    step = lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1)
    return jax.lax.while_loop(lambda c: c[0] > 1, step, (n, 0))


def shifted(n):
    """Integers and truth values: rounds until the lowest bit is set."""
    step = lambda c: (jnp.right_shift(c[0], 1), c[1] + 1, ~c[2])
    return jax.lax.while_loop(lambda c: (c[0] & 1) == 0, step, (n, jnp.int32(0), False))


def nested(x):
    """A loop in a loop, each of whose lengths is the member's own."""

    def outer(c):
        y, k = c
        y = jax.lax.while_loop(lambda z: z > 1.0, lambda z: 0.6 * z + 0.1 * jnp.sin(z), y + x)
        return y, k + 1

    return jax.lax.while_loop(lambda c: c[1] < jnp.where(x > 2.0, 4, 3), outer, (x, 0))


def branching(x):
    def body(c):
        y, k = c
        y = jax.lax.switch(k & 3, [lambda: y + x, lambda: y * 0.5, lambda: jnp.tanh(y)])
        return jax.lax.cond(y > 3.0, lambda: y - 1.0, lambda: y), k + 1

    return jax.lax.while_loop(lambda c: c[1] < jnp.where(x > 0.0, 11, 10), body, (x, 0))


def matrix(a):
    """Small arrays: powers of a matrix, until its entries are small."""
    m = jnp.array([[0.5, 0.2], [0.1, 0.4]]) * a
    body = lambda c: (m @ c[0], c[1] + c[0].sum(axis=0), c[2].at[c[3] & 1].add(c[0][0, 1]), c[3] + 1)
    start = (jnp.eye(2), jnp.zeros(2), jnp.zeros(3), 0)
    return jax.lax.while_loop(lambda c: jnp.max(jnp.abs(c[0])) > 1e-6, body, start)


def solving(x):
    """Linear systems, whose pivots are the member's own: an inverse iteration."""
    a = jnp.array([[0.0, 1.0, 2.0, 0.3], [1.0, 0.2, 0.1, 4.0], [3.0, 0.0, 0.0, 1.0], [0.5, 0.1, 6.0, 0.0]])
    a = a + x * jnp.array([[0.0, 0.0, 1.0, 0.0], [5.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0]])

    def body(c):
        y = jnp.linalg.solve(a, c[0])
        return y / jnp.max(jnp.abs(y)), c[1] + 1

    return jax.lax.while_loop(lambda c: c[1] < jnp.where(x > 0.0, 6, 4), body, (jnp.array([1.0, -0.5, 0.2, 0.7]), 0))


def largest(x):
    """Positions of extremes, NaN and equal ones among them, and of the first flag that is set, or is not."""
    at = lambda k: jnp.stack([x, jnp.sin(x + k), 1.0 - x, jnp.where(k > 3.0, jnp.nan, x), x])
    extremes = lambda y: (jnp.argmax(y), jnp.argmin(y), jnp.argmax(y > 0.6), jnp.argmin(y > 0.2))
    body = lambda c: (c[0] + 1.0, [n * 5 + i for n, i in zip(c[1], extremes(at(c[0])), strict=True)])
    return jax.lax.while_loop(lambda c: c[0] < 6.0, body, (0.0, [0, 0, 0, 0]))


def history(x):
    """A large array, written where a member comes to and read again."""

    def body(c):
        whole, k, y = c
        y = y * x + whole[jnp.maximum(k - 2, 0)]
        return whole.at[k].set(y), k + 1, y

    return jax.lax.while_loop(lambda c: (c[1] < 90) & (c[2] < 50.0), body, (jnp.zeros(100), jnp.asarray(1), 1.0))


def rewriting(x):
    """A large array that branches write and read, each for members of its own."""

    def body(c):
        whole, k, y, n = c
        z = whole[k]
        up, down = lambda: (whole.at[k].set(y + 1.0), y + z), lambda: (whole.at[k].set(y - 1.0), 0.5 * y - z)
        whole, y = jax.lax.cond(y * y + x > 1.0, down, up)
        return whole, (k + 5) & 127, 0.3 * y + 0.1 * whole[k] + 0.1 * whole[(k + 60) & 127], n + 1

    start = (jnp.linspace(0.0, 1.0, 128), 0, x, 0)
    return jax.lax.while_loop(lambda c: c[3] < jnp.where(x > 0.0, 40, 33), body, start)


def forking(x):
    """Branches that write the same array and read what they have written."""

    def written(whole, k, z):
        whole = whole.at[k].set(z)
        return whole, whole[k] * 2.0

    def body(c):
        whole, k, y = c
        whole, z = jax.lax.cond(y > 0.0, lambda: written(whole, k, y), lambda: written(whole, k, 1.0 - y))
        return whole, k + 1, z - 1.5 * x

    return jax.lax.while_loop(lambda c: c[1] < 90, body, (jnp.zeros(100), 0, x))


def table(i):
    """A large array that all members share."""
    whole = jnp.sin(jnp.arange(200.0))
    body = lambda c: (c[0] + whole[c[1]], (c[1] * 7 + 3) & 127, c[2] + 1)
    return jax.lax.while_loop(lambda c: c[2] < (i & 3) + 1, body, (0.0, i, 0))


def passing(x):
    """Loops over arrays in a loop: one that others read from afterwards, one that goes over what it made."""

    def body(c):
        y, k = c
        step = lambda z, a: (0.5 * z + jnp.cos(a), (jnp.stack([z, a]), a > z))
        seen, larger = jax.lax.scan(step, y, x + jnp.arange(50.0))[1]
        y, back = jax.lax.scan(lambda z, a: (0.9 * z + a[0], z * a[1]), y, seen, reverse=True)
        return y + seen[k, 1] + back[3] + jnp.where(larger[7], 0.5, 0.0), k + 1

    return jax.lax.while_loop(lambda c: c[1] < jnp.where(x > 0.5, 5, 3), body, (x, 0))


REALS = np.array([2.0, 1e-3, 7.0, 123.0, 3.0, 0.4, 1e6, 2.5, 9.0, 17.0, 0.1])


def staged(x):
    """A large array that is rebuilt in each iteration, and read in the next one, also by a loop in the loop."""

    def body(c):
        y, stages, n = c
        mean = jax.lax.fori_loop(0, 3, lambda i, m: 0.5 * m + stages[0, 7] * stages[1, -1], stages.sum((0, 1)))
        y = y - 0.1 * jnp.sin(y) + 1e-3 * mean
        first = jnp.outer(jnp.linspace(0.5, 1.5, 12), y)
        return y, jnp.stack([first, jnp.sin(first)]), n + 1

    return jax.lax.while_loop(lambda c: c[2] < 4, body, (x * jnp.arange(1.0, 4.0), jnp.zeros((2, 12, 3)), 0))


def sharing(x, a=np.linspace(0.5, 1.5, 9)):
    """Numbers that are the same for all members: before, in and after loops within loops, and in their conditions."""
    a = jnp.asarray(a)
    grow = lambda c: (c[0] * (1.0 + a[4] * a[1]), c[1] + a[5])

    def body(c):
        y, z = jax.lax.while_loop(lambda d: d[0] * a[3] < a[2], grow, (c[0] * a[0] + a[1] * a[1], c[1]))
        return y / a[6], z * a[7], c[2] + 1

    y, z, n = jax.lax.while_loop(lambda c: c[2] < 4, body, (x, a[8] * x, 0))
    return y * a[2], z + a[8], n


PROGRAMS = {
    "real": (root, REALS),
    "float32": (root, REALS.astype(np.float32)),
    "integer": (shifted, np.arange(8, 19, dtype=np.int32) * 4),
    "nested": (nested, REALS[:8]),
    "branches": (branching, REALS - 2.0),
    "arrays": (matrix, 0.4 + 0.1 * np.arange(9.0)),
    "systems": (solving, np.linspace(-1.0, 2.0, 9)),
    "extremes": (largest, np.linspace(-1.0, 2.0, 9)),
    "memory": (history, 0.5 + 0.1 * np.arange(9.0)),
    "branches of memory": (rewriting, np.linspace(-1.5, 2.0, 9)),
    "forks": (forking, np.linspace(-0.9, 0.9, 9)),
    "table": (table, np.arange(13)),
    "scans": (passing, np.linspace(-0.9, 1.2, 9)),
    "memory of its own": (lambda x: history(x)[1:], 0.5 + 0.1 * np.arange(9.0)),
    "branches of its own memory": (lambda x: rewriting(x)[1:3], np.linspace(-1.5, 2.0, 9)),
    "a rebuilt array": (staged, np.linspace(0.1, 0.9, 9)),
    "shared numbers": (sharing, np.linspace(0.1, 0.4, 9)),
    "unused records": (lambda x: recorded(x, 100)[1], np.linspace(0.1, 1.0, 13)),
}
"""Functions of one member, with arguments of several."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_are_those_of_jax(name):
    function, args = PROGRAMS[name]
    agrees(function, jnp.asarray(args), rtol=1e-5 if args.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("members", [1, 2, 3, 8, 13])
def test_every_member_is_as_if_it_were_alone(members):
    """Bit for bit, in vectors of any width and in any order."""
    x, run = jnp.linspace(0.3, 1.2, members), kernel(history)
    together, turned = run(x), run(x[::-1])
    alone = [run(x[i : i + 1]) for i in range(members)]
    for leaf, *ones in zip(*map(jax.tree.leaves, (together, *alone)), strict=True):
        np.testing.assert_array_equal(leaf, np.concatenate(ones))
    for leaf, back in zip(*map(jax.tree.leaves, (together, turned)), strict=True):
        np.testing.assert_array_equal(leaf, back[::-1])


def test_a_poisoned_member_changes_no_bit_of_the_others():
    x = jnp.asarray(REALS)
    run = kernel(branching)
    clean, poisoned = run(x), run(x.at[3].set(jnp.nan))
    others = np.arange(x.size) != 3
    for a, b in zip(clean, poisoned, strict=True):
        np.testing.assert_array_equal(a[others], b[others])
    assert np.isnan(poisoned[0][3])


def test_derivatives_inside_of_a_member():
    slope = lambda a: jax.jvp(lambda a: root(a)[0], (a,), (jnp.ones_like(a),))[1]
    np.testing.assert_allclose(kernel(slope)(jnp.asarray(REALS)), 0.5 / np.sqrt(REALS), rtol=1e-10)
    both = lambda a: jax.jacfwd(lambda p: root(p[0] * p[1])[0])(jnp.stack([a, 2.0 * a]))
    expected = np.sqrt(0.5) * np.array([np.ones(11), 0.5 * np.ones(11)]).T
    np.testing.assert_allclose(kernel(both)(jnp.asarray(REALS)), expected, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extremes_of_zeros_have_the_sign_that_xla_gives_them(dtype):
    a, b = (jnp.asarray(x.ravel(), dtype) for x in np.meshgrid([0.0, -0.0, 1.0, -1.0], [0.0, -0.0, 1.0]))
    both = lambda a, b: (jnp.maximum(a, b), jnp.minimum(a, b), jax.lax.clamp(a, -a, b))
    function = lambda a, b: jax.lax.while_loop(lambda c: c[1] < 1, lambda c: (both(a, b), c[1] + 1), ((a, a, a), 0))[0]
    for found, expected in zip(kernel(function)(a, b), jax.jit(jax.vmap(both))(a, b), strict=True):
        np.testing.assert_array_equal(np.copysign(1.0, found), np.copysign(1.0, expected))


def test_derivatives_outside_raise():
    for transformed in (jax.grad, jax.jacfwd):
        with pytest.raises(ValueError, match=r"cannot be differentiated: write looped\(jax.jacfwd\(f\)\)"):
            transformed(lambda a: looped(root)(a)[0])(2.0)


@pytest.mark.slow
@pytest.mark.parametrize("adaptive", [True, False])
def test_a_stock_call_of_diffrax(adaptive):
    """Samples, an event and steps of any length: a pendulum that stops where it comes to a height.

    The default adjoint hides its loops behind a rule for derivatives.
    """
    ts = jnp.linspace(0.0, 3.0, 80)
    controller = diffrax.PIDController(rtol=1e-9, atol=1e-9) if adaptive else diffrax.ConstantStepSize()
    event = diffrax.Event(lambda t, y, args, **_: y[0] < -0.9) if adaptive else None

    def solve(length):
        field = lambda t, y, args: jnp.stack([y[1], -9.81 / length * jnp.sin(y[0])])
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Tsit5(),
            t0=0.0,
            t1=3.0,
            dt0=0.01,
            y0=jnp.array([1.0, 0.0]),
            saveat=diffrax.SaveAt(ts=ts),
            stepsize_controller=controller,
            event=event,
            adjoint=diffrax.RecursiveCheckpointAdjoint() if adaptive else diffrax.ForwardMode(),
        ).ys

    lengths = jnp.linspace(0.5, 2.0, 9)
    assert loops_left(solve, lengths[0]) == [LOOP.name]
    found, expected = kernel(solve)(lengths), jax.jit(jax.vmap(solve))(lengths)
    assert np.isfinite(expected).any()
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-7 if adaptive else 1e-11)


@pytest.mark.slow
def test_derivatives_in_reverse_are_left_to_xla():
    """Of ten steps of Euler's method here, whose derivative is known exactly."""

    def end(rate):
        field = diffrax.ODETerm(lambda t, y, args: -rate * y)
        return diffrax.diffeqsolve(field, diffrax.Euler(), t0=0.0, t1=1.0, dt0=0.1, y0=jnp.ones(())).ys[0]

    assert explain(end, 1.0).startswith("a kernel of ")
    assert explain(jax.grad(end), 1.0) == "left to XLA: a derivative in reverse"
    rates = jnp.linspace(0.5, 2.0, 5)
    np.testing.assert_allclose(kernel(jax.grad(end))(rates), -((1.0 - 0.1 * rates) ** 9), rtol=1e-12)


def test_what_kernels_cannot_do_is_left_to_xla(monkeypatch):
    def large(x):
        body = lambda c: (jnp.sin(c[0]) + x, c[1] + 1)
        return jax.lax.while_loop(lambda c: c[1] < 3, body, (jnp.zeros(500), 0))[0]

    assert loops_left(large, 1.0) == ["while"]
    np.testing.assert_allclose(kernel(large)(jnp.ones(3)), jax.vmap(large)(jnp.ones(3)), rtol=1e-14)
    assert explain(large, 1.0) == "left to XLA: sin of a large array"
    monkeypatch.setattr("jaxgait.native.passes.MAX_MADE", 71)
    assert explain(staged, 1.0) == "left to XLA: reduce_sum of a large array"
    assert explain(history, 1.0).startswith("a kernel of ") and "1 loops, 1 arrays in memory" in explain(history, 1.0)


def test_arrays_that_are_not_rebuilt_stay_in_memory():
    """A table that passes through, and one of constants; rows of a scan are not carried."""
    table = jnp.linspace(0.0, 1.0, 72)

    def looking(x, made):
        def body(c):
            y, through, n = c
            y = y + jnp.sin(made[0] * through[(7 * n) % 72]) + table[n]
            return y, jax.jit(lambda t: t)(through), n + 1

        return jax.lax.while_loop(lambda c: c[2] < 5, body, (x, x * table, 0))[0]

    assert "2 arrays in memory" in explain(looking, 1.0, jnp.ones(3))
    x = jnp.linspace(0.1, 0.9, 9)
    agrees(lambda x: looking(x, x * jnp.arange(1.0, 4.0)), x, rtol=1e-12)
    rows = lambda x: jax.lax.scan(lambda c, row: (jnp.sin(c) + row[3], jnp.cos(row * c)), x, jnp.ones((4, 72)))
    (scan,) = (e for e in jax.make_jaxpr(rows)(1.0).jaxpr.eqns if e.primitive.name == "scan")
    assert _rebuilt(read("scan", scan.params, len(scan.invars)), 64, []) == frozenset()


@pytest.mark.usefixtures("short_loops")
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool"])
def test_a_large_table_in_the_equations_is_a_constant_of_the_kernel(dtype):
    table = (3.0 * np.sin(np.arange(202.0))).astype(dtype).reshape(2, 101)

    def reading(x, i):
        body = lambda c: (jnp.sin(c[0]) + jnp.asarray(table)[c[1] % 2, i + 7 * c[1]].astype(float), c[1] + 1)
        return jax.lax.while_loop(lambda c: c[1] < 9, body, (x, 0))[0]

    assert "1 loops, 1 arrays in memory" in explain(reading, 1.0, 0)
    x, i = jnp.linspace(0.1, 0.9, 9), jnp.arange(9) * 12  # (beyond its end: the last one)
    np.testing.assert_allclose(kernel(reading)(x, i), jax.jit(jax.vmap(reading))(x, i), rtol=1e-14)


def test_a_large_table_that_is_interpolated_or_updated():
    at, heights = np.linspace(0.0, 2.0, 101), np.sin(np.linspace(0.0, 2.0, 101))
    repeated = lambda step, x: jax.lax.fori_loop(0, 5, lambda k, y: step(y, k), x)
    curve = lambda x: repeated(lambda y, k: jnp.cos(y) + jnp.interp(y, at, heights), x)
    changed = lambda x: repeated(lambda y, k: jnp.cos(y) + jax.jit(lambda t: t.at[k].set(y)[3])(heights), x)
    x = jnp.linspace(0.1, 0.9, 9)
    for function in (jax.jacfwd(curve), changed):
        assert explain(function, 1.0).startswith("a kernel of ")
        agrees(function, x, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_integers_are_divided_as_by_xla(dtype):
    """Zero divisors and the least number by -1 included, which stop a processor."""
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    numbers = [least, least + 1, most, 0, 1, 2, 3, 7, 100, *([-1, -2, -7] if least else [])]
    a, b = (jnp.asarray(x.ravel(), dtype) for x in np.meshgrid(np.array(numbers, dtype), np.array(numbers, dtype)))

    def function(a, b):
        signs = jnp.abs(a), jnp.sign(b), jax.lax.square(b), -a
        body = lambda c: (c[0] + 1, jax.lax.div(a, b), jax.lax.rem(a, b), a // b, a % b, signs)
        zero = jnp.zeros((), dtype)
        return jax.lax.while_loop(lambda c: c[0] < 2, body, (0, zero, zero, zero, zero, (zero,) * 4))

    agrees(function, a, b, rtol=0.0)


def test_divisions_inside_of_a_loop():
    numbers = jnp.asarray([1, 2, 7, 27, 97, 871, 6171, 77031, 3])
    assert int(kernel(collatz)(numbers)[1][7]) == 350
    agrees(collatz, numbers)


def test_functions_with_a_variant_for_another_platform():
    """Such as the diagonal of a matrix, which has a form of its own on TPUs alone."""

    def function(x):
        body = lambda c: (0.5 * c[0] + jnp.diagonal(jnp.outer(c[0], c[0])) * x, c[1] + 1)
        return jax.lax.while_loop(lambda c: c[1] < 4, body, (jnp.stack([x, 1.0 - x]), 0))

    agrees(function, jnp.linspace(0.0, 1.0, 9))


def test_an_empty_batch_is_empty():
    found = kernel(history)(jnp.zeros(0))
    assert [x.shape for x in found] == [(0, 100), (0,), (0,)]


def test_discarded_values_are_not_written():
    """A branch that changes an array and returns something else."""

    def body(c):
        whole, k = c
        y = jax.lax.cond(whole[0] > 0.5, lambda: whole.at[k].set(7.0)[k - 1], lambda: 1.0)
        return whole.at[k].set(y), k + 1

    function = lambda x: jax.lax.while_loop(lambda c: c[1] < 90, body, (jnp.zeros(100) + x, jnp.asarray(1)))
    x = jnp.linspace(0.0, 1.0, 9)
    np.testing.assert_array_equal(kernel(function)(x)[0], jax.jit(jax.vmap(function))(x)[0])


def test_long_programs_are_left_to_xla(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("jaxgait.native.code.MAX_VALUES", 20)
        assert explain(nested, 1.0) == "left to XLA: more than 20 values"
        patched.setattr("jaxgait.native.passes.UNREADABLE", 0)  # before they are read
        assert explain(nested, 1.0) == "left to XLA: more than 20 values"
    monkeypatch.setattr("jaxgait.native.code.LONG", 20)
    assert "a kernel of" in explain(nested, 1.0)
    found = lambda backend=None: [SimpleNamespace(platform=backend or "gpu")]
    monkeypatch.setattr("jax.local_devices", found)  # a GPU, whose assembler takes longer
    assert explain(nested, 1.0) == "left to XLA: more than 20 values"
    for device in ("cpu", jax.devices("cpu")[0]):
        with jax.default_device(device):
            assert "a kernel of" in explain(nested, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("model", [Bungee(), Prosthesis(), TreeModel([Link("leg", None, hinge((0, 1, 0)), mass=1.0)])])
def test_mechanisms_have_few_operations_for_each_value_read(model, monkeypatch):
    """Programs with many are left to XLA as too long, without being read."""
    ratios = []

    def read_and_counted(loop, *args):
        code = read_loop(loop, *args)
        ratios.append(_operations(loop.body.jaxpr) / len(code.dtypes))
        return code

    monkeypatch.setattr("jaxgait.native.looping.read_loop", read_and_counted)
    sampling, scheme = Sampling(None, 20, 1.0), Smooth.of(model)
    outermost(lambda m: scheme.run(m, sampling).y_end, cast(model))
    assert ratios and max(ratios) < 0.75 * UNREADABLE


@pytest.mark.slow
def test_implicit_steps_of_states_that_are_not_split_into_scalars_are_a_kernel():
    """The factors of their linear systems have operations of their own in kernels."""

    def solved(stiffness):
        chain = diffrax.ODETerm(lambda t, y, k: k * (jnp.roll(y, 1) + jnp.roll(y, -1) - 2.0 * y) - y**3)
        start, steps = jnp.linspace(0.0, 1.0, 10), diffrax.PIDController(rtol=1e-6, atol=1e-8)
        options = {"args": stiffness, "stepsize_controller": steps, "adjoint": diffrax.ForwardMode()}
        return diffrax.diffeqsolve(chain, Ros4(pivoting=False), 0.0, 1.0, 0.01, start, **options).ys[0]

    k = jnp.linspace(10.0, 300.0, 5)
    agrees(solved, k, rtol=1e-9)


def test_numbers_of_a_vector_one_by_one():
    def function(x):
        def body(c):
            a, b, *_ = jnp.unstack(c[0])
            return jnp.stack([a + b, b * 0.5, a - 1.0]), c[1] + 1

        return jax.lax.while_loop(lambda c: c[1] < 5, body, (jnp.stack([x, x + 1.0, x]), jnp.asarray(0)))

    agrees(function, jnp.linspace(0.0, 1.0, 9))


def test_a_batch_of_batches_is_right():
    x = jnp.asarray(REALS[:6]).reshape(2, 3)
    found = jax.jit(jax.vmap(jax.vmap(looped(root))))(x)
    np.testing.assert_allclose(found[0], np.sqrt(x), rtol=1e-10)


OPERATIONS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "larger": jnp.maximum,
    "smaller": jnp.minimum,
    "chosen": lambda a, b: jnp.where(a > b, a, b * 0.5),
    "sine": lambda a, b: jnp.sin(a) + b,
    "root": lambda a, b: jnp.sqrt(jnp.abs(a) + 0.5) - b,  # (of x * x alone, XLA makes the size of x)
    "sign": lambda a, b: jnp.sign(a) * jnp.floor(b),
    "zero": lambda a, b: jnp.where(a == 0.0, -0.0, b),
}


@st.composite
def programs(draw):
    """Random programs: operations on three carried numbers, a condition, and lengths of the members' own."""
    index = st.integers(0, 2)
    steps = draw(st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), index, index, index), min_size=1, max_size=8))
    inner = draw(st.booleans())
    return steps, inner


@settings(max_examples=25, deadline=None)
@given(programs(), st.sampled_from([np.float64, np.float32]))
def test_random_programs_are_those_of_jax(program, dtype):
    steps, inner = program

    def advance(c):
        for name, to, a, b in steps:
            c = [*c]
            c[to] = OPERATIONS[name](c[a], c[b]).astype(dtype)
        return tuple(c)

    def function(x, n):
        def body(c):
            *y, k = c
            if inner:
                y = jax.lax.fori_loop(0, k % 3, lambda _, y: advance(y), tuple(y))
            return (*advance(y), k + 1)

        return jax.lax.while_loop(lambda c: c[-1] < n, body, (x, -x, x * x, jnp.int32(0)))

    large = 1e300 if dtype == np.float64 else 1e30
    x = jnp.asarray([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, large, 3e-5], dtype)
    n = jnp.arange(9, dtype=jnp.int32) % 4
    found = kernel(function)(x, n)
    # Operation by operation, member by member: XLA makes a / (b / c) one quotient, of products that overflow, and a
    # batch of loops goes through XLA even where nothing is compiled.
    with jax.disable_jit():
        members = [function(*member) for member in zip(x, n, strict=True)]
    expected = [np.stack(values) for values in zip(*members, strict=True)]
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    for a, b in zip(found, expected, strict=True):
        big = np.abs(np.asarray(b, float)) > 1e4  # (sines of large numbers amplify rounding)
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        ordinary = ~(np.isnan(b) | big)
        np.testing.assert_allclose(np.asarray(a)[ordinary], np.asarray(b)[ordinary], rtol=tolerance, atol=tolerance)


def recorded(x, most, count=9):
    """A loop that writes down what it passes, in several records."""

    def body(c):
        records, y, n = c
        return tuple(r.at[n].set(y**i) for i, r in enumerate(records)), 0.9 * y + 0.01, n + 1

    empty = tuple(jnp.full(most, jnp.nan) for _ in range(count))
    return jax.lax.while_loop(lambda c: (c[1] > 0.2) & (c[2] < most), body, (empty, x, 0))


@pytest.mark.slow
@pytest.mark.parametrize(("most", "where"), [(20, "9 arrays in memory"), (7, "loops"), (100, "9 arrays in memory")])
def test_many_records_are_kept_in_memory_because_registers_would_need_a_selection_for_each(most, where):
    function = lambda x: recorded(x, most)
    assert explain(function, 1.0).endswith(where)
    agrees(function, np.linspace(0.1, 1.0, 13))


def roots(x):
    """Newton's method for each of several numbers: a loop under `jax.vmap`, with a condition for each."""
    newton = lambda a: jax.lax.while_loop(lambda y: jnp.abs(y * y - a) > 1e-9, lambda y: 0.5 * (y + a / y), a)
    return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jax.vmap(newton)(c[1] + 1.0)), (0, x))[1]


@pytest.mark.parametrize("function", [roots, jax.jacfwd(roots)])
def test_loops_with_a_condition_for_each_of_several_numbers(function):
    """A number that has converged keeps its value while others go on."""
    agrees(function, jnp.linspace(0.1, 90.0, 13 * 4).reshape(13, 4))


def test_functions_of_elements_of_an_array_are_left_to_xla():
    """JAX writes them as new values of zero, with a function in their place."""
    grown = lambda x: jax.lax.fori_loop(0, 3, lambda i, x: jnp.sin(x).at[2].apply(lambda y: y + 1.0), x)
    x = jnp.linspace(0.1, 1.0, 13 * 4).reshape(13, 4)
    assert explain(grown, x[0]) == "left to XLA: a function of elements of an array (x.at[i].apply)"
    np.testing.assert_allclose(kernel(grown)(x), jax.vmap(grown)(x), rtol=1e-15)


@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_sums_and_identity_matrices_are_in_kernels(reverse):
    def function(x):
        def step(c):
            i, m = c
            sums = jax.lax.cumsum(
                m[None] * jnp.eye(9), axis=1, reverse=reverse
            )  # 81 numbers, more than fit in registers
            return i + 1, m + 0.01 * jnp.sin(sums[:, 2]) * jnp.cumsum(m)

        return jax.lax.while_loop(lambda c: c[0] < 5, step, (0, x * jnp.arange(1.0, 10.0)))[1]

    x = jnp.linspace(0.1, 1.0, 5)
    assert explain(function, x[0]).startswith("a kernel of ")
    agrees(function, x)


@pytest.mark.slow
@pytest.mark.parametrize("members", [1, 2, 8, 11])
def test_extremes_of_arrays_with_nan_are_nan(members):
    """For batches of eight and more, XLA's own on CPUs are -inf, or the largest of a part of the array."""
    x = jnp.cos(10.0 * jnp.linspace(0.0, 1.0, 1001))  # NaN in parts of the array, and after the last of them numbers

    def extremes(a):
        y = jnp.sqrt(a * x)
        several = jnp.stack([y, a * x], axis=1)
        return y.max(), jnp.min(y), several.max(axis=0), jnp.nanmax(y), several.max(axis=1)[-1]

    large, small, both, of_rest, last = jax.jit(jax.vmap(looped(extremes)))(jnp.ones(members))
    assert np.isnan(large).all() and np.isnan(small).all() and np.isnan(both[:, 0]).all()
    np.testing.assert_array_equal(both[:, 1], 1.0)
    np.testing.assert_array_equal(of_rest, 1.0)
    assert np.isnan(last).all()
    slope = jax.jit(jax.vmap(looped(jax.grad(lambda a: (a * x).max()))))(jnp.ones(members))
    np.testing.assert_array_equal(slope, 1.0)
