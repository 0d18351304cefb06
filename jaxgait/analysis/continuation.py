"""Continuation of periodic gaits in a parameter, through folds, with location of bifurcations and branch switching.

Unknowns are the point of the gait on its section and one parameter (or two, along a curve of bifurcations), both scaled
by their typical size. They are followed along their arc (`jaxgait.analysis.branches`), so that a branch may turn back.
A bifurcation is where one of `floquet.bifurcation_functions` changes sign between neighbouring points; it is located
by secants along the branch (`jaxgait.analysis.changes`), near a guess or in two parameters by Newton's method on (gait,
function), to rounding. For many branches of expensive maps see `jaxgait.analysis.families`.

Reference: Kuznetsov, Elements of Applied Bifurcation Theory, chapter 10.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxgait.analysis.bifurcations import BifurcationCurve, BifurcationPoint, Branch
from jaxgait.analysis.branches import (
    LOST,
    Corrector,
    Points,
    System,
    Walk,
    correct,
    parameter_axis,
    refined,
    switched,
    tangents,
    walk,
)
from jaxgait.analysis.changes import changes, return_jacobian
from jaxgait.analysis.equations import GaitEquations, alone, typical_sizes
from jaxgait.analysis.floquet import BIFURCATIONS, Bifurcation, Floquet, bifurcation_functions, crossing_mode, floquet
from jaxgait.analysis.ranges import check_pair, check_span, check_values
from jaxgait.native import kept
from jaxgait.parameters import parameter_info, with_parameters, within_bounds
from jaxgait.precision import float64_default
from jaxgait.roots import CONVERGED, Rule, many
from jaxgait.solve.periodic import PoincareMap, ReturnMap, linearised
from jaxgait.support import checks
from jaxgait.support.notes import waiting

RESIDUAL_TOLERANCE = 1e-10
"""Scaled residual below which one last Newton step completes a point."""
CORRECTOR = Corrector(Rule(RESIDUAL_TOLERANCE, shorten=False, max_step=1.0), max_evaluations=8)
"""If it fails, or a Newton step is longer than the typical size, the step along the branch is halved."""
LOCATOR = Corrector(
    Rule(RESIDUAL_TOLERANCE, shorten=False, max_step=1.0, settled=RESIDUAL_TOLERANCE), max_evaluations=16
)
"""Corrector for bifurcations: test functions are not scaled, so a negligible step also counts as convergence."""
DIFFERENCE_STEP = 1e-6
"""Scaled step of central differences of the test functions, which already depend on a derivative."""


@checks.by_name()
@float64_default
def continuation(
    return_map: ReturnMap,
    model: Any,
    name: str,
    z0: Float[ArrayLike, " n"],
    span: Any,
    *,
    order: int = 1,
    step: float = 0.05,
    max_points: int = 200,
    directions: tuple[np.ndarray, np.ndarray] | None = None,
    start: Any = None,
    progress: bool | None = None,
) -> Branch:
    """Follows a branch of periodic gaits in one parameter, starting at `span[0]` towards `span[1]`.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism; all other parameters stay as they are.
        name: the parameter, by dotted name.
        z0: a gait (or a guess near one) at the start, which is at `span[0]`, not at the model's own value.
        span: first and last value of the parameter, in its own unit or labelled with another; the branch ends where it
            would leave it.
        order: the gaits repeat after this many applications of the map.
        step: first and longest step along the scaled branch: 0.05 gives some 20 points along the span, and more where
            the branch turns or bends, so that lines through the points show its shape.
        max_points: largest number of points.
        directions: for switching between branches, in the space of (point, parameter) in their own units: the first
            direction of this branch, and the direction of the branch that it leaves.
        start: value of the parameter at which to start, if not `span[0]`.
        progress: whether to show a count of the evaluations; None: on a terminal and in notebooks, after some seconds.

    Returns:
        The branch with its bifurcations; `why_stopped` describes why it ended, and where stability changes without a
        bifurcation. Two bifurcations of the same kind between neighbouring points (such as a short interval of doubled
        period) cancel and are not found: `step` must be shorter than such an interval.

    Warns:
        UserWarning: if there is no gait at the start, so that the branch is empty.

    Raises:
        ValueError: in float32; for a span that is empty or not two numbers, a start outside it, an impossible order,
            step or number of points, and for coordinates of a section that do not fit together.
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
    problem = GaitEquations(return_map, (name,), checks.count("order", order))
    span = check_span("span", span, model, name)
    checks.positive("step", step)
    checks.count("max_points", max_points)
    start = span[0] if start is None else float(check_values(model, name, start))
    if not min(span) <= start <= max(span):
        raise ValueError(f"start must lie within the span {span}, got {start}")
    problem.check_start(model, z0, start)
    z0 = np.asarray(z0, dtype=float)
    scale = typical_sizes(z0, span[1] - span[0])
    with waiting(f"branch over {name}", "evaluation", progress) as bar:
        system = alone(functools.partial(problem.linear, model, scale), bar)
        x, origin = (np.concatenate([z0, [start]]) / scale)[None], None
        if directions is not None:
            along, other = (np.asarray(one, dtype=float)[None] / scale for one in directions)
            origin = x, along
            first, why = switched(system, x, along, other, step, _limits(span, scale[-1]), CORRECTOR)
        else:
            along = np.sign(span[1] - span[0]) * parameter_axis(x)
            first = correct(system, np.zeros(1, dtype=int), x, along, CORRECTOR)
            why = f"no gait found at {name} = {start:g}"
        if not np.isfinite(first.x).all():
            own = parameter_info(model, name).value
            hint = "it starts at span[0] or start=, where z0 must be near a gait; the model's own"
            checks.warn_user(f"{why}, near z0 = {z0}: the branch is empty; {hint} {name} is {float(own):g}")
            return _branch(system, name, order, scale, span, Walk(first.x[:0], first.linear[:0], why))
        along = tangents(first.linear, along)[0]
        along = along / np.linalg.norm(along)
        walked = walk(system, first, along, step, max_points, _limits(span, scale[-1]), CORRECTOR)
        if walked.why_stopped == LOST:
            walked = walked._replace(why_stopped=LOST + problem.beyond(model, scale, walked, step))
        walked = refined(system, walked, max_points, CORRECTOR, origin=origin)
        return _branch(system, name, order, scale, span, walked)


