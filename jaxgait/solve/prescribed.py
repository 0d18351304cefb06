"""Prescribed motion: the model defines its state at every time, and nothing is integrated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxgait.kinds import PrescribedModel
from jaxgait.model import State
from jaxgait.outcome import Outcome
from jaxgait.precision import Precision, float64_default
from jaxgait.run import Sampling, Trajectory
from jaxgait.scheme import Scheme
from jaxgait.solve.solvers import given_options
from jaxgait.solve.steps import ending, extremes, watched


@float64_default
@dataclass(frozen=True)
class Prescribed(Scheme):
    """Evaluates the prescribed motion of a model at the samples; derivatives are exact.

    Examples:
        >>> from jaxgait import CreeperChain
        >>> from jaxgait.solve.prescribed import Prescribed
        >>> Prescribed.of(CreeperChain())  # nothing is integrated, so there are no options
        Prescribed()
    """

    kind: ClassVar[type] = PrescribedModel
    needs: ClassVar[str] = "its state at any time, state_at(t)"
    free_start: ClassVar[bool] = False

    @classmethod
    def of(
        cls, model: Any, *, differentiated: bool = False, precision: Precision | None = None, **options: Any
    ) -> Prescribed:
        """See `Scheme.of`; there are no options."""
        del model, differentiated, precision
        return cls(**given_options(options))

    def run(
        self,
        model: Any,
        sampling: Sampling,
        y0: State | None = None,
        *,
        watch: tuple[str, ...] = (),
        progress: bool = False,
    ) -> Trajectory:
        """See `Scheme.run`; the start is that of the motion."""
        del y0, progress
        ts, system = sampling.times(model), model.prepared()
        ys = jax.vmap(lambda t: jax.tree.map(lambda x: jnp.asarray(x, dtype=float), system.state_at(t)))(ts)
        codes = jax.vmap(lambda t, y: ending(system, t, y))(ts, ys)
        ended = codes != Outcome.COMPLETED
        last = jnp.where(jnp.any(ended), jnp.argmax(ended), ts.shape[0] - 1)
        kept = jnp.arange(ts.shape[0]) <= last
        steps = last.astype(jnp.int32)
        values = jax.vmap(lambda t, y: watched(system, t, y, watch))(ts, ys)
        return Trajectory(
            ts,
            ys,
            codes[last].astype(jnp.int32),
            ts[last],
            jax.tree.map(lambda x: x[last], ys),
            steps,
            jnp.zeros_like(steps),
            extremes(values, kept),
        ).until_end()
