"""What a continuation finds: branches of periodic gaits, their bifurcations, and curves of these in two parameters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.analysis.floquet import Bifurcation
from jaxgait.support.checks import count_of


class BifurcationPoint(NamedTuple):
    """A bifurcation: a point where the stability of a gait changes."""

    kind: Bifurcation
    parameter: float
    z: np.ndarray
    multipliers: np.ndarray
    direction: np.ndarray
    """Unit eigenvector of the multiplier that crosses (its real part for a pair)."""


class Branch(NamedTuple):
    """A branch of periodic gaits, point after point along it.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.bifurcations import Branch
        >>> slope, multipliers = np.array([0.01, 0.02]), np.array([[0.5], [-1.1]])
        >>> Branch("slope", 1, slope, np.zeros((2, 1)), multipliers, np.array([True, False]), (), "end of the span")
        <Branch of 2 gaits over slope from 0.01 to 0.02, 1 stable; end of the span>
    """

    name: str
    """The parameter that varies."""
    order: int
    """Number of applications of the return map after which its gaits repeat."""
    parameter: Float[np.ndarray, " points"]
    z: Float[np.ndarray, "points n"]
    multipliers: np.ndarray
    stable: np.ndarray
    bifurcations: tuple[BifurcationPoint, ...]
    why_stopped: str
    origin: BifurcationPoint | None = None
    """The bifurcation of another branch at which it starts; its multipliers are those of that branch."""

    def __repr__(self) -> str:
        what = count_of(len(self.parameter), "gait", "gaits") + (f" of order {self.order}" if self.order > 1 else "")
        what += f" over {self.name}"
        if len(self.parameter):
            what += f" from {self.parameter.min():.6g} to {self.parameter.max():.6g}, {np.sum(self.stable)} stable"
        found = "".join(f"; {one.kind} at {one.parameter:.6g}" for one in self.bifurcations)
        return f"<Branch of {what}{found}; {self.why_stopped}>"


class BifurcationCurve(NamedTuple):
    """A bifurcation followed in two parameters, point after point."""

    kind: Bifurcation
    names: tuple[str, str]
    parameters: Float[np.ndarray, "points 2"]
    """Values of both parameters, in their own units."""
    z: Float[np.ndarray, "points n"]
    multipliers: np.ndarray
    why_stopped: str

    def __repr__(self) -> str:
        points = count_of(len(self.parameters), "point", "points")
        what = f"{self.kind}, {points} over {self.names[0]} and {self.names[1]}"
        return f"<BifurcationCurve: {what}; {self.why_stopped}>"
