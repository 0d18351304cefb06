"""Families of periodic gaits: many branches in parallel, for return maps that are expensive to evaluate.

`continuation` follows one branch, point by point. If one stride costs tens of thousands of stiff steps (the knee), it
pays to follow many branches in parallel: the members of a family (e.g. dampers of different c/k) share one compiled
evaluation of the return map with its exact derivatives, always with the same number of lanes.

An orbit of m strides is m points, each mapped to the next (multiple shooting), so that no evaluation is longer than one
stride. `follow` predicts along tangents and halves the step where Newton's method fails; `jaxgait.analysis.crossings`
locates the changes of stability on its branches.

Derivatives are exact for the steps taken, but an adaptive solver may take other steps at a neighbouring point: the map
is smooth only to the solver's tolerance. Hence `tolerance`.

Reference: Kuznetsov, Elements of Applied Bifurcation Theory, chapter 10.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxgait.analysis.branches import (
    Corrector,
    Points,
    Steps,
    System,
    advance,
    correct,
    parameter_axis,
    tangents,
    unknown,
)
from jaxgait.analysis.floquet import floquet
from jaxgait.model import Scalar
from jaxgait.native import kept
from jaxgait.parameters import in_own_unit, parameter_info, with_parameters
from jaxgait.precision import float64_default, in_force
from jaxgait.roots import Rule, many
from jaxgait.solve.checks import check_model
from jaxgait.solve.periodic import TOLERANCE, Closing, FixedPoint, ReturnMap, checked_search, linearised, search_rule
from jaxgait.solve.sections import check_section
from jaxgait.solve.steps import as_points
from jaxgait.support import checks
from jaxgait.support.notes import waiting

MAX_CONTRACTION = 1.0
"""Largest ratio of successive Newton steps of `follow`."""
MAX_HALVINGS = 3
"""Largest number of halvings of a step by `follow`."""


class Family(eqx.Module):
    """Members whose gaits are sought, over one parameter.

    Examples:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait.analysis.families import Family, gaits
        >>> halfway = lambda model, z: 0.5 * (z + model)
        >>> vary = lambda scale, member, value: scale * member * value
        >>> family = Family(halfway, jnp.asarray(1.0), vary, np.array([1.0, 2.0]))
        >>> found = gaits(family, np.array([0, 1]), np.full(2, 3.0), np.zeros((2, 1, 1)))
        >>> print(found.z.ravel(), found.multipliers.real.ravel())
        [3. 6.] [0.5 0.5]
    """

    return_map: Any = eqx.field(static=True)
    """A `jaxgait.solve.periodic.ReturnMap`."""
    model: Any
    vary: Callable[[Any, Any, Scalar], Any] = eqx.field(static=True)
    """Function of (model, member, value) that returns a member's model at a value of the parameter."""
    members: Any
    """The data of the members: a pytree whose leaves have a leading axis."""
    tolerance: float = eqx.field(static=True, default=1e-9)
    """Residual, in the units of the point, below which one last Newton step completes a gait."""
    corrections: int = eqx.field(static=True, default=8)
    """Largest number of Newton steps."""
    lanes: int = eqx.field(static=True, default=16)
    """Number of evaluations in parallel; one program of this width is compiled."""


