"""Ranges of the parameter in which the gaits of a family are unstable."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from jaxgait.analysis.families import Crossing, Gaits

__all__ = ["end_of_first", "unstable_ranges", "widest_window"]

Range = tuple[float, float]


def unstable_ranges(branch: Gaits, found: Sequence[Crossing], member: int) -> list[Range]:
    """Ranges of the parameter, in its unit, in which a member's gait is unstable; their ends are located crossings.

    An end is infinite if the gait is unstable as far as it was followed.

    Args:
        branch: followed gaits, shape (values, members).
        found: all crossings of any members, also those at which a multiplier jumps across the unit circle.
        member: number of the member in its family.

    Raises:
        ValueError: if the branch does not hold the member, and if stability changes where no crossing was located.

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
    held = branch.member[0].tolist()
    if member not in held:
        raise ValueError(f"the branch holds the members {held}, not {member}")
    at = held.index(member)
    values, largest = branch.parameter[:, at], np.abs(branch.multipliers[:, at, 0])
    known = np.isfinite(largest)
    located = sorted(c.parameter for c in found if c.member == member)
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


def end_of_first(ranges: Sequence[Range]) -> float:
    """The upper end of the first unstable range, in the unit of the parameter; NaN if there is none.

    Examples:
        >>> from jaxgait.analysis.stability import end_of_first
        >>> end_of_first([(1.2, 1.5), (2.0, 2.1)])
        1.5
    """
    return next((high for _, high in ranges if np.isfinite(high)), float("nan"))


def widest_window(ranges: Sequence[Range]) -> Range:
    """The widest unstable range between stable ones, in the parameter's unit; NaN if there is none.

    Examples:
        >>> from jaxgait.analysis.stability import widest_window
        >>> widest_window([(1.2, 1.5), (2.0, 2.1)])
        (1.2, 1.5)
    """
    inner = [r for r in ranges if np.isfinite(r).all()]
    return max(inner, key=lambda r: r[1] - r[0], default=(float("nan"), float("nan")))
