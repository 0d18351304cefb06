"""Steps of fixed length: how a run is divided into them, what is carried from one to the next, and the run itself."""

from __future__ import annotations

import abc
import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxgait.mechanics import Scalar
from jaxgait.model import State
from jaxgait.outcome import Outcome
from jaxgait.precision import Precision, float64_default
from jaxgait.run import WHOLE_WITHIN, Events, Extremes, Sampling, Trajectory
from jaxgait.scheme import Scheme
from jaxgait.solve.solvers import given_options, numerics_of
from jaxgait.solve.steps import ending, select, start_state, watched, widened
from jaxgait.support import checks

DEFAULT_DT = 1e-4
"""Default of the longest step in s, for models without `Numerics.dt`."""


class Grid(NamedTuple):
    """Steps of equal length, in blocks."""

    t0: Scalar
    """Start in s."""
    dt: Scalar
    """Length of a step in s."""
    steps: int
    """Steps per block."""

    def time(self, index: Array) -> Array:
        """Time in s (a scalar) after a number of steps; a product, so that rounding does not accumulate."""
        return self.t0 + jnp.asarray(index, dtype=float) * self.dt


def division(sampling: Sampling, dt: float, longest: int | None = None) -> tuple[int, int]:
    """Blocks between two samples, and steps per block: as few steps as keep within `dt`, divided into equal blocks.

    Args:
        sampling: when the run is sampled; its interval must be known.
        dt: longest step in s.
        longest: largest number of steps per block; None: one block.

    Raises:
        ValueError: for a sampling whose interval is not known.
    """
    if sampling.interval is None:
        raise ValueError("the time between samples is not known: make the sampling with Sampling.of")
    steps = max(1, math.ceil(sampling.interval / dt - WHOLE_WITHIN))
    length = next(n for n in range(min(longest or steps, steps), 0, -1) if steps % n == 0)
    return steps // length, length


class Progress(NamedTuple):
    """What every run carries from step to step."""

    y: State
    """The present state; after an early end, the state at that end."""
    steps: Int[Array, ""]
    """Number of steps so far, or until the early end."""
    status: Int[Array, ""]
    totals: dict[str, Array]
    """Sums over the steps, each in its own unit."""
    extremes: dict[str, Extremes]

    @classmethod
    def at_start(cls, model: Any, t: Scalar, y: State, amounts: dict[str, Any], watch: tuple[str, ...]) -> Progress:
        """The motion before the first step, at time `t` in s; `amounts` are the shapes of what each step adds.

        The motion may already be over, as in all schemes.
        """
        totals = {n: jnp.zeros(x.shape, x.dtype) for n, x in amounts.items()}
        seen = {n: Extremes(x, x) for n, x in watched(model, t, y, watch).items()}
        return cls(y, jnp.int32(0), ending(model, t, y), totals, seen)

    def moved(
        self, model: Any, t: Scalar, y: State, amounts: dict[str, Array], watch: tuple[str, ...]
    ) -> tuple[Progress, dict[str, Array], Bool[Array, ""]]:
        """The motion after a step to state `y` at time `t` in s; after an early end nothing changes.

        Returns:
            The motion; what the step adds to the totals, in their units, zeros unless it counts; and whether it counts.
        """
        running = self.status == Outcome.COMPLETED
        code = ending(model, t, y)
        counts = running & (code != Outcome.NONFINITE)
        amounts = {n: jnp.where(counts, x, jnp.zeros_like(x)) for n, x in amounts.items()}
        after = Progress(
            select(running, y, self.y),
            self.steps + running.astype(jnp.int32),
            jnp.where(running, code, self.status),
            {n: self.totals[n] + x for n, x in amounts.items()},
            widened(self.extremes, watched(model, t, y, watch), counts),
        )
        return after, amounts, counts

    def trajectory(
        self, ts: Float[Array, " times"], grid: Grid, steps: int, first: Progress, rest: Any, events: Events | None
    ) -> Trajectory:
        """The trajectory that ends in this motion.

        Args:
            ts: sampling times in s.
            grid: the steps.
            steps: their number from one sample to the next.
            first: the motion at the first sample.
            rest: states and totals at all others, along one axis.
            events: what happened.
        """
        sample, beyond = jnp.divmod(self.steps, steps)
        t_end = jnp.where(beyond == 0, ts[sample], grid.time(self.steps))  # which differ by rounding
        ys, totals = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), (first.y, first.totals), rest)
        rejected = jnp.zeros_like(self.steps)
        found = Trajectory(ts, ys, self.status, t_end, self.y, self.steps, rejected, self.extremes, events, totals)
        return found.until_end()


