"""Ranges of the parameter in which the gaits of a family are unstable."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from jaxgait.analysis.crossings import Crossing
from jaxgait.analysis.families import Gaits
from jaxgait.analysis.floquet import crossing_mode
from jaxgait.support.checks import of_class

__all__ = ["unstable_ranges"]

Range = tuple[float, float]


def unstable_ranges(branch: Gaits, crossings: Sequence[Crossing], member: int) -> list[Range]:
    """Ranges of the parameter, in its unit, in which a member's gait is unstable; their ends are located crossings.

    An end is infinite if the gait is unstable up to the last value to which it was followed. Between two crossings
    without a followed gait between them, stability is that which the crossings imply: a stable gait loses it at any of
    them, an unstable one gains it where no other multiplier is outside the unit circle.

    Args:
        branch: followed gaits, shape (values, members).
        crossings: all crossings of any members, also those at which a multiplier jumps across the unit circle.
        member: number of the member in its family.

    Raises:
        TypeError: for anything but followed gaits.
        ValueError: if the branch does not contain the member, if stability changes where no crossing was located, and
            if crossings imply different stability between them.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.crossings import Crossing
        >>> from jaxgait.analysis.families import Gaits
        >>> from jaxgait.analysis.stability import unstable_ranges
        >>> slopes, multipliers = np.array([[1.0], [2.0], [3.0]]), np.array([[0.5], [-0.9], [-1.4]])
        >>> one, member = multipliers[..., None], np.zeros((3, 1), int)
        >>> branch = Gaits(member, slopes, one[..., None], one[..., None], one[..., None], 0.0 * slopes)
        >>> doubling = Crossing("period doubling", 0, 2.2, 0.0, np.zeros((1, 1)), np.array([-1.0]), 0.0)
        >>> unstable_ranges(branch, [doubling], member=0)
        [(2.2, inf)]
    """
    of_class("branch", branch, Gaits, "such as follow returns")
    numbers = branch.member[0].tolist()
    if member not in numbers:
        raise ValueError(f"the branch contains the members {numbers}, not {member}")
    at = numbers.index(member)
    values, largest = branch.parameter[:, at], np.abs(branch.multipliers[:, at, 0])
    known = np.isfinite(largest)
    located = sorted((c for c in crossings if c.member == member), key=lambda c: c.parameter)
    intervals = [*itertools.pairwise([-np.inf, *(c.parameter for c in located), np.inf])]
    followed: list[bool | None] = []
    for low, high in intervals:
        inside = known & (values > low) & (values < high)
        unstable = largest[inside] > 1.0
        if unstable.any() and not unstable.all():
            raise ValueError(
                f"stability of member {member} changes between {low:g} and {high:g}, where no crossing was located: "
                f"{unstable.sum()} of {unstable.size} gaits are unstable, the first at {values[inside][unstable][0]:g}"
            )
        followed.append(bool(unstable.all()) if unstable.size else None)
    upwards = _implied(followed, located)
    downwards = _implied(followed[::-1], located[::-1])[::-1]
    ranges: list[Range] = []
    for i, (low, high) in enumerate(intervals):
        if None in (upwards[i], downwards[i]):
            continue  # beyond the followed values
        if upwards[i] != downwards[i] and followed[i - 1] is not False and followed[i + 1] is not False:
            raise ValueError(
                f"the crossings at {low:g} and {high:g} imply different stability of member {member} between them: "
                "follow it at closer values there"
            )
        if upwards[i] or downwards[i]:
            joined = bool(ranges) and ranges[-1][1] == low  # another multiplier crosses: still the same range
            ranges.append((ranges.pop()[0] if joined else low, high))
    return ranges


def _implied(followed: Sequence[bool | None], crossings: Sequence[Crossing]) -> list[bool | None]:
    """Whether gaits between crossings are unstable: as followed, or else as those before the crossing imply."""
    found = [followed[0]]
    for own, before in zip(followed[1:], crossings, strict=True):
        last = found[-1]
        found.append(own if own is not None else last and _others_outside(before) if last is not False else True)
    return found


def _others_outside(crossing: Crossing) -> bool:
    """Whether a multiplier outside the unit circle is not one of those that cross it."""
    mode = crossing_mode(crossing.kind, crossing.multipliers.astype(complex))
    own = [] if mode is None else [mode[0], mode[0] + 1] if crossing.kind == "Neimark-Sacker" else [mode[0]]
    return bool((np.abs(np.delete(crossing.multipliers, own)) > 1.0).any())
