"""The matrices of the equations of motion, element by element, as the paper prints them.

    plane   A phi'' + Lambda l'' + D phi'^2 + 2 H phi' l' + g P = Q
    space   A phi'' + B psi'' + Lambda l'' + D phi'^2 + E psi'^2 + 2 G phi' psi' + 2 H phi' l' + 2 K psi' l' + g P = Q

Squares and products of rates are taken link by link. Every matrix is W times a geometric factor, one for each row of
equations kappa: index 0 belongs to phi, the last one to l (and 1 to psi in space).

The formulas are polynomials in sines, cosines and lengths. They accept arrays of numbers and object arrays of symbols,
so that `Chain.equations` prints what is computed.

Source: Borisov & Chigarev, eqs. (5), (17), (18) with the misprints of (18) corrected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

import jax.numpy as jnp
from jaxtyping import Float

from jaxgait.models.exoskeleton.tree import Real
from jaxgait.precision import float64_default

Rows: TypeAlias = tuple[Any, ...]
"""One array for each row of equations kappa."""


class Planar(NamedTuple):
    """Plane: angles phi from the horizontal in rad and lengths l in m (or rates, accelerations, generalised forces)."""

    phi: Float[Real, " n"]
    l: Float[Real, " n"]


class Spatial(NamedTuple):
    """Space: azimuths phi and elevations psi in rad, lengths l in m (or rates, accelerations, generalised forces)."""

    phi: Float[Real, " n"]
    psi: Float[Real, " n"]
    l: Float[Real, " n"]


Coordinates: TypeAlias = Planar | Spatial
Q = TypeVar("Q", Planar, Spatial)


@float64_default
class PlanarMatrices(NamedTuple):
    """Matrices of the plane: `A[0]` is A_1 of the paper (rows of phi), `A[1]` is A_2 (rows of l), and so on."""

    A: Rows
    Lambda: Rows
    D: Rows
    H: Rows
    P: Rows

    @property
    def inertia(self) -> tuple[Rows, ...]:
        """Blocks of the mass matrix: those that multiply phi'' and l''."""
        return self.A, self.Lambda

    def velocity_terms(self, rate: Any) -> tuple[Any, ...]:
        """Terms quadratic in the rates, one vector for each row of equations."""
        square, coriolis = rate.phi * rate.phi, 2 * rate.phi * rate.l
        return tuple(D @ square + H @ coriolis for D, H in zip(self.D, self.H, strict=True))


@float64_default
class SpatialMatrices(NamedTuple):
    """Matrices of space: `A[0]`, `A[1]`, `A[2]` are A_1 (rows of phi), A_2 (of psi), A_3 (of l), and so on."""

    A: Rows
    B: Rows
    Lambda: Rows
    D: Rows
    E: Rows
    G: Rows
    H: Rows
    K: Rows
    P: Rows

    @property
    def inertia(self) -> tuple[Rows, ...]:
        """Blocks of the mass matrix: those that multiply phi'', psi'' and l''."""
        return self.A, self.B, self.Lambda

    def velocity_terms(self, rate: Any) -> tuple[Any, ...]:
        """Terms quadratic in the rates, one vector for each row of equations."""
        phi, psi, l = rate
        rows = zip(self.D, self.E, self.G, self.H, self.K, strict=True)
        return tuple(
            D @ (phi * phi) + E @ (psi * psi) + 2 * (G @ (phi * psi) + H @ (phi * l) + K @ (psi * l))
            for D, E, G, H, K in rows
        )


Matrices: TypeAlias = PlanarMatrices | SpatialMatrices


@float64_default
def planar_matrices(W: Any, rho: Any, q: Any, cos: Callable = jnp.cos, sin: Callable = jnp.sin) -> PlanarMatrices:
    """Matrices of the plane from W (n, n) and rho (n,) in kg at coordinates `q` (`Planar`)."""
    li, lj = q.l[:, None], q.l[None, :]
    angle = q.phi[:, None] - q.phi[None, :]
    C, S = W * cos(angle), W * sin(angle)
    return PlanarMatrices(
        A=(li * lj * C, lj * S),
        Lambda=(-li * S, C),
        D=(li * lj * S, -lj * C),
        H=(li * C, S),
        P=(rho * q.l * cos(q.phi), rho * sin(q.phi)),
    )


@float64_default
def spatial_matrices(W: Any, rho: Any, q: Any, cos: Callable = jnp.cos, sin: Callable = jnp.sin) -> SpatialMatrices:
    """Matrices of space from W (n, n) and rho (n,) in kg at coordinates `q` (`Spatial`)."""
    li, lj = q.l[:, None], q.l[None, :]
    angle = q.phi[:, None] - q.phi[None, :]
    C, S = W * cos(angle), W * sin(angle)
    c, s = cos(q.psi), sin(q.psi)
    ci, cj, si, sj = c[:, None], c[None, :], s[:, None], s[None, :]
    across = W * ci * cj + si * sj * C  # psi rows: cos(psi_i - psi_j) for equal azimuths
    along = ci * cj * C + W * si * sj  # l rows, likewise
    return SpatialMatrices(
        A=(li * lj * ci * cj * C, -li * lj * si * cj * S, lj * ci * cj * S),
        B=(li * lj * ci * sj * S, li * lj * across, lj * (W * si * cj - ci * sj * C)),
        Lambda=(-li * ci * cj * S, li * (W * ci * sj - si * cj * C), along),
        D=(li * lj * ci * cj * S, li * lj * si * cj * C, -lj * ci * cj * C),
        E=(li * lj * ci * cj * S, li * lj * (si * cj * C - W * ci * sj), -lj * along),
        G=(-li * lj * ci * sj * C, li * lj * si * sj * S, -lj * ci * sj * S),
        H=(li * ci * cj * C, -li * si * cj * S, ci * cj * S),
        K=(li * ci * sj * S, li * across, W * si * cj - ci * sj * C),
        P=(0 * rho, rho * q.l * c, rho * s),
    )


@float64_default
def matrices_of(W: Any, rho: Any, q: Any, cos: Callable = jnp.cos, sin: Callable = jnp.sin) -> Any:
    """The matrices of the plane or of space, by the type of the coordinates, `Planar` or `Spatial`."""
    build = spatial_matrices if isinstance(q, Spatial) else planar_matrices
    return build(W, rho, q, cos, sin)


@float64_default
def left_hand_side(m: Any, rate: Any, acceleration: Any, gravity: Any) -> tuple[Any, ...]:
    """Left-hand sides of the equations of motion, one vector for each row of equations (numbers or symbols)."""
    blocks = [sum(X @ a for X, a in zip(row, acceleration, strict=True)) for row in zip(*m.inertia, strict=True)]
    quadratic = m.velocity_terms(rate)
    return tuple(b + v + gravity * P for b, v, P in zip(blocks, quadratic, m.P, strict=True))
