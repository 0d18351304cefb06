"""Whether consecutive steps of an exoskeleton join when the legs exchange roles."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.batches import each
from jaxgait.mechanics.linalg import norm
from jaxgait.models.exoskeleton import vectors
from jaxgait.precision import float64_default
from jaxgait.support.checks import warn_user

MAX_JUMP = 1e-4
"""Largest jump in m that raises no warning."""


@float64_default
def step_mismatch(exo: Any) -> tuple[Float[Array, "n d"], Float[Array, ""]]:
    """Position mismatch between consecutive steps in the mode "gait"; zero if they match.

    Returns:
        The jump in m of the far end of each link when the legs exchange roles, in the axes of the step that begins; and
        the height in m above the old foot at which the new one lands.

    Examples:
        >>> from jaxgait.models.exoskeleton.continuity import step_mismatch
        >>> from jaxgait.models.exoskeleton.model import five_links
        >>> jump, height = step_mismatch(five_links(mode="gait"))
        >>> print(jump.shape, bool(abs(jump).max() < 1e-12), bool(abs(height) < 1e-12))
        (5, 3) True True
    """
    ended, begun = exo.exchanged(exo.state_at(exo.gait.stride_time / 2)), exo.state_at(0.0)
    before, after = (vectors.joints(exo.chain, y.x)[:, 1] for y in (ended, begun))
    return after - before, exo.landing()[-1]


def warn_of_jumps(exo: Any) -> None:
    """Warns of steps that do not join.

    Warns:
        UserWarning: naming the largest jump in mm of the member that jumps most, and the height of its landing.
    """
    jumps, heights = each(exo, _largest_jump)
    size = np.maximum(jumps, np.abs(heights))
    i = np.argmax(size)
    if size[i] > MAX_JUMP:
        warn_user(
            f"the steps of this gait do not join: joints jump by up to {1e3 * jumps[i]:.3g} mm when the legs exchange "
            f"roles, and the foot lands {1e3 * heights[i]:+.3g} mm above the ground; both legs need the same lengths, "
            "and amplitudes from joined_amplitudes with equal phases of the thighs (as in a JoinedGait)"
        )


def _largest_jump(exo: Any) -> tuple[Array, Array]:
    """The largest jump of a joint, and the height of the landing, in m."""
    jump, height = step_mismatch(exo)
    return jnp.max(norm(jump)), height
