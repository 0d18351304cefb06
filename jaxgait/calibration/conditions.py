"""Runs of one point of the unit box under several conditions: those of the trials of a fit, as one ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxgait.ensembles.members import Members
from jaxgait.optimization.evaluate import Boxed, Combined, Evaluated, Runs, Transient
from jaxgait.optimization.gradients import evaluator_for
from jaxgait.optimization.recheck import Finer
from jaxgait.optimization.space import Space


@dataclass(frozen=True, eq=False)
class Given:
    """Known values that differ between conditions (see `jaxgait.optimization.gradients.Several`)."""

    members: Members
    """The values by name, in their units."""
    names: list[str]
    """The trials under each condition."""

    def missing(self, values: Float[np.ndarray, "*b values"]) -> Bool[np.ndarray, "*b conditions"]:
        """The conditions without a result, from the values of `combined` (units of measures)."""
        lost = np.isnan(values).reshape(*values.shape[:-1], self.members.size, -1)
        return np.asarray(lost.any(axis=-1))

    def combined(self, runs: Runs) -> Conditions:
        """Runs under all conditions together."""
        return Conditions(runs, self.members.size, self.members.values)


class Conditions(Combined):
    """Runs of a fit's trials under their conditions."""

    finer: Finer | None = None
    """The same gaits with the model's own tolerances, if those of the fit are coarser."""

    def __init__(self, runs: Runs, size: int = 1, values: Mapping[str, np.ndarray] | None = None):
        """`values` are those of the conditions by name, (size, ...), in their units."""
        super().__init__(runs, size)
        self._values = dict(values or {})

    def within(self, space: Space) -> Conditions:
        """The same runs at points of another box of the same parameters."""
        assert isinstance(self.runs, Boxed)
        return Conditions(self.runs.within(space), self.size, self._values)

    def with_own_tolerances(self, x: Float[np.ndarray, " n"]) -> Conditions:
        """The runs at a point of the unit box (no dimension), by the `finer` task if there is one, without memory."""
        if self.finer is None:
            return self
        found = evaluator_for(self.finer.task, "gait", x[None])
        return found if isinstance(found, Conditions) else Conditions(found)

    def __call__(self, searches: Int[np.ndarray, " b"], x: Float[np.ndarray, "b n"]) -> Evaluated:
        """The results of all conditions side by side, with the status of the first that failed; see `Evaluator`."""
        found = self.each(searches, x)
        return self.whole(found.values.reshape(len(x), -1), found.slopes.reshape(len(x), -1, x.shape[1]), found)

    def traced(
        self, x: Float[Array, " n"]
    ) -> tuple[Float[Array, "conditions values"], Float[Array, "conditions values n"]]:
        """Values at one point of the unit box, in the units of measures, and their derivatives by it; JAX code.

        Raises:
            TypeError: for an evaluator of anything but whole runs.
        """
        if not isinstance(self.runs, Transient):
            raise TypeError(f"only whole runs can be traced, got runs {self.name}")
        transient = self.runs
        if not self._values:
            values, slopes = transient.traced(x)
            return values[None], slopes[None]
        return jax.vmap(lambda extra: transient.traced(x, extra))(
            {name: jnp.asarray(value) for name, value in self._values.items()}
        )
