"""Objective and limits of the periodic gait itself, and their exact derivatives by the implicit function theorem.

A gait that repeats every stride is a fixed point ``z = P(theta, z)`` of the stride's map, whose derivative by the
design is ``dz = (I - P_z)^-1 P_theta dtheta`` (see `jaxgait.solve.periodic`). An observable ``f(theta, z)`` of a run
that starts in the gait therefore has the derivative ``f_theta + f_z dz``, without differentiating a transient. The gait
need not be stable: across a subharmonic range the objective of the period-one gait stays smooth, unlike that of walks,
which leave this gait.

The map covers one stride of a driven model, and the run is this stride; or it is any return map, such as that from heel
strike to heel strike, and the run is as long as the user wishes.

During a search, the last gait moved along its tangent is the next guess: two strides suffice for most steps. A start
whose runs settle into no gait is reached in steps from the nearest gait of another start. With an
adaptive solver the map is smooth only to the solver's tolerance, so Newton's method stops there, and the last step is
taken to first order, in the point and in the objective.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from jaxgait import precision
from jaxgait.ensembles.addresses import member_of
from jaxgait.ensembles.plan import LANES, default_workers
from jaxgait.ensembles.request import spaced
from jaxgait.ensembles.spacing import Spacing
from jaxgait.ensembles.validity import accepted
from jaxgait.measure import Measure
from jaxgait.model import Model, State
from jaxgait.native import kept, looped
from jaxgait.optimization.evaluate import Boxed, Evaluated, Extra, extent
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.space import Space
from jaxgait.outcome import Outcome
from jaxgait.roots import CONVERGED, Root, Rule, many
from jaxgait.run import Run, Sampling, Trajectory
from jaxgait.scheme import Scheme, with_numbers, without_numbers
from jaxgait.solve.periodic import TOLERANCE, FixedPoint, SectionMap
from jaxgait.solve.sections import warn_of_section
from jaxgait.solve.smooth import REDUNDANT_CHECKS

TANGENTS_PER_LANE = 3
"""Number of derivatives per lane: the most for which the knee's stride is one kernel."""
FIRST_STRIDES = 5
"""Strides from the model's own start to the first guess."""
NOISE_FACTOR = 100.0
"""Residual at which a gait counts as found, in units of the solver's relative tolerance: the noise of strides. It is
relative for components that are larger than 1."""
MAX_STRIDES = 10
"""Largest number of strides of one search for a gait."""
FIRST_SHARE, LEAST_SHARE = 1 / 4, 1 / 16
"""First and smallest steps from the gait of another search, as shares of the way."""