@runtime_checkable
class Stepper(Protocol):
    """The steps of one run; `notes` is the stepper's own carried state."""

    @property
    def model(self) -> Any:
        """The mechanism, prepared."""
        ...

    def start(self, y: State) -> tuple[Progress, Any]:
        """Progress and notes before the first step, from a state in its own units."""
        ...

    def block(self, motion: Progress, notes: Any) -> tuple[Progress, Any]:
        """Progress and notes one block of steps later; after an early end nothing changes."""
        ...

    def events(self, notes: Any) -> Events | None:
        """The events of the whole run; None if it does not observe any."""
        ...


@float64_default
@dataclass(frozen=True)
class FixedSteps(Scheme):
    """A scheme with steps of fixed length; it defines one run's `_stepper`."""

    dt: float = DEFAULT_DT
    """Longest step in s; all steps are equally long, with a whole number of them between two samples."""

    def __post_init__(self) -> None:
        """Rejects an impossible step.

        Raises:
            ValueError: saying what would be valid.
        """
        super().__post_init__()
        checks.positive("dt", self.dt, "seconds")

    @classmethod
    def of(
        cls, model: Any, *, differentiated: bool = False, precision: Precision | None = None, **options: Any
    ) -> FixedSteps:
        """See `Scheme.of`; the default step is the model's (`Numerics.dt`), if it has one."""
        del differentiated, precision
        return cls(**{"dt": numerics_of(model).dt or DEFAULT_DT, **given_options(options)})

    def complete_sampling(self, model: Any, sampling: Sampling) -> Sampling:
        """See `Scheme.complete_sampling`; adds the number of steps between samples."""
        return dataclasses.replace(sampling, steps=self._division(model, sampling))

    def run(
        self,
        model: Any,
        sampling: Sampling,
        y0: State | None = None,
        *,
        watch: tuple[str, ...] = (),
        progress: bool = False,
    ) -> Trajectory:
        """See `Scheme.run`."""
        del progress
        ts = sampling.times(model)
        blocks, steps = sampling.steps or self._division(model, sampling)
        grid = Grid(ts[0], (ts[-1] - ts[0]) / float(sampling.intervals * blocks * steps), steps)
        stepper = self._stepper(model, grid, watch)

        def sample(now: tuple[Progress, Any], _: None) -> tuple[tuple[Progress, Any], tuple[State, dict[str, Array]]]:
            now, _ = jax.lax.scan(lambda now, _: (stepper.block(*now), None), now, length=blocks)
            return now, (now[0].y, now[0].totals)

        first = stepper.start(start_state(stepper.model, y0))
        (motion, notes), rest = jax.lax.scan(sample, first, length=sampling.intervals)
        return motion.trajectory(ts, grid, blocks * steps, first[0], rest, stepper.events(notes))

    def _division(self, model: Any, sampling: Sampling) -> tuple[int, int]:
        """Blocks between two samples, and steps per block; here one block."""
        del model
        return division(sampling, self.dt)

    @abc.abstractmethod
    def _stepper(self, model: Any, grid: Grid, watch: tuple[str, ...]) -> Stepper:
        """The stepper of one run of a model, which records the extremes of watched outputs."""
