"""Integration by a model's own time step, for laws that are not an ordinary differential equation.

The order of accuracy is that of the model's step. Derivatives are those of the discrete steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
from jaxtyping import Array

from jaxgait.kinds import CountedSteps, MarchingModel
from jaxgait.mechanics import Scalar
from jaxgait.model import State
from jaxgait.precision import float64_default
from jaxgait.solve.fixed import FixedSteps, Grid, Progress

__all__ = ["Marching"]


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

    def _stepper(self, model: Any, grid: Grid, watch: tuple[str, ...]) -> _Stepper:
        return _Stepper(model.prepared(), grid, watch, isinstance(model, CountedSteps))


class _Stepper(NamedTuple):
    model: Any
    grid: Grid
    watch: tuple[str, ...]
    counted: bool

    def start(self, y: State) -> tuple[Progress, None]:
        added = jax.eval_shape(lambda: self._amounts(self.grid.t0, y))
        return Progress.at_start(self.model, self.grid.t0, y, added, self.watch), None

    def block(self, motion: Progress, notes: None) -> tuple[Progress, None]:
        return jax.lax.scan(lambda m, _: (self._step(m), None), motion, length=self.grid.steps)[0], notes

    def events(self, notes: None) -> None:
        return notes

    def _step(self, motion: Progress) -> Progress:
        before, after = self.grid.time(motion.steps), self.grid.time(motion.steps + 1)
        y, amounts = self.model.advance(before, motion.y, self.grid.dt), self._amounts(before, motion.y)
        return motion.moved(self.model, after, y, amounts, self.watch)[0]

    def _amounts(self, t: Scalar, y: State) -> dict[str, Array]:
        return self.model.step_amounts(t, y, self.grid.dt) if self.counted else {}
