"""Roots with known answers: both drivers, statuses, derivatives in both modes, single precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.outcome import Outcome
from jaxgait.roots import CONVERGED, Bracket, Rule, bisected, many, root, solved

ROUNDING = 1e-13


def circle(x, args):
    """Where a circle of radius `r` and the line y = s x cross; NaN outside of a box."""
    inside = jnp.all(jnp.abs(x) < 1e3)
    equations = jnp.stack([x[0] ** 2 + x[1] ** 2 - args["r"] ** 2, x[1] - args["s"] * x[0]])
    return jnp.where(inside, equations, jnp.nan)


def crossing(r, s):
    return r / np.sqrt(1 + s**2)


def solve(r, s):
    return root(circle, jnp.array([1.0, 1.0]), {"r": r, "s": s}, tolerance=1e-10)


def test_a_known_root_with_its_jacobian():
    found = jax.jit(solve)(2.0, 0.5)
    x = crossing(2.0, 0.5)
    np.testing.assert_allclose(found.x, [x, 0.5 * x], atol=ROUNDING)
    np.testing.assert_allclose(found.jacobian, [[2 * x, x], [-0.5, 1.0]], atol=1e-9)
    assert int(found.status) == CONVERGED and float(found.residual) <= 1e-10 and int(found.steps) <= 7


def test_derivatives_of_both_modes_against_differences():
    at, nudge = jnp.array([2.0, 0.5]), 1e-6
    coordinate = lambda p: solve(p[0], p[1]).x[0]
    beside = nudge * jnp.concatenate([jnp.eye(2), -jnp.eye(2)])
    x = jax.jit(jax.vmap(coordinate))(at[None] + beside)
    for mode in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(jax.jit(mode(coordinate))(at), (x[:2] - x[2:]) / (2 * nudge), rtol=1e-8)


def test_a_search_may_end_in_the_noise_of_its_function():
    """Steps of a solver depend on its start: no point has a residual of less than that."""

    def noisy(which, x):
        value = x - 2.0
        return np.where(np.abs(value) < 1e-5, 1e-5, value), np.ones((*x.shape, 1))

    search = lambda **noise: many(noisy, np.array([[5.0]]), Rule(1e-6, **noise), 10)
    assert search().status == Outcome.NOT_CONVERGED == search(noise=4e-6).status
    found = search(noise=6e-6)  # relative to 2
    assert found.status == CONVERGED and abs(found.x[0, 0] - 2.0) <= 2e-5


def test_the_noise_of_a_large_component_is_not_that_of_others():
    def noisy(which, x):
        value = x - np.array([1e4, 0.5])
        return np.where(np.abs(value) < [0.1, 1e-3], [0.1, 1e-3], value), np.broadcast_to(np.eye(2), (*x.shape, 2))

    search = lambda noise: many(noisy, np.array([[9e3, 3.0]]), Rule(1e-6, noise=noise), 10)
    assert [search(noise).status[0] for noise in (2e-5, 2e-3)] == [Outcome.NOT_CONVERGED, CONVERGED]


SECOND = {
    "forward": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "forward over reverse": jax.hessian,
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f)),
    "reverse": lambda f: jax.jacrev(jax.jacrev(f)),
}


@pytest.mark.slow
@pytest.mark.parametrize("second", SECOND.values(), ids=SECOND)
def test_second_derivatives_of_all_modes(second):
    """Of r / sqrt(1 + s^2), and the third of a cube root; with closed forms."""
    found = jax.jit(second(lambda p: solve(p[0], p[1]).x[0]))(jnp.array([2.0, 0.5]))
    exact = jax.jacfwd(jax.jacfwd(lambda p: p[0] / jnp.sqrt(1.0 + p[1] ** 2)))(jnp.array([2.0, 0.5]))
    np.testing.assert_allclose(found, exact, atol=1e-9)
    cube = lambda s: bisected(lambda x, s: x**3 - s, 0.0, 2.0, s)
    found, third = jax.jit(lambda s: (second(cube)(s), jax.jacfwd(second(cube))(s)))(2.0)
    assert float(found) == pytest.approx(-2 / 9 * 2 ** (-5 / 3), rel=1e-12)
    assert float(third) == pytest.approx(10 / 27 * 2 ** (-8 / 3), rel=1e-12)


def test_a_derivative_evaluates_the_function_once_and_no_derivative_of_its_jacobian():
    """In an expensive program; without derivatives, only the search evaluates it."""
    f = lambda x, a: jnp.sin(x) - a
    program = lambda f: str(jax.make_jaxpr(f)(0.5)).count("sin ")
    x = lambda a: root(f, jnp.array([0.1]), a, tolerance=1e-9).x[0]
    assert program(x) == 1 and program(jax.jacfwd(x)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev, lambda f: jax.jit(jax.grad(lambda r: f(r).sum()))])
def test_derivatives_of_the_jacobian_are_unknown_and_those_of_the_root_are_not(derivative):
    assert not np.isfinite(derivative(lambda r: solve(r, 0.5).jacobian)(2.0)).any()
    assert np.isfinite(derivative(lambda r: solve(r, 0.5).x)(2.0)).all()


@pytest.mark.slow
@pytest.mark.parametrize("through", ["scan", "cond"])
def test_a_jacobian_that_is_passed_on_but_not_used_spoils_no_derivative(through):
    """Reverse mode passes zeros through what a loop or a branch returns, also of parts that nobody reads."""

    def roots(r):
        if through == "scan":
            return jax.lax.map(lambda s: solve(r, s), jnp.array([0.5, 0.25]))
        return jax.lax.cond(r > 1.0, lambda r: solve(r, 0.5), lambda r: solve(r, 0.25), r)

    x = lambda r: roots(r).x[..., 0].sum()
    expected = (jax.jacfwd(x)(2.0), jax.jit(jax.grad(x))(2.0))
    np.testing.assert_allclose(*expected, rtol=1e-12)
    assert np.isfinite(expected[0])


@pytest.mark.slow
@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev, jax.hessian])
def test_what_a_root_is_given_but_does_not_depend_on_has_a_derivative_of_zero(derivative):
    """Such as the timing of a jump, of which its crouch is independent."""

    def found(p):
        x = root(circle, jnp.array([1.0, 1.0]), {"r": 2.0, "s": 0.5, "unused": p}, tolerance=1e-10).x
        return p**2 * x[1]

    wanted = {jax.hessian: 2.0}.get(derivative, 6.0) * crossing(2.0, 0.5) * 0.5
    np.testing.assert_allclose(derivative(found)(3.0), wanted, rtol=1e-12)


def test_a_failing_member_changes_no_other():
    """Circles and the line y = 1: the second is too small to meet it, the third starts where nothing is defined."""

    def shifted(x, r):
        return circle(x, {"r": r, "s": 0.0}) + jnp.stack([jnp.zeros(()), -jnp.ones(())])

    def x_of(r, x0):
        return root(shifted, x0, r, tolerance=1e-10)

    r, x0 = jnp.array([2.0, 0.1, 2.0, 3.0]), jnp.array([[1.0, 1.0], [1.0, 1.0], [1e4, 1.0], [1.0, 1.0]])
    x_only = lambda r, x0: x_of(r, x0).x[0]
    both = lambda r, x0: (x_of(r, x0), jax.jacfwd(x_only)(r, x0), jax.grad(x_only)(r, x0))
    found, *modes = jax.jit(jax.vmap(both))(r, x0)
    np.testing.assert_array_equal(found.status, [CONVERGED, Outcome.NOT_CONVERGED, Outcome.NONFINITE, CONVERGED])
    np.testing.assert_allclose(found.x[[0, 3], 0], np.sqrt([3.0, 8.0]), atol=ROUNDING)
    assert np.isnan(found.x[1:3]).all() and np.isnan(found.jacobian[1:3]).all()
    assert found.residual[1] > 0.1 and np.isinf(found.residual[2])
    for slopes in modes:
        np.testing.assert_allclose(slopes[jnp.array([0, 3])], [2 / np.sqrt(3), 3 / np.sqrt(8)], rtol=1e-12)


def test_a_step_too_far_is_shortened():
    """Newton's full steps on atan diverge from 2; shortened ones find the root."""
    sharp = lambda x, _: jnp.arctan(x)
    from_two = lambda **options: jax.jit(lambda x: root(sharp, x, tolerance=1e-12, **options))(jnp.array([2.0]))
    assert int(from_two(shorten=False).status) != CONVERGED
    np.testing.assert_allclose(from_two().x, 0.0, atol=ROUNDING)


