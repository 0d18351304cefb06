"""Continuation of periodic gaits in a parameter, through folds, with location of bifurcations and branch switching.

Unknowns are the point of the gait on its section and one parameter (or two, along a curve of bifurcations), both scaled
by their typical size. They are followed along their arc (`jaxgait.analysis.branches`), so that a branch may turn back.
A bifurcation is where one of `floquet.test_functions` changes sign; it is located by Newton's method on (gait, test
function), to rounding. For many branches of expensive maps see `jaxgait.analysis.families`.

Reference: Kuznetsov, Elements of Applied Bifurcation Theory, chapter 10.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait import checks
from jaxgait.analysis.branches import Corrector, Points, System, corrected, parameter_axis, tangents, walk
from jaxgait.analysis.floquet import (
    BIFURCATIONS,
    Bifurcation,
    crossing_mode,
    floquet,
    sign_changes,
    test_functions,
    test_values,
)
from jaxgait.native import kept
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default, in_force
from jaxgait.roots import CONVERGED, Rule, many
from jaxgait.solve.checks import check_model
from jaxgait.solve.periodic import Point, ReturnMap, iterated, linearised

TOLERANCE = 1e-10
"""Scaled residual below which one last Newton step completes a point."""
CORRECTOR = Corrector(Rule(TOLERANCE, shorten=False, max_step=1.0), max_evaluations=8)
"""If it fails, or a Newton step is longer than the typical size, the step along the branch is halved."""
LOCATOR = Corrector(Rule(TOLERANCE, shorten=False, max_step=1.0, settled=TOLERANCE), max_evaluations=16)
"""Corrector for bifurcations: test functions are not scaled, so a negligible step also counts as convergence."""
NEGLIGIBLE = 1e-12
"""Size below which a point or a parameter does not tell its typical size."""
NUDGE = 1e-6
"""Scaled step of central differences of the test functions, which already depend on a derivative."""


class BifurcationPoint(NamedTuple):
    """A bifurcation: a point where the stability of a gait changes."""

    kind: Bifurcation
    parameter: float
    z: np.ndarray
    multipliers: np.ndarray
    direction: np.ndarray
    """Unit eigenvector of the multiplier that crosses (its real part for a pair)."""


class Branch(NamedTuple):
    """A branch of periodic gaits, point after point along it."""

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


@float64_default
@dataclass(frozen=True)
class _Problem:
    """A return map with one or two named parameters, in scaled unknowns x = (z, parameters) / scale."""

    return_map: ReturnMap
    names: tuple[str, ...]
    order: int

    def __post_init__(self) -> None:
        if in_force() != "float64":
            raise ValueError("bifurcations need float64: float32 does not resolve the derivatives of test functions")

    def split(self, x: Array, scale: Array) -> tuple[Array, Array]:
        """Point and parameters."""
        full, n = x * scale, x.shape[0] - len(self.names)
        return full[:n], full[n:]

    def residual(self, model: Any, scale: Array, x: Array) -> Array:
        """``(P(z) - z) / scale``."""
        z, p = self.split(x, scale)
        varied = with_parameters(model, {name: p[i] for i, name in enumerate(self.names)})
        return (iterated(self.return_map, self.order)(varied, z) - z) / scale[: z.shape[0]]


@kept
def _linear(problem: _Problem, model: Any, scale: Array, x: Array) -> tuple[Array, Array]:
    return linearised(lambda _, x: problem.residual(model, scale, x), None, x)


def _jacobian(linear: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Jacobian of the return map from that of the scaled residual."""
    n = linear.shape[0]
    return linear[:, :n] * scale[:n, None] / scale[None, :n] + np.eye(n)


