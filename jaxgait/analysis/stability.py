"""Ranges of the parameter in which the gaits of a family are unstable."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from jaxgait.analysis.families import Crossing, Gaits

__all__ = ["unstable_ranges"]

Range = tuple[float, float]


def unstable_ranges(branch: Gaits, crossings: Sequence[Crossing], member: int) -> list[Range]:
    """Ranges of the parameter, in its unit, in which a member's gait is unstable; their ends are located crossings.

    An end is infinite if the gait is unstable up to the last value to which it was followed.

    Args:
        branch: followed gaits, shape (values, members).
        crossings: all crossings of any members, also those at which a multiplier jumps across the unit circle.
        member: number of the member in its family.

    Raises:
        ValueError: if the branch does not contain the member, and if stability changes where no crossing was located.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.families import Crossing, Gaits
        >>> from jaxgait.analysis.stability import unstable_ranges
        >>> slopes, multipliers = np.array([[1.0], [2.0], [3.0]]), np.array([[0.5], [-0.9], [-1.4]])
        >>> one, member = multipliers[..., None], np.zeros((3, 1), int)
        >>> branch = Gaits(member, slopes, one[..., None], one[..., None], one[..., None], 0.0 * slopes)
        >>> doubling = Crossing("period doubling", 0, 2.2, 0.0, np.zeros((1, 1)), np.array([-1.0]), 0.0)
        >>> unstable_ranges(branch, [doubling], member=0)
        [(2.2, inf)]
    """
    numbers = branch.member[0].tolist()
    if member not in numbers:
        raise ValueError(f"the branch contains the members {numbers}, not {member}")
    at = numbers.index(member)
    values, largest = branch.parameter[:, at], np.abs(branch.multipliers[:, at, 0])
    known = np.isfinite(largest)
    located = sorted(c.parameter for c in crossings if c.member == member)
    ranges = []
    for low, high in itertools.pairwise([-np.inf, *located, np.inf]):
        inside = known & (values > low) & (values < high)
        unstable = largest[inside] > 1.0
        if unstable.any() and not unstable.all():
            raise ValueError(
                f"stability of member {member} changes between {low:g} and {high:g}, where no crossing was located: "
                f"{unstable.sum()} of {unstable.size} gaits are unstable, the first at {values[inside][unstable][0]:g}"
            )
        if unstable.any():
            joined = bool(ranges) and ranges[-1][1] == low  # another multiplier crosses: still the same range
            ranges.append((ranges.pop()[0] if joined else low, high))
    return ranges