def test_single_precision():
    with jax.enable_x64(False):
        found = jax.jit(lambda r: root(circle, jnp.ones(2), {"r": r, "s": 0.5}, tolerance=1e-5))(jnp.float32(2.0))
        slope = jax.jit(jax.grad(lambda s: bisected(lambda x, s: x**3 - s, 0.0, 2.0, s)))(jnp.float32(1.0))
    assert found.x.dtype == np.float32 and int(found.status) == CONVERGED
    np.testing.assert_allclose(found.x[0], crossing(2.0, 0.5), rtol=3e-7)
    assert slope.dtype == np.float32 and float(slope) == pytest.approx(1 / 3, rel=1e-5)


class Counting:
    """x^2 = target, member by member, with a count of the evaluations; the Jacobian is singular at 0."""

    def __init__(self, targets):
        self.targets, self.evaluated = np.asarray(targets), []

    def __call__(self, which, x):
        self.evaluated.append(list(which))
        return x**2 - self.targets[which, None], 2 * x[:, :, None]


def test_many_members_retire_one_by_one():
    evaluate = Counting([4.0, 4.0, -1.0, np.nan, 9.0])
    found = many(evaluate, np.array([[2.0], [30.0], [0.0], [1.0], [2.0]]), Rule(1e-10), max_steps=20)
    np.testing.assert_array_equal(
        found.status, [CONVERGED, CONVERGED, Outcome.NOT_CONVERGED, Outcome.NONFINITE, CONVERGED]
    )
    np.testing.assert_allclose(found.x[[0, 1, 4], 0], [2.0, 2.0, 3.0], atol=ROUNDING)
    assert evaluate.evaluated[0] == [0, 1, 2, 3, 4] and 0 not in evaluate.evaluated[1]
    assert [sum(k in which for which in evaluate.evaluated) for k in range(5)] == list(found.steps)


