"""All points of periodic gaits that repeat after several strides, of which a branch follows one."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from jaxgait.analysis.continuation import BifurcationPoint, Branch
from jaxgait.native import kept
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default
from jaxgait.solve.periodic import ReturnMap
from jaxgait.support.checks import of_class


@float64_default
def orbit_branches(return_map: ReturnMap, model: Any, branch: Branch) -> list[Branch]:
    """A branch of gaits of the order n as n branches, one through each point that such a gait has in the section.

    Args:
        return_map: the map that the branch belongs to.
        model: the mechanism.
        branch: a branch that `continuation` or `period_doubled` followed.

    Returns:
        The branch itself, and those of the points one to n - 1 strides later, with the same parameters, multipliers and
        bifurcations, whose `direction` is still that of the first point.

    Raises:
        TypeError: for anything but a branch.

    Examples:
        >>> import equinox as eqx
        >>> import numpy as np
        >>> from jaxgait import parameter
        >>> from jaxgait.analysis.continuation import Branch
        >>> from jaxgait.analysis.orbits import orbit_branches
        >>> class Growth(eqx.Module):
        ...     r: float = parameter(3.2, unit="1", doc="growth")
        >>> logistic = lambda model, z: model.r * z * (1.0 - z)
        >>> growth, z = np.array([3.2]), np.array([[0.513]])
        >>> double = Branch("r", 2, growth, z, np.full((1, 1), 0.16), np.array([True]), (), "")
        >>> [one.z.round(2).item() for one in orbit_branches(logistic, Growth(), double)]
        [0.51, 0.8]
    """
    of_class("branch", branch, Branch, "such as continuation returns")
    found = [branch]
    for _ in range(branch.order - 1):
        found.append(_next(return_map, model, found[-1]))
    return found


def _next(return_map: ReturnMap, model: Any, branch: Branch) -> Branch:
    """The branch of the points one stride later."""
    origin = () if branch.origin is None else (branch.origin,)
    special: tuple[BifurcationPoint, ...] = (*origin, *branch.bifurcations)
    parameter = np.array([*branch.parameter, *(point.parameter for point in special)])
    points = np.concatenate([branch.z, *(point.z[None] for point in special)])
    z = np.asarray(_mapped(return_map, branch.name, model, parameter, points)) if len(points) else points
    moved = [point._replace(z=new) for point, new in zip(special, z[len(branch.parameter) :], strict=True)]
    return branch._replace(
        z=z[: len(branch.parameter)],
        bifurcations=tuple(moved[len(origin) :]),
        origin=moved[0] if origin else None,
    )


@kept
def _mapped(
    return_map: ReturnMap, name: str, model: Any, parameter: Float[Array, " points"], z: Float[Array, "points n"]
) -> Float[Array, "points n"]:
    return jax.vmap(lambda p, one: return_map(with_parameters(model, {name: p}), one))(parameter, z)
