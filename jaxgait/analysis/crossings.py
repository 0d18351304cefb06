"""Changes of stability on branches of gaits that `jaxgait.analysis.families.follow` found: safeguarded secants.

Secants only need the sign of the test function: return maps of adaptive solvers are smooth only to their tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from jaxgait.analysis.branches import Between
from jaxgait.analysis.families import Family, Gaits, gaits
from jaxgait.analysis.floquet import BIFURCATIONS, Bifurcation, bifurcation_values, crossing_mode, sign_changes
from jaxgait.precision import float64_default
from jaxgait.support import checks
from jaxgait.support.checks import shown
from jaxgait.support.notes import waiting

CROSSINGS: tuple[Bifurcation, ...] = ("branch point", *BIFURCATIONS[1:])
"""In the order of `bifurcation_functions`. The first is no fold: a branch continued in the parameter has none."""
MAX_SECANTS = 10
"""Largest number of steps of `crossings`."""


class Crossing(NamedTuple):
    """A point where a branch gains or loses stability."""

    kind: Bifurcation
    member: int
    parameter: float
    width: float
    """Distance to the nearest gait on the other side: a bound of the error."""
    z: Float[np.ndarray, "order n"]
    multipliers: np.ndarray
    distance: float
    """Distance of the crossing multiplier from the unit circle; large if it jumps across (a grazing contact)."""


@float64_default
def crossings(family: Family, branches: Gaits, *, width: float, progress: bool | None = None) -> list[Crossing]:
    """Locates the changes of stability between neighbouring gaits of followed branches.

    Two changes of the same kind between neighbouring gaits, such as a short interval of doubled period, cancel and are
    not found: the values along which branches are followed must be closer than such an interval.

    Args:
        family: return map and members, those of the branches.
        branches: result of `follow`.
        width: tolerance of a bifurcation's location, in the parameter's own unit.
        progress: whether to show a progress bar; None: on a terminal and in notebooks.

    Raises:
        TypeError: for anything but a family and its gaits.
        ValueError: for a width that is not positive, for gaits that were not followed in this family, and for
            coordinates of a section that do not fit together.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.crossings import crossings
        >>> from jaxgait.analysis.families import Family, follow
        >>> vary = lambda model, member, value: value * member
        >>> family = Family(lambda r, z: r * z * (1.0 - z), None, vary, np.ones(1), lanes=1)
        >>> branch = follow(family, np.array([0]), np.array([2.5, 3.2]), np.full((1, 1, 1), 0.6))
        >>> [(found.kind, round(found.parameter, 6)) for found in crossings(family, branch, width=1e-6)]
        [('period doubling', 3.0)]
    """
    checks.of_class("family", family, Family, "that of the gaits")
    checks.of_class("branches", branches, Gaits, "such as follow returns")
    checks.positive("width", width, "the parameter's unit")
    members, size = np.asarray(branches.member), len(jax.tree.leaves(family.members)[0])
    if members.ndim != 2 or (members != members[:1]).any() or (members < 0).any() or (members >= size).any():
        raise ValueError(
            f"branches must be followed gaits (values, b) of members 0 to {size - 1}, got {shown(members)}"
        )
    at = lambda *index: Gaits(*(field[index] for field in branches))
    end = lambda one, kind: (float(one.parameter), one, _test(one, int(kind)))
    brackets = [
        _Bracket(int(kind), Between(end(at(point, lane), kind), end(at(point + 1, lane), kind)))
        for point, lane, kind in zip(*np.nonzero(sign_changes(bifurcation_values(branches.multipliers))), strict=True)
    ]
    with waiting("bifurcations", "secant", progress) as bar:
        for count in range(MAX_SECANTS):
            wide = [b for b in brackets if not b.done]
            if not wide:
                break
            tried = np.array([b.next(count) for b in wide])
            guesses = np.stack([b.gaits.guess(p, lambda one: one.z) for b, p in zip(wide, tried, strict=True)])
            new = gaits(family, np.array([b.gaits.near_and_far[0].member for b in wide]), tried, guesses)
            for i, b in enumerate(wide):
                b.narrow(Gaits(*(field[i] for field in new)), width)
            bar.update()
    return [c for c in (b.crossing() for b in brackets) if c is not None]


@dataclass
class _Bracket:
    """Two gaits of one branch between which a test function changes sign."""

    kind: int
    gaits: Between[Gaits]
    done: bool = False
    fallback: float | None = None
    """Value to try next if no gait is found, e.g. at a branch point."""

    def next(self, count: int) -> float:
        """The value of the parameter to try after `count` others."""
        return self.gaits.next(count) if self.fallback is None else self.fallback

    def narrow(self, new: Gaits, width: float) -> None:
        """Replaces one end; stops if there is no gait at a value and none next to it."""
        p, g = float(new.parameter), _test(new, self.kind)
        self.done = self.fallback is not None or self.gaits.distance(p) <= width
        if np.isfinite(g):
            self.gaits.narrow(p, new, g)
        else:
            self.fallback = p + 0.5 * width

    def crossing(self) -> Crossing | None:
        """The end nearer to the zero; None for a neutral saddle."""
        near, far = self.gaits.near_and_far
        multipliers, kind = near.multipliers, CROSSINGS[self.kind]
        if (mode := crossing_mode(kind, multipliers)) is None:
            return None
        p, width = float(near.parameter), abs(float(near.parameter - far.parameter))
        return Crossing(kind, int(near.member), p, width, near.z, multipliers, mode[1])


def _test(one: Gaits, kind: int) -> float:
    return float(bifurcation_values(one.multipliers)[kind])
