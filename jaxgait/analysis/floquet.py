"""Stability of periodic gaits: Floquet multipliers, types of bifurcations, Lyapunov exponents.

A perturbation of a periodic gait is multiplied by the Jacobian of the return map once per stride. The gait is stable
while all eigenvalues of that Jacobian (multipliers) lie inside the unit circle. They leave it through +1 (fold: the
branch of gaits turns back, and the gait disappears; or branch point: it continues, and another branch crosses it, as
where a symmetric gait becomes asymmetric), through -1 (period doubling: every other step differs) or as a complex pair
(Neimark-Sacker: a slow modulation).

Reference: Kuznetsov, Elements of Applied Bifurcation Theory, chapters 4, 5 and 10.
"""

from __future__ import annotations

import itertools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Complex, Float, Inexact

from jaxgait.native import kept
from jaxgait.precision import cast, float64_default
from jaxgait.solve.periodic import ReturnMap, checked_search
from jaxgait.solve.sections import check_section
from jaxgait.support import checks

__all__ = [
    "Bifurcation",
    "Floquet",
    "bifurcation_functions",
    "bifurcation_values",
    "critical",
    "floquet",
    "lyapunov_exponent",
]

Bifurcation = Literal["fold", "branch point", "period doubling", "Neimark-Sacker"]
BIFURCATIONS: tuple[Bifurcation, ...] = ("fold", "period doubling", "Neimark-Sacker")
"""In the order of `bifurcation_functions`; the first function also vanishes at a branch point."""


@float64_default
class Floquet(NamedTuple):
    """Multipliers of a periodic gait, the largest first, with their eigenvectors as columns.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.floquet import Floquet
        >>> multipliers = np.array([[0.5, 0.1], [-1.2, 0.1]]).astype(complex)  # of two gaits
        >>> print(Floquet(multipliers, np.zeros((2, 2, 2), complex)).stable)
        [ True False]
    """

    multipliers: Complex[np.ndarray, "... n"]
    vectors: Complex[np.ndarray, "... n n"]

    @property
    def stable(self) -> np.ndarray:
        """Whether all multipliers lie inside the unit circle.

        Shape (...): one flag per gait; multipliers have no dimension.
        """
        return np.asarray(np.abs(self.multipliers[..., 0]) < 1.0)


@float64_default
def floquet(jacobian: Float[Array, "... n n"] | Float[np.ndarray, "... n n"]) -> Floquet:
    """Multipliers (no dimension) and eigenvectors of the Jacobian of a return map, of one gait or a batch.

    Raises:
        ValueError: for anything but square matrices.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.floquet import floquet
        >>> gait = floquet(np.array([[0.5, 1.0], [0.0, -0.8]]))
        >>> print(gait.multipliers.real, gait.stable)
        [-0.8  0.5] True
    """
    try:
        matrix = np.asarray(jacobian)
    except ValueError:  # values of several shapes, as a gait has
        matrix = np.asarray(None)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or matrix.dtype.kind not in "fciu":
        got = f"one of shape {matrix.shape}" if matrix.ndim else type(jacobian).__name__
        raise ValueError(f"floquet takes the Jacobian of a return map, a square matrix: gait.point.jacobian, got {got}")
    bad = np.asarray(~np.isfinite(matrix).all(axis=(-2, -1)))
    values, vectors = np.linalg.eig(np.where(bad[..., None, None], 0.0, matrix))
    order = np.argsort(-np.abs(values), axis=-1, kind="stable")
    values = np.take_along_axis(values, order, axis=-1).astype(complex)
    vectors = np.take_along_axis(vectors, order[..., None, :], axis=-1).astype(complex)
    values[bad], vectors[bad] = np.nan, np.nan
    return Floquet(values, vectors)


@float64_default
def critical(multipliers: Inexact[np.ndarray, " n"]) -> Bifurcation:
    """The bifurcation at which the largest multiplier reaches the unit circle; multipliers have no dimension.

    Multipliers cannot distinguish a fold from a branch point: both are a "fold" here.

    Raises:
        ValueError: for multipliers that are not finite, such as those of a gait that was not found.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.floquet import critical
        >>> critical(np.array([-1.0, 0.2]))
        'period doubling'
    """
    largest = multipliers[np.argmax(np.abs(multipliers))]  # NaN if any is
    if not np.isfinite(largest):
        raise ValueError(f"multipliers must be finite, got {multipliers}")
    if abs(largest.imag) > 1e-6 * abs(largest):
        return "Neimark-Sacker"
    return "fold" if largest.real > 0 else "period doubling"


@float64_default
def crossing_mode(kind: Bifurcation, multipliers: Complex[np.ndarray, " n"]) -> tuple[int, float] | None:
    """Index of the multiplier (no dimension) that crosses the unit circle, and its distance from the crossing.

    At a Neimark-Sacker bifurcation, the first of the pair whose product is nearest to 1; None if they are real (a
    neutral saddle).

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.floquet import crossing_mode
        >>> crossing_mode("fold", np.array([-1.5, 1.0], complex))
        (1, 0.0)
    """
    if kind != "Neimark-Sacker":
        distance = np.abs(multipliers - (-1.0 if kind == "period doubling" else 1.0))
        nearest = int(np.argmin(distance))
        return nearest, float(distance[nearest])
    pairs = itertools.combinations(range(len(multipliers)), 2)
    nearest, _ = min(pairs, key=lambda pair: abs(np.prod(multipliers[list(pair)]) - 1.0), default=(0, 0))
    real = critical(multipliers[nearest : nearest + 1]) != kind
    return None if real else (nearest, abs(float(np.abs(multipliers[nearest])) - 1.0))


