"""Search methods of libraries, as functions that request points of the unit box until they converge.

| method | of | for |
|---|---|---|
| SLSQP | SciPy | smooth objectives, with or without limits: the default |
| L-BFGS-B | SciPy | smooth objectives without limits, many parameters |
| adam | optax | noisy objectives with a gradient |
| COBYQA, Nelder-Mead | SciPy | no gradient: noise, chaos, schemes without derivatives |
| CMA-ES | cma | no gradient, many local optima; a population at a time |
"""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy
from jaxtyping import Float

from jaxgait import precision
from jaxgait.optimization.active_constraints import clip_to_box, restore_limits
from jaxgait.optimization.evaluate import Evaluated
from jaxgait.optimization.goals import MAX_VIOLATION, Goal
from jaxgait.optimization.request_batching import Ask
from jaxgait.support import checks
from jaxgait.support.notes import FILTERS

FIRST_STEP = 0.1
"""Length of the first step as a fraction of the box: the objective is scaled so that its slope has this norm."""
WALL_RATIO = 4.0
"""Penalty of a failed run, relative to what the last good slope promises: line searches then try a tenth of a step."""
FAILURE_PENALTY = 10.0
"""Excess of a failed run over the worst value so far, in the scaled objective, for methods without gradients."""
STEEP_FACTOR = 100.0
"""A slope counts as steep if a first step along it promises this many times the tolerance. A search that stops on one
restarts: rejected steps look like convergence, and libraries give up if the scale is that of a flat or very high start.
"""
MAX_RESTARTS = 3
"""How many times its iterations a search that stops on a slope may use in addition; for a worst case, its restarts."""
NEGLIGIBLE = 1e-12
"""Changes and slopes below this, relative to the size of the objective in a search, are rounding errors."""
FLAT = 1e-5
"""Variation of an objective, relative to its scale, below which COBYQA stops anywhere, and restarts scaled by it."""
MAX_FAILURES = 4
"""Number of consecutive failed runs that end a search along a slope: by then, its step is a thousand times shorter."""
SETTLED_EXTENT = 1e-4
"""A search has settled if its last points lie within this fraction of the box."""
PROBED_DISTANCE = 0.01
"""Distance in the box at which values next to the end of a search without gradients are compared with it."""
CLOSER = 0.1
"""Fraction of this distance at which rises are compared with those at it: a tenth at a kink, a hundredth if smooth."""


@dataclass(frozen=True)
class SearchSettings:
    """Settings of a search method."""

    sign: float
    """1 to maximise, -1 to minimise."""
    goal: Goal
    iterations: int
    tolerance: float
    """Relative change of the objective at which a search stops."""
    learning_rate: float
    seed: int
    restarts: int = MAX_RESTARTS
    """How many times its iterations a search may use in addition, to restart where it stopped."""


class Ended(enum.Enum):
    """Where a search ended."""

    INSIDE = "where its method stopped"
    EDGE = "where runs beyond fail, or gaits beyond are unstable"
    START = "at its start, which failed"


class SearchEnd(NamedTuple):
    """The end of a search, with the library's message (empty at an edge)."""

    x: Float[np.ndarray, " n"]
    converged: bool
    message: str
    where: Ended = Ended.INSIDE
    size: float = 0.0
    """Size of the objective relative to which it converged, in its unit; zero: its value at the end."""
    kinked: bool = False
    """Whether the objective rises around the end as at a kink, where COBYQA, which models it, may stop anywhere."""


class Stuck(Exception):
    """Several consecutive runs failed: the search cannot continue from the best point so far."""


