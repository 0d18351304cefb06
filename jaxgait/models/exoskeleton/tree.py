r"""A tree of massless telescopic rods with point masses: topology, mass moments, and the constant matrix W.

         o 2        o 3   s = -1: a rod that hangs, its angle read as for an upright one
          \        /
           \      *  masses m_ib at fractions n_ib of the rod's present length, counted from its proximal joint
            \    /
             o--o
             |
             |  1         link i starts at the far end of its parent p(i) < i, or at the ground joint 0
             o
           /////

Kinetic energy T = 1/2 sum_ij W_ij x_i' . x_j' and potential energy V = g sum_i rho_i (x_i)_up with the link vectors
x_i = l_i u_i. W and rho contain all masses, signs and the topology, and are constant.

Source: Borisov & Chigarev, eqs. (6), (19), (22)-(25); their sums over "all later links", valid only for unbranched
chains, are sums over descendants here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxgait.precision import float64_default
from jaxgait.support.checks import shown

if TYPE_CHECKING:
    Real: TypeAlias = Any
    from jaxgait.models.exoskeleton.symbolic import Equations
else:
    Real = jax.Array | np.ndarray
"""An array of NumPy or, inside a computation, of JAX."""

SINGULAR_RATIO = 1e-12
"""Smallest ratio of eigenvalues of a regular W: a few thousand roundings of float64."""


class RodLink(NamedTuple):
    """One link of the table that describes a chain."""

    parent: int
    """Number of its parent link, 0 for the ground; links are numbered from 1."""
    masses: Sequence[float]
    """Point masses in kg, any number of them."""
    fractions: Sequence[float]
    """Position of each mass along the link, from the proximal joint (0) to the far end (1)."""
    sign: int = 1
    """+1, or -1 for a rod that points against its unit vector (hangs)."""
    length: float = 1.0
    """Rest length in m, which the chain does not use (lengths are coordinates)."""


class Moments(NamedTuple):
    """Mass moments of each link: sums of m, m n and m n^2 over its masses, in kg."""

    theta: Any
    eta: Any
    zeta: Any


@float64_default
class Chain(eqx.Module):
    """A tree of telescopic links; see the module's docstring.

    Lists of masses are padded with zeros to a rectangular array.

    Examples:
        >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
        >>> chain = Chain.from_links([RodLink(0, [3.0], [1.0]), RodLink(1, [2.0], [1.0])])
        >>> print(chain.size, float(chain.total_mass), chain.rho)
        2 5.0 [5. 2.]
        >>> print(chain.W)
        [[5. 2.]
         [2. 2.]]
    """

    parent: tuple[int, ...] = eqx.field(static=True)
    sign: tuple[int, ...] = eqx.field(static=True)
    masses: Float[Real, "*batch n b"]
    fractions: Float[Real, "*batch n b"]

    def __check_init__(self) -> None:
        check_topology(self.parent, self.sign)

    @classmethod
    def from_links(cls, links: Sequence[RodLink]) -> Chain:
        """Builds a chain from a table of links.

        Raises:
            TypeError: for anything but a list of links.
            ValueError: for a parent that does not come first, a sign other than +1 and -1, masses that are negative or
                do not match their fractions, or a link that moves no mass (singular W).
        """
        masses, fractions = mass_table(links)
        chain = cls(tuple(x.parent for x in links), tuple(x.sign for x in links), masses, fractions)
        chain.validate()
        return chain

    @property
    def size(self) -> int:
        """Number of links."""
        return len(self.parent)

    @property
    def moments(self) -> Moments:
        """Mass moments theta, eta, zeta of each link, in kg.

        Examples:
            >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
            >>> chain = Chain.from_links([RodLink(0, [2.0, 1.0], [0.5, 1.0])])  # kg; shares of the length
            >>> [m.tolist() for m in chain.moments]
            [[3.0], [2.0], [1.5]]
        """
        m, n = self.masses, self.fractions
        return Moments(m.sum(-1), (m * n).sum(-1), (m * n * n).sum(-1))

    @property
    def W(self) -> Float[Array, "n n"]:
        """Constant inertia matrix in kg, symmetric and positive definite."""
        return jnp.asarray(weights(self.parent, self.sign, self.moments)[0])

    @property
    def rho(self) -> Float[Array, " n"]:
        """Mass in kg with which gravity turns link i: the mass beyond its far end plus its first moment, times s_i."""
        return jnp.asarray(weights(self.parent, self.sign, self.moments)[1])

    @property
    def total_mass(self) -> Float[Array, ""]:
        """Sum of all masses in kg, including those that never move."""
        return jnp.sum(jnp.asarray(self.masses))

    def equations(self, dimension: int = 2) -> Equations:
        """The equations of motion of this tree as SymPy expressions, in `dimension` 2 or 3.

        Examples:
            >>> from jaxgait.models.exoskeleton.tree import Chain, RodLink
            >>> chain = Chain.from_links([RodLink(0, [2.0], [0.5])])  # kg; shares of the length
            >>> type(chain.equations()).__name__
            'Equations'
        """
        from jaxgait.models.exoskeleton.symbolic import equations

        return equations(self.parent, self.sign, dimension)

    def validate(self) -> None:
        """Rejects impossible masses. Leaves may have leading batch axes.

        Raises:
            ValueError: naming the link with a negative mass, or without a mass that resists its motion (singular W).
        """
        masses, fractions = np.asarray(self.masses, dtype=float), np.asarray(self.fractions, dtype=float)
        if masses.shape[-2:] != (self.size, masses.shape[-1]) or fractions.shape[-2:] != masses.shape[-2:]:
            raise ValueError(
                f"masses and fractions must have the shape ({self.size} links, masses per link), "
                f"got {masses.shape} and {fractions.shape}"
            )
        if (bad := ~((masses >= 0.0) & np.isfinite(masses + fractions))).any():
            link = np.argwhere(bad)[0][-2] + 1
            raise ValueError(f"link {link} has a negative mass, or a mass or fraction that is not finite")
        shape = np.broadcast_shapes(masses.shape, fractions.shape)
        masses, fractions = (np.broadcast_to(x, shape).reshape(-1, *shape[-2:]) for x in (masses, fractions))
        self._reject_singular(Chain(self.parent, self.sign, masses, fractions).moments)

    def _reject_singular(self, moments: Moments) -> None:
        """Rejects a singular W, from moments of the shape (members, n)."""
        units = np.eye(3 * self.size).reshape(-1, 3, self.size)
        basis = np.stack([weights(self.parent, self.sign, Moments(*unit))[0] for unit in units])  # W is linear in them
        eigenvalues, vectors = np.linalg.eigh(np.tensordot(np.concatenate(moments, axis=-1), basis, axes=1))
        singular = np.flatnonzero(eigenvalues[:, 0] <= SINGULAR_RATIO * eigenvalues[:, -1])
        if not singular.size:
            return
        member = singular[0]
        values = eigenvalues[member]
        leaves = [i for i in range(self.size) if i + 1 not in self.parent and moments.zeta[member, i] <= 0]
        guilty = leaves[0] if leaves else int(np.abs(vectors[member, :, 0]).argmax())
        what = "is a massless leaf" if leaves else "moves without moving any mass"
        raise ValueError(
            f"link {guilty + 1} {what}: W is singular (smallest eigenvalue {values[0]:.3g} kg) and its acceleration "
            "is undefined; give it a mass away from its proximal joint"
        )


def check_topology(parent: Sequence[int], sign: Sequence[int]) -> None:
    """Rejects tables that are not trees, or not numbered parents first.

    Raises:
        ValueError: naming the link and its possible parents.

    Examples:
        >>> from jaxgait.models.exoskeleton.tree import check_topology
        >>> check_topology([0, 1, 1], [1, 1, -1])
        >>> check_topology([0, 3, 1], [1, 1, 1])
        Traceback (most recent call last):
        ValueError: link 2 has parent 3: a parent comes before its link, so it must be 0 (ground) to 1
    """
    if len(parent) != len(sign) or not parent:
        raise ValueError(f"a chain needs one parent and one sign per link, got {len(parent)} and {len(sign)}")
    for i, (p, s) in enumerate(zip(parent, sign, strict=True), start=1):
        if not 0 <= p < i:
            loop = " (a cycle)" if i <= p <= len(parent) and i in _walk_up(parent, p) else ""
            raise ValueError(
                f"link {i} has parent {p}{loop}: a parent comes before its link, so it must be 0 (ground) to {i - 1}"
            )
        if s not in (1, -1):
            raise ValueError(f"link {i} has sign {s}: it must be +1 (upright) or -1 (hanging)")


def _walk_up(parent: Sequence[int], start: int) -> set[int]:
    """Links from `start` to the ground, in a table that may be invalid."""
    seen: set[int] = set()
    while 0 < start <= len(parent) and start not in seen:
        seen.add(start)
        start = parent[start - 1]
    return seen


@float64_default
def mass_table(links: Sequence[RodLink]) -> tuple[Float[np.ndarray, "n b"], Float[np.ndarray, "n b"]]:
    """Masses in kg and fractions of a table of links as rectangular arrays, padded with zeros.

    Raises:
        TypeError: for anything but a list of links.
        ValueError: for a link whose masses and fractions differ in number.

    Examples:
        >>> from jaxgait.models.exoskeleton.tree import RodLink, mass_table
        >>> masses, fractions = mass_table([RodLink(0, [1.0], [0.5]), RodLink(1, [2.0, 3.0], [0.5, 1.0])])
        >>> print(masses)  # kg
        [[1. 0.]
         [2. 3.]]
    """
    if not isinstance(links, Sequence) or not all(isinstance(x, RodLink) for x in links):
        raise TypeError(f"the links must be a list of RodLink(...), got {shown(links)}")
    width = max((len(x.masses) for x in links), default=0)
    masses, fractions = np.zeros((len(links), width)), np.zeros((len(links), width))
    for i, link in enumerate(links):
        if len(link.masses) != len(link.fractions):
            raise ValueError(f"link {i + 1} has {len(link.masses)} masses and {len(link.fractions)} fractions")
        masses[i, : len(link.masses)] = link.masses
        fractions[i, : len(link.masses)] = link.fractions
    return masses, fractions


def descendants(parent: Sequence[int]) -> Int[np.ndarray, "n n"]:
    """1 at (i, j) where link j is a strict descendant of link i, else 0. No dimension.

    Examples:
        >>> from jaxgait.models.exoskeleton.tree import descendants
        >>> print(descendants([0, 1, 2]))  # a chain
        [[0 1 1]
         [0 0 1]
         [0 0 0]]
    """
    below = np.zeros((len(parent), len(parent)), dtype=int)
    for j, p in enumerate(parent):
        if p:
            below[:, j] = below[:, p - 1]
            below[p - 1, j] = 1
    return below


def subtrees(parent: Sequence[int]) -> Int[np.ndarray, "n n"]:
    """`descendants`, with 1 on the diagonal too. No dimension.

    Examples:
        >>> from jaxgait.models.exoskeleton.tree import subtrees
        >>> print(subtrees([0, 1, 1]))
        [[1 1 1]
         [0 1 0]
         [0 0 1]]
    """
    return descendants(parent) + np.eye(len(parent), dtype=int)


def children(parent: Sequence[int]) -> Int[np.ndarray, "n n"]:
    """1 at (i, j) where link j starts from link i, else 0. No dimension.

    Examples:
        >>> from jaxgait.models.exoskeleton.tree import children
        >>> print(children([0, 1, 2]))
        [[0 1 0]
         [0 0 1]
         [0 0 0]]
    """
    return np.array([[int(p == i + 1) for p in parent] for i in range(len(parent))])


@float64_default
def weights(parent: Sequence[int], sign: Sequence[int], moments: Moments) -> tuple[Any, Any]:
    """W and rho in kg from the mass moments of the links, as numbers or symbols.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.models.exoskeleton.tree import Moments, weights
        >>> at_the_end = Moments(*[np.array([3.0, 2.0])] * 3)  # m = m n = m n^2
        >>> W, rho = weights([0, 1], [1, 1], at_the_end)
        >>> print(rho)  # kg
        [5. 2.]
    """
    theta, eta, zeta = moments
    below, s = descendants(parent).astype(theta.dtype), np.array(sign).astype(theta.dtype)
    carried = below @ theta
    ancestor = below * (eta + carried)[None, :]
    own = np.eye(len(parent), dtype=int).astype(theta.dtype) * (zeta + carried)[None, :]
    return (s[:, None] * s[None, :]) * (ancestor + ancestor.T + own), s * (eta + carried)
