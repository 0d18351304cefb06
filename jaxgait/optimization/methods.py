"""Search methods of libraries, as functions that request points of the unit box until they converge.

| method | of | for |
|---|---|---|
| SLSQP | SciPy | smooth objectives, with or without limits: the default |
| L-BFGS-B | SciPy | smooth objectives without limits, many parameters |
| trust-constr | SciPy | smooth objectives with limits; safer and slower than SLSQP |
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

from jaxgait import checks, precision
from jaxgait.optimization.evaluate import Evaluated
from jaxgait.optimization.goals import MAX_VIOLATION, Goal
from jaxgait.optimization.together import Ask

FIRST_STEP = 0.1
"""Length of the first step as a fraction of the box, to which the objective is scaled by its slope."""
FAILURE_PENALTY = 10.0
"""Excess of a failed run over the worst value so far, in the scaled objective, so that its step is rejected."""
MAX_RESTARTS = 3
"""Number of restarts of a search that stops on a slope: rejected steps look like convergence, and a scale from a flat
start makes a library give up."""
STEEP_FACTOR = 100.0
"""A slope counts as steep if a first step along it promises this many times the tolerance."""
MAX_FAILURES = 4
"""Number of consecutive failed runs that end a search along a slope: by then, its step is a thousand times shorter."""
SIMPLEX, SMALLEST = 0.05, 2.5e-4
"""Steps of Nelder-Mead's first simplex, relative to each coordinate, and the smallest one, as a fraction of the box."""
WALL_MARGIN = 1e-9
"""Distance from a wall of the unit box below which a point counts as on it."""
SETTLED_EXTENT = 1e-4
"""A search has settled if its last points lie within this fraction of the box."""
RESTORING_STEPS = 6
"""Maximum number of Newton steps on limits that are violated at the end."""


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


class Stuck(Exception):
    """Several consecutive runs failed: the search cannot continue from the best point so far."""


