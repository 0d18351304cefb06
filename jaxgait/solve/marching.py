"""Integration by a model's own time step, for laws that are not an ordinary differential equation.

The order of accuracy is that of the model's step. Derivatives are those of the discrete steps.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from jaxgait import checks
from jaxgait.kinds import CountedSteps, MarchingModel
from jaxgait.mechanics.scalars import Scalar
from jaxgait.model import State
from jaxgait.outcome import Outcome
from jaxgait.precision import Precision, float64_default
from jaxgait.run import Extremes, Sampling, Trajectory, blank
from jaxgait.scheme import Scheme
from jaxgait.solve.solvers import given_options
from jaxgait.solve.steps import DT, division, ending, joined, time_after, watched, widened

__all__ = ["Marching"]


@float64_default
@dataclass(frozen=True)
class Marching(Scheme):
    """Integrates a model by its own steps of fixed length.

    Examples:
        >>> from jaxgait import Jumper
        >>> from jaxgait.solve.marching import Marching
        >>> Marching.of(Jumper()).describe()  # s: this model's own step
        {'scheme': 'Marching', 'dt': 1e-05}
    """

    dt: float = DT
    """Longest step in s; all steps are equally long, with a whole number of them between two samples."""

    kind: ClassVar[type] = MarchingModel
    needs: ClassVar[str] = "steps of its own, advance(t, y, dt)"

    def __post_init__(self) -> None:
        """Rejects an impossible step.

        Raises:
            ValueError: saying what would be valid.
        """
        checks.positive("dt", self.dt, "seconds")

    @classmethod
    def of(
        cls, model: Any, *, differentiated: bool = False, precision: Precision | None = None, **options: Any
    ) -> Marching:
        """See `Scheme.of`; the default step is the model's (`Numerics.dt`), if it has one."""
        del differentiated, precision
        return cls(**{"dt": model.numerics.dt or DT, **given_options(options)})

    def complete_sampling(self, model: Any, sampling: Sampling) -> Sampling:
        """See `Scheme.complete_sampling`; adds the number of steps between samples."""
        del model
        return dataclasses.replace(sampling, steps=division(sampling, self.dt))

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
        blocks, steps = sampling.steps or division(sampling, self.dt)
        length = (ts[-1] - ts[0]) / float(sampling.intervals * blocks * steps)
        stepper = _Stepper(system, length, ts[0], watch, isinstance(model, CountedSteps))
        y = jax.tree.map(lambda z: jnp.asarray(z, dtype=float), system.initial_state() if y0 is None else y0)

        def sample(state: _State, _: None) -> tuple[_State, tuple[State, dict[str, Array]]]:
            state, _ = jax.lax.scan(lambda s, _: (stepper.step(s), None), state, length=blocks * steps)
            return state, (state.y, state.totals)

        first = stepper.start(y)
        last, rest = jax.lax.scan(sample, first, length=sampling.intervals)
        t_end = jnp.where(last.status == Outcome.COMPLETED, ts[-1], time_after(ts[0], length, last.steps))
        samples = joined((first.y, first.totals), rest)
        ys, totals = jax.tree.map(lambda x: blank(x, ts <= t_end), samples)
        rejected = jnp.zeros_like(last.steps)
        return Trajectory(ts, ys, last.status, t_end, last.y, last.steps, rejected, last.extremes, None, totals)


class _State(NamedTuple):
    """State of the march, carried from step to step."""

    y: State
    """The present state; after an early end, the state at that end."""
    steps: Int[Array, ""]
    """Number of steps so far, or until the early end."""
    status: Int[Array, ""]
    totals: dict[str, Array]
    extremes: dict[str, Extremes]


class _Stepper(NamedTuple):
    model: Any
    dt: Scalar
    t0: Scalar
    watch: tuple[str, ...]
    counted: bool

    def start(self, y: State) -> _State:
        zero, added = jnp.int32(0), jax.eval_shape(lambda: self._amounts(self.t0, y))
        totals = {n: jnp.zeros(x.shape, x.dtype) for n, x in added.items()}
        seen = {n: Extremes(x, x) for n, x in watched(self.model, self.t0, y, self.watch).items()}
        return _State(y, zero, jnp.int32(Outcome.COMPLETED), totals, seen)

    def step(self, state: _State) -> _State:
        """Advances by one step; after an early end nothing changes."""
        before, after = (time_after(self.t0, self.dt, state.steps + i) for i in (0, 1))
        running = state.status == Outcome.COMPLETED
        y, amounts = self.model.advance(before, state.y, self.dt), self._amounts(before, state.y)
        code = ending(self.model, after, y)
        counts = running & (code != Outcome.NONFINITE)
        return _State(
            jax.tree.map(lambda old, x: jnp.where(running, x, old), state.y, y),
            state.steps + running.astype(jnp.int32),
            jnp.where(running, code, state.status),
            {n: total + jnp.where(counts, amounts[n], 0.0) for n, total in state.totals.items()},
            widened(state.extremes, watched(self.model, after, y, self.watch), counts),
        )

    def _amounts(self, t: Scalar, y: State) -> dict[str, Array]:
        return self.model.step_amounts(t, y, self.dt) if self.counted else {}
