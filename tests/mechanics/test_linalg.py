import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxgait.mechanics import linalg


def rows(A):
    return [list(row) for row in A]


def random(n, seed=0, batch=()):
    rng = np.random.default_rng(seed + n)
    A, b = rng.normal(size=(n, n, *batch)), rng.normal(size=(n, *batch))
    return jnp.asarray(A), jnp.asarray(b)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_pivoted_solve_of_a_batch(n):
    A, b = random(n, batch=(7,))
    solve = jax.jit(linalg.solve) if n <= 3 else linalg.solve  # unrolled, 8 equations take seconds to compile
    x = jnp.stack(solve(rows(A), list(b)))
    exact = np.linalg.solve(np.moveaxis(A, -1, 0), np.moveaxis(b, -1, 0)[..., None])[..., 0]
    np.testing.assert_allclose(x, exact.T, rtol=1e-9)


@pytest.mark.parametrize("n", [2, 4, 9, 16])
def test_solve_without_pivoting_of_dominant_matrices(n):
    A, b = random(n)
    A = A + 2 * n * jnp.eye(n)
    np.testing.assert_allclose(linalg.solve(rows(A), list(b), pivoting=False), np.linalg.solve(A, b), rtol=1e-12)


def test_pivoting_is_needed_and_taken_member_by_member():
    A = [[jnp.asarray([0.0, 1.0, 1e-20]), 1.0], [1.0, jnp.asarray([0.0, 2.0, 1.0])]]
    x = jnp.stack(linalg.solve(A, [jnp.full(3, 1.0), jnp.full(3, 2.0)]))
    np.testing.assert_allclose(x, [[2.0, 0.0, 1.0], [1.0, 1.0, 1.0]], atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 12])
def test_symmetric_solve_reads_the_lower_triangle(n):
    A, b = random(n)
    A = A @ A.T + 0.1 * jnp.eye(n)
    np.testing.assert_allclose(linalg.solve_symmetric(rows(jnp.tril(A)), list(b)), np.linalg.solve(A, b), rtol=1e-8)


def test_the_closed_form():
    A, b = random(2)
    np.testing.assert_allclose(linalg.solve2(rows(A), list(b)), np.linalg.solve(A, b), rtol=1e-13)


@pytest.mark.parametrize(
    "solve",
    [linalg.solve, linalg.solve_symmetric, lambda A, b: linalg.solve(A, b, pivoting=False)],
    ids=["pivoted", "symmetric", "plain"],
)
def test_derivatives(solve):
    A, b = random(3)
    A = A @ A.T + jnp.eye(3)
    check_grads(lambda A, b: jnp.stack(solve(rows(A), list(b))), (A, b), order=2, rtol=1e-6)


def test_singular_matrix_leaves_other_members_alone():
    A = [[jnp.asarray([1.0, 1.0]), 2.0], [2.0, jnp.asarray([4.0, 3.0])]]
    x = jnp.stack(linalg.solve(A, [jnp.ones(2), jnp.ones(2)]))
    assert not np.isfinite(x[:, 0]).all()
    np.testing.assert_allclose(x[:, 1], [-1.0, 1.0])


@pytest.mark.parametrize("solve", [linalg.solve, linalg.solve_symmetric, linalg.solve2])
def test_singular_matrices_of_plain_numbers_are_no_error(solve):
    assert not np.isfinite(solve([[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0])).any()


def test_a_matrix_that_is_not_square_raises():
    with pytest.raises(ValueError, match="square"):
        linalg.solve([[1.0, 2.0]], [1.0])


@pytest.mark.parametrize("solve", [linalg.solve, linalg.solve_symmetric])
@pytest.mark.parametrize("b", [[2.0], [2.0, 1.0, 0.0]])
def test_a_right_side_of_another_length_raises(solve, b):
    with pytest.raises(ValueError, match=f"a right-hand side of 2 entries is needed, got {len(b)}"):
        solve([[2.0, 0.0], [0.0, 4.0]], b)


def test_matvec():
    A, b = random(4)
    np.testing.assert_allclose(jnp.stack(linalg.matvec(rows(A), list(b))), A @ b, rtol=1e-14)
