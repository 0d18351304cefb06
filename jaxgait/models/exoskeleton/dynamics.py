"""Inverse dynamics of a chain in angles and lengths, and the moments and forces of its actuators.

It is the paper's, by its matrices, and regular everywhere: its formulas have no division. The model computes the same
in the link vectors of `vectors`, as it does its forward dynamics; forward dynamics in angles is in `formulations`.
"""

from __future__ import annotations

from jaxtyping import Float

from jaxgait.models.exoskeleton.elements import Coordinates, Matrices, Q, left_hand_side, matrices_of
from jaxgait.models.exoskeleton.tree import Chain, Real, children, subtrees
from jaxgait.precision import float64_default

G = 9.81
"""Default gravity in m/s^2."""


@float64_default
def matrices(chain: Chain, q: Coordinates) -> Matrices:
    """All matrices of the equations of motion at `q`: `PlanarMatrices` or `SpatialMatrices`, SI units."""
    return matrices_of(chain.W, chain.rho, q)


@float64_default
def inverse_dynamics(chain: Chain, q: Q, rate: Q, acceleration: Q, gravity: Float[Real, ""] | float = G) -> Q:
    """Generalised forces for a given motion: N m for angles, N for lengths.

    Args:
        chain: the mechanism.
        q: coordinates, rad and m.
        rate: their rates.
        acceleration: their accelerations.
        gravity: m/s^2, along -y (plane) or -z (space).
    """
    return type(q)(*left_hand_side(matrices(chain, q), rate, acceleration, gravity))


@float64_default
def joint_moments(chain: Chain, force: Q) -> Q:
    """The actuators behind generalised forces, summed from the leaves to the root.

    A moment acts on its link and back on the parent; axial forces act on their own link only.
    """
    branch = subtrees(chain.parent)
    return type(force)._make([*(branch.astype(f.dtype) @ f for f in force[:-1]), force[-1]])


@float64_default
def relative_rates(chain: Chain, rate: Q) -> Q:
    """Rates at which the actuators work: joint angles relative to the parent in rad/s, lengths in m/s."""
    carries = children(chain.parent)
    return type(rate)._make([*(r - carries.astype(r.dtype).T @ r for r in rate[:-1]), rate[-1]])