@float64_default
def bifurcation_functions(jacobian: Float[Array, "n n"]) -> Float[Array, " 3"]:
    """Smooth functions of the Jacobian that change sign at a fold (or branch point), period doubling, Neimark-Sacker.

    They are ``det(J - 1)``, ``det(J + 1)`` and ``det(C - 1)`` with C the second compound of J, whose eigenvalues are
    the products of two multipliers. The last one also vanishes at a neutral saddle (two real multipliers, product 1).

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.floquet import bifurcation_functions
        >>> doubling = jnp.diag(jnp.array([-1.0, 0.5]))  # every other step is different
        >>> print(jax.jit(bifurcation_functions)(doubling))  # (-2)(-1/2), 0 (3/2), -1/2 - 1
        [ 1.   0.  -1.5]
    """
    n = jacobian.shape[0]
    eye = jnp.eye(n, dtype=jacobian.dtype)
    pairs = list(itertools.combinations(range(n), 2))
    minor = lambda i, j, k, m: jacobian[i, k] * jacobian[j, m] - jacobian[i, m] * jacobian[j, k]
    rows = [jnp.stack([minor(i, j, k, m) for k, m in pairs]) for i, j in pairs]
    compound = jnp.stack(rows or [jnp.zeros(1, jacobian.dtype)])  # a single coordinate has no pairs
    pair_eye = jnp.eye(len(compound), dtype=jacobian.dtype)
    det = jnp.linalg.det
    return jnp.stack([det(jacobian - eye), det(jacobian + eye), det(compound - pair_eye)])


@float64_default
def bifurcation_values(multipliers: Inexact[np.ndarray, "... n"]) -> Float[np.ndarray, "... 3"]:
    """`bifurcation_functions` from the multipliers (no dimension): products of distances, for one gait or a batch.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.floquet import bifurcation_values
        >>> float(bifurcation_values(np.array([-1.0, 0.2]))[1])  # zero: a period doubling
        0.0
    """
    ones = np.asarray(multipliers)
    pairs = [ones[..., i] * ones[..., j] for i in range(ones.shape[-1]) for j in range(i)]
    products = np.stack(pairs or [np.zeros(ones.shape[:-1])], axis=-1)
    return np.stack([np.prod(m, axis=-1).real for m in (ones - 1.0, ones + 1.0, products - 1.0)], axis=-1)


@float64_default
def sign_changes(tests: Float[np.ndarray, "points ..."]) -> Bool[np.ndarray, "points-1 ..."]:
    """Where test functions (no dimension) change sign between neighbours; zeros count as negative, NaN as no change.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.floquet import sign_changes
        >>> print(sign_changes(np.array([-0.5, 0.0, 0.5])))
        [False  True]
    """
    return np.diff(tests > 0.0, axis=0) & np.isfinite(np.diff(tests, axis=0))


@float64_default
def lyapunov_exponent(
    return_map: ReturnMap, model: Any, z0: Float[ArrayLike, " n"], *, strides: int, discard: int = 50
) -> Array:
    """Largest Lyapunov exponent (no dimension) per application of the return map: positive in chaos, scalar.

    NaN if the motion does not return, or if a perturbation vanishes.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        z0: where to start, shape (n,), in the units of the section.
        strides: number of applications over which the growth is averaged.
        discard: number of applications before that, to reach the attractor.

    Raises:
        ValueError: for impossible numbers of applications, for an impossible start, and for coordinates of a section
            that do not fit together.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.floquet import lyapunov_exponent
        >>> chaotic = lyapunov_exponent(lambda r, z: r * z * (1.0 - z), 4.0, jnp.array([0.3]), strides=5000)
        >>> round(float(chaotic), 2)  # log 2
        0.69
    """
    start = checked_search(model, z0)
    check_section(return_map, model, start)
    checks.count("strides", strides)
    checks.count("discard", discard, least=0)
    # Generic, so that it lies in no invariant subspace, such as that of symmetric motions.
    direction = np.random.default_rng(0).normal(size=start.shape)
    unit = jnp.asarray(direction / np.linalg.norm(direction), start.dtype)
    return jnp.mean(_growth(return_map, cast(model), start, unit, discard + strides)[discard:])


@kept
def _growth(return_map: ReturnMap, model: Any, z0: Array, direction: Array, strides: int) -> Array:
    """Logarithms of the factors by which a perturbation grows, one per stride."""

    def one(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        z, direction = carry
        z, tangent = jax.jvp(lambda x: return_map(model, x), (z,), (direction,))
        size = jnp.linalg.norm(tangent)
        return (z, tangent / size), jnp.log(jnp.where(size > 0.0, size, jnp.nan))

    return jax.lax.scan(one, (z0, direction), length=strides)[1]