@float64_default
class Gaits(NamedTuple):
    """Solved gaits, one per entry of the leading axes; NaN where none was found.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.families import Gaits
        >>> z, jacobian = np.zeros((1, 1, 2)), np.array([[[0.5, 1.0], [0.0, -0.8]]])
        >>> print(Gaits(np.array([0]), np.array([0.1]), z, jacobian, z, np.zeros(1)).multipliers.real)
        [[-0.8  0.5]]
    """

    member: Int[np.ndarray, " ..."]
    """Number of the member in its family."""
    parameter: Float[np.ndarray, " ..."]
    z: Float[np.ndarray, "... order n"]
    """The successive points of the orbit."""
    jacobian: Float[np.ndarray, "... n n"]
    """Of the return map applied `order` times, at the first point."""
    rate: Float[np.ndarray, "... order n"]
    """Derivative of the points with respect to the parameter."""
    residual: Float[np.ndarray, " ..."]
    """Largest distance of a mapped point from the next one before the last step, even if too large; infinity if the
    motion does not return; NaN after the loss of a followed branch."""

    @property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers, without unit, the largest first; shape (..., n)."""
        return floquet(self.jacobian).multipliers

    def __repr__(self) -> str:
        found = np.isfinite(self.jacobian).all(axis=(-2, -1))
        stable = floquet(self.jacobian[found]).stable
        return f"<Gaits: {found.sum()} of {found.size} found, {stable.sum()} of them stable>"


@kept
def _lanes(family: Family, members: Any, p: Array, z: Array) -> tuple[Array, Array, Array]:
    """The next points, and their derivatives with respect to the points and to the parameter."""

    def derived(member: Any, x: Array) -> tuple[Array, Array]:
        return linearised(lambda _, x: family.return_map(family.vary(family.model, member, x[0]), x[1:]), None, x)

    value, slope = jax.vmap(derived)(members, jnp.concatenate([p[:, None], z], axis=1))
    return value, slope[:, :, 1:], slope[:, :, 0]


@float64_default
def strides(
    family: Family,
    members: Int[np.ndarray, " b"],
    values: Float[np.ndarray, " b"],
    z0: Float[np.ndarray, "b order n"],
) -> tuple[np.ndarray, ...]:
    """One stride from every point of some orbits, in batches of `Family.lanes`.

    Args:
        family: return map and members.
        members: number of the member of each orbit.
        values: value of the parameter of each, in its own unit.
        z0: their points.

    Returns:
        The next points (b, order, n), and their derivatives with respect to the points (b, order, n, n) and to the
        parameter (b, order, n).

    Examples:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait.analysis.families import Family, strides
        >>> vary = lambda model, member, value: value * member
        >>> family = Family(lambda r, z: r * z * (1.0 - z), None, vary, np.array([1.0, 2.0]), lanes=2)
        >>> value, slope, rate = strides(family, np.array([0, 1]), np.array([2.0, 1.5]), np.full((2, 1, 1), 0.5))
        >>> print(value.ravel(), slope.ravel(), rate.ravel())  # r / 4, 0, member / 4
        [0.5  0.75] [0. 0.] [0.25 0.5 ]
    """
    count, order, n = z0.shape
    if not count:
        return np.zeros((0, order, n)), np.zeros((0, order, n, n)), np.zeros((0, order, n))
    members, values = np.repeat(members, order), np.repeat(values, order)
    data = jax.tree.map(lambda leaf: np.asarray(leaf)[members], family.members)
    flat = _in_batches(functools.partial(_lanes, family), family.lanes, (data, values, z0.reshape(count * order, n)))
    return tuple(a.reshape(count, order, *a.shape[1:]) for a in flat)


@kept
def _closures(closing: Closing, model: Any, values: dict[str, Array], z: Array) -> tuple[Array, Array]:
    one = lambda values, z: linearised(lambda m, x: closing(x, m), with_parameters(model, values), z)
    return jax.vmap(one)(values, z)


@float64_default
def fixed_points(
    return_map: ReturnMap,
    model: Any,
    over: Mapping[str, Any],
    z0: Float[ArrayLike, "... n"],
    *,
    order: int = 1,
    tolerance: float | None = None,
    max_iterations: int = 30,
    lanes: int = 128,
) -> FixedPoint:
    """Periodic orbits of thousands of members, each as `jaxgait.solve.periodic.fixed_point` finds it.

    Unlike `jax.vmap` of `fixed_point`, only members that have not converged are evaluated, `lanes` at a time, and none
    waits for the slowest one. For derivatives, apply `jax.vmap` of `fixed_point` to the result: one iteration suffices.
    From a distant guess, a member may converge to another, unstable gait: over a range of parameters, `follow` it.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: what the members share.
        over: parameters by dotted name, in their units or labelled with others, with a value for each member: unlike
            those of `jaxgait.ensemble`, which are a grid, values at the same place belong together, as in
            `jaxgait.zipped`.
        z0: first guesses, or one for all.
        order: the orbits repeat after this many applications of the map.
        tolerance: as for `fixed_point`.
        max_iterations: largest number of evaluations of the map and its Jacobian per member.
        lanes: largest number of members evaluated in parallel; one program is compiled, of this width or, for fewer
            members, of the next power of two.

    Returns:
        NumPy arrays with a leading axis; NaN where `status` is not `CONVERGED`.

    Raises:
        ValueError: for parameters of different lengths, and impossible guesses, counts or tolerances.
        jaxgait.parameters.ParameterError: for unknown parameters and impossible values.

    Examples:
        >>> import equinox as eqx
        >>> import numpy as np
        >>> from jaxgait import parameter
        >>> from jaxgait.analysis.families import fixed_points
        >>> class Growth(eqx.Module):
        ...     r: float = parameter(2.8, unit="1", doc="growth")
        >>> logistic = lambda model, z: model.r * z * (1.0 - z)
        >>> found = fixed_points(logistic, Growth(), {"r": np.array([2.5, 4.0])}, np.array([0.6]), lanes=2)
        >>> print(found.z[:, 0].round(6), found.jacobian.ravel().round(6))  # 1 - 1/r, 2 - r
        [0.6  0.75] [-0.5 -2. ]
    """
    checks.of_class("over", over, Mapping, 'such as {"mass": masses}')
    in_unit = lambda name, x: np.asarray(in_own_unit(name, x, parameter_info(model, name).unit), dtype=float)
    values = {name: in_unit(name, column) for name, column in over.items()}
    sizes = {name: column.shape for name, column in values.items()}
    if len(set(sizes.values())) != 1 or any(len(shape) != 1 for shape in sizes.values()):
        what = "over must contain one value of each parameter per member, in vectors (x.ravel() of a grid)"
        raise ValueError(f"{what}, got the shapes {sizes}")
    (count,) = next(iter(sizes.values()))
    tolerance = TOLERANCE[in_force()] if tolerance is None else tolerance
    z0 = np.asarray(as_points(z0, "z0"))
    if z0.shape not in {z0.shape[-1:], (count, *z0.shape[-1:])} or not z0.ndim:
        raise ValueError(f"z0 must be one point, or one for each of {count} members, got the shape {z0.shape}")
    z = np.broadcast_to(z0, (count, z0.shape[-1]))
    if count:
        check_model(with_parameters(model, values))
        first = with_parameters(model, {name: x[0] for name, x in values.items()})
        checked_search(first, z[0], order, tolerance, max_iterations)
        check_section(return_map, first, z[0])
    if not np.isfinite(z).all():
        raise ValueError(f"z0 must be finite, got {z[~np.isfinite(z).all(axis=1)][0]}")
    compiled = functools.partial(_closures, Closing(return_map, order), model)
    width = min(checks.count("lanes", lanes), 1 << max(count - 1, 0).bit_length())  # few programs for any number
    evaluate = lambda which, x: _in_batches(compiled, width, ({name: v[which] for name, v in values.items()}, x))
    return FixedPoint.of(many(evaluate, z, search_rule(tolerance), max_iterations))


def _in_batches(function: Callable[..., Any], width: int, rows: tuple) -> Any:
    """The arrays of a function called with `width` rows at a time; the last batch is padded with its last row."""
    count, parts = len(jax.tree.leaves(rows)[0]), []
    for start in range(0, count, width):
        lane = np.minimum(np.arange(start, start + width), count - 1)
        batch = jax.tree.map(lambda leaf, lane=lane: jnp.asarray(leaf[lane]), rows)
        parts.append([np.asarray(a) for a in function(*batch)])
    return tuple(np.concatenate(part)[:count] for part in zip(*parts, strict=True))


@float64_default
def gaits(
    family: Family,
    members: Int[np.ndarray, " b"],
    values: float | Float[np.ndarray, " b"],
    z0: Float[np.ndarray, "b order n"],
) -> Gaits:
    """Solves for the gaits of some members by Newton's method.

    Args:
        family: return map and members.
        members: number of the member of each gait.
        values: value of the parameter of each gait, or one for all, in its own unit.
        z0: first guesses; `order` points each.

    Raises:
        ValueError: for members that the family does not have, for other numbers of guesses than members, and for
            coordinates of a section that do not fit together.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.families import Family, gaits
        >>> vary = lambda model, member, value: value * member
        >>> family = Family(lambda r, z: r * z * (1.0 - z), None, vary, np.array([1.0, 2.0]), lanes=2)
        >>> found = gaits(family, np.array([0, 1]), np.array([2.5, 2.0]), np.full((2, 1, 1), 0.6))
        >>> print(found.z.ravel().round(6), found.multipliers.real.ravel().round(6))  # 1 - 1/r, 2 - r
        [0.6  0.75] [-0.5 -2. ]
    """
    members, order = _checked(family, members, z0), np.shape(z0)[1]
    values = np.broadcast_to(values, members.shape).astype(float)
    if members.size:
        first = jax.tree.map(lambda leaf: jnp.asarray(leaf)[members[0]], family.members)
        check_section(family.return_map, family.vary(family.model, first, float(values[0])), np.asarray(z0)[0, 0])
    x = np.column_stack([np.reshape(z0, (len(members), -1)), values])
    points = correct(_system(family, order), members, x, parameter_axis(x), _corrector(family))
    return _gaits(members, values, order, points)


def _checked(family: Family, members: Any, z0: Any) -> np.ndarray:
    """The numbers of the members, after checking them and the first guesses."""
    checks.of_class("family", family, Family, "that of the gaits")
    numbers, size = np.asarray(members), len(jax.tree.leaves(family.members)[0])
    if numbers.ndim != 1 or ((numbers < 0) | (numbers >= size)).any():
        raise ValueError(f"members must be a list of numbers from 0 to {size - 1}, got {checks.shown(members)}")
    if np.ndim(z0) != 3 or len(z0) != len(numbers):
        wanted = f"the points of each of {len(numbers)} gaits, ({len(numbers)}, order, n)"
        raise ValueError(f"z0 must be {wanted}, got the shape {np.shape(z0)}")
    return numbers


def _system(family: Family, order: int) -> System:
    """Closure errors, mapped points minus next points; the unknowns are (points, parameter)."""

    def system(members: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = x[:, :-1].reshape(len(x), order, -1)
        value, slope, pull = strides(family, members, x[:, -1], z)
        off = (value - np.roll(z, -1, axis=1)).reshape(len(x), -1)
        return off, np.concatenate([_cyclic(slope), pull.reshape(len(x), -1, 1)], axis=2)

    return system


def _corrector(family: Family, contraction: float = float("inf")) -> Corrector:
    return Corrector(Rule(family.tolerance, shorten=False), family.corrections + 1, contraction)


def _gaits(members: np.ndarray, values: np.ndarray, order: int, points: Points) -> Gaits:
    count, shape = len(values), (len(values), order, -1)
    rate = tangents(points.linear, parameter_axis(points.x))[:, :-1].reshape(shape)
    z = points.x[:, :-1].reshape(shape)
    slope = points.linear[:, :, :-1].reshape(count, order, z.shape[2], order, z.shape[2])
    slope = np.stack([slope[:, i, :, i] for i in range(order)], axis=1)
    slope = slope + np.eye(z.shape[2]) if order == 1 else slope  # for order 1, a point is mapped to itself
    return Gaits(members, values, z, _once_around(slope), rate, points.residual)


def _cyclic(slope: np.ndarray) -> np.ndarray:
    """Derivative of all closure errors of orbits with respect to all their points."""
    count, order, n, _ = slope.shape
    matrix = np.zeros((count, order, n, order, n))
    for i in range(order):
        matrix[:, i, :, i, :] += slope[:, i]
        matrix[:, i, :, (i + 1) % order, :] -= np.eye(n)
    return matrix.reshape(count, order * n, order * n)


def _once_around(slope: np.ndarray) -> np.ndarray:
    """Derivative once around the orbits: the product over their points."""
    product = slope[:, 0]
    for i in range(1, slope.shape[1]):
        product = slope[:, i] @ product
    return product


@float64_default
def follow(
    family: Family,
    members: Int[np.ndarray, " b"],
    values: Float[np.ndarray, " points"] | Float[np.ndarray, "points b"],
    z0: Float[np.ndarray, "b order n"],
    *,
    progress: bool | None = None,
) -> Gaits:
    """Follows the branches of some members along values of the parameter; NaN after the loss of a branch.

    A branch is lost where it ends, as at a fold, and where its next gait may belong to another branch: Newton's steps
    do not shrink from the first on, or the gait is further away than the slopes of the branch allow.

    Args:
        family: return map and members.
        members: numbers of the members.
        values: values of the parameter in its own unit, in the order in which to follow them; the same for all
            members, or one column per member.
        z0: first guesses at the first value.
        progress: whether to show a progress bar; None: on a terminal and in notebooks.

    Returns:
        The gaits, with leading axes (points, b).

    Raises:
        ValueError: see `gaits`, and without values.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.families import Family, follow
        >>> vary = lambda model, member, value: value * member
        >>> family = Family(lambda r, z: r * z * (1.0 - z), None, vary, np.ones(1), lanes=1)
        >>> branch = follow(family, np.array([0]), np.array([2.5, 3.2]), np.full((1, 1, 1), 0.6))
        >>> print(branch.z.ravel().round(6), branch.multipliers.real.ravel().round(6))  # unstable beyond r = 3
        [0.6    0.6875] [-0.5 -1.2]
    """
    members = _checked(family, members, z0)
    if not len(values):
        raise ValueError("values must be at least one value of the parameter, got none")
    rows = np.broadcast_to(np.reshape(values, (len(values), -1)), (len(values), len(members)))
    steps = [gaits(family, members, rows[0], z0)]
    with waiting("branches", "value", progress, total=len(rows) - 1) as bar:
        for row in rows[1:]:
            steps.append(_next_gaits(family, members, steps[-1], row))
            bar.update()
    return Gaits(*(np.stack(field) for field in zip(*steps, strict=True)))


def _next_gaits(family: Family, members: np.ndarray, last: Gaits, values: np.ndarray) -> Gaits:
    """The gait of every branch at its next value, via intermediate values where Newton's method needs them."""
    order = last.z.shape[1]
    flat = lambda a, p: np.column_stack([a.reshape(len(members), -1), p])
    x, along = flat(last.z, last.parameter), flat(last.rate, np.ones(len(members)))
    axis, smallest, after = parameter_axis(x), np.abs(values - last.parameter) / 2**MAX_HALVINGS, unknown(x)
    active = np.flatnonzero(np.isfinite(x).all(axis=1))
    while active.size:
        remaining = values[active] - x[active, -1]
        steps = Steps(x[active], along[active], remaining, smallest[active])
        corrector = _corrector(family, MAX_CONTRACTION)
        new, step = advance(_system(family, order), members[active], steps, corrector, normal=axis[active])
        for all_branches, some in zip(after, new, strict=True):
            all_branches[active] = some
        x[active], along[active] = new.x, tangents(new.linear, axis[active])
        active = active[np.isfinite(new.x).all(axis=1) & (step != remaining)]
    return _gaits(members, values.astype(float), order, after)
