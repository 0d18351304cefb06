"""Ranges of the parameter in which the gaits of a family are unstable."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from jaxgait.analysis.families import Crossing, Gaits

__all__ = ["end_of_first", "unstable_ranges", "widest_window"]

Range = tuple[float, float]


def unstable_ranges(
    branch: Gaits, found: Sequence[Crossing], member: int, members: Sequence[int] | None = None
) -> list[Range]:
    """Ranges of the parameter, in its unit, in which a member's gait is unstable; their ends are located crossings.

    An end is infinite if the gait is unstable as far as it was followed.

    Args:
        branch: followed gaits, shape (values, members).
        found: crossings of any members.
        member: number of the member.
        members: numbers of the members that the branch holds, in order; None: 0, 1, ...

    Raises:
        ValueError: if the branch does not hold the member.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.families import Crossing, Gaits
        >>> from jaxgait.analysis.stability import unstable_ranges
        >>> slopes, multipliers = np.array([[1.0], [2.0], [3.0]]), np.array([[0.5], [-0.9], [-1.4]])
        >>> one = multipliers[..., None]
        >>> branch = Gaits(slopes, one[..., None], one[..., None], one[..., None], 0.0 * slopes)
        >>> doubling = Crossing("period doubling", 0, 2.2, 0.0, np.zeros((1, 1)), np.array([-1.0]), 0.0)
        >>> unstable_ranges(branch, [doubling], member=0)
        [(2.2, inf)]
    """
    followed = list(range(branch.parameter.shape[1]) if members is None else members)
    if member not in followed:
        raise ValueError(f"the branch holds the members {followed}, not {member}")
    at = followed.index(member)
    values, largest = branch.parameter[:, at], np.abs(branch.multipliers[:, at, 0])
    known = np.isfinite(largest)
    located = sorted(c.parameter for c in found if c.member == member)
    ranges = []
    for low, high in itertools.pairwise([-np.inf, *located, np.inf]):
        inside = largest[known & (values > low) & (values < high)]
        if inside.size and np.mean(inside > 1.0) > 0.5:
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