def _limits(ends: tuple[float, float], scale: float) -> tuple[float, float]:
    low, high = sorted(end / scale for end in ends)
    return low, high


def _full(walked: Walk, scale: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """The points of a branch in their own units, none beyond the ends by rounding."""
    full = walked.x * scale
    full[:, -1] = np.clip(full[:, -1], min(ends), max(ends))
    return full


def _branch(
    system: System, name: str, order: int, scale: np.ndarray, span: tuple[float, float], walked: Walk
) -> Branch:
    """The branch with its bifurcations, and remarks where something else changes, as by a grazing contact."""
    n = len(scale) - 1
    points = _full(walked, scale, span)
    modes = floquet(return_jacobian(walked.linear, scale).reshape(-1, n, n))
    found, jumps = changes(system, Points(walked.x, walked.linear, np.zeros(len(points))), scale, CORRECTOR)
    lost = np.diff(modes.stable)
    what = {i: "stability changes" if lost[i] else "a multiplier crosses the unit circle" for i in jumps}
    remarks = [f"; {text} after {name} = {points[i, -1]:g} at no bifurcation" for i, text in what.items()]
    located = tuple(_bifurcation(change.kind, change.x * scale, change.modes, change.mode) for change in found)
    why = "".join([walked.why_stopped, *remarks])
    return Branch(name, order, points[:, -1], points[:, :-1], modes.multipliers, modes.stable, located, why)


def _bifurcation(kind: Bifurcation, full: np.ndarray, modes: Floquet, mode: int) -> BifurcationPoint:
    """The bifurcation at a point and parameter, at which the multiplier with the index `mode` crosses."""
    direction = np.real(modes.vectors[:, mode])
    return BifurcationPoint(kind, float(full[-1]), full[:-1], modes.multipliers, direction / np.linalg.norm(direction))


@kept
def _augmented(problem: GaitEquations, kind: int, model: Any, scale: Array, x: Array) -> tuple[Array, Array, Array]:
    """Residual of (gait, test function), its Jacobian by central differences, and the return map's exact Jacobian."""
    n = x.shape[0] - len(problem.names)

    def value(x: Array) -> tuple[Array, Array]:
        f, linear = linearised(lambda p, z: problem.residual(model, scale, jnp.concatenate([z, p])), x[n:], x[:n])
        jacobian = linear * scale[:n, None] / scale[None, :n] + jnp.eye(n, dtype=x.dtype)
        return jnp.append(f, bifurcation_functions(jacobian)[kind]), jacobian

    nudges = DIFFERENCE_STEP * jnp.eye(x.shape[0], dtype=x.dtype)
    points = jnp.concatenate([x[None, :], x[None, :] + nudges, x[None, :] - nudges])
    values, jacobians = jax.vmap(value)(points)
    plus, minus = jnp.split(values[1:], 2)
    return values[0], (plus - minus).T / (2 * DIFFERENCE_STEP), jacobians[0]


@checks.by_name()
@float64_default
def locate(
    return_map: ReturnMap,
    model: Any,
    name: str,
    kind: Bifurcation,
    z0: Float[ArrayLike, " n"],
    start: Any,
    *,
    order: int = 1,
) -> BifurcationPoint | None:
    """Solves for the bifurcation near a guess; None if there is none, at a neutral saddle, and out of bounds.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        name: the parameter that is free.
        kind: which bifurcation: a fold, a period doubling or a Neimark-Sacker bifurcation.
        z0: guess of the gait there, (n,).
        start: guess of the parameter there, in its own unit.
        order: the gaits repeat after this many applications of the map.

    Raises:
        ValueError: in float32, for a branch point (`continuation` finds it), for an impossible order, and for
            coordinates of a section that do not fit together.
        jaxgait.parameters.ParameterError: for an unknown parameter, and for a guess out of its bounds.

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
    problem = GaitEquations(return_map, (name,), checks.count("order", order))
    start = float(check_values(model, name, start))
    problem.check_start(model, z0, start)
    guess = np.append(np.asarray(z0, float), start)
    scale = typical_sizes(guess[:-1], start)
    augmented = _test_system(problem, kind, model, scale)
    found = many(augmented, (guess / scale)[None], LOCATOR.rule, LOCATOR.max_evaluations)
    full = found.x[0] * scale
    if found.status[0] != CONVERGED or not within_bounds(full[-1], parameter_info(model, name)):
        return None
    linear = problem.linear(model, scale, found.x[0])[1]
    modes = floquet(return_jacobian(np.asarray(linear), scale))
    crossing = crossing_mode(kind, modes.multipliers)
    return None if crossing is None else _bifurcation(kind, full, modes, crossing[0])


def _test_system(problem: GaitEquations, kind: Bifurcation, model: Any, scale: np.ndarray, bar: Any = None) -> System:
    """The equations of a gait whose test function is zero."""
    checks.one_of("kind", kind, BIFURCATIONS)
    return alone(functools.partial(_augmented, problem, BIFURCATIONS.index(kind), model, jnp.asarray(scale)), bar)


@checks.by_name()
@float64_default
def period_doubled(
    return_map: ReturnMap,
    model: Any,
    branch: Branch,
    point: BifurcationPoint,
    end: Any,
    *,
    step: float = 0.05,
    max_points: int = 200,
    progress: bool | None = None,
) -> Branch:
    """Follows the branch of doubled period that leaves a branch at one of its period doublings, its `origin`.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        branch: the branch with the bifurcation.
        point: the period doubling on it.
        end: value of the parameter at which to stop, in its own unit.
        step: see `continuation`.
        max_points: see `continuation`.
        progress: see `continuation`.

    Raises:
        TypeError: for anything but a branch and its point.
        ValueError: see `continuation`, and for another bifurcation than a period doubling.

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
    checks.of_class("branch", branch, Branch, "such as continuation returns")
    checks.of_class("point", point, BifurcationPoint, "such as branch.bifurcations[0]")
    checks.one_of("the kind of point", point.kind, ("period doubling",))
    x = np.append(point.z, point.parameter)
    single = GaitEquations(return_map, (branch.name,), branch.order).linear(model, np.ones(len(x)), x)[1]
    doubled = continuation(
        return_map,
        model,
        branch.name,
        point.z,
        (point.parameter, end),
        order=2 * branch.order,
        step=step,
        max_points=max_points,
        progress=progress,
        directions=(np.append(point.direction, 0.0), tangents(np.asarray(single)[None], parameter_axis(x[None]))[0]),
    )
    return doubled._replace(origin=point)


@float64_default
def periods(return_map: PoincareMap, model: Any, branch: Branch) -> Float[np.ndarray, " points"]:
    """The period in s of every gait on a branch: the time of as many returns as its order.

    Raises:
        TypeError: for anything but a branch.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import RollingWalker
        >>> from jaxgait.analysis.continuation import Branch, periods
        >>> from jaxgait.models.walker import PAPER_POINT
        >>> from jaxgait.solve.periodic import PoincareMap
        >>> slope, multipliers = np.array([0.01]), np.array([[0.69, 0.29 + 0.32j, 0.29 - 0.32j]])
        >>> branch = Branch("slope", 1, slope, np.array([PAPER_POINT]), multipliers, slope > 0.0, (), "")
        >>> print(periods(PoincareMap(), RollingWalker(), branch).round(4))
        [0.4115]
    """
    checks.of_class("branch", branch, Branch, "such as continuation returns")
    return np.asarray(_periods(return_map, branch.name, branch.order, model, branch.parameter, branch.z))


@kept
def _periods(return_map: PoincareMap, name: str, order: int, model: Any, parameter: Array, z: Array) -> Array:
    def one(p: Array, z: Array) -> Array:
        varied = with_parameters(model, {name: p})
        return jnp.sum(jax.lax.scan(lambda z, _: return_map.timed(varied, z), z, length=order)[1])

    return jax.vmap(one)(parameter, z)


@checks.by_name()
@float64_default
def bifurcation_curve(
    return_map: ReturnMap,
    model: Any,
    point: BifurcationPoint,
    names: tuple[str, str],
    second: Any,
    *,
    order: int = 1,
    step: float = 0.05,
    max_points: int = 100,
    progress: bool | None = None,
) -> BifurcationCurve:
    """Follows a bifurcation in the plane of two parameters.

    Args:
        return_map: see `jaxgait.solve.periodic`.
        model: the mechanism.
        point: a bifurcation in the first parameter, with the second one at `second[0]`; not a branch point.
        names: the two parameters.
        second: first and last value of the second parameter, in its own unit; the curve ends where it would leave them.
        order: the gaits repeat after this many applications of the map.
        step: longest step, as a fraction of the scaled curve.
        max_points: largest number of points.
        progress: see `continuation`.

    Returns:
        The curve; it also ends where the first parameter leaves its bounds, and a Neimark-Sacker curve where its pair
        of multipliers becomes real.

    Warns:
        UserWarning: if the bifurcation is not at `second[0]`, so that the curve is empty.

    Raises:
        TypeError: for anything but a bifurcation, such as None, which `locate` returns where there is none.
        ValueError: see `continuation`, for a branch point, and for anything but the names of two parameters.
        jaxgait.parameters.ParameterError: for an unknown parameter, and for values out of bounds.

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
        >>> a, b = curve.parameters[-1]
        >>> print(curve.why_stopped, abs(a - 0.75 * (1.0 - b) ** 2) < 1e-9)  # known in closed form: a = 3/4 (1 - b)^2
        the branch left the span True
    """
    problem = GaitEquations(return_map, check_pair("names", names), checks.count("order", order))
    checks.of_class("point", point, BifurcationPoint, "such as branch.bifurcations[0]")
    check_values(model, names[0], point.parameter)
    second = check_span("second", second, with_parameters(model, {names[0]: point.parameter}), names[1])
    checks.positive("step", step)
    checks.count("max_points", max_points)
    problem.check_start(model, point.z, point.parameter, second[0])
    scale = typical_sizes(point.z, point.parameter, second[1] - second[0])
    x = (np.concatenate([point.z, [point.parameter, second[0]]]) / scale)[None]
    along = np.sign(second[1] - second[0]) * parameter_axis(x)
    with waiting(f"curve over {names[1]}", "evaluation", progress) as bar:
        system = _test_system(problem, point.kind, model, scale, bar)
        first = correct(system, np.zeros(1, dtype=int), x, along, LOCATOR)
        if not np.isfinite(first.x).all():
            why = f"no {point.kind} found near {names[0]} = {point.parameter:g} at {names[1]} = {second[0]:g}"
            return _curve(problem, model, point.kind, scale, second, Walk(first.x[:0], first.linear[:0], why))
        along = tangents(first.linear, along)[0]
        along = along / np.linalg.norm(along)
        walked = walk(system, first, along, step, max_points, _limits(second, scale[-1]), LOCATOR)
        return _curve(problem, model, point.kind, scale, second, walked)


def _curve(
    problem: GaitEquations, model: Any, kind: Bifurcation, scale: np.ndarray, span: tuple[float, float], walked: Walk
) -> BifurcationCurve:
    """The part of a curve along which parameters are within their bounds, and multipliers are those of its kind."""
    n, full, (first, second) = len(scale) - 2, _full(walked, scale, span), problem.names
    linears = [np.asarray(problem.linear(model, scale, x)[1]) for x in walked.x]
    multipliers = floquet(return_jacobian(np.reshape(linears, (-1, n, n + 2)), scale)).multipliers
    real = np.array([crossing_mode(kind, one) is None for one in multipliers], dtype=bool)
    out = ~within_bounds(full[:, n], parameter_info(model, first))
    ended = real | out
    count, why = len(full), walked.why_stopped
    if ended.any():
        count = int(np.argmax(ended))
        cause = f"{first} leaves its bounds" if out[count] else "the pair of multipliers is real, a neutral saddle"
        where = f"after {second} = {full[count - 1, -1]:g}" if count else f"no {kind} at {second} = {span[0]:g}"
        why = f"{where}: {cause}"
    if not count:
        checks.warn_user(f"{why}: the curve is empty")
    full = full[:count]
    return BifurcationCurve(kind, (first, second), full[:, n:], full[:, :n], multipliers[:count], why)