class Scaled:
    """Objective (to minimise) and slacks of one search, scaled to order one (no dimension); rejects failed runs."""

    def __init__(self, ask: Ask, settings: SearchSettings, patience: float | int = MAX_FAILURES):
        """`patience` is the number of consecutive failed runs that end the search."""
        self._ask, self._settings, self._known, self._patience = ask, settings, {}, patience
        self._good: Evaluated | None = None
        self._failed = 0
        self.best, self._least = np.zeros(0), np.inf

    def begin(self, x0: Float[np.ndarray, " n"]) -> bool:
        """Sets the scale from the slope at a point; returns whether the run there succeeded.

        The best point remains that of earlier searches, if one met the limits.
        """
        first = self._asked(x0)
        if not first.valid[0]:
            return False
        slope = float(np.linalg.norm(project_gradient(x0, -self._settings.sign * first.slopes[0, 0])))
        size = max(abs(first.values[0, 0]), FIRST_STEP * slope) or 1.0
        # The slope is zero for derivative-free methods and at flat starts.
        self.scale = -self._settings.sign * (FIRST_STEP / slope if slope > 1e-12 * size else 1.0 / size)
        self.tolerance = abs(self.scale) * self._settings.tolerance * size
        self._good, self._worst, self._failed = first, self.scale * first.values[0, 0], 0
        self.best = self.best if self.met else x0
        self._keep(x0, first)
        return True

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
        """Whether the objective still has a steep slope into the box; False near a limit."""
        found = self._asked(x)
        if not found.valid[0] or (self._settings.goal.limits and self.slack(x).min() < STEEP_FACTOR * MAX_VIOLATION):
            return False
        slope = np.linalg.norm(project_gradient(x, self.scale * found.slopes[0, 0]))
        return bool(FIRST_STEP * slope > STEEP_FACTOR * self.tolerance)

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
        self._good, self._worst, self._failed = found, max(self._worst, self.scale * found.values[0, 0]), 0
        self._keep(x, found)
        return found, True

    def cost(self, x: Float[np.ndarray, " n"]) -> float:
        """The objective, to minimise; worse than any so far if the run failed."""
        found, valid = self._usable(x)
        return float(self.scale * found.values[0, 0] if valid else self._worst + FAILURE_PENALTY)

    def value(self, x: Float[np.ndarray, " n"]) -> float:
        """The same, for the steps of a search.

        Raises:
            Stuck: after too many consecutive failed runs.
        """
        self._failed += not self._asked(x).valid[0]
        if self._failed >= self._patience:
            raise Stuck
        return self.cost(x)

    def simplex(self) -> Float[np.ndarray, "corners n"]:
        """The best point and steps from it along each coordinate: SciPy's, or larger or backwards where runs fail."""
        corners = [self.best]
        for i, size in enumerate(np.maximum(SIMPLEX * self.best, SMALLEST)):
            along = np.eye(len(self.best))[i]
            tried = [self.best + step * along for step in (size, -size, SIMPLEX, -SIMPLEX)]
            inside_box = [x for x in tried if 0.0 <= x[i] <= 1.0]
            corners.append(next((x for x in inside_box if self._asked(x).valid[0]), inside_box[0]))
        return np.array(corners)

    def slope(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The derivative of `value`."""
        return self.scale * self._usable(x)[0].slopes[0, 0]

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


def clip_to_box(x: Float[np.ndarray, "*b n"]) -> Float[np.ndarray, "*b n"]:
    """A point clipped to the unit box (no dimension); coordinates within rounding of a wall are set on it."""
    return np.where(x < WALL_MARGIN, 0.0, np.where(x > 1.0 - WALL_MARGIN, 1.0, x))


def project_gradient(x: Float[np.ndarray, " n"], downhill: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """A gradient in the unit box (no dimension), without the components whose descent leads out of it."""
    return np.where(((x <= 0.0) & (downhill > 0.0)) | ((x >= 1.0) & (downhill < 0.0)), 0.0, downhill)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without SciPy's warnings of rejected steps: the message of a search states how it ended.

    Filters belong to the whole process, so only the main thread may change them, around all searches: one that waits
    for an evaluation would otherwise lose its warnings, and searches end in another order than they begin.

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
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"scipy\.")
        yield


def _scipy(name: str, **options: Any) -> Callable[[Ask, np.ndarray, SearchSettings], SearchEnd]:
    def once(at: Scaled, x0: np.ndarray, settings: SearchSettings) -> Any:
        limited = {"constraints": _constraints(name, at)} if settings.goal.limits and name in LIMITED else {}
        return scipy.optimize.minimize(
            at.value,
            x0,
            method=name,
            jac=None if name in GRADIENT_FREE else at.slope,
            bounds=[(0.0, 1.0)] * len(x0),
            options={key: value(settings, at, len(x0)) for key, value in options.items()},
            **limited,
        )

    def search(ask: Ask, x0: np.ndarray, settings: SearchSettings) -> SearchEnd:
        at = Scaled(ask, settings, np.inf if name in GRADIENT_FREE else MAX_FAILURES)
        if not at.begin(x0):
            return SearchEnd(x0, False, "", Ended.START)
        x, ended = _within_limits(at, x0, settings) if name == "COBYQA" else x0, SearchEnd(x0, False, "")
        for _ in range(1 + MAX_RESTARTS):
            before, exhausted = at.cost(x), False
            try:
                found = once(at, x, settings)
                ended = SearchEnd(clip_to_box(found.x), bool(found.success), str(found.message))
                exhausted = not found.success and found.get("nit", 0) >= settings.iterations
            except Stuck:
                ended = SearchEnd(at.best, True, "", Ended.EDGE)
            outside = bool(settings.goal.limits) and at.slack(ended.x).min() < -MAX_VIOLATION
            gave_up = outside if name in GRADIENT_FREE else not (ended.converged or exhausted)
            if gave_up and at.met:
                ended = ended._replace(x=at.best)
            gained = before - at.cost(ended.x) > STEEP_FACTOR * at.tolerance
            x = ended.x
            if name in GRADIENT_FREE or exhausted or not (gained and at.steep(x) and at.begin(x)):
                break
        return ended._replace(x=restore_limits(at.slack, at.slack_slopes, ended.x) if settings.goal.limits else ended.x)

    return search


def _within_limits(at: Scaled, x0: np.ndarray, settings: SearchSettings) -> np.ndarray:
    """A point that meets the limits, for COBYQA, which otherwise follows the objective away from them; or the nearest.

    The start itself if it meets them.
    """
    if not settings.goal.limits or at.slack(x0).min() >= -MAX_VIOLATION:
        return x0
    most = settings.iterations * (len(x0) + 1)
    options = {"maxfev": most, "initial_tr_radius": FIRST_STEP, "f_target": 0.0}
    bounds = [(0.0, 1.0)] * len(x0)
    return clip_to_box(scipy.optimize.minimize(at.shortfall, x0, method="COBYQA", bounds=bounds, options=options).x)


def restore_limits(
    slack_at: Callable[[np.ndarray], np.ndarray],
    slopes_at: Callable[[np.ndarray], np.ndarray],
    x: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """The nearest point that meets limits, by Newton's method on violated ones.

    Args:
        slack_at: function that returns the slacks of the limits at a point, of order one (no dimension), (limits,).
        slopes_at: its derivative, (limits, n).
        x: a point of the unit box that nearly meets the limits.
    """
    margin = 0.1 * MAX_VIOLATION
    for _ in range(RESTORING_STEPS):
        slack = slack_at(x)
        exceeded = np.flatnonzero(slack < 0.0)
        if not exceeded.size or slack.min() >= -MAX_VIOLATION:
            break
        slopes = slopes_at(x)[exceeded]
        free = np.ones(len(x), bool)
        for _ in range(len(x)):  # coordinates that would leave the box stay at its wall
            step = np.zeros(len(x))
            step[free] = np.linalg.lstsq(slopes[:, free], margin - slack[exceeded], rcond=None)[0]
            out = free & ((x + step < 0.0) | (x + step > 1.0))
            if not out.any() or out.sum() == free.sum():
                break
            free &= ~out
        x, margin = clip_to_box(x + step), 3.0 * margin
    return x


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
    with _optax():
        state: Any = optimizer.init(jnp.asarray(x0))
    for _ in range(settings.iterations):
        found = ask(x[None])
        valid = bool(found.valid[0])
        good, succeeded = (x, True) if valid else (good, succeeded)
        uphill = settings.sign * found.slopes[0, 0] if valid else np.zeros(len(x))
        with _optax():
            step, state = optimizer.update(jnp.asarray(-uphill), state)
        x = np.clip(x + np.asarray(step), 0.0, 1.0) if valid else 0.5 * (x + good)
        recent = [*recent[-3:], x]
        if len(recent) == 4 and np.ptp(recent, axis=0).max() < SETTLED_EXTENT:
            if succeeded and not valid:
                return SearchEnd(good, False, "", Ended.EDGE)
            return SearchEnd(good, valid, "settled" if valid else NONE_TEXT)
    return SearchEnd(good, False, "the last iteration was reached")


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
    options |= {"tolfun": settings.tolerance * STEEP_FACTOR}
    options |= {"maxstd": np.inf} if len(x0) == 1 else {}  # (cma fails where it would limit a single deviation)
    evolution = cma.CMAEvolutionStrategy(x0, FIRST_STEP, options)
    size = 0.0
    for _ in range(settings.iterations):
        points = evolution.ask()
        found = ask(np.array(points))
        if not found.valid.any():
            continue
        # Of order one, as the penalties are; fixed by the first population with a result.
        size = size or float(np.abs(found.values[found.valid, 0]).max())
        cost = -settings.sign * found.values[:, 0] / (size or 1.0)
        short = np.maximum(-settings.goal.slack(found.values), 0.0).sum(axis=1)
        worst = np.max(cost, where=found.valid, initial=-np.inf)
        evolution.tell(points, np.where(found.valid, cost + FAILURE_PENALTY * short, worst + FAILURE_PENALTY).tolist())
        if evolution.stop():
            break
    if not evolution.countiter:
        return SearchEnd(x0, False, NONE_TEXT)
    reasons = ", ".join(evolution.stop()) or "maxiter"
    return SearchEnd(np.clip(evolution.result.xbest, 0.0, 1.0), "maxiter" not in reasons, f"CMA-ES: {reasons}")


_iterations = lambda settings, at, n: settings.iterations
_evaluations = lambda settings, at, n: settings.iterations * (n + 1)
_tolerance = lambda settings, at, n: at.tolerance
_still = lambda settings, at, n: SETTLED_EXTENT
_simplex = lambda settings, at, n: at.simplex()

NONE_TEXT = "no run near its start succeeded"
GRADIENT_FREE = ("COBYQA", "Nelder-Mead", "CMA-ES")
FALLBACK = "COBYQA"
"""The method used where gradients are unreliable."""
LIMITED = ("SLSQP", "trust-constr", "COBYQA", "CMA-ES")
SERIAL = ("COBYQA",)
"""Methods whose starts cannot run in parallel, because the library keeps a lock while it waits for a value."""
METHODS: dict[str, Callable[[Ask, np.ndarray, SearchSettings], SearchEnd]] = {
    "SLSQP": _scipy("SLSQP", maxiter=_iterations, ftol=_tolerance),
    "L-BFGS-B": _scipy("L-BFGS-B", maxiter=_iterations, ftol=_tolerance),
    "trust-constr": _scipy("trust-constr", maxiter=_iterations, gtol=lambda s, at, n: 10 * at.tolerance),
    "adam": _adam,
    "COBYQA": _scipy("COBYQA", maxfev=_evaluations, initial_tr_radius=lambda *_: FIRST_STEP),
    "Nelder-Mead": _scipy("Nelder-Mead", maxfev=_evaluations, fatol=_tolerance, xatol=_still, initial_simplex=_simplex),
    "CMA-ES": _cma,
}
"""Functions from the evaluating function, a starting point and settings to the end of a search."""