@float64_default
def continuation(
    return_map: ReturnMap,
    model: Any,
    name: str,
    z0: Point | np.ndarray,
    span: tuple[float, float],
    *,
    order: int = 1,
    step: float = 0.05,
    max_points: int = 200,
    direction: np.ndarray | None = None,
    parameter0: float | None = None,
) -> Branch:
    """Follows a branch of periodic gaits in one parameter, starting at `span[0]` towards `span[1]`.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism; all other parameters stay as they are.
        name: the parameter, by dotted name.
        z0: a gait (or a guess near one) at the start.
        span: first and last value of the parameter, in its own unit; the branch ends where it leaves this interval.
        order: the gaits repeat after this many applications of the map.
        step: first and longest step, as a fraction of the scaled branch: 0.05 gives at least 20 points along the span.
        max_points: largest number of points.
        direction: first direction in the space of (point, parameter), for switching between branches.
        parameter0: where to start, if not at `span[0]`.

    Returns:
        The branch with its bifurcations; `why_stopped` describes why it ended, and where stability changes at none.

    Raises:
        ValueError: in float32, for an empty span, and for an impossible order, step or number of points.
        jaxgait.parameters.ParameterError: for an unknown parameter, and for a span outside its bounds.

    Examples:
        >>> import equinox as eqx
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait import parameter
        >>> from jaxgait.analysis.continuation import continuation
        >>> class Henon(eqx.Module):
        ...     a: float = parameter(0.1, unit="1", doc="nonlinearity")
        >>> def henon(model, z):
        ...     return jnp.stack([1.0 - model.a * z[0] ** 2 + z[1], 0.3 * z[0]])
        >>> branch = continuation(henon, Henon(), "a", np.array([0.9, 0.27]), (0.1, 0.7))
        >>> [(str(point.kind), round(point.parameter, 4)) for point in branch.bifurcations]
        [('period doubling', 0.3675)]
    """
    problem = _Problem(return_map, (name,), checks.count("order", order))
    _check("span", span, model, name, step, max_points)
    start = span[0] if parameter0 is None else parameter0
    z0 = np.asarray(z0, dtype=float)
    scale = _scale(z0, span[1] - span[0])
    system = _alone(functools.partial(_linear, problem, model, jnp.asarray(scale)))
    x = (np.concatenate([z0, [start]]) / scale)[None]
    along = np.sign(span[1] - span[0]) * parameter_axis(x)
    if direction is None:
        first = corrected(system, np.zeros(1, dtype=int), x, along, CORRECTOR)
        if not np.isfinite(first.x).all():
            return _branch(name, order, scale, first.x[:0], first.linear[:0], f"no gait found at {name} = {start:g}")
        along = tangents(first.linear, along)
    else:
        along = np.asarray(direction, dtype=float)[None] / scale
        first = Points(x, system(np.zeros(1, dtype=int), x)[1], np.zeros(1))
    along = along[0] / np.linalg.norm(along)
    xs, linears, why = walk(system, first, along, step, max_points, _inside(span, scale[-1]), CORRECTOR)
    skip = 0 if direction is None else 1  # the branch point itself belongs to the old branch
    return _with_bifurcations(problem, model, _branch(name, order, scale, xs[skip:], linears[skip:], why), scale)


def _check(what: str, span: tuple[float, float], model: Any, name: str, step: float, max_points: int) -> None:
    checks.positive("step", step)
    checks.count("max_points", max_points)
    for end in span:
        check_model(with_parameters(model, {name: end}))
    if span[0] == span[1]:
        raise ValueError(f"{what} must have two different ends, got {span}")


