"""Extremes of outputs over the solver's own steps, found while it steps: no peak falls between two samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxgait.run import Extremes, state_variables

__all__ = ["Watching"]


class _State(NamedTuple):
    inner: Any
    extremes: dict[str, Extremes]


class Watching(diffrax.AbstractAdaptiveStepSizeController):
    """A step-size controller that leaves all decisions to another one and remembers extremes of outputs.

    A controller is what diffrax shows every step and whether it is accepted; its state comes back with
    `SaveAt(controller_state=True)`. The solve's `args` must be the model.
    """

    controller: diffrax.AbstractAdaptiveStepSizeController
    names: tuple[str, ...] = eqx.field(static=True)
    """Outputs or components of the state."""

    @property
    def rtol(self) -> Any:
        """Of the other controller."""
        return self.controller.rtol

    @property
    def atol(self) -> Any:
        """Of the other controller."""
        return self.controller.atol

    @property
    def norm(self) -> Any:
        """Of the other controller."""
        return self.controller.norm

    @classmethod
    def of(cls, controller: Any, names: tuple[str, ...]) -> Watching:
        """Watches outputs or components of the state while `controller` decides."""
        return cls(controller=controller, names=names)  # type: ignore[call-arg]

    def wrap(self, direction: Any) -> Watching:
        """The same for one direction of time."""
        return Watching.of(self.controller.wrap(direction), self.names)

    def init(
        self, terms: Any, t0: Any, t1: Any, y0: Any, dt0: Any, args: Any, func: Any, error_order: Any
    ) -> tuple[Any, _State]:
        """End of the first step, and the values at the start."""
        end, inner = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        return end, _State(inner, {n: Extremes(x, x) for n, x in self._values(t0, y0, args).items()})

    def adapt_step_size(
        self, t0: Any, t1: Any, y0: Any, y1_candidate: Any, args: Any, y_error: Any, error_order: Any, state: _State
    ) -> tuple[Any, Any, Any, Any, _State, Any]:
        """What the other controller decides; accepted steps are looked at."""
        keep, *decided, inner, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, state.inner
        )
        values = self._values(t1, y1_candidate, args)
        seen = {
            n: Extremes(jnp.minimum(e.least, values[n]), jnp.maximum(e.largest, values[n])) for n, e in state[1].items()
        }
        extremes = jax.tree.map(lambda new, old: jnp.where(keep, new, old), seen, state.extremes)
        return keep, *decided, _State(inner, extremes), result  # type: ignore[return-value]

    def _values(self, t: Any, y: Any, model: Any) -> dict[str, Array]:
        components = state_variables(y)
        outputs = {} if all(n in components for n in self.names) else model.outputs(t, y)
        return {n: jnp.asarray({**outputs, **components}[n]) for n in self.names}
