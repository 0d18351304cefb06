"""Bifurcation diagrams and basins of attraction, by iterating return maps (see `jaxgait.solve.periodic`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxgait.analysis.ranges import check_values
from jaxgait.native import kept, looped
from jaxgait.outcome import IncompleteRun, Outcome, failures
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default
from jaxgait.solve.periodic import Point, ReturnMap, iterated
from jaxgait.solve.return_failures import described, step_of
from jaxgait.solve.sections import check_section
from jaxgait.solve.smooth import REDUNDANT_CHECKS
from jaxgait.solve.steps import as_points
from jaxgait.support import checks
from jaxgait.support.notes import waiting

FELL = 0
"""The motion did not return to the section: the walker fell."""
REACHED = 1
OTHER = 2
"""The motion continued for all strides without reaching the gait."""

GROWTH = 1.01
"""Factor by which a disturbance of the size of the tolerance must grow for a gait to count as unstable: more than the
errors of the factor."""

BATCH_SIZE = 4096
"""Members that run side by side: large enough to fill the vector units, small enough for the caches."""


class Basin(NamedTuple):
    """Outcome of every start; both fields have the leading shape of the starts.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.attractors import FELL, REACHED, Basin
        >>> Basin(np.array([REACHED, REACHED, FELL]), np.array([4, 6, 1]))
        <Basin of 3 starts: 2 reach the gait, 0 go on elsewhere, 1 fell>
    """

    outcome: Int[np.ndarray, " ..."]
    """`FELL`, `REACHED` or `OTHER`."""
    strides: Int[np.ndarray, " ..."]
    """Strides until that outcome."""

    def __repr__(self) -> str:
        many = [np.sum(self.outcome == one) for one in (REACHED, OTHER, FELL)]
        ends = f"{many[0]} reach the gait, {many[1]} go on elsewhere, {many[2]} fell"
        return f"<Basin of {checks.count_of(np.size(self.outcome), 'start', 'starts')}: {ends}>"


@checks.by_name()
@float64_default
def bifurcation_diagram(
    return_map: ReturnMap,
    model: Any,
    name: str,
    values: Any,
    z0: Float[ArrayLike, "... n"],
    *,
    discard: int,
    keep: int,
    follow: bool = False,
    progress: bool | None = None,
) -> Float[Array, "values keep n"]:
    """The last `keep` points of long walks, for many values of one parameter; NaN after a fall.

    A walk that starts far from the gait of its value may fall although that gait is stable: give starts near the gaits,
    such as those of a branch, or let each walk `follow` the one before.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        name: the parameter, by dotted name.
        values: its values, (values,), in its own unit or labelled with another.
        z0: start of every walk, in the units of the section; one point, or one per value.
        discard: number of first strides to discard.
        keep: number of strides to return.
        follow: whether each walk starts where the latest one that did not fall ended, in the order of the values, and
            only the first one at `z0`. They run one after the other, which takes longer.
        progress: whether to show a bar while they do; None: on a terminal and in notebooks, after some seconds.

    Warns:
        jaxgait.outcome.IncompleteRun: for walks that fell, with their number, unless the result is traced.

    Raises:
        jaxgait.parameters.ParameterError: for an unknown parameter, and for a value out of its bounds.
        ValueError: for impossible numbers of strides, and for starts that are not one point, or one per value (with
            `follow`, one point), and for coordinates of a section that do not fit together.

    Examples:
        >>> import equinox as eqx
        >>> import jax.numpy as jnp
        >>> from jaxgait import parameter
        >>> from jaxgait.analysis.attractors import bifurcation_diagram
        >>> class Logistic(eqx.Module):
        ...     r: float = parameter(2.0, unit="1", doc="growth")
        >>> grow, start = lambda model, z: model.r * z * (1.0 - z), jnp.array([0.5])
        >>> points = bifurcation_diagram(grow, Logistic(), "r", jnp.array([2.5, 3.2]), start, discard=200, keep=2)
        >>> [[round(float(z[0]), 3) for z in row] for row in points]  # one point, then two
        [[0.6, 0.6], [0.799, 0.513]]
    """
    values = check_values(model, name, values)
    checks.count("discard", discard, least=0)
    checks.count("keep", keep)
    values, z0 = jnp.asarray(values, float), as_points(z0, "z0")
    if values.ndim != 1 or not z0.ndim or z0.shape not in {z0.shape[-1:], (values.size, *z0.shape[-1:])}:
        raise ValueError(
            f"give a list of values, and one start or one per value, got the shapes {values.shape} and {z0.shape}"
        )
    if follow and z0.ndim != 1:
        raise ValueError(f"with follow=True, z0 must be the start of the first walk, got the shape {z0.shape}")
    starts = jnp.broadcast_to(z0, (values.size, z0.shape[-1]))
    if values.size:
        check_section(return_map, with_parameters(model, {name: values[0]}), starts[0])
    if not checks.is_concrete((model, values, starts)):
        return _traced(return_map, model, name, values, starts, discard, keep, follow)
    if follow:
        points, codes = _one_after_the_other(return_map, model, name, values, starts[:1], discard, keep, progress)
    else:
        points, codes = _side_by_side(return_map, model, name, values, starts, discard, keep)
    varied = lambda i: with_parameters(model, {name: values[i]})
    _warn_of_falls(name, values, points, follow, lambda i: described(return_map, varied(i), int(codes[i]), ": "))
    return points


def _member(
    return_map: ReturnMap, model: Any, name: str, discard: int, keep: int
) -> Callable[[Array, Point], tuple[Array, Array]]:
    """A function of a parameter value and a point that returns the walk, and how it first ended (see `step_of`)."""
    onward = step_of(return_map)

    def member(value: Array, z: Point) -> tuple[Array, Array]:
        varied = with_parameters(model, {name: value})

        def stride(carry: tuple[Point, Array], _: None) -> tuple[tuple[Point, Array], Point]:
            z, ended = carry
            z, code = onward(varied, z)
            return (z, jnp.where(ended == Outcome.COMPLETED, code, ended)), z

        start = z, jnp.asarray(int(Outcome.COMPLETED), jnp.int32)
        (_, code), points = jax.lax.scan(stride, start, length=discard + keep)
        return points[discard:], code

    return member


@functools.partial(kept, assured=REDUNDANT_CHECKS)
def _side_by_side(
    return_map: ReturnMap, model: Any, name: str, values: Array, starts: Array, discard: int, keep: int
) -> tuple[Array, Array]:
    member = _member(return_map, model, name, discard, keep)
    return jax.vmap(looped(member, assured=REDUNDANT_CHECKS))(values, starts)


def _one_after_the_other(
    return_map: ReturnMap,
    model: Any,
    name: str,
    values: Array,
    start: Float[Array, "1 n"],
    discard: int,
    keep: int,
    progress: bool | None,
) -> tuple[Array, Array]:
    walks, codes = [jnp.zeros((0, keep, start.shape[1]))], [jnp.zeros(0, jnp.int32)]
    with waiting("walks", "walk", progress, total=len(values)) as bar:
        for i in range(len(values)):
            points, code = _side_by_side(return_map, model, name, values[i : i + 1], start, discard, keep)
            walks.append(points)
            codes.append(code)
            start = points[:, -1] if np.isfinite(points[:, -1]).all() else start
            bar.update()
    return jnp.concatenate(walks), jnp.concatenate(codes)


def _traced(
    return_map: ReturnMap, model: Any, name: str, values: Array, starts: Array, discard: int, keep: int, follow: bool
) -> Array:
    """The walks in operations that can be differentiated and batched."""
    member = _member(return_map, model, name, discard, keep)

    def onward(z: Point, value: Array) -> tuple[Point, Array]:
        points, _ = member(value, z)
        return jnp.where(jnp.all(jnp.isfinite(points[-1])), points[-1], z), points

    return jax.lax.scan(onward, starts[0], values)[1] if follow else jax.vmap(member)(values, starts)[0]


def _warn_of_falls(name: str, values: Array, points: Array, follow: bool, why: Callable[[int], str]) -> None:
    """Warns of walks that fell; `why` says of a walk, by its number, how it ended."""
    fell = ~np.isfinite(np.asarray(points[:, -1])).all(axis=-1)
    if fell.any():
        first = int(np.argmax(fell))
        what = f"{fell.sum()} of {fell.size} walks fell (first at {name} = {float(values[first]):g}{why(first)})"
        hint = "give values in shorter steps" if follow else "give follow=True, or in z0 a start near each gait"
        checks.warn_user(f"{what}, and their points are NaN: if the gaits there are stable, {hint}", IncompleteRun)


@checks.by_name()
@float64_default
def basin(
    return_map: ReturnMap,
    model: Any,
    z0: Float[ArrayLike, "*grid n"],
    gait: Float[ArrayLike, "points k"],
    *,
    strides: int = 40,
    tolerance: float = 1e-3,
) -> Basin:
    """Which starts lead to a gait: each is iterated until it falls, reaches the gait, or runs out of strides.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        z0: starts, section points (..., n), in any arrangement and in the units of the section.
        gait: the points of the gait, (points, n), several for a gait of period k.
        strides: largest number of strides.
        tolerance: largest distance in any coordinate, in its unit, at which the gait counts as reached.

    Warns:
        UserWarning: for points that are not a gait of this model, such as one at another parameter value; for an
            unstable gait: whatever comes near it leaves it again; and if the tolerance is so large that all starts
            count as being at the gait.
        jaxgait.outcome.IncompleteRun: if walks count as falls that only took too long, or could not be computed.

    Raises:
        ValueError: for a gait or starts that are not finite, as after a failed search, or that differ in their number
            of coordinates; for an impossible number of strides or tolerance, and for coordinates of a section that do
            not fit together.
        TypeError: for a class instead of an instance of the model.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.attractors import basin
        >>> halfway = lambda model, z: jnp.where(jnp.abs(z) < 1.0, 0.5 * z, jnp.nan)  # from beyond 1 it falls
        >>> found = basin(halfway, None, jnp.array([[0.5], [2.0]]), gait=jnp.zeros((1, 1)), tolerance=0.1)
        >>> print(found.outcome, found.strides)  # REACHED after 3 strides (0.25, 0.125, 0.0625), FELL at the first
        [1 0] [3 1]
    """
    checks.count("strides", strides)
    checks.number("tolerance", tolerance, "the units of the points", above=0.0)
    starts, gait = _points("z0", z0), _points("gait", gait)
    grid, n = starts.shape[:-1], starts.shape[-1]
    if gait.ndim != 2 or not len(gait) or gait.shape[1] != n:
        raise ValueError(f"gait must be its points (points, {n}), of as many coordinates as z0, got {gait.shape}")
    count = int(np.prod(grid))
    if count:
        check_section(return_map, model, starts.reshape(count, n)[0])
    _warn_of_gait(return_map, model, gait, tolerance)
    padded = (
        jnp.resize(starts.reshape(count, n), (-(-count // BATCH_SIZE) * BATCH_SIZE, n))
        if count > BATCH_SIZE
        else starts
    )
    found = _basin(return_map, model, padded.reshape(-1, n), gait, strides, tolerance)
    outcome, lasted, codes = (np.asarray(z)[:count].reshape(grid) for z in found)
    _warn_of_failures(return_map, model, codes)
    apart = (np.asarray(starts)[..., None, :] != np.asarray(gait)).any(axis=-1)
    if count and not lasted.any() and (outcome == REACHED).all() and apart.all():
        checks.warn_user(f"all starts are within the tolerance {tolerance:.3g} of the gait: give a smaller one")
    return Basin(outcome, lasted)


def _warn_of_failures(return_map: ReturnMap, model: Any, codes: np.ndarray) -> None:
    """Warns of walks that count as falls only because they were given up; `codes`: how all walks ended."""
    given_up = codes[failures(codes)]
    if given_up.size:
        most = int(np.bincount(given_up).argmax())
        number = checks.count_of(given_up.size, "start counts", "starts count")
        what = f"{number} as FELL only because the motion was given up{described(return_map, model, most, ': ')}"
        checks.warn_user(what, IncompleteRun)


def _warn_of_gait(return_map: ReturnMap, model: Any, gait: Array, tolerance: float) -> None:
    """Warns of points that are not a gait, and of a gait at which disturbances of the size of the tolerance grow."""
    order, n = gait.shape
    aside = tolerance * jnp.concatenate([jnp.zeros((1, n)), jnp.eye(n), -jnp.eye(n)])
    after = np.asarray(_repeated(return_map, model, gait[:1] + aside, order))
    off = float(np.abs(after[0] - np.asarray(gait[0])).max())
    if not off <= tolerance:  # it may be NaN
        returns = checks.count_of(order, "return", "returns")
        ends = f"ends {off:.3g} away after {returns}" if np.isfinite(off) else f"does not make {returns}"
        what = f"gait is not one of this model's: the motion from its first point {ends}"
        checks.warn_user(f"{what}. Few starts, if any, count as REACHED: find its gait with fixed_point or orbit")
        return
    slopes = (after[1 : n + 1] - after[n + 1 :]) / (2.0 * tolerance)
    if not np.isfinite(slopes).all():
        return
    if (growth := float(np.abs(np.linalg.eigvals(slopes)).max())) > GROWTH:
        what = f"the gait is unstable: a disturbance of {tolerance:.3g} grows {growth:.3g}-fold until the gait repeats"
        checks.warn_user(f"{what}. Starts that count as REACHED come near, but do not stay there")


@kept
def _repeated(return_map: ReturnMap, model: Any, z: Float[Array, "points n"], order: int) -> Array:
    return jax.vmap(lambda z: iterated(return_map, order)(model, z))(z)


def _points(name: str, points: Any) -> Array:
    """Points of a section as an array, checked to be finite."""
    points = as_points(points, name)
    if points.ndim == 0:
        raise ValueError(f"{name} must be points with an axis of coordinates, got one number")
    bad = ~np.isfinite(np.asarray(points)).all(axis=-1)
    if bad.any():
        raise ValueError(f"{name} must be finite, got {np.asarray(points)[bad][0]} among {bad.size} point(s)")
    return points


@functools.partial(kept, assured=REDUNDANT_CHECKS)
def _basin(
    return_map: ReturnMap, model: Any, starts: Array, gait: Array, strides: int, tolerance: float
) -> tuple[Array, Array, Array]:
    onward = step_of(return_map)

    def near(z: Array) -> Array:
        return jnp.min(jnp.max(jnp.abs(gait - z[None, :]), axis=1)) < tolerance

    def going(c: tuple[Array, Array, Array]) -> Array:
        z, lasted, _ = c
        return jnp.all(jnp.isfinite(z)) & ~near(z) & (lasted < strides)

    def stride(c: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        z, code = onward(model, c[0])
        return z, c[1] + 1, code

    def member(z: Array) -> tuple[Array, Array, Array]:
        start = z, jnp.asarray(0), jnp.asarray(int(Outcome.COMPLETED), jnp.int32)
        z, lasted, code = jax.lax.while_loop(going, stride, start)
        fell = ~jnp.all(jnp.isfinite(z))
        return jnp.where(fell, FELL, jnp.where(near(z), REACHED, OTHER)), lasted, code

    return jax.lax.map(looped(member, assured=REDUNDANT_CHECKS), starts, batch_size=BATCH_SIZE)