def _alone(equations: Callable[[Array], tuple[Array, ...]]) -> System:
    """One branch, from the values and the Jacobian of its equations at a point."""

    def system(_: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, linear = equations(jnp.asarray(x[0]))[:2]
        return np.asarray(value)[None], np.asarray(linear)[None]

    return system


def _inside(limits: tuple[float, float], scale: float) -> Callable[[np.ndarray], bool]:
    low, high = sorted(limit / scale for limit in limits)
    return lambda x: bool(low - 1e-12 <= x[-1] <= high + 1e-12)


def _scale(z: np.ndarray, *parameters: float) -> np.ndarray:
    """Typical sizes of the components of a point, all the same, and of parameters; 1 for what is practically zero."""
    sizes = np.abs([np.abs(z).max(), *parameters])
    size, *others = np.where(sizes > NEGLIGIBLE, sizes, 1.0)
    return np.array([size] * len(z) + others)


def _branch(name: str, order: int, scale: np.ndarray, xs: np.ndarray, linears: np.ndarray, why: str) -> Branch:
    n = len(scale) - 1
    points = xs * scale
    jacobians = np.array([_jacobian(linear, scale) for linear in linears]).reshape(-1, n, n)
    modes = floquet(jacobians)
    return Branch(name, order, points[:, -1], points[:, :-1], modes.multipliers, modes.stable, (), why)


def _with_bifurcations(problem: _Problem, model: Any, branch: Branch, scale: np.ndarray) -> Branch:
    """The branch with its bifurcations, and a remark where its stability changes at none, as by a grazing contact."""
    tests, points = test_values(branch.multipliers), np.column_stack([branch.z, branch.parameter])
    found: dict[int, list[BifurcationPoint]] = {}
    for i, number in np.argwhere(sign_changes(tests)):
        before, after = tests[i : i + 2, number]
        guess = (before * points[i + 1] - after * points[i]) / (before - after)
        if (point := _located(problem, model, BIFURCATIONS[number], guess, scale)) is not None:
            found.setdefault(int(i), []).append(point)
    lost = [i for i in np.flatnonzero(np.diff(branch.stable)) if not found.keys() & {i - 1, i, i + 1}]
    remarks = [f"; stability changes after {branch.name} = {branch.parameter[i]:g} at no bifurcation" for i in lost]
    located = tuple(itertools.chain.from_iterable(found.values()))
    return branch._replace(bifurcations=located, why_stopped="".join([branch.why_stopped, *remarks]))


@kept
def _augmented(problem: _Problem, kind: int, model: Any, scale: Array, x: Array) -> tuple[Array, Array, Array]:
    """Residual of (gait, test function), its Jacobian by central differences, and the return map's exact Jacobian."""
    n = x.shape[0] - len(problem.names)

    def value(x: Array) -> tuple[Array, Array]:
        f, linear = linearised(lambda p, z: problem.residual(model, scale, jnp.concatenate([z, p])), x[n:], x[:n])
        jacobian = linear * scale[:n, None] / scale[None, :n] + jnp.eye(n, dtype=x.dtype)
        return jnp.append(f, test_functions(jacobian)[kind]), jacobian

    nudges = NUDGE * jnp.eye(x.shape[0], dtype=x.dtype)
    points = jnp.concatenate([x[None, :], x[None, :] + nudges, x[None, :] - nudges])
    values, jacobians = jax.vmap(value)(points)
    plus, minus = jnp.split(values[1:], 2)
    return values[0], (plus - minus).T / (2 * NUDGE), jacobians[0]


@float64_default
def locate(
    return_map: ReturnMap, model: Any, name: str, kind: Bifurcation, z: np.ndarray, parameter: float, *, order: int = 1
) -> BifurcationPoint | None:
    """Solves for the bifurcation near a guess; None without one, and for a neutral saddle.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        name: the parameter that is free.
        kind: which bifurcation.
        z: guess of the gait there, (n,).
        parameter: guess of the parameter there, in its own unit.
        order: the gaits repeat after this many applications of the map.

    Examples:
        >>> import equinox as eqx
        >>> import numpy as np
        >>> from jaxgait import parameter
        >>> from jaxgait.analysis.continuation import locate
        >>> class Growth(eqx.Module):
        ...     r: float = parameter(2.8, unit="1", doc="growth")
        >>> logistic = lambda model, z: model.r * z * (1.0 - z)
        >>> found = locate(logistic, Growth(), "r", "period doubling", np.array([0.65]), 2.9)
        >>> print(round(found.parameter, 6), found.z.round(6))  # at r = 3, z = 1 - 1/r
        3.0 [0.666667]
    """
    problem = _Problem(return_map, (name,), order)
    return _located(problem, model, kind, np.append(z, parameter), _scale(z, parameter))


def _located(
    problem: _Problem, model: Any, kind: Bifurcation, guess: np.ndarray, scale: np.ndarray
) -> BifurcationPoint | None:
    """The bifurcation near a guess of (gait, parameter)."""
    augmented = _test_system(problem, kind, model, scale)
    found = many(augmented, (guess / scale)[None], LOCATOR.rule, LOCATOR.max_evaluations)
    if found.status[0] != CONVERGED:
        return None
    x = found.x[0]
    jacobian = np.asarray(_augmented(problem, BIFURCATIONS.index(kind), model, jnp.asarray(scale), jnp.asarray(x))[2])
    modes = floquet(jacobian)
    if (crossing := crossing_mode(kind, modes.multipliers)) is None:
        return None
    direction = np.real(modes.vectors[:, crossing[0]])
    full = x * scale
    return BifurcationPoint(kind, float(full[-1]), full[:-1], modes.multipliers, direction / np.linalg.norm(direction))


def _test_system(problem: _Problem, kind: Bifurcation, model: Any, scale: np.ndarray) -> System:
    """The equations of a gait whose test function is zero."""
    return _alone(functools.partial(_augmented, problem, BIFURCATIONS.index(kind), model, jnp.asarray(scale)))


@float64_default
def period_doubled(
    return_map: ReturnMap,
    model: Any,
    branch: Branch,
    point: BifurcationPoint,
    end: float,
    *,
    step: float = 0.05,
    max_points: int = 200,
) -> Branch:
    """Follows the branch of doubled period that leaves a branch at one of its period doublings.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        branch: the branch with the bifurcation.
        point: the period doubling on it.
        end: value of the parameter at which to stop, in its own unit.
        step: see `continuation`.
        max_points: see `continuation`.

    Examples:
        >>> import equinox as eqx
        >>> import numpy as np
        >>> from jaxgait import parameter
        >>> from jaxgait.analysis.continuation import continuation, period_doubled
        >>> class Growth(eqx.Module):
        ...     r: float = parameter(2.8, unit="1", doc="growth")
        >>> logistic = lambda model, z: model.r * z * (1.0 - z)
        >>> single = continuation(logistic, Growth(), "r", np.array([0.6]), (2.5, 3.2))
        >>> double = period_doubled(logistic, Growth(), single, single.bifurcations[0], 3.4)
        >>> print(double.order, double.why_stopped)
        2 the branch left the span
    """
    return continuation(
        return_map,
        model,
        branch.name,
        point.z,
        (point.parameter, end),
        order=2 * branch.order,
        step=step,
        max_points=max_points,
        direction=np.append(point.direction, 0.0),
    )


@float64_default
def bifurcation_curve(
    return_map: ReturnMap,
    model: Any,
    point: BifurcationPoint,
    names: tuple[str, str],
    second: tuple[float, float],
    *,
    order: int = 1,
    step: float = 0.05,
    max_points: int = 100,
) -> np.ndarray:
    """Follows a bifurcation in the plane of two parameters.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        point: a bifurcation in the first parameter, with the second one at `second[0]`.
        names: the two parameters.
        second: first and last value of the second parameter, in its own unit.
        order: the gaits repeat after this many applications of the map.
        step: longest step, as a fraction of the scaled curve.
        max_points: largest number of points.

    Returns:
        Array (points, 2 + n): both parameters and the gait along the curve; no points if it is not at `second[0]`.

    Raises:
        ValueError: see `continuation`.

    Examples:
        >>> import equinox as eqx
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait import parameter
        >>> from jaxgait.analysis.continuation import bifurcation_curve, locate
        >>> class Henon(eqx.Module):
        ...     a: float = parameter(0.3, unit="1", doc="nonlinearity")
        ...     b: float = parameter(0.3, unit="1", doc="contraction")
        >>> def henon(model, z):
        ...     return jnp.stack([1.0 - model.a * z[0] ** 2 + z[1], model.b * z[0]])
        >>> doubling = locate(henon, Henon(), "a", "period doubling", np.array([0.9, 0.3]), 0.36)
        >>> curve = bifurcation_curve(henon, Henon(), doubling, ("a", "b"), (0.3, 0.5))
        >>> a, b = curve[-1, :2]
        >>> bool(abs(a - 0.75 * (1.0 - b) ** 2) < 1e-9)  # known in closed form: a = 3/4 (1 - b)^2
        True
    """
    problem = _Problem(return_map, names, checks.count("order", order))
    _check("second", second, with_parameters(model, {names[0]: point.parameter}), names[1], step, max_points)
    n = len(point.z)
    scale = _scale(point.z, point.parameter, second[1] - second[0])
    x = (np.concatenate([point.z, [point.parameter, second[0]]]) / scale)[None]
    system, along = _test_system(problem, point.kind, model, scale), np.sign(second[1] - second[0]) * parameter_axis(x)
    first = corrected(system, np.zeros(1, dtype=int), x, along, LOCATOR)
    if not np.isfinite(first.x).all():
        return np.empty((0, n + 2))
    along = tangents(first.linear, along)[0]
    curve = walk(system, first, along / np.linalg.norm(along), step, max_points, _inside(second, scale[-1]), LOCATOR)
    table = curve.x * scale
    return np.column_stack([table[:, n], table[:, n + 1], table[:, :n]])
