"""What is asked of a bungee jump: how low, how close to the ground, and which rope or jumper makes it just safe."""

from __future__ import annotations

from typing import NamedTuple

import diffrax
import jax.numpy as jnp
import optimistix
from jaxtyping import Array, Float

from jaxgait import precision
from jaxgait.analysis import extremes
from jaxgait.measure import Measure, table
from jaxgait.models.bungee import Bungee
from jaxgait.models.parameters import get_parameter, with_parameters
from jaxgait.precision import float64_default
from jaxgait.run import Run

__all__ = ["MEASURES", "LowestPoint", "clearance", "critical_value", "lowest_point"]

_LATEST = 1e3  # s: by then any jumper has turned; a rope softer than that is no rope


class LowestPoint(NamedTuple):
    """Time in s and position in m (below the taut point) of the first turning point."""

    time: Float[Array, ""]
    x: Float[Array, ""]


@float64_default
def lowest_point(bungee: Bungee) -> LowestPoint:
    """Solves the fall up to its first turning point; differentiable (forward mode) and batchable by `jax.vmap`.

    Returns:
        Time and place of the lowest point; NaN where the jumper has not turned after 1000 s.
    """
    bungee = precision.cast(bungee)
    floor = 100 * float(jnp.finfo(jnp.result_type(float)).eps)  # what the precision in force can resolve
    rtol, atol = (max(tolerance, floor) for tolerance in (bungee.numerics.rtol, bungee.numerics.atol))
    event = diffrax.Event(lambda t, y, args, **_: y.v, optimistix.Newton(rtol, atol), direction=False)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(bungee),
        diffrax.Dopri8(),
        0.0,
        _LATEST,
        bungee.numerics.first_step,
        bungee.initial_state(),
        stepsize_controller=diffrax.PIDController(rtol, atol),
        event=event,
        adjoint=diffrax.ForwardMode(),
        throw=False,
    )
    assert solution.ts is not None and solution.ys is not None
    turned = solution.result == diffrax.RESULTS.event_occurred
    return LowestPoint(*(jnp.where(turned, z[-1], jnp.nan) for z in (solution.ts, solution.ys.x)))


def _clearance(run: Run) -> Float[Array, ""]:
    return jnp.minimum(extremes.minimum(run["height"]), run.extremes("height").least)


def _peak_force(run: Run) -> Float[Array, ""]:
    return jnp.maximum(extremes.maximum(run["rope_force"]), run.extremes("rope_force").largest)


MEASURES = table(
    Measure("clearance", _clearance, "m", "smallest height above the ground (negative: he hits it)", watch=("height",)),
    Measure("peak_rope_force", _peak_force, "N", "largest pull of the rope", watch=("rope_force",)),
)
"""What is read off a jump, by name."""


@float64_default
def clearance(bungee: Bungee) -> Float[Array, ""]:
    """Height in m of the lowest point above the ground: the jump is safe where it is positive."""
    return bungee.ground - lowest_point(bungee).x


@float64_default
def critical_value(bungee: Bungee, name: str) -> float:
    """Value of one parameter at which the clearance is exactly zero, by Newton's method through the solve (float64).

    Args:
        bungee: where the search starts.
        name: the parameter, e.g. "stiffness" or "mass".
    """

    def residual(value: Float[Array, ""], _: None) -> Float[Array, ""]:
        return clearance(with_parameters(bungee, {name: value}))

    with precision.use("float64"):
        start = jnp.asarray(get_parameter(bungee, name), dtype=float)
        newton = optimistix.Newton(rtol=1e-10, atol=1e-9)
        found = optimistix.root_find(residual, newton, start, options={"autodiff_mode": "fwd"}, max_steps=32)
        return float(found.value)
