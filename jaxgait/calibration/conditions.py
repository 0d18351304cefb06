"""Runs of one point of the unit box under several conditions: those of the trials of a fit, as one ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxgait.ensembles.members import Members
from jaxgait.optimization.evaluate import Boxed, Evaluated, Evaluator, Extra, Runs, Transient
from jaxgait.optimization.space import Space


@dataclass(frozen=True, eq=False)
class Given:
    """Known values that differ between conditions (see `jaxgait.optimization.gradients.Several`)."""

    members: Members
    """The values by name, in their units."""
    names: list[str]
    """The trials under each condition."""

    @property
    def extra(self) -> Extra:
        """The values of the conditions, in their units."""
        return Extra(self.members.values, self.members.size)

    def missing(self, values: Float[np.ndarray, "*b values"]) -> Bool[np.ndarray, "*b conditions"]:
        """The conditions without a result, from the values of `combined` (units of measures)."""
        lost = np.isnan(values).reshape(*values.shape[:-1], self.members.size, -1)
        return np.asarray(lost.any(axis=-1))

    def combined(self, runs: Runs) -> Conditions:
        """All conditions together, from their single runs."""
        return Conditions(runs, self.members.size, self.members.values)


class Conditions(Runs):
    """Runs under some conditions, from those of an evaluator: of search i under condition s the number i * size + s."""

    def __init__(self, evaluate: Evaluator, size: int = 1, values: Mapping[str, np.ndarray] | None = None):
        """`values` are those of the conditions by name, (size, ...), in their units."""
        self.evaluate, self.size, self.name = evaluate, size, evaluate.name
        self._values = dict(values or {})

    def within(self, space: Space) -> Conditions:
        """The same runs at points of another box of the same parameters."""
        assert isinstance(self.evaluate, Boxed)
        return Conditions(self.evaluate.within(space), self.size, self._values)

    def each(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """Results at points of the unit box, with the leading axes (points, conditions), in the units of measures."""
        lanes = (np.asarray(searches)[:, None] * self.size + np.arange(self.size)).ravel()
        found = self.evaluate(lanes, np.repeat(x, self.size, axis=0))
        return Evaluated(*(np.reshape(f, (len(x), self.size, *np.shape(f)[1:])) for f in found))

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """The results of all conditions side by side, with the status of the first that failed; see `Evaluator`."""
        found = self.each(searches, x)
        first = np.argmax(~found.ran, axis=1)
        return Evaluated(
            found.values.reshape(len(x), -1),
            found.slopes.reshape(len(x), -1, x.shape[1]),
            found.status[np.arange(len(x)), first],
            np.fmax.reduce(found.multiplier, axis=1),
        )

    def traced(
        self, x: Float[Array, " n"]
    ) -> tuple[Float[Array, "conditions values"], Float[Array, "conditions values n"]]:
        """Values at one point of the unit box, in the units of measures, and their derivatives by it; JAX code.

        Raises:
            TypeError: for an evaluator of anything but whole runs.
        """
        if not isinstance(self.evaluate, Transient):
            raise TypeError(f"only whole runs can be traced, got runs {self.name}")
        transient = self.evaluate
        if not self._values:
            values, slopes = transient.traced(x)
            return values[None], slopes[None]
        return jax.vmap(lambda extra: transient.traced(x, extra))(
            {name: jnp.asarray(value) for name, value in self._values.items()}
        )

    def shapes(self, x: Float[np.ndarray, "b n"]) -> Mapping[str, tuple[int, ...]]:
        """Shapes of what the goal observes of one run, by name."""
        assert isinstance(self.evaluate, Runs)
        return self.evaluate.shapes(x)

    def memory(self, search: int) -> Any:
        """What is remembered of a search, condition by condition; None if nothing."""
        memories = [self.evaluate.memory(search * self.size + s) for s in range(self.size)]
        return None if all(one is None for one in memories) else memories

    def recall(self, memories: Mapping[int, Any]) -> None:
        """Restores what is remembered of searches, by their numbers."""
        single = {i * self.size + s: one for i, memory in memories.items() for s, one in enumerate(memory)}
        self.evaluate.recall({i: one for i, one in single.items() if one is not None})
