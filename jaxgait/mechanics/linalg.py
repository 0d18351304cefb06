"""Small dense linear algebra, unrolled: matrices are nested tuples of scalars.

Inside an ensemble every scalar is a batch vector, so a solve becomes straight-line SIMD code; `jnp.linalg.solve` under
`vmap` calls LAPACK once per member (about 20 times slower at n = 4). Everything is plain arithmetic and is
differentiated as such. `A` is a sequence of rows; entries may be Python numbers, scalars or arrays of equal shape.

Programs grow with n cubed and compile times even faster: on a CPU a plain or symmetric solve compiles in 0.4 s at n = 8
and 15 s at n = 16, a pivoted one in 2 s at n = 8 and 30 s at n = 10. Use `jnp.linalg` beyond.

A singular matrix gives infinities or NaN, not an exception, so only that member of an ensemble is affected.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.precision import float64_default

Entry: TypeAlias = Any
"""A number, a traced scalar or an array that represents a batch of scalars."""
Vector: TypeAlias = Sequence[Entry]
Matrix: TypeAlias = Sequence[Vector]


class LU(NamedTuple):
    """Factors of a square matrix: `L` below the diagonal (unit diagonal), `U` above, see `lu`."""

    factors: tuple[tuple[Array, ...], ...]
    """Row i holds the multipliers of L left of the diagonal and the row of U to its right."""
    reciprocals: tuple[Array, ...]
    """`1 / U[i][i]`: all right-hand sides share the expensive divisions."""
    swaps: tuple[Array, ...]
    """Whether rows k and i > k were exchanged, for all pairs (k, i) in lexical order; empty without pivoting."""


def _square(rows: Matrix) -> list[list[Entry]]:
    matrix = [list(row) for row in rows]
    if not matrix or any(len(row) != len(matrix) for row in matrix):
        raise ValueError(f"a square matrix is needed, got rows of lengths {[len(row) for row in matrix]}")
    return matrix


def _right_side(b: Vector, n: int) -> list[Entry]:
    if len(b) != n:
        raise ValueError(f"a right-hand side of {n} entries is needed, got {len(b)}")
    return list(b)


def _exchange(whether: Array, a: Entry, b: Entry) -> tuple[Array, Array]:
    return jnp.where(whether, b, a), jnp.where(whether, a, b)


@float64_default
def lu(A: Matrix, *, pivoting: bool = True) -> LU:
    """Factorises a matrix by Gaussian elimination.

    Args:
        A: n rows of n scalars.
        pivoting: whether to pivot partially, by branchless row exchanges, at about the cost of the elimination itself.
            Diagonally dominant and positive definite matrices do not need it.

    Raises:
        ValueError: for a matrix that is not square.

    Examples:
        >>> from jaxgait.mechanics.linalg import lu
        >>> found = lu([[2.0, 1.0], [1.0, 3.0]])
        >>> print([float(x) for x in found.factors[1]])  # 3 - 1/2 of the first row
        [0.5, 2.5]
    """
    a = _square(A)
    n = len(a)
    reciprocals, swaps = [], []
    for k in range(n):
        for i in range(k + 1, n) if pivoting else ():
            larger = jnp.abs(a[i][k]) > jnp.abs(a[k][k])
            swaps.append(larger)
            for j in range(n):
                a[k][j], a[i][j] = _exchange(larger, a[k][j], a[i][j])
        reciprocal = jnp.divide(1.0, a[k][k])  # of zero: infinity, also of Python's numbers
        reciprocals.append(reciprocal)
        for i in range(k + 1, n):
            a[i][k] = a[i][k] * reciprocal
            for j in range(k + 1, n):
                a[i][j] = a[i][j] - a[i][k] * a[k][j]
    return LU(tuple(map(tuple, a)), tuple(reciprocals), tuple(swaps))


@float64_default
def lu_solve(lu: LU, b: Vector) -> list[Array]:
    """Solves `A x = b` with the factors of `A`.

    Args:
        lu: result of `lu`.
        b: n scalars.

    Raises:
        ValueError: for another number of scalars.

    Examples:
        >>> from jaxgait.mechanics.linalg import lu, lu_solve
        >>> factors = lu([[0.0, 2.0], [4.0, 0.0]])  # factorised once, solved for several right-hand sides
        >>> [[float(x) for x in lu_solve(factors, b)] for b in ([2.0, 4.0], [6.0, 8.0])]
        [[1.0, 1.0], [2.0, 3.0]]
    """
    x = _right_side(b, len(lu.reciprocals))
    n = len(x)
    for (k, i), larger in zip(combinations(range(n), 2), lu.swaps, strict=False):
        x[k], x[i] = _exchange(larger, x[k], x[i])
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - lu.factors[i][j] * x[j]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] = x[i] - lu.factors[i][j] * x[j]
        x[i] = x[i] * lu.reciprocals[i]
    return [jnp.asarray(xi) for xi in x]


@float64_default
def solve(A: Matrix, b: Vector, *, pivoting: bool = True) -> list[Array]:
    """Solves `A x = b` by elimination, see `lu`.

    Raises:
        ValueError: for a matrix that is not square.

    Examples:
        >>> from jaxgait.mechanics.linalg import solve
        >>> [float(x) for x in solve([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0])]
        [1.0, 2.0]
    """
    return lu_solve(lu(A, pivoting=pivoting), b)


class LDL(NamedTuple):
    """Factors ``L D L^T`` of a symmetric matrix, see `ldl`."""

    lower: tuple[tuple[Array, ...], ...]
    """Row i holds `L[i][0..i-1]`; the diagonal of L is one."""
    reciprocals: tuple[Array, ...]
    """`1 / D[i]`."""


@float64_default
def ldl(A: Matrix) -> LDL:
    """Factorises a symmetric definite matrix (a mass matrix); only the lower triangle is read.

    Raises:
        ValueError: for a matrix that is not square.

    Examples:
        >>> from jaxgait.mechanics.linalg import ldl
        >>> L, D = ldl([[4.0, 2.0], [2.0, 3.0]])
        >>> print(float(L[1][0]), [1.0 / float(reciprocal) for reciprocal in D])
        0.5 [4.0, 2.0]
    """
    a = _square(A)
    lower: list[list[Entry]] = []
    reciprocals: list[Entry] = []
    for i, row in enumerate(a):
        scaled: list[Entry] = []  # L[i][j] D[j]
        for j in range(i):
            scaled.append(row[j] - sum((scaled[m] * lower[j][m] for m in range(j)), 0.0))
        factors = [s * r for s, r in zip(scaled, reciprocals, strict=True)]
        d = row[i] - sum((s * f for s, f in zip(scaled, factors, strict=True)), 0.0)
        lower.append(factors)
        reciprocals.append(jnp.divide(1.0, d))
    return LDL(tuple(map(tuple, lower)), tuple(reciprocals))


@float64_default
def ldl_solve(ldl: LDL, b: Vector) -> list[Array]:
    """Solves `A x = b` with the factors of a symmetric `A`.

    Args:
        ldl: result of `ldl`.
        b: n scalars.

    Raises:
        ValueError: for another number of scalars.

    Examples:
        >>> from jaxgait.mechanics.linalg import ldl, ldl_solve
        >>> mass_matrix = ldl([[4.0, 2.0], [2.0, 3.0]])
        >>> [float(a) for a in ldl_solve(mass_matrix, [6.0, 5.0])]
        [1.0, 1.0]
    """
    x = _right_side(b, len(ldl.reciprocals))
    n = len(x)
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - ldl.lower[i][j] * x[j]
    x = [xi * r for xi, r in zip(x, ldl.reciprocals, strict=True)]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] = x[i] - ldl.lower[j][i] * x[j]
    return [jnp.asarray(xi) for xi in x]


@float64_default
def solve_symmetric(A: Matrix, b: Vector) -> list[Array]:
    """Solves `A x = b` for a symmetric definite matrix `A`; only its lower triangle is read.

    Raises:
        ValueError: for a matrix that is not square.

    Examples:
        >>> from jaxgait.mechanics.linalg import solve_symmetric
        >>> [round(float(x), 6) for x in solve_symmetric([[4.0, 1.0], [1.0, 3.0]], [5.0, 4.0])]
        [1.0, 1.0]
    """
    return ldl_solve(ldl(A), b)


@float64_default
def solve2(A: Matrix, b: Vector) -> tuple[Array, Array]:
    """Solves `A x = b` for a 2 by 2 matrix by Cramer's rule, with one division and no pivoting.

    Examples:
        >>> from jaxgait.mechanics.linalg import solve2
        >>> [float(x) for x in solve2([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0])]
        [1.0, 2.0]
    """
    (a, b_), (c, d) = A
    u, v = b
    r = jnp.divide(1.0, a * d - b_ * c)
    return jnp.asarray((u * d - b_ * v) * r), jnp.asarray((a * v - u * c) * r)


@float64_default
def stacked(values: Vector) -> Array:
    """Numbers in the same unit as an array (n,) of the default precision.

    Examples:
        >>> from jaxgait.mechanics.linalg import stacked
        >>> print(stacked([0.1, 0.2]))
        [0.1 0.2]
    """
    return jnp.stack([jnp.asarray(x, dtype=float) for x in values])


@float64_default
def cross(a: Vector | Array, b: Vector | Array) -> tuple[Entry, Entry, Entry]:
    """Cross product of two vectors of three entries, as a triple; `spatial.vectors.cross` has it as an array.

    Examples:
        >>> from jaxgait.mechanics.linalg import cross
        >>> [float(x) for x in cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])]
        [0.0, 0.0, 1.0]
    """
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@float64_default
def dot(a: Vector, b: Vector) -> Entry:
    """Scalar product of two vectors of equal length.

    Examples:
        >>> from jaxgait.mechanics.linalg import dot
        >>> dot([3.0, 0.0, 4.0], [1.0, 2.0, 0.5])  # W: a force in N times a velocity in m/s
        5.0
    """
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)


@float64_default
def norm(vectors: Float[Array, "... axes"]) -> Float[Array, " ..."]:
    """Length of vectors along the last axis, in their unit; its derivative at the zero vector is zero, not NaN.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.linalg import norm
        >>> print(norm(jnp.array([[3.0, 4.0], [0.0, 2.0]])))
        [5. 2.]
    """
    square = jnp.sum(vectors * vectors, axis=-1)
    moving = square > 0.0
    return jnp.where(moving, jnp.sqrt(jnp.where(moving, square, 1.0)), 0.0)


@float64_default
def matvec(A: Matrix, x: Vector) -> list[Entry]:
    """Product of a matrix and a vector.

    Examples:
        >>> from jaxgait.mechanics.linalg import matvec
        >>> matvec([[2.0, 1.0], [1.0, 3.0]], [1.0, 1.0])
        [3.0, 4.0]
    """
    return [dot(row, x) for row in A]
