"""Measures of a bungee jump."""

from __future__ import annotations

import functools
from typing import NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix
from jaxtyping import Array, Bool, Float

from jaxgait import precision
from jaxgait.kinds import check_kind
from jaxgait.measure import Measure, table
from jaxgait.models.bungee.model import Bungee
from jaxgait.parameters import ParameterError, parameter_info, with_parameters
from jaxgait.precision import float64_default
from jaxgait.roots import only_if
from jaxgait.run import Run
from jaxgait.solve.derivatives import forward_only

SEARCH_FACTOR = 100.0
"""`critical_value` searches from the present value divided by this number to the present value times it."""
SEARCH_VALUES = 121
"""Number of values scanned in this range, 8 % apart."""
SAME_HEIGHT = 1e-3
"""Difference in m up to which two heights are the same, in float32 too."""
AT_REST = 1e-3
"""Speed in m/s below which a jumper on a strongly damped rope, who never turns, has arrived."""
MAX_STEPS = 100_000
"""Largest number of steps of the solver: a strongly damped rope takes many."""
_LATEST = 1e3  # s: on any realistic rope the jumper has turned


class LowestPoint(NamedTuple):
    """Time in s and position in m (below the taut point) of the first turning point."""

    time: Float[Array, ""]
    x: Float[Array, ""]


@float64_default
def lowest_point(bungee: Bungee) -> LowestPoint:
    """Solves the fall up to its first turning point; differentiable (forward mode) and batchable by `jax.vmap`.

    Returns:
        Its time and position; NaN where the jumper still falls after 1000 s. On a rope so strongly damped that he never
        turns, he arrives: the time is NaN, and the position that after 1000 s.

    Raises:
        TypeError: for another model.
        jaxgait.parameters.ParameterError: for several values of one parameter.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.models.bungee.measures import lowest_point
        >>> found = lowest_point(Bungee())
        >>> print(round(float(found.time), 1), round(float(found.x), 1))  # s, m
        7.1 60.5
    """
    check_kind(bungee, Bungee, "a rope, Bungee()")
    bungee = precision.cast(bungee)
    floor = 100 * float(jnp.finfo(jnp.result_type(float)).eps)  # the resolution of the default precision
    # the force has a kink where the rope becomes taut, which costs derivatives two digits
    rtol, atol = (max(tolerance / 100, floor) for tolerance in (bungee.numerics.rtol, bungee.numerics.atol))
    # the time to rounding: with a small v left, the lowest point's derivatives are off by v dt/dp
    event = diffrax.Event(lambda t, y, args, **_: y.v, optimistix.Newton(floor, floor), direction=False)
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
        max_steps=MAX_STEPS,
        throw=False,
    )
    assert solution.ts is not None and solution.ys is not None
    turned = solution.result == diffrax.RESULTS.event_occurred
    arrived = (solution.ts[-1] == _LATEST) & (jnp.abs(solution.ys.v[-1]) <= AT_REST)
    found = LowestPoint(only_if(turned, solution.ts[-1]), only_if(turned | arrived, solution.ys.x[-1]))
    return forward_only(found, or_else="")


def _clearance(run: Run) -> Float[Array, ""]:
    return only_if(_has_turned(run), _lowest(run))


def _peak_force(run: Run) -> Float[Array, ""]:
    return only_if(_has_turned(run), jnp.maximum(jnp.max(run["rope_force"]), run.extremes("rope_force").largest))


def _lowest(run: Run) -> Float[Array, ""]:
    return jnp.minimum(jnp.min(run["height"]), run.extremes("height").least)


def _has_turned(run: Run) -> Bool[Array, ""]:
    """Whether the run shows the lowest point: otherwise the jumper is at his lowest at its end, and still falls.

    Unless the rope lifts him from the start, his start is not the lowest point: he rests there, or leaps up, and falls.
    """
    heights, lowest = run["height"], _lowest(run)
    fell = (run["acceleration"][0] <= 0.0) | (lowest < heights[0] - SAME_HEIGHT)
    return fell & ((heights[-1] > lowest + SAME_HEIGHT) | (run["v"][-1] <= AT_REST))


MEASURES = table(
    Measure(
        "clearance",
        _clearance,
        "m",
        "smallest height above the ground (negative: the jumper hits it)",
        watch=("height",),
    ),
    Measure("peak_rope_force", _peak_force, "N", "largest pull of the rope", watch=("rope_force", "height")),
)
"""Measures of a jump, by name; NaN if the jumper still falls when the run ends."""


@float64_default
def clearance(bungee: Bungee) -> Float[Array, ""]:
    """Height in m of the lowest point above the ground: a jump is safe where it is positive.

    Raises:
        TypeError, jaxgait.parameters.ParameterError: as `lowest_point`.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.models.bungee.measures import clearance
        >>> round(float(clearance(Bungee())), 2)
        -10.46
    """
    x = lowest_point(bungee).x  # first, as it checks the model
    return bungee.ground - x


@float64_default
def critical_value(bungee: Bungee, name: str) -> float:
    """Value of one parameter at which the clearance is exactly zero (float64).

    The clearance is scanned from a hundredth to a hundred times the present value (`SEARCH_FACTOR`), in steps of 8 %;
    Brent's method refines each change of sign. Of several roots the nearest one (in ratio) is returned. Two roots less
    than 8 % apart may be missed.

    Args:
        bungee: the model with all other parameters and the value to start from.
        name: the parameter, e.g. "stiffness" or "mass".

    Raises:
        jaxgait.parameters.ParameterError: for an unknown name, or an impossible bungee.
        ValueError: if the clearance does not change sign: no value makes the jump just safe; and if it is unknown.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.models.bungee.measures import critical_value
        >>> round(critical_value(Bungee(), "stiffness"), 2)  # N/m
        26.31
    """
    info = parameter_info(bungee, name)
    if np.ndim(info.value) != 0:
        raise ParameterError(f"{name} must be one number to search for, it has the shape {np.shape(info.value)}")
    bungee.validate()
    with precision.use("float64"):
        bungee = precision.cast(bungee)
        start = abs(float(info.value)) or 1.0
        at = lambda value: float(_with_value(bungee, name, jnp.asarray(value)))
        values = start * np.geomspace(1.0 / SEARCH_FACTOR, SEARCH_FACTOR, SEARCH_VALUES)
        found = np.array([at(value) for value in values])
        changes = np.flatnonzero(np.signbit(found[1:]) != np.signbit(found[:-1]))
        changes = changes[np.isfinite(found[changes]) & np.isfinite(found[changes + 1])]
        searched = f"no {name} from {values[0]:g} to {values[-1]:g} {info.unit} makes the jump just safe"
        if not np.isfinite(found).any():
            raise ValueError(f"{searched}: the jumper still falls after {_LATEST:g} s")
        if not changes.size:
            low, high = np.nanmin(found), np.nanmax(found)
            raise ValueError(
                f"{searched}: the clearance stays {'above' if low > 0 else 'below'} zero ({low:.4g} to {high:.4g} m)"
            )
        from scipy import optimize  # slow to import

        brackets = [tuple(values[i : i + 2]) for i in changes]
        roots = [float(optimize.root_scalar(at, method="brentq", bracket=b, rtol=1e-12).root) for b in brackets]
        return min(roots, key=lambda root: abs(np.log(root / start)))


@functools.partial(jax.jit, static_argnums=1)
def _with_value(bungee: Bungee, name: str, value: Float[Array, ""]) -> Float[Array, ""]:
    return clearance(with_parameters(bungee, {name: value}))