def test_both_drivers_take_the_same_steps():
    value_and_jacobian = jax.jit(lambda x, args: (circle(x, args), jax.jacfwd(circle)(x, args)))

    def evaluate(which, x):
        args = {"r": 2.0, "s": 0.5}
        found = [value_and_jacobian(xi, args) for xi in x]
        return np.stack([value for value, _ in found]), np.stack([jacobian for _, jacobian in found])

    outside, inside = many(evaluate, np.ones((1, 2)), Rule(1e-10)), jax.jit(solve)(2.0, 0.5)
    assert int(outside.steps[0]) == int(inside.steps)
    np.testing.assert_allclose(outside.x[0], inside.x, atol=ROUNDING)


SCALES = [(1.0, 1.0), (1.0, 1e-17), (1e20, 1e-3)]


@pytest.mark.slow
@pytest.mark.parametrize("rows", SCALES)
@pytest.mark.parametrize("columns", SCALES)
def test_both_drivers_find_roots_in_any_units(rows, columns):
    matrix = np.array([[1.0, 2.0], [-1.0, 3.0]]) * np.outer(rows, 1.0 / np.array(columns))
    exact = np.array([0.5, 1.5]) * columns
    equations = lambda x, right: jnp.asarray(matrix) @ x - right
    evaluate = lambda which, x: (x @ matrix.T - matrix @ exact, np.broadcast_to(matrix, (len(which), 2, 2)))
    tolerance = 1e-9 * max(rows)
    inside = root(equations, jnp.zeros(2), matrix @ exact, tolerance=tolerance)
    outside = many(evaluate, np.zeros((1, 2)), Rule(tolerance))
    for found in (inside.x, outside.x[0]):
        np.testing.assert_allclose(found, exact, rtol=1e-12)


SINGULAR = {
    "exactly": [[1.0, 2.0], [2.0, 4.0]],
    "to rounding": np.outer([0.1, 0.7], [0.3, 1.1]) * (1.0 + np.array([[0.0, 0.0], [0.0, 2e-16]])),
    "zero": [[0.0, 1.0], [0.0, 2.0]],
    "infinite": [[np.inf, 1.0], [1.0, np.inf]],
    "not a number": [[np.nan, 1.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("xp", [np, jnp], ids=["NumPy", "JAX"])
def test_singular_equations_have_no_solution_and_change_no_other(xp):
    """A Newton step along a direction that only rounding determines may have any length."""
    matrices = xp.asarray([*SINGULAR.values(), [[1.0, 1.0], [0.0, 2.0]]])
    found = np.asarray(solved(xp, matrices, xp.ones((len(matrices), 2))))
    assert np.isnan(found[:-1]).all(), dict(zip(SINGULAR, found, strict=False))
    np.testing.assert_allclose(found[-1], 0.5)


def test_bisection_and_its_derivative():
    cube = jax.jit(lambda s: bisected(lambda x, s: x**3 - s, 0.0, 2.0, s))
    assert float(cube(2.0)) == pytest.approx(2 ** (1 / 3), abs=ROUNDING)
    for mode in (jax.jacfwd, jax.grad):
        assert float(mode(cube)(2.0)) == pytest.approx(2 ** (-2 / 3) / 3, rel=1e-12)


def test_safeguarded_secants():
    """A function so bent that plain regula falsi keeps one end for ever."""
    f = lambda x: x**9 - 0.5
    bracket = Bracket(0.0, f(0.0), 1.0, f(1.0))
    for _ in range(14):
        x = bracket.secant
        bracket = bracket.narrowed(x, f(x))
    assert float(bracket.right) == pytest.approx(0.5 ** (1 / 9), abs=1e-12)
