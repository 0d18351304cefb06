"""Integration by a model's own time step, for laws that are not an ordinary differential equation.

The order of accuracy is that of the model's step. Derivatives are those of the discrete steps.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
from jaxtyping import Array

from jaxgait import checks
from jaxgait.kinds import CountedSteps, MarchingModel
from jaxgait.mechanics import Scalar
from jaxgait.model import State
from jaxgait.precision import Precision, float64_default
from jaxgait.run import Sampling, Trajectory
from jaxgait.scheme import Scheme
from jaxgait.solve.solvers import given_options
from jaxgait.solve.steps import DT, Motion, division, start_state, time_after

__all__ = ["Marching"]


@float64_default
@dataclass(frozen=True)
class FixedSteps(Scheme):
    """What the schemes with steps of fixed length share; see `Marching` and `jaxgait.solve.time_stepping`."""

    dt: float = DT
    """Longest step in s; all steps are equally long, with a whole number of them between two samples."""

    def __post_init__(self) -> None:
        """Rejects an impossible step.

        Raises:
            ValueError: saying what would be valid.
        """
        checks.positive("dt", self.dt, "seconds")

    @classmethod
    def of(
        cls, model: Any, *, differentiated: bool = False, precision: Precision | None = None, **options: Any
    ) -> FixedSteps:
        """See `Scheme.of`; the default step is the model's (`Numerics.dt`), if it has one."""
        del differentiated, precision
        return cls(**{"dt": model.numerics.dt or DT, **given_options(options)})

    def complete_sampling(self, model: Any, sampling: Sampling) -> Sampling:
        """See `Scheme.complete_sampling`; adds the number of steps between samples."""
        return dataclasses.replace(sampling, steps=self._division(model, sampling))

    def _division(self, model: Any, sampling: Sampling) -> tuple[int, int]:
        """Blocks between two samples, and steps per block; here one block."""
        del model
        return division(sampling, self.dt)


@float64_default
@dataclass(frozen=True)
class Marching(FixedSteps):
    """Integrates a model by its own steps of fixed length.

    Examples:
        >>> from jaxgait import Jumper
        >>> from jaxgait.solve.marching import Marching
        >>> Marching.of(Jumper())  # s: this model's own step
        Marching(dt=1e-05)
    """

    kind: ClassVar[type] = MarchingModel
    needs: ClassVar[str] = "steps of its own, advance(t, y, dt)"

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
        ts, system = sampling.times(model), model.prepared()
        blocks, steps = sampling.steps or self._division(model, sampling)
        length = (ts[-1] - ts[0]) / float(sampling.intervals * blocks * steps)
        stepper = _Stepper(system, length, ts[0], watch, isinstance(model, CountedSteps))

        def sample(motion: Motion, _: None) -> tuple[Motion, tuple[State, dict[str, Array]]]:
            motion, _ = jax.lax.scan(lambda m, _: (stepper.step(m), None), motion, length=blocks * steps)
            return motion, (motion.y, motion.totals)

        first = stepper.start(start_state(system, y0))
        last, rest = jax.lax.scan(sample, first, length=sampling.intervals)
        return last.trajectory(ts, length, first, rest)


class _Stepper(NamedTuple):
    model: Any
    dt: Scalar
    t0: Scalar
    watch: tuple[str, ...]
    counted: bool

    def start(self, y: State) -> Motion:
        added = jax.eval_shape(lambda: self._amounts(self.t0, y))
        return Motion.at_start(self.model, self.t0, y, added, self.watch)

    def step(self, motion: Motion) -> Motion:
        """Advances by one step; after an early end nothing changes."""
        before, after = (time_after(self.t0, self.dt, motion.steps + i) for i in (0, 1))
        y, amounts = self.model.advance(before, motion.y, self.dt), self._amounts(before, motion.y)
        return motion.moved(self.model, after, y, amounts, self.watch)[0]

    def _amounts(self, t: Scalar, y: State) -> dict[str, Array]:
        return self.model.step_amounts(t, y, self.dt) if self.counted else {}