class Scaled:
    """Objective (to minimise) and slacks of one search, scaled to order one (no dimension); rejects failed runs."""

    def __init__(self, ask: Ask, settings: SearchSettings, *, guided: bool = True):
        """`guided`: whether the search uses gradients; if so, several consecutive failed runs end it."""
        self._ask, self._settings, self._guided, self._known = ask, settings, guided, {}
        self._good, self._failed = None, 0
        self.best, self._least = np.zeros(0), np.inf
        self.spent = 0  # iterations of a search with gradients
        self._largest = 0.0

    def begin(self, x0: Float[np.ndarray, " n"]) -> bool:
        """Sets the scale from the slope at a point; returns whether the run there succeeded.

        The best point remains that of earlier searches, if one met the limits.
        """
        first = self._asked(x0)
        if not first.valid[0]:
            return False
        slope = float(np.linalg.norm(project_gradient(x0, -self._settings.sign * first.slopes[0, 0])))
        self.size = max(abs(first.values[0, 0]), FIRST_STEP * slope) or 1.0
        self._largest = max(self._largest, self.size)
        # The slope is zero for derivative-free methods and at flat starts.
        unit = self._spread if self.flat(float(self.size)) else self.size
        self.scale = -self._settings.sign * (FIRST_STEP / slope if slope > NEGLIGIBLE * self.size else 1.0 / unit)
        self.tolerance = abs(self.scale) * self._settings.tolerance * self.size
        self._good_at, self._good, self._failed = np.array(x0), first, 0
        self._worst = self.scale * first.values[0, 0]
        self.best = self.best if self.met else x0
        self._keep(x0, first)
        return True

    @property
    def _spread(self) -> float:
        """How much the objective varies among the points so far, in its unit."""
        return float(np.ptp([one.values[0, 0] for one in self._known.values() if one.valid[0]]))

    def flat(self, unit: float) -> bool:
        """Whether the objective varies so little, compared with `unit`, that COBYQA stops anywhere."""
        return bool(not self._guided and NEGLIGIBLE * self.size < self._spread < FLAT * unit)

    @property
    def left(self) -> int:
        """Number of iterations left, or of evaluations without gradients."""
        settings = self._settings
        if self._guided:
            return (1 + settings.restarts) * settings.iterations - self.spent
        return settings.iterations * (len(self.best) + 1) - len(self._known)

    @property
    def met(self) -> bool:
        """Whether any point met the limits."""
        return bool(np.isfinite(self._least))

    def _keep(self, x: np.ndarray, evaluation: Evaluated) -> None:
        """Makes a point the best one if it meets the limits and none was better."""
        value = -self._settings.sign * evaluation.values[0, 0]
        if value <= self._least and self._settings.goal.met(evaluation.values).all():
            self.best, self._least = clip_to_box(x), value

    def steep(self, x: Float[np.ndarray, " n"]) -> bool:
        """Whether the objective still has a steep slope, relative to its value there, within the box and the limits."""
        found = self._asked(x)
        if not found.valid[0]:
            return False
        goal, walls = self._settings.goal, np.eye(len(x))
        limits = goal.slack_slopes(found.slopes)[0][goal.slack(found.values)[0] < STEEP_FACTOR * MAX_VIOLATION]
        normals = np.concatenate([limits, walls[x <= 0.0], -walls[x >= 1.0]])
        gradient = -self._settings.sign * found.slopes[0, 0]
        slope = scipy.optimize.nnls(normals.T, gradient)[1] if len(normals) else np.linalg.norm(gradient)
        return bool(FIRST_STEP * slope > self._clear(found.values[0, 0]))

    def _clear(self, value: float) -> float:
        """The least change of the objective from a value, in its unit, for which a search restarts."""
        return max(STEEP_FACTOR * self._settings.tolerance * abs(value), NEGLIGIBLE * self._largest)

    def _asked(self, x: np.ndarray) -> Evaluated:
        x = clip_to_box(x)
        key = x.tobytes()
        if key not in self._known:
            self._known[key] = self._ask(x[None])
        return self._known[key]

    def _usable(self, x: np.ndarray) -> tuple[Evaluated, bool]:
        """The evaluation of a point, or the last successful one if the run failed; and whether it succeeded."""
        found = self._asked(x)
        if not found.valid[0]:
            assert self._good is not None
            return self._good, False
        self._good_at, self._good, self._failed = np.array(x), found, 0  # a copy: libraries change theirs
        self._worst = max(self._worst, self.scale * found.values[0, 0])
        self._keep(x, found)
        return found, True

    def cost(self, x: Float[np.ndarray, " n"]) -> float:
        """The objective, to minimise; a failed run is worse than the last good point (unguided: than all points)."""
        found, valid = self._usable(x)
        value = float(self.scale * found.values[0, 0])
        if valid:
            return value
        return value + WALL_RATIO * self._promised(x) if self._guided else float(self._worst + FAILURE_PENALTY)

    def _promised(self, x: np.ndarray) -> float:
        """Change of the objective up to a failed run, by the slope at the last good point."""
        assert self._good is not None
        return max(self.tolerance, abs(float(self.scale * self._good.slopes[0, 0] @ (x - self._good_at))))

    def value(self, x: Float[np.ndarray, " n"]) -> float:
        """The same as `cost`, for the steps of a search.

        Raises:
            Stuck: after too many consecutive failed runs.
        """
        self._failed += not self._asked(x).valid[0]
        if self._guided and self._failed >= MAX_FAILURES:
            raise Stuck
        return self.cost(x)

    def slope(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The derivative of `value`; if the run failed, along the step to it, that of a parabola through both ends."""
        found, valid = self._usable(x)
        slope = self.scale * found.slopes[0, 0]
        if valid:
            return slope
        step = x - self._good_at
        return slope + ((1.0 + 2.0 * WALL_RATIO) * self._promised(x) - slope @ step) / (step @ step) * step

    def simplex(self) -> Float[np.ndarray, "corners n"]:
        """The best point and first steps from it along each coordinate, backwards where runs fail or the box ends."""
        corners = [self.best]
        for along in FIRST_STEP * np.eye(len(self.best)):
            inside = [x for x in (self.best + along, self.best - along) if ((x >= 0.0) & (x <= 1.0)).all()]
            corners.append(next((x for x in inside if self._asked(x).valid[0]), inside[0]))
        return np.array(corners)

    def better_nearby(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"] | None:
        """The best neighbour of a point along any coordinate, if it is far better and within the limits."""
        points, found, costs = self._neighbours(x, PROBED_DISTANCE)
        costs = np.where(found.valid & self._settings.goal.met(found.values), costs, np.inf)
        best, own = int(np.argmin(costs)), self.cost(x) / abs(self.scale)
        return points[best] if own - costs[best] > self._clear(own) else None

    def kinked(self, x: Float[np.ndarray, " n"]) -> bool:
        """Whether the objective rises from a point in proportion to the distance along a coordinate, on both sides.

        Sides beyond the box, and failed runs, do not count.
        """
        own, rises = self.cost(x) / abs(self.scale), []
        for distance in (PROBED_DISTANCE, CLOSER * PROBED_DISTANCE):
            _, found, costs = self._neighbours(x, distance)
            both = found.valid.reshape(2, -1).all(axis=0) & (x >= distance) & (x <= 1.0 - distance)
            rises.append(np.max(costs.reshape(2, -1).sum(axis=0) - 2.0 * own, where=both, initial=0.0))
        return bool(rises[1] > max(0.5 * CLOSER * rises[0], self._clear(own)))

    def _neighbours(self, x: np.ndarray, distance: float) -> tuple[np.ndarray, Evaluated, np.ndarray]:
        """Points at a distance on both sides along each coordinate, their evaluations, and costs (objective's unit)."""
        steps = distance * np.eye(len(x))
        points = np.clip(np.concatenate([x + steps, x - steps]), 0.0, 1.0)
        found = Evaluated.stacked([self._asked(point).at(0) for point in points])
        return points, found, -self._settings.sign * found.values[:, 0]

    def shortfall(self, x: Float[np.ndarray, " n"]) -> float:
        """Sum of the squared violations of the limits, to minimise; larger if the run failed."""
        found, valid = self._usable(x)
        violated = np.minimum(self._settings.goal.slack(found.values)[0], 0.0)
        return float((violated**2).sum()) + (0.0 if valid else FAILURE_PENALTY)

    def slack(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " limits"]:
        """The slacks of the limits."""
        return self._settings.goal.slack(self._usable(x)[0].values)[0]

    def slack_slopes(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, "limits n"]:
        """The derivative of `slack`."""
        return self._settings.goal.slack_slopes(self._usable(x)[0].slopes)[0]


def project_gradient(x: Float[np.ndarray, " n"], downhill: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """A gradient in the unit box (no dimension), without the components whose descent leads out of it."""
    return np.where(((x <= 0.0) & (downhill > 0.0)) | ((x >= 1.0) & (downhill < 0.0)), 0.0, downhill)


_quiet: list[Any] = []
"""The change of the warning filters, once for each `quiet` block that is active in any thread."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppresses SciPy's warnings of rejected steps: the message of a search states how it ended.

    Filters belong to the whole process, so only the caller's thread may change them, around all searches: evaluations
    during a search would otherwise lose their warnings, and searches end in another order than they begin. With callers
    in several threads, the last one restores the filters.

    Examples:
        >>> import warnings
        >>> from jaxgait.optimization.methods import quiet
        >>> before = list(warnings.filters)
        >>> with quiet():
        ...     print(len(warnings.filters) - len(before))
        1
        >>> warnings.filters == before
        True
    """
    with FILTERS:
        filters = _quiet[0] if _quiet else warnings.catch_warnings()
        if not _quiet:
            filters.__enter__()
            warnings.filterwarnings("ignore", module=r"scipy\.")
        _quiet.append(filters)
    try:
        yield
    finally:
        with FILTERS:
            _quiet.pop()
            if not _quiet:
                filters.__exit__(None, None, None)


def _scipy(name: str, **options: Any) -> Callable[[Ask, np.ndarray, SearchSettings], SearchEnd]:
    guided = name not in GRADIENT_FREE

    def once(at: Scaled, x0: np.ndarray, settings: SearchSettings) -> SearchEnd:
        """Runs the library from a point; returns its end, or the best point within the limits if it gave up."""
        limited = {"constraints": _constraints(name, at)} if settings.goal.limits and name in LIMITED else {}
        chosen = {key: value(settings, at, len(x0)) for key, value in options.items()}
        jac, bounds = at.slope if guided else None, [(0.0, 1.0)] * len(x0)
        try:
            found = scipy.optimize.minimize(
                at.value, x0, method=name, jac=jac, bounds=bounds, options=chosen, **limited
            )
        except Stuck:
            at.spent += 1
            return SearchEnd(at.best, True, "", Ended.EDGE)
        spent = max(found.nit if guided else found.nfev, 1)
        at.spent += spent
        used_up = not found.success and spent >= chosen["maxiter" if guided else "maxfev"]
        converged = bool(found.success) or str(found.message).startswith(NO_STEP)
        end = SearchEnd(clip_to_box(found.x), converged, USED_UP if used_up else str(found.message))
        outside = bool(settings.goal.limits) and at.slack(end.x).min() < -MAX_VIOLATION
        gave_up = not (found.success or used_up) if guided else outside
        if gave_up and outside:
            restore_limits(at.slack, at.slack_slopes, end.x)  # next to it may be the best point within the limits
        return end._replace(x=at.best) if gave_up and at.met else end

    def search(ask: Ask, x0: np.ndarray, settings: SearchSettings) -> SearchEnd:
        at = Scaled(ask, settings, guided=guided)
        if not at.begin(x0):
            return SearchEnd(x0, False, "", Ended.START)
        x, size = _within_limits(at, x0, settings) if name == "COBYQA" else x0, at.size
        ended = SearchEnd(x, False, USED_UP)
        while at.left > 0:
            before = at.cost(x)
            ended = once(at, x, settings)
            x, gained = ended.x, before - at.cost(ended.x) > STEEP_FACTOR * at.tolerance
            size = at.size if gained else size
            if ended.message == USED_UP or (guided and not (gained and at.steep(x))):
                break
            if guided or (name == "COBYQA" and at.flat(float(1.0 / abs(at.scale)))):
                again = x
            else:
                again = at.better_nearby(x) if at.left >= 2 * len(x) else None
            if again is None:
                modelled = name == "COBYQA" and ended.converged and at.left >= 2 * len(x)
                ended = ended._replace(kinked=modelled and at.kinked(x))
                break
            x, ended = again, SearchEnd(again, False, USED_UP)
            at.begin(x)
        return ended._replace(x=restore_limits(at.slack, at.slack_slopes, x) if settings.goal.limits else x, size=size)

    return search


def _within_limits(at: Scaled, x0: np.ndarray, settings: SearchSettings) -> np.ndarray:
    """A start for COBYQA that meets the limits, or comes nearest: it would follow the objective away from them.

    The given start, if it meets them.
    """
    if not settings.goal.limits or at.slack(x0).min() >= -MAX_VIOLATION:
        return x0
    options = {"maxfev": at.left, "initial_tr_radius": FIRST_STEP, "f_target": 0.0}
    bounds = [(0.0, 1.0)] * len(x0)
    return clip_to_box(scipy.optimize.minimize(at.shortfall, x0, method="COBYQA", bounds=bounds, options=options).x)


def _constraints(name: str, at: Scaled) -> Any:
    if name == "SLSQP":
        return {"type": "ineq", "fun": at.slack, "jac": at.slack_slopes}
    slope: dict[str, Any] = {} if name in GRADIENT_FREE else {"jac": at.slack_slopes}
    return scipy.optimize.NonlinearConstraint(at.slack, 0.0, np.inf, **slope)


def _adam(ask: Ask, x0: np.ndarray, settings: SearchSettings) -> SearchEnd:
    """Adam with a first step of `learning_rate` of the box, which decays to a tenth along a cosine.

    After a failed run it steps halfway back to the last good point.
    """
    decay = optax.cosine_decay_schedule(settings.learning_rate, settings.iterations, alpha=0.1)
    optimizer, x, good, succeeded, recent = optax.adam(decay, b1=0.7, b2=0.9), x0, x0, False, [x0]
    unit, size = 0.0, 0.0
    with _optax():
        state: Any = optimizer.init(jnp.asarray(x0))
    for _ in range(settings.iterations):
        found = ask(x[None])
        valid = bool(found.valid[0])
        good, succeeded = (x, True) if valid else (good, succeeded)
        uphill = settings.sign * found.slopes[0, 0] if valid else np.zeros(len(x))
        unit = unit or float(np.linalg.norm(uphill))  # optax adds a constant to slopes, which are to be of order one
        size = size or (max(abs(float(found.values[0, 0])), FIRST_STEP * unit) if valid else 0.0)
        with _optax():
            step, state = optimizer.update(jnp.asarray(-uphill / (unit or 1.0)), state)
        x = np.clip(x + np.asarray(step), 0.0, 1.0) if valid else 0.5 * (x + good)
        recent = [*recent[-3:], x]
        if len(recent) == 4 and np.ptp(recent, axis=0).max() < SETTLED_EXTENT:
            if succeeded and not valid:
                return SearchEnd(good, False, "", Ended.EDGE)
            return SearchEnd(good, valid, "" if valid else NONE_TEXT, size=size)
    return SearchEnd(good, False, USED_UP, size=size)


@contextlib.contextmanager
def _optax() -> Iterator[None]:
    """Float64 for the search itself; optax's own step count needs JAX's usual promotion of integers."""
    with precision.use("float64"), jax.numpy_dtype_promotion("standard"):
        yield


def _cma(ask: Ask, x0: np.ndarray, settings: SearchSettings) -> SearchEnd:
    """CMA-ES of the package `cma`; a population is one batch.

    A population without a result, which would look flat, is replaced by another one.
    """
    cma = checks.library("cma", "this search needs", "cma")
    options: dict[str, Any] = {"bounds": [0.0, 1.0]}
    options |= {"seed": settings.seed + 1, "verbose": -9, "maxiter": settings.iterations}
    options |= {"maxstd": np.inf} if len(x0) == 1 else {}  # (cma fails where it would limit a single deviation)
    evolution = cma.CMAEvolutionStrategy(x0, FIRST_STEP, options)
    size = 0.0
    for _ in range(settings.iterations):
        points = evolution.ask()
        found = ask(np.array(points))
        if not found.valid.any():
            continue
        # Scales costs to order one, like the penalties; fixed by the first population with a result.
        size = size or float(np.abs(found.values[found.valid, 0]).max())
        cost = -settings.sign * found.values[:, 0] / (size or 1.0)
        short = np.maximum(-settings.goal.slack(found.values), 0.0).sum(axis=1)
        worst = np.max(cost, where=found.valid, initial=-np.inf)
        evolution.tell(points, np.where(found.valid, cost + FAILURE_PENALTY * short, worst + FAILURE_PENALTY).tolist())
        least = float(np.min(np.abs(cost), where=found.valid, initial=1.0))
        evolution.opts.set({"tolfun": STEEP_FACTOR * settings.tolerance * least})  # relative to where the search is
        if evolution.stop():
            break
    if not evolution.countiter:
        return SearchEnd(x0, False, NONE_TEXT)
    reasons = evolution.stop() or {"maxiter": settings.iterations}
    used_up = "maxiter" in reasons
    message = USED_UP if used_up else f"CMA-ES: {', '.join(reasons)}"
    return SearchEnd(np.clip(evolution.result.xbest, 0.0, 1.0), not used_up, message)


_iterations = lambda settings, at, n: min(settings.iterations, at.left)
_evaluations = lambda settings, at, n: at.left
_tolerance = lambda settings, at, n: at.tolerance
_still = lambda settings, at, n: SETTLED_EXTENT
_simplex = lambda settings, at, n: at.simplex()

NONE_TEXT = "no run near its start succeeded"
NO_STEP = ("ABNORMAL", "Positive directional derivative")
"""Beginnings of libraries' messages if a line search found no better point."""
USED_UP = "its iterations are used up; more may find a better point"
GRADIENT_FREE = ("COBYQA", "Nelder-Mead", "CMA-ES")
FALLBACK = "COBYQA"
"""The method used where gradients are unreliable."""
LIMITED = ("SLSQP", "COBYQA", "CMA-ES")
BY_TOLERANCE = ("SLSQP", "L-BFGS-B", "CMA-ES")
"""Methods that the tolerance alone can stop; the others stop when their points have settled."""
SERIAL = ("COBYQA",)
"""Methods whose starts cannot run in parallel, because the library keeps a lock while it waits for a value."""
METHODS: dict[str, Callable[[Ask, np.ndarray, SearchSettings], SearchEnd]] = {
    "SLSQP": _scipy("SLSQP", maxiter=_iterations, ftol=_tolerance),
    "L-BFGS-B": _scipy("L-BFGS-B", maxiter=_iterations, ftol=_tolerance, gtol=_tolerance),
    "adam": _adam,
    "COBYQA": _scipy("COBYQA", maxfev=_evaluations, initial_tr_radius=lambda *_: FIRST_STEP),
    "Nelder-Mead": _scipy("Nelder-Mead", maxfev=_evaluations, fatol=_tolerance, xatol=_still, initial_simplex=_simplex),
    "CMA-ES": _cma,
}
"""Functions from the evaluating function, a starting point and settings to the end of a search."""