@dataclass(frozen=True)
class StrideMap:
    """One stride, and the observables of a run in the gait; hashable, so that it compiles once."""

    scheme: Scheme
    sampling: Sampling
    goal: Goal
    names: tuple[str, ...]
    return_map: SectionMap | None = None
    """The stride; None: the run itself."""

    def __call__(
        self, model: Model, theta: Float[Array, " n"], z: Float[Array, " m"], extra: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """The state after one stride followed by the observables (NaN after an early end), and the status.

        Args:
            model: the mechanism.
            theta: the parameters `names` in their units.
            z: the state at the beginning, leaf by leaf.
            extra: values of further parameters by name, in their units.
        """
        changed, y0 = self._start(model, theta, z, extra)
        trajectory, observed = self._observed(changed, y0)
        end = ravel_pytree(trajectory.y_end)[0] if self.return_map is None else self.return_map(changed, z)
        found = jnp.concatenate([end, *(jnp.ravel(observed[name]) for name in self.goal.names)])
        return jnp.where(trajectory.status == Outcome.COMPLETED, found, jnp.nan), trajectory.status

    def observed(
        self, model: Model, theta: Float[Array, " n"], z: Float[Array, " m"], extra: Mapping[str, Array]
    ) -> dict[str, Array]:
        """What the goal observes, in its own units; arguments as in a call."""
        return self._observed(*self._start(model, theta, z, extra))[1]

    def _start(
        self, model: Model, theta: Float[Array, " n"], z: Float[Array, " m"], extra: Mapping[str, Array]
    ) -> tuple[Model, State]:
        """The member's model, and the state at the point `z`."""
        changed, own = member_of(model, {**extra, **dict(zip(self.names, theta, strict=True))})
        return changed, ravel_pytree(own)[1](z) if self.return_map is None else self.return_map.start(changed, z)

    def _observed(self, model: Model, y0: State) -> tuple[Trajectory, dict[str, Array]]:
        trajectory = self.scheme.run(model, self.sampling, y0, watch=self.goal.watch)
        return trajectory, self.goal(Run(model, trajectory, self.sampling))


class Linear(NamedTuple):
    """Strides of some members with their derivatives by (unit box, point)."""

    next: Float[np.ndarray, "b m"]
    observed: Float[np.ndarray, "b values"]
    slopes: Float[np.ndarray, "b m+values n+m"]
    status: np.ndarray


class Strides:
    """Strides of many members, with parameters in their own units; compiled at the first call.

    A member's derivatives are spread over lanes of `TANGENTS_PER_LANE` each, because a program with all of them would
    be too long for one kernel.
    """

    def __init__(self, model: Model, space: Space, stride: StrideMap):
        with precision.use("float64"):
            self._model, self._box = precision.cast((model, jax.tree.map(jnp.asarray, space.spacing)))
            scheme, sampling, numbers = without_numbers(stride.scheme, stride.sampling)
        self._stride, self._program = stride, (_lanes(replace(stride, scheme=scheme, sampling=sampling)), numbers)

    def __call__(
        self,
        x: Float[np.ndarray, "b n"],
        z: Float[np.ndarray, "b m"],
        extra: Mapping[str, np.ndarray],
        *,
        slopes: bool = True,
    ) -> Linear:
        """One stride of each member from its point; `slopes=False` skips the derivatives (zeros)."""
        (b, n), m = x.shape, z.shape[1]
        groups = -(-(n + m) // TANGENTS_PER_LANE) if slopes else 1
        directions = np.zeros((groups * TANGENTS_PER_LANE, n + m))
        if slopes:
            directions[: n + m] = np.eye(n + m)
        directions = directions.reshape(groups, TANGENTS_PER_LANE, n + m)
        where = np.repeat(np.concatenate([x, z], axis=1), groups, axis=0)
        others = {name: np.repeat(values, groups, axis=0) for name, values in extra.items()}
        value, slope, status = self._lanes((where, np.tile(directions, (b, 1, 1)), others))
        value, status = value.reshape(b, groups, -1)[:, 0], status.reshape(b, groups)[:, 0]
        columns = np.swapaxes(slope.reshape(b, groups, -1, TANGENTS_PER_LANE), 1, 2).reshape(b, value.shape[1], -1)
        return Linear(value[:, :m], value[:, m:], columns[:, :, : n + m], status)

    def _lanes(self, lanes: tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]) -> tuple[np.ndarray, ...]:
        """Values, derivatives along the lanes' own directions and statuses, `LANES` at a time."""
        size = len(lanes[0])
        padded = np.resize(np.arange(size), -(-size // LANES) * LANES).reshape(-1, LANES)
        pool = ThreadPoolExecutor(default_workers(1), thread_name_prefix="jaxgait")
        try:
            found = list(pool.map(lambda i: self._block(jax.tree.map(lambda x: x[i], lanes)), padded))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # an interruption does not wait for a compilation
        return tuple(np.concatenate(parts)[:size] for parts in zip(*found, strict=True))

    def _block(self, lanes: Any) -> tuple[np.ndarray, ...]:
        with precision.use("float64"):
            given, (program, numbers) = (self._model, self._box, jax.tree.map(jnp.asarray, lanes)), self._program
            try:
                found = program(*given, numbers)
            except jax.errors.ConcretizationTypeError:  # the code of the model or a measure branches on such a number
                self._program = _lanes(self._stride), ()
                found = self._program[0](*given, ())
        return tuple(np.asarray(x) for x in found)


@functools.lru_cache
def _lanes(stride: StrideMap) -> Any:
    """The program of some lanes, compiled once for every stride.

    It takes the model, the box, (points, directions, others), and the numbers that `without_numbers` extracted.
    """

    def lane(model: Any, box: Spacing, own: tuple[Array, Array, Any], numbers: Any) -> tuple[Array, Array, Array]:
        n, (x, directions, extra) = len(box.low), own
        scheme, sampling = with_numbers(stride.scheme, stride.sampling, numbers)
        whole = replace(stride, scheme=scheme, sampling=sampling)

        def along(steps: Array) -> tuple[Array, tuple[Array, Array]]:
            moved = x + steps @ directions
            value, status = whole(model, box(moved[:n]), moved[n:], extra)
            return value, (value, status)

        slope, (value, status) = jax.jacfwd(along, has_aux=True)(jnp.zeros(TANGENTS_PER_LANE, x.dtype))
        return value, slope, status

    def lanes(model: Any, box: Spacing, own: tuple[Array, Array, Any], numbers: Any) -> tuple[Array, Array, Array]:
        return jax.vmap(looped(lambda v: lane(model, box, v, numbers), assured=REDUNDANT_CHECKS))(own)

    return kept(lanes, assured=REDUNDANT_CHECKS)


class _Known(NamedTuple):
    """A gait that was found, as the next guess."""

    x: np.ndarray
    z: np.ndarray
    rate: np.ndarray
    """Derivative of the point by the unit box, (m, n)."""

    def moved_to(self, x: np.ndarray) -> np.ndarray:
        """The point (m,) at other parameters in the unit box, along the tangent."""
        return self.z + self.rate @ (x - self.x)


class PeriodicGait(Boxed):
    """Exact derivatives of the period-one gait, stable or not; in the units of measures."""

    name = "through the periodic gait (implicit differentiation)"

    def __init__(
        self,
        model: Model,
        space: Space,
        goal: Goal,
        scheme: Scheme,
        sampling: Sampling,
        return_map: SectionMap | None = None,
        extra: Extra = Extra(),
    ):
        """`scheme` and `sampling` are those of the observed run, which without a return map is the stride itself."""
        goal = goal.checked(spaced(sampling, model, extent(model, space, extra)))
        self._stride = StrideMap(scheme, sampling, goal, tuple(space.names), return_map)
        self.strides = Strides(model, space, self._stride)
        self._model, self._space, self._extra = model, space, extra
        resolved = noise(scheme if return_map is None else return_map.scheme_of(model))
        self._rule = Rule(resolved, noise=resolved)
        self._known: dict[int, _Known] = {}
        self._latest: dict[tuple[int, bytes], _Known] = {}
        """The gaits of the last call, by search and point."""
        self._first: np.ndarray | None = None
        self._checked = False
        self._size = point_size(model, return_map)

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """See `jaxgait.optimization.evaluate.Evaluator`."""
        self._latest = {}
        known = np.array([int(i) in self._known for i in searches])
        root, step, linear = self._solved(searches, x, self._guesses(searches, x, known))
        guessed = known if self._first is None else np.ones_like(known)
        lost = np.flatnonzero(guessed & (root.status != CONVERGED))
        if lost.size:  # the step was too long for the tangent: restart from the model's initial state
            again = self._solved(searches[lost], x[lost], self._settled(searches[lost], x[lost]))
            _replace((root, step, linear), lost, again)
        found = self._evaluated(searches, x, root, step, linear)
        new = np.array([int(i) not in self._known for i in searches])
        if new.any() and (from_others := self._from_others(searches, x, np.flatnonzero(new))) is not None:
            _replace((root, step, linear), *from_others)
            found = self._evaluated(searches, x, root, step, linear)
        return found.without(~accepted(self._model, self._space.columns(x) | self._extra(searches)))

    def shapes(self, x: Float[np.ndarray, "b n"]) -> dict[str, tuple[int, ...]]:
        """Shapes of what the goal observes of a stride, by name; traces a stride if measures do not declare them."""
        goal = self._stride.goal
        if all(isinstance(m, Measure) and not m.dims for m in goal.measures):
            return dict.fromkeys(goal.names, ())
        with precision.use("float64"):
            extra = self._extra(np.zeros(1, int))
            model, z = precision.cast(self._model), jnp.asarray(self._starts(x[:1], extra)[0])
            extra = {name: jnp.asarray(values[0]) for name, values in extra.items()}
            observed = lambda theta, z: self._stride.observed(model, theta, z, extra)
            found = jax.eval_shape(observed, jnp.asarray(self._space.physical(x[0])), z)
        return {name: one.shape for name, one in found.items()}

    def within(self, space: Space) -> PeriodicGait:
        """See `Boxed.within`; the strides are compiled once for all boxes."""
        found = copy.copy(self)
        found._space, found.strides, found._known = space, Strides(self._model, space, self._stride), {}
        return found

    def memory(self, search: int, x: Float[np.ndarray, " n"] | None = None) -> Any:
        """See `Evaluator`: the last gait of a search, or that at `x`."""
        known = self._known.get(search)
        known = known if x is None else self._latest.get((search, x.tobytes()), known)
        return None if known is None else [field.tolist() for field in known]

    def recall(self, memories: Mapping[int, Any]) -> None:
        """See `Evaluator`."""
        known = {search: memory for search, memory in memories.items() if memory is not None}
        self._known |= {search: _Known(*map(np.array, memory)) for search, memory in known.items()}

    def gait_of(self, memory: Any) -> np.ndarray | None:
        """See `Evaluator`; of shape (components,)."""
        return None if memory is None else _Known(*map(np.array, memory)).z

    def begin_with(self, gait: np.ndarray) -> None:
        """See `Evaluator`; also takes a gait for each scenario (search i in scenario s: number i * size + s)."""
        self._first = np.atleast_2d(gait)

    def _from_others(
        self, searches: np.ndarray, x: np.ndarray, lanes: np.ndarray
    ) -> tuple[np.ndarray, tuple[Root, np.ndarray, Linear]] | None:
        """Lanes whose gaits are reached in steps from the nearest gaits of other searches, and their `_solved`."""
        size = self._extra.scenarios
        nearest = {i: self._nearest(int(searches[i]) % size, x[i]) for i in lanes.tolist()}
        near = {i: known for i, known in nearest.items() if known is not None}
        last = dict(near)
        done, width, reached = dict.fromkeys(last, 0.0), dict.fromkeys(last, FIRST_SHARE), []
        while under_way := [i for i in last if done[i] < 1.0 and width[i] >= LEAST_SHARE]:
            which, origin = np.array(under_way), np.stack([near[i].x for i in under_way])
            share = np.array([min(1.0, done[i] + width[i]) for i in under_way])
            at = origin + share[:, None] * (x[which] - origin)
            guess = np.stack([last[i].moved_to(to) for i, to in zip(under_way, at, strict=True)])
            solved = self._solved(searches[which], at, guess)
            rate = _rates(solved[2], x.shape[1], solved[0].status == CONVERGED)
            for lane, i in enumerate(under_way):
                if solved[0].status[lane] != CONVERGED:
                    width[i] /= 2.0
                    continue
                done[i], last[i] = share[lane], _Known(at[lane], solved[0].x[lane], rate[lane])
                if share[lane] == 1.0:
                    reached.append((i, jax.tree.map(lambda field, lane=lane: field[lane], solved)))
        if not reached:
            return None
        return np.array([i for i, _ in reached]), jax.tree.map(lambda *one: np.stack(one), *(one for _, one in reached))

    def _nearest(self, scenario: int, x: np.ndarray) -> _Known | None:
        """The known gait of a scenario whose parameters, in the unit box, are nearest to `x`."""
        same = [known for number, known in self._known.items() if number % self._extra.scenarios == scenario]
        return min(same, key=lambda known: float(np.linalg.norm(known.x - x)), default=None)

    def _solved(self, searches: np.ndarray, x: np.ndarray, guess: np.ndarray) -> tuple[Root, np.ndarray, Linear]:
        """Gaits by Newton's method, the last steps to them, and the (successful) strides where these steps begin."""
        n, at, last = x.shape[1], guess.copy(), {}

        def open_end(which: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            found = self.strides(x[which], z, self._extra(searches[which]))
            value, slope = found.next - z, found.slopes[:, : z.shape[1], n:] - np.eye(z.shape[1])
            usable = np.asarray(np.isfinite(value).all(axis=1) & np.isfinite(slope).all(axis=(1, 2)))
            for i, lane in enumerate(which.tolist()):
                if usable[i] or lane not in last:
                    at[lane], last[lane] = z[i], Linear(*(field[i] for field in found))
            return value, slope

        root = many(open_end, guess, self._rule, MAX_STRIDES)
        linear = Linear(*(np.stack(field) for field in zip(*(last[i] for i in range(len(x))), strict=True)))
        return root, root.x - at, linear

    def _evaluated(
        self, searches: np.ndarray, x: np.ndarray, root: Root, step: np.ndarray, linear: Linear
    ) -> Evaluated:
        """Values and slopes at the gaits, one Newton step beyond the strides that were run."""
        n, m = x.shape[1], step.shape[1]
        found = np.equal(root.status, CONVERGED).reshape(-1, 1, 1)
        blank = np.where(found, 1.0, np.nan)
        slopes = np.where(found, linear.slopes, 0.0)
        turn, by_point = slopes[:, :m, n:], slopes[:, m:, n:]
        rate = _rates(linear, n, found[:, 0, 0])
        values = linear.observed + (by_point @ np.where(found[..., 0], step, 0.0)[..., None])[..., 0]
        for i in np.flatnonzero(found):
            gait = self._known[int(searches[i])] = _Known(x[i], root.x[i], rate[i])
            self._latest[int(searches[i]), x[i].tobytes()] = gait
        self._check_section(searches, x, root, turn)
        early = np.where(linear.status == Outcome.COMPLETED, Outcome.NOT_CONVERGED, linear.status)
        return Evaluated(
            values * blank[..., 0],
            (slopes[:, m:, :n] + by_point @ rate) * blank,
            np.where(found[:, 0, 0], int(Outcome.COMPLETED), early).astype(np.int32),
            np.abs(np.linalg.eigvals(turn)).max(axis=1) * blank[:, 0, 0],
        )

    def _check_section(self, searches: np.ndarray, x: np.ndarray, root: Root, turn: np.ndarray) -> None:
        """Checks once, at the first gait that is found, whether the coordinates of its section suffice."""
        return_map, found = self._stride.return_map, np.flatnonzero(root.status == CONVERGED)
        if return_map is None or self._checked or not found.size:
            return
        self._checked, i = True, found[0]
        values = self._space.columns(x[[i]]) | self._extra(searches[[i]])
        with precision.use("float64"):
            model = member_of(self._model, {name: jnp.asarray(column[0]) for name, column in values.items()})[0]
            gait = FixedPoint.of(Root(*(np.asarray(field)[i] for field in root)))._replace(jacobian=turn[i])
            warn_of_section(return_map, model, gait, order=1)

    def _guesses(self, searches: np.ndarray, x: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The last gait of each search moved along its tangent; else the given one, or the point after some strides."""
        guess = np.zeros((len(x), self._size))
        for lane in np.flatnonzero(known):
            guess[lane] = self._known[int(searches[lane])].moved_to(x[lane])
        if not known.all():
            new = searches[~known]
            given = None if self._first is None else self._first[new % len(self._first)]
            guess[~known] = self._settled(new, x[~known]) if given is None else given
        return guess

    def _settled(self, searches: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The point of each member after some strides (the last one that completed)."""
        extra = self._extra(searches)
        z = self._starts(x, extra)
        for _ in range(FIRST_STRIDES):
            after = self.strides(x, z, extra, slopes=False).next
            z = np.where(np.isfinite(after).all(axis=1, keepdims=True), after, z)
        return z

    def _starts(self, x: np.ndarray, extra: Mapping[str, np.ndarray]) -> np.ndarray:
        """The points where runs from the models' own initial states begin."""
        with precision.use("float64"):
            values = jax.tree.map(jnp.asarray, {**extra, **self._space.columns(x)})
            return np.asarray(_first_points(self._stride.return_map, precision.cast(self._model), values))


def _rates(linear: Linear, n: int, found: np.ndarray) -> np.ndarray:
    """Derivatives of gaits by the unit box, (b, m, n), from their strides; zeros where none was `found`."""
    m = linear.next.shape[1]
    slopes = np.where(found[:, None, None], linear.slopes, 0.0)
    return np.linalg.solve(np.eye(m) - slopes[:, :m, n:], slopes[:, :m, :n])


def _replace(arrays: Any, lanes: np.ndarray, by: Any) -> None:
    """Replaces some lanes of all arrays of a tree by those of another one."""
    jax.tree.map(lambda whole, part: whole.__setitem__(lanes, part), arrays, by)


def noise(scheme: Any) -> float:
    """Residual at which a gait counts as found, in the units of its point: what a scheme's tolerances resolve."""
    rtol = getattr(scheme, "rtol", None)
    return TOLERANCE["float64"] if rtol is None else NOISE_FACTOR * rtol


def point_size(model: Model, return_map: SectionMap | None) -> int:
    """Number of components of a point: of the state, or of the section of a return map."""
    if return_map is None:
        return sum(x.size for x in jax.tree.leaves(jax.eval_shape(model.initial_state)))
    with precision.use("float64"):
        return jax.eval_shape(return_map.first_point, precision.cast(model)).size


@kept
def _first_points(return_map: SectionMap | None, model: Model, values: dict[str, Array]) -> Float[Array, "b m"]:
    def first(own: dict[str, Array]) -> Float[Array, " m"]:
        changed, y0 = member_of(model, own)
        return ravel_pytree(y0)[0] if return_map is None else return_map.first_point(changed)

    return jax.vmap(first)(values)
