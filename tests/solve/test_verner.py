"""Verner's method of order 8: its order conditions, its dense output, derivatives, machine code."""

import functools
import itertools

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import native
from jaxgait.solve import verner
from jaxgait.solve.verner import Verner8
from tests.solve import problems
from tests.solve.problems import SLOPE, largest_error

STAGES = 17


@functools.cache
def trees(order):
    """Rooted trees of so many vertices, each as the sorted tuple of its root's subtrees (Hairer et al. I, II.2)."""
    return sorted({tuple(sorted(forest, key=repr)) for forest in forests(order - 1)}, key=repr)


def forests(order):
    """Trees that have so many vertices together."""
    if order == 0:
        yield ()
    for first in range(1, order + 1):
        for tree, rest in itertools.product(trees(first), forests(order - first)):
            yield (tree, *rest)


def vertices(tree):
    return 1 + sum(map(vertices, tree))


def density(tree):
    return vertices(tree) * int(np.prod([density(branch) for branch in tree]))


def matrix():
    """Weights of all stages, those of the dense output included."""
    rows = [(), *Verner8.tableau.a_lower, *(weights for _, weights in verner._DENSE_ROWS)]
    return np.array([np.pad(row, (0, STAGES - len(row))) for row in rows])


def elementary(tree):
    """Of all stages the elementary weights of a tree."""
    weights = [matrix() @ elementary(branch) for branch in tree]
    return np.prod([np.ones(STAGES), *weights], axis=0)


def defect(weights, order, theta=1.0):
    """Largest violation of the conditions of that order."""
    return max(abs(weights @ elementary(t) - theta**order / density(t)) for t in trees(order))


def dense(theta):
    """Weights of the stages in the dense output, by the solver's own code."""
    every = list(jnp.eye(STAGES))
    output = Verner8().dense_output(None, None, every[:14], lambda rows, increments: (None, None, every))
    return Verner8.interpolation_cls(t0=0.0, t1=1.0, y0=jnp.zeros(STAGES), **output).evaluate(jnp.asarray(theta))


def padded(weights):
    return np.pad(weights, (0, STAGES - len(weights)))


def test_there_are_as_many_trees_as_in_the_book():
    assert [len(trees(n)) for n in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


def test_nodes_are_the_sums_of_the_weights():
    nodes = [0.0, *Verner8.tableau.c, *(c for c, _ in verner._DENSE_ROWS)]
    np.testing.assert_allclose(matrix().sum(axis=1), nodes, atol=1e-13)


def test_order_conditions():
    """Order 8 of the step, 7 of the embedded method and of the dense output, and no more.

    Coefficients up to 124 are rounded to 17 digits, and up to seven are multiplied.
    """
    rounding = 2e-12
    step, embedded = padded(Verner8.tableau.b_sol), padded(Verner8.tableau.b_sol - Verner8.tableau.b_error)
    assert max(defect(step, n) for n in range(1, 9)) < rounding
    assert max(defect(embedded, n) for n in range(1, 8)) < rounding and defect(embedded, 8) > 1e-6
    for theta in (0.1, 0.5, 0.8):
        inside = np.asarray(dense(theta))
        assert max(defect(inside, n, theta) for n in range(1, 8)) < rounding and defect(inside, 8, theta) > 1e-6


def test_dense_output_joins_smoothly():
    """It starts and ends at the states and slopes of the step."""
    slope = jax.jacfwd(dense)
    first, last = np.eye(STAGES)[[0, 13]]
    np.testing.assert_allclose([dense(0.0), dense(1.0)], [0 * first, padded(Verner8.tableau.b_sol)], atol=1e-14)
    np.testing.assert_allclose([slope(0.0), slope(1.0)], [first, last], atol=1e-13)


@pytest.mark.slow
def test_order_of_dense_output():
    """Of order 7: the error of a sample within a step is of order 8, like that of the steps."""
    problem, ts = problems.linear(), np.linspace(0.0, 2.0, 41)
    found = [largest_error(problem.solve(Verner8(), steps=n, ts=ts).ys, problem.exact(ts)) for n in (4, 16)]
    assert np.log2(found[0] / found[1]) / 2 > 8 - SLOPE


def test_error_follows_the_tolerance():
    problem = problems.nonlinear()
    tolerances = jnp.asarray([1e-6, 1e-11])
    found = [problem.solve(Verner8(), rtol=rtol, ts=[2.0], dt0=1e-3) for rtol in tolerances]
    loose, tight = (largest_error(s.ys, problem.exact(2.0)) for s in found)
    assert 1e-11 < loose < 1e-5 and tight < 1e-10
    few, many = (int(s.stats["num_accepted_steps"]) for s in found)
    assert 1.5 < many / few < 5.0  # 10^(5 / 8) = 4.2


REVERSE = pytest.param(diffrax.RecursiveCheckpointAdjoint(), marks=pytest.mark.slow)


@pytest.mark.parametrize("adjoint", [diffrax.ForwardMode(), REVERSE])
def test_derivatives(adjoint):
    """Of x(t) = 1 / (1 / x0 + sin t) at a sample within a step."""
    field = lambda t, x, _: -jnp.cos(t) * x * x

    def at(x0):
        options = dict(saveat=diffrax.SaveAt(ts=jnp.asarray([1.3])), adjoint=adjoint, max_steps=64)
        controller = diffrax.PIDController(1e-10, 1e-12)
        return diffrax.diffeqsolve(
            *(diffrax.ODETerm(field), Verner8(), 0.0, 2.0, 0.1, x0), stepsize_controller=controller, **options
        ).ys[0]

    derive = jax.jacfwd if isinstance(adjoint, diffrax.ForwardMode) else jax.grad
    exact = jax.grad(lambda x0: 1.0 / (1.0 / x0 + jnp.sin(1.3)))
    np.testing.assert_allclose(jax.jit(derive(at))(0.5), exact(0.5), rtol=1e-8)


def test_float32():
    field = lambda t, y, a: -(y * y) * jnp.cos(t)
    y0, times = jnp.float32(0.5), jnp.float32([0.0, 2.0, 0.5])
    saveat = diffrax.SaveAt(ts=jnp.float32([0.7, 2.0]))
    ys = diffrax.diffeqsolve(diffrax.ODETerm(field), Verner8(), *times, y0, saveat=saveat).ys
    assert ys.dtype == jnp.float32
    allowed = 1e-5 if jax.default_backend() == "cpu" else 3e-5  # (coefficients up to 124; 1.7e-5 on an H200)
    np.testing.assert_allclose(ys, 1 / (2 + np.sin([0.7, 2.0])), rtol=allowed)


@pytest.mark.slow
def test_machine_code_equals_xla():
    """An ensemble with samples within steps, backwards in time."""
    problem = problems.lorenz()

    def one(rho):
        options = dict(saveat=diffrax.SaveAt(ts=jnp.asarray([0.07, 0.01])), adjoint=diffrax.ForwardMode(), max_steps=8)
        times = 0.1, 0.0, -0.02
        return diffrax.diffeqsolve(
            *(diffrax.ODETerm(problem.field), Verner8(), *times, problem.start, rho), **options
        ).ys

    rho = np.linspace(1.0, 21.0, 9)
    ours, plain = jax.jit(native(jax.vmap(one)))(rho), jax.jit(jax.vmap(one))(rho)
    for key in plain:
        np.testing.assert_allclose(ours[key], plain[key], rtol=1e-11, atol=1e-13)
