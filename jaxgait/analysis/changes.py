"""Changes of stability along a followed branch: whether they are bifurcations, and of which kind.

Between neighbouring points, a bifurcation shows as the change of sign of a test function. At a multiplier of +1 two
cases differ by the Jacobian of the equations bordered by the direction of the branch: it is regular at a fold, where
the branch turns back, and singular at a branch point, where another branch crosses. A function may also jump (as by a
grazing contact, or where the steps of a solver change): then there is no bifurcation.

Two changes of the same kind between two neighbouring points cancel and are not found.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from jaxgait.analysis.branches import Corrector, Points, System, between
from jaxgait.analysis.floquet import (
    BIFURCATIONS,
    Bifurcation,
    Floquet,
    bifurcation_values,
    crossing_mode,
    floquet,
    sign_changes,
)
from jaxgait.precision import float64_default

__all__ = ["Change", "Changes", "changes", "return_jacobian"]

CIRCLE_TOLERANCE = 1e-5
"""Distance of a multiplier from the unit circle, where a test function changes sign, beyond which it jumps across."""
END_MARGIN = 1e-6
"""Distance from an interval, as a fraction of its length, up to which a bifurcation at its end belongs to it."""


@float64_default
class Change(NamedTuple):
    """A bifurcation on a branch."""

    kind: Bifurcation
    position: float
    """Number of the point before it, and the fraction of the distance to the next one."""
    x: Float[np.ndarray, " n+1"]
    """Scaled unknowns."""
    modes: Floquet
    mode: int
    """Index of the multiplier that crosses."""


@float64_default
class Changes(NamedTuple):
    """All bifurcations of a branch in order, and the numbers of points after which stability changes without one."""

    bifurcations: list[Change]
    jumps: list[int]


@float64_default
def return_jacobian(linear: Float[np.ndarray, "... n m"], scale: Float[np.ndarray, " m"]) -> np.ndarray:
    """Jacobian (..., n, n) of a return map, in the units of its point, from that of its residual, (P(z) - z) / scale.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.changes import return_jacobian
        >>> print(return_jacobian(np.array([[-1.5, 0.3]]), np.ones(2)))  # of one coordinate and one parameter
        [[-0.5]]
    """
    n = linear.shape[-2]
    return linear[..., :n] * scale[:n, None] / scale[None, :n] + np.eye(n)


@float64_default
def changes(system: System, points: Points, scale: Float[np.ndarray, " m"], corrector: Corrector) -> Changes:
    """Locates the bifurcations between the points of branch 0 of a system.

    Args:
        system: scaled residuals of a return map (no dimension); the last unknown is the parameter.
        points: successive points of the branch.
        scale: sizes of the unknowns, in their own units.
        corrector: settings.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.branches import Corrector, Points
        >>> from jaxgait.analysis.changes import changes
        >>> from jaxgait.roots import Rule
        >>> system = lambda branches, x: ((x[:, :1] - 1.0) * x[:, 1:], np.stack([x[:, 1:], x[:, :1] - 1.0], axis=2))
        >>> x = np.array([[1.0, -0.5], [1.0, 0.5]])  # along z = 1, which crosses p = 0
        >>> points = Points(x, system(None, x)[1], np.zeros(2))
        >>> found = changes(system, points, np.ones(2), Corrector(Rule(1e-10, shorten=False), 8)).bifurcations
        >>> print(found[0].kind, found[0].x.round(6) + 0.0)
        branch point [1. 0.]
    """
    if len(points.x) < 2:
        return Changes([], [])
    multipliers = floquet(return_jacobian(points.linear, scale)).multipliers
    found, jumps = [], set()
    one = lambda i: Points(*(field[i : i + 1] for field in points))
    for i, kind in _crossed(points, multipliers):
        chord = points.x[i + 1] - points.x[i]
        test = functools.partial(_test, kind, chord, scale)
        at = between(system, (one(i), one(i + 1)), test, corrector, singular=kind == "branch point")
        modes = floquet(return_jacobian(at.linear[0], scale))
        if (mode := crossing_mode(kind, modes.multipliers)) is None:
            continue  # a neutral saddle
        if mode[1] > CIRCLE_TOLERANCE:
            jumps.add(i)
        else:
            position = i + float((at.x[0] - points.x[i]) @ chord / (chord @ chord))
            found.append(Change(kind, position, at.x[0], modes, mode[0]))
    for i in np.flatnonzero(np.diff(np.abs(multipliers[:, 0]) < 1.0)):
        if not any(i - END_MARGIN <= change.position <= i + 1 + END_MARGIN for change in found):
            jumps.add(int(i))
    return Changes(sorted(found, key=lambda change: change.position), sorted(jumps))


def _crossed(points: Points, multipliers: Complex[np.ndarray, "points n"]) -> Iterator[tuple[int, Bifurcation]]:
    """The numbers of points after which a test function changes sign, and of which bifurcation."""
    chords = np.diff(points.x, axis=0)
    before, after = (_bordered(linear, chords) > 0.0 for linear in (points.linear[:-1], points.linear[1:]))
    branching, signs = before != after, sign_changes(bifurcation_values(multipliers))
    for i in range(len(chords)):
        if branching[i]:
            yield i, "branch point"
        for kind, changed in zip(BIFURCATIONS, signs[i], strict=True):
            if changed and not (kind == "fold" and branching[i]):
                yield i, kind


def _bordered(linear: Float[np.ndarray, "b m n"], direction: Float[np.ndarray, "b n"]) -> np.ndarray:
    return np.linalg.det(np.concatenate([linear, direction[:, None, :]], axis=1))


def _test(kind: Bifurcation, chord: np.ndarray, scale: np.ndarray, at: Points) -> float:
    """The function that changes sign at a bifurcation, at one point."""
    if not np.isfinite(at.x).all():
        return float("nan")
    if kind == "branch point":
        return float(_bordered(at.linear, chord[None])[0])
    multipliers = floquet(return_jacobian(at.linear[0], scale)).multipliers
    return float(bifurcation_values(multipliers)[BIFURCATIONS.index(kind)])
