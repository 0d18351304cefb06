"""Joint timing of the jumper for height, under limits on peak force and angular momentum, by exact gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.measures import fly
from jaxgait.models.jumper.swing import Swing
from jaxgait.optimization.constrained import Found, constrained_search
from jaxgait.parameters import get_parameter, with_parameters
from jaxgait.solve.smooth import Smooth

__all__ = ["TIMING", "Figures", "Timing", "highest_jump"]

TIMING = {
    "ankle.delay": (0.0, 0.2),
    "knee.delay": (0.0, 0.2),
    "hip.delay": (0.0, 0.2),
    "shoulder.delay": (0.0, 0.2),
    "ankle.duration": (0.15, 0.5),
    "knee.duration": (0.2, 0.5),
    "hip.duration": (0.2, 0.5),
    "shoulder.duration": (0.2, 0.5),
}
"""Parameters and their bounds in s; the elbow swings with the shoulder."""


class Figures(NamedTuple):
    """What the search looks at."""

    height: float
    """Jump height in m."""
    peak_force: float
    """In body weights."""
    angular_momentum: float
    """At take-off in kg m^2/s."""


class Timing(NamedTuple):
    """What the search found."""

    jumper: Jumper
    """The highest jump that was visited and keeps the limits."""
    values: dict[str, float]
    """Its timing in s."""
    before: Figures
    after: Figures
    search: Found
    """Its objective is minus the height in m; its slacks are what is left of peak force and angular momentum (forward,
    backward), relative to their limits (no dimension)."""


def highest_jump(jumper: Jumper, over: Mapping[str, tuple[float, float]] = TIMING, *, steps: int = 25) -> Timing:
    """Maximises the jump height; peak force and angular momentum stay below those of the jumper it starts from.

    Args:
        jumper: the start of the search.
        over: parameters of the timing and their bounds in s; elbow and shoulder swing together.
        steps: of the search, at most.
    """
    names = list(over)
    with precision.use("float64"):
        model = precision.cast(jumper)
        start = np.array([float(get_parameter(model, name)) for name in names])
        ts, settings = jnp.linspace(0.0, 0.6, 601), Smooth.of(model, rtol=1e-7, atol=1e-8, solver=diffrax.Tsit5())

        def jump(x: jax.Array) -> jax.Array:
            found = fly(_timed(model, names, x), ts, settings)
            return jnp.stack([found.height, found.peak_force, found.angular_momentum])

        before = Figures(*map(float, jax.jit(jump)(jnp.asarray(start))))
        limits = np.array([before.peak_force, *[abs(before.angular_momentum)] * 2])

        def values(x: jax.Array) -> jax.Array:
            height, peak, spin = jump(x)
            return jnp.concatenate([-height[None], 1.0 - jnp.stack([peak, spin, -spin]) / limits])

        found = constrained_search(values, start, list(over.values()), steps=steps, tolerance=1e-5)
        best = found.best() or found.visited[0]  # the search may end a little outside its limits
        higher = _timed(model, names, jnp.asarray(best.x))
    peak, forward, backward = limits * best.slack
    after = Figures(-best.objective, before.peak_force - peak, 0.5 * (backward - forward))
    return Timing(higher, dict(zip(names, best.x.tolist(), strict=True)), before, after, found)


def _timed(model: Jumper, names: list[str], x: jax.Array) -> Jumper:
    """The jumper with another timing in s."""
    changed = with_parameters(model, dict(zip(names, x, strict=True)))
    swing = changed.shoulder
    return eqx.tree_at(lambda m: m.elbow, changed, Swing(model.elbow.angle, swing.delay, swing.duration))
